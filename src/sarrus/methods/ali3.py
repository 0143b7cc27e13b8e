"""Index-3 augmented Lagrangian with mass-orthogonal projections, trapezoidal rule.

    M q'' + J^T (lam + penalty Phi) = Q,     lam <- lam + penalty Phi     (in each Newton iteration)
    v_{n+1} = 2/h (q_{n+1} - q_n) - v_n,     a_{n+1} = 4/h^2 (q_{n+1} - q_n) - 4/h v_n - a_n

and after the step, with W = M + h^2/4 penalty J^T J,

    W v = M v*,     W a = M a* - h^2/4 penalty J^T J' v

Source: [BayoLedesma1996], [CuadradoCardenalMorerBayo2000]. The sources solve with W itself; here W
is the Schur complement of K = [M J^T; J -eps] with eps = 4 / (h^2 penalty), the same solution with
better condition. The multiplier grows by penalty (Phi + J dq), which is penalty Phi of the next
iterate up to second order. The tangent leaves out the derivative of J^T lam.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..kernels import implicit as kernels
from ..kernels.layout import make_workspace
from .fixed_step import as_penalty, divide, run_fixed, soften
from .outcome import Outcome
from .run import Run

OPTIONS = {"penalty": 1e11, "newton_tolerance": 1e-10}


def run(problem: Run) -> Outcome:
    """Simulate with fixed steps.

    Options: penalty: in model units (typical mass, s); newton_tolerance: largest last
    correction, in units of a typical link.
    """
    model, penalty = problem.model, problem.options["penalty"]
    tolerance = float(problem.options["newton_tolerance"])
    if not penalty > 0:
        raise ValueError(f"penalty = {penalty:g}; give a positive number, 1e7 to 1e12 is usual")
    ws = make_workspace(model.form, 0)
    # only the accelerations at the start are solved without the penalty
    exact, _ = soften(model.form, ws)
    _, h = divide(problem)
    form = as_penalty(model.form, 0.25 * h * h * penalty)
    J, mu = np.zeros_like(ws.J), np.zeros(model.equations)

    def advance(store: Floats, fresh: bool, counters: np.ndarray) -> tuple[int, int]:
        return kernels.advance_ali3(form, exact, ws, J, h, tolerance, fresh, mu, store, counters)

    return run_fixed(problem, advance, order=2, notes=[])
