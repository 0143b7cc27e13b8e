"""Logarithm, exponential, sine, cosine, tangents and arc tangent: one source for every target.

The translator uses these for `np.log`, `np.exp`, `np.sin`, `np.cos` and `np.arctan2`, for numbers and for SIMD
lanes, so that the same kernel gives the same bits on the host, in lanes and on a GPU, independent of the system
library. Errors are below three units in the last place for arguments whose reduction is exact (sine and cosine: up
to 1e9). Arguments are reduced as usual [CodyWaite1980]; the remainder is evaluated by a polynomial whose
truncation error is below rounding.
"""

import numpy as np

from .compiler import kernel
from .double_double import fused
from .simd import choose

LOG_TWO_HIGH, LOG_TWO_LOW = 0.6931471803691238, 1.9082149292705877e-10
ONE_OVER_LOG_TWO = 1.4426950408889634
ROOT_HALF = 0.7071067811865476
SMALLEST_NORMAL = 2.2250738585072014e-308
# Beyond these an exponential is infinite or zero.
LARGEST_POWER, SMALLEST_POWER = 709.8, -746.0
# pi / 2 in three doubles
HALF_PI, HALF_PI_LOW, HALF_PI_LAST = (
    1.5707963267948966,
    6.123233995736766e-17,
    -1.4973849048591698e-33,
)
TWO_OVER_PI = 0.6366197723675814
# tan(pi / 8)
TAN_EIGHTH = 0.41421356237309503
# Coefficients of the series: artanh, exp, sine and cosine, atan.
ARTANH = 1.0 / np.arange(1.0, 26.0, 2.0)
FACTORIAL = np.cumprod(np.append(1.0, 1.0 / np.arange(1.0, 18.0)))
SINE = FACTORIAL[1::2] * np.array([1.0, -1.0] * 5)[:9]
COSINE = FACTORIAL[0::2] * np.array([1.0, -1.0] * 5)[:9]
TANH = np.array([1.0, -1.0 / 3.0, 2.0 / 15.0, -17.0 / 315.0, 62.0 / 2835.0, -1382.0 / 155925.0])
# Below this the next term of that series is below rounding.
TANH_NEAR = 0.05
ATAN = np.array([1.0, -1.0] * 12)[:23] / np.arange(1.0, 46.0, 2.0)


@kernel
def horner(coefficients, x):
    """Evaluate the polynomial with these coefficients."""
    s = 0.0
    for k in range(len(coefficients) - 1, -1, -1):
        s = s * x + coefficients[k]
    return s


@kernel
def log(x):
    """n log 2 + 2 artanh((y - 1) / (y + 1)) for x = 2^n y."""
    tiny = x < SMALLEST_NORMAL
    y, n = np.frexp(choose(tiny, x * 2.0**54, x))
    n = choose(tiny, n - 54.0, n)
    low = y < ROOT_HALF
    y = choose(low, 2.0 * y, y)
    n = choose(low, n - 1.0, n)
    z = (y - 1.0) / (y + 1.0)
    found = n * LOG_TWO_HIGH + (2.0 * z * horner(ARTANH, z * z) + n * LOG_TWO_LOW)
    found = choose(x == np.inf, x, found)
    # Zero, negative numbers and nan.
    return choose(x > 0.0, found, choose(x == 0.0, -np.inf, np.nan))


@kernel
def exp(x):
    """Exponential, by x = n log 2 + r."""
    y = choose(x > LARGEST_POWER, LARGEST_POWER, choose(x < SMALLEST_POWER, SMALLEST_POWER, x))
    n = np.rint(y * ONE_OVER_LOG_TWO)
    r = fused(-n, LOG_TWO_LOW, fused(-n, LOG_TWO_HIGH, y))
    # In two factors, so that each is within the range of doubles.
    half = np.rint(0.5 * n)
    s = horner(FACTORIAL, r)
    return np.ldexp(np.ldexp(s, int(half)), int(n - half))


@kernel
def sine_from(x, quarter):
    """Sine of x plus `quarter` right angles."""
    turns = np.rint(x * TWO_OVER_PI)
    r = fused(-turns, HALF_PI_LAST, fused(-turns, HALF_PI_LOW, fused(-turns, HALF_PI, x)))
    # Quadrant: 0 .. 3 right angles.
    part = turns + quarter
    part = part - 4.0 * np.rint(0.25 * part)
    part = choose(part < 0.0, part + 4.0, part)
    rr = r * r
    odd = (part == 1.0) | (part == 3.0)
    s = choose(odd, horner(COSINE, rr), r * horner(SINE, rr))
    return choose(part < 1.5, s, -s)


@kernel
def sin(x):
    """Sine."""
    return sine_from(x, 0.0)


@kernel
def cos(x):
    """Cosine."""
    return sine_from(x, 1.0)


@kernel
def tan(x):
    """Tangent."""
    return sine_from(x, 0.0) / sine_from(x, 1.0)


@kernel
def tanh(x):
    """Hyperbolic tangent: (1 - e) / (1 + e) with e = exp(-2 |x|), and its series near zero."""
    size = abs(x)
    e = exp(-2.0 * size)
    far = choose(x < 0.0, e - 1.0, 1.0 - e) / (1.0 + e)
    return choose(size < TANH_NEAR, x * horner(TANH, x * x), far)


@kernel
def arctan2(y, x):
    """Angle of (x, y), from -pi to pi."""
    a, b = abs(x), abs(y)
    steep = b > a
    long = choose(steep, b, a)
    t = choose(steep, a, b) / choose(long > 0.0, long, 1.0)
    # Near the diagonal: atan t = pi / 4 + atan((t - 1) / (t + 1)).
    far = t > TAN_EIGHTH
    u = choose(far, (t - 1.0) / (t + 1.0), t)
    angle = u * horner(ATAN, u * u)
    angle = choose(far, 0.5 * HALF_PI + (angle + 0.5 * HALF_PI_LOW), angle)
    angle = choose(steep, HALF_PI - (angle - HALF_PI_LOW), angle)
    angle = choose(x < 0.0, 2.0 * HALF_PI - (angle - 2.0 * HALF_PI_LOW), angle)
    return choose(y < 0.0, -angle, angle)
