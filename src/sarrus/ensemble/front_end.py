"""`simulate_many` and `Ensemble`: batches of runs of one topology; run_batch.py does the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

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
    """

    def simulate(
        self, duration: float, output_step: float | None = None, **options: Any
    ) -> EnsembleResult:
        """Simulate all variants; arguments as for `simulate_many`."""
        return simulate_many(self, duration, output_step, **options)


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
        One row per mechanism. A mechanism that cannot be simulated has the status "refused" and the reason.
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
                f"entry {i} has {mechanism.dimension} dimensions, entry 0 {out[0].dimension}; give planar and "
                "spatial mechanisms to calls of their own"
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
