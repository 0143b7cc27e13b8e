"""Crossings during a simulation: the instants at which the rank of W falls, and near misses.

While a run goes on, pivots of J J^T are watched along its polynomials and dips are kept (kernels/watch.py).
Here each dip is followed to its bottom. The pivot f of an equation is analytic and behaves like (t - ts)^2,
so g = -sqrt f before ts and +sqrt f behind it is smooth: t as a polynomial of g, through points on both
sides, gives ts at g = 0. The pose there is then judged by W: if its rank is lower than a little before and
behind, it is a crossing; if its smallest value is small only, a near miss. Pivots are squares and have half the
digits; where that leaves a value in doubt, the values of W that vanish settle the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats
from ..kernels.layout import make_workspace
from ..kernels.watch import find_dips, sample_pivots
from ..kinematics.constraints import Constraints
from ..kinematics.pose import read_poses
from ..notebook import Sentences
from ..thresholds import (
    AT_MOMENT,
    FURTHER_BOTTOM,
    HIDDEN_AT_CROSSING,
    LEAST_ZERO,
    MOST_ZERO,
    NEAR_MISS,
    RESOLVED_BOTTOM,
    RESOLVED_PIVOT,
    ROOTLESS_DIP,
    SAME_BOTTOM,
    SAME_CROSSING,
)
from .branches import Branches, find_branches
from .joint_equations import JointEquations
from .rank import DENSE, Rank, measure_rank

if TYPE_CHECKING:
    from ..methods.watch import Dip, Watch
    from ..model import Model


# values of W at a crossing are zero up to so many tolerances of the run, and never above MOST_ZERO
RUN_SHARE = 1.0
# points for t(g), as shares of the distance at which the position is regular again
NODES = np.array([-1.0, -2 / 3, -1 / 3, 1 / 3, 2 / 3, 1.0])
# passes of t(g), ever nearer: a dip of a motion that begins slowly is wide
NARROWING = (1.0, 0.2, 0.04, 0.008)
# a value at the time found is in doubt above this share of what counts as zero; then so many steps at most settle
# it, with slopes over this share of the distance at which the position is regular again
SETTLED_ZERO = 1e-3
SETTLING = 5
SETTLING_STEP = 1e-3
# a pass that moved the time by less than this share was the last
SETTLED = 1e-8
# how many times a motion may pass a position between samples; where it is looked for again, as shares of the
# distance from the time found to the ends: a bottom between two of them makes what is left of a pivot there less
# than 0.07 of what it is beside it
MOST_BOTTOMS = 4
DISTANCES = 1.6 ** -np.arange(28.0)[::-1]


@dataclass(frozen=True)
class _Moment(Sentences):
    """A position of a motion with its rank.

    time [s]; rank: of W at this position, with the values that decided; rank_nearby: a little before or
    behind; energy: drift [J], and closure: violation of the constraints [m], at the last output before
    and the first behind (nan where there is none).
    """

    time: float
    rank: Rank
    rank_nearby: Rank
    energy_before: float
    energy_after: float
    closure_before: float
    closure_after: float
    coordinates: Floats = field(repr=False)
    rates: Floats = field(repr=False)
    model: Model = field(repr=False)
    equations: JointEquations = field(repr=False)

    def position(self, name: str) -> Floats:
        """World place of a joint, named point or centre of a body at this moment [m]."""
        return np.asarray(self.model.origin(name) + self.model.point_rows(name) @ self.coordinates)

    def velocity(self, name: str) -> Floats:
        """Its velocity [m/s]."""
        return np.asarray(self.model.point_rows(name) @ self.rates)

    def _record(self) -> dict[str, Any]:
        return {
            "time": self.time,
            "rank": self.rank.as_dict(),
            "rank_nearby": self.rank_nearby.as_dict(),
            "energy_before": self.energy_before,
            "energy_after": self.energy_after,
            "closure_before": self.closure_before,
            "closure_after": self.closure_after,
            "sentence": str(self),
        }

    def _around(self) -> str:
        energy = (self.energy_before, self.energy_after)
        closure = (self.closure_before, self.closure_after)
        return f"energy drift {_before_after(energy, 'J')}; closure {_before_after(closure, 'm')}"


@dataclass(frozen=True)
class Crossing(_Moment):
    """An instant at which the mobility rises: motions meet there.

    time [s]; rank, rank_nearby: of W here and a little aside; energy drift [J] and closure [m] before
    and after; position(name), velocity(name): of its points.
    """

    @property
    def mobility_motion(self) -> int:
        """Mobility before and after."""
        return self.rank_nearby.columns - self.rank_nearby.rank

    @property
    def mobility_here(self) -> int:
        """Mobility at the crossing."""
        return self.rank.columns - self.rank.rank

    @property
    def rise(self) -> int:
        """How many freedoms there are more than before and after."""
        return self.mobility_here - self.mobility_motion

    @property
    def value(self) -> float:
        """The largest singular value of W that counts as zero here."""
        return self.rank.below[0]

    @cached_property
    def branches(self) -> Branches:
        """The motions that meet here; found when first asked for."""
        return find_branches(self.model, self.equations, self.coordinates, self.rates, self.rise)

    def __str__(self) -> str:
        return (
            f"crossing at t = {self.time:.12g} s: the mobility rises from {self.mobility_motion} to "
            f"{self.mobility_here}; {self.rank.how}: {self.value:.1e} counts as zero (tolerance "
            f"{self.rank.tolerance:.1e}), the next is {self.rank.smallest:.2g}; {self._around()}"
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "mobility_motion": self.mobility_motion,
            "mobility_here": self.mobility_here,
            "value": self.value,
            **self._record(),
        }


@dataclass(frozen=True)
class NearMiss(_Moment):
    """An instant at which a singular position is passed closely, not met: reactions are large there."""

    @property
    def value(self) -> float:
        """The smallest singular value of W here."""
        return self.rank.smallest

    def __str__(self) -> str:
        return (
            f"near-singular at t = {self.time:.9g} s: {self.rank.how}: the smallest is "
            f"{self.value:.2e} (tolerance {self.rank.tolerance:.1e}), nearby "
            f"{self.rank_nearby.smallest:.2g}; {self._around()}"
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"value": self.value, **self._record()}


@dataclass(frozen=True)
class RunOutputs:
    """What the outputs of a run say besides its polynomials: times [s], energy drift [J], closure [m]."""

    times: Floats
    energy: Floats
    closure: Floats

    def around(self, t: float) -> tuple[float, float, float, float]:
        """Energy and closure at the outputs before and behind a time."""
        at = AT_MOMENT * float(self.times[-1]) if len(self.times) else 0.0
        i = int(np.searchsorted(self.times, t - at))
        j = int(np.searchsorted(self.times, t + at))
        out = []
        for column in (self.energy, self.closure):
            out += [
                float(column[i - 1]) if i > 0 else float("nan"),
                float(column[j]) if j < len(self.times) else float("nan"),
            ]
        return out[0], out[1], out[2], out[3]


def zero_of(tolerance: float) -> float:
    """Values of W that count as zero at a crossing of a run with a tolerance."""
    return max(LEAST_ZERO, min(RUN_SHARE * tolerance, MOST_ZERO))


def judge_dips(
    model: Model,
    equations: JointEquations,
    watch: Watch,
    dips: tuple[Dip, ...],
    motion: RunOutputs,
    tolerance: float,
) -> tuple[list[Crossing], list[NearMiss]]:
    """Crossings and near misses among the dips of a run that had the given tolerance."""
    zero = max(equations.tolerance, zero_of(tolerance))
    ws = make_workspace(watch.form, 0)
    done: list[tuple[float, float]] = []
    found: list[Crossing | NearMiss] = []
    if watch.singular_start:
        # the series there is noisy: the start itself is looked at
        q, v = watch.begin
        here, later = (_rank_at(model, equations, x, zero) for x in (q, watch.later))
        start = _moment(0.0, here, later, q, v, model, equations, motion)
        found += [start] if isinstance(start, Crossing) else []
    for dip in dips:
        if watch.singular_start and dip.times[0] < 0.0:
            continue
        beside = [
            _rank_at(model, equations, dip.piece(x).position(x), zero)
            for x in (dip.times[0], dip.times[2])
        ]
        for t, aside in _bottoms(watch, ws, dip):
            if not -SAME_CROSSING * aside <= t <= watch.until + SAME_CROSSING * aside:
                continue
            # a run that starts at a crossing starts there
            t = 0.0 if t <= SAME_CROSSING * aside else t
            if any(abs(t - other) <= SAME_CROSSING * max(aside, width) for other, width in done):
                continue
            done.append((t, aside))
            moment = _judge(model, equations, dip, beside, (t, aside), motion, zero)
            if moment is not None:
                found = _add(found, moment, dip, zero)
    found.sort(key=lambda x: x.time)
    crossings = [x for x in found if isinstance(x, Crossing)]
    return crossings, [x for x in found if isinstance(x, NearMiss)]


def _add(
    found: list[Crossing | NearMiss], moment: Crossing | NearMiss, dip: Dip, zero: float
) -> list[Crossing | NearMiss]:
    """With one more moment, unless it belongs to a passage that is known: then the deeper one counts.

    Pivots of several equations fall in one passage, each at a time that rounding moves a little. Halfway between
    two moments of one passage the least value is no larger than at both; between two passages it rises.
    """
    for i, other in enumerate(found):
        if not dip.times[0] <= other.time <= dip.times[2]:
            continue
        t = 0.5 * (moment.time + other.time)
        between = _rank_at(moment.model, moment.equations, dip.piece(t).position(t), zero)
        known = max(moment.rank_nearby.rank, other.rank_nearby.rank)
        if between.rank < known or between.smallest <= max(moment.value, other.value):
            # values that count as zero are all the same: then the one found first, by the deepest pivot
            depths = [(x.rank.rank, max(x.value, zero)) for x in (other, moment)]
            deeper = moment if depths[1] < depths[0] else other
            return [*found[:i], deeper, *found[i + 1 :]]
    return [*found, moment]


def _before_after(values: tuple[float, float], unit: str) -> str:
    """Both values in words; at the ends of a run there is one only."""
    words = zip(values, ("before", "after"), strict=True)
    return ", ".join(f"{x:.1e} {unit} {where}" for x, where in words if np.isfinite(x)) or "unknown"


def _judge(
    model: Model,
    equations: JointEquations,
    dip: Dip,
    beside: list[Rank],
    found: tuple[float, float],
    motion: RunOutputs,
    zero: float,
) -> Crossing | NearMiss | None:
    """What W says at a time, compared with what it says beside it; found: the time, and how far off is beside."""
    t, aside = found
    nearby = max(beside, key=lambda r: (r.rank, r.smallest))
    small = NEAR_MISS * nearby.smallest

    def look(t: float) -> Rank:
        return _rank_at(model, equations, dip.piece(t).position(t), zero)

    here = look(t)
    fell = here.rank < nearby.rank
    least = here.below[0] if fell else here.smallest
    if SETTLED_ZERO * zero < least < small or (fell and here.smallest < small):
        other = _settle(model, equations, dip, t, aside, nearby.rank, small)
        there = here if other == t else look(other)
        # between two that vanish one after the other both are small, and none is zero
        if there.rank <= here.rank:
            t, here = other, there
    piece = dip.piece(t)
    return _moment(t, here, nearby, piece.position(t), piece.velocity(t), model, equations, motion)


def _settle(
    model: Model, e: JointEquations, dip: Dip, t: float, aside: float, rank: int, small: float
) -> float:
    """The time at which the values of W that are small at t vanish, by Gauss and Newton; t if they do not.

    With its vectors u and v a value is u.W v, which changes sign where it vanishes; beside a minimum that is not
    zero it has no slope, and the steps lead away. rank: beside; small: values below vanish or come close to it.
    """
    if e.columns > DENSE:
        return t

    def matrix(t: float) -> Floats:
        q = dip.piece(t).position(t)
        pose = read_poses(e.centers, model.body_rows, q[None])[0]
        return np.asarray(e.scaled(pose).matrix.toarray())

    best, least, start = t, np.inf, t
    for _ in range(SETTLING):
        W = matrix(t)
        U, values, V = np.linalg.svd(W)
        first = int(np.sum(values[:rank] >= small))
        left = float(values[first]) if first < rank else np.inf
        if not left < 0.5 * least:
            break
        best, least = t, left
        step = SETTLING_STEP * aside
        slopes = (matrix(t + step) - W) / step
        rates = np.einsum("rk,rc,kc->k", U[:, first:rank], slopes, V[first:rank])
        move = float(values[first:rank] @ rates) / max(float(rates @ rates), 1e-300)
        if not abs(t - move - start) <= aside:
            break
        t = t - move
    return best


def _moment(
    t: float,
    here: Rank,
    nearby: Rank,
    q: Floats,
    v: Floats,
    model: Model,
    equations: JointEquations,
    motion: RunOutputs,
) -> Crossing | NearMiss | None:
    """What a rank says, compared with one nearby."""
    record = (t, here, nearby, *motion.around(t), q, v, model, equations)
    if here.rank < nearby.rank:
        return Crossing(*record)
    near = here.rank == nearby.rank and here.smallest < NEAR_MISS * nearby.smallest
    return NearMiss(*record) if near else None


def _rank_at(model: Model, equations: JointEquations, q: Floats, zero: float) -> Rank:
    """The rank at a position; one that is not quite closed hides zeros."""
    e = equations
    gap = float(np.abs(Constraints(model.form, joints=True).phi(q)).max(initial=0.0))
    tolerance = max(zero, min(HIDDEN_AT_CROSSING * gap, MOST_ZERO))
    pose = read_poses(e.centers, model.body_rows, q[None])[0]
    return measure_rank(e.scaled(pose).matrix, e.columns_a_body, tolerance)


def _bottoms(watch: Watch, ws: Any, dip: Dip) -> Iterator[tuple[float, float]]:
    """Time of the bottom of each equation's dip, and how far off it is regular again."""
    sums = np.zeros((3, len(watch.usual)))

    # equations that vanish together are followed along the same times
    @cache
    def pivots(t: float) -> Floats:
        piece = dip.piece(t)
        out = np.zeros(len(watch.usual))
        rows = piece.coefficients
        sample_pivots(watch.form, ws, rows, len(rows) - 1, t - piece.start, sums, out)
        return out

    f0, f1, f2 = (pivots(t) for t in dip.times)
    ends = np.maximum(f0, f2)
    open_ = np.zeros(len(ends), dtype=bool)
    usual = np.max([watch.usual, f0, f1, f2], axis=0)
    find_dips(np.array([f0, f1, f2, usual]), open_)
    while open_.any():
        # the deepest first: it explains the others that vanish with it
        depth = np.divide(f1, ends, out=np.full(len(ends), np.inf), where=open_)
        j = int(np.argmin(depth))

        def pivot(t: float, j: int = j) -> float:
            return float(pivots(t)[j])

        open_[j] = False
        for t, aside in _follow_all(pivot, dip.times[0], dip.times[2]):
            yield t, aside
            open_ &= pivots(t) > SAME_BOTTOM * ends


