"""Bodies that no joint holds: parabolas, and the torque-free top."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj

from builders import rotation
from sarrus import Mechanism, simulate

# the default tolerance is 1e-10 of the body's size; a few turns add up to less than a hundred
ADDED_UP = 1e-8


@pytest.mark.parametrize("dimension", [2, 3])
def test_free_flight_parabola(dimension):
    """The centre of a body that no joint reaches flies on a parabola, whatever it spins."""
    gravity = np.array([0.3, -9.81, 1.0])[:dimension]
    start = np.array([0.2, 0.5, -1.0])[:dimension]
    speed = np.array([1.0, 3.0, -2.0])[:dimension]
    m = Mechanism("stone", gravity=gravity)
    m.body("stone", 2.0, start, 0.3 if dimension == 2 else (0.3, 0.4, 0.5))
    m.point("middle", "stone", start)
    m.set_velocity("middle", speed)
    m.set_angular_velocity("stone", 2.0 if dimension == 2 else (1.0, 2.0, 3.0))
    result = simulate(m, 2.0, 0.1)
    t = result.times[:, None]
    # the parabola is a polynomial: rounding of places of up to 20 m
    np.testing.assert_allclose(
        result.position("stone"), start + speed * t + 0.5 * gravity * t**2, atol=1e-11
    )
    np.testing.assert_allclose(
        result.acceleration("stone"), np.tile(gravity, (len(t), 1)), atol=1e-10
    )


def test_free_planar_body_spins_evenly():
    """A point of a free planar body circles its centre at the given rate."""
    m = Mechanism("disc", gravity=(0, 0))
    m.body("disc", 1.0, (1, 2), 0.2)
    m.point("rim", "disc", (1.5, 2))
    m.set_angular_velocity("disc", 3.0)
    m.point("middle", "disc", (1, 2))
    m.set_velocity("middle", (0, 0))
    result = simulate(m, 4.0, 0.1)
    turn = 3.0 * result.times
    expected = np.column_stack([1 + 0.5 * np.cos(turn), 2 + 0.5 * np.sin(turn)])
    np.testing.assert_allclose(result.position("rim"), expected, atol=ADDED_UP)


def spinning_body(inertia, spin, R=None):
    """A free body in space without gravity, with points one metre along its axes."""
    R = np.eye(3) if R is None else R
    m = Mechanism("top", gravity=(0, 0, 0))
    m.body("top", 1.0, (0, 0, 0), R @ np.diag(inertia) @ R.T)
    for k, name in enumerate("xyz"):
        m.point(name, "top", R[:, k])
    m.set_angular_velocity("top", R @ np.array(spin))
    m.point("middle", "top", (0, 0, 0))
    m.set_velocity("middle", (0, 0, 0))
    return m


def measure_spin(result):
    """Rotation matrices of the body and its angular velocity in the world."""
    R = np.stack([result.position(k) for k in "xyz"], axis=-1)
    dR = np.stack([result.velocity(k) for k in "xyz"], axis=-1)
    W = dR @ np.swapaxes(R, 1, 2)
    return R, np.column_stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]])


@pytest.mark.parametrize("seed", [None, 5])
def test_symmetric_top_precession(seed):
    """The axis of a symmetric torque-free top turns about L at the rate |L| / I1."""
    R0 = np.eye(3) if seed is None else rotation(seed)
    inertia, spin = np.array([0.5, 0.5, 0.2]), np.array([0.8, 0.0, 3.0])
    result = simulate(spinning_body(inertia, spin, R0), 10.0, 0.1)
    L = R0 @ (inertia * spin)
    rate, n = np.linalg.norm(L) / 0.5, L / np.linalg.norm(L)
    axis = R0[:, 2]
    turn = rate * result.times[:, None]
    # rotation of the axis about n (Rodrigues)
    expected = (
        np.cos(turn) * axis + np.sin(turn) * np.cross(n, axis) + (1 - np.cos(turn)) * (n @ axis) * n
    )
    np.testing.assert_allclose(result.position("z"), expected, atol=ADDED_UP)


def test_asymmetric_top_energy_and_angular_momentum():
    """An asymmetric top keeps its energy and its angular momentum in the world."""
    inertia, spin = np.array([0.3, 0.4, 0.5]), np.array([0.1, 3.0, 0.05])
    result = simulate(spinning_body(inertia, spin, rotation(7)), 10.0, 0.05)
    R, w = measure_spin(result)
    L = np.einsum("tij,j,tkj,tk->ti", R, inertia, R, w)
    # L is about 1.2 kg m^2/s: a few hundred steps of the tolerance 1e-10 of it
    np.testing.assert_allclose(L, np.tile(L[0], (len(L), 1)), atol=1e-8)
    energy = 0.5 * np.einsum("ti,ti->t", w, L)
    np.testing.assert_allclose(energy, energy[0], atol=1e-8)
    np.testing.assert_allclose(
        R @ np.swapaxes(R, 1, 2), np.tile(np.eye(3), (len(R), 1, 1)), atol=1e-13
    )


def test_asymmetric_top_euler_elliptic_functions():
    """Components of the spin in the body follow Euler's solution in elliptic functions.

    From w = (a, 0, c) with I3 c^2 (I3 - I2) > I1 a^2 (I2 - I1):
    w1 = a cn, w2 = b sn, w3 = c dn of (p t | k^2).
    """
    I1, I2, I3 = 0.3, 0.4, 0.5
    a, c = 1.0, 2.0
    b = -a * np.sqrt(I1 * (I3 - I1) / (I2 * (I3 - I2)))
    p = c * np.sqrt((I3 - I1) * (I3 - I2) / (I1 * I2))
    k2 = (I2 - I1) * I1 * a**2 / ((I3 - I2) * I3 * c**2)
    result = simulate(spinning_body((I1, I2, I3), (a, 0.0, c)), 10.0, 0.05)
    R, w = measure_spin(result)
    body = np.einsum("tji,tj->ti", R, w)
    sn, cn, dn, _ = ellipj(p * result.times, k2)
    # the sign of w2: I2 w2' = (I3 - I1) w3 w1 > 0 at the start
    expected = np.column_stack([a * cn, -b * sn, c * dn])
    np.testing.assert_allclose(body, expected, atol=ADDED_UP)


def test_intermediate_axis_flips():
    """Euler's equations with the spin near the middle axis: the same tumbling over 6 s."""
    inertia, spin = np.array([0.3, 0.4, 0.5]), np.array([1e-3, 3.0, 0.0])
    result = simulate(spinning_body(inertia, spin), 6.0, 0.05)

    def euler(_, w):
        return np.cross(inertia * w, w) / inertia

    found = solve_ivp(euler, (0, 6), spin, "DOP853", result.times, rtol=1e-13, atol=1e-13).y.T
    R, w = measure_spin(result)
    # near the middle axis errors grow by the inverse of the disturbance, a thousand
    np.testing.assert_allclose(np.einsum("tji,tj->ti", R, w), found, atol=1e-6)
