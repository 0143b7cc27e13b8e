"""Radau IIA with three stages on the motion over the constraints [HairerWanner1996, sec. IV.8].

A stage is taken back onto the constraints of position and velocity before it is used: with (q, v)~ the
projected state of stage i,

    q' = v,     v' = a(t, q~, v~),     M a + J(q~)^T lam = Q(t, q~, v~),     J a = phi0'' - J' v~.

So Phi = phi0 and J v = phi0' hold at every stage and every end of a step, as Gear, Gupta and Leimkuhler
stabilise them [GearLeimkuhlerGupta1985]; here a projection does what their multipliers do, with the
solve that all methods share: equations may depend on each other.

Newton's method on the velocities of the three stages together, W the inverse of the method's matrix A,
S = d(Q - J^T lam)/dq and G = dQ/dv of stage k, r what its equation leaves:

    sum_l W_kl M dv_l - h G_k dv_k - h^2 S_k sum_l A_kl dv_l + J_k^T mu_k = h M r_k
    J_k sum_l W_kl dv_l - eps mu_k = h J_k r_k

in blocks of 3 x 3 in a static order. Every stage has derivatives of its own: in coordinates that move with
the bodies the direction of a stiff spring turns during a step. The constraints are on the changes of
accelerations of each stage, where the stiff forces are; on velocities they would mix directions of
different stages. Left out is the turning of J, as slow as the motion.
"""

from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from .compiler import block, entry, kernel
from .elements.drive import (
    drive_constraints,
    eval_drive_power,
    eval_drives,
    next_break,
    subtract_drives,
)
from .forms import (
    eval_constraints,
    eval_curvature,
    eval_energy,
    eval_form_rates,
    eval_forms,
    eval_jacobian,
)
from .loads import eval_load_derivatives, eval_loads
from .project import project_position, project_velocity
from .solve import (
    eval_pivots,
    factorise,
    factorise_damped,
    learn_pivots,
    refinements_for,
    solve_refined,
)
from .stepping import (
    SAME,
    eval_drive_forces_at,
    eval_power,
    interpolate,
    largest,
    measure,
)

# why the loop returned
DONE = 0
FULL = 1
STUCK = 2
NOT_FINITE = 3

# places in the counters
STEPS, REJECTED, ITERATIONS, FACTORISATIONS, LOOSENED = 0, 1, 2, 3, 4
# places in what is kept from step to step: the next step, the last one and its error, the step that
# the factors were made for, the rate of the last iteration; the largest velocity and kinetic
# energy so far
NEXT, LAST, ERROR, FACTORED, RATE, SPEED, KINETIC = 0, 1, 2, 3, 4, 5, 6

# the method: stages, its matrix and the inverse
_R = np.sqrt(6.0)
STAGES = np.array([(4.0 - _R) / 10.0, (4.0 + _R) / 10.0, 1.0])
A = np.array([
    [(88 - 7 * _R) / 360, (296 - 169 * _R) / 1800, (-2 + 3 * _R) / 225],
    [(296 + 169 * _R) / 1800, (88 + 7 * _R) / 360, (-2 - 3 * _R) / 225],
    [(16 - _R) / 36, (16 + _R) / 36, 1 / 9],
])  # fmt: skip
W = np.linalg.inv(A)
# the real eigenvalue of W
MU = float(np.linalg.eigvals(W).real.max())
# weights of the stages in the estimate of the error, [HairerWanner1996] eq. (IV.8.20)
WEIGHTS = np.array([-13.0 - 7.0 * _R, -13.0 + 7.0 * _R, -1.0]) / 3.0

