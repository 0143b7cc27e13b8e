"""Events and limits in ensembles: each run as `simulate` would do it."""

import numpy as np
import pytest

import sarrus
from sarrus import when


def test_a_bouncing_ensemble_is_its_single_runs():
    """Balls with other masses and gravity: the times of their bounces are those of single runs."""
    m = sarrus.Mechanism("ball")
    m.body("ball", 1.0, (0, 1), 0.1)
    m.prismatic("guide", m.ground, "ball", at=(0, 1), axis=(0, 1))
    m.limit("guide", lower=-1.0, restitution=0.5)
    ensemble = sarrus.Ensemble(m, {"gravity": np.array([[0.0, -9.81], [0.0, -1.62], [0.0, -3.7]])})
    low = when(travel="guide", equals=-0.5, name="half")
    runs = ensemble.simulate(2.0, 0.1, events=[low])
    for i, g in enumerate((9.81, 1.62, 3.7)):
        alone = sarrus.simulate(ensemble.mechanism(i), 2.0, 0.1, events=[low])
        assert [e.time for e in runs.events[i]] == [e.time for e in alone.events]
        assert runs.events[i][0].time == pytest.approx(np.sqrt(1.0 / g), abs=1e-10)
        assert np.array_equal(runs.position("guide")[i], alone.position("guide"))
    assert runs.fallback.all()
