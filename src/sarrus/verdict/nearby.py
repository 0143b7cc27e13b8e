"""Poses near a given one on the motion: a small step along an allowed velocity, then closed again.

Closing (kinematics/closing.py) converges slowly but surely back to the given pose where it can move by
infinitesimal amounts only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..arrays import Floats
from ..kinematics.closing import lower_gaps, project_out
from ..kinematics.pose import Pose, largest_twist
from ..thresholds import CLOSED_NEARBY, CLOSED_WHOLLY, FORBIDDEN_WISH, NEARBY_TOLERANCE
from .joint_equations import JointEquations
from .rank import DENSE, Rank, measure_rank

# size of the step: radians, or lengths of the mechanism
STEP = 0.05
ITERATIONS = 80
# more poses would tell no more
MOST_POSES = 6
# random walks over a mechanism, their steps, and how large it may be
WALKS = 3
WALK = 8
FOLLOWED = 100


@dataclass(frozen=True)
class Nearby:
    """A pose on the motion, how it was reached, how far it is, and its rank."""

    along: str
    distance: float
    pose: Pose
    rank: Rank


def find_nearby(
    equations: JointEquations, pose: Pose, given: list[tuple[str, Floats]], enough: int
) -> list[Nearby]:
    """Poses near the given one, MOST_POSES at most; stops at one whose rank is `enough`.

    given: velocities (words, twists of all bodies) to try before the general ones.
    """
    found = []
    matrix = equations.scaled(pose).matrix
    for words, wish in _wishes(equations, pose, given):
        allowed = project_out(matrix, wish, equations.tolerance, DENSE)
        if np.linalg.norm(allowed) < FORBIDDEN_WISH * np.linalg.norm(wish):
            continue
        there = step_along(equations, pose, allowed)
        if there is None:
            continue
        W = equations.scaled(there).matrix
        rank = measure_rank(W, equations.columns_a_body, NEARBY_TOLERANCE)
        found.append(Nearby(words, pose.distance(there, equations.length), there, rank))
        if rank.rank >= enough or len(found) == MOST_POSES:
            break
    return found


def wander(equations: JointEquations, pose: Pose) -> list[Nearby]:
    """Random poses of the mechanism: walks of WALK steps from the given one, WALKS at most.

    Only for mechanisms of up to FOLLOWED columns.
    """
    found = []
    rng = np.random.default_rng(31)
    for k in range(WALKS if equations.columns <= FOLLOWED else 0):
        there, wish = pose, rng.normal(size=equations.columns)
        for _ in range(WALK):
            W = equations.scaled(there).matrix
            allowed = project_out(W, wish, equations.tolerance, DENSE)
            if np.linalg.norm(allowed) < FORBIDDEN_WISH * np.linalg.norm(wish):
                break
            ahead = step_along(equations, there, allowed)
            if ahead is None:
                break
            # straight on from here
            wish = equations.scaled_twists(ahead, there.displacement(ahead))
            there = ahead
        if there is not pose:
            W = equations.scaled(there).matrix
            rank = measure_rank(W, equations.columns_a_body, NEARBY_TOLERANCE)
            distance = pose.distance(there, equations.length)
            found.append(Nearby(f"a random walk ({k + 1})", distance, there, rank))
    return found


def step_along(equations: JointEquations, pose: Pose, scaled: Floats) -> Pose | None:
    """The closed pose a step along an allowed velocity; None if it leads nowhere near."""
    twists = equations.twists(pose, scaled)
    size = largest_twist(twists, equations.length)
    if size == 0.0:
        return None
    # short ones too: a linkage that is almost stretched moves, but not far
    for step in (STEP, -STEP, STEP / 4, STEP / 20):
        there = solve_closed(equations, pose.moved(twists * (step / size)))
        if there is not None:
            distance = pose.distance(there, equations.length)
            # less leads back
            if 0.2 * abs(step) < distance < 4.0 * abs(step):
                return there
    return None


def solve_closed(equations: JointEquations, pose: Pose) -> Pose | None:
    """The nearest pose at which all joints are closed to rounding; None if there is none near."""

    def look(pose: Pose) -> tuple[Floats, sparse.csr_array]:
        scaled = equations.scaled(pose)
        return scaled.gaps(equations.gaps(pose)), scaled.matrix

    def move(pose: Pose, change: Floats) -> Pose:
        return pose.moved(equations.twists(pose, change))

    found = lower_gaps(pose, look, move, enough=CLOSED_WHOLLY, steps=ITERATIONS)
    return found.position if found.size < CLOSED_NEARBY else None


def _wishes(
    equations: JointEquations, pose: Pose, given: list[tuple[str, Floats]]
) -> Iterator[tuple[str, Floats]]:
    """Velocities that a mechanism may follow, as scaled numbers."""
    n = len(equations.bodies)
    for words, twists in given:
        yield words, equations.scaled_twists(pose, twists)
    fields = []
    if np.any(equations.gravity):
        weight = equations.gravity / np.linalg.norm(equations.gravity)
        fields.append(("falling by its weight", np.append(weight, np.zeros(3))))
    used = (0, 1, 5) if equations.dimension == 2 else (0, 1, 2, 5, 3, 4)
    for k in used:
        what = "all bodies along" if k < 3 else "all bodies turning about"
        fields.append((f"{what} {'xyz'[k % 3]}", np.eye(6)[k]))
    for words, twist in fields:
        yield words, equations.scaled_twists(pose, np.tile(twist, (n, 1)))
    rng = np.random.default_rng(20)
    for k in range(4 if equations.columns <= DENSE else 1):
        yield f"a random velocity ({k + 1})", rng.normal(size=equations.columns)
