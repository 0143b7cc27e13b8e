"""Derivatives of a motion with respect to parameters: the kernels of the series method, run on dual numbers.

The motion is known. It is read from the polynomials of the run, so that its derivatives follow the branch that the
run took. At the start of each step the values are those of the motion, and the derivatives continue from the
previous step. Both are projected onto the constraints, and energy and its derivative are corrected, by the
formulas of series_step.py and solve.py. The coefficients are those of coefficients.py; their largest part, value
or derivative, determines the step length.
"""

from typing import NamedTuple

import numpy as np

from ..arrays import Floats
from ..thresholds import CLEAR_LANDING
from .compiler import entry, kernel
from .double_double import rounded
from .dual import inverse_parts, larger_parts, with_value
from .elements.drive import drive_constraints, eval_drives, next_break
from .forms import eval_constraints, eval_energy, eval_forms, eval_jacobian
from .polynomials import eval_piece, eval_polynomial, eval_polynomial_rate, eval_series
from .recording import settle_angles, start_angles
from .return_codes import DONE, FULL, NOT_FINITE, STUCK
from .series_step import choose_step, least_order, make_series, raise_order, restore_energy
from .solve import (
    eval_pivots,
    factorise,
    factorise_exactly,
    is_regular,
    learn_pivots,
    project_velocity,
    solve_gaps,
)
from .step_control import MOVES, SWIFT

# Newton corrections of a projection onto the constraints: the first corrects values and derivatives, whose
# equations are linear; the second corrects the remaining error of the values.
CORRECTIONS = 2
# Refinements of these solves: otherwise the effect of eps on a derivative would accumulate.
REFINEMENTS = 2
# If a step would end near a singular configuration: number of longer trials, the factor of each, and the
# admissible growth of the last terms; then number and factor of shorter trials.
FURTHER, FACTOR, GROWTH = 3, 1.08, 1e2
NEARER, SHRINK = 6, 0.8
# Smallest step, relative to the run's step there: derivatives that allow less are noise, and steps would become
# ever smaller.
CRAWLING = 1e-2
# Indices of the balance: time, its rounding error, largest kinetic energy and velocity so far.
TIME, LOW_TIME, SCALE, FASTEST = range(4)
BALANCE = 4


class DerivativeRules(NamedTuple):
    """Rules for all steps: end [s], tolerance, whether energy is conserved, log of the cost of each order."""

    t_end: float
    tolerance: float
    holds: bool
    log_cost: Floats


class DerivativeState(NamedTuple):
    """State carried from step to step: configuration and velocity, the energy at the start (duals), the balance.

    ones: a dual whose parts are all 1.
    """

    state: np.ndarray
    energy: np.ndarray
    ones: np.ndarray
    balance: Floats


@kernel
def find_step(starts, n, t):
    """Step of the motion that contains t, searched from step n on; at a boundary the later one."""
    while n < len(starts) - 2 and t >= starts[n + 1]:
        n += 1
    return n


@kernel
def meet_motion(form, ws, loads, motion, n, t, point):
    """ws.q, ws.v: values of the motion at t with the current derivatives, both projected onto the constraints.

    ws.L, ws.J: factor and Jacobian there. ws.phi: residuals of the constraints and of their derivatives. Returns
    the smallest ratio of a pivot to its reference value.
    """
    s = t - motion.starts[n]
    eval_piece(motion.coefficients[n], motion.orders[n], s, point[0], point[1])
    for i in range(len(ws.q)):
        ws.q[i] = with_value(ws.q[i], point[0, i])
        ws.v[i] = with_value(ws.v[i], point[1, i])
    eval_drives(loads, t)
    eval_forms(form, ws.q, ws.e)
    for _ in range(CORRECTIONS):
        eval_jacobian(form, ws.e, ws.J)
        factorise(form, ws.J, ws.L)
        left = eval_constraints(form, ws.e, ws.phi)
        drive_constraints(form, loads, left, ws.phi)
        solve_gaps(form, ws, REFINEMENTS)
        for i in range(len(ws.q)):
            ws.q[i] += ws.x[form.pos_q[i]]
        eval_forms(form, ws.q, ws.e)
    _, ratio = eval_pivots(form, ws.L, ws.reference_pivots)
    project_velocity(form, ws, loads, REFINEMENTS, ws.v)
    left = eval_constraints(form, ws.e, ws.phi)
    drive_constraints(form, loads, left, ws.phi)
    if loads is not None:
        last = motion.angle_and_work_series.shape[2] - 1
        for i in range(len(loads.theta)):
            loads.theta[i] = eval_series(motion.angle_and_work_series[n, i], last, s)
        settle_angles(loads, ws.q)
    return rounded(ratio)


@kernel
def conserve_energy(form, ws, rules, kept):
    """Reset energy and its derivative to their values at the start, if there are only constant forces."""
    kinetic, potential = eval_energy(form, ws.q, ws.v)
    balance = kept.balance
    balance[SCALE] = max(balance[SCALE], rounded(kinetic))
    if rules.holds and rounded(kinetic) > MOVES * balance[SCALE]:
        restore_energy(ws.v, kinetic, kept.energy[0] - kinetic - potential)


