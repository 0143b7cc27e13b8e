"""Radau IIA with three or five stages for the constrained motion [HairerWanner1996, sec. IV.8].

Each stage is projected onto the position and velocity constraints before it is used: with (q, v)~ the projected
state of stage i,

    q' = v,     v' = a(t, q~, v~),     M a + J(q~)^T lam = Q(t, q~, v~),     J a = phi0'' - J' v~.

So Phi = phi0 and J v = phi0' are satisfied at every stage and every end of a step, as in the stabilisation of
Gear, Gupta and Leimkuhler [GearLeimkuhlerGupta1985]. A projection replaces their additional multipliers; it uses
the solve that all methods share, so constraints may be redundant.

This file contains the step control: lengths of steps, their rejection, and their ends. A trial is one length of a
step: Newton's method for its stages (radau_stages.py), its projected end, and all criteria that may reject it.
"""

from typing import Any, NamedTuple

import numpy as np

from ..thresholds import SINGULAR_STEP_END
from .compiler import entry, kernel, noinline
from .elements.drive import next_break
from .forms import eval_energy, eval_forms, eval_jacobian
from .radau_newton import eval_tangents, factorise_tangent
from .radau_stages import (
    FACTORISATIONS,
    FAILED,
    ITERATIONS,
    MOST_ITERATIONS,
    REJECTED,
    RELAXED,
    STALLED,
    STEPS,
    SWITCHES,
    TrialStep,
    eval_error,
    eval_stages,
    fill_polynomial,
    iterate,
    keep_angle_and_work,
    keep_power,
    predict,
    project_and_accelerate,
    start_stages,
)
from .return_codes import DONE, FULL, NOT_FINITE, SWITCHING, TOO_SHORT
from .solve import eval_pivots, factorise, learn_pivots
from .step_control import LOOSEST, NOISE, TRIES
from .stepping import add_time, largest
from .switches import ROUNDING as FORCE_ROUNDING
from .switches import eval_share, find_jump, look_between, weigh_difference

# Control data kept from step to step: the next step, the last one and its error, the step that the factors were
# computed for, the rate of the last iteration; the largest velocity and kinetic energy so far; the rounding error
# of the time; time of the last switch of a user force, number of switches in immediate succession, and number of
# steps cut short without a switch at their end.
NEXT, LAST, ERROR, FACTORED, RATE, SPEED, KINETIC = 0, 1, 2, 3, 4, 5, 6
LOW, SWITCHED, AT_ONCE, CHATTER = 7, 8, 9, 10
# Data of the current step: its length in this trial and in the first, the factor by which its tolerances are
# relaxed, the length of the earlier trial that the first guess comes from, the smallest pivot ratio of the stages,
# number of rejected trials.
LENGTH, WANTED, LOOSE, GUESS, NEAREST, TRIED = 11, 12, 13, 14, 15, 16
# Number of attempts to end the step at a jump of a user force, size of the jump, and whether any trial was cut by
# one.
LOCATED, JUMP, CUT = 17, 18, 19
# Data of its last trial: whether it ends where a drive changes its polynomial, outcome of Newton's method and
# number of iterations, smallest pivot at the end, correction by the projection, error, kinetic energy.
END, ENDED, SPENT, SMALLEST, OFF, MISSED, ENERGY = 20, 21, 22, 23, 24, 25, 26
CONTROLS = 27

# Part of the tolerance that an iteration may leave, and the least that rounding allows.
ITERATION = 0.02
LEAST = 1e-13
# The factors are kept while the iteration converges faster than this.
GOOD_RATE = 0.02
# Limits for the growth and reduction of a step. A step that would grow by less than LEAST_GROWTH keeps its length,
# and so its factors.
MOST_GROWTH = 4.0
LEAST_GROWTH = 1.2
MOST_SHRINK = 0.2
SAFETY = 0.9
# The projections may move the end of a step by this many local tolerances: another branch is farther away.
SLACK = 10.0
# A step is repeated if its error estimate exceeds the target by this factor: the estimate fluctuates, and the true
# error is far smaller.
REPEATED_ERROR = 2.0
# The kinetic energy may differ from the work of the forces by this many tolerances of the energy exchanged. Ten
# times the value of the series method: the work is a sum over three stages, not the integral of the motion's
# polynomials.
ENERGY_SLACK = 1e4
# With steps below this part of the run, it would not end in reasonable time.
SHORTEST = 1e-12
# Near a singular configuration rounding may prevent any step: after TRIES trials, which have these lengths in
# lengths of the first, all tolerances are relaxed by a factor of ten, up to LOOSEST.
OTHERS = np.array([1.0, 0.7, 1.4, 0.4])
# Trials near a singularity and trials that are not may alternate endlessly. Halving a step to SHORTEST takes 40.
MOST_TRIES = 200

