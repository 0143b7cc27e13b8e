"""Radau IIA with three stages, order 5, for stiff springs and dampers.

Equations and sources in kernels/radau.py and docs/methods/radau.md. Steps are chosen by an estimate of
third order; outputs between steps come from positions and velocities at the ends of two steps.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats, Ints
from ..kernels import radau as kernels
from ..kernels.layout import Form, make_workspace, pack
from ..kernels.loads import Loads, make_loads
from ..model import Model
from ..model.order import make_factor
from .fixed_step import make_counters
from .outcome import Outcome

OPTIONS = {"longest_step": 0.0}
# the error of third order, ~ h^4, that a step may have is SHARE tolerance^(4/5): then the error of a run,
# ~ h^5, follows the tolerance, and about as that of `series` does
SHARE = 0.05
# what double precision gives in a run
FLOOR = 1e-11
# memory for the states between two recordings
BUFFER_BYTES = 2_000_000


@dataclass(frozen=True)
class Start:
    """Where a run goes on: time, position, velocity, angles of torsions, work done so far."""

    t: float
    q: Floats
    v: Floats
    angles: Floats
    work: float


def run(
    model: Model,
    velocity: Floats,
    times: Floats,
    duration: float,
    tolerance: float,
    max_steps: int,
    longest_step: float = OPTIONS["longest_step"],
) -> Outcome:
    """Simulate from q = 0 and the given velocity; record at the given times.

    longest_step [s]: no step is longer; 0 is no limit.
    """
    zero = np.zeros(model.coordinates)
    start = Start(0.0, zero, velocity, np.zeros(len(model.loads.torsions.first)), 0.0)
    longest = float(longest_step) or np.inf
    outcome, _, _ = go_on(model, start, times, duration, tolerance, max_steps, longest)
    return outcome


def go_on(
    model: Model,
    start: Start,
    times: Floats,
    duration: float,
    tolerance: float,
    max_steps: int,
    longest: float = np.inf,
) -> tuple[Outcome, kernels.Tangent, kernels.Stages]:
    """Simulate from a start; returns the memory of the last step too."""
    form, nq, total = model.form, model.coordinates, len(times)
    times = np.ascontiguousarray(times)
    used = max(tolerance, FLOOR)
    local = SHARE * used**0.8
    # two, since recording counts the turns of angles anew
    ws, ws_record = make_workspace(form, 0), make_workspace(form, 0)
    loads, loads_record = make_loads(model.loads, 0), make_loads(model.loads, 0)
    tangent = make_tangent(form, model.loads)
    stages = make_stages(form, model.loads, tangent)
    capacity = int(np.clip(BUFFER_BYTES // (24 * max(nq, 1)), 64, 4096))
    # the first row is the step before, once there is one
    store, ends, watch = np.zeros((capacity, 3, nq)), np.zeros(capacity), np.zeros((capacity, 2))
    store.fill(0.0)
    ends[0], store[0, 0], store[0, 1] = start.t, start.q, start.v
    if loads is not None and loads_record is not None:
        loads.theta[:] = loads_record.theta[:] = start.angles
    control, counters = np.zeros(7), np.zeros(5, np.int64)
    q, v, a = np.zeros((total, nq)), np.zeros((total, nq)), np.zeros((total, nq))
    norms, energy = np.zeros((total, 3)), np.zeros(total)
    carried, work = np.array([start.work]), np.zeros(total)
    angles = np.zeros((total, len(model.loads.torsions.first)))
    drive_forces = np.zeros((total, len(model.loads.drives.sines)))
    history: list[tuple[Floats, Floats]] = []

    first = done = 0
    solve_cpu = solve_wall = record_cpu = 0.0
    reason = kernels.FULL
    while reason == kernels.FULL and counters[kernels.STEPS] < max_steps:
        room = store[: first + 1 + max_steps - int(counters[kernels.STEPS])]
        # CPU time of this thread: idle threads of a linear algebra library may spin beside it
        wall, cpu = time.perf_counter(), time.thread_time()
        reason, last = kernels.advance(
            form, tangent, ws, stages, loads, duration, local, used, longest,
            first, control, ends, room, watch, counters,
        )  # fmt: skip
        solve_cpu += time.thread_time() - cpu
        solve_wall += time.perf_counter() - wall
        cpu = time.thread_time()
        ws_record.usual[:] = ws.usual
        ended = reason == kernels.DONE
        upto = total if ended else int(np.searchsorted(times, ends[last], side="right"))
        part = slice(done, upto)
        kernels.record(
            form, ws_record, loads_record, local, first, last, ends, store, times[part], carried,
            q[part], v[part], a[part], norms[part], energy[part],
            angles[part], work[part], drive_forces[part],
        )  # fmt: skip
        done = max(done, upto)
        history.append((ends[first + 1 : last + 1].copy(), watch[first + 1 : last + 1].copy()))
        if last > first:
            store[:2], ends[:2] = (
                store[last - 1 : last + 1].copy(),
                ends[last - 1 : last + 1].copy(),
            )
            first = 1
        record_cpu += time.thread_time() - cpu

    status, message = _status(reason, float(ends[first]), duration, tolerance, max_steps)
    seen = np.concatenate([w for _, w in history])
    keep = slice(0, done)
    outcome = Outcome(
        status=status,
        message=message,
        times=times[keep],
        q=q[keep],
        v=v[keep],
        a=a[keep],
        norms=norms[keep],
        energy=energy[keep],
        counters=make_counters(
            int(counters[kernels.STEPS]),
            rejected=int(counters[kernels.REJECTED]),
            iterations=int(counters[kernels.ITERATIONS]),
            factorisations=int(counters[kernels.FACTORISATIONS]),
            loosened=int(counters[kernels.LOOSENED]),
        ),
        timings={"solve_cpu": solve_cpu, "solve_wall": solve_wall, "record_cpu": record_cpu},
        notes=_notes(tolerance, counters, seen[:, 1]),
        step_times=np.concatenate([s for s, _ in history]),
        step_orders=np.full(int(counters[kernels.STEPS]), 5, np.int64),
        step_pivots=seen[:, 0].copy(),
        work=work[keep],
        angles=angles[keep],
        drive_forces=drive_forces[keep],
    )
    return outcome, tangent, stages


def try_steps(
    model: Model, start: Start, duration: float, tolerance: float, steps: int
) -> tuple[float, Floats, Floats, Floats]:
    """The step [s] that is reached after a few, 0 if the run gets nowhere; J, d(Q - J^T lam)/dq and
    dQ/dv on the way, as full matrices.
    """
    outcome, tangent, stages = go_on(model, start, np.zeros(0), duration, tolerance, steps)
    form, nq = model.form, model.coordinates
    J, (S, G) = np.zeros((model.equations, nq)), np.zeros((2, nq, nq))
    J[form.J_eq, form.J_col] = stages.J[3]
    S[tangent.S_row, tangent.S_col] = stages.S[3]
    G[tangent.S_row, tangent.S_col] = stages.G[3]
    ends = np.concatenate([[start.t], outcome.step_times])
    if outcome.status not in ("done", "too-slow") or len(ends) < 2:
        return 0.0, J, S, G
    # the last step may be cut by the end of the run
    return float(np.diff(ends)[-3:].max()), J, S, G


def make_tangent(form: Form, loads: Loads) -> kernels.Tangent:
    """Order of elimination of the Newton matrix, and where its entries go."""
    nq, nc = len(form.Q), len(form.phi0)
    M_row = np.repeat(np.arange(nq), np.diff(form.M_start))
    S_row, S_col, sums = _load_pattern(form, loads)
    # the model lists half of the symmetric augmentation
    mirrored = form.J_col[form.K_A_1] != form.J_col[form.K_A_2]
    A_1 = np.concatenate([form.K_A_1, form.K_A_2[mirrored]])
    A_2 = np.concatenate([form.K_A_2, form.K_A_1[mirrored]])
    rows = np.concatenate([M_row, S_row, form.J_eq + nq, form.J_col[A_1]])
    cols = np.concatenate([form.M_col, S_col, form.J_col, form.J_col[A_2]])
    neighbours: list[set[int]] = [set() for _ in range(nq + nc)]
    for i, j in zip(rows.tolist(), cols.tolist(), strict=True):
        if i != j:
            neighbours[i].add(j)
            neighbours[j].add(i)
    factor = make_factor(neighbours, nq)
    upper = len(factor.rows)

    def places(rows: ArrayLike, cols: ArrayLike) -> Ints:
        found = [
            factor.entry(i, j) + (upper if factor.position[i] < factor.position[j] else 0)
            for i, j in zip(np.asarray(rows).tolist(), np.asarray(cols).tolist(), strict=True)
        ]
        return np.array(found, dtype=np.int64)

    return pack(kernels.Tangent(
        pos_q=factor.position[:nq].copy(), pos_c=factor.position[nq:].copy(),
        M_at=places(M_row, form.M_col),
        J_at=places(form.J_eq + nq, form.J_col), JT_at=places(form.J_col, form.J_eq + nq),
        A_at=places(form.J_col[A_1], form.J_col[A_2]), A_1=A_1, A_2=A_2,
        S_row=S_row, S_col=S_col, S_at=places(S_row, S_col),
        **sums,
        L_start=factor.start, L_row=factor.rows, L_target=factor.target,
    ))  # fmt: skip


def _load_pattern(form: Form, loads: Loads) -> tuple[Ints, Ints, dict[str, Any]]:
    """Entries of S = F^T (dw/df) F - sum lam_k A_k: their coordinates, and what each sums."""
    number: dict[tuple[int, int], int] = {}

    def spread(
        start: Any, col: Any, val: Any, terms: Any
    ) -> tuple[list[int], list[int], list[float]]:
        to, of, factor = [], [], []
        for n, a, b, c in terms:
            for k in range(start[a], start[a + 1]):
                for m in range(start[b], start[b + 1]):
                    place = int(col[k]), int(col[m])
                    to.append(number.setdefault(place, len(number)))
                    of.append(n)
                    factor.append(c * val[k] * val[m])
        return to, of, factor

    weights = (
        (n, a, b, 1.0) for n, (a, b) in enumerate(zip(loads.G_row, loads.G_col, strict=True))
    )
    squares = zip(form.sq_eq, form.sq_form, form.sq_form, form.sq_c, strict=True)
    pairs = zip(form.bl_eq, form.bl_a, form.bl_b, form.bl_c, strict=True)
    turned = zip(form.bl_eq, form.bl_b, form.bl_a, form.bl_c, strict=True)
    sums: dict[str, Any] = {}
    for name, (to, of, factor) in {
        "sum": spread(loads.F_start, loads.F_col, loads.F_val, weights),
        "lam": spread(form.D_start, form.D_col, form.D_val, chain(squares, pairs, turned)),
    }.items():
        sums[f"{name}_to"] = np.array(to, dtype=np.int64)
        sums[f"{name}_of"] = np.array(of, dtype=np.int64)
        sums[f"{name}_c"] = np.array(factor, dtype=float)
    places = np.array(list(number), dtype=np.int64).reshape(-1, 2)
    return places[:, 0].copy(), places[:, 1].copy(), sums


def make_stages(form: Form, loads: Loads, tangent: kernels.Tangent) -> kernels.Stages:
    """Allocate the scratch memory of a step."""
    nq, ns, z = len(form.Q), len(tangent.S_at), np.zeros
    n, upper = nq + len(form.phi0), len(tangent.L_row)
    return pack(kernels.Stages(
        z=z((2, 3, nq)), dz=z((2, 3, nq)), past=z((3, nq)), q=z((3, nq)), v=z((3, nq)), a=z((3, nq)),
        lam=z((4, len(form.phi0))), power=z(3), J=z((4, len(form.J_eq))),
        A=z(len(loads.G_row)), B=z(len(loads.G_row)),
        S=z((4, ns)), G=z((4, ns)), theta=z(len(loads.torsions.first)),
        blocks=z((n + 2 * upper, 3, 3)), b_blocks=z((n, 3)), below=z((3, 3)), right=z((3, 3)),
        values=z(n + 2 * upper), b=z(n),
    ))  # fmt: skip


def _status(
    reason: int, t: float, duration: float, tolerance: float, max_steps: int
) -> tuple[str, str]:
    if reason == kernels.DONE:
        return "done", f"simulated {duration:g} s"
    if reason == kernels.STUCK:
        return "not-converged", (
            f"stopped at t = {t:.9g} s: no step is short enough for the tolerance {tolerance:g}; the "
            "results up to there are good. Try another tolerance, and check whether the motion can go "
            "on beyond this position"
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


def _notes(tolerance: float, counters: Ints, moved: Floats) -> list[str]:
    notes = []
    if tolerance < FLOOR:
        notes.append(
            f"tolerance {tolerance:g} is below what double precision holds; {FLOOR:g} was used"
        )
    if counters[kernels.LOOSENED]:
        notes.append(
            f"{counters[kernels.LOOSENED]} steps could not hold the tolerance in double precision, as "
            "happens beside a singular position; the largest correction of a landing was "
            f"{moved.max():.1e} of the mechanism's length"
        )
    return notes
