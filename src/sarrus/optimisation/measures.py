"""What is minimised or bounded: numbers of a run, with their derivatives by the variables.

A measure is written in the same words in Python and in files: {"rms": "motor torque"},
{"value": "C.x", "at": 0.5}, {"distance": "P", "to": [[0.1, 0.2], [0.3, 0.2]]}. Its components c_k are numbers of
the run; the measure is one of

    c_1,   max c_k,   min c_k,   (sum c_k^2)^(1/2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..arrays import Floats
from ..mechanism import MechanismError
from ..mechanism.event_requests import Event, when
from ..names import describe_known

if TYPE_CHECKING:
    from .design_run import DesignRun

# the words of a measure, and what each of them reads
WORDS = {
    "value": "a quantity at one time (at) or at an event (when)",
    "final": "a quantity at the end of the run",
    "maximum": "the largest value of a quantity at the outputs",
    "minimum": "the smallest value of a quantity at the outputs",
    "largest": "the largest magnitude of a quantity at the outputs",
    "mean": "the mean of a quantity over the run",
    "rms": "the root mean square of a quantity over the run",
    "difference": "the root mean square of a quantity minus the function or the values (to)",
    "distance": "the root mean square distance of a point from given points (to)",
    "time": "the time of an event, as in {quantity: crank angle, equals: 1.0}",
}
# further keys of each word
KEYS = {
    "value": {"at", "when"},
    "difference": {"to", "at"},
    "distance": {"to", "at"},
}
EVENT_KEYS = {"quantity", "equals", "rising", "falling", "count"}


class ComponentReduction(Enum):
    """How components become one number."""

    SINGLE = "single"
    MAXIMUM = "maximum"
    MINIMUM = "minimum"
    ROOT = "root"


REDUCTIONS = {
    "maximum": ComponentReduction.MAXIMUM,
    "minimum": ComponentReduction.MINIMUM,
    "largest": ComponentReduction.MAXIMUM,
    "rms": ComponentReduction.ROOT,
    "difference": ComponentReduction.ROOT,
    "distance": ComponentReduction.ROOT,
}


class MeasuredRun(Protocol):
    """What measures read: a run, or one of the runs of an ensemble."""

    @property
    def grid(self) -> Floats:
        """Times of the outputs."""

    def read(self, quantity: str, times: Floats) -> Floats:
        """A quantity at some times, (n,)."""

    def read_point(self, point: str, times: Floats) -> Floats:
        """Positions of a point at some times, (n, dimension)."""

    def nearest(self, point: str, targets: Floats) -> Floats:
        """Times at which a point is nearest to targets."""

    def event_time(self, event: Event) -> float:
        """Time of an event; raises NotReachedError if it does not occur."""


class NotReachedError(MechanismError):
    """A run does not have a measure: it ended early, or an event did not occur."""


@dataclass(frozen=True, eq=False)
class Measure:
    """A number of a run.

    word, of: what is read of which quantity or point; times: where [s], None for the outputs; to: values, points
    or a function of time; event: at which it is read, or whose time it is; weight: its factor in a sum.
    """

    word: str
    of: str
    times: Floats | None = None
    to: Any = None
    event: Event | None = None
    weight: float = 1.0
    text: str = field(default="", repr=False)

    @property
    def reduction(self) -> ComponentReduction:
        """How its components become one number."""
        return REDUCTIONS.get(self.word, ComponentReduction.SINGLE)

    def moments(self, run: MeasuredRun) -> Floats:
        """Times at which it reads a run, if they are not all outputs."""
        if self.event is not None:
            return np.array([run.event_time(self.event)])
        if self.word == "distance" and self.times is None:
            return run.nearest(self.of, self.to)
        return np.zeros(0) if self.times is None else self.times

    def components(self, run: MeasuredRun) -> Floats:
        """The numbers of a run of which it is made, (m,)."""
        times = self._times(run)
        if self.word == "time":
            return times
        if self.word == "distance":
            off = run.read_point(self.of, times) - self.to
            return np.asarray(off.ravel() / np.sqrt(len(times)))
        values = run.read(self.of, times)
        if self.word == "difference":
            values = values - self._wanted(times)
        return self._weighted(values, times)

    def component_slopes(self, run: DesignRun) -> Floats:
        """Derivatives of the components by the variables, (m, p)."""
        times = self._times(run)
        if self.word == "distance":
            # the nearest points move along the path only: their times count as fixed
            rates = run.point_slopes(self.of, times)
            return np.asarray(rates.reshape(-1, rates.shape[-1]) / np.sqrt(len(times)))
        if self.event is not None:
            shift = run.event_slopes(self.event)
            if self.word == "time":
                return shift[None, :]
            along = run.rate(self.of, times[0]) * shift
            return np.asarray(run.slopes(self.of, times) + along)
        return self._weighted(run.slopes(self.of, times), times)

    def reduce(self, components: Floats) -> float:
        """The number that components make."""
        if self.reduction is ComponentReduction.ROOT:
            return float(np.sqrt(components @ components))
        if self.reduction is ComponentReduction.MINIMUM:
            return float(components.min())
        return float(components.max())

    def gradient(self, components: Floats, slopes: Floats) -> Floats:
        """Its derivatives by the variables, (p,); of several equal extremes those of the first."""
        if self.reduction is ComponentReduction.ROOT:
            size = self.reduce(components)
            return (
                np.asarray(components @ slopes / size) if size > 0.0 else np.zeros_like(slopes[0])
            )
        if self.reduction is ComponentReduction.MINIMUM:
            return np.asarray(slopes[int(np.argmin(components))])
        return np.asarray(slopes[int(np.argmax(components))])

    def _times(self, run: MeasuredRun) -> Floats:
        if self.word == "final":
            return run.grid[-1:]
        found = self.moments(run)
        return found if len(found) else run.grid

    def _wanted(self, times: Floats) -> Floats:
        if not callable(self.to):
            return np.asarray(self.to)
        found = np.asarray(self.to(times), dtype=float)
        if found.shape not in ((), times.shape) or not np.isfinite(found).all():
            raise MechanismError(
                f"the function of {self.text} returned {found.shape} numbers for {len(times)} times; return one "
                "finite number for each"
            )
        return found

    def _weighted(self, values: Floats, times: Floats) -> Floats:
        """Components of values, or their derivatives of the derivatives of the values."""
        if self.word == "largest":
            return np.concatenate([values, -values])
        if self.word not in ("mean", "rms", "difference"):
            return values
        shares = np.full(len(times), 1.0 / len(times))
        if self.times is None:
            # the trapezoidal rule, exact to rounding for smooth quantities over a cycle
            shares = np.gradient(times) / (times[-1] - times[0])
            shares[[0, -1]] *= 0.5
        if self.word == "mean":
            return np.asarray(shares @ values)[None]
        return np.asarray(np.sqrt(shares.reshape(-1, *[1] * (values.ndim - 1))) * values)


def read_measure(given: Any, what: str) -> Measure:
    """A measure of its words; what: where it is written, for messages."""
    if isinstance(given, Measure):
        return given
    if not isinstance(given, Mapping):
        raise ValueError(
            f"{what} = {given!r} is not a measure; give one like {{'rms': 'motor torque'}}"
        )
    words = [key for key in given if key in WORDS]
    if len(words) != 1:
        wrong = next((key for key in given if key not in ("weight", "to", "at")), "")
        near = describe_known(str(wrong), WORDS)
        raise ValueError(f"{what} has {len(words)} of the words of a measure; give one: {near}")
    word, of = words[0], given[words[0]]
    allowed = KEYS.get(word, set()) | {word, "weight"}
    for key in given:
        if key not in allowed:
            near = describe_known(str(key), sorted(allowed - {word}))
            raise ValueError(f"{what}: '{key}' does not belong to '{word}'; {near}")
    if word != "time" and (not isinstance(of, str) or not of):
        raise ValueError(f"{what}: {word} = {of!r}; give the name of a quantity or a point")
    weight = read_number(given.get("weight", 1.0), f"{what}, weight")
    times = _times(given["at"], what) if given.get("at") is not None else None
    text = f"{word} of {of}"
    event, to = None, None
    if word == "time":
        event = _event(of, what)
        text, of = f"time of {event.name}", event.of
    elif word == "value":
        if (times is None) == ("when" not in given):
            raise ValueError(f"{what}: value needs a time, at: 0.5, or an event, when: {{...}}")
        if times is None:
            event = _event(given["when"], what)
            text = f"{of} at {event.name}"
        elif len(times) != 1:
            raise ValueError(f"{what}: a value is at one time; give at: 0.5")
        else:
            text = f"{of} at {times[0]:g} s"
    elif word in ("difference", "distance"):
        to = _targets(given.get("to"), word, times, what)
        text = f"{word} of {of} from the given {'points' if word == 'distance' else 'values'}"
    return Measure(word, of, times, to, event, weight, text)


def _event(given: Any, what: str) -> Event:
    if isinstance(given, Event):
        if given.reading != "quantity" or not isinstance(given.of, str) or given.equals is None:
            raise ValueError(f"{what}: give an event sarrus.when('crank angle', equals=1.0)")
        return given
    if not isinstance(given, Mapping) or not {"quantity", "equals"} <= set(given) <= EVENT_KEYS:
        raise ValueError(
            f"{what}: {given!r} is not an event; give {{'quantity': 'crank angle', 'equals': 1.0}}, with rising, "
            "falling or count if needed"
        )
    return when(**given)


def _targets(given: Any, word: str, times: Floats | None, what: str) -> Any:
    if given is None:
        raise ValueError(f"{what}: '{word}' needs the key 'to'")
    if word == "difference" and callable(given):
        return given
    try:
        to = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        to = np.full((), np.nan)
    if not np.isfinite(to).all():
        raise ValueError(f"{what}: to = {given!r} does not hold finite numbers")
    if word == "difference":
        if to.ndim and (times is None or to.shape != times.shape):
            raise ValueError(f"{what}: give as many times (at) as values (to); here are {to.size}")
        return to
    if to.ndim != 2 or to.shape[1] not in (2, 3):
        raise ValueError(
            f"{what}: to = {given!r}; give a list of points like [[0.1, 0.2], [0.3, 0.2]]"
        )
    if times is not None and len(times) != len(to):
        raise ValueError(f"{what}: {len(to)} points and {len(times)} times; give a time for each")
    return to


def _times(given: Any, what: str) -> Floats:
    times = np.atleast_1d(np.array([read_number(x, f"{what}, at") for x in np.atleast_1d(given)]))
    if not len(times) or (times < 0.0).any() or (np.diff(times) <= 0.0).any():
        raise ValueError(f"{what}: at = {given!r}; give increasing times from 0 on [s]")
    return times


def read_number(given: Any, what: str) -> float:
    """A finite number; raises ValueError for anything else; what: where it is written."""
    try:
        number = float(given)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(given, bool) or not np.isfinite(number):
        raise ValueError(f"{what} = {given!r} is not a finite number")
    return number
