"""Drives: the right side of an equation as a function of time, Phi_k(q) = phi0_k(t).

J and the curvature of Phi stay as they are; Phi' = J v - phi0', Phi'' = J a + J' v - phi0''. With x(t)
the motion, a piecewise polynomial and a sine, phi0 is c times

    x (a travel),      cos x and sin x (an angle),      1/2 x^2 (a length)

minus a constant, where a component of the product never changes.
"""

import numpy as np

from .compiler import block, kernel

# columns of loads.drive
EQUATION, KIND, MOTION = 0, 1, 2
# kinds of right side
LINEAR, COSINE, SINE, SQUARE = 0, 1, 2, 3


@kernel
def find_piece(loads, m, t):
    """The piece of a motion that holds at t; at a break the later one."""
    n = loads.motion_start[m + 1] - 1
    while n > loads.motion_start[m] and loads.motion_break[n] > t:
        n -= 1
    return n


@kernel
def eval_motion(loads, m, t):
    """Value of a motion, its rate and second rate."""
    n = find_piece(loads, m, t)
    s = t - loads.motion_break[n]
    poly = loads.motion_poly[n]
    x, v, a = 0.0, 0.0, 0.0
    for k in range(len(poly) - 1, -1, -1):
        a = a * s + 2.0 * v
        v = v * s + x
        x = x * s + poly[k]
    sines = loads.motion_sine[m]
    amplitude, rate, phase = sines[0], sines[1], sines[2]
    if amplitude != 0.0:
        sine = amplitude * np.sin(rate * t + phase)
        x += sine
        v += rate * amplitude * np.cos(rate * t + phase)
        a -= rate * rate * sine
    return x, v, a


@block
def eval_drives(loads, t):
    """loads.driven[0..2, k]: right side of driven equation k, its rate and second rate."""
    if loads is None:
        return
    values = loads.driven
    for k in range(len(loads.drive)):
        x, v, a = eval_motion(loads, loads.drive[k, MOTION], t)
        kind = loads.drive[k, KIND]
        c = loads.drive_c[k]
        if kind == LINEAR:
            values[0, k] = c * x
            values[1, k] = c * v
            values[2, k] = c * a
        elif kind == SQUARE:
            values[0, k] = 0.5 * c * x * x
            values[1, k] = c * x * v
            values[2, k] = c * (v * v + x * a)
        elif kind == COSINE:
            values[0, k] = c * np.cos(x)
            values[1, k] = -c * np.sin(x) * v
            values[2, k] = -c * (np.cos(x) * v * v + np.sin(x) * a)
        else:
            values[0, k] = c * np.sin(x)
            values[1, k] = c * np.cos(x) * v
            values[2, k] = c * (np.cos(x) * a - np.sin(x) * v * v)
        values[0, k] -= loads.drive_0[k]


@kernel
def drive_constraints(form, loads, largest, phi):
    """Phi with the right sides of its drives instead of those at the start.

    largest: its largest entry so far; returns what it is then.
    """
    if loads is None:
        return largest
    for k in range(len(loads.drive)):
        c = loads.drive[k, EQUATION]
        phi[c] += form.phi0[c] - loads.driven[0, k]
    largest = 0.0
    for c in range(len(phi)):
        largest = max(largest, abs(phi[c]))
    return largest


@kernel
def subtract_drives(loads, rate, phi):
    """Subtract the first or second rate of phi0 from the driven equations."""
    if loads is None:
        return
    for k in range(len(loads.drive)):
        phi[loads.drive[k, EQUATION]] -= loads.driven[rate, k]


@kernel
def next_break(loads, t):
    """The first time after t at which a motion changes its polynomial."""
    first = np.inf
    if loads is None:
        return first
    for m in range(len(loads.motion_sine)):
        for n in range(loads.motion_start[m] + 1, loads.motion_start[m + 1]):
            if loads.motion_break[n] > t:
                first = min(first, loads.motion_break[n])
                break
    return first


@kernel
def eval_drive_forces(loads, t, lam, force):
    """force[m]: what the drive of motion m exerts along it, -lam . dphi0/dx."""
    if loads is None:
        return
    for m in range(len(force)):
        force[m] = 0.0
    for k in range(len(loads.drive)):
        m = loads.drive[k, MOTION]
        x, _, _ = eval_motion(loads, m, t)
        kind = loads.drive[k, KIND]
        slope = 1.0
        if kind == SQUARE:
            slope = x
        elif kind == COSINE:
            slope = -np.sin(x)
        elif kind == SINE:
            slope = np.cos(x)
        force[m] -= loads.drive_c[k] * slope * lam[loads.drive[k, EQUATION]]


@kernel
def eval_drive_power(loads, lam):
    """Power that the drives bring in: -lam . phi0'."""
    power = 0.0
    if loads is None:
        return power
    for k in range(len(loads.drive)):
        power -= lam[loads.drive[k, EQUATION]] * loads.driven[1, k]
    return power
