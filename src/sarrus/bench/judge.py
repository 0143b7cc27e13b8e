"""The judge: compares columns with the limits and the exact reference of their problem.

Files of other programs and our own results are judged by the same function, `judge_columns`. Only the raw columns
count: errors against the exact motion, and the energy as given and, where the observed point alone determines it,
as recomputed.

The error of the MBS Benchmark library is applied literally [Gonzalez2006]: with the threshold y0,

    e_j(t_i) = |y_j - y_j_ref| / max(|y_j_ref|, y0)

over the columns of the observed point, once as root mean square over columns and outputs, once as
maximum. The sources do not say which of the two is meant, so both must satisfy the limit.

Problems of statics have no columns: equilibrium and eigenvalues are compared with the values printed in the
source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import Floats
from ..problems import Problem
from ..result import Result
from ..runs.columns import LEVELS, unit_of
from ..statics import Equilibrium, Modes, equilibrium, modes
from .diagnosis import Sample, find_causes

# Tolerance of an equilibrium configuration [m] and of eigenvalues [1/s], set by this project: twelve digits are
# printed.
ALLOWED = 1e-10
# Relative to the largest number of a column: with fewer digits than this, the file limits what can be judged.
FEW_DIGITS = 1e-12
# Relative to the motion: a first row with a larger error is another initial state, or the state after one step.
SAME_START = 1e-4


@dataclass(frozen=True)
class Check:
    """One limit with the measured and the allowed value; time: time of the worst row [s].

    ours: the limit is set by this project, not by the source; blur: error that the rounding of the file may
    have added.
    """

    what: str
    value: float
    limit: float
    unit: str
    time: float | None = None
    ours: bool = False
    blur: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether the limit is satisfied; nan fails."""
        return bool(self.value < self.limit)


