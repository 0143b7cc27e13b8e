"""Equilibrium and small motions against closed forms, references and the simulator."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sarrus import Mechanism, MechanismError, equilibrium, modes, problems, simulate
from sarrus.problems.four_bar_spring import make_mechanism as make_four_bar
from sarrus.problems.references.bricard import bricard_inertia
from sarrus.problems.references.four_bar_spring import equilibrium_angle, small_eigenvalues

G = 9.81


def pendulum(angle, length=1.0, name="pendulum"):
    """A point mass on a massless bar, at an angle from the downward vertical."""
    m = Mechanism(name)
    m.body("bob", 1, (length * np.sin(angle), -length * np.cos(angle)))
    m.revolute("O", m.ground, "bob", at=(0, 0))
    return m


def double_pendulum(first, second):
    """Two point masses of 1 kg on massless bars of 1 m, at angles from the downward vertical."""
    m = Mechanism("double pendulum")
    a = np.array([np.sin(first), -np.cos(first)])
    b = a + np.array([np.sin(second), -np.cos(second)])
    m.body("upper", 1, a)
    m.body("lower", 1, b)
    m.revolute("O", m.ground, "upper", at=(0, 0))
    m.revolute("P", "upper", "lower", at=a)
    m.point("tip", "lower", at=b)
    return m


def random_turn(seed):
    """A rotation matrix."""
    Q, R = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q * np.sign(np.linalg.det(Q))


@settings(deadline=None, max_examples=15)
@given(angle=st.floats(-np.pi, np.pi), length=st.floats(0.01, 100.0))
def test_pendulum_from_anywhere(angle, length):
    """It hangs, whatever its start, upright included, and swings with sqrt(g / l)."""
    m = pendulum(angle, length)
    rest = equilibrium(m)
    assert rest.found
    assert rest.stable
    # lengths are known to rounding; angles near rest to that of the force
    np.testing.assert_allclose(rest.position("bob") / length, [0.0, -1.0], atol=1e-14)
    (mode,) = modes(m, at=rest).modes
    assert mode.eigenvalue.real == 0.0
    assert mode.eigenvalue.imag == pytest.approx(np.sqrt(G / length), rel=1e-13)
    assert mode.frequency == pytest.approx(np.sqrt(G / length) / (2 * np.pi), rel=1e-13)
    assert mode.damping == 0.0


def test_upright_pendulum_falls():
    """Upright the forces balance, but a real eigenvalue grows."""
    found = modes(pendulum(np.pi))
    np.testing.assert_allclose(found.eigenvalues, [np.sqrt(G), -np.sqrt(G)], rtol=1e-13)
    assert not found.stable
    assert [mode.frequency for mode in found.modes] == [0.0, 0.0]


def test_double_pendulum():
    """w^2 = (2 -+ sqrt(2)) g / l; the lower bob moves 1 +- sqrt(2) times as far as the upper one."""
    m = double_pendulum(0.4, -1.3)
    rest = equilibrium(m)
    np.testing.assert_allclose(rest.position("lower"), [0.0, -2.0], atol=1e-14)
    found = modes(m, at=rest)
    root = np.sqrt(2.0)
    expected = np.sqrt(G * np.array([2 - root, 2 + root]))
    np.testing.assert_allclose([mode.eigenvalue.imag for mode in found.modes], expected, rtol=1e-13)
    for mode, ratio in zip(found.modes, (1 + root, 1 - root), strict=True):
        assert mode.shape("lower")[0] / mode.shape("upper")[0] == pytest.approx(ratio, rel=1e-12)
        # the largest of all velocities is 1
        assert max(abs(mode.shape(name)).max() for name in mode.shapes) == pytest.approx(1.0)


@pytest.mark.parametrize("start", [1.7, 2.0, 2.9])
def test_four_bar_with_spring(start):
    """The published angle and eigenvalues, with and without the damper."""
    for damping, published in ((0.0, 2.147676638502j), (1.0, -0.242385809311 + 2.133955028348j)):
        m = make_four_bar(damping, start, "four-bar")
        rest = equilibrium(m)
        assert rest.stable
        angle = np.arctan2(*(rest.position("C") - rest.position("D"))[::-1])
        assert angle == pytest.approx(2.2343310190176, abs=1e-13)
        assert angle == pytest.approx(equilibrium_angle(), abs=1e-14)
        found = modes(m, at=rest)
        assert abs(found.eigenvalues[0] - published) < 1e-12
        np.testing.assert_allclose(found.eigenvalues, small_eigenvalues(damping), atol=1e-13)
        ratio = -published.real / abs(published)
        assert found.damping[0] == pytest.approx(ratio, abs=1e-12)


def test_problem_states_what_statics_finds():
    """The problem's own record of rest and eigenvalues is met from its start."""
    problem = problems.get("four-bar-spring")
    rest = equilibrium(problem.mechanism())
    np.testing.assert_allclose(rest.position(problem.observed), problem.small.place, atol=1e-14)
    found = modes(problem.mechanism(), at=rest).eigenvalues
    np.testing.assert_allclose(found, problem.small.eigenvalues, atol=1e-13)