MOST_ITERATIONS = 10
# part of the tolerance that an iteration may leave, and the least that rounding allows
ITERATION = 0.02
LEAST = 1e-13
# corrections (of a link) that are rounding, and those that may stay where rounding lets no smaller ones
FINE = 1e-15
LOOSE = 1e-9
# the factors serve on while the iteration converges faster than this
GOOD_RATE = 0.02
# a step grows and shrinks by at most this; one that would grow by less stays, and so do the factors
MOST_GROWTH = 4.0
LEAST_GROWTH = 1.2
MOST_SHRINK = 0.2
SAFETY = 0.9
# errors of velocities count by at most so many steps
MOST_STEPS = 100.0
# the projections may move the end of a step by so many local tolerances: another branch is further
SLACK = 10.0
# kinetic energy may differ from the work of the forces by so many tolerances of what is exchanged; NOISE
# is what rounding may do to a long chain
ENERGY_SLACK = 1e4
NOISE = 1e-9
# steps below this part of the run would not end in any sensible time
SHORTEST = 1e-12
# Newton's steps back onto the constraints
MOST_CORRECTIONS = 4
# a pivot this much smaller than usual: beside a singular position (see kernels/series.py). Rounding may
# forbid any step there: after so many tries all tolerances are ten times looser, up to the loosest
NEAR = 1e-4
TRIES = 4
OTHERS = np.array([1.0, 0.7, 1.4, 0.4])
LOOSEST = 1e-5
# and this much smaller: accelerations there are rounding
TOO_NEAR = 1e-10

# how an iteration ended
FAILED, CONVERGED, STALLED = 0, 1, 2


class Tangent(NamedTuple):
    """Pattern of the Newton matrices: L D U in a static order, the values in one array.

    The values are the n pivots, then the entries of L by columns, then those of U by rows.
    """

    pos_q: Ints
    pos_c: Ints
    # where entries of M, J, J^T and the augmentation go
    M_at: Ints
    J_at: Ints
    JT_at: Ints
    A_at: Ints
    A_1: Ints
    A_2: Ints
    # dQ/dq and dQ/dv: coordinates of each entry, and where it goes
    S_row: Ints
    S_col: Ints
    S_at: Ints
    # and what it sums: S[sum_to] += sum_c dw/df[sum_of], S[lam_to] -= lam_c lam[lam_of]
    sum_to: Ints
    sum_of: Ints
    sum_c: Floats
    lam_to: Ints
    lam_of: Ints
    lam_c: Floats
    # factor: columns of L and targets of its updates
    L_start: Ints
    L_row: Ints
    L_target: Ints


class Stages(NamedTuple):
    """Scratch memory of a step."""

    # increments of the stages: position and velocity, shape (2, 3, nq), and their corrections; those of
    # the velocities in the last step
    z: Floats
    dz: Floats
    past: Floats
    # projected states, accelerations, multipliers; work of all forces in a second
    q: Floats
    v: Floats
    a: Floats
    lam: Floats
    power: Floats
    # J where the factors were made (three stages and the start), derivatives of the loads, and of Q there
    J: Floats
    A: Floats
    B: Floats
    S: Floats
    G: Floats
    # angles of the torsions at the start of the step
    theta: Floats
    # factor of the stages in blocks, its right side, two blocks; factor for the error, its right side
    blocks: Floats
    b_blocks: Floats
    below: Floats
    right: Floats
    values: Floats
    b: Floats


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


@block
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
                # entry (b, a) of L and (a, b) of U
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


@block
def solve_stages(form, tan, st, h):
    """Newton corrections of all velocities in place of what their equations leave, st.dz[1]."""
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


@block
def factorise_tangent(form, tan, J, S, G, inverse_nu, values):
    """Assemble and factorise [M - G/nu - S/nu^2, J^T; J, -eps], for the estimate of the error."""
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
    t = 0
    for j in range(n):
        inverse = 1.0 / values[j]
        values[j] = inverse
        first = n + tan.L_start[j]
        last = n + tan.L_start[j + 1]
        for a in range(first, last):
            below = values[a] * inverse
            right = values[upper + a] * inverse
            values[tan.L_target[t]] -= below * values[upper + a]
            t += 1
            for b in range(a + 1, last):
                # entry (b, a) of L and (a, b) of U
                values[tan.L_target[t]] -= right * values[b]
                values[upper + tan.L_target[t]] -= below * values[upper + b]
                t += 1
        for a in range(first, last):
            values[a] *= inverse
            values[upper + a] *= inverse


@block
def solve_tangent(form, tan, J, S, inverse_nu, values, r_q, r_v, b):
    """Solve nu dq - dv = r_q, nu dv - a'(dq, dv) = r_v on the constraints, in place of r_q and r_v."""
    n = len(b)
    nq = len(r_q)
    upper = len(tan.L_row)
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
    for j in range(n):
        s = b[j]
        for a in range(tan.L_start[j], tan.L_start[j + 1]):
            b[tan.L_row[a]] -= values[n + a] * s
    for j in range(n - 1, -1, -1):
        s = b[j] * values[j]
        for a in range(tan.L_start[j], tan.L_start[j + 1]):
            s -= values[n + upper + a] * b[tan.L_row[a]]
        b[j] = s
    for i in range(nq):
        r_v[i] = b[tan.pos_q[i]]
        r_q[i] = inverse_nu * (r_v[i] + r_q[i])


