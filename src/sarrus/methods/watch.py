"""Stretches of a motion in which an equation comes close to depending on others."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Floats, Ints
from ..kernels.layout import Form
from ..kernels.solve import EPS
from ..kernels.watch import REDUNDANT

# a pivot below this share of what is usual is zero at the start
SINGULAR = 1e-9


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
        return bool(np.any((self.usual > REDUNDANT) & (self.start < SINGULAR * self.usual)))


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
