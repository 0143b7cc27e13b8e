"""Double-double numbers: sums of two non-overlapping doubles, about 32 digits [Dekker1971, HidaLiBailey2001].

Kernels for doubles also work on double-double numbers if they are given arrays of these: complex arrays, with the
larger part real and the smaller one imaginary. Only where the precision requires different code, a kernel uses the
functions below. The compiler inserts the operations of this file for those in the source; infinite numbers become
nan in sums. Functions that are not available for double-double numbers take rounded ones. This is sufficient for
step selection, and for the angle of a torsion spring, where rounding amounts to a slightly different moment that
is as smooth as before.

The error of a sum is at most about 2^-104 of its larger part; that of products, quotients and roots is relative to
the result.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ..arrays import Floats


def is_wide(x: Any) -> bool:
    """Whether a number or an array is double-double; known at translation time."""
    return False


def alike(number: float, x: Any) -> Any:
    """Convert a number to the type of another number or of an array."""
    return number


def rounded(x: Any) -> Any:
    """Round a double-double number to a double, leave others unchanged: where doubles are sufficient."""
    return x


def shortened(x: Any) -> Any:
    """The same, but a dual number keeps its derivatives: for functions that are only as accurate as doubles."""
    return x


def widen(x: Floats) -> np.ndarray:
    """Doubles as double-double numbers."""
    return x.astype(np.complex128)


def narrow(x: np.ndarray) -> Floats:
    """Double-double numbers, or differences of them, rounded to doubles."""
    return np.asarray(x.real + x.imag)


def shift(x: np.ndarray, by: Floats | float) -> np.ndarray:
    """Sum of double-double numbers and far smaller doubles."""
    low = x.imag + by
    high = x.real + low
    return np.asarray(high + 1j * (low - (high - x.real)))


def fused(a: float, b: float, c: float) -> float:
    """The sum a b + c, rounded once; one instruction in compiled code."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def exact(function: Any) -> Any:
    """Mark a function whose rounding matters, for the compiler."""
    function.exact = True
    return function


@exact
def split_sum(a, b):
    """Sum of two doubles, and its rounding error."""
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
    """Sum of two double-double numbers."""
    s, low = split_sum(a, b)
    return join(s, low + (a_low + b_low))


@exact
def multiply(a, a_low, b, b_low):
    """Product of two double-double numbers."""
    p = a * b
    return join(p, fused(a, b_low, fused(a_low, b, fused(a, b, -p))))


@exact
def divide(a, a_low, b, b_low):
    """Quotient of two double-double numbers: one Newton step from that of the doubles."""
    q = a / b
    left = fused(-q, b_low, fused(-q, b, a) + a_low)
    return join(q, left / b)


@exact
def root(a, a_low):
    """Square root: one Newton step from that of the double."""
    r = np.sqrt(a)
    if r == 0.0:
        return r, 0.0
    return join(r, (fused(-r, r, a) + a_low) / (2.0 * r))


# pi / 2 in three doubles.
HALF_PI, HALF_PI_LOW, HALF_PI_LAST = (
    1.5707963267948966,
    6.123233995736766e-17,
    -1.4973849048591698e-33,
)
# Terms of the series of a sine below pi / 4: the next one is 1e-35.
TERMS = 15


def sine_from(x, quarter):
    """Sine of a double-double number plus `quarter` right angles, by its series."""
    turns = np.rint(rounded(x) / HALF_PI)
    left = ((x - turns * HALF_PI) - turns * HALF_PI_LOW) - turns * HALF_PI_LAST
    # Within a full turn: -2 to 2 right angles, plus `quarter`.
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
    """Sine of a double-double number."""
    return sine_from(x, 0)


def cosine(x):
    """Cosine of a double-double number."""
    return sine_from(x, 1)
