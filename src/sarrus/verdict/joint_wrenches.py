"""Joint components that balance given forces on the bodies, at a configuration: W^T f = forces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import qr
from scipy.sparse.linalg import splu

from ..arrays import Floats, Ints
from ..kernels.compiler import COMPILES
from ..kernels.wrench_solve import Answers, OrderedRows, make_wrench_room, solve_poses
from ..kinematics.configuration import BodyRows, Pose, read_rows, read_spins, read_turns
from ..names import unknown
from ..thresholds import NO_SELF_STRESS, SAME_RANK, WEAK_ORDER
from .applied_wrenches import BodyMotion
from .joint_equations import JointEquations
from .rank import BodyScale, Scaled

Stiffness = Mapping[str, tuple[float, float]]

# systems with more columns use sparse solvers
SPARSE = 200
# number of equation orderings tried before configurations are solved individually
ORDERS = 3
# in sparse solves, joints without a stiffness are stiffer than all others by the square of this
RIGID = 1e4


@dataclass(frozen=True)
class Wrenches:
    """Joint components at n configurations, (n, rows), and what belongs to them.

    The fields are unit self-stresses of each, (rows, k), with moments divided by the length; smallest nonzero
    singular values; residuals relative to the largest force or weight; directions of the rows, (n, rows, 3);
    offsets: from the reference points of reactions to those of each pair's equations (`PairsAt.offsets`), (n,
    pairs, 3).
    """

    values: Floats
    self_stress: list[Floats]
    smallest: Floats
    imbalance: Floats
    directions: Floats
    offsets: Floats


def solve_wrenches(
    equations: JointEquations,
    poses: Pose,
    forces: Floats,
    stiffness: Floats | None = None,
    sizes: Floats | float = 0.0,
) -> Wrenches:
    """Joint components f with W^T f = forces (n, nb, 6), of least norm or least elastic energy.

    poses: n of them, (n, nb, 3) and (n, nb, 3, 3); stiffness: of each row, inf if rigid; sizes: magnitudes of the
    terms whose difference the forces are, if larger.
    """
    e, n = equations, len(forces)
    copies = _Copies(e, n)
    side = copies.all.scaled_forces(copies.pose(poses), forces.reshape(-1, 6)).reshape(n, -1)
    at = copies.all.at(copies.pose(poses))
    directions = copies.all._directions(at)
    entries = copies.all._entries(at, directions)
    if e.columns > SPARSE:
        f, free, smallest = _solve_sparse(e, poses, side, stiffness)
    else:
        weighted = copies.all._weigh(at, entries)
        f, free, smallest = _solve_dense(e, poses, side, stiffness, weighted)
    used = forces[:, :, e.used].reshape(n, -1)
    left = copies.balance(entries, f) - used
    arm = np.tile(np.where(np.array(e.used) > 2, e.length, 1.0), len(e.bodies))
    # in free fall the joints exert nothing: the residual is then compared with the weight
    weight = float(np.linalg.norm(e.gravity)) * float(e.masses.max())
    largest = np.maximum(np.abs(used / arm).max(axis=1, initial=weight), sizes)
    rest = np.abs(left / arm).max(axis=1, initial=0.0)
    imbalance = rest / np.where(largest > 0, largest, 1.0)
    return Wrenches(
        values=f,
        self_stress=free,
        smallest=smallest,
        imbalance=imbalance,
        directions=directions.reshape(n, -1, 3),
        offsets=at.offsets.reshape(n, -1, 3),
    )


class _Copies:
    """One mechanism at n configurations, as a mechanism of n copies of its bodies at one configuration."""

    def __init__(self, e: JointEquations, n: int) -> None:
        self.one, self.n = e, n
        nb, pairs = len(e.bodies), len(e.pair_joint)
        step = np.arange(n)[:, None]
        bodies = e.pair_bodies + nb * step[:, :, None] * (e.pair_bodies >= 0)
        scale = BodyScale(
            np.append(np.tile(e._scale.linear[:-1], n), e._scale.linear[-1]),
            np.concatenate([np.tile(e._scale.angular[:-1], (n, 1, 1)), e._scale.angular[-1:]]),
        )
        many: dict[str, Any] = {
            name: np.tile(getattr(e, name), (n, 1))
            for name in (
                "centers",
                "pair_place",
                "pair_axis",
                "pair_other_place",
                "pair_other_axis",
            )
        } | {
            name: np.tile(getattr(e, name), n)
            for name in (
                "pair_joint",
                "masses",
                "row_about",
                "row_direction",
                "row_drive",
                "row_ratio",
                "reach",
            )
        }
        self.all = replace(
            e,
            bodies=e.bodies * n,
            pair_bodies=bodies.reshape(-1, 2),
            inertias=np.tile(e.inertias, (n, 1, 1)),
            row_pair=(e.row_pair + pairs * step).ravel(),
            row_other=np.where(e.row_other >= 0, e.row_other + pairs * step, -1).ravel(),
            _scale=scale,
            **many,
        )

    def pose(self, poses: Pose) -> Pose:
        """The n configurations as the single one of all copies."""
        return Pose(poses.centers.reshape(-1, 3), poses.turns.reshape(-1, 3, 3))

    def stack(self, scaled: Scaled) -> Floats:
        """The matrices of all configurations, (n, rows, columns)."""
        e, matrix = self.one, scaled.matrix.tocoo()
        row, column = matrix.coords
        out = np.zeros((self.n, e.rows, e.columns))
        out[row // e.rows, row % e.rows, column % e.columns] = matrix.data
        return out

    def named(self, scaled: Scaled, left: Floats, which: Ints) -> Floats:
        """Combinations of the scaled rows at some poses, (poses, rows, k), as those of the named rows."""
        out = np.zeros_like(left)
        for rows, R in scaled.blocks:
            first = rows[: len(rows) // self.n]
            own = R.reshape(self.n, *first.shape, -1)[which]
            out[:, first] = np.linalg.solve(own, left[:, first])
        return out

    def balance(self, entries: Floats, f: Floats) -> Floats:
        """W^T f at all configurations, (n, columns); entries: of the rows over twists."""
        e = self.one
        parts = (
            entries.reshape(self.n, e.rows, *entries.shape[1:])[..., e.used] * f[:, :, None, None]
        )
        # an additional body after the others receives the entries of the ground
        out = np.zeros((self.n, len(e.bodies) + 1, e.columns_a_body))
        for row, bodies in enumerate(e.row_bodies):
            for end, body in enumerate(bodies):
                out[:, body] += parts[:, row, end]
        return out[:, :-1].reshape(self.n, -1)


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
    e: JointEquations, poses: Pose, side: Floats, stiffness: Floats | None, weighted: Floats
) -> tuple[Floats, list[Floats], Floats]:
    """Components, self-stresses and smallest singular values.

    Configurations of equal rank are solved in SIMD lanes, the others individually. weighted: the rows over scaled
    twists, of all configurations one after the other.
    """
    n, weights = len(side), _row_weights(e)
    values, smallest = np.zeros((n, e.rows)), np.ones(n)
    stress = [np.zeros((e.rows, 0))] * n
    todo = np.arange(n)
    for _ in range(ORDERS if COMPILES and e.rows else 0):
        if not len(todo):
            break
        middle = todo[len(todo) // 2]
        order = _find_order(e, Pose(poses.centers[middle], poses.turns[middle]))
        if order is None:
            break
        found = Answers(
            np.empty((n, e.rows)),
            np.empty((n, e.rows, e.rows - len(order.last))),
            np.empty(n),
            np.empty((n, 3)),
        )
        room = make_wrench_room(order, e.columns)
        solve_poses(order, room, weighted, side, todo, e.tolerance, found)
        zeros, rest, growth = found.flags[todo].T
        # written so that NaN is rejected
        good = (zeros == 0.0) & (rest <= SAME_RANK * e.tolerance) & (growth <= WEAK_ORDER)
        at = todo[good]
        free = found.stress[at]
        values[at] = _soften(found.values[at], free, weights, stiffness) * weights
        smallest[at] = found.smallest[at]
        for t, own in zip(at, free, strict=True):
            stress[t] = own
        todo = todo[~good]
    if len(todo):
        some = Pose(poses.centers[todo], poses.turns[todo])
        values[todo], own, smallest[todo] = _solve_stack(e, some, side[todo], stiffness)
        for t, found_here in zip(todo, own, strict=True):
            stress[t] = found_here
    return values, stress, smallest


def _find_order(e: JointEquations, pose: Pose) -> OrderedRows | None:
    """Rows that are independent at a configuration, and those that depend on them; None without any."""
    A = e.scaled_dense(pose)
    rank = int((np.linalg.svd(A, compute_uv=False) > e.tolerance).sum())
    if not rank:
        return None
    bodies = e.row_bodies
    width = e.columns_a_body
    begin = width * np.where(bodies < 0, len(e.bodies), bodies).min(axis=1)
    end = width * (bodies.max(axis=1) + 1)
    pivots = qr(A.T, mode="r", pivoting=True)[1]
    independent = pivots[:rank]
    # rows in the order of their bodies, so that fill-in of the reflections stays close to the diagonal
    independent = independent[np.lexsort((end[independent], begin[independent]))]
    place = np.empty(e.rows, dtype=np.int64)
    place[np.append(independent, pivots[rank:])] = np.arange(e.rows)
    starts, ends = begin[independent], end[independent] - 1
    last, upto = np.zeros((2, rank), dtype=np.int64)
    for j in range(rank):
        last[j] = max(j, ends[j])
        upto[j] = max(j, np.searchsorted(starts, last[j], side="right") - 1)
        ends[j : upto[j] + 1] = np.maximum(ends[j : upto[j] + 1], last[j])
    first = np.searchsorted(e.row_pair, e.row_pair)
    used = np.array(e.used, dtype=np.int64)
    return OrderedRows(bodies, place, first, begin, end, used, last, upto, _row_weights(e))


def _solve_stack(
    e: JointEquations, poses: Pose, side: Floats, stiffness: Floats | None
) -> tuple[Floats, list[Floats], Floats]:
    """The same by singular vectors at each configuration."""
    n = len(side)
    copies, weights = _Copies(e, n), _row_weights(e)
    scaled = copies.all.scaled(copies.pose(poses))
    matrices = copies.stack(scaled)
    values = np.linalg.svd(matrices, compute_uv=False)
    ranks = (values > e.tolerance).sum(axis=1)
    z, stress = np.zeros((n, e.rows)), [np.zeros((e.rows, 0))] * n
    # 1 if there is no nonzero value, as without joints
    smallest = np.column_stack([np.ones(n), values])[np.arange(n), ranks]
    for rank in np.unique(ranks):
        at = np.flatnonzero(ranks == rank)
        U, own, V = np.linalg.svd(matrices[at])
        parts = V[:, :rank] @ side[at, :, None] / own[:, :rank, None]
        z[at] = copies.named(scaled, U[:, :, :rank] @ parts, at)[:, :, 0] / weights
        free = copies.named(scaled, U[:, :, rank:], at) / weights[:, None]
        free = np.linalg.qr(free)[0]
        least = z[at] - np.einsum("tri,tsi,ts->tr", free, free, z[at], optimize=True)
        z[at] = _soften(least, free, weights, stiffness)
        for t, found in zip(at, free, strict=True):
            stress[t] = found
    return z * weights, stress, smallest


def _soften(z: Floats, free: Floats, weights: Floats, stiffness: Floats | None) -> Floats:
    """From least norm to least elastic energy, (n, rows): the same balance with other self-stresses."""
    if stiffness is None or not free.shape[2]:
        return z
    # the part of the self-stresses that the elastic joints determine; the rest remains of least norm
    soft = weights / np.sqrt(stiffness)
    soft /= soft.max() or 1.0
    inverse = np.linalg.pinv(soft[:, None] * free, rcond=1e-12)
    return z - np.einsum("tri,tis,ts->tr", free, inverse, soft * z, optimize=True)


def _row_weights(e: JointEquations) -> Floats:
    """Weights of rows: moments count as forces at a distance of the mechanism's length."""
    return np.where(e.row_about, e.length, 1.0)


