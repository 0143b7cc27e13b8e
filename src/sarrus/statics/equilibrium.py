"""Where a mechanism can rest: forces, freedoms, stiffness and damping at any position, dense; the search.

At rest M q'' + J(q)^T lam = Q(q, q') asks for Q = J^T lam. With Z the null space of J, a small motion
dq = Z u about such a position obeys

    Z^T M Z u'' - Z^T (dQ/dv) Z u' + Z^T (sum_k lam_k Phi_k'' - dQ/dq) Z u = 0

The curvature of the constraints belongs to the stiffness: without it a pendulum, whose weight is
constant, would have none. Multipliers of dependent equations are not unique, but what they leave open
has no curvature along Z, unless the position is singular; that is found out and said.

The search for an equilibrium is a trust-region method on the potential energy: Newton's step in the
freedoms, shortened where the model of the energy is not good, along a direction of negative curvature
where the position is not stable, and back onto the constraints after each step [ConnGouldToint2000].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from scipy import sparse

from .. import kernels
from .. import model as model_package
from ..arrays import Floats, plain_sum
from ..kinematics.closing import lower_gaps
from ..kinematics.constraints import Constraints
from ..mechanism import Mechanism, MechanismError, check_mechanism
from ..names import pick
from ..thresholds import (
    ALMOST_CLOSED,
    BALANCED,
    BALANCED_ENOUGH,
    BENT,
    CLOSED_STATICS,
    DEPENDENT_VALUE,
    INDIFFERENT,
)

if TYPE_CHECKING:
    from ..model import Model

T = TypeVar("T")

# steps back onto the constraints
CLOSING = 30


def make_system(mechanism: Mechanism) -> System:
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
    return System(model)


class System:
    """The quadratic form of a model and its loads at rest."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.form = model.form
        nq = model.coordinates
        self.M = model.mass_matrix().toarray()
        self.acting = kernels.loads.make_loads(model.loads, 0) if len(model.loads.f0) else None
        if self.acting is not None:
            F = (self.acting.F_val, self.acting.F_col, self.acting.F_start)
            shape = (len(self.acting.f0), nq)
            self.F = sparse.csr_array(F, shape=shape).toarray()
        self.constraints = Constraints(self.form)
        # driven joints stay where they start
        self.start = self.constraints.phi(np.zeros(nq))

    def loads(self, q: Floats) -> tuple[Floats, Floats, Floats]:
        """Q, dQ/dq and dQ/dv at rest."""
        form, nq, loads = self.form, self.model.coordinates, self.acting
        if loads is None:
            return form.Q.copy(), np.zeros((nq, nq)), np.zeros((nq, nq))
        Q, A, B = np.zeros(nq), np.zeros(len(loads.G_row)), np.zeros(len(loads.G_row))
        kernels.loads.eval_static_loads(form, loads, 0.0, q, np.zeros(nq), Q, A, B)
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

    def state(self, q: Floats) -> State:
        """All at a position."""
        return State(self, q)

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


class State:
    """Forces, freedoms, stiffness and damping at a position."""

    def __init__(self, system: System, q: Floats) -> None:
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
        return size / self.force_scale if self.force_scale > 0 else 0.0

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
        return INDIFFERENT * float(max(parts))

    @cached_property
    def stiffness_values(self) -> Floats:
        """Eigenvalues of the symmetric part."""
        return np.asarray(np.linalg.eigvalsh(0.5 * (self.stiffness + self.stiffness.T)))

    @cached_property
    def singular(self) -> bool:
        """Whether a dependent equation bends along the freedoms: then not all of them are motions."""
        Z = self.freedom_basis
        curvature = self.system.constraints.curvature
        bent = [np.abs(curvature(n, Z)).max(initial=0.0) for n in self.left_null.T]
        return bool(max(bent, default=0.0) > BENT)


# steps of the search, and their lengths: at first, at most, and where it gives up
ITERATIONS = 1000
FIRST, LONGEST, SHORTEST = 0.1, 0.5, 1e-14
# further from its start than this, in typical links, a mechanism falls without end
FAR = 100.0


@dataclass(frozen=True)
class Equilibrium:
    """Where a mechanism can rest, or why it was not found.

    found: whether forces balance at this position; stable: whether every small displacement costs
    energy; message: one sentence; residual: force along the freedoms as a share of all forces;
    iterations: steps of the search.
    """

    mechanism: str
    found: bool
    stable: bool
    message: str
    residual: float
    iterations: int
    points: dict[str, Floats] = field(repr=False)
    coordinates: Floats = field(repr=False)

    def __repr__(self) -> str:
        return f"<Equilibrium of '{self.mechanism}': {self.message}>"

    def position(self, name: str) -> Floats:
        """World place of a joint, named point or centre of a body [m]."""
        return pick(self.points, name, "joint, point or body")


def equilibrium(mechanism: Mechanism) -> Equilibrium:
    """Find the stable equilibrium that a mechanism falls into from its start position, at rest.

    Driven joints are held where they are at the start. Where none is found, `found` is False and the
    message says why: nothing holds the mechanism, or the loops cannot be followed.
    """
    system = make_system(mechanism)
    q, message, found, steps = _search(system)
    at = system.state(q)
    stiffness = at.stiffness_values
    stable = found and bool(np.all(stiffness > at.indifferent))
    if found and not stable:
        count = int(np.count_nonzero(np.abs(stiffness) <= at.indifferent))
        message = f"{message}; indifferent in {count} of {len(stiffness)} freedoms"
    if found and at.singular:
        message = f"{message}; a singular position, where freedoms meet"
    return Equilibrium(
        mechanism=mechanism.name,
        found=found,
        stable=stable,
        message=message,
        residual=at.residual,
        iterations=steps,
        points=system.places(q),
        coordinates=q,
    )


def _search(system: System) -> tuple[Floats, str, bool, int]:
    """Position, message, whether forces balance there, and steps taken."""
    q = np.zeros(system.model.coordinates)
    radius = FIRST
    here = system.state(q)
    if here.freedoms == 0:
        return q, "it has no freedom: every position is at rest", True, 0
    for step in range(ITERATIONS):
        if here.force_scale == 0.0:
            return q, "no force acts: it rests anywhere", True, step
        K = 0.5 * (here.stiffness + here.stiffness.T)
        values, vectors = np.linalg.eigh(K)
        if here.residual <= BALANCED and values[0] >= -here.indifferent:
            return q, f"at rest after {step} steps", True, step
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


def _stuck(here: State) -> str:
    return (
        f"the search ended where {here.residual:.1e} of all forces are not balanced; the position is "
        "next to a singular one, or the forces have no potential"
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


def _work(system: System, a: Floats, b: Floats) -> float:
    """Work of all forces on the straight way from a to b, by Simpson's rule: the drop of the energy."""
    forces = [system.loads(a + share * (b - a))[0] for share in (0.0, 0.5, 1.0)]
    return float((forces[0] + 4.0 * forces[1] + forces[2]) @ (b - a)) / 6.0
