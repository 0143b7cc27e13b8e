"""Stages of a Radau step: their projection, Newton's method for all of them, and the error estimate.

Equations and references are in methods/radau.py. Newton's method solves for the velocities of all stages at once:
in the degrees of freedom if there are few (radau_dof.py), else in blocks of all coordinates
(radau_newton.py).
"""

from typing import NamedTuple

import numpy as np

from ..thresholds import SINGULAR_STEP_END
from .applied_forces import eval_load_power, eval_loads
from .compiler import kernel, noinline
from .elements.drive import eval_drive_power, eval_drives, subtract_drives
from .forms import eval_curvature, eval_form_rates, eval_forms, eval_jacobian
from .radau_dof import eval_dof_basis, factorise_dof, solve_dof, sum_stages
from .radau_newton import eval_tangents, factorise_stages, solve_stages, solve_tangent
from .solve import (
    eval_pivots,
    factorise,
    project_position,
    project_state,
    project_velocity,
    refinements_for,
    solve_motion,
)
from .stepping import largest

# Indices of the counters.
STEPS, REJECTED, ITERATIONS, FACTORISATIONS, RELAXED, SWITCHES = 0, 1, 2, 3, 4, 5

MOST_ITERATIONS = 10
# Corrections (relative to a link) that are rounding, and corrections that are accepted if rounding prevents
# smaller ones.
FINE = 1e-15
LOOSE = 1e-9
# Rounding error of velocities, relative to their change in a step due to accelerations and gravity.
ROUNDING = 1e-15
# Largest number of Newton corrections of a projection onto the constraints.
MOST_CORRECTIONS = 4
# Outcomes of an iteration.
FAILED, CONVERGED, STALLED = 0, 1, 2


class TrialStep(NamedTuple):
    """A trial step of length h from time t.

    tau: weight of velocities in norms. stale: whether Newton's matrix has to be factorised again, at the first
    guess. tolerance: admissible error of the iteration. weight: as in `Goal`.
    """

    t: float
    h: float
    tau: float
    stale: bool
    tolerance: float
    weight: float


@kernel
def accelerate_projected(form, ws, loads, t, refinements, q, v, a, lam):
    """Solve the equations of motion at a state on the constraints, with the current factor; ws.Q: all forces."""
    eval_loads(form, loads, t, q, v, ws.Q)
    eval_form_rates(form, v, ws.de)
    eval_curvature(form, ws.de, ws.phi)
    subtract_drives(loads, 2, ws.phi)
    for c in range(len(ws.phi)):
        ws.b[form.pos_c[c]] = -ws.phi[c]
    solve_motion(form, ws, refinements, a, lam)


@noinline
def project_and_accelerate(form, ws, loads, t, tolerance, q, v, a, lam):
    """Project a state onto the constraints and solve the equations of motion there.

    tolerance: admissible residual of the linear solves. Returns how far configuration and velocity moved, and the
    smallest ratio of a pivot to its reference value. ws.L: factor of K there.
    """
    moved, turned, smallest, pivot_ratio = project_state(
        form, ws, loads, t, 1.0, MOST_CORRECTIONS, tolerance, 0.0, q, v
    )
    refinements = refinements_for(smallest, tolerance)
    accelerate_projected(form, ws, loads, t, refinements, q, v, a, lam)
    return moved, turned, pivot_ratio


@noinline
def follow_and_accelerate(form, ws, st, loads, k, t, tolerance):
    """The same for stage k, which has moved little since its last projection, with the factor from then.

    The projection starts from the stage before its projection. Continuing from the last projected stage would
    accumulate tangential drift, because the normals at different configurations differ.

    Returns the smallest ratio of a pivot to its reference value.
    """
    q, v, L = st.q[k], st.v[k], st.L[k]
    for n in range(len(L)):
        ws.L[n] = L[n]
    eval_drives(loads, t)
    eval_forms(form, q, ws.e)
    project_position(form, ws, loads, MOST_CORRECTIONS, False, q)
    eval_jacobian(form, ws.e, ws.J)
    factorise(form, ws.J, ws.L)
    smallest, pivot_ratio = eval_pivots(form, ws.L, ws.reference_pivots)
    refinements = refinements_for(smallest, tolerance)
    project_velocity(form, ws, loads, refinements, v)
    accelerate_projected(form, ws, loads, t, refinements, q, v, st.a[k], st.lam[k])
    return pivot_ratio


