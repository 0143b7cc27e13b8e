"""Benchmark problems: a mechanism plus numbers, independent of any solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

import numpy as np

from ..arrays import Floats
from ..mechanism import Mechanism
from ..names import short
from ..result import Result
from ..runs.columns import Columns, Figure, Panel, observed_columns
from ..thresholds import LARGEST_NUMBER

__all__ = [
    "Angle",
    "Columns",
    "Figure",
    "Limits",
    "Panel",
    "Problem",
    "Read",
    "RightBranch",
    "SmallMotion",
]


@dataclass(frozen=True)
class Limits:
    """Accuracy limits of a result; None where the problem sets no limit.

    energy_drift [J]: largest drift of the total energy. low, high: largest error of the observed point, relative
    with `threshold`, for the two precision classes of the MBS Benchmark library. end_error [m]: error of the
    observed point at the last output. rms: root mean square over the outputs, from the squared errors of x [m] and
    of the angle [rad] added together. path [m]: a larger distance from the path at any time means another motion;
    this limit is our own, because an energy limit alone accepts a wrong branch.
    """

    energy_drift: float | None = None
    low: float | None = None
    high: float | None = None
    threshold: float | None = None
    end_error: float | None = None
    rms: float | None = None
    path: float | None = None

    def __str__(self) -> str:
        parts = []
        if self.energy_drift is not None:
            parts.append(f"energy drift < {self.energy_drift:g} J")
        if self.high is not None:
            parts.append(f"error < {self.low:g} (low), {self.high:g} (high)")
        if self.end_error is not None:
            parts.append(f"error at the end < {self.end_error:g} m (set by Sarrus)")
        if self.rms is not None:
            parts.append(f"RMS error < {self.rms:g}")
        return "; ".join(parts)


@dataclass(frozen=True)
class RightBranch:
    """The right branch of a motion with one degree of freedom, and how to check columns against it.

    name: name of the branch; path: curve on which the observed point moves; distance: distance of each row from it
    [m]. energy: energy of each row computed from the observed point alone, 0 at the start [J], nan where the
    columns do not determine it; None if they never do. scale: largest kinetic energy on the branch [J]; silence:
    longest time on the branch without a row that determines the energy [s]. singular: times at which another
    branch begins, and the name of those configurations; relatives: other options of the same problem that may
    match the columns. needs, energy_needs: columns required to compute distance and energy.
    """

    name: str
    path: str
    distance: Callable[[Columns], Floats]
    energy: Callable[[Columns], Floats] | None = None
    scale: float = 0.0
    silence: float = np.inf
    singular: Callable[[float], Floats] = lambda duration: np.empty(0)
    position: str = "singular configuration"
    relatives: Callable[[Columns], list[dict[str, float]]] = lambda columns: []
    needs: tuple[str, ...] = ("x",)
    energy_needs: tuple[str, ...] = ("x", "vx")


# Returns the values of a named point over time, (n, dimension).
Read = Callable[[str], Floats]


@dataclass(frozen=True)
class Angle:
    """An angle that the source requires in addition to the observed point: columns "angle" and "rate".

    `read` computes it from positions and velocities of named points, `exact` from times. Both return the angle
    [rad], unwrapped beyond full turns, and its rate [rad/s].
    """

    read: Callable[[Read, Read], tuple[Floats, Floats]]
    exact: Callable[[Floats], tuple[Floats, Floats]]


@dataclass(frozen=True)
class SmallMotion:
    """The results of a statics problem: the observed point at rest [m], and eigenvalues [1/s]."""

    place: tuple[float, ...]
    eigenvalues: tuple[complex, ...]


@dataclass(frozen=True)
class Problem:
    """A benchmark problem: how to build it, how long to run it, what to compare it with.

    library: short name of its origin; source: the paper or page. observed: name of the point that is compared;
    columns: columns of the result file, in the source's order (t, then x y z vx vy vz of the observed point, angle
    and rate, energy, and violations by level). branch: how to detect from the columns that the motion is on
    another branch; None where they cannot show it. angle: meaning of the columns angle and rate; small: the
    equilibrium and the small motions about it. options: values of the options it was made with (each is declared
    by an `Option` next to its builder). save: writes a user's problem as a folder from which another process can
    load it; None for built-in problems, which every process finds by name.
    """

    id: str
    title: str
    library: str
    source: str
    note: str
    version: int
    duration: float
    output_step: float
    limits: Limits
    observed: str
    columns: tuple[str, ...]
    figures: tuple[Figure, ...]
    build: Callable[[], Mechanism] = field(repr=False)
    exact: Callable[[Floats], Floats] = field(repr=False)
    branch: RightBranch | None = field(default=None, repr=False)
    angle: Angle | None = field(default=None, repr=False)
    small: SmallMotion | None = None
    options: dict[str, float] = field(default_factory=dict)
    save: Callable[[Path], None] | None = field(default=None, repr=False)

    def mechanism(self) -> Mechanism:
        """Return a new mechanism of this problem, in its initial configuration."""
        return self.build()

    def reference(self, times: Floats) -> Floats:
        """Return the exact motion of the observed point: position columns, then velocity columns."""
        return self.exact(np.asarray(times, dtype=float))

    def reference_columns(self, times: Floats) -> Columns:
        """Return the exact motion by column name: x, y, z, vx, vy, vz, and the angle and its rate if defined."""
        motion = self.reference(times)
        letters = "xyz"[: motion.shape[1] // 2]
        columns = dict(zip([*letters, *("v" + c for c in letters)], motion.T, strict=True))
        if self.angle is not None:
            columns["angle"], columns["rate"] = self.angle.exact(np.asarray(times, dtype=float))
        return columns

    def result_columns(self, result: Result) -> Columns:
        """Return the same columns of a result, with time, energy and violations: all that a source may require."""
        columns = observed_columns(result, self.observed)
        if self.angle is not None:
            columns["angle"], columns["rate"] = self.angle.read(result.position, result.velocity)
        return columns


@dataclass(frozen=True)
class Option:
    """A numeric option of a problem.

    meaning: a short description; least, most: inclusive bounds; whole: whether it must be an integer; wanted: the
    bounds in words, empty if any number is valid.
    """

    name: str
    default: float
    unit: str
    meaning: str
    wanted: str = ""
    least: float = -inf
    most: float = inf
    whole: bool = False

    def check(self, value: float) -> float:
        """Return the value if it is valid; raise ValueError otherwise."""
        if (
            isinstance(value, bool | str)
            or not isinstance(value, int | float)
            # Integers may exceed the range of floats.
            or not abs(value) <= LARGEST_NUMBER
        ):
            plain = isinstance(value, int | float) and not isinstance(value, bool)
            given = short(value) if plain else repr(value)[:60]
            raise ValueError(
                f"{self.name} = {given}; give a finite number up to {LARGEST_NUMBER:g}"
            )
        if not self.least <= value <= self.most or (self.whole and value != int(value)):
            raise ValueError(f"{self.name} = {self.show(value)}; give {self.wanted}")
        return int(value) if self.whole else value

    def show(self, value: float) -> str:
        """Format a value with its unit."""
        return f"{value:g} {self.unit}".rstrip()


SECTION = Option(
    "section",
    default=0.0,
    unit="m",
    meaning="section of Bricard's or the governor's rods",
    wanted="the side of a square, 0 for thin rods",
    least=0.0,
)


@dataclass(frozen=True)
class Maker:
    """Makes a problem from values of its options; omitted options take their defaults."""

    make: Callable[..., Problem]
    options: tuple[Option, ...]

    def __call__(self, **given: float) -> Problem:
        """Return the problem, which records the values it was made with."""
        values = {o.name: o.check(given.get(o.name, o.default)) for o in self.options}
        return replace(self.make(**values), options=values)


def with_options(*options: Option) -> Callable[[Callable[..., Problem]], Maker]:
    """Declare the options of the function that makes a problem."""
    return lambda make: Maker(make, options)
