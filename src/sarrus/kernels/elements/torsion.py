"""Torsion springs with dampers at revolute joints, and torques there.

    u, b, u' = nine forms: u and b = axis x u in the first body, u' in the second (u at the start)
    c = u . u', s = b . u', theta = atan2(s, c), unwrapped beyond a full turn, theta' = c s' - s c'
    M = m - k (theta - theta0) - c theta',      w[u] = -M s u',      w[b] = M c u',      w[u'] = M (c b - s u)
    potential energy 1/2 k (theta - theta0)^2,      non-conservative power (m - c theta') theta'

The most recent angles are carried from state to state, so that full turns are counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ..compiler import formula, kernel
from ..double_double import rounded, shortened
from ..layout import NONE, list_block
from ..polynomials import add_damping, cauchy, cauchy_rates, dot, dot_coefficient, eval_series

# Parameters of a torsion spring.
STIFFNESS, DAMPING, FREE, TORQUE = 0, 1, 2, 3
# Rows of its series.
COSINE, SINE, ANGLE, MOMENT, MOMENT_COSINE, MOMENT_SINE = 0, 1, 2, 3, 4, 5


class Torsions(NamedTuple):
    """First of the nine forms of each torsion spring; rows of stiffness, damping, free angle, torque.

    Series coefficients of each: cosine, sine, angle, moment, moment times cosine, moment times sine.
    """

    first: Ints
    numbers: Floats
    turn: Floats = NONE


def numbers_of(torsion: Any) -> tuple[float, float, float, float]:
    """Parameters of a mechanism's torsion spring, in the order of the formula."""
    return torsion.stiffness, torsion.damping, torsion.free_angle, torsion.torque


@formula
def moment(p: Any, angle: Any, rate: Any) -> Any:
    """Moment of a torsion spring with parameters p on its second body, from its angle and the rate of that."""
    return p[TORQUE] - p[STIFFNESS] * (angle - p[FREE]) - p[DAMPING] * rate


@formula
def energy(p: Any, angle: Any) -> Any:
    """Potential energy of a torsion spring; its constant torque has none."""
    return 0.5 * p[STIFFNESS] * (angle - p[FREE]) ** 2


def make_series(torsions: Torsions, rows: int) -> Torsions:
    """The torsion springs with memory for `rows` coefficients."""
    return torsions._replace(turn=np.zeros((len(torsions.first), 6, rows)))


def list_entries(torsions: Torsions) -> list[tuple[int, int]]:
    """Row and column of each entry of dw/df."""
    return [entry for a in torsions.first for entry in list_block(a, 9)]


@kernel
def unwrap(angle, near):
    """The same angle plus the number of full turns that brings it nearest to `near`."""
    return angle + 2.0 * np.pi * np.rint(rounded(near - angle) / (2.0 * np.pi))


@kernel
def eval_turn(torsions, n, f):
    """Cosine and sine of the angle of a torsion spring."""
    u = torsions.first[n]
    return dot(f, u, f, u + 6), dot(f, u + 3, f, u + 6)


@kernel
def eval_turning(torsions, n, f, df):
    """Cosine, sine and their rates for the angle of a torsion spring."""
    u = torsions.first[n]
    b = u + 3
    x = u + 6
    c, s = eval_turn(torsions, n, f)
    dc = dot(df, u, f, x) + dot(f, u, df, x)
    ds = dot(df, b, f, x) + dot(f, b, df, x)
    return c, s, dc, ds


@kernel
def follow_angle(torsions, n, f, theta):
    """theta[n]: the current angle, nearest to the previous one."""
    c, s = eval_turn(torsions, n, f)
    theta[n] = unwrap(np.arctan2(shortened(s), shortened(c)), theta[n])


@kernel
def add_moment(torsions, n, M, f, w):
    """Add the forces of a moment at a torsion spring."""
    c, s = eval_turn(torsions, n, f)
    u = torsions.first[n]
    for i in range(u, u + 3):
        w[i] -= M * s * f[i + 6]
        w[i + 3] += M * c * f[i + 6]
        w[i + 6] += M * (c * f[i + 3] - s * f[i])


@kernel
def add_weights(torsions, f, df, theta, w):
    """Add the forces of torsion springs; theta: their most recent angles, updated."""
    for n in range(len(torsions.first)):
        c, s, dc, ds = eval_turning(torsions, n, f, df)
        angle = unwrap(np.arctan2(shortened(s), shortened(c)), theta[n])
        theta[n] = angle
        add_moment(torsions, n, moment(torsions.numbers[n], angle, c * ds - s * dc), f, w)


@kernel
def add_derivatives(torsions, f, df, theta, at, A, B):
    """The 81 entries of each torsion spring, row by row; returns the next index. theta as for `add_weights`."""
    for n in range(len(torsions.first)):
        follow_angle(torsions, n, f, theta)
        at = torsion_derivatives(torsions, n, theta[n], f, df, at, A, B)
    return at