@block
def eval_tangents(form, tan, ws, st, loads, row, t, h, q, v, lam):
    """J, S = d(Q - J^T lam)/dq and G = dQ/dv at a state."""
    eval_forms(form, q, ws.e)
    eval_jacobian(form, ws.e, st.J[row])
    for k in range(st.S.shape[1]):
        st.S[row, k] = 0.0
        st.G[row, k] = 0.0
    # beside a singular position multipliers have a pole, but no part of the motion is that stiff
    part = min(1.0, 1.0 / (h * h * largest(lam) + 1e-300))
    for n in range(len(tan.lam_c)):
        st.S[row, tan.lam_to[n]] -= part * tan.lam_c[n] * lam[tan.lam_of[n]]
    if len(tan.sum_c):
        eval_load_derivatives(loads, t, q, v, st.A, st.B)
        for n in range(len(tan.sum_c)):
            st.S[row, tan.sum_to[n]] += tan.sum_c[n] * st.A[tan.sum_of[n]]
            st.G[row, tan.sum_to[n]] += tan.sum_c[n] * st.B[tan.sum_of[n]]


@block
def project_and_accelerate(form, ws, loads, t, q, v, a, lam):
    """Take a state back onto the constraints and solve the equations of motion there.

    Returns how far position and velocity moved, and the smallest pivot against what is usual. ws.L:
    factor of K there.
    """
    nq = len(q)
    eval_drives(loads, t)
    eval_forms(form, q, ws.e)
    eval_jacobian(form, ws.e, ws.J)
    left = eval_constraints(form, ws.e, ws.phi)
    left = drive_constraints(form, loads, left, ws.phi)
    # away from the constraints dependent equations contradict each other a little; damped as much as
    # they are violated, Newton's steps do not answer to that [FanYuan2005]
    factorise_damped(form, ws.J, left, ws.L)
    moved = project_position(form, ws, loads, MOST_CORRECTIONS, q)
    eval_jacobian(form, ws.e, ws.J)
    factorise(form, ws.J, ws.L)
    smallest, drop = eval_pivots(form, ws.L, ws.usual)
    refinements = refinements_for(smallest, 0.0)
    turned = project_velocity(form, ws, loads, refinements, v)
    eval_loads(form, loads, t, q, v, ws.Q)
    eval_form_rates(form, v, ws.de)
    eval_curvature(form, ws.de, ws.phi)
    subtract_drives(loads, 2, ws.phi)
    for i in range(nq):
        ws.b[form.pos_q[i]] = ws.Q[i]
    for c in range(len(ws.phi)):
        ws.b[form.pos_c[c]] = -ws.phi[c]
    solve_refined(form, ws.J, ws.L, ws.b, refinements, ws.r, ws.x)
    for i in range(nq):
        a[i] = ws.x[form.pos_q[i]]
    for c in range(len(lam)):
        lam[c] = ws.x[form.pos_c[c]]
    return moved, turned, drop


@kernel
def predict(first, ratio, z):
    """Increments of a step `ratio` times as long as that of the polynomial given; it starts where that
    one ends (first = 1) or where it starts (first = 0).
    """
    for i in range(z.shape[1]):
        z0, z1, z2 = z[0, i], z[1, i], z[2, i]
        # divided differences over 0, c1, c2, 1
        d1 = z0 / STAGES[0]
        d12 = (z1 - z0) / (STAGES[1] - STAGES[0])
        d23 = (z2 - z1) / (1.0 - STAGES[1])
        d012 = (d12 - d1) / STAGES[1]
        d123 = (d23 - d12) / (1.0 - STAGES[0])
        third = d123 - d012
        for k in range(3):
            s = first + ratio * STAGES[k]
            p = d012 + (s - STAGES[1]) * third
            z[k, i] = s * (d1 + (s - STAGES[0]) * p) - first * z2