# Smallest and largest number of points of a step at which user forces are evaluated.
LEAST_SHARES = 8
MOST_SHARES = 4096
# Times closer than this count as equal, relative to the time so far plus the time in which the motion covers its
# own length.
SAME_TIME = 1e-14
# A jump this soon after a step, relative to its length, counts as at its end.
JUST_AFTER = 1e-9
# Largest number of attempts to end a step at a jump.
MOST_LOCATED = 12
# Jumps that follow each other within this part of the run, and this often, count as endless.
SOON = 1e-9
MOST_AT_ONCE = 30
# Number of consecutive steps that are first rejected although they do not end at a jump: a force slides along its
# switching surface.
MOST_CHATTER = 200.0

# The run continues.
GOES_ON = -1


class Goal(NamedTuple):
    """Target of a run.

    t_end: its end [s]. local: admissible third-order error of a step. tolerance: of the run. longest: longest step
    [s]. between: longest time between evaluations of user forces [s]. weight: the largest acceleration that
    gravity would cause.
    """

    t_end: float
    local: float
    tolerance: float
    longest: float
    between: float
    weight: float


class RadauContext(NamedTuple):
    """Data for all kernels of a step: form, memory of Newton's matrix, workspace, stages, loads or None."""

    form: Any
    tan: Any
    ws: Any
    st: Any
    loads: Any


@kernel
def has_user_forces(loads):
    """Whether there are user forces."""
    return loads is not None and len(loads.user.calls) > 0


@kernel
def eval_reach(goal, control, h):
    """Weight of a velocity error: the time until the motion covers its own length or the run ends."""
    return max(1.0 / (control[SPEED] + 1.0 / goal.t_end), h)


@noinline
def start_run(parts, goal, control, t, state):
    """Project the start and choose the first step; returns whether the state is finite."""
    form, ws, st = parts.form, parts.ws, parts.st
    stages = len(st.rule.nodes)
    order = stages + 1.0
    q0, v0, a0 = state[0], state[1], state[2]
    eval_forms(form, q0, ws.e)
    eval_jacobian(form, ws.e, ws.J)
    factorise(form, ws.J, ws.L)
    learn_pivots(form, ws.L, ws.reference_pivots)
    project_and_accelerate(form, ws, parts.loads, t, 0.0, q0, v0, a0, st.lam[stages])
    control[SPEED] = largest(v0)
    speed = max(control[SPEED], np.sqrt(largest(a0)))
    if not np.isfinite(speed):
        return False
    # A fraction of the time in which the motion covers its own length.
    control[NEXT] = min(
        goal.longest, 0.5 * goal.local ** (1.0 / order) / max(speed, 1.0 / (goal.t_end - t))
    )
    return True


@kernel
def start_step(st, loads, goal, control):
    """Reset the data of the current step; only its desired length is known."""
    control[LENGTH] = min(control[NEXT], goal.longest)
    control[WANTED] = control[LENGTH]
    control[LOOSE] = control[NEAREST] = 1.0
    control[GUESS] = control[TRIED] = 0.0
    control[LOCATED] = control[JUMP] = control[CUT] = 0.0
    if loads is not None:
        for k in range(len(st.theta)):
            st.theta[k] = loads.theta[k]


