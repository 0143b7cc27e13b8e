"""Why columns differ from the exact motion, as far as they tell it.

Causes are hypotheses, and every one is compared with the columns: columns exchanged, with a wrong sign or in
millimetres; the data of another number of windows, speed or section; then numbers that are fitted to the columns
(hypotheses.py). One that explains them to their digits is the cause. Else: another branch; rows that are spoilt; a
phase that drifts or is shifted while the motion is still on its branch; and what the columns only look like.

Branch: while constraints hold, any motion on the right branch, however inaccurate in time, has the
energy that its observed point tells, so the energy column and the recomputed one agree. Where both a
disagreement lasts and the point is elsewhere, the motion is on another branch.
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
from .hypotheses import MOST_ROWS, fit_hypotheses

# of its scale: an error that gets an explanation even if no limit is missed
NOTEWORTHY = 1e-3
# an explanation must leave less than this part of the error, and be a fit by itself
BETTER, FITS = 0.1, 0.02
# of the motion: what a good simulation with the right numbers leaves; another one that leaves less than so many
# times as much as the best explains the columns as well
EXACT, RIVAL = 1e-6, 3.0
# of the error: what leaves less than this explains all but the accuracy of the simulation
CLEAR = 1e-3
# a person writes a number with no more digits; one that only imitates another has all of them
FEW_DIGITS = 4
# rows that explanations are tried on, and the part of them that must fit: some may be spoilt
TRIED_ROWS, MOST = 2000, 0.9
# [m]; constraints held to 1 mm keep the point ten times nearer to its path
OFF_PATH = 0.01
# of the largest kinetic energy; files of three digits and velocities that violate the constraints by
# half a percent stay below, one of 40 windows on another branch takes two percent
OFF_ENERGY = 0.01
# rows in turn that make a branch; fewer are spoilt rows. Elsewhere rows may agree by chance for a while
LASTING, RETURNED = 3, 30
# of all rows: as many equal ones at the end are a run that stands still
FROZEN = 0.02
# a smooth error does not rise and fall tenfold within one row; [m] or [m/s] below no limit counts
ALONE, SPOILT = 10.0, 1e-5
# [s]; later or earlier than this cannot be told from a turn more or less
LONGEST_LAG = 0.95


@dataclass(frozen=True)
class Sample:
    """Columns beside the exact motion of their problem; names: columns of the observed point.

    rounding: by column, what writing it down may have changed.
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
        """The exact motion by column name."""
        return self.problem.reference_columns(self.times)

    @cached_property
    def names(self) -> list[str]:
        """Columns of the observed point, to be compared with the exact motion."""
        return [n for n in self.exact if n in self.columns and n not in ("angle", "rate")]

    @cached_property
    def error(self) -> dict[str, Floats]:
        """Distance from the exact motion, by column."""
        return {name: np.abs(self.columns[name] - self.exact[name]) for name in self.names}

    @cached_property
    def places(self) -> list[str]:
        """Columns of its coordinates."""
        return [name for name in self.names if not name.startswith("v")]

    @cached_property
    def branch(self) -> RightBranch | None:
        """The right branch, if the columns can tell it."""
        branch = self.problem.branch
        return branch if branch is not None and self.has(branch.needs) else None

    def has(self, names: Iterable[str]) -> bool:
        """Whether all these columns are there."""
        return all(name in self.columns for name in names)

    @cached_property
    def drift(self) -> Floats | None:
        """Distance of the energy column from its first value [J], if there is one."""
        energy = self.columns.get("energy")
        return None if energy is None else np.abs(energy - energy[:1])

    @cached_property
    def recomputed(self) -> Floats | None:
        """Energy told by the observed point alone [J], nan where it is not; None if never."""
        branch = self.branch
        if branch is None or branch.energy is None or not self.has(branch.energy_needs):
            return None
        return branch.energy(self.columns)

    @cached_property
    def place_error(self) -> Floats:
        """Largest error of a coordinate, by row [m]."""
        if not self.places:
            return np.zeros(len(self.times))
        return np.asarray(np.max([self.error[n] for n in self.places], axis=0), dtype=np.float64)


@dataclass(frozen=True)
class Causes:
    """What was found: the branch left, and sentences."""

    left_at: float | None = None
    branch: str | None = None
    findings: tuple[str, ...] = ()


