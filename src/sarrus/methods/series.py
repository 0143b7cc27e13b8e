"""The series method: Taylor series of the motion with one factorisation a step.

Equations and sources in kernels/series.py and docs/methods/series.md. The order is chosen each step; the
motion is analytic across a singular position, so a step may jump over it without seeing it.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..kernels import reasons
from ..kernels import series as kernels
from ..kernels.layout import Pieces, make_workspace
from ..kernels.loads import make_loads
from ..thresholds import AGREEING_PLACE, SINGULAR_LANDING
from . import status
from .certificate import Certificate, Leap
from .outcome import Law, Outcome
from .recorder import sample_projected
from .run import Run
from .time_loop import Steps, Stopwatch, run_steps, start_piece

HIGHEST_ORDER = 30
# a step holds this share of the tolerance, so that a whole run comes near to it; above 1e-6 the share
# falls to a tenth: errors of loose steps add up over many periods
SHARE = 0.02
# what double precision gives in a step
FLOOR = 1e-13
# memory for the coefficients between two recordings: small enough to stay in a core's cache
BUFFER_BYTES = 2_000_000
# runs that end within this share of their duration did not leave their start
START = 1e-6


def run(problem: Run) -> Outcome:
    """Simulate with series alone."""
    return run_steps(problem, Series(problem))


class Series:
    """Steps of the series method."""

    law: Law | None = None
    remedy = "loosen the tolerance"

    def __init__(self, problem: Run) -> None:
        self._problem = problem
        model, nq = problem.model, problem.model.coordinates
        self._ws = make_workspace(model.form, HIGHEST_ORDER)
        self._loads = make_loads(model.loads, HIGHEST_ORDER)
        rows = HIGHEST_ORDER + 1
        beside = len(model.loads.torsions.first) + 1 if self._loads is not None else 0
        capacity = int(np.clip(BUFFER_BYTES // (8 * rows * max(nq, 1)), 16, 1024))
        self._pieces = Pieces(
            starts=np.zeros(capacity + 1),
            orders=np.zeros(capacity, np.int64),
            coefficients=np.zeros((capacity, rows, nq)),
            sides=np.zeros((capacity, beside, 2 * rows)),
        )
        # memory is handed out when it is first touched: do that now, not in the solve
        self._pieces.coefficients.fill(0.0)
        self._seen = np.zeros((capacity, 3))
        self._certificate = Certificate()
        self._leaps: list[str] = []
        self._kept = kernels.Kept(
            state=np.array([np.zeros(nq), problem.velocity]),
            carried=np.zeros(beside),
            balance=np.zeros(3),
            counters=np.zeros(5, np.int64),
        )
        tolerance = problem.setting
        wanted = SHARE * tolerance * float(np.clip((1e-6 / tolerance) ** (1 / 3), 0.1, 1.0))
        self._local = max(wanted, FLOOR)
        self._floored = self._local > wanted
        self._log_cost = _log_cost()
        self._t = self._moved = 0.0
        self.sampling = sample_projected(corrections=kernels.CORRECTIONS, near=SINGULAR_LANDING)

    @property
    def state(self) -> Floats:
        """Position and velocity now."""
        return self._kept.state

    def advance(self, clock: Stopwatch, most: int) -> Steps:
        """Take steps."""
        form, pieces, kept = self._problem.model.form, self._pieces, self._kept
        room = pieces._replace(coefficients=pieces.coefficients[:most])
        with clock("solve"):
            reason, steps = kernels.advance(
                form, self._ws, self._loads, self._t, self._problem.duration, self._local, self._log_cost,
                kept, room, self._seen,
            )  # fmt: skip
            leap = self._certificate.look(pieces, self._seen[:steps])
        end = None
        if leap is not None:
            reason, steps = self._go_back(leap)
            if reason == reasons.UNCERTAIN:
                end = status.uncertain(float(pieces.starts[steps]))
        self._t = float(pieces.starts[steps])
        seen = self._seen[:steps]
        self._moved = max(self._moved, seen[:, 1].max(initial=0.0))
        # a run that cannot leave its start still has its start
        start = start_piece(self._t, kept.state, kept.carried)
        taken = pieces.some(0, steps) if steps else start
        return Steps(reason, taken, self._ws.usual, 0, seen[:, 0], kept.carried, end)

    def _go_back(self, leap: Leap) -> tuple[int, int]:
        """Over a singular stretch by one series, where the run left its motion; or to before it."""
        pieces, kept, n = self._pieces, self._kept, leap.step
        if leap.order and n >= 0:
            ahead = leap.time - pieces.starts[n]
            moved, pivot = kernels.land_at(
                self._problem.model.form, self._ws, self._loads, leap.time, pieces.coefficients[n],
                leap.order, ahead, kept.state,
            )  # fmt: skip
            if moved <= AGREEING_PLACE * np.sqrt(pivot):
                kept.carried[:] = np.polynomial.polynomial.polyval(ahead, pieces.sides[n].T)
                kept.counters[kernels.LOOSENED] += 1
                pieces.starts[n + 1], pieces.orders[n] = leap.time, leap.order
                self._seen[n] = pivot, max(moved, leap.left), 1.0
                self._leaps.append(
                    f"motions touch between t = {pieces.starts[n]:.6g} s and {leap.time:.6g} s, closer than steps "
                    "tell apart; the series from before leads on along the motion it came by"
                )
                return reasons.FULL, n + 1
        return reasons.UNCERTAIN, max(n, 0)

    def end(self, t: float, reason: int) -> status.Ending:
        """How it ended."""
        if reason == reasons.DONE:
            return status.done(self._problem.duration)
        if reason == reasons.STUCK and t <= START * self._problem.duration:
            return status.held_at_start(self._ws.usual.min(initial=1.0))
        return status.ended_early(reason, t, self._problem.setting)

    def counters(self) -> dict[str, int]:
        """What was counted."""
        names = ("steps", "rejected", "coefficients", "factorisations", "loosened")
        return dict(zip(names, self._kept.counters.tolist(), strict=True))

    def notes(self) -> list[str]:
        """What a user should know."""
        notes, loosened = [], self._kept.counters[kernels.LOOSENED]
        if self._floored:
            notes.append(
                f"tolerance {self._problem.setting:g} is below what double precision holds; "
                f"{FLOOR / SHARE:g} was used"
            )
        if loosened:
            notes.append(
                f"{loosened} steps could not hold the tolerance in double precision, as close to a singular "
                "position or where a force is not smooth (a spring of length zero); the largest correction "
                f"there was {self._moved:.1e} of the mechanism's length"
            )
        return notes + self._leaps


def _log_cost() -> Floats:
    """Log of the cost of a step of each order, in units of one coefficient.

    A step costs about four coefficients besides its own (two factorisations, projections); the
    Cauchy products grow with the order. Measured; the optimum is flat, so one law serves all models.
    """
    p = np.arange(HIGHEST_ORDER + 1.0)
    return np.log(4.0 + p + 0.015 * p**2)
