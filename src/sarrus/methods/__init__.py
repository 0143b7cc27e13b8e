"""How time advances: one file a method, registered here."""

from ..model import Model
from . import (
    ali3,
    auto,
    energy_momentum,
    generalized_alpha,
    multipliers,
    multipliers_dop853,
    null_space,
    penalty,
    radau,
    series,
)
from .method import DRIVES, LOADS, USER_FORCES, Method
from .outcome import Motion, Outcome, Record, skipped
from .run import Run
from .status import Status

EVERYTHING = frozenset({LOADS, DRIVES, USER_FORCES})

METHODS: dict[str, Method] = {
    method.id: method
    for method in (
        Method(
            "series",
            "Taylor series, order chosen at each step",
            "tolerance",
            series.run,
            does=frozenset({LOADS, DRIVES}),
            projects=True,
        ),
        Method(
            "radau",
            "Radau IIA of order 5, implicit, for stiff forces",
            "tolerance",
            radau.run,
            radau.OPTIONS,
            EVERYTHING,
            projects=True,
        ),
        Method(
            "energy-momentum",
            "Energy-momentum: midpoint forces, constraints at the end",
            "step",
            energy_momentum.run,
        ),
        Method(
            "ali3",
            "Index-3 augmented Lagrangian, trapezoidal, with projections",
            "step",
            ali3.run,
            ali3.OPTIONS,
        ),
        Method(
            "generalized-alpha",
            "Generalized-alpha of index 3, or stabilised index 2",
            "step",
            generalized_alpha.run,
            generalized_alpha.OPTIONS,
        ),
        Method(
            "multipliers",
            "Lagrange multipliers with Baumgarte's terms, Runge-Kutta 4",
            "step",
            multipliers.run,
            multipliers.OPTIONS,
            EVERYTHING,
        ),
        Method(
            "multipliers-dop853",
            "Lagrange multipliers with Baumgarte's terms, SciPy's DOP853",
            "tolerance",
            multipliers_dop853.run,
            multipliers_dop853.OPTIONS,
            EVERYTHING,
        ),
        Method(
            "penalty",
            "Bayo's penalty formulation, Runge-Kutta 4",
            "step",
            penalty.run,
            penalty.OPTIONS,
            frozenset({LOADS, USER_FORCES}),
        ),
        Method(
            "null-space",
            "Independent velocities by the null space of J, Runge-Kutta 4",
            "step",
            null_space.run,
            null_space.OPTIONS,
            frozenset({LOADS, USER_FORCES}),
        ),
    )
}

# what a user may choose; `auto` is one of the others, so it is no row of a benchmark
AUTO = Method(
    "auto",
    "Series, and Radau IIA where stiffness limits its step",
    "tolerance",
    auto.run,
    does=EVERYTHING,
    projects=True,
)
CHOICES: dict[str, Method] = {AUTO.id: AUTO, **METHODS}


def first_part(method: Method, model: Model) -> Method:
    """The method that a run begins with: itself, or what `auto` takes."""
    return METHODS[auto.first_part(model)] if method is AUTO else method


__all__ = [
    "AUTO", "CHOICES", "METHODS", "Method", "Motion", "Outcome", "Record", "Run", "Status",
    "first_part", "skipped",
]  # fmt: skip
