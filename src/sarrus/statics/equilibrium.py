"""Where a mechanism can rest: forces, freedoms, stiffness and damping at any position, dense; the search.

At rest M q'' + J(q)^T lam = Q(q, q') asks for Q = J^T lam. With Z the null space of J, a small motion
dq = Z u about such a position obeys

    Z^T M Z u'' - Z^T (dQ/dv) Z u' + Z^T (sum_k lam_k Phi_k'' - dQ/dq) Z u = 0

The curvature of the constraints belongs to the stiffness: without it a pendulum, whose weight is
constant, would have none. Multipliers of dependent equations are not unique, but what they leave open
has no curvature along Z, unless the position is singular; that is found out and said.

The search for an equilibrium is a trust-region method on the potential energy: Newton's step in the degrees of
freedom, shortened where the model of the energy is not good, along a direction of negative curvature
where the configuration is not stable, and back onto the constraints after each step [ConnGouldToint2000].

Where a stiffness vanishes, a higher order of the energy decides: its slope along the direction without stiffness,
all others relaxed, at ever smaller displacements. Where it falls, the search goes on from there.
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
    SAME_REST,
)

if TYPE_CHECKING:
    from ..model import Model

STABLE, UNSTABLE, INDIFFERENT_KIND = "stable", "unstable", "indifferent"
# steps back onto the constraints
CLOSING = 30


def make_system(mechanism: Mechanism) -> StaticSystem:
    """The system of a mechanism that can be simulated; raises MechanismError otherwise."""
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"{mechanism!r} is no mechanism; give a sarrus.Mechanism")
    check_mechanism(mechanism)
    # the compiler and SciPy load slowly: only mechanisms that can be simulated pay for them
    model = model_package.make_model(mechanism)
    for n, (force, call) in enumerate(zip(mechanism.user_forces, model.user_calls, strict=True)):
        places = np.array([model.origins[model.points[name]] for name in force.points])
        call.check(places.reshape(call.shape), np.zeros(call.shape))
        if call.failure:
            raise MechanismError(call.failure)
        # a compiled function that disagrees with the plain one is dropped
        model.loads.user.calls[n, 0] = call.address
    return StaticSystem(model)


class StaticSystem:
    """The quadratic form of a model and its loads at rest."""

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
        # driven joints stay where they start
        self.start = self.constraints.phi(np.zeros(nq))
        # stiffness of user forces is a difference
        self.flat = FLAT_DIFFERENCE if model.user_calls else INDIFFERENT

    @cached_property
    def scale(self) -> float:
        """The largest force at the start and at some configurations near it: at a rest all of them may vanish."""
        rng = np.random.default_rng(7)
        Z = self.state(np.zeros(self.model.coordinates)).freedom_basis
        sizes = [float(np.linalg.norm(self.form.Q))]
        for _ in range(SAMPLES):
            u = rng.normal(size=Z.shape[1])
            try:
                sizes.append(float(np.linalg.norm(self.loads(FIRST * Z @ u)[0])))
            except MechanismError:
                # a spring has no length there
                continue
        return max(sizes)

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
        """All at a position."""
        return StaticState(self, q)

    def places(self, q: Floats) -> dict[str, Floats]:
        """World places of the model's points [m]."""
        m = self.model
        moved = m.origins + (m.places @ q).reshape(len(m.points), m.dimension)
        return {name: moved[i] for name, i in m.points.items()}

    def close(self, q: Floats) -> Floats | None:
        """The nearest position that the joints allow; None if there is none near."""

        def look(q: Floats) -> tuple[Floats, Floats]:
            return self.constraints.phi(q) - self.start, self.constraints.jacobian(q)

        found = lower_gaps(q, look, np.add, enough=CLOSED_STATICS, steps=CLOSING)
        return found.position if found.size < ALMOST_CLOSED else None


