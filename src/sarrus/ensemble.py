"""Many runs of one topology, mechanisms with numbers of their own, side by side. The heavy half: many.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .arrays import Floats
from .asked import MOST_STEPS, ask_plainly
from .mechanism import Mechanism, MechanismError
from .variants import Runs, Variants

CPU, GPU = "cpu", "gpu"
# runs times outputs times columns; more would not fit into memory
MOST_NUMBERS = 500_000_000


class Ensemble(Variants):
    """A mechanism with arrays of parameters: one topology, many variants.

    vary: an array a path of the model file ("bodies.crank.mass", "velocities.B0", "gravity"), its first axis
    the variants; a vector has an axis more. All arrays are of one length.
    """

    def simulate(self, duration: float, output_step: float | None = None, **options: Any) -> Runs:
        """Simulate all variants: as `simulate_many`."""
        return simulate_many(self, duration, output_step, **options)


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
) -> Runs:
    """Simulate many mechanisms, each as `simulate` would, those of one topology side by side.

    output_step, outputs, tolerance, max_steps: as for `simulate`. points: names of joints, points or bodies
    whose motion is wanted, all joints if left out; every mechanism has to have them. keep: False if final
    states, extremes and statuses are enough. crossings: also the times at which the mobility rises. threads: as
    many as there are cores if left out; they change no number. device: "cpu", or "gpu" (extra: sarrus[gpu]).

    A mechanism that cannot be simulated is a row with the status "refused" and the reason.
    """
    if not isinstance(mechanisms, Variants):
        mechanisms = list(mechanisms)
    if not len(mechanisms):
        raise ValueError("no mechanism was given; give at least one")
    if device not in (CPU, GPU):
        raise ValueError(f"device = {device!r}; give '{CPU}' or '{GPU}'")
    asked = ask_plainly(duration, output_step, outputs, tolerance, max_steps)
    first = mechanisms.base if isinstance(mechanisms, Variants) else mechanisms[0]
    if not isinstance(first, Mechanism):
        raise MechanismError(f"{first!r} is no mechanism; give sarrus.Mechanism")
    names = tuple(points) if points is not None else _joints(first)
    numbers = len(mechanisms) * len(asked.outputs) * (2 * first.dimension * len(names) + 1)
    if keep and numbers > MOST_NUMBERS:
        raise ValueError(
            f"{len(mechanisms)} runs of {len(asked.outputs)} outputs of {len(names)} points would not fit into "
            "memory; give fewer points or a longer output_step, or keep=False for final states and extremes alone"
        )
    from .many import run_all

    return run_all(
        mechanisms, asked, names, keep=keep, crossings=crossings, threads=threads, gpu=device == GPU
    )


def _joints(mechanism: Mechanism) -> tuple[str, ...]:
    return tuple(j.name for j in mechanism.joints if j.at is not None)
