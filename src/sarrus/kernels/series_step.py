"""Taylor series integration of the motion [Pryce2001, NedialkovPryce2008, JorbaZou2005].

With q(t0 + s) = sum q_k s^k and lam = sum lam_k s^k, the quadratic equations give one linear system per
coefficient, all with the same matrix:

    [ M   J0^T ] [ q_{k+2}              ]   [ (Q_k - sum_{j<k} J_{k-j}^T lam_j) / ((k+2)(k+1)) ]
    [ J0  0    ] [ lam_k / ((k+2)(k+1)) ] = [ - 1/2 sum_{j=1..k+1} B(q_j, q_{k+2-j})            ]

Force elements contribute to Q_k. Drives contribute the coefficient phi0_{k+2} of their right-hand side. See
applied_forces.py.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..thresholds import DRIFT_DRIVEN, ROUND_OFF, SINGULAR_STEP_END
from .applied_forces import (
    eval_load_energy,
    eval_load_forms,
    land_loads,
    start_loads,
    work_coefficients,
)
from .coefficients import gather, make_coefficients, spread_forms
from .compiler import entry, kernel, noinline
from .double_double import is_wide, rounded
from .elements.drive import drive_constraints, next_break, start_drives
from .elements.torsion import ANGLE
from .forms import eval_constraints, eval_energy, eval_form_rates, eval_forms, eval_jacobian
from .polynomials import eval_polynomial, eval_series
from .return_codes import DONE, FULL, NOT_FINITE, OTHER_DIGITS, STUCK
from .simd import choose, fill_lanes, rows_of_lanes, shared, width_of
from .solve import (
    adds_up,
    count_redundant,
    eval_pivots,
    factorise,
    factorise_exactly,
    is_near_singular,
    is_regular,
    learn_pivots,
    project_state,
    refinements_for,
)
from .step_control import (
    BEYOND,
    CHECKED_AFTER,
    CORRECTIONS,
    DRIFT_SLACK,
    ELSEWHERE,
    ENERGY_NOISE,
    ENERGY_SLACK,
    FIRST_STEPS,
    FLOOR,
    HIGHEST_ORDER,
    LONG_FLOOR,
    LOOSEST,
    LOST,
    LOW_ORDER,
    MANY_STEPS,
    MOVES,
    NEAR_SINGULAR_RATIO,
    NOISE,
    NOISY_ORDER,
    REFINED,
    SAME_ENERGY,
    SLACK,
    STILL,
    SWIFT,
    TRIES,
    WIDE_CORRECTIONS,
    log_cost,
)
from .stepping import add_time

LOG_STILL = np.log(STILL)
# Reciprocals of the orders of terms, and of those orders minus one.
INVERSE = 1.0 / np.maximum(np.arange(fill_lanes(HIGHEST_ORDER + 1)), 1.0)
INVERSE_BEFORE = np.append(1.0, INVERSE[:-1])
# Up to this number of coordinates, coefficients are computed ahead. In larger mechanisms an unused coefficient
# costs more than an additional check.
SMALL = 8
# Near a singular configuration one step may miss this share of the work error of drives that a whole run may have.
STEP_SHARE = 0.1
# Largest admissible coefficient; doubles overflow at 1e308.
LARGEST = 1e300

# Indices of the counters. The last three: number of steps after which the tolerance is shared next, number of
# steps that ended near a singular configuration, and number of equations that are redundant at the start.
STEPS, REJECTED, COEFFICIENTS, FACTORISATIONS, RELAXED, NEXT_SHARE, NEAR_SINGULAR, REDUNDANT = (
    range(8)
)
COUNTERS = 8
# Indices of the balance of a run: energy at its start, largest kinetic energy and velocity so far, rounding error
# of the time, time, tolerance of a step, sum of the magnitudes of all constant forces, largest velocity of which
# the log was computed, and that log.
(FIRST_ENERGY, SCALE, FASTEST, LOW_TIME, TIME, LOCAL, WEIGHT, HEARD, LOG_SPEED) = range(9)
BALANCE = 9
# Indices of ws.step. At the start of the step: energy, strain energy, smallest pivot, smallest pivot ratio. At its
# projected end: smallest pivot, pivot ratio, correction by the projection, kinetic energy, energy, energy
# exchanged, magnitude of the terms whose differences are the energies, strain energy, work, and the tolerance that
# was met.
(ENERGY, STORED, SMALLEST, RATIO) = range(4)
(END_SMALLEST, END_RATIO, OFF, KINETIC, END_ENERGY, EXCHANGED, TERMS, STRAIN, WORK, MET) = range(
    4, 14
)
# Columns of the record of a step: smallest pivot at its end, correction by the projection, smallest ratio of a
# pivot to its reference value, possible loss of accuracy, and the energy correction after the step.
PIVOT, MOVED, PIVOT_RATIO, LOSS, RESTORED = 0, 1, 2, 3, 4
SEEN = 5


class StepRules(NamedTuple):
    """Settings shared by all steps of a run.

    t_end: end of the run [s]. tolerance: of a step, before it is shared among many steps. shares: whether a long
    run shares it. share_every: number of steps after which the share is computed again. holds: whether the energy
    is corrected after steps (see `keeps_energy`). widens: whether steps that start near a singular configuration
    use double-double arithmetic while all others use doubles. log_cost: log of the cost of each order.
    """

    t_end: float
    tolerance: float
    shares: bool
    share_every: int
    holds: bool
    widens: bool
    log_cost: Floats


@lru_cache(maxsize=16)
def make_rules(
    t_end: float, tolerance: float, shares: bool, share_every: int, holds: bool, widens: bool
) -> StepRules:
    """Rules for the steps of a run; cached, so that equal rules are converted only once (arguments.py)."""
    return StepRules(t_end, tolerance, shares, share_every, holds, widens, log_cost())


class StepperState(NamedTuple):
    """State that a run carries from step to step.

    state: consistent configuration and velocity. carried: angles of torsion springs and the work of loads and
    drives; empty without these. balance, counters: see the indices above.
    """

    state: Floats
    carried: Floats
    balance: Floats
    counters: Ints


def make_state(coordinates: int, carried: int, tolerance: float) -> StepperState:
    """State of a run before its first step, at rest at the origin of the coordinates."""
    balance = np.zeros(BALANCE)
    balance[LOCAL] = tolerance
    state = np.zeros((2, coordinates))
    return StepperState(state, np.zeros(carried), balance, np.zeros(COUNTERS, np.int64))


@kernel
def least_order(loads):
    """Lowest order that a step may have.

    The polynomial of a drive that starts with a high power has vanishing coefficients below it. These give no
    information about the truncation error.
    """
    if loads is None or len(loads.drives.equations) == 0:
        return 3
    return max(loads.drives.polynomials.shape[1] + 1, 3)


@kernel
def eval_step_limits(ws, first, last, log_tolerance, log_speed):
    """ws.reach: log of the step lengths at which terms of order first .. last equal the tolerance.

    Both configuration and velocity count. log_speed is the log of SWIFT times the largest velocity; it is infinite
    if only the configuration counts. If the motion covers less than a link length in a step, the velocity is the
    stricter criterion, otherwise the configuration is. Displacements below STILL count as zero.
    """
    reach = rows_of_lanes(ws.reach)
    sizes = rows_of_lanes(ws.log_size)
    inverse = rows_of_lanes(INVERSE)
    before = rows_of_lanes(INVERSE_BEFORE)
    width = width_of(ws.reach)
    for t in range(first // width, last // width + 1):
        left = log_tolerance - sizes[t]
        swift = (left + log_speed) * before[t]
        still = (left + LOG_STILL) * inverse[t]
        swift = choose(swift > still, swift, still)
        place = left * inverse[t]
        reach[t] = choose(place < swift, place, swift)


@kernel
def eval_log_sizes(ws, first, last):
    """ws.log_size: log of ws.size, the largest entry of each coefficient first .. last."""
    width = width_of(ws.size)
    for t in range(first // width, last // width + 1):
        rows_of_lanes(ws.log_size)[t] = np.log(rows_of_lanes(ws.size)[t] + 1e-300)


@noinline
def make_series(form, ws, loads, t, log_tolerance, log_speed, log_cost, refinements, ahead, qc):
    """Compute as many coefficients about t as are worth their cost, from q_0 and q_1.

    Returns the highest coefficient, the order and the log of the step length. Order and step length are those of
    `choose_step` if the order does not exceed the highest coefficient. ahead: number of coefficients that are
    computed before the first is checked; the checks give the same result as if the coefficients were computed one
    by one. ws.size, ws.log_size, ws.reach: largest entry of each coefficient, its log, and the log of the step
    length that it allows.
    """
    if loads is not None:
        start_loads(loads, qc[0], qc[1])
        start_drives(loads, t)
    least = least_order(loads)
    eval_form_rates(form, qc[1], ws.de)
    eval_jacobian(form, ws.de, ws.J1)
    gather(form, ws, 0, ws.e)
    gather(form, ws, 1, ws.de)
    best = -np.inf
    order = 3
    log_step = -np.inf
    before = np.inf
    first = shared(2)
    last = shared(min(max(ahead, 2), qc.shape[0] - 1))
    known = qc.shape[0] - 1
    while first <= known:
        make_coefficients(form, ws, loads, refinements, first, last, qc)
        eval_log_sizes(ws, first, last)
        eval_step_limits(ws, first, last, log_tolerance, log_speed)
        for m in range(first, last + 1):
            # Velocities and accelerations are up to a thousand times larger.
            if not ws.size[m] < LARGEST:
                known = m - 1
                break
            usable = min(ws.reach[m], before)
            before = ws.reach[m]
            better = usable - log_cost[m] > best
            best = max(best, usable - log_cost[m])
            order = m if better else order
            log_step = usable if better else log_step
            if m > max(order, 3) + 1 and m > least:
                known = m
                break
        first = shared(last + 1)
        last = shared(first)
    # Steps of lower order are not allowed: the caller chooses the best order from the lowest allowed one on.
    return known, order if order >= least else known + 1, log_step


@kernel
def choose_step(ws, least, known, log_cost):
    """Order (from `least` to `known`) and log of the step length, given the step limits of the coefficients.

    A series of order p allows the step h_p at which its last two terms equal the tolerance. The order with the
    largest h_p / cost(p) determines the step. Near a singular configuration rounding inflates the high
    coefficients; a low order is then best and still allows a long step.
    """
    best = -np.inf
    lowest = min(least, known)
    order = lowest
    log_step = -np.inf
    for m in range(lowest, known + 1):
        usable = min(ws.reach[m], ws.reach[m - 1])
        if usable - log_cost[m] > best:
            best = usable - log_cost[m]
            order = m
            log_step = usable
    return order, log_step


@kernel
def raise_order(ws, order, known, log_step, log_tolerance):
    """Use further coefficients that are already computed as long as their terms stay below the tolerance."""
    for m in range(order + 1, known + 1):
        if not ws.log_size[m] + m * log_step <= log_tolerance:
            break
        order = m
    return order


@kernel
def longest_step_at_rest(form, ws, refinements, lost, v):
    """Longest step of a mechanism at rest: until the residual of the linear solve moves it by `lost`.

    Infinite if the motion itself goes further in that time: the terms of the series then limit the step.
    """
    left = 0.0
    for c in range(len(form.eps)):
        share = form.eps[c] if refinements == 0 else REFINED
        left = max(left, share * abs(rounded(ws.lam[0, c])))
    h = np.sqrt(lost / max(left, 1e-300))
    fastest = 0.0
    for i in range(len(v)):
        fastest = max(fastest, abs(rounded(v[i])))
    return h if fastest * h < lost else np.inf


@kernel
def log_reached(log_size, order, log_step):
    """Log of the largest velocity that the terms of a step reach."""
    most = -np.inf
    for k in range(2, order):
        most = max(most, log_size[k] + (k - 1.0) * log_step)
    return most


@noinline
def land(form, ws, loads, t, qc, order, h, tolerance):
    """Project the end of a step, at time t: ws.q, ws.v, with the factor of K there.

    Returns how far the projections moved configuration and velocity, the smallest pivot, and the smallest ratio of
    a pivot to its reference value.
    """
    eval_polynomial(qc, order, h, 0, ws.q, ws.v)
    corrections = WIDE_CORRECTIONS if is_wide(ws.q) else CORRECTIONS
    return project_state(form, ws, loads, t, 0.0, corrections, tolerance, 0.0, ws.q, ws.v)


@kernel
def keep_angle_and_work(loads, known, carried, angle_and_work_series):
    """Coefficients of angles and work in a step; zero above the highest computed one."""
    na = len(carried) - 1
    for i in range(na):
        for k in range(angle_and_work_series.shape[1]):
            angle_and_work_series[i, k] = loads.torsions.turn[i, ANGLE, k] if k <= known else 0.0
    angle_and_work_series[na, 0] = carried[na]
    for k in range(1, angle_and_work_series.shape[1]):
        angle_and_work_series[na, k] = loads.work[k]


@noinline
def begin(form, ws, loads, t, kept):
    """Factorise K at the start of the steps and compute the reference values for their errors.

    Before the first step, also initialise the balance of the run.
    """
    state, carried, balance, counters = kept
    q, v = state[0], state[1]
    if len(ws.inverse) > 0:
        spread_forms(form, ws)
    eval_forms(form, q, ws.e)
    eval_jacobian(form, ws.e, ws.J)
    factorise(form, ws.J, ws.L)
    learn_pivots(form, ws.L, ws.reference_pivots)
    smallest, ratio = eval_pivots(form, ws.L, ws.reference_pivots)
    kinetic, potential = eval_energy(form, q, v)
    energy = kinetic + potential
    stored = 0.0
    if loads is not None:
        eval_load_forms(loads, q)
        stored = eval_load_energy(loads, carried)
        energy += stored - carried[len(carried) - 1]
    ws.step[ENERGY] = energy
    ws.step[STORED] = stored
    ws.step[SMALLEST] = smallest
    ws.step[RATIO] = ratio
    balance[TIME] = t
    # Energy errors are relative to the largest kinetic energy so far. At rest in an equilibrium this is zero, and
    # only the rounding error of the work of gravity remains.
    if counters[STEPS] == 0:
        balance[FIRST_ENERGY] = energy
        balance[SCALE] = kinetic
        fastest = 0.0
        weight = 0.0
        for i in range(len(q)):
            fastest = max(fastest, abs(v[i]))
            weight += abs(form.Q[i])
        balance[FASTEST] = fastest
        balance[WEIGHT] = weight
        balance[LOG_SPEED] = np.inf
        counters[NEXT_SHARE] = CHECKED_AFTER
        counters[REDUNDANT] = count_redundant(ws.reference_pivots)


@kernel
def restore_energy(v, kinetic, gap):
    """Scale the velocity so that the kinetic energy increases by `gap`, which is small compared with it.

    Energy is an invariant of the motion, as the constraints are [HairerLubichWanner2006, section IV.4]. The energy
    errors of the steps would accumulate, and their effect on the configuration would accumulate again. Of all
    velocities with the correct energy, the multiple is the nearest one in the mass metric, and it satisfies the
    constraints.
    """
    share = gap / (2.0 * kinetic)
    for i in range(len(v)):
        v[i] += share * v[i]


@kernel
def choose_order(ws, rules, least, known, order, log_step, local, near, balance):
    """Order and log of the length of a step for a tolerance, starting from the proposal of `make_series`."""
    tolerance, log_speed = balance[LOCAL], balance[LOG_SPEED]
    log_local = np.log(local)
    if local != tolerance:
        eval_step_limits(ws, 2, known, log_local, log_speed)
    if local != tolerance or order > known:
        order, log_step = choose_step(ws, least, known, rules.log_cost)
    order = raise_order(ws, order, known, log_step, log_local)
    if balance[FASTEST] == 0.0:
        # From rest the only velocity is the one that this step reaches.
        reached = np.log(SWIFT) + log_reached(ws.log_size, order, log_step)
        eval_step_limits(ws, 2, known, log_local, reached)
        order, log_step = choose_step(ws, least, known, rules.log_cost)
        order = raise_order(ws, order, known, log_step, log_local)
    # Near a singular configuration rounding dominates, and the truncation error of the velocity is ignored: a
    # shorter step would lead to ever smaller ones.
    if near:
        eval_step_limits(ws, 2, known, log_local, np.inf)
        few, log_jump = choose_step(ws, least, known, rules.log_cost)
        few = raise_order(ws, few, known, log_jump, log_local)
        if few <= NOISY_ORDER:
            order, log_step = few, log_jump
    return order, log_step


@kernel
def check_step_end(form, ws, loads, known, order, h, local, moved, turned, near, kept):
    """Compute energy and correction of the projected end of a step, in ws.step; returns whether it is accepted.

    near: whether the step starts or ends near a singular configuration.
    """
    balance, step = kept.balance, ws.step
    kinetic, potential = eval_energy(form, ws.q, ws.v)
    now = kinetic + potential
    exchanged = kinetic
    terms = balance[WEIGHT]
    if loads is not None:
        na = len(kept.carried) - 1
        strain = land_loads(loads, known, h, ws.q)
        work = kept.carried[na] + eval_series(loads.work, 2 * known, h)
        now += strain - work
        # If little moves, the relevant energy is what springs, dampers and drives exchange.
        exchanged = max(kinetic, abs(strain - step[STORED]), abs(work))
        terms += abs(strain) + abs(work)
        step[STRAIN] = strain
        step[WORK] = work
    off = max(moved, turned * h / order)
    tolerance = balance[LOCAL]
    scale = max(balance[SCALE], exchanged)
    allowed = ENERGY_SLACK * (tolerance + NOISE) * scale + 1e-12 * terms
    most = DRIFT_SLACK * allowed
    if loads is not None and len(loads.drives.equations) > 0:
        # Near a singularity the work of a drive has half of the digits. On another branch the velocity differs.
        most = max(most, DRIFT_DRIVEN * scale)
        allowed = choose(near, max(allowed, STEP_SHARE * DRIFT_DRIVEN * scale), allowed)
    step[OFF] = off
    step[KINETIC] = kinetic
    step[END_ENERGY] = now
    step[EXCHANGED] = exchanged
    step[TERMS] = terms
    # Written so that nan is rejected too.
    drifts = abs(now - balance[FIRST_ENERGY]) <= most
    return off <= SLACK * local + NOISE and abs(now - step[ENERGY]) <= allowed and drifts


@kernel
def find_step_end(form, ws, loads, rules, known, order, log_step, near, most, stop, kept, qc):
    """Choose order and length of a step and project its end.

    Returns FULL (or why there is no step), order and length. ws.q, ws.v, ws.L: the projected end. ws.step: the
    quantities for its acceptance.
    """
    balance, counters = kept.balance, kept.counters
    t, local, least = balance[TIME], balance[LOCAL], least_order(loads)
    attempts, elsewhere, first_order = 0, 0, 0
    first, h = 0.0, 0.0
    chooses = True
    while True:
        if chooses:
            chooses = False
            order, log_step = choose_order(
                ws, rules, least, known, order, log_step, local, near, balance
            )
            # exp of a huge step would overflow; the end of the run is nearer.
            h = min(np.exp(min(log_step, 600.0)), most)
        if not (h >= stop - t or t + h > t):
            # The time does not advance: the motion reverses infinitely fast here.
            return STUCK, order, h
        moved, turned, smallest, ratio = land(form, ws, loads, t + h, qc, order, h, balance[LOCAL])
        counters[FACTORISATIONS] += 2
        # A step that starts at a singular configuration is noisy, so end the step elsewhere, best slightly after
        # it. The step may pass the end of the run, because recorded values come from the series, but not a break,
        # after which the motion of a drive follows another polynomial.
        if (
            ratio < SINGULAR_STEP_END
            and elsewhere < ELSEWHERE
            and (stop == rules.t_end or BEYOND * h < stop - t)
        ):
            if elsewhere == 0:
                first = h
                first_order = order
            elsewhere += 1
            if elsewhere <= 2:
                h *= BEYOND
            elif elsewhere < ELSEWHERE and first_order > LOW_ORDER:
                # A series without noise also passes it from a shorter distance.
                h = 0.5 * first
                elsewhere = ELSEWHERE - 1
            elif elsewhere < ELSEWHERE and ratio < ws.step[RATIO] < SINGULAR_STEP_END:
                # This is the second such step end, nearer than the first. Pass the singularity now; otherwise the
                # steps get ever smaller.
                local = min(10.0 * local, LOOSEST)
                chooses = True
            else:
                h, order, local = BEYOND**2 * first, first_order, balance[LOCAL]
                elsewhere = ELSEWHERE
            continue
        near_singular = near or ratio < NEAR_SINGULAR_RATIO
        if check_step_end(
            form, ws, loads, known, order, h, local, moved, turned, near_singular, kept
        ):
            break
        counters[REJECTED] += 1
        attempts += 1
        h *= 0.5
        most = h
        chooses = attempts % TRIES == 0
        if chooses:
            # The cause is rounding, not truncation: no step is small enough. Relax the tolerance, and count it.
            local *= 10.0
            if local > LOOSEST:
                return STUCK, order, h
    ws.step[MET] = local
    ws.step[END_SMALLEST] = smallest
    ws.step[END_RATIO] = ratio
    return FULL, order, h


@kernel
def correct_energy(rules, ws, balance):
    """Correct the energy error after a step if the energy is an invariant; returns the correction."""
    kinetic, terms, scale = ws.step[KINETIC], ws.step[TERMS], balance[SCALE]
    whole = terms + abs(balance[FIRST_ENERGY])
    gap = balance[FIRST_ENERGY] - rounded(ws.step[END_ENERGY])
    moves = (
        kinetic > MOVES * scale
        and abs(gap) < MOVES * kinetic
        and ENERGY_NOISE * whole < max(balance[LOCAL], FLOOR) * kinetic
    )
    if not (rules.holds and moves and abs(gap) > SAME_ENERGY * whole):
        return 0.0
    restore_energy(ws.v, rounded(kinetic), gap)
    ws.step[END_ENERGY] += gap
    return gap


@kernel
def share_tolerance(rules, kept):
    """Reduce the tolerance of a step in long runs.

    The errors of steps add up, and the effect of their energy errors grows quadratically. The tolerance is set
    after some steps, from the expected number of steps; runs that end within the first FIRST_STEPS keep theirs.
    Near singular configurations rounding dominates, and a smaller tolerance would only be relaxed again.
    """
    balance, counters = kept.balance, kept.counters
    t, steps = balance[TIME], counters[STEPS]
    if steps == CHECKED_AFTER and steps * (rules.t_end - t) <= (FIRST_STEPS - steps) * t:
        counters[NEXT_SHARE] = FIRST_STEPS
        return
    counters[NEXT_SHARE] = steps + rules.share_every
    share = 1.0
    if rules.shares and counters[NEAR_SINGULAR] == 0:
        share = max(1.0, steps * rules.t_end / max(t, 1e-300) / MANY_STEPS)
    balance[LOCAL] = max(rules.tolerance / share, min(rules.tolerance, LONG_FLOOR))


@kernel
def keep_step(form, ws, loads, rules, known, h, stop, kept, angle_and_work_series, seen):
    """Continue the run from the projected end of the step. seen: output, the record of the step."""
    state, carried, balance, counters = kept
    step = ws.step
    tolerance, t = balance[LOCAL], balance[TIME]
    seen[LOSS] = 0.0
    if step[MET] > tolerance or step[OFF] > LOST * max(tolerance, ROUND_OFF):
        counters[RELAXED] += 1
        seen[LOSS] = max(step[MET], step[OFF])
    seen[RESTORED] = correct_energy(rules, ws, balance)
    fastest = balance[FASTEST]
    for i in range(state.shape[1]):
        state[0, i] = ws.q[i]
        state[1, i] = ws.v[i]
        fastest = max(fastest, abs(ws.v[i]))
    balance[FASTEST] = fastest
    balance[SCALE] = max(balance[SCALE], step[EXCHANGED])
    learn_pivots(form, ws.L, ws.reference_pivots)
    step[ENERGY] = step[END_ENERGY]
    step[SMALLEST] = step[END_SMALLEST]
    step[RATIO] = step[END_RATIO]
    if loads is not None:
        step[STORED] = step[STRAIN]
        na = len(carried) - 1
        work = step[WORK]
        keep_angle_and_work(loads, known, carried, angle_and_work_series)
        for i in range(na):
            carried[i] = loads.theta[i]
        carried[na] = work
        if h > stop - t:
            # The step ends after the end of the run: take angles and work at that end, as for all recorded values.
            for i in range(na + 1):
                carried[i] = eval_series(
                    angle_and_work_series[i], angle_and_work_series.shape[1] - 1, stop - t
                )
    after, low = add_time(t, balance[LOW_TIME], h)
    if h >= stop - t:
        after, low = stop, 0.0
    balance[TIME] = after
    balance[LOW_TIME] = low
    seen[PIVOT] = step[SMALLEST]
    seen[MOVED] = step[OFF]
    seen[PIVOT_RATIO] = step[RATIO]
    counters[STEPS] += 1
    if step[RATIO] < SINGULAR_STEP_END:
        counters[NEAR_SINGULAR] += 1
    if counters[STEPS] == counters[NEXT_SHARE]:
        share_tolerance(rules, kept)


@kernel
def is_for_others(form, ws, rules, n, near, counters):
    """Whether a step needs the other precision: double, or double-double near singularities.

    At the first step of a run it is not yet known whether it starts near a singularity. At the boundary each
    precision may leave the step to the other one, so double-double arithmetic always takes the first step of a
    call.
    """
    if is_wide(ws.q):
        return n > 0 and not near
    return rules.widens and (near or (counters[STEPS] == 0 and not is_regular(form, ws.L)))


@noinline
def take_step(form, ws, loads, rules, n, ahead, kept, qc, angle_and_work_series, seen):
    """Take step n of a call. Returns FULL, DONE or why there is no step, its order, and the highest coefficient.

    kept: updated. ahead: number of coefficients that are computed before the first is checked. loads: None if
    there are only constant forces. Outputs: qc, angle_and_work_series: series of the motion, and of angles and
    work; seen: see the columns above.
    """
    state, carried, balance, counters = kept
    for i in range(state.shape[1]):
        qc[0, i] = state[0, i]
        qc[1, i] = state[1, i]
    tolerance, t = balance[LOCAL], balance[TIME]
    refinements = refinements_for(ws.step[SMALLEST], tolerance)
    near = is_near_singular(form, ws.L, ws.reference_pivots, balance[FASTEST] == 0.0)
    if is_for_others(form, ws, rules, n, near, counters):
        return OTHER_DIGITS, 0, 0
    # With eps = 0 the residual is as small as after a refinement.
    refined = refinements
    if (refinements > 0 or adds_up(form, ws.step[SMALLEST], tolerance)) and is_regular(form, ws.L):
        factorise_exactly(form, ws.J, ws.L)
        refined, refinements = 1, 0
    if loads is not None:
        for i in range(len(carried) - 1):
            loads.theta[i] = carried[i]
    if balance[FASTEST] > balance[HEARD]:
        balance[HEARD] = balance[FASTEST]
        balance[LOG_SPEED] = np.log(SWIFT * balance[FASTEST])
    known, order, log_step = make_series(
        form, ws, loads, t, np.log(tolerance), balance[LOG_SPEED], rules.log_cost, refinements, ahead, qc
    )  # fmt: skip
    made = known
    counters[COEFFICIENTS] += known - 1
    if loads is not None:
        known = min(known, work_coefficients(loads, ws.lam, known))
    if known < 3:
        return NOT_FINITE, 0, made
    # A step ends where a drive changes its polynomial.
    stop = min(rules.t_end, rounded(next_break(loads, t)))
    most = stop - t
    if not near:
        most = min(
            most,
            longest_step_at_rest(form, ws, refined, LOST * max(tolerance, ROUND_OFF), state[1]),
        )
    reason, order, h = find_step_end(
        form, ws, loads, rules, known, order, log_step, near, most, stop, kept, qc
    )
    if reason != FULL:
        return reason, 0, made
    keep_step(form, ws, loads, rules, known, h, stop, kept, angle_and_work_series, seen)
    if h >= stop - t and stop == rules.t_end:
        return DONE, order, made
    return FULL, order, made


@kernel
def look_ahead(ws, known):
    """Number of coefficients to compute before the first check, given how many were useful in the last step.

    If coefficients are cheap, two unused ones cost less than two additional checks.
    """
    if len(ws.q) > SMALL:
        return 0
    return known if len(ws.inverse) > 0 else known - 2


@entry
def advance(form, ws, loads, rules, t, kept, pieces, watch):
    """Step from t until the end or until the buffers are full; returns the reason and the number of steps.

    Arguments as for `take_step`. pieces, watch: one row per step.
    """
    starts, orders, coefficients, angle_and_work_series, reference_pivots = pieces
    counters = kept.counters
    begin(form, ws, loads, t, kept)
    starts[0] = t
    ahead = 0
    for n in range(coefficients.shape[0]):
        reason, order, known = take_step(
            form,
            ws,
            loads,
            rules,
            n,
            ahead,
            kept,
            coefficients[n],
            angle_and_work_series[n],
            watch[n],
        )
        if reason != FULL and reason != DONE:
            return reason, n
        ahead = look_ahead(ws, known)
        orders[n] = order
        starts[n + 1] = kept.balance[TIME]
        for k in range(reference_pivots.shape[1]):
            reference_pivots[n, k] = ws.reference_pivots[k]
        if reason == DONE:
            return DONE, n + 1
        # If the run will not end within this buffer, return so that its length can be estimated.
        taken, now = n + 1, starts[n + 1]
        if taken == CHECKED_AFTER == counters[STEPS] and taken * (rules.t_end - now) > (
            coefficients.shape[0] - taken
        ) * (now - starts[0]):
            return FULL, taken
    return FULL, coefficients.shape[0]


@entry
def polish(form, ws, loads, t, state):
    """Project a state at t onto the constraints to full precision; returns the largest residual."""
    project_state(form, ws, loads, t, 0.0, WIDE_CORRECTIONS, 0.0, 0.0, state[0], state[1])
    left = eval_constraints(form, ws.e, ws.phi)
    return rounded(drive_constraints(form, loads, left, ws.phi))


@entry
def expand(form, ws, loads, t, log_cost, state, qc):
    """Coefficients about a state, which is first projected to full precision; returns the highest one."""
    _, _, smallest, _ = project_state(
        form, ws, loads, t, 0.0, WIDE_CORRECTIONS, 0.0, 0.0, state[0], state[1]
    )
    for i in range(len(form.Q)):
        qc[0, i] = state[0, i]
        qc[1, i] = state[1, i]
    refinements = refinements_for(smallest, 0.0)
    known, _, _ = make_series(form, ws, loads, t, 0.0, np.inf, log_cost, refinements, 0, qc)
    return known


@entry
def close_start(form, ws, q, phi0):
    """Right-hand sides with which a configuration satisfies all constraints to the last digit."""
    eval_forms(form, q, ws.e)
    eval_constraints(form, ws.e, ws.phi)
    for k in range(len(phi0)):
        phi0[k] = form.phi0[k] + ws.phi[k]


@entry
def land_at(form, ws, loads, t, qc, order, h, state):
    """Projected end, at time t, of a step of length h; returns how far it was moved, and the smallest pivot."""
    moved, _, smallest, _ = land(form, ws, loads, t, qc, order, h, 0.0)
    for i in range(len(form.Q)):
        state[0, i] = ws.q[i]
        state[1, i] = ws.v[i]
    return moved, smallest
