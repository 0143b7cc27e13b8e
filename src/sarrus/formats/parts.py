"""What the readers of all formats fill in: links, what connects them, points; in the file's own terms.

A link has a pose and its mass in its own frame; a connection has a frame in each of its two links, the axis
(of a hinge, slider, line; normal of a plane) being z. Links without mass, welds and open loops are allowed here:
`compose` makes a mechanism of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..arrays import Floats
from ..mechanism import DriveMotion, Mechanism, MechanismError
from .report import Report

GROUND = Mechanism.GROUND
# no mechanism has lengths, masses or angles beyond this; what exceeds it is a slip or an attack
LARGEST = 1e12

# kinds of connections: those of Mechanism, by the same words
REVOLUTE, SPHERICAL, WELD = "revolute", "spherical", "weld"
PRISMATIC, CYLINDRICAL, UNIVERSAL, PLANAR = "prismatic", "cylindrical", "universal", "planar"
ON_LINE, ON_PLANE, DISTANCE = "point-on-line", "point-on-plane", "distance"
RECTANGULAR = "rectangular"

# equations of each kind, as its author counts them
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
    """A file of another program cannot be read as a mechanism; one sentence with its name and the element."""


@dataclass(frozen=True, eq=False)
class Placement:
    """A frame: a place p of it is at place + turn p."""

    turn: Floats = field(default_factory=lambda: np.eye(3))
    place: Floats = field(default_factory=lambda: np.zeros(3))

    def point(self, p: Floats) -> Floats:
        """Where a point of this frame is."""
        return self.place + self.turn @ p

    def __matmul__(self, other: Placement) -> Placement:
        return Placement(self.turn @ other.turn, self.point(other.place))

    @property
    def inverse(self) -> Placement:
        """The frame around, seen from this one."""
        return Placement(self.turn.T, -self.turn.T @ self.place)

    @property
    def axis(self) -> Floats:
        """Its z direction."""
        return self.turn[:, 2]


def turn_about(axis: Floats, angle: float) -> Floats:
    """The rotation by an angle about a unit axis."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)


def frame_along(axis: Floats, place: Floats) -> Placement:
    """A frame at a place whose z is along an axis; exact if that is a coordinate direction."""
    z = np.asarray(axis, float) / np.linalg.norm(axis)
    other = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(other, z)
    x /= np.linalg.norm(x)
    return Placement(np.column_stack([x, np.cross(z, x), z]), np.array(place, float))


def read_frame(places: list[Floats]) -> Placement:
    """The frame whose place and whose points on x, y, z, all equally far, are these."""
    u, _, v = np.linalg.svd(np.array([p - places[0] for p in places[1:]]).T)
    return Placement(u @ v, places[0])


def nearest_half_turn(turn: Floats) -> Floats:
    """The half turn about a coordinate axis, or none, that is nearest: joints may be met either way."""
    turns = [np.eye(3), *(np.diag(2.0 * e - 1.0) for e in np.eye(3))]
    return max(turns, key=lambda t: float(np.trace(t.T @ turn)))


def angle_of(turn: Floats) -> float:
    """The angle of a rotation."""
    sines = (turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1])
    return float(np.arctan2(0.5 * np.linalg.norm(sines), 0.5 * (np.trace(turn) - 1.0)))


@dataclass(eq=False)
class Link:
    """A rigid piece: where it stands, its mass, centre and inertia about that, in its own frame."""

    name: str
    pose: Placement
    mass: float = 0.0
    center: Floats = field(default_factory=lambda: np.zeros(3))
    inertia: Floats = field(default_factory=lambda: np.zeros((3, 3)))
    # force on its centre in world directions that stays: compensated gravity
    lift: Floats = field(default_factory=lambda: np.zeros(3))


@dataclass(eq=False)
class Connection:
    """A joint or a closure between two links.

    frames: in the first and in the second link; rest: angle or travel where its spring is free, from the
    authored position; armature: rotor inertia on its coordinate (of a ball: on its relative spin); motion: what
    drives it, as the file counts its coordinate from frame to frame, and start: that coordinate at t = 0; stood:
    what it was in the authored position; length: of a distance [m], or the angle between a cross's axes [rad].
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
    motion: DriveMotion | None = None
    start: float | None = None
    stood: float = 0.0
    length: float = 0.0
    # whether first and second were exchanged, so that its coordinate runs backwards
    backwards: bool = False


@dataclass(frozen=True, eq=False)
class JointRelation:
    """A joint whose coordinate is a polynomial of another's, both counted from frame to frame.

    authored: the first coefficient does not count, it is what the authored position says.
    """

    name: str
    joint: str
    other: str
    coefficients: tuple[float, ...]
    authored: bool = False


@dataclass(eq=False)
class SpringPart:
    """A spring and damper between places of two links; length: where it is free."""

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
    """A file as read: everything above, gravity [m/s^2], and start velocities of links."""

    name: str
    gravity: Floats
    report: Report
    links: dict[str, Link] = field(default_factory=dict)
    connections: list[Connection] = field(default_factory=list)
    springs: list[SpringPart] = field(default_factory=list)
    couplings: list[JointRelation] = field(default_factory=list)
    # name, link, place in it
    points: list[tuple[str, str, Floats]] = field(default_factory=list)
    # link, velocity of its frame's place, angular velocity; in world directions
    velocities: list[tuple[str, Floats, Floats]] = field(default_factory=list)
    # freedoms the file believes in
    believed: int | None = None
    # what `sarrus simulate` does unless told otherwise: a second, where the file does not say
    defaults: dict[str, float | str] = field(default_factory=lambda: {"duration": 1.0})

    def refuse(self, why: str) -> FormatError:
        """The error of this file."""
        return FormatError(f"{self.report.source}: {why}")

    def pose(self, name: str) -> Placement:
        """Where a link stands; the ground is the world."""
        return Placement() if name == GROUND else self.links[name].pose
