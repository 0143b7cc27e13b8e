"""The motions that meet at a singular position, from the second-order terms of the constraints.

The constraints are quadratic, Phi(q + x) = J x + 1/2 B(x, x). A motion x = h w + h^2 x2 + ... has J w = 0 and
J x2 + 1/2 B(w, w) = 0, which can be solved for x2 if and only if

    u^T B(w, w) = 0    for every u with u^T J = 0.

With w = N a, N a basis of the null space of J, these are quadrics in the few numbers a. Their common real
directions are found by Levenberg-Marquardt steps from many starts on the sphere. The second order is necessary,
not sufficient: `sections` counts the motions along each direction a little aside, several where they touch, none
where it leads back, and to one side only at a cusp.

Drives are left out: they say how fast, and the joints along which motions. A start at
such a position has to choose: does its velocity follow one of the motions that meet there?
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats, plain_sum
from ..kinematics.closing import lower_gaps
from ..kinematics.constraints import Constraints
from ..kinematics.pose import read_poses, read_spins
from ..notebook import Sentences, html_table
from ..thresholds import (
    ALONG_BRANCH,
    CLOSED_NEARBY,
    CLOSED_WHOLLY,
    NEARBY_TOLERANCE,
    NO_COMBINATION,
    SAME_BRANCH,
    SHOWN_ZERO,
)
from .mobility import measure_mobility
from .rank import DENSE, measure_rank
from .sections import DISTANCES, LocalMotions, common_directions, independent

if TYPE_CHECKING:
    from ..kernels.layout import Form
    from ..methods.watch import Watch
    from ..model import Model
    from .joint_equations import JointEquations

# directions are listed up to so many freedoms more than the motion has
MOST_EXTRA = 3
# a branch is followed for this share of a typical link
STEP = 0.05
# words for the velocities of so many points
MOST_WORDS = 8


@dataclass(frozen=True)
class Branch:
    """One motion through a singular position.

    direction: rates of the coordinates, the fastest body turning at 1 rad/s (or moving by one length of
    the mechanism a second); velocities: of joints and named points that can move [m/s]; turning: angular
    velocity of each body [rad/s], a number in the plane; mobility: on this branch, a little behind the
    position; so_far: whether the simulation came along its direction; ways: it can be followed both ways (2), or
    one way only (1), along `direction`, and comes back on the same side: a cusp; touching: how many motions,
    itself included, have this direction; 0 where that was not decided.
    """

    direction: Floats = field(repr=False)
    velocities: dict[str, Floats] = field(repr=False)
    turning: dict[str, Floats]
    mobility: int
    so_far: bool
    ways: int = 2
    touching: int = 1

    def __str__(self) -> str:
        words = [f"{name} {_vector(v)}" for name, v in self.velocities.items() if np.any(v)]
        more = f" and {len(words) - MOST_WORDS} more" if len(words) > MOST_WORDS else ""
        still = [name for name, v in self.velocities.items() if not np.any(v)]
        rest = f"; at rest: {', '.join(still[:MOST_WORDS])}" if words and still else ""
        return (
            f"{self._origin}mobility {self.mobility}; velocities {', '.join(words[:MOST_WORDS])}{more}{rest}"
            f"{'; one way only, and back on the same side (a cusp)' if self.ways == 1 else ''}"
        )

    @property
    def _origin(self) -> str:
        if not self.so_far:
            return ""
        return "the motion so far: " if self.touching == 1 else "along the motion so far: "

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "velocities": {name: v.tolist() for name, v in self.velocities.items()},
            "turning": {name: v.tolist() for name, v in self.turning.items()},
            "mobility": self.mobility,
            "so_far": self.so_far,
            "ways": self.ways,
            "touching": self.touching,
            "sentence": str(self),
        }


@dataclass(frozen=True)
class Branches(Sentences):
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

    def _repr_html_(self) -> str:
        rows = [(i, *str(b).split(": ", 1)) for i, b in enumerate(self.items, 1)]
        return html_table(self.sentence, ("branch", "motion", ""), rows)

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

    rise: how many freedoms there are more than before and behind; measured if it is not known.
    """
    if rise is None:
        pose = read_poses(equations.centers, model.body_rows, q[None])[0]
        mobility = measure_mobility(equations.undriven, pose)
        rise = mobility.here - mobility.motion
    if rise > MOST_EXTRA:
        return _too_many(rise)
    local = LocalMotions(Constraints(model.form, joints=True), q)
    m = local.freedoms
    if m == 0:
        return Branches("nothing is free at this position", 0, False, ())
    quadrics = independent(local.bends)
    single, multiple = common_directions(quadrics, m)
    # quadrics that meet in points meet in 2^(m-1) at most
    continuum = len(single) + len(multiple) > 2 ** (m - 1) or len(quadrics) < m - 1
    found = single if continuum else np.concatenate([single, multiple])
    items, back, apart = [], 0, []
    for a in found:
        cut = local.cut(a)
        motions = _followed(local, local.N @ a) if cut is None else cut.motions
        back += not motions
        touching = len(motions) if cut is not None and cut.agree else 0
        if cut is not None and len(motions) > 1:
            apart.append(cut.touching)
        for x, ways in motions:
            w = local.N @ a if ways == 2 or float(x @ local.N @ a) > 0.0 else -local.N @ a
            items.append(_branch(model, equations, q, w, x, v, ways, touching))
    items.sort(key=lambda b: not b.so_far)
    sentence = _sentence(m, items, back, continuum, apart)
    if v is not None and items and not any(b.so_far for b in items):
        sentence += "; the motion so far is none of them"
    return Branches(sentence, m, continuum, tuple(items))


