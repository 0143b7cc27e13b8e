"""The frame of each group of bodies: which of its features become coordinates.

A vector of the model is linear in the features: three rows over their variables. A frame is an origin and up
to three such vectors; all other features, points and the mass of the group are linear in them. There are
three cases, by the number of directions that are fixed for the group:

    two    it only translates: the origin alone
    one    it rotates about z: one vector v in the plane; the other is z x v, which is still linear
    none   it moves freely: as many vectors as its features and its mass span
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..thresholds import FLATTEST, SPANNED
from ..tracing import Scalar, TracedNumber, UntracedError, eigen, larger, largest, sqrt
from .joint_constraints import FEW, Feature, Group, Sharing
from .vectors import (
    UNITS,
    Matrix,
    Row,
    Vector,
    across,
    add_row,
    cleaned,
    combined,
    cross,
    dot,
    feature_rows,
    norm,
    outside,
    over,
    scale,
    subtract,
    subtract_rows,
    turned,
)

# rows of a linear form of the features
Linear = list[Row]
# smaller factors are rounding, and would only fill the matrices
NO_FACTOR = 1e-14
# digits of lengths that are compared; rounding may change further digits
DIGITS = 1e9
ROUNDING = 32 * float(np.finfo(float).eps)
# share of a coordinate that rounding leaves of a zero difference
ROUNDED = 4 * float(np.finfo(float).eps)


@dataclass
class FrameVector:
    """A vector of a group: linear in the features; start: its initial value."""

    linear: Linear
    start: Vector

    @property
    def moves(self) -> bool:
        """Whether it depends on any feature; if not, it is fixed in the ground."""
        return any(self.linear)


@dataclass
class Frame:
    """Origin and vectors of a group, and its mass as the Gram matrix over (origin, vectors).

    products: index pairs (i, j) whose scalar product the body keeps constant; relations: linear forms of the
    features that stay constant, each with the feature it should be solved for; duals: for each vector one
    that is perpendicular to all others, and their product.
    """

    origin: int
    vectors: list[FrameVector]
    directions: list[Vector]
    origin_start: Vector
    gram: list[list[Scalar]] = field(default_factory=list)
    products: list[tuple[int, int]] = field(default_factory=list)
    relations: list[tuple[Linear, int]] = field(default_factory=list)
    duals: list[tuple[Vector, Scalar]] = field(default_factory=list)

    def locate(self, offset: Vector) -> list[Scalar]:
        """Components of a body-fixed vector along the frame's vectors."""
        return [dot(across, offset) / size for across, size in self.duals]

    def point(self, place: Vector) -> Linear:
        """The linear form of a point of the group, given its initial position."""
        parts = self.locate(subtract(place, self.origin_start))
        return _combine(feature_rows(self.origin), zip(parts, self.vectors, strict=True))

    def vector(self, start: Vector) -> Linear:
        """The linear form of a body-fixed vector, given its initial value."""
        return _combine([{}, {}, {}], zip(self.locate(start), self.vectors, strict=True))

    def set_duals(self) -> None:
        """Set the dual vectors of the current vectors."""
        starts = [v.start for v in self.vectors]
        if len(self.directions) == 1 or len(starts) == 1:
            # the two vectors of a rotating frame are perpendicular
            found = starts
        elif len(starts) == 2:
            normal = cross(*starts)
            found = [cross(starts[1], normal), cross(normal, starts[0])]
        else:
            found = [cross(starts[i - 2], starts[i - 1]) for i in range(len(starts))]
        self.duals = [(d, dot(d, start)) for d, start in zip(found, starts, strict=True)]


@dataclass
class Mass:
    """Mass, centre and second moments about the centre of a group, in the model's units."""

    mass: Scalar
    center: Vector
    moments: list[Vector]


@dataclass(slots=True)
class Wanted:
    """Further points [m] and directions of a group that its frame must be able to express.

    read: number of points, the first ones, that are read by name; points, vectors: all of them in the model.
    """

    places: list[Any] = field(default_factory=list)
    directions: list[Any] = field(default_factory=list)
    read: int = 0
    points: Sequence[Vector] = ()
    vectors: Sequence[Vector] = ()

    def find(self, place: Callable[[Any], Vector], direction: Callable[[Any], Vector]) -> None:
        """Convert them to the model."""
        self.points = [place(p) for p in self.places]
        self.vectors = [direction(d) for d in self.directions]


def make_frame(sharing: Sharing, group: Group, mass: Mass, wanted: Wanted) -> Frame:
    """Choose the frame of a group."""
    features = sharing.features
    if not group.points:
        features.append(Feature(mass.center, False))
        group.points.append(len(features) - 1)
    # an origin on the ground needs no coordinates
    group.points.sort(key=lambda k: not features[k].fixed)
    if not features[group.points[0]].fixed:
        _begin_at_an_end(features, group.points)
    origin = group.points[0]
    directions = sharing.directions(group)
    frame = Frame(origin, [], directions, features[origin].start)
    if len(directions) == 2:
        directions.append(cross(directions[0], directions[1]))
    elif len(directions) == 1:
        _frame_turning(sharing, group, mass, wanted, frame)
    else:
        _frame_free(sharing, group, mass, wanted, frame)
    frame.set_duals()
    _relate(sharing, group, frame)
    frame.gram = _gram(frame, mass)
    return frame