def test_saddle_is_left():
    """At 90 degrees the four-bar rests unstably; the search leaves it for a stable position."""
    m = make_four_bar(0.0, np.pi / 2, "four-bar")
    assert not modes(m).stable
    rest = equilibrium(m)
    assert rest.stable
    assert rest.iterations > 0


@pytest.mark.parametrize("section", [0.0, 0.1])
def test_bricard_about_its_lowest_position(section):
    """Redundant at every position: w^2 = V'' / M at a = pi/2, both in closed form."""
    problem = problems.get("rectangular-bricard", section=section)
    rest = equilibrium(problem.mechanism())
    assert rest.stable
    # cos(b) = sqrt(3)/2
    np.testing.assert_allclose(rest.position("P2"), [0.0, -np.sqrt(0.75), -0.5], atol=1e-13)
    # V = -g q (3 + S) / (1 + S), q^2 = 1 + 2 S; at S = 1, dS/da = 0 and d2S/da2 = -1
    slope = -G * ((3 + 1) / (2 * np.sqrt(3.0)) + np.sqrt(3.0) * (1 / 2 - 4 / 4))
    w = np.sqrt(-slope / bricard_inertia(np.pi / 2, section))
    found = modes(problem.mechanism(), at=rest)
    np.testing.assert_allclose(found.eigenvalues, [1j * w, -1j * w], rtol=1e-11)


def space_copy(seed, damping):
    """The four-bar with spring in space, turned at random, with hinges for pins."""
    plane = make_four_bar(damping, 2.0, "four-bar")
    R = random_turn(seed)

    def place(p):
        return R @ [p[0], p[1], 0.0]

    m = Mechanism("twin", gravity=place(plane.gravity))
    for body in plane.bodies:
        m.rod(body.name, place(body.ends[0]), place(body.ends[1]), mass=body.mass)
    for joint in plane.joints:
        m.revolute(joint.name, *joint.bodies, at=place(joint.at), axis=R[:, 2])
    (spring,) = plane.springs
    m.spring(
        spring.name,
        *spring.bodies,
        start=place(spring.ends[0]),
        end=place(spring.ends[1]),
        stiffness=spring.stiffness,
        damping=spring.damping,
        free_length=spring.free_length,
    )
    return m, R


@pytest.mark.parametrize("seed", [1, 2])
def test_reference_in_space(seed):
    """Planar mechanism and spatial reference, turned at random: same rest, same eigenvalues, same shapes."""
    m, R = space_copy(seed, 1.0)
    rest = equilibrium(m)
    phi = equilibrium_angle()
    place = R @ [1.0 + np.cos(phi), np.sin(phi), 0.0]
    np.testing.assert_allclose(rest.position("C"), place, atol=1e-13)
    found = modes(m, at=rest)
    np.testing.assert_allclose(found.eigenvalues, small_eigenvalues(1.0), atol=1e-12)
    # C moves across its crank
    assert abs(found[0].shape("C") @ (R @ [np.cos(phi), np.sin(phi), 0.0])) < 1e-12


