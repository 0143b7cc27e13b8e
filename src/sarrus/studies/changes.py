"""Applies a value at a path to the data of a model file, an option of a problem, or a setting."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from pydantic import ValidationError

from .. import problems
from ..mechanism import Mechanism, from_data, get_value, set_value, to_data
from ..mechanism.elements import MechanismError
from ..mechanism.files import units
from ..mechanism.files.paths import ALONG, SIDES, join_path, nearest, split_path, unit_at
from . import study_schema
from .carried import joint_bodies, joint_places, move_carried, read_place
from .side_lengths import set_side
from .study import Base, Change, ChangeKind
from .study_schema import SETTINGS, translate_slip

Floats = list[float]


def build_mechanism(
    base: Base, changes: tuple[Change, ...], values: dict[str, Any]
) -> tuple[Mechanism, dict[str, Any]]:
    """Build the mechanism of one run and the settings that its values define; it is not checked here."""
    options, settings = dict(base.options), {}
    edits = []
    for change in changes:
        given = [values[column] for column in change.columns]
        if change.kind is ChangeKind.OPTION:
            options[change.path] = given[0]
        elif change.kind is ChangeKind.SETTING:
            settings[split_path(change.path)[1]] = given[0]
        else:
            edits.append((change, given))
    data = base.data
    if data is None:
        mechanism = problems.get(base.problem, **options).mechanism()
        if not edits:
            return mechanism, settings
        data = to_data(mechanism)
    for change, given in edits:
        data = apply_change(data, change, given)
    return from_data(data, base.source, check=False), settings


def change_kind(base: Base, path: str) -> ChangeKind:
    """Return what a path of a study refers to; raises MechanismError for an unknown name."""
    parts = split_path(path)
    if len(parts) == 1 and base.problem:
        known = [option.name for option in problems.options(base.problem)]
        if parts[0] not in known:
            raise MechanismError(
                f"problem '{base.problem}' has no option '{parts[0]}'; {nearest(parts[0], known)}"
            )
        return ChangeKind.OPTION
    if parts[0] == "simulate" and len(parts) == 2:
        if parts[1] not in SETTINGS:
            raise MechanismError(
                f"there is no setting '{parts[1]}'; {nearest(parts[1], list(SETTINGS))}"
            )
        return ChangeKind.SETTING
    if len(parts) == 3 and parts[0] == "bodies" and parts[2] == "length":
        return ChangeKind.LENGTH
    if len(parts) > 2 and parts[0] == "bodies" and parts[2] == SIDES:
        return ChangeKind.SIDE
    if len(parts) > 3 and parts[-1] == ALONG:
        return ChangeKind.ALONG
    return ChangeKind.PATH


def parameter_units(base: Base, changes: tuple[Change, ...]) -> dict[str, str]:
    """Return the SI units of the parameter columns that have one."""
    found: dict[str, str] = {}
    for change in changes:
        parts = split_path(change.path)
        if change.kind is ChangeKind.OPTION:
            options = {option.name: option.unit for option in problems.options(base.problem)}
            unit = options.get(change.path, "")
        elif change.kind is ChangeKind.SETTING:
            unit = _SETTING_UNITS.get(parts[1], "")
        else:
            unit = "rad" if change.kind is ChangeKind.TILT else unit_at(base.data or {}, parts)
        found |= dict.fromkeys(change.columns, unit)
    return {column: unit for column, unit in found.items() if unit}


_SETTING_UNITS = {"duration": "s", "output_step": "s", "step": "s", "misfit": "m"}


def check_value(data: dict[str, Any], change: Change, value: Any, spread: bool = False) -> None:
    """Check that a value with its unit fits its path; spread: the single value may be out of bounds."""
    if change.kind is ChangeKind.OPTION:
        units.in_si(value, units.NUMBER)
    elif change.kind is ChangeKind.SETTING:
        key = split_path(change.path)[1]
        try:
            study_schema.SettingsEntry.model_validate({key: value})
        except ValidationError as error:
            raise MechanismError(translate_slip(error.errors()[0], {})[1]) from None
    elif change.kind is ChangeKind.ALONG:
        place, length = units.in_si(value, units.LENGTH), rod_of_place(data, change.path)[2]
        apply_change(data, change, [min(max(place, 0.0), length) if spread else place])
    elif change.kind is ChangeKind.SIDE:
        side = units.in_si(value, units.LENGTH)
        if not spread:
            apply_change(data, change, [side])
    elif change.kind is ChangeKind.LENGTH:
        length = units.in_si(value, units.LENGTH)
        apply_change(data, change, [length if length > 0 or not spread else 1.0])
    else:
        parts = split_path(change.path)
        path = change.path
        if parts[-1].isdigit():
            # Units are defined for whole vectors.
            path = join_path(list(parts[:-1]))
            vector = read_vector(data, path)
            get_value(data, change.path)
            value = [value] * len(vector)
        from_data(set_value(data, path, value), "", check=False)


def apply_change(data: dict[str, Any], change: Change, given: list[Any]) -> dict[str, Any]:
    """Return a copy of a mechanism's data with one change."""
    if change.kind is ChangeKind.LENGTH:
        return set_length(data, split_path(change.path)[1], given[0])
    if change.kind is ChangeKind.SIDE:
        return set_side(data, change.path, given[0])
    if change.kind is ChangeKind.ALONG:
        return set_along(data, change.path, given[0])
    if change.kind is ChangeKind.TILT:
        vector = read_vector(data, change.path)
        turned = tilt(vector, given[0], given[1] if len(given) > 1 else 0.0, change.about)
        return set_value(data, change.path, turned)
    return set_value(_with_plain_parent(data, change.path), change.path, given[0])


