"""What every method returns: states at the requested times, status, and on request the whole motion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from ..arrays import Floats, Ints
from ..kernels import recording as kernels
from ..kernels.applied_forces import Loads, make_loads
from ..kernels.layout import Form, StepPolynomials, Workspace, make_workspace
from ..kernels.specialise import run as run_specialised
from ..model import Model
from .monitor import Watch
from .status import Ending, Status


@dataclass(frozen=True)
class AccelerationRule:
    """The equations of motion as a method solves them: its form, and the rates of constraint stabilisation.

    refinements: of the linear solve, -1 for as many as the pivots require.
    """

    form: Form
    damping: float = 0.0
    stiffness: float = 0.0
    refinements: int = -1


@dataclass(frozen=True)
class Record:
    """States at the outputs, in model units; derived quantities are computed when first requested.

    angles: of the torsions [rad]; work: of loads without potential and of drives; restored: the energy correction
    so far, which prevents energy errors of the steps from accumulating. kept: where `own` already has the
    acceleration, as described in kernels/recording.py (the method's own value, or near a singular configuration,
    where no equation determines it); law: the rule for the other accelerations.
    """

    model: Model = field(repr=False)
    times: Floats
    q: Floats = field(repr=False)
    v: Floats = field(repr=False)
    angles: Floats = field(repr=False)
    work: Floats = field(repr=False)
    own: Floats = field(repr=False)
    kept: Ints = field(repr=False)
    restored: Floats = field(repr=False)
    law: AccelerationRule | None = field(repr=False, default=None)

    @classmethod
    def at(cls, model: Model, times: Floats, law: AccelerationRule | None = None) -> Record:
        """Allocate outputs at some times."""
        count, nq = len(times), model.coordinates
        q, v, own = np.zeros((3, count, nq))
        work, restored = np.zeros((2, count))
        angles = np.zeros((count, len(model.loads.torsions.first)))
        return cls(model, times, q, v, angles, work, own, np.zeros(count, np.int64), restored, law)

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, rows: slice) -> Record:
        """Return the outputs of a slice, sharing memory, with the derived quantities that are known."""
        if rows.indices(len(self.times)) == (0, len(self.times), 1):
            return self
        part = self._with(x[rows] for x in _rows_of(self))
        for name, values in vars(self).items():
            if name in DERIVED:
                vars(part)[name] = values[:, rows] if name == "energies" else values[rows]
        return part

    def derive(self) -> dict[str, Floats]:
        """All quantities that are computed on access, by name."""
        return {name: getattr(self, name) for name in DERIVED}

    def __add__(self, other: Record) -> Record:
        """Return the outputs of both records in sequence."""
        return join_records(self.model, [self, other])

    def _with(self, rows: Iterable[Any]) -> Record:
        """Return other outputs of the same model."""
        times, q, v, angles, work, own, kept, restored = rows
        return Record(self.model, times, q, v, angles, work, own, kept, restored, self.law)

    @cached_property
    def a(self) -> Floats:
        """Accelerations (n, nq)."""
        out = self.outputs._replace(a=self.own.copy())
        law = self.law or AccelerationRule(self.model.form)
        self._read(kernels.ACCELERATIONS, out, np.zeros((0, 0)), law)
        return out.a

    @cached_property
    def norms(self) -> Floats:
        """Norms of Phi, Phi', Phi'' (n, 3)."""
        norms = np.zeros((len(self), 3))
        self._read(kernels.NORMS, self.outputs._replace(a=self.a), norms)
        return norms

    @property
    def kinetic(self) -> Floats:
        """Kinetic energy (n,)."""
        return self.energies[0]

    @property
    def potential(self) -> Floats:
        """Potential energy of constant forces, springs and torsions (n,); constant forces: 0 at the start."""
        return self.energies[1]

    @property
    def energy(self) -> Floats:
        """The conserved quantity: kinetic plus potential energy minus the work and the energy correction (n,).

        Its drift is the energy error of the integration and shows how accurate the steps were.
        """
        return self.kinetic + self.potential - self.work - self.restored

    @cached_property
    def drive_forces(self) -> Floats:
        """Forces or torques of the drives along their motions (n, drives); nan near a singular configuration."""
        forces = np.zeros((len(self), len(self.model.loads.drives.sines)))
        if forces.size:
            self._read(kernels.FORCES, self.outputs, forces)
        return forces

    def _read(
        self, what: int, out: kernels.Outputs, numbers: Floats, law: AccelerationRule | None = None
    ) -> None:
        """Fill out.a or numbers; see kernels/recording.py."""
        rule = law or AccelerationRule(self.model.form)
        settings = float(rule.damping), float(rule.stiffness), int(rule.refinements)
        args = rule.form, *self.scratch, what, *settings, out, numbers
        if rule.form is self.model.form:
            run_specialised(self.model.structure, kernels.eval_readings, *args)
        else:
            # a method may solve with another elimination order
            kernels.eval_readings(*args)

    @cached_property
    def energies(self) -> Floats:
        """Kinetic and potential energy (2, n)."""
        energies = np.zeros((2, len(self)))
        loads = make_loads(self.model.loads, 0)
        kernels.eval_energies(self.model.form, loads, self.outputs, energies)
        return energies

    @property
    def scratch(self) -> tuple[Workspace, Loads | None]:
        """Work memory for the kernels."""
        return make_workspace(self.model.form, 0), make_loads(self.model.loads, 0)

    @property
    def outputs(self) -> kernels.Outputs:
        """The arrays as the kernels take them, sharing memory."""
        return kernels.Outputs(*map(np.ascontiguousarray, _outputs_of(self)))


