"""Mass matrix, kinetic energy, power and momentum, computed body by body."""

import numpy as np
import pytest

from absolute_coordinates import AbsoluteMechanism, in_space
from builders import bricard, n_four_bar, rotation
from sarrus import Mechanism, simulate
from sarrus.assembly import solve_start_velocity
from sarrus.model import make_model


def open_chain():
    """A plate, a rod and a ball on hinges in general directions."""
    m = Mechanism("chain", gravity=(1.0, -2.0, -9.0))
    A = rotation(11)
    m.body("plate", 2.0, (0.3, 0.1, 0.4), A @ np.diag([0.1, 0.2, 0.3]) @ A.T)
    m.rod("rod", (0.5, 0.5, 0.5), (0.9, 0.8, 0.1), mass=1.0, section=0.4)
    m.body("bob", 0.5, (1.0, 1.0, 0.3), (0.1, 0.1, 0.1))
    m.revolute("A", m.ground, "plate", at=(0, 0, 0), axis=(1, 2, 3))
    m.spherical("B", "plate", "rod", at=(0.5, 0.5, 0.5))
    m.revolute("C", "rod", "bob", at=(0.9, 0.8, 0.1), axis=(0, 1, 0.2))
    return m


@pytest.mark.slow
@pytest.mark.parametrize(
    "build",
    [open_chain, bricard, lambda: n_four_bar(2), lambda: bricard(0.2, rotation(1))],
    ids=["open chain", "bricard", "four-bar", "turned bricard"],
)
def test_mass_matrix_kinetic_energy(build):
    """v^T M v / 2 is the sum over the bodies of m v^2/2 + w I w/2, for any motion they can do."""
    plain = build()
    plain.velocities.clear()
    absolute = AbsoluteMechanism(plain)
    twists = absolute.possible_twists()
    rng = np.random.default_rng(0)
    for _ in range(3):
        m = build()
        m.velocities.clear()
        twist = (twists @ rng.normal(size=twists.shape[1])).reshape(-1, 6)
        expected = 0.0
        for body, one, inertia in zip(m.bodies, twist, absolute.inertia, strict=True):
            m.point(f"centre of {body.name}", body, body.center)
            m.set_velocity(f"centre of {body.name}", one[: m.dimension])
            m.set_angular_velocity(body, one[5] if m.dimension == 2 else one[3:])
            expected += 0.5 * body.mass * one[:3] @ one[:3] + 0.5 * one[3:] @ inertia @ one[3:]
        model = make_model(m)
        v, _ = solve_start_velocity(model, m)
        energy = 0.5 * v @ (model.mass_matrix() @ v) * model.units.energy
        # velocities come from a refined linear solve: rounding times its condition
        assert energy == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("build", [open_chain, bricard], ids=["open chain", "bricard"])
def test_mass_matrix_is_symmetric_and_semidefinite(build):
    """M is symmetric and no motion has negative kinetic energy."""
    M = make_model(build()).mass_matrix().toarray()
    np.testing.assert_allclose(M, M.T, atol=1e-15)
    # eigenvalues carry the rounding of the largest one
    assert np.linalg.eigvalsh(M)[0] > -1e-14 * np.abs(M).max()


@pytest.mark.parametrize(
    "build",
    [open_chain, bricard, lambda: n_four_bar(3)],
    ids=["open chain", "bricard", "four-bar"],
)
def test_power_balance(build):
    """The energy column is the sum over the bodies and does not change along the motion."""
    m = build()
    result = simulate(m, 3.0, 0.001)
    assert result.status == "done"
    # energies are some 10 J: a hundred tolerances of them at most
    assert result.energy_drift < 1e-7
    # potential energy from the centres, and its rate, are what the weight says
    power = sum(b.mass * result.velocity(b.name) @ m.gravity for b in m.bodies)
    fall = sum(b.mass * result.position(b.name) @ m.gravity for b in m.bodies)
    # difference of order four: h^4 = 1e-12 times a fifth derivative of at most 1e6
    slope = (fall[:-4] - 8 * fall[1:-3] + 8 * fall[3:-1] - fall[4:]) / (12 * 0.001)
    np.testing.assert_allclose(power[2:-2], slope, atol=1e-6)


def test_momentum_of_a_free_chain():
    """Without gravity a free chain of rods keeps its momentum, its centre moves uniformly."""
    m = Mechanism("chain", gravity=(0, 0, 0))
    places = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1.0]])
    rng = np.random.default_rng(4)
    for i in range(3):
        m.rod(f"r{i}", places[i], places[i + 1], 1.0 + i, section=0.2)
    for i in range(2):
        m.spherical(f"j{i}", f"r{i}", f"r{i + 1}", at=places[i + 1])
    m.point("mark", "r0", places[0])
    m.set_velocity("mark", rng.normal(size=3))
    result = simulate(m, 3.0, 0.1)
    masses = np.arange(1.0, 4.0)
    x = np.array([result.position(f"r{i}") for i in range(3)])
    v = np.array([result.velocity(f"r{i}") for i in range(3)])
    p = np.einsum("i,itc->tc", masses, v)
    # of order one: a hundred tolerances
    np.testing.assert_allclose(p, np.tile(p[0], (len(p), 1)), atol=1e-8)
    center = np.einsum("i,itc->tc", masses, x) / masses.sum()
    expected = center[0] + np.outer(result.times, p[0] / masses.sum())
    np.testing.assert_allclose(center, expected, atol=1e-8)


def test_newton_euler_accelerations():
    """Accelerations of every body equal those of Newton-Euler with joint wrenches as unknowns."""
    m = open_chain()
    result = simulate(m, 0.1, 0.05)
    absolute = AbsoluteMechanism(m)
    still = np.zeros((absolute.n, 3))
    turn = np.tile(np.eye(3), (absolute.n, 1, 1))
    expected = absolute.accelerations(absolute.center, turn, still, still)
    for i, body in enumerate(m.bodies):
        # two dense solves with a condition of about 1e3
        np.testing.assert_allclose(
            in_space(result.acceleration(body.name)[0]), expected[i, :3], atol=1e-10
        )
