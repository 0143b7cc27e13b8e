"""Static equilibrium: forces, degrees of freedom, stiffness and damping (dense), and the search.

At rest M q'' + J(q)^T lam = Q(q, q') becomes Q = J^T lam. With Z the null space of J, a small motion
dq = Z u about an equilibrium obeys

    Z^T M Z u'' - Z^T (dQ/dv) Z u' + Z^T (sum_k lam_k Phi_k'' - dQ/dq) Z u = 0

The curvature of the constraints contributes to the stiffness: without it a pendulum under constant gravity would
have none. Multipliers of dependent equations are not unique, but their undetermined part has no curvature along Z
unless the configuration is singular. Singular configurations are detected and reported.

The search for an equilibrium is a trust-region method on the potential energy. It takes Newton steps in the
degrees of freedom, shortens them where the quadratic model of the energy is poor, follows a direction of negative
curvature where the configuration is unstable, and projects back onto the constraints after each step
[ConnGouldToint2000].

Where a stiffness vanishes, a higher order of the energy decides: its slope along the direction without stiffness
at ever smaller displacements, with all other degrees of freedom relaxed. Where the energy falls, the search
continues.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from .. import kernels
from .. import model as model_package
from ..arrays import Floats, plain_sum
from ..kinematics.constraints import Constraints
from ..kinematics.gap_closing import lower_gaps
from ..mechanism import Mechanism, MechanismError, check_mechanism
from ..names import pick, suggests
from ..notebook_display import html_table
from ..thresholds import (
    ALMOST_CLOSED,
    BALANCED,
    BALANCED_ENOUGH,
    BENT,
    CLOSED_STATICS,
    DEPENDENT_VALUE,
    FLAT_DIFFERENCE,
    INDIFFERENT,
    LEAST_FORCE,
    NEAR_SINGULAR_MODES,
    SAME_REST,
)

if TYPE_CHECKING:
    from ..model import Model

STABLE, UNSTABLE, INDIFFERENT_KIND = "stable", "unstable", "indifferent"
# maximum number of projection steps onto the constraints
CLOSING = 30


def make_system(mechanism: Mechanism) -> StaticSystem:
    """Make the static system of a mechanism; raises MechanismError if it cannot be simulated."""
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"{mechanism!r} is not a mechanism; give a sarrus.Mechanism")
    check_mechanism(mechanism)
    # the compiler and SciPy load slowly: import them only for mechanisms that can be simulated
    model = model_package.make_model(mechanism)
    for n, (force, call) in enumerate(zip(mechanism.user_forces, model.user_calls, strict=True)):
        places = np.array([model.origins[model.points[name]] for name in force.points])
        call.check(places.reshape(call.shape), np.zeros(call.shape))
        if call.failure:
            raise MechanismError(call.failure)
        # a compiled user function that disagrees with the interpreted one is discarded
        model.loads.user.calls[n, 0] = call.address
    return StaticSystem(model)


class StaticSystem:
    """The quadratic form of a model and its applied forces at rest."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.form = model.form
        nq = model.coordinates
        self.M = model.mass_matrix().toarray()
        self.acting = (
            kernels.applied_forces.make_loads(model.loads, 0) if len(model.loads.f0) else None
        )
        if self.acting is not None:
            F = (self.acting.F_val, self.acting.F_col, self.acting.F_start)
            shape = (len(self.acting.f0), nq)
            self.F = sparse.csr_array(F, shape=shape).toarray()
        self.constraints = Constraints(self.form)
        # driven joints keep their initial value
        self.start = self.constraints.phi(np.zeros(nq))
        # the stiffness of user forces is a finite difference
        self.flat = FLAT_DIFFERENCE if model.user_calls else INDIFFERENT

    @cached_property
    def scale(self) -> float:
        """Largest force at and near the start configuration; at an equilibrium all forces may vanish."""
        rng = np.random.default_rng(7)
        Z = self.state(np.zeros(self.model.coordinates)).dof_basis
        sizes = [float(np.linalg.norm(self.form.Q))]
        for _ in range(SAMPLES):
            u = rng.normal(size=Z.shape[1])
            try:
                sizes.append(float(np.linalg.norm(self.loads(FIRST * Z @ u)[0])))
            except MechanismError:
                # a spring has zero length there
                continue
        return max(sizes)

    @property
    def angles(self) -> Floats:
        """Most recent angles of the torsion springs, full turns counted [rad]."""
        return np.zeros(0) if self.acting is None else self.acting.theta.copy()

    @angles.setter
    def angles(self, angles: Floats) -> None:
        if self.acting is not None:
            self.acting.theta[:] = angles

    def loads(self, q: Floats) -> tuple[Floats, Floats, Floats]:
        """Q, dQ/dq and dQ/dv at rest."""
        form, nq, loads = self.form, self.model.coordinates, self.acting
        if loads is None:
            return form.Q.copy(), np.zeros((nq, nq)), np.zeros((nq, nq))
        Q, A, B = np.zeros(nq), np.zeros(len(loads.G_row)), np.zeros(len(loads.G_row))
        kernels.applied_forces.eval_static_loads(form, loads, 0.0, q, np.zeros(nq), Q, A, B)
        if not (np.isfinite(Q).all() and np.isfinite(A).all()):
            failed = next((call.failure for call in self.model.user_calls if call.failure), "")
            raise MechanismError(
                failed
                or f"the forces on '{self.model.name}' are not finite: a spring has no length here; "
                "move its ends apart"
            )
        by_q, by_v = np.zeros((2, len(loads.f0), len(loads.f0)))
        np.add.at(by_q, (loads.G_row, loads.G_col), A)
        np.add.at(by_v, (loads.G_row, loads.G_col), B)
        return Q, self.F.T @ by_q @ self.F, self.F.T @ by_v @ self.F

    def state(self, q: Floats) -> StaticState:
        """Forces, stiffness and damping at a configuration."""
        return StaticState(self, q)

    def places(self, q: Floats) -> dict[str, Floats]:
        """World coordinates of the model's points [m]."""
        m = self.model
        moved = m.origins + (m.places @ q).reshape(len(m.points), m.dimension)
        return {name: moved[i] for name, i in m.points.items()}

    def close(self, q: Floats) -> Floats | None:
        """The nearest configuration that satisfies the constraints; None if there is none nearby."""

        def look(q: Floats) -> tuple[Floats, Floats]:
            return self.constraints.phi(q) - self.start, self.constraints.jacobian(q)

        found = lower_gaps(q, look, np.add, enough=CLOSED_STATICS, steps=CLOSING)
        return found.position if found.size < ALMOST_CLOSED else None


