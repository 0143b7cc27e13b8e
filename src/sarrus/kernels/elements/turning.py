"""Body-fixed forces and torques, which rotate with a body, and torques on a body: products with a form.

w[a] = c f[b],      power c f[b] f'[a], non-conservative
"""

from __future__ import annotations

from typing import NamedTuple

from ...arrays import Floats, Ints
from ..compiler import kernel
from ..polynomials import add_product


class Turning(NamedTuple):
    """The form that each product acts on, the form it is proportional to, and its factor."""

    a: Ints
    b: Ints
    c: Floats


def list_entries(turning: Turning) -> list[tuple[int, int]]:
    """Row and column of each entry of dw/df."""
    return list(zip(turning.a, turning.b, strict=True))


@kernel
def add_weights(turning, f, w):
    """Add the body-fixed forces."""
    for n in range(len(turning.c)):
        w[turning.a[n]] += turning.c[n] * f[turning.b[n]]


@kernel
def add_derivatives(turning, at, A, B):
    """One entry each; returns the next index."""
    for n in range(len(turning.c)):
        A[at] = turning.c[n]
        B[at] = 0.0
        at += 1
    return at


@kernel
def add_power(turning, f, df, total):
    """Add the power of body-fixed forces."""
    for n in range(len(turning.c)):
        total += turning.c[n] * f[turning.b[n]] * df[turning.a[n]]
    return total


@kernel
def add_coefficient(turning, fc, k, w):
    """Coefficient k of body-fixed forces."""
    for n in range(len(turning.c)):
        w[turning.a[n]] += turning.c[n] * fc[turning.b[n], k]


@kernel
def add_work(turning, fc, known, work):
    """Coefficients of the work of body-fixed forces."""
    for n in range(len(turning.c)):
        add_product(turning.c[n], fc[turning.b[n]], fc[turning.a[n]], known, work)
