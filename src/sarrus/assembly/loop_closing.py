"""Closing loops: the closed configuration nearest to a given one, or the one with the smallest gaps.

The norm of displacements x of the bodies from the given configuration measures how far their points move,

    |x|^2 = sum over bodies of  w (|dx|^2 + l^2 |turn|^2) / L^2,

where l is the length of the body, L that of the mechanism, and w the weight of the body. Translational gaps g are
divided by L, rotational ones are in radians. There are three stages:

    approach   minimise |g|^2 + mu |x|^2 while mu decreases from 1: a path from the given configuration towards
               the smallest displacement that closes the loops (Gauss-Newton steps, each must succeed)
    close      reduce the gaps to rounding, or to their minimum (kinematics/gap_closing.py)
    settle     move along the remaining motions towards the given configuration, closing after each step, until x
               has no component along them: then |x| is minimal

If stage two ends with a gap, other starts are tried; if none closes, the configuration of smallest gaps is
returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..arrays import Floats, first_largest, plain_sum
from ..kinematics.configuration import Pose
from ..kinematics.gap_closing import DENSE, STEPS, lower_gaps, project_out, solve_damped
from ..mechanism import Gap, Mechanism, Move
from ..thresholds import CLOSED_ASSEMBLY, DEPENDENT_ROW, DIFFERENT_ANSWER, NEARLY_CLOSED
from ..verdict.joint_equations import JointEquations

# component of x along a motion that counts as zero, relative to x
SETTLED = 1e-8
POLISHING = 20
# share of the largest singular value: along directions with a smaller one a mechanism nearly moves, and closing a
# gap of printed digits would move it far; these directions are not used if gaps can be closed, or almost, without
# them
WEAK = 1e-3
# a configuration this many times farther away must have gaps smaller by more than this factor
FARTHER = 10.0
# number of other starts if the first does not close
RESTARTS = 12


@dataclass(frozen=True, eq=False)
class Closing:
    """A configuration, closed or with minimal gaps; gaps: named rows there [m, rad].

    distance: |x| times L [m]; iterations: steps of all stages; start: number of the start that led here, 0 for the
    given configuration.
    """

    pose: Pose
    closed: bool
    gaps: Floats
    distance: float
    iterations: int
    start: int


def find_closed(
    equations: JointEquations,
    weights: Floats,
    *,
    branches: int = 1,
    closed: float = CLOSED_ASSEMBLY,
    restarts: int = RESTARTS,
) -> list[Closing]:
    """Closed configurations, nearest to the start first; one that is not closed if there is none.

    weights: resistance of each body to displacement, infinite for a fixed body, shape (nb,); branches: number of
    different configurations requested; closed: gaps that count as closed, dimensionless.
    """
    return _Search(equations, weights, closed).run(branches, restarts)


class Displacements:
    """Dimensionless poses of a mechanism with joints: gaps, their derivatives by x, and the closing algorithm."""

    def __init__(self, equations: JointEquations, weights: Floats) -> None:
        self.equations = equations
        self.start = equations.start()
        L = equations.length
        free = np.isfinite(weights)
        size = np.where(free, 1.0 / np.sqrt(np.where(free, weights, 1.0)), 0.0)
        # metres and radians of each body per unit of x, and per unit of named gap
        self.scale = np.repeat((L * size)[:, None], 6, axis=1)
        self.scale[:, 3:] /= equations.reach[:, None]
        self.column = self.scale[:, equations.used].ravel()
        self.row = np.where(equations.row_about, 1.0, 1.0 / L)
        self.iterations = 0

    def gaps(self, pose: Pose) -> Floats:
        """Gaps of all equations, divided by the mechanism's length or in radians."""
        return self.row * self.equations.gaps(pose)

    def matrix(self, pose: Pose) -> sparse.csr_array:
        """Derivatives of the gaps by x."""
        W = self.equations.matrix(pose)
        W.data *= np.repeat(self.row, np.diff(W.indptr)) * self.column[W.indices]
        return W

    def moved(self, pose: Pose, x: Floats) -> Pose:
        """The pose after a displacement."""
        twists = np.zeros((len(self.equations.bodies), 6))
        twists[:, self.equations.used] = x.reshape(len(twists), -1)
        return pose.moved(twists * self.scale)

    def size(self, pose: Pose) -> float:
        """The largest gap."""
        return float(np.abs(self.gaps(pose)).max(initial=0.0))

    def close(self, pose: Pose, weak: float = 0.0) -> Pose:
        """Reduce the gaps to rounding, or to their minimum; weak: directions that are not used."""

        def look(pose: Pose) -> tuple[Floats, sparse.csr_array]:
            return self.gaps(pose), self.matrix(pose)

        found = lower_gaps(pose.orthonormal(), look, self.moved, weak=weak)
        self.iterations += found.steps
        return found.position


