"""How honest the tolerance is: errors of random mechanisms over tolerance times magnification.

    PYTHONPATH=src:tests python benchmarks/honesty.py [mechanisms in plane and in space]

A mechanism falls from rest for a second; see tests/tolerance_errors.py. Printed: median, 99th percentile and worst
of error / (tolerance x magnification), of all and of each tolerance. `make soak` runs it, and fails where 99 % are
not below 10, or the worst not below 50.
"""

import sys

import numpy as np

from random_mechanisms import random_mechanism
from tolerance_errors import measure

TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-11)
DURATION = 1.0
MOST, WORST = 10.0, 50.0


def tell(name, values):
    """One line of figures."""
    print(
        f"{name}: {len(values)} runs, median {np.median(values):.2g}, "
        f"99 % {np.quantile(values, 0.99):.2g}, worst {np.max(values):.2g}"
    )


def main(count):
    """Print the figures; returns whether they are as promised."""
    found, names, still, reported = [], [], 0, 0
    for seed in range(count):
        for dimension in (2, 3):
            try:
                ratios = measure(random_mechanism(seed, dimension), DURATION, TOLERANCES)
            except ValueError as error:
                print(f"seed {seed}, {dimension}D: {error}"[:100])
                continue
            still += not ratios
            reported += len(TOLERANCES) - len(ratios) if ratios else 0
            found += ratios
            names += [f"seed {seed}, {dimension}D"] * len(ratios)
    for tolerance in TOLERANCES:
        tell(f"{tolerance:g}", [x for t, x in found if t == tolerance])
    values = np.array([x for _, x in found])
    tell("all", values)
    print(
        f"the worst is {names[int(values.argmax())]}; "
        f"{still} mechanisms that do not move or do not reach the end"
    )
    print(f"and {reported} runs that ended early or whose notes report larger errors are left out")
    return np.quantile(values, 0.99) < MOST and values.max() < WORST


if __name__ == "__main__":
    sys.exit(not main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
