"""Kinetic, potential and total energy: closed forms, the balance, and the older name of it."""

import numpy as np
import pytest

import sarrus
from sarrus import Mechanism, simulate

G = 9.81


def pendulum():
    """A thin rod of 1 m and 2 kg that falls from the horizontal."""
    m = Mechanism("pendulum", gravity=(0, -G))
    m.rod("rod", (0, 0), (1, 0), mass=2.0)
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    return m


def loaded():
    """A block on a rail between a spring with preload and a damper, and a torsion with a drive near it."""
    m = Mechanism("loaded", gravity=(0, 0))
    m.body("block", 2.0, (1, 0), inertia=1.0)
    m.prismatic("rail", m.ground, "block", at=(1, 0), axis=(1, 0))
    m.spring(
        "strut", m.ground, "block", start=(0, 0), end=(1, 0),
        stiffness=8.0, damping=0.5, free_length=0.7, preload=0.3,
    )  # fmt: skip
    m.rod("arm", (1, 0), (1, 1), mass=3.0)
    m.revolute("hinge", "block", "arm", at=(1, 0))
    m.torsion("coil", "hinge", stiffness=4.0, free_angle=0.2)
    return m


@pytest.mark.parametrize("method", ["series", "radau"])
def test_energies_of_a_pendulum(method):
    """T = 1/2 I w^2 with I = m l^2 / 3, V = m g y of the centre, from the start on."""
    r = simulate(pendulum(), 2.0, 0.1, method=method)
    spin, height = r.angular_velocity("rod"), r.position("rod")[:, 1]
    # all follow from the same states: rounding of some 20 J
    np.testing.assert_allclose(r.kinetic_energy, 0.5 * (2 / 3) * spin**2, atol=1e-12)
    np.testing.assert_allclose(r.potential_energy, 2 * G * height, atol=1e-12)
    np.testing.assert_array_equal(r.total_energy, r.kinetic_energy + r.potential_energy)
    assert np.ptp(r.kinetic_energy) > 5.0


def test_energies_of_springs_torsions_and_preload():
    """V = k (l - l0)^2 / 2 + preload l of a spring, k (angle - free)^2 / 2 of a torsion."""
    r = simulate(loaded(), 2.0, 0.1)
    length, angle = r.length("strut"), r.angle("hinge")
    potential = 4.0 * (length - 0.7) ** 2 + 0.3 * length + 2.0 * (angle - 0.2) ** 2
    np.testing.assert_allclose(r.potential_energy, potential, atol=1e-12)
    speed, spin = r.velocity("arm"), r.angular_velocity("arm")
    kinetic = 0.5 * 2.0 * r.velocity("block")[:, 0] ** 2
    kinetic += 0.5 * 3.0 * np.einsum("ij,ij->i", speed, speed) + 0.5 * (3 / 12) * spin**2
    np.testing.assert_allclose(r.kinetic_energy, kinetic, atol=1e-12)
    # the damper takes what total energy loses
    assert r.work[-1] < -1e-3
    np.testing.assert_allclose(np.diff(r.total_energy), np.diff(r.work), atol=1e-9)


def test_balance_is_total_energy_minus_work_from_the_start():
    """The balance holds to the tolerance, also where the first output is not the start."""
    whole = simulate(loaded(), 2.0, 0.1)
    balance = whole.total_energy - whole.work
    np.testing.assert_allclose(whole.energy_balance, balance - balance[0], atol=1e-14)
    assert whole.energy_drift == np.abs(whole.energy_balance).max()
    late = simulate(loaded(), 2.0, outputs=whole.times[7:])
    np.testing.assert_array_equal(late.energy_balance, whole.energy_balance[7:])


def test_older_name_works_and_says_so():
    """`result.energy` is the balance, with a warning that names the new names."""
    r = simulate(pendulum(), 0.2, 0.1)
    with pytest.warns(DeprecationWarning, match="energy_balance; total_energy"):
        old = r.energy
    np.testing.assert_array_equal(old, r.energy_balance)


def test_clock_states_both():
    """CPU time of the solve alone, and with the recording of all outputs; more outputs cost more."""
    few, many = (simulate(pendulum(), 10.0, step) for step in (10.0, 1e-4))
    assert few.solve_seconds == few.timings["solve_cpu"]
    assert few.cpu_seconds == few.timings["solve_cpu"] + few.timings["record_cpu"]
    # 100 001 outputs of a solve of some 60 steps
    assert many.cpu_seconds - many.solve_seconds > 3 * many.solve_seconds


@pytest.mark.slow
def test_success_is_one_word():
    """Done and stopped as requested are a success, all else is not."""
    problem = sarrus.problems.get("double-four-bar")
    assert simulate(problem.mechanism(), 0.5).success
    assert simulate(problem.mechanism(), 1.0, at_crossing="stop").success
    assert not simulate(problem.mechanism(), 1.0, max_steps=1).success
    m = pendulum()
    m.point("tip", "rod", (1, 0))
    m.user_force("drag", ["tip"], lambda t, x, v: -0.3 * v)
    skipped = simulate(m, 0.1, method="series")
    assert (skipped.status, skipped.success) == ("skipped", False)
