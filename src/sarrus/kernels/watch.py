"""Watching a motion for singular positions: pivots of J J^T along its polynomials.

The pivot of an equation is the squared distance of its row of J from the rows before it, over its own
square. At a singular position one of them falls to zero like (t - ts)^2. Masses are left out: with light
links beside heavy ones the pivots of J M^-1 J^T fall only within a sliver around the position, and samples
would miss it; distances between rows are geometry and change with the angles of the links. So samples are
taken whenever some link has turned by ANGLE.
"""

import numpy as np

from ..thresholds import EPS, WATCHED_PIVOT
from .compiler import block, entry, kernel
from .forms import eval_form_rates, eval_forms, eval_jacobian
from .polynomials import eval_derivatives
from .solve import factorise

# a link turns by this between two samples [rad]; two links against each other by twice as much
ANGLE = 0.3
# after slow phases the time between samples grows by no more than this
GROWTH = 1.5
# links that turn ever faster, or fast in between, may turn by this many times ANGLE
AHEAD = 1.5
# a pivot that may dip: below this share of what is usual for its equation, and below the samples beside it. It
# is looked at until it falls below DEEP, or is flat: what is beside it is less than FLAT times as large. Two
# samples on both sides of a bottom look flat, too: so not before some looks between them
LOW = 0.2
DEEP = 1e-2
FLAT = 2.0
FEWEST_LOOKS = 4
LOOKS = 40
# how far from a sample to the next its slope is taken
SLOPE = 1e-3
# where a pivot is low and a motion may turn back samples are nearer, down to this share of ANGLE
NEAREST = 0.02
# beyond the ends of a run the series is followed as far as its last term stays below this
BEYOND_TERM = 1e-6


@kernel
def eval_relative_pivots(form, L, pivots):
    """The pivot of each equation over the one that it had alone at the start."""
    for k in range(len(pivots)):
        pivots[k] = -EPS / (L[form.pos_c[k]] * form.eps[k])


@kernel
def eval_turning(form, ws, sums):
    """Largest rate and half acceleration at which a link changes, over its length [1/s, 1/s^2].

    ws.v, ws.dq: those of the coordinates.
    """
    nc = len(form.phi0)
    for k in range(nc):
        sums[0, k] = 0.0
        sums[1, k] = 0.0
        sums[2, k] = 0.0
    for t in range(len(form.sq_c)):
        x = ws.e[form.sq_form[t]]
        sums[0, form.sq_eq[t]] += abs(form.sq_c[t]) * x * x
    eval_form_rates(form, ws.v, ws.de)
    for t in range(len(form.sq_c)):
        x = ws.de[form.sq_form[t]]
        sums[1, form.sq_eq[t]] += abs(form.sq_c[t]) * x * x
    eval_form_rates(form, ws.dq, ws.de)
    for t in range(len(form.sq_c)):
        x = ws.de[form.sq_form[t]]
        sums[2, form.sq_eq[t]] += abs(form.sq_c[t]) * x * x
    rate = 0.0
    acceleration = 0.0
    for k in range(nc):
        if sums[0, k] > 0.0:
            rate = max(rate, sums[1, k] / sums[0, k])
            acceleration = max(acceleration, sums[2, k] / sums[0, k])
    return np.sqrt(rate), np.sqrt(acceleration)


@kernel
def eval_turn(form, ws, sums):
    """The largest change of a link since the last sample, over its length; ws.w: the forms there."""
    for k in range(len(form.phi0)):
        sums[0, k] = 0.0
        sums[1, k] = 0.0
    for t in range(len(form.sq_c)):
        x = ws.e[form.sq_form[t]]
        y = x - ws.w[form.sq_form[t]]
        sums[0, form.sq_eq[t]] += abs(form.sq_c[t]) * x * x
        sums[1, form.sq_eq[t]] += abs(form.sq_c[t]) * y * y
    turn = 0.0
    for k in range(len(form.phi0)):
        if sums[0, k] > 0.0:
            turn = max(turn, sums[1, k] / sums[0, k])
    return np.sqrt(turn)


@kernel
def keep_forms(ws):
    """Keep the forms of a sample in ws.w."""
    for f in range(len(ws.e)):
        ws.w[f] = ws.e[f]


@block
def take_sample(form, ws, qc, order, s, sums, pivots):
    """Relative pivots at s after the start of a step; returns the time until the next sample, and its steady part.

    A link turns by ANGLE until then: w t + 1/2 w' t^2 = ANGLE; infinite at rest. Steady: w t / ANGLE; where
    that is more than two thirds, no link turns back until then.
    """
    eval_derivatives(qc, order, s, ws.q, ws.v, ws.dq)
    eval_forms(form, ws.q, ws.e)
    eval_jacobian(form, ws.e, ws.J)
    factorise(form, ws.J, ws.L)
    eval_relative_pivots(form, ws.L, pivots)
    rate, half = eval_turning(form, ws, sums)
    below = rate + np.sqrt(rate * rate + 4.0 * half * ANGLE)
    if not below > 0.0:
        return np.inf, 1.0
    return 2.0 * ANGLE / below, 2.0 * rate / below


