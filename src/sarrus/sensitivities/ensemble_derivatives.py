"""Derivatives of the runs of an ensemble: one row per variant, each as for the variant alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Floats
from ..ensemble import Variants
from ..mechanism import MechanismError
from ..mechanism.event_requests import Event
from ..progress import part
from ..settings import default_settings
from ..simulate import simulate
from .differentiate import of_result
from .run_parameters import Wrt
from .tangent import CROSSING_TIMES, EXTREMES, Sensitivity
from .validity import Validity


@dataclass(frozen=True, eq=False)
class EnsembleSensitivity:
    """Derivatives of a quantity by a parameter in all runs of an ensemble.

    Attributes
    ----------
    quantity, wrt : str
        Names of the quantity and the parameter.
    times : ndarray
        Times of the outputs [s].
    values : ndarray (runs, n, ...)
        The derivative at each output of each run; NaN where it does not exist or a run did not arrive.
    validity : list of Validity
        Of each run: until when its derivative exists, and why not longer.
    velocity, acceleration : ndarray or None
        Derivatives of the velocity and acceleration of a point, as `values` are of its position.
    """

    quantity: str
    wrt: str
    times: Floats
    values: Floats = field(repr=False)
    validity: list[Validity] = field(repr=False)
    velocity: Floats | None = field(repr=False, default=None)
    acceleration: Floats | None = field(repr=False, default=None)

    def __len__(self) -> int:
        return len(self.values)


def of_ensemble(
    variants: Variants,
    quantity: str | Sequence[str],
    wrt: Wrt | Sequence[Wrt],
    duration: float,
    output_step: float | None,
    options: dict[str, Any],
) -> Any:
    """Derivatives of all runs: a single one, or nested lists for sequences (quantities first)."""
    names = [quantity] if isinstance(quantity, str | Event) else list(quantity)
    wanted = [wrt] if isinstance(wrt, str | Mapping) else list(wrt)
    for name in names:
        if not isinstance(name, str) or name == CROSSING_TIMES or name.startswith(EXTREMES):
            raise ValueError(
                f"'{name}' has other times in every run; differentiate the runs one by one, by result.sensitivity"
            )
    times = default_settings(
        duration, output_step, options.get("outputs"), options.get("tolerance")
    ).outputs
    rows = []
    for number in range(len(variants)):
        with part(number, len(variants)):
            rows.append(_of_one(variants, number, names, wanted, (duration, output_step), options))
    table = [
        [_join(name, times, [row[i][k] for row in rows]) for k in range(len(wanted))]
        for i, name in enumerate(names)
    ]
    lists = [row[0] if isinstance(wrt, str | Mapping) else row for row in table]
    return lists[0] if isinstance(quantity, str) else lists


def _of_one(
    variants: Variants, number: int, names: list[str], wanted: list[Wrt], span: tuple[float, float | None],
    options: dict[str, Any],
) -> list[list[Sensitivity | str]]:  # fmt: skip
    """The derivatives of one run, or the reason why there are none."""
    try:
        result = simulate(variants.mechanism(number), *span, dense=True, **options)
        found: list[list[Sensitivity | str]] = of_result(result, names, wanted)
    except MechanismError as error:
        return [[str(error)] * len(wanted) for _ in names]
    return found


def _join(name: str, times: Floats, rows: list[Sensitivity | str]) -> EnsembleSensitivity:
    """One row per run, filled with NaN after its end."""
    known = [row for row in rows if isinstance(row, Sensitivity)]
    if not known:
        raise MechanismError(f"no run of the ensemble has derivatives: {rows[0]}")

    def stacked(level: str) -> Floats | None:
        if getattr(known[0], level) is None:
            return None
        shape = getattr(known[0], level).shape[1:]
        out = np.full((len(rows), len(times), *shape), np.nan)
        for place, row in zip(out, rows, strict=True):
            if isinstance(row, Sensitivity):
                place[: len(row.times)] = getattr(row, level)
        return out

    values = stacked("values")
    assert values is not None
    return EnsembleSensitivity(
        name, known[0].wrt, times, values, [_validity(row, times) for row in rows],
        stacked("velocity"), stacked("acceleration"),
    )  # fmt: skip


def _validity(row: Sensitivity | str, times: Floats) -> Validity:
    if isinstance(row, str):
        return Validity(0.0, row)
    if row.validity and len(row.times) < len(times):
        return Validity(float(row.times[-1]), "the run ended there")
    return row.validity
