"""Absolute coordinates for user methods: separate coordinates for every body, joints as equations; SI units.

The coordinates q of a method determine the frames z of all bodies: the centre x and the columns of the rotation R
since the start (in the plane its cosine and sine). With z = z(q), T = dz/dq,

    M(q) = T^T Mz T,      Q = T^T (Qz - Mz T' v),      Mz constant, joint equations products of vectors linear in z

    "euler":  x and Euler parameters p of each body, p . p = 1; in the plane x, y and the angle
    "points": the centre and the points at unit distance from it along each axis, with constant distances

Loads and drives are those of the model in natural coordinates, transformed by virtual work: with q_own = P (z -
z0), Qz = P^T Q_own.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..kinematics.configuration import read_rows, read_spins
from ..mechanism import Joint, Mechanism, MechanismError
from ..model import Model
from ..model.joint_constraints import Arm, Direction, directions_across, kept_products, unit
from .constrained_system import NaturalSystem, System
from .method import Run


def make_absolute(coordinates: str, run: Run) -> System:
    """Return the mechanism of a run in absolute coordinates."""
    assert run.mechanism is not None
    for word, parts in (("rotor", run.mechanism.rotors), ("coupling", run.mechanism.couplings)):
        if parts:
            raise MechanismError(
                f"{word} '{parts[0].name}' is not there in absolute coordinates; use coordinates='natural'"
            )
    return (EulerSystem if coordinates == "euler" else PointSystem)(run, run.mechanism)


class Frames:
    """Frames z of all bodies: vectors as functions of z, joint products, mass matrix, natural coordinates."""

    def __init__(self, mechanism: Mechanism, model: Model) -> None:
        self.d = mechanism.dimension
        # size of z per body: centre and rotation
        self.turn = 9 if self.d == 3 else 2
        self.each = self.d + self.turn
        self.bodies = {body.name: i for i, body in enumerate(mechanism.bodies)}
        self.size = self.each * len(self.bodies)
        self.centers = np.array([b.center for b in mechanism.bodies], dtype=float)
        straight = np.eye(3).ravel() if self.d == 3 else np.array([1.0, 0.0])
        self.z0 = np.hstack([self.centers, np.tile(straight, (len(self.bodies), 1))]).ravel()
        self.M = self._mass(mechanism)
        rows = [product for joint in mechanism.joints for product in self._products(joint)]
        shape = len(rows), self.d, self.size
        self.F = np.array([f for f, _, _, _ in rows]).reshape(shape)
        self.f0 = np.array([f for _, f, _, _ in rows]).reshape(shape[:2])
        self.G = np.array([g for _, _, g, _ in rows]).reshape(shape)
        self.g0 = np.array([g for _, _, _, g in rows]).reshape(shape[:2])
        self.constant = np.zeros(len(rows))
        self.constant = self.products(self.z0)
        self.P = self._own(model)

    def products(self, z: Floats) -> Floats:
        """Return the joint products minus their initial values."""
        f, g = self.F @ z + self.f0, self.G @ z + self.g0
        return np.sum(f * g, axis=1) - self.constant

    def jacobian(self, z: Floats) -> Floats:
        """Return the derivative of `products` with respect to z."""
        f, g = self.F @ z + self.f0, self.G @ z + self.g0
        out = np.einsum("ki,kiz->kz", g, self.F) + np.einsum("ki,kiz->kz", f, self.G)
        return np.asarray(out)

    def curvature(self, dz: Floats) -> Floats:
        """Return the second time derivative of `products` without accelerations of z."""
        return 2.0 * np.sum((self.F @ dz) * (self.G @ dz), axis=1)

    def _mass(self, mechanism: Mechanism) -> Floats:
        """Return the constant mass matrix: the mass of each body and its second moments between columns of R."""
        M = np.zeros((self.size, self.size))
        for body in mechanism.bodies:
            i, d = self.each * self.bodies[body.name], self.d
            M[i : i + d, i : i + d] = body.mass * np.eye(d)
            inertia = np.asarray(body.inertia, dtype=float)
            if d == 2:
                spread = float(inertia) * np.eye(2)
            else:
                full = inertia * np.eye(3) if inertia.ndim < 2 else inertia
                spread = np.kron(0.5 * np.trace(full) * np.eye(3) - full, np.eye(3))
            M[i + d : i + self.each, i + d : i + self.each] = spread
        return M

    def _vector(self, factor: Direction | Arm) -> tuple[Floats, Floats]:
        """Return a vector as F z + f0."""
        F, f0 = np.zeros((self.d, self.size)), np.zeros(self.d)
        if isinstance(factor, Direction):
            ends = [(factor.body, factor.start, 1.0, False)]
        else:
            ends = [
                (factor.first, factor.first_at, -1.0, True),
                (factor.second, factor.second_at, 1.0, True),
            ]
        for body, given, sign, placed in ends:
            at = np.array(given, dtype=float)
            if body not in self.bodies:
                f0 += sign * at
                continue
            i = self.bodies[body]
            p = at - self.centers[i] if placed else at
            if placed:
                F[:, self.each * i : self.each * i + self.d] += sign * np.eye(self.d)
            # R p: columns of R in space; (c, s) in the plane, p and p rotated by a right angle
            turned = (
                np.kron(p, np.eye(3)) if self.d == 3 else np.array([[p[0], -p[1]], [p[1], p[0]]])
            )
            F[:, self.each * i + self.d : self.each * (i + 1)] += sign * turned
        return F, f0

    def _products(self, joint: Joint) -> list[tuple[Floats, Floats, Floats, Floats]]:
        """Return the equations of a joint: vectors that vanish, by component, and constant scalar products."""
        shares, first = joint.kind.row.shares, joint.bodies[0]
        out: list[tuple[Floats, Floats, Floats, Floats]] = []

        def keep(a: Direction | Arm, b: Direction | Arm) -> None:
            out.append((*self._vector(a), *self._vector(b)))

        for other in joint.bodies[1:]:
            if "point" in shares or "everything" in shares:
                place = (
                    joint.at if joint.at is not None else self.centers[self.bodies.get(other, 0)]
                )
                F, f0 = self._vector(Arm(first, place, other, place))
                none = np.zeros((self.d, self.size))
                out += [(F, f0, none, e) for e in np.eye(self.d)]
            if self.d == 3 and "axis" in shares:
                axis = unit(joint.axis)
                for u in directions_across(axis):
                    keep(Direction(first, u), Direction(other, axis))
            if "directions" in shares or "everything" in shares:
                e = np.eye(self.d)
                pairs = ((0, 1), (1, 2), (2, 0)) if self.d == 3 else ((0, 1),)
                for i, j in pairs:
                    keep(Direction(first, e[i]), Direction(other, e[j]))
        for a, b in kept_products(joint):
            keep(a, b)
        return out

    def _own(self, model: Model) -> Floats:
        """Return P of q_own = P (z - z0): the natural coordinates nearest to the frames."""
        rows = model.body_rows
        B = np.zeros((3 * len(rows.names) + 3 * len(rows.starts), self.size))
        for n, name in enumerate(rows.names):
            i = self.each * self.bodies[name]
            B[3 * n : 3 * n + self.d, i : i + self.d] = np.eye(self.d)
        for n, (owner, start) in enumerate(zip(rows.owner, rows.starts, strict=True)):
            F, _ = self._vector(Direction(rows.names[owner], start[: self.d]))
            at = 3 * len(rows.names) + 3 * n
            B[at : at + self.d] = F
        return rows.nearest(model.units.length)(B)


class AbsoluteSystem(System):
    """Common part of both kinds of coordinates; subclasses define z as a function of q."""

    def __init__(self, run: Run, mechanism: Mechanism) -> None:
        self._own = NaturalSystem(run)
        self._frames = Frames(mechanism, run.model)
        self._energy = run.model.units.energy
        self._driven = np.unique(run.model.form.driven)
        self.duration = run.duration
        rows = run.model.body_rows
        still, v = np.zeros((1, run.model.coordinates)), np.asarray(run.velocity)[None]
        velocities, spins = read_rows(rows.centers, v)[0], read_spins(rows, still, v, still)[0][0]
        order = [rows.names.index(name) for name in self._frames.bodies]
        self.q0, self.v0 = self._start(velocities[order], spins[order])

    def M(self, q: Floats) -> Floats:
        """T^T Mz T."""
        T = self._T(q)
        return np.asarray(T.T @ self._frames.M @ T)

    def Phi(self, q: Floats, t: float = 0.0) -> Floats:
        """Equations of joints, rigid bodies and drives."""
        z = self._z(q)
        own = self._own.Phi(self._frames.P @ (z - self._frames.z0), t)[self._driven]
        return np.concatenate([self._frames.products(z), self._rigid(q), own])

    def J(self, q: Floats) -> Floats:
        """The constraint Jacobian."""
        z, T = self._z(q), self._T(q)
        own = self._own.J(self._frames.P @ (z - self._frames.z0))[self._driven]
        return np.vstack(
            [self._frames.jacobian(z) @ T, self._rigid_jacobian(q), own @ self._frames.P @ T]
        )

    def rate(self, q: Floats, v: Floats, t: float = 0.0) -> Floats:
        """dPhi/dt."""
        own_q, own_v = self._state(q, v)
        own = self._own.rate(own_q, own_v, t)[self._driven]
        plain = len(self._frames.constant) + len(self._rigid(q))
        return np.concatenate([(self.J(q) @ v)[:plain], own])

    def curvature(self, q: Floats, v: Floats, t: float = 0.0) -> Floats:
        """The acceleration-independent part of d2Phi/dt2."""
        z, dz, bent = self._z(q), self._T(q) @ v, self._bent(q, v)
        own_q, own_v = self._state(q, v)
        own = self._own.curvature(own_q, own_v, t) + self._own.J(own_q) @ (self._frames.P @ bent)
        joints = self._frames.curvature(dz) + self._frames.jacobian(z) @ bent
        return np.concatenate([joints, self._rigid_curvature(v), own[self._driven]])

    def Q(self, q: Floats, v: Floats, t: float = 0.0) -> Floats:
        """Forces, including the inertial terms of the configuration-dependent mass matrix."""
        own_q, own_v = self._state(q, v)
        Qz = self._energy * (self._frames.P.T @ self._own.Q(own_q, own_v, t))
        return np.asarray(self._T(q).T @ (Qz - self._frames.M @ self._bent(q, v)))

    def natural(
        self, q: Floats, v: Floats, a: Floats | None
    ) -> tuple[Floats, Floats, Floats | None]:
        """Return the natural coordinates nearest to the frames."""
        own_q, own_v = self._state(q, v)
        own_a = None if a is None else self._frames.P @ (self._T(q) @ a + self._bent(q, v))
        return own_q, own_v, own_a

    def _state(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        P = self._frames.P
        return P @ (self._z(q) - self._frames.z0), P @ (self._T(q) @ v)

    def _start(self, velocities: Floats, spins: Floats) -> tuple[Floats, Floats]:
        """Return initial q and v from velocities of centres and angular velocities, (bodies, 3)."""
        raise NotImplementedError

    def _z(self, q: Floats) -> Floats:
        raise NotImplementedError

    def _T(self, q: Floats) -> Floats:
        raise NotImplementedError

    def _bent(self, q: Floats, v: Floats) -> Floats:
        """T' v."""
        raise NotImplementedError

    def _rigid(self, q: Floats) -> Floats:
        """Return the equations among the coordinates of each body."""
        raise NotImplementedError

    def _rigid_jacobian(self, q: Floats) -> Floats:
        raise NotImplementedError

    def _rigid_curvature(self, v: Floats) -> Floats:
        raise NotImplementedError