@kernel
def start_stages(st, h, q0, v0):
    """States of the stages before their projection, from the increments of velocities."""
    for i in range(len(q0)):
        for k in range(3):
            st.v[k, i] = v0[i] + st.z[1, k, i]
        x, y, z = st.v[0, i], st.v[1, i], st.v[2, i]
        for k in range(3):
            st.z[0, k, i] = h * (A[k, 0] * x + A[k, 1] * y + A[k, 2] * z)
            st.q[k, i] = q0[i] + st.z[0, k, i]


@block
def iterate(form, tan, ws, st, loads, t, h, tau, stale, tolerance, rate, q0, v0, counters):
    """Newton on the stages from st.z on; returns how it ended, its rate, and the smallest pivot against
    what is usual. stale: whether the factor is to be made anew, at the first guess.
    """
    nq = len(q0)
    nearest = 1.0
    before = 0.0
    known = max(rate, 1e-16) ** 0.8
    for n in range(MOST_ITERATIONS):
        start_stages(st, h, q0, v0)
        for k in range(3):
            _, _, drop = project_and_accelerate(
                form, ws, loads, t + STAGES[k] * h, st.q[k], st.v[k], st.a[k], st.lam[k]
            )
            nearest = min(nearest, drop)
            st.power[k] = eval_drive_power(loads, st.lam[k])
            for i in range(nq):
                st.power[k] += ws.Q[i] * st.v[k, i]
        if stale and n == 0:
            for k in range(3):
                eval_tangents(
                    form, tan, ws, st, loads, k, t + STAGES[k] * h, h, st.q[k], st.v[k], st.lam[k]
                )
            factorise_stages(form, tan, st, h)
            counters[FACTORISATIONS] += 3
        counters[ITERATIONS] += 1
        for i in range(nq):
            x, y, z = st.z[1, 0, i] / h, st.z[1, 1, i] / h, st.z[1, 2, i] / h
            for k in range(3):
                st.dz[1, k, i] = st.a[k, i] - (W[k, 0] * x + W[k, 1] * y + W[k, 2] * z)
        solve_stages(form, tan, st, h)
        size = 0.0
        for k in range(3):
            for i in range(nq):
                x = st.dz[1, k, i]
                st.z[1, k, i] += x
                if not tau * abs(x) <= size:
                    size = tau * abs(x)
        if not np.isfinite(size):
            return FAILED, 1.0, nearest
        if n > 0:
            rate = size / before
            if rate < 1.0:
                known = rate / (1.0 - rate)
        if size <= FINE or (known * size <= tolerance and (n == 0 or rate < 1.0)):
            return CONVERGED, rate, nearest
        if n > 0:
            if rate >= 0.5 and size <= LOOSE:
                # rounding, divided by a small pivot
                return (CONVERGED if size <= tolerance else STALLED), rate, nearest
            # the first corrections come from a rough guess: what they tell of the rate is little
            left = MOST_ITERATIONS - 1 - n
            hopeless = rate >= 1.0 or rate**left / (1.0 - rate) * size > max(tolerance, LOOSE)
            if rate > 2.0 or (n > 1 and hopeless):
                return FAILED, rate, nearest
        before = size
    return FAILED, 1.0, nearest


@block
def eval_error(form, tan, st, h, tau, v0, a0):
    """The error of a step of third order beside this one: its largest entry, velocities times tau.

    st.dz[:, 0]: the error of position and velocity.
    """
    for i in range(len(v0)):
        r_q, r_v = v0[i], a0[i]
        for k in range(3):
            r_q += WEIGHTS[k] * st.z[0, k, i] / h
            r_v += WEIGHTS[k] * st.z[1, k, i] / h
        st.dz[0, 0, i] = r_q
        st.dz[1, 0, i] = r_v
    solve_tangent(form, tan, st.J[3], st.S[3], h / MU, st.values, st.dz[0, 0], st.dz[1, 0], st.b)
    # written so that nan stays
    position, velocity = largest(st.dz[0, 0]), tau * largest(st.dz[1, 0])
    return position if not velocity > position else velocity


@kernel
def growth(error, last_error, h, last_h, iterations):
    """By what the next step may be longer: error ~ h^4, and as it changed over the last two steps."""
    safety = SAFETY * (2 * MOST_ITERATIONS + 1) / (2 * MOST_ITERATIONS + iterations)
    factor = (error + 1e-12) ** -0.25
    if last_error > 0.0 and last_h > 0.0:
        factor = min(factor, factor * h / last_h * (last_error / (error + 1e-12)) ** 0.25)
    return min(max(safety * factor, MOST_SHRINK), MOST_GROWTH)


