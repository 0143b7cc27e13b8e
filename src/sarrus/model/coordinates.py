"""Natural coordinates: which points and vectors of a mechanism become q, and all others as rows over it.

Space            the user's points and directions in the model's units and axes
Skeleton         groups, shared features (joint_constraints.py), a frame for each class of groups
(body_classes.py,
                 frames.py)
Coordinates      linear relations solved (reduce.py): any point or vector as rows over q

This only depends on names, joints, the requirements of loads and readings, and the start configuration. Of
the masses, it only uses the centre of each group and the directions in which its mass is distributed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np

from ..arrays import Floats, Ints, plain_sum
from ..kinematics.configuration import LINK, length_of_parts
from ..mechanism import Body, Mechanism
from ..mechanism.part_arrays import PartArrays
from ..thresholds import SAME_FEATURE, ZERO_COEFFICIENT
from ..tracing import PartedError, mean, vector_arithmetic
from . import body_classes
from .body_classes import BodyClass, ClassMaker
from .drives import coordinate_needs
from .force_forms import Features, load_needs
from .frames import Frame, FrameVector, Linear, Mass, Wanted
from .joint_constraints import (
    GROUND,
    Direction,
    Factor,
    Feature,
    Group,
    Sharing,
    kept_products,
    share_features,
)
from .points import Points, Wants
from .reduce import Reduction, drop_fixed
from .rows import Units
from .vectors import (
    UNITS,
    ZERO,
    Matrix,
    Row,
    Vector,
    add,
    add_row,
    cleaned,
    combined,
    cross,
    feature_rows,
    over,
    scale,
    subtract,
    subtract_rows,
    transposed,
    turned,
    unit,
    vector,
)

# model axes that are the world axes
AS_THEY_ARE: Matrix = [{0: 1.0}, {1: 1.0}, {2: 1.0}]


@dataclass(frozen=True)
class Space:
    """The model's axes (rows of turn, in world directions) and units."""

    turn: Matrix
    units: Units

    def place(self, p: Any) -> Vector:
        """A point [m] in the model."""
        at = vector(p)
        return over(at if self.turn is AS_THEY_ARE else turned(self.turn, at), self.units.length)

    def direction(self, d: Any) -> Vector:
        """A direction in the model."""
        return vector(d) if self.turn is AS_THEY_ARE else turned(self.turn, vector(d))

    @cached_property
    def back(self) -> Matrix:
        """From the model's axes to the world's."""
        return transposed(self.turn)

    @cached_property
    def metres(self) -> Matrix:
        """From the model's axes and lengths to the world's."""
        length = self.units.length
        return [{c: x * length for c, x in row.items()} for row in self.back]


@dataclass(frozen=True)
class Product:
    """A scalar product that a joint keeps constant; square: of a vector with itself."""

    a: FrameVector
    b: FrameVector
    square: bool


@dataclass(frozen=True)
class Skeleton:
    """Groups of bodies, the features they share, and the classes of groups with their frames."""

    space: Space
    sharing: Sharing
    classes: list[BodyClass]
    # cache of frames that were requested one by one
    _frames: dict[int, Frame] = field(default_factory=dict)

    def frame(self, body: str) -> Frame | None:
        """The frame of a body; None for the ground."""
        group = self.sharing.group_of[body]
        return None if group == GROUND else self.one(group)

    def one(self, group: int) -> Frame:
        """The frame of a group, with plain numbers."""
        frame = self._frames.get(group)
        if frame is None:
            of, member = self._places
            frame = self._frames[group] = self.classes[of[group]].one(member[group])
        return frame

    @cached_property
    def _places(self) -> Ints:
        """For each group the number of its class, and its index in it."""
        out = np.zeros((2, len(self.sharing.groups)), np.int64)
        for n, c in enumerate(self.classes):
            out[:, c.groups] = np.full(len(c.groups), n), np.arange(len(c.groups))
        return out

    def point(self, body: str, at: Any) -> Linear:
        """A point of a body, by its initial coordinates [m], as a linear form of the features."""
        frame = self.frame(body)
        return [{}, {}, {}] if frame is None else frame.point(self.space.place(at))

    def vector(self, body: str, d: Any) -> Linear:
        """A vector fixed in a body, by its initial world direction."""
        frame = self.frame(body)
        return [{}, {}, {}] if frame is None else frame.vector(self.space.direction(d))

    def factor(self, factor: Factor) -> FrameVector:
        """A factor of a joint's product; its linear part is empty if it is fixed in the ground."""
        if isinstance(factor, Direction):
            start = self.space.direction(factor.start)
            return FrameVector(self.vector(factor.body, factor.start), start)
        first = self.point(factor.first, factor.first_at)
        second = self.point(factor.second, factor.second_at)
        start = subtract(self.space.place(factor.second_at), self.space.place(factor.first_at))
        # points of one group may have common terms
        rows = [subtract_rows(b, a) for a, b in zip(first, second, strict=True)]
        return FrameVector(cleaned(rows), start)


