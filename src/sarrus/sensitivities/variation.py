"""Derivatives of the motion along a run, by up to RATES parameters at once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import Floats
from ..kernels import recording as record_kernels
from ..kernels import specialise
from ..kernels import variational as kernels
from ..kernels.applied_forces import acts
from ..kernels.compiler import compiling
from ..kernels.dual import DUAL_NUMBER, PARTS, RATES, make_duals
from ..kernels.layout import StepPolynomials, make_dual_workspace, make_workspace, set_apart
from ..kernels.return_codes import DONE, FULL
from ..kernels.simd import WIDTH
from ..kernels.step_control import HIGHEST_ORDER, local_tolerance, log_cost
from ..model.connected_parts import is_one_part
from .dual_model import DualModel

if TYPE_CHECKING:
    from ..methods.outcome import Motion, Record

# number of steps per call of the kernel, at most
ROOM = 256
# largest number of integers in the tables of a structure for which specialised code pays: dual numbers take five
# times as long to compile as doubles
MOST_INTEGERS = 1200
# smallest tolerance of a step: below it rounding near singular configurations leads to ever smaller steps
TIGHTEST = 5e-12


class VariationError(Exception):
    """The steps of the derivatives ended before the run did; args: the time [s], and the reason."""


class Variation:
    """Steps of motion and derivatives along a run.

    dual: the model with derivatives; start: derivatives of the initial velocity (count, nq); until: end time [s].
    """

    def __init__(self, dual: DualModel, start: Floats, motion: Motion, until: float) -> None:
        self._dual, self._motion, self._until = dual, motion, until
        self._scales = dual.find_scales(start)
        self._start = start
        self._chunks: list[Any] = []
        self.reached = 0.0

    def run(self, velocity: Floats, tolerance: float) -> None:
        """Take all steps; raises VariationError if they end early."""
        model, count = self._dual.model, len(self._dual.rates)
        ws = make_dual_workspace(model.form, HIGHEST_ORDER)
        state, energy = make_duals(np.zeros((2, model.coordinates))), make_duals(np.zeros(1))
        state["value"][1] = velocity
        state["rates"][1, :, :count] = (self._scales[:, None] * self._start).T
        energy["value"][0] = 0.5 * velocity @ model.times_mass(velocity)
        for p, rates in enumerate(self._dual.rates):
            change = 0.5 * velocity @ rates.times_mass(velocity)
            change += self._start[p] @ model.times_mass(velocity)
            energy["rates"][0, p] = self._scales[p] * change
        ones, balance = make_duals(np.ones(1), np.ones((1, RATES))), np.zeros(kernels.BALANCE)
        kept = set_apart(kernels.DerivativeState(state, energy, ones, balance), "Dual")
        local = max(local_tolerance(tolerance)[0], TIGHTEST)
        # as keeps_energy; whether all coordinates are connected follows from the structure
        is_one = model.structure.fact("one part", lambda: is_one_part(model.form))
        holds = is_one and not acts(model.loads)
        with compiling("sensitivities", model.loaded):
            for part in self._motion.parts:
                end = min(float(part.pieces.starts[-1]), self._until)
                rules = kernels.DerivativeRules(end, local, holds, log_cost())
                self._follow(ws, rules, part.pieces, kept)

    def _follow(self, ws: Any, rules: Any, motion: StepPolynomials, kept: Any) -> None:
        """Steps along a part of the motion that one method computed."""
        model, reason = self._dual.model, FULL
        form = self._dual.make_form(self._scales)
        loads = self._dual.make_loads(self._scales, HIGHEST_ORDER)
        plain = make_workspace(model.form, 0)
        # derivatives take about as many steps as the motion
        room = min(len(motion.orders) + 8 + len(motion.orders) // 4, ROOM)
        while reason == FULL and kept.balance[kernels.TIME] < rules.t_end:
            pieces = make_pieces(room, model.coordinates)
            reason, made = self._take(
                form, ws, loads, model.form, plain, rules, motion, kept, pieces
            )
            if made:
                self._chunks.append(pieces.some(0, made))
                self.reached = float(pieces.starts[made])
            if reason not in (FULL, DONE):
                raise VariationError(self.reached, "its steps became too small")

    def _take(self, *args: Any) -> Any:
        """Some steps; by code specialised for the structure, unless that takes too long to compile."""
        structure = self._dual.model.structure
        if specialise.codes_of(structure, self._dual.model.form).integers > MOST_INTEGERS:
            return kernels.follow_motion(*args)
        return specialise.run(structure, kernels.follow_motion, *args)

    def values(self, times: Floats) -> Floats:
        """q, v, a (3, n, nq) at increasing times up to the time reached."""
        return self._sample(times, 0, np.ones(1))[0]

    def rates(self, times: Floats) -> Floats:
        """Their derivatives (count, 3, n, nq)."""
        return self._sample(times, 1, self._scales)

    def _sample(self, times: Floats, first: int, scales: Floats) -> Floats:
        """Parts of the dual numbers from the first on, as many as there are scales, divided by these."""
        nq = self._dual.model.coordinates
        out = np.zeros((len(scales), 3, len(times), nq))
        side = kernels.SampledLanes(np.zeros((1, WIDTH)), np.zeros((3, WIDTH)))
        begin = 0
        for number, pieces in enumerate(self._chunks):
            is_last = number == len(self._chunks) - 1
            end = len(times)
            if not is_last:
                end = int(np.searchsorted(times, pieces.starts[-1], "right"))
            whole = begin == 0 and end == len(times)
            found = out if whole else np.zeros((len(scales), 3, end - begin, nq))
            parts = pieces.coefficients.view(np.float64).reshape(*pieces.coefficients.shape, PARTS)
            kernels.sample_parts(
                pieces.starts, pieces.orders, parts, times[begin:end].copy(), side, first, found
            )
            if not whole:
                out[:, :, begin:end] = found
            begin = end
        for part, scale in zip(out, scales, strict=True):
            part /= scale
        return out

    def outputs(self, record: Record) -> OutputRates:
        """Derivatives at the outputs of a run."""
        return OutputRates(self, self._dual, record)


class OutputRates:
    """Derivatives at the outputs of a run, by each parameter, in model units; computed on access.

    NaN from the time on at which they are no longer known.
    """

    def __init__(self, variation: Variation, dual: DualModel, record: Record) -> None:
        self._variation, self._dual, self._record = variation, dual, record
        until = variation.reached * (1.0 + 1e-12)
        self._known = int(np.searchsorted(record.times, until, "right")) if variation.reached else 0

    @cached_property
    def states(self) -> Floats:
        """Of q, q', q'', (count, 3, n, nq)."""
        times = np.minimum(self._record.times[: self._known], self._variation.reached)
        return self._extended(self._variation.rates(times), 2)

    @cached_property
    def _duals(self) -> Any:
        """The known outputs as dual numbers, with the angles of torsion springs."""
        record, known = self._record, self._known
        rates = np.moveaxis(self.states[:, :2, :known], 0, -1)
        rates = np.pad(rates, [(0, 0)] * 3 + [(0, RATES - rates.shape[-1])])
        q, v = make_duals(record.q[:known], rates[0]), make_duals(record.v[:known], rates[1])
        out = set_apart(
            record_kernels.Outputs(
                record.times[:known].copy(), q, v, make_duals(np.zeros((known, 0))),
                record.kept[:known].copy(), make_duals(record.angles[:known]),
                make_duals(record.work[:known]),
            ),
            "Dual",
        )  # fmt: skip
        if self._loads is not None:
            kernels.settle_outputs(self._loads, out)
        return out

    @cached_property
    def _loads(self) -> Any:
        return self._dual.make_loads(self._ones, 0)

    @property
    def _ones(self) -> Floats:
        return np.ones(len(self._dual.rates))

    @property
    def angles(self) -> Floats:
        """Of the angles of torsion springs, (RATES, n, torsions)."""
        return self._extended(np.moveaxis(self._duals.angles["rates"], -1, 0), 1)

    @cached_property
    def energies(self) -> Floats:
        """Of the kinetic and potential energy, (RATES, 2, n)."""
        found = make_duals(np.zeros((2, self._known)))
        record_kernels.eval_energies(
            self._dual.make_form(self._ones), self._loads, self._duals, found
        )
        return self._extended(np.moveaxis(found["rates"], -1, 0), 2)

    @cached_property
    def forces(self) -> Floats:
        """Of the forces of drives, (RATES, n, drives); NaN where undefined, near a singular configuration."""
        model = self._dual.model
        found = make_duals(np.zeros((self._known, len(model.loads.drives.sines))))
        if found.size:
            form, ws = self._dual.make_form(self._ones), make_dual_workspace(model.form, 0)
            record_kernels.eval_forces(form, ws, self._loads, self._duals, found)
        rates = np.where(np.isnan(found["value"])[..., None], np.nan, found["rates"])
        return self._extended(np.moveaxis(rates, -1, 0), 1)

    def _extended(self, known: Floats, axis: int) -> Floats:
        """The same with NaN at the outputs that are not known."""
        missing = len(self._record) - self._known
        if not missing:
            return known
        shape = list(known.shape)
        shape[axis] = missing
        return np.concatenate([known, np.full(shape, np.nan)], axis=axis)

    def lane(self, p: int) -> Rates:
        """Those by one parameter."""
        return Rates(self, p)


