"""Applied forces on the bodies other than gravity and joints: forces, torques, springs, torsions, user forces.

They are computed in physical units from the poses and velocities of the bodies alone. The force kernels of a
simulation work in natural coordinates; this is an independent route to the same forces. Only the laws of springs
(force over length), torsions (torque over angle) and ball dampers are shared with the kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Flags, Floats, Ints
from ..kernels.elements import ball_damper, spring, torsion
from ..kernels.elements.user import find_fault
from ..kinematics.configuration import in_space, unwrap
from ..mechanism import Mechanism, MechanismError
from ..mechanism.forces import BODY
from .joint_equations import JointEquations
from .joint_frames import GROUND, find_point


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """Poses and velocities of all bodies at n outputs.

    times [s], (n,); centers [m] (relative to the origin of the joint equations), their velocities and
    accelerations, rotations since the start, angular velocities [rad/s] and their rates: (n, nb, 3) or (n, nb, 3,
    3).
    """

    times: Floats
    centers: Floats
    turns: Floats
    velocities: Floats
    accelerations: Floats
    spins: Floats
    spin_rates: Floats


@dataclass(frozen=True, eq=False)
class _Points:
    """Points of bodies: the number of each body (-1: ground) and the arm from its centre at the start."""

    bodies: Ints
    arms: Floats

    def states(self, motion: BodyMotion) -> tuple[Floats, Floats, Floats]:
        """Current arms, positions and velocities, (n, points, 3) each."""
        arms = np.einsum("tpij,pj->tpi", _of(motion.turns, self.bodies, np.eye(3)), self.arms)
        places = _of(motion.centers, self.bodies) + arms
        spins = _of(motion.spins, self.bodies)
        return arms, places, _of(motion.velocities, self.bodies) + np.cross(spins, arms)


@dataclass(frozen=True, eq=False)
class BodyLoads:
    """All applied forces of a mechanism as arrays; `wrenches` evaluates them on the bodies.

    forces: points, vectors and whether they rotate with the body; torques: bodies, vectors, whether they rotate;
    springs: ends on both bodies and (stiffness, damping, free length, preload); torsions: pairs of the joint
    equations and (stiffness, damping, free angle, torque); ball_dampers: pairs and damping; rotors: pairs and
    (inertia, mass); user: points and functions.
    """

    equations: JointEquations
    forces: tuple[_Points, Floats, Flags]
    torques: tuple[Ints, Floats, Flags]
    springs: tuple[_Points, _Points, Floats]
    torsions: tuple[Ints, Floats]
    ball_dampers: tuple[Ints, Floats]
    rotors: tuple[Ints, Floats]
    user: tuple[tuple[str, _Points, Callable[[float, Floats, Floats], Any]], ...]

    def wrenches(self, motion: BodyMotion, angles: Floats | None = None) -> Floats:
        """Force and moment about the centre that act on each body, (n, nb, 6) [N, N m].

        angles: of the torsions [rad], (n, torsions), unwrapped; by default computed from the motion.
        """
        n, nb = motion.centers.shape[:2]
        out = np.zeros((nb + 1, n, 6))
        self._add_forces(out, motion)
        self._add_springs(out, motion)
        if len(self.torsions[1]):
            self._add_torsions(out, motion, angles)
        if len(self.ball_dampers[1]):
            self._add_ball_dampers(out, motion)
        if len(self.rotors[1]):
            self._add_rotors(out, motion)
        for name, points, function in self.user:
            self._add_user(out, motion, name, points, function)
        # the last entry is the ground, which is dropped
        return np.swapaxes(out[:nb], 0, 1)

    def _add_forces(self, out: Floats, motion: BodyMotion) -> None:
        points, vectors, fixed = self.forces
        if len(vectors):
            now = np.einsum("tpij,pj->tpi", _of(motion.turns, points.bodies, np.eye(3)), vectors)
            _add(out, points, points.states(motion)[0], np.where(fixed[:, None], now, vectors))
        bodies, moments, fixed = self.torques
        if len(moments):
            now = np.einsum("tpij,pj->tpi", _of(motion.turns, bodies, np.eye(3)), moments)
            _add_moments(out, bodies, np.where(fixed[:, None], now, moments))

    def _add_springs(self, out: Floats, motion: BodyMotion) -> None:
        first, second, numbers = self.springs
        if not len(numbers):
            return
        arms_a, a, va = first.states(motion)
        arms_b, b, vb = second.states(motion)
        length = np.linalg.norm(b - a, axis=2)
        # a spring of zero length has no direction and exerts no force
        along = (b - a) / np.where(length > 0, length, 1.0)[..., None]
        rate = np.einsum("tpi,tpi->tp", along, vb - va)
        force = spring.pull(numbers.T, length, rate)[..., None] * along
        _add(out, first, arms_a, force)
        _add(out, second, arms_b, -force)

    def _add_torsions(self, out: Floats, motion: BodyMotion, angles: Floats | None) -> None:
        pairs, numbers = self.torsions
        axes, rates, _ = self._turning(motion, pairs)
        if angles is None:
            angles = self.angles(motion.times, *self.look(motion))
        moment = torsion.moment(numbers.T, angles, rates)[..., None] * axes
        for side, sign in ((0, -1.0), (1, 1.0)):
            _add_moments(out, self.equations.pair_bodies[pairs, side], sign * moment)

    def _add_ball_dampers(self, out: Floats, motion: BodyMotion) -> None:
        pairs, damping = self.ball_dampers
        first, second = self.equations.pair_bodies[pairs].T
        spins = _of(motion.spins, second) - _of(motion.spins, first)
        moment = ball_damper.moment(damping[:, None], spins)
        _add_moments(out, first, -moment)
        _add_moments(out, second, moment)

    def _add_rotors(self, out: Floats, motion: BodyMotion) -> None:
        """Inertia forces of rotors: inertia times the acceleration of the joint's coordinate, on both bodies."""
        pairs, numbers = self.rotors
        e = self.equations
        axes, _, rises = self._turning(motion, pairs)
        turning = rises[..., None] * axes
        # for a slider: the point of the second body, and the coincident point of the first
        bodies = e.pair_bodies[pairs]
        balls = [e.kinds[e.pair_joint[p]].row.is_ball for p in pairs]
        turning[:, balls] = _relative_turning(motion, *bodies[balls].T)
        centers = np.concatenate([e.centers, np.zeros((1, 3))])[bodies[:, 1]]
        place = _Points(bodies[:, 1], e.pair_other_place[pairs] - centers).states(motion)[1]
        arms = [place - _of(motion.centers, bodies[:, side]) for side in (0, 1)]
        first, second = (_accelerate(motion, bodies[:, k], arm) for k, arm in enumerate(arms))
        slide = np.einsum("tpi,tpi->tp", second - first, axes)
        for side, sign in ((0, 1.0), (1, -1.0)):
            force = sign * (numbers[:, 1] * slide)[..., None] * axes
            moment = sign * numbers[:, :1] * turning
            _add(out, _Points(bodies[:, side], arms[side][0]), arms[side], force)
            _add_moments(out, bodies[:, side], moment)

    def _add_user(
        self,
        out: Floats,
        motion: BodyMotion,
        name: str,
        points: _Points,
        function: Callable[[float, Floats, Floats], Any],
    ) -> None:
        dimension = self.equations.dimension
        arms, places, velocities = points.states(motion)
        places = (places + self.equations.origin)[..., :dimension]
        force = np.zeros_like(arms)
        for i, t in enumerate(motion.times):
            # copies: user functions may write into their arguments
            given = places[i].copy(), velocities[i, :, :dimension].copy()
            value = np.asarray(function(float(t), *given), dtype=float)
            fault = find_fault(value, (len(points.bodies), dimension))
            if fault:
                raise MechanismError(f"user force '{name}' at t = {t:.9g} s {fault}")
            force[i, :, :dimension] = value
        _add(out, points, arms, force)

    def look(self, motion: BodyMotion) -> tuple[Floats, Floats, Floats]:
        """Angles of the torsions up to whole turns, their rates and accelerations, (n, torsions)."""
        axes, rates, rises = self._turning(motion, self.torsions[0])
        a, b = self.equations.pair_bodies[self.torsions[0]].T
        first, second = (_of(motion.turns, body, np.eye(3)) for body in (a, b))
        R = second @ np.swapaxes(first, 2, 3)
        sines = 0.5 * np.stack(
            [
                R[..., 2, 1] - R[..., 1, 2],
                R[..., 0, 2] - R[..., 2, 0],
                R[..., 1, 0] - R[..., 0, 1],
            ],
            axis=-1,
        )
        cosine = 0.5 * (np.trace(R, axis1=2, axis2=3) - 1.0)
        return np.arctan2(np.einsum("tpi,tpi->tp", sines, axes), cosine), rates, rises

    @staticmethod
    def angles(times: Floats, shown: Floats, rates: Floats, rises: Floats) -> Floats:
        """Unwrapped angles, which count whole turns, from the results of `look` at all outputs.

        The first output is within half a turn of the start position.
        """
        return unwrap(times, shown, rates, rises)[0]

    def _turning(self, motion: BodyMotion, pairs: Ints) -> tuple[Floats, Floats, Floats]:
        """Current axes of some pairs, and the rates and accelerations of their angles."""
        a, b = self.equations.pair_bodies[pairs].T
        axes = np.einsum(
            "tpij,pj->tpi", _of(motion.turns, a, np.eye(3)), self.equations.pair_axis[pairs]
        )
        w = _of(motion.spins, b) - _of(motion.spins, a)
        w1 = _of(motion.spin_rates, b) - _of(motion.spin_rates, a)
        # the axis rotates with both bodies: its own rotation is along w and adds nothing
        return axes, np.einsum("tpi,tpi->tp", w, axes), np.einsum("tpi,tpi->tp", w1, axes)


