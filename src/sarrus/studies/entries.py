"""The entries of a study file and what they mean: values with units, ranges, distributions, and records."""

from __future__ import annotations

import hashlib
import inspect
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from ..analysis import list_numbers
from ..assembly import AssemblyError, assemble
from ..disk import read_file
from ..lazy import module_on_use
from ..mechanism import Mechanism, MechanismError
from ..mechanism.files import units
from ..mechanism.files.paths import nearest
from ..mechanism.files.units import UnitError, shorten
from ..model import make_model
from ..quantities import find_quantity, pin_angles, split_quantity
from ..quantity_units import FRAME, GLOBAL, UNITS, unit_of_quantity
from ..readout import QuantityNames
from ..user_methods import MOST_BYTES
from . import study_schema
from .records import (
    COORDINATE,
    DESIGN,
    EVENT,
    JOINT,
    PLAY,
    QUANTITIES,
    VALUE,
    RecordError,
    is_coordinate,
    load_function,
    read_text,
    split_coordinate,
    split_joint,
    split_value,
)
from .study import Number, StudyParameter, StudyRecord

cloudpickle = module_on_use("cloudpickle")

# More runs would not fit into memory.
MOST_RUNS = 10_000_000

# words with which a quantity can end
WORDS = (*UNITS, *GLOBAL, *FRAME)


def make_parameter(
    column: str, entry: Any, known: list[StudyParameter], variables: dict[str, Any]
) -> StudyParameter:
    """Return the parameter of an entry; known: parameters before it, which it may use by name."""
    if isinstance(entry, study_schema.TiltEntry):
        raise MechanismError("a variable has no direction to tilt; give the tilt at a path")
    if isinstance(entry, list | study_schema.ListEntry):
        values = entry if isinstance(entry, list) else entry.values
        return StudyParameter(column, tuple(in_si(value) for value in values))
    if isinstance(entry, study_schema.RangeEntry):
        return StudyParameter(column, tuple(read_range(entry.range)))
    if isinstance(entry, study_schema.UniformEntry | study_schema.NormalEntry):
        word = "uniform" if isinstance(entry, study_schema.UniformEntry) else "normal"
        first, second = (_number(v, known) for v in getattr(entry, word))
        check_spread(word, first, second)
        return StudyParameter(column, distribution=word, numbers=(first, second))
    if isinstance(entry, str) and entry in [p.column for p in known]:
        return StudyParameter(column, same=entry)
    if isinstance(entry, str) and variables:
        raise MechanismError(
            f"{shorten(entry)} is not a variable; {nearest(entry, list(variables))}. For one value "
            "give a list of one, or write it under set"
        )
    raise MechanismError("one value does not vary; give a list, or write it under set")


def _number(value: Any, known: list[StudyParameter]) -> Number:
    """Return a number, or the name of a column of numbers."""
    named = next((p for p in known if p.column == value), None)
    if named is None:
        return units.parse_for(value, units.NUMBER).value
    if not all(isinstance(x, float) for x in named.values or ()):
        raise MechanismError(f"variable '{value}' is not a number, so nothing can be drawn with it")
    return named.column


