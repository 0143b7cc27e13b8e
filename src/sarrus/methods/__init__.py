"""How time advances: the methods, registered here."""

from ..model import Model
from ..names import unknown
from ..user_methods import UserMethod, find, installed
from . import auto, multipliers_dop853, radau, series, textbook
from .method import DRIVES, LOADS, USER_FORCES, Method, Run, Start
from .outcome import Motion, Outcome, Record, skipped
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
            restarts=True,
        ),
        Method(
            "radau",
            "Radau IIA of order 5 or 9, implicit, for stiff forces",
            "tolerance",
            radau.run,
            radau.OPTIONS,
            EVERYTHING,
            projects=True,
            restarts=True,
        ),
        Method(
            "energy-momentum",
            "Energy-momentum: midpoint forces, constraints at the end",
            "step",
            textbook.run_energy_momentum,
        ),
        Method(
            "ali3",
            "Index-3 augmented Lagrangian, trapezoidal, with projections",
            "step",
            textbook.run_ali3,
            textbook.ALI3_OPTIONS,
        ),
        Method(
            "generalized-alpha",
            "Generalized-alpha of index 3, or stabilised index 2",
            "step",
            textbook.run_generalized_alpha,
            textbook.GENERALIZED_ALPHA_OPTIONS,
        ),
        Method(
            "multipliers",
            "Lagrange multipliers with Baumgarte's terms, Runge-Kutta 4",
            "step",
            textbook.run_multipliers,
            textbook.MULTIPLIERS_OPTIONS,
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
            textbook.run_penalty,
            textbook.PENALTY_OPTIONS,
            frozenset({LOADS, USER_FORCES}),
        ),
        Method(
            "null-space",
            "Independent velocities by the null space of J, Runge-Kutta 4",
            "step",
            textbook.run_null_space,
            textbook.NULL_SPACE_OPTIONS,
            frozenset({LOADS, USER_FORCES}),
        ),
    )
}

# the choices of users; `auto` selects one of the other methods, so benchmarks have no row for it
AUTO = Method(
    "auto",
    "Series, and Radau IIA where stiffness limits its step",
    "tolerance",
    auto.run,
    does=EVERYTHING,
    projects=True,
    restarts=True,
)
CHOICES: dict[str, Method] = {AUTO.id: AUTO, **METHODS}


def get_method(name: str) -> Method:
    """Return the method of a name: a built-in one, or one from the user or an installed package."""
    if name in CHOICES:
        return CHOICES[name]
    user = find(name)
    if user is None:
        raise unknown(f"no method is called '{name}'", name, [*CHOICES, *installed()])
    return as_method(user)


def as_method(user: UserMethod) -> Method:
    """Return a user's function as a method."""
    if user.name in CHOICES:
        raise ValueError(f"'{user.name}' is the name of one of our methods; give yours another")
    from .user_method import run_user_method

    return Method(
        user.name, user.title, "step" if user.needs_step else "tolerance",
        lambda problem: run_user_method(user, problem), user.options, EVERYTHING,
        compiled=False, fingerprint=user.fingerprint,
    )  # fmt: skip


def first_part(method: Method, model: Model) -> Method:
    """Return the method that starts a run: the method itself, or the choice of `auto`."""
    return METHODS[auto.first_part(model)] if method is AUTO else method


__all__ = [
    "AUTO", "CHOICES", "METHODS", "Method", "Motion", "Outcome", "Record", "Run", "Start", "Status",
    "as_method", "first_part", "get_method", "skipped",
]  # fmt: skip