@dataclass(frozen=True, eq=False)
class ClassRows:
    """A class of groups, and its vectors as rows over its variables without those that are solved for.

    The variables of a batched class are those of its features; those of a class of one are the variables of
    all.
    """

    of: BodyClass
    reduction: Reduction
    fixed: set[int]

    def rows(self, linear: Linear) -> list[Row]:
        """A linear form of its features as rows."""
        found = (self.reduction.substitute(drop_fixed(row, self.fixed)) for row in linear)
        return [row if len(row) < 2 else {i: row[i] for i in sorted(row)} for row in found]

    @cached_property
    def frame(self) -> list[list[Row]]:
        """Origin and vectors of its frame."""
        frame = self.of.frame
        return [
            self.rows(form)
            for form in (feature_rows(frame.origin), *(v.linear for v in frame.vectors))
        ]

    def split(self, reduction: Reduction, fixed: set[int]) -> list[ClassRows]:
        """Split into classes of one; reduction, fixed: of all variables."""
        return [ClassRows(one, reduction, fixed) for one in self.of.split()]


T = TypeVar("T")


@dataclass(frozen=True)
class Coordinates:
    """Every point and vector of a mechanism as rows over its coordinates q."""

    skeleton: Skeleton
    products: list[Product]
    reduction: Reduction
    fixed: set[int]
    dimension: int
    classes: list[ClassRows]
    # linear relations that were not solved for and become equations
    relations: list[Row]
    # number of additional coordinates of rotors, which belong to no feature
    more: int = 0

    @property
    def count(self) -> int:
        """Number of coordinates."""
        return len(self.reduction.columns) + self.more

    @cached_property
    def columns(self) -> Ints:
        """For each variable of the features its index in q, if it has one."""
        out = np.full(3 * len(self.skeleton.sharing.features), -1, dtype=np.int64)
        out[list(self.reduction.columns)] = list(self.reduction.columns.values())
        return out

    def table(self, of: BodyClass, row: Row) -> tuple[Ints, Floats]:
        """A row over the variables of a batched class as rows over q, one per group: columns, values (n, w)."""
        values = [of.floats(c) for c in row.values()]
        at = self.columns[of.variables(list(row))]
        return at, np.stack(values, axis=1) if values else np.zeros((len(of.groups), 0))

    def numbered(self, row: Row) -> Row:
        """A row over the variables of a class of one as a row over q."""
        columns = self.reduction.columns
        return {columns[i]: c for i, c in row.items() if i in columns}

    def each_class(self, find: Callable[[ClassRows], T]) -> list[tuple[ClassRows, T]]:
        """Apply a function to each class; classes whose groups decide differently are split permanently."""
        found, left = [], list(self.classes)
        while left:
            c = left.pop(0)
            try:
                with vector_arithmetic() if c.of.is_many else nullcontext():
                    found.append((c, find(c)))
            except (PartedError, FloatingPointError):
                if not c.of.is_many:
                    raise
                left += self.split(c)
        return found

    def split(self, c: ClassRows) -> list[ClassRows]:
        """Replace a class by classes of one for its groups."""
        ones = c.split(self.reduction, self.fixed)
        self.classes.remove(c)
        self.classes.extend(ones)
        return ones

    def rows(self, linear: Linear) -> list[Row]:
        """A linear form of the features as rows over q."""
        return [self.reduction.coordinates(drop_fixed(row, self.fixed)) for row in linear]

    def point(self, body: str, at: Any) -> list[Row]:
        """A point of a body, by its initial coordinates [m], in the model's units and axes."""
        return self.rows(self.skeleton.point(body, at))

    def vector(self, body: str, d: Any) -> list[Row]:
        """A vector fixed in a body, by its initial world direction, in the model's axes."""
        return self.rows(self.skeleton.vector(body, d))

    def world(self, body: str, at: Any) -> list[Row]:
        """A point of a body in world metres."""
        return combined(self.skeleton.space.metres[: self.dimension], self.point(body, at))

    def features(self) -> Features:
        """The functions that loads, drives and readings need."""
        space = self.skeleton.space

        def fixed(body: str) -> list[Vector]:
            frame = self.skeleton.frame(body)
            return list(UNITS) if frame is None else frame.directions

        return Features(
            point=lambda body, at: (self.point(body, at), space.place(at)),
            vector=lambda body, d: (self.vector(body, d), space.direction(d)),
            fixed=fixed,
            world=self.world,
            turn=space.turn,
            back=space.back,
            length=space.units.length,
            energy=space.units.energy,
        )


