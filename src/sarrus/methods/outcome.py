"""What every method returns: states at the wanted times, how it went, and on request the whole motion."""

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
from ..model import Model
from .monitor import Watch
from .status import Ending, Status


@dataclass(frozen=True)
class AccelerationRule:
    """The equations of motion as a method solves them: its form, rates that take violations back.

    refinements: of the solve, -1 for as many as the pivots ask for.
    """

    form: Form
    damping: float = 0.0
    stiffness: float = 0.0
    refinements: int = -1


@dataclass(frozen=True)
class Record:
    """States at the outputs, in model units; what follows from them is computed when first asked for.

    angles: of the torsions [rad]; work: of loads without potential and of drives; restored: the energy that the
    method put back so far, so that errors of its steps do not add up. kept: where `own` has the
    acceleration already, as kernels/recording.py says (the method's own, or beside a singular position, where no
    equation gives it); law: what gives the others.
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
        """Room for outputs at some times."""
        count, nq = len(times), model.coordinates
        q, v, own = np.zeros((3, count, nq))
        work, restored = np.zeros((2, count))
        angles = np.zeros((count, len(model.loads.torsions.first)))
        return cls(model, times, q, v, angles, work, own, np.zeros(count, np.int64), restored, law)

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, rows: slice) -> Record:
        """The outputs of a slice, sharing memory."""
        return self._with(x[rows] for x in _rows_of(self))

    def __add__(self, other: Record) -> Record:
        """The outputs of both, one after the other."""
        return join_records(self.model, [self, other])

    def _with(self, rows: Iterable[Any]) -> Record:
        """Other outputs of the same model."""
        times, q, v, angles, work, own, kept, restored = rows
        return Record(self.model, times, q, v, angles, work, own, kept, restored, self.law)

    @cached_property
    def a(self) -> Floats:
        """Accelerations (n, nq)."""
        out = self.outputs._replace(a=self.own.copy())
        law = self.law or AccelerationRule(self.model.form)
        kernels.eval_accelerations(
            law.form, *self.scratch, law.damping, law.stiffness, law.refinements, out
        )
        return out.a

    @cached_property
    def norms(self) -> Floats:
        """Norms of Phi, Phi', Phi'' (n, 3)."""
        norms = np.zeros((len(self), 3))
        kernels.eval_norms(self.model.form, *self.scratch, self.outputs._replace(a=self.a), norms)
        return norms

    @property
    def kinetic(self) -> Floats:
        """Kinetic energy (n,)."""
        return self.energies[0]

    @property
    def potential(self) -> Floats:
        """Potential energy of constant forces, springs and torsions (n,); 0 of the forces at the start."""
        return self.energies[1]

    @property
    def energy(self) -> Floats:
        """What is conserved: kinetic and potential energy minus the work, and minus what the method put back (n,).

        So it drifts by what steps gained or lost, and tells how exact they were.
        """
        return self.kinetic + self.potential - self.work - self.restored

    @cached_property
    def drive_forces(self) -> Floats:
        """What the drives exert along their motions (n, drives); not a number beside a singular position."""
        forces = np.zeros((len(self), len(self.model.loads.drives.sines)))
        if forces.size:
            kernels.eval_forces(self.model.form, *self.scratch, self.outputs, forces)
        return forces

    @cached_property
    def energies(self) -> Floats:
        """Kinetic and potential energy (2, n)."""
        energies = np.zeros((2, len(self)))
        loads = make_loads(self.model.loads, 0)
        kernels.eval_energies(self.model.form, loads, self.outputs, energies)
        return energies

    @property
    def scratch(self) -> tuple[Workspace, Loads | None]:
        """Memory for the kernels."""
        return make_workspace(self.model.form, 0), make_loads(self.model.loads, 0)

    @property
    def outputs(self) -> kernels.Outputs:
        """The arrays as the kernels take them: the same memory."""
        return kernels.Outputs(*map(np.ascontiguousarray, _outputs_of(self)))


