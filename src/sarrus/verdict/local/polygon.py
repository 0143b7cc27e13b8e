"""Real half-branches of F(s, c) = 0 for s > 0 by Newton's polygon [Walker1950].

A half-branch is c = c1 s^e1 + c2 s^e2 + ..., with increasing rational exponents. The first exponent is a slope of
the lower hull of the exponents of every equation, and c1 is a real root of the equations of that edge. Then s =
t^q, c = t^u (c1 + c') is substituted and the search is repeated for c', until the root is simple. At an n-fold
root c' is counted from the series at which the derivative of order n - 1 vanishes, so that a root that stays
n-fold leaves no terms but rounding. The search needs the monomials of the equations only up to an order; results
that these do not decide are marked.

Half-branches whose exponents have the common denominator q are two ends of one branch, for t and -t: along
opposite directions if q is odd, along the same one if it is even (a cusp).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np

from ...arrays import Floats, plain_sum
from ...thresholds import SAME_ROOT_OF_EDGE, TAYLOR_ZERO
from .shifts import Equation, recentred

# exponents of s and coefficients, one for each c
Terms = tuple[tuple[Fraction, Floats], ...]
# largest recursion depth: each level raises an exponent, which the order bounds; deeper roots never separate
DEEPEST = 40
# largest limit for zero with which roots are counted from their centre: products of coefficients are not known of
# configurations with fewer digits
MOST_CENTRED = 2.0 * TAYLOR_ZERO
# terms with the same exponent cancel up to this fraction
CANCELLED = 1e-9
# multiplicities that the terms do not decide: undecided, or decided at nearby configurations
UNKNOWN, BY_NEIGHBOURS = 0, -1


@dataclass(frozen=True, eq=False)
class HalfBranch:
    """c = sum of coefficients * s^exponent, and how well it is known.

    size: number of components of c; ramification: common denominator of the exponents; multiplicity: of the root
    up to the order considered, 1 for a simple root; order: of the terms that decided, in the original variables.
    """

    terms: Terms
    ramification: int
    multiplicity: int
    order: int
    size: int = 1

    def at(self, s: float) -> Floats:
        """c by the leading terms at s = t^ramification; for s < 0 at -t."""
        out = np.zeros(self.size)
        for e, c in self.terms if s > 0.0 else self.conjugate:
            out = out + c * abs(s) ** float(e)
        return out

    @property
    def conjugate(self) -> Terms:
        """The terms for -t."""
        return tuple((e, c * (-1.0) ** int(e * self.ramification)) for e, c in self.terms)


@dataclass
class HalfBranches:
    """All half-branches found, and the order of the terms that exclude others."""

    found: list[HalfBranch] = field(default_factory=list)
    excluded_at: int = 0


@dataclass(frozen=True)
class _State:
    """Equations in t, c', and their derivation: s = t^q, c = terms + s^power c'; known below t^bound.

    spent: the power of s divided out so far.
    """

    equations: list[Equation]
    q: int
    spent: Fraction
    bound: Fraction
    weight: int
    terms: Terms
    depth: int
    order: int
    power: Fraction = Fraction(0)


def find_half_branches(
    equations: list[Equation], order: int, zero: float, centred: bool = True
) -> HalfBranches:
    """All real half-branches of the equations for s > 0.

    order: total degree up to which the equations are known; zero: limit below which coefficients are zero;
    centred: whether a double root with small coefficients counts as one that stays double.
    """
    out = HalfBranches()
    known = [e for e in equations if e]
    terms: Terms = ()
    if centred and zero <= MOST_CENTRED:
        known, terms = _from_centre(known, order, zero)
    start = _State(known, 1, Fraction(0), Fraction(order + 1), 1, terms, 0, 2)
    _search(start, zero, out)
    return out


def _from_centre(known: list[Equation], order: int, zero: float) -> tuple[list[Equation], Terms]:
    """The equations counted from the centre of a multiple root, if it stays multiple, and the terms of the centre.

    A double root has coefficients whose products are below the limit, though they are above it themselves.
    """
    # terms linear in c are known up to s^(order - 1)
    centre = _centre(known, Fraction(order), zero)
    new = [recentred(e, centre[None]) for e in known] if np.any(centre) else []
    new = [{k: c for k, c in e.items() if abs(c) > zero and plain_sum(k) <= order} for e in new]
    if not new or any(j < 2 for e in new for _, j in e):
        return known, ()
    terms = tuple((Fraction(i), np.array([x])) for i, x in enumerate(centre) if x)
    return [e for e in new if e], terms


def _search(state: _State, zero: float, out: HalfBranches) -> None:
    known = [_kept(e, state) for e in state.equations]
    known = [e for e in known if e]
    lowest = [min(j for _, j in e) for e in known]
    divided = bool(known) and min(lowest) >= 1
    if not known or divided or state.depth >= DEEPEST:
        # c' = 0 solves the equations up to the order; its multiplicity is the smallest among the equations
        multiplicity = min((_multiplicity(e) for e in known), default=0)
        out.found.append(HalfBranch(collected(state.terms), state.q, multiplicity, state.order))
        known = [
            {(i, j - m): c for (i, j), c in e.items()} for e, m in zip(known, lowest, strict=True)
        ]
        if not known or state.depth >= DEEPEST:
            return
    slopes = [_edges(e) for e in known]
    reached = _order_of(state, known, divided)
    for slope in sorted(set.intersection(*(set(s) for s in slopes))):
        for root, simple in _common_roots([_edge_polynomial(e, slope) for e in known], zero):
            if len(known) == 1 and simple:
                terms = collected((*state.terms, _term(state, slope, root)))
                q = state.q * slope.denominator
                out.found.append(HalfBranch(terms, q, 1, max(reached, state.order)))
            else:
                _search(_shifted(state, known, slope, root, reached, zero), zero, out)
    out.excluded_at = max(out.excluded_at, reached)


def _multiplicity(equation: Equation) -> int:
    """The power of c' that the equation has as a factor."""
    return min(j for _, j in equation)


