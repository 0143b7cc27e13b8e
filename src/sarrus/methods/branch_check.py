"""Checks whether a run is still on its branch after a singular configuration, for methods without a certificate.

Where branches cross or touch, any method may leave on another branch with a good energy balance. A series can
decide this (see the certificate in `series`). For each singular configuration that the monitor reports, a series
is therefore started at the last regular step end before it. It has to agree with the run at the first regular step
end after it, within a fraction of the distance to the nearest other branch there.

    agreement                   the branch is certain
    no agreement                a method with a tolerance ends before it; a method with steps of
                                the user's choice goes on, and a note reports it
    the series cannot decide    a note reports it
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from ..arrays import Floats
from ..kernels import return_codes
from ..kernels.layout import StepPolynomials
from ..thresholds import AGREEING_PLACE, RESOLVED_PIVOT, SINGULAR_STEP_END
from . import status
from .extended_precision import wants_digits
from .method import USER_FORCES, Run, Start, needs_of, warm_up
from .monitor import MonitoredSteps, Watcher
from .status import Ending

# a series that has not passed a singular configuration after this many steps is too slow for it: the motion is
# stiff
MOST_STEPS = 500
# tolerance of the series; the tolerance of the run if that is tighter
TOLERANCE = 1e-9
# number of step ends before a singular configuration that are searched for a regular one
BEFORE = 1000


class Neighbourhood(NamedTuple):
    """The neighbourhood of a singular configuration: the regular step ends around it, and its time [s]."""

    first: int
    last: int
    middle: float


class BranchCheck:
    """Checks the branch after each singular configuration of a run, buffer by buffer; cpu: CPU time used [s]."""

    def __init__(self, problem: Run, watcher: Watcher) -> None:
        self._problem, self._watcher = problem, watcher
        # step ends: times, coordinates, velocities, angles and work
        self._step_ends: tuple[Floats, ...] | None = None
        # times of candidates that the run has not passed yet, and the time up to which the run is checked [s]
        self._open: list[tuple[float, float, float]] = []
        self._checked = 0.0
        self._left: list[tuple[float, float, float]] = []
        self._unknown: list[float] = []
        self.good_until = np.inf
        self.cpu = 0.0

    def look(
        self, pieces: StepPolynomials, seen: list[MonitoredSteps], *, follows: bool, last: bool
    ) -> Ending | None:
        """Check the singular configurations within some steps; return how the run has to end, if it has to.

        seen: candidates for a loss of rank; follows: whether the steps follow a tolerance; last: no more steps
        follow.
        """
        cpu = time.thread_time()
        self._open += [
            c.times
            for monitored in seen
            for c in monitored.candidates()
            if self._watcher.loses_rank(c)
        ]
        self._take(pieces)
        if last:
            self._take(_end_of(pieces))
        end = None
        while self._open and end is None:
            neighbourhood = self._next(last)
            if neighbourhood is None:
                break
            self._open = self._open[1:]
            if neighbourhood.last and neighbourhood.middle > self._checked:
                end = self._check(neighbourhood, follows)
        self.cpu += time.thread_time() - cpu
        return end

    def _take(self, pieces: StepPolynomials) -> None:
        """Store the states at the starts of steps."""
        nq, rows = self._problem.model.coordinates, pieces.coefficients
        v = rows[:, 0, nq:] if rows.shape[2] > nq else rows[:, 1]
        count = len(rows)
        if not count:
            return
        new = (
            pieces.starts[:count].copy(),
            rows[:, 0, :nq].copy(),
            v.copy(),
            pieces.angle_and_work_series[:count, :, 0].copy(),
        )
        if self._step_ends is None:
            self._step_ends = new
            return
        since = self._open[0][0] if self._open else float(self._step_ends[0][-1])
        first = max(int(np.searchsorted(self._step_ends[0], since)) - BEFORE, 0)
        # an entry for the end of some steps is replaced by the start of the next
        kept = self._step_ends[0][first:] < new[0][0]
        self._step_ends = tuple(
            np.concatenate([a[first:][kept], b]) for a, b in zip(self._step_ends, new, strict=True)
        )

    def _next(self, last: bool) -> Neighbourhood | None:
        """Return the first candidate between two regular step ends; None if the run has not passed it yet."""
        assert self._step_ends is not None
        low, middle, high = self._open[0]
        times, places = self._step_ends[:2]
        first = max(int(np.searchsorted(times, low, "right")) - 1, 0)
        while first > 0 and not self._regular(places[first]):
            first -= 1
        end = int(np.searchsorted(times, high))
        while end < len(times) and not self._regular(places[end]):
            end += 1
        if end < len(times):
            return Neighbourhood(first, end, middle)
        if not last:
            return None
        # a run that ends in a singular neighbourhood may end where its branches coincide
        resolved = self._watcher.pivot_ratio(places[-1]) > RESOLVED_PIVOT
        return Neighbourhood(first, len(times) - 1 if resolved else 0, middle)

    def _regular(self, q: Floats) -> bool:
        return self._watcher.pivot_ratio(q) >= SINGULAR_STEP_END

    def _check(self, neighbourhood: Neighbourhood, follows: bool) -> Ending | None:
        """Follow a series through a neighbourhood; return how the run has to end if they disagree."""
        assert self._step_ends is not None
        times, places, v, carried = self._step_ends
        n, last = neighbourhood.first, neighbourhood.last
        self._checked = float(times[last])
        start = Start(float(times[n]), places[n], v[n], carried[n])
        found = self._follow(start, float(times[last]))
        if found is None:
            self._unknown.append(neighbourhood.middle)
            return None
        place, apart = found
        off = float(np.abs(place - places[last]).max())
        if off <= AGREEING_PLACE * apart:
            return None
        self._left.append((neighbourhood.middle, off, apart))
        if not follows:
            return None
        self.good_until = start.t
        return status.left_motion(*self._left[-1])

    def _follow(self, start: Start, until: float) -> tuple[Floats, float] | None:
        """Return where a series ends and the distance to the nearest other branch; None if it fails."""
        from . import series
        from .time_loop import Stopwatch

        model = self._problem.model
        if USER_FORCES in needs_of(model):
            return None
        setting = min(self._problem.setting, TOLERANCE)
        warm_up("series", series.run, model, {}, wants_digits(setting))
        problem = Run(model, start.v, np.zeros(0), until, setting)
        follower = series.Series(problem, start)
        taken = 0
        while taken < MOST_STEPS:
            steps = follower.advance(Stopwatch(), MOST_STEPS - taken)
            taken += steps.count
            if steps.reason == return_codes.DONE:
                # the last step may extend beyond the end time
                place = _end_of(steps.pieces).coefficients[0, 0]
                return place, follower.apart(place)
            if steps.reason != return_codes.FULL:
                return None
        return None

    def notes(self) -> list[str]:
        """Return notes for the user."""
        notes = []
        if self._left and not np.isfinite(self.good_until):
            t, off, apart = max(self._left, key=lambda x: x[1])
            notes.append(
                f"it may be on another branch from {_moments([x[0] for x in self._left])}: after the singular "
                f"configuration at t = {t:.6g} s it is {off:.1e} of the mechanism's length from the "
                "continued series, "
                f"and branches are {apart:.1e} apart there"
            )
        if self._unknown:
            notes.append(
                f"the branch is not certain after {_moments(self._unknown)}: no series can be "
                "continued through the singular configuration there"
            )
        return notes


def _end_of(pieces: StepPolynomials) -> StepPolynomials:
    """Return the end of some steps as an additional step of zero length; empty if the steps already include it."""
    count = len(pieces.starts) - 1
    if count < 1 or len(pieces.orders) > count:
        return pieces.some(count, count)
    rows, h = (
        pieces.coefficients[-1, : pieces.orders[-1] + 1],
        pieces.starts[-1] - pieces.starts[-2],
    )
    end = np.zeros((1, 2, rows.shape[1]))
    end[0, 0] = np.polynomial.polynomial.polyval(h, rows)
    return StepPolynomials(
        pieces.starts[-1:], np.zeros(1, np.int64), end, pieces.angle_and_work_series[-1:]
    )


def _moments(times: list[float]) -> str:
    shown = ", ".join(f"{t:.6g}" for t in times[:3])
    return f"t = {shown}{', ...' if len(times) > 3 else ''} s"
