"""What each kind of joint adds to the model: features that its bodies share, and products that stay.

    kind             shares            keeps constant
    revolute         point, axis
    spherical        point
    weld             everything
    universal        point             a . b            its axes a on the first, b on the second body
    prismatic        all directions    u . d, w . d     u, w: across the axis
    cylindrical      axis              u . d, w . d
    planar           normal n          n . d
    point-on-line                      u . d, w . d
    point-on-plane                     n . d
    distance                           d . d

d leads from the joint's point of the first body to that of the second; u, w, n belong to the first body.
In the plane a hinge has no axis of its own, and a line has one direction across it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..mechanism import Joint, JointKind, Mechanism

# kinds whose bodies have the joint's point in common
POINT_SHARED = {JointKind.REVOLUTE, JointKind.SPHERICAL, JointKind.UNIVERSAL}
AXIS_SHARED = {JointKind.REVOLUTE, JointKind.CYLINDRICAL, JointKind.PLANAR}
ALONG_LINE = {JointKind.PRISMATIC, JointKind.CYLINDRICAL, JointKind.POINT_ON_LINE}
ON_PLANE = {JointKind.PLANAR, JointKind.POINT_ON_PLANE}


@dataclass(frozen=True)
class Direction:
    """A unit vector fixed in a body, by its value at the start, in world directions."""

    body: str
    start: Floats


@dataclass(frozen=True)
class Arm:
    """The vector from a point of one body to a point of another, places at the start."""

    first: str
    first_at: Floats
    second: str
    second_at: Floats


Factor = Direction | Arm


def kept_products(joint: Joint) -> list[tuple[Factor, Factor]]:
    """Scalar products that the joint keeps constant, besides what its bodies share."""
    if joint.kind is JointKind.DISTANCE:
        arm = joint_arm(joint)
        return [(arm, arm)]
    if joint.kind is JointKind.UNIVERSAL:
        assert joint.axis is not None
        assert joint.second_axis is not None
        a, b = joint.bodies
        return [(Direction(a, unit(joint.axis)), Direction(b, unit(joint.second_axis)))]
    if joint.kind in ALONG_LINE:
        return [(Direction(carrier(joint), u), joint_arm(joint)) for u in directions_across(joint)]
    if joint.kind in ON_PLANE:
        assert joint.axis is not None
        return [(Direction(carrier(joint), unit(joint.axis)), joint_arm(joint))]
    return []


def carrier(joint: Joint) -> str:
    """The body in which the directions of a line or plane are written: the first one.

    Where both bodies share the directions it may as well be the ground: the equations are linear then.
    """
    shared = joint.kind in {JointKind.PRISMATIC, JointKind.PLANAR}
    if shared and Mechanism.GROUND in joint.bodies:
        return Mechanism.GROUND
    return joint.bodies[0]


def joint_arm(joint: Joint) -> Arm:
    """From the joint's point of the first body to that of the second."""
    if joint.places is not None:
        first, second = joint.places
    else:
        assert joint.at is not None
        first = second = joint.at
    return Arm(joint.bodies[0], first, joint.bodies[1], second)


def shared_axes(joint: Joint) -> list[Floats]:
    """Directions at the start that all bodies of the joint have in common."""
    if joint.axis is None:
        return []
    if joint.kind in AXIS_SHARED:
        return [unit(joint.axis)]
    if joint.kind is JointKind.PRISMATIC:
        # one direction of the plane is all of them
        across = directions_across(joint) if len(joint.axis) == 3 else []
        return [unit(joint.axis), *across]
    return []


def own_axes(joint: Joint) -> list[tuple[str, Floats]]:
    """Directions that only one body has, but as an axis: good vectors for its frame."""
    if joint.kind is not JointKind.UNIVERSAL or joint.axis is None or joint.second_axis is None:
        return []
    return [(joint.bodies[0], unit(joint.axis)), (joint.bodies[1], unit(joint.second_axis))]


def directions_across(joint: Joint) -> list[Floats]:
    """Unit vectors across the axis of a line: two in space, one in the plane."""
    assert joint.axis is not None
    z = unit(joint.axis)
    if len(z) == 2:
        return [np.array([-z[1], z[0]])]
    # a coordinate axis if z is one: equations then have few terms
    other = np.eye(3)[int(np.argmin(np.abs(z)))]
    u = unit(other - (z @ other) * z)
    return [u, np.cross(z, u)]


def unit(vector: Floats) -> Floats:
    """The vector over its length."""
    return vector / np.linalg.norm(vector)
