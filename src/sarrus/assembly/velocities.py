"""Initial velocities that satisfy the constraints: fitted to the given ones, or rejected with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy
from scipy import sparse
from scipy.linalg import null_space

from .. import verdict
from ..arrays import Flags, Floats, plain_sum
from ..kinematics.configuration import read_spins
from ..mechanism import Mechanism, MechanismError, without_drives
from ..mechanism.elements import show
from ..mechanism.motion import make_pieces
from ..model.rows import Rows
from ..thresholds import RANK_TOLERANCE, SAME_VELOCITY, TYPED_VELOCITY

if TYPE_CHECKING:
    from ..model import Model
    from ..verdict.joint_equations import JointEquations


# systems up to this number of equations are solved densely
DENSE = 600
# singular values below this share of the largest are rounding
SINGULAR = 1e-13
# larger numbers have squares beyond the largest double
BEYOND = 1e150


def fit_velocities(m: Mechanism) -> list[str]:
    """Replace given velocities that the joints forbid by the nearest admissible ones; returns the changes."""
    if not (m.velocities or m.angular_velocities):
        return []
    equations = verdict.joint_equations.make_joint_equations(without_drives(m))
    pose = equations.start()
    rows, side = verdict.mobility.velocity_rows(equations, m)
    # joint equations have a far larger weight than the desired velocities
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
                f"the velocity of '{name}' was changed from {show(given)} to {show(value)} {unit}, "
                "the nearest that the joints allow there"
            )
            out.append((name, value))
        else:
            out.append((name, given))
    m.velocities, m.angular_velocities = points, spins
    return sentences


class StartVelocity(NamedTuple):
    """An initial velocity in model units, notes on it, and whether it depends on the masses."""

    velocity: Floats
    notes: list[str]
    uses_masses: bool


def solve_start_velocity(model: Model, mechanism: Mechanism) -> tuple[Floats, list[str]]:
    """The initial velocity of a model and notes on it, see `solve_start`."""
    found = solve_start(model, mechanism)
    return found.velocity, found.notes


def solve_start(model: Model, mechanism: Mechanism) -> StartVelocity:
    """Velocity of minimal kinetic energy with J v = phi0' and the given point velocities.

    A note states if the given velocities do not determine the motion; otherwise it does not depend on the masses.
    """
    driven = bool(model.drive_rates.any())
    if not mechanism.velocities and not mechanism.angular_velocities and not driven:
        return StartVelocity(np.zeros(model.coordinates), [], False)
    wanted = list(_wanted(model, mechanism))
    if model.equations + plain_sum(len(w.side) for w in wanted) <= DENSE:
        found = _solve_dense(model, wanted)
    else:
        found = _solve_sparse(model, wanted)
    if found.missed is not None:
        raise MechanismError(_contradiction(mechanism))
    if not found.fits:
        raise MechanismError(_forbidden(model, wanted))
    notes = []
    if found.is_open:
        notes.append(
            f"the given velocities do not determine the initial velocity{_fixed(model, wanted)}; the one of least "
            "kinetic energy was used"
        )
    notes += _unused_spins(model, mechanism, found.velocity)
    return StartVelocity(found.velocity, notes, found.uses_masses)


def _contradiction(mechanism: Mechanism) -> str:
    """States the initial drive rates that the joints do not allow together, and the nearest admissible ones."""
    equations = verdict.joint_equations.make_joint_equations(mechanism)
    what = "the joints do not allow the start rates of the drives together"
    rates = {d.name: float(make_pieces(d.motion).rate(0.0)) for d in mechanism.drives}
    kinds = {j.name: j.kind.row.coordinate for j in mechanism.joints}
    units = {d.name: "rad/s" if kinds[d.joint] == "angle" else "m/s" for d in mechanism.drives}
    nearest = _nearest_rates(equations, rates, units)
    listed = [
        f"'{name}' {rate:.4g} {units[name]}"
        + (f" (possible: {nearest[name]:.4g})" if name in nearest else "")
        for name, rate in rates.items()
    ]
    return f"{what}: {', '.join(listed)}. Drive fewer joints, or give motions that fit each other"


def _nearest_rates(
    equations: JointEquations, rates: dict[str, float], units: dict[str, str]
) -> dict[str, float]:
    """The admissible rates nearest to those of the drives; lengths are relative to the length of the mechanism."""
    if equations.columns > DENSE:
        return {}
    W = equations.matrix(equations.start()).toarray()
    mine = equations.row_drive >= 0
    names = [equations.drives[k] for k in equations.row_drive[mine]]
    scale = np.array([1.0 if units[n] == "rad/s" else 1.0 / equations.length for n in names])
    free = W[mine] @ null_space(W[~mine])
    given = np.array([rates[name] for name in names])
    best, *_ = np.linalg.lstsq(scale[:, None] * free, scale * given)
    return dict(zip(names, (free @ best).tolist(), strict=True))


def _unused_spins(model: Model, mechanism: Mechanism, v: Floats) -> Iterator[str]:
    """Given angular velocities that bodies do not have: a body does not spin about an axis without inertia."""
    rest = np.zeros((1, len(v)))
    # a spin that is rounding of the others is none
    fastest = max((float(np.linalg.norm(w)) for _, w in mechanism.angular_velocities), default=0.0)
    for name, given in mechanism.angular_velocities:
        wanted = np.array([0.0, 0.0, float(given)]) if given.ndim == 0 else given
        spin = read_spins(model.body_rows.only(name), rest, v[None], rest)[0][0, 0]
        if np.linalg.norm(wanted - spin) > TYPED_VELOCITY * fastest:
            yield (
                f"body '{name}' has no inertia about an axis that no joint fixes, so its spin about it is not "
                f"simulated: of the angular velocity given, {show(wanted - spin)} rad/s has no effect"
            )


class _Solved(NamedTuple):
    """An initial velocity, the deviation of drives from their rates (None: they match), whether the given
    velocities are met, whether they leave the motion undetermined, and whether masses were used.
    """

    velocity: Floats
    missed: float | None
    fits: bool
    is_open: bool
    uses_masses: bool


def _solve_dense(model: Model, wanted: list[_Wanted]) -> _Solved:
    """Uses the solver of ensembles, so that a single run starts with the same bits as in an ensemble."""
    masses: list[Floats] = []

    def mass() -> Floats:
        masses.append(model.dense_mass()[None])
        return masses[-1]

    found = solve_start_velocities(
        mass,
        model.start_jacobian()[None],
        model.drive_rates[None],
        [(w.rows.dense()[None], w.side[None], np.array([w.size])) for w in wanted],
    )
    missed = None if found.drives_fit[0] else float(found.missed[0])
    return _Solved(
        found.velocity[0], missed, bool(found.fits[0]), bool(found.is_open[0]), bool(masses)
    )


def _solve_sparse(model: Model, wanted: list[_Wanted]) -> _Solved:
    """The same for large mechanisms."""
    J, M, rates = model.jacobian(), model.mass_matrix(), model.drive_rates
    A = sparse.csr_array(sparse.vstack([J, *(w.rows.matrix for w in wanted)]))
    b = np.concatenate([rates, *(w.side for w in wanted)])
    least = _least(M, A)
    v = least(b)
    missed = 0.0
    if rates.any():
        missed = float(np.abs(J @ _least(M, J)(rates) - rates).max())
    largest = max((w.size for w in wanted), default=0.0)
    misses = np.split(A @ v - b, np.cumsum([len(rates), *(len(w.side) for w in wanted)]))[1:-1]
    # the motion nearest to a different one is the same only if the motion is determined
    size = float(np.abs(v).max(initial=0.0))
    other = np.random.default_rng(0).standard_normal(len(v)) * size
    other = other + least(b - A @ other)
    return _Solved(
        velocity=v,
        missed=missed if missed > _allowed(np.abs(rates).max(initial=0.0)) else None,
        fits=all(np.linalg.norm(miss) <= _allowed(largest) for miss in misses),
        is_open=bool(wanted) and bool(np.abs(other - v).max(initial=0.0) > SAME_VELOCITY * size),
        uses_masses=True,
    )


def _allowed(size: Any) -> Any:
    """Accepted deviation of a typed velocity; 1e-14 is rounding, if all velocities are zero."""
    return TYPED_VELOCITY * size + 1e-14


class StartVelocities(NamedTuple):
    """Initial velocities (n, coordinates) of n models.

    fits: the joints allow the given velocities; missed: deviation of drives from their rates; drives_fit: this
    deviation is rounding; is_open: the given velocities do not determine the motion.
    """

    velocity: Floats
    fits: Flags
    missed: Floats
    drives_fit: Flags
    is_open: Flags


def solve_start_velocities(
    M: Callable[[], Floats], J: Floats, rates: Floats, wanted: list[tuple[Floats, Floats, Floats]]
) -> StartVelocities:
    """Velocities of minimal kinetic energy with J v = phi0' and the given ones, for n models (n, ...).

    M: returns the mass matrices, which are needed only if the motion is not determined; rates: phi0'; wanted:
    rows, right sides and sizes of given velocities. Arrays common to all models may have one row, which is
    decomposed once.
    """
    equations = J.shape[1]
    A = _side_by_side([J, *(rows for rows, _, _ in wanted)])
    b = _side_by_side([rates, *(side for _, side, _ in wanted)])
    # values that are not finite are rejected elsewhere; zeros replace them here
    good: Flags = np.abs(A).reshape(len(A), -1).max(axis=1, initial=0.0) < BEYOND
    if not good.all():
        A = np.where(good[:, None, None], A, 0.0)
    v, is_open = least_dense(M, A, b)
    missed, drives_fit = np.zeros(1), np.ones(1, bool)
    if rates.any():
        alone, _ = least_dense(M, A[:, :equations], rates)
        missed = np.abs(_times(A[:, :equations], alone) - rates).max(axis=1)
        drives_fit = missed <= _allowed(np.abs(rates).max(axis=1))
    # a zero velocity among others is as accurate as they are
    allowed = _allowed(reduce(np.maximum, (size for *_, size in wanted), np.zeros(1)))
    misses, at = _times(A, v) - b, equations
    for _, side, _ in wanted:
        part = misses[:, at : at + side.shape[1]]
        good = good & ~(np.sqrt((part * part).sum(axis=1)) > allowed)
        at += side.shape[1]
    if is_open.any():
        is_open = is_open & (v != 0.0).any(axis=1) & bool(wanted)
    return StartVelocities(v, good, missed, drives_fit, is_open)


def _side_by_side(parts: list[Floats]) -> Floats:
    """Concatenate equations of the same models; parts with one row belong to all models."""
    n = max(map(len, parts))
    if n == 1:
        return np.concatenate(parts, axis=1)
    whole = (x if len(x) == n else np.broadcast_to(x, (n, *x.shape[1:])) for x in parts)
    return np.concatenate(list(whole), axis=1)


def _times(A: Floats, x: Floats) -> Floats:
    """A x for each model, as matrices times columns, so that one model alone gives the same bits as in a batch."""
    return np.asarray(A @ x[..., None])[..., 0]


def _fixed(model: Model, wanted: list[_Wanted]) -> str:
    """How many of the degrees of freedom the given velocities determine, in words."""
    if model.coordinates > DENSE:
        return ""
    J = model.start_jacobian()
    A = np.vstack([J, *(w.rows.dense() for w in wanted)])
    rank, more = (int(np.linalg.matrix_rank(x, tol=RANK_TOLERANCE)) for x in (J, A))
    return f": they fix {more - rank} of its {model.coordinates - rank} degrees of freedom"


@dataclass
class _Wanted:
    """One given velocity as linear equations rows v = side; `back` makes the conversion to its unit.

    size: size of the terms of the sides. A spin about the axis of a thin body moves nothing: its side is rounding.
    """

    what: str
    values: Floats
    unit: str
    rows: Rows
    side: Floats
    back: Callable[[], Floats]
    size: float


def _wanted(model: Model, mechanism: Mechanism) -> Iterator[_Wanted]:
    length = model.units.length
    for name, velocity in mechanism.velocities:
        rows = model.rows_of(name)
        rows = Rows(rows.start, rows.col, rows.val / length, rows.columns)
        what = f"velocity of point '{name}'"
        side = velocity / length
        back = partial(_in_metres, length, len(side))
        yield _Wanted(what, velocity, "m/s", rows, side, back, float(np.linalg.norm(side)))
    for name, rate in mechanism.angular_velocities:
        spin = np.array([0.0, 0.0, float(rate)]) if mechanism.dimension == 2 else rate
        rows, starts = model.spun[name]
        what = f"angular velocity of body '{name}'"
        size = float(np.linalg.norm(spin) * np.linalg.norm(starts))
        side = np.cross(spin, starts).ravel()
        back = partial(_spin_of, starts)
        yield _Wanted(what, np.atleast_1d(rate), "rad/s", rows, side, back, size)


def _in_metres(length: float, size: int) -> Floats:
    """The matrix that converts a velocity of the model to m/s."""
    return length * np.eye(size)


def _spin_of(starts: Floats) -> Floats:
    """The matrix that computes the spin of a body from the rates of its vectors."""
    # columns: rates of the vectors of the body for a unit spin about each axis
    return np.linalg.pinv(np.array([np.cross(axis, starts).ravel() for axis in np.eye(3)]).T)


def _forbidden(model: Model, wanted: list[_Wanted]) -> str:
    """The given velocity with the largest violation of the joints, and its size, in words."""
    # joint equations have a far larger weight than the desired velocities
    A = sparse.csr_array(sparse.vstack([1e5 * model.jacobian(), *(w.rows.matrix for w in wanted)]))
    b = np.concatenate([1e5 * model.drive_rates, *(w.side for w in wanted)])
    v = _least(model.mass_matrix(), A)(b)
    misses = [float(np.linalg.norm(w.back() @ (w.rows.matrix @ v - w.side))) for w in wanted]
    miss, w = max(zip(misses, wanted, strict=True), key=lambda pair: pair[0])
    reason = (
        "the joints forbid" if len(wanted) == 1 else "the joints and the other velocities forbid"
    )
    return (
        f"{w.what}: {reason} ({', '.join(f'{x:g}' for x in w.values)}) {w.unit}; the nearest motion "
        f"they allow misses it by {miss:.6g} {w.unit}. Give a velocity along a possible motion, or "
        "fewer of them"
    )


def _least(M: Any, A: Any) -> Callable[[Floats], Floats]:
    """A solver that minimises v^T M v subject to A v = b, or to its least-squares solution if it has none."""
    if A.shape[0] <= DENSE:
        m, a = (sparse.csr_array(x).toarray()[None] for x in (M, A))
        return lambda b: least_dense(lambda: m, a, b[None])[0][0]
    return _least_sparse(sparse.csr_array(M), sparse.csr_array(A))


def least_dense(M: Callable[[], Floats], A: Floats, b: Floats) -> tuple[Floats, Flags]:
    """Minimise v^T M v subject to A v = b for n systems (n, ...); also returns whether A leaves v undetermined.

    Uses the singular values of A, so dependent and nearly dependent rows are harmless. A^+ b is the complete
    solution if A determines it, independent of the masses; otherwise its component in the null space of A is
    adjusted.
    """
    rows, columns = A.shape[1:]
    U, sizes, V = np.linalg.svd(A)
    # singular values are in decreasing order
    kept = sizes > SINGULAR * sizes[:, :1]
    most, complete = min(rows, columns), bool(kept.all())
    none = np.zeros_like(sizes)
    inverse = 1.0 / sizes if complete else np.divide(1.0, sizes, out=none, where=kept)
    v = _times(V[:, :most].swapaxes(1, 2), inverse * _times(U[..., :most].swapaxes(1, 2), b))
    if most == columns and complete:
        return v, np.zeros(len(A), dtype=bool)
    null = np.ones((len(A), columns), dtype=bool)
    null[:, :most] = ~kept
    N, H = V * null[..., None], M()
    H = np.where(np.all(np.abs(H) < BEYOND, axis=(1, 2))[:, None, None], H, np.eye(columns))
    H = H / np.einsum("...ii->...i", H).max(axis=-1, initial=1e-300)[..., None, None]
    HN = H @ np.swapaxes(N, 1, 2)
    # the identity replaces the block of directions that A determines
    inside = N @ HN + np.where(null, 0.0, 1.0)[..., None] * np.eye(columns)
    share = _times(
        np.linalg.pinv(inside, rcond=1e-15, hermitian=True), _times(np.swapaxes(HN, 1, 2), v)
    )
    return v - _times(np.swapaxes(N, 1, 2), share), np.any(null, axis=1)


def _least_sparse(M: sparse.csr_array, A: sparse.csr_array) -> Callable[[Floats], Floats]:
    """Uses proximal iterations on a quasi-definite system, which tolerate dependent rows."""
    eps = 1e-10
    H = sparse.csc_array(M / float(M.diagonal().max(initial=1e-300)) + A.T @ A)
    K = sparse.block_array([[H, A.T], [A, -eps * sparse.eye_array(A.shape[0])]])
    factor = scipy.sparse.linalg.splu(sparse.csc_array(K))

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
