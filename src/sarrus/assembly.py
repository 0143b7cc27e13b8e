"""Consistent start: loops closed from approximate positions, and velocities that the joints allow.

How loops are closed: verdict/closing.py and docs/assembly.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .arrays import Flags, Floats
from .mechanism import (
    Body,
    Gap,
    Mechanism,
    MechanismError,
    check_mechanism,
    find_gaps,
    loosen_rods,
    move_bodies,
    without_drives,
)

if TYPE_CHECKING:
    from .model import Model
    from .verdict.closing import Closing
    from .verdict.joint_equations import JointEquations


# a given velocity may differ by this much of itself from what the joints allow: typed decimals
ALLOWED = 1e-8
# systems up to this many equations are solved densely
DENSE = 600


@dataclass(frozen=True, eq=False)
class Assembly:
    """A closed mechanism and how it was closed.

    mechanism: a new one, written at the closed position; moved [m]: how far the centre of the body
    `moved_body` went, turned [rad]: how far `turned_body` turned, both the largest; distance [m]: length of
    the whole displacement, which is least, as weighted; gaps_before, gaps_after: of each joint; velocities:
    sentences on given velocities that had to change; start: 0 if it was reached from the given position, else
    the number of the random start that led here.
    """

    mechanism: Mechanism = field(repr=False)
    moved: float
    moved_body: str
    turned: float
    turned_body: str
    distance: float
    iterations: int
    gaps_before: dict[str, Gap] = field(repr=False)
    gaps_after: dict[str, Gap] = field(repr=False)
    velocities: tuple[str, ...] = ()
    start: int = 0

    @property
    def gap_before(self) -> Gap:
        """The largest gap of all joints before."""
        return _largest(self.gaps_before)

    @property
    def gap_after(self) -> Gap:
        """The largest gap of all joints afterwards: rounding, or what the allowed misfit bridges."""
        return _largest(self.gaps_after)

    @property
    def unmoved(self) -> bool:
        """Whether the mechanism was closed already and nothing was touched."""
        return self.iterations == 0

    def __str__(self) -> str:
        if self.unmoved:
            return f"'{self.mechanism.name}' is assembled as it stands; nothing was moved"
        how = f" from random start {self.start}" if self.start else ""
        text = (
            f"'{self.mechanism.name}' was assembled{how} in {self.iterations} steps: the largest gap was "
            f"{self.gap_before} and is {self.gap_after}; bodies moved by at most {self.moved:.6g} m "
            f"('{self.moved_body}') and turned by at most {self.turned:.6g} rad ('{self.turned_body}')"
        )
        return "; ".join([text, *self.velocities])

    def as_dict(self) -> dict[str, Any]:
        """The record as plain numbers and words, for JSON."""
        return {
            "mechanism": self.mechanism.name,
            "moved": self.moved,
            "moved_body": self.moved_body,
            "turned": self.turned,
            "turned_body": self.turned_body,
            "distance": self.distance,
            "iterations": self.iterations,
            "start": self.start,
            "gaps_before": {n: [g.metres, g.radians] for n, g in self.gaps_before.items()},
            "gaps_after": {n: [g.metres, g.radians] for n, g in self.gaps_after.items()},
            "velocities": list(self.velocities),
        }


class AssemblyError(MechanismError):
    """A mechanism that cannot be closed.

    nearest: the mechanism where its gaps are least (sum of squares, radians times the mechanism's length),
    the places of its joints still apart; gaps: of each joint there; loop: its joints, from the worst one on,
    empty if the worst joint is in no loop.
    """

    def __init__(
        self, message: str, nearest: Mechanism, gaps: dict[str, Gap], loop: tuple[str, ...]
    ) -> None:
        super().__init__(message)
        self.nearest = nearest
        self.gaps = gaps
        self.loop = loop


def assemble(
    mechanism: Mechanism,
    *,
    weights: Mapping[str, float] | None = None,
    fixed: Iterable[Body | str] = (),
    misfit: float = 0.0,
) -> Assembly:
    """Close the loops of a mechanism whose joints are apart, by the least motion of its bodies.

    weights: how reluctant bodies are to move, by name; its length compared with the mechanism's for a body
    that is left out. fixed: bodies that must not move. misfit [m]: gaps up to this size are accepted where
    it cannot close (radians count times the mechanism's length); dimensions then change by as much.

    A mechanism that is closed already is returned as it is, to the last bit. Raises AssemblyError, with the
    loop, its gap and the nearest position, if it cannot be closed.
    """
    return assemble_branches(mechanism, 1, weights=weights, fixed=fixed, misfit=misfit)[0]


def assemble_branches(
    mechanism: Mechanism,
    most: int,
    *,
    weights: Mapping[str, float] | None = None,
    fixed: Iterable[Body | str] = (),
    misfit: float = 0.0,
) -> list[Assembly]:
    """Up to `most` different closed positions (elbow up, elbow down, ...), nearest first.

    They are searched from random starts, always the same ones; on each branch that can move, a position
    that is nearest to the given one on it. The first is what `assemble` gives.
    """
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"{mechanism!r} is no mechanism; give a sarrus.Mechanism")
    check_mechanism(mechanism, closed=False)
    allowed, wanted = _number("misfit", misfit, least=0.0), int(_number("most", most, least=1.0))
    # SciPy's solvers load slowly: only an assembly pays for them
    from .verdict.closing import CLOSED, RESTARTS, find_closed, joint_gaps
    from .verdict.joint_equations import make_joint_equations

    equations = make_joint_equations(without_drives(mechanism))
    apart = bool(find_gaps(mechanism))
    chosen = _weights(equations, weights or {}, fixed, everything=wanted > 1)
    before = joint_gaps(equations, equations.gaps(equations.start()))
    if not apart:
        untouched = Assembly(mechanism, 0.0, "", 0.0, "", 0.0, 0, before, before)
        if wanted == 1:
            return [untouched]
    found = find_closed(
        equations,
        chosen,
        branches=wanted,
        closed=max(CLOSED, allowed / equations.length),
        restarts=RESTARTS if wanted == 1 else 20 * wanted,
    )
    if not found[0].closed:
        raise _cannot_close(mechanism, equations, found[0])
    out = [_written(mechanism, equations, c, before) for c in found]
    if not apart:
        # the position it stands in is the first branch, to the last bit
        out = [untouched, *(a for a in out if a.distance > 1e-9 * equations.length)][:wanted]
    return out


def _written(
    mechanism: Mechanism, equations: JointEquations, found: Closing, before: dict[str, Gap]
) -> Assembly:
    """The mechanism at a closed pose, and the record."""
    from .verdict.closing import joint_gaps, moves_to

    moved = loosen_rods(move_bodies(mechanism, moves_to(mechanism, equations, found.pose)))
    sentences = fit_velocities(moved)
    centers = found.pose.centers - equations.centers
    turns = np.array([_angle(R) for R in found.pose.turns])
    far = np.linalg.norm(centers, axis=1)
    a, b = int(np.argmax(far)), int(np.argmax(turns))
    return Assembly(
        mechanism=moved,
        moved=float(far[a]),
        moved_body=equations.bodies[a],
        turned=float(turns[b]),
        turned_body=equations.bodies[b],
        distance=found.distance,
        iterations=found.iterations,
        gaps_before=before,
        gaps_after=joint_gaps(equations, found.gaps),
        velocities=tuple(sentences),
        start=found.start,
    )


def _weights(
    equations: JointEquations,
    weights: Mapping[str, float],
    fixed: Iterable[Body | str],
    everything: bool,
) -> Floats:
    """Weight of each body; infinite if it must not move, or no open joint can reach it."""
    from .verdict.closing import usual_weights

    number = {name: i for i, name in enumerate(equations.bodies)}
    out = usual_weights(equations)
    for name, value in weights.items():
        if name not in number:
            raise MechanismError(f"weight of '{name}': there is no such body; {_known(number)}")
        out[number[name]] = _number(f"weight of '{name}'", value, least=1e-12)
    for body in [fixed] if isinstance(fixed, Body | str) else fixed:
        name = body.name if isinstance(body, Body) else body
        if name not in number:
            raise MechanismError(f"fixed body '{name}': there is no such body; {_known(number)}")
        out[number[name]] = np.inf
    if not everything:
        out[~_reached(equations)] = np.inf
    return out


def _reached(equations: JointEquations) -> Flags:
    """Bodies that are joined to an open joint, not counting ways over the ground."""
    from scipy.sparse.csgraph import connected_components

    from .verdict.closing import CLOSED

    pairs = equations.pair_bodies
    free = pairs[(pairs >= 0).all(axis=1)]
    n = len(equations.bodies)
    links = sparse.coo_array((np.ones(len(free)), (free[:, 0], free[:, 1])), shape=(n, n))
    _, part = connected_components(links, directed=False)
    # gaps of rounding size are none
    size = np.where(equations.row_about, 1.0, equations.length + np.abs(equations.origin).max())
    open_ = np.abs(equations.gaps(equations.start())) > CLOSED * size
    touched = pairs[equations.row_pair[open_]]
    return np.isin(part, part[touched[touched >= 0]])


def _cannot_close(mechanism: Mechanism, equations: JointEquations, found: Closing) -> AssemblyError:
    from .verdict.closing import describe_gap, joint_gaps, moves_to

    loop, sentence = describe_gap(equations, found)
    nearest = move_bodies(mechanism, moves_to(mechanism, equations, found.pose), closed=False)
    message = (
        f"mechanism '{mechanism.name}': {sentence}; check the lengths of its bodies and their joint places. The "
        "position is in .nearest, the gap of each joint in .gaps"
    )
    return AssemblyError(message, nearest, joint_gaps(equations, found.gaps), tuple(loop))


def fit_velocities(m: Mechanism) -> list[str]:
    """Replace given velocities that the joints forbid by the nearest ones they allow; says which."""
    from .verdict.joint_equations import make_joint_equations
    from .verdict.mobility import velocity_rows

    if not (m.velocities or m.angular_velocities):
        return []
    equations = make_joint_equations(without_drives(m))
    pose = equations.start()
    rows, side = velocity_rows(equations, m)
    # joints come first: their equations weigh far more than what the user wishes
    D = sparse.csr_array(equations.scaled(pose).matrix)
    A = sparse.csr_array(sparse.vstack([1e5 * D, rows]))
    x = _least(sparse.eye_array(equations.columns), A, np.append(np.zeros(D.shape[0]), side))
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
        if miss > 0.1 * ALLOWED * largest:
            sentences.append(
                f"the velocity of '{name}' was changed from {_show(given)} to {_show(value)} {unit}, "
                "the nearest that the joints allow there"
            )
            out.append((name, value))
        else:
            out.append((name, given))
    m.velocities, m.angular_velocities = points, spins
    return sentences


def _largest(gaps: dict[str, Gap]) -> Gap:
    return Gap(
        max((g.metres for g in gaps.values()), default=0.0),
        max((g.radians for g in gaps.values()), default=0.0),
    )


def _angle(R: Floats) -> float:
    sines = (R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    return float(np.arctan2(0.5 * np.linalg.norm(sines), 0.5 * (np.trace(R) - 1.0)))


def _known(names: Iterable[str]) -> str:
    listed = [f"'{n}'" for n in names]
    return "known: " + ", ".join(listed[:8]) + (", ..." if len(listed) > 8 else "")


def _number(what: str, value: Any, least: float) -> float:
    try:
        number = float("text" if isinstance(value, str) else value)
    except (TypeError, ValueError) as error:
        raise MechanismError(f"{what}: {value!r} is not a number; give a plain number") from error
    if not number >= least:
        raise MechanismError(f"{what} = {number:g}; give a number of at least {least:g}")
    return number


def _show(values: Floats) -> str:
    return "(" + ", ".join(f"{v:.6g}" for v in np.atleast_1d(values)) + ")"


def solve_start_velocity(model: Model, mechanism: Mechanism) -> tuple[Floats, list[str]]:
    """Velocity of least kinetic energy with J v = phi0' and the given point velocities.

    Returns it in model units, and a note if the given velocities leave something open.
    """
    driven = bool(np.any(model.drive_rates))
    if not mechanism.velocities and not mechanism.angular_velocities and not driven:
        return np.zeros(model.coordinates), []
    wanted = list(_wanted(model, mechanism))
    J = model.jacobian()
    A = sparse.csr_array(sparse.vstack([J, *(w.rows for w in wanted)]))
    b = np.concatenate([model.drive_rates, *(w.side for w in wanted)])
    v = _least(model.mass_matrix(), A, b)
    if driven:
        missed = float(
            np.abs(J @ _least(model.mass_matrix(), J, model.drive_rates) - model.drive_rates).max()
        )
        if missed > ALLOWED * np.abs(model.drive_rates).max() + 1e-14:
            raise MechanismError(
                "the joints forbid the start rates of the drives "
                f"({', '.join(repr(d.name) for d in mechanism.drives)}): together they miss them by "
                f"{missed:.3g} of the mechanism's length a second. Drive fewer joints, or give motions "
                "that fit each other"
            )
    # a velocity of zero beside others is as exact as they are
    largest = max((float(np.linalg.norm(w.side)) for w in wanted), default=0.0)
    if any(np.linalg.norm(w.rows @ v - w.side) > ALLOWED * largest + 1e-14 for w in wanted):
        raise MechanismError(_forbidden(model, wanted, J))
    # the motion nearest to another one is the same only if nothing was left open
    other = np.random.default_rng(0).standard_normal(len(v)) * np.abs(v).max(initial=0.0)
    other += _least(model.mass_matrix(), A, b - A @ other)
    notes = []
    if wanted and np.abs(other - v).max(initial=0.0) > 1e-6 * np.abs(v).max(initial=0.0):
        notes.append(
            f"the velocities given leave the start open{_fixed(J, A)}; the motion of least kinetic energy "
            "was taken"
        )
    return v, notes


def _fixed(J: sparse.csr_array, A: sparse.csr_array) -> str:
    """How many of the freedoms J leaves the rows of A fix, in words."""
    if A.shape[1] > DENSE:
        return ""
    rank, more = (int(np.linalg.matrix_rank(x.toarray(), tol=1e-9)) for x in (J, A))
    return f": they fix {more - rank} of its {A.shape[1] - rank} freedoms"


@dataclass
class _Wanted:
    """One given velocity as linear equations rows v = side; `back` turns a miss into its unit."""

    what: str
    values: Floats
    unit: str
    rows: sparse.csr_array
    side: Floats
    back: Floats


def _wanted(model: Model, mechanism: Mechanism) -> Iterator[_Wanted]:
    length = model.units.length
    for name, velocity in mechanism.velocities:
        rows = model.point_rows(name) / length
        what = f"velocity of point '{name}'"
        back = length * np.eye(len(velocity))
        yield _Wanted(what, velocity, "m/s", rows, velocity / length, back)
    for name, rate in mechanism.angular_velocities:
        spin = np.array([0.0, 0.0, float(rate)]) if mechanism.dimension == 2 else rate
        rows, starts = model.body_vectors[name]
        what = f"angular velocity of body '{name}'"
        # columns: what a unit spin about each axis does to the vectors of the body
        spins = np.array([np.cross(axis, starts).ravel() for axis in np.eye(3)]).T
        back = np.linalg.pinv(spins)
        yield _Wanted(what, np.atleast_1d(rate), "rad/s", rows, spins @ spin, back)


def _forbidden(model: Model, wanted: list[_Wanted], J: sparse.csr_array) -> str:
    """Which given velocity the joints forbid most, and by how much."""
    # joints come first: their equations weigh far more than what the user wishes
    A = sparse.csr_array(sparse.vstack([1e5 * J, *(w.rows for w in wanted)]))
    b = np.concatenate([1e5 * model.drive_rates, *(w.side for w in wanted)])
    v = _least(model.mass_matrix(), A, b)
    misses = [float(np.linalg.norm(w.back @ (w.rows @ v - w.side))) for w in wanted]
    miss, w = max(zip(misses, wanted, strict=True), key=lambda pair: pair[0])
    who = "the joints forbid" if len(wanted) == 1 else "the joints and the other velocities forbid"
    return (
        f"{w.what}: {who} ({', '.join(f'{x:g}' for x in w.values)}) {w.unit}; the nearest motion "
        f"they allow misses it by {miss:.6g} {w.unit}. Give a velocity along a possible motion, or "
        "fewer of them"
    )


def _least(M: sparse.sparray, A: sparse.csr_array, b: Floats) -> Floats:
    """Minimise v^T M v subject to A v = b, in the least-squares sense where A v = b cannot be met."""
    # A v = b fixes v^T A^T A v, so adding it to the metric changes nothing but makes it definite
    H = sparse.csc_array(M / float(M.diagonal().max(initial=1e-300)) + A.T @ A)
    return _least_dense(H, A, b) if len(b) <= DENSE else _least_sparse(H, A, b)


def _least_dense(H: sparse.csc_array, A: sparse.csr_array, b: Floats) -> Floats:
    """By singular values: dependent rows, and rows that nearly are, do no harm."""
    sizes, directions = np.linalg.eigh(H.toarray())
    W = directions / np.sqrt(np.maximum(sizes, 1e-15 * sizes.max(initial=0.0)))
    return np.asarray(W @ (np.linalg.pinv(A @ W, rcond=1e-13) @ b))


def _least_sparse(H: sparse.csc_array, A: sparse.csr_array, b: Floats) -> Floats:
    """By proximal iterations on a quasi-definite system: they tolerate dependent rows."""
    from scipy.sparse.linalg import splu

    eps = 1e-10
    K = sparse.block_array([[H, A.T], [A, -eps * sparse.eye_array(A.shape[0])]])
    factor = splu(sparse.csc_array(K))
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
