"""Start velocities that the joints allow: fitted to given ones, or refused with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ..arrays import Flags, Floats, plain_sum
from ..kinematics.pose import read_spins
from ..mechanism import Mechanism, MechanismError, without_drives
from ..mechanism.elements import show
from ..thresholds import RANK_TOLERANCE, SAME_VELOCITY, TYPED_VELOCITY

if TYPE_CHECKING:
    from ..model import Model
    from ..model.rows import Rows


# systems up to this many equations are solved densely
DENSE = 600
# numbers whose squares are beyond the largest double
BEYOND = 1e150


def fit_velocities(m: Mechanism) -> list[str]:
    """Replace given velocities that the joints forbid by the nearest ones they allow; says which."""
    from ..verdict.joint_equations import make_joint_equations
    from ..verdict.mobility import velocity_rows

    if not (m.velocities or m.angular_velocities):
        return []
    equations = make_joint_equations(without_drives(m))
    pose = equations.start()
    rows, side = velocity_rows(equations, m)
    # joints come first: their equations weigh far more than what the user wishes
    D = sparse.csr_array(equations.scaled(pose).matrix)
    A = sparse.csr_array(sparse.vstack([1e5 * D, rows]))
    x = _least(sparse.eye_array(equations.columns), A)(np.append(np.zeros(D.shape[0]), side))
    taken = rows @ x
    points: list[tuple[str, Floats]] = []
    spins: list[tuple[str, Floats]] = []
    sentences: list[str] = []
    at = 0
    largest = float(np.abs(side).max())
    for name, given, out, unit in (
        *((n, v, points, "m/s") for n, v in m.velocities),
        *((n, v, spins, "rad/s") for n, v in m.angular_velocities),
    ):
        size = given.size
        value = taken[at : at + size].reshape(given.shape)
        at += size
        miss = float(np.abs(value - given).max())
        if miss > 0.1 * TYPED_VELOCITY * largest:
            sentences.append(
                f"the velocity of '{name}' was changed from {_show(given)} to {_show(value)} {unit}, "
                "the nearest that the joints allow there"
            )
            out.append((name, value))
        else:
            out.append((name, given))
    m.velocities, m.angular_velocities = points, spins
    return sentences


def solve_start_velocity(model: Model, mechanism: Mechanism) -> tuple[Floats, list[str]]:
    """Velocity of least kinetic energy with J v = phi0' and the given point velocities.

    Returns it in model units, and a note if the given velocities leave something open.
    """
    driven = bool(model.drive_rates.any())
    if not mechanism.velocities and not mechanism.angular_velocities and not driven:
        return np.zeros(model.coordinates), []
    wanted = list(_wanted(model, mechanism))
    small = model.equations + plain_sum(len(w.side) for w in wanted) <= DENSE
    J = model.start_jacobian() if small else model.jacobian()
    M = model.dense_mass() if small else model.mass_matrix()
    A = _stack([J, *(w.rows.dense() if small else w.rows.matrix for w in wanted)])
    b = np.concatenate([model.drive_rates, *(w.side for w in wanted)])
    least = _least(M, A)
    v = least(b)
    if driven:
        missed = float(np.abs(J @ _least(M, J)(model.drive_rates) - model.drive_rates).max())
        # 1e-14: where all rates are zero, rounding is allowed
        if missed > TYPED_VELOCITY * np.abs(model.drive_rates).max() + 1e-14:
            raise MechanismError(
                "the joints forbid the start rates of the drives "
                f"({', '.join(repr(d.name) for d in mechanism.drives)}): together they miss them by "
                f"{missed:.3g} of the mechanism's length a second. Drive fewer joints, or give motions "
                "that fit each other"
            )
    # a velocity of zero beside others is as exact as they are
    largest = max((w.size for w in wanted), default=0.0)
    misses = A @ v - b
    at = model.equations
    for w in wanted:
        if np.linalg.norm(misses[at : at + len(w.side)]) > TYPED_VELOCITY * largest + 1e-14:
            raise MechanismError(_forbidden(model, wanted))
        at += len(w.side)
    # the motion nearest to another one is the same only if nothing was left open
    size = float(np.abs(v).max(initial=0.0))
    other = _other(len(v)) * size
    other = other + least(b - A @ other)
    notes = []
    if wanted and np.abs(other - v).max(initial=0.0) > SAME_VELOCITY * size:
        notes.append(
            f"the velocities given leave the start open{_fixed(J, A)}; the motion of least kinetic energy "
            "was taken"
        )
    return v, [*notes, *_unused_spins(model, mechanism, v)]


def _unused_spins(model: Model, mechanism: Mechanism, v: Floats) -> Iterator[str]:
    """Given angular velocities that bodies do not have: about axes without inertia nothing turns."""
    rest = np.zeros((1, len(v)))
    for name, given in mechanism.angular_velocities:
        wanted = np.array([0.0, 0.0, float(given)]) if given.ndim == 0 else given
        spin = read_spins(model.body_rows.only(name), rest, v[None], rest)[0][0, 0]
        if np.linalg.norm(wanted - spin) > TYPED_VELOCITY * np.linalg.norm(wanted):
            yield (
                f"body '{name}' has no inertia about an axis that no joint fixes, so its spin about it is not "
                f"simulated: of the angular velocity given, {show(wanted - spin)} rad/s has no effect"
            )


def solve_start_velocities(
    M: Floats, J: Floats, rates: Floats, wanted: list[tuple[Floats, Floats, Floats]]
) -> tuple[Floats, Flags, Flags]:
    """The same for many models at once, (n, ...); rates: phi0'; wanted: rows, sides, sizes of given velocities.

    Returns the velocities, whether the joints allow them, and whether they leave something open.
    """
    n, equations = len(M), J.shape[1]
    A = np.concatenate([J, *(rows for rows, _, _ in wanted)], axis=1)
    b = np.concatenate([rates, *(side for _, side, _ in wanted)], axis=1)
    # what is no number is refused elsewhere; a rest of any mass stands for it here
    good = (np.abs(A) < BEYOND).all(axis=(1, 2)) & (np.abs(M) < BEYOND).all(axis=(1, 2))
    A = np.where(good[:, None, None], A, 0.0)
    M = np.where(good[:, None, None], M, np.eye(M.shape[1]))
    least = least_dense(M, A)
    v = least(b)
    largest = np.max([np.zeros(n), *(size for *_, size in wanted)], axis=0)
    driven = np.abs(rates).max(axis=1, initial=0.0)
    if driven.any():
        alone = least_dense(M, A[:, :equations])(rates)
        missed = np.abs((A[:, :equations] @ alone[..., None])[..., 0] - rates).max(axis=1)
        good &= missed <= TYPED_VELOCITY * driven + 1e-14
    misses, at = (A @ v[..., None])[..., 0] - b, equations
    for _, side, _ in wanted:
        part = misses[:, at : at + side.shape[1]]
        good &= ~(np.linalg.norm(part, axis=1) > TYPED_VELOCITY * largest + 1e-14)
        at += side.shape[1]
    size = np.abs(v).max(axis=1, initial=0.0)
    other = _other(v.shape[1]) * size[:, None]
    other = other + least(b - (A @ other[..., None])[..., 0])
    left_open = np.abs(other - v).max(axis=1, initial=0.0) > SAME_VELOCITY * size
    return v, good, left_open if wanted else np.zeros(n, bool)


@lru_cache(maxsize=8)
def _other(count: int) -> Floats:
    """Any velocity: always the same."""
    return np.random.default_rng(0).standard_normal(count)


def _fixed(J: Any, A: Any) -> str:
    """How many of the freedoms J leaves the rows of A fix, in words."""
    if A.shape[1] > DENSE:
        return ""
    rank, more = (
        int(
            np.linalg.matrix_rank(
                x if isinstance(x, np.ndarray) else x.toarray(), tol=RANK_TOLERANCE
            )
        )
        for x in (J, A)
    )
    return f": they fix {more - rank} of its {A.shape[1] - rank} freedoms"


def _stack(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.vstack(parts)
    return sparse.csr_array(sparse.vstack(parts))


@dataclass
class _Wanted:
    """One given velocity as linear equations rows v = side; `back` turns a miss into its unit.

    size: of what the sides were made of. A spin about a thin body's own line moves nothing: its side is rounding.
    """

    what: str
    values: Floats
    unit: str
    rows: Rows
    side: Floats
    back: Floats
    size: float


def _wanted(model: Model, mechanism: Mechanism) -> Iterator[_Wanted]:
    length = model.units.length
    for name, velocity in mechanism.velocities:
        rows = model.rows_of(name)
        rows = replace(rows, val=rows.val / length)
        what = f"velocity of point '{name}'"
        back = length * np.eye(len(velocity))
        side = velocity / length
        yield _Wanted(what, velocity, "m/s", rows, side, back, float(np.linalg.norm(side)))
    for name, rate in mechanism.angular_velocities:
        spin = np.array([0.0, 0.0, float(rate)]) if mechanism.dimension == 2 else rate
        rows, starts = model.spun[name]
        what = f"angular velocity of body '{name}'"
        # columns: what a unit spin about each axis does to the vectors of the body
        spins = np.array([np.cross(axis, starts).ravel() for axis in np.eye(3)]).T
        back = np.linalg.pinv(spins)
        size = float(np.linalg.norm(spin) * np.linalg.norm(starts))
        yield _Wanted(what, np.atleast_1d(rate), "rad/s", rows, spins @ spin, back, size)


def _forbidden(model: Model, wanted: list[_Wanted]) -> str:
    """Which given velocity the joints forbid most, and by how much."""
    # joints come first: their equations weigh far more than what the user wishes
    A = _stack([1e5 * model.jacobian(), *(w.rows.matrix for w in wanted)])
    b = np.concatenate([1e5 * model.drive_rates, *(w.side for w in wanted)])
    v = _least(model.mass_matrix(), A)(b)
    misses = [float(np.linalg.norm(w.back @ (w.rows.matrix @ v - w.side))) for w in wanted]
    miss, w = max(zip(misses, wanted, strict=True), key=lambda pair: pair[0])
    who = "the joints forbid" if len(wanted) == 1 else "the joints and the other velocities forbid"
    return (
        f"{w.what}: {who} ({', '.join(f'{x:g}' for x in w.values)}) {w.unit}; the nearest motion "
        f"they allow misses it by {miss:.6g} {w.unit}. Give a velocity along a possible motion, or "
        "fewer of them"
    )


def _least(M: Any, A: Any) -> Callable[[Floats], Floats]:
    """What minimises v^T M v subject to A v = b, in the least-squares sense where A v = b cannot be met."""
    if A.shape[0] <= DENSE:
        M, A = (x if isinstance(x, np.ndarray) else x.toarray() for x in (M, A))
        return least_dense(M, A)
    return _least_sparse(sparse.csr_array(M), sparse.csr_array(A))


def least_dense(M: Floats, A: Floats) -> Callable[[Floats], Floats]:
    """By singular values: dependent rows, and rows that nearly are, do no harm. Also for stacks of them."""
    most = np.einsum("...ii->...i", M).max(axis=-1, initial=1e-300)[..., None, None]
    # A v = b fixes v^T A^T A v, so adding it to the metric changes nothing but makes it definite
    H = M / most + np.swapaxes(A, -1, -2) @ A
    sizes, directions = np.linalg.eigh(H)
    least = 1e-15 * sizes.max(axis=-1, initial=0.0, keepdims=True)
    W = directions / np.sqrt(np.maximum(sizes, least))[..., None, :]
    back = np.linalg.pinv(A @ W, rcond=1e-13)
    return lambda b: np.asarray(W @ (back @ b[..., None]))[..., 0]


def _least_sparse(M: sparse.csr_array, A: sparse.csr_array) -> Callable[[Floats], Floats]:
    """By proximal iterations on a quasi-definite system: they tolerate dependent rows."""
    from scipy.sparse.linalg import splu

    eps = 1e-10
    H = sparse.csc_array(M / float(M.diagonal().max(initial=1e-300)) + A.T @ A)
    K = sparse.block_array([[H, A.T], [A, -eps * sparse.eye_array(A.shape[0])]])
    factor = splu(sparse.csc_array(K))

    def least(b: Floats) -> Floats:
        v, y = np.zeros(A.shape[1]), np.zeros(A.shape[0])
        before = np.inf
        for _ in range(300):
            solution = factor.solve(np.concatenate([A.T @ b, b - eps * y]))
            step = float(np.abs(solution[: len(v)] - v).max())
            v, y = solution[: len(v)], solution[len(v) :]
            if step <= 1e-15 * np.abs(v).max() or step >= before:
                break
            before = step
        return v

    return least


def _show(values: Floats) -> str:
    return "(" + ", ".join(f"{v:.6g}" for v in np.atleast_1d(values)) + ")"
