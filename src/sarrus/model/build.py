"""From a mechanism to its model, step by step; each step sees what the steps before it have found.

coordinates      which points and vectors become q (coordinates.py)
equations        products of linear forms: rigid frames and joints (joints.py, quadratic.py), M and Q
rotors, gears    coordinates of joints, as coordinates of their own where needed (joint_coordinates.py)
loads, drives    loads.py, drives.py
rows to read     points and spinning bodies; poses of bodies, springs and joints only if asked for (model.py)

All is done over scalars, which are floats or the numbers of a tape (structure.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Flags, Floats, Ints
from ..kernels.layout import Form, pack
from ..kinematics.pose import BodyRows
from ..mechanism import Mechanism, MechanismError
from ..mechanism.columns import Columns, joints_that
from ..tape import PartedError, Scalar, abreast
from .coordinates import (
    Coordinates,
    Product,
    Side,
    make_skeleton,
    make_space,
    solve_relations,
)
from .drives import add_drives
from .frames import Frame
from .joint_coordinates import add_joint_coordinates
from .joints import GROUND, Factor, kept_products
from .loads import collect_loads
from .model import Model, Rows, Units
from .points import Points, readable_points
from .quadratic import (
    Batch,
    Entries,
    Equations,
    MasslessFreedomError,
    Scalars,
    Table,
    as_array,
    assemble_form,
    find_runs,
    flatten_rows,
)
from .vectors import UNITS, Row, Vector, combined, norm, over, subtract_rows, turned

# numbers of a cache line
LINE = 8
# of terms that cancel, what is rounding: it would only fill the factor
CANCELLED = 8e-16

# terms of the weight, column and value, and of the mass matrix, row, column and value
Shares = tuple[list[tuple[int, Scalar]], list[tuple[int, int, Scalar]]]
# the same of many frames: their numbers before
SideShares = tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]


class Part(tuple[int, int, tuple[int, ...]]):
    """A place in the block of numbers: from, to, shape."""


class Block:
    """All numbers of a model side by side, every list on a cache line of its own."""

    def __init__(self) -> None:
        self._parts: list[Scalars] = [np.zeros(0)]
        self._count = 0

    def take(self, values: Sequence[Scalar] | Scalars, *shape: int) -> Part:
        """Append scalars; shape: of the array they become."""
        array = values if isinstance(values, np.ndarray) else as_array(values)
        first, last = self._count, self._count + len(array)
        self._parts += [array, np.zeros(-len(array) % LINE)]
        self._count += len(array) + len(self._parts[-1])
        return Part((first, last, shape or (len(array),)))

    @property
    def values(self) -> Scalars:
        """All of them."""
        return np.concatenate(self._parts)


@dataclass(frozen=True)
class Blueprint:
    """A model without its numbers: whole numbers, and where in the block the others are."""

    dimension: int
    units: Part
    form: Form
    form_parts: tuple[tuple[int, Part], ...]
    loads: Any
    loaded: bool
    points: dict[str, int]
    place_rows: tuple[Ints, Ints, Part]
    origins: Part
    spun: dict[str, tuple[Ints, Ints, Part, Part]]
    drive_rates: Part
    user_calls: tuple[Any, ...]

    def make(self, mechanism: Mechanism, values: Any) -> Model:
        """The model with these numbers."""
        block = aligned(len(values))
        block[:] = values
        fields = list(self.form)
        for n, (first, last, _) in self.form_parts:
            fields[n] = block[first:last]
        form = Form._make(fields)
        start, col, part = self.place_rows
        nq = len(form.Q)
        return Model(
            mechanism=mechanism,
            dimension=self.dimension,
            units=Units(*take_part(block, self.units).tolist()),
            form=form,
            loads=fill(self.loads, block) if self.loaded else self.loads,
            points=self.points,
            place_rows=Rows(start, col, take_part(block, part), nq),
            origins=take_part(block, self.origins),
            spun={
                name: (Rows(start, col, take_part(block, val), nq), take_part(block, starts))
                for name, (start, col, val, starts) in self.spun.items()
            },
            drive_rates=take_part(block, self.drive_rates),
            user_calls=self.user_calls,
        )


def aligned(count: int) -> Floats:
    """Memory for so many numbers that begins on a cache line."""
    block = np.empty(count + LINE)
    first = (-block.__array_interface__["data"][0] % (8 * LINE)) // 8
    return block[first : first + count]


def take_part(block: Floats, part: Part) -> Floats:
    """An array of the block."""
    first, last, shape = part
    found = block[first:last]
    return found if len(shape) == 1 else found.reshape(shape)


def fill(loads: Any, block: Floats) -> Any:
    """Loads with arrays for parts."""
    if not isinstance(loads, tuple):
        return loads
    if isinstance(loads, Part):
        return take_part(block, loads)
    return type(loads)(*(fill(x, block) for x in loads))


def sum_up(parts: list[Scalar]) -> Scalar:
    """One after the other."""
    out = parts[0]
    for x in parts[1:]:
        out = out + x
    return out


def make_model(mechanism: Mechanism, columns: Columns | None = None) -> Model:
    """Choose natural coordinates and assemble the quadratic form of a checked mechanism.

    columns: bodies and joints as the check has read them just now, if it has.
    """
    from .structure import find_model

    return find_model(mechanism.copy(), columns)


def draw(
    mechanism: Mechanism, points: Points | None = None, columns: Columns | None = None
) -> Coordinates:
    """Every point and vector of a mechanism as rows over its coordinates.

    points: those that can be read; columns: those of the mechanism, if they were read.
    """
    if points is None:
        points = readable_points(mechanism, columns)
    factors = joint_factors(mechanism, columns)
    space = make_space(mechanism, columns)
    skeleton = make_skeleton(mechanism, space, points, factors, columns)
    products = [Product(skeleton.factor(a), skeleton.factor(b), a is b) for a, b in factors]
    return solve_relations(mechanism, skeleton, products)


def make_blueprint(
    mechanism: Mechanism, columns: Columns | None = None
) -> tuple[Blueprint, Scalars]:
    """The model's structure, and its numbers, which may be those of a tape; columns: as they were read."""
    points = readable_points(mechanism, columns)
    coordinates = draw(mechanism, points, columns)
    space = coordinates.skeleton.space
    equations = _collect_equations(coordinates)
    features = coordinates.features()
    rotors, more = add_joint_coordinates(mechanism, features, equations, coordinates.count)
    coordinates = replace(coordinates, more=more)
    nq = coordinates.count
    gravity = over(space.direction(mechanism.gravity), space.units.length)
    M, Q = _inertia(coordinates, gravity, rotors)
    loads = collect_loads(mechanism, features, points, nq)
    drives = add_drives(mechanism, features, equations)
    try:
        fields = assemble_form(equations, M, Q + as_array(loads.Q), drives)
    except MasslessFreedomError as error:
        raise MechanismError(_massless(coordinates, error.args[0])) from error
    block = Block()
    scalars = [name for name in Form._fields if fields[name].dtype != np.int64]
    form_parts = tuple((Form._fields.index(name), block.take(fields[name])) for name in scalars)
    # they are in the block
    whole = Form(**fields | dict.fromkeys(scalars, np.zeros(0)))
    start, col, val = _point_rows(coordinates, points)
    acting = loads.make_loads(drives.arrays(block), block)
    loaded = bool(loads.rows or drives.equations)
    blueprint = Blueprint(
        dimension=mechanism.dimension,
        units=block.take([space.units.length, space.units.mass]),
        form=pack(whole),
        form_parts=form_parts,
        loads=acting if loaded else fill(acting, np.zeros(0)),
        loaded=loaded,
        points=points.number,
        place_rows=(start, col, block.take(val)),
        origins=block.take(points.flat, -1, mechanism.dimension),
        spun={name: _spun(block, coordinates, name) for name, _ in mechanism.angular_velocities},
        drive_rates=block.take(drives.start_rates(equations.count)),
        user_calls=tuple(call for call, _ in loads.users),
    )
    return blueprint, block.values