@kernel
def eval_reach(nq, qc, order, gaps, h):
    """How far a series can be followed beyond its step: where its last terms are still small.

    The last one, but for drives: a polynomial that starts with a high power leaves gaps behind it.
    """
    first = max(1, order - gaps)
    reach = np.inf
    for k in range(first, order + 1):
        size = 1e-300
        for i in range(nq):
            size = max(size, abs(qc[k, i]))
        reach = min(reach, (BEYOND_TERM / size) ** (1.0 / k))
    return max(h, reach)


@kernel
def may_dip(f0, f1, f2, usual):
    """Whether a pivot may dip to zero between three samples: it is low, lower than before and behind."""
    return usual > WATCHED_PIVOT and f1 <= f0 and f1 <= f2 and f1 < LOW * usual


@kernel
def eval_nearness(pivots, usual):
    """How much nearer the next sample has to be where a pivot is low: its root is about a distance in angles."""
    share = LOW
    for k in range(len(pivots)):
        if usual[k] > WATCHED_PIVOT:
            share = min(share, max(pivots[k], 0.0) / usual[k])
    return max(NEAREST, np.sqrt(share / LOW))


@block
def sample_at(form, ws, pieces, t, sums, pivots):
    """Relative pivots at a time of some steps."""
    n = 0
    while n < len(pieces.orders) - 1 and pieces.starts[n + 1] <= t:
        n += 1
    take_sample(
        form, ws, pieces.coefficients[n], pieces.orders[n], t - pieces.starts[n], sums, pivots
    )


@kernel
def look_at(form, ws, before, pieces, t, sums, pivots):
    """Relative pivots at a time of some steps or of those before them."""
    if t < pieces.starts[0] and len(before.orders) > 0:
        sample_at(form, ws, before, t, sums, pivots)
    else:
        sample_at(form, ws, pieces, t, sums, pivots)


@block
def is_dip(form, ws, before, pieces, times, samples, k, sums, pivots):
    """Whether the pivot of an equation dips to zero between three samples, by looking closer and closer.

    Until it is low enough, or so flat that it has shown its bottom: in time a dip may have any shape (links may
    whip through a singular position). Each look halves the larger half. before: the steps before the pieces.
    """
    a, b, c = times[0], times[1], times[2]
    fa, fb, fc = samples[0, k], samples[1, k], samples[2, k]
    for look in range(LOOKS):
        if fb < DEEP * samples[3, k]:
            return True
        if look >= FEWEST_LOOKS and max(fa, fc) < FLAT * fb:
            return False
        t = 0.5 * (a + b) if b - a > c - b else 0.5 * (b + c)
        look_at(form, ws, before, pieces, t, sums, pivots)
        f = pivots[k]
        if t < b:
            if f <= fb:
                b, c, fb, fc = t, b, f, fb
            else:
                a, fa = t, f
        elif f <= fb:
            a, b, fa, fb = b, t, fb, f
        else:
            c, fc = t, f
    return False


@kernel
def has_dip(form, ws, before, pieces, times, samples, sums):
    """Whether the pivot of some equation dips to zero between three samples."""
    for k in range(samples.shape[1]):
        if may_dip(samples[0, k], samples[1, k], samples[2, k], samples[3, k]) and is_dip(
            form, ws, before, pieces, times, samples, k, sums, samples[5]
        ):
            return True
    return False


@block
def has_hidden_dip(form, ws, before, pieces, times, samples, sums, early):
    """Whether a pivot dips to zero between two of three samples that do not show it, as where a motion turns back.

    It is low at the middle one and rises (falls, if early) from sample to sample, but does the opposite at the
    middle. times, samples: two of each; the second ones are made those of the dip.
    """
    wide, close = samples[0], samples[1]
    first, last = (1, 0) if early else (1, 2)
    middle = times[0, 1]
    seek = False
    for k in range(wide.shape[1]):
        f = wide[1, k]
        if (
            wide[3, k] > WATCHED_PIVOT
            and f < LOW * wide[3, k]
            and wide[2 - last, k] < f < wide[last, k]
        ):
            seek = True
    if not seek:
        return False
    t = middle + SLOPE * (times[0, last] - middle)
    look_at(form, ws, before, pieces, t, sums, close[1])
    times[1, 0] = min(middle, times[0, last])
    times[1, 1] = t
    times[1, 2] = max(middle, times[0, last])
    for k in range(wide.shape[1]):
        close[0, k] = wide[last if early else first, k]
        close[2, k] = wide[first if early else last, k]
        close[3, k] = wide[3, k]
    return has_dip(form, ws, before, pieces, times[1], close, sums)


