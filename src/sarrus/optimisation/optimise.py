"""Searches from many starts, one after the other, with a state file from which an interrupted call is resumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..disk import read_file, write_file
from ..mechanism import MechanismError
from ..progress import tell
from .optimisation_problem import Evaluation, OptimisationProblem
from .optimum import Optimum
from .search import FEASIBLE, METHODS, Search, SearchEnd
from .starting_points import choose_starts

VERSION = 1
MOST_BYTES = 50_000_000
# designs between two versions of the state file
EVERY = 5


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
    first = problem.evaluate(problem.start)
    if first.failure:
        raise MechanismError(f"the start cannot be measured: {first.failure}")
    search = Search(problem, first, method, most_iterations)
    log = OptimisationLog(search, progress)
    memory = StateFile(state, _identity(problem, starts, seed, method, most_iterations))
    points = memory.load(log) or [x.tolist() for x in choose_starts(search, starts, seed)]
    log.searches = len(points)
    for number in range(len(log.ends), len(points)):
        log.number = number
        begin = memory.take_current(number) or points[number]
        search.heard = lambda found: (log.add(found), memory.save(points, log, often=False))  # type: ignore[func-returns-value, assignment]
        end = search.run(np.array(begin))
        end.start = list(points[number])
        log.ends.append(end)
        memory.save(points, log)
        tell(number + 1, len(points))
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
        self.number, self.searches = 0, 1
        self.current: list[float] | None = None
        self._best = np.nan

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
        mine = len([h for h in self.history if h[0] == self.number])
        # how many designs a search needs is not known before
        tell(self.number + mine / (mine + 20.0), self.searches)
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
        try:
            data = json.loads(read_file(self._path, MOST_BYTES))
            same = data["version"] == VERSION and data["identity"] == self._identity
            known = {f.name for f in fields(SearchEnd)}
            ends = [
                SearchEnd(**{k: _finite(v) for k, v in e.items() if k in known})
                for e in data["ends"]
            ]
            points = [[float(x) for x in point] for point in data["points"]]
            history = [(int(n), _finite(f), _finite(v)) for n, f, v in data["history"]]
            current = data["current"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{self._path} is not the state of an optimisation ({type(error).__name__}); give another file"
            ) from None
        if not same:
            raise ValueError(
                f"{self._path} is the state of another optimisation; remove it, or give another file"
            )
        log.ends, log.history = ends, history
        if current is not None:
            self._current = int(current[0]), [float(x) for x in current[1]]
        return points

    def take_current(self, number: int) -> list[float] | None:
        """The last design of a search that was interrupted."""
        if self._current is None or self._current[0] != number:
            return None
        return self._current[1]

    def save(self, points: list[Any], log: OptimisationLog, often: bool = True) -> None:
        """Write the file; often: also if few designs are new."""
        if self._path is None or (not often and len(log.history) % EVERY):
            return
        current = None if log.current is None or often else [log.number, log.current]
        data = {
            "version": VERSION,
            "identity": self._identity,
            "points": [list(map(float, x)) for x in points],
            "ends": [{k: _plain(v) for k, v in asdict(end).items()} for end in log.ends],
            "history": [[n, _plain(f), _plain(v)] for n, f, v in log.history],
            "current": current,
        }
        write_file(self._path, json.dumps(data, indent=1))


def _plain(value: Any) -> Any:
    """Numbers that JSON has; others as text."""
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def _finite(value: Any) -> Any:
    return float(value) if value in ("nan", "inf", "-inf") else value


def _identity(problem: OptimisationProblem, *settings: object) -> str:
    """A digest of all that the state depends on; functions count by their names."""
    parts: list[Any] = [
        problem.name,
        [(v.name, v.low, v.high, v.start) for v in problem.variables],
        [(m.text, m.weight, _shown(m.to), _shown(m.times)) for m in problem.measures],
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
