"""Natural coordinates: which points and vectors of a mechanism become q, and all others as rows over it.

Space            the user's places and directions in the model's units and axes
Skeleton         groups and shared features (joints.py), a frame for each group (frames.py)
Coordinates      linear relations solved (reduce.py): any point or vector as rows over q

Only names, joints, what loads and readers ask for and the start position count here; of the masses only
where the centre of a group is and which directions it spreads in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Floats, Ints, plain_sum
from ..kinematics.pose import LINK, measure_length
from ..mechanism import Body, Mechanism
from ..mechanism.columns import Columns
from ..tape import PartedError, abreast, mean
from .alike import LEAST, Alike, Workshop
from .drives import coordinate_needs
from .frames import Frame, FrameVector, Linear, Mass, Wanted, make_frame
from .joints import GROUND, Direction, Factor, Feature, Group, Sharing, share_features
from .loads import Features, load_needs
from .model import Units
from .points import Points, Wants
from .reduce import Reduction, drop_fixed, reduced_rows
from .vectors import (
    UNITS,
    ZERO,
    Matrix,
    Row,
    Vector,
    add,
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

# axes of the model that are those of the world
AS_THEY_ARE: Matrix = [{0: 1.0}, {1: 1.0}, {2: 1.0}]


@dataclass(frozen=True)
class Space:
    """The model's axes (rows of turn, in world directions) and units."""

    turn: Matrix
    units: Units

    def place(self, p: Any) -> Vector:
        """A place [m] in the model."""
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
    """A scalar product that a joint keeps; square: of a vector with itself."""

    a: FrameVector
    b: FrameVector
    square: bool


@dataclass(frozen=True)
class Skeleton:
    """Groups of bodies, the features they share, and the frame of each group but the ground.

    frames: None where a class of groups has it.
    """

    space: Space
    sharing: Sharing
    frames: list[Frame | None]
    classes: list[Alike] = field(default_factory=list)

    def frame(self, body: str) -> Frame | None:
        """The frame that a body belongs to; None for the ground."""
        group = self.sharing.group_of[body]
        return None if group == GROUND else self.one(group - 1)

    def one(self, i: int) -> Frame:
        """The i-th frame, over scalars of its own."""
        frame = self.frames[i]
        if frame is None:
            alike, m = self._place[i]
            frame = alike.one(m)
        return frame

    def relations(self, i: int) -> list[tuple[Linear, int]]:
        """The linear relations of the i-th frame."""
        frame = self.frames[i]
        if frame is None:
            alike, m = self._place[i]
            return alike.relations(m)
        return frame.relations

    def part_with(self, groups: Ints) -> None:
        """Let groups of a class have frames of their own."""
        for i in (groups - 1).tolist():
            self.frames[i] = self.one(i)

    @cached_property
    def _place(self) -> dict[int, tuple[Alike, int]]:
        """Of frames that a class has, which class, and where in it."""
        return {
            i: (alike, m)
            for alike in self.classes
            for m, i in enumerate((alike.groups - 1).tolist())
        }

    def point(self, body: str, at: Any) -> Linear:
        """A point of a body, by its place at the start [m], as a linear form of the features."""
        frame = self.frame(body)
        return [{}, {}, {}] if frame is None else frame.point(self.space.place(at))

    def vector(self, body: str, d: Any) -> Linear:
        """A vector fixed in a body, by its world direction at the start."""
        frame = self.frame(body)
        return [{}, {}, {}] if frame is None else frame.vector(self.space.direction(d))

    def factor(self, factor: Factor) -> FrameVector:
        """A factor of a joint's product; nothing of it is linear if the ground holds it."""
        if isinstance(factor, Direction):
            start = self.space.direction(factor.start)
            return FrameVector(self.vector(factor.body, factor.start), start)
        first = self.point(factor.first, factor.first_at)
        second = self.point(factor.second, factor.second_at)
        start = subtract(self.space.place(factor.second_at), self.space.place(factor.first_at))
        # points of one group may have parts in common
        rows = [subtract_rows(b, a) for a, b in zip(first, second, strict=True)]
        return FrameVector(cleaned(rows), start)


@dataclass(frozen=True)
class Side:
    """A class of groups side by side, and its rows over its own variables."""

    alike: Alike
    coordinates: Coordinates

    def table(self, row: Row, columns: Ints) -> tuple[Ints, Floats]:
        """A row over its variables as one over q for each group: columns and values (n, w).

        columns: of all variables.
        """
        n = len(self.alike.groups)
        values = [self.alike.floats(c) for c in row.values()]
        at = columns[self.alike.variables(list(row))]
        return at, np.stack(values, axis=1) if values else np.zeros((n, 0))


