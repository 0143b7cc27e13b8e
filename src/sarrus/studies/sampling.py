"""The values of all parameters for all runs: combinations of lists and ranges, with random samples for each."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ..arrays import Floats, Ints
from .study import Study, StudyParameter
from .study_schema import GRID, LATIN_HYPERCUBE, SOBOL

# Uniform numbers are kept away from 0 and 1, where the normal quantile is infinite.
TINY = 2.0**-54


@dataclass(frozen=True)
class Samples:
    """Values of each parameter by run: numbers, or choices among given values."""

    runs: int
    numbers: dict[str, Floats]
    choices: dict[str, tuple[tuple[Any, ...], Ints]]

    def row(self, columns: tuple[str, ...], run: int) -> list[Any]:
        """Return the values of one run, as plain Python objects."""
        return [self._value(column, run) for column in columns]

    def _value(self, column: str, run: int) -> Any:
        if column in self.numbers:
            return float(self.numbers[column][run])
        values, index = self.choices[column]
        return values[int(index[run])]


def count_runs(study: Study) -> int:
    """Return the number of runs."""
    lengths = [len(p.values) for p in study.parameters if p.values is not None]
    if study.combine == GRID:
        return int(np.prod(lengths, dtype=object)) * study.samples
    return max(lengths, default=1) * study.samples


def draw_samples(study: Study) -> Samples:
    """Draw all values; the same study and seed give identical bits.

    Each combination of lists and ranges has a separate design, from the seed and its number.
    """
    listed = [p for p in study.parameters if p.values is not None]
    random = [p for p in study.parameters if p.distribution]
    runs = count_runs(study)
    combinations = runs // study.samples
    lengths = tuple(len(p.values or ()) for p in listed)
    if study.combine == GRID:
        rows = np.indices(lengths).reshape(len(lengths), -1) if listed else np.zeros((0, 1), int)
    else:
        rows = np.tile(np.arange(combinations), (len(lengths), 1))
    index = {
        p.column: np.repeat(r, study.samples).astype(np.int64)
        for p, r in zip(listed, rows, strict=True)
    }
    uniform = np.zeros((runs, len(random)))
    if random:
        for i in range(combinations):
            part = slice(i * study.samples, (i + 1) * study.samples)
            uniform[part] = _design(study.sampling, study.seed, i, study.samples, len(random))
    unit = {p.column: uniform[:, j] for j, p in enumerate(random)}
    numbers: dict[str, Floats] = {}
    choices: dict[str, tuple[tuple[Any, ...], Ints]] = {}
    for p in study.parameters:
        if p.same:
            # A variable that is a vector or a word is repeated unchanged.
            if p.same in numbers:
                numbers[p.column] = numbers[p.same]
            else:
                choices[p.column] = choices[p.same]
        elif p.values is None:
            numbers[p.column] = _spread(p, unit[p.column], numbers)
        elif all(_is_number(value) for value in p.values):
            numbers[p.column] = np.array(p.values, dtype=float)[index[p.column]]
        else:
            choices[p.column] = (p.values, index[p.column])
    return Samples(runs, numbers, choices)


def _design(sampling: str, seed: int, combination: int, samples: int, dimension: int) -> Floats:
    """Return numbers between 0 and 1, shape (samples, dimension)."""
    generator = np.random.default_rng([seed, combination])
    if sampling == LATIN_HYPERCUBE:
        return np.asarray(scipy.stats.qmc.LatinHypercube(dimension, seed=generator).random(samples))
    if sampling == SOBOL:
        with warnings.catch_warnings():
            # A remark of the study reports a count that is not a power of 2.
            warnings.simplefilter("ignore", UserWarning)
            return np.asarray(scipy.stats.qmc.Sobol(dimension, seed=generator).random(samples))
    return generator.random((samples, dimension))


def _spread(p: StudyParameter, unit: Floats, numbers: dict[str, Floats]) -> Floats:
    """Map numbers between 0 and 1 to values of a distribution."""
    first, second = (numbers[n] if isinstance(n, str) else n for n in p.numbers)
    if p.distribution == "uniform":
        return np.asarray(first + unit * (np.asarray(second) - first))
    return np.asarray(
        first + np.asarray(second) * scipy.special.ndtri(np.clip(unit, TINY, 1.0 - 2 * TINY))
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