class _Search(Displacements):
    def __init__(self, equations: JointEquations, weights: Floats, closed: float) -> None:
        super().__init__(equations, weights)
        self.closed = closed

    def run(self, branches: int, restarts: int) -> list[Closing]:
        found: list[Closing] = []
        best: Closing | None = None
        for number, pose in enumerate(self._starts(restarts)):
            self.iterations = 0
            near = self._approach(pose) if number == 0 else pose
            there = gentle = self.close(near, WEAK)
            if self.size(there) > self.closed:
                there = self.close(there)
            if self.size(there) > self.closed and number == 0 and self._is_nearer(gentle, there):
                # the remaining gap lies along directions in which the mechanism nearly moves
                return [self._answer(gentle, False, number)]
            if self.size(there) <= self.closed:
                there = self._settle(there)
                answer = self._answer(there, True, number)
                length = self.equations.length
                if not any(a.pose.distance(there, length) < DIFFERENT_ANSWER for a in found):
                    found.append(answer)
                if len(found) >= branches:
                    break
            elif not found:
                answer = self._answer(there, False, number)
                if best is None or self._square(there) < 0.999 * self._square(best.pose):
                    best = answer
        if found:
            return sorted(found, key=lambda a: a.distance)
        assert best is not None
        return [self._answer(self._polish(best.pose), False, best.start)]

    def _is_nearer(self, pose: Pose, other: Pose) -> bool:
        """Whether a configuration is much nearer to the start than another one, and closed almost as well."""
        x, y = (float(np.linalg.norm(self._x(p))) for p in (pose, other))
        return FARTHER * x < y and self._square(pose) < FARTHER**2 * self._square(other)

    def _starts(self, restarts: int) -> Iterator[Pose]:
        """The given configuration, then random displacements of the bodies of increasing size."""
        yield self.start
        rng = np.random.default_rng(5)
        n = len(self.equations.bodies)
        movable = (self.scale > 0.0).astype(float)
        unused = [k for k in range(6) if k not in self.equations.used]
        for k in range(restarts):
            far = min(0.3 + 0.3 * k, 3.0)
            twists = rng.normal(size=(n, 6)) * movable
            twists[:, :3] *= 0.3 * far * self.equations.length
            twists[:, 3:] *= far
            twists[:, unused] = 0.0
            yield self.start.moved(twists)

    def _x(self, pose: Pose) -> Floats:
        """Dimensionless displacement from the start; zero for a fixed body."""
        move = self.start.displacement(pose)
        scaled = np.divide(move, self.scale, out=np.zeros_like(move), where=self.scale > 0)
        return scaled[:, self.equations.used].ravel()

    def _square(self, pose: Pose) -> float:
        g = self.gaps(pose)
        return float(g @ g)

    def _answer(self, pose: Pose, closed: bool, number: int) -> Closing:
        distance = float(np.linalg.norm(self._x(pose))) * self.equations.length
        gaps = self.equations.gaps(pose)
        return Closing(pose, closed, gaps, distance, self.iterations, number)

    # the three stages

    def _approach(self, pose: Pose) -> Pose:
        """Follow the minimum of |g|^2 + mu |x|^2 while mu decreases."""
        for mu in 10.0 ** -np.arange(0.0, 6.5, 0.5):
            for _ in range(4):
                g, x = self.gaps(pose), self._x(pose)
                before = float(g @ g + mu * (x @ x))
                step = solve_damped(self.matrix(pose), g, float(mu), x)
                there = self._paying(pose, step, mu, before)
                self.iterations += 1
                if there is None:
                    break
                pose, now = there
                if before - now < 0.05 * before:
                    break
            if self.size(pose) < NEARLY_CLOSED:
                break
        return pose

    def _paying(
        self, pose: Pose, step: Floats, mu: float, before: float
    ) -> tuple[Pose, float] | None:
        """The longest of a few fractions of a step that decreases |g|^2 + mu |x|^2."""
        for share in (1.0, 0.5, 0.2, 0.05):
            there = self.moved(pose, share * step)
            x = self._x(there)
            now = self._square(there) + mu * float(x @ x)
            if now < before * (1.0 - 1e-4 * share):
                return there, now
        return None

    def _gradient(self, pose: Pose) -> Floats:
        """Gradient of |g|^2 / 2; exact, since the lengths of gaps change only by their own rates."""
        return np.asarray(self.matrix(pose).T @ self.gaps(pose))

    def _polish(self, pose: Pose) -> Pose:
        """Minimise the gaps to all digits: Newton's method with a Hessian from differences of gradients."""
        if self.equations.columns > DENSE:
            return pose
        # cube root of rounding: the rounding and truncation errors of the differences are equal
        h = 1e-5
        unit = np.eye(self.equations.columns)
        for _ in range(POLISHING):
            gradient = self._gradient(pose)
            if np.linalg.norm(gradient) < 1e-13:
                break
            ahead = [self._gradient(self.moved(pose, h * e)) for e in unit]
            behind = [self._gradient(self.moved(pose, -h * e)) for e in unit]
            H = (np.array(ahead) - np.array(behind)) / (2 * h)
            values, V = np.linalg.eigh(0.5 * (H + H.T))
            resolved = np.abs(values) > DEPENDENT_ROW
            step = -V[:, resolved] @ ((V.T @ gradient)[resolved] / np.abs(values[resolved]))
            # a step of more than a radian or a length would leave the valley
            step /= max(1.0, float(np.linalg.norm(step)))
            there = self._paying(pose, step, 0.0, self._square(pose) * (1.0 + 1e-3))
            self.iterations += 1
            if there is None:
                break
            pose = there[0]
        return pose

    def _settle(self, pose: Pose) -> Pose:
        """Move towards the start along the remaining motions as long as that shortens x."""
        share = 1.0
        x = self._x(pose)
        for _ in range(STEPS):
            W = self.matrix(pose)
            along = project_out(W, x, DEPENDENT_ROW)
            if np.linalg.norm(along) <= SETTLED * np.linalg.norm(x) + 1e-13 or share < 1e-3:
                break
            there = self.close(self.moved(pose, -share * along))
            x_there = self._x(there)
            if self.size(there) <= self.closed and x_there @ x_there <= x @ x * (1 + 1e-15):
                pose, x = there, x_there
                share = min(1.0, 2.0 * share)
            else:
                share *= 0.5
        return pose


