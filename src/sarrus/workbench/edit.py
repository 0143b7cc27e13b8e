"""Drawing in the plane: each change takes the data of a model file and gives new data.

Things belong together that are at the same place: a bar drawn from a pin joins it, a pin that is moved takes along
what ends there.
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
from .parameters import Data, Record, joint_bodies, measure_size

# of the mechanism's size: places this near are one; a typed place is as good as one that was clicked
SAME = 1e-6
# what is drawn begins with these; every number has a slider
MASS, STIFFNESS, DAMPING, TURNING, FREQUENCY, TRAVEL = 1.0, 100.0, 1.0, 1.0, 0.5, 0.2
# where names of bodies and of joints stand
OF_BODIES = ("points", "forces", "torques")
OF_JOINTS = ("drives", "torsions", "rotors", "couplings")
# blocks as a file has them
ORDER = list(ModelFile.model_fields)
EMPTY: Data = {"sarrus": 1, "name": "mechanism", "gravity": [0.0, -9.81], "bodies": {}}


def edit(data: Data, change: Record) -> Data:
    """The data after a change: {"do": "bar", "from": [x, y], "to": [x, y]} and the like, see `CHANGES`."""
    if len(data.get("gravity") or ()) != 2:
        raise MechanismError(
            "only mechanisms in the plane can be drawn; change the file of this one"
        )
    word = change.get("do")
    if word not in CHANGES:
        raise MechanismError(f"'{word}' is no change; give one of {', '.join(CHANGES)}")
    drawing = _Drawing(copy.deepcopy(data))
    CHANGES[word](drawing, change)
    kept = {k: value for k, value in drawing.data.items() if value != {} or k == "bodies"}
    return {k: kept[k] for k in sorted(kept, key=ORDER.index)}


class _Drawing:
    """The data while it is changed."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.near = SAME * measure_size(data)

    def block(self, name: str) -> Data:
        """The entries of a block, which is there from now on."""
        self.data[name] = self.data.get(name) or {}
        return self.data[name]

    def new_name(self, word: str) -> str:
        """A name that nothing has yet."""
        taken = {
            str(name) for block in self.data.values() if isinstance(block, dict) for name in block
        }
        return next(f"{word} {n}" for n in range(1, len(taken) + 2) if f"{word} {n}" not in taken)

    def same(self, a: Any, b: Any) -> bool:
        """Whether two places are one."""
        return bool(np.linalg.norm(np.subtract(a, b)) <= self.near)

    def bodies_at(self, at: Floats) -> list[str]:
        """Bodies that have something at a place: an end, a joint, a point, or a bar that passes there."""
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
        """The pin at a place."""
        for joint in self.block("joints").values():
            if "revolute" in joint and self.same(_places(joint["at"])[0], at):
                return joint
        return None

    def pin(self, bodies: list[str], at: Floats) -> None:
        """Let bodies turn about a place, together with those that do already."""
        joint = self.pin_at(at)
        if joint is None:
            ground_first = sorted(bodies, key=lambda name: name != GROUND)
            self.block("joints")[self.new_name("pin")] = {
                "revolute": ground_first,
                "at": [float(x) for x in at],
            }
            return
        new = [name for name in bodies if name not in joint["revolute"]]
        joint["revolute"] = sorted([*joint["revolute"], *new], key=lambda name: name != GROUND)
        if _is_several(joint["at"]):
            joint["at"] += [[float(x) for x in at] for _ in new]


def _bar(drawing: _Drawing, change: Record) -> None:
    start, end = _place(change, "from"), _place(change, "to")
    if drawing.same(start, end):
        raise MechanismError("a bar needs two places; drag from one to the other")
    ends = [(place, drawing.bodies_at(place)) for place in (start, end)]
    name = drawing.new_name("bar")
    rod = [[float(x) for x in place] for place in (start, end)]
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
    if not [name for name in bodies if name != GROUND]:
        raise MechanismError("a pin needs a bar; draw one, or click on one")
    drawing.pin(bodies if len(bodies) > 1 else [GROUND, *bodies], at)