@dataclass(frozen=True)
class Coordinates:
    """Every point and vector of a mechanism as rows over its coordinates q."""

    skeleton: Skeleton
    products: list[Product]
    reduction: Reduction
    fixed: set[int]
    dimension: int
    # linear relations that were not solved for, but stand as equations
    relations: list[Row] = field(default_factory=list)
    # of rotors, which no feature has
    more: int = 0
    # rows of the frames that were asked for
    of_frames: dict[int, list[list[Row]]] = field(default_factory=dict)
    sides: list[Side] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.reduction.columns) + self.more

    @cached_property
    def columns(self) -> Ints:
        """Of each variable of the features its number in q, if it has one."""
        out = np.full(3 * len(self.skeleton.sharing.features), -1, dtype=np.int64)
        out[list(self.reduction.columns)] = list(self.reduction.columns.values())
        return out

    def part_with(self, side: Side) -> None:
        """Let the groups of a class go on one by one: they do not all decide alike."""
        self.skeleton.part_with(side.alike.groups)
        self.sides.remove(side)

    def rows(self, linear: Linear) -> list[Row]:
        """A linear form of the features."""
        return reduced_rows(linear, self.fixed, self.reduction)

    def frame_rows(self, frame: Frame) -> list[list[Row]]:
        """Origin and vectors of a frame."""
        known = self.of_frames.get(id(frame))
        if known is None:
            forms = (feature_rows(frame.origin), *(v.linear for v in frame.vectors))
            known = self.of_frames[id(frame)] = [self.rows(form) for form in forms]
        return known

    def point(self, body: str, at: Any) -> list[Row]:
        """A point of a body, by its place at the start [m], in the model's units and axes."""
        return self.rows(self.skeleton.point(body, at))

    def vector(self, body: str, d: Any) -> list[Row]:
        """A vector fixed in a body, by its world direction at the start, in the model's axes."""
        return self.rows(self.skeleton.vector(body, d))

    def world(self, body: str, at: Any) -> list[Row]:
        """A point of a body in world metres."""
        return combined(self.skeleton.space.metres[: self.dimension], self.point(body, at))

    def features(self) -> Features:
        """What loads, drives and readings ask for."""
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


def make_space(mechanism: Mechanism, columns: Columns | None = None) -> Space:
    """The model's axes and units for a mechanism."""
    return Space(_model_directions(mechanism), _units(mechanism, columns))


def make_skeleton(
    mechanism: Mechanism,
    space: Space,
    points: Points,
    factors: list[tuple[Factor, Factor]],
    columns: Columns | None = None,
) -> Skeleton:
    """Groups, features and frames; every frame can express what joints, loads and readers ask for."""
    sharing = share_features(mechanism, space.place, space.direction, columns)
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
    # bodies that move as one are no more what was read
    apart = columns is not None and len(sharing.groups) == len(columns.bodies) + 1
    return _framed(sharing, space, wanted, columns if apart else None)


def _framed(sharing: Sharing, space: Space, wanted: Wants, columns: Columns | None) -> Skeleton:
    """A frame for each group: groups that are alike side by side, the others one by one."""
    place, turn = space.place, space.direction
    work = Workshop(sharing, wanted, place, turn, lambda group: _mass(group, space), columns)
    classes = work.classes()
    # features that each group adds; -1 where it is in no class
    added, first = np.full((2, len(sharing.groups)), -1)
    for alike in classes:
        added[alike.groups] = alike.added
    frames: list[Frame | None] = []
    for i, more in enumerate(added[1:].tolist(), start=1):
        if more < 0:
            wanted[i].find(space.place, space.direction)
            group = sharing.groups[i]
            frames.append(make_frame(sharing, group, _mass(group, space), wanted[i]))
            continue
        frames.append(None)
        if more:
            first[i] = len(sharing.features)
            # their values stay in the class
            sharing.features += [Feature(ZERO, False)] * more
    for alike in classes:
        own = first[alike.groups][:, None] + np.arange(alike.added)
        alike.ids = np.hstack([alike.ids, own])
    _leave_to_one(sharing, frames)
    return Skeleton(space, sharing, frames, classes)


def solve_relations(
    mechanism: Mechanism, skeleton: Skeleton, products: list[Product]
) -> Coordinates:
    """Solve all linear relations between the features: of the frames, and those of joints."""
    features, planar = skeleton.sharing.features, mechanism.dimension == 2
    fixed = _fixed(features, planar)
    reduction = Reduction(3 * len(features))
    related = {
        i
        for alike in skeleton.classes
        if _has_relations(alike, planar)
        for i in (alike.groups - 1).tolist()
    }
    kept: list[Row] = []

    def solve(row: Row, prefer: tuple[int, ...]) -> None:
        if not reduction.eliminate(drop_fixed(row, fixed), prefer):
            kept.append(row)

    for i, frame in enumerate(skeleton.frames):
        if frame is None and i not in related:
            continue
        for linear, solve_for in skeleton.relations(i):
            for row in linear:
                solve(row, (3 * solve_for, 3 * solve_for + 1, 3 * solve_for + 2))
    # a product with a constant vector is linear: it is solved for once and for all
    joints = [_times(p.a.start, p.b.linear) for p in products if not p.a.moves]
    joints += [_times(p.b.start, p.a.linear) for p in products if p.a.moves and not p.b.moves]
    for row in joints:
        solve(row, ())
    sides = [
        side
        for alike in skeleton.classes
        for side in _sides(skeleton, alike, reduction, mechanism.dimension)
    ]
    used = {
        i
        for frame in skeleton.frames
        if frame is not None
        for linear in (feature_rows(frame.origin), *(v.linear for v in frame.vectors))
        for row in linear
        for i in reduction.substitute(drop_fixed(row, fixed))
    }
    used.update(i for row in kept for i in reduction.substitute(drop_fixed(row, fixed)))
    for side in sides:
        rows = side.coordinates.frame_rows(side.alike.frame)
        local = sorted({i for three in rows for row in three for i in row})
        used.update(side.alike.variables(local).ravel().tolist())
    reduction.number(used)
    return Coordinates(skeleton, products, reduction, fixed, mechanism.dimension, kept, sides=sides)


