"""Error bands from drawing tolerances: closed forms of a slider-crank and a four-bar, and their Monte Carlo."""

import numpy as np
import pytest

import sarrus
from linkages_to_optimise import four_bar

CRANK, ROD = 0.1, 0.35


def slider_crank(crank, rod):
    """A driven slider-crank by its lengths, crank upright at the start."""
    A = np.array([0.0 * crank, crank])
    B = np.array([np.sqrt(rod * rod - crank * crank), 0.0 * crank])
    m = sarrus.Mechanism("slider-crank", gravity=(0, 0))
    bars = m.rod("crank", (0, 0), A, mass=1.0), m.rod("rod", A, B, mass=1.0)
    piston = m.body("piston", mass=1.0, center=B, inertia=1e-3)
    m.revolute("O", m.ground, bars[0], at=(0, 0))
    m.revolute("A", *bars, at=A)
    m.revolute("B", bars[1], piston, at=B)
    m.prismatic("guide", m.ground, piston, at=B, axis=(1, 0))
    m.drive("motor", "O", sarrus.Polynomial((0, 1.0)))
    return m


@pytest.mark.slow
def test_slider_crank_in_closed_form_and_by_monte_carlo():
    """x = r cos a + (l^2 - r^2 sin^2 a)^(1/2): worst case, deviation, and an ensemble that confirms them."""
    tolerances = {"crank": (CRANK, 2e-4), "rod": (ROD, 3e-4)}
    band = sarrus.tolerances(
        slider_crank, tolerances, "B.x", 2 * np.pi, output_step=np.pi / 20, samples=600, seed=1
    )
    a = np.pi / 2 + band.times
    root = np.sqrt(ROD**2 - (CRANK * np.sin(a)) ** 2)
    by_crank = np.cos(a) - CRANK * np.sin(a) ** 2 / root
    by_rod = ROD / root
    np.testing.assert_allclose(band.contributions["crank"], by_crank * 2e-4, atol=1e-12)
    np.testing.assert_allclose(band.contributions["rod"], by_rod * 3e-4, atol=1e-12)
    np.testing.assert_allclose(band.worst, abs(by_crank) * 2e-4 + by_rod * 3e-4, atol=1e-12)
    expected = np.sqrt((by_crank * 2e-4) ** 2 + (by_rod * 3e-4) ** 2) / 3
    np.testing.assert_allclose(band.deviation, expected, atol=1e-12)
    assert band.runs == 600
    # the deviation of a sample of 600 deviates by 1 / sqrt(1200) = 3 %; four times that for 41 outputs
    assert band.agreement < 0.12


@pytest.mark.slow
def test_rocker_of_a_four_bar_by_places_and_lengths():
    """The angle of the rocker by the tolerance of its length, against the law of cosines; uniform distribution."""
    band = sarrus.tolerances(
        lambda r4: four_bar(4.0 + 0.0 * r4, 1.5 + 0.0 * r4, 3.5 + 0.0 * r4, r4, 2.0, 1.2), {"r4": (3.0, 1e-3)},
        "C.x", 2.0, output_step=0.1, distribution="uniform", samples=40,
    )  # fmt: skip

    def place(c):
        x, y = 1.5 * np.cos(np.pi / 6 + band.times) - 4.0, 1.5 * np.sin(np.pi / 6 + band.times)
        z = np.hypot(x, y)
        return 4.0 + c * np.cos(np.arctan2(y, x) - np.arccos((z**2 + c**2 - 3.5**2) / (2 * z * c)))

    h = 1e-5
    expected = (place(3.0 + h) - place(3.0 - h)) / (2 * h) * 1e-3
    # central differences leave 1e-9 of a derivative of 1
    np.testing.assert_allclose(band.contributions["r4"], expected, atol=1e-11)
    np.testing.assert_allclose(band.deviation, abs(expected) / np.sqrt(3), atol=1e-11)
    assert band.agreement < 0.5


@pytest.mark.slow
def test_two_runs_at_the_worst_ends():
    """Of a quantity of forces: runs with both dimensions at the ends of their tolerances have the worst error."""
    tolerances = {"crank": (CRANK, 1e-6), "rod": (ROD, 1e-6)}
    band = sarrus.tolerances(slider_crank, tolerances, "motor torque", 1.0, output_step=0.25)
    runs = [sarrus.simulate(slider_crank(CRANK, ROD), 1.0, 0.25)]
    for signs in ((1, 1), (1, -1)):
        runs.append(
            sarrus.simulate(slider_crank(CRANK + signs[0] * 1e-6, ROD + signs[1] * 1e-6), 1.0, 0.25)
        )
    nominal, *moved = (run.drive_force("motor") for run in runs)
    largest = np.max([abs(x - nominal) for x in moved], axis=0)
    # to second order in tolerances of 1e-5 of the lengths
    np.testing.assert_allclose(band.worst, largest, rtol=1e-3, atol=1e-9)


def test_wrong_arguments_are_named():
    """A tolerance without its value, a point instead of a coordinate, a distribution that does not exist."""
    with pytest.raises(ValueError, match="value, tolerance"):
        sarrus.tolerances(slider_crank, {"crank": 1e-4, "rod": (0.35, 1e-4)}, "B.x", 1.0)
    good = {"crank": (CRANK, 1e-4), "rod": (ROD, 1e-4)}
    with pytest.raises(ValueError, match=r"B\.x"):
        sarrus.tolerances(slider_crank, good, "B", 1.0)
    with pytest.raises(ValueError, match="uniform"):
        sarrus.tolerances(slider_crank, good, "B.x", 1.0, distribution="gauss")
