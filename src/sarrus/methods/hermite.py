"""Polynomials of steps from the states at their ends [HairerNorsettWanner1993, sec. II.6].

states: (n + 1, 3, nq), position, velocity and acceleration at n + 1 times. Coefficients: (n, order + 1, nq),
powers of the time since the start of each step.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats


def cubics(times: Floats, states: Floats) -> Floats:
    """From positions and velocities at both ends of each step."""
    h = np.diff(times)[:, None]
    q0, v0 = states[:-1, 0], states[:-1, 1]
    dq, dv = states[1:, 0] - q0 - h * v0, states[1:, 1] - v0
    return np.stack([q0, v0, (3 * dq - h * dv) / h**2, (h * dv - 2 * dq) / h**3], axis=1)


def quintics(times: Floats, states: Floats) -> Floats:
    """From positions, velocities and accelerations at both ends of each step."""
    h = np.diff(times)[:, None]
    q0, v0, a0 = (states[:-1, k] for k in range(3))
    p = (states[1:, 0] - q0 - h * v0) / h**2 - 0.5 * a0
    w = (states[1:, 1] - v0) / h - a0
    z = states[1:, 2] - a0
    c3 = (10.0 * p - 4.0 * w + 0.5 * z) / h
    c4 = (-15.0 * p + 7.0 * w - z) / h**2
    c5 = (6.0 * p - 3.0 * w + 0.5 * z) / h**3
    return np.stack([q0, v0, 0.5 * a0, c3, c4, c5], axis=1)


def quintics_over_two(times: Floats, states: Floats) -> Floats:
    """From positions and velocities at the ends of each step and of the one before it; (n - 1, 6, nq).

    Accelerations are not needed: in a stiff motion those of the equations are far less exact.
    """
    h = np.diff(times)[:, None]
    x, y = h[:-1], h[1:]
    q0, q1, q2 = states[:-2, 0], states[1:-1, 0], states[2:, 0]
    v0, v1, v2 = states[:-2, 1], states[1:-1, 1], states[2:, 1]
    # divided differences over t1, t1, t2, t2, t0, t0
    rise, all_ = (q2 - q1) / y, (q2 - q0) / (x + y)
    d112, d122 = (rise - v1) / y, (v2 - rise) / y
    d220, d200 = (v2 - all_) / (x + y), (all_ - v0) / (x + y)
    d1122, d1220, d2200 = (d122 - d112) / y, (d122 - d220) / x, (d220 - d200) / (x + y)
    d11220, d12200 = (d1122 - d1220) / x, (d1220 - d2200) / x
    top = (d11220 - d12200) / x
    # s^2 (d112 + (s - y) (d1122 + (s - y) (d11220 + (s + x) top))), with s = t - t1, in powers of s
    e = d11220 + x * top
    c2 = d112 - y * d1122 + y * y * e
    c3 = d1122 - 2.0 * y * e + y * y * top
    return np.stack([q1, v1, c2, c3, e - 2.0 * y * top, top], axis=1)
