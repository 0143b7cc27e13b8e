"""The four-bar with a diagonal spring, in its single angle.

Ground pins A = (0, 0) and D = (1, 0), three thin bars A B, B C, D C of 1 m and 1 kg; while it is a parallelogram
both cranks are at angle phi, and C = (1 + cos(phi), sin(phi)). The spring from A to C has the length
l = 2 cos(phi/2):

    5/3 phi'' = -V'(phi) - c sin(phi/2)^2 phi',    V = 2 g sin(phi) + k/2 (2 cos(phi/2) - l0)^2
    V'  = 2 g cos(phi) - k (2 cos(phi/2) - l0) sin(phi/2)
    V'' = -2 g sin(phi) - k/2 (2 cos(phi/2) - l0) cos(phi/2) + k sin(phi/2)^2

At an equilibrium, 5/3 z^2 + c sin(phi/2)^2 z + V'' = 0 gives the eigenvalues. The motion is integrated by a
Runge-Kutta method of order eight [HairerNorsettWanner1993].
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats
from .quadrature import solve_densely

GRAVITY, STIFFNESS, FREE_LENGTH, INERTIA = 9.81, 25.0, np.sqrt(2.0), 5.0 / 3.0
# Longest integration step [s]; the interpolation is then as accurate as the steps.
LONGEST_STEP = 0.02
FURTHEST = 1000.0


def potential_slopes(phi: ArrayLike) -> tuple[Floats, Floats]:
    """Return V' and V'' at angles [rad]."""
    half = 0.5 * np.asarray(phi, dtype=np.float64)
    sin, cos = np.sin(half), np.cos(half)
    stretch = 2.0 * cos - FREE_LENGTH
    first = 2.0 * GRAVITY * np.cos(phi) - STIFFNESS * stretch * sin
    second = -2.0 * GRAVITY * np.sin(phi) - STIFFNESS * (0.5 * stretch * cos - sin * sin)
    return np.asarray(first), np.asarray(second)


def equilibrium_angle() -> float:
    """Return the stable equilibrium angle between upright and flat [rad]."""
    phi = 2.2
    for _ in range(8):
        first, second = potential_slopes(phi)
        phi -= float(first / second)
    return phi


def small_eigenvalues(damping: float) -> tuple[complex, complex]:
    """Return the eigenvalues [1/s] of small motions about the equilibrium, positive imaginary part first."""
    phi = equilibrium_angle()
    c, K = damping * np.sin(0.5 * phi) ** 2, float(potential_slopes(phi)[1])
    root = np.sqrt(complex(c * c - 4.0 * INERTIA * K))
    return complex((-c + root) / (2.0 * INERTIA)), complex((-c - root) / (2.0 * INERTIA))


def four_bar_spring_reference(times: ArrayLike, angle: float, damping: float) -> Floats:
    """Return position and velocity of C, released at rest at an angle [rad]; damping [N s/m].

    times: instants [s], shape (n,), not negative
    returns: columns x, y [m], vx, vy [m/s], shape (n, 4)
    """
    t = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if not t.size:
        return np.zeros((0, 4))
    reach = float(2.0 ** np.ceil(np.log2(max(float(t.max(initial=1.0)), 1.0))))
    phi, rate = _solve_swing(reach, angle, damping)(np.maximum(t, 0.0))
    sin, cos = np.sin(phi), np.cos(phi)
    return np.column_stack([1.0 + cos, sin, -sin * rate, cos * rate])


@lru_cache(maxsize=8)
def _solve_swing(reach: float, angle: float, damping: float) -> Callable[[Floats], Floats]:
    def rates(_: float, state: Floats) -> list[float]:
        phi, rate = state
        load = -potential_slopes(phi)[0] - damping * np.sin(0.5 * phi) ** 2 * rate
        return [rate, float(load) / INERTIA]

    if reach > FURTHEST:
        raise ValueError(f"the four-bar's reference ends at {FURTHEST:g} s, not {reach:g} s")
    return solve_densely(rates, reach, [angle, 0.0], LONGEST_STEP)