def _begin_at_an_end(features: list[Feature], points: list[int]) -> None:
    """Make the first point one of the two farthest apart: points between them are weighted means of the two.

    Otherwise factors would exceed one, and they multiply along a chain of bodies that share such points.
    """
    if len(points) < 3:
        return
    places = [features[k].start for k in points]
    if len(points) > FEW:
        first = _farthest_of_many(places)
    else:
        far: list[Scalar] = [0.0] * len(points)
        for i, a in enumerate(places):
            for j in range(i):
                apart = norm(subtract(a, places[j]))
                far[i], far[j] = larger(far[i], apart), larger(far[j], apart)
        first = _first_largest(far)
    points.insert(0, points.pop(first))


def _farthest_of_many(places: list[Vector]) -> int:
    if any(isinstance(x, TracedNumber) for p in places for x in p):
        raise UntracedError
    at = np.array(places)
    far = [np.linalg.norm(at - p, axis=1).max() for p in at]
    return _first_largest([float(x) for x in far])


def _first_largest(lengths: list[Scalar]) -> int:
    """Index of the largest length; the first one if several differ only by rounding."""
    rounded = [round(DIGITS * x) for x in lengths]
    best = 0
    for i, x in enumerate(rounded):
        if x > rounded[best]:
            best = i
    return best


def _frame_turning(
    sharing: Sharing, group: Group, mass: Mass, wanted: Wanted, frame: Frame
) -> None:
    """One vector in the plane perpendicular to z, and its rotation by 90 degrees."""
    features = sharing.features
    z = frame.directions[0]
    flat, quarter = (_FLAT, _QUARTER) if _is_normal(z) else (_flat_matrix(z), _cross_matrix(z))
    rounding = _rounding(frame.origin_start)
    if not any(norm(turned(flat, n)) > rounding for n in _needs(sharing, group, mass, wanted)):
        return
    arms = [turned(flat, subtract(features[k].start, frame.origin_start)) for k in group.points[1:]]
    longest = _first_largest([norm(arm) for arm in arms]) if arms else 0
    candidates = [(group.points[1 + longest], arms[longest])] if arms else []
    candidates += [
        (k, turned(flat, features[k].start)) for k in group.axes if not features[k].fixed
    ]
    for k, value in candidates:
        if norm(value) > FLATTEST:
            linear = combined(flat, feature_rows(k))
            if k in group.points:
                for row, less in zip(
                    linear, combined(flat, feature_rows(frame.origin)), strict=True
                ):
                    add_row(row, -1.0, less)
            break
    else:
        value = across(z)
        features.append(Feature(value, False))
        k = len(features) - 1
        linear = combined(flat, feature_rows(k))
        frame.relations.append(([_along(z, k)], k))
    frame.vectors = [
        FrameVector(linear, value),
        FrameVector(combined(quarter, linear), turned(quarter, value)),
    ]
    frame.products = [(0, 0)]


def _frame_free(sharing: Sharing, group: Group, mass: Mass, wanted: Wanted, frame: Frame) -> None:
    """Arms between joints first (they carry the mass), then axes, then auxiliary vectors."""
    features = sharing.features
    basis: list[Vector] = []
    arms = {k: subtract(features[k].start, frame.origin_start) for k in group.points[1:]}
    candidates = [(k, arms[k]) for k in sorted(arms, key=lambda k: -round(DIGITS * norm(arms[k])))]
    for k, start in [*candidates, *((k, features[k].start) for k in group.axes)]:
        if len(basis) == 3:
            break
        rest = outside(basis, start)
        size = norm(rest)
        if size > FLATTEST * larger(1.0, norm(start)):
            linear = feature_rows(k)
            if k in arms:
                for row, less in zip(linear, feature_rows(frame.origin, -1.0), strict=True):
                    row |= less
            frame.vectors.append(FrameVector(linear, start))
            basis.append(over(rest, size))
    needs = list(_needs(sharing, group, mass, wanted)) if len(basis) < 3 else []
    while needs and len(basis) < 3:
        rests = [outside(basis, n) for n in needs]
        sizes = [norm(r) for r in rests]
        most = _first_largest(sizes)
        if sizes[most] <= _rounding(frame.origin_start):
            break
        new = over(rests[most], sizes[most])
        features.append(Feature(new, False))
        frame.vectors.append(FrameVector(feature_rows(len(features) - 1), new))
        basis.append(new)
    n = len(frame.vectors)
    frame.products = [(i, j) for i in range(n) for j in range(i, n)]


