"""Kernels compiled (or loaded) before the clock of a run starts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernels.compiler import compiling
from ..mechanism import Mechanism
from ..model import make_model
from .outcome import Outcome

# methods whose kernels this process has loaded, without and with those for loads
_WARM: set[tuple[str, bool]] = set()


def warm_up(
    name: str,
    run: Callable[..., Outcome],
    loaded: bool,
    options: dict[str, float],
    also: Callable[[Outcome], Any] | None = None,
) -> float:
    """Run a method on a tiny mechanism, once in a process; returns the seconds.

    loaded: compile for loads and drives, which others need not wait for; also: what else to do then.
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
    with compiling(name, loaded):
        outcome = run(model, np.zeros(model.coordinates), np.zeros(1), 1e-3, 1e-3, 10, **options)
        if also is not None:
            also(outcome)
    _WARM.add((name, loaded))
    return time.perf_counter() - begin
