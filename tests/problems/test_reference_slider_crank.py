"""Quadrature of the spatial slider-crank against mechanics, another integrator and published rows."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sarrus.problems.references.spatial_slider_crank import (
    slider_crank_angle,
    slider_crank_energy,
    slider_crank_pose,
    slider_crank_reference,
)
from sarrus.problems.spatial_slider_crank import LITERAL, SLENDER

READINGS = pytest.mark.parametrize("inertia", [SLENDER, LITERAL], ids=["slender", "literal"])

# rows t, x of F. Gonzalez's submission to the IFToMM library, and t, x, angle of the first reference
# of the library (Masoudi)
GONZALEZ = np.array(
    [[0.5, 0.184952803], [1.0, 0.211754668], [2.5, 0.256509783], [5.0, 0.240761815]]
)
MASOUDI = np.array(
    [
        [0.317725753, 0.28425049, 2.974127058],
        [1.003344482, 0.234415945, 10.47168146],
        [2.006688963, 0.264900212, 20.1801119],
    ]
)


def test_start_of_the_source():
    """Slider and rod start with the velocities that the source prints, and with its energy."""
    x, x1, _, spins = slider_crank_pose(0.0)
    assert (x, 6.0 * x1) == (pytest.approx(0.2, rel=1e-15), pytest.approx(0.24, rel=1e-14))
    # |(1.92, -0.96, 0.48)| rad/s
    assert 6.0 * np.linalg.norm(spins) == pytest.approx(np.sqrt(4.8384), rel=1e-14)
    M, V = slider_crank_energy(0.0, SLENDER)
    # Latussek, Kinon, Betsch 2026
    energy = 18.0 * M + V
    assert energy == pytest.approx(0.76643568, abs=5e-9)


def test_published_rows_tell_the_readings_apart():
    """Each reading meets its submission within the error found for it, the other one does not."""
    x = slider_crank_reference(GONZALEZ[:, 0], SLENDER)[:, 0]
    assert np.abs(x - GONZALEZ[:, 1]).max() < 7.5e-5
    x = slider_crank_reference(MASOUDI[:, 0], LITERAL)[:, 0]
    assert np.abs(x - MASOUDI[:, 1]).max() < 2.3e-6
    assert np.abs(slider_crank_angle(MASOUDI[:, 0], LITERAL)[0] - MASOUDI[:, 2]).max() < 5.5e-5
    assert np.abs(slider_crank_reference(MASOUDI[:, 0], SLENDER)[:, 0] - MASOUDI[:, 1]).max() > 1e-3


@pytest.mark.parametrize(("inertia", "expected"), [(LITERAL, 0.236362827), (SLENDER, 0.211721768)])
def test_atlas_value_at_one_second(inertia, expected):
    """The values of the atlas, to the accuracy of the integration after them."""
    # quadrature, a Runge-Kutta method and the simulator agree on 0.236362856 and 0.211721661
    assert slider_crank_reference([1.0], inertia)[0, 0] == pytest.approx(expected, abs=1.2e-7)


@pytest.mark.slow
@READINGS
def test_other_integrator(inertia):
    """phi'' of Lagrange's equation by a Runge-Kutta method: the same angle after 5 s."""
    h = 1e-3
    offsets = h * np.array([-4, -3, -2, -1, 1, 2, 3, 4])
    weights = np.array([3, -32, 168, -672, 672, -168, 32, -3]) / 840.0 / h

    def rates(_, y):
        M, V = slider_crank_energy(y[0] + offsets, inertia)
        slope = weights @ V + 0.5 * weights @ M * y[1] ** 2
        return [y[1], -slope / float(slider_crank_energy(y[0], inertia)[0])]

    done = solve_ivp(rates, (0, 5), [0.0, 6.0], "DOP853", [5.0], rtol=1e-9, atol=1e-9)
    phi, rate = slider_crank_angle([5.0], inertia)
    # global errors of some hundred tolerances
    assert abs(done.y[0, -1] - phi[0]) < 1e-6
    assert abs(done.y[1, -1] - rate[0]) < 1e-5


@READINGS
def test_kinetic_energy_of_rigid_bodies(inertia):
    """M(phi) equals twice the kinetic energy of bodies that are moved by a small angle."""
    h, phi = 1e-5, np.linspace(0.0, 6.0, 9)

    def frame(angle):
        x, _, B, _ = slider_crank_pose(angle)
        r = (B - np.stack([x, 0 * x, 0 * x], axis=-1)) / 0.3
        n = np.cross([1.0, 0.0, 0.0], r)
        n /= np.linalg.norm(n, axis=-1)[:, None]
        return x, B, np.stack([r, n, np.cross(r, n)], axis=-2)

    x0, B0, R0 = frame(phi - h)
    x1, B1, R1 = frame(phi + h)
    # rows of R are the axes: R1^T R0 turns the earlier ones into the later
    spin = np.einsum("nij,njk->nik", np.swapaxes(R1, 1, 2), R0) / (2 * h)
    turn = 0.5 * np.stack(
        [
            spin[:, 2, 1] - spin[:, 1, 2],
            spin[:, 0, 2] - spin[:, 2, 0],
            spin[:, 1, 0] - spin[:, 0, 1],
        ],
        -1,
    )
    own = np.einsum("nij,nj->ni", 0.5 * (R0 + R1), turn)
    center = 0.5 * (B1 - B0 + np.stack([x1 - x0, 0 * x0, 0 * x0], axis=-1)) / (2 * h)
    twice = 1e-4 + 0.12 * 0.04**2 + 0.5 * np.sum(center**2, axis=-1) + own**2 @ np.array(inertia)
    twice += 2.0 * ((x1 - x0) / (2 * h)) ** 2
    # differences of second order, rounding 1e-11
    np.testing.assert_allclose(twice, slider_crank_energy(phi, inertia)[0], rtol=1e-8)


def test_turns_repeat():
    """Every turn of the crank takes the same time; the angle goes on counting."""
    phi, rate = slider_crank_angle(np.linspace(-1.0, 5.0, 601), SLENDER)
    assert np.all(np.diff(phi) > 0.0)
    assert np.all(rate > 5.0)
