"""Multiple common roots of polynomials to rounding accuracy, by deflation.

Newton's method finds an n-fold root only to 1/n of the digits. The gradient of a combination of the polynomials
that has a double root there gives further equations, for which the root has a lower multiplicity
[LeykinVerscheldeZhao2006]. They are added until the root is simple. The combination itself is known only as well
as the root, so both are improved together at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Floats, Ints
from ...thresholds import BRANCH_ROOT
from .reduced_system import sparser

# rounds of deflation: each at least halves the multiplicity
ROUNDS = 4
# Newton steps after each round
STEPS = 6
# slopes below this count as zero at a root of reduced accuracy; the largest coefficients are one
FLAT = 2e-2
# largest distance of an n-fold root from the end of steps that are accurate to 1/n of the digits
REACH = 0.1
# coefficients of a derivative are rounding if none exceeds this
LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class SparsePolynomial:
    """Exponents, shape (terms, variables), and coefficients."""

    exponents: Ints
    coefficients: Floats

    def value(self, x: Floats) -> Floats:
        """Values at the rows of x."""
        return np.asarray(np.prod(x[:, None] ** self.exponents, axis=2) @ self.coefficients)

    def derivative(self, j: int) -> SparsePolynomial:
        """The derivative with respect to variable j."""
        kept = self.exponents[:, j] > 0
        E = self.exponents[kept].copy()
        c: Floats = self.coefficients[kept] * E[:, j]
        E[:, j] -= 1
        return SparsePolynomial(E, c)


def evaluate(polynomials: list[SparsePolynomial], x: Floats) -> tuple[Floats, Floats]:
    """Values (rows of x, polynomials) and gradients (rows of x, polynomials, variables)."""
    v = x.shape[1]
    F = np.stack([p.value(x) for p in polynomials], axis=1)
    J = [np.stack([p.derivative(j).value(x) for j in range(v)], axis=1) for p in polynomials]
    return F, np.stack(J, axis=1)


def deflate(polynomials: list[SparsePolynomial], x: Floats, limit: float = BRANCH_ROOT) -> Floats:
    """The common root of all polynomials near x, which may be multiple; x itself if the steps diverge.

    limit: residuals of a root.
    """
    equations = list(polynomials)
    start, fresh = x, list(polynomials)
    for _ in range(ROUNDS):
        slopes = evaluate(fresh, x[None])[1][0]
        U, values, _ = np.linalg.svd(slopes)
        # few polynomials per combination: each further one adds rounding errors
        flat = sparser(U[:, int(np.sum(values > FLAT)) :])
        fresh = [d for u in flat.T for d in _gradient(fresh, u)]
        if not fresh:
            break
        equations += fresh
        x = _newton(equations, x)
    x = _with_multipliers(polynomials, x)
    if not np.abs(x - start).max() < REACH:
        return start
    return x if np.abs(evaluate(polynomials, x[None])[0]).max() < limit else start


def _gradient(polynomials: list[SparsePolynomial], weights: Floats) -> list[SparsePolynomial]:
    """The derivatives of a combination, each scaled to its largest coefficient, without those that vanish."""
    E = np.vstack([p.exponents for p in polynomials])
    c = np.concatenate([w * p.coefficients for w, p in zip(weights, polynomials, strict=True)])
    E, same = np.unique(E, axis=0, return_inverse=True)
    c = np.asarray(np.bincount(same.ravel(), c, len(E)), dtype=float)
    total = SparsePolynomial(E, c)
    out = []
    for j in range(E.shape[1]):
        d = total.derivative(j)
        size = np.abs(d.coefficients).max(initial=0.0)
        if size > LEAST:
            out.append(SparsePolynomial(d.exponents, d.coefficients / size))
    return out


def _with_multipliers(polynomials: list[SparsePolynomial], x: Floats) -> Floats:
    """The root and the combinations u_i that are flat there: f(x) = 0, J(x)^T u_i = 0, u_i normalised."""
    v, k = len(x), len(polynomials)
    bends = [p.derivative(j).derivative(i) for p in polynomials for j in range(v) for i in range(v)]
    E = np.vstack([b.exponents for b in bends])
    weights = np.concatenate([b.coefficients for b in bends])
    place = np.repeat(np.arange(len(bends)), [len(b.coefficients) for b in bends])
    U, values, _ = np.linalg.svd(evaluate(polynomials, x[None])[1][0])
    flat = U[:, int(np.sum(values > FLAT)) :]
    c = flat.shape[1]
    z, best, least = np.concatenate([x, flat.T.ravel()]), x, np.inf
    for _ in range(STEPS if c else 0):
        at, u = z[:v], z[v:].reshape(c, k)
        F, J = (part[0] for part in evaluate(polynomials, at[None]))
        terms = weights * np.prod(at**E, axis=1)
        H = np.bincount(place, terms, len(bends)).reshape(k, v, v)
        gaps = np.concatenate([F, (u @ J).ravel(), (u @ flat - np.eye(c)).ravel()])
        size = float(np.abs(gaps).max())
        if not size < least:
            break
        best, least = at, size
        A = np.zeros((len(gaps), len(z)))
        A[:k, :v] = J
        for i in range(c):
            rows = slice(k + i * v, k + (i + 1) * v)
            own = slice(v + i * k, v + (i + 1) * k)
            A[rows, :v], A[rows, own] = np.tensordot(u[i], H, axes=1), J.T
            A[k + c * v + i * c : k + c * v + (i + 1) * c, own] = flat.T
        z = z - np.linalg.lstsq(A, gaps, rcond=1e-7)[0]
    return best


def _newton(equations: list[SparsePolynomial], x: Floats) -> Floats:
    for _ in range(STEPS):
        F, slopes = evaluate(equations, x[None])
        x = x - np.linalg.lstsq(slopes[0], F[0], rcond=FLAT)[0]
    return x
