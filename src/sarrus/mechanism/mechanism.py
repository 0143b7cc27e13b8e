"""The mechanism as its user writes it: named bodies, joints, points and start velocities.

Nothing is judged here beyond what the call itself needs: a mechanism may be written in any order and
is checked as a whole by `check_mechanism` (which `simulate` calls first).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from .bodies import Body, Marker, make_rod
from .elements import GROUND, Element
from .errors import MechanismError
from .forces import WORLD, Drive, Force, Spring, Torque, Torsion, UserForce
from .joint_kinds import JointCalls, JointKind
from .joints import End, Joint
from .motion import Motion, as_motion

# the lists of a mechanism, and what a file calls them, in the order of a file
STRUCTURE = {"bodies": "bodies", "joints": "joints", "markers": "points"}
LOADS = {
    "forces": "forces",
    "torques": "torques",
    "springs": "springs",
    "torsions": "torsions",
    "user_forces": "user_forces",
    "drives": "drives",
}
PARTS = STRUCTURE | LOADS


class Mechanism(JointCalls):
    """A linkage: rigid bodies joined to each other and to the ground.

    gravity: acceleration [m/s^2]; its length says whether the mechanism is planar (2) or spatial (3).
    All places are those of the start position, in metres. Where they are only roughly known, a joint takes
    one place (and axis) for each of its bodies, shape (bodies, dimension), and `sarrus.assemble` closes
    it; assemble: whether `simulate` does so by itself.
    """

    GROUND = GROUND

    def __init__(self, name: str = "mechanism", gravity: ArrayLike = (0.0, -9.81)) -> None:
        self.name = _word(name, "name of a mechanism")
        self.gravity = _vector(gravity, f"gravity of mechanism '{name}'")
        self.assemble = False
        self.ground = Body(self.GROUND, np.inf, np.zeros(self.dimension), np.zeros(0))
        self.bodies: list[Body] = []
        self.joints: list[Joint] = []
        self.markers: list[Marker] = []
        self.forces: list[Force] = []
        self.torques: list[Torque] = []
        self.springs: list[Spring] = []
        self.torsions: list[Torsion] = []
        self.user_forces: list[UserForce] = []
        self.drives: list[Drive] = []
        self.velocities: list[tuple[str, Floats]] = []
        self.angular_velocities: list[tuple[str, Floats]] = []
        # what `sarrus simulate` does unless told otherwise: duration [s], output_step [s], tolerance, ...
        self.defaults: dict[str, float | str] = {}
        # what a user should know of where it comes from: an import tells what it changed and dropped
        self.told: list[str] = []

    @property
    def dimension(self) -> int:
        """2 in the plane, 3 in space."""
        return int(self.gravity.size)

    def __repr__(self) -> str:
        kind = {2: "planar", 3: "spatial"}.get(self.dimension, "ill-defined")
        return f"<Mechanism '{self.name}': {kind}, {len(self.bodies)} bodies, {len(self.joints)} joints>"

    # the whole

    def structure(self) -> Iterator[Element]:
        """Bodies, joints and points."""
        for name in STRUCTURE:
            yield from getattr(self, name)

    def loads(self) -> Iterator[Element]:
        """All that acts on it: forces, torques, springs, torsions, user forces, drives."""
        for name in LOADS:
            yield from getattr(self, name)

    def copy(self) -> Mechanism:
        """A mechanism of its own with the same parts: what is added to one does not change the other."""
        return self.mapped(lambda part: part)

    __copy__ = copy

    def mapped(self, change: Callable[[Any], Any]) -> Mechanism:
        """A copy with every part changed by a function of it."""
        new = object.__new__(type(self))
        for name, value in vars(self).items():
            if name in PARTS:
                value = [change(part) for part in value]
            elif isinstance(value, list | dict):
                value = value.copy()
            setattr(new, name, value)
        return new

    # bodies and points

    def rod(
        self,
        name: str,
        start: ArrayLike,
        end: ArrayLike,
        mass: float,
        section: float = 0.0,
    ) -> Body:
        """Add a uniform straight rod from `start` to `end`.

        section: side of its square cross section [m]; 0 is a thin rod without inertia about its axis.
        """
        name = _word(name, "name of a rod")
        a = _vector(start, f"start of rod '{name}'")
        b = _vector(end, f"end of rod '{name}'")
        kilograms = _number(mass, f"mass of rod '{name}'")
        side = _number(section, f"section of rod '{name}'")
        return self._add(make_rod(name, a, b, kilograms, side))

    def body(
        self, name: str, mass: float, center: ArrayLike, inertia: ArrayLike | float | None = None
    ) -> Body:
        """Add a rigid body by its mass, centre of mass and inertia about that centre.

        inertia [kg m^2]: a number in the plane; in space a 3 x 3 matrix, or its three diagonal
        entries, in world directions at the start; left out, a point mass.
        """
        name = _word(name, "name of a body")
        c = _vector(center, f"center of body '{name}'")
        if inertia is None:
            values = np.zeros(()) if c.size == 2 else np.zeros((3, 3))
        else:
            values = _vector(inertia, f"inertia of body '{name}'")
            if values.shape == (3,):
                values = np.diag(values)
        return self._add(Body(name, _number(mass, f"mass of body '{name}'"), c, values))

    def point(self, name: str, body: Body | str, at: ArrayLike) -> Marker:
        """Name a point of a body, to observe it or to give it a velocity."""
        name = _word(name, "name of a point")
        marker = Marker(
            name, self._name(body, f"point '{name}'"), _vector(at, f"place of point '{name}'")
        )
        self.markers.append(marker)
        return marker

    # forces

    def force(
        self,
        name: str,
        body: Body | str,
        *,
        at: ArrayLike,
        vector: ArrayLike,
        fixed_in: str = WORLD,
    ) -> Force:
        """Let a constant force [N] act at a point of a body.

        fixed_in: "world" keeps its direction, "body" turns it with the body.
        """
        name = _word(name, "name of a force")
        force = Force(
            name,
            self._name(body, f"force '{name}'"),
            _vector(at, f"place of force '{name}'"),
            _vector(vector, f"vector of force '{name}'"),
            fixed_in,
        )
        self.forces.append(force)
        return force

    def torque(
        self, name: str, body: Body | str, vector: ArrayLike | float, *, fixed_in: str = WORLD
    ) -> Torque:
        """Let a constant torque [N m] act on a body: a number in the plane, 3 numbers in space."""
        name = _word(name, "name of a torque")
        torque = Torque(
            name,
            self._name(body, f"torque '{name}'"),
            _vector(vector, f"vector of torque '{name}'"),
            fixed_in,
        )
        self.torques.append(torque)
        return torque

    def joint_torque(self, name: str, joint: Joint | str, torque: float) -> Torsion:
        """Let a revolute joint turn its second body by a constant torque [N m], its first by the opposite."""
        return self.torsion(name, joint, torque=torque)

    def spring(
        self,
        name: str,
        first: Body | str,
        second: Body | str,
        *,
        start: ArrayLike,
        end: ArrayLike,
        stiffness: float = 0.0,
        damping: float = 0.0,
        free_length: float | None = None,
        preload: float = 0.0,
    ) -> Spring:
        """Put a spring and damper between `start` on the first body and `end` on the second.

        It pulls with stiffness (length - free_length) + damping (rate of length) + preload [N];
        free_length: the length at the start if left out.
        """
        name = _word(name, "name of a spring")
        what = f"spring '{name}'"
        a, b = _vector(start, f"start of {what}"), _vector(end, f"end of {what}")
        if free_length is None:
            free = float(np.linalg.norm(b - a)) if a.shape == b.shape else 0.0
        else:
            free = _number(free_length, f"free length of {what}")
        spring = Spring(
            name,
            (self._name(first, what), self._name(second, what)),
            (a, b),
            _number(stiffness, f"stiffness of {what}"),
            _number(damping, f"damping of {what}"),
            free,
            _number(preload, f"preload of {what}"),
        )
        self.springs.append(spring)
        return spring

    def torsion(
        self,
        name: str,
        joint: Joint | str,
        *,
        stiffness: float = 0.0,
        damping: float = 0.0,
        free_angle: float = 0.0,
        torque: float = 0.0,
    ) -> Torsion:
        """Put a torsional spring and damper [N m/rad, N m s/rad] into a revolute joint of two bodies.

        The angle is that of the second body seen from the first, 0 at the start, and goes on counting
        beyond a turn.
        """
        name = _word(name, "name of a torsional spring")
        what = f"torsion '{name}'"
        torsion = Torsion(
            name,
            self._joint_name(joint, what),
            _number(stiffness, f"stiffness of {what}"),
            _number(damping, f"damping of {what}"),
            _number(free_angle, f"free angle of {what}"),
            _number(torque, f"torque of {what}"),
        )
        self.torsions.append(torsion)
        return torsion

    def user_force(
        self,
        name: str,
        points: Sequence[Joint | Marker | str],
        function: Callable[[float, Floats, Floats], Any],
    ) -> UserForce:
        """Let forces act at named points, computed by function(t, position, velocity).

        position [m] and velocity [m/s] of the points are arrays of shape (points, dimension); the
        function returns the forces [N], same shape. It is compiled if it can be.
        """
        name = _word(name, "name of a user force")
        listed = [points] if isinstance(points, Joint | Marker | str) else list(points)
        names = tuple(
            p.name if isinstance(p, Joint | Marker) else _word(p, f"point of user force '{name}'")
            for p in listed
        )
        force = UserForce(name, names, function)
        self.user_forces.append(force)
        return force

    def drive(self, name: str, joint: Joint | str, motion: Motion | float) -> Drive:
        """Prescribe the coordinate of a joint as a function of time.

        The angle [rad] of a revolute joint or the travel [m] of a prismatic or cylindrical one, both 0
        at the start; the length [m] of a distance joint.
        """
        name = _word(name, "name of a drive")
        what = f"drive '{name}'"
        drive = Drive(name, self._joint_name(joint, what), as_motion(motion, what))
        self.drives.append(drive)
        return drive

    # start velocities

    def set_velocity(self, point: Joint | Marker | str, velocity: ArrayLike) -> None:
        """Give the start velocity [m/s] of a joint or named point.

        What is not given follows from the joints; where they leave it free, the motion of least
        kinetic energy is taken, and the result says so.
        """
        name = (
            point.name if isinstance(point, Joint | Marker) else _word(point, "velocity of a point")
        )
        self.velocities.append((name, _vector(velocity, f"velocity of point '{name}'")))

    def set_angular_velocity(self, body: Body | str, velocity: ArrayLike | float) -> None:
        """Give the start angular velocity of a body [rad/s]: a number in the plane, else 3."""
        name = self._name(body, "angular velocity of a body")
        self.angular_velocities.append((name, _vector(velocity, f"angular velocity of '{name}'")))

    def check(self) -> None:
        """Raise MechanismError if this cannot be simulated; the message lists every reason."""
        from .check import check_mechanism

        check_mechanism(self)

    # files

    def save(self, path: str | Path) -> None:
        """Write a model file (YAML); `load` reads it back to the last bit."""
        from .files import save

        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Mechanism:
        """Read a model file; raises MechanismError that lists every problem with file, line and key."""
        from .files import load

        return load(path)

    def _add(self, body: Body) -> Body:
        self.bodies.append(body)
        return body

    def _name(self, body: Body | str, what: str) -> str:
        if not isinstance(body, Body | str):
            raise MechanismError(f"{what}: {body!r} is no body; give a body or its name")
        # bodies are told apart by identity: another mechanism may have one of this name
        if isinstance(body, Body) and body is not self.ground and body not in self.bodies:
            raise MechanismError(
                f"{what}: body '{body.name}' belongs to another mechanism; add it to this one first"
            )
        return body if isinstance(body, str) else body.name

    def _joint_name(self, joint: Joint | str, what: str) -> str:
        if not isinstance(joint, Joint | str):
            raise MechanismError(f"{what}: {joint!r} is no joint; give a joint or its name")
        return joint if isinstance(joint, str) else joint.name

    def _join(
        self,
        kind: JointKind,
        name: str,
        bodies: Sequence[Body | str],
        at: ArrayLike | None,
        axis: ArrayLike | None = None,
        second_axis: ArrayLike | None = None,
    ) -> Joint:
        name = _word(name, "name of a joint")
        count, role = len(bodies), kind.row.axis
        what = f"joint '{name}' ({kind.value})"
        places = _each(at, f"place of joint '{name}'") or [None]
        if len(places) not in (1, count):
            raise MechanismError(
                f"{what}: at has {len(places)} places for {count} bodies; give one place, or one for each "
                "body"
            )
        axes = _each(axis, f"axis of joint '{name}'") or [None]
        if len(axes) > 1 and role != "common":
            raise MechanismError(f"{what}: its axis belongs to one body; give one axis")
        if len(axes) not in (1, count):
            raise MechanismError(
                f"{what}: {len(axes)} axes for {count} bodies; give one axis, or one for each body"
            )
        if role != "common":
            second = second_axis if role == "each" else None
            axes += [None if second is None else _vector(second, f"second axis of joint '{name}'")]
            axes += [None] * (count - 2)
        return self._add_joint(name, kind, bodies, places, axes)

    def _link(
        self,
        kind: JointKind,
        name: str,
        bodies: Sequence[Body | str],
        start: ArrayLike,
        end: ArrayLike,
    ) -> Joint:
        name = _word(name, "name of a joint")
        ends = (("start", start), ("end", end))
        places = [_vector(place, f"{word} of joint '{name}'") for word, place in ends]
        return self._add_joint(name, kind, bodies, places, [None])

    def _add_joint(
        self,
        name: str,
        kind: JointKind,
        bodies: Sequence[Body | str],
        places: Sequence[Floats | None],
        axes: Sequence[Floats | None],
    ) -> Joint:
        """Add a joint with a place and axis for each body, or one for all."""
        n = len(bodies)
        places, axes = (list(x) * n if len(x) == 1 else x for x in (places, axes))
        names = [self._name(b, f"joint '{name}'") for b in bodies]
        ends = tuple(End(b, p, a) for b, p, a in zip(names, places, axes, strict=False))
        joint = Joint(name, kind, ends)
        self.joints.append(joint)
        return joint


def _word(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise MechanismError(f"{what}: {name!r} is no name; give a string")
    return name


def _number(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise MechanismError(f"{what}: {value!r} is not a number; give a plain number") from error


def _vector(values: ArrayLike | None, what: str) -> Floats:
    """A private float copy, or a message that says which entry is not numeric."""
    try:
        # None would silently become nan
        if values is None:
            raise TypeError("None")
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise MechanismError(f"{what}: {values!r} is not numeric; give plain numbers") from error


def _each(values: ArrayLike | None, what: str) -> list[Floats | None]:
    """A vector for each body of a joint, one if it is for all, none if there is none."""
    if values is None:
        return []
    vectors = _vector(values, what)
    if vectors.ndim < 2 or not len(vectors):
        return [vectors]
    return [v.copy() for v in vectors]
