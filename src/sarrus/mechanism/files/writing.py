"""A mechanism as plain data and as the text of a model file; numbers are read back to the last bit."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MechanismError
from ..mechanism import Body, Joint, JointKind, Mechanism
from ..motion import Motion, Polynomial, Sine, SmoothStep
from .paths import join_path
from .units import LARGEST

if TYPE_CHECKING:
    import yaml

HEAD = (
    "# lengths in m, masses in kg, times in s, angles in rad, forces in N unless a unit is given\n"
)
# the key of a joint's direction
_NORMAL = (JointKind.PLANAR, JointKind.POINT_ON_PLANE)
# words that every YAML reader takes for text
_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[ -][A-Za-z0-9_]+)*")
_RESERVED = re.compile("y|n|yes|no|on|off|true|false|null|nan|inf", re.IGNORECASE)


def to_data(mechanism: Mechanism) -> dict[str, Any]:
    """The mechanism as plain data: what its file holds, numbers in SI.

    Raises MechanismError for what a file cannot hold: functions, and names that stand twice.
    """
    m = mechanism
    if m.user_forces:
        raise MechanismError(
            f"user force '{m.user_forces[0].name}' is a Python function, which a file cannot hold; "
            "remove it before saving, and add it after loading"
        )
    bodies = {b.name: _body(b) for b in m.bodies}
    blocks: dict[str, tuple[Any, dict[str, Any]]] = {
        "bodies": (m.bodies, bodies),
        "joints": (m.joints, {j.name: _joint(j) for j in m.joints}),
        "points": (m.markers, {p.name: {"body": p.body, "at": _list(p.at)} for p in m.markers}),
        "forces": (
            m.forces,
            {
                f.name: {"body": f.body, "at": _list(f.at), **_load(f.vector, f.fixed_in)}
                for f in m.forces
            },
        ),
        "torques": (
            m.torques,
            {t.name: {"body": t.body, **_load(t.vector, t.fixed_in)} for t in m.torques},
        ),
        "springs": (
            m.springs,
            {
                s.name: {
                    "bodies": list(s.bodies),
                    "start": _list(s.ends[0]),
                    "end": _list(s.ends[1]),
                    **_numbers(s, "stiffness", "damping", "free_length", "preload"),
                }
                for s in m.springs
            },
        ),
        "torsions": (
            m.torsions,
            {
                t.name: {
                    "joint": t.joint,
                    **_numbers(t, "stiffness", "damping", "free_angle", "torque"),
                }
                for t in m.torsions
            },
        ),
        "drives": (m.drives, {d.name: {"joint": d.joint, **_motion(d.motion)} for d in m.drives}),
        "velocities": (m.velocities, {name: _list(v) for name, v in m.velocities}),
        "angular_velocities": (
            m.angular_velocities,
            {name: _list(v) for name, v in m.angular_velocities},
        ),
    }
    data: dict[str, Any] = {"sarrus": 1, "name": m.name, "gravity": _list(m.gravity)}
    for block, (listed, entries) in blocks.items():
        if len(entries) < len(listed):
            names = [item[0] if isinstance(item, tuple) else item.name for item in listed]
            twice = next(name for name in names if names.count(name) > 1)
            raise MechanismError(
                f"{block}: '{twice}' stands {names.count(twice)} times; a file holds each name once, "
                "so rename or remove the others before saving"
            )
        if entries or block == "bodies":
            data[block] = entries
    if m.assemble:
        data["assemble"] = True
    if m.defaults:
        data["simulate"] = {
            name: value if isinstance(value, str) else float(value)
            for name, value in m.defaults.items()
        }
    _check_numbers(data, ())
    return data


def to_text(data: dict[str, Any]) -> str:
    """Plain data as the text of a model file: a line an entry, blocks apart."""
    import yaml

    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    parts, short = [], True
    for key, value in data.items():
        # entries by name stand in lines of their own
        deep = isinstance(value, dict)
        pairs = [(_word(key), _node(value, 1 if deep else 0))]
        node = yaml.MappingNode("tag:yaml.org,2002:map", pairs, flow_style=False)
        text = yaml.serialize(node, Dumper=dumper, width=10**9, allow_unicode=True, indent=2)
        parts.append(text if short and not deep else f"\n{text}")
        short = not deep
    return HEAD + "".join(parts)


def save_text(text: str, path: str | Path) -> None:
    """Write a file, whole or not at all."""
    target = Path(path)
    try:
        data = text.encode("utf-8")
        if target.exists() and not target.is_file():
            # a device or a pipe is written as it is
            target.write_bytes(data)
            return
        beside = target.with_name(f".{target.name[:40]}.{os.getpid()}")
        try:
            beside.write_bytes(data)
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise MechanismError(f"{path}: cannot be written: {why}; check the path") from None


def _body(body: Body) -> dict[str, Any]:
    if body.ends is None:
        inertia = body.inertia
        entry = {"mass": float(body.mass), "center": _list(body.center)}
        diagonal = inertia.shape == (3, 3) and _same(np.diag(np.diag(inertia)), inertia)
        if not _same(inertia, np.zeros(inertia.shape)):
            entry["inertia"] = _list(np.diag(inertia) if diagonal else inertia)
        return entry
    again = Mechanism("rod", np.zeros(max(2, body.center.size))).rod(
        body.name, *body.ends, body.mass, body.section
    )
    if not (_same(again.center, body.center) and _same(again.inertia, body.inertia)):
        raise MechanismError(
            f"body '{body.name}' has the ends of a rod but not its centre or inertia, which a file "
            "cannot hold; make it with rod() or body()"
        )
    entry = {"rod": [_list(end) for end in body.ends], "mass": float(body.mass)}
    return {**entry, "section": float(body.section)} if body.section else entry


def _joint(joint: Joint) -> dict[str, Any]:
    entry: dict[str, Any] = {joint.kind.value: list(joint.bodies)}
    if joint.kind is JointKind.DISTANCE:
        entry["start"], entry["end"] = (_list(place) for place in joint.places or ())
        return entry
    # one place and axis for each body, where they do not meet yet
    axes = getattr(joint, "axes", None)
    at = joint.at if joint.places is None else joint.places
    axis = joint.axis if axes is None else axes
    if at is not None:
        entry["at"] = _list(np.array(at))
    if axis is not None:
        entry["normal" if joint.kind in _NORMAL else "axis"] = _list(np.array(axis))
    if joint.second_axis is not None:
        entry["second_axis"] = _list(joint.second_axis)
    return entry


def _load(vector: np.ndarray, fixed_in: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"vector": _list(vector)}
    return entry if fixed_in == "world" else {**entry, "fixed_in": fixed_in}


def _numbers(item: object, *names: str) -> dict[str, float]:
    """Numbers of an entry; a zero is what a file without it means, a free length is not."""
    values = {name: float(getattr(item, name)) for name in names}
    return {k: v for k, v in values.items() if k == "free_length" or not _same(v, 0.0)}


def _motion(motion: Motion) -> dict[str, Any]:
    if isinstance(motion, Polynomial):
        return {"polynomial": [float(c) for c in motion.coefficients]}
    if isinstance(motion, Sine):
        return {"sine": {name: float(value) for name, value in vars(motion).items()}}
    if isinstance(motion, SmoothStep):
        names = ("from", "to", "begin", "end")
        return {"step": dict(zip(names, map(float, vars(motion).values()), strict=True))}
    return {"table": {name: [float(x) for x in xs] for name, xs in vars(motion).items()}}


def _same(a: Any, b: Any) -> bool:
    """Whether two arrays have the same bits: -0.0 is not 0.0."""
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return x.shape == y.shape and x.tobytes() == y.tobytes()


def _list(values: np.ndarray) -> Any:
    return np.asarray(values, dtype=float).tolist()


def _check_numbers(value: Any, where: tuple[Any, ...]) -> None:
    if isinstance(value, float) and not abs(value) <= LARGEST:
        why = "is not finite" if not np.isfinite(value) else f"is larger than {LARGEST:g}"
        raise MechanismError(f"{join_path(where)}: {value:g} {why}; a file cannot hold it")
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            _check_numbers(item, (*where, key))


def _node(value: Any, levels: int) -> yaml.Node:
    """A YAML node; levels: how many levels of mappings stand in lines of their own."""
    import yaml

    if isinstance(value, dict):
        pairs = [(_word(key), _node(item, levels - 1)) for key, item in value.items()]
        return yaml.MappingNode("tag:yaml.org,2002:map", pairs, flow_style=levels <= 0)
    if isinstance(value, list):
        items = [_node(item, 0) for item in value]
        return yaml.SequenceNode("tag:yaml.org,2002:seq", items, flow_style=True)
    if isinstance(value, bool):
        return yaml.ScalarNode("tag:yaml.org,2002:bool", "true" if value else "false")
    if isinstance(value, str):
        return _word(value)
    if isinstance(value, int):
        return yaml.ScalarNode("tag:yaml.org,2002:int", str(value))
    text = repr(value)
    # older readers take 1e-05 for text, but 1.0e-05 for a number
    text = text if "." in text or "e" not in text else text.replace("e", ".0e")
    return yaml.ScalarNode("tag:yaml.org,2002:float", text)


def _word(text: str) -> yaml.Node:
    import yaml

    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise MechanismError(f"name {text!r}: no file can hold this text; rename it") from None
    plain = _SIMPLE.fullmatch(text) and not _RESERVED.fullmatch(text)
    return yaml.ScalarNode("tag:yaml.org,2002:str", text, style=None if plain else '"')
