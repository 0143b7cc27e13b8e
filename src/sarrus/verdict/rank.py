"""The joint equations in dimensionless form, and their rank with the values around the gap.

With D = diag(L sqrt(mu/m), L sqrt(mu/I)) of each body (its mass m and principal inertias I; L and mu a length and
a mass of the mechanism), the rows of W D that belong to one pair of bodies are made orthonormal. A vanishing
inertia is replaced by m l^2 / 100, with l the body's own length.

Up to DENSE columns the rank is computed from singular values, above by elimination body by body. The rows that
involve a body are transformed by an orthogonal matrix so that as many as it has columns become its pivots. The
others no longer involve it and are passed on, compressed, to its neighbours. Bodies with few neighbours are
eliminated first, so the cost is linear in the length of a chain. The pivots (singular values of each body's part)
then replace the singular values: they fall to rounding if an equation depends on others, but do not estimate the
smallest singular value (long chains have smaller singular values than pivots).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..arrays import Floats, Ints, plain_sum
from ..thresholds import NO_REACH, RANK_TOLERANCE
from .joint_frames import GROUND

# up to this many columns: dense singular values
DENSE = 600
# an inertia below this fraction of m l^2 is replaced by it
LEAST_INERTIA = 0.01
# a mass that differs from the mean by more than this factor is clipped: mobility does not depend on masses, and
# the scaling of very light and very heavy bodies would leave no digits between zeros and the other values
SPREAD = 1e3
# how a rank was decided
SINGULAR_VALUES, PIVOTS = "singular values", "pivots of the elimination body by body"


@dataclass(frozen=True, eq=False)
class Scaled:
    """The scaled joint equations at a configuration: dimensionless, the rows of each pair orthonormal.

    Their singular values depend neither on units nor on the directions in which a joint's rows are written.
    blocks: rows of pairs and the triangle R that turns scaled rows into named ones, row = R^T scaled.
    """

    matrix: sparse.csr_array
    blocks: tuple[tuple[Ints, Floats], ...]

    def gaps(self, gaps: Floats) -> Floats:
        """Gaps of the named rows as gaps of the scaled ones."""
        out = np.zeros_like(gaps)
        for rows, R in self.blocks:
            out[rows] = np.linalg.solve(np.swapaxes(R, 1, 2), gaps[rows][:, :, None])[:, :, 0]
        return out

    def named(self, left: Floats) -> Floats:
        """Combinations of the scaled rows, (rows, k), as combinations of the named rows."""
        out = np.zeros_like(left)
        for rows, R in self.blocks:
            out[rows] = np.linalg.solve(R, left[rows])
        return out


@dataclass(frozen=True, eq=False)
class BodyScale:
    """D of each body, followed by the ground: for velocities, (nb + 1,), and spins, (nb + 1, 3, 3).

    Spins are scaled along the principal axes at the start; turns: rotations of the bodies since then.
    """

    linear: Floats
    angular: Floats

    def repeated(self, n: int) -> BodyScale:
        """The same of n copies of all bodies, followed by the ground."""
        return BodyScale(
            np.append(np.tile(self.linear[:-1], n), self.linear[-1]),
            np.concatenate([np.tile(self.angular[:-1], (n, 1, 1)), self.angular[-1:]]),
        )

    def up(self, turns: Floats, scaled: Floats) -> Floats:
        """D x of scaled twists x, (nb, 6)."""
        full = np.array(scaled)
        full[:, :3] *= self.linear[:-1, None]
        full[:, 3:] = np.einsum("bij,bjk,bk->bi", turns, self.angular[:-1], full[:, 3:])
        return full

    def down(self, turns: Floats, twists: Floats) -> Floats:
        """D^-1 of twists, (nb, 6)."""
        full = np.array(twists)
        full[:, :3] /= self.linear[:-1, None]
        back = np.linalg.inv(self.angular[:-1])
        full[:, 3:] = np.einsum("bij,bkj,bk->bi", back, turns, full[:, 3:])
        return full

    def forces(self, turns: Floats, forces: Floats) -> Floats:
        """D^T F of forces and moments, (nb, 6)."""
        full = np.array(forces)
        full[:, :3] *= self.linear[:-1, None]
        full[:, 3:] = np.einsum("bki,blk,bl->bi", self.angular[:-1], turns, full[:, 3:])
        return full

    def columns(self, turns: Floats, entries: Floats, bodies: Ints) -> Floats:
        """Coefficients of scaled twists from those of twists, (rows, k, 6); bodies: of each row, (rows, k)."""
        turned = np.concatenate([turns, np.eye(3)[None]]) @ self.angular
        out = np.empty_like(entries)
        for side in range(bodies.shape[1]):
            body = bodies[:, side]
            out[:, side, :3] = entries[:, side, :3] * self.linear[body, None]
            out[:, side, 3:] = np.einsum("ri,rij->rj", entries[:, side, 3:], turned[body])
        return out


def make_scale(masses: Floats, inertias: Floats, own: Floats, length: float) -> BodyScale:
    """D of each body: L sqrt(mu/m), and L sqrt(mu) V I^-1/2, V its principal axes; 1 for the ground."""
    mu = float(np.exp(np.mean(np.log(masses))))
    sizes, axes = np.linalg.eigh(inertias)
    bounded = np.clip(masses, mu / SPREAD, mu * SPREAD)
    sizes, masses = sizes * (bounded / masses)[:, None], bounded
    # a body with equal principal inertias uses the world axes
    round_body = sizes[:, 2] - sizes[:, 0] <= 1e-12 * sizes[:, 2]
    axes[round_body] = np.eye(3)
    sizes = np.maximum(sizes, LEAST_INERTIA * (masses * own**2)[:, None])
    angular = axes * (length * np.sqrt(mu / sizes))[:, None, :]
    linear = length * np.sqrt(mu / masses)
    return BodyScale(np.append(linear, 1.0), np.concatenate([angular, np.eye(3)[None]]))


def measure_reach(
    masses: Floats, centers: Floats, inertias: Floats, pairs: Ints, places: Floats, length: float
) -> Floats:
    """Each body's own length: that of its mass distribution, or the distance to its farthest joint."""
    gyration = np.sqrt(np.clip(np.trace(inertias, axis1=1, axis2=2), 0.0, None) / masses)
    reach = gyration.copy()
    for side in (0, 1):
        involved = pairs[:, side] != GROUND
        body = pairs[involved, side]
        np.maximum.at(reach, body, np.linalg.norm(places[involved, side] - centers[body], axis=1))
    # a body without extent uses the length of the mechanism
    reach[reach <= NO_REACH * reach.max()] = length
    return reach


