"""Where a mechanism cannot continue: dead centres of driven linkages, structures, impossible drives."""

import re

import numpy as np
import pytest
from scipy.optimize import brentq

from linkages import triangle
from sarrus import Mechanism, simulate
from sarrus.mechanism import MechanismError, Polynomial, SmoothStep, Table

# six digits of a message in degrees, from a start at 0
SHOWN = 1e-4


def four_bar(rng):
    """A four-bar whose crank cannot go round, and the angle from the start to its limit [rad].

    Crank and ground are at their limit where coupler and rocker are stretched: the law of cosines.
    """
    while True:
        a, b, c, d = rng.uniform(0.5, 1.5, 4)
        cosine = (a * a + d * d - (b + c) ** 2) / (2 * a * d)
        if abs(cosine) < 0.95:
            break
    limit = np.arccos(cosine)
    angle = rng.uniform(0.3, 0.8) * limit
    B, D = a * np.array([np.cos(angle), np.sin(angle)]), np.array([d, 0.0])
    reach = np.linalg.norm(D - B)
    if not abs(b - c) < 0.95 * reach:
        return four_bar(rng)
    along, across = (D - B) / reach, np.array([B[1] - D[1], D[0] - B[0]]) / reach
    x = (reach**2 + b * b - c * c) / (2 * reach)
    C = B + x * along + np.sqrt(b * b - x * x) * across
    m = Mechanism("four-bar")
    for name, ends in (("crank", ((0, 0), B)), ("coupler", (B, C)), ("rocker", (C, D))):
        m.rod(name, *ends, mass=1)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.revolute("B", "crank", "coupler", at=B)
    m.revolute("C", "coupler", "rocker", at=C)
    m.revolute("D", m.ground, "rocker", at=D)
    return m, limit - angle


def slider_crank(rng):
    """A crank longer than its rod: at its limit the rod stands across the line of the slider."""
    a, b, e = rng.uniform(1.0, 1.5), rng.uniform(0.5, 0.9), rng.uniform(-0.1, 0.1)
    limit = np.arcsin((b + e) / a)
    angle = rng.uniform(0.1, 0.7) * limit
    B = a * np.array([np.cos(angle), np.sin(angle)])
    C = np.array([B[0] + np.sqrt(b * b - (B[1] - e) ** 2), e])
    m = Mechanism("slider-crank")
    m.rod("crank", (0, 0), B, mass=1)
    m.rod("rod", B, C, mass=1)
    m.body("slider", 1.0, C, 0.1)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.revolute("B", "crank", "rod", at=B)
    m.revolute("C", "rod", "slider", at=C)
    m.prismatic("P", m.ground, "slider", at=C, axis=(1, 0))
    return m, limit - angle


def rssr(rng):
    """Two cranks about axes in space, a rod on ball joints between them.

    With d from the output's centre to the pin A(x) and e1, e2 across its axis, b its radius, l the rod,
    d . (e1 cos y + e2 sin y) = (d^2 + b^2 - l^2) / (2 b): no y where the right side is larger than d across.
    """
    while True:
        a, b, centre = rng.uniform(0.4, 0.9), rng.uniform(0.4, 0.9), rng.uniform(0.5, 1.0, 3)
        e1, e2, axis = np.linalg.qr(rng.normal(size=(3, 3)))[0].T
        angle, y = rng.uniform(0, 2 * np.pi, 2)

        def pin(x, a=a):
            return a * np.array([np.cos(x), np.sin(x), 0.0])

        B = centre + b * (np.cos(y) * e1 + np.sin(y) * e2)
        rod = np.linalg.norm(B - pin(angle))

        def room(x, b=b, centre=centre, e1=e1, e2=e2, rod=rod, pin=pin):
            d = pin(x) - centre
            return (d @ e1) ** 2 + (d @ e2) ** 2 - ((d @ d + b * b - rod * rod) / (2 * b)) ** 2

        ahead = angle + np.linspace(0.0, 3.0, 601)
        below = np.flatnonzero([room(x) < 0.0 for x in ahead])
        if room(angle) > 0.05 and len(below) and 60 < below[0] < 500:
            break
    limit = brentq(room, ahead[below[0] - 1], ahead[below[0]], xtol=1e-15)
    m = Mechanism("RSSR", gravity=(0, 0, -9.81))
    A = pin(angle)
    m.body("in", 1.0, 0.5 * A, (0.1, 0.1, 0.1))
    m.body("out", 1.0, 0.5 * (B + centre), (0.1, 0.1, 0.1))
    m.rod("rod", A, B, mass=1.0)
    m.revolute("A", m.ground, "in", at=(0, 0, 0), axis=(0, 0, 1))
    m.revolute("D", m.ground, "out", at=centre, axis=axis)
    m.spherical("B", "in", "rod", at=A)
    m.spherical("C", "rod", "out", at=B)
    return m, limit - angle


