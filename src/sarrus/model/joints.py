"""What a joint adds to the model, read from the row of its kind: features that its bodies share, and products
that stay constant.

    shares          what becomes one                                    mechanism/joint_kinds.py
    point           the joint's point
    axis            the axis, or the normal of a plane
    directions      all directions: the bodies do not turn against each other
    everything      the bodies are one (sharing.py)

    keeps           factors of the products
    arm             from the joint's point of the first body to that of the second
    axis            the axis on the first body;                 second axis: that on the second
    across          directions across the axis, on the first body: two in space, one in the plane

In the plane a hinge has no axis of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..mechanism import Joint, Mechanism


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
    row = joint.kind.row
    factors: dict[str, list[Factor]] = {}
    for word in {word for pair in row.keeps for word in pair}:
        if word == "arm":
            first, second = joint.places
            factors[word] = [Arm(joint.bodies[0], first, joint.bodies[1], second)]
        elif word == "axis":
            factors[word] = [Direction(carrier(joint), _axis(joint))]
        elif word == "second axis":
            factors[word] = [Direction(joint.bodies[1], _axis(joint, 1))]
        else:
            across = directions_across(_axis(joint))
            factors[word] = [Direction(carrier(joint), u) for u in across]
    return [(a, b) for one, other in row.keeps for a in factors[one] for b in factors[other]]


def carrier(joint: Joint) -> str:
    """The body in which the directions of a line or plane are written: the first one.

    Where both bodies share them it may as well be the ground: the equations are linear then.
    """
    row = joint.kind.row
    shared = "directions" in row.shares or ("axis" in row.shares and row.on_plane)
    if shared and Mechanism.GROUND in joint.bodies:
        return Mechanism.GROUND
    return joint.bodies[0]


def shared_axes(joint: Joint) -> list[Floats]:
    """Directions at the start that all bodies of the joint have in common."""
    if joint.axis is None:
        return []
    shares = joint.kind.row.shares
    if "axis" in shares:
        return [_axis(joint)]
    if "directions" in shares:
        # one direction of the plane is all of them
        across = directions_across(_axis(joint)) if len(joint.axis) == 3 else []
        return [_axis(joint), *across]
    return []


def own_axes(joint: Joint) -> list[tuple[str, Floats]]:
    """Directions that only one body has, but as an axis: good vectors for its frame."""
    if joint.kind.row.axis != "each":
        return []
    return [(end.body, _axis(joint, k)) for k, end in enumerate(joint.ends)]


def directions_across(z: Floats) -> list[Floats]:
    """Unit vectors across a unit vector: two in space, one in the plane."""
    if len(z) == 2:
        return [np.array([-z[1], z[0]])]
    # a coordinate axis if z is one: equations then have few terms
    other = np.eye(3)[int(np.argmin(np.abs(z)))]
    u = unit(other - (z @ other) * z)
    return [u, np.cross(z, u)]


def unit(vector: Floats) -> Floats:
    """The vector over its length."""
    return vector / np.linalg.norm(vector)


def _axis(joint: Joint, k: int = 0) -> Floats:
    """The unit axis on the k-th body of a checked joint that has one."""
    axis = joint.ends[k].axis
    assert axis is not None
    return unit(axis)
