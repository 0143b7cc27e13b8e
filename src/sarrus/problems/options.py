"""Options of problems as data: from it values are checked, commands get their options and lists are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, isfinite

from .problem import Problem


@dataclass(frozen=True)
class Option:
    """A number that a problem may be asked for with another value.

    meaning: what it is, in a few words; least and most: both allowed; whole: without a fraction; wanted: these
    bounds in words, empty if any number will do.
    """

    name: str
    default: float
    unit: str
    meaning: str
    wanted: str = ""
    least: float = -inf
    most: float = inf
    whole: bool = False

    def check(self, value: float) -> float:
        """The value, if it may be given; raises ValueError with a sentence."""
        if (
            isinstance(value, bool | str)
            or not isinstance(value, int | float)
            or not isfinite(value)
        ):
            raise ValueError(f"{self.name} = {value!r}; give a finite number")
        if not self.least <= value <= self.most or (self.whole and value != int(value)):
            raise ValueError(f"{self.name} = {self.show(value)}; give {self.wanted}")
        return int(value) if self.whole else value

    def show(self, value: float) -> str:
        """A value with its unit."""
        return f"{value:g} {self.unit}".rstrip()


SECTION = Option(
    "section",
    default=0.0,
    unit="m",
    meaning="section of Bricard's or the governor's rods",
    wanted="the side of a square, 0 for thin rods",
    least=0.0,
)


@dataclass(frozen=True)
class Maker:
    """Makes a problem from values of its options; those left out have their defaults."""

    make: Callable[..., Problem]
    options: tuple[Option, ...]

    def __call__(self, **given: float) -> Problem:
        """The problem, which keeps the values it was made with."""
        values = {o.name: o.check(given.get(o.name, o.default)) for o in self.options}
        return replace(self.make(**values), options=values)


def with_options(*options: Option) -> Callable[[Callable[..., Problem]], Maker]:
    """Declare the options of the function that makes a problem."""
    return lambda make: Maker(make, options)
