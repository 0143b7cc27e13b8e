"""From a mechanism to its model, step by step; each step sees what the steps before it have found.

Space            the user's places and directions in the model's units and axes
Skeleton         groups and shared features (sharing.py), a frame for each group (frames.py)
Coordinates      linear relations solved (reduce.py): any point or vector as rows over q
equations        products of linear forms: rigid frames and joints (joints.py, quadratic.py), M and Q
loads, drives    loads.py, drives.py
rows to read     points, poses of bodies, springs and joints (readings.py)

Up to the skeleton only names, joints and the start position count; numbers enter with M, Q and the loads.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..arrays import Floats
from ..kernels.layout import Loads
from ..mechanism import Body, Joint, Mechanism, MechanismError
from .drives import add_drives, drive_needs
from .frames import Frame, FrameVector, Linear, Mass, Wanted, make_frame
from .joints import Direction, Factor, kept_products
from .loads import Features, collect_loads, in_space, load_needs
from .model import BodyRows, Model, Units
from .quadratic import (
    Equations,
    MasslessFreedomError,
    assemble_form,
    sparse_from_entries,
    sparse_from_rows,
)
from .readings import make_readings
from .reduce import Reduction, Row, component_rows, drop_fixed
from .sharing import GROUND, Group, Sharing, share_features

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

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.reduction.columns)

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
        return _dense_times_rows(back, self.point(body, at))

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


def make_model(mechanism: Mechanism) -> Model:
    """Choose natural coordinates and assemble the quadratic form of a checked mechanism."""
    space = Space(_model_directions(mechanism), _units(mechanism))
    points = _readable_points(mechanism)
    factors = _joint_factors(mechanism)
    skeleton = _make_skeleton(mechanism, space, points, factors)
    products = [Product(skeleton.factor(a), skeleton.factor(b), a is b) for a, b in factors]
    coordinates = _solve_relations(mechanism, skeleton, products)
    nq = coordinates.count
    gravity = space.direction(mechanism.gravity) / space.units.length
    M, Q = _inertia(coordinates, gravity)
    equations = _collect_equations(coordinates, products)
    features = coordinates.features()
    loads = collect_loads(mechanism, features, points, nq)
    drives = add_drives(mechanism, features, equations)
    try:
        form = assemble_form(equations, M, Q + loads.Q, drives)
    except MasslessFreedomError as error:
        raise MechanismError(_massless(coordinates, error.args[0])) from error
    blocks = {name: coordinates.world(body, at) for name, (body, at) in points.items()}
    return Model(
        name=mechanism.name,
        dimension=mechanism.dimension,
        units=space.units,
        form=form,
        loads=Loads(**loads.arrays(), **drives.arrays()),
        points={name: n for n, name in enumerate(points)},
        places=sparse_from_rows([row for block in blocks.values() for row in block], nq),
        origins=np.array([at for _, at in points.values()]),
        body_vectors={
            name: _body_vectors(coordinates, name) for name, _ in mechanism.angular_velocities
        },
        body_rows=_body_rows(mechanism, coordinates, points, blocks),
        readings=make_readings(mechanism, features, nq),
        drive_rates=drives.start_rates(len(form.phi0)),
        user_calls=tuple(call for call, _ in loads.users),
    )


def _joint_factors(mechanism: Mechanism) -> list[tuple[Factor, Factor]]:
    """What joints keep; a driven length is not kept: its equation comes with the drive."""
    driven = {drive.joint for drive in mechanism.drives}
    return [
        pair
        for joint in mechanism.joints
        if not (joint.kind.row.coordinate == "length" and joint.name in driven)
        for pair in kept_products(joint)
    ]


def _make_skeleton(
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
    for body, where, directions in [*load_needs(mechanism), *drive_needs(mechanism)]:
        of(body).points += [] if where is None else [space.place(where)]
        of(body).vectors += [space.direction(d) for d in directions]
    masses = [_mass(group, space) for group in sharing.groups[1:]]
    frames = [
        make_frame(sharing, group, mass, wanted[i])
        for i, (group, mass) in enumerate(zip(sharing.groups[1:], masses, strict=True), start=1)
    ]
    _leave_to_one(sharing, frames)
    return Skeleton(space, sharing, frames)


def _solve_relations(
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


def _collect_equations(coordinates: Coordinates, products: list[Product]) -> Equations:
    """The quadratic equations: of rigid frames, then of joints."""
    equations = Equations()
    for frame in coordinates.skeleton.frames:
        for i, j in frame.products:
            _add_product(equations, coordinates, frame.vectors[i], frame.vectors[j], i == j)
    for p in products:
        if p.a.linear and p.b.linear:
            _add_product(equations, coordinates, p.a, p.b, p.square)
    return equations


def _add_product(
    equations: Equations, coordinates: Coordinates, a: FrameVector, b: FrameVector, square: bool
) -> None:
    equations.add(coordinates.rows(a.linear), a.start, coordinates.rows(b.linear), b.start, square)


def _body_rows(
    mechanism: Mechanism, coordinates: Coordinates, points: Points, blocks: dict[str, list[Row]]
) -> BodyRows:
    """Centres of all bodies and vectors fixed in them; blocks: rows of the points known already."""
    centers: list[Row] = []
    vectors: list[Row] = []
    starts: list[Floats] = []
    owner: list[int] = []
    for i, body in enumerate(mechanism.bodies):
        # a joint or point may bear the name of a body: then its centre is not among the points
        known = points[body.name][1] is body.center
        rows = blocks[body.name] if known else coordinates.world(body.name, body.center)
        centers += [*rows, *({} for _ in range(3 - len(rows)))]
        # beside a fixed direction one vector tells the pose
        rows, values = _vector_rows(coordinates, body.name, 1 if mechanism.dimension == 2 else 3)
        vectors += rows
        starts += values
        owner += [i] * len(values)
    return BodyRows(
        names=tuple(b.name for b in mechanism.bodies),
        centers=sparse_from_rows(centers, coordinates.count),
        vectors=sparse_from_rows(vectors, coordinates.count),
        starts=np.array(starts, dtype=float).reshape(-1, 3) @ coordinates.skeleton.space.turn,
        owner=np.array(owner, dtype=np.int64),
    )


def _body_vectors(coordinates: Coordinates, body: str) -> tuple[sparse.csr_array, Floats]:
    """Vectors fixed in a body: rows of their change in world directions, and their unit starts."""
    rows, starts = _vector_rows(coordinates, body, 3)
    world = np.array(starts).reshape(-1, 3) @ coordinates.skeleton.space.turn
    return sparse_from_rows(rows, coordinates.count), world


def _vector_rows(coordinates: Coordinates, body: str, most: int) -> tuple[list[Row], list[Floats]]:
    """Rows in world directions, and unit starts in the model's, of vectors fixed in a body."""
    frame = coordinates.skeleton.frame(body)
    if frame is None:
        return [{} for _ in range(9)], list(np.eye(3))
    rows: list[Row] = [{} for _ in range(3 * len(frame.directions))]
    starts = list(frame.directions)
    for v in frame.vectors[:most]:
        size = float(np.linalg.norm(v.start))
        back = coordinates.skeleton.space.turn.T / size
        rows += _dense_times_rows(back, coordinates.rows(v.linear))
        starts.append(v.start / size)
    return rows, starts


