"""A search for an optimum from one start: SLSQP or trust-constr of SciPy, and an independent check of its end.

Variables are scaled by their bounds, z = (x - low) / (high - low), objective and constraints by their sizes at the
start. A smallest maximum is found with one further variable s: minimise s with c_k <= s for all components. Bounds
of maxima are constraints on all components; a root mean square is replaced by its square, which is smooth at 0.

The end is stationary if multipliers exist with

    grad f = sum_k lam_k grad g_k,     lam_k >= 0 for active inequalities g_k >= 0,

which a non-negative least-squares problem decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import BFGS, Bounds, NonlinearConstraint, lsq_linear, minimize

from ..arrays import Floats
from ..mechanism import MechanismError
from .measures import ComponentReduction
from .optimisation_problem import Evaluation, OptimisationProblem, is_minimax

SLSQP, TRUST = "slsqp", "trust-constr"
METHODS = (SLSQP, TRUST)
# change of the scaled objective at which SciPy ends; the check of stationarity decides
CHANGE = 1e-14
# a design is feasible if its constraints are violated by less than this share of their scales
FEASIBLE = 1e-7
# an end is stationary if no direction improves the scaled objective by more than this per range of the variables
STATIONARY = 1e-5
# a constraint or bound is active if it is this close, over its scale
ACTIVE = 1e-6
# searches from the end of the last one, while they improve it
RESTARTS = 3
# value of a failed design, above the largest seen so far, in scales of the objective
PENALTY = 10.0

CONVERGED, INFEASIBLE, STOPPED, FAILED = "converged", "infeasible", "not-converged", "failed"
STATUSES = (CONVERGED, INFEASIBLE, STOPPED, FAILED)


@dataclass
class SearchEnd:
    """How the search from one start ended.

    start, x: values of the variables; objective, violation: at the end; status: one word, message: a sentence;
    stationarity: what is left of the gradient; evaluations: number of runs.
    """

    start: list[float]
    x: list[float]
    objective: float
    violation: float
    status: str
    message: str
    stationarity: float
    evaluations: int


@dataclass(eq=False)
class Search:
    """Searches from starting points.

    listener: called with each new design; first: the design whose sizes scale the problem.
    """

    problem: OptimisationProblem
    first: Evaluation
    method: str
    most_iterations: int
    listener: Callable[[Evaluation], None] = lambda _: None
    count: int = 0
    _seen: dict[bytes, Evaluation] = field(default_factory=dict)

    @cached_property
    def scales(self) -> list[float]:
        """Scale of each constraint: its bound, or its size at the start."""
        out = []
        values = zip(
            self.problem.limits, self.first.components[len(self.problem.objective) :], strict=True
        )
        for limit, components in values:
            bound = limit.high if np.isfinite(limit.high) else limit.low
            out.append(max(abs(bound), float(np.abs(components).max())) or 1.0)
        return out

    @cached_property
    def size(self) -> float:
        """Scale of the objective."""
        size = abs(self.first.objective)
        return (size**2 if self._is_squared else size) or 1.0

    @property
    def _is_squared(self) -> bool:
        objective = self.problem.objective
        return len(objective) == 1 and objective[0].reduction is ComponentReduction.ROOT

    @cached_property
    def _low(self) -> Floats:
        return np.array([v.low for v in self.problem.variables])

    @cached_property
    def _range(self) -> Floats:
        return np.array([v.high for v in self.problem.variables]) - self._low

    def to_unit(self, x: Floats) -> Floats:
        """Scaled variables."""
        return (np.asarray(x) - self._low) / self._range

    def to_values(self, z: Floats) -> Floats:
        """Values of scaled variables, within their bounds."""
        n = len(self._low)
        return self._low + np.clip(z[:n], 0.0, 1.0) * self._range

    def evaluate(self, z: Floats) -> Evaluation:
        """The design of scaled variables; the last ones are kept, because SciPy requests each number alone."""
        x = self.to_values(z)
        key = x.tobytes()
        if key not in self._seen:
            if len(self._seen) > 8:
                self._seen.pop(next(iter(self._seen)))
            self._seen[key] = self.problem.evaluate(x)
            self.count += 1
            self.listener(self._seen[key])
        return self._seen[key]

    def run(self, x: Floats) -> SearchEnd:
        """Search from a point."""
        before = self.count
        first = self.evaluate(self.to_unit(x))
        if first.failure:
            return SearchEnd(
                list(x), list(x), np.nan, np.inf, FAILED, first.failure, np.inf, self.count - before
            )
        best, message = first, ""
        for _ in range(RESTARTS):
            path = _Path(self, best)
            try:
                message = path.follow()
            except MechanismError as error:
                message = str(error)
            improved = path.best is not best
            better = self._gain(best, path.best)
            best = path.best
            if not improved or better <= 1e-12 or self.left_of_gradient(best) <= STATIONARY:
                break
        return self._judge(list(x), best, message, self.count - before)

    def _gain(self, old: Evaluation, new: Evaluation) -> float:
        return abs(new.objective - old.objective) / (abs(old.objective) or 1.0) + max(
            min(old.violation(self.scales), 1.0) - new.violation(self.scales), 0.0
        )

    def _judge(self, start: list[float], best: Evaluation, message: str, count: int) -> SearchEnd:
        violation, left = best.violation(self.scales), self.left_of_gradient(best)
        status = STOPPED
        if violation > FEASIBLE:
            status = INFEASIBLE
            worst = max(
                zip(self.problem.limits, best.limit_values, strict=True),
                key=lambda both: both[0].violation(both[1]),
            )
            sentence = f"{worst[0].text} is not met, the value is {worst[1]:.6g}"
        elif left <= STATIONARY:
            status, sentence = (
                CONVERGED,
                f"no direction improves it to first order (residual {left:.1g})",
            )
        else:
            sentence = (
                f"the search ended before the gradient vanished (residual {left:.1g}): {message}"
            )
        return SearchEnd(
            start, best.x.tolist(), best.objective, violation, status, sentence, left, count
        )

    def left_of_gradient(self, found: Evaluation) -> float:
        """What multipliers of active constraints leave of the objective's gradient, over its size at the start."""
        try:
            cost, rows, equal = self._active(found)
        except MechanismError:
            return np.inf
        size = max(self._gradient_size, 1e-300)
        if not len(rows):
            return float(np.linalg.norm(cost) / size)
        free = np.where(equal, -np.inf, 0.0)
        lam = lsq_linear(rows.T, cost, (free, np.inf), tol=1e-14).x
        return float(np.linalg.norm(cost - rows.T @ lam) / size)

    @cached_property
    def _gradient_size(self) -> float:
        """Size of the gradient at the start; of a start that is nearly optimal that of the objective."""
        form = _Form(self, self.first)
        try:
            return max(float(np.linalg.norm(form.cost_slopes(self.first))), 1e-3)
        except MechanismError:
            return 1.0

    def _active(self, found: Evaluation) -> tuple[Floats, Floats, np.ndarray]:
        """Gradient of the objective, of active constraints and bounds, and which are equalities."""
        form = _Form(self, found)
        cost = form.cost_slopes(found)
        z = form.start_vector
        values, slopes = form.limit_values(found, z), form.limit_slopes(found)
        equal = form.is_equality(found)
        near = equal | (values <= ACTIVE)
        rows, is_equal = [slopes[near]], [equal[near]]
        n = len(self._low)
        for side, sign in ((z[:n] <= ACTIVE, 1.0), (z[:n] >= 1.0 - ACTIVE, -1.0)):
            rows.append(sign * np.eye(len(z))[:n][side])
            is_equal.append(np.zeros(int(side.sum()), dtype=bool))
        return cost, np.concatenate(rows), np.concatenate(is_equal)


