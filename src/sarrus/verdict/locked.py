"""Locked or mobile? A paradoxical linkage with slightly wrong dimensions is locked in truth, yet moves with a
little play in its joints.

Where W has one small singular value and the count says that nothing moves, its singular vector is almost a
freedom (or one for an instant only). It is followed kinematically: a step along it, then the least gaps (in
the sense of squares) that are possible across it,

    minimise |g|  with  d . x = 0,      d: the direction followed,

and so on, both ways. The largest gap on that path is the misfit that the joints need to have for the linkage to
move. `mend_geometry` does without play: it finds the nearest dimensions that let it move exactly. With left
null vectors n of W at many poses of the path (self-stress of the moving linkage), g the gaps there and P their
rates with the joint places and axes p of the bodies,

    n^T (g + P p) = 0  at all poses,      |p| least,

repeated until the gaps are rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..arrays import Floats, Ints
from ..mechanism import End, Mechanism, MechanismError, Move, loosen_rods, move_bodies
from .joint_equations import JointEquations, Pose, make_joint_equations
from .mobility import LOCKED, MOBILE_WITHIN, NEAR_SINGULAR, OVER_CONSTRAINED, Mobility, idle_spins
from .nearby import measure_distance
from .rank import measure_rank

# a misfit up to this share of the mechanism's length counts as mobile: dimensions typed to 9 digits
MISFIT = 1e-8
# a misfit below this share is rounding: the linkage is mobile in truth
EXACT = 2e-15
# gaps that mended dimensions may leave
MENDED = 1e-13
# a singular value below this is almost a freedom, if the next one is above that
ALMOST, ALONE = 1e-2, 1e-4
# and below this it is a freedom here, for an instant at least
INSTANT = 1e-13
# larger mechanisms are left to the rank
MOST_COLUMNS = 240
# step along the path and how far it is followed each way: radians, or lengths of the mechanism
STEP = 0.15
STEPS = 20
LOOK = 3
# a larger misfit, as a share of the length, is no play any more: the path ends
BLOCKED = 5e-3
# a path shorter than this is no motion
SHORTEST = 0.6
# left null vectors belong to values below this share of the largest
NULL = 1e-3
# closing goes along directions above this share
WEAK = 1e-5
# conditions on the dimensions weaker than this share of the strongest are left out, at first
WEAKEST = (1e-3, 1e-5, 1e-7, 1e-9)


class LockedError(MechanismError):
    """The mechanism is locked: no motion keeps all joints closed."""


@dataclass(frozen=True, eq=False)
class Locked:
    """A mechanism that is locked in truth, and the play that would let it move.

    value: the smallest singular value; misfit [m]: largest gap on the path followed (radians count times the
    mechanism's length), infinite if the path ends at once; reach: how far it was followed, radians or
    lengths of the mechanism; length of the mechanism [m]; path: poses followed, away from singular ones;
    travel: for each way, how far each pose is along it and the largest gap there [m].
    """

    value: float
    misfit: float
    reach: float
    length: float
    path: tuple[Pose, ...] = field(repr=False)
    travel: tuple[Floats, ...] = field(repr=False)

    def within(self, misfit: float) -> bool:
        """Whether joints with so much play [m] let it move."""
        return self.misfit <= misfit

    def reach_within(self, misfit: float) -> float:
        """How far it moves before a joint opens by more than this [m], the farther way; as `reach`."""
        return max(_last_below(way, misfit) for way in self.travel)

    @property
    def nearly(self) -> bool:
        """Whether some play would let it move at all."""
        return bool(np.isfinite(self.misfit))

    def as_dict(self) -> dict[str, float | None]:
        """For JSON."""
        return {
            "smallest_value": self.value,
            "misfit": self.misfit if self.nearly else None,
            "reach": self.reach,
            "tolerance": MISFIT * self.length,
        }


@dataclass(frozen=True, eq=False)
class Mended:
    """A mechanism whose dimensions were changed so that it moves; by how much at most [m, rad]."""

    mechanism: Mechanism
    metres: float
    radians: float
    left: float


def find_locked(equations: JointEquations) -> Locked | None:
    """Whether a mechanism of moderate size is locked in truth but has one almost-freedom.

    None if it moves, if it is a firm structure, or where several freedoms meet: then the rank has the word.
    """
    pose = equations.start()
    idle = _idle_axes(equations, pose)
    if equations.columns > MOST_COLUMNS or equations.rows + len(idle) < equations.columns:
        return None
    _, values, V = np.linalg.svd(_held(equations, pose, idle))
    last = equations.columns - 1
    if values[last] > ALMOST or (last > 0 and values[last - 1] < ALONE):
        return None
    far = float(np.abs(equations.origin).max()) + float(np.abs(equations.centers).max())
    rounding = EXACT * equations.length * (1.0 + far / equations.length)
    # most paradoxical linkages move exactly: a few steps tell
    look = _follow(equations, pose, V[last], idle, LOOK)
    if len(look.poses) == LOOK and look.misfit <= rounding:
        return None
    sides = [_follow(equations, pose, sign * V[last], idle, STEPS) for sign in (1.0, -1.0)]
    open_ = [side for side in sides if side.reach >= SHORTEST]
    value = float(values[last])
    travel = tuple(side.travel for side in sides)
    if not open_:
        reach = max(s.reach for s in sides)
        return Locked(value, np.inf, reach, equations.length, (pose,), travel)
    misfit = max(side.misfit for side in open_)
    if misfit <= rounding:
        return None
    path = (pose, *_clear(equations, [p for side in open_ for p in side.poses], idle))
    return Locked(value, misfit, max(s.reach for s in open_), equations.length, path, travel)


def decide_locked(equations: JointEquations, mobility: Mobility) -> tuple[Mobility, Locked | None]:
    """The mobility with the word of the misfit instead of the rank's where a mechanism is locked in truth."""
    if mobility.here - len(mobility.idle_spins) > 1:
        return mobility, None
    locked = find_locked(equations)
    if locked is None or not locked.nearly:
        return mobility, locked
    idle = len(mobility.idle_spins)
    moves = locked.within(MISFIT * equations.length)
    motion = idle + int(moves)
    # a freedom that is one at this very position is no matter of play
    here = mobility.here if locked.value <= INSTANT else motion
    rank = mobility.rank
    if rank.rank != equations.columns - here:
        # the misfit has decided, so the tolerance of the rank goes to the other side of the value
        W = equations.scaled(equations.start()).matrix
        limit = locked.value * (2.0 if moves else 0.5)
        rank = measure_rank(W, equations.columns_a_body, limit)
    if moves:
        classes: tuple[str, ...] = (MOBILE_WITHIN,)
    else:
        classes = (LOCKED, *(c for c in mobility.classes if c in (OVER_CONSTRAINED, NEAR_SINGULAR)))
    decided = replace(
        mobility,
        rank=rank,
        here=here,
        motion=motion,
        redundant_here=equations.rows - equations.columns + here,
        redundant_motion=equations.rows - equations.columns + motion,
        classes=classes,
    )
    return decided, locked


@dataclass(frozen=True, eq=False)
class _Side:
    poses: list[Pose]
    misfit: float
    reach: float
    travel: Floats


def _last_below(way: Floats, misfit: float) -> float:
    """Where gaps along a way first exceed a misfit; between two poses they grow linearly."""
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
    equations: JointEquations, poses: list[Pose], idle: list[tuple[int, Floats]]
) -> list[Pose]:
    """The poses away from singular positions, where the almost-freedom stands alone."""
    next_value = [
        np.linalg.svd(_held(equations, pose, idle), compute_uv=False)[-2:][0] for pose in poses
    ]
    return [p for p, v in zip(poses, next_value, strict=True) if v > 0.3 * np.median(next_value)]


