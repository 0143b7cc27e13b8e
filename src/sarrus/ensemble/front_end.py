"""`simulate_many` and `Ensemble`: batches of runs of one topology; run_batch.py does the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

from .. import sensitivities
from ..arrays import Floats
from ..mechanism import Mechanism, MechanismError
from ..mechanism.event_requests import Event, check_events
from ..memory import MEMORY_SHARE, free_memory
from ..names import suggests
from ..settings import MOST_STEPS, default_settings
from .variants import EnsembleResult, Variants

CPU, GPU = "cpu", "gpu"
# stored outputs exist twice: in the SIMD lanes and in the returned arrays
COPIES = 2


class Ensemble(Variants):
    """A mechanism with arrays of parameters: one topology, many variants.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism whose parameters vary.
    vary : mapping of str to array_like
        One array per path of the model file ("bodies.crank.mass", "velocities.B0", "gravity"). The first axis is
        the variant; vectors have a second axis. All arrays have the same length.

    Examples
    --------
    >>> import sarrus
    >>> m = sarrus.problems.get("n-four-bar", windows=1).mechanism()
    >>> runs = sarrus.Ensemble(m, {"bodies.crank 0.mass": [1.0, 2.0]}).simulate(1.0, 0.1)
    >>> len(runs.status)
    2
    """

    def simulate(
        self, duration: float, output_step: float | None = None, **options: Any
    ) -> EnsembleResult:
        """Simulate all variants; arguments as for `simulate_many`."""
        return simulate_many(self, duration, output_step, **options)

    def sensitivity(
        self,
        quantity: Any,
        wrt: Any,
        duration: float,
        output_step: float | None = None,
        **options: Any,
    ) -> Any:
        """Simulate all variants and differentiate quantities by parameters, one variant at a time.

        Parameters
        ----------
        quantity : str or sequence of str
            A point or another quantity at the outputs, as for `Result.sensitivity`.
        wrt : str, mapping or sequence of these
            Parameters, as for `Result.sensitivity`.
        duration, output_step, **options
            As for `simulate`.

        Returns
        -------
        EnsembleSensitivity
            With `values` (runs, n, ...), each row that of `Result.sensitivity` of the variant, and `validity` of
            each run. A list of parameters gives a list of these; a list of quantities a list of those lists.
        """
        return sensitivities.ensemble_derivatives.of_ensemble(
            self, quantity, wrt, duration, output_step, options
        )


@suggests
def simulate_many(
    mechanisms: Sequence[Mechanism] | Variants,
    duration: float,
    output_step: float | None = None,
    *,
    outputs: Sequence[float] | Floats | None = None,
    tolerance: float | None = None,
    points: Sequence[str] | None = None,
    keep: bool = True,
    crossings: bool = False,
    max_steps: int = MOST_STEPS,
    threads: int | None = None,
    device: str = CPU,
    events: Sequence[Event] = (),
) -> EnsembleResult:
    """Simulate many mechanisms, each as `simulate` would; mechanisms of one topology run as a batch.

    Parameters
    ----------
    mechanisms : sequence of Mechanism or Ensemble
        The mechanisms, of any topologies.
    duration, output_step, outputs, tolerance, max_steps
        As for `simulate`.
    points : sequence of str, optional
        Joints, points or bodies whose motion is recorded; every mechanism must have them. Default: all joints.
    keep : bool, optional
        False records only final states, extremes and statuses.
    crossings : bool, optional
        Also find the times at which the mobility rises.
    threads : int, optional
        Number of threads; the results do not depend on it. Default: the number of cores.
    device : {"cpu", "gpu"}, optional
        Where the runs are computed ("gpu" needs the extra sarrus[gpu]).
    events : sequence of Event, optional
        Events to locate, as for `simulate`. Runs with events or joint limits are done one at a time, on the host.

    Returns
    -------
    EnsembleResult
        One row per mechanism. A mechanism that cannot be simulated has the status "rejected" and the reason.

    Examples
    --------
    >>> import sarrus
    >>> four_bars = [sarrus.problems.get("n-four-bar", windows=1, speed=s).mechanism() for s in (1, 2)]
    >>> runs = sarrus.simulate_many(four_bars, 1.0, 0.1, points=["B0"])
    >>> runs.position("B0").shape
    (2, 11, 2)
    """
    if not isinstance(mechanisms, Variants):
        mechanisms = _listed(mechanisms)
    if device not in (CPU, GPU):
        raise ValueError(f"device = {device!r}; give '{CPU}' or '{GPU}'")
    settings = default_settings(duration, output_step, outputs, tolerance, max_steps)
    first = mechanisms.base if isinstance(mechanisms, Variants) else mechanisms[0]
    names = _joints(first) if points is None else _named(points)
    if threads is not None and (not isinstance(threads, Integral) or threads < 1):
        raise ValueError(f"threads = {threads!r}; give a whole number from 1, or leave it out")
    numbers = len(mechanisms) * len(settings.outputs) * (2 * first.dimension * len(names) + 1)
    if keep and 8.0 * COPIES * numbers > MEMORY_SHARE * free_memory():
        raise ValueError(
            f"{len(mechanisms)} runs of {len(settings.outputs)} outputs of {len(names)} points would not fit into "
            "memory; give fewer points or a longer output_step, or keep=False for final states and extremes alone"
        )
    from .run_batch import run_all

    return run_all(
        mechanisms,
        settings,
        names,
        keep=keep,
        crossings=crossings,
        threads=threads,
        gpu=device == GPU,
        events=check_events(events),
    )


def _joints(mechanism: Mechanism) -> tuple[str, ...]:
    return tuple(j.name for j in mechanism.joints if j.at is not None)


def _listed(mechanisms: Any) -> list[Mechanism]:
    """Mechanisms as a list; raises an error for anything else."""
    if isinstance(mechanisms, Mechanism | str) or not isinstance(mechanisms, Iterable):
        raise MechanismError(f"{mechanisms!r} is not a list of mechanisms; give a list of them")
    out = list(mechanisms)
    if not out:
        raise ValueError("no mechanism was given; give at least one")
    for i, mechanism in enumerate(out):
        if not isinstance(mechanism, Mechanism):
            raise MechanismError(
                f"entry {i}, {mechanism!r}, is not a mechanism; give sarrus.Mechanism"
            )
        if mechanism.dimension != out[0].dimension:
            raise ValueError(
                f"entry {i} has {mechanism.dimension} dimensions, entry 0 {out[0].dimension}; simulate planar "
                "and spatial mechanisms in separate calls"
            )
    return out


def _named(points: Any) -> tuple[str, ...]:
    """Names of points without duplicates; raises an error for anything else."""
    if isinstance(points, str) or not isinstance(points, Iterable):
        raise ValueError(f"points = {points!r}; give a list of names, like ['B0']")
    names = tuple(points)
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise ValueError(f"points holds {twice[0]!r} more than once; give every name once")
    return names
