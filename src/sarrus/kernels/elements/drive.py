"""Drives: the right-hand side of an equation as a function of time, Phi_k(q) = phi0_k(t).

J and the curvature of Phi do not change; Phi' = J v - phi0', Phi'' = J a + J' v - phi0''. With x(t) the motion, a
piecewise polynomial plus a sine, phi0 is c times

    x (a displacement),      cos x and sin x (an angle),      1/2 x^2 (a length)

minus a constant, if a component of the product never changes. The drive exerts -lam . dphi0/dx along x. Taylor
coefficients of C = cos x and S = sin x:

    m S_m = sum_j j x_j C_{m-j},      m C_m = -sum_j j x_j S_{m-j}
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ..compiler import formula, kernel, noinline
from ..forms import largest_entry
from ..layout import NONE
from ..polynomials import add_product, cauchy, cauchy_rates

# Columns of the driven equations.
EQUATION, KIND, MOTION = 0, 1, 2
# Kinds of right-hand side.
LINEAR, COSINE, SINE, SQUARE = 0, 1, 2, 3


class Drives(NamedTuple):
    """Driven equations and the motions that drive them."""

    # Rows of equation, kind of right-hand side, motion; its factor, and the constant that is subtracted.
    equations: Ints
    factor: Floats
    constant: Floats
    # Motions: pieces of each, their starts and polynomials; rows of amplitude, angular frequency, phase of a sine.
    pieces: Ints
    breaks: Floats
    polynomials: Floats
    sines: Floats
    # Right-hand sides, their first and second time derivatives.
    driven: Floats = NONE
    # Series coefficients, one row per quantity: motions, right-hand sides without their factors, forces of
    # motions.
    motion: Floats = NONE
    side: Floats = NONE
    force: Floats = NONE


def make_series(drives: Drives, rows: int) -> Drives:
    """The drives with memory for right-hand sides and `rows` coefficients."""
    equations, motions = len(drives.equations), len(drives.sines)
    return drives._replace(
        driven=np.zeros((3, equations)),
        motion=np.zeros((motions, rows)),
        side=np.zeros((equations, rows)),
        force=np.zeros((motions, rows)),
    )


@formula
def slope(kind: int, x: float) -> float:
    """Derivative of a right-hand side with respect to its motion, without its factor."""
    if kind == LINEAR:
        return 1.0
    if kind == SQUARE:
        return x
    if kind == COSINE:
        return -np.sin(x)
    return np.cos(x)


@kernel
def find_piece(drives, m, t):
    """The piece of a motion that is valid at t; at a break the later one."""
    if drives.pieces[m + 1] - drives.pieces[m] == 1:
        return drives.pieces[m]
    n = drives.pieces[m + 1] - 1
    while n > drives.pieces[m] and drives.breaks[n] > t:
        n -= 1
    return n


@kernel
def eval_motion(drives, m, t):
    """Value of a motion, its first and second time derivatives."""
    return eval_motion_piece(drives, m, find_piece(drives, m, t), t)


@kernel
def eval_motion_piece(drives, m, piece, t):
    """The same on a given piece of the motion."""
    x, v, a = 0.0, 0.0, 0.0
    # A single iteration; runs in lanes that are at different pieces take turns.
    for n in range(piece, piece + 1):
        s = t - drives.breaks[n]
        poly = drives.polynomials[n]
        for k in range(len(poly) - 1, -1, -1):
            a = a * s + 2.0 * v
            v = v * s + x
            x = x * s + poly[k]
    sines = drives.sines[m]
    amplitude, rate, phase = sines[0], sines[1], sines[2]
    if amplitude != 0.0:
        sine = amplitude * np.sin(rate * t + phase)
        x += sine
        v += rate * amplitude * np.cos(rate * t + phase)
        a -= rate * rate * sine
    return x, v, a


@noinline
def eval_drives(loads, t):
    """driven[0..2, k]: right-hand side of driven equation k, its first and second time derivatives."""
    if loads is None:
        return
    eval_driven_sides(loads.drives, t, t, loads.drives.driven)


@kernel
def eval_driven_sides(drives, at, t, values):
    """The same into other memory; at: a time on the pieces of the motions that t lies on, if t is SIMD lanes."""
    for k in range(len(drives.equations)):
        m = drives.equations[k, MOTION]
        x, v, a = eval_motion_piece(drives, m, find_piece(drives, m, at), t)
        kind = drives.equations[k, KIND]
        c = drives.factor[k]
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
        values[0, k] -= drives.constant[k]


@kernel
def drive_constraints(form, loads, largest, phi):
    """Replace the right-hand sides at the start by those of the drives in Phi.

    largest: the largest entry of Phi so far; returns the new one.
    """
    if loads is None:
        return largest
    return replace_sides(form, loads.drives, loads.drives.driven, phi)


@kernel
def replace_sides(form, drives, driven, phi):
    """The same with right-hand sides in other memory."""
    for k in range(len(drives.equations)):
        c = drives.equations[k, EQUATION]
        phi[c] += form.phi0[c] - driven[0, k]
    return largest_entry(phi)


@kernel
def subtract_drives(loads, rate, phi):
    """Subtract the first or second time derivative of phi0 from the driven equations."""
    if loads is None:
        return
    subtract_side_rates(loads.drives, loads.drives.driven, rate, phi)


@kernel
def subtract_side_rates(drives, driven, rate, phi):
    """The same with derivatives in other memory."""
    for k in range(len(drives.equations)):
        phi[drives.equations[k, EQUATION]] -= driven[rate, k]


@kernel
def next_break(loads, t):
    """The first time after t at which a motion changes its polynomial."""
    first = np.inf
    if loads is None:
        return first
    drives = loads.drives
    for m in range(len(drives.sines)):
        for n in range(drives.pieces[m] + 1, drives.pieces[m + 1]):
            if drives.breaks[n] > t:
                first = min(first, drives.breaks[n])
                break
    return first


@kernel
def eval_drive_forces(loads, t, lam, force):
    """force[m]: the force of the drive of motion m along it, -lam . dphi0/dx."""
    if loads is None:
        return
    drives = loads.drives
    for m in range(len(force)):
        force[m] = 0.0
    for k in range(len(drives.equations)):
        m = drives.equations[k, MOTION]
        x, _, _ = eval_motion(drives, m, t)
        turn = slope(drives.equations[k, KIND], x)
        force[m] -= drives.factor[k] * turn * lam[drives.equations[k, EQUATION]]


@kernel
def eval_drive_power(loads, lam):
    """Power supplied by the drives: -lam . phi0'."""
    power = 0.0
    if loads is None:
        return power
    drives = loads.drives
    for k in range(len(drives.equations)):
        power -= lam[drives.equations[k, EQUATION]] * drives.driven[1, k]
    return power


