"""How many motions leave a singular position along one direction, and to which side.

Where J loses rank, some equations say nothing in first order. On the section w . x = h at a small distance along
the direction w, all other equations are solved for the displacement x, and what is left of those few is

    f(h, c),      c: the displacement along the direction that the second order does not hold, over h;

motions are its roots. f is a polynomial of c to rounding (25 Chebyshev nodes), so all its roots are found, also
pairs that lie close together: motions that touch part like powers of h, and the two ways of a cusp are a pair of
roots on one side of the position and none on the other. Where the second order holds all directions across w,
there is no c, and f must only vanish.

A section is looked at in double precision, at distances at which motions have parted by more than rounding: what
is said holds there, and what parts later still is not told apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from ..arrays import Floats
from ..kinematics.constraints import Constraints
from ..thresholds import (
    BRANCH_ROOT,
    CLOSED_NEARBY,
    HALF_POWER,
    NO_COMBINATION,
    SAME_BRANCH,
    SAME_ROOT,
)

# distances of the sections: of the coordinate that moves most, in lengths of a typical link
DISTANCES = (0.1, 0.05, 0.025)
# roots are looked for up to this angle from the direction
REACH = 0.3
NODES = 25
# of the search for common directions of quadrics
STARTS = 300
# of them so many where a family is known, and how close to it they are told apart from it
OUTSIDE = 60
BESIDE = 1e-4
ITERATIONS = 60
NEWTON = 30
# corrections below this share of a link end Newton's iterations
SETTLED = 1e-14


@dataclass(frozen=True, eq=False)
class Sections:
    """What was found along a direction.

    ahead, behind: displacements of the motions on the farthest section to either side; agree: whether the two
    farthest sections show as many; touching: largest distance between motions on the farthest section that part
    more slowly than the section goes away, 0 if there is one only; cusps: whether pairs part like a root.
    """

    ahead: tuple[Floats, ...]
    behind: tuple[Floats, ...]
    agree: bool
    touching: float
    cusps: bool

    @property
    def motions(self) -> list[tuple[Floats, int]]:
        """A displacement on each motion, and how many ways it goes on: a cusp has one, and comes in pairs."""
        if self.cusps:
            return [(x, 1) for side in (self.ahead, self.behind) for x in side[::2]]
        few, many = sorted((self.ahead, self.behind), key=len)
        return [*((x, 2) for x in many[: len(few)]), *((x, 1) for x in many[len(few) :: 2])]


class LocalMotions:
    """The constraints around a singular position q, split by the singular vectors of J.

    N: basis of the velocities that J allows, (nq, m); U: of the combinations of equations that vanish in J. Values
    of J that count as zero are zero here, and so is what q itself is off: the position is taken as singular.
    """

    def __init__(self, joints: Constraints, q: Floats) -> None:
        self.joints, self.q = joints, q
        U, values, V = np.linalg.svd(joints.jacobian(q))
        rank = int(np.sum(values > NO_COMBINATION))
        self.N, self.U = V[rank:].T, U[:, rank:]
        self.left_out = float(values[rank:].max(initial=0.0))
        self._J = (U[:, :rank] * values[:rank]) @ V[:rank]
        self._J_start = joints.jacobian(q)
        # a structure has none, of no size
        self.bends = np.array([joints.curvature(u, self.N) for u in self.U.T]).reshape(
            self.U.shape[1], self.freedoms, self.freedoms
        )

    @property
    def freedoms(self) -> int:
        """Velocities that the joints allow here."""
        return self.N.shape[1]

    def cut(self, a: Floats) -> Sections | None:
        """Motions along the direction N a, a unit vector; None if the second order leaves too much open."""
        across = np.linalg.svd(a[None])[2][1:].T
        left, right, held = np.eye(len(self.bends)), np.eye(len(a) - 1), 0
        if left.size and right.size:
            left, slopes, right = np.linalg.svd(2.0 * self.bends @ a @ across)
            held = int(np.sum(slopes > SAME_BRANCH))
        open_ = len(a) - 1 - held
        if open_ > 1:
            return None
        rows = np.column_stack([self.N @ a, self.N @ across @ right[held:].T])
        rest = self.U @ left[:, held:]
        size = float(np.abs(rows[:, 0]).max())
        found = []
        for distance in DISTANCES[:2]:
            sides = []
            for sign in (1.0, -1.0):
                h = sign * distance / size
                sides.append(self._roots(rows, rest, h) if open_ else self._point(rows, rest, h))
            found.append(sides)
        (ahead, behind), (ahead_near, behind_near) = found
        agree = (len(ahead), len(behind)) == (len(ahead_near), len(behind_near))
        touching = max(_spread(ahead), _spread(behind))
        uneven = len(ahead) != len(behind)
        powers = [_power(*pair) for pair in ((ahead, ahead_near), (behind, behind_near))]
        # motions part like whole powers of the distance, the ways of a cusp like half ones
        half = np.floor(powers[0]) + 0.5
        cusps = agree and not uneven and len(ahead) == 2
        cusps = cusps and all(abs(p - half) < HALF_POWER for p in powers)
        return Sections(tuple(ahead), tuple(behind), agree, touching, cusps)

    def _point(self, rows: Floats, rest: Floats, h: float) -> list[Floats]:
        """The one motion on a section, if the equations that are left over hold there."""
        found = self._solve(rows, rest, np.array([h]))
        return (
            [] if found is None or np.abs(found[1]).max(initial=0.0) > self._zero(h) else [found[0]]
        )

    def _roots(self, rows: Floats, rest: Floats, h: float) -> list[Floats]:
        """The motions on a section, in the order of c."""
        nodes = np.cos((np.arange(NODES) + 0.5) * np.pi / NODES)
        solved = [self._solve(rows, rest, np.array([h, h * REACH * c])) for c in nodes]
        values = [found[1] for found in solved if found is not None]
        if len(values) < NODES:
            return []
        f = np.array(values)
        # where more equations are left over than one, the largest combination gives the roots
        combination = np.linalg.svd(f, full_matrices=False)[2][0]
        roots = chebyshev.chebroots(chebyshev.chebfit(nodes, f @ combination, NODES - 1))
        real = [r for r in roots if abs(r.imag) * REACH < SAME_ROOT and abs(r.real) < 1.0]
        out: list[Floats] = []
        last = -np.inf
        for c in sorted(float(r.real) for r in real):
            if REACH * (c - last) < 2.0 * SAME_ROOT:
                # a double root: one motion, held by equations that are squares
                continue
            found = self._solve(rows, rest, np.array([h, h * REACH * c]))
            if found is not None and np.abs(found[1]).max() < self._zero(h):
                last = c
                out.append(found[0])
        return out

    def _zero(self, h: float) -> float:
        """What counts as closed at a distance: positions on a run are not quite singular nor closed."""
        return CLOSED_NEARBY + 10.0 * abs(h) * self.left_out

    def _solve(self, rows: Floats, rest: Floats, wanted: Floats) -> tuple[Floats, Floats] | None:
        """The displacement x with rows . x = wanted that meets all but the combinations `rest`, and these."""
        n, k = len(self.q), rest.shape[1]
        x, left = rows @ wanted, np.zeros(k)
        K = np.zeros((len(rest) + len(wanted), n + k))
        K[: len(rest), n:] = rest
        K[len(rest) :, :n] = rows.T
        for _ in range(NEWTON):
            K[: len(rest), :n] = self._J + (self.joints.jacobian(self.q + x) - self._J_start)
            miss = self._J @ x + 0.5 * self.joints.bend(x) + rest @ left
            try:
                step = np.linalg.solve(K, np.concatenate([-miss, wanted - rows.T @ x]))
            except np.linalg.LinAlgError:
                return None
            x, left = x + step[:n], left + step[n:]
            if np.abs(step).max() < SETTLED:
                return (x, left) if np.abs(x).max() < 1.0 else None
        return None


def independent(H: Floats, zero: float = NO_COMBINATION) -> Floats:
    """Independent symmetric matrices of unit size that span the same quadrics a^T H a, (n, m, m)."""
    if not H.size:
        return H
    _, values, V = np.linalg.svd(H.reshape(len(H), -1), full_matrices=False)
    return np.asarray(V[values > zero].reshape(-1, *H.shape[1:]))


def common_directions(H: Floats, m: int) -> tuple[Floats, Floats]:
    """Unit a with a^T H_i a = 0 for all i, up to sign: simple roots, and others.

    A large family draws nearly all starts: once its span is known, further ones look outside of it.
    """
    a = np.random.default_rng(7).normal(size=(STARTS, m))
    found = _roots(H, a, np.eye(m))
    while len(found):
        values, V = np.linalg.svd(found)[1:]
        outside = V[int(np.sum(values > SAME_BRANCH)) :]
        more = _roots(H, a[:OUTSIDE], outside) if len(outside) else found[:0]
        more = more[np.linalg.norm(more @ outside.T, axis=1) > SAME_BRANCH]
        if not len(more):
            break
        found = np.concatenate([found, more])
    kinds: tuple[list[Floats], list[Floats]] = ([], [])
    for x in found:
        known = [*kinds[0], *kinds[1]]
        if any(min(np.abs(x - y).max(), np.abs(x + y).max()) < SAME_BRANCH for y in known):
            continue
        slopes = np.linalg.svd(np.concatenate([2.0 * H @ x, x[None]]), compute_uv=False)
        kinds[0 if len(slopes) == m and slopes[-1] > SAME_BRANCH else 1].append(x)
    return np.array(kinds[0]).reshape(-1, m), np.array(kinds[1]).reshape(-1, m)


def _roots(H: Floats, a: Floats, outside: Floats) -> Floats:
    """Roots of the quadrics over the part of a that is outside of known ones, the best first; a: starts.

    outside: rows of an orthonormal basis; with all of them it divides by one.
    """
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    for _ in range(ITERATIONS):
        part = a @ outside.T
        size = np.maximum(np.linalg.norm(part, axis=1), BESIDE)
        Ha = H @ a.T
        Ha, F = np.moveaxis(Ha, 2, 0), np.einsum("ias,sa->si", Ha, a) / size[:, None]
        # steps along the sphere: the direction a itself is held by a row of its own
        slopes = 2.0 * Ha / size[:, None, None]
        slopes -= F[:, :, None] * (part @ outside / size[:, None] ** 2)[:, None, :]
        A = np.concatenate([slopes, a[:, None, :]], axis=1)
        r = np.concatenate([F, np.zeros((len(a), 1))], axis=1)
        # a double root makes the matrix singular: the floor keeps the steps along it
        damping = (np.minimum(np.einsum("si,si->s", F, F), 1e-2) + 1e-14) / size**2
        normal = np.swapaxes(A, 1, 2) @ A + damping[:, None, None] * np.eye(a.shape[1])
        a = a - np.linalg.solve(normal, np.swapaxes(A, 1, 2) @ r[:, :, None])[:, :, 0]
        a /= np.linalg.norm(a, axis=1, keepdims=True)
    F = np.abs(np.einsum("sa,iab,sb->si", a, H, a)).max(axis=1, initial=0.0)
    return np.asarray(a[np.argsort(F)][: int(np.sum(F < BRANCH_ROOT))])


def _spread(places: list[Floats]) -> float:
    """The largest distance between some displacements."""
    return max((float(np.abs(x - places[0]).max()) for x in places), default=0.0)


def _power(far: list[Floats], near: list[Floats]) -> float:
    """The power of the distance with which motions part; 0 where there are no two."""
    if len(far) < 2 or len(near) < 2:
        return 0.0
    return float(np.log(_spread(far) / _spread(near)) / np.log(DISTANCES[0] / DISTANCES[1]))
