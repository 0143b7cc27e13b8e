"""From a mechanism to its model: the order of the steps, and the assembly of the arrays.

groups and shared features   sharing.py
a frame for each group       frames.py
linear relations solved      reduce.py
forms, products, M, Q        here
loads and drives             loads.py, drives.py
elimination order            order.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np
from scipy import sparse

from ..arrays import Floats
from ..mechanism import Body, Joint, JointKind, Mechanism, MechanismError
from .drives import add_drives, drive_needs
from .frames import Frame, FrameVector, Linear, Mass, Wanted, make_frame
from .joints import POINT_SHARED, Direction, Factor, kept_products
from .loads import Features, collect_loads, load_needs
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

RowsOf = Callable[[Linear], list[Row]]


def make_model(mechanism: Mechanism) -> Model:
    """Choose natural coordinates and assemble the quadratic form of a checked mechanism."""
    turn = _model_directions(mechanism)
    units = _units(mechanism)

    def place(p: Floats) -> Floats:
        return turn @ _in_space(p) / units.length

    sharing = share_features(mechanism, place, lambda d: turn @ _in_space(d))
    wanted = _wanted_points(mechanism)
    driven = {drive.joint for drive in mechanism.drives}
    # a driven length is not kept: its equation comes with the drive
    products = [
        pair
        for joint in mechanism.joints
        if not (joint.kind is JointKind.DISTANCE and joint.name in driven)
        for pair in kept_products(joint)
    ]
    further: dict[int, Wanted] = defaultdict(Wanted)
    for body, at in wanted.values():
        further[sharing.group_of[body]].points.append(place(at))
    for factor in (f for pair in products for f in pair):
        if isinstance(factor, Direction):
            vector = turn @ _in_space(factor.start)
            further[sharing.group_of[factor.body]].vectors.append(vector)
        else:
            further[sharing.group_of[factor.first]].points.append(place(factor.first_at))
            further[sharing.group_of[factor.second]].points.append(place(factor.second_at))
    for body, where, directions in [*load_needs(mechanism), *drive_needs(mechanism)]:
        further[sharing.group_of[body]].points += [] if where is None else [place(where)]
        further[sharing.group_of[body]].vectors += [turn @ d for d in directions]
    masses = [_mass(g, turn, units) for g in sharing.groups[1:]]
    frames = [
        make_frame(sharing, group, mass, further[i])
        for i, (group, mass) in enumerate(zip(sharing.groups[1:], masses, strict=True), start=1)
    ]
    _leave_to_one(sharing, frames)

    def form_of(factor: Factor) -> FrameVector:
        """A factor of a joint's product as a linear form of the features."""
        if isinstance(factor, Direction):
            start, group = turn @ _in_space(factor.start), sharing.group_of[factor.body]
            return FrameVector({} if group == GROUND else frames[group - 1].vector(start), start)
        ends = [place(factor.first_at), place(factor.second_at)]
        groups = [sharing.group_of[factor.first], sharing.group_of[factor.second]]
        first, second = (
            {} if group == GROUND else frames[group - 1].point(end)
            for group, end in zip(groups, ends, strict=True)
        )
        return FrameVector(_minus(second, first), ends[1] - ends[0])

    kept = [(form_of(a), form_of(b), a is b) for a, b in products]
    # a product with a constant vector is linear: it is solved for once and for all
    linear = [_times(a.start, b.linear) for a, b, _ in kept if not a.linear]
    linear += [_times(b.start, a.linear) for a, b, _ in kept if a.linear and not b.linear]
    kept = [(a, b, square) for a, b, square in kept if a.linear and b.linear]
    reduction, fixed = _reduce(mechanism, sharing, frames, linear)
    nq = len(reduction.columns)

    def rows_of(linear: Linear) -> list[Row]:
        return [reduction.coordinates(drop_fixed(r, fixed)) for r in component_rows(linear)]

    gravity = turn @ _in_space(mechanism.gravity) / units.length
    M, Q = _inertia(frames, rows_of, gravity, nq)
    equations = Equations()
    for frame in frames:
        for i, j in frame.products:
            a, b = frame.vectors[i], frame.vectors[j]
            equations.add(rows_of(a.linear), a.start, rows_of(b.linear), b.start, i == j)
    for a, b, square in kept:
        equations.add(rows_of(a.linear), a.start, rows_of(b.linear), b.start, square)
    back = turn.T[: mechanism.dimension] * units.length

    def features_of(body: str, linear: Callable[[Frame], Linear]) -> list[Row]:
        group = sharing.group_of[body]
        return [{}, {}, {}] if group == GROUND else rows_of(linear(frames[group - 1]))

    features = Features(
        point=lambda body, at: (features_of(body, lambda f: f.point(place(at))), place(at)),
        vector=lambda body, d: (features_of(body, lambda f: f.vector(turn @ d)), turn @ d),
        fixed=lambda body: (
            list(np.eye(3))
            if sharing.group_of[body] == GROUND
            else frames[sharing.group_of[body] - 1].directions
        ),
        world=lambda body, at: _dense_times_rows(
            back, features_of(body, lambda f: f.point(place(at)))
        ),
        turn=turn,
        length=units.length,
        energy=units.energy,
    )
    loads = collect_loads(mechanism, features, wanted, nq)
    drives = add_drives(mechanism, features, equations)
    try:
        form = assemble_form(equations, M, Q + loads.Q, drives)
    except MasslessFreedomError as error:
        raise MechanismError(_massless(sharing, frames, reduction, error.args[0])) from error

    names, blocks, origins = {}, [], []
    for n, (name, (body, at)) in enumerate(wanted.items()):
        names[name] = n
        origins.append(at)
        group = sharing.group_of[body]
        rows = [] if group == GROUND else rows_of(frames[group - 1].point(place(at)))
        blocks.append(_dense_times_rows(back, rows))
    places = sparse_from_rows([r for block in blocks for r in block], nq)

    def centers(body: Body) -> list[Row]:
        # a joint or point may bear the name of a body: then its centre is not among the points
        if wanted[body.name][1] is body.center:
            return blocks[names[body.name]]
        group = sharing.group_of[body.name]
        rows = [] if group == GROUND else rows_of(frames[group - 1].point(place(body.center)))
        return _dense_times_rows(back, rows)

    return Model(
        name=mechanism.name,
        dimension=mechanism.dimension,
        units=units,
        form=form,
        loads=loads.make_loads(drives.arrays()),
        points=names,
        places=places,
        origins=np.array(origins),
        body_vectors={
            name: _body_vectors(sharing, frames, name, rows_of, turn, nq)
            for name, _ in mechanism.angular_velocities
        },
        body_rows=_body_rows(mechanism, sharing, frames, rows_of, centers, turn, nq),
        readings=make_readings(mechanism, features, nq),
        drive_rates=drives.start_rates(len(form.phi0)),
        user_calls=tuple(call for call, _ in loads.users),
    )


