"""The numbers of a model file that a slider changes: path, unit and range of each, and what a value does.

Paths are those of studies: `bodies.crank.mass`, `bodies.crank.length`, `springs.main.stiffness`. Three kinds of
number have no slider: directions; places of joints on rods, which follow the rods' lengths (but where the ground
holds such a joint, its own place is a dimension: `joints.A0.at.0.1`); and times of tables, which stay
in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..mechanism import MechanismError, set_value
from ..mechanism.elements import GROUND
from ..mechanism.files.paths import join_path, split_path, unit_at
from ..studies.changes import apply_change, change_kind
from ..studies.study import Base, Change

Data = dict[str, Any]
Record = dict[str, Any]
Parts = tuple[str | int, ...]

# in the order of the page: what the group is called, and the blocks of a file that belong to it
GROUPS = {
    "dimensions": ("bodies", "joints", "points"),
    "masses": ("bodies", "rotors"),
    "springs": ("springs", "torsions"),
    "drives": ("drives", "couplings"),
    "forces": ("forces", "torques"),
    "start": ("velocities", "angular_velocities"),
    "gravity": ("gravity",),
}
INERT = ("mass", "inertia")
# keys of places
PLACES = ("center", "at", "start", "end")
DIRECTIONS = ("axis", "second_axis", "normal")
# numbers that must stay positive, or may be zero but not less
POSITIVE = ("mass", "length", "frequency")
NOT_NEGATIVE = ("inertia", "section", "stiffness", "damping", "free_length")


@dataclass(frozen=True)
class Parameter:
    """A number that a slider changes: its path, value, range, unit, and the group it is shown in."""

    path: str
    value: float
    low: float
    high: float
    unit: str
    group: str


def find_parameters(data: Data) -> list[Parameter]:
    """Every number of a mechanism's data (numbers in SI, as `to_data` gives) that can be changed alone."""
    size = measure_size(data)
    found = [_parameter(parts, value, data, size) for parts, value in _numbers(data)]
    order = list(GROUPS)
    # places stand behind what is tuned more often
    return sorted(
        found,
        key=lambda p: (order.index(p.group), p.group != "dimensions" and p.unit == "m"),
    )


def with_values(data: Data, values: Mapping[str, float]) -> Data:
    """A copy of the data with other values at paths; what a length moves apart is assembled."""
    base = Base("", {}, data, "")
    for path, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise MechanismError(f"{path}: {value!r} is not a finite number")
        parts = split_path(path)
        if _is_ground_place(data, parts):
            data = _apart(data, parts[1])
        change = Change(change_kind(base, path), path, (path,))
        data = apply_change(data, change, [float(value)])
    return data


def _numbers(data: Data) -> Iterator[tuple[Parts, float]]:
    """Paths and values, those of rods as lengths and those of ground pins apart from the others'."""
    for block in dict.fromkeys(block for blocks in GROUPS.values() for block in blocks):
        for parts, value in _leaves(data.get(block), (block,)):
            yield from _as_changed(data, parts, value)


def _as_changed(data: Data, parts: Parts, value: float) -> Iterator[tuple[Parts, float]]:
    block, key = parts[0], parts[2] if len(parts) > 2 else ""
    if any(part in DIRECTIONS for part in parts) or parts[2:4] == ("table", "times"):
        return
    if block == "bodies" and key == "rod":
        if parts[3:] == (0, 0):
            start, end = (np.array(place) for place in data[block][parts[1]]["rod"])
            yield (block, parts[1], "length"), float(np.linalg.norm(end - start))
    elif block == "joints" and key == "at" and _holds_rod(data, str(parts[1])):
        bodies = joint_bodies(data["joints"][parts[1]])
        if GROUND not in bodies:
            return
        ground = bodies.index(GROUND)
        if len(parts) == 4:
            yield (*parts[:3], ground, parts[3]), value
        elif parts[3] == ground:
            yield parts, value
    else:
        yield parts, value


def _leaves(value: Any, parts: Parts) -> Iterator[tuple[Parts, float]]:
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _leaves(item, (*parts, key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield parts, float(value)


def _parameter(parts: Parts, value: float, data: Data, size: float) -> Parameter:
    words = [part for part in parts if isinstance(part, str)]
    key = words[-1] if len(words) > 2 else words[0]
    unit = unit_at(data, parts)
    low, high = _range(key, unit, value, size)
    return Parameter(join_path(parts), value, low, high, unit, _group(parts, key))


def _group(parts: Parts, key: str) -> str:
    if parts[0] in ("bodies", "rotors"):
        return "masses" if key in INERT else "dimensions"
    return next(name for name, blocks in GROUPS.items() if parts[0] in blocks)


def _range(key: str, unit: str, value: float, size: float) -> tuple[float, float]:
    """From where to where a slider goes: around the value, places by the mechanism's size."""
    if key in POSITIVE and value > 0:
        return 0.1 * value, 3 * value
    if key in NOT_NEGATIVE and value >= 0:
        return 0.0, 3 * value if value > 0 else {"m": size}.get(unit, 10.0)
    if unit == "m" and key in PLACES:
        return value - size, value + size
    reach = 2 * abs(value) if value else {"m/s^2": 10.0, "rad": np.pi}.get(unit, 1.0)
    return value - reach, value + reach


def measure_size(data: Data) -> float:
    """Half of the space that the places of a mechanism take up [m]."""
    places = [
        place
        for name in ("bodies", "joints", "points", "springs")
        for entry in (data.get(name) or {}).values()
        for key in ("rod", *PLACES)
        for place in _places(entry.get(key))
    ]
    return float(0.5 * np.ptp(np.array(places), axis=0).max()) or 1.0 if places else 1.0


def _places(value: Any) -> list[list[float]]:
    if not isinstance(value, list) or not value:
        return []
    return [p for p in value if isinstance(p, list)] if isinstance(value[0], list) else [value]


def joint_bodies(joint: Data) -> list[str]:
    """The bodies of a joint: the one list of names that it has."""
    return next(v for v in joint.values() if isinstance(v, list) and v and isinstance(v[0], str))


def _holds_rod(data: Data, joint: str) -> bool:
    return any(
        "rod" in data["bodies"].get(name, {}) for name in joint_bodies(data["joints"][joint])
    )


def _is_ground_place(data: Data, parts: list[str]) -> bool:
    """Whether a path is the place of the ground in a joint that has one place for all as yet."""
    if len(parts) != 5 or parts[0] != "joints" or parts[2] != "at":
        return False
    at = (data.get("joints") or {}).get(parts[1], {}).get("at")
    return isinstance(at, list) and bool(at) and not isinstance(at[0], list)


def _apart(data: Data, joint: str) -> Data:
    """Data with a place a body in a joint: `assemble` brings them together again."""
    entry = data["joints"][joint]
    path = join_path(["joints", joint, "at"])
    return {**set_value(data, path, [entry["at"]] * len(joint_bodies(entry))), "assemble": True}
