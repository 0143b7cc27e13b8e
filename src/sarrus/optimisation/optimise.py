"""Searches from many starts, one after the other, with a state file from which an interrupted call is resumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..disk import read_file, write_file
from ..mechanism import MechanismError
from ..progress import report
from .optimisation_problem import Evaluation, OptimisationProblem, Variable
from .optimum import Optimum
from .search import FEASIBLE, METHODS, STATUSES, Search, SearchEnd
from .starting_points import choose_starts

VERSION = 1
MOST_BYTES = 50_000_000
# designs between two versions of the state file
EVERY = 5
# designs of a usual search, for the progress
USUAL = 20


@dataclass(frozen=True)
class OptimisationProgress:
    """Where an optimisation is: the search, counted from 1, all searches, designs run, best objective so far."""

    search: int
    searches: int
    evaluations: int
    best: float


def run_optimisation(
    problem: OptimisationProblem,
    *,
    starts: int,
    seed: int,
    method: str,
    most_iterations: int,
    state: str | Path | None,
    progress: Callable[[OptimisationProgress], None] | None,
) -> Optimum:
    """Search from each start; the best end that meets the constraints is the optimum."""
    if method not in METHODS:
        raise ValueError(f"method = {method!r}; give {' or '.join(map(repr, METHODS))}")
    for name, number in (("starts", starts), ("max_iterations", most_iterations)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise ValueError(f"{name} = {number!r}; give a whole number from 1")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed = {seed!r}; give a whole number from 0")
    first = problem.evaluate(problem.start)
    if first.failure:
        raise MechanismError(f"the start cannot be measured: {first.failure}")
    search = Search(problem, first, method, most_iterations)
    log = OptimisationLog(search, progress)
    memory = StateFile(state, _identity(problem, starts, seed, method, most_iterations))
    points = memory.load(log) or [x.tolist() for x in choose_starts(search, starts, seed)]
    log.searches = len(points)

    def note(found: Evaluation) -> None:
        log.add(found)
        if not len(log.history) % EVERY:
            memory.save(points, log, log.current)

    search.listener = note
    for number in range(len(log.ends), len(points)):
        log.number, log.mine = number, 0
        begin = memory.take_current(number) or points[number]
        end = search.run(np.array(begin))
        end.start = list(points[number])
        log.ends.append(end)
        memory.save(points, log)
        report(number + 1, len(points))
    best = min(log.ends, key=lambda end: _rank(end, problem.maximise))
    last = problem.evaluate(np.array(best.x))
    return Optimum(problem, first, last, log.ends, log.history, best)


def _rank(end: SearchEnd, maximise: bool) -> tuple[int, float]:
    """Order of ends: feasible ones by their objective, then others by their violation."""
    if end.violation > FEASIBLE:
        return 1, end.violation
    return 0, -end.objective if maximise else end.objective


class OptimisationLog:
    """What has been computed so far: ends of searches, and all designs."""

    def __init__(
        self, search: Search, progress: Callable[[OptimisationProgress], None] | None
    ) -> None:
        self._search, self._progress = search, progress
        self.ends: list[SearchEnd] = []
        self.history: list[tuple[int, float, float]] = []
        # the present search, its designs, all searches
        self.number, self.mine, self.searches = 0, 0, 1
        self.current: list[float] | None = None
        self._best = np.nan

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Variables of the problem."""
        return self._search.problem.variables

    def add(self, found: Evaluation) -> None:
        """Note a design and report the progress."""
        violation = found.violation(self._search.scales)
        self.history.append((self.number, found.objective, violation))
        if not found.failure:
            self.current = found.x.tolist()
        if violation <= FEASIBLE:
            better = max if self._search.problem.maximise else min
            known = found.objective if np.isnan(self._best) else self._best
            self._best = better(known, found.objective)
        self.mine += 1
        # how many designs a search needs is not known before
        report(self.number + self.mine / (self.mine + USUAL), self.searches)
        if self._progress is not None:
            self._progress(
                OptimisationProgress(self.number + 1, self.searches, len(self.history), self._best)
            )


