"""Builds the model of a mechanism, step by step; each step uses the results of the steps before it.

coordinates      which points and vectors become q (coordinates.py)
equations        products of linear forms: rigid frames and joints (joint_constraints.py, quadratic.py), M
and Q
rotors, gears    coordinates of joints, as additional coordinates where needed (joint_coordinates.py)
loads, drives    force_forms.py, drives.py
rows to read     points and spinning bodies; poses of bodies, springs and joints only on request (model.py)

All arithmetic uses scalars, which are floats or traced numbers (structure.py).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np

from ..arrays import Flags, Ints
from ..kernels.layout import Form, pack
from ..mechanism import Mechanism, MechanismError
from ..mechanism.part_arrays import PartArrays, read_parts
from ..thresholds import DOUBTFUL_COEFFICIENT, ZERO_COEFFICIENT
from ..tracing import Scalar, UntracedError
from .blueprint import BlockPart, Blueprint, NumberBlock, fill
from .body_classes import BodyClass
from .coordinates import (
    ClassRows,
    Coordinates,
    draw,
)
from .drives import add_drives
from .force_forms import collect_loads
from .frames import Frame
from .joint_constraints import GROUND
from .joint_coordinates import add_joint_coordinates
from .model import Model
from .points import Points, points_of_parts
from .quadratic import (
    BodyBatch,
    Entries,
    Equations,
    MasslessDofError,
    RowTable,
    Scalars,
    as_array,
    as_columns,
    assemble_form,
    find_runs,
    flatten_rows,
    summed_at,
)
from .readings import vector_rows
from .structure import Lookup, Structure, look_up, trace
from .vectors import Row, Vector, combined, over

# share of cancelling terms that is rounding; it would only fill the factor
CANCELLED = 8e-16

# terms of gravity (column, value), and of the mass matrix (row, column, value)
Shares = tuple[list[tuple[int, Scalar]], list[tuple[int, int, Scalar]]]


def make_model(mechanism: Mechanism) -> Model:
    """Choose natural coordinates and assemble the quadratic form of a checked mechanism."""
    own = mechanism.copy()
    return model_of(own, look_up(own))


def model_of(mechanism: Mechanism, known: Lookup) -> Model:
    """The model of a mechanism, which must not change any more; known: its cached data."""
    if known.structure is not None:
        return known.structure.make(mechanism, known.values)
    return build_from_scratch(mechanism, known)


def build_from_scratch(mechanism: Mechanism, known: Lookup | None = None) -> Model:
    """Build the model without the cache; known: where its structure is stored, if anywhere."""
    with _no_collection():
        blueprint, values = make_blueprint(mechanism, read_parts(mechanism))
    structure = Structure(blueprint)
    if known is not None:
        structure = known.keep(structure, values)
        # callers who build a mechanism only once do not wait for the tape
        if known.is_worth_a_trace:
            with suppress(UntracedError):
                known.keep(trace(mechanism, make_blueprint), values)
    return structure.make(mechanism, values)


def traced_structure(model: Model) -> Structure:
    """The structure of a model with a replay that includes the check; raises UntracedError if there is none."""
    structure = model.structure
    if structure.replay is None:
        found = trace(model.mechanism, make_blueprint)
        if found.blueprint.digest != structure.blueprint.digest:
            raise UntracedError("a tape decides otherwise than floats do")
        structure.take(found)
    if not structure.is_sound:
        raise UntracedError("the check cannot be recorded")
    return structure


@contextmanager
def _no_collection() -> Iterator[None]:
    """Disable garbage collection: a large model consists of millions of small objects without cycles."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def make_rounded_model(mechanism: Mechanism) -> Model:
    """The model without linear relations that may result from rounding of the dimensions, for local analyses."""
    own = mechanism.copy()
    blueprint, values = make_blueprint(own, read_parts(own), DOUBTFUL_COEFFICIENT)
    return replace(Structure(blueprint).make(own, values), zero=DOUBTFUL_COEFFICIENT)


