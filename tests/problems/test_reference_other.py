"""References of the light cart-pole, the four-bar with spring and the heavy top."""

import mpmath as mp
import numpy as np
import pytest

from sarrus.problems.references import heavy_top as top
from sarrus.problems.references.four_bar_spring import (
    equilibrium_angle,
    four_bar_spring_reference,
    potential_slopes,
    small_eigenvalues,
)
from sarrus.problems.references.heavy_top import top_reference
from sarrus.problems.references.light_cart_pole import cart_pole_angle, cart_pole_reference

# light cart-pole


def test_cart_pole_quarter_period():
    """The published quarter period, all its digits: the pole hangs, at its published peak speed."""
    quarter = 0.451524535681659
    theta, rate = cart_pole_angle([quarter])
    # half of the last digit of the time, at 4429 rad/s
    assert abs(theta[0]) < 4e-12
    assert rate[0] == pytest.approx(-4429.4, abs=0.06)
    # 11 vertical crossings in 10 s
    theta, _ = cart_pole_angle(np.linspace(0.0, 10.0, 4001))
    assert np.count_nonzero(np.diff(np.sign(theta))) == 11


@pytest.mark.parametrize("cart", [1e-6, 0.3])
def test_cart_pole_time_by_mpmath(cart):
    """Thirty-digit quadrature of the energy integral gives the time back, both sides of the vertical."""
    for t in (0.3, 0.4515, 0.46, 0.8):
        theta = mp.mpf(float(cart_pole_angle([t], cart)[0][0]))
        with mp.workdps(30):
            M = mp.mpf(cart)

            # theta = pi/2 - u^2
            def slope(u, M=M):
                th = mp.pi / 2 - u * u
                return (
                    2
                    * u
                    * mp.sqrt((M + mp.sin(th) ** 2) / (2 * mp.mpf(9.81) * (1 + M) * mp.sin(u * u)))
                )

            end = mp.sqrt(mp.pi / 2 - theta)
            middle = mp.sqrt(mp.pi / 2)
            cuts = [mp.sqrt(mp.pi / 2 - s * mp.mpf(10) ** -k) for k in range(1, 5) for s in (1, -1)]
            nodes = sorted([mp.mpf(0), end, *(c for c in [middle, *cuts] if c < end)])
            # the rounding of theta near the vertical is a rounding of time
            assert abs(mp.quad(slope, nodes) - mp.mpf(t)) < 2e-15


def test_cart_pole_keeps_energy_and_momentum():
    """Energy from cart and bob alone; the common centre keeps its x."""
    t = np.linspace(0.0, 10.0, 997)
    x, _, vx, _ = cart_pole_reference(t).T
    theta, rate = cart_pole_angle(t)
    bob = vx + np.cos(theta) * rate, np.sin(theta) * rate
    energy = 0.5 * (1e-6 * vx**2 + bob[0] ** 2 + bob[1] ** 2) - 9.81 * np.cos(theta)
    # speeds up to 4429 m/s of the massless cart cancel in the bob
    assert np.abs(energy).max() < 1e-9
    np.testing.assert_allclose(1e-6 * x + (x + np.sin(theta)), 1.0, atol=1e-14)


# four-bar with spring


def test_four_bar_spring_equilibrium_and_eigenvalues():
    """Published angle 2.23433101898 and eigenvalues, with and without the damper."""
    phi = equilibrium_angle()
    assert phi == pytest.approx(2.2343310190176, abs=5e-14)
    assert potential_slopes(phi)[1] == pytest.approx(7.687524905947, abs=5e-12)
    for damping, expected in ((0.0, 2.147676638502j), (1.0, -0.242385809311 + 2.133955028348j)):
        assert abs(small_eigenvalues(damping)[0] - expected) < 1e-12


def test_four_bar_spring_slopes():
    """V' and V'' are the derivatives of V, on both sides of upright."""
    phi, h = np.linspace(0.5, 3.0, 11), 1e-5

    def V(phi):
        return 2 * 9.81 * np.sin(phi) + 12.5 * (2 * np.cos(phi / 2) - np.sqrt(2)) ** 2

    first, second = potential_slopes(phi)
    # second order, rounding 1e-15 * 30 / 1e-5
    np.testing.assert_allclose((V(phi + h) - V(phi - h)) / (2 * h), first, atol=1e-8)
    other = (potential_slopes(phi + h)[0] - potential_slopes(phi - h)[0]) / (2 * h)
    np.testing.assert_allclose(other, second, atol=1e-8)


