"""Sums of products over operations: factors of a structure, linear forms, products of series."""

from __future__ import annotations

from typing import Any

from .structure import Factor, Slot

# sums that are kept in registers at once
SUMS = 8


class Row:
    """A row of an array of two or three indices, for sums that read one index."""

    def __init__(self, array: Any, *at: int) -> None:
        self.array, self.at = array, at

    def __getitem__(self, place: Any) -> Any:
        return self.array[(*self.at, place[0])]


class Columns:
    """Rows of coefficients, column by column: what a sum reads lies side by side; some may lie before them."""

    def __init__(self, memory: Any, rows: int, columns: int, before: int = 0) -> None:
        self.array, self.before = memory.array(max(columns, 1), rows + before), before

    def __getitem__(self, at: Any) -> Any:
        row, column = at
        return self.array[column, row + self.before if self.before else row]

    def __setitem__(self, at: Any, value: Any) -> None:
        row, column = at
        self.array[column, row + self.before if self.before else row] = value


class Once:
    """An array of which each entry is read once, for as long as it stays as it is."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.read: dict[Any, Any] = {}

    def __getitem__(self, at: Any) -> Any:
        row, column = at
        key = getattr(row, "name", row), column
        if key not in self.read:
            self.read[key] = self.array[at]
        return self.read[key]


def times(o: Any, factor: Factor, x: Any) -> Any:
    """A factor times a value."""
    if isinstance(factor, Slot):
        return o.number(factor.n) * x
    if factor == 1.0:
        return x
    return -x if factor == -1.0 else x * factor


def number(o: Any, factor: Factor) -> Any:
    """A factor as a value."""
    return o.number(factor.n) if isinstance(factor, Slot) else o.constant(factor)


def total(o: Any, parts: list[Any]) -> Any:
    """The sum of some values."""
    if not parts:
        return o.constant(0.0)
    out = parts[0]
    for x in parts[1:]:
        out = out + x
    return out


def combine(o: Any, terms: list[tuple[int, Factor]], x: Any) -> list[Any]:
    """The terms of a linear form of x."""
    return [times(o, c, x(i)) for i, c in terms]


def convolve(o: Any, sums: list[tuple[Any, int, Any, int]], first: Any, last: Any, m: Any) -> list:
    """For each (x, column, y, column) the sum over j = first .. last - 1 of x_j y_{m - j}."""
    out = []
    for at in range(0, len(sums), SUMS):
        group = sums[at : at + SUMS]
        acc = [o.variable(o.constant(0.0)) for _ in group]
        for j in o.loop(first, last):
            i = m - j
            seen: dict[Any, Any] = {}
            for a, (x, cx, y, cy) in zip(acc, group, strict=True):
                kx, ky = (id(x), 0, cx), (id(y), 1, cy)
                if kx not in seen:
                    seen[kx] = x[j, cx]
                if ky not in seen:
                    seen[ky] = y[i, cy]
                a.set(a.get() + seen[kx] * seen[ky])
        out += [a.get() for a in acc]
    return out
