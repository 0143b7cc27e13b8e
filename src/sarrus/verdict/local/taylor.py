"""Taylor series of the joint equations, reduced to few variables (Lyapunov-Schmidt [GolubitskySchaeffer1985]).

Series in v variables are lists of homogeneous parts: part d has one column for each monomial of degree d. Because
the equations are quadratic, part d follows from the previous parts by one linear solve, always with the same
matrix.

Reduced equations (`reduce_equations`), x = N a + V y:

    y_d = -S^-1 U^T Q_d,      g_d = L^T Q_d,      Q_d = 1/2 sum_{i=1..d-1} B(x_i, x_{d-i}).

Along a direction a0 with L^T B(N a0, N a0) = 0 (`blow_up`), x = s xi, xi = N a0 + R b + C c + s V y: the equations
Lr constrain the part R b of the degrees of freedom in first order along the direction. This part is eliminated as
well, which leaves F(s, c) = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb

import numpy as np
from scipy import sparse

from ...arrays import Floats, Ints
from .reduced_system import IndependentPart, sparser

# largest number of monomials of a series: the order is lower if there are many variables
MOST_MONOMIALS = 1500
# largest number of entries of a dense matrix that collects products; larger ones are sparse
MOST_DENSE = 20_000


@lru_cache(maxsize=256)
def monomials(variables: int, degree: int) -> Ints:
    """Exponents of all monomials of a degree, shape (count, variables)."""
    out = np.zeros((0, variables), dtype=int)
    rows = []
    for chosen in combinations_with_replacement(range(variables), degree):
        row = [0] * variables
        for c in chosen:
            row[c] += 1
        rows.append(row)
    return np.array(rows, dtype=int).reshape(-1, variables) if rows else out


@lru_cache(maxsize=256)
def _numbers(variables: int, degree: int) -> dict[tuple[int, ...], int]:
    return {tuple(int(e) for e in row): i for i, row in enumerate(monomials(variables, degree))}


@lru_cache(maxsize=512)
def _collect(variables: int, first: int, second: int) -> Floats | sparse.csc_array:
    """Matrix of zeros and ones that maps products of monomials of two degrees to monomials."""
    a, b = monomials(variables, first), monomials(variables, second)
    numbers = _numbers(variables, first + second)
    rows = (a[:, None] + b[None]).reshape(-1, variables).tolist()
    which = [numbers[tuple(row)] for row in rows]
    ones = (np.ones(len(which)), (np.arange(len(which)), which))
    out = sparse.csc_array(ones, shape=(len(which), len(numbers)))
    return out.toarray() if out.shape[0] * out.shape[1] <= MOST_DENSE else out


def _half_products(
    factor: IndependentPart, parts: list[Floats], degree: int, variables: int
) -> Floats:
    """1/2 sum of B(x_i, x_{degree - i}) over 0 < i < degree."""
    size = len(monomials(variables, degree))
    total = np.zeros((len(factor.system.rows), size))
    for i in range(1, degree // 2 + 1):
        share = 0.5 if 2 * i == degree else 1.0
        products = factor.system.bilinear(parts[i], parts[degree - i])
        total += share * np.asarray(products @ _collect(variables, i, degree - i))
    return total


def reduce_equations(factor: IndependentPart, order: int) -> list[Floats]:
    """The homogeneous parts g_0 ... g_order of the reduced equations, (dependences, monomials)."""
    split, m = factor.system.split, factor.dof
    parts = [np.zeros((len(factor.system.columns), 1)), factor.N]
    out = [np.zeros((factor.L.shape[1], len(monomials(m, d)))) for d in range(2)]
    for d in range(2, order + 1):
        Q = _half_products(factor, parts, d, m)
        parts.append(-split.V @ ((split.U.T @ Q) / split.S[:, None]))
        out.append(factor.L.T @ Q)
    return out


@dataclass(frozen=True, eq=False)
class BlownUp:
    """The equations along a direction: displacements x = s xi(s, c) and the remaining equations F(s, c) = 0.

    xi, F: homogeneous parts in (s, c1, c2, ...), in variables scaled by `scale` so that xi stays of order one; C:
    the degrees of freedom that remain in first order along the direction, (n, p); across: how strongly the others
    are constrained.
    """

    factor: IndependentPart
    direction: Floats
    xi: list[Floats]
    F: list[Floats]
    C: Floats
    scale: float
    across: float

    @property
    def open(self) -> int:
        """The number of remaining degrees of freedom c."""
        return self.C.shape[1]

    def displacement(self, s: float, c: Floats) -> Floats:
        """x at s, c, both scaled."""
        at = np.concatenate([[s], c])
        xi = np.zeros(len(self.xi[0]))
        for d, part in enumerate(self.xi):
            xi += part @ np.prod(at ** monomials(len(at), d), axis=1)
        return s * self.scale * xi

    def polish(self, s: float, c: Floats) -> Floats:
        """The nearest root c of F at s, by Newton steps."""
        v = 1 + len(c)
        for _ in range(8 if len(c) and self.F and self.F[0].shape[0] else 0):
            at = np.concatenate([[s], c])
            value = np.zeros(self.F[0].shape[0])
            slope = np.zeros((len(value), len(c)))
            for d, part in enumerate(self.F):
                E = monomials(v, d)
                value += part @ np.prod(at**E, axis=1)
                for j in range(len(c)):
                    lowered = np.maximum(E - np.eye(v, dtype=int)[1 + j], 0)
                    slope[:, j] += part @ (E[:, 1 + j] * np.prod(at**lowered, axis=1))
            step = np.linalg.lstsq(slope, -value, rcond=1e-8)[0]
            c = c + step
            if np.abs(step).max(initial=0.0) < 1e-15:
                break
        return c


def blow_up(factor: IndependentPart, a: Floats, order: int) -> BlownUp:
    """Series along the direction N a, up to an order of F in (s, c)."""
    system, split = factor.system, factor.system.split
    a = a / np.linalg.norm(a)
    across = np.linalg.svd(a[None])[2][1:].T
    w = (factor.N @ a)[:, None]
    N = factor.N @ across
    mixed = factor.L.T @ system.bilinear(w, N)
    U, values, V = np.linalg.svd(mixed)
    r = int(np.sum(values > 10.0 * system.zero))
    # sparse columns, so that degrees of freedom that open with different exponents stay separate
    R, C = N @ V[:r].T, sparser(N @ V[r:].T)
    Lr, Lf = factor.L @ U[:, :r], factor.L @ U[:, r:]
    firmness = float(values[r - 1]) if r else 1.0
    v = 1 + C.shape[1]
    Q = 0.5 * system.bilinear(w, w)
    xi, F = [w], [Lf.T @ Q]
    y = -(split.U.T @ Q) / split.S[:, None]
    # if no equation remains, only the next term is useful, for prediction
    last = order if Lf.shape[1] else 1
    while last > 2 and comb(v + last, last) > MOST_MONOMIALS:
        last -= 1
    for d in range(1, last + 1):
        part = _times_s(split.V @ y, v, d)
        if d == 1:
            part[:, 1:] += C
        Q = system.bilinear(w, part) + _half_products(factor, xi, d, v)
        b = -(Lr.T @ Q) / values[:r, None]
        part = part + R @ b
        Q = Q + system.bilinear(w, R @ b)
        y = -(split.U.T @ Q) / split.S[:, None]
        xi.append(part)
        F.append(Lf.T @ Q)
    sizes = [float(np.abs(part).max(initial=0.0)) for part in xi]
    first = sizes[0]
    scale = min([1.0, *((first / s) ** (1.0 / d) for d, s in enumerate(sizes) if d and s > 0.0)])
    xi = [part * scale**d for d, part in enumerate(xi)]
    F = [part * scale**d for d, part in enumerate(F)]
    repeated = _dependent_rows(np.hstack(F), system.zero)
    F = [_cleaned(part, system.zero) for part in F]
    for part in F:
        part[repeated] = 0.0
    return BlownUp(factor, a, xi, F, C, scale, firmness)


def _dependent_rows(rows: Floats, zero: float) -> list[int]:
    """The rows that are combinations of larger ones; residuals below `zero` are rounding.

    A small multiple of another equation has few digits above the limit, and would contradict the other one.
    """
    out: list[int] = []
    basis = np.zeros((0, rows.shape[1]))
    for i in np.argsort(-np.abs(rows).max(axis=1, initial=0.0), kind="stable"):
        rest = rows[i]
        for _ in range(2):
            rest = rest - (rest @ basis.T) @ basis
        if np.abs(rest).max(initial=0.0) > zero:
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
        else:
            out.append(int(i))
    return out


def _times_s(part: Floats, variables: int, degree: int) -> Floats:
    """A homogeneous part times the first variable; degree: that of the product."""
    out = np.zeros((len(part), len(monomials(variables, degree))))
    numbers = _numbers(variables, degree)
    for k, row in enumerate(monomials(variables, degree - 1)):
        out[:, numbers[(int(row[0]) + 1, *(int(e) for e in row[1:]))]] += part[:, k]
    return out


def _cleaned(part: Floats, zero: float) -> Floats:
    return np.where(np.abs(part) < zero, 0.0, part)
