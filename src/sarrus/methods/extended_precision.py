"""Extended precision near singular configurations: double-double steps where doubles are not accurate enough.

At a distance d before a singular configuration, a rounding error eps gives the motion of a neighbouring mechanism
that misses the singular configuration: its series converges only up to about d, and the error of coefficient k is
eps / d^k. A step h over the singular configuration turns this into eps (h/d)^k, far more than the truncation
error. Such steps are therefore taken in double-double arithmetic (kernels/double_double.py), with the same
kernels:

    the end of the last step, in double precision, is projected onto the constraints in extended precision
    steps are taken as usual, until one starts where the pivots are large again
    the end of the last step is rounded to doubles, and double precision continues

The dimensions are doubles, too. A mechanism with rounded dimensions misses its singular configuration by eps; in
extended precision this is resolved, and the motion turns back. One of the mechanisms within this rounding passes
through the singular configuration. Along the weak directions u of J^T its constraints are Phi = phi0 + u s. The
effect of s on coefficient k grows as 1/d^k, so the highest coefficients determine s: for the intended mechanism
they do not grow.

If even that does not lead over the singular configuration (redundant constraints that contradict each other in the
last digits, branches with a common tangent), the run continues in double precision as with a looser tolerance, and
a note states it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Floats
from ..kernels import return_codes
from ..kernels import series_step as kernels
from ..kernels.applied_forces import Loads, make_loads
from ..kernels.compiler import COMPILES
from ..kernels.double_double import narrow, shift, widen
from ..kernels.layout import (
    Form,
    StepPolynomials,
    Workspace,
    make_wide,
    make_wide_workspace,
    set_apart,
)
from ..kernels.step_control import FLOOR, HIGHEST_ORDER, LONG_FLOOR, SHARE, local_tolerance
from ..kinematics.constraints import Constraints
from ..kinematics.gap_closing import DENSE
from ..thresholds import (
    ACCURATE_THROUGH,
    PERMANENT_PIVOT,
    REPAIRED_MISFIT,
    ROUND_OFF,
    SINGULAR_STEP_END,
    TIGHTEST_TOLERANCE,
    WEAK_TOGETHER,
)

# steps per call
ROOM = 4
# largest number of steps that end next to a singular configuration at which the run starts
MOST_LEAVING = 40
# number of coefficients that determine a mismatch, and the largest number of weak directions: each needs one
# series
HIGHEST = 6
MOST_WEAK = 16
# rounds of Newton's method for a mismatch where one does not suffice, and the displacements from round to round by
# which derivatives are found
ROUNDS = 3
CLOSER = 1e-3
# a cost that falls steeply with the order, so that all orders are computed
EVERY = -50.0 * np.arange(HIGHEST_ORDER + 1.0)
# counters of unsuccessful steps, and the return codes with which steps may end
SPOILT = [kernels.REJECTED, kernels.RELAXED]
GOOD = (return_codes.OTHER_DIGITS, return_codes.FULL, return_codes.DONE)


def wants_digits(tolerance: float) -> bool:
    """Whether a tolerance is tighter than double precision allows."""
    return local_tolerance(tolerance)[1]


def describe_floor(tolerance: float, limit: float = FLOOR / SHARE) -> list[str]:
    """Return a note if a tolerance is tighter than `limit`, by default the limit of double precision."""
    if tolerance >= limit:
        return []
    return [f"tolerance {tolerance:g} is below the limit of double precision; {limit:g} was used"]


class ExtendedSteps(NamedTuple):
    """Steps to take from t on; rules, kept, room and seen as in `kernels.series.advance`, in doubles."""

    t: float
    rules: kernels.StepRules
    kept: kernels.StepperState
    room: StepPolynomials
    seen: Floats


class MoreDigits:
    """Extended precision of a run.

    given: whether it is in use; tolerance: of the steps; without: the tolerance in double precision alone; taken:
    the number of steps in extended precision.
    """

    def __init__(
        self, form: Form, loads: Loads | None, reference_pivots: Floats, tolerance: float
    ) -> None:
        self._requested = tolerance
        self.without, _ = local_tolerance(tolerance)
        self.given = wants_digits(tolerance) and COMPILES
        self.tolerance = LONG_FLOOR if self.given else self.without
        self.taken = 0
        # the largest relative change of dimensions, and the rounds of Newton's method that it needed
        self._repaired, self._rounds = 0.0, 0
        # the time from which doubles continue alone [s]
        self._alone: float | None = None
        if self.given:
            self._ws: Workspace = make_wide_workspace(form, HIGHEST_ORDER, reference_pivots)
            self._loads = None if loads is None else make_wide(loads)
            self._form = self._closed(form)
            self._constraints = Constraints(form)

    def _closed(self, form: Form) -> Form:
        """Return the form with right-hand sides that the start satisfies in extended precision."""
        phi0 = widen(form.phi0)
        kernels.close_start(form, self._ws, widen(np.zeros_like(form.Q)), phi0)
        return set_apart(form._replace(phi0=phi0))

    def advance(self, span: ExtendedSteps) -> tuple[int, int]:
        """Take steps until one starts where doubles suffice; return the return code and the number of steps.

        There are none if extended precision does not lead over a singular configuration; then it is switched off.
        """
        # after one mismatch, others are likely at other singular configurations: then it is determined first
        for rounds in sorted((0, 1, ROUNDS), key=lambda n: n != self._rounds):
            change = self._find_misfit(span.t, span.kept, rounds)
            found = None if change is None else self._take(self._changed(change), span)
            if change is not None and found is not None:
                self._repaired = max(self._repaired, float(np.abs(change).max()))
                self._rounds = max(self._rounds, rounds)
                self.taken += found[1]
                return found
        self.given, self._alone = False, span.t
        return return_codes.OTHER_DIGITS, 0

    def _take(self, form: Form, span: ExtendedSteps) -> tuple[int, int] | None:
        """Take steps with the constraints of a form; return None and change nothing if they fail."""
        t, rules, kept, room, seen = span
        ws, loads, most = self._ws, self._loads, len(room.coefficients)
        reference_pivots = ws.reference_pivots.copy()
        wide = set_apart(kernels.StepperState(
            widen(kept.state), kept.carried.copy(), kept.balance.copy(), kept.counters.copy()
        ))  # fmt: skip
        if not kernels.polish(form, ws, loads, t, wide.state) <= REPAIRED_MISFIT:
            return None
        coefficients = widen(np.zeros((ROOM, *room.coefficients.shape[1:])))
        steps, reason = 0, return_codes.FULL
        while reason == return_codes.FULL and steps < most:
            some = coefficients[: most - steps]
            rest = set_apart(room.some(steps, most)._replace(coefficients=some))
            reason, more = kernels.advance(form, ws, loads, rules, t, wide, rest, seen[steps:])
            spoilt = wide.counters[SPOILT] > kept.counters[SPOILT]
            low = seen[: steps + more, kernels.PIVOT_RATIO] < SINGULAR_STEP_END
            # a run that starts next to a singular configuration needs some steps to leave it
            stays_near = np.count_nonzero(low) > (MOST_LEAVING if span.t == 0.0 else 0)
            if spoilt.any() or stays_near or reason not in GOOD:
                ws.reference_pivots[:] = reference_pivots
                return None
            room.coefficients[steps : steps + more] = narrow(coefficients[:more])
            steps += more
            t = float(room.starts[steps])
        for now, after in zip(kept, wide, strict=True):
            now[...] = narrow(after)
        return reason, steps

    def _find_misfit(self, t: float, kept: kernels.StepperState, rounds: int) -> Floats | None:
        """Return the change of the right-hand sides for the smoothest motion; None if it exceeds rounding.

        rounds: of Newton's method; each multiplies the error of the change by its share of the squared distance
        from the singular configuration, so very close to it one round does not suffice.
        """
        state = kept.state
        change = np.zeros(len(self._form.phi0))
        if rounds == 0:
            return change
        if self._loads is not None:
            self._loads.theta[:] = kept.carried[:-1]
        if state.shape[1] > DENSE:
            return None
        U, values, _ = np.linalg.svd(self._constraints.jacobian(state[0]))
        # redundant equations, as those of a driven angle in space, are dependent at every configuration
        rank = np.count_nonzero(self._ws.reference_pivots > PERMANENT_PIVOT)
        values = values[:rank]
        weak = U[:, : len(values)][:, values < WEAK_TOGETHER * values.min(initial=np.inf)]
        if not 0 < weak.shape[1] <= MOST_WEAK:
            return None
        tried = ROUND_OFF
        for _ in range(rounds):
            base = self.expand(t, state, change)[-HIGHEST:]
            size = np.abs(base).max(axis=1, keepdims=True)
            # where nothing moves yet, no coefficient grows
            size[size == 0.0] = 1.0
            growth = [
                narrow((self.expand(t, state, change + tried * u)[-HIGHEST:] - base) / size).ravel()
                for u in weak.T
            ]
            series = np.array([*growth, narrow(base / size).ravel()])
            if not np.isfinite(series).all():
                return None
            share, *_ = np.linalg.lstsq(series[:-1].T, -series[-1], rcond=None)
            change = change + tried * weak @ share
            # what is left to change is smaller
            tried *= CLOSER
        # this form of the comparison rejects nan, too
        return change if np.abs(change).max() <= REPAIRED_MISFIT else None

    def _changed(self, by: Floats | float) -> Form:
        """Return the form with right-hand sides increased by this amount."""
        return self._form._replace(phi0=shift(self._form.phi0, by))

    def expand(self, t: float, state: Floats, change: Floats | float = 0.0) -> np.ndarray:
        """Return all coefficients of the motion from a state, with changed right-hand sides."""
        form = self._changed(change)
        coefficients = widen(np.zeros((HIGHEST_ORDER + 1, state.shape[1])))
        kernels.expand(form, self._ws, self._loads, t, EVERY, widen(state), coefficients)
        return coefficients

    def predict(self, t: float, kept: kernels.StepperState) -> Floats | None:
        """Return the coefficients of the smoothest motion from a state, in doubles; None if there is none."""
        change = self._find_misfit(t, kept, ROUNDS)
        series = None if change is None else narrow(self.expand(t, kept.state, change))
        return series if series is not None and np.isfinite(series).all() else None

    def notes(self) -> list[str]:
        """Return notes for the user."""
        notes: list[str] = []
        if self.taken:
            fitted = (
                f"; dimensions were changed by up to {self._repaired:.1e} of a length there, their rounding, so "
                "that these are passed and not missed"
            )
            notes.append(
                f"{self.taken} steps near singular configurations, or where constraints are redundant, were "
                "computed in extended precision" + (fitted if self._repaired else "")
            )
        if self._alone is not None:
            notes.append(
                f"from t = {self._alone:.6g} s on extended precision does not help (branches with a common "
                "tangent, or equations that contradict each other in their last digits): the run continues in "
                f"double precision, accurate to about {ACCURATE_THROUGH:g} of the mechanism's length after "
                "crossings"
            )
        limit = TIGHTEST_TOLERANCE if self.given else FLOOR / SHARE
        return [*notes, *describe_floor(self._requested, limit)]


def warm_up(form: Form, loads: Loads) -> None:
    """Compile or load all that is needed, by one step of a small mechanism."""
    nq, rows, readings = len(form.Q), HIGHEST_ORDER + 1, len(loads.torsions.first) + 1
    more = MoreDigits(
        form, make_loads(loads, HIGHEST_ORDER), np.zeros(len(form.phi0)), TIGHTEST_TOLERANCE
    )
    kept = kernels.make_state(nq, readings, LONG_FLOOR)
    rules = kernels.make_rules(1e-3, LONG_FLOOR, True, ROOM, False, True)
    room = StepPolynomials(
        np.zeros(2),
        np.zeros(1, np.int64),
        np.zeros((1, rows, nq)),
        np.zeros((1, readings, 2 * rows)),
    )
    more.advance(ExtendedSteps(0.0, rules, kept, room, np.zeros((1, kernels.SEEN))))
    more.expand(0.0, kept.state)
