"""Joint reactions by Newton and Euler for each body, and which of them can be trusted.

With f the forces and moments that each joint exerts on the second body of a pair (the first feels the
opposite), in the directions of the joint equations,

    W^T f = (m (a - g),  I w' + w x I w)        for all bodies.

The equations are those of W transposed, so nothing depends on the coordinates of the simulation. A
component is unique if no self-stress (W^T y = 0) has a part in it, else it is shared [Wojtyra2005]:
only sums over a dependent set are then determined by rigid bodies. Shared values are those of least
norm, moments being divided by the mechanism's length, so that they do not depend on units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from .joint_equations import JointEquations, Pose
from .poses import read_poses, read_rows, read_spins

if TYPE_CHECKING:
    from ..model.model import BodyRows

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# a unit self-stress with a smaller part than this in a component leaves it unique
NO_PART = 1e-6
# larger systems are solved sparsely
SPARSE = 200
# outputs treated at once
CHUNK = 64


@dataclass(frozen=True)
class Component:
    """One component of a reaction: along or about a direction, over time."""

    kind: str
    directions: Floats
    values: Floats
    unique: Flags


@dataclass(frozen=True)
class Reaction:
    """What a joint exerts on one of its bodies, over time.

    force [N], (n, dimension), and moment about the joint's place [N m], (n, 3), in the plane (n,), in
    world directions; force_unique, moment_unique: flags of the same shapes; components: the same by the
    directions of the joint (a hinge: its axis first), each with flags. Where a flag is False rigid
    bodies do not determine the value, and the one of least norm over all joints is given.
    """

    joint: str
    body: str
    force: Floats
    moment: Floats
    force_unique: Flags
    moment_unique: Flags
    components: tuple[Component, ...]

    def __str__(self) -> str:
        parts = []
        for values, flags, unit in (
            (self.force, self.force_unique, "N"),
            (self.moment, self.moment_unique, "N m"),
        ):
            what = "force" if unit == "N" else "moment"
            for name, v, u in zip(_letters(values), _columns(values), _columns(flags), strict=True):
                if np.any(v) or not np.all(u):
                    largest = float(np.abs(v).max(initial=0.0))
                    parts.append(f"{what} {name} up to {largest:.6g} {unit}, {_word(u)}")
        return f"joint {self.joint} on {self.body}: " + ("; ".join(parts) or "nothing")


@dataclass(frozen=True)
class Reactions:
    """All joint reactions at all outputs.

    values: components of every row of W, (n, rows); self_stress: of each output, unit columns (rows, k);
    frames: directions of each pair, (n, np, 3, 3); imbalance: largest force (or moment over the length)
    that is left on a body, over the largest one on any body, (n,).
    """

    equations: JointEquations
    values: Floats
    self_stress: list[Floats]
    frames: Floats
    imbalance: Floats

    def of(self, joint: str, body: str | None = None) -> Reaction:
        """The reaction of a joint on a body, the second one named in the joint if left out."""
        e = self.equations
        if joint not in e.joints:
            known = ", ".join(f"'{n}'" for n in e.joints[:12]) or "none"
            raise KeyError(f"no joint is called '{joint}'; known: {known}")
        pairs = np.flatnonzero(e.pair_joint == e.joints.index(joint))
        first = e.body_name(e.pair_bodies[pairs[0], 0])
        others = [e.body_name(b) for b in e.pair_bodies[pairs, 1]]
        body = others[0] if body is None else body
        if body not in [first, *others]:
            raise KeyError(
                f"joint '{joint}' has no body '{body}'; it joins {first}, {', '.join(others)}"
            )
        # the first body feels the opposite of all others
        sign = -1.0 if body == first else 1.0
        mine = pairs if body == first else pairs[[others.index(body)]]
        rows = np.array([np.flatnonzero(e.row_pair == p) for p in mine])
        n, k = len(self.values), rows.shape[1]
        values = sign * self.values[:, rows].sum(axis=1)
        about = e.row_about[rows[0]]
        directions = np.swapaxes(self.frames[:, mine[0]][:, :, e.row_direction[rows[0]]], 1, 2)
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
        wrench = np.einsum("tik,tk->ti", world, values)
        planar = e.dimension == 2
        return Reaction(
            joint=joint,
            body=body,
            force=wrench[:, : e.dimension],
            moment=wrench[:, 5] if planar else wrench[:, 3:],
            force_unique=world_unique[:, : e.dimension],
            moment_unique=world_unique[:, 5] if planar else world_unique[:, 3:],
            components=tuple(
                Component(
                    "about" if about[i] else "along", directions[:, i], values[:, i], unique[:, i]
                )
                for i in range(k)
            ),
        )


def solve_reactions(
    equations: JointEquations, bodies: BodyRows, q: Floats, v: Floats, a: Floats
) -> Reactions:
    """Reactions of all joints from coordinates, rates and accelerations of a result, (n, nq) each."""
    n = len(q)
    values = np.zeros((n, equations.rows))
    frames = np.zeros((n, len(equations.pair_joint), 3, 3))
    stress, imbalance = [], np.zeros(n)
    for begin in range(0, n, CHUNK):
        part = slice(begin, min(begin + CHUNK, n))
        poses, forces = _inertia_forces(equations, bodies, q[part], v[part], a[part])
        for t, (pose, force) in enumerate(zip(poses, forces, strict=True), start=begin):
            frames[t] = equations.pair_frames(pose)
            values[t], free, left = solve_wrenches(equations, pose, force)
            stress.append(free)
            imbalance[t] = left
    return Reactions(equations, values, stress, frames, imbalance)


def solve_wrenches(
    equations: JointEquations, pose: Pose, forces: Floats
) -> tuple[Floats, Floats, float]:
    """Joint components f with W^T f = forces (nb, 6), of least norm; unit self-stresses; what is left.

    Self-stresses are columns over the rows, moments over the mechanism's length; what is left is
    relative to the largest force or weight, moments over the length again.
    """
    e = equations
    weights = np.where(e.row_about, e.length, 1.0)
    side = e.scaled_forces(pose, forces)
    if e.columns <= SPARSE:
        z, free = _solve_dense(e, pose, side, weights)
    else:
        z, free = _solve_sparse(e, pose, side, weights)
    f = z * weights
    left = e.matrix(pose).T @ f - forces[:, e.used].ravel()
    arm = np.tile(np.where(np.array(e.used) > 2, e.length, 1.0), len(e.bodies))
    # in free fall no joint exerts anything: what is left is compared with the weight then
    weight = float(np.linalg.norm(e.gravity)) * float(e.masses.max())
    size = max(weight, float(np.abs(forces[:, e.used].ravel() / arm).max(initial=0.0)))
    return f, free, float(np.abs(left / arm).max(initial=0.0)) / (size or 1.0)


def _solve_dense(
    e: JointEquations, pose: Pose, side: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    scaled = e.scaled(pose)
    U, values, V = np.linalg.svd(scaled.matrix.toarray())
    rank = int(np.sum(values > e.tolerance))
    some = U[:, :rank] @ ((V[:rank] @ side) / values[:rank])
    z = scaled.named(some[:, None])[:, 0] / weights
    free = np.zeros((e.rows, 0))
    if rank < e.rows:
        free = np.linalg.qr(scaled.named(U[:, rank:]) / weights[:, None])[0]
        z = z - free @ (free.T @ z)
    return z, free


def _solve_sparse(
    e: JointEquations, pose: Pose, side: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """Least |z| with A z = side by proximal steps; self-stresses as projections of random vectors."""
    A = sparse.csr_array(e.weighted(pose).T @ sparse.diags_array(weights))
    sizes = np.sqrt((A.multiply(A)).sum(axis=1))
    sizes = np.where(sizes > 0, sizes, 1.0)
    A = sparse.csr_array(sparse.diags_array(1.0 / sizes) @ A)
    eps = 1e-10
    K = sparse.block_array(
        [[sparse.eye_array(e.rows), A.T], [A, -eps * sparse.eye_array(e.columns)]]
    )
    factor = splu(sparse.csc_array(K))

    def nearest(wish: Floats, right: Floats) -> Floats:
        """The nearest z to a wish with A z = right."""
        z, mu = wish, np.zeros(e.columns)
        for _ in range(6):
            both = factor.solve(np.concatenate([wish - z - A.T @ mu, right - A @ z]))
            z, mu = z + both[: e.rows], mu + both[e.rows :]
        return z

    z = nearest(np.zeros(e.rows), side / sizes)
    probes = np.random.default_rng(4).normal(size=(4, e.rows))
    free = [nearest(probe, np.zeros(e.columns)) for probe in probes]
    # what is left of a probe without any self-stress is rounding
    kept = [y / np.linalg.norm(y) for y in free if np.abs(y).max() > 1e-5]
    return z, np.array(kept).reshape(-1, e.rows).T


def _inertia_forces(
    e: JointEquations, bodies: BodyRows, q: Floats, v: Floats, a: Floats
) -> tuple[list[Pose], Floats]:
    """Pose at each output, and what the joints must exert on each body, (n, nb, 6)."""
    poses = read_poses(e, bodies, q)
    turns = np.array([pose.turns for pose in poses])
    w, w1 = read_spins(bodies, q, v, a)
    inertia = turns @ e.inertias @ np.swapaxes(turns, 2, 3)
    spin = np.einsum("tbij,tbj->tbi", inertia, w)
    forces = np.zeros((len(q), len(e.bodies), 6))
    forces[..., :3] = e.masses[:, None] * (read_rows(bodies.centers, a) - e.gravity)
    forces[..., 3:] = np.einsum("tbij,tbj->tbi", inertia, w1) + np.cross(w, spin)
    return poses, forces


def _columns(values: NDArray) -> NDArray:
    return np.atleast_2d(values.T)


def _letters(values: Floats) -> str:
    return "z" if values.ndim == 1 else "xyz"[: values.shape[1]]


def _word(unique: Flags) -> str:
    if np.all(unique):
        return "unique"
    shared = int(np.sum(~unique))
    return "shared" if shared == len(unique) else f"shared at {shared} of {len(unique)} outputs"
