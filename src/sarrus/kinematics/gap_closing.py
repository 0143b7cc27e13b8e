"""Closing gaps: damped least squares, and the one search that lowers gaps to rounding, or to their least.

Steps are those of Levenberg and Marquardt with damping |g|^2 [YamashitaFukushima2001]: fast also where
equations depend on each other, as in every paradoxical linkage, and slow but sure where they bend. Steps
that do not pay within a few are taken back and repeated with more damping.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from scipy import sparse

from ..arrays import Floats

T = TypeVar("T")
# sparse or dense
Matrix: TypeAlias = Any

# up to this many columns: dense singular values
DENSE = 200
# damping never falls below this (the sparse solve sees it unsquared)
FLOOR, SPARSE_FLOOR = 1e-20, 1e-12
# far from closed, damping is no more than this
MOST_DAMPING = 1e-2
# the damping's factor falls after a step that pays and rises after one that does not, between these
LEAST_FACTOR, MOST_FACTOR = 1e-3, 1e12
# sums of squares below this are rounding: there a step that pays no more is almost the last
SMALL = 1e-24
# so many steps may lead to larger gaps before they are taken back
PATIENCE = 3
# a step that promises to lower the sum by this share is none
NOTHING = 1e-14
STEPS = 200


@dataclass(frozen=True)
class Lowered(Generic[T]):
    """Where gaps were lowered to: the position, its gaps there, and how many steps it took."""

    position: T
    gaps: Floats
    steps: int

    @property
    def size(self) -> float:
        """The largest gap."""
        return float(np.abs(self.gaps).max(initial=0.0))


def lower_gaps(
    position: T,
    look: Callable[[T], tuple[Floats, Matrix]],
    move: Callable[[T, Floats], T],
    *,
    enough: float = 0.0,
    weak: float = 0.0,
    steps: int = STEPS,
) -> Lowered[T]:
    """Lower the gaps to rounding, or to where they are least, near a position.

    look: gaps g of a position and their rates W, g + W d after a small displacement d; move: the position
    after d; enough: the search ends where no gap is larger; weak: nothing moves along directions in which W
    has less than this share of its largest value; steps: at most.
    """
    best = _Look(position, *look(position))
    at, factor, still, worse, n = best, 1.0, 0, 0, 0
    while n < steps and np.abs(best.gaps).max(initial=0.0) > enough:
        n += 1
        damping = factor * min(at.square, MOST_DAMPING)
        d = solve_damped(at.W, at.gaps, damping, weak=weak)
        left = at.gaps + at.W @ d
        if at is best and best.square - float(left @ left) <= NOTHING * best.square:
            # the least there is
            break
        there = move(at.position, d)
        at = _Look(there, *look(there))
        near = SMALL < best.square < MOST_DAMPING
        if at.square < best.square:
            still = 0 if at.square < 0.99 * best.square else still + 1
            best, factor, worse = at, max(factor / 4.0, LEAST_FACTOR), 0
        elif worse < PATIENCE and factor <= 1.0 and at.square < np.inf and near:
            # in a narrow bent valley a step leaves its floor, and the next one finds it further on
            worse += 1
        else:
            # at rounding a step cannot pay any more; far from it a shorter one can
            at, still, worse = best, still + 1, 0
            factor = min(factor * 8.0, MOST_FACTOR)
        if still >= (2 if best.square < SMALL else 12):
            break
    return Lowered(best.position, best.gaps, n)


class _Look(Generic[T]):
    """A position, its gaps and their rates."""

    def __init__(self, position: T, gaps: Floats, W: Matrix) -> None:
        self.position, self.gaps, self.W = position, gaps, W
        self.square = float(gaps @ gaps)


def solve_damped(
    W: Matrix, g: Floats, mu: float, x: Floats | None = None, weak: float = 0.0
) -> Floats:
    """Minimise |W d + g|^2 + mu |x + d|^2; x is zero if left out.

    weak: singular values below this share of the largest count as none (of dense solves only).
    """
    rows, columns = W.shape
    if columns <= DENSE or not sparse.issparse(W):
        U, values, V = np.linalg.svd(_dense(W), full_matrices=False)
        mu += FLOOR
        values = np.where(values > weak * values.max(initial=0.0), values, 0.0)
        if x is None:
            return np.asarray(-V.T @ (values * (U.T @ g) / (values**2 + mu)))
        held = V @ x
        inside = -(values * (U.T @ g) + mu * held) / (values**2 + mu)
        return np.asarray(V.T @ (inside + held) - x)
    from scipy.sparse.linalg import splu

    # the same as a quasi-definite system
    below = -(mu + SPARSE_FLOOR) * sparse.eye_array(rows)
    K = sparse.block_array([[sparse.eye_array(columns), W.T], [W, below]])
    side = np.concatenate([np.zeros(columns) if x is None else -x, -g])
    return np.asarray(splu(sparse.csc_array(K)).solve(side)[:columns])


def project_out(W: sparse.csr_array, x: Floats, zero: float, dense: int = DENSE) -> Floats:
    """The part of x along the motions that W allows; zero: values of W up to this are none."""
    if W.shape[1] <= dense:
        _, values, V = np.linalg.svd(W.toarray(), full_matrices=False)
        held = V[values > zero]
        return np.asarray(x - held.T @ (held @ x))
    for _ in range(3):
        x = x + solve_damped(W, W @ x, 0.0)
    return x


def _dense(W: Matrix) -> Floats:
    return W.toarray() if sparse.issparse(W) else W