class StaticState:
    """Forces, degrees of freedom, stiffness and damping at a configuration."""

    def __init__(self, system: StaticSystem, q: Floats) -> None:
        self.system, self.q = system, q
        self.Q, self.Q_q, self.Q_v = system.loads(q)
        J = system.constraints.jacobian(q)
        if J.shape[0]:
            U, s, Vt = np.linalg.svd(J)
        else:
            U, s, Vt = np.zeros((0, 0)), np.zeros(0), np.eye(len(q))
        kept = s > DEPENDENT_VALUE * s.max(initial=0.0)
        rank = int(np.count_nonzero(kept))
        # degrees of freedom: columns that span the null space of J
        self.dof_basis = Vt[rank:].T
        self.left_null = U[:, rank:]
        self.smallest = float(s[rank - 1] / s[0]) if rank else 1.0
        self.lam = U[:, :rank] @ ((Vt[:rank] @ self.Q) / s[:rank])
        # all forces separately, because their sum may vanish
        parts = [system.form.Q, self.Q - system.form.Q]
        self.force_scale = plain_sum(float(np.linalg.norm(part)) for part in parts)

    @property
    def dof(self) -> int:
        """Number of degrees of freedom."""
        return int(self.dof_basis.shape[1])

    @cached_property
    def gradient(self) -> Floats:
        """Gradient of the potential energy along the degrees of freedom."""
        return -self.dof_basis.T @ self.Q

    @property
    def residual(self) -> float:
        """Force along the degrees of freedom, as a share of all forces."""
        size = float(np.linalg.norm(self.gradient))
        # where forces cancel, even within one user force, use those one link length away
        away = max(self.system.scale, float(np.abs(self.Q_q).max(initial=0.0)))
        scale = max(self.force_scale, LEAST_FORCE * away)
        return size / scale if scale > 0 else 0.0

    @cached_property
    def stiffness(self) -> Floats:
        """Stiffness matrix in the degrees of freedom."""
        Z = self.dof_basis
        return self.system.constraints.curvature(self.lam, Z) - Z.T @ self.Q_q @ Z

    @cached_property
    def indifferent(self) -> float:
        """Smaller stiffnesses count as zero: they are rounding of the summed terms."""
        parts = [np.abs(self.Q_q).max(initial=0.0)]
        parts += [np.abs(self.lam).max(initial=0.0), np.abs(self.Q).max(initial=0.0)]
        return max(INDIFFERENT * float(max(parts)), self.system.flat * self.system.scale)

    @cached_property
    def principal_matrix(self) -> Floats:
        """The symmetric part of the stiffness."""
        return np.asarray(0.5 * (self.stiffness + self.stiffness.T))

    @cached_property
    def principal(self) -> tuple[Floats, Floats]:
        """Eigenvalues of the symmetric part, in increasing order, and eigenvectors."""
        values, vectors = np.linalg.eigh(self.principal_matrix)
        return values, vectors

    @property
    def stiffness_values(self) -> Floats:
        """Eigenvalues of the symmetric part of the stiffness."""
        return self.principal[0]

    @cached_property
    def singular(self) -> bool:
        """Whether a dependent equation is curved along the degrees of freedom: then not all are finite."""
        Z = self.dof_basis
        curvature = self.system.constraints.curvature
        bent = [np.abs(curvature(n, Z)).max(initial=0.0) for n in self.left_null.T]
        return bool(max(bent, default=0.0) > BENT)