def make_blueprint(
    mechanism: Mechanism, parts: PartArrays, zero: float = ZERO_COEFFICIENT
) -> tuple[Blueprint, Scalars]:
    """The model's structure, and its numbers, which may be traced; zero: of linear relations."""
    points = points_of_parts(mechanism, parts)
    coordinates = draw(mechanism, parts, points, zero)
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
    except MasslessDofError as error:
        raise MechanismError(_massless(coordinates, error.args[0])) from error
    block = NumberBlock()
    scalars = [name for name in Form._fields if fields[name].dtype != np.int64]
    form_parts = tuple((Form._fields.index(name), block.take(fields[name])) for name in scalars)
    # the scalars are in the block
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
        origins=block.take(points.places.ravel(), -1, mechanism.dimension),
        spun={name: _spun(block, coordinates, name) for name, _ in mechanism.angular_velocities},
        drive_rates=block.take(drives.start_rates(equations.count)),
        user_calls=tuple(call for call, _ in loads.users),
        doubtful=coordinates.reduction.doubtful or coordinates.skeleton.sharing.doubtful,
    )
    return blueprint, block.values


def _collect_equations(coordinates: Coordinates) -> Equations:
    """The quadratic equations: of rigid frames, then of joints."""
    equations = Equations()
    batches, ones = _batches(coordinates)
    # numbers of forms and equations of each group: those of batches are known, the others follow in the order of
    # the groups
    sizes = np.zeros((2, len(coordinates.skeleton.sharing.groups)), np.int64)
    for groups, batch in batches:
        sizes[0, groups], sizes[1, groups] = len(batch.forms), len(batch.products)
    before, done = np.cumsum(sizes, axis=1), np.zeros(2, np.int64)
    for group, c in sorted([(int(c.of.groups[0]), c) for c in ones], key=itemgetter(0)):
        equations.skip(*(before[:, group] - done).tolist())
        done = before[:, group]
        forms, count = equations.form_count, equations.count
        rows = [[coordinates.numbered(row) for row in three] for three in c.frame[1:]]
        _add_frame(equations, c.of.frame, rows)
        sizes[:, group] = equations.form_count - forms, equations.count - count
    equations.skip(*(before[:, -1] - done).tolist())
    first = np.cumsum(sizes, axis=1) - sizes
    for groups, batch in batches:
        equations.take(replace(batch, first_form=first[0, groups], first_equation=first[1, groups]))
    for row in coordinates.relations:
        equations.add(coordinates.rows([row]), [0.0], [{}], [1.0], False)
    for p in coordinates.products:
        if p.a.moves and p.b.moves:
            rows_a = coordinates.rows(p.a.linear)
            rows_b = rows_a if p.square else coordinates.rows(p.b.linear)
            equations.add(rows_a, p.a.start, rows_b, p.b.start, p.square)
    return equations


def _add_frame(equations: Equations, frame: Frame, rows: list[list[Row]]) -> None:
    """Add the products that a frame keeps constant; rows: of its vectors."""
    for i, j in frame.products:
        a, b = frame.vectors[i].start, frame.vectors[j].start
        equations.add(rows[i], a, rows[j], b, i == j)


def _batches(coordinates: Coordinates) -> tuple[list[tuple[Ints, BodyBatch]], list[ClassRows]]:
    """Groups of batched classes with their equations, and classes of one, whose equations are added one by one.

    Groups that share forms with others are also classes of one, because equal forms are stored once.
    """

    def find(c: ClassRows) -> Equations:
        own = Equations()
        _add_frame(own, c.of.frame, c.frame[1:])
        return own

    ones = [c for c in coordinates.classes if not c.of.is_many]
    if len(ones) == len(coordinates.classes):
        return [], ones
    found = coordinates.each_class(find)
    ones = [c for c, _ in found if not c.of.is_many]
    many = [(c, own) for c, own in found if c.of.is_many]
    batches = []
    shared = _sharing_forms(coordinates, found)
    for c, own in many:
        apart = shared[c.of.groups]
        which = np.flatnonzero(~apart)
        ones += [
            ClassRows(c.of.member(m), coordinates.reduction, coordinates.fixed)
            for m in np.flatnonzero(apart).tolist()
        ]
        batches.append((c.of.groups[which], _batch(coordinates, c.of, own).some(which)))
    return batches, ones