@pytest.mark.slow
@pytest.mark.parametrize("make", [four_bar, slider_crank, rssr])
@pytest.mark.parametrize("method", ["series", pytest.param("radau", marks=pytest.mark.slow)])
def test_dead_centre_of_a_random_linkage(make, method):
    """The drive, its value and the time of the limit, as the closed form has them; and nothing beyond."""
    rng = np.random.default_rng(11)
    for _ in range(5):
        m, limit = make(rng)
        rate = rng.uniform(0.5, 2.0)
        m.drive("motor", "A", Polynomial((0.0, rate)))
        for tolerance in (1e-6, 1e-10):
            r = simulate(m, 2 * limit / rate, tolerance=tolerance, method=method)
            assert r.status == "blocked", r.message
            assert "drive 'motor' has reached the limit of the mechanism" in r.message
            value, at = re.search(
                r"mechanism, ([\d.]+) degrees, at t = ([\d.]+) s", r.message
            ).groups()
            assert float(value) == pytest.approx(np.degrees(limit), abs=SHOWN * 10)
            assert float(at) == pytest.approx(limit / rate, rel=1e-6)
            assert r.times[-1] <= limit / rate
            assert not r.success


@pytest.mark.slow
@pytest.mark.parametrize("method", ["multipliers", "multipliers-dop853"])
def test_methods_that_do_not_close_their_loops_are_not_led_beyond(method):
    """They would go on with loops open by a part of a link: the limit is reported, and nothing after it is
    kept.
    """
    rng = np.random.default_rng(12)
    setting = {"step": 2e-3} if method == "multipliers" else {"tolerance": 1e-6}
    for make in (four_bar, slider_crank, rssr):
        m, limit = make(rng)
        m.drive("motor", "A", Polynomial((0.0, 1.0)))
        r = simulate(m, 2 * limit, limit / 25, method=method, **setting)
        assert r.status == "blocked", r.message
        at = re.search(r"degrees, at t = ([\d.]+) s", r.message)
        assert float(at[1]) == pytest.approx(limit, rel=1e-6)
        assert r.times[-1] <= limit


@pytest.mark.parametrize("method", ["series", "radau"])
def test_limits_of_what_has_other_degrees_of_freedom(method):
    """A pendulum hangs on the body that is driven to its limit: that it swings does not hide the limit."""
    rng = np.random.default_rng(13)
    for make in (four_bar, slider_crank):
        m, limit = make(rng)
        pin = next(j for j in m.joints if j.name == "C")
        m.rod("bob", pin.at, pin.at + rng.uniform(0.2, 0.5, 2), mass=0.3)
        m.revolute("swing", pin.bodies[1], "bob", at=pin.at)
        m.drive("motor", "A", Polynomial((0.0, 1.0)))
        r = simulate(m, 2 * limit, limit / 25, method=method)
        assert r.status == "blocked", r.message
        at = re.search(r"degrees, at t = ([\d.]+) s", r.message)
        assert float(at[1]) == pytest.approx(limit, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["series", "radau"])