def find_causes(sample: Sample, passed: bool, fit: bool = True) -> Causes:
    """Explain what can be explained; a good sample gets no sentence. fit: simulate with other numbers, too."""
    if not len(sample.times):
        return Causes(findings=("there are no rows",))
    remarks = list(_remarks(sample))
    frozen, moving = _frozen(sample)
    if frozen is not None and (moving or sample.branch is None):
        return Causes(findings=(frozen, *remarks))
    error = _misfit(sample)
    if passed and error < NOTEWORTHY:
        return Causes(findings=tuple(remarks))
    mistake, likeness = _explain(sample, error, fit)
    if mistake is not None:
        return Causes(findings=(mistake, *remarks))
    spoilt = list(_spoilt_rows(sample))
    left = _find_branch(sample)
    if left is not None:
        return Causes(left[0], left[1], (left[1], *spoilt, *remarks))
    if frozen is not None:
        return Causes(findings=(frozen, *remarks))
    disagreement = list(_energy_remark(sample))
    phase = list(_phase(sample, sure=not disagreement))
    looks = [] if likeness is None else [likeness]
    return Causes(findings=(*spoilt, *looks, *phase, *disagreement, *remarks))


def _remarks(sample: Sample) -> Iterator[str]:
    """What is against the rules of a file but changes no number."""
    energy = sample.columns.get("energy")
    first = 0.0 if energy is None else float(energy[0])
    if first != 0.0:
        yield (
            f"the energy starts with {first:.6g} J; the source asks for 0 at the start "
            "(the drift is counted from the first value)"
        )
    for level in ("position", "velocity", "acceleration"):
        if level in sample.columns and (sample.columns[level] < 0.0).any():
            yield f"the norm of the {level} violation is negative in places; norms are not"


def _frozen(sample: Sample) -> tuple[str | None, bool]:
    """Whether all rows, or the last of many, are the same while the exact motion goes on; and whether wrongly so.

    At rest a point may be on another branch; one that has a velocity cannot stay where it is.
    """
    if not sample.names:
        return None, False
    rows = np.column_stack([sample.columns[n] for n in sample.names])
    if np.isnan(rows[-1]).any():
        # NaN equals nothing, also not itself: such rows have a message of their own
        return None, False
    still = (rows == rows[-1]).all(axis=1)
    # the first row of those that are all like the last
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


# mistakes of writing: exchanged, mirrored, scaled, another problem


@dataclass(frozen=True)
class Explanation:
    """What may be wrong, in a sentence, and what it leaves of the error, relative to the motion.

    digits: of a number that was fitted; 0 if none was.
    """

    left: float
    sentence: str
    digits: int = 0


def _explain(sample: Sample, error: float, fit: bool) -> tuple[str | None, str | None]:
    """What explains the columns, to their digits or nearly so; else what they only look like."""
    thin = _thinned(sample, TRIED_ROWS)
    found = [Explanation(_misfit(trial), sentence) for trial, sentence in _mistakes(thin)]
    rounding = _relative_rounding(sample)
    if fit and error > NOTEWORTHY and not any(x.left < rounding for x in found):
        # it simulates, and so takes longer
        for one in _fitted(sample):
            found.append(one)
            if one.left < rounding and one.digits <= FEW_DIGITS:
                break
    good = [x for x in found if x.left < FITS and x.left < BETTER * error]
    if not good:
        return None, None
    # of those that explain it equally well the simplest: no fitted number, or the one with the fewest digits
    least = max(rounding, RIVAL * min(x.left for x in good))
    rivals = sorted((x for x in good if x.left < least), key=lambda x: (x.digits, x.left))
    best = rivals[0]
    told = f"{best.sentence} (then the error is {best.left:.1g} of the motion, not {error:.1g})"
    few = best.digits <= FEW_DIGITS
    if best.left < rounding and few:
        return told, None
    if len(rivals) > 1 and rivals[1].digits == best.digits:
        # one is as good as the other
        return None, None
    told = f"looks like this: {told}"
    return (told, None) if best.left < CLEAR * error and few else (None, told)


def _relative_rounding(sample: Sample) -> float:
    """What an explanation may leave, relative to the motion: the rounding of the file, or of a good simulation."""
    told = [
        sample.rounding.get(n, 0.0) / max(np.abs(sample.columns[n]).max(), 1e-3)
        for n in sample.names
    ]
    return max(EXACT, 2.0 * max(told, default=0.0))


