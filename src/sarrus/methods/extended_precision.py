"""More digits beside singular positions: steps in wide numbers, where a tolerance asks for more than doubles hold.

At a distance d before a singular position a rounding eps is the motion of a neighbouring mechanism, which passes
beside it: its series converges no farther than about d, and what it adds to coefficient k is eps / d^k. A step h
over the singular position makes eps (h/d)^k of it: far more than what the series leaves out. So such steps are
taken in numbers of two doubles (kernels/double_double.py), by the same kernels:

    the last landing, a double, goes back onto the constraints with all digits
    steps as always, until one begins where pivots are large again
    the last landing is rounded to doubles, and these go on

Dimensions are doubles, too, and a mechanism whose dimensions are rounded passes beside its singular position by
eps: with more digits one sees that it does, and it turns back. Of all mechanisms within that rounding one goes
through it. Along the weak directions u of J^T its constraints are Phi = phi0 + u s; what s does to coefficient k
grows as 1/d^k, so the highest ones tell s: those of the mechanism that is meant do not grow.

Where even that does not lead over it (equations that depend on each other and contradict in the last digits,
motions that touch) doubles go on alone as with a looser tolerance, and a note says so.
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
    HELD_THROUGH,
    MENDED_MISFIT,
    ROUND_OFF,
    SINGULAR_LANDING,
    TIGHTEST_TOLERANCE,
    WEAK_TOGETHER,
)

# steps at a time
ROOM = 4
# coefficients that tell a misfit, and weak directions up to which it is sought: each takes a series
HIGHEST = 6
MOST_WEAK = 16
# a cost that falls steeply with the order: all of them pay
EVERY = -50.0 * np.arange(HIGHEST_ORDER + 1.0)
# counters that tell of steps that did not do, and reasons for which they may end
SPOILT = [kernels.REJECTED, kernels.RELAXED]
GOOD = (return_codes.OTHER_DIGITS, return_codes.FULL, return_codes.DONE)


def wants_digits(tolerance: float) -> bool:
    """Whether a tolerance is below what doubles hold."""
    return local_tolerance(tolerance)[1]


def describe_floor(tolerance: float, held: float = FLOOR / SHARE) -> list[str]:
    """What a user should know of a tolerance below what is held; by doubles alone if nothing else is said."""
    if tolerance >= held:
        return []
    return [f"tolerance {tolerance:g} is below what double precision holds; {held:g} was used"]


class ExtendedSteps(NamedTuple):
    """Steps to be taken from t on: rules, kept, room and seen as `kernels.series.advance` has them, in doubles."""

    t: float
    rules: kernels.StepRules
    kept: kernels.StepperState
    room: StepPolynomials
    seen: Floats


class MoreDigits:
    """What a run has of more digits.

    given: whether it has any; tolerance: of its steps; without: the tolerance of doubles alone; taken: how many
    steps were.
    """

    def __init__(
        self, form: Form, loads: Loads | None, reference_pivots: Floats, tolerance: float
    ) -> None:
        self._asked = tolerance
        self.without, _ = local_tolerance(tolerance)
        self.given = wants_digits(tolerance) and COMPILES
        self.tolerance = LONG_FLOOR if self.given else self.without
        self.taken = 0
        # by how much dimensions were changed at most, of a length; since when doubles go on alone [s]
        self._mended = 0.0
        self._alone: float | None = None
        if self.given:
            self._ws: Workspace = make_wide_workspace(form, HIGHEST_ORDER, reference_pivots)
            self._loads = None if loads is None else make_wide(loads)
            self._form = self._closed(form)
            self._constraints = Constraints(form)

    def _closed(self, form: Form) -> Form:
        """The form with right sides of constraints that the start meets to the last digit."""
        phi0 = widen(form.phi0)
        kernels.close_start(form, self._ws, widen(np.zeros_like(form.Q)), phi0)
        return set_apart(form._replace(phi0=phi0))

    def advance(self, stretch: ExtendedSteps) -> tuple[int, int]:
        """Steps until one begins where doubles serve; returns the reason and how many.

        There are none where more digits do not lead over a singular position: then they are given no more.
        """
        # where a misfit was found, there may be one at other singular positions, too: it is sought first
        for fitted in (self._mended > 0.0, self._mended == 0.0):
            change = self._find_misfit(stretch.t, stretch.kept) if fitted else np.zeros(1)
            found = None if change is None else self._take(self._changed(change), stretch)
            if change is not None and found is not None:
                self._mended = max(self._mended, float(np.abs(change).max()))
                self.taken += found[1]
                return found
        self.given, self._alone = False, stretch.t
        return return_codes.OTHER_DIGITS, 0

    def _take(self, form: Form, stretch: ExtendedSteps) -> tuple[int, int] | None:
        """Steps with the constraints of a form; None, and nothing is changed, if they come to nothing."""
        t, rules, kept, room, seen = stretch
        ws, loads, most = self._ws, self._loads, len(room.coefficients)
        reference_pivots = ws.reference_pivots.copy()
        wide = set_apart(kernels.StepperState(
            widen(kept.state), kept.carried.copy(), kept.balance.copy(), kept.counters.copy()
        ))  # fmt: skip
        if not kernels.polish(form, ws, loads, t, wide.state) <= MENDED_MISFIT:
            return None
        coefficients = widen(np.zeros((ROOM, *room.coefficients.shape[1:])))
        steps, reason = 0, return_codes.FULL
        while reason == return_codes.FULL and steps < most:
            some = coefficients[: most - steps]
            rest = set_apart(room.some(steps, most)._replace(coefficients=some))
            reason, more = kernels.advance(form, ws, loads, rules, t, wide, rest, seen[steps:])
            spoilt = wide.counters[SPOILT] > kept.counters[SPOILT]
            crawls = seen[steps : steps + more, kernels.PIVOT_RATIO] < SINGULAR_LANDING
            if spoilt.any() or crawls.any() or reason not in GOOD:
                ws.reference_pivots[:] = reference_pivots
                return None
            room.coefficients[steps : steps + more] = narrow(coefficients[:more])
            steps += more
            t = float(room.starts[steps])
        for now, after in zip(kept, wide, strict=True):
            now[...] = narrow(after)
        return reason, steps

    def _find_misfit(self, t: float, kept: kernels.StepperState) -> Floats | None:
        """What right sides are to be changed by for the smoothest motion; None if that is more than rounding."""
        state = kept.state
        if self._loads is not None:
            self._loads.theta[:] = kept.carried[:-1]
        if state.shape[1] > DENSE:
            return None
        U, values, _ = np.linalg.svd(self._constraints.jacobian(state[0]))
        weak = U[:, : len(values)][:, values < WEAK_TOGETHER * values.min()]
        if not 0 < weak.shape[1] <= MOST_WEAK:
            return None
        base = self.expand(t, state)
        size = np.abs(base).max(axis=1, keepdims=True)
        # where nothing moves yet, nothing grows
        size[size == 0.0] = 1.0
        growth = [
            narrow((self.expand(t, state, ROUND_OFF * u) - base) / size).ravel() for u in weak.T
        ]
        told = np.array([*growth, narrow(base / size).ravel()])
        if not np.isfinite(told).all():
            return None
        share, *_ = np.linalg.lstsq(told[:-1].T, -told[-1], rcond=None)
        change = ROUND_OFF * weak @ share
        # written so that nan is refused too
        return change if np.abs(change).max() <= MENDED_MISFIT else None

    def _changed(self, by: Floats | float) -> Form:
        """The form with right sides that are so much larger."""
        return self._form._replace(phi0=shift(self._form.phi0, by))

    def expand(self, t: float, state: Floats, change: Floats | float = 0.0) -> np.ndarray:
        """The highest coefficients of the motion from a state, with right sides changed by so much."""
        form = self._changed(change)
        coefficients = widen(np.zeros((HIGHEST_ORDER + 1, state.shape[1])))
        kernels.expand(form, self._ws, self._loads, t, EVERY, widen(state), coefficients)
        return coefficients[-HIGHEST:]

    def notes(self) -> list[str]:
        """What a user should know."""
        notes: list[str] = []
        if self.taken:
            fitted = (
                f"; dimensions were changed by up to {self._mended:.1e} of a length there, their rounding, so "
                "that these are passed and not missed"
            )
            notes.append(
                f"{self.taken} steps beside singular positions, or where equations depend on each other, were "
                "taken with twice the digits of doubles" + (fitted if self._mended else "")
            )
        if self._alone is not None:
            notes.append(
                f"from t = {self._alone:.6g} s on more digits lead nowhere (motions touch, or equations "
                "contradict each other in their last digits): doubles go on alone, and hold some "
                f"{HELD_THROUGH:g} of the mechanism's length behind crossings"
            )
        held = TIGHTEST_TOLERANCE if self.given else FLOOR / SHARE
        return [*notes, *describe_floor(self._asked, held)]


def warm_up(form: Form, loads: Loads) -> None:
    """Compile (or load) all that is needed, by a step of a small mechanism."""
    nq, rows, beside = len(form.Q), HIGHEST_ORDER + 1, len(loads.torsions.first) + 1
    more = MoreDigits(
        form, make_loads(loads, HIGHEST_ORDER), np.zeros(len(form.phi0)), TIGHTEST_TOLERANCE
    )
    kept = kernels.make_state(nq, beside, LONG_FLOOR)
    rules = kernels.make_rules(1e-3, LONG_FLOOR, True, ROOM, False, True)
    room = StepPolynomials(
        np.zeros(2), np.zeros(1, np.int64), np.zeros((1, rows, nq)), np.zeros((1, beside, 2 * rows))
    )
    more.advance(ExtendedSteps(0.0, rules, kept, room, np.zeros((1, kernels.SEEN))))
    more.expand(0.0, kept.state)
