"""Radau IIA with three or five stages on the motion over the constraints [HairerWanner1996, sec. IV.8].

A stage is taken back onto the constraints of position and velocity before it is used: with (q, v)~ the
projected state of stage i,

    q' = v,     v' = a(t, q~, v~),     M a + J(q~)^T lam = Q(t, q~, v~),     J a = phi0'' - J' v~.

So Phi = phi0 and J v = phi0' hold at every stage and every end of a step, as Gear, Gupta and Leimkuhler
stabilise them [GearLeimkuhlerGupta1985]; here a projection does what their multipliers do, with the
solve that all methods share: equations may depend on each other.

Newton's method on the velocities of all stages together: in the freedoms, if they are few, see radau_freedoms.py,
else in blocks of all coordinates, see radau_newton.py.
"""

from typing import NamedTuple

import numpy as np

from ..thresholds import SINGULAR_LANDING
from .compiler import block, entry, kernel
from .elements.drive import eval_drive_power, eval_drives, next_break, subtract_drives
from .forms import eval_curvature, eval_energy, eval_form_rates, eval_forms, eval_jacobian
from .loads import eval_load_power, eval_loads
from .radau_freedoms import eval_freedoms, factorise_freedoms, solve_freedoms, sum_stages
from .radau_newton import (
    eval_tangents,
    factorise_stages,
    factorise_tangent,
    solve_stages,
    solve_tangent,
)
from .reasons import DONE, FULL, NOT_FINITE, SWITCHING, TOO_SHORT
from .solve import (
    eval_pivots,
    factorise,
    learn_pivots,
    project_position,
    project_state,
    project_velocity,
    refinements_for,
    solve_motion,
)
from .stepping import add_time, largest
from .switches import ROUNDING as FORCE_ROUNDING
from .switches import eval_share, find_jump, look_between, weigh_difference

# places in the counters
STEPS, REJECTED, ITERATIONS, FACTORISATIONS, LOOSENED, SWITCHES = 0, 1, 2, 3, 4, 5
# places in what is kept from step to step: the next step, the last one and its error, the step that
# the factors were made for, the rate of the last iteration; the largest velocity and kinetic
# energy so far; what rounding took from the time; when a force of a user switched last, how often at once,
# and how many steps were cut short by that without an end
NEXT, LAST, ERROR, FACTORED, RATE, SPEED, KINETIC = 0, 1, 2, 3, 4, 5, 6
LOW, SWITCHED, AT_ONCE, CHATTER = 7, 8, 9, 10
CONTROLS = 11

MOST_ITERATIONS = 10
# part of the tolerance that an iteration may leave, and the least that rounding allows
ITERATION = 0.02
LEAST = 1e-13
# corrections (of a link) that are rounding, and those that may stay where rounding lets no smaller ones
FINE = 1e-15
LOOSE = 1e-9
# the factors serve on while the iteration converges faster than this
GOOD_RATE = 0.02
# a step grows and shrinks by at most this; one that would grow by less stays, and so do the factors
MOST_GROWTH = 4.0
LEAST_GROWTH = 1.2
MOST_SHRINK = 0.2
SAFETY = 0.9
# rounding of velocities, of what acceleration and weight make of them in a step
ROUNDING = 1e-15
# the projections may move the end of a step by so many local tolerances: another branch is further
SLACK = 10.0
# a step is made again if the estimate of its error is so many times what is aimed at: the estimate wavers, and
# the error itself is far smaller
REFUSED = 2.0
# kinetic energy may differ from the work of the forces by so many tolerances of what is exchanged; NOISE
# is what rounding may do to a long chain. Ten times what series allows: the work is a sum over three stages,
# not the integral of the motion's own polynomials
ENERGY_SLACK = 1e4
NOISE = 1e-9
# steps below this part of the run would not end in any sensible time
SHORTEST = 1e-12
# Newton's steps back onto the constraints
MOST_CORRECTIONS = 4
# beside a singular position rounding may forbid any step: after so many tries all tolerances are ten times
# looser, up to the loosest
TRIES = 4
OTHERS = np.array([1.0, 0.7, 1.4, 0.4])
LOOSEST = 1e-5

