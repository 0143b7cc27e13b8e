"""Natural coordinates: which points and vectors of a mechanism become q, and all others as rows over it.

Space            the user's places and directions in the model's units and axes
Skeleton         groups and shared features (joints.py), a frame for each group (frames.py)
Coordinates      linear relations solved (reduce.py): any point or vector as rows over q

Only names, joints, what loads and readers ask for and the start position count here; of the masses only
where the centre of a group is and which directions it spreads in.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..kinematics.pose import LINK, in_space, measure_length
from ..mechanism import Body, Mechanism
from .drives import coordinate_needs
from .frames import Frame, FrameVector, Linear, Mass, Wanted, make_frame
from .joints import GROUND, Direction, Factor, Group, Sharing, share_features
from .loads import Features, load_needs
from .model import Units
from .reduce import Reduction, Row, component_rows, drop_fixed

# body and place at the start [m] of all points that can be read by name
Points = dict[str, tuple[str, Floats]]


@dataclass(frozen=True)
class Space:
    """The model's axes (rows of turn, in world directions) and units."""

    turn: Floats
    units: Units

    def place(self, p: Floats) -> Floats:
        """A place [m] in the model."""
        return self.turn @ in_space(p) / self.units.length

    def direction(self, d: Floats) -> Floats:
        """A direction in the model."""
        return self.turn @ in_space(d)


@dataclass(frozen=True)
class Product:
    """A scalar product that a joint keeps; square: of a vector with itself."""

    a: FrameVector
    b: FrameVector
    square: bool


@dataclass(frozen=True)
class Skeleton:
    """Groups of bodies, the features they share, and the frame of each group but the ground."""

    space: Space
    sharing: Sharing
    frames: list[Frame]

    def frame(self, body: str) -> Frame | None:
        """The frame that a body belongs to; None for the ground."""
        group = self.sharing.group_of[body]
        return None if group == GROUND else self.frames[group - 1]

    def point(self, body: str, at: Floats) -> Linear:
        """A point of a body, by its place at the start [m], as a linear form of the features."""
        frame = self.frame(body)
        return {} if frame is None else frame.point(self.space.place(at))

    def vector(self, body: str, d: Floats) -> Linear:
        """A vector fixed in a body, by its world direction at the start."""
        frame = self.frame(body)
        return {} if frame is None else frame.vector(self.space.direction(d))

    def factor(self, factor: Factor) -> FrameVector:
        """A factor of a joint's product; nothing of it is linear if the ground holds it."""
        if isinstance(factor, Direction):
            start = self.space.direction(factor.start)
            return FrameVector(self.vector(factor.body, factor.start), start)
        first = self.point(factor.first, factor.first_at)
        second = self.point(factor.second, factor.second_at)
        start = self.space.place(factor.second_at) - self.space.place(factor.first_at)
        return FrameVector(_minus(second, first), start)


@dataclass(frozen=True)
class Coordinates:
    """Every point and vector of a mechanism as rows over its coordinates q."""

    skeleton: Skeleton
    reduction: Reduction
    fixed: set[int]
    dimension: int
    # of rotors, which no feature has
    more: int = 0

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.reduction.columns) + self.more

    def rows(self, linear: Linear) -> list[Row]:
        """A linear form of the features."""
        return [
            self.reduction.coordinates(drop_fixed(r, self.fixed)) for r in component_rows(linear)
        ]

    def point(self, body: str, at: Floats) -> list[Row]:
        """A point of a body, by its place at the start [m], in the model's units and axes."""
        return self._rows(body, self.skeleton.point(body, at))

    def vector(self, body: str, d: Floats) -> list[Row]:
        """A vector fixed in a body, by its world direction at the start, in the model's axes."""
        return self._rows(body, self.skeleton.vector(body, d))

    def world(self, body: str, at: Floats) -> list[Row]:
        """A point of a body in world metres."""
        space = self.skeleton.space
        back = space.turn.T[: self.dimension] * space.units.length
        return matrix_times_rows(back, self.point(body, at))

    def features(self) -> Features:
        """What loads, drives and readings ask for."""
        space = self.skeleton.space

        def fixed(body: str) -> list[Floats]:
            frame = self.skeleton.frame(body)
            return list(np.eye(3)) if frame is None else frame.directions

        return Features(
            point=lambda body, at: (self.point(body, at), space.place(at)),
            vector=lambda body, d: (self.vector(body, d), space.direction(d)),
            fixed=fixed,
            world=self.world,
            turn=space.turn,
            length=space.units.length,
            energy=space.units.energy,
        )

    def _rows(self, body: str, linear: Linear) -> list[Row]:
        return [{}, {}, {}] if self.skeleton.frame(body) is None else self.rows(linear)


def make_space(mechanism: Mechanism) -> Space:
    """The model's axes and units for a mechanism."""
    return Space(_model_directions(mechanism), _units(mechanism))


