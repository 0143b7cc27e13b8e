"""Types of arrays of numbers, and sums and maxima that do not depend on versions, for all packages."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Words = NDArray[np.str_]
Complex = NDArray[np.complex128]

T = TypeVar("T")

# values that differ relatively by less count as equally large: rounding depends on versions of libraries
EQUALLY_LARGE = 1e-6


def plain_sum(values: Iterable[T], start: T = 0) -> T:  # type: ignore[assignment]
    """The sum by successive additions, each rounded: the same bits in every version of Python.

    From Python 3.12 on the built-in `sum` compensates the rounding of floats, but not of traced numbers: results
    would depend on the version, and a model would differ from its replay. This package never calls `sum`.
    """
    return reduce(add, values, start)


def first_largest(values: Floats) -> int:
    """The index of the first value that is as large as the largest up to rounding."""
    return int(np.argmax(values >= (1.0 - EQUALLY_LARGE) * np.max(values)))