def _idle_axes(equations: JointEquations, pose: Pose) -> list[tuple[int, Floats]]:
    """Bodies that can spin idly, and the axis about which they do, at the start."""
    names = idle_spins(equations, pose)
    numbers = [equations.bodies.index(name) for name in names]
    return [(i, np.linalg.eigh(equations.inertias[i])[1][:, 0]) for i in numbers]


def _held(equations: JointEquations, pose: Pose, idle: list[tuple[int, Floats]]) -> Floats:
    """The scaled joint equations, and one more for each idle spin, which holds it."""
    spins = []
    for i, axis in idle:
        twists = np.zeros((len(equations.bodies), 6))
        twists[i, 3:] = pose.turns[i] @ axis
        spin = equations.scaled_twists(pose, twists)
        spins.append(spin / np.linalg.norm(spin))
    return np.vstack([equations.scaled(pose).matrix.toarray(), *spins])


def _follow(
    equations: JointEquations,
    pose: Pose,
    direction: Floats,
    idle: list[tuple[int, Floats]],
    steps: int,
) -> _Side:
    """Poses along an almost-freedom, until it is blocked or the path is long enough."""
    poses: list[Pose] = []
    start, misfit = pose, 0.0
    travel = [(0.0, measure_misfit(equations, pose))]
    for _ in range(steps):
        twists = equations.twists(pose, direction)
        size = max(
            float(np.linalg.norm(twists[:, :3], axis=1).max()) / equations.length,
            float(np.linalg.norm(twists[:, 3:], axis=1).max()),
        )
        there = _least_gaps(equations, pose.moved(twists * (STEP / size)), direction)
        gap = measure_misfit(equations, there)
        distance = measure_distance(equations, pose, there)
        if not 0.5 * STEP < distance < 2.0 * STEP:
            break
        travel.append((travel[-1][0] + distance, gap))
        if not gap <= BLOCKED * equations.length:
            break
        misfit, pose = max(misfit, gap), there
        poses.append(pose)
        # the singular vector of the smallest value continues the path
        low = np.linalg.svd(_held(equations, pose, idle))[2][-1]
        direction = low if low @ direction > 0 else -low
    reach = max((measure_distance(equations, start, p) for p in poses), default=0.0)
    return _Side(poses, misfit, reach, np.array(travel).T)


