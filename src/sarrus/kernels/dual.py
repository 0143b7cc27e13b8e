"""Dual numbers: a value and its derivatives by RATES parameters, which lie in the SIMD lanes of one register.

The same kernels that work on doubles work on duals where they are given arrays of these: each formula is written
once, and its derivative follows from the rules of sums, products, quotients and roots, which the compiler writes.
Comparisons look at values only; what a kernel decides has no derivative. Functions that step control takes of
sizes (log, exp) have none either and are given doubles (`rounded`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Floats

# derivatives of a dual: with its value they fill a register of AVX2
RATES = 3
PARTS = 1 + RATES
DUAL_NUMBER = np.dtype([("value", np.float64), ("rates", np.float64, (RATES,))])


def is_dual(x: Any) -> bool:
    """Whether a number or an array is dual; known while translating."""
    return False


def largest_part(x: Any, weights: Any) -> Any:
    """The largest of the sizes of a dual's value and derivatives, times their weights; of others the size."""
    return abs(x)


def larger_parts(x: Any, y: Any) -> Any:
    """Part by part the size of the larger one of two duals; of other numbers the larger size."""
    return max(abs(x), abs(y))


def inverse_parts(x: Any) -> Any:
    """Part by part the inverse of a dual."""
    return 1.0 / x


def with_value(x: Any, value: Any) -> Any:
    """A dual with another value and the same derivatives; of other numbers the value."""
    return value


def make_duals(values: Floats, rates: Floats | None = None) -> np.ndarray:
    """Duals of values (...) and their derivatives (..., RATES), zero if left out."""
    out = np.zeros(values.shape, DUAL_NUMBER)
    out["value"] = values
    if rates is not None:
        out["rates"] = rates
    return out
