"""Kernels compiled (or loaded) before the clock of a run starts."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from ..kernels.compiler import compiling
from ..kernels.layout import make_workspace
from ..kernels.watch import sample_pivots
from ..mechanism import Mechanism
from ..model import make_model
from .outcome import Outcome
from .run import Run

# methods whose kernels this process has loaded, without and with those for loads
_WARM: set[tuple[str, bool]] = set()


def warm_up(
    name: str, run: Callable[[Run], Outcome], loaded: bool, options: dict[str, float]
) -> float:
    """Run a method on a tiny mechanism, once in a process; returns the seconds.

    loaded: compile for loads and drives, which others need not wait for. What reading the outputs and judging
    crossings need is compiled as well.
    """
    if (name, loaded) in _WARM:
        return 0.0
    begin = time.perf_counter()
    tiny = Mechanism("warm-up")
    tiny.rod("rod", (0, 0), (1, 0), mass=1)
    tiny.revolute("pin", tiny.ground, "rod", at=(0, 0))
    if loaded:
        tiny.torsion("spring", "pin", stiffness=1)
    model = make_model(tiny)
    nq, nc = model.coordinates, model.equations
    with compiling(name, loaded):
        outcome = run(Run(model, np.zeros(nq), np.zeros(1), 1e-3, 1e-3, 10, options))
        _ = outcome.record.norms, outcome.record.energy
        ws, form = make_workspace(model.form, 0), model.form
        sample_pivots(form, ws, np.zeros((2, nq)), 1, 0.0, np.zeros((3, nc)), np.zeros(nc))
    _WARM.add((name, loaded))
    return time.perf_counter() - begin
