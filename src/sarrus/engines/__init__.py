"""Run other engines through one interface: the same mechanisms, timing and checks for all."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from ..mechanism import Mechanism, MechanismError, check_mechanism
from ..names import pick, suggests
from ..result import Result
from ..settings import check_seconds, check_within
from .engine import Engine, EnginePlan, Trial, Value, World
from .table import ENGINES
from .tree import Poses

__all__ = [
    "ENGINES",
    "Engine",
    "EnginePlan",
    "Poses",
    "Trial",
    "World",
    "known_engines",
    "simulate_with",
]

GROUP = "sarrus.engines"


@cache
def known_engines() -> dict[str, Engine]:
    """Return all engines by name, including those of installed packages (entry point `sarrus.engines`)."""
    found = dict(ENGINES)
    for entry in entry_points(group=GROUP):
        package = entry.dist.name if entry.dist else "a package"
        try:
            row = entry.load()
        except Exception as error:
            raise ValueError(
                f"engine '{entry.name}' of {package} cannot be loaded ({type(error).__name__}: {error}); "
                "fix or uninstall it"
            ) from error
        if not isinstance(row, Engine) or row.id != entry.name or entry.name in ENGINES:
            raise ValueError(
                f"engine '{entry.name}' of {package}: its entry point has to be a sarrus.engines.Engine with that "
                "id, which none of ours has"
            )
        found[row.id] = row
    return found


@suggests
def simulate_with(
    engine: str,
    mechanism: Mechanism,
    duration: float,
    *,
    step: float,
    output_step: float | None = None,
    **settings: Value,
) -> Result:
    """Simulate a mechanism with another engine, in steps of `step` seconds; a result like any other.

    The engine returns poses and velocities of the bodies. Positions of points, energy and constraint violations
    are recomputed from them with the equations of Sarrus.

    Parameters
    ----------
    engine
        Name of the engine, as listed by `sarrus engines`.
    mechanism
        The mechanism to simulate.
    duration
        Simulated time [s].
    step
        Step of the engine [s].
    output_step
        Time between outputs [s]; default: a thousandth of the duration. Outputs are the nearest ends of steps.
    **settings
        Settings of the engine, as listed by `sarrus engines`.

    Returns
    -------
    Result
        If the run breaks down it ends early, and `result.status` says so.

    Raises
    ------
    MechanismError
        If the engine cannot represent the mechanism.
    ValueError
        If another argument is invalid or the engine is not installed.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.problems.get("n-four-bar", windows=1).mechanism()
    >>> result = sarrus.simulate_with("mujoco", m, 1.0, step=0.005)  # doctest: +SKIP
    """
    row = pick(known_engines(), engine, "engine")
    seconds = check_seconds("duration", duration)
    every = None if output_step is None else check_within("output_step", output_step, seconds)
    h = check_within("step", step, seconds)
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"{mechanism!r} is not a mechanism; give a sarrus.Mechanism")
    check_mechanism(mechanism)
    # Importing this loads the compiler.
    from .running import run_engine

    return run_engine(row, mechanism.copy(), seconds, h, every, settings)
