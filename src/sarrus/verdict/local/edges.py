"""Half-branches of F(s, c) = 0 with several freedoms c, by edges with one exponent for all of them.

c = s^e (c0 + ...): e is a slope of the hull of (power of s, degree in c) of one of the equations at least, c0 a
real common root of the lowest parts. Roots that are simple are half-branches; others are left undecided.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from ...arrays import Floats, plain_sum
from ...thresholds import BRANCH_ROOT, SAME_BRANCH
from .polygon import Equation, HalfBranch, HalfBranches, hull_of

STARTS, ITERATIONS = 120, 80


def find_half_branches_of_many(equations: list[Equation], order: int, zero: float) -> HalfBranches:
    """Real half-branches with simple leading coefficients; others have multiplicity 0."""
    out = HalfBranches()
    known = [e for e in equations if e]
    p = len(next(iter(known[0]))) - 1
    flat: list[Equation] = [{(k[0], plain_sum(k[1:])): c for k, c in e.items()} for e in known]
    hulls = [hull_of(e) for e in flat]
    slopes = sorted({Fraction(a[0] - b[0], b[1] - a[1]) for h in hulls for a, b in pairwise(h)})
    last = max(i for h in hulls for i, _ in h)
    out.excluded_at = last + 2
    if all(min(plain_sum(k[1:]) for k in e) > 0 for e in known):
        degree = min(min(plain_sum(k[1:]) for k in e) for e in known)
        rank = _rank_of_linear(known, p)
        out.found.append(HalfBranch((), 1, 1 if rank == p else max(degree, 2), last + 2, p))
    for slope in slopes:
        edges = [_edge(e, slope) for e in known]
        for c, simple in _roots(edges, p):
            q = slope.denominator
            out.found.append(HalfBranch(((slope, c),), q, int(simple), last + 2, p))
    return out


def _rank_of_linear(known: list[Equation], p: int) -> int:
    """The rank of the coefficients that are linear in c, each equation's lowest in s."""
    rows = []
    for e in known:
        linear = [k for k in e if plain_sum(k[1:]) == 1]
        if not linear:
            continue
        low = min(k[0] for k in linear)
        row = np.zeros(p)
        for k in linear:
            if k[0] == low:
                row[k[1:].index(1)] = e[k]
        rows.append(row)
    return int(np.linalg.matrix_rank(np.array(rows))) if rows else 0


def _edge(equation: Equation, slope: Fraction) -> list[tuple[tuple[int, ...], float]]:
    weights = {k: k[0] + slope * plain_sum(k[1:]) for k in equation}
    low = min(weights.values())
    return [(k[1:], c) for k, c in equation.items() if weights[k] == low]


def _roots(edges: list[list[tuple[tuple[int, ...], float]]], p: int) -> list[tuple[Floats, bool]]:
    """Common real roots other than 0 and whether they are simple."""
    sizes = [max(abs(c) for _, c in e) for e in edges]
    a = np.random.default_rng(11).normal(size=(STARTS, p)) * 2.0

    def look(x: Floats) -> tuple[Floats, Floats]:
        F, J = np.zeros((len(x), len(edges))), np.zeros((len(x), len(edges), p))
        for e, (edge, size) in enumerate(zip(edges, sizes, strict=True)):
            E = np.array([k for k, _ in edge])
            c = np.array([c for _, c in edge]) / size
            F[:, e] = np.prod(x[:, None] ** E, axis=2) @ c
            for j in range(p):
                lowered = np.maximum(E - np.eye(p, dtype=int)[j], 0)
                J[:, e, j] = (np.prod(x[:, None] ** lowered, axis=2) * E[:, j]) @ c
        return F, J

    for _ in range(ITERATIONS):
        F, J = look(a)
        damping = np.minimum(np.einsum("si,si->s", F, F), 1e-2) + 1e-15
        normal = np.swapaxes(J, 1, 2) @ J + damping[:, None, None] * np.eye(p)
        step = np.linalg.solve(normal, np.swapaxes(J, 1, 2) @ F[:, :, None])[:, :, 0]
        a = a - np.clip(step, -2.0, 2.0)
    F, J = look(a)
    good = np.abs(F).max(axis=1) < BRANCH_ROOT
    out: list[tuple[Floats, bool]] = []
    for x, slope in zip(a[good], J[good], strict=True):
        size = float(np.abs(x).max())
        if size < 1e-3 or any(np.abs(x - y).max() < SAME_BRANCH * max(size, 1.0) for y, _ in out):
            continue
        values = np.linalg.svd(slope, compute_uv=False)
        out.append((x, len(values) >= p and bool(values[p - 1] > SAME_BRANCH)))
    return out
