"""A slow and obvious simulation in absolute coordinates, to compare with.

Every body has a centre x and a rotation matrix R (from its start); every joint equation is written
against the twists (v, w) of the bodies, and

    [ M   W^T ] [ twist' ]   [ F - (0, w x I w) ]
    [ W    0  ] [ lam    ] = [ -W' twist        ]

is solved by least squares, so that dependent equations and spins without inertia do no harm.
Nothing of the package is used but the description of the mechanism.
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from sarrus.mechanism import JointKind

# singular values below this share of the largest are dependence: entries are of order one
DEPENDENT = 1e-9


def cross_matrix(a):
    """Matrix of a x."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def in_space(vector):
    """A planar vector with its third component."""
    return np.append(vector, 0.0) if len(vector) == 2 else np.array(vector)


def unit(vector):
    """The vector over its length."""
    return np.array(vector) / np.linalg.norm(vector)


def across(e):
    """Two unit vectors across e."""
    return np.linalg.svd(e[None, :])[2][1:]


@dataclass
class Direction:
    """A vector p fixed in a body (-1: ground)."""

    body: int
    p: np.ndarray


@dataclass
class Arm:
    """From the point p of body a to the point s of body b."""

    a: int
    p: np.ndarray
    b: int
    s: np.ndarray


@dataclass
class Equation:
    """The scalar product of two vectors stays what it is; without a second one, the first stays."""

    first: Direction | Arm
    second: Direction | Arm | None = None