def _kept(equation: Equation, state: _State) -> Equation:
    return {k: c for k, c in equation.items() if k[0] + state.weight * k[1] < state.bound}


def _order_of(state: _State, known: list[Equation], divided: bool) -> int:
    """The order, in the original variables, of the terms on the hulls.

    A term that is linear in c' alone ensures a root, whatever the term without c' is. An equation whose only hull
    point is a term without c' has no further root, so the other equations do not matter. divided: whether powers
    of c' were divided out, so that terms without c' had one.
    """
    hulls = [hull_of(e) for e in known]
    alone = [hull[0][0] for hull in hulls if len(hull) == 1 and hull[0][1] == 0]
    last = min(alone, default=0)
    for hull in hulls if not alone else []:
        linear = not divided and len(hull) > 1 and hull[0][1] == 0 and hull[1][1] == 1
        last = max(last, *(i for i, _ in hull[linear:]))
    return int(np.ceil(float(state.spent + Fraction(last, state.q)))) + 2


def collected(terms: Terms) -> Terms:
    """Terms by increasing exponents, each once, without those that cancel."""
    total: dict[Fraction, list[Floats]] = {}
    for e, c in terms:
        total.setdefault(e, []).append(c)
    out = []
    for e, parts in sorted(total.items()):
        c = np.sum(parts, axis=0)
        if len(parts) == 1 or np.abs(c).max() > CANCELLED * np.abs(parts).max():
            out.append((e, c))
    return tuple(out)


def _term(state: _State, slope: Fraction, root: float) -> tuple[Fraction, Floats]:
    return state.power + slope / state.q, np.array([root])


def hull_of(equation: Equation) -> list[tuple[int, int]]:
    """The lower hull of the exponents (i, j), from the least j to the least i."""
    least: dict[int, int] = {}
    for i, j in equation:
        least[j] = min(i, least.get(j, i))
    points = sorted((j, i) for j, i in least.items())
    hull: list[tuple[int, int]] = []
    for j, i in points:
        while len(hull) > 1 and _turns(hull[-2], hull[-1], (j, i)):
            hull.pop()
        hull.append((j, i))
    # only edges along which the exponent of s decreases belong to c -> 0
    end = next((n for n in range(1, len(hull)) if hull[n][1] >= hull[n - 1][1]), len(hull))
    return [(i, j) for j, i in hull[:end]]


def _turns(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])


def _edges(equation: Equation) -> list[Fraction]:
    """The possible leading exponents of s of roots c."""
    hull = hull_of(equation)
    return [Fraction(a[0] - b[0], b[1] - a[1]) for a, b in pairwise(hull)]


def _edge_polynomial(equation: Equation, slope: Fraction) -> Floats:
    """The coefficients of the edge with a slope, by powers of c from its lowest."""
    weights = {k: k[0] + slope * k[1] for k in equation}
    low = min(weights.values())
    on = {j: c for (i, j), c in equation.items() if weights[(i, j)] == low}
    first = min(on)
    out = np.zeros(max(on) - first + 1)
    for j, c in on.items():
        out[j - first] = c
    return out


def _common_roots(polynomials: list[Floats], zero: float) -> list[tuple[float, bool]]:
    """Real nonzero roots that all polynomials have, and whether the root is simple for one of them."""
    shortest = min(polynomials, key=len)
    out = []
    for root, count in real_roots(shortest):
        if all(_vanishes(p, root, zero) for p in polynomials):
            out.append((root, count == 1))
    return out


