"""Optimisation of mechanisms with exact gradients: variables, an objective, constraints, searches from many starts.

    problem (variables, measures)  ->  runs with derivatives  ->  SLSQP or trust-constr  ->  check  ->  page
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..lazy import load_on_use
from ..mechanism import Mechanism
from ..names import suggests

if TYPE_CHECKING:
    from .optimise import OptimisationProgress
    from .optimum import Optimum

# SciPy, the compiler and pydantic load slowly: modules are loaded on first use
__getattr__ = _load = load_on_use(__name__, {"Optimum": "optimum", "SearchEnd": "search"})


@suggests
def optimize(
    mechanism: Mechanism | Callable[..., Mechanism],
    variables: Mapping[str, Any],
    objective: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    constraints: Sequence[Mapping[str, Any]] = (),
    *,
    duration: float | None = None,
    output_step: float | None = None,
    maximise: bool = False,
    starts: int = 1,
    seed: int = 0,
    method: str = "slsqp",
    max_iterations: int = 200,
    tolerance: float | None = None,
    state: str | Path | None = None,
    progress: Callable[[OptimisationProgress], None] | None = None,
) -> Optimum:
    """Find values of variables for which a quantity of the motion is smallest, with derivatives of the runs.

    Parameters
    ----------
    mechanism : Mechanism or callable
        The mechanism, or a function of the variables that builds it (where lengths change); the function uses
        NumPy functions (np.sin, np.sqrt), not those of math.
    variables : mapping
        Bounds of each variable: (lowest, highest) or (lowest, highest, start). Keys are paths of the model file
        ("bodies.flywheel.mass", "joints.B.at.0": everything drawn at this place moves), or arguments of the
        function. Default of the start: the present value; for a function the middle.
    objective : mapping or sequence of mappings
        A measure of the run: {"rms": "motor torque"}; or several, which are added: [{"maximum": "B.x",
        "weight": 2.0}, ...]. docs/optimisation.md lists the words.
    constraints : sequence of mappings, optional
        Measures with a bound each: {"largest": "motor torque", "at_most": 5.0}; also `at_least` and `equals`.
    duration : float, optional
        Duration of the run [s]. Default: one cycle of the drive.
    output_step : float, optional
        Time between outputs [s]. Default: a 200th of the duration; half a degree of a cycle.
    maximise : bool, optional
        Whether the objective is to be as large as possible.
    starts : int, optional
        Number of searches: from the start, and from the best of some eight times as many designs within the
        bounds, which are run as an ensemble where possible.
    seed : int, optional
        Seed of these designs.
    method : {"slsqp", "trust-constr"}, optional
        The algorithm of SciPy.
    max_iterations : int, optional
        Largest number of iterations of a search.
    tolerance : float, optional
        Tolerance of the runs, as for `simulate`.
    state : path, optional
        File in which the searches are kept; the same call resumes an interrupted one.
    progress : callable, optional
        Called with an `OptimisationProgress` after each run.

    Returns
    -------
    Optimum
        `values`, `objective`, `mechanism`, `result`, `status`; `save_page` writes a page with before and after.

    Raises
    ------
    MechanismError
        If the mechanism at the start cannot be run, or has no derivatives.
    ValueError
        If another argument is invalid.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.Mechanism("pendulum", gravity=(0, -9.81))
    >>> rod = m.rod("rod", (0, 0), (0, -1), mass=1.0)
    >>> _ = m.revolute("A", m.ground, rod, at=(0, 0))
    >>> _ = m.point("tip", rod, at=(0, -1))
    >>> m.set_velocity("tip", (1.0, 0.0))
    >>> best = sarrus.optimize(
    ...     m,
    ...     {"velocities.tip.0": (0.1, 4.0)},
    ...     {"difference": "tip.x", "to": [0.5], "at": [0.3]},
    ...     duration=0.5,
    ... )
    >>> best.status
    'converged'
    """
    problem = _load("problem").make_problem(
        mechanism,
        variables,
        objective,
        constraints,
        duration=duration,
        output_step=output_step,
        maximise=maximise,
        settings={} if tolerance is None else {"tolerance": tolerance},
    )
    return _load("optimise").run_optimisation(
        problem,
        starts=starts,
        seed=seed,
        method=method,
        most_iterations=max_iterations,
        state=state,
        progress=progress,
    )


def make_optimisation_schema() -> dict[str, Any]:
    """Return the JSON Schema of an optimisation file."""
    return _load("optimisation_file").make_optimisation_schema()


__all__ = ["make_optimisation_schema", "optimize"]
