"""The time loop that all methods share: steps in chunks, with recording and monitoring in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from .. import progress
from ..arrays import Floats, plain_sum
from ..kernels import return_codes
from ..kernels.layout import StepPolynomials
from ..kernels.recording import Sampling
from . import status
from .branch_check import BranchCheck
from .dead_centre import explain_drives
from .energy_balance import Judge
from .method import EventLocator, Run
from .monitor import Watcher
from .outcome import COUNTERS, AccelerationRule, Outcome, StepHistory
from .recorder import Recorder
from .status import Ending, Status

# a run that may have to stop is checked after this many steps
STEPS_AT_ONCE = 16
# limit of steps whose times, orders and pivots are stored: about 24 MB
MOST_KEPT = 1_000_000


class Stopwatch:
    """CPU and wall time of solving and recording [s].

    Only the CPU time of this thread counts: idle threads of a linear algebra library may spin at the same time.
    """

    def __init__(self) -> None:
        self._what, self._wall, self._cpu = "", 0.0, 0.0
        self.timings = {"solve_cpu": 0.0, "solve_wall": 0.0, "record_cpu": 0.0, "record_wall": 0.0}

    def __call__(self, what: str) -> Stopwatch:
        """Count the time of a block as "solve" or "record"; blocks are not nested."""
        self._what = what
        return self

    def __enter__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.thread_time()

    def __exit__(self, *_: object) -> None:
        self.timings[f"{self._what}_cpu"] += time.thread_time() - self._cpu
        self.timings[f"{self._what}_wall"] += time.perf_counter() - self._wall


@dataclass(frozen=True)
class Steps:
    """New steps: why their loop returned, and their polynomials, with one more if it contains the end state.

    orders: of the method, if they differ from those of the polynomials; pivots: the smallest relative pivot after
    each step; reference_pivots: so far; carried: angles and work at the end, if pieces have series of
    them; end: how the run ended, if the method gives its own description; losses: possible loss of each step that
    exceeded the tolerance, relative to the mechanism's length; restored: the energy correction after each step, in
    model units, if any.
    """

    reason: int
    pieces: StepPolynomials
    reference_pivots: Floats
    order: int = 0
    pivots: Floats = field(default_factory=lambda: np.zeros(0))
    carried: Floats | None = None
    end: Ending | None = None
    losses: Floats = field(default_factory=lambda: np.zeros(0))
    restored: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def count(self) -> int:
        """The number of steps."""
        return len(self.pieces.starts) - 1

    def put_back(self, before: float) -> Floats:
        """Return the energy correction before each step and in total; before: the correction so far."""
        if not len(self.restored):
            return np.full(max(self.count, 1) + 1, before)
        sums = np.empty(len(self.restored) + 1)
        sums[0], sums[1:] = before, self.restored
        return sums.cumsum(out=sums)

    @property
    def mean(self) -> float:
        """The mean length of the steps [s]."""
        return float(self.pieces.starts[-1] - self.pieces.starts[0]) / self.count


class Stepper(Protocol):
    """The interface between a method and the time loop.

    sampling: how its polynomials become outputs; law: the rule for accelerations where the method has none;
    remedy: the advice for users when there are too many steps; certified: whether the method itself certifies its
    branch; tolerance: the limit for its energy error and losses, None where drift is inherent to the method.
    """

    tolerance: float | None
    certified: bool
    sampling: Sampling
    law: AccelerationRule | None
    remedy: str

    def advance(self, clock: Stopwatch, most: int) -> Steps:
        """Take at most `most` steps, until the buffer is full or the run ends; clock: measures the solve time."""

    def end(self, t: float, reason: int) -> Ending:
        """Return how the run ended, if its loop did not return because of a full buffer."""

    def counters(self) -> dict[str, int]:
        """Return the counters."""

    def notes(self) -> list[str]:
        """Return notes for the user."""


# called after a full buffer; returns another stepper that continues from there, or None
HandOver = Callable[[Steps, Stopwatch], Stepper | None]


def run_steps(
    problem: Run, stepper: Stepper, hand_over: HandOver | None = None, method: str = ""
) -> Outcome:
    """Simulate with a stepper from start to end, recorded at the outputs and monitored throughout.

    method: the name of the stepper's method, if another method chose it.
    """
    clock, recorder, watcher = Stopwatch(), Recorder(problem), Watcher(problem.model)
    judge, history = Judge(problem, recorder.loads), _History()
    checker = BranchCheck(problem, watcher)
    steppers = [stepper]
    finder = None if problem.events is None else problem.events()
    halts = problem.stop is not None or (finder is not None and finder.may_stop)
    taken, t = 0, 0.0
    end: Ending | None = None
    stopped: float | None = None
    while end is None:
        room = problem.max_steps - taken
        steps = stepper.advance(clock, min(room, STEPS_AT_ONCE) if halts else room)
        taken, t = taken + steps.count, float(steps.pieces.starts[-1])
        progress.report(t, problem.duration)
        if steps.reason != return_codes.FULL:
            end = steps.end or stepper.end(t, steps.reason)
        elif taken >= problem.max_steps:
            end = status.too_slow(t, problem.max_steps, stepper.remedy)
        with clock("record"):
            part = recorder.take(steps, stepper.sampling)
            history.take(steps)
        if steps.count:
            end = judge.look(steps, part, recorder.carried, stepper.tolerance) or end
        seen = watcher.look(steps.pieces, steps.count, last=end is not None)
        if not stepper.certified:
            left = checker.look(
                part.pieces, seen, follows=stepper.tolerance is not None, last=end is not None
            )
            judge.good_until = min(judge.good_until, checker.good_until)
            end = left or end
        if problem.stop is not None and seen:
            stopped = problem.stop([c for s in seen for c in s.candidates()], watcher.watch())
            if stopped is not None:
                recorder.stop_at(stopped)
                end = status.stopped(stopped)
        state = finder and finder.look(part, stepper.law, last=end is not None)
        if finder and state and (stopped is None or state.times[0] < stopped):
            stopped = float(state.times[0])
            recorder.end_with(state)
            end = status.at_event(stopped, finder.reached)
        if hand_over is not None and end is None and len(steppers) == 1:
            following = hand_over(steps, clock)
            if following is not None:
                stepper = following
                steppers.append(stepper)

    if stopped is None:
        end = _explain_end(problem, end, t, stepper, recorder, judge)
    watch = watcher.watch()
    if not end.status.success:
        # what came after does not belong to the motion
        stopped = min(watch.until, judge.good_until)
    counted = [s.counters() for s in steppers]
    blocked = end.status is Status.BLOCKED
    cpu = watcher.cpu + judge.cpu + checker.cpu + (finder.cpu if finder else 0.0)
    outcome = Outcome(
        *end,
        record=recorder.record(stepper.law),
        counters={name: plain_sum([c.get(name, 0) for c in counted]) for name in COUNTERS},
        timings={**clock.timings, "watch_cpu": cpu},
        notes=[
            *(note for s in steppers for note in s.notes()),
            # velocities are unbounded at a dead centre
            *([] if blocked else judge.notes(stepper.tolerance, problem.setting)),
            *(note for x in (checker, history, watcher) for note in x.notes()),
            *(finder.notes() if finder else []),
        ],
        steps=history.taken(),
        lost=judge.lost,
        method=method,
        watch=watch if stopped is None else replace(watch, until=stopped),
        motion=recorder.motion(stepper.law),
        events=finder.located(np.inf if stopped is None else stopped) if finder else None,
    )
    _release(recorder, watcher, finder)
    return outcome


def _release(recorder: Recorder, watcher: Watcher, finder: EventLocator | None) -> None:
    """Leave work memory to later runs."""
    recorder.release()
    watcher.release()
    if finder is not None:
        finder.release()


def _explain_end(
    problem: Run, end: Ending, t: float, stepper: Stepper, recorder: Recorder, judge: Judge
) -> Ending:
    """Return how the run ended, with the reason if drives cannot go on, and without outputs that are not valid."""
    end, until = explain_drives(
        problem.model, end, recorder.states(t, judge.place), problem.duration,
        projects=stepper.sampling.projects,
    )  # fmt: skip
    judge.good_until = min(judge.good_until, until)
    return end if end.status.success else recorder.cut(end, judge, stepper.tolerance)


def start_piece(t: float, state: Floats, carried: Floats) -> StepPolynomials:
    """Return the state of a run without steps: coordinates, velocities and half the acceleration if known."""
    order = np.array([len(state) - 1], dtype=np.int64)
    return StepPolynomials(np.array([t]), order, state[None].copy(), carried[None, :, None].copy())


class _History:
    """The accepted steps; if they exceed the memory limit, every second, fourth ... is kept."""

    def __init__(self) -> None:
        self._kept: list[StepHistory] = []
        self._every = 1
        self._count = self._seen = 0

    def take(self, steps: Steps) -> None:
        """Add some steps."""
        orders = steps.pieces.orders[: steps.count]
        if steps.order:
            orders = np.full(steps.count, steps.order, np.int64)
        rows = slice((-self._seen - 1) % self._every, None, self._every)
        taken = StepHistory(steps.pieces.starts[1:], orders, steps.pivots)
        self._kept.append(_some(taken, rows))
        self._seen += steps.count
        self._count += len(self._kept[-1].times)
        while self._count > MOST_KEPT:
            self._kept = [_some(self.taken(), slice(1, None, 2))]
            self._every *= 2
            self._count = len(self._kept[0].times)

    def taken(self) -> StepHistory:
        """Return all stored steps."""
        return StepHistory(
            np.concatenate([h.times for h in self._kept]),
            np.concatenate([h.orders for h in self._kept]),
            np.concatenate([h.pivots for h in self._kept]),
        )

    def notes(self) -> list[str]:
        """Return a note if some steps are omitted."""
        if self._every == 1:
            return []
        return [
            f"of {self._seen} steps the times, orders and pivots of one in {self._every} are kept"
        ]


def _some(taken: StepHistory, rows: slice) -> StepHistory:
    return StepHistory(
        taken.times[rows].copy(), taken.orders[rows].copy(), taken.pivots[rows].copy()
    )
