"""Taylor series of the motion, step by step [Pryce2001, NedialkovPryce2008, JorbaZou2005].

With q(t0 + s) = sum q_k s^k and lam = sum lam_k s^k the quadratic equations give one linear system a
coefficient, all with the same matrix:

    [ M   J0^T ] [ q_{k+2}              ]   [ (Q_k - sum_{j<k} J_{k-j}^T lam_j) / ((k+2)(k+1)) ]
    [ J0  0    ] [ lam_k / ((k+2)(k+1)) ] = [ - 1/2 sum_{j=1..k+1} B(q_j, q_{k+2-j})            ]

Loads add their own Q_k, drives the coefficient phi0_{k+2} of their right side: see loads.py.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..thresholds import DRIFT_DRIVEN, ROUND_OFF, SINGULAR_LANDING
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
    ASKED_AFTER,
    BESIDE,
    BEYOND,
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
# of the orders of terms, and of those before
INVERSE = 1.0 / np.maximum(np.arange(fill_lanes(HIGHEST_ORDER + 1)), 1.0)
INVERSE_BEFORE = np.append(1.0, INVERSE[:-1])
# coordinates up to which coefficients are made ahead: of larger mechanisms one too many costs more
SMALL = 8
# of what may be missing of the work of drives in a run: in a step near a singular configuration
STEP_SHARE = 0.1
# of a coefficient: numbers end at 1e308
LARGEST = 1e300

# places in the counters; the last two: steps after which the tolerance is shared next, landings near a singular
# configuration
STEPS, REJECTED, COEFFICIENTS, FACTORISATIONS, RELAXED, NEXT_SHARE, NEAR_SINGULAR = range(7)
COUNTERS = 7
# places in the balance of a run: energy at its start, largest kinetic energy and velocity so far, what rounding
# took from the time, the time, the tolerance of a step, the sum of all constant forces, the largest velocity for
# which the log was taken, and that log
(FIRST_ENERGY, SCALE, FASTEST, LOW_TIME, TIME, LOCAL, WEIGHT, HEARD, LOG_SPEED) = range(9)
BALANCE = 9
# places in ws.step: energy and strain energy where the step begins, the smallest pivot and the smallest pivot
# ratio there; and of its landing: smallest pivot, pivot ratio, correction, kinetic energy, energy, energy
# exchanged, all that energies are differences of, strain energy, work, and the tolerance that it met
(ENERGY, STORED, SMALLEST, RATIO) = range(4)
(END_SMALLEST, END_RATIO, OFF, KINETIC, END_ENERGY, EXCHANGED, HELD, STRAIN, WORK, MET) = range(
    4, 14
)
# columns of what is seen at the end of a step: the smallest pivot, how far the landing was moved, the smallest
# pivot against what is usual, what the step may have lost, and the energy that was put back after it
PIVOT, MOVED, PIVOT_RATIO, LOSS, RESTORED = 0, 1, 2, 3, 4
SEEN = 5


class StepRules(NamedTuple):
    """What all steps of a run follow.

    t_end: end of the run [s]; tolerance: of a step, before it is shared among many; shares: whether a long run
    shares it; share_every: steps after which that is decided again; holds: whether energy is corrected after
    steps (see `keeps_energy`); widens: whether steps that begin near a singular configuration are left to
    double-double numbers, which leave all others to doubles; log_cost: of each order.
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
    """Rules for the steps of a run; equal ones are the same object, whose words are read once (arguments.py)."""
    return StepRules(t_end, tolerance, shares, share_every, holds, widens, log_cost())


class StepperState(NamedTuple):
    """What a run keeps from step to step.

    state: position and velocity, consistent; carried: angles of torsions and the work of loads and drives,
    empty without them; balance, counters: see the places above.
    """

    state: Floats
    carried: Floats
    balance: Floats
    counters: Ints


def make_state(coordinates: int, carried: int, tolerance: float) -> StepperState:
    """The state of a run before its first step, at rest at the origin of the coordinates."""
    balance = np.zeros(BALANCE)
    balance[LOCAL] = tolerance
    state = np.zeros((2, coordinates))
    return StepperState(state, np.zeros(carried), balance, np.zeros(COUNTERS, np.int64))


@kernel
def least_order(loads):
    """The lowest order that a step may have.

    A polynomial of a drive that starts with a high power has vanishing coefficients before it; they say
    nothing about what is left out.
    """
    if loads is None or len(loads.drives.equations) == 0:
        return 3
    return max(loads.drives.polynomials.shape[1] + 1, 3)