def in_si(value: Any) -> Any:
    """Convert a value of a study to SI: numbers with units become plain numbers, words are unchanged."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [in_si(entry) for entry in value]
    if isinstance(value, dict | bool) or value is None:
        raise MechanismError(f"{shorten(value)} cannot vary; give numbers, vectors or words")
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            return [q.value for q in units.parse_vector(value, units.NUMBER)]
        try:
            return units.parse_quantity(value).value
        except UnitError:
            return value
    return units.parse_quantity(value).value


def check_spread(word: str, first: Number, second: Number) -> None:
    """Reject bounds in the wrong order and negative deviations."""
    if isinstance(first, str) or isinstance(second, str):
        return
    if word == "uniform" and not first < second:
        raise MechanismError(f"uniform from {first:g} to {second:g}; give the lower bound first")
    if word == "normal" and not second >= 0:
        raise MechanismError(f"the standard deviation is {second:g}; give a positive one")


def read_range(r: study_schema.RangeNumbers) -> list[float]:
    """Return the values of a range, in SI."""
    first, last = (units.parse_for(v, units.NUMBER).value for v in (r.first, r.last))
    if (r.count is None) == (r.step is None):
        raise MechanismError("a range needs a count or a step; give one of the two")
    if r.count is None:
        step = units.parse_for(r.step, units.NUMBER).value
        if r.spacing == "log":
            raise MechanismError("a range of equal factors needs a count, not a step")
        if step == 0 or (last - first) / step < 0:
            raise MechanismError(f"a step of {step:g} does not lead from {first:g} to {last:g}")
        count = math.floor((last - first) / step * (1 + 1e-12) + 1e-9) + 1
        if count > MOST_RUNS:
            raise MechanismError(f"the range has {count} values; give a longer step")
        return [first + i * step for i in range(count)]
    if not 1 <= r.count <= MOST_RUNS:
        raise MechanismError(f"a range of {r.count} values; give a count from 1 on")
    if r.spacing == "log":
        if not first * last > 0:
            raise MechanismError(
                f"no equal factors lead from {first:g} to {last:g}; both must be positive"
            )
        return [float(x) for x in np.geomspace(first, last, r.count)]
    return [float(x) for x in np.linspace(first, last, r.count)]


def given_values(entry: Any, variables: dict[str, Any]) -> Iterator[Any]:
    """Yield the numbers and values of an entry as written; for a variable, its values."""
    given: list[Any] = []
    if isinstance(entry, list):
        given = entry
    elif isinstance(entry, study_schema.ListEntry):
        given = entry.values
    elif isinstance(entry, study_schema.RangeEntry):
        r = entry.range
        given = [v for v in (r.first, r.last, r.step) if v is not None and v != 0]
    elif isinstance(entry, study_schema.UniformEntry):
        given = entry.uniform
    elif isinstance(entry, study_schema.NormalEntry):
        given = entry.normal
    elif isinstance(entry, str):
        given = [entry]
    for value in given:
        if isinstance(value, str) and value in variables and variables[value] is not entry:
            rest = {name: other for name, other in variables.items() if name != value}
            yield from given_values(variables[value], rest)
        else:
            yield value


def given_numbers(entry: Any) -> Iterator[float]:
    """Yield the plain numbers among the values of an entry."""
    for value in given_values(entry, {}):
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield value


def make_record(name: str | None, what: Any, simulated: bool, folder: Path) -> StudyRecord:
    """Return a record of a study; name: its column's name, if it has one; folder: folder of function files."""
    argument = None
    if callable(what):
        what = {"function": what}
    if isinstance(what, dict):
        words = [word for word in what if word in QUANTITIES or word == "function"]
        if len(what) == 1 and not words:
            [given] = what
            raise RecordError(
                f"{shorten(given)} cannot be recorded; {nearest(str(given), list(QUANTITIES))}"
            )
        if len(words) != 1 or (words[0] != "function" and len(what) > 1):
            raise RecordError(
                f"give one quantity, like {{maximum: B0.x}}; known: {', '.join(QUANTITIES)}"
            )
        word = words[0]
        if word == "function":
            return _make_function(name, what, folder)
        argument = what[word]
    else:
        word = what
    if isinstance(word, str) and word not in QUANTITIES and unit_of_quantity(word):
        raise RecordError(
            f"{shorten(word)} is a quantity over time; give one value of it, such as {{maximum: {word}}} or "
            f"{{rms: {word}}}"
        )
    if not isinstance(word, str) or word not in QUANTITIES:
        raise RecordError(
            f"{shorten(word)} cannot be recorded; {nearest(str(word), list(QUANTITIES))}"
        )
    quantity = QUANTITIES[word]
    label = word if argument is None else f"{word} {argument}"
    if quantity.simulated and not simulated:
        raise RecordError(f"'{word}' needs a simulation, and this study says simulate: false")
    if quantity.argument == COORDINATE:
        if not isinstance(argument, str):
            raise RecordError(f"'{word}' needs a quantity; give it like {{{word}: B0.x}}")
        # Name in files of earlier versions.
        argument = "energy drift" if argument == "energy" else argument
        _check_words(argument)
    elif quantity.argument == VALUE:
        if not isinstance(argument, str):
            raise RecordError(
                f"'{word}' needs a quantity and where; give it like {{{word}: motor torque at time = 0.5 s}}"
            )
        for what in split_value(argument)[:2]:
            _check_words(what)
    elif quantity.argument == DESIGN:
        if not isinstance(argument, str):
            raise RecordError(
                f"'{word}' needs a quantity of sarrus.design; give it like {{{word}: peak torque}}"
            )
    elif quantity.argument == PLAY:
        if argument is None:
            raise RecordError(f"'{word}' needs a play; give it like {{{word}: 0.1 mm}}")
        argument = units.in_si(argument, units.LENGTH)
    elif argument is not None and (not quantity.argument or not isinstance(argument, str)):
        wants = f"give {quantity.argument}" if quantity.argument else "it takes nothing"
        raise RecordError(f"'{word}: {argument}' is not understood; {wants}")
    return StudyRecord((name or label,), word, argument)


def name_quantities(mechanism: Mechanism) -> QuantityNames | None:
    """Return the quantities that runs of a mechanism have; None if its loops cannot be closed as it is."""
    for build in (lambda: mechanism, lambda: assemble(mechanism).mechanism):
        with suppress(MechanismError, AssemblyError):
            built = build()
            built.check()
            return QuantityNames(make_model(built))
    return None