@entry
def advance(
    form, tan, ws, st, loads, t_end, local, tolerance, longest,
    first, control, times, store, watch, counters,
):  # fmt: skip
    """Step from store[first] to t_end or until the store is full; returns the reason and the last row.

    local: error of third order that a step may have; tolerance: that of the run; longest: step.
    control: what is kept between calls. Outputs: times and states (position, velocity, acceleration)
    at the ends of steps; watch: smallest pivot there and how far the landing was moved; counters.
    """
    nq = store.shape[2]
    fresh = control[NEXT] == 0.0
    if fresh:
        q0, v0, a0 = store[first, 0], store[first, 1], store[first, 2]
        eval_forms(form, q0, ws.e)
        eval_jacobian(form, ws.e, ws.J)
        factorise(form, ws.J, ws.L)
        learn_pivots(form, ws.L, ws.usual)
        project_and_accelerate(form, ws, loads, times[first], q0, v0, a0, st.lam[3])
        control[SPEED] = largest(v0)
        speed = max(control[SPEED], np.sqrt(largest(a0)))
        if not np.isfinite(speed):
            return NOT_FINITE, first
        # a part of the time in which the motion covers its own length
        control[NEXT] = min(longest, 0.5 * local**0.25 / max(speed, 1.0 / (t_end - times[first])))
    for n in range(first, store.shape[0] - 1):
        t = times[n]
        q0, v0, a0 = store[n, 0], store[n, 1], store[n, 2]
        h = min(control[NEXT], longest)
        # a step ends where a motion changes its polynomial
        stop = min(t_end, next_break(loads, t))
        wanted = h
        _, before = eval_energy(form, q0, v0)
        loose = 1.0
        guess = 0.0
        nearest = 1.0
        tried = 0
        if loads is not None:
            for k in range(len(st.theta)):
                st.theta[k] = loads.theta[k]
        while True:
            if tried > 0 and tried % TRIES == 0 and nearest < NEAR:
                # rounding, not truncation: no step is short enough; go on a little looser, counted
                loose *= 10.0
                h = wanted
                if loose * local > LOOSEST:
                    return STUCK, n
            # a last step that is too short to be worth one is avoided
            end = t + 1.01 * h >= stop
            if end:
                h = stop - t
            elif t + 2.0 * h > stop and control[FACTORED] != h:
                h = 0.5 * (stop - t)
            if not h > SHORTEST * t_end:
                return STUCK, n
            # errors of velocities count by the time in which the motion covers its own length, within
            # sensible bounds
            tau = min(max(1.0 / (control[SPEED] + 1e-300), h), MOST_STEPS * h)
            stale = control[FACTORED] != h or control[RATE] > GOOD_RATE
            if stale:
                eval_tangents(form, tan, ws, st, loads, 3, t, h, q0, v0, st.lam[3])
                factorise_tangent(form, tan, st.J[3], st.S[3], st.G[3], h / MU, st.values)
                counters[FACTORISATIONS] += 1
                control[FACTORED] = h
                control[RATE] = GOOD_RATE
            if guess > 0.0:
                predict(0.0, h / guess, st.z[1])
            else:
                for k in range(3):
                    for i in range(nq):
                        st.z[1, k, i] = st.past[k, i]
                if control[LAST] > 0.0:
                    predict(1.0, h / control[LAST], st.z[1])
            # the step that the guess of another try is taken from, if this one converges
            guess = 0.0
            if loads is not None:
                for k in range(len(st.theta)):
                    loads.theta[k] = st.theta[k]
            spent = counters[ITERATIONS]
            ended, rate, nearest = iterate(
                form, tan, ws, st, loads, t, h, tau, stale, loose * max(ITERATION * tolerance, LEAST),
                control[RATE], q0, v0, counters,
            )  # fmt: skip
            control[RATE] = rate
            spent = counters[ITERATIONS] - spent
            counters[FACTORISATIONS] += 6 * spent
            if ended == FAILED or (ended == STALLED and tried < TRIES - 1):
                counters[REJECTED] += 1
                tried += 1
                control[RATE] = 1.0
                if nearest < NEAR and tried % TRIES > 0:
                    # a stage too near to a singular position: the others lie beside it or beyond
                    h = wanted * OTHERS[tried % TRIES]
                elif stale:
                    h *= 0.5
                continue
            # the end, projected, with its acceleration
            start_stages(st, h, q0, v0)
            moved, turned, drop = project_and_accelerate(
                form, ws, loads, t + h, st.q[2], st.v[2], st.a[2], st.lam[2]
            )
            learn_pivots(form, ws.L, ws.usual)
            smallest, _ = eval_pivots(form, ws.L, ws.usual)
            counters[FACTORISATIONS] += 2
            off = max(moved, h * turned)
            error = eval_error(form, tan, st, h, tau, v0, a0) / (loose * local)
            if error >= 1.0 and (tried > 0 or control[LAST] == 0.0):
                # a stiff start: the error again, from where it would lead
                for i in range(nq):
                    st.q[0, i] = q0[i] + st.dz[0, 0, i]
                    st.v[0, i] = v0[i] + st.dz[1, 0, i]
                project_and_accelerate(form, ws, loads, t, st.q[0], st.v[0], st.a[0], st.lam[0])
                error = eval_error(form, tan, st, h, tau, st.v[0], st.a[0]) / (loose * local)
            # beside a singular position: kinetic energy is the work of all forces, by the method's own
            # rule; another branch of the motion has another. (In stiff motions that rule is less exact
            # than the states.)
            _, kinetic = eval_energy(form, st.q[2], st.v[2])
            near = min(nearest, drop) < NEAR
            work, exchanged = 0.0, max(kinetic, control[KINETIC]) + 1e-300
            for k in range(3):
                work += h * A[2, k] * st.power[k]
                exchanged = max(exchanged, abs(h * st.power[k]))
            wrong = abs(kinetic - before - work) / (ENERGY_SLACK * (tolerance + NOISE) * exchanged)
            # written so that nan is refused too
            if error < 1.0 and off <= SLACK * loose * local and (wrong <= 1.0 or not near):
                break
            counters[REJECTED] += 1
            tried += 1
            guess = h
            factor = growth(error, 0.0, h, h, spent) if error >= 1.0 else 0.5
            h *= factor if np.isfinite(factor) else MOST_SHRINK
        if ended == STALLED or loose > 1.0:
            counters[LOOSENED] += 1
        after = store[n + 1]
        for i in range(nq):
            after[0, i] = st.q[2, i]
            after[1, i] = st.v[2, i]
            after[2, i] = st.a[2, i]
        for c in range(st.lam.shape[1]):
            st.lam[3, c] = st.lam[2, c]
        for k in range(3):
            for i in range(nq):
                st.past[k, i] = st.z[1, k, i]
        factor = growth(error, control[ERROR], h, control[LAST], spent)
        if tried > 0:
            factor = min(factor, 1.0)
        control[NEXT] = h if 1.0 <= factor < LEAST_GROWTH else h * factor
        control[LAST] = h
        control[KINETIC] = max(control[KINETIC], kinetic)
        control[SPEED] = max(control[SPEED], largest(after[1]))
        control[ERROR] = max(error, 1e-2)
        times[n + 1] = stop if end else t + h
        watch[n + 1, 0] = smallest
        watch[n + 1, 1] = off
        counters[STEPS] += 1
        if times[n + 1] == t_end:
            return DONE, n + 1
    return FULL, store.shape[0] - 1


