"""The numbers of a model file that sliders change: path, unit and range of each, and how values are applied.

Paths are those of studies: `bodies.crank.mass`, `bodies.crank.length`, `bodies.knee.sides.B.C` for a planar link
that is not a rod, `springs.main.stiffness`. A location on a rod is one number, the distance along the rod:
`points.P.at.along`, `joints.C.at.1.along`. These numbers have no slider: directions; joints at ends of rods and on
other links, which follow their lengths (but the ground's location of such a joint is a dimension:
`joints.A0.at.0.1`); times of tables, which stay in order; and the initial value of a drive, which follows from the
initial configuration (`drive_starts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import problems
from ..mechanism import MechanismError, get_value, set_value
from ..mechanism.elements import GROUND
from ..mechanism.files.paths import ALONG, SIDES, join_path, split_path, unit_at
from ..studies.changes import apply_change, change_kind, rod_of_place
from ..studies.side_lengths import find_sides
from ..studies.study import Base, Change
from ..thresholds import DRIVE_START
from .labels import make_label

Data = dict[str, Any]
Record = dict[str, Any]
Parts = tuple[str | int, ...]

# In page order: the name of each group, and the blocks of a file that belong to it.
GROUPS = {
    "dimensions": ("bodies", "joints", "points"),
    "masses": ("bodies", "rotors"),
    "springs": ("springs", "torsions", "ball_dampers"),
    "drives": ("drives", "couplings"),
    "forces": ("forces", "torques"),
    "start": ("velocities", "angular_velocities"),
    "gravity": ("gravity",),
}
INERT = ("mass", "inertia")
# Keys of locations.
PLACES = ("center", "at", "start", "end")
DIRECTIONS = ("axis", "second_axis", "normal")
# Relative to a rod's length: a joint this close to an end counts as being at it.
AT_END = 1e-9
# Numbers that must stay positive; numbers that must not be negative.
POSITIVE = ("mass", "length", "frequency")
NOT_NEGATIVE = ("inertia", "section", "stiffness", "damping", "free_length")


@dataclass(frozen=True)
class Parameter:
    """A number that a slider changes: its path, value, range, unit, group on the page, and label."""

    path: str
    value: float
    low: float
    high: float
    unit: str
    group: str
    label: str = ""


def find_parameters(data: Data) -> list[Parameter]:
    """Return every number of a mechanism's data (in SI, as from `to_data`) that can be changed independently."""
    size = measure_size(data)
    found = [_parameter(parts, value, data, size) for parts, value in _numbers(data)]
    order = list(GROUPS)
    # Locations come after the numbers that are tuned more often.
    return sorted(
        found,
        key=lambda p: (order.index(p.group), p.group != "dimensions" and p.unit == "m"),
    )


@dataclass(frozen=True)
class OptionSlider(Parameter):
    """An option of a problem, which rebuilds the mechanism; whole: integers only; meaning: short description."""

    whole: bool = False
    meaning: str = ""


def find_options(problem: str, given: Mapping[str, float]) -> list[OptionSlider]:
    """Return the options of a problem; given: values that are already set."""
    found = []
    for option in problems.options(problem):
        value = given.get(option.name, option.default)
        low, high = _range(option.name, option.unit, value, 1.0)
        if option.whole:
            low, high = round(low), max(round(high), round(value) + 10)
        low, high = max(low, option.least), min(high, option.most)
        found.append(
            OptionSlider(
                option.name,
                value,
                low,
                high,
                option.unit,
                "problem",
                option.name,
                option.whole,
                option.meaning,
            )
        )
    return found


def fitting_values(data: Data, values: Mapping[str, float]) -> dict[str, float]:
    """Return those of the values whose paths exist in the data."""
    known = {parameter.path for parameter in find_parameters(data)}
    return {path: value for path, value in values.items() if path in known}


def with_values(data: Data, values: Mapping[str, float]) -> Data:
    """Return a copy of the data with new values at paths; reassembles the mechanism and resets drive starts."""
    base = Base("", {}, data, "")
    # A drive that did not start at the initial configuration is reported, not corrected.
    following = [path for path, begins in drive_starts(data).items() if _begins(data, path, begins)]
    for path, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise MechanismError(f"{path}: {value!r} is not a finite number")
        parts = split_path(path)
        if _is_ground_place(data, parts):
            data = _apart(data, parts[1])
        change = Change(change_kind(base, path), path, (path,))
        data = apply_change(data, change, [float(value)])
        if parts[2:3] == ["inertia"] and len(parts) == 5:
            # The matrix stays symmetric.
            data = set_value(data, join_path([*parts[:3], parts[4], parts[3]]), float(value))
    if values:
        starts = drive_starts(data)
        for path in following:
            if path in starts and not _begins(data, path, starts[path]):
                data = set_value(data, path, starts[path])
    return data


