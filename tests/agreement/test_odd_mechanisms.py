"""Mechanisms at the edge of what a model must take: at rest, locked, far away, without inertia."""

import numpy as np
import pytest

from absolute_coordinates import AbsoluteMechanism
from builders import bricard, in_plane_of, n_four_bar, rotation
from random_mechanisms import random_mechanism
from sarrus import Mechanism, MechanismError, simulate
from sarrus.model import make_model

# default tolerance 1e-10 and a hundred of it for what adds up
SAME = 1e-8


def hanging(angle):
    """Two rods that hang at rest along a tilted gravity."""
    down = np.array([np.cos(angle), np.sin(angle)])
    m = Mechanism("hanging", gravity=9.81 * down)
    m.rod("upper", (0, 0), down, 1.0)
    m.rod("lower", down, 2 * down, 1.0)
    m.revolute("A", m.ground, "upper", at=(0, 0))
    m.revolute("B", "upper", "lower", at=down)
    return m


def truss(R):
    """Two rods that meet in the air: no degree of freedom at all."""
    m = Mechanism("truss", gravity=R @ (0, -9.81, 0))
    axis = R @ (0.0, 0.0, 1.0)
    top = R @ (0.3, 0.7, 0.0)
    for name, foot in (("left", np.zeros(3)), ("right", R @ (1.0, 0.0, 0.0))):
        m.rod(name, foot, top, 1.0)
        m.revolute(f"foot of {name}", m.ground, name, at=foot, axis=axis)
    m.revolute("top", "left", "right", at=top, axis=axis)
    return m


@pytest.mark.parametrize("angle", [0.0, 0.3, 1.1, 2.0, 4.0])
def test_equilibrium_at_rest_stays(angle):
    """What hangs at rest stays at rest and the run is done, however gravity points."""
    result = simulate(hanging(angle), 1.0, 0.1)
    assert result.status == "done"
    # rounding of the direction of gravity, 1e-16, drives a motion of that size
    moved = result.position("lower") - result.position("lower")[0]
    np.testing.assert_allclose(moved, 0.0, atol=1e-14)


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_locked_truss_stays(seed):
    """A mechanism without degree of freedom is simulated as one that stands still."""
    R = np.eye(3) if seed is None else rotation(seed)
    result = simulate(truss(R), 1.0, 0.1)
    assert result.status == "done"
    # forbidden directions carry the rounding of one projection
    np.testing.assert_allclose(result.velocity("left"), 0.0, atol=1e-13)


def test_zero_velocity_given_near_others():
    """A point said to stand still may do so, although another velocity is given too."""
    m = Mechanism("pair")
    m.rod("still", (0, 0), (0.6, -0.8), 1.0)
    m.rod("moving", (0.6, -0.8), (1.3, -0.9), 1.0)
    m.revolute("A", m.ground, "still", at=(0, 0))
    m.revolute("B", "still", "moving", at=(0.6, -0.8))
    m.set_velocity("A", (0, 0))
    m.set_velocity("B", (0, 0))
    m.set_angular_velocity("moving", 1.7)
    m.set_angular_velocity("still", 0.0)
    assert simulate(m, 0.1, 0.05).status == "done"


@pytest.mark.slow
def test_zero_velocity_given_in_random_mechanisms():
    """Zeros among the given velocities are met to rounding of the others, in any mechanism."""
    rejected = {}
    for seed in range(30):
        m = random_mechanism(seed, 3)
        absolute = AbsoluteMechanism(m)
        basis = absolute.possible_twists()
        assert basis.shape[1], f"seed {seed} cannot move"
        twists = (basis @ np.ones(basis.shape[1])).reshape(-1, 6)
        for body, twist in zip(m.bodies, twists, strict=True):
            m.point(f"centre of {body.name}", body, body.center)
            m.set_velocity(f"centre of {body.name}", twist[:3])
            m.set_angular_velocity(body, twist[3:])
        try:
            simulate(m, 1e-3, 1e-3)
        except MechanismError as error:
            rejected[seed] = str(error)
    assert not rejected


