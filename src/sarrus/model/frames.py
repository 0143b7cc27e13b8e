"""The frame of each group of bodies: which of its features become coordinates.

A vector of the model is linear in the features: `Linear` maps each feature to a 3 x 3 matrix. A frame is
an origin and up to three such vectors; every other feature, point and the mass of the group are
linear in them. Three cases, by how many directions the group can never leave:

    two    it only translates: the origin alone
    one    it turns about z: one vector v in the plane, the other is z x v, still linear
    none   it moves freely: as many vectors as its features and its mass span
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ..arrays import Floats
from ..thresholds import FLATTEST, SPANNED
from .joints import Feature, Group, Sharing

Linear = dict[int, Floats]


@dataclass
class FrameVector:
    """A vector of a group: linear in the features; start: its value at the start."""

    linear: Linear
    start: Floats


@dataclass
class Frame:
    """Origin and vectors of a group, and its mass as the Gram matrix over (origin, vectors).

    products: index pairs (i, j) whose scalar product the body keeps; relations: linear forms of
    the features that stay constant, each with the feature it should be solved for.
    """

    origin: int
    vectors: list[FrameVector]
    directions: list[Floats]
    gram: Floats
    products: list[tuple[int, int]] = field(default_factory=list)
    relations: list[tuple[Linear, int]] = field(default_factory=list)
    origin_start: Floats = field(default_factory=lambda: np.zeros(3))

    def locate(self, offset: Floats) -> Floats:
        """Components of a body-fixed vector along (fixed directions, frame vectors)."""
        columns = [*self.directions, *(v.start for v in self.vectors)]
        if not columns:
            return np.zeros(0)
        return np.asarray(np.linalg.lstsq(np.array(columns).T, offset, rcond=None)[0], float)

    def point(self, place: Floats) -> Linear:
        """The linear form of a point of the group, given its place at the start."""
        parts = self.locate(place - self.origin_start)[len(self.directions) :]
        out: Linear = {self.origin: np.eye(3)}
        return _combine(out, zip(parts, self.vectors, strict=True))

    def vector(self, start: Floats) -> Linear:
        """The linear form of a body-fixed vector, given its value at the start."""
        parts = self.locate(start)[len(self.directions) :]
        return _combine({}, zip(parts, self.vectors, strict=True))


@dataclass
class Mass:
    """Mass, centre and second moments about the centre of a group, in the model's units."""

    mass: float
    center: Floats
    moments: Floats


@dataclass
class Wanted:
    """Further places and vectors of a group that its frame must be able to express."""

    points: list[Floats] = field(default_factory=list)
    vectors: list[Floats] = field(default_factory=list)


def make_frame(sharing: Sharing, group: Group, mass: Mass, wanted: Wanted) -> Frame:
    """Choose the frame of a group."""
    features = sharing.features
    if not group.points:
        features.append(Feature(mass.center, False))
        group.points.append(len(features) - 1)
    # an origin on the ground is no coordinate at all
    group.points.sort(key=lambda k: not features[k].fixed)
    if not features[group.points[0]].fixed:
        _begin_at_an_end(features, group.points)
    origin = group.points[0]
    directions = sharing.directions(group)
    frame = Frame(origin, [], directions, np.zeros((1, 1)), origin_start=features[origin].start)
    if len(directions) == 2:
        directions.append(np.cross(directions[0], directions[1]))
    elif len(directions) == 1:
        _frame_turning(sharing, group, mass, wanted, frame)
    else:
        _frame_free(sharing, group, mass, wanted, frame)
    _relate(sharing, group, frame)
    frame.gram = _gram(frame, mass)
    return frame


def _begin_at_an_end(features: list[Feature], points: list[int]) -> None:
    """Let the first point be one of the two farthest apart: points between them are means of the two.

    Others would have factors above one, which multiply along a chain of bodies that share such points.
    """
    places = np.array([features[k].start for k in points])
    apart = np.linalg.norm(places[:, None] - places[None, :], axis=2).round(9)
    first = int(np.argmax(apart.max(axis=1)))
    points.insert(0, points.pop(first))


def _frame_turning(
    sharing: Sharing, group: Group, mass: Mass, wanted: Wanted, frame: Frame
) -> None:
    """One vector in the plane across z, and its quarter turn."""
    features = sharing.features
    z = frame.directions[0]
    flat = np.eye(3) - np.outer(z, z)
    quarter = _cross_matrix(z)
    needs = _needs(sharing, group, mass, wanted)
    if not any(np.linalg.norm(flat @ n) > _rounding(frame.origin_start) for n in needs):
        return
    arms = [(k, flat @ (features[k].start - frame.origin_start)) for k in group.points[1:]]
    axes = [(k, flat @ features[k].start) for k in group.axes if not features[k].fixed]
    arms.sort(key=lambda arm: -np.linalg.norm(arm[1]).round(9))
    for k, value in [*arms[:1], *axes]:
        if np.linalg.norm(value) > FLATTEST:
            linear = {k: flat, frame.origin: -flat} if k in group.points else {k: flat}
            break
    else:
        value = _across(z)
        features.append(Feature(value, False))
        linear = {len(features) - 1: flat}
        frame.relations.append(({len(features) - 1: z[None, :]}, len(features) - 1))
    frame.vectors = [
        FrameVector(linear, value),
        FrameVector({k: quarter @ a for k, a in linear.items()}, quarter @ value),
    ]
    frame.products = [(0, 0)]