# forces of users are asked at so many shares of a step, and more in a long one
LEAST_SHARES = 8
MOST_SHARES = 4096
# times that are the same, of the time so far and of that in which the motion covers its own length
SAME_TIME = 1e-14
# a jump so close behind a step, of its length, is at its end
JUST_BEHIND = 1e-9
# tries to end a step at a jump
MOST_LOCATED = 12
# jumps that follow each other within this part of the run, and so often, have no end
SOON = 1e-9
MOST_AT_ONCE = 30
# steps in a row that are refused first though no jump ends them: a force slides along its switch
MOST_CHATTER = 200.0

# how an iteration ended
FAILED, CONVERGED, STALLED = 0, 1, 2


class Goal(NamedTuple):
    """Where a run goes: its end [s], the error of third order that a step may have, the tolerance of the
    run, the longest step [s]; between [s]: how often forces of users are asked at least; weight: the largest
    acceleration that weights would give.
    """

    t_end: float
    local: float
    tolerance: float
    longest: float
    between: float
    weight: float


class Step(NamedTuple):
    """A step that is tried: from t, so long; tau: by what velocities count; stale: whether the factor is to
    be made anew, at the first guess; tolerance: what the iteration may leave; weight: as in the goal.
    """

    t: float
    h: float
    tau: float
    stale: bool
    tolerance: float
    weight: float


@kernel
def accelerate_projected(form, ws, loads, t, refinements, q, v, a, lam):
    """The equations of motion at a state on the constraints, with the factor at hand; ws.Q: all forces."""
    eval_loads(form, loads, t, q, v, ws.Q)
    eval_form_rates(form, v, ws.de)
    eval_curvature(form, ws.de, ws.phi)
    subtract_drives(loads, 2, ws.phi)
    for c in range(len(ws.phi)):
        ws.b[form.pos_c[c]] = -ws.phi[c]
    solve_motion(form, ws, refinements, a, lam)


@block
def project_and_accelerate(form, ws, loads, t, tolerance, q, v, a, lam):
    """Take a state back onto the constraints and solve the equations of motion there.

    tolerance: what solves may leave. Returns how far position and velocity
    moved, and the smallest pivot against what is usual. ws.L: factor of K there.
    """
    moved, turned, smallest, drop = project_state(
        form, ws, loads, t, 1.0, MOST_CORRECTIONS, tolerance, 0.0, q, v
    )
    refinements = refinements_for(smallest, tolerance)
    accelerate_projected(form, ws, loads, t, refinements, q, v, a, lam)
    return moved, turned, drop


@block
def follow_and_accelerate(form, ws, st, loads, k, t, tolerance):
    """The same for stage k, which moved a little since its last projection, with the factor made then.

    It starts anew from the stage before its projection: going on from the last one would add up what the normals
    of several places do along the constraints.

    Returns the smallest pivot against what is usual.
    """
    q, v, L = st.q[k], st.v[k], st.L[k]
    for n in range(len(L)):
        ws.L[n] = L[n]
    eval_drives(loads, t)
    eval_forms(form, q, ws.e)
    project_position(form, ws, loads, MOST_CORRECTIONS, q)
    eval_jacobian(form, ws.e, ws.J)
    factorise(form, ws.J, ws.L)
    smallest, drop = eval_pivots(form, ws.L, ws.usual)
    refinements = refinements_for(smallest, tolerance)
    project_velocity(form, ws, loads, refinements, v)
    accelerate_projected(form, ws, loads, t, refinements, q, v, st.a[k], st.lam[k])
    return drop


