"""Motions with one degree of freedom by one quadrature: t(x) from dt/dx, and its inverse.

If the energy of a motion is known, x' is a function of x, and t(x) is the integral of 1/x'. On each panel dt/dx is
a Chebyshev series, integrated term by term; Newton's method inverts t(x). No error grows with time beyond the
rounding of t itself. Other motions use a standard ODE solver with very short steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike

from ...arrays import Floats

# Terms per panel; panels are chosen so that the last terms are at rounding level.
TERMS = 24
# Enough from any start inside a panel, where dt/dx changes by a small factor only.
NEWTON_STEPS = 8


@dataclass(frozen=True)
class TimeOfAngle:
    """t(x) between the first and the last break; t = 0 at the first.

    breaks: breaks of x, and times: times there, (n + 1,); series: Chebyshev coefficients of t, from the start of
    the panel, (terms + 1, n); slopes: coefficients of dt/dx, (terms, n).
    """

    breaks: Floats
    times: Floats
    series: Floats
    slopes: Floats

    @property
    def duration(self) -> float:
        """The time from the first break to the last."""
        return float(self.times[-1])

    @property
    def rounding(self) -> float:
        """The largest of the last terms of dt/dx relative to the first: an estimate of the truncation error."""
        return float((np.abs(self.slopes[-2:]).max(axis=0) / np.abs(self.slopes[0])).max())

    def read(self, t: Floats) -> tuple[Floats, Floats]:
        """Return x at the times t, and x' there."""
        panel = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.breaks) - 2)
        half = 0.5 * (self.breaks[panel + 1] - self.breaks[panel])
        series, slopes = self.series[:, panel], self.slopes[:, panel]
        within = t - self.times[panel]
        # s from -1 to 1 on the panel
        s = 2.0 * within / (self.times[panel + 1] - self.times[panel]) - 1.0
        for _ in range(NEWTON_STEPS):
            late = chebyshev.chebval(s, series, tensor=False) - within
            s = s - late / (half * chebyshev.chebval(s, slopes, tensor=False))
        rate = np.asarray(1.0 / chebyshev.chebval(s, slopes, tensor=False), dtype=np.float64)
        return np.asarray(self.breaks[panel] + half * (s + 1.0)), rate


def make_clock(slope: Callable[[Floats], Floats], breaks: Floats) -> TimeOfAngle:
    """Integrate a positive dt/dx; `breaks` are the ends of the panels, increasing."""
    nodes = np.cos(np.pi * (np.arange(TERMS) + 0.5) / TERMS)
    half = 0.5 * np.diff(breaks)
    values = slope((breaks[:-1] + half)[:, None] + half[:, None] * nodes)
    # The discrete cosine transform at Chebyshev points.
    k = np.arange(TERMS)
    transform = 2.0 / TERMS * np.cos(np.pi * np.outer(k, np.arange(TERMS) + 0.5) / TERMS)
    transform[0] *= 0.5
    slopes = transform @ values.T
    series = chebyshev.chebint(slopes, lbnd=-1, axis=0) * half
    # All terms of a series are 1 at its end.
    times = np.concatenate([[0.0], np.cumsum(series.sum(axis=0))])
    return TimeOfAngle(np.asarray(breaks, dtype=float), times, series, slopes)


def solve_densely(
    rates: Callable[[float, Floats], ArrayLike], end: float, start: ArrayLike, longest: float
) -> Callable[[Floats], Floats]:
    """Return the states from 0 to the end as a function of time, by a solver of order 8 with limited steps."""
    done = scipy.integrate.solve_ivp(
        rates,
        (0.0, end),
        start,
        method="DOP853",
        rtol=1e-13,
        atol=1e-15,
        max_step=longest,
        dense_output=True,
    )
    motion: Callable[[Floats], Floats] = done.sol
    return motion
