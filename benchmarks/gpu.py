"""A million mechanisms on a CUDA device: time, and the worst error against the exact motion; crossings too.

    python benchmarks/gpu.py          on the device: needs NumPy, SciPy, llvmlite and CuPy alone
    python benchmarks/gpu.py host     the same on this machine's cores, 100 times fewer

Double four-bars with start speeds of their own, 10 s, ten singular positions each; Bricard linkages.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import numpy as np
from scipy.special import ellipj, ellipk, ellipkinc

import sarrus
from sarrus.assembly import solve_start_velocity
from sarrus.codegen import series
from sarrus.codegen.structure import make_structure, number_values
from sarrus.many import point_columns
from sarrus.model import make_model
from sarrus.verdict.crossings import zero_of

RUNS = {"double-four-bar": 1_000_000, "rectangular-bricard": 100_000}
DURATION = 10.0


def make_job(problem):
    """Structure of a problem, its numbers at rest, and how they change with the speed of the start."""
    given = sarrus.problems.get(problem)
    mechanism = given.mechanism()
    model = make_model(mechanism)
    velocity, _ = solve_start_velocity(model, mechanism)
    columns, rows = point_columns(model, (given.observed,))
    structure = make_structure(model.form, None, velocity, columns, rows)
    still = number_values(model.form, None, 0.0 * velocity, rows)
    return structure, still, number_values(model.form, None, velocity, rows) - still


def exact_four_bar(speed, t, windows=2):
    """x and y of the first crank's end; the whole mechanism is one pendulum that turns over."""
    inertia, weight = (windows + 1) / 3 + windows, 9.81 * ((windows + 1) / 2 + windows)
    w2 = weight / inertia
    W = np.sqrt(speed**2 + 4 * w2)
    m = 4 * w2 / W**2
    sn, cn, _, _ = ellipj(W * t / 2 - ellipk(m), m)
    return -2 * sn * cn, -(1 - 2 * sn**2)


def exact_crossings(speed, windows=2):
    """When its cranks lie down up to the end, in order, (runs, most); not a number behind the last."""
    inertia, weight = (windows + 1) / 3 + windows, 9.81 * ((windows + 1) / 2 + windows)
    W = np.sqrt(speed**2 + 4 * weight / inertia)[:, None]
    m = 4 * weight / inertia / W**2
    K, F = ellipk(m), ellipkinc(np.pi / 4, m)
    turns = np.arange(1.0, 200.0, 2.0)
    times = np.concatenate([2 / W * (turns * K - F), 2 / W * (turns * K + F)], axis=1)
    times = np.sort(np.where(times <= DURATION, times, np.nan), axis=1)
    return times[:, : int(np.isfinite(times).sum(axis=1).max())]


def tell_crossings(structure, numbers, speed, tolerance, run):
    """The same with crossings: time, and what is wrong with them."""
    times = np.array([DURATION])
    zero = zero_of(tolerance)
    run(structure, numbers[:, :64].copy(), times, DURATION, tolerance, keep=False, zero=zero)
    seconds = {}
    for value in (None, zero, None, zero):
        begin = time.perf_counter()
        found = run(structure, numbers, times, DURATION, tolerance, keep=False, zero=value)
        seconds.setdefault(value, []).append(time.perf_counter() - begin)
    told, n = found.summaries, numbers.shape[1]
    good = told[series.REASON] == 0
    exact = exact_crossings(speed)
    first = series.first_of_crossings(structure)
    count = told[first].astype(int)
    wrong = good & (count != np.isfinite(exact).sum(axis=1))
    sure = good & ~wrong
    off = np.abs(told[first + 1 : first + 1 + exact.shape[1]].T - exact)[sure]
    print(
        f"crossings at {tolerance:g}: {min(seconds[zero]):.3f} s, without {min(seconds[None]):.3f} s; not certain "
        f"{n - int(good.sum())}, another number {int(wrong.sum())} of {n}, worst time {np.nanmax(off):.1e} s",
        flush=True,
    )


def tell(problem, structure, numbers, speed, tolerance, run):
    """One line: time, what is left to the general kernels, errors."""
    times = np.array([0.0, DURATION])
    begin = time.perf_counter()
    run(structure, numbers[:, :64].copy(), times, DURATION, tolerance)
    first = time.perf_counter() - begin
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        found = run(structure, numbers, times, DURATION, tolerance)
        seconds.append(time.perf_counter() - begin)
    told, n = found.summaries, numbers.shape[1]
    good = told[series.REASON] == 0
    text = f"{problem}: {n} runs at {tolerance:g}: {min(seconds):.3f} s ({n / min(seconds):.3g} a second), "
    text += f"first {first:.2f} s; not certain {int(np.sum(~good))}, steps {told[series.STEPS].mean():.0f}, "
    text += f"drift {told[series.DRIFT][good].max():.1e}"
    if problem == "double-four-bar":
        x, y = exact_four_bar(speed, DURATION)
        error = np.hypot(found.results[:, -1, 0] - x, found.results[:, -1, 1] - y)[good]
        text += f", error median {np.median(error):.1e}, worst {error.max():.1e}"
    print(text, flush=True)


def main(where="device"):
    """Run and print."""
    if where == "device":
        from sarrus.codegen.device import find_cupy, run_on_device

        print(find_cupy().cuda.runtime.getDeviceProperties(0)["name"].decode(), flush=True)
        run, share = run_on_device, 1
    else:
        from sarrus.codegen.lanes import lanes_of

        def run(structure, *args, zero=None, **options):
            lanes = lanes_of(structure, zero is not None)
            return lanes.run(*args, threads=2, zero=zero, **options)

        share = 100
    for problem, count in RUNS.items():
        structure, still, slope = make_job(problem)
        n = count // share
        speed = np.linspace(0.5, 3.0, n)
        numbers = still[:, None] + slope[:, None] * speed
        for tolerance in (1e-10, 1e-4):
            tell(problem, structure, numbers, speed, tolerance, run)
            if problem == "double-four-bar":
                tell_crossings(structure, numbers, speed, tolerance, run)


if __name__ == "__main__":
    main(*sys.argv[1:])
