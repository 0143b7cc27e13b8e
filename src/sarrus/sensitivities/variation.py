"""Derivatives of the motion along a run, by up to RATES parameters at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats
from ..kernels import recording as record_kernels
from ..kernels import variational as kernels
from ..kernels.applied_forces import acts
from ..kernels.compiler import compiling
from ..kernels.dual import RATES, make_duals
from ..kernels.layout import StepPolynomials, make_dual_workspace, set_apart
from ..kernels.return_codes import DONE, FULL
from ..kernels.step_control import HIGHEST_ORDER, local_tolerance, log_cost
from ..model.connected_parts import is_one_part
from .dual_model import DualModel

if TYPE_CHECKING:
    from ..methods.outcome import Motion, Record

# number of steps per call of the kernel
ROOM = 128
# smallest tolerance of a step: below it rounding near singular configurations leads to ever smaller steps
TIGHTEST = 5e-12


@dataclass(frozen=True)
class Rates:
    """Derivatives by one parameter at the outputs: of q, q', q'', energies and drive forces; model units.

    NaN from the time on at which the derivative is no longer known.
    """

    q: Floats
    v: Floats
    a: Floats
    angles: Floats
    energies: Floats
    forces: Floats


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
        self._chunks: list[tuple[Any, Floats]] = []
        self.reached = 0.0

    def run(self, velocity: Floats, tolerance: float) -> None:
        """Take all steps; raises VariationError if they end early."""
        model, count = self._dual.model, len(self._dual.rates)
        ws = make_dual_workspace(model.form, HIGHEST_ORDER)
        state, energy = make_duals(np.zeros((2, model.coordinates))), make_duals(np.zeros(1))
        state["value"][1] = velocity
        state["rates"][1, :, :count] = (self._scales[:, None] * self._start).T
        M = model.dense_mass()
        energy["value"][0] = 0.5 * velocity @ M @ velocity
        for p, rates in enumerate(self._dual.rates):
            change = 0.5 * velocity @ rates.dense_mass() @ velocity + velocity @ M @ self._start[p]
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
        nq, equations = self._dual.model.coordinates, self._dual.model.equations
        point, reason = np.zeros((2, nq)), FULL
        form = self._dual.make_form(self._scales)
        loads = self._dual.make_loads(self._scales, HIGHEST_ORDER)
        while reason == FULL and kept.balance[kernels.TIME] < rules.t_end:
            pieces = make_pieces(nq)
            left = make_duals(np.zeros((ROOM, equations)))
            reason, made = kernels.follow_motion(
                form, ws, loads, rules, motion, point, kept, pieces, left
            )
            if made:
                self._chunks.append((cut(pieces, made), self._scales))
                self.reached = float(pieces.starts[made])
            if reason not in (FULL, DONE):
                raise VariationError(self.reached, "its steps became too small")

    def states(self, times: Floats) -> tuple[list[Floats], Floats]:
        """q, v, a at increasing times up to the time reached, and their derivatives (count, 3, n, nq)."""
        nq, count = self._dual.model.coordinates, len(self._dual.rates)
        values = np.zeros((3, len(times), nq))
        rates = np.zeros((count, 3, len(times), nq))
        first = 0
        for number, (pieces, scales) in enumerate(self._chunks):
            behind = number == len(self._chunks) - 1
            last = len(times) if behind else int(np.searchsorted(times, pieces.starts[-1], "right"))
            found = make_duals(np.zeros((3, last - first, nq)))
            kernels.sample_derivatives(pieces, times[first:last].copy(), *found)
            values[:, first:last] = found["value"]
            for p in range(count):
                rates[p, :, first:last] = found["rates"][..., p] / scales[p]
            first = last
        return list(values), rates

    def rates(self, record: Record) -> list[Rates]:
        """Derivatives at the outputs of a run, by each parameter."""
        times = record.times
        known = int(np.searchsorted(times, self.reached * (1.0 + 1e-12), "right"))
        known = known if self._chunks else 0
        values, rates = self.states(np.minimum(times[:known], self.reached))
        model, count = self._dual.model, len(self._dual.rates)
        ones = np.ones(count)
        form, loads = self._dual.make_form(ones), self._dual.make_loads(ones, 0)
        q, v, a = (
            make_duals(x, _padded(np.moveaxis(rates[:, n], 0, -1))) for n, x in enumerate(values)
        )
        out = set_apart(
            record_kernels.Outputs(
                times[:known].copy(), q, v, a, record.kept[:known].copy(),
                make_duals(record.angles[:known]), make_duals(record.work[:known]),
            ),
            "Dual",
        )  # fmt: skip
        if loads is not None:
            kernels.settle_outputs(loads, out)
        energies = make_duals(np.zeros((2, known)))
        record_kernels.eval_energies(form, loads, out, energies)
        forces = make_duals(np.zeros((known, len(model.loads.drives.sines))))
        if forces.size:
            record_kernels.eval_forces(form, make_dual_workspace(model.form, 0), loads, out, forces)
        n = len(times)
        return [
            Rates(
                _extended(rates[p, 0], n),
                _extended(rates[p, 1], n),
                _extended(rates[p, 2], n),
                _extended(out.angles["rates"][..., p], n),
                _extended(energies["rates"][..., p].T, n).T,
                _extended(_known_forces(forces, p), n),
            )
            for p in range(count)
        ]


def make_pieces(coordinates: int) -> Any:
    """Memory for polynomials of dual numbers."""
    coefficients = make_duals(np.zeros((ROOM, HIGHEST_ORDER + 1, coordinates)))
    starts, orders = np.zeros(ROOM + 1), np.zeros(ROOM, np.int64)
    return set_apart(StepPolynomials(starts, orders, coefficients, np.zeros((ROOM, 0, 0))), "Dual")


def cut(pieces: Any, steps: int) -> Any:
    """Copy the first steps, so that no more memory is kept than they need."""
    some = pieces.some(0, steps)
    return set_apart(StepPolynomials._make(x.copy() for x in some), "Dual")


def _padded(rates: Floats) -> Floats:
    """Derivatives padded to the number of parameters of a dual number."""
    return np.pad(rates, [(0, 0)] * (rates.ndim - 1) + [(0, RATES - rates.shape[-1])])


def _known_forces(forces: np.ndarray, p: int) -> Floats:
    """Derivatives of drive forces; NaN where the force is undefined, near a singular configuration."""
    return np.where(np.isnan(forces["value"]), np.nan, forces["rates"][..., p])


def _extended(rows: Floats, count: int) -> Floats:
    """Rows extended by rows of NaN."""
    out = np.full((count, *rows.shape[1:]), np.nan)
    out[: len(rows)] = rows
    return out
