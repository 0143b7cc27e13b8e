"""A model and its derivatives by parameters: dual numbers for the kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Floats
from ..kernels.applied_forces import Loads, make_loads
from ..kernels.dual import RATES
from ..kernels.layout import Form, make_dual
from ..mechanism import Mechanism
from ..mechanism.part_arrays import read_parts
from ..model import Model
from ..model.build import make_blueprint
from ..model.structure import describe
from ..tangent_numbers import split_tangents
from ..tracing import UntracedError


class DefinitionNumbers(NamedTuple):
    """The numbers of a mechanism, and their derivatives by each parameter (numbers, count)."""

    numbers: Floats
    rates: Floats


@dataclass(frozen=True)
class DualModel:
    """A model, and for each parameter a model that contains the derivatives of all its numbers.

    mechanism: the same mechanism with numbers of a `TangentTape`; numbers, slopes: all numbers of the model in one
    row.
    """

    mechanism: Mechanism
    model: Model
    rates: tuple[Model, ...]
    numbers: Floats = field(repr=False)
    slopes: Floats = field(repr=False)
    drawing: DefinitionNumbers | None = field(default=None, repr=False)

    def keeps_structure(self, lane: int, h: float) -> bool:
        """Whether the mechanism with one parameter increased by h is valid and has a model of this structure.

        False if that is not known.
        """
        structure = self.model.structure
        if self.drawing is None or structure.replay is None or not structure.is_sound:
            return False
        moved = self.drawing.numbers + h * self.drawing.rates[:, lane]
        return structure.replay.one(moved.tolist()) is not None

    def moved(self, mechanism: Mechanism, lane: int, h: float) -> Model:
        """The model of a mechanism with one parameter increased by h, to first order."""
        structure = self.model.structure
        values = np.ascontiguousarray(self.numbers + h * self.slopes[:, lane])
        return structure.blueprint.make(mechanism, values, structure)

    def make_form(self, scales: Floats) -> Form:
        """The quadratic form in dual numbers; scales: of each parameter."""
        # eps and rho do not change the solution
        zero = np.zeros(self.model.equations)
        found = [m.form._replace(eps=zero, rho=zero) for m in self.rates]
        return make_dual(self.model.form, _stack(found, scales))

    def make_loads(self, scales: Floats, order: int) -> Loads | None:
        """Applied forces and drives in dual numbers, with memory for series up to an order."""
        loads = make_loads(self.model.loads, order)
        if loads is None:
            return None
        return make_dual(loads, _stack([make_loads(m.loads, order) for m in self.rates], scales))

    def find_scales(self, start: Floats) -> Floats:
        """Scale of each parameter, so that no derivative is larger than the model's numbers of its kind.

        start: derivatives of the initial velocity (count, nq).
        """
        sizes = np.maximum(self._sizes, np.abs(start).max(axis=1, initial=0.0))
        return np.divide(1.0, sizes, out=np.ones(len(sizes)), where=sizes > 0.0)

    @cached_property
    def _sizes(self) -> Floats:
        """Largest derivative by each parameter, over the model's largest number of its kind."""
        values = [*_floats(self.model.form), *_floats(self.model.loads)]
        # numbers in a column are of the same kind
        largest = [_largest(x) for x in values]
        out = []
        for rates in self.rates:
            found = zip([*_floats(rates.form), *_floats(rates.loads)], largest, strict=True)
            out.append(max(float((np.abs(x) / y).max(initial=0.0)) for x, y in found))
        return np.array(out)

    def moves_constraints(self) -> list[bool]:
        """Whether each parameter changes the constraint equations: geometric parameters and those of drives do."""
        names = ("D_val", "e0", "sq_c", "bl_c", "phi0")
        return [
            any(getattr(m.form, name).any() for name in names)
            or any(x.any() for x in _floats(m.loads.drives))
            for m in self.rates
        ]


def make_dual_model(mechanism: Mechanism, model: Model, count: int) -> DualModel:
    """Derivatives of a model; mechanism: the mechanism with numbers of a tape of `count` parameters."""
    replayed = _replay(mechanism, model, count)
    if replayed is not None:
        return replayed
    blueprint, numbers = make_blueprint(mechanism, read_parts(mechanism))
    if blueprint.digest != model.structure.blueprint.digest:
        raise UntracedError("numbers with derivatives decide otherwise than floats do")
    values, rates = split_tangents(numbers, count)
    made = (
        blueprint.make(model.mechanism, np.ascontiguousarray(rates[:, p]), model.structure)
        for p in range(count)
    )
    return DualModel(mechanism, model, tuple(made), values, rates)


def _replay(mechanism: Mechanism, model: Model, count: int) -> DualModel | None:
    """The same by the tape of the model's structure; None if it has none, or none of this mechanism."""
    structure = model.structure
    traced, plain = describe(mechanism), describe(model.mechanism)
    if structure.replay is None or traced is None or plain is None or traced.key != plain.key:
        return None
    values, rates = split_tangents(traced.numbers, count)
    made = structure.follow(values)
    if not np.array_equal(values, plain.numbers) or made is None:
        return None
    numbers = values.tolist()
    slopes = np.array([structure.replay.tangent(numbers, rate.tolist()) for rate in rates.T]).T
    models = (
        structure.blueprint.make(model.mechanism, np.ascontiguousarray(slopes[:, p]), structure)
        for p in range(count)
    )
    return DualModel(
        mechanism, model, tuple(models), made, slopes, DefinitionNumbers(values, rates)
    )


def _largest(x: Floats) -> Floats:
    """The largest number of an array, or of each of its columns; 1 if all are zero."""
    most = np.abs(x).max(axis=0, initial=0.0)
    return np.where(most > 0.0, most, 1.0)


def _floats(arrays: Any) -> Iterator[Floats]:
    for x in arrays:
        if isinstance(x, tuple):
            yield from _floats(x)
        elif x.dtype == np.float64:
            yield x


def _stack(found: list[Any], scales: Floats) -> Iterator[Floats]:
    """Derivatives of each array by all parameters, (..., RATES)."""
    for arrays in zip(*map(_floats, found), strict=True):
        out = np.zeros((*arrays[0].shape, RATES))
        for p, (x, scale) in enumerate(zip(arrays, scales, strict=True)):
            out[..., p] = scale * x
        yield out
