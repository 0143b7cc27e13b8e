"""The implementation of `simulate_many`: models, specialised code in SIMD lanes, and fallback to single runs.

Each run takes one of two paths:

    fast       runs with code specialised for their topology, vectorised
    fallback   runs that the fast path does not certify: a step that ends near a singular configuration, a singular
               start, no acceptable step, a note for the user, dampers that may be stiff, user forces. `solve`
               repeats them from the start, as for `simulate`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Flags, Floats, plain_sum
from ..assembly.velocities import solve_start_velocities
from ..evaluated_run import Counters
from ..kernels.applied_forces import is_damped, list_damping
from ..kernels.batch_entry import CONSTANTS, BatchPlan, Numbers, flatten
from ..kernels.native import is_available
from ..kernels.return_codes import DONE
from ..kernels.run_kernel import DRIFT, LOST, MOST_MOVED, PLACE, RATE, START_ENERGY, ReadingColumns
from ..kernels.series_step import RELAXED
from ..kernels.step_control import buffer_steps
from ..located_events import LocatedEvent
from ..mechanism import Mechanism, MechanismError, check_drive_times
from ..mechanism.active_parts import prepare_actions
from ..mechanism.event_requests import Event
from ..mechanism.files.units import LARGEST
from ..memory import count_cores
from ..methods import Status
from ..methods.extended_precision import describe_floor, wants_digits
from ..methods.series import describe_relaxed_steps
from ..methods.status import done
from ..model import Model
from ..model.build import traced_structure
from ..model.connected_parts import keeps_energy
from ..model.points import readable_points
from ..model.rows import Rows
from ..model.structure import Lookup, check_for_run
from ..names import pick
from ..result import Result
from ..run_single import is_immobile, prepare, solve
from ..settings import RunSettings
from ..tracing import ManyNumbers, UntracedError
from .device import find_cupy, run_on_device
from .host import EnsembleValues, pays, run_on_host
from .variants import EnsembleResult, VariantNumbers, Variants

# limit of unrolled factorisation updates up to which specialised code pays; and the number of runs from which it
# is compiled
MOST_UPDATES = 20_000
FEWEST_RUNS = 16
# limit of pieces of the drive motions, each loaded for every run; and of polynomial coefficients, which set a
# lower limit for the order: the order on a device is 16
MOST_PIECES, MOST_POWERS = 1000, 12
# variants of an ensemble are tried as the base of a tape while this many latest tapes covered this many variants
# each, on average: recording a tape takes as long as about ten runs
TAPES, WORTH = 16, 10
# multiples of this fraction, modulo 1, soon come near to any point of a list
GOLDEN = 0.6180339887498949
# relative agreement of a model from its tape with that from the numbers of a file, which uses other arithmetic:
# rounding
AGREE = 1e-11
REJECTED = "rejected"
# number of runs whose outputs are copied together
AT_ONCE = 256
COUNTERS = ("steps", "rejected", "coefficients", "factorisations", "relaxed_steps")


def run_all(
    mechanisms: list[Mechanism] | Variants,
    settings: RunSettings,
    points: tuple[str, ...],
    *,
    keep: bool,
    crossings: bool,
    threads: int | None,
    gpu: bool,
    events: Sequence[Event] = (),
) -> EnsembleResult:
    """Do all runs: first the fast path, then the rest; SIMD lanes do not support extended precision."""
    first = mechanisms.base if isinstance(mechanisms, Variants) else mechanisms[0]
    for name in points:
        _check_point(mechanisms, name)
    if gpu:
        find_cupy()
    table = EnsembleTable(len(mechanisms), first.dimension, settings, points, keep, crossings)
    table.events = [*events]
    bases = [mechanisms.base] if isinstance(mechanisms, Variants) else mechanisms
    stops = bool(events) or any(base.events or base.limits for base in bases)
    # runs with extended precision on the host, and runs with crossings, events or limits, use `simulate`
    alone = crossings or stops or (wants_digits(settings.setting) and not gpu)
    for group in () if alone else _groups(mechanisms, settings, points, table):
        left = group
        if gpu:
            found = run_on_device(group.plan, group.numbers, settings, keep=keep)
            table.take(group, found)
            # the host uses higher orders: most runs that the device does not certify succeed there
            left = group.select(np.flatnonzero(found.reason != DONE))
        if not wants_digits(settings.setting) and left.pays:
            run = partial(run_on_host, threads=threads or count_cores(), keep=keep)
            table.take(left, run(left.plan, left.numbers, settings))
    table.finish(mechanisms)
    varied = mechanisms.vary if isinstance(mechanisms, Variants) else {}
    return replace(table.runs(), vary=varied)


@dataclass
class VariantGroup:
    """Runs of one structure: indices, plan, all numbers (rows, runs), the energy unit in joules, notes."""

    which: np.ndarray
    plan: BatchPlan
    numbers: ManyNumbers
    energy: Floats
    notes: list[list[str]]

    @property
    def pays(self) -> bool:
        """Whether compiling code for SIMD lanes pays."""
        return len(self.which) > 0 and pays(self.plan, len(self.which))

    def select(self, some: np.ndarray) -> VariantGroup:
        """Return a selection of these runs."""
        notes = [self.notes[i] for i in some.tolist()]
        numbers = self.numbers.select(some)
        return VariantGroup(self.which[some], self.plan, numbers, self.energy[some], notes)


# models: structure and numbers


def point_columns(model: Model, points: tuple[str, ...]) -> ReadingColumns:
    """Return the columns of positions and velocities of points."""
    level, start, col, val, offset = [], [0], [], [], []  # type: Any, Any, Any, Any, Any
    for name in points:
        part, origin = model.point_rows(name), model.origin(name)
        for kind in (PLACE, RATE):
            for c in range(model.dimension):
                at = slice(part.indptr[c], part.indptr[c + 1])
                level.append(kind)
                col += part.indices[at].tolist()
                val += part.data[at].tolist()
                start.append(len(col))
                offset.append(origin[c])
    levels, starts, columns = (np.array(x, np.int64) for x in (level, start, col))
    return ReadingColumns(levels, starts, columns, np.array(val, float), np.array(offset, float))


def make_plan(template: Numbers, known: Flags) -> BatchPlan:
    """Return the plan for a group of runs, given one of them and the constants that all share."""
    form, loads = template.form, template.loads
    return BatchPlan(
        template,
        known,
        damped=loads is not None and is_damped(loads),
        holds=keeps_energy(form, loads),
        share_every=buffer_steps(len(form.Q)),
    )


def _has_code(model: Model) -> bool:
    """Whether specialised code supports a model: it moves, its loads have series, and it is not too large."""
    small = model.coordinates > 0 and len(model.form.L_target) <= MOST_UPDATES
    loads = model.loads
    driven = len(loads.drives.equations) > 0
    rows, degree = loads.drives.polynomials.shape
    # user functions are not compiled here
    plain = rows <= MOST_PIECES and degree <= MOST_POWERS and not len(loads.user.calls)
    return is_available() and small and plain and (driven or not is_immobile(model))


def _numbers_of(model: Model, velocity: Floats, points: tuple[str, ...]) -> Numbers:
    loads = model.loads if model.loaded else None
    return Numbers(model.form, loads, velocity, point_columns(model, points))


def structure_of(numbers: Numbers) -> bytes:
    """Return what the runs of a group have in common: integers, shapes, and whether there are dampers."""
    loads = numbers.loads
    return make_plan(numbers, np.zeros(len(flatten(numbers)), bool)).digest().encode() + bytes(
        [loads is not None and is_damped(loads)]
    )


def constants_of(values: ManyNumbers) -> Flags:
    """Return which numbers are constants that all runs share."""
    known = np.isin(values.first, CONSTANTS)
    known[values.which] = False
    return known


def _groups(
    mechanisms: list[Mechanism] | Variants,
    settings: RunSettings,
    points: tuple[str, ...],
    table: EnsembleTable,
) -> Iterator[VariantGroup]:
    """Yield runs with specialised code, by structure; the others stay in the table."""
    if isinstance(mechanisms, Variants) and len(mechanisms) >= FEWEST_RUNS:
        which: Iterable[int] = yield from _trace_groups(mechanisms, settings, points)
    else:
        which = range(len(mechanisms))
    found: dict[bytes, tuple[Numbers, list[tuple[int, Floats, float, list[str]]]]] = {}
    for i in which:
        try:
            mechanism = _one_of(mechanisms, i)
            ready = prepare(mechanism, settings, _check(mechanism, settings))
            for name in points:
                ready.model.origin(name)
        except (MechanismError, ValueError) as error:
            table.reject(i, str(error))
            continue
        if _has_code(ready.model):
            numbers = _numbers_of(ready.model, ready.velocity, points)
            entry = flatten(numbers), ready.model.units.energy, ready.notes
            found.setdefault(structure_of(numbers), (numbers, []))[1].append((i, *entry))
    for template, runs in found.values():
        if len(runs) >= FEWEST_RUNS:
            which, rows, energy, notes = zip(*runs, strict=True)
            values = ManyNumbers.of(list(np.array(rows).T), len(runs))
            yield make_group(np.array(which), template, values, np.array(energy), list(notes))


def make_group(
    which: np.ndarray,
    template: Numbers,
    values: ManyNumbers,
    energy: Floats,
    notes: list[list[str]],
) -> VariantGroup:
    """Return a group of runs of one structure, given all their numbers."""
    plan = make_plan(template, constants_of(values))
    return VariantGroup(which, plan, values.rows(plan.rows), energy, notes)


def _trace_groups(
    ensemble: Variants, settings: RunSettings, points: tuple[str, ...]
) -> Generator[VariantGroup, None, list[int]]:
    """Yield groups of variants, one per structure, from their numbers alone; the others are run one by one.

    Returns the variants that have to be built separately: all, if none can be traced.
    """
    left, found = np.arange(len(ensemble)), {}  # type: Any, dict[bytes, list[Traces]]
    covered: list[int] = []
    untraced = 0
    while len(left) and (len(covered) < TAPES or plain_sum(covered[-TAPES:]) >= WORTH * TAPES):
        # variants that cannot be traced are often neighbours
        at = int(len(covered) * GOLDEN % 1.0 * len(left))
        covered.append(0)
        try:
            base = {path: values[left[at]] for path, values in ensemble.vary.items()}
            traced = Traced(ensemble, settings, points, base)
            traces = traced.find({path: values[left] for path, values in ensemble.vary.items()})
        except NotTogetherError as error:
            # the single run of this variant reports the reason
            untraced += isinstance(error, NotTracedError)
            left = np.delete(left, at)
            continue
        covered[-1] = len(traces.which)
        which, left = left[traces.which], np.delete(left, traces.which)
        found.setdefault(traced.structure, []).append(traces._replace(which=which))
    for parts in found.values():
        # different decisions of the model builder often give the same structure for the code
        if plain_sum(len(part.which) for part in parts) >= FEWEST_RUNS:
            yield make_group(
                np.concatenate([part.which for part in parts]),
                parts[0].template,
                ManyNumbers.join([part.values for part in parts]),
                np.concatenate([part.energy for part in parts]),
                [notes for part in parts for notes in [part.notes] * len(part.which)],
            )
    return [] if found or not untraced else list(range(len(ensemble)))


class Traces(NamedTuple):
    """Variants that follow from one tape: indices, a template, all numbers, energy units [J], and notes."""

    which: np.ndarray
    template: Numbers
    values: ManyNumbers
    energy: Floats
    notes: list[str]


class NotTogetherError(Exception):
    """A variant cannot be the base of a tape: it cannot be simulated, or specialised code does not support it."""


class NotTracedError(NotTogetherError):
    """A decision depends on numbers that a tape does not record, such as a spline through a table."""


class Traced:
    """Models of variants from their numbers alone: one variant is built, and others follow from its structure.

    base: one value per path, of the variant that is built. If the numbers of another variant change a decision,
    including a check, this is detected, and the variant is not part of the group.
    """

    def __init__(
        self,
        variants: Variants,
        settings: RunSettings,
        points: tuple[str, ...],
        base: dict[str, Floats],
    ) -> None:
        try:
            mechanism = variants.with_values(base)
            self.ready = prepare(mechanism, settings, _check(mechanism, settings))
            for name in points:
                self.ready.model.origin(name)
        except (MechanismError, ValueError) as error:
            raise NotTogetherError from error
        if mechanism.assemble or not _has_code(self.ready.model):
            raise NotTogetherError
        self.variants, self.paths = variants, list(base)
        try:
            self.numbers = VariantNumbers(variants, self.ready.mechanism, base)
            self.replay = traced_structure(self.ready.model).replay
        except UntracedError as error:
            raise NotTracedError from error
        assert self.replay is not None
        self.start = self.replay.count
        # the index of each number of the model in the block
        self.places = self.ready.model.structure.make(mechanism, np.arange(self.start))
        self.points, self.mechanism = points, mechanism
        self._set_base(base)

    def _set_base(self, base: dict[str, Floats]) -> None:
        """Set structure and numbers of the built variant; built and traced numbers have to agree."""
        values, good = self._follow({path: x[None] for path, x in base.items()})
        model = self.ready.model
        velocity, fits, self.open = self._start_velocities(values)
        if not (good[0] and fits[0]):
            raise NotTogetherError
        built = _floats(model.form) + _floats(model.loads.drives)
        places = _floats(self.places.form) + _floats(self.places.loads.drives)
        for x, at in zip(built, places, strict=True):
            if x.shape != at.shape or not _agree(x, values.first[at.astype(int)]):
                raise NotTogetherError
        # coordinates and axes decide which linkages a dimensional mismatch locks: if a linkage moves although it
        # has at least as many equations as coordinates, its variants must have the same geometry
        constrained = model.equations >= model.coordinates and not self.mechanism.drives
        form = self.places.form
        self.kept = (
            np.concatenate([form.D_val, form.e0]).astype(int) if constrained else np.zeros(0, int)
        )
        self.geometry = values.first[self.kept]
        at = len(values.first) + np.arange(model.coordinates, dtype=float)
        self.rows = flatten(_numbers_of(self.places, at, self.points)).astype(int)
        self.template = _numbers_of(model, velocity[0], self.points)
        self.structure = structure_of(self.template)
        loads = self.template.loads
        self.damped = loads is not None and is_damped(loads)

    def _follow(self, values: dict[str, Floats]) -> tuple[ManyNumbers, Flags]:
        """Return the numbers and start velocities of variants, and which of them follow from the tape."""
        assert self.replay is not None
        try:
            inputs, velocities = self.numbers.of(values)
        except UntracedError as error:
            raise NotTracedError from error
        n = len(values[self.paths[0]])
        found, good = self.replay.many(inputs, n)
        return _stack(found, ManyNumbers.of(velocities, n)), good

    def find(self, values: dict[str, Floats]) -> Traces:
        """Return the variants with these values, one array per path, that follow from the tape."""
        found, good = self._follow(values)
        good &= (found.take(self.kept) == self.geometry[:, None]).all(axis=0)
        for x in values.values():
            # files must not contain larger numbers
            good &= (np.abs(x.reshape(len(x), -1)) <= LARGEST).all(axis=1)
        alike = np.flatnonzero(good)
        found = found.select(alike)
        velocity, fits, open_start = self._start_velocities(found)
        good = fits & (open_start == self.open) & (self._is_damped(found) == self.damped)
        which = np.flatnonzero(good)
        start = ManyNumbers.of([x if len(x) != 1 else x[0] for x in velocity.T], found.variants)
        numbers = _stack(found, start).rows(self.rows).select(which)
        units = int(self.places.units.length)
        length, mass = found.take(np.array([units, units + 1]))
        energy = np.broadcast_to(mass * (length * length), found.variants)[which]
        return Traces(alike[which], self.template, numbers, energy, self.ready.notes)

    def group(self, values: dict[str, Floats]) -> VariantGroup:
        """Return the same variants as a group."""
        which, template, numbers, energy, notes = self.find(values)
        return make_group(which, template, numbers, energy, [notes] * len(which))

    def _is_damped(self, found: ManyNumbers) -> Flags:
        """Return which variants have dampers."""
        rows = list_damping(self.places.loads).astype(int)
        return np.asarray(np.any(found.take(rows) != 0.0, axis=0))

    def _start_velocities(self, found: ManyNumbers) -> tuple[Floats, Flags, Flags]:
        """Return start velocities (n, nq), whether the joints allow them, and whether they are incomplete.

        If all variants have the same start velocities, there is only one row.
        """
        m, model, n = self.mechanism, self.places, found.variants
        rates = found.take(model.drive_rates.astype(int)).T
        if not (m.velocities or m.angular_velocities or rates.any()):
            return np.zeros((1, model.coordinates)), np.ones(n, bool), np.zeros(n, bool)
        wanted = [*self._given_velocities(found), *self._given_spins(found)]
        solved = solve_start_velocities(
            partial(self._masses, found), self._jacobians(found), rates, wanted
        )
        fits, is_open = solved.fits & solved.drives_fit, solved.is_open
        return solved.velocity, np.broadcast_to(fits, n), np.broadcast_to(is_open, n)

    def _given_velocities(self, found: ManyNumbers) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield rows, right-hand sides and magnitudes of given velocities of points."""
        length = found.take(np.array([int(self.places.units.length)]))[0]
        at = self.start
        for name, v in self.mechanism.velocities:
            rows = _dense(self.places.rows_of(name), found) / length[:, None, None]
            side = (found.take(np.arange(at, at + v.size)) / length).T
            yield rows, side, np.linalg.norm(side, axis=1)
            at += v.size

    def _given_spins(self, found: ManyNumbers) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield the same for given angular velocities of bodies."""
        at = self.start + plain_sum(v.size for _, v in self.mechanism.velocities)
        for name, rate in self.mechanism.angular_velocities:
            rows, starts = self.places.spun[name]
            given = found.take(np.arange(at, at + rate.size)).T
            spin = np.zeros((len(given), 3))
            spin[:, 3 - rate.size :] = given
            own = np.moveaxis(found.take(starts.astype(int)), -1, 0)
            side = np.cross(spin[:, None], own)
            size = np.linalg.norm(spin, axis=1) * np.linalg.norm(own, axis=(1, 2))
            yield _dense(rows, found), side.reshape(len(side), starts.size), size
            at += rate.size

    def _masses(self, found: ManyNumbers) -> Floats:
        """Return the mass matrices of all variants."""
        f = self.places.form
        values = found.take(f.M_val.astype(int))
        M = np.zeros((values.shape[1], len(f.Q), len(f.Q)))
        M[:, np.repeat(np.arange(len(f.Q)), np.diff(f.M_start)), f.M_col] = values.T
        return M

    def _jacobians(self, found: ManyNumbers) -> Floats:
        """Return the initial Jacobians of all variants."""
        f = self.places.form
        factors, ends = found.take(f.C_val.astype(int)), found.take(f.e0.astype(int))
        parts = factors * ends[f.C_form]
        J = np.zeros((parts.shape[1], len(f.phi0), len(f.Q)))
        if len(f.J_eq):
            counts = np.diff(f.C_start)
            # in the same order of summation as in `Model.start_jacobian`
            for k in range(int(counts.max())):
                more = counts > k
                J[:, f.J_eq[more], f.J_col[more]] += parts[f.C_start[:-1][more] + k].T
        return J


def _floats(arrays: Any) -> list[Floats]:
    return [x for x in arrays if x.dtype == float]


def _agree(x: Floats, other: Floats) -> bool:
    return bool(np.abs(x - other).max(initial=0.0) <= AGREE * np.abs(x).max(initial=0.0))


def _stack(first: ManyNumbers, second: ManyNumbers) -> ManyNumbers:
    """Return the rows of both, for the same variants."""
    varied = [x for x in (first.varied, second.varied) if len(x)]
    return ManyNumbers(
        np.concatenate([first.first, second.first]),
        np.concatenate([first.which, len(first.first) + second.which]),
        np.concatenate(varied) if len(varied) > 1 else (varied or [first.varied])[0],
    )


def _dense(rows: Rows, found: ManyNumbers) -> Floats:
    """Return the rows of all variants as dense arrays, (n, rows, nq), or one that all share."""
    values = found.take(rows.val.astype(int))
    out = np.zeros((values.shape[1], len(rows.start) - 1, rows.columns))
    out[:, np.repeat(np.arange(out.shape[1]), np.diff(rows.start)), rows.col] = values.T
    return out


# results


class Columns:
    """One state per run, (runs, points, 2, dimension); a group that contains all runs is not copied."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self._values: Floats | None = None

    def put(self, which: np.ndarray, rows: Floats, good: Flags) -> None:
        """Store the columns of a group, (columns, runs), for the runs `which`, where they are good."""
        if np.array_equal(which, np.arange(self.shape[0])):
            self._values = rows.T.reshape(self.shape)
        else:
            self.all()[which] = rows[:, good].T.reshape(len(which), *self.shape[1:])

    def all(self) -> Floats:
        """Return all states; nan where a run has none."""
        if self._values is None:
            self._values = np.full(self.shape, np.nan)
        return self._values


