"""The series method: Taylor series of the motion with one factorisation a step.

Equations and sources in kernels/series.py and docs/methods/series.md. The order is chosen each step; the
motion is analytic across a singular position, so a step may jump over it without seeing it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Floats
from ..kernels import series as kernels
from ..kernels.layout import make_workspace
from ..kernels.loads import make_loads
from ..model import Model
from ..model.dips import Dip, Watch
from .outcome import Outcome
from .watching import Watcher

HIGHEST_ORDER = 30
# a step holds this share of the tolerance, so that a whole run comes near to it; above 1e-6 the share
# falls to a tenth: errors of loose steps add up over many periods
SHARE = 0.02
# what double precision gives in a step
FLOOR = 1e-13
# memory for the coefficients between two recordings: small enough to stay in a core's cache
BUFFER_BYTES = 2_000_000
# a run that may have to stop looks back after so many steps
STEPS_AT_ONCE = 16

# (dips seen since it was last asked, what is known of the run) -> when to stop [s], or None
Stop = Callable[[list[Dip], Watch], float | None]

# (time, position and velocity, angles and work, mean step of the last buffer) -> whether to end there
Leave = Callable[[float, Floats, Floats, float], bool]


def run(
    model: Model,
    velocity: Floats,
    times: Floats,
    duration: float,
    tolerance: float,
    max_steps: int,
    *,
    stop: Stop | None = None,
    leave: Leave | None = None,
) -> Outcome:
    """Simulate from q = 0 and the given velocity; record at the given times.

    stop: asked wherever an equation comes close to depending on others; the run ends at the time it
    returns, with an output there. leave: asked after every buffer of steps whether to end the run there.
    """
    form = model.form
    nq = model.coordinates
    ws, loads = make_workspace(form, HIGHEST_ORDER), make_loads(model.loads, HIGHEST_ORDER)
    rows = HIGHEST_ORDER + 1
    most = 1024 if stop is None else STEPS_AT_ONCE
    capacity = int(np.clip(BUFFER_BYTES // (8 * rows * max(nq, 1)), 16, most))
    coefficients = np.zeros((capacity, rows, nq))
    # memory is handed out when it is first touched: do that now, not in the solve
    coefficients.fill(0.0)
    starts, orders, watch = (
        np.zeros(capacity + 1),
        np.zeros(capacity, np.int64),
        np.zeros((capacity, 2)),
    )
    counters = np.zeros(5, np.int64)
    balance = np.zeros(3)
    state = np.array([np.zeros(nq), velocity])
    n = len(times)
    q, v, a = np.zeros((n, nq)), np.zeros((n, nq)), np.zeros((n, nq))
    norms, energy = np.zeros((n, 3)), np.zeros(n)
    torsions, drives = len(model.loads.torsions.first), len(model.loads.drives.sines)
    beside = torsions + 1 if loads is not None else 0
    carried, sides = np.zeros(beside), np.zeros((capacity, beside, 2 * rows))
    angles, work, drive_forces = np.zeros((n, torsions)), np.zeros(n), np.zeros((n, drives))
    history: list[tuple[Floats, np.ndarray, Floats]] = []
    watcher = Watcher(model, capacity)

    wanted = SHARE * tolerance * float(np.clip((1e-6 / tolerance) ** (1 / 3), 0.1, 1.0))
    local = max(wanted, FLOOR)
    log_cost = _log_cost()
    t, done = 0.0, 0
    solve_cpu = solve_wall = record_cpu = 0.0
    reason = kernels.FULL
    stopped: float | None = None
    before: tuple[Any, ...] = ()
    while reason == kernels.FULL and stopped is None and counters[kernels.STEPS] < max_steps:
        room = coefficients[: max_steps - int(counters[kernels.STEPS])]
        # CPU time of this thread: idle threads of a linear algebra library may spin beside it
        wall, cpu = time.perf_counter(), time.thread_time()
        reason, steps = kernels.advance(
            form, ws, loads, t, duration, local, log_cost,
            state, starts, orders, room, watch, counters, balance, carried, sides,
        )  # fmt: skip
        solve_cpu += time.thread_time() - cpu
        solve_wall += time.perf_counter() - wall
        cpu = time.thread_time()
        t = float(starts[steps])
        if not steps:
            # a run that cannot leave its start still has its start
            orders[0], coefficients[0, 0], coefficients[0, 1] = 1, state[0], state[1]
            sides[0] = 0.0
            sides[0, :, 0] = carried
        upto = n if reason == kernels.DONE else int(np.searchsorted(times, t, side="right"))
        part = slice(done, upto)
        kernels.record(
            form, ws, loads, starts, orders, coefficients, sides, max(steps, 1), times[part],
            q[part], v[part], a[part], norms[part], energy[part],
            angles[part], work[part], drive_forces[part],
        )  # fmt: skip
        done = max(done, upto)
        history.append((starts[1 : steps + 1].copy(), orders[:steps].copy(), watch[:steps].copy()))
        record_cpu += time.thread_time() - cpu
        seen = watcher.look(starts, orders, coefficients, steps, last=reason != kernels.FULL)
        if stop is not None:
            stopped = None if seen is None else stop(seen.dips(), watcher.watch())
            if stopped is None and steps:
                end = slice(steps - 1, steps)
                copies = (x[end].copy() for x in (orders, coefficients, sides))
                before = (starts[steps - 1 : steps + 1].copy(), *copies, 1)
        if leave is not None and reason == kernels.FULL:
            cpu, wall = time.thread_time(), time.perf_counter()
            left = leave(t, state, carried, (t - float(starts[0])) / steps)
            solve_cpu += time.thread_time() - cpu
            solve_wall += time.perf_counter() - wall
            if left:
                break

    watched = watcher.watch()
    if stopped is not None:
        # outputs behind the stop are dropped, and one exactly there is added
        done = int(np.searchsorted(times, stopped))
        columns = (times, q, v, a, norms, energy, angles, work, drive_forces)
        times, q, v, a, norms, energy, angles, work, drive_forces = (
            np.concatenate([x[:done], np.zeros((1, *x.shape[1:]))]) for x in columns
        )
        times[done] = stopped
        part = slice(done, done + 1)
        # the dip may have begun in the last step of the chunk before
        chunk = before if stopped < starts[0] else (starts, orders, coefficients, sides, steps)
        kernels.record(
            form, ws, loads, *chunk, times[part], q[part], v[part], a[part], norms[part], energy[part],
            angles[part], work[part], drive_forces[part],
        )  # fmt: skip
        done += 1
        watched = replace(watched, until=stopped)
    status, message = _status(reason, t, duration, tolerance, max_steps, ws.usual.min(initial=1.0))
    if stopped is not None:
        status, message = (
            "stopped",
            f"stopped at the crossing at t = {stopped:.12g} s, as asked for",
        )
    moved = np.concatenate([w[:, 1] for _, _, w in history]) if history else np.zeros(0)
    keep = slice(0, done)
    return Outcome(
        status=status,
        message=message,
        times=times[keep],
        q=q[keep],
        v=v[keep],
        a=a[keep],
        norms=norms[keep],
        energy=energy[keep],
        counters={
            "steps": int(counters[kernels.STEPS]),
            "rejected": int(counters[kernels.REJECTED]),
            "factorisations": int(counters[kernels.FACTORISATIONS]),
            "coefficients": int(counters[kernels.COEFFICIENTS]),
            "loosened": int(counters[kernels.LOOSENED]),
        },
        timings={
            "solve_cpu": solve_cpu,
            "solve_wall": solve_wall,
            "record_cpu": record_cpu,
            "watch_cpu": watcher.cpu,
        },
        notes=_notes(tolerance, local > wanted, counters, moved),
        step_times=np.concatenate([s for s, _, _ in history]) if history else np.zeros(0),
        step_orders=np.concatenate([o for _, o, _ in history])
        if history
        else np.zeros(0, np.int64),
        step_pivots=np.concatenate([w[:, 0] for _, _, w in history]) if history else np.zeros(0),
        work=work[keep],
        angles=angles[keep],
        drive_forces=drive_forces[keep],
        watch=watched,
    )


def _log_cost() -> Floats:
    """Log of the cost of a step of each order, in units of one coefficient.

    A step costs about four coefficients besides its own (two factorisations, projections); the
    Cauchy products grow with the order. Measured; the optimum is flat, so one law serves all models.
    """
    p = np.arange(HIGHEST_ORDER + 1.0)
    return np.log(4.0 + p + 0.015 * p**2)


def _status(
    reason: int, t: float, duration: float, tolerance: float, max_steps: int, pivot: float
) -> tuple[str, str]:
    if reason == kernels.DONE:
        return "done", f"simulated {duration:g} s"
    if reason == kernels.STUCK and t <= 1e-6 * duration:
        return "not-converged", (
            "cannot leave the start: no motion continues it. Joints that should depend on each other may "
            f"close only roughly (smallest relative pivot {pivot:.1e}): give places and axes to all digits"
        )
    if reason == kernels.STUCK:
        return "not-converged", (
            f"stopped at t = {t:.9g} s: no step keeps constraints, branch and energy near the "
            f"tolerance {tolerance:g}; the results up to there are good. Try another tolerance, and "
            "check whether the motion can go on beyond this position"
        )
    if reason == kernels.NOT_FINITE:
        return "diverged", (
            f"stopped at t = {t:.9g} s: the accelerations are not finite there; the results up to "
            "there are good. Check for bodies or freedoms without mass"
        )
    return "too-slow", (
        f"stopped at t = {t:.9g} s after {max_steps} steps; allow more with max_steps, or loosen "
        "the tolerance"
    )


def _notes(tolerance: float, floor: bool, counters: np.ndarray, moved: Floats) -> list[str]:
    notes = []
    if floor:
        notes.append(
            f"tolerance {tolerance:g} is below what double precision holds; {FLOOR / SHARE:g} was used"
        )
    if counters[kernels.LOOSENED]:
        notes.append(
            f"{counters[kernels.LOOSENED]} steps could not hold the tolerance in double precision, as "
            "close to a singular position or where a force is not smooth (a spring of length zero); "
            f"the largest correction there was {moved.max():.1e} of the mechanism's length"
        )
    return notes
