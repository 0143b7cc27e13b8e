"""The static elimination order of K = [M J^T; J -eps] and the pattern of its factor.

A constraint comes after all its coordinates: its pivot is then -J M^-1 J^T - ..., of order one unless it
depends on earlier constraints. Among the candidates, the node with the fewest neighbours is next (minimum
degree), so the fill of a chain of loops stays linear in its length.

Some equations always depend on others, such as those of a drive together with those of the body it turns.
`early` equations come before all others that share a coordinate with them. The pivots of the early equations
then stay good at every configuration, and the dependent equation is always the same one.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Ints, plain_sum
from ..kernels.elimination import eliminate, find_pattern, find_targets, make_elimination

# from this number of unknowns on, compiled code orders them: loading it takes as long as ordering a few hundred
# without it
MANY = 2000


@dataclass(frozen=True)
class Factor:
    """Pattern of L: columns in elimination order, strictly lower part.

    position: index of each unknown (coordinates, then constraints) in the order; start, rows: the columns of
    L; target: for the pairs of entries of each column, the index of their product (the n diagonal entries
    come first, then the entries of L).
    """

    position: Ints
    start: Ints
    rows: Ints
    target: Ints

    @cached_property
    def _keys(self) -> Ints:
        """Column times n plus row of each entry below the diagonal, increasing."""
        n = len(self.position)
        return np.repeat(np.arange(n), np.diff(self.start)) * n + self.rows

    def entries(self, a: ArrayLike, b: ArrayLike) -> Ints:
        """Indices in the value array of the entries of pairs of unknowns."""
        n = len(self.position)
        pairs = np.array([a, b], dtype=np.int64)
        first, last = np.sort(self.position[pairs], axis=0)
        wanted = first * n + last
        at = np.searchsorted(self._keys, wanted)
        good = at < len(self._keys)
        good[good] = self._keys[at[good]] == wanted[good]
        good |= first == last
        if not good.all():
            x, y = pairs[:, np.argmin(good)].tolist()
            raise IndexError(f"entry ({x}, {y}) is outside the pattern of the factor")
        return np.where(first == last, first, n + at)


def make_factor(
    n: int, pairs: Ints, nq: int, early: set[int] | frozenset[int] = frozenset()
) -> Factor:
    """Order the n unknowns of K and find the pattern of its factor.

    pairs: unknowns (nq coordinates, then constraints) that share an entry, (2, pairs); early: constraints
    that come before those they share a coordinate with.
    """
    if n >= MANY:
        return _factor_of_many(n, pairs, nq, early)
    order, columns = _eliminate(_neighbours(n, pairs), nq, early)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    sizes = np.fromiter(map(len, columns), np.int64, n)
    start = np.concatenate([[0], np.cumsum(sizes)])
    flat = np.fromiter(chain.from_iterable(columns), np.int64, start[-1])
    # columns in order, and the rows of each column in order
    keys = np.sort(np.repeat(np.arange(n), sizes) * n + place[flat])
    rows = keys % max(n, 1)
    # target of the product of each entry with itself and with those below it
    below = np.repeat(start[1:], sizes) - np.arange(len(rows))
    one = np.repeat(np.arange(len(rows)), below)
    other = np.arange(len(one)) - np.repeat(np.cumsum(below) - below, below) + one
    product = n + np.searchsorted(keys, rows[one] * n + rows[other])
    return Factor(place, start, rows, np.where(one == other, rows[one], product))


def _factor_of_many(n: int, pairs: Ints, nq: int, early: set[int] | frozenset[int]) -> Factor:
    """The same in compiled code."""
    first, second = np.ascontiguousarray(pairs)
    order, pool = np.zeros(n, np.int64), 8 * len(first) + 8 * n
    while True:
        graph = make_elimination(n, len(first), np.array(sorted(early), np.int64), pool)
        if eliminate(first, second, nq, graph, order):
            break
        # more fill than usual
        pool *= 4
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    start, rows = np.zeros(n + 1, np.int64), np.zeros(int(graph.size.sum()), np.int64)
    find_pattern(graph, order, place, start, rows)
    target = np.zeros(int((graph.size * (graph.size + 1) // 2).sum()), np.int64)
    find_targets(start, rows, target)
    return Factor(place, start, rows, target)


def _neighbours(n: int, pairs: Ints) -> list[set[int]]:
    """For each unknown the set of unknowns that it shares an entry with."""
    out: list[set[int]] = [set() for _ in range(n)]
    for a, b in pairs.T.tolist():
        if a != b:
            out[a].add(b)
            out[b].add(a)
    return out


def _eliminate(
    graph: list[set[int]], nq: int, early: set[int] | frozenset[int]
) -> tuple[list[int], list[set[int]]]:
    """Symbolic elimination; consumes the graph, whose sets become the columns of L."""
    n = len(graph)
    constraints_of = [[j for j in graph[i] if j >= nq] for i in range(nq)]
    # number of its coordinates that a constraint still waits for (fill does not count)
    waiting = [0] * nq + [plain_sum(j < nq for j in graph[i]) for i in range(nq, n)]
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
        column = graph[i]
        for j in column:
            row = graph[j]
            row |= column
            row.discard(i)
            row.discard(j)
        for j in constraints_of[i] if i < nq else later.get(i, ()):
            waiting[j] -= 1
        for j in graph[i]:
            if waiting[j] == 0:
                heapq.heappush(heap, (len(graph[j]), j))
    return order, [graph[i] for i in order]
