"""Reactions and driving forces of simulated motions under loads: closed forms, and balance of every body.

Loads are written twice: by the force kernels of the simulation and by `verdict.loads`. A body is balanced
only if both agree.
"""

import numpy as np
import pytest

from builders import n_four_bar, rotation
from linkages import slider_crank
from random_mechanisms import random_mechanism
from sarrus import Mechanism, MechanismError, simulate
from sarrus.mechanism.motion import Polynomial, Sine

ROUND_OFF = 1e-9


def test_driven_pendulum():
    """Torque of the drive = I x'' + m g l sin x; the pin carries m (a - g)."""
    m = Mechanism("driven")
    m.body("bob", 1.3, (0.0, -0.9), 0.2)
    m.revolute("pin", m.ground, "bob", at=(0, 0))
    m.drive("motor", "pin", Sine(0.8, 0.7))
    result = simulate(m, 2.0, 0.05)
    rate = 2 * np.pi * 0.7
    x = 0.8 * np.sin(rate * result.times)
    expected = -(0.2 + 1.3 * 0.81) * rate**2 * x + 1.3 * 9.81 * 0.9 * np.sin(x)
    motor = result.reaction("motor")
    assert np.allclose(motor.moment, expected, rtol=0, atol=1e-8)
    assert np.allclose(motor.components[0].values, expected, rtol=0, atol=1e-8)
    # the multipliers of the simulation say the same
    assert np.allclose(result.drive_force("motor"), expected, rtol=0, atol=1e-8)
    force = 1.3 * (result.acceleration("bob") - m.gravity)
    assert np.allclose(result.reaction("pin").force, force, rtol=0, atol=1e-8)
    assert not result.reaction("pin").moment.any()
    assert result.reactions.imbalance.max() < ROUND_OFF


@pytest.mark.slow
@pytest.mark.parametrize("R", [np.eye(3), rotation(3)])
def test_driven_hinge_in_space(R):
    """The drive's moment about its axis has the sign of its coordinate, whichever way the axis points."""
    for sign in (1.0, -1.0):
        m = Mechanism("turned", gravity=(0.0, 0.0, 0.0))
        m.body("wheel", 2.0, (0.0, 0.0, 0.0), (0.3, 0.3, 0.3))
        m.revolute("axle", m.ground, "wheel", at=(0, 0, 0), axis=sign * R[:, 2])
        m.drive("motor", "axle", Polynomial((0.0, 0.0, 2.0)))
        motor = simulate(m, 1.0, 0.25).reaction("motor")
        assert np.allclose(motor.components[0].values, 0.3 * 4.0, rtol=1e-9)
        assert np.allclose(motor.moment, 1.2 * sign * R[:, 2], rtol=0, atol=1e-9)


def test_jack_under_a_weight():
    """A driven link lifts a weight on a line: F = m (g + x'')."""
    m = Mechanism("jack")
    m.body("weight", 3.0, (0.0, 1.0))
    m.point_on_line("guide", m.ground, "weight", at=(0, 1), axis=(0, 1))
    m.distance("link", m.ground, "weight", start=(0, 0), end=(0, 1))
    m.drive("jack", "link", Polynomial((1.0, 0.2, 0.5)))
    result = simulate(m, 1.0, 0.1)
    jack = result.reaction("jack")
    assert np.allclose(jack.components[0].values, 3.0 * (9.81 + 1.0), rtol=1e-9)
    assert np.allclose(jack.force, (0.0, 3.0 * 10.81), rtol=0, atol=1e-8)
    assert np.allclose(result.reaction("link").force, 0.0)
    assert np.allclose(result.drive_force("jack"), jack.components[0].values, rtol=1e-9)


def test_torsion_over_many_turns():
    """A wheel against a torsional spring for several turns, few outputs: the hinge carries no moment."""
    m = Mechanism("wheel", gravity=(0.0, 0.0))
    m.body("wheel", 1.0, (0.0, 0.0), 0.5)
    m.revolute("axle", m.ground, "wheel", at=(0, 0))
    m.torsion("coil", "axle", stiffness=0.1, damping=0.01)
    m.set_angular_velocity("wheel", 60.0)
    result = simulate(m, 10.0, 0.5)
    # the acceleration is that of the unwrapped angle, up to 130 rad
    assert result.reactions.imbalance.max() < ROUND_OFF
    assert np.abs(result.reaction("axle").force).max() < 1e-9