@noinline
def predict(rule, first, ratio, sums, z):
    """Extrapolate the increments to a step `ratio` times as long as that of the given polynomial.

    The new step starts where that one ends (first = 1) or where it starts (first = 0). sums: scratch memory.
    """
    nodes = rule.nodes
    stages = len(nodes)
    for k in range(stages):
        for i in range(z.shape[1]):
            sums[k, i] = z[k, i]
    for k in range(stages):
        s = first + ratio * nodes[k]
        for i in range(z.shape[1]):
            z[k, i] = -first * sums[stages - 1, i]
        for m in range(stages):
            # Lagrange polynomial: 1 at stage m, 0 at the other stages and at the start.
            x = s / nodes[m]
            for n in range(stages):
                if n != m:
                    x *= (s - nodes[n]) / (nodes[m] - nodes[n])
            for i in range(z.shape[1]):
                z[k, i] += x * sums[m, i]


@kernel
def start_stages(st, h, q0, v0):
    """States of the stages before their projection, from the velocity increments."""
    A = st.rule.A
    for k in range(len(st.v)):
        for i in range(len(q0)):
            st.v[k, i] = v0[i] + st.z[1, k, i]
    sum_stages(A, st.v, st.z[0])
    for k in range(len(st.v)):
        for i in range(len(q0)):
            st.z[0, k, i] *= h
            st.q[k, i] = q0[i] + st.z[0, k, i]


@kernel
def keep_power(ws, st, loads, k):
    """Power of all forces, and of the non-conservative ones, at the stage evaluated last."""
    driven = eval_drive_power(loads, st.lam[k])
    st.power[k] = driven
    for i in range(len(ws.Q)):
        st.power[k] += ws.Q[i] * st.v[k, i]
    if loads is not None:
        st.brought[k] = driven + eval_load_power(loads)


@kernel
def keep_angle_and_work(st, loads, h, length, angle_and_work_series, after):
    """Angles and work in a step as polynomials of the time since its start, and their values at its end.

    The work is the integral of the polynomial through the powers at the stages. Between the stages the solution is
    less accurate than at them: a stiff damper or spring turns this error into large forces, which do work on a
    drive.
    """
    if loads is None:
        return
    na = len(st.theta)
    stages = len(st.brought)
    for i in range(na):
        angle_and_work_series[i, 0] = st.theta[i]
        angle_and_work_series[i, 1] = (loads.theta[i] - st.theta[i]) / length
        after[i, 0] = loads.theta[i]
    power = h
    after[na, 0] = angle_and_work_series[na, 0]
    share = 1.0
    for j in range(stages):
        share *= length / h
        term = 0.0
        for k in range(stages):
            term += st.rule.work[j, k] * st.brought[k]
        power /= h
        angle_and_work_series[na, j + 1] = term * power
        after[na, 0] += h * term * share


@noinline
def eval_stages(form, ws, st, loads, t, h, count, first, tolerance):
    """Project `count` stages and solve the equations of motion there; returns the smallest pivot ratio.

    first: whether the stages have not been projected before.
    """
    nearest = 1.0
    for k in range(count):
        q, v = st.q[k], st.v[k]
        at = t + st.rule.nodes[k] * h
        if first:
            _, _, pivot_ratio = project_and_accelerate(
                form, ws, loads, at, tolerance, q, v, st.a[k], st.lam[k]
            )
        else:
            pivot_ratio = follow_and_accelerate(form, ws, st, loads, k, at, tolerance)
        for n in range(len(ws.L)):
            st.L[k, n] = ws.L[n]
        nearest = min(nearest, pivot_ratio)
        keep_power(ws, st, loads, k)
    return nearest


@noinline
def factorise_newton(form, tan, ws, st, loads, t, h):
    """Newton's matrix at the current stages: in the degrees of freedom, or in blocks of the coordinates."""
    for k in range(len(st.q)):
        at = t + st.rule.nodes[k] * h
        eval_tangents(form, tan, ws, st, loads, k, at, h, st.q[k], st.v[k], st.lam[k])
    if len(st.blocks) == 0:
        eval_dof_basis(form, tan, st)
        factorise_dof(st, h)
    else:
        factorise_stages(form, tan, st, h)


