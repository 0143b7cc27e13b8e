"""Poses near a given one on the motion: a small step along an allowed velocity, then closed again.

Closing (kinematics/gap_closing.py) converges slowly but surely back to the given pose where it can move by
infinitesimal amounts only. Where branches meet, `local` finds all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..arrays import Floats
from ..kinematics.configuration import Pose, largest_twist
from ..kinematics.gap_closing import lower_gaps, project_out
from ..thresholds import (
    CLOSED_NEARBY,
    CLOSED_WHOLLY,
    EXACT_MISFIT,
    FORBIDDEN_WISH,
    INSTANT_FREEDOM,
    NEARBY_TOLERANCE,
)
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
# further steps where a value nearby is neither zero nor counts: motions that touch part slowly
FURTHER = 5


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
        found.append(look_at(equations, pose, there, words))
        if found[-1].rank.rank >= enough or len(found) == MOST_POSES:
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
            if not 0.2 * abs(step) < distance < 4.0 * abs(step):
                continue
            # half of a whole step is far enough for gaps to show
            if distance > 0.5 * STEP or not _shaky(equations, there):
                return there
    return None


def _shaky(equations: JointEquations, pose: Pose) -> bool:
    """Whether a pose close to another one is nothing but its shakiness.

    Gaps and values are then powers of the distance, small, but above the rounding that a motion leaves.
    """
    scaled = equations.scaled(pose)
    gap = float(np.abs(scaled.gaps(equations.gaps(pose))).max(initial=0.0))
    rank = measure_rank(scaled.matrix, equations.columns_a_body, NEARBY_TOLERANCE)
    return gap > equations.rounding or in_doubt(equations, rank)


def in_doubt(equations: JointEquations, rank: Rank) -> bool:
    """Whether a value counts as zero that is above rounding."""
    if not rank.below:
        return False
    return rank.below[0] > INSTANT_FREEDOM * equations.rounding / EXACT_MISFIT


def look_at(equations: JointEquations, pose: Pose, there: Pose, words: str) -> Nearby:
    """The rank at a pose nearby; where a value is neither zero nor counts, a little further on.

    One that is in doubt at the given pose too is a matter of play (`locked`), which no distance decides.
    """
    start = pose
    W = equations.scaled(pose).matrix
    here = measure_rank(W, equations.columns_a_body, NEARBY_TOLERANCE)
    most = 0 if in_doubt(equations, here) else FURTHER
    for further in range(most + 1):
        W = equations.scaled(there).matrix
        rank = measure_rank(W, equations.columns_a_body, NEARBY_TOLERANCE)
        if further == most or not in_doubt(equations, rank):
            break
        wish = equations.scaled_twists(there, pose.displacement(there))
        allowed = project_out(W, wish, equations.tolerance, DENSE)
        ahead = step_along(equations, there, allowed) if np.any(allowed) else None
        if ahead is None:
            break
        pose, there = there, ahead
    return Nearby(words, start.distance(there, equations.length), there, rank)


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