def joint_factors(
    mechanism: Mechanism, columns: Columns | None = None
) -> list[tuple[Factor, Factor]]:
    """What joints keep; a driven length is not kept: its equation comes with the drive."""
    driven = {drive.joint for drive in mechanism.drives}
    return [
        pair
        for joint in joints_that(mechanism, columns, lambda row: bool(row.keeps))
        if not (joint.kind.row.coordinate == "length" and joint.name in driven)
        for pair in kept_products(joint)
    ]


def _collect_equations(coordinates: Coordinates) -> Equations:
    """The quadratic equations: of rigid frames, then of joints."""
    equations = Equations()
    frames = coordinates.skeleton.frames
    batches = [x for side in list(coordinates.sides) for x in _side_equations(coordinates, side)]
    alone = np.ones(len(frames), bool)
    for side, _ in batches:
        alone[side.alike.groups - 1] = False
    shared = _share_forms(coordinates, batches, np.flatnonzero(alone)) if batches else alone
    # numbers rise with the frames: those of batches are left out between the others
    sizes = np.zeros((2, len(frames) + 1), np.int64)
    for side, batch in batches:
        own = side.alike.groups - 1
        sizes[0, own + 1], sizes[1, own + 1] = len(batch.forms), len(batch.products)
    sizes[:, 1:][:, shared] = 0
    before = np.cumsum(sizes, axis=1)
    done = before[:, 0]
    numbered = []
    for n in np.flatnonzero(shared).tolist():
        equations.skip(*(before[:, n] - done).tolist())
        done = before[:, n]
        frame = coordinates.skeleton.one(n)
        _, *rows = coordinates.frame_rows(frame)
        for i, j in frame.products:
            a, b = frame.vectors[i].start, frame.vectors[j].start
            equations.add(rows[i], a, rows[j], b, i == j)
        numbered.append((n, equations.form_count, equations.count))
    equations.skip(*(before[:, -1] - done).tolist())
    _take_batches(
        equations, batches, shared, before, np.array(numbered, dtype=np.int64).reshape(-1, 3)
    )
    for row in coordinates.relations:
        equations.add(coordinates.rows([row]), [0.0], [{}], [1.0], False)
    for p in coordinates.products:
        if p.a.moves and p.b.moves:
            rows_a = coordinates.rows(p.a.linear)
            rows_b = rows_a if p.square else coordinates.rows(p.b.linear)
            equations.add(rows_a, p.a.start, rows_b, p.b.start, p.square)
    return equations


