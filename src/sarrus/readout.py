"""Reads a motion by name: points, springs, torsional springs, drives, joints and bodies at the outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from . import kernels
from .arrays import Flags, Floats
from .kinematics.configuration import next_to, read_spins, read_turns, unwrap
from .names import pick

if TYPE_CHECKING:
    from .kinematics.configuration import BodyRows
    from .mechanism import Mechanism
    from .methods.outcome import Record
    from .model import Model
    from .model.readings import ArmRows, DriveRows
    from .verdict.reactions import Reactions


def by_segment(read: Callable[[Any, str], Floats]) -> Callable[[Any, str], Floats]:
    """A reading of a force: where events change the mechanism, each segment of the run reads its own."""

    @wraps(read)
    def read_all(self: Readout, name: str) -> Floats:
        drives = read.__name__.startswith("drive")
        if drives and name not in self.drives and name in self.model.mechanism.prescribers:
            # a stop or lock that no segment needs
            return np.zeros(len(self.times))
        if not self.segments:
            return read(self, name)
        if drives:
            pick(self.drives, name, "drive")
        # a drive that is released exerts nothing
        return np.concatenate(
            [
                np.zeros(len(part.times))
                if drives and name not in part.drives
                else read(part, name)
                for part in self.segments
            ]
        )

    return read_all


class Readout:
    """Quantities of a record by name, computed with its model; base class of `Result`."""

    model: Model

    @property
    def segments(self) -> Sequence[Readout]:
        """The parts of a run between events that change the mechanism; empty for other runs."""
        return ()

    @property
    def drives(self) -> dict[str, DriveRows]:
        """Drives by name, with locks and stops of limits where events of the run make them act."""
        return self.model.readings.drives

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
        """Time derivatives of the natural coordinates."""
        return self.record.v

    @property
    def accelerations(self) -> Floats:
        """Second time derivatives of the natural coordinates; computed on first access."""
        return self.record.a

    @property
    def reactions(self) -> Reactions:
        """All joint reactions at all outputs."""
        raise NotImplementedError

    @property
    def _near_crossings(self) -> Flags:
        """Outputs so close to a crossing that forces are computed as limits along the motion."""
        raise NotImplementedError

    # points

    @property
    def points(self) -> list[str]:
        """Names that can be read: joints, named points, and bodies (their centres of mass)."""
        return list(self.model.points)

    def position(self, name: str) -> Floats:
        """World position of a joint, named point or centre of a body [m], shape (n, dimension).

        Parameters
        ----------
        name : str
            A joint, a named point, or a body (its centre of mass).

        Returns
        -------
        array
            World position [m] at the n outputs, shape (n, dimension).

        Examples
        --------
        >>> import sarrus
        >>> m = sarrus.problems.get("n-four-bar", windows=1).mechanism()
        >>> result = sarrus.simulate(m, 1.0, 0.1)
        >>> result.position("B0").shape
        (11, 2)
        """
        return self.model.origin(name) + (self.model.point_rows(name) @ self.coordinates.T).T

    def velocity(self, name: str) -> Floats:
        """Velocity of a joint, named point or centre of a body [m/s], shape (n, dimension).

        Parameters
        ----------
        name : str
            A joint, a named point, or a body (its centre of mass).

        Returns
        -------
        array
            Velocity [m/s] at the n outputs, shape (n, dimension).

        Examples
        --------
        >>> import sarrus
        >>> m = sarrus.problems.get("n-four-bar", windows=1).mechanism()
        >>> result = sarrus.simulate(m, 1.0, 0.1)
        >>> result.velocity("B0").shape
        (11, 2)
        """
        return (self.model.point_rows(name) @ self.rates.T).T

    def acceleration(self, name: str) -> Floats:
        """Acceleration of a joint, named point or centre of a body [m/s^2], shape (n, dimension).

        Parameters
        ----------
        name : str
            A joint, a named point, or a body (its centre of mass).

        Returns
        -------
        array
            Acceleration [m/s^2] at the n outputs, shape (n, dimension).
        """
        return (self.model.point_rows(name) @ self.accelerations.T).T

    # springs, torsional springs, drives

    def length(self, name: str) -> Floats:
        """Length of a spring or of a distance joint [m], shape (n,).

        Parameters
        ----------
        name : str
            A spring or a distance joint.

        Returns
        -------
        array
            Length [m] at the n outputs, shape (n,).
        """
        named = self.model.readings
        arms = {k: arm for k, (_, arm) in named.springs.items()} | named.lengths
        return np.asarray(
            np.linalg.norm(self._arm(pick(arms, name, "spring or distance joint")), axis=1)
        )

    @by_segment
    def force(self, name: str) -> Floats:
        """Tension of a spring and damper [N], negative in compression, shape (n,).

        Parameters
        ----------
        name : str
            A spring.

        Returns
        -------
        array
            Tension [N] at the n outputs, shape (n,).
        """
        spring, rows = pick(self.model.readings.springs, name, "spring")
        arm, speed = self._arm(rows), (rows.rows @ self.rates.T).T
        length = np.linalg.norm(arm, axis=1)
        rate = np.einsum("ij,ij->i", arm, speed) / length
        return np.asarray(
            kernels.elements.spring.pull(kernels.elements.spring.numbers_of(spring), length, rate)
        )

    @by_segment
    def torque(self, name: str) -> Floats:
        """Torque of a torsional spring, damper or joint torque on its second body [N m], shape (n,).

        Parameters
        ----------
        name : str
            A torsion or joint torque.

        Returns
        -------
        array
            Torque [N m] at the n outputs, shape (n,).
        """
        torsion, number = pick(self.model.readings.torsions, name, "torsion")
        rate = self._angle_rates(torsion.joint)[0]
        return np.asarray(
            kernels.elements.torsion.moment(
                kernels.elements.torsion.numbers_of(torsion), self.record.angles[:, number], rate
            )
        )

    def _dampers(self, arm: float) -> Iterator[tuple[str, float, float]]:
        """Name, damping [N s/m] and typical force [N] of each damper; torques act at this arm [m].

        The typical force is the median, because the first instant may be far above the rest.
        """
        for spring, _ in self.model.readings.springs.values():
            if spring.damping > 0:
                force = float(np.median(np.abs(self.force(spring.name))))
                yield f"spring '{spring.name}'", spring.damping, force
        for torsion, _ in self.model.readings.torsions.values():
            if torsion.damping > 0:
                force = float(np.median(np.abs(self.torque(torsion.name)))) / arm
                yield f"torsion '{torsion.name}'", torsion.damping / arm**2, force

    @by_segment
    def drive_force(self, name: str) -> Floats:
        """Force [N] that a drive exerts along its motion, or torque [N m] about its axis, shape (n,).

        It is positive if it pushes the second body in the positive direction of the motion. At a crossing it is
        the limit along the motion, NaN where that is unbounded. Where several drives move the same degree of
        freedom, or drives constrain what joints also constrain, rigid bodies determine only sums. The value is
        then that of `reaction`, which flags it as statically indeterminate.

        Parameters
        ----------
        name : str
            A drive, a lock or a stop.

        Returns
        -------
        array
            Force [N] or torque [N m] at the n outputs, shape (n,).

        Examples
        --------
        >>> import sarrus
        >>> m = sarrus.Mechanism("crank-rocker")
        >>> _ = m.four_bar(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
        >>> _ = m.drive("motor", "A", sarrus.Polynomial([0, "60 rpm"]))
        >>> result = sarrus.simulate(m, 1.0, 0.1)
        >>> result.drive_force("motor").shape
        (11,)
        """
        drive = pick(self.model.readings.drives, name, "drive")
        force = np.asarray(self.record.drive_forces[:, drive.number] * drive.unit)
        known = np.isfinite(force)
        # a drive that moves alone is determinate; one at rest may be indeterminate together with the joints
        moves = any(drive.pieces.rate(t) for t in self.times)
        near = self._near_crossings
        if len(self.model.readings.drives) == 1 and moves and known.all() and not near.any():
            return force
        share = self.reactions.of(name).components[0]
        return np.where(
            known & share.unique & ~near,
            force,
            np.where(share.undetermined, np.nan, share.values),
        )

    @by_segment
    def drive_power(self, name: str) -> Floats:
        """Power that a drive delivers to the mechanism [W], shape (n,): its force or torque times its rate.

        Parameters
        ----------
        name : str
            A drive.

        Returns
        -------
        array
            Power [W] at the n outputs, shape (n,).
        """
        pieces = pick(self.model.readings.drives, name, "drive").pieces
        return self.drive_force(name) * np.array([pieces.rate(t) for t in self.times])

    # joints and bodies

    def angle(self, joint: str, first: str | None = None, second: str | None = None) -> Floats:
        """Angle of a joint's second body seen from its first [rad], 0 at the start, shape (n,).

        Full turns are counted.

        Parameters
        ----------
        joint : str
            A revolute, cylindrical or planar joint.
        first, second : str, optional
            Two of the joint's bodies. Default, for a joint of two bodies: these, in their order.
        """
        bodies = self._two_bodies(joint, first, second)
        rows = self.model.readings.angles[joint]
        _, u, b = rows.triad
        seen_from, turning = (self._rotations(body) for body in bodies)
        mark = turning @ u
        turned = np.arctan2(
            np.einsum("ij,ij->i", mark, seen_from @ b), np.einsum("ij,ij->i", mark, seen_from @ u)
        )
        counted = self._counted_angle(joint)
        if counted is not None:
            return next_to(turned, counted if bodies == rows.bodies else -counted)
        rates = partial(self._angle_rates, joint, bodies)
        return self._unwrapped(turned, rates, f"joint '{joint}'")

    def _two_bodies(self, joint: str, first: str | None, second: str | None) -> tuple[str, str]:
        """The two bodies between which an angle of a joint is read."""
        rows = pick(self.model.readings.angles, joint, "revolute, cylindrical or planar joint")
        if first is None and second is None and rows.is_pair:
            return rows.bodies[0], rows.bodies[1]
        if first is None or second is None:
            raise ValueError(
                f"joint '{joint}' joins {', '.join(rows.bodies)}; give two of them, "
                f"like angle('{joint}', '{rows.bodies[0]}', '{rows.bodies[1]}')"
            )
        known = {body: body for body in rows.bodies}
        return pick(known, first, f"body of joint '{joint}'"), pick(
            known, second, f"body of joint '{joint}'"
        )

    def _counted_angle(self, joint: str) -> Floats | None:
        """The angle of a joint of two bodies if the run counted its turns, as for torsional springs and drives."""
        named = self.model.readings
        for torsion, number in named.torsions.values():
            if torsion.joint == joint:
                return np.asarray(self.record.angles[:, number])
        for drive in [] if self.segments else named.drives.values():
            if drive.joint == joint and drive.turns:
                return np.array([drive.pieces.value(t) for t in self.times])
        return None

    def travel(self, joint: str) -> Floats:
        """Travel along the axis of a prismatic, cylindrical or point-on-line joint [m], 0 at the start.

        Parameters
        ----------
        joint : str
            A prismatic, cylindrical or point-on-line joint.

        Returns
        -------
        array
            Travel [m] at the n outputs, shape (n,).
        """
        what = "prismatic, cylindrical or point-on-line joint"
        rows = pick(self.model.readings.travels, joint, what)
        arm = self._arm(rows.arm)
        axis = (self._rotations(rows.body) @ rows.axis)[:, : arm.shape[1]]
        return np.asarray(np.einsum("ij,ij->i", arm, axis))

    def orientation(self, body: str) -> Floats:
        """Rotation of a body since the start.

        Planar: the angle [rad], shape (n,), full turns counted. Spatial: rotation matrices, shape (n, 3, 3).

        Parameters
        ----------
        body : str
            A body.
        """
        turned = self._rotations(body)
        if self.model.dimension == 3:
            return turned
        angle = np.arctan2(turned[:, 1, 0], turned[:, 0, 0])

        def rates() -> tuple[Floats, Floats]:
            spin, more = self._spins(body)
            return spin[:, 2], more[:, 2]

        return self._unwrapped(angle, rates, f"body '{body}'")

    def angular_velocity(self, body: str) -> Floats:
        """Angular velocity of a body [rad/s]: shape (n,) in the plane, (n, 3) in space.

        The spin of a thin rod without joint axes about itself is undefined and given as 0, as is the whole angular
        velocity of a body without inertia and axes.

        Parameters
        ----------
        body : str
            A body.
        """
        spin, _ = self._spins(body)
        return spin if self.model.dimension == 3 else spin[:, 2]

    def angular_acceleration(self, body: str) -> Floats:
        """Angular acceleration of a body [rad/s^2]: shape (n,) in the plane, (n, 3) in space.

        The spin of a thin rod without joint axes about itself is undefined; its rate is given as 0.

        Parameters
        ----------
        body : str
            A body.
        """
        _, more = self._spins(body)
        return more if self.model.dimension == 3 else more[:, 2]

    def _arm(self, arm: ArmRows) -> Floats:
        return np.asarray(arm.start + (arm.rows @ self.coordinates.T).T)

    def _rows_of(self, body: str) -> BodyRows:
        rows = self.model.body_rows
        return rows.only(pick({name: name for name in rows.names}, body, "body"))

    def _rotations(self, body: str) -> Floats:
        """Rotation matrices of a body since the start, shape (n, 3, 3)."""
        if body == "ground":
            return np.broadcast_to(np.eye(3), (len(self.times), 3, 3))
        rows = self._rows_of(body)
        if not rows.show_turn:
            raise ValueError(
                f"body '{body}' has no orientation: it is a thin rod or a point, whose spin nothing determines"
            )
        return read_turns(rows, self.coordinates)[:, 0]

    def _spins(self, body: str) -> tuple[Floats, Floats]:
        """Angular velocity and acceleration of a body, shape (n, 3)."""
        if body == "ground":
            return np.zeros((len(self.times), 3)), np.zeros((len(self.times), 3))
        rows = self._rows_of(body)
        spin, more = read_spins(rows, self.coordinates, self.rates, self.accelerations)
        return spin[:, 0], more[:, 0]

    def _angle_rates(
        self, joint: str, bodies: tuple[str, str] | None = None
    ) -> tuple[Floats, Floats]:
        """First and second derivative of the angle of a joint, (n,); bodies: which two, if there are several."""
        rows = self.model.readings.angles[joint]
        pair = rows.bodies if bodies is None else bodies
        axis = self._rotations(pair[0]) @ rows.triad[0]
        spins = [self._spins(body) for body in pair]
        rate, more = (np.einsum("ij,ij->i", b - a, axis) for a, b in zip(*spins, strict=True))
        return rate, more

    def _unwrapped(
        self, angle: Floats, rates: Callable[[], tuple[Floats, Floats]], what: str
    ) -> Floats:
        """The angle with its turns counted from output to output, using its rates."""
        # with many turns per output step the count is uncertain
        counted, doubtful = unwrap(self.times, angle, *rates())
        if doubtful.any():
            t = self.times[int(np.argmax(doubtful))]
            raise ValueError(
                f"the turns of {what} cannot be counted at t = {t:g} s: it turns too far from one "
                "output to the next; give a shorter output_step"
            )
        return counted

    def readings(self, *names: str) -> dict[str, Floats]:
        """Columns by name with unit of joints, springs, torsions and drives: all, or those named.

        An angle whose turns cannot be counted is NaN.

        Parameters
        ----------
        *names : str
            Joints, springs, torsions and drives. Default: all of them.

        Returns
        -------
        dict of str to array
            Columns by name with unit.

        Examples
        --------
        >>> import sarrus
        >>> m = sarrus.Mechanism("crank-rocker")
        >>> _ = m.four_bar(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
        >>> _ = m.drive("motor", "A", sarrus.Polynomial([0, "60 rpm"]))
        >>> result = sarrus.simulate(m, 1.0, 0.1)
        >>> list(result.readings("motor"))
        ['motor.drive torque [N m]', 'motor.drive power [W]']
        """
        return {
            f"{name}.{what}": read(name)
            for name, what, read in self._readings()
            if not names or name in names
        }

    @property
    def read_names(self) -> list[str]:
        """Names that have readings: joints with an angle, travel or length, springs, torsions, drives."""
        return list(dict.fromkeys(name for name, _, _ in self._readings()))

    @property
    def exerting(self) -> list[str]:
        """Names of parts with a force or torque reading: drives, springs, torsional springs."""
        forced = ("[N]", "[N m]")
        whose = {name for name, what, _ in self._readings() if what.endswith(forced)}
        return [*self.drives, *(n for n in self.read_names if n in whose - set(self.drives))]

    def find_reading(self, name: str, word: str) -> Callable[[], Floats] | None:
        """Function that reads "angle", "travel", "length", "force", "torque" or "power" of a part, or None."""
        for owner, what, read in self._readings():
            if owner == name and what.rpartition(" [")[0].removeprefix("drive ") == word:
                return partial(read, name)
        return None

    def _readings(self) -> Iterator[tuple[str, str, Callable[[str], Floats]]]:
        """Name, quantity with unit, and the function that reads it."""
        named = self.model.readings
        pairs = (joint for joint, rows in named.angles.items() if rows.is_pair)
        yield from ((joint, "angle [rad]", self._angle_or_nan) for joint in pairs)
        yield from ((joint, "travel [m]", self.travel) for joint in named.travels)
        yield from ((joint, "length [m]", self.length) for joint in named.lengths)
        for name in named.springs:
            yield name, "length [m]", self.length
            yield name, "force [N]", self.force
        yield from ((name, "torque [N m]", self.torque) for name in named.torsions)
        for name, drive in self.drives.items():
            kind = "drive torque [N m]" if drive.turns else "drive force [N]"
            yield name, kind, self.drive_force
            yield name, "drive power [W]", self.drive_power

    def _angle_or_nan(self, joint: str) -> Floats:
        try:
            return self.angle(joint)
        except ValueError:
            return np.full(len(self.times), np.nan)


class QuantityNames(Readout):
    """The quantities that runs of a model have, by name, without a run."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the model."""
        return self.model.mechanism
