"""Every kind of joint in a motion that is known in closed form, as written and turned at random."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ellipj, ellipk

from builders import rotation
from sarrus import Mechanism, Polynomial, simulate

G = 9.81
# default tolerance 1e-10 of the size (1 m) a run, paths of up to 20 m
CLOSE = 2e-9
STEEP = 0.6  # slope of the inclined ones [rad]

TURNS_2D = [0.0, 0.7, -2.1]
TURNS_3D = [None, 3, 11]


def turn_2d(angle):
    """Rotation of the plane."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def turn_3d(seed):
    """No rotation, or a random one."""
    return np.eye(3) if seed is None else rotation(seed)


def slide(times):
    """Way down a smooth slope."""
    return 0.5 * G * np.sin(STEEP) * times**2


def pendulum_angle(times, start, length):
    """Angle from the lowest position of a pendulum released at rest."""
    k = np.sin(start / 2)
    sn = ellipj(ellipk(k**2) - np.sqrt(G / length) * times, k**2)[0]
    return 2 * np.arcsin(k * sn)


def check(result, name, expected):
    """Compare the path of a point."""
    assert result.status == "done", result.message
    np.testing.assert_allclose(result.position(name), expected, atol=CLOSE, rtol=0)


@pytest.mark.parametrize("angle", TURNS_2D)
@pytest.mark.parametrize("kind", ["prismatic", "point_on_line"])
def test_block_slides_down_a_slope(angle, kind):
    """s = 1/2 g sin(slope) t^2, whichever body carries the line."""
    R = turn_2d(angle)
    down = np.array([np.cos(STEEP), -np.sin(STEEP)])
    m = Mechanism("slope", gravity=R @ (0, -G))
    m.body("block", mass=2.0, center=R @ (0.3, 0.4), inertia=0.1)
    getattr(m, kind)("line", "ground", "block", at=R @ (0.3, 0.4), axis=R @ (3 * down))
    r = simulate(m, 1.5)
    check(r, "block", (np.array([0.3, 0.4]) + slide(r.times)[:, None] * down) @ R.T)


@pytest.mark.parametrize("angle", TURNS_2D)
def test_line_of_the_body_slides_over_a_fixed_point(angle):
    """A bar that slides through a fixed eye and spins about it, without gravity.

    With the spin w about the eye and the distance s of its centre, energy and angular momentum give
    s'^2 = v^2 + H^2/m (1/(I + m s0^2) - 1/(I + m s^2)) and H = (I + m s^2) w.
    """
    R = turn_2d(angle)
    mass, inertia, s0, v, w = 2.0, 0.3, 0.4, 0.6, 1.5
    m = Mechanism("eye", gravity=(0, 0))
    m.body("bar", mass, R @ (s0, 0), inertia)
    m.point_on_line("eye", "bar", "ground", at=(0, 0), axis=R @ (1, 0))
    m.point("centre", "bar", R @ (s0, 0))
    m.set_velocity("centre", R @ (v, w * s0))
    m.set_angular_velocity("bar", w)
    r = simulate(m, 1.0)
    s = np.linalg.norm(r.position("bar"), axis=1)
    H = (inertia + mass * s0**2) * w

    def rate(x):
        gain = 1 / (inertia + mass * s0**2) - 1 / (inertia + mass * x**2)
        return np.sqrt(v**2 + H**2 / mass * gain)

    for k in (300, 700, 1000):
        assert quad(lambda x: 1 / rate(x), s0, s[k], epsabs=1e-13)[0] == pytest.approx(
            r.times[k], abs=CLOSE
        )


