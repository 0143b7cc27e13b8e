"""Odd mechanisms that are legal: each must be simulated, with right numbers."""

import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import sarrus
from sarrus import Mechanism, MechanismError

GRAVITY = 9.81


def simulate(m, duration=1.0, step=0.1, **options):
    """Simulate with warnings as errors; the result is finite, done and balanced."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = sarrus.simulate(m, duration, step, **options)
    assert result.status == "done", result
    for values in (result.coordinates, result.rates, result.accelerations, result.energy_balance):
        assert np.isfinite(values).all()
    assert len(result.times) == round(duration / step) + 1
    return result


def pendulum(length=1.0, mass=1.0, angle=0.0, origin=(0.0, 0.0), gravity=GRAVITY):
    """Build a rod on a pin; angle from the horizontal, upwards [rad]."""
    m = Mechanism("pendulum", gravity=(0, -gravity))
    start = np.array(origin)
    end = start + length * np.array([np.cos(angle), np.sin(angle)])
    m.rod("rod", start, end, mass)
    m.revolute("pin", m.ground, "rod", at=start)
    m.point("tip", "rod", end)
    return m


def falling_tip(t, length=1.0, angle=0.0, gravity=GRAVITY):
    """Tip of a uniform rod released at rest, by Jacobi's functions, shape (n, 2)."""
    k = np.sin(0.5 * (0.5 * np.pi + angle))
    sn, _, _, _ = ellipj(np.sqrt(1.5 * gravity / length) * t + ellipk(k * k), k * k)
    theta = 2.0 * np.arcsin(k * sn)
    return length * np.array([np.sin(theta), -np.cos(theta)]).T


# units and sizes