@dataclass(frozen=True)
class Judgement:
    """Measurements on the columns, and whether every limit is satisfied.

    position_error [m] and velocity_error [m/s]: largest error over the columns that the problem's source requires;
    recomputed_drift [J]: drift of the energy computed from the observed point alone; violations: largest violation
    at each level, as given; None without the columns. branch: a sentence if the motion left its branch, at the
    time left_at [s]; findings: sentences on other errors and remarks. undetermined: limits that cannot be checked
    with these columns.
    """

    energy_drift: float | None
    position_error: float | None
    velocity_error: float | None
    end_error: float | None
    violation: float | None
    complete: bool
    checks: tuple[Check, ...]
    recomputed_drift: float | None = None
    violations: dict[str, float] = field(default_factory=dict)
    left_at: float | None = None
    branch: str | None = None
    findings: tuple[str, ...] = ()
    undetermined: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the run reached its end on the right branch and every limit is satisfied."""
        return self.kept and not self.undetermined

    @property
    def kept(self) -> bool:
        """Like `passed`, for the limits that can be checked with these columns."""
        return self.complete and self.left_at is None and all(check.passed for check in self.checks)

    @property
    def kept_source(self) -> bool:
        """Like `passed`, for the limits of the source only."""
        mine = [c.passed for c in self.checks if not c.ours]
        return self.complete and self.left_at is None and all(mine) and not self.undetermined

    def as_dict(self) -> dict[str, Any]:
        """Return the judgement as data for a JSON file."""
        checks = [{**asdict(c), "passed": c.passed} for c in self.checks]
        return {**asdict(self), "checks": checks, "passed": self.passed}


def judge(problem: Problem, result: Result) -> Judgement:
    """Measure a result against its problem; a run that ended early fails."""
    judged = judge_columns(
        replace(problem, duration=result.duration), problem.result_columns(result), fit=False
    )
    return replace(judged, complete=judged.complete and result.status == "done")


def judge_columns(
    problem: Problem,
    columns: dict[str, Floats],
    rounding: dict[str, float] | None = None,
    *,
    fit: bool = True,
) -> Judgement:
    """Measure columns, by name, against the problem; they must cover 0 to its duration.

    All given columns are judged, including further coordinates of the observed point; limits on missing columns
    are reported as not checked. rounding: possible rounding error of the written numbers, by column. fit: if the
    columns do not match the problem, search for parameter values that explain them (gravity, initial speed,
    lengths, masses) by simulations, which may take some seconds.
    """
    known = {*problem.columns, *problem.reference_columns(np.zeros(1))} - {"t"}
    if "t" not in columns or not known & set(columns):
        raise ValueError(f"'{problem.id}' needs t and some of {', '.join(problem.columns[1:])}")
    # Numbers too large to square are judged like any other wrong number.
    with np.errstate(all="ignore"):
        return _judge(Sample(problem, columns, rounding or {}), fit)


def _judge(sample: Sample, fit: bool) -> Judgement:
    problem, columns, times = sample.problem, sample.columns, sample.times
    places = sample.places
    speeds = [name for name in sample.names if name.startswith("v")]
    end = None
    if places:
        end = float(np.linalg.norm([sample.error[n][-1] for n in places])) if len(times) else np.inf
    recomputed = sample.recomputed
    checks = _checks(sample, end)
    cause = find_causes(sample, all(check.passed for check in checks), fit)
    violations = {
        level: float(columns[level].max(initial=0.0)) for level in LEVELS if level in columns
    }
    return Judgement(
        energy_drift=None if sample.drift is None else _worst(sample.drift, times)[0],
        position_error=_largest_error(sample, places),
        velocity_error=_largest_error(sample, speeds),
        end_error=end,
        violation=violations.get("position"),
        complete=_covers(times, problem),
        checks=tuple(checks),
        recomputed_drift=None if recomputed is None else _largest_known(recomputed, times)[0],
        violations=violations,
        left_at=cause.left_at,
        branch=cause.branch,
        findings=(*cause.findings, *_missing(sample), *_digits(sample, checks)),
        undetermined=tuple(_undetermined(sample)),
    )


def _largest_error(sample: Sample, names: list[str]) -> float | None:
    own = _own(names, sample.problem)
    return max(_worst(sample.error[n], sample.times)[0] for n in own) if own else None


def _checks(sample: Sample, end: float | None) -> list[Check]:
    limits, times, rounding = sample.problem.limits, sample.times, sample.rounding
    place_blur = max((rounding.get(n, 0.0) for n in sample.places), default=0.0)
    checks = []
    if limits.energy_drift is not None and sample.drift is not None:
        value, time = _worst(sample.drift, times)
        blur = 2.0 * rounding.get("energy", 0.0)
        checks.append(Check("energy drift", value, limits.energy_drift, "J", time, blur=blur))
    if limits.energy_drift is not None and sample.recomputed is not None:
        value, time = _largest_known(sample.recomputed, times)
        what = "energy drift, recomputed"
        checks.append(Check(what, value, limits.energy_drift, "J", time, ours=True))
    if limits.threshold is not None and limits.low is not None and limits.high is not None:
        checks += _precision(sample, limits.low, limits.high, limits.threshold)
    if limits.end_error is not None and end is not None:
        last = float(times[-1]) if len(times) else None
        what, most = "error at the end", limits.end_error
        blur = float(np.sqrt(len(sample.places))) * place_blur
        checks.append(Check(what, end, most, "m", last, ours=True, blur=blur))
    if limits.rms is not None and sample.has(("x", "angle")):
        square = sample.error["x"] ** 2 + (sample.columns["angle"] - sample.exact["angle"]) ** 2
        value = float(np.sqrt(np.mean(square))) if len(times) else np.inf
        blur = rounding.get("x", 0.0) + rounding.get("angle", 0.0)
        checks.append(Check("error of x and angle, RMS", value, limits.rms, "", blur=blur))
    if limits.path is not None and sample.places:
        value, time = _worst(sample.place_error, times)
        what = "distance from the right path"
        checks.append(Check(what, value, limits.path, "m", time, ours=True, blur=place_blur))
    return [*checks, *_start(sample)]


def _start(sample: Sample) -> Iterator[Check]:
    """Check that the first row is the problem's initial state, within the digits of the file."""
    if not sample.names or not len(sample.times):
        return
    scale = {n: max(float(np.abs(sample.exact[n]).max()), 1e-3) for n in sample.names}
    value = max(float(sample.error[n][0]) / scale[n] for n in sample.names)
    blur = max(sample.rounding.get(n, 0.0) / scale[n] for n in sample.names)
    limit = max(SAME_START, 2.0 * blur)
    if not value < limit:
        what = "first row from the initial state, relative"
        yield Check(what, value, limit, "", float(sample.times[0]), ours=True, blur=blur)


