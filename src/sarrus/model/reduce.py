"""Linear relations solved once: raw features = start + T q.

The relations have constant coefficients, so which of them depend on which never changes with the
position; solving them here is exact and is no rank decision about the motion.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

import numpy as np

from ..arrays import Ints
from ..thresholds import ZERO_COEFFICIENT
from ..tracing import largest
from .vectors import Row, add_row

# variables that may hang on one by relations of others. Relations go on along a chain of bodies (of scissors,
# whose cells have one height): all solved, every equation would hold the same variable, and the factor be full.
# With 32 scissors of 30 cells, which pass their crossings with all of them solved, end there
MOST_USERS = 128


class Reduction:
    """Expresses every raw variable by the independent ones: `row(i)` is row i of T."""

    def __init__(self, size: int) -> None:
        self._expression: dict[int, Row] = {}
        self._users: dict[int, set[int]] = {}
        self._size = size
        self.columns: dict[int, int] = {}

    def eliminate(self, relation: Row, prefer: Container[int]) -> bool:
        """Use one relation sum c_i x_i = 0 to eliminate a variable, a preferred one if possible.

        False, and nothing is done, if too many others would hang on one variable then.
        """
        row = self.substitute(relation)
        most = largest(abs(c) for c in row.values())
        if most < ZERO_COEFFICIENT:
            return True
        pivot = _choose(row, prefer)
        brought = [pivot, *(i for i in row if i not in relation)]
        if any(len(self._users.get(i, ())) > MOST_USERS for i in brought):
            return False
        factor = -1.0 / row.pop(pivot)
        solved = {i: factor * c for i, c in row.items() if abs(c) > ZERO_COEFFICIENT * most}
        for user in self._users.pop(pivot, ()):
            old = self._expression[user]
            add_row(old, old.pop(pivot), solved)
            for i in solved:
                self._users.setdefault(i, set()).add(user)
        self._expression[pivot] = solved
        for i in solved:
            self._users.setdefault(i, set()).add(pivot)
        return True

    def substitute(self, row: Row) -> Row:
        """The same linear form in the variables that are still independent."""
        known = self._expression
        if known.keys().isdisjoint(row):
            # as it is, but for what rounding left of a zero
            out = row
            if len(row) < 2:
                return dict(row)
        else:
            out = {}
            for i, c in row.items():
                add_row(out, c, known.get(i, {i: 1.0}))
        least = ZERO_COEFFICIENT * largest(abs(c) for c in row.values())
        return {j: c for j, c in out.items() if abs(c) > least}

    def hold(self, variables: Iterable[int]) -> None:
        """Variables that are zero."""
        self._expression.update((i, {}) for i in variables)

    def solved(self, free: int, zero: int, solved: int) -> Ints:
        """Of each variable one of these: whether it is independent, zero, or a form of others."""
        out = np.full(self._size, free)
        for i, row in self._expression.items():
            out[i] = solved if row else zero
        return out

    def number(self, used: Iterable[int]) -> int:
        """Number those of the used variables that are independent; returns how many there are."""
        free = [i for i in sorted(used) if i not in self._expression]
        self.columns = {i: n for n, i in enumerate(free)}
        return len(free)

    def coordinates(self, row: Row) -> Row:
        """A linear form of the raw variables as one of the coordinates q."""
        reduced, columns = self.substitute(row), self.columns
        inside = [i for i in reduced if i in columns]
        if len(inside) > 1:
            inside.sort()
        return {columns[i]: reduced[i] for i in inside}


def _choose(row: Row, prefer: Container[int]) -> int:
    """The variable to solve for: the largest factor, the first of several.

    A preferred one may be smaller, but not so small that the division costs digits.
    """
    best, weight = -1, 0.0
    for i in sorted(row):
        own = abs(row[i]) * (10.0 if i in prefer else 1.0)
        if best < 0 or own > weight:
            best, weight = i, own
    return best


def drop_fixed(row: Row, fixed: Container[int]) -> Row:
    """Displacements of fixed variables are zero."""
    return {i: c for i, c in row.items() if i not in fixed and c != 0.0} if row else row
