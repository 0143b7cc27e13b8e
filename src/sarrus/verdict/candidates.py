"""Crossings during a simulation: the instants at which the rank of W falls, and near misses.

During a run, the times at which its Jacobian loses rank are located on the polynomials of its steps
(methods/monitor.py). This module classifies them by means of W. A candidate is a crossing if the rank of W is
lower than at regular configurations before and after, and the dimensions allow it. If the smallest singular value
is merely small, it is a near miss, unless rounding errors of the constraints hide that the value vanishes and the
motion goes straight on. Loops without a common body are classified separately.

Whether the dimensions allow a crossing: let q* be a singular configuration near the motion and u the dependence of
the joint constraints there, u.J(q*) = 0. Then u.Phi(q*) measures the dimensional mismatch. Because u.J vanishes,
errors of q* enter only quadratically. A mismatch above rounding and these squared errors excludes a crossing: it
is a near miss, too sharp for the tolerance of the run, which stepped over it.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from ..arrays import Floats, Ints, plain_sum
from ..kernels import crossing as kernels
from ..kinematics.configuration import read_poses
from ..kinematics.constraints import Constraints
from ..thresholds import (
    AT_MOMENT,
    HIDDEN_AT_CROSSING,
    MOST_ZERO,
    NEAR_MISS,
    SAME_CROSSING,
)
from .crossings import Crossing, NearMiss, RunOutputs, zero_of
from .joint_equations import JointEquations
from .joint_frames import GROUND
from .rank import DENSE, Rank, measure_rank, measure_values, rank_of_values
from .singular_neighbours import Neighbour, Place, SingularNeighbours

if TYPE_CHECKING:
    from ..methods.monitor import Candidate, Watch
    from ..model import Model

# values of `zeros` for a candidate that is a local minimum of pivots, or an interval of lower rank, see
# methods/monitor.py
MINIMUM, CHANGE = 0, -1
# numbers of nodes of the polynomials over the steps around such an interval: powers of the time lose digits with
# each node
NODES = (15, 13, 11, 10, 9, 8, 7)
# parts of these steps that are used
WINDOWS = (1.0, 0.6, 0.35)
# a local minimum of pivots is refined with W if W is below this multiple of the near-miss limit, with this number
# of golden sections
FOLLOWED = 10.0
SECTIONS = 50
# the next step also detects a zero beyond the end of a step, up to this fraction of a step
OVERLAP = 1e-2
# a motion that reverses within this multiple of the distance hidden by rounding may not have crossed anything
TURNS_WITHIN = 10.0
# largest number of entries of matrices that are computed together
MOST_ENTRIES = 100_000
# number of candidates whose regular configurations determine the regular rank of groups of bodies
REGULAR = 8


def judge_candidates(
    model: Model,
    equations: JointEquations,
    watch: Watch,
    candidates: tuple[Candidate, ...],
    motion: RunOutputs,
    tolerance: float,
) -> tuple[list[Crossing], list[NearMiss]]:
    """Crossings and near misses among the candidates of a run with the given tolerance."""
    if not candidates and not watch.singular_start:
        return [], []
    judge = _Judge(model, equations, watch, candidates, motion, tolerance)
    found = judge.start() if watch.singular_start else []
    # if two candidates describe one moment, the first counts
    ordered = sorted(candidates, key=judge.inaccuracy)
    judge.expect(ordered)
    for candidate in ordered:
        for t in judge.times(candidate):
            moment = judge.look(candidate, t)
            if moment is not None:
                found = judge.add(found, moment)
    found = _join(sorted(found, key=lambda x: x.moment.time), watch.until)
    moments = [x.moment for x in found]
    crossings = [x for x in moments if isinstance(x, Crossing)]
    return crossings, [x for x in moments if isinstance(x, NearMiss)]


class Found(NamedTuple):
    """A moment, the group of bodies to which it belongs (-1: all), and its candidate (None: the start)."""

    moment: Crossing | NearMiss
    group: int
    candidate: Candidate | None

    def covers(self, time: float, overlap: float = 0.0) -> bool:
        """Whether a time is within the interval of the candidate, or beyond it by a share of its length."""
        c = self.candidate
        margin = 0.0 if c is None else overlap * (c.high - c.low)
        return c is not None and c.low - margin <= time <= c.high + margin


def _join(found: list[Found], until: float) -> list[Found]:
    """Merge simultaneous crossings of different groups."""
    out: list[Found] = []
    for moment, group, candidate in found:
        other = out[-1].moment if out else None
        if (
            isinstance(moment, Crossing)
            and isinstance(other, Crossing)
            and moment.time - other.time <= AT_MOMENT * until
            and group != out[-1].group
        ):
            here = replace(
                moment.rank,
                rank=moment.rank.rank - other.rise,
                below=_largest(moment.rank.below + other.rank.below),
                above=_largest(moment.rank.above + other.rank.above, last=True),
            )
            out[-1] = Found(replace(moment, rank=here), -1, candidate)
            continue
        out.append(Found(moment, group, candidate))
    return out


def _largest(values: tuple[float, ...], last: bool = False) -> tuple[float, ...]:
    """Up to three values, the largest first: the first or the last ones."""
    ordered = sorted(values, reverse=True)
    return tuple(ordered[-3:] if last else ordered[:3])


class _Judge:
    """Classifies the candidates of a run by means of W."""

    def __init__(
        self,
        model: Model,
        equations: JointEquations,
        watch: Watch,
        candidates: tuple[Candidate, ...],
        motion: RunOutputs,
        tolerance: float,
    ) -> None:
        self._model, self._equations, self._watch = model, equations, watch
        self._motion, self._tolerance = motion, tolerance
        self._zero = max(equations.tolerance, zero_of(tolerance))
        self._candidates = candidates
        # ranks at regular configurations, by configuration and group
        self._regular: dict[tuple[int, int], Rank] = {}
        # coordinates at candidates
        self._positions: dict[int, Floats] = {}
        # means of zeros in intervals of lower rank, by candidate
        self._means: dict[int, float | None] = {}
        self._groups = _Groups(model, equations, watch.parts)
        # singular configurations near candidates, and candidates for which they will be needed
        self._neighbours = SingularNeighbours(model, equations, tolerance)
        self._found: dict[tuple[int, float, int], list[Neighbour]] = {}
        self._pending: deque[Candidate] = deque()
        self._singular_values = _SingularValues(model, equations, self._neighbours.joints)

    def start(self) -> list[Found]:
        """The start of a run that begins at a crossing; a series around the start is noisy."""
        q, v = self._watch.begin
        nearby = self._rank(self._watch.later, -1, self._equations.tolerance)
        here = self._rank(q, -1, self._zero_tolerance(nearby))
        if here.rank >= nearby.rank:
            return []
        around = self._motion.around(0.0)
        moment = Crossing(0.0, here, nearby, *around, q, v, self._model, self._equations)
        return [Found(moment, -1, None)]

    def expect(self, candidates: list[Candidate]) -> None:
        """Register the configurations that these candidates need first, to be computed in one batch."""
        for c in candidates:
            if self._groups.of_part(c.part) < 0 and c.zeros > 0:
                self._singular_values.expect(c.regular, self._position(c, c.time))
                self._pending.append(c)

    def times(self, c: Candidate) -> Iterator[float]:
        """The times at which a candidate may be a moment of the run."""
        same = SAME_CROSSING * (c.high - c.low)
        for t in self._places(c):
            if -same <= t <= self._watch.until + same:
                # a run that starts at a crossing has it at time 0
                yield 0.0 if t <= same else t

    def _places(self, c: Candidate) -> list[float]:
        """The times of the zeros of a candidate; two are distinct if W has its regular rank between them."""
        if c.zeros == MINIMUM:
            return self._bottom(c)
        if c.zeros == CHANGE:
            mean, width = self._mean(c), float(np.sqrt(c.variance))
            return [
                _least(self._value(c), c.time - width, c.time + width) if mean is None else mean
            ]
        if c.zeros < 2 or (c.zeros == 2 and c.variance <= 0.0):
            return [c.time]
        # they are one if all values vanish at their mean, or some vanish everywhere between them, up to the zero
        # limit
        nearby, apart = self._nearby(c), float(np.sqrt(abs(c.variance)))

        def fallen(t: float) -> int:
            return nearby.rank - self._look(c, t, nearby).rank

        count = fallen(c.time)
        alike = c.zeros == 2 or (count and fallen(c.time - apart) and fallen(c.time + apart))
        if count >= c.zeros or (count and alike):
            return [c.time]
        return [c.time - apart, c.time + apart] if c.zeros == 2 else self._take_apart(c)

    def _take_apart(self, c: Candidate) -> list[float]:
        """The times of three or more zeros that are close together but distinct."""
        piece = c.piece(c.time)
        # all zeros lie within sqrt(number of zeros) standard deviations
        at, width = c.time - piece.start, 1.1 * float(np.sqrt(c.zeros * abs(c.variance)))
        times = []
        for t, zeros, variance in self._locate(
            piece.coefficients, (at - width, at + width), c.part, True
        ):
            apart = float(np.sqrt(max(variance, 0.0))) if zeros == 2 else 0.0
            times += [t - apart, t + apart] if apart else [t]
        return sorted(piece.start + t for t in times) or [c.time]

    def _locate(
        self, rows: Floats, span: tuple[float, float], part: int, splits: bool
    ) -> list[tuple[float, float, float]]:
        """Time, number and variance of the zeros between two times of a polynomial."""
        form, found = self._model.form, np.zeros((kernels.ROOM, kernels.PLACE))
        structure = kernels.make_structure(form, kernels.find_tables(form, self._watch.parts))
        disc = kernels.make_disc(form, structure, len(rows))
        rows = np.ascontiguousarray(rows)
        count = kernels.locate(
            form, structure, disc, rows, len(rows) - 1, *span, part, splits, found
        )
        columns = [kernels.TIME, kernels.ZEROS, kernels.VARIANCE]
        return [(t, n, v) for t, n, v in found[:count, columns].tolist()]

    def inaccuracy(self, c: Candidate) -> int:
        """Order of candidates: zeros over several steps are the most accurate, minima the least."""
        if c.zeros == CHANGE:
            return 0 if self._mean(c) is not None else 2
        return 2 if c.zeros == MINIMUM else 1

    def _mean(self, c: Candidate) -> float | None:
        """The mean of the zeros in an interval of lower rank: a zero of higher order, split by rounding.

        It uses one polynomial over the steps around the interval, because rounding is negligible far from the
        zero. The zeros scatter by a root of the rounding, their mean does not. A polynomial that follows the
        rounding of the steps, or not the motion, may have none or some of them; of several degrees and windows
        that with the most zeros counts, then that with the least scatter. None: there is no zero.
        """
        key = id(c)
        if key not in self._means:
            found = [
                x
                for share in WINDOWS
                for count in NODES
                for x in self._zeros_around(c, share * 0.5 * (c.high - c.low), count)
            ]
            self._means[key] = min(found, default=(0.0, 0.0, None))[-1]
        return self._means[key]

    def _zeros_around(
        self, c: Candidate, half: float, count: int
    ) -> Iterator[tuple[float, float, float | None]]:
        """Minus the number of zeros near a candidate, their scatter and mean: of a polynomial through nodes."""
        width = float(np.sqrt(c.variance))
        first, last = c.low + half, c.high - half
        middle = min(max(c.time, first), last)
        nodes = np.cos(np.pi * (np.arange(count) + 0.5) / count)
        places = [c.piece(middle + half * x).position(middle + half * x) for x in nodes]
        scaled = np.polynomial.chebyshev.chebfit(nodes, np.array(places), count - 1)
        columns = _filled(np.asarray(scaled, float)).T
        powers = np.array([np.polynomial.chebyshev.cheb2poly(column) for column in columns]).T
        rows = powers / half ** np.arange(len(powers))[:, None]
        located = self._locate(rows, (-half, half), -1, False)
        found = [x for x in located if abs(middle + x[0] - c.time) <= width]
        zeros = plain_sum(n for _, n, _ in found)
        if zeros:
            mean = plain_sum(t * n for t, n, _ in found) / zeros
            scatter = plain_sum(n * abs(v + (t - mean) ** 2) for t, n, v in found) / zeros
            yield -zeros, scatter, float(middle + mean)

    def _value(self, c: Candidate) -> Callable[[float], float]:
        """The smallest value of W around a candidate that is not zero everywhere, as a function of time."""
        nearby = self._nearby(c)

        def value(t: float) -> float:
            rank = self._look(c, t, nearby)
            return rank.below[0] if rank.rank < nearby.rank else rank.smallest

        return value

    def _bottom(self, c: Candidate) -> list[float]:
        """The time at which the smallest value of W is minimal, if it is low and not at an end of the run."""
        value = self._value(c)
        if value(c.time) > FOLLOWED * NEAR_MISS * self._nearby(c).smallest:
            return []
        t = _least(value, c.low, c.high)
        edge = 1e-3 * (c.high - c.low)
        ends = t < c.low + edge or t > c.high - edge
        return [] if ends and not edge < t < self._watch.until - edge else [t]

    def look(self, c: Candidate, t: float) -> Found | None:
        """Classify a candidate."""
        nearby, piece = self._nearby(c), c.piece(t)
        here = self._look(c, t, nearby)
        q, v = self._position(c, t), piece.velocity(t)
        record = (nearby, *self._motion.around(t), q, v, self._model, self._equations)
        group = self._groups.of_part(c.part)
        if here.rank < nearby.rank:
            misfit = self._misfit(c, t, nearby.rank - here.rank)
            if misfit == 0.0:
                return Found(Crossing(t, here, *record), group, c)
            values = (*here.above, *here.below[: nearby.rank - here.rank])
            whole = replace(here, rank=nearby.rank, above=values[-3:], below=())
            return Found(NearMiss(t, whole, *record, misfit), group, c)
        if here.rank == nearby.rank and here.smallest < NEAR_MISS * nearby.smallest:
            fallen = self._rank(q, group, 2.0 * here.smallest)
            if fallen.rank < nearby.rank and self._goes_through(c, t):
                return Found(Crossing(t, fallen, *record), group, c)
            return Found(NearMiss(t, here, *record), group, c)
        return None

    def add(self, found: list[Found], new: Found) -> list[Found]:
        """Add a moment; if it is already known, the one with the smaller value is retained.

        Two adjacent steps, or a step and an interval over several, may both detect one crossing. Between two
        detections of one moment the smallest value does not exceed its values at both; between two distinct
        moments it rises.
        """
        for i, old in enumerate(found):
            moment, other = new.moment, old.moment
            if not (new.covers(other.time, OVERLAP) or old.covers(moment.time, OVERLAP)):
                continue
            if new.group != old.group and -1 not in (new.group, old.group):
                continue
            t = 0.5 * (moment.time + other.time)
            c = new.candidate if new.covers(t) else old.candidate or new.candidate
            assert c is not None
            between = self._look(c, t, moment.rank_nearby)
            known = max(moment.rank_nearby.rank, other.rank_nearby.rank)
            if between.rank < known or between.smallest <= max(moment.value, other.value):
                depths = [(x.rank.rank, max(x.value, self._zero)) for x in (other, moment)]
                deeper = new if depths[1] < depths[0] else old
                return [*found[:i], deeper, *found[i + 1 :]]
        return [*found, new]

    def _nearby(self, c: Candidate) -> Rank:
        """The rank where the motion around a candidate is most regular."""
        group = self._groups.of_part(c.part)
        key = id(c.regular), group
        if key not in self._regular:
            zero = self._equations.tolerance
            self._regular[key] = self._rank(c.regular, group, zero)
        return self._regular[key]

    def _zero_tolerance(self, nearby: Rank) -> float:
        """The limit below which values count as zero: also small relative to those of regular configurations."""
        share = 0.5 * NEAR_MISS * nearby.smallest
        return max(self._equations.tolerance, min(self._zero, share))

    def _look(self, c: Candidate, t: float, nearby: Rank) -> Rank:
        group = self._groups.of_part(c.part)
        return self._rank(self._position(c, t), group, self._zero_tolerance(nearby))

    def _position(self, c: Candidate, t: float) -> Floats:
        """The coordinates at a time of a candidate; those at its own time are needed several times."""
        if t != c.time:
            return c.piece(t).position(t)
        if id(c) not in self._positions:
            self._positions[id(c)] = c.piece(t).position(t)
        return self._positions[id(c)]

    def _rank(self, q: Floats, group: int, zero: float) -> Rank:
        """The rank at a configuration; the zero limit rises with the constraint violation, which hides zeros.

        group: the bodies whose equations are judged; all others count with all their rows.
        """
        e = self._equations
        if group < 0 and e.columns <= DENSE:
            values, gap = self._singular_values.at(q)
            tolerance = max(zero, min(HIDDEN_AT_CROSSING * gap, MOST_ZERO))
            return rank_of_values(values, (e.rows, e.columns), tolerance)
        gap = float(np.abs(self._neighbours.joints.phi(q)).max(initial=0.0))
        tolerance = max(zero, min(HIDDEN_AT_CROSSING * gap, MOST_ZERO))
        W = self._matrix(q)
        if group < 0:
            return measure_rank(W, e.columns_a_body, tolerance)
        rows, columns = self._groups.entries(group)
        own = measure_rank(W[rows][:, columns], e.columns_a_body, tolerance)
        others = self._groups.rank_of_others(group, self._regular_matrices)
        return replace(own, rank=own.rank + others, rows=W.shape[0], columns=W.shape[1])

    def _matrix(self, q: Floats) -> csr_array:
        pose = read_poses(self._equations.centers, self._model.body_rows, q[None])[0]
        return self._equations.scaled(pose).matrix

    @cached_property
    def _regular_matrices(self) -> list[csr_array]:
        """W at some regular configurations of the run."""
        places = [self._watch.later, *(c.regular for c in self._candidates[:REGULAR])]
        return [self._matrix(q) for q in places if np.isfinite(q).all()]

    def _misfit(self, c: Candidate, t: float, rise: int) -> float:
        """The dimensional mismatch that excludes a crossing where W loses rank; 0 if the dimensions allow it."""
        found = self._singular_neighbours(c, t, rise)
        return max((x.misfit for x in found if x.misfit > x.allowed), default=0.0)

    def _singular_neighbours(self, c: Candidate, t: float, rise: int) -> list[Neighbour]:
        """Singular configurations of the joints near the motion, computed together with those needed next."""
        nq = self._model.coordinates
        if nq > DENSE:
            return []
        key = id(c), t, rise
        if key not in self._found:
            wanted = {key: self._place(c, t, rise)}
            while self._pending and len(wanted) < max(MOST_ENTRIES // nq**2, 1):
                more = self._pending.popleft()
                nearby = self._nearby(more)
                fallen = nearby.rank - self._look(more, more.time, nearby).rank
                if fallen > 0:
                    wanted[id(more), more.time, fallen] = self._place(more, more.time, fallen)
            found = self._neighbours.near(list(wanted.values()))
            self._found.update(zip(wanted, found, strict=True))
        return self._found[key]

    def _place(self, c: Candidate, t: float, rise: int) -> Place:
        return Place(self._position(c, t), c.piece(t).last_term, c.regular, rise)

    def _goes_through(self, c: Candidate, t: float) -> bool:
        """Whether the motion goes straight on at a minimum of W that rounding cannot distinguish from a zero.

        It does if the dimensions allow the crossing, its distance from the motion is hidden by rounding of the
        constraints, and the motion does not reverse within that distance.
        """
        found = self._singular_neighbours(c, t, 1)
        if not found or any(x.misfit > x.allowed or x.off > x.hidden for x in found):
            return False
        speed = float(np.abs(c.piece(t).velocity(t)).max(initial=0.0))
        reach = TURNS_WITHIN * max(x.hidden for x in found)
        if not speed * (c.high - c.low) > reach:
            return False
        before, after = (c.piece(x).velocity(x) for x in (t - reach / speed, t + reach / speed))
        return bool(before @ after > 0.0)


class _SingularValues:
    """Singular values of W at configurations, and their gaps; those that are expected are computed together."""

    def __init__(self, model: Model, equations: JointEquations, joints: Constraints) -> None:
        self._model, self._equations, self._joints = model, equations, joints
        self._room = max(MOST_ENTRIES // max(equations.rows * equations.columns, 1), 1)
        self._expected: dict[bytes, Floats] = {}
        self._known: dict[bytes, tuple[Floats, float]] = {}

    def expect(self, *places: Floats) -> None:
        """Register configurations for the next batch."""
        self._expected.update((q.tobytes(), q) for q in places)

    def at(self, q: Floats) -> tuple[Floats, float]:
        """The singular values at a configuration, and the largest violation of the constraints there."""
        key = q.tobytes()
        if key in self._expected:
            # with the next ones in the order in which they will be needed
            del self._expected[key]
            more = list(itertools.islice(self._expected, self._room - 1))
            places = [q, *(self._expected.pop(x) for x in more)]
            self._known.update(zip([key, *more], self._measure(places), strict=True))
        return self._known[key] if key in self._known else next(self._measure([q]))

    def _measure(self, places: list[Floats]) -> Iterator[tuple[Floats, float]]:
        e, q = self._equations, np.array(places)
        poses = read_poses(e.centers, self._model.body_rows, q)
        W = e.scaled_dense(poses[0])[None] if len(poses) == 1 else e.scaled_at(poses)
        gaps = np.abs(self._joints.phi(q)).max(axis=1, initial=0.0)
        return zip(measure_values(W), gaps.tolist(), strict=True)


class _Groups:
    """Groups of bodies that are connected by joints, without the ground: their equations are independent."""

    def __init__(self, model: Model, equations: JointEquations, parts: Ints) -> None:
        self._model, self._equations, self._parts = model, equations, parts
        self._ranks: dict[int, int] = {}

    def of_part(self, part: int) -> int:
        """The group of a part of the coordinates; -1 if there is one group only."""
        if part < 0 or not self._parts.any():
            return -1
        return int(self._of_parts[part])

    @cached_property
    def _of_bodies(self) -> Ints:
        """The group of each body."""
        e, n = self._equations, len(self._equations.bodies)
        ends = e.row_bodies
        rows = np.repeat(np.arange(len(ends)), ends.shape[1])
        moving = ends.ravel() != GROUND
        graph = coo_array(
            (np.ones(int(moving.sum())), (rows[moving] + n, ends.ravel()[moving])),
            shape=(n + len(ends), n + len(ends)),
        )
        return np.asarray(connected_components(graph, directed=False)[1][:n])

    @cached_property
    def _of_parts(self) -> Ints:
        """The group of each part; parts without bodies belong to all groups."""
        rows = self._model.body_rows
        out = np.full(int(self._parts.max()) + 1, -1)
        for owners, matrix in (
            (np.arange(len(rows.names)), rows.centers),
            (rows.owner, rows.vectors),
        ):
            entries = matrix.tocoo()
            body = owners[entries.row // 3]
            out[self._parts[entries.col]] = self._of_bodies[body]
        return out

    def entries(self, group: int) -> tuple[Ints, Ints]:
        """Rows and columns of W that belong to a group."""
        e = self._equations
        bodies = np.flatnonzero(self._of_bodies == group)
        rows = np.flatnonzero(np.isin(e.row_bodies, bodies).any(axis=1))
        width = e.columns_a_body
        return rows, (width * bodies[:, None] + np.arange(width)).ravel()

    def rank_of_others(self, group: int, regular: list[csr_array]) -> int:
        """The rank of all other groups together, where they are regular."""
        total = 0
        for other in range(int(self._of_bodies.max()) + 1):
            if other not in self._ranks:
                rows, columns = self.entries(other)
                self._ranks[other] = max(
                    measure_rank(
                        W[rows][:, columns],
                        self._equations.columns_a_body,
                        self._equations.tolerance,
                    ).rank
                    for W in regular
                )
            total += self._ranks[other] if other != group else 0
        return total


def _filled(series: Floats) -> Floats:
    """Coefficients of Chebyshev series with trailing zeros replaced, because conversions would drop them."""
    out = series.copy()
    out[-1][out[-1] == 0.0] = 1e-300
    return out


def _least(value: Callable[[float], float], low: float, high: float) -> float:
    """The time at which a function is smallest between two others, by golden-section search."""
    share = 0.5 * (np.sqrt(5.0) - 1.0)
    a, b = high - share * (high - low), low + share * (high - low)
    at_a, at_b = value(a), value(b)
    for _ in range(SECTIONS):
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - share * (high - low)
            at_a = value(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + share * (high - low)
            at_b = value(b)
    return 0.5 * (low + high)
