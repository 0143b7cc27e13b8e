"""Independent velocities from a basis of the null space of J, with fourth-order Runge-Kutta steps.

The basis R (R[j] is the motion of degree of freedom j) is that of the last evaluation, projected,

    [ M  J^T ] [ R_j ]   [ M R_j(old) ]
    [ J  0   ] [ .   ] = [ 0          ]

and then combined so that R[j][chosen[k]] is 1 for j = k, else 0: z = v[chosen] are the independent velocities, v =
R^T z. With c of minimum mass norm and J c = -J' v, which is orthogonal to R in the mass metric,

    (R M R^T) y = R Q,      a = R^T y + c,      z' = a[chosen]
"""

from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..thresholds import NEW_MOTION, WEAK_CHOICE
from .applied_forces import eval_loads
from .compiler import entry, kernel, noinline
from .forms import (
    eval_constraints,
    eval_curvature,
    eval_form_rates,
)
from .return_codes import FULL, LOST_RANK, OVERFLOW
from .solve import project_position, refinements_for, solve_gaps, solve_refined
from .stepping import (
    FACTORISATIONS,
    STEPS,
    add_mass_times,
    check_state,
    factorise_at,
    pivot_gap,
)

# If an entry of R exceeds this, the independent velocities are chosen again.
CHOOSE_AGAIN = 1.5


class Basis(NamedTuple):
    """Independent velocities: the chosen coordinates, and the motion R of each; scratch memory.

    G, y: the small system of equations. choice: a copy of R. z: velocities at the start of a step and now. k:
    slopes of the stages, velocities and accelerations, (2, 3, nq).
    """

    chosen: Ints
    R: Floats
    G: Floats
    y: Floats
    choice: Floats
    z: Floats
    k: Floats


@kernel
def mass_product(form, x, y):
    """X^T M y."""
    total = 0.0
    for i in range(len(x)):
        s = 0.0
        for k in range(form.M_start[i], form.M_start[i + 1]):
            s += form.M_val[k] * y[form.M_col[k]]
        total += x[i] * s
    return total


@kernel
def solve_dense(A, b, n):
    """Solve A x = b in place by elimination with pivoting; returns the smallest pivot."""
    smallest = np.inf
    for j in range(n):
        p = j
        for i in range(j + 1, n):
            if abs(A[i, j]) > abs(A[p, j]):
                p = i
        if p != j:
            for k in range(n):
                A[j, k], A[p, k] = A[p, k], A[j, k]
            for k in range(b.shape[1]):
                b[j, k], b[p, k] = b[p, k], b[j, k]
        smallest = min(smallest, abs(A[j, j]))
        for i in range(j + 1, n):
            f = A[i, j] / A[j, j]
            if f != 0.0:
                for k in range(j + 1, n):
                    A[i, k] -= f * A[j, k]
                for k in range(b.shape[1]):
                    b[i, k] -= f * b[j, k]
    for j in range(n - 1, -1, -1):
        for k in range(b.shape[1]):
            s = b[j, k]
            for i in range(j + 1, n):
                s -= A[j, i] * b[i, k]
            b[j, k] = s / A[j, j]
    return smallest


@noinline
def project_vector(form, ws, refinements, x):
    """Replace x by the nearest admissible motion in the mass metric."""
    for i in range(len(ws.b)):
        ws.b[i] = 0.0
    add_mass_times(form, 1.0, x, ws.b)
    solve_refined(form, ws.J, ws.L, ws.b, refinements, ws.r, ws.x)
    for i in range(len(x)):
        x[i] = ws.x[form.pos_q[i]]


@entry
def find_basis(form, ws, refinements, q, R):
    """Fill R with motions orthonormal in the mass metric; returns their number and the gap.

    Trial vectors are projected and made orthogonal to those found, until nothing remains of one. The number of
    degrees of freedom is a rank decision, so the smallest accepted remainder and the rejected one are returned.
    -1: R is too small.
    """
    factorise_at(form, ws, q)
    kept = 1.0
    x = ws.q
    seed = 0.5
    for n in range(len(q) + 1):
        for i in range(len(q)):
            # A fixed irregular sequence: the same vectors in every run.
            seed = (seed * 997.0 + 0.618033988749895) % 1.0
            x[i] = seed - 0.5
        before = np.sqrt(mass_product(form, x, x))
        project_vector(form, ws, refinements, x)
        for _ in range(2):
            for j in range(n):
                s = mass_product(form, R[j], x)
                for i in range(len(q)):
                    x[i] -= s * R[j, i]
        size = np.sqrt(max(mass_product(form, x, x), 0.0))
        rest = size / before
        if not rest > NEW_MOTION or n == len(q):
            return n, kept, rest
        if n == R.shape[0]:
            return -1, kept, rest
        kept = min(kept, rest)
        for i in range(len(q)):
            R[n, i] = x[i] / size
    return len(q), kept, 0.0


@noinline
def choose(R, scratch, chosen):
    """Choose independent coordinates: those with the largest pivots of the basis, by full pivoting."""
    f, nq = R.shape
    for j in range(f):
        for i in range(nq):
            scratch[j, i] = R[j, i]
    for n in range(f):
        row, col, top = n, 0, -1.0
        for j in range(n, f):
            for i in range(nq):
                if abs(scratch[j, i]) > top:
                    row, col, top = j, i, abs(scratch[j, i])
        for i in range(nq):
            scratch[n, i], scratch[row, i] = scratch[row, i], scratch[n, i]
        chosen[n] = col
        for j in range(n + 1, f):
            s = scratch[j, col] / scratch[n, col]
            for i in range(nq):
                scratch[j, i] -= s * scratch[n, i]


