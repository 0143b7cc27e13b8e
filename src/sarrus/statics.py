"""Equilibrium, and small motions about it, in the motion's own freedoms.

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

from .arrays import Complex, Floats
from .mechanism import Mechanism, MechanismError, check_mechanism

if TYPE_CHECKING:
    from .model import Model

T = TypeVar("T")

# singular values of J below this share of the largest are dependence: entries are of order one
DEPENDENT = 1e-9
# forces along the freedoms that count as none, of all forces
BALANCED = 1e-15
# for `modes`: a position this far from balance is no equilibrium
NEAR_BALANCE = 1e-6
# stiffness that counts as none, of the sum of all its parts
INDIFFERENT = 1e-9
# an imaginary part below this share of an eigenvalue is rounding
REAL = 1e-13
# constraints that are closed, in lengths of a typical link
CLOSED = 1e-13
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
        return _pick(self.points, name)


@dataclass(frozen=True)
class Mode:
    """One small motion: x(t) = Re(shape exp(eigenvalue t)).

    eigenvalue [1/s], of a pair the one above the real axis; frequency [Hz]: of the same motion without
    damping, |eigenvalue| / (2 pi), 0 if it does not swing back; damping: ratio, 1 and more if it does
    not swing; shape: velocities of named points, the largest of all being 1.
    """

    eigenvalue: complex
    frequency: float
    damping: float
    shapes: dict[str, Complex] = field(repr=False)

    def shape(self, name: str) -> Complex:
        """Velocity of a joint, named point or centre of a body in this mode, shape (dimension,)."""
        return _pick(self.shapes, name)


@dataclass(frozen=True)
class Modes:
    """Small motions about a position of rest, slowest first; notes: what a user should know."""

    mechanism: str
    modes: tuple[Mode, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.modes)

    def __getitem__(self, i: int) -> Mode:
        return self.modes[i]

    @property
    def eigenvalues(self) -> Complex:
        """All of them [1/s], two a freedom, pairs side by side."""
        found = []
        for mode in self.modes:
            z = mode.eigenvalue
            # a freedom without stiffness and damping has the value 0 twice
            found += [z] if z.imag == 0.0 and z != 0.0 else [z, z.conjugate()]
        return np.array(found)

    @property
    def frequencies(self) -> Floats:
        """Of all modes [Hz]."""
        return np.array([mode.frequency for mode in self.modes])

    @property
    def damping(self) -> Floats:
        """Damping ratios of all modes."""
        return np.array([mode.damping for mode in self.modes])

    @property
    def stable(self) -> bool:
        """Whether no small motion grows."""
        return bool(
            np.all(self.eigenvalues.real <= 1e-9 * np.abs(self.eigenvalues).max(initial=0.0))
        )


def equilibrium(mechanism: Mechanism) -> Equilibrium:
    """Find the stable equilibrium that a mechanism falls into from its start position, at rest.

    Driven joints are held where they are at the start. Where none is found, `found` is False and the
    message says why: nothing holds the mechanism, or the loops cannot be followed.
    """
    system = _System(_checked_model(mechanism))
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
        points=_places(system.model, q),
        coordinates=q,
    )


def modes(mechanism: Mechanism, at: Equilibrium | None = None) -> Modes:
    """Natural frequencies, damping and shapes of small motions about a position of rest.

    at: an equilibrium found by `equilibrium`; left out, the start position must be one. Raises
    MechanismError where forces do not balance, or at a singular position.
    """
    system = _System(_checked_model(mechanism))
    model = system.model
    q = np.zeros(model.coordinates)
    if at is not None:
        if at.mechanism != mechanism.name or at.coordinates.shape != q.shape:
            raise MechanismError(
                f"the equilibrium is that of '{at.mechanism}', not of '{mechanism.name}'; give its own"
            )
        q = at.coordinates
    here = system.state(q)
    if here.residual > NEAR_BALANCE:
        raise MechanismError(
            f"'{mechanism.name}' is not at rest here: {here.residual:.2g} of all forces are not "
            "balanced along its freedoms; find a position by sarrus.equilibrium and give it as `at`"
        )
    if here.singular:
        raise MechanismError(
            f"'{mechanism.name}' is at a singular position: {here.freedoms} freedoms meet here, and small "
            "motions are not those of one linear system; move it a little off"
        )
    values, shapes = _solve_modes(here)
    notes = []
    if here.smallest < 1e-5:
        notes.append(
            f"close to a singular position: the smallest singular value of J is {here.smallest:.1e}"
        )
    found = [
        _make_mode(model, values[i], here.freedom_basis @ shapes[:, i])
        for i in sorted(_one_of_each(values), key=lambda i: (abs(values[i]), -values[i].real))
    ]
    return Modes(mechanism.name, tuple(found), tuple(notes))


def _checked_model(mechanism: Mechanism) -> Model:
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"{mechanism!r} is no mechanism; give a sarrus.Mechanism")
    check_mechanism(mechanism)
    # numba and SciPy load slowly: only who asks pays for them
    from .model import make_model

    model = make_model(mechanism)
    for n, (force, call) in enumerate(zip(mechanism.user_forces, model.user_calls, strict=True)):
        places = np.array([model.origins[model.points[name]] for name in force.points])
        call.check(places.reshape(call.shape), np.zeros(call.shape))
        if call.failure:
            raise MechanismError(call.failure)
        # a compiled function that disagrees with the plain one is dropped
        model.loads.user.calls[n, 0] = call.address
    return model


def _pick(points: dict[str, T], name: str) -> T:
    if name not in points:
        known = ", ".join(f"'{n}'" for n in list(points)[:12])
        more = ", ..." if len(points) > 12 else ""
        raise KeyError(f"no joint, point or body is called '{name}'; known: {known}{more}")
    return points[name]


def _places(model: Model, q: Floats) -> dict[str, Floats]:
    moved = model.origins + (model.places @ q).reshape(len(model.points), model.dimension)
    return {name: moved[i] for name, i in model.points.items()}


# the quadratic form at a position, dense


class _System:
    """The quadratic form of a model and its loads at rest."""

    def __init__(self, model: Model) -> None:
        from scipy import sparse

        from .kernels.loads import make_loads

        self.model = model
        form = self.form = model.form
        nq, nc = model.coordinates, model.equations
        shape = (len(form.e0), nq)
        self.D = sparse.csr_array((form.D_val, form.D_col, form.D_start), shape=shape).toarray()
        self.M = model.mass_matrix().toarray()
        self.acting = make_loads(model.loads, 0) if len(model.loads.f0) else None
        if self.acting is not None:
            F = (self.acting.F_val, self.acting.F_col, self.acting.F_start)
            shape = (len(self.acting.f0), nq)
            self.F = sparse.csr_array(F, shape=shape).toarray()
        # driven joints stay where they start
        self.sides = np.zeros(nc)
        self.sides = self.constraints(np.zeros(nq))

    def constraints(self, q: Floats) -> Floats:
        """Phi(q), 0 at the start."""
        form, e = self.form, self.D @ q + self.form.e0
        phi = -self.sides
        np.add.at(phi, form.sq_eq, 0.5 * form.sq_c * e[form.sq_form] ** 2)
        np.add.at(phi, form.bl_eq, form.bl_c * e[form.bl_a] * e[form.bl_b])
        return phi

    def jacobian(self, q: Floats) -> Floats:
        """J(q)."""
        form, e = self.form, self.D @ q + self.form.e0
        J = np.zeros((self.model.equations, self.model.coordinates))
        np.add.at(J, form.sq_eq, (form.sq_c * e[form.sq_form])[:, None] * self.D[form.sq_form])
        pairs = (
            e[form.bl_a][:, None] * self.D[form.bl_b] + e[form.bl_b][:, None] * self.D[form.bl_a]
        )
        np.add.at(J, form.bl_eq, form.bl_c[:, None] * pairs)
        return J

    def curvature(self, lam: Floats) -> Floats:
        """sum_k lam_k Phi_k''."""
        form, D = self.form, self.D
        squares = D[form.sq_form]
        H = squares.T @ ((form.sq_c * lam[form.sq_eq])[:, None] * squares)
        pairs = D[form.bl_a].T @ ((form.bl_c * lam[form.bl_eq])[:, None] * D[form.bl_b])
        return H + pairs + pairs.T

    def loads(self, q: Floats) -> tuple[Floats, Floats, Floats]:
        """Q, dQ/dq and dQ/dv at rest."""
        form, nq, loads = self.form, self.model.coordinates, self.acting
        if loads is None:
            return form.Q.copy(), np.zeros((nq, nq)), np.zeros((nq, nq))
        from .kernels.statics import eval_static_loads

        Q, A, B = np.zeros(nq), np.zeros(len(loads.G_row)), np.zeros(len(loads.G_row))
        eval_static_loads(form, loads, 0.0, q, np.zeros(nq), Q, A, B)
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

    def state(self, q: Floats) -> _State:
        """All at a position."""
        return _State(self, q)

    def close(self, q: Floats) -> Floats | None:
        """The nearest position that the joints allow; None if there is none near.

        Beside the motion dependent equations have small singular values; damping by |Phi|^2 keeps
        them from moving anything [YamashitaFukushima2001].
        """
        q = q.copy()
        before = np.inf
        for _ in range(30):
            phi = self.constraints(q)
            size = float(np.abs(phi).max(initial=0.0))
            if size <= CLOSED or (size < 1e-10 and size >= 0.5 * before):
                return q
            if not size < 4.0 * before:
                return None
            before = size
            U, s, Vt = np.linalg.svd(self.jacobian(q), full_matrices=False)
            q -= Vt.T @ (s / (s * s + float(phi @ phi)) * (U.T @ phi))
        return None


class _State:
    """Forces, freedoms, stiffness and damping at a position."""

    def __init__(self, system: _System, q: Floats) -> None:
        self.system, self.q = system, q
        self.Q, self.Q_q, self.Q_v = system.loads(q)
        J = system.jacobian(q)
        if J.shape[0]:
            U, s, Vt = np.linalg.svd(J)
        else:
            U, s, Vt = np.zeros((0, 0)), np.zeros(0), np.eye(len(q))
        kept = s > DEPENDENT * s.max(initial=0.0)
        rank = int(np.count_nonzero(kept))
        # freedoms: columns that no equation holds
        self.freedom_basis = Vt[rank:].T
        self.left_null = U[:, rank:]
        self.smallest = float(s[rank - 1] / s[0]) if rank else 1.0
        self.lam = U[:, :rank] @ ((Vt[:rank] @ self.Q) / s[:rank])
        # all forces, so that their sum may vanish
        parts = [system.form.Q, self.Q - system.form.Q]
        self.force_scale = sum(float(np.linalg.norm(part)) for part in parts)

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
        return Z.T @ (self.system.curvature(self.lam) - self.Q_q) @ Z

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
        bent = [
            np.abs(Z.T @ self.system.curvature(n) @ Z).max(initial=0.0) for n in self.left_null.T
        ]
        return bool(max(bent, default=0.0) > 1e-6)


# the search


def _search(system: _System) -> tuple[Floats, str, bool, int]:
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
        ended = tiny and 0.5 * before <= here.residual < 1e-9
        if ended and here.stiffness_values[0] >= -here.indifferent:
            return q, f"at rest after {step + 1} steps", True, step + 1
    return q, f"no rest within {ITERATIONS} steps: {_stuck(here)}", False, ITERATIONS


def _stuck(here: _State) -> str:
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


def _work(system: _System, a: Floats, b: Floats) -> float:
    """Work of all forces on the straight way from a to b, by Simpson's rule: the drop of the energy."""
    forces = [system.loads(a + share * (b - a))[0] for share in (0.0, 0.5, 1.0)]
    return float((forces[0] + 4.0 * forces[1] + forces[2]) @ (b - a)) / 6.0


