"""A model and its derivatives by parameters: dual numbers for the kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Floats
from ..kernels.applied_forces import Loads, make_loads
from ..kernels.dual import RATES, make_duals
from ..kernels.layout import Form, make_dual, set_apart
from ..mechanism import Mechanism
from ..mechanism.part_arrays import read_parts
from ..model import Model
from ..model.build import make_blueprint
from ..model.structure import describe
from ..tangent_numbers import split_tangents
from ..tracing import UntracedError

# numbers of a form that depend on dimensions, and on masses and constant forces
DRAWN = ("D_val", "e0", "sq_c", "bl_c", "phi0", "C_val")
INERT = ("M_val", "Q", "K_M_val")
# share of the derivatives of other numbers of the model below which a derivative is rounding
ROUNDING = 1e-13


class DefinitionNumbers(NamedTuple):
    """The numbers of a mechanism, and their derivatives by each parameter (numbers, count)."""

    numbers: Floats
    rates: Floats


@dataclass(frozen=True)
class DualModel:
    """A model, and for each parameter a model that contains the derivatives of all its numbers.

    mechanism: the same mechanism with numbers of a `TangentTape`; numbers, slopes: all numbers of the model in one
    row, and their derivatives; drawing: the numbers from which they are computed, if the model has a tape.
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
        rates = self.drawing.rates[:, lane]
        if not rates.any():
            return True
        varied = (rates != 0.0).tolist()
        return structure.replay.keeps((self.drawing.numbers + h * rates).tolist(), varied)

    def changes_drives(self, lane: int) -> bool:
        """Whether a number of a drive depends on a parameter; the model has no initial angles of drives."""
        numbers = [
            x for drive in self.mechanism.drives for own in vars(drive.motion).values() for x in np.ravel(own)
        ]  # fmt: skip
        return bool(split_tangents(numbers, len(self.rates))[1][:, lane].any())

    def moved(self, mechanism: Mechanism, lane: int, h: float) -> Model:
        """The model of a mechanism with one parameter increased by h, to first order."""
        structure = self.model.structure
        values = np.ascontiguousarray(self.numbers + h * self.slopes[:, lane])
        return structure.blueprint.make(mechanism, values, structure)

    def make_form(self, scales: Floats) -> Form:
        """The quadratic form in dual numbers; scales: of each parameter.

        Numbers that no parameter changes stay doubles, which is faster. eps and rho do not change the solution.
        """
        drawn = any(self.moves_constraints)
        names = (*INERT, *DRAWN) if drawn else INERT
        found = {
            name: make_duals(
                getattr(self.model.form, name),
                _stack([getattr(m.form, name) for m in self.rates], scales),
            )
            for name in names
        }
        return set_apart(self.model.form._replace(**found), "Dual" if drawn else "Inert")

    def make_loads(self, scales: Floats, order: int) -> Loads | None:
        """Applied forces and drives in dual numbers, with memory for series up to an order."""
        loads = make_loads(self.model.loads, order)
        if loads is None:
            return None
        found = zip(*(_floats(make_loads(m.loads, order)) for m in self.rates), strict=True)
        return make_dual(loads, (_stack(arrays, scales) for arrays in found))

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
        out = np.zeros(len(self.rates))
        for p, rates in enumerate(self.rates):
            if not self.slopes[:, p].any():
                continue
            found = zip([*_floats(rates.form), *_floats(rates.loads)], values, strict=True)
            changed = ((x, y) for x, y in found if x.size and x.any())
            out[p] = max((float((np.abs(x) / _largest(y)).max()) for x, y in changed), default=0.0)
        return out

    @cached_property
    def moves_constraints(self) -> list[bool]:
        """Whether each parameter changes the constraint equations: geometric parameters and those of drives do."""
        out = []
        for rates in self.rates:
            drawn = [*(getattr(rates.form, name) for name in DRAWN), *_floats(rates.loads.drives)]
            # dimensions that change the scale of the model alone leave rounding in its constraints
            own, units = self.model.units, rates.units
            others = [*(getattr(rates.form, name) for name in INERT)]
            others.append(np.array([units.length / own.length, units.mass / own.mass]))
            out.append(_most(drawn) > ROUNDING * _most(others))
        return out


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
    if not np.array_equal(values, plain.numbers):
        return None
    # a tape made for other numbers of the same structure may have taken other decisions: its derivatives are
    # then those of other formulas
    known = structure.follow(plain.numbers)
    if known is None:
        return None
    numbers = values.tolist()
    slopes = np.array([structure.replay.tangent(numbers, rate.tolist()) for rate in rates.T]).T
    models = (
        structure.blueprint.make(model.mechanism, np.ascontiguousarray(slopes[:, p]), structure)
        for p in range(count)
    )
    return DualModel(
        mechanism, model, tuple(models), known, slopes, DefinitionNumbers(values, rates)
    )


def _most(arrays: Sequence[Floats]) -> float:
    """The largest magnitude in some arrays."""
    return max((float(np.abs(x).max(initial=0.0)) for x in arrays), default=0.0)


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


def _stack(arrays: Sequence[Floats], scales: Floats) -> Floats:
    """Derivatives of an array by all parameters, (..., RATES)."""
    out = np.zeros((*arrays[0].shape, RATES))
    for p, (x, scale) in enumerate(zip(arrays, scales, strict=True)):
        out[..., p] = scale * x
    return out
