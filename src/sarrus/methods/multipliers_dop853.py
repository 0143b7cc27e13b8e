"""Lagrange multipliers of index 1 with Baumgarte's stabilisation, by SciPy's DOP853.

    y = (q, v),     y' = (v, a),     a as in methods/multipliers.py

Source: the Runge-Kutta method of order 8 of Dormand and Prince with step control
[HairerNorsettWanner1993], as SciPy has it. The right side is compiled, the integrator is not: what
many people would run. Outputs come from its own interpolant of order 7.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.integrate import DOP853

from ..arrays import Floats
from ..kernels import explicit as kernels
from ..kernels import stepping
from ..kernels.layout import make_workspace
from ..kernels.loads import make_loads
from ..model import Model
from .fixed_step import SENTENCES, SOFT_REFINEMENTS, make_counters, soften
from .outcome import Outcome

OPTIONS = {"alpha": 10.0, "beta": 10.0}
# what SciPy allows for the relative tolerance
FLOOR = 3e-14
# steps below this part of the run would not end in any sensible time
SHORTEST = 1e-9


def run(
    model: Model,
    velocity: Floats,
    times: Floats,
    duration: float,
    tolerance: float,
    max_steps: int,
    alpha: float = OPTIONS["alpha"],
    beta: float = OPTIONS["beta"],
) -> Outcome:
    """Simulate from q = 0 and the given velocity; record at the given times.

    tolerance: relative and absolute, in model units; alpha, beta: rates of stabilisation [1/s].
    """
    nq, total = model.coordinates, len(times)
    ws, loads = make_workspace(model.form, 0), make_loads(model.loads, 0)
    form, notes = soften(model.form, ws)
    refinements = SOFT_REFINEMENTS if notes else -1
    lam = np.zeros(model.equations)
    damping, stiffness = 2.0 * float(alpha), float(beta) ** 2

    def rates(t: float, y: Floats) -> Floats:
        dy = np.empty(2 * nq)
        kernels.eval_rates(form, ws, loads, t, damping, stiffness, refinements, lam, y, dy)
        return dy

    y = np.zeros((total, 2 * nq))
    a, norms, energy = np.zeros((total, nq)), np.zeros((total, 3)), np.zeros(total)
    work, angles = np.zeros(total), np.zeros((total, len(model.loads.torsions.first)))
    drive_forces = np.zeros((total, len(model.loads.drives.sines)))
    # the angles and the work are walked along in a memory of their own: trial steps do not count
    ws_record, loads_record = make_workspace(form, 0), make_loads(model.loads, 0)
    spent = 0.0
    nodes, weights = np.polynomial.legendre.leggauss(5)

    def walk(t: float, to: float, interpolant: Callable[[float], Floats]) -> float:
        """Work from one time to another within a step."""
        total = 0.0
        for node, weight in zip(nodes, weights, strict=True):
            at = t + 0.5 * (1.0 + node) * (to - t)
            state = np.ascontiguousarray(interpolant(at))
            power = stepping.eval_power_at(
                model.form, ws_record, loads_record, at, state[:nq], state[nq:], lam
            )
            total += 0.5 * (to - t) * weight * power
        return total

    ends: list[float] = []
    status, message, done = "done", f"simulated {duration:g} s", 0
    used = max(tolerance, FLOOR)
    if used > tolerance:
        notes.append(f"tolerance {tolerance:g} is below what SciPy allows; {used:g} was used")
    record_cpu = 0.0
    wall, cpu = time.perf_counter(), time.thread_time()
    start = np.concatenate([np.zeros(nq), velocity])
    solver = DOP853(rates, 0.0, start, duration, rtol=used, atol=used)
    if total and times[0] <= 0.0:
        y[0], done = start, 1
    # a wild state is judged below; the warnings of the integrator would only repeat it
    with np.errstate(all="ignore"):
        while solver.status == "running":
            if len(ends) == max_steps:
                status, message = (
                    "too-slow",
                    (
                        f"stopped at t = {solver.t:.9g} s after {max_steps} steps; allow more with "
                        "max_steps, or loosen the tolerance"
                    ),
                )
                break
            solver.step()
            crawling = solver.status == "running" and solver.step_size < SHORTEST * duration
            if solver.status == "failed" or crawling:
                status, message = (
                    "not-converged",
                    (
                        f"stopped at t = {solver.t:.9g} s: no step is short enough for the tolerance "
                        f"{tolerance:g}, as happens at a singular position; try a looser one"
                    ),
                )
                break
            reason = stepping.check_row(form, ws, loads, solver.t, solver.y[:nq], solver.y[None, :])
            if reason != stepping.DONE:
                status, why = SENTENCES[reason]
                message = f"stopped at t = {solver.t_old:.9g} s: {why}"
                break
            ends.append(solver.t)
            upto = int(np.searchsorted(times, solver.t, side="right"))
            if solver.status == "finished":
                upto = total
            if upto > done or loads_record is not None:
                begin = time.thread_time()
                interpolant = solver.dense_output()
                y[done:upto] = interpolant(times[done:upto]).T
                if loads_record is not None:
                    for k in range(done, upto):
                        work[k] = spent + walk(solver.t_old, times[k], interpolant)
                        angles[k] = loads_record.theta
                    spent += walk(solver.t_old, solver.t, interpolant)
                record_cpu += time.thread_time() - begin
                done = upto
    solve_cpu = time.thread_time() - cpu - record_cpu
    solve_wall = time.perf_counter() - wall - record_cpu
    cpu = time.thread_time()
    q, v = np.ascontiguousarray(y[:done, :nq]), np.ascontiguousarray(y[:done, nq:])
    for k in range(done):
        if loads is not None:
            loads.theta[:] = angles[k]
        a[k] = rates(times[k], y[k])[nq:]
        if loads is not None:
            angles[k] = loads.theta
    stepping.record_states(
        model.form, ws, loads, times, lam, q, v, a, norms, energy[:done], angles, drive_forces
    )
    record_cpu += time.thread_time() - cpu
    return Outcome(
        status=status, message=message, times=times[:done], q=q, v=v, a=a[:done],
        norms=norms[:done], energy=energy[:done] - work[:done],
        counters=make_counters(len(ends), factorisations=int(solver.nfev)),
        timings={"solve_cpu": solve_cpu, "solve_wall": solve_wall, "record_cpu": record_cpu},
        notes=notes,
        step_times=np.array(ends),
        step_orders=np.full(len(ends), 8, np.int64),
        work=work[:done], angles=angles[:done], drive_forces=drive_forces[:done],
    )  # fmt: skip
