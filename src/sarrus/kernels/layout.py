"""Arrays that the kernels use, as tuples: the quadratic form of the model, and scratch memory.

Symbols as in docs/notation.md. Forms e = D q + e0; with c the coefficients of the products,

    Phi_k = sum_sq 1/2 c e_a^2 + sum_bl c e_a e_b - phi0_k,      J = dPhi/dq,      M q'' + J^T lam = Q.

Loads that are not constant act on separate forms, f = F q + f0, with Q + F^T w(t, f, f') instead of Q: see
applied_forces.py. A drive makes phi0_k of its equations a function of time: see elements/drive.py. A mechanism
without any of these has None instead of loads; the compiler then omits all code that concerns them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..arrays import Floats, Ints
from .double_double import widen
from .dual import make_duals, make_duals_at_zero
from .simd import WIDTH, fill_lanes


class Form(NamedTuple):
    """The quadratic form of a mechanism, in the model's units; constant during a run."""

    # Linear forms, rows of D compressed.
    D_start: Ints
    D_col: Ints
    D_val: Floats
    e0: Floats
    # Products of forms: squares and pairs, with the equation they belong to.
    sq_form: Ints
    sq_eq: Ints
    sq_c: Floats
    bl_a: Ints
    bl_b: Ints
    bl_eq: Ints
    bl_c: Floats
    phi0: Floats
    # Entries of J: equation and coordinate; each is a sum of C_val * e[C_form].
    J_eq: Ints
    J_col: Ints
    C_start: Ints
    C_form: Ints
    C_val: Floats
    # Mass matrix, rows compressed; constant force.
    M_start: Ints
    M_col: Ints
    M_val: Floats
    Q: Floats
    # K = [M + rho Js^T Js, J^T; J, -eps]: target indices of its entries in the values of the factor.
    pos_q: Ints
    pos_c: Ints
    K_M: Ints
    K_M_val: Floats
    K_J: Ints
    K_A: Ints
    K_A_1: Ints
    K_A_2: Ints
    # rho of each equation (0 if no massless coordinate needs it) and eps of each equation.
    rho: Floats
    eps: Floats
    # Factor: columns of L and targets of its updates.
    L_start: Ints
    L_row: Ints
    L_target: Ints
    # Equations whose right-hand side is a prescribed motion.
    driven: Ints


class Workspace(NamedTuple):
    """Scratch memory of a run, allocated once."""

    e: Floats
    de: Floats
    phi: Floats
    J: Floats
    # J_1, the Jacobian of the velocity.
    J1: Floats
    L: Floats
    b: Floats
    r: Floats
    x: Floats
    w: Floats
    # Series coefficients: multipliers, forms at squares and pairs, multipliers at products.
    lam: Floats
    sq_e: Floats
    bl_ea: Floats
    bl_eb: Floats
    sq_l: Floats
    bl_l: Floats
    # Their sums: of the equations; of the forces, by the first and by the second form.
    acc_sq: Floats
    acc_bl: Floats
    acc_sl: Floats
    acc_al: Floats
    acc_lb: Floats
    acc_more: Floats
    q: Floats
    v: Floats
    dq: Floats
    # Of coefficients: largest entry, its log, log of the step length that it allows.
    size: Floats
    log_size: Floats
    reach: Floats
    # Largest pivot of each equation so far.
    reference_pivots: Floats
    # Sum of all forces.
    Q: Floats
    # Data of the current step (series_step.py).
    step: Floats
    # Weights of derivatives in its length (dual.py).
    weights: Floats
    # For mechanisms of few unknowns, in rows of lanes: K^-1; contributions of the previous unknowns, and of sums
    # of products, to the unknowns; the unknowns; their contributions to forms and multipliers at squares, and at
    # pairs.
    inverse: Floats
    newest: Floats
    columns: Floats
    solution: Floats
    sq_of: Floats
    bl_of_a: Floats
    bl_of_b: Floats


# Memory in which runs in lanes write without a mask (language/masks.py): what one function writes there is read
# only by the next one, for the same lanes. A name listed here by mistake silently corrupts the results of other
# lanes. tests/kernels/test_masks.py runs lanes together with different neighbours and compares.
_SCRATCH = (
    *("b", "r", "w", "dq", "de", "phi", "J1", "acc_sq", "acc_bl", "acc_sl", "acc_al", "acc_lb"),
    *("acc_more", "lam", "sq_e", "bl_ea", "bl_eb", "sq_l", "bl_l", "size", "log_size", "reach"),
    *("inverse", "newest", "columns"),
)
# Forms at an output follow from its configuration, whatever the other lanes do; J and the factor from forms, or
# `project_state` says which lanes keep theirs.
_SCRATCH_OF_OUTPUTS = ("e", "J", "L")
SCRATCH = frozenset(
    ["StepSeries.qc"]
    + [f"Workspace.{name}" for name in _SCRATCH]
    + [f"second Workspace.{name}" for name in (*_SCRATCH, *_SCRATCH_OF_OUTPUTS)]
)