class _Form:
    """The scaled problem that SciPy solves: cost(z), limits(z) >= 0 or = 0, and their derivatives.

    For a smallest maximum z has one further entry.
    """

    def __init__(self, search: Search, first: Evaluation) -> None:
        self._search, self._problem = search, search.problem
        self.minimax = is_minimax(self._problem)
        self._sign = -1.0 if self._problem.maximise else 1.0
        z = search.to_unit(first.x)
        self.start_vector = np.append(z, self._extreme(first)) if self.minimax else z

    def _extreme(self, found: Evaluation) -> float:
        return float(self._sign * found.objective / self._search.size)

    def cost(self, found: Evaluation, z: Floats) -> float:
        """The scaled objective."""
        if self.minimax:
            return float(z[-1])
        value = found.objective
        return (
            self._sign
            * (value * abs(value) if self._search._is_squared else value)
            / self._search.size
        )

    def cost_slopes(self, found: Evaluation) -> Floats:
        """Its derivatives."""
        if self.minimax:
            return np.append(np.zeros(len(found.x)), 1.0)
        terms = zip(self._problem.objective, found.components, found.slopes, strict=False)
        total = np.zeros(len(found.x))
        for measure, components, slopes in terms:
            if self._search._is_squared:
                total += 2.0 * measure.weight * abs(measure.weight) * (components @ slopes)
            else:
                total += measure.weight * measure.gradient(components, slopes)
        return np.asarray(self._sign * total * self._search._range / self._search.size)

    def limit_values(self, found: Evaluation, z: Floats) -> Floats:
        """Values of all constraints, which are to be >= 0, or = 0 for equalities."""
        out = [np.zeros(0)]
        for row in self._rows():
            c = found.components[row.measure]
            c = c if row.each else np.array([self._problem.measures[row.measure].reduce(c)])
            out.append(row.offset + row.factor * c + (row.extra * z[-1] if row.extra else 0.0))
        return np.concatenate(out)

    def limit_slopes(self, found: Evaluation) -> Floats:
        """Derivatives of all constraints by z."""
        out = [np.zeros((0, len(self.start_vector)))]
        for row in self._rows():
            c, d = found.components[row.measure], found.slopes[row.measure]
            d = d if row.each else self._problem.measures[row.measure].gradient(c, d)[None]
            wide = row.factor * d * self._search._range
            out.append(
                np.column_stack([wide, np.full(len(d), row.extra)]) if self.minimax else wide
            )
        return np.concatenate(out)

    def is_equality(self, found: Evaluation) -> np.ndarray:
        """Which constraints are equalities."""
        out = [np.zeros(0, dtype=bool)]
        for row in self._rows():
            count = len(found.components[row.measure]) if row.each else 1
            out.append(np.full(count, row.equal))
        return np.concatenate(out)

    def _rows(self) -> Iterator[_Row]:
        """Constraints by measure: each row is offset + factor c + extra s."""
        if self.minimax:
            factor = self._sign * self._problem.objective[0].weight / self._search.size
            yield _Row(0, -factor, 0.0, True, False, 1.0)
        both = zip(self._problem.limits, self._search.scales, strict=True)
        for k, (limit, scale) in enumerate(both, start=len(self._problem.objective)):
            equal, is_top = limit.low == limit.high, bool(np.isfinite(limit.high))
            sign = -1.0 if is_top and not equal else 1.0
            bound = limit.high if is_top else limit.low
            wanted = ComponentReduction.MAXIMUM if is_top else ComponentReduction.MINIMUM
            each = not equal and limit.measure.reduction is wanted
            yield _Row(k, sign / scale, -sign * bound / scale, each, equal)


