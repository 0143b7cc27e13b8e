"""Numbers of a mechanism that a person may have wrong, fitted to columns: gravity, start speed, size, a mass.

A hypothesis is the mechanism with one number times a factor s. The factor is fitted by the Gauss-Newton method,

    s <- s - J . r / (J . J),     r: simulated columns less those given, by row and relative to their motion,

first to the first rows, where every motion is almost linear in s, then to more and more of them: the phase of the
simulated motion never slips by a turn. A hypothesis whose best factor does not fit some rows is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..arrays import Floats
from ..mechanism import Mechanism, MechanismError
from ..mechanism.mechanism import vary
from ..problems import Problem
from ..simulate import simulate

# shares of the rows that are fitted one after the other
SHARES = (0.05, 0.15, 0.4, 1.0)
# rows that are fitted at least, and at most
LEAST_ROWS, MOST_ROWS = 8, 400
# of the motion: a hypothesis that leaves more on any share of the rows is dropped
DROPPED = 0.05
# steps of the method on some rows and on all of them, and the change of the factor after which it ends
FEW_STEPS, MOST_STEPS, SMALL_CHANGE = 3, 8, 1e-9
# simulations of all fits together: a diagnosis is worth some seconds
MOST_SIMULATIONS = 80
# of a number that a person wrote, and relative: the same number
MOST_DIGITS, SAME = 7, 3e-7
# [m/s^2]: the one number of many digits that people do write
GRAVITY, STANDARD_GRAVITY = "gravity", 9.80665
# the difference of the derivative: its error and that of rounding are then both 1e-6 of it
DIFFERENCE = 1e-4
# a simulation is exact for any file with fewer digits
TOLERANCE = 1e-10
# beyond this many, single masses are not tried: one of many changes little
MOST_BODIES = 8
# a motion that changes less than this by a factor of 1 does not tell the factor
INSENSITIVE = 1e-6


@dataclass(frozen=True)
class Hypothesis:
    """A number that may be wrong.

    name: what it is; value: of the problem, in the unit; change: the mechanism with this number times a factor;
    signed: its sign may be wrong, too.
    """

    name: str
    value: float
    unit: str
    change: Callable[[Mechanism, float], Mechanism]
    signed: bool = False


@dataclass(frozen=True, eq=False)
class Fit:
    """A hypothesis with its best factor, and the columns that are simulated with it, at the times given."""

    hypothesis: Hypothesis
    factor: float
    columns: dict[str, Floats]

    def number(self, accuracy: float) -> str:
        """The number that fits, with no more digits than its relative accuracy needs."""
        h = self.hypothesis
        accuracy = max(accuracy, SAME)
        if abs(self.factor) <= accuracy:
            return "0"
        value = self.factor * h.value
        if h.name == GRAVITY and abs(abs(value) - STANDARD_GRAVITY) <= SAME * STANDARD_GRAVITY:
            return f"{STANDARD_GRAVITY}"
        texts = [f"{value:.{n}g}" for n in range(1, MOST_DIGITS + 1)]
        close = (text for text in texts if abs(float(text) - value) <= accuracy * abs(value))
        return f"{float(next(close, texts[-1])):.{MOST_DIGITS}g}"

    def digits(self, accuracy: float) -> int:
        """How many digits it has: a person writes few, a number that only imitates another one has many."""
        number = self.number(accuracy)
        if number == f"{STANDARD_GRAVITY}":
            return 1
        return len(number.split("e")[0].strip("-").replace(".", "").strip("0"))

    def sentence(self, accuracy: float) -> str:
        """What would be wrong."""
        h, number = self.hypothesis, self.number(accuracy)
        if not h.unit:
            return f"{h.name} are {number} times those of the problem"
        return f"{h.name} is {number} {h.unit}, that of the problem {h.value:.6g} {h.unit}"


def list_hypotheses(mechanism: Mechanism) -> Iterator[Hypothesis]:
    """What may be wrong with a mechanism."""
    g = float(np.linalg.norm(mechanism.gravity))
    if g > 0.0:
        yield Hypothesis(GRAVITY, g, "m/s^2", lambda m, s: vary(m, gravity=s), signed=True)
    speeds = [*mechanism.velocities, *mechanism.angular_velocities]
    if any(np.any(speed) for _, speed in speeds):
        yield Hypothesis(
            "the start velocities", 1.0, "", lambda m, s: vary(m, speed=s), signed=True
        )
    if not mechanism.drives:
        yield Hypothesis("the lengths", 1.0, "", lambda m, s: vary(m, size=s))
    if 1 < len(mechanism.bodies) <= MOST_BODIES:
        masses = [body.mass for body in mechanism.bodies]
        for body in mechanism.bodies:
            if body.mass > 0.0:
                # bodies that are alike may have the same effect
                more = ", or of a body like it," if masses.count(body.mass) > 1 else ""
                name = f"the mass of '{body.name}'{more}"
                yield Hypothesis(name, body.mass, "kg", partial(_with_mass, body.name))


def _with_mass(name: str, mechanism: Mechanism, factor: float) -> Mechanism:
    """One body heavier, its inertia in proportion."""

    def change(part: object) -> object:
        if getattr(part, "name", "") != name or not hasattr(part, "inertia"):
            return part
        return replace(part, mass=factor * part.mass, inertia=np.asarray(factor * part.inertia))  # type: ignore[attr-defined,type-var]

    return mechanism.mapped(change)


def fit_hypotheses(problem: Problem, columns: dict[str, Floats], names: list[str]) -> Iterator[Fit]:
    """Hypotheses that fit all rows, up to so many simulations; columns: with t; names: those that are compared."""
    times = columns["t"]
    if len(times) < LEAST_ROWS or not names or not (np.diff(times) > 0.0).all():
        return
    mechanism = problem.mechanism()
    scale = {name: max(float(np.abs(columns[name]).max()), 1e-3) for name in names}
    made = 0
    for hypothesis in list_hypotheses(mechanism):
        fitter = _Fitter(problem, mechanism, hypothesis, columns, scale)
        try:
            factor = fitter.fit(1.0)
            if factor is None and hypothesis.signed:
                # a motion the other way is too far for a fit that begins with this one
                factor = fitter.fit(-1.0)
            made += fitter.made
        except (MechanismError, ValueError):
            # a mechanism with this factor cannot be simulated
            continue
        if factor is not None:
            yield Fit(hypothesis, factor, fitter.simulated)
        if made > MOST_SIMULATIONS:
            return


class _Fitter:
    """The fit of one hypothesis."""

    def __init__(
        self,
        problem: Problem,
        mechanism: Mechanism,
        hypothesis: Hypothesis,
        columns: dict[str, Floats],
        scale: dict[str, float],
    ) -> None:
        self.problem, self.mechanism, self.hypothesis = problem, mechanism, hypothesis
        self.columns, self.scale = columns, scale
        self.simulated: dict[str, Floats] = {}
        self.made = 0

    def fit(self, factor: float) -> float | None:
        """The best factor near this one; None if none fits, or if the motion does not tell it."""
        total = len(self.columns["t"])
        for share in SHARES:
            rows = min(max(LEAST_ROWS, round(share * total)), total)
            best = self.improve(factor, rows)
            if best is None:
                return None
            factor = best
        return factor

    def improve(self, factor: float, rows: int) -> float | None:
        """A better factor for the first rows; None if even that leaves too much."""
        found = self.residuals(factor, rows)
        left = float(np.abs(found).max())
        for _ in range(MOST_STEPS if rows == len(self.columns["t"]) else FEW_STEPS):
            change = DIFFERENCE * max(abs(factor), 0.1)
            slope = (self.residuals(factor + change, rows) - found) / change
            square = float(slope @ slope)
            if np.sqrt(square / len(slope)) < INSENSITIVE:
                return None
            step = -float(slope @ found) / square
            factor += step
            found = self.residuals(factor, rows)
            left = float(np.abs(found).max())
            if abs(step) < SMALL_CHANGE * max(abs(factor), 1.0):
                break
        return factor if left < DROPPED else None

    def residuals(self, factor: float, rows: int) -> Floats:
        """Simulated columns less those given, relative to their motion, one after the other."""
        times = self.columns["t"][:rows].copy()
        # the first row is the start, whatever its rounding
        times[0] = 0.0
        changed = self.hypothesis.change(self.mechanism, factor)
        self.made += 1
        result = simulate(changed, float(times[-1]), outputs=times, tolerance=TOLERANCE)
        if len(result.times) != rows:
            raise MechanismError(f"the motion ends at {result.duration:g} s")
        self.simulated = self.problem.result_columns(result)
        return np.concatenate(
            [
                (self.simulated[name] - self.columns[name][:rows]) / scale
                for name, scale in self.scale.items()
            ]
        )
