"""Newton's matrix of the three stages of Radau IIA: its pattern, factors and solves.

With W the inverse of the method's matrix A, dv the velocity corrections of all stages together, S = d(Q - J^T
lam)/dq and G = dQ/dv of stage k, and r the residual of its equation:

    sum_l W_kl M dv_l - h G_k dv_k - h^2 S_k sum_l A_kl dv_l + J_k^T mu_k = h M r_k
    J_k sum_l W_kl dv_l - eps mu_k = h J_k r_k

in blocks of 3 x 3 in a static order. Every stage has its own derivatives: in coordinates that move with the
bodies, the direction of a stiff spring rotates during a step. The constraints act on the acceleration changes of
each stage, where the stiff forces are; on velocities they would mix directions of different stages. The rotation
of J, as slow as the motion, is neglected.
"""

from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from ..arrays import Floats, Ints
from .applied_forces import eval_load_derivatives
from .compiler import kernel, noinline
from .forms import eval_forms, eval_jacobian
from .solve import eliminate_pair, solve_pair
from .stepping import largest


class Rule(NamedTuple):
    """Radau IIA with some stages: their times in a step of length 1, the matrix A, its square and its inverse.

    weights: of the stages in the error estimate [HairerWanner1999], which vanishes for motions whose velocity is a
    polynomial of the stages' degree. mu: the real eigenvalue of W. dense: coefficients of the powers of the
    relative time in the step, from the second on, of the integrals of the stages' velocity basis, and of the
    polynomial that vanishes at all stages and has slope 1 at the start. work: coefficients of the powers of the
    relative time, from the first on, of the integrals of the polynomials that are 1 at one stage and 0 at the
    others.
    """

    nodes: Floats
    A: Floats
    A2: Floats
    W: Floats
    weights: Floats
    mu: Floats
    dense: Floats
    work: Floats


def make_rule(stages: int) -> Rule:
    """Radau IIA with an odd number of stages, from Legendre polynomials."""
    last = np.zeros(stages + 1)
    last[-2:] = -1.0, 1.0
    # The roots are real, whatever type this NumPy version returns.
    x = np.sort(np.real(legendre.legroots(last)))
    x[-1] = 1.0
    nodes = 0.5 * (x + 1.0)
    basis = legendre.legvander(x, stages - 1)
    integrals = [legendre.legint(row, lbnd=-1.0) for row in np.eye(stages)]
    sums = 0.5 * np.stack([legendre.legval(x, row) for row in integrals], axis=1)
    A = np.linalg.solve(basis.T, sums.T).T
    W = np.linalg.inv(A)
    values = np.linalg.eigvals(W)
    mu = values[np.argmin(np.abs(values.imag))].real
    powers = nodes[:, None] ** np.arange(1, stages + 1)
    # Columns: coefficients of 1, x, ... of the polynomials that are 1 at one stage, 0 at the others and at 0.
    columns = np.zeros((stages + 2, stages + 1))
    columns[1:-1, :-1] = np.linalg.inv(powers)
    vanishing = np.polynomial.polynomial.polyfromroots(np.concatenate([[0.0], nodes]))
    columns[:, -1] = vanishing / vanishing[1]
    weights = -columns[1, :-1]
    dense = columns[1:] / np.arange(2, stages + 3)[:, None]
    work = np.linalg.inv(np.vander(nodes, increasing=True)) / np.arange(1, stages + 1)[:, None]
    return Rule(nodes, A, A @ A, W, weights, np.array([mu]), dense, work)


# Three stages, used where they are solved for in blocks.
THREE = make_rule(3)
STAGES, A, W = THREE.nodes, THREE.A, THREE.W


class Tangent(NamedTuple):
    """Pattern of the Newton matrices: L D U in a static order, the values in one array.

    The values are the n pivots, then the entries of L by columns, then those of U by rows.
    """

    pos_q: Ints
    pos_c: Ints
    # Target indices of the entries of M, J, J^T and the augmentation.
    M_at: Ints
    J_at: Ints
    JT_at: Ints
    A_at: Ints
    A_1: Ints
    A_2: Ints
    # dQ/dq and dQ/dv: coordinates of each entry, and its target index.
    S_row: Ints
    S_col: Ints
    S_at: Ints
    # Terms of each entry: S[sum_to] += sum_c dw/df[sum_of], S[lam_to] -= lam_c lam[lam_of].
    sum_to: Ints
    sum_of: Ints
    sum_c: Floats
    lam_to: Ints
    lam_of: Ints
    lam_c: Floats
    # Factor: columns of L and targets of its updates.
    L_start: Ints
    L_row: Ints
    L_target: Ints


