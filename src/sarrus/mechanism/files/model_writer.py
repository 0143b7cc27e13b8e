"""A mechanism as plain data and as the text of a model file; numbers are read back to the last bit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...disk import FullDiskError, write_file
from ...lazy import module_on_use
from ..elements import MechanismError, plain
from ..joint_kinds import JointKind
from ..mechanism import PARTS, Mechanism
from ..motion import read_motion
from .paths import join_path
from .units import LARGEST

if TYPE_CHECKING:
    import yaml
else:
    yaml = module_on_use("yaml")

HEAD = (
    "# lengths in m, masses in kg, times in s, angles in rad, forces in N unless a unit is given\n"
)
# words that every YAML reader takes for text
_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[ -][A-Za-z0-9_]+)*")
_RESERVED = re.compile("y|n|yes|no|on|off|true|false|null|nan|inf", re.IGNORECASE)


def to_data(mechanism: Mechanism) -> dict[str, Any]:
    """The mechanism as plain data: what its file holds, numbers in SI.

    Raises MechanismError for what a file cannot hold: functions, and names that stand twice.
    """
    m = mechanism
    blocks: dict[str, list[tuple[str, Any]]] = {
        block: [(part.name, part.data()) for part in getattr(m, name)]
        for name, block in PARTS.items()
    }
    blocks["velocities"] = [(name, plain(v)) for name, v in m.velocities]
    blocks["angular_velocities"] = [(name, plain(v)) for name, v in m.angular_velocities]
    blocks["events"] = [(event.name, event.data()) for event in m.events]
    data: dict[str, Any] = {"sarrus": 1, "name": m.name, "gravity": plain(m.gravity)}
    for block, listed in blocks.items():
        for name, count in Counter(name for name, _ in listed).items():
            if count > 1:
                raise MechanismError(
                    f"{block}: '{name}' stands {count} times; a file holds each name once, "
                    "so rename or remove the others before saving"
                )
        if listed or block == "bodies":
            data[block] = dict(listed)
    if m.assemble:
        data["assemble"] = True
    if m.exact:
        data["exact"] = True
    if m.defaults:
        data["simulate"] = {
            name: value if isinstance(value, str) else float(value)
            for name, value in m.defaults.items()
        }
    _check_numbers(data, ())
    return data


def part_data(mechanism: Mechanism, parts: Sequence[str]) -> dict[str, Any]:
    """The plain data of the part that a path names, and nothing else; empty if not exactly one has its name."""
    block, *names = parts
    if block == "gravity":
        return {"gravity": plain(mechanism.gravity)}
    found: list[Any] = []
    if names and block in ("velocities", "angular_velocities"):
        found = [plain(v) for name, v in getattr(mechanism, block) if name == names[0]]
    elif names and block in _LISTS:
        own = getattr(mechanism, _LISTS[block])
        found = [part.data() for part in own if part.name == names[0]]
    return {block: {names[0]: found[0]}} if len(found) == 1 else {}


# lists of a mechanism by their names in files
_LISTS = {block: name for name, block in PARTS.items()}


def build_plainly(data: dict[str, Any]) -> Mechanism:
    """The mechanism of data as `to_data` writes it, nothing of it checked; numbers may be those of a tape."""
    m = Mechanism(data["name"], gravity=data["gravity"])
    m.at_once = False
    _add_parts(m, data)
    return m


def exchange_parts(mechanism: Mechanism, data: dict[str, Any]) -> Mechanism:
    """A copy of a mechanism with other numbers in the parts that data contain, as `build_plainly` reads them."""
    made = Mechanism(mechanism.name, gravity=data.get("gravity", mechanism.gravity))
    made.at_once = False
    _add_parts(made, data)
    new = mechanism.copy()
    new.gravity = made.gravity
    for block in PARTS:
        if changed := {part.name: part for part in getattr(made, block)}:
            setattr(new, block, [changed.get(part.name, part) for part in getattr(new, block)])
    for block in ("velocities", "angular_velocities"):
        if given := dict(getattr(made, block)):
            setattr(new, block, [(name, given.get(name, v)) for name, v in getattr(new, block)])
    return new


def _add_parts(m: Mechanism, data: dict[str, Any]) -> None:
    """Add everything that data contain."""
    for name, body in data.get("bodies", {}).items():
        if "rod" in body:
            start, end = body["rod"]
            m.rod(name, start, end, body["mass"], body.get("section", 0.0))
        elif "plate" in body:
            m.plate(name, body["plate"], body["mass"])
        else:
            m.body(name, **body)
    for name, joint in data.get("joints", {}).items():
        kind = next(kind.value for kind in JointKind if kind.value in joint)
        keys = {key: value for key, value in joint.items() if key != kind}
        getattr(m, kind.replace("-", "_"))(name, *joint[kind], **keys)
    for block in PARTS.values():
        if block in ("bodies", "joints", "drives"):
            continue
        # force of forces
        make: Callable[..., Any] = getattr(m, block.removesuffix("s"))
        for name, entry in data.get(block, {}).items():
            keys = dict(entry)
            make(name, *keys.pop("bodies", ()), **keys)
    for name, entry in data.get("drives", {}).items():
        m.drive(name, entry["joint"], read_motion(entry))
    for name, vector in data.get("velocities", {}).items():
        m.set_velocity(name, vector)
    for name, vector in data.get("angular_velocities", {}).items():
        m.set_angular_velocity(name, vector)


def to_text(data: dict[str, Any]) -> str:
    """Plain data as the text of a model file: a line an entry, blocks apart."""
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
        write_file(target, data)
    except FullDiskError as error:
        raise MechanismError(str(error)) from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise MechanismError(f"{path}: cannot be written: {why}; check the path") from None


def _check_numbers(value: Any, where: tuple[Any, ...]) -> None:
    if isinstance(value, float) and not abs(value) <= LARGEST:
        why = "is not finite" if not np.isfinite(value) else f"is larger than {LARGEST:g}"
        raise MechanismError(f"{join_path(where)}: {value:g} {why}; a file cannot hold it")
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            _check_numbers(item, (*where, key))


def _node(value: Any, levels: int) -> yaml.Node:
    """A YAML node; levels: how many levels of mappings stand in lines of their own."""
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
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise MechanismError(f"name {text!r}: no file can hold this text; rename it") from None
    plain = _SIMPLE.fullmatch(text) and not _RESERVED.fullmatch(text)
    return yaml.ScalarNode("tag:yaml.org,2002:str", text, style=None if plain else '"')
