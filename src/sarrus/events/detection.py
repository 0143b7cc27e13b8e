"""From places along a function to events: crossings of a value, tangent contacts, extremes.

A function that is continuous and monotone between its places, read in the order of time. What is smaller than the
band is not told from zero: a band wider than the error of the run. So

    a crossing is a zero, and the function is outside of the band on both sides of it, with other signs
    a tangent contact: it comes into the band (also by two zeros so close together) and leaves it with its sign
    an extreme: before and behind it the function is farther away than the band

The start is not an event: a function that begins inside the band has to leave it first. The same holds for one
that comes into the band and stays there: it settles at the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

# places inside the band after which a function is settled, or an extreme is flat
MOST_INSIDE = 64

RISING, FALLING, TANGENT = "rising", "falling", "tangent"
MAXIMUM, MINIMUM = "maximum", "minimum"


class Place(NamedTuple):
    """A value of the function: when [s], the value less the wanted one, how wide the band is there.

    width: of the interval [s]; zero: whether it is a located zero; rate: of the function there [1/s].
    """

    time: float
    value: float
    band: float
    width: float = 0.0
    zero: bool = False
    rate: float = 0.0


class Found(NamedTuple):
    """An event: its place and kind; sign: of the function before it."""

    place: Place
    kind: str
    sign: int


class Crossings:
    """Finds where a function reaches zero."""

    def __init__(self) -> None:
        self._sign = 0
        # places inside the band since it was last outside
        self._inside: list[Place] = []
        # when it settled at the value first [s]
        self.settled: float | None = None

    @property
    def since(self) -> float | None:
        """The first time that may still become an event [s]."""
        return self._inside[0].time if self._inside else None

    def read(self, place: Place) -> Iterator[Found]:
        """Take the next place."""
        if place.zero or abs(place.value) <= place.band:
            if self._sign:
                self._inside.append(place)
            if len(self._inside) > MOST_INSIDE:
                self.settled = self._inside[0].time if self.settled is None else self.settled
                self._sign, self._inside = 0, []
            return
        sign = 1 if place.value > 0.0 else -1
        if self._sign and self._inside:
            yield from self._leave(sign)
        self._sign, self._inside = sign, []

    def _leave(self, sign: int) -> Iterator[Found]:
        zeros = [p for p in self._inside if p.zero]
        if sign != self._sign:
            kind = RISING if sign > 0 else FALLING
            # rounding may make three zeros of one
            yield Found((zeros or self._inside)[len(zeros or self._inside) // 2], kind, self._sign)
            return
        contacts = [p for p in self._inside if not p.zero]
        if contacts:
            deepest = min(contacts, key=lambda p: self._sign * p.value)
            yield Found(deepest, TANGENT, self._sign)

    def finish(self) -> Iterator[Found]:
        """The run ends: zeros among the last places count."""
        zeros = [p for p in self._inside if p.zero]
        if len(zeros) == 1:
            kind = FALLING if self._sign > 0 else RISING
            yield Found(zeros[0], kind, self._sign)
        elif self._inside:
            # where the run ends the function may still be on its way
            deepest = min(self._inside, key=lambda p: self._sign * p.value)
            if deepest is not self._inside[-1]:
                yield from self._leave(self._sign)
        self._inside = []


class Extremes:
    """Finds where a function turns back."""

    def __init__(self) -> None:
        # 0: neither rising nor falling yet
        self._sign = 0
        self._low: Place | None = None
        self._high: Place | None = None
        # places since the last extreme
        self._flat = 0
        self.settled: float | None = None

    @property
    def since(self) -> float | None:
        """The first time that may still become an event [s]."""
        last = self._high if self._sign > 0 else self._low
        return None if last is None or not self._sign else last.time

    def read(self, place: Place) -> Iterator[Found]:
        """Take the next place."""
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
        """The run ends: nothing tells whether the function turns back there."""
        return iter(())
