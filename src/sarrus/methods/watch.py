"""Watching a run for singular positions: stretches in which an equation comes close to depending on others."""

from __future__ import annotations

import time
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Flags, Floats, Ints, plain_sum
from ..kernels import watch as kernels
from ..kernels.layout import Form, Pieces, make_workspace
from ..model import Model
from ..thresholds import EPS, SINGULAR_START, WATCHED_PIVOT

# steps whose polynomials are watched at once
AT_ONCE = 1024
# a series turns a link by less than 5 rad in a step: more samples than this are never taken
MOST_SAMPLES = 32
# numbers that are kept of the steps around dips: half a gigabyte
MOST_NUMBERS = 64_000_000


@dataclass(frozen=True)
class Piece:
    """The motion from `start` to `end` [s]: q = sum of coefficients[k] (t - start)^k, model units."""

    start: float
    end: float
    coefficients: Floats

    def position(self, t: float) -> Floats:
        """Coordinates at a time."""
        return np.asarray(np.polynomial.polynomial.polyval(t - self.start, self.coefficients))

    def velocity(self, t: float) -> Floats:
        """Their rates."""
        rates = self.coefficients[1:] * np.arange(1.0, len(self.coefficients))[:, None]
        return np.asarray(np.polynomial.polynomial.polyval(t - self.start, rates))


@dataclass(frozen=True)
class Dip:
    """Three times [s] between which a pivot dips, and the motion there."""

    times: tuple[float, float, float]
    pieces: tuple[Piece, ...]

    def piece(self, t: float) -> Piece:
        """The piece that holds a time; the first and the last go on beyond their ends."""
        return self.pieces[bisect_left(self.pieces[:-1], t, key=lambda p: p.end)]


@dataclass(frozen=True)
class Stretch:
    """Dips among some steps, as they are kept during a run: their times (n, 3), and the steps around them.

    starts, ends [s], orders, coefficients: of these steps; firsts, finals: which of them belong to each
    dip; before: pieces of earlier steps that the first dips begin in.
    """

    times: Floats
    starts: Floats
    ends: Floats
    orders: Ints
    coefficients: Floats
    firsts: Ints
    finals: Ints
    before: tuple[Piece, ...]

    def dips(self) -> list[Dip]:
        """The dips one by one."""
        pieces = [
            Piece(float(start), float(end), rows[: order + 1])
            for start, end, order, rows in zip(
                self.starts, self.ends, self.orders, self.coefficients, strict=True
            )
        ]
        return [
            Dip(
                (low, middle, high),
                (*(p for p in self.before if p.end > low), *pieces[first:final]),
            )
            for (low, middle, high), first, final in zip(
                self.times.tolist(), self.firsts, self.finals, strict=True
            )
        ]


@dataclass(frozen=True)
class Watch:
    """What was seen along a motion: stretches with dips, and the form (masses left out) whose pivots were watched.

    start: the pivot of each equation at the start; usual: the largest that it has shown; begin: position
    and velocity at the start; later: a position some steps later; until: the motion was watched up to
    there [s].
    """

    form: Form
    stretches: tuple[Stretch, ...]
    start: Floats
    usual: Floats
    begin: Floats
    later: Floats
    until: float

    @cached_property
    def dips(self) -> tuple[Dip, ...]:
        """All dips of the run."""
        return tuple(dip for stretch in self.stretches for dip in stretch.dips())

    @property
    def singular_start(self) -> bool:
        """Whether an equation depends on others at the start, and not all along."""
        return bool(
            np.any((self.usual > WATCHED_PIVOT) & (self.start < SINGULAR_START * self.usual))
        )


