"""SIMD lanes: several numbers at once.

Kernels for numbers also work on lanes, rows of WIDTH numbers, if they are given arrays of these: sums, products,
`max` and `abs` are evaluated lane by lane, and values that all lanes share are still single numbers. Only where
lanes need different treatment, a kernel uses the functions below. Index tables are read once for all lanes.

Lanes are used in two ways. Within a run, they contain products or outputs. In an ensemble, each lane contains a
whole run, and there are no lanes within a run: `language/masks.py` translates the same kernels for that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Numbers per row of lanes: one AVX-512 register, or two of AVX2.
WIDTH = 8


def in_lanes(arrays: Any) -> Any:
    """Arrays whose last axis is the lanes, as arrays of lanes; also for all arrays of a tuple."""
    return arrays


def rows_of_lanes(row: Any) -> Any:
    """A row of numbers, padded to whole rows of lanes, as an array of lanes."""
    return row.reshape(-1, WIDTH)


def lanes_from(row: Any, t: int, count: int) -> Any:
    """The lanes of a row of `count` numbers, from the t-th on."""
    return row.reshape(-1, WIDTH)[t:]


def width_of(row: Any) -> int:
    """Number of entries of a row that are processed at once."""
    return WIDTH


def shared(x: Any) -> Any:
    """A number that all runs of a group share: the largest of theirs.

    For loop lengths and array indices, where more than a run needs is harmless.
    """
    return x


def fill_lanes(count: int) -> int:
    """`count` rounded up to whole rows of lanes."""
    return -(-count // WIDTH) * WIDTH


def choose(mask: Any, a: Any, b: Any) -> Any:
    """a where the mask is true, else b, lane by lane."""
    return np.where(mask, a, b)


def any_lane(mask: Any) -> Any:
    """Whether the mask is true in any lane."""
    return np.any(mask)