def test_welded_to_ground_with_a_velocity():
    """A body welded to the ground may be reported to stand still, and not to move."""

    def make(speed):
        m = Mechanism("stone")
        m.rod("stone", (0, 0), (1, 0), 1.0)
        m.weld("base", m.ground, "stone")
        m.point("end", "stone", (1, 0))
        m.set_velocity("end", (0, speed))
        return simulate(m, 1.0, 0.5)

    assert make(0.0).status == "done"
    with pytest.raises(MechanismError, match="forbid"):
        make(1.0)


@pytest.mark.parametrize("lean", [1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
def test_velocity_accepted_close_to_the_flat_position(lean):
    """The velocity of one joint starts a four-bar also close to its flat configuration."""
    m = n_four_bar(2, 3.0, lean=np.pi / 2 - lean)
    try:
        result = simulate(m, 0.1, 0.05)
    except MechanismError as error:
        pytest.fail(f"a possible velocity was rejected: {error}")
    assert result.status == "done", result.message
    # rounding 1e-16 / lean in the other joints' velocities
    miss = result.velocity("B2")[0] - result.velocity("B0")[0]
    assert np.abs(miss).max() < 1e-7


@pytest.mark.parametrize("noise", [0.0, 1.4e-17, 1e-16])
def test_unit_of_length_is_the_size_of_the_mechanism(noise):
    """A joint that misses a centre by rounding does not become the unit of length."""
    m = Mechanism("beam", gravity=(0, 0, -9.81))
    m.body("beam", 1.0, (noise, 0, 0), (0.1, 0.2, 0.3))
    m.revolute("pin", m.ground, "beam", at=(0, 0, 0), axis=(0, 1, 0))
    # the mass spreads by about half a metre
    assert 1e-2 < make_model(m).units.length < 1e2


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e4, 1e5, 1e6])
def test_thin_rod_far_away_stays_thin(offset):
    """Places far from the origin are rounded, but a thin rod gets no further vector by that."""
    far = offset * np.array([1.0, -2.0, 0.7])
    m = Mechanism("strut", gravity=(0, 0, -9.81))
    a, b = far + np.array([[0.1, 0.2, 0.3], [1.2, 0.7, -0.4]])
    m.rod("rod", a, b, 1.0)
    m.spherical("ball", m.ground, "rod", at=a)
    m.spherical("end", "rod", m.body("bob", 1.0, b), at=b)
    model = make_model(m)
    assert (model.coordinates, model.equations) == (3, 1)


@pytest.mark.parametrize("seed", [None, 0, 1])
@pytest.mark.parametrize("windows", [1, 3])
def test_equations_are_of_order_one(windows, seed):
    """No coefficient of an equation is what rounding left of a zero."""
    R = np.eye(3) if seed is None else rotation(seed)
    form = make_model(n_four_bar(windows, plane_to_space=in_plane_of(R))).form
    sizes = np.abs(np.concatenate([form.sq_c, form.bl_c]))
    # lengths and directions here are of order one
    assert sizes.min() > 1e-10


@pytest.mark.parametrize("seed", range(8))
def test_equations_of_turned_bricard_are_of_order_one(seed):
    """Turned by any rotation, the Bricard linkage has no equation made of rounding."""
    form = make_model(bricard(0.1, rotation(seed))).form
    sizes = np.abs(np.concatenate([form.sq_c, form.bl_c]))
    assert sizes.min() > 1e-10


def two_point_masses():
    """A point mass on a ball, and another hinged to it in a general direction."""
    m = Mechanism("two point masses", gravity=(0, 0, -9.81))
    m.body("first", 1.0, (1, 0.2, 0.3))
    m.body("second", 1.0, (1.5, 0.7, -0.2))
    m.spherical("O", m.ground, "first", at=(0, 0, 0))
    m.revolute("H", "first", "second", at=(0.7, -0.4, 0.1), axis=(-0.967, 0.045, -0.249))
    return m


