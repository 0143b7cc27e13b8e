"""Side lengths of planar links that are not rods: distances between the joints and named points of one body.

The path of a side is `bodies.knee.sides.B.C`. A link with n locations has 2 n - 3 sides, which determine its
shape: the locations are taken in the order of the file (joints, then points), and each new one is fixed by its
distances from the first and from the previous one. Changing one side keeps all others, so the list stays the same.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays import Floats
from ..mechanism.elements import MechanismError
from ..mechanism.files.paths import join_path, nearest, split_path
from .carried import joint_bodies, joint_places, move_carried, read_place

# Relative to the link's size: locations this close are the same; a link this flat is straight.
SAME = 1e-9

Data = dict[str, Any]
Places = dict[str, Floats]


def find_sides(data: Data, body: str) -> dict[tuple[str, str], float]:
    """Return the side lengths of a planar body that is not a rod [m], by the names of their two ends."""
    places = _named_places(data, body)
    return {pair: _apart(places, pair) for pair in _pairs(places)}


def set_side(data: Data, path: str, length: float) -> Data:
    """Return data with another length of one side, `bodies.knee.sides.B.C`; the body's other sides do not change.

    The first location and the direction to the second stay. Everything else on the body follows: corners of a
    plate, ends of springs, points of application of forces, the centre of mass. Mass and inertia of a body stay;
    those of a plate follow from its corners. Joints that are now open have one location per body, and `assemble`
    closes them.
    """
    body, first, second = _read_path(path)
    places = _named_places(data, body)
    pair = next((p for p in _pairs(places) if set(p) == {first, second}), None)
    if pair is None:
        known = [f"{a}.{b}" for a, b in _pairs(places)]
        raise MechanismError(
            f"path '{path}': body '{body}' has no side from '{first}' to '{second}'; "
            f"{nearest(f'{first}.{second}', known)}"
        )
    if not length > 0:
        raise MechanismError(f"{path}: a length of {length:g} m; give a positive one")
    new = _rebuilt(places, pair, length, path)
    return _with_places(data, body, places, new)


def _read_path(path: str) -> tuple[str, str, str]:
    parts = split_path(path)
    if len(parts) != 5:
        raise MechanismError(
            f"path '{path}': a side is between two joints or points; write it like bodies.knee.sides.B.C"
        )
    return parts[1], parts[3], parts[4]


def _named_places(data: Data, body: str) -> Places:
    """Return the locations of the joints and named points of a planar body that is not a rod."""
    entry = (data.get("bodies") or {}).get(body)
    if not isinstance(entry, dict):
        known = list(data.get("bodies") or {})
        raise MechanismError(f"there is no body '{body}'; {nearest(body, known)}")
    if "rod" in entry:
        raise MechanismError(
            f"body '{body}' is a rod; change {join_path(['bodies', body, 'length'])}"
        )
    found: Places = {}
    for name, joint in (data.get("joints") or {}).items():
        bodies = joint_bodies(joint)
        if body in bodies and joint.get("at") is not None:
            found[name] = np.array(joint_places(joint)[bodies.index(body)])
    for name, point in (data.get("points") or {}).items():
        if point["body"] == body:
            found[name] = np.array(read_place(point["at"]))
    if any(len(place) != 2 for place in found.values()):
        return {}
    return _in_order(_distinct(found))


def _distinct(found: Places) -> Places:
    """Return one name per location, that of the joint."""
    out: Places = {}
    size = _size(list(found.values()))
    for name, place in found.items():
        if all(np.linalg.norm(place - other) > SAME * size for other in out.values()):
            out[name] = place
    return out


def _in_order(places: Places) -> Places:
    """Return the locations in file order; if they are collinear, along their line."""
    if len(places) < 3 or not _is_straight(places):
        return places
    names, at = list(places), np.array(list(places.values()))
    order = np.argsort((at - at.mean(axis=0)) @ _direction(at), kind="stable")
    return {names[i]: places[names[i]] for i in order}


def _pairs(places: Places) -> list[tuple[str, str]]:
    """Return the sides: from each location to the next and, unless collinear, from the first to the others."""
    names = list(places)
    out = list(pairwise(names))
    if not _is_straight(places):
        out += [(names[0], name) for name in names[2:]]
    return out


def _rebuilt(places: Places, changed: tuple[str, str], length: float, path: str) -> Places:
    """Return the locations of a body after a change of one side length."""
    wanted = {pair: _apart(places, pair) for pair in _pairs(places)} | {changed: length}
    names = list(places)
    first, second = names[:2]
    start = places[first]
    unit = (places[second] - start) / _apart(places, (first, second))
    new = {first: start, second: start + wanted[first, second] * unit}
    straight = _is_straight(places)
    for before, name in pairwise(names[1:]):
        if straight:
            new[name] = new[before] + wanted[before, name] * unit
            continue
        base = new[before] - start
        apart, near, far = np.linalg.norm(base), wanted[first, name], wanted[before, name]
        along = (near**2 - far**2 + apart**2) / (2.0 * apart)
        if not abs(along) < near:
            raise MechanismError(
                f"{path} = {length:g} m: sides of {near:.6g}, {far:.6g} and {apart:.6g} m make no triangle "
                f"{first}-{before}-{name}; each must be shorter than the two others together"
            )
        across = np.sqrt(near**2 - along**2) * _side_of(places, first, before, name)
        e = base / apart
        new[name] = start + along * e + across * np.array((-e[1], e[0]))
    return new


def _side_of(places: Places, first: str, before: str, name: str) -> float:
    """Return 1.0 if a location is to the left of the line through two others, else -1.0."""
    a, b = places[before] - places[first], places[name] - places[first]
    return 1.0 if a[0] * b[1] - a[1] * b[0] > 0 else -1.0


def _with_places(data: Data, body: str, old: Places, new: Places) -> Data:
    """Return data in which everything on a body has followed its named locations."""
    move = _mover(old, new)
    out = copy.deepcopy(data)
    entry = out["bodies"][body]
    if "plate" in entry:
        entry["plate"] = [move(corner) for corner in entry["plate"]]
    else:
        entry["center"] = move(entry["center"])
    move_carried(out, body, move)
    return out


def _mover(old: Places, new: Places) -> Callable[[Any], list[float]]:
    """Return the map of locations of the body: named ones are given, others follow the best-fitting affine map."""
    before, after = np.array(list(old.values())), np.array(list(new.values()))
    mean, size = before.mean(axis=0), _size(before)
    arms = before - mean
    turn, *_ = np.linalg.lstsq(arms, after - after.mean(axis=0) - arms, rcond=SAME)

    def move(given: Any) -> list[float]:
        place = np.array(read_place(given))
        near = np.linalg.norm(before - place, axis=1)
        k = int(np.argmin(near))
        if near[k] <= SAME * size:
            return [float(x) for x in after[k]]
        arm = place - mean
        return [float(x) for x in after.mean(axis=0) + arm + arm @ turn]

    return move


def _apart(places: Places, pair: tuple[str, str]) -> float:
    return float(np.linalg.norm(places[pair[1]] - places[pair[0]]))


def _size(places: Any) -> float:
    at = np.array(places)
    return float(np.ptp(at, axis=0).max(initial=0.0)) if len(at) else 0.0


def _direction(at: Floats) -> Floats:
    """Return the main direction of locations, towards the last one."""
    unit = np.linalg.svd(at - at.mean(axis=0))[2][0]
    return np.asarray(unit if unit @ (at[-1] - at[0]) >= 0 else -unit)


def _is_straight(places: Places) -> bool:
    at = np.array(list(places.values()))
    if len(at) < 3:
        return True
    sizes = np.linalg.svd(at - at.mean(axis=0), compute_uv=False)
    return bool(sizes[1] <= SAME * sizes[0])
