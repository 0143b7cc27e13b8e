"""What every method is given: a model, a start, and what is wanted of the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..arrays import Floats
from ..model import Model
from .watch import Dip, Watch

# (dips seen since it was last asked, what is known of the run) -> when to stop [s], or None
Stop = Callable[[list[Dip], Watch], float | None]


@dataclass(frozen=True)
class Run:
    """A run from q = 0 and the given velocity to the end of the duration [s].

    times: outputs, increasing [s]; setting: tolerance or step [s], whichever the method has; options: its
    further parameters, all of them; stop: asked wherever an equation comes close to depending on others,
    the run ends at the time it returns, with an output there; dense: keep the polynomials of all steps.
    """

    model: Model
    velocity: Floats
    times: Floats
    duration: float
    setting: float
    max_steps: int = 10_000_000
    options: dict[str, float] = field(default_factory=dict)
    stop: Stop | None = None
    dense: bool = False