# eigenvalues


def _solve_modes(here: _State) -> tuple[Complex, Complex]:
    """Eigenvalues and, as columns, displacements in the freedoms."""
    from scipy import linalg

    Z = here.freedom_basis
    M, C, K = Z.T @ here.system.M @ Z, -Z.T @ here.Q_v @ Z, here.stiffness
    n = len(K)
    if n == 0:
        return np.zeros(0, complex), np.zeros((0, 0), complex)
    scale = float(np.abs(K).max(initial=0.0))
    even = np.abs(K - K.T).max() <= 1e-11 * max(scale, here.indifferent)
    if not np.any(C) and even:
        squares, shapes = linalg.eigh(0.5 * (K + K.T), M)
        # rounding of the stiffness, in the unit of each mode: shapes have unit mass
        sizes = here.indifferent * np.sum(shapes**2, axis=0)
        squares = np.where(np.abs(squares) <= sizes, 0.0, squares)
        roots = np.sqrt(-squares.astype(complex))
        return np.concatenate([roots, -roots]), np.hstack([shapes, shapes]).astype(complex)
    # freedoms without stiffness and damping have the value 0 twice, which rounding would tear apart
    sizes, vectors = np.linalg.eigh(0.5 * (K + K.T))
    free = vectors[:, np.abs(sizes) <= here.indifferent]
    noise = 1e-12 * max(float(np.abs(C).max()), here.indifferent)
    if max(np.abs(C @ free).max(initial=0.0), np.abs(free.T @ C).max(initial=0.0)) > noise:
        free = vectors[:, :0]
    # the others, apart from them by their mass
    T = linalg.null_space(free.T @ M) if free.shape[1] else np.eye(n)
    m = T.shape[1]
    first = np.block([[np.zeros((m, m)), np.eye(m)], [-T.T @ K @ T, -T.T @ C @ T]])
    second = np.block([[np.eye(m), np.zeros((m, m))], [np.zeros((m, m)), T.T @ M @ T]])
    values, vectors = linalg.eig(first, second)
    zeros = np.zeros(2 * free.shape[1])
    return np.concatenate([zeros, values]), np.hstack([free, free, T @ vectors[:m]])


def _one_of_each(values: Complex) -> list[int]:
    """One of every pair of conjugates, and every real value; of +-0 one."""
    chosen: list[int] = []
    rests = 0
    for i, value in enumerate(values):
        if value == 0.0:
            rests += 1
            if rests % 2:
                chosen.append(i)
        elif value.imag >= -REAL * abs(value):
            chosen.append(i)
    return chosen


def _make_mode(model: Model, value: complex, direction: Complex) -> Mode:
    rates = (model.places @ direction).reshape(len(model.points), model.dimension)
    flat = rates.ravel()
    largest = flat[np.argmax(np.abs(flat))] if flat.size else 1.0
    if largest != 0.0:
        rates = rates / largest
    size = abs(value)
    swings = abs(value.imag) > REAL * size
    return Mode(
        # no negative zeros
        eigenvalue=complex(value.real + 0.0, value.imag + 0.0 if swings else 0.0),
        frequency=float(size / (2.0 * np.pi)) if swings else 0.0,
        damping=float(-value.real / size) if size > 0.0 else 0.0,
        shapes={name: rates[i] for name, i in model.points.items()},
    )
