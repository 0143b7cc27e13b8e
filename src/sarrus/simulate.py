"""The front door: a mechanism and a duration in, a result out. The heavy half is in run_single.py."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import assembly
from .arrays import Floats
from .mechanism import Mechanism, MechanismError, check_drive_times
from .mechanism.event_requests import Event, check_events
from .model.structure import check_for_run
from .result import Result
from .settings import (
    CONTINUE,
    DEFAULT_METHOD,
    MOST_STEPS,
    RunSettings,
    check_at_crossing,
    check_max_steps,
    check_metres,
    check_outputs,
    check_seconds,
    check_tolerance,
    check_within,
)
from .user_methods import of_function

if TYPE_CHECKING:
    from .verdict.branches import Branch


def simulate(
    mechanism: Mechanism,
    duration: float,
    output_step: float | None = None,
    *,
    outputs: Sequence[float] | Floats | None = None,
    tolerance: float | None = None,
    method: str | Callable[..., Any] = DEFAULT_METHOD,
    step: float | None = None,
    at_crossing: str = CONTINUE,
    assemble: bool = False,
    misfit: float | None = None,
    dense: bool = False,
    estimate_error: bool = False,
    follow: Branch | None = None,
    events: Sequence[Event] = (),
    **options: float,
) -> Result:
    """Simulate a mechanism for `duration` seconds.

    output_step: time between outputs [s], a thousandth of the duration if left out; or outputs: any
    increasing times from 0 to the duration [s]. tolerance: error aimed at, relative to the size of the
    mechanism, 1e-10 if left out. Methods with a fixed step take `step` [s] instead (the output step if left
    out); options: further parameters of the method, and max_steps, how many steps it may make. method: a name, a
    Python function of your own (`sarrus.method`, docs/own-methods.md), or the file that has it. at_crossing: what
    to do where motions meet: "continue" along the analytic continuation, "stop" there, or stop and list the
    "branches" (`result.branches`). dense: keep the polynomials of the motion, so that `result.at(t)` reads it at
    any time. estimate_error: run a second time, more exactly, and tell the global error
    (`result.error_estimate`).

    assemble: close joints that are apart first, as `sarrus.assemble` does (a mechanism may ask for it
    itself). misfit [m]: a linkage that is locked, but would move if its joints had this much play, is made to
    move by changing its dimensions as little as possible, a note saying how much; 1e-8 of its length if left
    out, 0 to take it as the structure it is. With more misfit than that it is rejected.

    follow: a branch (of `sarrus.branches` or `result.branches`), also one of several with a common tangent. The
    run starts at a configuration on it, a small distance from the singular one, and moves along it; a note states
    how far. events: what to look for besides the mechanism's own events, each made by `sarrus.when`;
    `result.events` has time, state and value of each that occurred, and a terminal one ends the run.

    Raises MechanismError if the mechanism cannot be simulated, ValueError for other arguments. A run
    that loses its tolerance, energy balance or branch ends early: `result.status` says so, and the
    result holds only what is good.
    """
    # plain floats: a whole number of another type would compile the kernels again
    duration = check_seconds("duration", duration)
    times, every = check_outputs(duration, output_step, outputs)
    settings = RunSettings(
        duration=duration,
        outputs=times,
        # what is neither a name nor a function is no method's name
        method=of_function(method).name if callable(method) else str(method),
        tolerance=None if tolerance is None else check_tolerance(tolerance),
        step=None if step is None else check_within("step", step, duration),
        max_steps=check_max_steps(options.pop("max_steps", MOST_STEPS)),
        options=options,
        at_crossing=check_at_crossing(at_crossing),
        misfit=None if misfit is None else check_metres("misfit", misfit),
        assemble=bool(assemble),
        dense=bool(dense),
        estimate_error=bool(estimate_error),
    )
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"{mechanism!r} is no mechanism; give a sarrus.Mechanism")
    start = None
    if follow is not None:
        start = assembly.branch_start.start_on_branch(mechanism, follow)
        mechanism = start.mechanism
    known = check_for_run(mechanism, settings.assemble or mechanism.assemble)
    check_drive_times(mechanism, duration)
    # the compiler and SciPy load slowly: only a mechanism that can be simulated pays for them
    begin = time.perf_counter()
    from .run_single import solve

    loading = time.perf_counter() - begin
    result = solve(mechanism, settings, every, loading, known, check_events(events))
    if start is not None:
        result.outcome.notes.append(start.sentence)
    return result
