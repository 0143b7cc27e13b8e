"""From a mechanism to its model, step by step; each step sees what the steps before it have found.

coordinates      which points and vectors become q (coordinates.py)
equations        products of linear forms: rigid frames and joints (joints.py, quadratic.py), M and Q
rotors, gears    coordinates of joints, as coordinates of their own where needed (joint_coordinates.py)
loads, drives    loads.py, drives.py
rows to read     points, poses of bodies, springs and joints (model.py)
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
from scipy import sparse

from ..arrays import Floats
from ..kinematics.pose import BodyRows
from ..mechanism import Joint, Mechanism, MechanismError
from .coordinates import (
    Coordinates,
    Points,
    Product,
    make_skeleton,
    make_space,
    matrix_times_rows,
    solve_relations,
)
from .drives import add_drives
from .frames import FrameVector
from .joint_coordinates import add_joint_coordinates
from .joints import Factor, kept_products
from .loads import collect_loads
from .model import Model, make_readings
from .quadratic import (
    Equations,
    MasslessFreedomError,
    assemble_form,
    sparse_from_entries,
    sparse_from_rows,
)
from .reduce import Row


def make_model(mechanism: Mechanism) -> Model:
    """Choose natural coordinates and assemble the quadratic form of a checked mechanism."""
    space = make_space(mechanism)
    points = _readable_points(mechanism)
    factors = _joint_factors(mechanism)
    skeleton = make_skeleton(mechanism, space, points, factors)
    products = [Product(skeleton.factor(a), skeleton.factor(b), a is b) for a, b in factors]
    coordinates = solve_relations(mechanism, skeleton, products)
    equations = _collect_equations(coordinates, products)
    features = coordinates.features()
    rotors, more = add_joint_coordinates(mechanism, features, equations, coordinates.count)
    coordinates = replace(coordinates, more=more)
    nq = coordinates.count
    gravity = space.direction(mechanism.gravity) / space.units.length
    M, Q = _inertia(coordinates, gravity, rotors)
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
        loads=loads.make_loads(drives.arrays()),
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
        rows += matrix_times_rows(back, coordinates.rows(v.linear))
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


def _inertia(
    coordinates: Coordinates, gravity: Floats, rotors: list[tuple[Row, float]]
) -> tuple[sparse.csr_array, Floats]:
    """Mass matrix and weight: T = 1/2 sum G_ij f_i' f_j' over the features f of each frame, and of rotors."""
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
    for row, inertia in rotors:
        for a, x in row.items():
            for b, y in row.items():
                entries[a, b] += inertia * x * y
                sizes[a, b] += abs(inertia * x * y)
    # what terms that cancel leave is rounding, and would only fill the factor
    kept = {at: value for at, value in entries.items() if abs(value) > 8e-16 * sizes[at]}
    return sparse_from_entries(kept, (nq, nq)), Q
