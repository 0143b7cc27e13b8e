"""Motion of Andrews' squeezer from rest, by one quadrature in the crank angle.

Points are complex numbers. The crank O F is at angle beta; E, G and H are intersections of circles,

    |E - F| = d, |E - B| = ss;    |G - A| = zt, |G - E| = e;    |H - A| = u, |H - E| = zf

always on the side of the initial configuration, so all bodies are functions of beta. With their rates per unit of
beta, T = m(beta) beta'^2 / 2, and the constant torque tau on the crank only adds to the energy:

    m(beta) beta'^2 / 2 = tau (beta - beta0) + V(beta0) - V(beta),    V = c0/2 (|C - D| - l0)^2

The crank never reverses. The substitution beta = beta0 + u^2 removes the singularity of dt/du at the start from
rest. Names are those of the IVP test set [MazziaMagherini2008]. Measured errors: see docs/problems.md.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Complex, Floats, plain_sum
from .quadrature import TimeOfAngle, make_clock

A, B, C = -0.06934 - 0.00227j, -0.03635 + 0.03273j, 0.014 + 0.072j
RR, RA = 0.007, 0.00092
D, DA = 0.028, 0.0115
SS, SA, SB, SC, SD = 0.035, 0.01874, 0.01043, 0.018, 0.02
E, EA = 0.02, 0.01421
ZT, TA, TB = 0.04, 0.02308, 0.00916
ZF, FA = 0.02, 0.01421
U, UA, UB = 0.04, 0.01228, 0.00449
MASSES = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
INERTIAS = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
STIFFNESS, FREE_LENGTH, TORQUE = 4530.0, 0.07785, 0.033

# End of the starting interval, in u; width of later panels in beta, with which the last terms are at rounding
# level; nodes of a mean.
NEAR, PANEL, NODES = 0.8, 0.3, 20


class SqueezerPose(NamedTuple):
    """All bodies at given crank angles: joints, spring point, centres of mass and their rates per unit of beta."""

    E: Complex
    F: Complex
    G: Complex
    H: Complex
    D: Complex
    centers: tuple[Complex, ...]
    center_rates: tuple[Complex, ...]
    spins: tuple[Floats, ...]


def squeezer_pose(beta: ArrayLike) -> SqueezerPose:
    """Return positions of all bodies and their rates at crank angles [rad] of any shape."""
    turn: Complex = np.asarray(np.exp(1j * np.asarray(beta, dtype=np.float64)), np.complex128)
    F_ = RR * turn
    E_ = _meet(F_, D, B, SS, 1.0)
    G_ = _meet(A, ZT, E_, E, 1.0)
    H_ = _meet(A, U, E_, ZF, -1.0)
    F1: Complex = 1j * F_
    g1 = _dot(E_ - F_, F1) / _dot(E_ - F_, 1j * (E_ - B))
    E1 = 1j * (E_ - B) * g1
    de1 = _dot(E_ - G_, E1) / _dot(E_ - G_, 1j * (G_ - A))
    G1 = 1j * (G_ - A) * de1
    ep1 = _dot(E_ - H_, E1) / _dot(E_ - H_, 1j * (H_ - A))
    H1 = 1j * (H_ - A) * ep1

    def centers(
        F: Complex, E_: Complex, G: Complex, H: Complex, b: Complex, a: Complex
    ) -> list[Complex]:
        return [
            RA / RR * F,
            F + DA / D * (E_ - F),
            b + (SA + 1j * SB) / SS * (E_ - b),
            G + (E - EA) / E * (E_ - G),
            a + (TA + 1j * TB) / ZT * (G - a),
            H + (ZF - FA) / ZF * (E_ - H),
            a + (UA - 1j * UB) / U * (H - a),
        ]

    zero = np.zeros_like(F_)
    spins = (
        np.ones(F_.shape),
        _dot(1j * (E_ - F_), E1 - F1) / D**2,
        g1,
        _dot(1j * (E_ - G_), E1 - G1) / E**2,
        de1,
        _dot(1j * (E_ - H_), E1 - H1) / ZF**2,
        ep1,
    )
    return SqueezerPose(
        E_,
        F_,
        G_,
        H_,
        B + (SC + 1j * SD) / SS * (E_ - B),
        tuple(centers(F_, E_, G_, H_, zero + B, zero + A)),
        tuple(centers(F1, E1, G1, H1, zero, zero)),
        spins,
    )


def squeezer_energy(beta: ArrayLike) -> tuple[Floats, Floats]:
    """Return the effective inertia m(beta) [kg m2] and the energy of the spring V(beta) [J]."""
    pose = squeezer_pose(beta)
    inertia = plain_sum(
        m * np.abs(rate) ** 2 + i * spin**2
        for m, i, rate, spin in zip(MASSES, INERTIAS, pose.center_rates, pose.spins, strict=True)
    )
    spring = 0.5 * STIFFNESS * (np.abs(C - pose.D) - FREE_LENGTH) ** 2
    return np.asarray(inertia), np.asarray(spring)


def squeezer_angle(times: ArrayLike, beta0: float) -> tuple[Floats, Floats]:
    """Return the crank angle [rad] and its rate [rad/s] at times [s], from rest at beta0."""
    t = np.atleast_1d(np.asarray(times, dtype=np.float64))
    # Powers of two, so that few solutions are computed for many requests.
    reach = 2.0 ** np.ceil(np.log2(max(float(np.abs(t).max(initial=0.0)), 0.05)))
    # From rest, the motion is symmetric in time.
    u, rate = _solve_clock(beta0, reach).read(np.abs(t))
    return beta0 + u * u, 2.0 * u * rate * np.sign(t)


def squeezer_reference(times: ArrayLike, beta0: float) -> Floats:
    """Return position and velocity of the point F; the crank starts at beta0 [rad], at rest.

    times: instants [s], shape (n,)
    returns: columns x, y [m], vx, vy [m/s], shape (n, 4)
    """
    beta, rate = squeezer_angle(times, beta0)
    cos, sin = RR * np.cos(beta), RR * np.sin(beta)
    return np.column_stack([cos, sin, -sin * rate, cos * rate])


@lru_cache(maxsize=8)
def _solve_clock(beta0: float, reach: float) -> TimeOfAngle:
    """Return t(u) for at least `reach` seconds."""
    _, V0 = squeezer_energy(beta0)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)

    def slope(u: Floats) -> Floats:
        square = u * u
        inertia, V = squeezer_energy(beta0 + square)
        drop = (V0 - V) / square
        # Near the start, use the mean of -dV/dbeta, because the difference loses digits by cancellation.
        near = u < NEAR
        inside = square[near][:, None] * (0.5 + 0.5 * nodes)
        drop[near] = -_spring_slope(beta0 + inside) @ (0.5 * weights)
        return np.sqrt(2.0 * inertia / (TORQUE + drop))

    first, turns = np.linspace(0.0, NEAR, 5)[:-1], 2.0
    while True:
        # Panels of equal width in beta, except the first ones.
        breaks = np.concatenate([first, np.sqrt(np.arange(NEAR**2, 2.0 * np.pi * turns, PANEL))])
        clock = make_clock(slope, breaks)
        if not clock.duration <= reach:
            return clock
        # The angle grows with the square of the time.
        turns *= 1.1 * (reach / clock.duration) ** 2 + 0.1


def _spring_slope(beta: Floats) -> Floats:
    """DV/dbeta [J]."""
    pose = squeezer_pose(beta)
    length = np.abs(pose.D - C)
    rate = 1j * (pose.D - B) * pose.spins[2]
    return STIFFNESS * (1.0 - FREE_LENGTH / length) * _dot(pose.D - C, rate)


def _meet(a: Complex | complex, ra: float, b: Complex | complex, rb: float, side: float) -> Complex:
    """Return the intersection of two circles, left (1) or right (-1) of the line from a to b."""
    way = b - a
    square = np.abs(way) ** 2
    along = 0.5 * (1.0 + (ra * ra - rb * rb) / square)
    across = np.sqrt(ra * ra / square - along * along)
    return np.asarray(a + (along + 1j * side * across) * way)


def _dot(a: Complex, b: Complex) -> Floats:
    return np.asarray((a.conjugate() * b).real)