class StateFile:
    """The file from which an interrupted optimisation is resumed; without a path nothing is kept."""

    def __init__(self, path: str | Path | None, identity: str) -> None:
        self._path = None if path is None else Path(path)
        self._identity = identity
        self._current: tuple[int, list[float]] | None = None

    def load(self, log: OptimisationLog) -> list[list[float]] | None:
        """Starting points of an earlier call with the same problem; None if there was none."""
        if self._path is None or not self._path.exists():
            return None
        count = len(log.variables)
        try:
            data = json.loads(read_file(self._path, MOST_BYTES))
            same = data["version"] == VERSION and data["identity"] == self._identity
            points = [_read_point(point, count) for point in data["points"]]
            ends = [_read_end(end, count) for end in data["ends"]]
            history = [(int(n), float(f), float(v)) for n, f, v in data["history"]]
            current = None
            if data["current"] is not None:
                current = int(data["current"][0]), _read_point(data["current"][1], count)
            if not 0 < len(points) >= len(ends):
                raise ValueError("more ends than starts")
        except (
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            RecursionError,
            OverflowError,
        ):
            raise ValueError(
                f"{self._path} is not the state of an optimisation, or damaged; remove it, or give another file"
            ) from None
        if not same:
            raise ValueError(
                f"{self._path} is the state of another optimisation; remove it, or give another file"
            )
        log.ends, log.history, self._current = ends, history, current
        return points

    def take_current(self, number: int) -> list[float] | None:
        """The last design of a search that was interrupted."""
        if self._current is None or self._current[0] != number:
            return None
        return self._current[1]

    def save(
        self, points: list[Any], log: OptimisationLog, current: list[float] | None = None
    ) -> None:
        """Write the file; current: the last design of a search that goes on."""
        if self._path is None:
            return
        data = {
            "version": VERSION,
            "identity": self._identity,
            "points": [list(map(float, x)) for x in points],
            "ends": [{k: _plain(v) for k, v in asdict(end).items()} for end in log.ends],
            "history": [[n, _plain(f), _plain(v)] for n, f, v in log.history],
            "current": None if current is None else [log.number, current],
        }
        write_file(self._path, json.dumps(data, indent=1))


def _plain(value: Any) -> Any:
    """Numbers that JSON has; others as text."""
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def _read_point(given: Any, count: int) -> list[float]:
    """Values of all variables; raises ValueError for anything else."""
    point = [float(x) for x in given]
    if len(point) != count or not np.isfinite(point).all():
        raise ValueError("not a design")
    return point


def _read_end(given: Any, count: int) -> SearchEnd:
    """The end of a search as it was written; raises an error for anything else."""
    return SearchEnd(
        start=_read_point(given["start"], count),
        x=_read_point(given["x"], count),
        objective=float(given["objective"]),
        violation=float(given["violation"]),
        status=STATUSES[STATUSES.index(given["status"])],
        message=str(given["message"]),
        stationarity=float(given["stationarity"]),
        evaluations=int(given["evaluations"]),
    )


def _identity(problem: OptimisationProblem, *settings: object) -> str:
    """A digest of all that the state depends on; functions count by their names."""
    parts: list[Any] = [
        problem.name,
        [(v.name, v.low, v.high, v.start) for v in problem.variables],
        [(m.text, m.weight, _shown(m.to), _shown(m.times)) for m in problem.measures],
        [(event.of, event.equals, event.direction, event.count) for event in problem.events],
        [(limit.low, limit.high) for limit in problem.limits],
        problem.grid.tolist(),
        problem.maximise,
        sorted((k, repr(x)) for k, x in problem.settings.items()),
        settings,
        getattr(problem.source, "data", None),
    ]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _shown(value: Any) -> Any:
    if callable(value):
        return getattr(value, "__qualname__", "function")
    return value.tolist() if isinstance(value, np.ndarray) else value