@pytest.mark.parametrize("mass", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("length", [1e-9, 1e-6, 1.0, 1e6, 1e9])
def test_units_do_not_matter(length, mass):
    """A pendulum of any length and mass follows the closed form."""
    duration = 3.0 * np.sqrt(length / GRAVITY)
    result = simulate(pendulum(length, mass), duration, duration / 20)
    want = falling_tip(result.times, length)
    # tolerance 1e-10 of the length, with a margin for a whole swing
    np.testing.assert_allclose(result.position("tip") / length, want / length, atol=1e-9)
    assert result.energy_drift < 1e-8 * mass * GRAVITY * length


@pytest.mark.parametrize("degrees", [-80, -45, -30, 10, 20, 37, 45, 60, 89, 135, 200, 300])
def test_pendulum_released_at_any_angle(degrees):
    """A pendulum released at rest at any angle follows the closed form."""
    angle = np.radians(degrees)
    result = simulate(pendulum(angle=angle))
    # the closed form swings to the other side: mirror it
    mirrored = np.arctan2(np.sin(angle), abs(np.cos(angle)))
    side = np.sign(np.cos(angle))
    want = falling_tip(result.times, angle=mirrored) * (side, 1.0)
    np.testing.assert_allclose(result.position("tip"), want, atol=1e-9)


@pytest.mark.parametrize("end", [(1, 1), (0.3, 0.7), (-1, 2), (3, 4)])
def test_body_on_a_pin_is_a_compound_pendulum(end):
    """The first angular acceleration of a body on a pin is m g x / (I + m r^2)."""
    m = Mechanism()
    m.body("plate", 2.0, end, 0.1)
    m.revolute("pin", m.ground, "plate", at=(0, 0))
    result = simulate(m)
    x, y = end
    rate = -2.0 * GRAVITY * x / (0.1 + 2.0 * (x * x + y * y))
    np.testing.assert_allclose(
        result.acceleration("plate")[0], rate * np.array([-y, x]), rtol=1e-12
    )


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_far_from_the_origin(offset):
    """A mechanism far from the origin moves like one at the origin."""
    near = simulate(pendulum())
    far = simulate(pendulum(origin=(offset, -offset)))
    got = far.position("tip") - (offset, -offset)
    # places are stored with the rounding of the offset
    np.testing.assert_allclose(got, near.position("tip"), atol=1e-9 + 1e-15 * offset)


def test_masses_far_apart():
    """A heavy pendulum does not feel a rod lighter by a factor of 1e12."""
    m = pendulum()
    m.rod("hair", (1, 0), (2, 0), 1e-12)
    m.revolute("elbow", "rod", "hair", at=(1, 0))
    result = simulate(m)
    np.testing.assert_allclose(result.position("elbow"), falling_tip(result.times), atol=1e-9)


def test_long_run_of_tiny_motion():
    """A swing of a millionth of a radian keeps its period over a thousand seconds."""
    m = pendulum(angle=-0.5 * np.pi + 1e-6)
    result = simulate(m, 1000.0, 100.0)
    want = 1e-6 * np.cos(np.sqrt(1.5 * GRAVITY) * result.times)
    # phase of small swings: 1 - a^2 / 16 of the frequency, 1e-13 of 4000 rad
    np.testing.assert_allclose(result.position("tip")[:, 0], want, atol=1e-11)


# equilibrium and rigid structures


@pytest.mark.parametrize("gravity", [0.0, GRAVITY])
@pytest.mark.parametrize("degrees", [-90, 90])
def test_pendulum_at_rest_stays(degrees, gravity):
    """A pendulum hanging or exactly upright at rest stays there."""
    end = (0.0, np.sign(degrees))
    m = Mechanism(gravity=(0, -gravity))
    m.rod("rod", (0, 0), end, 1.0)
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    m.point("tip", "rod", end)
    result = simulate(m)
    np.testing.assert_allclose(result.position("tip"), np.tile(end, (11, 1)), atol=1e-12)


def test_no_gravity_at_rest():
    """Without gravity and velocity nothing moves, to the last bit."""
    result = simulate(pendulum(gravity=0.0, angle=0.3))
    assert np.all(result.coordinates == 0.0)


def triangle():
    """Build two rods from two ground pins to a common top: a rigid truss."""
    m = Mechanism("truss")
    m.rod("left", (0, 0), (0.5, 1), 1.0)
    m.rod("right", (1, 0), (0.5, 1), 1.0)
    m.revolute("a", m.ground, "left", at=(0, 0))
    m.revolute("b", m.ground, "right", at=(1, 0))
    m.revolute("top", "left", "right", at=(0.5, 1))
    return m


def test_rigid_truss_stays():
    """A triangle of mobility zero stands still under its weight."""
    result = simulate(triangle())
    np.testing.assert_allclose(result.position("top"), np.tile((0.5, 1), (11, 1)), atol=1e-12)


def test_rigid_truss_in_space_stays():
    """Three rods on ball joints from the ground to one top stand still."""
    m = Mechanism("tripod", gravity=(0, 0, -GRAVITY))
    for i, foot in enumerate([(1, 0, 0), (-0.5, 0.8, 0), (-0.5, -0.8, 0)]):
        m.rod(f"leg{i}", foot, (0, 0, 1), 1.0)
        m.spherical(f"foot{i}", m.ground, f"leg{i}", at=foot)
    m.spherical("top", "leg0", "leg1", "leg2", at=(0, 0, 1))
    result = simulate(m)
    np.testing.assert_allclose(result.position("top"), np.tile((0, 0, 1), (11, 1)), atol=1e-12)


def test_rigid_truss_with_zero_velocity():
    """A given velocity of zero is allowed where nothing can move."""
    m = triangle()
    m.set_velocity("top", (0, 0))
    m.set_angular_velocity("left", 0.0)
    simulate(m)


@pytest.mark.parametrize("spin", [False, True])
def test_body_welded_to_the_ground(spin):
    """A mechanism without any coordinate stays where it is, also if reported to be at rest."""
    m = Mechanism()
    m.rod("post", (0, 0), (1, 1), 1.0)
    m.weld("glue", m.ground, "post", at=(0, 0))
    m.set_velocity("glue", (0, 0))
    if spin:
        m.set_angular_velocity("post", 0.0)
    result = simulate(m)
    assert result.coordinates.shape == (11, 0)
    np.testing.assert_array_equal(result.position("post"), np.tile((0.5, 0.5), (11, 1)))
    np.testing.assert_array_equal(result.acceleration("post"), np.zeros((11, 2)))


def test_rod_held_by_two_pins():
    """A rod with two ground pins stays where it is."""
    m = pendulum()
    m.revolute("second", m.ground, "rod", at=(1, 0))
    result = simulate(m)
    np.testing.assert_array_equal(result.position("tip"), np.tile((1, 0), (11, 1)))


# free bodies and several mechanisms


def test_free_point_mass():
    """A point mass without joints falls along its parabola."""
    m = Mechanism()
    m.body("ball", 3.0, (1, 2))
    m.point("p", "ball", (1, 2))
    m.set_velocity("p", (4, 5))
    result = simulate(m)
    t = result.times
    want = np.array([1 + 4 * t, 2 + 5 * t - 0.5 * GRAVITY * t**2]).T
    np.testing.assert_allclose(result.position("p"), want, rtol=1e-13)


def test_free_spinning_rod_in_space():
    """The ends of a free rod circle about its falling centre."""
    m = Mechanism(gravity=(0, 0, -GRAVITY))
    m.rod("stick", (-1, 0, 0), (1, 0, 0), 1.0)
    m.point("end", "stick", (1, 0, 0))
    m.set_angular_velocity("stick", (0, 0, 3))
    result = simulate(m)
    t = result.times
    want = np.array([np.cos(3 * t), np.sin(3 * t), -0.5 * GRAVITY * t**2]).T
    np.testing.assert_allclose(result.position("end"), want, atol=1e-9)


def test_spin_of_a_thin_rod_about_itself_changes_nothing():
    """A thin rod has no inertia about its axis: a spin about it leaves the fall alone."""
    m = Mechanism(gravity=(0, 0, -GRAVITY))
    m.rod("stick", (-1, 0, 0), (1, 0, 0), 1.0)
    m.set_angular_velocity("stick", (5, 0, 0))
    result = simulate(m)
    np.testing.assert_allclose(
        result.position("stick")[:, 2], -0.5 * GRAVITY * result.times**2, atol=1e-12
    )


def test_two_mechanisms_in_one():
    """Two pendulums that share nothing move as each alone."""
    m = pendulum()
    m.rod("other", (5, 0), (5, 2), 2.0)
    m.revolute("pin2", m.ground, "other", at=(5, 0))
    m.point("tip2", "other", (5, 2))
    m.set_angular_velocity("other", 1.0)
    alone = Mechanism()
    alone.rod("other", (5, 0), (5, 2), 2.0)
    alone.revolute("pin2", alone.ground, "other", at=(5, 0))
    alone.point("tip2", "other", (5, 2))
    alone.set_angular_velocity("other", 1.0)
    both = simulate(m)
    np.testing.assert_allclose(both.position("tip"), falling_tip(both.times), atol=1e-9)
    want = simulate(alone).position("tip2")
    np.testing.assert_allclose(both.position("tip2"), want, atol=1e-9)


# joints at one place


def test_joint_given_twice():
    """A second joint at the same place changes nothing."""
    m = pendulum()
    m.revolute("again", m.ground, "rod", at=(0, 0))
    result = simulate(m)
    np.testing.assert_allclose(result.position("tip"), falling_tip(result.times), atol=1e-9)


def test_rods_on_top_of_each_other():
    """Two equal rods joined at both ends swing as one."""
    m = pendulum()
    m.rod("twin", (1, 0), (0, 0), 1.0)
    m.revolute("far", "rod", "twin", at=(1, 0))
    m.revolute("near", m.ground, "twin", at=(0, 0))
    result = simulate(m)
    np.testing.assert_allclose(result.position("tip"), falling_tip(result.times), atol=1e-9)


def test_weld_makes_one_rod_of_two():
    """Two rods welded in line swing as one of double length."""
    m = pendulum()
    m.rod("more", (1, 0), (2, 0), 1.0)
    m.weld("glue", "rod", "more")
    m.point("end", "more", (2, 0))
    result = simulate(m)
    want = falling_tip(result.times, length=2.0)
    np.testing.assert_allclose(result.position("end"), want, atol=2e-9)


def test_point_mass_pinned_to_a_rod():
    """A point mass on a pin of its own rides along: J phi'' = -(M/2 + m) g L cos(phi)."""
    m = pendulum()
    m.body("bob", 2.0, (1, 0))
    m.revolute("bearing", "rod", "bob", at=(1, 0))
    result = simulate(m)
    rate = -(0.5 + 2.0) * GRAVITY / (1.0 / 3.0 + 2.0)
    np.testing.assert_allclose(result.acceleration("tip")[0], (0, rate), atol=1e-12)
    np.testing.assert_allclose(result.position("bob"), result.position("tip"), atol=1e-14)


# many bodies


def test_chain_of_a_hundred_links():
    """A hanging chain that is let go keeps its energy, and its free fall begins with g at the tip."""
    m = Mechanism("chain")
    before = m.ground
    for i in range(100):
        link = m.rod(f"link{i}", (i, 0), (i + 1, 0), 1.0)
        m.revolute(f"joint{i}", before, link, at=(i, 0))
        before = link
    result = simulate(m)
    assert result.violation().max() < 1e-13
    assert result.energy_drift < 1e-9 * 100 * GRAVITY * 50
    # far from the pin nothing is felt of it yet
    assert abs(result.acceleration("link99")[0, 1] + GRAVITY) < 1e-10


def test_two_hundred_bodies():
    """Two hundred pendulums swing alike."""
    m = Mechanism("row")
    for i in range(200):
        m.rod(f"rod{i}", (i, 0), (i, -1) if i % 2 else (i + 1, 0), 1.0)
        m.revolute(f"pin{i}", m.ground, f"rod{i}", at=(i, 0))
    result = simulate(m)
    want = 0.5 * falling_tip(result.times)
    for i in (0, 100, 198):
        np.testing.assert_allclose(result.position(f"rod{i}") - (i, 0), want, atol=1e-8)
    np.testing.assert_allclose(result.position("rod199"), np.tile((199, -0.5), (11, 1)), atol=1e-11)


# kinds of numbers and names


def test_names_in_any_script():
    """Names may hold any letters, quotes and line breaks, and are read back by them."""
    m = Mechanism("Механизм 機構 🦾")
    m.rod("тяга", (0, 0), (1, 0), 1.0)
    m.revolute("Ω '\"\n", m.ground, "тяга", at=(0, 0))
    m.point("", "тяга", (1, 0))
    result = simulate(m)
    assert result.name == "Механизм 機構 🦾"
    np.testing.assert_allclose(result.position(""), falling_tip(result.times), atol=1e-9)
    np.testing.assert_array_equal(result.position("Ω '\"\n"), np.zeros((11, 2)))


NUMBERS = {
    "int": int,
    "int8": np.int8,
    "float32": np.float32,
    "array": np.array,
    "Decimal": Decimal,
    "Fraction": Fraction,
}


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_any_kind_of_number(number):
    """Whole numbers, scalars of NumPy, Decimal and Fraction mean what the float means."""

    def build(n):
        m = Mechanism(gravity=(n(0), n(-10)))
        m.rod("rod", (n(0), n(0)), (n(1), n(2)), n(3), section=n(1))
        m.body("plate", n(2), (n(2), n(2)), n(1))
        m.revolute("pin", m.ground, "rod", at=[n(0), n(0)])
        m.revolute("elbow", "rod", "plate", at=(n(1), n(2)))
        m.set_angular_velocity("rod", n(1))
        return m

    got, want = simulate(build(number)), simulate(build(float))
    np.testing.assert_array_equal(got.coordinates, want.coordinates)


def test_numbers_are_copied():
    """Arrays that change after a call leave the mechanism alone."""
    end = np.array([1.0, 0.0])
    m = Mechanism()
    m.rod("rod", (0, 0), end, 1.0)
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    end[:] = 7.0
    np.testing.assert_array_equal(simulate(m).position("rod")[0], (0.5, 0))


# start velocities


def test_rounding_of_zero_is_a_velocity():
    """A ground point may be given what rounding leaves of zero: sin(pi) m/s."""
    m = pendulum()
    m.set_velocity("tip", (0, 1))
    m.set_velocity("pin", (np.sin(np.pi), 0))
    result = simulate(m)
    np.testing.assert_allclose(result.velocity("tip")[0], (0, 1), atol=1e-14)


def four_bar(angle):
    """Build a leaning parallelogram of three rods."""
    crank = np.array([np.cos(angle), np.sin(angle)])
    top = np.array([1.0, 0.0]) + crank
    m = Mechanism("four-bar")
    m.rod("left", (0, 0), crank, 1.0)
    m.rod("coupler", crank, top, 1.0)
    m.rod("right", (1, 0), top, 1.0)
    m.revolute("a", m.ground, "left", at=(0, 0))
    m.revolute("b", "left", "coupler", at=crank)
    m.revolute("c", "coupler", "right", at=top)
    m.revolute("d", m.ground, "right", at=(1, 0))
    return m, crank


@pytest.mark.parametrize("angle", [0.3, 1.0, 2.0])
def test_zero_is_a_velocity(angle):
    """Velocities of all points, zeros of the ground and the coupler among them, are accepted."""
    m, crank = four_bar(angle)
    v = np.array([-crank[1], crank[0]])
    for name, value in {"a": (0, 0), "b": v, "c": v, "d": (0, 0)}.items():
        m.set_velocity(name, value)
    m.set_angular_velocity("coupler", 0.0)
    m.set_angular_velocity("right", 1.0)
    result = simulate(m)
    np.testing.assert_allclose(result.velocity("b")[0], v, atol=1e-13)


def test_typed_decimals_are_a_velocity():
    """A velocity typed with nine decimals is taken, and put onto the joints exactly."""
    m, _ = four_bar(np.pi / 4)
    m.set_velocity("b", (-0.707106781, 0.707106781))
    result = simulate(m)
    assert result.violation("velocity").max() < 1e-13
    np.testing.assert_allclose(result.velocity("b")[0], np.sqrt(0.5) * np.array([-1, 1]), atol=1e-8)


def test_axis_of_any_length():
    """Only the direction of an axis counts."""
    tips = []
    for size in (1.0, -1.0, 1e-30, 1e30):
        m = Mechanism(gravity=(0, 0, -GRAVITY))
        m.rod("rod", (0, 0, 0), (1, 0, 0), 1.0)
        m.revolute("pin", m.ground, "rod", at=(0, 0, 0), axis=(0, size, 0))
        m.point("tip", "rod", (1, 0, 0))
        tips.append(simulate(m).position("tip"))
    for tip in tips[1:]:
        np.testing.assert_allclose(tip, tips[0], atol=1e-12)


# what a stopped run leaves


def test_impossible_motion_stops_at_the_start():
    """Two rods in line between two pins cannot follow a sideways velocity: the run says so."""
    m = Mechanism()
    m.rod("left", (0, 0), (1, 0), 1.0)
    m.rod("right", (1, 0), (2, 0), 1.0)
    m.revolute("a", m.ground, "left", at=(0, 0))
    m.revolute("b", "left", "right", at=(1, 0))
    m.revolute("c", m.ground, "right", at=(2, 0))
    m.set_velocity("b", (0, 1))
    result = sarrus.simulate(m, 1.0)
    assert result.status == "not-converged"
    assert "cannot leave the start" in result.message
    # the start itself is known and readable
    assert len(result.times) == len(result.position("b")) == 1
    np.testing.assert_array_equal(result.position("b")[0], (1, 0))
    assert np.isfinite(result.violation()).all()


def angle_between(a, b):
    """Angle between two vectors [rad]."""
    return np.arccos(np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b))


