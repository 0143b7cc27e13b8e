"""A run of one design, read by measures: quantities at any times, and their derivatives by the variables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ..arrays import Floats
from ..mechanism import MechanismError
from ..mechanism.event_requests import Event
from ..quantities import read_quantity
from ..result import Result
from ..sensitivities.run_derivatives import RunDerivatives
from ..sensitivities.run_parameters import DrawnParameters, RecipeParameters
from ..sensitivities.tangent import RunTangent
from .measures import Measure, NotReachedError

# Newton steps from the nearest output to the nearest point of a path
REFINEMENTS = 6
# step of differences in time for the rate of a quantity, over the duration: rounding leaves 1e-11 of the rate
RATE_STEP = 1e-4


class DesignRun:
    """A run with its polynomials, at the outputs and at the moments that measures read.

    source: the parameters by which it is differentiated; measures: those that read it.
    """

    def __init__(
        self,
        result: Result,
        source: DrawnParameters | RecipeParameters,
        measures: Sequence[Measure],
    ) -> None:
        if not result.success:
            raise NotReachedError(f"the run ended early: {result.message}")
        self._dense, self._source = result, source
        self.grid = result.times
        self._events: dict[str, float] = {}
        self._nearest: dict[int, Floats] = {}
        moments = [m.moments(self) for m in measures]
        self.times = np.unique(np.concatenate([self.grid, *moments]))

    @cached_property
    def result(self) -> Result:
        """The run at all moments that are read."""
        return self._dense if len(self.times) == len(self.grid) else self._dense.at(self.times)

    @cached_property
    def tangents(self) -> list[RunTangent]:
        """Derivatives by each variable; raises MechanismError where they do not exist."""
        found = RunDerivatives(self.result, self._source).take()
        for tangent in found:
            if not tangent.validity and tangent.validity.until <= self.times[-1]:
                raise MechanismError(
                    f"the run has no derivative by {tangent.parameter.name}: {tangent.validity}"
                )
        return found

    def read(self, quantity: str, times: Floats) -> Floats:
        """A quantity at some times, (n,)."""
        return self._known(read_quantity(self.result, quantity).values[self._at(times)], quantity)

    def read_point(self, point: str, times: Floats) -> Floats:
        """Positions of a point at some times, (n, dimension)."""
        return self.result.position(point)[self._at(times)]

    def slopes(self, quantity: str, times: Floats) -> Floats:
        """Derivatives of a quantity by the variables, (n, p)."""
        at = self._at(times)
        return np.stack([tangent.of(quantity).values[at] for tangent in self.tangents], axis=-1)

    def point_slopes(self, point: str, times: Floats) -> Floats:
        """Derivatives of the position of a point by the variables, (n, dimension, p)."""
        return self.slopes(point, times)

    def nearest(self, point: str, targets: Floats) -> Floats:
        """Times at which a point is nearest to targets, by Newton's method from the nearest outputs."""
        if id(targets) in self._nearest:
            return self._nearest[id(targets)]
        path = self._dense.position(point)
        k = np.argmin(((path[:, None] - targets[None]) ** 2).sum(axis=2), axis=0)
        low, high = self.grid[np.maximum(k - 1, 0)], self.grid[np.minimum(k + 1, len(path) - 1)]
        times = self.grid[k].copy()
        for _ in range(REFINEMENTS):
            order = np.argsort(times, kind="stable")
            unique, back = np.unique(times[order], return_inverse=True)
            there = self._dense.at(unique)
            rows = np.empty(len(times), dtype=int)
            rows[order] = back
            off = there.position(point)[rows] - targets
            v, a = there.velocity(point)[rows], there.acceleration(point)[rows]
            slope, curve = (off * v).sum(axis=1), (v * v + off * a).sum(axis=1)
            step = np.where(curve > 0.0, slope / np.where(curve > 0.0, curve, 1.0), 0.0)
            times = np.clip(times - step, low, high)
        self._nearest[id(targets)] = times
        return times

    def event_time(self, event: Event) -> float:
        """Time of an event; raises NotReachedError if it does not occur."""
        if event.name not in self._events:
            found = [e.time for e in self._dense.events if e.name == event.name]
            wanted = (event.count or 1) - 1
            if len(found) <= wanted:
                raise NotReachedError(f"the event '{event.name}' does not occur in the run")
            self._events[event.name] = found[wanted]
        return self._events[event.name]

    def event_slopes(self, event: Event) -> Floats:
        """Derivatives of the time of an event by the variables, (p,): - (dg/dp) / (dg/dt)."""
        time = self.event_time(event)
        return -self.slopes(event.of, np.array([time]))[0] / self.rate(event.of, time)

    def rate(self, quantity: str, time: float) -> float:
        """Time derivative of a quantity, by fourth-order differences of the polynomials of the run."""
        end, h = float(self.grid[-1]), RATE_STEP * float(self.grid[-1])
        middle = min(max(time, 2.0 * h), end - 2.0 * h)
        x = read_quantity(
            self._dense.at(middle + h * np.array([-2.0, -1.0, 1.0, 2.0])), quantity
        ).values
        return float((x[0] - 8.0 * x[1] + 8.0 * x[2] - x[3]) / (12.0 * h))

    def _at(self, times: Floats) -> np.ndarray:
        return np.searchsorted(self.times, times)

    def _known(self, values: Floats, quantity: str) -> Floats:
        if not np.isfinite(values).all():
            raise NotReachedError(f"'{quantity}' is not known at all times that are read")
        return values
