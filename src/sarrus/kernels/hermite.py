"""Polynomials of steps from the states at their ends [HairerNorsettWanner1993, sec. II.6].

states: position, velocity and acceleration at n + 1 times, (n + 1, 3, nq). Outputs: coefficients of the powers of
the time since the start of each step, (n, order + 1, nq).
"""

from .compiler import entry


@entry
def fill_cubics(times, states, coefficients):
    """From positions and velocities at both ends of each step."""
    for n in range(len(times) - 1):
        h = times[n + 1] - times[n]
        for i in range(states.shape[2]):
            q0, v0 = states[n, 0, i], states[n, 1, i]
            dq, dv = states[n + 1, 0, i] - q0 - h * v0, states[n + 1, 1, i] - v0
            coefficients[n, 0, i] = q0
            coefficients[n, 1, i] = v0
            coefficients[n, 2, i] = (3.0 * dq - h * dv) / h**2
            coefficients[n, 3, i] = (h * dv - 2.0 * dq) / h**3


@entry
def fill_quintics(times, states, coefficients):
    """From positions, velocities and accelerations at both ends of each step."""
    for n in range(len(times) - 1):
        h = times[n + 1] - times[n]
        for i in range(states.shape[2]):
            q0, v0, a0 = states[n, 0, i], states[n, 1, i], states[n, 2, i]
            p = (states[n + 1, 0, i] - q0 - h * v0) / h**2 - 0.5 * a0
            w = (states[n + 1, 1, i] - v0) / h - a0
            z = states[n + 1, 2, i] - a0
            coefficients[n, 0, i] = q0
            coefficients[n, 1, i] = v0
            coefficients[n, 2, i] = 0.5 * a0
            coefficients[n, 3, i] = (10.0 * p - 4.0 * w + 0.5 * z) / h
            coefficients[n, 4, i] = (-15.0 * p + 7.0 * w - z) / h**2
            coefficients[n, 5, i] = (6.0 * p - 3.0 * w + 0.5 * z) / h**3


@entry
def fill_quintics_over_two(times, states, coefficients):
    """From positions and velocities at the ends of each step and at the start of the one before it.

    Accelerations are not used: in a stiff motion those of the equations are far less exact. The first step
    has none before it: coefficients[0] is that of the second.
    """
    for n in range(len(times) - 2):
        x, y = times[n + 1] - times[n], times[n + 2] - times[n + 1]
        for i in range(states.shape[2]):
            q0, q1, q2 = states[n, 0, i], states[n + 1, 0, i], states[n + 2, 0, i]
            v0, v1, v2 = states[n, 1, i], states[n + 1, 1, i], states[n + 2, 1, i]
            # divided differences over t1, t1, t2, t2, t0, t0
            r12, r20 = (q2 - q1) / y, (q2 - q0) / (x + y)
            d112, d122 = (r12 - v1) / y, (v2 - r12) / y
            d220, d200 = (v2 - r20) / (x + y), (r20 - v0) / (x + y)
            d1122, d1220, d2200 = (d122 - d112) / y, (d122 - d220) / x, (d220 - d200) / (x + y)
            d11220, d12200 = (d1122 - d1220) / x, (d1220 - d2200) / x
            top = (d11220 - d12200) / x
            # s^2 (d112 + (s - y) (d1122 + (s - y) (d11220 + (s + x) top))), s = t - t1, in powers of s
            e = d11220 + x * top
            coefficients[n, 0, i] = q1
            coefficients[n, 1, i] = v1
            coefficients[n, 2, i] = d112 - y * d1122 + y * y * e
            coefficients[n, 3, i] = d1122 - 2.0 * y * e + y * y * top
            coefficients[n, 4, i] = e - 2.0 * y * top
            coefficients[n, 5, i] = top
