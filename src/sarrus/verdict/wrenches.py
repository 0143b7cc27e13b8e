"""Joint components that balance given forces on the bodies, at a pose: W^T f = forces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from ..arrays import Floats
from ..kinematics.pose import BodyRows, Pose, read_poses, read_rows, read_spins
from ..names import unknown
from ..thresholds import NO_SELF_STRESS
from .joint_equations import JointEquations
from .loads import BodyMotion

Stiffness = Mapping[str, tuple[float, float]]

# larger systems are solved sparsely
SPARSE = 200
# joints without a stiffness are stiffer than all others by the square of this, in sparse solves
RIGID = 1e4


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
            sentence = f"stiffness of '{name}': no joint has that name"
            raise unknown(sentence, name, (*e.joints, *e.drives))
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
    kept = [y / np.linalg.norm(y) for y in free if np.abs(y).max() > NO_SELF_STRESS]
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
    poses = read_poses(equations.centers, bodies, q)
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