@dataclass(frozen=True)
class Rank:
    """A rank and how it was decided.

    above, below: the values next to the tolerance on either side, largest first (at most three each); below is
    empty if no value counts as zero.
    """

    rank: int
    rows: int
    columns: int
    tolerance: float
    above: tuple[float, ...]
    below: tuple[float, ...]
    how: str

    @property
    def smallest(self) -> float:
        """The smallest nonzero value; 1 if there is none."""
        return self.above[-1] if self.above else 1.0

    @property
    def gap(self) -> float:
        """Ratio of the smallest nonzero value to the largest that counts as zero."""
        # an exact zero is replaced by 1e-17, below all rounding
        return self.smallest / max(self.below[0], 1e-17) if self.below else np.inf

    @property
    def clear(self) -> bool:
        """Whether the rank is beyond doubt: a gap of a factor of a thousand around the tolerance."""
        return self.gap >= 1e3

    def as_dict(self) -> dict[str, object]:
        """The record as a dictionary for JSON."""
        return {
            "rank": self.rank,
            "rows": self.rows,
            "columns": self.columns,
            "tolerance": self.tolerance,
            "above": list(self.above),
            "below": list(self.below),
            "how": self.how,
        }


def measure_rank(
    W: sparse.csr_array | Floats,
    columns_a_body: int,
    tolerance: float = RANK_TOLERANCE,
    dense: int = DENSE,
) -> Rank:
    """Rank of a scaled matrix of joint equations."""
    rows, columns = W.shape
    if columns <= dense:
        whole = W if isinstance(W, np.ndarray) else W.toarray()
        return rank_of_values(measure_values(whole), (rows, columns), tolerance)
    values = np.sort(_pivots(sparse.csr_array(W), columns_a_body, tolerance))[::-1]
    return rank_of_values(values, (rows, columns), tolerance, PIVOTS)


