"""Lagrange multipliers of index 1 with Baumgarte's stabilisation, fourth-order Runge-Kutta.

    [ M  J^T ] [ a   ]   [ Q                                ]
    [ J  0   ] [ lam ] = [ -J' v - 2 alpha J v - beta^2 Phi ]

Source: [Baumgarte1972]; what most textbooks write, [GarciaDeJalonBayo1994] chapter 5. Constraints
are held at the level of accelerations; Baumgarte's terms let what creeps in at the other two levels
die out at the rate alpha (for beta = alpha).
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..kernels import explicit as kernels
from ..kernels.layout import make_workspace
from ..kernels.loads import make_loads
from .fixed_step import SOFT_REFINEMENTS, divide, run_fixed, soften
from .outcome import Outcome
from .run import Run

# [1/s]; as fast as the steps of most problems allow without loss of order
OPTIONS = {"alpha": 10.0, "beta": 10.0}
# faster rates than this over h would be integrated badly, and beyond 2.7 / h not at all
FASTEST = 0.5


def run(problem: Run) -> Outcome:
    """Simulate with fixed steps.

    Options: alpha, beta: rates of stabilisation [1/s], at most 0.5 / h.
    """
    model = problem.model
    alpha, beta = (float(problem.options[name]) for name in ("alpha", "beta"))
    ws, loads = make_workspace(model.form, 0), make_loads(model.loads, 0)
    form, notes = soften(model.form, ws)
    # a larger eps has to be refined away; else the pivots tell what is needed
    refinements = SOFT_REFINEMENTS if notes else -1
    _, h = divide(problem)
    used_alpha, used_beta = min(alpha, FASTEST / h), min(beta, FASTEST / h)
    if used_alpha < alpha or used_beta < beta:
        notes.append(
            f"alpha, beta = {alpha:g}, {beta:g} 1/s are too fast for a step of {h:g} s; "
            f"{used_alpha:g}, {used_beta:g} 1/s were used"
        )
    lam, k = np.zeros(model.equations), np.zeros((2, 3, model.coordinates))
    damping, stiffness = 2.0 * used_alpha, used_beta**2

    def advance(store: Floats, fresh: bool, counters: np.ndarray) -> tuple[int, int]:
        return kernels.advance(
            form, ws, loads, h, damping, stiffness, refinements, fresh, lam, k, store, counters
        )

    return run_fixed(problem, advance, order=4, notes=notes)
