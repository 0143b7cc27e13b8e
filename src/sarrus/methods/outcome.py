"""What every method returns: states at the wanted times, and how it went."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..arrays import Floats, Ints
from ..model.dips import Watch


@dataclass
class Outcome:
    """Trajectory of a run in model units, up to where it is good.

    status: one word, message: one sentence; norms: of the constraints at position, velocity and
    acceleration level; step_*: the steps taken and the smallest pivot after each; watch: where equations
    came close to depending on others, None if the method does not watch. With loads or drives: energy is
    T + V - W with the work W of what has no potential; angles of the torsions [rad]; forces of the drives.
    method: the one that did the run, or the last part of it, if another chose it.
    """

    status: str
    message: str
    times: Floats
    q: Floats
    v: Floats
    a: Floats
    norms: Floats
    energy: Floats
    counters: dict[str, int]
    timings: dict[str, float]
    notes: list[str] = field(default_factory=list)
    step_times: Floats = field(default_factory=lambda: np.zeros(0))
    step_orders: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    step_pivots: Floats = field(default_factory=lambda: np.zeros(0))
    work: Floats | None = None
    angles: Floats | None = None
    drive_forces: Floats | None = None
    method: str = ""
    watch: Watch | None = None