def drive_starts(data: Data) -> dict[str, float]:
    """Return, by path, the number of each drive that makes it start at the initial configuration.

    An angle or travel is measured from there, so it starts at zero; a length starts at that of its joint.
    """
    out = {}
    for name, drive in (data.get("drives") or {}).items():
        joint = (data.get("joints") or {}).get(drive.get("joint"), {})
        start = 0.0
        if "distance" in joint:
            start = float(np.linalg.norm(np.subtract(joint["end"], joint["start"])))
        where: Parts = ()
        if "polynomial" in drive:
            where = ("polynomial", 0)
        elif "sine" in drive:
            sine = drive["sine"]
            where = ("sine", "offset")
            start -= sine["amplitude"] * float(np.sin(sine.get("phase", 0.0)))
        elif "step" in drive and drive["step"]["begin"] >= 0.0:
            where = ("step", "from")
        elif "table" in drive and drive["table"]["times"][0] == 0.0:
            where = ("table", "values", 0)
        if where:
            out[join_path(("drives", name, *where))] = start
    return out


def _begins(data: Data, path: str, start: float) -> bool:
    """Return whether a drive starts at this number, within the tolerance of its check."""
    *above, key = split_path(path)
    parent = get_value(data, join_path(above))
    # An omitted offset is zero.
    given = parent[int(key)] if isinstance(parent, list) else parent.get(key, 0.0)
    return bool(abs(given - start) <= DRIVE_START * max(1.0, abs(start)))


def _numbers(data: Data) -> Iterator[tuple[Parts, float]]:
    """Yield paths and values; rods give lengths, and ground pins are separate from the other bodies' locations."""
    follow = drive_starts(data)
    for block in dict.fromkeys(block for blocks in GROUPS.values() for block in blocks):
        for parts, value in _leaves(data.get(block), (block,)):
            if join_path(parts) not in follow:
                yield from _as_changed(data, parts, value)


def _as_changed(data: Data, parts: Parts, value: float) -> Iterator[tuple[Parts, float]]:
    block, key = str(parts[0]), str(parts[2]) if len(parts) > 2 else ""
    if any(part in DIRECTIONS for part in parts) or parts[2:4] == ("table", "times"):
        return
    if key == "inertia" and len(parts) == 5 and parts[3] > parts[4]:  # type: ignore[operator]
        # Below the diagonal, the numbers equal those above it.
        return
    if block == "bodies" and key == "rod":
        if parts[3:] == (0, 0):
            start, end = (np.array(place) for place in data[block][parts[1]]["rod"])
            yield (block, parts[1], "length"), float(np.linalg.norm(end - start))
    elif block == "bodies" and key == "mass" and "rod" not in data[block][parts[1]]:
        yield parts, value
        for pair, side in find_sides(data, str(parts[1])).items():
            yield (block, parts[1], SIDES, *pair), side
    elif block == "bodies" and key == "plate":
        # The sides and joints of this body have sliders.
        return
    elif block == "joints" and key == "at" and _follows_sides(data, str(parts[1])):
        yield from _of_ground_place(data, parts, value)
    elif block == "joints" and key == "at" and _holds_rod(data, str(parts[1])):
        yield from _of_joint_on_rod(data, parts, value)
    elif block == "points" and _has_corner(data, data[block][parts[1]]["body"], str(parts[1])):
        return
    elif key in PLACES and (rod := _rod_of(data, block, str(parts[1]), key)):
        if parts[3:] == (0,):
            yield (*parts[:3], ALONG), _along(data[block][parts[1]][key], rod)
    else:
        yield parts, value


def _has_corner(data: Data, body: str, name: str) -> bool:
    """Return whether the sides of a body that is not a rod define the location of a joint or point on it."""
    if "rod" in (data.get("bodies") or {}).get(body, {"rod": ()}):
        return False
    return any(name in pair for pair in find_sides(data, body))


def _of_ground_place(data: Data, parts: Parts, value: float) -> Iterator[tuple[Parts, float]]:
    """Yield each coordinate of the ground's location in a joint."""
    bodies = joint_bodies(data["joints"][parts[1]])
    if GROUND in bodies and not (len(parts) > 4 and parts[3] != bodies.index(GROUND)):
        yield (*parts[:3], bodies.index(GROUND), parts[-1]), value


def _of_joint_on_rod(data: Data, parts: Parts, value: float) -> Iterator[tuple[Parts, float]]:
    """Yield the ground's coordinates, and the distance along a rod if the joint is not at one of its ends."""
    entry = data["joints"][parts[1]]
    bodies = joint_bodies(entry)
    several = len(parts) > 4
    yield from _of_ground_place(data, parts, value)
    if parts[-1] != 0:
        return
    places = entry["at"] if several else [entry["at"]] * len(bodies)
    for k in [parts[3]] if several else range(len(bodies)):
        rod = data["bodies"].get(bodies[int(k)], {}).get("rod")
        if rod and not any(
            np.allclose(places[int(k)], end, 0.0, AT_END * _long(rod)) for end in rod
        ):
            yield (*parts[:3], k, ALONG), _along(places[int(k)], rod)