def find_wrong_name(
    record: StudyRecord, mechanism: Mechanism, names: QuantityNames | None = None
) -> str:
    """Return a sentence if a record names an unknown joint, point or quantity; otherwise an empty string.

    names: the quantities of the mechanism's runs; without them only the names of parts and the words are checked.
    """
    argument = QUANTITIES[record.what].argument if record.what in QUANTITIES else ""
    if argument == JOINT and record.argument is not None:
        joints = {j.name: j.bodies for j in mechanism.joints}
        name, body = split_joint(record.argument, joints)
        if name not in joints:
            return f"there is no joint '{name}'; {nearest(name, list(joints))}"
        if body is not None and body not in joints[name]:
            return f"joint '{name}' has no body '{body}'; {nearest(body, list(joints[name]))}"
    elif argument == EVENT and record.argument is not None:
        events = [event.name for event in mechanism.events]
        if record.argument not in events:
            return f"the model has no event '{record.argument}'; {nearest(record.argument, events)}"
    elif argument in (COORDINATE, VALUE):
        given = record.argument
        for what in [given] if argument == COORDINATE else split_value(given)[:2]:
            if why := _find_wrong_quantity(what, mechanism, names):
                return why
    elif argument == DESIGN:
        try:
            numbers = list_numbers(mechanism)
        except MechanismError as error:
            return str(error)
        if record.argument not in numbers:
            return f"'{record.argument}' is not a number of the design; {nearest(record.argument, numbers)}"
    return ""


def _similar(what: str) -> str:
    """A question after the nearest quantity, "did you mean 'motor torque'?", or nothing."""
    pieces = [*re.finditer(r"[. ]", what)]
    found: list[tuple[float, str]] = []
    for cut in [0, *(piece.end() for piece in pieces)]:
        for word in get_close_matches(what[cut:], WORDS, n=1, cutoff=0.6):
            found.append((SequenceMatcher(None, what[cut:], word).ratio(), what[:cut] + word))
    return f"did you mean '{max(found)[1]}'?" if found else ""


def _check_words(what: str) -> None:
    """Reject quantities that no part of any mechanism has."""
    if not unit_of_quantity(what):
        advice = _similar(what) or (
            "give the name of a joint, point or body with .x, .vx or .ax, or one like motor torque, C.F, "
            "rocker.angular velocity, total energy"
        )
        raise RecordError(f"'{what}' is not a quantity; {advice}")


def _find_wrong_quantity(what: str, mechanism: Mechanism, names: QuantityNames | None) -> str:
    """Return a sentence if a quantity names an unknown part, or one without it; otherwise an empty string."""
    if is_coordinate(what):
        name, axis = split_coordinate(what)
        if why := find_wrong_point(name, mechanism):
            return why
        if axis[-1] == "z" and mechanism.dimension == 2:
            return f"'{what}': a planar mechanism has no z"
        return ""
    owners = {part.name for part in (*mechanism.structure(), *mechanism.loads())}
    owners |= {f"{j.name} on {b}" for j in mechanism.joints for b in j.bodies}
    owners |= {*pin_angles(mechanism)}
    try:
        if names is None:
            split_quantity(what, owners)
        else:
            find_quantity(names, what)
    except KeyError as error:
        return str(error.args[0])
    return ""


def find_wrong_point(name: str, mechanism: Mechanism) -> str:
    """Return a sentence if there is no joint, point or body of this name."""
    points = [joint.name for joint in mechanism.joints]
    points += [point.name for point in mechanism.markers]
    points += [body.name for body in mechanism.bodies]
    if name in points:
        return ""
    return f"there is no joint, point or body '{name}'; {nearest(name, points)}"


def _make_function(name: str | None, entry: dict[str, Any], folder: Path) -> StudyRecord:
    unknown = [key for key in entry if key not in ("function", "columns")]
    if unknown:
        raise RecordError(f"unknown key '{unknown[0]}'; a function has function and columns")
    what, given = entry["function"], entry.get("columns")
    if given is not None and (
        not isinstance(given, list) or not given or not all(isinstance(c, str) for c in given)
    ):
        raise RecordError("columns: give a list of names")
    if given is not None and len(set(given)) < len(given):
        raise RecordError("columns: a name stands there twice")
    if callable(what):
        word = getattr(what, "__name__", "function")
        columns = tuple(given or [name or word])
        return StudyRecord(columns, "function", word, _source(what), what)
    if not isinstance(what, str) or ":" not in what:
        raise RecordError(
            f"{shorten(what)} is not a function; give file and function, like records.py:peak"
        )
    file, _, word = what.rpartition(":")
    path = folder / file
    try:
        text = read_file(path, MOST_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{file} cannot be read: {error}") from None
    record = StudyRecord(tuple(given or [name or word]), "function", what, text)
    try:
        load_function(record)
    except (RecordError, KeyboardInterrupt):
        raise
    except BaseException as error:
        # A file may exit the program, or raise an exception without text.
        raise RecordError(
            f"{file} cannot be run: {type(error).__name__}: {read_text(error)}"
        ) from None
    return record


def _source(function: Any) -> str:
    """Return the source of a function and the plain values of its closure, to detect changes."""
    try:
        text = inspect.getsource(function)
        around = inspect.getclosurevars(function)
    except (OSError, TypeError):
        return hashlib.sha256(cloudpickle.dumps(function)).hexdigest()
    values = {**around.nonlocals, **around.globals}
    known = {k: v for k, v in sorted(values.items()) if isinstance(v, str | int | float | tuple)}
    return f"{text}\n{known}" if known else text
