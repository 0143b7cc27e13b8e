"""The constraint directions of each kind of joint, and the positions of the joints at a configuration.

A joint has a frame of three directions. Its equations are along some of them (no relative translation) and about
some of them (no relative rotation).

    frame     its first direction                                        joints
    world     x                                                          spherical, weld, planar revolute
    axis      the axis of the first body                                 all joints with one axis
    link      from the point on the first to that on the second body     distance
    cross     perpendicular to both axes                                 universal

A joint of more than two bodies pairs its first body with each of the others. In a sliding joint, the directions
are those of the first body.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Flags, Floats, Ints
from ..kinematics.configuration import Pose, cross, turn_vectors, unit
from ..mechanism import JointKind, Mechanism
from ..thresholds import SAME_DIRECTION, WORLD_AXIS

WORLD, AXIS, LINK, CROSS = range(4)
# its number among the bodies
GROUND = -1


@dataclass(frozen=True)
class JointFrame:
    """The frame of a joint, and the numbers of the directions its equations are along and about."""

    frame: int
    along: tuple[int, ...]
    about: tuple[int, ...] = ()

    @property
    def rows(self) -> list[tuple[bool, int]]:
        """The equations: (about or along, direction)."""
        return [(False, k) for k in self.along] + [(True, k) for k in self.about]


# planar mechanisms first, then spatial ones; in the plane the third direction is the normal
JOINT_FRAMES: dict[tuple[int, JointKind], JointFrame] = {
    (2, JointKind.REVOLUTE): JointFrame(WORLD, (0, 1)),
    (2, JointKind.WELD): JointFrame(WORLD, (0, 1), (2,)),
    (2, JointKind.PRISMATIC): JointFrame(AXIS, (1,), (2,)),
    (2, JointKind.POINT_ON_LINE): JointFrame(AXIS, (1,)),
    (2, JointKind.DISTANCE): JointFrame(LINK, (0,)),
    (3, JointKind.REVOLUTE): JointFrame(AXIS, (0, 1, 2), (1, 2)),
    (3, JointKind.SPHERICAL): JointFrame(WORLD, (0, 1, 2)),
    (3, JointKind.WELD): JointFrame(WORLD, (0, 1, 2), (0, 1, 2)),
    (3, JointKind.PRISMATIC): JointFrame(AXIS, (1, 2), (0, 1, 2)),
    (3, JointKind.CYLINDRICAL): JointFrame(AXIS, (1, 2), (1, 2)),
    (3, JointKind.UNIVERSAL): JointFrame(CROSS, (0, 1, 2), (0,)),
    (3, JointKind.PLANAR): JointFrame(AXIS, (0,), (1, 2)),
    (3, JointKind.RECTANGULAR): JointFrame(AXIS, (0,), (0, 1, 2)),
    (3, JointKind.POINT_ON_LINE): JointFrame(AXIS, (1, 2)),
    (3, JointKind.POINT_ON_PLANE): JointFrame(AXIS, (0,)),
    (3, JointKind.DISTANCE): JointFrame(LINK, (0,)),
}

# joints with fewer constraints: description, and which equations of the joint are removed
FREER: dict[tuple[int, JointKind], list[tuple[str, list[int]]]] = {
    (2, JointKind.REVOLUTE): [(f"a pin in a slot along {c}", [i]) for i, c in enumerate("xy")],
    (2, JointKind.WELD): [("a pin", [2])],
    (2, JointKind.PRISMATIC): [("a pin in a slot along the slider's axis", [1])],
    (3, JointKind.REVOLUTE): [
        ("a ball joint", [3, 4]),
        ("a hinge that may slide along its axis", [0]),
        ("a ball that may slide along the hinge's axis", [0, 3, 4]),
    ],
    (3, JointKind.SPHERICAL): [
        (f"a ball that may slide along {c}", [i]) for i, c in enumerate("xyz")
    ],
    (3, JointKind.WELD): [
        *((f"a hinge about {c}", [3 + i]) for i, c in enumerate("xyz")),
        ("a ball joint", [3, 4, 5]),
    ],
    (3, JointKind.PRISMATIC): [
        ("a slider that may turn about its axis", [2]),
        ("a ball that may slide along the slider's axis", [2, 3, 4]),
    ],
    (3, JointKind.CYLINDRICAL): [("a ball that may slide along the axis", [2, 3])],
    (3, JointKind.UNIVERSAL): [("a ball joint", [3])],
    (3, JointKind.PLANAR): [("a ball that may slide on the plane", [1, 2])],
    (3, JointKind.RECTANGULAR): [
        ("a face that may turn on the plane", [1]),
        ("a ball that may slide on the plane", [1, 2, 3]),
    ],
    # the description does not depend on which plane through the line
    (3, JointKind.POINT_ON_LINE): [("a point on a plane through the line", [i]) for i in (0, 1)],
}


def axis_frames(axes: Floats, planar: bool = False) -> Floats:
    """An axis and two perpendiculars as columns, (n, 3, 3): world axes if the axis is one.

    The sign is chosen so that the largest component is positive: an axis and its opposite give the same frame. In
    the plane the last direction is the normal.
    """
    size = np.abs(axes)
    n = np.arange(len(axes))
    # components that differ by rounding only are equal: the first wins
    top = np.argmax(size >= size.max(axis=1, keepdims=True) - SAME_DIRECTION, axis=1)
    e = axes * np.sign(axes[n, top])[:, None]
    if planar:
        z = np.tile((0.0, 0.0, 1.0), (len(axes), 1))
        return np.stack([e, cross(z, e), z], axis=2)
    # the next world axis is at 45 degrees or more and gives the first perpendicular
    x = np.eye(3)[(top + 1) % 3]
    x = x - np.einsum("ni,ni->n", x, e)[:, None] * e
    x /= np.linalg.norm(x, axis=1)[:, None]
    return np.stack([e, x, cross(e, x)], axis=2)


def name_direction(u: tuple[float, float, float]) -> str:
    """The letter of a world axis, or the unit vector."""
    for letter, value in zip("xyz", u, strict=True):
        if abs(abs(value) - 1.0) < WORLD_AXIS:
            return letter
    return "(" + ", ".join(f"{round(c, 4) + 0.0:g}" for c in u) + ")"


@dataclass(frozen=True, eq=False)
class JointPairs:
    """The joints of a mechanism, as pairs of bodies.

    bodies and their centers [m] at the start; pairs: each joint's first body with each other one: number of the
    joint, bodies, position and axis at the start (zero: no axis) on the first body and on the other one. Planar
    mechanisms lie in z = 0. All positions are relative to `origin`, the mean of the centres.
    """

    dimension: int
    origin: Floats
    bodies: tuple[str, ...]
    centers: Floats
    joints: tuple[str, ...]
    kinds: tuple[JointKind, ...]
    pair_joint: Ints
    pair_bodies: Ints
    pair_place: Floats
    pair_axis: Floats
    pair_other_place: Floats
    pair_other_axis: Floats

    def start(self) -> Pose:
        """The configuration in which the mechanism was defined."""
        return Pose(self.centers, np.tile(np.eye(3), (len(self.bodies), 1, 1)))

    def body_name(self, index: int) -> str:
        """Name of a body by number; -1 is the ground."""
        return Mechanism.GROUND if index == GROUND else self.bodies[index]

    def at(self, pose: Pose) -> PairsAt:
        """The joints at a configuration."""
        return PairsAt(self, pose)

    def axes(self, pose: Pose) -> Floats:
        """Current first direction of each pair's frame, (np, 3): for links from first to second."""
        return self.at(pose).axes

    def _pair_centers(self, centers: Floats, side: int) -> Floats:
        """Centres of the bodies on one side of each pair; the origin for the ground."""
        return np.concatenate([centers, np.zeros((1, 3))])[self.pair_bodies[:, side]]

    @cached_property
    def _start_arms(self) -> tuple[Floats, Floats]:
        """From the centre of a body to its joint point at the start; for the ground from the origin."""
        places = self.pair_place, self.pair_other_place
        first, second = (p - self._pair_centers(self.centers, k) for k, p in enumerate(places))
        return first, second

    def _cross_gaps(self, a: Floats, b: Floats, which: Flags) -> Floats:
        """Change of the angle between the axes of crosses since the start, about their normal."""
        start = np.einsum("pi,pi->p", self.pair_axis[which], self.pair_other_axis[which])
        normal = cross(a, b)
        square = np.einsum("pi,pi->p", normal, normal)
        more = np.einsum("pi,pi->p", a, b) - start
        return -(more / np.where(square > 0, square, 1.0))[:, None] * normal

    @cached_property
    def _frame(self) -> Ints:
        """The frame type of each pair's joint."""
        of_joint = np.array([JOINT_FRAMES[self.dimension, k].frame for k in self.kinds], dtype=int)
        return of_joint[self.pair_joint]

    @cached_property
    def _one_axis(self) -> Flags:
        """Pairs whose only relative rotation is about one common axis of both bodies."""
        about = [self.dimension == 3 and JOINT_FRAMES[3, k].about == (1, 2) for k in self.kinds]
        return np.array(about, dtype=bool)[self.pair_joint]

    @cached_property
    def _slides(self) -> Flags:
        """Pairs in which the second body's point may separate from the first body's."""
        along = [len(JOINT_FRAMES[self.dimension, k].along) for k in self.kinds]
        return (np.array(along, dtype=int) < self.dimension)[self.pair_joint]

    @cached_property
    def _link_lengths(self) -> Floats:
        length = np.linalg.norm(self.pair_other_place - self.pair_place, axis=1)
        return np.where(self._frame == LINK, length, 0.0)


