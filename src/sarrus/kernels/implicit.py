"""Implicit steps that solve for the configuration at their end: ali3, generalized-alpha, energy-momentum.

ali3 and generalized-alpha of index 3 reduce to one system for q = q_{n+1} and multipliers mu = scale lam:

    M (q - hat) + J(q)^T mu = scale Q,     Phi(q) = 0

hat: the part of the integration formula that is known before the step. The Newton matrix is K, without the
derivative of J^T mu. The eps of the form gives exact multipliers (tiny eps) or an augmented Lagrangian (eps =
1/penalty). Generalized-alpha of the stabilised index 2 also solves for the velocity:

    M (v - hat) + J(q)^T mu = scale Q,         J(q) v = 0
    M (q - base - part v) + J(q)^T eta = 0,    Phi(q) = 0

Energy-momentum steps for quadratic constraints [Gonzalez1999, BetschSteinmann2002], with dq = q_{n+1} - q_n and J
the Jacobian at the midpoint, which is the discrete gradient of a quadratic Phi:

    M (v_{n+1} - v_n) / h = Q - J^T lam,     dq / h = (v_n + v_{n+1}) / 2,     Phi(q_{n+1}) = 0

Elimination of v_{n+1}, with mu = h^2/2 lam:

    M (dq - h v_n) - h^2/2 Q + J(q_n + dq/2)^T mu = 0,     Phi(q_n + dq) = 0

The constraint forces use the Jacobian at the midpoint, Ja; the constraints use the one at the end, Jb. Near a
singular configuration the two differ by as much as their own size, so a symmetric matrix is not sufficient:

    [M + rho Jb^T Jb, Ja^T; Jb, -eps] = L D U    in the order of the symmetric one

One Newton loop solves all three (`correct`).
"""

from typing import Any, NamedTuple

from .compiler import entry, kernel, noinline
from .forms import (
    add_constraint_rates,
    eval_constraint_rates,
    eval_constraints,
    eval_curvature,
    eval_form_rates,
    eval_forms,
    eval_jacobian,
)
from .return_codes import FULL, NOT_CONVERGED
from .solve import (
    add_augmentation,
    assemble_blocks,
    eliminate_pair,
    factorise,
    solve_gaps,
    solve_once,
    solve_pair,
)
from .stepping import (
    FACTORISATIONS,
    ITERATIONS,
    RELAXED,
    STEPS,
    accelerate,
    add_mass_times,
    check_state,
    judge_correction,
    subtract_multiplier_force,
)

MOST_ITERATIONS = 60
# After this many iterations ali3 accepts a step if the corrections are below LOOSEST (relative to a link): along a
# weak direction of J the multiplier converges slowly, by eps / (eps + d^2) at a distance d.
ENOUGH_ITERATIONS = 20
LOOSEST = 1e-5
# Corrections below this (relative to a link) end the iteration when they grow repeatedly: they are rounding
# errors, divided by the distance to a singular configuration.
LOOSE = 1e-8
# The same for energy-momentum steps, and corrections that end the iteration at once.
MIDDLE_LOOSE = 1e-9
MIDDLE_TOLERANCE = 1e-16


class Middle(NamedTuple):
    """System of an energy-momentum step.

    Velocity and Jacobian at its start, its length, and memory for the change of configuration, the Jacobian at the
    midpoint and the upper factor.
    """

    v0: Any
    J_start: Any
    h: Any
    dq: Any
    J: Any
    U: Any


class Both(NamedTuple):
    """Additional data of the stabilised index-2 system: the velocity, and how the configuration depends on it."""

    v: Any
    base: Any
    part: Any


class ImplicitSystem(NamedTuple):
    """One of the systems above: the unknown configuration, hat, scale, and optional parts (else None).

    hat: for an energy-momentum step the configuration at its start.
    """

    q: Any
    hat: Any
    scale: Any
    both: Any
    middle: Any


@kernel
def start_residual(form, ws, scale):
    """Residual terms common to all systems: forces and constraints."""
    for i in range(len(form.Q)):
        ws.b[form.pos_q[i]] = scale * form.Q[i]
    for c in range(len(form.phi0)):
        ws.b[form.pos_c[c]] = -ws.phi[c]


@kernel
def add_correction(form, b, weight, size, x):
    """Correct x; returns the maximum of `size` and the largest correction times the weight."""
    for i in range(len(x)):
        y = b[form.pos_q[i]]
        x[i] += y
        # Written so that nan is kept.
        if not abs(y) * weight <= size:
            size = abs(y) * weight
    return size


