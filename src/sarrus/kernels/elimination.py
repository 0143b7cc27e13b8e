"""Elimination order and pattern of the factor for many unknowns; few unknowns are ordered in model/order.py.

Rows of the graph are stored in one pool; a row that outgrows its room moves to the end of it. Candidates for the
next elimination are in a heap, ordered by number of neighbours, then by index.
"""

from typing import NamedTuple

import numpy as np

from ..arrays import Ints
from .compiler import entry, kernel, noinline


class Elimination(NamedTuple):
    """Memory for the elimination of n unknowns.

    start, near, sizes: the given neighbours of each unknown, from start[i] on, sizes[i] of them. begin, room,
    size, pool: the current neighbours, which are the column of L after elimination. heap, at, key: candidates,
    index of each in the heap (-1: not in it), and sort key. waiting: number of others that have to be eliminated
    before. mark: scratch. early: whether an equation is eliminated before those that share a coordinate with it.
    """

    start: Ints
    near: Ints
    sizes: Ints
    begin: Ints
    room: Ints
    size: Ints
    pool: Ints
    heap: Ints
    at: Ints
    key: Ints
    waiting: Ints
    mark: Ints
    early: Ints


def make_elimination(n: int, pairs: int, early: Ints, pool: int) -> Elimination:
    """Memory for n unknowns and `pairs` pairs of neighbours."""
    sizes = {name: n for name in Elimination._fields}
    sizes |= {"start": n + 1, "near": 2 * pairs, "pool": pool}
    out = Elimination(**{name: np.zeros(size, np.int64) for name, size in sizes.items()})
    out.early[early] = 1
    return out


@kernel
def sift_up(g, k):
    """Move an entry of the heap up to its position."""
    i = g.heap[k]
    while k > 0:
        above = (k - 1) // 2
        j = g.heap[above]
        if g.key[j] < g.key[i]:
            break
        g.heap[k] = j
        g.at[j] = k
        k = above
    g.heap[k] = i
    g.at[i] = k


@kernel
def sift_down(g, count, k):
    """Move an entry of the heap down to its position."""
    i = g.heap[k]
    while 2 * k + 1 < count:
        below = 2 * k + 1
        if below + 1 < count and g.key[g.heap[below + 1]] < g.key[g.heap[below]]:
            below += 1
        j = g.heap[below]
        if g.key[i] < g.key[j]:
            break
        g.heap[k] = j
        g.at[j] = k
        k = below
    g.heap[k] = i
    g.at[i] = k


@noinline
def find_neighbours(first, second, g):
    """Find the unknowns that share an entry with each one; returns the end of the pool, -1 if it is too small."""
    n = len(g.size)
    for t in range(len(first)):
        if first[t] != second[t]:
            g.start[first[t] + 1] += 1
            g.start[second[t] + 1] += 1
    for i in range(n):
        g.start[i + 1] += g.start[i]
        g.mark[i] = -1
    for t in range(len(first)):
        a = first[t]
        b = second[t]
        if a != b:
            g.near[g.start[a] + g.sizes[a]] = b
            g.sizes[a] += 1
            g.near[g.start[b] + g.sizes[b]] = a
            g.sizes[b] += 1
    end = 0
    for i in range(n):
        kept = 0
        for t in range(g.start[i], g.start[i] + g.sizes[i]):
            j = g.near[t]
            if g.mark[j] != i:
                g.mark[j] = i
                g.near[g.start[i] + kept] = j
                kept += 1
        g.sizes[i] = kept
        g.size[i] = kept
        g.begin[i] = end
        # Most rows grow somewhat.
        g.room[i] = 2 * kept
        end += g.room[i]
        if end > len(g.pool):
            return -1
        for t in range(kept):
            g.pool[g.begin[i] + t] = g.near[g.start[i] + t]
    return end


@noinline
def let_others_wait(g, k, nq, more):
    """Add `more` to the waiting counts of the equations that share a coordinate with an early one; each once."""
    # Marks of joined rows are positive and lie between those of the two calls.
    mark = len(g.size) + k if more > 0 else -2 - k
    for t in range(g.start[k], g.start[k] + g.sizes[k]):
        i = g.near[t]
        if i < nq:
            for u in range(g.start[i], g.start[i] + g.sizes[i]):
                j = g.near[u]
                if j >= nq and g.early[j] == 0 and g.mark[j] != mark:
                    g.mark[j] = mark
                    g.waiting[j] += more


