"""Starting points of searches: a low-discrepancy sequence within the bounds, of which the best designs are kept.

Designs are run as an ensemble where their measures are coordinates and velocities of points; other quantities are
read from single runs.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from ..arrays import Floats
from ..ensemble.front_end import simulate_many
from ..ensemble.variants import EnsembleResult
from ..mechanism import Mechanism, MechanismError
from ..mechanism.event_requests import Event
from ..progress import listening
from .measures import NotReachedError
from .problem import Evaluation, OptimisationProblem
from .search import FEASIBLE, Search

# designs that are tried for each search
TRIED = 8


class EnsembleRow:
    """One run of an ensemble, as measures read it."""

    def __init__(self, runs: EnsembleResult, number: int, grid: Floats) -> None:
        if str(runs.status[number]) != "done":
            raise NotReachedError(runs.message[number])
        self._runs, self._number, self.grid = runs, number, grid

    def read(self, quantity: str, times: Floats) -> Floats:
        """A coordinate of a point at some times."""
        point, word = _split(quantity)
        read = self._runs.velocity if word[0] == "v" else self._runs.position
        return read(point)[self._number][self._at(times), "xyz".index(word[-1])]

    def read_point(self, point: str, times: Floats) -> Floats:
        """Positions of a point at some times."""
        return self._runs.position(point)[self._number][self._at(times)]

    def nearest(self, point: str, targets: Floats) -> Floats:
        """Outputs at which a point is nearest to targets."""
        path = self._runs.position(point)[self._number]
        return self._runs.times[np.argmin(((path[:, None] - targets[None]) ** 2).sum(2), axis=0)]

    def event_time(self, event: Event) -> float:
        """Ensembles do not locate events."""
        raise NotReachedError(f"'{event.name}' is not located in ensembles")

    def _at(self, times: Floats) -> np.ndarray:
        return np.searchsorted(self._runs.times, times)


def _split(quantity: str) -> tuple[str, str]:
    """Point and word of a coordinate, "B.vx"."""
    point, _, word = quantity.rpartition(".")
    return point, word


def _points(problem: OptimisationProblem, mechanism: Mechanism) -> list[str] | None:
    """Points whose motion gives all measures; None if some measure needs more."""
    known = {j.name for j in mechanism.joints if j.at is not None}
    known |= {p.name for p in mechanism.markers} | {b.name for b in mechanism.bodies}
    words = {f"{level}{axis}" for level in ("", "v") for axis in "xyz"[: mechanism.dimension]}
    found = []
    for measure in problem.measures:
        point, word = _split(measure.of) if measure.word != "distance" else (measure.of, "x")
        if measure.event is not None or point not in known or word not in words:
            return None
        found.append(point)
    return list(dict.fromkeys(found))


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
    names = _points(problem, mechanisms[0])
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
