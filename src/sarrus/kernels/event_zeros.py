"""Events of a function that is a polynomial on adjacent intervals: crossings of zero, tangent contacts, extremes.

On each interval f(s) = sum b_j B_j(s), 0 <= s <= 1, in Bernstein polynomials of degree n [Farouki2012]:

    the graph lies within the hull of the b_j; the b_j at both ends are values of f
    f' has at most as many zeros as n (b_{j+1} - b_j) has changes of sign, and exactly one if there is one change
    halving an interval takes averages only

An interval whose hull excludes the event is left out. One on which f is monotone, or has one extreme, is solved;
others are halved. So f is read in order of time at places between which it is monotone, and that determines all
events. Neighbouring intervals differ at their common end by the error of the steps; a linear term that vanishes at
the end of an interval closes the gap at its start, so f is continuous: no zero is lost between two steps, and none
is found twice.

Values smaller than the band are not distinguished from zero; the band is wider than the error of the run:

    crossing          a zero, with the function outside the band and of opposite sign on both sides of it
    tangent contact   the function enters the band (also by two close zeros) and leaves it with the same sign
    extreme           before and after it the function is farther away than the band; if the function is the square
                      of a quantity, the root of it is

The start is not an event: a function that begins inside the band must leave it first. A function that enters the
band and stays there is not an event either: it settles at the value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Floats
from .compiler import entry, kernel, noinline

# Number of places inside the band after which a function has settled, or an extreme is flat.
MOST_INSIDE = 64
# What is searched: zeros, extremes of the function, or extremes of its square root.
NONE, OF_VALUES, OF_SQUARES = 0, 1, 2
# Kinds of events.
CROSSING, TANGENT, MAXIMUM, MINIMUM = 0.0, 1.0, 2.0, 3.0
# Columns of a place: time, value, length of its interval [s], whether it is a located zero, rate there [1/s].
TIME, VALUE, WIDTH, ZERO, RATE = range(5)
PLACE = 5
# Further columns of an event: its kind, and the sign of the function before it.
KIND, SIGN = 5, 6
FOUND = 7
# State: number of events found, sign of the function (of its slope for extremes), whether the run continues after
# an event with that sign, number of places inside the band (since the last extreme), time of settling, value at
# the end of the last interval and whether there is one; for extremes whether there is a place, the largest value
# so far and the error of squares relative to it, the lowest and the highest place.
COUNT, SIDE, CONTINUES, INSIDE, SETTLED, END, HAS_END, HAS_PLACE, LARGEST, ERROR = range(10)
LOW = ERROR + 1
HIGH = LOW + PLACE
STATE = HIGH + PLACE
# What is known about an interval: nothing, it excludes events, the function is monotone on it.
OPEN, AWAY, MONOTONE = 0, 1, 2
# Relative to the last interval: places closer to the end than this count as the end.
AT_END = 1e-6
# Halvings of an interval, and coefficients that are rounding, relative to the largest.
MOST_HALVINGS, ROUNDING = 40, 1e-15
# Iterations of Newton's method, safeguarded by bisection, and the step that is the last one.
MOST_ITERATIONS, LAST_STEP = 60, 1e-9


class EventDetector(NamedTuple):
    """What a search remembers: its state, the places inside the band, the events found since the last call.

    stack, ends: memory for halved intervals, their coefficients and their limits.
    """

    state: Floats
    inside: Floats
    found: Floats
    stack: Floats
    ends: Floats


def make_detector(side: int, terms: int, room: int, error: float = 0.0) -> EventDetector:
    """Memory of a search; side: the sign of the function before its start, if it continues; terms: n + 1.

    error: of squares whose extremes are searched, relative to the largest one.
    """
    state = np.zeros(STATE)
    state[ERROR] = error
    state[SIDE], state[CONTINUES], state[SETTLED] = side, float(side != 0), np.nan
    depth = MOST_HALVINGS + 2
    return EventDetector(
        state,
        np.zeros((MOST_INSIDE + 1, PLACE)),
        np.zeros((room, FOUND)),
        np.zeros((depth, terms)),
        np.zeros((depth, 2)),
    )


# places read in order of time


@kernel
def add_found(d, place, kind, sign):
    """Store an event, if there is room for it; it is counted in any case."""
    k = int(d.state[COUNT])
    if k < len(d.found):
        for i in range(PLACE):
            d.found[k, i] = place[i]
        d.found[k, KIND] = kind
        d.found[k, SIGN] = sign
    d.state[COUNT] += 1.0


@noinline
def leave_band(d, sign):
    """The function leaves the band with a sign: a crossing, a contact, or nothing."""
    inside, count, before = d.inside, int(d.state[INSIDE]), d.state[SIDE]
    zeros = 0
    for k in range(count):
        zeros += 1 if inside[k, ZERO] > 0.0 else 0
    if sign != before:
        # rounding may turn one zero into three
        wanted, passed = (zeros if zeros > 0 else count) // 2, 0
        for k in range(count):
            if zeros == 0 or inside[k, ZERO] > 0.0:
                if passed == wanted:
                    add_found(d, inside[k], CROSSING, before)
                passed += 1
        return
    deepest = -1
    for k in range(count):
        if inside[k, ZERO] == 0.0 and (
            deepest < 0 or before * inside[k, VALUE] < before * inside[deepest, VALUE]
        ):
            deepest = k
    if deepest >= 0 and d.state[CONTINUES] == 0.0:
        add_found(d, inside[deepest], TANGENT, before)


@noinline
def read_crossing(d, time, value, band, width, is_zero, rate):
    """Process the next place of a function that may reach zero."""
    state = d.state
    if is_zero or abs(value) <= band:
        if state[SIDE] != 0.0:
            place = d.inside[int(state[INSIDE])]
            place[TIME] = time
            place[VALUE] = value
            place[WIDTH] = width
            place[ZERO] = 1.0 if is_zero else 0.0
            place[RATE] = rate
            state[INSIDE] += 1.0
        if state[INSIDE] > MOST_INSIDE:
            if state[SETTLED] != state[SETTLED]:
                state[SETTLED] = d.inside[0, TIME]
            # a side that a run continues from remains the admissible one
            if state[CONTINUES] == 0.0:
                state[SIDE] = 0.0
            state[INSIDE] = 0.0
        return
    sign = 1.0 if value > 0.0 else -1.0
    if state[SIDE] != 0.0 and state[INSIDE] > 0.0:
        leave_band(d, sign)
    state[SIDE] = sign
    state[INSIDE] = 0.0
    state[CONTINUES] = 0.0


@kernel
def set_place(state, at, time, value, width):
    """Store the lowest or the highest place; the number of places since then is zero again."""
    state[at + TIME] = time
    state[at + VALUE] = value
    state[at + WIDTH] = width
    state[INSIDE] = 0.0


@kernel
def width_of_band(d, extremes, band, high, low):
    """Differences of the function that are not distinguished: the band, or that of squares."""
    if extremes == OF_SQUARES:
        roots = np.sqrt(max(high, 0.0)) + np.sqrt(max(low, 0.0))
        return band * roots + d.state[ERROR] * d.state[LARGEST]
    return band


@noinline
def read_extreme(d, extremes, time, value, band_of_quantity, width):
    """Process the next place of a function that may have an extreme."""
    state = d.state
    state[LARGEST] = max(state[LARGEST], abs(value))
    if state[HAS_PLACE] == 0.0:
        set_place(state, LOW, time, value, width)
        set_place(state, HIGH, time, value, width)
        state[HAS_PLACE] = 1.0
        return
    state[INSIDE] += 1.0
    other = state[HIGH + VALUE] if state[SIDE] >= 0.0 else state[LOW + VALUE]
    band = width_of_band(d, extremes, band_of_quantity, value, other)
    # on a flat extreme any instant is as good
    reach = band if state[SIDE] != 0.0 and state[INSIDE] > MOST_INSIDE else 0.0
    if state[SIDE] >= 0.0 and value > state[HIGH + VALUE] - reach:
        set_place(state, HIGH, time, value, width)
    if state[SIDE] <= 0.0 and value < state[LOW + VALUE] + reach:
        set_place(state, LOW, time, value, width)
    if state[SIDE] >= 0.0 and value < state[HIGH + VALUE] - band:
        if state[SIDE] > 0.0:
            add_found(d, state[HIGH : HIGH + PLACE], MAXIMUM, 1.0)
        state[SIDE] = -1.0
        set_place(state, LOW, time, value, width)
    elif state[SIDE] <= 0.0 and value > state[LOW + VALUE] + band:
        if state[SIDE] < 0.0:
            add_found(d, state[LOW : LOW + PLACE], MINIMUM, -1.0)
        state[SIDE] = 1.0
        set_place(state, HIGH, time, value, width)


@entry
def read_place(d, extremes, time, value, band, width, is_zero, rate):
    """Process the next place."""
    if extremes != NONE:
        read_extreme(d, extremes, time, value, band, width)
    else:
        read_crossing(d, time, value, band, width, is_zero, rate)


@entry
def finish_search(d, extremes, rounding):
    """The run ends: a zero among the last places counts; whether it ends at an extreme is unknown.

    rounding: of the function. If it is zero to rounding at the end, it reaches zero there; if it was so before, it
    has settled. A function that a run continues with has never left the band.
    """
    count = int(d.state[INSIDE])
    if extremes != NONE or count == 0 or d.state[CONTINUES] > 0.0:
        return
    zeros, only, deepest, first, side = 0, 0, 0, -1, d.state[SIDE]
    for k in range(count):
        if d.inside[k, ZERO] > 0.0:
            zeros += 1
            only = k
        if first < 0 and abs(d.inside[k, VALUE]) <= rounding:
            first = k
        if side * d.inside[k, VALUE] < side * d.inside[deepest, VALUE]:
            deepest = k
    last = d.inside[count - 1]
    if abs(last[VALUE]) <= rounding:
        if last[TIME] - d.inside[first, TIME] <= AT_END * last[WIDTH]:
            add_found(d, d.inside[first], CROSSING, side)
        elif d.state[SETTLED] != d.state[SETTLED]:
            d.state[SETTLED] = d.inside[first, TIME]
    elif zeros == 1:
        add_found(d, d.inside[only], CROSSING, side)
    elif deepest < count - 1:
        # at the end of the run the function may not have reached its minimum
        leave_band(d, side)
    d.state[INSIDE] = 0.0


# polynomials


@noinline
def eval_bernstein(b, n, s, work):
    """Value and derivative of a polynomial of degree n at s, by de Casteljau's scheme."""
    for j in range(n + 1):
        work[j] = b[j]
    slope = 0.0
    for r in range(n, 0, -1):
        if r == 1:
            slope = n * (work[1] - work[0])
        for j in range(r):
            work[j] += s * (work[j + 1] - work[j])
    return work[0], slope