def read_vector(data: dict[str, Any], path: str) -> Floats:
    """Return the vector at a path, in SI."""
    value = get_value(data, path)
    if isinstance(value, list) and value and isinstance(value[0], list):
        raise MechanismError(
            f"path '{path}' holds a vector for each of {len(value)} bodies; choose one, like {path}.0"
        )
    try:
        return [quantity.value for quantity in units.parse_vector(value, units.NUMBER)]
    except units.UnitError as error:
        raise MechanismError(f"path '{path}': {error}") from None


def tilt(vector: Floats, angle: float, toward: float, about: tuple[float, ...] | None) -> Floats:
    """Rotate a direction by an angle [rad].

    In space the axis is `about`, or a direction perpendicular to the vector that `toward` [rad] selects; in the
    plane the rotation is anticlockwise.
    """
    d = np.array(vector)
    c, s = np.cos(angle), np.sin(angle)
    if len(d) == 2:
        return [float(c * d[0] - s * d[1]), float(s * d[0] + c * d[1])]
    if about is None:
        # `toward` is measured from the world axis that is most nearly perpendicular to d.
        first = np.cross(d, np.eye(3)[int(np.argmin(np.abs(d)))])
        first /= np.linalg.norm(first)
        second = np.cross(d, first) / np.linalg.norm(d)
        k = np.cos(toward) * first + np.sin(toward) * second
    else:
        k = np.array(about) / np.linalg.norm(about)
    # Rodrigues' rotation formula.
    turned = c * d + s * np.cross(k, d) + (1 - c) * (k @ d) * k
    return [float(x) for x in turned]