def draw(
    mechanism: Mechanism, parts: PartArrays, points: Points, zero: float = ZERO_COEFFICIENT
) -> Coordinates:
    """Every point and vector of a mechanism as rows over its coordinates.

    points: those that can be read; zero: coefficients of linear relations below it are zero.
    """
    factors = joint_factors(mechanism, parts)
    space = make_space(mechanism, parts)
    skeleton = make_skeleton(mechanism, parts, space, points, factors, max(zero, SAME_FEATURE))
    products = [Product(skeleton.factor(a), skeleton.factor(b), a is b) for a, b in factors]
    return solve_relations(mechanism, skeleton, products, zero)


def joint_factors(mechanism: Mechanism, parts: PartArrays) -> list[tuple[Factor, Factor]]:
    """Products that joints keep constant, except driven lengths: the drive adds their equation."""
    driven = {drive.joint for drive in mechanism.drives}
    return [
        pair
        for joint in parts.joints_that(lambda row: bool(row.keeps))
        if not (joint.kind.row.coordinate == "length" and joint.name in driven)
        for pair in kept_products(joint)
    ]


def make_space(mechanism: Mechanism, parts: PartArrays) -> Space:
    """The model's axes and units for a mechanism."""
    # the length of a typical link, and the mean mass
    length = LINK * length_of_parts(mechanism, parts)
    return Space(_model_directions(parts), Units(length, mean(parts.mass.tolist())))


def make_skeleton(
    mechanism: Mechanism,
    parts: PartArrays,
    space: Space,
    points: Points,
    factors: list[tuple[Factor, Factor]],
    apart: float = SAME_FEATURE,
) -> Skeleton:
    """Groups, features and frames; every frame can express what joints, loads and readings need."""
    sharing = share_features(parts, space.place, space.direction, apart)
    wanted = Wants(points, points.groups(sharing.group_of), len(sharing.groups))

    def of(body: str) -> Wanted:
        return wanted[sharing.group_of[body]]

    for factor in (f for pair in factors for f in pair):
        if isinstance(factor, Direction):
            of(factor.body).directions.append(factor.start)
        else:
            of(factor.first).places.append(factor.first_at)
            of(factor.second).places.append(factor.second_at)
    for body, where, directions in [*load_needs(mechanism), *coordinate_needs(mechanism)]:
        of(body).places += [] if where is None else [where]
        of(body).directions += directions
    classes = ClassMaker(
        sharing, wanted, parts, space.place, space.direction, lambda group: _mass(group, space)
    ).classes()
    _leave_to_one(sharing, classes)
    return Skeleton(space, sharing, classes)