@kernel
def interpolate_over(t0, before, t1, middle, t2, after, t, q, v, a):
    """State at t from positions and velocities at three times: Hermite's quintic over two steps."""
    x, y = t1 - t0, t2 - t1
    s0, s1, s2 = t - t0, t - t1, t - t2
    for i in range(len(q)):
        # divided differences over t0, t0, t1, t1, t2, t2
        v0, v1, v2 = before[1, i], middle[1, i], after[1, i]
        m, w = (middle[0, i] - before[0, i]) / x, (after[0, i] - middle[0, i]) / y
        b1, b2, b3, b4 = (m - v0) / x, (v1 - m) / x, (w - v1) / y, (v2 - w) / y
        c1, c2, c3 = (b2 - b1) / x, (b3 - b2) / (x + y), (b4 - b3) / y
        d1, d2 = (c2 - c1) / (x + y), (c3 - c2) / (x + y)
        p, dp, ddp = (d2 - d1) / (x + y), 0.0, 0.0
        ddp, dp, p = ddp * s2 + 2.0 * dp, dp * s2 + p, p * s2 + d1
        ddp, dp, p = ddp * s1 + 2.0 * dp, dp * s1 + p, p * s1 + c1
        ddp, dp, p = ddp * s1 + 2.0 * dp, dp * s1 + p, p * s1 + b1
        ddp, dp, p = ddp * s0 + 2.0 * dp, dp * s0 + p, p * s0 + v0
        ddp, dp, p = ddp * s0 + 2.0 * dp, dp * s0 + p, p * s0 + before[0, i]
        q[i], v[i], a[i] = p, dp, ddp