def _solve_sparse(
    e: JointEquations, poses: Pose, side: Floats, stiffness: Floats | None
) -> tuple[Floats, list[Floats], Floats]:
    """Solve configurations one by one: a single large mechanism already uses the whole machine."""
    found = [
        _solve_sparse_one(e, Pose(poses.centers[t], poses.turns[t]), side[t], stiffness)
        for t in range(len(side))
    ]
    values, stress, smallest = zip(*found, strict=True)
    return np.array(values), list(stress), np.array(smallest)


def _solve_sparse_one(
    e: JointEquations, pose: Pose, side: Floats, stiffness: Floats | None
) -> tuple[Floats, Floats, float]:
    """Solve one configuration; self-stresses are projections of random vectors."""
    weights = _row_weights(e)
    least = _LeastNorm(e, pose, weights)
    z = least.nearest(np.zeros(e.rows), side)
    rng = np.random.default_rng(4)
    free = [least.nearest(probe, np.zeros(e.columns)) for probe in rng.normal(size=(4, e.rows))]
    # without any self-stress, the remainder of a probe is rounding
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
    """The z nearest to a target with A z = right, by proximal steps; f = weights z, A z = D^T W^T f."""

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

    def nearest(self, target: Floats, right: Floats) -> Floats:
        """The z nearest to the target `wish` with A z = right."""
        z, mu = target, np.zeros(self.columns)
        for _ in range(6):
            z1, mu1 = self._solve(target - z - self.A.T @ mu, right / self.sizes - self.A @ z)
            z, mu = z + z1, mu + mu1
        return z

    def estimate_smallest(self, y: Floats) -> float:
        """The smallest nonzero singular value of A, by iteration with its pseudo-inverse."""
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
    spins, spin_rates = read_spins(bodies, q, v, a)
    return BodyMotion(
        times=times,
        centers=equations.centers + read_rows(bodies.centers, q),
        turns=read_turns(bodies, q),
        velocities=read_rows(bodies.centers, v),
        accelerations=read_rows(bodies.centers, a),
        spins=spins,
        spin_rates=spin_rates,
    )


def inertia_forces(e: JointEquations, motion: BodyMotion) -> Floats:
    """m (a - g) and I w' + w x I w of each body, (n, nb, 6): the sum of all other forces on it."""
    w, w1 = motion.spins, motion.spin_rates
    inertia = motion.turns @ e.inertias @ np.swapaxes(motion.turns, 2, 3)
    spin = np.einsum("tbij,tbj->tbi", inertia, w)
    forces = np.zeros((*w.shape[:2], 6))
    forces[..., :3] = e.masses[:, None] * (motion.accelerations - e.gravity)
    forces[..., 3:] = np.einsum("tbij,tbj->tbi", inertia, w1) + np.cross(w, spin)
    return forces
