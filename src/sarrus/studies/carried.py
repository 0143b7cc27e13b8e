"""Locations in the data of a model file that belong to one body, and how they move when its shape changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..mechanism.files import units
from ..mechanism.files.schema_values import is_vector

Floats = list[float]

_PLACES = ("at", "axis", "second_axis", "normal", "start", "end")


def move_carried(data: dict[str, Any], body: str, moved: Callable[[Any], Floats]) -> None:
    """Map, in place, all locations of a body except its ends, corners or centre by `moved`.

    Joints that are then open have one location per body, and `assemble` closes them.
    """
    opened = False
    for joint in (data.get("joints") or {}).values():
        opened |= _move_joint(joint, body, moved)
    for block in ("points", "forces"):
        for entry in (data.get(block) or {}).values():
            if entry["body"] == body:
                entry["at"] = moved(entry["at"])
    for spring in (data.get("springs") or {}).values():
        for key, owner in zip(("start", "end"), spring["bodies"], strict=True):
            if owner == body:
                spring[key] = moved(spring[key])
    if opened:
        data["assemble"] = True


def _move_joint(joint: dict[str, Any], body: str, moved: Callable[[Any], Floats]) -> bool:
    """Move the location of a body in a joint; return whether the joint is then open."""
    bodies = joint_bodies(joint)
    if body not in bodies:
        return False
    if "distance" in joint:
        for key, owner in zip(("start", "end"), bodies, strict=True):
            if owner == body:
                joint[key] = moved(joint[key])
        return False
    if joint.get("at") is None:
        return False
    places = joint_places(joint)
    new = [moved(p) if owner == body else p for p, owner in zip(places, bodies, strict=True)]
    if new == places:
        return False
    joint["at"] = new
    return True


def joint_bodies(joint: dict[str, Any]) -> list[str]:
    """Return the names of the bodies of a joint."""
    return next(value for key, value in joint.items() if key not in _PLACES and _is_names(value))


def joint_places(joint: dict[str, Any]) -> list[Floats]:
    """Return the location of each body in a joint."""
    at = joint["at"]
    several = isinstance(at, list) and any(isinstance(p, list | str) and is_vector(p) for p in at)
    return [read_place(p) for p in at] if several else [read_place(at)] * len(joint_bodies(joint))


def read_place(value: Any) -> Floats:
    """Return a location in metres from any notation that a file allows."""
    return units.vector_in_si(value, units.LENGTH)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)
