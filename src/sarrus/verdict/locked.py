"""Distinguishes immobile mechanisms from those that move with a little clearance in their joints.

A paradoxical linkage with slightly wrong dimensions is immobile, yet it moves if its joints have some clearance.

If W has one small singular value and the count predicts an immobile mechanism, the singular vector is almost a
degree of freedom (or an instantaneous one only). It is followed kinematically: one step along it, then the
smallest possible gaps (least squares) normal to it,

    minimise |g|  with  d . x = 0,      d: the direction followed,

and so on, in both directions. The largest gap on that path is the clearance that the joints need for the linkage
to move. A mobile linkage may have further approximate degrees of freedom; each is followed in the same way.
`misfit_repair` needs no clearance: it finds the nearest dimensions that let the linkage move exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..arrays import Floats
from ..kinematics.configuration import Pose, largest_twist
from ..kinematics.gap_closing import lower_gaps
from ..thresholds import (
    ALMOST_FREE,
    BLOCKED_PATH,
    EXACT_MISFIT,
    FREE_ALONE,
    INSTANTANEOUS_DOF,
    MISFIT,
    SHORTEST_PATH,
)
from .joint_equations import JointEquations
from .mobility import CROSSING, MOBILE_WITHIN, NEAR_SINGULAR, Mobility, classify, idle_spins
from .rank import measure_rank

# larger mechanisms are classified by the rank alone
MOST_COLUMNS = 240
# step along the path, and how far it is followed in each direction: radians, or lengths of the mechanism
STEP = 0.15
STEPS = 20
LOOK = 3
# closing uses only directions with relative singular values above this
WEAK = 1e-5
# number of closing steps
CLOSING = 12


@dataclass(frozen=True, eq=False)
class Locked:
    """A mechanism that is immobile, or has fewer degrees of freedom, unless its joints have clearance.

    value, largest: singular values that are almost zero; dof: their number; exact: number of further
    velocities that the joints allow, without idle spins; misfit [m]: largest gap on the path followed (radians are
    multiplied by the length of the mechanism), infinite if the path ends at once; reach: how far it was followed,
    in radians or lengths of the mechanism; length: of the mechanism [m]; path: configurations followed, without
    those near singular ones; travel: for each direction, the distance of each configuration along the path and the
    largest gap there [m].
    """

    value: float
    misfit: float
    reach: float
    length: float
    path: tuple[Pose, ...] = field(repr=False)
    travel: tuple[Floats, ...] = field(repr=False)
    dof: int = 1
    exact: int = 0
    largest: float = 0.0

    def within(self, misfit: float) -> bool:
        """Whether joints with this clearance [m] let the mechanism move."""
        return self.misfit <= misfit

    def reach_within(self, misfit: float) -> float:
        """How far it moves, at best, before a joint opens by more than this [m]; units as `reach`."""
        return max(_last_below(way, misfit) for way in self.travel)

    @property
    def nearly(self) -> bool:
        """Whether a finite clearance would let the mechanism move."""
        return bool(np.isfinite(self.misfit))

    def as_dict(self) -> dict[str, float | None]:
        """The record as a dictionary for JSON."""
        return {
            "smallest_value": self.value,
            "misfit": self.misfit if self.nearly else None,
            "reach": self.reach,
            "dof": self.dof,
            "exact_dof": self.exact,
            "tolerance": MISFIT * self.length,
        }


def find_locked(equations: JointEquations) -> Locked | None:
    """Find out whether a mechanism of moderate size almost moves, but is immobile or has fewer degrees of freedom.

    Returns None if it moves as the rank indicates, or is a rigid structure.
    """
    pose, last = equations.start(), equations.columns - 1
    if equations.columns > MOST_COLUMNS:
        return None
    idle = _idle_axes(equations, pose)
    W = _with_locked_spins(equations, pose, idle)
    missing = max(equations.columns - len(W), 0)
    values = np.append(np.linalg.svd(W, compute_uv=False), np.zeros(missing))
    small = int(np.sum(values < FREE_ALONE))
    exact = int(np.sum(values <= INSTANTANEOUS_DOF * equations.rounding / EXACT_MISFIT))
    # a single degree of freedom that the count does not predict is followed; if there are several, only the
    # approximate ones are
    if values[last] > ALMOST_FREE or (small == exact and (exact > 1 or missing)):
        return None
    # if nothing else can move, one value may be larger and still be an approximate degree of freedom
    free = max(small, 1)
    V = np.linalg.svd(W)[2]
    # a single degree of freedom is followed even if it is exact at this configuration
    exact = exact if free > 1 else 0
    chosen = V[len(V) - free : len(V) - exact]
    rounding = equations.rounding * equations.length
    # most paradoxical linkages move exactly: a few steps show it
    look = [_follow(equations, pose, d, idle, LOOK, free) for d in chosen]
    if all(len(x.poses) == LOOK and x.misfit <= rounding for x in look):
        return None
    sides = [
        _follow(equations, pose, s * d, idle, STEPS, free) for d in chosen for s in (1.0, -1.0)
    ]
    open_ = [side for side in sides if side.reach >= SHORTEST_PATH]
    value, largest = float(values[last - exact]), float(values[len(V) - free])
    travel = tuple(side.travel for side in sides)
    counts = (free - exact, exact, largest)
    if not open_:
        if exact:
            # a small value without a path is not a case of clearance
            return None
        reach = max(s.reach for s in sides)
        return Locked(value, np.inf, reach, equations.length, (pose,), travel, *counts)
    misfit = max(side.misfit for side in open_)
    if misfit <= rounding:
        return None
    path = (pose, *_clear(equations, [p for side in open_ for p in side.poses], idle, free))
    reach = max(s.reach for s in open_)
    return Locked(value, misfit, reach, equations.length, path, travel, *counts)


def decide_locked(equations: JointEquations, mobility: Mobility) -> tuple[Mobility, Locked | None]:
    """The mobility, decided by the misfit instead of the rank where degrees of freedom are approximate only."""
    if CROSSING in mobility.classes:
        # several degrees of freedom coincide instantaneously: the rank decides
        return mobility, None
    locked = find_locked(equations)
    if locked is None or not locked.nearly:
        return mobility, locked
    moves = locked.within(MISFIT * equations.length)
    true = len(mobility.idle_spins) + locked.exact
    motion = true + locked.dof * int(moves)
    # a degree of freedom that is exact at this configuration does not depend on clearance
    here = mobility.here if locked.value <= INSTANTANEOUS_DOF else motion
    rank = mobility.rank
    if rank.rank != equations.columns - here:
        # the misfit has decided, so the tolerance of the rank moves to the other side of the value
        W = equations.scaled(equations.start()).matrix
        limit = 2.0 * locked.largest if moves else 0.5 * locked.value
        rank = measure_rank(W, equations.columns_a_body, limit)
    redundant = equations.rows - equations.columns + motion
    if moves:
        classes: tuple[str, ...] = (MOBILE_WITHIN,)
    else:
        classes = classify(
            locked=not locked.exact,
            crossing=False,
            near=NEAR_SINGULAR in mobility.classes and not locked.exact,
            redundant=redundant > 0 or mobility.redundant_motion > 0,
        )
    decided = replace(
        mobility,
        rank=rank,
        here=here,
        motion=motion,
        redundant_here=equations.rows - equations.columns + here,
        redundant_motion=redundant,
        classes=classes,
        dimensions=(motion,),
    )
    return decided, locked


@dataclass(frozen=True, eq=False)
class _Side:
    poses: list[Pose]
    misfit: float
    reach: float
    travel: Floats


def _last_below(way: Floats, misfit: float) -> float:
    """Where the gaps along one direction first exceed a misfit, by linear interpolation."""
    distance, gap = way
    above = np.flatnonzero(gap > misfit)
    if not len(above):
        return float(distance[-1])
    i = int(above[0])
    if i == 0:
        return 0.0
    share = (misfit - gap[i - 1]) / (gap[i] - gap[i - 1])
    return float(distance[i - 1] + share * (distance[i] - distance[i - 1]))


def _clear(
    equations: JointEquations, poses: list[Pose], idle: list[tuple[int, Floats]], free: int
) -> list[Pose]:
    """The configurations away from singular ones, where there is only one approximate degree of freedom."""
    next_value = [
        np.linalg.svd(_with_locked_spins(equations, pose, idle), compute_uv=False)[-1 - free :][0]
        for pose in poses
    ]
    return [p for p, v in zip(poses, next_value, strict=True) if v > 0.3 * np.median(next_value)]


def _idle_axes(equations: JointEquations, pose: Pose) -> list[tuple[int, Floats]]:
    """Bodies that can spin idly, and their spin axes at the start."""
    names = idle_spins(equations, pose)
    numbers = [equations.bodies.index(name) for name in names]
    return [(i, np.linalg.eigh(equations.inertias[i])[1][:, 0]) for i in numbers]


def _with_locked_spins(
    equations: JointEquations, pose: Pose, idle: list[tuple[int, Floats]]
) -> Floats:
    """The scaled joint equations, with one more equation per idle spin, which locks it."""
    spins = []
    for i, axis in idle:
        twists = np.zeros((len(equations.bodies), 6))
        twists[i, 3:] = pose.turns[i] @ axis
        spin = equations.scaled_twists(pose, twists)
        spins.append(spin / np.linalg.norm(spin))
    return np.vstack([equations.scaled_dense(pose), *spins])


def _follow(
    equations: JointEquations,
    pose: Pose,
    direction: Floats,
    idle: list[tuple[int, Floats]],
    steps: int,
    free: int,
) -> _Side:
    """Configurations along an approximate degree of freedom, until it is blocked or the path is long enough.

    free: total number of degrees of freedom, exact and approximate.
    """
    poses: list[Pose] = []
    start, misfit = pose, 0.0
    travel = [(0.0, measure_misfit(equations, pose))]
    for _ in range(steps):
        twists = equations.twists(pose, direction)
        size = largest_twist(twists, equations.length)
        there, gap = _least_gaps(equations, pose.moved(twists * (STEP / size)), direction)
        distance = pose.distance(there, equations.length)
        if not 0.5 * STEP < distance < 2.0 * STEP:
            break
        travel.append((travel[-1][0] + distance, gap))
        if not gap <= BLOCKED_PATH * equations.length:
            break
        misfit, pose = max(misfit, gap), there
        poses.append(pose)
        # the singular vectors of the smallest values continue the path, as straight as they allow
        low = np.linalg.svd(_with_locked_spins(equations, pose, idle))[2][-free:]
        direction = low.T @ (low @ direction)
        direction /= np.linalg.norm(direction)
    reach = max((start.distance(p, equations.length) for p in poses), default=0.0)
    return _Side(poses, misfit, reach, np.array(travel).T)


def _least_gaps(equations: JointEquations, pose: Pose, across: Floats) -> tuple[Pose, float]:
    """The configuration with the smallest gaps normal to a direction (a unit vector), and its misfit [m]."""
    scale = np.where(equations.row_about, 1.0, 1.0 / equations.length)

    def look(pose: Pose) -> tuple[Floats, Floats]:
        gaps, W = equations.look(pose)
        W *= scale[:, None]
        return scale * gaps, W - np.outer(W @ across, across)

    def move(pose: Pose, x: Floats) -> Pose:
        return pose.moved(equations.twists(pose, x))

    # so that three gaps of one joint, each at most this large, together stay below the rounding limit
    enough = equations.rounding / 2.0
    found = lower_gaps(pose, look, move, enough=enough, weak=WEAK, steps=CLOSING)
    gaps = equations.pair_gaps(found.gaps) * equations.length
    return found.position, float(gaps.max(initial=0.0))


def measure_misfit(equations: JointEquations, pose: Pose) -> float:
    """The largest gap of a joint at a configuration [m]; radians are multiplied by the length of the mechanism."""
    gaps = equations.gaps(pose) * np.where(equations.row_about, equations.length, 1.0)
    return float(equations.pair_gaps(gaps).max(initial=0.0))