def test_a_drive_of_what_cannot_move(method):
    """It stands still at first, and the start says nothing; later the joints are to blame, no dead centre."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        m = triangle()
        # something that moves near it
        m.rod("bob", (1, 1), np.array((1.0, 1.0)) + rng.normal(size=2), mass=0.5)
        m.revolute("swing", "left", "bob", at=(1, 1))
        begin = rng.uniform(0.1, 0.5)
        m.drive("motor", "A", SmoothStep(0.0, rng.uniform(-1, 1), begin, begin + 0.5))
        r = simulate(m, 1.0, 0.05, method=method)
        assert r.status == "blocked", r.message
        assert "drive 'motor' prescribes a motion that the joints do not allow" in r.message
        assert begin - 0.05 < r.times[-1] < begin + 0.05


def test_a_length_driven_to_its_limit():
    """Two rods of 1 m from 0 to a slide: a link drives it away until they are stretched at 2 m."""
    m = Mechanism("stretched", gravity=(0, 0))
    m.rod("a", (0, 0), (0.8, 0.6), mass=1)
    m.rod("b", (0.8, 0.6), (1.6, 0), mass=1)
    m.revolute("A", m.ground, "a", at=(0, 0))
    m.revolute("B", "a", "b", at=(0.8, 0.6))
    m.distance("L", m.ground, "b", start=(0, 0), end=(1.6, 0))
    m.point_on_line("S", m.ground, "b", at=(1.6, 0), axis=(1, 0))
    m.drive("jack", "L", Polynomial((1.6, 0.25)))
    r = simulate(m, 4.0, 0.1)
    assert r.status == "blocked"
    assert "drive 'jack' has reached the limit of the mechanism, 2 m, at t = 1.6 s" in r.message


def test_a_drive_that_turns_back_in_time():
    """Short of the limit there is no note."""
    m, limit = four_bar(np.random.default_rng(1))
    m.drive("motor", "A", Polynomial((0.0, 1.0, -0.3 / limit)))
    r = simulate(m, 2.0 * limit, 0.1)
    assert r.status == "done"


@pytest.mark.parametrize("method", ["series", "radau"])
def test_drives_that_contradict_each_other(method):
    """By 1e-9 t^3: too little to be seen at the start, and never a good status."""
    m = Mechanism("two motors")
    m.rod("a", (0, 0), (1, 0), mass=1)
    for name in ("A", "B"):
        m.revolute(name, m.ground, "a", at=(0, 0))
    m.drive("one", "A", Polynomial((0.0, 1.0)))
    m.drive("two", "B", Polynomial((0.0, 1.0, 0.0, 1e-9)))
    r = simulate(m, 3.0, 0.1, method=method)
    assert r.status == "blocked"
    assert "drives 'one' and 'two' contradict each other" in r.message


def test_a_structure_says_that_nothing_can_move():
    """Two rods on three pins."""
    r = simulate(triangle(), 1.0)
    assert r.status == "done"
    assert "Nothing can move" in r.message
    # rounding
    assert np.ptp(r.position("B"), axis=0).max() < 1e-14
    free = triangle()
    free.joints = [j for j in free.joints if j.name != "C"]
    assert "Nothing can move" not in simulate(free, 0.1).message


def test_a_length_driven_through_zero_is_rejected():
    """At the time when it is no length any more."""
    m = Mechanism("piston", gravity=(0, 0))
    m.body("b", 1.0, (1.0, 0.0), 0.1)
    m.prismatic("P", m.ground, "b", at=(1.0, 0.0), axis=(1.0, 0.0))
    m.distance("L", m.ground, "b", start=(0.0, 0.0), end=(1.0, 0.0))
    m.drive("d", "L", Polynomial((1.0, -1.0)))
    with pytest.raises(MechanismError, match=r"length of joint 'L' to 0 m at t = 1 s"):
        simulate(m, 2.0, 0.1)
    assert simulate(m, 0.5, 0.1).status == "done"


def test_a_table_that_overshoots_is_reported():
    """Values of 0 to 1 rad, a millisecond apart, and a spline that goes to hundreds of radians."""
    m = Mechanism("table")
    m.rod("a", (0, 0), (1, 0), mass=1)
    m.revolute("A", m.ground, "a", at=(0, 0))
    m.drive("d", "A", Table((0, 1, 1.001, 2, 3), (0, 0, 1, 1, 1)))
    r = simulate(m, 0.5, 0.1)
    assert any("between 0 and 1, but the cubic spline" in note for note in r.notes)
    m.drives = []
    times = np.linspace(0, 3, 31)
    m.drive("d", "A", Table(tuple(times), tuple(np.sin(times) ** 2)))
    assert not any("spline" in note for note in simulate(m, 0.5, 0.1).notes)
