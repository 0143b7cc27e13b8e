"""An optimisation: variables with bounds, an objective, constraints, and how a design is simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..analysis.driven import cycle_times
from ..arrays import Floats, plain_sum
from ..mechanism import Mechanism, MechanismError
from ..mechanism.event_requests import Event
from ..progress import listening
from ..sensitivities.run_parameters import DrawnParameters, RecipeParameters
from ..settings import check_outputs, check_seconds
from ..simulate import simulate
from .design_run import DesignRun
from .measures import ComponentReduction, Measure, read_measure, read_number

# outputs of a run, if no output step is given
OUTPUTS = 200
# share of the duration: times this close are the same
SAME_TIME = 1e-12
BOUNDS = ("at_most", "at_least", "equals")


@dataclass(frozen=True)
class Variable:
    """A number that is varied: its name, bounds and start, in SI."""

    name: str
    low: float
    high: float
    start: float


@dataclass(frozen=True)
class MeasureLimit:
    """A constraint: a measure within bounds, which are equal for an equality."""

    measure: Measure
    low: float = -np.inf
    high: float = np.inf

    @property
    def text(self) -> str:
        """The constraint in words."""
        if self.low == self.high:
            return f"{self.measure.text} = {self.low:g}"
        sign, bound = ("<=", self.high) if np.isfinite(self.high) else (">=", self.low)
        return f"{self.measure.text} {sign} {bound:g}"

    def violation(self, value: float) -> float:
        """By how much a value is out of the bounds; 0 within them."""
        return max(self.low - value, value - self.high, 0.0)


@dataclass(frozen=True, eq=False)
class OptimisationProblem:
    """Variables, objective and constraints, and the mechanism in which they are.

    source: the parameters at the start; grid: output times [s]; settings: further arguments of `simulate`.
    """

    name: str
    source: DrawnParameters | RecipeParameters
    variables: tuple[Variable, ...]
    objective: tuple[Measure, ...]
    limits: tuple[MeasureLimit, ...]
    grid: Floats
    maximise: bool = False
    is_cycle: bool = False
    settings: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """All measures: those of the objective, then those of the constraints."""
        return (*self.objective, *(limit.measure for limit in self.limits))

    @cached_property
    def events(self) -> list[Event]:
        """Events that measures need."""
        return list({m.event.name: m.event for m in self.measures if m.event is not None}.values())

    @property
    def start(self) -> Floats:
        """Values of the variables at the start."""
        return np.array([v.start for v in self.variables])

    def design(self, x: Floats) -> DrawnParameters | RecipeParameters:
        """The parameters of a design."""
        values = [self.source.value(p) for p in range(len(self.variables))]
        return self.source.moved((np.asarray(x) - values).tolist())

    def run(self, x: Floats) -> DesignRun:
        """Simulate a design; raises MechanismError if it has no such run."""
        design = self.design(x)
        mechanism = design.build()
        if self.is_cycle and abs(cycle_times(mechanism, 2)[-1] / self.grid[-1] - 1.0) > 1e-12:
            raise ValueError(
                "the variables change the duration of a cycle, over which derivatives need fixed times; give "
                "duration= instead"
            )
        # the progress of single runs is not that of the optimisation
        with listening(_ignore):
            result = simulate(
                mechanism, float(self.grid[-1]), outputs=self.grid, dense=True, events=self.events, **self.settings
            )  # fmt: skip
            return DesignRun(result, design, self.measures)

    def evaluate(self, x: Floats) -> Evaluation:
        """Objective and constraints of a design."""
        try:
            run = self.run(x)
            found = [m.components(run) for m in self.measures]
        except MechanismError as error:
            return Evaluation(self, np.array(x), None, [], str(error))
        return Evaluation(self, np.array(x), run, found)


@dataclass(eq=False)
class Evaluation:
    """Objective and constraints of one design; failure: why it has none."""

    problem: OptimisationProblem
    x: Floats
    run: DesignRun | None
    components: list[Floats]
    failure: str = ""

    @cached_property
    def slopes(self) -> list[Floats]:
        """Derivatives of the components of each measure by the variables; raises MechanismError without them."""
        assert self.run is not None
        with listening(_ignore):
            found = [m.component_slopes(self.run) for m in self.problem.measures]
        for rates, measure in zip(found, self.problem.measures, strict=True):
            if not np.isfinite(rates).all():
                raise MechanismError(
                    f"'{measure.text}' has no derivative at all times that are read"
                )
        return found

    @property
    def values(self) -> list[float]:
        """All measures: those of the objective, then those of the constraints."""
        return [m.reduce(c) for m, c in zip(self.problem.measures, self.components, strict=True)]

    @property
    def objective(self) -> float:
        """Weighted sum of the objective's measures; NaN for a failed design."""
        if self.failure:
            return np.nan
        terms = zip(self.problem.objective, self.values, strict=False)
        return float(plain_sum(m.weight * x for m, x in terms))

    @property
    def limit_values(self) -> list[float]:
        """Measures of the constraints."""
        return self.values[len(self.problem.objective) :]

    def violation(self, scales: Sequence[float]) -> float:
        """Largest violation of a constraint over its scale; infinite for a failed design."""
        if self.failure:
            return np.inf
        both = zip(self.problem.limits, self.limit_values, scales, strict=True)
        return max([limit.violation(x) / scale for limit, x, scale in both], default=0.0)


