"""Energy-momentum method: midpoint forces, constraints at the end of the step.

    M (v_{n+1} - v_n) / h = Q - J((q_n + q_{n+1})/2)^T lam
    (q_{n+1} - q_n) / h   = (v_n + v_{n+1}) / 2
    Phi(q_{n+1})          = 0

Source: [Gonzalez1999] (constrained systems by discrete derivatives), [BetschSteinmann2002] (finite
elements in time). For a quadratic Phi the Jacobian J at the middle is the exact discrete gradient,
Phi(q_{n+1}) - Phi(q_n) = J (q_{n+1} - q_n): constraint forces do no work, and the energy of
constant forces is kept to round-off at any step. Each step is solved by Newton's method without the
derivative of J^T lam, to round-off.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..kernels import energy_momentum as kernels
from ..kernels.layout import make_workspace
from .fixed_step import divide, run_fixed, soften
from .outcome import Outcome
from .run import Run


def run(problem: Run) -> Outcome:
    """Simulate with fixed steps."""
    model = problem.model
    ws = make_workspace(model.form, 0)
    form, notes = soften(model.form, ws)
    U = np.zeros_like(ws.L)
    J_start, J_middle, J_end = (np.zeros_like(ws.J) for _ in range(3))
    mu = np.zeros(model.equations)
    _, h = divide(problem)

    def advance(store: Floats, fresh: bool, counters: np.ndarray) -> tuple[int, int]:
        return kernels.advance(form, ws, U, J_start, J_middle, J_end, h, fresh, mu, store, counters)

    return run_fixed(problem, advance, order=2, notes=notes, complete=False)
