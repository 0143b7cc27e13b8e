"""Reading a motion by name: points, springs, torsions, drives, joints and bodies at its outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arrays import Floats
from .names import pick

if TYPE_CHECKING:
    from .methods.outcome import Record
    from .model import Model
    from .model.readings import ArmRows


class Readout:
    """What can be read of a record by name, with the help of its model; a `Result` is one."""

    model: Model

    @property
    def record(self) -> Record:
        """The outputs, in units of the model."""
        raise NotImplementedError

    @property
    def times(self) -> Floats:
        """Times of the outputs [s], shape (n,)."""
        return self.record.times

    @property
    def coordinates(self) -> Floats:
        """Natural coordinates at the outputs, in units of the model, 0 at the start, shape (n, nq)."""
        return self.record.q

    @property
    def rates(self) -> Floats:
        """Their rates."""
        return self.record.v

    @property
    def accelerations(self) -> Floats:
        """Their second rates; computed when first asked for."""
        return self.record.a

    # points

    @property
    def points(self) -> list[str]:
        """Names that can be read: joints, named points, and bodies (their centres of mass)."""
        return list(self.model.points)

    def position(self, name: str) -> Floats:
        """World place of a joint, named point or centre of a body [m], shape (n, dimension)."""
        return self.model.origin(name) + (self.model.point_rows(name) @ self.coordinates.T).T

    def velocity(self, name: str) -> Floats:
        """Its velocity [m/s], shape (n, dimension)."""
        return (self.model.point_rows(name) @ self.rates.T).T

    def acceleration(self, name: str) -> Floats:
        """Its acceleration [m/s^2], shape (n, dimension)."""
        return (self.model.point_rows(name) @ self.accelerations.T).T

    # springs, torsions, drives

    def length(self, name: str) -> Floats:
        """Length of a spring or of a distance joint [m], shape (n,)."""
        named = self.model.readings
        arms = {k: arm for k, (_, arm) in named.springs.items()} | named.lengths
        return np.asarray(
            np.linalg.norm(self._arm(pick(arms, name, "spring or distance joint")), axis=1)
        )

    def force(self, name: str) -> Floats:
        """Pull of a spring and damper [N], negative if it pushes, shape (n,)."""
        spring, rows = pick(self.model.readings.springs, name, "spring")
        arm, speed = self._arm(rows), (rows.rows @ self.rates.T).T
        length = np.linalg.norm(arm, axis=1)
        rate = np.einsum("ij,ij->i", arm, speed) / length
        stretch = length - spring.free_length
        return np.asarray(spring.stiffness * stretch + spring.damping * rate + spring.preload)

    def torque(self, name: str) -> Floats:
        """Torque of a torsional spring, damper or joint torque on its second body [N m], shape (n,)."""
        torsion, number = pick(self.model.readings.torsions, name, "torsion")
        twist = self.record.angles[:, number] - torsion.free_angle
        rate = self._angle_rates(torsion.joint)[0]
        return np.asarray(torsion.torque - torsion.stiffness * twist - torsion.damping * rate)

    def drive_force(self, name: str) -> Floats:
        """What a drive exerts along its motion: a force [N], or a torque [N m] on an angle, shape (n,).

        Positive if it pushes the second body the way the motion counts; not a number where the
        mechanism is at a singular position.
        """
        drive = pick(self.model.readings.drives, name, "drive")
        return np.asarray(self.record.drive_forces[:, drive.number] * drive.unit)

    # joints and bodies

    def angle(self, joint: str) -> Floats:
        """Angle of a joint's second body seen from its first [rad], 0 at the start, shape (n,).

        Of a revolute joint of two bodies, a cylindrical or a planar one; it counts on beyond a turn.
        """
        what = "cylindrical or planar joint, or revolute one of two bodies,"
        rows = pick(self.model.readings.angles, joint, what)
        _, u, b = rows.triad
        first, second = (self._rotations(body) for body in rows.bodies)
        mark = second @ u
        turned = np.arctan2(
            np.einsum("ij,ij->i", mark, first @ b), np.einsum("ij,ij->i", mark, first @ u)
        )
        named = self.model.readings
        for torsion, number in named.torsions.values():
            if torsion.joint == joint:
                return _next_to(turned, self.record.angles[:, number])
        for drive in named.drives.values():
            if drive.joint == joint and drive.turns:
                return _next_to(turned, np.array([drive.pieces.value(t) for t in self.times]))
        return self._unwrapped(turned, *self._angle_rates(joint), f"joint '{joint}'")

    def travel(self, joint: str) -> Floats:
        """Travel along the axis of a prismatic, cylindrical or point-on-line joint [m], 0 at the start."""
        what = "prismatic, cylindrical or point-on-line joint"
        rows = pick(self.model.readings.travels, joint, what)
        arm = self._arm(rows.arm)
        axis = (self._rotations(rows.body) @ rows.axis)[:, : arm.shape[1]]
        return np.asarray(np.einsum("ij,ij->i", arm, axis))

    def orientation(self, body: str) -> Floats:
        """How a body has turned since the start: an angle [rad] in the plane, shape (n,), counted on
        beyond a turn; rotation matrices in space, shape (n, 3, 3).
        """
        turned = self._rotations(body)
        if self.model.dimension == 3:
            return turned
        spin, more = self._spins(body)
        angle = np.arctan2(turned[:, 1, 0], turned[:, 0, 0])
        return self._unwrapped(angle, spin[:, 2], more[:, 2], f"body '{body}'")

    def angular_velocity(self, body: str) -> Floats:
        """Angular velocity of a body [rad/s]: shape (n,) in the plane, (n, 3) in space.

        A thin rod without joint axes has no spin about itself: it is given as 0.
        """
        spin, _ = self._spins(body)
        return spin if self.model.dimension == 3 else spin[:, 2]

    def _arm(self, arm: ArmRows) -> Floats:
        return np.asarray(arm.start + (arm.rows @ self.coordinates.T).T)

    def _body_vectors(self, body: str) -> tuple[Floats, Floats, Floats, Floats]:
        """Vectors fixed in a body: at the start (m, 3), and over time with two rates (n, m, 3)."""
        rows = self.model.body_rows
        number = pick({name: i for i, name in enumerate(rows.names)}, body, "body")
        own = np.flatnonzero(rows.owner == number)
        vectors = rows.vectors[np.add.outer(3 * own, np.arange(3)).ravel()]
        shape = (len(self.times), len(own), 3)
        now, rate, more = (
            (vectors @ x.T).T.reshape(shape)
            for x in (self.coordinates, self.rates, self.accelerations)
        )
        return rows.starts[own], rows.starts[own] + now, rate, more

    def _rotations(self, body: str) -> Floats:
        """Rotation matrices of a body since the start, shape (n, 3, 3)."""
        if body == "ground":
            return np.broadcast_to(np.eye(3), (len(self.times), 3, 3))
        start, now, _, _ = self._body_vectors(body)
        pair = _independent_pair(start)
        if pair is None:
            raise ValueError(
                f"body '{body}' has no orientation: it is a thin rod or a point, whose spin nothing holds"
            )
        before = _triads(start[None, pair[0]], start[None, pair[1]])[0]
        return np.asarray(_triads(now[:, pair[0]], now[:, pair[1]]) @ before.T)

    def _spins(self, body: str) -> tuple[Floats, Floats]:
        """Angular velocity and acceleration of a body, shape (n, 3)."""
        if body == "ground":
            return np.zeros((len(self.times), 3)), np.zeros((len(self.times), 3))
        _, now, rate, more = self._body_vectors(body)
        # v' = w x v for all vectors: sum (|v|^2 - v v^T) w = sum v x v'
        squares = np.einsum("nmi,nmi->n", now, now)[:, None, None] * np.eye(3)
        inverse = np.linalg.pinv(squares - np.einsum("nmi,nmj->nij", now, now), rcond=1e-10)
        spin = np.einsum("nij,nmj->ni", inverse, np.cross(now, rate))
        rest = more - np.cross(spin[:, None], np.cross(spin[:, None], now))
        return spin, np.einsum("nij,nmj->ni", inverse, np.cross(now, rest))

    def _angle_rates(self, joint: str) -> tuple[Floats, Floats]:
        """Rate and second rate of the angle of a revolute joint, shape (n,)."""
        rows = self.model.readings.angles[joint]
        axis = self._rotations(rows.bodies[0]) @ rows.triad[0]
        spins = [self._spins(body) for body in rows.bodies]
        rate, more = (np.einsum("ij,ij->i", b - a, axis) for a, b in zip(*spins, strict=True))
        return rate, more

    def _unwrapped(self, angle: Floats, rate: Floats, more: Floats, what: str) -> Floats:
        """The angle with its turns counted from output to output, with the help of its rates."""
        h = np.diff(self.times)
        expected = 0.5 * h * (rate[1:] + rate[:-1]) + h**2 / 12.0 * (more[:-1] - more[1:])
        change = _next_to(np.diff(angle), expected)
        shortest = _next_to(np.diff(angle), np.zeros(len(h)))
        # an output step of many turns leaves room for doubt
        doubtful = (np.abs(change - shortest) > 1.0) & (np.abs(change - expected) > 1.0)
        if doubtful.any():
            t = self.times[int(np.argmax(doubtful))]
            raise ValueError(
                f"the turns of {what} cannot be counted at t = {t:g} s: it turns too far from one "
                "output to the next; give a shorter output_step"
            )
        return np.concatenate([angle[:1], angle[:1] + np.cumsum(change)])

    def readings(self) -> dict[str, Floats]:
        """Columns by name with unit of joints, springs, torsions and drives.

        Not a number is an angle whose turns cannot be counted.
        """
        named = self.model.readings
        columns: dict[str, Floats] = {}
        for joint in named.angles:
            try:
                columns[f"{joint}.angle [rad]"] = self.angle(joint)
            except ValueError:
                columns[f"{joint}.angle [rad]"] = np.full(len(self.times), np.nan)
        columns |= {f"{joint}.travel [m]": self.travel(joint) for joint in named.travels}
        columns |= {f"{name}.length [m]": self.length(name) for name in named.lengths}
        for name in named.springs:
            columns[f"{name}.length [m]"] = self.length(name)
            columns[f"{name}.force [N]"] = self.force(name)
        columns |= {f"{name}.torque [N m]": self.torque(name) for name in named.torsions}
        for name, drive in named.drives.items():
            kind = "drive torque [N m]" if drive.turns else "drive force [N]"
            columns[f"{name}.{kind}"] = self.drive_force(name)
        return columns


def _next_to(angle: Floats, near: Floats) -> Floats:
    """The same angles with as many turns as bring them next to others."""
    return angle + 2.0 * np.pi * np.rint((near - angle) / (2.0 * np.pi))


def _independent_pair(vectors: Floats) -> tuple[int, int] | None:
    """Two vectors that are not parallel, as far from it as possible."""
    best, pair = 1e-6, None
    for i in range(len(vectors)):
        for j in range(i + 1, len(vectors)):
            size = float(np.linalg.norm(np.cross(vectors[i], vectors[j])))
            if size > best:
                best, pair = size, (i, j)
    return pair


def _triads(first: Floats, second: Floats) -> Floats:
    """Orthonormal triads as columns: the first along `first`, the third across both; (n, 3, 3)."""
    x = first / np.linalg.norm(first, axis=1)[:, None]
    z = np.cross(x, second)
    z /= np.linalg.norm(z, axis=1)[:, None]
    return np.stack([x, np.cross(z, x), z], axis=2)