@kernel
def weigh_derivatives(ws, kept):
    """ws.weights: errors of a derivative are relative to its largest entry, at least the mechanism's length."""
    sizes = kept.ones[0]
    for i in range(len(ws.q)):
        sizes = larger_parts(sizes, ws.q[i])
    ws.weights[0] = with_value(inverse_parts(sizes), 1.0)


@kernel
def find_landing(form, ws, loads, motion, n, t, order, h, stop, qc, point):
    """End a step away from singular configurations; returns its length and the step of the motion."""
    best, chosen, length = 0.0, h, h
    longest = min(h * np.exp(np.log(GROWTH) / order), stop - t)
    for attempt in range(FURTHER + NEARER + 2):
        # If no trial is far enough away, use the best one, with preference for long steps.
        if attempt == FURTHER + NEARER + 1:
            length = chosen
        eval_polynomial(qc, order, length, 1, ws.q, ws.v)
        at = find_step(motion.starts, n, t + length)
        ratio = meet_motion(form, ws, loads, motion, at, t + length, point)
        if ratio >= CLEAR_LANDING or attempt == FURTHER + NEARER + 1:
            break
        if ratio * length > best:
            best, chosen = ratio * length, length
        if attempt < FURTHER and length * FACTOR < longest:
            length *= FACTOR
        else:
            length = SHRINK * min(length, h)
    return length, at


@entry
def follow_motion(form, ws, loads, rules, motion, point, kept, pieces, left):
    """Step from kept.balance[TIME] until the end or until the buffers are full.

    Returns the reason and the number of steps. motion: polynomials of the run (doubles). point: memory for a
    state. Outputs: kept; pieces: polynomials of duals; left: residuals of the constraints and their derivatives at
    the start of each step.
    """
    state, balance = kept.state, kept.balance
    nq = state.shape[1]
    for i in range(nq):
        ws.q[i] = state[0, i]
        ws.v[i] = state[1, i]
    t = balance[TIME]
    n = find_step(motion.starts, 0, t)
    meet_motion(form, ws, loads, motion, n, t, point)
    pieces.starts[0] = t
    for k in range(pieces.coefficients.shape[0]):
        learn_pivots(form, ws.L, ws.reference_pivots)
        conserve_energy(form, ws, rules, kept)
        weigh_derivatives(ws, kept)
        qc = pieces.coefficients[k]
        fastest = balance[FASTEST]
        for i in range(nq):
            qc[0, i] = ws.q[i]
            qc[1, i] = ws.v[i]
            fastest = max(fastest, abs(rounded(ws.v[i])))
        balance[FASTEST] = fastest
        for c in range(len(ws.phi)):
            left[k, c] = ws.phi[c]
        log_tolerance = np.log(rules.tolerance)
        log_speed = np.log(SWIFT * fastest) if fastest > 0.0 else np.inf
        # Without eps no refinement is needed.
        refinements = REFINEMENTS
        if is_regular(form, ws.L):
            factorise_exactly(form, ws.J, ws.L)
            refinements = 0
        known, order, log_step = make_series(
            form, ws, loads, t, log_tolerance, log_speed, rules.log_cost, refinements, 0, qc
        )
        if known < 3:
            return NOT_FINITE, k
        if order > known:
            order, log_step = choose_step(ws, least_order(loads), known, rules.log_cost)
        order = raise_order(ws, order, known, log_step, log_tolerance)
        stop = min(rules.t_end, rounded(next_break(loads, t)))
        h = min(np.exp(min(log_step, 600.0)), stop - t)
        pieces.orders[k] = order
        if t + h >= rules.t_end:
            pieces.starts[k + 1] = rules.t_end
            balance[TIME] = rules.t_end
            return DONE, k + 1
        if h < CRAWLING * (motion.starts[n + 1] - motion.starts[n]) and h < stop - t:
            return STUCK, k
        h, n = find_landing(form, ws, loads, motion, n, t, order, h, stop, qc, point)
        t = stop if h >= stop - t else t + h
        pieces.starts[k + 1] = t
        balance[TIME] = t
        for i in range(nq):
            state[0, i] = ws.q[i]
            state[1, i] = ws.v[i]
    return FULL, pieces.coefficients.shape[0]


@entry
def sample_derivatives(pieces, times, q, v, a):
    """Configuration, velocity and acceleration (duals) at increasing times, from the polynomials of steps."""
    n = 0
    for k in range(len(times)):
        n = find_step(pieces.starts, n, times[k])
        s = times[k] - pieces.starts[n]
        eval_polynomial(pieces.coefficients[n], pieces.orders[n], s, 1, q[k], v[k])
        eval_polynomial_rate(pieces.coefficients[n], pieces.orders[n], s, a[k])


@entry
def settle_outputs(loads, out):
    """Angles of torsion springs at outputs, in the same turn as their values."""
    for k in range(len(out.times)):
        start_angles(loads, out.angles[k])
        settle_angles(loads, out.q[k])
        for i in range(len(loads.theta)):
            out.angles[k, i] = loads.theta[i]


@entry
def eval_variations(form, ws, loads, times, q, phi, J):
    """Constraints and entries of the Jacobian (duals) at some states, with their parameter derivatives."""
    for k in range(len(times)):
        eval_drives(loads, times[k])
        eval_forms(form, q[k], ws.e)
        left = eval_constraints(form, ws.e, phi[k])
        drive_constraints(form, loads, left, phi[k])
        eval_jacobian(form, ws.e, J[k])
