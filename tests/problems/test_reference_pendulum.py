"""Closed form of the pendulum against mpmath, its equation, and rows of the published file."""

import mpmath as mp
import numpy as np
import pytest

from sarrus.problems.references.simple_pendulum import pendulum_reference

# rows t, x, y of A01_solution_data.txt (MBS Benchmark A01), six digits
A01_ROWS = np.array(
    [
        [0.5, -0.391049, -0.92037],
        [1.0, 0.986292, -0.165011],
        [500.0, -0.75456, -0.656231],
        [1250.5, -0.928223, -0.372023],
        [2000.0, 0.814603, -0.580019],
    ]
)


def exact_row(t):
    """sin(phi/2) = -k sn(K - w t) with mpmath, from the binary values of the inputs."""
    w, k = mp.sqrt(mp.mpf(9.81)), mp.sqrt(mp.mpf(1) / 2)
    K = mp.ellipk(mp.mpf(1) / 2)
    u = (K - w * mp.mpf(float(t))) % (4 * K)
    sn, dn = mp.ellipfun("sn", u, m=k * k), mp.ellipfun("dn", u, m=k * k)
    half, rate = mp.asin(-k * sn), 2 * w * k * mp.ellipfun("cn", u, m=k * k)
    # cos(phi/2) = dn
    assert abs(mp.cos(half) - dn) < mp.mpf(10) ** -30
    sin, cos = mp.sin(2 * half), mp.cos(2 * half)
    return [sin, -cos, cos * rate, sin * rate]


@pytest.mark.parametrize(("times", "bound"), [((0.0, 0.3, 2.4, 9.99), 1e-13), ((1999.7,), 4e-12)])
def test_closed_form_mpmath(times, bound):
    """Forty digits agree to some dozen roundings; after 845 swings to the rounding of the period."""
    with mp.workdps(40):
        for t in times:
            row = pendulum_reference([t])[0]
            assert (
                max(abs(mp.mpf(float(x)) - y) for x, y in zip(row, exact_row(t), strict=True))
                < bound
            )


def test_published_a01_file():
    """Rows of the published file agree within the rounding of their six digits."""
    rows = pendulum_reference(A01_ROWS[:, 0])
    assert np.abs(rows[:, :2] - A01_ROWS[:, 1:]).max() < 5.1e-7


def test_period():
    """The period of the atlas, 2.367841947576 s: back at the start, at rest."""
    row = pendulum_reference([2.367841947576])[0]
    # half of its last digit, times the acceleration
    np.testing.assert_allclose(row, [-1.0, 0.0, 0.0, 0.0], atol=1e-11)


def test_energy_and_circle():
    """The point stays on its circle and keeps its energy, at any length and gravity."""
    x, y, vx, vy = pendulum_reference(np.linspace(0.0, 7.0, 200), gravity=1.62, length=0.3).T
    # the elliptic functions of SciPy are good to some 1e-14
    np.testing.assert_allclose(np.hypot(x, y), 0.3, rtol=1e-13)
    np.testing.assert_allclose(0.5 * (vx**2 + vy**2) + 1.62 * y, 0.0, atol=1e-13)
