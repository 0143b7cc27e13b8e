"""Multiple roots of several equations, counted from the series at which a definite combination has its minimum.

If a combination u F of the equations has a definite second-order part in c, its gradient vanishes along a series
c = centre(s). A root that stays multiple for all s lies there, and only rounding is left of its terms in
c' = c - centre(s). In the original variables it would be a multiple root of one edge after the other, each
accurate to a part of the digits.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Floats, plain_sum
from .definite import find_definite
from .shifts import Equation, powers_of


def find_centre(equations: list[Equation], p: int, order: int) -> Floats | None:
    """The series, shape (p, order + 1) by powers of s; None if no combination is definite.

    Terms that are linear in c are known up to s^(order - 1), and so is the series.
    """
    hessians = np.array([hessian(e, p) for e in equations])
    u = find_definite(hessians)
    if u is None:
        return None
    total: Equation = {}
    for factor, e in zip(u, equations, strict=True):
        for k, c in e.items():
            total[k] = total.get(k, 0.0) + float(factor) * c
    gradient = [_derivative(total, 1 + j) for j in range(p)]
    inverse = np.linalg.inv(np.tensordot(u, hessians, axes=1))
    centre = np.zeros((p, order + 1))
    for _ in range(order):
        step = inverse @ np.array([_along(g, centre) for g in gradient])
        step[:, [0, -1]] = 0.0
        if not np.any(step):
            break
        centre = centre - step
    return centre


def hessian(equation: Equation, p: int) -> Floats:
    """The second derivatives in c at the origin."""
    h = np.zeros((p, p))
    for k, c in equation.items():
        if k[0] == 0 and plain_sum(k[1:]) == 2:
            i, j = np.repeat(np.arange(p), k[1:])
            h[i, j] += c
            h[j, i] += c
    return h


def _derivative(equation: Equation, v: int) -> Equation:
    return {(*k[:v], k[v] - 1, *k[v + 1 :]): c * k[v] for k, c in equation.items() if k[v]}


def _along(equation: Equation, series: Floats) -> Floats:
    """The equation along c = series(s), as a series."""
    most = series.shape[1]
    powers = powers_of(series, max((max(k[1:]) for k in equation), default=0))
    out = np.zeros(most)
    for (i, *J), c in equation.items():
        if i < most:
            share = np.zeros(most)
            share[i] = c
            for v, j in enumerate(J):
                if j:
                    share = np.convolve(share, powers[v][j])[:most]
            out += share
    return out