@kernel
def motion_coefficients(drives, m, t, x):
    """All coefficients of a motion about t."""
    degree = drives.polynomials.shape[1] - 1
    for k in range(len(x)):
        x[k] = 0.0
    piece = find_piece(drives, m, t)
    for n in range(piece, piece + 1):
        poly = drives.polynomials[n]
        s = t - drives.breaks[n]
        for k in range(min(degree + 1, len(x))):
            value = 0.0
            # binomial(i, k) s^(i - k), from the highest power down.
            for i in range(degree, k - 1, -1):
                factor = 1.0
                for j in range(k):
                    factor *= (i - j) / (j + 1.0)
                value = value * s + factor * poly[i]
            x[k] = value
    sines = drives.sines[m]
    amplitude, rate, phase = sines[0], sines[1], sines[2]
    if amplitude != 0.0:
        sine = amplitude * np.sin(rate * t + phase)
        cosine = amplitude * np.cos(rate * t + phase)
        factor = 1.0
        for k in range(len(x)):
            if k > 0:
                factor *= rate / k
            # Derivatives of the sine: sin, cos, -sin, -cos.
            part = sine if k % 2 == 0 else cosine
            x[k] += factor * (part if k % 4 < 2 else -part)


@noinline
def start_drives(loads, t):
    """Coefficients of all motions about t, and the first two of the driven right-hand sides."""
    drives = loads.drives
    for m in range(len(drives.sines)):
        motion_coefficients(drives, m, t, drives.motion[m])
    drive_coefficients(loads, 0)
    drive_coefficients(loads, 1)


@noinline
def drive_coefficients(loads, m):
    """Coefficient m of the driven right-hand sides, side[k, m], without their factors."""
    drives = loads.drives
    for k in range(len(drives.equations)):
        x = drives.motion[drives.equations[k, MOTION]]
        y = drives.side[k]
        kind = drives.equations[k, KIND]
        if kind == LINEAR:
            y[m] = x[m]
        elif kind == SQUARE:
            y[m] = 0.5 * cauchy(x, x, 0, m + 1, m)
        elif kind == COSINE:
            # The sine of the same motion is the next equation.
            z = drives.side[k + 1]
            if m == 0:
                y[0] = np.cos(x[0])
                z[0] = np.sin(x[0])
            else:
                y[m] = -cauchy_rates(z, x, m - 1) / m
                z[m] = cauchy_rates(y, x, m - 1) / m


@kernel
def add_sides(form, loads, m, b):
    """Add coefficient m of the driven right-hand sides to those of all equations, in elimination order."""
    drive_coefficients(loads, m)
    drives = loads.drives
    for n in range(len(drives.equations)):
        b[form.pos_c[drives.equations[n, EQUATION]]] += drives.factor[n] * drives.side[n, m]


@kernel
def multiply_slope(lam, k, eq, y):
    """Coefficient k of the product of a multiplier and a slope."""
    s = 0.0
    for j in range(k + 1):
        s += lam[k - j, eq] * y[j]
    return s


@kernel
def force_coefficient(drives, lam, m, k):
    """Coefficient k of the force of a drive along its motion, -lam . dphi0/dx.

    The multipliers of an angle are not unique, but this sum of them is; so it is computed first.
    """
    force = 0.0
    for n in range(len(drives.equations)):
        if drives.equations[n, MOTION] == m:
            kind = drives.equations[n, KIND]
            eq = drives.equations[n, EQUATION]
            # Slopes: x of a square, -sine of a cosine, cosine of a sine.
            if kind == LINEAR:
                part = lam[k, eq]
            elif kind == COSINE:
                part = -multiply_slope(lam, k, eq, drives.side[n + 1])
            elif kind == SINE:
                part = multiply_slope(lam, k, eq, drives.side[n - 1])
            else:
                part = multiply_slope(lam, k, eq, drives.motion[m])
            force -= drives.factor[n] * part
    return force


@kernel
def add_work(drives, lam, known, work):
    """Coefficients of the work of the drives."""
    for m in range(len(drives.sines)):
        force = drives.force[m]
        for k in range(known + 1):
            force[k] = force_coefficient(drives, lam, m, k) if k < known - 1 else 0.0
        add_product(1.0, force, drives.motion[m], known, work)