# number of configurations at which forces are sampled
SAMPLES = 4
# number of search steps, and step lengths: initial, largest, and the one below which the search gives up
ITERATIONS = 1000
FIRST, LONGEST, SHORTEST = 0.1, 0.5, 1e-14
# displacements at which the slope of the energy decides where there is no stiffness, in typical link lengths,
# largest first; steps that relax the other degrees of freedom; number of combinations of directions without
# stiffness
DISPLACEMENTS = tuple(0.1 * 0.5**k for k in range(6))
RELAXING, COMBINATIONS = 12, 6
# distance between the starts of the searches for a list of equilibria, in typical link lengths
APART = 0.1
# equilibria further apart, in typical link lengths, are connected only through others in between; forces between
# two equilibria that are one may exceed those at both by this factor; a force balanced to rounding
CONNECTED, BALANCED_BETWEEN, ROUNDED_BALANCE = 0.5, 10.0, 1e-13
# number of saddle points that a search leaves
MOST_SADDLES = 20
# a mechanism further from its start, in typical link lengths, falls without end
FAR = 100.0


@dataclass(frozen=True)
class Equilibrium:
    """Where a mechanism can rest, or why it was not found.

    Attributes
    ----------
    mechanism : str
        Name of the mechanism.
    found : bool
        Whether forces balance in this configuration.
    stable : bool
        Whether every small displacement increases the energy.
    message : str
        One sentence on the outcome.
    residual : float
        Force along the degrees of freedom as a share of all forces.
    iterations : int
        Number of search steps.
    points : dict of str to ndarray
        World coordinates of named points [m].
    coordinates : ndarray
        Coordinates of the model.
    kind : str
        "stable", "unstable" or "indifferent"; "" if no equilibrium was found.
    order : int
        Order of the energy that decides the stability: 2 if the stiffness does, 0 if no order does up to a tenth
        of a link length.
    angles : ndarray
        Angles of the torsion springs, full turns counted [rad].
    """

    mechanism: str
    found: bool
    stable: bool
    message: str
    residual: float
    iterations: int
    points: dict[str, Floats] = field(repr=False)
    coordinates: Floats = field(repr=False)
    kind: str = ""
    order: int = 2
    angles: Floats = field(default_factory=lambda: np.zeros(0), repr=False)

    def __repr__(self) -> str:
        return f"<Equilibrium of '{self.mechanism}': {self.message}>"

    def _repr_html_(self) -> str:
        axes = "xyz"[: max((len(at) for at in self.points.values()), default=2)]
        rows = ((name, *(f"{x:.6g}" for x in at)) for name, at in self.points.items())
        kind = f", {self.kind}" if self.kind else ""
        heads = ["", *(f"{axis} [m]" for axis in axes)]
        return html_table(f"{self.mechanism}: {self.message}{kind}", heads, rows)

    def position(self, name: str) -> Floats:
        """World coordinates of a joint, named point or centre of mass [m]."""
        return pick(self.points, name, "joint, point or body")


