"""All branches of a mechanism through a configuration: the branches of its factors, combined.

Factors without a common body are independent, and their branches are combined directly. Factors of connected
bodies that no second-order equation couples are combined too, but each combination is confirmed at a nearby
configuration.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, product

import numpy as np

from ...arrays import Floats, plain_sum
from ...kinematics.constraints import Constraints
from ...progress import part
from ...thresholds import MULTIPLE_RANK, TAYLOR_ZERO
from .continuation import close_near, nullity_at, stays_singular
from .germs import BranchList, Germ, analyse_factor
from .joining import join_sheets
from .reduced_system import IndependentPart, LocalSystem, find_factors, split_system, whole_factor

# a configuration is inexact if its neglected singular values exceed this fraction of the zero limit; the limit is
# then raised by these factors
INEXACT, RELAXED = 1e-2, (30.0, 1000.0)
# largest number of combinations of factors of connected bodies that are confirmed individually
MOST_CONFIRMED = 64
# coefficients of the series of branches that differ by less than this fraction are the same
SAME_TERM = 1e-6


@dataclass(frozen=True, eq=False)
class LocalBranch:
    """A branch in the coordinates of the mechanism.

    The fields are those of `Germ`, and contact: p if another branch with the same tangent separates from it like
    s^p, 0 if there is none; residual: of the joint equations at the nearby configurations.
    """

    dimension: int
    tangent: Floats
    direction: Floats
    ways: int
    group: tuple[tuple[int, int], ...]
    contact: float
    order: int
    ahead: Floats | None
    behind: Floats | None
    residual: float
    nullity: int
    certain: bool
    curved: bool


@dataclass(frozen=True, eq=False)
class Analysis:
    """The result of the analysis at a configuration.

    dof, dependences: dimensions of the null spaces of J and J^T; order: of the Taylor terms that decided;
    undecided: number of undecided directions; complete: whether all branches are listed; gap: power of s with
    which the joints open along the best direction that is not a branch, 0 if there is none; resting: factors
    without a branch; left_out: largest quantity treated as zero, zero: its limit, both as fractions of the model's
    unit of length.
    """

    dof: int
    dependences: int
    branches: tuple[LocalBranch, ...]
    count: int
    order: int
    undecided: int
    complete: bool
    gap: int
    resting: tuple[IndependentPart, ...]
    left_out: float
    zero: float


def analyse(joints: Constraints, q: Floats, most: int) -> Analysis:
    """Find at most `most` branches of the joint equations through q.

    A configuration located by a run is singular to a limited number of digits only. If this leaves something
    undecided, the limit for zero is raised. Errors of the configuration also lower the order with which branches
    with a common tangent separate, so the highest order that is decided counts.
    """
    systems = split_system(joints, q)
    found = _analyse(systems, most)
    inexact = found.left_out > TAYLOR_ZERO * INEXACT
    touches = _highest_contact(found) > 0.0
    if not inexact or not (found.undecided or touches):
        return found
    tried = [found]
    for more in RELAXED:
        tried.append(_analyse([replace(s, zero_margin=more) for s in systems], most))
        if not (tried[-1].undecided or touches):
            break
    # of equals the first
    return max((a for a in tried if not a.undecided), key=_highest_contact, default=found)


def _highest_contact(found: Analysis) -> float:
    return max((b.contact for b in found.branches), default=0.0)


def _analyse(systems: list[LocalSystem], most: int) -> Analysis:
    factors: list[IndependentPart] = []
    found: list[BranchList] = []
    for i, system in enumerate(systems):
        with part(i, len(systems)):
            parts = find_factors(system)
            results = _analyse_factors(parts, most)
            if len(parts) > 1 and not are_independent(parts, results):
                parts = [whole_factor(system)]
                results = _analyse_factors(parts, most)
        factors += parts
        found += results
    moving = [(i, f.germs) for i, f in enumerate(found) if f.germs]
    count = int(np.prod([float(len(g)) for _, g in moving])) if moving else 0
    combined = _combine(factors, moving)
    listed = list(islice(combined, min(most, sys.maxsize))) if moving else []
    undecided = int(plain_sum(f.undecided for f in found))
    return Analysis(
        dof=plain_sum(f.dof for f in factors),
        dependences=plain_sum(f.L.shape[1] for f in factors),
        branches=tuple(listed),
        count=count,
        order=max((f.order for f in found), default=1),
        undecided=undecided + plain_sum(not b.certain for b in listed if len(b.group) > 1),
        complete=not any(f.cut for f in found) and count <= most,
        gap=_gap(factors, found),
        resting=tuple(
            x
            for x, f in zip(factors, found, strict=True)
            if x.dof and not f.germs and not f.undecided
        ),
        left_out=max((s.misfit for s in systems), default=0.0),
        zero=max((s.zero for s in systems), default=0.0),
    )


def _gap(factors: list[IndependentPart], found: list[BranchList]) -> int:
    """The power with which joints open: along the best direction without a branch, or next to a single branch."""
    gap = max((f.gap for f in found), default=0)
    if gap:
        return gap
    for factor, f in zip(factors, found, strict=True):
        smooth = len(f.germs) == 1 and f.germs[0].ways == 2 and not f.germs[0].curved
        if smooth and f.germs[0].dimension < factor.dof:
            gap = max(gap, f.lowest)
    return gap


def _analyse_factors(factors: list[IndependentPart], most: int) -> list[BranchList]:
    out = []
    for i, factor in enumerate(factors):
        with part(i, len(factors)):
            found = analyse_factor(factor, most)
            join_sheets(found, factor)
            out.append(found)
    return out


def are_independent(factors: list[IndependentPart], found: list[BranchList]) -> bool:
    """Whether the factors of one system are uncoupled beyond second order.

    If they are, each factor stays as singular as it is here while the others move along their branches: the joints
    close with its degrees of freedom at rest, and J keeps them in its null space.
    """
    for factor in factors:
        others = [
            (f, x.germs) for f, x in zip(factors, found, strict=True) if f is not factor and x.germs
        ]
        if not factor.L.shape[1] or not others:
            continue
        # all others along their first branch, and each along every other one of its branches
        moves = [[(f, germs[0]) for f, germs in others]]
        moves += [[(f, g)] for f, germs in others for g in germs[1:]]
        if not all(_keeps_singular(factor, move) for move in moves[:MOST_CONFIRMED]):
            return False
    return True


def _keeps_singular(factor: IndependentPart, moving: list[tuple[IndependentPart, Germ]]) -> bool:
    """Whether J keeps the degrees of freedom of a factor in its null space while others move along branches."""
    system = factor.system
    total = system.split.N.shape[1]
    # factors that stay at rest keep their degrees of freedom too
    nullity = total - plain_sum(f.dof for f, _ in moving)
    start = np.zeros(len(system.columns))
    along = start
    for f, germ in moving:
        # on a branch of one factor, the null space of J contains the degrees of freedom of all other factors
        own = _own_nullity(f, germ)
        if germ.ahead is None or own < germ.dimension:
            return False
        start, along, nullity = start + germ.ahead, along + germ.direction, nullity + own
    return stays_singular(system, start, along, nullity)


def _combine(
    factors: list[IndependentPart], moving: list[tuple[int, list[Germ]]]
) -> Iterator[LocalBranch]:
    """All combinations of one branch per factor."""
    indices = [i for i, _ in moving]
    # J keeps the degrees of freedom of factors that stay at rest in its null space
    still = plain_sum(f.dof for i, f in enumerate(factors) if i not in indices)
    touching = [contacts(g) for _, g in moving]
    confirmed = 0
    for number in product(*(range(len(g)) for _, g in moving)):
        germs = [g[n] for (_, g), n in zip(moving, number, strict=True)]
        chosen = [factors[i] for i in indices]
        group = tuple((i, g.ray) for i, g in zip(indices, germs, strict=True))
        contact = max(t[n] for t, n in zip(touching, number, strict=True))
        branch = replace(_joined(chosen, germs, group, still), contact=contact)
        connected = len({id(f.system) for f in chosen}) < len(chosen)
        if connected and confirmed < MOST_CONFIRMED:
            confirmed += 1
            pairs = list(zip(chosen, germs, strict=True))
            branch = _confirm_joined(branch, pairs, factors)
        yield branch


def _own_nullity(factor: IndependentPart, germ: Germ) -> int:
    """The nullity of J along a branch of a factor, without the degrees of freedom of other factors."""
    return germ.nullity - (factor.system.split.N.shape[1] - factor.dof)


def _joined(
    factors: list[IndependentPart],
    germs: list[Germ],
    group: tuple[tuple[int, int], ...],
    still: int,
) -> LocalBranch:
    """One branch per factor; still: number of degrees of freedom of the factors at rest."""
    wide = [f.system.widen for f in factors]
    both = list(zip(wide, germs, strict=True))

    def total(pieces: list[Floats | None]) -> Floats | None:
        if any(x is None for x in pieces):
            return None
        return np.sum(
            [w(x) for (w, _), x in zip(both, pieces, strict=True) if x is not None], axis=0
        )

    tangent = np.column_stack([w(g.tangent) for w, g in both])
    direction = np.sum([w(g.direction) / np.abs(g.direction).max() for w, g in both], axis=0)
    return LocalBranch(
        dimension=plain_sum(g.dimension for g in germs),
        tangent=np.linalg.qr(tangent)[0] if len(germs) > 1 else tangent,
        direction=direction,
        ways=min(g.ways for g in germs),
        group=group,
        contact=0.0,
        order=max(g.order for g in germs),
        ahead=total([g.ahead for g in germs]),
        behind=total([g.behind for g in germs]),
        residual=max(g.residual for g in germs),
        nullity=still + plain_sum(_own_nullity(*pair) for pair in zip(factors, germs, strict=True)),
        certain=all(g.certain or len(germs) > 1 for g in germs),
        curved=any(g.curved for g in germs),
    )


def _confirm_joined(
    branch: LocalBranch, moving: list[tuple[IndependentPart, Germ]], factors: list[IndependentPart]
) -> LocalBranch:
    """Close the joints near the sum of the displacements of factors of connected bodies."""
    if branch.ahead is None or branch.behind is None:
        return replace(branch, certain=False)
    systems = {id(f.system): f.system for f, _ in moving}
    still = plain_sum(f.dof for f in factors if id(f.system) not in systems)
    ends, residual, certain, nullity = [], 0.0, True, 0
    for x in (branch.ahead, branch.behind):
        full, nullity = x.copy(), still
        for system in systems.values():
            start = x[system.columns]
            own = [(f, g) for f, g in moving if f.system is system]
            closed, left = _close_joined(system, start, own)
            nullity += nullity_at(system, closed)
            # the factors affect each other in second order
            certain &= bool(np.abs(closed - start).max() < 0.5 * np.abs(start).max())
            full[system.columns], residual = closed, max(residual, left)
            certain &= left < system.closed
        ends.append(full)
    return replace(
        branch,
        ahead=ends[0],
        behind=ends[1],
        residual=residual,
        nullity=nullity,
        certain=certain and nullity >= branch.dimension,
    )


def _close_joined(
    system: LocalSystem, start: Floats, moving: list[tuple[IndependentPart, Germ]]
) -> tuple[Floats, float]:
    """The closed configuration of a system some of whose factors move along branches, and its residual."""
    at_rest = system.split.N.shape[1] - plain_sum(f.dof for f, _ in moving)
    nullity = at_rest + plain_sum(_own_nullity(f, g) for f, g in moving)
    excess = nullity - plain_sum(g.dimension for _, g in moving)
    if excess > at_rest:
        # branches that stay singular
        closed, left = close_near(system, start, len(start) - nullity, excess)
        if left < system.closed:
            return closed, left
    values = np.linalg.svd(system.jacobian_at(start), compute_uv=False)
    return close_near(system, start, int(np.sum(values > MULTIPLE_RANK)))


def contacts(germs: list[Germ]) -> list[float]:
    """The power of s with which each branch separates from the closest one with the same tangent, or 0.

    Branches with the same first terms form clusters, which the next exponents divide.
    """
    out = [0.0] * len(germs)
    terms = [dict(g.terms) for g in germs]
    clusters = [[i for i, g in enumerate(germs) if g.ray == ray] for ray in {g.ray for g in germs}]
    for e in sorted({e for t in terms for e in t}):
        clusters = [x for c in clusters if len(c) > 1 for x in _divide(c, terms, e)]
        for cluster in clusters:
            if len(cluster) == 1:
                out[cluster[0]] = float(1 + Fraction(e))
    return out


def _divide(
    cluster: list[int], terms: list[dict[Fraction, Floats]], e: Fraction
) -> list[list[int]]:
    """The cluster divided by the coefficients of an exponent."""
    size = len(next(iter(terms[cluster[0]].values()), np.zeros(1)))
    none = np.full(size, np.inf)
    out: list[list[int]] = []
    firsts: list[Floats] = []
    for i in cluster:
        x = terms[i].get(e, none)
        limit = SAME_TERM * float(np.abs(x).max())
        same = next(
            (
                k
                for k, y in enumerate(firsts)
                if np.array_equal(x, y) or float(np.abs(x - y).max()) <= limit < np.inf
            ),
            None,
        )
        if same is None:
            out.append([i])
            firsts.append(x)
        else:
            out[same].append(i)
    return out
