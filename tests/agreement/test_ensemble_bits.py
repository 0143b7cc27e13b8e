"""A row of an ensemble on the host is the run of `simulate`, in every bit: both are one text."""

import numpy as np
import pytest

import sarrus

pytestmark = pytest.mark.usefixtures("few_runs_pay")
RUNS = 20


def problem(name):
    return sarrus.problems.get(name).mechanism()


def spread(rng, value):
    """Values about one."""
    return value * rng.uniform(0.8, 1.2, RUNS)


def of_masses(rng):
    m = problem("double-four-bar")
    return m, {f"bodies.crank {k}.mass": rng.uniform(1.0, 2.0, RUNS) for k in range(3)}, 6.0


def of_springs(rng):
    m = problem("four-bar-spring")
    s = m.springs[0]
    return m, {f"springs.{s.name}.stiffness": spread(rng, s.stiffness)}, 2.0


def of_dampers(rng):
    m = problem("four-bar-spring")
    return m, {f"springs.{m.springs[0].name}.damping": rng.uniform(0.01, 0.5, RUNS)}, 2.0


def of_drives(rng):
    m = problem("double-four-bar")
    joint = m.joints[0]
    m.velocities = []
    m.drive("motor", joint, sarrus.Sine(0.3, 1.0, 0.0, 0.0))
    return m, {"drives.motor.sine.amplitude": rng.uniform(0.2, 0.6, RUNS)}, 2.0


def in_space(rng):
    m = problem("spatial-slider-crank")
    b = m.bodies[0]
    return m, {f"bodies.{b.name}.mass": spread(rng, b.mass)}, 1.0


def redundant(rng):
    m = problem("rectangular-bricard")
    b = m.bodies[0]
    return m, {f"bodies.{b.name}.mass": spread(rng, b.mass)}, 3.0


KINDS = [of_masses, of_springs, of_dampers, of_drives, in_space, redundant]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
@pytest.mark.parametrize("tolerance", [1e-10, 1e-5, 3e-2])
def test_rows_have_the_bits_of_simulate(kind, tolerance):
    """Places, velocities, energies and counters, of masses, springs, dampers, drives, in space, redundant."""
    m, vary, duration = kind(np.random.default_rng(7))
    ensemble = sarrus.Ensemble(m, vary)
    runs = ensemble.simulate(duration, tolerance=tolerance)
    rows = np.flatnonzero(~runs.fallback)
    assert len(rows) >= RUNS // 2
    for i in rows[::3].tolist():
        one = sarrus.simulate(ensemble.mechanism(i), duration, tolerance=tolerance)
        for name in runs.points:
            assert np.array_equal(runs.position(name)[i], one.position(name))
            assert np.array_equal(runs.velocity(name)[i], one.velocity(name))
        assert np.array_equal(runs.energy_balance[i], one.energy_balance)
        assert runs.counters["steps"][i] == one.counters["steps"]
        assert runs.counters["coefficients"][i] == one.counters["coefficients"]


def test_a_row_does_not_depend_on_its_neighbours():
    """Runs in another order share lanes with others: memory that is wrongly free of masks would show."""
    m, vary, duration = of_masses(np.random.default_rng(8))
    order = np.random.default_rng(9).permutation(RUNS)
    some = sarrus.Ensemble(m, vary).simulate(duration, 0.05)
    mixed = sarrus.Ensemble(m, {k: x[order] for k, x in vary.items()}).simulate(duration, 0.05)
    for name in ("values", "balance", "final", "least", "largest", "energy_drift"):
        assert np.array_equal(getattr(some, name)[order], getattr(mixed, name))
