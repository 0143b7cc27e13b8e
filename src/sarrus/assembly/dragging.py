"""Dragging: a point of a body is pulled towards a target, and the mechanism follows along its degrees of freedom.

A step is the smallest displacement x of the bodies that brings the point p as near to the target as joints allow,

    minimise   |g + W x|^2 + pull^2 |p + P x - place|^2 / L^2 + damping |x|^2.

The joints have a far larger weight than the pull. Then the joints are closed to rounding, and the step is accepted
only if the point came nearer. Drives are released: their joints move like all others.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..arrays import Floats
from ..kinematics.configuration import Pose, in_space
from ..kinematics.gap_closing import solve_damped
from ..mechanism import (
    Mechanism,
    MechanismError,
    move_bodies,
    turn_rods_into_bodies,
    without_drives,
)
from ..thresholds import CLOSED_ASSEMBLY
from ..verdict.joint_equations import make_joint_equations
from .loop_closing import Displacements, moves_to, usual_weights
from .velocities import fit_velocities

# weight of the pull relative to a joint, and damping of motions that hardly move the point
PULL, DAMPING = 1e-2, 1e-9
# relative to the mechanism's length: longest step, accepted distance to the target, and smallest progress of a
# step
LONGEST, NEAR, GAIN = 0.3, 1e-9, 1e-9
# steps per pull; fractions of a step that are tried
STEPS, SHARES = 12, (1.0, 0.4, 0.1)


class Hand:
    """A mechanism that is moved by hand, starting at its closed configuration."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.equations = make_joint_equations(without_drives(mechanism))
        self.ways = Displacements(self.equations, usual_weights(self.equations))
        self.start = self.ways.start
        # positions are relative to this point, so that a mechanism far from the origin loses no digits
        self.origin = in_space(np.asarray(self.equations.origin, float))

    def pull(self, pose: Pose, body: str, at: Floats, to: Floats) -> Pose:
        """The closed configuration, reached from `pose`, that brings the body point `at` [m, at the start] nearest
        to `to` [m].
        """
        n, arm = self._arm(body, at)
        goal = in_space(np.asarray(to, float)) - self.origin
        away = _away(pose, n, arm, goal)
        for _ in range(STEPS):
            if np.linalg.norm(away) <= NEAR * self.equations.length:
                break
            step = self._step(pose, n, arm, away)
            for share in SHARES:
                there = self.ways.close(self.ways.moved(pose, share * step))
                left = _away(there, n, arm, goal)
                gained = float(np.linalg.norm(away) - np.linalg.norm(left))
                if (
                    gained > GAIN * self.equations.length
                    and self.ways.size(there) <= CLOSED_ASSEMBLY
                ):
                    break
            else:
                break
            pose, away = there, left
        return pose

    def place(self, pose: Pose, body: str, at: Floats) -> Floats:
        """World coordinates at a pose of the body point with initial coordinates `at` [m]."""
        n, arm = self._arm(body, at)
        place = self.origin + pose.centers[n] + pose.turns[n] @ arm
        return np.asarray(place)[: self.mechanism.dimension]

    def unplace(self, pose: Pose, body: str, place: Floats) -> Floats:
        """Initial coordinates [m] of the body point that is at `place` at a pose."""
        n, _ = self._arm(body, place)
        arm = in_space(np.asarray(place, float)) - self.origin - pose.centers[n]
        back = self.origin + self.start.centers[n] + pose.turns[n].T @ arm
        return np.asarray(back)[: self.mechanism.dimension]

    def written(self, pose: Pose) -> tuple[Mechanism, list[str]]:
        """The mechanism at a pose, and sentences on initial velocities that had to change."""
        moves = moves_to(self.mechanism, self.equations, pose)
        moved = turn_rods_into_bodies(move_bodies(self.mechanism, moves))
        return moved, fit_velocities(moved)

    def _arm(self, body: str, at: Floats) -> tuple[int, Floats]:
        """Index of a body, and the vector from its centre of mass to a point at the start."""
        if body not in self.equations.bodies:
            raise MechanismError(f"there is no body '{body}' that could be moved")
        n = self.equations.bodies.index(body)
        return n, in_space(np.asarray(at, float)) - self.origin - self.start.centers[n]

    def _step(self, pose: Pose, n: int, arm: Floats, away: Floats) -> Floats:
        """The displacement of all bodies caused by a pull, limited to the longest step."""
        length, used = self.equations.length, self.equations.used
        x, y, z = pose.turns[n] @ arm
        # velocity of the point: v + w x arm
        rates = np.hstack([np.eye(3), [[0, z, -y], [-z, 0, x], [y, -x, 0]]])
        P = (rates * self.ways.scale[n])[:, used] / length
        first = n * len(used)
        row, column = np.indices(P.shape)
        entries = (PULL * P.ravel(), (row.ravel(), first + column.ravel()))
        hand = sparse.csr_array(entries, shape=(3, self.equations.columns))
        W = sparse.csr_array(sparse.vstack([self.ways.matrix(pose), hand]))
        gaps = np.append(self.ways.gaps(pose), -PULL * away / length)
        step = solve_damped(W, gaps, DAMPING)
        return np.asarray(step / max(1.0, float(np.abs(step).max(initial=0.0)) / LONGEST))


def _away(pose: Pose, n: int, arm: Floats, goal: Floats) -> Floats:
    """The vector from the point to its target."""
    return np.asarray(goal - pose.centers[n] - pose.turns[n] @ arm)
