"""What a method is, for those who choose one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from .outcome import Outcome


@dataclass(frozen=True)
class Method:
    """A way to advance in time.

    setting: what steers its accuracy, "tolerance" or "step" [s]. run(model, velocity, times, duration,
    setting, max_steps, **options): simulate from q = 0 and the given velocity, record at the given
    times. options: its further parameters with their defaults. stops: whether run takes `stop`, which
    is asked at every dip of a pivot and may end the run there.
    """

    id: str
    title: str
    setting: Literal["tolerance", "step"]
    run: Callable[..., Outcome]
    options: dict[str, float] = field(default_factory=dict)
    stops: bool = False
