"""The mechanism as its user writes it: named bodies, joints, points and start velocities.

Nothing is judged here beyond what the call itself needs: a mechanism may be written in any order and
is checked as a whole by `check_mechanism` (which `simulate` calls first).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import MechanismError

Vector = NDArray[np.float64]


class JointKind(Enum):
    """The kinds of joint; the value is the word a user reads."""

    REVOLUTE = "revolute"
    SPHERICAL = "spherical"
    WELD = "weld"


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body at the start position.

    mass [kg]; center: centre of mass [m]; inertia about it [kg m^2]: a number in the plane, a 3 x 3
    matrix in world directions in space; ends and section [m]: only if the body is a rod.
    """

    name: str
    mass: float
    center: Vector
    inertia: Vector
    ends: tuple[Vector, Vector] | None = None
    section: float = 0.0


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint of two or more bodies at one place; its name is the name of that point."""

    name: str
    kind: JointKind
    bodies: tuple[str, ...]
    at: Vector | None
    axis: Vector | None = None


@dataclass(frozen=True, eq=False)
class Marker:
    """A named point of one body."""

    name: str
    body: str
    at: Vector


class Mechanism:
    """A linkage: rigid bodies joined to each other and to the ground.

    gravity: acceleration [m/s^2]; its length says whether the mechanism is planar (2) or spatial (3).
    All places are those of the start position, in metres.
    """

    GROUND = "ground"

    def __init__(self, name: str = "mechanism", gravity: ArrayLike = (0.0, -9.81)) -> None:
        self.name = _word(name, "name of a mechanism")
        self.gravity = _vector(gravity, f"gravity of mechanism '{name}'")
        self.ground = Body(self.GROUND, np.inf, np.zeros(self.dimension), np.zeros(0))
        self._own = {id(self.ground)}
        self.bodies: list[Body] = []
        self.joints: list[Joint] = []
        self.markers: list[Marker] = []
        self.velocities: list[tuple[str, Vector]] = []
        self.angular_velocities: list[tuple[str, Vector]] = []

    @property
    def dimension(self) -> int:
        """2 in the plane, 3 in space."""
        return int(self.gravity.size)

    def __repr__(self) -> str:
        kind = {2: "planar", 3: "spatial"}.get(self.dimension, "ill-defined")
        return f"<Mechanism '{self.name}': {kind}, {len(self.bodies)} bodies, {len(self.joints)} joints>"

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
        # what has no inertia yet is kept for the check, which says why
        whole = a.shape == b.shape and a.shape in ((2,), (3,)) and np.isfinite([*a, *b, side]).all()
        center = 0.5 * (a + b) if whole else a
        inertia = kilograms * _rod_inertia(b - a, side) if whole else np.zeros(())
        return self._add(Body(name, kilograms, center, inertia, (a, b), side))

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

    # joints

    def revolute(
        self, name: str, *bodies: Body | str, at: ArrayLike, axis: ArrayLike | None = None
    ) -> Joint:
        """Join bodies by a hinge: a pin in the plane, a hinge about `axis` in space."""
        return self._join(name, JointKind.REVOLUTE, bodies, at, axis)

    def spherical(self, name: str, *bodies: Body | str, at: ArrayLike) -> Joint:
        """Join bodies of a spatial mechanism by a ball joint."""
        return self._join(name, JointKind.SPHERICAL, bodies, at)

    def weld(self, name: str, *bodies: Body | str, at: ArrayLike | None = None) -> Joint:
        """Join bodies rigidly, as they stand; `at` only names a point."""
        return self._join(name, JointKind.WELD, bodies, at)

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

    def _add(self, body: Body) -> Body:
        self.bodies.append(body)
        self._own.add(id(body))
        return body

    def _name(self, body: Body | str, what: str) -> str:
        if not isinstance(body, Body | str):
            raise MechanismError(f"{what}: {body!r} is no body; give a body or its name")
        if isinstance(body, Body) and id(body) not in self._own:
            raise MechanismError(
                f"{what}: body '{body.name}' belongs to another mechanism; add it to this one first"
            )
        return body if isinstance(body, str) else body.name

    def _join(
        self,
        name: str,
        kind: JointKind,
        bodies: Sequence[Body | str],
        at: ArrayLike | None,
        axis: ArrayLike | None = None,
    ) -> Joint:
        name = _word(name, "name of a joint")
        joint = Joint(
            name,
            kind,
            tuple(self._name(b, f"joint '{name}'") for b in bodies),
            None if at is None else _vector(at, f"place of joint '{name}'"),
            None if axis is None else _vector(axis, f"axis of joint '{name}'"),
        )
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


def _vector(values: ArrayLike | None, what: str) -> Vector:
    """A private float copy, or a message that says which entry is not numeric."""
    try:
        # None would silently become nan
        if values is None:
            raise TypeError("None")
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise MechanismError(f"{what}: {values!r} is not numeric; give plain numbers") from error


def _rod_inertia(d: Vector, section: float) -> Vector:
    """Inertia of a uniform rod of unit mass along d, with a square section, about its centre."""
    length2 = float(d @ d)
    if len(d) == 2:
        return np.array((length2 + section**2) / 12.0)
    along = np.outer(d, d) / length2 if length2 > 0 else np.zeros((3, 3))
    return (length2 + section**2) / 12.0 * (np.eye(3) - along) + section**2 / 6.0 * along
