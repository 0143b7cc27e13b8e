"""Drawing in the plane: each change takes the data of a model file and returns new data.

Things at the same location are connected: a bar drawn from a pin is joined to it, a pin where two bars cross
joins them, and moving a pin moves everything that ends there.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..arrays import Floats
from ..mechanism import MechanismError
from ..mechanism.elements import GROUND
from ..mechanism.files.model_schema import ModelFile
from ..mechanism.polygons import convex_hull
from .parameters import Data, Record, joint_bodies, measure_size

# Relative to the mechanism's size: locations this close are the same, so typed and clicked locations are
# equivalent.
SAME = 1e-6
# Initial values of new elements; every number has a slider.
MASS, STIFFNESS, DAMPING, TURNING, FREQUENCY = 1.0, 100.0, 1.0, 1.0, 0.5
# Relative to the mechanism's size: travel of a driven slider to either side; relative to a cylinder's length:
# stroke to either side, and length of its barrel and its piston rod.
TRAVEL, STROKE, PIECE = 0.2, 0.1, 0.6
# Joints along a line, without and with a fixed orientation of the body on it.
ON_LINE, PRISMATIC = "point-on-line", "prismatic"
# Blocks that contain names of bodies and of joints.
OF_BODIES = ("points", "forces", "torques")
OF_JOINTS = ("drives", "torsions", "ball_dampers", "rotors", "couplings")
# Order of the blocks in a file.
ORDER = list(ModelFile.model_fields)
EMPTY: Data = {"sarrus": 1, "name": "mechanism", "gravity": [0.0, -9.81], "bodies": {}}


def edit(data: Data, change: Record) -> Data:
    """Return the data after a change: {"do": "bar", "from": [x, y], "to": [x, y]} and the like, see `CHANGES`."""
    if len(data.get("gravity") or ()) != 2:
        raise MechanismError(
            "only mechanisms in the plane can be drawn; change the file of this one"
        )
    word = change.get("do")
    if word not in CHANGES:
        raise MechanismError(f"'{word}' is not a change; give one of {', '.join(CHANGES)}")
    drawing = _Drawing(copy.deepcopy(data))
    CHANGES[word](drawing, change)
    kept = {k: value for k, value in drawing.data.items() if value != {} or k == "bodies"}
    return {k: kept[k] for k in sorted(kept, key=ORDER.index)}


class _Drawing:
    """The data during a change."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.near = SAME * measure_size(data)

    def block(self, name: str) -> Data:
        """Return the entries of a block; creates the block if necessary."""
        self.data[name] = self.data.get(name) or {}
        return self.data[name]

    def new_name(self, word: str) -> str:
        """Return an unused name."""
        taken = {
            str(name) for block in self.data.values() if isinstance(block, dict) for name in block
        }
        return next(f"{word} {n}" for n in range(1, len(taken) + 2) if f"{word} {n}" not in taken)

    def same(self, a: Any, b: Any) -> bool:
        """Return whether two locations are the same."""
        return bool(np.linalg.norm(np.subtract(a, b)) <= self.near)

    def bodies_at(self, at: Floats) -> list[str]:
        """Return the bodies with an end, a joint or a point at a location, and bars that pass through it."""
        found: dict[str, None] = {}
        for name, joint in self.block("joints").items():
            if any(self.same(place, at) for place in _places(joint.get("at"))):
                found |= dict.fromkeys(joint_bodies(self.data["joints"][name]))
        for point in self.block("points").values():
            if self.same(point["at"], at):
                found[point["body"]] = None
        for name, body in self.block("bodies").items():
            if _distance(body, at) <= self.near:
                found[name] = None
        return list(found)

    def pin_at(self, at: Floats) -> Data | None:
        """Return the pin at a location."""
        for joint in self.block("joints").values():
            if "revolute" in joint and self.same(_places(joint["at"])[0], at):
                return joint
        return None

    def pin(self, bodies: list[str], at: Floats) -> None:
        """Pin bodies at a location, together with those already pinned there."""
        joint = self.pin_at(at)
        if joint is None:
            ground_first = sorted(bodies, key=lambda name: name != GROUND)
            self.block("joints")[self.new_name("pin")] = {
                "revolute": ground_first,
                "at": _plain(at),
            }
            return
        new = [name for name in bodies if name not in joint["revolute"]]
        joint["revolute"] = sorted([*joint["revolute"], *new], key=lambda name: name != GROUND)
        if _is_several(joint["at"]):
            joint["at"] += [_plain(at) for _ in new]

    def passes(self, body: str, at: Floats) -> bool:
        """Return whether a body is a bar that extends beyond a location on both sides."""
        rod = self.data["bodies"].get(body, {}).get("rod")
        return rod is not None and not any(self.same(end, at) for end in rod)

    def direction(self, body: str) -> Floats:
        """Return the direction of a bar."""
        start, end = self.data["bodies"][body]["rod"]
        return np.subtract(end, start)

    def release(self, at: Floats, *bodies: str) -> None:
        """Disconnect two bodies at a pin: the first leaves it."""
        joint = self.pin_at(at)
        if joint is None or not set(bodies) <= set(joint["revolute"]):
            return
        name = next(k for k, j in self.data["joints"].items() if j is joint)
        if len(joint["revolute"]) == 2:
            del self.data["joints"][name]
            _without_joint(self, name)
            return
        which = joint["revolute"].index(bodies[0])
        del joint["revolute"][which]
        if _is_several(joint["at"]):
            del joint["at"][which]

    def guided_block(self, name: str) -> None:
        """Insert a block between a guide and the body on it, pinned to the block: a block can be driven."""
        joint = self.data["joints"][name]
        guide, body = joint[ON_LINE]
        at = np.asarray(_places(joint["at"])[0], float)
        block = self.new_name("block")
        self.block("bodies")[block] = {"mass": MASS, "center": _plain(at)}
        self.data["joints"][name] = _sliding(self, PRISMATIC, (guide, block), at, joint["axis"])
        self.pin([body, block], at)


