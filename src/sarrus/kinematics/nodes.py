"""Polynomials through values at Chebyshev nodes on both sides of an instant."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import chebyshev

from ..arrays import Floats

# nodes, in half widths; their number is even, so that none is in the middle
NODES = 12
AT = np.cos(np.pi * (np.arange(NODES)[::-1] + 0.5) / NODES)
# matrix from Chebyshev coefficients to coefficients of powers
TO_POWERS = np.array(
    [
        np.pad(chebyshev.cheb2poly(row[: k + 1]), (0, NODES - 1 - k))
        for k, row in enumerate(np.eye(NODES))
    ]
).T


def fit_nodes(values: Floats) -> Floats:
    """Chebyshev coefficients of the polynomial through values at the nodes, (NODES, ...)."""
    flat = values.reshape(NODES, -1)
    found: Floats = np.asarray(chebyshev.chebfit(AT, flat, NODES - 1), dtype=np.float64)
    return found.reshape(values.shape)


def to_powers(terms: Floats) -> Floats:
    """Chebyshev coefficients as coefficients of powers."""
    flat = terms.reshape(NODES, -1)
    return (TO_POWERS @ flat).reshape(terms.shape)
