"""Unknowns that equations determine in first order, eliminated before exponents are searched.

After division by a power of s an equation may contain an unknown c_j in first order:

    s^low (c_j + sum a_i c_i + a_0 s + ...) = 0.

By the implicit function theorem c_j is a power series in s and the other unknowns, which is substituted into the
other equations. Its exponents are never lower than theirs, so the others distinguish all half-branches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ...arrays import Floats, plain_sum
from .polygon import HalfBranch, collected
from .shifts import Equation

# the least coefficient of an unknown that is solved for, as a fraction of the largest of its equation
PIVOT = 1e-2
# largest number of products of terms in one substitution
MOST_PRODUCTS = 300_000


@dataclass(frozen=True, eq=False)
class Reduced:
    """Equations without the unknowns that were solved for.

    left: unknowns that are left; order: up to which the equations are known; solved: unknowns and the first-order
    coefficients of s and all unknowns in their series, in the order in which they were solved for.
    """

    equations: list[Equation]
    left: tuple[int, ...]
    order: int
    solved: tuple[tuple[int, Floats], ...] = ()

    def widen(self, half: HalfBranch, p: int) -> HalfBranch:
        """A half-branch in all unknowns, with the first-order terms of those that were solved for."""
        terms = []
        for e, c in half.terms:
            full = np.zeros(p)
            full[list(self.left)] = c
            terms.append((e, full))
        if any(row[0] for _, row in self.solved):
            terms.append((Fraction(1), np.zeros(p)))
        for j, row in reversed(self.solved):
            # the unit term of s stands once for each series
            first = max((k for k, (e, _) in enumerate(terms) if e == 1), default=-1)
            for k, (_, c) in enumerate(terms):
                c[j] = row[1:] @ c + (row[0] if k == first else 0.0)
        return replace(half, terms=collected(tuple(terms)), size=p)


def solve_linear(equations: list[Equation], p: int, order: int, zero: float) -> Reduced:
    """Solve for all unknowns but one that appear in first order; p: number of unknowns."""
    now = Reduced(equations, tuple(range(p)), order)
    while len(now.left) > 1:
        new = _solve_one(now, p, zero)
        if new is None:
            break
        now = new
    places = [0, *(1 + j for j in now.left)]
    short: list[Equation] = [
        {tuple(k[i] for i in places): c for k, c in e.items()} for e in now.equations
    ]
    return replace(now, equations=short)


def _solve_one(now: Reduced, p: int, zero: float) -> Reduced | None:
    for number in sorted(
        range(len(now.equations)), key=lambda n: min(k[0] for k in now.equations[n])
    ):
        e = now.equations[number]
        low = min(k[0] for k in e)
        if (low, *(0,) * p) in e:
            # excludes all half-branches
            return None
        linear = {
            k.index(1, 1) - 1: c for k, c in e.items() if k[0] == low and plain_sum(k[1:]) == 1
        }
        if not linear:
            continue
        j = max(linear, key=lambda i: abs(linear[i]))
        if abs(linear[j]) < PIVOT * max(abs(c) for c in e.values()):
            continue
        known = now.order - low
        others = [f for n, f in enumerate(now.equations) if n != number]
        least = min((plain_sum(k) for f in others for k in f if k[1 + j]), default=1)
        order = min(now.order, known + least - 1)
        series = _series(e, j, low, linear[j], known)
        new = None if series is None else [_substituted(f, j, series, order) for f in others]
        if series is None or new is None or any(f is None for f in new):
            continue
        row = np.zeros(1 + p)
        for k, c in series.items():
            if plain_sum(k) == 1:
                row[k.index(1)] = c
        kept = [{k: c for k, c in f.items() if abs(c) > 10.0 * zero} for f in new if f is not None]
        left = tuple(i for i in now.left if i != j)
        return Reduced([f for f in kept if f], left, order, (*now.solved, (j, row)))
    return None


def _series(e: Equation, j: int, low: int, pivot: float, order: int) -> Equation | None:
    """c_j as a polynomial in s and the other unknowns; None if it has too many terms."""
    own = (0, *(int(i == j) for i in range(len(next(iter(e))) - 1)))
    right = {(k[0] - low, *k[1:]): -c / pivot for k, c in e.items()}
    del right[own]
    found: Equation = {}
    for _ in range(order):
        new = _substituted(right, j, found, order)
        if new is None or new == found:
            return new
        found = new
    return found


def _substituted(f: Equation, j: int, series: Equation, order: int) -> Equation | None:
    """f with c_j replaced by a series, up to a total degree; None if there are too many products."""
    by_power: dict[int, Equation] = {}
    for k, c in f.items():
        if plain_sum(k) <= order:
            rest = (*k[: 1 + j], 0, *k[2 + j :])
            by_power.setdefault(k[1 + j], {})[rest] = c
    out: Equation = {}
    power: Equation = {(0,) * len(next(iter(f))): 1.0} if f else {}
    at = 0
    for n in sorted(by_power):
        for _ in range(n - at):
            product = _product(power, series, order)
            if product is None:
                return None
            power = product
        at = n
        product = _product(by_power[n], power, order)
        if product is None:
            return None
        for k, c in product.items():
            out[k] = out.get(k, 0.0) + c
    return out


def _product(a: Equation, b: Equation, order: int) -> Equation | None:
    if len(a) * len(b) > MOST_PRODUCTS:
        return None
    sized = [(k, plain_sum(k), c) for k, c in b.items()]
    out: Equation = {}
    for k, c in a.items():
        room = order - plain_sum(k)
        for other, size, x in sized:
            if size <= room:
                key = tuple(i + n for i, n in zip(k, other, strict=True))
                out[key] = out.get(key, 0.0) + c * x
    return out