class PairsAt:
    """The joints at one configuration; each quantity is computed once."""

    def __init__(self, pairs: JointPairs, pose: Pose) -> None:
        self.pairs, self.pose = pairs, pose
        turns = np.concatenate([pose.turns, np.eye(3)[None]])
        # rotations of the bodies on both sides of each pair
        self.turns = turns[pairs.pair_bodies[:, 0]], turns[pairs.pair_bodies[:, 1]]

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """The axes on the first body and on the other one, (np, 3) each."""
        own = self.pairs.pair_axis, self.pairs.pair_other_axis
        return turned(self.turns[0], own[0]), turned(self.turns[1], own[1])

    @cached_property
    def arms(self) -> tuple[Floats, Floats]:
        """From the centres of both bodies to their joint points; for the ground from the origin."""
        own = self.pairs._start_arms
        return turned(self.turns[0], own[0]), turned(self.turns[1], own[1])

    @cached_property
    def places(self) -> tuple[Floats, Floats]:
        """The joint points of both bodies."""
        centers = [self.pairs._pair_centers(self.pose.centers, side) for side in (0, 1)]
        return centers[0] + self.arms[0], centers[1] + self.arms[1]

    @cached_property
    def apart(self) -> Floats:
        """From the first body's point to the other's."""
        return self.places[1] - self.places[0]

    @cached_property
    def offsets(self) -> Floats:
        """From the reference point of reactions to the reference point of a pair's equations, (np, 3).

        Reactions refer to the joint's point of `find_point`: that of the second body, or of the first if the
        second is the ground. The equations refer to the point of the second body.
        """
        grounded = self.pairs._slides & (self.pairs.pair_bodies[:, 1] == GROUND)
        return np.where(grounded[:, None], self.apart, 0.0)

    @cached_property
    def axes(self) -> Floats:
        """Current first direction of each pair's frame, (np, 3): for links from first to second."""
        out = np.array(self.ends[0])
        frame = self.pairs._frame
        link, across = frame == LINK, frame == CROSS
        if link.any():
            out[link] = unit(self.apart[link])
        if across.any():
            out[across] = unit(cross(out[across], self.ends[1][across]))
        return out

    def relative_turns(self, pairs: Ints) -> Floats:
        """Relative rotations of some pairs since the start."""
        return self.turns[1][pairs] @ np.swapaxes(self.turns[0][pairs], 1, 2)

    def turn_gaps(self) -> Floats:
        """Rotational error of the second body of each pair, (np, 3)."""
        pairs = self.pairs
        out = np.zeros((len(pairs.pair_joint), 3))
        one, across = pairs._one_axis, pairs._frame == CROSS
        rest = np.flatnonzero(~(one | across))
        if len(rest):
            out[rest] = turn_vectors(self.relative_turns(rest))
        if len(rest) < len(out):
            a, b = self.ends
            out[one] = turns_between(a[one], b[one])
            if across.any():
                out[across] = pairs._cross_gaps(a[across], b[across], across)
        return out