def _bar(drawing: _Drawing, change: Record) -> None:
    start, end = _place(change, "from"), _place(change, "to")
    if drawing.same(start, end):
        raise MechanismError("a bar needs two places; drag from one to the other")
    ends = [(place, drawing.bodies_at(place)) for place in (start, end)]
    name = drawing.new_name("bar")
    rod = [_plain(place) for place in (start, end)]
    drawing.block("bodies")[name] = {"rod": rod, "mass": MASS}
    for place, others in ends:
        if others:
            drawing.pin([*others, name], place)


def _ground(drawing: _Drawing, change: Record) -> None:
    at = _place(change, "at")
    bodies = [name for name in drawing.bodies_at(at) if name != GROUND]
    if bodies:
        drawing.pin([GROUND, *bodies], at)
    else:
        place = [float(x) for x in at]
        drawing.block("points")[drawing.new_name("ground")] = {"body": GROUND, "at": place}


def _pin(drawing: _Drawing, change: Record) -> None:
    at = _place(change, "at")
    bodies = drawing.bodies_at(at)
    if len(bodies) < 2:
        here = f"only '{bodies[0]}' is here" if bodies else "nothing is here"
        raise MechanismError(
            f"a pin joins two bodies, and {here}; click where bars cross or meet, or use ground to fix a bar"
        )
    drawing.pin(bodies, at)


def _plate(drawing: _Drawing, change: Record) -> None:
    """Add a plate with three or more corners and join it to what is there."""
    given = change.get("corners")
    if not isinstance(given, list):
        raise MechanismError("a plate needs three corners or more; click one after the other")
    corners = [_place({"at": corner}, "at") for corner in given]
    arms = np.array(corners) - corners[0] if corners else np.zeros((0, 2))
    sizes = np.linalg.svd(arms, compute_uv=False) if len(corners) > 2 else np.zeros(2)
    if not sizes[-1] > SAME * sizes[0]:
        raise MechanismError("a plate needs three corners or more that are not on one line")
    met = [(corner, drawing.bodies_at(corner)) for corner in corners]
    name = drawing.new_name("plate")
    drawing.block("bodies")[name] = {"plate": [_plain(c) for c in corners], "mass": MASS}
    for corner, others in met:
        if others:
            drawing.pin([*others, name], corner)