@kernel
def add_multipliers(form, b, mu):
    """Correct the multipliers."""
    for c in range(len(mu)):
        mu[c] += b[form.pos_c[c]] * (1.0 + form.rho[c] * form.eps[c])


@kernel
def refactorise(form, ws, J, stale, counters):
    """Factorise K with the Jacobian J if the current factor is stale."""
    if stale:
        for k in range(len(J)):
            ws.J[k] = J[k]
        factorise(form, ws.J, ws.L)
        counters[FACTORISATIONS] += 1


@kernel
def correct_position(form, ws, J, system, stale, mu, counters):
    """One correction of configuration and multipliers; returns its size."""
    q = system.q
    eval_constraints(form, ws.e, ws.phi)
    for i in range(len(q)):
        ws.dq[i] = system.hat[i] - q[i]
    start_residual(form, ws, system.scale)
    add_mass_times(form, 1.0, ws.dq, ws.b)
    subtract_multiplier_force(form, J, mu, ws.b)
    refactorise(form, ws, J, stale, counters)
    solve_once(form, ws.J, ws.L, ws.b)
    add_multipliers(form, ws.b, mu)
    return add_correction(form, ws.b, 1.0, 0.0, q)


@kernel
def correct_both(form, ws, J, system, stale, mu, counters):
    """One correction of velocity, multipliers and configuration; returns its size."""
    q, v, part = system.q, system.both.v, system.both.part
    refactorise(form, ws, J, stale, counters)
    eval_form_rates(form, v, ws.de)
    eval_constraint_rates(form, ws.e, ws.de, ws.phi)
    for i in range(len(q)):
        ws.dq[i] = system.hat[i] - v[i]
    start_residual(form, ws, system.scale)
    add_mass_times(form, 1.0, ws.dq, ws.b)
    subtract_multiplier_force(form, J, mu, ws.b)
    solve_once(form, ws.J, ws.L, ws.b)
    add_multipliers(form, ws.b, mu)
    size = add_correction(form, ws.b, part, 0.0, v)
    # Configuration: project the one that the velocity leads to onto the constraints, orthogonally in the mass
    # metric.
    eval_constraints(form, ws.e, ws.phi)
    for i in range(len(q)):
        ws.dq[i] = system.both.base[i] + part * v[i] - q[i]
    start_residual(form, ws, 0.0)
    add_mass_times(form, 1.0, ws.dq, ws.b)
    solve_once(form, ws.J, ws.L, ws.b)
    return add_correction(form, ws.b, 1.0, size, q)


@kernel
def correct_middle(form, ws, J, system, stale, mu, counters):
    """One correction of an energy-momentum step; returns its size."""
    middle = system.middle
    dq = middle.dq
    eval_constraints(form, ws.e, ws.phi)
    # J is affine: the mean of both ends is the Jacobian at the midpoint.
    for k in range(len(J)):
        middle.J[k] = 0.5 * (middle.J_start[k] + J[k])
    # M acts on the small difference dq - h v_n
    for i in range(len(dq)):
        ws.q[i] = dq[i] - middle.h * middle.v0[i]
    start_residual(form, ws, system.scale)
    add_mass_times(form, -1.0, ws.q, ws.b)
    subtract_multiplier_force(form, middle.J, mu, ws.b)
    if stale:
        for k in range(len(J)):
            ws.J[k] = J[k]
        factorise_pair(form, middle.J, ws.J, ws.L, middle.U)
        counters[FACTORISATIONS] += 1
    if len(form.K_A):
        add_augmentation(form, ws.J, ws.b)
    solve_pair(form, ws.L, middle.U, ws.b)
    add_multipliers(form, ws.b, mu)
    size = add_correction(form, ws.b, 1.0, 0.0, dq)
    for i in range(len(dq)):
        system.q[i] = system.hat[i] + dq[i]
    return size


@noinline
def correct(form, ws, J, system, tolerance, loose, iterations, mu, counters):
    """Newton's method for one of the systems above; returns whether it converged, and the last correction.

    ws.J, ws.L: Jacobian and factor used last. J, ws.e: at the last but one iterate.
    """
    before = 1e300
    stale = True
    stalled = 0
    size = 0.0
    for _ in range(iterations):
        eval_forms(form, system.q, ws.e)
        eval_jacobian(form, ws.e, J)
        if system.middle is not None:
            size = correct_middle(form, ws, J, system, stale, mu, counters)
        elif system.both is not None:
            size = correct_both(form, ws, J, system, stale, mu, counters)
        else:
            size = correct_position(form, ws, J, system, stale, mu, counters)
        counters[ITERATIONS] += 1
        ended, converged, stalled, stale = judge_correction(size, before, stalled, tolerance, loose)
        if ended:
            return converged, size
        before = size
    return False, size


