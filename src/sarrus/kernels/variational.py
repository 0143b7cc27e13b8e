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
from ..thresholds import CLEAR_PIVOT, CLEAR_STEP_END, REGULAR_PIVOT, SAME_FACTOR
from .compiler import entry, kernel
from .double_double import rounded
from .dual import inverse_parts, larger_parts, with_value
from .elements.drive import drive_constraints, eval_drives, next_break
from .forms import eval_constraints, eval_energy, eval_forms, eval_jacobian
from .polynomials import eval_piece, eval_polynomial, eval_series
from .recording import settle_angles, start_angles
from .return_codes import DONE, FULL, NOT_FINITE, STUCK
from .series_step import choose_step, least_order, make_series, raise_order, restore_energy
from .simd import WIDTH, in_lanes
from .solve import (
    eval_pivots,
    factorise,
    factorise_exactly,
    learn_pivots,
    project_velocity,
    smallest_pivot,
    solve_gaps,
)
from .step_control import MOVES, SWIFT
from .stepping import factorise_at

# Newton corrections of a projection onto the constraints, at most.
CORRECTIONS = 2
# If they move the values by less than this share of the tolerance, the factor before them is used for the series.
UNMOVED = 0.2
# Refinements of solves with eps: otherwise its effect on a derivative would accumulate.
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
def look_at_motion(form, plain, motion, n, t, reference_pivots):
    """plain.q, plain.v: state of the motion at t; plain.L: factor there.

    Returns the smallest ratio of a pivot to its reference value.
    """
    eval_piece(motion.coefficients[n], motion.orders[n], t - motion.starts[n], plain.q, plain.v)
    factorise_at(form, plain, plain.q)
    _, ratio = eval_pivots(form, plain.L, reference_pivots)
    return ratio


@kernel
def factorise_dual(form, ws, is_clear):
    """ws.J, ws.L: Jacobian and factor at ws.e; without eps if no singular configuration is near."""
    eval_jacobian(form, ws.e, ws.J)
    if is_clear:
        factorise_exactly(form, ws.J, ws.L)
    else:
        factorise(form, ws.J, ws.L)


@kernel
def meet_motion(form, ws, loads, plain_form, plain, motion, n, t, tolerance):
    """ws.q, ws.v: values of the motion at t with the current derivatives, both projected onto the constraints.

    plain: see `look_at_motion`. ws.L, ws.J: factor and Jacobian there. Returns the number of refinements that
    solves with this factor need.
    """
    for i in range(len(ws.q)):
        ws.q[i] = with_value(ws.q[i], plain.q[i])
        ws.v[i] = with_value(ws.v[i], plain.v[i])
    smallest = smallest_pivot(plain_form, plain.L)
    is_clear = smallest > CLEAR_PIVOT
    refinements = 0 if smallest > REGULAR_PIVOT else 1 if is_clear else REFINEMENTS
    eval_drives(loads, t)
    eval_forms(form, ws.q, ws.e)
    for _ in range(CORRECTIONS):
        factorise_dual(form, ws, is_clear)
        left = eval_constraints(form, ws.e, ws.phi)
        drive_constraints(form, loads, left, ws.phi)
        solve_gaps(form, ws, refinements)
        moved = 0.0
        for i in range(len(ws.q)):
            x = ws.x[form.pos_q[i]]
            ws.q[i] += x
            moved = max(moved, abs(rounded(x)))
        eval_forms(form, ws.q, ws.e)
        # What a correction leaves, in values and in derivatives, is of the order of its square.
        if moved <= SAME_FACTOR:
            break
    if moved > UNMOVED * tolerance:
        factorise_dual(form, ws, is_clear)
    project_velocity(form, ws, loads, refinements, ws.v)
    if loads is not None:
        s = t - motion.starts[n]
        last = motion.angle_and_work_series.shape[2] - 1
        for i in range(len(loads.theta)):
            loads.theta[i] = eval_series(motion.angle_and_work_series[n, i], last, s)
        settle_angles(loads, ws.q)
    return refinements


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
def find_step_end(form, plain, motion, n, t, order, h, stop, reference_pivots):
    """End a step away from singular configurations; returns its length and the step of the motion.

    plain: as after `look_at_motion` there.
    """
    best, chosen, length = 0.0, h, h
    longest = min(h * np.exp(np.log(GROWTH) / order), stop - t)
    for attempt in range(FURTHER + NEARER + 2):
        # If no trial is far enough away, use the best one, with preference for long steps.
        if attempt == FURTHER + NEARER + 1:
            length = chosen
        at = find_step(motion.starts, n, t + length)
        ratio = look_at_motion(form, plain, motion, at, t + length, reference_pivots)
        if ratio >= CLEAR_STEP_END or attempt == FURTHER + NEARER + 1:
            break
        if ratio * length > best:
            best, chosen = ratio * length, length
        if attempt < FURTHER and length * FACTOR < longest:
            length *= FACTOR
        else:
            length = SHRINK * min(length, h)
    return length, at


