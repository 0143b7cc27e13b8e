"""Chebyshev interpolants of a function along the steps of a run, and their zeros and extremes.

On each interval [a, b], with x = (2 t - a - b) / (b - a) and Chebyshev points x_j of the first kind,

    f(t) = sum c_k T_k(x),      c = B f(x_j)      [Trefethen2019, ch. 3]

The motion of a step is a polynomial, so a few points resolve a smooth function of it; its last coefficients show
whether they do (last_terms). Interpolants of neighbouring intervals differ at their common end by the error of the
steps. A linear term closes that gap (close_gaps), so f is continuous: no zero is lost between two steps, and none
is found twice. Zeros of the derivative are eigenvalues of the colleague matrix [Good1961]; between them f is
monotone, so the signs of f at these points determine all zeros of f.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import chebyshev

from ..arrays import Flags, Floats

# eigenvalues this far off the interval are candidates; an unnecessary one does no harm
NEAR_REAL = 1e-4
# coefficients below this share of the largest are rounding: they would only add eigenvalues
ROUNDING = 1e-15
# iterations of Newton's method, safeguarded by bisection
MOST_ITERATIONS = 60
LAST_STEP = 1e-9


@cache
def points(count: int) -> Floats:
    """Chebyshev points of the first kind on -1 .. 1, increasing."""
    return -np.cos(np.pi * (np.arange(count) + 0.5) / count)


@cache
def _from_values(count: int) -> Floats:
    """The matrix B that converts values at the points to coefficients."""
    values = chebyshev.chebvander(points(count), count - 1)
    scale = np.full(count, 2.0 / count)
    scale[0] = 1.0 / count
    return np.ascontiguousarray(values * scale)


@cache
def _of_derivative(count: int) -> Floats:
    """The matrix that computes the count - 1 coefficients of the derivative by x."""
    return np.ascontiguousarray(chebyshev.chebder(np.eye(count), axis=1))


@cache
def from_powers(count: int) -> Floats:
    """The matrix that converts coefficients of s^k, s = (x + 1) / 2 from 0 to 1, to Chebyshev coefficients."""
    rows = np.zeros((count, count))
    rows[0, 0] = 1.0
    for k in range(1, count):
        rows[k, : k + 1] = chebyshev.chebmul(rows[k - 1, :k], [0.5, 0.5])[: k + 1]
    return rows


@cache
def at_points(terms: int, count: int) -> Floats:
    """The matrix that evaluates Chebyshev coefficients at the points."""
    return np.ascontiguousarray(chebyshev.chebvander(points(count), terms - 1).T)


def derivative(coefficients: Floats) -> Floats:
    """Coefficients of the derivative by x, (..., terms - 1)."""
    return np.asarray(coefficients @ _of_derivative(coefficients.shape[-1]))


@dataclass(frozen=True)
class Interpolants:
    """A function on adjacent intervals: their starts and ends [s], coefficients (n, terms)."""

    starts: Floats
    ends: Floats
    coefficients: Floats

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def at_start(self) -> Floats:
        """Values at the starts."""
        signs = 1.0 - 2.0 * (np.arange(self.coefficients.shape[1]) % 2)
        return np.asarray(self.coefficients @ signs)

    @property
    def at_end(self) -> Floats:
        """Values at the ends."""
        return np.asarray(self.coefficients.sum(axis=1))

    def some(self, rows: slice) -> Interpolants:
        """The interpolants of a slice."""
        return Interpolants(self.starts[rows], self.ends[rows], self.coefficients[rows])

    def close_gaps(self) -> Interpolants:
        """Continuous interpolants: each ends where the next one begins, if the intervals are adjacent."""
        gaps = self.at_start[1:] - self.at_end[:-1]
        gaps[self.starts[1:] > self.ends[:-1]] = 0.0
        coefficients = self.coefficients.copy()
        coefficients[:-1, :2] += 0.5 * gaps[:, None]
        return Interpolants(self.starts, self.ends, coefficients)


def from_values(starts: Floats, ends: Floats, values: Floats) -> Interpolants:
    """Interpolants of values at the points of each interval, (n, count)."""
    return Interpolants(starts, ends, values @ _from_values(values.shape[1]))


def join(parts: list[Interpolants]) -> Interpolants:
    """Concatenate in time; missing terms are filled with zeros."""
    terms = max(part.coefficients.shape[1] for part in parts)
    rows = [np.pad(p.coefficients, ((0, 0), (0, terms - p.coefficients.shape[1]))) for p in parts]
    starts = np.concatenate([p.starts for p in parts])
    order = np.argsort(starts, kind="stable")
    ends = np.concatenate([p.ends for p in parts])
    return Interpolants(starts[order], ends[order], np.concatenate(rows)[order])


def last_terms(coefficients: Floats) -> Floats:
    """Size of the last coefficients, an estimate of the interpolation error; infinite if they are NaN."""
    left = np.abs(coefficients[:, -3:]).max(axis=1)
    return np.where(np.isfinite(left), left, np.inf)


def may_vanish(coefficients: Floats, band: Floats) -> Flags:
    """Whether functions may come closer to zero than the band: |c_0| against the sum of all others."""
    sizes = np.abs(coefficients)
    return np.asarray(sizes[:, 0] <= sizes[:, 1:].sum(axis=1) + band)


def are_monotone(coefficients: Floats) -> Flags:
    """Whether derivatives keep their sign, by the same bound."""
    return ~may_vanish(derivative(coefficients), np.zeros(len(coefficients)))


def critical_points(c: Floats) -> Floats:
    """Points where the derivative may vanish, increasing, within -1 .. 1."""
    slope = derivative(c)
    if are_monotone(slope[None])[0]:
        # at most one zero: no eigenvalues are needed
        first, last = (clenshaw(slope.tolist(), x) for x in (-1.0, 1.0))
        return np.array([solve_zero(slope, -1.0, 1.0)] if first * last < 0.0 else [])
    sizes = np.abs(slope)
    kept = np.flatnonzero(sizes > ROUNDING * sizes.max(initial=0.0))
    if not len(kept) or kept[-1] == 0:
        return np.zeros(0)
    roots = chebyshev.chebroots(slope[: kept[-1] + 1])
    near = roots[(np.abs(roots.imag) < NEAR_REAL) & (np.abs(roots.real) < 1.0 + NEAR_REAL)].real
    inside = np.unique(_polished(slope, near))
    return inside[np.abs(inside) < 1.0]


def _polished(slope: Floats, x: Floats) -> Floats:
    """Zeros refined by two Newton steps, if these are small: eigenvalues have errors of about 1e-13."""
    curvature = derivative(slope)
    for _ in range(2):
        bend = np.asarray(chebyshev.chebval(x, curvature))
        flat = bend == 0.0
        step = np.where(flat, 0.0, chebyshev.chebval(x, slope) / np.where(flat, 1.0, bend))
        x = np.where(np.abs(step) < NEAR_REAL, x - step, x)
    return x


def solve_zero(c: Floats, low: float, high: float) -> float:
    """The zero between two points with opposite signs: Newton's method, safeguarded by bisection."""
    terms, slope = c.tolist(), derivative(c).tolist()
    first, last = clenshaw(terms, low), clenshaw(terms, high)
    rises = last > first
    x = (
        low + (high - low) * (first / (first - last))
        if rises != (first > 0.0)
        else 0.5 * (low + high)
    )
    for _ in range(MOST_ITERATIONS):
        value = clenshaw(terms, x)
        if (value > 0.0) == rises:
            high = x
        else:
            low = x
        rate = clenshaw(slope, x)
        step = value / rate if rate else np.inf
        # the next step would be the square of this one
        if abs(step) <= LAST_STEP:
            return min(max(x - step, -1.0), 1.0)
        x = x - step if low < x - step < high else 0.5 * (low + high)
    return x


def clenshaw(terms: list[float], x: float) -> float:
    """Sum of c_k T_k(x), for single numbers: NumPy takes ten times as long."""
    b, before = 0.0, 0.0
    for c in reversed(terms[1:]):
        b, before = 2.0 * x * b - before + c, b
    return x * b - before + terms[0]