def measure_values(W: Floats) -> Floats:
    """Singular values of a dense matrix, or of several."""
    if not W.size:
        return np.zeros((*W.shape[:-2], 0))
    return np.asarray(np.linalg.svd(W, compute_uv=False))


def rank_of_values(
    values: Floats, shape: tuple[int, int], tolerance: float, how: str = SINGULAR_VALUES
) -> Rank:
    """Rank of a matrix of this shape, given its singular values or pivots in decreasing order."""
    rank = int(np.sum(values > tolerance))
    above = tuple(float(x) for x in values[max(rank - 3, 0) : rank])
    below = tuple(float(x) for x in values[rank : rank + 3])
    return Rank(rank, *shape, tolerance, above, below, how)


def _pivots(W: sparse.csr_array, width: int, tolerance: float) -> Floats:
    """The pivots of all bodies, including those that count as zero."""
    blocks = _row_blocks(W, width)
    of_body: dict[int, set[int]] = {}
    for n, (bodies, _) in blocks.items():
        for b in bodies:
            of_body.setdefault(b, set()).add(n)
    neighbours = {
        b: {c for n in involved for c in blocks[n][0]} - {b} for b, involved in of_body.items()
    }
    queue = [(len(near), b) for b, near in neighbours.items()]
    heapq.heapify(queue)
    found: list[Floats] = []
    fresh = len(blocks)
    while queue:
        degree, b = heapq.heappop(queue)
        if b not in neighbours or degree != len(neighbours[b]):
            continue
        near = sorted(neighbours.pop(b))
        front = _front([blocks.pop(n) for n in sorted(of_body.pop(b))], [b, *near], width)
        U, values, _ = np.linalg.svd(front[:, :width])
        found.append(values)
        rank = int(np.sum(values > tolerance))
        rest = U[:, rank:].T @ front[:, width:]
        for c in near:
            of_body[c] = {n for n in of_body[c] if n in blocks}
            neighbours[c] |= set(near)
            neighbours[c] -= {b, c}
        if rest.shape[0] > rest.shape[1]:
            rest = np.asarray(np.linalg.qr(rest, mode="r"))
        # rows at rounding level are dropped
        rest = rest[np.abs(rest).max(axis=1, initial=0.0) > 1e-3 * tolerance]
        if rest.size:
            blocks[fresh] = (near, rest)
            for c in near:
                of_body[c].add(fresh)
            fresh += 1
        for c in near:
            heapq.heappush(queue, (len(neighbours[c]), c))
    return np.concatenate(found) if found else np.zeros(0)


def _row_blocks(W: sparse.csr_array, width: int) -> dict[int, tuple[list[int], Floats]]:
    """Rows that involve the same bodies, as one dense block each."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for r in range(W.shape[0]):
        bodies = np.unique(W.indices[W.indptr[r] : W.indptr[r + 1]] // width)
        if len(bodies):
            groups.setdefault(tuple(int(b) for b in bodies), []).append(r)
    blocks = {}
    for n, (touched, rows) in enumerate(groups.items()):
        dense = np.zeros((len(rows), len(touched) * width))
        for i, r in enumerate(rows):
            part = slice(W.indptr[r], W.indptr[r + 1])
            body, inside = np.divmod(W.indices[part], width)
            dense[i, np.searchsorted(touched, body) * width + inside] = W.data[part]
        blocks[n] = (list(touched), dense)
    return blocks


def _front(parts: list[tuple[list[int], Floats]], bodies: list[int], width: int) -> Floats:
    """The rows of all parts over the columns of the given bodies."""
    place = {b: i * width for i, b in enumerate(bodies)}
    out = np.zeros((plain_sum(len(m) for _, m in parts), len(bodies) * width))
    top = 0
    for involved, matrix in parts:
        for k, b in enumerate(involved):
            out[top : top + len(matrix), place[b] : place[b] + width] = matrix[
                :, k * width : (k + 1) * width
            ]
        top += len(matrix)
    return out
