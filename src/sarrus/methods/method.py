"""What a method is, for those who choose one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from ..kernels.elements.user import count_forms
from ..model import Model
from .outcome import Outcome
from .run import Run

# what a method may or may not be able to do; the value is what a user reads
LOADS = "springs, torsions, torques or forces that turn with a body"
DRIVES = "drives"
USER_FORCES = "user forces"


@dataclass(frozen=True)
class Method:
    """A way to advance in time.

    setting: what steers its accuracy, "tolerance" or "step" [s]. run: simulates what a `Run` says. options: its
    further parameters with their defaults. does: what it can simulate besides constant forces: LOADS,
    DRIVES, USER_FORCES. projects: whether its outputs are taken back onto the constraints; those of the
    others are its own states: their violation is part of its answer.
    """

    id: str
    title: str
    setting: Literal["tolerance", "step"]
    run: Callable[[Run], Outcome]
    options: dict[str, float] = field(default_factory=dict)
    does: frozenset[str] = frozenset()
    projects: bool = False


def needs_of(model: Model) -> frozenset[str]:
    """What a method must be able to do for a model, besides constant forces."""
    loads = model.loads
    found = {
        LOADS: len(loads.f0) - count_forms(loads.user),
        DRIVES: len(loads.drives.equations),
        USER_FORCES: len(loads.user.calls),
    }
    return frozenset(word for word, count in found.items() if count)