@noinline
def solve_bernstein(b, n, work):
    """The zero of a polynomial with opposite signs at 0 and 1: Newton's method, safeguarded by bisection."""
    rises = b[n] > b[0]
    low, high = 0.0, 1.0
    x = b[0] / (b[0] - b[n])
    for _ in range(MOST_ITERATIONS):
        value, rate = eval_bernstein(b, n, x, work)
        if (value > 0.0) == rises:
            high = x
        else:
            low = x
        step = value / rate if rate != 0.0 else 2.0
        # the next step would be the square of this one; with the other slope it is rounding next to an end
        if abs(step) <= LAST_STEP and (rate > 0.0) == rises:
            return min(max(x - step, 0.0), 1.0)
        x = x - step
        if not (low < x and x < high):
            x = 0.5 * (low + high)
    return x


@noinline
def read_monotone(d, b, n, low, high, t, h, band, extremes, work):
    """Process a monotone part of an interval, from low to high: its start, its zero, its end."""
    first, last = t + low * h, t + high * h
    read_place(d, extremes, first, b[0], band, h, False, 0.0)
    if extremes == NONE and b[0] * b[n] < 0.0:
        x = solve_bernstein(b, n, work)
        _, rate = eval_bernstein(b, n, x, work)
        rate = rate / max((high - low) * h, 1e-300)
        read_place(d, extremes, t + (low + (high - low) * x) * h, 0.0, band, h, True, rate)
    read_place(d, extremes, last, b[n], band, h, False, 0.0)


