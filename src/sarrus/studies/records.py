"""The records of a run: built-in quantities, and functions of the user."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis import Design, design, unit_of_number
from ..arrays import Floats
from ..inspect import inspect
from ..mechanism import Mechanism, MechanismError
from ..mechanism.files import units
from ..quantities import Quantity, read_quantity
from ..quantity_units import unit_of_quantity
from ..result import Result
from ..runs.columns import LEVELS
from .study import StudyRecord

if TYPE_CHECKING:
    from ..verdict.inspection import Inspection


NUMBER, COUNT, TEXT, NUMBERS = "number", "count", "text", "numbers"
# Arguments that a record may take.
COORDINATE, JOINT, PLAY = "a quantity", "perhaps a joint", "a play"
EVENT = "perhaps an event"
DRIFT = "energy drift"
VALUE, DESIGN = "a quantity at another", "a quantity of sarrus.design"

# Messages in a table are truncated to this length.
MOST_CHARACTERS = 2000


class RecordError(ValueError):
    """Something cannot be recorded; the message says what."""


@dataclass
class RecordSource:
    """The source of records: the mechanism as written, and its result, None if there is none."""

    mechanism: Mechanism
    result: Result | None = None

    @cached_property
    def inspection(self) -> Inspection:
        """The verdict on the mechanism at its start."""
        return inspect(self.mechanism)

    @cached_property
    def design(self) -> Design:
        """The design quantities of the mechanism over a cycle of its drive."""
        return design(self.mechanism)

    @property
    def simulated(self) -> Result:
        """The result of the simulation."""
        if self.result is None:
            raise RecordError("there is no simulation")
        return self.result


@dataclass(frozen=True)
class RecordedQuantity:
    """A built-in record: type of its column, unit, and how it is read; argument: the argument it needs, if any.

    simulated: whether it needs a simulation.
    """

    kind: str
    unit: str
    read: Callable[[RecordSource, Any], Any]
    argument: str = ""
    simulated: bool = True


def extreme(t: Floats, x: Floats, rate: Floats) -> tuple[float, float]:
    """Return the minimum and maximum of a curve from values and rates, using the cubics between outputs."""
    h = np.diff(t)
    candidates = [x]
    # Only between outputs where the rate changes its sign.
    i = np.flatnonzero((rate[:-1] * rate[1:] < 0) & (h > 0))
    if len(i):
        h, rise = h[i], (x[i + 1] - x[i]) / h[i]
        # Rate of the cubic over s = 0..1: v0 + 2 b s + 3 c s^2.
        b = 3 * rise - 2 * rate[i] - rate[i + 1]
        c = rate[i] + rate[i + 1] - 2 * rise
        root = np.sqrt(np.maximum(b * b - 3 * c * rate[i], 0.0))
        # Of the two roots, the one between the outputs, without cancellation.
        q = -(b + np.where(b >= 0, root, -root))
        with np.errstate(divide="ignore", invalid="ignore"):
            for s in (rate[i] / q, q / (3 * c)):
                inside = np.isfinite(s) & (s > 0) & (s < 1)
                s = np.where(inside, s, 0.0)
                candidates.append(x[i] + h * s * (rate[i] + s * (b + s * c)))
    all_ = np.concatenate(candidates)
    return float(all_.min()), float(all_.max())


def read_curve(result: Result, what: str) -> Quantity:
    """Return any quantity (B0.x, motor torque, total energy) at the outputs."""
    # Runs in SIMD lanes provide only these.
    if what == DRIFT:
        return Quantity(what, "J", result.energy_balance)
    try:
        if is_coordinate(what):
            return Quantity(what, "", *_read_coordinate(result, what))
        return read_quantity(result, what)
    except (KeyError, ValueError) as error:
        raise RecordError(f"'{what}': {error.args[0]}") from None


def _read_coordinate(result: Result, what: str) -> tuple[Floats, Floats | None]:
    """Return values of a coordinate such as B0.x or B0.vy, and their rates if available."""
    name, axis = split_coordinate(what)
    levels, i = list(LEVELS), "xyz".index(axis[-1])
    order = [letter for letter, _ in LEVELS.values()].index(axis[:-1])
    found = [getattr(result, level)(name) for level in levels[order : order + 2]]
    if i >= found[0].shape[1]:
        raise ValueError(f"a planar mechanism has no {axis[-1]}; take x or y")
    return found[0][:, i], found[1][:, i] if len(found) > 1 else None


def is_coordinate(what: str) -> bool:
    """Return whether a quantity is a coordinate, velocity or acceleration of a point: B0.x, B0.vx."""
    name, _, axis = what.rpartition(".")
    return bool(name) and axis in AXES


def split_coordinate(what: str) -> tuple[str, str]:
    """Return name and axis of a coordinate: B0 and x for B0.x."""
    name, _, axis = what.rpartition(".")
    if not name or axis not in AXES:
        raise RecordError(
            f"'{what}' is not a coordinate; give the name of a joint, point or body with .x, .vx or .ax"
        )
    return name, axis


AXES = tuple(f"{letter}{axis}" for letter, _ in LEVELS.values() for axis in "xyz")


def _extremes(run: RecordSource, what: str) -> tuple[float, float] | None:
    """Return minimum and maximum; None if the quantity is unbounded at a crossing."""
    found = _curve(run, what)
    if found.unbounded:
        return None
    if found.rates is None:
        return float(found.values.min()), float(found.values.max())
    return extreme(run.simulated.times, found.values, found.rates)


def _minimum(run: RecordSource, what: str) -> float | None:
    found = _extremes(run, what)
    return None if found is None else found[0]


def _maximum(run: RecordSource, what: str) -> float | None:
    found = _extremes(run, what)
    return None if found is None else found[1]


def _span(run: RecordSource, what: str) -> float | None:
    found = _extremes(run, what)
    return None if found is None else found[1] - found[0]


def _curve(run: RecordSource, what: str) -> Quantity:
    found = read_curve(run.simulated, what)
    if not len(found.values):
        raise RecordError("the run has no output")
    return found


def _values(run: RecordSource, what: str) -> Floats:
    return _curve(run, what).values


def _final(run: RecordSource, what: str) -> float:
    return float(_values(run, what)[-1])


def _mean(run: RecordSource, what: str, power: int = 1) -> float | None:
    """Return the mean over time of a power of a quantity, by the trapezoidal rule; None if it is unbounded."""
    found, t = _curve(run, what), run.simulated.times
    if found.unbounded:
        return None
    values = found.values**power
    if len(t) < 2:
        return float(values[0])
    return float(np.trapezoid(values, t) / (t[-1] - t[0]))


def _rms(run: RecordSource, what: str) -> float | None:
    square = _mean(run, what, 2)
    return None if square is None else float(np.sqrt(square))


def split_value(text: str) -> tuple[str, str, float]:
    """Split "motor torque at crank angle = 90 deg": the quantity, the one it is read over, and its value in SI."""
    what, found, rest = text.partition(" at ")
    over, equals, value = rest.rpartition("=")
    if not (found and equals and what.strip() and over.strip()):
        raise RecordError(f"'{text}' is not understood; give it like motor torque at time = 0.5 s")
    try:
        number = units.parse_quantity(value.strip()).value
    except units.UnitError as error:
        raise RecordError(f"'{text}': {error}") from None
    return what.strip(), over.strip(), number


def _value(run: RecordSource, text: str) -> float:
    """Return a quantity where another one first reaches a value, interpolated linearly between outputs."""
    what, over, number = split_value(text)
    values, x = _values(run, what), _values(run, over)
    hit = np.flatnonzero((x[:-1] - number) * (x[1:] - number) <= 0)
    if not len(hit):
        raise RecordError(
            f"{over} does not reach {number:g}: it is between {x.min():g} and {x.max():g}"
        )
    i = int(hit[0])
    step = x[i + 1] - x[i]
    share = (number - x[i]) / step if step else 0.0
    return float(values[i] + share * (values[i + 1] - values[i]))


def _reaction_max(run: RecordSource, joint: Any) -> float | None:
    return _reactions(run, joint, "force")


def _moment_max(run: RecordSource, joint: Any) -> float | None:
    return _reactions(run, joint, "moment")


def _reactions(run: RecordSource, joint: Any, part: str) -> float | None:
    """Return the largest reaction of a joint on any body, None if unbounded; or of all joints with bounded ones.

    joint: "C", or "C on crank" for one of its bodies.
    """
    found = run.simulated.reactions
    joints = [j.name for j in run.mechanism.joints]
    largest = 0.0
    try:
        if joint is None:
            reactions = [r for name in joints for r in found.on_each(name)]
        else:
            name, body = split_joint(joint, joints)
            reactions = list(found.on_each(name)) if body is None else [found.of(name, body)]
    except KeyError as error:
        raise RecordError(str(error.args[0])) from None
    for reaction in reactions:
        if any(np.any(getattr(u, part)) for u in reaction.unbounded):
            if joint is not None:
                return None
            continue
        values = getattr(reaction, part)
        sizes = np.abs(values) if values.ndim == 1 else np.linalg.norm(values, axis=1)
        largest = max(largest, float(np.nanmax(sizes, initial=0.0)))
    return largest


def split_joint(what: str, joints: Collection[str]) -> tuple[str, str | None]:
    """Return joint and body of "C on crank"; for "C" the body is None. joints: the existing names."""
    for at in (i for i in range(len(what)) if what.startswith(" on ", i)):
        if what not in joints and what[:at] in joints:
            return what[:at], what[at + 4 :]
    return what, None


def _design(run: RecordSource, name: str) -> float | None:
    """Return a number of the design; None if a dead centre leaves it without a value."""
    try:
        found = run.design.number(name)
        return None if np.isnan(found) else found
    except (KeyError, MechanismError) as error:
        raise RecordError(str(error.args[0])) from None


def _event_times(run: RecordSource, name: str | None) -> list[float]:
    """Return the times of an event of the model [s], or of all events."""
    return [e.time for e in run.simulated.events if name in (None, e.name)]


def _misfit(run: RecordSource, _: Any) -> float | None:
    """Return the clearance that lets a locked linkage move [m]: 0 if it moves, None if nothing helps."""
    found = run.inspection
    if found.locked is None:
        return 0.0 if found.mobility_motion > 0 else None
    return found.locked.misfit


def _reach(run: RecordSource, play: float) -> float | None:
    """Return how far it moves before a joint has to open by more than `play` [rad, or lengths]."""
    found = run.inspection
    if found.locked is None:
        return None
    return found.locked.reach_within(play)


QUANTITIES: dict[str, RecordedQuantity] = {
    "energy_drift": RecordedQuantity(NUMBER, "J", lambda run, _: run.simulated.energy_drift),
    "violation": RecordedQuantity(
        NUMBER, "m", lambda run, _: float(run.simulated.violation().max(initial=0.0))
    ),
    "time_reached": RecordedQuantity(
        NUMBER,
        "s",
        lambda run, _: float(run.simulated.times[-1]) if len(run.simulated.times) else 0.0,
    ),
    "steps": RecordedQuantity(COUNT, "", lambda run, _: int(run.simulated.counters["steps"])),
    "cpu_seconds": RecordedQuantity(NUMBER, "s", lambda run, _: run.simulated.cpu_seconds),
    "crossings": RecordedQuantity(COUNT, "", lambda run, _: len(run.simulated.crossings)),
    "crossing_times": RecordedQuantity(
        NUMBERS, "s", lambda run, _: [float(c.time) for c in run.simulated.crossings]
    ),
    "event_times": RecordedQuantity(NUMBERS, "s", _event_times, EVENT),
    "maximum": RecordedQuantity(NUMBER, "", _maximum, COORDINATE),
    "minimum": RecordedQuantity(NUMBER, "", _minimum, COORDINATE),
    "span": RecordedQuantity(NUMBER, "", _span, COORDINATE),
    "final": RecordedQuantity(NUMBER, "", _final, COORDINATE),
    "mean": RecordedQuantity(NUMBER, "", _mean, COORDINATE),
    "rms": RecordedQuantity(NUMBER, "", _rms, COORDINATE),
    "value": RecordedQuantity(NUMBER, "", _value, VALUE),
    "reaction_max": RecordedQuantity(NUMBER, "N", _reaction_max, JOINT),
    "moment_max": RecordedQuantity(NUMBER, "N m", _moment_max, JOINT),
    "design": RecordedQuantity(NUMBER, "", _design, DESIGN, simulated=False),
    "mobility": RecordedQuantity(
        COUNT, "", lambda run, _: int(run.inspection.mobility_motion), simulated=False
    ),
    "redundant": RecordedQuantity(
        COUNT, "", lambda run, _: int(run.inspection.redundant_motion), simulated=False
    ),
    "verdict": RecordedQuantity(
        TEXT, "", lambda run, _: ", ".join(run.inspection.classes), simulated=False
    ),
    "misfit": RecordedQuantity(NUMBER, "m", _misfit, simulated=False),
    "reach": RecordedQuantity(NUMBER, "rad", _reach, PLAY, simulated=False),
}


def column_kinds(record: StudyRecord) -> list[tuple[str, str, str]]:
    """Return column, kind and unit of all values of a record."""
    if record.what == "function":
        return [(column, NUMBER, "") for column in record.columns]
    quantity = QUANTITIES[record.what]
    unit = quantity.unit
    if quantity.argument == COORDINATE:
        unit = unit_of_quantity(record.argument)
    if quantity.argument == VALUE:
        unit = unit_of_quantity(split_value(record.argument)[0])
    if quantity.argument == DESIGN:
        unit = unit_of_number(record.argument)
    return [(record.columns[0], quantity.kind, unit)]


def read_record(record: StudyRecord, run: RecordSource) -> dict[str, Any]:
    """Return the values of a record; raises RecordError, or whatever a function of the user raises."""
    if record.what != "function":
        return {record.columns[0]: _finite(QUANTITIES[record.what].read(run, record.argument))}
    given = load_function(record)(run.result, run.mechanism)
    if len(record.columns) == 1 and not isinstance(given, dict):
        given = {record.columns[0]: given}
    if not isinstance(given, dict):
        raise RecordError(
            f"it returned {_show(given)}; give a mapping with {', '.join(record.columns)}"
        )
    missing = [column for column in record.columns if column not in given]
    extra = [str(column) for column in given if column not in record.columns]
    if missing or extra:
        raise RecordError(
            f"it returned {', '.join(map(str, given)) or 'nothing'}; its columns are "
            f"{', '.join(record.columns)}"
        )
    return {column: _number(column, given[column]) for column in record.columns}


def read_text(error: BaseException) -> str:
    """Return the message of an exception as text that files can contain, even if reading it raises."""
    try:
        return str(error)[:MOST_CHARACTERS].encode("utf-8", "replace").decode()
    except BaseException as other:
        return f"(its text cannot be read: {type(other).__name__})"


def load_function(record: StudyRecord) -> Callable[..., Any]:
    """Return the function of a record, from its source if it came with a file."""
    if record.call is not None:
        return record.call
    if record not in _LOADED:
        file, _, name = str(record.argument).rpartition(":")
        space: dict[str, Any] = {"__name__": "sarrus_study_functions", "__file__": file}
        exec(compile(record.text, file, "exec"), space)
        if not callable(space.get(name)):
            raise RecordError(f"{file} has no function '{name}'")
        _LOADED[record] = space[name]
    return _LOADED[record]


# Functions of study files that this process has loaded.
_LOADED: dict[StudyRecord, Callable[..., Any]] = {}


def _number(column: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if not isinstance(value, bool | int | float | np.number | np.bool_):
        raise RecordError(f"column '{column}' is {_show(value)}; give a number")
    return _finite(float(value))


def _finite(value: Any) -> Any:
    """Replace values that are not finite by None, so that tables can be compared."""
    return None if isinstance(value, float) and not isfinite(value) else value


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
