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
from dataclasses import dataclass

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

    def entry(self, a: int, b: int) -> int:
        """Index in the value array of the entry of two unknowns."""
        i, j = int(self.position[a]), int(self.position[b])
        if i == j:
            return i
        i, j = max(i, j), min(i, j)
        first, last = self.start[j], self.start[j + 1]
        at = int(first + np.searchsorted(self.rows[first:last], i))
        if at >= last or self.rows[at] != i:
            raise IndexError(f"entry ({a}, {b}) is outside the pattern of the factor")
        return len(self.position) + at


def make_factor(
    neighbours: list[set[int]], nq: int, early: set[int] | frozenset[int] = frozenset()
) -> Factor:
    """Order the unknowns of K and find the pattern of its factor.

    neighbours: for each unknown (nq coordinates, then constraints) those it shares an entry with;
    early: constraints that come before those they share a coordinate with.
    """
    order, columns = _eliminate([set(s) for s in neighbours], nq, early)
    n = len(order)
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    rows = [np.sort(position[list(c)]) if c else np.empty(0, np.int64) for c in columns]
    start = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
    flat = np.concatenate(rows) if rows else np.empty(0, np.int64)
    target = []
    for r in rows:
        for a in range(len(r)):
            first, last = start[r[a]], start[r[a] + 1]
            target.append(r[a : a + 1])
            target.append(n + first + np.searchsorted(flat[first:last], r[a + 1 :]))
    flat_target = np.concatenate(target) if target else np.empty(0, np.int64)
    return Factor(position, start, flat.astype(np.int64), flat_target.astype(np.int64))


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