@suggests
def equilibrium(mechanism: Mechanism) -> Equilibrium:
    """Find the stable equilibrium that a mechanism falls into from its start position, at rest.

    Driven joints keep their initial value. The search leaves an unstable equilibrium along the direction in which
    the energy falls.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism at its start configuration.

    Returns
    -------
    Equilibrium
        If no equilibrium is found, ``found`` is False and ``message`` states why: the mechanism falls without end,
        or the loops cannot be followed.

    Raises
    ------
    MechanismError
        If the mechanism cannot be simulated.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.Mechanism("pendulum")
    >>> _ = m.rod("rod", (0, 0), (1, 0), mass=1)
    >>> _ = m.revolute("A", m.ground, "rod", at=(0, 0))
    >>> _ = m.point("tip", "rod", (1, 0))
    >>> rest = sarrus.equilibrium(m)
    >>> rest.stable, round(float(rest.position("tip")[1]), 6)
    (True, -1.0)
    """
    system = make_system(mechanism)
    start = np.zeros(system.model.coordinates)
    return _make(system, *_search(system, start))


@suggests
def equilibria(mechanism: Mechanism, reach: float = 1.0) -> tuple[Equilibrium, ...]:
    """List the equilibria near the start position, stable and unstable ones, the nearest first.

    Parameters
    ----------
    mechanism : Mechanism
        Driven joints keep their initial value.
    reach : float
        Largest displacement from the start configuration at which searches begin, in typical link lengths.

    Returns
    -------
    tuple of Equilibrium
        Searches begin at the start configuration, and at configurations displaced from it along each degree of
        freedom in both directions. Each search leads down to a stable equilibrium, and Newton steps lead to the
        next equilibrium of any kind. Equilibria that no search reaches are missed. Connected equilibria, as in an
        indifferent mechanism, are listed once. ``kind`` distinguishes stable from unstable ones.

    Raises
    ------
    MechanismError
        If the mechanism cannot be simulated.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.Mechanism("pendulum")
    >>> _ = m.rod("rod", (0, 0), (1, 0), mass=1)
    >>> _ = m.revolute("A", m.ground, "rod", at=(0, 0))
    >>> _ = m.point("tip", "rod", (1, 0))
    >>> [rest.stable for rest in sarrus.equilibria(m, 2.0)]
    [True, False]
    """
    system = make_system(mechanism)
    families: list[list[Equilibrium]] = []
    # torsion springs count full turns from state to state: every search begins with those of its own start
    for q, angles in [(q, system.angles) for q in _starts(system, reach)]:
        for look in (_search, _find_at_rest):
            system.angles = angles
            way = look(system, q)
            one = None if way is None else _make(system, *way)
            if one is not None and one.found:
                _add_to_families(system, families, one)
    found = [min(family, key=_goodness) for family in families]
    return tuple(sorted(found, key=lambda e: float(np.linalg.norm(e.coordinates))))