def _frame_free(sharing: Sharing, group: Group, mass: Mass, wanted: Wanted, frame: Frame) -> None:
    """Arms between joints first (they carry the mass), then axes, then auxiliary vectors."""
    features = sharing.features
    basis: list[Floats] = []
    arms = sorted(
        group.points[1:],
        key=lambda k: -np.linalg.norm(features[k].start - frame.origin_start).round(9),
    )
    candidates = [
        *(
            FrameVector(
                {k: np.eye(3), frame.origin: -np.eye(3)}, features[k].start - frame.origin_start
            )
            for k in arms
        ),
        *(FrameVector({k: np.eye(3)}, features[k].start) for k in group.axes),
    ]
    for vector in candidates:
        rest = _outside(basis, vector.start)
        if np.linalg.norm(rest) > FLATTEST * max(1.0, float(np.linalg.norm(vector.start))):
            frame.vectors.append(vector)
            basis.append(rest / np.linalg.norm(rest))
    needs = _needs(sharing, group, mass, wanted)
    while needs and len(basis) < 3:
        rests = [_outside(basis, n) for n in needs]
        rest = max(rests, key=lambda r: float(np.linalg.norm(r)))
        if np.linalg.norm(rest) <= _rounding(frame.origin_start):
            break
        unit = rest / np.linalg.norm(rest)
        features.append(Feature(unit, False))
        frame.vectors.append(FrameVector({len(features) - 1: np.eye(3)}, unit))
        basis.append(unit)
    n = len(frame.vectors)
    frame.products = [(i, j) for i in range(n) for j in range(i, n)]


def _needs(sharing: Sharing, group: Group, mass: Mass, wanted: Wanted) -> list[Floats]:
    """The vectors that the frame must span: features, wanted ones, and the spread of the mass."""
    origin = sharing.features[group.points[0]].start
    widths, directions = np.linalg.eigh(mass.moments)
    spread = np.sqrt(np.clip(widths, 0.0, None) / mass.mass)
    # widths are squares: below this they are the rounding of the larger ones
    spread[spread < 1e-7 * max(1e-300, spread.max())] = 0.0
    return [
        *(sharing.features[k].start - origin for k in group.points[1:]),
        *(sharing.features[k].start for k in group.axes),
        *(p - origin for p in wanted.points),
        *wanted.vectors,
        mass.center - origin,
        *(s * d for s, d in zip(spread, directions.T, strict=True) if s > 0),
    ]


def _relate(sharing: Sharing, group: Group, frame: Frame) -> None:
    """Linear relations: features that are not in the frame, and heights along z."""
    features = sharing.features
    used = {k for v in frame.vectors for k in v.linear}
    for k in group.points[1:]:
        if k not in used:
            form = frame.point(features[k].start)
        elif len(frame.directions) == 1:
            form = {frame.origin: frame.directions[0][None, :]}
            frame.relations.append(_minus({k: frame.directions[0][None, :]}, form, k))
            continue
        else:
            continue
        frame.relations.append(_minus({k: np.eye(3)}, form, k))
    for k in group.axes:
        if features[k].fixed:
            continue
        if k not in used:
            frame.relations.append(_minus({k: np.eye(3)}, frame.vector(features[k].start), k))
        elif len(frame.directions) == 1:
            frame.relations.append(({k: frame.directions[0][None, :]}, k))


def _gram(frame: Frame, mass: Mass) -> Floats:
    """Gram matrix of the mass over (origin, frame vectors): integral of (1, a)(1, a)^T dm.

    With x = origin + S a the second moments are S^-1 E S^-T; parts along fixed directions do not
    move and are left out.
    """
    skip = len(frame.directions)
    columns = np.array([*frame.directions, *(v.start for v in frame.vectors)]).reshape(-1, 3).T
    inverse = np.linalg.pinv(columns) if columns.size else np.zeros((0, 3))
    arm = mass.center - frame.origin_start
    second = mass.moments + mass.mass * np.outer(arm, arm)
    gram = np.zeros((1 + inverse.shape[0], 1 + inverse.shape[0]))
    gram[0, 0] = mass.mass
    gram[0, 1:] = gram[1:, 0] = mass.mass * (inverse @ arm)
    gram[1:, 1:] = inverse @ second @ inverse.T
    keep = [0, *range(1 + skip, 1 + skip + len(frame.vectors))]
    return gram[np.ix_(keep, keep)]


def _combine(out: Linear, parts: Iterable[tuple[float, FrameVector]]) -> Linear:
    for factor, vector in parts:
        # components that are pure rounding would only fill the matrices
        if abs(factor) > 1e-14:
            for k, a in vector.linear.items():
                out[k] = out.get(k, 0.0) + factor * a
    return out


def _minus(a: Linear, b: Linear, solve_for: int) -> tuple[Linear, int]:
    out = dict(a)
    for k, m in b.items():
        out[k] = out.get(k, 0.0) - m
    return out, solve_for


def _rounding(place: Floats) -> float:
    """What sticks out of a frame by less than this is rounding; far from the origin it is more."""
    return max(SPANNED, 32 * np.finfo(float).eps * float(np.abs(place).max()))


def _outside(basis: list[Floats], vector: Floats) -> Floats:
    rest = vector.copy()
    for b in basis:
        rest -= (b @ rest) * b
    return rest


def _cross_matrix(z: Floats) -> Floats:
    return np.array([[0.0, -z[2], z[1]], [z[2], 0.0, -z[0]], [-z[1], z[0], 0.0]])


def _across(z: Floats) -> Floats:
    """A unit vector across z, exact where z is a coordinate axis."""
    other = np.eye(3)[int(np.argmin(np.abs(z)))]
    rest = other - (z @ other) * z
    return rest / np.linalg.norm(rest)
