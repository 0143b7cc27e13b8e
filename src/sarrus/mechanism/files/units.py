"""Numbers with units at the edge of a file: `10 mm`, `30 deg`, `5 N/mm`; inside everything is SI.

A unit is a product of powers of a short table; its dimension counts metres, kilograms, seconds and
radians. The radian counts, so that an angle is not a plain number and a stiffness in N m/rad no torque.
Factors are exact fractions and a power of pi: 9.7 mm is the double 0.0097, and 180 deg is pi.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeGuard

from ...names import find_meant
from ...thresholds import LARGEST_NUMBER

Dimension = tuple[int, int, int, int]


class UnitError(ValueError):
    """What is wrong with a number or its unit, and what to give instead."""


@dataclass(frozen=True)
class Kind:
    """What a number measures: its name with an article, its dimension, the SI unit, an example."""

    name: str
    dimension: Dimension
    unit: str
    example: str


@dataclass(frozen=True)
class UnitQuantity:
    """A number in SI; dimension: None for a plain number, which fits everywhere; text: as written."""

    value: float
    dimension: Dimension | None
    text: str


NUMBER = Kind("a plain number", (0, 0, 0, 0), "", "0.5")
LENGTH = Kind("a length", (1, 0, 0, 0), "m", "10 mm")
MASS = Kind("a mass", (0, 1, 0, 0), "kg", "2 kg")
TIME = Kind("a time", (0, 0, 1, 0), "s", "10 s")
ANGLE = Kind("an angle", (0, 0, 0, 1), "rad", "30 deg")
FREQUENCY = Kind("a frequency", (0, 0, -1, 0), "Hz", "2 Hz")
VELOCITY = Kind("a velocity", (1, 0, -1, 0), "m/s", "1.5 m/s")
ANGULAR_VELOCITY = Kind("an angular velocity", (0, 0, -1, 1), "rad/s", "60 rpm")
ACCELERATION = Kind("an acceleration", (1, 0, -2, 0), "m/s^2", "9.81 m/s^2")
ANGULAR_ACCELERATION = Kind("an angular acceleration", (0, 0, -2, 1), "rad/s^2", "2 rad/s^2")
INERTIA = Kind("an inertia", (2, 1, 0, 0), "kg m^2", "0.1 kg m^2")
FORCE = Kind("a force", (1, 1, -2, 0), "N", "5 N")
TORQUE = Kind("a torque", (2, 1, -2, 0), "N m", "3 N m")
# not in KINDS: its dimension is that of a torque
ENERGY = Kind("an energy", (2, 1, -2, 0), "J", "5 J")
POWER = Kind("a power", (2, 1, -3, 0), "W", "20 W")
STIFFNESS = Kind("a stiffness", (0, 1, -2, 0), "N/m", "5 N/mm")
DAMPING = Kind("a damping", (0, 1, -1, 0), "N s/m", "2 N s/m")
TORSIONAL_STIFFNESS = Kind("a torsional stiffness", (2, 1, -2, -1), "N m/rad", "3 N m/rad")
TORSIONAL_DAMPING = Kind("a torsional damping", (2, 1, -1, -1), "N m s/rad", "0.1 N m s/rad")
KINDS = (
    NUMBER,
    LENGTH,
    MASS,
    TIME,
    ANGLE,
    FREQUENCY,
    VELOCITY,
    ANGULAR_VELOCITY,
    ACCELERATION,
    ANGULAR_ACCELERATION,
    INERTIA,
    FORCE,
    TORQUE,
    POWER,
    STIFFNESS,
    DAMPING,
    TORSIONAL_STIFFNESS,
    TORSIONAL_DAMPING,
)

# unit: exact factor, power of pi, dimension
_UNITS: dict[str, tuple[Fraction, int, Dimension]] = {
    "m": (Fraction(1), 0, LENGTH.dimension),
    "km": (Fraction(1000), 0, LENGTH.dimension),
    "cm": (Fraction(1, 100), 0, LENGTH.dimension),
    "mm": (Fraction(1, 1000), 0, LENGTH.dimension),
    "um": (Fraction(1, 10**6), 0, LENGTH.dimension),
    "in": (Fraction(254, 10**4), 0, LENGTH.dimension),
    "ft": (Fraction(3048, 10**4), 0, LENGTH.dimension),
    "kg": (Fraction(1), 0, MASS.dimension),
    "g": (Fraction(1, 1000), 0, MASS.dimension),
    "t": (Fraction(1000), 0, MASS.dimension),
    "lb": (Fraction(45359237, 10**8), 0, MASS.dimension),
    "s": (Fraction(1), 0, TIME.dimension),
    "ms": (Fraction(1, 1000), 0, TIME.dimension),
    "us": (Fraction(1, 10**6), 0, TIME.dimension),
    "min": (Fraction(60), 0, TIME.dimension),
    "h": (Fraction(3600), 0, TIME.dimension),
    "rad": (Fraction(1), 0, ANGLE.dimension),
    "mrad": (Fraction(1, 1000), 0, ANGLE.dimension),
    "deg": (Fraction(1, 180), 1, ANGLE.dimension),
    "rev": (Fraction(2), 1, ANGLE.dimension),
    "Hz": (Fraction(1), 0, FREQUENCY.dimension),
    "kHz": (Fraction(1000), 0, FREQUENCY.dimension),
    "rpm": (Fraction(1, 30), 1, ANGULAR_VELOCITY.dimension),
    "N": (Fraction(1), 0, FORCE.dimension),
    "mN": (Fraction(1, 1000), 0, FORCE.dimension),
    "kN": (Fraction(1000), 0, FORCE.dimension),
    "MN": (Fraction(10**6), 0, FORCE.dimension),
    "lbf": (Fraction(45359237, 10**8) * Fraction(980665, 10**5), 0, FORCE.dimension),
    "J": (Fraction(1), 0, ENERGY.dimension),
    "W": (Fraction(1), 0, POWER.dimension),
    "kW": (Fraction(1000), 0, POWER.dimension),
}
_OTHER_SPELLINGS = {"°": "deg", "µm": "um", "μm": "um", "µs": "us", "μs": "us"}
UNITS = tuple(_UNITS)
# words that are not units here, and what they mean
SPELT_OUT = {
    "meter": "m", "metre": "m", "millimeter": "mm", "millimetre": "mm", "inch": "in", "inche": "in", "foot": "ft",
    "feet": "ft", "gram": "g", "kilogram": "kg", "ton": "t", "tonne": "t", "pound": "lb", "second": "s",
    "sec": "s", "minute": "min", "hour": "h", "radian": "rad", "degree": "deg", "grad": "deg", "turn": "rev",
    "newton": "N", "joule": "J", "watt": "W", "hertz": "Hz", "nm": "N m",
}  # fmt: skip

# longer texts are not numbers of anybody; without the bound a fraction could fill the memory
MOST_CHARACTERS = 100
MOST_POWER = 9
LARGEST = LARGEST_NUMBER

_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_PLAIN = re.compile(_NUMBER)
_WITH_UNIT = re.compile(rf"({_NUMBER})\s*(.*)", re.DOTALL)
_FACTOR = re.compile(r"([A-Za-zµμ]+|°)(?:(?:\^|\*\*)(-?[0-9]{1,3})|([²³]))?")
_NOT_FINITE = re.compile(r"[-+]?\.?(?:inf|nan|infinity)", re.IGNORECASE)
_OTHER_BASE = re.compile(r"[-+]?0[xob]")
_VECTOR = re.compile(r"\s*\[([^\[\]]*)\]\s*(.*)", re.DOTALL)
_ANY_UNIT = r"[a-zA-Zµμ°][a-zA-Zµμ°0-9²³ /*·^-]*"


def parse_quantity(given: object) -> UnitQuantity:
    """A number, or text of a number and a unit, in SI."""
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        raise UnitError(f"{shorten(given)} is not a number")
    if isinstance(given, int | float):
        return UnitQuantity(_finite(given), None, repr(given))
    text = given.strip()
    if len(text) > MOST_CHARACTERS:
        raise UnitError(f"{shorten(text)} is not a number: it has {len(text)} characters")
    if _NOT_FINITE.fullmatch(text):
        raise UnitError(f"{shorten(text)} is not finite; give a finite number")
    found = None if _OTHER_BASE.match(text) else _WITH_UNIT.fullmatch(text)
    if not found:
        raise UnitError(f"{shorten(given)} is not a number")
    number, unit = found.groups()
    if not unit:
        return UnitQuantity(_finite(float(number)), None, text)
    if _PLAIN.match(unit) or not _FACTOR.match(unit):
        raise UnitError(f"{shorten(given)} is not a number")
    factor, power, dimension = parse_unit(unit)
    # a number out of the range of doubles must not become a huge fraction
    near = _finite(float(number))
    exact = Fraction(number) * factor if near else Fraction(0)
    return UnitQuantity(_finite(_times_pi(exact, power, near)), dimension, text)


def parse_unit(text: str) -> tuple[Fraction, int, Dimension]:
    """Exact factor, power of pi and dimension of a unit such as `kg m^2` or `N s/m`."""
    total, turns = Fraction(1), 0
    dimension = [0, 0, 0, 0]
    sign, place, divided = 1, 0, False
    while True:
        found = _FACTOR.match(text, place)
        if not found:
            raise UnitError(f"unit {shorten(text)} cannot be read; write it like N s/m or kg m^2")
        name, written, small = found.groups()
        unit = _UNITS.get(_OTHER_SPELLINGS.get(name, name))
        if unit is None:
            raise UnitError(
                f"there is no unit {shorten(name)}; known: {', '.join(UNITS)}{_meant(name)}"
            )
        power = sign * (int(written) if written else {"²": 2, "³": 3}.get(small, 1))
        if abs(power) > MOST_POWER:
            raise UnitError(f"unit {shorten(text)}: no unit has the power {power}")
        factor, pi, base = unit
        total *= factor**power
        turns += pi * power
        dimension = [d + power * b for d, b in zip(dimension, base, strict=True)]
        place = found.end()
        if place == len(text):
            return total, turns, (dimension[0], dimension[1], dimension[2], dimension[3])
        between = re.compile(r"\s*([/*·])\s*|\s+").match(text, place)
        if not between:
            raise UnitError(f"unit {shorten(text)} cannot be read; write it like N s/m or kg m^2")
        sign = -1 if between[1] == "/" else 1
        if divided and sign == 1:
            raise UnitError(
                f"unit {shorten(text)} can be read in two ways; write products before the slash, "
                "like N s/m, and a slash for each divisor, like m/s/s"
            )
        divided = divided or sign == -1
        place = between.end()


def _meant(name: str) -> str:
    """The unit that was probably meant: "KG" is kg, "degrees" is deg."""
    spellings = {word.lower(): word for word in reversed((*_UNITS, *_OTHER_SPELLINGS))}
    exact = spellings.get(name.lower()) or SPELT_OUT.get(name.lower().removesuffix("s"))
    meant = exact or find_meant(name, _UNITS)
    return f"; did you mean {meant}?" if meant else ""


def in_si(given: object, kind: Kind) -> float:
    """A number of a kind in SI units; a plain number is SI already."""
    if _is_plain(given):
        return given
    return as_kind(parse_for(given, kind), kind)


def kind_of_unit(unit: str) -> Kind:
    """The kind whose SI unit this is; that of plain numbers if there is none."""
    return next((kind for kind in (*KINDS, ENERGY) if kind.unit == unit), NUMBER)


def rate_of(kind: Kind, power: int) -> Kind:
    """The kind of a coefficient of t^power in a motion of this kind."""
    if power == 0:
        return kind
    length, mass, time, angle = kind.dimension
    dimension = (length, mass, time - power, angle)
    known = next((k for k in KINDS if k.dimension == dimension), None)
    unit = f"{kind.unit}/s" if power == 1 else f"{kind.unit}/s^{power}"
    return known or Kind(f"{kind.name} per s^{power}", dimension, unit, f"2 {unit}")


def as_kind(quantity: UnitQuantity, kind: Kind) -> float:
    """The value, if its unit is of this kind."""
    if quantity.dimension is None or quantity.dimension == kind.dimension:
        return quantity.value
    if kind.dimension == NUMBER.dimension:
        raise UnitError(f"{shorten(quantity.text)} has a unit; {wanted(kind)}")
    raise UnitError(f"{shorten(quantity.text)} is {describe(quantity.dimension)}; {wanted(kind)}")


def vector_in_si(given: object, kind: Kind) -> list[float]:
    """Numbers of one kind: a list, or text such as `[10, 20] mm`."""
    if isinstance(given, list) and all(map(_is_plain, given)):
        return given[:]
    return [as_kind(part, kind) for part in parse_vector(given, kind)]


def parse_vector(given: object, kind: Kind) -> list[UnitQuantity]:
    """Numbers that belong together, their kind not yet checked; kind: what to advise."""
    if isinstance(given, str):
        given = _split_vector(given, kind)
    if not isinstance(given, list | tuple):
        raise UnitError(f"{shorten(given)} is not a list of numbers; {wanted_vector(kind)}")
    parts = [parse_for(entry, kind, f"entry {i + 1}: ") for i, entry in enumerate(given)]
    bare = [p for p in parts if p.dimension is None and p.value != 0]
    dressed = [p for p in parts if p.dimension is not None]
    if bare and dressed:
        raise UnitError(
            f"{shorten(bare[0].text)} has no unit but {shorten(dressed[0].text)} has one; "
            "give each number its unit, or none"
        )
    return parts


def number_pattern(*kinds: Kind) -> str:
    """A regular expression for editors: a number and perhaps a unit of these kinds."""
    return rf"^\s*{_NUMBER}(\s*({'|'.join(map(_unit_pattern, kinds))}))?\s*$"


def vector_pattern(kind: Kind) -> str:
    """A regular expression for editors: a list as text, and perhaps a unit."""
    return rf"^\s*\[[^\[\]]*\](\s*({_unit_pattern(kind)}))?\s*$"


def wanted(kind: Kind) -> str:
    """What to write for a number of a kind."""
    if kind.dimension == NUMBER.dimension:
        return f"give {kind.name}, like {kind.example}"
    return f"give {kind.name}, like {kind.example}, or a plain number of {kind.unit}"


def wanted_vector(kind: Kind) -> str:
    """What to write for numbers of a kind."""
    if kind.dimension == NUMBER.dimension:
        return "give plain numbers, like [1, 0]"
    unit = kind.example.split(" ", 1)[1]
    return f'give numbers, like [1, 2] in {kind.unit} or "[1, 2] {unit}"'


def describe(dimension: Dimension) -> str:
    """The name of a kind with this dimension, else its SI units."""
    for kind in KINDS:
        if kind.dimension == dimension:
            return kind.name
    named = zip(("m", "kg", "s", "rad"), dimension, strict=True)
    return f"of unit {' '.join(f'{unit}^{power}' for unit, power in named if power)}"


def shorten(given: object, size: int = 40) -> str:
    """Something of a file as text of one line in quotes, cut to a readable length."""
    if given is None:
        return "nothing"
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, list | tuple | dict):
        return "a list" if not isinstance(given, dict) else "a mapping"
    text = given if isinstance(given, str) else repr(given)
    line = "".join(c if c.isprintable() else "?" for c in text[: size + 1])
    line = line if len(line) <= size else line[: size - 3] + "..."
    return f"'{line}'" if isinstance(given, str) else line


def _is_plain(given: object) -> TypeGuard[float]:
    """Whether nothing has to be parsed or rejected, as with data that come from a mechanism."""
    return type(given) is float and -LARGEST <= given <= LARGEST


def _unit_pattern(kind: Kind) -> str:
    # units of one word are listed, of products any is let through
    spelled = {**{name: name for name in _UNITS}, **_OTHER_SPELLINGS}
    words = [word for word, name in spelled.items() if _UNITS[name][2] == kind.dimension]
    return _ANY_UNIT if " " in kind.unit or "/" in kind.unit else "|".join(words) or "$"


def parse_for(given: object, kind: Kind, where: str = "") -> UnitQuantity:
    """A quantity of any kind; what is not a number is answered with what to write for this one."""
    try:
        return parse_quantity(given)
    except UnitError as error:
        advice = "" if ";" in str(error) else f"; {wanted(kind)}"
        raise UnitError(f"{where}{error}{advice}") from None


def _split_vector(text: str, kind: Kind) -> list[str]:
    found = _VECTOR.fullmatch(text)
    if not found:
        raise UnitError(f"{shorten(text)} is not a list of numbers; {wanted_vector(kind)}")
    inside, unit = found.groups()
    entries = [entry.strip() for entry in inside.split(",")]
    if not unit.strip():
        return entries
    for entry in entries:
        if not _PLAIN.fullmatch(entry):
            raise UnitError(
                f"{shorten(text)}: {shorten(entry)} is not a plain number; write the unit once, after "
                "the list"
            )
    return [f"{entry} {unit.strip()}" for entry in entries]


def _finite(value: float) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise UnitError(f"{shorten(number)} is not finite; give a finite number")
    if abs(number) > LARGEST:
        raise UnitError(f"{number:g} is larger than {LARGEST:g}; check its digits and its unit")
    return number


def _times_pi(exact: Fraction, power: int, near: float) -> float:
    if not exact:
        # keep the sign of a zero
        return near * 0.0
    try:
        return float(exact) * math.pi**power
    except OverflowError:
        return math.inf
