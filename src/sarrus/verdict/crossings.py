"""Records of the crossings and near misses of a simulation."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats
from ..names import counted
from ..notebook_display import Sentences, html_table
from ..thresholds import AT_MOMENT, LEAST_ZERO, MOST_ZERO
from .branches import Branches, find_branches
from .joint_equations import JointEquations
from .rank import Rank

if TYPE_CHECKING:
    from ..model import Model


# values of W at a crossing count as zero up to this multiple of the tolerance of the run, and never above
# MOST_ZERO
RUN_SHARE = 1.0


@dataclass(frozen=True)
class _Moment(Sentences):
    """A configuration of a motion with its rank.

    time [s]; rank: of W at this configuration, with the values that decided; rank_nearby: shortly before or after;
    energy: drift [J], and closure: violation of the constraints [m], at the last output before and the first
    output after (nan where there is none).
    """

    time: float
    rank: Rank
    rank_nearby: Rank
    energy_before: float
    energy_after: float
    closure_before: float
    closure_after: float
    coordinates: Floats = field(repr=False)
    rates: Floats = field(repr=False)
    model: Model = field(repr=False)
    equations: JointEquations = field(repr=False)

    def position(self, name: str) -> Floats:
        """World position of a joint, named point or centre of mass of a body at this moment [m]."""
        return np.asarray(self.model.origin(name) + self.model.point_rows(name) @ self.coordinates)

    def velocity(self, name: str) -> Floats:
        """Velocity of a joint, named point or centre of mass of a body at this moment [m/s]."""
        return np.asarray(self.model.point_rows(name) @ self.rates)

    def _record(self) -> dict[str, Any]:
        return {
            "time": self.time,
            "rank": self.rank.as_dict(),
            "rank_nearby": self.rank_nearby.as_dict(),
            "energy_before": self.energy_before,
            "energy_after": self.energy_after,
            "closure_before": self.closure_before,
            "closure_after": self.closure_after,
            "sentence": str(self),
        }

    def _around(self) -> str:
        energy = (self.energy_before, self.energy_after)
        closure = (self.closure_before, self.closure_after)
        return f"energy drift {_before_after(energy, 'J')}; closure {_before_after(closure, 'm')}"


class ListedMoments(tuple[Any, ...]):
    """Crossings or near misses in order of time; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        title = counted(len(self), "moment")
        rows = [(f"{m.time:.9g}", m.rank_nearby.rank, m.rank.rank, str(m)) for m in self]
        return html_table(title, ("t [s]", "rank before", "rank here", "what"), rows)


@dataclass(frozen=True)
class Crossing(_Moment):
    """A singular configuration on the motion at which the mobility rises: branches meet there.

    time [s]; rank, rank_nearby: of W here and at a configuration nearby; energy drift [J] and closure [m] before
    and after; position(name), velocity(name): of its points.
    """

    @property
    def mobility_motion(self) -> int:
        """Mobility before and after the crossing."""
        return self.rank_nearby.columns - self.rank_nearby.rank

    @property
    def mobility_here(self) -> int:
        """Instantaneous mobility at the crossing."""
        return self.rank.columns - self.rank.rank

    @property
    def rise(self) -> int:
        """Increase of the mobility over its value before and after."""
        return self.mobility_here - self.mobility_motion

    @property
    def value(self) -> float:
        """The largest singular value of W that counts as zero here."""
        return self.rank.below[0]

    @cached_property
    def branches(self) -> Branches:
        """The branches that meet here, computed on first access."""
        return find_branches(self.model, self.equations, self.coordinates, self.rates)

    def __str__(self) -> str:
        return (
            f"crossing at t = {self.time:.12g} s: the mobility rises from {self.mobility_motion} to "
            f"{self.mobility_here}; {self.rank.how}: {self.value:.1e} counts as zero (tolerance "
            f"{self.rank.tolerance:.1e}), the next is {self.rank.smallest:.2g}; {self._around()}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The record as a dictionary for JSON."""
        return {
            "mobility_motion": self.mobility_motion,
            "mobility_here": self.mobility_here,
            "value": self.value,
            **self._record(),
        }


@dataclass(frozen=True)
class NearMiss(_Moment):
    """A singular configuration that is passed closely, but not reached: reactions are large there.

    misfit: dimensional mismatch that prevents a crossing, relative to the length of the mechanism, if the run
    stepped over a near miss that is too sharp for its tolerance; else 0.
    """

    misfit: float = 0.0

    @property
    def value(self) -> float:
        """The smallest singular value of W here."""
        return self.rank.smallest

    def __str__(self) -> str:
        text = (
            f"near-singular at t = {self.time:.9g} s: {self.rank.how}: the smallest is "
            f"{self.value:.2e} (tolerance {self.rank.tolerance:.1e}), nearby "
            f"{self.rank_nearby.smallest:.2g}; {self._around()}"
        )
        if self.misfit:
            text += (
                f"; the dimensions miss a crossing by {self.misfit:.1e} of the mechanism's length, which is too "
                "little for the run's tolerance: it went straight on"
            )
        return text

    def as_dict(self) -> dict[str, Any]:
        """The record as a dictionary for JSON."""
        return {"value": self.value, "misfit": self.misfit, **self._record()}


@dataclass(frozen=True)
class RunOutputs:
    """Outputs of a run in addition to its polynomials: times [s], energy drift [J], closure [m]."""

    times: Floats
    energy: Floats
    closure: Floats

    def around(self, t: float) -> tuple[float, float, float, float]:
        """Energy and closure at the outputs before and after a time."""
        at = AT_MOMENT * float(self.times[-1]) if len(self.times) else 0.0
        i = int(np.searchsorted(self.times, t - at))
        j = int(np.searchsorted(self.times, t + at))
        out = []
        for column in (self.energy, self.closure):
            out += [
                float(column[i - 1]) if i > 0 else float("nan"),
                float(column[j]) if j < len(self.times) else float("nan"),
            ]
        return out[0], out[1], out[2], out[3]


def zero_of(tolerance: float) -> float:
    """Values of W that count as zero at a crossing of a run with this tolerance."""
    return max(LEAST_ZERO, min(RUN_SHARE * tolerance, MOST_ZERO))


def _before_after(values: tuple[float, float], unit: str) -> str:
    """Both values in words; at an end of a run there is only one."""
    words = zip(values, ("before", "after"), strict=True)
    return ", ".join(f"{x:.1e} {unit} {where}" for x, where in words if np.isfinite(x)) or "unknown"
