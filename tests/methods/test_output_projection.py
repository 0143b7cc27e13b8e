"""Outputs on the constraints: alone or with neighbours, in new or in used memory."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sarrus
from linkages import driven_slider_crank
from sarrus.thresholds import LEFT_ROUND_OFF

TOLERANCES = (1e-12, 1e-10, 1e-6, 1e-3, 3e-2)


def simulated(name, tolerance, **options):
    """A run of a problem for three seconds."""
    return sarrus.simulate(
        sarrus.problems.get(name).mechanism(), 3.0, tolerance=tolerance, **options
    )


def states(result):
    """Configurations and velocities at the outputs, by time."""
    record = result.outcome.record
    return dict(zip(record.times.tolist(), np.hstack([record.q, record.v]).tolist(), strict=True))


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("name", ["double-four-bar", "rectangular-bricard", "four-bar-spring"])
def test_an_output_does_not_depend_on_its_neighbours(name, tolerance):
    """Single outputs are projected one by one, many in lanes: the bits are the same."""
    many = states(simulated(name, tolerance, output_step=0.01))
    times = [t for n, t in enumerate(many) if n % 37 == 0 or t == 3.0]
    few = states(simulated(name, tolerance, outputs=times))
    assert few == {t: many[t] for t in times}


def check_closed(result):
    """Positions to the rounding of a few terms, rates to that times the largest speed."""
    record = result.outcome.record
    # near a singular configuration the polynomial itself is recorded
    kept = record.kept == 0
    assert kept.mean() > 0.9
    equations = np.sqrt(result.model.equations)
    assert record.norms[kept, 0].max() <= LEFT_ROUND_OFF * equations
    assert record.norms[kept, 1].max() <= LEFT_ROUND_OFF * equations * np.abs(record.v).max()


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("name", ["double-four-bar", "rectangular-bricard"])
def test_outputs_satisfy_the_constraints_to_rounding(name, tolerance):
    """At loose tolerances too, where the polynomial of a step is far off the constraints."""
    check_closed(simulated(name, tolerance, output_step=0.01))


def test_outputs_of_other_steps_satisfy_them_too():
    """Where steps end depends on speeds; of steps that begin near a crossing the outputs are moved furthest."""
    for speed in np.random.default_rng(4).uniform(0.6, 1.4, 40):
        m = sarrus.problems.get("double-four-bar", speed=speed).mechanism()
        check_closed(sarrus.simulate(m, 3.0, tolerance=3e-2, output_step=0.01))


def test_used_memory_changes_nothing():
    """Runs take the work memory of earlier runs of their structure: in turn, and in several threads."""
    cases = [(name, t) for name in ("double-four-bar", "four-bar-spring") for t in (1e-10, 1e-3)]
    fresh = {case: states(simulated(*case)) for case in cases}
    again = cases[::-1] * 3
    assert all(states(simulated(*case)) == fresh[case] for case in again)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda case: states(simulated(*case)), again * 2))
    assert found == [fresh[case] for case in again * 2]


def test_the_initial_velocity_of_the_last_mechanism_is_not_that_of_another():
    """A mechanism run again with another velocity, or other masses, starts with its own velocity."""
    m = sarrus.problems.get("double-four-bar").mechanism()
    first = [sarrus.simulate(m, 0.1).outcome.record.v[0] for _ in range(4)]
    assert all((v == first[0]).all() for v in first)
    m.velocities = [(name, 2.0 * v) for name, v in m.velocities]
    twice = sarrus.simulate(m, 0.1).outcome.record.v[0]
    assert np.allclose(twice, 2.0 * first[0], rtol=1e-13, atol=0.0)


@pytest.mark.parametrize(
    "motion",
    [
        sarrus.Polynomial([0.0, 1.0, 0.2]),
        sarrus.Sine(0.3, 0.7),
        sarrus.Table([0.0, 0.5, 1.1, 2.0], [0.0, 0.2, 0.1, 0.6]),
    ],
    ids=lambda motion: type(motion).__name__,
)
def test_an_output_of_a_driven_run_does_not_depend_on_its_neighbours(motion):
    """The right-hand sides of drives in lanes have the same bits, also where a table changes its polynomial."""
    m = driven_slider_crank(motion)
    many = states(sarrus.simulate(m, 2.0, 0.01))
    times = [t for n, t in enumerate(many) if n % 10 == 0]
    assert states(sarrus.simulate(m, 2.0, outputs=times)) == {t: many[t] for t in times}