FOLDS = [((1, 1, 0), (-1, 1, 2)), ((0, 1, 1), (2, 1, 1))]


@pytest.mark.parametrize("tolerance", [1e-6, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize(("end", "axis"), FOLDS, ids=["folds-later", "folded-at-the-start"])
def test_folding_thin_rods_keep_their_energy_and_stop(end, axis, tolerance):
    """A run up to a fold, where a massless spin turns infinitely fast, keeps its energy and stops there.

    Two thin rods on one ball joint with a skew hinge: the hinge limits the angle between them, and
    at the limit nothing has inertia about the direction in which it could give way.
    """
    m = Mechanism("folding", gravity=(0, 0, -GRAVITY))
    m.rod("one", (0, 0, 0), (1, 0, 0), 1.0)
    m.rod("two", (0, 0, 0), end, 1.0)
    m.spherical("ball", m.ground, "one", at=(0, 0, 0))
    m.revolute("hinge", "one", "two", at=(0, 0, 0), axis=axis)
    m.point("tip one", "one", (1, 0, 0))
    m.point("tip two", "two", end)
    if end == (0, 1, 1):
        with pytest.raises(MechanismError, match="'two' can move without moving any mass"):
            sarrus.simulate(m, 1.0, 0.01, tolerance=tolerance)
        return
    result = sarrus.simulate(m, 1.0, 0.01, tolerance=tolerance)
    assert result.status == "not-converged", result.message
    # 0.01 s or less before the fold, where both rods and the hinge's axis lie in one plane
    one, two = (result.position(tip)[-1] for tip in ("tip one", "tip two"))
    fold = angle_between((1, 0, 0), axis) - angle_between(end, axis)
    assert angle_between(one, two) == pytest.approx(abs(fold), abs=0.1)
    # energies of some 10 J: what is called good holds the tolerance with a wide margin
    assert result.energy_drift < max(1e4 * tolerance, 1e-7), result.notes