@noinline
def factorise_pair(form, Ja, Jb, L, U):
    """Assemble and factorise. L: inverses of the pivots, then the columns of L; U: the rows of U."""
    n = len(form.pos_q) + len(form.pos_c)
    assemble_blocks(form, Jb, 1.0, L)
    for k in range(n, len(L)):
        U[k] = L[k]
    # Constraints come after their coordinates: Jb is below the diagonal, Ja^T above.
    for k in range(len(Ja)):
        L[form.K_J[k]] = Jb[k]
        U[form.K_J[k]] = Ja[k]
    eliminate_pair(form, n, L, U)


@noinline
def project_rates(form, ws, x):
    """Add to x the smallest change, in the mass norm, that makes ws.phi zero, with the current factor."""
    solve_gaps(form, ws, 0)
    for i in range(len(x)):
        x[i] += ws.x[form.pos_q[i]]


@noinline
def start_run(form, ws, refinements, scale, start, mu, counters):
    """Acceleration and multipliers mu = scale lam at the start of a run."""
    accelerate(form, ws, None, 0.0, 0.0, 0.0, refinements, start[0], start[1], start[2], mu)
    counters[FACTORISATIONS] += 1
    for c in range(len(mu)):
        mu[c] *= scale


@kernel
def end_step(form, ws, converged, end, counters):
    """Check and count a step, with the forms of its end in ws.e; returns FULL or the reason to stop there."""
    reason = check_state(eval_constraints(form, ws.e, ws.phi), end)
    if reason == FULL and not converged:
        reason = NOT_CONVERGED
    if reason == FULL:
        counters[STEPS] += 1
    return reason


@entry
def advance_ali3(form, exact, ws, J, h, tolerance, fresh, mu, store, counters):
    """Trapezoidal rule with augmented Lagrangian and projections; returns the reason and the number of steps.

    form: with eps = 4 / (h^2 penalty), so that K represents M + h^2/4 penalty J^T J. exact: with the model's eps,
    for the accelerations at the start. mu: h^2/4 lam, kept from chunk to chunk.
    """
    nq = len(form.Q)
    scale = 0.25 * h * h
    if fresh:
        start_run(exact, ws, 2, scale, store[0], mu, counters)
    q_hat = ws.q
    for n in range(store.shape[0] - 1):
        q0, v0, a0 = store[n, 0], store[n, 1], store[n, 2]
        q, v, a = store[n + 1, 0], store[n + 1, 1], store[n + 1, 2]
        for i in range(nq):
            q_hat[i] = q0[i] + h * v0[i] + scale * a0[i]
            q[i] = q0[i] + h * v0[i] + 2.0 * scale * a0[i]
        system = ImplicitSystem(q, q_hat, scale, None, None)
        converged, size = correct(
            form, ws, J, system, tolerance, LOOSE, ENOUGH_ITERATIONS, mu, counters
        )
        if not converged and size <= LOOSEST:
            converged = True
            counters[RELAXED] += 1
        for i in range(nq):
            dq = q[i] - q0[i]
            v[i] = 2.0 * dq / h - v0[i]
            a[i] = (dq - h * v0[i]) / scale - a0[i]
        # Project velocities, then accelerations, with the matrix of the last iteration.
        eval_forms(form, q, ws.e)
        eval_form_rates(form, v, ws.de)
        eval_constraint_rates(form, ws.e, ws.de, ws.phi)
        project_rates(form, ws, v)
        eval_form_rates(form, v, ws.de)
        eval_curvature(form, ws.de, ws.phi)
        eval_form_rates(form, a, ws.de)
        add_constraint_rates(form, ws.e, ws.de, ws.phi)
        project_rates(form, ws, a)
        reason = end_step(form, ws, converged, store[n + 1], counters)
        if reason != FULL:
            return reason, n
    return FULL, store.shape[0] - 1


class Alpha(NamedTuple):
    """Parameters of the generalized-alpha method: its index (3 or 2) and its weights."""

    level: int
    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float