class StageLaneWorkspace(NamedTuple):
    """Memory for the motions of all stages in SIMD lanes, with the lanes as last axis.

    Of the stages: factor of K, J, derivatives of Q, velocities, accelerations. X: right-hand sides. turn: (nq, f).
    Jv, Ja: rates of J due to velocity and acceleration. de: rates of the forms. N, MN, T: as in `DofBasis`.
    """

    L: Floats
    J: Floats
    S: Floats
    G: Floats
    v: Floats
    a: Floats
    X: Floats
    turn: Floats
    Jv: Floats
    Ja: Floats
    de: Floats
    N: Floats
    MN: Floats
    T: Floats


class DofBasis(NamedTuple):
    """Motions that the constraints allow at each stage, and their effect on the accelerations.

    N, MN: orthonormal motions and their momenta, (s, nq, f). T: changes of the acceleration due to configuration
    and velocity, (s, nq, 2 f). matrix, lower, order, right: the dense system of 2 f s unknowns, with rows of the
    first padded to whole SIMD vectors. seen: one row of lanes. side: memory of the lanes.
    """

    N: Floats
    MN: Floats
    T: Floats
    matrix: Floats
    lower: Floats
    order: Ints
    right: Floats
    seen: Floats
    side: StageLaneWorkspace


class Stages(NamedTuple):
    """Scratch memory of a step of s stages, and data kept of them."""

    rule: Rule
    # Increments of the stages: configuration and velocity, shape (2, s, nq), and their corrections; velocity
    # increments of the last step; two kinds of sums over stages.
    z: Floats
    dz: Floats
    past: Floats
    sums: Floats
    # Factor of K at the stages; the part of the step's acceleration at its start that the stages do not represent.
    L: Floats
    bend: Floats
    # Projected states, accelerations, multipliers; power of all forces, and of the non-conservative ones.
    q: Floats
    v: Floats
    a: Floats
    lam: Floats
    power: Floats
    brought: Floats
    # J where the factors were computed (the stages and the start), derivatives of the loads, and of Q there.
    J: Floats
    A: Floats
    B: Floats
    S: Floats
    G: Floats
    # Angles of the torsion springs at the start of the step; user forces in it.
    theta: Floats
    user: Floats
    # Factor of the stages in blocks, its right-hand side, two blocks; factor for the error estimate, its
    # right-hand side.
    blocks: Floats
    b_blocks: Floats
    below: Floats
    right: Floats
    values: Floats
    b: Floats
    # In the degrees of freedom: see radau_dof.py.
    dof: DofBasis


@kernel
def subtract_product(x, y, z):
    """Z -= X Y, for blocks."""
    for k in range(3):
        for m in range(3):
            z[k, m] -= x[k, 0] * y[0, m] + x[k, 1] * y[1, m] + x[k, 2] * y[2, m]


@kernel
def put_product(x, y, z):
    """Z = X Y, for blocks."""
    for k in range(3):
        for m in range(3):
            z[k, m] = x[k, 0] * y[0, m] + x[k, 1] * y[1, m] + x[k, 2] * y[2, m]


@kernel
def invert_block(x):
    """X = X^-1, by its cofactors."""
    a, b, c = x[0, 0], x[0, 1], x[0, 2]
    d, e, f = x[1, 0], x[1, 1], x[1, 2]
    g, h, i = x[2, 0], x[2, 1], x[2, 2]
    p, q, r = e * i - f * h, f * g - d * i, d * h - e * g
    s = 1.0 / (a * p + b * q + c * r)
    x[0, 0], x[0, 1], x[0, 2] = s * p, s * (c * h - b * i), s * (b * f - c * e)
    x[1, 0], x[1, 1], x[1, 2] = s * q, s * (a * i - c * g), s * (c * d - a * f)
    x[2, 0], x[2, 1], x[2, 2] = s * r, s * (b * g - a * h), s * (a * e - b * d)


