"""What acts on a mechanism besides gravity: forces, torques, springs, a user's own force, drives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..arrays import Floats
from .motion import Motion

WORLD, BODY = "world", "body"


@dataclass(frozen=True, eq=False)
class Force:
    """A constant force [N] at a point of a body; fixed_in: "world", or "body" if it turns with it."""

    name: str
    body: str
    at: Floats
    vector: Floats
    fixed_in: str = WORLD


@dataclass(frozen=True, eq=False)
class Torque:
    """A constant torque [N m] on a body: a number in the plane, 3 in space; fixed_in as for a force."""

    name: str
    body: str
    vector: Floats
    fixed_in: str = WORLD


@dataclass(frozen=True, eq=False)
class Spring:
    """A spring and damper between a point of one body and a point of another.

    It pulls with stiffness (length - free_length) + damping (rate of length) + preload [N].
    """

    name: str
    bodies: tuple[str, str]
    ends: tuple[Floats, Floats]
    stiffness: float
    damping: float
    free_length: float
    preload: float


@dataclass(frozen=True, eq=False)
class Torsion:
    """A torsional spring and damper at a revolute joint of two bodies, or a constant torque there.

    On the second body it exerts, and on the first the opposite of,
    torque - stiffness (angle - free_angle) - damping (rate of angle) [N m], the angle of the second
    body seen from the first being 0 at the start position.
    """

    name: str
    joint: str
    stiffness: float
    damping: float
    free_angle: float
    torque: float


@dataclass(frozen=True, eq=False)
class UserForce:
    """Forces at named points, computed by a function of the user.

    function(t, position, velocity): position and velocity of the points, arrays (points, dimension) in
    m and m/s; it returns the forces on them [N], same shape.
    """

    name: str
    points: tuple[str, ...]
    function: Callable[[float, Floats, Floats], Any]


@dataclass(frozen=True, eq=False)
class Drive:
    """The coordinate of a joint as a function of time.

    Of a revolute joint the angle [rad], of a prismatic or cylindrical one the travel [m], both counted
    from the start position; of a distance joint its length [m].
    """

    name: str
    joint: str
    motion: Motion