def _fitted(sample: Sample) -> Iterator[Explanation]:
    """Numbers of the mechanism that fit the columns, each by itself."""
    thin = _thinned(sample, MOST_ROWS)
    for fit in fit_hypotheses(thin.problem, thin.columns, thin.names):
        left = _relative_error(thin.columns, fit.columns, thin.names)
        yield Explanation(left, fit.sentence(left), fit.digits(left))


def _thinned(sample: Sample, rows: int) -> Sample:
    """About so many rows of it, evenly spread."""
    every = max(1, len(sample.times) // rows)
    return Sample(sample.problem, {n: c[::every] for n, c in sample.columns.items()})


def _mistakes(sample: Sample) -> Iterator[tuple[Sample, str]]:
    """Samples as they would be without a mistake, and what it would be."""
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
    scaled = {name: columns[name] / 1000.0 for name in sample.names}
    yield Sample(problem, {**columns, **scaled}), "lengths look like millimetres; write metres"
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
            )


def _misfit(sample: Sample) -> float:
    """Error of the columns relative to their motion, kept by nine rows out of ten."""
    if not len(sample.times):
        return np.inf
    if not sample.names:
        return 0.0
    return _relative_error(sample.columns, sample.exact, sample.names)


def _relative_error(columns: Columns, exact: Columns, names: list[str]) -> float:
    """Distance of columns from others, relative to the motion of those, kept by nine rows out of ten."""
    rows = np.max(
        [np.abs(columns[n] - exact[n]) / max(np.abs(exact[n]).max(), 1e-3) for n in names], axis=0
    )
    # nan or infinite rows are the worst
    return float(np.quantile(np.nan_to_num(rows, nan=1e300, posinf=1e300), MOST, method="higher"))


def _options(problem: Problem) -> str:
    return " ".join(f"{k} = {v:g}" for k, v in problem.options.items())


# another branch


def _find_branch(sample: Sample) -> tuple[float, str] | None:
    """When and how the motion left its branch or path; None if it did not, or none can tell."""
    branch, times = sample.branch, sample.times
    if branch is None:
        return None
    distance = branch.distance(sample.columns)
    stretch = _first_stretch(distance > OFF_PATH, np.ones(len(times), dtype=bool))
    if stretch is not None:
        before, first, back = stretch
        sentence = (
            f"left the {branch.path} at t = {times[first]:.4g} s: off it by "
            f"{distance[first]:.2g} m, up to {distance[first:].max():.2g} m later"
        )
        return float(times[first]), sentence + _return(times, back)
    off, telling = _off_energy(sample)
    stretch = _first_stretch(off, telling)
    if stretch is None:
        return None
    before, first, back = stretch
    # an energy column that is wrong by itself does not move the point
    path = sample.problem.limits.path or OFF_PATH
    if not (sample.place_error[first:] > path).any():
        return None
    begin = times[before] if before is not None else times[0]
    singular = branch.singular(float(times[-1]))
    singular = singular[(singular >= begin) & (singular <= times[first])]
    if len(singular):
        left = float(singular[0])
        where = f"at the {branch.position} of t = {left:.4g} s"
    else:
        left = float(times[first])
        where = (
            f"at t = {left:.4g} s"
            if before is None
            else f"between t = {begin:.4g} and {left:.4g} s"
        )
    worst = max(sample.names, key=lambda n: sample.error[n][first])
    names = " and ".join(n for n in (", ".join(sample.names[:-1]), sample.names[-1]) if n)
    return left, (
        f"left the {branch.name} {where}: from t = {times[first]:.4g} s on, {names} are not those of "
        f"that branch with the energy given ({worst} off by {sample.error[worst][first]:.2g} "
        f"{unit_of(worst)} there)" + _return(times, back)
    )


