"""Generalized-alpha method for constrained systems, of index 3 or stabilised index 2.

    (1 - alpha_m) a_{n+1} + alpha_m a_n = (1 - alpha_f) q''_{n+1} + alpha_f q''_n
    q_{n+1} = q_n + h v_n + h^2 (1/2 - beta) a_n + h^2 beta a_{n+1}
    v_{n+1} = v_n + h (1 - gamma) a_n + h gamma a_{n+1}
    M q''_{n+1} + J(q_{n+1})^T lam_{n+1} = Q

index 3 [ArnoldBruls2007]: Phi(q_{n+1}) = 0. index 2, after [GearLeimkuhlerGupta1985] and
[ArnoldBrulsCardona2015]: J v_{n+1} = 0 instead, and the position gets a multiplier of its own. With
q* for the right side of the second line,

    M (q_{n+1} - q*) + J(q_{n+1})^T eta = 0,     Phi(q_{n+1}) = 0

written here in the mass metric, with J at the end of the step. With the spectral radius r

    alpha_m = (2 r - 1) / (r + 1),  alpha_f = r / (r + 1)
    gamma = 1/2 + alpha_f - alpha_m,  beta = (gamma + 1/2)^2 / 4,  a_0 = q''_0

Each step is solved by Newton's method without the derivative of J^T lam, to round-off.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..kernels import implicit as kernels
from ..kernels.layout import make_workspace
from .fixed_step import divide, run_fixed, soften
from .outcome import Outcome
from .run import Run

OPTIONS = {"spectral_radius": 0.8, "index": 3.0}
# corrections below this, in units of a typical link, end the iteration
TOLERANCE = 1e-15


def run(problem: Run) -> Outcome:
    """Simulate with fixed steps.

    Options: spectral_radius: of the fastest oscillations, 0 (damped out at once) to 1 (kept); index: 3 or 2.
    """
    model, index = problem.model, problem.options["index"]
    spectral_radius = problem.options["spectral_radius"]
    if index not in (2, 3):
        raise ValueError(f"index = {index:g}; give 3, or 2 for the stabilised form")
    if not 0.0 <= spectral_radius <= 1.0:
        raise ValueError(f"spectral_radius = {spectral_radius:g}; give a number from 0 to 1")
    r = float(spectral_radius)
    alpha_m, alpha_f = (2.0 * r - 1.0) / (r + 1.0), r / (r + 1.0)
    gamma = 0.5 + alpha_f - alpha_m
    beta = 0.25 * (gamma + 0.5) ** 2
    alpha = kernels.Alpha(int(index), alpha_m, alpha_f, beta, gamma)
    ws = make_workspace(model.form, 0)
    form, notes = soften(model.form, ws)
    J, mu, auxiliary = np.zeros_like(ws.J), np.zeros(model.equations), np.zeros(model.coordinates)
    _, h = divide(problem)

    def advance(store: Floats, fresh: bool, counters: np.ndarray) -> tuple[int, int]:
        return kernels.advance_generalized_alpha(
            form, ws, J, h, alpha, TOLERANCE, fresh, mu, auxiliary, store, counters
        )

    return run_fixed(problem, advance, order=2, notes=notes)
