"""Derivatives of a run by several parameters: parameter groups, validity, neighbouring mechanisms."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats
from ..kernels.compiler import COMPILES
from ..kernels.dual import RATES
from ..mechanism import Mechanism, MechanismError
from ..mechanism.active_parts import ActiveParts
from ..model import make_model
from ..result import Result
from ..simulate import simulate
from ..thresholds import CONFIRMED
from ..tracing import UntracedError
from .dual_model import DualModel, make_dual_model
from .run_parameters import DrawnParameters, RecipeParameters
from .start import find_start_rates
from .tangent import RunTangent
from .validity import (
    Validity,
    check_crossings,
)
from .variation import OutputRates, Variation, VariationError

if TYPE_CHECKING:
    from ..methods.outcome import Motion

# parameter step to neighbouring mechanisms, relative to the change that alters the model by its own size
NEIGHBOUR = 1e-4
# samples per step for extremes: a step turns the mechanism by about a radian
SAMPLES = 16
# tolerance at which a run uses extended precision near singular configurations
PRECISE = 1e-12
SERIES = "series"
NOT_TRIED = "not tried"
CHANGED = (
    "an event changes the mechanism there, and derivatives are not continued past such an event"
)


def polynomials(result: Result) -> Motion:
    """The step polynomials of a run that kept them."""
    found = result.outcome.motion
    assert found is not None
    return found


def without_actions(mechanism: Mechanism) -> Mechanism:
    """A copy in which no event or limit changes the mechanism."""
    new = mechanism.copy()
    new.events, new.limits, new.lockable = [], [], []
    return new


def first_segment(result: Result) -> Result:
    """The run until the first event that changes its mechanism, with its polynomials; the run if there is none."""
    segments = result.outcome.segments
    if not segments:
        return result
    end = segments[1].begin if len(segments) > 1 else result.duration
    if segments[0].parts != ActiveParts().text or not end > 0.0:
        raise MechanismError(
            f"'{result.name}': an event changes the mechanism at the start; derivatives past such an event are "
            "not supported"
        )
    known = vars(result).setdefault("_repeated_runs", {})
    if "first segment" not in known:
        times = result.times[result.times <= end]
        known["first segment"] = simulate(
            without_actions(result.mechanism), end, outputs=times if len(times) else [0.0],
            dense=True, tolerance=result.tolerance, max_steps=result.settings.max_steps,
        )  # fmt: skip
    found: Result = known["first segment"]
    return found


class RunDerivatives:
    """Derivatives of a run by the parameters of a mechanism's definition or of a recipe."""

    def __init__(self, result: Result, source: DrawnParameters | RecipeParameters) -> None:
        if not COMPILES:
            raise NotImplementedError(
                "sensitivities need compiled kernels; unset SARRUS_PLAIN_KERNELS"
            )
        if result.settings.tolerance is None:
            raise ValueError(
                f"'{result.name}' was simulated by '{result.method}', whose motion is not exact enough for "
                "derivatives; simulate it by a method with a tolerance, such as 'auto'"
            )
        self.whole, self.result, self.source = result, first_segment(result), source

    @property
    def cut(self) -> float:
        """Time of the first event that changes the mechanism [s]; infinite if there is none."""
        return np.inf if self.result is self.whole else self.result.duration

    @cached_property
    def dense(self) -> Result:
        """The run with its step polynomials, by the series method; repeated if it did not keep such ones."""
        if self.result.outcome.motion is not None and self.result.method == SERIES:
            return self.result
        return self._again(self.result.tolerance)

    @cached_property
    def precise(self) -> Result:
        """The run with extended precision near singular configurations.

        Near a singular configuration the error of the derivatives is the error of the motion divided by a small
        pivot.
        """
        tolerance = self.result.tolerance
        if tolerance is not None and tolerance <= PRECISE:
            return self.dense
        found = self._again(PRECISE)
        return found if found.success and self.result.success else self.dense

    @cached_property
    def is_singular(self) -> bool:
        """Whether the motion passes singular configurations, or comes near some."""
        result = self.result
        return result.outcome.watch is not None and bool(result.crossings or result.near_singular)

    def _again(self, tolerance: float | None) -> Result:
        """The same run with its step polynomials; outputs are read from these. Kept for later calls."""
        result = self.result
        known = vars(result).setdefault("_repeated_runs", {})
        if tolerance not in known:
            known[tolerance] = simulate(
                result.mechanism, result.duration, outputs=[0.0, result.duration], dense=True,
                tolerance=tolerance, method=SERIES, max_steps=result.settings.max_steps,
            )  # fmt: skip
        return known[tolerance]

    @property
    def motion(self) -> Motion:
        """The step polynomials of the run."""
        return polynomials(self.dense)

    @property
    def tolerance(self) -> float:
        """Tolerance of the run."""
        return self.result.tolerance or 1e-10

    @property
    def start_velocity(self) -> Floats:
        """Velocity at t = 0, in model units."""
        return np.asarray(self.result.start.v[0])

    @cached_property
    def end(self) -> float:
        """Time until which the run is valid [s]."""
        watch = self.dense.outcome.watch
        return self.motion.end if watch is None else min(self.motion.end, watch.until)

    @cached_property
    def sample_times(self) -> Floats:
        """Times of the run so close together that extremes of coordinates lie between neighbours [s]."""
        starts = np.unique(np.concatenate([part.pieces.starts for part in self.motion.parts]))
        inside = starts[:-1, None] + np.diff(starts)[:, None] * np.arange(SAMPLES) / SAMPLES
        times = np.append(inside.ravel(), starts[-1])
        return np.asarray(np.append(times[times < self.end], self.end))

    @cached_property
    def crossings(self) -> list[Any]:
        """Crossings of the run, in order of time."""
        return [] if self.result.outcome.watch is None else list(self.result.crossings)

    def take(self) -> list[RunTangent]:
        """Derivatives by all parameters, in groups of as many as a dual number holds."""
        found: list[RunTangent] = []
        count = len(self.source.parameters)
        for first in range(0, count, RATES):
            found += self._take(list(range(first, min(first + RATES, count))))
        for tangent in found:
            if tangent.validity and self.cut < np.inf:
                tangent.validity = Validity(self.cut, CHANGED, tangent.validity.defect)
        return found

    def _take(self, lanes: list[int]) -> list[RunTangent]:
        parameters = [self.source.parameters[p] for p in lanes]
        dual = self._dual(lanes)
        # derivatives by parameters that leave the constraints unchanged exist through crossings
        validities = [Validity() for _ in lanes]
        if any(dual.moves_constraints):
            validities = check_crossings(
                dual, self.result.times, self.result.coordinates,
                np.array([c.time for c in self.crossings]),
                np.array([c.coordinates for c in self.crossings]),
            )  # fmt: skip
        for lane, moves in enumerate(dual.moves_constraints):
            validities[lane] = self._check_structure(
                lanes[lane], dual, lane, moves, validities[lane]
            )
        ends = [self._end_before(v.until) for v in validities]
        if len(set(ends)) > 1:
            # a pole of one derivative would shorten the steps of all
            return [tangent for p in lanes for tangent in self._take([p])]
        names = [p.name for p in parameters]
        group = ParameterGroup(dual, names, self, ends[0])
        out = []
        for lane, (parameter, validity) in enumerate(zip(parameters, validities, strict=True)):
            if group.failure and group.reached < ends[0]:
                validity = Validity(group.reached, group.failure, validity.defect)
            tangent = RunTangent(self, parameter, validity, lane, group)
            if dual.moves_constraints[lane] and len(self.crossings) and group.reached > 0.0:
                tangent.validity = self._confirm(lanes[lane], tangent, group.scale(lane))
            out.append(tangent)
        return out

    def _dual(self, lanes: list[int]) -> DualModel:
        traced, count = self.source.trace(lanes)
        if self.cut < np.inf:
            traced = without_actions(traced)
        try:
            return make_dual_model(traced, self.result.model, count)
        except UntracedError as error:
            names = ", ".join(self.source.parameters[p].name for p in lanes)
            raise MechanismError(
                f"wrt {names}: the derivative cannot be computed ({error})"
            ) from error

    def _end_before(self, until: float) -> float:
        """End of the steps: the last output before a derivative ceases to exist."""
        if until > self.end:
            return self.end
        before = self.result.times[self.result.times < until * (1.0 - 1e-9)]
        return float(before[-1]) if len(before) else 0.0

    def _check_structure(
        self, p: int, dual: DualModel, lane: int, moves: bool, known: Validity
    ) -> Validity:
        """Reject directions in which no mechanism exists; undefined if the model's structure changes.

        moves: whether the parameter changes the constraints. For these parameters, and for those that move points
        of the definition or change drives, the step is far larger than their rounding. Other parameters, such as
        the mass of a light body, may allow only a small step.
        """
        scale = NEIGHBOUR * float(dual.find_scales(np.zeros((len(dual.rates), 1)))[lane])
        name = self.source.parameters[p].name
        drawn = moves or self.source.parameters[p].is_place or dual.changes_drives(lane)
        if dual.keeps_structure(lane, scale) and dual.keeps_structure(lane, -scale):
            return known
        failure: MechanismError | None = None
        for step in (scale,) if drawn else (scale, 1e-3 * scale, 1e-6 * scale):
            found = []
            for sign in (1.0, -1.0):
                try:
                    other = self.source.neighbour(p, sign * step)
                    found.append(make_model(without_actions(other) if self.cut < np.inf else other))
                except MechanismError as error:
                    failure = error
            if len(found) < 1 + drawn:
                continue
            digest = dual.model.structure.blueprint.digest
            if any(model.structure.blueprint.digest != digest for model in found):
                why = (
                    "the model has another structure where it changes (places in a line, axes that are parallel "
                    "or perpendicular, or inertias that vanish, are so here only), which is not supported"
                )
                return Validity(0.0, why, known.defect)
            return known
        raise MechanismError(f"wrt {name}: no mechanism lies in this direction; {failure}")

    def _confirm(self, p: int, tangent: RunTangent, scale: float) -> Validity:
        """Run neighbouring mechanisms on both sides: the derivative must predict them after crossings."""
        result, validity = self.result, tangent.validity
        end = tangent._group.reached
        moments = [c.time for c in self.crossings if c.time < end]
        if moments and not validity:
            # close to a pole finite differences do not approximate derivatives
            end = 0.5 * (moments[-1] + validity.until)
        times = result.times[result.times <= end]
        if not moments or len(times) < 2:
            return validity
        names = [joint.name for joint in result.mechanism.joints] or result.points
        predicted = np.stack([tangent.of(name).values[: len(times)] for name in names], axis=1)
        missed = 0.0
        for step in (NEIGHBOUR * scale, 0.1 * NEIGHBOUR * scale):
            runs = [self._neighbour_run(p, sign * step, times, names) for sign in (1.0, -1.0)]
            if any(isinstance(run, str) for run in runs):
                why = next(run for run in runs if isinstance(run, str))
                return Validity(
                    moments[0], f"a neighbouring mechanism does not run: {why}", validity.defect
                )
            found = (runs[0] - runs[1]) / (2.0 * step)
            size = np.maximum.accumulate(np.abs(predicted).max(axis=(1, 2)))
            off = np.abs(found - predicted).max(axis=(1, 2))
            bad = np.flatnonzero(off > CONFIRMED * (size + 1e-6 * result.mechanism.size / step))
            if not len(bad):
                return validity
            missed = float(times[bad[0]])
        before = [t for t in moments if t <= missed]
        until = before[-1] if before else 0.0
        why = (
            "neighbouring mechanisms leave the predicted motion there: the crossing exists for special "
            "dimensions only"
        )
        return Validity(until, why, validity.defect)

    def _neighbour_run(self, p: int, step: float, times: Floats, names: list[str]) -> Any:
        """Joint positions of a neighbouring mechanism at some times, or the reason why there are none."""
        try:
            mechanism = self.source.neighbour(p, step)
            if self.cut < np.inf:
                mechanism = without_actions(mechanism)
            run = simulate(mechanism, float(times[-1]), outputs=times, tolerance=self.tolerance)
        except MechanismError as error:
            return str(error)
        if len(run.times) < len(times):
            return run.message
        return np.stack([run.position(name) for name in names], axis=1)