def test_driven_slider_crank_with_a_spring():
    """Virtual power: drive + spring + weight = rate of the kinetic energy, from forces and velocities."""
    m = slider_crank(0.4)
    m.gravity[:] = (0.0, -9.81)
    m.drives.clear()
    m.drive("motor", "A", Polynomial((0.0, 6.0)))
    piston = m.bodies[2].center
    m.spring("s", m.ground, "piston", start=(2.0, 0.0), end=piston, stiffness=40.0, damping=3.0)
    result = simulate(m, 1.0, 0.02)
    assert result.reactions.imbalance.max() < ROUND_OFF
    x, v = result.position("piston")[:, 0], result.velocity("piston")[:, 0]
    free = 2.0 - piston[0]
    # the spring pulls the piston to the right when longer than free
    spring = (40.0 * (2.0 - x - free) - 3.0 * v) * v
    weight = sum(b.mass * np.sum(result.velocity(b.name) * m.gravity, axis=1) for b in m.bodies)
    inertia = sum(
        b.mass * np.sum(result.velocity(b.name) * result.acceleration(b.name), axis=1)
        for b in m.bodies
    )
    # the rod's own turning: its spin from the height of its crank pin
    B, Bv, Ba = (getattr(result, k)("B")[:, 1] for k in ("position", "velocity", "acceleration"))
    c = np.sqrt(1.0 - B**2)
    spin = -Bv / c
    rise = -Ba / c - B * Bv**2 / c**3
    inertia += 2.0 / 12.0 * spin * rise
    drive = result.reaction("motor").moment * 6.0
    assert np.allclose(6.0 * result.drive_force("motor"), drive, rtol=0, atol=1e-8)
    assert np.allclose(drive + spring + weight, inertia, rtol=0, atol=1e-7)


def drag(t, x, v):
    """A user's force."""
    return -0.5 * v + np.cos(t)


def add_loads(m, rng, user):
    """Springs, forces, torques, torsions and perhaps a user's force on random bodies."""
    d = m.dimension
    names = ["ground", *(b.name for b in m.bodies)]

    def point(name):
        body = next((b for b in m.bodies if b.name == name), None)
        if body is None:
            return rng.uniform(-1, 1, d)
        if body.ends is not None:
            return body.ends[0] + rng.uniform() * (body.ends[1] - body.ends[0])
        return np.array(body.center)

    for i in range(2):
        a, b = rng.choice(len(names), 2, replace=False)
        start, end = point(names[a]), point(names[b])
        if np.linalg.norm(end - start) > 0.2:
            m.spring(
                f"s{i}", names[a], names[b], start=start, end=end, stiffness=rng.uniform(1, 9),
                damping=rng.uniform(0, 1), preload=rng.uniform(-1, 1),
            )  # fmt: skip
    for fixed_in in ("world", "body"):
        name = str(rng.choice(names[1:]))
        # body-fixed loads need a body that shows how it is turned
        body = next(b for b in m.bodies if b.name == name)
        if np.linalg.matrix_rank(np.atleast_2d(body.inertia)) == (1 if d == 2 else 3):
            at, vector = point(name), rng.normal(size=d)
            m.force(f"f {fixed_in}", name, at=at, vector=vector, fixed_in=fixed_in)
            moment = rng.normal() if d == 2 else rng.normal(size=3)
            m.torque(f"t {fixed_in}", name, moment, fixed_in=fixed_in)
    for joint in list(m.joints):
        if joint.kind.value == "revolute" and len(joint.bodies) == 2 and rng.uniform() < 0.5:
            m.torsion(f"c {joint.name}", joint, stiffness=2.0, damping=0.3, torque=rng.normal())
    if user:
        name = str(rng.choice(names[1:]))
        m.point("mark", name, point(name))
        m.user_force("user", ["mark"], drag)
    return m


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
def test_random_loads_are_balanced(dimension):
    """Every body is balanced: both ways to write the loads agree, for every joint and load."""
    rejected, loaded = {}, 0
    for seed in range(30):
        m = random_mechanism(seed, dimension, sliding=seed % 2 == 0)
        try:
            # a user's function is compiled for every run: few runs have one
            add_loads(m, np.random.default_rng(seed), user=seed % 20 == 0)
            result = simulate(m, 0.2, 0.1)
        except MechanismError as error:
            # locked, or a body without inertia about an axis that no joint holds
            rejected[seed] = str(error)
            continue
        assert result.status == "done", f"seed {seed}: {result.message}"
        assert result.reactions.imbalance.max(initial=0.0) < ROUND_OFF, f"seed {seed}"
        loaded += len(m.springs) + len(m.forces) + len(m.torques) + len(m.torsions)
    assert len(rejected) <= 3, rejected
    assert loaded > 40


@pytest.mark.slow
def test_driven_large_mechanism():
    """N = 100 driven at one crank: balanced, and the drive does the work."""
    m = n_four_bar(100, speed=0.0)
    m.velocities.clear()
    m.drive("motor", "A0", Polynomial((0.0, 0.0, 0.3)))
    result = simulate(m, 0.5, 0.25)
    assert result.reactions.imbalance.max() < ROUND_OFF
    # 101 cranks of 1/3 and 100 couplers of 1 kg m^2 about the feet, at the upright start
    torque = result.reaction("motor").moment[0]
    assert np.isclose(torque, 0.6 * (101 / 3 + 100), rtol=1e-6)
