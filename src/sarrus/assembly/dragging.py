"""Dragging by hand: a point of a body is pulled towards a place, and the mechanism follows along its freedoms.

A step is the least displacement x of the bodies that brings the point p as near to the place as the joints allow,

    minimise   |g + W x|^2 + pull^2 |p + P x - place|^2 / L^2 + damping |x|^2,

joints weighing far more than the hand; then the joints are closed to rounding, and the step counts only if the
point came nearer. Drives let go: their joints move like all others.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..arrays import Floats
from ..kinematics.configuration import Pose, in_space
from ..kinematics.gap_closing import solve_damped
from ..mechanism import Mechanism, MechanismError, loosen_rods, move_bodies, without_drives
from ..thresholds import CLOSED_ASSEMBLY
from ..verdict.joint_equations import make_joint_equations
from .loop_closing import Displacements, moves_to, usual_weights
from .velocities import fit_velocities

# the hand beside a joint, and what keeps motions that hardly move the point from running away
PULL, DAMPING = 1e-2, 1e-9
# of the mechanism's length: a step at most, what is near enough, and by how much a step has to come nearer
LONGEST, NEAR, GAIN = 0.3, 1e-9, 1e-9
# steps of one pull; shares of a step that are tried
STEPS, SHARES = 12, (1.0, 0.4, 0.1)


class Hand:
    """A mechanism that is moved by hand, from the closed position it stands in."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.equations = make_joint_equations(without_drives(mechanism))
        self.ways = Displacements(self.equations, usual_weights(self.equations))
        self.start = self.ways.start
        # places of poses are counted from here, so that a mechanism far from zero loses no digits
        self.origin = in_space(np.asarray(self.equations.origin, float))

    def pull(self, pose: Pose, body: str, at: Floats, to: Floats) -> Pose:
        """The closed pose, reached from `pose`, that brings the place `at` of a body [m, at the start] nearest to
        `to` [m].
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
        """Where a place of a body [m, at the start] is at a pose."""
        n, arm = self._arm(body, at)
        place = self.origin + pose.centers[n] + pose.turns[n] @ arm
        return np.asarray(place)[: self.mechanism.dimension]

    def unplace(self, pose: Pose, body: str, place: Floats) -> Floats:
        """The place of a body at the start [m] that is at `place` at a pose."""
        n, _ = self._arm(body, place)
        arm = in_space(np.asarray(place, float)) - self.origin - pose.centers[n]
        back = self.origin + self.start.centers[n] + pose.turns[n].T @ arm
        return np.asarray(back)[: self.mechanism.dimension]

    def written(self, pose: Pose) -> tuple[Mechanism, list[str]]:
        """The mechanism as it stands at a pose, and sentences on start velocities that had to change."""
        moves = moves_to(self.mechanism, self.equations, pose)
        moved = loosen_rods(move_bodies(self.mechanism, moves))
        return moved, fit_velocities(moved)

    def _arm(self, body: str, at: Floats) -> tuple[int, Floats]:
        """Number of a body, and the arm from its centre to a place at the start."""
        if body not in self.equations.bodies:
            raise MechanismError(f"there is no body '{body}' that could be moved")
        n = self.equations.bodies.index(body)
        return n, in_space(np.asarray(at, float)) - self.origin - self.start.centers[n]

    def _step(self, pose: Pose, n: int, arm: Floats, away: Floats) -> Floats:
        """The displacement of all bodies that a pull causes, no longer than a step may be."""
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
    """From the point to where it is wanted."""
    return np.asarray(goal - pose.centers[n] - pose.turns[n] @ arm)