def test_four_bar_spring_energy():
    """Without damper the swing keeps 5/6 phi'^2 + V; with it the energy only falls."""
    t = np.linspace(0.0, 10.0, 301)
    for damping in (0.0, 1.0):
        x, y, vx, vy = four_bar_spring_reference(t, 2.0, damping).T
        np.testing.assert_allclose((x - 1) ** 2 + y**2, 1.0, rtol=1e-14)
        spring = 12.5 * (np.hypot(x, y) - np.sqrt(2)) ** 2
        energy = 5 / 6 * (vx**2 + vy**2) + 2 * 9.81 * y + spring
        # tolerance 1e-13 over five swings of 20 J
        if damping == 0.0:
            assert np.ptp(energy) < 1e-10
        else:
            assert np.all(np.diff(energy) < 1e-10)


# heavy top


@pytest.mark.slow
def test_heavy_top_by_mpmath():
    """A Taylor method with twenty digits on Euler's equations in body axes: the same centre to 1e-11."""

    def rates(_, y):
        # rows of the rotation matrix that matter: y-axis of the body in world directions, and spins
        R, w = y[:9], y[9:]
        I1, I3 = mp.mpf("15.234375"), mp.mpf("0.46875")
        # gravity in body directions: columns of R are the body's axes
        down = [-R[2], -R[5], -R[8]]
        force = [15 * mp.mpf(9.81) * d for d in down]
        # moment of (0, 1, 0) x force
        moment = [force[2], mp.mpf(0), -force[0]]
        spin = [
            (moment[0] + (I3 - I1) * w[1] * w[2]) / I1,
            moment[1] / I3,
            (moment[2] + (I1 - I3) * w[0] * w[1]) / I1,
        ]
        axes = [R[0:3], R[3:6], R[6:9]]
        # e_1' = w3 e_2 - w2 e_3, and so on
        turn = [
            [w[2] * axes[1][k] - w[1] * axes[2][k] for k in range(3)],
            [w[0] * axes[2][k] - w[2] * axes[0][k] for k in range(3)],
            [w[1] * axes[0][k] - w[0] * axes[1][k] for k in range(3)],
        ]
        return [x for axis in turn for x in axis] + spin

    with mp.workdps(22):
        start = [mp.mpf(x) for x in (1, 0, 0, 0, 1, 0, 0, 0, 1)]
        start += [mp.mpf(float(w)) for w in top.START_SPIN]
        # 150 rad/s: a fifth of a second are five turns
        y = mp.odefun(rates, 0, start, tol=mp.mpf(10) ** -16)(mp.mpf("0.2"))
        row = top_reference([0.2])[0]
        assert max(abs(mp.mpf(float(a)) - b) for a, b in zip(row[:3], y[3:6], strict=True)) < 1e-12


def test_heavy_top_integrals():
    """Energy, momentum about the vertical and the length of the axis are kept over 2 s."""
    t = np.linspace(0.0, 2.0, 101)
    rows = top_reference(t)
    n, v = rows[:, :3], rows[:, 3:]
    np.testing.assert_allclose(np.linalg.norm(n, axis=1), 1.0, rtol=1e-12)
    I1 = 15.234375
    energy = 0.5 * I1 * np.sum(v**2, axis=1) + 15 * 9.81 * n[:, 2]
    momentum = (I1 * np.cross(n, v) + 0.46875 * 150.0 * n)[:, 2]
    # requested: 1e-8 of the position; energies of 160 J
    assert np.ptp(energy) < 1e-9
    assert np.ptp(momentum) < 1e-10


@pytest.mark.slow
def test_heavy_top_tighter_steps(monkeypatch):
    """Steps of half the length give the same motion: 1e-8 is requested."""
    t = np.linspace(0.0, 1.0, 201)
    coarse = top_reference(t)
    monkeypatch.setattr(top, "LONGEST_STEP", top.LONGEST_STEP / 2)
    top._solve_axis.cache_clear()
    fine = top_reference(t)
    top._solve_axis.cache_clear()
    assert np.abs(coarse - fine).max() < 5e-12
