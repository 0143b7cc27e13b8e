"""The arrays that a kernel sees, as tuples: the model's quadratic form and scratch memory.

Letters as in docs/notation.md. Forms e = D q + e0; with c the coefficients of the products,

    Phi_k = sum_sq 1/2 c e_a^2 + sum_bl c e_a e_b - phi0_k,      J = dPhi/dq,      M q'' + J^T lam = Q.

Loads that are not constant act on forms of their own, f = F q + f0, with Q + F^T w(t, f, f') for Q: see
loads.py. A drive makes phi0_k of its equations a function of time: see elements/drive.py. A mechanism
with nothing of that kind has None instead of loads: the compiler then leaves out all that concerns them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from .double_double import widen
from .dual import make_duals
from .simd import WIDTH, fill_lanes


class Form(NamedTuple):
    """The quadratic form of a mechanism, in the model's units; constant during a run."""

    # linear forms, rows of D compressed
    D_start: Ints
    D_col: Ints
    D_val: Floats
    e0: Floats
    # products of forms: squares and pairs, with the equation they belong to
    sq_form: Ints
    sq_eq: Ints
    sq_c: Floats
    bl_a: Ints
    bl_b: Ints
    bl_eq: Ints
    bl_c: Floats
    phi0: Floats
    # entries of J: equation and coordinate; each is a sum of C_val * e[C_form]
    J_eq: Ints
    J_col: Ints
    C_start: Ints
    C_form: Ints
    C_val: Floats
    # mass matrix, rows compressed; constant force
    M_start: Ints
    M_col: Ints
    M_val: Floats
    Q: Floats
    # K = [M + rho Js^T Js, J^T; J, -eps]: where its entries go in the factor's values
    pos_q: Ints
    pos_c: Ints
    K_M: Ints
    K_M_val: Floats
    K_J: Ints
    K_A: Ints
    K_A_1: Ints
    K_A_2: Ints
    # rho of each equation (0 where no massless coordinate needs it) and eps of each equation
    rho: Floats
    eps: Floats
    # factor: columns of L and targets of its updates
    L_start: Ints
    L_row: Ints
    L_target: Ints
    # equations whose right side is a motion
    driven: Ints


class Workspace(NamedTuple):
    """Scratch memory of a run, allocated once."""

    e: Floats
    de: Floats
    phi: Floats
    J: Floats
    # J_1, that of the velocity
    J1: Floats
    L: Floats
    b: Floats
    r: Floats
    x: Floats
    w: Floats
    # series coefficients: multipliers, forms at squares and pairs, multipliers at products
    lam: Floats
    sq_e: Floats
    bl_ea: Floats
    bl_eb: Floats
    sq_l: Floats
    bl_l: Floats
    # their sums: of the equations; of the forces, by the first and by the second form
    acc_sq: Floats
    acc_bl: Floats
    acc_sl: Floats
    acc_al: Floats
    acc_lb: Floats
    acc_more: Floats
    q: Floats
    v: Floats
    dq: Floats
    # of coefficients: largest entry, its log, log of the step that it allows
    size: Floats
    log_size: Floats
    reach: Floats
    # largest pivot that each equation has shown
    reference_pivots: Floats
    # all forces together
    Q: Floats
    # numbers of the step that is being taken (series.py)
    step: Floats
    # by what derivatives count in its length (dual.py)
    weights: Floats
    # of mechanisms of few unknowns, rows of lanes: K^-1; what unknowns of before, and sums of products, add to the
    # unknowns; these; what they add to forms and multipliers at squares, and at pairs
    inverse: Floats
    newest: Floats
    columns: Floats
    solution: Floats
    sq_of: Floats
    bl_of_a: Floats
    bl_of_b: Floats


# memory in which runs in lanes write without a mask (language/masks.py): what one function leaves there is read by
# the next alone, for the same lanes. A name that is here by mistake spoils the results of neighbours, silently:
# tests/kernels/test_masks.py runs lanes in other company and compares
_SCRATCH = (
    *("b", "r", "w", "dq", "de", "phi", "J1", "acc_sq", "acc_bl", "acc_sl", "acc_al", "acc_lb"),
    *("acc_more", "lam", "sq_e", "bl_ea", "bl_eb", "sq_l", "bl_l", "size", "log_size", "reach"),
    *("inverse", "newest", "columns"),
)
# forms at an output follow from its position, whatever the other lanes do
_SCRATCH_OF_OUTPUTS = ("e",)
SCRATCH = frozenset(
    ["StepSeries.qc"]
    + [f"Workspace.{name}" for name in _SCRATCH]
    + [f"second Workspace.{name}" for name in (*_SCRATCH, *_SCRATCH_OF_OUTPUTS)]
)


class StepPolynomials(NamedTuple):
    """Polynomials of steps, one row a step: q = sum of coefficients[n, k] (t - starts[n])^k.

    starts: of the steps, and the end of the last; orders: the highest power that counts. Coefficients of twice
    as many columns as coordinates are those of q and of v apart. sides: series of the angles of torsions and
    of the work, (n, torsions + 1, terms), empty if there are no loads; with one term only what holds at the
    start of the step, and the rest follows from the motion. usual: the largest pivots so far, at the end of each
    step; none where a method does not tell.
    """

    starts: Floats
    orders: Ints
    coefficients: Floats
    angle_and_work_series: Floats
    reference_pivots: Floats = np.zeros((0, 0))

    def some(self, first: int, last: int) -> StepPolynomials:
        """The steps from one to another, the same memory."""
        rows = slice(first, last)
        starts = self.starts[first : last + 1]
        return StepPolynomials(
            starts,
            self.orders[rows],
            self.coefficients[rows],
            self.angle_and_work_series[rows],
            self.reference_pivots[rows],
        )


