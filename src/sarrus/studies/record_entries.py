"""The entries under `record` of a study file, and the records they ask for."""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path
from typing import Any

from ..mechanism import Mechanism
from ..mechanism.files import units
from ..mechanism.files.paths import nearest
from ..mechanism.files.units import shorten
from .records import (
    COORDINATE,
    JOINT,
    PLAY,
    QUANTITIES,
    RecordError,
    load_function,
    split_coordinate,
)
from .study import StudyRecord


def make_record(name: str | None, what: Any, simulated: bool, folder: Path) -> StudyRecord:
    """A record as it stands in a study; name: of its column, if it has one; folder: of files with functions."""
    argument = None
    if callable(what):
        what = {"function": what}
    if isinstance(what, dict):
        words = [word for word in what if word in QUANTITIES or word == "function"]
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
    if word not in QUANTITIES:
        raise RecordError(
            f"{shorten(word)} cannot be recorded; {nearest(str(word), list(QUANTITIES))}"
        )
    quantity = QUANTITIES[word]
    label = word if argument is None else f"{word} {argument}"
    if quantity.simulated and not simulated:
        raise RecordError(f"'{word}' needs a simulation, and this study says simulate: false")
    if quantity.argument == COORDINATE:
        if not isinstance(argument, str):
            raise RecordError(f"'{word}' needs a coordinate; give it like {{{word}: B0.x}}")
        if argument != "energy":
            split_coordinate(argument)
    elif quantity.argument == PLAY:
        if argument is None:
            raise RecordError(f"'{word}' needs a play; give it like {{{word}: 0.1 mm}}")
        argument = units.in_si(argument, units.LENGTH)
    elif argument is not None and (not quantity.argument or not isinstance(argument, str)):
        wants = f"give {quantity.argument}" if quantity.argument else "it takes nothing"
        raise RecordError(f"'{word}: {argument}' is not understood; {wants}")
    return StudyRecord((name or label,), word, argument)


def find_wrong_name(record: StudyRecord, mechanism: Mechanism) -> str:
    """What is wrong with the joint or point that a record names, in a sentence; else nothing."""
    argument = QUANTITIES[record.what].argument if record.what in QUANTITIES else ""
    if argument == JOINT and record.argument is not None:
        joints = [j.name for j in mechanism.joints]
        if record.argument not in joints:
            return f"there is no joint '{record.argument}'; {nearest(record.argument, joints)}"
    elif argument == COORDINATE and record.argument != "energy":
        name, axis = split_coordinate(record.argument)
        if why := find_wrong_point(name, mechanism):
            return why
        if axis[-1] == "z" and mechanism.dimension == 2:
            return f"'{record.argument}': a planar mechanism has no z"
    return ""


def find_wrong_point(name: str, mechanism: Mechanism) -> str:
    """A sentence if there is no joint, point or body of this name."""
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
    if callable(what):
        word = getattr(what, "__name__", "function")
        columns = tuple(given or [name or word])
        return StudyRecord(columns, "function", word, _source(what), what)
    if not isinstance(what, str) or ":" not in what:
        raise RecordError(
            f"{shorten(what)} is no function; give file and function, like records.py:peak"
        )
    file, _, word = what.rpartition(":")
    path = folder / file
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{file} cannot be read: {error}") from None
    record = StudyRecord(tuple(given or [name or word]), "function", what, text)
    try:
        load_function(record)
    except RecordError:
        raise
    except Exception as error:
        raise RecordError(f"{file} cannot be run: {type(error).__name__}: {error}") from None
    return record


def _source(function: Any) -> str:
    """The text of a function and the plain values it takes from around it, to notice a change."""
    try:
        text = inspect.getsource(function)
        around = inspect.getclosurevars(function)
    except (OSError, TypeError):
        import cloudpickle

        return hashlib.sha256(cloudpickle.dumps(function)).hexdigest()
    values = {**around.nonlocals, **around.globals}
    known = {k: v for k, v in sorted(values.items()) if isinstance(v, str | int | float | tuple)}
    return f"{text}\n{known}" if known else text
