"""Closed-form motion of a pendulum released at rest from the horizontal.

With the angle phi from the downward vertical, phi(0) = -pi/2, and K the complete integral of the first
kind for k = sin(pi/4),

    phi'' = -w^2 sin(phi),   sin(phi/2) = -k sn(K - w t) = -k cd(w t),   w^2 = g / length

and P1 = length (sin(phi), -cos(phi)). The period is 4 K / w. Measured against 40-digit arithmetic:
2e-14 m over 10 s, 6e-13 m over 2000 s (the rounding of the period, 845 times).
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ...arrays import Floats


def pendulum_reference(times: ArrayLike, gravity: float = 9.81, length: float = 1.0) -> Floats:
    """Return position and velocity of P1, starting at (-length, 0) at rest.

    times: instants [s], shape (n,)
    returns: columns x, y [m], vx, vy [m/s], shape (n, 4)
    """
    t = np.atleast_1d(np.asarray(times, dtype=np.float64))
    w = np.sqrt(gravity / length)
    period = 4.0 * scipy.special.ellipk(0.5) / w
    sn, cn, dn, _ = scipy.special.ellipj(w * np.remainder(t, period), 0.5)
    # half angle: sin = -k cd, cos = k' / dn, with k = k' = sqrt(1/2)
    sin, cos = -np.sqrt(0.5) * cn / dn, np.sqrt(0.5) / dn
    x, y = 2.0 * sin * cos, sin * sin - cos * cos
    # phi' = 2 k k' w sn / dn
    rate = w * sn / dn
    return length * np.column_stack([x, y, -y * rate, x * rate])
