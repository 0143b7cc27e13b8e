"""Velocity transformation: independent velocities and the null space of J, Runge-Kutta 4.

    v = R^T z,     J R^T = 0
    (R M R^T) y = R Q,     a = R^T y + c,     J c = -J' v,     z' = a of the chosen coordinates

Source: [GarciaDeJalonBayo1994] chapter 5 (matrix R; its columns are rows here). The basis comes by
projection in the mass metric: R of the last evaluation is projected onto the null space of J with
the one matrix K, so that c is orthogonal to it and drops out of the equation for y. The coordinates
whose velocities are z are chosen by full pivoting, again when entries of R grow. The number of
freedoms is decided once, at the start. Velocities meet the constraints exactly; positions are
brought back by Newton's method after each step (option project = 1) or left to drift (project = 0).
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..kernels import null_space as kernels
from ..kernels.layout import make_workspace
from ..kernels.loads import make_loads
from .fixed_step import SOFT_REFINEMENTS, divide, run_fixed, soften
from .outcome import Outcome, skipped
from .run import Run

OPTIONS = {"project": 1.0}


def run(problem: Run) -> Outcome:
    """Simulate with fixed steps.

    Options: project: 1 to bring positions back onto the constraints after each step, 0 to let them drift.
    """
    model, project = problem.model, problem.options["project"]
    if project not in (0, 1):
        raise ValueError(f"project = {project:g}; give 1 or 0")
    nq = model.coordinates
    ws, loads = make_workspace(model.form, 0), make_loads(model.loads, 0)
    form, notes = soften(model.form, ws)
    refinements = SOFT_REFINEMENTS if notes else -1
    rows, freedoms = 8, -1
    while freedoms < 0:
        basis = np.zeros((rows, nq))
        freedoms, kept, rest = kernels.find_basis(form, ws, 2, np.zeros(nq), basis)
        rows *= 2
    if freedoms == 0:
        return skipped(
            model,
            "no velocity is independent at the start: the joints hold the mechanism still there "
            f"(the largest part of a motion that they leave is {rest:.0e})",
        )
    word = "velocity is" if freedoms == 1 else "velocities are"
    notes.append(
        f"{freedoms} {word} independent at the start, and taken to be so throughout (smallest part "
        f"kept {kept:.1e}, rejected {rest:.0e})"
    )
    R = np.ascontiguousarray(basis[:freedoms])
    room = kernels.Basis(
        chosen=np.zeros(freedoms, np.int64), R=R,
        G=np.zeros((freedoms, freedoms)), y=np.zeros((freedoms, 1)), choice=np.zeros_like(R),
        z=np.zeros((2, freedoms)), k=np.zeros((2, 3, nq)),
    )  # fmt: skip
    _, h = divide(problem)

    def advance(store: Floats, fresh: bool, counters: np.ndarray) -> tuple[int, int]:
        return kernels.advance(
            form, ws, loads, h, refinements, bool(project), fresh, room, store, counters
        )

    return run_fixed(problem, advance, order=4, notes=notes)