def turned(turns: Floats, vectors: Floats) -> Floats:
    """Each vector rotated by its matrix, (n, 3)."""
    return np.asarray((turns @ vectors[:, :, None])[:, :, 0])


def turns_between(e_a: Floats, e_b: Floats) -> Floats:
    """Shortest rotation vectors that take unit vectors e_a to e_b, (n, 3); their length is the angle.

    The sine of the angle would not do: a reversed axis is far from closed.
    """
    normal = cross(e_a, e_b)
    sine = np.linalg.norm(normal, axis=1)
    cosine = np.einsum("ni,ni->n", e_a, e_b)
    angle = np.arctan2(sine, cosine)
    # below 1e-9 the cosine is one to all digits
    opposite = (sine < 1e-9) & (cosine < 0)
    # a rotation to the exact opposite may be about any perpendicular
    normal[opposite] = axis_frames(e_a[opposite])[:, :, 1]
    sine[opposite] = 1.0
    # for small angles the quotient is one
    factor = np.where(sine > 1e-9, angle / np.where(sine > 1e-9, sine, 1.0), 1.0)
    return normal * factor[:, None]


def find_point(mechanism: Mechanism, name: str) -> tuple[str, Floats]:
    """The body of a named point, joint or centre of mass, and its position at the start.

    The position of a joint belongs to the second body named, which slides if the joint does; if that is the
    ground, to the first.
    """
    for marker in mechanism.markers:
        if marker.name == name:
            return marker.body, marker.at
    for joint in mechanism.joints:
        if joint.name == name and joint.at is not None:
            end = joint.carrier(mechanism.GROUND)
            assert end.place is not None
            return end.body, end.place
    body = next(b for b in mechanism.bodies if b.name == name)
    return body.name, body.center
