"""Error bands of quantities from tolerances of a drawing: to first order, and by a Monte Carlo of an ensemble.

With S_j the derivative of a quantity by a dimension j, t_j its tolerance and s_j its standard deviation:

    worst case    sum_j |S_j| t_j
    deviation     (sum_j S_j^2 s_j^2)^(1/2)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Floats
from ..ensemble.front_end import simulate_many
from ..mechanism import Mechanism, MechanismError
from ..notebook_display import Sentences
from ..quantities import read_quantity
from ..quantity_units import unit_of_quantity
from ..result import Result
from ..sensitivities.run_derivatives import RunDerivatives
from ..sensitivities.run_parameters import DrawnParameters, RecipeParameters
from ..simulate import simulate
from .ensemble_reading import EnsembleRow, find_points

# standard deviation over tolerance: a normal distribution has its tolerance at three deviations
DEVIATIONS = {"normal": 1.0 / 3.0, "uniform": 1.0 / np.sqrt(3.0)}


@dataclass(frozen=True, eq=False)
class ToleranceBand(Sentences):
    """The error band of one quantity over time.

    Attributes
    ----------
    quantity, unit : str
        Name and unit.
    times, values : ndarray
        Times of the outputs [s], and the quantity of the nominal mechanism, shape (n,).
    contributions : dict of ndarray
        Derivative times tolerance for each dimension, shape (n,).
    worst : ndarray
        Largest error to first order, if all dimensions are at the worst ends of their tolerances.
    deviation : ndarray
        Standard deviation to first order, for independent dimensions.
    sampled : ndarray or None
        Standard deviation of the Monte Carlo; None if no samples were requested.
    sampled_mean : ndarray or None
        Mean of the Monte Carlo minus the nominal value: an effect of second order.
    runs : int
        Number of runs of the Monte Carlo that reached the end.
    """

    quantity: str
    unit: str
    times: Floats
    values: Floats
    contributions: dict[str, Floats]
    deviation: Floats
    sampled: Floats | None = None
    sampled_mean: Floats | None = None
    runs: int = 0
    validity: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def worst(self) -> Floats:
        """Largest error to first order, shape (n,)."""
        return np.add.reduce([np.abs(x) for x in self.contributions.values()])

    @property
    def agreement(self) -> float:
        """Largest difference of the sampled from the first-order deviation, over the largest deviation.

        A Monte Carlo of N runs leaves about 1 / (2 N)^(1/2).
        """
        if self.sampled is None:
            return float("nan")
        size = float(np.nanmax(self.deviation, initial=0.0)) or 1.0
        return float(np.nanmax(np.abs(self.sampled - self.deviation)) / size)

    def __str__(self) -> str:
        k = int(np.nanargmax(self.worst))
        unit = self.unit
        lines = [
            f"{self.quantity}: error up to {self.worst[k]:.4g} {unit} (worst case, at t = {self.times[k]:g} s), "
            f"standard deviation up to {np.nanmax(self.deviation):.4g} {unit}"
        ]
        order = sorted(self.contributions, key=lambda name: -abs(self.contributions[name][k]))
        lines += [f"{name}: {self.contributions[name][k]:+.4g} {unit}" for name in order]
        if self.sampled is not None:
            lines.append(
                f"Monte Carlo of {self.runs} runs: standard deviation up to {np.nanmax(self.sampled):.4g} {unit}, "
                f"{self.agreement:.2g} from first order"
            )
        lines += [f"{name}: {why}" for name, why in self.validity.items()]
        return "\n".join(lines)


def find_bands(
    mechanism: Mechanism | Callable[..., Mechanism],
    tolerances: Mapping[str, Any],
    quantities: str | Sequence[str],
    duration: float,
    *,
    samples: int,
    seed: int,
    distribution: str,
    settings: dict[str, Any],
) -> Any:
    """Bands of quantities; one if a single name is given."""
    if distribution not in DEVIATIONS:
        raise ValueError(
            f"distribution = {distribution!r}; give {' or '.join(map(repr, DEVIATIONS))}"
        )
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 0 or samples == 1:
        raise ValueError(
            f"samples = {samples!r}; give 0 for no Monte Carlo, or a whole number from 2"
        )
    source, sizes = _read(mechanism, tolerances)
    names = [quantities] if isinstance(quantities, str) else list(quantities)
    result = simulate(source.build(), duration, dense=True, **settings)
    tangents = RunDerivatives(result, source).take()
    deviations = DEVIATIONS[distribution] * sizes
    sampled = _sample(source, result, names, deviations, samples, seed, distribution, settings)
    out = []
    for i, name in enumerate(names):
        slopes = np.stack([tangent.of(name).values for tangent in tangents], axis=-1)
        if slopes.ndim != 2:
            raise ValueError(f"'{name}' is a point; give a coordinate of it, like '{name}.x'")
        read = read_quantity(result, name).values
        found = sampled[i] if sampled is not None else None
        out.append(
            ToleranceBand(
                name,
                unit_of_quantity(name),
                result.times,
                read,
                {p.name: slopes[:, k] * sizes[k] for k, p in enumerate(source.parameters)},
                np.sqrt(((slopes * deviations) ** 2).sum(axis=1)),
                None if found is None else found.std(axis=0, ddof=1),
                None if found is None else found.mean(axis=0) - read,
                0 if found is None else len(found),
                {t.parameter.name: str(t.validity) for t in tangents if not t.validity},
            )
        )
    return out[0] if isinstance(quantities, str) else out


def _read(
    mechanism: Any, tolerances: Mapping[str, Any]
) -> tuple[DrawnParameters | RecipeParameters, Floats]:
    """Parameters and the size of each tolerance."""
    if not isinstance(tolerances, Mapping) or not tolerances:
        raise ValueError("no tolerance is given; give tolerances={'joints.B.at.0': 1e-4}")
    drawn = isinstance(mechanism, Mechanism)
    if not drawn and not callable(mechanism):
        raise MechanismError(f"{mechanism!r} is not a mechanism, nor a function that builds one")
    values, sizes = {}, []
    for name, given in tolerances.items():
        try:
            numbers = np.atleast_1d(np.asarray(given, dtype=float))
        except (TypeError, ValueError):
            numbers = np.zeros(0)
        if len(numbers) != 2 - drawn or not np.isfinite(numbers).all() or not numbers[-1] > 0.0:
            form = "a positive tolerance" if drawn else "(value, tolerance), the latter positive"
            raise ValueError(f"tolerances['{name}'] = {given!r}; give {form}")
        values[name] = float(numbers[0])
        sizes.append(float(numbers[-1]))
    if drawn:
        return DrawnParameters(mechanism, list(tolerances)), np.array(sizes)
    return RecipeParameters(mechanism, values), np.array(sizes)


def _sample(
    source: DrawnParameters | RecipeParameters, result: Result, names: list[str], deviations: Floats,
    samples: int, seed: int, distribution: str, settings: dict[str, Any],
) -> list[Floats] | None:  # fmt: skip
    """Quantities of mechanisms with random dimensions, each (runs, n); None without samples."""
    if not samples:
        return None
    random = np.random.default_rng(seed)
    shape = (samples, len(deviations))
    wide = np.sqrt(3.0)
    units = (
        random.standard_normal(shape)
        if distribution == "normal"
        else random.uniform(-wide, wide, shape)
    )
    mechanisms = [source.moved(step.tolist()).build() for step in units * deviations]
    points = find_points(names, mechanisms[0])
    rows: list[list[Floats]]
    if points is not None and not set(settings) - {"output_step", "outputs", "tolerance"}:
        runs = simulate_many(mechanisms, result.duration, points=points, **settings)
        good = [
            EnsembleRow(runs, i, runs.times) for i in range(samples) if runs.status[i] == "done"
        ]
        rows = [[row.read(name, runs.times) for name in names] for row in good]
    else:
        found = [simulate(m, result.duration, **settings) for m in mechanisms]
        rows = [[read_quantity(r, name).values for name in names] for r in found if r.success]
    if len(rows) < 2:
        raise MechanismError(
            "fewer than two runs of the Monte Carlo reached the end; give smaller tolerances"
        )
    return [np.array([row[i] for row in rows]) for i in range(len(names))]
