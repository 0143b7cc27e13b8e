"""A user's function as a method: it returns states; everything else works as for built-in methods."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arrays import Floats
from ..kernels import return_codes, stepping
from ..kernels.applied_forces import make_loads
from ..kernels.layout import make_workspace
from ..mechanism import MechanismError
from ..thresholds import SAME_OUTPUT
from ..user_methods import State, UserMethod
from . import status
from .constrained_system import NaturalSystem, System
from .fixed_step import divide, make_pieces
from .method import Run
from .outcome import AccelerationRule, Outcome, skipped
from .recorder import sample_unprojected
from .time_loop import Steps, Stopwatch, run_steps

# between two recordings
MOST_STEPS = 64
# fraction of the duration: a state this close to the end is the end
AT_END = 1e-12


class _UserMethodError(Exception):
    """An error in a user's function or its return value, with an explanation."""


def run_user_method(own: UserMethod, problem: Run) -> Outcome:
    """Simulate with a user's function."""
    try:
        system = make_system(own.coordinates, problem)
    except MechanismError as error:
        return skipped(problem.model, str(error))
    return run_steps(problem, _UserSteps(own, problem, system))


def make_system(coordinates: str, problem: Run) -> System:
    """Return the mechanism in the coordinates that a method requests."""
    if coordinates == "natural":
        return NaturalSystem(problem)
    from .absolute import make_absolute

    return make_absolute(coordinates, problem)


class _UserSteps:
    """Steps of a user's function."""

    law: AccelerationRule | None = None
    tolerance: float | None = None
    certified = False
    remedy = "take a longer step"

    def __init__(self, own: UserMethod, problem: Run, system: System) -> None:
        self._own, self._problem, self._system = own, problem, system
        model = problem.model
        self._h = divide(problem)[1] if own.needs_step else problem.setting
        self._states = self._follow(State(0.0, system.q0.copy(), system.v0.copy()))
        self._ws, self._loads = make_workspace(model.form, 0), make_loads(model.loads, 0)
        self._carried = len(model.loads.torsions.first) + 1 if model.loaded else 0
        self._usual = np.zeros(model.equations)
        nq = model.coordinates
        # the last state, in the coordinates of the model
        self._t = 0.0
        self._last = np.array([np.zeros(nq), problem.velocity, np.zeros(nq)])
        self._complete = False
        self._taken = 0
        self._open = 0.0
        self.sampling = sample_unprojected(accelerations=False, same=SAME_OUTPUT)

    def advance(self, clock: Stopwatch, most: int) -> Steps:
        """Take steps."""
        starts, rows = [self._t], [self._last]
        reason, end = return_codes.FULL, None
        while reason == return_codes.FULL and len(rows) <= min(most, MOST_STEPS):
            try:
                with clock("solve"):
                    state = next(self._states)
                with clock("record"):
                    reason, row = self._take(state)
            except _UserMethodError as error:
                reason, end = return_codes.NOT_CONVERGED, status.failed(str(error), self._t)
                break
            if reason not in (return_codes.FULL, return_codes.DONE):
                end = status.ended_early(reason, self._t, self._h)
                break
            starts.append(self._t)
            rows.append(row)
        self._taken += len(rows) - 1
        with clock("record"):
            states = np.array(rows)
            self._last = states[-1]
            pieces = make_pieces(np.array(starts), states, self._complete, self._carried)
        return Steps(reason, pieces, self._usual, self._own.order or 1, end=end)

    def _take(self, state: State) -> tuple[int, Floats]:
        """Convert a state to the coordinates of the model; return whether it may be kept, and the state."""
        q, v, a = self._system.natural(state.q, state.v, state.a)
        if not self._taken and self._t == 0.0:
            self._complete = a is not None
            self.sampling = sample_unprojected(accelerations=self._complete, same=SAME_OUTPUT)
            if self._complete:
                self._last[2] = self._system.natural(
                    self._system.q0,
                    self._system.v0,
                    self._system.accelerations(self._system.q0, self._system.v0)[0],
                )[2]
        row = np.array([q, v, np.zeros_like(q) if a is None else a])
        model = self._problem.model
        args = model.form, self._ws, self._loads, state.t, row[0], row
        reason = int(stepping.check_row(*args))
        if self._own.coordinates != "natural":
            gaps = self._system.Phi(state.q, state.t)
            self._open = max(self._open, float(np.abs(gaps).max(initial=0.0)))
        if reason == return_codes.FULL:
            self._t = state.t
            if state.t >= self._problem.duration * (1.0 - AT_END):
                reason = return_codes.DONE
        return reason, row

    def _follow(self, state: State) -> Iterator[State]:
        """Yield the checked states of the function; errors in it are reported with their line."""
        function, options = self._own.function, self._problem.options
        try:
            if inspect.isgeneratorfunction(function):
                for n, found in enumerate(function(self._system, state, self._h, **options)):
                    state = self._checked(found, state, n + 1)
                    yield state
                raise _UserMethodError(
                    f"{self._own.name} ended at t = {state.t:.9g} s, before the duration"
                )
            n = 0
            while True:
                n += 1
                state = self._checked(function(self._system, state, self._h, **options), state, n)
                yield state
        except (_UserMethodError, GeneratorExit):
            raise
        except Exception as error:
            raise _UserMethodError(self._blame(error)) from error

    def _checked(self, found: Any, before: State, count: int) -> State:
        own, n = self._own, self._system.n
        if not isinstance(found, State):
            if not isinstance(found, tuple) or len(found) not in (2, 3):
                raise _UserMethodError(
                    f"{own.name} returned {type(found).__name__}; return a sarrus.State, (q, v) or (q, v, a)"
                )
            found = State(before.t + self._h, *found)
        arrays = {}
        for name in ("q", "v", "a"):
            value = getattr(found, name)
            if value is None and name == "a":
                continue
            array = np.asarray(value, dtype=np.float64)
            if array.shape != (n,):
                raise _UserMethodError(
                    f"{own.name} returned {name} of shape {array.shape}; the system has {n}"
                )
            arrays[name] = array.copy()
        # times of fixed steps are multiples of the step, so that rounding does not accumulate
        t = count * self._h if own.needs_step else float(found.t)
        if not t > before.t:
            raise _UserMethodError(
                f"{own.name} does not advance: t = {t:.9g} s follows {before.t:.9g} s"
            )
        return State(t, arrays["q"], arrays["v"], arrays.get("a"), found.lam, found.memory)

    def _blame(self, error: Exception) -> str:
        """Return a description of an exception in the function, with its line."""
        code = getattr(self._own.function, "__code__", None)
        frames = traceback.extract_tb(error.__traceback__)
        mine = [f for f in frames if code is not None and f.filename == code.co_filename]
        where = f", {mine[-1].name} line {mine[-1].lineno}" if mine else ""
        return f"method '{self._own.name}'{where}: {type(error).__name__}: {error}"

    def end(self, t: float, reason: int) -> status.Ending:
        """Return how the run ended."""
        return status.done(self._problem.duration, f" in {self._taken} steps")

    def counters(self) -> dict[str, int]:
        """Return the counters."""
        return {"steps": self._taken}

    def notes(self) -> list[str]:
        """Return notes for the user."""
        notes = [
            f"method '{self._own.name}' is a Python function: its time is that of Python, and not to be compared "
            "with compiled methods"
        ]
        if self._own.coordinates != "natural":
            notes.append(
                f"its coordinates are '{self._own.coordinates}', converted to natural coordinates; its equations "
                f"are violated by {self._open:.1e} at most"
            )
        return notes