def _ignore(done: float, total: float) -> None:
    """A listener that ignores the progress of single runs."""


def make_problem(
    mechanism: Mechanism | Callable[..., Mechanism],
    variables: Mapping[str, Any],
    objective: Any,
    constraints: Sequence[Any],
    *,
    duration: float | None,
    output_step: float | None,
    maximise: bool,
    settings: dict[str, Any],
) -> OptimisationProblem:
    """Check the arguments of `optimize`."""
    if not isinstance(variables, Mapping) or not variables:
        raise ValueError("nothing varies; give variables={'bodies.crank.mass': (0.5, 2.0)}")
    if isinstance(mechanism, Mechanism):
        source: DrawnParameters | RecipeParameters = DrawnParameters(mechanism, list(variables))
        starts: list[float | None] = [source.value(p) for p in range(len(variables))]
    elif callable(mechanism):
        starts = [None] * len(variables)
    else:
        raise MechanismError(f"{mechanism!r} is not a mechanism, nor a function that builds one")
    read = tuple(
        _variable(name, given, start)
        for (name, given), start in zip(variables.items(), starts, strict=True)
    )
    if not isinstance(mechanism, Mechanism):
        source = RecipeParameters(mechanism, {v.name: v.start for v in read})
    terms = [objective] if isinstance(objective, Mapping | Measure) else list(objective)
    if not terms:
        raise ValueError("there is no objective; give one like {'rms': 'motor torque'}")
    first = source.moved([v.start - source.value(p) for p, v in enumerate(read)]).build()
    grid = _grid(first, duration, output_step)
    wanted = [read_measure(t, f"objective {i + 1}") for i, t in enumerate(terms)]
    limits = [_limit(c, f"constraint {i + 1}") for i, c in enumerate(constraints)]
    return OptimisationProblem(
        name=first.name,
        source=source,
        variables=read,
        objective=tuple(_on_grid(m, grid) for m in wanted),
        limits=tuple(replace(x, measure=_on_grid(x.measure, grid)) for x in limits),
        grid=grid,
        maximise=bool(maximise),
        is_cycle=duration is None,
        settings=settings,
    )


def _grid(mechanism: Mechanism, duration: float | None, output_step: float | None) -> Floats:
    if duration is None:
        times = cycle_times(mechanism)
        return (
            times if output_step is None else check_outputs(float(times[-1]), output_step, None)[0]
        )
    seconds = check_seconds("duration", duration)
    step = seconds / OUTPUTS if output_step is None else output_step
    return np.asarray(check_outputs(seconds, step, None)[0])


def _on_grid(measure: Measure, grid: Floats) -> Measure:
    """The measure with its times on outputs that differ by rounding only; raises ValueError after the end."""
    if measure.times is None:
        return measure
    near = grid[np.argmin(np.abs(grid[:, None] - measure.times), axis=0)]
    times = np.where(np.abs(near - measure.times) <= SAME_TIME * grid[-1], near, measure.times)
    if times[-1] > grid[-1]:
        raise ValueError(
            f"'{measure.text}' is read at {times[-1]:g} s, but the run ends at {grid[-1]:g} s; give a longer one"
        )
    return replace(measure, times=times)


def _variable(name: str, given: Any, start: float | None) -> Variable:
    form = "give (lowest, highest) or (lowest, highest, start)"
    if isinstance(given, Mapping):
        given = [given.get(key) for key in ("from", "to", "start") if key in given]
    try:
        numbers = [float(x) for x in given]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) not in (2, 3) or not np.isfinite(numbers).all() or not numbers[0] < numbers[1]:
        raise ValueError(f"variables['{name}'] = {given!r}; {form}")
    low, high = numbers[:2]
    first = numbers[2] if len(numbers) == 3 else start
    if first is None:
        first = 0.5 * (low + high)
    if not low <= first <= high:
        raise ValueError(
            f"variables['{name}'] starts at {first:g}, outside of its bounds {low:g} to {high:g}; {form}"
        )
    return Variable(name, low, high, float(first))


def _limit(given: Any, what: str) -> MeasureLimit:
    if not isinstance(given, Mapping):
        raise ValueError(f"{what} = {given!r}; give one like {{'maximum': 'B.x', 'at_most': 0.3}}")
    words = [w for w in BOUNDS if w in given]
    if len(words) != 1:
        raise ValueError(f"{what} has {len(words)} bounds; give one of {', '.join(BOUNDS)}")
    bound = read_number(given[words[0]], f"{what}, {words[0]}")
    measure = read_measure({k: x for k, x in given.items() if k != words[0]}, what)
    low = bound if words[0] != "at_most" else -np.inf
    high = bound if words[0] != "at_least" else np.inf
    return MeasureLimit(measure, low, high)


def is_minimax(problem: OptimisationProblem) -> bool:
    """Whether the objective is one extreme whose components can be bounded one by one."""
    wanted = ComponentReduction.MINIMUM if problem.maximise else ComponentReduction.MAXIMUM
    if len(problem.objective) != 1:
        return False
    [measure] = problem.objective
    return measure.reduction is wanted and measure.weight > 0.0