class PointSystem(AbsoluteSystem):
    """Describes each body by its centre and points at unit distance: four in space, two in the plane."""

    coordinates = "points"

    def _start(self, velocities: Floats, spins: Floats) -> tuple[Floats, Floats]:
        f = self._frames
        d, n = f.d, len(f.bodies)
        # z = L q: centre, and differences to it
        block = np.eye(f.each)
        block[d:, :d] = -np.tile(np.eye(d), (f.turn // d, 1))
        self._L: Floats = np.asarray(np.kron(np.eye(n), block), dtype=np.float64)
        dz = np.zeros((n, f.each))
        dz[:, :d] = velocities[:, :d]
        for i, w in enumerate(spins):
            dz[i, d:] = np.cross(w, np.eye(3)).ravel() if d == 3 else (0.0, w[2])
        self._pairs = [(i, j) for i in range(f.turn // d) for j in range(i, f.turn // d)]
        q, v = np.linalg.solve(self._L, np.column_stack([f.z0, dz.ravel()])).T
        return np.array(q, dtype=np.float64), np.array(v, dtype=np.float64)

    def _z(self, q: Floats) -> Floats:
        return np.asarray(self._L @ q)

    def _T(self, q: Floats) -> Floats:
        return self._L

    def _bent(self, q: Floats, v: Floats) -> Floats:
        return np.zeros(len(q))

    def _columns(self, q: Floats) -> Floats:
        """Columns of R, (bodies, 3 or 1, dimension)."""
        f = self._frames
        return self._z(q).reshape(-1, f.each)[:, f.d :].reshape(len(f.bodies), -1, f.d)

    def _rigid(self, q: Floats) -> Floats:
        r = self._columns(q)
        return np.array([c[i] @ c[j] - (i == j) for c in r for i, j in self._pairs])

    def _rigid_jacobian(self, q: Floats) -> Floats:
        f, r = self._frames, self._columns(q)
        J = np.zeros((len(r) * len(self._pairs), f.size))
        for k, (b, (i, j)) in enumerate((b, pair) for b in range(len(r)) for pair in self._pairs):
            at = f.each * b + f.d
            J[k, at + f.d * i : at + f.d * (i + 1)] += r[b, j]
            J[k, at + f.d * j : at + f.d * (j + 1)] += r[b, i]
        return np.asarray(J @ self._L)

    def _rigid_curvature(self, v: Floats) -> Floats:
        r = self._columns(v)
        return np.array([2.0 * c[i] @ c[j] for c in r for i, j in self._pairs])


class EulerSystem(AbsoluteSystem):
    """Describes each body by its centre and Euler parameters p, R = R(p), p . p = 1; in the plane by its angle."""

    coordinates = "euler"

    def _start(self, velocities: Floats, spins: Floats) -> tuple[Floats, Floats]:
        f = self._frames
        d = f.d
        self._count = 7 if d == 3 else 3
        q, v = np.zeros((len(spins), self._count)), np.zeros((len(spins), self._count))
        q[:, :d], v[:, :d] = f.centers, velocities[:, :d]
        if d == 3:
            # p = (1, 0, 0, 0), p' = (0, w) / 2
            q[:, 3], v[:, 4:] = 1.0, 0.5 * spins
        else:
            v[:, 2] = spins[:, 2]
        return q.ravel(), v.ravel()

    def _z(self, q: Floats) -> Floats:
        f = self._frames
        z = np.zeros((len(f.bodies), f.each))
        for body, row in zip(q.reshape(-1, self._count), z, strict=True):
            row[: f.d] = body[: f.d]
            turn = body[f.d :]
            row[f.d :] = (
                0.5 * turn @ ROTATION @ turn if f.d == 3 else (np.cos(turn[0]), np.sin(turn[0]))
            )
        return z.ravel()

    def _T(self, q: Floats) -> Floats:
        f = self._frames
        T = np.zeros((f.size, len(q)))
        for b, body in enumerate(q.reshape(-1, self._count)):
            i, k = f.each * b, self._count * b
            T[i : i + f.d, k : k + f.d] = np.eye(f.d)
            turn = body[f.d :]
            slope = (
                ROTATION @ turn if f.d == 3 else np.array([[-np.sin(turn[0])], [np.cos(turn[0])]])
            )
            T[i + f.d : i + f.each, k + f.d : k + self._count] = slope
        return T

    def _bent(self, q: Floats, v: Floats) -> Floats:
        f = self._frames
        out = np.zeros((len(f.bodies), f.each))
        rows = zip(q.reshape(-1, self._count), v.reshape(-1, self._count), out, strict=True)
        for body, rate, row in rows:
            w = rate[f.d :]
            angle = body[-1]
            row[f.d :] = (
                w @ ROTATION @ w
                if f.d == 3
                else -(w[0] ** 2) * np.array([np.cos(angle), np.sin(angle)])
            )
        return out.ravel()

    def _parameters(self, q: Floats) -> Floats:
        return q.reshape(-1, self._count)[:, 3:]

    def _rigid(self, q: Floats) -> Floats:
        return np.sum(self._parameters(q) ** 2, axis=1) - 1.0 if self._count == 7 else np.zeros(0)

    def _rigid_jacobian(self, q: Floats) -> Floats:
        bodies = len(self._frames.bodies) if self._count == 7 else 0
        J = np.zeros((bodies, len(q)))
        for b in range(bodies):
            J[b, 7 * b + 3 : 7 * b + 7] = 2.0 * self._parameters(q)[b]
        return J

    def _rigid_curvature(self, v: Floats) -> Floats:
        return 2.0 * np.sum(self._parameters(v) ** 2, axis=1) if self._count == 7 else np.zeros(0)


def _rotation() -> Floats:
    """Return S with vec(R) = 1/2 p^T S p, columns of R stacked, (9, 4, 4)."""
    R = np.zeros((3, 3, 4, 4))
    square = (
        ((1, 1, -1, -1), 0, 0),
        ((1, -1, 1, -1), 1, 1),
        ((1, -1, -1, 1), 2, 2),
    )
    for signs, i, j in square:
        R[i, j] = np.diag(2.0 * np.array(signs))
    # R_ij = 2 (p_i p_j -+ p_0 p_k)
    for i, j, k in ((1, 2, 3), (2, 3, 1), (3, 1, 2)):
        for a, b, sign in ((i, j, -1.0), (j, i, 1.0)):
            for m, n, value in ((i, j, 2.0), (0, k, 2.0 * sign)):
                R[a - 1, b - 1, m, n] += value
                R[a - 1, b - 1, n, m] += value
    return np.swapaxes(R, 0, 1).reshape(9, 4, 4)


ROTATION = _rotation()