@noinline
def factorise_stages(form, tan, st, h):
    """Assemble and factorise the Newton matrix of the three stages; blocks of L and of U in st.blocks."""
    blocks = st.blocks
    n = len(tan.pos_q) + len(tan.pos_c)
    upper = len(tan.L_row)
    for a in range(len(blocks)):
        for k in range(3):
            for m in range(3):
                blocks[a, k, m] = 0.0
    for a in range(len(tan.M_at)):
        for k in range(3):
            for m in range(3):
                blocks[tan.M_at[a], k, m] = form.M_val[a] * W[k, m]
    for a in range(len(tan.S_at)):
        for k in range(3):
            for m in range(3):
                blocks[tan.S_at[a], k, m] -= h * h * st.S[k, a] * A[k, m]
            blocks[tan.S_at[a], k, k] -= h * st.G[k, a]
    for k in range(3):
        J = st.J[k]
        for a in range(len(tan.A_at)):
            i = tan.A_1[a]
            for m in range(3):
                x = form.rho[form.J_eq[i]] * W[k, m]
                blocks[tan.A_at[a], k, m] += x * J[i] * J[tan.A_2[a]]
        for c in range(len(tan.pos_c)):
            blocks[tan.pos_c[c], k, k] = -form.eps[c]
        for a in range(len(J)):
            blocks[tan.JT_at[a], k, k] = J[a]
            for m in range(3):
                blocks[tan.J_at[a], k, m] = J[a] * W[k, m]
    t = 0
    for j in range(n):
        invert_block(blocks[j])
        first = n + tan.L_start[j]
        last = n + tan.L_start[j + 1]
        for a in range(first, last):
            put_product(blocks[a], blocks[j], st.below)
            put_product(blocks[j], blocks[upper + a], st.right)
            subtract_product(st.below, blocks[upper + a], blocks[tan.L_target[t]])
            t += 1
            for b in range(a + 1, last):
                # Entry (b, a) of L and (a, b) of U.
                subtract_product(blocks[b], st.right, blocks[tan.L_target[t]])
                subtract_product(st.below, blocks[upper + b], blocks[upper + tan.L_target[t]])
                t += 1
        for a in range(first, last):
            put_product(blocks[a], blocks[j], st.below)
            put_product(blocks[j], blocks[upper + a], st.right)
            for k in range(3):
                for m in range(3):
                    blocks[a, k, m] = st.below[k, m]
                    blocks[upper + a, k, m] = st.right[k, m]


@noinline
def solve_stages(form, tan, st, h):
    """Replace the residuals st.dz[1] by the Newton corrections of all velocities."""
    b = st.b_blocks
    blocks = st.blocks
    n = len(b)
    upper = len(tan.L_row)
    for i in range(n):
        for k in range(3):
            b[i, k] = 0.0
    r = st.dz[1]
    for i in range(r.shape[1]):
        at = tan.pos_q[i]
        for a in range(form.M_start[i], form.M_start[i + 1]):
            x = h * form.M_val[a]
            for k in range(3):
                b[at, k] += x * r[k, form.M_col[a]]
    for a in range(len(form.J_eq)):
        at, i = tan.pos_c[form.J_eq[a]], form.J_col[a]
        for k in range(3):
            b[at, k] += h * st.J[k, a] * r[k, i]
    if len(tan.A_at):
        for a in range(len(form.J_eq)):
            rho = form.rho[form.J_eq[a]]
            if rho != 0.0:
                at, i = tan.pos_c[form.J_eq[a]], tan.pos_q[form.J_col[a]]
                for k in range(3):
                    b[i, k] += rho * st.J[k, a] * b[at, k]
    for j in range(n):
        x, y, z = b[j, 0], b[j, 1], b[j, 2]
        for a in range(tan.L_start[j], tan.L_start[j + 1]):
            L = blocks[n + a]
            to = b[tan.L_row[a]]
            for k in range(3):
                to[k] -= L[k, 0] * x + L[k, 1] * y + L[k, 2] * z
    for j in range(n - 1, -1, -1):
        D = blocks[j]
        x, y, z = b[j, 0], b[j, 1], b[j, 2]
        for k in range(3):
            b[j, k] = D[k, 0] * x + D[k, 1] * y + D[k, 2] * z
        for a in range(tan.L_start[j], tan.L_start[j + 1]):
            U = blocks[n + upper + a]
            x, y, z = b[tan.L_row[a], 0], b[tan.L_row[a], 1], b[tan.L_row[a], 2]
            for k in range(3):
                b[j, k] -= U[k, 0] * x + U[k, 1] * y + U[k, 2] * z
    for i in range(r.shape[1]):
        for k in range(3):
            r[k, i] = b[tan.pos_q[i], k]


