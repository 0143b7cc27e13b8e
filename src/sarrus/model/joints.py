"""What a joint adds to the model, read from the row of its kind: features that its bodies share, and products
that stay constant.

    shares          what becomes one                                    mechanism/joint_kinds.py
    point           the joint's point
    axis            the axis, or the normal of a plane
    directions      all directions: the bodies do not turn against each other
    everything      the bodies are one

    keeps           factors of the products
    arm             from the joint's point of the first body to that of the second
    axis            the axis on the first body;                 second axis: that on the second
    across          directions across the axis, on the first body: two in space, one in the plane

In the plane a hinge has no axis of its own.

Sharing does the joint's work [GarciaDeJalonBayo1994]: a pin shares a point, a hinge a point and an
axis, a weld everything. What is decided here is bookkeeping about the start position, not rank.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.cluster.hierarchy import DisjointSet
from scipy.spatial import cKDTree

from ..arrays import Floats
from ..mechanism import Body, Joint, Mechanism
from ..thresholds import SAME_FEATURE

# its group
GROUND = 0


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


@dataclass
class Feature:
    """A joint point or unit axis shared by bodies; start: its value at the start position."""

    start: Floats
    fixed: bool


@dataclass
class Group:
    """Bodies that move as one; group 0 is the ground and whatever is welded to it."""

    bodies: list[Body] = field(default_factory=list)
    points: list[int] = field(default_factory=list)
    axes: list[int] = field(default_factory=list)


@dataclass
class Sharing:
    """Groups and the features they share; places in the model's units and directions.

    turning_with: for each group the first of those that turn as one with it (itself, as a rule).
    """

    groups: list[Group]
    group_of: dict[str, int]
    features: list[Feature]
    turning_with: list[int]

    def directions(self, group: Group) -> list[Floats]:
        """Orthonormal directions that this group can never leave: those of its fixed axes."""
        basis: list[Floats] = []
        for k in group.axes:
            if self.features[k].fixed and len(basis) < 2:
                rest = self.features[k].start.copy()
                for b in basis:
                    rest -= (b @ rest) * b
                if np.linalg.norm(rest) > SAME_FEATURE:
                    basis.append(rest / np.linalg.norm(rest))
        return basis


def share_features(
    mechanism: Mechanism,
    place: Callable[[Floats], Floats],
    turn: Callable[[Floats], Floats],
) -> Sharing:
    """Find groups and features; `place` and `turn` bring points and directions into the model."""
    names = [mechanism.GROUND, *(b.name for b in mechanism.bodies)]
    sets = DisjointSet(names)
    for joint in mechanism.joints:
        if joint.kind.row.is_rigid:
            for other in joint.bodies[1:]:
                sets.merge(joint.bodies[0], other)
    number = {root: i for i, root in enumerate(dict.fromkeys(sets[n] for n in names))}
    group_of = {n: number[sets[n]] for n in names}
    groups = [Group() for _ in number]
    for body in mechanism.bodies:
        groups[group_of[body.name]].bodies.append(body)

    def members(joint: Joint) -> list[int]:
        return sorted({group_of[b] for b in joint.bodies})

    pins = [j for j in mechanism.joints if "point" in j.kind.row.shares]
    features: list[Feature] = []
    places = [place(j.at) for j in pins if j.at is not None]
    _merge(groups, [members(j) for j in pins], places, features, "points", _near)
    # groups that cannot turn against each other have all directions in common
    turns = DisjointSet(range(len(groups)))
    for joint in mechanism.joints:
        if "directions" in joint.kind.row.shares:
            turns.merge(*(group_of[b] for b in joint.bodies))
    axes = [
        *((members(j), axis) for j in mechanism.joints for axis in shared_axes(j)),
        *(([group_of[b]], axis) for j in mechanism.joints for b, axis in own_axes(j)),
    ]
    owners = [sorted({g for one in of for g in turns.subset(one)}) for of, _ in axes]
    directions = [turn(axis) for _, axis in axes]
    _merge(groups, owners, directions, features, "axes", _parallel)
    if mechanism.dimension == 2:
        # every body of a planar mechanism keeps the normal of the plane
        features.append(Feature(np.array([0.0, 0.0, 1.0]), True))
        for group in groups:
            group.axes.append(len(features) - 1)

    turning_with = [min(turns.subset(g)) for g in range(len(groups))]
    sharing = Sharing(groups, group_of, features, turning_with)
    _fix_axes(sharing)
    return sharing


def _merge(
    groups: list[Group],
    members: list[list[int]],
    values: list[Floats],
    features: list[Feature],
    kind: str,
    same_pairs: Callable[[Floats], set[tuple[int, int]]],
) -> None:
    """Add one feature for each class of joints that share it through some common group."""
    sets = DisjointSet(range(len(values)))
    of_group: dict[int, list[int]] = {}
    for i, of in enumerate(members):
        for g in of:
            of_group.setdefault(g, []).append(i)
    for g, items in of_group.items():
        # features of the ground are fixed anyway: nothing to merge
        if g != GROUND and len(items) > 1:
            for a, b in same_pairs(np.array([values[i] for i in items])):
                sets.merge(items[a], items[b])
    number: dict[int, int] = {}
    for i, of in enumerate(members):
        root = sets[i]
        if root not in number:
            number[root] = len(features)
            features.append(Feature(values[root], False))
        for g in of:
            held = getattr(groups[g], kind)
            if number[root] not in held:
                held.append(number[root])
            features[number[root]].fixed |= g == GROUND


def _near(places: Floats) -> set[tuple[int, int]]:
    return cKDTree(places).query_pairs(SAME_FEATURE * (1.0 + np.abs(places).max()))


def _parallel(axes: Floats) -> set[tuple[int, int]]:
    # an axis and its opposite are one axis: look for neighbours among both signs
    n = len(axes)
    pairs = cKDTree(np.vstack([axes, -axes])).query_pairs(SAME_FEATURE)
    return {(a % n, b % n) for a, b in pairs if a % n != b % n}


def _fix_axes(sharing: Sharing) -> None:
    """A body with two fixed directions cannot turn: all its axes are fixed, and so on."""
    changed = True
    while changed:
        changed = False
        for group in sharing.groups[1:]:
            if len(sharing.directions(group)) == 2:
                for k in group.axes:
                    changed |= not sharing.features[k].fixed
                    sharing.features[k].fixed = True
