"""A million mechanisms on a CUDA device, by the public call: time, and the worst error against the exact motion.

    python benchmarks/gpu.py          on the device: needs NumPy, SciPy, llvmlite, PyYAML and CuPy alone
    python benchmarks/gpu.py host     the same on this machine's cores, 50 times fewer

Double four-bars with masses of their own for three cranks, 10 s, ten singular configurations each.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import numpy as np
from scipy.special import ellipj, ellipk

import sarrus

RUNS = {"gpu": 1_000_000, "cpu": 20_000}
DURATION, GRAVITY = 10.0, 9.81


def exact_end(masses, t, speed=1.0, couplers=2):
    """x and y of the first crank's end: the whole mechanism is one pendulum that turns over."""
    inertia = masses.sum(axis=0) / 3 + couplers
    w2 = GRAVITY * (masses.sum(axis=0) / 2 + couplers) / inertia
    W = np.sqrt(speed**2 + 4 * w2)
    m = 4 * w2 / W**2
    sn, cn, _, _ = ellipj(W * t / 2 - ellipk(m), m)
    return -2 * sn * cn, -(1 - 2 * sn**2)


def main(device, tolerance=1e-10):
    """Twice: the first call compiles."""
    masses = np.random.default_rng(0).uniform(1.0, 2.0, (3, RUNS[device]))
    mechanism = sarrus.problems.get("double-four-bar").mechanism()
    vary = {f"bodies.crank {k}.mass": row for k, row in enumerate(masses)}
    ensemble = sarrus.Ensemble(mechanism, vary)
    x, y = exact_end(masses, DURATION)
    for call in ("first", "second"):
        begin = time.perf_counter()
        runs = ensemble.simulate(DURATION, keep=False, device=device, tolerance=tolerance)
        seconds = time.perf_counter() - begin
        end = runs.final[:, runs.points.index("B0"), 0]
        error = np.hypot(end[:, 0] - x, end[:, 1] - y)
        print(
            f"{call} call: {len(runs)} runs in {seconds:.2f} s, {int(runs.fallback.sum())} by `simulate`, errors "
            f"{np.median(error):.1e} m in the median and {error.max():.1e} m at most"
        )


if __name__ == "__main__":
    main("cpu" if "host" in sys.argv[1:] else "gpu")
