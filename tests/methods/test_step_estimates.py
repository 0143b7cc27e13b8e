"""Methods with a fixed step estimate their error by a second run with twice the step."""

import numpy as np
import pytest

from builders import n_four_bar, pendulum
from crossing_families import any_four_bar
from sarrus import simulate

# the order of all of them is two or more, so the estimate is right or too large: of the fourth by 15 / 3, and
# by more where twice the step is too long for it
METHODS = {
    "energy-momentum": 2,
    "ali3": 2,
    "generalized-alpha": 2,
    "multipliers": 4,
    "null-space": 4,
}


@pytest.mark.parametrize("method", METHODS)
def test_estimates_of_fixed_steps(method):
    """The largest error of random four-bars and a pendulum is what the note and the estimate say."""
    cases = [any_four_bar(np.random.default_rng(k)) for k in range(3)] + [pendulum(1.5)]
    for m in cases:
        result = simulate(m, 2.0, 0.1, method=method, step=0.005)
        exact = simulate(m, 2.0, 0.1)
        assert result.status == "done"
        scale = result.model.units.length
        error = np.abs(result.coordinates - exact.coordinates).max(axis=1) * scale
        estimate = result.error_estimate
        largest = 3.0 if METHODS[method] == 2 else 60.0
        assert 0.4 * error.max() < estimate.max() < largest * error.max() + 1e-8
        # at no output much too small, although the error swings
        assert np.all(estimate > 0.2 * error - 1e-9)
        assert any(f"{estimate.max():.1e} m at the outputs" in note for note in result.notes)


def test_a_coarse_step_is_reported():
    """A step that leaves centimetres says so, with status done; a tolerance has no estimate unless requested."""
    result = simulate(n_four_bar(1), 5.0, 0.1, method="energy-momentum", step=0.02)
    assert result.status == "done"
    assert result.error_estimate.max() > 5e-3
    assert any("global error" in note and "step 0.04" in note for note in result.notes)
    assert simulate(n_four_bar(1), 0.5).error_estimate is None