class StaticState:
    """Forces, freedoms, stiffness and damping at a position."""

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
        # freedoms: columns that no equation holds
        self.freedom_basis = Vt[rank:].T
        self.left_null = U[:, rank:]
        self.smallest = float(s[rank - 1] / s[0]) if rank else 1.0
        self.lam = U[:, :rank] @ ((Vt[:rank] @ self.Q) / s[:rank])
        # all forces, so that their sum may vanish
        parts = [system.form.Q, self.Q - system.form.Q]
        self.force_scale = plain_sum(float(np.linalg.norm(part)) for part in parts)

    @property
    def freedoms(self) -> int:
        """How many there are."""
        return int(self.freedom_basis.shape[1])

    @cached_property
    def gradient(self) -> Floats:
        """Of the potential energy along the freedoms."""
        return -self.freedom_basis.T @ self.Q

    @property
    def residual(self) -> float:
        """Force along the freedoms, as a share of all forces."""
        size = float(np.linalg.norm(self.gradient))
        # where forces cancel, even within one user force, those a link away count
        away = max(self.system.scale, float(np.abs(self.Q_q).max(initial=0.0)))
        scale = max(self.force_scale, LEAST_FORCE * away)
        return size / scale if scale > 0 else 0.0

    @cached_property
    def stiffness(self) -> Floats:
        """In the freedoms."""
        Z = self.freedom_basis
        return self.system.constraints.curvature(self.lam, Z) - Z.T @ self.Q_q @ Z

    @cached_property
    def indifferent(self) -> float:
        """Stiffness below this is none: rounding of the parts that it is the sum of."""
        parts = [np.abs(self.Q_q).max(initial=0.0)]
        parts += [np.abs(self.lam).max(initial=0.0), np.abs(self.Q).max(initial=0.0)]
        return max(INDIFFERENT * float(max(parts)), self.system.flat * self.system.scale)

    @cached_property
    def principal_matrix(self) -> Floats:
        """The symmetric part of the stiffness."""
        return np.asarray(0.5 * (self.stiffness + self.stiffness.T))

    @cached_property
    def principal(self) -> tuple[Floats, Floats]:
        """Its eigenvalues, the smallest first, and eigenvectors."""
        values, vectors = np.linalg.eigh(self.principal_matrix)
        return values, vectors

    @property
    def stiffness_values(self) -> Floats:
        """Its eigenvalues."""
        return self.principal[0]

    @cached_property
    def singular(self) -> bool:
        """Whether a dependent equation bends along the freedoms: then not all of them are motions."""
        Z = self.freedom_basis
        curvature = self.system.constraints.curvature
        bent = [np.abs(curvature(n, Z)).max(initial=0.0) for n in self.left_null.T]
        return bool(max(bent, default=0.0) > BENT)


# configurations at which forces are sampled
SAMPLES = 4
# steps of the search, and their lengths: at first, at most, and where it gives up
ITERATIONS = 1000
FIRST, LONGEST, SHORTEST = 0.1, 0.5, 1e-14
# displacements at which the energy's slope decides where there is no stiffness, in typical links, largest first;
# steps that relax the other degrees of freedom; combinations of directions without stiffness that are tried
DISPLACEMENTS = tuple(0.1 * 0.5**k for k in range(6))
RELAXING, COMBINATIONS = 12, 6
# between the starts of a list of equilibria, in typical links
APART = 0.1
# equilibria further apart than this, in typical links, are connected by others in between only; forces between
# two that are one are balanced as at these, up to so many times; balance to rounding
CONNECTED, BALANCED_BETWEEN, ROUNDED_BALANCE = 0.5, 10.0, 1e-13
# saddles that a search leaves
MOST_SADDLES = 20
# further from its start than this, in typical links, a mechanism falls without end
FAR = 100.0