def _take_batches(
    equations: Equations,
    batches: list[tuple[Side, Batch]],
    shared: Flags,
    before: Ints,
    numbered: Ints,
) -> None:
    """Take over the equations of classes but for those frames that were added one by one.

    before: forms and equations of batches before each frame; numbered: frames that were added, and how many forms
    and equations there were behind each.
    """
    at, *counts = numbered.T
    # what was added, without what was left out
    added = [np.append(0, count - b[at]) for count, b in zip(counts, before, strict=True)]
    for side, batch in batches:
        own = np.flatnonzero(~shared[side.alike.groups - 1])
        frames = side.alike.groups[own] - 1
        more = np.searchsorted(at, frames)
        first_form, first_equation = (
            b[frames] + a[more] for b, a in zip(before, added, strict=True)
        )
        equations.take(batch.some(own, first_form, first_equation))


def _share_forms(coordinates: Coordinates, batches: list[tuple[Side, Batch]], alone: Ints) -> Flags:
    """Frames that are added one by one: those without a class, and those with forms over others' coordinates."""
    keys: list[tuple[int, ...]] = []
    owners: list[int] = []
    for n in alone.tolist():
        _, *rows = coordinates.frame_rows(coordinates.skeleton.one(n))
        found = {tuple(row) for three in rows for row in three}
        keys += found
        owners += [n] * len(found)
    widths = [x.shape[1] for _, batch in batches for x, _, _ in batch.forms]
    # point masses have no forms at all
    width = max([1, *map(len, keys), *widths])
    # each key as a row of this width; numbers from 1 on, so that shorter ones differ
    padded = [np.array([[c + 1 for c in key] + [0] * (width - len(key)) for key in keys])]
    frames = [np.array(owners, dtype=np.int64)]
    for side, batch in batches:
        for own, _, _ in batch.forms:
            padded.append(np.pad(own + 1, ((0, 0), (0, width - own.shape[1]))))
            frames.append(side.alike.groups - 1)
    columns = np.concatenate([x.reshape(-1, width) for x in padded]).astype(np.int64)
    owner = np.concatenate(frames)
    # those over the same coordinates are neighbours then
    order = np.lexsort((owner, *columns.T))
    columns, owner = columns[order], owner[order]
    again = np.all(columns[1:] == columns[:-1], axis=1) & (owner[1:] != owner[:-1])
    out = np.zeros(len(coordinates.skeleton.frames), bool)
    out[owner[1:][again]] = out[owner[:-1][again]] = True
    out[alone] = True
    return out


def _side_equations(coordinates: Coordinates, side: Side) -> Iterator[tuple[Side, Batch]]:
    """Forms and equations of all frames of a class."""
    try:
        with abreast():
            own = _collect_equations(side.coordinates)
    except (PartedError, FloatingPointError):
        coordinates.part_with(side)
        return
    floats, none = side.alike.floats, np.zeros(0, np.int64)
    forms = [(*side.table(row, coordinates.columns), floats(x)) for row, x in own.forms.values()]
    products = [
        (list(pairs), np.stack([floats(c) for c in pairs.values()], axis=1))
        for pairs in own.products.values()
    ]
    values = [floats(x) for x in own.values.values()]
    yield side, Batch(none, none, forms, products, values)


