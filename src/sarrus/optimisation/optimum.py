"""The result of an optimisation: values before and after, constraints, how each search ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from ..disk import write_file
from ..mechanism import Mechanism
from ..notebook_display import Sentences
from ..result import Result
from .optimisation_problem import Evaluation, OptimisationProblem
from .search import CONVERGED, SearchEnd

# searches end at the same optimum if their objectives differ by less than this share
SAME = 1e-6


@dataclass(frozen=True, eq=False)
class Optimum(Sentences):
    """The best design that was found; made by `sarrus.optimize`.

    Attributes
    ----------
    status : str
        "converged": no direction improves it to first order, and the constraints are met; "infeasible": no search
        met them; "not-converged": the best search ended early; "failed": no design could be run.
    message : str
        The status in one sentence, with the number of searches that agree.
    searches : list of SearchEnd
        How the search from each start ended: `start`, `x`, `objective`, `status`, `message`, `stationarity`.
    history : list of (int, float, float)
        Search, objective and largest violation of each design that was run.
    """

    problem: OptimisationProblem = field(repr=False)
    first: Evaluation = field(repr=False)
    last: Evaluation = field(repr=False)
    searches: list[SearchEnd] = field(repr=False)
    history: list[tuple[int, float, float]] = field(repr=False)
    best: SearchEnd = field(repr=False)

    @property
    def status(self) -> str:
        """How the optimisation ended, in one word."""
        return self.best.status

    @property
    def success(self) -> bool:
        """Whether an optimum was found."""
        return self.status == CONVERGED

    @property
    def message(self) -> str:
        """How the optimisation ended, in one sentence."""
        total = len(self.searches)
        if self.status != CONVERGED:
            return f"{self.best.message} (best of {total} search{'es' * (total > 1)})"
        if total == 1:
            return f"a local optimum, from one start: {self.best.message}"
        return (
            f"the best local optimum of {total} starts, at which {self.agreeing} of them end: "
            f"{self.best.message}"
        )

    @property
    def agreeing(self) -> int:
        """Number of searches that converged to the same objective."""
        size = max(abs(self.best.objective), SAME * abs(self.objective_before), 1e-300)
        return len(
            [
                s
                for s in self.searches
                if s.status == CONVERGED and abs(s.objective - self.best.objective) <= SAME * size
            ]
        )

    @property
    def values(self) -> dict[str, float]:
        """Values of the variables at the optimum, in SI."""
        return dict(zip(self._names, self.last.x.tolist(), strict=True))

    @property
    def values_before(self) -> dict[str, float]:
        """Values of the variables at the start, in SI."""
        return dict(zip(self._names, self.first.x.tolist(), strict=True))

    @property
    def _names(self) -> list[str]:
        return [v.name for v in self.problem.variables]

    @property
    def objective(self) -> float:
        """The objective at the optimum."""
        return self.last.objective

    @property
    def objective_before(self) -> float:
        """The objective at the start."""
        return self.first.objective

    @property
    def constraints(self) -> list[tuple[str, float, float]]:
        """Text, value before and value after of each constraint."""
        before, after = (
            found.limit_values if not found.failure else [np.nan] * len(self.problem.limits)
            for found in (self.first, self.last)
        )
        texts = [limit.text for limit in self.problem.limits]
        return list(zip(texts, before, after, strict=True))

    @property
    def evaluations(self) -> int:
        """Number of designs that were run."""
        return len(self.history)

    @cached_property
    def mechanism(self) -> Mechanism:
        """The mechanism at the optimum."""
        return self.problem.design(self.last.x).build()

    @property
    def result(self) -> Result | None:
        """The run at the optimum; None if it failed."""
        return None if self.last.run is None else self.last.run.result

    @property
    def result_before(self) -> Result | None:
        """The run at the start; None if it failed."""
        return None if self.first.run is None else self.first.run.result

    def __str__(self) -> str:
        sign = "maximum" if self.problem.maximise else "minimum"
        terms = " + ".join(m.text for m in self.problem.objective)
        lines = [
            f"{self.problem.name}: {self.status}, {self.message}",
            f"{sign} of {terms}: {self.objective_before:.9g} -> {self.objective:.9g}",
        ]
        lines += [
            f"{name}: {self.values_before[name]:.9g} -> {x:.9g}" for name, x in self.values.items()
        ]
        lines += [f"{text}: {old:.9g} -> {new:.9g}" for text, old, new in self.constraints]
        return "\n".join(lines)

    def save_page(self, path: str | Path) -> Path:
        """Write a page with values, curves and motions before and after; returns its path."""
        from .result_page import make_page

        return write_file(path, make_page(self))