def _slider(drawing: _Drawing, change: Record) -> None:
    """A point of a body stays on a line of the ground; prismatic: and the body does not turn."""
    at, kind = _place(change, "at"), change.get("kind", "point-on-line")
    bodies = [name for name in drawing.bodies_at(at) if name != GROUND]
    if not bodies or kind not in ("point-on-line", "prismatic"):
        raise MechanismError("a slider needs a bar or a pin; click on one")
    axis = [float(x) for x in np.asarray(change.get("axis", (1.0, 0.0)), float)]
    drawing.block("joints")[drawing.new_name("slider")] = {
        kind: [GROUND, bodies[0]],
        "at": [float(x) for x in at],
        "axis": axis,
    }


def _spring(drawing: _Drawing, change: Record) -> None:
    start, end = _place(change, "from"), _place(change, "to")
    bodies = [_first_body(drawing, place) for place in (start, end)]
    if bodies[0] == bodies[1]:
        raise MechanismError(
            "a spring joins two bodies, or one and the ground; drag to another one"
        )
    drawing.block("springs")[drawing.new_name("spring")] = {
        "bodies": bodies,
        "start": [float(x) for x in start],
        "end": [float(x) for x in end],
        "stiffness": STIFFNESS,
        "damping": DAMPING,
        "free_length": float(np.linalg.norm(end - start)),
    }


def _drive(drawing: _Drawing, change: Record) -> None:
    name = _name(drawing, "joints", change)
    joint = drawing.data["joints"][name]
    if "revolute" in joint:
        motion: Data = {"polynomial": [0.0, TURNING]}
    elif "prismatic" in joint:
        motion = {"sine": {"amplitude": TRAVEL, "frequency": FREQUENCY}}
    else:
        raise MechanismError(
            f"joint '{name}' cannot be driven; a pin or a slider that does not turn can"
        )
    drawing.block("drives")[drawing.new_name("motor")] = {"joint": name, **motion}


def _point(drawing: _Drawing, change: Record) -> None:
    at = _place(change, "at")
    body = _first_body(drawing, at)
    if body == GROUND:
        raise MechanismError("a point belongs to a bar; click on one")
    place = [float(x) for x in at]
    drawing.block("points")[drawing.new_name("P")] = {"body": body, "at": place}


def _move(drawing: _Drawing, change: Record) -> None:
    """What is at a place goes to another: ends of bars, joints, points, ends of springs, places of forces."""
    before, after = _place(change, "from"), [float(x) for x in _place(change, "to")]
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
    """Whatever named a body that is gone."""
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
    """Whatever named a joint that is gone."""
    drawing.block("velocities").pop(name, None)
    for block in OF_JOINTS:
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
    "slider": _slider,
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
        raise MechanismError(f"'{key}' is no place; give two numbers")
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
    """Whether a joint has one place a body."""
    return isinstance(at, list) and bool(at) and isinstance(at[0], list)


def _places(at: Any) -> list[Any]:
    return [] if at is None else at if _is_several(at) else [at]


def _distance(body: Data, at: Floats) -> float:
    """From a place to a bar, or to the centre of another body [m]."""
    if "rod" not in body:
        return float(np.linalg.norm(np.subtract(body["center"], at)))
    start, end = (np.asarray(place, float) for place in body["rod"])
    along = end - start
    share = np.clip((at - start) @ along / (along @ along), 0.0, 1.0)
    return float(np.linalg.norm(start + share * along - at))


def _written_places(data: Data) -> Iterator[tuple[Any, Any]]:
    """Every place that is written down: where it stands, and its key there."""
    for body in (data.get("bodies") or {}).values():
        if "rod" in body:
            yield from ((body["rod"], k) for k in range(2))
        else:
            yield body, "center"
    for block in ("joints", "points", "springs", "forces"):
        for entry in (data.get(block) or {}).values():
            for key in ("at", "start", "end"):
                if _is_several(entry.get(key)):
                    yield from ((entry[key], k) for k in range(len(entry[key])))
                elif entry.get(key) is not None:
                    yield entry, key