# quantities that a record computes on access
DERIVED = ("a", "norms", "energies", "drive_forces")
# the fields of Record with one row per output, in their order
_rows_of = attrgetter("times", "q", "v", "angles", "work", "own", "kept", "restored")
# the fields of `kernels.Outputs`
_outputs_of = attrgetter("times", "q", "v", "own", "kept", "angles", "work")


def join_records(model: Model, parts: list[Record]) -> Record:
    """Return the outputs of some records in sequence."""
    if not parts:
        return Record.at(model, np.zeros(0))
    columns = zip(*map(_rows_of, parts), strict=True)
    return parts[0]._with(np.concatenate(column) for column in columns)


def take_records(record: Record, rows: Ints | slice) -> Record:
    """Return some outputs of a record, in the given order."""
    return record._with(x[rows] for x in _rows_of(record))


@dataclass(frozen=True)
class MotionPart:
    """Steps of one method: their polynomials, how they are sampled, and the energy correction before each."""

    pieces: StepPolynomials
    sampling: kernels.Sampling
    reference_pivots: Floats
    restored: Floats

    def put_back(self, times: Floats) -> Floats:
        """Return the energy correction before increasing times; at the end of a step, without that of the step."""
        edges = np.empty(len(self.restored) + 1, np.int64)
        edges[0], edges[-1] = 0, len(times)
        edges[1:-1] = times.searchsorted(self.pieces.starts[1 : len(self.restored)], side="right")
        return self.restored.repeat(edges[1:] - edges[:-1])


