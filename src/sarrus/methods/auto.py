"""The default method: `series`, and `radau` where stiffness, not accuracy, limits the step.

A series converges only within the decay time of the fastest part of the motion, even long after that part has died
out. If the mechanism has dampers, two criteria are therefore checked after every buffer of steps:

    stiff?     sigma = h rate, with the mean step h of the buffer and rate the largest -Re of the eigenvalues of
               the linearised motion over the null space of J:  M x'' = G x' + S x. Steps of this length
               throughout the buffer, long after that part of the motion has died out, indicate stiffness
    worth it?  radau tries some steps from there, and its step is compared with h

Both depend on step counts, not on a clock: the same run gives the same result on every machine. Details and
measurements: docs/methods/auto.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import eigvals, null_space

from ..arrays import Floats
from ..kernels.applied_forces import is_damped
from ..kernels.step_control import LEFT, STIFF
from ..model import Model
from ..thresholds import DEPENDENT_VALUE
from . import radau
from .method import Run, Start, warm_up
from .outcome import Outcome
from .radau import Radau
from .series import Series, repeat_if_needed
from .series import run as series_alone
from .time_loop import Steps, Stopwatch, run_steps

# stiffness limits a step (STIFF) if the fastest part has died out: this many decay times have passed with such
# steps; e^-30 is below rounding
DEAD = 30.0
# cost of a step of radau in short steps of a series: 4 to 15 in random stiff mechanisms, half of them below 8
COST = 8.0
# radau has to be better by this factor
GAIN = 1.5
TRIAL_STEPS = 30


def first_part(model: Model) -> str:
    """Return the method that starts a run of this model: series, unless it does not support the model."""
    return "radau" if len(model.loads.user.calls) else "series"


def run(problem: Run) -> Outcome:
    """Simulate with series or radau; only one of them does a run that may stop at crossings."""
    model = problem.model
    if first_part(model) == "radau":
        outcome = radau.run(problem)
        why = "method 'radau' from the start: series cannot use a user force"
        return replace(outcome, method="radau", notes=[why, *outcome.notes])
    if not is_damped(model.loads) or problem.stop is not None:
        return series_alone(problem, method="series")
    series = Series(problem)
    move = _Move(problem, series)
    outcome = run_steps(problem, series, move)
    # the first trial of radau may have to wait for its kernels; this time does not count as solve time
    timings = {**outcome.timings, "compile": move.compile_seconds}
    if not move.why:
        outcome = repeat_if_needed(problem, series, replace(outcome, timings=timings))
        return replace(outcome, method="series")
    return replace(outcome, method="radau", timings=timings, notes=[move.why, *outcome.notes])


class _Move:
    """Called after every buffer of steps; decides whether radau continues, and then sets the note `why`."""

    def __init__(self, problem: Run, series: Series) -> None:
        self.problem, self.series = problem, series
        self.why = ""
        # number of buffers until the next trial, and between the last two trials
        self.wait = self.pause = 0
        self.compile_seconds = 0.0

    def __call__(self, steps: Steps, clock: Stopwatch) -> Radau | None:
        """Return a Radau stepper if radau is to continue after these steps."""
        if self.series.in_doubt:
            # the method that entered a singular neighbourhood certifies the motion after it
            return None
        if self.wait:
            self.wait -= 1
            return None
        self.compile_seconds += warm_up("radau", radau.run, self.problem.model, radau.OPTIONS)
        with clock("solve"):
            return self._test(steps)

    def _test(self, steps: Steps) -> Radau | None:
        assert steps.carried is not None
        t, step = float(steps.pieces.starts[-1]), steps.mean
        if self.problem.duration - t < LEFT * step:
            return None
        q, v = self.series.state.copy()
        start = Start(t, q, v, steps.carried.copy())
        reach, J, S, G = radau.try_steps(self.problem, start, TRIAL_STEPS)
        worth = reach >= GAIN * COST * step
        rate = fastest_decay(self.problem.model, J, S, G) if worth else 0.0
        if step * rate < max(STIFF, DEAD / steps.count):
            # after an unsuccessful trial, wait longer before the next one
            self.pause = 2 * self.pause + 1
            self.wait = self.pause
            return None
        self.why = (
            f"method 'radau' from t = {t:.6g} s on: the motion is stiff there. Steps of the series were "
            f"{step:.2g} s, {step * rate:.1f} times the fastest decay time {1.0 / rate:.2g} s; radau takes "
            f"{reach:.2g} s"
        )
        return Radau(self.problem, start)


def fastest_decay(model: Model, J: Floats, S: Floats, G: Floats) -> float:
    """Largest -Re of the eigenvalues of M x'' = G x' + S x over the null space of J [1/s]."""
    R = null_space(J, rcond=DEPENDENT_VALUE) if len(J) else np.eye(model.coordinates)
    n = R.shape[1]
    if not n:
        return 0.0
    rates = np.linalg.solve(R.T @ model.mass_matrix() @ R, np.hstack([R.T @ S @ R, R.T @ G @ R]))
    matrix = np.block([[np.zeros((n, n)), np.eye(n)], [rates]])
    return max(0.0, float(-eigvals(matrix).real.min()))