@dataclass(frozen=True)
class Equilibrium:
    """Where a mechanism can rest, or why it was not found.

    found: whether forces balance in this configuration; stable: whether every small displacement costs
    energy; kind: "stable", "unstable" or "indifferent", "" if none was found; order: of the energy that decides,
    2 where the stiffness does, 0 if none up to a tenth of a link does; message: one sentence; residual: force
    along the degrees of freedom as a share of all forces; iterations: steps of the search.
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

    def __repr__(self) -> str:
        return f"<Equilibrium of '{self.mechanism}': {self.message}>"

    def position(self, name: str) -> Floats:
        """World place of a joint, named point or centre of a body [m]."""
        return pick(self.points, name, "joint, point or body")


@suggests
def equilibrium(mechanism: Mechanism) -> Equilibrium:
    """Find the stable equilibrium that a mechanism falls into from its start position, at rest.

    Driven joints are held where they are at the start. An unstable equilibrium is left along the direction in
    which the energy falls. Where none is found, `found` is False and the message says why: nothing holds the
    mechanism, or the loops cannot be followed.
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
        Driven joints are held where they are at the start.
    reach : float
        How far searches start from the start position, in typical links.

    Returns
    -------
    tuple of Equilibrium
        Searches start at the start position, and displaced from it along each degree of freedom, both ways; each
        leads down to a stable equilibrium, and by Newton's steps to the next one of any kind. Equilibria that none
        of these leads to are missed. Those connected by others in between, as in an indifferent mechanism, are
        listed once. ``kind`` tells stable from unstable ones.

    Raises
    ------
    MechanismError
        If the mechanism cannot be simulated.
    """
    system = make_system(mechanism)
    families: list[list[Equilibrium]] = []
    for q in _starts(system, reach):
        ways = [_search(system, q)]
        still = _find_still(system, q)
        if still is not None:
            ways.append((still, "at rest", True, 0))
        for way in ways:
            one = _make(system, *way)
            if one.found:
                _add_to_families(system, families, one)
    found = [min(family, key=_goodness) for family in families]
    return tuple(sorted(found, key=lambda e: float(np.linalg.norm(e.coordinates))))


def _add_to_families(
    system: StaticSystem, families: list[list[Equilibrium]], one: Equilibrium
) -> None:
    """Add an equilibrium to those that it is the same as, or that it is connected with by others: there the
    mechanism is indifferent, or its energy so flat that forces do not tell them apart.
    """
    same = [family for family in families if any(_are_same(system, one, e) for e in family)]
    families[:] = [family for family in families if not any(family is x for x in same)]
    families.append([*(e for family in same for e in family), one])


def _goodness(one: Equilibrium) -> tuple[float, float]:
    """Of several that are one, the one that balances best, and of these the nearest to the start."""
    return max(one.residual, ROUNDED_BALANCE), float(np.linalg.norm(one.coordinates))


def _starts(system: StaticSystem, reach: float) -> Iterator[Floats]:
    """The start, and configurations displaced from it along each degree of freedom."""
    start = np.zeros(system.model.coordinates)
    yield start
    here = system.state(start)
    vectors = np.linalg.eigh(0.5 * (here.stiffness + here.stiffness.T))[1]
    for direction in vectors.T:
        for sign in (-1.0, 1.0):
            q: Floats | None = start
            # in steps that the loops follow
            for _ in range(max(int(np.ceil(reach / APART)), 1)):
                if q is None:
                    break
                Z = system.state(q).freedom_basis
                along = Z @ (Z.T @ (here.freedom_basis @ direction))
                size = float(np.linalg.norm(along))
                q = system.close(q + sign * APART * along / size) if size else None
                if q is not None:
                    yield q


def _find_still(system: StaticSystem, q: Floats) -> Floats | None:
    """The configuration at rest that Newton's steps lead to, stable or not; None if they lead nowhere."""
    best, least = None, BALANCED_ENOUGH
    for _ in range(RELAXING * 4):
        here = system.state(q)
        if here.residual <= least:
            best, least = q, here.residual
        if here.residual <= BALANCED or (best is not None and here.residual > least):
            break
        step = np.linalg.lstsq(here.stiffness, -here.gradient, rcond=1e-9)[0]
        size = float(np.linalg.norm(step))
        there = system.close(q + here.freedom_basis @ step * min(1.0, LONGEST / max(size, 1e-300)))
        if there is None or np.abs(there).max() > FAR:
            break
        q = there
    return best


