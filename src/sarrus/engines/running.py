"""Run another engine and return a Result: its poses, everything else by the equations of Sarrus.

The engine returns poses and velocities of bodies only. Natural coordinates are fitted to them; energy, constraint
violations, positions of points and all the rest are computed from these, as for any other result.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from ..arrays import Floats
from ..assembly import solve_start_velocity
from ..kernels import polynomials, return_codes
from ..kernels.layout import StepPolynomials
from ..kinematics.configuration import in_space, read_rows, read_spins
from ..kinematics.constraints import Constraints
from ..mechanism import Mechanism, find_remarks
from ..methods import Outcome, Record, Run, Status
from ..methods.outcome import COUNTERS, StepHistory
from ..methods.recorder import Recorder, sample_unprojected
from ..methods.time_loop import Steps, Stopwatch
from ..model import Model, make_model
from ..result import Result
from ..settings import CONTINUE, RunSettings
from ..thresholds import FLOWN_OFF, SAME_OUTPUT
from .engine import Engine, EnginePlan, Value, World, check_tree
from .tree import Poses, make_tree

# default number of outputs
USUAL_OUTPUTS = 1000
# Most Newton iterations per output for coordinates that the poses do not determine.
NEWTON = 20
# A note is added if the CPU time of all threads exceeds that of the solving thread by this factor.
OTHER_THREADS = 1.1


def make_plan(
    engine: Engine,
    duration: float,
    step: float,
    output_step: float | None,
    settings: Mapping[str, Value],
) -> EnginePlan:
    """Divide the duration into whole steps, and choose the outputs: the steps nearest to the output step."""
    count = max(1, round(duration / step))
    h = duration / count
    every = max(1, round((output_step or duration / USUAL_OUTPUTS) / h))
    return EnginePlan(count, h, every, engine.settle(settings))


def run_engine(
    engine: Engine,
    mechanism: Mechanism,
    duration: float,
    step: float,
    output_step: float | None,
    settings: Mapping[str, Value],
) -> Result:
    """Simulate a checked mechanism with an engine."""
    plan = make_plan(engine, duration, step, output_step, settings)
    engine.check(mechanism)
    begin = time.thread_time()
    tree = make_tree(mechanism, str(plan.settings.get("cut", engine.cut)))
    check_tree(engine, tree)
    model = make_model(mechanism)
    velocity, notes = solve_start_velocity(model, mechanism)
    velocities, spins = read_start_motion(model, velocity)
    world = World(mechanism, tree, tree.rates(velocities, spins), velocities, spins)
    job = engine.build(world, plan)
    set_up = time.thread_time() - begin

    clock, all_threads = Stopwatch(), time.process_time()
    with clock("solve"):
        trouble = job.solve()
    all_threads = time.process_time() - all_threads
    with clock("record"):
        poses = job.poses()
        times = np.array(plan.kept) * plan.h
        near = (
            np.abs(poses.centers - tree.centers).max(axis=(1, 2), initial=0.0)
            < FLOWN_OFF * tree.size
        )
        good = int(np.argmin(np.append(poses.finite & near, False)))
        times, poses = times[:good], poses[:good]
        record = _record(model, mechanism, velocity, times, poses, plan)
    status, message = _ending(engine, plan, times, trouble)
    notes = [*find_remarks(mechanism), *notes]
    if mechanism.events:
        notes.append("events of the mechanism are not located: only `simulate` looks for them")
    if mechanism.limits:
        notes.append("limits of joints are left out: only `simulate` has stops with a restitution")
    if mechanism.drives:
        notes.append(
            "work of drives is integrated along cubics between outputs: with outputs far apart the energy drift "
            "is mostly its error"
        )
    if all_threads > OTHER_THREADS * clock.timings["solve_cpu"] + 1e-3:
        notes.append(
            f"other threads used CPU time during the solve: {all_threads:.3g} s in all; the time stated is "
            "that of one thread"
        )
    run_settings = RunSettings(
        duration=duration, outputs=times, method=engine.id, tolerance=None, step=plan.h,
        options=plan.settings, max_steps=plan.count, at_crossing=CONTINUE, misfit=None,  # type: ignore[arg-type]
        assemble=False, dense=False,
    )  # fmt: skip
    taken = int(plan.kept[max(len(times) - 1, 0)])
    outcome = Outcome(
        status, message, record, {**dict.fromkeys(COUNTERS, 0), "steps": taken},
        {"import": 0.0, "set_up": set_up, **clock.timings, "watch_cpu": 0.0, "compile": 0.0},
        notes, StepHistory(times[1:], np.full(max(len(times) - 1, 0), engine.order, np.int64)),
    )  # fmt: skip
    return Result(mechanism, model, record[:1], run_settings, outcome)


def read_start_motion(model: Model, velocity: Floats) -> tuple[Floats, Floats]:
    """Return initial velocities of the centres of mass [m/s] and angular velocities [rad/s], (bodies, 3) each."""
    still = np.zeros((1, model.coordinates))
    spins, _ = read_spins(model.body_rows, still, velocity[None], still)
    return read_rows(model.body_rows.centers, velocity[None])[0], spins[0]


def find_start_motion(mechanism: Mechanism) -> tuple[Floats, Floats]:
    """Return the same if only some velocities are given: the others minimise the kinetic energy."""
    model = make_model(mechanism)
    return read_start_motion(model, solve_start_velocity(model, mechanism)[0])


def _ending(engine: Engine, plan: EnginePlan, times: Floats, trouble: str) -> tuple[Status, str]:
    how = f"{engine.title} {engine.version}"
    if len(times) == len(plan.kept) and not trouble:
        end = plan.count * plan.h
        return Status.DONE, f"simulated {end:g} s in {plan.count} steps of {plan.h:g} s by {how}"
    t = times[-1] if len(times) else 0.0
    if trouble:
        return Status.NOT_CONVERGED, f"{how} stopped after t = {t:.6g} s: {trouble}"
    return Status.DIVERGED, f"{how}: the state is not finite any more after t = {t:.6g} s"


def fit_coordinates(model: Model, start: Floats, poses: Poses) -> tuple[Floats, Floats]:
    """Return the natural coordinates and rates nearest to the poses, (n, nq) each.

    `start` gives the centres of mass where q = 0, (bodies, 3). A gap in an open loop shows as a violation of the
    rigid-body equations.
    """
    bodies, n = model.body_rows, len(poses.centers)
    turned = np.einsum("tvij,vj->tvi", poses.turns[:, bodies.owner], bodies.starts)
    spun = np.cross(poses.spins[:, bodies.owner], turned)
    moved, turned = poses.centers - start, turned - bodies.starts
    fit = bodies.nearest(model.units.length)
    q, v = (
        fit(np.hstack([centers.reshape(n, -1), vectors.reshape(n, -1)]).T).T
        for centers, vectors in ((moved, turned), (poses.velocities, spun))
    )
    q, v = np.ascontiguousarray(q), np.ascontiguousarray(v)
    _follow(model, q, v)
    return q, v


def _follow(model: Model, q: Floats, v: Floats) -> None:
    """Solve for coordinates that the poses do not determine, from one output to the next, by their equations."""
    hidden = np.flatnonzero(~model.body_rows.seen)
    if not len(hidden):
        return
    constraints = Constraints(model.form)
    rows = np.unique(model.form.J_eq[np.isin(model.form.J_col, hidden)])
    seen = np.setdiff1d(np.arange(model.coordinates), hidden)
    for t in range(len(q)):
        q[t, hidden] = q[max(t - 1, 0), hidden]
        for _ in range(NEWTON):
            J = constraints.jacobian(q[t])[rows]
            change = np.linalg.lstsq(J[:, hidden], -constraints.phi(q[t])[rows], rcond=None)[0]
            q[t, hidden] += change
            if np.abs(change).max() < SAME_OUTPUT:
                break
        v[t, hidden] = np.linalg.lstsq(J[:, hidden], -J[:, seen] @ v[t, seen], rcond=None)[0]


def _record(
    model: Model,
    mechanism: Mechanism,
    velocity: Floats,
    times: Floats,
    poses: Poses,
    plan: EnginePlan,
) -> Record:
    """Return the outputs: states at the ends of steps; angles and work are integrated along cubics between."""
    if not len(times):
        return Record.at(model, times)
    centers = {b.name: in_space(b.center) for b in mechanism.bodies}
    start = np.array([centers[name] for name in model.body_rows.names])
    q, v = fit_coordinates(model, start, poses)
    states = np.stack([q, v, np.zeros_like(q)], axis=1)
    coefficients = np.zeros((len(times), 4, model.coordinates))
    if len(times) > 1:
        polynomials.fill_cubics(times, states, coefficients)
    coefficients[-1] = 0.0
    coefficients[-1, :2] = states[-1, :2]
    extra_rows = len(model.loads.torsions.first) + 1 if model.loaded else 0
    orders = np.full(len(times), 3, np.int64)
    pieces = StepPolynomials(times, orders, coefficients, np.zeros((len(times), extra_rows, 0)))
    recorder = Recorder(Run(model, velocity, times, float(times[-1]), plan.h))
    sampling = sample_unprojected(accelerations=False, same=SAME_OUTPUT)
    recorder.take(Steps(return_codes.DONE, pieces, np.zeros(model.equations)), sampling)
    return recorder.record(None)
