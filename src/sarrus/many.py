"""The heavy half of `simulate_many`: models, code of their own in lanes, and general runs for what needs care.

fast       runs whose model has its own code, many at once
parked     what the fast path does not certify: a landing beside a singular position, a singular start, no step
           that holds, dampers, drives, users' forces. `solve` runs them wholly, as it does for `simulate`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .arrays import Flags, Floats
from .asked import Asked
from .codegen import series
from .codegen.lanes import Found, lanes_of
from .codegen.structure import (
    PLACE,
    RATE,
    Column,
    Slot,
    Structure,
    make_structure,
    number_values,
)
from .kernels.loads import Loads, is_damped
from .kernels.native import is_available
from .mechanism import Mechanism, MechanismError, check_drive_times, check_mechanism
from .methods.series import describe_steps
from .methods.status import done
from .model import Model
from .solving import Prepared, is_held, prepare, solve
from .thresholds import EPS, SINGULAR_LANDING
from .variants import Runs, Variants

# unrolled updates of a factor up to which code of its own pays; and runs for which it is compiled
MOST_UPDATES = 20_000
FEWEST_RUNS = 16
# variants built wholly to check numbers that were interpolated, and how well these agree: rounding
CHECKED, AGREE = 4, 1e-11
REFUSED = "refused"
COUNTERS = {
    "steps": series.STEPS,
    "rejected": series.REJECTED,
    "coefficients": series.COEFFICIENTS,
    "factorisations": series.FACTORISATIONS,
    "loosened": series.LOOSENED,
}


def run_all(
    mechanisms: list[Mechanism] | Variants,
    asked: Asked,
    points: tuple[str, ...],
    *,
    keep: bool,
    threads: int | None,
    gpu: bool,
) -> Runs:
    """All runs: what can be done fast, then the rest."""
    first = mechanisms.base if isinstance(mechanisms, Variants) else mechanisms[0]
    table = Table(len(mechanisms), first.dimension, asked, points, keep)
    for group in _groups(mechanisms, asked, points, table):
        found = run_group(group, asked, threads or _cores(), keep, gpu)
        table.take(group, found)
    table.finish(mechanisms)
    return table.runs()


@dataclass
class Group:
    """Runs of one structure: which, their numbers (slots, runs), joules of a unit of energy, notes to tell."""

    which: np.ndarray
    structure: Structure
    numbers: Floats
    energy: Floats
    notes: list[list[str]]


def run_group(group: Group, asked: Asked, threads: int, keep: bool, gpu: bool = False) -> Found:
    """Run them in lanes or on a device."""
    if gpu:
        from .codegen.device import run_on_device

        return run_on_device(
            group.structure, group.numbers, asked.outputs, asked.duration, asked.setting,
            most_steps=asked.max_steps, keep=keep,
        )  # fmt: skip
    return lanes_of(group.structure).run(
        group.numbers, asked.outputs, asked.duration, asked.setting,
        most_steps=asked.max_steps, threads=threads, keep=keep,
    )  # fmt: skip


# models: structure and numbers


def point_columns(model: Model, points: tuple[str, ...]) -> tuple[tuple[Column, ...], list[Floats]]:
    """Columns of places and velocities of points, and the numbers of their rows."""
    columns, rows = [], []
    for name in points:
        part, origin = model.point_rows(name), model.origin(name)
        for level in (PLACE, RATE):
            for c in range(model.dimension):
                at = slice(part.indptr[c], part.indptr[c + 1])
                offset = [origin[c]] if level == PLACE else []
                columns.append(Column(level, tuple(part.indices[at].tolist()), level == PLACE))
                rows.append(np.concatenate([part.data[at], offset]))
    return tuple(columns), rows


def _has_code(model: Model) -> bool:
    """Whether a model is one for code of its own: something moves, loads with a series, not too large."""
    small = model.coordinates > 0 and len(model.form.L_target) <= MOST_UPDATES
    loads = model.loads
    # dampers may be stiff, which `auto` finds out on the way; motions of drives and users' functions have no code
    plain = not (is_damped(loads) or len(loads.drives.equations) or len(loads.user.calls))
    return is_available() and small and plain and not is_held(model)


def _split(ready: Prepared, points: tuple[str, ...]) -> tuple[Structure, Floats]:
    columns, rows = point_columns(ready.model, points)
    args = ready.model.form, ready.model.loads if ready.model.loaded else None, ready.velocity
    return make_structure(*args, columns, rows), number_values(*args, rows)


def _groups(
    mechanisms: list[Mechanism] | Variants, asked: Asked, points: tuple[str, ...], table: Table
) -> Iterator[Group]:
    """Runs that have code of their own, by structure; the others are left to the table."""
    if isinstance(mechanisms, Variants) and len(mechanisms) >= FEWEST_RUNS:
        group = interpolate(mechanisms, asked, points)
        if group is not None:
            yield group
            return
    found: dict[str, tuple[Structure, list[tuple[int, Floats, float, list[str]]]]] = {}
    for i, mechanism in enumerate(mechanisms):
        try:
            _check(mechanism, asked)
            ready = prepare(mechanism, asked)
            for name in points:
                ready.model.origin(name)
        except (MechanismError, ValueError) as error:
            table.refuse(i, str(error))
            continue
        if _has_code(ready.model):
            structure, numbers = _split(ready, points)
            entry = numbers, ready.model.units.energy, ready.notes
            found.setdefault(structure.digest, (structure, []))[1].append((i, *entry))
    for structure, runs in found.values():
        if len(runs) >= FEWEST_RUNS:
            which, blocks, energy, notes = zip(*runs, strict=True)
            block = np.array(blocks).T.copy()
            yield Group(np.array(which), structure, block, np.array(energy), list(notes))


def interpolate(ensemble: Variants, asked: Asked, points: tuple[str, ...]) -> Group | None:
    """The numbers of all variants, where they are linear in what varies; None where they are not.

    Every parameter is tried at its least and largest value, which are checked as any mechanism is; then some
    variants are built wholly, and have to agree.
    """
    vary, n = ensemble.vary, len(ensemble)
    base = {path: values[0] for path, values in vary.items()}
    ends = {path: (values.min(axis=0), values.max(axis=0)) for path, values in vary.items()}
    try:
        numbers = LinearNumbers(ensemble, asked, points, base, ends)
        group = numbers.group(vary)
        some = np.random.default_rng(0).permutation(n - 1)[: CHECKED - 1] + 1
        for i in {int(x) for x in some} | {n - 1}:
            numbers.check({path: values[i] for path, values in vary.items()}, group.numbers[:, i])
    except NotLinearError:
        return None
    return group


class NotLinearError(Exception):
    """The numbers of a model are not linear in its parameters, or some of its variants cannot be simulated."""


class LinearNumbers:
    """Numbers of models as linear functions of parameters, as they are of masses, velocities and gravity.

    Units are those of the base. base: a value a path; ends: two values a path between which its slope is taken.
    """

    def __init__(
        self,
        variants: Variants,
        asked: Asked,
        points: tuple[str, ...],
        base: dict[str, Floats],
        ends: dict[str, tuple[Floats, Floats]],
    ) -> None:
        self.variants, self.asked, self.points = variants, asked, points
        self.base = {path: np.asarray(value, float) for path, value in base.items()}
        self.ready = self._prepare({})
        if not _has_code(self.ready.model):
            raise NotLinearError
        self.structure, self.start = _split(self.ready, points)
        self.slopes = {path: self._slopes(path, *ends[path]) for path in base}

    def group(self, values: dict[str, Floats]) -> Group:
        """Variants with these values, an array a path."""
        n = len(next(iter(values.values())))
        numbers = np.repeat(self.start[:, None], n, axis=1)
        for path, given in values.items():
            away = given.reshape(n, -1) - self.base[path].reshape(-1)
            for slope, step in zip(self.slopes[path], away.T, strict=True):
                numbers += slope[:, None] * step
        self._set_eps(numbers)
        energy = np.full(n, self.ready.model.units.energy)
        return Group(np.arange(n), self.structure, numbers, energy, [self.ready.notes] * n)

    def check(self, values: dict[str, Floats], numbers: Floats) -> None:
        """Raises if the numbers of a variant are not those of its model, but for rounding."""
        whole, s = self._numbers(self._prepare(values)), self.structure
        kinds = [s.e0, s.phi0, s.Q, s.start, [c for row in s.M for _, c in row]]
        kinds += [[c for terms in s.forms for _, c in terms]]
        kinds += [[c for *_, c in (*s.squares, *s.pairs)]]
        kinds += [[*factors, offset] for factors, offset in s.column_rows]
        kinds += [s.f0, [c for terms in s.load_forms for _, c in terms], [c for *_, c in s.turning]]
        kinds += [[c] for _, numbers in (*s.springs, *s.torsions) for c in numbers]
        for kind in kinds:
            slots = sorted({x.n for x in kind if isinstance(x, Slot)})
            scale = np.abs(whole[slots]).max(initial=0.0)
            # written so that nan is refused too
            if not np.abs(numbers[slots] - whole[slots]).max(initial=0.0) <= AGREE * scale:
                raise NotLinearError

    def _prepare(self, values: dict[str, Floats]) -> Prepared:
        mechanism = self.variants.with_values(self.base | values)
        try:
            _check(mechanism, self.asked)
            return prepare(mechanism, self.asked)
        except (MechanismError, ValueError) as error:
            # one by one they are told apart
            raise NotLinearError from error

    def _numbers(self, ready: Prepared) -> Floats:
        """Numbers in the units of the base."""
        unit, model = self.ready.model.units, ready.model
        if model.units.length != unit.length or ready.notes != self.ready.notes:
            raise NotLinearError
        scale = model.units.mass / unit.mass
        form = model.form._replace(
            M_val=model.form.M_val * scale,
            Q=model.form.Q * scale,
            rho=model.form.rho * scale,
            eps=model.form.eps / scale,
        )
        loads = _scaled_loads(model.loads, scale)
        ready = ready._replace(model=replace(model, form=form, loads=loads))
        structure, numbers = _split(ready, self.points)
        if structure != self.structure:
            raise NotLinearError
        return numbers

    def _slopes(self, path: str, low: Floats, high: Floats) -> list[Floats]:
        """Change of all numbers with each entry of a parameter."""
        out = []
        base, low, high = self.base[path].reshape(-1), np.ravel(low), np.ravel(high)
        for k in range(len(base)):
            if low[k] == high[k]:
                out.append(np.zeros_like(self.start))
                continue
            found = []
            for end in (low, high):
                changed = base.copy()
                changed[k] = end[k]
                values = {path: changed.reshape(self.base[path].shape)}
                found.append(self._numbers(self._prepare(values)))
            out.append((found[1] - found[0]) / (high[k] - low[k]))
        return out

    def _set_eps(self, numbers: Floats) -> None:
        """eps of each equation from M, as a model has it; where M is augmented the base's serves."""
        s, model = self.structure, self.ready.model
        slots = [x.n for x in s.eps if isinstance(x, Slot)]
        if model.form.rho.any():
            numbers[slots] = self.start[slots, None]
            return
        places = [dict(row)[i] for i, row in enumerate(s.M)]
        diagonal = numbers[[x.n for x in places if isinstance(x, Slot)]]
        J = model.jacobian()
        numbers[slots] = EPS * (J.multiply(J) @ (1.0 / diagonal))