def _batch(coordinates: Coordinates, of: BodyClass, own: Equations) -> BodyBatch:
    """Equations of a batched class over all coordinates, not numbered yet."""
    none = np.zeros(0, np.int64)
    return BodyBatch(
        first_form=none,
        first_equation=none,
        forms=[(*coordinates.table(of, row), of.floats(x)) for row, x in own.forms.values()],
        products=[
            (list(pairs), np.stack([of.floats(c) for c in pairs.values()], axis=1))
            for pairs in own.products.values()
        ],
        values=[of.floats(x) for x in own.values.values()],
    )


def _sharing_forms(coordinates: Coordinates, found: list[tuple[ClassRows, Equations]]) -> Flags:
    """Groups with a form that may be over the same variables as one of another group.

    Forms are compared by their number of variables, the first and the last: for up to two variables this is
    complete.
    """
    size = 3 * len(coordinates.skeleton.sharing.features)
    codes, owners = [], []
    for c, own in found:
        for row in {tuple(row) for row, _ in own.forms.values()}:
            at = c.of.variables(list(row))
            first, last = at[:, :1].sum(axis=1), at[:, -1:].sum(axis=1)
            codes.append((len(row) * size + first) * size + last)
            owners.append(c.of.groups)
    out = np.zeros(len(coordinates.skeleton.sharing.groups), bool)
    if codes:
        code, owner = np.concatenate(codes), np.concatenate(owners)
        order = np.argsort(code, kind="stable")
        code, owner = code[order], owner[order]
        again = np.flatnonzero((code[1:] == code[:-1]) & (owner[1:] != owner[:-1]))
        out[owner[again]] = out[owner[again + 1]] = True
    return out


def _point_rows(coordinates: Coordinates, points: Points) -> tuple[Ints, Ints, Scalars]:
    """Compressed world rows of all points that can be read by name."""
    skeleton, width = coordinates.skeleton, coordinates.dimension
    metres = skeleton.space.metres[:width]
    groups = points.groups(skeleton.sharing.group_of)
    # the points of a class are in this order
    order = np.argsort(groups, kind="stable")
    first = np.searchsorted(groups[order], np.arange(len(skeleton.sharing.groups)))
    table = RowTable({})
    found = coordinates.each_class(lambda c: [combined(metres, c.rows(p)) for p in c.of.places])
    for c, places in found:
        for n, three in enumerate(places):
            numbers = width * order[first[c.of.groups] + n]
            for i, row in enumerate(three):
                if c.of.is_many:
                    table.many.append((numbers + i, *coordinates.table(c.of, row)))
                else:
                    table.rows[int(numbers[0]) + i] = coordinates.numbered(row)
    return table.flatten(width * len(groups))


def _spun(
    block: NumberBlock, coordinates: Coordinates, body: str
) -> tuple[Ints, Ints, BlockPart, BlockPart]:
    """Vectors fixed in a body: rows of their change in world directions, and their initial unit values."""
    rows, starts = vector_rows(coordinates, body, 3)
    start, col, val = flatten_rows(rows)
    return start, col, block.take(val), block.take([x for v in starts for x in v], -1, 3)


