"""Closing gaps: damped least squares, and the search that reduces gaps to rounding, or to their minimum.

The steps are Levenberg-Marquardt steps with damping |g|^2 [YamashitaFukushima2001]. They converge fast also where
equations are dependent, as in every overconstrained mobile linkage, and slowly but reliably where equations are
strongly curved. Steps that do not reduce the gaps within a few iterations are undone and repeated with more
damping.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import scipy
from scipy import sparse

from ..arrays import Floats

T = TypeVar("T")
# sparse or dense
Matrix: TypeAlias = Any

# dense singular values are used up to this number of columns
DENSE = 200
# lower limit of the damping (the sparse solve uses it unsquared)
FLOOR, SPARSE_FLOOR = 1e-20, 1e-12
# upper limit of the damping far from closure
MOST_DAMPING = 1e-2
# the damping factor decreases after a successful step and increases after an unsuccessful one, between these
# limits
LEAST_FACTOR, MOST_FACTOR = 1e-3, 1e12
# sums of squares below this are rounding: a step without progress is almost the last one
SMALL = 1e-24
# number of steps that may increase the gaps before they are undone
PATIENCE = 3
# a step that predicts a smaller relative decrease of the sum counts as zero
NOTHING = 1e-14
STEPS = 200


@dataclass(frozen=True)
class Lowered(Generic[T]):
    """Result of the search: the configuration, its gaps, and the number of steps."""

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
    """Reduce the gaps to rounding, or to a local minimum, near a configuration.

    look: gaps g at a configuration and their derivative W, so that g + W d are the gaps after a small displacement
    d; move: the configuration after d; enough: the search ends when no gap is larger; weak: no displacement along
    directions in which W has less than this share of its largest singular value; steps: maximum number.
    """
    best = _Look(position, *look(position))
    at, factor, still, worse, n = best, 1.0, 0, 0, 0
    while n < steps and np.abs(best.gaps).max(initial=0.0) > enough:
        n += 1
        damping = factor * min(at.square, MOST_DAMPING)
        d = solve_damped(at.W, at.gaps, damping, weak=weak)
        left = at.gaps + at.W @ d
        if at is best and best.square - float(left @ left) <= NOTHING * best.square:
            # a local minimum
            break
        there = move(at.position, d)
        at = _Look(there, *look(there))
        near = SMALL < best.square < MOST_DAMPING
        if at.square < best.square:
            still = 0 if at.square < 0.99 * best.square else still + 1
            best, factor, worse = at, max(factor / 4.0, LEAST_FACTOR), 0
        elif worse < PATIENCE and factor <= 1.0 and at.square < np.inf and near:
            # in a narrow curved valley a step leaves the floor, and the next one finds it further on
            worse += 1
        else:
            # at rounding level no step can succeed; far from it a shorter one can
            at, still, worse = best, still + 1, 0
            factor = min(factor * 8.0, MOST_FACTOR)
        if still >= (2 if best.square < SMALL else 12):
            break
    return Lowered(best.position, best.gaps, n)


class _Look(Generic[T]):
    """A configuration, its gaps and their derivative."""

    def __init__(self, position: T, gaps: Floats, W: Matrix) -> None:
        self.position, self.gaps, self.W = position, gaps, W
        self.square = float(gaps @ gaps)


def solve_damped(
    W: Matrix, g: Floats, mu: float, x: Floats | None = None, weak: float = 0.0
) -> Floats:
    """Minimise |W d + g|^2 + mu |x + d|^2; x is zero by default.

    weak: singular values below this share of the largest count as zero (dense solves only).
    """
    rows, columns = W.shape
    if columns <= DENSE or not sparse.issparse(W):
        U, values, V = np.linalg.svd(_dense(W), full_matrices=False)
        mu += FLOOR
        values = np.where(values > weak * values.max(initial=0.0), values, 0.0)
        if x is None:
            return np.asarray(-V.T @ (values * (U.T @ g) / (values**2 + mu)))
        inner = V @ x
        inside = -(values * (U.T @ g) + mu * inner) / (values**2 + mu)
        return np.asarray(V.T @ (inside + inner) - x)
    # the same problem as a quasi-definite system
    below = -(mu + SPARSE_FLOOR) * sparse.eye_array(rows)
    K = sparse.block_array([[sparse.eye_array(columns), W.T], [W, below]])
    side = np.concatenate([np.zeros(columns) if x is None else -x, -g])
    return np.asarray(scipy.sparse.linalg.splu(sparse.csc_array(K)).solve(side)[:columns])


def project_out(W: sparse.csr_array, x: Floats, zero: float, dense: int = DENSE) -> Floats:
    """The component of x along the motions that W allows; singular values of W up to `zero` count as zero."""
    if W.shape[1] <= dense:
        _, values, V = np.linalg.svd(W.toarray(), full_matrices=False)
        inner = V[values > zero]
        return np.asarray(x - inner.T @ (inner @ x))
    for _ in range(3):
        x = x + solve_damped(W, W @ x, 0.0)
    return x


def _dense(W: Matrix) -> Floats:
    return W.toarray() if sparse.issparse(W) else W
