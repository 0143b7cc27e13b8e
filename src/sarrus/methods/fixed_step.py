"""A run with a fixed step: chunks of compiled steps, recorded in between; shared by the methods."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from ..arrays import Floats, Ints
from ..kernels import stepping as kernels
from ..kernels.layout import Form, Workspace, make_workspace
from ..kernels.loads import make_loads
from ..kernels.solve import EPS
from ..model import Model
from .outcome import Outcome
from .watching import Watcher

# memory for the states between two recordings
BUFFER_BYTES = 16_000_000
# eps of dependent equations, of each equation's own J M^-1 J^T: see `soften`
SOFT = 1e-6
# refinements that take it out again where no iteration does
SOFT_REFINEMENTS = 2
# steps whose polynomials are watched at once
STEPS_WATCHED = 1024

# (store, whether the run starts here, counters) -> (reason, steps)
Advance = Callable[[Floats, bool, Ints], tuple[int, int]]

SENTENCES = {
    kernels.NOT_CONVERGED: (
        "not-converged",
        "the iteration of the step does not converge; try a shorter step",
    ),
    kernels.NOT_FINITE: (
        "diverged",
        "the state is not finite any more; try a shorter step",
    ),
    kernels.TORN: (
        "diverged",
        "the loops are torn open by more than the length of a link; try a shorter step",
    ),
    kernels.LOST_RANK: (
        "not-converged",
        "the chosen velocities are no longer independent there; the motion cannot be continued with "
        "as many as at the start",
    ),
}


def divide(duration: float, step: float) -> tuple[int, float]:
    """How many steps, and their length [s]: the nearest to the wanted one that fits the duration."""
    count = max(1, round(duration / step))
    return count, duration / count


def soften(form: Form, ws: Workspace) -> tuple[Form, list[str]]:
    """The form with a larger eps if equations are dependent at the start, and a note that says so.

    Dependent equations are so on the constraints only: a distance d away from them their pivot is d^2,
    and iterates and stages are that far away. An eps well above d^2 keeps their multiplier quiet;
    refinement (or the iteration itself) takes eps out of all other directions.
    """
    count, below, above = kernels.count_dependent(form, ws, np.zeros(len(form.Q)))
    if not count:
        return form, []
    soft = form._replace(eps=form.eps * (SOFT / EPS))
    word = "equation depends" if count == 1 else "equations depend"
    return soft, [
        f"{count} {word} on the others at the start (pivot {below:.0e}, the next {above:.0e}); "
        f"eps = {SOFT:g} in the solves, taken out by refinement"
    ]


def as_penalty(form: Form, factor: float) -> Form:
    """The form whose K stands for M + factor J^T J: 1/eps + rho = factor for each equation."""
    rho = np.minimum(form.rho, 0.5 * factor)
    return form._replace(rho=rho, eps=1.0 / (factor - rho))


def run_steps(
    model: Model,
    velocity: Floats,
    times: Floats,
    duration: float,
    step: float,
    max_steps: int,
    advance: Advance,
    *,
    order: int,
    notes: list[str],
    complete: bool = True,
) -> Outcome:
    """Step from q = 0 and the given velocity to the end; record at the given times.

    order: of the method; complete: whether it has accelerations of its own.
    """
    nq, total = model.coordinates, len(times)
    count, h = divide(duration, step)
    wanted = min(count, max_steps)
    capacity = int(np.clip(BUFFER_BYTES // (24 * max(nq, 1)), 64, wanted + 1))
    store = np.zeros((capacity + 1, 3, nq))
    # memory is handed out when it is first touched: do that now, not in the solve
    store.fill(0.0)
    store[0, 1] = velocity
    ws, loads = make_workspace(model.form, 0), make_loads(model.loads, 0)
    ends, lam = np.zeros((2, 3, nq)), np.zeros(model.equations)
    counters = np.zeros(4, np.int64)
    q, v, a = np.zeros((total, nq)), np.zeros((total, nq)), np.zeros((total, nq))
    norms, energy = np.zeros((total, 3)), np.zeros(total)
    carried, work = np.zeros(1), np.zeros(total)
    angles = np.zeros((total, len(model.loads.torsions.first)))
    drive_forces = np.zeros((total, len(model.loads.drives.sines)))

    watcher = Watcher(model, min(capacity, STEPS_WATCHED))

    taken, done = 0, 0
    solve_cpu = solve_wall = record_cpu = 0.0
    reason = kernels.DONE
    while reason == kernels.DONE and taken < wanted:
        room = store[: min(capacity, wanted - taken) + 1]
        wall, cpu = time.perf_counter(), time.thread_time()
        reason, steps = advance(room, taken == 0, counters)
        solve_cpu += time.thread_time() - cpu
        solve_wall += time.perf_counter() - wall
        cpu = time.thread_time()
        ended = taken + steps == count
        upto = total if ended else int(np.searchsorted(times, (taken + steps) * h, side="right"))
        part = slice(done, upto)
        kernels.record_steps(
            model.form, ws, loads, taken, h, complete, store[: steps + 1], times[part],
            ends, lam, carried, q[part], v[part], a[part], norms[part], energy[part],
            angles[part], work[part], drive_forces[part],
        )  # fmt: skip
        done = upto
        record_cpu += time.thread_time() - cpu
        ends_at = np.arange(float(taken), taken + steps + 1.0) * float(h)
        over = reason != kernels.DONE or taken + steps >= wanted
        watcher.look_between(ends_at, store[: steps + 1, 0], store[: steps + 1, 1], last=over)
        store[0] = store[steps]
        taken += steps

    if counters[kernels.LOOSENED]:
        notes = [
            *notes,
            f"the iteration of {counters[kernels.LOOSENED]} steps close to a singular position ended "
            "early; they were kept",
        ]
    if np.any(np.abs(times[:done] / h - np.rint(times[:done] / h)) > kernels.SAME):
        notes = [
            *notes,
            "outputs between the ends of steps are interpolated; their energy and violations show "
            "that as well",
        ]
    status, message = _status(reason, taken, count, h, duration, max_steps)
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
        counters=make_counters(
            taken,
            iterations=int(counters[kernels.ITERATIONS]),
            factorisations=int(counters[kernels.FACTORISATIONS]),
            loosened=int(counters[kernels.LOOSENED]),
        ),
        timings={
            "solve_cpu": solve_cpu,
            "solve_wall": solve_wall,
            "record_cpu": record_cpu,
            "watch_cpu": watcher.cpu,
        },
        notes=notes,
        step_times=np.arange(1.0, taken + 1.0) * float(h),
        step_orders=np.full(taken, order, np.int64),
        work=work[keep],
        angles=angles[keep],
        drive_forces=drive_forces[keep],
        watch=watcher.watch(),
    )


def make_counters(
    steps: int = 0,
    *,
    rejected: int = 0,
    iterations: int = 0,
    factorisations: int = 0,
    loosened: int = 0,
) -> dict[str, int]:
    """Counters under the names that all methods share."""
    return {
        "steps": steps,
        "rejected": rejected,
        "iterations": iterations,
        "factorisations": factorisations,
        "coefficients": 0,
        "loosened": loosened,
    }


def skipped(model: Model, why: str) -> Outcome:
    """The outcome of a method that cannot do a problem, with the sentence that says why."""
    none = np.zeros((0, model.coordinates))
    return Outcome(
        status="skipped", message=why, times=np.zeros(0), q=none, v=none, a=none,
        norms=np.zeros((0, 3)), energy=np.zeros(0), counters=make_counters(),
        timings={"solve_cpu": 0.0, "solve_wall": 0.0, "record_cpu": 0.0},
    )  # fmt: skip


def _status(
    reason: int, taken: int, count: int, h: float, duration: float, max_steps: int
) -> tuple[str, str]:
    if reason in SENTENCES:
        word, why = SENTENCES[reason]
        where = f"stopped at t = {taken * h:.9g} s: {why}"
        return word, where
    if taken < count:
        return "too-slow", (
            f"stopped at t = {taken * h:.9g} s after {max_steps} steps; allow more with max_steps, "
            "or take a longer step"
        )
    return "done", f"simulated {duration:g} s in {count} steps of {h:g} s"
