"""The equations of a tree as symbolic expressions, for SymPy and CasADi.

    T = sum 1/2 m v.v + 1/2 w.I w,   p = dT/du,   M = dp/du
    M a = Q - (dp/dq) u + dT/dq + J^T lambda,     J a = - d(J u)/dq u - 2 b J u - b^2 phi

v, w: velocity of the centre of mass and angular velocity of a link, linear in the rates u; Q: generalised forces
of gravity and loads, from the velocities of their points of application; phi: residuals of the loop-closing points
(two coordinates each in the plane), then of couplings, then of drives. A ball is modelled as three hinges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Floats
from ..kinematics.configuration import skew
from ..mechanism import MechanismError
from .tree import GROUND, Tree, TreeJoint

Vector = list[Any]


@dataclass(frozen=True)
class Algebra:
    """The operations of a symbolic program: functions of expressions, and Jacobians of lists, as rows."""

    sin: Callable[[Any], Any]
    cos: Callable[[Any], Any]
    sqrt: Callable[[Any], Any]
    jacobian: Callable[[Vector, Vector], list[Vector]]


@dataclass(frozen=True)
class Formulas:
    """M (rows), right-hand side f, J (rows), the term gamma of J a = gamma, and phi and its rate."""

    M: list[Vector]
    f: Vector
    J: list[Vector]
    gamma: Vector
    phi: Vector
    rate: Vector


def split_balls(tree: Tree) -> Tree:
    """Return the tree with three hinges about x, y, z for each ball; the second must not reach a right angle."""
    links, count, at = [], 0, {}
    for link in tree.links:
        steps: list[TreeJoint] = []
        for s in link.steps:
            axes = np.eye(3) if s.kind == "ball" else [s.axis]
            at[s.v] = count
            for axis in axes:
                steps.append(
                    TreeJoint("slide" if s.kind == "slide" else "hinge", axis, count, count)
                )
                count += 1
        links.append(replace(link, steps=steps))
    turns = [replace(t, q=at[t.v], v=at[t.v]) for t in tree.turns]
    damped = [replace(d, v=at[d.v]) for d in tree.damped]
    driven = [replace(d, q=at[d.v], v=at[d.v]) for d in tree.driven]
    tied = [replace(t, q=_both(at, t.v), v=_both(at, t.v)) for t in tree.tied]
    spinning = []
    for r in tree.spinning:
        if len(r.v) > 1:
            raise MechanismError(
                f"rotor '{r.name}' of '{tree.name}' acts in a ball joint, which is modelled as three "
                "hinges; this is not supported"
            )
        spinning.append(replace(r, v=(at[r.v[0]],)))
    return replace(
        tree,
        links=links,
        turns=turns,
        damped=damped,
        driven=driven,
        tied=tied,
        spinning=spinning,
    )


def _both(at: dict[int, int], v: tuple[int, int]) -> tuple[int, int]:
    return at[v[0]], at[v[1]]


class _Frames:
    """Positions, rotations, velocities and angular velocities of all links, as expressions of q and u."""

    def __init__(self, tree: Tree, algebra: Algebra, q: Vector, u: Vector) -> None:
        self.tree, self.algebra = tree, algebra
        self.turns: list[list[Vector]] = []
        self.places: list[Vector] = []
        self.spins: list[Vector] = []
        self.speeds: list[Vector] = []
        for link in tree.links:
            above = link.parent
            base = np.zeros(3) if above == GROUND else tree.links[above].origin
            R = (
                [list(map(float, row)) for row in np.eye(3)]
                if above == GROUND
                else self.turns[above]
            )
            w: Vector = [0.0] * 3 if above == GROUND else self.spins[above]
            x, dx = self.point(above, link.origin - base)
            for s in link.steps:
                axis = _times(R, s.axis.tolist())
                if s.kind == "hinge":
                    w = _plus(w, [a * u[s.v] for a in axis])
                    R = _product(R, self._turn(s.axis, q[s.q]))
                else:
                    moved = [a * q[s.q] for a in axis]
                    x = _plus(x, moved)
                    dx = _plus(_plus(dx, [a * u[s.v] for a in axis]), _cross(w, moved))
            self.turns.append(R)
            self.places.append(x)
            self.spins.append(w)
            self.speeds.append(dx)

    def point(self, link: int, local: Floats) -> tuple[Vector, Vector]:
        """Return the position and velocity of a point given in the link's frame."""
        if link == GROUND:
            return [float(v) for v in local], [0.0] * 3
        arm = _times(self.turns[link], local.tolist())
        return _plus(self.places[link], arm), _plus(
            self.speeds[link], _cross(self.spins[link], arm)
        )

    def _turn(self, axis: Floats, angle: Any) -> list[Vector]:
        s, c = self.algebra.sin(angle), self.algebra.cos(angle)
        K = skew(axis)
        K2 = K @ K
        return [
            [float(i == j) + float(K[i, j]) * s + float(K2[i, j]) * (1.0 - c) for j in range(3)]
            for i in range(3)
        ]