def _slider(drawing: _Drawing, change: Record) -> None:
    """Constrain a point of a body to a line of another, the guide; prismatic: the body cannot rotate either.

    A pin that connected both there no longer does. If no guide is named, it is a bar that extends beyond the
    location, if there is another body, otherwise the ground; the line is along that bar, or horizontal.
    """
    at = _place(change, "at")
    here = drawing.bodies_at(at)
    bodies = [name for name in here if name != GROUND]
    if not bodies:
        raise MechanismError("a slider needs a body; click on a bar, a plate or a pin")
    slots = [name for name in bodies if drawing.passes(name, at)] if len(bodies) > 1 else []
    guide = str(change.get("guide") or (slots[0] if slots else GROUND))
    body = str(change.get("body") or next((name for name in bodies if name != guide), guide))
    axis = change.get("axis")
    if axis is None:
        axis = drawing.direction(guide) if guide in slots else (1.0, 0.0)
    drawing.release(at, guide, body)
    kind = str(change.get("kind") or ON_LINE)
    name = drawing.new_name("slider")
    drawing.block("joints")[name] = _sliding(drawing, kind, (guide, body), at, axis)


def _slide(drawing: _Drawing, change: Record) -> None:
    """Change the guide, body, kind or angle [rad] of a slider."""
    name = _name(drawing, "joints", change)
    joint = drawing.data["joints"][name]
    kind = next((word for word in (ON_LINE, PRISMATIC) if word in joint), "")
    if not kind:
        raise MechanismError(f"joint '{name}' is not a slider")
    guide, body = (
        str(change.get(key) or joint[kind][k]) for k, key in enumerate(("guide", "body"))
    )
    axis = joint["axis"]
    if change.get("angle") is not None:
        angle = float(change["angle"])
        axis = (np.cos(angle), np.sin(angle))
    new = str(change.get("kind") or kind)
    at = np.asarray(_places(joint["at"])[0], float)
    drawing.data["joints"][name] = _sliding(drawing, new, (guide, body), at, axis)
    if new == ON_LINE:
        # A point on a line cannot be driven.
        _without_drives(drawing, name)


def _sliding(drawing: _Drawing, kind: str, bodies: tuple[str, str], at: Floats, axis: Any) -> Data:
    """Return the entry of a slider: a guide and the body on it."""
    if kind not in (ON_LINE, PRISMATIC):
        raise MechanismError(f"'{kind}' is not a slider; give {ON_LINE} or {PRISMATIC}")
    direction = np.asarray(axis, float)
    if direction.shape != (2,) or not np.isfinite(direction).all() or not direction.any():
        raise MechanismError("a slider needs a direction; drag along it, or type its angle")
    if bodies[0] == bodies[1]:
        raise MechanismError(f"'{bodies[0]}' cannot slide on itself; choose another guide")
    known = {GROUND, *drawing.block("bodies")}
    if not set(bodies) <= known:
        raise MechanismError(f"there is no body '{next(b for b in bodies if b not in known)}'")
    return {kind: list(bodies), "at": _plain(at), "axis": _plain(direction)}


def _cylinder(drawing: _Drawing, change: Record) -> None:
    """Add a barrel and a piston rod with a motor between them; each is joined to what is at its outer end."""
    start, end = _place(change, "from"), _place(change, "to")
    if drawing.same(start, end):
        raise MechanismError("a cylinder needs two places; drag from one to the other")
    met = [(place, drawing.bodies_at(place)) for place in (start, end)]
    along, bodies = end - start, []
    for word, outer, way in (("barrel", start, along), ("piston", end, -along)):
        bodies.append(drawing.new_name(word))
        rod = [_plain(outer), _plain(outer + PIECE * way)]
        drawing.block("bodies")[bodies[-1]] = {"rod": rod, "mass": MASS}
    name = drawing.new_name("cylinder")
    middle = start + 0.5 * along
    barrel, piston = bodies
    drawing.block("joints")[name] = _sliding(drawing, PRISMATIC, (barrel, piston), middle, along)
    amplitude = STROKE * float(np.linalg.norm(along))
    drawing.block("drives")[drawing.new_name("motor")] = {
        "joint": name,
        "sine": {"amplitude": amplitude, "frequency": FREQUENCY},
    }
    for (place, others), body in zip(met, bodies, strict=True):
        if others:
            drawing.pin([*others, body], place)