def _massless(coordinates: Coordinates, numbers: list[int]) -> str:
    """The bodies with a degree of freedom without inertia, in words; numbers: of the coordinates."""
    features = {i // 3 for i, n in coordinates.reduction.columns.items() if n in numbers}
    skeleton = coordinates.skeleton
    names = [
        f"'{body.name}'"
        for i, group in enumerate(skeleton.sharing.groups)
        if i != GROUND and features & _features_of(skeleton.one(i))
        for body in group.bodies
    ]
    return (
        f"{' or '.join(names)} can move without moving any mass, or next to none: there is no inertia "
        "about an axis that no joint fixes; give it one (a section, if it is a rod), or fix that axis"
    )


def _features_of(frame: Frame) -> set[int]:
    return {frame.origin, *(k // 3 for v in frame.vectors for row in v.linear for k in row)}


def _shares(c: ClassRows, gravity: Vector) -> Shares:
    """Contribution of a frame to gravity and mass matrix: T = 1/2 sum G_ij f_i' f_j' over its features f."""
    weight: list[tuple[int, Scalar]] = []
    mass: list[tuple[int, int, Scalar]] = []
    gram = c.of.frame.gram
    for i, rows_i in enumerate(c.frame):
        for k in range(3):
            for a, x in rows_i[k].items():
                weight.append((a, gram[0][i] * gravity[k] * x))
                for j, rows_j in enumerate(c.frame):
                    if rows_j[k] and gram[i][j] != 0.0:
                        share = gram[i][j] * x
                        mass += [(a, b, share * y) for b, y in rows_j[k].items()]
    return weight, mass


def _inertia(
    coordinates: Coordinates, gravity: Vector, rotors: list[tuple[Row, Scalar]]
) -> tuple[Entries, Scalars]:
    """Mass matrix and gravity of all frames and rotors: sums of their terms in the order of the groups."""
    found = coordinates.each_class(lambda c: _shares(c, gravity))
    (groups, a), x = _gathered(coordinates, [(c.of, weight) for c, (weight, _) in found], [], 1)
    order = np.argsort(groups, kind="stable")
    Q = summed_at(a[order], x[order], coordinates.count)
    moved = [
        (a, b, inertia * x * y)
        for row, inertia in rotors
        for a, x in row.items()
        for b, y in row.items()
    ]
    (groups, a, b), x = _gathered(coordinates, [(c.of, mass) for c, (_, mass) in found], moved, 2)
    at = a * coordinates.count + b
    order = np.argsort(at * (groups.max(initial=0) + 1) + groups, kind="stable")
    at, x = at[order], x[order]
    first, count = find_runs(at)
    place, n = np.repeat(np.arange(len(first)), count), len(first)
    values, sizes = summed_at(place, x, n), summed_at(place, np.abs(x), n)
    kept = count == 1
    kept[~kept] = np.abs(values[~kept]) > CANCELLED * sizes[~kept]
    rows, columns = np.divmod(at[first[kept]], coordinates.count)
    return Entries(rows, columns, values[kept]), Q


def _gathered(
    coordinates: Coordinates, found: list[tuple[BodyClass, list[Any]]], more: list[Any], width: int
) -> tuple[Ints, Scalars]:
    """Terms of all classes: the group and the coordinates (width) of each, (1 + width, n), and its value.

    more: terms over coordinates, appended after those of all groups.
    """
    numbers: list[Any] = [(len(coordinates.skeleton.sharing.groups), *at) for *at, _ in more]
    values = [x for *_, x in more]
    columns, many = coordinates.reduction.columns, []
    for of, terms in found:
        if of.is_many:
            for *own, x in terms:
                at = coordinates.columns[of.variables(own)]
                many.append((np.vstack([of.groups, at.T]), of.floats(x)))
        else:
            group = int(of.groups[0])
            numbers += [(group, *[columns[i] for i in term[:-1]]) for term in terms]
            values += [term[-1] for term in terms]
    ones, found_values = as_columns(numbers, 1 + width), as_array(values)
    if not many:
        return ones, found_values
    whole = np.concatenate([ones, *(at for at, _ in many)], axis=1)
    return whole, np.concatenate([found_values, *(x for _, x in many)])
