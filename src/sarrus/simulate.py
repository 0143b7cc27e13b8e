"""The front door: a mechanism and a duration in, a result out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .mechanism import (
    Mechanism,
    MechanismError,
    check_drive_times,
    check_mechanism,
    find_remarks,
)
from .result import Reading, Result

if TYPE_CHECKING:
    from .methods import Method, Outcome
    from .methods.watch import Dip, Watch
    from .model import Model
    from .scene import Sketch
    from .verdict.joint_equations import JointEquations
    from .verdict.loads import BodyLoads

DEFAULT_TOLERANCE = 1e-10
DEFAULT_METHOD = "auto"
# more would not fit into memory
MOST_OUTPUTS = 10_000_000
MOST_NUMBERS = 200_000_000
CONTINUE, STOP, BRANCHES = "continue", "stop", "branches"


def simulate(
    mechanism: Mechanism,
    duration: float,
    output_step: float | None = None,
    *,
    tolerance: float | None = None,
    method: str = DEFAULT_METHOD,
    step: float | None = None,
    max_steps: int = 10_000_000,
    at_crossing: str = CONTINUE,
    assemble: bool = False,
    misfit: float | None = None,
    **options: float,
) -> Result:
    """Simulate a mechanism for `duration` seconds.

    output_step: time between outputs [s], a thousandth of the duration if left out; tolerance: error
    aimed at, relative to the size of the mechanism, 1e-10 if left out. Methods with a fixed step take
    `step` [s] instead (the output step if left out); options: further parameters of the method.
    at_crossing: what to do where motions meet: "continue" along the analytic continuation, "stop" there,
    or stop and list the "branches" (`result.branches`).

    assemble: close joints that are apart first, as `sarrus.assemble` does (a mechanism may ask for it
    itself). misfit [m]: a linkage that is locked, but would move if its joints had this much play, is made to
    move by changing its dimensions as little as possible, a note saying how much; 1e-8 of its length if left
    out, 0 to take it as the structure it is. With more misfit than that it is refused.

    Raises MechanismError if the mechanism cannot be simulated, ValueError for other arguments. A run
    that loses its tolerance, energy balance or branch ends early: `result.status` says so, and the
    result holds only what is good.
    """
    # plain floats: a whole number of another type would compile the kernels again
    duration = _seconds("duration", duration)
    every = duration / 1000 if output_step is None else _seconds("output_step", output_step)
    given_step = every if step is None else _seconds("step", step)
    _check_arguments(duration, every, given_step)
    aim, max_steps = _check_effort(DEFAULT_TOLERANCE if tolerance is None else tolerance, max_steps)
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"{mechanism!r} is no mechanism; give a sarrus.Mechanism")
    allowed = None if misfit is None else _metres("misfit", misfit)
    opening: list[str] = []
    if assemble or mechanism.assemble:
        mechanism, opening = _assembled(mechanism, allowed)
    check_mechanism(mechanism)
    check_drive_times(mechanism, duration)

    # numba and SciPy load slowly: only a simulation pays for them
    begin = time.perf_counter()
    from .assembly import fit_velocities, solve_start_velocity
    from .methods import CHOICES, Run, first_part, skipped
    from .methods.method import needs_of
    from .methods.warm_up import warm_up
    from .model import make_model
    from .scene import make_sketch
    from .verdict.joint_equations import make_joint_equations
    from .verdict.loads import make_body_loads
    from .verdict.mending import bridge_misfit

    import_seconds = time.perf_counter() - begin
    if not isinstance(method, str) or method not in CHOICES:
        raise ValueError(f"no method is called '{method}'; known: {', '.join(CHOICES)}")
    chosen = CHOICES[method]
    for name in options:
        if name not in chosen.options:
            has = f"it has: {', '.join(chosen.options)}" if chosen.options else "it has none"
            raise ValueError(f"method '{method}' has no option '{name}'; {has}")
    if chosen.setting == "tolerance" and step is not None:
        raise ValueError(f"method '{method}' chooses its own steps; give tolerance, not step")
    if chosen.setting == "step" and tolerance is not None:
        raise ValueError(f"method '{method}' has a fixed step; give step, not tolerance")
    _check_at_crossing(at_crossing)
    setting = aim if chosen.setting == "tolerance" else given_step
    begin = time.thread_time()
    model = make_model(mechanism)
    equations = make_joint_equations(mechanism)
    # only where there are as many equations as coordinates can all be locked; a drive is no lock
    locked = model.equations >= model.coordinates > 0 and not mechanism.drives
    if locked and allowed != 0.0:
        mended, bridged = bridge_misfit(mechanism, equations, allowed)
        if mended is not mechanism:
            mechanism, opening = mended, [*opening, *bridged, *fit_velocities(mended)]
            model, equations = make_model(mechanism), make_joint_equations(mechanism)
    needs = needs_of(model)
    missing = needs - chosen.does
    velocity, notes = solve_start_velocity(model, mechanism)
    notes += _check_user_forces(model, mechanism, velocity)
    times = output_times(duration, every)
    if len(times) * model.coordinates > MOST_NUMBERS:
        raise ValueError(
            f"{len(times)} outputs of {model.coordinates} coordinates would not fit into memory; "
            "give a longer output_step"
        )
    reading = _reading(
        model, equations, make_body_loads(mechanism, equations), make_sketch(mechanism)
    )
    stop = None if at_crossing == CONTINUE else _first_crossing(reading, setting)
    run = Run(model, velocity, times, duration, setting, max_steps, chosen.options | options, stop)
    set_up = time.thread_time() - begin
    compile_seconds = 0.0
    if not missing:
        first = first_part(chosen, model)
        compile_seconds = warm_up(first.id, first.run, model.loaded, first.options)
    outcome = skipped(model, _refusal(chosen, missing, needs)) if missing else chosen.run(run)
    outcome = _report_user_failure(model, outcome)
    if outcome.watch is not None:
        outcome = _check_start(outcome, reading, duration)
    units, record = model.units, outcome.record
    energy = record.energy
    result = Result(
        mechanism=mechanism.name,
        method=outcome.method or method,
        tolerance=setting if chosen.setting == "tolerance" else None,
        step=setting if chosen.setting == "step" else None,
        options=chosen.options | options,
        duration=duration,
        status=outcome.status,
        message=outcome.message,
        times=record.times,
        energy=(energy - energy[:1]) * units.energy,
        counters=outcome.counters,
        timings={
            "import": import_seconds,
            "set_up": set_up,
            **outcome.timings,
            "compile": compile_seconds + outcome.timings.get("compile", 0.0),
        },
        notes=opening + find_remarks(mechanism) + notes + outcome.notes,
        coordinates=record.q,
        rates=record.v,
        accelerations=record.a,
        norms=record.norms * units.length,
        reading=reading,
        step_times=outcome.steps.times,
        step_orders=outcome.steps.orders,
        step_pivots=outcome.steps.pivots,
        work=record.work * units.energy,
        torsion_angles=record.angles,
        drive_forces=record.drive_forces,
        watch=outcome.watch,
        at_crossing=at_crossing,
    )
    if outcome.status == "stopped" and at_crossing == BRANCHES:
        result.notes.append(str(result.branches))
    return result


def output_times(duration: float, step: float) -> np.ndarray:
    """0, step, 2 step, ... up to the duration, which is hit exactly if it is a multiple."""
    count = int(np.floor(duration / step * (1 + 1e-12) + 1e-9))
    times = np.arange(count + 1) * step
    if abs(times[-1] - duration) <= 1e-9 * step:
        # k * (duration / count) has less rounding than k * step for steps like 0.01
        times = np.arange(count + 1) * duration / count
    return times


def _seconds(name: str, value: float) -> float:
    seconds = _float(name, value, "a positive number of seconds")
    if not (np.isfinite(seconds) and seconds > 0):
        raise ValueError(f"{name} = {seconds:g} s; give a positive number of seconds")
    return seconds


def _metres(name: str, value: float) -> float:
    number = _float(name, value, "a number of metres")
    if not (np.isfinite(number) and number >= 0):
        raise ValueError(f"{name} = {number:g} m; give a number of metres, 0 for none")
    return number


def _assembled(mechanism: Mechanism, misfit: float | None) -> tuple[Mechanism, list[str]]:
    """The mechanism with its joints closed, and a note if it had to be moved."""
    check_mechanism(mechanism, closed=False)
    from .assembly import assemble
    from .verdict.joint_equations import make_joint_equations
    from .verdict.locked import MISFIT

    allowed = MISFIT * make_joint_equations(mechanism).length if misfit is None else misfit
    done = assemble(mechanism, misfit=allowed)
    return done.mechanism, [] if done.unmoved else [str(done)]


def _check_arguments(duration: float, every: float, step: float) -> None:
    for name, value in (("output_step", every), ("step", step)):
        if value > duration:
            raise ValueError(f"{name} = {value:g} s is longer than the duration, {duration:g} s")
    if duration / every > MOST_OUTPUTS:
        raise ValueError(
            f"output_step = {every:g} s gives {duration / every:.3g} outputs; "
            f"give a longer one, at most {MOST_OUTPUTS} outputs are kept"
        )


def _float(name: str, value: float, wanted: str) -> float:
    try:
        # "1" is text, not a number
        return float("text" if isinstance(value, str) else value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} = {value!r}; give {wanted}") from error


def _check_effort(tolerance: float, max_steps: int) -> tuple[float, int]:
    number = _float("tolerance", tolerance, "a number from 1e-15 to 0.1")
    steps = _float("max_steps", max_steps, "at least 1")
    if not 1e-15 <= number <= 0.1:
        raise ValueError(f"tolerance = {number:g}; give a number from 1e-15 to 0.1")
    if not steps >= 1:
        raise ValueError(f"max_steps = {steps:g}; give at least 1")
    return number, int(min(steps, 2**62))


def _reading(model: Model, equations: JointEquations, loads: BodyLoads, sketch: Sketch) -> Reading:
    places = model.points, model.places, model.origins
    return Reading(
        model.dimension, *places, model.body_rows, equations, loads, model.readings, sketch
    )


def _refusal(method: Method, missing: frozenset[str], needs: frozenset[str]) -> str:
    """Why a method cannot do a mechanism, and which can."""
    from .methods import METHODS

    able = [f"'{m.id}'" for m in METHODS.values() if needs <= m.does]
    why = " (it needs their derivatives)" if method.id == "series" else ""
    return (
        f"method '{method.id}' cannot do {' and '.join(sorted(missing))}{why}; "
        f"use {' or '.join(able) or 'another method'}"
    )


def _check_user_forces(model: Model, mechanism: Mechanism, velocity: np.ndarray) -> list[str]:
    """Evaluate all user forces at the start; raises what is wrong, and notes which are compiled."""
    notes = []
    for n, (force, call) in enumerate(zip(mechanism.user_forces, model.user_calls, strict=True)):
        place = np.array([model.origins[model.points[name]] for name in force.points])
        speed = np.array([model.point_rows(name) @ velocity for name in force.points])
        call.check(place.reshape(call.shape), speed.reshape(call.shape))
        if call.failure:
            raise MechanismError(call.failure)
        # a compiled function that disagrees with the plain one is dropped
        model.loads.user.calls[n, 0] = call.address
        how = "runs compiled" if call.compiled else "runs as plain Python: it cannot be compiled"
        notes.append(f"user force '{force.name}' {how}")
    return notes


def _report_user_failure(model: Model, outcome: Outcome) -> Outcome:
    """The outcome; one that a user force stopped says so."""
    from .methods.status import Status, failed

    for call in model.user_calls:
        if call.interrupt is not None:
            raise call.interrupt
        if call.failure and outcome.status != Status.DONE:
            times = outcome.record.times
            end = failed(call.failure, times[-1] if len(times) else 0.0)
            return replace(outcome, status=end.status, message=end.message)
    return outcome


def _check_start(outcome: Outcome, reading: Reading, duration: float) -> Outcome:
    """The outcome, cut to its start if that is a singular position and nothing chooses a motion."""
    from .methods import Status
    from .verdict.start import describe_start

    assert outcome.watch is not None
    record = outcome.record[:1]
    if not len(record):
        return outcome
    failed = outcome.status == Status.NOT_CONVERGED and outcome.watch.until <= 1e-6 * duration
    missing = describe_start(reading, outcome.watch, record.v[0], record.a[0], failed)
    if not missing:
        return outcome
    watch = replace(outcome.watch, until=0.0)
    return replace(
        outcome, status=Status.NOT_CONVERGED, message=missing, watch=watch, record=record
    )


def _check_at_crossing(word: str) -> None:
    if word not in (CONTINUE, STOP, BRANCHES):
        raise ValueError(f"at_crossing = {word!r}; give '{CONTINUE}', '{STOP}' or '{BRANCHES}'")


def _first_crossing(reading: Reading, tolerance: float) -> Callable[..., float | None]:
    """What a run asks to know whether to stop: the first crossing behind the start."""
    from .verdict.crossings import Motion, judge_dips

    none = Motion(np.zeros(0), np.zeros(0), np.zeros(0))

    def stop(dips: list[Dip], watch: Watch) -> float | None:
        found, _ = judge_dips(reading, watch, tuple(dips), none, tolerance)
        return next((c.time for c in found if c.time > 0.0), None)

    return stop