def _add_to_families(
    system: StaticSystem, families: list[list[Equilibrium]], one: Equilibrium
) -> None:
    """Add an equilibrium to the family that contains it or is connected with it. Within a family the mechanism is
    indifferent, or its energy is so flat that forces cannot distinguish the equilibria.
    """
    same = [family for family in families if any(_are_same(system, one, e) for e in family)]
    families[:] = [family for family in families if not any(family is x for x in same)]
    families.append([*(e for family in same for e in family), one])


def _goodness(one: Equilibrium) -> tuple[float, float]:
    """Sort key that selects the best balanced equilibrium of a family, then the one nearest to the start."""
    return max(one.residual, ROUNDED_BALANCE), float(np.linalg.norm(one.coordinates))


def _starts(system: StaticSystem, reach: float) -> Iterator[Floats]:
    """The start configuration, and configurations displaced from it along each degree of freedom."""
    start = np.zeros(system.model.coordinates)
    yield start
    here = system.state(start)
    vectors = np.linalg.eigh(0.5 * (here.stiffness + here.stiffness.T))[1]
    for direction in vectors.T:
        for sign in (-1.0, 1.0):
            q: Floats | None = start
            # in steps small enough for the loops to follow
            for _ in range(max(int(np.ceil(reach / APART)), 1)):
                if q is None:
                    break
                Z = system.state(q).dof_basis
                along = Z @ (Z.T @ (here.dof_basis @ direction))
                size = float(np.linalg.norm(along))
                q = system.close(q + sign * APART * along / size) if size else None
                if q is not None:
                    yield q


def _find_at_rest(system: StaticSystem, q: Floats) -> tuple[Floats, str, bool, int] | None:
    """The equilibrium that Newton steps lead to, stable or not, as `_search` returns it; None if there is none."""
    still = _find_still(system, q)
    return None if still is None else (still, "at rest", True, 0)


def _find_still(system: StaticSystem, q: Floats) -> Floats | None:
    """The equilibrium that Newton steps lead to, stable or not; None if they do not converge."""
    best, least = None, BALANCED_ENOUGH
    for _ in range(RELAXING * 4):
        here = system.state(q)
        if here.residual <= least:
            best, least = q, here.residual
        if here.residual <= BALANCED or (best is not None and here.residual > least):
            break
        step = np.linalg.lstsq(here.stiffness, -here.gradient, rcond=1e-9)[0]
        size = float(np.linalg.norm(step))
        there = system.close(q + here.dof_basis @ step * min(1.0, LONGEST / max(size, 1e-300)))
        if there is None or np.abs(there).max() > FAR:
            break
        q = there
    return best


def _are_same(system: StaticSystem, one: Equilibrium, other: Equilibrium) -> bool:
    """Whether two equilibria are one: close together, or with balanced forces all along the path between them."""
    apart = float(np.abs(one.coordinates - other.coordinates).max(initial=0.0))
    if apart <= SAME_REST:
        return True
    if apart > CONNECTED:
        return False
    allowed = BALANCED_BETWEEN * max(one.residual, other.residual, ROUNDED_BALANCE)
    for share in (0.25, 0.5, 0.75):
        q = system.close((1.0 - share) * one.coordinates + share * other.coordinates)
        if q is None or system.state(q).residual > allowed:
            return False
    return True