def _follow_all(
    pivot: Callable[[float], float], low: float, high: float
) -> Iterator[tuple[float, float]]:
    """Every bottom of a dip: a motion that turns back behind a singular position passes it twice."""
    found: list[float] = []
    part: tuple[float, float] | None = (low, high)
    while part is not None and len(found) < MOST_BOTTOMS:
        t, aside = _follow(pivot, *part)
        yield t, aside
        found.append(t)
        part = _find_further(pivot, found, low, high)


def _find_further(
    pivot: Callable[[float], float], found: list[float], low: float, high: float
) -> tuple[float, float] | None:
    """Times around one more bottom: there the pivot over its squared distances from those found falls again."""
    best, part, floor = FURTHER_BOTTOM, None, pivot(found[0])
    for end in (low, high):
        times = found[0] + (end - found[0]) * DISTANCES
        apart = np.prod((times[:, None] - np.array(found)) ** 2, axis=1)
        # what rounding leaves at the bottom is left everywhere
        values = np.array([max(pivot(t) - floor, 0.0) for t in times])
        rest = values / np.maximum(apart, 1e-300)
        for i in range(1, len(rest) - 1):
            # much lower than what is beside it on both sides
            beside = min(rest[:i].max(), rest[i + 1 :].max())
            if rest[i - 1] > rest[i] < rest[i + 1] and rest[i] < best * beside:
                first, last = sorted((float(times[i - 1]), float(times[i + 1])))
                best, part = rest[i] / beside, (first, last)
    return part