def _vanishes(p: Floats, root: float, zero: float) -> bool:
    powers = root ** np.arange(len(p))
    return bool(abs(p @ powers) <= max(SAME_ROOT_OF_EDGE, zero) * float(np.abs(p) @ np.abs(powers)))


def real_roots(p: Floats) -> list[tuple[float, int]]:
    """Real roots of a polynomial, given from its lowest power, with multiplicities.

    Rounding splits a root of multiplicity n into n roots on a small circle, whose mean is accurate.
    """
    p = np.trim_zeros(p, "b")
    if len(p) < 2:
        return []
    roots = list(np.roots(p[::-1]))
    size = max(float(np.abs(roots).max()), 1e-300)
    out = []
    while roots:
        cluster = [roots.pop(0)]
        for other in [r for r in roots if abs(r - cluster[0]) < SAME_ROOT_OF_EDGE**0.5 * 4 * size]:
            roots.remove(other)
            cluster.append(other)
        mean = plain_sum(cluster) / len(cluster)
        others = [r.conjugate() for r in cluster]
        # a cluster that contains its own conjugates is real
        real = all(min(abs(r - o) for o in cluster) < 1e-3 * size for r in others)
        if real and abs(mean.imag) < SAME_ROOT_OF_EDGE * size:
            out.append((float(mean.real), len(cluster)))
        elif len(cluster) == 1 and abs(mean.imag) < SAME_ROOT_OF_EDGE * size:
            out.append((float(mean.real), 1))
    return sorted(out)


def _shifted(
    state: _State, known: list[Equation], slope: Fraction, root: float, reached: int, zero: float
) -> _State:
    """The equations in t, c' after s = t^q, c = t^u (root + c'), c' counted from the centre of a multiple root."""
    u, q = slope.numerator, slope.denominator
    new, lows = [], []
    for equation in known:
        low = min(q * i + u * j for i, j in equation)
        out: Equation = {}
        for (i, j), c in equation.items():
            for k in range(j + 1):
                key = (q * i + u * j - low, k)
                out[key] = out.get(key, 0.0) + c * comb(j, k) * root ** (j - k)
        new.append(out)
        lows.append(low)
    # unknown terms begin at this power of t
    first = state.bound * min(
        Fraction(q), Fraction(u, state.weight) if state.weight else Fraction(q)
    )
    low, bound = min(lows), first - max(lows)
    terms = (*state.terms, _term(state, slope, root))
    power = terms[-1][0]
    centre = _centre(new, bound, zero)
    if np.any(centre):
        new = [recentred(e, centre[None]) for e in new]
        more = (
            (power + Fraction(i, state.q * q), np.array([x])) for i, x in enumerate(centre) if x
        )
        terms = (*terms, *more)
    sizes = [max(abs(c) for c in e.values()) for e in new]
    return _State(
        [
            {k: c for k, c in e.items() if abs(c) > 10.0 * zero * size}
            for e, size in zip(new, sizes, strict=True)
        ],
        state.q * q,
        state.spent + Fraction(low, state.q * q),
        bound,
        0,
        terms,
        state.depth + 1,
        max(reached, state.order),
        power,
    )


def _centre(equations: list[Equation], bound: Fraction, zero: float) -> Floats:
    """The series c'(t) at which the derivative of order n - 1 of an equation vanishes; n > 1: of its root.

    Coefficients by powers of t, from zero on; of the equation with the least n. Zeros if there is none.
    """
    most = max(int(np.ceil(float(bound))), 1)
    none = np.zeros(most)
    folds = [
        min(
            (j for (i, j), c in e.items() if i == 0 and j and abs(c) > 1e3 * zero * _size(e)),
            default=0,
        )
        for e in equations
    ]
    if not any(n > 1 for n in folds) or 1 in folds:
        return none
    # of equations with the same n the first
    multiple = [(n, e) for n, e in zip(folds, equations, strict=True) if n > 1]
    n, equation = min(multiple, key=lambda pair: pair[0])
    # the derivative as rows: powers of c', columns: powers of t
    rows = np.zeros((max(j for _, j in equation) - n + 2, most))
    for (i, j), c in equation.items():
        if j >= n - 1 and i < most:
            rows[j - n + 1, i] += c * comb(j, n - 1)
    # terms below the limit at t = 0 are rounding of the root
    rows[0, 0] = 0.0
    centre = none
    for _ in range(most):
        value = np.zeros(most)
        for row in rows[::-1]:
            value = np.convolve(value, centre)[:most] + row
        first = np.flatnonzero(np.abs(value) > 0.0)
        if not len(first):
            break
        centre = centre - value / rows[1, 0]
    return np.where(np.abs(centre) > zero, centre, 0.0)


def _size(equation: Equation) -> float:
    return max(abs(c) for c in equation.values())