def _body_rows(
    mechanism: Mechanism,
    sharing: Sharing,
    frames: list[Frame],
    rows_of: RowsOf,
    center_rows: Callable[[Body], list[Row]],
    turn: Floats,
    nq: int,
) -> BodyRows:
    """Centres of all bodies and vectors fixed in them."""
    centers: list[Row] = []
    vectors: list[Row] = []
    starts: list[Floats] = []
    owner: list[int] = []
    for i, body in enumerate(mechanism.bodies):
        rows = center_rows(body)
        centers += [*rows, *({} for _ in range(3 - len(rows)))]
        # beside a fixed direction one vector tells the pose
        most = 1 if mechanism.dimension == 2 else 3
        rows, values = _vector_rows(sharing, frames, body.name, rows_of, turn, most)
        vectors += rows
        starts += values
        owner += [i] * len(values)
    return BodyRows(
        names=tuple(b.name for b in mechanism.bodies),
        centers=sparse_from_rows(centers, nq),
        vectors=sparse_from_rows(vectors, nq),
        starts=np.array(starts, dtype=float).reshape(-1, 3) @ turn,
        owner=np.array(owner, dtype=np.int64),
    )


def _body_vectors(
    sharing: Sharing, frames: list[Frame], body: str, rows_of: RowsOf, turn: Floats, nq: int
) -> tuple[sparse.csr_array, Floats]:
    """Vectors fixed in a body: rows of their change in world directions, and their unit starts."""
    rows, starts = _vector_rows(sharing, frames, body, rows_of, turn, 3)
    return sparse_from_rows(rows, nq), np.array(starts).reshape(-1, 3) @ turn


def _vector_rows(
    sharing: Sharing, frames: list[Frame], body: str, rows_of: RowsOf, turn: Floats, most: int
) -> tuple[list[Row], list[Floats]]:
    """Rows in world directions, and unit starts in the model's, of vectors fixed in a body."""
    group = sharing.group_of[body]
    if group == GROUND:
        return [{} for _ in range(9)], list(np.eye(3))
    frame = frames[group - 1]
    rows: list[Row] = [{} for _ in range(3 * len(frame.directions))]
    starts = list(frame.directions)
    for v in frame.vectors[:most]:
        size = float(np.linalg.norm(v.start))
        rows += _dense_times_rows(turn.T / size, rows_of(v.linear))
        starts.append(v.start / size)
    return rows, starts