@noinline
def choose_length(loads, goal, control, t, stop):
    """Length of the next trial, and whether it ends at `stop`; returns why there is none, or GOES_ON."""
    h = control[LENGTH]
    tried = int(control[TRIED])
    if tried > MOST_TRIES:
        return TOO_SHORT
    if tried > 0 and tried % TRIES == 0 and control[NEAREST] < SINGULAR_STEP_END:
        # The cause is rounding, not truncation: no step is short enough. Relax the tolerances, and count it.
        control[LOOSE] *= 10.0
        h = control[WANTED]
        if control[LOOSE] * goal.local > LOOSEST:
            return TOO_SHORT
    located = control[LOCATED] > 0.0
    # Avoid a very short last step.
    end = not located and t + 1.01 * h >= stop
    if end:
        h = stop - t
    elif not located and t + 2.0 * h > stop and control[FACTORED] != h:
        h = 0.5 * (stop - t)
    if not (h > SHORTEST * goal.t_end or (located and h > 0.0)):
        cut = control[CUT] > 0.0 or control[CHATTER] > 0.0
        switching = has_user_forces(loads) and (cut or t - control[SWITCHED] < SOON * goal.t_end)
        return SWITCHING if switching else TOO_SHORT
    control[LENGTH] = h
    control[END] = 1.0 if end else 0.0
    return GOES_ON


@kernel
def guess_stages(st, control):
    """Initial increments of the stages: from the last trial that converged, else from the last step."""
    h = control[LENGTH]
    if control[GUESS] > 0.0:
        predict(st.rule, 0.0, h / control[GUESS], st.sums[0], st.z[1])
    else:
        for k in range(len(st.past)):
            for i in range(st.past.shape[1]):
                st.z[1, k, i] = st.past[k, i]
        if control[LAST] > 0.0:
            predict(st.rule, 1.0, h / control[LAST], st.sums[0], st.z[1])
    # Another trial starts from this one, if it converges.
    control[GUESS] = 0.0


@noinline
def solve_try(parts, goal, control, t, state, counters):
    """Newton's method for the stages of a trial; returns its outcome, and whether its matrix was new."""
    form, tan, ws, st, loads = parts.form, parts.tan, parts.ws, parts.st, parts.loads
    stages = len(st.rule.nodes)
    h = control[LENGTH]
    stale = control[FACTORED] != h or control[RATE] > GOOD_RATE or len(st.blocks) == 0
    if stale:
        eval_tangents(form, tan, ws, st, loads, stages, t, h, state[0], state[1], st.lam[stages])
        mu = st.rule.mu[0]
        factorise_tangent(form, tan, st.J[stages], st.S[stages], st.G[stages], h / mu, st.values)
        counters[FACTORISATIONS] += 1
        control[FACTORED] = h
        control[RATE] = GOOD_RATE
    guess_stages(st, control)
    if loads is not None:
        for k in range(len(st.theta)):
            loads.theta[k] = st.theta[k]
    spent = counters[ITERATIONS]
    tau = eval_reach(goal, control, h)
    left = control[LOOSE] * max(ITERATION * goal.tolerance, LEAST)
    step = TrialStep(t, h, tau, stale, left, goal.weight)
    ended, rate, nearest = iterate(form, tan, ws, st, loads, step, state, control[RATE], counters)
    control[ENDED] = ended
    control[RATE] = rate
    control[NEAREST] = nearest
    control[SPENT] = counters[ITERATIONS] - spent
    return ended, stale


@kernel
def shorten_failed(control, stale):
    """Length of the next trial after Newton's method failed."""
    control[TRIED] += 1.0
    control[RATE] = 1.0
    tried = int(control[TRIED])
    if control[NEAREST] < SINGULAR_STEP_END and tried % TRIES > 0:
        # A stage is too near a singular configuration: try lengths with stages next to it or beyond.
        control[LENGTH] = control[WANTED] * OTHERS[tried % TRIES]
    elif stale:
        control[LENGTH] *= 0.5
        control[LOCATED] = 0.0


