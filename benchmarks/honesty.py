"""How honest the tolerance is: errors of random mechanisms over tolerance times magnification.

    PYTHONPATH=src:tests python benchmarks/honesty.py [mechanisms]

A mechanism falls from rest for a second. Its error at a tolerance is the largest difference of a coordinate from
a run at 1e-12, in typical links; the magnification is what a small change of gravity grows to, over that change:
what no step can help. Printed: median, 99th percentile and worst of error / (tolerance x magnification).
"""

import sys

import numpy as np

from random_mechanisms import random_mechanism
from sarrus import simulate

TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-11)
DURATION, OUTPUT = 1.0, 0.05
# the change of gravity; its square is below the reference's error
CHANGE = 1e-7


def run(m, tolerance):
    """Coordinates at the outputs, None for what cannot move or does not reach the end."""
    result = simulate(m, DURATION, OUTPUT, tolerance=tolerance, method="series")
    return result if result.status == "done" else None


def measure(seed, dimension, tolerances=TOLERANCES):
    """The ratios of one mechanism, one a tolerance; empty for a structure or a run that says it is not good."""
    m = random_mechanism(seed, dimension)
    exact = run(m, 1e-12)
    changed = m.copy()
    changed.gravity = m.gravity * (1.0 + CHANGE)
    moved = run(changed, 1e-12)
    if exact is None or moved is None or not np.any(np.abs(exact.coordinates).max(axis=1) > 1e-3):
        return []
    grown = np.abs(moved.coordinates - exact.coordinates).max() / CHANGE
    runs = [(t, run(m, t)) for t in tolerances]
    # the reference is good to some 1e-12 times the magnification itself
    return [
        np.abs(r.coordinates - exact.coordinates).max() / (t * max(1.0, grown))
        for t, r in runs
        if r is not None and not r.notes
    ]


def main(count):
    """Print the figures."""
    ratios, names = [], []
    for seed in range(count):
        for dimension in (2, 3):
            try:
                found = measure(seed, dimension)
            except ValueError as error:
                print(f"seed {seed}, {dimension}D: {error}"[:100])
                continue
            ratios += found
            names += [f"seed {seed}, {dimension}D"] * len(found)
    values = np.array(ratios)
    print(
        f"{len(values)} runs: error / (tolerance x magnification): median {np.median(values):.2g}, "
        f"99 % {np.quantile(values, 0.99):.2g}, worst {values.max():.2g} ({names[int(values.argmax())]})"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
