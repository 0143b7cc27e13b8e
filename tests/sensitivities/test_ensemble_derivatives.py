"""Derivatives of the runs of an ensemble."""

import numpy as np
import pytest

import sarrus
from derivative_cases import four_bars


def test_a_row_is_the_derivative_of_that_run_alone():
    """To the bit, for several quantities and parameters; masses that cannot be are rows of NaN with the reason."""
    speeds, masses = [(1.0, 0.0), (1.2, 0.0), (0.7, 0.0)], [1.0, -1.0, 2.5]
    vary = {"velocities.B0": speeds, "bodies.crank 1.mass": masses}
    ensemble = sarrus.Ensemble(four_bars(), vary)
    wrt = ["gravity.1", {"joints.B1.at.1": 1.0}]
    points, energies = ensemble.sensitivity(["B2", "kinetic energy"], wrt, 1.5, 0.25)
    for k, (point, energy) in enumerate(zip(points, energies, strict=True)):
        assert len(point) == 3
        assert np.isnan(point.values[1]).all()
        assert "mass" in point.validity[1].reason
        for i in (0, 2):
            alone = sarrus.simulate(ensemble.mechanism(i), 1.5, 0.25, dense=True)
            one, other = alone.sensitivity(["B2", "kinetic energy"], wrt[k])
            np.testing.assert_array_equal(point.values[i], one.position)
            np.testing.assert_array_equal(point.acceleration[i], one.acceleration)
            np.testing.assert_array_equal(energy.values[i], other.values)
            assert point.validity[i] == one.validity
    # a single rod's length has no derivative after the first crossing, a run's own
    assert points[0].validity[0]
    assert points[1].validity[0].until != points[1].validity[2].until


def test_what_has_other_times_in_every_run_is_rejected():
    """Crossing times, extremes and events belong to single runs."""
    ensemble = sarrus.Ensemble(four_bars(), {"bodies.crank 0.mass": [1.0, 2.0]})
    for quantity in ("crossing times", "largest B0.x", sarrus.when("B0.y", equals=0.5)):
        with pytest.raises(ValueError, match="one by one"):
            ensemble.sensitivity(quantity, "gravity.1", 1.0)