@entry
def find_dips(samples, found):
    """Which pivots may dip to zero between three samples; samples: three pivots of each, and the usual one."""
    for k in range(samples.shape[1]):
        found[k] = may_dip(samples[0, k], samples[1, k], samples[2, k], samples[3, k])


@entry
def watch(form, ws, before, pieces, steps, gaps, first, last, spans, levels, sums, dips):
    """Sample the polynomials of some steps; returns how many dips were found.

    before: the steps before them, from the last samples on. gaps: how many coefficients may vanish in a row;
    first, last: whether the run begins or ends here. spans: times of the last two samples, scratch, and how long
    until the next, then those of a closer look; levels: their pivots, scratch, the largest pivots so far and those
    of the start, twice, too; both kept between calls. Outputs: dips: three times around each.
    """
    starts, orders, coefficients, _ = pieces
    times, samples = spans[0], levels[0]
    nq = len(ws.q)
    found = 0
    n = 0
    if first:
        # the sample before the first lies on the series too, which knows of no beginning
        gap, steady = take_sample(form, ws, coefficients[0], orders[0], 0.0, sums, samples[1])
        times[1] = starts[0]
        reach = eval_reach(nq, coefficients[0], orders[0], gaps, starts[1] - starts[0])
        times[0] = starts[0] - min(gap, reach)
        s = times[0] - starts[0]
        keep_forms(ws)
        take_sample(form, ws, coefficients[0], orders[0], s, sums, samples[0])
        times[3] = gap
        for k in range(samples.shape[1]):
            samples[3, k] = max(samples[0, k], samples[1, k])
            samples[4, k] = samples[1, k]
    ended = False
    while not ended:
        while n < steps - 1 and starts[n + 1] <= times[1]:
            n += 1
        if times[1] < starts[steps]:
            slow = max(starts[n + 1] - starts[n], GROWTH * (times[1] - times[0]))
            # never less than a sliver of the step: a run that diverges turns links infinitely fast
            least = 1e-3 * (starts[n + 1] - starts[n])
            times[2] = times[1] + max(min(times[3], slow), least)
            if not times[2] > times[1]:
                # time does not resolve more
                times[2] = starts[n + 1]
            if times[2] > starts[steps]:
                if not last:
                    # the next steps will show
                    break
                times[2] = starts[steps]
            while n < steps - 1 and starts[n + 1] < times[2]:
                n += 1
        elif last:
            ended = True
            reach = eval_reach(nq, coefficients[n], orders[n], gaps, starts[n + 1] - starts[n])
            times[2] = starts[steps] + min(times[1] - times[0], reach)
        else:
            break
        while True:
            qc = coefficients[n]
            s = times[2] - starts[n]
            times[3], steady = take_sample(form, ws, qc, orders[n], s, sums, samples[2])
            if steady < 2.0 / 3.0:
                times[3] *= eval_nearness(samples[2], samples[3])
            # further than was foreseen: look in between
            gap = times[2] - times[1]
            seen = gap <= AHEAD * times[3] and eval_turn(form, ws, sums) <= AHEAD * ANGLE
            # what lies before these steps cannot be seen any more
            middle = times[1] + 0.5 * gap
            between = max(times[1], starts[0]) < middle < times[2]
            if seen or not between or gap <= 1e-3 * (starts[n + 1] - starts[n]):
                break
            ended = False
            times[2] = middle
            while n > 0 and starts[n] >= times[2]:
                n -= 1
        keep_forms(ws)
        for k in range(samples.shape[1]):
            samples[3, k] = max(samples[3, k], samples[2, k])
        if has_dip(form, ws, before, pieces, times, samples, sums) and found < dips.shape[0]:
            for i in range(3):
                dips[found, i] = times[i]
            found += 1
        else:
            for side in range(2):
                if found < dips.shape[0] and has_hidden_dip(
                    form, ws, before, pieces, spans, levels, sums, side == 0
                ):
                    for i in range(3):
                        dips[found, i] = spans[1, i]
                    found += 1
        for i in range(2):
            times[i] = times[i + 1]
            for k in range(samples.shape[1]):
                samples[i, k] = samples[i + 1, k]
    return found


@entry
def sample_pivots(form, ws, qc, order, s, sums, pivots):
    """Relative pivots at s after the start of a step."""
    take_sample(form, ws, qc, order, s, sums, pivots)