class AbsoluteMechanism:
    """A mechanism in absolute coordinates."""

    def __init__(self, mechanism):
        self.names = [b.name for b in mechanism.bodies]
        self.n = len(self.names)
        self.planar = mechanism.dimension == 2
        self.mass = np.array([b.mass for b in mechanism.bodies])
        self.center = np.array([in_space(b.center) for b in mechanism.bodies])
        self.inertia = np.array(
            [
                float(b.inertia) * np.eye(3) if b.inertia.ndim == 0 else b.inertia
                for b in mechanism.bodies
            ]
        )
        self.gravity = in_space(mechanism.gravity)
        self.equations = []
        for joint in mechanism.joints:
            first, *others = (
                -1 if b == mechanism.GROUND else self.names.index(b) for b in joint.bodies
            )
            for other in others:
                self._join(joint, first, other)

    def _join(self, joint, a, b):
        if joint.kind is JointKind.WELD:
            p = self.center[max(a, b)]
            self.equations.append(Equation(Arm(a, p, b, p)))
            for i, j in ((0, 1), (1, 2), (2, 0)):
                self._keep(Direction(a, np.eye(3)[i]), Direction(b, np.eye(3)[j]))
            return
        p, s = (in_space(x) for x in joint.places[:2])
        arm = Arm(a, p, b, s)
        e = None if joint.axis is None else unit(in_space(joint.axis))
        if joint.kind in (JointKind.REVOLUTE, JointKind.SPHERICAL, JointKind.UNIVERSAL):
            self.equations.append(Equation(arm))
        if joint.kind is JointKind.DISTANCE:
            self._keep(arm, arm)
        if joint.kind is JointKind.UNIVERSAL:
            self._keep(Direction(a, e), Direction(b, unit(joint.ends[1].axis)))
        if joint.kind in (JointKind.PRISMATIC, JointKind.CYLINDRICAL, JointKind.POINT_ON_LINE):
            for t in across(e):
                self._keep(Direction(a, t), arm)
        if joint.kind in (JointKind.PLANAR, JointKind.POINT_ON_PLANE):
            self._keep(Direction(a, e), arm)
        parallel = (
            JointKind.REVOLUTE,
            JointKind.CYLINDRICAL,
            JointKind.PLANAR,
            JointKind.PRISMATIC,
        )
        if e is not None and joint.kind in parallel:
            for t in across(e):
                self._keep(Direction(a, t), Direction(b, e))
        if joint.kind is JointKind.PRISMATIC:
            self._keep(*(Direction(i, t) for i, t in zip((a, b), across(e), strict=True)))

    def _keep(self, first, second):
        self.equations.append(Equation(first, second))

    def _vector(self, vector, x, R, w):
        """Value, derivative by the twists (3, 6n) and acceleration without twist rates."""
        block = np.zeros((3, 6 * self.n))
        if isinstance(vector, Direction):
            i = vector.body
            if i < 0:
                return vector.p, block, np.zeros(3)
            p = R[i] @ vector.p
            block[:, 6 * i + 3 : 6 * i + 6] = -cross_matrix(p)
            return p, block, np.cross(w[i], np.cross(w[i], p))
        value, rest = np.zeros(3), np.zeros(3)
        for i, p, sign in ((vector.a, vector.p, -1.0), (vector.b, vector.s, 1.0)):
            if i < 0:
                value += sign * p
                continue
            r = R[i] @ (p - self.center[i])
            value += sign * (x[i] + r)
            block[:, 6 * i : 6 * i + 3] += sign * np.eye(3)
            block[:, 6 * i + 3 : 6 * i + 6] -= sign * cross_matrix(r)
            rest += sign * np.cross(w[i], np.cross(w[i], r))
        return value, block, rest

    def matrices(self, x, R, v, w):
        """W and W' twist at a state, twists as (v, w) of each body."""
        rows, curvature = [], []
        twist = np.hstack([v, w]).ravel()
        for eq in self.equations:
            f, df, f2 = self._vector(eq.first, x, R, w)
            if eq.second is None:
                rows.append(df)
                curvature.append(f2)
            else:
                g, dg, g2 = self._vector(eq.second, x, R, w)
                rows.append((g @ df + f @ dg)[None, :])
                curvature.append(np.array([f2 @ g + 2 * (df @ twist) @ (dg @ twist) + f @ g2]))
        if self.planar:
            block = np.zeros((3 * self.n, 6 * self.n))
            for i in range(self.n):
                block[3 * i : 3 * i + 3, 6 * i + 2 : 6 * i + 5] = np.eye(3)
            rows.append(block)
            curvature.append(np.zeros(3 * self.n))
        if not rows:
            return np.zeros((0, 6 * self.n)), np.zeros(0)
        return np.vstack(rows), np.concatenate(curvature)

    def accelerations(self, x, R, v, w):
        """Twist rates, shape (n, 6)."""
        W, curvature = self.matrices(x, R, v, w)
        size = 6 * self.n
        K = np.zeros((size + len(W), size + len(W)))
        side = np.zeros(size + len(W))
        for i in range(self.n):
            inertia = R[i] @ self.inertia[i] @ R[i].T
            K[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = self.mass[i] * np.eye(3)
            K[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = inertia
            side[6 * i : 6 * i + 3] = self.mass[i] * self.gravity
            side[6 * i + 3 : 6 * i + 6] = -np.cross(w[i], inertia @ w[i])
        side[:size] += self.loads(x, R, v, w).ravel()
        K[size:, :size], K[:size, size:] = W, W.T
        side[size:] = -curvature
        solution = np.linalg.lstsq(K, side, rcond=DEPENDENT)[0]
        return solution[:size].reshape(-1, 6)

    def loads(self, x, R, v, w):
        """Forces at the centres and moments about them besides the weight, shape (n, 6)."""
        return np.zeros((self.n, 6))

    def possible_twists(self):
        """Orthonormal basis of the twists that the joints allow at the start, as columns."""
        start = np.tile(np.eye(3), (self.n, 1, 1))
        zero = np.zeros((self.n, 3))
        W, _ = self.matrices(self.center, start, zero, zero)
        _, values, basis = np.linalg.svd(W, full_matrices=True)
        rank = int(np.sum(values > DEPENDENT * values.max(initial=0.0)))
        return basis[rank:].T

    def run(self, twists, times, rtol=1e-11):
        """Centres, rotations and velocities at the given times.

        twists: at the start, shape (n, 6); returns x (nt, n, 3), R (nt, n, 3, 3), v (nt, n, 3).
        """
        n = self.n

        def split(y):
            x, R, v, w = np.split(y, [3 * n, 12 * n, 15 * n])
            return x.reshape(n, 3), R.reshape(n, 3, 3), v.reshape(n, 3), w.reshape(n, 3)

        def slope(_, y):
            x, R, v, w = split(y)
            a = self.accelerations(x, R, v, w)
            turning = np.array([cross_matrix(w[i]) @ R[i] for i in range(n)])
            parts = [v.ravel(), turning.ravel(), a[:, :3].ravel(), a[:, 3:].ravel()]
            return np.concatenate(parts)

        twists = np.asarray(twists).reshape(n, 6)
        start = [self.center.ravel(), np.tile(np.eye(3), (n, 1, 1)).ravel()]
        y0 = np.concatenate([*start, twists[:, :3].ravel(), twists[:, 3:].ravel()])
        found = solve_ivp(
            slope, (0.0, times[-1]), y0, method="DOP853", t_eval=times, rtol=rtol, atol=rtol
        )
        x, R, v, _ = zip(*(split(y) for y in found.y.T), strict=True)
        return np.array(x), np.array(R), np.array(v)

    def point(self, name, at, x, R):
        """Path of a point of a body, given its place at the start."""
        i = self.names.index(name)
        return x[:, i] + R[:, i] @ (in_space(at) - self.center[i])
