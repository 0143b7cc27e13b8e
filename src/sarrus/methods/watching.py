"""Watching a run for singular positions, chunk by chunk, beside any method."""

from __future__ import annotations

import time

import numpy as np

from ..arrays import Floats, Ints
from ..kernels import watch as kernels
from ..kernels.layout import make_workspace
from ..model import Model
from ..model.dips import Piece, Stretch, Watch, without_masses

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
        # a drive's polynomial may start with a high power
        self._gaps = model.loads.drives.polynomials.shape[1] if len(model.form.driven) else 0
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
        self._stretches: list[Stretch] = []
        self.cpu = 0.0

    def look(
        self,
        starts: Floats,
        orders: Ints,
        coefficients: Floats,
        steps: int,
        *,
        last: bool,
    ) -> Stretch | None:
        """Watch the steps in the buffers; last: the run ends with them. Returns where dips are."""
        if not (steps and len(self._samples[0])):
            return None
        cpu = time.thread_time()
        count = kernels.watch(
            self._form, self._ws, starts, orders, coefficients, steps, self._gaps, not self._begun, last,
            self._times, self._samples, self._sums, self._found,
        )  # fmt: skip
        if not self._begun:
            self._begin = coefficients[0, :2].copy()
            self._later = coefficients[steps - 1, 0].copy()
        self._begun = True
        self._until = float(starts[steps])

        ends = starts[1 : steps + 1]
        new = None
        if count:
            times = self._found[:count].copy()
            firsts = np.minimum(np.searchsorted(ends, times[:, 0], "right"), steps - 1)
            finals = np.minimum(np.searchsorted(ends, times[:, 2], "left") + 1, steps)
            # only the steps around dips are kept
            change = np.zeros(steps + 1, np.int64)
            np.add.at(change, firsts, 1)
            np.subtract.at(change, finals, 1)
            kept = np.cumsum(change[:-1]) > 0
            place = np.concatenate([[0], np.cumsum(kept)])
            p = orders[:steps][kept]
            new = Stretch(
                times=times,
                starts=starts[:steps][kept],
                ends=ends[kept],
                orders=p,
                coefficients=coefficients[:steps, : int(p.max()) + 1][kept],
                firsts=place[firsts],
                finals=place[finals],
                before=tuple(self._tail),
            )
            self._stretches.append(new)
        # a dip around the end of these steps is seen by the next ones
        if not last:
            since = self._times[0]
            first = min(int(np.searchsorted(ends, since, "right")), steps - 1)
            self._tail = [p for p in self._tail if p.end > since]
            for n in range(first, steps):
                rows = coefficients[n, : orders[n] + 1].copy()
                self._tail.append(Piece(float(starts[n]), float(starts[n + 1]), rows))
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
            stretches=tuple(self._stretches),
            start=self._samples[4].copy(),
            usual=self._samples[3].copy(),
            begin=self._begin,
            later=self._later,
            until=self._until,
        )