class Rates(NamedTuple):
    """Derivatives by one parameter at the outputs: of q, q', q'', energies and drive forces; model units."""

    outputs: OutputRates
    lane: int

    @property
    def q(self) -> Floats:
        """Of the configuration, (n, nq)."""
        return np.asarray(self.outputs.states[self.lane, 0])

    @property
    def v(self) -> Floats:
        """Of the velocity."""
        return np.asarray(self.outputs.states[self.lane, 1])

    @property
    def a(self) -> Floats:
        """Of the acceleration."""
        return np.asarray(self.outputs.states[self.lane, 2])

    @property
    def angles(self) -> Floats:
        """Of the angles of torsion springs."""
        return np.asarray(self.outputs.angles[self.lane])

    @property
    def energies(self) -> Floats:
        """Of the kinetic and the potential energy, (2, n)."""
        return np.asarray(self.outputs.energies[self.lane])

    @property
    def forces(self) -> Floats:
        """Of the forces of drives, (n, drives)."""
        return np.asarray(self.outputs.forces[self.lane])


def make_pieces(steps: int, coordinates: int) -> Any:
    """Memory for polynomials of dual numbers; terms beyond the order of a step are never read."""
    coefficients: Any = np.empty((steps, HIGHEST_ORDER + 1, coordinates), DUAL_NUMBER)
    starts, orders = np.zeros(steps + 1), np.zeros(steps, np.int64)
    return set_apart(StepPolynomials(starts, orders, coefficients, np.zeros((steps, 0, 0))), "Dual")