@noinline
def eval_step_error(parts, goal, control, t, state):
    """Error of a trial relative to the target."""
    form, tan, ws, st = parts.form, parts.tan, parts.ws, parts.st
    q0, v0, a0 = state[0], state[1], state[2]
    h = control[LENGTH]
    tau = eval_reach(goal, control, h)
    loose = control[LOOSE]
    error = eval_error(form, tan, st, h, tau, v0, a0) / (loose * goal.local)
    if error >= REPEATED_ERROR and (control[TRIED] > 0.0 or control[LAST] == 0.0):
        # A stiff start: estimate the error again, from the state that the first estimate leads to.
        q, v, a = st.q[0], st.v[0], st.a[0]
        for i in range(len(q0)):
            q[i] = q0[i] + st.dz[0, 0, i]
            v[i] = v0[i] + st.dz[1, 0, i]
        project_and_accelerate(form, ws, parts.loads, t, 0.0, q, v, a, st.lam[0])
        error = eval_error(form, tan, st, h, tau, v, a) / (loose * goal.local)
    return error


@noinline
def land(parts, goal, control, t, state, counters):
    """Projected end of a trial with its acceleration, and its error; returns its smallest pivot ratio."""
    form, ws, st, loads = parts.form, parts.ws, parts.st, parts.loads
    final = len(st.rule.nodes) - 1
    h = control[LENGTH]
    start_stages(st, h, state[0], state[1])
    if loads is not None and len(loads.drives.equations) > 0:
        # The last correction changes stiff forces considerably, and these do work on drives.
        refactorise = control[NEAREST] < SINGULAR_STEP_END
        eval_stages(form, ws, st, loads, t, h, final, refactorise, 0.0)
        counters[FACTORISATIONS] += final
    moved, turned, pivot_ratio = project_and_accelerate(
        form, ws, loads, t + h, 0.0, st.q[final], st.v[final], st.a[final], st.lam[final]
    )
    keep_power(ws, st, loads, final)
    learn_pivots(form, ws.L, ws.reference_pivots)
    smallest, _ = eval_pivots(form, ws.L, ws.reference_pivots)
    counters[FACTORISATIONS] += 2
    control[SMALLEST] = smallest
    control[OFF] = max(moved, h * turned)
    control[MISSED] = eval_step_error(parts, goal, control, t, state)
    return pivot_ratio


@kernel
def eval_energy_misfit(form, st, goal, control, before):
    """Mismatch between the kinetic energy at the end of a trial and the work of all forces.

    The work is computed by the method's quadrature. Another branch of the motion has another kinetic energy. In
    stiff motions the quadrature is less accurate than the states.
    """
    stages, final = len(st.rule.nodes), len(st.rule.nodes) - 1
    h = control[LENGTH]
    kinetic, _ = eval_energy(form, st.q[final], st.v[final])
    control[ENERGY] = kinetic
    work, exchanged = 0.0, max(kinetic, control[KINETIC]) + 1e-300
    for k in range(stages):
        work += h * st.rule.A[final, k] * st.power[k]
        exchanged = max(exchanged, abs(h * st.power[k]))
    return abs(kinetic - before - work) / (ENERGY_SLACK * (goal.tolerance + NOISE) * exchanged)


@noinline
def cut_at_jump(parts, goal, control, t, same, state):
    """Whether user forces switch between the stages of a trial; the next one then ends before the jump."""
    ws, st, loads = parts.ws, parts.st, parts.loads
    if loads is None:
        return False
    h = control[LENGTH]
    if not (has_user_forces(loads) and (h > 8.0 * same or control[LOCATED] == 0.0)):
        return False
    shares = int(min(max(LEAST_SHARES, h / goal.between + 1.0), MOST_SHARES))
    uneven, change, most = look_between(ws, st, loads, t, h, state, shares)
    if uneven > FORCE_ROUNDING * most:
        uneven = weigh_difference(parts.form, parts.tan, ws, st, loads, h)
        uneven = eval_reach(goal, control, h) * uneven / (control[LOOSE] * goal.tolerance)
    else:
        uneven = 0.0
    # Written so that nan is rejected too.
    if uneven <= 1.0:
        return False
    control[CUT] = 1.0
    left, right = find_jump(ws, st, loads, t, h, state, 0.0, 1.0, shares, change)
    control[TRIED] += 1.0
    control[GUESS] = 0.0
    if right > 0.0 and control[LOCATED] < MOST_LOCATED:
        # End the step just before the jump; step over a jump at its start.
        control[LOCATED] += 1.0
        control[JUMP] = change
        control[LENGTH] = left * h if left * h > 4.0 * same else 8.0 * same
    else:
        control[LOCATED] = 0.0
        control[LENGTH] *= 0.5
    return True


