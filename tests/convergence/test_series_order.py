"""Order of the series and its coefficients against derivatives found in other ways."""

import mpmath as mp
import numpy as np
import pytest

from builders import bricard, n_four_bar, pendulum
from sarrus import simulate
from sarrus.problems.references.bricard import bricard_reference
from sarrus.problems.references.n_four_bar import four_bar_reference
from series_coefficients import point_series


def exact_four_bar(windows, order):
    """Coefficients of (sin theta, cos theta), theta'' = k sin theta, theta(0) = 0, theta' = 1.

    From the recursions of sine and cosine of a series: (k+1) s_{k+1} = sum (j+1) a_{j+1} c_{k-j}.
    """
    k = mp.mpf("9.81") * (mp.mpf(windows + 1) / 2 + windows) / (mp.mpf(windows + 1) / 3 + windows)
    a, s, c = [mp.mpf(0), mp.mpf(1)], [mp.mpf(0)], [mp.mpf(1)]
    for n in range(order):
        s.append(sum((j + 1) * a[j + 1] * c[n - j] for j in range(n + 1)) / (n + 1))
        c.append(-sum((j + 1) * a[j + 1] * s[n - j] for j in range(n + 1)) / (n + 1))
        a.append(k * s[n] / ((n + 1) * (n + 2)))
    return np.array([[float(x), float(y)] for x, y in zip(s, c, strict=True)])


@pytest.mark.parametrize("windows", [1, 2, 5])
def test_coefficients_of_the_four_bar(windows):
    """The coefficients of B0 equal those of its angle's pendulum equation in 50 digits."""
    with mp.workdps(50):
        exact = exact_four_bar(windows, 16)
    found = point_series(n_four_bar(windows), "B0", 16)
    # the matrix is well conditioned upright; every order adds a few roundings
    np.testing.assert_allclose(found, exact, atol=1e-12 * np.abs(exact).max())


def test_coefficients_of_the_pendulum_from_the_closed_form():
    """The coefficients equal mpmath's derivatives of the elliptic-function solution."""
    amplitude, length = 2.0, 0.9
    with mp.workdps(60):
        k = mp.sin(mp.mpf(amplitude) / 2)
        rate = mp.sqrt(mp.mpf("9.81") / mp.mpf(length))
        quarter = mp.ellipk(k * k)

        def sine(t):
            # sin(theta) = 2 sin(theta/2) cos(theta/2)
            half = k * mp.ellipfun("sn", quarter - rate * t, m=k * k)
            return mp.mpf(length) * 2 * half * mp.sqrt(1 - half * half)

        exact = [float(x) for x in mp.taylor(sine, 0, 10)]
    found = point_series(pendulum(amplitude, length=length), "bob", 10)[:, 0]
    # mpmath differentiates by differences at 60 digits: exact here; ours rounds
    np.testing.assert_allclose(found, exact, atol=1e-11 * np.abs(exact).max())


@pytest.mark.parametrize("order", [4, 6, 8, 10])
@pytest.mark.parametrize("problem", ["four-bar", "bricard"])
def test_local_error_has_order_p_plus_one(problem, order):
    """The error of the polynomial of order p falls with h^(p+1) against the closed form."""
    if problem == "four-bar":
        series = point_series(n_four_bar(2), "B0", order)
        steps = np.geomspace(0.05, 0.15, 6)
        exact = four_bar_reference(steps, 2)[:, :2]
    else:
        # at rest odd coefficients vanish, so an even order gains one more
        series = point_series(bricard(), "P2", order)
        steps = np.geomspace(0.1, 0.25, 6)
        exact = bricard_reference(steps)[:, :3]
    found = np.polynomial.polynomial.polyval(steps, series).T
    error = np.abs(found - exact).max(axis=1)
    used = error > 1e-13
    slope = np.polyfit(np.log(steps[used]), np.log(error[used]), 1)[0]
    expected = order + (2 if problem == "bricard" else 1)
    # from the upright, x has odd and y even powers only, so a slope may lie up to one higher;
    # finite steps bend the line by less than half
    assert used.sum() >= 3
    assert expected - 0.5 < slope < expected + 1.5


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["four-bar", "bricard", "thin bricard"])
def test_error_falls_with_the_tolerance(problem):
    """Ten times less tolerance gives about ten times less error, on average over a sweep."""
    tolerances = np.logspace(-4, -9, 11)
    errors = []
    for tolerance in tolerances:
        if problem == "four-bar":
            result = simulate(n_four_bar(2), 5.0, 0.05, tolerance=tolerance)
            error = result.position("B0") - four_bar_reference(result.times, 2)[:, :2]
        else:
            section = 0.1 if problem == "bricard" else 0.0
            result = simulate(bricard(section), 5.0, 0.05, tolerance=tolerance)
            error = result.position("P2") - bricard_reference(result.times, section)[:, :3]
        errors.append(np.abs(error).max())
    slope = np.polyfit(np.log(tolerances), np.log(errors), 1)[0]
    # single errors scatter by a factor of ten because steps fall differently; the trend does not
    assert 0.7 < slope < 1.3


def test_energy_drift_falls_with_the_tolerance():
    """The drift of the energy falls with the tolerance too."""
    tolerances = np.logspace(-4, -9, 11)
    drifts = [simulate(n_four_bar(3), 5.0, 0.05, tolerance=t).energy_drift for t in tolerances]
    slope = np.polyfit(np.log(tolerances), np.log(drifts), 1)[0]
    # it scatters as the errors do
    assert 0.7 < slope < 1.4