def _follow(pivot: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """The time at which a pivot is least, and how far off [s] it is regular again."""
    aside, ends = 0.05 * (high - low), (low, high)
    # ever finer grids: sharp turns beside a singular position mislead parabolas
    for _ in range(10):
        times = np.linspace(low, high, 9)
        best = int(np.argmin([pivot(x) for x in times]))
        low, high = times[max(best - 1, 0)], times[min(best + 1, 8)]
    t = float(times[best])
    # where motions touch, the bottom is flat: rounding hides it, and only pivots further off tell where it is
    while min(pivot(t - aside / 3.0), pivot(t + aside / 3.0)) < RESOLVED_BOTTOM:
        if t - 1.5 * aside < ends[0] or t + 1.5 * aside > ends[1]:
            break
        aside *= 1.5
    for near in NARROWING:
        times = t + near * aside * NODES
        values = np.array([pivot(x) for x in times])
        if not values.min() > (RESOLVED_BOTTOM if near < 1.0 else 0.0):
            # nothing but rounding so close to it, or no number beyond the ends of the motion
            break
        if pivot(t) > max(ROOTLESS_DIP * values.min(), RESOLVED_PIVOT):
            # a near miss has no root to be found
            break
        # what rounding leaves at the bottom is left everywhere
        values = np.maximum(values - pivot(t), 1e-3 * values)
        # f ~ (t - ts)^(2a): a is 1, unless the motion only touches the position
        growth = float(np.mean(np.log(values[[0, -1]] / values[[2, 3]]))) / np.log(
            NODES[-1] / NODES[3]
        )
        g = np.sign(NODES) * values ** (1.0 / max(2.0, 2.0 * round(0.5 * growth)))
        if len(np.unique(g)) < len(g):
            # flat beside the bottom: nothing to be read off there
            continue
        root = _interpolate_at_zero(g, times)
        # rounding of pivots aside; a flat bottom is all rounding
        rounding = 1e-10 * values.min() if growth < 3.0 else RESOLVED_PIVOT
        if not abs(root - t) <= aside or pivot(root) > pivot(t) + rounding:
            # too far off for a polynomial, or away from the points that it goes through
            continue
        moved, t = abs(root - t), root
        # each pass has 5^-6 of the error of the one before, which is what it moved by
        if near < 1.0 and moved < SETTLED * aside:
            break
    return t, aside


def _interpolate_at_zero(x: Floats, y: Floats) -> float:
    """Value at 0 of the polynomial through some points, by Lagrange.

    SciPy's interpolator takes the points in random order, which changes the last digits from call to call.
    """
    between = x[:, None] - x[None, :]
    np.fill_diagonal(between, 1.0)
    factors = -x[None, :] / between
    np.fill_diagonal(factors, 1.0)
    return float(factors.prod(axis=1) @ y)