@noinline
def split_at(b, n, x, first):
    """Split an interval at x: `first` gets the coefficients of the first part, b those of the second."""
    first[0] = b[0]
    for r in range(1, n + 1):
        for j in range(n + 1 - r):
            b[j] += x * (b[j + 1] - b[j])
        first[r] = b[0]


@noinline
def search_interval(d, n, t, h, band, extremes, work, slopes):
    """All events on the interval from t, of length h; d.stack[0]: its coefficients."""
    top = 0
    d.ends[0, 0] = 0.0
    d.ends[0, 1] = 1.0
    while top >= 0:
        b = d.stack[top]
        low, high = d.ends[top, 0], d.ends[top, 1]
        least, most, changes, sign, steepest = b[0], b[0], 0, 0.0, 0.0
        for j in range(n):
            least, most = min(least, b[j + 1]), max(most, b[j + 1])
            slope = b[j + 1] - b[j]
            slopes[j] = slope
            steepest = max(steepest, abs(slope))
            if slope != 0.0:
                now = 1.0 if slope > 0.0 else -1.0
                if sign * now < 0.0:
                    changes += 1
                sign = now
        if extremes == NONE and (least > band or most < -band):
            top -= 1
            continue
        flat = max(most, -least) <= band
        if extremes != NONE:
            d.state[LARGEST] = max(d.state[LARGEST], most, -least)
            flat = most - least <= width_of_band(d, extremes, band, most, least)
        rounding = steepest <= ROUNDING * max(abs(most), abs(least))
        halved = d.ends[top, 1] - d.ends[top, 0] < 2.0**-MOST_HALVINGS
        if changes == 1 and slopes[0] * slopes[n - 1] < 0.0:
            x = solve_bernstein(slopes, n - 1, work)
            split_at(b, n, x, d.stack[top + 1])
            middle = low + x * (high - low)
            read_monotone(d, d.stack[top + 1], n, low, middle, t, h, band, extremes, work)
            read_monotone(d, b, n, middle, high, t, h, band, extremes, work)
            top -= 1
        elif changes == 0 or flat or rounding or halved or top + 2 > MOST_HALVINGS:
            read_monotone(d, b, n, low, high, t, h, band, extremes, work)
            top -= 1
        else:
            split_at(b, n, 0.5, d.stack[top + 1])
            middle = 0.5 * (low + high)
            d.ends[top + 1, 0] = low
            d.ends[top + 1, 1] = middle
            d.ends[top, 0] = middle
            top += 1