@kernel
def torsion_derivatives(torsions, n, angle, f, df, at, A, B):
    """The 81 entries of one torsion spring."""
    c, s, dc, ds = eval_turning(torsions, n, f, df)
    u = torsions.first[n]
    p = torsions.numbers[n]
    M = moment(p, angle, c * ds - s * dc)
    for i in range(9):
        part = i // 3
        # w[i] = M * (p1 * f[i1] + p2 * f[i2])
        if part == 0:
            i1, i2, p1, p2 = u + i + 6, u, -s, 0.0
        elif part == 1:
            i1, i2, p1, p2 = u + i + 3, u, c, 0.0
        else:
            i1, i2, p1, p2 = u + i - 3, u + i - 6, c, -s
        lever = p1 * f[i1] + p2 * f[i2]
        for j in range(9):
            # Derivatives of c, s, c', s' with respect to form j. Those of c', s' with respect to its rate equal
            # those of c, s.
            gc, gs, gdc, gds = 0.0, 0.0, 0.0, 0.0
            if j < 3:
                gc, gdc = f[u + j + 6], df[u + j + 6]
            elif j < 6:
                gs, gds = f[u + j + 3], df[u + j + 3]
            else:
                gc, gdc = f[u + j - 6], df[u + j - 6]
                gs, gds = f[u + j - 3], df[u + j - 3]
            turn = c * gs - s * gc
            change = -p[STIFFNESS] * turn / (c * c + s * s)
            change -= p[DAMPING] * (gc * ds + c * gds - gs * dc - s * gdc)
            if part == 0:
                own = -gs * f[i1]
            elif part == 1:
                own = gc * f[i1]
            else:
                own = gc * f[i1] - gs * f[i2]
            if u + j == i1:
                own += p1
            if part == 2 and u + j == i2:
                own += p2
            A[at] = change * lever + M * own
            B[at] = -p[DAMPING] * turn * lever
            at += 1
    return at


@kernel
def add_energy(torsions, theta, total):
    """Add the potential energy of the torsion springs at these angles."""
    for n in range(len(torsions.first)):
        total += energy(torsions.numbers[n], theta[n])
    return total


@kernel
def add_power(torsions, f, df, total):
    """Add the power of dampers and torques."""
    for n in range(len(torsions.first)):
        c, s, dc, ds = eval_turning(torsions, n, f, df)
        rate = c * ds - s * dc
        total += (torsions.numbers[n, TORQUE] - torsions.numbers[n, DAMPING] * rate) * rate
    return total


@kernel
def add_coefficient(torsions, fc, theta0, k, w):
    """Coefficient k of the forces of torsion springs; theta0: their angles at the start of the series."""
    for n in range(len(torsions.first)):
        u = torsions.first[n]
        p = torsions.numbers[n]
        turn = torsions.turn[n]
        c, s, theta = turn[COSINE], turn[SINE], turn[ANGLE]
        M, Mc, Ms = turn[MOMENT], turn[MOMENT_COSINE], turn[MOMENT_SINE]
        if k == 0:
            theta[0] = theta0[n]
            c[0] = dot_coefficient(fc, u, u + 6, 0)
            s[0] = dot_coefficient(fc, u + 3, u + 6, 0)
        c[k + 1] = dot_coefficient(fc, u, u + 6, k + 1)
        s[k + 1] = dot_coefficient(fc, u + 3, u + 6, k + 1)
        rate = cauchy_rates(c, s, k) - cauchy_rates(s, c, k)
        theta[k + 1] = rate / (k + 1.0)
        M[k] = -p[STIFFNESS] * theta[k] - p[DAMPING] * rate
        if k == 0:
            M[0] += p[TORQUE] + p[STIFFNESS] * p[FREE]
        Mc[k] = cauchy(M, c, 0, k + 1, k)
        Ms[k] = cauchy(M, s, 0, k + 1, k)
        for i in range(u, u + 3):
            w[i] -= cauchy(Ms, fc[i + 6], 0, k + 1, k)
            w[i + 3] += cauchy(Mc, fc[i + 6], 0, k + 1, k)
            w[i + 6] += cauchy(Mc, fc[i + 3], 0, k + 1, k) - cauchy(Ms, fc[i], 0, k + 1, k)


@kernel
def land_angles(torsions, f, order, h, theta):
    """theta: the angles at the end of a step of length h, nearest to the values of their series."""
    for n in range(len(torsions.first)):
        theta[n] = eval_series(torsions.turn[n, ANGLE], order, h)
        follow_angle(torsions, n, f, theta)


@kernel
def add_work(torsions, known, work):
    """Coefficients of the work of dampers and torques."""
    for n in range(len(torsions.first)):
        theta = torsions.turn[n, ANGLE]
        if torsions.numbers[n, DAMPING] != 0.0:
            add_damping(torsions.numbers[n, DAMPING], theta, known, work)
        for k in range(1, known + 1):
            work[k] += torsions.numbers[n, TORQUE] * theta[k]
