"""The heavy half of `simulate_many`: models, code of their own in lanes, and general runs for what needs care.

fast       runs whose model has its own code, many at once
parked     what the fast path does not certify: a landing beside a singular position, a singular start, no step
           that holds, what would be told of it, dampers that may be stiff, users' forces. `solve` runs them
           wholly, as it does for `simulate`.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .arrays import Flags, Floats, plain_sum
from .asked import Asked
from .assembly.velocities import solve_start_velocities
from .codegen import series
from .codegen.lanes import Found, lanes_of
from .codegen.structure import (
    PLACE,
    RATE,
    Column,
    Slot,
    Structure,
    make_structure,
    number_arrays,
    number_values,
)
from .kernels.native import is_available
from .mechanism import Mechanism, MechanismError, check_drive_times, check_mechanism
from .mechanism.check import find_gaps, find_problems
from .mechanism.files.units import LARGEST
from .methods import Status
from .methods.digits import describe_floor, wants_digits
from .methods.series import describe_loosened
from .methods.status import done
from .model import Model
from .model.build import make_blueprint
from .model.model import Rows
from .model.points import readable_points
from .names import pick
from .result import Result
from .solving import Prepared, is_held, prepare, solve
from .tape import Tape, UntracedError
from .thresholds import SINGULAR_LANDING
from .variants import Runs, Variants
from .verdict.crossings import zero_of

# unrolled updates of a factor up to which code of its own pays; and runs for which it is compiled
MOST_UPDATES = 20_000
FEWEST_RUNS = 16
# pieces of the motions of drives, each loaded for every run; and numbers of a polynomial, which make the least
# order: that of a device is 16
MOST_PIECES, MOST_POWERS = 1000, 12
# variants of an ensemble are tried as the base of a tape as long as so many of the last tapes held this many each:
# a tape takes as long as some ten runs
TAPES, WORTH = 16, 10
# shares of a list that come near to any place of it soon
GOLDEN = 0.6180339887498949
# how well a model by its tape agrees with that of a file's numbers, which are made by other arithmetic: rounding
AGREE = 1e-11
REFUSED = "refused"
# runs whose outputs are copied at once
AT_ONCE = 256
COUNTERS = {
    "steps": series.STEPS,
    "rejected": series.REJECTED,
    "coefficients": series.COEFFICIENTS,
    "factorisations": series.FACTORISATIONS,
    "loosened": series.LOOSENED,
}


def run_all(
    mechanisms: list[Mechanism] | Variants,
    asked: Asked,
    points: tuple[str, ...],
    *,
    keep: bool,
    crossings: bool,
    threads: int | None,
    gpu: bool,
) -> Runs:
    """All runs: what can be done fast, then the rest; where more digits are wanted, lanes have none."""
    first = mechanisms.base if isinstance(mechanisms, Variants) else mechanisms[0]
    for name in points:
        _check_point(mechanisms, name)
    if gpu:
        from .codegen.device import find_cupy

        find_cupy()
    table = Table(len(mechanisms), first.dimension, asked, points, keep, crossings)
    for group in (
        () if wants_digits(asked.setting) and not gpu else _groups(mechanisms, asked, points, table)
    ):
        found = run_group(group, asked, threads or _cores(), keep, gpu=gpu, crossings=crossings)
        table.take(group, found)
    table.finish(mechanisms)
    varied = mechanisms.vary if isinstance(mechanisms, Variants) else {}
    return replace(table.runs(), vary=varied)


@dataclass
class Group:
    """Runs of one structure: which, their numbers (slots, runs), joules of a unit of energy, notes to tell."""

    which: np.ndarray
    structure: Structure
    numbers: Floats
    energy: Floats
    notes: list[list[str]]


def run_group(
    group: Group,
    asked: Asked,
    threads: int,
    keep: bool,
    *,
    gpu: bool = False,
    crossings: bool = False,
) -> Found:
    """Run them in lanes or on a device."""
    zero = zero_of(asked.setting) if crossings else None
    if gpu:
        from .codegen.device import run_on_device

        return run_on_device(
            group.structure, group.numbers, asked.outputs, asked.duration, asked.setting,
            most_steps=asked.max_steps, keep=keep, zero=zero,
        )  # fmt: skip
    return lanes_of(group.structure, crossings).run(
        group.numbers, asked.outputs, asked.duration, asked.setting,
        most_steps=asked.max_steps, threads=threads, keep=keep, zero=zero,
    )  # fmt: skip


# models: structure and numbers


def point_columns(model: Model, points: tuple[str, ...]) -> tuple[tuple[Column, ...], list[Floats]]:
    """Columns of places and velocities of points, and the numbers of their rows."""
    columns, rows = [], []
    for name in points:
        part, origin = model.point_rows(name), model.origin(name)
        for level in (PLACE, RATE):
            for c in range(model.dimension):
                at = slice(part.indptr[c], part.indptr[c + 1])
                offset = [origin[c]] if level == PLACE else []
                columns.append(Column(level, tuple(part.indices[at].tolist()), level == PLACE))
                rows.append(np.concatenate([part.data[at], offset]))
    return tuple(columns), rows


def _has_code(model: Model) -> bool:
    """Whether a model is one for code of its own: something moves, loads with a series, not too large."""
    small = model.coordinates > 0 and len(model.form.L_target) <= MOST_UPDATES
    loads = model.loads
    driven = len(loads.drives.equations) > 0
    rows, degree = loads.drives.polynomials.shape
    # users' functions have no code
    plain = rows <= MOST_PIECES and degree <= MOST_POWERS and not len(loads.user.calls)
    return is_available() and small and plain and (driven or not is_held(model))


def _split(ready: Prepared, points: tuple[str, ...]) -> tuple[Structure, Floats]:
    columns, rows = point_columns(ready.model, points)
    args = ready.model.form, ready.model.loads if ready.model.loaded else None, ready.velocity
    return make_structure(*args, columns, rows), number_values(*args, rows)


def _groups(
    mechanisms: list[Mechanism] | Variants, asked: Asked, points: tuple[str, ...], table: Table
) -> Iterator[Group]:
    """Runs that have code of their own, by structure; the others are left to the table."""
    if isinstance(mechanisms, Variants) and len(mechanisms) >= FEWEST_RUNS:
        which: Iterable[int] = yield from _trace_groups(mechanisms, asked, points)
    else:
        which = range(len(mechanisms))
    found: dict[str, tuple[Structure, list[tuple[int, Floats, float, list[str]]]]] = {}
    for i in which:
        try:
            mechanism = _one_of(mechanisms, i)
            _check(mechanism, asked)
            ready = prepare(mechanism, asked)
            for name in points:
                ready.model.origin(name)
        except (MechanismError, ValueError) as error:
            table.refuse(i, str(error))
            continue
        if _has_code(ready.model):
            structure, numbers = _split(ready, points)
            entry = numbers, ready.model.units.energy, ready.notes
            found.setdefault(structure.digest, (structure, []))[1].append((i, *entry))
    for structure, runs in found.values():
        if len(runs) >= FEWEST_RUNS:
            which, blocks, energy, notes = zip(*runs, strict=True)
            block = np.array(blocks).T.copy()
            yield Group(np.array(which), structure, block, np.array(energy), list(notes))


def _trace_groups(
    ensemble: Variants, asked: Asked, points: tuple[str, ...]
) -> Generator[Group, None, list[int]]:
    """Variants by their numbers alone, one group a structure; those that are left are run one by one.

    Returns those that are to be built each: all, where none can be traced.
    """
    left, found = np.arange(len(ensemble)), {}  # type: Any, dict[str, list[Group]]
    held: list[int] = []
    untraced = 0
    while len(left) and (len(held) < TAPES or plain_sum(held[-TAPES:]) >= WORTH * TAPES):
        # those that cannot be often stand beside each other
        at = int(len(held) * GOLDEN % 1.0 * len(left))
        held.append(0)
        try:
            base = {path: values[left[at]] for path, values in ensemble.vary.items()}
            traced = Traced(ensemble, asked, points, base)
        except NotTogetherError as error:
            # it is told by itself why
            untraced += isinstance(error, NotTracedError)
            left = np.delete(left, at)
            continue
        group = traced.group({path: values[left] for path, values in ensemble.vary.items()})
        held[-1] = len(group.which)
        which, left = left[group.which], np.delete(left, group.which)
        found.setdefault(group.structure.digest, []).append(replace(group, which=which))
    for groups in found.values():
        # what a model's builder decides is often no other structure for its code
        if plain_sum(len(group.which) for group in groups) >= FEWEST_RUNS:
            yield Group(
                np.concatenate([group.which for group in groups]),
                groups[0].structure,
                np.concatenate([group.numbers for group in groups], axis=1),
                np.concatenate([group.energy for group in groups]),
                [notes for group in groups for notes in group.notes],
            )
    return [] if found or not untraced else list(range(len(ensemble)))


class NotTogetherError(Exception):
    """Variants that cannot be built of one tape: this one cannot be simulated, or has no code of its own."""


class NotTracedError(NotTogetherError):
    """Something is decided by numbers that a tape does not see, as a spline through a table."""


class Traced:
    """Models of variants by their numbers alone: one of them is built, and others follow from its tape.

    base: a value a path, of the one that is built. What the numbers of another decide otherwise, checks included,
    is found; such a variant is none of the group.
    """

    def __init__(
        self, variants: Variants, asked: Asked, points: tuple[str, ...], base: dict[str, Floats]
    ) -> None:
        try:
            mechanism = variants.with_values(base)
            _check(mechanism, asked)
            self.ready = prepare(mechanism, asked)
            for name in points:
                self.ready.model.origin(name)
        except (MechanismError, ValueError) as error:
            raise NotTogetherError from error
        if mechanism.assemble or not _has_code(self.ready.model):
            raise NotTogetherError
        self.paths = list(base)
        tape = Tape()
        numbers = {path: tape.numbers(np.asarray(value, float)) for path, value in base.items()}
        try:
            traced = variants.with_numbers(numbers)
            if find_problems(traced) or find_gaps(traced):
                raise NotTogetherError
            blueprint, block = make_blueprint(traced)
        except UntracedError as error:
            raise NotTracedError from error
        given = [*traced.velocities, *traced.angular_velocities]
        self.start = len(block)
        self.replay = tape.replay([*block, *(x for _, v in given for x in v.ravel().tolist())])
        # where in the block each number of the model is
        self.places = blueprint.make(mechanism, np.arange(len(block)))
        self.points, self.mechanism = points, mechanism
        self._set_base(base)

    def _set_base(self, base: dict[str, Floats]) -> None:
        """Structure and numbers of the variant that was built; it has to be the same by both ways."""
        values, good = self.replay.many(self._inputs({path: x[None] for path, x in base.items()}))
        model = self.ready.model
        velocity, fits, self.open = self._start_velocities(values)
        if not (good[0] and fits[0]):
            raise NotTogetherError
        built = _floats(model.form) + _floats(model.loads.drives)
        places = _floats(self.places.form) + _floats(self.places.loads.drives)
        for x, at in zip(built, places, strict=True):
            if x.shape != at.shape or not _agree(x, values[at.astype(int), 0]):
                raise NotTogetherError
        # which linkages a misfit locks is decided by places and axes: those that move without one more equation
        # than others have to keep them
        held = model.equations >= model.coordinates and not self.mechanism.drives
        if held and not self._keeps_geometry():
            raise NotTogetherError
        columns, rows = point_columns(self.places, self.points)
        loads = self.places.loads if self.places.loaded else None
        at = len(values) + np.arange(model.coordinates, dtype=float)
        self.slots = number_arrays(self.places.form, loads, at, rows)
        whole = np.concatenate([values, velocity.T])[:, 0]
        acting = None if loads is None else replace_floats(loads, whole)
        form = replace_floats(self.places.form, whole)
        own = [whole[x.astype(int)] for x in rows]
        self.structure = make_structure(form, acting, velocity[0], columns, own)
        self.known = [_flags(whole[x.astype(int)], constants) for x, constants in self.slots]

    def _keeps_geometry(self) -> bool:
        form = self.places.form
        return not self.replay.varies(np.concatenate([form.D_val, form.e0]).astype(int).tolist())

    def _inputs(self, values: dict[str, Floats]) -> Floats:
        n = len(values[self.paths[0]])
        return np.concatenate([values[path].reshape(n, -1).T for path in self.paths])

    def group(self, values: dict[str, Floats]) -> Group:
        """Those of the variants with these values, an array a path, that follow from the tape."""
        inputs = self._inputs(values)
        found, good = self.replay.many(inputs)
        # no file holds larger ones
        alike = np.flatnonzero(good & (np.abs(inputs) <= LARGEST).all(axis=0))
        if len(alike) < found.shape[1]:
            found = found[:, alike]
        velocity, fits, open_start = self._start_velocities(found)
        good = fits & (open_start == self.open)
        numbers = []
        for (x, constants), known in zip(self.slots, self.known, strict=True):
            own = _rows(found, velocity.T, x.astype(int))
            for mine, base in zip(_flags(own, constants), known, strict=True):
                good &= (mine == base[:, None]).all(axis=0)
            numbers.append(own[~np.any(known, axis=0)] if known else own)
        which = np.flatnonzero(good)
        units = int(self.places.units.length)
        length, mass = found[units : units + 2, which]
        block = np.concatenate(numbers)
        block = block if len(which) == block.shape[1] else block[:, which]
        notes = [self.ready.notes] * len(which)
        return Group(alike[which], self.structure, block, mass * length * length, notes)

    def _start_velocities(self, found: Floats) -> tuple[Floats, Flags, Flags]:
        """Start velocities (n, nq), whether the joints allow them, and whether they leave something open."""
        m, model, n = self.mechanism, self.places, found.shape[1]
        rates = found[model.drive_rates.astype(int)].T
        if not (m.velocities or m.angular_velocities or rates.any()):
            return np.zeros((n, model.coordinates)), np.ones(n, bool), np.zeros(n, bool)
        length = found[int(model.units.length)]
        at, wanted = self.start, []
        for name, v in m.velocities:
            rows = _dense(model.rows_of(name), found) / length[:, None, None]
            side = (found[at : at + v.size] / length).T
            wanted.append((rows, side, np.linalg.norm(side, axis=1)))
            at += v.size
        for name, rate in m.angular_velocities:
            rows, starts = model.spun[name]
            spin = np.zeros((n, 3))
            spin[:, 3 - rate.size :] = found[at : at + rate.size].T
            own = np.moveaxis(found[starts.astype(int)], -1, 0)
            side = np.cross(spin[:, None], own).reshape(n, starts.size)
            size = np.linalg.norm(spin, axis=1) * np.linalg.norm(own, axis=(1, 2))
            wanted.append((_dense(rows, found), side, size))
            at += rate.size
        return solve_start_velocities(*self._matrices(found), rates, wanted)

    def _matrices(self, found: Floats) -> tuple[Floats, Floats]:
        """M and J at the start of all."""
        f, n = self.places.form, found.shape[1]
        M, J = np.zeros((n, len(f.Q), len(f.Q))), np.zeros((n, len(f.phi0), len(f.Q)))
        row = np.repeat(np.arange(len(f.Q)), np.diff(f.M_start))
        M[:, row, f.M_col] = found[f.M_val.astype(int)].T
        if len(f.J_eq):
            parts = found[f.C_val.astype(int)] * found[f.e0.astype(int)][f.C_form]
            J[:, f.J_eq, f.J_col] = np.add.reduceat(parts, f.C_start[:-1], axis=0).T
        return M, J


def _floats(arrays: Any) -> list[Floats]:
    return [x for x in arrays if x.dtype == float]


def _agree(x: Floats, other: Floats) -> bool:
    return bool(np.abs(x - other).max(initial=0.0) <= AGREE * np.abs(x).max(initial=0.0))


def _rows(first: Floats, second: Floats, at: Any) -> Floats:
    """Rows of two arrays as if they were one: they are long, and few are wanted."""
    out, inside = np.empty((len(at), first.shape[1])), at < len(first)
    out[inside], out[~inside] = first[at[inside]], second[at[~inside] - len(first)]
    return out


def _flags(values: Floats, constants: tuple[float, ...]) -> list[Flags]:
    """Which values are constants that are written into code."""
    return [values == x for x in constants]


def replace_floats(arrays: Any, values: Floats) -> Any:
    """The same tuples with numbers for their places."""
    if isinstance(arrays, tuple):
        return type(arrays)(*(replace_floats(x, values) for x in arrays))
    return values[arrays.astype(int)] if arrays.dtype == float else arrays


def _dense(rows: Rows, found: Floats) -> Floats:
    """Rows of all variants, (n, rows, nq)."""
    out = np.zeros((found.shape[1], len(rows.start) - 1, rows.columns))
    out[:, np.repeat(np.arange(out.shape[1]), np.diff(rows.start)), rows.col] = found[
        rows.val.astype(int)
    ].T
    return out


# results


class Table:
    """Rows of all runs, filled by groups and then one by one."""

    def __init__(
        self,
        count: int,
        dimension: int,
        asked: Asked,
        points: tuple[str, ...],
        keep: bool,
        crossings: bool = False,
    ) -> None:
        self.asked, self.points, self.dimension = asked, points, dimension
        n, outputs = count, len(asked.outputs)
        shape = n, len(points), 2, self.dimension
        self.status = np.full(n, "", dtype=object)
        self.message, self.notes = [""] * n, [[] for _ in range(n)]  # type: list[str], list[list[str]]
        self.values = np.full((n, outputs, *shape[1:]), np.nan) if keep else None
        self.balance = np.full((n, outputs), np.nan) if keep else None
        self.final, self.least, self.largest = (np.full(shape, np.nan) for _ in range(3))
        self.drift = np.full(n, np.nan)
        self.counters = {name: np.zeros(n, np.int64) for name in COUNTERS}
        self.parked = np.zeros(n, bool)
        self.crossings = [np.zeros(0)] * n if crossings else None

    def refuse(self, i: int, why: str) -> None:
        """A run that cannot be."""
        self.status[i], self.message[i] = REFUSED, why

    def take(self, group: Group, found: Found) -> None:
        """The runs of a group that are certain; the others are left."""
        told, s = found.summaries, group.structure
        good = certain(told)
        which = group.which[good]
        if not len(which):
            return
        shape = len(which), len(self.points), 2, self.dimension
        self.status[which] = str(Status.DONE)
        message, setting = done(self.asked.duration).message, self.asked.setting
        floor = describe_floor(setting)
        loosened, moved, lost = told[[series.LOOSENED, series.MOVED, series.LOST]].tolist()
        for i, at in zip(which.tolist(), np.flatnonzero(good).tolist(), strict=True):
            self.message[i] = message
            count = int(loosened[at])
            more = describe_loosened(count, moved[at], lost[at]) if count else []
            self.notes[i] = [*group.notes[at], *floor, *more]
        if self.values is not None and self.balance is not None:
            start, unit = told[series.FIRST_ENERGY, good, None], group.energy[good, None]
            rows = np.flatnonzero(good)
            flat = self.values.reshape(*self.balance.shape, len(s.columns))
            # some at a time: a second copy of all would not be in memory
            for part in np.array_split(np.arange(len(rows)), -(-len(rows) // AT_ONCE)):
                block = found.results[rows[part]]
                flat[which[part]] = block[:, :, :-1]
                self.balance[which[part]] = (block[:, :, -1] - start[part]) * unit[part]
        first = series.first_of_crossings(s)
        extremes = told[series.SUMMARY + 2 * s.coordinates : first, good].T
        self.least[which] = extremes[:, 0::2].reshape(shape)
        self.largest[which] = extremes[:, 1::2].reshape(shape)
        self.final[which] = _final_columns(s, told[:, good], group.numbers[:, good]).reshape(shape)
        self.drift[which] = told[series.DRIFT, good] * group.energy[good]
        if self.crossings is not None:
            times = told[first + 1 :, good].T
            for i, count, row in zip(which, told[first, good].astype(int), times, strict=True):
                self.crossings[i] = row[:count].copy()
        for name, place in COUNTERS.items():
            self.counters[name][which] = told[place, good].astype(np.int64)

    def finish(self, mechanisms: list[Mechanism] | Variants) -> None:
        """Run what is left, one after the other."""
        # the state at the end is told, whatever the outputs are
        asked, count = self.asked, len(self.asked.outputs)
        if asked.outputs[-1] < asked.duration:
            asked = replace(asked, outputs=np.append(asked.outputs, asked.duration))
        for i in np.flatnonzero(self.status == "").tolist():
            self.parked[i] = True
            try:
                mechanism = _one_of(mechanisms, i)
                _check(mechanism, asked)
                for name in self.points:
                    pick(readable_points(mechanism), name, "joint, point or body")
                self._fill(i, solve(mechanism, asked, asked.duration / 1000, 0.0), count)
            except (MechanismError, ValueError) as error:
                self.refuse(i, str(error))

    def _fill(self, i: int, result: Result, count: int) -> None:
        """The row of a run; count: of the outputs that were asked for."""
        self.status[i], self.message[i] = result.status, result.message
        self.notes[i] = list(result.outcome.notes)
        if self.crossings is not None:
            self.crossings[i] = np.array([c.time for c in result.crossings])
        for name in COUNTERS:
            self.counters[name][i] = result.counters[name]
        columns = np.zeros((len(result.times), len(self.points), 2, self.dimension))
        for k, name in enumerate(self.points):
            columns[:, k, 0], columns[:, k, 1] = result.position(name), result.velocity(name)
        n = min(len(columns), count)
        balance = result.energy_balance[:n]
        self.drift[i] = np.abs(balance).max(initial=0.0)
        if self.values is not None and self.balance is not None:
            self.values[i, :n], self.balance[i, :n] = columns[:n], balance
        if n:
            self.least[i], self.largest[i] = columns[:n].min(axis=0), columns[:n].max(axis=0)
        if len(columns):
            self.final[i] = columns[-1]

    def runs(self) -> Runs:
        """All of it."""
        return Runs(
            self.asked.outputs, self.points, self.dimension, self.status, self.message, self.notes,
            self.values, self.balance, self.final, self.least, self.largest, self.drift,
            self.counters, self.parked, self.crossings,
        )  # fmt: skip


def certain(told: Floats) -> Flags:
    """Runs that came to their end with nothing that needs more care.

    A start at a singular position shows as an equation whose pivot there is far below what it was later.
    """
    return (told[series.REASON] == 0.0) & (told[series.START_DROP] >= SINGULAR_LANDING)


def _final_columns(s: Structure, told: Floats, numbers: Floats) -> Floats:
    """Columns at the end of each run."""
    out = np.zeros((told.shape[1], len(s.columns)))
    for n, (column, (factors, offset)) in enumerate(zip(s.columns, s.column_rows, strict=True)):
        first = series.SUMMARY + (s.coordinates if column.level == RATE else 0)
        for i, c in zip(column.coordinates, factors, strict=True):
            out[:, n] += told[first + i] * (numbers[c.n] if isinstance(c, Slot) else c)
        if isinstance(offset, Slot):
            out[:, n] += numbers[offset.n]
    return out


def _check(mechanism: Mechanism, asked: Asked) -> None:
    """As `simulate` checks it."""
    check_mechanism(mechanism, closed=not mechanism.assemble)
    check_drive_times(mechanism, asked.duration)


def _one_of(mechanisms: list[Mechanism] | Variants, i: int) -> Mechanism:
    return mechanisms.mechanism(i) if isinstance(mechanisms, Variants) else mechanisms[i]


def _check_point(mechanisms: list[Mechanism] | Variants, name: str) -> None:
    """Refuse a name that none of the mechanisms has."""
    bases = [mechanisms.base] if isinstance(mechanisms, Variants) else mechanisms
    if not any(name in readable_points(base) for base in bases):
        pick(readable_points(bases[0]), name, "joint, point or body")


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1
