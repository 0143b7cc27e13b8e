"""Whether a run that went through a singular stretch is still on the motion it came by.

Beside a singular position motions lie so close together that rounding can move a landing from one to another:
where they touch, at a distance t they are apart by t^2 or t^4. How far apart: about the smallest singular
value of J, the root of the smallest pivot. So a landing there proves nothing. But the motion is analytic: the
series of a step that begins before the stretch, followed over it, predicts the place behind it. If what that
series leaves out is far less than the motions are apart there,

    the run is where it is predicted, within a share of that       it is on its motion: certain
    it is not                                                      it left it: the prediction is taken instead
    no series reaches behind the stretch                           nobody can tell: the run ends before it
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Floats
from ..kernels.layout import Pieces
from ..thresholds import AGREEING_PLACE, RESOLVED_PIVOT, SHARP_PREDICTION, SINGULAR_LANDING

# columns of what is seen at the end of a step: the smallest pivot, and the smallest against what is usual
PIVOT, DROP = 0, 2
# steps before and behind a stretch that are asked
BEFORE, BEHIND = 3, 2
# places in each step behind at which it is asked: between landings predictions may be sharper
PLACES = 3


class Leap(NamedTuple):
    """Over a stretch by one series: the step that begins it, the time behind it [s], its order.

    order 0: no series reaches behind; step: the first one that ends in the stretch. left: what the series
    leaves out, over the mechanism's length.
    """

    step: int
    time: float
    order: int
    left: float


class Certificate:
    """Looks at the steps of a run, chunk by chunk."""

    def __init__(self) -> None:
        # steps of a stretch that the last chunk did not leave, and some before it
        self._before: tuple[Pieces, Floats] | None = None

    def look(self, pieces: Pieces, seen: Floats) -> Leap | None:
        """The first stretch behind which the run has left its motion, or may have.

        seen: of each step's end. A step before the first of the pieces has a negative number.
        """
        if self._before is None and seen[:, DROP].min(initial=1.0) >= SINGULAR_LANDING:
            return None
        # the buffer may hold more
        pieces = pieces.some(0, len(seen))
        earlier = 0
        if self._before is not None:
            earlier = len(self._before[1])
            pieces, seen = _join(self._before[0], pieces), np.concatenate([self._before[1], seen])
        self._before = None
        for first, last in find_stretches(seen[:, DROP]):
            if last == len(seen):
                since = max(0, first - BEFORE)
                self._before = _copy(pieces.some(since, last)), seen[since:].copy()
            leap = _judge(pieces, seen, first, last)
            if leap is not None:
                self._before = None
                return leap._replace(step=leap.step - earlier)
        return None


def find_stretches(drops: Floats) -> list[tuple[int, int]]:
    """Landings inside singular stretches, (first, behind the last); drops: of the landing of each step."""
    inside = np.concatenate([[False], drops < SINGULAR_LANDING, [False]])
    edges = np.flatnonzero(np.diff(inside.astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def follow(coefficients: Floats, known: int, s: float) -> tuple[Floats, float, int]:
    """Place at s after the start of a step, what its series leaves out, and the best number of terms."""
    sizes = np.abs(coefficients[: known + 1]).max(axis=1, initial=0.0) * s ** np.arange(known + 1.0)
    left = np.maximum(sizes[3:], sizes[2:-1])
    order = 3 + int(np.argmin(left))
    place = np.polynomial.polynomial.polyval(s, coefficients[: order + 1])
    return np.asarray(place), float(left[order - 3]), order


def _judge(pieces: Pieces, seen: Floats, first: int, last: int) -> Leap | None:
    """None if the run is certain of its motion behind a stretch, or not yet behind it."""
    pivots = seen[:, PIVOT]
    bottom = first + int(np.argmin(pivots[first:last]))
    gates = [
        n
        for n in range(max(0, first - BEFORE), bottom + 1)
        if pieces.orders[n] >= 3 and (n == 0 or pivots[n - 1] > RESOLVED_PIVOT)
    ]
    best: Leap | None = None
    for x in range(bottom + 1, min(last + BEHIND, len(seen))):
        # the landing before and after: between them the pivot lies between theirs
        apart = np.sqrt(min(pivots[x - 1], pivots[x]))
        if apart * apart <= RESOLVED_PIVOT:
            continue
        for share in np.arange(1.0, PLACES + 1.0) / PLACES:
            s = share * (pieces.starts[x + 1] - pieces.starts[x])
            place = np.polynomial.polynomial.polyval(
                s, pieces.coefficients[x, : pieces.orders[x] + 1]
            )
            for gate in gates:
                time = float(pieces.starts[x] + s)
                ahead = time - pieces.starts[gate]
                predicted, left, order = follow(
                    pieces.coefficients[gate], int(pieces.orders[gate]), ahead
                )
                if left > SHARP_PREDICTION * apart:
                    continue
                if np.abs(place - predicted).max() <= AGREEING_PLACE * apart:
                    return None
                if best is None or left < best.left:
                    best = Leap(gate, time, order, left)
    if best is None and last == len(seen):
        return None
    return best or Leap(first, float(pieces.starts[first]), 0, np.inf)


def _copy(p: Pieces) -> Pieces:
    return Pieces(p.starts.copy(), p.orders.copy(), p.coefficients.copy(), p.sides.copy())


def _join(a: Pieces, b: Pieces) -> Pieces:
    return Pieces(
        np.concatenate([a.starts[:-1], b.starts]),
        np.concatenate([a.orders, b.orders]),
        np.concatenate([a.coefficients, b.coefficients]),
        np.concatenate([a.sides, b.sides]),
    )