class EnsembleTable:
    """Rows of all runs, filled first by groups and then one by one."""

    def __init__(
        self,
        count: int,
        dimension: int,
        settings: RunSettings,
        points: tuple[str, ...],
        keep: bool,
        crossings: bool = False,
    ) -> None:
        self.settings, self.points, self.dimension = settings, points, dimension
        n, outputs = count, len(settings.outputs)
        shape = n, len(points), 2, self.dimension
        self.status = np.full(n, "", dtype=object)
        self.message = np.full(n, "", dtype=object)
        # rows without notes share one empty list
        self.notes: list[list[str]] = [[]] * n
        self.values = np.full((n, outputs, *shape[1:]), np.nan) if keep else None
        self.balance = np.full((n, outputs), np.nan) if keep else None
        self.final, self.least, self.largest = (Columns(shape) for _ in range(3))
        self.drift = np.full(n, np.nan)
        self.counters = Counters({name: np.zeros(n, np.int64) for name in COUNTERS})
        self.fallback = np.zeros(n, bool)
        self.crossings = [np.zeros(0)] * n if crossings else None
        # events to locate, and those located in each run
        self.events: list[Event] = []
        self.located: list[tuple[LocatedEvent, ...]] = [()] * n

    def reject(self, i: int, why: str) -> None:
        """Mark a run that cannot be simulated."""
        self.status[i], self.message[i] = REJECTED, why

    def take(self, group: VariantGroup, found: EnsembleValues) -> None:
        """Store the certified runs of a group; the others remain."""
        good = found.reason == DONE
        which = group.which[good]
        if not len(which):
            return
        self.status[which] = str(Status.DONE)
        message, setting = done(self.settings.duration).message, self.settings.setting
        floor = describe_floor(setting)
        relaxed = found.counters[RELAXED]
        moved, lost = found.summary[MOST_MOVED], found.summary[LOST]
        self.message[which] = message
        noted = good if floor or any(group.notes) else good & (relaxed > 0)
        for at in np.flatnonzero(noted).tolist():
            count = int(relaxed[at])
            more = describe_relaxed_steps(count, float(moved[at]), float(lost[at])) if count else []
            self.notes[group.which[at]] = [*group.notes[at], *floor, *more]
        if self.values is not None and self.balance is not None:
            start, unit = found.summary[START_ENERGY, good, None], group.energy[good, None]
            rows = np.flatnonzero(good)
            flat = self.values.reshape(*self.balance.shape, group.plan.columns)
            # copied in parts, because a second copy of all outputs might not fit into memory
            for part in np.array_split(np.arange(len(rows)), -(-len(rows) // AT_ONCE)):
                block = found.values[rows[part]]
                flat[which[part]] = block[:, :, :-1]
                self.balance[which[part]] = (block[:, :, -1] - start[part]) * unit[part]
        self.least.put(which, found.least, good)
        self.largest.put(which, found.largest, good)
        self.final.put(which, found.final, good)
        self.drift[which] = found.summary[DRIFT, good] * group.energy[good]
        for n, name in enumerate(COUNTERS):
            self.counters[name][which] = found.counters[n, good].astype(np.int64)

    def finish(self, mechanisms: list[Mechanism] | Variants) -> None:
        """Simulate the remaining runs one by one."""
        # the final state is reported for any choice of outputs
        settings, count = self.settings, len(self.settings.outputs)
        if settings.outputs[-1] < settings.duration:
            settings = replace(settings, outputs=np.append(settings.outputs, settings.duration))
        for i in np.flatnonzero(self.status == "").tolist():
            self.fallback[i] = True
            try:
                mechanism = prepare_actions(_one_of(mechanisms, i), self.events)
                known = _check(mechanism, settings)
                for name in self.points:
                    pick(readable_points(mechanism), name, "joint, point or body")
                self._fill(
                    i,
                    solve(mechanism, settings, settings.duration / 1000, 0.0, known, self.events),
                    count,
                )
            except (MechanismError, ValueError) as error:
                self.reject(i, str(error))

    def _fill(self, i: int, result: Result, count: int) -> None:
        """Fill the row of a run; count: number of requested outputs."""
        self.status[i], self.message[i] = result.status, result.message
        self.notes[i] = list(result.outcome.notes)
        # a state would keep its whole run in memory
        self.located[i] = tuple(replace(e, state=None, after=None) for e in result.events)
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
            self.least.all()[i] = columns[:n].min(axis=0)
            self.largest.all()[i] = columns[:n].max(axis=0)
        if len(columns):
            self.final.all()[i] = columns[-1]

    def runs(self) -> EnsembleResult:
        """Return the result."""
        return EnsembleResult(
            self.settings.outputs, self.points, self.dimension, self.status, self.message.tolist(), self.notes,
            self.values, self.balance, self.final.all(), self.least.all(), self.largest.all(), self.drift,
            self.counters, self.fallback, self.crossings, events=self.located,
        )  # fmt: skip


def _check(mechanism: Mechanism, settings: RunSettings) -> Lookup:
    """Check a mechanism as `simulate` does; return its lookup."""
    known = check_for_run(mechanism, mechanism.assemble)
    check_drive_times(mechanism, settings.duration)
    return known


def _one_of(mechanisms: list[Mechanism] | Variants, i: int) -> Mechanism:
    return mechanisms.mechanism(i) if isinstance(mechanisms, Variants) else mechanisms[i]


def _check_point(mechanisms: list[Mechanism] | Variants, name: str) -> None:
    """Raise an error for a name that none of the mechanisms has."""
    bases = [mechanisms.base] if isinstance(mechanisms, Variants) else mechanisms
    if not any(name in readable_points(base) for base in bases):
        pick(readable_points(bases[0]), name, "joint, point or body")
