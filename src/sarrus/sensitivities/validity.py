"""Existence of the derivative of a motion by a parameter.

Parameters that do not change the constraints (masses, gravity, stiffness, initial velocities) have derivatives
through crossings: the branch that the motion follows does not move. A geometric parameter must satisfy

    Y^T dPhi/dp = 0,      Y: left null vectors of J,

at every crossing (and everywhere, if constraints are redundant); otherwise J u = -dPhi/dp has no bounded solution.
This condition is necessary, not sufficient: parameters that satisfy it are confirmed with neighbouring mechanisms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Ints
from ..kernels import variational as kernels
from ..kernels.dual import make_duals
from ..kernels.layout import make_dual_workspace
from ..thresholds import INTEGRABLE, NULL_DIRECTION
from .dual_model import DualModel

# outputs at which redundant constraints are checked, and number of equations up to which that is fast
SAMPLES, DENSE = 16, 600


@dataclass(frozen=True)
class Validity:
    """Time until which a derivative exists [s], infinite if to the end of the run, and the reason why not longer.

    defect: the component of dPhi/dp along the null directions, over the size of its terms, at the crossing that
    decided, or the largest of all crossings passed.
    """

    until: float = np.inf
    reason: str = ""
    defect: float = 0.0

    @property
    def is_valid(self) -> bool:
        """Whether the derivative exists at all outputs."""
        return self.until == np.inf

    def __bool__(self) -> bool:
        return self.is_valid

    def __str__(self) -> str:
        if self.is_valid:
            return "valid"
        if self.until > 0.0:
            return f"valid until t = {self.until:.9g} s: {self.reason}"
        return f"undefined because {self.reason}"


class ConstraintVariation:
    """Derivatives of the constraints of a model by parameters at given states."""

    def __init__(self, dual: DualModel) -> None:
        self._dual = dual
        ones = np.ones(len(dual.rates))
        self._form, self._loads = dual.make_form(ones), dual.make_loads(ones, 0)
        self._ws = make_dual_workspace(dual.model.form, 0)

    def at(
        self, times: Floats, q: Floats, u: Floats | None = None
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """J (n, nc, nq), and derivatives of Phi (n, nc, RATES) and of J; u: derivatives of q, zero by default.

        Also returns the size of the terms of dPhi/dp, (n, RATES).
        """
        f, n = self._dual.model.form, len(times)
        duals = make_duals(q, u)
        phi = make_duals(np.zeros((n, len(f.phi0))))
        entries = make_duals(np.zeros((n, len(f.J_eq))))
        kernels.eval_variations(
            self._form, self._ws, self._loads, np.ascontiguousarray(times), duals, phi, entries
        )
        J = np.zeros((n, len(f.phi0), len(f.Q)))
        J[:, f.J_eq, f.J_col] = entries["value"]
        dJ = np.zeros((*J.shape, entries["rates"].shape[-1]))
        dJ[:, f.J_eq, f.J_col] = entries["rates"]
        return J, phi["rates"], dJ, self._sizes(phi["rates"], q)

    def _sizes(self, phi: Floats, q: Floats) -> Floats:
        """Size of the terms of dPhi/dp, which may itself vanish at a crossing."""
        largest = np.abs(phi).max(axis=1)
        e = 1.0 + np.abs(q).max(axis=1, initial=0.0)
        for p, m in enumerate(self._dual.rates):
            f = m.form
            drawn = max(np.abs(x).max(initial=0.0) for x in (f.D_val, f.e0, f.sq_c, f.bl_c, f.phi0))
            largest[:, p] += drawn * e
        return largest


def null_vectors(J: Floats) -> tuple[Floats, Floats]:
    """Columns that span the left and the right null space of a Jacobian."""
    U, sizes, V = np.linalg.svd(J)
    rank = int((sizes > NULL_DIRECTION * sizes.max(initial=0.0)).sum())
    return U[:, rank:], V[rank:].T


def find_defects(dual: DualModel, times: Floats, q: Floats) -> Floats:
    """The component of dPhi/dp along the null directions at some states, over the size of its terms (n, RATES)."""
    J, phi, _, sizes = ConstraintVariation(dual).at(times, q)
    out = np.zeros(sizes.shape)
    for k, jacobian in enumerate(J):
        Y, _ = null_vectors(jacobian)
        if Y.shape[1]:
            out[k] = np.abs(Y.T @ phi[k]).max(axis=0) / np.maximum(sizes[k], 1e-300)
    return out


def check_crossings(
    dual: DualModel, times: Floats, q: Floats, crossings: Floats, at_crossings: Floats
) -> list[Validity]:
    """Validity of each parameter by the integrability test; times, q: outputs, crossings: their data."""
    some = _samples(times, crossings) if dual.model.equations <= DENSE else np.zeros(0, np.int64)
    moments = np.concatenate([times[some], crossings])
    states = np.concatenate([q[some], at_crossings.reshape(len(crossings), q.shape[1])])
    order = np.argsort(moments, kind="stable")
    defects = find_defects(dual, moments[order], states[order])
    out = []
    for p, moves in enumerate(dual.moves_constraints):
        failed = np.flatnonzero((defects[:, p] > INTEGRABLE) & moves)
        if not len(failed):
            out.append(Validity(defect=float(defects[:, p].max(initial=0.0)) if moves else 0.0))
            continue
        n = int(failed[0])
        t, size = float(moments[order][n]), float(defects[n, p])
        if order[n] < len(some):
            why = (
                f"the redundant constraints contradict each other where it changes (defect {size:.2g}): the "
                "linkage moves for special dimensions only"
            )
            out.append(Validity(0.0, why, size))
        else:
            why = (
                "the branches that cross there separate where it changes "
                f"(defect {size:.2g}), and the derivative has a pole"
            )
            out.append(Validity(t, why, size))
    return out


def _samples(times: Floats, crossings: Floats) -> Ints:
    """Some outputs, none of them near a crossing or the start."""
    if not len(times):
        return np.zeros(0, np.int64)
    chosen = np.unique(np.linspace(0, len(times) - 1, SAMPLES + 1).astype(int)[1:])
    span = float(times[-1]) or 1.0
    apart = [np.abs(crossings - t).min(initial=np.inf) > 1e-3 * span for t in times[chosen]]
    return np.asarray(chosen[np.array(apart, dtype=bool)])


def find_crossing_rates(J: Floats, dJ: Floats, rate: Floats) -> float:
    """Derivative of a crossing's time, at which J loses rank on the changed motion; NaN if it does not.

    J: at the crossing; dJ: its derivative by the parameter along the motion, rate: by time. It solves
    Y^T (dJ + t' rate) N = 0 on both null spaces.
    """
    Y, N = null_vectors(J)
    a, b = (Y.T @ rate @ N).ravel(), (Y.T @ dJ @ N).ravel()
    square = float(a @ a)
    if not square > 0.0:
        return np.nan
    found = -float(a @ b) / square
    left = np.linalg.norm(b + found * a)
    return (
        found
        if left <= np.sqrt(INTEGRABLE) * (np.linalg.norm(b) + np.sqrt(square) * 1e-3)
        else np.nan
    )
