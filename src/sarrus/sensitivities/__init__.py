"""Derivatives of a run by parameters of its mechanism, and the time until which they exist.

`Result.sensitivity` differentiates by numbers of the mechanism's definition, `sensitivity` by the arguments of a
function that builds it. The equations are in kernels/variational.py and docs/sensitivities.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..lazy import load_on_use
from ..mechanism import Mechanism

if TYPE_CHECKING:
    from .differentiate import RecipeSensitivities

# the compiler and SciPy load slowly: modules are loaded on first use
__getattr__ = load_on_use(
    __name__,
    {
        "EnsembleSensitivity": "ensemble_derivatives",
        "Sensitivity": "tangent",
        "Validity": "validity",
    },
)


def sensitivity(
    build: Callable[..., Mechanism],
    values: Mapping[str, float],
    quantities: str | Sequence[str],
    duration: float,
    **settings: Any,
) -> RecipeSensitivities:
    """Differentiate a run by the arguments of the function that builds its mechanism.

    Parameters
    ----------
    build : callable
        Returns a `Mechanism`; takes the arguments by name, and uses NumPy functions (np.sin, np.sqrt), not those
        of math.
    values : mapping of str to float
        Values of the arguments, at which the derivatives are taken.
    quantities : str or sequence of str
        As for `Result.sensitivity`.
    duration : float
        Duration of the run [s].
    **settings
        Further arguments of `simulate`.

    Returns
    -------
    RecipeSensitivities
        `found[quantity, argument]` is a `Sensitivity`, `found.result` the run.

    Raises
    ------
    MechanismError
        If the function cannot be differentiated, or if no mechanism exists in the direction of an argument.

    Examples
    --------
    >>> import numpy as np
    >>> import sarrus
    >>> def build(length):
    ...     m = sarrus.Mechanism("pendulum")
    ...     end = (length * np.sin(0.4), -length * np.cos(0.4))
    ...     rod = m.rod("rod", (0, 0), end, mass=1.0)
    ...     m.revolute("A", m.ground, rod, at=(0, 0))
    ...     m.point("tip", rod, at=end)
    ...     return m
    >>> found = sarrus.sensitivity(build, {"length": 0.8}, ["tip"], 1.0)
    >>> round(float(found["tip", "length"].values[-1, 0]), 6)
    -0.926543
    """
    from .differentiate import of_recipe

    return of_recipe(build, values, quantities, duration, **settings)


__all__ = ["sensitivity"]
