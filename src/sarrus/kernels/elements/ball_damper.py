"""Rotational dampers at ball joints: the moment is proportional to the relative angular velocity of two bodies.

u_1, u_2, u_3 and v_1, v_2, v_3 = eighteen forms: orthonormal directions of the first and of the second body
R_ij = u_i . v_j,      sum over i, j of R_ij'^2 = 2 |relative angular velocity|^2
w[u_i] = -c/2 sum_j R_ij' v_j,      w[v_j] = -c/2 sum_i R_ij' u_i
no potential energy,      non-conservative power -c/2 sum R_ij'^2 = -c |relative angular velocity|^2
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ..compiler import formula, kernel
from ..layout import NONE
from ..polynomials import add_damping, cauchy_rates, dot, dot_coefficient


class BallDampers(NamedTuple):
    """First of the eighteen forms of each damper, and its damping.

    Series coefficients of each: the nine products R_ij, row by row.
    """

    first: Ints
    damping: Floats
    products: Floats = NONE


@formula
def moment(damping: Any, spin: Any) -> Any:
    """Moment on the second body, from its angular velocity relative to the first."""
    return -damping * spin


def make_series(dampers: BallDampers, rows: int) -> BallDampers:
    """The dampers with memory for `rows` coefficients."""
    return dampers._replace(products=np.zeros((len(dampers.first), 9, rows)))


def list_entries(dampers: BallDampers) -> list[tuple[int, int]]:
    """Row and column of each entry of dw/df: a direction with itself, and with the three of the other body."""
    return [
        (row + a, column + b)
        for first in dampers.first
        for own, other in ((first, first + 9), (first + 9, first))
        for i in range(3)
        for row in (own + 3 * i,)
        for column in (row, other, other + 3, other + 6)
        for a in range(3)
        for b in range(3)
    ]


@kernel
def eval_rate(f, df, u, v):
    """Rate of the product of the forms u, u+1, u+2 and v, v+1, v+2."""
    return dot(df, u, f, v) + dot(f, u, df, v)


@kernel
def add_weights(dampers, f, df, w):
    """Add the moments of dampers."""
    for n in range(len(dampers.first)):
        first = dampers.first[n]
        for i in range(3):
            for j in range(3):
                u = first + 3 * i
                v = first + 9 + 3 * j
                x = 0.5 * dampers.damping[n] * eval_rate(f, df, u, v)
                for a in range(3):
                    w[u + a] -= x * f[v + a]
                    w[v + a] -= x * f[u + a]


@kernel
def add_derivatives(dampers, f, df, at, A, B):
    """The 216 entries of each damper, in the order of `list_entries`; returns the next index."""
    for n in range(len(dampers.first)):
        c = 0.5 * dampers.damping[n]
        for side in range(2):
            for i in range(3):
                own = dampers.first[n] + 9 * side + 3 * i
                other = dampers.first[n] + 9 - 9 * side
                at = own_derivatives(c, own, other, f, df, at, A, B)
                for j in range(3):
                    at = other_derivatives(c, own, other + 3 * j, f, df, at, A, B)
    return at


@kernel
def own_derivatives(c, u, other, f, df, at, A, B):
    """Derivatives of the force on a direction u with respect to u itself."""
    for a in range(3):
        for b in range(3):
            A[at] = 0.0
            B[at] = 0.0
            for j in range(3):
                v = other + 3 * j
                A[at] -= c * f[v + a] * df[v + b]
                B[at] -= c * f[v + a] * f[v + b]
            at += 1
    return at


@kernel
def other_derivatives(c, u, v, f, df, at, A, B):
    """Derivatives of the force on a direction u with respect to a direction v of the other body."""
    rate = eval_rate(f, df, u, v)
    for a in range(3):
        for b in range(3):
            A[at] = -c * f[v + a] * df[u + b]
            if a == b:
                A[at] -= c * rate
            B[at] = -c * f[v + a] * f[u + b]
            at += 1
    return at


@kernel
def add_power(dampers, f, df, total):
    """Add the power of the dampers."""
    for n in range(len(dampers.first)):
        first = dampers.first[n]
        for i in range(3):
            for j in range(3):
                rate = eval_rate(f, df, first + 3 * i, first + 9 + 3 * j)
                total -= 0.5 * dampers.damping[n] * rate * rate
    return total


@kernel
def add_moment(dampers, n, axis, f, w):
    """Add the forces of a unit moment about a coordinate axis on the second body, and its reaction."""
    p = (axis + 1) % 3
    r = (axis + 2) % 3
    for side in range(2):
        half = side - 0.5
        for i in range(3):
            x = dampers.first[n] + 9 * side + 3 * i
            # half the cross product of the axis with each direction
            w[x + r] += half * f[x + p]
            w[x + p] -= half * f[x + r]


@kernel
def add_coefficient(dampers, fc, k, w):
    """Coefficient k of the moments of dampers."""
    for n in range(len(dampers.first)):
        first = dampers.first[n]
        for i in range(3):
            for j in range(3):
                u = first + 3 * i
                v = first + 9 + 3 * j
                R = dampers.products[n, 3 * i + j]
                if k == 0:
                    R[0] = dot_coefficient(fc, u, v, 0)
                R[k + 1] = dot_coefficient(fc, u, v, k + 1)
                for a in range(3):
                    w[u + a] -= 0.5 * dampers.damping[n] * cauchy_rates(fc[v + a], R, k)
                    w[v + a] -= 0.5 * dampers.damping[n] * cauchy_rates(fc[u + a], R, k)


@kernel
def add_work(dampers, known, work):
    """Coefficients of the work of the dampers."""
    for n in range(len(dampers.first)):
        for i in range(9):
            add_damping(0.5 * dampers.damping[n], dampers.products[n, i], known, work)