@kernel
def interpolate_at(at, store, n, t, q, v, a):
    """State at a time in step n, before any projection."""
    if n > 0:
        interpolate_over(
            at[n - 1], store[n - 1], at[n], store[n], at[n + 1], store[n + 1], t, q, v, a
        )
    else:
        h = at[1] - at[0]
        interpolate(store[0], store[1], h, (t - at[0]) / h, q, v, a)


@block
def integrate_work(form, ws, loads, at, store, n, t):
    """Work of loads without potential and of drives from the start of step n to t: Gauss, three points."""
    root = 0.5 * np.sqrt(0.6)
    part = t - at[n]
    work = 0.0
    for m in range(3):
        x = at[n] + part * (0.5 + (m - 1) * root)
        interpolate_at(at, store, n, x, ws.q, ws.v, ws.dq)
        weight = part * (4.0 if m == 1 else 2.5) / 9.0
        work += weight * eval_power(form, ws, loads, x, ws.q, ws.v, ws.lam[0])
    return work


@entry
def record(
    form, ws, loads, limit, first, last, at, store, times, carried,
    q, v, a, norms, energy, angles, work, drive_forces,
):  # fmt: skip
    """States at the given times with their accelerations, on the constraints.

    limit: how far a projection may move a state; at, store[first .. last]: ends of steps; what lies
    before `first` is the past; carried[0]: work up to store[first], updated to store[last]. Outputs:
    q, v, a: one row a time; norms: of Phi, Phi', Phi''; energy: T + V - W; angles of torsions; work of
    loads and drives; forces of drives.
    """
    n = first
    for k in range(len(times)):
        t = times[k]
        while n < last - 1 and t > at[n + 1]:
            # every step is walked through: the angles count their turns on the way
            if loads is not None:
                carried[0] += integrate_work(form, ws, loads, at, store, n, at[n + 1])
            n += 1
        h = at[n + 1] - at[n]
        if t - at[n] <= SAME * h or last == first:
            end = n
        elif at[n + 1] - t <= SAME * h:
            end = n + 1
        else:
            end = -1
        work[k] = carried[0]
        if loads is not None and end != n:
            work[k] += integrate_work(form, ws, loads, at, store, n, t)
        if end >= 0:
            for i in range(q.shape[1]):
                q[k, i] = store[end, 0, i]
                v[k, i] = store[end, 1, i]
                a[k, i] = store[end, 2, i]
        else:
            interpolate_at(at, store, n, t, q[k], v[k], a[k])
            for i in range(q.shape[1]):
                ws.q[i] = q[k, i]
                ws.v[i] = v[k, i]
            moved, turned, drop = project_and_accelerate(
                form, ws, loads, t, ws.q, ws.v, ws.dq, ws.lam[0]
            )
            # beside a singular position projections divide by a vanishing pivot; the polynomial does
            # not know of it
            if max(moved, h * turned) <= limit:
                for i in range(q.shape[1]):
                    q[k, i] = ws.q[i]
                    v[k, i] = ws.v[i]
                    if drop >= TOO_NEAR:
                        a[k, i] = ws.dq[i]
        energy[k] = measure(form, ws, loads, t, q[k], v[k], a[k], norms[k]) - work[k]
        if loads is not None:
            for i in range(angles.shape[1]):
                angles[k, i] = loads.theta[i]
        eval_drive_forces_at(form, ws, loads, t, q[k], v[k], ws.lam[0], drive_forces[k])
    if loads is not None:
        while n < last:
            carried[0] += integrate_work(form, ws, loads, at, store, n, at[n + 1])
            n += 1
