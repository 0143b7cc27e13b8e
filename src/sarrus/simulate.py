"""`sarrus.simulate`: checks its arguments and the mechanism; run_single.py does the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import assembly
from .arrays import Floats
from .mechanism import Mechanism, MechanismError, check_drive_times
from .mechanism.active_parts import prepare_actions
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

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism at its initial configuration.
    duration : float
        Simulated time [s].
    output_step : float, optional
        Time between outputs [s]. Default: a thousandth of the duration.
    outputs : array_like, optional
        Increasing output times from 0 to the duration [s], instead of `output_step`.
    tolerance : float, optional
        Target error relative to the size of the mechanism. Default: 1e-10.
    method : str or callable, optional
        Name of a method, a Python function (`sarrus.method`, docs/own-methods.md), or the file that defines it.
    step : float, optional
        Step [s] of methods with a fixed step, instead of `tolerance`. Default: the output step.
    at_crossing : {"continue", "stop", "branches"}, optional
        What to do at a singular configuration where branches meet: follow the analytic continuation, stop, or
        stop and list the branches (`result.branches`).
    assemble : bool, optional
        First close joints that are apart, as `sarrus.assemble` does. `mechanism.assemble` also requests this.
    misfit : float, optional
        Largest dimensional mismatch to repair [m]. A linkage that is locked, but would move if its joints had
        this much play, is made mobile by the smallest change of its dimensions; a note states the change. A
        linkage with a larger mismatch is rejected. Default: 1e-8 of its length; 0 simulates it as a structure.
    dense : bool, optional
        Keep the polynomials of the motion, so that `result.at(t)` evaluates it at any time.
    estimate_error : bool, optional
        Run a second time with higher accuracy and estimate the global error (`result.error_estimate`).
    follow : Branch, optional
        A branch from `sarrus.branches` or `result.branches`, also one of several with a common tangent. The run
        starts at a configuration on this branch, a small distance from the singular configuration, and moves
        along it. A note states the distance.
    events : sequence of Event, optional
        Events to locate in addition to those of the mechanism, each made by `sarrus.when`. `result.events` has
        time, state and value of each event that occurred. A terminal event ends the run.
    **options : float
        Further parameters of the method, and `max_steps`, the largest number of steps.

    Returns
    -------
    Result
        A run that exceeds its tolerance, violates the energy balance or loses its branch ends early.
        `result.status` then says so, and the result contains only the valid part.

    Raises
    ------
    MechanismError
        If the mechanism cannot be simulated.
    ValueError
        If another argument is invalid.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.problems.get("n-four-bar", windows=1).mechanism()
    >>> result = sarrus.simulate(m, duration=3.0, output_step=0.01)
    >>> result.success, result.position("B0").shape, len(result.crossings)
    (True, (301, 2), 3)
    """
    # plain floats: an integer type would compile the kernels again
    duration = check_seconds("duration", duration)
    times, every = check_outputs(duration, output_step, outputs)
    settings = RunSettings(
        duration=duration,
        outputs=times,
        # anything that is neither a name nor a function gives an unknown method name
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
        raise MechanismError(f"{mechanism!r} is not a mechanism; give a sarrus.Mechanism")
    start = None
    if follow is not None:
        start = assembly.branch_start.start_on_branch(mechanism, follow)
        mechanism = start.mechanism
    located = check_events(events)
    mechanism = prepare_actions(mechanism, located)
    known = check_for_run(mechanism, settings.assemble or mechanism.assemble)
    check_drive_times(mechanism, duration)
    # the compiler and SciPy load slowly, so they are imported only once the mechanism has passed its checks
    begin = time.perf_counter()
    from .run_single import solve

    loading = time.perf_counter() - begin
    result = solve(mechanism, settings, every, loading, known, located)
    if start is not None:
        result.outcome.notes.append(start.sentence)
    return result