@pytest.mark.parametrize("damping", [0.0, 0.7, 30.0])
def test_torsional_spring(damping):
    """I w'' + c w' + (k + m g l / 2) w = 0 for a hanging rod: swinging, damped, overdamped."""
    m = Mechanism("rod")
    m.rod("rod", (0, 0), (0, -1.2), mass=2)
    m.revolute("O", m.ground, "rod", at=(0, 0))
    m.torsion("spring", "O", stiffness=5.0, damping=damping)
    inertia, k = 2 * 1.44 / 3, 5.0 + 2 * G * 0.6
    expected = np.sort_complex(np.roots([inertia, damping, k]))
    found = np.sort_complex(modes(m).eigenvalues)
    # the overdamped pair lies far apart: absolute to the larger
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


def test_light_cart():
    """A cart of 1 mg: w^2 = g (M + m) / (M l), and a degree of freedom without stiffness: the rail."""
    m = Mechanism("cart")
    m.body("cart", 1e-6, (0, 0))
    m.body("bob", 1, (0, -1))
    m.prismatic("rail", m.ground, "cart", at=(0, 0), axis=(1, 0))
    m.revolute("hinge", "cart", "bob", at=(0, 0))
    found = modes(m)
    assert found.frequencies[0] == 0.0
    assert found[1].eigenvalue.imag == pytest.approx(np.sqrt(G * (1 + 1e-6) / 1e-6), rel=1e-9)
    rest = equilibrium(m)
    assert rest.found
    assert not rest.stable
    assert "indifferent in 1 of 2 degrees of freedom" in rest.message


def test_free_and_damped_degrees_of_freedom():
    """A cart that rolls freely with a damped pendulum on it: 0 twice, and the damped pair."""
    m = Mechanism("cart")
    m.body("cart", 2, (0, 0))
    m.body("bob", 1, (0, -1))
    m.prismatic("rail", m.ground, "cart", at=(0, 0), axis=(1, 0))
    m.revolute("hinge", "cart", "bob", at=(0, 0))
    m.torsion("damper", "hinge", damping=0.5)
    # theta alone: m M / (m + M) l^2 theta'' + c theta' + m g l theta = 0
    expected = np.roots([2 / 3, 0.5, G])
    found = modes(m).eigenvalues
    np.testing.assert_array_equal(found[:2], [0.0, 0.0])
    np.testing.assert_allclose(np.sort_complex(found[2:]), np.sort_complex(expected), rtol=1e-13)


def test_constant_torque():
    """A torque on a pendulum: rest at sin(a) = tau / (m g l), w^2 = g cos(a) / l."""
    m = pendulum(0.1)
    m.torque("motor", "bob", 4.0)
    rest = equilibrium(m)
    angle = np.arcsin(4.0 / G)
    np.testing.assert_allclose(rest.position("bob"), [np.sin(angle), -np.cos(angle)], atol=1e-14)
    (mode,) = modes(m, at=rest).modes
    assert mode.eigenvalue.imag == pytest.approx(np.sqrt(G * np.cos(angle)), rel=1e-12)


@pytest.mark.slow
def test_user_force():
    """The spring of the four-bar written as a user force: the same rest and eigenvalues."""

    def pull(t, position, velocity):
        way = position[0]
        length = np.sqrt(way[0] ** 2 + way[1] ** 2)
        rate = (way[0] * velocity[0, 0] + way[1] * velocity[0, 1]) / length
        force = 25.0 * (length - np.sqrt(2.0)) + 1.0 * rate
        return -force / length * position

    m = make_four_bar(0.0, 2.0, "four-bar")
    m.springs.clear()
    m.user_force("pull", ["C"], pull)
    rest = equilibrium(m)
    phi = equilibrium_angle()
    np.testing.assert_allclose(rest.position("C"), [1 + np.cos(phi), np.sin(phi)], atol=1e-12)
    # derivatives by differences of 1e-6
    found = modes(m, at=rest).eigenvalues
    np.testing.assert_allclose(found, small_eigenvalues(1.0), atol=1e-7)


@pytest.mark.slow
def test_failing_user_force_is_reported():
    """Its own words reach the user."""
    m = pendulum(0.3)
    m.user_force("broken", ["O"], lambda t, position, velocity: 1 / 0)
    with pytest.raises(MechanismError, match=r"'broken'.*ZeroDivisionError"):
        equilibrium(m)


