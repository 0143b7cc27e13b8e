"""The series method: Taylor series of the motion with one factorisation per step, and its branch certificate.

Equations and sources are in kernels/series_step.py and docs/methods/series.md. The order is chosen in each step.
The motion is analytic across a singular configuration, so a step may pass over it without detecting it.

The certificate decides whether a run that passed the neighbourhood of a singular configuration is still on its
original branch. Near a singular configuration the branches are so close together that rounding can move the
projected end of a step from one branch to another: for branches with a common tangent the distance is t^2 or t^4
at a time t from it. The distance is measured as 2 sigma / u.B(w, w), where sigma is the smallest singular value of
J and u, w are its singular vectors. A step end inside the neighbourhood therefore proves nothing. But the motion
is analytic, so the series of a step that starts at a certified configuration predicts later ones. If the
truncation error of that series is much smaller than the distance between the branches at the later step end, then

    the run agrees with the prediction within a fraction of    this step end is certified, too
    the distance
    it does not agree                                          the run left its branch: the prediction replaces it
    no series reaches beyond the neighbourhood or to the       another step end before it is tried, twice; then
    end of the run                                             the branch is undecidable and the run ends before it
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..arrays import Floats
from ..kernels import return_codes, specialise
from ..kernels import series_step as kernels
from ..kernels.applied_forces import acts, is_damped, make_loads
from ..kernels.compiler import COMPILES
from ..kernels.layout import StepPolynomials, give_spare, make_workspace, take_spare
from ..kernels.series_step import LOSS, MOVED, PIVOT, PIVOT_RATIO, RESTORED
from ..kernels.solve import relative_pivot
from ..kernels.step_control import (
    BUFFER_BYTES,
    FIRST_STEPS,
    HIGHEST_ORDER,
    LOOSEST,
    OUTPUT_CORRECTIONS,
    buffer_steps,
)
from ..kinematics.constraints import Constraints
from ..kinematics.gap_closing import DENSE
from ..model.connected_parts import is_one_part
from ..thresholds import (
    AGREEING_PLACE,
    HIDDEN_RANK,
    KEPT_RANK,
    PERMANENT_PIVOT,
    RANK_TOLERANCE,
    RESOLVED_PIVOT,
    SAME_FACTOR,
    SHARP_PREDICTION,
    SINGULAR_STEP_END,
    UNMEASURED_DISTANCE,
    WEAK_TOGETHER,
)
from . import status
from .extended_precision import ExtendedSteps, MoreDigits, wants_digits
from .method import Run, Start, warm_up
from .outcome import TIMINGS, AccelerationRule, Outcome
from .recorder import sample_projected
from .time_loop import Steps, Stopwatch, run_steps, start_piece

# number of steps before and after a singular neighbourhood that are checked
BEFORE, AFTER = 3, 2
# checkpoints in each step after it: predictions may be sharper between the ends of steps
PLACES = 3
# after this many step ends with indistinguishable branches, the steps only shrink towards a singular configuration
MOST_SHRINKING = 16
# how many other step ends are tried where no series reaches beyond a singular neighbourhood
MOST_RETRIES = 2
# how many series are used as predictors: those of the latest steps that start at certified configurations
GATES = 8
# the kind of the memory that finished runs leave to later ones
SERIES_SPACE = "series"


class Leap(NamedTuple):
    """A jump over a singular neighbourhood with one series: the first step, the time after it [s], and the order.

    order 0: no series reaches beyond the neighbourhood. Then step is the first one after the last certified step
    end, and time is another time at which to end a step. left: the truncation error of the series, relative to the
    mechanism's length.
    """

    step: int
    time: float
    order: int
    left: float


# estimated distance from a configuration to the nearest other branch; arguments: the configuration and the square
# root of the smallest pivot there
Measure = Callable[[Floats, float], float]


class Certificate:
    """Checks the steps of a run, chunk by chunk."""

    def __init__(self) -> None:
        # steps of a singular neighbourhood that the last chunk did not leave, with a few steps before it
        self._before: tuple[StepPolynomials, Floats] | None = None
        # whether the branch is still uncertain there
        self._waits = False
        # whether the series of the first step is resolved: not if it starts too close to a singular configuration
        self.start_resolved = True

    @property
    def is_open(self) -> bool:
        """Whether the last step ended inside a singular neighbourhood."""
        return self._before is not None

    def look(
        self,
        pieces: StepPolynomials,
        seen: Floats,
        measure: Measure = lambda place, root: root,
        *,
        ended: bool = False,
    ) -> Leap | None:
        """Return the first singular neighbourhood after which the run has left its branch, or may have.

        seen: one row for each step end; measure: distance to other branches; ended: no more steps follow. Steps
        before the first of the pieces have negative numbers.
        """
        if self._before is None and seen[:, PIVOT_RATIO].min(initial=1.0) >= SINGULAR_STEP_END:
            return None
        # the buffer may contain more steps
        pieces = pieces.some(0, len(seen))
        earlier = 0
        if self._before is not None:
            earlier = len(self._before[1])
            pieces, seen = _join(self._before[0], pieces), np.concatenate([self._before[1], seen])
        self._before = None
        for first, last in find_singular_intervals(seen[:, PIVOT_RATIO]):
            blind = not self.start_resolved and pieces.starts[0] == 0.0
            leap, certain = _judge(
                pieces, seen, (first, last), measure, since=int(blind), ended=ended
            )
            if leap is not None:
                return leap._replace(step=leap.step - earlier)
            if last == len(seen):
                self._waits = certain < last - 1
                since = max(0, (first if self._waits else last) - BEFORE)
                self._before = _copy(pieces.some(since, last)), seen[since:].copy()
        return None

    def wait_before(self, steps: int) -> int:
        """Return how many of the steps just checked to keep, so that an open neighbourhood is checked as a whole.

        All are kept if the rest would leave no room; then the steps checked so far are stored.
        """
        since = steps - len(self._before[1]) if self._before is not None else 0
        if since <= 0 or not self._waits:
            return steps
        self._before = None
        return since


def find_singular_intervals(drops: Floats) -> list[tuple[int, int]]:
    """Return (first, last + 1) of the step ends in each singular neighbourhood; drops: their pivot ratios."""
    inside = np.concatenate([[False], drops < SINGULAR_STEP_END, [False]])
    edges = np.flatnonzero(np.diff(inside.astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def follow(coefficients: Floats, known: int, s: float) -> tuple[Floats, float, int]:
    """Return the configuration s after the start of a step, the truncation error and the best number of terms."""
    sizes = np.abs(coefficients[: known + 1]).max(axis=1, initial=0.0) * s ** np.arange(known + 1.0)
    left = np.maximum(sizes[3:], sizes[2:-1])
    order = 3 + int(np.argmin(left))
    place = np.polynomial.polynomial.polyval(s, coefficients[: order + 1])
    return np.asarray(place), float(left[order - 3]), order


def _judge(
    pieces: StepPolynomials,
    seen: Floats,
    interval: tuple[int, int],
    measure: Measure,
    *,
    since: int,
    ended: bool,
) -> tuple[Leap | None, int]:
    """Return a jump if the run left its branch, and the last certified step end.

    since: the first step whose series may predict others.

    There is no jump if the run is certified after the neighbourhood, or has not left it yet but is on its way.

    A neighbourhood may contain several tangential contacts, where the motion reverses in it. So certainty passes
    from one step end to the next: only a step that starts at a certified configuration predicts others.
    """
    first, last = interval
    pivots = seen[:, PIVOT]
    gates = [
        n for n in range(max(since, first - BEFORE), first + 1) if _predicts(pieces, pivots, n)
    ]
    certain = first - 1
    best: Leap | None = None
    for x in range(first, min(last + AFTER, len(seen))):
        if certain == x - 1 >= first and _predicts(pieces, pivots, x):
            gates = [*gates[1 - GATES :], x]
        for share in np.arange(PLACES, 0.0, -1.0) / PLACES:
            # between two step ends the pivot lies between their pivots
            pivot = pivots[x] if share == 1.0 else min(pivots[max(x - 1, 0)], pivots[x])
            if pivot <= RESOLVED_PIVOT:
                continue
            s = share * (pieces.starts[x + 1] - pieces.starts[x])
            place = np.polynomial.polynomial.polyval(
                s, pieces.coefficients[x, : pieces.orders[x] + 1]
            )
            apart = measure(place, float(np.sqrt(pivot)))
            for gate in reversed(gates):
                time = float(pieces.starts[x] + s)
                ahead = time - pieces.starts[gate]
                predicted, left, order = follow(
                    pieces.coefficients[gate], int(pieces.orders[gate]), ahead
                )
                if left > SHARP_PREDICTION * apart:
                    continue
                off = np.abs(place - predicted).max() + seen[x, MOVED]
                if off <= AGREEING_PLACE * apart:
                    certain, best = x, None
                    break
                # the truncation error is lost, so it must not exceed what a step may lose
                if left < (best.left if best is not None else LOOSEST):
                    best = Leap(gate, time, order, left)
            if certain == x:
                break
        if certain >= last:
            break
    is_open = last == len(seen)
    shrinks = (
        last - first > MOST_SHRINKING
        and pivots[last - MOST_SHRINKING : last].max() <= RESOLVED_PIVOT
    )
    if certain >= last - is_open or (best is None and is_open and not (ended or shrinks)):
        return None, certain
    if best is None and ended and pivots[certain + 1 :].max() <= RESOLVED_PIVOT:
        # the run ends where the branches coincide
        return None, certain
    if best is not None:
        return best, certain
    # between the first step of the neighbourhood and the last certified step end, or within the first step if
    # there is none
    until = certain + 1 if certain >= first else certain + 2
    elsewhere = 0.5 * float(pieces.starts[first] + pieces.starts[until])
    return Leap(certain + 1, elsewhere, 0, np.inf), certain


def _predicts(pieces: StepPolynomials, pivots: Floats, n: int) -> bool:
    """Whether a step has a series and starts where the branches are distinguishable."""
    return bool(pieces.orders[n] >= 3 and (n == 0 or pivots[n - 1] > RESOLVED_PIVOT))


def _copy(p: StepPolynomials) -> StepPolynomials:
    return StepPolynomials._make(x.copy() for x in p)


def _join(a: StepPolynomials, b: StepPolynomials) -> StepPolynomials:
    return StepPolynomials(
        np.concatenate([a.starts[:-1], b.starts]),
        np.concatenate([a.orders, b.orders]),
        np.concatenate([a.coefficients, b.coefficients]),
        np.concatenate([a.angle_and_work_series, b.angle_and_work_series]),
        np.concatenate([a.reference_pivots, b.reference_pivots]),
    )


# runs that end within this fraction of their duration did not leave their start
START = 1e-6
# tolerance at which a run is repeated that ended near a singular configuration: its steps use extended precision
# there
EXTENDED = 1e-12
# the smallest reference of a pivot that is not redundant
SMALLEST_REFERENCE = 1.01 * PERMANENT_PIVOT


def _make_room(
    steps: int, rows: int, coordinates: int, equations: int, readings: int
) -> tuple[StepPolynomials, Floats]:
    """Allocate memory for a number of steps and for the values monitored at their ends."""
    # rows beyond the order of a step are never read, so only the needed part of a large array is ever touched
    coefficients = np.empty((steps, rows, coordinates))
    # the system assigns memory when it is first touched: do that now, not in the solve
    if coefficients.nbytes <= BUFFER_BYTES:
        coefficients.fill(0.0)
    pieces = StepPolynomials(
        starts=np.zeros(steps + 1),
        orders=np.zeros(steps, np.int64),
        coefficients=coefficients,
        angle_and_work_series=np.zeros((steps, readings, 2 * rows)),
        reference_pivots=np.zeros((steps, equations)),
    )
    return pieces, np.zeros((steps, kernels.SEEN))


def run(problem: Run, method: str = "") -> Outcome:
    """Simulate with series alone; again in extended precision where doubles end near a singular configuration.

    method: "series" if another method chose it.
    """
    series = Series(problem)
    return repeat_if_needed(problem, series, run_steps(problem, series, method=method), method)


def repeat_if_needed(problem: Run, series: Series, outcome: Outcome, method: str = "") -> Outcome:
    """Repeat a run in extended precision if it ended, or started, close to a singular configuration.

    At the start doubles take an equation whose pivot is below PERMANENT_PIVOT for redundant. If J shows that it is
    not, the run was neither certified nor accurate there: the repeated run replaces it, whatever its end.
    """
    watch, failed = outcome.watch, outcome.status == status.Status.NOT_CONVERGED
    # a run that did not leave its start has no motion to follow
    left = watch is not None and watch.until - problem.begin > START * problem.duration
    suspect = left and COMPILES and (failed or series.lost_redundancy)
    hidden = series.find_hidden_pivots() if suspect else None
    series.release()
    tight = wants_digits(problem.setting)
    if watch is None or not suspect or (hidden is None and (tight or not failed)):
        return outcome
    seconds = 0.0 if tight else warm_up("series", run, problem.model, {}, tight=True)
    finer = problem if tight else replace(problem, setting=EXTENDED)
    again = run_steps(finer, Series(finer, hidden=hidden), method=method)
    if failed and not again.status.success:
        return outcome
    where = (
        f"in double precision the run at tolerance {problem.setting:g} ended at t = {watch.until:.6g} s, near a "
        "singular configuration"
    )
    if not failed:
        where = "the run starts close to a singular configuration, which doubles do not resolve"
    note = f"{where}; it was repeated at {finer.setting:g}, in extended precision there"
    timings = {name: outcome.timings[name] + again.timings[name] for name in TIMINGS}
    timings["compile"] = seconds
    return replace(again, notes=[note, *again.notes], timings=timings)


class Series:
    """Steps of the series method, from a given start or from the start of the run."""

    law: AccelerationRule | None = None
    certified = True
    remedy = "loosen the tolerance"

    def __init__(
        self, problem: Run, start: Start | None = None, hidden: tuple[Floats, float] | None = None
    ) -> None:
        """hidden: see `find_hidden_pivots`."""
        self._problem = problem
        self.tolerance: float | None = problem.setting
        model, nq = problem.model, problem.model.coordinates
        self._ws = take_spare(
            model.structure.spare, SERIES_SPACE, lambda: make_workspace(model.form, HIGHEST_ORDER)
        )
        self._start_pivot = 1.0
        if hidden is not None:
            self._ws.reference_pivots[:], self._start_pivot = hidden
        self._loads = make_loads(model.loads, HIGHEST_ORDER)
        rows = HIGHEST_ORDER + 1
        readings = len(model.loads.torsions.first) + 1 if self._loads is not None else 0
        self._capacity = buffer_steps(nq)
        # most runs finish within the first steps
        self._pieces, self._seen = _make_room(
            min(self._capacity, FIRST_STEPS), rows, nq, model.equations, readings
        )
        self._certificate = Certificate()
        self._leaps: list[str] = []
        self._retries = 0
        # the largest pivot ratio so far, and the configuration there
        self._most_regular = 0.0, np.zeros(nq)
        self._constraints = Constraints(model.form)
        self._usual: tuple[int, Floats] | None = None
        self._digits = MoreDigits(
            model.form, self._loads, self._ws.reference_pivots, problem.setting
        )
        local = self._digits.tolerance
        self._kept = kernels.make_state(nq, readings, local)
        self._kept.state[1] = problem.velocity
        # dampers attenuate errors
        self._rules = kernels.make_rules(
            problem.duration,
            local,
            not is_damped(model.loads),
            self._capacity,
            not acts(model.loads)
            and model.structure.fact("one part", lambda: is_one_part(model.form)),
            self._digits.given,
        )
        self._moved, start = 0.0, start or problem.start
        self._t = self._begin = 0.0 if start is None else start.t
        if start is not None:
            self._kept.state[0], self._kept.state[1] = start.q, start.v
            self._kept.carried[:] = start.carried
        self._lost = 0.0
        self.sampling = sample_projected(
            corrections=OUTPUT_CORRECTIONS, near=SINGULAR_STEP_END, same_factor=SAME_FACTOR
        )

    @property
    def state(self) -> Floats:
        """Current coordinates and velocities."""
        return self._kept.state

    @property
    def in_doubt(self) -> bool:
        """Whether the run is inside a singular neighbourhood, so that the certificate needs later steps."""
        return self._certificate.is_open

    @property
    def lost_redundancy(self) -> bool:
        """Whether fewer equations are redundant than were at the start."""
        now = np.count_nonzero(self._ws.reference_pivots <= PERMANENT_PIVOT)
        return bool(now < self._kept.counters[kernels.REDUNDANT])

    def find_hidden_pivots(self) -> tuple[Floats, float] | None:
        """Return reference pivots, and the smallest one, if J has a higher rank at the start than its pivots show.

        A pivot is the square of a singular value: below 1e-8 it may belong to a redundant equation. The singular
        values themselves have twice the digits. The reference is the largest pivot of the run, or the smallest
        that counts.
        """
        model, form = self._problem.model, self._problem.model.form
        if model.coordinates > DENSE or self._problem.start is not None:
            return None
        values = np.linalg.svd(
            self._constraints.jacobian(np.zeros(model.coordinates)), compute_uv=False
        )
        rank = np.count_nonzero(values > HIDDEN_RANK * values.max(initial=0.0))
        ws = make_workspace(form, HIGHEST_ORDER)
        state = np.array([np.zeros(model.coordinates), self._problem.velocity])
        kernels.polish(form, ws, self._loads, 0.0, state)
        pivots = np.array([relative_pivot(form, ws.L, k) for k in range(model.equations)])
        low = np.flatnonzero(pivots <= PERMANENT_PIVOT)
        hidden = int(rank) - (len(pivots) - len(low))
        if hidden <= 0:
            return None
        # the others have theirs already; otherwise they would seem to exchange roles with the hidden ones
        out = np.where(pivots > PERMANENT_PIVOT, np.minimum(pivots, 1.0), 0.0)
        found = low[np.argsort(pivots[low])][-hidden:]
        out[found] = np.maximum(np.abs(self._ws.reference_pivots[found]), SMALLEST_REFERENCE)
        return out, float(pivots[found].min())

    def places(self, steps: Steps, times: list[float]) -> list[tuple[Floats, float]]:
        """Return the configurations at times within some steps, and the distances to other branches there."""
        pieces, found = steps.pieces, []
        for t in times:
            n = max(int(np.searchsorted(pieces.starts, t)) - 1, 0)
            rows = pieces.coefficients[n, : pieces.orders[n] + 1, : self._problem.model.coordinates]
            q = np.asarray(np.polynomial.polynomial.polyval(t - pieces.starts[n], rows))
            # between two step ends the pivot is at most the larger of theirs
            pivot = float(steps.pivots[max(n - 1, 0) : n + 1].max())
            found.append((q, self._measure(q, float(np.sqrt(max(pivot, 0.0))))))
        return found

    def advance(self, clock: Stopwatch, most: int) -> Steps:
        """Take steps."""
        pieces, kept = self._pieces, self._kept
        # number of remaining steps if they stay as long as they are
        count = float(kept.counters[kernels.STEPS])
        ahead = count * (self._problem.duration - self._t) / max(self._t - self._begin, 1e-300)
        if len(pieces.orders) < min(self._capacity, ahead):
            _, rows, nq = pieces.coefficients.shape
            self._pieces, self._seen = _make_room(
                self._capacity, rows, nq, self._problem.model.equations, len(kept.carried)
            )
            pieces = self._pieces
        room = pieces._replace(coefficients=pieces.coefficients[:most])
        with clock("solve"):
            reason, steps = self._take(room)
            if self._start_pivot < 1.0 and not (self._t or self._digits.taken):
                resolved = self._resolve_start() or self._start_pivot > RESOLVED_PIVOT
                self._certificate.start_resolved = resolved
            self._find_most_regular(steps)
            leap = self._certificate.look(
                pieces, self._seen[:steps], self._measure, ended=reason == return_codes.DONE
            )
            if leap is not None and self._keeps_rank(steps):
                leap = None
        end = None
        if leap is None:
            self._retries = 0
        if leap is None and reason == return_codes.FULL:
            steps = self._begin_again(steps, self._certificate.wait_before(steps))
        if leap is not None:
            reason, steps = self._go_back(leap, steps)
            if reason == return_codes.UNCERTAIN:
                end = status.uncertain(float(pieces.starts[steps]))
        self._t = float(pieces.starts[steps])
        seen = self._seen[:steps]
        self._moved = max(self._moved, seen[:, 1].max(initial=0.0))
        # a run that cannot leave its start still has the state at the start
        taken = pieces.some(0, steps) if steps else start_piece(self._t, kept.state, kept.carried)
        losses = seen[:, LOSS].copy()
        self._lost += float(losses.sum())
        restored = seen[:, RESTORED].copy()
        return Steps(
            reason,
            taken,
            self._ws.reference_pivots,
            0,
            seen[:, 0],
            kept.carried,
            end,
            losses,
            restored,
        )

    def _take(self, room: StepPolynomials) -> tuple[int, int]:
        """Take steps until the buffer is full or the run ends, in extended precision where necessary."""
        model, kept, steps, most = self._problem.model, self._kept, 0, len(room.coefficients)
        while True:
            rest, seen = room.some(steps, most), self._seen[steps:]
            t = self._t if steps == 0 else float(room.starts[steps])
            reason, more = specialise.run(
                model.structure, kernels.advance, model.form, self._ws, self._loads, self._rules, t, kept,
                rest, seen,
            )  # fmt: skip
            steps += more
            if reason != return_codes.OTHER_DIGITS:
                return reason, steps
            t, rest = float(room.starts[steps]), room.some(steps, most)
            reason, more = self._digits.advance(
                ExtendedSteps(t, self._rules, kept, rest, self._seen[steps:])
            )
            steps += more
            if not self._digits.given:
                self._rules = self._rules._replace(tolerance=self._digits.without, widens=False)
                kept.balance[kernels.LOCAL] = self._digits.without
            elif reason != return_codes.OTHER_DIGITS:
                return reason, steps

    def _resolve_start(self) -> bool:
        """Replace the series of the first step by one in extended precision; return whether there is one."""
        kept = self._kept._replace(
            state=np.array([np.zeros_like(self._problem.velocity), self._problem.velocity]),
            carried=np.zeros_like(self._kept.carried),
        )
        series = self._digits.predict(0.0, kept)
        if series is None:
            return False
        self._pieces.coefficients[0], self._pieces.orders[0] = series, len(series) - 1
        return True

    def _find_most_regular(self, steps: int) -> None:
        """Store the step end with the largest pivots; chunks may start at singular configurations."""
        drops = self._seen[:steps, PIVOT_RATIO]
        n = int(drops.argmax()) if steps else 0
        if steps and drops[n] > self._most_regular[0]:
            self._most_regular = float(drops[n]), self._step_end(n, steps).copy()
            self._usual = None

    def _usual_values(self) -> tuple[int, Floats]:
        """Return rank and singular values of J at the most regular configuration of the run."""
        if self._usual is None:
            J = self._constraints.jacobian(self._most_regular[1])
            values: Floats = np.asarray(np.linalg.svd(J, compute_uv=False), dtype=np.float64)
            rank = int(np.sum(values > RANK_TOLERANCE * values.max(initial=0.0)))
            self._usual = rank, values
        return self._usual

    def _keeps_rank(self, steps: int) -> bool:
        """Whether J keeps its rank where pivots are small because redundant constraints exchange roles.

        The smallest singular value of J that counts at the most regular configuration must still count there.
        """
        if self._problem.model.coordinates > DENSE:
            return False
        rank, reference_pivots = self._usual_values()
        low = np.flatnonzero(self._seen[:steps, PIVOT_RATIO] < SINGULAR_STEP_END)
        for n in low.tolist():
            q = self._step_end(n, steps)
            values = np.linalg.svd(self._constraints.jacobian(q), compute_uv=False)
            if values[rank - 1] < KEPT_RANK * reference_pivots[rank - 1]:
                return False
        return bool(len(low)) and bool(rank)

    def _measure(self, q: Floats, root: float) -> float:
        """Return the distance from a configuration to the nearest other branch.

        Along the weakest direction w of J, with singular value sigma and left vector u, the constraints are sigma
        a + a^2/2 u.B(w, w): the second zero is the other branch. If several singular values are similarly small,
        all of them are used.
        """
        if self._problem.model.coordinates > DENSE:
            return UNMEASURED_DISTANCE * root
        rank = self._usual_values()[0]
        if not rank:
            return root
        U, values, Vt = np.linalg.svd(self._constraints.jacobian(q))
        weak = np.flatnonzero(values[:rank] < WEAK_TOGETHER * values[rank - 1])
        bends = [np.linalg.norm(U[:, weak].T @ self._constraints.bend(w)) for w in Vt[weak]]
        widest = np.abs(Vt[weak]).max()
        return float(min(root, 2.0 * values[rank - 1] * widest / max(*bends, 1e-300)))

    def _step_end(self, n: int, steps: int) -> Floats:
        """Return the configuration at the end of one of the steps just taken."""
        q: Floats = self._pieces.coefficients[n + 1, 0] if n + 1 < steps else self._kept.state[0]
        return q

    def _go_back(self, leap: Leap, steps: int) -> tuple[int, int]:
        """Jump over a singular neighbourhood in which the run left its branch, or go back before it."""
        pieces, n = self._pieces, leap.step
        if leap.order and n >= 0:
            if self._cut(n, leap.time, leap.order, leap.left):
                self._forget(n + 1, steps)
                self._kept.counters[kernels.RELAXED] += 1
                self._leaps.append(
                    f"branches touch between t = {pieces.starts[n]:.6g} s and {leap.time:.6g} s, closer than "
                    "steps can separate; the run continues along the branch it came from"
                )
                return return_codes.FULL, n + 1
        elif (
            self._retries < MOST_RETRIES
            and leap.time > pieces.starts[0]
            and self._certificate.start_resolved
        ):
            # another step end before the neighbourhood gives other series
            self._retries += 1
            k = int(np.searchsorted(pieces.starts[:steps], leap.time)) - 1
            if self._cut(k, leap.time, int(pieces.orders[k]), 0.0):
                self._forget(k + 1, steps)
                return return_codes.FULL, k + 1
        return return_codes.UNCERTAIN, self._begin_again(steps, max(n, 0))

    def _cut(self, n: int, time: float, order: int, left: float) -> bool:
        """End a step at another time; return False if its series does not determine the branch there."""
        pieces, kept = self._pieces, self._kept
        ahead = time - pieces.starts[n]
        moved, pivot = kernels.land_at(
            self._problem.model.form, self._ws, self._loads, time, pieces.coefficients[n], order, ahead,
            kept.state,
        )  # fmt: skip
        # this form of the comparison rejects nan, too
        if not moved <= AGREEING_PLACE * self._measure(kept.state[0], float(np.sqrt(pivot))):
            return False
        kept.carried[:] = np.polynomial.polynomial.polyval(ahead, pieces.angle_and_work_series[n].T)
        pieces.starts[n + 1], pieces.orders[n] = time, order
        lost = max(moved, left)
        self._seen[n] = pivot, lost, 1.0, lost if left else 0.0, 0.0
        return True

    def _begin_again(self, steps: int, kept: int) -> int:
        """If some of the steps just taken are discarded, restore the state at the start of the first of them."""
        if kept < steps:
            self._kept.state[:] = self._pieces.coefficients[kept, :2]
            if len(self._kept.carried):
                self._kept.carried[:] = self._pieces.angle_and_work_series[kept, :, 0]
            self._forget(kept, steps)
        return kept

    def _forget(self, first: int, steps: int) -> None:
        """Remove discarded steps from the counters."""
        lost = np.count_nonzero(self._seen[first:steps, LOSS])
        self._kept.counters[kernels.STEPS] -= steps - first
        self._kept.counters[kernels.RELAXED] -= lost
        # the rounding remainder of the time at their end
        self._kept.balance[kernels.LOW_TIME] = 0.0

    def end(self, t: float, reason: int) -> status.Ending:
        """Return how the run ended."""
        if reason == return_codes.DONE:
            return status.done(self._problem.duration)
        left = t - self._begin > START * self._problem.duration
        if reason == return_codes.STUCK and not left:
            return status.immobile_at_start(np.abs(self._ws.reference_pivots).min(initial=1.0))
        return status.ended_early(reason, t, self._problem.setting)

    def counters(self) -> dict[str, int]:
        """Return the counters."""
        names = (
            "steps",
            "rejected",
            "coefficients",
            "factorisations",
            "relaxed_steps",
            "extended_steps",
        )
        counted = *self._kept.counters[: kernels.NEXT_SHARE].tolist(), self._digits.taken
        return dict(zip(names, counted, strict=True))

    def release(self) -> None:
        """Leave the memory to later runs; a search for events may still use it."""
        if self._problem.events is None:
            give_spare(self._problem.model.structure.spare, SERIES_SPACE, self._ws)

    def notes(self) -> list[str]:
        """Return notes for the user."""
        relaxed = int(self._kept.counters[kernels.RELAXED])
        return [
            *self._digits.notes(),
            *describe_relaxed_steps(relaxed, self._moved, self._lost),
            *self._leaps,
        ]


def describe_relaxed_steps(relaxed: int, moved: float, lost: float) -> list[str]:
    """Return notes about steps whose tolerance was relaxed.

    relaxed: their number; moved: the largest correction; lost: the accumulated loss; both relative to the
    mechanism's length.
    """
    if not relaxed:
        return []
    return [
        f"{relaxed} steps could not meet the tolerance in double precision, as close to a singular "
        "configuration or where a force is not smooth (a spring of length zero); the largest correction "
        f"there was {moved:.1e} of the mechanism's length, the sum of possible errors {lost:.1e}"
    ]
