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


@dataclass
class Equation:
    """One block of joint equations between body a and body b (-1: ground).

    kind "point": the point p of both coincides; "dot": the vector p of a is normal to s of b.
    """

    kind: str
    a: int
    b: int
    p: np.ndarray
    s: np.ndarray


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
        if joint.kind is not JointKind.WELD:
            p = in_space(joint.at)
            self.equations.append(Equation("point", a, b, p, p))
        else:
            p = self.center[max(a, b)]
            self.equations.append(Equation("point", a, b, p, p))
            for i, j in ((0, 1), (1, 2), (2, 0)):
                self.equations.append(Equation("dot", a, b, np.eye(3)[i], np.eye(3)[j]))
        if joint.kind is JointKind.REVOLUTE and not self.planar:
            e = joint.axis / np.linalg.norm(joint.axis)
            for t in np.linalg.svd(e[None, :])[2][1:]:
                self.equations.append(Equation("dot", a, b, t, e))

    def matrices(self, x, R, v, w):
        """W and W' twist at a state, twists as (v, w) of each body."""
        rows, curvature = [], []
        for eq in self.equations:
            if eq.kind == "point":
                block, rest = np.zeros((3, 6 * self.n)), np.zeros(3)
                for body, sign in ((eq.a, 1.0), (eq.b, -1.0)):
                    if body >= 0:
                        r = R[body] @ (eq.p - self.center[body])
                        block[:, 6 * body : 6 * body + 3] += sign * np.eye(3)
                        block[:, 6 * body + 3 : 6 * body + 6] -= sign * cross_matrix(r)
                        rest += sign * np.cross(w[body], np.cross(w[body], r))
                rows.append(block)
                curvature.append(rest)
            else:
                block = np.zeros((1, 6 * self.n))
                p, wp = (R[eq.a] @ eq.p, w[eq.a]) if eq.a >= 0 else (eq.p, np.zeros(3))
                s, ws = (R[eq.b] @ eq.s, w[eq.b]) if eq.b >= 0 else (eq.s, np.zeros(3))
                # d/dt (p . s) = wp . (p x s) - ws . (p x s)
                n = np.cross(p, s)
                if eq.a >= 0:
                    block[0, 6 * eq.a + 3 : 6 * eq.a + 6] += n
                if eq.b >= 0:
                    block[0, 6 * eq.b + 3 : 6 * eq.b + 6] -= n
                dn = np.cross(np.cross(wp, p), s) + np.cross(p, np.cross(ws, s))
                rows.append(block)
                curvature.append(np.array([(wp - ws) @ dn]))
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
        K[size:, :size], K[:size, size:] = W, W.T
        side[size:] = -curvature
        solution = np.linalg.lstsq(K, side, rcond=DEPENDENT)[0]
        return solution[:size].reshape(-1, 6)

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
