"""Parameters of a mechanism that a person may have wrong, fitted to columns: gravity, initial speed, size, a mass.

A hypothesis is the mechanism with one parameter multiplied by a factor s. The Gauss-Newton method fits the factor,

    s <- s - J . r / (J . J),     r: simulated columns minus the given ones, by row and relative to their motion,

first to the first rows, where every motion is almost linear in s, then to more and more rows, so that the phase of
the simulated motion never slips by a revolution. A hypothesis whose best factor does not fit some rows is dropped.
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

# Fractions of the rows that are fitted one after another.
SHARES = (0.05, 0.15, 0.4, 1.0)
# Smallest and largest number of fitted rows.
LEAST_ROWS, MOST_ROWS = 8, 400
# Relative to the motion: a hypothesis with a larger error on any fraction of the rows is dropped.
DROPPED = 0.05
# Iterations on a fraction of the rows and on all rows; change of the factor at which the iteration ends.
FEW_STEPS, MOST_STEPS, SMALL_CHANGE = 3, 8, 1e-9
# Largest number of simulations of all fits together: a diagnosis may take some seconds.
MOST_SIMULATIONS = 80
# Largest number of digits of a number written by a person; relative difference of numbers that count as equal.
MOST_DIGITS, SAME = 7, 3e-7
# [m/s^2]: the only number with many digits that people write.
GRAVITY, STANDARD_GRAVITY = "gravity", 9.80665
# Step of the finite difference: its truncation error and its rounding error are then both 1e-6 of the derivative.
DIFFERENCE = 1e-4
# With this tolerance a simulation is exact for any file with fewer digits.
TOLERANCE = 1e-10
# With more bodies, single masses are not tried: one of many has little effect.
MOST_BODIES = 8
# A motion that changes less than this for a factor change of 1 does not determine the factor.
INSENSITIVE = 1e-6


@dataclass(frozen=True)
class Hypothesis:
    """A parameter that may be wrong.

    name: what it is; value: its value in the problem, in the unit; change: returns the mechanism with this
    parameter multiplied by a factor; signed: its sign may be wrong, too.
    """

    name: str
    value: float
    unit: str
    change: Callable[[Mechanism, float], Mechanism]
    signed: bool = False


@dataclass(frozen=True, eq=False)
class Fit:
    """A hypothesis with its best factor, and the columns simulated with it at the given times."""

    hypothesis: Hypothesis
    factor: float
    columns: dict[str, Floats]

    def number(self, accuracy: float) -> str:
        """Return the fitted value with no more digits than its relative accuracy requires."""
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
        """Return its number of digits: people write few, while a value that merely imitates another has many."""
        number = self.number(accuracy)
        if number == f"{STANDARD_GRAVITY}":
            return 1
        return len(number.split("e")[0].strip("-").replace(".", "").strip("0"))

    def sentence(self, accuracy: float) -> str:
        """Return a sentence on what would be wrong."""
        h, number = self.hypothesis, self.number(accuracy)
        if not h.unit:
            return f"{h.name} are {number} times those of the problem"
        return f"{h.name} is {number} {h.unit}, that of the problem {h.value:.6g} {h.unit}"


def list_hypotheses(mechanism: Mechanism) -> Iterator[Hypothesis]:
    """Yield the parameters of a mechanism that may be wrong."""
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
                # Identical bodies may have the same effect.
                more = ", or of a body like it," if masses.count(body.mass) > 1 else ""
                name = f"the mass of '{body.name}'{more}"
                yield Hypothesis(name, body.mass, "kg", partial(_with_mass, body.name))


def _with_mass(name: str, mechanism: Mechanism, factor: float) -> Mechanism:
    """Scale the mass of one body, and its inertia in proportion."""

    def change(part: object) -> object:
        if getattr(part, "name", "") != name or not hasattr(part, "inertia"):
            return part
        return replace(part, mass=factor * part.mass, inertia=np.asarray(factor * part.inertia))  # type: ignore[attr-defined,type-var]

    return mechanism.mapped(change)


def fit_hypotheses(problem: Problem, columns: dict[str, Floats], names: list[str]) -> Iterator[Fit]:
    """Yield hypotheses that fit all rows, within the simulation limit; columns: with t; names: to compare."""
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
                # A motion in the opposite direction is too far away for a fit that starts at this one.
                factor = fitter.fit(-1.0)
            made += fitter.made
        except (MechanismError, ValueError):
            # A mechanism with this factor cannot be simulated.
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
        """Return the best factor near this one; None if none fits, or if the motion does not determine it."""
        total = len(self.columns["t"])
        for share in SHARES:
            rows = min(max(LEAST_ROWS, round(share * total)), total)
            best = self.improve(factor, rows)
            if best is None:
                return None
            factor = best
        return factor

    def improve(self, factor: float, rows: int) -> float | None:
        """Return a better factor for the first rows; None if its error is still too large."""
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
        """Return simulated minus given columns, relative to their motion, concatenated."""
        times = self.columns["t"][:rows].copy()
        # The first row is the start, whatever its rounding.
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
