"""Quadratures of motions with one degree of freedom, against motions known in closed form."""

import numpy as np

from sarrus.problems.references.quadrature import make_clock


def test_clock_of_a_pendulum_that_turns():
    """dt/dx = 1 / sqrt(1 + sin(x)^2 / 2): the time of a turn is an elliptic integral."""
    from scipy.special import ellipkinc

    clock = make_clock(lambda x: 1.0 / np.sqrt(1.0 + 0.5 * np.sin(x) ** 2), np.linspace(0, 9, 31))
    x, rate = clock.read(np.linspace(0.0, clock.duration, 200))
    # F(x | -1/2), a handful of roundings of times up to 8
    assert np.abs(ellipkinc(x, -0.5) - np.linspace(0.0, clock.duration, 200)).max() < 1e-14
    np.testing.assert_allclose(rate, np.sqrt(1.0 + 0.5 * np.sin(x) ** 2), rtol=1e-14)
    assert clock.rounding < 1e-14


def test_clock_says_when_its_panels_are_too_wide():
    """A narrow peak inside one panel leaves large last terms."""
    clock = make_clock(lambda x: 1.0 / (1e-4 + x * x), np.array([-1.0, 0.7, 1.0]))
    assert clock.rounding > 1e-3