@kernel
def eval_step_limits(ws, first, last, log_tolerance, log_speed):
    """ws.reach: log of the steps at which terms of order first .. last are as small as the tolerance.

    In place and in velocity: log_speed is that of SWIFT times the largest velocity, infinite if only the place
    counts. Where the motion covers less than a link in a step the velocity asks for more, else the place; a way
    below STILL is none.
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
    """ws.log_size: log of ws.size, the largest entries of coefficients first .. last."""
    width = width_of(ws.size)
    for t in range(first // width, last // width + 1):
        rows_of_lanes(ws.log_size)[t] = np.log(rows_of_lanes(ws.size)[t] + 1e-300)


@noinline
def make_series(form, ws, loads, t, log_tolerance, log_speed, log_cost, refinements, ahead, qc):
    """Coefficients about t from q_0, q_1 on, as many as pay; returns the highest one, order and log of the step.

    These are as `choose_step` says, if the order is not above the highest. ahead: so many coefficients are made
    before the first is looked at; what they say is asked as if they had come one by one. ws.size, ws.log_size,
    ws.reach: the largest entry of each coefficient, its log, and how far it lets a step go.
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
            # velocities and accelerations are up to a thousand times larger
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
    # no step has a lower order: the best of those from the least on is to be asked for
    return known, order if order >= least else known + 1, log_step


@kernel
def choose_step(ws, least, known, log_cost):
    """The order (from `least` to `known`) and the log of the step, given the reaches of the coefficients.

    A series of order p allows the step h_p at which its last two terms are as small as the
    tolerance. The order that gives the largest h_p / cost(p) sets the step. Close to a singular
    position rounding makes high coefficients look large; a low order then wins and still jumps far.
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
    """Further coefficients are used as far as their terms stay below the tolerance: they are there."""
    for m in range(order + 1, known + 1):
        if not ws.log_size[m] + m * log_step <= log_tolerance:
            break
        order = m
    return order


@kernel
def longest_step_at_rest(form, ws, refinements, lost, v):
    """How long a step may be where nothing moves: until what its solve leaves open moves it by `lost`.

    Infinite where the motion itself goes further until then: its terms set the limit.
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
    """End of a step at t, projected: ws.q, ws.v with the factor of K there.

    Returns how far the projections moved position and velocity, the smallest pivot, and the smallest
    against what is usual.
    """
    eval_polynomial(qc, order, h, ws.q, ws.v)
    corrections = WIDE_CORRECTIONS if is_wide(ws.q) else CORRECTIONS
    return project_state(form, ws, loads, t, 0.0, corrections, tolerance, 0.0, ws.q, ws.v)


@kernel
def keep_angle_and_work(loads, known, carried, angle_and_work_series):
    """Coefficients of angles and work in a step, zero beyond those known."""
    na = len(carried) - 1
    for i in range(na):
        for k in range(angle_and_work_series.shape[1]):
            angle_and_work_series[i, k] = loads.torsions.turn[i, ANGLE, k] if k <= known else 0.0
    angle_and_work_series[na, 0] = carried[na]
    for k in range(1, angle_and_work_series.shape[1]):
        angle_and_work_series[na, k] = loads.work[k]


@noinline
def begin(form, ws, loads, rules, t, kept):
    """Factor of K where steps begin, and what they are measured by; at the first one the balance of the run."""
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
    # what an error of the energy is measured by: the largest kinetic energy so far; at rest in an
    # equilibrium there is none, but the rounding of the work of gravity
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
        counters[NEXT_SHARE] = ASKED_AFTER


@kernel
def restore_energy(v, kinetic, gap):
    """Change the velocity so that the kinetic energy grows by a gap, small against it.

    Energy is an invariant of the motion as the constraints are [HairerLubichWanner2006, section IV.4]. What steps
    gain or lose of it would add up, and what that does to the place add up again. Of all velocities with the right
    energy the multiple is the nearest, measured by the masses, and it stays on the constraints.
    """
    share = gap / (2.0 * kinetic)
    for i in range(len(v)):
        v[i] += share * v[i]


@kernel
def choose_order(ws, rules, least, known, order, log_step, local, near, balance):
    """Order and log of the length of a step for a tolerance, from those that `make_series` proposes for its
    own.
    """
    tolerance, log_speed = balance[LOCAL], balance[LOG_SPEED]
    log_local = np.log(local)
    if local != tolerance:
        eval_step_limits(ws, 2, known, log_local, log_speed)
    if local != tolerance or order > known:
        order, log_step = choose_step(ws, least, known, rules.log_cost)
    order = raise_order(ws, order, known, log_step, log_local)
    if balance[FASTEST] == 0.0:
        # from rest: there is no velocity but what this step reaches
        reached = np.log(SWIFT) + log_reached(ws.log_size, order, log_step)
        eval_step_limits(ws, 2, known, log_local, reached)
        order, log_step = choose_step(ws, least, known, rules.log_cost)
        order = raise_order(ws, order, known, log_step, log_local)
    # what a step leaves out of the velocity does not count where rounding rules, near a singular configuration: a
    # shorter step would lead to ever smaller ones
    if near:
        eval_step_limits(ws, 2, known, log_local, np.inf)
        few, log_jump = choose_step(ws, least, known, rules.log_cost)
        few = raise_order(ws, few, known, log_jump, log_local)
        if few <= NOISY_ORDER:
            order, log_step = few, log_jump
    return order, log_step