def _spring(drawing: _Drawing, change: Record) -> None:
    start, end = _place(change, "from"), _place(change, "to")
    bodies = [_first_body(drawing, place) for place in (start, end)]
    if bodies[0] == bodies[1]:
        raise MechanismError(
            "a spring joins two bodies, or one and the ground; drag to another one"
        )
    drawing.block("springs")[drawing.new_name("spring")] = {
        "bodies": bodies,
        "start": _plain(start),
        "end": _plain(end),
        "stiffness": STIFFNESS,
        "damping": DAMPING,
        "free_length": float(np.linalg.norm(end - start)),
    }


def _drive(drawing: _Drawing, change: Record) -> None:
    name = _name(drawing, "joints", change)
    joint = drawing.data["joints"][name]
    if "revolute" in joint:
        motion: Data = {"polynomial": [0.0, TURNING]}
    elif ON_LINE in joint or PRISMATIC in joint:
        amplitude = TRAVEL * measure_size(drawing.data)
        motion = {"sine": {"amplitude": amplitude, "frequency": FREQUENCY}}
        if ON_LINE in joint:
            drawing.guided_block(name)
    else:
        raise MechanismError(f"joint '{name}' cannot be driven; a pin or a slider can")
    if any(drive["joint"] == name for drive in drawing.block("drives").values()):
        raise MechanismError(f"joint '{name}' has a motor already; delete that one first")
    drawing.block("drives")[drawing.new_name("motor")] = {"joint": name, **motion}


def _point(drawing: _Drawing, change: Record) -> None:
    at = _place(change, "at")
    body = _first_body(drawing, at)
    if body == GROUND:
        raise MechanismError("a point belongs to a bar; click on one")
    place = [float(x) for x in at]
    drawing.block("points")[drawing.new_name("P")] = {"body": body, "at": place}


def _move(drawing: _Drawing, change: Record) -> None:
    """Move what is at a location: ends of bars and springs, joints, points, points of application of forces."""
    before, after = _place(change, "from"), _plain(_place(change, "to"))
    for entry, key in _written_places(drawing.data):
        if drawing.same(entry[key], before):
            entry[key] = list(after)
    for name, body in drawing.block("bodies").items():
        if "rod" in body and drawing.same(*body["rod"]):
            raise MechanismError(f"bar '{name}' would have no length; leave its ends apart")


def _delete(drawing: _Drawing, change: Record) -> None:
    block = change.get("block")
    name = _name(drawing, str(block), change)
    del drawing.data[str(block)][name]
    if block == "bodies":
        _without_body(drawing, name)
    elif block == "joints":
        _without_joint(drawing, name)
    elif block == "points":
        drawing.block("velocities").pop(name, None)


def _without_body(drawing: _Drawing, name: str) -> None:
    """Remove all references to a deleted body."""
    drawing.block("angular_velocities").pop(name, None)
    for block in OF_BODIES:
        for key in [k for k, entry in drawing.block(block).items() if entry["body"] == name]:
            del drawing.data[block][key]
            drawing.block("velocities").pop(key, None)
    for key in [k for k, s in drawing.block("springs").items() if name in s["bodies"]]:
        del drawing.data["springs"][key]
    for key, joint in list(drawing.block("joints").items()):
        bodies = joint_bodies(joint)
        if name not in bodies:
            continue
        at = bodies.index(name)
        bodies.remove(name)
        if len(bodies) < 2:
            del drawing.data["joints"][key]
            _without_joint(drawing, key)
        elif _is_several(joint.get("at")):
            del joint["at"][at]


def _without_joint(drawing: _Drawing, name: str) -> None:
    """Remove all references to a deleted joint."""
    drawing.block("velocities").pop(name, None)
    _without_drives(drawing, name, OF_JOINTS)


def _without_drives(
    drawing: _Drawing, name: str, blocks: tuple[str, ...] = ("drives", "couplings")
) -> None:
    """Remove the entries of these blocks that act in a joint."""
    for block in blocks:
        for key in [
            k for k, e in drawing.block(block).items() if name in (e["joint"], e.get("other"))
        ]:
            del drawing.data[block][key]