@dataclass(frozen=True)
class Motion:
    """The motion of a run as polynomials of its steps: q = sum of coefficients[k] (t - start)^k, model units.

    parts: a run of `auto` may have two, by two methods. Each contains the starts of its steps [s] and the end of
    the last one, the orders, the coefficients, and series of the angles and the work.
    """

    model: Model = field(repr=False)
    parts: tuple[MotionPart, ...] = field(repr=False)
    law: AccelerationRule | None = field(repr=False, default=None)

    @property
    def begin(self) -> float:
        """The start time [s]."""
        return float(self.parts[0].pieces.starts[0])

    @property
    def end(self) -> float:
        """The end time [s]."""
        return float(self.parts[-1].pieces.starts[-1])

    def at(self, times: Floats) -> Record:
        """Return the states at increasing times [s], sampled in the same way as the outputs of the run."""
        wanted = np.ascontiguousarray(times, dtype=float)
        if len(wanted) and not (np.all(np.diff(wanted) >= 0) and wanted[0] >= self.begin):
            raise ValueError("give increasing times within the run")
        if len(wanted) and wanted[-1] > self.end * (1 + 1e-12):
            raise ValueError(f"t = {wanted[-1]:g} s is after the end of the run, {self.end:g} s")
        record = Record.at(self.model, wanted, self.law)
        ws, loads = record.scratch
        first = 0
        for number, part in enumerate(self.parts):
            is_last = number == len(self.parts) - 1
            last = (
                len(wanted)
                if is_last
                else int(np.searchsorted(wanted, part.pieces.starts[-1], "right"))
            )
            ws.reference_pivots[:] = part.reference_pivots
            rows = record[first:last].outputs
            record.restored[first:last] = part.put_back(wanted[first:last])
            kernels.sample(
                self.model.form,
                ws,
                loads,
                kernels.make_side(self.model.form, part.sampling, loads),
                part.sampling,
                part.pieces,
                len(part.pieces.orders),
                rows,
            )
            first = last
        return record


@dataclass(frozen=True)
class StepHistory:
    """The accepted steps: their ends [s], orders, and the smallest relative pivot after each.

    pivots: empty for methods that do not monitor them.
    """

    times: Floats = field(default_factory=lambda: np.zeros(0))
    orders: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    pivots: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class LocatedEvents:
    """Events of a run in the order of time.

    names, units: of all requested events; which: the index of each event that occurred; kinds: "rising",
    "falling", "tangent", "maximum" or "minimum", of limits "impact", "rest", "release" or "contact"; values: of
    the quantity [its unit]; gaps: values minus the requested value; record: the states before the event. Of runs
    in segments: segments: the number of the segment that each event ends or lies in; energies: the change of the
    total energy at each, in model units; actions: what each did.
    """

    names: list[str]
    units: list[str]
    which: Ints
    kinds: list[str]
    values: Floats
    gaps: Floats
    record: Record = field(repr=False)
    segments: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    energies: Floats = field(default_factory=lambda: np.zeros(0))
    actions: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class RunSegment:
    """A part of a run between two events that change the mechanism.

    parts: what acts in it (`ActiveParts.text`); begin: its start [s]; first, count: its outputs among those of the
    run; outcome: of its own run, with the state at its start as its only output.
    """

    parts: str
    begin: float
    first: int
    count: int
    outcome: Outcome


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run, up to where it is valid.

    status: one word; message: one sentence; steps: the accepted steps; watch: where equations came close to linear
    dependence, None if there was no run; method: the method that did the run, or its last part, if another method
    chose it; motion: if the run was to keep it; lost: accumulated loss of steps that exceeded the tolerance,
    relative to the mechanism's length; error: an estimate of the global error at the outputs, in model units, if
    requested; events: the located events, if requested; segments: the parts of a run whose events change the
    mechanism, empty for other runs.
    """

    status: Status
    message: str
    record: Record
    counters: dict[str, int]
    timings: dict[str, float]
    notes: list[str] = field(default_factory=list)
    steps: StepHistory = field(default_factory=StepHistory)
    watch: Watch | None = None
    method: str = ""
    motion: Motion | None = None
    lost: float = 0.0
    error: Floats | None = None
    events: LocatedEvents | None = None
    segments: tuple[RunSegment, ...] = ()


COUNTERS = (
    "steps",
    "rejected",
    "iterations",
    "factorisations",
    "coefficients",
    "relaxed_steps",
    "extended_steps",
)
TIMINGS = ("solve_cpu", "solve_wall", "record_cpu", "watch_cpu")


def skipped(model: Model, why: str) -> Outcome:
    """Return the outcome of a method that does not support a problem, with the reason."""
    end = Ending(Status.SKIPPED, why)
    return Outcome(
        *end, Record.at(model, np.zeros(0)), dict.fromkeys(COUNTERS, 0), dict.fromkeys(TIMINGS, 0.0)
    )
