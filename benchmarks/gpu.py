"""A million mechanisms on a CUDA device: time, and the worst error against the exact motion.

    python benchmarks/gpu.py prepare FILE     where Sarrus is installed: structure and numbers into a file
    python benchmarks/gpu.py run FILE         where the device is: needs NumPy, SciPy, llvmlite and CuPy alone
    python benchmarks/gpu.py host FILE        the same on this machine's cores, 100 times fewer

Double four-bars with start speeds of their own, 10 s, ten singular positions each; Bricard linkages.
"""

import os
import pickle
import sys
import time

import numpy as np
from scipy.special import ellipj, ellipk

RUNS = {"double four-bar": 1_000_000, "Bricard": 100_000}
DURATION = 10.0


def prepare(path):
    """Structure, and numbers as base + slope * speed."""
    import sarrus
    from sarrus.assembly import solve_start_velocity
    from sarrus.codegen.structure import make_structure, number_values
    from sarrus.many import point_columns
    from sarrus.model import make_model

    jobs = {}
    for name, problem in (("double four-bar", "double-four-bar"), ("Bricard", "rectangular-bricard")):
        given = sarrus.problems.get(problem)
        mechanism = given.mechanism()
        model = make_model(mechanism)
        velocity, _ = solve_start_velocity(model, mechanism)
        columns, rows = point_columns(model, (given.observed,))
        structure = make_structure(model.form, velocity, columns, rows)
        base = number_values(model.form, 0.0 * velocity, rows)
        slope = number_values(model.form, velocity, rows) - base
        jobs[name] = structure, base, slope
    with open(path, "wb") as file:
        pickle.dump(jobs, file)


def exact_four_bar(speed, t, windows=2):
    """x and y of the first crank's end; the whole mechanism is one pendulum that turns over."""
    inertia, weight = (windows + 1) / 3 + windows, 9.81 * ((windows + 1) / 2 + windows)
    w2 = weight / inertia
    W = np.sqrt(speed**2 + 4 * w2)
    m = 4 * w2 / W**2
    sn, cn, _, _ = ellipj(W * t / 2 - ellipk(m), m)
    return -2 * sn * cn, -(1 - 2 * sn**2)


def measure(jobs, run, count):
    """Print time, errors and reasons of all jobs."""
    for name, (structure, base, slope) in jobs.items():
        n = count(name)
        speed = np.linspace(0.5, 3.0, n) if name == "double four-bar" else np.ones(n)
        numbers = base[:, None] + slope[:, None] * speed
        for tolerance in (1e-10, 1e-4):
            tell(name, structure, numbers, speed, tolerance, run)


def tell(name, structure, numbers, speed, tolerance, run):
    """One line."""
    from sarrus.codegen import series

    times = np.array([0.0, DURATION])
    small = numbers[:, :64].copy()
    begin = time.perf_counter()
    run(structure, small, times, DURATION, tolerance)
    first = time.perf_counter() - begin
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        found = run(structure, numbers, times, DURATION, tolerance)
        seconds.append(time.perf_counter() - begin)
    told = found.summaries
    n = numbers.shape[1]
    text = f"{name}: {n} runs, tolerance {tolerance:g}: {min(seconds):.3f} s ({n / min(seconds):.3g} a second), "
    text += f"first {first:.2f} s; not certain: {int(np.sum(told[series.REASON] != 0))}, "
    text += f"steps {told[series.STEPS].mean():.0f}, drift {told[series.DRIFT].max():.1e}"
    if name == "double four-bar":
        x, y = exact_four_bar(speed, DURATION)
        good = told[series.REASON] == 0
        error = np.hypot(found.results[:, -1, 0] - x, found.results[:, -1, 1] - y)[good]
        text += f", error median {np.median(error):.1e}, worst {error.max():.1e}"
    else:
        spread = np.ptp(found.results[:, -1, 0])
        text += f", x {found.results[0, -1, 0]:.12f}, spread {spread:.1e}"
    print(text, flush=True)


def main(what, path):
    """Prepare, or run and print."""
    if what == "prepare":
        prepare(path)
        return
    with open(path, "rb") as file:
        jobs = pickle.load(file)
    if what == "run":
        import cupy

        from sarrus.codegen.device import run_on_device

        print(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(), flush=True)
        measure(jobs, run_on_device, RUNS.__getitem__)
    else:
        from sarrus.codegen.lanes import lanes_of

        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1

        def run(structure, *args):
            return lanes_of(structure).run(*args, threads=cores)

        measure(jobs, run, lambda name: RUNS[name] // 100)


if __name__ == "__main__":
    main(*sys.argv[1:])