def _precision(sample: Sample, low: float, high: float, threshold: float) -> list[Check]:
    """Check the library's error in both interpretations, against both of its classes."""
    if not sample.names:
        return []
    size = {n: np.maximum(np.abs(sample.exact[n]), threshold) for n in sample.names}
    relative = np.column_stack([sample.error[n] / size[n] for n in sample.names])
    blurs = np.column_stack([sample.rounding.get(n, 0.0) / size[n] for n in sample.names])
    rms = float(np.sqrt(np.mean(relative**2))) if relative.size else np.inf
    largest, time = _worst(relative.max(axis=1), sample.times)
    wide = float(blurs.max(initial=0.0))
    typical = float(np.sqrt(np.mean(blurs**2))) if blurs.size else 0.0
    checks = []
    for name, limit in (("low", low), ("high", high)):
        what = f"error, {name} precision"
        checks.append(Check(f"{what}, RMS", rms, limit, "", blur=typical))
        checks.append(Check(f"{what}, maximum", largest, limit, "", time, blur=wide))
    return checks


# What the columns do not show.


def _missing(sample: Sample) -> Iterator[str]:
    """Yield the columns that the source requires and that are missing, and what is judged without them."""
    missing = [name for name in sample.problem.columns if name not in sample.columns]
    if not missing:
        return
    used = ", ".join(sample.names) or "nothing"
    are = "is" if len(missing) == 1 else "are"
    yield f"{', '.join(missing)} {are} not there: errors of the observed point are those of {used} alone"
    if "energy" in missing:
        yield "without an energy column its drift cannot be determined"
    if sample.problem.branch is not None and sample.branch is None:
        yield "without the coordinates of the observed point its branch cannot be determined"


def _undetermined(sample: Sample) -> Iterator[str]:
    """Yield the limits that cannot be checked with these columns."""
    limits = sample.problem.limits
    if limits.energy_drift is not None and sample.drift is None:
        yield "energy drift"
    if limits.low is not None and not sample.names:
        yield "error of the observed point"
    if limits.rms is not None and not sample.has(("x", "angle")):
        yield "error of x and angle"
    if (limits.end_error is not None or limits.path is not None) and not sample.places:
        yield "path of the observed point"


def _digits(sample: Sample, checks: list[Check]) -> Iterator[str]:
    """Report what the limited number of digits of a file hides, if it matters."""
    rounding = {n: r for n, r in sample.rounding.items() if n in (*sample.names, "angle", "energy")}
    sizes = {n: float(np.abs(sample.columns[n]).max(initial=0.0)) for n in rounding}
    if not any(r > FEW_DIGITS * sizes[n] for n, r in rounding.items()):
        return
    known = ", ".join(f"{n} is known to {r:.0e} {unit_of(n)}" for n, r in rounding.items())
    count = max(
        round(np.log10(0.5 * 10.0 ** np.ceil(np.log10(sizes[n]) - 1e-6) / r))
        for n, r in rounding.items()
        if sizes[n]
    )
    yield f"with {count} digits {known}; smaller errors cannot be judged"
    for check in checks:
        if check.blur >= check.limit:
            yield f"{check.what}: its limit, {check.limit:g}, is finer than these digits ({check.blur:.1g})"
        elif not check.passed and check.value - check.blur < check.limit:
            yield f"{check.what}: {check.value:.3g} may be these digits alone ({check.blur:.1g})"


def _own(names: list[str], problem: Problem) -> list[str]:
    """Return the columns that the problem's source requires, or all if it requires none."""
    return [name for name in names if name in problem.columns] or names


def _worst(values: Floats, times: Floats) -> tuple[float, float | None]:
    """Return the largest value and its time; nan counts as larger than any number."""
    if not len(values):
        return 0.0, None
    i = int(np.argmax(values))
    return float(values[i]), float(times[i])


def _largest_known(values: Floats, times: Floats) -> tuple[float, float | None]:
    """Return the largest magnitude of the known values; nan if there are none."""
    known = ~np.isnan(values)
    if not known.any():
        return np.nan, None
    return _worst(np.abs(values[known]), times[known])


def _covers(times: Floats, problem: Problem) -> bool:
    """Return whether rows run from 0 to the duration, so that the next one would lie beyond it."""
    if len(times) < 2:
        return False
    step = min(problem.output_step, problem.duration)
    # 1e-6 of a step: rounding of times
    return bool(abs(times[0]) <= 1e-4 * step and times[-1] + step > problem.duration + 1e-4 * step)


def judge_small_motion(problem: Problem) -> tuple[Equilibrium, Modes, tuple[Check, ...]]:
    """Compute the equilibrium and the modes of a problem that requires them, and compare."""
    if problem.small is None:
        raise ValueError(f"problem '{problem.id}' has no equilibrium to judge")
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
            Check("configuration at rest", off, ALLOWED, "m"),
            Check("eigenvalues", missed, ALLOWED, "1/s"),
        ),
    )