# its fields with a row for each output, in their order
_rows_of = attrgetter("times", "q", "v", "angles", "work", "own", "kept", "restored")
# those of `kernels.Outputs`
_outputs_of = attrgetter("times", "q", "v", "own", "kept", "angles", "work")


def join_records(model: Model, parts: list[Record]) -> Record:
    """The outputs of some records, one after the other."""
    if not parts:
        return Record.at(model, np.zeros(0))
    columns = zip(*map(_rows_of, parts), strict=True)
    return parts[0]._with(np.concatenate(column) for column in columns)


@dataclass(frozen=True)
class MotionPart:
    """Steps of one method: their polynomials, how they are sampled, and the energy put back before each."""

    pieces: StepPolynomials
    sampling: kernels.Sampling
    reference_pivots: Floats
    restored: Floats

    def put_back(self, times: Floats) -> Floats:
        """The energy put back before increasing times; at the end of a step, as sampled, nothing is yet."""
        edges = np.empty(len(self.restored) + 1, np.int64)
        edges[0], edges[-1] = 0, len(times)
        edges[1:-1] = times.searchsorted(self.pieces.starts[1 : len(self.restored)], side="right")
        return self.restored.repeat(edges[1:] - edges[:-1])


@dataclass(frozen=True)
class Motion:
    """The motion of a run as polynomials of its steps: q = sum of coefficients[k] (t - start)^k, model units.

    parts: a run of `auto` may have two, by two methods. Each holds the starts of its steps [s] and their end, the
    orders, the coefficients, and side series of the angles and the work.
    """

    model: Model = field(repr=False)
    parts: tuple[MotionPart, ...] = field(repr=False)
    law: AccelerationRule | None = field(repr=False, default=None)

    @property
    def begin(self) -> float:
        """When it begins [s]."""
        return float(self.parts[0].pieces.starts[0])

    @property
    def end(self) -> float:
        """When it ends [s]."""
        return float(self.parts[-1].pieces.starts[-1])

    def at(self, times: Floats) -> Record:
        """The states at increasing times [s], sampled as the outputs of the run are."""
        wanted = np.ascontiguousarray(times, dtype=float)
        if len(wanted) and not (np.all(np.diff(wanted) >= 0) and wanted[0] >= self.begin):
            raise ValueError("give increasing times within the run")
        if len(wanted) and wanted[-1] > self.end * (1 + 1e-12):
            raise ValueError(f"t = {wanted[-1]:g} s lies behind the end of the run, {self.end:g} s")
        record = Record.at(self.model, wanted, self.law)
        ws, loads = record.scratch
        first = 0
        for number, part in enumerate(self.parts):
            behind = number == len(self.parts) - 1
            last = (
                len(wanted)
                if behind
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
    """The steps that were taken: their ends [s], orders, and the smallest relative pivot after each.

    pivots: empty for methods that do not look at them.
    """

    times: Floats = field(default_factory=lambda: np.zeros(0))
    orders: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    pivots: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class LocatedEvents:
    """Events of a run in the order of time.

    names, units: of all that were requested; which: of these, for each that occurred; kinds: "rising", "falling",
    "tangent", "maximum" or "minimum"; values: of the quantity [its unit]; gaps: these less the wanted value;
    record: the states.
    """

    names: list[str]
    units: list[str]
    which: Ints
    kinds: list[str]
    values: Floats
    gaps: Floats
    record: Record = field(repr=False)


@dataclass(frozen=True)
class Outcome:
    """A run, up to where it is good.

    status: one word, message: one sentence; steps: those taken; watch: where equations came close to
    depending on others, None if there was no run; method: the one that did the run, or the last part
    of it, if another chose it; motion: if the run was to keep it; lost: what steps that could not hold the
    tolerance may have lost in sum, over the mechanism's length; error: an estimate of the global error at the
    outputs, in model units, if it was asked for; events: those located, if requested.
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
    """The outcome of a method that cannot do a problem, with the sentence that says why."""
    end = Ending(Status.SKIPPED, why)
    return Outcome(
        *end, Record.at(model, np.zeros(0)), dict.fromkeys(COUNTERS, 0), dict.fromkeys(TIMINGS, 0.0)
    )
