"""Branches through a configuration: those along each direction, confirmed at nearby configurations.

Along a direction, the reduced equations F(s, c) = 0 (`taylor.blow_up`) decide. If no equation is left, there is
one branch with all degrees of freedom c. If no c is left, there is a branch if F(s) vanishes up to the order. With
one c, the half-branches are those of Newton's polygon; with several, the roots of the edges with equal exponents.
The order is raised until everything is decided. Every branch is then continued to a nearby configuration on each
side, where the joint equations must close to rounding and J must have the rank of the branch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import factorial, prod

import numpy as np

from ...arrays import Floats, plain_sum
from ...progress import report
from ...thresholds import BRANCH_CLOSED, SAME_BRANCH
from .cones import Family, same_space
from .continuation import Prediction, close_near, continue_branch, nullity_at, reachable
from .edges import eliminate, find_half_branches_of_many
from .polygon import BY_NEIGHBOURS, HalfBranch, HalfBranches, Terms, find_half_branches
from .reduced_system import IndependentPart, LocalSystem
from .sections import find_sections, section_of
from .sheets import basis_of
from .shifts import Equation
from .tangents import find_tangents, special_directions
from .taylor import BlownUp, blow_up, monomials

# orders of F, tried in this sequence; only the first two if more than one c is left
ORDERS = (4, 8, 14)
# largest number of families of directions tried
FAMILIES = 64
# step from a configuration of a branch to others of a larger one that may contain it, as a fraction of the
# displacement: small against the distance of branches that separate like s^5; number of steps
ASIDE, SIDES = 1e-4, 4


@dataclass(frozen=True, eq=False)
class Germ:
    """A branch of one factor or of several.

    dimension; tangent: orthonormal basis of its tangent space, (columns, dimension); direction: the direction
    along which it was found; ways: 2, or 1 for a cusp, which leaves along `direction` only; ray: number of the
    direction, the same for branches with a common tangent; terms: exponents and coefficients that distinguish such
    branches; order: the order that decided; ahead, behind: displacements of nearby configurations, None if none
    was reached; residual: the largest there; nullity: of J there; certain: whether the Taylor terms and the nearby
    configurations agree; multiplicity: of the root.
    """

    dimension: int
    tangent: Floats
    direction: Floats
    ways: int
    ray: int
    terms: Terms
    order: int
    ahead: Floats | None
    behind: Floats | None
    residual: float
    nullity: int
    certain: bool
    multiplicity: int = 1
    curved: bool = False
    # conditions of the section along which a branch of several dimensions was found (`sheets`)
    section: Floats | None = None


@dataclass
class BranchList:
    """The branches of a factor.

    order: the order that decided; undecided: directions for which the order is too low; cut: whether a limit
    excluded some branches; gap: highest order up to which a direction without a branch closes the joints; lowest:
    order of the terms that open the joints along most directions; folded: whether the branches were found along
    sections, so that directions nearby may have others.
    """

    germs: list[Germ] = field(default_factory=list)
    order: int = 1
    undecided: int = 0
    cut: bool = False
    gap: int = 0
    lowest: int = 2
    folded: bool = False


def analyse_factor(factor: IndependentPart, most: int) -> BranchList:
    """All branches of a factor."""
    m = factor.dof
    if not m:
        return BranchList()
    if not factor.L.shape[1]:
        return _free(factor)
    tangents = find_tangents(factor, ORDERS[1], most)
    out = BranchList(order=tangents.order, cut=tangents.cut, lowest=tangents.lowest)
    for number, a in enumerate(tangents.rays):
        report(number, len(tangents.rays))
        _add(out, _along_ray(factor, a, number))
    _add_families(out, factor, tangents.families, len(tangents.rays))
    if not (tangents.rays or tangents.families):
        out.gap = max(out.gap, tangents.order)
    # its direction was decided by terms of this order
    out.germs = [replace(g, order=max(g.order, tangents.order)) for g in out.germs]
    return out


def _add(out: BranchList, more: BranchList) -> None:
    out.germs += more.germs
    out.order = max(out.order, more.order)
    out.undecided += more.undecided
    out.gap = max(out.gap, more.gap)
    out.cut |= more.cut


def _free(factor: IndependentPart) -> BranchList:
    """The only branch if no equation is left: it has all degrees of freedom, by the implicit function theorem."""
    blown = blow_up(factor, np.random.default_rng(3).normal(size=factor.dof), 1)
    germ = _confirmed(factor.system, _predict(blown, 1.0, None), 0, 1, 2)
    return BranchList([replace(germ, certain=True)], 1)


def _add_families(
    out: BranchList, factor: IndependentPart, families: list[Family], first: int
) -> None:
    """Add the branches along one direction per family; several branches with one tangent space count once."""
    before = len(out.germs)
    # directions within the space of another family are special ones of it, as a rule
    special = [any(_is_inside(f, g) for g in families) for f in families]
    ordered = [
        f for late in (False, True) for f, x in zip(families, special, strict=True) if x is late
    ]
    for i, family in enumerate(ordered[:FAMILIES]):
        found = _along_ray(factor, family.direction, first + i, family.space)
        if found.folded and _is_in_several(factor.N @ family.direction, out.germs[before:]):
            # where known branches intersect: `join_sheets` decides whether they stay separate
            continue
        new = [
            g
            for g in found.germs
            if g.section is not None or not _is_known(factor, g, out.germs[before:])
        ]
        if len(new) < len(found.germs):
            found = replace(
                found,
                germs=new,
                undecided=plain_sum(not g.certain for g in new),
                order=max((g.order for g in new), default=1),
            )
        if found.folded:
            # a fold covers a part of the directions only
            for a in family.others:
                if any(g.multiplicity != 1 for g in found.germs):
                    # sheets that stay singular cannot be connected by curves
                    break
                more = _along_ray(factor, a, first + i)
                _add(found, more)
            found.gap = 0 if found.germs else found.gap
        if found.gap and not found.folded and family.space.shape[1] > 1:
            # a number that no other direction has
            used = [g.ray for g in out.germs]
            _add_special(found, factor, family, max(first + len(families), *used, 0) + 1)
        found.germs = [replace(g, curved=g.curved or family.curved) for g in found.germs]
        _add(out, found)
    out.cut |= len(families) > FAMILIES


def _add_special(found: BranchList, factor: IndependentPart, family: Family, first: int) -> None:
    """Add the branches along special directions of a family whose generic directions have none.

    first: number of the first direction.
    """
    special = special_directions(factor, family, max(found.gap, ORDERS[1]))
    if special is None:
        return
    inside = BranchList(order=special.order, cut=special.cut)
    for i, a in enumerate(special.rays):
        _add(inside, _along_ray(factor, a, first + i))
    smaller = [f for f in special.families if f.space.shape[1] < family.space.shape[1]]
    _add_families(inside, factor, smaller, first + len(special.rays))
    inside.germs = [replace(g, order=max(g.order, special.order)) for g in inside.germs]
    if inside.germs or inside.undecided:
        found.gap = 0
    _add(found, inside)


def _is_in_several(w: Floats, known: list[Germ]) -> bool:
    """Whether a direction lies in the tangent spaces of two branches of several dimensions."""
    planes = [g.tangent for g in known if g.dimension > 1 and g.section is None and not g.curved]
    across = (w - T @ (T.T @ w) for T in planes)
    return plain_sum(np.abs(x).max() < SAME_BRANCH * np.abs(w).max() for x in across) > 1


def _is_inside(family: Family, other: Family) -> bool:
    """Whether the direction of a family is in the tangent space of another one of more dimensions."""
    if other.space.shape[1] <= family.space.shape[1] or other.curved:
        return False
    w = family.direction
    inside = np.linalg.lstsq(other.space, w, rcond=None)[0]
    return bool(np.abs(other.space @ inside - w).max() < SAME_BRANCH * np.abs(w).max())


def _is_known(factor: IndependentPart, germ: Germ, known: list[Germ]) -> bool:
    """Whether a branch is a known one of several dimensions, or a part of it."""
    for g in known:
        if g.dimension == 1:
            continue
        if same_space(germ.tangent, g.tangent):
            return True
        inside = g.tangent @ (g.tangent.T @ germ.tangent)
        within = g.curved or np.abs(inside - germ.tangent).max() < SAME_BRANCH
        if within and g.dimension > germ.dimension and _lies_on(factor, germ, g):
            return True
    return False


def _lies_on(factor: IndependentPart, germ: Germ, surface: Germ) -> bool:
    """Whether close to the configurations of a branch there are some of another one of larger dimension."""
    system = factor.system
    excess = surface.nullity - surface.dimension
    others = system.split.N.shape[1] - factor.dof
    rng, rest = np.random.default_rng(4), basis_of(factor)[1]
    ends = [x for x in (germ.ahead, germ.behind) if x is not None]
    for x in ends:
        J = np.vstack([system.jacobian_at(x), rest])
        free = np.linalg.svd(J)[2][len(x) - germ.nullity + others :].T
        # along its tangent space at the configuration, and along velocities here
        steps = [
            space @ rng.normal(size=(space.shape[1], SIDES)) for space in (surface.tangent, free)
        ]
        h = ASIDE * float(np.abs(x).max())
        found = (
            _is_at(system, x, h * v, surface.nullity, excess, others) for v in np.hstack(steps).T
        )
        if not any(found):
            return False
    return bool(ends)


def _is_at(
    system: LocalSystem, x: Floats, step: Floats, nullity: int, excess: int, others: int
) -> bool:
    """Whether a configuration at which J has a nullity is as close to x as a step."""
    closed, residual = close_near(
        system, x + step, len(x) - nullity, excess if excess > others else 0
    )
    near = np.abs(closed - x).max() < 2.0 * np.abs(step).max()
    return bool(near and residual < system.closed and nullity_at(system, closed) == nullity)


def _along_ray(
    factor: IndependentPart, a: Floats, number: int, space: Floats | None = None
) -> BranchList:
    """The branches along one direction; the order is raised until all of them are decided.

    space: the tangent space of the family of directions to which it belongs.
    """
    found = BranchList()
    for order in ORDERS:
        blown = blow_up(factor, a, order)
        found = _branches_of(blown, number, space)
        # with many degrees of freedom left, a higher order is too expensive
        if not found.undecided or len(blown.F) - 1 < order:
            break
    return found


def _branches_of(blown: BlownUp, number: int, space: Floats | None = None) -> BranchList:
    system, order = blown.factor.system, len(blown.F) - 1
    nothing_left = not any(np.any(part) for part in blown.F)
    if nothing_left:
        germ = _confirmed(system, _predict(blown, 1.0, None), number, 1, 2)
        if not germ.certain:
            germ = replace(germ, order=order + 2)
        return BranchList([germ], germ.order, undecided=int(not germ.certain))
    if blown.open == 0:
        at = next(d for d, part in enumerate(blown.F) if np.any(part)) + 2
        return BranchList([], at, gap=at)
    smooth, decided = _smooth(blown) if blown.open > 1 else (None, 0)
    if smooth is not None:
        prediction = _predict(blown, 1.0, None)
        tangent = np.column_stack([prediction.direction, blown.C @ smooth])
        prediction = replace(prediction, tangent=tangent, follow=False)
        germ = _confirmed(system, prediction, number, decided, 2)
        return BranchList([germ], decided, undecided=int(not germ.certain))
    if blown.open > 1:
        both = [eliminate([e for e in _equations(blown, s) if e], system.zero) for s in (1, -1)]
        if len(both[0]) < blown.open:
            return _along_sections(blown, both, number)
        inside = _within(blown, space)
        if 0 < inside.shape[1] < blown.open:
            return _across_family(blown, both, inside, number)
    equations = [_equations(blown, sign) for sign in (1, -1)]
    if blown.open > 1:
        sides = [find_half_branches_of_many(e, order, system.zero) for e in equations]
        return _paired(blown, sides, number)
    found = BranchList()
    for centred in (True, False):
        sides = [find_half_branches(e, order, system.zero, centred) for e in equations]
        found = _paired(blown, sides, number)
        if not found.undecided:
            break
    return found


def _smooth(blown: BlownUp) -> tuple[Floats | None, int]:
    """The directions c of a smooth branch, (p, n), and the order that decides.

    This requires no more equations than degrees of freedom; with as many, the branch is a curve (n = 0). After
    division by powers of s the equations are linear in c, and independent.
    """
    equations = eliminate([e for e in _equations(blown, 1) if e], blown.factor.system.zero)
    if len(equations) > blown.open:
        return None, 0
    rows, order = np.zeros((len(equations), blown.open)), 2
    for row, e in zip(rows, equations, strict=True):
        low = min(k[0] for k in e)
        order = max(order, low + 2)
        if (low, *(0 for _ in row)) in e:
            return None, 0
        for k, c in e.items():
            if k[0] == low and plain_sum(k[1:]) == 1:
                row[k[1:].index(1)] = c
    _, values, V = np.linalg.svd(rows)
    return V[len(rows) :].T if values.min() > SAME_BRANCH * values.max() else None, order


def _along_sections(blown: BlownUp, both: list[list[Equation]], number: int) -> BranchList:
    """Branches of several dimensions along a section; both: the equations for s > 0 and for s < 0."""
    factor, order, k = blown.factor, len(blown.F) - 1, len(both[0])
    dimension = 1 + blown.open - k
    basis = basis_of(factor)[0]
    a = basis.T @ blown.xi[0]
    # conditions that the direction itself satisfies
    across = np.linalg.svd(a.T)[2][1:]
    turned = np.random.default_rng(6).normal(size=(dimension - 2, len(across)))
    conditions = turned @ across
    Z = section_of(conditions @ basis.T @ blown.C, k, 5)
    sides = [find_sections(e, Z, order, factor.system.zero) for e in both]
    flat = _flat_directions(both[0], blown.open)
    planar = flat.shape[1] == dimension - 1
    more = flat if planar else np.eye(blown.open)[:, : dimension - 1]
    tangent = np.column_stack([blown.xi[0][:, 0], blown.C @ more])
    out = _paired(blown, sides, number, tangent)
    out.germs = [_with_true_dimension(factor, g) for g in out.germs]
    out.germs = [
        replace(g, section=conditions, curved=not planar) if g.dimension == dimension else g
        for g in out.germs
    ]
    out.folded = True
    return out


def _within(blown: BlownUp, space: Floats | None) -> Floats:
    """The degrees of freedom c along which the direction stays in its family, (p, n)."""
    if space is None:
        return np.zeros((blown.open, 0))
    w = blown.xi[0][:, 0]
    along = blown.factor.N @ space
    found = np.linalg.lstsq(np.column_stack([w, blown.C]), along, rcond=None)[0][1:]
    U, values, _ = np.linalg.svd(found, full_matrices=False)
    return np.asarray(U[:, values > SAME_BRANCH])


def _across_family(
    blown: BlownUp, both: list[list[Equation]], inside: Floats, number: int
) -> BranchList:
    """Branches that fill their family of directions although there are as many equations as degrees of freedom.

    Sums of squares hold more degrees of freedom than their number, so equations may be redundant on a branch that
    stays singular. Along a section across the family (inside: the degrees of freedom within it) it is a curve.
    """
    factor, order = blown.factor, len(blown.F) - 1
    Z = np.linalg.svd(inside)[0][:, inside.shape[1] :]
    sides = [find_sections(e, Z, order, factor.system.zero) for e in both]
    tangent = np.column_stack([blown.xi[0][:, 0], blown.C @ inside])
    out = _paired(blown, sides, number, tangent)
    out.germs = [_with_true_dimension(factor, g) for g in out.germs]
    return out


def _with_true_dimension(factor: IndependentPart, germ: Germ) -> Germ:
    """A branch that stays singular with the dimension it has: sums of squares hold more than their number."""
    others = factor.system.split.N.shape[1] - factor.dof
    if germ.nullity == germ.dimension + others or germ.ahead is None:
        return germ
    reached = reachable(factor.system, germ.ahead, germ.nullity, basis_of(factor)[1])
    dimension = max(reached.shape[1], 1)
    if dimension == germ.dimension:
        return germ
    w = germ.direction / np.linalg.norm(germ.direction)
    more = reached - np.outer(w, w @ reached)
    tangent = np.column_stack([w, np.linalg.svd(more, full_matrices=False)[0][:, : dimension - 1]])
    return replace(germ, dimension=dimension, tangent=tangent)


def _flat_directions(equations: list[Equation], p: int) -> Floats:
    """The degrees of freedom c that the lowest terms of no equation contain, (p, n).

    The lowest terms are those of least degree in c among those with the least power of s: without that power they
    give the tangents at the configuration itself.
    """
    rows = [np.zeros((1, p))]
    for e in equations:
        low = min(k[0] for k in e)
        degree = min(plain_sum(k[1:]) for k in e if k[0] == low)
        derivatives: dict[tuple[int, ...], Floats] = {}
        for (i, *J), c in e.items():
            if i != low or plain_sum(J) != degree:
                continue
            size = c * prod(factorial(j) for j in J)
            for v in np.flatnonzero(J):
                lowered = tuple(j - (n == v) for n, j in enumerate(J))
                derivatives.setdefault(lowered, np.zeros(p))[v] += size
        if derivatives:
            own = np.array(list(derivatives.values()))
            rows.append(own / np.abs(own).max())
    _, values, V = np.linalg.svd(np.vstack(rows))
    return V[int(np.sum(values > SAME_BRANCH * max(values[0], 1e-300))) :].T


def _equations(blown: BlownUp, sign: int) -> list[Equation]:
    """F as exponents and coefficients; sign: -1 for the other side, s < 0."""
    out: list[Equation] = [{} for _ in range(blown.F[0].shape[0])]
    for d, part in enumerate(blown.F):
        for k, row in enumerate(monomials(1 + blown.open, d)):
            for e in np.flatnonzero(part[:, k]):
                key = (int(row[0]), *(int(j) for j in row[1:]))
                out[e][key] = float(part[e, k]) * sign ** int(row[0])
    return out


def _paired(
    blown: BlownUp, sides: list[HalfBranches], number: int, tangent: Floats | None = None
) -> BranchList:
    """Half-branches joined to branches: odd ramification gives a two-sided branch, otherwise two form a cusp.

    tangent: of branches of several dimensions, found along a section.
    """
    out = BranchList(order=max(s.excluded_at for s in sides))
    for sign, side in zip((1.0, -1.0), sides, strict=True):
        left = list(side.found)
        while left:
            half = left.pop(0)
            ways = 2 if half.ramification % 2 else 1
            if ways == 1:
                partner = min(left, key=lambda h: _apart(h.terms, half.conjugate), default=None)
                if partner is not None:
                    left.remove(partner)
            elif sign < 0.0:
                # already found as the other end of an earlier branch
                continue
            order = max(half.order, 2)
            prediction = _predict(blown, sign, half)
            if tangent is not None:
                prediction = replace(prediction, tangent=tangent)
            germ = _confirmed(blown.factor.system, prediction, number, order, ways)
            out.order = max(out.order, order)
            out.undecided += not germ.certain
            if germ.certain or germ.ahead is not None or germ.behind is not None:
                out.germs.append(germ)
    if not out.germs and not out.undecided:
        out.gap = out.order
    _judge_separation(out)
    return out


def _apart(a: Terms, b: Terms) -> float:
    if len(a) != len(b) or any(x[0] != y[0] for x, y in zip(a, b, strict=True)):
        return np.inf
    return max((float(np.abs(x[1] - y[1]).max()) for x, y in zip(a, b, strict=True)), default=0.0)


def _judge_separation(found: BranchList) -> None:
    """Mark branches with a common tangent as undecided if their nearby configurations coincide."""
    germs = found.germs
    for i, g in enumerate(germs):
        near = [h.ahead for h in germs[:i] if h.ahead is not None]
        if g.ahead is None or g.multiplicity > 1 or not g.certain:
            continue
        if any(np.abs(g.ahead - x).max() < BRANCH_CLOSED for x in near):
            germs[i] = replace(g, certain=False)
            found.undecided += 1


def _predict(blown: BlownUp, sign: float, half: HalfBranch | None) -> Prediction:
    w, dof = sign * blown.xi[0][:, 0], blown.factor.dof
    if half is None:
        tangent = np.column_stack([w, blown.C])
        none = np.zeros(blown.open)
        left_over = bool(blown.F[0].shape[0])
        return Prediction(
            w,
            tangent,
            dof,
            lambda s: blown.displacement(sign * s, blown.polish(sign * s, none)),
            follow=left_over,
        )

    def at(s: float) -> Floats:
        c = half.at(s)
        # both ends of a cusp are on the same side
        s = abs(s) if half.ramification % 2 == 0 else s
        if half.multiplicity == 1:
            c = blown.polish(sign * s, c)
        return blown.displacement(sign * s, c)

    follow = half.multiplicity != 1 or blown.F[0].shape[0] > blown.open
    return Prediction(w, w[:, None], dof, at, half.terms, half.multiplicity, follow)


def _confirmed(
    system: LocalSystem, prediction: Prediction, number: int, order: int, ways: int
) -> Germ:
    """The branch of a prediction, continued to nearby configurations on both sides."""
    reached = [continue_branch(system, prediction, side) for side in (1.0, -1.0)]
    tangent = np.linalg.qr(prediction.tangent)[0]
    dimension = tangent.shape[1]
    good = [r for r in reached if r is not None]
    nullity = min((r.nullity for r in good), default=dimension)
    certain = len(good) == 2
    others = system.split.N.shape[1] - prediction.dof
    if prediction.multiplicity == 1:
        # redundant equations do not change the rank; at a simple root it equals that of the branch
        certain = certain and dimension <= nullity <= dimension + others
    elif prediction.multiplicity > 1:
        # a root that remains multiple keeps the rank low along the whole branch
        certain = certain and nullity > dimension
    else:
        certain = certain and prediction.multiplicity == BY_NEIGHBOURS
    return Germ(
        dimension, tangent, prediction.direction, ways, number, prediction.terms, order,
        None if reached[0] is None else reached[0].x,
        None if reached[1] is None else reached[1].x,
        max((r.residual for r in good), default=np.inf), nullity, certain, prediction.multiplicity,
    )  # fmt: skip
