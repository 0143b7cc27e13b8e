"""The run of `simulate`: model, start, method, result. Importing this module loads the compiler and SciPy."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .arrays import Floats
from .assembly import assemble, fit_velocities, solve_start
from .events.event_readings import EventStates
from .events.finder import EventSearch
from .kernels.elements.user import ADDRESS
from .kernels.layout import make_workspace
from .kernels.stepping import count_dependent
from .kinematics.constraints import Constraints
from .mechanism import Mechanism, MechanismError, check_mechanism, find_remarks
from .mechanism.event_requests import Event
from .memory import check_memory
from .methods import METHODS, Method, Outcome, Run, Status, first_part, get_method, skipped
from .methods.extended_precision import wants_digits
from .methods.method import Stop, needs_of, warm_up
from .methods.monitor import DENSE, Candidate, Watch
from .methods.outcome import Record
from .methods.status import failed
from .model import Model, make_model
from .model.build import model_of
from .model.structure import Lookup, look_up
from .names import unknown
from .result import Result
from .run_segments import SegmentedRun
from .settings import BRANCHES, CONTINUE, DEFAULT_TOLERANCE, RunSettings
from .thresholds import (
    AT_REST,
    EVENT_FIXED_STEP,
    MISFIT,
    RANK_TOLERANCE,
    SMALLEST_TOLERANCE,
)
from .verdict.candidates import judge_candidates
from .verdict.crossings import RunOutputs
from .verdict.joint_equations import make_joint_equations
from .verdict.misfit_repair import bridge_misfit
from .verdict.singular_start import describe_start

# outputs times coordinates: more would not fit into memory
MOST_NUMBERS = 200_000_000
# factor between the settings of a run and of the second run that estimates its error
FINER = {"tolerance": 10.0, "step": 2.0}
# arguments of `simulate` besides method options: a misspelt argument ends up among the options
ARGUMENTS = (
    *(
        "duration",
        "output_step",
        "outputs",
        "method",
        "tolerance",
        "step",
        "max_steps",
        "at_crossing",
        "misfit",
    ),
    *("assemble", "dense", "estimate_error", "events"),
)
NOTHING_MOVES = "Nothing can move: the joints constrain all bodies (mobility 0)"


def solve(
    mechanism: Mechanism,
    settings: RunSettings,
    every: float,
    import_seconds: float,
    known: Lookup,
    events: Sequence[Event] = (),
) -> Result:
    """Simulate a checked mechanism; every: default step of a method with a fixed step [s].

    known: what the check found out about the mechanism; events: to be located in addition to those of the
    mechanism.
    """
    method, settings = _choose_method(settings, every)
    begin = time.thread_time()
    mechanism, model, velocity, notes = prepare(mechanism, settings, known)
    if len(settings.outputs) * model.coordinates > MOST_NUMBERS:
        raise ValueError(
            f"{len(settings.outputs)} outputs of {model.coordinates} coordinates would not fit into memory; "
            "give a longer output_step"
        )
    # position, velocity, accelerations of the method and of all, angles; time, work, energies, norms; a third more
    # for
    # temporary arrays
    kept = 4 * model.coordinates + len(model.loads.torsions.first) + 12
    check_memory(len(settings.outputs), 4 / 3 * kept, settings.duration)
    stop = _stop_of(mechanism, model, settings)
    # the start is always recorded, because energies are relative to it
    late = int(settings.outputs[0] > 0.0)
    every_event = [*mechanism.events, *events]
    search = None
    if mechanism.limits or any(event.then for event in every_event):
        method = _in_segments(method, mechanism, model, every_event, settings)
    else:
        search = _search_of(every_event, Prepared(mechanism, model, velocity, notes), settings)
    run = Run(
        model, velocity, np.append(0.0, settings.outputs) if late else settings.outputs, settings.duration,
        settings.setting, settings.max_steps, settings.options, stop, settings.dense, mechanism, events=search,
    )  # fmt: skip
    set_up = time.thread_time() - begin
    needs = needs_of(model)
    if needs <= method.does:
        first = first_part(get_method(settings.method), model)
        name = first.id if first.compiled else f"own/{first.id}"
        tight = first.id == "series" and wants_digits(settings.setting)
        compiling = warm_up(name, first.run, model, first.options, tight)
        outcome = method.run(run)
    else:
        compiling, outcome = 0.0, skipped(model, _rejection(method, needs))
    outcome = _check_start(_with_user_failure(outcome, model), mechanism, run)
    if outcome.status.success and (settings.estimate_error or method.setting == "step"):
        outcome = _with_error(outcome, method, run, settings.estimate_error)
    if not mechanism.drives and outcome.status == Status.DONE and is_immobile(model):
        still = f"{outcome.message}. {NOTHING_MOVES}"
        outcome = replace(outcome, message=still, notes=[NOTHING_MOVES, *outcome.notes])
    result = Result(
        mechanism,
        model,
        outcome.record[:1],
        settings,
        replace(
            outcome,
            record=outcome.record[late:],
            error=None if outcome.error is None else outcome.error[late:],
            notes=[*notes, *outcome.notes],
            timings={
                "import": import_seconds,
                "set_up": set_up,
                **outcome.timings,
                "compile": compiling + outcome.timings.get("compile", 0.0),
            },
        ),
    )
    if outcome.status == Status.STOPPED and settings.at_crossing == BRANCHES and result.crossings:
        result.outcome.notes.append(str(result.branches))
    return result


def _stop_of(mechanism: Mechanism, model: Model, settings: RunSettings) -> Stop | None:
    """What stops a run at crossings, if it is to stop there."""
    if settings.at_crossing == CONTINUE:
        return None
    return _first_crossing(mechanism, model, settings.setting)


def _in_segments(
    method: Method,
    mechanism: Mechanism,
    model: Model,
    events: Sequence[Event],
    settings: RunSettings,
) -> Method:
    """The method run from event to event."""
    if not method.restarts:
        able = " or ".join(f"'{m.id}'" for m in METHODS.values() if m.restarts)
        why = f"method '{method.id}' cannot continue after events that change the mechanism; use {able}"
        return replace(method, run=lambda run: skipped(run.model, why))
    segmented = SegmentedRun(
        method, (mechanism, model), events, settings, lambda m, x: _stop_of(m, x, settings)
    )
    return replace(method, run=segmented.run)


def _search_of(
    events: Sequence[Event], prepared: Prepared, settings: RunSettings
) -> EventSearch | None:
    """The search that locates events; unknown names raise an error here, before the run."""
    if not events:
        return None
    mechanism, model, velocity, _ = prepared
    record = Record.at(model, np.zeros(1))
    record.v[0] = velocity
    start = EventStates(
        mechanism, model, record, settings, Outcome(Status.DONE, "", record, {}, {})
    )
    tolerance = EVENT_FIXED_STEP if settings.tolerance is None else settings.tolerance
    return EventSearch(events, model, start, tolerance)


class Prepared(NamedTuple):
    """The mechanism as it is simulated, its model, its initial velocity, and the notes so far."""

    mechanism: Mechanism
    model: Model
    velocity: Floats
    notes: list[str]


def prepare(mechanism: Mechanism, settings: RunSettings, known: Lookup) -> Prepared:
    """Close joints, repair a mismatch, make model and start, as the settings require; known: from the check."""
    if settings.assemble or mechanism.assemble:
        mechanism, notes = _assembled(mechanism, settings)
        known = look_up(mechanism)
    else:
        # the result gets its own copy
        mechanism, notes = mechanism.copy(), []
    mechanism, model, bridged = _make_model(mechanism, settings, known)
    velocity, start_notes = _start_velocity(model, mechanism, known)
    model, force_notes = _check_user_forces(model, mechanism, velocity)
    notes = [*notes, *bridged, *find_remarks(mechanism), *start_notes, *force_notes]
    return Prepared(mechanism, model, velocity, notes)


def _start_velocity(model: Model, mechanism: Mechanism, known: Lookup) -> tuple[Floats, list[str]]:
    """The initial velocity and notes on it; the last ones are kept: callers often rerun a mechanism.

    Without `uses_masses` they are also those of the same mechanism with other masses.
    """
    structure = model.structure
    if structure is not known.structure:
        found = solve_start(model, mechanism)
        return found.velocity, found.notes
    given = [*mechanism.velocities, ("", np.zeros(0)), *mechanism.angular_velocities]
    key = model.geometry.tobytes(), *((name, value.tobytes()) for name, value in given)
    masses, last = known.numbers.tobytes(), structure.start
    if last is None or last[0] != key or (last[2].uses_masses and last[1] != masses):
        last = structure.start = key, masses, solve_start(model, mechanism)
    return last[2].velocity.copy(), list(last[2].notes)


def is_immobile(model: Model) -> bool:
    """Whether the joints constrain every coordinate at the start."""
    if not model.coordinates or model.equations < model.coordinates:
        return False
    ws = make_workspace(model.form, 0)
    start = np.zeros(model.coordinates)
    dependent, _, _ = count_dependent(model.form, ws, start)
    if model.equations - dependent < model.coordinates:
        return False
    if model.coordinates > DENSE:
        return True
    # pivots after an equation that is nearly redundant are rounding, which may count as another equation
    values = np.linalg.svd(Constraints(model.form).jacobian(start), compute_uv=False)
    return bool(values[-1] > RANK_TOLERANCE * values[0])


def _with_error(outcome: Outcome, method: Method, run: Run, exact: bool) -> Outcome:
    """The outcome with an estimate of its global error: its distance from a second, more accurate run.

    If no more accurate run is possible, a less accurate one is used; the estimate is then too large rather than
    too small. exact: whether the estimate was requested. Methods with a fixed step always provide one, from a run
    with twice the step: it costs half as much, and its error is four times as large at second order, larger at
    higher order.
    """
    finer, share = run.setting / FINER[method.setting], 1.0
    if method.setting == "tolerance" and finer < SMALLEST_TOLERANCE:
        finer = run.setting * FINER[method.setting]
    elif not exact:
        finer, share = run.setting * FINER[method.setting], 1.0 / 3.0
    other = method.run(replace(run, setting=finer, stop=None, dense=False, events=None))
    error = np.full(len(outcome.record), np.nan)
    both = min(len(error), len(other.record))
    apart = outcome.record.q[:both] - other.record.q[:both]
    # errors oscillate, and two runs may agree at single outputs, so the running maximum counts
    error[:both] = share * np.maximum.accumulate(np.abs(apart).max(axis=1, initial=0.0))
    worst = float(np.nanmax(error, initial=0.0)) * run.model.units.length
    size = "at most" if exact else "about"
    note = f"global error, by a second run with {method.setting} {finer:g}: {size} {worst:.1e} m at the outputs"
    if both < len(error):
        note += f"; that run ended at t = {other.record.times[-1]:.6g} s ({other.message})"
    return replace(outcome, error=error, notes=[*outcome.notes, note])


def _choose_method(settings: RunSettings, every: float) -> tuple[Method, RunSettings]:
    """The method, and the settings with all defaults filled in."""
    method = get_method(settings.method)
    for name in settings.options:
        if name not in method.options:
            known = [*method.options, *ARGUMENTS]
            raise unknown(f"method '{method.id}' has no option '{name}'", name, known)
    if method.setting == "tolerance" and settings.step is not None:
        raise ValueError(f"method '{method.id}' chooses its own steps; give tolerance, not step")
    if method.setting == "step" and settings.tolerance is not None:
        raise ValueError(f"method '{method.id}' has a fixed step; give step, not tolerance")
    # a method from a file has its own name
    given: dict[str, Any] = {"method": method.id, "options": method.options | settings.options}
    if method.setting == "tolerance" and settings.tolerance is None:
        given["tolerance"] = DEFAULT_TOLERANCE
    if method.setting == "step" and settings.step is None:
        given["step"] = every
    return method, replace(settings, **given)


def _assembled(mechanism: Mechanism, settings: RunSettings) -> tuple[Mechanism, list[str]]:
    """A copy of the mechanism with its joints closed, and a note if bodies had to be moved."""
    usual = MISFIT * make_joint_equations(mechanism).length
    done = assemble(mechanism, misfit=usual if settings.misfit is None else settings.misfit)
    check_mechanism(done.mechanism)
    return done.mechanism.copy(), [] if done.unmoved else [str(done)]


def _make_model(
    mechanism: Mechanism, settings: RunSettings, known: Lookup
) -> tuple[Mechanism, Model, list[str]]:
    """The mechanism, its model and notes; a linkage locked by a small mismatch is repaired first."""
    model = model_of(mechanism, known)
    # a mechanism can be locked only with as many equations as coordinates; a drive does not count as locking
    locked = model.equations >= model.coordinates > 0 and not mechanism.drives
    if not locked or settings.misfit == 0.0 or model.structure.moves(known.numbers):
        return mechanism, model, []
    repaired, notes = bridge_misfit(mechanism, make_joint_equations(mechanism), settings.misfit)
    if repaired is mechanism:
        if not notes:
            model.structure.remember_moving(known.numbers)
        # notes on a mismatch that was not repaired
        return mechanism, model, notes
    notes = [*notes, *fit_velocities(repaired)]
    return repaired, make_model(repaired), notes


def _check_user_forces(
    model: Model, mechanism: Mechanism, velocity: Floats
) -> tuple[Model, list[str]]:
    """The model with its user forces evaluated at the start, and notes on which are compiled.

    Raises an error for an invalid function. A compiled function that disagrees with the plain one is discarded
    there, so the model gets the remaining addresses.
    """
    if not model.user_calls:
        return model, []
    notes = []
    for force, call in zip(mechanism.user_forces, model.user_calls, strict=True):
        place = np.array([model.origins[model.points[name]] for name in force.points])
        speed = np.array([model.point_rows(name) @ velocity for name in force.points])
        call.check(place.reshape(call.shape), speed.reshape(call.shape))
        if call.failure:
            raise MechanismError(call.failure)
        notes.append(f"user force '{force.name}' {call.how}")
    user = model.loads.user
    calls = user.calls.copy()
    calls[:, ADDRESS] = [call.address for call in model.user_calls]
    return replace(model, loads=model.loads._replace(user=user._replace(calls=calls))), notes


def _rejection(method: Method, needs: frozenset[str]) -> str:
    """Why a method cannot simulate a mechanism, and which methods can."""
    able = [f"'{m.id}'" for m in METHODS.values() if needs <= m.does]
    why = " (it needs their derivatives)" if method.id == "series" else ""
    return (
        f"method '{method.id}' cannot do {' and '.join(sorted(needs - method.does))}{why}; "
        f"use {' or '.join(able) or 'another method'}"
    )


def _with_user_failure(outcome: Outcome, model: Model) -> Outcome:
    """The outcome; if a user force stopped the run, its message says so."""
    for call in model.user_calls:
        if call.interrupt is not None:
            raise call.interrupt
        if call.failure and outcome.status != Status.DONE:
            times = outcome.record.times
            end = failed(call.failure, times[-1] if len(times) else 0.0)
            return replace(outcome, status=end.status, message=end.message)
    return outcome


def _check_start(outcome: Outcome, mechanism: Mechanism, run: Run) -> Outcome:
    """The outcome, cut to its start if that is a singular configuration and nothing selects a branch."""
    watch, record = outcome.watch, outcome.record
    if watch is None or not len(record.times):
        return outcome
    stuck = outcome.status == Status.NOT_CONVERGED and watch.until <= 1e-6 * run.duration
    if not (watch.singular_start or stuck):
        return outcome
    start = record[:1]
    moved = float(np.abs(record.q).max(initial=0.0))
    if outcome.status == Status.DONE and not np.any(start.v) and moved <= AT_REST:
        # an equilibrium up to rounding, which selects no branch
        return outcome
    equations = make_joint_equations(mechanism)
    missing = describe_start(run.model, equations, watch, start.v[0], start.a[0], stuck)
    if not missing:
        return outcome
    return replace(
        outcome,
        status=Status.NOT_CONVERGED,
        message=missing,
        record=start,
        events=None,
        watch=replace(watch, until=0.0),
    )


def _first_crossing(
    mechanism: Mechanism, model: Model, tolerance: float
) -> Callable[[list[Candidate], Watch], float | None]:
    """The function that determines where a run stops: at the first crossing after the start."""
    equations = make_joint_equations(mechanism)
    none = RunOutputs(np.zeros(0), np.zeros(0), np.zeros(0))

    def stop(candidates: list[Candidate], watch: Watch) -> float | None:
        found, _ = judge_candidates(model, equations, watch, tuple(candidates), none, tolerance)
        return next((c.time for c in found if c.time > 0.0), None)

    return stop