def set_length(data: dict[str, Any], body: str, length: float) -> dict[str, Any]:
    """Return data with another length of a rod: it grows from its first end, and everything on it moves along.

    Locations on the rod are stretched along it: its end, its joints, named points, ends of its springs, points of
    application of forces. Other bodies stay; joints that are now open have one location per body, and `assemble`
    closes them. The mass does not change.
    """
    if not length > 0:
        raise MechanismError(
            f"rod '{body}' would have the length {length:g} m; give a positive one"
        )
    entry = (data.get("bodies") or {}).get(body)
    if not isinstance(entry, dict) or "rod" not in entry:
        raise MechanismError(
            f"body '{body}' is not a rod, so it has no length; change its places instead"
        )
    new = copy.deepcopy(data)
    start, end = (np.array(read_place(p)) for p in entry["rod"])
    along = end - start
    before = float(np.linalg.norm(along))
    if not before > 0:
        raise MechanismError(f"rod '{body}' has no direction, because its ends are one place")
    unit = along / before
    factor = length / before
    if abs(factor - 1.0) < 1e-15:
        return data

    def moved(place: Any) -> Floats:
        p = np.array(read_place(place))
        return [float(x) for x in p + (factor - 1.0) * ((p - start) @ unit) * unit]

    new["bodies"][body]["rod"] = [[float(x) for x in start], moved(entry["rod"][1])]
    move_carried(new, body, moved)
    return new


def set_along(data: dict[str, Any], path: str, distance: float) -> dict[str, Any]:
    """Return data with a location moved along its rod to a distance from the rod's first end: `points.P.at.along`.

    For a joint it is the location on one of its bodies, counted from 0, `joints.C.at.1.along`: the locations on
    the other bodies stay, and `assemble` closes the joint.
    """
    start, unit, length = rod_of_place(data, path)
    # Ends are often typed with fewer digits than lengths.
    if not -1e-9 * length <= distance <= (1.0 + 1e-9) * length:
        raise MechanismError(
            f"{path} = {distance:g} m is beyond the rod, which is {length:g} m long; give 0 to {length:g} m"
        )
    parts = split_path(path)[:-1]
    place = [float(x) for x in start + distance * unit]
    if parts[0] != "joints" or parts[2] != "at":
        return set_value(data, join_path(parts), place)
    entry = data["joints"][parts[1]]
    places = joint_places(entry)
    places[int(parts[3])] = place
    moved = set_value(data, join_path(parts[:3]), places)
    return {**moved, "assemble": True}


def rod_of_place(data: dict[str, Any], path: str) -> tuple[Any, Any, float]:
    """Return first end, direction and length [m] of the rod at a location; raises MechanismError without a rod."""
    block, name, key, *which = split_path(path)[:-1]
    entry = (data.get(block) or {}).get(name)
    if not isinstance(entry, dict) or key not in entry:
        raise MechanismError(f"path '{path}': there is no place {block}.{name}.{key}")
    if key in ("start", "end"):
        body = joint_bodies(entry)[key == "end"]
    elif block == "joints":
        bodies = joint_bodies(entry)
        if len(which) != 1 or not which[0].isdigit() or int(which[0]) >= len(bodies):
            raise MechanismError(
                f"path '{path}': joint '{name}' has {len(bodies)} bodies; say whose place, like "
                f"joints.{name}.at.1.along"
            )
        body = bodies[int(which[0])]
    else:
        body = entry["body"]
    rod = (data.get("bodies") or {}).get(body, {}).get("rod")
    if rod is None:
        raise MechanismError(f"path '{path}': '{body}' is not a rod; change its places instead")
    start, end = (np.array(read_place(p)) for p in rod)
    length = float(np.linalg.norm(end - start))
    if not length > 0:
        raise MechanismError(f"rod '{body}' has no direction, because its ends are one place")
    return start, (end - start) / length, length


def _with_plain_parent(data: dict[str, Any], path: str) -> dict[str, Any]:
    """Return data in which the vector around an entry is a list of plain numbers: `at.0` of "[1, 2] mm"."""
    parts = split_path(path)
    if not parts[-1].isdigit() or len(parts) < 2:
        return data
    above = join_path(list(parts[:-1]))
    parent = get_value(data, above)
    try:
        plain = [q.value for q in units.parse_vector(parent, units.NUMBER)]
    except units.UnitError:
        return data
    return set_value(data, above, plain)
