"""Sensitivities of a result, or of the run of a recipe: derivatives of quantities by parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..mechanism import Mechanism
from ..mechanism.event_requests import Event
from ..result import Result
from ..simulate import simulate
from .run_derivatives import RunDerivatives
from .run_parameters import DrawnParameters, RecipeParameters, Wrt
from .tangent import Sensitivity


def of_result(
    result: Result, quantity: str | Event | Sequence[str | Event], wrt: Wrt | Sequence[Wrt]
) -> Any:
    """Derivatives of quantities of a result: a single one, or nested lists for sequences (quantities first)."""
    wanted = [wrt] if isinstance(wrt, str | Mapping) else list(wrt)
    found = RunDerivatives(result, DrawnParameters(result.mechanism, wanted)).take()
    names = [quantity] if isinstance(quantity, str | Event) else list(quantity)
    table = [[tangent.of(name) for tangent in found] for name in names]
    rows = [row[0] if isinstance(wrt, str | Mapping) else row for row in table]
    return rows[0] if isinstance(quantity, str | Event) else rows


@dataclass(frozen=True, eq=False)
class RecipeSensitivities:
    """Derivatives of quantities by the arguments of a recipe; index with [quantity, argument]."""

    result: Result
    table: dict[tuple[str, str], Sensitivity]

    def __getitem__(self, key: tuple[str, str]) -> Sensitivity:
        return self.table[key]


def of_recipe(
    build: Callable[..., Mechanism], values: Mapping[str, float], quantities: Sequence[str], duration: float,
    **settings: Any,
) -> RecipeSensitivities:  # fmt: skip
    """Run the mechanism of a recipe, and differentiate quantities by its arguments."""
    recipe = RecipeParameters(build, values)
    result = simulate(recipe.build(), duration, dense=True, **settings)
    found = RunDerivatives(result, recipe).take()
    names = [quantities] if isinstance(quantities, str) else list(quantities)
    table = {(q, tangent.parameter.name): tangent.of(q) for q in names for tangent in found}
    return RecipeSensitivities(result, table)
