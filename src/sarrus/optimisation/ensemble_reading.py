"""Runs of ensembles, read as single runs are: coordinates and velocities of points."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..arrays import Floats
from ..ensemble.variants import EnsembleResult
from ..mechanism import Mechanism
from ..mechanism.event_requests import Event
from .measures import NotReachedError


class EnsembleRow:
    """One run of an ensemble, as measures read it."""

    def __init__(self, runs: EnsembleResult, number: int, grid: Floats) -> None:
        if str(runs.status[number]) != "done":
            raise NotReachedError(runs.message[number])
        self._runs, self._number, self.grid = runs, number, grid

    def read(self, quantity: str, times: Floats) -> Floats:
        """A coordinate of a point at some times."""
        point, word = split_coordinate(quantity)
        read = self._runs.velocity if word[0] == "v" else self._runs.position
        return read(point)[self._number][self._at(times), "xyz".index(word[-1])]

    def read_point(self, point: str, times: Floats) -> Floats:
        """Positions of a point at some times."""
        return self._runs.position(point)[self._number][self._at(times)]

    def nearest(self, point: str, targets: Floats) -> Floats:
        """Outputs at which a point is nearest to targets."""
        path = self._runs.position(point)[self._number]
        return self._runs.times[np.argmin(((path[:, None] - targets[None]) ** 2).sum(2), axis=0)]

    def event_time(self, event: Event) -> float:
        """Ensembles do not locate events."""
        raise NotReachedError(f"'{event.name}' is not located in ensembles")

    def _at(self, times: Floats) -> np.ndarray:
        return np.searchsorted(self._runs.times, times)


def split_coordinate(quantity: str) -> tuple[str, str]:
    """Point and word of a coordinate, "B.vx"."""
    point, _, word = quantity.rpartition(".")
    return point, word


def find_points(quantities: Iterable[str], mechanism: Mechanism) -> list[str] | None:
    """Points whose motion gives all quantities, names of points included; None if some need more."""
    known = {j.name for j in mechanism.joints if j.at is not None}
    known |= {p.name for p in mechanism.markers} | {b.name for b in mechanism.bodies}
    words = {f"{level}{axis}" for level in ("", "v") for axis in "xyz"[: mechanism.dimension]}
    found = []
    for quantity in quantities:
        point, word = (quantity, "x") if quantity in known else split_coordinate(quantity)
        if point not in known or word not in words:
            return None
        found.append(point)
    return list(dict.fromkeys(found))