@block
def predict(rule, first, ratio, sums, z):
    """Increments of a step `ratio` times as long as that of the polynomial given; it starts where that
    one ends (first = 1) or where it starts (first = 0). sums: scratch memory.
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
            # the polynomial that is 1 at stage m, 0 at the others and at the start
            x = s / nodes[m]
            for n in range(stages):
                if n != m:
                    x *= (s - nodes[n]) / (nodes[m] - nodes[n])
            for i in range(z.shape[1]):
                z[k, i] += x * sums[m, i]


@kernel
def start_stages(st, h, q0, v0):
    """States of the stages before their projection, from the increments of velocities."""
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
    """Power of all forces at a stage just evaluated, and of those without potential."""
    driven = eval_drive_power(loads, st.lam[k])
    st.power[k] = driven
    for i in range(len(ws.Q)):
        st.power[k] += ws.Q[i] * st.v[k, i]
    if loads is not None:
        st.brought[k] = driven + eval_load_power(loads)


@kernel
def keep_sides(st, loads, h, length, sides, after):
    """Angles and work in a step, as polynomials of the time since its start, and both at its end.

    The work is the integral of the polynomial through the stages' powers. What lies between the stages is less
    exact than they are: a stiff damper or spring makes large forces of that, which do work on a drive.
    """
    if loads is None:
        return
    na = len(st.theta)
    stages = len(st.brought)
    for i in range(na):
        sides[i, 0] = st.theta[i]
        sides[i, 1] = (loads.theta[i] - st.theta[i]) / length
        after[i, 0] = loads.theta[i]
    power = h
    after[na, 0] = sides[na, 0]
    share = 1.0
    for j in range(stages):
        share *= length / h
        term = 0.0
        for k in range(stages):
            term += st.rule.work[j, k] * st.brought[k]
        power /= h
        sides[na, j + 1] = term * power
        after[na, 0] += h * term * share


@block
def eval_stages(form, ws, st, loads, t, h, count, first, tolerance):
    """Project so many stages and solve the equations of motion there; returns the smallest pivot against what is
    usual. first: nothing is known of their projections.
    """
    nearest = 1.0
    for k in range(count):
        q, v = st.q[k], st.v[k]
        at = t + st.rule.nodes[k] * h
        if first:
            _, _, drop = project_and_accelerate(
                form, ws, loads, at, tolerance, q, v, st.a[k], st.lam[k]
            )
        else:
            drop = follow_and_accelerate(form, ws, st, loads, k, at, tolerance)
        for n in range(len(ws.L)):
            st.L[k, n] = ws.L[n]
        nearest = min(nearest, drop)
        keep_power(ws, st, loads, k)
    return nearest


@block
def factorise_newton(form, tan, ws, st, loads, t, h):
    """Newton's matrix at the stages as they are: in the freedoms, or in blocks of the coordinates."""
    for k in range(len(st.q)):
        at = t + st.rule.nodes[k] * h
        eval_tangents(form, tan, ws, st, loads, k, at, h, st.q[k], st.v[k], st.lam[k])
    if len(st.blocks) == 0:
        eval_freedoms(form, tan, st)
        factorise_freedoms(st, h)
    else:
        factorise_stages(form, tan, st, h)


@block
def iterate(form, tan, ws, st, loads, step, start, rate, counters):
    """Newton on the stages from st.z on; returns how it ended, its rate, and the smallest pivot against
    what is usual. start: the state at the start of the step; rate: of the last iteration.
    """
    t, h, tau, stale, wanted, weight = step
    q0, v0 = start[0], start[1]
    nq = len(q0)
    nearest = 1.0
    before = 0.0
    known = max(rate, 1e-16) ** 0.8
    for n in range(MOST_ITERATIONS):
        start_stages(st, h, q0, v0)
        anew = n == 0 or nearest < SINGULAR_LANDING
        drop = eval_stages(form, ws, st, loads, t, h, len(st.q), anew, wanted)
        nearest = min(nearest, drop)
        counters[FACTORISATIONS] += len(st.q) * (2 if anew else 1)
        if stale and n == 0:
            factorise_newton(form, tan, ws, st, loads, t, h)
            counters[FACTORISATIONS] += len(st.q)
        counters[ITERATIONS] += 1
        sum_stages(st.rule.W, st.z[1], st.dz[1])
        for k in range(len(st.q)):
            for i in range(nq):
                st.dz[1, k, i] = st.a[k, i] - st.dz[1, k, i] / h
        if len(st.blocks) == 0:
            solve_freedoms(st, h)
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
                # rounding, divided by a small pivot
                return (CONVERGED if size <= tolerance else STALLED), rate, nearest
            # the first corrections come from a rough guess: what they tell of the rate is little
            left = MOST_ITERATIONS - 1 - n
            hopeless = rate >= 1.0 or rate**left / (1.0 - rate) * size > max(tolerance, LOOSE)
            if rate > 2.0 or (n > 1 and hopeless):
                return FAILED, rate, nearest
        before = size
    return FAILED, 1.0, nearest


