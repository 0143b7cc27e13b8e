"""Forces of a user: w = what a function of (t, positions, velocities) of some points returns.

The law is the user's; how it is called: user_function.py. It has no Taylor series, and no potential that is
known: all of its power is counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ..compiler import kernel
from ..layout import list_block
from ..user_function import call_user

# columns of the calls
ADDRESS, FIRST, POINTS, DIMENSION = 0, 1, 2, 3

# differences for the derivatives, of 1 + |x|: the error of a Newton matrix, no more
DIFFERENCE = 1e-6


class User(NamedTuple):
    """Rows of address, first form, points, dimension; newtons to the model's units."""

    calls: Ints
    factor: Floats


def count_forms(user: User) -> int:
    """How many of the load forms are places of their points."""
    return int(np.sum(user.calls[:, POINTS] * user.calls[:, DIMENSION]))


def list_entries(user: User) -> list[tuple[int, int]]:
    """Row and column of each entry of dw/df."""
    return [
        entry
        for _, a, points, dimension in user.calls
        for entry in list_block(a, points * dimension)
    ]


@kernel
def add_weights(user, t, f, df, w):
    """What users' functions say; their forms are theirs alone."""
    for n in range(len(user.calls)):
        a = user.calls[n, FIRST]
        b = a + user.calls[n, POINTS] * user.calls[n, DIMENSION]
        call_user(user.calls[n, ADDRESS], t, f[a:b], df[a:b], w[a:b])
        for i in range(a, b):
            w[i] *= user.factor[n]


@kernel
def add_derivatives(user, t, f, df, scratch, at, A, B):
    """The entries of each force, row by row, by central differences; returns the next place.

    scratch: numbers of the length of f.
    """
    for n in range(len(user.calls)):
        a = user.calls[n, FIRST]
        size = user.calls[n, POINTS] * user.calls[n, DIMENSION]
        b = a + size
        for j in range(size):
            for level in range(2):
                x = f if level == 0 else df
                D = A if level == 0 else B
                kept = x[a + j]
                step = DIFFERENCE * (1.0 + abs(kept))
                x[a + j] = kept + step
                call_user(user.calls[n, ADDRESS], t, f[a:b], df[a:b], scratch[a:b])
                for i in range(size):
                    D[at + i * size + j] = scratch[a + i]
                x[a + j] = kept - step
                call_user(user.calls[n, ADDRESS], t, f[a:b], df[a:b], scratch[a:b])
                for i in range(size):
                    D[at + i * size + j] -= scratch[a + i]
                    D[at + i * size + j] *= user.factor[n] / (2.0 * step)
                x[a + j] = kept
        at += size * size
    return at


@kernel
def add_power(user, df, w, total):
    """Add the power of users' forces, from what they exert."""
    for n in range(len(user.calls)):
        a = user.calls[n, FIRST]
        for i in range(a, a + user.calls[n, POINTS] * user.calls[n, DIMENSION]):
            total += w[i] * df[i]
    return total
