"""Labels of the numbers of a model file on the page: "O x", "knee: B to C", "motor speed"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..mechanism import Mechanism
from ..mechanism.files.paths import ALONG, SIDES

AXES = "xyz"
GROUND = Mechanism.GROUND
# Words of a file that need replacing; others only lose their underscores.
WORDS = {
    "center": "centre",
    "at": "",
    "vector": "",
    "velocities": "start velocity",
    "angular_velocities": "start angular velocity",
}


def make_label(data: dict[str, Any], parts: Sequence[str | int]) -> str:
    """Return a short name of the number at a path of a mechanism's data, without its unit."""
    block, name = str(parts[0]), str(parts[1])
    rest = list(parts[2:])
    if block == "gravity":
        return f"gravity {AXES[int(parts[1])]}"
    if block in ("velocities", "angular_velocities"):
        return _joined(name, WORDS[block], _axes(rest))
    if rest[:1] == [SIDES]:
        return f"{name}: {rest[1]} to {rest[2]}"
    if rest[-1:] == [ALONG]:
        return _joined(name, _end_of(rest), "along", _owner(data, block, name, rest))
    if block == "drives":
        return _joined(name, _motion(data["drives"][name], rest))
    if block == "joints" and rest[:1] == ["at"]:
        # One location for all bodies, that of the ground, or that of another body, such as a slider.
        body = _owner(data, block, name, rest) if len(rest) > 2 else GROUND
        return _joined(name, "" if body == GROUND else f"on {body}", _axes(rest[-1:]))
    words = [WORDS.get(str(word), str(word).replace("_", " ")) for word in rest if _is_word(word)]
    if block == "forces" and rest[:1] == ["at"]:
        words = ["at"]
    return _joined(name, *words, _axes([part for part in rest if not _is_word(part)]))


def _motion(drive: dict[str, Any], rest: Sequence[str | int]) -> str:
    """Return the name of a number of a drive: its speed, a coefficient of a polynomial, a value of a table."""
    kind, *which = rest
    if kind == "polynomial":
        power = int(which[0])
        return {0: "start", 1: "speed"}.get(power, f"coefficient of t^{power}")
    if kind == "table":
        k = int(which[-1])
        return f"value at {float(drive['table']['times'][k]):g} s"
    if kind == "step":
        return {"begin": "step begins", "end": "step ends"}.get(str(which[0]), f"step {which[0]}")
    return " ".join(str(part) for part in which)


def _end_of(rest: Sequence[str | int]) -> str:
    return str(rest[0]) if rest[0] in ("start", "end") else ""


def _owner(data: dict[str, Any], block: str, name: str, rest: Sequence[str | int]) -> str:
    """Return the rod on which a location lies."""
    entry = data[block][name]
    if "body" in entry:
        return str(entry["body"])
    bodies = next(v for v in entry.values() if isinstance(v, list) and isinstance(v[0], str))
    which = {"start": 0, "end": 1}.get(str(rest[0]))
    return str(bodies[int(rest[1]) if which is None else which])


def _axes(numbers: Sequence[str | int]) -> str:
    return "".join(AXES[int(k)] for k in numbers)


def _is_word(part: str | int) -> bool:
    return isinstance(part, str) and not part.isdigit()


def _joined(*words: str) -> str:
    return " ".join(word for word in words if word)
