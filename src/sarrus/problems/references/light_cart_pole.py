"""Motion of a pole on a light cart, released at rest from the horizontal, by one quadrature.

theta from the downward vertical, cart mass M, bob m on a massless pole of length l. No horizontal force acts, so
the x coordinate of the common centre of mass is constant, and the energy gives theta':

    x = m l (1 - sin(theta)) / (M + m),    theta'^2 = 2 g (M + m) cos(theta) / (l (M + m sin(theta)^2))

With theta = -(pi/2) sin(chi), chi from -pi/2 on, dt/dchi is regular at the ends of the swing; it has the period
chi = pi, half a period of the motion. Near the vertical it changes within sqrt(M/m), so panels are repeatedly
halved towards it [Parsons].
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats
from .quadrature import TimeOfAngle, make_clock


def cart_pole_angle(
    times: ArrayLike, cart: float = 1e-6, bob: float = 1.0, length: float = 1.0, g: float = 9.81
) -> tuple[Floats, Floats]:
    """Return the angle of the pole from the downward vertical [rad] and its rate [rad/s]."""
    t = np.atleast_1d(np.asarray(times, dtype=np.float64))
    clock = _solve_half(cart, bob, length, g)
    halves = np.floor(t / clock.duration)
    chi, rate = clock.read(t - halves * clock.duration)
    # Every other half-period runs backwards.
    side = 1.0 - 2.0 * np.remainder(halves, 2.0)
    theta = -0.5 * np.pi * side * np.sin(chi)
    return theta, -0.5 * np.pi * side * np.cos(chi) * rate


def cart_pole_reference(
    times: ArrayLike, cart: float = 1e-6, bob: float = 1.0, length: float = 1.0, g: float = 9.81
) -> Floats:
    """Return position and velocity of the cart, starting at the origin at rest.

    times: instants [s], shape (n,)
    returns: columns x, y [m], vx, vy [m/s], shape (n, 4); y is zero
    """
    theta, rate = cart_pole_angle(times, cart, bob, length, g)
    share = bob * length / (cart + bob)
    zero = np.zeros_like(theta)
    # 1 - sin(theta) without cancellation near the start
    x = 2.0 * share * np.sin(0.25 * np.pi - 0.5 * theta) ** 2
    return np.column_stack([x, zero, -share * np.cos(theta) * rate, zero])


@lru_cache(maxsize=8)
def _solve_half(cart: float, bob: float, length: float, g: float) -> TimeOfAngle:
    """Return chi(t) over half a period, with chi measured from the vertical."""

    def slope(chi: Floats) -> Floats:
        sin_theta = np.sin(0.5 * np.pi * np.sin(chi))
        # cos(theta) = sin(pi/2 (1 - |sin(chi)|)), and 1 - |sin(chi)| = 2 sin(pi/4 - |chi|/2)^2
        end = np.sin(0.25 * np.pi - 0.5 * np.abs(chi))
        cos_theta = np.sin(np.pi * end**2)
        inertia = length * (cart + bob * sin_theta**2)
        return 0.5 * np.pi * np.cos(chi) * np.sqrt(inertia / (2.0 * g * (cart + bob) * cos_theta))

    quarter = 0.5 * np.pi * 0.5 ** np.arange(_halvings(cart / bob))
    breaks = np.concatenate([-quarter, [0.0], quarter[::-1]])
    return make_clock(slope, breaks)


def _halvings(ratio: float) -> int:
    """Return the number of halvings that make a panel shorter than the width of the change at the vertical."""
    return int(np.ceil(np.log2(np.pi / np.sqrt(min(ratio, 1.0))))) + 2