@noinline
def normalise(R, chosen, G):
    """Combine the rows of R so that R[j][chosen[k]] = 1 if j = k, else 0; returns the smallest pivot."""
    f = R.shape[0]
    for j in range(f):
        for k in range(f):
            # R_new = G^-1 R with G[j, k] = R[j][chosen[k]]
            G[j, k] = R[j, chosen[k]]
    return solve_dense(G, R, f)


@noinline
def evaluate(form, ws, loads, t, refinements, basis, q, z, v, a):
    """Basis, velocity and acceleration at t and q; returns the smallest pivot and the constraint violation."""
    chosen, R, G, y = basis.chosen, basis.R, basis.G, basis.y
    f = R.shape[0]
    nq = len(q)
    factorise_at(form, ws, q)
    wanted = refinements
    if wanted < 0:
        _, _, smallest = pivot_gap(form, ws.L)
        wanted = refinements_for(smallest, 0.0)
    opening = eval_constraints(form, ws.e, ws.phi)
    for j in range(f):
        project_vector(form, ws, wanted, R[j])
    pivot = normalise(R, chosen, G)
    for i in range(nq):
        s = 0.0
        for j in range(f):
            s += z[j] * R[j, i]
        v[i] = s
    # c: minimum mass norm with J c = -J' v.
    eval_form_rates(form, v, ws.de)
    eval_curvature(form, ws.de, ws.phi)
    solve_gaps(form, ws, wanted)
    for i in range(nq):
        a[i] = ws.x[form.pos_q[i]]
    # (R M R^T) y = R Q
    eval_loads(form, loads, t, q, v, ws.Q)
    for j in range(f):
        for k in range(f):
            G[j, k] = mass_product(form, R[j], R[k])
        s = 0.0
        for i in range(nq):
            s += R[j, i] * ws.Q[i]
        y[j, 0] = s
    solve_dense(G, y, f)
    for i in range(nq):
        for j in range(f):
            a[i] += y[j, 0] * R[j, i]
    return pivot, opening


@entry
def advance(form, ws, loads, h, refinements, project, fresh, basis, store, counters):
    """Fill store from its first row on; returns the reason and the number of steps.

    basis: its choice and R are kept from chunk to chunk.
    """
    chosen, R, k = basis.chosen, basis.R, basis.k
    nq = len(form.Q)
    f = R.shape[0]
    start, now = basis.z[0], basis.z[1]
    if fresh:
        choose(R, basis.choice, chosen)
        for j in range(f):
            now[j] = store[0, 1, chosen[j]]
        pivot, _ = evaluate(
            form, ws, loads, 0.0, refinements, basis, store[0, 0], now, store[0, 1], store[0, 2]
        )
        counters[FACTORISATIONS] += 1
        if not pivot > WEAK_CHOICE:
            return LOST_RANK, 0
    q = ws.q
    for n in range(store.shape[0] - 1):
        q0, v0, a0 = store[n, 0], store[n, 1], store[n, 2]
        end = store[n + 1]
        t = counters[STEPS] * h
        for j in range(f):
            start[j] = v0[chosen[j]]
        # Slopes of stage 1: v0, a0; those of stages 2, 3, 4 go to k.
        for stage in range(3):
            part = h if stage == 2 else 0.5 * h
            for i in range(nq):
                q[i] = q0[i] + part * (v0[i] if stage == 0 else k[0, stage - 1, i])
            for j in range(f):
                i = chosen[j]
                now[j] = start[j] + part * (a0[i] if stage == 0 else k[1, stage - 1, i])
            pivot, _ = evaluate(
                form, ws, loads, t + part, refinements, basis, q, now, k[0, stage], k[1, stage]
            )
            counters[FACTORISATIONS] += 1
            if not pivot > WEAK_CHOICE:
                return LOST_RANK if np.isfinite(pivot) else OVERFLOW, n
        for i in range(nq):
            end[0, i] = q0[i] + h / 6.0 * (v0[i] + 2.0 * (k[0, 0, i] + k[0, 1, i]) + k[0, 2, i])
        for j in range(f):
            i = chosen[j]
            now[j] = start[j] + h / 6.0 * (a0[i] + 2.0 * (k[1, 0, i] + k[1, 1, i]) + k[1, 2, i])
        if project:
            factorise_at(form, ws, end[0])
            project_position(form, ws, loads, 4, False, end[0])
            counters[FACTORISATIONS] += 1
        pivot, opening = evaluate(
            form, ws, loads, t + h, refinements, basis, end[0], now, end[1], end[2]
        )
        counters[FACTORISATIONS] += 1
        reason = check_state(opening, end)
        if reason != FULL:
            return reason, n
        if not pivot > WEAK_CHOICE:
            return LOST_RANK, n
        counters[STEPS] += 1
        largest = 0.0
        for j in range(f):
            for i in range(nq):
                largest = max(largest, abs(R[j, i]))
        if largest > CHOOSE_AGAIN:
            choose(R, basis.choice, chosen)
            normalise(R, chosen, basis.G)
    return FULL, store.shape[0] - 1
