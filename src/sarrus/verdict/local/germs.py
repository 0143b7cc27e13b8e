"""Branches through a configuration: those along each direction, confirmed at nearby configurations.

Along a direction, the reduced equations F(s, c) = 0 (`taylor.blow_up`) decide. If no equation is left, there is
one branch with all degrees of freedom c. If no c is left, there is a branch if F(s) vanishes up to the order. With
one c, the half-branches are those of Newton's polygon; with several, the roots of the edges with equal exponents.
The order is raised until everything is decided. Every branch is then continued to a nearby configuration on each
side, where the joint equations must close to rounding and J must have the rank of the branch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ...arrays import Floats, plain_sum
from ...progress import tell
from ...thresholds import BRANCH_CLOSED, BRANCH_RANK, MULTIPLE_RANK, SAME_BRANCH
from .cones import Family, same_space
from .edges import eliminate, find_half_branches_of_many
from .polygon import BY_NEIGHBOURS, Equation, HalfBranch, HalfBranches, Terms, find_half_branches
from .reduced_system import IndependentPart, LocalSystem
from .tangents import find_tangents
from .taylor import BlownUp, blow_up, monomials

# orders of F, tried in this sequence; only the first two if more than one c is left
ORDERS = (4, 8, 14)
# how far branches are continued, as fractions of the radius of convergence
DISTANCES = (0.2, 0.1, 0.05, 0.02, 0.01)
# if equations vanish only up to the order, branches are followed this far, in such steps: of the coordinate that
# moves most, in link lengths; a gap like s^16 is 1e-8 there
FAR, STEP = 0.3, 0.06
# Newton steps to a nearby configuration
CLOSING = 12
# largest number of families of directions tried
FAMILIES = 64


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


@dataclass
class BranchList:
    """The branches of a factor.

    order: the order that decided; undecided: directions for which the order is too low; cut: whether a limit
    excluded some branches; gap: highest order up to which a direction without a branch closes the joints; lowest:
    order of the terms that open the joints along most directions.
    """

    germs: list[Germ] = field(default_factory=list)
    order: int = 1
    undecided: int = 0
    cut: bool = False
    gap: int = 0
    lowest: int = 2


def analyse_factor(factor: IndependentPart, most: int) -> BranchList:
    """All branches of a factor."""
    m = factor.freedoms
    if not m:
        return BranchList()
    if not factor.L.shape[1]:
        return _free(factor)
    tangents = find_tangents(factor, ORDERS[1], most)
    out = BranchList(order=tangents.order, cut=tangents.cut, lowest=tangents.lowest)
    for number, a in enumerate(tangents.rays):
        tell(number, len(tangents.rays))
        _add(out, _along_ray(factor, a, number))
    _add_families(out, factor, tangents.families, len(tangents.rays))
    if not (tangents.rays or tangents.families):
        out.gap = max(out.gap, tangents.order)
    return out


def _add(out: BranchList, more: BranchList) -> None:
    out.germs += more.germs
    out.order = max(out.order, more.order)
    out.undecided += more.undecided
    out.gap = max(out.gap, more.gap)


def _free(factor: IndependentPart) -> BranchList:
    """The only branch if no equation is left: it has all degrees of freedom, by the implicit function theorem."""
    blown = blow_up(factor, np.random.default_rng(3).normal(size=factor.freedoms), 1)
    germ = _confirmed(factor.system, _predict(blown, 1.0, None), 0, 1, 2)
    return BranchList([replace(germ, certain=True)], 1)


def _add_families(
    out: BranchList, factor: IndependentPart, families: list[Family], first: int
) -> None:
    """Add the branches along one direction per family; several branches with one tangent space count once."""
    before = len(out.germs)
    for i, family in enumerate(families[:FAMILIES]):
        found = _along_ray(factor, family.direction, first + i)
        new = [g for g in found.germs if not _is_known(g, out.germs[before:])]
        if len(new) < len(found.germs):
            found = replace(found, germs=new, undecided=plain_sum(not g.certain for g in new))
        found.germs = [replace(g, curved=family.curved) for g in found.germs]
        _add(out, found)
    out.cut |= len(families) > FAMILIES


def _is_known(germ: Germ, known: list[Germ]) -> bool:
    """Whether a branch is a known one of several dimensions, or a curve on it where J has the same nullity."""
    for g in known:
        if g.dimension == 1:
            continue
        if same_space(germ.tangent, g.tangent):
            return True
        inside = g.tangent @ (g.tangent.T @ germ.tangent)
        if (
            germ.nullity >= g.dimension > germ.dimension
            and np.abs(inside - germ.tangent).max() < SAME_BRANCH
        ):
            return True
    return False


def _along_ray(factor: IndependentPart, a: Floats, number: int) -> BranchList:
    """The branches along one direction; the order is raised until all of them are decided."""
    found = BranchList()
    for order in ORDERS:
        blown = blow_up(factor, a, order)
        found = _branches_of(blown, number)
        # with many degrees of freedom left, a higher order is too expensive
        if not found.undecided or len(blown.F) - 1 < order:
            break
    return found


def _branches_of(blown: BlownUp, number: int) -> BranchList:
    system, order = blown.factor.system, len(blown.F) - 1
    nothing_left = not any(np.any(part) for part in blown.F)
    if nothing_left:
        germ = _confirmed(system, _predict(blown, 1.0, None), number, _reached(blown, order), 2)
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
    search = find_half_branches if blown.open == 1 else find_half_branches_of_many
    sides: list[HalfBranches] = []
    for sign in (1, -1):
        sides.append(search(_equations(blown, sign), order, system.zero))
    return _paired(blown, sides, number)


def _smooth(blown: BlownUp) -> tuple[Floats | None, int]:
    """The directions c of a smooth branch of several dimensions, (p, n), and the order that decides.

    This requires fewer equations than degrees of freedom. After division by powers of s the equations are linear
    in c, and independent.
    """
    equations = eliminate([e for e in _equations(blown, 1) if e], blown.factor.system.zero)
    if len(equations) >= blown.open:
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


def _reached(blown: BlownUp, order: int) -> int:
    return order + 2 if blown.F[0].shape[0] else 2


def _equations(blown: BlownUp, sign: int) -> list[Equation]:
    """F as exponents and coefficients; sign: -1 for the other side, s < 0."""
    out: list[Equation] = [{} for _ in range(blown.F[0].shape[0])]
    for d, part in enumerate(blown.F):
        for k, row in enumerate(monomials(1 + blown.open, d)):
            for e in np.flatnonzero(part[:, k]):
                key = (int(row[0]), *(int(j) for j in row[1:]))
                out[e][key] = float(part[e, k]) * sign ** int(row[0])
    return out


def _paired(blown: BlownUp, sides: list[HalfBranches], number: int) -> BranchList:
    """Half-branches joined to branches: odd ramification gives a two-sided branch, otherwise two form a cusp."""
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
            germ = _confirmed(blown.factor.system, _predict(blown, sign, half), number, order, ways)
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


@dataclass(frozen=True, eq=False)
class _Prediction:
    """Predicted displacements near a branch, at s > 0 (or s < 0 for the other end), and its tangent space.

    freedoms: number of degrees of freedom of the factor; follow: whether the branch has to be followed far,
    because some equations vanish only up to the order.
    """

    direction: Floats
    tangent: Floats
    freedoms: int
    at: Callable[[float], Floats]
    terms: Terms = ()
    multiplicity: int = 1
    follow: bool = False


def _predict(blown: BlownUp, sign: float, half: HalfBranch | None) -> _Prediction:
    w, freedoms = sign * blown.xi[0][:, 0], blown.factor.freedoms
    if half is None:
        tangent = np.column_stack([w, blown.C])
        none = np.zeros(blown.open)
        left_over = bool(blown.F[0].shape[0])
        return _Prediction(
            w,
            tangent,
            freedoms,
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
    return _Prediction(w, w[:, None], freedoms, at, half.terms, half.multiplicity, follow)


def _confirmed(
    system: LocalSystem, prediction: _Prediction, number: int, order: int, ways: int
) -> Germ:
    """The branch of a prediction, continued to nearby configurations on both sides."""
    reached = [_continue(system, prediction, side) for side in (1.0, -1.0)]
    tangent = np.linalg.qr(prediction.tangent)[0]
    dimension = tangent.shape[1]
    good = [r for r in reached if r is not None]
    nullity = min((r.nullity for r in good), default=dimension)
    certain = len(good) == 2
    others = system.split.N.shape[1] - prediction.freedoms
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


@dataclass(frozen=True, eq=False)
class _Reached:
    x: Floats
    residual: float
    nullity: int


def _continue(system: LocalSystem, prediction: _Prediction, side: float) -> _Reached | None:
    """A configuration on the branch, as far away as the prediction allows; None if there is none."""
    n, dimension = len(system.columns), prediction.tangent.shape[1]
    for distance in DISTANCES:
        x = prediction.at(side * distance)
        size = float(np.abs(x).max())
        if not size > 0.0:
            return None
        rank = n - dimension
        if prediction.multiplicity != 1 or system.split.N.shape[1] > prediction.freedoms:
            # degrees of freedom of other factors are at rest, and multiple roots keep the rank low
            values = np.linalg.svd(system.jacobian_at(x), compute_uv=False)
            rank = int(np.sum(values > MULTIPLE_RANK))
        closed, residual = close_near(system, x, rank)
        # the second limit bounds the share of the displacement due to terms beyond the order
        if residual > BRANCH_CLOSED or np.abs(closed - x).max() > 0.05 * distance * size:
            continue
        if prediction.follow:
            nullity = nullity_at(system, closed)
            far = _walk(system, closed, side * prediction.direction, nullity)
            if far is None:
                return None
            return _Reached(closed, max(residual, far), nullity)
        return _Reached(closed, residual, nullity_at(system, closed))
    return None


def _walk(system: LocalSystem, x: Floats, direction: Floats, nullity: int) -> float | None:
    """The largest residual along a branch up to FAR; None if it ends or the rank of J changes on the way.

    A gap that grows with a power beyond the order vanishes to rounding close by, but shows at this distance.
    """
    worst = 0.0
    while np.abs(x).max() < FAR:
        _, values, V = np.linalg.svd(system.jacobian_at(x))
        free = V[len(V) - nullity :]
        if len(V) - nullity > len(values) or np.any(values[len(V) - nullity :] > BRANCH_RANK):
            return None
        along = free.T @ (free @ direction)
        size = float(np.abs(along).max())
        if size < 0.1 * np.abs(direction).max():
            return None
        step = along * (STEP / size)
        closed, residual = close_near(system, x + step, len(V) - nullity)
        if residual > BRANCH_CLOSED or np.abs(closed - x - step).max() > 0.5 * STEP:
            return None
        worst, direction, x = max(worst, residual), along, closed
    return worst if nullity_at(system, x) == nullity else None


def stays_singular(system: LocalSystem, x: Floats, direction: Floats, nullity: int) -> bool:
    """Whether configurations near x and further along the direction close with J of that nullity."""
    closed, residual = close_near(system, x, len(system.columns) - nullity)
    if residual > BRANCH_CLOSED or np.abs(closed - x).max() > 0.5 * np.abs(x).max():
        return False
    if nullity_at(system, closed) != nullity:
        return False
    return _walk(system, closed, direction, nullity) is not None


def nullity_at(system: LocalSystem, x: Floats) -> int:
    """The dimension of the null space of J after a displacement."""
    values = np.linalg.svd(system.jacobian_at(x), compute_uv=False)
    missing = max(len(system.columns) - len(values), 0)
    return int(np.sum(values < BRANCH_RANK)) + missing


def close_near(system: LocalSystem, x: Floats, rank: int) -> tuple[Floats, float]:
    """The displacement near x that closes the joints, and the residual, by Newton steps of least norm.

    rank: of J on the branch. Off the branch, dependent equations raise the rank, and steps along them would lead
    away.
    """
    best, least = x, np.inf
    for _ in range(CLOSING):
        gaps = system.phi_at(x)
        size = float(np.abs(gaps).max(initial=0.0))
        if not size < least:
            break
        best, least = x, size
        if size < 1e-16:
            break
        U, values, V = np.linalg.svd(system.jacobian_at(x), full_matrices=False)
        x = x - V[:rank].T @ ((U[:, :rank].T @ gaps) / values[:rank])
    return best, least
