"""More digits beside singular positions: steps in wide numbers, where a tolerance asks for more than doubles hold.

At a distance d before a singular position a rounding eps is a motion of a neighbouring mechanism, whose series
converges no farther than about d: what it adds to coefficient k is eps / d^k, and a step h over the singular
position makes eps (h/d)^k of it. With a tolerance of 1e-13 that, and not what a series leaves out, is the error.
So such steps are taken in numbers of two doubles (kernels/wide.py) by the same kernels:

    the last landing, a double, goes back onto the constraints with all digits
    steps as always, until they begin where pivots are large again
    the last landing is rounded to doubles, and these go on

Where dimensions are not what closes exactly, there is no singular position at that many digits, or equations that
depend on each other contradict. Then wide numbers see more than was meant: doubles go on alone, and a note says so.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..kernels import reasons
from ..kernels import series as kernels
from ..kernels.compiler import COMPILES
from ..kernels.layout import Form, Pieces, Workspace, make_wide_workspace
from ..kernels.loads import Loads
from ..kernels.rules import FLOOR, HIGHEST_ORDER, LONG_FLOOR, SHARE, local_tolerance, log_cost
from ..kernels.wide import narrow, widen

# steps at a time
ROOM = 4


def wants_digits(tolerance: float) -> bool:
    """Whether a tolerance is below what doubles hold."""
    return local_tolerance(tolerance)[1]


def describe_floor(tolerance: float) -> list[str]:
    """What a user should know of a tolerance that only doubles follow."""
    if not wants_digits(tolerance):
        return []
    held = FLOOR / SHARE
    return [f"tolerance {tolerance:g} is below what double precision holds; {held:g} was used"]


class MoreDigits:
    """What a run has of more digits.

    given: whether it has any; tolerance: of its steps; without: the tolerance of doubles alone.
    """

    def __init__(self, form: Form, loads: Loads | None, usual: Floats, tolerance: float) -> None:
        self._form, self._loads, self._usual = form, loads, usual
        self._asked = tolerance
        self.without, _ = local_tolerance(tolerance)
        self.given = wants_digits(tolerance) and COMPILES and loads is None
        self.tolerance = LONG_FLOOR if self.given else self.without
        self._ws: Workspace | None = None

    def advance(
        self, t: float, t_end: float, tolerance: float, kept: kernels.Kept, room: Pieces, seen: Floats
    ) -> tuple[int, int]:
        """Steps from t on, until they begin where doubles serve; returns the reason and how many."""
        if self._ws is None:
            self._ws = make_wide_workspace(self._form, HIGHEST_ORDER, self._usual)
        form, ws, loads, most = self._form, self._ws, self._loads, len(room.coefficients)
        wide = kernels.Kept(widen(kept.state), *(x.copy() for x in kept[1:]))
        left = kernels.polish(form, ws, loads, t, wide.state)
        coefficients = widen(np.zeros((ROOM, *room.coefficients.shape[1:])))
        steps, reason = 0, reasons.FULL
        while reason == reasons.FULL and steps < most:
            rest = room.some(steps, most)._replace(coefficients=coefficients[: most - steps])
            reason, more = kernels.advance(
                form, ws, loads, t, t_end, tolerance, True, log_cost(), wide, rest, seen[steps:]
            )
            room.coefficients[steps : steps + more] = narrow(coefficients[:more])
            steps += more
            t = float(room.starts[steps])
        import os
        if os.environ.get("SHOW"): print("wide", left, reason, steps, room.orders[:steps], room.starts[:steps+1], seen[:steps])
        for now, after in zip(kept, wide, strict=True):
            now[...] = after.real
        return reason, steps

    def notes(self) -> list[str]:
        """What a user should know."""
        return [] if self.given else describe_floor(self._asked)
