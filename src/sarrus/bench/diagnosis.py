"""Finds out why columns differ from the exact motion, as far as the columns show it.

Causes are hypotheses, each compared with the columns: exchanged columns, a wrong sign, millimetres; the data of
another number of windows, speed or cross-section; then parameter values fitted to the columns (hypotheses.py). A
hypothesis that explains the columns to their last digits is the cause. Otherwise the following are considered:
another branch; corrupted rows; a phase that drifts or is shifted while the motion stays on its branch; and
finally what the columns merely resemble.

Branch: as long as the constraints are satisfied, any motion on the right branch, however inaccurate in time, has
the energy that follows from its observed point, so the energy column and the recomputed energy agree. If they
disagree persistently and the point is off its path as well, the motion is on another branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from .. import problems
from ..arrays import Flags, Floats
from ..problems import Problem, RightBranch
from ..problems.problem import Columns
from ..runs.columns import unit_of
from .hypotheses import FEW_DIGITS, count_digits, fit_hypotheses

# Relative to the column's scale: errors above this are explained even if no limit is exceeded.
NOTEWORTHY = 1e-3
# An explanation must leave less than this fraction of the error, and be a good fit in itself.
BETTER, FITS = 0.1, 0.02
# Relative to the motion: error of a good simulation with the right parameters. A second explanation that leaves
# less than this multiple of the best one's error explains the columns equally well.
EXACT, RIVAL = 1e-6, 3.0
# Relative to the rounding: a smaller error is not explained by fits.
CLEAR_OF_ROUNDING = 30.0
# Relative to the error: an explanation that leaves less than this explains everything but the simulation's
# accuracy.
CLEAR = 1e-3
# Rows on which explanations are tried, and the fraction that must fit, because some rows may be corrupted.
TRIED_ROWS, MOST = 2000, 0.9
# [m]; constraints satisfied to 1 mm keep the point ten times closer to its path.
OFF_PATH = 0.01
# Relative to the largest kinetic energy. Files of three digits and velocities that violate the constraints by
# half a percent stay below; one of 40 windows on another branch takes two percent.
OFF_ENERGY = 0.01
# Share of that difference: with more of it before the departure, the motion deviates gradually.
SUDDEN = 0.3
# Consecutive rows that indicate a branch (fewer are corrupted rows). Rows off the branch may agree by chance for a
# while.
LASTING, RETURNED = 3, 30
# Fraction of all rows: this many equal rows at the end mean that the run has stopped moving.
FROZEN = 0.02
# A smooth error does not rise and fall tenfold within one row; below this value [m] or [m/s] no limit is affected.
ALONE, SPOILT = 10.0, 1e-5
# Share of the bend of the motion from row to row: where it is larger than the error, nothing is spoilt.
CURVED = 0.1
# [s]; a larger delay or lead cannot be distinguished from one revolution more or less.
LONGEST_LAG = 0.95
# The largest number of rows by which a file is shifted.
MOST_SHIFTED = 20


@dataclass(frozen=True)
class Sample:
    """Columns together with the exact motion of their problem; names: columns of the observed point.

    rounding: possible rounding error of the written numbers, by column.
    """

    problem: Problem
    columns: dict[str, Floats]
    rounding: dict[str, float] = field(default_factory=dict)

    @property
    def times(self) -> Floats:
        """The time column [s]."""
        return self.columns["t"]

    @cached_property
    def exact(self) -> dict[str, Floats]:
        """Exact motion by column name."""
        return self.problem.reference_columns(self.times)

    @cached_property
    def names(self) -> list[str]:
        """Columns of the observed point that are compared with the exact motion."""
        return [n for n in self.exact if n in self.columns and n not in ("angle", "rate")]

    @cached_property
    def error(self) -> dict[str, Floats]:
        """Absolute error with respect to the exact motion, by column."""
        return {name: np.abs(self.columns[name] - self.exact[name]) for name in self.names}

    @cached_property
    def places(self) -> list[str]:
        """Columns of the coordinates of the observed point."""
        return [name for name in self.names if not name.startswith("v")]

    @cached_property
    def branch(self) -> RightBranch | None:
        """The right branch, if the columns determine it."""
        branch = self.problem.branch
        return branch if branch is not None and self.has(branch.needs) else None

    def has(self, names: Iterable[str]) -> bool:
        """Return whether all these columns are present."""
        return all(name in self.columns for name in names)

    @cached_property
    def drift(self) -> Floats | None:
        """Deviation of the energy column from its first value [J]; None without such a column."""
        energy = self.columns.get("energy")
        return None if energy is None else np.abs(energy - energy[:1])

    @cached_property
    def recomputed(self) -> Floats | None:
        """Energy computed from the observed point alone [J], nan where undetermined; None if always so."""
        branch = self.branch
        if branch is None or branch.energy is None or not self.has(branch.energy_needs):
            return None
        return branch.energy(self.columns)

    @cached_property
    def place_error(self) -> Floats:
        """Largest error of a coordinate in each row [m]."""
        if not self.places:
            return np.zeros(len(self.times))
        return np.asarray(np.max([self.error[n] for n in self.places], axis=0), dtype=np.float64)


@dataclass(frozen=True)
class Causes:
    """Causes found: when the motion left its branch, and sentences."""

    left_at: float | None = None
    branch: str | None = None
    findings: tuple[str, ...] = ()


def find_causes(sample: Sample, passed: bool, fit: bool = True) -> Causes:
    """Explain the errors of a sample; a good sample gets no sentence. fit: also simulate with other values."""
    if not len(sample.times):
        return Causes(findings=("there are no rows",))
    remarks = [*_angle_mistakes(sample), *_remarks(sample)]
    error = _misfit(sample)
    frozen, moving = _frozen(sample)
    if frozen is not None and (moving or sample.branch is None):
        # A constant column may be another one in the wrong place.
        mistake, _ = _explain(sample, error, fit=False)
        return Causes(findings=(mistake or frozen, *remarks))
    if passed and error < NOTEWORTHY:
        return Causes(findings=tuple(remarks))
    mistake, likeness = _explain(sample, error, fit)
    if mistake is not None:
        return Causes(findings=(mistake, *remarks))
    spoilt = list(_spoilt_rows(sample))
    left = _find_branch(sample)
    looks = [] if likeness is None else [likeness]
    if left is not None and left.sure:
        return Causes(left.time, left.sentence, (left.sentence, *looks, *spoilt, *remarks))
    if frozen is not None:
        return Causes(findings=(frozen, *remarks))
    if left is not None and not looks:
        looks = [f"looks like this: {left.sentence}"]
    disagreement = list(_energy_remark(sample))
    phase = [] if left is not None else list(_phase(sample, sure=not disagreement))
    return Causes(findings=(*spoilt, *looks, *phase, *disagreement, *remarks))


def _remarks(sample: Sample) -> Iterator[str]:
    """Yield violations of the file rules that do not affect any number."""
    energy = sample.columns.get("energy")
    first = 0.0 if energy is None else float(energy[0])
    if first != 0.0:
        yield (
            f"the energy starts with {first:.6g} J; the source requires 0 at the start "
            "(the drift is counted from the first value)"
        )
    for level in ("position", "velocity", "acceleration"):
        if level in sample.columns and (sample.columns[level] < 0.0).any():
            yield f"the norm of the {level} violation is negative in places; norms are not"


def _frozen(sample: Sample) -> tuple[str | None, bool]:
    """Return a sentence if all rows, or many at the end, are equal during motion; and whether this is an error.

    The exact motion continues meanwhile. A point at rest may be on another branch; a point with a nonzero velocity
    cannot stay in place.
    """
    if not sample.names:
        return None, False
    rows = np.column_stack([sample.columns[n] for n in sample.names])
    if np.isnan(rows[-1]).any():
        # NaN does not equal itself; a separate message reports such rows.
        return None, False
    still = (rows == rows[-1]).all(axis=1)
    # First of the rows that equal the last row.
    begin = 0 if still.all() else len(still) - int(np.argmin(still[::-1]))
    same = len(still) - begin
    sizes = {n: max(float(np.abs(sample.exact[n]).max()), 1e-3) for n in sample.names}
    moved = max(float(np.ptp(sample.exact[n][begin:])) / size for n, size in sizes.items())
    if same < max(LASTING, FROZEN * len(still)) or moved < FITS:
        return None, False
    speeds = [n for n in sample.names if n.startswith("v")]
    moving = begin == 0 or any(abs(sample.columns[n][-1]) > FITS * sizes[n] for n in speeds)
    names = ", ".join(sample.names)
    if begin == 0:
        return f"nothing moves: {names} are the same in all {same} rows; was the run started?", True
    return (
        f"nothing moves from t = {sample.times[begin]:.4g} s on: {names} are the same in the last {same} rows; "
        "did the run stop there?"
    ), moving


# Mistakes in writing the file: exchanged, mirrored or scaled columns, another problem.


@dataclass(frozen=True)
class Explanation:
    """A possible mistake as a sentence, and the error that remains if it is corrected, relative to the motion.

    digits: number of digits of a fitted value; 0 if nothing was fitted.
    """

    left: float
    sentence: str
    digits: int = 0


def _explain(sample: Sample, error: float, fit: bool) -> tuple[str | None, str | None]:
    """Return what explains the columns, to their digits or nearly so; otherwise what they merely resemble."""
    thin = _thinned(sample, TRIED_ROWS)
    found = [Explanation(_misfit(trial), sentence) for trial, sentence in _mistakes(thin)]
    found += [Explanation(_misfit(trial), text, count) for trial, text, count in _relatives(thin)]
    rounding = _relative_rounding(sample)
    known = any(x.left < rounding and not x.digits for x in found)
    if fit and error > CLEAR_OF_ROUNDING * rounding and not known:
        # This runs simulations and therefore takes longer.
        for one in _fitted(sample):
            found.append(one)
    good = [x for x in found if x.left < FITS and x.left < BETTER * error]
    if not good:
        return None, None
    # Among equally good explanations take the simplest: without a fitted value, or with the fewest digits.
    least = max(rounding, RIVAL * min(x.left for x in good))
    rivals = sorted(
        (x for x in good if x.left < least), key=lambda x: (x.digits, max(x.left, rounding))
    )
    best = rivals[0]
    few = best.digits <= FEW_DIGITS
    fact = best.left < rounding and few
    # Other parameters that explain all digits with a value of few digits are reported, too, the simplest first.
    others = [x for x in rivals if fact and x.left < rounding and x.digits <= FEW_DIGITS]
    # Sentences on bodies with equal masses differ only in the names of the bodies.
    sentences: dict[str, str] = {}
    for x in (best, *others):
        sentences.setdefault(x.sentence.split(" is ")[-1], x.sentence)
    sentence = "; or ".join(sentences.values())
    sentence += f" (then the error is {best.left:.1g} of the motion, not {error:.1g})"
    if fact:
        return sentence, None
    if len(rivals) > 1 and rivals[1].digits == best.digits:
        # The explanations are equally good.
        return None, None
    sentence = f"looks like this: {sentence}"
    return (sentence, None) if best.left < CLEAR * error and few else (None, sentence)


def _relative_rounding(sample: Sample) -> float:
    """Return the error an explanation may leave, relative to the motion: rounding of file or simulation."""
    errors = [_written_error(sample, n) for n in sample.names]
    return max(EXACT, 2.0 * max(errors, default=0.0))


def _written_error(sample: Sample, name: str) -> float:
    """Return the rounding error of the written numbers of a column, relative to its motion."""
    return float(sample.rounding.get(name, 0.0) / max(np.abs(sample.columns[name]).max(), 1e-3))


def _fitted(sample: Sample) -> Iterator[Explanation]:
    """Yield parameters of the mechanism that fit the columns, each on its own."""
    rounding = max((_written_error(sample, n) for n in sample.names), default=0.0)
    for fit in fit_hypotheses(sample.problem, sample.columns, sample.names, rounding):
        given = {name: sample.columns[name][fit.rows] for name in sample.names}
        left = _relative_error(given, fit.columns, sample.names)
        yield Explanation(left, fit.sentence, fit.digits)


def _thinned(sample: Sample, rows: int) -> Sample:
    """Return about this many rows, evenly spaced."""
    every = max(1, len(sample.times) // rows)
    return Sample(sample.problem, {n: c[::every] for n, c in sample.columns.items()})


def _mistakes(sample: Sample) -> Iterator[tuple[Sample, str]]:
    """Yield samples with one possible mistake corrected, and a sentence on the mistake."""
    problem, columns = sample.problem, sample.columns
    number = {name: i + 1 for i, name in enumerate(problem.columns)}
    for a, b in combinations([name for name in problem.columns[1:] if name in columns], 2):
        if a in sample.names or b in sample.names:
            changed = {**columns, a: columns[b], b: columns[a]}
            words = f"columns {number[a]} and {number[b]} ({a} and {b}) look exchanged"
            yield Sample(problem, changed), words
    for name in sample.names:
        if name in number:
            changed = {**columns, name: -columns[name]}
            yield Sample(problem, changed), f"column {number[name]} ({name}) has the wrong sign"
    for which, words in (
        (sample.names, "lengths look like millimetres; write metres"),
        (sample.places, "coordinates look like millimetres, velocities do not; write metres"),
    ):
        scaled = {name: columns[name] / 1000.0 for name in which}
        yield Sample(problem, {**columns, **scaled}), words
    for name in sample.names:
        if name in number and [name] not in (sample.names, sample.places):
            changed = {**columns, name: columns[name] / 1000.0}
            words = f"column {number[name]} ({name}) alone looks like millimetres; write metres"
            yield Sample(problem, changed), words


def _relatives(sample: Sample) -> Iterator[tuple[Sample, str, int]]:
    """Yield the same columns as those of other options; a sentence; digits of a whole number of parts, else 0.

    Another mass may have the same effect as another number of parts.
    """
    problem, columns = sample.problem, sample.columns
    whole = {o.name for o in problems.options(problem.id) if o.whole} if sample.branch else set()
    if sample.branch is not None:
        for relative in sample.branch.relatives(columns):
            options = {**problem.options, **relative}
            if options == problem.options:
                continue
            other = problems.get(problem.id, **options)
            changes = {k: v for k, v in options.items() if v != problem.options[k]}
            words = ", ".join(f"{k} = {v:g}" for k, v in changes.items())
            flags = " ".join(f"--{k} {v:g}" for k, v in changes.items())
            yield (
                Sample(other, columns),
                f"these are data of {words}; judge them with {flags}, or run {_options(problem)}",
                max((count_digits(f"{v:g}") for k, v in changes.items() if k in whole), default=0),
            )


def _angle_mistakes(sample: Sample) -> Iterator[str]:
    """Yield columns of angles with another unit, sign or place; they are not among those of the observed point."""
    number = {name: i + 1 for i, name in enumerate(sample.problem.columns)}
    exchanged: set[str] = set()
    for name in ("angle", "rate"):
        if name not in sample.columns or name not in sample.exact:
            continue
        exact: Columns = {name: sample.exact[name]}
        given = sample.columns[name]
        error = _relative_error({name: given}, exact, [name])
        for factor, words in (
            (np.pi / 180.0, "looks like degrees; write radians"),
            (-1.0, "looks as if it had the wrong sign"),
            (-np.pi / 180.0, "looks like degrees with the wrong sign; write radians"),
        ):
            left = _relative_error({name: factor * given}, exact, [name])
            if error > NOTEWORTHY and left < BETTER * error and left < FITS:
                yield f"column {number[name]} ({name}) {words}"
        # Exchanges with columns of the observed point are found with those.
        for other in (
            n for n in number if n in sample.columns and n not in ("t", name, *sample.names)
        ):
            left = _relative_error({name: sample.columns[other]}, exact, [name])
            if error > NOTEWORTHY and left < BETTER * error and left < FITS:
                a, b = sorted((name, other), key=lambda n: number[n])
                exchanged.add(f"columns {number[a]} and {number[b]} ({a} and {b}) look exchanged")
    yield from sorted(exchanged)


def _misfit(sample: Sample) -> float:
    """Return the error of the columns relative to their motion that nine rows out of ten do not exceed."""
    if not len(sample.times):
        return np.inf
    if not sample.names:
        return 0.0
    return _relative_error(sample.columns, sample.exact, sample.names)


def _relative_error(columns: Columns, exact: Columns, names: list[str]) -> float:
    """Return the error of columns relative to the exact motion that nine rows out of ten do not exceed."""
    rows = np.max(
        [np.abs(columns[n] - exact[n]) / max(np.abs(exact[n]).max(), 1e-3) for n in names], axis=0
    )
    # Rows with nan or infinite values count as the worst.
    return float(np.quantile(np.nan_to_num(rows, nan=1e300, posinf=1e300), MOST, method="higher"))


def _options(problem: Problem) -> str:
    return " ".join(f"{k} = {v:g}" for k, v in problem.options.items())


# Another branch.


@dataclass(frozen=True)
class Departure:
    """When [s] and how a motion left its branch.

    sure: False if the columns deviate from the branch gradually from the start on, as with other masses.
    """

    time: float
    sentence: str
    sure: bool = True


def _find_branch(sample: Sample) -> Departure | None:
    """Return when and how the motion left its branch or path; None if it did not, or if this is unknown."""
    branch, times = sample.branch, sample.times
    if branch is None:
        return None
    distance = branch.distance(sample.columns)
    interval = _first_interval(distance > OFF_PATH, np.ones(len(times), dtype=bool))
    if interval is not None:
        before, first, back = interval
        how = f"off it by {distance[first]:.2g} m, up to {distance[first:].max():.2g} m later"
        sentence = f"left the {branch.path} at t = {times[first]:.4g} s: {how}"
        if before is None:
            sentence = f"is not on the {branch.path} from the first row on: {how}"
        return Departure(float(times[first]), sentence + _return(times, back))
    off, usable = _off_energy(sample)
    interval = _first_interval(off, usable)
    if interval is None:
        return None
    before, first, back = interval
    # An energy column that is wrong by itself does not move the point.
    path = sample.problem.limits.path or OFF_PATH
    if not (sample.place_error[first:] > path).any():
        return None
    begin = times[before] if before is not None else times[0]
    singular = branch.singular(float(times[-1]))
    singular = singular[(singular >= begin) & (singular <= times[first])]
    if len(singular):
        left = float(singular[0])
        where = f"at the {branch.position} at t = {left:.4g} s"
    else:
        left = float(times[first])
        where = (
            f"at t = {left:.4g} s"
            if before is None
            else f"between t = {begin:.4g} and {left:.4g} s"
        )
    worst = max(sample.names, key=lambda n: sample.error[n][first])
    names = " and ".join(n for n in (", ".join(sample.names[:-1]), sample.names[-1]) if n)
    sentence = (
        f"left the {branch.name} {where}: from t = {times[first]:.4g} s on, {names} are not those of "
        f"that branch with the energy given ({worst} off by {sample.error[worst][first]:.2g} "
        f"{unit_of(worst)} there)" + _return(times, back)
    )
    return Departure(left, sentence, _is_sudden(sample, left))


def _is_sudden(sample: Sample, left: float) -> bool:
    """Return whether the recomputed energy agrees with the energy column up to the time of departure [s].

    A motion with other masses or dimensions deviates gradually, also where no branches meet.
    """
    energy = sample.recomputed
    assert energy is not None
    before = (sample.times <= left) & ~np.isnan(energy)
    given = sample.columns["energy"] - sample.columns["energy"][0]
    gap = np.abs(energy - given)[before]
    return bool(gap.max(initial=0.0) < SUDDEN * _allowed_energy(sample))


def _allowed_energy(sample: Sample) -> float:
    """Return the difference of energy column and recomputed energy that does not indicate another branch [J]."""
    assert sample.branch is not None
    return max(OFF_ENERGY * sample.branch.scale, sample.problem.limits.energy_drift or 0.0)


def _off_energy(sample: Sample) -> tuple[Flags, Flags]:
    """Return rows whose recomputed energy differs from the energy column, and rows where it can be computed."""
    branch, times, energy = sample.branch, sample.times, sample.recomputed
    nothing = np.zeros(len(times), dtype=bool)
    if branch is None or energy is None or sample.drift is None:
        return nothing, nothing
    given = sample.columns["energy"] - sample.columns["energy"][0]
    allowed = _allowed_energy(sample)
    usable = ~np.isnan(energy)
    # A wrong energy column next to a motion that conserves its energy does not indicate another branch.
    off = usable & (np.abs(energy - given) > allowed) & (np.abs(energy) > allowed)
    # On the branch, gaps without a recomputed energy are short; longer gaps indicate another branch.
    last = np.maximum.accumulate(np.where(usable, np.arange(len(times)), 0))
    silent = ~usable & (times - times[last] > branch.silence)
    return off | silent, usable | silent


def _first_interval(off: Flags, usable: Flags) -> tuple[int | None, int, int | None] | None:
    """Return the row before the first lasting interval of deviating rows, its first row, and the row of return.

    Rows without information are skipped; a return counts only if it lasts to the end.
    """
    rows = np.flatnonzero(usable)
    bad = off[rows]
    if len(bad) < LASTING:
        return None
    starts = np.flatnonzero(
        np.all([bad[i : len(bad) - LASTING + 1 + i] for i in range(LASTING)], 0)
    )
    if not len(starts):
        return None
    start = int(starts[0])
    last = int(np.flatnonzero(bad)[-1])
    back = int(rows[last + 1]) if len(bad) - last > RETURNED else None
    return (int(rows[start - 1]) if start else None), int(rows[start]), back


def _return(times: Floats, back: int | None) -> str:
    return "" if back is None else f"; back on it from t = {times[back]:.4g} s"


def _energy_remark(sample: Sample) -> Iterator[str]:
    """Yield a remark if, on the right branch, the energy column and the recomputed energy differ."""
    if sample.recomputed is None or sample.branch is None or sample.drift is None:
        return
    given = sample.columns["energy"] - sample.columns["energy"][0]
    gap = np.abs(sample.recomputed - given)
    gap[np.isnan(gap)] = 0.0
    worst = int(np.argmax(gap))
    if gap[worst] > _allowed_energy(sample):
        yield (
            f"at t = {sample.times[worst]:.4g} s the energy column says {given[worst]:.3g} J, the "
            f"observed point {sample.recomputed[worst]:.3g} J: one of them is wrong, or the loops are "
            "not closed"
        )


# Rows and phase.


def _spoilt_rows(sample: Sample) -> Iterator[str]:
    """Yield isolated rows that deviate while their neighbours do not."""
    # A difference of two written numbers is rounded twice.
    floors = {n: max(SPOILT, 2.0 * sample.rounding.get(n, 0.0)) for n in sample.names}
    errors = dict(sample.error)
    elsewhere = _misfit(sample) > NOTEWORTHY

    def bend(name: str) -> Floats:
        """What a row has to stand out of: the bends of its motion, of all of it where the whole file is off."""
        out = np.zeros(len(sample.times))
        if name in sample.exact and len(out) > 2:
            out[1:-1] = np.abs(np.diff(sample.exact[name], 2))
        return np.full(len(out), ALONE * out.max()) if elsewhere else CURVED * out

    if sample.drift is not None:
        floors["energy"] = max(
            sample.problem.limits.energy_drift or SPOILT, 2.0 * sample.rounding.get("energy", 0.0)
        )
        errors["energy"] = sample.drift
    found = []
    for name, floor in floors.items():
        error = errors[name]
        if len(error) < 5:
            continue
        highest = np.zeros(len(error))
        for shift in (-2, -1, 1, 2):
            shifted = np.roll(error, shift)
            # Beyond the ends there is no neighbour.
            shifted[: max(shift, 0)] = 0.0
            shifted[len(error) + min(shift, 0) :] = 0.0
            highest = np.maximum(highest, shifted)
        alone = (error > floor) & (error > ALONE * highest) & (error > bend(name))
        found += [(float(error[i]), name, int(i)) for i in np.flatnonzero(alone)]
    found.sort(reverse=True)
    for size, name, i in found[:3]:
        around = "before it" if i == len(sample.times) - 1 else "around it"
        yield (
            f"{name} in row {i + 1} (t = {sample.times[i]:.6g} s) alone is off by {size:.2g} "
            f"{unit_of(name)}, the rows {around} are not: is it corrupted?"
        )
    if len(found) > 3:
        yield f"{len(found) - 3} more rows are off alone"


def _phase(sample: Sample, sure: bool) -> Iterator[str]:
    """Yield delay or lead at the end, and whether it is constant; sure: the motion is on its branch."""
    error = _misfit(sample)
    if error < NOTEWORTHY:
        return
    branch = sample.branch
    on_branch = branch is not None and sure
    stays = f"stays on the {branch.name}" if branch is not None and sure else "has the right form"
    lag, left_over, before = _lag(sample)
    # Without a branch, nothing but the fit shows that it is the same motion.
    fits = left_over < (2.0 * BETTER * before if on_branch else min(FITS, BETTER * before))
    if fits and lag != 0.0:
        word = "late" if lag > 0 else "early"
        shifted = Sample(sample.problem, {**sample.columns, "t": sample.times - lag})
        if _misfit(shifted) < BETTER * error:
            yield (
                f"{stays}, but is {abs(lag):.3g} s {word} throughout: are the rows shifted, is the "
                "first one the start?"
            )
        else:
            yield f"{stays}, but is {abs(lag):.3g} s {word} at the end: the phase drifts"
    elif (
        branch is not None
        and sure
        and (sample.place_error > (sample.problem.limits.path or 0.0)).any()
    ):
        worst = int(np.argmax(sample.place_error))
        yield (
            f"as far as the columns show, {stays}, elsewhere on it than the exact motion "
            f"({sample.place_error[worst]:.2g} m at t = {sample.times[worst]:.4g} s)"
        )


def _lag(sample: Sample) -> tuple[float, float, float]:
    """Return the best-fitting delay of the last rows [s], the error it leaves, and the error without it."""
    rows = slice(max(0, len(sample.times) - max(11, len(sample.times) // 20)), None)
    end = Sample(sample.problem, {n: c[rows] for n, c in sample.columns.items()})
    every = max(1, len(end.times) // 25)
    end = replace(end, columns={n: c[::every] for n, c in end.columns.items()})
    scale = {n: max(np.abs(sample.exact[n]).max(), 1e-3) for n in sample.names}

    def misfits(lags: Floats) -> Floats:
        exact = sample.problem.reference_columns((end.times[:, None] - lags).ravel())
        return np.max(
            [
                np.abs(end.columns[n][:, None] - exact[n].reshape(-1, len(lags))).max(axis=0)
                / scale[n]
                for n in sample.names
            ],
            axis=0,
        )

    # The lag is at most half of the duration, for short problems.
    longest = min(LONGEST_LAG, 0.5 * sample.problem.duration)
    lags, width = np.linspace(-longest, longest, 951), longest / 475
    best = 0.0
    # Each pass refines the search around the best value by a factor of a hundred.
    for _ in range(4):
        best = float(lags[np.argmin(misfits(lags))])
        lags, width = best + width * np.linspace(-1.0, 1.0, 201), width / 100.0
    # Rows shifted as a whole; for a periodic motion the delays above may differ from them by a period.
    spacing = float(np.median(np.diff(sample.times))) if len(sample.times) > 1 else 0.0
    whole = spacing * np.arange(-MOST_SHIFTED, MOST_SHIFTED + 1)
    whole = whole[np.abs(whole) <= sample.problem.duration]
    none, left, *shifted = misfits(np.array([0.0, best, *whole]))
    if min(shifted) <= RIVAL * left:
        best, left = float(whole[np.argmin(shifted)]), min(shifted)
    return best, float(left), float(none)