def _are_same(system: StaticSystem, one: Equilibrium, other: Equilibrium) -> bool:
    """Whether two equilibria are one: next to each other, or with forces balanced all along between them."""
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
    """The equilibrium at a configuration, with what decides whether it is stable."""
    at = system.state(q)
    values = at.stiffness_values
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
    )


def _decide(system: StaticSystem, at: StaticState) -> tuple[int, Floats | None]:
    """The order of the energy that decides at a rest without negative stiffness, 0 if it is indifferent.

    And where the energy falls, if it does: then the rest is not stable.
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
    """The order with which the energy changes along a direction; and where it is lower, if it falls."""
    slopes: list[tuple[float, Floats]] = []
    for size in DISPLACEMENTS:
        there = _relax(system, at, direction, size)
        if there is None:
            continue
        slope, q = there
        # smaller ones are rounding, or none
        if abs(slope) <= system.flat * system.scale * size:
            break
        slopes.append((slope, q))
    if not slopes:
        return 0, None
    # the smallest displacement decides: there the lowest order is largest
    slope = slopes[-1][0]
    ratio = abs(slopes[-2][0] / slope) if len(slopes) > 1 else 8.0
    order = max(int(np.rint(np.log2(max(ratio, 2.0)))) + 1, 3)
    falls = None
    for lower, q in reversed(slopes):
        # as far as it falls on the way
        if not lower < 0:
            break
        falls = q
    return order, falls


def _relax(
    system: StaticSystem, at: StaticState, direction: Floats, size: float
) -> tuple[float, Floats] | None:
    """The slope of the energy at a displacement along a direction, all other degrees of freedom relaxed."""
    along = at.freedom_basis @ direction
    q = system.close(at.q + size * along)
    for _ in range(RELAXING):
        if q is None:
            return None
        here = system.state(q)
        t = here.freedom_basis.T @ along
        t /= np.linalg.norm(t) or 1.0
        P = np.eye(len(t)) - np.outer(t, t)
        K = P @ here.principal_matrix @ P
        step = -np.linalg.lstsq(K, P @ here.gradient, rcond=1e-6)[0]
        if np.linalg.norm(step) <= 1e-13 * size:
            break
        step *= min(1.0, size / float(np.linalg.norm(step)))
        q = system.close(q + here.freedom_basis @ step)
    return None if q is None else (float(here.gradient @ t), q)


def _search(system: StaticSystem, q: Floats) -> tuple[Floats, str, bool, int]:
    """Position, message, whether forces balance there, and steps taken."""
    radius = FIRST
    here = system.state(q)
    if here.freedoms == 0:
        return q, "it has no degree of freedom: every position is at rest", True, 0
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
        there = system.close(q + here.freedom_basis @ move)
        gain, fits = 0.0, 0.0
        if there is not None:
            expected = float(here.gradient @ move + 0.5 * move @ K @ move)
            gain = _work(system, q, there)
            fits = -gain / expected if expected < 0 else 0.0
        # rounding of the work near the end says nothing about the model of the energy
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
            return q, "nothing holds it: it falls without end", False, step
        # rounding allows no more
        ended = tiny and 0.5 * before <= here.residual < BALANCED_ENOUGH
        if ended and here.stiffness_values[0] >= -here.indifferent:
            return q, f"at rest after {step + 1} steps", True, step + 1
    return q, f"no rest within {ITERATIONS} steps: {_stuck(here)}", False, ITERATIONS


def _stuck(here: StaticState) -> str:
    return (
        f"the search ended where {here.residual:.1e} of all forces are not balanced; the position is "
        "next to a singular one, the forces have no potential, or their potential has no minimum"
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

    # shifts that make all values positive
    floor = max(0.0, -low) + max(least, 1e-14 * float(np.abs(values).max()))
    if length(floor) <= radius:
        # on a ridge: the force does not say which way to fall; it falls along the weakest value
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
    """Work of all forces on the straight way from a to b, by Simpson's rule: the drop of the energy."""
    forces = [system.loads(a + share * (b - a))[0] for share in (0.0, 0.5, 1.0)]
    return float((forces[0] + 4.0 * forces[1] + forces[2]) @ (b - a)) / 6.0
