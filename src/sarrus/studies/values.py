"""Values of a study file: units, ranges, distributions; what was written, and the parameter it makes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..mechanism import MechanismError
from ..mechanism.files import units
from ..mechanism.files.paths import nearest
from ..mechanism.files.units import UnitError, shorten
from . import schema
from .study import Number, Parameter

# more would not fit into memory
MOST_RUNS = 10_000_000


def make_parameter(
    column: str, entry: Any, known: list[Parameter], variables: dict[str, Any]
) -> Parameter:
    """The values of an entry; known: parameters before it, which it may use by name."""
    if isinstance(entry, schema.TiltEntry):
        raise MechanismError("a variable has no direction to tilt; give the tilt at a path")
    if isinstance(entry, list | schema.ListEntry):
        values = entry if isinstance(entry, list) else entry.values
        return Parameter(column, tuple(in_si(value) for value in values))
    if isinstance(entry, schema.RangeEntry):
        return Parameter(column, tuple(read_range(entry.range)))
    if isinstance(entry, schema.UniformEntry | schema.NormalEntry):
        word = "uniform" if isinstance(entry, schema.UniformEntry) else "normal"
        first, second = (_number(v, known) for v in getattr(entry, word))
        check_spread(word, first, second)
        return Parameter(column, distribution=word, numbers=(first, second))
    if isinstance(entry, str) and entry in [p.column for p in known]:
        return Parameter(column, same=entry)
    if isinstance(entry, str) and variables:
        raise MechanismError(
            f"{shorten(entry)} is no variable; {nearest(entry, list(variables))}. For one value "
            "give a list of one, or write it under set"
        )
    raise MechanismError("one value does not vary; give a list, or write it under set")


def _number(value: Any, known: list[Parameter]) -> Number:
    """A number, or the name of a column of numbers."""
    named = next((p for p in known if p.column == value), None)
    if named is None:
        return units.parse_for(value, units.NUMBER).value
    if not all(isinstance(x, float) for x in named.values or ()):
        raise MechanismError(f"variable '{value}' is no number, so nothing can be drawn with it")
    return named.column


def in_si(value: Any) -> Any:
    """A value of a study in SI: numbers with units as plain numbers, words as they are."""
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
    """Refuse bounds in the wrong order and negative deviations."""
    if isinstance(first, str) or isinstance(second, str):
        return
    if word == "uniform" and not first < second:
        raise MechanismError(f"uniform from {first:g} to {second:g}; give the lower bound first")
    if word == "normal" and not second >= 0:
        raise MechanismError(f"the standard deviation is {second:g}; give a positive one")


def read_range(r: schema.RangeNumbers) -> list[float]:
    """The values of a range, in SI."""
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
    """The numbers and values of an entry as they were written; of a variable, those that it has."""
    given: list[Any] = []
    if isinstance(entry, list):
        given = entry
    elif isinstance(entry, schema.ListEntry):
        given = entry.values
    elif isinstance(entry, schema.RangeEntry):
        r = entry.range
        given = [v for v in (r.first, r.last, r.step) if v is not None and v != 0]
    elif isinstance(entry, schema.UniformEntry):
        given = entry.uniform
    elif isinstance(entry, schema.NormalEntry):
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
    """The plain numbers among them."""
    for value in given_values(entry, {}):
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield value
