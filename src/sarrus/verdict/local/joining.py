"""Branches of several dimensions that are parts of one, united."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from ...arrays import Floats
from ...thresholds import SAME_BRANCH
from .cones import same_space
from .continuation import DISTANCES, close_near, nullity_at
from .germs import BranchList, Germ
from .reduced_system import IndependentPart
from .sheets import Part, basis_of, connect

# number of sections in which a curve between two branches of more than two dimensions is searched
SECTIONS = 6


def join_sheets(out: BranchList, factor: IndependentPart) -> None:
    """Unite the branches of several dimensions that are parts of one."""
    others = factor.system.split.N.shape[1] - factor.dof
    for d in sorted({g.dimension for g in out.germs if g.dimension > 1 and g.certain}):
        firm = [g for g in out.germs if g.dimension == d and g.certain and g.nullity == d + others]
        found = [g for g in firm if g.section is not None]
        if d == 2 and found:
            _unite(out, factor, d, firm, np.zeros((0, factor.dof)))
            continue
        if found:
            _unite_by_pairs(out, factor, d, firm)
            firm = [g for g in firm if any(g is x for x in out.germs)]
        _join_planes(out, factor, d, [g for g in firm if g.section is None and not g.curved])


def _join_planes(out: BranchList, factor: IndependentPart, d: int, germs: list[Germ]) -> None:
    """Unite planes of directions that terms of higher order join into one surface."""
    meeting = [
        (g, h, common)
        for i, g in enumerate(germs)
        for h in germs[:i]
        if (common := _common(g.tangent, h.tangent)).shape[1] == d - 1
    ]
    meeting = [x for x in meeting if not _is_intersection(factor, d, x[2])]
    if not meeting:
        return
    if factor.dof == d + 1:
        # hypersurfaces that do not intersect along a common direction are joined along it
        _join_pairs(out, germs, [(g, h) for g, h, _ in meeting])
        return
    same = [g for g in germs if any(g is x or g is y for x, y, _ in meeting)]
    basis = basis_of(factor)[0]
    conditions = np.random.default_rng(6).normal(size=(d - 2, factor.dof))
    parts = []
    for g in same:
        inside = np.linalg.svd(np.vstack([conditions @ basis.T @ g.tangent, np.zeros((1, d))]))[2]
        w = _away(g.tangent @ inside[d - 2 :].T, [c for x, y, c in meeting if g in (x, y)])
        assert g.ahead is not None
        size = 0.5 * float(np.linalg.norm(basis.T @ g.ahead))
        parts.append(Part([size * w, -size * w]))
    _unite(out, factor, d, same, conditions, parts)


def _away(space: Floats, others: list[Floats]) -> Floats:
    """A direction of a space far from the other spaces: the best of some random ones."""
    w = space @ np.random.default_rng(9).normal(size=(space.shape[1], 20))
    w /= np.linalg.norm(w, axis=0)
    near = np.max([np.linalg.norm(o.T @ w, axis=0) for o in others], axis=0)
    return np.asarray(w[:, np.argmin(near)])


def _common(a: Floats, b: Floats) -> Floats:
    """An orthonormal basis of the intersection of two spaces."""
    U, values, _ = np.linalg.svd(a.T @ b)
    return np.asarray(a @ U[:, : int(np.sum(values > 1.0 - SAME_BRANCH**2))])


def _is_intersection(factor: IndependentPart, d: int, common: Floats) -> bool:
    """Whether two branches intersect along a direction of both tangent spaces: there J loses rank."""
    system = factor.system
    others = system.split.N.shape[1] - factor.dof
    w = common @ np.random.default_rng(8).normal(size=common.shape[1])
    for side in (1.0, -1.0):
        x = w * (side * DISTANCES[1] / np.abs(w).max())
        closed, residual = close_near(system, x, len(x) - d - others - 1, shaky=others + 2)
        near = np.abs(closed - x).max() < 0.5 * np.abs(x).max()
        if residual > system.closed or not near or nullity_at(system, closed) < d + others + 1:
            return False
    return True


def _join_pairs(out: BranchList, germs: list[Germ], pairs: list[tuple[Germ, Germ]]) -> None:
    """Replace groups of branches that pairs connect by one each."""
    group = list(range(len(germs)))
    for g, h in pairs:
        i, j = (group[next(k for k, y in enumerate(germs) if y is x)] for x in (g, h))
        group = [i if n == j else n for n in group]
    for label in sorted(set(group)):
        _keep_one(out, [g for g, n in zip(germs, group, strict=True) if n == label])


def _keep_one(out: BranchList, group: list[Germ]) -> None:
    """Replace several parts of a branch by one."""
    if len(group) < 2:
        return
    first = group[0]
    planes = any(not same_space(first.tangent, g.tangent) for g in group)
    whole = replace(first, ways=max(g.ways for g in group), curved=first.curved or planes)
    kept = [g for g in out.germs if not any(g is x for x in group[1:])]
    out.germs = [whole if g is first else g for g in kept]


def _unite_by_pairs(out: BranchList, factor: IndependentPart, d: int, germs: list[Germ]) -> None:
    """Unite branches of more than two dimensions that curves connect.

    A curve needs d - 2 conditions. They are chosen at random among those that a configuration of either branch
    satisfies, several times: a section of a connected branch may consist of several curves.
    """
    basis, rng = basis_of(factor)[0], np.random.default_rng(6)
    labels = list(range(len(germs)))
    for i, j in combinations(range(len(germs)), 2):
        for attempt in range(SECTIONS):
            if labels[i] == labels[j]:
                break
            ends = [[x for x in (g.ahead, g.behind) if x is not None] for g in (germs[i], germs[j])]
            parts = [Part([x[attempt % len(x)]]) for x in ends]
            rows = np.array([basis.T @ p.points[0] for p in parts])
            across = np.linalg.svd(rows)[2][2:]
            conditions = rng.normal(size=(d - 2, len(across))) @ across
            if connect(factor, parts, conditions) and parts[0].label == parts[1].label:
                labels = [labels[i] if n == labels[j] else n for n in labels]
    for label in sorted(set(labels)):
        _keep_one(out, [g for g, n in zip(germs, labels, strict=True) if n == label])


def _unite(
    out: BranchList, factor: IndependentPart, d: int, same: list[Germ], conditions: Floats,
    parts: list[Part] | None = None,
) -> None:  # fmt: skip
    """Replace the branches that curves connect by one each; parts: points on them, if not those found before."""
    if len(same) < 2:
        return
    if parts is None:
        parts = [Part([x for x in (g.ahead, g.behind) if x is not None]) for g in same]
    if not connect(factor, parts, conditions):
        out.undecided += 1
        return
    for label in sorted({p.label for p in parts}):
        _keep_one(out, [g for g, p in zip(same, parts, strict=True) if p.label == label])