def usual_weights(equations: JointEquations) -> Floats:
    """Default weights of bodies: their length over that of the mechanism."""
    return equations.reach / equations.length


def describe_gap(equations: JointEquations, found: Closing) -> tuple[list[str], str]:
    """The loop through the joint with the largest gap, and a sentence about it."""
    gaps = joint_gaps(equations, found.gaps)
    scale = np.where(equations.row_about, equations.length, 1.0)
    pair = int(equations.row_pair[first_largest(np.abs(found.gaps) * scale)])
    worst = equations.joints[equations.pair_joint[pair]]
    joints, bodies = find_loop(equations, pair)
    here = f"where gaps are least, joint '{worst}' is open by {gaps[worst]}"
    if not joints:
        return [], f"joint '{worst}' of {', '.join(bodies)} cannot be closed: {here}"
    total = plain_sum(gaps[j].metres for j in joints)
    return joints, (
        f"loop {'-'.join(joints)} ({', '.join(bodies)}) cannot be closed: {here}, all joints of the loop together "
        f"by {total:.6g} m"
    )


def joint_gaps(equations: JointEquations, gaps: Floats) -> dict[str, Gap]:
    """The gap of each joint, from the gaps of all rows."""
    sizes = equations.pair_gaps(gaps)
    out: dict[str, Gap] = {}
    for pair, j in enumerate(equations.pair_joint):
        old = out.get(equations.joints[j], Gap(0.0, 0.0))
        here = (float(sizes[0, pair]), float(sizes[1, pair]))
        out[equations.joints[j]] = Gap(max(old.metres, here[0]), max(old.radians, here[1]))
    return out


def find_loop(equations: JointEquations, pair: int) -> tuple[list[str], list[str]]:
    """Joints and bodies of the shortest loop through a pair of bodies of a joint, starting at that joint.

    Without a loop: no joints, and the two bodies.
    """
    first, last = (int(b) for b in equations.pair_bodies[pair])
    ways: dict[int, list[tuple[int, int]]] = {}
    for k, (a, b) in enumerate(equations.pair_bodies):
        if k != pair:
            ways.setdefault(int(a), []).append((k, int(b)))
            ways.setdefault(int(b), []).append((k, int(a)))
    came: dict[int, tuple[int, int]] = {}
    queue = [last]
    for body in queue:
        for k, other in ways.get(body, []):
            if other != last and other not in came:
                came[other] = (k, body)
                queue.append(other)
    if first not in came:
        return [], [equations.body_name(first), equations.body_name(last)]
    joints, bodies, at = [equations.joints[equations.pair_joint[pair]]], [], first
    while True:
        bodies.append(equations.body_name(at))
        if at == last:
            return joints, bodies
        k, at = came[at]
        name = equations.joints[equations.pair_joint[k]]
        if name == joints[-1]:
            # from one body of a joint to another one, through its first body
            bodies.pop()
        else:
            joints.append(name)


def moves_to(mechanism: Mechanism, equations: JointEquations, pose: Pose) -> dict[str, Move]:
    """The displacements of the bodies that move between the start and a pose."""
    d = mechanism.dimension
    moves = {}
    for i, body in enumerate(mechanism.bodies):
        shift = pose.centers[i] - equations.centers[i]
        turn = pose.turns[i]
        if np.any(shift) or np.any(turn != np.eye(3)):
            moves[body.name] = Move(body.center, turn[:d, :d], body.center + shift[:d])
    return moves