@noinline
def iterate(form, tan, ws, st, loads, step, start, rate, counters):
    """Newton's method for the stages, from st.z.

    Returns the outcome, the convergence rate, and the smallest ratio of a pivot to its reference value. start: the
    state at the start of the step. rate: of the last iteration.
    """
    t, h, tau, stale, wanted, weight = step
    q0, v0 = start[0], start[1]
    nq = len(q0)
    nearest = 1.0
    before = 0.0
    known = max(rate, 1e-16) ** 0.8
    for n in range(MOST_ITERATIONS):
        start_stages(st, h, q0, v0)
        refactorise = n == 0 or nearest < SINGULAR_STEP_END
        pivot_ratio = eval_stages(form, ws, st, loads, t, h, len(st.q), refactorise, wanted)
        nearest = min(nearest, pivot_ratio)
        counters[FACTORISATIONS] += len(st.q) * (2 if refactorise else 1)
        if stale and n == 0:
            factorise_newton(form, tan, ws, st, loads, t, h)
            counters[FACTORISATIONS] += len(st.q)
        counters[ITERATIONS] += 1
        sum_stages(st.rule.W, st.z[1], st.dz[1])
        for k in range(len(st.q)):
            for i in range(nq):
                st.dz[1, k, i] = st.a[k, i] - st.dz[1, k, i] / h
        if len(st.blocks) == 0:
            solve_dof(st, h)
        else:
            solve_stages(form, tan, st, h)
        size, fastest = 0.0, weight
        for k in range(len(st.q)):
            fastest = max(fastest, largest(st.a[k]))
            for i in range(nq):
                x = st.dz[1, k, i]
                st.z[1, k, i] += x
                if not tau * abs(x) <= size:
                    size = tau * abs(x)
        if not np.isfinite(size):
            return FAILED, 1.0, nearest
        tolerance = wanted + ROUNDING * tau * h * fastest
        if n > 0:
            rate = size / before
            if rate < 1.0:
                known = rate / (1.0 - rate)
        if size <= FINE or (known * size <= tolerance and (n == 0 or rate < 1.0)):
            return CONVERGED, rate, nearest
        if n > 0:
            if rate >= 0.5 and size <= LOOSE:
                # Rounding errors, divided by a small pivot.
                return (CONVERGED if size <= tolerance else STALLED), rate, nearest
            # The first corrections start from a rough guess and say little about the rate.
            left = MOST_ITERATIONS - 1 - n
            hopeless = rate >= 1.0 or rate**left / (1.0 - rate) * size > max(tolerance, LOOSE)
            if rate > 2.0 or (n > 1 and hopeless):
                return FAILED, rate, nearest
        before = size
    return FAILED, 1.0, nearest


@noinline
def eval_error(form, tan, st, h, tau, v0, a0):
    """Error estimate from an embedded formula of the order of the stages: its largest entry, velocities times tau.

    st.dz[:, 0]: error of configuration and velocity. st.bend: difference between the acceleration at the start and
    the slope of the stages' polynomial, without its stiff part.
    """
    weights, nu = st.rule.weights, st.rule.mu[0] / h
    start = len(st.q)
    for i in range(len(v0)):
        r_q, r_v = v0[i], a0[i]
        for k in range(start):
            r_q += weights[k] * st.z[0, k, i] / h
            r_v += weights[k] * st.z[1, k, i] / h
        st.dz[0, 0, i] = r_q
        st.dz[1, 0, i] = r_v
    solve_tangent(
        form, tan, st.J[start], st.S[start], 1.0 / nu, st.values, st.dz[0, 0], st.dz[1, 0], st.b
    )
    for i in range(len(v0)):
        st.bend[i] = nu * st.dz[1, 0, i]
    # Written so that nan is kept.
    position, velocity = largest(st.dz[0, 0]), tau * largest(st.dz[1, 0])
    return position if not velocity > position else velocity


@noinline
def fill_polynomial(st, h, length, state, after):
    """Polynomial of a step in the time since its start, stored from the fourth row of `state` on.

    Its velocity interpolates those of the stages and the acceleration at the start. A cubic is added so that it
    ends at the projected end of the step.
    """
    dense = st.rule.dense
    stages = len(st.q)
    top = stages + 2
    for i in range(state.shape[1]):
        state[3, i] = state[0, i]
        state[4, i] = state[1, i]
    power = h
    for j in range(len(dense)):
        row = state[5 + j]
        power /= h
        for i in range(len(row)):
            row[i] = dense[j, stages] * h * st.bend[i] * power / h
        for k in range(stages):
            for i in range(len(row)):
                row[i] += dense[j, k] * st.z[1, k, i] * power / h
    for i in range(state.shape[1]):
        q, v = state[3 + top, i], 0.0
        for j in range(top - 1, -1, -1):
            v = v * length + q
            q = q * length + state[3 + j, i]
        dq, dv = after[0, i] - q, length * (after[1, i] - v)
        state[5, i] += (3.0 * dq - dv) / length**2
        state[6, i] += (dv - 2.0 * dq) / length**3
