"""Checks whether a run stays on its branch near singular configurations, for methods without a certificate.

Where branches cross or touch, any method may leave on another branch with a good energy balance. A series can
decide this (see the certificate in `series`). For each interval of steps in which J loses rank, or nearly does, a
series is therefore started at the last regular step end before it and followed to the first regular step end after
it, or to the end of the run. Between two losses of rank the branches separate and come together again. The run is
compared with the series where they are furthest apart, and has to agree within a fraction of the distance to the
nearest other branch there.

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
from ..kinematics.constraints import Constraints
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
# between two losses of rank the smallest pivot rises by more than this factor above both: pivots are quadratic in
# the angles between links, which rise by a factor of ten
RISE = 100.0


class Neighbourhood(NamedTuple):
    """The neighbourhood of singular configurations: the regular step ends around it."""

    first: int
    last: int


class _StepEnds:
    """The last step ends: times, coordinates, velocities, angles and work, and the pivots of those examined."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._columns: tuple[Floats, ...] | None = None

    def take(self, new: tuple[Floats, ...], since: float | None) -> None:
        """Add step ends; since: the time from which the earlier ones are still needed [s], None: from the last."""
        new = (*new, np.full((len(new[0]), 2), np.nan))
        if self._columns is None:
            self._columns = new
            return
        old = self.times
        first = max(int(np.searchsorted(old, old[-1] if since is None else since)) - BEFORE, 0)
        # an entry for the end of some steps is replaced by the start of the next
        kept = old[first:] < new[0][0]
        self._columns = tuple(
            np.concatenate([a[first:][kept], b]) for a, b in zip(self._columns, new, strict=True)
        )

    @property
    def times(self) -> Floats:
        """The times [s]."""
        assert self._columns is not None
        return self._columns[0]

    def place(self, n: int) -> Floats:
        """Return the coordinates at a step end."""
        assert self._columns is not None
        q: Floats = self._columns[1][n]
        return q

    def start(self, n: int) -> Start:
        """Return the state at a step end as the start of a run."""
        assert self._columns is not None
        t, q, v, carried, _ = self._columns
        return Start(float(t[n]), q[n], v[n], carried[n])

    def pivots(self, n: int) -> Floats:
        """Return the smallest pivot at a step end, and its ratio to the reference pivot."""
        assert self._columns is not None
        known: Floats = self._columns[-1][n]
        if np.isnan(known[0]):
            known[:] = self._watcher.pivots(self.place(n))
        return known

    def is_regular(self, n: int) -> bool:
        """Whether a step end is outside of singular neighbourhoods."""
        return bool(self.pivots(n)[1] >= SINGULAR_STEP_END)

    def find_telling(self, around: Neighbourhood) -> list[tuple[int, float]]:
        """Return the step ends of a neighbourhood at which branches are furthest apart, between losses of rank.

        Each comes with the time [s] of the lowest pivot before it. The list is empty if all pivots are rounding.
        """
        found: list[tuple[int, float]] = []
        lowest = highest = around.first
        falling = True
        for n in range(around.first, around.last + 1):
            pivot = self.pivots(n)[0]
            if falling and pivot <= self.pivots(lowest)[0]:
                lowest = n
            elif falling and pivot > RISE * max(self.pivots(lowest)[0], RESOLVED_PIVOT / RISE):
                highest, falling = n, False
            elif not falling and pivot >= self.pivots(highest)[0]:
                highest = n
            elif not falling and RISE * pivot < self.pivots(highest)[0]:
                found.append((highest, float(self.times[lowest])))
                lowest, falling = n, True
        # the last is the regular one, or the end of the run
        if self.pivots(around.last)[0] > RESOLVED_PIVOT:
            return [*found, (around.last, float(self.times[lowest]))]
        return found if falling else [*found, (highest, float(self.times[lowest]))]


