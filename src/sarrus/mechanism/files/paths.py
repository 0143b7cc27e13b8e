"""Values of a mechanism's plain data by path, such as `bodies.crank.mass` or `joints.B0.axis.0`."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from ...names import find_meant
from ..elements import MechanismError
from .units import shorten

# a part between dots; names with dots stand in quotes
_PART = re.compile(r"\"([^\"]*)\"|'([^']*)'|([^.\"']+)")

# of numbers by the last word of their path
# the end of a path that is not a key: how far a place is along its rod, from the rod's first end
ALONG = "along"
# the part of a path between a body and the two joints or points of one of its sides
SIDES = "sides"
_UNITS = {
    "mass": "kg",
    "inertia": "kg m^2",
    "length": "m",
    "section": "m",
    "center": "m",
    "at": "m",
    "start": "m",
    "end": "m",
    "free_length": "m",
    "preload": "N",
    "free_angle": "rad",
    "torque": "N m",
    "frequency": "Hz",
    "phase": "rad",
    "begin": "s",
    "gravity": "m/s^2",
    "velocities": "m/s",
    "angular_velocities": "rad/s",
}


def split_path(path: str) -> list[str]:
    """The parts of a path; a name with dots stands in quotes: bodies."arm 1.5".mass."""
    return list(_split(path))


@lru_cache(1024)
def _split(path: str) -> tuple[str, ...]:
    parts: list[str] = []
    place = 0
    while True:
        found = _PART.match(path, place)
        if not found:
            raise MechanismError(
                f"path {shorten(path)} cannot be read; write it like bodies.crank.mass, names with "
                'dots in quotes: bodies."arm 1.5".mass'
            )
        parts.append(next(group for group in found.groups() if group is not None))
        place = found.end()
        if place == len(path):
            return tuple(parts)
        if path[place] != ".":
            raise MechanismError(
                f"path {shorten(path)} cannot be read after {shorten(path[:place])}; put dots "
                "between its parts"
            )
        place += 1


def join_path(parts: Sequence[str | int]) -> str:
    """The path of these parts, as `split_path` reads it."""
    return ".".join(_quoted(str(part)) for part in parts)


def get_value(data: dict[str, Any], path: str) -> Any:
    """The value at a path of plain data."""
    place, last = _parent(data, path)
    return place[_key(place, last, path)]


def set_value(data: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of plain data with another value at a path; the rest is shared with the original.

    The last part may be new in a mapping (an optional key); `from_data` says if it is unknown.
    """
    parts = split_path(path)
    # only the way to the value is copied: a sweep sets thousands
    new = place = copy.copy(data)
    for i, part in enumerate(parts[:-1]):
        key = _key(place, part, path)
        _container(place[key], parts[: i + 1], path)
        place[key] = copy.copy(place[key])
        place = place[key]
    last: Any = parts[-1]
    if isinstance(place, list):
        last = _key(place, last, path)
    # arrays and numbers of NumPy as plain ones
    place[last] = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    return new


def find_overlap(paths: Iterable[str]) -> tuple[str, str] | None:
    """Two of these paths of which one sets what the other sets too; None if all are apart."""
    parts = sorted((split_path(path), path) for path in paths)
    for (a, path), (b, other) in pairwise(parts):
        if a == b[: len(a)]:
            return path, other
    return None


def nearest(word: str, known: list[str]) -> str:
    """The known word that is probably meant, else all of them."""
    if meant := find_meant(word, known):
        return f"did you mean '{meant}'?"
    shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
    return f"known: {shown}" if known else "there is none"


def unit_at(data: dict[str, Any], parts: Sequence[str | int]) -> str:
    """The SI unit of the number at a path of a mechanism's data; empty if it has none or nobody knows."""
    words = [part for part in parts if isinstance(part, str) and not part.isdigit()]
    block, key = words[0], words[-1] if len(words) > 2 else words[0]
    if len(words) > 2 and (words[-1] == ALONG or words[2] == SIDES):
        return "m"
    if block == "drives":
        return _drive_unit(data, [str(part) for part in parts], key)
    if key == "vector":
        return "N" if block == "forces" else "N m"
    if key in ("stiffness", "damping"):
        units = ("N/m", "N s/m") if block == "springs" else ("N m/rad", "N m s/rad")
        return units[key == "damping"]
    return _UNITS.get(key, "")


def _drive_unit(data: dict[str, Any], parts: list[str], key: str) -> str:
    """Angles or lengths, as the joint has them, over powers of time."""
    if key in ("begin", "frequency", "phase") or parts[2:4] == ["step", "end"]:
        return "s" if key == "end" else _UNITS[key]
    drive = (data.get("drives") or {}).get(parts[1], {})
    joint = (data.get("joints") or {}).get(drive.get("joint"), {})
    unit = "rad" if "revolute" in joint else "m"
    power = int(parts[3]) if key == "polynomial" else 0
    return unit if power == 0 else f"{unit}/s" if power == 1 else f"{unit}/s^{power}"


def _parent(data: dict[str, Any], path: str) -> tuple[Any, str]:
    parts = split_path(path)
    place: Any = data
    for i, part in enumerate(parts[:-1]):
        place = place[_key(place, part, path)]
        _container(place, parts[: i + 1], path)
    return place, parts[-1]


def _container(value: Any, parts: list[str], path: str) -> None:
    if not isinstance(value, dict | list):
        raise MechanismError(
            f"path {shorten(path)}: {join_path(list(parts))} is {shorten(value)}, nothing is below it"
        )


def _key(place: Any, part: str, path: str) -> Any:
    if isinstance(place, list):
        if not re.fullmatch("[0-9]{1,9}", part) or int(part) >= len(place):
            raise MechanismError(
                f"path {shorten(path)}: {shorten(part)} is not an entry of a list of {len(place)}; "
                "count from 0"
            )
        return int(part)
    if part not in place:
        raise MechanismError(
            f"path {shorten(path)}: there is no {shorten(part)}; {nearest(part, list(map(str, place)))}"
        )
    return part


def _quoted(part: str) -> str:
    if part and not re.search("[.\"']", part):
        return part
    return f"'{part}'" if '"' in part else f'"{part}"'
