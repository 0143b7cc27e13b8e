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
__getattr__ = load_on_use(__name__, {"Sensitivity": "tangent", "Validity": "validity"})


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
    """
    from .differentiate import of_recipe

    return of_recipe(build, values, quantities, duration, **settings)


__all__ = ["sensitivity"]
