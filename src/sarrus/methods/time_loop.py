"""The loop that all methods share: steps in chunks, recorded and watched in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from .. import progress
from ..arrays import Floats, plain_sum
from ..kernels import return_codes
from ..kernels.layout import StepPolynomials
from ..kernels.recording import Sampling
from . import status
from .branch_check import Passages
from .dead_centre import explain_drives
from .energy_balance import Judge
from .method import Run
from .monitor import Watcher
from .outcome import COUNTERS, AccelerationRule, Outcome, StepHistory
from .recorder import Recorder
from .status import Ending, Status

# a run that may have to stop looks back after so many steps
STEPS_AT_ONCE = 16
# steps whose times, orders and pivots are kept: some 24 MB
MOST_KEPT = 1_000_000


class Stopwatch:
    """Seconds of CPU and wall time of solving and recording.

    CPU time of this thread: idle threads of a linear algebra library may spin beside it.
    """

    def __init__(self) -> None:
        self.timings = {"solve_cpu": 0.0, "solve_wall": 0.0, "record_cpu": 0.0, "record_wall": 0.0}

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        """Count what happens within as "solve" or "record"."""
        wall, cpu = time.perf_counter(), time.thread_time()
        try:
            yield
        finally:
            self.timings[f"{what}_cpu"] += time.thread_time() - cpu
            self.timings[f"{what}_wall"] += time.perf_counter() - wall


@dataclass(frozen=True)
class Steps:
    """Steps just taken: why their loop returned, and their polynomials, one more where these hold the end.

    orders: of the method, if not those of the polynomials; pivots: the smallest relative one after each step;
    usual: pivots as usual so far; carried: angles and work at the end, where the pieces have side series;
    end: how the run ended, if the method says it in words of its own; losses: what each step may have lost
    that could not hold the tolerance, over the mechanism's length; restored: the energy that was put back behind
    each, in model units, if any was.
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
        """How many steps there are."""
        return len(self.pieces.starts) - 1

    def put_back(self, before: float) -> Floats:
        """The energy put back before each of them, and in all; before: what was put back so far."""
        if not len(self.restored):
            return np.full(max(self.count, 1) + 1, before)
        return np.cumsum(np.append(before, self.restored))

    @property
    def mean(self) -> float:
        """Their mean length [s]."""
        return float(self.pieces.starts[-1] - self.pieces.starts[0]) / self.count


class Stepper(Protocol):
    """What a method is to the loop.

    sampling: how its polynomials become outputs; law: what gives accelerations where it has none; remedy: what
    a user may do about too many steps; certified: whether it knows itself on which motion it is; tolerance: what
    its energy and its losses are judged by, None where a drift is the method's nature.
    """

    tolerance: float | None
    certified: bool
    sampling: Sampling
    law: AccelerationRule | None
    remedy: str

    def advance(self, clock: Stopwatch, most: int) -> Steps:
        """Take steps, at most so many, until the buffer is full or the run ends; clock: the solve's."""

    def end(self, t: float, reason: int) -> Ending:
        """How the run ended, if its loop did not return for a full buffer."""

    def counters(self) -> dict[str, int]:
        """What was counted."""

    def notes(self) -> list[str]:
        """Decisions that a user should know."""


# asked after a full buffer: another stepper that is to go on from there, or None
HandOver = Callable[[Steps, Stopwatch], Stepper | None]


def run_steps(problem: Run, stepper: Stepper, hand_over: HandOver | None = None) -> Outcome:
    """Let a stepper simulate from the start to the end, recorded at the outputs and watched throughout."""
    clock, recorder, watcher = Stopwatch(), Recorder(problem), Watcher(problem.model)
    judge, history, passages = Judge(problem), _History(), Passages(problem, watcher)
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
        progress.tell(t, problem.duration)
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
            left = passages.look(
                part.pieces, seen, follows=stepper.tolerance is not None, last=end is not None
            )
            judge.good_until = min(judge.good_until, passages.good_until)
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
        end, until = explain_drives(
            problem.model, end, recorder.states(t, judge.place), problem.duration,
            projects=stepper.sampling.projects,
        )  # fmt: skip
        judge.good_until = min(judge.good_until, until)
        if not end.status.success:
            end = recorder.cut(end, judge, stepper.tolerance)
    watch = watcher.watch()
    if not end.status.success:
        # what came after is not the motion
        stopped = min(watch.until, judge.good_until)
    counted = [s.counters() for s in steppers]
    blocked = end.status is Status.BLOCKED
    cpu = watcher.cpu + judge.cpu + passages.cpu + (finder.cpu if finder else 0.0)
    return Outcome(
        *end,
        record=recorder.record(stepper.law),
        counters={name: plain_sum(c.get(name, 0) for c in counted) for name in COUNTERS},
        timings={**clock.timings, "watch_cpu": cpu},
        notes=[
            *(note for s in steppers for note in s.notes()),
            # at a limit velocities have no bound
            *([] if blocked else judge.notes(stepper.tolerance, problem.setting)),
            *(note for x in (passages, history, watcher) for note in x.notes()),
            *(finder.notes() if finder else []),
        ],
        steps=history.taken(),
        lost=judge.lost,
        watch=watch if stopped is None else replace(watch, until=stopped),
        motion=recorder.motion(stepper.law),
        events=finder.located(np.inf if stopped is None else stopped) if finder else None,
    )


def start_piece(t: float, state: Floats, carried: Floats) -> StepPolynomials:
    """Where a run stands that takes no step: position, velocity and half the acceleration, if known."""
    order = np.array([len(state) - 1], dtype=np.int64)
    return StepPolynomials(np.array([t]), order, state[None].copy(), carried[None, :, None].copy())


class _History:
    """The steps that were taken; of more than fits into memory every second, fourth ... is kept."""

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
        """All that are kept."""
        return StepHistory(
            np.concatenate([h.times for h in self._kept]),
            np.concatenate([h.orders for h in self._kept]),
            np.concatenate([h.pivots for h in self._kept]),
        )

    def notes(self) -> list[str]:
        """Whether some are left out."""
        if self._every == 1:
            return []
        return [
            f"of {self._seen} steps the times, orders and pivots of one in {self._every} are kept"
        ]


def _some(taken: StepHistory, rows: slice) -> StepHistory:
    return StepHistory(
        taken.times[rows].copy(), taken.orders[rows].copy(), taken.pivots[rows].copy()
    )