def _off_energy(sample: Sample) -> tuple[Flags, Flags]:
    """Rows whose energy, recomputed, is not that of the column; and rows that tell it."""
    branch, times, energy = sample.branch, sample.times, sample.recomputed
    nothing = np.zeros(len(times), dtype=bool)
    if branch is None or energy is None or sample.drift is None:
        return nothing, nothing
    given = sample.columns["energy"] - sample.columns["energy"][0]
    allowed = max(OFF_ENERGY * branch.scale, sample.problem.limits.energy_drift or 0.0)
    telling = ~np.isnan(energy)
    # a wrong energy column beside a motion that keeps its energy is no other branch
    off = telling & (np.abs(energy - given) > allowed) & (np.abs(energy) > allowed)
    # rows that tell nothing come and go on the branch; longer than this they do not
    last = np.maximum.accumulate(np.where(telling, np.arange(len(times)), 0))
    silent = ~telling & (times - times[last] > branch.silence)
    return off | silent, telling | silent


def _first_stretch(off: Flags, telling: Flags) -> tuple[int | None, int, int | None] | None:
    """First lasting stretch of rows that are off: row before it, its first row, and row of return.

    Rows that tell nothing are passed over; a return must last to the end.
    """
    rows = np.flatnonzero(telling)
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
    """The energy column and the observed point tell two energies, on the right branch."""
    if sample.recomputed is None or sample.branch is None or sample.drift is None:
        return
    given = sample.columns["energy"] - sample.columns["energy"][0]
    gap = np.abs(sample.recomputed - given)
    gap[np.isnan(gap)] = 0.0
    worst = int(np.argmax(gap))
    allowed = max(OFF_ENERGY * sample.branch.scale, sample.problem.limits.energy_drift or 0.0)
    if gap[worst] > allowed:
        yield (
            f"at t = {sample.times[worst]:.4g} s the energy column says {given[worst]:.3g} J, the "
            f"observed point {sample.recomputed[worst]:.3g} J: one of them is wrong, or the loops are "
            "not closed"
        )


# rows and phase


def _spoilt_rows(sample: Sample) -> Iterator[str]:
    """Single rows that are off while those around them are not."""
    floors = dict.fromkeys(sample.names, SPOILT)
    errors = dict(sample.error)
    if sample.drift is not None:
        floors["energy"] = sample.problem.limits.energy_drift or SPOILT
        errors["energy"] = sample.drift
    found = []
    for name, floor in floors.items():
        error = errors[name]
        if len(error) < 5:
            continue
        highest = np.zeros(len(error))
        for shift in (-2, -1, 1, 2):
            beside = np.roll(error, shift)
            # beyond the ends there is no neighbour
            beside[: max(shift, 0)] = 0.0
            beside[len(error) + min(shift, 0) :] = 0.0
            highest = np.maximum(highest, beside)
        alone = (error > floor) & (error > ALONE * highest)
        found += [(float(error[i]), name, int(i)) for i in np.flatnonzero(alone)]
    found.sort(reverse=True)
    for size, name, i in found[:3]:
        around = "before it" if i == len(sample.times) - 1 else "around it"
        yield (
            f"{name} in row {i + 1} (t = {sample.times[i]:.6g} s) alone is off by {size:.2g} "
            f"{unit_of(name)}, the rows {around} are not: is it spoilt?"
        )
    if len(found) > 3:
        yield f"{len(found) - 3} more rows are off alone"


def _phase(sample: Sample, sure: bool) -> Iterator[str]:
    """Early or late: by how much at the end, and whether throughout; sure: on its branch."""
    error = _misfit(sample)
    if error < NOTEWORTHY:
        return
    branch = sample.branch
    stays = f"stays on the {branch.name}" if branch is not None and sure else "has the right form"
    lag, left_over, before = _lag(sample)
    if left_over < 2.0 * BETTER * before and lag != 0.0:
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
            f"as far as the columns tell, {stays}, elsewhere on it than the exact motion "
            f"({sample.place_error[worst]:.2g} m at t = {sample.times[worst]:.4g} s)"
        )


def _lag(sample: Sample) -> tuple[float, float, float]:
    """Delay of the last rows that fits best [s], the misfit it leaves, and the misfit without."""
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

    # a short problem has no longer lag than half of itself
    longest = min(LONGEST_LAG, 0.5 * sample.problem.duration)
    lags, width = np.linspace(-longest, longest, 951), longest / 475
    best = 0.0
    # each pass looks a hundred times finer around the best
    for _ in range(4):
        best = float(lags[np.argmin(misfits(lags))])
        lags, width = best + width * np.linspace(-1.0, 1.0, 201), width / 100.0
    none, left = misfits(np.array([0.0, best]))
    return best, float(left), float(none)
