"""Optimisation of mechanisms with derivatives of their runs: variables, objective, constraints, many starts.

problem (variables, measures)  ->  runs with derivatives  ->  SLSQP or trust-constr  ->  check  ->  page
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..lazy import load_on_use
from ..mechanism import Mechanism
from ..names import describe_known, suggests

if TYPE_CHECKING:
    from .optimise import OptimisationProgress
    from .optimum import Optimum

# SciPy, the compiler and pydantic load slowly: modules are loaded on first use
__getattr__ = _load = load_on_use(
    __name__, {"Optimum": "optimum", "SearchEnd": "search", "ToleranceBand": "tolerance_bands"}
)


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
    method: str = "slsqp",
    state: str | Path | None = None,
    progress: Callable[[OptimisationProgress], None] | None = None,
    **options: Any,
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
    method : {"slsqp", "trust-constr"}, optional
        The algorithm of SciPy.
    state : path, optional
        File in which the searches are kept; the same call resumes an interrupted one.
    progress : callable, optional
        Called with an `OptimisationProgress` after each run.
    **options
        `seed` of the designs between which starts are chosen (default 0), `max_iterations` of a search (200), and
        `tolerance` of the runs, as for `simulate`.

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
    known = {"seed": 0, "max_iterations": 200, "tolerance": None}
    for name in options:
        if name not in known:
            raise TypeError(f"optimize() has no argument '{name}'; {describe_known(name, known)}")
    given = known | options
    problem = _load("optimisation_problem").make_problem(
        mechanism,
        variables,
        objective,
        constraints,
        duration=duration,
        output_step=output_step,
        maximise=maximise,
        settings={} if given["tolerance"] is None else {"tolerance": given["tolerance"]},
    )
    return _load("optimise").run_optimisation(
        problem,
        starts=starts,
        seed=given["seed"],
        method=method,
        most_iterations=given["max_iterations"],
        state=state,
        progress=progress,
    )


@suggests
def tolerances(
    mechanism: Mechanism | Callable[..., Mechanism],
    tolerances: Mapping[str, Any],
    quantities: str | Sequence[str],
    duration: float,
    *,
    samples: int = 0,
    seed: int = 0,
    distribution: str = "normal",
    **settings: Any,
) -> Any:
    """Error bands of quantities of a run from tolerances of dimensions, to first order and by a Monte Carlo.

    Parameters
    ----------
    mechanism : Mechanism or callable
        The nominal mechanism, or a function of the dimensions that builds it.
    tolerances : mapping
        The tolerance of each dimension, plus or minus: {"joints.B.at.0": 1e-4}; for a function value and
        tolerance: {"crank": (0.1, 1e-4)}.
    quantities : str or sequence of str
        Names as for `Result.quantity`: "C.x", "rocker angle", "motor torque".
    duration : float
        Duration of the run [s].
    samples : int, optional
        Number of runs of a Monte Carlo that confirms the first-order bands; 0 for none. Coordinates and velocities
        of points are computed as an ensemble, other quantities one run at a time.
    seed : int, optional
        Seed of the Monte Carlo.
    distribution : {"normal", "uniform"}, optional
        Distribution of each dimension: normal with the tolerance at three standard deviations, or uniform.
    **settings
        Further arguments of `simulate`.

    Returns
    -------
    ToleranceBand or list of these
        With `values`, `worst`, `deviation`, `contributions`, and `sampled` of the Monte Carlo.

    Raises
    ------
    MechanismError
        If the mechanism cannot be simulated or differentiated.
    ValueError
        If another argument is invalid.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.Mechanism("slider-crank", gravity=(0, 0))
    >>> _ = m.slider_crank(crank=0.1, rod=0.35, angle=1.0, mass=1.0)
    >>> _ = m.drive("motor", "O", sarrus.Polynomial((0, 10.0)))
    >>> band = sarrus.tolerances(m, {"joints.A.at.0": 1e-4}, "B.x", 0.6, samples=0)
    >>> f"{1e3 * band.worst.max():.3f} mm"
    '0.205 mm'
    """
    return _load("tolerance_bands").find_bands(
        mechanism,
        tolerances,
        quantities,
        duration,
        samples=samples,
        seed=seed,
        distribution=distribution,
        settings=settings,
    )


def make_optimisation_schema() -> dict[str, Any]:
    """Return the JSON Schema of an optimisation file."""
    return _load("optimisation_file").make_optimisation_schema()


__all__ = ["make_optimisation_schema", "optimize", "tolerances"]
