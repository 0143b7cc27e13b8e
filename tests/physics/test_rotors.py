"""Inertia on the relative coordinate of a joint, against Lagrange's equations written by hand."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sarrus

# steps of the reference hold 1e-13; the run's own tolerance is 1e-10 of the size, ten times that over a run
CLOSE = 2e-9


def turn(rng):
    """A random rotation."""
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def double_pendulum(place, gravity, inertia):
    """Rods of 1 m and 2 kg, 0.7 m and 1 kg, the second one hanging; a rotor between them."""
    m = sarrus.Mechanism("double pendulum", gravity=gravity)
    m.rod("a", place(0, 0), place(1, 0), mass=2.0)
    m.rod("b", place(1, 0), place(1, -0.7), mass=1.0)
    axis = None if len(gravity) == 2 else place(0, 0, 1)
    m.revolute("O", "ground", "a", at=place(0, 0), axis=axis)
    m.revolute("A", "a", "b", at=place(1, 0), axis=axis)
    if inertia:
        m.rotor("motor", "A", inertia=inertia)
    return m


def lagrange_double(t, y, inertia):
    """Angles x, y of the rods from the x-axis and their rates."""
    (x, y_, u, w) = y
    m1, m2, l1, l2, g = 2.0, 1.0, 1.0, 0.7, 9.81
    c, s = np.cos(x - y_), np.sin(x - y_)
    M = np.array([[m1 * l1**2 / 3 + m2 * l1**2, m2 * l1 * l2 / 2 * c], [0, m2 * l2**2 / 3]])
    M[1, 0] = M[0, 1]
    M += inertia * np.array([[1, -1], [-1, 1]])
    h = m2 * l1 * l2 / 2 * s
    f = [
        -h * w**2 - (m1 / 2 + m2) * g * l1 * np.cos(x),
        h * u**2 - m2 * g * l2 / 2 * np.cos(y_),
    ]
    return [u, w, *np.linalg.solve(M, f)]


@pytest.mark.parametrize("inertia", [0.0, 0.03, 5.0])
@pytest.mark.parametrize("space", [False, True])
def test_between_two_moving_bodies(inertia, space):
    R = turn(np.random.default_rng(3)) if space else np.eye(3)

    def place(x, y, z=0.0):
        return R @ (x, y, z) if space else np.array([x, y])

    m = double_pendulum(place, 9.81 * place(0, -1), inertia)
    result = sarrus.simulate(m, 2.0, 0.05)
    assert result.status == "done"
    start = [0.0, -np.pi / 2, 0.0, 0.0]
    found = solve_ivp(
        lagrange_double, (0, 2), start, t_eval=result.times, args=(inertia,), rtol=1e-13, atol=1e-13,
        method="DOP853",
    ).y  # fmt: skip
    tip = np.array([np.cos(found[0]), np.sin(found[0])])
    at = result.position("A") @ (R if space else np.eye(2))
    np.testing.assert_allclose(at[:, :2], tip.T, atol=CLOSE)
    # the joint's rate is what the rotor's energy counts
    assert abs(result.energy_drift) < 1e-8


@pytest.mark.parametrize("space", [False, True])
def test_a_motor_has_to_turn_its_rotor(space):
    """With the joint driven the motion stays, and the drive's torque grows by inertia times acceleration."""
    R = turn(np.random.default_rng(4)) if space else np.eye(3)

    def place(x, y, z=0.0):
        return R @ (x, y, z) if space else np.array([x, y])

    with_rotor, without = (double_pendulum(place, 9.81 * place(0, -1), i) for i in (0.4, 0.0))
    w, size = 4.0, 0.3
    for m in (with_rotor, without):
        m.drive("motion", "A", sarrus.Sine(size, w / (2 * np.pi)))
    one, other = (sarrus.simulate(m, 1.0, 0.1) for m in (with_rotor, without))
    np.testing.assert_allclose(one.position("b"), other.position("b"), atol=CLOSE)
    more = -0.4 * size * w**2 * np.sin(w * one.times)
    # torques follow accelerations, which lose two orders of the tolerance
    np.testing.assert_allclose(
        one.drive_force("motion") - other.drive_force("motion"), more, atol=1e-6
    )
    pulls = [r.reaction("motion").components[0].values for r in (one, other)]
    np.testing.assert_allclose(np.abs(pulls[0] - pulls[1]), np.abs(more), atol=1e-6)


def lagrange_slider(t, y, mass):
    """A collar of 1 kg on a turning arm (2 kg, 1 m): angle, travel and rates; a rotor on the travel."""
    angle, x, w, u = y
    r, g = 0.6 + x, 9.81
    turning = 2.0 / 3 + 1.0 * r**2 + 0.02
    pull = -(2.0 * 0.5 + 1.0 * r) * g * np.cos(angle) - 2 * r * u * w
    return [w, u, pull / turning, (r * w**2 - g * np.sin(angle)) / (1.0 + mass)]


@pytest.mark.parametrize("mass", [0.0, 0.2, 7.0])
def test_on_a_slider(mass):
    m = sarrus.Mechanism("collar")
    m.rod("arm", (0, 0), (1, 0), mass=2.0)
    m.body("collar", center=(0.6, 0), mass=1.0, inertia=0.02)
    m.revolute("O", "ground", "arm", at=(0, 0))
    m.prismatic("S", "arm", "collar", at=(0.6, 0), axis=(1, 0))
    if mass:
        m.rotor("screw", "S", mass=mass)
    result = sarrus.simulate(m, 0.8, 0.05)
    found = solve_ivp(
        lagrange_slider, (0, 0.8), [0.0] * 4, t_eval=result.times, args=(mass,), rtol=1e-13,
        atol=1e-13, method="DOP853",
    ).y  # fmt: skip
    expected = ((0.6 + found[1]) * [np.cos(found[0]), np.sin(found[0])]).T
    np.testing.assert_allclose(result.position("collar"), expected, atol=CLOSE)
    # all forces on both about the ground's pin
    total = result.reaction("O").force
    rate = 2.0 * result.acceleration("arm") + 1.0 * result.acceleration("collar")
    np.testing.assert_allclose(total, rate - 3.0 * np.array([0, -9.81]), atol=1e-6)


def test_on_a_fixed_axis_it_is_a_flywheel():
    """The ground holds the axis: no coordinate more, and the same motion as inertia of the body."""
    plain, heavy = (sarrus.Mechanism("pendulum") for _ in range(2))
    for m, inertia in ((plain, 0.0), (heavy, 0.5)):
        m.body("b", center=(0.5, 0), mass=1.0, inertia=0.1 + inertia)
        m.revolute("O", "ground", "b", at=(0, 0))
    plain.rotor("motor", "O", inertia=0.5)
    one, other = (sarrus.simulate(m, 2.0, 0.1) for m in (plain, heavy))
    np.testing.assert_allclose(one.position("b"), other.position("b"), atol=1e-10)
    np.testing.assert_allclose(one.kinetic_energy, other.kinetic_energy, atol=1e-8)


def test_what_a_rotor_cannot_be():
    m = sarrus.Mechanism("pendulum")
    m.rod("b", (0, 0), (1, 0), mass=1.0)
    m.revolute("O", "ground", "b", at=(0, 0))
    # as files are read: to their end
    m.at_once = False
    m.rotor("one", "O", mass=1.0)
    m.rotor("two", "P", inertia=1.0)
    m.rotor("three", "O", inertia=-1.0)
    with pytest.raises(sarrus.MechanismError) as error:
        m.check()
    for words in ("give it inertia, not mass", "there is no joint 'P'", "must be positive"):
        assert words in str(error.value)
