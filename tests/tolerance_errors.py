"""How honest a tolerance is: errors over tolerance times magnification.

The error of a run is the largest difference of a coordinate from a run at 1e-12, in typical links; the
magnification is what a small change of gravity grows to, over that change: what no step can help.
"""

import numpy as np

from sarrus import simulate

FINEST = 1e-12
# the change of gravity; its square is below the reference's error
CHANGE = 1e-7


def run(m, duration, tolerance):
    """The run with twenty outputs; None for what does not reach the end."""
    result = simulate(m, duration, duration / 20, tolerance=tolerance, method="series")
    return result if result.status == "done" else None


def says_otherwise(r):
    """Whether a run states itself that it did not hold its tolerance."""
    return r.lost > 0.0 or any("energy balance drifts" in note for note in r.notes)


def measure(m, duration, tolerances):
    """Tolerances and ratios of the runs that are done and whose notes report no larger error.

    None for a structure.
    """
    exact = run(m, duration, FINEST)
    changed = m.copy()
    changed.gravity = m.gravity * (1.0 + CHANGE)
    moved = run(changed, duration, FINEST)
    if exact is None or moved is None or not np.any(np.abs(exact.coordinates) > 1e-3):
        return []
    grown = np.abs(moved.coordinates - exact.coordinates).max() / CHANGE
    runs = [(t, run(m, duration, t)) for t in tolerances]
    # the reference is good to some 1e-12 times the magnification itself
    return [
        (t, float(np.abs(r.coordinates - exact.coordinates).max() / (t * max(1.0, grown))))
        for t, r in runs
        if r is not None and not says_otherwise(r)
    ]
