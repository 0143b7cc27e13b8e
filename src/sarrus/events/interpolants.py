"""Chebyshev interpolants of a function along the steps of a run.

On each interval [a, b], with x = (2 t - a - b) / (b - a) and Chebyshev points x_j of the first kind,

    f(t) = sum c_k T_k(x),      c = B f(x_j)      [Trefethen2019, ch. 3]

The motion of a step is a polynomial, so a few points resolve a smooth function of it; its last coefficients show
whether they do (last_terms). Events are searched in Bernstein coefficients of the same polynomials.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import comb, lcm

import numpy as np
from numpy.polynomial import chebyshev

from ..arrays import Floats, plain_sum

# coefficients below this share of the largest are rounding
ROUNDING = 1e-16


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
def from_powers(terms: int) -> Floats:
    """The matrix from coefficients of s^k to Bernstein coefficients of the same degree: C(j,k) / C(n,k)."""
    n = terms - 1
    return np.array([[comb(j, k) / comb(n, k) for k in range(terms)] for j in range(terms)])


@cache
def _from_chebyshev(terms: int) -> Floats:
    """The matrix that converts Chebyshev coefficients on 0 .. 1 to Bernstein coefficients.

    T_k has integer coefficients in powers of s; they are converted exactly, and rounded once.
    """
    n, powers = terms - 1, [[1], [-1, 2]]
    for _ in range(2, terms):
        # T_k = 2 (2 s - 1) T_{k-1} - T_{k-2}
        one, two = powers[-1], powers[-2]
        new = [0] * (len(one) + 1)
        for i, c in enumerate(one):
            new[i] -= 2 * c
            new[i + 1] += 4 * c
        for i, c in enumerate(two):
            new[i] -= c
        powers.append(new)
    # s^i has the coefficients C(j,i) / C(n,i)
    common = lcm(*(comb(n, i) for i in range(terms)))
    shares = [[common // comb(n, i) * comb(j, i) for i in range(terms)] for j in range(terms)]
    return np.array([[_dot(p, share) / common for share in shares] for p in powers[:terms]])


def _dot(a: list[int], b: list[int]) -> int:
    return plain_sum(x * y for x, y in zip(a, b, strict=False))


@dataclass(frozen=True)
class Interpolants:
    """A function on adjacent intervals: their starts and ends [s], coefficients (n, terms)."""

    starts: Floats
    ends: Floats
    coefficients: Floats

    def __len__(self) -> int:
        return len(self.starts)

    def some(self, rows: np.ndarray) -> Interpolants:
        """Some of the interpolants."""
        return Interpolants(self.starts[rows], self.ends[rows], self.coefficients[rows])

    def bernstein(self) -> Floats:
        """Bernstein coefficients, (n, terms); terms that are rounding would only disturb their signs."""
        sizes = np.abs(self.coefficients)
        kept = np.where(sizes > ROUNDING * sizes.max(axis=1, keepdims=True), self.coefficients, 0.0)
        return np.asarray(kept @ _from_chebyshev(kept.shape[1]))


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
