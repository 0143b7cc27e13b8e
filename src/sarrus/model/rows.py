"""Compressed rows over the coordinates, and the units of a model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ..arrays import Floats, Ints


@dataclass(frozen=True)
class Units:
    """Units of the model: lengths in `length` metres, masses in `mass` kilograms."""

    length: float
    mass: float

    @property
    def energy(self) -> float:
        """One model unit of energy in joules (time is in seconds)."""
        return self.mass * (self.length * self.length)


@dataclass(frozen=True)
class Rows:
    """Compressed rows over the coordinates."""

    start: Ints
    col: Ints
    val: Floats
    columns: int

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """The rows as a sparse matrix."""
        shape = (len(self.start) - 1, self.columns)
        return sparse.csr_array((self.val, self.col, self.start), shape=shape)

    def times(self, x: Floats) -> Floats:
        """Products of these rows, of which there are few, with each row of x (n, columns)."""
        out = np.zeros((len(x), len(self.start) - 1))
        for i in range(out.shape[1]):
            for k in range(self.start[i], self.start[i + 1]):
                out[:, i] += self.val[k] * x[:, self.col[k]]
        return out

    def dense(self) -> Floats:
        """The rows as a dense array."""
        out = np.zeros((len(self.start) - 1, self.columns))
        out[np.repeat(np.arange(len(out)), np.diff(self.start)), self.col] = self.val
        return out
