"""The static elimination order of K = [M J^T; J -eps] and the pattern of its factor.

A constraint comes after all its coordinates: its pivot is then -J M^-1 J^T - ... of order one unless it
depends on earlier ones. Among what may come next, the node with the fewest neighbours is taken
(minimum degree), so the fill of a chain of loops stays linear in its length.

Equations that always depend on others (those of a drive and of the body it turns, together) may be told
apart: `early` ones come before all others that share a coordinate with them. The pivots of the early ones
then stay good at every position, and it is always the same equation that depends on the rest.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Ints


@dataclass(frozen=True)
class Factor:
    """Pattern of L: columns in elimination order, strictly lower part.

    position: place of each unknown (coordinates, then constraints) in the order; start, rows: the
    columns of L; target: for the pairs of entries of each column, where their product goes (the n
    diagonal entries come first, then the entries of L).
    """

    position: Ints
    start: Ints
    rows: Ints
    target: Ints

    @cached_property
    def _places(self) -> dict[int, int]:
        """Of each entry below the diagonal, by column and row, where its value is."""
        n, start, rows = len(self.position), self.start.tolist(), self.rows.tolist()
        return {j * n + rows[at]: n + at for j in range(n) for at in range(start[j], start[j + 1])}

    def entry(self, a: int, b: int) -> int:
        """Index in the value array of the entry of two unknowns."""
        return int(self.entries([(a, b)])[0])

    def entries(self, pairs: Iterable[tuple[int, int]]) -> Ints:
        """The same of each pair."""
        n, place, places = len(self.position), self._place, self._places
        out = []
        for a, b in pairs:
            i, j = place[a], place[b]
            at = i if i == j else places.get(j * n + i if i > j else i * n + j)
            if at is None:
                raise IndexError(f"entry ({a}, {b}) is outside the pattern of the factor")
            out.append(at)
        return np.array(out, dtype=np.int64)

    @cached_property
    def _place(self) -> list[int]:
        return self.position.tolist()


def make_factor(
    neighbours: list[set[int]], nq: int, early: set[int] | frozenset[int] = frozenset()
) -> Factor:
    """Order the unknowns of K and find the pattern of its factor.

    neighbours: for each unknown (nq coordinates, then constraints) those it shares an entry with;
    early: constraints that come before those they share a coordinate with.
    """
    order, columns = _eliminate([set(s) for s in neighbours], nq, early)
    n = len(order)
    place = [0] * n
    for at, i in enumerate(order):
        place[i] = at
    rows = [sorted([place[i] for i in column]) for column in columns]
    start, where = [0], []  # type: list[int], list[dict[int, int]]
    for r in rows:
        first = n + start[-1]
        where.append({i: first + at for at, i in enumerate(r)})
        start.append(start[-1] + len(r))
    target: list[int] = []
    for r in rows:
        for a, i in enumerate(r):
            below = where[i]
            target.append(i)
            target += [below[j] for j in r[a + 1 :]]
    flat = [i for r in rows for i in r]
    return Factor(*(np.array(x, dtype=np.int64) for x in (place, start, flat, target)))


def _eliminate(
    graph: list[set[int]], nq: int, early: set[int] | frozenset[int]
) -> tuple[list[int], list[set[int]]]:
    """Symbolic elimination; consumes the graph, whose sets become the columns of L."""
    n = len(graph)
    constraints_of = [[j for j in graph[i] if j >= nq] for i in range(nq)]
    # own coordinates that a constraint still waits for (fill does not count)
    waiting = [0] * nq + [sum(j < nq for j in graph[i]) for i in range(nq, n)]
    later = {
        k: {j for i in graph[k] if i < nq for j in constraints_of[i]} - early for k in sorted(early)
    }
    for others in later.values():
        for j in others:
            waiting[j] += 1
    heap = [(len(graph[i]), i) for i in range(n) if waiting[i] == 0]
    heapq.heapify(heap)
    done = [False] * n
    order: list[int] = []
    while heap:
        degree, i = heapq.heappop(heap)
        if done[i] or degree != len(graph[i]):
            continue
        done[i] = True
        order.append(i)
        for j in graph[i]:
            graph[j] |= graph[i]
            graph[j] -= {i, j}
        for j in constraints_of[i] if i < nq else later.get(i, ()):
            waiting[j] -= 1
        for j in graph[i]:
            if waiting[j] == 0:
                heapq.heappush(heap, (len(graph[j]), j))
    return order, [graph[i] for i in order]
