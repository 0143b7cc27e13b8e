"""The arrays that a kernel sees, as tuples: the model's quadratic form, scratch memory, and loads.

Letters as in docs/notation.md. Forms e = D q + e0; with c the coefficients of the products,

    Phi_k = sum_sq 1/2 c e_a^2 + sum_bl c e_a e_b - phi0_k,      J = dPhi/dq,      M q'' + J^T lam = Q.

Loads that are not constant act on forms of their own, f = F q + f0, with Q + F^T w(t, f, f') for Q: see
forces.py. A drive makes phi0_k of its equations a function of time: see drives.py. A mechanism with
nothing of that kind has None instead of loads: the compiler then leaves out all that concerns them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Floats, Ints


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
    acc_sq: Floats
    acc_bl: Floats
    q: Floats
    v: Floats
    dq: Floats
    log_size: Floats
    # largest pivot that each equation has shown
    usual: Floats
    # all forces together
    Q: Floats


class Pieces(NamedTuple):
    """Polynomials of steps, one row a step: q = sum of coefficients[n, k] (t - starts[n])^k.

    starts: of the steps, and the end of the last; orders: the highest power that counts. Coefficients of twice
    as many columns as coordinates are those of q and of v apart. sides: series of the angles of torsions and
    of the work, (n, torsions + 1, terms), empty if there are no loads; with one term only what holds at the
    start of the step, and the rest follows from the motion.
    """

    starts: Floats
    orders: Ints
    coefficients: Floats
    sides: Floats

    def some(self, first: int, last: int) -> Pieces:
        """The steps from one to another, the same memory."""
        rows = slice(first, last)
        starts = self.starts[first : last + 1]
        return Pieces(starts, self.orders[rows], self.coefficients[rows], self.sides[rows])


# what is not allocated yet
NONE = np.zeros(0)


class Loads(NamedTuple):
    """Loads that change with the motion and drives, in the model's units; scratch memory of a run."""

    # loads: linear forms, rows of F compressed
    F_start: Ints
    F_col: Ints
    F_val: Floats
    f0: Floats
    # springs: first of three forms; rows of stiffness, damping, free length, preload
    line_f: Ints
    line: Floats
    # torsions: first of nine forms; rows of stiffness, damping, free angle, torque
    angle_f: Ints
    angle: Floats
    # forces linear in a form: w[pr_a] += pr_c f[pr_b]
    pr_a: Ints
    pr_b: Ints
    pr_c: Floats
    # user forces: rows of address, first form, points, dimension; newtons to the model's units
    user: Ints
    user_c: Floats
    # entries of dw/df and dw/df': row and column
    G_row: Ints
    G_col: Ints
    # driven equations: rows of equation, kind of right side, motion; its factor and what is subtracted
    drive: Ints
    drive_c: Floats
    drive_0: Floats
    # motions: pieces of each, their starts and polynomials; rows of amplitude, rate, phase of a sine
    motion_start: Ints
    motion_break: Floats
    motion_poly: Floats
    motion_sine: Floats
    # forms, their rates, what acts on them; angles as last seen
    f: Floats = NONE
    df: Floats = NONE
    fw: Floats = NONE
    theta: Floats = NONE
    # driven equations: right side, its rate and second rate
    driven: Floats = NONE
    # series coefficients, a row a quantity: load forms; springs: length and pull over length;
    # torsions: cosine, sine, angle, torque, torque times cosine and sine; motions, what they make of the
    # driven right sides, forces of drives; work of loads and drives
    fc: Floats = NONE
    length: Floats = NONE
    ratio: Floats = NONE
    turn: Floats = NONE
    motion: Floats = NONE
    side: Floats = NONE
    pull: Floats = NONE
    work: Floats = NONE


def pack(arrays: Any) -> Any:
    """The same named tuple with its arrays side by side in memory, one block a type.

    Arrays that the system places by itself may lie a multiple of a page apart; loads and stores in them
    then wait for each other, and some runs of N = 40 took a tenth longer than others.
    """
    packed = {}
    for kind in (np.float64, np.int64):
        chosen = {k: v for k, v in arrays._asdict().items() if v.dtype == kind}
        # every array starts on a cache line of eight numbers
        starts = np.cumsum([0, *(-(-v.size // 8) * 8 for v in chosen.values())])
        block = np.zeros(int(starts[-1]) + 8, kind)
        first = (-block.ctypes.data % 64) // 8
        for start, (name, values) in zip(starts, chosen.items(), strict=False):
            at = first + int(start)
            view = block[at : at + values.size].reshape(values.shape)
            view[...] = values
            packed[name] = view
    return type(arrays)(**packed)


def make_workspace(form: Form, order: int) -> Workspace:
    """Allocate the scratch memory for series up to the given order."""
    nq, nc, nf = len(form.Q), len(form.phi0), len(form.e0)
    ns, nb = len(form.sq_c), len(form.bl_c)
    n, rows = nq + nc, order + 1
    z = np.zeros
    return pack(Workspace(
        e=z(nf), de=z(nf), phi=z(nc), J=z(len(form.J_eq)), L=z(n + len(form.L_row)),
        b=z(n), r=z(n), x=z(n), w=z(nf),
        lam=z((rows, nc)), sq_e=z((rows, ns)), bl_ea=z((rows, nb)), bl_eb=z((rows, nb)),
        sq_l=z((rows, ns)), bl_l=z((rows, nb)),
        acc_sq=z(ns), acc_bl=z(nb),
        q=z(nq), v=z(nq), dq=z(nq), log_size=z(rows), usual=z(nc), Q=z(nq),
    ))  # fmt: skip


def make_loads(loads: Loads, order: int) -> Loads | None:
    """The loads with scratch memory for series up to the given order; None if there are none."""
    nl, ns, na, nm, nd = (
        len(x) for x in (loads.f0, loads.line, loads.angle, loads.motion_sine, loads.drive)
    )
    if not nl and not nd:
        return None
    rows, z = order + 1, np.zeros
    return pack(loads._replace(
        f=z(nl), df=z(nl), fw=z(nl), theta=z(na), driven=z((3, nd)),
        fc=z((nl, rows)), length=z((ns, rows)), ratio=z((ns, rows)), turn=z((na, 6, rows)),
        motion=z((nm, rows)), side=z((nd, rows)), pull=z((nm, rows)), work=z(2 * rows),
    ))  # fmt: skip