@noinline
def join_rows(g, i, end, stamp):
    """Make the neighbours of an eliminated unknown neighbours of each other.

    stamp: a mark that no row has yet. Returns the end of the pool, -1 if it is too small.
    """
    for t in range(g.size[i]):
        j = g.pool[g.begin[i] + t]
        mark = stamp + t
        g.mark[j] = mark
        kept = 0
        for u in range(g.begin[j], g.begin[j] + g.size[j]):
            x = g.pool[u]
            if x != i:
                g.pool[g.begin[j] + kept] = x
                kept += 1
                g.mark[x] = mark
        new = 0
        for u in range(g.begin[i], g.begin[i] + g.size[i]):
            if g.mark[g.pool[u]] != mark:
                new += 1
        if kept + new > g.room[j]:
            g.room[j] = 2 * (kept + new)
            if end + g.room[j] > len(g.pool):
                return -1
            for u in range(kept):
                g.pool[end + u] = g.pool[g.begin[j] + u]
            g.begin[j] = end
            end += g.room[j]
        for u in range(g.begin[i], g.begin[i] + g.size[i]):
            x = g.pool[u]
            if g.mark[x] != mark:
                g.pool[g.begin[j] + kept] = x
                kept += 1
        g.size[j] = kept
    return end


@entry
def eliminate(first, second, nq, g, order):
    """Symbolic elimination of the pairs of neighbours; returns whether the pool was large enough.

    Outputs: the order, and in g the column of L of each unknown: size[i] entries, from begin[i] on in the pool.
    """
    n = len(g.size)
    end = find_neighbours(first, second, g)
    if end < 0:
        return False
    for i in range(nq, n):
        for t in range(g.start[i], g.start[i] + g.sizes[i]):
            if g.near[t] < nq:
                g.waiting[i] += 1
    for k in range(nq, n):
        if g.early[k] == 1:
            let_others_wait(g, k, nq, 1)
    count = 0
    for i in range(n):
        g.at[i] = -1
        g.key[i] = g.size[i] * n + i
        if g.waiting[i] == 0:
            g.heap[count] = i
            sift_up(g, count)
            count += 1
    stamp = 2 * n
    done = 0
    while count > 0:
        i = g.heap[0]
        count -= 1
        g.at[i] = -1
        if count > 0:
            g.heap[0] = g.heap[count]
            sift_down(g, count, 0)
        order[done] = i
        done += 1
        end = join_rows(g, i, end, stamp)
        stamp += g.size[i]
        if end < 0:
            return False
        if i < nq:
            for t in range(g.start[i], g.start[i] + g.sizes[i]):
                if g.near[t] >= nq:
                    g.waiting[g.near[t]] -= 1
        elif g.early[i] == 1:
            let_others_wait(g, i, nq, -1)
        for t in range(g.size[i]):
            j = g.pool[g.begin[i] + t]
            # One after the other, while all other entries are in heap order.
            g.key[j] = g.size[j] * n + j
            if g.waiting[j] == 0:
                if g.at[j] < 0:
                    g.heap[count] = j
                    g.at[j] = count
                    count += 1
                sift_up(g, g.at[j])
                sift_down(g, count, g.at[j])
    return True


@entry
def find_pattern(g, order, place, start, rows):
    """Columns of L in elimination order, with ascending rows; place: of each unknown in the order."""
    at = 0
    for k in range(len(order)):
        i = order[k]
        start[k] = at
        for t in range(g.begin[i], g.begin[i] + g.size[i]):
            row = place[g.pool[t]]
            u = at
            while u > start[k] and rows[u - 1] > row:
                rows[u] = rows[u - 1]
                u -= 1
            rows[u] = row
            at += 1
    start[len(order)] = at


@entry
def find_targets(start, rows, target):
    """Target of the product of each entry of a column with itself and those below it: diagonals come first."""
    n = len(start) - 1
    at = 0
    for k in range(n):
        for t in range(start[k], start[k + 1]):
            target[at] = rows[t]
            at += 1
            # Rows below the pivot are also rows of this column.
            u = start[rows[t]]
            for v in range(t + 1, start[k + 1]):
                while rows[u] != rows[v]:
                    u += 1
                target[at] = n + u
                at += 1
