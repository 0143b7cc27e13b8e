"""The judge: columns against the limits and the exact reference of their problem.

A file of another program and a result of our own go through the same door, `judge_columns`. Nothing
but the raw columns counts: errors against the exact motion, the energy as given and, where the observed
point alone tells it, as recomputed.

The error of the MBS Benchmark library is taken literally [Gonzalez2006]: with the threshold y0,

    e_j(t_i) = |y_j - y_j_ref| / max(|y_j_ref|, y0)

over the columns of the observed point, once as root mean square over columns and outputs, once as
maximum; the sources do not say which of the two is meant, so both must be kept.

Problems of statics have no columns: equilibrium and eigenvalues are compared with what the source prints.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import Floats
from ..problems import Problem
from ..result import Result
from ..runs.columns import LEVELS
from ..statics import Equilibrium, Modes, equilibrium, modes
from .causes import Sample, find_causes

# of a place at rest [m] and of eigenvalues [1/s]; ours: twelve digits are printed
ALLOWED = 1e-10


@dataclass(frozen=True)
class Check:
    """One limit: what was measured, what is allowed; time: of the worst row [s]."""

    what: str
    value: float
    limit: float
    unit: str
    time: float | None = None

    @property
    def passed(self) -> bool:
        """Whether the limit is kept; nan is not."""
        return bool(self.value < self.limit)


@dataclass(frozen=True)
class Judgement:
    """What the judge measured on columns, and whether every limit is kept.

    position_error [m] and velocity_error [m/s]: largest, over the columns of the problem's source;
    recomputed_drift [J]: of the energy that the observed point alone tells; violations: largest of
    each level, as given; None where there are no columns for it. branch: a sentence if the motion left
    its branch, and left_at [s]; findings: sentences on what else is wrong or worth knowing.
    """

    energy_drift: float
    position_error: float
    velocity_error: float | None
    end_error: float
    violation: float | None
    complete: bool
    checks: tuple[Check, ...]
    recomputed_drift: float | None = None
    violations: dict[str, float] = field(default_factory=dict)
    left_at: float | None = None
    branch: str | None = None
    findings: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the run reached its end on the right branch and every limit is kept."""
        return self.complete and self.left_at is None and all(check.passed for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """For a JSON file."""
        checks = [{**asdict(c), "passed": c.passed} for c in self.checks]
        return {**asdict(self), "checks": checks, "passed": self.passed}


def judge(problem: Problem, result: Result) -> Judgement:
    """Measure a result against its problem; a run that ended early fails."""
    judged = judge_columns(
        replace(problem, duration=result.duration), problem.result_columns(result)
    )
    return replace(judged, complete=judged.complete and result.status == "done")


def judge_columns(problem: Problem, columns: dict[str, Floats]) -> Judgement:
    """Measure columns, by name, against the problem; they must cover 0 to its duration.

    At least the problem's own columns are needed; further coordinates of the observed point are
    checked as well.
    """
    missing = [name for name in problem.columns if name not in columns]
    if missing:
        raise ValueError(f"'{problem.id}' needs the columns {', '.join(missing)}")
    # numbers too large to square are judged like any other wrong ones
    with np.errstate(all="ignore"):
        return _judge(Sample(problem, columns))


def _judge(sample: Sample) -> Judgement:
    problem, columns, times = sample.problem, sample.columns, sample.times
    places = [name for name in sample.names if not name.startswith("v")]
    speeds = [name for name in sample.names if name.startswith("v")]
    end = float(np.linalg.norm([sample.error[n][-1] for n in places])) if len(times) else np.inf
    recomputed = sample.recomputed
    checks = _checks(sample, places, end)
    cause = find_causes(sample, all(check.passed for check in checks))
    violations = {
        level: float(columns[level].max(initial=0.0)) for level in LEVELS if level in columns
    }
    return Judgement(
        energy_drift=_worst(sample.drift, times)[0],
        position_error=max(_worst(sample.error[n], times)[0] for n in _own(places, problem)),
        velocity_error=(
            max(_worst(sample.error[n], times)[0] for n in _own(speeds, problem))
            if speeds
            else None
        ),
        end_error=end,
        violation=violations.get("position"),
        complete=_covers(times, problem.duration),
        checks=tuple(checks),
        recomputed_drift=None if recomputed is None else _largest_known(recomputed, times)[0],
        violations=violations,
        left_at=cause.left_at,
        branch=cause.branch,
        findings=cause.findings,
    )


def _checks(sample: Sample, places: list[str], end: float) -> list[Check]:
    limits, times = sample.problem.limits, sample.times
    checks = []
    if limits.energy_drift is not None:
        value, time = _worst(sample.drift, times)
        checks.append(Check("energy drift", value, limits.energy_drift, "J", time))
        if sample.recomputed is not None:
            value, time = _largest_known(sample.recomputed, times)
            what = "energy drift, recomputed"
            checks.append(Check(what, value, limits.energy_drift, "J", time))
    if limits.threshold is not None and limits.low is not None and limits.high is not None:
        relative = np.column_stack(
            [
                sample.error[n] / np.maximum(np.abs(sample.exact[n]), limits.threshold)
                for n in sample.names
            ]
        )
        rms = float(np.sqrt(np.mean(relative**2))) if relative.size else np.inf
        largest, time = _worst(relative.max(axis=1), times)
        for name, limit in (("low", limits.low), ("high", limits.high)):
            checks.append(Check(f"error, {name} precision, RMS", rms, limit, ""))
            checks.append(Check(f"error, {name} precision, maximum", largest, limit, "", time))
    if limits.end_error is not None:
        last = float(times[-1]) if len(times) else None
        checks.append(Check("error at the end", end, limits.end_error, "m", last))
    if limits.rms is not None:
        square = sample.error["x"] ** 2 + (sample.columns["angle"] - sample.exact["angle"]) ** 2
        value = float(np.sqrt(np.mean(square))) if len(times) else np.inf
        checks.append(Check("error of x and angle, RMS", value, limits.rms, ""))
    if limits.path is not None:
        value, time = _worst(np.max([sample.error[n] for n in places], axis=0), times)
        checks.append(Check("distance from the right path", value, limits.path, "m", time))
    return checks


def _own(names: list[str], problem: Problem) -> list[str]:
    """Those that the problem's source asks for, or all if it asks for none."""
    return [name for name in names if name in problem.columns] or names


def _worst(values: Floats, times: Floats) -> tuple[float, float | None]:
    """Largest value and its time; nan is larger than any number."""
    if not len(values):
        return 0.0, None
    i = int(np.argmax(values))
    return float(values[i]), float(times[i])


def _largest_known(values: Floats, times: Floats) -> tuple[float, float | None]:
    """Largest magnitude where there is a value; nan if there is none."""
    known = ~np.isnan(values)
    if not known.any():
        return np.nan, None
    return _worst(np.abs(values[known]), times[known])


def _covers(times: Floats, duration: float) -> bool:
    """Whether rows run from 0 to the duration: the next one would lie beyond it."""
    if len(times) < 2:
        return False
    step = times[1] - times[0]
    # 1e-6 of a step: rounding of times
    return bool(abs(times[0]) <= 1e-6 * step and times[-1] + step > duration + 1e-6 * step)


def judge_small_motion(problem: Problem) -> tuple[Equilibrium, Modes, tuple[Check, ...]]:
    """Find the equilibrium and the modes of a problem that asks for them, and compare."""
    if problem.small is None:
        raise ValueError(f"'{problem.id}' does not ask for an equilibrium")
    mechanism = problem.mechanism()
    rest = equilibrium(mechanism)
    found = modes(mechanism, at=rest)
    off = float(np.linalg.norm(rest.position(problem.observed) - problem.small.place))
    wanted = np.sort_complex(np.array(problem.small.eigenvalues))
    values = np.sort_complex(found.eigenvalues)
    missed = float(np.abs(values - wanted).max()) if values.shape == wanted.shape else np.inf
    return (
        rest,
        found,
        (
            Check("place at rest", off, ALLOWED, "m"),
            Check("eigenvalues", missed, ALLOWED, "1/s"),
        ),
    )
