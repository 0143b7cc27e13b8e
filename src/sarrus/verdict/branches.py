"""The motions that meet at a singular position, from the second-order terms of the constraints.

The constraints are quadratic, Phi(q + x) = J x + 1/2 B(x, x). A motion x = h w + h^2 x2 + ... has J w = 0 and
J x2 + 1/2 B(w, w) = 0, which can be solved for x2 if and only if

    u^T B(w, w) = 0    for every u with u^T J = 0.

With w = N a, N a basis of the null space of J, these are quadrics in the few numbers a. Their common real
directions are found by Levenberg-Marquardt steps from many starts on the sphere; each is then followed for
a short distance on the constraints themselves, since the second order is necessary, not sufficient.

Drives are left out: they say how fast, and the joints along which motions. A start at
such a position has to choose: does its velocity follow one of the motions that meet there?
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats
from ..kinematics.closing import lower_gaps
from ..kinematics.constraints import Constraints
from ..kinematics.pose import read_poses, read_spins
from ..thresholds import (
    ALONG_BRANCH,
    BRANCH_ROOT,
    CLOSED_NEARBY,
    CLOSED_WHOLLY,
    NEARBY_TOLERANCE,
    NO_COMBINATION,
    SAME_BRANCH,
    SHOWN_ZERO,
)
from .rank import DENSE, measure_rank

if TYPE_CHECKING:
    from ..kernels.layout import Form
    from ..methods.watch import Watch
    from ..model import Model
    from .joint_equations import JointEquations

# directions are listed up to so many freedoms more than the motion has
MOST_EXTRA = 3
STARTS = 300
ITERATIONS = 60
# a branch is followed for this share of a typical link
STEP = 0.05
# words for the velocities of so many points
MOST_WORDS = 8


@dataclass(frozen=True)
class Branch:
    """One motion through a singular position; it can be followed both ways.

    direction: rates of the coordinates, the fastest body turning at 1 rad/s (or moving by one length of
    the mechanism a second); velocities: of joints and named points that can move [m/s]; turning: angular
    velocity of each body [rad/s], a number in the plane; mobility: on this branch, a little behind the
    position; so_far: whether the simulation came along it.
    """

    direction: Floats = field(repr=False)
    velocities: dict[str, Floats] = field(repr=False)
    turning: dict[str, Floats]
    mobility: int
    so_far: bool

    def __str__(self) -> str:
        words = [f"{name} {_vector(v)}" for name, v in self.velocities.items() if np.any(v)]
        more = f" and {len(words) - MOST_WORDS} more" if len(words) > MOST_WORDS else ""
        still = [name for name, v in self.velocities.items() if not np.any(v)]
        rest = f"; at rest: {', '.join(still[:MOST_WORDS])}" if words and still else ""
        return (
            f"{'the motion so far: ' if self.so_far else ''}mobility {self.mobility}; velocities "
            f"{', '.join(words[:MOST_WORDS])}{more}{rest}"
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "velocities": {name: v.tolist() for name, v in self.velocities.items()},
            "turning": {name: v.tolist() for name, v in self.turning.items()},
            "mobility": self.mobility,
            "so_far": self.so_far,
            "sentence": str(self),
        }


@dataclass(frozen=True)
class Branches:
    """The branches at a singular position, and a sentence about what was found and what was not.

    freedoms: of the coordinates at the position; continuum: whether there are whole families of directions.
    """

    sentence: str
    freedoms: int
    continuum: bool
    items: tuple[Branch, ...]

    @property
    def leads_nowhere(self) -> bool:
        """Whether there are velocities, and all of them were found to be infinitesimal only."""
        known = 1 <= self.freedoms <= MOST_EXTRA + 1 and not self.continuum
        return known and not self.items

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Branch]:
        return iter(self.items)

    def __getitem__(self, index: int) -> Branch:
        return self.items[index]

    def __str__(self) -> str:
        return "\n".join([self.sentence, *(f"  {i}: {b}" for i, b in enumerate(self.items, 1))])

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "sentence": self.sentence,
            "freedoms": self.freedoms,
            "continuum": self.continuum,
            "branches": [b.as_dict() for b in self.items],
        }


def find_branches(
    model: Model,
    equations: JointEquations,
    q: Floats,
    v: Floats | None = None,
    rise: int | None = None,
) -> Branches:
    """The motions that meet at the position q; v: rates of the motion so far, none if left out.

    rise: how many freedoms there are more than before and behind; all but one if it is not known.
    """
    if rise is not None and rise > MOST_EXTRA:
        return _too_many(rise)
    joints = Constraints(model.form, joints=True)
    U, values, V = np.linalg.svd(joints.jacobian(q))
    rank = _rank(values)
    m = len(q) - rank
    if rise is None and m - 1 > MOST_EXTRA:
        return _too_many(m - 1)
    if m == 0:
        return Branches("nothing is free at this position", 0, False, ())
    N = V[rank:].T
    quadrics = _quadrics(joints, U[:, rank:], N)
    single, multiple = _directions(quadrics, m)
    # quadrics that meet in points meet in 2^(m-1) at most
    continuum = len(single) + len(multiple) > 2 ** (m - 1) or len(quadrics) < m - 1
    found = single if continuum else np.concatenate([single, multiple])
    items, back = [], 0
    for a in found:
        branch = _follow(model, equations, q, N @ a, v)
        if branch is None:
            back += 1
        else:
            items.append(branch)
    items.sort(key=lambda b: not b.so_far)
    sentence = _sentence(m, items, back, continuum)
    if v is not None and items and not any(b.so_far for b in items):
        sentence += "; the motion so far is none of them"
    return Branches(sentence, m, continuum, tuple(items))


def _too_many(extra: int) -> Branches:
    text = (
        f"{extra} freedoms more at this position than the motion has: directions are listed up to "
        f"{MOST_EXTRA} more"
    )
    return Branches(text, extra + 1, False, ())


def _sentence(m: int, items: list[Branch], back: int, continuum: bool) -> str:
    text = f"{m} freedom{'s' * (m != 1)} at this position"
    if continuum:
        text += "; there is a whole continuum of directions in which motions may leave it"
        text += f", and {len(items)} isolated" if items else ""
    else:
        motion = "motion meets" if len(items) == 1 else "motions meet"
        text += f"; {len(items)} {motion} here, each can be followed both ways"
    if back:
        text += f"; {back} more of second order lead{'s' if back == 1 else ''} nowhere"
    return text


def leads_on(form: Form, q: Floats, w: Floats) -> bool:
    """Whether a velocity that the joints allow at q leads on in second order."""
    joints = Constraints(form, joints=True)
    U, values, _ = np.linalg.svd(joints.jacobian(q))
    size = float(np.linalg.norm(w)) or 1.0
    left = U[:, _rank(values) :].T @ joints.bend(w / size)
    return bool(np.abs(left).max(initial=0.0) < ALONG_BRANCH)


def _rank(values: Floats) -> int:
    return int(np.sum(values > NO_COMBINATION))


def _quadrics(joints: Constraints, U: Floats, N: Floats) -> Floats:
    """Independent symmetric matrices H with a^T H a = u^T B(N a, N a), of unit size, (n, m, m)."""
    m = N.shape[1]
    H = np.array([joints.curvature(u, N) for u in U.T]).reshape(-1, m, m)
    if not len(H):
        return H
    _, values, V = np.linalg.svd(H.reshape(len(H), -1), full_matrices=False)
    return np.asarray(V[values > NO_COMBINATION].reshape(-1, m, m))


def _directions(H: Floats, m: int) -> tuple[Floats, Floats]:
    """Unit a with a^T H_i a = 0 for all i, up to sign: simple roots, and others."""
    a = np.random.default_rng(7).normal(size=(STARTS, m))
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    for _ in range(ITERATIONS):
        Ha = np.einsum("iab,sb->sia", H, a)
        F = np.einsum("sia,sa->si", Ha, a)
        # steps along the sphere: the direction a itself is held by a row of its own
        A = np.concatenate([2.0 * Ha, a[:, None, :]], axis=1)
        r = np.concatenate([F, np.zeros((len(a), 1))], axis=1)
        # a double root makes the matrix singular: the floor keeps the steps along it
        damping = np.minimum(np.einsum("si,si->s", F, F), 1e-2) + 1e-14
        normal = np.swapaxes(A, 1, 2) @ A + damping[:, None, None] * np.eye(m)
        a = a - np.linalg.solve(normal, np.swapaxes(A, 1, 2) @ r[:, :, None])[:, :, 0]
        a /= np.linalg.norm(a, axis=1, keepdims=True)
    F = np.abs(np.einsum("sa,iab,sb->si", a, H, a)).max(axis=1, initial=0.0)
    kinds: tuple[list[Floats], list[Floats]] = ([], [])
    # the best of each bundle first
    for x in a[np.argsort(F)][: int(np.sum(F < BRANCH_ROOT))]:
        known = [*kinds[0], *kinds[1]]
        if any(min(np.abs(x - y).max(), np.abs(x + y).max()) < SAME_BRANCH for y in known):
            continue
        slopes = np.linalg.svd(np.concatenate([2.0 * H @ x, x[None]]), compute_uv=False)
        kinds[0 if len(slopes) == m and slopes[-1] > SAME_BRANCH else 1].append(x)
    return np.array(kinds[0]).reshape(-1, m), np.array(kinds[1]).reshape(-1, m)


def _follow(
    model: Model, equations: JointEquations, q: Floats, w: Floats, v: Floats | None
) -> Branch | None:
    """A direction followed for a short distance; None if it leads nowhere."""
    w = w / np.abs(w).max()
    joints = Constraints(model.form, joints=True)
    there = None
    for step in (STEP, -STEP):
        x = _close(joints, q, step * w)
        if x is not None and abs(float(x @ w)) > 0.9 * np.linalg.norm(x) * np.linalg.norm(w):
            there = q + x
            break
    if there is None:
        return None
    e = equations.undriven
    pose = read_poses(e.centers, model.body_rows, there[None])[0]
    rank = measure_rank(e.scaled(pose).matrix, e.columns_a_body, NEARBY_TOLERANCE)
    spins = read_spins(model.body_rows, q[None], w[None], np.zeros((1, len(q))))[0][0]
    centers = np.asarray(model.body_rows.centers @ w).reshape(-1, 3)
    fastest = max(
        float(np.linalg.norm(spins, axis=1).max()),
        float(np.linalg.norm(centers, axis=1).max()) / e.length,
    )
    so_far = False
    if v is not None and np.any(v):
        # along the way it came, not against it
        cosine = float(w @ v) / float(np.linalg.norm(w) * np.linalg.norm(v))
        fastest = float(np.copysign(fastest, cosine))
        so_far = abs(cosine) > 1.0 - SAME_BRANCH**2
    w, spins = w / fastest, _clean(spins / fastest)
    moved = _clean(np.asarray(model.places @ w).reshape(-1, model.dimension), e.length)
    # joints on the ground never move: no word about them
    free = np.diff(model.places.indptr[:: model.dimension]) > 0
    bodies = set(model.body_rows.names)
    planar = model.dimension == 2
    return Branch(
        direction=w,
        velocities={n: moved[i] for n, i in model.points.items() if free[i] and n not in bodies},
        turning={n: s[2] if planar else s for n, s in zip(e.bodies, spins, strict=True)},
        mobility=e.columns - rank.rank,
        so_far=so_far,
    )


def _close(joints: Constraints, q: Floats, x: Floats) -> Floats | None:
    """The displacement nearest to x that keeps the constraints; None if there is none near."""
    J = joints.jacobian(q)

    def look(x: Floats) -> tuple[Floats, Floats]:
        # what q itself is off is no matter of the branch
        return J @ x + 0.5 * joints.bend(x), joints.jacobian(q + x)

    found = lower_gaps(x, look, np.add, enough=CLOSED_WHOLLY)
    return found.position if found.size < CLOSED_NEARBY else None


def _clean(x: Floats, scale: float = 1.0) -> Floats:
    """Rounding set to zero."""
    return np.where(np.abs(x) < SHOWN_ZERO * scale, 0.0, x)


def _vector(v: Floats) -> str:
    return "(" + ", ".join(f"{round(c, 4) + 0.0:g}" for c in v) + ")"


def describe_start(
    model: Model, equations: JointEquations, watch: Watch, v: Floats, a: Floats, failed: bool
) -> str:
    """What is missing at a start where motions meet; empty if nothing is.

    v, a: rates and accelerations of the coordinates at the start; failed: the run did not leave it.
    """
    if not (watch.singular_start or failed):
        return ""
    moving = bool(np.any(v))
    q, w = np.zeros(len(v)), v if moving else a
    if not failed and (len(q) > DENSE or leads_on(model.form, q, w)):
        return ""
    branches = find_branches(model, equations, q)
    if branches.leads_nowhere:
        return (
            "cannot leave the start: the velocities that its joints allow there lead back, so it moves by "
            "infinitesimal amounts only and no finite reaction holds it; see sarrus.inspect"
        )
    if branches.freedoms < 2:
        return ""
    angles = _angles(branches, w)
    what = "the velocity given follows" if moving else "from rest its weight would follow"
    text = (
        f"cannot leave the start: it is a singular position ({branches.sentence}), and {what} none of "
        "them. Give a velocity along one of them"
    )
    for i, branch in enumerate(branches, 1):
        text += f"; {i}: {branch}"
    if len(angles):
        nearest = int(np.argmin(angles))
        text += f". The nearest is {nearest + 1}, {np.degrees(angles[nearest]):.3g} degrees away"
    return text


def _angles(branches: Branches, w: Floats) -> Floats:
    """Angles between a direction and the branches, as far as the coordinates show [rad]."""
    size = float(np.linalg.norm(w)) or 1.0
    out = []
    for branch in branches:
        unit = branch.direction / np.linalg.norm(branch.direction)
        along = float(unit @ w) / size
        across = float(np.linalg.norm(w / size - along * unit))
        out.append(np.arctan2(across, abs(along)))
    return np.array(out)