@entry
def search_intervals(d, starts, ends, b, known, bands, extremes, work, slopes):
    """All events on some intervals, after those of earlier calls.

    starts, ends: of the intervals [s]; b: coefficients, one row each, at the least those at both ends where
    `known` says enough; bands: of each. work, slopes: scratch memory. d.state[END] closes the gap to the last
    interval.
    """
    n = b.shape[1] - 1
    state = d.state
    state[COUNT] = 0.0
    for k in range(len(starts)):
        gap = state[END] - b[k, 0] if state[HAS_END] > 0.0 else 0.0
        if k > 0 and starts[k] > ends[k - 1]:
            gap = 0.0
        h = ends[k] - starts[k]
        state[END] = b[k, n]
        if known[k] == MONOTONE:
            # no extreme inside: its ends show whether there is one between two intervals
            if state[HAS_END] == 0.0:
                read_place(d, extremes, starts[k], b[k, 0], bands[k], h, False, 0.0)
            read_place(d, extremes, ends[k], b[k, n], bands[k], h, False, 0.0)
        elif known[k] != AWAY:
            for j in range(n + 1):
                d.stack[0, j] = b[k, j] + gap * (1.0 - j / n)
            search_interval(d, n, starts[k], h, bands[k], extremes, work, slopes)
        state[HAS_END] = 1.0
    return int(state[COUNT])