def _massless(coordinates: Coordinates, numbers: list[int]) -> str:
    """Which bodies have a freedom without inertia, in words; numbers: of the coordinates."""
    features = {i // 3 for i, n in coordinates.reduction.columns.items() if n in numbers}
    skeleton = coordinates.skeleton
    names = [
        f"'{body.name}'"
        for group, frame in zip(skeleton.sharing.groups[1:], skeleton.frames, strict=True)
        if features & {frame.origin, *(k for v in frame.vectors for k in v.linear)}
        for body in group.bodies
    ]
    return (
        f"{' or '.join(names)} can move without moving any mass, or next to none: there is no inertia "
        "about an axis that no joint holds; give it one (a section, if it is a rod), or hold that axis"
    )


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
    """Typical distance from a body's centre to its joints, and typical mass."""
    at: dict[str, list[Floats]] = defaultdict(list)
    # links without mass and springs hold bodies, too
    links = [j for j in mechanism.joints if j.kind.row.is_link]
    for joint in [*(j for j in mechanism.joints if not j.kind.row.is_link), *links]:
        for end in joint.ends:
            at[end.body] += [] if end.place is None else [end.place]
    for spring in mechanism.springs:
        for b, place in zip(spring.bodies, spring.ends, strict=True):
            at[b].append(place)
    arms = []
    for body in mechanism.bodies:
        arms += [float(np.linalg.norm(p - body.center)) for p in at[body.name]]
    spread = [float(np.sqrt(np.max(b.inertia) / b.mass)) for b in mechanism.bodies]
    # an arm far shorter than the body is the rounding of a joint at its centre; without arms it is the
    # spread of the mass that counts, or a metre for a point
    arms = [a for a in arms if a > 1e-12 * max([*arms, *spread])] or [s for s in spread if s > 0]
    # a link between two joints is about twice the arm from its centre
    length = 2.0 * float(np.mean(arms)) if arms else 1.0
    return Units(length, float(np.mean([b.mass for b in mechanism.bodies])))


def _readable_points(mechanism: Mechanism) -> Points:
    """Joints, markers, centres of bodies; a joint's name wins over a body's."""
    points: Points = {b.name: (b.name, b.center) for b in mechanism.bodies}
    for marker in mechanism.markers:
        points[marker.name] = (marker.body, marker.at)
    for joint in mechanism.joints:
        if joint.at is not None:
            points[joint.name] = (_point_owner(joint), joint.at)
    return points


def _point_owner(joint: Joint) -> str:
    """The body whose point bears the joint's name: where the bodies slide, that of the second."""
    if not joint.kind.row.slides:
        return next((b for b in joint.bodies if b == Mechanism.GROUND), joint.bodies[0])
    first, second = joint.bodies
    return first if second == Mechanism.GROUND else second


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


def _inertia(coordinates: Coordinates, gravity: Floats) -> tuple[sparse.csr_array, Floats]:
    """Mass matrix and weight: T = 1/2 sum G_ij f_i' f_j' over the features f of each frame."""
    entries: dict[tuple[int, int], float] = defaultdict(float)
    sizes: dict[tuple[int, int], float] = defaultdict(float)
    nq = coordinates.count
    Q = np.zeros(nq)
    for frame in coordinates.skeleton.frames:
        forms = [{frame.origin: np.eye(3)}, *(v.linear for v in frame.vectors)]
        features = [coordinates.rows(form) for form in forms]
        for i, rows_i in enumerate(features):
            for c in range(3):
                for a, x in rows_i[c].items():
                    Q[a] += frame.gram[0, i] * gravity[c] * x
                    for j, rows_j in enumerate(features):
                        if frame.gram[i, j] != 0.0:
                            for b, y in rows_j[c].items():
                                part = frame.gram[i, j] * x * y
                                entries[a, b] += part
                                sizes[a, b] += abs(part)
    # what terms that cancel leave is rounding, and would only fill the factor
    kept = {at: value for at, value in entries.items() if abs(value) > 8e-16 * sizes[at]}
    return sparse_from_entries(kept, (nq, nq)), Q


def _dense_times_rows(matrix: Floats, rows: list[Row]) -> list[Row]:
    out: list[Row] = [{} for _ in range(matrix.shape[0])]
    for c, row in enumerate(rows):
        for target, factor in zip(out, matrix[:, c], strict=True):
            if factor != 0.0:
                for i, x in row.items():
                    target[i] = target.get(i, 0.0) + factor * x
    return out
