"""Poses near a given one on the motion: a small step along an allowed velocity, then closed again.

Closing (kinematics/closing.py) converges slowly but surely back to the given pose where it can move by
infinitesimal amounts only. Where motions meet, most velocities lead back, and which of the motions a step
finds depends on how bodies are weighed: there the velocities x that second order allows are followed instead,

    u^T W'(x) x = 0    for every u with u^T W = 0,

common directions of quadrics (`sections`), so that motions of all dimensions are met.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..arrays import Floats, plain_sum
from ..kinematics.closing import lower_gaps, project_out
from ..kinematics.pose import Pose, largest_twist
from ..thresholds import (
    CLOSED_NEARBY,
    CLOSED_WHOLLY,
    EXACT_MISFIT,
    FLAT_QUADRIC,
    FORBIDDEN_WISH,
    INSTANT_FREEDOM,
    NEARBY_TOLERANCE,
    SAME_BRANCH,
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
# second order is looked at up to so many velocities, by differences of this size
MOST_BENT = 40
DIFFERENCE = 1e-3
# so many directions with the same number of freedoms to second order are tried, and so many in all
ALIKE = 6
MOST_TRIED = 30
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


def find_bent(equations: JointEquations, pose: Pose) -> list[Nearby] | None:
    """Poses along the velocities that second order allows; None where it allows all of them.

    None as well for mechanisms of more columns than a dense factorisation is for.
    """
    if equations.columns > DENSE:
        return None
    scaled = equations.scaled(pose)
    U, values, V = np.linalg.svd(scaled.matrix.toarray())
    rank = int(np.sum(values > equations.tolerance))
    free, m = V[rank:], equations.columns - rank
    if not 2 <= m <= MOST_BENT or rank == equations.rows:
        return None
    H = independent(_bends(equations, pose, scaled.named(U[:, rank:]), free), FLAT_QUADRIC)
    if not len(H):
        return None
    found: list[Nearby] = []
    tried: dict[int, int] = {}
    for a in np.concatenate(common_directions(H, m)):
        held = int(np.linalg.matrix_rank(2.0 * H @ a, tol=SAME_BRANCH))
        if tried.get(held, 0) == ALIKE or plain_sum(tried.values()) == MOST_TRIED:
            continue
        tried[held] = tried.get(held, 0) + 1
        there = step_along(equations, pose, a @ free)
        if there is not None:
            words = f"a direction of second order ({len(found) + 1})"
            found.append(look_at(equations, pose, there, words))
    return found


def _bends(equations: JointEquations, pose: Pose, named: Floats, free: Floats) -> Floats:
    """u^T W'(x) y of combinations of the named rows and free velocities, as pure numbers, (n, m, m)."""
    size = np.where(equations.row_about, 1.0, equations.length)[:, None]
    u = named * size
    u = u / np.linalg.norm(u, axis=0) / size
    twists = [equations.twists(pose, x) for x in free]
    y = np.array([t[:, equations.used].ravel() for t in twists]).T
    H = np.zeros((u.shape[1], len(free), len(free)))
    for i, t in enumerate(twists):
        W = [equations.carried_matrix(pose.moved(s * DIFFERENCE * t), pose) for s in (1, -1, 2, -2)]
        # of fourth order: quadrics with a family of common roots have none if they are off
        slope = (8.0 * (W[0] - W[1]) - (W[2] - W[3])) / (12.0 * DIFFERENCE)
        H[:, i] = u.T @ (slope @ y)
    return 0.5 * (H + np.swapaxes(H, 1, 2))


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