@block
def eval_error(form, tan, st, h, tau, v0, a0):
    """The error of a step beside this one, of the order of the stages: its largest entry, velocities times tau.

    st.dz[:, 0]: the error of position and velocity. st.bend: what the acceleration at the start is off the slope
    of the stages' polynomial, without what is stiff.
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
    # written so that nan stays
    position, velocity = largest(st.dz[0, 0]), tau * largest(st.dz[1, 0])
    return position if not velocity > position else velocity


@kernel
def growth(order, error, last_error, h, last_h, iterations):
    """By what the next step may be longer: error ~ h^order, and as it changed over the last two steps."""
    safety = SAFETY * (2 * MOST_ITERATIONS + 1) / (2 * MOST_ITERATIONS + iterations)
    factor = (error + 1e-12) ** (-1.0 / order)
    if last_error > 0.0 and last_h > 0.0:
        change = (last_error / (error + 1e-12)) ** (1.0 / order)
        factor = min(factor, factor * h / last_h * change)
    return min(max(safety * factor, MOST_SHRINK), MOST_GROWTH)


@block
def fill_polynomial(st, h, length, state, after):
    """The polynomial of a step, from the fourth row of its start on: powers of the time since then.

    Its velocity is that of the stages with the acceleration at the start; a cubic leads to where the step ended,
    which the projection moved.
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