class Watcher:
    """Keeps the stretches of a motion in which an equation comes close to depending on others.

    look() takes the polynomials of some steps, in the order of time, of one method or of several one after the
    other. cpu: seconds it took.
    """

    def __init__(self, model: Model) -> None:
        nc = model.equations
        self._form = without_masses(model.form)
        # a drive's polynomial may start with a high power
        self._gaps = model.loads.drives.polynomials.shape[1] if len(model.form.driven) else 0
        self._ws = make_workspace(model.form, 0)
        self._spans = np.zeros((2, 4))
        self._levels = np.zeros((2, 6, nc))
        self._times, self._samples = self._spans[0], self._levels[0]
        self._sums = np.zeros((3, nc))
        self._found = np.zeros((AT_ONCE * MOST_SAMPLES, 3))
        self._tail: list[Piece] = []
        self._until = 0.0
        self._begun = False
        self._begin = np.zeros((2, model.coordinates))
        self._later = np.zeros(model.coordinates)
        self._stretches: list[Stretch] = []
        self._kept = 0
        self._blind: float | None = None
        self.cpu = 0.0

    def look(self, pieces: Pieces, steps: int, *, last: bool) -> list[Stretch]:
        """Watch some steps; last: the run ends with them. Returns where there are dips."""
        cpu = time.thread_time()
        before = len(self._stretches)
        for first in range(0, steps, AT_ONCE):
            final = min(first + AT_ONCE, steps)
            self._look(pieces.some(first, final), final - first, last and final == steps)
        self.cpu += time.thread_time() - cpu
        return self._stretches[before:]

    def _look(self, pieces: Pieces, steps: int, last: bool) -> None:
        starts, orders, coefficients, _ = pieces
        if self._blind is not None:
            return
        self._until = float(starts[steps])
        if not len(self._sums[0]):
            return
        count = kernels.watch(
            self._form, self._ws, join_pieces(self._tail, self._begin.shape[1]), pieces, steps, self._gaps,
            not self._begun, last,
            self._spans, self._levels, self._sums, self._found,
        )  # fmt: skip
        # those of velocities that are apart are not needed
        whole = coefficients.shape[2] == self._begin.shape[1]
        coefficients = coefficients[:, :, : self._begin.shape[1]]
        if not self._begun:
            self._begin = coefficients[0, :2].copy()
            self._later = coefficients[steps - 1, 0].copy()
        self._begun = True
        ends = starts[1 : steps + 1]
        if count:
            times = self._found[:count].copy()
            firsts = np.minimum(np.searchsorted(ends, times[:, 0], "right"), steps - 1)
            finals = np.minimum(np.searchsorted(ends, times[:, 2], "left") + 1, steps)
            # only the steps around dips are kept
            change = np.zeros(steps + 1, np.int64)
            np.add.at(change, firsts, 1)
            np.subtract.at(change, finals, 1)
            kept = np.cumsum(change[:-1]) > 0
            # nobody writes there any more: no copy is needed of what is all in a row
            same_memory = last and whole
            if same_memory:
                kept[int(firsts.min()) : int(finals.max())] = True
            place = np.concatenate([[0], np.cumsum(kept)])
            p = orders[:steps][kept]
            stretch = Stretch(
                times=times,
                starts=starts[:steps][kept],
                ends=ends[kept],
                orders=p,
                coefficients=_some_steps(
                    coefficients[:steps, : int(p.max()) + 1], kept, same_memory
                ),
                firsts=place[firsts],
                finals=place[finals],
                before=tuple(self._tail),
            )
            self._stretches.append(stretch)
            self._kept += stretch.coefficients.size
            if self._kept > MOST_NUMBERS:
                # a run without end must not take memory without end
                self._blind = self._until
        # a dip around the end of these steps is seen by the next ones
        if not last:
            since = self._times[0]
            first = min(int(np.searchsorted(ends, since, "right")), steps - 1)
            self._tail = [p for p in self._tail if p.end > since]
            for n in range(first, steps):
                rows = coefficients[n, : orders[n] + 1].copy()
                self._tail.append(Piece(float(starts[n]), float(starts[n + 1]), rows))

    def drop(self, q: Floats) -> float:
        """The smallest pivot at a position against what is usual; 1 where no equation is ever independent."""
        pivots = np.zeros(len(self._samples[3]))
        if not len(pivots):
            return 1.0
        kernels.sample_pivots(self._form, self._ws, q[None], 0, 0.0, self._sums.copy(), pivots)
        usual = self._samples[3]
        used = usual > WATCHED_PIVOT
        return float((pivots[used] / usual[used]).min(initial=1.0))

    def notes(self) -> list[str]:
        """What a user should know of it."""
        if self._blind is None:
            return []
        dips = plain_sum(len(s.times) for s in self._stretches)
        return [
            f"crossings are told up to t = {self._blind:.9g} s: the motion around {dips} near-singular moments is "
            "kept until then, and more would fill the memory; simulate the rest from there"
        ]

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


def _some_steps(coefficients: Floats, kept: Flags, same_memory: bool) -> Floats:
    """Of these steps those that are kept: a copy, or the same memory of what is all in a row."""
    if not same_memory:
        return coefficients[kept]
    first, last = np.flatnonzero(kept)[[0, -1]].tolist()
    return coefficients[first : last + 1]


def join_pieces(parts: list[Piece], coordinates: int) -> Pieces:
    """Steps one after the other, of any orders."""
    rows = max((len(p.coefficients) for p in parts), default=1)
    coefficients = np.zeros((len(parts), rows, coordinates))
    for row, part in zip(coefficients, parts, strict=True):
        row[: len(part.coefficients)] = part.coefficients
    return Pieces(
        starts=np.array([p.start for p in parts] + [parts[-1].end if parts else 0.0]),
        orders=np.array([len(p.coefficients) - 1 for p in parts], dtype=np.int64),
        coefficients=coefficients,
        sides=np.zeros((len(parts), 0, 1)),
    )


def without_masses(form: Form) -> Form:
    """The form with M = 1, no augmentation, and eps from J J^T: its pivots are geometry alone."""
    nq, nc = len(form.Q), len(form.phi0)
    J = np.add.reduceat(form.C_val * form.e0[form.C_form], form.C_start[:-1]) if nc else np.zeros(0)
    size = np.bincount(form.J_eq, J * J, nc)
    # an equation whose row vanishes at the start is compared with the others
    size = np.maximum(size, 1e-6 * size.max(initial=1e-300))
    none = np.zeros(0, np.int64)
    return form._replace(
        K_M=form.pos_q, K_M_val=np.ones(nq), K_A=none, K_A_1=none, K_A_2=none, eps=EPS * size
    )
