"""The default: `series`, and `radau` where stiffness, not accuracy, limits the step.

A series converges within the time in which the fastest part of the motion decays, also long after that
part has died out. So with dampers in the mechanism, after every buffer of steps, it is asked

    stiff?     sigma = h rate, h the mean step of the buffer, rate the largest -Re of the eigenvalues of
               the motion linearised there, over the null space of J:  M x'' = G x' + S x
    worth it?  radau tries some steps from there, and its step is compared with h

Both are answered by counted steps, not by a clock: the same run gives the same result anywhere.
Details and measured numbers: docs/methods/auto.md.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.linalg import eigvals, null_space

from ..arrays import Floats
from ..kernels.loads import is_damped
from ..model import Model
from . import radau, series
from .fixed_step import skipped
from .outcome import Outcome
from .warm_up import warm_up

# a step of a series is limited by stiffness if it is this long, in decay times: less is accuracy
STIFF = 2.0
# a step of radau costs about so many steps of a series (measured: 6 to 10)
COST = 10.0
# radau has to be this much better
GAIN = 1.5
TRIAL_STEPS = 30
# singular values of J below this part of the largest are zero: J here is that of a regular position
DEPENDENT = 1e-9


def first_part(model: Model) -> str:
    """The method that a run of this model begins with: series, unless it cannot do it."""
    return "radau" if len(model.loads.user.calls) else "series"


def run(
    model: Model,
    velocity: Floats,
    times: Floats,
    duration: float,
    tolerance: float,
    max_steps: int,
    *,
    stop: series.Stop | None = None,
) -> Outcome:
    """Simulate from q = 0 and the given velocity; record at the given times.

    stop: as for series, which then does the whole run.
    """
    arguments = model, velocity, times, duration, tolerance, max_steps
    if len(model.loads.user.calls) and stop is not None:
        return skipped(
            model, "a run with user forces cannot stop at crossings; leave at_crossing out"
        )
    if len(model.loads.user.calls):
        outcome = radau.run(*arguments)
        outcome.method = "radau"
        outcome.notes.insert(0, "method 'radau' from the start: series cannot use a user force")
        return outcome
    if not is_damped(model.loads) or stop is not None:
        outcome = series.run(*arguments, stop=stop)
        outcome.method = "series"
        return outcome

    move = _Watch(model, duration, tolerance)
    first = series.run(*arguments, leave=move)
    first.method = "series"
    # the first trial of radau may have to wait for its kernels; that is no part of the solve
    first.timings["solve_cpu"] -= move.compile_cpu
    first.timings["solve_wall"] -= move.compile_wall
    first.timings["compile"] = move.compile_wall
    if move.start is None:
        return first
    taken = first.counters["steps"]
    rest = times[len(first.times) :]
    second, _, _ = radau.go_on(model, move.start, rest, duration, tolerance, max_steps - taken)
    return _join(first, second, move.why)


class _Watch:
    """Asks after every buffer of steps whether radau is to go on; then `start` is where, `why` a note."""

    def __init__(self, model: Model, duration: float, tolerance: float) -> None:
        self.model, self.duration, self.tolerance = model, duration, tolerance
        self.start: radau.Start | None = None
        self.why = ""
        # buffers until the next trial, and how many there were between the last two
        self.wait = self.pause = 0
        self.compile_cpu = self.compile_wall = 0.0

    def __call__(self, t: float, state: Floats, carried: Floats, step: float) -> bool:
        """Whether to leave the series at t; step: its mean step [s] in the last buffer."""
        if self.wait:
            self.wait -= 1
            return False
        cpu = time.thread_time()
        waited = warm_up("radau", radau.run, self.model.loaded, radau.OPTIONS)
        if waited:
            self.compile_wall += waited
            self.compile_cpu += time.thread_time() - cpu
        angles, work = carried[:-1].copy(), float(carried[-1])
        start = radau.Start(t, state[0].copy(), state[1].copy(), angles, work)
        reach, J, S, G = radau.try_steps(
            self.model, start, self.duration, self.tolerance, TRIAL_STEPS
        )
        rate = fastest_decay(self.model, J, S, G) if reach >= GAIN * COST * step else 0.0
        if step * rate < STIFF:
            # a trial in vain is not repeated at once
            self.pause = 2 * self.pause + 1
            self.wait = self.pause
            return False
        self.start = start
        self.why = (
            f"method 'radau' from t = {t:.6g} s on: the motion is stiff there. Steps of the series were "
            f"{step:.2g} s, {step * rate:.1f} times the fastest decay time {1.0 / rate:.2g} s; radau takes "
            f"{reach:.2g} s"
        )
        return True


def fastest_decay(model: Model, J: Floats, S: Floats, G: Floats) -> float:
    """Largest -Re of the eigenvalues of M x'' = G x' + S x over the null space of J [1/s]."""
    R = null_space(J, rcond=DEPENDENT) if len(J) else np.eye(model.coordinates)
    n = R.shape[1]
    if not n:
        return 0.0
    rates = np.linalg.solve(R.T @ model.mass_matrix() @ R, np.hstack([R.T @ S @ R, R.T @ G @ R]))
    matrix = np.block([[np.zeros((n, n)), np.eye(n)], [rates]])
    return max(0.0, float(-eigvals(matrix).real.min()))


def _join(first: Outcome, second: Outcome, why: str) -> Outcome:
    def both(name: str) -> Any:
        return np.concatenate([getattr(first, name), getattr(second, name)])

    arrays = (
        "times", "q", "v", "a", "norms", "energy", "work", "angles", "drive_forces",
        "step_times", "step_orders", "step_pivots",
    )  # fmt: skip

    def total(name: str) -> Any:
        a, b = getattr(first, name), getattr(second, name)
        return {key: a.get(key, 0) + b.get(key, 0) for key in a | b}

    return Outcome(
        status=second.status,
        message=second.message,
        counters=total("counters"),
        timings=total("timings"),
        notes=[why, *first.notes, *second.notes],
        method="radau",
        watch=first.watch,
        **{name: both(name) for name in arrays},
    )
