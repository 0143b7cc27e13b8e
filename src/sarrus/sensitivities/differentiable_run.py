"""A run as a function of its parameters, with its Jacobian: the common part of sarrus.jax and sarrus.torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..mechanism import Mechanism, MechanismError
from ..quantities import read_quantity
from ..result import Result
from ..simulate import simulate
from .run_derivatives import RunDerivatives
from .run_parameters import DrawnParameters, RecipeParameters


class DifferentiableRun:
    """Quantities of a run at its outputs, as a function of the values of parameters.

    parameters: paths of a mechanism, or start values of the arguments of a function that builds it.
    """

    def __init__(
        self,
        mechanism: Mechanism | Callable[..., Mechanism],
        parameters: Sequence[str] | Mapping[str, float],
        quantities: str | Sequence[str],
        duration: float,
        settings: dict[str, Any],
    ) -> None:
        names = [parameters] if isinstance(parameters, str) else list(parameters)
        self._source: DrawnParameters | RecipeParameters
        if isinstance(mechanism, Mechanism):
            self._source = DrawnParameters(mechanism, names)
        elif isinstance(parameters, Mapping):
            self._source = RecipeParameters(mechanism, parameters)
        else:
            raise ValueError("a function needs the values of its arguments: give {'length': 0.8}")
        self._base = np.array([self._source.value(p) for p in range(len(names))])
        self._quantities = [quantities] if isinstance(quantities, str) else list(quantities)
        self._duration, self._settings = duration, settings
        self._last: tuple[bytes, Result, Any] | None = None
        self._jacobian: Floats | None = None
        self.parameters = tuple(names)
        self.outputs = len(self._at(self._base)[0].times)

    @property
    def start(self) -> Floats:
        """Values of the parameters of the mechanism as it was given, (p,)."""
        return self._base.copy()

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of outputs and of quantities."""
        return self.outputs, len(self._quantities)

    def values(self, x: ArrayLike) -> Floats:
        """The quantities, (outputs, quantities); raises MechanismError if the run ends early."""
        result, _ = self._at(x)
        return np.stack([read_quantity(result, q).values for q in self._quantities], axis=1)

    def jacobian(self, x: ArrayLike) -> Floats:
        """Their derivatives, (outputs, quantities, p); raises MechanismError where they do not exist."""
        result, source = self._at(x)
        if self._jacobian is None:
            tangents = RunDerivatives(result, source).take()
            found = [[t.of(q).values for t in tangents] for q in self._quantities]
            self._jacobian = np.moveaxis(np.array(found), 2, 0)
            for tangent in tangents:
                if not tangent.validity:
                    self._jacobian = None
                    raise MechanismError(
                        f"the run has no derivative by {tangent.parameter.name}: {tangent.validity}"
                    )
        return self._jacobian

    def _at(self, x: ArrayLike) -> tuple[Result, Any]:
        values = np.asarray(x, dtype=float)
        if values.shape != self._base.shape:
            raise ValueError(f"{values.shape} parameters; give {len(self._base)} numbers")
        key = values.tobytes()
        if self._last is None or self._last[0] != key:
            source = self._source.moved((values - self._base).tolist())
            result = simulate(source.build(), self._duration, dense=True, **self._settings)
            if not result.success:
                raise MechanismError(f"the run ended early: {result.message}")
            self._last, self._jacobian = (key, result, source), None
        return self._last[1], self._last[2]
