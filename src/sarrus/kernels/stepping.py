"""Common parts of the fixed-step methods: accelerations, checks of a step, Runge-Kutta steps.

A run is stepped in chunks. store[n] contains the state at the end of step n of a chunk as three rows:
configuration, velocity, acceleration; store[0] is the start of the chunk.

With the tiny eps of the model, removed by refinement, the accelerations are those of Lagrange multipliers with
Baumgarte terms. With eps = 1/penalty and no refinement they are those of Bayo's penalty formulation, since then
lam = penalty (J a + J' v + ...).
"""

import numpy as np

from ..thresholds import DEPENDENT_PIVOT, EPS, TORN_OPEN
from .applied_forces import eval_loads
from .compiler import entry, exact, kernel, noinline
from .elements.drive import drive_constraints, eval_drives, subtract_drives
from .forms import (
    eval_constraint_rates,
    eval_constraints,
    eval_curvature,
    eval_form_rates,
    eval_forms,
    eval_jacobian,
)
from .return_codes import FULL, OVERFLOW, TORN
from .solve import factorise, refinements_for, solve_motion

# Corrections (relative to a link) below this end an iteration when they grow.
FINE = 1e-14
# The factor is kept while corrections decrease by this.
GOOD_RATE = 0.1
# Indices of the counters.
STEPS, ITERATIONS, FACTORISATIONS, RELAXED = 0, 1, 2, 3


@exact
def add_time(t, low, h):
    """Time after a step h, and its rounding error; low: the previous rounding error."""
    step = h + low
    after = t + step
    return after, step - (after - t)


@kernel
def largest(x):
    """Largest absolute entry; nan if there is one."""
    top = 0.0
    for i in range(len(x)):
        if not abs(x[i]) <= top:
            top = abs(x[i])
    return top


@kernel
def add_mass_times(form, factor, x, b):
    """Add factor M x to the first block of b, in elimination order."""
    for i in range(len(x)):
        s = 0.0
        for k in range(form.M_start[i], form.M_start[i + 1]):
            s += form.M_val[k] * x[form.M_col[k]]
        b[form.pos_q[i]] += factor * s


@kernel
def subtract_multiplier_force(form, J, lam, b):
    """Subtract J^T lam from the first block of b, in elimination order."""
    for k in range(len(J)):
        b[form.pos_q[form.J_col[k]]] -= J[k] * lam[form.J_eq[k]]


@kernel
def factorise_at(form, ws, q):
    """Forms, Jacobian and factor of K at q."""
    eval_forms(form, q, ws.e)
    eval_jacobian(form, ws.e, ws.J)
    factorise(form, ws.J, ws.L)


@kernel
def pivot_gap(form, L):
    """Number of redundant equations, the largest of their pivots, and the smallest of the others.

    Pivots are relative to eps / EPS, which an equation has alone: eps has to be that of the model.
    """
    count = 0
    below = 0.0
    above = 1.0
    for k in range(len(form.phi0)):
        ratio = -EPS / (L[form.pos_c[k]] * form.eps[k])
        if ratio > DEPENDENT_PIVOT:
            above = min(above, ratio)
        else:
            count += 1
            below = max(below, ratio)
    return count, below, above


@noinline
def accelerate(form, ws, loads, t, damping, stiffness, refinements, q, v, a, lam):
    """Factorise K at q and solve the equations of motion with stabilised constraints.

    [ M  J^T ] [ a   ]   [ Q                                                         ]
    [ J  0   ] [ lam ] = [ phi0'' - J' v - damping (J v - phi0') - stiffness Phi     ]

    refinements: 0 keeps the eps of the form in the solution, -1 uses as many as the pivots require. Returns the
    largest entry of Phi.
    """
    factorise_at(form, ws, q)
    eval_form_rates(form, v, ws.de)
    eval_drives(loads, t)
    opening = eval_constraints(form, ws.e, ws.phi)
    opening = drive_constraints(form, loads, opening, ws.phi)
    for c in range(len(ws.phi)):
        ws.b[form.pos_c[c]] = -stiffness * ws.phi[c]
    eval_constraint_rates(form, ws.e, ws.de, ws.phi)
    subtract_drives(loads, 1, ws.phi)
    for c in range(len(ws.phi)):
        ws.b[form.pos_c[c]] -= damping * ws.phi[c]
    eval_curvature(form, ws.de, ws.phi)
    subtract_drives(loads, 2, ws.phi)
    for c in range(len(ws.phi)):
        ws.b[form.pos_c[c]] -= ws.phi[c]
    eval_loads(form, loads, t, q, v, ws.Q)
    wanted = refinements
    if wanted < 0:
        _, _, smallest = pivot_gap(form, ws.L)
        wanted = refinements_for(smallest, 0.0)
    solve_motion(form, ws, wanted, a, lam)
    return opening


