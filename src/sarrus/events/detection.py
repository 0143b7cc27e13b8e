"""From samples of a function to events: crossings of a value, tangent contacts, extremes.

The function is continuous and monotone between samples, which are read in order of time. Values smaller than the
band are not distinguished from zero; the band is wider than the error of the run. Definitions:

    crossing          a zero, with the function outside the band and of opposite sign on both sides of it
    tangent contact   the function enters the band (also by two close zeros) and leaves it with the same sign
    extreme           before and after it the function is farther away than the band

The start is not an event: a function that begins inside the band must leave it first. A function that enters the
band and stays there is not an event either: it settles at the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

# number of samples inside the band after which a function has settled, or an extreme is flat
MOST_INSIDE = 64

RISING, FALLING, TANGENT = "rising", "falling", "tangent"
MAXIMUM, MINIMUM = "maximum", "minimum"


class Place(NamedTuple):
    """A sample of the function: time [s], value minus the wanted value, width of the band.

    width: of the interval [s]; zero: whether it is a located zero; rate: derivative of the function [1/s].
    """

    time: float
    value: float
    band: float
    width: float = 0.0
    zero: bool = False
    rate: float = 0.0


class Found(NamedTuple):
    """An event: its sample and kind; sign: of the function before it."""

    place: Place
    kind: str
    sign: int


class Crossings:
    """Finds where a function reaches zero.

    side: the sign of the function before the first sample, where a run continues after an event; then leaving the
    band on the other side is a crossing, and leaving it on this side is not a contact.
    """

    def __init__(self, side: int = 0) -> None:
        self._sign, self._continues = side, side != 0
        # samples inside the band since the function was last outside
        self._inside: list[Place] = []
        # time at which it first settled at the value [s]
        self.settled: float | None = None

    @property
    def since(self) -> float | None:
        """The earliest time that may still become an event [s]."""
        return self._inside[0].time if self._inside else None

    def read(self, place: Place) -> Iterator[Found]:
        """Process the next sample."""
        if place.zero or abs(place.value) <= place.band:
            if self._sign:
                self._inside.append(place)
            if len(self._inside) > MOST_INSIDE:
                self.settled = self._inside[0].time if self.settled is None else self.settled
                # a side that a run continues from remains the admissible one
                self._sign, self._inside = self._sign if self._continues else 0, []
            return
        sign = 1 if place.value > 0.0 else -1
        if self._sign and self._inside:
            yield from self._leave(sign)
        self._sign, self._inside, self._continues = sign, [], False

    def _leave(self, sign: int) -> Iterator[Found]:
        zeros = [p for p in self._inside if p.zero]
        if sign != self._sign:
            kind = RISING if sign > 0 else FALLING
            # rounding may turn one zero into three
            yield Found((zeros or self._inside)[len(zeros or self._inside) // 2], kind, self._sign)
            return
        contacts = [p for p in self._inside if not p.zero]
        if contacts and not self._continues:
            deepest = min(contacts, key=lambda p: self._sign * p.value)
            yield Found(deepest, TANGENT, self._sign)

    def finish(self) -> Iterator[Found]:
        """The run ends: zeros among the last samples count."""
        zeros = [p for p in self._inside if p.zero]
        if len(zeros) == 1:
            kind = FALLING if self._sign > 0 else RISING
            yield Found(zeros[0], kind, self._sign)
        elif self._inside:
            # at the end of the run the function may not have reached its minimum
            deepest = min(self._inside, key=lambda p: self._sign * p.value)
            if deepest is not self._inside[-1]:
                yield from self._leave(self._sign)
        self._inside = []


class Extremes:
    """Finds where a function has an extreme."""

    def __init__(self) -> None:
        # 0: neither rising nor falling yet
        self._sign = 0
        self._low: Place | None = None
        self._high: Place | None = None
        # samples since the last extreme
        self._flat = 0
        self.settled: float | None = None

    @property
    def since(self) -> float | None:
        """The earliest time that may still become an event [s]."""
        last = self._high if self._sign > 0 else self._low
        return None if last is None or not self._sign else last.time

    def read(self, place: Place) -> Iterator[Found]:
        """Process the next sample."""
        if self._low is None or self._high is None:
            self._low = self._high = place
            return
        self._flat += 1
        # on a flat extreme any instant is as good
        reach = place.band if self._sign != 0 and self._flat > MOST_INSIDE else 0.0
        if self._sign >= 0 and place.value > self._high.value - reach:
            self._high, self._flat = place, 0
        if self._sign <= 0 and place.value < self._low.value + reach:
            self._low, self._flat = place, 0
        if self._sign >= 0 and place.value < self._high.value - place.band:
            if self._sign:
                yield Found(self._high, MAXIMUM, 1)
            self._sign, self._low, self._flat = -1, place, 0
        elif self._sign <= 0 and place.value > self._low.value + place.band:
            if self._sign:
                yield Found(self._low, MINIMUM, -1)
            self._sign, self._high, self._flat = 1, place, 0

    def finish(self) -> Iterator[Found]:
        """The run ends: whether the function has an extreme there is unknown."""
        return iter(())