class _Row(NamedTuple):
    """Constraints offset + factor c + extra s on a measure, or on each of its components c."""

    measure: int
    factor: float
    offset: float
    each: bool
    equal: bool
    extra: float = 0.0


class _Path:
    """One call of SciPy, from a design that has a run."""

    def __init__(self, search: Search, first: Evaluation) -> None:
        self._search, self._form = search, _Form(search, first)
        self.best = self._good = first
        self._worst = self._form.cost(first, self._form.start_vector)

    def follow(self) -> str:
        """Search; returns SciPy's message."""
        search, start = self._search, self._form.start_vector
        n = len(start)
        high = np.ones(n)
        low = np.zeros(n)
        if self._form.minimax:
            low[-1], high[-1] = -np.inf, np.inf
        equal = self._form.is_equality(self._good)
        if search.method == SLSQP:
            constraints: list[Any] = [
                {"type": kind, "fun": self._limit(which), "jac": self._limit_slopes(which)}
                for kind, which in (("eq", equal), ("ineq", ~equal))
                if which.any()
            ]
            options = {"maxiter": search.most_iterations, "ftol": CHANGE}
            more: dict[str, Any] = {}
        else:
            every = np.ones(len(equal), dtype=bool)
            top = np.where(equal, 0.0, np.inf)
            made = NonlinearConstraint(
                self._limit(every), 0.0, top, self._limit_slopes(every), BFGS()
            )
            constraints = [made] if len(equal) else []
            options = {"maxiter": search.most_iterations, "gtol": 1e-9, "xtol": 1e-12}
            more = {"hess": BFGS()}
        found = minimize(
            self._cost, start, jac=self._cost_slopes, bounds=Bounds(low, high), constraints=constraints,
            method="SLSQP" if search.method == SLSQP else TRUST, options=options, **more,
        )  # fmt: skip
        return str(found.message)

    def _take(self, z: Floats) -> Evaluation:
        """The design at z, or the last one that has a run."""
        found = self._search.evaluate(np.asarray(z))
        if not found.failure:
            self._good = found
            if self._is_better(found):
                self.best = found
        return found

    def _is_better(self, found: Evaluation) -> bool:
        """Whether a design is feasible and better than the best, or violates less than an infeasible best."""
        scales, sign = self._search.scales, self._form._sign
        mine, best = found.violation(scales), self.best.violation(scales)
        if mine > FEASIBLE or best > FEASIBLE:
            return mine < best
        return bool(sign * found.objective < sign * self.best.objective)

    def _cost(self, z: Floats) -> float:
        found = self._take(z)
        if found.failure:
            # a finite value, from which line searches come back
            return self._worst + PENALTY
        cost = self._form.cost(found, z)
        self._worst = max(self._worst, cost)
        return cost

    def _cost_slopes(self, z: Floats) -> Floats:
        self._take(z)
        return self._form.cost_slopes(self._good)

    def _limit(self, which: np.ndarray) -> Callable[[Floats], Floats]:
        def read(z: Floats) -> Floats:
            self._take(z)
            return self._form.limit_values(self._good, z)[which]

        return read

    def _limit_slopes(self, which: np.ndarray) -> Callable[[Floats], Floats]:
        def read(z: Floats) -> Floats:
            self._take(z)
            return self._form.limit_slopes(self._good)[which]

        return read
