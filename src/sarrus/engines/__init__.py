"""Other engines through the same door: the same mechanisms, our clock, our judge."""

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
    """All engines by name: ours, and those that installed packages bring (entry point `sarrus.engines`)."""
    found = dict(ENGINES)
    for entry in entry_points(group=GROUP):
        package = entry.dist.name if entry.dist else "a package"
        try:
            row = entry.load()
        except Exception as error:
            raise ValueError(
                f"engine '{entry.name}' of {package} cannot be loaded ({type(error).__name__}: {error}); "
                "mend or uninstall it"
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

    The engine gives poses and velocities of the bodies; places of points, energy and closure are recomputed from
    them by our own equations. Outputs are ends of steps, those nearest to output_step [s], a thousandth of the
    duration if left out. settings: of the engine, as `sarrus engines` lists them.

    Raises MechanismError with a sentence for what the engine cannot represent, ValueError for other arguments and
    where it is not installed. A run that breaks down ends early: `result.status` says so.
    """
    row = pick(known_engines(), engine, "engine")
    seconds = check_seconds("duration", duration)
    every = None if output_step is None else check_within("output_step", output_step, seconds)
    h = check_within("step", step, seconds)
    if not isinstance(mechanism, Mechanism):
        raise MechanismError(f"{mechanism!r} is no mechanism; give a sarrus.Mechanism")
    check_mechanism(mechanism)
    # loads the compiler
    from .running import run_engine

    return run_engine(row, mechanism.copy(), seconds, h, every, settings)
