"""Monitoring a run for singular configurations: moments at which its Jacobian loses rank, or nearly does.

Every step is screened on its polynomial, and the zeros of those that hold any are located there
(kernels/crossing.py): nothing depends on where steps or outputs end, how fast the motion is or how far it swings.
Near misses that a run resolves by shorter steps have their zeros outside of all steps: they show as local minima
of the smallest pivot at the middles of the steps. All of these are candidates; W decides (verdict/candidates.py).
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints, plain_sum
from ..kernels import crossing as kernels
from ..kernels.layout import StepPolynomials, give_spare, take_spare
from ..kinematics.constraints import Constraints
from ..model import Model
from ..model.connected_parts import find_parts
from ..thresholds import (
    KEPT_RANK,
    LOW_MINIMUM,
    RANK_TOLERANCE,
    SHOWN_PIVOT,
    SINGULAR_START,
    SINGULAR_STEP_END,
)

# steps whose polynomials are monitored in one call
AT_ONCE = 1024
# the kind of the memory that finished runs leave to later ones
DISC_SPACE = "disc"
# zeros located in one call
PLACES = 256
# limit of the numbers stored for the steps around candidates: half a gigabyte
MOST_NUMBERS = 64_000_000
# weight of one additional independent equation, relative to log|g|
RANKED = 1e6
# the polynomial of the first step is used as far as its last terms, and all others, stay below these limits,
# relative to the mechanism's length
FAR_TERM, FAR_WAY = 1e-6, 0.3
# steps that are stored before an interval of lower rank; on both sides of the interval, this many steps are
# included, or those within this multiple of its duration
TAIL, AROUND, WINDOW = 24, 2, 3.0
# steps that are stored of such an interval; from then on every second one is dropped
LONGEST_TAIL = 512
# a smallest pivot below this, relative to its reference, also counts as a lower rank: branches that touch are so
# close over some steps, and the minimum of a single step says little about the time of their contact
DEEP_PIVOT = 1e-11
# coordinates up to which singular values of J are computed
DENSE = 600

# origin of a candidate that is not a number of zeros: a local minimum, an interval of lower rank
MINIMUM, CHANGE = 0, -1


@dataclass(frozen=True)
class Piece:
    """The motion from `start` to `end` [s]: q = sum of coefficients[k] (t - start)^k, model units."""

    start: float
    end: float
    coefficients: Floats

    def position(self, t: float) -> Floats:
        """Return the coordinates at a time."""
        return np.asarray(np.polynomial.polynomial.polyval(t - self.start, self.coefficients))

    def velocity(self, t: float) -> Floats:
        """Return the velocities at a time."""
        return self.derivative(t, 1)

    def derivative(self, t: float, order: int) -> Floats:
        """Return a time derivative of the coordinates; order 0: the coordinates themselves."""
        terms = self.coefficients
        for _ in range(order):
            # polyder does the same, one row at a time
            terms = terms[1:] * np.arange(1.0, len(terms))[:, None]
        if not len(terms):
            return np.zeros(self.coefficients.shape[1])
        return np.asarray(np.polynomial.polynomial.polyval(t - self.start, terms))

    def powers_about(self, t: float) -> Floats:
        """Return the coefficients of powers of the time since t."""
        orders = range(len(self.coefficients))
        return np.array([self.derivative(t, k) / math.factorial(k) for k in orders])

    @property
    def last_term(self) -> float:
        """The last term of the polynomial at the end, an estimate of the truncation error."""
        order = len(self.coefficients) - 1
        return float(np.abs(self.coefficients[-1]).max() * (self.end - self.start) ** order)


@dataclass(frozen=True)
class Candidate:
    """A time [s] at which J may lose rank, with the times before and after it [s] and the motion around it.

    zeros: the number of values that vanish there, or MINIMUM or CHANGE; variance: of the zeros [s^2], negative for
    a conjugate pair, or the squared duration of the interval; part: the part of the mechanism, -1 if unknown;
    resolved: whether its time is resolved; regular: the most regular configuration of the steps around it.
    """

    time: float
    low: float
    high: float
    zeros: int
    variance: float
    part: int
    resolved: bool
    regular: Floats
    pieces: tuple[Piece, ...]

    @property
    def times(self) -> tuple[float, float, float]:
        """The times before, at and after the candidate."""
        return self.low, self.time, self.high

    def piece(self, t: float) -> Piece:
        """Return the piece that contains a time; the first and the last piece are extrapolated."""
        return self.pieces[bisect_left(self.pieces[:-1], t, key=lambda p: p.end)]


# columns of the candidate rows
TIME, BEFORE, AFTER, ZEROS = kernels.TIME, kernels.BEFORE, kernels.AFTER, kernels.ZEROS
VARIANCE, PART, RESOLVED = kernels.VARIANCE, kernels.PART, kernels.RESOLVED


@dataclass(frozen=True)
class MonitoredSteps:
    """Candidates among some steps, as stored during a run, and the steps around them.

    found: one row per candidate (columns above); regular: the most regular configuration of these steps; starts,
    ends [s], orders, coefficients: of the steps; firsts, finals: the range of steps of each candidate; before:
    pieces of earlier steps in which the first candidates begin.
    """

    found: Floats
    regular: Floats
    starts: Floats
    ends: Floats
    orders: Ints
    coefficients: Floats
    firsts: Ints
    finals: Ints
    before: tuple[Piece, ...]

    def candidates(self) -> list[Candidate]:
        """Return the candidates."""
        pieces = [
            Piece(float(start), float(end), rows[: order + 1])
            for start, end, order, rows in zip(
                self.starts, self.ends, self.orders, self.coefficients, strict=True
            )
        ]
        return [
            Candidate(
                row[TIME],
                row[BEFORE],
                row[AFTER],
                int(row[ZEROS]),
                row[VARIANCE],
                int(row[PART]),
                bool(row[RESOLVED]),
                self.regular,
                (*(p for p in self.before if p.end > row[BEFORE]), *pieces[first:final]),
            )
            for row, first, final in zip(self.found.tolist(), self.firsts, self.finals, strict=True)
        ]


@dataclass(frozen=True)
class Watch:
    """What the monitor found along a motion.

    stretches: candidates; start: the pivot of each equation at the start; reference_pivots: the largest of each;
    begin: coordinates and velocities at the start; later: the most regular configuration of the first steps;
    parts: the part of the mechanism that each coordinate belongs to; until: end of the monitored motion [s]; left:
    the last time away from singular configurations [s].
    """

    stretches: tuple[MonitoredSteps, ...]
    start: Floats
    reference_pivots: Floats
    begin: Floats
    later: Floats
    parts: Ints
    until: float
    left: float

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All candidates of the run."""
        return tuple(c for stretch in self.stretches for c in stretch.candidates())

    @cached_property
    def passed(self) -> tuple[Candidate, ...]:
        """The candidates of a failed run, without minima among its last singular steps, which are noise."""
        return tuple(c for c in self.candidates if c.zeros > 0 or c.time <= self.left)

    @property
    def singular_start(self) -> bool:
        """Whether an equation is redundant at the start but not throughout."""
        most = self.reference_pivots.max(initial=0.0)
        if self.start.min(initial=np.inf) >= max(SINGULAR_START * most, 0.1 * SHOWN_PIVOT):
            return False
        zero = np.maximum(SINGULAR_START * self.reference_pivots, 0.1 * SHOWN_PIVOT)
        return bool(np.any((self.reference_pivots > SHOWN_PIVOT) & (self.start < zero)))