@kernel
def growth(order, error, last_error, h, last_h, iterations):
    """Growth factor of the next step: error ~ h^order, and the change of the error over the last two steps."""
    safety = SAFETY * (2 * MOST_ITERATIONS + 1) / (2 * MOST_ITERATIONS + iterations)
    factor = (error + 1e-12) ** (-1.0 / order)
    if last_error > 0.0 and last_h > 0.0:
        change = (last_error / (error + 1e-12)) ** (1.0 / order)
        factor = min(factor, factor * h / last_h * change)
    return min(max(safety * factor, MOST_SHRINK), MOST_GROWTH)


@kernel
def shorten_rejected(st, control):
    """Length of the next trial after one whose end was rejected."""
    h, error = control[LENGTH], control[MISSED]
    order = len(st.rule.nodes) + 1.0
    control[TRIED] += 1.0
    control[LOCATED] = 0.0
    control[GUESS] = h
    factor = growth(order, error, 0.0, h, h, control[SPENT]) if error >= REPEATED_ERROR else 0.5
    control[LENGTH] = h * (factor if np.isfinite(factor) else MOST_SHRINK)


@noinline
def try_step(parts, goal, control, t, stop, same, state, counters):
    """Try a step until its end is accepted; returns why there is none, or GOES_ON."""
    form, st, loads = parts.form, parts.st, parts.loads
    before, _ = eval_energy(form, state[0], state[1])
    while True:
        reason = choose_length(loads, goal, control, t, stop)
        if reason != GOES_ON:
            return reason
        ended, stale = solve_try(parts, goal, control, t, state, counters)
        if ended == FAILED or (ended == STALLED and control[TRIED] < TRIES - 1):
            counters[REJECTED] += 1
            shorten_failed(control, stale)
            continue
        pivot_ratio = land(parts, goal, control, t, state, counters)
        wrong = eval_energy_misfit(form, st, goal, control, before)
        if cut_at_jump(parts, goal, control, t, same, state):
            counters[REJECTED] += 1
            continue
        # There is another branch only near a singular configuration.
        near = min(control[NEAREST], pivot_ratio) < SINGULAR_STEP_END
        close = control[OFF] <= SLACK * control[LOOSE] * goal.local
        # Written so that nan is rejected too.
        if control[MISSED] < REPEATED_ERROR and close and (wrong <= 1.0 or not near):
            return GOES_ON
        if control[LOCATED] > 0.0 and control[LENGTH] <= 8.0 * same:
            return GOES_ON
        counters[REJECTED] += 1
        shorten_rejected(st, control)


@noinline
def land_after_jump(parts, goal, control, t, same, state, counters):
    """If a step was cut at a jump, end it just after the jump; returns its length and whether a force switched."""
    form, ws, st, loads = parts.form, parts.ws, parts.st, parts.loads
    h = control[LENGTH]
    if loads is None:
        return h, False
    if control[LOCATED] == 0.0:
        return h, False
    final = len(st.rule.nodes) - 1
    further = max(1.0 + JUST_AFTER, 1.0 + 4.0 * same / h)
    _, right = find_jump(ws, st, loads, t, h, state, 0.0, further, 1, control[JUMP])
    if not right > 0.0:
        return h, False
    # The time has to advance.
    right = max(right, 2.0 * same / h)
    length = right * h
    q, v, a = st.q[final], st.v[final], st.a[final]
    eval_share(st, state, right, q, v)
    project_and_accelerate(form, ws, loads, t + length, 0.0, q, v, a, st.lam[final])
    soon = t + length - control[SWITCHED] < SOON * goal.t_end
    counters[SWITCHES] += 0 if soon else 1
    control[AT_ONCE] = control[AT_ONCE] + 1.0 if soon else 0.0
    control[SWITCHED] = t + length
    return length, True


@kernel
def keep_step(st, loads, control, length, state, after, angle_and_work_series, series_after):
    """Store the state at the end of a step, and the polynomials of the step."""
    h = control[LENGTH]
    stages, final = len(st.rule.nodes), len(st.rule.nodes) - 1
    for i in range(len(after[0])):
        after[0, i] = st.q[final, i]
        after[1, i] = st.v[final, i]
        after[2, i] = st.a[final, i]
    for c in range(st.lam.shape[1]):
        st.lam[stages, c] = st.lam[final, c]
    fill_polynomial(st, h, length, state, after)
    keep_angle_and_work(st, loads, h, length, angle_and_work_series, series_after)