def _rod_of(data: Data, block: str, name: str, key: str) -> list[list[float]] | None:
    """Return the ends of the rod on which a location of a point, spring, force or link lies."""
    entry = data[block][name]
    two = key in ("start", "end")
    body = joint_bodies(entry)[key == "end"] if two else entry.get("body", "")
    found: list[list[float]] | None = (data.get("bodies") or {}).get(body, {}).get("rod")
    return found if found and _long(found) > 0 else None


def _long(rod: list[list[float]]) -> float:
    return float(np.linalg.norm(np.subtract(rod[1], rod[0])))


def _along(place: list[float], rod: list[list[float]]) -> float:
    """Return the distance of a location from the first end of a rod, along it [m]."""
    along = np.subtract(rod[1], rod[0])
    return float(np.clip(np.subtract(place, rod[0]) @ along / _long(rod), 0.0, _long(rod)))


def _leaves(value: Any, parts: Parts) -> Iterator[tuple[Parts, float]]:
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _leaves(item, (*parts, key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield parts, float(value)


def _parameter(parts: Parts, value: float, data: Data, size: float) -> Parameter:
    words = [part for part in parts if isinstance(part, str)]
    key = SIDES if SIDES in words[2:3] else words[-1] if len(words) > 2 else words[0]
    unit = unit_at(data, parts)
    if parts[-1] == ALONG:
        low, high = 0.0, rod_of_place(data, join_path(parts))[2]
    else:
        low, high = _range(key, unit, value, size)
    return Parameter(
        join_path(parts), value, low, high, unit, _group(parts, key), make_label(data, parts)
    )


def _group(parts: Parts, key: str) -> str:
    if parts[0] in ("bodies", "rotors"):
        return "masses" if key in INERT else "dimensions"
    return next(name for name, blocks in GROUPS.items() if parts[0] in blocks)


def _range(key: str, unit: str, value: float, size: float) -> tuple[float, float]:
    """Return the range of a slider around the value; for locations it depends on the mechanism's size."""
    if (key in POSITIVE or key == SIDES) and value > 0:
        return 0.1 * value, 3 * value
    if key in NOT_NEGATIVE and value >= 0:
        return 0.0, 3 * value if value > 0 else {"m": size}.get(unit, 10.0)
    if unit == "m" and key in PLACES:
        return value - size, value + size
    reach = 2 * abs(value) if value else {"m/s^2": 10.0, "rad": np.pi}.get(unit, 1.0)
    return value - reach, value + reach


def measure_size(data: Data) -> float:
    """Return half the extent of the mechanism's locations [m]."""
    places = [
        place
        for name in ("bodies", "joints", "points", "springs")
        for entry in (data.get(name) or {}).values()
        for key in ("rod", "plate", *PLACES)
        for place in _places(entry.get(key))
    ]
    return float(0.5 * np.ptp(np.array(places), axis=0).max()) or 1.0 if places else 1.0


def _places(value: Any) -> list[list[float]]:
    if not isinstance(value, list) or not value:
        return []
    return [p for p in value if isinstance(p, list)] if isinstance(value[0], list) else [value]


def joint_bodies(joint: Data) -> list[str]:
    """Return the bodies of a joint: its only list of names."""
    return next(v for v in joint.values() if isinstance(v, list) and v and isinstance(v[0], str))


def _holds_rod(data: Data, joint: str) -> bool:
    return any(
        "rod" in data["bodies"].get(name, {}) for name in joint_bodies(data["joints"][joint])
    )


def _follows_sides(data: Data, joint: str) -> bool:
    """Return whether the sides of all bodies of a joint, none of them a rod, define its location."""
    bodies = [name for name in joint_bodies(data["joints"][joint]) if name != GROUND]
    return not _holds_rod(data, joint) and all(_has_corner(data, body, joint) for body in bodies)


def _is_ground_place(data: Data, parts: list[str]) -> bool:
    """Return whether a path is the ground's location in a joint that still has one location for all bodies."""
    if len(parts) != 5 or parts[0] != "joints" or parts[2] != "at":
        return False
    at = (data.get("joints") or {}).get(parts[1], {}).get("at")
    return isinstance(at, list) and bool(at) and not isinstance(at[0], list)


def _apart(data: Data, joint: str) -> Data:
    """Return data in which a joint has one location per body; `assemble` brings them together again."""
    entry = data["joints"][joint]
    path = join_path(["joints", joint, "at"])
    return {**set_value(data, path, [entry["at"]] * len(joint_bodies(entry))), "assemble": True}