def solve_relations(
    mechanism: Mechanism, skeleton: Skeleton, products: list[Product], zero: float
) -> Coordinates:
    """Solve all linear relations between the features: those of frames and those of joints."""
    features, planar = skeleton.sharing.features, mechanism.dimension == 2
    fixed = _fixed(features, planar)
    reduction = Reduction(3 * len(features), zero)
    kept: list[Row] = []

    def solve(row: Row, prefer: tuple[int, ...]) -> None:
        if not reduction.eliminate(drop_fixed(row, fixed), prefer):
            kept.append(row)

    for linear, solve_for in _relations_in_order(skeleton.classes, fixed, planar):
        for row in linear:
            solve(row, (3 * solve_for, 3 * solve_for + 1, 3 * solve_for + 2))
    # a product with a constant vector is linear: it is solved once
    joints = [_times(p.a.start, p.b.linear) for p in products if not p.a.moves]
    joints += [_times(p.b.start, p.a.linear) for p in products if p.a.moves and not p.b.moves]
    for row in joints:
        solve(row, ())
    out = Coordinates(skeleton, products, reduction, fixed, mechanism.dimension, [], relations=kept)
    for of in skeleton.classes:
        out.classes.extend(_reduced(of, reduction, fixed, planar))
    used = {i for row in kept for i in reduction.substitute(drop_fixed(row, fixed))}
    for c, rows in out.each_class(lambda c: c.frame):
        own = sorted({i for three in rows for row in three for i in row})
        used.update(c.of.variables(own).ravel().tolist() if c.of.is_many else own)
    reduction.number(used)
    return out


def _relations_in_order(
    classes: list[BodyClass], fixed: set[int], planar: bool
) -> Iterator[tuple[Linear, int]]:
    """The linear relations of all frames between variables that move, in the order of the groups."""
    related = [
        (group, c, m)
        for c in classes
        if _has_relations(c, fixed, planar)
        for m, group in enumerate(c.groups.tolist())
    ]
    for _, c, m in sorted(related, key=itemgetter(0)):
        yield from c.relations(m)


def _fixed(features: list[Feature], planar: bool) -> set[int]:
    """Variables that do not move."""
    fixed = {3 * k + c for k, f in enumerate(features) if f.fixed for c in range(3)}
    return fixed | {3 * k + 2 for k in range(len(features))} if planar else fixed


def _has_relations(c: BodyClass, fixed: set[int], planar: bool) -> bool:
    """Whether frames of a class have linear relations between variables that move; fixed: of all variables."""
    fixed = fixed if c.features is None else _fixed(c.features, planar)
    rows = (row for linear, _ in c.frame.relations for row in linear)
    return any(i not in fixed for row in rows for i in row)


# state of a variable after solving the linear relations: independent, zero, or a form of others
_FREE, _ZERO, _SOLVED = 0, 1, 2


def _reduced(
    c: BodyClass, reduction: Reduction, fixed: set[int], planar: bool
) -> Iterator[ClassRows]:
    """A class with its rows; a batched class is split if relations treat its variables differently."""
    if c.features is None:
        yield ClassRows(c, reduction, fixed)
        return
    own_fixed = _fixed(c.features, planar)
    linear = [feature_rows(c.frame.origin), *(v.linear for v in c.frame.vectors)]
    own = sorted({i for rows in linear for row in rows for i in row} - own_fixed)
    solved = reduction.solved(_FREE, _ZERO, _SOLVED)[c.variables(own)]
    patterns, which = np.unique(solved, axis=0, return_inverse=True)
    for n, pattern in enumerate(patterns.tolist()):
        members = np.flatnonzero(which.ravel() == n)
        part = c if len(patterns) == 1 else c.part(members)
        if _SOLVED in pattern or len(members) < body_classes.LEAST:
            yield from (ClassRows(one, reduction, fixed) for one in part.split())
            continue
        zero = Reduction(3 * len(c.features))
        zero.hold(i for i, made in zip(own, pattern, strict=True) if made == _ZERO)
        yield ClassRows(part, zero, own_fixed)


