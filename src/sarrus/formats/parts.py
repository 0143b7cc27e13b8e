"""The common representation that all format readers fill in: links, connections, points, as in the file.

A link has a pose, and its mass properties in its own frame. A connection has a frame in each of its two links,
with z along its axis (of a hinge, slider or line; normal of a plane). Massless links, welds and open loops are
allowed here; `compose` converts them to a mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..arrays import Floats
from ..kinematics.configuration import frame_about, skew
from ..mechanism import DriveMotion, Mechanism, MechanismError
from .report import Report

GROUND = Mechanism.GROUND
# No mechanism has larger lengths, masses or angles; a larger value is a mistake or an attack.
LARGEST = 1e12

# Kinds of connections, with the names used by Mechanism.
REVOLUTE, SPHERICAL, WELD = "revolute", "spherical", "weld"
PRISMATIC, CYLINDRICAL, UNIVERSAL, PLANAR = "prismatic", "cylindrical", "universal", "planar"
ON_LINE, ON_PLANE, DISTANCE = "point-on-line", "point-on-plane", "distance"
RECTANGULAR = "rectangular"

# Number of equations of each kind, as the file's author counts them.
EQUATIONS = {
    REVOLUTE: 5,
    SPHERICAL: 3,
    WELD: 6,
    PRISMATIC: 5,
    CYLINDRICAL: 4,
    UNIVERSAL: 4,
    PLANAR: 3,
    RECTANGULAR: 4,
    ON_LINE: 2,
    ON_PLANE: 1,
    DISTANCE: 1,
}


class FormatError(MechanismError):
    """Another program's file cannot be read as a mechanism; the message names the file and the element."""


@dataclass(frozen=True, eq=False)
class Placement:
    """A frame: a point p in it is at place + turn p."""

    turn: Floats = field(default_factory=lambda: np.eye(3))
    place: Floats = field(default_factory=lambda: np.zeros(3))

    def point(self, p: Floats) -> Floats:
        """Return the position of a point of this frame."""
        return self.place + self.turn @ p

    def __matmul__(self, other: Placement) -> Placement:
        return Placement(self.turn @ other.turn, self.point(other.place))

    @property
    def inverse(self) -> Placement:
        """The parent frame expressed in this one."""
        return Placement(self.turn.T, -self.turn.T @ self.place)

    @property
    def axis(self) -> Floats:
        """The z direction of the frame."""
        return self.turn[:, 2]


def turn_about(axis: Floats, angle: float) -> Floats:
    """Return the rotation by an angle about a unit axis."""
    K = skew(axis)
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)


def frame_along(axis: Floats, place: Floats) -> Placement:
    """Return a frame at a point with z along an axis; exact for coordinate directions."""
    z = np.asarray(axis, float) / np.linalg.norm(axis)
    return Placement(frame_about(z), np.array(place, float))


def read_frame(places: list[Floats]) -> Placement:
    """Return the frame from its origin and its points on x, y, z, all at the same distance."""
    u, _, v = np.linalg.svd(np.array([p - places[0] for p in places[1:]]).T)
    return Placement(u @ v, places[0])


def nearest_half_turn(turn: Floats) -> Floats:
    """Return the nearest half turn about a coordinate axis or the identity: joints may be assembled either way."""
    turns = [np.eye(3), *(np.diag(2.0 * e - 1.0) for e in np.eye(3))]
    return max(turns, key=lambda t: float(np.trace(t.T @ turn)))


def angle_of(turn: Floats) -> float:
    """Return the angle of a rotation."""
    sines = (turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1])
    return float(np.arctan2(0.5 * np.linalg.norm(sines), 0.5 * (np.trace(turn) - 1.0)))


@dataclass(eq=False)
class Link:
    """A rigid piece: its pose, mass, centre of mass and inertia about it, in its own frame."""

    name: str
    pose: Placement
    mass: float = 0.0
    center: Floats = field(default_factory=lambda: np.zeros(3))
    inertia: Floats = field(default_factory=lambda: np.zeros((3, 3)))
    # Constant force on its centre of mass in world axes: compensated gravity.
    lift: Floats = field(default_factory=lambda: np.zeros(3))


@dataclass(eq=False)
class Connection:
    """A joint or a closure between two links.

    frames: in the first and in the second link; rest: angle or travel where its spring is free, relative to the
    authored configuration; armature: rotor inertia on its coordinate (of a ball: on its relative angular
    velocity); stops: lower and upper limit of its coordinate, relative to the authored configuration, None if
    there is none; motion: its prescribed motion, in the file's coordinate from frame to frame; start: that
    coordinate at t = 0; stood: that coordinate in the authored configuration; length: of a distance [m], or the
    angle between the axes of a universal joint [rad].
    """

    name: str
    kind: str
    first: str
    second: str
    frames: tuple[Placement, Placement]
    closure: bool = False
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = 0.0
    armature: float = 0.0
    stops: tuple[float | None, float | None] = (None, None)
    motion: DriveMotion | None = None
    start: float | None = None
    stood: float = 0.0
    length: float = 0.0
    # Whether first and second were swapped, so that the coordinate has the opposite sign.
    backwards: bool = False


@dataclass(frozen=True, eq=False)
class JointRelation:
    """A joint whose coordinate is a polynomial of another's, both measured from frame to frame.

    authored: ignore the first coefficient and compute it from the authored configuration.
    """

    name: str
    joint: str
    other: str
    coefficients: tuple[float, ...]
    authored: bool = False


@dataclass(eq=False)
class SpringPart:
    """A spring-damper between points of two links; length: its free length."""

    name: str
    first: str
    second: str
    places: tuple[Floats, Floats]
    stiffness: float
    damping: float
    length: float
    preload: float = 0.0


@dataclass(eq=False)
class Parts:
    """The content of a file: everything above, gravity [m/s^2], and initial velocities of links."""

    name: str
    gravity: Floats
    report: Report
    links: dict[str, Link] = field(default_factory=dict)
    connections: list[Connection] = field(default_factory=list)
    springs: list[SpringPart] = field(default_factory=list)
    couplings: list[JointRelation] = field(default_factory=list)
    # name, link, position in it
    points: list[tuple[str, str, Floats]] = field(default_factory=list)
    # link, velocity of its frame's origin, angular velocity; in world axes
    velocities: list[tuple[str, Floats, Floats]] = field(default_factory=list)
    # Number of degrees of freedom by the file's own count.
    believed: int | None = None
    # Default settings of `sarrus simulate`: one second if the file gives no duration.
    defaults: dict[str, float | str] = field(default_factory=lambda: {"duration": 1.0})

    def reject(self, why: str) -> FormatError:
        """Return a FormatError for this file."""
        return FormatError(f"{self.report.source}: {why}")

    def pose(self, name: str) -> Placement:
        """Return the pose of a link; that of the ground is the world frame."""
        return Placement() if name == GROUND else self.links[name].pose