class StepPolynomials(NamedTuple):
    """Polynomials of steps, one row per step: q = sum of coefficients[n, k] (t - starts[n])^k.

    starts: of the steps, and the end of the last. orders: the highest power used. Coefficients with twice as many
    columns as coordinates are those of q and of v separately. angle_and_work_series: series of the angles of
    torsion springs and of the work, (n, torsions + 1, terms), empty if there are no loads; with one term, only the
    values at the start of the step, and the rest follows from the motion. reference_pivots: the largest pivots so
    far, at the end of each step; empty if a method does not provide them.
    """

    starts: Floats
    orders: Ints
    coefficients: Floats
    angle_and_work_series: Floats
    reference_pivots: Floats = np.zeros((0, 0))

    def some(self, first: int, last: int) -> StepPolynomials:
        """The steps first .. last - 1, as views of the same memory."""
        rows = slice(first, last)
        starts = self.starts[first : last + 1]
        return StepPolynomials(
            starts,
            self.orders[rows],
            self.coefficients[rows],
            self.angle_and_work_series[rows],
            self.reference_pivots[rows],
        )


# Number of entries of ws.step.
STEP = 14
# Placeholder for arrays that are not allocated yet.
NONE = np.zeros(0)


def list_block(first: int, size: int) -> list[tuple[int, int]]:
    """Row and column of the entries of a square block, row by row."""
    return [(first + i, first + j) for i in range(size) for j in range(size)]


def pack(arrays: Any) -> Any:
    """Copy a (nested) named tuple of arrays to contiguous memory, one block per type.

    Arrays that the system allocates separately may lie a multiple of a page apart. Loads and stores in them then
    wait for each other, and some runs of N = 40 took a tenth longer than others.
    """
    leaves = list(_leaves(arrays))
    for kind in (np.float64, np.int64):
        # Empty arrays, which are most of those of loads, need no memory.
        chosen = [i for i, values in enumerate(leaves) if values.size and values.dtype == kind]
        total, places = _places(tuple(leaves[i].shape for i in chosen))
        block = np.empty(total, kind)
        first = -block.ctypes.data % 64
        for i, (shape, at) in zip(chosen, places, strict=True):
            view = np.ndarray(shape, kind, block, first + at)
            view[...] = leaves[i]
            leaves[i] = view
    return _with_leaves(arrays, iter(leaves))


def make_wide(arrays: Any) -> Any:
    """The same named tuple with double-double numbers instead of doubles."""
    leaves = (widen(x) if x.dtype == np.float64 else x for x in _leaves(arrays))
    return set_apart(_with_leaves(arrays, leaves))


def set_apart(arrays: Any, prefix: str = "Wide") -> Any:
    """Give a named tuple of numbers other than doubles a separate class, which selects its code (arguments.py)."""
    made: Any = _class_apart(prefix, arrays.__class__)
    return made(*arrays)


@cache
def _class_apart(prefix: str, made: Any) -> Any:
    return type(f"{prefix}{made.__name__}", (made,), {"__slots__": ()})


def make_dual(arrays: Any, rates: Iterator[Floats] | None = None) -> Any:
    """The same named tuple with dual numbers instead of doubles; rates: derivatives of these arrays, if any."""
    leaves = (
        x if x.dtype != np.float64 else make_duals(x, None if rates is None else next(rates))
        for x in _leaves(arrays)
    )
    return set_apart(_with_leaves(arrays, leaves), "Dual")


def make_dual_workspace(form: Form, order: int) -> Workspace:
    """Scratch memory for dual numbers; sizes, pivots and the data for step acceptance are doubles."""
    ws = Workspace(
        *(make_duals_at_zero(shape) for shape in _shapes(form, order, lambda count: count))
    )
    sizes = {name: np.zeros(fill_lanes(order + 1)) for name in ("size", "log_size", "reach")}
    return set_apart(ws._replace(**sizes, reference_pivots=np.zeros(len(form.phi0))), "Dual")


def _leaves(arrays: Any) -> Iterator[Any]:
    for value in arrays:
        yield from _leaves(value) if isinstance(value, tuple) else (value,)


