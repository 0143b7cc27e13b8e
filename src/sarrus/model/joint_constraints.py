"""Contribution of a joint to the model, by the row of its kind: features that its bodies share, and products
that stay constant.

    shares          what the bodies have in common                      mechanism/joint_kinds.py
    point           the joint's point
    axis            the axis, or the normal of a plane
    directions      all directions: the bodies do not rotate relative to each other
    everything      the bodies are one

    keeps           factors of the products
    arm             from the joint's point on the first body to that on the second
    axis            the axis on the first body;                 second axis: that on the second
    across          directions perpendicular to the axis, on the first body: two in 3-D, one in 2-D

A planar hinge has no axis feature.

Shared features replace joint equations [GarciaDeJalonBayo1994]: a pin shares a point, a hinge a point and an
axis, a weld everything. The decisions here concern coincidences at the start configuration, not rank.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import scipy

from ..arrays import Floats, Ints
from ..mechanism import Body, Joint, Mechanism
from ..mechanism.part_arrays import PartArrays
from ..thresholds import DOUBTFUL_COEFFICIENT, SAME_FEATURE
from ..tracing import Scalar, TracedNumber, UntracedError, each_vector, largest, sqrt
from .vectors import Vector, across, add, cross, norm, outside, over, subtract

# index of the group of the ground
GROUND = 0
# up to this number, features of a body are compared pairwise; above it a tree is used
FEW = 32


@dataclass(frozen=True)
class Direction:
    """A unit vector fixed in a body, by its initial value in world directions."""

    body: str
    start: Sequence[Scalar]


@dataclass(frozen=True)
class Arm:
    """The vector from a point of one body to a point of another, by their initial coordinates."""

    first: str
    first_at: Any
    second: str
    second_at: Any


Factor = Direction | Arm


def kept_products(joint: Joint) -> list[tuple[Factor, Factor]]:
    """Scalar products that the joint keeps constant, besides the features that its bodies share."""
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
    """The body in which the directions of a line or plane are expressed: the first one.

    If both bodies share them it may also be the ground: then the equations are linear.
    """
    row = joint.kind.row
    shared = "directions" in row.shares or ("axis" in row.shares and row.on_plane)
    if shared and Mechanism.GROUND in joint.bodies:
        return Mechanism.GROUND
    return joint.bodies[0]


def shared_axes(joint: Joint) -> list[Sequence[Scalar]]:
    """Initial directions that all bodies of the joint have in common."""
    if joint.axis is None:
        return []
    shares = joint.kind.row.shares
    if "axis" in shares:
        return [_axis(joint)]
    if "directions" in shares:
        # in 2-D one direction determines all
        across = directions_across(_axis(joint)) if len(joint.axis) == 3 else []
        return [_axis(joint), *across]
    return []


def own_axes(joint: Joint) -> list[tuple[str, Sequence[Scalar]]]:
    """Axes that belong to only one body: good vectors for its frame."""
    if joint.kind.row.axis != "each":
        return []
    return [(end.body, _axis(joint, k)) for k, end in enumerate(joint.ends)]


def directions_across(z: Sequence[Scalar]) -> list[Sequence[Scalar]]:
    """Unit vectors perpendicular to a unit vector: two in 3-D, one in 2-D."""
    if len(z) == 2:
        return [(-z[1], z[0])]
    # a coordinate axis if z is one: equations then have few terms
    axis = (z[0], z[1], z[2])
    u = across(axis)
    return [u, cross(axis, u)]


def unit(values: Any) -> Sequence[Scalar]:
    """A 2-D or 3-D vector divided by its length."""
    x = values.tolist() if isinstance(values, np.ndarray) else values
    if len(x) == 3:
        return over(x, norm(x))
    size = sqrt(x[0] * x[0] + x[1] * x[1])
    return x[0] / size, x[1] / size


def _axis(joint: Joint, k: int = 0) -> Sequence[Scalar]:
    """The unit axis on the k-th body of a checked joint that has one."""
    axis = joint.ends[k].axis
    assert axis is not None
    return unit(axis)


@dataclass(slots=True)
class Feature:
    """A joint point or unit axis shared by bodies; start: its value at the start configuration."""

    start: Vector
    fixed: bool


@dataclass(slots=True)
class Group:
    """Bodies that move as one; group 0 is the ground and all bodies welded to it."""

    bodies: list[Body] = field(default_factory=list)
    points: list[int] = field(default_factory=list)
    axes: list[int] = field(default_factory=list)


@dataclass
class Sharing:
    """Groups and the features they share, in the model's units and directions.

    turning_with: for each group the first of the groups that rotate as one with it (usually itself); apart: fixed
    axes at a smaller angle are parallel; doubtful: whether rounding of dimensions may have fixed two directions.
    """

    groups: list[Group]
    group_of: dict[str, int]
    features: list[Feature]
    turning_with: list[int]
    group_of_body: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    apart: float = SAME_FEATURE
    doubtful: bool = False

    @cached_property
    def members(self) -> tuple[Ints, Ints]:
        """Indices of bodies, group by group, and the start of each group among them."""
        sizes = np.bincount(self.group_of_body, minlength=len(self.groups))
        return np.argsort(self.group_of_body, kind="stable"), np.cumsum(sizes) - sizes

    def directions(self, group: Group) -> list[Vector]:
        """Orthonormal directions that are fixed for this group: those of its fixed axes."""
        basis: list[Vector] = []
        for k in group.axes:
            if self.features[k].fixed and len(basis) < 2:
                rest = outside(basis, self.features[k].start)
                size = norm(rest)
                if size > self.apart:
                    # parallel axes of the ground that differ by rounding would leave translations only
                    self.doubtful |= bool(basis) and bool(size < DOUBTFUL_COEFFICIENT)
                    basis.append(over(rest, size))
        return basis


def share_features(
    parts: PartArrays,
    place: Callable[[Any], Vector],
    turn: Callable[[Any], Vector],
    apart: float = SAME_FEATURE,
) -> Sharing:
    """Find groups and features; `place` and `turn` convert points and directions to the model.

    apart: as in `Sharing`.
    """
    names = [Mechanism.GROUND, *parts.names]
    rigid = [j.bodies for j in parts.joints_that(lambda row: row.is_rigid)]
    group_of = {name: i for i, name in enumerate(names)}
    if rigid:
        one_of = merged(names, ((first, b) for first, *others in rigid for b in others))
        number = {root: i for i, root in enumerate(dict.fromkeys(one_of.values()))}
        group_of = {n: number[root] for n, root in one_of.items()}
        groups = [Group([], [], []) for _ in number]
        for body in parts.bodies:
            groups[group_of[body.name]].bodies.append(body)
    else:
        groups = [Group([], [], []), *[Group([body], [], []) for body in parts.bodies]]
    group_of_body = np.array([group_of[name] for name in parts.names], dtype=np.int64)

    def members(joint: Joint) -> list[int]:
        found = [group_of[e.body] for e in joint.ends]
        if len(found) == 2 and found[0] < found[1]:
            return found
        return sorted(set(found))

    features: list[Feature] = []
    at, owners = _pins(parts, np.append(group_of_body, GROUND))
    _merge(groups, owners, each_vector(place, at), features, "points", _near)
    # groups that cannot rotate relative to each other have all directions in common
    stiff = [j.bodies for j in parts.joints_that(lambda row: "directions" in row.shares)]
    turns: dict[int, int] = {}
    if stiff:
        turns = merged(range(len(groups)), ((group_of[a], group_of[b]) for a, b in stiff))
    turning: dict[int, list[int]] = {}
    for g, root in turns.items():
        turning.setdefault(root, []).append(g)
    # the first group represents all that rotate with it, and the ground represents itself
    standing = {root: same[: 1 + (same[0] == GROUND)] for root, same in turning.items()}
    n = len(parts.joints)
    with_axes = [parts.joints[i] for i in np.flatnonzero(parts.has_axis[:n]).tolist()]
    axes = [
        *((members(j), axis) for j in with_axes for axis in shared_axes(j)),
        *(([group_of[b]], axis) for j in with_axes for b, axis in own_axes(j)),
    ]
    bearers = [of for of, _ in axes]
    if stiff:
        bearers = [sorted({g for one in of for g in standing[turns[one]]}) for of in bearers]
    directions: Any = [turn(axis) for _, axis in axes]
    _merge(groups, _listed(bearers), directions, features, "axes", _parallel)
    for root, same in turning.items():
        for g in same:
            groups[g].axes = list(groups[g if g == GROUND else standing[root][-1]].axes)
    if parts.dimension == 2:
        # every body of a planar mechanism keeps the normal of the plane
        features.append(Feature((0.0, 0.0, 1.0), True))
        for group in groups:
            group.axes.append(len(features) - 1)

    # the first one has the smallest index
    turning_with = [turning[turns[g]][0] if stiff else g for g in range(len(groups))]
    sharing = Sharing(groups, group_of, features, turning_with, group_of_body, apart)
    _fix_axes(sharing)
    return sharing


Name = TypeVar("Name", bound=Hashable)


def merged(names: Sequence[Name], pairs: Iterable[tuple[Name, Name]]) -> dict[Name, Name]:
    """For each name the representative of all names it is merged with."""
    found = list(pairs)
    if not found:
        return {n: n for n in names}
    sets = scipy.cluster.hierarchy.DisjointSet(names)
    for a, b in found:
        sets.merge(a, b)
    return {n: sets[n] for n in names}


# pairs of item and owner, sorted by item: the indices of both
Owners = tuple[Ints, Ints]


def _listed(members: list[list[int]]) -> Owners:
    """From lists of groups."""
    sizes = np.fromiter(map(len, members), np.int64, len(members))
    owner = np.fromiter(chain.from_iterable(members), np.int64, int(sizes.sum()))
    return np.repeat(np.arange(len(members)), sizes), owner


def _pins(c: PartArrays, group: Ints) -> tuple[Floats, Owners]:
    """Points of joints that share a point, and their groups; group: of each body and the ground."""
    pins = c.are(lambda row: "point" in row.shares)
    ends = pins[c.joint]
    item, owner = (np.cumsum(pins) - 1)[c.joint[ends]], group[c.body[ends]]
    # without duplicates, in order
    order = np.lexsort((owner, item))
    item, owner = item[order], owner[order]
    new = np.append(True, (np.diff(item) > 0) | (np.diff(owner) > 0)) if len(item) else pins[:0]
    return c.places.rows[: len(pins)][pins], (item[new], owner[new])


def _merge(
    groups: list[Group],
    owners: Owners,
    values: Sequence[Any],
    features: list[Feature],
    kind: str,
    same_pairs: Callable[[list[Vector]], list[tuple[int, int]]],
) -> None:
    """Add one feature for each class of joints that share it through a common group."""
    n = len(values)
    if not n:
        return
    item, owner = owners
    # features of each group, in order
    order = np.argsort(owner, kind="stable")
    first = np.flatnonzero(np.diff(owner[order], prepend=-1))
    runs = np.stack([first, np.append(first[1:], len(order))], axis=1)
    # features of the ground are fixed anyway and need not be merged
    several = runs[(runs[:, 1] - runs[:, 0] > 1) & (owner[order][first] != GROUND)]
    several = several[np.argsort(order[several[:, 0]], kind="stable")]
    pairs = [
        (items[a], items[b])
        for items in _not_apart(values, item[order], several)
        for a, b in same_pairs([values[i] for i in items])
    ]
    # numbered in order of appearance
    one = come = of = np.arange(n)
    if pairs:
        one = np.fromiter(merged(range(n), pairs).values(), np.int64, n)
        _, come, of = np.unique(one, return_index=True, return_inverse=True)
    number = len(features) + np.argsort(np.argsort(come))[of]
    fixed = np.zeros(len(features) + len(come), bool)
    fixed[number[item[owner == GROUND]]] = True
    come = np.sort(come)
    starts = [values[i] for i in one[come].tolist()]
    features += map(Feature, starts, fixed[number[come]].tolist())
    numbers = number[item[order]].tolist()
    for g, (begin, end) in zip(owner[order][first].tolist(), runs.tolist(), strict=True):
        entries = numbers[begin:end]
        setattr(groups[g], kind, list(dict.fromkeys(entries)) if pairs else entries)


def _not_apart(values: Sequence[Any], items: Ints, runs: Ints) -> list[list[int]]:
    """Runs of features without pairs that are certainly far apart, of which there are many."""
    try:
        at = as_rows(values)
    except UntracedError:
        return [items[begin:end].tolist() for begin, end in runs.tolist()]
    two = runs[:, 1] - runs[:, 0] == 2
    a, b = at[items[runs[two, 0]]], at[items[runs[two, 0] + 1]]
    size = np.maximum(np.abs(a), np.abs(b)).max(axis=1, initial=0.0)
    # ten times the merging distance, in any component; opposite axes count as equal
    apart = np.minimum(*(np.abs(a - sign * b).max(axis=1, initial=0.0) for sign in (1.0, -1.0)))
    near = np.ones(len(runs), bool)
    near[two] = apart <= 10.0 * SAME_FEATURE * (1.0 + size)
    return [items[begin:end].tolist() for begin, end in runs[near].tolist()]


def as_rows(vectors: Sequence[Any]) -> Floats:
    """Vectors of floats as the rows of an array; raises UntracedError for traced numbers."""
    flat = np.fromiter(chain.from_iterable(vectors), float, 3 * len(vectors))
    return flat.reshape(-1, 3)


def _near(places: list[Vector]) -> list[tuple[int, int]]:
    """Pairs of coincident points."""
    close = SAME_FEATURE * (1.0 + largest(abs(x) for place in places for x in place))
    if len(places) > FEW:
        return _near_in_tree(places, close)
    return [
        (a, b)
        for b in range(len(places))
        for a in range(b)
        if norm(subtract(places[a], places[b])) <= close
    ]


def _parallel(axes: list[Vector]) -> list[tuple[int, int]]:
    """Pairs of axes that are one; an axis and its opposite are the same."""
    n = len(axes)
    if n > FEW:
        both = [*axes, *((-x, -y, -z) for x, y, z in axes)]
        pairs = _near_in_tree(both, SAME_FEATURE)
        return [(a % n, b % n) for a, b in pairs if a % n != b % n]
    return [
        (a, b)
        for b in range(n)
        for a in range(b)
        if norm(subtract(axes[a], axes[b])) <= SAME_FEATURE
        or norm(add(axes[a], axes[b])) <= SAME_FEATURE
    ]


def _near_in_tree(values: list[Vector], close: Scalar) -> list[tuple[int, int]]:
    if isinstance(close, TracedNumber) or any(
        isinstance(x, TracedNumber) for v in values for x in v
    ):
        raise UntracedError
    # axes that are equal to the last bit are one anyway: there would be too many pairs of them
    at, first, which = np.unique(np.array(values), axis=0, return_index=True, return_inverse=True)
    equal = ((a, b) for b, a in enumerate(first[which.ravel()].tolist()) if a != b)
    near = (
        sorted(pair)
        for pair in first[scipy.spatial.cKDTree(at).query_pairs(close, output_type="ndarray")]
    )
    return sorted([*equal, *((int(a), int(b)) for a, b in near)])


def _fix_axes(sharing: Sharing) -> None:
    """A body with two fixed directions cannot rotate: fix all its axes, and repeat for other bodies."""
    changed = True
    while changed:
        changed = False
        for group in sharing.groups[1:]:
            if len(group.axes) > 1 and len(sharing.directions(group)) == 2:
                for k in group.axes:
                    changed |= not sharing.features[k].fixed
                    sharing.features[k].fixed = True
