"""What a problem is: a mechanism plus numbers. Nothing here knows how it is solved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..mechanism import Mechanism

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """What a result must keep; None where the problem asks nothing.

    energy_drift [J]: largest drift of the total energy. low, high: largest error of the observed
    point, relative with `threshold`, for the two precision classes of the MBS Benchmark library.
    end_error [m]: of the observed point at the last output. path [m]: further off than this at any
    time is another motion; ours, because an energy limit alone accepts a wrong branch.
    """

    energy_drift: float | None = None
    low: float | None = None
    high: float | None = None
    threshold: float | None = None
    end_error: float | None = None
    path: float | None = None

    def __str__(self) -> str:
        parts = []
        if self.energy_drift is not None:
            parts.append(f"energy drift < {self.energy_drift:g} J")
        if self.high is not None:
            parts.append(f"error < {self.low:g} (low), {self.high:g} (high)")
        if self.end_error is not None:
            parts.append(f"error at the end < {self.end_error:g} m (ours)")
        return "; ".join(parts)


Columns = dict[str, Floats]


@dataclass(frozen=True)
class Branch:
    """The right branch of a motion with one freedom, and what columns say about it.

    name: of the branch; path: what the observed point moves on; distance: of each row from it [m].
    energy: of each row by the observed point alone, 0 at the start [J], nan where the columns do not
    tell it, None if they never do; scale: largest kinetic energy on the branch [J]; silence: longest
    time on the branch without a telling row [s]. singular: times at which another branch begins, and
    what to call those positions; relatives: options of the same problem that columns may belong to.
    """

    name: str
    path: str
    distance: Callable[[Columns], Floats]
    energy: Callable[[Columns], Floats] | None = None
    scale: float = 0.0
    silence: float = np.inf
    singular: Callable[[float], Floats] = lambda duration: np.empty(0)
    position: str = "singular position"
    relatives: Callable[[Columns], list[dict[str, float]]] = lambda columns: []


@dataclass(frozen=True)
class Panel:
    """One set of axes: which columns are drawn over time, and how."""

    label: str
    columns: tuple[str, ...]
    log: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure of the problem's source; until: last time drawn [s], None for all."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    until: float | None = None


@dataclass(frozen=True)
class Problem:
    """A benchmark problem: how to build it, how long to run it, what to compare it with.

    library: where it comes from, in short; source: the paper or page. observed: name of the point that
    is compared; columns: of the result file, in the source's order
    (t, then x y z vx vy vz of the observed point, energy, and violations by level). branch: how to
    tell from columns that the motion is another one; None where they cannot tell.
    """

    id: str
    title: str
    library: str
    source: str
    note: str
    version: int
    duration: float
    output_step: float
    limits: Limits
    observed: str
    columns: tuple[str, ...]
    figures: tuple[Figure, ...]
    options: dict[str, float]
    build: Callable[[], Mechanism] = field(repr=False)
    exact: Callable[[Floats], Floats] = field(repr=False)
    branch: Branch | None = field(default=None, repr=False)

    def mechanism(self) -> Mechanism:
        """A new mechanism of this problem, at its start."""
        return self.build()

    def reference(self, times: Floats) -> Floats:
        """Exact motion of the observed point: position columns, then velocity columns."""
        return self.exact(np.asarray(times, dtype=float))