def _with_leaves(arrays: Any, leaves: Iterator[Any]) -> Any:
    return type(arrays)(
        *(_with_leaves(x, leaves) if isinstance(x, tuple) else next(leaves) for x in arrays)
    )


def make_room(*shapes: tuple[int, ...]) -> list[Floats]:
    """Arrays of zeros in contiguous memory, laid out as by `pack`."""
    total, places = _places(shapes)
    block = np.zeros(total)
    first = -block.ctypes.data % 64
    return [np.ndarray(shape, block.dtype, block, first + at) for shape, at in places]


@lru_cache(maxsize=64)
def _places(shapes: tuple[tuple[int, ...], ...]) -> tuple[int, list[tuple[tuple[int, ...], int]]]:
    """Total length of some arrays, each aligned to 64 bytes, and their offsets [bytes]."""
    at, places = 0, []
    for shape in shapes:
        places.append((shape, 8 * at))
        at += -(-math.prod(shape) // 8) * 8
    return at + 8, places


# Memory of finished runs that is kept for later ones: at most this many sets of each kind, and not if it is large
# [bytes]: then allocating it takes no time that matters.
MOST_SPARE, LARGEST_SPARE = 2, 1 << 20

Spare = dict[Any, list[Any]]
Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


def take_spare(spare: Spare, key: Any, make: Callable[[], Arrays]) -> Arrays:
    """Memory of a finished run, set to zero, or new memory; key: its kind and sizes."""
    try:
        found: Arrays = spare[key].pop()
    except (KeyError, IndexError):
        return make()
    found[0].base.fill(0.0)
    return found


def give_spare(spare: Spare, key: Any, arrays: tuple[Any, ...]) -> None:
    """Give back memory of `make_room`; nothing may use it any more."""
    kept = spare.setdefault(key, [])
    if len(kept) < MOST_SPARE and arrays[0].base.nbytes <= LARGEST_SPARE:
        kept.append(arrays)


def make_workspace(form: Form, order: int) -> Workspace:
    """Allocate the scratch memory for series up to the given order."""
    # Products are summed in lanes: entries beyond their number stay zero.
    return Workspace(*make_room(*_shapes(form, order, fill_lanes)))


def make_wide_workspace(form: Form, order: int, reference_pivots: Floats) -> Workspace:
    """The same for double-double numbers; reference_pivots: the known values, for which doubles are sufficient."""
    ws = Workspace(*(widen(np.zeros(shape)) for shape in _shapes(form, order, lambda count: count)))
    sizes = {name: np.zeros(fill_lanes(order + 1)) for name in ("size", "log_size", "reach")}
    return set_apart(ws._replace(**sizes, reference_pivots=reference_pivots))


def make_lone_workspace(form: Form, order: int) -> Workspace:
    """The same without lanes within a run: for runs in lanes, or on a GPU."""
    return Workspace(*(np.zeros(shape) for shape in _shapes(form, order, lambda count: count)))


def _shapes(form: Form, order: int, fill: Callable[[int], int]) -> list[tuple[int, ...]]:
    """Shapes of the arrays of a workspace; fill: padded length of arrays that are processed in lanes."""
    nq, nc, nf = len(form.Q), len(form.phi0), len(form.e0)
    ns, nb = fill(len(form.sq_c)), fill(len(form.bl_c))
    nj, n, rows, filled = len(form.J_eq), nq + nc, order + 1, fill(order + 1)
    few = n if n <= WIDTH else 0
    width = fill(n) if few else 0
    columns = 2 * len(form.sq_c) + 3 * len(form.bl_c) if few else 0
    return [
        # e, de, phi, J, J1, L; b, r, x, w
        (nf,), (nf,), (nc,), (nj,), (nj,), (n + len(form.L_row),), (n,), (n,), (n,), (nf,),
        # lam, sq_e, bl_ea, bl_eb, sq_l, bl_l
        (rows, nc), (rows, ns), (rows, nb), (rows, nb), (rows, ns), (rows, nb),
        # acc_sq, acc_bl, acc_sl, acc_al, acc_lb, acc_more
        (ns,), (nb,), (ns,), (nb,), (nb,), (ns,),
        # q, v, dq; size, log_size, reach; reference_pivots, Q, step, weights
        (nq,), (nq,), (nq,), (filled,), (filled,), (filled,), (nc,), (nq,), (STEP,), (1,),
        # inverse, newest, columns, solution; sq_of, bl_of_a, bl_of_b
        (few, width), (few, width), (columns, width), (2, width), (few, ns), (few, nb), (few, nb),
    ]  # fmt: skip