def _needs(sharing: Sharing, group: Group, mass: Mass, wanted: Wanted) -> Iterator[Vector]:
    """The vectors that the frame must span: features, required vectors, and the principal axes of the mass."""
    origin = sharing.features[group.points[0]].start
    yield from (subtract(sharing.features[k].start, origin) for k in group.points[1:])
    yield from (sharing.features[k].start for k in group.axes)
    yield from (subtract(p, origin) for p in wanted.points)
    yield from wanted.vectors
    yield subtract(mass.center, origin)
    widths, directions = eigen(mass.moments)
    spread = [sqrt(larger(w, 0.0) / mass.mass) for w in widths]
    # second moments are squares: below this they are the rounding of the larger ones
    least = 1e-7 * largest(spread, 1e-300)
    for s, d in zip(spread, directions, strict=True):
        if s > 0.0 and s >= least:
            yield scale(s, (d[0], d[1], d[2]))


def _relate(sharing: Sharing, group: Group, frame: Frame) -> None:
    """Linear relations: features that are not in the frame, and heights along z."""
    features = sharing.features
    used = {i // 3 for v in frame.vectors for row in v.linear for i in row}
    turns = len(frame.directions) == 1
    for k in group.points[1:]:
        if k not in used:
            form = frame.point(features[k].start)
            relation = [subtract_rows(a, b) for a, b in zip(feature_rows(k), form, strict=True)]
            frame.relations.append((cleaned(relation), k))
        elif turns:
            z = frame.directions[0]
            height = _along(z, k)
            add_row(height, -1.0, _along(z, frame.origin))
            frame.relations.append(([height], k))
    for k in group.axes:
        if features[k].fixed:
            continue
        if k not in used:
            form = frame.vector(features[k].start)
            relation = [subtract_rows(a, b) for a, b in zip(feature_rows(k), form, strict=True)]
            frame.relations.append((cleaned(relation), k))
        elif turns:
            frame.relations.append(([_along(frame.directions[0], k)], k))


def _gram(frame: Frame, mass: Mass) -> list[list[Scalar]]:
    """Gram matrix of the mass over (origin, frame vectors): integral of (1, a)(1, a)^T dm.

    With x = origin + S a the second moments are S^-1 E S^-T; components along fixed directions do not move
    and are omitted.
    """
    center, origin = mass.center, frame.origin_start
    arm, far = subtract(center, origin), norm(center) + norm(origin)
    # entries that are rounding of a zero would only fill the matrices
    parts = [
        _or_zero(dot(d, arm) / size, ROUNDED * (norm(d) * far / abs(size)))
        for d, size in frame.duals
    ]
    inverse = [over(d, size) for d, size in frame.duals]
    sizes = [norm(row) for row in inverse]
    spun = [
        (dot(row, mass.moments[0]), dot(row, mass.moments[1]), dot(row, mass.moments[2]))
        for row in inverse
    ]
    spread = mass.moments[0][0] + mass.moments[1][1] + mass.moments[2][2]
    n = len(inverse)
    gram: list[list[Scalar]] = [[0.0] * (1 + n) for _ in range(1 + n)]
    gram[0][0] = mass.mass
    for i in range(n):
        gram[0][1 + i] = gram[1 + i][0] = mass.mass * parts[i]
        for j in range(i + 1):
            carried = mass.mass * parts[i] * parts[j]
            whole = dot(spun[i], inverse[j]) + carried
            rounding = NO_FACTOR * (sizes[i] * sizes[j] * spread + abs(carried))
            gram[1 + i][1 + j] = gram[1 + j][1 + i] = _or_zero(whole, rounding)
    return gram


def _or_zero(x: Scalar, rounding: Scalar) -> Scalar:
    return x if abs(x) > rounding else 0.0


def _combine(out: Linear, parts: Iterable[tuple[Scalar, FrameVector]]) -> Linear:
    for factor, vector in parts:
        if abs(factor) > NO_FACTOR:
            for row, more in zip(out, vector.linear, strict=True):
                add_row(row, factor, more)
    return cleaned(out)


def _rounding(place: Vector) -> Scalar:
    """Smaller components outside a frame are rounding; it grows with the distance from the origin."""
    return larger(SPANNED, ROUNDING * largest(abs(x) for x in place))


def _along(z: Vector, k: int) -> Row:
    """The component of a feature along a direction."""
    return _large({3 * k + c: x for c, x in enumerate(z)})


def _flat_matrix(z: Vector) -> Matrix:
    """1 - z z^T."""
    return [_large({c: (1.0 if r == c else 0.0) - z[r] * z[c] for c in range(3)}) for r in range(3)]


def _cross_matrix(z: Vector) -> Matrix:
    """z x."""
    return [
        _large({1: -z[2], 2: z[1]}),
        _large({0: z[2], 2: -z[0]}),
        _large({0: -z[1], 1: z[0]}),
    ]


def _is_normal(z: Vector) -> bool:
    """Whether z is exactly the third axis, as in every planar mechanism."""
    return type(z[2]) is float and z == UNITS[2]


def _large(row: Row) -> Row:
    """A row without entries that are rounding of a zero."""
    return {i: c for i, c in row.items() if abs(c) > NO_FACTOR}


_FLAT, _QUARTER = _flat_matrix(UNITS[2]), _cross_matrix(UNITS[2])