def _least_gaps(equations: JointEquations, pose: Pose, across: Floats) -> Pose:
    """The pose of least gaps that can be reached across a direction (a unit vector)."""
    scale = np.where(equations.row_about, 1.0, 1.0 / equations.length)
    best = np.inf
    for _ in range(12):
        W = scale[:, None] * equations.weighted(pose).toarray()
        W -= np.outer(W @ across, across)
        U, values, V = np.linalg.svd(W, full_matrices=False)
        rank = int(np.sum(values > WEAK * values[0]))
        x = -V[:rank].T @ ((U.T @ (scale * equations.gaps(pose)))[:rank] / values[:rank])
        size = float(np.linalg.norm(x))
        if not size < 0.9 * best:
            break
        best = size
        pose = pose.moved(equations.twists(pose, x))
        if size < 1e-15:
            break
    return pose


def measure_misfit(equations: JointEquations, pose: Pose) -> float:
    """The largest gap of a joint at a pose [m]; radians count times the mechanism's length."""
    gaps = equations.gaps(pose) * np.where(equations.row_about, equations.length, 1.0)
    squares = np.zeros((2, len(equations.pair_joint)))
    np.add.at(squares, (equations.row_about.astype(int), equations.row_pair), gaps**2)
    return float(np.sqrt(squares.max(initial=0.0)))


