"""Parameters of a mechanism that a person may have wrong, fitted to columns: gravity, initial speed, size, a mass.

A hypothesis is the mechanism with one parameter multiplied by a factor s. The best of some factors is improved by
steps that minimise the sum of absolute values,

    sum |r + J ds| -> min,     r: simulated columns minus the given ones, by row and relative to their motion,

which is the median of -r / J with the weights |J|. The weights are bounded: rows that are spoilt, or in which
velocities jump, do not affect it. The fit begins on the first rows, where every motion is almost linear in s, then
takes twice as many each time, so that the phase of the simulated motion never slips by a revolution. A hypothesis
whose best factor does not fit some rows is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .. import problems
from ..arrays import Floats, Ints
from ..mechanism import Mechanism, MechanismError
from ..mechanism.mechanism import vary
from ..problems import Problem
from ..simulate import simulate

# Factors from which a fit starts: the best of them on the first rows that determine it; those of the other sign.
FACTORS = (1.0, 0.1, 0.25, 0.5, 0.75, 1.5, 2.0, 3.0, 5.0, 10.0)
OTHER_FACTORS = (0.0, -0.5, -1.0, -2.0)
# Fraction of the rows up to which all of them are tried again.
FEW_ROWS = 0.1
# Relative to the factor, or to this one if it is smaller: the longest step.
LONGEST_STEP, SMALL_FACTOR = 0.5, 0.1
# Rows of the first fit; rows without which nothing is fitted; the most that one fit compares, evenly spaced.
FIRST_ROWS, LEAST_ROWS, MOST_ROWS = 3, 8, 200
# Relative to the motion: a hypothesis with a larger error in this share of any fraction of the rows is dropped.
DROPPED, MOST_FIT = 0.05, 0.95
# Iterations on the first rows and on all rows; change of the factor at which the iteration ends.
FEW_STEPS, MOST_STEPS, SMALL_CHANGE = 3, 8, 1e-9
# Relative to the median of all rows: the largest weight of one.
MOST_WEIGHT = 10.0
# A step that leaves more than this share of the error is the last one: rounding, or another cause; so is one that
# leaves less than this error, relative to the motion.
STALLED, SETTLED = 0.7, 1e-10
# Largest number of simulations of all fits together; part of the rows counts as that part of one. A diagnosis may
# take some seconds.
MOST_SIMULATIONS = 120
# Largest number of digits of a number written by a person; relative difference of numbers that count as equal.
MOST_DIGITS, SAME = 7, 3e-7
# Largest number of digits of a parameter that is stated as the cause: people write few digits, while a parameter
# that only compensates for another wrong one has more.
FEW_DIGITS = 4
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
# Relative to the rounding of the columns: rows in which the factors differ by less do not determine the factor.
ABOVE_ROUNDING = 10.0

# Numbers of forces that may be wrong: list of the mechanism, field, unit.
FORCE_NUMBERS = (
    ("springs", "stiffness", "N/m"),
    ("springs", "damping", "N s/m"),
    ("springs", "free_length", "m"),
    ("torsions", "stiffness", "N m/rad"),
    ("torsions", "damping", "N m s/rad"),
    ("torsions", "torque", "N m"),
    ("ball_dampers", "damping", "N m s/rad"),
    ("torques", "vector", "N m"),
    ("forces", "vector", "N"),
)


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
    """A hypothesis with its best factor, and the columns simulated with it at some rows of the file.

    accuracy: relative accuracy of the factor, by what the columns leave and by their sensitivity to it.
    """

    hypothesis: Hypothesis
    factor: float
    accuracy: float
    rows: Ints
    columns: dict[str, Floats]

    @property
    def number(self) -> str:
        """The fitted value with no more digits than its accuracy requires."""
        h = self.hypothesis
        value = self.factor * h.value
        if h.name == GRAVITY and abs(abs(value) - STANDARD_GRAVITY) <= SAME * STANDARD_GRAVITY:
            return f"{STANDARD_GRAVITY}"
        return _shorten(value, self.accuracy)

    @property
    def digits(self) -> int:
        """Its number of digits: people write few, while a value that merely imitates another has many."""
        number = self.number
        if number == f"{STANDARD_GRAVITY}":
            return 1
        # Twice a number with many digits is as simple as a number with one.
        return min(count_digits(number), count_digits(_shorten(self.factor, self.accuracy)))

    @property
    def sentence(self) -> str:
        """A sentence on what would be wrong."""
        h, number = self.hypothesis, self.number
        if not h.unit:
            return f"{h.name} are {number} times those of the problem"
        return f"{h.name} is {number} {h.unit}, that of the problem {h.value:.6g} {h.unit}"


def _shorten(value: float, accuracy: float) -> str:
    """Return a value with no more digits than its relative accuracy requires."""
    texts = [f"{value:.{n}g}" for n in range(1, MOST_DIGITS + 1)]
    near = max(accuracy, SAME) * abs(value)
    close = (text for text in texts if abs(float(text) - value) <= near)
    return f"{float(next(close, texts[-1])):.{MOST_DIGITS}g}"


def count_digits(number: str) -> int:
    """Return the number of digits of a number as written, without zeros at its ends."""
    return len(number.split("e")[0].strip("-").replace(".", "").strip("0"))


def list_hypotheses(problem: Problem, mechanism: Mechanism) -> Iterator[Hypothesis]:
    """Yield the parameters of a problem and its mechanism that may be wrong."""
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
    yield from _list_options(problem)
    yield from _list_forces(problem, mechanism)
    if 1 < len(mechanism.bodies) <= MOST_BODIES:
        masses = [body.mass for body in mechanism.bodies]
        for body in mechanism.bodies:
            if body.mass > 0.0:
                # Identical bodies may have the same effect.
                more = ", or of a body like it," if masses.count(body.mass) > 1 else ""
                name = f"the mass of '{body.name}'{more}"
                yield Hypothesis(name, body.mass, "kg", partial(_with_mass, body.name))


def _list_options(problem: Problem) -> Iterator[Hypothesis]:
    """Yield the options of a problem that are quantities: a section, a damping, a speed."""
    if problem.id not in problems.names():
        return
    for option in problems.options(problem.id):
        value = problem.options[option.name]
        if not option.whole and value:
            change = partial(_with_option, problem, option.name)
            yield Hypothesis(f"option {option.name}", value, option.unit, change)


def _list_forces(problem: Problem, mechanism: Mechanism) -> Iterator[Hypothesis]:
    """Yield the numbers of springs, dampers and motors; elements with equal numbers are changed together."""
    for parts, what, unit in FORCE_NUMBERS:
        alike: dict[float, list[str]] = {}
        for element in getattr(mechanism, parts):
            alike.setdefault(_size(element, what), []).append(element.name)
        for value, names in alike.items():
            if value and what not in problem.options:
                listed = " and ".join(f"'{name}'" for name in names)
                word = {"vector": "the magnitude"}.get(what, f"the {what.replace('_', ' ')}")
                change = partial(_with_number, frozenset(names), what)
                yield Hypothesis(
                    f"{word} of {listed}", value, unit, change, signed=what in ("torque", "vector")
                )


def _size(element: object, what: str) -> float:
    """Return a number of an element; of a vector its magnitude."""
    return float(np.linalg.norm(getattr(element, what)))


def _with_number(
    names: frozenset[str], what: str, mechanism: Mechanism, factor: float
) -> Mechanism:
    """Scale a number, or a vector, of some springs, dampers or motors."""

    def change(part: object) -> object:
        if getattr(part, "name", "") not in names or not hasattr(part, what):
            return part
        return replace(part, **{what: factor * getattr(part, what)})  # type: ignore[type-var]

    return mechanism.mapped(change)


def _with_option(problem: Problem, name: str, mechanism: Mechanism, factor: float) -> Mechanism:
    """Return the mechanism of the problem with an option multiplied by a factor; `mechanism` is replaced."""
    value = factor * problem.options[name]
    return problems.get(problem.id, **{**problem.options, name: value}).mechanism()


def _with_mass(name: str, mechanism: Mechanism, factor: float) -> Mechanism:
    """Scale the mass of one body, and its inertia in proportion."""

    def change(part: object) -> object:
        if getattr(part, "name", "") != name or not hasattr(part, "inertia"):
            return part
        return replace(part, mass=factor * part.mass, inertia=np.asarray(factor * part.inertia))  # type: ignore[attr-defined,type-var]

    return mechanism.mapped(change)


def fit_hypotheses(
    problem: Problem, columns: dict[str, Floats], names: list[str], rounding: float = 0.0
) -> Iterator[Fit]:
    """Yield hypotheses that fit all rows, within the simulation limit.

    columns: with t; names: to compare; rounding: error of the written numbers, relative to the motion.
    """
    times = columns["t"]
    if len(times) < LEAST_ROWS or not names or not (np.diff(times) > 0.0).all():
        return
    mechanism = problem.mechanism()
    scale = {name: max(float(np.abs(columns[name]).max()), 1e-3) for name in names}
    made = 0.0
    found: list[tuple[_Fitter, Fit]] = []
    for hypothesis in list_hypotheses(problem, mechanism):
        fitter = _Fitter(problem, mechanism, hypothesis, columns, scale, rounding)
        fit = fitter.fit()
        made += fitter.made
        if fit is not None:
            found.append((fitter, fit))
            yield fit
        if made > MOST_SIMULATIONS:
            break
    if any(fit.digits <= FEW_DIGITS for _, fit in found):
        return
    # Rows far apart may fit several factors, as a motion of another frequency does at the same instants.
    for fitter, fit in found:
        for start in FACTORS:
            other = fitter.fit(start)
            if other is not None and other.digits < fit.digits:
                yield other
            if fitter.made > MOST_SIMULATIONS or (other and other.digits <= FEW_DIGITS):
                return


def _typical(values: Floats) -> float:
    """Return the magnitude that all values but the largest few do not exceed."""
    return float(np.quantile(np.abs(values), MOST_FIT))


def _best_step(left: Floats, slope: Floats) -> float:
    """Return the step that minimises the sum of |left + slope * step|, with bounded weights."""
    sensitive = np.flatnonzero(slope)
    steps, weights = -left[sensitive] / slope[sensitive], np.abs(slope[sensitive])
    weights = np.minimum(weights, MOST_WEIGHT * np.median(weights))
    order = np.argsort(steps, kind="stable")
    below = np.cumsum(weights[order])
    return float(steps[order[np.searchsorted(below, 0.5 * below[-1])]])


class _Fitter:
    """The fit of one hypothesis."""

    def __init__(
        self,
        problem: Problem,
        mechanism: Mechanism,
        hypothesis: Hypothesis,
        columns: dict[str, Floats],
        scale: dict[str, float],
        rounding: float,
    ) -> None:
        self.problem, self.mechanism, self.hypothesis = problem, mechanism, hypothesis
        self.columns, self.scale = columns, scale
        # Smaller differences between factors may be rounding.
        self.least = max(INSENSITIVE, ABOVE_ROUNDING * rounding)
        self.simulated: dict[str, Floats] = {}
        self.made = 0.0
        self.total = len(columns["t"])
        # Change of the columns, relative to their motion, for a change of the factor by 1.
        self.sensitivity = 0.0

    def fit(self, start: float | None = None) -> Fit | None:
        """Return the fit that a factor leads to, by default the best of several; None if it does not fit."""
        try:
            return self.follow(start)
        except (MechanismError, ValueError):
            # A mechanism with this factor cannot be simulated.
            return None

    def follow(self, start: float | None) -> Fit | None:
        """Fit the first rows, then twice as many each time; None if a factor does not fit some of them."""
        factor = start
        rows = FIRST_ROWS
        while True:
            if start is None and (factor is None or rows <= FEW_ROWS * self.total):
                factor = self.choose(rows, factor)
            if factor is not None:
                factor = self.improve(factor, rows)
                if factor is None:
                    return None
            if rows == self.total:
                return None if factor is None else self.finish(factor)
            rows = min(2 * rows, self.total)

    def finish(self, factor: float) -> Fit:
        """Return the fit with the number nearest to the best factor that a person may have written."""
        found = self.measure(factor)
        accuracy = found / max(self.sensitivity * abs(factor), INSENSITIVE)
        best = Fit(self.hypothesis, factor, accuracy, self.pick(self.total), self.simulated)
        simple = float(best.number) / self.hypothesis.value
        # Slow starts have effects of second order: zero may fit as well as a small factor.
        simple = 0.0 if abs(factor) < SMALL_FACTOR and self.hypothesis.signed else simple
        try:
            fits = self.measure(simple) <= 2.0 * found
        except (MechanismError, ValueError):
            fits = False
        return replace(best, factor=simple, columns=self.simulated) if fits else best

    def measure(self, factor: float) -> float:
        """Return the error of a factor in all rows but the worst few, relative to the motion."""
        return _typical(self.residuals(factor, self.total))

    def choose(self, rows: int, known: float | None) -> float | None:
        """Return the factor from which a fit starts; None if the first rows do not determine it.

        known: the factor that fits fewer rows, which several may do.
        """
        found = {}
        factors = (*FACTORS, *(OTHER_FACTORS if self.hypothesis.signed else ()))
        for factor in factors if known is None else (known, *factors):
            try:
                left = self.residuals(factor, rows)
            except (MechanismError, ValueError):
                continue
            found[factor] = float(np.abs(left).mean())
        if not found or max(found.values()) - min(found.values()) < self.least:
            return None
        return min(found, key=lambda factor: found[factor])

    def improve(self, factor: float, rows: int) -> float | None:
        """Return a better factor for the first rows; None if its error is still too large."""
        found = self.residuals(factor, rows)
        for _ in range(MOST_STEPS if rows == self.total else FEW_STEPS):
            change = DIFFERENCE * max(abs(factor), SMALL_FACTOR)
            slope = (self.residuals(factor + change, rows) - found) / change
            self.sensitivity = _typical(slope)
            if self.sensitivity < INSENSITIVE:
                # More rows may determine it.
                return factor if rows < self.total else None
            # Masses and lengths stay positive.
            small = SMALL_FACTOR if self.hypothesis.signed else 0.0
            longest = LONGEST_STEP * max(abs(factor), small)
            step = float(np.clip(_best_step(found, slope), -longest, longest))
            factor += step
            before, found = _typical(found), self.residuals(factor, rows)
            now = _typical(found)
            stalled = now < SETTLED or (now > STALLED * before and abs(step) < longest)
            if stalled or abs(step) < SMALL_CHANGE * max(abs(factor), 1.0):
                break
        # Some rows may be spoilt, or lie where velocities jump.
        return factor if _typical(found) < DROPPED else None

    def pick(self, rows: int) -> Ints:
        """Return some of the first rows, evenly spaced."""
        return np.arange(0, rows, max(1, rows // MOST_ROWS))

    def residuals(self, factor: float, rows: int) -> Floats:
        """Return simulated minus given columns in some of the first rows, relative to their motion."""
        picked = self.pick(rows)
        times = self.columns["t"][picked]
        # The first row is the start, whatever its rounding.
        times[0] = 0.0
        changed = self.hypothesis.change(self.mechanism, factor)
        self.made += float(times[-1] / self.columns["t"][-1])
        result = simulate(changed, float(times[-1]), outputs=times, tolerance=TOLERANCE)
        if len(result.times) != len(picked):
            raise MechanismError(f"the motion ends at {result.duration:g} s")
        self.simulated = self.problem.result_columns(result)
        return np.concatenate(
            [
                (self.simulated[name] - self.columns[name][picked]) / scale
                for name, scale in self.scale.items()
            ]
        )
