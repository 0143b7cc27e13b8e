"""Real directions along which branches may leave: common roots of the lowest parts of the reduced equations.

Equations are combined so that each has a different lowest part (of degree two where possible). Every branch is
tangent to a common root of these parts. The converse is not true; `germs` decides which roots belong to branches.
With two degrees of freedom the roots are found exactly. If each equation adds one degree of freedom (chains of
loops), they are found one degree of freedom after another. Otherwise they are found by Levenberg-Marquardt steps
from many starting points on the sphere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import comb

import numpy as np

from ...arrays import Floats, Ints
from ...thresholds import MULTIPLE_RAY, SAME_BRANCH, SAME_RAY
from .cones import Evaluated, Family, find_families, step_on_sphere
from .deflation import FLAT, SparsePolynomial, deflate
from .deflation import evaluate as evaluate_sparse
from .polygon import real_roots
from .reduced_system import IndependentPart
from .standard_basis import initial_forms, is_feasible
from .taylor import MOST_MONOMIALS, monomials, reduce_equations

# multi-start search: number of starts, of starts outside a known family, and the distance that counts as on it
STARTS, OUTSIDE, CLOSE = 300, 60, 1e-4
ITERATIONS = 60
# residuals after the steps that indicate a root of high multiplicity; number of such directions that are tried;
# those with a cosine this close to one are the same
SLOW, SLOW_TRIES, SLOW_NEAR = 1e-8, 12, 5e-3
# number of directions of a family
FEW = 6
# eigenvalues of a quadratic form below this fraction of the largest are zero
SEMIDEFINITE = 1e-7
# slopes below this fraction of the largest are zero; largest number of variables of a form that is tested for
# definiteness, points on their sphere, and the least value there as a fraction of the largest
ESSENTIAL, MOST_ESSENTIAL, SPHERE, DEFINITE = 1e-6, 3, 2000, 1e-2


@dataclass(frozen=True, eq=False)
class HomogeneousPolynomial:
    """A homogeneous polynomial: its degree and its coefficients, in the order of `monomials`."""

    degree: int
    coefficients: Floats

    def restricted(self, inside: Floats) -> HomogeneousPolynomial | None:
        """The polynomial on a subspace, given by its basis (m, n); None if it vanishes there."""
        m, n = inside.shape
        if n == m:
            return self
        E = monomials(n, self.degree)
        x = np.random.default_rng(1).normal(size=(2 * len(E) + 4, n))
        values = np.prod((x @ inside.T)[:, None] ** monomials(m, self.degree), axis=2)
        powers = np.prod(x[:, None] ** E, axis=2)
        found = np.linalg.lstsq(powers, values @ self.coefficients, rcond=None)[0]
        size = float(np.abs(found).max(initial=0.0))
        return HomogeneousPolynomial(self.degree, found / size) if size > SEMIDEFINITE else None

    def essential(self, m: int) -> tuple[Floats, int]:
        """Orthonormal columns, the first `rank` of which span the variables that the polynomial depends on."""
        E, below = monomials(m, self.degree), monomials(m, self.degree - 1)
        number = {tuple(row): k for k, row in enumerate(below.tolist())}
        slopes = np.zeros((m, len(below)))
        for c, row in zip(self.coefficients, E.tolist(), strict=True):
            for j in range(m):
                if row[j]:
                    lowered = tuple(e - (i == j) for i, e in enumerate(row))
                    slopes[j, number[lowered]] += c * row[j]
        U, values, _ = np.linalg.svd(slopes)
        return U, int(np.sum(values > ESSENTIAL * values[0]))

    def is_definite(self, space: Floats) -> bool:
        """Whether the polynomial keeps its sign on the unit sphere of a space, clearly above zero."""
        x = np.random.default_rng(2).normal(size=(SPHERE, space.shape[1]))
        x = (x / np.linalg.norm(x, axis=1, keepdims=True)) @ space.T
        values = (
            np.prod(x[:, None] ** monomials(x.shape[1], self.degree), axis=2) @ self.coefficients
        )
        return bool(
            abs(np.sign(values).sum()) == len(x)
            and np.ptp(values) < (1.0 - DEFINITE) * np.abs(values).max()
        )

    def matrix(self, m: int) -> Floats:
        """The symmetric matrix of a quadratic form in m degrees of freedom."""
        out = np.zeros((m, m))
        for c, row in zip(self.coefficients, monomials(m, 2), strict=True):
            i, j = np.repeat(np.arange(m), row)
            out[i, j] += 0.5 * c
            out[j, i] += 0.5 * c
        return out


@dataclass(frozen=True, eq=False)
class Tangents:
    """Directions a (unit vectors, up to sign).

    rays: isolated directions; families: one direction per family, and isolated ones that are multiple roots;
    order: of the parts examined, lowest: of the first one; cut: whether a limit excluded some.
    """

    rays: list[Floats]
    families: list[Family] = field(default_factory=list)
    order: int = 2
    cut: bool = False
    lowest: int = 2


def find_tangents(factor: IndependentPart, order: int, most: int) -> Tangents:
    """The directions of a factor; order: of the expansion of its equations; most: largest number of rays."""
    H, m = factor.quadrics, factor.dof
    if m == 1:
        return Tangents([], order=2) if np.any(H) else Tangents([np.ones(1)], order=1)
    quadrics = independent(H)
    rays = None
    if len(quadrics) >= m - 1 > 1:
        # in the sparse basis: an orthogonal basis would mix neighbours
        rays = follow_chain(H, most)
    if rays is not None:
        return Tangents(rays[:most], cut=len(rays) > most)
    forms = _quadratic_forms(quadrics)
    reached = 2
    if len(quadrics) < min(len(H), m - 1) or not len(quadrics):
        while comb(m + order, order) > MOST_MONOMIALS and order > 2:
            order -= 1
        if order > 2:
            forms, reached = lowest_forms(factor, order)
        if not forms:
            # every direction is admissible, up to the order
            first = np.random.default_rng(3).normal(size=m)
            return Tangents([], [Family(first, np.eye(m), False)], 1)
    lowest = min(f.degree for f in forms)
    inside = _kernel_of_squares(H)
    forms = [f for f in (f.restricted(inside) for f in forms) if f is not None]
    found = _directions(forms, inside.shape[1], factor.system.root)
    return Tangents(
        [inside @ a for a in found.rays],
        [f.within(inside) for f in found.families],
        reached,
        found.cut,
        lowest,
    )


def _directions(forms: list[HomogeneousPolynomial], m: int, limit: float) -> Tangents:
    """Common roots of forms in m unknowns; limit: residuals of roots."""
    if not m:
        return Tangents([])
    inside = _kernel_of_definite(forms, m)
    if inside.shape[1] < m:
        left = [f for f in (f.restricted(inside) for f in forms) if f is not None]
        found = _directions(left, inside.shape[1], limit)
        families = [f.within(inside) for f in found.families]
        return Tangents([inside @ a for a in found.rays], families, cut=found.cut)
    if not forms:
        rng = np.random.default_rng(3)
        directions = [x / np.linalg.norm(x) for x in rng.normal(size=(3, m))]
        if m == 1:
            return Tangents([np.ones(1)])
        return Tangents([], [Family(directions[0], np.eye(m), False, tuple(directions[1:]))])
    if m == 1:
        return Tangents([])
    if m == 2:
        return Tangents(_plane_roots(forms))
    if len(forms) == 1 and forms[0].degree == 2:
        return Tangents([], _quadric_families(forms[0].matrix(m)))
    single, multiple = common_directions(forms, m, limit)
    # if this many are found, the starts have probably missed others
    cut = len(single) > STARTS // 8
    return Tangents(list(single), _sharp_families(forms, multiple, limit), cut=cut)


def special_directions(factor: IndependentPart, family: Family, degree: int) -> Tangents | None:
    """The directions of a family at which further lowest forms vanish; None if they are too many to compute.

    The family contains all tangents, but generic directions of it may have no branch. degree: of the forms.
    """
    m, k = factor.dof, factor.L.shape[1]
    if not is_feasible(k, m, degree):
        return None
    found = initial_forms(reduce_equations(factor, degree), m)
    forms = [HomogeneousPolynomial(d, c) for d, c in found]
    space = np.eye(m) if family.curved else family.space
    forms = [f for f in (f.restricted(space) for f in forms) if f is not None]
    if not forms:
        return None
    inside = _directions(forms, space.shape[1], factor.system.root)
    return Tangents(
        [space @ a for a in inside.rays],
        [f.within(space) for f in inside.families],
        max(f.degree for f in forms),
        inside.cut,
    )


def _kernel_of_definite(forms: list[HomogeneousPolynomial], m: int) -> Floats:
    """A basis of the space in which a form of higher degree vanishes, if it has no other real roots, (m, n).

    A form of one essential variable is a power of it. One of even degree is definite if it keeps its sign.
    """
    for form in forms:
        if form.degree == 2:
            continue
        V, rank = form.essential(m)
        if rank == 1 or (
            rank <= MOST_ESSENTIAL and form.degree % 2 == 0 and form.is_definite(V[:, :rank])
        ):
            return V[:, rank:]
    return np.eye(m)


def _quadric_families(h: Floats) -> list[Family]:
    """The directions with a^T h a = 0, h indefinite: two planes if its rank is two, else one connected cone."""
    values, V = np.linalg.eigh(h)
    limit = SEMIDEFINITE * float(np.abs(values).max())
    up, down = values > limit, values < -limit
    rng = np.random.default_rng(3)
    g = rng.normal(size=(FEW, len(h)))
    if np.sum(up) + np.sum(down) == 2:
        out = []
        for sign in (1.0, -1.0):
            normal = (
                np.sqrt(values[up]) * V[:, up][:, 0]
                + sign * np.sqrt(-values[down]) * V[:, down][:, 0]
            )
            normal /= np.linalg.norm(normal)
            rows = g - np.outer(g @ normal, normal)
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            out.append(Family(rows[0], _null_space(normal), False, tuple(rows[1:])))
        return out
    # a point of both ellipsoids a^T h a = 1 and -1 gives one of the cone
    parts = []
    for of in (up, down):
        x = (g[:, of] / np.sqrt(np.abs(values[of]))) @ V[:, of].T
        parts.append(x / np.sqrt(np.abs(np.einsum("si,ij,sj->s", x, h, x)))[:, None])
    level = ~(up | down)
    rows = parts[0] + parts[1] + g[:, level] @ V[:, level].T
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    best = np.argsort(-np.linalg.norm(rows @ h, axis=1), kind="stable")
    first = rows[best[0]]
    return [Family(first, _null_space(h @ first), True, tuple(rows[best[1:]]))]


def _null_space(normal: Floats) -> Floats:
    """An orthonormal basis of the vectors perpendicular to one."""
    return np.asarray(np.linalg.svd(normal[None])[2][1:].T)


def _kernel_of_squares(H: Floats) -> Floats:
    """A basis of the space that contains all real roots of a^T h a, (m, n): the kernels of semidefinite h.

    A semidefinite form is a sum of squares, each of which vanishes. In the space left, others may be semidefinite.
    """
    inside = np.eye(H.shape[1])
    shrinking = True
    while shrinking and inside.shape[1]:
        shrinking = False
        for h in H:
            values, V = np.linalg.eigh(inside.T @ h @ inside)
            size = float(np.abs(values).max())
            zero = np.abs(values) < SEMIDEFINITE * size
            if size > SEMIDEFINITE and len({*np.sign(values[~zero]).tolist()}) == 1:
                inside = inside @ V[:, zero]
                shrinking = True
                break
    return inside


def _sharp_families(
    forms: list[HomogeneousPolynomial], samples: Floats, limit: float
) -> list[Family]:
    """The families of directions; if the forms are dependent, the directions are refined first."""
    m = samples.shape[1]
    evaluate = _evaluator(forms, m)
    polynomials = _polynomials(forms, m)

    def refine(x: Floats) -> Floats:
        x = deflate(polynomials, x, limit)
        return x / np.linalg.norm(x)

    out, sharp = [], []
    for family in find_families(evaluate, samples):
        slopes = evaluate(family.direction[None])[1][0]
        simple = family.curved and not family.multiple
        if simple or np.linalg.matrix_rank(slopes, tol=FLAT) == len(forms):
            out.append(family)
        else:
            sharp.append(replace(family, direction=refine(family.direction), refine=refine))
    again = distinct_rays([f.direction for f in sharp], len(sharp) + 1, SAME_RAY)
    for new in find_families(evaluate, np.array(again)) if again else []:
        old = next(f for f in sharp if np.array_equal(f.direction, new.direction))
        out.append(replace(old, space=new.space, curved=new.curved))
    return out


def independent(H: Floats) -> Floats:
    """Independent symmetric matrices of unit size that span the same quadrics a^T H a, (n, m, m)."""
    if not H.size:
        return H[:0]
    _, values, V = np.linalg.svd(H.reshape(len(H), -1), full_matrices=False)
    return np.asarray(V[values > 1e-7].reshape(-1, *H.shape[1:]))


def _quadratic_forms(H: Floats) -> list[HomogeneousPolynomial]:
    out = []
    for h in H:
        E = monomials(len(h), 2)
        pairs = [np.repeat(np.arange(len(h)), row) for row in E]
        out.append(
            HomogeneousPolynomial(
                2, np.array([h[i, j] * (1.0 if i == j else 2.0) for i, j in pairs])
            )
        )
    return out


def lowest_forms(factor: IndependentPart, order: int) -> tuple[list[HomogeneousPolynomial], int]:
    """Lowest parts of combinations of the reduced equations, and the highest order among them."""
    combinations, forms, reached = np.eye(factor.L.shape[1]), [], 2
    for d, part in enumerate(reduce_equations(factor, order)):
        if d < 2 or not len(combinations):
            continue
        U, values, V = np.linalg.svd(combinations @ part)
        rank = int(np.sum(values > 10.0 * factor.system.zero))
        forms += [HomogeneousPolynomial(d, v) for v in V[:rank]]
        combinations = U[:, rank:].T @ combinations
        reached = d if rank else reached
    return forms, reached


def _plane_roots(forms: list[HomogeneousPolynomial]) -> list[Floats]:
    """Common roots of forms in two degrees of freedom."""
    lowest = min(forms, key=lambda f: f.degree)
    # coefficients by powers of the second variable, rotated so that no root lies at infinity
    turn = 0.7390851
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    out = []
    for root, _ in real_roots(_along_line(lowest, R)):
        a = R @ np.array([1.0, root])
        a /= np.linalg.norm(a)
        # multiple roots are accurate to a fraction of the digits only
        if all(abs(_value(f, a)) < 1e-5 for f in forms):
            out.append(a)
    return out


def _along_line(form: HomogeneousPolynomial, R: Floats) -> Floats:
    """A form on the line R (1, t), as a polynomial in t."""
    out = np.zeros(form.degree + 1)
    for c, (i, j) in zip(form.coefficients, monomials(2, form.degree), strict=True):
        p = np.ones(1)
        for _ in range(i):
            p = np.convolve(p, R[0])
        for _ in range(j):
            p = np.convolve(p, R[1])
        out += c * p
    return out


def _value(form: HomogeneousPolynomial, a: Floats) -> float:
    return float(form.coefficients @ np.prod(a ** monomials(len(a), form.degree), axis=1))


def follow_chain(H: Floats, most: int) -> list[Floats] | None:
    """Common roots of quadrics that form a chain, in which each adds one degree of freedom; None if they do not.

    At most one more than `most` are listed.
    """
    # equations without second-order terms say nothing of directions
    H = H[np.any(H != 0.0, axis=(1, 2))]
    k, m = len(H), H.shape[1]
    used = [set(np.flatnonzero(np.any(h != 0.0, axis=0)).tolist()) for h in H]
    known: set[int] = set()
    partial = [np.zeros(m)]
    left = set(range(k))
    while left:
        eq = min(left, key=lambda e: (len(used[e] - known), e if known else len(used[e])))
        fresh = sorted(used[eq] - known)
        if len(fresh) > (1 if known else 2):
            return None
        new: list[Floats] = []
        for x in partial:
            roots = _extend(H[eq], x, fresh)
            if roots is None:
                return None
            new += roots
            if len(new) > 4 * most + 4:
                break
        partial, known = new, known | used[eq]
        left.discard(eq)
    if len(known) < m:
        return None
    rays = [x / np.linalg.norm(x) for x in partial if np.any(x)]
    return distinct_rays(rays, most + 1, SAME_RAY)


def _extend(h: Floats, x: Floats, fresh: list[int]) -> list[Floats] | None:
    """Values of the new degrees of freedom with (x + fresh)^T h (x + fresh) = 0; None if any values satisfy it."""
    size = float(np.abs(h).max())
    here = float(x @ h @ x)
    if not fresh:
        return [x] if abs(here) < SAME_RAY * size * max(float(x @ x), 1e-300) else []
    if len(fresh) == 2:
        return [x, *(_set(x, fresh, r) for r in _binary_roots(h[np.ix_(fresh, fresh)]))]
    v = fresh[0]
    a, b = float(h[v, v]), 2.0 * float(h[v] @ x)
    if not np.any(x):
        return [x] if abs(a) > SAME_RAY * size else [x, _set(x, [v], np.ones(1))]
    scale = float(np.abs(x).max())
    if max(abs(a), abs(b) / scale, abs(here) / scale**2) < SAME_RAY * size:
        return None
    return [
        _set(x, [v], np.array([r * scale])) for r in _roots_of_two(a, b / scale, here / scale**2)
    ]


def _set(x: Floats, dof: list[int], values: Floats) -> Floats:
    out = x.copy()
    out[dof] = values
    return out


def _binary_roots(h: Floats) -> list[Floats]:
    """Directions of the plane with a^T h a = 0."""
    a, b, c = float(h[0, 0]), 2.0 * float(h[0, 1]), float(h[1, 1])
    if abs(a) >= abs(c):
        return [np.array([r, 1.0]) for r in _roots_of_two(a, b, c)] + (
            [np.array([1.0, 0.0])] if abs(a) < SAME_RAY * abs(b) else []
        )
    return [np.array([1.0, r]) for r in _roots_of_two(c, b, a)]


def _roots_of_two(a: float, b: float, c: float) -> list[float]:
    """Real roots of a t^2 + b t + c; a double root is listed once."""
    size = max(abs(a), abs(b), abs(c))
    if abs(a) < SAME_RAY * size:
        return [-c / b] if abs(b) > SAME_RAY * size else []
    half, square = -0.5 * b / a, 0.25 * b * b - a * c
    if abs(square) < SAME_RAY * size * size:
        return [half]
    if square < 0.0:
        return []
    return [half - float(np.sqrt(square)) / a, half + float(np.sqrt(square)) / a]


def distinct_rays(rays: list[Floats], most: int, same: float = SAME_BRANCH) -> list[Floats]:
    """Distinct rays up to sign, at most `most`; same: rays closer than this are one."""
    out: list[Floats] = []
    for x in rays:
        if out:
            known = np.array(out)
            apart = np.minimum(np.abs(known - x).max(axis=1), np.abs(known + x).max(axis=1))
            if apart.min() < same:
                continue
        out.append(x)
        if len(out) == most:
            break
    return out


def common_directions(
    forms: list[HomogeneousPolynomial], m: int, limit: float
) -> tuple[Floats, Floats]:
    """Unit vectors at which all forms vanish, up to sign: simple roots, and others.

    A large family attracts nearly all starts. Once its span is known, further starts search outside it.
    """
    a = np.random.default_rng(7).normal(size=(STARTS, m))
    evaluate = _evaluator(forms, m)
    polynomials = _polynomials(forms, m)
    found = _search(evaluate, a, np.eye(m), limit, polynomials)
    while len(found):
        values, V = np.linalg.svd(found)[1:]
        outside = V[int(np.sum(values > SAME_BRANCH)) :]
        more = found[:0]
        if len(outside):
            more = _search(evaluate, a[:OUTSIDE], outside, limit, polynomials)
        more = more[np.linalg.norm(more @ outside.T, axis=1) > SAME_BRANCH]
        if not len(more):
            break
        found = np.concatenate([found, more])
    kinds: tuple[list[Floats], list[Floats]] = ([], [])
    for x in distinct_rays(list(found), len(found) + 1):
        slopes = np.vstack([evaluate(x[None])[1][0], x[None]])
        values = np.linalg.svd(slopes, compute_uv=False)
        kinds[0 if len(values) == m and values[-1] > MULTIPLE_RAY else 1].append(x)
    return np.array(kinds[0]).reshape(-1, m), np.array(kinds[1]).reshape(-1, m)


def _polynomials(forms: list[HomogeneousPolynomial], m: int) -> list[SparsePolynomial]:
    return [SparsePolynomial(monomials(m, f.degree), f.coefficients) for f in forms]


def _evaluator(forms: list[HomogeneousPolynomial], m: int) -> Evaluated:
    """A function of starts (starts, m) that returns values (starts, forms) and gradients (starts, forms, m)."""
    second = [f for f in forms if f.degree == 2]
    higher = [f for f in forms if f.degree > 2]
    H = np.array([f.matrix(m) for f in second]).reshape(-1, m, m)

    def evaluate(a: Floats) -> tuple[Floats, Floats]:
        Ha = np.moveaxis(H @ a.T, 2, 0)
        values, slopes = np.einsum("ska,sa->sk", Ha, a), 2.0 * Ha
        if not higher:
            return values, slopes
        more = _evaluate(higher, a)
        return np.concatenate([values, more[0]], axis=1), np.concatenate([slopes, more[1]], axis=1)

    return evaluate


def _evaluate(forms: list[HomogeneousPolynomial], a: Floats) -> tuple[Floats, Floats]:
    """Values (starts, forms) and gradients (starts, forms, m) of forms of any degree."""
    m = a.shape[1]
    values, slopes = np.empty((len(a), len(forms))), np.empty((len(a), len(forms), m))
    for d in sorted({f.degree for f in forms}):
        which = [i for i, f in enumerate(forms) if f.degree == d]
        c = np.array([forms[i].coefficients for i in which])
        E = monomials(m, d)
        powers = np.ones((d + 1, m, len(a)))
        for i in range(1, d + 1):
            powers[i] = powers[i - 1] * a.T
        values[:, which] = (c @ _products(powers, E)).T
        for j in range(m):
            lowered = np.maximum(E - np.eye(m, dtype=int)[j], 0)
            slopes[:, which, j] = ((c * E[:, j]) @ _products(powers, lowered)).T
    return values, slopes


def _products(powers: Floats, E: Ints) -> Floats:
    """Monomials (terms, starts) with exponents E from the powers (degree, variable, starts) of the variables."""
    out = powers[E[:, 0], 0]
    for j in range(1, E.shape[1]):
        out = out * powers[E[:, j], j]
    return np.asarray(out)


def _search(
    evaluate: Evaluated,
    a: Floats,
    outside: Floats,
    limit: float,
    polynomials: list[SparsePolynomial],
) -> Floats:
    """Roots, divided by the part of a outside known roots, the best first; a: starts.

    outside: rows of an orthonormal basis; if it is complete, the divisor is one.
    """
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    for _ in range(ITERATIONS):
        part = a @ outside.T
        size = np.maximum(np.linalg.norm(part, axis=1), CLOSE)
        F, slopes = evaluate(a)
        F, slopes = F / size[:, None], slopes / size[:, None, None]
        slopes -= F[:, :, None] * (part @ outside / size[:, None] ** 2)[:, None, :]
        a = step_on_sphere(a, F, slopes, size)
    F = np.abs(evaluate(a)[0]).max(axis=1, initial=0.0)
    order = np.argsort(F)
    count = int(np.sum(limit > F))
    found = a[order[:count]]
    slow = a[order[count : int(np.sum(SLOW > F))]]
    for _ in range(3 if len(found) else 0):
        # refine to rounding, because errors of directions grow with the order of the series along them
        F, slopes = evaluate(found)
        back = np.linalg.pinv(slopes, rcond=1e-3)
        new = found - (back @ F[:, :, None])[:, :, 0]
        new /= np.linalg.norm(new, axis=1, keepdims=True)
        # at multiple roots the steps may diverge
        better = np.abs(evaluate(new)[0]).max(axis=1) < np.abs(F).max(axis=1)
        found = np.where(better[:, None], new, found)
    return np.concatenate([found, _slow_roots(polynomials, slow, found, limit)])


def _slow_roots(
    polynomials: list[SparsePolynomial], slow: Floats, found: Floats, limit: float
) -> Floats:
    """Roots of high multiplicity, to which the steps converge too slowly, by deflation; found: known roots."""
    known, new, tried = list(found), [], 0
    for x in slow:
        if tried == SLOW_TRIES or (known and np.abs(np.array(known) @ x).max() > 1.0 - SLOW_NEAR):
            continue
        tried += 1
        root = deflate(polynomials, x, limit)
        root = root / np.linalg.norm(root)
        if np.abs(evaluate_sparse(polynomials, root[None])[0]).max() < limit:
            known.append(root)
            new.append(root)
    return np.array(new).reshape(-1, slow.shape[1])