@noinline
def factorise_tangent(form, tan, J, S, G, inverse_nu, values):
    """Assemble and factorise [M - G/nu - S/nu^2, J^T; J, -eps], for the error estimate."""
    n = len(tan.pos_q) + len(tan.pos_c)
    upper = len(tan.L_row)
    for k in range(len(values)):
        values[k] = 0.0
    for k in range(len(tan.M_at)):
        values[tan.M_at[k]] = form.M_val[k]
    for k in range(len(tan.A_at)):
        a = tan.A_1[k]
        values[tan.A_at[k]] += form.rho[form.J_eq[a]] * J[a] * J[tan.A_2[k]]
    for k in range(len(tan.S_at)):
        values[tan.S_at[k]] -= inverse_nu * (G[k] + inverse_nu * S[k])
    for c in range(len(tan.pos_c)):
        values[tan.pos_c[c]] = -form.eps[c]
    for k in range(len(J)):
        values[tan.J_at[k]] = J[k]
        values[tan.JT_at[k]] = J[k]
    eliminate_pair(tan, n, values, values[upper:])


@noinline
def solve_tangent(form, tan, J, S, inverse_nu, values, r_q, r_v, b):
    """Solve nu dq - dv = r_q, nu dv - a'(dq, dv) = r_v on the constraints; the solution replaces r_q and r_v."""
    n = len(b)
    nq = len(r_q)
    for i in range(n):
        b[i] = 0.0
    for k in range(len(J)):
        b[tan.pos_c[form.J_eq[k]]] += J[k] * r_v[form.J_col[k]]
    for i in range(nq):
        for k in range(form.M_start[i], form.M_start[i + 1]):
            b[tan.pos_q[i]] += form.M_val[k] * r_v[form.M_col[k]]
    for k in range(len(tan.S_at)):
        b[tan.pos_q[tan.S_row[k]]] += inverse_nu * S[k] * r_q[tan.S_col[k]]
    for i in range(n):
        b[i] *= inverse_nu
    if len(tan.A_at):
        for k in range(len(J)):
            rho = form.rho[form.J_eq[k]]
            if rho != 0.0:
                b[tan.pos_q[form.J_col[k]]] += rho * J[k] * b[tan.pos_c[form.J_eq[k]]]
    solve_pair(tan, values, values[len(tan.L_row) :], b)
    for i in range(nq):
        r_v[i] = b[tan.pos_q[i]]
        r_q[i] = inverse_nu * (r_v[i] + r_q[i])


@noinline
def eval_tangents(form, tan, ws, st, loads, row, t, h, q, v, lam):
    """J, S = d(Q - J^T lam)/dq and G = dQ/dv at a state."""
    eval_forms(form, q, ws.e)
    eval_jacobian(form, ws.e, st.J[row])
    for k in range(st.S.shape[1]):
        st.S[row, k] = 0.0
        st.G[row, k] = 0.0
    # Near a singular configuration the multipliers have a pole, but no part of the motion is that stiff.
    part = min(1.0, 1.0 / (h * h * largest(lam) + 1e-300))
    for n in range(len(tan.lam_c)):
        st.S[row, tan.lam_to[n]] -= part * tan.lam_c[n] * lam[tan.lam_of[n]]
    if len(tan.sum_c):
        eval_load_derivatives(loads, t, q, v, st.A, st.B)
        for n in range(len(tan.sum_c)):
            st.S[row, tan.sum_to[n]] += tan.sum_c[n] * st.A[tan.sum_of[n]]
            st.G[row, tan.sum_to[n]] += tan.sum_c[n] * st.B[tan.sum_of[n]]