def bridge_misfit(
    mechanism: Mechanism, equations: JointEquations, misfit: float | None
) -> tuple[Mechanism, list[str]]:
    """A mechanism that moves exactly instead of one that is locked by a small misfit, and what was done.

    misfit [m]: what may be bridged, MISFIT of the mechanism's length if left out. Raises MechanismError if it
    would move with more. What moves anyway, and structures, are returned as they are.
    """
    allowed = MISFIT * equations.length if misfit is None else misfit
    locked = find_locked(equations)
    if locked is None or not locked.nearly:
        return mechanism, []
    if not locked.within(allowed):
        raise LockedError(
            f"mechanism '{mechanism.name}' is locked: no motion keeps all joints closed (smallest singular value "
            f"{locked.value:.1e}). It would move within a misfit of {locked.misfit:.3g} m, and {allowed:.3g} m "
            "are allowed: give places and axes to all digits, or allow more with misfit=, or 0 for a structure"
        )
    mended = mend_geometry(mechanism, locked)
    if mended is None:
        raise LockedError(
            f"mechanism '{mechanism.name}' is locked, and moves within a misfit of {locked.misfit:.3g} m; but no "
            "dimensions near the given ones were found that let it move exactly: give places and axes to more "
            "digits"
        )
    axes = f", axes by up to {mended.radians:.2e} rad" if equations.dimension == 3 else ""
    return mended.mechanism, [
        f"locked in truth, mobile within a misfit of {locked.misfit:.2e} m (allowed: {allowed:.2e} m; smallest "
        f"singular value {locked.value:.1e}): joint places were changed in their bodies by up to "
        f"{mended.metres:.2e} m{axes}, so that it moves"
    ]


# mending the dimensions


def mend_geometry(mechanism: Mechanism, locked: Locked) -> Mended | None:
    """The mechanism with the least changed joint places and axes that moves exactly; None if not found."""
    equations = make_joint_equations(mechanism)
    slot = _slots(mechanism, equations)
    far = 1.0 + float(np.abs(equations.origin).max()) / equations.length
    # few conditions make a linkage paradoxical; weak ones, of the size of the misfit itself, come last
    for weakest in WEAKEST:
        change, poses, left = _mend(equations, slot, list(locked.path), weakest)
        if left <= MENDED * equations.length * far:
            return Mended(
                mechanism=_write(mechanism, equations, change, poses[0]),
                metres=float(np.linalg.norm(change[:, :3], axis=1).max()),
                radians=float(np.linalg.norm(change[:, 3:], axis=1).max()),
                left=left,
            )
    return None


def _mend(
    equations: JointEquations, slot: Ints, poses: list[Pose], weakest: float
) -> tuple[Floats, list[Pose], float]:
    """Changes of places and axes, (slots, 6), the poses with them, and the largest gap left there."""
    n = int(slot.max()) + 1
    change = np.zeros((n, 6))
    best = (change, poses, np.inf)
    now, still = equations, 0
    while still < 2:
        conditions, sides, steps = [], [], []
        for pose in poses:
            W, g, P = _rates(now, slot, pose, n)
            U, values, V = np.linalg.svd(W)
            rank = int(np.sum(values > NULL * values[0]))
            null = U[:, rank:]
            conditions.append(null.T @ P)
            sides.append(-null.T @ g)
            steps.append((U[:, :rank], values[:rank], V[:rank], g, P))
        A = np.vstack(conditions)
        p = np.linalg.lstsq(A, np.concatenate(sides), rcond=weakest)[0]
        change = change + p.reshape(-1, 6) * np.repeat([equations.length, 1.0], 3)
        poses = [
            pose.moved(now.twists(pose, -V.T @ ((U.T @ (g + P @ p)) / values)))
            for pose, (U, values, V, g, P) in zip(poses, steps, strict=True)
        ]
        now = _changed(equations, slot, change)
        left = max(measure_misfit(now, pose) for pose in poses)
        still = 0 if left < 0.7 * best[2] else still + 1
        if left < best[2]:
            best = (change, poses, left)
    return best


