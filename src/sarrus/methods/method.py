"""What a method is, for those who choose one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from ..mechanism import Mechanism
from ..mechanism.elements import Element
from ..mechanism.forces import WORLD, Drive, Force, UserForce
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

    def need(load: Element) -> str:
        if isinstance(load, Drive):
            return DRIVES
        if isinstance(load, UserForce):
            return USER_FORCES
        return "" if isinstance(load, Force) and load.fixed_in == WORLD else LOADS

    return frozenset(need(load) for load in mechanism.loads()) - {""}
