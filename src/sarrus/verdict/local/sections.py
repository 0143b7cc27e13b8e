"""Curves on branches of several dimensions: sections by linear conditions on the degrees of freedom that are left.

Along a direction, k equations F(s, c) = 0 for more than k degrees of freedom c determine a surface. With c = Z c'
(k columns) it becomes a curve, whose half-branches Newton's polygon finds. For a fold (c1^2 = s) they are the two
ends of a cusp.
"""

from __future__ import annotations

from itertools import product
from math import factorial

import numpy as np

from ...arrays import Floats, plain_sum
from .edges import find_half_branches_of_many
from .polygon import HalfBranch, HalfBranches, find_half_branches
from .shifts import Equation


def find_sections(equations: list[Equation], Z: Floats, order: int, zero: float) -> HalfBranches:
    """Half-branches of the equations for c = Z c'; their terms are those of c."""
    cut = [_cut(e, Z, zero) for e in equations]
    search = find_half_branches if Z.shape[1] == 1 else find_half_branches_of_many
    cut = [e for e in cut if e]
    if len(cut) < Z.shape[1]:
        # a special position of the section
        out = HalfBranches()
        out.found.append(HalfBranch((), 1, 0, order + 2, len(Z)))
        return out
    found = search(cut, order, zero)
    found.found = [
        HalfBranch(
            tuple((e, Z @ c) for e, c in h.terms), h.ramification, h.multiplicity, h.order, len(Z)
        )
        for h in found.found
    ]
    return found


def _cut(equation: Equation, Z: Floats, zero: float) -> Equation:
    """An equation in s and c' = (c'_1, ...), with c = Z c'."""
    out: Equation = {}
    for (i, *powers), value in equation.items():
        # the product of (Z_j . c')^powers_j, term by term
        terms: Equation = {(0,) * Z.shape[1]: value}
        for row, power in zip(Z, powers, strict=True):
            terms = _times(terms, row, power)
        for key, c in terms.items():
            out[(i, *key)] = out.get((i, *key), 0.0) + c
    return {k: c for k, c in out.items() if abs(c) > zero}


def _times(terms: Equation, row: Floats, power: int) -> Equation:
    """Terms times the power of a linear form, by the multinomial theorem."""
    if power == 0:
        return terms
    out: Equation = {}
    for key in product(range(power + 1), repeat=len(row)):
        if plain_sum(key) != power:
            continue
        count = factorial(power)
        share = 1.0
        for j, x in zip(key, row, strict=True):
            count //= factorial(j)
            share *= float(x) ** j
        for old, c in terms.items():
            new = tuple(a + b for a, b in zip(old, key, strict=True))
            out[new] = out.get(new, 0.0) + c * count * share
    return out


def section_of(left: Floats, equations: int, seed: int) -> Floats:
    """The columns Z of a section: rows `left` vanish on it, further conditions are random; (open, equations)."""
    more = left.shape[1] - equations - len(left)
    rows = np.vstack([left, np.random.default_rng(seed).normal(size=(more, left.shape[1]))])
    return np.linalg.svd(rows)[2][len(rows) :].T
