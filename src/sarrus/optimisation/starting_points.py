"""Starting points of searches: a low-discrepancy sequence within the bounds, of which the best designs are kept.

Designs are run as an ensemble where their measures are coordinates and velocities of points; other quantities are
read from single runs.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from ..arrays import Floats
from ..ensemble.front_end import simulate_many
from ..mechanism import Mechanism, MechanismError
from ..progress import listening
from .ensemble_reading import EnsembleRow, find_points
from .optimisation_problem import Evaluation
from .search import FEASIBLE, Search

# designs that are tried for each search
TRIED = 8


def choose_starts(search: Search, count: int, seed: int) -> list[Floats]:
    """The start of the problem, then the best of a low-discrepancy sequence."""
    problem = search.problem
    if count <= 1:
        return [problem.start]
    low = np.array([v.low for v in problem.variables])
    high = np.array([v.high for v in problem.variables])
    # a power of two keeps the balance of the sequence
    tried = 1 << int(np.ceil(np.log2(TRIED * (count - 1))))
    points = low + qmc.Sobol(len(low), seed=seed).random(tried) * (high - low)
    merits = _rate(search, points)
    order = np.argsort(merits, kind="stable")
    return [problem.start, *points[order[: count - 1]]]


def _rate(search: Search, points: Floats) -> Floats:
    """A number for each design, smaller for better ones: infinite if it has no run, then by violation."""
    problem = search.problem
    built: list[Mechanism | None] = []
    for x in points:
        try:
            built.append(problem.design(x).build())
        except MechanismError:
            built.append(None)
    wanted = [i for i, made in enumerate(built) if made is not None]
    out = np.full(len(points), np.inf)
    if not wanted:
        return out
    mechanisms = [made for made in built if made is not None]
    names = None
    if not problem.events:
        names = find_points((m.of for m in problem.measures), mechanisms[0])
    if names is None or set(problem.settings) - {"tolerance"}:
        for i in wanted:
            out[i] = _merit(search, problem.evaluate(points[i]))
        return out
    times = np.unique(np.concatenate([problem.grid, *(_given(m.times) for m in problem.measures)]))
    with listening(lambda done, total: None):
        runs = simulate_many(
            mechanisms, float(times[-1]), outputs=times, points=names, **problem.settings
        )
    for row, i in enumerate(wanted):
        try:
            run = EnsembleRow(runs, row, problem.grid)
            components = [m.components(run) for m in problem.measures]
        except MechanismError:
            continue
        out[i] = _merit(search, Evaluation(problem, points[i], None, components))
    return out


def _given(times: Floats | None) -> Floats:
    return np.zeros(0) if times is None else times


def _merit(search: Search, found: Evaluation) -> float:
    if found.failure:
        return np.inf
    sign = -1.0 if search.problem.maximise else 1.0
    size = abs(search.first.objective) or 1.0
    violation = found.violation(search.scales)
    return float(sign * found.objective / size + (1e3 * violation if violation > FEASIBLE else 0.0))