class BranchCheck:
    """Checks the branch after each singular configuration of a run, buffer by buffer; cpu: CPU time used [s]."""

    def __init__(self, problem: Run, watcher: Watcher) -> None:
        self._problem, self._watcher = problem, watcher
        self._joints = Constraints(problem.model.form, joints=True)
        self._step_ends = _StepEnds(watcher)
        # singular intervals that the run has not left yet, and the time up to which the run is checked [s]
        self._open: list[tuple[float, float, float]] = []
        self._checked = -np.inf
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
        self._take(pieces)
        if last:
            self._take(_end_of(pieces))
        self._open += self._watcher.singular_intervals()
        self._open += [
            c.times
            for monitored in seen
            for c in monitored.candidates()
            if self._watcher.loses_rank(c)
        ]
        self._open.sort()
        end = None
        while self._open and end is None:
            neighbourhood = self._next(last)
            if neighbourhood is None:
                break
            middle = self._open.pop(0)[1]
            if middle > self._checked:
                end = self._check(neighbourhood, middle, follows)
        self.cpu += time.thread_time() - cpu
        return end

    def _take(self, pieces: StepPolynomials) -> None:
        """Store the states at the starts of steps."""
        nq, rows = self._problem.model.coordinates, pieces.coefficients
        v = rows[:, 0, nq:] if rows.shape[2] > nq else rows[:, 1]
        count = len(rows)
        if not count:
            return
        self._step_ends.take(
            (
                pieces.starts[:count].copy(),
                rows[:, 0, :nq].copy(),
                v.copy(),
                pieces.angle_and_work_series[:count, :, 0].copy(),
            ),
            self._open[0][0] if self._open else None,
        )

    def _next(self, last: bool) -> Neighbourhood | None:
        """Return the regular step ends around the first interval; None if the run has not passed it yet."""
        ends = self._step_ends
        low, _, high = self._open[0]
        first = max(int(np.searchsorted(ends.times, low, "right")) - 1, 0)
        while first > 0 and not ends.is_regular(first):
            first -= 1
        end, count = int(np.searchsorted(ends.times, high)), len(ends.times)
        while end < count and not ends.is_regular(end):
            end += 1
        if end < count or last:
            return Neighbourhood(first, min(end, count - 1))
        return None

    def _check(self, neighbourhood: Neighbourhood, middle: float, follows: bool) -> Ending | None:
        """Follow a series through a neighbourhood; return how the run has to end if they disagree."""
        ends = self._step_ends
        start = ends.start(neighbourhood.first)
        self._checked = float(ends.times[neighbourhood.last])
        telling = ends.find_telling(neighbourhood)
        found = self._follow(start, [float(ends.times[n]) for n, _ in telling])
        certain, blurred = start.t, False
        for (n, lowest), (place, apart) in zip(telling, found, strict=False):
            off = float(np.abs(place - ends.place(n)).max())
            blurred = off > AGREEING_PLACE * apart
            # joints that are open by a gap leave links off by the gap over the smallest value of J, half of apart
            gap = float(np.abs(self._joints.phi(ends.place(n))).max(initial=0.0))
            if blurred and 2.0 * gap <= AGREEING_PLACE * apart**2:
                self._left.append((middle if n == telling[0][0] else lowest, off, apart))
                if not follows:
                    return None
                self.good_until = certain
                return status.left_motion(*self._left[-1])
            certain = certain if blurred else float(ends.times[n])
        if blurred or len(found) < len(telling):
            self._unknown.append(middle if certain == start.t else certain)
        return None

    def _follow(self, start: Start, times: list[float]) -> list[tuple[Floats, float]]:
        """Return where a series is at some times, and the distance to other branches; fewer if it fails."""
        from . import series
        from .time_loop import Stopwatch

        model = self._problem.model
        found: list[tuple[Floats, float]] = []
        if not times or USER_FORCES in needs_of(model):
            return found
        setting = min(self._problem.setting, TOLERANCE)
        warm_up("series", series.run, model, {}, wants_digits(setting))
        problem = Run(model, start.v, np.zeros(0), times[-1], setting)
        follower = series.Series(problem, start)
        taken, reason = 0, return_codes.FULL
        while taken < MOST_STEPS and reason == return_codes.FULL:
            steps = follower.advance(Stopwatch(), MOST_STEPS - taken)
            taken, reason = taken + steps.count, steps.reason
            if steps.count:
                until = times[-1] if reason == return_codes.DONE else float(steps.pieces.starts[-1])
                passed = [t for t in times[len(found) :] if t <= until]
                found += follower.places(steps, passed)
        return found

    def notes(self) -> list[str]:
        """Return notes for the user."""
        notes = []
        if self._left and not np.isfinite(self.good_until):
            t, off, apart = max(self._left, key=lambda x: x[1])
            notes.append(
                f"the run may be on another branch from {_moments([x[0] for x in self._left])}: after the "
                f"singular configuration at t = {t:.6g} s it is {off:.1e} of the mechanism's length away from "
                f"the series that was continued through it, and branches are {apart:.1e} apart there"
            )
        if self._unknown:
            notes.append(
                f"the branch is not certain after {_moments(self._unknown)}: no series can be "
                "continued through the singular configuration there, or the run is too inaccurate to be compared"
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