@kernel
def weigh_landing(form, ws, loads, known, order, h, local, moved, turned, near, kept):
    """Energy and correction of a landing, in ws.step; returns whether it may be kept.

    near: whether the step begins or ends near a singular configuration.
    """
    balance, step = kept.balance, ws.step
    kinetic, potential = eval_energy(form, ws.q, ws.v)
    now = kinetic + potential
    exchanged = kinetic
    held = balance[WEIGHT]
    if loads is not None:
        na = len(kept.carried) - 1
        strain = land_loads(loads, known, h, ws.q)
        work = kept.carried[na] + eval_series(loads.work, 2 * known, h)
        now += strain - work
        # where little moves, what springs, dampers and drives exchange is what counts
        exchanged = max(kinetic, abs(strain - step[STORED]), abs(work))
        held += abs(strain) + abs(work)
        step[STRAIN] = strain
        step[WORK] = work
    off = max(moved, turned * h / order)
    tolerance = balance[LOCAL]
    scale = max(balance[SCALE], exchanged)
    allowed = ENERGY_SLACK * (tolerance + NOISE) * scale + 1e-12 * held
    most = DRIFT_SLACK * allowed
    if loads is not None and len(loads.drives.equations) > 0:
        # the work of a drive has half of the digits there; another branch has another velocity
        most = max(most, DRIFT_DRIVEN * scale)
        allowed = choose(near, max(allowed, STEP_SHARE * DRIFT_DRIVEN * scale), allowed)
    step[OFF] = off
    step[KINETIC] = kinetic
    step[END_ENERGY] = now
    step[EXCHANGED] = exchanged
    step[HELD] = held
    # written so that nan is rejected too
    drifts = abs(now - balance[FIRST_ENERGY]) <= most
    return off <= SLACK * local + NOISE and abs(now - step[ENERGY]) <= allowed and drifts