def make_body_loads(mechanism: Mechanism, equations: JointEquations) -> BodyLoads:
    """The applied forces of a checked mechanism."""
    number = {name: i for i, name in enumerate(equations.bodies)} | {mechanism.GROUND: GROUND}

    def points(items: list[tuple[str, Floats]]) -> _Points:
        bodies = np.array([number[body] for body, _ in items], dtype=np.int64)
        places = np.array([in_space(at) for _, at in items], dtype=float).reshape(-1, 3)
        centers = np.concatenate([equations.centers, np.zeros((1, 3))])[bodies]
        return _Points(bodies, places - equations.origin - centers)

    forces, torques, springs = mechanism.forces, mechanism.torques, mechanism.springs
    first_pair = {
        equations.joints[j]: p for p, j in reversed(list(enumerate(equations.pair_joint)))
    }
    return BodyLoads(
        equations=equations,
        forces=(
            points([(f.body, f.at) for f in forces]),
            np.array([in_space(f.vector) for f in forces], dtype=float).reshape(-1, 3),
            np.array([f.fixed_in == BODY for f in forces], dtype=bool),
        ),
        torques=(
            np.array([number[t.body] for t in torques], dtype=np.int64),
            np.array([_moment(t.vector) for t in torques], dtype=float).reshape(-1, 3),
            np.array([t.fixed_in == BODY for t in torques], dtype=bool),
        ),
        springs=(
            points([(s.bodies[0], s.ends[0]) for s in springs]),
            points([(s.bodies[1], s.ends[1]) for s in springs]),
            np.array([spring.numbers_of(s) for s in springs], dtype=float).reshape(-1, 4),
        ),
        torsions=(
            np.array([first_pair[t.joint] for t in mechanism.torsions], dtype=np.int64),
            np.array([torsion.numbers_of(t) for t in mechanism.torsions], dtype=float).reshape(
                -1, 4
            ),
        ),
        ball_dampers=(
            np.array([first_pair[d.joint] for d in mechanism.ball_dampers], dtype=np.int64),
            np.array([d.damping for d in mechanism.ball_dampers], dtype=float),
        ),
        rotors=(
            np.array([first_pair[r.joint] for r in mechanism.rotors], dtype=np.int64),
            np.array([(r.inertia, r.mass) for r in mechanism.rotors], dtype=float).reshape(-1, 2),
        ),
        user=tuple(
            (f.name, points([find_point(mechanism, p) for p in f.points]), f.function)
            for f in mechanism.user_forces
        ),
    )


