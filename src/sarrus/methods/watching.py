"""Watching a run for singular positions, chunk by chunk, beside any method."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from ..kernels import watch as kernels
from ..kernels.layout import make_workspace
from ..model import Model
from ..model.dips import Dip, Piece, Watch, without_masses
from .outcome import Floats

# a series turns a link by less than 5 rad in a step: more samples than this are never taken
MOST_SAMPLES = 32


class Watcher:
    """Keeps the stretches of a motion in which an equation comes close to depending on others.

    look() takes the polynomials of some steps, in the order of time. cpu: seconds it took.
    """

    def __init__(self, model: Model, capacity: int) -> None:
        nc = model.equations
        self._capacity = capacity
        self._form = without_masses(model.form)
        self._ws = make_workspace(model.form, 0)
        self._times = np.zeros(4)
        self._samples = np.zeros((5, nc))
        self._sums = np.zeros((3, nc))
        self._found = np.zeros((capacity * MOST_SAMPLES, 3))
        self._tail: list[Piece] = []
        self._until = 0.0
        self._begun = False
        self._begin = np.zeros((2, model.coordinates))
        self._later = np.zeros(model.coordinates)
        self.dips: list[Dip] = []
        self.cpu = 0.0

    def look(
        self,
        starts: Floats,
        orders: NDArray[np.int64],
        coefficients: Floats,
        steps: int,
        *,
        last: bool,
    ) -> list[Dip]:
        """Watch the steps in the buffers; last: the run ends with them. Returns the new dips."""
        if not (steps and len(self._samples[0])):
            return []
        cpu = time.thread_time()
        count = kernels.watch(
            self._form, self._ws, starts, orders, coefficients, steps, not self._begun, last,
            self._times, self._samples, self._sums, self._found,
        )  # fmt: skip
        if not self._begun:
            self._begin = coefficients[0, :2].copy()
            self._later = coefficients[steps - 1, 0].copy()
        self._begun = True
        self._until = float(starts[steps])

        def pieces(first: int, final: int) -> list[Piece]:
            at, p = starts[first : final + 1].tolist(), orders[first:final].tolist()
            rows = [coefficients[first + n, : p[n] + 1].copy() for n in range(final - first)]
            return [Piece(at[n], at[n + 1], rows[n]) for n in range(final - first)]

        found = self._found[:count]
        ends = starts[1 : steps + 1]
        firsts = np.searchsorted(ends, found[:, 0], "right").tolist()
        finals = np.searchsorted(ends, found[:, 2], "left").tolist()
        new = [
            Dip(
                (low, middle, high),
                (
                    *(p for p in self._tail if p.end > low),
                    *pieces(min(first, steps - 1), min(final + 1, steps)),
                ),
            )
            for (low, middle, high), first, final in zip(
                found.tolist(), firsts, finals, strict=True
            )
        ]
        # a dip around the end of these steps is seen by the next ones
        if not last:
            since = self._times[0]
            kept = min(int(np.searchsorted(ends, since, "right")), steps - 1)
            self._tail = [p for p in self._tail if p.end > since] + pieces(kept, steps)
        self.dips += new
        self.cpu += time.thread_time() - cpu
        return new

    def look_between(self, times: Floats, q: Floats, v: Floats, *, last: bool) -> None:
        """Watch the cubic polynomials between states at some times, (n,), (n, nq)."""
        for begin in range(0, len(times) - 1, self._capacity):
            end = min(begin + self._capacity, len(times) - 1)
            h = np.diff(times[begin : end + 1])[:, None]
            q0, v0 = q[begin:end], v[begin:end]
            dq, dv = q[begin + 1 : end + 1] - q0 - h * v0, v[begin + 1 : end + 1] - v0
            rows = np.stack([q0, v0, (3 * dq - h * dv) / h**2, (h * dv - 2 * dq) / h**3], axis=1)
            orders = np.full(end - begin, 3, np.int64)
            final = last and end == len(times) - 1
            self.look(times[begin : end + 1], orders, rows, end - begin, last=final)

    def watch(self) -> Watch:
        """All that was seen."""
        return Watch(
            form=self._form,
            dips=tuple(self.dips),
            start=self._samples[4].copy(),
            usual=self._samples[3].copy(),
            begin=self._begin,
            later=self._later,
            until=self._until,
        )
