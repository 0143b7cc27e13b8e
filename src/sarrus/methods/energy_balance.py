"""The one judge of energy and losses, for all methods: asked after every buffer of steps.

Energy: kinetic and potential energy minus the work of what has no potential stays what it was. The drift of that
is measured at the ends of all steps, by the energy exchanged so far: the largest kinetic energy, change of the
potential, or work. Beyond a share of it there is a note with the number; far beyond it a run whose steps follow
a tolerance ends, and its outputs from there on are not kept. A textbook method with steps of a user's choice
drifts by its nature: it gets the note, and its status stays.

Losses: a step that could not hold the tolerance tells what it may have lost. They are summed; a run that loses
again and again and gets nowhere ends.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Flags, Floats
from ..kernels import recording as kernels
from ..kernels.applied_forces import make_loads
from ..kernels.layout import StepPolynomials
from ..thresholds import (
    CRAWLING_SHARE,
    CRAWLING_STEPS,
    DRIFT_AT_REST,
    DRIFT_AT_STEP,
    DRIFT_DRIVEN,
    DRIFT_FAR,
    DRIFT_MOST,
    DRIFT_NOTED,
    DRIFT_ROUNDING,
    LOST_KEPT,
    SMALLEST_TOLERANCE,
)
from . import status
from .status import Ending

if TYPE_CHECKING:
    from .method import Run
    from .outcome import MotionPart, Record
    from .time_loop import Steps


class Judge:
    """Looks at the steps of a run, buffer by buffer; cpu: seconds it took."""

    def __init__(self, problem: Run) -> None:
        self._problem = problem
        model = problem.model
        self._loads = make_loads(model.loads, 0)
        self._unit = model.units.energy
        self._start: Floats | None = None
        # what rounding is a share of: all that energies are differences of
        self._held = float(np.abs(model.form.Q).sum())
        # the largest drift so far, the energy exchanged by then, and when [s]
        self._drift = self._exchanged = self._when = 0.0
        # what steps may have lost, over the mechanism's length, and until when that is little [s]
        self.lost = 0.0
        self.good_until = np.inf
        # steps in a row that lost something, and since when [s]
        self._crawling, self._crawling_since = 0, 0.0
        # position at the end of the last step
        self.place = np.zeros(model.coordinates)
        self.cpu = 0.0

    def look(
        self, steps: Steps, part: MotionPart, carried: Floats, tolerance: float | None
    ) -> Ending | None:
        """Judge some steps; how the run has to end, if it has to.

        part: they with their angles and work, carried: both at their end; tolerance: what the steps follow, None
        for a user's choice.
        """
        cpu = time.thread_time()
        unbalanced = self._judge_energy(part, carried, tolerance)
        crawling = self._judge_losses(steps, tolerance)
        self.cpu += time.thread_time() - cpu
        return unbalanced or crawling

    def _judge_energy(
        self, part: MotionPart, carried: Floats, tolerance: float | None
    ) -> Ending | None:
        kinetic, potential, work, times = self._energies(part.pieces, carried)
        if self._start is None:
            self._start = np.array([kinetic[0] + potential[0] - work[0], potential[0]])
        # what was put back, the steps had gained or lost; the end of the last is that of its polynomials
        drift = kinetic + potential - work - self._start[0]
        drift[: len(part.restored)] -= part.restored[: len(drift)]
        drift[len(part.restored) :] -= part.restored[-1]
        drift = np.abs(drift)
        exchanged = np.maximum(
            kinetic, np.maximum(np.abs(potential - self._start[1]), np.abs(work))
        )
        exchanged = np.maximum.accumulate(np.maximum(exchanged, self._exchanged))
        self._held = max(self._held, float(np.abs(potential).max()), float(np.abs(work).max()))
        self._exchanged = float(exchanged[-1])
        worst = int(np.argmax(drift))
        if drift[worst] > self._drift:
            self._drift, self._when = float(drift[worst]), float(times[worst])
        if tolerance is None:
            return None
        far = min(DRIFT_FAR * max(tolerance, SMALLEST_TOLERANCE), DRIFT_MOST)
        if len(self._problem.model.loads.drives.equations):
            far = max(far, DRIFT_DRIVEN)
        # written so that nan is beyond
        beyond = np.flatnonzero(~(drift <= far * exchanged + self._noise(tolerance)))
        if not len(beyond):
            return None
        n = int(beyond[0])
        self.good_until = float(times[max(n - 1, 0)])
        return status.unbalanced(
            float(times[n]),
            float(drift[n]) * self._unit,
            float(exchanged[n]) * self._unit,
            tolerance,
        )

    def are_balanced(self, record: Record, tolerance: float) -> Flags:
        """Which outputs of a run have the energy of its start, up to what is noted as drift."""
        drift = np.abs(record.energy - record.energy[0])
        parts = record.kinetic, np.abs(record.potential - record.potential[0]), np.abs(record.work)
        exchanged = np.maximum.accumulate(np.max(parts, axis=0))
        share = DRIFT_NOTED * max(tolerance, SMALLEST_TOLERANCE)
        if len(self._problem.model.loads.drives.equations):
            share = max(share, DRIFT_DRIVEN)
        # written so that nan is not balanced
        return np.asarray(drift <= share * exchanged + self._noise(tolerance))

    def _noise(self, tolerance: float | None) -> float:
        """What drifts where little moves: rounding, and places that are off by the tolerance."""
        share = DRIFT_ROUNDING
        if tolerance is not None:
            share = max(share, DRIFT_AT_REST * max(tolerance, SMALLEST_TOLERANCE))
        return share * self._held

    def _energies(
        self, pieces: StepPolynomials, carried: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Kinetic and potential energy, work, and times, at the starts of the steps and at their end."""
        nq, angle_and_work_series = self._problem.model.coordinates, pieces.angle_and_work_series
        rows = pieces.coefficients
        count, apart = len(pieces.orders), rows.shape[2] > nq
        q, v = rows[:, 0, :nq], rows[:, 0, nq:] if apart else rows[:, 1]
        angles, work = np.zeros((count, 0)), np.zeros(count)
        if len(carried):
            angles, work = angle_and_work_series[:, :-1, 0], angle_and_work_series[:, -1, 0]
        times = pieces.starts[: count + 1]
        if len(times) > count:
            order, h = int(pieces.orders[-1]), times[-1] - times[-2]
            last, powers = rows[-1, : order + 1], np.full(order + 1, h)
            powers[0] = 1.0
            powers = np.cumprod(powers)
            end = powers @ last
            rate = end[nq:] if apart else (powers[:-1] * np.arange(1.0, order + 1.0)) @ last[1:]
            q, v = np.vstack([q, end[:nq]]), np.vstack([v, rate])
            angles = np.vstack([angles, carried[:-1]])
            work = np.append(work, carried[-1:] if len(carried) else 0.0)
        self.place = np.array(q[-1])
        energies = np.zeros((2, len(q)))
        none = np.zeros(0)
        out = kernels.Outputs(
            times=np.ascontiguousarray(times),
            q=np.ascontiguousarray(q),
            v=np.ascontiguousarray(v),
            a=np.zeros((0, nq)),
            kept=none.astype(np.int64),
            angles=np.ascontiguousarray(angles),
            work=none,
        )
        kernels.eval_energies(self._problem.model.form, self._loads, out, energies)
        return energies[0], energies[1], np.asarray(work), np.asarray(times)

    def _judge_losses(self, steps: Steps, tolerance: float | None) -> Ending | None:
        if tolerance is None or not steps.losses.any():
            self._crawling = 0
            return None
        lost = self.lost + np.cumsum(steps.losses)
        allowed = LOST_KEPT * max(tolerance, SMALLEST_TOLERANCE)
        if self.lost <= allowed < lost[-1]:
            n = int(np.argmax(lost > allowed))
            self.good_until = min(self.good_until, float(steps.pieces.starts[n]))
        self.lost = float(lost[-1])
        starts, often = steps.pieces.starts, int(np.count_nonzero(steps.losses))
        if often < CRAWLING_SHARE * steps.count:
            self._crawling = 0
            return None
        if not self._crawling:
            self._crawling_since = float(starts[int(np.argmax(steps.losses > 0.0))])
        self._crawling += often
        if self._crawling < CRAWLING_STEPS:
            return None
        return status.crawled(self._crawling_since, float(starts[-1]), self._crawling, tolerance)

    def notes(self, tolerance: float | None, setting: float) -> list[str]:
        """What a user should know of the energy balance."""
        share = (
            DRIFT_AT_STEP if tolerance is None else DRIFT_NOTED * max(tolerance, SMALLEST_TOLERANCE)
        )
        if self._drift <= share * self._exchanged + self._noise(tolerance):
            return []
        part = self._drift / self._exchanged if self._exchanged else np.inf
        by = f"tolerance {tolerance:g}" if tolerance is not None else f"setting {setting:g}"
        return [
            f"the energy balance drifts by {self._drift * self._unit:.2g} J, {part:.1e} of the "
            f"{self._exchanged * self._unit:.3g} J exchanged (largest at t = {self._when:.6g} s, {by})"
        ]