def _too_many(extra: int) -> Branches:
    text = (
        f"{extra} freedoms more at this position than the motion has: directions are listed up to "
        f"{MOST_EXTRA} more"
    )
    return Branches(text, extra + 1, False, ())


def _sentence(m: int, items: list[Branch], back: int, continuum: bool, apart: list[float]) -> str:
    text = f"{m} freedom{'s' * (m != 1)} at this position"
    cusps = plain_sum(b.ways == 1 for b in items)
    if continuum:
        text += "; there is a whole continuum of directions in which motions may leave it"
        text += f", and {len(items)} isolated" if items else ""
    else:
        motion = "motion meets" if len(items) == 1 else "motions meet"
        text += f"; {len(items)} {motion} here"
        if cusps == len(items) > 0:
            text += ", one way only: it comes back on the same side (a cusp)"
        elif cusps:
            text += f", {cusps} of them one way only (a cusp), the others both ways"
        elif items:
            text += ", each can be followed both ways"
    if apart:
        text += (
            f"; some touch: they have one direction, and are {max(apart):.1e} of a link apart at a distance of "
            f"{DISTANCES[0]:g}"
        )
    if any(b.touching == 0 for b in items):
        text += "; along some directions it is not decided how many motions there are"
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


def _followed(local: LocalMotions, w: Floats) -> list[tuple[Floats, int]]:
    """A direction that sections do not decide, followed for a short distance; empty if it leads nowhere."""
    w = w / np.abs(w).max()
    for step in (STEP, -STEP):
        x = _close(local.joints, local.q, step * w)
        if x is not None and abs(float(x @ w)) > 0.9 * np.linalg.norm(x) * np.linalg.norm(w):
            return [(x, 2)]
    return []


def _branch(
    model: Model,
    equations: JointEquations,
    q: Floats,
    w: Floats,
    x: Floats,
    v: Floats | None,
    ways: int,
    touching: int,
) -> Branch:
    """The branch along w, with its mobility at the displacement x; v: rates of the motion so far."""
    there = q + x
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
        fastest = float(np.copysign(fastest, cosine)) if ways == 2 else fastest
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
        ways=ways,
        touching=touching,
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
    text = f"cannot leave the start: it is a singular position ({branches.sentence}), and "
    rates = model.drive_rates
    if np.any(rates):
        return text + _driven_start(model, branches, v)
    angles = _angles(branches, w)
    what = "the velocity given follows" if moving else "from rest its weight would follow"
    text += f"{what} none of them. Give a velocity along one of them"
    for i, branch in enumerate(branches, 1):
        text += f"; {i}: {branch}"
    if len(angles):
        nearest = int(np.argmin(angles))
        text += f". The nearest is {nearest + 1}, {np.degrees(angles[nearest]):.3g} degrees away"
    return text


def _driven_start(model: Model, branches: Branches, v: Floats) -> str:
    """Which motions go with the start rates of the drives, and that the velocity taken is none of them."""
    form, rates = model.form, model.drive_rates
    J = Constraints(form).jacobian(np.zeros(len(v)))[form.driven]
    wanted = rates[form.driven]
    fitting = []
    for i, branch in enumerate(branches, 1):
        own = _clean(J @ branch.direction, float(np.abs(branch.direction).max()))
        speed = float(own @ wanted) / max(float(own @ own), 1e-300)
        # rates of a branch that is none of the drives' are zero or point elsewhere
        if np.abs(speed * own - wanted).max() < ALONG_BRANCH * np.abs(wanted).max():
            fitting.append(f"{i}: {branch}")
    if not fitting:
        return "the drives prescribe rates that none of them has: start them at rest, or at another position"
    return (
        "the drives, with the velocities given and least kinetic energy, follow none of them. "
        f"{len(fitting)} of them {'has' if len(fitting) == 1 else 'have'} the rates of the drives. Give a "
        f"velocity along one of these; {'; '.join(fitting)}"
    )


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