# numbers of a step
STEP = 14
# what is not allocated yet
NONE = np.zeros(0)


def list_block(first: int, size: int) -> list[tuple[int, int]]:
    """Row and column of the entries of a square block, row by row."""
    return [(first + i, first + j) for i in range(size) for j in range(size)]


def pack(arrays: Any) -> Any:
    """The same named tuple, of arrays and such tuples, side by side in memory, one block a type.

    Arrays that the system places by itself may lie a multiple of a page apart; loads and stores in them
    then wait for each other, and some runs of N = 40 took a tenth longer than others.
    """
    leaves = list(_leaves(arrays))
    for kind in (np.float64, np.int64):
        chosen = [i for i, values in enumerate(leaves) if values.dtype == kind]
        # every array starts on a cache line of eight numbers
        starts = np.cumsum([0, *(-(-leaves[i].size // 8) * 8 for i in chosen)])
        block = np.zeros(int(starts[-1]) + 8, kind)
        first = (-block.ctypes.data % 64) // 8
        for start, i in zip(starts, chosen, strict=False):
            at = first + int(start)
            view = block[at : at + leaves[i].size].reshape(leaves[i].shape)
            view[...] = leaves[i]
            leaves[i] = view
    return _with_leaves(arrays, iter(leaves))


def make_wide(arrays: Any) -> Any:
    """The same named tuple with wide numbers for doubles."""
    leaves = (widen(x) if x.dtype == np.float64 else x for x in _leaves(arrays))
    return set_apart(_with_leaves(arrays, leaves))


def set_apart(arrays: Any, prefix: str = "Wide") -> Any:
    """A named tuple of other numbers than doubles as one of another class: code is found by it (arguments.py)."""
    made: Any = _class_apart(prefix, arrays.__class__)
    return made(*arrays)


@cache
def _class_apart(prefix: str, made: Any) -> Any:
    return type(f"{prefix}{made.__name__}", (made,), {"__slots__": ()})


def make_dual(arrays: Any, rates: Iterator[Floats] | None = None) -> Any:
    """The same named tuple with dual numbers for doubles; rates: derivatives of each array of doubles, if any."""
    leaves = (
        x if x.dtype != np.float64 else make_duals(x, None if rates is None else next(rates))
        for x in _leaves(arrays)
    )
    return set_apart(_with_leaves(arrays, leaves), "Dual")


def make_dual_workspace(form: Form, order: int) -> Workspace:
    """Scratch memory for dual numbers; sizes, pivots and what a step is judged by are doubles."""
    ws = Workspace(
        *(make_duals(np.zeros(shape)) for shape in _shapes(form, order, lambda count: count))
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
    """Arrays of zeros side by side in memory, as `pack` lays them."""
    total, places = _places(shapes)
    block = np.zeros(total)
    first = -block.ctypes.data % 64
    return [np.ndarray(shape, block.dtype, block, first + at) for shape, at in places]


@lru_cache(maxsize=64)
def _places(shapes: tuple[tuple[int, ...], ...]) -> tuple[int, list[tuple[tuple[int, ...], int]]]:
    """How many numbers some arrays take, each from a multiple of 64 bytes on, and where they begin [bytes]."""
    at, places = 0, []
    for shape in shapes:
        places.append((shape, 8 * at))
        at += -(-math.prod(shape) // 8) * 8
    return at + 8, places


def make_workspace(form: Form, order: int) -> Workspace:
    """Allocate the scratch memory for series up to the given order."""
    # products are summed in lanes: what is beyond their number stays zero
    return Workspace(*make_room(*_shapes(form, order, fill_lanes)))


def make_wide_workspace(form: Form, order: int, reference_pivots: Floats) -> Workspace:
    """The same for wide numbers; usual: pivots as they are known, which need no more digits."""
    ws = Workspace(*(widen(np.zeros(shape)) for shape in _shapes(form, order, lambda count: count)))
    sizes = {name: np.zeros(fill_lanes(order + 1)) for name in ("size", "log_size", "reach")}
    return set_apart(ws._replace(**sizes, reference_pivots=reference_pivots))


def make_lone_workspace(form: Form, order: int) -> Workspace:
    """The same without lanes within a run: of runs in lanes, or on a device."""
    return Workspace(*(np.zeros(shape) for shape in _shapes(form, order, lambda count: count)))


def _shapes(form: Form, order: int, fill: Callable[[int], int]) -> list[tuple[int, ...]]:
    """Of the arrays of a workspace; fill: how many places so many numbers take that are used at once."""
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
        # q, v, dq; size, log_size, reach; usual, Q, step, weights
        (nq,), (nq,), (nq,), (filled,), (filled,), (filled,), (nc,), (nq,), (STEP,), (1,),
        # inverse, newest, columns, solution; sq_of, bl_of_a, bl_of_b
        (few, width), (few, width), (columns, width), (2, width), (few, ns), (few, nb), (few, nb),
    ]  # fmt: skip
