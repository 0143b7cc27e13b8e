"""Wide numbers: the sum of two doubles that do not overlap, some 32 digits [Dekker1971, HidaLiBailey2001].

The same kernels that work on numbers work on wide ones where they are given arrays of these: complex arrays, the
larger part real and the smaller one imaginary. Only where more digits ask for something else a kernel says so
with the words below. The compiler writes the operations here for those in the text; infinite numbers become none
(nan) in sums. Functions that it has not for wide numbers take rounded ones: these do where steps are chosen, and
for the angle of a torsion, where rounding is another moment, as smooth as before.

A sum is off by no more than some 2^-104 of its larger part, products, quotients and roots of themselves.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ..arrays import Floats


def is_wide(x: Any) -> bool:
    """Whether a number or an array is wide; the compiler knows."""
    return False


def alike(number: float, x: Any) -> Any:
    """A number as one of the kind of another, or of an array."""
    return number


def rounded(x: Any) -> Any:
    """A wide number as a double, others as they are: for what needs no more digits."""
    return x


def shortened(x: Any) -> Any:
    """The same, but a dual number keeps its derivatives: for functions that have no more digits than doubles."""
    return x


def widen(x: Floats) -> np.ndarray:
    """Doubles as wide numbers."""
    return x.astype(np.complex128)


def narrow(x: np.ndarray) -> Floats:
    """Wide numbers, or differences of some, rounded to doubles."""
    return np.asarray(x.real + x.imag)


def shift(x: np.ndarray, by: Floats | float) -> np.ndarray:
    """Wide numbers and far smaller doubles added."""
    low = x.imag + by
    high = x.real + low
    return np.asarray(high + 1j * (low - (high - x.real)))


def fused(a: float, b: float, c: float) -> float:
    """The sum a b + c, rounded once; one instruction in compiled code."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def exact(function: Any) -> Any:
    """A function whose roundings count, for the compiler."""
    function.exact = True
    return function


@exact
def split_sum(a, b):
    """The sum of two doubles and what rounding takes from it."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@exact
def join(a, b):
    """The same for a double and a smaller one."""
    s = a + b
    return s, b - (s - a)


@exact
def add(a, a_low, b, b_low):
    """The sum of two wide numbers."""
    s, low = split_sum(a, b)
    return join(s, low + (a_low + b_low))


@exact
def multiply(a, a_low, b, b_low):
    """Their product."""
    p = a * b
    return join(p, fused(a, b_low, fused(a_low, b, fused(a, b, -p))))


@exact
def divide(a, a_low, b, b_low):
    """Their quotient: one Newton step from that of the doubles."""
    q = a / b
    left = fused(-q, b_low, fused(-q, b, a) + a_low)
    return join(q, left / b)


@exact
def root(a, a_low):
    """The square root: the same."""
    r = np.sqrt(a)
    if r == 0.0:
        return r, 0.0
    return join(r, (fused(-r, r, a) + a_low) / (2.0 * r))


# pi / 2 in three doubles
HALF_PI, HALF_PI_LOW, HALF_PI_LAST = (
    1.5707963267948966,
    6.123233995736766e-17,
    -1.4973849048591698e-33,
)
# terms of the series of a sine below pi / 4: the next one is 1e-35
TERMS = 15


def sine_from(x, quarter):
    """The sine of a wide number and so many right angles, by its series."""
    turns = np.rint(rounded(x) / HALF_PI)
    left = ((x - turns * HALF_PI) - turns * HALF_PI_LOW) - turns * HALF_PI_LAST
    # of a whole turn: -2 to 2 right angles, and what is added to them
    part = (int(turns - 4.0 * np.rint(0.25 * turns)) + quarter + 4) % 4
    odd = part % 2
    square = left * left
    term = alike(1.0, x) if odd else left
    total = term
    for n in range(1, TERMS):
        k = 2 * n + 1 - odd
        term *= square / (-1.0 * k * (k - 1.0))
        total += term
    return total if part < 2 else -total


def sine(x):
    """The sine of a wide number."""
    return sine_from(x, 0)


def cosine(x):
    """Its cosine."""
    return sine_from(x, 1)
