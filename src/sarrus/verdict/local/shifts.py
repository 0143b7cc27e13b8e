"""Polynomials in s and c as dictionaries, counted from a series c = centre(s)."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np

from ...arrays import Floats

# an equation: exponents (of s, of every c) and coefficient
Equation = dict[tuple[int, ...], float]


def recentred(equation: Equation, centre: Floats) -> Equation:
    """The equation in c' = c - centre(s), up to the order of the centre."""
    most = centre.shape[1]
    powers = powers_of(centre, max((max(k[1:]) for k in equation), default=0))
    out: dict[tuple[int, ...], Floats] = {}
    for (i, *J), c in equation.items():
        if i >= most:
            continue
        start = np.zeros(most)
        start[i] = c
        for K in product(*(range(j + 1) for j in J)):
            share = start
            for v, (j, k) in enumerate(zip(J, K, strict=True)):
                if j > k:
                    share = np.convolve(share, powers[v][j - k])[:most] * comb(j, k)
            out[K] = out.get(K, np.zeros(most)) + share
    return {(int(i), *K): float(row[i]) for K, row in out.items() for i in np.flatnonzero(row)}


def powers_of(series: Floats, last: int) -> list[list[Floats]]:
    """Powers of each series up to `last`."""
    most, out = series.shape[1], []
    for row in series:
        powers = [np.eye(1, most)[0]]
        for _ in range(last):
            powers.append(np.convolve(powers[-1], row)[:most])
        out.append(powers)
    return out