def _model_directions(parts: PartArrays) -> Matrix:
    """Rows: the model's axes. A hinge on the ground gives the third axis, so that mechanisms which
    move in a plane perpendicular to it need two coordinates per point, whatever their orientation in space.
    """
    if parts.dimension == 3:
        for joint in parts.joints_that(lambda row: row.coordinate == "angle"):
            if Mechanism.GROUND in joint.bodies and joint.axis is not None:
                return _directions_to(unit(vector(joint.axis)))
    return AS_THEY_ARE


def _directions_to(z: Vector) -> Matrix:
    """Axes whose third one is z."""
    sizes = [abs(x) for x in z]
    k = max(range(3), key=sizes.__getitem__)
    if sizes[k] == 1.0:
        # a permutation keeps the user's numbers bit for bit
        return [{(r + k + 1) % 3: 1.0} for r in range(3)]
    x = unit(cross(z, UNITS[min(range(3), key=sizes.__getitem__)]))
    return [dict(enumerate(row)) for row in (x, cross(z, x), z)]


def _mass(group: Group, space: Space) -> Mass:
    """Mass, centre and second moments of all bodies of a group."""
    units, bodies = space.units, group.bodies
    mass, center = bodies[0].mass, vector(bodies[0].center)
    moments = _moments(bodies[0])
    if len(bodies) > 1:
        mass = plain_sum(b.mass for b in bodies)
        center = ZERO
        for b in bodies:
            center = add(center, scale(b.mass, vector(b.center)))
        center = over(center, mass)
        moments = [ZERO, ZERO, ZERO]
        for b in bodies:
            arm = subtract(vector(b.center), center)
            for i, row in enumerate(_moments(b)):
                moments[i] = add(moments[i], add(row, scale(b.mass * arm[i], arm)))
    if space.turn is not AS_THEY_ARE:
        # turn E turn^T: rows, then columns
        half = [turned(space.turn, column) for column in moments]
        columns = [turned(space.turn, column) for column in zip(*half, strict=True)]
        moments = [(row[0], row[1], row[2]) for row in columns]
    return Mass(
        mass / units.mass,
        over(turned(space.turn, center), units.length),
        [over(row, units.energy) for row in moments],
    )


def _moments(body: Body) -> list[Vector]:
    """Second moments of mass about the centre, from the inertia."""
    if body.inertia.ndim == 0:
        half = 0.5 * body.inertia.item()
        return [(half, 0.0, 0.0), (0.0, half, 0.0), ZERO]
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = body.inertia.tolist()
    half = 0.5 * (xx + yy + zz)
    return [(half - xx, -xy, -xz), (-yx, half - yy, -yz), (-zx, -zy, half - zz)]


def _leave_to_one(sharing: Sharing, classes: list[BodyClass]) -> None:
    """Among groups that rotate as one, only one frame needs rigidity equations: the others are linear in it."""
    largest: dict[int, Frame] = {}
    # a batched class contains no groups that rotate with others
    own = [(sharing.turning_with[c.groups[0]], c.frame) for c in classes if not c.is_many]
    for turning, frame in own:
        fullest = largest.setdefault(turning, frame)
        if len(frame.vectors) > len(fullest.vectors):
            largest[turning] = frame
    for turning, frame in own:
        if frame is not largest[turning]:
            frame.products = []


def _times(start: Vector, linear: Linear) -> Row:
    """A constant vector times a linear form."""
    out: Row = {}
    for x, row in zip(start, linear, strict=True):
        add_row(out, x, row)
    return cleaned([out])[0]
