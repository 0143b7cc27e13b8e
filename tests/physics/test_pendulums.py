"""Pendulums: elliptic functions, the cone, summed inertia, textbook equations."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

import sarrus
from builders import pendulum, rotation
from sarrus import Mechanism, simulate

# runs at the default tolerance 1e-10 of a mechanism of about 1 m that swings a few times; errors
# of phase add up, so a hundred tolerances
ADDED_UP = 1e-8


def swing(times, amplitude, rate):
    """Angle and angular velocity of theta'' = -rate^2 sin(theta) from rest at the amplitude.

    sin(theta/2) = k sn(K - rate t), with k = sin(amplitude/2).
    """
    k = np.sin(amplitude / 2)
    sn, cn, _, _ = ellipj(ellipk(k * k) - rate * times, k * k)
    return 2 * np.arcsin(k * sn), -2 * k * rate * cn


@pytest.mark.parametrize("amplitude", [0.2, 1.0, 2.5, 3.1])
@pytest.mark.parametrize("inertia", [0.0, 0.4])
def test_planar_pendulum_jacobi_elliptic_functions(amplitude, inertia):
    """A point mass or body on a pin swings as the elliptic functions say."""
    mass, length = 1.3, 0.9
    result = simulate(pendulum(amplitude, mass, length, inertia), 5.0, 0.05)
    rate = np.sqrt(mass * 9.81 * length / (inertia + mass * length**2))
    theta, theta_dot = swing(result.times, amplitude, rate)
    expected = length * np.column_stack([np.sin(theta), -np.cos(theta)])
    speed = length * np.column_stack([np.cos(theta), np.sin(theta)]) * theta_dot[:, None]
    assert result.status == "done"
    # next to the upright it lingers the longer, the closer it comes: errors grow like one over that distance
    added_up = ADDED_UP * max(1.0, 1.0 / (np.pi - amplitude))
    np.testing.assert_allclose(result.position("bob"), expected, atol=added_up)
    # velocities are larger than positions by the rate, about 4 per second
    np.testing.assert_allclose(result.velocity("bob"), speed, atol=5 * added_up)


@pytest.mark.parametrize("lean", [0.0, 0.4, 1.2])
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_spatial_pendulum_about_a_leaning_hinge(lean, seed):
    """About a hinge that leans from the horizontal only g cos(lean) drives the swing."""
    R = np.eye(3) if seed is None else rotation(seed)
    length, amplitude = 0.8, 1.4
    axis = np.array([0.0, np.cos(lean), np.sin(lean)])
    # hanging direction: the part of gravity across the axis
    down = np.array([0.0, np.sin(lean), -np.cos(lean)])
    side = np.cross(axis, down)
    start = length * (np.cos(amplitude) * down + np.sin(amplitude) * side)
    m = Mechanism("leaning", gravity=R @ (0.0, 0.0, -9.81))
    m.rod("rod", (0, 0, 0), R @ start, mass=2.0)
    m.revolute("hinge", m.ground, "rod", at=(0, 0, 0), axis=3.0 * R @ axis)
    m.point("tip", "rod", R @ start)
    result = simulate(m, 4.0, 0.1)
    # a thin rod: m g L/2 over m L^2/3
    rate = np.sqrt(1.5 * 9.81 * np.cos(lean) / length)
    theta, _ = swing(result.times, amplitude, rate)
    expected = length * (np.outer(np.cos(theta), down) + np.outer(np.sin(theta), side)) @ R.T
    np.testing.assert_allclose(result.position("tip"), expected, atol=ADDED_UP)


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("body", ["point mass", "thin rod"])
def test_conical_pendulum_constant_rate(seed, body):
    """On a ball joint a pendulum keeps its cone if the rate is sqrt(g / (h cos(cone)))."""
    R = np.eye(3) if seed is None else rotation(seed)
    length, cone = 1.1, 0.6
    tip = length * np.array([np.sin(cone), 0.0, -np.cos(cone)])
    # reduced length of a rod about its end: (m L^2/3) / (m L/2)
    reduced = length if body == "point mass" else 2 * length / 3
    rate = np.sqrt(9.81 / (reduced * np.cos(cone)))
    m = Mechanism("cone", gravity=R @ (0.0, 0.0, -9.81))
    if body == "point mass":
        m.body("bob", 0.7, R @ tip)
    else:
        m.rod("bob", (0, 0, 0), R @ tip, 0.7)
    m.spherical("ball", m.ground, "bob", at=(0, 0, 0))
    m.point("tip", "bob", R @ tip)
    m.set_velocity("tip", R @ (0.0, rate * tip[0], 0.0))
    result = simulate(m, 5.0, 0.05)
    turn = rate * result.times
    expected = np.column_stack(
        [tip[0] * np.cos(turn), tip[0] * np.sin(turn), np.full_like(turn, tip[2])]
    )
    np.testing.assert_allclose(result.position("tip") @ R, expected, atol=ADDED_UP)


def test_compound_pendulum_weld_is_the_sum_of_inertia():
    """Two rods welded to a cross swing as one body of their summed mass, centre and inertia."""
    apart = Mechanism("apart", gravity=(0, 0, -9.81))
    stem = apart.rod("stem", (0, 0, 0), (1, 0, 0), mass=1.0, section=0.1)
    bar = apart.rod("bar", (1, -0.5, 0.2), (1, 0.5, -0.2), mass=2.0, section=0.2)
    apart.weld("seam", "stem", "bar")
    apart.revolute("hinge", apart.ground, "stem", at=(0, 0, 0), axis=(0.3, 1, 0))
    apart.point("tip", "bar", (1, 0.5, -0.2))

    # parallel axes by hand
    center = (stem.mass * stem.center + bar.mass * bar.center) / 3.0
    inertia = np.zeros((3, 3))
    for b in (stem, bar):
        d = b.center - center
        inertia += b.inertia + b.mass * (d @ d * np.eye(3) - np.outer(d, d))
    one = Mechanism("one", gravity=(0, 0, -9.81))
    one.body("cross", 3.0, center, inertia)
    one.revolute("hinge", one.ground, "cross", at=(0, 0, 0), axis=(0.3, 1, 0))
    one.point("tip", "cross", (1, 0.5, -0.2))
    a, b = simulate(apart, 3.0, 0.1), simulate(one, 3.0, 0.1)
    # the same model up to rounding
    np.testing.assert_allclose(a.position("tip"), b.position("tip"), atol=1e-11)


def double_pendulum(times):
    """Textbook double pendulum of point masses 1, 2 kg on 1, 0.7 m, from angles 2.0 and 1.0."""
    m1, m2, l1, l2, g = 1.0, 2.0, 1.0, 0.7, 9.81

    def slope(_, y):
        a, b, da, db = y
        c, s = np.cos(a - b), np.sin(a - b)
        matrix = [[(m1 + m2) * l1, m2 * l2 * c], [l1 * c, l2]]
        side = [
            -m2 * l2 * db * db * s - (m1 + m2) * g * np.sin(a),
            l1 * da * da * s - g * np.sin(b),
        ]
        return [da, db, *np.linalg.solve(matrix, side)]

    found = solve_ivp(
        slope, (0, times[-1]), (2.0, 1.0, 0, 0), "DOP853", times, rtol=1e-13, atol=1e-13
    ).y
    first = l1 * np.column_stack([np.sin(found[0]), -np.cos(found[0])])
    return first, first + l2 * np.column_stack([np.sin(found[1]), -np.cos(found[1])])


def test_double_pendulum_textbook_equations_and_energy():
    """Two point masses follow the textbook equations for 3 s and keep their energy."""
    m = Mechanism("double")
    first = np.array([np.sin(2.0), -np.cos(2.0)])
    second = first + 0.7 * np.array([np.sin(1.0), -np.cos(1.0)])
    m.body("one", 1.0, first)
    m.body("two", 2.0, second)
    m.revolute("A", m.ground, "one", at=(0, 0))
    m.revolute("B", "one", "two", at=first)
    result = simulate(m, 3.0, 0.05)
    one, two = double_pendulum(result.times)
    # the motion is chaotic: errors grow by about a factor of a hundred in 3 s
    np.testing.assert_allclose(result.position("one"), one, atol=1e-7)
    np.testing.assert_allclose(result.position("two"), two, atol=1e-7)
    # energies here are some 30 J: a hundred tolerances of them
    assert result.energy_drift < 3e-7


def test_start_from_rest_angular_acceleration():
    """At rest the tip of a thin rod at an angle starts with 3/2 g sin(angle) across the rod."""
    angle = 0.8
    tip = np.array([np.sin(angle), -np.cos(angle)])
    m = Mechanism("rod")
    m.rod("rod", (0, 0), tip, mass=5.0)
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    m.point("tip", "rod", tip)
    result = simulate(m, 0.1, 0.01)
    across = np.array([np.cos(angle), np.sin(angle)])
    # one linear solve: rounding only
    expected = -1.5 * 9.81 * np.sin(angle) * across
    np.testing.assert_allclose(result.acceleration("tip")[0], expected, atol=1e-12)


def test_acceleration_is_the_derivative_of_velocity():
    """The acceleration column is the time derivative of the velocity column."""
    result = simulate(pendulum(2.0), 1.0, 0.001, tolerance=1e-12)
    v, a = result.velocity("bob"), result.acceleration("bob")
    # central difference of order four: 1e-12 (h^4) times a fifth derivative of about 1e4
    slope = (v[:-4] - 8 * v[1:-3] + 8 * v[3:-1] - v[4:]) / (12 * 0.001)
    np.testing.assert_allclose(a[2:-2], slope, atol=1e-7)


def hanging(lengths, masses, spatial):
    """A chain of rods that hangs still."""
    place = (lambda y: (0.0, 0.0, y)) if spatial else (lambda y: (0.0, y))
    m = Mechanism("chain", gravity=place(-9.81))
    axis = {"axis": (0, 1, 0)} if spatial else {}
    y, before = 0.0, m.ground
    for i, (length, mass) in enumerate(zip(lengths, masses, strict=True)):
        rod = m.rod(f"rod {i}", place(y), place(y - length), mass=mass)
        m.revolute(f"pin {i}", before, rod, at=place(y), **axis)
        y, before = y - length, rod
    return m


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-6, 1e-10])
def test_what_hangs_still_stays_so(tolerance):
    """Chains of any sizes for hours: nothing moves, no step has lost anything, alone and side by side."""
    rng = np.random.default_rng(4)
    times = np.array([0.0, 1e3, 1e4])
    for k in range(6):
        sizes = 10.0 ** rng.uniform(-1, 1, (2, 1 + k % 3))
        m = hanging(*sizes, spatial=k % 2 == 1)
        one = sarrus.simulate(m, 1e4, outputs=times, tolerance=tolerance)
        masses = sizes[1, 0] * rng.uniform(0.5, 2.0, 16)
        ensemble = sarrus.Ensemble(m, {"bodies.rod 0.mass": masses})
        many = ensemble.simulate(1e4, outputs=times, tolerance=tolerance, points=["rod 0"])
        place, names = one.position("rod 0"), {"done"}
        assert ({one.status}, set(many.status)) == (names, names)
        assert not [note for note in one.notes if "could not meet" in note]
        assert one.counters["relaxed_steps"] == 0
        assert not many.counters["relaxed_steps"].any()
        # of the chain: rounding, and what ends of steps are allowed
        size = tolerance * sizes[0].sum()
        assert np.abs(place - place[0]).max() <= size
        assert np.abs(many.position("rod 0") - place[0]).max() <= size


@pytest.mark.slow
def test_a_dwell_is_no_singular_position():
    """A crank driven to a stop and kept there for hours: it stays, and no error is reported."""
    for length in (0.1, 0.7, 13.0):
        m = Mechanism("crank", gravity=(0, -9.81))
        m.rod("crank", (0, 0), (0.3 * length, -length), mass=1)
        m.revolute("pin", m.ground, "crank", at=(0, 0))
        m.drive("turn", "pin", sarrus.SmoothStep(0.0, 1.0, 1.0, 2.0))
        result = sarrus.simulate(m, 1e4, outputs=[0.0, 2.0, 3e3, 1e4])
        assert result.status == "done"
        assert not result.notes
        place = result.position("crank")
        turn = np.array([[np.cos(1.0), -np.sin(1.0)], [np.sin(1.0), np.cos(1.0)]])
        assert np.abs(place[1:] - turn @ place[0]).max() <= 1e-10 * length