@pytest.mark.parametrize("angle", TURNS_2D)
@pytest.mark.parametrize("moving", ["prismatic", "reversed"])
def test_block_slides_on_a_turning_arm(angle, moving):
    """The same sum of energy and momentum as above, with the arm's inertia: r(t) by quadrature."""
    R = turn_2d(angle)
    mass, own, arm, r0, w = 1.5, 0.02, 0.25, 0.5, 2.0
    m = Mechanism("arm", gravity=(0, 0))
    m.body("arm", 1.0, (0, 0), arm)
    m.body("block", mass, R @ (r0, 0), own)
    m.revolute("pivot", "ground", "arm", at=(0, 0))
    pair = ("arm", "block") if moving == "prismatic" else ("block", "arm")
    m.prismatic("slider", *pair, at=R @ (r0, 0), axis=R @ (1, 0))
    m.set_angular_velocity("arm", w)
    m.point("centre", "block", R @ (r0, 0))
    m.set_velocity("centre", R @ (0, w * r0))
    run = simulate(m, 1.0)
    r = np.linalg.norm(run.position("block"), axis=1)
    start = own + arm + mass * r0**2

    def rate(x):
        return np.sqrt((start * w) ** 2 / mass * (1 / start - 1 / (own + arm + mass * x**2)))

    # the rate vanishes at r0 like a square root: x = r0 + u^2
    for k in (400, 1000):
        found = quad(lambda u: 2 * u / rate(r0 + u * u), 0, np.sqrt(r[k] - r0), epsabs=1e-12)[0]
        assert found == pytest.approx(run.times[k], abs=1e-8)


@pytest.mark.parametrize("angle", TURNS_2D)
def test_massless_link_in_the_plane(angle):
    """A point on a massless link swings as Jacobi's functions say."""
    R = turn_2d(angle)
    length, start = 0.8, 1.2
    m = Mechanism("link", gravity=R @ (0, -G))
    bob = length * np.array([np.sin(start), -np.cos(start)])
    m.body("bob", 2.0, R @ bob)
    m.distance("link", "ground", "bob", start=(0, 0), end=R @ bob)
    r = simulate(m, 5.0)
    phi = pendulum_angle(r.times, start, length)
    check(r, "bob", length * np.column_stack([np.sin(phi), -np.cos(phi)]) @ R.T)


@pytest.mark.parametrize("seed", TURNS_3D)
def test_massless_link_in_space(seed):
    """A conical pendulum keeps its circle: w^2 = g / (l cos a)."""
    R, length, tilt = turn_3d(seed), 0.8, 0.5
    w = np.sqrt(G / (length * np.cos(tilt)))
    bob = length * np.array([np.sin(tilt), 0, -np.cos(tilt)])
    m = Mechanism("cone", gravity=R @ (0, 0, -G))
    m.body("bob", 2.0, R @ bob)
    m.distance("link", "ground", "bob", start=(0, 0, 0), end=R @ bob)
    m.point("tip", "bob", R @ bob)
    m.set_velocity("tip", R @ (0, w * bob[0], 0))
    r = simulate(m, 3.0)
    circle = bob[0] * np.column_stack([np.cos(w * r.times), np.sin(w * r.times)])
    check(r, "bob", np.column_stack([circle, np.full(len(r.times), bob[2])]) @ R.T)


SPIN = 2.5
# what each kind allows on the slope: whether it may spin about the axis, and lie across it
SLOPES = {
    "prismatic": False,
    "cylindrical": True,
    "point_on_line": True,
    "planar": True,
    "point_on_plane": True,
}


@pytest.mark.parametrize("seed", TURNS_3D)
@pytest.mark.parametrize("kind", SLOPES)
def test_ball_slides_down_and_spins(seed, kind):
    """s = 1/2 g sin(slope) t^2 + v t down the slope, and a constant spin where the joint allows it."""
    R = turn_3d(seed)
    down = np.array([np.cos(STEEP), 0.0, -np.sin(STEEP)])
    normal = np.array([np.sin(STEEP), 0.0, np.cos(STEEP)])
    flat = kind in ("planar", "point_on_plane")
    direction = {"normal": R @ normal} if flat else {"axis": R @ down}
    place, across = np.array([0.3, 0.4, 0.5]), np.array([0.0, 0.2, 0.0])
    m = Mechanism("slope", gravity=R @ (0, 0, -G))
    m.body("ball", 2.0, R @ place, (0.1, 0.1, 0.1))
    m.point("rim", "ball", R @ (place + across))
    getattr(m, kind)("slope", "ground", "ball", at=R @ place, **direction)
    axis = normal if flat else down
    spin = SPIN if SLOPES[kind] else 0.0
    m.set_angular_velocity("ball", R @ (spin * axis))
    m.point("centre", "ball", R @ place)
    speed = 0.7
    m.set_velocity("centre", R @ (speed * down))
    r = simulate(m, 1.5)
    path = place + (slide(r.times) + speed * r.times)[:, None] * down
    check(r, "ball", path @ R.T)
    if not flat:
        travel = slide(r.times) + speed * r.times
        np.testing.assert_allclose(r.travel("slope"), travel, atol=CLOSE, rtol=0)
    if kind in ("planar", "cylindrical"):
        np.testing.assert_allclose(r.angle("slope"), spin * r.times, atol=CLOSE, rtol=0)
    # the rim lies across the axis: it turns about it
    turned = np.outer(np.cos(spin * r.times), across)
    turned += np.outer(np.sin(spin * r.times), np.cross(axis, across))
    check(r, "rim", (path + turned) @ R.T)


