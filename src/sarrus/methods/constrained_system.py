"""The interface for user methods: a constrained system in the notation of the literature, as NumPy arrays.

    M(q) q'' + J(q)^T lam = Q(q, v, t),      Phi(q, t) = 0,      J = dPhi/dq

    rate(q, v, t)      = dPhi/dt   = J v + Phi_t
    curvature(q, v, t) = d2Phi/dt2 - J a,   so that J a = -curvature

Constraints may be redundant, everywhere or in some configurations; `solve` and `project` support that. No equation
is ever deleted; the multipliers of redundant constraints are those of least norm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats
from ..kernels import system_kernels as kernels
from ..kernels.applied_forces import make_loads
from ..kernels.layout import make_workspace
from ..thresholds import EPS

if TYPE_CHECKING:
    from .method import Run

# Newton iterations of a projection; few are needed from the end of a step
PROJECTIONS = 20
REFINEMENTS = 2


class System:
    """A mechanism as a constrained system; q0, v0: initial state; duration [s]: of the run.

    Subclasses implement M, Phi, J, Q, rate and curvature in their coordinates.
    """

    coordinates = ""
    q0: Floats
    v0: Floats
    duration: float

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.q0)

    @property
    def m(self) -> int:
        """Number of constraint equations."""
        return len(self.Phi(self.q0, 0.0))

    def M(self, q: Floats) -> Floats:
        """The mass matrix, (n, n)."""
        raise NotImplementedError

    def Phi(self, q: Floats, t: float = 0.0) -> Floats:
        """The constraints, (m,); 0 where they are satisfied."""
        raise NotImplementedError

    def J(self, q: Floats) -> Floats:
        """The constraint Jacobian, (m, n)."""
        raise NotImplementedError

    def Q(self, q: Floats, v: Floats, t: float = 0.0) -> Floats:
        """All forces except constraint forces, (n,); if M depends on q, including the inertial terms from it."""
        raise NotImplementedError

    def rate(self, q: Floats, v: Floats, t: float = 0.0) -> Floats:
        """dPhi/dt, (m,): J v plus the contribution of drives."""
        raise NotImplementedError

    def curvature(self, q: Floats, v: Floats, t: float = 0.0) -> Floats:
        """The acceleration-independent part of d2Phi/dt2, (m,): J a = -curvature."""
        raise NotImplementedError

    def natural(
        self, q: Floats, v: Floats, a: Floats | None
    ) -> tuple[Floats, Floats, Floats | None]:
        """Return the state in natural coordinates, in which the motion is recorded."""
        raise NotImplementedError

    def solve(self, q: Floats, force: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Return x and lam of [M J^T; J 0] (x, lam) = (force, right) at q, for any rank of J."""
        return self.solve_matrices(self.M(q), self.J(q), force, right)

    def accelerations(self, q: Floats, v: Floats, t: float = 0.0) -> tuple[Floats, Floats]:
        """Return a and lam of the equations of motion."""
        return self.solve(q, self.Q(q, v, t), -self.curvature(q, v, t))

    def project(self, q: Floats, v: Floats, t: float = 0.0) -> tuple[Floats, Floats]:
        """Return the coordinates and velocities on the constraints that are nearest in the mass metric."""
        q, v = np.array(q, dtype=float), np.array(v, dtype=float)
        still, left = np.zeros(self.n), np.inf
        for _ in range(PROJECTIONS):
            gap = self.Phi(q, t)
            size = float(np.abs(gap).max(initial=0.0))
            # iterate down to rounding
            if not size < left or size < 1e-15:
                break
            q, left = q + self.solve(q, still, -gap)[0], size
        return q, v + self.solve(q, still, -self.rate(q, v, t))[0]

    @staticmethod
    def solve_matrices(M: Floats, J: Floats, force: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Solve for x and lam with given matrices, lam of least norm if J is rank-deficient; M may be unsymmetric.

        K = [M + rho J^T J, J^T; J, -eps]: eps regularises redundant equations and is refined away; rho compensates
        for massless coordinates and does not change the solution.
        """
        n, m = len(M), len(J)
        size = max(float(np.abs(J).max(initial=0.0)), np.finfo(float).tiny)
        mass = max(float(np.abs(M).max(initial=0.0)), np.finfo(float).tiny)
        rho = mass / size**2
        K = np.zeros((n + m, n + m))
        K[:n, :n] = M + rho * J.T @ J
        K[:n, n:], K[n:, :n] = J.T, J
        K[n:, n:] = -EPS / rho * np.eye(m)
        x, lam = np.zeros(n), np.zeros(m)
        # several right-hand sides are columns
        if force.ndim > 1:
            x, lam = np.zeros((n, force.shape[1])), np.zeros((m, force.shape[1]))
        for _ in range(1 + REFINEMENTS):
            gap = right - J @ x
            side = np.concatenate([force - M @ x - J.T @ lam + rho * J.T @ gap, gap])
            step = np.linalg.solve(K, side)
            x, lam = x + step[:n], lam + step[n:]
        return x, lam


class NaturalSystem(System):
    """Natural coordinates: points and axes of joints, as displacements from the start, in units of a typical link.

    M is constant and Phi quadratic. They are evaluated by the compiled kernels of the built-in methods.
    """

    coordinates = "natural"

    def __init__(self, run: Run) -> None:
        model = run.model
        self._form, self._ws = model.form, make_workspace(model.form, 0)
        self._loads = make_loads(model.loads, 0)
        self.q0, self.v0 = np.zeros(model.coordinates), np.array(run.velocity)
        self.duration = run.duration
        nq, nc = model.coordinates, model.equations
        self._M = np.zeros((nq, nq))
        kernels.eval_mass(self._form, self._M)
        self._M.flags.writeable = False
        self._nq, self._nc = nq, nc

    @property
    def m(self) -> int:
        """Number of constraint equations."""
        return self._nc

    def M(self, q: Floats) -> Floats:
        """The mass matrix, constant."""
        return self._M

    def Phi(self, q: Floats, t: float = 0.0) -> Floats:
        """The constraints."""
        return self._place(q, t)[0]

    def J(self, q: Floats) -> Floats:
        """The constraint Jacobian."""
        return self._place(q, 0.0)[1]

    def Q(self, q: Floats, v: Floats, t: float = 0.0) -> Floats:
        """The forces."""
        return self._motion(q, v, t)[2]

    def rate(self, q: Floats, v: Floats, t: float = 0.0) -> Floats:
        """dPhi/dt."""
        return self._motion(q, v, t)[0]

    def curvature(self, q: Floats, v: Floats, t: float = 0.0) -> Floats:
        """The acceleration-independent part of d2Phi/dt2."""
        return self._motion(q, v, t)[1]

    def accelerations(self, q: Floats, v: Floats, t: float = 0.0) -> tuple[Floats, Floats]:
        """Return accelerations and multipliers."""
        _, curvature, Q = self._motion(q, v, t)
        return self.solve(q, Q, -curvature)

    def solve(self, q: Floats, force: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Solve with the sparse factorisation that all built-in methods use."""
        x, lam = np.zeros(self._nq), np.zeros(self._nc)
        kernels.solve_at(self._form, self._ws, _flat(q), _flat(force), _flat(right), x, lam)
        return x, lam

    def project(self, q: Floats, v: Floats, t: float = 0.0) -> tuple[Floats, Floats]:
        """Project with Newton's method, and one solve for the velocities."""
        q, v = np.array(q, dtype=float), np.array(v, dtype=float)
        kernels.project_at(self._form, self._ws, self._loads, float(t), 0.0, PROJECTIONS, q, v)
        return q, v

    def natural(
        self, q: Floats, v: Floats, a: Floats | None
    ) -> tuple[Floats, Floats, Floats | None]:
        """Return the arguments: these are natural coordinates."""
        return q, v, a

    def _place(self, q: Floats, t: float) -> tuple[Floats, Floats]:
        phi, J = np.zeros(self._nc), np.zeros((self._nc, self._nq))
        kernels.eval_place(self._form, self._ws, self._loads, float(t), _flat(q), phi, J)
        return phi, J

    def _motion(self, q: Floats, v: Floats, t: float) -> tuple[Floats, Floats, Floats]:
        rate, curvature, Q = np.zeros(self._nc), np.zeros(self._nc), np.zeros(self._nq)
        args = self._form, self._ws, self._loads, float(t), _flat(q), _flat(v)
        kernels.eval_motion(*args, rate, curvature, Q)
        return rate, curvature, Q


def _flat(x: Floats) -> Floats:
    return np.ascontiguousarray(x, dtype=np.float64)
