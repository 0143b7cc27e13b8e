"""Definition of a method and its input; compiles or loads its kernels before the timing of a run starts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from ..arrays import Floats
from ..kernels.applied_forces import acts
from ..kernels.compiler import compiling
from ..kernels.elements.user import count_forms
from ..mechanism import Mechanism, Polynomial
from ..model import Model, make_model
from ..thresholds import TIGHTEST_TOLERANCE
from . import extended_precision
from .monitor import Candidate, Watch
from .outcome import AccelerationRule, LocatedEvents, MotionPart, Outcome, Record

# (new candidates since the last call, monitoring data of the run) -> time to stop [s], or None
Stop = Callable[[list[Candidate], Watch], float | None]


class EventLocator(Protocol):
    """Locates events while a run advances.

    may_stop: whether an event may end the run; reached: the name of the event that did; cpu: CPU time used [s].
    """

    may_stop: bool
    reached: str
    cpu: float

    def look(self, part: MotionPart, law: AccelerationRule | None, *, last: bool) -> Record | None:
        """Check some steps; return the state at which the run has to end, if any. last: no more steps follow."""

    def located(self, until: float) -> LocatedEvents:
        """Return all events up to a time [s]."""

    def release(self) -> None:
        """Leave the memory to later runs."""

    def notes(self) -> list[str]:
        """Return notes for the user."""


@dataclass(frozen=True)
class Start:
    """Where a run starts or continues: time, coordinates, velocities, angles of torsions and work."""

    t: float
    q: Floats
    v: Floats
    carried: Floats


@dataclass(frozen=True)
class Run:
    """A run from q = 0 and the given velocity, or from another start, to the end of the duration [s].

    times: outputs, increasing [s]; setting: tolerance or step [s], depending on the method; options: all its other
    parameters; stop: called wherever an equation comes close to linear dependence; the run ends at the time it
    returns, with an output there; dense: keep the polynomials of all steps; mechanism: the source of the model,
    for methods in other coordinates; events: creates the event locator of this run; start: where it continues
    after an event, None at the start of the motion.
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
    start: Start | None = None

    @property
    def begin(self) -> float:
        """The time at which it starts [s]."""
        return 0.0 if self.start is None else self.start.t


# features that a method may support; the values appear in messages
LOADS = "springs, torsions, torques or forces that turn with a body"
DRIVES = "drives"
USER_FORCES = "user forces"


@dataclass(frozen=True)
class Method:
    """A time integration method.

    setting: the parameter that controls its accuracy, "tolerance" or "step" [s]. run: simulates a `Run`. options:
    its other parameters with their defaults. does: what it supports besides constant forces: LOADS, DRIVES,
    USER_FORCES. projects: whether its outputs are projected onto the constraints; other methods report their own
    states, including the constraint violation. compiled: whether its steps are compiled code; fingerprint: of the
    source of a user's method, empty for built-in methods; restarts: whether it can continue from another start.
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
    restarts: bool = False


def needs_of(model: Model) -> frozenset[str]:
    """Return what a method must support to simulate a model, besides constant forces."""
    loads = model.loads
    if not acts(loads):
        return frozenset()
    found = {
        LOADS: len(loads.f0) - count_forms(loads.user),
        DRIVES: len(loads.drives.equations),
        USER_FORCES: len(loads.user.calls),
    }
    return frozenset(word for word, count in found.items() if count)


# methods whose kernels this process has loaded, without and with loads, with drives, and with extended precision
_WARM: set[tuple[str, bool, bool, bool]] = set()


def warm_up(
    name: str,
    run: Callable[[Run], Outcome],
    of: Model,
    options: dict[str, float],
    tight: bool = False,
) -> float:
    """Run a method on a tiny mechanism, once per process and kind of model; return the time used [s].

    of: the model to be simulated: kernels are compiled for loads and drives only if it has them; tight: compile
    for extended precision, which other runs need not wait for. The code for reading outputs and classifying
    crossings is compiled at its first use.
    """
    loaded, driven = of.loaded, DRIVES in needs_of(of)
    if (name, loaded, driven, tight) in _WARM:
        return 0.0
    begin = time.perf_counter()
    tiny = Mechanism("warm-up")
    tiny.rod("rod", (0, 0), (1, 0), mass=1)
    tiny.revolute("pin", tiny.ground, "rod", at=(0, 0))
    if driven:
        # outputs of driven mechanisms are not projected in SIMD lanes, whose code would be compiled in vain
        tiny.drive("motor", "pin", Polynomial((0.0, 0.0, 1.0)))
    elif loaded:
        tiny.torsion("spring", "pin", stiffness=1)
    model = make_model(tiny)
    # all user methods need the same kernels
    setting = TIGHTEST_TOLERANCE if tight else 1e-3
    with compiling(name.split("/")[0], loaded, driven, tight):
        run(
            Run(
                model, np.zeros(model.coordinates), np.zeros(1), 1e-3, setting, 10, options,
                mechanism=tiny,
            )
        )  # fmt: skip
        if tight:
            extended_precision.warm_up(model.form, model.loads)
    _WARM.add((name, loaded, driven, tight))
    return time.perf_counter() - begin