def make_formulas(tree: Tree, algebra: Algebra, q: Vector, u: Vector) -> Formulas:
    """Derive the equations of a tree of hinges and sliders."""
    frames = _Frames(tree, algebra, q, u)
    kinetic: Any = 0.0
    acting: list[tuple[Vector, Vector]] = []
    for i, link in enumerate(tree.links):
        _, v = frames.point(i, link.arm)
        w = _times(_transposed(frames.turns[i]), frames.spins[i])
        kinetic = kinetic + 0.5 * link.mass * _dot(v, v)
        kinetic = kinetic + 0.5 * _dot(w, _times(link.inertia.tolist(), w))
        acting.append((v, [link.mass * float(g) for g in tree.gravity]))
    for r in tree.spinning:
        kinetic = kinetic + 0.5 * r.inertia * u[r.v[0]] * u[r.v[0]]
    acting += _loads(tree, frames, q, u)
    p = algebra.jacobian([kinetic], u)[0]
    M = algebra.jacobian(p, u)
    f = _plus(algebra.jacobian([kinetic], q)[0], [-_dot(row, u) for row in algebra.jacobian(p, q)])
    for v, force in acting:
        by = algebra.jacobian(v, u)
        f = _plus(f, [_dot([row[k] for row in by], force) for k in range(len(u))])
    phi: Vector = []
    rate: Vector = []
    for c in tree.closures:
        (a, da), (b, db) = (frames.point(k, tree.place(k, c.place)) for k in (c.first, c.second))
        for k in range(2 if tree.planar else 3):
            phi.append(a[k] - b[k])
            rate.append(da[k] - db[k])
    for t in tree.tied:
        phi.append(q[t.q[0]] - t.ratio * q[t.q[1]])
        rate.append(u[t.v[0]] - t.ratio * u[t.v[1]])
    for d in tree.driven:
        # The caller subtracts the prescribed motion, which is not an expression of q and u.
        phi.append(q[d.q])
        rate.append(u[d.v])
    J = algebra.jacobian(rate, u) if rate else []
    gamma = [-_dot(row, u) for row in algebra.jacobian(rate, q)] if rate else []
    return Formulas(M, f, J, gamma, phi, rate)


def _loads(tree: Tree, frames: _Frames, q: Vector, u: Vector) -> list[tuple[Vector, Vector]]:
    """Return pairs of velocities and the forces along them."""
    out: list[tuple[Vector, Vector]] = []
    for t in tree.turns:
        torque = t.torque + t.stiffness * t.free - t.stiffness * q[t.q] - t.damping * u[t.v]
        out.append(([u[t.v]], [torque]))
    for d in tree.damped:
        # Of the steps of its link, a ball is the only one that turns.
        link = next(i for i, own in enumerate(tree.links) if any(s.v == d.v for s in own.steps))
        above = tree.links[link].parent
        spin = frames.spins[link]
        spin = spin if above == GROUND else _plus(spin, frames.spins[above], -1.0)
        out.append((spin, [-d.damping * w for w in spin]))
    for p in tree.pulls:
        (a, da), (b, db) = (
            frames.point(k, tree.place(k, at)) for k, at in zip(p.links, p.places, strict=True)
        )
        arm, moving = _plus(b, a, -1.0), _plus(db, da, -1.0)
        length = frames.algebra.sqrt(_dot(arm, arm))
        pull = p.stiffness * (length - p.free) + p.damping * _dot(arm, moving) / length + p.preload
        out.append((moving, [-pull * x / length for x in arm]))
    for f in tree.forces:
        if f.link == GROUND:
            continue
        R = frames.turns[f.link]
        _, v = frames.point(f.link, tree.place(f.link, f.place))
        for rate, vector in ((v, f.force), (frames.spins[f.link], f.torque)):
            along = vector.tolist()
            if any(along):
                out.append((rate, _times(R, along) if f.turns else along))
    return out


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    # Exact zeros are skipped: they are most of the terms of planar mechanisms.
    total: Any = 0.0
    for x, y in zip(a, b, strict=True):
        if not (_zero(x) or _zero(y)):
            total = total + x * y
    return total


def _zero(x: Any) -> bool:
    return isinstance(x, int | float) and x == 0.0


def _times(rows: Sequence[Sequence[Any]], x: Sequence[Any]) -> Vector:
    return [_dot(row, x) for row in rows]


def _product(a: list[Vector], b: list[Vector]) -> list[Vector]:
    columns = _transposed(b)
    return [[_dot(row, column) for column in columns] for row in a]


def _transposed(a: list[Vector]) -> list[Vector]:
    return [list(column) for column in zip(*a, strict=True)]


def _plus(a: Sequence[Any], b: Sequence[Any], sign: float = 1.0) -> Vector:
    return [x + (y if sign == 1.0 else sign * y) for x, y in zip(a, b, strict=True)]


def _cross(a: Sequence[Any], b: Sequence[Any]) -> Vector:
    pairs = ((1, 2), (2, 0), (0, 1))
    return [_dot([a[i], a[j]], [b[j], -1.0 * b[i] if not _zero(b[i]) else 0.0]) for i, j in pairs]
