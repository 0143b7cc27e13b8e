"""Half-branches of F(s, c) = 0 with several degrees of freedom c: Newton's polygon in more dimensions.

c_j = s^e_j (c0_j + ...): for exponents e = (e_1, e_2, ...) each equation has a lowest part, all terms s^i c^j with
the least i + e . j, and c0 is a common root of these parts without zero entries. So every lowest part has at least
two terms: e is in the tropical prevariety of the equations [MaclaganSturmfels2015], whose points are tried one by
one. Solutions with some c_j identically zero are tried as well. Simple roots are half-branches; at multiple roots
the equations are shifted, s = t^q, c_j = t^u_j (c0_j + c'_j), and searched again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from math import comb, lcm, prod

import numpy as np

from ...arrays import Floats, Ints, plain_sum
from ...thresholds import BRANCH_ROOT, SAME_BRANCH, SAME_ROOT_OF_EDGE
from .centres import find_centre
from .deflation import SparsePolynomial, deflate, evaluate
from .linear_unknowns import solve_linear
from .polygon import (
    BY_NEIGHBOURS,
    UNKNOWN,
    HalfBranch,
    HalfBranches,
    Terms,
    collected,
    find_half_branches,
    hull_of,
    real_roots,
)
from .shifts import Equation, recentred
from .taylor import monomials

STARTS, ITERATIONS = 120, 80
# largest number of variables c for which exponents are tried; of those whose lowest parts are solved together; of
# combinations of term pairs, one per equation, that are tried together; of denominators of exponents
MOST_DOF, MOST_COUPLED, MOST_CHOICES, MOST_DENOMINATOR = 8, 6, 200_000, 64
# largest number of successive shifts; of multiple roots of one lowest part: more form a curve of roots
DEEPEST, MOST_MULTIPLE = 6, 16


@dataclass(frozen=True)
class _State:
    """Equations in t and the variables `live`, the others being zero; s = t^q, c_j = terms + s^power_j c'_j.

    Terms from t^bound on are unknown; plain: the bound refers to the total degree in t and c.
    """

    equations: list[Equation]
    live: tuple[int, ...]
    powers: tuple[Fraction, ...]
    q: int
    bound: Fraction
    plain: bool
    terms: Terms
    depth: int
    spent: Fraction
    order: int


def find_half_branches_of_many(equations: list[Equation], order: int, zero: float) -> HalfBranches:
    """Real half-branches for s > 0 of equations that are known up to a total degree."""
    known = eliminate([e for e in equations if e], zero)
    p = len(next(iter(known[0]))) - 1
    if len(known) < p:
        return _find_coupled(known, order, zero)
    reduced = solve_linear(known, p, order, zero)
    if len(reduced.left) == p or len(reduced.equations) < len(reduced.left):
        return _find_coupled(known, order, zero)
    if len(reduced.left) == 1:
        out = find_half_branches(reduced.equations, reduced.order, zero)
    else:
        out = _find_coupled(eliminate(reduced.equations, zero), reduced.order, zero)
    out.found = [reduced.widen(h, p) for h in out.found]
    return out


def _find_coupled(known: list[Equation], order: int, zero: float) -> HalfBranches:
    """Real half-branches of equations with distinct lowest terms, by the exponents of all unknowns."""
    out = HalfBranches()
    p = len(next(iter(known[0]))) - 1
    if len(known) < p or (p > MOST_DOF and not _is_level(known)):
        out.found.append(HalfBranch((), 1, UNKNOWN, order + 2, p))
        return out
    if p > MOST_DOF:
        out.found.append(HalfBranch((), 1, BY_NEIGHBOURS, 2, p))
        return out
    none, start = (Fraction(0),) * p, Fraction(0)
    terms: Terms = ()
    centre = find_centre(known, p, order)
    if centre is not None and np.abs(centre).max() > zero:
        known = [_cleaned(recentred(e, centre), zero) for e in known]
        known = eliminate([e for e in known if e], zero)
        terms = tuple((Fraction(i), x) for i, x in enumerate(centre.T) if np.any(x))
    state = _State(known, tuple(range(p)), none, 1, Fraction(order + 1), True, (), 0, start, 2)
    _search(state, p, zero, out)
    out.found = [replace(h, terms=collected((*terms, *h.terms))) for h in out.found]
    if not out.found and not out.excluded_at:
        alone = [k[0] for e in known for k in e if not any(k[1:])]
        out.excluded_at = min(alone, default=order) + 2
    return out


def _cleaned(equation: Equation, zero: float) -> Equation:
    return {k: c for k, c in equation.items() if abs(c) > 10.0 * zero}


def _is_level(equations: list[Equation]) -> bool:
    """Whether no equation balances powers of s with powers of c: then c = 0 is the only solution."""
    flat: list[Equation] = [{(k[0], plain_sum(k[1:])): c for k, c in e.items()} for e in equations]
    return all(min(j for _, j in e) > 0 and len(hull_of(e)) == 1 for e in flat)


def eliminate(equations: list[Equation], zero: float) -> list[Equation]:
    """Combinations of equations, each with a distinct term among those of the lowest degrees."""
    keys = sorted({k for e in equations for k in e}, key=lambda k: (plain_sum(k), k))
    A = np.array([[e.get(k, 0.0) for k in keys] for e in equations])
    row = 0
    for column in range(len(keys)):
        if row == len(A):
            break
        best = row + int(np.argmax(np.abs(A[row:, column])))
        if abs(A[best, column]) <= zero:
            continue
        A[[row, best]] = A[[best, row]]
        A[row] /= A[row, column]
        rest = np.arange(len(A)) != row
        A[rest] -= np.outer(A[rest, column], A[row])
        A[rest, column] = 0.0
        row += 1
    A = np.where(np.abs(A) > 10.0 * zero, A, 0.0)
    return [{k: float(x) for k, x in zip(keys, r, strict=True) if x} for r in A if np.any(r)]


def _search(state: _State, p: int, zero: float, out: HalfBranches) -> None:
    known = [_kept(e, state) for e in state.equations]
    # the variables in each term, as bits
    used = [np.array([_bits(np.flatnonzero(k[1:])) for k in e], dtype=int) for e in known]
    for count in range(len(state.live) + 1):
        for moving in combinations(range(len(state.live)), count):
            at_rest = ~_bits(moving)
            # a single term does not vanish
            if not any(np.count_nonzero((u & at_rest) == 0) == 1 for u in used):
                _search_moving(state, known, moving, p, zero, out)


def _bits(variables: Iterable[int]) -> int:
    return plain_sum(1 << int(j) for j in variables)


def _kept(equation: Equation, state: _State) -> Equation:
    weight = 1 if state.plain else 0
    return {k: c for k, c in equation.items() if k[0] + weight * plain_sum(k[1:]) < state.bound}


def _search_moving(
    state: _State,
    known: list[Equation],
    moving: tuple[int, ...],
    p: int,
    zero: float,
    out: HalfBranches,
) -> None:
    """Half-branches on which the live variables `moving` move, the others being identically zero."""
    rest = [j for j in range(len(state.live)) if j not in moving]
    left = [
        {
            (k[0], *(k[1 + j] for j in moving)): c
            for k, c in e.items()
            if not any(k[1 + j] for j in rest)
        }
        for e in known
    ]
    left = [e for e in left if e]
    if not moving:
        if not left:
            out.found.append(HalfBranch(state.terms, state.q, BY_NEIGHBOURS, state.order, p))
        return
    if len(left) < len(moving):
        if not any(len(e) == 1 for e in left):
            out.found.append(HalfBranch(state.terms, state.q, UNKNOWN, state.order, p))
        return
    pairs = [_differences(e) for e in left]
    if _count_choices(pairs, len(moving)) > MOST_CHOICES:
        out.found.append(HalfBranch(state.terms, state.q, UNKNOWN, state.order, p))
        return
    live = tuple(state.live[j] for j in moving)
    powers = tuple(state.powers[j] for j in moving)
    for weights in _weights(left, pairs):
        if not all(_is_known(e, weights, state) for e in left):
            out.found.append(HalfBranch(state.terms, state.q, UNKNOWN, state.order, p))
            continue
        lowest = [_lowest_part(e, weights) for e in left]
        order = max(state.order, *(_order(state, _last_power(part)) for part in lowest))
        found = _roots([[(tuple(k[1:]), c) for k, c in part] for part in lowest], len(live))
        if found is None:
            out.found.append(HalfBranch(state.terms, state.q, UNKNOWN, state.order, p))
            continue
        multiple = plain_sum(not simple for _, simple in found)
        for root, simple in found:
            new = tuple(e + w / state.q for e, w in zip(powers, weights, strict=True))
            terms = _with_terms(state.terms, live, new, root, p)
            q = state.q * lcm(*(w.denominator for w in weights))
            if simple or state.depth == DEEPEST or multiple > MOST_MULTIPLE:
                kind = 1 if simple and not rest and len(state.live) == p else BY_NEIGHBOURS
                kind = kind if simple else UNKNOWN
                out.found.append(HalfBranch(terms, q, kind, order, p))
            else:
                _search(
                    _shifted(state, left, live, new, weights, root, terms, order, zero),
                    p,
                    zero,
                    out,
                )
        if not rest:
            out.excluded_at = max(out.excluded_at, order)


def _order(state: _State, power: int) -> int:
    """The order, in the original variables, of a term with a power of t."""
    return int(np.ceil(float(state.spent + Fraction(power, state.q)))) + 2


def _last_power(part: list[tuple[tuple[int, ...], float]]) -> int:
    """The largest power of t in a lowest part, or that of a term linear in a variable that no other term has."""
    for (i, *j), _ in part:
        others = [k for k, _ in part if k != (i, *j)]
        if plain_sum(j) == 1 and not any(k[1 + j.index(1)] for k in others):
            return i
    return max(k[0] for k, _ in part)


def _with_terms(
    terms: Terms, live: tuple[int, ...], powers: tuple[Fraction, ...], root: Floats, p: int
) -> Terms:
    """The terms of all variables by their exponents, including those of the root."""
    known = {e: c.copy() for e, c in terms}
    for j, e, x in zip(live, powers, root, strict=True):
        known.setdefault(e, np.zeros(p))[j] += x
    return tuple(sorted(known.items(), key=lambda item: item[0]))


def _differences(equation: Equation) -> Ints:
    """Differences of the exponents of all pairs of terms that can be lowest."""
    corners = _minimal(equation)
    out = [a - b for a, b in combinations(corners, 2)]
    return np.array(out, dtype=int).reshape(-1, corners.shape[1])


def _count_choices(pairs: list[Ints], p: int) -> int:
    return plain_sum(prod(len(c) for c in chosen) for chosen in combinations(pairs, p))


def _weights(equations: list[Equation], pairs: list[Ints]) -> Iterator[tuple[Fraction, ...]]:
    """Exponents of t at which every lowest part has two terms; pairs: those of each equation."""
    if any(len(c) == 0 for c in pairs):
        return
    p = pairs[0].shape[1] - 1
    seen = set()
    for chosen in combinations(pairs, p):
        numbers = np.array(list(product(*(range(len(c)) for c in chosen))))
        A = np.stack([c[numbers[:, k]] for k, c in enumerate(chosen)], axis=1).astype(float)
        regular = np.abs(np.linalg.det(A[:, :, 1:])) > 0.5
        A = A[regular]
        if not len(A):
            continue
        w = np.linalg.solve(A[:, :, 1:], -A[:, :, :1])[:, :, 0]
        for row in np.unique(np.round(w[(w > 1e-9).all(axis=1)], 9), axis=0):
            exact = tuple(Fraction(float(x)).limit_denominator(MOST_DENOMINATOR) for x in row)
            if exact not in seen and all(_is_edge(e, exact) for e in equations):
                seen.add(exact)
                yield exact


def _minimal(equation: Equation) -> Ints:
    """Exponents of the terms that no other term divides."""
    keys = np.array(list(equation))
    divided = (keys[:, None] >= keys[None]).all(axis=2).sum(axis=1) > 1
    return np.asarray(keys[~divided])


def _is_edge(equation: Equation, weights: tuple[Fraction, ...]) -> bool:
    values = sorted(_weight(k, weights) for k in equation)
    return len(values) > 1 and values[0] == values[1]


def _is_known(equation: Equation, weights: tuple[Fraction, ...], state: _State) -> bool:
    """Whether the lowest part lies below all terms beyond the order, except for multiples of known terms."""
    low = min(_weight(k, weights) for k in equation)
    if not state.plain:
        return low < state.bound
    beyond = monomials(1 + len(weights), int(state.bound))
    divided = np.all(beyond[:, None] >= _minimal(equation)[None], axis=2)
    multiple = np.any(divided, axis=1)
    return all(_weight(tuple(k), weights) > low for k in beyond[~multiple].tolist())


def _weight(key: tuple[int, ...], weights: tuple[Fraction, ...]) -> Fraction:
    return plain_sum((w * j for w, j in zip(weights, key[1:], strict=True)), Fraction(key[0]))


def _lowest_part(
    equation: Equation, weights: tuple[Fraction, ...]
) -> list[tuple[tuple[int, ...], float]]:
    low = min(_weight(k, weights) for k in equation)
    return [(k, c) for k, c in equation.items() if _weight(k, weights) == low]


def _shifted(
    state: _State, equations: list[Equation], live: tuple[int, ...], powers: tuple[Fraction, ...],
    weights: tuple[Fraction, ...], root: Floats, terms: Terms, order: int, zero: float,
) -> _State:  # fmt: skip
    """The equations in t, c' after t = t'^d, c_j = t'^u_j (root_j + c'_j)."""
    d = lcm(*(w.denominator for w in weights))
    u = [int(w * d) for w in weights]
    new, lows = [], []
    for equation in equations:
        raised: Equation = {}
        for (i, *J), c in equation.items():
            power = d * i + plain_sum(a * j for a, j in zip(u, J, strict=True))
            for K in product(*(range(j + 1) for j in J)):
                share = c
                for j, k, x in zip(J, K, root, strict=True):
                    share *= comb(j, k) * float(x) ** (j - k)
                raised[(power, *K)] = raised.get((power, *K), 0.0) + share
        size = max(abs(c) for c in raised.values())
        raised = {k: c for k, c in raised.items() if abs(c) > 10.0 * zero * size}
        low = min(k[0] for k in raised)
        new.append({(k[0] - low, *k[1:]): c for k, c in raised.items()})
        lows.append(low)
    first = state.bound * min([d, *u] if state.plain else [d])
    spent = state.spent + Fraction(max(lows), state.q * d)
    return _State(
        eliminate(new, zero),
        live,
        powers,
        state.q * d,
        first - max(lows),
        False,
        terms,
        state.depth + 1,
        spent,
        order,
    )


def _roots(
    parts: list[list[tuple[tuple[int, ...], float]]], p: int
) -> list[tuple[Floats, bool]] | None:
    """Common real roots without zero entries, and whether they are simple; None if too many are coupled."""
    exponents = [np.array([k for k, _ in part]) for part in parts]
    coefficients = [np.array([c for _, c in part]) for part in parts]
    found = _successive_roots(exponents, coefficients)
    if found is None and p <= MOST_COUPLED:
        found = _coupled_roots(exponents, coefficients)
    return found


def _successive_roots(
    exponents: list[Ints], coefficients: list[Floats]
) -> list[tuple[Floats, bool]] | None:
    """Roots of polynomials each of which adds at most one variable to those before; None if they do not."""
    p = exponents[0].shape[1]
    used = [set(np.flatnonzero(E.any(axis=0)).tolist()) for E in exponents]
    known: set[int] = set()
    left = list(range(len(exponents)))
    out: list[tuple[Floats, bool]] = [(np.ones(p), True)]
    while left:
        e = min(left, key=lambda i: len(used[i] - known))
        fresh = sorted(used[e] - known)
        if len(fresh) > 1:
            return None
        left.remove(e)
        new: list[tuple[Floats, bool]] = []
        for x, simple in out:
            terms = coefficients[e] * np.prod(x ** exponents[e], axis=1)
            if not fresh:
                if abs(terms.sum()) <= SAME_ROOT_OF_EDGE * np.abs(terms).sum():
                    new.append((x, simple))
                continue
            powers = np.bincount(exponents[e][:, fresh[0]], terms).astype(float)
            for root, count in real_roots(np.trim_zeros(powers, "f")):
                y = x.copy()
                y[fresh[0]] = root
                new.append((y, simple and count == 1))
        out, known = new, known | used[e]
    return out if len(known) == p else None


def _coupled_roots(exponents: list[Ints], coefficients: list[Floats]) -> list[tuple[Floats, bool]]:
    """Common real roots of polynomials that couple their variables, from many starts."""
    p = exponents[0].shape[1]
    sizes = _scales(exponents, coefficients)
    polynomials = []
    for E, c in zip(exponents, coefficients, strict=True):
        scaled = c * np.prod(sizes**E, axis=1)
        polynomials.append(SparsePolynomial(E, scaled / np.abs(scaled).max()))
    # squares have 2^p roots
    x = np.random.default_rng(11).normal(size=(STARTS * 2 ** max(p - 2, 0), p)) * 2.0
    for _ in range(ITERATIONS):
        F, J = evaluate(polynomials, x)
        damping = np.minimum(np.einsum("si,si->s", F, F), 1e-2) + 1e-15
        normal = np.swapaxes(J, 1, 2) @ J + damping[:, None, None] * np.eye(p)
        step = np.linalg.solve(normal, np.swapaxes(J, 1, 2) @ F[:, :, None])[:, :, 0]
        x = x - np.clip(step, -2.0, 2.0)
    F, J = evaluate(polynomials, x)
    good = np.abs(F).max(axis=1) < BRANCH_ROOT
    out: list[tuple[Floats, bool]] = []
    for a, slope in zip(x[good], J[good], strict=True):
        values = np.linalg.svd(slope, compute_uv=False)
        simple = len(values) >= p and bool(values[p - 1] > SAME_BRANCH)
        root = a if simple else deflate(polynomials, a)
        apart = SAME_BRANCH * max(float(np.abs(root).max()), 1.0)
        if np.abs(root).min() > SAME_BRANCH and not any(
            np.abs(root - y).max() < apart for y, _ in out
        ):
            out.append((root, simple))
    return [(root * sizes, simple) for root, simple in out]


def _scales(exponents: list[Ints], coefficients: list[Floats]) -> Floats:
    """Scales of the variables that make the terms of each polynomial as equal in size as possible."""
    count = len(exponents)
    rows = [
        np.hstack([E, np.tile(-np.eye(count)[e], (len(E), 1))]) for e, E in enumerate(exponents)
    ]
    logs = np.log(np.abs(np.concatenate(coefficients)))
    found = np.linalg.lstsq(np.vstack(rows), -logs, rcond=1e-9)[0]
    return np.asarray(np.exp(found[: exponents[0].shape[1]]))
