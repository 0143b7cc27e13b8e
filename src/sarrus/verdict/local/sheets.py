"""Which parts of branches of several dimensions belong together: curves traced around the configuration.

The configurations of a branch of dimension d at a small distance r form its link, of dimension d - 1. With d - 2
linear conditions it is a curve:

    Phi(x) = 0,      |a| = r,      A a = 0,      a = N^T x.

It is traced by steps along its tangent. Where two branches intersect, it is continued straight on: they stay
separate. Where higher-order terms join two planes of directions into one surface (x1^2 - x2^2 + x3^3 = 0), or two
sheets at a fold (x1^2 = x2^3 + x3^3), the curve leads from one to the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ...arrays import Floats
from .reduced_system import IndependentPart, LocalSystem

# lengths of steps, as fractions of the distance: the largest, and the smallest; number of steps
LONGEST, SHORTEST, STEPS = 0.06, 1e-3, 2500
# a step across an intersection, in shortest steps
ACROSS = 4.0
# the least cosine between tangents before and after a step; the largest correction of a step, as a fraction of it
TURNED, CORRECTED = 0.9, 0.3
# Newton steps to a configuration on the curve; factor by which the distance shrinks in one step towards the
# configuration
CLOSING, INWARDS = 8, 0.85
# points of the curve closer than this fraction of the distance are the same
SAME_POINT = 1e-5
# steps along the curve to its point nearest to another
APPROACHES = 4


@dataclass(frozen=True, eq=False)
class _Point:
    """A point of the curve: displacement, unit tangent, and the least nonzero singular value of its equations."""

    x: Floats
    tangent: Floats
    firmness: float


@dataclass(frozen=True, eq=False)
class LinkCurve:
    """The curve at a distance: orthonormal basis of the degrees of freedom, conditions on them, rest of others."""

    system: LocalSystem
    basis: Floats
    conditions: Floats
    rest: Floats
    radius: float

    def solve(self, x: Floats) -> _Point | None:
        """The point of the curve near x; None if Newton steps of least norm do not reach one."""
        n = len(x)
        linear = np.vstack([self.conditions @ self.basis.T, self.rest])
        for _ in range(CLOSING):
            a = self.basis.T @ x
            gaps = np.concatenate(
                [self.system.phi_at(x), [0.5 * (a @ a / self.radius - self.radius)], linear @ x]
            )
            rows = np.vstack(
                [self.system.jacobian_at(x), (self.basis @ a)[None] / self.radius, linear]
            )
            U, values, V = np.linalg.svd(rows)
            if len(values) < n - 1 or not values[n - 2] > 0.0:
                return None
            if np.abs(gaps).max() < self.system.closed:
                return _Point(x, V[n - 1], float(values[n - 2]))
            x = x - V[: n - 1].T @ ((U[:, : n - 1].T @ gaps) / values[: n - 1])
        return None

    def trace(self, start: _Point, targets: list[Floats]) -> set[int] | None:
        """Numbers of the targets that the closed curve through a point passes; None if it was lost."""
        passed: set[int] = set()
        here, h, slope = start, LONGEST * self.radius, 0.0
        shortest = SHORTEST * self.radius
        for count in range(STEPS):
            # the least value falls to zero at an intersection: short steps up to it, and one across
            left = 0.5 * here.firmness / -slope if slope < 0.0 else np.inf
            wanted = min(1.5 * h, LONGEST * self.radius, left)
            new = self._step(here, max(wanted, shortest))
            if new is None or wanted < shortest:
                new = self._step(here, ACROSS * shortest) or new
            if new is None:
                return None
            h = float(np.linalg.norm(new.x - here.x))
            slope = (new.firmness - here.firmness) / max(h, 1e-300)
            passed |= {i for i, y in enumerate(targets) if self._passes(here, h, y)}
            if count > 2 and self._passes(here, h, start.x) and here.tangent @ start.tangent > 0.0:
                return passed
            here = new
        return None

    def _step(self, here: _Point, h: float) -> _Point | None:
        """The point about h further along the curve; steps are halved until the curve is followed."""
        while h > 0.4 * SHORTEST * self.radius:
            new = self.solve(here.x + h * here.tangent)
            if new is not None:
                turn = float(new.tangent @ here.tangent)
                near = np.linalg.norm(new.x - here.x - h * here.tangent) < CORRECTED * h
                if near and abs(turn) > TURNED:
                    return replace(new, tangent=np.copysign(1.0, turn) * new.tangent)
            h *= 0.5
        return None

    def _passes(self, here: _Point, h: float, y: Floats) -> bool:
        """Whether a point lies on the curve between a point and the next one, at a distance h."""
        along = float(here.tangent @ (y - here.x))
        if not -0.1 * h <= along <= 1.1 * h:
            return False
        if np.linalg.norm(y - here.x - along * here.tangent) > h:
            return False
        there: _Point | None = here
        for _ in range(APPROACHES):
            if there is None:
                return False
            # the point of the curve nearest to y
            there = self.solve(there.x + (there.tangent @ (y - there.x)) * there.tangent)
        return there is not None and float(np.abs(there.x - y).max()) < SAME_POINT * self.radius


@dataclass
class Part:
    """A part of a branch: points on it, and the other parts that turned out to be the same branch."""

    points: list[Floats]
    label: int = 0
    on_link: list[_Point] = field(default_factory=list)


def connect(factor: IndependentPart, parts: list[Part], conditions: Floats) -> bool:
    """Label the parts (of one dimension) by the branch that they belong to; whether all curves could be traced.

    conditions: dimension - 2 linear conditions on the coefficients of the orthonormal basis of the degrees of
    freedom (`basis_of`), which all points satisfy.
    """
    basis, rest = basis_of(factor)
    radius = min(float(np.linalg.norm(basis.T @ x)) for p in parts for x in p.points)
    link = LinkCurve(factor.system, basis, conditions, rest, radius)
    for number, p in enumerate(parts):
        p.label = number
        p.on_link = [y for x in p.points if (y := _pull(link, x)) is not None]
        if len(p.on_link) < len(p.points):
            return False
    targets = [(number, y.x) for number, p in enumerate(parts) for y in p.on_link]
    seen: set[int] = set()
    at = 0
    for p in parts:
        for y in p.on_link:
            if at not in seen:
                passed = link.trace(y, [x for _, x in targets])
                if passed is None:
                    return False
                seen |= passed | {at}
                for i in passed:
                    _unite(parts, p.label, parts[targets[i][0]].label)
            at += 1
    return True


def _unite(parts: list[Part], first: int, second: int) -> None:
    for p in parts:
        p.label = min(first, second) if p.label in (first, second) else p.label


def basis_of(factor: IndependentPart) -> tuple[Floats, Floats]:
    """An orthonormal basis of the degrees of freedom of a factor, and rows that keep those of others at rest."""
    basis = np.linalg.qr(factor.N)[0]
    whole = factor.system.split.N
    others = whole - basis @ (basis.T @ whole)
    U = np.linalg.svd(others, full_matrices=False)[0]
    return basis, U[:, : whole.shape[1] - basis.shape[1]].T


def _pull(link: LinkCurve, x: Floats) -> _Point | None:
    """The point at the distance of the link on the same sheet as x, which is further away."""
    size = float(np.linalg.norm(link.basis.T @ x))
    while size > link.radius * (1.0 + 1e-12):
        new = max(size * INWARDS, link.radius)
        found = replace(link, radius=new).solve(x * (new / size))
        if found is None:
            return None
        x, size = found.x, new
    return link.solve(x)
