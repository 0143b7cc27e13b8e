"""Every registered method obeys the interface, on three small mechanisms."""

import numpy as np
import pytest

from builders import bricard, n_four_bar, pendulum
from sarrus.assembly import solve_start_velocity
from sarrus.methods import METHODS
from sarrus.model import make_model

STATUSES = {"done", "diverged", "not-converged", "too-slow", "skipped"}
COUNTERS = {"steps", "rejected", "factorisations", "coefficients", "loosened"}
TIMINGS = {"solve_cpu", "solve_wall", "record_cpu"}
# 0.3 s is before the four-bar is flat; a step that does not divide the outputs
MECHANISMS = {
    "pendulum": pendulum,
    "four-bar": lambda: n_four_bar(1),
    "bricard": bricard,
}
DURATION, STEP, TOLERANCE = 0.3, 0.004, 1e-8

pytestmark = pytest.mark.parametrize("method", list(METHODS))


def run(method, mechanism, times=None, max_steps=100_000, **options):
    """Run a method as the front door does."""
    chosen = METHODS[method]
    model = make_model(mechanism)
    velocity, _ = solve_start_velocity(model, mechanism)
    wanted = np.linspace(0.0, DURATION, 31) if times is None else times
    setting = STEP if chosen.setting == "step" else TOLERANCE
    return model, chosen.run(
        model, velocity, wanted, DURATION, setting, max_steps, **(chosen.options | options)
    )


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_outcome_shapes_and_words(method, name):
    """Arrays fit each other, times are those asked for, and what is done is finite."""
    model, outcome = run(method, MECHANISMS[name]())
    n, nq = len(outcome.times), model.coordinates
    assert outcome.status in STATUSES
    assert outcome.message
    assert outcome.q.shape == outcome.v.shape == outcome.a.shape == (n, nq)
    assert outcome.norms.shape == (n, 3)
    assert outcome.energy.shape == (n,)
    assert set(outcome.counters) >= COUNTERS
    assert all(isinstance(x, int) for x in outcome.counters.values())
    assert set(outcome.timings) >= TIMINGS
    assert np.array_equal(outcome.times, np.linspace(0.0, DURATION, 31)[:n])
    for column in (outcome.q, outcome.v, outcome.a, outcome.norms, outcome.energy):
        assert np.isfinite(column).all()
    # all of these motions are smooth for 0.3 s: no method has an excuse
    assert outcome.status == "done"
    assert n == 31
    assert len(outcome.step_times) == len(outcome.step_orders) == outcome.counters["steps"]
    assert outcome.step_times[-1] == pytest.approx(DURATION, abs=1e-12)


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_start_is_the_given_state(method, name):
    """The first output is q = 0 and the given velocity, without violation."""
    mechanism = MECHANISMS[name]()
    model, outcome = run(method, mechanism)
    velocity, _ = solve_start_velocity(model, mechanism)
    assert np.abs(outcome.q[0]).max() == 0.0
    # a projection of the start may round
    assert np.abs(outcome.v[0] - velocity).max() < 1e-13
    assert outcome.norms[0, 0] < 1e-14


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_same_bits_twice(method, name):
    """The same run gives the same bits, and outputs do not depend on the other outputs."""
    _, first = run(method, MECHANISMS[name]())
    _, second = run(method, MECHANISMS[name]())
    _, fewer = run(method, MECHANISMS[name](), times=np.linspace(0.0, DURATION, 31)[::10])
    for column in ("q", "v", "a", "norms", "energy"):
        assert np.array_equal(getattr(first, column), getattr(second, column))
        assert np.array_equal(getattr(first, column)[::10], getattr(fewer, column))


def test_energy_is_that_of_the_state(method):
    """The energy column is kinetic plus potential energy of the recorded state."""
    model, outcome = run(method, n_four_bar(1))
    M = model.mass_matrix()
    expected = [
        0.5 * v @ (M @ v) - model.form.Q @ q for q, v in zip(outcome.q, outcome.v, strict=True)
    ]
    assert np.abs(outcome.energy - expected).max() < 1e-12


def test_too_few_steps_allowed(method):
    """A run that may not take its steps says so and keeps what it has."""
    _, outcome = run(method, n_four_bar(2), max_steps=1)
    assert outcome.status == "too-slow"
    assert "max_steps" in outcome.message
    assert 1 <= len(outcome.times) < 31
    assert outcome.counters["steps"] == 1
    assert np.isfinite(outcome.energy).all()


def test_unusual_models(method):
    """Outputs only at the end, and a body without constraints, are nothing special."""
    _, outcome = run(method, pendulum(), times=np.array([DURATION]))
    assert outcome.status == "done"
    assert outcome.times == [DURATION]
