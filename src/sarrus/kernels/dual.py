"""Dual numbers: a value and its derivatives with respect to RATES parameters, in the SIMD lanes of one register.

Kernels for doubles also work on duals if they are given arrays of these. Each formula is written once, and the
compiler derives its derivative from the rules of sums, products, quotients and roots. Comparisons use values only,
so decisions of a kernel have no derivative. The functions that step control applies to sizes (log, exp) have none
either and take doubles (`rounded`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Floats

# Number of derivatives of a dual: with its value they fill an AVX2 register.
RATES = 3
PARTS = 1 + RATES
DUAL_NUMBER = np.dtype([("value", np.float64), ("rates", np.float64, (RATES,))])


def is_dual(x: Any) -> bool:
    """Whether a number or an array is dual; known at translation time."""
    return False


def largest_part(x: Any, weights: Any) -> Any:
    """Largest weighted magnitude of a dual's value and derivatives; for other numbers the magnitude."""
    return abs(x)


def larger_parts(x: Any, y: Any) -> Any:
    """Larger magnitude of two duals, part by part; for other numbers the larger magnitude."""
    return max(abs(x), abs(y))


def inverse_parts(x: Any) -> Any:
    """Reciprocal of a dual, part by part."""
    return 1.0 / x


def with_value(x: Any, value: Any) -> Any:
    """A dual with another value and the same derivatives; for other numbers the value."""
    return value


def make_duals_at_zero(shape: tuple[int, ...]) -> Any:
    """Duals whose parts are all zero."""
    return np.zeros(shape, DUAL_NUMBER)


def make_duals(values: Floats, rates: Floats | None = None) -> np.ndarray:
    """Duals of values (...) and their derivatives (..., RATES), zero if omitted."""
    out: np.ndarray = make_duals_at_zero(values.shape)
    out["value"] = values
    if rates is not None:
        out["rates"] = rates
    return out