class ParameterGroup:
    """Parameters whose derivatives are computed together, in the SIMD lanes of dual numbers."""

    def __init__(
        self, dual: DualModel, names: list[str], run: RunDerivatives, until: float
    ) -> None:
        self.dual, self._run = dual, run
        velocity = run.start_velocity
        self.failure = NOT_TRIED
        # a derivative that does not exist has no initial value either
        self._start = np.zeros((len(names), len(velocity)))
        if until > 0.0:
            self._start = find_start_rates(dual, names, velocity)
        # derivatives by parameters that change the constraints always need the more accurate motion, others do if
        # their steps become ever smaller
        if not (any(dual.moves_constraints) and run.is_singular):
            self._follow(run, run.dense, until)
            if not self.failure:
                return
        if run.precise is not run.dense or self.failure == NOT_TRIED:
            self._follow(run, run.precise, until)

    def _follow(self, run: RunDerivatives, source: Result, until: float) -> None:
        """Derivatives along the motion of a run, or the reason why they end."""
        self.variation = Variation(self.dual, self._start, polynomials(source), until)
        self.failure = ""
        try:
            self.variation.run(run.start_velocity, run.tolerance)
        except VariationError as error:
            self.failure = str(error.args[1])

    def scale(self, lane: int) -> float:
        """Scale of a parameter: the change that alters the model by its own size."""
        return float(self.dual.find_scales(self._start)[lane])

    @property
    def reached(self) -> float:
        """Time that the derivatives reach [s]."""
        return self.variation.reached

    @cached_property
    def rates(self) -> OutputRates:
        """Derivatives at the outputs, by each parameter."""
        return self.variation.outputs(self._run.result.record)