@kernel
def plan_next(st, control, speed, switched):
    """Length of the next step, and the data that it needs of this one; speed: largest final velocity."""
    h, error = control[LENGTH], control[MISSED]
    order = len(st.rule.nodes) + 1.0
    factor = growth(order, error, control[ERROR], h, control[LAST], control[SPENT])
    if control[TRIED] > 0.0:
        factor = min(factor, 1.0)
    control[NEXT] = h if 1.0 <= factor < LEAST_GROWTH else h * factor
    control[LAST] = h
    if control[LOCATED] > 0.0:
        # The step was cut short by the force, not by the motion.
        control[NEXT] = max(control[NEXT], 0.5 * control[WANTED])
    control[KINETIC] = max(control[KINETIC], control[ENERGY])
    control[SPEED] = max(control[SPEED], speed)
    control[ERROR] = max(error, 1e-2)
    if switched:
        # After a switch, earlier steps do not predict the next one.
        control[LAST] = control[ERROR] = 0.0
    for k in range(len(st.past)):
        for i in range(st.past.shape[1]):
            st.past[k, i] = 0.0 if switched else st.z[1, k, i]


@kernel
def record_step(goal, control, switched, watch, counters):
    """Record data for monitors, and the possible loss of accuracy of a step with relaxed tolerances."""
    watch[0] = control[SMALLEST]
    watch[1] = control[OFF]
    watch[2] = 1.0 if switched else 0.0
    watch[3] = 0.0
    if control[ENDED] == STALLED or control[LOOSE] > 1.0:
        counters[RELAXED] += 1
        watch[3] = max(control[LOOSE] * goal.tolerance, control[OFF])
    counters[STEPS] += 1


@entry
def advance(
    form, tan, ws, st, loads, goal, control, times, store, angle_and_work_series, watch, counters
):
    """Step from store[0] to goal.t_end or until the store is full; returns the reason and the last row.

    control: data kept between calls. Outputs: times and states (configuration, velocity, acceleration) at the ends
    of steps; angle_and_work_series: angles and work in them; watch: smallest pivot there, correction by the
    projection, whether a user force switched, possible loss of accuracy if the tolerance was relaxed; counters.
    """
    parts = RadauContext(form, tan, ws, st, loads)
    if control[NEXT] == 0.0 and not start_run(parts, goal, control, times[0], store[0]):
        return NOT_FINITE, 0
    for n in range(store.shape[0] - 1):
        t, after = times[n], store[n + 1]
        # A step ends where a drive changes its polynomial.
        stop = min(goal.t_end, next_break(loads, t))
        # Times closer than this count as equal.
        same = SAME_TIME * (t + 1.0 / (control[SPEED] + 1.0 / goal.t_end))
        start_step(st, loads, goal, control)
        reason = try_step(parts, goal, control, t, stop, same, store[n], counters)
        if reason != GOES_ON:
            return reason, n
        length, switched = land_after_jump(parts, goal, control, t, same, store[n], counters)
        slides = has_user_forces(loads) and control[TRIED] > 0.0 and not switched
        control[CHATTER] = max(0.0, control[CHATTER] + (1.0 if slides else -0.25))
        if control[AT_ONCE] > MOST_AT_ONCE or control[CHATTER] > MOST_CHATTER:
            return SWITCHING, n
        keep_step(
            st,
            loads,
            control,
            length,
            store[n],
            after,
            angle_and_work_series[n],
            angle_and_work_series[n + 1],
        )
        plan_next(st, control, largest(after[1]), switched)
        times[n + 1], control[LOW] = add_time(t, control[LOW], length)
        if control[END] > 0.0:
            times[n + 1], control[LOW] = stop, 0.0
        record_step(goal, control, switched, watch[n + 1], counters)
        if times[n + 1] == goal.t_end:
            return DONE, n + 1
    return FULL, store.shape[0] - 1
