"""Series of loads and drives: coefficients against exact arithmetic, and the order they keep."""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from sarrus import Mechanism, Polynomial, Sine
from series_coefficients import point_series

# coefficients are sums of some hundred products of order one
ROUNDING = 1e-12


def crank(motion=None):
    """A crank of 1 m on the ground, in the plane without gravity."""
    m = Mechanism("crank", gravity=(0, 0))
    m.rod("crank", (0, 0), (1, 0), mass=3)
    m.revolute("pin", m.ground, "crank", at=(0, 0))
    m.point("tip", "crank", (1, 0))
    if motion is not None:
        m.drive("motor", "pin", motion)
    return m


# series of fractions, as lists of coefficients


def times(x, y):
    """Product of two series, cut to the length of the first."""
    return [sum(x[j] * y[k - j] for j in range(k + 1)) for k in range(len(x))]


def plus(x, y, factor=1):
    """x + factor y."""
    return [a + factor * b for a, b in zip(x, y, strict=True)]


def slope(x):
    """Derivative; the last coefficient is not known and set to zero."""
    return [*(k * c for k, c in enumerate(x) if k), Fraction(0)]


def root_and_inverse(x, root):
    """sqrt(x) and 1/sqrt(x) by Newton's iteration on series, from the root of the first."""
    one = [Fraction(1)] + [Fraction(0)] * (len(x) - 1)
    inverse = [Fraction(1) / root] + [Fraction(0)] * (len(x) - 1)
    for _ in range(6):
        # y <- y (3 - x y^2) / 2
        rest = plus([3 * c for c in one], times(x, times(inverse, inverse)), -1)
        inverse = [c / 2 for c in times(inverse, rest)]
    return times(x, inverse), inverse


def test_spring_and_damper_on_a_particle():
    """A particle on a spring with damper, preload and weight equals Picard's iteration in fractions."""
    n = 11
    k, c, free, pull, mass = Fraction(7), Fraction(3, 2), Fraction(4), Fraction(1, 2), Fraction(2)
    start, speed = (Fraction(3), Fraction(4)), (Fraction(1, 2), Fraction(-2))
    weight = (Fraction(0), Fraction(-5))
    place = [[s, v] + [Fraction(0)] * (n - 2) for s, v in zip(start, speed, strict=True)]
    for _ in range(n):
        # each round makes one coefficient more exact
        square = plus(times(place[0], place[0]), times(place[1], place[1]))
        length, inverse = root_and_inverse(square, Fraction(5))
        strength = plus([k * x for x in length], slope(length), c)
        strength[0] += pull - k * free
        ratio = times(strength, inverse)
        for i in range(2):
            force = [-x / mass for x in times(ratio, place[i])]
            force[0] += weight[i]
            place[i] = [start[i], speed[i]] + [force[j] / ((j + 1) * (j + 2)) for j in range(n - 2)]
    m = Mechanism("particle", gravity=[float(w) for w in weight])
    m.body("p", mass=2.0, center=(3, 4))
    m.point("P", "p", (3, 4))
    m.spring(
        "s", m.ground, "p", start=(0, 0), end=(3, 4), stiffness=7, damping=1.5, free_length=4, preload=0.5
    )  # fmt: skip
    m.set_velocity("P", (0.5, -2))
    exact = np.array([[float(x) for x in row] for row in place]).T
    found = point_series(m, "P", n - 1)
    np.testing.assert_allclose(found, exact, atol=ROUNDING * np.abs(exact).max())


def taylor(function, order):
    """Taylor coefficients of a function of mpmath, about 0."""
    with mp.workdps(60):
        return np.array([float(x) for x in mp.taylor(function, 0, order)])


def torsion_angle(t):
    """Angle of the damped torsional pendulum below, released at rest at angle 0."""
    rest = mp.mpf(2) + mp.mpf(1) / 5
    fade = mp.mpf(1) / 4
    rate = mp.sqrt(5 - fade**2)
    return rest * (1 - mp.exp(-fade * t) * (mp.cos(rate * t) + fade / rate * mp.sin(rate * t)))


def torsion_pendulum():
    """The crank (inertia 1 about its pin) with a torsional spring, damper and torque."""
    m = crank()
    m.torsion("coil", "pin", stiffness=5, damping=0.5, free_angle=2, torque=1)
    return m


def test_torsion_on_a_crank():
    """The tip of a torsional pendulum has the coefficients of its closed form."""
    found = point_series(torsion_pendulum(), "tip", 12)
    exact = np.array([taylor(lambda t, f=f: f(torsion_angle(t)), 12) for f in (mp.cos, mp.sin)]).T
    np.testing.assert_allclose(found, exact, atol=ROUNDING * np.abs(exact).max())


@pytest.mark.parametrize("order", [4, 7, 10])
def test_order_is_kept_with_a_torsion(order):
    """The error of the polynomial of order p falls with h^(p+1)."""
    series = point_series(torsion_pendulum(), "tip", order)
    steps = np.geomspace(0.05, 0.2, 6)
    found = np.polynomial.polynomial.polyval(steps, series).T
    exact = np.array([[mp.cos(torsion_angle(h)), mp.sin(torsion_angle(h))] for h in steps], float)
    error = np.abs(found - exact).max(axis=1)
    used = error > 1e-14
    line = np.polyfit(np.log(steps[used]), np.log(error[used]), 1)[0]
    assert used.sum() >= 3
    # finite steps bend the line by less than half
    assert order + 0.5 < line < order + 1.6


MOTIONS = {
    "sine": (
        Sine(0.7, 1.3, phase=0.4, offset=-0.7 * np.sin(0.4)),
        lambda t: (
            mp.mpf(0.7) * (mp.sin(2 * mp.pi * mp.mpf(1.3) * t + mp.mpf(0.4)) - mp.sin(mp.mpf(0.4)))
        ),
    ),
    "polynomial": (
        Polynomial((0, 1.5, -2.0, 0.5, 0.25)),
        lambda t: 1.5 * t - 2 * t**2 + t**3 / 2 + t**4 / 4,
    ),
}


@pytest.mark.parametrize("name", MOTIONS)
def test_driven_crank(name):
    """The tip of a driven crank is (cos x, sin x): all coefficients follow from the motion."""
    motion, x = MOTIONS[name]
    found = point_series(crank(motion), "tip", 12)
    exact = np.array([taylor(lambda t, f=f: f(x(t)), 12) for f in (mp.cos, mp.sin)]).T
    np.testing.assert_allclose(found, exact, atol=ROUNDING * np.abs(exact).max())


def test_thrust_and_torque_on_a_free_body():
    """A thrust that turns with a body under a torque: x'' = F/m cos(w t + a t^2 / 2)."""
    m = Mechanism("thruster", gravity=(0, 0))
    m.body("b", mass=2, center=(0, 0), inertia=0.5)
    m.point("c", "b", (0, 0))
    m.force("thrust", "b", at=(0, 0), vector=(3, 0), fixed_in="body")
    m.torque("turn", "b", 0.75)
    m.set_angular_velocity("b", 0.5)
    m.set_velocity("c", (0, 0))
    found = point_series(m, "c", 12)
    for axis, f in enumerate((mp.cos, mp.sin)):
        force = taylor(lambda t, f=f: mp.mpf(1.5) * f(t / 2 + mp.mpf(1.5) * t**2 / 2), 10)
        exact = np.concatenate([[0, 0], force / (np.arange(1.0, 12) * np.arange(2.0, 13))])
        np.testing.assert_allclose(found[:, axis], exact, atol=ROUNDING)
