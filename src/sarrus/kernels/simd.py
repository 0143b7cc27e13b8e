"""Several numbers at once: kernels over SIMD lanes.

The same kernels that work on numbers work on lanes, rows of WIDTH numbers, where they are given arrays of these:
sums, products, `max` and `abs` are taken lane by lane, and what lanes share is still a number. Only where lanes
differ in what to do a kernel says so with the words below. Tables of structure are read once for all lanes.

Lanes are used in two ways. Within a run, products or outputs lie side by side. In an ensemble whole runs do,
each in a lane of its own, and nothing within a run: `language/masks.py` translates the same kernels for that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# numbers side by side: a register of AVX-512, two of AVX2
WIDTH = 8


def in_lanes(arrays: Any) -> Any:
    """Arrays whose last axis are lanes, as arrays of lanes; also all of a tuple."""
    return arrays


def rows_of_lanes(row: Any) -> Any:
    """A row of numbers, as many as fill lanes, as an array of lanes."""
    return row.reshape(-1, WIDTH)


def lanes_from(row: Any, t: int, count: int) -> Any:
    """The lanes of a row of so many numbers from the t-th on."""
    return row.reshape(-1, WIDTH)[t:]


def width_of(row: Any) -> int:
    """How many numbers of a row are taken at once."""
    return WIDTH


def shared(x: Any) -> Any:
    """A number that all runs of a group share: the largest of theirs.

    For lengths of loops and places in arrays, where more than a run needs does no harm.
    """
    return x


def fill_lanes(count: int) -> int:
    """How many numbers fill lanes and are at least so many."""
    return -(-count // WIDTH) * WIDTH


def choose(mask: Any, a: Any, b: Any) -> Any:
    """One or the other, lane by lane."""
    return np.where(mask, a, b)


def any_lane(mask: Any) -> Any:
    """Whether it is true in any lane."""
    return np.any(mask)
