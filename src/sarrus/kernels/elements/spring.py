"""Springs with dampers between points of two bodies.

    d = three forms, l = |d|, P = k (l - l0) + c l' + p,      w[d] = -P d / l
    potential energy 1/2 k (l - l0)^2 + p l,                  non-conservative power -c l'^2

Taylor coefficients, with r = P / l:

    l^2 = d . d       2 l_0 l_m = (d . d)_m - sum_{0<j<m} l_j l_{m-j}
    r l = P           l_0 r_k = P_k - sum_{j<k} r_j l_{k-j}
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ..compiler import formula, kernel
from ..layout import NONE, list_block
from ..polynomials import add_damping, cauchy, dot, dot_coefficient

# Parameters of a spring.
STIFFNESS, DAMPING, FREE, PRELOAD = 0, 1, 2, 3


class Springs(NamedTuple):
    """First of the three forms of each spring; rows of stiffness, damping, free length, preload.

    Series coefficients, one row per spring: length, tension divided by length.
    """

    first: Ints
    numbers: Floats
    length: Floats = NONE
    ratio: Floats = NONE


def numbers_of(spring: Any) -> tuple[float, float, float, float]:
    """Parameters of a mechanism's spring, in the order of the formula."""
    return spring.stiffness, spring.damping, spring.free_length, spring.preload


@formula
def pull(p: Any, length: Any, rate: Any) -> Any:
    """Tension of a spring with parameters p, from its length and the rate of that."""
    return p[STIFFNESS] * (length - p[FREE]) + p[DAMPING] * rate + p[PRELOAD]


@formula
def energy(p: Any, length: Any) -> Any:
    """Potential energy of a spring."""
    stretch = length - p[FREE]
    return 0.5 * p[STIFFNESS] * stretch * stretch + p[PRELOAD] * length


def make_series(springs: Springs, rows: int) -> Springs:
    """The springs with memory for `rows` coefficients."""
    size = len(springs.first), rows
    return springs._replace(length=np.zeros(size), ratio=np.zeros(size))


def list_entries(springs: Springs) -> list[tuple[int, int]]:
    """Row and column of each entry of dw/df."""
    return [entry for a in springs.first for entry in list_block(a, 3)]


@kernel
def eval_spring(springs, n, f, df):
    """Length of a spring, its rate, and its tension."""
    a = springs.first[n]
    length = np.sqrt(dot(f, a, f, a))
    rate = dot(f, a, df, a) / length
    return length, rate, pull(springs.numbers[n], length, rate)


@kernel
def add_weights(springs, f, df, w):
    """Add the forces of springs."""
    for n in range(len(springs.first)):
        length, _, P = eval_spring(springs, n, f, df)
        a = springs.first[n]
        for i in range(a, a + 3):
            w[i] -= P / length * f[i]


@kernel
def add_derivatives(springs, f, df, at, A, B):
    """The nine entries of each spring, row by row; returns the next index."""
    for n in range(len(springs.first)):
        length, rate, P = eval_spring(springs, n, f, df)
        a = springs.first[n]
        k = springs.numbers[n, STIFFNESS]
        c = springs.numbers[n, DAMPING]
        for i in range(a, a + 3):
            for j in range(a, a + 3):
                # The derivative of the length rate is (d' - rate d / l) / l.
                grow = k * f[j] + c * (df[j] - rate * f[j] / length)
                A[at] = -f[i] / (length * length) * (grow - P * f[j] / length)
                if i == j:
                    A[at] -= P / length
                B[at] = -c * f[i] * f[j] / (length * length)
                at += 1
    return at


@kernel
def add_energy(springs, f, total):
    """Add the potential energy of the springs."""
    for n in range(len(springs.first)):
        a = springs.first[n]
        total += energy(springs.numbers[n], np.sqrt(dot(f, a, f, a)))
    return total


@kernel
def add_power(springs, f, df, total):
    """Add the power of the dampers."""
    for n in range(len(springs.first)):
        c = springs.numbers[n, DAMPING]
        if c != 0.0:
            a = springs.first[n]
            total -= c * dot(f, a, df, a) ** 2 / dot(f, a, f, a)
    return total


@kernel
def add_direction(springs, n, f, w):
    """Add the forces of a unit tension of a spring."""
    a = springs.first[n]
    length = np.sqrt(dot(f, a, f, a))
    for i in range(a, a + 3):
        w[i] -= f[i] / length


@kernel
def length_coefficient(springs, n, fc, m):
    """Coefficient m of the length of a spring."""
    a = springs.first[n]
    length = springs.length[n]
    square = dot_coefficient(fc, a, a, m)
    if m == 0:
        length[0] = np.sqrt(square)
    else:
        length[m] = 0.5 * (square - cauchy(length, length, 1, m, m)) / length[0]


@kernel
def add_coefficient(springs, fc, k, w):
    """Coefficient k of the forces of springs."""
    for n in range(len(springs.first)):
        a = springs.first[n]
        p = springs.numbers[n]
        length = springs.length[n]
        ratio = springs.ratio[n]
        if k == 0:
            length_coefficient(springs, n, fc, 0)
        length_coefficient(springs, n, fc, k + 1)
        P = p[STIFFNESS] * length[k] + p[DAMPING] * (k + 1.0) * length[k + 1]
        if k == 0:
            P += p[PRELOAD] - p[STIFFNESS] * p[FREE]
        ratio[k] = (P - cauchy(ratio, length, 0, k, k)) / length[0]
        for i in range(3):
            w[a + i] -= cauchy(ratio, fc[a + i], 0, k + 1, k)


@kernel
def add_work(springs, known, work):
    """Coefficients of the work of the dampers."""
    for n in range(len(springs.first)):
        if springs.numbers[n, DAMPING] != 0.0:
            add_damping(springs.numbers[n, DAMPING], springs.length[n], known, work)
