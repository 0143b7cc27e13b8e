"""What a method is, for those who choose one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from ..mechanism import Mechanism
from ..mechanism.forces import BODY
from .outcome import Outcome

# what a method may or may not be able to do; the value is what a user reads
LOADS = "springs, torsions, torques or forces that turn with a body"
DRIVES = "drives"
USER_FORCES = "user forces"


@dataclass(frozen=True)
class Method:
    """A way to advance in time.

    setting: what steers its accuracy, "tolerance" or "step" [s]. run(model, velocity, times, duration,
    setting, max_steps, **options): simulate from q = 0 and the given velocity, record at the given
    times. options: its further parameters with their defaults. does: what it can simulate besides
    constant forces: LOADS, DRIVES, USER_FORCES. stops: whether run takes `stop`, which is asked at every
    dip of a pivot and may end the run there.
    """

    id: str
    title: str
    setting: Literal["tolerance", "step"]
    run: Callable[..., Outcome]
    options: dict[str, float] = field(default_factory=dict)
    does: frozenset[str] = frozenset()
    stops: bool = False


def needs_of(mechanism: Mechanism) -> frozenset[str]:
    """What a method must be able to do for a mechanism, besides constant forces."""
    turning = any(force.fixed_in == BODY for force in mechanism.forces)
    loads = mechanism.springs or mechanism.torsions or mechanism.torques or turning
    found = {LOADS: loads, DRIVES: mechanism.drives, USER_FORCES: mechanism.user_forces}
    return frozenset(word for word, things in found.items() if things)
