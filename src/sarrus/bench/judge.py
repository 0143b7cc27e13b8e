"""The judge: a result against the limits and the exact reference of its problem.

The error of the MBS Benchmark library is taken literally [Gonzalez2006]: with the threshold y0,

    e_j(t_i) = |y_j - y_j_ref| / max(|y_j_ref|, y0)

over the columns of the observed point, once as root mean square over columns and outputs, once as
maximum; the sources do not say which of the two is meant, so both must be kept.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..problems import Problem
from ..result import Result


@dataclass(frozen=True)
class Check:
    """One limit: what was measured, what is allowed."""

    what: str
    value: float
    limit: float
    unit: str

    @property
    def passed(self) -> bool:
        """Whether the limit is kept; nan is not."""
        return bool(self.value < self.limit)


@dataclass(frozen=True)
class Judgement:
    """What the judge measured on a result, and whether every limit is kept."""

    energy_drift: float
    position_error: float
    velocity_error: float
    end_error: float
    violation: float
    complete: bool
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether the run reached its end and every limit is kept."""
        return self.complete and all(check.passed for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """For a JSON file."""
        checks = [{**asdict(c), "passed": c.passed} for c in self.checks]
        return {**asdict(self), "checks": checks, "passed": self.passed}


def judge(problem: Problem, result: Result) -> Judgement:
    """Measure a result against its problem; a run that ended early fails."""
    reference = problem.reference(result.times)
    found = np.hstack([result.position(problem.observed), result.velocity(problem.observed)])
    error = np.abs(found - reference)
    dimension = found.shape[1] // 2
    position = float(error[:, :dimension].max(initial=0.0))
    end = float(np.linalg.norm(error[-1, :dimension])) if len(error) else np.inf
    limits = problem.limits
    checks = []
    if limits.energy_drift is not None:
        checks.append(Check("energy drift", result.energy_drift, limits.energy_drift, "J"))
    if limits.threshold is not None and limits.low is not None and limits.high is not None:
        relative = error / np.maximum(np.abs(reference), limits.threshold)
        rms = float(np.sqrt(np.mean(relative**2))) if relative.size else np.inf
        largest = float(relative.max(initial=0.0))
        for name, limit in (("low", limits.low), ("high", limits.high)):
            checks.append(Check(f"error, {name} precision, RMS", rms, limit, ""))
            checks.append(Check(f"error, {name} precision, maximum", largest, limit, ""))
    if limits.end_error is not None:
        checks.append(Check("error at the end", end, limits.end_error, "m"))
    if limits.path is not None:
        checks.append(Check("distance from the right path", position, limits.path, "m"))
    return Judgement(
        energy_drift=result.energy_drift,
        position_error=position,
        velocity_error=float(error[:, dimension:].max(initial=0.0)),
        end_error=end,
        violation=float(result.violation("position").max(initial=0.0)),
        complete=result.status == "done",
        checks=tuple(checks),
    )