def _scaled_loads(loads: Loads, scale: float) -> Loads:
    """Loads in a unit of mass so many times smaller; the third number of springs and torsions has no mass."""
    factor = np.array([scale, scale, 1.0, scale])
    return loads._replace(
        springs=loads.springs._replace(numbers=loads.springs.numbers * factor),
        torsions=loads.torsions._replace(numbers=loads.torsions.numbers * factor),
        turning=loads.turning._replace(c=loads.turning.c * scale),
    )


# results


class Table:
    """Rows of all runs, filled by groups and then one by one."""

    def __init__(
        self, count: int, dimension: int, asked: Asked, points: tuple[str, ...], keep: bool
    ) -> None:
        self.asked, self.points, self.dimension = asked, points, dimension
        n, outputs = count, len(asked.outputs)
        shape = n, len(points), 2, self.dimension
        self.status = np.full(n, "", dtype=object)
        self.message, self.notes = [""] * n, [[] for _ in range(n)]  # type: list[str], list[list[str]]
        self.values = np.full((n, outputs, *shape[1:]), np.nan) if keep else None
        self.balance = np.full((n, outputs), np.nan) if keep else None
        self.final, self.least, self.largest = (np.full(shape, np.nan) for _ in range(3))
        self.drift = np.full(n, np.nan)
        self.counters = {name: np.zeros(n, np.int64) for name in COUNTERS}
        self.parked = np.zeros(n, bool)

    def refuse(self, i: int, why: str) -> None:
        """A run that cannot be."""
        self.status[i], self.message[i] = REFUSED, why

    def take(self, group: Group, found: Found) -> None:
        """The runs of a group that are certain; the others are left."""
        told, s = found.summaries, group.structure
        good = certain(told)
        which = group.which[good]
        shape = len(which), len(self.points), 2, self.dimension
        self.status[which] = "done"
        message, setting = done(self.asked.duration).message, self.asked.setting
        plain = describe_steps(setting, 0, 0.0, 0.0)
        loosened, moved, lost = told[[series.LOOSENED, series.MOVED, series.LOST]].tolist()
        for i, at in zip(which.tolist(), np.flatnonzero(good).tolist(), strict=True):
            self.message[i] = message
            count = int(loosened[at])
            more = describe_steps(setting, count, moved[at], lost[at]) if count else plain
            self.notes[i] = [*group.notes[at], *more]
        if self.values is not None and self.balance is not None:
            block = found.results[good]
            self.values[which] = block[:, :, :-1].reshape(len(which), -1, *shape[1:])
            start = told[series.FIRST_ENERGY, good]
            self.balance[which] = (block[:, :, -1] - start[:, None]) * group.energy[good, None]
        extremes = told[series.SUMMARY + 2 * s.coordinates :, good].T
        self.least[which] = extremes[:, 0::2].reshape(shape)
        self.largest[which] = extremes[:, 1::2].reshape(shape)
        self.final[which] = _final_columns(s, told[:, good], group.numbers[:, good]).reshape(shape)
        self.drift[which] = told[series.DRIFT, good] * group.energy[good]
        for name, place in COUNTERS.items():
            self.counters[name][which] = told[place, good].astype(np.int64)

    def finish(self, mechanisms: list[Mechanism] | Variants) -> None:
        """Run what is left, one after the other."""
        for i in np.flatnonzero(self.status == "").tolist():
            self.parked[i] = True
            mechanism = (
                mechanisms.mechanism(i) if isinstance(mechanisms, Variants) else mechanisms[i]
            )
            try:
                _check(mechanism, self.asked)
                result = solve(mechanism, self.asked, self.asked.duration / 1000, 0.0)
            except (MechanismError, ValueError) as error:
                self.refuse(i, str(error))
                continue
            self.status[i], self.message[i] = result.status, result.message
            self.notes[i] = list(result.notes)
            self.drift[i] = result.energy_drift
            for name in COUNTERS:
                self.counters[name][i] = result.counters[name]
            n = len(result.times)
            columns = np.zeros((n, len(self.points), 2, self.dimension))
            for k, name in enumerate(self.points):
                columns[:, k, 0], columns[:, k, 1] = result.position(name), result.velocity(name)
            if self.values is not None and self.balance is not None:
                self.values[i, :n], self.balance[i, :n] = columns, result.energy_balance
            if n:
                self.least[i], self.largest[i] = columns.min(axis=0), columns.max(axis=0)
                self.final[i] = columns[-1]

    def runs(self) -> Runs:
        """All of it."""
        return Runs(
            self.asked.outputs, self.points, self.dimension, self.status, self.message, self.notes,
            self.values, self.balance, self.final, self.least, self.largest, self.drift,
            self.counters, self.parked,
        )  # fmt: skip


def certain(told: Floats) -> Flags:
    """Runs that came to their end with nothing that needs more care.

    A start at a singular position shows as an equation whose pivot there is far below what it was later.
    """
    return (told[series.REASON] == 0.0) & (told[series.START_DROP] >= SINGULAR_LANDING)


def _final_columns(s: Structure, told: Floats, numbers: Floats) -> Floats:
    """Columns at the end of each run."""
    out = np.zeros((told.shape[1], len(s.columns)))
    for n, (column, (factors, offset)) in enumerate(zip(s.columns, s.column_rows, strict=True)):
        first = series.SUMMARY + (s.coordinates if column.level == RATE else 0)
        for i, c in zip(column.coordinates, factors, strict=True):
            out[:, n] += told[first + i] * (numbers[c.n] if isinstance(c, Slot) else c)
        if isinstance(offset, Slot):
            out[:, n] += numbers[offset.n]
    return out


def _check(mechanism: Mechanism, asked: Asked) -> None:
    """As `simulate` checks it."""
    check_mechanism(mechanism, closed=not mechanism.assemble)
    check_drive_times(mechanism, asked.duration)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1
