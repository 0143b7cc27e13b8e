"""Solves linear relations once: raw features = start + T q.

The relations have constant coefficients, so their dependences never change with the configuration. Solving
them here is exact and does not decide the rank of the motion.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

import numpy as np

from ..arrays import Ints
from ..thresholds import DOUBTFUL_COEFFICIENT, ZERO_COEFFICIENT
from ..tracing import largest
from .vectors import Row, add_row

# largest number of variables that may depend on one variable through relations of others. Relations continue along
# a chain of bodies (as in scissors, whose cells have a common height): if all were solved, every equation would
# contain the same variable, and the factor would be full. With 32, scissors of 30 cells stop at their crossings,
# which they pass if all relations are solved
MOST_USERS = 128


class Reduction:
    """Expresses every raw variable by the independent ones: `row(i)` is row i of T.

    zero: coefficients below it are zero; doubtful: whether a relation was solved whose coefficients may be
    rounding errors of the dimensions.
    """

    def __init__(self, size: int, zero: float = ZERO_COEFFICIENT) -> None:
        self.zero, self.doubtful = zero, False
        self._expression: dict[int, Row] = {}
        self._users: dict[int, set[int]] = {}
        self._size = size
        self.columns: dict[int, int] = {}

    def eliminate(self, relation: Row, prefer: Container[int]) -> bool:
        """Use one relation sum c_i x_i = 0 to eliminate a variable, a preferred one if possible.

        Returns False, without a change, if too many variables would then depend on one.
        """
        row = self.substitute(relation)
        most = largest(abs(c) for c in row.values())
        if most < self.zero:
            return True
        self.doubtful = self.doubtful or bool(most < DOUBTFUL_COEFFICIENT)
        pivot = _choose(row, prefer)
        brought = [pivot, *(i for i in row if i not in relation)]
        if any(len(self._users.get(i, ())) > MOST_USERS for i in brought):
            return False
        factor = -1.0 / row.pop(pivot)
        solved = {i: factor * c for i, c in row.items() if abs(c) > self.zero * most}
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
            # unchanged, except for entries that are rounding of a zero
            out = row
            if len(row) < 2:
                return dict(row)
        else:
            out = {}
            for i, c in row.items():
                add_row(out, c, known.get(i, {i: 1.0}))
        least = self.zero * largest(abs(c) for c in row.values())
        return {j: c for j, c in out.items() if abs(c) > least}

    def hold(self, variables: Iterable[int]) -> None:
        """Set variables to zero."""
        self._expression.update((i, {}) for i in variables)

    def solved(self, free: int, zero: int, solved: int) -> Ints:
        """State of each variable: `free` if independent, `zero`, or `solved` if it is a form of others."""
        out = np.full(self._size, free)
        for i, row in self._expression.items():
            out[i] = solved if row else zero
        return out

    def number(self, used: Iterable[int]) -> int:
        """Number the independent ones among the used variables; returns how many there are."""
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
    """The variable to solve for: the one with the largest factor, the first of several.

    A preferred variable may have a smaller factor, unless the division would cost digits.
    """
    best, weight = -1, 0.0
    for i in sorted(row):
        own = abs(row[i]) * (10.0 if i in prefer else 1.0)
        if best < 0 or own > weight:
            best, weight = i, own
    return best


def drop_fixed(row: Row, fixed: Container[int]) -> Row:
    """Remove fixed variables, whose displacements are zero."""
    return {i: c for i, c in row.items() if i not in fixed and c != 0.0} if row else row
