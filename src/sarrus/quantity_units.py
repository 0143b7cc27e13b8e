"""Words of quantities and their units: "torque", "vx", "kinetic energy"; `quantities` reads their values."""

from __future__ import annotations

from typing import NamedTuple


class Level(NamedTuple):
    """A level of a motion: the letter before an axis, and the unit, also of the constraints' norm."""

    letter: str
    unit: str


LEVELS = {
    "position": Level("", "m"),
    "velocity": Level("v", "m/s"),
    "acceleration": Level("a", "m/s^2"),
}

TIME = "time"
# words and their units; words of points follow from the levels
UNITS = {
    **{f"{letter}{axis}": unit for letter, unit in LEVELS.values() for axis in "xyz"},
    "speed": "m/s",
    "acceleration": "m/s^2",
    "angle": "rad",
    "angular velocity": "rad/s",
    "angular acceleration": "rad/s^2",
    "travel": "m",
    "stroke": "m",
    "length": "m",
    "force": "N",
    "torque": "N m",
    "power": "W",
    "reaction": "N",
    "F": "N",
    "M": "N m",
    **{f"F{axis}": "N" for axis in "xyz"},
    **{f"M{axis}": "N m" for axis in "xyz"},
}
GLOBAL = {
    TIME: "s",
    "kinetic energy": "J",
    "potential energy": "J",
    "total energy": "J",
    "work": "J",
    "energy drift": "J",
    "violation": "m",
}
# force on the frame: its magnitude, then its components
SHAKING_FORCE = "shaking force"
FRAME = dict.fromkeys((SHAKING_FORCE, *(f"{SHAKING_FORCE} {axis}" for axis in "xyz")), "N")
# synonyms, as used in columns
SAME = {
    "drive torque": "torque",
    "drive force": "force",
    "drive power": "power",
    "orientation": "angle",
    "stroke": "travel",
    "reaction": "F",
}


def word_of_quantity(what: str) -> str:
    """The last words of a quantity, of "motor torque" the torque; empty if they are unknown."""
    text = what.strip()
    ends = [
        word
        for word in (*GLOBAL, *FRAME, *UNITS, *SAME)
        if text == word or text.endswith((f".{word}", f" {word}"))
    ]
    word = max(ends, key=len, default="")
    return SAME.get(word, word)


def unit_of_quantity(what: str) -> str:
    """Unit of a quantity by its last words; empty if they are unknown."""
    return {**UNITS, **GLOBAL, **FRAME}.get(word_of_quantity(what), "")
