"""Springs, dampers, torsions, forces and torques in motions that are known in closed form."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from builders import rotation
from sarrus import Mechanism, simulate

# default tolerance 1e-10 of the size (about 1 m) a run
CLOSE = 2e-9
# energies of some ten joules, the same tolerance
BALANCE = 1e-8


def damped(times, mass, k, c):
    """Free decay from 1 at rest, and its rate."""
    fade = c / (2 * mass)
    rate = np.sqrt(k / mass - fade**2)
    shrink = np.exp(-fade * times)
    value = shrink * (np.cos(rate * times) + fade / rate * np.sin(rate * times))
    return value, -shrink * (k / mass / rate) * np.sin(rate * times)


def done(result):
    """A result that ended well and kept its energy balance."""
    assert result.status == "done", result.message
    assert result.energy_drift < BALANCE
    return result


@pytest.mark.parametrize("seed", [None, 5])
def test_mass_on_a_spring_and_damper(seed):
    """x = x0 + A e^(-d t) (cos w t + d/w sin w t), along a line of any direction."""
    along = np.array([1.0, 0.0]) if seed is None else rotation(seed)[0]
    m = Mechanism("oscillator", gravity=np.zeros(len(along)))
    m.body("mass", 2.0, 1.3 * along)
    m.spring(
        "s", m.ground, "mass", start=0 * along, end=1.3 * along,
        stiffness=50, damping=3, free_length=1.1, preload=5,
    )  # fmt: skip
    r = done(simulate(m, 3.0, 0.02))
    # at rest where 50 (l - 1.1) + 5 = 0
    value, rate = damped(r.times, 2.0, 50, 3)
    length = 1.0 + 0.3 * value
    np.testing.assert_allclose(r.position("mass"), length[:, None] * along, atol=CLOSE)
    np.testing.assert_allclose(r.length("s"), length, atol=CLOSE)
    pull = 50 * (length - 1.1) + 3 * 0.3 * rate + 5
    # the stiffness times the error of the length
    np.testing.assert_allclose(r.force("s"), pull, atol=100 * CLOSE)
    # the damper took what is gone: 1/2 k 0.3^2 at the start
    left = 0.5 * 50 * (0.3 * value) ** 2 + 0.5 * 2 * (0.3 * rate) ** 2
    np.testing.assert_allclose(r.work, left - 0.5 * 50 * 0.09, atol=BALANCE)


def disc(R=None):
    """A disc on a hinge: in the plane, or in space about the third row of R."""
    m = Mechanism("disc", gravity=(0, 0) if R is None else (0, 0, 0))
    if R is None:
        m.body("disc", 2.0, (0.5, 0), inertia=0.3)
        m.revolute("hinge", m.ground, "disc", at=(0, 0))
    else:
        m.body("disc", 2.0, 0.5 * R[0], R.T @ np.diag([0.2, 0.25, 0.3]) @ R)
        m.revolute("hinge", m.ground, "disc", at=(0, 0, 0), axis=3 * R[2])
    return m


INERTIA = 0.3 + 2.0 * 0.5**2  # about the hinge


@pytest.mark.parametrize("seed", [None, 2])
def test_torsional_pendulum_over_several_turns(seed):
    """A torsional spring wound up by three turns: the angle counts on."""
    m = disc(None if seed is None else rotation(seed))
    m.torsion("coil", "hinge", stiffness=2.0, damping=0.1, free_angle=18.0, torque=4.0)
    r = done(simulate(m, 10.0, 0.1))
    value, rate = damped(r.times, INERTIA, 2.0, 0.1)
    # at rest at free_angle + torque / stiffness
    angle = 20.0 * (1 - value)
    np.testing.assert_allclose(r.angle("hinge"), angle, atol=50 * CLOSE)
    torque = 4 - 2 * (angle - 18) + 0.1 * 20 * rate
    np.testing.assert_allclose(r.torque("coil"), torque, atol=100 * CLOSE)
    assert angle.max() > 4 * np.pi


@pytest.mark.parametrize("seed", [None, 2])
@pytest.mark.parametrize("fixed_in", ["world", "body"])
def test_constant_torque_spins_up(seed, fixed_in):
    """angle = 1/2 T/I t^2; across a hinge a torque does nothing."""
    R = None if seed is None else rotation(seed)
    m = disc(R)
    m.torque("T", "disc", 1.7 if R is None else 1.7 * R[2] + 0.6 * R[0], fixed_in=fixed_in)
    r = done(simulate(m, 6.0, 0.05))
    angle = 0.5 * 1.7 / INERTIA * r.times**2
    np.testing.assert_allclose(r.angle("hinge"), angle, atol=50 * CLOSE)
    np.testing.assert_allclose(r.work, 1.7 * angle, atol=50 * BALANCE)
    spin = 1.7 / INERTIA * r.times
    if R is None:
        np.testing.assert_allclose(r.orientation("disc"), angle, atol=50 * CLOSE)
        np.testing.assert_allclose(r.angular_velocity("disc"), spin, atol=50 * CLOSE)
    else:
        np.testing.assert_allclose(
            r.angular_velocity("disc"), np.outer(spin, R[2]), atol=50 * CLOSE
        )
        turned = r.orientation("disc") @ R[0]
        across = np.outer(np.cos(angle), R[0]) + np.outer(np.sin(angle), R[1])
        np.testing.assert_allclose(turned, across, atol=50 * CLOSE)


def test_torsion_between_two_moving_bodies():
    """Two discs on one pin: they swing against each other at sqrt(k (1/I1 + 1/I2))."""
    m = Mechanism("discs", gravity=(0, 0))
    for name, inertia in (("a", 0.4), ("b", 0.9)):
        m.body(name, 1.0, (0, 0), inertia=inertia)
        m.revolute(f"pin-{name}", m.ground, name, at=(0, 0))
    m.revolute("between", "a", "b", at=(0, 0))
    m.torsion("coil", "between", stiffness=3.0, free_angle=0.8)
    r = done(simulate(m, 8.0, 0.05))
    relative = 0.8 * (1 - np.cos(np.sqrt(3.0 * (1 / 0.4 + 1 / 0.9)) * r.times))
    np.testing.assert_allclose(r.angle("between"), relative, atol=10 * CLOSE)
    # no momentum about the pin: the coil is between them
    momentum = 0.4 * r.angular_velocity("a") + 0.9 * r.angular_velocity("b")
    np.testing.assert_allclose(momentum, 0.0, atol=10 * CLOSE)


@pytest.mark.parametrize("seed", [None, 4])
def test_thrust_that_turns_with_a_body(seed):
    """v = F / (m w) (sin w t, 1 - cos w t) for a body that spins at w."""
    R = np.eye(3) if seed is None else rotation(seed)
    m = Mechanism("thruster", gravity=(0, 0, 0))
    m.body("b", 2.0, (0, 0, 0), R.T @ np.diag([0.2, 0.2, 0.3]) @ R)
    m.point("c", "b", (0, 0, 0))
    m.force("thrust", "b", at=(0, 0, 0), vector=3 * R[0], fixed_in="body")
    m.set_angular_velocity("b", 1.5 * R[2])
    m.set_velocity("c", (0, 0, 0))
    r = done(simulate(m, 6.0, 0.05))
    t = 1.5 * r.times
    exact = np.outer(np.sin(t), R[0]) + np.outer(1 - np.cos(t), R[1])
    np.testing.assert_allclose(r.velocity("c"), exact, atol=10 * CLOSE)


def test_world_force_is_a_weight():
    """A force that keeps its direction does what the same weight does, and has a potential."""
    m = Mechanism("pulled", gravity=(0, 0))
    m.rod("rod", (0, 0), (1, 0), mass=2.0)
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    m.force("pull", "rod", at=(0.5, 0), vector=(0, -2 * 9.81))
    w = Mechanism("falling", gravity=(0, -9.81))
    w.rod("rod", (0, 0), (1, 0), mass=2.0)
    w.revolute("pin", w.ground, "rod", at=(0, 0))
    a, b = done(simulate(m, 2.0, 0.02)), simulate(w, 2.0, 0.02)
    np.testing.assert_allclose(a.position("rod"), b.position("rod"), atol=1e-12)
    assert not a.work.any()


@pytest.mark.parametrize("fixed_in", ["world", "body"])
def test_torque_on_a_free_body_against_euler(fixed_in):
    """An asymmetric body under a constant torque moves as Euler's equations say (SciPy)."""
    R = rotation(8)
    principal = np.array([0.2, 0.35, 0.45])
    torque, spin = np.array([0.3, -0.5, 0.4]), np.array([0.5, 1.0, -0.3])
    m = Mechanism("top", gravity=(0, 0, 0))
    m.body("b", 1.5, (0.1, 0.2, 0.3), R.T @ np.diag(principal) @ R)
    m.torque("T", "b", torque, fixed_in=fixed_in)
    m.set_angular_velocity("b", spin)
    r = done(simulate(m, 4.0, 0.1))
    inertia = R.T @ np.diag(principal) @ R

    def rates(_, y):
        A, w = y[:9].reshape(3, 3), y[9:]
        # in the body: I w' = T - w x I w
        local = torque if fixed_in == "body" else A.T @ torque
        dw = np.linalg.solve(inertia, local - np.cross(w, inertia @ w))
        skew = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        return np.concatenate([(A @ skew).ravel(), dw])

    start = np.concatenate([np.eye(3).ravel(), spin])
    s = solve_ivp(rates, (0, 4), start, method="DOP853", rtol=1e-12, atol=1e-12, t_eval=r.times)
    np.testing.assert_allclose(r.orientation("b"), s.y[:9].T.reshape(-1, 3, 3), atol=1e-8)
    np.testing.assert_allclose(
        r.angular_velocity("b"),
        np.einsum("nij,jn->ni", s.y[:9].T.reshape(-1, 3, 3), s.y[9:]),
        atol=1e-8,
    )