def _slots(mechanism: Mechanism, equations: JointEquations) -> Ints:
    """Number of the (joint, body) that each side of each pair is, (pairs, 2)."""
    first = np.cumsum([0, *(len(j.ends) for j in mechanism.joints)])
    seen = np.zeros(len(mechanism.joints), dtype=np.int64)
    out = []
    for j in equations.pair_joint:
        seen[j] += 1
        out.append((first[j], first[j] + seen[j]))
    return np.array(out, dtype=np.int64).reshape(-1, 2)


def _changed(equations: JointEquations, slot: Ints, change: Floats) -> JointEquations:
    """The joint equations with places and axes changed in their bodies."""

    def axes(old: Floats, side: int) -> Floats:
        new = old + change[slot[:, side], 3:]
        size = np.linalg.norm(new, axis=1)
        return new / np.where(size > 0.0, size, 1.0)[:, None]

    return replace(
        equations,
        pair_place=equations.pair_place + change[slot[:, 0], :3],
        pair_other_place=equations.pair_other_place + change[slot[:, 1], :3],
        pair_axis=axes(equations.pair_axis, 0),
        pair_other_axis=axes(equations.pair_other_axis, 1),
    )


def _rates(
    equations: JointEquations, slot: Ints, pose: Pose, n: int
) -> tuple[Floats, Floats, Floats]:
    """W over scaled twists, gaps, and their rates with the changes, all as pure numbers."""
    L = equations.length
    scale = np.where(equations.row_about, 1.0, 1.0 / L)
    W = scale[:, None] * equations.weighted(pose).toarray()
    u = equations.directions(pose)
    turns = np.concatenate([pose.turns, np.eye(3)[None]])
    P = np.zeros((equations.rows, n, 6))
    rows = np.arange(equations.rows)
    pair = equations.row_pair
    ends = [
        np.einsum("pij,pj->pi", turns[equations.pair_bodies[:, side]], axis)[pair]
        for side, axis in enumerate((equations.pair_axis, equations.pair_other_axis))
    ]
    # two equations about: those of a common axis
    about = np.bincount(pair[equations.row_about], minlength=len(equations.pair_joint))
    hinged = equations.row_about & (about[pair] == 2)
    for side, sign in ((0, -1.0), (1, 1.0)):
        R = turns[equations.pair_bodies[pair, side]]
        along = sign * np.einsum("rji,rj->ri", R, u)
        at = slot[pair, side]
        P[rows, at, :3] += np.where(equations.row_about[:, None], 0.0, along)
        across = np.cross(ends[1], u) if side == 0 else np.cross(u, ends[0])
        P[rows, at, 3:] += np.where(hinged[:, None], np.einsum("rji,rj->ri", R, across), 0.0)
    if equations.dimension == 2:
        P[:, :, 2:] = 0.0
    return W, scale * equations.gaps(pose), P.reshape(equations.rows, 6 * n)


def _write(
    mechanism: Mechanism,
    equations: JointEquations,
    change: Floats,
    pose: Pose,
) -> Mechanism:
    """The mechanism at a pose with its joints changed in their bodies."""
    d = mechanism.dimension
    at = 0
    changed = mechanism.copy()
    for n, joint in enumerate(mechanism.joints):
        mine = change[at : at + len(joint.ends)]
        at += len(joint.ends)
        if joint.at is not None:
            ends = (_changed_end(end, c, d) for end, c in zip(joint.ends, mine, strict=True))
            changed.joints[n] = replace(joint, ends=tuple(ends))
    moves = {
        body.name: Move(
            body.center,
            pose.turns[i][:d, :d],
            body.center + (pose.centers[i] - equations.centers[i])[:d],
        )
        for i, body in enumerate(mechanism.bodies)
    }
    return loosen_rods(move_bodies(changed, moves))


def _changed_end(end: End, change: Floats, d: int) -> End:
    place = None if end.place is None else end.place + change[:d]
    axis = None if end.axis is None else end.axis / np.linalg.norm(end.axis) + change[3 : 3 + d]
    return End(end.body, place, axis)
