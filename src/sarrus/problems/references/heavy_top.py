"""Motion of a symmetric top, from the direction of its axis alone.

n: unit vector from the fixed point to the centre of mass; I1, I3: moments of inertia at the fixed point, normal to
n and about it. The spin w3 about n is constant and the angular momentum is L = I1 n x n' + I3 w3 n, so

    I1 n x n'' = m l n x g - I3 w3 n',    n'' = (n x n'') x n - |n'|^2 n

These are six unknowns, whose fastest motion is the nutation at I3 w3 / I1 = 4.6 rad/s, not the spin at 150 rad/s.
They are integrated by a Runge-Kutta method of order eight [HairerNorsettWanner1993].
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats
from .quadrature import solve_densely

MASS, GRAVITY = 15.0, 9.81
# About the centre of mass, which is 1 m from the fixed point.
ACROSS, ABOUT = 0.234375, 0.46875
LENGTH = 1.0
START_AXIS = np.array([0.0, 1.0, 0.0])
START_SPIN = np.array([0.0, 150.0, -4.61538])
# Longest integration step [s]; the interpolation is then as accurate as the steps.
LONGEST_STEP = 0.01


def top_reference(times: ArrayLike) -> Floats:
    """Return position and velocity of the centre of mass.

    times: instants [s], shape (n,)
    returns: columns x, y, z [m], vx, vy, vz [m/s], shape (n, 6)
    """
    t = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if not t.size:
        return np.zeros((0, 6))
    ends = 2.0 ** np.ceil(np.log2(np.maximum([t.max(initial=1.0), -t.min(initial=0.0)], 1.0)))
    forth, back = _solve_axis(float(ends[0])), _solve_axis(-float(ends[1]))
    states = np.where(t >= 0.0, forth(np.maximum(t, 0.0)), back(np.minimum(t, 0.0)))
    return np.asarray(LENGTH * states.T)


def top_rates(state: Floats) -> Floats:
    """Return the rates of (n, n')."""
    n, n1 = state[:3], state[3:]
    I1, I3 = ACROSS + MASS * LENGTH**2, ABOUT
    gravity = np.array([0.0, 0.0, -GRAVITY])
    w3 = START_SPIN @ START_AXIS
    moment = MASS * LENGTH * np.cross(n, gravity) - I3 * w3 * n1
    return np.concatenate([n1, np.cross(moment / I1, n) - (n1 @ n1) * n])


@lru_cache(maxsize=8)
def _solve_axis(end: float) -> Callable[[Floats], Floats]:
    start = np.concatenate([START_AXIS, np.cross(START_SPIN, START_AXIS)])
    return solve_densely(lambda _, state: top_rates(state), end, start, LONGEST_STEP)
