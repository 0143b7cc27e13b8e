"""Watching lanes for crossings: the samples and dips of kernels/watch.py, and when a value of J vanishes.

Lanes sample each step as the general watch does, its end included, so that a dip lies in this step and the one
before. At a crossing u.J vanishes, u the left vector of the smallest value of J with rows of length one. With
u found anew by inverse iteration, Gauss and Newton lead to the time at which |u.J| is least, without squares:

    far below what counts as zero     a crossing
    far above                         none
    neither, or values do not vanish together, motions touch, equations change parts: the run is for the general
    kernels and W, the judge. The values of J are not those of W; far is more than the two differ by.

Equations that depend on others before and behind a dip are left out of u: the rank of the others is what falls.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.reasons import UNCERTAIN
from ..kernels.rules import NOISE, SLACK
from ..kernels.watch import (
    AHEAD,
    ANGLE,
    BEYOND_TERM,
    DEEP,
    FEWEST_LOOKS,
    FLAT,
    GROWTH,
    LOOKS,
    LOW,
    NEAREST,
    SLOPE,
)
from ..thresholds import (
    CLEAR_VALUE,
    EPS,
    HIDDEN_AT_CROSSING,
    MOST_ZERO,
    SAME_BOTTOM,
    SAME_CROSSING,
    WATCHED_PIVOT,
)
from .arithmetic import combine, number, total
from .series import (
    HUGE,
    ZERO,
    LaneRun,
    Program,
    Scratch,
    eliminate,
    eval_forms,
    eval_jacobian,
    first_of_crossings,
    substitute,
)
from .structure import Slot, Structure

# crossings of a run up to which lanes keep them
MOST_CROSSINGS = 128
# steps of Gauss and Newton; the last is shorter than this share of the time between the samples. After some steps
# every other one halves what is left
SETTLING = 60
SETTLED = 1e-7
PATIENCE = 6.0
# turns of inverse iteration: each leaves of the other vectors the square of the smallest value
TURNS = 3
# where equations are redundant, a pivot this low shows whether another has risen: then the product of all is kept,
# up to the rounding of a pivot of EPS and what the position changes
SWAPPED_DEPTH = 1e-6
KEPT_PRODUCT = 1e-2
# where links turn less steadily than this they may turn back before the next sample: see `take_sample` there
STEADY = 2.0 / 3.0
# far above all pivots: an equation at which so much is subtracted does not count
LEFT_OUT = 1e30
# a crossing closer to another one, to the start or to the end of the run, in times between samples, is for others
TOO_CLOSE = 1e-4


class Looking(Scratch):
    """Memory in which positions of steps are looked at."""

    def __init__(self, o: Any, s: Structure, name: str) -> None:
        super().__init__(o, s, name)
        self._make = lambda other: Looking(o, s, other)
        memory = self.memory
        # where: since the start of the step; order of its series. The same in the step before; whether it is there
        self.s, self.order = memory.array(1), memory.array(1)
        self.early_s, self.early_order = memory.array(1), memory.array(1)
        self.early = memory.array(1)
        # half of the accelerations; pivots; how far links have turned, time until the next sample, its steady part
        self.a, self.f = memory.array(s.coordinates), memory.array(s.equations)
        self.turn, self.gap, self.steady = (memory.array(1) for _ in range(3))
        # |u.J|, to where it is least, and what it is there
        self.here, self.move, self.value = memory.array(1), memory.array(1), memory.array(1)


class Seen:
    """What is kept between steps: pivots of the last samples, the largest, squares of rows at the start."""

    def __init__(self, memory: Any, s: Structure, rows: int) -> None:
        self.f0, self.f1, self.f2 = (memory.array(s.equations) for _ in range(3))
        self.usual, self.size = memory.array(s.equations), memory.array(s.equations)
        # what is subtracted at each equation: EPS of its square, or so much that it does not count
        self.eps = memory.array(s.equations)
        # forms of the last sample, and the series of the step before
        self.e = memory.array(len(s.forms))
        self.before = memory.array(rows, s.coordinates)
        self.times = memory.array(MOST_CROSSINGS)


# at a position


def eval_place(o: Any, p: Program, w: Looking, both: bool) -> None:
    """w.q, w.v, w.a: the series at w.s; both: or that of the step before."""
    n = p.s.coordinates
    s, order = w.s[0], w.order[0]
    if both:
        early = w.early[0] > 0.0
        s = o.where(early, w.early_s[0], s)
        order = o.where(early, w.early_order[0], order)
    zero = o.constant(0.0)
    q, v, a = ([o.variable(zero) for _ in range(n)] for _ in range(3))
    for m in o.down(o.most(order), -1):
        counts = o.value(m) <= order
        for i in range(n):
            c = p.C[m, i]
            if both:
                c = o.where(early, p.seen.before[m, i], c)
            a[i].set(a[i].get() * s + v[i].get())
            v[i].set(v[i].get() * s + q[i].get())
            q[i].set(q[i].get() * s + o.where(counts, c, 0.0))
    for i in range(n):
        w.q[i], w.v[i], w.a[i] = q[i].get(), v[i].get(), a[i].get()


def measure_pivots(o: Any, p: Program, w: Looking) -> None:
    """w.f: pivots of J J^T over the squares of their rows at the start; w.e, w.J, w.L: at w.q."""
    s = p.s
    eval_forms(o, s, w)
    L: list[Any] = [None] * (s.unknowns + len(s.L_row))
    for at in s.pos_q:
        L[at] = o.constant(1.0)
    for k, at in enumerate(s.pos_c):
        L[at] = -p.seen.eps[k]
    for n, (value, (_, _, at)) in enumerate(
        zip(eval_jacobian(o, s, w.e.__getitem__), s.J, strict=True)
    ):
        w.J[n] = value
        L[at] = value if L[at] is None else L[at] + value
    eliminate(o, s, w, L)
    for k, at in enumerate(s.pos_c):
        w.f[k] = -1.0 / (w.L[at] * p.seen.size[k])


def take_sample(o: Any, p: Program, w: Looking) -> None:
    """Pivots in a step; w.turn: how far links have turned since the last sample, w.gap: when to look again."""
    s = p.s
    eval_place(o, p, w, both=False)
    o.call(measure_pivots, p, w)
    q_rates = [w.v[i] for i in range(s.coordinates)], [w.a[i] for i in range(s.coordinates)]
    rates, bends = (
        [total(o, combine(o, terms, x.__getitem__)) for terms in s.forms] for x in q_rates
    )
    sums: list[list[list[Any]]] = [[[] for _ in range(4)] for _ in range(s.equations)]
    for f, _, k, c in s.squares:
        size = o.abs(number(o, c)) if isinstance(c, Slot) else o.constant(abs(c))
        values = w.e[f], w.e[f] - p.seen.e[f], rates[f], bends[f]
        for part, x in zip(sums[k], values, strict=True):
            part.append(size * x * x)
    largest = [o.constant(0.0)] * 3
    for parts in sums:
        if parts[0]:
            length = total(o, parts[0])
            for n, part in enumerate(parts[1:]):
                share = o.where(length > 0.0, total(o, part) / length, 0.0)
                largest[n] = o.maximum(largest[n], share)
    turn, rate, half = (o.sqrt(x) for x in largest)
    below = rate + o.sqrt(rate * rate + half * (4.0 * ANGLE))
    w.turn[0] = turn
    w.gap[0] = o.where(below > 0.0, 2.0 * ANGLE / below, o.constant(HUGE))
    w.steady[0] = o.where(below > 0.0, rate * 2.0 / below, o.constant(1.0))


def look_at(o: Any, p: Program, w: Looking) -> None:
    """Pivots in a step or the one before."""
    eval_place(o, p, w, both=True)
    o.call(measure_pivots, p, w)


def descend(o: Any, p: Program, w: Looking) -> None:
    """w.here: |u.J| at w.s; w.move: to where it is least, by its slope, and w.value: what it is there."""
    s, nc = p.s, p.s.equations
    eval_place(o, p, w, both=True)
    o.call(measure_pivots, p, w)
    v = [w.v[i] for i in range(s.coordinates)]
    rates = [total(o, combine(o, terms, v.__getitem__)) for terms in s.forms]
    slopes = eval_jacobian(o, s, rates.__getitem__)
    size = [p.seen.size[k] for k in range(nc)]
    # from the equation with the smallest pivot: its row is nearest to depending on others
    least = w.f[0]
    for k in range(1, nc):
        least = o.minimum(least, w.f[k])
    one, zero = o.constant(1.0), o.constant(0.0)
    u = [o.where(w.f[k] <= least, one, zero) for k in range(nc)]
    for _ in range(TURNS):
        x = [zero] * s.unknowns
        for k, at in enumerate(s.pos_c):
            x[at] = u[k]
        substitute(s, w, x)
        u = [x[at] for at in s.pos_c]
        norm = o.sqrt(total(o, [c * y * y for c, y in zip(size, u, strict=True)]))
        u = [c * y / norm for c, y in zip(size, u, strict=True)]
    # rows of length one: u holds their weights times their squares
    u = [y / c for c, y in zip(size, u, strict=True)]
    r: list[list[Any]] = [[] for _ in range(s.coordinates)]
    slope: list[list[Any]] = [[] for _ in range(s.coordinates)]
    for n, (k, i, _) in enumerate(s.J):
        r[i].append(w.J[n] * u[k])
        slope[i].append(slopes[n] * u[k])
    here, there = [total(o, x) for x in r], [total(o, x) for x in slope]
    steep = total(o, [x * x for x in there])
    move = total(o, [x * y for x, y in zip(here, there, strict=True)]) / (steep + 1e-300)
    left = [x - y * move for x, y in zip(here, there, strict=True)]
    w.here[0], w.move[0] = o.sqrt(total(o, [x * x for x in here])), move
    w.value[0] = o.sqrt(total(o, [x * x for x in left]))


# along a run


class Watch:
    """Crossings of the runs in the lanes of a group: looks at each step after it was taken."""

    def __init__(self, run: LaneRun) -> None:
        self.run, self.o, self.s, self.p = run, run.o, run.s, run.p
        o, s = self.o, self.s
        self.w = Looking(o, s, "watching")
        self.seen = run.p.seen = Seen(run.p.memory, s, o.highest_order + 1)
        self.zero = o.argument(ZERO)
        new, none = o.variable, o.constant(0.0)
        # the last two samples, since the start of the step, and the time until the next
        self.s0, self.s1, self.gap = new(none), new(none), new(none)
        self.begun, self.count, self.latest = new(o.truth(False)), new(none), new(o.constant(-HUGE))
        # whether links may turn back behind the last two samples, and behind one of three
        self.turns, self.turned = [new(o.truth(False)) for _ in range(2)], new(o.truth(False))
        # of the step before: how long it was, and how far from closed it may be
        self.w.early_order[0], self.length, self.open = none, new(none), new(none)
        self._measure_rows()

    def _measure_rows(self) -> None:
        """Squares of the rows of J at the start; one that vanishes there is compared with the others."""
        o, s, w = self.o, self.s, self.run.w
        sums: list[list[Any]] = [[] for _ in range(s.equations)]
        for n, (k, _, _) in enumerate(s.J):
            sums[k].append(w.J[n] * w.J[n])
        sizes = [total(o, parts) for parts in sums]
        largest = o.constant(1e-300)
        for x in sizes:
            largest = o.maximum(largest, x)
        for k, x in enumerate(sizes):
            self.seen.size[k] = o.maximum(x, largest * 1e-6)
        self._count_all()

    def _count_all(self) -> None:
        """All equations count."""
        for k in range(self.s.equations):
            self.seen.eps[k] = self.seen.size[k] * EPS

    def look(self, took: Any, begin: Any) -> None:
        """Sample the step that these lanes just took; begin: when it began [s]."""
        if not self.s.equations:
            return
        o, run, w = self.o, self.run, self.w
        h, order = run.h.get(), run.order.get()
        w.order[0] = order
        last = took & (run.reason.get() >= 0.0)
        reach = self._reach(h, order)
        for _ in o.when(o.any(took & ~self.begun.get())):
            self._start(reach)
        end = o.where(last, run.end - begin, h)
        least = h * 1e-3
        limit, ended = o.variable(end), o.variable(o.truth(False))
        slow = o.maximum(h, (self.s1.get() - self.s0.get()) * GROWTH)
        ahead = o.variable(o.maximum(o.minimum(self.gap.get(), slow), least))
        active = o.variable(took)
        for _ in o.repeat(lambda: o.any(active.get())):
            now, s1, most = active.get(), self.s1.get(), limit.get()
            step, left = ahead.get(), most - s1
            # the end is a sample; those before it at equal distances
            s2 = o.where(step * 2.0 > left, s1 + left * 0.5, s1 + step)
            s2 = o.where(step >= left, most, s2)
            gap = s2 - s1
            w.s[0] = s2
            o.call(take_sample, self.p, w)
            # further than was foreseen: look in between
            turns = w.steady[0] < STEADY
            following = w.gap[0] * self._near(turns)
            fits = (gap <= following * AHEAD) & (w.turn[0] <= AHEAD * ANGLE)
            good = now & (fits | ~(gap > least))
            ahead.set(gap * 0.5, now & ~good)
            self._take(good, s2)
            self.turned.set(turns | self.turns[0].get() | self.turns[1].get())
            self._settle(self._may_dip(good), s1, s2, begin)
            self._doubt_hidden(good & self.turned.get(), s1, s2)
            self._shift(good, s2)
            self.turns[0].set(self.turns[1].get(), good)
            self.turns[1].set(turns, good)
            self.gap.set(following, good)
            slow = o.maximum(h, gap * GROWTH)
            ahead.set(o.maximum(o.minimum(following, slow), least), good)
            # at the end of the run one more beyond it, where the series still holds
            there = good & (s2 >= most)
            more = there & last & ~ended.get()
            ended.set(ended.get() | more)
            beyond = o.minimum(gap, reach)
            limit.set(most + beyond, more)
            ahead.set(beyond, more)
            doubtful = run.reason.get() >= float(UNCERTAIN)
            active.set(now & ~(there & ~more) & ~doubtful)
        self._leave(end, order)

    def _reach(self, h: Any, order: Any) -> Any:
        """How far the series can be followed beyond its step: where its last term is still small."""
        o, p = self.o, self.p
        size = o.variable(o.constant(0.0))
        for m in o.loop(2, o.most(order) + 1):
            size.set(p.log_size[m], o.value(m) <= order)
        far = (float(np.log(BEYOND_TERM)) - size.get()) / order
        return o.maximum(h, o.exp(o.maximum(o.minimum(far, o.constant(600.0)), o.constant(-600.0))))

    def _start(self, reach: Any) -> None:
        """The start, and a sample before it on the same series, which knows of no beginning."""
        o, s, w, seen = self.o, self.s, self.w, self.seen
        w.s[0] = o.constant(0.0)
        o.call(take_sample, self.p, w)
        gap = w.gap[0]
        self.turns[1].set(w.steady[0] < STEADY)
        for f in range(len(s.forms)):
            seen.e[f] = w.e[f]
        for k in range(s.equations):
            seen.f1[k] = w.f[k]
        before = -o.minimum(gap, reach)
        w.s[0] = before
        o.call(take_sample, self.p, w)
        for k in range(s.equations):
            seen.f0[k] = w.f[k]
            seen.usual[k] = o.maximum(w.f[k], seen.f1[k])
        self.turns[0].set(w.steady[0] < STEADY)
        self.s0.set(before)
        self.s1.set(o.constant(0.0))
        self.gap.set(gap)

    def _take(self, good: Any, s2: Any) -> None:
        """A sample of these lanes, before it is looked at."""
        o, w, seen = self.o, self.w, self.seen
        for k in range(self.s.equations):
            seen.f2[k] = w.f[k]
            seen.usual[k] = o.where(good, o.maximum(seen.usual[k], w.f[k]), seen.usual[k])
        for f in range(len(self.s.forms)):
            seen.e[f] = o.where(good, w.e[f], seen.e[f])

    def _near(self, turning: Any) -> Any:
        """How much nearer the next sample has to be where a pivot is low: see `eval_nearness`."""
        o, seen, share = self.o, self.seen, self.o.constant(LOW)
        for k in range(self.s.equations):
            lower = o.minimum(share, o.maximum(self.w.f[k], o.constant(0.0)) / seen.usual[k])
            share = o.where(seen.usual[k] > WATCHED_PIVOT, lower, share)
        near = o.maximum(o.sqrt(share * (1 / LOW)), o.constant(NEAREST))
        return o.where(turning, near, o.constant(1.0))

    def _doubt_hidden(self, good: Any, s1: Any, s2: Any) -> None:
        """Lanes in which a motion may turn back in a dip that samples do not show are for the general kernels.

        A pivot is low and rises from sample to sample, but falls at the middle one: `has_hidden_dip` seeks there.
        """
        o, w, seen, run = self.o, self.w, self.seen, self.run
        for f, other, s in ((seen.f0, seen.f2, self.s0.get()), (seen.f2, seen.f0, s2)):
            rising = []
            for k in range(self.s.equations):
                f1, usual = seen.f1[k], seen.usual[k]
                # what is below is rounding: the equation is redundant
                low = (f1 > WATCHED_PIVOT) & (f1 < usual * LOW)
                rising.append(low & (other[k] < f1) & (f1 < f[k]))
            seek = o.truth(False)
            for x in rising:
                seek = seek | x
            seek = seek & good
            for _ in o.when(o.any(seek)):
                self._place(s1 + (s - s1) * SLOPE)
                o.call(look_at, self.p, w)
                falls = o.truth(False)
                for k, x in enumerate(rising):
                    falls = falls | (x & (w.f[k] < seen.f1[k]))
                run.reason.set(o.constant(float(UNCERTAIN)), seek & falls)

    def _shift(self, good: Any, s2: Any) -> None:
        """It is the last one now."""
        o, seen = self.o, self.seen
        for k in range(self.s.equations):
            seen.f0[k] = o.where(good, seen.f1[k], seen.f0[k])
            seen.f1[k] = o.where(good, seen.f2[k], seen.f1[k])
        self.s0.set(self.s1.get(), good)
        self.s1.set(s2, good)

    def _leave(self, end: Any, order: Any) -> None:
        """Keep the series of the step, and count from its end."""
        o, n = self.o, self.s.coordinates
        for m in o.loop(0, o.most(order) + 1):
            for i in range(n):
                self.seen.before[m, i] = self.p.C[m, i]
        self.w.early_order[0] = order
        self.length.set(end)
        self.open.set(self._open())
        self.s0.set(self.s0.get() - end)
        self.s1.set(o.constant(0.0))
        self.begun.set(o.truth(True))

    def _open(self) -> Any:
        """How far from closed the positions of the last step may be: what its landing was allowed."""
        return self.run.local.get() * SLACK + NOISE

    def _dips(self, k: Any) -> Any:
        """Whether the pivot of an equation may dip to zero between the last three samples."""
        f0, f1, f2, usual = (
            x[k] for x in (self.seen.f0, self.seen.f1, self.seen.f2, self.seen.usual)
        )
        return (usual > WATCHED_PIVOT) & (f1 <= f0) & (f1 <= f2) & (f1 < usual * LOW)

    def _may_dip(self, good: Any) -> Any:
        found = self.o.truth(False)
        for k in range(self.s.equations):
            found = found | self._dips(k)
        return good & found

    def _place(self, s: Any) -> None:
        """Look at s from now on."""
        o, w = self.o, self.w
        early = (s < 0.0) & self.begun.get()
        w.s[0], w.early_s[0] = s, s + self.length.get()
        w.early[0] = o.where(early, o.constant(1.0), o.constant(0.0))

    def _settle(self, here: Any, s1: Any, s2: Any, begin: Any) -> None:
        """Find the crossings of lanes with dips, and leave those that are in doubt."""
        o = self.o
        for _ in o.when(o.any(here)):
            redundant, volume = self._look_around()
            deep, low, drop = self._look_closer(here, (s1, s2), redundant, volume)
            for _ in o.when(o.any(deep)):
                self._judge(deep, (self.s0.get(), low, s2), drop, begin)

    def _look_around(self) -> tuple[Any, Any]:
        """Whether equations depend on others beside a dip already, and the least product of all pivots there.

        Where the rank is kept one equation may take the part of another: a pivot falls, another one rises from
        EPS, and the product stays.
        """
        o, seen = self.o, self.seen
        redundant, least = o.truth(False), o.constant(HUGE)
        for f in (seen.f0, seen.f2):
            product = o.constant(1.0)
            for k in range(self.s.equations):
                redundant = redundant | ~(f[k] > WATCHED_PIVOT)
                product = product * f[k]
            least = o.minimum(least, product)
        return redundant, least

    def _look_closer(
        self, here: Any, samples: tuple[Any, Any], redundant: Any, volume: Any
    ) -> tuple[Any, Any, Any]:
        """Lanes whose dip is deep, as `is_dip` of the general kernel finds them; where, and how deep."""
        o, w, seen = self.o, self.w, self.seen
        (s1, s2), new, zero = samples, o.variable, o.constant(0.0)
        depth = o.where(redundant, o.constant(SWAPPED_DEPTH), o.constant(DEEP))
        deep, lowest, drop = new(o.truth(False)), new(s1), new(o.constant(1.0))
        s0 = self.s0.get()
        a, b, c, fa, fb, fc, looks = (new(zero) for _ in range(7))
        looking = new(o.truth(False))
        for k in o.loop(0, self.s.equations):
            usual = seen.usual[k]
            looking.set(here & ~deep.get() & self._dips(k))
            for x, value in ((a, s0), (b, s1), (c, s2), (looks, zero)):
                x.set(value)
            for x, array in ((fa, seen.f0), (fb, seen.f1), (fc, seen.f2)):
                x.set(array[k])
            for _ in o.repeat(lambda: o.any(looking.get())):
                now, f_low = looking.get(), fb.get()
                beside = o.maximum(fa.get(), fc.get())
                shown = (looks.get() >= float(FEWEST_LOOKS)) & (beside < f_low * FLAT)
                shown = shown | (looks.get() >= float(LOOKS))
                low = now & ((f_low < usual * depth) | (shown & (f_low < usual * DEEP)))
                deep.set(deep.get() | low)
                lowest.set(b.get(), low)
                drop.set(f_low / usual, low)
                now = now & ~low & ~shown
                looking.set(now)
                for _ in o.when(o.any(now)):
                    self._halve(k, now, (a, b, c), (fa, fb, fc))
                    looks.set(looks.get() + 1.0)
            swapped = deep.get() & redundant
            for _ in o.when(o.any(swapped)):
                self._place(lowest.get())
                o.call(look_at, self.p, w)
                product = o.constant(1.0)
                for j in range(self.s.equations):
                    product = product * w.f[j]
                deep.set(deep.get() & ~(swapped & (product > volume * KEPT_PRODUCT)))
        return deep.get(), lowest.get(), drop.get()

    def _halve(self, k: Any, now: Any, times: tuple[Any, ...], pivots: tuple[Any, ...]) -> None:
        """Look at the middle of the longer half between three times; the lowest pivot stays between the others."""
        o, w = self.o, self.w
        (a, b, c), (fa, fb, fc) = times, pivots
        left, middle, right, f_low = a.get(), b.get(), c.get(), fb.get()
        t = (middle + o.where(middle - left > right - middle, left, right)) * 0.5
        self._place(t)
        o.call(look_at, self.p, w)
        f = w.f[k]
        before, lower = t < middle, f <= f_low
        first = (lower & ~before) | (~lower & before)
        end, f_end = o.where(lower, middle, t), o.where(lower, f_low, f)
        for x, f_x, where in ((a, fa, now & first), (c, fc, now & ~first)):
            x.set(end, where)
            f_x.set(f_end, where)
        b.set(t, now & lower)
        fb.set(f, now & lower)

    def _judge(self, deep: Any, around: tuple[Any, Any, Any], drop: Any, begin: Any) -> None:
        """Follow a deep dip to where a value of J is least, and say what is there."""
        o, w, run = self.o, self.w, self.run
        low, start, high = around
        width = high - low
        wanted = width * SETTLED
        x, going = o.variable(start), o.variable(deep)
        settled, zero = o.variable(o.truth(False)), o.constant(0.0)
        value, left, right = o.variable(zero), o.variable(low), o.variable(high)
        kept = self._leave_out_redundant()
        for n in o.loop(0, SETTLING, lambda: o.any(going.get())):
            self._place(x.get())
            o.call(descend, self.p, w)
            now, move, here = going.get(), w.move[0], x.get()
            # the value rises away from its least: that lies between left and right
            right.set(here, now & (move > 0.0))
            left.set(here, now & ~(move > 0.0))
            there, lowest, highest = here - move, left.get(), right.get()
            # a motion that turns around has a least value without a slope
            close, shut = o.abs(move) <= wanted, highest - lowest <= wanted
            value.set(o.where(close, w.value[0], w.here[0]), now)
            settled.set(settled.get() | (now & (close | shut)))
            # beside a least value that is not zero the steps are too long or too short
            odd = o.value(n % 2) > 0.0
            halves = ~((there > lowest) & (there < highest)) | (odd & (o.value(n) > PATIENCE))
            there = o.where(halves & ~close, (lowest + highest) * 0.5, there)
            x.set(there, now)
            going.set(now & ~close & ~shut)
        self._count_all()
        self._place(x.get())
        o.call(look_at, self.p, w)
        together, lower = self._settled_together(drop)
        # a position that is not quite closed hides zeros
        hidden = o.maximum(self.open.get(), self._open()) * HIDDEN_AT_CROSSING
        most = o.maximum(self.zero, o.minimum(hidden, o.constant(MOST_ZERO)))
        sure = settled.get() & kept
        crossing = sure & together & (value.get() * CLEAR_VALUE <= self.zero)
        # a motion that turns back may cross twice: both are found elsewhere
        crossing = crossing & ~self.turned.get()
        none = sure & lower & (value.get() >= most * CLEAR_VALUE)
        t, near = begin + x.get(), width * TOO_CLOSE
        known = o.abs(t - self.latest.get())
        same = known <= width * SAME_CROSSING
        beside = (known <= near) | (o.abs(t) <= near) | (o.abs(t - run.end) <= near)
        outside = (t < 0.0) | (t > run.end)
        doubtful = deep & ~none & ~(crossing & (same | ~beside))
        found = crossing & ~same & ~beside & ~outside
        self._note(found, t)
        full = self.count.get() > float(MOST_CROSSINGS)
        run.reason.set(o.constant(float(UNCERTAIN)), doubtful | (found & full))

    def _redundant(self, k: int) -> tuple[Any, Any]:
        """Whether an equation depends on others before a dip, and behind it."""
        return ~(self.seen.f0[k] > WATCHED_PIVOT), ~(self.seen.f2[k] > WATCHED_PIVOT)

    def _leave_out_redundant(self) -> Any:
        """Equations that depend on others on both sides of a dip do not count in between, where they still do.

        Whether they do is seen at the end; returns lanes in which none does on one side only.
        """
        o, seen, kept = self.o, self.seen, self.o.truth(True)
        for k in range(self.s.equations):
            before, behind = self._redundant(k)
            both = before & behind
            kept = kept & (both | ~(before | behind))
            seen.eps[k] = o.where(both, o.constant(LEFT_OUT), seen.eps[k])
        return kept

    def _settled_together(self, drop: Any) -> tuple[Any, Any]:
        """Whether all pivots that dip vanish here, and redundant ones too; and whether no lower one was seen."""
        o, w, seen = self.o, self.w, self.seen
        together, least = o.truth(True), o.constant(1.0)
        for k in range(self.s.equations):
            redundant, _ = self._redundant(k)
            ends = o.maximum(seen.f0[k], seen.f2[k])
            vanishes = o.where(redundant, w.f[k] <= WATCHED_PIVOT, w.f[k] <= ends * SAME_BOTTOM)
            together = together & (vanishes | ~(redundant | self._dips(k)))
            share = o.minimum(least, w.f[k] / seen.usual[k])
            least = o.where(redundant, least, share)
        return together, least <= drop * FLAT

    def _note(self, found: Any, t: Any) -> None:
        """One more crossing of these lanes."""
        o, count = self.o, self.count.get()
        for n in o.loop(0, MOST_CROSSINGS):
            here = found & (count >= o.value(n)) & (count < o.value(n) + 1.0)
            self.seen.times[n] = o.where(here, t, self.seen.times[n])
        self.latest.set(t, found)
        self.count.set(count + 1.0, found)

    def summarise(self) -> None:
        """How many crossings each lane had, and when."""
        first = first_of_crossings(self.s)
        self.o.summarise(first, self.count.get())
        for n in range(MOST_CROSSINGS):
            self.o.summarise(first + 1 + n, self.seen.times[n])