def make_skeleton(
    mechanism: Mechanism, space: Space, points: Points, factors: list[tuple[Factor, Factor]]
) -> Skeleton:
    """Groups, features and frames; every frame can express what joints, loads and readers ask for."""
    sharing = share_features(mechanism, space.place, space.direction)
    wanted: dict[int, Wanted] = defaultdict(Wanted)

    def of(body: str) -> Wanted:
        return wanted[sharing.group_of[body]]

    for body, at in points.values():
        of(body).points.append(space.place(at))
    for factor in (f for pair in factors for f in pair):
        if isinstance(factor, Direction):
            of(factor.body).vectors.append(space.direction(factor.start))
        else:
            of(factor.first).points.append(space.place(factor.first_at))
            of(factor.second).points.append(space.place(factor.second_at))
    for body, where, directions in [*load_needs(mechanism), *coordinate_needs(mechanism)]:
        of(body).points += [] if where is None else [space.place(where)]
        of(body).vectors += [space.direction(d) for d in directions]
    masses = [_mass(group, space) for group in sharing.groups[1:]]
    frames = [
        make_frame(sharing, group, mass, wanted[i])
        for i, (group, mass) in enumerate(zip(sharing.groups[1:], masses, strict=True), start=1)
    ]
    _leave_to_one(sharing, frames)
    return Skeleton(space, sharing, frames)


def solve_relations(
    mechanism: Mechanism, skeleton: Skeleton, products: list[Product]
) -> Coordinates:
    """Solve all linear relations between the features: of the frames, and those of joints."""
    features, frames = skeleton.sharing.features, skeleton.frames
    fixed = {3 * k + c for k, f in enumerate(features) if f.fixed for c in range(3)}
    if mechanism.dimension == 2:
        fixed |= {3 * k + 2 for k in range(len(features))}
    reduction = Reduction(3 * len(features))
    for frame in frames:
        for linear, solve_for in frame.relations:
            for row in component_rows(linear):
                prefer = (3 * solve_for, 3 * solve_for + 1, 3 * solve_for + 2)
                reduction.eliminate(drop_fixed(row, fixed), prefer)
    # a product with a constant vector is linear: it is solved for once and for all
    joints = [_times(p.a.start, p.b.linear) for p in products if not p.a.linear]
    joints += [_times(p.b.start, p.a.linear) for p in products if p.a.linear and not p.b.linear]
    for linear in joints:
        for row in component_rows(linear):
            reduction.eliminate(drop_fixed(row, fixed), ())
    used = {
        i
        for frame in frames
        for linear in ({frame.origin: np.eye(3)}, *(v.linear for v in frame.vectors))
        for row in component_rows(linear)
        for i in reduction.substitute(drop_fixed(row, fixed))
    }
    reduction.number(fixed | (set(range(3 * len(features))) - used))
    return Coordinates(skeleton, reduction, fixed, mechanism.dimension)


def _model_directions(mechanism: Mechanism) -> Floats:
    """Rows: the model's axes. A hinge on the ground gives the third, so that mechanisms which
    move in a plane across it keep two coordinates a point, however they stand in space.
    """
    if mechanism.dimension == 3:
        for joint in mechanism.joints:
            hinge = joint.kind.row.coordinate == "angle" and mechanism.GROUND in joint.bodies
            if hinge and joint.axis is not None:
                z = joint.axis / np.linalg.norm(joint.axis)
                k = int(np.argmax(np.abs(z)))
                if abs(z[k]) == 1.0:
                    # a permutation keeps the user's numbers bit for bit
                    return np.roll(np.eye(3), k + 1, axis=1) if k < 2 else np.eye(3)
                x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
                x /= np.linalg.norm(x)
                return np.array([x, np.cross(z, x), z])
    return np.eye(3)


def _units(mechanism: Mechanism) -> Units:
    """A typical link, and the mean mass."""
    length = LINK * measure_length(mechanism)
    return Units(length, float(np.mean([b.mass for b in mechanism.bodies])))


def _mass(group: Group, space: Space) -> Mass:
    """Mass, centre and second moments of all bodies of a group."""
    turn, units = space.turn, space.units
    mass = sum(b.mass for b in group.bodies)
    center = sum((b.mass * in_space(b.center) for b in group.bodies), np.zeros(3)) / mass
    moments = np.zeros((3, 3))
    for body in group.bodies:
        arm = in_space(body.center) - center
        moments += _moments(body) + body.mass * np.outer(arm, arm)
    moments = turn @ moments @ turn.T / units.energy
    return Mass(mass / units.mass, turn @ center / units.length, 0.5 * (moments + moments.T))


def _moments(body: Body) -> Floats:
    """Second moments of mass about the centre, from the inertia."""
    if body.inertia.ndim == 0:
        return np.diag([0.5, 0.5, 0.0]) * float(body.inertia)
    return 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia


def _leave_to_one(sharing: Sharing, frames: list[Frame]) -> None:
    """Of groups that turn as one, only one frame needs to stay rigid: the others are linear in it."""
    largest: dict[int, Frame] = {}
    for turning, frame in zip(sharing.turning_with[1:], frames, strict=True):
        held = largest.setdefault(turning, frame)
        if len(frame.vectors) > len(held.vectors):
            largest[turning] = frame
    for turning, frame in zip(sharing.turning_with[1:], frames, strict=True):
        if frame is not largest[turning]:
            frame.products = []


def _minus(a: Linear, b: Linear) -> Linear:
    out = dict(a)
    for k, m in b.items():
        out[k] = out[k] - m if k in out else -m
    # points of one group may have parts in common
    return {k: m for k, m in out.items() if np.any(m)}


def _times(vector: Floats, linear: Linear) -> Linear:
    return {k: vector[None, :] @ m for k, m in linear.items()}


def matrix_times_rows(matrix: Floats, rows: list[Row]) -> list[Row]:
    """A dense matrix times rows."""
    out: list[Row] = [{} for _ in range(matrix.shape[0])]
    for c, row in enumerate(rows):
        for target, factor in zip(out, matrix[:, c], strict=True):
            if factor != 0.0:
                for i, x in row.items():
                    target[i] = target.get(i, 0.0) + factor * x
    return out