def _point_rows(coordinates: Coordinates, points: Points) -> tuple[Ints, Ints, Scalars]:
    """World rows of all points that can be read by name, compressed."""
    group_of, metres = coordinates.skeleton.sharing.group_of, coordinates.skeleton.space.metres
    width = coordinates.dimension
    groups = points.groups(group_of)
    order = np.argsort(groups, kind="stable")
    alone, table = np.ones(len(groups), bool), Table({})
    for side in coordinates.sides:
        try:
            with abreast():
                rows = [
                    combined(metres[:width], side.coordinates.rows(place))
                    for place in side.alike.places
                ]
        except (PartedError, FloatingPointError):
            continue
        # a class has them in this order
        first = np.searchsorted(groups[order], side.alike.groups)
        for n, three in enumerate(rows):
            numbers = order[first + n]
            alone[numbers] = False
            for c, row in enumerate(three):
                own = side.table(row, coordinates.columns)
                table.many.append((width * numbers + c, *own))
    alone &= groups != GROUND
    for n in np.flatnonzero(alone).tolist():
        own_rows = coordinates.world(points.owners[n], points.places[n])
        table.rows |= dict(enumerate(own_rows, start=width * n))
    return table.flatten(width * len(groups))


def plain_rows(rows: list[Row], columns: int) -> Rows:
    """Rows of floats."""
    return Rows(*flatten_rows(rows), columns)


def make_arm(
    model: Model, coordinates: Coordinates, bodies: tuple[str, ...], places: tuple[Floats, ...]
) -> Rows:
    """The vector between points of two bodies in world metres."""
    first, second = (coordinates.world(b, p) for b, p in zip(bodies, places, strict=True))
    rows = [subtract_rows(b, a) for a, b in zip(first, second, strict=True)]
    return plain_rows(rows, model.coordinates)


def make_body_rows(model: Model, coordinates: Coordinates) -> BodyRows:
    """Centres of all bodies and vectors fixed in them."""
    centers: list[Row] = []
    vectors: list[Row] = []
    starts: list[Vector] = []
    owner: list[int] = []
    mechanism, nq = model.mechanism, model.coordinates
    for i, body in enumerate(mechanism.bodies):
        rows = coordinates.world(body.name, body.center)
        centers += [*rows, *({} for _ in range(3 - len(rows)))]
        # beside a fixed direction one vector tells the pose
        rows, values = _vector_rows(coordinates, body.name, 1 if mechanism.dimension == 2 else 3)
        vectors += rows
        starts += values
        owner += [i] * len(values)
    return BodyRows(
        names=tuple(b.name for b in mechanism.bodies),
        centers=plain_rows(centers, nq).matrix,
        vectors=plain_rows(vectors, nq).matrix,
        starts=np.array(starts, dtype=float).reshape(-1, 3),
        owner=np.array(owner, dtype=np.int64),
    )


def _spun(block: Block, coordinates: Coordinates, body: str) -> tuple[Ints, Ints, Part, Part]:
    """Vectors fixed in a body: rows of their change in world directions, and their unit starts."""
    rows, starts = _vector_rows(coordinates, body, 3)
    start, col, val = flatten_rows(rows)
    return start, col, block.take(val), block.take([x for v in starts for x in v], -1, 3)


def _vector_rows(coordinates: Coordinates, body: str, most: int) -> tuple[list[Row], list[Vector]]:
    """Rows and unit starts of vectors fixed in a body, both in world directions."""
    frame, back = coordinates.skeleton.frame(body), coordinates.skeleton.space.back
    if frame is None:
        return [{} for _ in range(9)], [turned(back, u) for u in UNITS]
    rows: list[Row] = [{} for _ in range(3 * len(frame.directions))]
    starts = [turned(back, d) for d in frame.directions]
    for v in frame.vectors[:most]:
        size = norm(v.start)
        to_world = [{c: x / size for c, x in row.items()} for row in back]
        rows += combined(to_world, coordinates.rows(v.linear))
        starts.append(turned(back, over(v.start, size)))
    return rows, starts