def _make(system: StaticSystem, q: Floats, message: str, found: bool, steps: int) -> Equilibrium:
    """The equilibrium at a configuration, with its stability."""
    at = system.state(q)
    values, angles = at.stiffness_values, system.angles
    kind, order = "", 2
    if found:
        if values.min(initial=np.inf) < -at.indifferent:
            kind = UNSTABLE
        else:
            order, falls = _decide(system, at)
            kind = UNSTABLE if falls is not None else STABLE if order else INDIFFERENT_KIND
        if kind == INDIFFERENT_KIND:
            count = int(np.count_nonzero(np.abs(values) <= at.indifferent))
            message = f"{message}; indifferent in {count} of {len(values)} degrees of freedom"
        elif kind == UNSTABLE:
            message = f"{message}; unstable"
        if order > 2:
            message = f"{message}; the order {order} of the energy decides"
        if at.singular:
            message = f"{message}; a singular configuration, where branches meet"
        elif at.smallest < NEAR_SINGULAR_MODES:
            message = f"{message}; next to a singular configuration"
    return Equilibrium(
        mechanism=system.model.name,
        found=found,
        stable=kind == STABLE,
        message=message,
        residual=at.residual,
        iterations=steps,
        points=system.places(q),
        coordinates=q,
        kind=kind,
        order=order,
        angles=angles,
    )


def _decide(system: StaticSystem, at: StaticState) -> tuple[int, Floats | None]:
    """The order of the energy that decides at an equilibrium without negative stiffness, 0 if it is indifferent.

    Also returns a configuration with lower energy, if there is one: then the equilibrium is not stable.
    """
    values, vectors = at.principal
    flat = vectors[:, np.abs(values) <= at.indifferent]
    if not flat.shape[1]:
        return 2, None
    rng = np.random.default_rng(3)
    mixed = rng.normal(size=(flat.shape[1], COMBINATIONS if flat.shape[1] > 1 else 0))
    directions = np.hstack(
        [flat, flat @ (mixed / np.maximum(np.linalg.norm(mixed, axis=0), 1e-300))]
    )
    orders = []
    for direction in directions.T:
        for sign in (1.0, -1.0):
            order, there = _follow(system, at, sign * direction)
            if there is not None:
                return order, there
            orders.append(order)
    return (0 if 0 in orders else max(orders)), None


def _follow(system: StaticSystem, at: StaticState, direction: Floats) -> tuple[int, Floats | None]:
    """The order of the energy change along a direction, and a configuration of lower energy if it falls."""
    slopes: list[tuple[float, Floats]] = []
    for size in DISPLACEMENTS:
        there = _relax(system, at, direction, size)
        if there is None:
            continue
        slope, q = there
        # smaller slopes are rounding or zero
        if abs(slope) <= system.flat * system.scale * size:
            break
        slopes.append((slope, q))
    if not slopes:
        return 0, None
    # the smallest displacement decides: there the lowest order dominates
    slope = slopes[-1][0]
    ratio = abs(slopes[-2][0] / slope) if len(slopes) > 1 else 8.0
    order = max(int(np.rint(np.log2(max(ratio, 2.0)))) + 1, 3)
    falls = None
    for lower, q in reversed(slopes):
        # follow the path as long as the energy falls
        if not lower < 0:
            break
        falls = q
    return order, falls


def _relax(
    system: StaticSystem, at: StaticState, direction: Floats, size: float
) -> tuple[float, Floats] | None:
    """The slope of the energy at a displacement along a direction, with all other degrees of freedom relaxed."""
    along = at.dof_basis @ direction
    q = system.close(at.q + size * along)
    for _ in range(RELAXING):
        if q is None:
            return None
        here = system.state(q)
        t = here.dof_basis.T @ along
        t /= np.linalg.norm(t) or 1.0
        P = np.eye(len(t)) - np.outer(t, t)
        K = P @ here.principal_matrix @ P
        step = -np.linalg.lstsq(K, P @ here.gradient, rcond=1e-6)[0]
        if np.linalg.norm(step) <= 1e-13 * size:
            break
        step *= min(1.0, size / float(np.linalg.norm(step)))
        q = system.close(q + here.dof_basis @ step)
    return None if q is None else (float(here.gradient @ t), q)


