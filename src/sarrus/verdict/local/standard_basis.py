"""Lowest forms of all combinations of the reduced equations, with polynomials as factors.

Combinations with constant factors may hide a condition on the directions: the lowest form of x1^4 + x2^8 - x3^8 is
that of x1^2 squared, so next to x1^2 + ... = 0 only the difference of the two gives x2^8 - x3^8 = 0. The products
of the equations with all monomials, up to a degree, are combined so that every degree has its own lowest forms (a
standard basis up to that degree, by linear algebra).
"""

from __future__ import annotations

from math import comb

import numpy as np

from ...arrays import Floats, Ints
from .taylor import monomials

# largest number of products, and of coefficients in all of them
MOST_PRODUCTS, MOST_COEFFICIENTS = 1200, 2_000_000
# coefficients below this are rounding, in rows of unit size
LEAST = 1e-8


def is_feasible(equations: int, m: int, degree: int) -> bool:
    """Whether the products up to a degree are few enough."""
    products = equations * comb(m + degree - 2, m)
    return products <= MOST_PRODUCTS and products * comb(m + degree, m) <= MOST_COEFFICIENTS


def initial_forms(parts: list[Floats], m: int) -> list[tuple[int, Floats]]:
    """Degrees and coefficients of the lowest forms that are no combinations of multiples of lower ones.

    parts: homogeneous parts of the equations in m unknowns by degree, (equations, monomials).
    """
    degree = len(parts) - 1
    rows = _products(parts, m)
    out: list[tuple[int, Floats]] = []
    for d in range(2, degree + 1):
        known = _multiples(out, m, d)
        U, values, V = np.linalg.svd(rows[d])
        rank = int(np.sum(values > LEAST))
        new = V[:rank] - (V[:rank] @ known.T) @ known
        _, sizes, forms = np.linalg.svd(new, full_matrices=False)
        out += [(d, f) for f in forms[sizes > np.sqrt(LEAST)]]
        rows = [U[:, rank:].T @ part for part in rows]
    return out


def _products(parts: list[Floats], m: int) -> list[Floats]:
    """The equations times all monomials, by degree, (products, monomials); every product has unit size."""
    degree = len(parts) - 1
    rows: list[list[Floats]] = [[] for _ in parts]
    for e in range(degree - 1):
        for factor in monomials(m, e):
            for d in range(degree + 1):
                if d < e:
                    rows[d].append(np.zeros((len(parts[0]), len(monomials(m, d)))))
                else:
                    rows[d].append(_times(parts[d - e], m, d - e, factor))
    stacked = [np.vstack(part) for part in rows]
    size = np.sqrt(np.sum([np.sum(part**2, axis=1) for part in stacked], axis=0))
    size = np.where(size > 0.0, size, 1.0)
    return [part / size[:, None] for part in stacked]


def _times(part: Floats, m: int, degree: int, factor: Ints) -> Floats:
    """Homogeneous polynomials of a degree times a monomial."""
    to = degree + int(factor.sum())
    number = {tuple(row): k for k, row in enumerate(monomials(m, to).tolist())}
    out = np.zeros((len(part), len(number)))
    places = [number[tuple(row)] for row in (monomials(m, degree) + factor).tolist()]
    out[:, places] = part
    return out


def _multiples(forms: list[tuple[int, Floats]], m: int, degree: int) -> Floats:
    """Orthonormal rows that span the multiples of forms in a degree."""
    rows = [np.zeros((1, len(monomials(m, degree))))]
    for d, f in forms:
        rows += [_times(f[None], m, d, factor) for factor in monomials(m, degree - d)]
    _, values, V = np.linalg.svd(np.vstack(rows), full_matrices=False)
    return np.asarray(V[values > LEAST])
