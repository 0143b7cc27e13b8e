"""Steps that solve for the position at their end: ali3 and generalized-alpha.

Both come down to one system for q = q_{n+1} and scaled multipliers mu = scale lam:

    M (q - q_hat) + J(q)^T mu = scale Q,     Phi(q) = 0

q_hat: what the integration formula knows before the step. Its Newton matrix is K, without the
derivative of J^T mu; the eps of the form makes it exact multipliers (tiny) or an augmented
Lagrangian (1/penalty).
"""

from typing import NamedTuple

from .compiler import block, entry
from .forms import (
    add_constraint_rates,
    eval_constraint_rates,
    eval_constraints,
    eval_curvature,
    eval_form_rates,
    eval_forms,
    eval_jacobian,
)
from .reasons import FULL, NOT_CONVERGED
from .solve import factorise, solve_gaps
from .stepping import (
    FACTORISATIONS,
    ITERATIONS,
    LOOSENED,
    STEPS,
    accelerate,
    add_mass_times,
    check_state,
    judge_correction,
    solve_system,
    subtract_multiplier_force,
)

MOST_ITERATIONS = 60
# ali3 goes on after so many iterations if the corrections are below this (of a link): along a weak
# direction of J the multiplier converges slowly, by eps / (eps + d^2) at a distance d
ENOUGH_ITERATIONS = 20
LOOSEST = 1e-5
# corrections (of a link) that end the iteration when they grow again and again: rounding, divided by the
# distance to a singular position
LOOSE = 1e-8


@block
def correct_position(form, ws, J, scale, q_hat, tolerance, iterations, q, mu, counters):
    """Newton on the system above from q, mu; returns whether it converged, and the last correction.

    ws.J, ws.L: Jacobian and factor last used; J, ws.e: at the last but one position.
    """
    nq = len(q)
    nc = len(mu)
    before = 1e300
    stale = True
    stalled = 0
    size = 0.0
    for _ in range(iterations):
        eval_forms(form, q, ws.e)
        eval_jacobian(form, ws.e, J)
        eval_constraints(form, ws.e, ws.phi)
        for i in range(nq):
            ws.dq[i] = q_hat[i] - q[i]
            ws.b[form.pos_q[i]] = scale * form.Q[i]
        for c in range(nc):
            ws.b[form.pos_c[c]] = -ws.phi[c]
        add_mass_times(form, 1.0, ws.dq, ws.b)
        subtract_multiplier_force(form, J, mu, ws.b)
        if stale:
            for k in range(len(J)):
                ws.J[k] = J[k]
            factorise(form, ws.J, ws.L)
            counters[FACTORISATIONS] += 1
        solve_system(form, ws.J, ws.L, ws.b)
        size = 0.0
        for i in range(nq):
            x = ws.b[form.pos_q[i]]
            q[i] += x
            if not abs(x) <= size:
                size = abs(x)
        for c in range(nc):
            mu[c] += ws.b[form.pos_c[c]] * (1.0 + form.rho[c] * form.eps[c])
        counters[ITERATIONS] += 1
        ended, converged, stalled, stale = judge_correction(size, before, stalled, tolerance, LOOSE)
        if ended:
            return converged, size
        before = size
    return False, size


@block
def project_rates(form, ws, x):
    """X += the change of least mass that takes the rates in ws.phi to zero, with the factor at hand."""
    solve_gaps(form, ws, 0)
    for i in range(len(x)):
        x[i] += ws.x[form.pos_q[i]]


@entry
def advance_ali3(form, exact, ws, J, h, tolerance, fresh, mu, store, counters):
    """Trapezoidal rule, augmented Lagrangian, projections; returns the reason and how many steps.

    form: with eps = 4 / (h^2 penalty), so that K stands for M + h^2/4 penalty J^T J; exact: with the
    model's eps, for the accelerations at the start. mu: h^2/4 lam, kept from chunk to chunk.
    """
    nq = len(form.Q)
    scale = 0.25 * h * h
    if fresh:
        accelerate(exact, ws, None, 0.0, 0.0, 0.0, 2, store[0, 0], store[0, 1], store[0, 2], mu)
        counters[FACTORISATIONS] += 1
        for c in range(len(mu)):
            mu[c] *= scale
    q_hat = ws.q
    for n in range(store.shape[0] - 1):
        q0, v0, a0 = store[n, 0], store[n, 1], store[n, 2]
        q, v, a = store[n + 1, 0], store[n + 1, 1], store[n + 1, 2]
        for i in range(nq):
            q_hat[i] = q0[i] + h * v0[i] + scale * a0[i]
            q[i] = q0[i] + h * v0[i] + 2.0 * scale * a0[i]
        converged, size = correct_position(
            form, ws, J, scale, q_hat, tolerance, ENOUGH_ITERATIONS, q, mu, counters
        )
        if not converged and size <= LOOSEST:
            converged = True
            counters[LOOSENED] += 1
        for i in range(nq):
            dq = q[i] - q0[i]
            v[i] = 2.0 * dq / h - v0[i]
            a[i] = (dq - h * v0[i]) / scale - a0[i]
        # project velocities, then accelerations, with the matrix of the last iteration
        eval_forms(form, q, ws.e)
        eval_form_rates(form, v, ws.de)
        eval_constraint_rates(form, ws.e, ws.de, ws.phi)
        project_rates(form, ws, v)
        eval_form_rates(form, v, ws.de)
        eval_curvature(form, ws.de, ws.phi)
        eval_form_rates(form, a, ws.de)
        add_constraint_rates(form, ws.e, ws.de, ws.phi)
        project_rates(form, ws, a)
        opening = eval_constraints(form, ws.e, ws.phi)
        reason = check_state(opening, store[n + 1])
        if reason != FULL:
            return reason, n
        if not converged:
            return NOT_CONVERGED, n
        counters[STEPS] += 1
    return FULL, store.shape[0] - 1


