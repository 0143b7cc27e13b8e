"""Configurations near a branch: predicted ones, closed by Newton steps, and followed further along it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from ...arrays import Floats
from ...thresholds import MULTIPLE_RANK
from .polygon import Terms
from .reduced_system import LocalSystem

# how far branches are continued, as fractions of the radius of convergence
DISTANCES = (0.2, 0.1, 0.05, 0.02, 0.01)
# if equations vanish only up to the order, branches are followed this far, in such steps: of the coordinate that
# moves most, in link lengths; a gap like s^16 is 1e-8 there
FAR, STEP = 0.3, 0.1
# shorter steps, as fractions of the first
SHARES = (1.0, 0.4, 0.15)
# and at most this far, as a fraction of the radius of convergence: short links end sooner
FURTHER = 0.8
# Newton steps to a nearby configuration
CLOSING = 12
# step from a configuration to others of the same rank, as a fraction of its displacement; small enough for the
# second order to vanish against the first
PROBE = 5e-4
# steps towards a lower rank that may increase the residual
UPHILL = 2
# a Newton step below this is the last one
LAST_STEP = 1e-9
# conditions on the rank weaker than this fraction of the strongest are redundant
SHAKY_RANK = 1e-6
# singular values of J near a branch that may be zero on it, if the root is multiple
SHAKY_VALUE = 1e-4


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predicted displacements near a branch, at s > 0 (or s < 0 for the other end), and its tangent space.

    dof: number of degrees of freedom of the factor; follow: whether the branch has to be followed far,
    because some equations vanish only up to the order.
    """

    direction: Floats
    tangent: Floats
    dof: int
    at: Callable[[float], Floats]
    terms: Terms = ()
    multiplicity: int = 1
    follow: bool = False


@dataclass(frozen=True, eq=False)
class Reached:
    """A configuration on a branch: displacement, residual, nullity of J.

    shaky: number of conditions on the rank, if the nullity exceeds the dimension.
    """

    x: Floats
    residual: float
    nullity: int
    shaky: int


def continue_branch(system: LocalSystem, prediction: Prediction, side: float) -> Reached | None:
    """A configuration on the branch, as far away as the prediction allows; None if there is none."""
    for distance in DISTANCES:
        x = prediction.at(side * distance)
        if not np.abs(x).max() > 0.0:
            return None
        there = _close_on_branch(system, prediction, x, distance)
        if there is None:
            continue
        if not prediction.follow:
            return there
        direction = side * prediction.direction
        worst = _walk(system, there.x, direction, there.nullity, there.shaky, FURTHER / distance)
        if worst is not None:
            return replace(there, residual=max(there.residual, worst))
    return None


def _close_on_branch(
    system: LocalSystem, prediction: Prediction, x: Floats, distance: float
) -> Reached | None:
    """The configuration on the branch near a predicted one; None if there is none."""
    n, dimension = len(system.columns), prediction.tangent.shape[1]
    others = system.split.N.shape[1] - prediction.dof
    ranks = [n - dimension]
    if prediction.multiplicity != 1 or others:
        # degrees of freedom of other factors are at rest, and multiple roots keep the rank low
        values = np.linalg.svd(system.jacobian_at(x), compute_uv=False)
        ranks = sorted({int(np.sum(values > limit)) for limit in (SHAKY_VALUE, MULTIPLE_RANK)})
    for rank in ranks:
        excess = n - rank - dimension
        for shaky in _conditions(n - rank, excess if excess > others else 0):
            closed, residual = close_near(system, x, rank, shaky)
            # the second limit bounds the share of the displacement due to terms beyond the order
            near = np.abs(closed - x).max() < 0.05 * distance * np.abs(x).max()
            if residual > system.closed or not near:
                continue
            nullity = nullity_at(system, closed)
            if not shaky or nullity == n - rank:
                return Reached(closed, residual, nullity, shaky)
    return None


def _walk(
    system: LocalSystem, x: Floats, direction: Floats, nullity: int, shaky: int, further: float
) -> float | None:
    """The largest residual along a branch; None if it ends or the rank of J changes on the way.

    It is followed to FAR, at most to `further` times the first distance. A gap that grows with a power beyond the
    order vanishes to rounding close by, but shows there. shaky: by how much the nullity exceeds the dimension.
    """
    worst = 0.0
    far = min(FAR, further * float(np.abs(x).max()))
    longest = STEP * far / FAR
    while np.abs(x).max() < far:
        _, values, V = np.linalg.svd(system.jacobian_at(x))
        free = V[len(V) - nullity :]
        if len(V) - nullity > len(values) or np.any(values[len(V) - nullity :] > system.flat):
            return None
        along = free.T @ (free @ direction)
        size = float(np.abs(along).max())
        if size < 0.1 * np.abs(direction).max():
            return None
        found = _step_ahead(system, x, along * (longest / size), len(V) - nullity, shaky)
        if found is None:
            return None
        closed, residual = found
        worst, direction, x = max(worst, residual), closed - x, closed
    return worst if nullity_at(system, x) == nullity else None


