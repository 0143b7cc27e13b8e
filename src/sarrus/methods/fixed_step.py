"""Steps of fixed length, in chunks of compiled steps; shared by the fixed-step methods."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..arrays import Floats, Ints
from ..kernels import polynomials, return_codes
from ..kernels import stepping as kernels
from ..kernels.layout import Form, StepPolynomials, Workspace
from ..thresholds import EPS, SAME_OUTPUT, SOFT_EPS
from . import status
from .method import Run
from .outcome import AccelerationRule, Outcome
from .recorder import sample_unprojected
from .time_loop import Steps, Stopwatch, run_steps

# memory for the states between two recordings
BUFFER_BYTES = 16_000_000
# refinements that remove a larger eps (see `soften`) where no iteration does
SOFT_REFINEMENTS = 2

# (store, whether the run starts here, counters) -> (reason, steps)
Advance = Callable[[Floats, bool, Ints], tuple[int, int]]


def divide(problem: Run) -> tuple[int, float]:
    """Return the number of steps and their length [s]: the nearest to the request that divides the duration."""
    count = max(1, round(problem.duration / problem.setting))
    return count, problem.duration / count


def soften(form: Form, ws: Workspace) -> tuple[Form, list[str]]:
    """Return the form with a larger eps if equations are redundant at the start, and a note about it.

    Redundant equations are dependent only on the constraint manifold: at a distance d from it their pivot is d^2,
    and iterates and stages are that far away. An eps well above d^2 keeps their multiplier small; refinement (or
    the iteration itself) removes eps from all other directions.
    """
    count, below, above = kernels.count_dependent(form, ws, np.zeros(len(form.Q)))
    if not count:
        return form, []
    soft = form._replace(eps=form.eps * (SOFT_EPS / EPS))
    word = "equation depends" if count == 1 else "equations depend"
    return soft, [
        f"{count} {word} on the others at the start (pivot {below:.0e}, the next {above:.0e}); "
        f"eps = {SOFT_EPS:g} in the solves, whose effect refinement removes"
    ]


def as_penalty(form: Form, factor: float) -> Form:
    """Return the form whose K represents M + factor J^T J: 1/eps + rho = factor for each equation."""
    rho = np.minimum(form.rho, 0.5 * factor)
    return form._replace(rho=rho, eps=1.0 / (factor - rho))


def run_fixed(
    problem: Run, advance: Advance, *, order: int, notes: list[str], complete: bool = True
) -> Outcome:
    """Simulate with fixed steps; order: of the method; complete: whether the method computes accelerations."""
    return run_steps(problem, _FixedSteps(problem, advance, order, notes, complete))


def make_pieces(
    starts: Floats, states: Floats, complete: bool, readings: int, room: Floats | None = None
) -> StepPolynomials:
    """Return polynomials of steps between states (n, 3, nq), and one of zero length for the state at the end.

    complete: whether accelerations are known; readings: the number of angles and works; room: memory for the
    polynomials.
    """
    count = len(starts)
    if room is None:
        room = np.zeros((count, 6 if complete else 4, states.shape[2]))
    coefficients = room[:count]
    fill = polynomials.fill_quintics if complete else polynomials.fill_cubics
    fill(starts, states, coefficients)
    coefficients[-1] = 0.0
    coefficients[-1, :2] = states[-1, :2]
    coefficients[-1, 2] = 0.5 * states[-1, 2]
    orders = np.full(count, coefficients.shape[1] - 1, np.int64)
    return StepPolynomials(starts, orders, coefficients, np.zeros((count, readings, 0)))


class _FixedSteps:
    """Steps of fixed length."""

    law: AccelerationRule | None = None
    tolerance: float | None = None
    certified = False
    remedy = "take a longer step"

    def __init__(
        self, problem: Run, advance: Advance, order: int, notes: list[str], complete: bool
    ) -> None:
        self._problem, self._advance, self._order = problem, advance, order
        self._notes, self._complete = notes, complete
        nq = problem.model.coordinates
        self._count, self._h = divide(problem)
        most = min(self._count, problem.max_steps)
        capacity = int(np.clip(BUFFER_BYTES // (24 * max(nq, 1)), 64, most + 1))
        self._store = np.zeros((capacity + 1, 3, nq))
        # the system assigns memory when it is first touched: do that now, not in the solve
        self._store.fill(0.0)
        self._store[0, 1] = problem.velocity
        self._rows = np.zeros((capacity + 1, 6 if complete else 4, nq))
        self._rows.fill(0.0)
        self._taken = 0
        self._counters = np.zeros(4, np.int64)
        self._carried = len(problem.model.loads.torsions.first) + 1 if problem.model.loaded else 0
        self._usual = np.zeros(problem.model.equations)
        self.sampling = sample_unprojected(accelerations=complete, same=SAME_OUTPUT)

    def advance(self, clock: Stopwatch, most: int) -> Steps:
        """Take steps."""
        left = min(most, self._count - self._taken)
        with clock("solve"):
            reason, steps = self._advance(self._store[: left + 1], self._taken == 0, self._counters)
        with clock("record"):
            states = self._store[: steps + 1]
            starts = np.arange(float(self._taken), self._taken + steps + 1.0) * self._h
            pieces = make_pieces(starts, states, self._complete, self._carried, self._rows)
            self._store[0] = self._store[steps]
        self._taken += steps
        if reason == return_codes.FULL and self._taken == self._count:
            reason = return_codes.DONE
        return Steps(reason, pieces, self._usual, self._order)

    def end(self, t: float, reason: int) -> status.Ending:
        """Return how the run ended."""
        if reason == return_codes.DONE:
            how = f" in {self._count} steps of {self._h:g} s"
            return status.done(self._problem.duration, how)
        return status.ended_early(reason, t, self._h)

    def counters(self) -> dict[str, int]:
        """Return the counters."""
        return {
            "steps": self._taken,
            "iterations": int(self._counters[kernels.ITERATIONS]),
            "factorisations": int(self._counters[kernels.FACTORISATIONS]),
            "relaxed_steps": int(self._counters[kernels.RELAXED]),
        }

    def notes(self) -> list[str]:
        """Return notes for the user."""
        notes, relaxed = list(self._notes), self._counters[kernels.RELAXED]
        if relaxed:
            notes.append(
                f"the iteration of {relaxed} steps close to a singular configuration ended early; they were kept"
            )
        times = self._problem.times
        at = times[times <= self._taken * self._h] / self._h
        if np.any(np.abs(at - np.rint(at)) > SAME_OUTPUT):
            notes.append(
                "outputs between the ends of steps are interpolated; their energy and violations show "
                "that as well"
            )
        return notes