@entry
def follow_motion(form, ws, loads, plain_form, plain, rules, motion, kept, pieces):
    """Step from kept.balance[TIME] until the end or until the buffers are full.

    Returns the reason and the number of steps. plain_form, plain: the form and memory in doubles. motion:
    polynomials of the run (doubles). Outputs: kept; pieces: polynomials of duals.
    """
    state, balance = kept.state, kept.balance
    nq = state.shape[1]
    for i in range(nq):
        ws.q[i] = state[0, i]
        ws.v[i] = state[1, i]
    t = balance[TIME]
    n = find_step(motion.starts, 0, t)
    log_tolerance = np.log(rules.tolerance)
    look_at_motion(plain_form, plain, motion, n, t, ws.reference_pivots)
    pieces.starts[0] = t
    for k in range(pieces.coefficients.shape[0]):
        refinements = meet_motion(form, ws, loads, plain_form, plain, motion, n, t, rules.tolerance)
        learn_pivots(plain_form, plain.L, ws.reference_pivots)
        conserve_energy(form, ws, rules, kept)
        weigh_derivatives(ws, kept)
        qc = pieces.coefficients[k]
        fastest = balance[FASTEST]
        for i in range(nq):
            qc[0, i] = ws.q[i]
            qc[1, i] = ws.v[i]
            fastest = max(fastest, abs(rounded(ws.v[i])))
        balance[FASTEST] = fastest
        log_speed = np.log(SWIFT * fastest) if fastest > 0.0 else np.inf
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
        h, n = find_step_end(plain_form, plain, motion, n, t, order, h, stop, ws.reference_pivots)
        eval_polynomial(qc, order, h, 1, ws.q, ws.v)
        t = stop if h >= stop - t else t + h
        pieces.starts[k + 1] = t
        balance[TIME] = t
        for i in range(nq):
            state[0, i] = ws.q[i]
            state[1, i] = ws.v[i]
    return FULL, pieces.coefficients.shape[0]


class SampledLanes(NamedTuple):
    """Memory for outputs in SIMD lanes: times since the start of a step, and a polynomial and its derivatives."""

    s: Floats
    x: Floats


@kernel
def sample_lane_parts(starts, orders, parts, n, k, count, times, side, first, out):
    """Outputs k .. k + count - 1 in step n, see `sample_parts`."""
    wide = in_lanes(side)
    for lane in range(WIDTH):
        side.s[0, lane] = times[k + min(lane, count - 1)] - starts[n]
    s = wide.s[0]
    for i in range(out.shape[3]):
        for p in range(out.shape[0]):
            x, v, a = 0.0 * s, 0.0 * s, 0.0 * s
            for m in range(orders[n], -1, -1):
                a = a * s + v
                v = v * s + x
                x = x * s + parts[n, m, i, first + p]
            wide.x[0] = x
            wide.x[1] = v
            wide.x[2] = 2.0 * a
            for level in range(3):
                for lane in range(count):
                    out[p, level, k + lane, i] = side.x[level, lane]


@entry
def sample_parts(starts, orders, parts, times, side, first, out):
    """Parts of q, q', q'' at increasing times from the polynomials of steps, from part `first` on.

    parts: (steps, terms, nq, PARTS), the duals as doubles. Outputs: out, (parts, 3, times, nq).
    """
    n = 0
    k = 0
    while k < len(times):
        n = find_step(starts, n, times[k])
        last = k + 1
        while last < min(len(times), k + WIDTH) and (
            n == len(starts) - 2 or times[last] < starts[n + 1]
        ):
            last += 1
        sample_lane_parts(starts, orders, parts, n, k, last - k, times, side, first, out)
        k = last


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