def _of(values: Floats, bodies: Ints, ground: Floats | float = 0.0) -> Floats:
    """Values of some bodies over time; -1 is the ground."""
    out = values[:, bodies]
    out[:, bodies == GROUND] = ground
    return out


def _accelerate(motion: BodyMotion, bodies: Ints, arms: Floats) -> Floats:
    """Accelerations of points of bodies from their current arms, (n, points, 3)."""
    w, w1 = _of(motion.spins, bodies), _of(motion.spin_rates, bodies)
    turning = np.cross(w1, arms) + np.cross(w, np.cross(w, arms))
    return _of(motion.accelerations, bodies) + turning


def _relative_turning(motion: BodyMotion, first: Ints, second: Ints) -> Floats:
    """Rates of the angular velocity of second bodies relative to first ones, in the frame of the first."""
    w = _of(motion.spins, second) - _of(motion.spins, first)
    w1 = _of(motion.spin_rates, second) - _of(motion.spin_rates, first)
    return w1 - np.cross(_of(motion.spins, first), w)


def _add(out: Floats, points: _Points, arms: Floats, force: Floats) -> None:
    """Add forces at points to the wrenches of their bodies."""
    both = np.concatenate(np.broadcast_arrays(force, np.cross(arms, force)), axis=2)
    np.add.at(out, points.bodies, np.swapaxes(both, 0, 1))


def _add_moments(out: Floats, bodies: Ints, moments: Floats) -> None:
    np.add.at(out[..., 3:], bodies, np.swapaxes(moments, 0, 1))


def _moment(vector: Floats) -> Floats:
    return np.array([0.0, 0.0, float(vector)]) if vector.ndim == 0 else vector
