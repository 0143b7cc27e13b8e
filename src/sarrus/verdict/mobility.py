"""Mobility: Gruebler's count, instantaneous mobility, finite mobility, and their classification.

count                    columns - rows of W
instantaneous mobility   columns - rank of W at this configuration
finite mobility          columns - the largest rank of W nearby on the motion; if a velocity that W allows
                         there is infinitesimal only, as at a dead end, only velocities of finite motions count

Drives reduce these degrees of freedom: the rank of W then includes their equations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats
from ..kinematics.configuration import Pose, in_space
from ..mechanism import Mechanism
from ..thresholds import IDLE_SPIN, MOVED_ZERO, NEAR_VALUE, NEARBY_TOLERANCE, THIN_BODY
from .joint_equations import JointEquations
from .joint_frames import GROUND, find_point
from .nearby_configurations import STEP, Nearby, find_nearby, in_doubt, step_along
from .rank import DENSE, Rank, measure_rank
from .redundancy import Dependence, find_redundancy

if TYPE_CHECKING:
    from .branches import Branches

# entry of a unit velocity vector: a body with smaller entries does not move; rounding is 1e-15
MOVES = 1e-9
# largest number of velocities that are followed individually to find out whether they are finite motions
FOLLOWED = 12

REGULAR = "regular"
REDUNDANT = "permanently redundant"
CROSSING = "crossing"
NEAR_SINGULAR = "near-singular"
LOCKED = "locked"
OVER_CONSTRAINED = "over-constrained"
MOBILE_WITHIN = "mobile within tolerance"
INCONSISTENT = "inconsistent"


@dataclass(frozen=True)
class Mobility:
    """The mobility of a mechanism at a configuration, and the numbers that decided it.

    count: Gruebler's; here, motion: instantaneous and finite mobility; redundant_here, redundant_motion: number of
    redundant equations; classes: all classes that apply, the most important first; rank: at this configuration;
    nearby: configurations examined on the motion (none if the rank cannot be larger); dimensions: degrees of
    freedom of the motions found there, more than one number if branches of different dimension meet; idle_spins:
    bodies without inertia about an axis that no joint constrains, whose spin counts as mobility but moves nothing
    (a mechanism without other degrees of freedom is locked); free_bodies: bodies without any joint.
    """

    count: int
    here: int
    motion: int
    redundant_here: int
    redundant_motion: int
    classes: tuple[str, ...]
    rank: Rank
    nearby: tuple[Nearby, ...] = field(repr=False)
    idle_spins: tuple[str, ...]
    free_bodies: tuple[str, ...]
    dimensions: tuple[int, ...] = ()

    @property
    def classification(self) -> str:
        """The most important class."""
        return self.classes[0]

    @property
    def generic(self) -> Nearby | None:
        """The nearby configuration with the largest rank."""
        return max(self.nearby, key=lambda n: n.rank.rank, default=None)


def measure_mobility(
    equations: JointEquations,
    pose: Pose | None = None,
    given: list[tuple[str, Floats]] | None = None,
) -> Mobility:
    """Mobility at a configuration (default: the start); given: velocities to follow first."""
    pose = equations.start() if pose is None else pose
    width = equations.columns_a_body
    W = equations.scaled(pose).matrix
    rank = measure_rank(W, width, equations.tolerance)
    here, most = equations.columns - rank.rank, min(equations.rows, equations.columns)
    close = rank.smallest < NEAR_VALUE
    nearby: list[Nearby] = []
    if here and (rank.rank < most or close):
        nearby = find_nearby(equations, pose, given or [], most)
    largest = max([rank.rank, *(n.rank.rank for n in nearby)])
    motion = equations.columns - largest
    dimensions = [motion]
    # at a configuration that is singular except for rounding the rank is full, yet there may be no finite motion
    if motion and (largest < equations.rows or (close and not nearby)):
        best = max(nearby, key=lambda n: n.rank.rank, default=None)
        motion = _count_leading_on(equations, best.pose if best else pose, motion, bool(best))
        dimensions = [motion]
    if largest > rank.rank:
        # branches meet: find one configuration per rank at which the rank is beyond doubt
        doubt = in_doubt(equations, rank)
        others = {
            n.rank.rank: n.pose
            for n in nearby
            if n.rank.rank < largest and (doubt or not in_doubt(equations, n.rank))
        }
        dimensions += [
            _count_leading_on(equations, other, equations.columns - r, True)
            for r, other in others.items()
        ]
    idle = idle_spins(equations, pose)
    # a structure near a singular configuration cannot move to confirm it
    near = close and (
        here == len(idle) or not nearby or any(n.rank.smallest > 10 * rank.smallest for n in nearby)
    )
    return Mobility(
        count=equations.count,
        here=here,
        motion=motion,
        redundant_here=equations.rows - rank.rank,
        redundant_motion=equations.rows - largest,
        classes=classify(
            locked=motion == len(idle),
            crossing=largest > rank.rank,
            near=near,
            redundant=largest < equations.rows,
        ),
        rank=rank,
        nearby=tuple(nearby),
        idle_spins=idle,
        free_bodies=tuple(
            name for i, name in enumerate(equations.bodies) if i not in equations.pair_bodies
        ),
        dimensions=tuple(sorted(set(dimensions))),
    )


def given_velocity(equations: JointEquations, mechanism: Mechanism) -> list[tuple[str, Floats]]:
    """The start velocities of a mechanism as twists of least kinetic energy; empty if none are given.

    Large mechanisms are followed along the general velocities only.
    """
    if not (mechanism.velocities or mechanism.angular_velocities) or equations.columns > DENSE:
        return []
    pose = equations.start()
    wanted, side = velocity_rows(equations, mechanism)
    sizes = np.linalg.norm(wanted, axis=1)
    sizes[sizes == 0.0] = 1.0
    A = np.vstack([equations.scaled(pose).matrix.toarray(), wanted / sizes[:, None]])
    b = np.concatenate([np.zeros(equations.rows), side / sizes])
    scaled = np.linalg.lstsq(A, b, rcond=equations.tolerance)[0]
    return [("the given velocity", equations.twists(pose, scaled))]


def velocity_rows(equations: JointEquations, mechanism: Mechanism) -> tuple[Floats, Floats]:
    """The given start velocities as equations rows x = side for the scaled twists at the start."""
    pose = equations.start()
    number = {name: i for i, name in enumerate(equations.bodies)}
    rows, side = [], []
    for name, velocity in mechanism.velocities:
        body, place = find_point(mechanism, name)
        at = in_space(place) - equations.origin
        i = number.get(body, GROUND)
        for u, value in zip(np.eye(3), velocity, strict=False):
            twist = np.zeros((len(equations.bodies), 6))
            if i != GROUND:
                twist[i, :3] = u
                twist[i, 3:] = np.cross(at - equations.centers[i], u)
            rows.append(twist)
            side.append(float(value))
    for name, rate in mechanism.angular_velocities:
        spins = [(5, float(rate))] if rate.ndim == 0 else zip((3, 4, 5), rate, strict=True)
        for k, value in spins:
            twist = np.zeros((len(equations.bodies), 6))
            twist[number[name], k] = 1.0
            rows.append(twist)
            side.append(float(value))
    # linear: forces map to scaled twists by the same matrix, transposed
    wanted = np.array([equations.scaled_forces(pose, r) for r in rows])
    return wanted, np.array(side)


def _count_leading_on(equations: JointEquations, pose: Pose, mobility: int, moved: bool) -> int:
    """How many of the velocities that W allows belong to finite motions.

    Each velocity is followed for one step, then the joints are closed; those that return were infinitesimal only.
    If there are too many velocities none is followed, and the rank decides.
    """
    if equations.columns > DENSE or mobility > FOLLOWED:
        return mobility
    _, values, basis = np.linalg.svd(equations.scaled(pose).matrix.toarray())
    free = basis[int(np.sum(values > (STEP * MOVED_ZERO if moved else equations.tolerance))) :]
    reached = []
    for direction in free:
        there = step_along(equations, pose, direction)
        if there is not None:
            move = equations.scaled_twists(pose, pose.displacement(there))
            reached.append(free @ move / np.linalg.norm(move))
    if not reached:
        return 0
    # displacements along different velocities differ by order one, a repeated displacement by the curvature, h
    return int(np.sum(np.linalg.svd(np.array(reached), compute_uv=False) > 4 * STEP))


def classify(locked: bool, crossing: bool, near: bool, redundant: bool) -> tuple[str, ...]:
    """The classes that apply, the most important first."""
    words = {
        LOCKED: locked,
        OVER_CONSTRAINED: locked and redundant,
        CROSSING: crossing,
        NEAR_SINGULAR: near,
        REDUNDANT: redundant and not locked,
    }
    return tuple(word for word, applies in words.items() if applies) or (REGULAR,)


def idle_spins(equations: JointEquations, pose: Pose) -> tuple[str, ...]:
    """Bodies that can spin about an axis without inertia while nothing else moves."""
    if equations.dimension == 2:
        return ()
    sizes, axes = np.linalg.eigh(equations.inertias)
    thin = np.flatnonzero((sizes[:, 0] <= THIN_BODY * sizes[:, 2]) & (sizes[:, 2] > 0))
    if not thin.size:
        return ()
    W = equations.matrix(pose).tocsc()
    out = []
    for i in thin:
        axis = pose.turns[i] @ axes[i, :, 0]
        effect = W[:, 6 * i + 3 : 6 * i + 6] @ axis
        if np.abs(effect).max(initial=0.0) <= IDLE_SPIN * equations.length:
            out.append(equations.bodies[i])
    return tuple(out)


@dataclass(frozen=True)
class Driven:
    """The effect of drives on the degrees of freedom of a mechanism.

    drives: their names; free_here, free_motion: degrees of freedom that the drives leave, here and nearby on the
    motion; idle_here, idle_motion: number of drives that prescribe what joints and other drives already determine;
    sets: the dependent equations of joints and drives here; locked_branches: branches with locked drives, if the
    drives leave a first-order degree of freedom here that they do not leave nearby; moving: bodies that the drives
    leave movable, empty if they are all bodies.
    """

    drives: tuple[str, ...]
    free_here: int
    free_motion: int
    idle_here: int
    idle_motion: int
    sets: tuple[Dependence, ...]
    locked_branches: Branches | None = None
    moving: tuple[str, ...] = ()


def measure_driven(whole: JointEquations, mobility: Mobility) -> Driven:
    """Rank with the equations of the drives, here and at nearby configurations on the motion."""
    joints, rows, width = whole.undriven, whole.rows, whole.columns_a_body
    start = whole.start()
    here = measure_rank(whole.scaled(start).matrix, width, whole.tolerance).rank
    idle_here = rows - here - mobility.redundant_here
    poses = [n.pose for n in mobility.nearby]
    if idle_here and not poses:
        # the joints alone did not require configurations nearby
        poses = [n.pose for n in find_nearby(joints, start, [], whole.columns + 1)]
    there = [measure_rank(whole.scaled(p).matrix, width, NEARBY_TOLERANCE).rank for p in poses]
    largest = max([here, *there])
    sets: tuple[Dependence, ...] = ()
    if idle_here:
        nearby = poses[there.index(largest)] if largest in there else None
        found = find_redundancy(whole, rows - here, nearby=nearby)
        sets = tuple(s for s in found.sets if any(e.drive for e in s.equations))
    # velocities of the joints that are infinitesimal only are not degrees of freedom with drives either
    back = whole.columns - (joints.rows - mobility.redundant_motion) - mobility.motion
    return Driven(
        drives=whole.drives,
        free_here=whole.columns - here,
        free_motion=max(whole.columns - largest - back, 0),
        idle_here=idle_here,
        idle_motion=max(rows - largest - mobility.redundant_motion, 0),
        sets=sets,
        moving=()
        if here < largest or back or mobility.idle_spins
        else _moving_bodies(whole, start),
    )


def _moving_bodies(equations: JointEquations, pose: Pose) -> tuple[str, ...]:
    """Bodies that move in a velocity that the equations allow; empty if none or all of them do."""
    if equations.columns > DENSE:
        return ()
    _, values, right = np.linalg.svd(equations.scaled(pose).matrix.toarray())
    free = np.abs(right[int(np.sum(values > equations.tolerance)) :])
    shape = (len(free), len(equations.bodies), equations.columns_a_body)
    sizes = free.reshape(shape).max(axis=(0, 2), initial=0.0)
    found = tuple(b for b, x in zip(equations.bodies, sizes, strict=True) if x > MOVES)
    return found if len(found) < len(equations.bodies) else ()
