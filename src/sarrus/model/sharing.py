"""Who shares what: bodies welded together, joint points and hinge axes that bodies have in common.

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
from .joints import own_axes, shared_axes

GROUND = 0


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