def two_thin_rods():
    """Two thin rods, one on a ball, hinged to each other in a general direction."""
    m = Mechanism("two thin rods", gravity=(0, 0, -9.81))
    m.rod("first", (0, 0, 0), (1, 0.2, 0.3), 1.0)
    m.rod("second", (1, 0.2, 0.3), (1.5, 0.7, -0.2), 1.0)
    m.spherical("O", m.ground, "first", at=(0, 0, 0))
    m.revolute("H", "first", "second", at=(1, 0.2, 0.3), axis=(-0.967, 0.045, -0.249))
    return m


LIGHT = {
    "two point masses": two_point_masses,
    "two thin rods": two_thin_rods,
    "random 54": lambda: random_mechanism(54, 3),
    "random 317": lambda: random_mechanism(317, 3),
}


@pytest.mark.parametrize("name", LIGHT)
def test_augmented_mass_is_definite(name):
    """Where every motion has inertia, M + rho J^T J is definite: every coordinate has a pivot."""
    model = make_model(LIGHT[name]())
    M, J = model.mass_matrix().toarray(), model.jacobian().toarray()
    _, values, basis = np.linalg.svd(J)
    free = basis[int(np.sum(values > 1e-9)) :].T
    # the claim only concerns mechanisms whose every possible motion carries mass
    assert np.linalg.eigvalsh(free.T @ M @ free)[0] > 1e-3
    augmented = M + J.T @ np.diag(model.form.rho) @ J
    # the smallest possible inertia is 1e-3; angles between features cost a little more
    assert np.linalg.eigvalsh(augmented)[0] > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two point masses", "random 54", "random 317"])
def test_spin_carried_by_a_neighbour(name):
    """A body without inertia about its arm, constrained by a neighbour, moves as Newton-Euler says."""
    m = LIGHT[name]()
    result = simulate(m, 0.2, 0.05)
    assert result.status == "done", result.message
    assert result.counters["relaxed_steps"] == 0
    absolute = AbsoluteMechanism(m)
    x, _, _ = absolute.run(np.zeros((absolute.n, 6)), result.times)
    for i, body in enumerate(m.bodies):
        np.testing.assert_allclose(result.position(body.name), x[:, i], atol=SAME)


def test_spin_without_inertia_is_reported():
    """A named point that turns with a spin of no inertia has no definite path, and that is reported."""
    m = Mechanism("ghost", gravity=(0, 0, -9.81))
    m.body("bob", 1.0, (1, 0, 0))
    m.spherical("O", m.ground, "bob", at=(0, 0, 0))
    m.point("side", "bob", (1, 0.5, 0))
    with pytest.raises(MechanismError, match="'bob' can move without moving any mass"):
        simulate(m, 1.0, 0.1)


