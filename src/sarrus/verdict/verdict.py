"""The verdict on a simulation: start, configurations along the motion, crossings and near misses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats
from ..kinematics.configuration import read_poses, read_rows, read_spins
from ..notebook_display import Sentences
from ..thresholds import HIDDEN_BY_VIOLATION, SAME_END
from .crossings import Crossing, NearMiss
from .inspection import Inspection, inspect_equations
from .joint_equations import JointEquations
from .mobility import CROSSING, NEAR_SINGULAR, REGULAR
from .rank import Rank, measure_rank

if TYPE_CHECKING:
    from ..kinematics.configuration import BodyRows
    from ..mechanism import Mechanism

# number of configurations examined along a motion
POSES = 9
# longer lists are cut on the screen
MOST_LINES = 12


@dataclass(frozen=True)
class Verdict(Sentences):
    """Rank, mobility and redundancy along a simulation; print it for sentences, `as_dict()` for the record.

    inspection: at the start; times [s], ranks: at some outputs along the motion; crossings and near misses: all of
    them, None if the motion was not monitored; watched_until [s]: end of the monitored interval.
    """

    inspection: Inspection
    times: tuple[float, ...]
    ranks: tuple[Rank, ...] = field(repr=False)
    crossings: tuple[Crossing, ...] | None = field(repr=False)
    near_singular: tuple[NearMiss, ...] | None = field(repr=False)
    method: str
    watched_until: float = np.inf

    @property
    def mobility_motion(self) -> int:
        """The smallest mobility found along the motion, by the rank."""
        return (
            min(r.columns - r.rank for r in self.ranks)
            if self.ranks
            else self.inspection.mobility_motion
        )

    @property
    def redundant(self) -> tuple[int, int]:
        """Smallest and largest number of redundant joint equations at the configurations examined."""
        numbers = [r.rows - r.rank for r in self.ranks] or [self.inspection.redundant_here]
        return min(numbers), max(numbers)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that apply to the start or to some moment of the motion."""
        words = list(self.inspection.classes)
        for word, found in ((CROSSING, self.crossings), (NEAR_SINGULAR, self.near_singular)):
            if found and word not in words:
                words.append(word)
        return tuple(w for w in words if w != REGULAR) or (REGULAR,)

    @property
    def sentences(self) -> list[str]:
        """The verdict over the motion."""
        low, high = self.redundant
        some = f"{low} to {high}" if high > low else str(low or "no")
        constraints = "redundant constraint" if low == high == 1 else "redundant constraints"
        free = self.mobility_motion - len(self.inspection.mobility.idle_spins)
        left = " left by the drives" if self.inspection.driven else ""
        text = f"{free} degree{'s' * (free != 1)} of freedom{left}"
        out = [
            f"Over the motion ({len(self.ranks)} configurations): {text}, {some} {constraints}: "
            f"{', '.join(self.classes)}."
        ]
        if self.crossings is None:
            out.append("The motion was not monitored for crossings.")
            return out
        if self.times and self.watched_until < (1.0 - SAME_END) * self.times[-1]:
            out.append(f"Monitored until t = {self.watched_until:.9g} s of {self.times[-1]:.9g} s.")
        for found, one, more in (
            (self.crossings, "crossing", "crossings"),
            (self.near_singular or (), "near-singular moment", "near-singular moments"),
        ):
            out.append(
                f"{len(found) or 'No'} {one if len(found) == 1 else more}{':' if found else '.'}"
            )
            out += [f"  {x}" for x in found[:MOST_LINES]]
            if len(found) > MOST_LINES:
                out.append(f"  and {len(found) - MOST_LINES} more")
        return out

    def __str__(self) -> str:
        return "\n".join([str(self.inspection), *self.sentences])

    def as_dict(self) -> dict[str, Any]:
        """The record as numbers, strings and lists, for JSON."""
        return {
            "classes": list(self.classes),
            "mobility_motion": self.mobility_motion,
            "summary": self.inspection.summary,
            "redundant": list(self.redundant),
            "poses": [
                {"time": t, "rank": r.as_dict()}
                for t, r in zip(self.times, self.ranks, strict=True)
            ],
            "crossings": None if self.crossings is None else [c.as_dict() for c in self.crossings],
            "near_singular": None
            if self.near_singular is None
            else [c.as_dict() for c in self.near_singular],
            "watched_until": None if self.crossings is None else self.watched_until,
            "sentences": self.sentences,
            "start": self.inspection.as_dict(),
        }


def make_verdict(
    mechanism: Mechanism,
    bodies: BodyRows,
    equations: JointEquations,
    method: str,
    times: Floats,
    q: Floats,
    v: Floats,
    closure: Floats,
    moments: tuple[tuple[Crossing, ...], tuple[NearMiss, ...]] | None,
    watched_until: float,
) -> Verdict:
    """The verdict on a motion: outputs q, v at some times; closure [m]; moments: if monitored."""
    e = equations
    given = []
    if len(v) and np.any(v[0]):
        spins, _ = read_spins(bodies, q[:1], v[:1], np.zeros_like(q[:1]))
        twists = np.hstack([read_rows(bodies.centers, v[:1])[0], spins[0]])
        given = [("the given velocity", twists)]
    spread = np.linspace(0, len(times) - 1, POSES).round() if len(times) else np.zeros(0)
    chosen = np.unique(spread).astype(int).tolist()
    ranks = []
    for i in chosen:
        pose = read_poses(e.centers, bodies, q[i : i + 1])[0]
        tolerance = max(e.tolerance, HIDDEN_BY_VIOLATION * float(closure[i]) / e.length)
        ranks.append(measure_rank(e.scaled(pose).matrix, e.columns_a_body, tolerance))
    return Verdict(
        inspection=inspect_equations(mechanism, e, given),
        times=tuple(float(times[i]) for i in chosen),
        ranks=tuple(ranks),
        crossings=None if moments is None else moments[0],
        near_singular=None if moments is None else moments[1],
        method=method,
        watched_until=watched_until,
    )
