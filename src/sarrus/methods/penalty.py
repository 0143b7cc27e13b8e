"""Bayo's penalty formulation, fourth-order Runge-Kutta.

    (M + penalty J^T J) a = Q - penalty J^T (J' v + 2 xi omega J v + omega^2 Phi)

Source: [BayoGarciaDeJalonSerna1988]. No multipliers and no rank: the matrix is definite in every
position. The constraints are soft by 1/penalty, and violations die out as an oscillator of
frequency omega and damping xi. The source solves with M + penalty J^T J; here it is the Schur
complement of K = [M J^T; J -eps] with eps = 1/penalty, the same solution with better condition.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..kernels import explicit as kernels
from ..kernels.layout import make_workspace
from ..kernels.loads import make_loads
from .fixed_step import as_penalty, divide, run_fixed
from .outcome import Outcome
from .run import Run

OPTIONS = {"penalty": 1e7, "omega": 10.0, "xi": 1.0}


def run(problem: Run) -> Outcome:
    """Simulate with fixed steps.

    Options: penalty: in units of a typical mass; omega [1/s] and xi: frequency and damping of violations.
    """
    model = problem.model
    penalty, omega, xi = (float(problem.options[name]) for name in ("penalty", "omega", "xi"))
    if not penalty > 0:
        raise ValueError(f"penalty = {penalty:g}; give a positive number, 1e5 to 1e9 is usual")
    form = as_penalty(model.form, penalty)
    ws, loads = make_workspace(form, 0), make_loads(model.loads, 0)
    _, h = divide(problem)
    lam, k = np.zeros(model.equations), np.zeros((2, 3, model.coordinates))
    damping, stiffness = 2.0 * xi * omega, omega**2

    def advance(store: Floats, fresh: bool, counters: np.ndarray) -> tuple[int, int]:
        return kernels.advance(
            form, ws, loads, h, damping, stiffness, 0, fresh, lam, k, store, counters
        )

    return run_fixed(problem, advance, order=4, notes=[])
