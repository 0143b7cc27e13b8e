"""Linear relations solved once: raw features = start + T q.

The relations have constant coefficients, so which of them depend on which never changes with the
position; solving them here is exact and is no rank decision about the motion.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..thresholds import ZERO_COEFFICIENT

Row = dict[int, float]


class Reduction:
    """Expresses every raw variable by the independent ones: `row(i)` is row i of T."""

    def __init__(self, size: int) -> None:
        self._expression: dict[int, Row] = {}
        self._users: dict[int, set[int]] = {}
        self._size = size
        self.columns: dict[int, int] = {}

    def eliminate(self, relation: Row, prefer: Iterable[int]) -> None:
        """Use one relation sum c_i x_i = 0 to eliminate a variable, a preferred one if possible."""
        row = self.substitute(relation)
        largest = max((abs(c) for c in row.values()), default=0.0)
        if largest < ZERO_COEFFICIENT:
            return
        wanted = set(prefer)
        # a preferred pivot may be smaller, but not so small that the division costs digits
        pivot = max(row, key=lambda i: (abs(row[i]) * (10.0 if i in wanted else 1.0), -i))
        factor = -1.0 / row.pop(pivot)
        solved = {i: factor * c for i, c in row.items() if abs(c) > ZERO_COEFFICIENT * largest}
        for user in list(self._users.pop(pivot, ())):
            old = self._expression[user]
            share = old.pop(pivot)
            for i, c in solved.items():
                old[i] = old.get(i, 0.0) + share * c
                self._users.setdefault(i, set()).add(user)
        self._expression[pivot] = solved
        for i in solved:
            self._users.setdefault(i, set()).add(pivot)

    def substitute(self, row: Row) -> Row:
        """The same linear form in the variables that are still independent."""
        out: Row = {}
        for i, c in row.items():
            for j, d in self._expression.get(i, {i: 1.0}).items():
                out[j] = out.get(j, 0.0) + c * d
        scale = max((abs(c) for c in row.values()), default=0.0)
        return {j: c for j, c in out.items() if abs(c) > ZERO_COEFFICIENT * scale}

    def number(self, fixed: set[int]) -> int:
        """Number the independent variables that are not fixed; returns how many there are."""
        free = [i for i in range(self._size) if i not in self._expression and i not in fixed]
        self.columns = {i: n for n, i in enumerate(free)}
        return len(free)

    def coordinates(self, row: Row) -> Row:
        """A linear form of the raw variables as one of the coordinates q."""
        reduced = self.substitute(row)
        return {self.columns[i]: c for i, c in sorted(reduced.items()) if i in self.columns}


def drop_fixed(row: Row, fixed: set[int]) -> Row:
    """Displacements of fixed variables are zero."""
    return {i: c for i, c in row.items() if i not in fixed and c != 0.0}


def component_rows(linear: dict[int, np.ndarray]) -> list[Row]:
    """The scalar rows of a linear form of features: feature k owns variables 3k, 3k+1, 3k+2."""
    count = next(iter(linear.values())).shape[0] if linear else 3
    rows: list[Row] = [{} for _ in range(count)]
    for k, matrix in linear.items():
        # entries that rounding left of a zero, as in 1 - z z^T, are zeros
        large = np.abs(matrix) > 1e-14 * np.abs(matrix).max()
        for r, c in zip(*np.nonzero(large), strict=True):
            i = 3 * k + int(c)
            rows[r][i] = rows[r].get(i, 0.0) + float(matrix[r, c])
    return rows
