"""Monitoring a run for singular configurations: moments at which its Jacobian loses rank, or nearly does.

Every step is screened on its polynomial, and the zeros of those that hold any are located there (kernels/crossing.py):
nothing depends on where steps or outputs end, how fast the motion is or how far it swings. Near misses that a run
resolves by shorter steps have their zeros outside of all steps: they show as local minima of the smallest pivot at
the middles of the steps. All of these are candidates; W decides (verdict/crossings.py).
"""

from __future__ import annotations

import time
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Floats, Ints
from ..kernels import crossing as kernels
from ..kernels.layout import Pieces
from ..kinematics.constraints import Constraints
from ..model import Model
from ..thresholds import KEPT_RANK, LOW_MINIMUM, SHOWN_PIVOT, SINGULAR_START

# steps whose polynomials are monitored at once
AT_ONCE = 1024
# zeros that are found at once
PLACES = 256
# numbers that are kept of the steps around candidates: half a gigabyte
MOST_NUMBERS = 64_000_000
# steps before and after a candidate among which a regular configuration is looked for
NEARBY = 24
# the polynomial of the first step is followed as far as its last terms, and all others, stay below this, over the
# mechanism's length
FAR_TERM, FAR_WAY = 1e-6, 0.3
# coordinates up to which singular values of J are computed
DENSE = 600

# where a candidate comes from, if not from so many zeros: a local minimum, a change of the rank
MINIMUM, CHANGE = 0, -1


@dataclass(frozen=True)
class Piece:
    """The motion from `start` to `end` [s]: q = sum of coefficients[k] (t - start)^k, model units."""

    start: float
    end: float
    coefficients: Floats

    def position(self, t: float) -> Floats:
        """Coordinates at a time."""
        return np.asarray(np.polynomial.polynomial.polyval(t - self.start, self.coefficients))

    def velocity(self, t: float) -> Floats:
        """Their rates."""
        rates = self.coefficients[1:] * np.arange(1.0, len(self.coefficients))[:, None]
        return np.asarray(np.polynomial.polynomial.polyval(t - self.start, rates))

    @property
    def last_term(self) -> float:
        """The last term of the polynomial at the end: about what it leaves out."""
        order = len(self.coefficients) - 1
        return float(np.abs(self.coefficients[-1]).max() * (self.end - self.start) ** order)


@dataclass(frozen=True)
class Candidate:
    """A moment at which J may lose rank: when [s], the times before and after it [s], and the motion there.

    zeros: how many values vanish there, or MINIMUM or CHANGE; variance: of the zeros [s^2], negative for a conjugate
    pair; part: the part of the mechanism, -1 if it is not known; resolved: whether its time is known; regular: coordinates
    at regular configurations before and after it.
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
        """The time, and those before and after it."""
        return self.low, self.time, self.high

    def piece(self, t: float) -> Piece:
        """The piece that holds a time; the first and the last go on beyond their ends."""
        return self.pieces[bisect_left(self.pieces[:-1], t, key=lambda p: p.end)]


# columns of what is kept of candidates
TIME, BEFORE, AFTER, ZEROS, VARIANCE, PART, RESOLVED = range(7)


@dataclass(frozen=True)
class Stretch:
    """Candidates among some steps, as they are kept during a run, and the steps around them.

    found: a row for each (columns above); regular: configurations near each, (n, 2, nq); starts, ends [s], orders,
    coefficients: of the steps; firsts, finals: which of them belong to each candidate; before: pieces of earlier
    steps that the first candidates begin in.
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
        """One by one."""
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
                self.regular[i],
                (*(p for p in self.before if p.end > row[BEFORE]), *pieces[first:final]),
            )
            for i, (row, first, final) in enumerate(
                zip(self.found.tolist(), self.firsts, self.finals, strict=True)
            )
        ]


