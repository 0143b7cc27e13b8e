"""Measured data as a table of times and values: two columns of a CSV file, smoothed if noise is given."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import scipy

from ..arrays import Floats
from ..names import describe_known
from .elements import MechanismError, load_units

# most rows of a drive; a spline through more is slow to evaluate and brings no benefit
MOST_ROWS = 100_000
_HEAD = re.compile(r"\s*(.*?)\s*(?:[\[(]\s*([^\])]+?)\s*[\])])?\s*")


def read_table(
    path: Path,
    time: str | int,
    value: str | int,
    noise: float | str,
    start: float | str | None = None,
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Times, shifted to begin at 0, and values, in SI; start: the first value, to which all are shifted."""
    heads, rows = _read(path)
    columns = [_column(path, heads, rows, which) for which in (time, value)]
    t, x = columns[0] - columns[0][:1], columns[1]
    if len(t) < 4:
        raise MechanismError(f"{path.name}: {len(t)} rows of numbers; a table needs four or more")
    if not (np.diff(t) > 0).all():
        row = int(np.argmin(np.diff(t) > 0)) + 2
        raise MechanismError(f"{path.name}: times do not increase at row {row} of the numbers")
    wanted = "give the standard deviation of the values, or 0"
    spread = _in_si("noise", noise, wanted)
    if not spread >= 0:
        raise MechanismError(f"noise {spread:g}; {wanted}")
    x = _smooth(t, x, spread) if spread else x
    if start is not None:
        x = x - x[0] + _in_si("start", start, "give the first value")
    return tuple(t.tolist()), tuple(x.tolist())


def _in_si(what: str, value: float | str, wanted: str) -> float:
    """A number in SI; text has the unit of an angle or a length."""
    units = load_units()
    try:
        given = units.parse_quantity(value) if isinstance(value, str) else None
        number = float(value) if given is None else float(given.value)
    except (TypeError, ValueError, units.UnitError) as error:
        raise MechanismError(f"{what} {value!r}: {error}; {wanted}") from None
    if given is not None and given.dimension not in (
        None, units.ANGLE.dimension, units.LENGTH.dimension,
    ):  # fmt: skip
        raise MechanismError(f"{what} {value!r} is not an angle or a length; {wanted}")
    return number


def _smooth(t: Floats, x: Floats, noise: float) -> Floats:
    """The smoothest cubic spline whose mean square distance from the values is noise^2, at the times."""
    return np.asarray(
        scipy.interpolate.splev(t, scipy.interpolate.splrep(t, x, s=len(t) * noise**2))
    )


def _read(path: Path) -> tuple[list[str], list[list[str]]]:
    """Names of the columns, if there are any, and the rows below."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            text = file.read(1 << 26)
    except (OSError, UnicodeDecodeError) as error:
        raise MechanismError(f"{path}: cannot be read: {error}; give a CSV file") from None
    first = text.split("\n", 1)[0]
    mark = max(",;\t", key=first.count)
    rows = [
        row for row in csv.reader(text.splitlines(), delimiter=mark) if any(map(str.strip, row))
    ]
    if not rows:
        raise MechanismError(f"{path.name} is empty")
    if len(rows) > MOST_ROWS:
        raise MechanismError(f"{path.name} has {len(rows)} rows; give at most {MOST_ROWS}")
    try:
        [float(cell) for cell in rows[0] if cell.strip()]
    except ValueError:
        return rows[0], rows[1:]
    return [], rows


def _column(path: Path, heads: list[str], rows: list[list[str]], which: str | int) -> Floats:
    """A column in SI, by its name or number."""
    units = load_units()
    found = [_HEAD.fullmatch(head) for head in heads]
    names = ["" if head is None else str(head[1]) for head in found]
    if isinstance(which, str):
        if which not in names:
            raise MechanismError(
                f"{path.name} has no column '{which}'; {describe_known(which, names)}"
            )
        number = names.index(which)
    else:
        number = which
    try:
        values = np.array([float(row[number]) for row in rows])
    except (ValueError, IndexError) as error:
        raise MechanismError(f"{path.name}, column {which!r}: {error}; give numbers") from None
    head = found[number] if heads else None
    if head is None or not head[2]:
        return values
    try:
        return np.asarray(values * units.parse_quantity(f"1 {head[2]}").value)
    except units.UnitError as error:
        raise MechanismError(f"{path.name}, column {which!r}: {error}") from None