def cross_shaft(R):
    """A universal joint: two shafts and a cross with perpendicular axes."""
    m = Mechanism("universal", gravity=(0, 0, 0))
    bend = 0.5
    first, second = np.array([1.0, 0, 0]), np.array([np.cos(bend), np.sin(bend), 0])
    up, across = np.array([0, 0, 1.0]), np.array([-np.sin(bend), np.cos(bend), 0])
    for name, along, centre in (("in", first, -first), ("out", second, second)):
        moments = 0.2 * np.eye(3) - 0.1 * np.outer(along, along)
        m.body(name, 1.0, R @ centre, R @ moments @ R.T)
        m.revolute(f"bearing {name}", m.ground, name, at=R @ centre, axis=R @ along)
    m.body("cross", 0.3, (0, 0, 0), R @ np.diag([0.01, 0.01, 0.02]) @ R.T)
    m.revolute("yoke in", "in", "cross", at=(0, 0, 0), axis=R @ up)
    m.revolute("yoke out", "out", "cross", at=(0, 0, 0), axis=R @ across)
    m.point("mark in", "in", R @ (-first + up))
    m.point("mark out", "out", R @ (second + up))
    m.set_angular_velocity("in", 3.0 * R @ first)
    return m


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_universal_joint_ratio(seed):
    """The angles of a universal joint obey tan(out) = tan(in) / cos(bend) or its inverse."""
    R = np.eye(3) if seed is None else rotation(seed)
    result = simulate(cross_shaft(R), 2.0, 0.02)
    assert result.status == "done"
    bend = 0.5
    across_in, across_out = np.array([0, 1.0, 0]), np.array([-np.sin(bend), np.cos(bend), 0])
    arm_in = result.position("mark in") @ R - (-1.0, 0, 0)
    arm_out = result.position("mark out") @ R - (np.cos(bend), np.sin(bend), 0)
    # the yoke of the first shaft starts along z, normal to the plane of the shafts
    a = np.arctan2(-(arm_in @ across_in), arm_in[:, 2])
    b = np.arctan2(-(arm_out @ across_out), arm_out[:, 2])
    # sin and cos instead of tan, which has poles
    np.testing.assert_allclose(
        np.sin(b) * np.cos(a), np.cos(bend) * np.sin(a) * np.cos(b), atol=SAME
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 1])
def test_sarrus_linkage_moves_straight(seed):
    """The platform of a Sarrus linkage, two pairs of hinged rods, goes straight and never turns."""
    R = np.eye(3) if seed is None else rotation(seed)
    m = Mechanism("Sarrus", gravity=R @ (0, 0, -9.81))
    height, reach = 0.8, 0.5
    top = np.array([0, 0, 2 * height])
    m.body("platform", 2.0, R @ top, R @ np.diag([0.1, 0.1, 0.2]) @ R.T)
    for k, (out, axis) in enumerate((((1.0, 0, 0), (0, 1.0, 0)), ((0, 1.0, 0), (1.0, 0, 0)))):
        out, axis = np.array(out), np.array(axis)
        foot, knee, head = out, out * (1 + reach) + (0, 0, height), out + top
        m.rod(f"low{k}", R @ foot, R @ knee, 1.0, section=0.1)
        m.rod(f"high{k}", R @ knee, R @ head, 1.0, section=0.1)
        m.revolute(f"F{k}", m.ground, f"low{k}", at=R @ foot, axis=R @ axis)
        m.revolute(f"K{k}", f"low{k}", f"high{k}", at=R @ knee, axis=R @ axis)
        m.revolute(f"H{k}", f"high{k}", "platform", at=R @ head, axis=R @ axis)
    result = simulate(m, 0.3, 0.01)
    assert result.status == "done"
    path = result.position("platform") @ R
    # straight to rounding: the constraints hold it, not the tolerance
    np.testing.assert_allclose(path[:, :2], 0.0, atol=1e-12)
    # one angle a of the legs: z = 2 l sin(a), energy of two equal pairs of rods and the platform
    z, rate = path[:, 2], result.velocity("platform") @ R[:, 2]
    leg = np.hypot(reach, height)
    sine = z / (2 * leg)
    turning = rate / (2 * leg * np.sqrt(1 - sine**2))
    # a low rod about its foot; a high rod: centre (1/2 cos, 3/2 sin) of the leg, turning too
    low = (leg**2 / 3 + 0.1**2 / 12) * turning**2
    high = (leg**2 * (0.25 * sine**2 + 2.25 * (1 - sine**2)) + (leg**2 + 0.1**2) / 12) * turning**2
    kinetic = 0.5 * 2 * rate**2 + 0.5 * 2 * (low + high)
    potential = 9.81 * (2.0 * z + 2 * (z / 4 + 3 * z / 4))
    np.testing.assert_allclose(kinetic + potential, potential[0], atol=1e-7)
