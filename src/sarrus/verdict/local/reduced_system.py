"""The joint equations around a configuration, split by the singular vectors of their Jacobian.

    Phi(q + x) = J x + 1/2 B(x, x),      J = U S V^T + (values treated as zero)

N: basis of the null space of J (first-order degrees of freedom), L: of its left null space (dependences). Bodies
that are not connected to each other form separate systems (`split_system`): their branches are combined, not
searched together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from ...arrays import Floats, Ints
from ...kinematics.constraints import Constraints
from ...thresholds import (
    BRANCH_CLOSED,
    BRANCH_RANK,
    BRANCH_ROOT,
    NO_COMBINATION,
    SPARSE_ENTRY,
    TAYLOR_ZERO,
)

# largest number of entries for which B is stored as an array
MOST_ENTRIES = 200_000
# residuals and singular values along branches of inexact dimensions, in units of their misfit at the configuration
CLOSED_BY, RANK_BY = 30.0, 300.0


@dataclass(frozen=True, eq=False)
class LocalSystem:
    """Some equations (rows) of the constraints over some coordinates (columns), around q."""

    joints: Constraints
    q: Floats
    rows: Ints
    columns: Ints
    # factor by which the limit for zero is raised
    zero_margin: float = 1.0

    @cached_property
    def J(self) -> Floats:
        """The Jacobian at q."""
        return self.joints.jacobian(self.q)[np.ix_(self.rows, self.columns)]

    @cached_property
    def tensor(self) -> Floats | None:
        """B as an array (rows, columns, columns) for small systems, so that products are matrix products."""
        n = len(self.columns)
        if len(self.rows) * n * n > MOST_ENTRIES:
            return None
        whole = len(self.q)
        if len(self.joints.kept) * whole * whole > MOST_ENTRIES:
            unit = self.widen(np.eye(n))
            return self.joints.bend_pairs(unit, unit)[self.rows].reshape(len(self.rows), n, n)
        return self.joints.bends()[np.ix_(self.rows, self.columns, self.columns)]

    def bent(self, x: Floats) -> Floats:
        """B(x, .) as a matrix: the change of the Jacobian along x."""
        if self.tensor is not None:
            return np.asarray(self.tensor @ x)
        return self.jacobian_at(x) - self.J

    def jacobian_at(self, x: Floats) -> Floats:
        """The Jacobian after a displacement x."""
        if self.tensor is not None:
            return self.J + self.tensor @ x
        return self.joints.jacobian(self.q + self.widen(x))[np.ix_(self.rows, self.columns)]

    def phi_at(self, x: Floats) -> Floats:
        """Phi(q + x) - Phi(q): the residual at q itself does not affect the branches."""
        if self.tensor is not None:
            return (self.J + 0.5 * (self.tensor @ x)) @ x
        return self.J @ x + 0.5 * self.joints.bend(self.widen(x))[self.rows]

    def bilinear(self, X: Floats, Y: Floats) -> Floats:
        """B(x, y) of all columns x of X with all columns y of Y, shape (rows, columns of X * columns of Y)."""
        if self.tensor is not None:
            products = np.asarray(X.T @ self.tensor @ Y)
            return products.reshape(len(self.rows), X.shape[1] * Y.shape[1])
        return self.joints.bend_pairs(self.widen(X), self.widen(Y))[self.rows]

    def widen(self, x: Floats) -> Floats:
        """Displacements of all coordinates of the mechanism."""
        if len(self.columns) == len(self.q):
            return x
        out = np.zeros((len(self.q), *x.shape[1:]))
        out[self.columns] = x
        return out

    @cached_property
    def split(self) -> Split:
        """The singular vectors of J without those of small values."""
        U, values, V = np.linalg.svd(self.J)
        rank = int(np.sum(values > NO_COMBINATION))
        left_out = float(values[rank:].max(initial=0.0))
        return Split(U[:, :rank], values[:rank], V[:rank].T, V[rank:].T, U[:, rank:], left_out)

    @cached_property
    def zero(self) -> float:
        """Taylor coefficients below this count as zero: rounding, and the deviation of q from singularity."""
        return self.zero_margin * max(TAYLOR_ZERO, 100.0 * self.split.left_out)

    @cached_property
    def misfit(self) -> float:
        """The largest quantity that counts as zero: singular values of J, second-order terms of dependences."""
        split = self.split
        if not split.L.shape[1] or not split.N.shape[1]:
            return split.left_out
        bent = 0.5 * np.abs(split.L.T @ self.bilinear(split.N, split.N))
        return max(split.left_out, float(bent[bent < self.zero].max(initial=0.0)))

    @property
    def inexactness(self) -> float:
        """The misfit of the dimensions, which the given configuration (q = 0) determines.

        At a configuration of a run the dimensions are exact, and only the configuration is not.
        """
        return 0.0 if np.any(self.q) else self.misfit

    @property
    def closed(self) -> float:
        """Residuals below this are zero along a branch: rounding, or the misfit of the dimensions."""
        return max(BRANCH_CLOSED, min(CLOSED_BY * self.inexactness, 1e3 * BRANCH_CLOSED))

    @property
    def root(self) -> float:
        """Residuals of the equations for directions that are zero at a root."""
        return max(BRANCH_ROOT, min(CLOSED_BY * self.inexactness, 1e2 * BRANCH_ROOT))

    @property
    def flat(self) -> float:
        """Singular values of J below this are zero along a branch."""
        return max(BRANCH_RANK, min(RANK_BY * self.inexactness, 1e2 * BRANCH_RANK))


@dataclass(frozen=True, eq=False)
class Split:
    """J = U S V^T, bases N and L of its null spaces; left_out: largest singular value treated as zero."""

    U: Floats
    S: Floats
    V: Floats
    N: Floats
    L: Floats
    left_out: float


@dataclass(frozen=True, eq=False)
class IndependentPart:
    """Degrees of freedom N and dependences L of a system that are analysed together, the others being at rest."""

    system: LocalSystem
    N: Floats
    L: Floats

    @property
    def dof(self) -> int:
        """The number of first-order degrees of freedom."""
        return self.N.shape[1]

    @cached_property
    def quadrics(self) -> Floats:
        """L^T B(N a, N a) / 2 as symmetric matrices, shape (dependences, dof, dof)."""
        m = self.dof
        if not self.L.size or not m:
            return np.zeros((self.L.shape[1], m, m))
        found = 0.5 * (self.L.T @ self.system.bilinear(self.N, self.N)).reshape(-1, m, m)
        return np.where(np.abs(found) < self.system.zero, 0.0, found)


def split_system(joints: Constraints, q: Floats) -> list[LocalSystem]:
    """The systems of bodies that joints connect; coordinates without a body are left out."""
    form, n = joints.form, len(q)
    number = np.full(joints.total, -1)
    number[joints.kept] = np.arange(len(joints.kept))
    rows = number[form.J_eq]
    keep = rows >= 0
    rows, columns = rows[keep], form.J_col[keep]
    m = len(joints.kept)
    count, label = connected(rows, m + columns, m + n)
    if count == 1:
        return [LocalSystem(joints, q, np.arange(m), np.arange(n))]
    parts = []
    for k in range(count):
        own = np.flatnonzero(label[m:] == k)
        if len(own):
            parts.append(LocalSystem(joints, q, np.flatnonzero(label[:m] == k), own))
    return parts


def connected(first: Ints, second: Ints, size: int) -> tuple[int, Ints]:
    """The number of groups of nodes that edges connect, and the group of each node.

    It uses plain lists, because the graphs are small and SciPy's overhead is larger.
    """
    root = list(range(size))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = i = root[root[i]]
        return i

    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        x, y = find(a), find(b)
        root[max(x, y)] = min(x, y)
    groups, label = np.unique([find(i) for i in range(size)], return_inverse=True)
    return len(groups), label


def find_factors(system: LocalSystem) -> list[IndependentPart]:
    """Groups of degrees of freedom that no second-order equation couples, first those that no equation contains.

    Terms of higher order may still couple them: `analysis.are_independent` decides that. An equation that vanishes
    in second order may couple any of them: then all of them form one group.
    """
    whole = whole_factor(system)
    N, L = whole.N, whole.L
    m, k = N.shape[1], L.shape[1]
    if m < 2 or k < 1:
        return [whole]
    used = np.any(whole.quadrics != 0.0, axis=2)
    if not used.any(axis=1).all():
        return [whole]
    rows, columns = np.nonzero(used)
    count, label = connected(rows, k + columns, k + m)
    if count == 1:
        return [whole]
    groups = []
    for c in range(count):
        groups.append(IndependentPart(system, N[:, label[k:] == c], L[:, label[:k] == c]))
    free = [g for g in groups if not g.L.shape[1]]
    bound = [g for g in groups if g.L.shape[1]]
    if free:
        joined = np.hstack([g.N for g in free])
        bound.insert(0, IndependentPart(system, joined, L[:, :0]))
    return bound


def whole_factor(system: LocalSystem) -> IndependentPart:
    """All degrees of freedom and dependences of a system together."""
    return IndependentPart(system, sparser(system.split.N), sparser(system.split.L))


def sparser(basis: Floats) -> Floats:
    """A basis of the same space with sparse columns, so that neighbouring loops remain separate."""
    k = basis.shape[1]
    if k < 2:
        return basis
    pivots = linalg.qr(basis.T, mode="r", pivoting=True)[1][:k]
    out = np.linalg.solve(basis[pivots].T, basis.T).T
    out[np.abs(out) < SPARSE_ENTRY] = 0.0
    shrinking = True
    while shrinking:
        shrinking = False
        for i in range(k):
            for j in range(k):
                shrinking |= i != j and _thin_out(out, i, j)
    return out / np.linalg.norm(out, axis=0)


def _thin_out(out: Floats, i: int, j: int) -> bool:
    """Subtract from column i the multiple of column j that removes most entries; whether there was one."""
    both = (out[:, i] != 0.0) & (out[:, j] != 0.0)
    if np.count_nonzero(both) * 2 <= np.count_nonzero(out[:, j]):
        return False
    ratios = out[both, i] / out[both, j]
    votes = np.abs(ratios[:, None] - ratios) < SPARSE_ENTRY
    best = int(np.argmax(votes.sum(axis=1)))
    changed = out[:, i] - ratios[best] * out[:, j]
    changed[np.abs(changed) < SPARSE_ENTRY] = 0.0
    if np.count_nonzero(changed) >= np.count_nonzero(out[:, i]):
        return False
    out[:, i] = changed
    return True