@dataclass(frozen=True)
class Watch:
    """What was seen along a motion.

    stretches: candidates; start: the pivot of each equation at the start; usual: the largest that it has shown;
    begin: position and velocity at the start; later: the most regular position of the first steps; parts: which part
    of the mechanism each coordinate belongs to; until: the motion was monitored up to there [s].
    """

    stretches: tuple[Stretch, ...]
    start: Floats
    usual: Floats
    begin: Floats
    later: Floats
    parts: Ints
    until: float

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All of the run."""
        return tuple(c for stretch in self.stretches for c in stretch.candidates())

    @property
    def singular_start(self) -> bool:
        """Whether an equation depends on others at the start, and not all along."""
        zero = np.maximum(SINGULAR_START * self.usual, 0.1 * SHOWN_PIVOT)
        return bool(np.any((self.usual > SHOWN_PIVOT) & (self.start < zero)))


class Watcher:
    """Keeps the candidates of a motion, and the steps around them.

    look() takes the polynomials of some steps, in the order of time, of one method or of several one after the
    other. cpu: seconds it took.
    """

    def __init__(self, model: Model) -> None:
        nq, nc = model.coordinates, model.equations
        self._form, self._nq = model.form, nq
        self._parts = np.zeros(nq, np.int64)
        kernels.find_parts(model.form, self._parts)
        self._structure = kernels.make_structure(model.form, self._parts)
        self._disc: kernels.Disc | None = None
        self._usual, self._start = np.zeros(nc), np.zeros(nc)
        # middles of steps, smallest pivots there, ranks and pieces of the last two steps
        self._tail: list[tuple[float, float, float, Piece]] = []
        # times of zeros in the last steps
        self._times: list[float] = []
        self._until = 0.0
        self._begin = np.zeros((2, nq))
        self._later = np.zeros(nq)
        self._begun = False
        self._stretches: list[Stretch] = []
        self._kept = 0
        self._blind: float | None = None
        self._value = 0.0
        self.cpu = 0.0

    def look(self, pieces: Pieces, steps: int, *, last: bool) -> list[Stretch]:
        """Monitor some steps; last: the run ends with them. Returns those with candidates."""
        cpu = time.thread_time()
        before = len(self._stretches)
        for first in range(0, steps, AT_ONCE):
            final = min(first + AT_ONCE, steps)
            self._look(pieces.some(first, final), final - first, last and final == steps)
        self.cpu += time.thread_time() - cpu
        return self._stretches[before:]

    def _look(self, pieces: Pieces, steps: int, last: bool) -> None:
        if self._blind is not None:
            return
        self._until = float(pieces.starts[steps])
        if not len(self._usual):
            return
        if not self._begun:
            self._begin = pieces.coefficients[0, :2, : self._nq].copy()
            self._look_at_start(pieces)
        seen, places = self._search(pieces, steps)
        if not self._begun:
            self._later = self._most_regular(pieces, seen, 0, steps)
            self._begun = True
        found = self._collect(pieces, steps, seen, places, last)
        if len(found):
            self._keep(pieces, steps, seen, found)
        self._remember(pieces, steps, seen)

    def _look_at_start(self, pieces: Pieces) -> None:
        """Pivots at the start, and where some vanish those as far as its polynomial leads."""
        rows = pieces.coefficients[0, : pieces.orders[0] + 1, : self._nq]
        self._eval_pivots(rows[:1].copy(), pieces.coefficients.shape[1], self._start)
        if self._start.all():
            return
        # the last terms that do not vanish stay small, and all others below a share of a link
        sizes = np.abs(rows[1:]).max(axis=1)
        terms = np.flatnonzero(sizes)
        if not len(terms) or not np.isfinite(sizes).all():
            return
        most = np.full(len(sizes), FAR_WAY)
        most[terms[-2:]] = FAR_TERM if len(terms) > 2 else FAR_WAY
        reach = float(((most[terms] / sizes[terms]) ** (1.0 / (terms + 1.0))).min())
        pivots = np.zeros(len(self._start))
        for s in (-reach, reach):
            q = np.polynomial.polynomial.polyval(s, rows)
            self._eval_pivots(q[None], 1, pivots)
            np.maximum(self._usual, pivots, out=self._usual)

    def _memory(self, rows: int) -> kernels.Disc:
        if self._disc is None or len(self._disc.powers) < rows:
            self._disc = kernels.make_disc(self._form, self._structure, rows)
            self._disc.usual[:] = self._usual
            self._usual = self._disc.usual
        return self._disc

    def _eval_pivots(self, q: Floats, rows: int, pivots: Floats) -> None:
        disc = self._memory(rows)
        kernels.eval_pivots_at(self._form, self._structure, disc, q, pivots)

    def _search(self, pieces: Pieces, steps: int) -> tuple[Floats, Floats]:
        """What the screen says of each step, and the zeros found."""
        seen, room = np.zeros((steps, kernels.SEEN)), np.zeros((PLACES, kernels.PLACE))
        disc = self._memory(pieces.coefficients.shape[1])
        done, parts = 0, []
        while done < steps:
            done, count = kernels.look_at_steps(
                self._form, self._structure, disc, pieces, done, steps, seen, room
            )
            parts.append(room[:count].copy())
        return seen, np.concatenate(parts)

    def _collect(
        self, pieces: Pieces, steps: int, seen: Floats, places: Floats, last: bool
    ) -> Floats:
        """All candidates among some steps: a row for each, in the order of time."""
        starts = pieces.starts
        found = []
        for row in places:
            n = int(row[kernels.STEP])
            t = float(starts[n] + row[kernels.TIME])
            if self._loses_rank(pieces, n, float(row[kernels.TIME]), seen[n, kernels.RANK]):
                zeros = max(int(round(row[kernels.ZEROS])), 1)
                which = row[kernels.PART], row[kernels.RESOLVED]
                found.append(
                    (t, starts[n], starts[n + 1], zeros, row[kernels.VARIANCE], *which)
                )
        since = self._tail[0][0] if self._tail else starts[0]
        self._times = [t for t in self._times if t >= since]
        self._times += [row[TIME] for row in found]
        found += self._minima(pieces, steps, seen, self._times, last)
        return np.array(sorted(found)).reshape(-1, RESOLVED + 1)

    def _loses_rank(self, pieces: Pieces, n: int, s: float, rank: float) -> bool:
        """Whether J itself loses rank, where equations were left out: others may take their part."""
        if rank == len(self._usual) or self._nq > DENSE:
            return True
        piece = pieces.coefficients[n, : pieces.orders[n] + 1, : self._nq]
        middle = 0.5 * (pieces.starts[n + 1] - pieces.starts[n])
        J = Constraints(self._form).jacobian
        here, aside = (
            np.linalg.svd(J(np.polynomial.polynomial.polyval(t, piece)), compute_uv=False)
            for t in (s, middle)
        )
        self._value = max(self._value, float(aside[int(rank) - 1]))
        return bool(here[int(rank) - 1] < KEPT_RANK * self._value)

    def _minima(
        self, pieces: Pieces, steps: int, seen: Floats, known: list[float], last: bool
    ) -> list[tuple[float, ...]]:
        """Local minima of the smallest pivot, and changes of the rank; known: times of other candidates."""
        middles = 0.5 * (pieces.starts[:steps] + pieces.starts[1 : steps + 1])
        times = np.array([*(t for t, *_ in self._tail), *middles])
        lows = np.array([*(low for _, low, *_ in self._tail), *seen[:, kernels.LOW]])
        ranks = np.array([*(rank for *_, rank, _ in self._tail), *seen[:, kernels.RANK]])
        out: list[tuple[float, ...]] = []

        def add(t: float, before: float, after: float, kind: int) -> None:
            if not any(before <= x <= after for x in known):
                out.append((t, before, after, kind, 0.0, -1, 1.0))

        lowest = np.flatnonzero(lows < LOW_MINIMUM)
        for i in lowest.tolist():
            if 0 < i < len(lows) - 1 and lows[i - 1] >= lows[i] < lows[i + 1]:
                add(times[i], times[i - 1], times[i + 1], MINIMUM)
            elif i == 0 and len(lows) > 1 and not self._tail and lows[i] < lows[i + 1]:
                add(times[i], float(pieces.starts[0]), times[i + 1], MINIMUM)
            elif last and i == len(lows) - 1 and i > 0 and lows[i - 1] > lows[i]:
                add(times[i], times[i - 1], float(pieces.starts[steps]), MINIMUM)
        # what the tail has shown of itself is known
        for i in np.flatnonzero(np.diff(ranks)).tolist():
            if i + 1 >= len(self._tail):
                start = float(pieces.starts[i + 1 - len(self._tail)])
                add(start, times[i], times[i + 1], CHANGE)
        return out

    def _keep(self, pieces: Pieces, steps: int, seen: Floats, found: Floats) -> None:
        """Keep candidates with the steps around them."""
        starts, ends = pieces.starts[:steps], pieces.starts[1 : steps + 1]
        firsts = np.minimum(np.searchsorted(ends, found[:, BEFORE], "right"), steps - 1)
        finals = np.minimum(np.searchsorted(ends, found[:, AFTER], "left") + 1, steps)
        change = np.zeros(steps + 1, np.int64)
        np.add.at(change, firsts, 1)
        np.subtract.at(change, finals, 1)
        kept = np.cumsum(change[:-1]) > 0
        place = np.concatenate([[0], np.cumsum(kept)])
        orders = pieces.orders[:steps][kept]
        rows = pieces.coefficients[:steps, : int(orders.max()) + 1, : self._nq]
        regular = [self._regular(pieces, seen, n, final) for n, final in zip(firsts, finals, strict=True)]
        stretch = Stretch(
            found=found,
            regular=np.array(regular),
            starts=starts[kept],
            ends=ends[kept],
            orders=orders,
            coefficients=rows[kept],
            firsts=place[firsts],
            finals=place[finals],
            before=tuple(piece for *_, piece in self._tail),
        )
        self._stretches.append(stretch)
        self._kept += stretch.coefficients.size
        if self._kept > MOST_NUMBERS:
            # a run without end must not take memory without end
            self._blind = self._until

    def _regular(self, pieces: Pieces, seen: Floats, first: int, final: int) -> Floats:
        """Positions at the most regular middles of the steps before and after some."""
        spans = (max(first - NEARBY, 0), first + 1), (final - 1, final + NEARBY)
        return np.array([self._most_regular(pieces, seen, *span) for span in spans])

    def _most_regular(self, pieces: Pieces, seen: Floats, first: int, final: int) -> Floats:
        """The position at the most regular middle of some steps: all independent, and far from dependent."""
        part = seen[first:final]
        best = part[:, kernels.RANK] == part[:, kernels.RANK].max()
        n = first + int(np.argmax(np.where(best, part[:, kernels.REGULARITY], -np.inf)))
        rows = pieces.coefficients[n, : pieces.orders[n] + 1, : self._nq]
        middle = 0.5 * (pieces.starts[n + 1] - pieces.starts[n])
        return np.asarray(np.polynomial.polynomial.polyval(middle, rows))

    def _remember(self, pieces: Pieces, steps: int, seen: Floats) -> None:
        """Keep the last two steps: a minimum around the end of these is seen by the next ones."""
        for n in range(max(steps - 2, 0), steps):
            start, end = float(pieces.starts[n]), float(pieces.starts[n + 1])
            rows = pieces.coefficients[n, : pieces.orders[n] + 1, : self._nq].copy()
            low, rank = float(seen[n, kernels.LOW]), float(seen[n, kernels.RANK])
            self._tail.append((0.5 * (start + end), low, rank, Piece(start, end, rows)))
        self._tail = self._tail[-2:]

    def drop(self, q: Floats) -> float:
        """The smallest pivot at a position against what is usual; 1 where no equation is ever independent."""
        pivots = np.zeros(len(self._usual))
        if not len(pivots):
            return 1.0
        self._eval_pivots(q[None], 1, pivots)
        used = self._usual > SHOWN_PIVOT
        return float((pivots[used] / self._usual[used]).min(initial=1.0))

    def notes(self) -> list[str]:
        """What a user should know of it."""
        if self._blind is None:
            return []
        count = sum(len(s.found) for s in self._stretches)
        return [
            f"crossings are told up to t = {self._blind:.9g} s: the motion around {count} near-singular moments is "
            "kept until then, and more would fill the memory; simulate the rest from there"
        ]

    def watch(self) -> Watch:
        """All that was seen."""
        return Watch(
            stretches=tuple(self._stretches),
            start=self._start.copy(),
            usual=self._usual.copy(),
            begin=self._begin,
            later=self._later,
            parts=self._parts,
            until=self._until,
        )