@pytest.mark.parametrize("seed", TURNS_3D)
@pytest.mark.parametrize("bend", [0.3, 0.8])
def test_universal_joint_between_two_shafts(seed, bend):
    """Hooke's joint: tan(out) = tan(in) / cos(bend), and energy of both shafts together is kept."""
    R = turn_3d(seed)
    one, two = np.array([1.0, 0, 0]), np.array([np.cos(bend), np.sin(bend), 0])
    fork_one = np.array([0.0, 0.0, 1.0])
    fork_two = np.cross(two, fork_one)
    I1, I2, w = 0.2, 0.3, 4.0
    m = Mechanism("hooke", gravity=(0, 0, 0))
    for name, axis, inertia, sign in (("in", one, I1, -1.0), ("out", two, I2, 1.0)):
        J = inertia * np.eye(3)
        m.body(name, 1.0, R @ (sign * 0.5 * axis), R @ J @ R.T)
        m.revolute(f"bearing {name}", "ground", name, at=R @ (sign * axis), axis=R @ axis)
        m.point(f"mark {name}", name, R @ (sign * 0.5 * axis + 0.1 * fork_one))
    m.universal("cross", "in", "out", at=(0, 0, 0), axis=R @ fork_one, second_axis=R @ fork_two)
    m.set_angular_velocity("in", R @ (w * one))
    r = simulate(m, 2.0)
    assert r.status == "done", r.message
    angles = []
    for name, axis, sign in (("in", one, -1.0), ("out", two, 1.0)):
        arm = (r.position(f"mark {name}") @ R - sign * 0.5 * axis) / 0.1
        angles.append(np.unwrap(np.arctan2(arm @ np.cross(axis, fork_one), arm @ fork_one)))
    turned, out = angles
    # the input fork turns by `turned`, the cross keeps both forks at right angles
    expected = np.unwrap(np.arctan2(np.sin(turned) * np.cos(bend), np.cos(turned)))
    np.testing.assert_allclose(out, expected, atol=CLOSE, rtol=0)
    rates = [np.linalg.norm(r.velocity(f"mark {n}"), axis=1) / 0.1 for n in ("in", "out")]
    energy = I1 * rates[0] ** 2 + I2 * rates[1] ** 2
    np.testing.assert_allclose(energy, energy[0], rtol=1e-8)


