"""Joint reactions and driving forces by Newton and Euler for each body, and which can be trusted.

With f the forces and moments that each joint exerts on the second body of a pair (the first feels the
opposite), in the directions of the joint equations, and F, T what loads exert on a body,

    W^T f = (m (a - g) - F,  I w' + w x I w - T)        for all bodies.

The equations are those of W transposed, so nothing depends on the coordinates of the simulation. A
component is unique if no self-stress (W^T y = 0) has a part in it, else it is shared [Wojtyra2005]:
only sums over a dependent set are then determined by rigid bodies. Shared values are those of least
norm, moments being divided by the mechanism's length, so that they do not depend on units; or, with
joint stiffnesses k, those of least elastic energy, sum f^2 / k. A component that is shared at a single
output and unique before and after is undetermined there: the motion passes a singular position.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from ..arrays import Flags, Floats, Words
from .joint_equations import JointEquations, Pose
from .loads import BodyLoads, BodyMotion
from .mobility import NEAR
from .poses import read_poses, read_rows, read_spins

if TYPE_CHECKING:
    from ..model.model import BodyRows

Stiffness = Mapping[str, tuple[float, float]]

UNIQUE, SHARED, UNDETERMINED = "unique", "shared", "undetermined"
LEAST_NORM, ELASTIC = "least norm", "stiffness"

# a unit self-stress with a smaller part than this in a component leaves it unique
NO_PART = 1e-6
# larger systems are solved sparsely
SPARSE = 200
# outputs treated at once
CHUNK = 64
# joints without a stiffness are stiffer than all others by the square of this, in sparse solves
RIGID = 1e4


@dataclass(frozen=True)
class Component:
    """One component of a reaction: along or about a direction, over time."""

    kind: str
    directions: Floats
    values: Floats
    unique: Flags
    undetermined: Flags

    @property
    def words(self) -> Words:
        """The word "unique", "shared" or "undetermined" at each output."""
        return _words(self.unique, self.undetermined)


@dataclass(frozen=True)
class Reaction:
    """What a joint or drive exerts on one of its bodies, over time.

    force [N], (n, dimension), and moment about the joint's place [N m], (n, 3), in the plane (n,), in
    world directions (where a joint slides, its place is the point of the second body); force_unique,
    moment_unique: flags of the same shapes, and those undetermined; components: the same by the
    directions of the joint (a hinge: its axis first; a drive: its axis), each with flags. Where a flag is
    not unique rigid bodies do not determine the value, and the one by `sharing` is given: "least norm"
    over all joints, or by "stiffness". smallest: singular value of W that counts, at each output.
    """

    joint: str
    body: str
    force: Floats
    moment: Floats
    force_unique: Flags
    moment_unique: Flags
    force_undetermined: Flags
    moment_undetermined: Flags
    components: tuple[Component, ...]
    smallest: Floats
    sharing: str = LEAST_NORM

    @property
    def force_words(self) -> Words:
        """The word "unique", "shared" or "undetermined" for each entry of the force."""
        return _words(self.force_unique, self.force_undetermined)

    @property
    def moment_words(self) -> Words:
        """The word "unique", "shared" or "undetermined" for each entry of the moment."""
        return _words(self.moment_unique, self.moment_undetermined)

    def __str__(self) -> str:
        parts = []
        for values, words, unit in (
            (self.force, self.force_words, "N"),
            (self.moment, self.moment_words, "N m"),
        ):
            what = "force" if unit == "N" else "moment"
            for name, v, w in zip(_letters(values), _columns(values), _columns(words), strict=True):
                if np.any(v) or not np.all(w == UNIQUE):
                    largest = float(np.abs(v).max(initial=0.0))
                    parts.append(f"{what} {name} up to {largest:.6g} {unit}, {_summary(w)}")
        near = int(np.sum(self.smallest < NEAR))
        if near:
            parts.append(
                f"close to a singular position at {near} of {len(self.smallest)} outputs (smallest value "
                f"{self.smallest.min():.1e}), where reactions grow with its inverse"
            )
        return f"{self.joint} on {self.body}: " + ("; ".join(parts) or "nothing")


@dataclass(frozen=True)
class Reactions:
    """All joint reactions and driving forces at all outputs.

    values: components of every row of W, (n, rows); directions: of the rows, (n, rows, 3); self_stress:
    of each output, unit columns (rows, k); smallest: singular value of W that counts (beyond 200 columns
    an estimate, which does not fall below 1e-5), (n,); imbalance: largest force (or moment over the
    length) that is left on a body, over the largest one on any body, (n,); sharing: what shared values
    go by.
    """

    equations: JointEquations
    values: Floats
    directions: Floats
    self_stress: list[Floats]
    smallest: Floats
    imbalance: Floats
    sharing: str = LEAST_NORM

    def of(self, name: str, body: str | None = None) -> Reaction:
        """The reaction of a joint or drive on a body, the second one of the joint if left out.

        What a drive exerts is not part of its joint's reaction.
        """
        e = self.equations
        if name in e.joints:
            pairs = np.flatnonzero(e.pair_joint == e.joints.index(name))
            what, wanted = "joint", e.row_drive < 0
        elif name in e.drives:
            wanted = e.row_drive == e.drives.index(name)
            what, pairs = "drive", e.row_pair[wanted]
        else:
            known = [f"'{n}'" for n in (*e.joints, *e.drives)]
            listed = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
            kinds = "joint or drive" if e.drives else "joint"
            raise KeyError(f"no {kinds} is called '{name}'; known: {listed or 'none'}")
        first = e.body_name(e.pair_bodies[pairs[0], 0])
        others = [e.body_name(b) for b in e.pair_bodies[pairs, 1]]
        body = others[0] if body is None else body
        if body not in [first, *others]:
            raise KeyError(
                f"{what} '{name}' has no body '{body}'; it joins {first}, {', '.join(others)}"
            )
        # the first body feels the opposite of all others
        sign = -1.0 if body == first else 1.0
        mine = pairs if body == first else pairs[[others.index(body)]]
        rows = np.array([np.flatnonzero((e.row_pair == p) & wanted) for p in mine])
        n, k = len(self.values), rows.shape[1]
        values = sign * self.values[:, rows].sum(axis=1)
        about = e.row_about[rows[0]]
        directions = self.directions[:, rows[0]]
        # a row of its own for each component, and for each world direction of force and moment
        world = np.zeros((n, 6, k))
        world[:, :3][:, :, ~about] = np.swapaxes(directions[:, ~about], 1, 2)
        world[:, 3:][:, :, about] = np.swapaxes(directions[:, about], 1, 2)
        unique = np.ones((n, k), dtype=bool)
        world_unique = np.ones((n, 6), dtype=bool)
        for t, stress in enumerate(self.self_stress):
            if stress.shape[1]:
                part = stress[rows].sum(axis=0)
                unique[t] = np.linalg.norm(part, axis=1) <= NO_PART
                world_unique[t] = np.linalg.norm(world[t] @ part, axis=1) <= NO_PART
        lost, world_lost = _find_alone(unique), _find_alone(world_unique)
        wrench = np.einsum("tik,tk->ti", world, values)
        force, moment = slice(e.dimension), 5 if e.dimension == 2 else slice(3, 6)
        return Reaction(
            joint=name,
            body=body,
            force=wrench[:, force],
            moment=wrench[:, moment],
            force_unique=world_unique[:, force],
            moment_unique=world_unique[:, moment],
            force_undetermined=world_lost[:, force],
            moment_undetermined=world_lost[:, moment],
            components=tuple(
                Component(
                    "about" if about[i] else "along",
                    directions[:, i],
                    values[:, i],
                    unique[:, i],
                    lost[:, i],
                )
                for i in range(k)
            ),
            smallest=self.smallest,
            sharing=self.sharing,
        )


def solve_reactions(
    equations: JointEquations,
    bodies: BodyRows,
    loads: BodyLoads,
    times: Floats,
    states: tuple[Floats, Floats, Floats],
    stiffness: Stiffness | None = None,
) -> Reactions:
    """Reactions of all joints from coordinates, rates and accelerations of a result, (n, nq) each.

    stiffness: of joints by name, (force [N/m], moment [N m/rad]); joints not named are rigid.
    """
    n = len(times)
    stiff = None if stiffness is None else row_stiffness(equations, stiffness)
    values = np.zeros((n, equations.rows))
    directions = np.zeros((n, equations.rows, 3))
    stress, smallest, imbalance = [], np.ones(n), np.zeros(n)
    chunks = [slice(k, min(k + CHUNK, n)) for k in range(0, n, CHUNK)]
    angles = np.zeros((n, len(loads.torsions[0])))
    if angles.size:
        # turns are counted from output to output: over all chunks
        looks = [
            loads.look(read_motion(equations, bodies, times[c], *(x[c] for x in states)))
            for c in chunks
        ]
        angles = loads.angles(times, *(np.concatenate(x) for x in zip(*looks, strict=True)))
    arms = np.array([1.0] * 3 + [equations.length] * 3)
    for chunk in chunks:
        motion = read_motion(equations, bodies, times[chunk], *(x[chunk] for x in states))
        inertia = inertia_forces(equations, motion)
        applied = loads.wrenches(motion, angles[chunk])
        sizes = np.abs(applied / arms).max(axis=(1, 2), initial=0.0)
        for i, t in enumerate(range(chunk.start, chunk.stop)):
            pose = Pose(motion.centers[i], motion.turns[i])
            found = solve_wrenches(equations, pose, inertia[i] - applied[i], stiff, float(sizes[i]))
            directions[t] = equations.directions(pose)
            values[t], smallest[t], imbalance[t] = found.values, found.smallest, found.imbalance
            stress.append(found.self_stress)
    sharing = LEAST_NORM if stiff is None else ELASTIC
    return Reactions(equations, values, directions, stress, smallest, imbalance, sharing)


@dataclass(frozen=True)
class Wrenches:
    """Joint components at a pose, (rows,); unit self-stresses, (rows, k), moments over the length;
    smallest singular value that counts; what is left, relative to the largest force or weight.
    """

    values: Floats
    self_stress: Floats
    smallest: float
    imbalance: float


def solve_wrenches(
    equations: JointEquations,
    pose: Pose,
    forces: Floats,
    stiffness: Floats | None = None,
    size: float = 0.0,
) -> Wrenches:
    """Joint components f with W^T f = forces (nb, 6), of least norm or least elastic energy.

    stiffness: of each row, inf where rigid; size: of what the forces are a difference of, if larger.
    """
    e = equations
    weights = np.where(e.row_about, e.length, 1.0)
    side = e.scaled_forces(pose, forces)
    solve = _solve_dense if e.columns <= SPARSE else _solve_sparse
    f, free, smallest = solve(e, pose, side, weights, stiffness)
    left = e.matrix(pose).T @ f - forces[:, e.used].ravel()
    arm = np.tile(np.where(np.array(e.used) > 2, e.length, 1.0), len(e.bodies))
    # in free fall no joint exerts anything: what is left is compared with the weight then
    weight = float(np.linalg.norm(e.gravity)) * float(e.masses.max())
    size = max(weight, size, float(np.abs(forces[:, e.used].ravel() / arm).max(initial=0.0)))
    return Wrenches(f, free, smallest, float(np.abs(left / arm).max(initial=0.0)) / (size or 1.0))


def row_stiffness(equations: JointEquations, stiffness: Stiffness) -> Floats:
    """The stiffness of each row from (force, moment) stiffnesses by joint or drive; else inf."""
    e = equations
    out = np.full(e.rows, np.inf)
    for name, pair in stiffness.items():
        if name in e.joints:
            rows = (e.pair_joint[e.row_pair] == e.joints.index(name)) & (e.row_drive < 0)
        elif name in e.drives:
            rows = e.row_drive == e.drives.index(name)
        else:
            known = [f"'{n}'" for n in (*e.joints, *e.drives)]
            listed = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
            raise KeyError(f"stiffness of '{name}': no joint has that name; known: {listed}")
        try:
            force, moment = (float(k) for k in pair)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"stiffness of joint '{name}' is {pair!r}; give two numbers, [N/m] and [N m/rad]"
            ) from error
        if not (force > 0 and moment > 0):
            raise ValueError(
                f"stiffness of joint '{name}' is ({force:g}, {moment:g}); both must be positive "
                "(inf is rigid)"
            )
        out[rows] = np.where(e.row_about[rows], moment, force)
    return out


def _solve_dense(
    e: JointEquations, pose: Pose, side: Floats, weights: Floats, stiffness: Floats | None
) -> tuple[Floats, Floats, float]:
    scaled = e.scaled(pose)
    U, values, V = np.linalg.svd(scaled.matrix.toarray())
    rank = int(np.sum(values > e.tolerance))
    some = U[:, :rank] @ ((V[:rank] @ side) / values[:rank])
    z = scaled.named(some[:, None])[:, 0] / weights
    free = np.zeros((e.rows, 0))
    if rank < e.rows:
        free = np.linalg.qr(scaled.named(U[:, rank:]) / weights[:, None])[0]
        z = z - free @ (free.T @ z)
        if stiffness is not None:
            # the part of the self-stresses that the elastic joints decide; the rest stays least
            soft = weights / np.sqrt(stiffness)
            soft /= soft.max() or 1.0
            z = z - free @ (np.linalg.pinv(soft[:, None] * free, rcond=1e-12) @ (soft * z))
    return z * weights, free, float(values[rank - 1]) if rank else 1.0


def _solve_sparse(
    e: JointEquations, pose: Pose, side: Floats, weights: Floats, stiffness: Floats | None
) -> tuple[Floats, Floats, float]:
    """Self-stresses are projections of random vectors."""
    least = _LeastNorm(e, pose, weights)
    z = least.nearest(np.zeros(e.rows), side)
    rng = np.random.default_rng(4)
    free = [least.nearest(probe, np.zeros(e.columns)) for probe in rng.normal(size=(4, e.rows))]
    # what is left of a probe without any self-stress is rounding
    kept = [y / np.linalg.norm(y) for y in free if np.abs(y).max() > 1e-5]
    smallest = least.estimate_smallest(z + 1e-3 * np.linalg.norm(z) * rng.normal(size=e.rows))
    f = z * weights
    if stiffness is not None and kept:
        elastic = np.isfinite(stiffness)
        roots = np.sqrt(stiffness, where=elastic, out=np.zeros(e.rows))
        stiffest = float((roots / weights).max()) or 1.0
        roots = np.where(elastic, roots / stiffest, RIGID * weights)
        f = roots * _LeastNorm(e, pose, roots).nearest(np.zeros(e.rows), side)
    return f, np.array(kept).reshape(-1, e.rows).T, smallest


class _LeastNorm:
    """The z nearest to a wish with A z = right, by proximal steps; f = weights z, A z = D^T W^T f."""

    def __init__(self, e: JointEquations, pose: Pose, weights: Floats) -> None:
        A = sparse.csr_array(e.weighted(pose).T @ sparse.diags_array(weights))
        sizes = np.sqrt((A.multiply(A)).sum(axis=1))
        self.sizes = np.where(sizes > 0, sizes, 1.0)
        self.A = sparse.csr_array(sparse.diags_array(1.0 / self.sizes) @ A)
        self.columns, self.rows = self.A.shape
        eps = 1e-10
        K = sparse.block_array(
            [
                [sparse.eye_array(self.rows), self.A.T],
                [self.A, -eps * sparse.eye_array(self.columns)],
            ]
        )
        self.factor = splu(sparse.csc_array(K))

    def nearest(self, wish: Floats, right: Floats) -> Floats:
        """The nearest z to a wish with A z = right."""
        z, mu = wish, np.zeros(self.columns)
        for _ in range(6):
            z1, mu1 = self._solve(wish - z - self.A.T @ mu, right / self.sizes - self.A @ z)
            z, mu = z + z1, mu + mu1
        return z

    def estimate_smallest(self, y: Floats) -> float:
        """The smallest singular value of A, zeros left out, by steps with its pseudo-inverse."""
        size = 1.0
        for _ in range(5):
            y = y / (np.linalg.norm(y) or 1.0)
            # (A A^T)^-1 A y, then A^T of the inverse again: (A^T A)^+ y
            _, mu = self._solve(y, np.zeros(self.columns))
            y, _ = self._solve(np.zeros(self.rows), mu)
            size = float(np.linalg.norm(y))
        return 1.0 / np.sqrt(size) if size else 1.0

    def _solve(self, upper: Floats, lower: Floats) -> tuple[Floats, Floats]:
        both = self.factor.solve(np.concatenate([upper, lower]))
        return both[: self.rows], both[self.rows :]


def read_motion(
    equations: JointEquations, bodies: BodyRows, times: Floats, q: Floats, v: Floats, a: Floats
) -> BodyMotion:
    """Poses, velocities and accelerations of all bodies from coordinates, rates and accelerations."""
    poses = read_poses(equations, bodies, q)
    spins, spin_rates = read_spins(bodies, q, v, a)
    return BodyMotion(
        times=times,
        centers=np.array([pose.centers for pose in poses]),
        turns=np.array([pose.turns for pose in poses]),
        velocities=read_rows(bodies.centers, v),
        accelerations=read_rows(bodies.centers, a),
        spins=spins,
        spin_rates=spin_rates,
    )


def inertia_forces(e: JointEquations, motion: BodyMotion) -> Floats:
    """m (a - g) and I w' + w x I w of each body, (n, nb, 6): what all else must exert on it."""
    w, w1 = motion.spins, motion.spin_rates
    inertia = motion.turns @ e.inertias @ np.swapaxes(motion.turns, 2, 3)
    spin = np.einsum("tbij,tbj->tbi", inertia, w)
    forces = np.zeros((*w.shape[:2], 6))
    forces[..., :3] = e.masses[:, None] * (motion.accelerations - e.gravity)
    forces[..., 3:] = np.einsum("tbij,tbj->tbi", inertia, w1) + np.cross(w, spin)
    return forces


def _find_alone(unique: Flags) -> Flags:
    """Where a component is shared at one output, but unique at the ones before and after."""
    if len(unique) < 2:
        return np.zeros_like(unique)
    # beyond the ends the only neighbour counts
    before = np.concatenate([unique[1:2], unique[:-1]])
    after = np.concatenate([unique[1:], unique[-2:-1]])
    return ~unique & before & after


def _words(unique: Flags, undetermined: Flags) -> Words:
    return np.where(unique, UNIQUE, np.where(undetermined, UNDETERMINED, SHARED))


def _columns(values: NDArray) -> NDArray:
    return np.atleast_2d(values.T)


def _letters(values: Floats) -> str:
    return "z" if values.ndim == 1 else "xyz"[: values.shape[1]]


def _summary(words: Words) -> str:
    """Such as "unique" or "shared at 3 of 10 outputs"."""
    if np.all(words == UNIQUE):
        return UNIQUE
    parts = []
    for word in (SHARED, UNDETERMINED):
        count = int(np.sum(words == word))
        if count == len(words):
            return word
        if count:
            parts.append(f"{word} at {count} of {len(words)} outputs")
    return " and ".join(parts)
