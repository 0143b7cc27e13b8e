"""Taylor series of the motion, step by step [Pryce2001, NedialkovPryce2008, JorbaZou2005].

With q(t0 + s) = sum q_k s^k and lam = sum lam_k s^k the quadratic equations give one linear system a
coefficient, all with the same matrix:

    [ M   J0^T ] [ q_{k+2}              ]   [ (Q_k - sum_{j<k} J_{k-j}^T lam_j) / ((k+2)(k+1)) ]
    [ J0  0    ] [ lam_k / ((k+2)(k+1)) ] = [ - 1/2 sum_{j=1..k+1} B(q_j, q_{k+2-j})            ]

Loads add their own Q_k, drives the coefficient phi0_{k+2} of their right side: see loads.py.
"""

from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..thresholds import ROUND_OFF, SINGULAR_LANDING
from .coefficients import gather, make_coefficients, spread_forms
from .compiler import block, entry, kernel
from .elements.drive import drive_constraints, next_break, start_drives
from .elements.torsion import ANGLE
from .forms import eval_constraints, eval_energy, eval_form_rates, eval_forms, eval_jacobian
from .lanes import WIDTH, choose, fill_lanes, rows_of_lanes
from .loads import (
    eval_load_energy,
    eval_load_forms,
    land_loads,
    start_loads,
    work_coefficients,
)
from .polynomials import eval_polynomial, eval_series
from .reasons import DONE, FULL, NOT_FINITE, OTHER_DIGITS, STUCK
from .rules import (
    ASKED_AFTER,
    BEYOND,
    CORRECTIONS,
    DRIFT_SLACK,
    ELSEWHERE,
    ENERGY_NOISE,
    ENERGY_SLACK,
    FLOOR,
    HIGHEST_ORDER,
    LOOSEST,
    LOST,
    LOW_ORDER,
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
)
from .solve import (
    adds_up,
    eval_pivots,
    factorise,
    factorise_exactly,
    is_beside,
    is_regular,
    learn_pivots,
    project_state,
    refinements_for,
)
from .stepping import add_time
from .wide import is_wide, rounded

LOG_STILL = np.log(STILL)
# of the orders of terms, and of those before
INVERSE = 1.0 / np.maximum(np.arange(fill_lanes(HIGHEST_ORDER + 1)), 1.0)
INVERSE_BEFORE = np.append(1.0, INVERSE[:-1])
LOG_TWO = np.log(2.0)
ROOT_HALF = np.sqrt(0.5)
# coordinates up to which coefficients are made ahead: of larger mechanisms one too many costs more
SMALL = 8
# of a coefficient: numbers end at 1e308
LARGEST = 1e300

# places in the counters
STEPS, REJECTED, COEFFICIENTS, FACTORISATIONS, LOOSENED = 0, 1, 2, 3, 4
# columns of what is seen at the end of a step: the smallest pivot, how far the landing was moved, the smallest
# pivot against what is usual, what the step may have lost, and the energy that was put back behind it
PIVOT, MOVED, DROP, LOSS, RESTORED = 0, 1, 2, 3, 4
SEEN = 5


class Kept(NamedTuple):
    """What a run keeps between calls of `advance`.

    state: position and velocity, consistent; carried: angles of torsions and the work of loads and drives,
    empty without them; balance: energy at the start of the run, the largest kinetic energy, the largest
    velocity, and what rounding took from the time; counters.
    """

    state: Floats
    carried: Floats
    balance: Floats
    counters: Ints


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
def log_of(x):
    """The logarithm of positive numbers in lanes, to 1e-12: n log 2 + 2 artanh((y - 1) / (y + 1)) of x = 2^n y."""
    y, n = np.frexp(x)
    low = y < ROOT_HALF
    y = choose(low, 2.0 * y, y)
    n = choose(low, n - 1.0, n)
    z = (y - 1.0) / (y + 1.0)
    zz = z * z
    s = zz * (1.0 / 15.0) + 1.0 / 13.0
    s = s * zz + 1.0 / 11.0
    s = s * zz + 1.0 / 9.0
    s = s * zz + 1.0 / 7.0
    s = s * zz + 1.0 / 5.0
    s = s * zz + 1.0 / 3.0
    s = s * zz + 1.0
    return n * LOG_TWO + 2.0 * z * s