def _massless(coordinates: Coordinates, numbers: list[int]) -> str:
    """Which bodies have a freedom without inertia, in words; numbers: of the coordinates."""
    features = {i // 3 for i, n in coordinates.reduction.columns.items() if n in numbers}
    skeleton = coordinates.skeleton
    names = [
        f"'{body.name}'"
        for i, group in enumerate(skeleton.sharing.groups[1:])
        if features & _features_of(skeleton.one(i))
        for body in group.bodies
    ]
    return (
        f"{' or '.join(names)} can move without moving any mass, or next to none: there is no inertia "
        "about an axis that no joint holds; give it one (a section, if it is a rod), or hold that axis"
    )


def _features_of(frame: Frame) -> set[int]:
    return {frame.origin, *(k // 3 for v in frame.vectors for row in v.linear for k in row)}


def _shares(coordinates: Coordinates, frame: Frame, gravity: Vector) -> Shares:
    """What a frame adds to weight and mass matrix: T = 1/2 sum G_ij f_i' f_j' over its features f."""
    weight: list[tuple[int, Scalar]] = []
    mass: list[tuple[int, int, Scalar]] = []
    features = coordinates.frame_rows(frame)
    for i, rows_i in enumerate(features):
        for c in range(3):
            for a, x in rows_i[c].items():
                weight.append((a, frame.gram[0][i] * gravity[c] * x))
                for j, rows_j in enumerate(features):
                    if rows_j[c] and frame.gram[i][j] != 0.0:
                        share = frame.gram[i][j] * x
                        mass += [(a, b, share * y) for b, y in rows_j[c].items()]
    return weight, mass


def _inertia(
    coordinates: Coordinates, gravity: Vector, rotors: list[tuple[Row, Scalar]]
) -> tuple[Entries, Scalars]:
    """Mass matrix and weight of all frames, and of rotors."""
    sides = [
        x for side in list(coordinates.sides) for x in _side_shares(coordinates, side, gravity)
    ]
    own = [
        (n, _shares(coordinates, frame, gravity))
        for n, frame in enumerate(coordinates.skeleton.frames)
        if frame is not None
    ]
    moved = [
        (a, b, inertia * x * y)
        for row, inertia in rotors
        for a, x in row.items()
        for b, y in row.items()
    ]
    own.append((len(coordinates.skeleton.frames), ([], moved)))
    if sides:
        return _summed_up(coordinates.count, sides, own)
    entries: dict[tuple[int, int], list[Scalar]] = defaultdict(list)
    Q: list[Scalar] = [0.0] * coordinates.count
    for _, (weight, mass) in own:
        for a, x in weight:
            Q[a] = Q[a] + x
        for a, b, x in mass:
            entries[a, b].append(x)
    M = {at: sum_up(parts) for at, parts in entries.items()}
    kept = sorted(
        at
        for at, value in M.items()
        if value is entries[at][0] or abs(value) > CANCELLED * sum_up([abs(x) for x in entries[at]])
    )
    rows, columns = np.array(kept, dtype=np.int64).reshape(-1, 2).T.copy()
    return Entries(rows, columns, as_array([M[at] for at in kept])), as_array(Q)


def _side_shares(coordinates: Coordinates, side: Side, gravity: Vector) -> Iterator[SideShares]:
    """Weight and mass of a class: numbers of the frames and columns of each term, and its values."""
    try:
        with abreast():
            found = _shares(side.coordinates, side.alike.frame, gravity)
    except (PartedError, FloatingPointError):
        coordinates.part_with(side)
        return
    columns, alike = coordinates.columns, side.alike
    weight, mass = (
        [
            (alike.groups - 1, *columns[alike.variables(list(at))].T, alike.floats(x))
            for *at, x in terms
        ]
        for terms in found
    )
    yield weight, mass


def _summed_up(
    nq: int, sides: list[SideShares], own: list[tuple[int, Shares]]
) -> tuple[Entries, Scalars]:
    """The sums of all terms, one after the other in the order of the frames, as they are without classes."""

    def gathered(kind: int, width: int) -> tuple[Ints, Scalars]:
        terms = [(n, *term) for n, shares in own for term in shares[kind]]
        alone = np.array(terms, dtype=float).reshape(-1, width).T
        parts: list[Any] = [alone, *(term for shares in sides for term in shares[kind])]
        whole = [np.concatenate([part[i] for part in parts]) for i in range(width)]
        return np.array(whole[:-1], dtype=np.int64), whole[-1]

    (frames, a), x = gathered(0, 3)
    order = np.argsort(frames, kind="stable")
    Q = np.bincount(a[order], x[order], nq)
    (frames, a, b), x = gathered(1, 4)
    at = a * nq + b
    order = np.argsort(at * (frames.max(initial=0) + 1) + frames, kind="stable")
    first, count = find_runs(at[order])
    place = np.repeat(np.arange(len(first)), count)
    values = np.bincount(place, x[order], len(first))
    sizes = np.bincount(place, np.abs(x[order]), len(first))
    kept = (count == 1) | (np.abs(values) > CANCELLED * sizes)
    rows, columns = np.divmod(at[order[first[kept]]], nq)
    return Entries(rows, columns, values[kept]), Q