def _search(system: StaticSystem, q: Floats) -> tuple[Floats, str, bool, int]:
    """Configuration, message, whether forces balance there, and number of steps."""
    radius = FIRST
    here = system.state(q)
    if here.dof == 0:
        return q, "it has no degree of freedom, so it is at rest", True, 0
    if system.scale == 0.0 and here.force_scale == 0.0:
        return q, "no force acts: it rests anywhere", True, 0
    saddles = 0
    for step in range(ITERATIONS):
        K = here.principal_matrix
        values, vectors = here.principal
        if here.residual <= BALANCED and values[0] >= -here.indifferent:
            there = _decide(system, here)[1] if saddles < MOST_SADDLES else None
            if there is None:
                return q, f"at rest after {step} steps", True, step
            saddles += 1
            q, here = there, system.state(there)
            radius = FIRST
            continue
        g = vectors.T @ here.gradient
        move = vectors @ _trust_step(values, g, radius, here.indifferent)
        there = system.close(q + here.dof_basis @ move)
        gain, fits = 0.0, 0.0
        if there is not None:
            expected = float(here.gradient @ move + 0.5 * move @ K @ move)
            gain = _work(system, q, there)
            fits = -gain / expected if expected < 0 else 0.0
        # near the end the work is rounding and says nothing about the quadratic model of the energy
        tiny = float(np.linalg.norm(move)) < 1e-6
        if there is None or (fits < 0.1 and not tiny):
            radius = 0.25 * min(radius, float(np.linalg.norm(move)))
            if radius < SHORTEST:
                return q, _stuck(here), False, step
            continue
        if fits > 0.75:
            radius = min(2.0 * radius, LONGEST)
        before = here.residual
        q, here = there, system.state(there)
        if np.abs(q).max() > FAR:
            return q, "nothing supports it: it falls forever", False, step
        # rounding prevents further progress
        ended = tiny and 0.5 * before <= here.residual < BALANCED_ENOUGH
        if ended and here.stiffness_values[0] >= -here.indifferent:
            return q, f"at rest after {step + 1} steps", True, step + 1
    return q, f"no equilibrium within {ITERATIONS} steps: {_stuck(here)}", False, ITERATIONS


def _stuck(here: StaticState) -> str:
    return (
        f"the search ended where {here.residual:.1e} of all forces are not balanced; the configuration "
        "is close to a singular one, the forces have no potential, or their potential has no minimum"
    )


def _trust_step(values: Floats, g: Floats, radius: float, least: float) -> Floats:
    """Minimise g . p + 1/2 sum values p^2 with |p| <= radius."""
    low = float(values[0])
    if low > least:
        newton = -g / values
        if np.linalg.norm(newton) <= radius:
            return newton

    def length(shift: float) -> float:
        return float(np.linalg.norm(g / (values + shift)))

    # shifts that make all eigenvalues positive
    floor = max(0.0, -low) + max(least, 1e-14 * float(np.abs(values).max()))
    if length(floor) <= radius:
        # on a ridge the force does not determine the direction of the fall: take that of the smallest eigenvalue
        p = -g / (values + floor)
        rest = np.sqrt(max(radius**2 - float(p @ p), 0.0))
        p[0] += np.copysign(rest, p[0] if p[0] != 0.0 else 1.0) if low < -least else 0.0
        return p
    high = floor + float(np.linalg.norm(g)) / radius
    for _ in range(60):
        middle = 0.5 * (floor + high)
        floor, high = (middle, high) if length(middle) > radius else (floor, middle)
    return -g / (values + high)


def _work(system: StaticSystem, a: Floats, b: Floats) -> float:
    """Work of all forces along the straight line from a to b, by Simpson's rule: the decrease of the energy."""
    forces = [system.loads(a + share * (b - a))[0] for share in (0.0, 0.5, 1.0)]
    return float((forces[0] + 4.0 * forces[1] + forces[2]) @ (b - a)) / 6.0
