"""Outputs and ends of runs that fall on or near a flat configuration."""

import numpy as np
import pytest

from sarrus import problems, simulate
from sarrus.problems.references.n_four_bar import flat_times, four_bar_reference

# together they take several seconds
pytestmark = pytest.mark.slow

DISTANCES = [0.0, 1e-10, -1e-9, 1e-8, -1e-7, 1e-6, -1e-5, 1e-4, -1e-3]


def exact_acceleration(reference, windows):
    """B0'' from theta'' = k sin theta and the exact state."""
    k = 9.81 * ((windows + 1) / 2 + windows) / ((windows + 1) / 3 + windows)
    x, y, vx, vy = reference
    rate2 = vx**2 + vy**2
    return np.array([k * x * y - rate2 * x, -k * x * x - rate2 * y])


@pytest.mark.parametrize("windows", [2, 40])
@pytest.mark.parametrize("distance", DISTANCES)
def test_an_output_near_a_crossing_is_as_good_as_any(windows, distance):
    """Position, velocity and acceleration at an output at or near a flat configuration."""
    problem = problems.get("n-four-bar", windows=windows)
    for crossing in flat_times(windows, 6.0)[1:4]:
        time = crossing + distance
        result = simulate(problem.mechanism(), 2 * time, time)
        assert result.status == "done"
        expected = four_bar_reference(result.times, windows)[1]
        # required of every run: 2e-5; the runs are good to some 1e-8 with speeds of 7 m/s
        assert np.abs(result.position("B0")[1] - expected[:2]).max() < 1e-7
        assert np.abs(result.velocity("B0")[1] - expected[2:]).max() < 1e-6
        # accelerations of 45 m/s^2, and a pivot of 1e-4 where projections begin: two digits fewer
        wanted = exact_acceleration(expected, windows)
        assert np.abs(result.acceleration("B0")[1] - wanted).max() < 1e-4


@pytest.mark.parametrize("windows", [2, 40])
@pytest.mark.parametrize("distance", DISTANCES)
def test_a_run_that_ends_near_a_crossing_is_as_good_as_any(windows, distance):
    """The last step may end at or near a flat configuration."""
    problem = problems.get("n-four-bar", windows=windows)
    for crossing in flat_times(windows, 20.0)[[0, 1, 9]]:
        end = crossing + distance
        result = simulate(problem.mechanism(), end, end)
        assert result.status == "done"
        expected = four_bar_reference(result.times, windows)[-1]
        assert np.abs(result.position("B0")[-1] - expected[:2]).max() < 1e-6
        assert np.abs(result.velocity("B0")[-1] - expected[2:]).max() < 1e-5
        assert result.energy_drift < 1e-4