@entry
def advance(form, tan, ws, st, loads, goal, control, times, store, sides, watch, counters):
    """Step from store[0] to goal.t_end or until the store is full; returns the reason and the last row.

    control: what is kept between calls. Outputs: times and states (position, velocity, acceleration)
    at the ends of steps; sides: angles and work in them; watch: smallest pivot there, how far the landing was
    moved, whether a force of a user switched, what the step may have lost if it was loosened; counters.
    """
    t_end, local, tolerance, longest, between, weight = goal
    nq = store.shape[2]
    A, nodes = st.rule.A, st.rule.nodes
    stages, final = len(nodes), len(nodes) - 1
    order = stages + 1.0
    mu = st.rule.mu[0]
    asked = loads is not None and len(loads.user.calls) > 0
    fresh = control[NEXT] == 0.0
    if fresh:
        q0, v0, a0 = store[0, 0], store[0, 1], store[0, 2]
        eval_forms(form, q0, ws.e)
        eval_jacobian(form, ws.e, ws.J)
        factorise(form, ws.J, ws.L)
        learn_pivots(form, ws.L, ws.usual)
        project_and_accelerate(form, ws, loads, times[0], 0.0, q0, v0, a0, st.lam[stages])
        control[SPEED] = largest(v0)
        speed = max(control[SPEED], np.sqrt(largest(a0)))
        if not np.isfinite(speed):
            return NOT_FINITE, 0
        # a part of the time in which the motion covers its own length
        control[NEXT] = min(
            longest, 0.5 * local ** (1.0 / order) / max(speed, 1.0 / (t_end - times[0]))
        )
    for n in range(store.shape[0] - 1):
        t = times[n]
        q0, v0, a0 = store[n, 0], store[n, 1], store[n, 2]
        h = min(control[NEXT], longest)
        # a step ends where a motion changes its polynomial
        stop = min(t_end, next_break(loads, t))
        wanted = h
        before, _ = eval_energy(form, q0, v0)
        loose = 1.0
        guess = 0.0
        nearest = 1.0
        tried = 0
        # tries to end this step at a jump, how large that is, and whether it does
        located = 0
        jump = 0.0
        switched = False
        cut = False
        # times that are the same
        same = SAME_TIME * (t + 1.0 / (control[SPEED] + 1.0 / t_end))
        if loads is not None:
            for k in range(len(st.theta)):
                st.theta[k] = loads.theta[k]
        while True:
            if tried > 0 and tried % TRIES == 0 and nearest < SINGULAR_LANDING:
                # rounding, not truncation: no step is short enough; go on a little looser, counted
                loose *= 10.0
                h = wanted
                if loose * local > LOOSEST:
                    return TOO_SHORT, n
            # a last step that is too short to be worth one is avoided
            end = located == 0 and t + 1.01 * h >= stop
            if end:
                h = stop - t
            elif located == 0 and t + 2.0 * h > stop and control[FACTORED] != h:
                h = 0.5 * (stop - t)
            if not (h > SHORTEST * t_end or (located > 0 and h > 0.0)):
                held = asked and (
                    cut or control[CHATTER] > 0.0 or t - control[SWITCHED] < SOON * t_end
                )
                return (SWITCHING if held else TOO_SHORT), n
            # an error of the velocity counts by the time in which it acts: until the motion covers its own
            # length, or the run ends
            tau = max(1.0 / (control[SPEED] + 1.0 / t_end), h)
            stale = control[FACTORED] != h or control[RATE] > GOOD_RATE or len(st.blocks) == 0
            if stale:
                eval_tangents(form, tan, ws, st, loads, stages, t, h, q0, v0, st.lam[stages])
                factorise_tangent(
                    form, tan, st.J[stages], st.S[stages], st.G[stages], h / mu, st.values
                )
                counters[FACTORISATIONS] += 1
                control[FACTORED] = h
                control[RATE] = GOOD_RATE
            if guess > 0.0:
                predict(st.rule, 0.0, h / guess, st.sums[0], st.z[1])
            else:
                for k in range(stages):
                    for i in range(nq):
                        st.z[1, k, i] = st.past[k, i]
                if control[LAST] > 0.0:
                    predict(st.rule, 1.0, h / control[LAST], st.sums[0], st.z[1])
            # the step that the guess of another try is taken from, if this one converges
            guess = 0.0
            if loads is not None:
                for k in range(len(st.theta)):
                    loads.theta[k] = st.theta[k]
            spent = counters[ITERATIONS]
            step = Step(t, h, tau, stale, loose * max(ITERATION * tolerance, LEAST), weight)
            ended, rate, nearest = iterate(
                form, tan, ws, st, loads, step, store[n], control[RATE], counters
            )
            control[RATE] = rate
            spent = counters[ITERATIONS] - spent
            if ended == FAILED or (ended == STALLED and tried < TRIES - 1):
                counters[REJECTED] += 1
                tried += 1
                control[RATE] = 1.0
                if nearest < SINGULAR_LANDING and tried % TRIES > 0:
                    # a stage too near to a singular position: the others lie beside it or beyond
                    h = wanted * OTHERS[tried % TRIES]
                elif stale:
                    h *= 0.5
                    located = 0
                continue
            # the end, projected, with its acceleration
            start_stages(st, h, q0, v0)
            if loads is not None and len(loads.drives.equations) > 0:
                # the last correction is large to forces that are stiff, and they do work on drives
                eval_stages(form, ws, st, loads, t, h, final, nearest < SINGULAR_LANDING, 0.0)
                counters[FACTORISATIONS] += final
            moved, turned, drop = project_and_accelerate(
                form, ws, loads, t + h, 0.0, st.q[final], st.v[final], st.a[final], st.lam[final]
            )
            keep_power(ws, st, loads, final)
            learn_pivots(form, ws.L, ws.usual)
            smallest, _ = eval_pivots(form, ws.L, ws.usual)
            counters[FACTORISATIONS] += 2
            off = max(moved, h * turned)
            error = eval_error(form, tan, st, h, tau, v0, a0) / (loose * local)
            if error >= REFUSED and (tried > 0 or control[LAST] == 0.0):
                # a stiff start: the error again, from where it would lead
                for i in range(nq):
                    st.q[0, i] = q0[i] + st.dz[0, 0, i]
                    st.v[0, i] = v0[i] + st.dz[1, 0, i]
                project_and_accelerate(
                    form,
                    ws,
                    loads,
                    t,
                    0.0,
                    st.q[0],
                    st.v[0],
                    st.a[0],
                    st.lam[0],
                )
                error = eval_error(form, tan, st, h, tau, st.v[0], st.a[0]) / (loose * local)
            # beside a singular position: kinetic energy is the work of all forces, by the method's own
            # rule; another branch of the motion has another. (In stiff motions that rule is less exact
            # than the states.)
            kinetic, _ = eval_energy(form, st.q[final], st.v[final])
            near = min(nearest, drop) < SINGULAR_LANDING
            work, exchanged = 0.0, max(kinetic, control[KINETIC]) + 1e-300
            for k in range(stages):
                work += h * A[final, k] * st.power[k]
                exchanged = max(exchanged, abs(h * st.power[k]))
            wrong = abs(kinetic - before - work) / (ENERGY_SLACK * (tolerance + NOISE) * exchanged)
            if loads is not None and asked and (h > 8.0 * same or located == 0):
                # forces of users between the stages: do they switch?
                shares = int(min(max(LEAST_SHARES, h / between + 1.0), MOST_SHARES))
                uneven, change, most = look_between(ws, st, loads, t, h, store[n], shares)
                if uneven > FORCE_ROUNDING * most:
                    uneven = weigh_difference(form, tan, ws, st, loads, h)
                    uneven = tau * uneven / (loose * tolerance)
                else:
                    uneven = 0.0
                # written so that nan is refused too
                if not uneven <= 1.0:
                    cut = True
                    left, right = find_jump(ws, st, loads, t, h, store[n], 0.0, 1.0, shares, change)
                    counters[REJECTED] += 1
                    tried += 1
                    guess = 0.0
                    if right > 0.0 and located < MOST_LOCATED:
                        # end the step just before the jump; one at its start is stepped over
                        located += 1
                        jump = change
                        h = left * h if left * h > 4.0 * same else 8.0 * same
                    else:
                        located = 0
                        h *= 0.5
                    continue
            # written so that nan is refused too
            if error < REFUSED and off <= SLACK * loose * local and (wrong <= 1.0 or not near):
                break
            if located > 0 and h <= 8.0 * same:
                break
            counters[REJECTED] += 1
            tried += 1
            located = 0
            guess = h
            factor = growth(order, error, 0.0, h, h, spent) if error >= REFUSED else 0.5
            h *= factor if np.isfinite(factor) else MOST_SHRINK
        length = h
        if loads is not None and located > 0:
            # land just behind the jump, if it is there
            further = max(1.0 + JUST_BEHIND, 1.0 + 4.0 * same / h)
            _, right = find_jump(ws, st, loads, t, h, store[n], 0.0, further, 1, jump)
            switched = right > 0.0
            if switched:
                # time has to go on
                right = max(right, 2.0 * same / h)
                length = right * h
                eval_share(st, store[n], right, st.q[final], st.v[final])
                project_and_accelerate(
                    form,
                    ws,
                    loads,
                    t + length,
                    0.0,
                    st.q[final],
                    st.v[final],
                    st.a[final],
                    st.lam[final],
                )
                soon = t + length - control[SWITCHED] < SOON * t_end
                counters[SWITCHES] += 0 if soon else 1
                control[AT_ONCE] = control[AT_ONCE] + 1.0 if soon else 0.0
                control[SWITCHED] = t + length
        control[CHATTER] = max(
            0.0, control[CHATTER] + (1.0 if asked and tried > 0 and not switched else -0.25)
        )
        if control[AT_ONCE] > MOST_AT_ONCE or control[CHATTER] > MOST_CHATTER:
            return SWITCHING, n
        after = store[n + 1]
        for i in range(nq):
            after[0, i] = st.q[final, i]
            after[1, i] = st.v[final, i]
            after[2, i] = st.a[final, i]
        for c in range(st.lam.shape[1]):
            st.lam[stages, c] = st.lam[final, c]
        fill_polynomial(st, h, length, store[n], after)
        keep_sides(st, loads, h, length, sides[n], sides[n + 1])
        for k in range(stages):
            for i in range(nq):
                st.past[k, i] = st.z[1, k, i]
        factor = growth(order, error, control[ERROR], h, control[LAST], spent)
        if tried > 0:
            factor = min(factor, 1.0)
        control[NEXT] = h if 1.0 <= factor < LEAST_GROWTH else h * factor
        control[LAST] = h
        if located > 0:
            # the step was cut short by what the force does, not by the motion
            control[NEXT] = max(control[NEXT], 0.5 * wanted)
        control[KINETIC] = max(control[KINETIC], kinetic)
        control[SPEED] = max(control[SPEED], largest(after[1]))
        control[ERROR] = max(error, 1e-2)
        if switched:
            # nothing before tells what comes
            control[LAST] = control[ERROR] = 0.0
            for k in range(stages):
                for i in range(nq):
                    st.past[k, i] = 0.0
        times[n + 1], control[LOW] = add_time(t, control[LOW], length)
        if end:
            times[n + 1], control[LOW] = stop, 0.0
        watch[n + 1, 0] = smallest
        watch[n + 1, 1] = off
        watch[n + 1, 2] = 1.0 if switched else 0.0
        watch[n + 1, 3] = 0.0
        if ended == STALLED or loose > 1.0:
            counters[LOOSENED] += 1
            watch[n + 1, 3] = max(loose * tolerance, off)
        counters[STEPS] += 1
        if times[n + 1] == t_end:
            return DONE, n + 1
    return FULL, store.shape[0] - 1