@kernel
def find_landing(form, ws, loads, rules, known, order, log_step, near, most, stop, kept, qc):
    """Choose order and length of a step and land; returns FULL (or why there is no step), order and length.

    ws.q, ws.v, ws.L: the projected landing; ws.step: what it is judged by.
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
            # exp of a huge step would overflow; the end of the run is nearer
            h = min(np.exp(min(log_step, 600.0)), most)
        if not (h >= stop - t or t + h > t):
            # time stands still: the motion turns infinitely fast here
            return STUCK, order, h
        moved, turned, smallest, ratio = land(form, ws, loads, t + h, qc, order, h, balance[LOCAL])
        counters[FACTORISATIONS] += 2
        # a step that starts at a singular configuration is noisy: land elsewhere, best a little after it
        # (beyond the end of the run too: what is recorded there comes from the series)
        # and not beyond a break, where the motion of a drive goes on otherwise
        if (
            ratio < SINGULAR_LANDING
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
                # a series without noise leads over it from nearer too
                h = 0.5 * first
                elsewhere = ELSEWHERE - 1
            elif elsewhere < ELSEWHERE and ratio < ws.step[RATIO] < SINGULAR_LANDING:
                # the second such landing, nearer than the first: over it now, or steps crawl into it
                local = min(10.0 * local, LOOSEST)
                chooses = True
            else:
                h, order, local = BEYOND**2 * first, first_order, balance[LOCAL]
                elsewhere = ELSEWHERE
            continue
        beside = near or ratio < BESIDE
        if weigh_landing(form, ws, loads, known, order, h, local, moved, turned, beside, kept):
            break
        counters[REJECTED] += 1
        attempts += 1
        h *= 0.5
        most = h
        chooses = attempts % TRIES == 0
        if chooses:
            # rounding, not truncation: no step is small enough; go on a little looser, counted
            local *= 10.0
            if local > LOOSEST:
                return STUCK, order, h
    ws.step[MET] = local
    ws.step[END_SMALLEST] = smallest
    ws.step[END_RATIO] = ratio
    return FULL, order, h


@kernel
def correct_energy(rules, ws, balance):
    """Put back after a step what it gained or lost of the energy, where that is an invariant; returns it."""
    kinetic, held, scale = ws.step[KINETIC], ws.step[HELD], balance[SCALE]
    whole = held + abs(balance[FIRST_ENERGY])
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
    """What steps lose adds up, and what they gain in energy adds up twice: in a long run each may lose less.

    Decided after some steps, by how many there will be; not for runs that end within the first FIRST_STEPS.
    Near singular configurations rounding rules, and the tolerance would only be relaxed again.
    """
    balance, counters = kept.balance, kept.counters
    t, steps = balance[TIME], counters[STEPS]
    if steps == ASKED_AFTER and steps * (rules.t_end - t) <= (FIRST_STEPS - steps) * t:
        counters[NEXT_SHARE] = FIRST_STEPS
        return
    counters[NEXT_SHARE] = steps + rules.share_every
    share = 1.0
    if rules.shares and counters[NEAR_SINGULAR] == 0:
        share = max(1.0, steps * rules.t_end / max(t, 1e-300) / MANY_STEPS)
    balance[LOCAL] = max(rules.tolerance / share, min(rules.tolerance, LONG_FLOOR))


@kernel
def keep_step(form, ws, loads, rules, known, h, stop, kept, angle_and_work_series, seen):
    """The landing is where the run goes on; seen: what is seen there."""
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
            # landed beyond the end: angles and work are those at the end, like all that is recorded
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
    if step[RATIO] < SINGULAR_LANDING:
        counters[NEAR_SINGULAR] += 1
    if counters[STEPS] == counters[NEXT_SHARE]:
        share_tolerance(rules, kept)


@kernel
def is_for_others(form, ws, rules, n, near, counters):
    """Whether a step is for numbers of the other kind: doubles, or double-double ones near singularities.

    Where the first step of a run begins is not known yet; at the border both may see themselves on the other
    side, so double-double numbers take a step.
    """
    if is_wide(ws.q):
        return n > 0 and not near
    return rules.widens and (near or (counters[STEPS] == 0 and not is_regular(form, ws.L)))


@noinline
def take_step(form, ws, loads, rules, n, ahead, kept, qc, angle_and_work_series, seen):
    """The n-th step of a call; returns FULL, DONE, or why there is none, its order, and the highest coefficient.

    kept: updated; ahead: coefficients that are made before the first is looked at; loads: None if there is nothing
    but constant forces. Outputs: qc, sides: series of the motion, of angles and work; seen: see the columns above.
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
    # without eps there is as little left as after a refinement
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
    # a step ends where a motion changes its polynomial
    stop = min(rules.t_end, rounded(next_break(loads, t)))
    most = stop - t
    if not near:
        most = min(
            most,
            longest_step_at_rest(form, ws, refined, LOST * max(tolerance, ROUND_OFF), state[1]),
        )
    reason, order, h = find_landing(
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
    """Coefficients that are made before the first is looked at, given how many paid in the step before.

    Of quick ones two too many cost less than to look twice more.
    """
    if len(ws.q) > SMALL:
        return 0
    return known if len(ws.inverse) > 0 else known - 2


@entry
def advance(form, ws, loads, rules, t, kept, pieces, watch):
    """Step from t until the end or until the buffers are full; returns the reason and how many steps.

    Arguments as for `take_step`; pieces, watch: a row for each step.
    """
    starts, orders, coefficients, angle_and_work_series, reference_pivots = pieces
    counters = kept.counters
    begin(form, ws, loads, rules, t, kept)
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
        # a run that will not end within this memory is asked how long it is
        taken, now = n + 1, starts[n + 1]
        if taken == ASKED_AFTER == counters[STEPS] and taken * (rules.t_end - now) > (
            coefficients.shape[0] - taken
        ) * (now - starts[0]):
            return FULL, taken
    return FULL, coefficients.shape[0]


@entry
def polish(form, ws, loads, t, state):
    """Position and velocity at t back onto the constraints with all digits; returns what is left of these."""
    project_state(form, ws, loads, t, 0.0, WIDE_CORRECTIONS, 0.0, 0.0, state[0], state[1])
    left = eval_constraints(form, ws.e, ws.phi)
    return rounded(drive_constraints(form, loads, left, ws.phi))


@entry
def expand(form, ws, loads, t, log_cost, state, qc):
    """Coefficients about a state that is polished first; returns the highest one."""
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
    """Right sides with which all constraints are met at a position to the last digit."""
    eval_forms(form, q, ws.e)
    eval_constraints(form, ws.e, ws.phi)
    for k in range(len(phi0)):
        phi0[k] = form.phi0[k] + ws.phi[k]


@entry
def land_at(form, ws, loads, t, qc, order, h, state):
    """The projected end at t of a step of length h; returns how far it was moved, and the smallest pivot."""
    moved, _, smallest, _ = land(form, ws, loads, t, qc, order, h, 0.0)
    for i in range(len(form.Q)):
        state[0, i] = ws.q[i]
        state[1, i] = ws.v[i]
    return moved, smallest