def _massless(
    sharing: Sharing, frames: list[Frame], reduction: Reduction, coordinates: list[int]
) -> str:
    """Which bodies have a freedom without inertia, in words."""
    features = {i // 3 for i, n in reduction.columns.items() if n in coordinates}
    names = [
        f"'{body.name}'"
        for group, frame in zip(sharing.groups[1:], frames, strict=True)
        if features & {frame.origin, *(k for v in frame.vectors for k in v.linear)}
        for body in group.bodies
    ]
    return (
        f"{' or '.join(names)} can move without moving any mass, or next to none: there is no inertia "
        "about an axis that no joint holds; give it one (a section, if it is a rod), or hold that axis"
    )


def _in_space(vector: Floats) -> Floats:
    return np.append(vector, 0.0) if len(vector) == 2 else vector


def _model_directions(mechanism: Mechanism) -> Floats:
    """Rows: the model's axes. A hinge on the ground gives the third, so that mechanisms which
    move in a plane across it keep two coordinates a point, however they stand in space.
    """
    if mechanism.dimension == 3:
        for joint in mechanism.joints:
            hinge = joint.kind is JointKind.REVOLUTE and mechanism.GROUND in joint.bodies
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
    at = defaultdict(list)
    for joint in mechanism.joints:
        if joint.at is not None:
            for b in joint.bodies:
                at[b].append(joint.at)
    # links without mass and springs hold bodies, too
    ends = [(j.bodies, j.places) for j in mechanism.joints if j.places is not None]
    for bodies, places in [*ends, *((s.bodies, s.ends) for s in mechanism.springs)]:
        for b, place in zip(bodies, places, strict=True):
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


def _wanted_points(mechanism: Mechanism) -> dict[str, tuple[str, Floats]]:
    """Readable points: joints, markers, centres of bodies; a joint's name wins over a body's."""
    points: dict[str, tuple[str, Floats]] = {b.name: (b.name, b.center) for b in mechanism.bodies}
    for marker in mechanism.markers:
        points[marker.name] = (marker.body, marker.at)
    for joint in mechanism.joints:
        if joint.at is not None:
            points[joint.name] = (_point_owner(joint), joint.at)
    return points


def _point_owner(joint: Joint) -> str:
    """The body whose point bears the joint's name: where the bodies slide, that of the second."""
    if joint.kind in POINT_SHARED or joint.kind is JointKind.WELD:
        return next((b for b in joint.bodies if b == Mechanism.GROUND), joint.bodies[0])
    first, second = joint.bodies
    return first if second == Mechanism.GROUND else second


def _mass(group: Group, turn: Floats, units: Units) -> Mass:
    """Mass, centre and second moments of all bodies of a group."""
    mass = sum(b.mass for b in group.bodies)
    center = sum((b.mass * _in_space(b.center) for b in group.bodies), np.zeros(3)) / mass
    moments = np.zeros((3, 3))
    for body in group.bodies:
        arm = _in_space(body.center) - center
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


def _reduce(
    mechanism: Mechanism, sharing: Sharing, frames: list[Frame], joints: list[Linear]
) -> tuple[Reduction, set[int]]:
    """Solve all linear relations between the features: of the frames, and those of joints."""
    fixed = {3 * k + c for k, f in enumerate(sharing.features) if f.fixed for c in range(3)}
    if mechanism.dimension == 2:
        fixed |= {3 * k + 2 for k in range(len(sharing.features))}
    reduction = Reduction(3 * len(sharing.features))
    for frame in frames:
        for linear, solve_for in frame.relations:
            for row in component_rows(linear):
                prefer = (3 * solve_for, 3 * solve_for + 1, 3 * solve_for + 2)
                reduction.eliminate(drop_fixed(row, fixed), prefer)
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
    reduction.number(fixed | (set(range(3 * len(sharing.features))) - used))
    return reduction, fixed


def _inertia(
    frames: list[Frame], rows_of: RowsOf, gravity: Floats, nq: int
) -> tuple[sparse.csr_array, Floats]:
    """Mass matrix and weight: T = 1/2 sum G_ij f_i' f_j' over the features f of each frame."""
    entries: dict[tuple[int, int], float] = defaultdict(float)
    sizes: dict[tuple[int, int], float] = defaultdict(float)
    Q = np.zeros(nq)
    for frame in frames:
        features = [rows_of({frame.origin: np.eye(3)}), *(rows_of(v.linear) for v in frame.vectors)]
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
