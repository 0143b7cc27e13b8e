"""What of a model is written into its code, and what is loaded: structure and numbers.

Structure: how many coordinates and equations, which of them meet, the order of elimination, and which numbers are
exactly 0, 1 or -1. Two models with the same structure run the same code with numbers of their own.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Floats
from ..kernels.elements.spring import DAMPING
from ..kernels.layout import Form
from ..kernels.loads import keeps_energy

# columns of results: of the coordinates, of their rates
PLACE, RATE = 0, 1


class Slot(NamedTuple):
    """A number that is loaded."""

    n: int


Factor = Slot | float


class Column(NamedTuple):
    """A column of results: its level, the coordinates it is made of, and whether it has an offset."""

    level: int
    coordinates: tuple[int, ...]
    offset: bool


class Motion(NamedTuple):
    """The motion of a drive: its pieces, and amplitude, rate and phase of its sine.

    pieces: how many; piece: start and polynomial of the only one; first: where those of several begin, one piece
    after the other, all of them loaded.
    """

    pieces: int
    piece: list[Factor]
    first: int
    sine: list[Factor]


class Driven(NamedTuple):
    """A driven equation: kind of right side, motion, factor, what is subtracted; see kernels/elements/drive.py."""

    equation: int
    kind: int
    motion: int
    factor: Factor
    constant: Factor


@dataclass
class Layout:
    """Hands out slots, and says which are constants: a flag of each number is part of the structure."""

    flags: list[bytes] = field(default_factory=list)
    slots: int = 0

    def take(self, values: Floats, constants: tuple[float, ...] = ()) -> list[Factor]:
        """A factor for each value: those among the constants are written into the code."""
        values = np.asarray(values, float)
        known = np.zeros(len(values), np.int8)
        for n, x in enumerate(constants, start=1):
            known[values == x] = n
        self.flags.append(known.tobytes())
        out: list[Factor] = []
        for k in known:
            if k:
                out.append(constants[k - 1])
            else:
                out.append(Slot(self.slots))
                self.slots += 1
        return out


@dataclass(frozen=True, eq=False)
class Structure:
    """A model's structure, unpacked for the emitter; numbers are factors: constants, or slots.

    Structures with the same digest are the same.
    """

    coordinates: int
    equations: int
    # (coordinate, factor) of each form, and its constant
    forms: list[list[tuple[int, Factor]]]
    e0: list[Factor]
    # (form, form, equation, factor): squares have the same form twice
    squares: list[tuple[int, int, int, Factor]]
    pairs: list[tuple[int, int, int, Factor]]
    phi0: list[Factor]
    # rows of M; its lower entries at places of the factor
    M: list[list[tuple[int, Factor]]]
    K_M: list[tuple[int, Factor]]
    Q: list[Factor]
    # entries of J: equation, coordinate, place in the factor
    J: list[tuple[int, int, int]]
    K_A: list[tuple[int, int, int]]
    rho: list[Factor]
    eps: list[Factor]
    pos_q: list[int]
    pos_c: list[int]
    L_start: list[int]
    L_row: list[int]
    L_target: list[int]
    # forms of loads and their constants; (first form, four numbers) of springs and torsions; (form that is acted
    # on, form it is proportional to, factor) of what turns with bodies
    load_forms: list[list[tuple[int, Factor]]]
    f0: list[Factor]
    springs: list[tuple[int, list[Factor]]]
    torsions: list[tuple[int, list[Factor]]]
    turning: list[tuple[int, int, Factor]]
    # driven equations, their motions, and how many numbers a piece of these has
    driven: list[Driven]
    motions: list[Motion]
    width: int
    start: list[Factor]
    columns: tuple[Column, ...]
    column_rows: list[tuple[list[Factor], Factor]]
    slots: int
    digest: str
    # whether the energy is put back behind steps
    keeps_energy: bool

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def unknowns(self) -> int:
        """Coordinates and equations."""
        return self.coordinates + self.equations

    @property
    def loaded(self) -> bool:
        """Whether there is more than constant forces."""
        return bool(self.load_forms or self.driven)

    @cached_property
    def side_of(self) -> dict[int, int]:
        """Which of the driven equations an equation is."""
        return {d.equation: n for n, d in enumerate(self.driven)}

    @cached_property
    def is_coordinate(self) -> dict[int, int]:
        """Forms that are a coordinate and a constant: which one."""
        return {
            f: terms[0][0] for f, terms in enumerate(self.forms) if [c for _, c in terms] == [1.0]
        }

    @property
    def kept_forms(self) -> int:
        """Forms whose coefficients are not those of a coordinate."""
        return len(self.forms) - len(self.is_coordinate)

    @property
    def damped(self) -> bool:
        """Whether there are dampers."""
        return any(isinstance(c[DAMPING], Slot) for _, c in [*self.springs, *self.torsions])

    @property
    def breaks(self) -> bool:
        """Whether a motion changes its polynomial on the way."""
        return any(motion.pieces > 1 for motion in self.motions)

    @property
    def least_order(self) -> int:
        """The lowest order of a step: see `least_order` of the general kernel."""
        return max(3, self.width)

    @cached_property
    def J_parts(self) -> list[list[tuple[Factor, int, int]]]:
        """Each entry of J as a sum of factor times the product's c times a form: (factor, product, form).

        Products are numbered squares first.
        """
        place = {(k, i): n for n, (k, i, _) in enumerate(self.J)}
        out: list[list[tuple[Factor, int, int]]] = [[] for _ in self.J]
        for t, (a, b, k, _) in enumerate([*self.squares, *self.pairs]):
            for one, other in ((a, b),) if a == b else ((a, b), (b, a)):
                for i, d in self.forms[one]:
                    out[place[k, i]].append((d, t, other))
        return out


ZERO: tuple[float, ...] = (0.0,)
SIGNS: tuple[float, ...] = (1.0, -1.0)
_INTS = (
    *("D_start", "D_col", "sq_form", "sq_eq", "bl_a", "bl_b", "bl_eq", "J_eq", "J_col"),
    *("M_start", "M_col", "pos_q", "pos_c", "K_M", "K_J", "K_A", "K_A_1", "K_A_2"),
    *("L_start", "L_row", "L_target"),
)


def number_arrays(
    form: Form, loads: Any, velocity: Floats, rows: list[Floats]
) -> list[tuple[Floats, tuple[float, ...]]]:
    """All numbers of a model in the order of their slots, with what is written into the code of each.

    loads: the model's, None if it has none.
    """
    none = np.zeros(0)
    acting: list[tuple[Floats, tuple[float, ...]]] = [(none, ())] * 10
    if loads is not None:
        drives = loads.drives
        pieces = np.column_stack([drives.breaks, drives.polynomials])
        alone = _stands_alone(drives)
        acting = [
            (loads.F_val, SIGNS),
            (loads.f0, ZERO),
            (loads.springs.numbers.ravel(), ZERO),
            (loads.torsions.numbers.ravel(), ZERO),
            (loads.turning.c, ()),
            (drives.factor, SIGNS),
            (drives.constant, ZERO),
            (pieces[alone].ravel(), ZERO),
            (pieces[~alone].ravel(), ()),
            (drives.sines.ravel(), ZERO),
        ]
    row_of = np.repeat(np.arange(len(form.Q)), np.diff(form.M_start))
    return [
        (form.D_val, SIGNS),
        # zeros of these may be rounding in a neighbour, and cost next to nothing
        (form.e0, ()),
        (form.sq_c, ()),
        (form.bl_c, ()),
        # that of a driven equation is a function of time
        (np.delete(form.phi0, form.driven), ()),
        (form.M_val[form.M_col <= row_of], ()),
        (form.Q, ZERO),
        (form.rho, ZERO),
        (form.eps, ()),
        *acting,
        (velocity, ()),
        *((row, ()) for row in rows),
    ]


def make_structure(
    form: Form, loads: Any, velocity: Floats, columns: tuple[Column, ...], rows: list[Floats]
) -> Structure:
    """Split a form and loads; rows: of each column, its numbers and, if it has one, its offset."""
    layout = Layout()
    taken = [layout.take(*x) for x in number_arrays(form, loads, velocity, rows)]
    D, e0, sq_c, bl_c, constant, lower, Q, rho, eps, F, f0, *taken = taken
    springs, torsions, turning, *taken = taken
    driven, (start, *column_factors) = taken[:5], taken[5:]
    nq, nc = len(form.Q), len(form.phi0)
    phi0: list[Factor] = [0.0] * nc
    for k, x in zip(np.delete(np.arange(nc), form.driven).tolist(), constant, strict=True):
        phi0[k] = x
    M: list[list[tuple[int, Factor]]] = [[] for _ in range(nq)]
    at = 0
    for i in range(nq):
        for n in range(form.M_start[i], form.M_start[i + 1]):
            j = int(form.M_col[n])
            if j <= i:
                M[i].append((j, lower[at]))
                if j < i:
                    M[j].append((i, lower[at]))
                at += 1
    text = hashlib.sha256()
    for name in _INTS:
        text.update(np.ascontiguousarray(getattr(form, name), np.int64).tobytes() + b"|")
    for flags in layout.flags:
        text.update(flags + b"|")
    text.update(repr((nq, nc, columns)).encode())
    acting = _split_loads(loads, F, springs, torsions, turning) | _split_drives(loads, *driven)
    text.update(repr([[len(f) for f in acting["load_forms"]], *_load_places(loads)]).encode())
    return Structure(
        coordinates=nq,
        equations=nc,
        forms=_rows(form.D_start, form.D_col, D),
        e0=e0,
        squares=[
            (f, f, k, c)
            for f, k, c in zip(form.sq_form.tolist(), form.sq_eq.tolist(), sq_c, strict=True)
        ],
        pairs=list(
            zip(form.bl_a.tolist(), form.bl_b.tolist(), form.bl_eq.tolist(), bl_c, strict=True)
        ),
        phi0=phi0,
        M=M,
        K_M=list(zip(form.K_M.tolist(), lower, strict=True)),
        Q=Q,
        J=list(zip(form.J_eq.tolist(), form.J_col.tolist(), form.K_J.tolist(), strict=True)),
        K_A=list(zip(form.K_A.tolist(), form.K_A_1.tolist(), form.K_A_2.tolist(), strict=True)),
        rho=rho,
        eps=eps,
        pos_q=form.pos_q.tolist(),
        pos_c=form.pos_c.tolist(),
        L_start=form.L_start.tolist(),
        L_row=form.L_row.tolist(),
        L_target=form.L_target.tolist(),
        f0=f0,
        start=start,
        columns=columns,
        column_rows=[
            (f[:-1], f[-1]) if c.offset else (f, 0.0)
            for c, f in zip(columns, column_factors, strict=True)
        ],
        slots=layout.slots,
        digest=text.hexdigest(),
        keeps_energy=keeps_energy(form, loads),
        **acting,
    )


def _rows(start: Any, columns: Any, factors: list[Factor]) -> list[list[tuple[int, Factor]]]:
    """Compressed rows one by one."""
    spans = zip(start[:-1].tolist(), start[1:].tolist(), strict=True)
    return [[(int(columns[n]), factors[n]) for n in range(a, b)] for a, b in spans]


def _load_places(loads: Any) -> list[list[int]]:
    """Which coordinates and forms loads act on."""
    if loads is None:
        return []
    arrays = loads.F_col, loads.springs.first, loads.torsions.first
    drives = loads.drives.equations.ravel(), loads.drives.pieces, loads.drives.polynomials.shape
    return [list(map(int, x)) for x in (*arrays, loads.turning.a, loads.turning.b, *drives)]


def _stands_alone(drives: Any) -> np.ndarray:
    """Which pieces are the only one of their motion."""
    counts = np.diff(drives.pieces)
    return np.repeat(counts == 1, counts)


def _split_loads(
    loads: Any,
    F: list[Factor],
    springs: list[Factor],
    torsions: list[Factor],
    turning: list[Factor],
) -> dict[str, Any]:
    """The parts of a structure that loads make."""
    if loads is None:
        return {"load_forms": [], "springs": [], "torsions": [], "turning": []}

    def elements(first: Any, numbers: list[Factor]) -> list[tuple[int, list[Factor]]]:
        return [(int(a), numbers[4 * n : 4 * n + 4]) for n, a in enumerate(first)]

    pairs = zip(loads.turning.a.tolist(), loads.turning.b.tolist(), turning, strict=True)
    return {
        "load_forms": _rows(loads.F_start, loads.F_col, F),
        "springs": elements(loads.springs.first, springs),
        "torsions": elements(loads.torsions.first, torsions),
        "turning": list(pairs),
    }


def _split_drives(
    loads: Any,
    factor: list[Factor],
    constant: list[Factor],
    alone: list[Factor],
    several: list[Factor],
    sines: list[Factor],
) -> dict[str, Any]:
    """The parts of a structure that drives make."""
    if loads is None:
        return {"driven": [], "motions": [], "width": 0}
    drives, motions = loads.drives, []
    width = drives.polynomials.shape[1] + 1
    # one motion after the other takes its own
    piece, more = iter(alone), iter(several)
    for n, count in enumerate(np.diff(drives.pieces).tolist()):
        own = [next(piece) for _ in range(width)] if count == 1 else []
        rows = [] if count == 1 else [next(more) for _ in range(count * width)]
        first = rows[0].n if rows and isinstance(rows[0], Slot) else 0
        motions.append(Motion(count, own, first, sines[3 * n : 3 * n + 3]))
    equations = [
        Driven(k, kind, m, c, x)
        for (k, kind, m), c, x in zip(drives.equations.tolist(), factor, constant, strict=True)
    ]
    return {"driven": equations, "motions": motions, "width": width}


def number_values(form: Form, loads: Any, velocity: Floats, rows: list[Floats]) -> Floats:
    """The numbers that are loaded, in the order of their slots."""
    parts = []
    for values, constants in number_arrays(form, loads, velocity, rows):
        loaded = np.ones(len(values), bool)
        for x in constants:
            loaded &= values != x
        parts.append(np.asarray(values, float)[loaded])
    return np.concatenate(parts)