@pytest.mark.parametrize("seed", TURNS_3D)
def test_prismatic_joint_in_space_carries_its_load(seed):
    """A slider on a turning shaft stays on its line and does not turn against the shaft.

    Without gravity and friction the distance grows as on a turning arm: r'' = w^2 r, and angular
    momentum (J + m r^2) w is kept.
    """
    R = turn_3d(seed)
    m = Mechanism("shaft", gravity=(0, 0, 0))
    J = np.diag([0.2, 0.3, 0.4])
    m.body("shaft", 1.0, (0, 0, 0), R @ J @ R.T)
    m.body("slider", 0.7, R @ (0.4, 0.1, 0), R @ (0.1 * J) @ R.T)
    m.revolute("bearing", "ground", "shaft", at=(0, 0, 0), axis=R @ (0, 0, 1))
    m.prismatic("rail", "shaft", "slider", at=R @ (0.4, 0.1, 0), axis=R @ (1, 0, 0))
    m.set_angular_velocity("shaft", R @ (0, 0, 2.0))
    m.point("tip", "slider", R @ (0.4, 0.3, 0.2))
    r = simulate(m, 1.0)
    assert r.status == "done", r.message
    center = r.position("slider") @ R
    tip = r.position("tip") @ R - center
    turned = np.arctan2(tip[:, 1], tip[:, 0]) - np.arctan2(0.2, 0.0)
    # seen from the shaft the slider's centre keeps its offset of 0.1 m and its height
    across = -np.sin(turned) * center[:, 0] + np.cos(turned) * center[:, 1]
    np.testing.assert_allclose(across, 0.1, atol=CLOSE, rtol=0)
    np.testing.assert_allclose(center[:, 2], 0.0, atol=CLOSE)
    velocity = r.velocity("slider") @ R
    spin = np.gradient(np.unwrap(turned), r.times, edge_order=2)
    momentum = 0.7 * (center[:, 0] * velocity[:, 1] - center[:, 1] * velocity[:, 0]) + 0.44 * spin
    # the spin comes from differences of outputs 1e-3 s apart
    np.testing.assert_allclose(momentum[2:-2], momentum[2], rtol=1e-5)
    assert r.energy_drift < 1e-9


def test_cylindrical_joint_states_angle_and_travel():
    """A body spins and falls along a fixed axis: angle w t over several turns, travel -g t^2 / 2."""
    m = Mechanism("piston", gravity=(0, 0, -9.81))
    m.body("piston", 2.0, (0.3, 0, 0), inertia=(0.1, 0.2, 0.3))
    m.cylindrical("C", m.ground, "piston", at=(0, 0, 0), axis=(0, 0, 1))
    m.set_angular_velocity("piston", (0, 0, 9.0))
    r = simulate(m, 3.0, 0.1)
    # 1e-10 is the tolerance, for 27 rad and 44 m
    np.testing.assert_allclose(r.angle("C"), 9 * r.times, atol=1e-8)
    np.testing.assert_allclose(r.travel("C"), -9.81 / 2 * r.times**2, atol=1e-8)


@pytest.mark.parametrize("seed", TURNS_3D)
def test_rectangular_joint_lets_slide_but_not_turn(seed):
    """On an XY table that turns with its shaft a load is free in the plane: it goes straight on.

    The table turns it all the same, at the table's own rate, and without gravity nothing else acts.
    """
    R, w = turn_3d(seed), 2.5
    m = Mechanism("XY table", gravity=(0, 0, 0))
    m.body("shaft", 1.0, (0, 0, 0), R @ np.diag([0.2, 0.3, 0.4]) @ R.T)
    m.body("load", 0.7, R @ (0.4, 0.1, 0.3), R @ np.diag([0.02, 0.03, 0.04]) @ R.T)
    m.revolute("bearing", "ground", "shaft", at=(0, 0, 0), axis=R @ (0, 0, 1))
    m.rectangular("table", "shaft", "load", at=R @ (0.4, 0.1, 0.2), normal=R @ (0, 0, 3))
    m.point("tip", "load", R @ (0.6, 0.1, 0.3))
    m.drive("motor", "bearing", Polynomial((0.0, w)))
    m.point("middle", "load", R @ (0.4, 0.1, 0.3))
    m.set_velocity("middle", R @ (0.3, -0.2, 0.0))
    r = simulate(m, 2.0, 0.05)
    assert r.status == "done", r.message
    t = r.times[:, None]
    np.testing.assert_allclose(
        r.position("load") @ R, [0.4, 0.1, 0.3] + t * [0.3, -0.2, 0.0], atol=CLOSE
    )
    arm = (r.position("tip") - r.position("load")) @ R
    expected = 0.2 * np.stack([np.cos(w * r.times), np.sin(w * r.times), 0 * r.times], axis=1)
    np.testing.assert_allclose(arm, expected, atol=CLOSE)
    assert r.verdict.mobility_motion == 2