class _Seen:
    """Monitoring results of some steps: one row each (kernels/crossing.py), midpoint configurations, zeros.

    regularity: of the midpoint configurations, largest for those of highest rank that are far from a loss of rank;
    regular: the most regular of them.
    """

    def __init__(self, rows: Floats, middles: Floats, places: Floats) -> None:
        self.rows, self.middles, self.places = rows, middles, places
        level = rows[:, kernels.REGULARITY] + RANKED * rows[:, kernels.RANK]
        # nan is not regular
        self.regularity = np.where(np.isnan(level), -np.inf, level)
        self.regular: Floats = middles[self.regularity.argmax()]


class _Known(NamedTuple):
    """An earlier step: its smallest pivot, rank, polynomial, midpoint configuration and how regular that is."""

    low: float
    rank: float
    piece: Piece
    middle: Floats
    regularity: float


class Watcher:
    """Stores the candidates of a motion and the steps around them.

    look() accepts the polynomials of some steps in the order of time, from one method or from several in
    succession. cpu: CPU time used [s].
    """

    def __init__(self, model: Model) -> None:
        nq, nc = model.coordinates, model.equations
        self._form, self._nq, self._spare = model.form, nq, model.structure.spare
        tables = model.structure.fact(
            "elimination", lambda: kernels.find_tables(model.form, find_parts(model.form))
        )
        self._parts = tables.parts
        self._structure = kernels.make_structure(model.form, tables)
        self._disc: kernels.Disc | None = None
        self._usual, self._start = np.zeros(nc), np.zeros(nc)
        # the last steps, and the time up to which intervals of lower rank are known
        self._tail: list[_Known] = []
        self._passed = 0.0
        # times of zeros in the last steps
        self._times: list[float] = []
        self._until = self._left = self._rank = 0.0
        self._begin = np.zeros((2, nq))
        self._later = np.zeros(nq)
        self._begun = False
        self._stretches: list[MonitoredSteps] = []
        self._kept = 0
        self._blind: float | None = None
        # the steps of the last call, and their monitoring results
        self._latest: list[tuple[Floats, _Seen]] = []
        self.cpu = 0.0

    def look(self, pieces: StepPolynomials, steps: int, *, last: bool) -> list[MonitoredSteps]:
        """Monitor some steps and return those with candidates; last: the run ends with them."""
        cpu = time.thread_time()
        before = len(self._stretches)
        self._latest = []
        for first in range(0, steps, AT_ONCE):
            final = min(first + AT_ONCE, steps)
            self._look(pieces.some(first, final), final - first, last and final == steps)
        self.cpu += time.thread_time() - cpu
        return self._stretches[before:]

    def _look(self, pieces: StepPolynomials, steps: int, last: bool) -> None:
        if self._blind is not None:
            return
        self._until = float(pieces.starts[steps])
        if not len(self._usual):
            return
        if not self._begun:
            self._begin = pieces.coefficients[0, :2, : self._nq].copy()
            self._look_at_start(pieces)
        seen = self._search(pieces, steps)
        if not self._begun:
            self._later = seen.regular
            self._begun = True
        self._rank = max(self._rank, float(seen.rows[:, kernels.RANK].max()))
        full = seen.rows[:, kernels.RANK] == self._rank
        away = np.flatnonzero(full & (seen.rows[:, kernels.LOW] > LOW_MINIMUM))
        self._left = float(pieces.starts[away[-1]]) if len(away) else self._left
        self._latest.append((pieces.starts[: steps + 1], seen))
        found = self._collect(pieces, steps, seen, last)
        if len(found):
            self._keep(pieces, steps, seen, found)
        if not last:
            self._remember(pieces, steps, seen)

    def _look_at_start(self, pieces: StepPolynomials) -> None:
        """Compute pivots at the start and, where some vanish, as far along its polynomial as it is accurate."""
        rows = pieces.coefficients[0, : pieces.orders[0] + 1, : self._nq]
        self._eval_pivots(rows[:1].copy(), pieces.coefficients.shape[1], self._start)
        if self._start.all():
            return
        # the last nonzero terms stay small, and all others below a fraction of a link
        sizes = np.abs(rows[1:]).max(axis=1)
        terms = np.flatnonzero(sizes)
        if not len(terms) or not np.isfinite(sizes).all():
            return
        most = np.full(len(sizes), FAR_WAY)
        most[terms[-2:]] = FAR_TERM if len(terms) > 2 else FAR_WAY
        reach = float(((most[terms] / sizes[terms]) ** (1.0 / (terms + 1.0))).min())
        pivots = np.zeros(len(self._start))
        for s in (-reach, reach):
            q = np.add.reduce(s ** np.arange(len(rows))[:, None] * rows)
            self._eval_pivots(q[None], 1, pivots)
            np.maximum(self._usual, pivots, out=self._usual)

    def _memory(self, rows: int) -> kernels.Disc:
        if self._disc is None or len(self._disc.powers) < rows:
            self._disc = take_spare(
                self._spare, (DISC_SPACE, rows), lambda: kernels.make_disc(self._form, self._structure, rows)
            )  # fmt: skip
            self._disc.reference_pivots[:] = self._usual
            self._usual = self._disc.reference_pivots
        return self._disc

    def _eval_pivots(self, q: Floats, rows: int, pivots: Floats) -> None:
        disc = self._memory(rows)
        kernels.eval_pivots_at(self._form, self._structure, disc, q, pivots)

    def _search(self, pieces: StepPolynomials, steps: int) -> _Seen:
        """Return the screening results of each step and the zeros found."""
        rows, middles = np.empty((steps, kernels.SEEN)), np.empty((steps, self._nq))
        disc = self._memory(pieces.coefficients.shape[1])
        done, parts = 0, []
        while done < steps:
            room = np.empty((PLACES, kernels.PLACE))
            done, count = kernels.look_at_steps(
                self._form, self._structure, disc, pieces, done, steps, rows, middles, room
            )
            parts.append(room[:count])
        places = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return _Seen(rows, middles, places)

    def _collect(self, pieces: StepPolynomials, steps: int, seen: _Seen, last: bool) -> Floats:
        """Return all candidates among some steps, one row each, in the order of time."""
        found = seen.places
        self._times = sorted([*self._times, *found[:, TIME].tolist()])
        more = self._minima(pieces, steps, seen, self._times, last)
        if more:
            found = np.concatenate([found, more])
        return found[np.argsort(found[:, TIME])] if len(found) > 1 else found

    def _minima(
        self, pieces: StepPolynomials, steps: int, seen: _Seen, known: list[float], last: bool
    ) -> list[tuple[float, ...]]:
        """Return minima of the smallest pivot and intervals of lower rank; known: increasing times of zeros."""
        old = self._tail
        low, full = seen.rows[:, kernels.LOW].min(), seen.rows[:, kernels.RANK].min() == self._rank
        if not old and full and not low < LOW_MINIMUM:
            return []
        full = full and not low < DEEP_PIVOT
        edges = pieces.starts[: steps + 1]
        lows, ranks = seen.rows[:, kernels.LOW], seen.rows[:, kernels.RANK]
        if old:
            edges = np.concatenate([[x.piece.start for x in old], edges])
            lows = np.concatenate([[x.low for x in old], lows])
            ranks = np.concatenate([[x.rank for x in old], ranks])
        lower = (ranks < self._rank) | (lows < DEEP_PIVOT)
        out: list[tuple[float, ...]] = []
        if old or not full:
            out = self._stretches_of_lower_rank(edges.tolist(), lower.tolist(), last)
        # beyond the ends of a run nothing is lower
        around = np.concatenate([[math.inf], lows, [math.inf]])
        minimal = (lows < LOW_MINIMUM) & (around[:-2] >= lows) & (lows < around[2:]) & ~lower
        # the steps before the last are known
        first, final = max(len(old) - 1, 0), len(lows) - (not last)
        middles = 0.5 * (edges[:-1] + edges[1:])
        for i in (first + minimal[first:final].nonzero()[0]).tolist():
            before, after = max(i - 1, 0), min(i + 1, len(lows) - 1)
            begin = float(middles[before] if i else edges[0])
            end = float(middles[after] if after > i else edges[-1])
            same = ranks[before] == ranks[i] == ranks[after]
            # a zero in this interval is itself the minimum
            if same and bisect_left(known, begin) == bisect_right(known, end):
                out.append((float(middles[i]), begin, end, MINIMUM, 0.0, -1.0, 1.0, -1.0))
        return out

    def _stretches_of_lower_rank(
        self, starts: list[float], lower: list[bool], last: bool
    ) -> list[tuple[float, ...]]:
        """Return intervals in which J is rank-deficient up to rounding, each with its zero of higher order.

        They include some steps before and after, which locate the zero; an interval at the start of the run means
        the start.
        """
        out: list[tuple[float, ...]] = []
        n = len(lower)
        for i in (i for i in range(1, n) if lower[i] and not lower[i - 1]):
            j = i
            while j < n and lower[j]:
                j += 1
            if (j + AROUND > n and not last) or starts[j] <= self._passed:
                # more steps will follow, or the whole interval is known
                continue
            self._passed = starts[j]
            width, a, b = starts[j] - starts[i], i - 1, min(j + 1, n)
            while a > 0 and (i - a < AROUND or starts[i] - starts[a] < WINDOW * width):
                a -= 1
            while b < n and (b - j < AROUND or starts[b] - starts[j] < WINDOW * width):
                b += 1
            middle = 0.5 * (starts[i] + starts[j])
            out.append((middle, starts[a], starts[b], CHANGE, width * width, -1.0, 1.0, -1.0))
        return out

    def _is_lower(self, low: float, rank: float) -> bool:
        """Whether the rank in a step is lower than elsewhere, up to rounding."""
        return rank < self._rank or low < DEEP_PIVOT

    def _keep(self, pieces: StepPolynomials, steps: int, seen: _Seen, found: Floats) -> None:
        """Store candidates with the steps around them."""
        ends = pieces.starts[1 : steps + 1]
        firsts = np.minimum(ends.searchsorted(found[:, BEFORE], "right"), steps - 1)
        finals = np.minimum(ends.searchsorted(found[:, AFTER], "left") + 1, steps)
        inside = np.zeros(steps, bool)
        for a, b in zip(firsts.tolist(), finals.tolist(), strict=True):
            inside[a:b] = True
        kept = inside.nonzero()[0]
        orders = pieces.orders[kept]
        stretch = MonitoredSteps(
            found=found,
            regular=self._most_regular(seen),
            starts=pieces.starts[kept],
            ends=ends[kept],
            orders=orders,
            coefficients=pieces.coefficients[kept, : int(orders.max()) + 1, : self._nq],
            firsts=kept.searchsorted(firsts),
            finals=kept.searchsorted(finals - 1) + 1,
            before=tuple(x.piece for x in self._tail if x.piece.end > found[:, BEFORE].min()),
        )
        self._stretches.append(stretch)
        self._kept += stretch.coefficients.size
        if self._kept > MOST_NUMBERS:
            # limits the memory of very long runs
            self._blind = self._until

    def _remember(self, pieces: StepPolynomials, steps: int, seen: _Seen) -> None:
        """Store the last steps, because candidates near their end are evaluated with the next steps."""
        first = steps - 1
        # an interval of lower rank began after the last step of full rank
        while first > 0 and self._is_lower(*seen.rows[first, [kernels.LOW, kernels.RANK]].tolist()):
            first -= 1
        for n in range(max(first + 1 - TAIL, 0), steps):
            start, end = float(pieces.starts[n]), float(pieces.starts[n + 1])
            rows = pieces.coefficients[n, : pieces.orders[n] + 1, : self._nq].copy()
            low, rank = (float(seen.rows[n, k]) for k in (kernels.LOW, kernels.RANK))
            piece, middle = Piece(start, end, rows), seen.middles[n].copy()
            self._tail.append(_Known(low, rank, piece, middle, float(seen.regularity[n])))
        self._shorten_tail()
        self._times = [t for t in self._times if t >= self._tail[0].piece.start]

    def _shorten_tail(self) -> None:
        """Drop steps that are not needed: all but the last ones, and those before an interval of lower rank."""
        full = [i for i, x in enumerate(self._tail) if not self._is_lower(x.low, x.rank)]
        until = full[-1] + 1 if full else len(self._tail)
        self._tail = self._tail[max(until - TAIL, 0) :]
        if len(self._tail) > LONGEST_TAIL:
            self._tail[TAIL:-TAIL] = self._tail[TAIL:-TAIL:2]

    def _most_regular(self, seen: _Seen) -> Floats:
        """Return the most regular configuration of these steps and the last ones before, if these are few."""
        best = max(self._tail, key=lambda x: x.regularity, default=None)
        if best is None or len(seen.rows) > TAIL or best.regularity <= seen.regularity.max():
            return seen.regular
        return best.middle

    def loses_rank(self, c: Candidate) -> bool:
        """Whether J itself loses rank at a candidate; redundant equations may replace each other instead."""
        return self._is_weak(c.piece(c.time).position(c.time), c.regular)

    def singular_intervals(self) -> list[tuple[float, float, float]]:
        """Return the intervals in which J nearly loses rank among the last steps: start, lowest step, end [s]."""
        found = []
        for starts, seen in self._latest:
            rank, low = seen.rows[:, kernels.RANK], seen.rows[:, kernels.LOW]
            low = np.where(rank < self._rank, 0.0, low)
            edges = np.flatnonzero(np.diff(low < SINGULAR_STEP_END, prepend=False, append=False))
            for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
                n = first + int(low[first:last].argmin())
                if self._is_weak(seen.middles[n], self._most_regular(seen)):
                    middle = 0.5 * float(starts[n] + starts[n + 1])
                    found.append((float(starts[first]), middle, float(starts[last])))
        return found

    def _is_weak(self, q: Floats, regular: Floats) -> bool:
        """Whether a counted singular value of J is much smaller than in a regular configuration."""
        if self._nq > DENSE:
            return True
        J = Constraints(self._form).jacobian
        here, reference_pivots = (np.linalg.svd(J(x), compute_uv=False) for x in (q, regular))
        rank = int(np.sum(reference_pivots > RANK_TOLERANCE * reference_pivots.max(initial=0.0)))
        return bool(rank and here[rank - 1] < KEPT_RANK * reference_pivots[rank - 1])

    def pivots(self, q: Floats) -> tuple[float, float]:
        """Return the smallest pivot at a configuration, and over its reference; 1 if none is ever independent."""
        pivots = np.zeros(len(self._usual))
        if not len(pivots):
            return 1.0, 1.0
        self._eval_pivots(q[None], 1, pivots)
        used = self._usual > SHOWN_PIVOT
        ratios = pivots[used] / self._usual[used]
        return float(pivots[used].min(initial=1.0)), float(ratios.min(initial=1.0))

    def release(self) -> None:
        """Leave the memory to later runs."""
        if self._disc is not None:
            give_spare(self._spare, (DISC_SPACE, len(self._disc.powers)), self._disc)

    def notes(self) -> list[str]:
        """Return notes for the user."""
        if self._blind is None:
            return []
        count = plain_sum(len(s.found) for s in self._stretches)
        return [
            f"crossings are reported up to t = {self._blind:.9g} s: the motion around {count} near-singular "
            "moments is kept until then, and more would fill the memory; simulate the rest from there"
        ]

    def watch(self) -> Watch:
        """Return everything found."""
        return Watch(
            stretches=tuple(self._stretches),
            start=self._start.copy(),
            reference_pivots=self._usual.copy(),
            begin=self._begin,
            later=self._later,
            parts=self._parts,
            until=self._until,
            left=self._left,
        )