def test_spring_without_length_is_reported():
    """A spring between two points at one place has no direction."""
    m = pendulum(0.3)
    place = m.bodies[0].center
    m.at_once = False
    m.spring("short", m.ground, "bob", start=place, end=place, stiffness=1.0)
    with pytest.raises(MechanismError, match=r"length|apart|place"):
        equilibrium(m)


def test_driven_joint_is_held():
    """With its first joint driven a double pendulum is a pendulum."""
    m = double_pendulum(0.5, -0.7)
    m.drive("hold", "O", 0.0)
    rest = equilibrium(m)
    np.testing.assert_allclose(rest.position("upper"), [np.sin(0.5), -np.cos(0.5)], atol=1e-14)
    (mode,) = modes(m, at=rest).modes
    assert mode.eigenvalue.imag == pytest.approx(np.sqrt(G), rel=1e-12)


@pytest.mark.slow
def test_small_swing_of_the_simulator():
    """A swing of 1e-4 about rest, simulated, has the frequency given by modes."""
    m = double_pendulum(0.0, 0.0)
    mode = modes(m)[1]
    swing = double_pendulum(0.0, 0.0)
    for name in ("P", "tip"):
        swing.set_velocity(name, 1e-4 * mode.shape(name).real)
    period = 1.0 / mode.frequency
    result = simulate(swing, 3 * period, period / 8)
    x = result.position("upper")[:, 0]
    t = result.times
    expected = 1e-4 * mode.shape("upper")[0].real / mode.eigenvalue.imag
    # terms of third order in the amplitude: 1e-12, and the tolerance of 1e-10
    np.testing.assert_allclose(x, expected * np.sin(mode.eigenvalue.imag * t), atol=1e-10)


def test_free_fall_is_reported():
    """A body that nothing holds: no rest, with the reason."""
    m = Mechanism("stone")
    m.body("stone", 1, (0, 0), 0.1)
    rest = equilibrium(m)
    assert not rest.found
    assert "falls forever" in rest.message


def test_no_force_acts():
    """Without gravity every position is at rest, and no small motion swings."""
    m = Mechanism("weightless", gravity=(0, 0))
    m.rod("rod", (0, 0), (1, 0), mass=1)
    m.revolute("O", m.ground, "rod", at=(0, 0))
    rest = equilibrium(m)
    assert rest.found
    assert not rest.stable
    assert "no force acts" in rest.message
    np.testing.assert_array_equal(modes(m).eigenvalues, [0.0, 0.0])


def test_no_degree_of_freedom():
    """A triangle stands still and has no small motions."""
    m = Mechanism("triangle")
    m.rod("a", (0, 0), (0.5, 1), mass=1)
    m.rod("b", (1, 0), (0.5, 1), mass=1)
    m.revolute("A", m.ground, "a", at=(0, 0))
    m.revolute("B", m.ground, "b", at=(1, 0))
    m.revolute("C", "a", "b", at=(0.5, 1))
    rest = equilibrium(m)
    assert rest.stable
    assert "no degree of freedom" in rest.message
    assert len(modes(m)) == 0


def test_unbalanced_position_is_rejected():
    """Modes need a position at rest; the message has the number and what to do."""
    with pytest.raises(
        MechanismError, match=r"not at rest.*0\.84 of all forces.*sarrus.equilibrium"
    ):
        modes(pendulum(1.0))


def test_singular_position_is_rejected():
    """A flat parallelogram has two degrees of freedom that no linear system joins."""
    m = make_four_bar(0.0, 0.0, "flat")
    m.springs.clear()
    flat = Mechanism("flat", gravity=(0, 0))
    for body in m.bodies:
        flat.rod(body.name, *body.ends, mass=1)
    for joint in m.joints:
        flat.revolute(joint.name, *joint.bodies, at=joint.at)
    with pytest.raises(MechanismError, match="singular configuration"):
        modes(flat)


def test_an_equilibrium_belongs_to_its_mechanism():
    """The rest of another mechanism is rejected."""
    with pytest.raises(MechanismError, match="not of 'b'"):
        modes(pendulum(0.0, name="b"), at=equilibrium(pendulum(0.0, name="a")))


def test_unknown_names_are_reported():
    """Names that can be read are listed."""
    rest = equilibrium(pendulum(0.0))
    with pytest.raises(KeyError, match="bob"):
        rest.position("nobody")
