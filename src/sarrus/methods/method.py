"""What a method is, what it is given, and its kernels compiled (or loaded) before the clock of a run starts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from ..arrays import Floats
from ..kernels.compiler import compiling
from ..kernels.elements.user import count_forms
from ..mechanism import Mechanism
from ..model import Model, make_model
from ..thresholds import TIGHTEST_TOLERANCE
from . import extended_precision
from .monitor import Candidate, Watch
from .outcome import AccelerationRule, LocatedEvents, MotionPart, Outcome, Record

# (candidates seen since it was last asked, what is known of the run) -> when to stop [s], or None
Stop = Callable[[list[Candidate], Watch], float | None]


class EventLocator(Protocol):
    """What locates events while the steps of a run come in.

    may_stop: whether one of them may end the run; reached: the name of the one that did; cpu: seconds it took.
    """

    may_stop: bool
    reached: str
    cpu: float

    def look(self, part: MotionPart, law: AccelerationRule | None, *, last: bool) -> Record | None:
        """Look at some steps; last: the run ends with them. Returns the state at which it has to end before."""

    def located(self, until: float) -> LocatedEvents:
        """All events up to a time [s]."""

    def notes(self) -> list[str]:
        """What a user should know."""


@dataclass(frozen=True)
class Run:
    """A run from q = 0 and the given velocity to the end of the duration [s].

    times: outputs, increasing [s]; setting: tolerance or step [s], whichever the method has; options: its
    further parameters, all of them; stop: asked wherever an equation comes close to depending on others,
    the run ends at the time it returns, with an output there; dense: keep the polynomials of all steps; mechanism:
    what the model was made of, for methods in other coordinates; events: makes what locates events in this run.
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
    mechanism: Mechanism | None = None
    events: Callable[[], EventLocator] | None = None


@dataclass(frozen=True)
class Start:
    """Where a run begins or goes on: time, position, velocity, angles of torsions and work."""

    t: float
    q: Floats
    v: Floats
    carried: Floats


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
    others are its own states: their violation is part of its answer. compiled: whether its steps are compiled
    code; fingerprint: of the text of a user's method, empty for ours.
    """

    id: str
    title: str
    setting: Literal["tolerance", "step"]
    run: Callable[[Run], Outcome]
    options: dict[str, float] = field(default_factory=dict)
    does: frozenset[str] = frozenset()
    projects: bool = False
    compiled: bool = True
    fingerprint: str = ""


def needs_of(model: Model) -> frozenset[str]:
    """What a method must be able to do for a model, besides constant forces."""
    loads = model.loads
    found = {
        LOADS: len(loads.f0) - count_forms(loads.user),
        DRIVES: len(loads.drives.equations),
        USER_FORCES: len(loads.user.calls),
    }
    return frozenset(word for word, count in found.items() if count)


# methods whose kernels this process has loaded, without and with those for loads, and for more digits
_WARM: set[tuple[str, bool, bool]] = set()


def warm_up(
    name: str,
    run: Callable[[Run], Outcome],
    loaded: bool,
    options: dict[str, float],
    tight: bool = False,
) -> float:
    """Run a method on a tiny mechanism, once in a process; returns the seconds.

    loaded: compile for loads and drives, tight: for more digits, which others need not wait for. What reading the
    outputs and judging crossings need is compiled when that is first done.
    """
    if (name, loaded, tight) in _WARM:
        return 0.0
    begin = time.perf_counter()
    tiny = Mechanism("warm-up")
    tiny.rod("rod", (0, 0), (1, 0), mass=1)
    tiny.revolute("pin", tiny.ground, "rod", at=(0, 0))
    if loaded:
        tiny.torsion("spring", "pin", stiffness=1)
    model = make_model(tiny)
    # all methods of users need the same kernels
    setting = TIGHTEST_TOLERANCE if tight else 1e-3
    with compiling(name.split("/")[0], loaded, tight):
        run(
            Run(
                model, np.zeros(model.coordinates), np.zeros(1), 1e-3, setting, 10, options,
                mechanism=tiny,
            )
        )  # fmt: skip
        if tight:
            extended_precision.warm_up(model.form, model.loads)
    _WARM.add((name, loaded, tight))
    return time.perf_counter() - begin
