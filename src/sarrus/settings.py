"""Settings of a run: the arguments of `simulate`, checked, with defaults. Times are in seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arrays import Floats
from .names import short
from .thresholds import LARGEST_NUMBER

DEFAULT_TOLERANCE = 1e-10
# default limit of the steps of a run
MOST_STEPS = 10_000_000
DEFAULT_METHOD = "auto"
# more outputs would not fit into memory
MOST_OUTPUTS = 10_000_000
AT_CROSSING = CONTINUE, STOP, BRANCHES = "continue", "stop", "branches"


@dataclass(frozen=True, eq=False)
class RunSettings:
    """The settings of a run.

    Attributes
    ----------
    duration : float
        Simulated time [s].
    outputs : ndarray
        Output times [s].
    method, options
        The requested method and its options.
    tolerance, step : float or None
        Relative tolerance or fixed step [s], whichever controls the method; the other is None.
    max_steps : int
        Largest number of steps.
    at_crossing : str
        What to do at a crossing.
    misfit : float or None
        Largest change of the dimensions of a locked linkage [m]; None for the default.
    assemble : bool
        Whether to close the joints first.
    dense : bool
        Whether to keep the polynomials.
    estimate_error : bool
        Whether to estimate the global error by a second run.
    """

    duration: float
    outputs: Floats = field(repr=False)
    method: str
    tolerance: float | None
    step: float | None
    options: dict[str, float]
    max_steps: int
    at_crossing: str
    misfit: float | None
    assemble: bool
    dense: bool
    estimate_error: bool = False

    @property
    def setting(self) -> float:
        """The tolerance or step [s] that controls the method, once the method is chosen."""
        setting = self.step if self.tolerance is None else self.tolerance
        assert setting is not None
        return setting


def output_times(duration: float, step: float) -> Floats:
    """0, step, 2 step, ... up to the duration, which is reached exactly if it is a multiple."""
    count = math.floor(duration / step * (1 + 1e-12) + 1e-9)
    times: Floats = np.arange(count + 1.0)
    if abs(count * step - duration) <= 1e-9 * step:
        # k * (duration / count) has less rounding than k * step for steps like 0.01
        return times * duration / count
    return times * step


def check_outputs(
    duration: float, every: float | None, given: Sequence[float] | Floats | None
) -> tuple[Floats, float]:
    """Output times and the time between them; with given times, the latter is the default."""
    if given is None:
        step = duration / 1000 if every is None else check_within("output_step", every, duration)
        if duration / step > MOST_OUTPUTS:
            raise ValueError(
                f"output_step = {step:g} s gives {duration / step:.3g} outputs; "
                f"give a longer one, at most {MOST_OUTPUTS} outputs are kept"
            )
        return output_times(duration, step), step
    if every is not None:
        raise ValueError("output_step and outputs both say when to record; give one of them")
    return check_times("outputs", given, duration, "the duration is"), duration / 1000


def check_seconds(name: str, value: float) -> float:
    """A positive number of seconds as a float; raises ValueError otherwise."""
    seconds = _float(name, value, "a positive number of seconds")
    if not (np.isfinite(seconds) and seconds > 0):
        raise ValueError(f"{name} = {seconds:g} s; give a positive number of seconds")
    # quotients of two such numbers are finite, so steps and outputs can be counted
    if not 1 / LARGEST_NUMBER <= seconds <= LARGEST_NUMBER:
        raise ValueError(
            f"{name} = {seconds:g} s; give a number of seconds from {1 / LARGEST_NUMBER:g} to {LARGEST_NUMBER:g}"
        )
    return seconds


def check_within(name: str, value: float, duration: float) -> float:
    """A positive number of seconds, at most the duration, as a float; raises ValueError otherwise."""
    seconds = check_seconds(name, value)
    if seconds > duration:
        raise ValueError(f"{name} = {seconds:g} s is longer than the duration, {duration:g} s")
    return seconds


def check_metres(name: str, value: float) -> float:
    """A non-negative number of metres as a float; raises ValueError otherwise."""
    number = _float(name, value, "a number of metres")
    if not (np.isfinite(number) and number >= 0):
        raise ValueError(f"{name} = {number:g} m; give a number of metres, 0 for none")
    return number


def _with_unit(name: str, text: str, wanted: str) -> float:
    """A number with its unit, as in model files: "5 ms"; text without a unit is not a number."""
    from .mechanism.files import units

    kind = units.LENGTH if wanted.endswith("metres") else units.TIME
    try:
        given = units.parse_for(text, kind)
        if given.dimension is not None:
            return units.as_kind(given, kind)
    except units.UnitError as error:
        # text without a digit is not meant as a number with a unit
        if any(c.isdigit() for c in text):
            raise ValueError(f"{name} = {text!r}: {error}") from error
    raise ValueError(f"{name} = {text!r}; give {wanted}, or text with a unit, like {kind.example}")


def _float(name: str, value: float, wanted: str) -> float:
    if isinstance(value, str):
        return _with_unit(name, value, wanted)
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} = {value!r}; give {wanted}") from error
    except OverflowError as error:
        # an integer beyond the range of floats
        raise ValueError(f"{name} = {short(value)}; give {wanted}") from error


def check_tolerance(value: float) -> float:
    """A tolerance that methods can reach; raises ValueError otherwise."""
    number = _float("tolerance", value, "a number from 1e-15 to 0.1")
    if not 1e-15 <= number <= 0.1:
        raise ValueError(f"tolerance = {number:g}; give a number from 1e-15 to 0.1")
    return number


def check_max_steps(value: float) -> int:
    """The step limit as an integer; raises ValueError otherwise."""
    steps = _float("max_steps", value, "at least 1")
    if not steps >= 1:
        raise ValueError(f"max_steps = {steps:g}; give at least 1")
    return int(min(steps, 2**62))


def default_settings(
    duration: float,
    output_step: float | None = None,
    outputs: Sequence[float] | Floats | None = None,
    tolerance: float | None = None,
    max_steps: float = MOST_STEPS,
) -> RunSettings:
    """Checked settings of a batch of runs, with the default method and defaults for all other settings."""
    duration = check_seconds("duration", duration)
    return RunSettings(
        duration=duration,
        outputs=check_outputs(duration, output_step, outputs)[0],
        method=DEFAULT_METHOD,
        tolerance=DEFAULT_TOLERANCE if tolerance is None else check_tolerance(tolerance),
        step=None,
        options={},
        max_steps=check_max_steps(max_steps),
        at_crossing=CONTINUE,
        misfit=None,
        assemble=False,
        dense=False,
    )


def check_at_crossing(word: str) -> str:
    """One of the three choices; raises ValueError otherwise."""
    if word not in AT_CROSSING:
        raise ValueError(f"at_crossing = {word!r}; give '{CONTINUE}', '{STOP}' or '{BRANCHES}'")
    return word


def read_times(what: str, times: Any) -> Floats:
    """Times [s] as an array, from numbers or text with units; raises ValueError otherwise."""
    wanted = "times in seconds"
    if isinstance(times, str):
        times = [times]
    if isinstance(times, list | tuple) and any(isinstance(t, str) for t in times):
        times = [_float(what, t, wanted) for t in times]
    try:
        return np.array(times, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} = {times!r}; give {wanted}") from error


def check_times(what: str, times: Any, end: float, why: str) -> Floats:
    """Increasing times from 0 to an end [s] as an array; raises ValueError otherwise; why: what the end is."""
    out = read_times(what, times)
    if out.ndim != 1 or not len(out):
        raise ValueError(f"{what} has the shape {out.shape}; give a list of times in seconds")
    if not np.isfinite(out).all():
        raise ValueError(
            f"{what} contains {out[~np.isfinite(out)][0]}; give finite times in seconds"
        )
    back = np.flatnonzero(np.diff(out) <= 0)
    if len(back):
        i = int(back[0])
        raise ValueError(
            f"{what}: {out[i]:.9g} s is followed by {out[i + 1]:.9g} s; give increasing times"
        )
    for t in (out[0], out[-1]):
        if not 0.0 <= t <= end:
            raise ValueError(f"{what} = {t:.9g} s: it begins at 0, and {why} {end:.9g} s")
    return out