@block
def correct_both(form, ws, J, v_hat, v_scale, q_base, q_part, tolerance, v, mu, q, counters):
    """Newton on the stabilised system of index 2 from v, q, mu; returns whether it converged.

    M (v - v_hat) + J(q)^T mu = v_scale Q,          J(q) v = 0
    M (q - q_base - q_part v) + J(q)^T eta = 0,     Phi(q) = 0
    """
    nq = len(q)
    nc = len(mu)
    before = 1e300
    stale = True
    stalled = 0
    for _ in range(MOST_ITERATIONS):
        eval_forms(form, q, ws.e)
        eval_jacobian(form, ws.e, J)
        if stale:
            for k in range(len(J)):
                ws.J[k] = J[k]
            factorise(form, ws.J, ws.L)
            counters[FACTORISATIONS] += 1
        # velocity
        eval_form_rates(form, v, ws.de)
        eval_constraint_rates(form, ws.e, ws.de, ws.phi)
        for i in range(nq):
            ws.dq[i] = v_hat[i] - v[i]
            ws.b[form.pos_q[i]] = v_scale * form.Q[i]
        for c in range(nc):
            ws.b[form.pos_c[c]] = -ws.phi[c]
        add_mass_times(form, 1.0, ws.dq, ws.b)
        subtract_multiplier_force(form, J, mu, ws.b)
        solve_system(form, ws.J, ws.L, ws.b)
        size = 0.0
        for i in range(nq):
            x = ws.b[form.pos_q[i]]
            v[i] += x
            if not abs(x) * q_part <= size:
                size = abs(x) * q_part
        for c in range(nc):
            mu[c] += ws.b[form.pos_c[c]] * (1.0 + form.rho[c] * form.eps[c])
        # position: back onto the constraints from where the velocity leads, orthogonal in mass
        eval_constraints(form, ws.e, ws.phi)
        for i in range(nq):
            ws.dq[i] = q_base[i] + q_part * v[i] - q[i]
            ws.b[form.pos_q[i]] = 0.0
        for c in range(nc):
            ws.b[form.pos_c[c]] = -ws.phi[c]
        add_mass_times(form, 1.0, ws.dq, ws.b)
        solve_system(form, ws.J, ws.L, ws.b)
        for i in range(nq):
            x = ws.b[form.pos_q[i]]
            q[i] += x
            if not abs(x) <= size:
                size = abs(x)
        counters[ITERATIONS] += 1
        ended, converged, stalled, stale = judge_correction(size, before, stalled, tolerance, LOOSE)
        if ended:
            return converged
        before = size
    return False


class Alpha(NamedTuple):
    """Parameters of the generalized-alpha method: its index, 3 or 2, and its weights."""

    level: int
    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float


@entry
def advance_generalized_alpha(
    form, ws, J, h, alpha, tolerance, fresh, mu, auxiliary, store, counters
):
    """Generalized-alpha steps of index 3 or 2; returns the reason and how many steps.

    store[:, 2]: accelerations of the equations of motion; auxiliary: those of the method, and mu,
    kept from chunk to chunk.
    """
    index, alpha_m, alpha_f, beta, gamma = alpha
    nq = len(form.Q)
    q_scale = h * h * beta * (1.0 - alpha_f) / (1.0 - alpha_m)
    v_scale = h * gamma * (1.0 - alpha_f) / (1.0 - alpha_m)
    scale = q_scale if index == 3 else v_scale
    if fresh:
        accelerate(form, ws, None, 0.0, 0.0, 0.0, 2, store[0, 0], store[0, 1], store[0, 2], mu)
        counters[FACTORISATIONS] += 1
        for c in range(len(mu)):
            mu[c] *= scale
        for i in range(nq):
            auxiliary[i] = store[0, 2, i]
    hat, base = ws.q, ws.v
    for n in range(store.shape[0] - 1):
        q0, v0, a0 = store[n, 0], store[n, 1], store[n, 2]
        q, v, a = store[n + 1, 0], store[n + 1, 1], store[n + 1, 2]
        for i in range(nq):
            # what the method's acceleration of this step owes to the past
            past = (alpha_m * auxiliary[i] - alpha_f * a0[i]) / (1.0 - alpha_f)
            q[i] = q0[i] + h * v0[i] + 0.5 * h * h * a0[i]
            if index == 3:
                base[i] = q0[i] + h * v0[i] + h * h * (0.5 - beta) * auxiliary[i]
                hat[i] = base[i] - scale * past
            else:
                # a_{n+1} = (v - v0 - h (1 - gamma) a_n) / (h gamma) put into the formula for q
                v_base = v0[i] + h * (1.0 - gamma) * auxiliary[i]
                base[i] = (
                    q0[i] + h * v0[i] + h * h * (0.5 - beta) * auxiliary[i]
                    - h * beta / gamma * v_base
                )  # fmt: skip
                hat[i] = v_base - scale * past
                v[i] = v0[i] + h * a0[i]
        if index == 3:
            converged, _ = correct_position(
                form, ws, J, scale, hat, tolerance, MOST_ITERATIONS, q, mu, counters
            )
        else:
            converged = correct_both(
                form, ws, J, hat, scale, base, h * beta / gamma, tolerance, v, mu, q, counters
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
        opening = eval_constraints(form, ws.e, ws.phi)
        reason = check_state(opening, store[n + 1])
        if reason != FULL:
            return reason, n
        if not converged:
            return NOT_CONVERGED, n
        counters[STEPS] += 1
    return FULL, store.shape[0] - 1