@kernel
def eval_reaches(ws, first, last, log_tolerance, log_speed):
    """ws.reach: log of the steps at which terms of order first .. last are as small as the tolerance.

    In place and in velocity: log_speed is that of SWIFT times the largest velocity, infinite if only the place
    counts. Where the motion covers less than a link in a step the velocity asks for more, else the place; a way
    below STILL is none.
    """
    reach = rows_of_lanes(ws.reach)
    sizes = rows_of_lanes(ws.log_size)
    inverse = rows_of_lanes(INVERSE)
    before = rows_of_lanes(INVERSE_BEFORE)
    for t in range(first // WIDTH, last // WIDTH + 1):
        left = log_tolerance - sizes[t]
        swift = (left + log_speed) * before[t]
        still = (left + LOG_STILL) * inverse[t]
        swift = choose(swift > still, swift, still)
        place = left * inverse[t]
        reach[t] = choose(place < swift, place, swift)


@kernel
def eval_log_sizes(ws, first, last):
    """ws.log_size: log of ws.size, the largest entries of coefficients first .. last."""
    for t in range(first // WIDTH, last // WIDTH + 1):
        rows_of_lanes(ws.log_size)[t] = log_of(rows_of_lanes(ws.size)[t] + 1e-300)


@block
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
    first = 2
    last = min(max(ahead, 2), qc.shape[0] - 1)
    known = qc.shape[0] - 1
    while first <= known:
        make_coefficients(form, ws, loads, refinements, first, last, qc)
        eval_log_sizes(ws, first, last)
        eval_reaches(ws, first, last, log_tolerance, log_speed)
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
        first = last + 1
        last = first
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
    order = min(least, known)
    log_step = -np.inf
    for m in range(order, known + 1):
        usable = min(ws.reach[m], ws.reach[m - 1])
        if usable - log_cost[m] > best:
            best = usable - log_cost[m]
            order = m
            log_step = usable
    return order, log_step


@kernel
def raise_order(ws, order, known, log_step, log_tolerance):
    """Further coefficients are used as far as their terms stay below the tolerance: they are there."""
    while order < known and ws.log_size[order + 1] + (order + 1) * log_step <= log_tolerance:
        order += 1
    return order


@kernel
def closed_for(form, ws, refinements, lost, v):
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


@block
def land(form, ws, loads, t, qc, order, h, tolerance):
    """End of a step at t, projected: ws.q, ws.v with the factor of K there.

    Returns how far the projections moved position and velocity, the smallest pivot, and the smallest
    against what is usual.
    """
    eval_polynomial(qc, order, h, ws.q, ws.v)
    corrections = WIDE_CORRECTIONS if is_wide(ws.q) else CORRECTIONS
    return project_state(form, ws, loads, t, 0.0, corrections, tolerance, 0.0, ws.q, ws.v)


@kernel
def keep_sides(loads, known, carried, sides):
    """Coefficients of angles and work in a step, zero beyond those known."""
    na = len(carried) - 1
    for i in range(na):
        for k in range(sides.shape[1]):
            sides[i, k] = loads.torsions.turn[i, ANGLE, k] if k <= known else 0.0
    sides[na, 0] = carried[na]
    for k in range(1, sides.shape[1]):
        sides[na, k] = loads.work[k]


@block
def begin(form, ws, loads, q, v, carried):
    """Factor of K at a state; returns its smallest pivot, also against what is usual, kinetic energy, balance,
    what loads have stored.
    """
    if len(ws.inverse) > 0:
        spread_forms(form, ws)
    eval_forms(form, q, ws.e)
    eval_jacobian(form, ws.e, ws.J)
    factorise(form, ws.J, ws.L)
    learn_pivots(form, ws.L, ws.usual)
    smallest, drop = eval_pivots(form, ws.L, ws.usual)
    kinetic, potential = eval_energy(form, q, v)
    energy = kinetic + potential
    stored = 0.0
    if loads is not None:
        eval_load_forms(loads, q)
        stored = eval_load_energy(loads, carried)
        energy += stored - carried[len(carried) - 1]
    return smallest, drop, kinetic, energy, stored


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


@entry
def advance(form, ws, loads, t, t_end, tolerance, holds, widens, log_cost, kept, pieces, watch):
    """Step from t to t_end or until the buffers are full; returns the reason and how many steps.

    kept: updated; loads: None if there is nothing but constant forces; holds: whether energy is put back behind
    steps (see `keeps_energy`); widens: whether steps that begin beside a singular position are left to wide
    numbers, which leave all others to doubles. Outputs: pieces: start, order, coefficients and sides of each step;
    watch: smallest pivot after it, how far its landing was moved, the smallest pivot against what is usual, what
    the step may have lost if it was loosened, and the energy that was put back.
    """
    state, carried, balance, counters = kept
    starts, orders, coefficients, sides = pieces
    q = state[0]
    v = state[1]
    nq = len(q)
    na = len(carried) - 1
    smallest, from_drop, kinetic, energy, stored = begin(form, ws, loads, q, v, carried)
    # what an error of the energy is measured by: the largest kinetic energy so far; at rest in an
    # equilibrium there is none, but the rounding of the weights' work
    if counters[STEPS] == 0:
        balance[0] = energy
        balance[1] = kinetic
        balance[2] = 0.0
        for i in range(nq):
            balance[2] = max(balance[2], abs(v[i]))
    scale = balance[1]
    fastest = balance[2]
    least = least_order(loads)
    weight = 0.0
    for i in range(nq):
        weight += abs(form.Q[i])
    starts[0] = t
    ahead = 0
    log_tolerance = np.log(tolerance)
    # of the largest velocity when it was asked last
    log_speed = np.inf
    heard = 0.0
    low = balance[3]
    n = 0
    while n < coefficients.shape[0]:
        qc = coefficients[n]
        for i in range(nq):
            qc[0, i] = q[i]
            qc[1, i] = v[i]
        refinements = refinements_for(smallest, tolerance)
        beside = is_beside(form, ws.L, ws.usual, fastest == 0.0)
        # of the first step nobody knows where it begins; at the border both may see themselves on the other side,
        # so wide numbers take a step
        if is_wide(q):
            if n > 0 and not beside:
                return OTHER_DIGITS, n
        elif widens and (beside or (counters[STEPS] == 0 and not is_regular(form, ws.L))):
            return OTHER_DIGITS, n
        # without eps there is as little left as after a refinement
        refined = refinements
        if (refinements > 0 or adds_up(form, smallest, tolerance)) and is_regular(form, ws.L):
            factorise_exactly(form, ws.J, ws.L)
            refined, refinements = 1, 0
        if loads is not None:
            for i in range(na):
                loads.theta[i] = carried[i]
        if fastest > heard:
            heard = fastest
            log_speed = np.log(SWIFT * rounded(fastest))
        known, order, log_step = make_series(
            form, ws, loads, t, log_tolerance, log_speed, log_cost, refinements, ahead, qc
        )
        # about as many pay in the next step; of quick ones two too many cost less than to look twice more
        ahead = 0 if nq > SMALL else known if len(ws.inverse) > 0 else known - 2
        counters[COEFFICIENTS] += known - 1
        if loads is not None:
            known = min(known, work_coefficients(loads, ws.lam, known))
        if known < 3:
            return NOT_FINITE, n
        # a step ends where a motion changes its polynomial
        stop = min(t_end, rounded(next_break(loads, t)))
        local = tolerance
        attempts = 0
        most = stop - t
        if not beside:
            most = min(most, closed_for(form, ws, refined, LOST * max(tolerance, ROUND_OFF), v))
        elsewhere = 0
        first = 0.0
        first_order = 0
        chooses = True
        while True:
            if chooses:
                chooses = False
                log_local = log_tolerance
                if local != tolerance:
                    log_local = np.log(local)
                    eval_reaches(ws, 2, known, log_local, log_speed)
                if local != tolerance or order > known:
                    order, log_step = choose_step(ws, least, known, log_cost)
                order = raise_order(ws, order, known, log_step, log_local)
                if fastest == 0.0:
                    # from rest: there is no velocity but what this step reaches
                    reached = np.log(SWIFT) + log_reached(ws.log_size, order, log_step)
                    eval_reaches(ws, 2, known, log_local, reached)
                    order, log_step = choose_step(ws, least, known, log_cost)
                    order = raise_order(ws, order, known, log_step, log_local)
                # what a step leaves out of the velocity does not count where rounding rules, beside a singular
                # position: a shorter step would crawl into it
                if beside:
                    eval_reaches(ws, 2, known, log_local, np.inf)
                    few, log_jump = choose_step(ws, least, known, log_cost)
                    few = raise_order(ws, few, known, log_jump, log_local)
                    if few <= NOISY_ORDER:
                        order, log_step = few, log_jump
                # exp of a huge step would overflow; the end of the run is nearer
                h = min(np.exp(min(log_step, 600.0)), most)
            last = h >= stop - t
            if not (last or t + h > t):
                # time stands still: the motion turns infinitely fast here
                return STUCK, n
            moved, turned, smallest, drop = land(form, ws, loads, t + h, qc, order, h, tolerance)
            counters[FACTORISATIONS] += 2
            # a step that starts at a singular position is noisy: land elsewhere, best a little behind it
            # (beyond the end of the run too: what is recorded there comes from the series)
            # and not beyond a break, where the motion of a drive goes on otherwise
            if (
                drop < SINGULAR_LANDING
                and elsewhere < ELSEWHERE
                and (stop == t_end or BEYOND * h < stop - t)
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
                elif elsewhere < ELSEWHERE and drop < from_drop < SINGULAR_LANDING:
                    # the second such landing, nearer than the first: over it now, or steps crawl into it
                    local = min(10.0 * local, LOOSEST)
                    chooses = True
                else:
                    h, order, local = BEYOND**2 * first, first_order, tolerance
                    elsewhere = ELSEWHERE
                continue
            kinetic, potential = eval_energy(form, ws.q, ws.v)
            now = kinetic + potential
            exchanged = kinetic
            held = weight
            if loads is not None:
                strain = land_loads(loads, known, h, ws.q)
                work = carried[na] + eval_series(loads.work, 2 * known, h)
                now += strain - work
                # where little moves, what springs, dampers and drives exchange is what counts
                exchanged = max(kinetic, abs(strain - stored), abs(work))
                held += abs(strain) + abs(work)
            off = max(moved, turned * h / order)
            allowed = ENERGY_SLACK * (tolerance + NOISE) * max(scale, exchanged) + 1e-12 * held
            # written so that nan is refused too
            kept = abs(now - energy) <= allowed and abs(now - balance[0]) <= DRIFT_SLACK * allowed
            if off <= SLACK * local + NOISE and kept:
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
                    return STUCK, n
        watch[n, LOSS] = 0.0
        if local > tolerance or off > LOST * max(tolerance, ROUND_OFF):
            counters[LOOSENED] += 1
            watch[n, LOSS] = max(local, off)
        gap = balance[0] - rounded(now)
        watch[n, RESTORED] = 0.0
        moves = (
            kinetic > MOVES * scale
            and abs(gap) < MOVES * kinetic
            and ENERGY_NOISE * (held + abs(balance[0])) < max(tolerance, FLOOR) * kinetic
        )
        if holds and moves and abs(gap) > SAME_ENERGY * (held + abs(balance[0])):
            restore_energy(ws.v, rounded(kinetic), gap)
            watch[n, RESTORED] = gap
            now += gap
        for i in range(nq):
            q[i] = ws.q[i]
            v[i] = ws.v[i]
            fastest = max(fastest, abs(v[i]))
        balance[2] = fastest
        energy = now
        learn_pivots(form, ws.L, ws.usual)
        scale = max(scale, exchanged)
        balance[1] = scale
        if loads is not None:
            keep_sides(loads, known, carried, sides[n])
            stored = strain
            for i in range(na):
                carried[i] = loads.theta[i]
            carried[na] = work
            if last and h > stop - t:
                # landed beyond the end: angles and work are those at the end, like all that is recorded
                for i in range(na + 1):
                    carried[i] = eval_series(sides[n, i], sides.shape[2] - 1, stop - t)
        t, low = add_time(t, low, h)
        if last:
            t, low = stop, 0.0
        orders[n] = order
        starts[n + 1] = t
        watch[n, PIVOT] = smallest
        watch[n, MOVED] = off
        watch[n, DROP] = from_drop = drop
        counters[STEPS] += 1
        balance[3] = low
        n += 1
        if last and stop == t_end:
            return DONE, n
        # a run that will not end within this memory is asked how long it is
        if n == ASKED_AFTER == counters[STEPS] and n * (t_end - t) > (coefficients.shape[0] - n) * (
            t - starts[0]
        ):
            return FULL, n
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