def _step_ahead(
    system: LocalSystem, x: Floats, step: Floats, rank: int, shaky: int
) -> tuple[Floats, float] | None:
    """The closed configuration one step further, and its residual; None if there is none.

    Newton steps to a lower rank converge only from close by, so shorter steps are tried as well.
    """
    for share, conditions in product(SHARES, _conditions(len(x) - rank, shaky)):
        ahead = x + share * step
        closed, residual = close_near(system, ahead, rank, conditions)
        near = np.abs(closed - ahead).max() <= 0.5 * share * np.abs(step).max()
        if residual <= system.closed and near:
            return closed, residual
    return None


def _conditions(nullity: int, shaky: int) -> tuple[int, ...]:
    """Numbers of conditions on the rank to try: the dimension may be lower than the predicted one."""
    return (shaky, nullity) if shaky else (0,)


def stays_singular(system: LocalSystem, x: Floats, direction: Floats, nullity: int) -> bool:
    """Whether configurations near x and further along the direction close with J of that nullity."""
    closed, residual = close_near(system, x, len(system.columns) - nullity)
    if residual > system.closed or np.abs(closed - x).max() > 0.5 * np.abs(x).max():
        return False
    if nullity_at(system, closed) != nullity:
        return False
    return _walk(system, closed, direction, nullity, 0, FURTHER / DISTANCES[0]) is not None


def reachable(system: LocalSystem, x: Floats, nullity: int, rest: Floats) -> Floats:
    """The displacements from a configuration, at which J has a nullity, to others of the same nullity, (n, d).

    An orthonormal basis of them; rest: rows of the degrees of freedom that stay at rest. Along other velocities of
    the null space, Newton steps lead back.
    """
    free = np.linalg.svd(system.jacobian_at(x))[2][len(x) - nullity :].T
    inside = np.linalg.svd(np.vstack([rest @ free, np.zeros((1, nullity))]))[2][len(rest) :]
    h, found = PROBE * float(np.abs(x).max()), np.zeros((len(x), 0))
    # the number of conditions on the rank follows from the dimension, which is the largest that they confirm
    for dimension in range(len(inside) - 1, 0, -1):
        moved = []
        for v in (free @ inside.T).T:
            start = x + h * v
            closed, residual = close_near(system, start, len(x) - nullity, nullity - dimension)
            if residual < system.closed and nullity_at(system, closed) >= nullity:
                moved.append((closed - x) / h)
        if moved:
            U, values, _ = np.linalg.svd(np.column_stack(moved), full_matrices=False)
            reached = U[:, values > 0.5]
            if reached.shape[1] >= dimension:
                return np.asarray(reached)
            found = reached if reached.shape[1] > found.shape[1] else found
    return found


def nullity_at(system: LocalSystem, x: Floats) -> int:
    """The dimension of the null space of J after a displacement."""
    values = np.linalg.svd(system.jacobian_at(x), compute_uv=False)
    missing = max(len(system.columns) - len(values), 0)
    return int(np.sum(values < system.flat)) + missing


def close_near(system: LocalSystem, x: Floats, rank: int, shaky: int = 0) -> tuple[Floats, float]:
    """The displacement near x that closes the joints, and the residual, by Newton steps of least norm.

    rank: of J on the branch. Off the branch, dependent equations raise the rank, and steps along them would lead
    away. shaky: by how much the nullity of J on the branch exceeds its dimension. If it does, the steps also
    reduce the small singular values to zero, because residuals grow only with the square of the distance from the
    branch. This gives as many independent conditions.
    """
    best, least, worse, done = x, np.inf, 0, False
    for _ in range(CLOSING):
        gaps = system.phi_at(x)
        size = float(np.abs(gaps).max(initial=0.0))
        if size < least:
            best, least, worse = x, size, 0
        else:
            worse += 1
        # steps towards a lower rank may increase the residual at first
        if size < 1e-16 or done or worse > (UPHILL if shaky else 0):
            break
        if shaky:
            step = _step_to_rank(system, x, gaps, rank, shaky)
        else:
            U, values, V = np.linalg.svd(system.jacobian_at(x), full_matrices=False)
            step = V[:rank].T @ ((U[:, :rank].T @ gaps) / values[:rank])
        x = x - step
        # the error left is the square of the step
        done = bool(np.abs(step).max(initial=0.0) < LAST_STEP)
    return best, least


def _step_to_rank(
    system: LocalSystem, x: Floats, gaps: Floats, rank: int, conditions: int
) -> Floats:
    """The Newton step of least norm to Phi = 0 and U2^T J V2 = 0, with U2, V2 the vectors beyond the rank."""
    J = system.jacobian_at(x)
    U, values, V = np.linalg.svd(J)
    left, right = U[:, rank:].T, V[rank:]
    step = V[:rank].T @ ((U[:, :rank].T @ gaps) / values[:rank])
    # the part within the null space follows from the conditions on the rank
    rows = np.vstack([left @ system.bent(v) for v in right])
    sides = (left @ (J @ right.T)).T.ravel() - rows @ step
    # off the branch others are almost dependent on the strongest ones, and would lead far away
    A, strengths, B = np.linalg.svd(rows @ right.T, full_matrices=False)
    count = min(conditions, int(np.sum(strengths > SHAKY_RANK * strengths.max(initial=0.0))))
    return step + right.T @ (B[:count].T @ ((A[:, :count].T @ sides) / strengths[:count]))
