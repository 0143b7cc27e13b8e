"""Multiple common roots of polynomials to rounding, by deflation.

Newton's steps find an n-fold root to the n-th part of the digits only. The gradient of a combination of the
polynomials that has a double root there gives further equations, of which the root is a simpler one
[LeykinVerscheldeZhao2006]. They are added until the root is simple.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Floats, Ints
from ...thresholds import BRANCH_ROOT
from .reduced_system import sparser

# rounds of deflation: each halves the multiplicity at least
ROUNDS = 4
# Newton's steps after each
STEPS = 6
# a slope below this is zero at a root that is found to a part of the digits; the largest coefficients are one
FLAT = 2e-2
# how far an n-fold root may be from where steps to the n-th part of the digits ended
REACH = 0.1
# coefficients of a derivative that are rounding, if no larger ones are there
LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class SparsePolynomial:
    """Exponents, shape (terms, variables), and coefficients."""

    exponents: Ints
    coefficients: Floats

    def value(self, x: Floats) -> Floats:
        """Values at rows of x."""
        return np.asarray(np.prod(x[:, None] ** self.exponents, axis=2) @ self.coefficients)

    def derivative(self, j: int) -> SparsePolynomial:
        """By the variable j."""
        kept = self.exponents[:, j] > 0
        E = self.exponents[kept].copy()
        c: Floats = self.coefficients[kept] * E[:, j]
        E[:, j] -= 1
        return SparsePolynomial(E, c)


def evaluate(polynomials: list[SparsePolynomial], x: Floats) -> tuple[Floats, Floats]:
    """Values (rows of x, polynomials) and slopes (rows of x, polynomials, variables)."""
    v = x.shape[1]
    F = np.stack([p.value(x) for p in polynomials], axis=1)
    J = [np.stack([p.derivative(j).value(x) for j in range(v)], axis=1) for p in polynomials]
    return F, np.stack(J, axis=1)


def deflate(polynomials: list[SparsePolynomial], x: Floats) -> Floats:
    """The root near x of all polynomials, which may be multiple; x itself where the steps lead away."""
    equations = list(polynomials)
    start, fresh = x, list(polynomials)
    for _ in range(ROUNDS):
        slopes = evaluate(fresh, x[None])[1][0]
        U, values, _ = np.linalg.svd(slopes)
        # few polynomials in each combination: others bring their rounding
        flat = sparser(U[:, int(np.sum(values > FLAT)) :])
        fresh = [d for u in flat.T for d in _gradient(fresh, u)]
        if not fresh:
            break
        equations += fresh
        x = _newton(equations, x)
    if not np.abs(x - start).max() < REACH:
        return start
    return x if np.abs(evaluate(polynomials, x[None])[0]).max() < BRANCH_ROOT else start


def _gradient(polynomials: list[SparsePolynomial], weights: Floats) -> list[SparsePolynomial]:
    """The derivatives of a combination, each scaled to its largest coefficient, those that vanish left out."""
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


def _newton(equations: list[SparsePolynomial], x: Floats) -> Floats:
    for _ in range(STEPS):
        F, slopes = evaluate(equations, x[None])
        x = x - np.linalg.lstsq(slopes[0], F[0], rcond=FLAT)[0]
    return x
