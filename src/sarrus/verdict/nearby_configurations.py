"""Nearby configurations on the motion: a small step along an allowed velocity, followed by closing the joints.

Closing (kinematics/gap_closing.py) converges slowly but reliably back to the given configuration if it is only
infinitesimally mobile. If branches meet, `local` finds all of them.
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
    FORBIDDEN_VELOCITY,
    INSTANTANEOUS_DOF,
    NEARBY_TOLERANCE,
)
from .joint_equations import JointEquations
from .rank import DENSE, Rank, measure_rank

# size of the step: radians, or lengths of the mechanism
STEP = 0.05
ITERATIONS = 80
# largest number of configurations: more would not add information
MOST_POSES = 6
# random walks over a mechanism, their steps, and the largest size of a mechanism
WALKS = 3
WALK = 8
FOLLOWED = 100
# further steps if a nearby value is neither clearly zero nor nonzero: branches with a common tangent separate
# slowly
FURTHER = 5


@dataclass(frozen=True)
class Nearby:
    """A configuration on the motion, how it was reached, its distance, and its rank."""

    along: str
    distance: float
    pose: Pose
    rank: Rank


def find_nearby(
    equations: JointEquations, pose: Pose, given: list[tuple[str, Floats]], enough: int
) -> list[Nearby]:
    """Nearby configurations, at most MOST_POSES; stops at one whose rank is `enough`.

    given: velocities (words, twists of all bodies) to try before the general ones.
    """
    found = []
    matrix = equations.scaled(pose).matrix
    for words, trial in _trial_velocities(equations, pose, given):
        allowed = project_out(matrix, trial, equations.tolerance, DENSE)
        if np.linalg.norm(allowed) < FORBIDDEN_VELOCITY * np.linalg.norm(trial):
            continue
        there = step_along(equations, pose, allowed)
        if there is None:
            continue
        found.append(look_at(equations, pose, there, words))
        if found[-1].rank.rank >= enough or len(found) == MOST_POSES:
            break
    return found


def wander(equations: JointEquations, pose: Pose) -> list[Nearby]:
    """Random configurations of the mechanism: at most WALKS walks of WALK steps from the given one.

    Only for mechanisms of up to FOLLOWED columns.
    """
    found = []
    rng = np.random.default_rng(31)
    for k in range(WALKS if equations.columns <= FOLLOWED else 0):
        there, trial = pose, rng.normal(size=equations.columns)
        for _ in range(WALK):
            W = equations.scaled(there).matrix
            allowed = project_out(W, trial, equations.tolerance, DENSE)
            if np.linalg.norm(allowed) < FORBIDDEN_VELOCITY * np.linalg.norm(trial):
                break
            ahead = step_along(equations, there, allowed)
            if ahead is None:
                break
            # continue straight on from here
            trial = equations.scaled_twists(ahead, there.displacement(ahead))
            there = ahead
        if there is not pose:
            W = equations.scaled(there).matrix
            rank = measure_rank(W, equations.columns_a_body, NEARBY_TOLERANCE)
            distance = pose.distance(there, equations.length)
            found.append(Nearby(f"a random walk ({k + 1})", distance, there, rank))
    return found


def step_along(equations: JointEquations, pose: Pose, scaled: Floats) -> Pose | None:
    """The closed configuration one step along an allowed velocity; None if there is none at that distance."""
    twists = equations.twists(pose, scaled)
    size = largest_twist(twists, equations.length)
    if size == 0.0:
        return None
    # short steps too: an almost stretched linkage moves, but not far
    for step in (STEP, -STEP, STEP / 4, STEP / 20):
        there = solve_closed(equations, pose.moved(twists * (step / size)))
        if there is not None:
            distance = pose.distance(there, equations.length)
            # a shorter distance means that it returned
            if not 0.2 * abs(step) < distance < 4.0 * abs(step):
                continue
            # half of a full step is far enough to reveal gaps
            if distance > 0.5 * STEP or not _shaky(equations, there):
                return there
    return None


def _shaky(equations: JointEquations, pose: Pose) -> bool:
    """Whether a configuration close to another one is reached only by infinitesimal mobility.

    Gaps and values are then powers of the distance: small, but above the rounding level of a motion.
    """
    scaled = equations.scaled(pose)
    gap = float(np.abs(scaled.gaps(equations.gaps(pose))).max(initial=0.0))
    rank = measure_rank(scaled.matrix, equations.columns_a_body, NEARBY_TOLERANCE)
    return gap > equations.rounding or in_doubt(equations, rank)


def in_doubt(equations: JointEquations, rank: Rank) -> bool:
    """Whether a value that counts as zero is above rounding."""
    if not rank.below:
        return False
    return rank.below[0] > INSTANTANEOUS_DOF * equations.rounding / EXACT_MISFIT


def look_at(equations: JointEquations, pose: Pose, there: Pose, words: str) -> Nearby:
    """The rank at a nearby configuration; if a value is neither clearly zero nor nonzero, a little further on.

    A value that is in doubt at the given configuration too depends on clearance (`locked`), which no distance
    decides.
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
        trial = equations.scaled_twists(there, pose.displacement(there))
        allowed = project_out(W, trial, equations.tolerance, DENSE)
        ahead = step_along(equations, there, allowed) if np.any(allowed) else None
        if ahead is None:
            break
        pose, there = there, ahead
    return Nearby(words, start.distance(there, equations.length), there, rank)


def solve_closed(equations: JointEquations, pose: Pose) -> Pose | None:
    """The nearest configuration at which all joints are closed to rounding; None if there is none near."""

    def look(pose: Pose) -> tuple[Floats, sparse.csr_array]:
        scaled = equations.scaled(pose)
        return scaled.gaps(equations.gaps(pose)), scaled.matrix

    def move(pose: Pose, change: Floats) -> Pose:
        return pose.moved(equations.twists(pose, change))

    found = lower_gaps(pose, look, move, enough=CLOSED_WHOLLY, steps=ITERATIONS)
    return found.position if found.size < CLOSED_NEARBY else None


def _trial_velocities(
    equations: JointEquations, pose: Pose, given: list[tuple[str, Floats]]
) -> Iterator[tuple[str, Floats]]:
    """Velocities that a mechanism may follow, scaled."""
    n = len(equations.bodies)
    for words, twists in given:
        yield words, equations.scaled_twists(pose, twists)
    fields = []
    if np.any(equations.gravity):
        weight = equations.gravity / np.linalg.norm(equations.gravity)
        fields.append(("falling under gravity", np.append(weight, np.zeros(3))))
    used = (0, 1, 5) if equations.dimension == 2 else (0, 1, 2, 5, 3, 4)
    for k in used:
        what = "all bodies along" if k < 3 else "all bodies turning about"
        fields.append((f"{what} {'xyz'[k % 3]}", np.eye(6)[k]))
    for words, twist in fields:
        yield words, equations.scaled_twists(pose, np.tile(twist, (n, 1)))
    rng = np.random.default_rng(20)
    for k in range(4 if equations.columns <= DENSE else 1):
        yield f"a random velocity ({k + 1})", rng.normal(size=equations.columns)