def test_unknown_names_list_the_known():
    """A wrong name says which there are."""
    m = disc()
    m.torsion("coil", "hinge", stiffness=1.0)
    r = simulate(m, 0.1)
    for read, name in (
        (r.torque, "'coil'"), (r.angle, "'hinge'"), (r.orientation, "'disc'"), (r.force, "none"),
        (r.length, "none"), (r.travel, "none"), (r.drive_force, "none"),
    ):  # fmt: skip
        with pytest.raises(KeyError, match=f"'nothing'; known: {name}"):
            read("nothing")


def test_turns_that_cannot_be_counted_are_rejected():
    """Outputs that are many turns apart leave the angle open: an error, not a wrong number."""
    m = disc()
    m.torque("T", "disc", 40.0)
    r = simulate(m, 20.0, 5.0)
    # counted from the rates: half a thousand turns at constant acceleration
    np.testing.assert_allclose(r.angle("hinge")[-1], 0.5 * 40 / INERTIA * 400, rtol=1e-9)
    m.springs.clear()
    m.torsions.clear()
    m.spring("s", m.ground, "disc", start=(0, 2), end=(0.5, 0), stiffness=4000.0)
    r = simulate(m, 20.0, 5.0)
    with pytest.raises(ValueError, match="shorter output_step"):
        r.angle("hinge")
