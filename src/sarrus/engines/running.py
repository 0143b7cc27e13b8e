"""A run of another engine as a Result: its poses, and everything else by our own equations.

The engine gives poses and velocities of bodies, nothing else. Natural coordinates are fitted to them; energy,
closure, places of points and all the rest are computed from those, as for any other result.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from ..arrays import Floats
from ..asked import CONTINUE, Asked
from ..assembly import solve_start_velocity
from ..kernels import polynomials
from ..kernels.layout import Pieces
from ..kinematics.pose import in_space, read_rows, read_spins
from ..mechanism import Mechanism, find_remarks
from ..methods.method import Run
from ..methods.outcome import COUNTERS, Outcome, Record, Taken
from ..methods.recorder import Recorder, sample_own
from ..methods.status import Status
from ..methods.time_loop import Stopwatch
from ..model import Model, make_model
from ..result import Result
from ..thresholds import FLOWN_OFF, SAME_OUTPUT
from .engine import Engine, Plan, Value, World, check_tree
from .tree import Poses, make_tree

# outputs of a run that asks for none in particular
USUAL_OUTPUTS = 1000
# CPU time of other threads beside that of the solve which is worth a note
OTHER_THREADS = 1.1


def make_plan(
    engine: Engine,
    duration: float,
    step: float,
    output_step: float | None,
    settings: Mapping[str, Value],
) -> Plan:
    """Whole steps that fill the duration, and which of them are kept: those nearest to the output step."""
    count = max(1, round(duration / step))
    h = duration / count
    every = max(1, round((output_step or duration / USUAL_OUTPUTS) / h))
    return Plan(count, h, every, engine.settle(settings))


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
    still = np.zeros((1, model.coordinates))
    spins, _ = read_spins(model.body_rows, still, velocity[None], still)
    velocities = read_rows(model.body_rows.centers, velocity[None])[0]
    world = World(mechanism, tree, tree.rates(velocities, spins[0]), velocities, spins[0])
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
    if all_threads > OTHER_THREADS * clock.timings["solve_cpu"] + 1e-3:
        notes.append(
            f"other threads took CPU time beside the solve: {all_threads:.3g} s in all; its time is told of one"
        )
    asked = Asked(
        duration=duration, outputs=times, method=engine.id, tolerance=None, step=plan.h,
        options=plan.settings, max_steps=plan.count, at_crossing=CONTINUE, misfit=None,  # type: ignore[arg-type]
        assemble=False, dense=False,
    )  # fmt: skip
    taken = int(plan.kept[max(len(times) - 1, 0)])
    outcome = Outcome(
        status, message, record, {**dict.fromkeys(COUNTERS, 0), "steps": taken},
        {"import": 0.0, "set_up": set_up, **clock.timings, "watch_cpu": 0.0, "compile": 0.0},
        notes, Taken(times[1:], np.full(max(len(times) - 1, 0), engine.order, np.int64)),
    )  # fmt: skip
    return Result(mechanism, model, record[:1], asked, outcome)


def _ending(engine: Engine, plan: Plan, times: Floats, trouble: str) -> tuple[Status, str]:
    how = f"{engine.title} {engine.version}"
    if len(times) == len(plan.kept) and not trouble:
        end = plan.count * plan.h
        return Status.DONE, f"simulated {end:g} s in {plan.count} steps of {plan.h:g} s by {how}"
    t = times[-1] if len(times) else 0.0
    if trouble:
        return Status.NOT_CONVERGED, f"{how} stopped behind t = {t:.6g} s: {trouble}"
    return Status.DIVERGED, f"{how}: the state is not finite any more behind t = {t:.6g} s"


def fit_coordinates(model: Model, start: Floats, poses: Poses) -> tuple[Floats, Floats]:
    """Natural coordinates and rates nearest to poses, (n, nq) each, by least squares over all bodies.

    start: their centres where q = 0, (bodies, 3). Where joints are closed they are those of the poses; where a
    loop is open by a gap, both sides of it are met halfway, and the rigid-body equations show the gap.
    """
    bodies, length = model.body_rows, model.units.length
    n = len(poses.centers)
    moved = (poses.centers - start).reshape(n, -1) / length
    turned = np.einsum("tvij,vj->tvi", poses.turns[:, bodies.owner], bodies.starts)
    spun = np.cross(poses.spins[:, bodies.owner], turned)
    A = sparse.csc_array(sparse.vstack([bodies.centers / length, bodies.vectors]))
    q_side = np.hstack([moved, (turned - bodies.starts).reshape(n, -1)])
    v_side = np.hstack([poses.velocities.reshape(n, -1) / length, spun.reshape(n, -1)])
    normal = splu(sparse.csc_matrix(A.T @ A))
    q, v = (normal.solve(np.asarray(A.T @ side.T)).T for side in (q_side, v_side))
    return np.ascontiguousarray(q), np.ascontiguousarray(v)


def _record(
    model: Model, mechanism: Mechanism, velocity: Floats, times: Floats, poses: Poses, plan: Plan
) -> Record:
    """The outputs: states at the ends of steps; angles and work followed along cubics between them."""
    if not len(times):
        return Record.empty(model)
    centers = {b.name: in_space(b.center) for b in mechanism.bodies}
    start = np.array([centers[name] for name in model.body_rows.names])
    q, v = fit_coordinates(model, start, poses)
    states = np.stack([q, v, np.zeros_like(q)], axis=1)
    coefficients = np.zeros((len(times), 4, model.coordinates))
    if len(times) > 1:
        polynomials.fill_cubics(times, states, coefficients)
    coefficients[-1] = 0.0
    coefficients[-1, :2] = states[-1, :2]
    beside = len(model.loads.torsions.first) + 1 if model.loaded else 0
    orders = np.full(len(times), 3, np.int64)
    pieces = Pieces(times, orders, coefficients, np.zeros((len(times), beside, 0)))
    recorder = Recorder(Run(model, velocity, times, float(times[-1]), plan.h))
    sampling = sample_own(accelerations=False, same=SAME_OUTPUT)
    recorder.take(pieces, sampling, np.zeros(model.equations), last=True)
    return recorder.record(None)