@kernel
def judge_correction(size, before, stalled, tolerance, loose):
    """Decide how Newton's iteration continues after a correction: whether it ends, has converged; stalled, stale.

    before: the last correction. stalled: how often corrections grew. loose: size (relative to a link) below which
    they may grow. stale: whether the factor has to be computed again.
    """
    # Small corrections that grow are rounding; larger ones are if they grow repeatedly.
    if size <= loose and size >= before:
        stalled += 1
    if size <= tolerance or stalled == 3 or (stalled and size <= FINE):
        return True, True, stalled, False
    # Written so that nan ends the iteration.
    if not size < 1e6:
        return True, False, stalled, False
    return False, False, stalled, size > GOOD_RATE * before and size > FINE


@kernel
def check_state(opening, state):
    """Why a step is not accepted: not finite, or a loop does not close; FULL if the run continues."""
    for k in range(state.shape[0]):
        if not np.isfinite(largest(state[k])):
            return OVERFLOW
    if not np.isfinite(opening):
        return OVERFLOW
    if opening > TORN_OPEN:
        return TORN
    return FULL


@entry
def check_row(form, ws, loads, t, q, state):
    """check_state for a state stored elsewhere: one row of numbers that must be finite."""
    eval_forms(form, q, ws.e)
    opening = eval_constraints(form, ws.e, ws.phi)
    eval_drives(loads, t)
    return check_state(drive_constraints(form, loads, opening, ws.phi), state)


@entry
def count_dependent(form, ws, q):
    """Number of equations that are redundant at q, their largest pivot, and the smallest of the others."""
    factorise_at(form, ws, q)
    return pivot_gap(form, ws.L)


@entry
def advance_runge_kutta(
    form, ws, loads, h, damping, stiffness, refinements, fresh, lam, k, store, counters
):
    """Fill store from its first row on; returns the reason and the number of steps.

    k: scratch, stage velocities and accelerations, shape (2, 3, nq).
    """
    nq = len(form.Q)
    if fresh:
        accelerate(
            form, ws, loads, 0.0, damping, stiffness, refinements,
            store[0, 0], store[0, 1], store[0, 2], lam,
        )  # fmt: skip
        counters[FACTORISATIONS] += 1
    q, v = ws.q, ws.v
    for n in range(store.shape[0] - 1):
        q0, v0, a0 = store[n, 0], store[n, 1], store[n, 2]
        end = store[n + 1]
        t = counters[STEPS] * h
        # Slopes of stage 1: v0, a0; those of stages 2, 3, 4 go to k.
        for stage in range(3):
            part = h if stage == 2 else 0.5 * h
            for i in range(nq):
                dq = v0[i] if stage == 0 else k[0, stage - 1, i]
                dv = a0[i] if stage == 0 else k[1, stage - 1, i]
                q[i] = q0[i] + part * dq
                v[i] = v0[i] + part * dv
                k[0, stage, i] = v[i]
            accelerate(
                form, ws, loads, t + part, damping, stiffness, refinements, q, v, k[1, stage], lam
            )  # fmt: skip
        for i in range(nq):
            end[0, i] = q0[i] + h / 6.0 * (v0[i] + 2.0 * (k[0, 0, i] + k[0, 1, i]) + k[0, 2, i])
            end[1, i] = v0[i] + h / 6.0 * (a0[i] + 2.0 * (k[1, 0, i] + k[1, 1, i]) + k[1, 2, i])
        opening = accelerate(
            form, ws, loads, t + h, damping, stiffness, refinements, end[0], end[1], end[2], lam
        )  # fmt: skip
        counters[FACTORISATIONS] += 4
        reason = check_state(opening, end)
        if reason != FULL:
            return reason, n
        counters[STEPS] += 1
    return FULL, store.shape[0] - 1


@entry
def eval_rates(form, ws, loads, t, damping, stiffness, refinements, lam, y, dy):
    """Right-hand side of y' = (v, a) with y = (q, v); returns the largest entry of Phi."""
    nq = len(form.Q)
    for i in range(nq):
        dy[i] = y[nq + i]
    return accelerate(
        form, ws, loads, t, damping, stiffness, refinements, y[:nq], y[nq:], dy[nq:], lam
    )  # fmt: skip