def _rename(drawing: _Drawing, change: Record) -> None:
    block, new = str(change.get("block")), str(change.get("to", "")).strip()
    old = _name(drawing, block, change)
    taken = {name for one in ("bodies", "joints", "points") for name in drawing.block(one)}
    if not new or new == GROUND or new in {*drawing.block(block), *(taken - {old})}:
        raise MechanismError(f"'{new}' cannot be its name; give one that nothing has yet")
    drawing.data[block] = {new if k == old else k: v for k, v in drawing.data[block].items()}
    if block == "bodies":
        named = [joint_bodies(joint) for joint in drawing.block("joints").values()]
        named += [spring["bodies"] for spring in drawing.block("springs").values()]
        for names in named:
            names[:] = [new if name == old else name for name in names]
    key, blocks = ("body", OF_BODIES) if block == "bodies" else ("joint", OF_JOINTS)
    for entry in (e for b in blocks for e in drawing.block(b).values()):
        if block in ("bodies", "joints"):
            entry |= {k: new for k in (key, "other") if entry.get(k) == old}
    starts = drawing.block("angular_velocities" if block == "bodies" else "velocities")
    if old in starts and block in ("bodies", "joints", "points"):
        starts[new] = starts.pop(old)


CHANGES: dict[str, Callable[[_Drawing, Record], None]] = {
    "bar": _bar,
    "ground": _ground,
    "pin": _pin,
    "plate": _plate,
    "slider": _slider,
    "slide": _slide,
    "cylinder": _cylinder,
    "spring": _spring,
    "drive": _drive,
    "point": _point,
    "move": _move,
    "delete": _delete,
    "rename": _rename,
}


def _place(change: Record, key: str) -> Floats:
    place = np.asarray(change.get(key), float)
    if place.shape != (2,) or not np.isfinite(place).all():
        raise MechanismError(f"'{key}' is not a place; give two numbers")
    return place


def _name(drawing: _Drawing, block: str, change: Record) -> str:
    name = str(change.get("name"))
    if not isinstance(drawing.data.get(block), dict) or name not in drawing.data[block]:
        raise MechanismError(f"there is no '{name}' among the {block}")
    return name


def _first_body(drawing: _Drawing, at: Floats) -> str:
    bodies = [name for name in drawing.bodies_at(at) if name != GROUND]
    return bodies[0] if bodies else GROUND


def _is_several(at: Any) -> bool:
    """Return whether a joint has one location per body."""
    return isinstance(at, list) and bool(at) and isinstance(at[0], list)


def _places(at: Any) -> list[Any]:
    return [] if at is None else at if _is_several(at) else [at]


def _distance(body: Data, at: Floats) -> float:
    """Return the distance from a location to a bar or plate, or to the centre of another body [m]."""
    if "plate" in body:
        return _off_plate(np.asarray(body["plate"], float), at)
    if "rod" not in body:
        return float(np.linalg.norm(np.subtract(body["center"], at)))
    start, end = (np.asarray(place, float) for place in body["rod"])
    along = end - start
    share = np.clip((at - start) @ along / (along @ along), 0.0, 1.0)
    return float(np.linalg.norm(start + share * along - at))


def _off_plate(corners: Floats, at: Floats) -> float:
    """Return the distance of a location outside the convex polygon around corners [m], 0 inside."""
    hull = convex_hull(corners)
    sides = np.roll(hull, -1, axis=0) - hull
    arms = at - hull
    inside = sides[:, 0] * arms[:, 1] - sides[:, 1] * arms[:, 0]
    if (inside >= 0).all():
        return 0.0
    share = np.clip(np.add.reduce(arms * sides, axis=1) / np.add.reduce(sides**2, axis=1), 0, 1)
    return float(np.linalg.norm(arms - share[:, None] * sides, axis=1).min())


def _plain(place: Any) -> list[float]:
    return [float(x) for x in place]


def _written_places(data: Data) -> Iterator[tuple[Any, Any]]:
    """Yield every location in the data: its container, and its key there."""
    for body in (data.get("bodies") or {}).values():
        if "rod" in body:
            yield from ((body["rod"], k) for k in range(2))
        elif "plate" in body:
            yield from ((body["plate"], k) for k in range(len(body["plate"])))
        else:
            yield body, "center"
    for block in ("joints", "points", "springs", "forces"):
        for entry in (data.get(block) or {}).values():
            for key in ("at", "start", "end"):
                if _is_several(entry.get(key)):
                    yield from ((entry[key], k) for k in range(len(entry[key])))
                elif entry.get(key) is not None:
                    yield entry, key
