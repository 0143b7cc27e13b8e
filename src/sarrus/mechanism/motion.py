"""Functions of time for drives: polynomial, sine, smooth step, table with a spline.

Each is the sum of a piecewise polynomial and a sine, which is the only form that kernels know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import perm
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from ..arrays import Floats
from ..names import all_suggest
from ..thresholds import LARGEST_NUMBER
from ..tracing import UNUSABLE, Scalar, TracedNumber, UntracedError, is_usable, sine
from .csv_table import read_table
from .elements import MechanismError, load_units


@all_suggest
@dataclass(frozen=True)
class Polynomial:
    """c0 + c1 t + c2 t^2 + ...; coefficients: (c0, c1, c2, ...), numbers or text with units ("60 rpm").

    Parameters
    ----------
    coefficients : sequence of float or str
        c0, c1, c2, ... in SI units, or text with units.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.Mechanism("crank-rocker")
    >>> _ = m.four_bar(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
    >>> motor = m.drive("motor", "A", sarrus.Polynomial([0, "60 rpm"]))
    """

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        if isinstance(self.coefficients, str) or not isinstance(
            self.coefficients, Sequence | np.ndarray
        ):
            raise MechanismError(
                f"Polynomial({self.coefficients!r}): give a list of coefficients: (0, {self.coefficients!r}) for "
                f"a constant rate, ({self.coefficients!r},) for a constant value"
            )


@all_suggest
@dataclass(frozen=True)
class Sine:
    """offset + amplitude sin(2 pi frequency t + phase); frequency [Hz], phase [rad].

    Parameters
    ----------
    amplitude : float or str
        Amplitude [rad or m].
    frequency : float or str
        Frequency [Hz].
    phase : float or str, optional
        Phase at t = 0 [rad].
    offset : float or str, optional
        Constant part [rad or m].

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.Mechanism("crank-rocker")
    >>> _ = m.four_bar(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
    >>> motor = m.drive("motor", "A", sarrus.Sine(amplitude=0.5, frequency=1.2))
    """

    amplitude: float
    frequency: float
    phase: float = 0.0
    offset: float = 0.0


@all_suggest
@dataclass(frozen=True)
class SmoothStep:
    """From `first` before t = begin to `last` after t = end, smoothly.

    In between it is the polynomial of degree five whose first and second derivatives vanish at both ends.

    Parameters
    ----------
    first, last : float or str
        Values before and after the step [rad or m].
    begin, end : float or str
        Times of its begin and end [s].

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.Mechanism("crank-rocker")
    >>> _ = m.four_bar(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
    >>> motor = m.drive("motor", "A", sarrus.SmoothStep(0, "90 deg", begin=0, end=2))
    """

    first: float
    last: float
    begin: float
    end: float


@all_suggest
@dataclass(frozen=True)
class Table:
    """Values at given times, joined by a cubic spline (not-a-knot ends); it ends with its last time.

    Parameters
    ----------
    times : sequence of float
        Increasing times [s], the first 0 or earlier.
    values : sequence of float
        Values at these times [rad or m].

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.Mechanism("crank-rocker")
    >>> _ = m.four_bar(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
    >>> motor = m.drive("motor", "A", sarrus.Table([0, 1, 2, 3], [0, 0.1, 0.4, 0.9]))
    """

    times: tuple[float, ...]
    values: tuple[float, ...]

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        *,
        time: str | int = 0,
        value: str | int = 1,
        noise: float | str = 0.0,
        start: float | str | None = None,
    ) -> Table:
        """A table of measured data: two columns of a CSV file.

        Parameters
        ----------
        path
            The file; its first line may name the columns, with units in brackets: "t [ms],angle [deg]".
        time, value
            Columns by their names (without unit) or numbers. Times are shifted to begin at 0.
        noise
            Standard deviation of the noise in the values, in SI or with a unit: "0.1 mm". Values are replaced by
            those of the smoothest cubic spline [Reinsch1967] whose mean square distance from them is noise^2; 0
            keeps them unchanged.
            A drive follows its table exactly, and accelerations are second differences: noise of 0.1 mm in
            values 1 ms apart is an acceleration of 100 m/s^2.
        start
            All values are shifted by the same amount so that the first one is `start`, in SI or with a unit: 0 for
            a drive of an angle or a travel, which begins there. By default values are not shifted.
        """
        return cls(*read_table(Path(path), time, value, noise, start))


DriveMotion = Polynomial | Sine | SmoothStep | Table


@dataclass(frozen=True, eq=False)
class MotionPieces:
    """The coefficients of a motion: from breaks[i] on, sum_k coefficients[i, k] (t - breaks[i])^k, plus
    amplitude sin(angular t + phase). end: the end of its definition [s]. All numbers may be traced.
    """

    breaks: Floats
    coefficients: Floats
    amplitude: Scalar = 0.0
    angular: Scalar = 0.0
    phase: Scalar = 0.0
    end: float = np.inf

    def value(self, t: float) -> Scalar:
        """The motion at a time."""
        return self.derivative(t, 0)

    def rate(self, t: float) -> Scalar:
        """Its time derivative; at a break that of the later piece."""
        return self.derivative(t, 1)

    def derivative(self, t: float, n: int) -> Scalar:
        """Its n-th derivative at a time; at a break that of the later piece."""
        i = max(int(np.searchsorted(self.breaks, t, side="right")) - 1, 0)
        s, out = t - self.breaks.tolist()[i], 0.0
        for k, c in reversed(list(enumerate(self.coefficients[i].tolist()))[n:]):
            out = out * s + perm(k, n) * c
        wave = self.amplitude * sine(self.angular * t + self.phase + 0.5 * np.pi * n)
        for _ in range(n):
            wave = wave * self.angular
        return out + wave


def make_pieces(motion: DriveMotion) -> MotionPieces:
    """The coefficients of a checked motion."""
    if isinstance(motion, Polynomial):
        return MotionPieces(np.zeros(1), as_rows([motion.coefficients]))
    if isinstance(motion, Sine):
        rate = 2.0 * np.pi * motion.frequency
        offset = as_rows([[motion.offset]])
        return MotionPieces(np.zeros(1), offset, motion.amplitude, rate, motion.phase)
    if isinstance(motion, SmoothStep):
        return _step_pieces(motion)
    if is_traced(motion):
        raise UntracedError("splines through tables are not traced")
    spline = scipy.interpolate.CubicSpline(motion.times, motion.values)
    # SciPy gives coefficients with the highest power first
    return MotionPieces(
        spline.x[:-1], np.ascontiguousarray(spline.c[::-1].T), end=float(spline.x[-1])
    )


def moved_by(pieces: MotionPieces, offset: float) -> MotionPieces:
    """The motion plus a constant."""
    if not offset:
        return pieces
    coefficients = pieces.coefficients.copy()
    coefficients[:, 0] += offset
    return replace(pieces, coefficients=coefficients)


def _step_pieces(motion: SmoothStep) -> MotionPieces:
    rise, width = motion.last - motion.first, motion.end - motion.begin
    cube = width * width * width
    between = [
        10.0 * rise / cube,
        -15.0 * rise / (cube * width),
        6.0 * rise / (cube * width * width),
    ]
    still = [0.0] * 5
    rows = [[motion.first, *still], [motion.first, 0.0, 0.0, *between], [motion.last, *still]]
    # the first piece begins before any run
    [breaks] = as_rows([[min(0.0, motion.begin) - 1.0, motion.begin, motion.end]])
    return MotionPieces(breaks, as_rows(rows))


def as_rows(rows: Sequence[Sequence[Scalar]]) -> Floats:
    """An array of floats, or of traced numbers."""
    traced = any(isinstance(x, TracedNumber) for row in rows for x in row)
    return np.array([list(row) for row in rows], dtype=object if traced else float)


def is_traced(motion: DriveMotion) -> bool:
    """Whether it has traced numbers."""
    return any(
        isinstance(x, TracedNumber) for value in vars(motion).values() for x in np.ravel(value)
    )


def motion_data(motion: DriveMotion) -> dict[str, Any]:
    """A motion as plain data, as in its entry of a file."""
    if isinstance(motion, Polynomial):
        return {"polynomial": [float(c) for c in motion.coefficients]}
    if isinstance(motion, Sine):
        return {"sine": {name: float(value) for name, value in vars(motion).items()}}
    if isinstance(motion, SmoothStep):
        names = ("from", "to", "begin", "end")
        return {"step": dict(zip(names, map(float, vars(motion).values()), strict=True))}
    return {"table": {name: [float(x) for x in xs] for name, xs in vars(motion).items()}}


def read_motion(data: Any) -> DriveMotion:
    """The motion of plain data as `motion_data` writes it; numbers may be traced."""

    def numbers(values: Any) -> list[Any]:
        return [np.asarray(x).item() for x in values]

    if "polynomial" in data:
        return Polynomial(tuple(numbers(data["polynomial"])))
    if "sine" in data:
        names = ("amplitude", "frequency", "phase", "offset")
        return Sine(*numbers(data["sine"].get(name, 0.0) for name in names))
    if "step" in data:
        return SmoothStep(*numbers(data["step"][name] for name in ("from", "to", "begin", "end")))
    return Table(tuple(numbers(data["table"]["times"])), tuple(numbers(data["table"]["values"])))


def check_motion(motion: object, what: str) -> list[str]:
    """Problems of a motion, as sentences."""
    if not isinstance(motion, DriveMotion):
        return [f"{what}: {motion!r} is not a motion; give a Polynomial, Sine, SmoothStep or Table"]
    numbers = [x for value in vars(motion).values() for x in np.ravel(value)]
    try:
        plain = [x for x in numbers if not isinstance(x, TracedNumber)]
        finite = bool((np.abs(np.array(plain, dtype=float)) <= LARGEST_NUMBER).all())
        if is_traced(motion):
            finite = finite and all(is_usable(x) for x in numbers)
    except (TypeError, ValueError):
        return [f"{what}: {motion!r} has entries that are not numbers; give plain numbers"]
    if not finite:
        return [f"{what}: {motion!r} has an entry that {UNUSABLE}; give finite numbers"]
    if isinstance(motion, Polynomial) and not motion.coefficients:
        return [f"{what}: the polynomial has no coefficients; give at least one"]
    if isinstance(motion, SmoothStep) and not motion.end > motion.begin:
        return [
            f"{what}: the step ends at {motion.end:g} s, not after its begin, {motion.begin:g} s"
        ]
    if isinstance(motion, Table):
        n, m = len(motion.times), len(motion.values)
        if n != m:
            return [f"{what}: the table has {n} times but {m} values; give one value per time"]
        if n < 4:
            return [f"{what}: the table has {n} rows; a cubic spline needs at least 4"]
        if np.any(np.diff(motion.times) <= 0):
            return [f"{what}: the times of the table do not increase; sort them, each once"]
        if motion.times[0] > 0:
            return [f"{what}: the table begins at {motion.times[0]:g} s; a run begins at 0"]
    return []


def as_motion(motion: DriveMotion | float | int, what: str, turns: bool | None) -> DriveMotion:
    """A motion; a plain number is a constant, text with units is read as in model files.

    turns: whether it is the motion of an angle; None if the joint is unknown.
    """
    if isinstance(motion, bool):
        raise MechanismError(
            f"{what}: {motion!r} is not a motion; give a Polynomial, Sine or Table"
        )
    if isinstance(motion, int | float):
        return Polynomial((float(motion),))
    if turns is None or not isinstance(motion, DriveMotion):
        return motion
    return _in_si(motion, load_units(), turns, what) if _has_text(motion) else motion


def _has_text(motion: DriveMotion) -> bool:
    values = (getattr(motion, f.name) for f in fields(motion))
    return any(
        isinstance(x, str) for v in values for x in (v if isinstance(v, list | tuple) else (v,))
    )


def _in_si(motion: DriveMotion, units: Any, turns: bool, what: str) -> DriveMotion:
    """A motion with text converted to numbers in SI."""
    kind = units.ANGLE if turns else units.LENGTH

    def read(value: Any, kind: Any, word: str) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return units.in_si(value, kind)
        except units.UnitError as error:
            raise MechanismError(f"{what}, {word}: {error}") from None

    if isinstance(motion, Polynomial):
        given = enumerate(motion.coefficients)
        return Polynomial(
            tuple(read(c, units.rate_of(kind, k), f"coefficient {k}") for k, c in given)
        )
    if isinstance(motion, Table):
        times = tuple(read(t, units.TIME, "times") for t in motion.times)
        return Table(times, tuple(read(v, kind, "values") for v in motion.values))
    kinds = {
        "frequency": units.FREQUENCY,
        "phase": units.ANGLE,
        "begin": units.TIME,
        "end": units.TIME,
    }
    names = [f.name for f in fields(motion)]
    return replace(motion, **{n: read(getattr(motion, n), kinds.get(n, kind), n) for n in names})