@entry
def advance_generalized_alpha(
    form, ws, J, h, alpha, tolerance, fresh, mu, auxiliary, store, counters
):
    """Generalized-alpha steps of index 3 or 2; returns the reason and the number of steps.

    store[:, 2]: accelerations from the equations of motion. auxiliary: accelerations of the method; both it and mu
    are kept from chunk to chunk.
    """
    index, alpha_m, alpha_f, beta, gamma = alpha
    nq = len(form.Q)
    q_scale = h * h * beta * (1.0 - alpha_f) / (1.0 - alpha_m)
    v_scale = h * gamma * (1.0 - alpha_f) / (1.0 - alpha_m)
    scale = q_scale if index == 3 else v_scale
    if fresh:
        start_run(form, ws, 2, scale, store[0], mu, counters)
        for i in range(nq):
            auxiliary[i] = store[0, 2, i]
    hat, base = ws.q, ws.v
    for n in range(store.shape[0] - 1):
        q0, v0, a0 = store[n, 0], store[n, 1], store[n, 2]
        q, v, a = store[n + 1, 0], store[n + 1, 1], store[n + 1, 2]
        for i in range(nq):
            # The part of the method's acceleration in this step that depends on previous values.
            past = (alpha_m * auxiliary[i] - alpha_f * a0[i]) / (1.0 - alpha_f)
            q[i] = q0[i] + h * v0[i] + 0.5 * h * h * a0[i]
            if index == 3:
                base[i] = q0[i] + h * v0[i] + h * h * (0.5 - beta) * auxiliary[i]
                hat[i] = base[i] - scale * past
            else:
                # Insert a_{n+1} = (v - v0 - h (1 - gamma) a_n) / (h gamma) into the formula for q.
                v_base = v0[i] + h * (1.0 - gamma) * auxiliary[i]
                base[i] = (
                    q0[i] + h * v0[i] + h * h * (0.5 - beta) * auxiliary[i]
                    - h * beta / gamma * v_base
                )  # fmt: skip
                hat[i] = v_base - scale * past
                v[i] = v0[i] + h * a0[i]
        if index == 3:
            position = ImplicitSystem(q, hat, scale, None, None)
            converged, _ = correct(
                form, ws, J, position, tolerance, LOOSE, MOST_ITERATIONS, mu, counters
            )
        else:
            both = ImplicitSystem(q, hat, scale, Both(v, base, h * beta / gamma), None)
            converged, _ = correct(
                form, ws, J, both, tolerance, LOOSE, MOST_ITERATIONS, mu, counters
            )
        for i in range(nq):
            past = (alpha_m * auxiliary[i] - alpha_f * a0[i]) / (1.0 - alpha_f)
            if index == 3:
                new = (q[i] - base[i]) / (h * h * beta)
                v[i] = v0[i] + h * ((1.0 - gamma) * auxiliary[i] + gamma * new)
            else:
                new = (v[i] - v0[i] - h * (1.0 - gamma) * auxiliary[i]) / (h * gamma)
            a[i] = (1.0 - alpha_m) / (1.0 - alpha_f) * new + past
            auxiliary[i] = new
        eval_forms(form, q, ws.e)
        reason = end_step(form, ws, converged, store[n + 1], counters)
        if reason != FULL:
            return reason, n
    return FULL, store.shape[0] - 1


@entry
def advance_energy_momentum(form, ws, U, J_start, J_middle, J_end, h, fresh, mu, store, counters):
    """Energy-momentum steps; returns the reason and the number of steps.

    store[:, 2]: change of velocity in the previous step, divided by h. mu: kept from chunk to chunk.
    """
    nq = len(form.Q)
    scale = 0.5 * h * h
    dq = ws.dq
    if fresh:
        start_run(form, ws, -1, scale, store[0], mu, counters)
    eval_forms(form, store[0, 0], ws.e)
    eval_jacobian(form, ws.e, J_start)
    for n in range(store.shape[0] - 1):
        q0, v0, a0 = store[n, 0], store[n, 1], store[n, 2]
        q, v, a = store[n + 1, 0], store[n + 1, 1], store[n + 1, 2]
        for i in range(nq):
            dq[i] = h * v0[i] + scale * a0[i]
            q[i] = q0[i] + dq[i]
        system = ImplicitSystem(q, q0, scale, None, Middle(v0, J_start, h, dq, J_middle, U))
        converged, _ = correct(
            form, ws, J_end, system, MIDDLE_TOLERANCE, MIDDLE_LOOSE, MOST_ITERATIONS, mu, counters
        )
        for i in range(nq):
            v[i] = 2.0 * dq[i] / h - v0[i]
            a[i] = (v[i] - v0[i]) / h
        eval_forms(form, q, ws.e)
        eval_jacobian(form, ws.e, J_start)
        reason = end_step(form, ws, converged, store[n + 1], counters)
        if reason != FULL:
            return reason, n
    return FULL, store.shape[0] - 1