def _fixed(features: list[Feature], planar: bool) -> set[int]:
    """Variables that do not move."""
    fixed = {3 * k + c for k, f in enumerate(features) if f.fixed for c in range(3)}
    return fixed | {3 * k + 2 for k in range(len(features))} if planar else fixed


def _has_relations(alike: Alike, planar: bool) -> bool:
    """Whether frames of a class have linear relations between variables that move."""
    fixed = _fixed(alike.sharing.features, planar)
    rows = (row for linear, _ in alike.frame.relations for row in linear)
    return any(i not in fixed for row in rows for i in row)


# what linear relations made of a variable: nothing, zero, a form of others
_FREE, _ZERO, _SOLVED = 0, 1, 2


def _sides(
    skeleton: Skeleton, alike: Alike, reduction: Reduction, dimension: int
) -> Iterator[Side]:
    """A class with its rows, where relations made the same of its variables; others get frames of their own."""
    fixed = _fixed(alike.sharing.features, dimension == 2)
    frame = alike.frame
    linear = [feature_rows(frame.origin), *(v.linear for v in frame.vectors)]
    local = sorted({i for rows in linear for row in rows for i in row} - fixed)
    solved = reduction.solved(_FREE, _ZERO, _SOLVED)[alike.variables(local)]
    patterns, which = np.unique(solved, axis=0, return_inverse=True)
    for n, pattern in enumerate(patterns.tolist()):
        members = np.flatnonzero(which.ravel() == n)
        if _SOLVED in pattern or len(members) < LEAST:
            skeleton.part_with(alike.groups[members])
            continue
        part = alike if len(patterns) == 1 else alike.part(members)
        own = Reduction(3 * len(part.sharing.features))
        own.hold(i for i, made in zip(local, pattern, strict=True) if made == _ZERO)
        # it keeps the numbers of its variables
        own.columns = {i: i for i, made in zip(local, pattern, strict=True) if made == _FREE}
        bones = Skeleton(skeleton.space, part.sharing, [part.frame])
        side = Side(part, Coordinates(bones, [], own, fixed, dimension))
        try:
            with abreast():
                side.coordinates.frame_rows(part.frame)
            yield side
        except (PartedError, FloatingPointError):
            skeleton.part_with(part.groups)


def _model_directions(mechanism: Mechanism) -> Matrix:
    """Rows: the model's axes. A hinge on the ground gives the third, so that mechanisms which
    move in a plane across it keep two coordinates a point, however they stand in space.
    """
    if mechanism.dimension == 3:
        for joint in mechanism.joints:
            hinge = joint.kind.row.coordinate == "angle" and mechanism.GROUND in joint.bodies
            if hinge and joint.axis is not None:
                return _directions_to(unit(vector(joint.axis)))
    return AS_THEY_ARE


def _directions_to(z: Vector) -> Matrix:
    """Axes of which the third is this one."""
    sizes = [abs(x) for x in z]
    k = max(range(3), key=sizes.__getitem__)
    if sizes[k] == 1.0:
        # a permutation keeps the user's numbers bit for bit
        return [{(r + k + 1) % 3: 1.0} for r in range(3)]
    x = unit(cross(z, UNITS[min(range(3), key=sizes.__getitem__)]))
    return [dict(enumerate(row)) for row in (x, cross(z, x), z)]


def _units(mechanism: Mechanism, columns: Columns | None) -> Units:
    """A typical link, and the mean mass."""
    length = LINK * measure_length(mechanism, columns)
    return Units(length, mean([b.mass for b in mechanism.bodies]))


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


def _leave_to_one(sharing: Sharing, frames: list[Frame | None]) -> None:
    """Of groups that turn as one, only one frame needs to stay rigid: the others are linear in it."""
    largest: dict[int, Frame] = {}
    # a class has none of those that turn with others
    own = [(t, f) for t, f in zip(sharing.turning_with[1:], frames, strict=True) if f is not None]
    for turning, frame in own:
        held = largest.setdefault(turning, frame)
        if len(frame.vectors) > len(held.vectors):
            largest[turning] = frame
    for turning, frame in own:
        if frame is not largest[turning]:
            frame.products = []


def _times(start: Vector, linear: Linear) -> Row:
    """A constant vector times a linear form."""
    out: Row = {}
    for x, row in zip(start, linear, strict=True):
        for i, c in row.items():
            part = x * c
            out[i] = out[i] + part if i in out else part
    return cleaned([out])[0]
