"""Checks energy and losses for all methods, after every buffer of steps.

Energy: kinetic plus potential energy minus the work of non-conservative forces is constant. Its drift is measured
at the ends of all steps, relative to the energy exchanged so far: the largest kinetic energy, change of the
potential, or work. If it exceeds a fraction of that, a note states the number. If it is far larger, a run whose
steps follow a tolerance ends, and later outputs are not kept. For textbook methods with steps of the user's choice
drift is inherent: they get the note, and the status does not change.

Losses: a step that exceeded the tolerance reports its possible loss. The losses are summed; a run that keeps
losing accuracy without progress ends.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Flags, Floats
from ..kernels import recording as kernels
from ..kernels.step_control import drift_at_rest, noted_drift
from ..thresholds import (
    DRIFT_AT_STEP,
    DRIFT_DRIVEN,
    DRIFT_FAR,
    DRIFT_MOST,
    DRIFT_ROUNDING,
    LOST_KEPT,
    NO_PROGRESS_SHARE,
    NO_PROGRESS_STEPS,
    SMALLEST_TOLERANCE,
)
from . import status
from .status import Ending

if TYPE_CHECKING:
    from ..kernels.applied_forces import Loads
    from .method import Run
    from .outcome import MotionPart, Record
    from .time_loop import Steps


class Judge:
    """Checks the steps of a run, buffer by buffer; cpu: CPU time used [s]."""

    def __init__(self, problem: Run, loads: Loads | None) -> None:
        """loads: of the model, with memory for their forms and angles, which this check overwrites."""
        self._problem = problem
        model = problem.model
        self._loads = loads
        self._unit = model.units.energy
        self._state = np.zeros((2, model.coordinates))
        # totals of the run so far (kernels/recording.py); rounding is at least a fraction of all constant forces
        self._totals, self._begun = np.zeros(kernels.TOTALS), False
        self._totals[kernels.LARGEST_TERM] = np.abs(model.form.Q).sum()
        # the largest drift so far, and its time [s]
        self._drift = self._when = 0.0
        # possible loss of the steps, relative to the mechanism's length, and the time until which it is small [s]
        self.lost = 0.0
        self.good_until = np.inf
        # consecutive steps with a loss, and their start time [s]
        self._no_progress, self._no_progress_since = 0, 0.0
        self.cpu = 0.0

    def look(
        self, steps: Steps, part: MotionPart, carried: Floats, tolerance: float | None
    ) -> Ending | None:
        """Check some steps; return how the run has to end, if it has to.

        part: the steps with their angles and work; carried: both at their end; tolerance: of the steps, None if
        the user chose the steps.
        """
        cpu = time.thread_time()
        unbalanced = self._judge_energy(part, carried, tolerance)
        no_progress = self._judge_losses(steps, tolerance)
        self.cpu += time.thread_time() - cpu
        return unbalanced or no_progress

    def _judge_energy(
        self, part: MotionPart, carried: Floats, tolerance: float | None
    ) -> Ending | None:
        pieces, model = part.pieces, self._problem.model
        times = pieces.starts[: len(pieces.orders) + 1]
        drift, exchanged = np.empty((2, len(times)))
        kernels.weigh_steps(
            model.form, self._loads, pieces, carried, part.restored, not self._begun, self._state,
            self._totals, drift, exchanged,
        )  # fmt: skip
        self._begun = True
        worst = int(drift.argmax())
        if drift[worst] > self._drift:
            self._drift, self._when = float(drift[worst]), float(times[worst])
        if tolerance is None:
            return None
        far = min(DRIFT_FAR * max(tolerance, SMALLEST_TOLERANCE), DRIFT_MOST)
        if len(model.loads.drives.equations):
            far = max(far, DRIFT_DRIVEN)
        # this form of the comparison counts nan as exceeding
        within = drift <= far * exchanged + self._noise(tolerance)
        if within.all():
            return None
        n = int(within.argmin())
        self.good_until = float(times[max(n - 1, 0)])
        return status.unbalanced(
            float(times[n]),
            float(drift[n]) * self._unit,
            float(exchanged[n]) * self._unit,
            tolerance,
        )

    def are_balanced(self, record: Record, tolerance: float) -> Flags:
        """Return which outputs of a run have the initial energy, up to the drift that is noted."""
        drift = np.abs(record.energy - record.energy[0])
        parts = record.kinetic, np.abs(record.potential - record.potential[0]), np.abs(record.work)
        exchanged = np.maximum.accumulate(np.max(parts, axis=0))
        share = noted_drift(tolerance)
        if len(self._problem.model.loads.drives.equations):
            share = max(share, DRIFT_DRIVEN)
        # this form of the comparison counts nan as not balanced
        return np.asarray(drift <= share * exchanged + self._noise(tolerance))

    def _noise(self, tolerance: float | None) -> float:
        """Return the drift where little moves: rounding, and coordinates with an error of the tolerance."""
        largest = float(self._totals[kernels.LARGEST_TERM])
        return DRIFT_ROUNDING * largest if tolerance is None else drift_at_rest(tolerance, largest)

    @property
    def place(self) -> Floats:
        """Configuration at the end of the last step."""
        place: Floats = self._state[0]
        return place

    def _judge_losses(self, steps: Steps, tolerance: float | None) -> Ending | None:
        if tolerance is None or not steps.losses.any():
            self._no_progress = 0
            return None
        lost = self.lost + np.cumsum(steps.losses)
        allowed = LOST_KEPT * max(tolerance, SMALLEST_TOLERANCE)
        if self.lost <= allowed < lost[-1]:
            n = int(np.argmax(lost > allowed))
            self.good_until = min(self.good_until, float(steps.pieces.starts[n]))
        self.lost = float(lost[-1])
        starts, often = steps.pieces.starts, int(np.count_nonzero(steps.losses))
        if often < NO_PROGRESS_SHARE * steps.count:
            self._no_progress = 0
            return None
        if not self._no_progress:
            self._no_progress_since = float(starts[int(np.argmax(steps.losses > 0.0))])
        self._no_progress += often
        if self._no_progress < NO_PROGRESS_STEPS:
            return None
        return status.makes_no_progress(
            self._no_progress_since, float(starts[-1]), self._no_progress, tolerance
        )

    def notes(self, tolerance: float | None, setting: float) -> list[str]:
        """Return notes about the energy balance for the user."""
        share = DRIFT_AT_STEP if tolerance is None else noted_drift(tolerance)
        exchanged = float(self._totals[kernels.MOST_EXCHANGED])
        if self._drift <= share * exchanged + self._noise(tolerance):
            return []
        part = self._drift / exchanged if exchanged else np.inf
        by = f"tolerance {tolerance:g}" if tolerance is not None else f"setting {setting:g}"
        return [
            f"the energy balance drifts by {self._drift * self._unit:.2g} J, {part:.1e} of the "
            f"{exchanged * self._unit:.3g} J exchanged (largest at t = {self._when:.6g} s, {by})"
        ]
