"""Motion of the spatial slider-crank by one quadrature in the crank angle.

The crank rotates by phi about x: B = (0, 0.1 - 0.08 sin(phi), 0.12 + 0.08 cos(phi)). The slider is at
C = (x, 0, 0) with |B - C| = 0.3. The rod has three body-fixed directions: r from C to B, the axis
n = (x-axis x r) / |x-axis x r| of the universal joint at C, which stays normal to the sliding direction, and
r x n. Its angular velocity about them per unit of phi is

    w_r = (r x n) . n',    w_n = -(r x n) . r',    w_3 = n . r'

so T = M(phi) phi'^2 / 2, and M phi'^2 / 2 + V is constant. The crank never reverses; one turn gives the whole
motion. Two interpretations of the rod's inertia about r, n, r x n are in use; see problem.py.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats
from .quadrature import TimeOfAngle, make_clock

CRANK, ROD = 0.08, 0.3
A = np.array([0.0, 0.1, 0.12])
CRANK_MASS, CRANK_INERTIA, ROD_MASS, SLIDER_MASS = 0.12, 1e-4, 0.5, 2.0
GRAVITY, SPEED = 9.81, 6.0

# Panels per turn; the last terms of the series are then at rounding level.
PANELS = 96


def slider_crank_pose(phi: ArrayLike) -> tuple[Floats, Floats, Floats, Floats]:
    """Return x, its rate, B and the rod's angular velocity about r, n, r x n; rates are per unit of phi."""
    sin, cos = np.sin(phi), np.cos(phi)
    zero = np.zeros_like(sin)
    B = np.stack([zero, A[1] - CRANK * sin, A[2] + CRANK * cos], axis=-1)
    B1 = np.stack([zero, -CRANK * cos, -CRANK * sin], axis=-1)
    x = np.sqrt(ROD**2 - _dot(B, B))
    x1 = -_dot(B, B1) / x
    along = np.array([1.0, 0.0, 0.0])
    r = (B - x[..., None] * along) / ROD
    r1 = (B1 - x1[..., None] * along) / ROD
    n, n1 = np.cross(along, r), np.cross(along, r1)
    size = np.linalg.norm(n, axis=-1)[..., None]
    n, n1 = n / size, n1 / size
    third = np.cross(r, n)
    spins = np.stack([_dot(third, n1), -_dot(third, r1), _dot(n, r1)], axis=-1)
    return x, x1, B, spins


def slider_crank_energy(
    phi: ArrayLike, inertia: tuple[float, float, float]
) -> tuple[Floats, Floats]:
    """Return effective inertia M(phi) [kg m2] and potential energy [J]; inertia: of the rod about r, n, r x n."""
    x, x1, B, spins = slider_crank_pose(phi)
    # The rod's centre of mass is half-way between B, which rotates with the crank, and C.
    B1 = np.stack([np.zeros_like(x), A[2] - B[..., 2], B[..., 1] - A[1]], axis=-1)
    center1 = 0.5 * (B1 + np.stack([x1, np.zeros_like(x), np.zeros_like(x)], axis=-1))
    M = (
        CRANK_INERTIA
        + CRANK_MASS * CRANK**2 / 4.0
        + ROD_MASS * _dot(center1, center1)
        + spins**2 @ np.array(inertia)
        + SLIDER_MASS * x1**2
    )
    V = GRAVITY * (0.5 * CRANK_MASS * (A[2] + B[..., 2]) + 0.5 * ROD_MASS * B[..., 2])
    return M, V


def slider_crank_angle(
    times: ArrayLike, inertia: tuple[float, float, float]
) -> tuple[Floats, Floats]:
    """Return the crank angle [rad], unwrapped beyond full turns, and its rate [rad/s]."""
    t = np.atleast_1d(np.asarray(times, dtype=np.float64))
    clock = _solve_turn(inertia)
    turns = np.floor(t / clock.duration)
    phi, rate = clock.read(t - turns * clock.duration)
    return phi + 2.0 * np.pi * turns, rate


def slider_crank_reference(times: ArrayLike, inertia: tuple[float, float, float]) -> Floats:
    """Return position and velocity of the slider; the crank starts upright with 6 rad/s.

    times: instants [s], shape (n,)
    returns: columns x, y, z [m], vx, vy, vz [m/s], shape (n, 6); y and z are zero
    """
    phi, rate = slider_crank_angle(times, inertia)
    x, x1, _, _ = slider_crank_pose(phi)
    zero = np.zeros_like(x)
    return np.column_stack([x, zero, zero, x1 * rate, zero, zero])


@lru_cache(maxsize=8)
def _solve_turn(inertia: tuple[float, float, float]) -> TimeOfAngle:
    M0, V0 = slider_crank_energy(0.0, inertia)
    energy = 0.5 * M0 * SPEED**2 + V0

    def slope(phi: Floats) -> Floats:
        M, V = slider_crank_energy(phi, inertia)
        return np.sqrt(M / (2.0 * (energy - V)))

    return make_clock(slope, np.linspace(0.0, 2.0 * np.pi, PANELS + 1))


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.sum(a * b, axis=-1))
