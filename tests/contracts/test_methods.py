"""Every registered method obeys the interface, on three small mechanisms."""

import numpy as np
import pytest

from builders import bricard, n_four_bar, pendulum
from sarrus.assembly import solve_start_velocity
from sarrus.methods import METHODS, Run, Status
from sarrus.model import make_model

COUNTERS = {"steps", "rejected", "factorisations", "coefficients", "relaxed_steps"}
TIMINGS = {"solve_cpu", "solve_wall", "record_cpu"}
# 0.3 s is before the four-bar is flat; a step that does not divide the outputs
MECHANISMS = {
    "pendulum": pendulum,
    "four-bar": lambda: n_four_bar(1),
    "bricard": bricard,
}
DURATION, STEP, TOLERANCE = 0.3, 0.004, 1e-8

pytestmark = pytest.mark.parametrize("method", list(METHODS))


def run(method, mechanism, times=None, max_steps=100_000, dense=False):
    """Run a method as the front door does."""
    chosen = METHODS[method]
    model = make_model(mechanism)
    velocity, _ = solve_start_velocity(model, mechanism)
    wanted = np.linspace(0.0, DURATION, 31) if times is None else times
    setting = STEP if chosen.setting == "step" else TOLERANCE
    problem = Run(
        model, velocity, wanted, DURATION, setting, max_steps, chosen.options, dense=dense
    )
    return model, chosen.run(problem)


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_outcome_shapes_and_words(method, name):
    """Arrays fit each other, times are those requested, and what is done is finite."""
    model, outcome = run(method, MECHANISMS[name]())
    record = outcome.record
    n, nq = len(record.times), model.coordinates
    assert isinstance(outcome.status, Status)
    assert outcome.message
    assert record.q.shape == record.v.shape == record.a.shape == (n, nq)
    assert record.norms.shape == (n, 3)
    assert record.kinetic.shape == record.potential.shape == record.energy.shape == (n,)
    assert set(outcome.counters) >= COUNTERS
    assert all(isinstance(x, int) for x in outcome.counters.values())
    assert set(outcome.timings) >= TIMINGS
    assert np.array_equal(record.times, np.linspace(0.0, DURATION, 31)[:n])
    for column in (record.q, record.v, record.a, record.norms, record.energy):
        assert np.isfinite(column).all()
    # all of these motions are smooth for 0.3 s: no method has an excuse
    assert outcome.status == "done"
    assert n == 31
    assert len(outcome.steps.times) == len(outcome.steps.orders) == outcome.counters["steps"]
    assert outcome.steps.times[-1] == pytest.approx(DURATION, abs=1e-12)


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_start_is_the_given_state(method, name):
    """The first output is q = 0 and the given velocity, without violation."""
    mechanism = MECHANISMS[name]()
    model, outcome = run(method, mechanism)
    velocity, _ = solve_start_velocity(model, mechanism)
    record = outcome.record
    assert np.abs(record.q[0]).max() == 0.0
    # a projection of the start may round
    assert np.abs(record.v[0] - velocity).max() < 1e-13
    assert record.norms[0, 0] < 1e-14


@pytest.mark.slow
@pytest.mark.parametrize("name", list(MECHANISMS))
def test_same_bits_twice(method, name):
    """The same run gives the same bits, and outputs do not depend on the other outputs."""
    _, first = run(method, MECHANISMS[name]())
    _, second = run(method, MECHANISMS[name]())
    _, fewer = run(method, MECHANISMS[name](), times=np.linspace(0.0, DURATION, 31)[::10])
    for column in ("q", "v", "a", "norms", "energy"):
        assert np.array_equal(getattr(first.record, column), getattr(second.record, column))
        assert np.array_equal(getattr(first.record, column)[::10], getattr(fewer.record, column))


def test_energy_is_that_of_the_state(method):
    """The energy column is kinetic plus potential energy of the recorded state, but for what was put back."""
    model, outcome = run(method, n_four_bar(1))
    M = model.mass_matrix()
    expected = [
        0.5 * v @ (M @ v) - model.form.Q @ q
        for q, v in zip(outcome.record.q, outcome.record.v, strict=True)
    ]
    reported = outcome.record.energy + outcome.record.restored
    assert np.abs(reported - expected).max() < 1e-12


def test_too_few_steps_allowed(method):
    """A run that may not take its steps says so and keeps what it has."""
    _, outcome = run(method, n_four_bar(2), max_steps=1)
    assert outcome.status == "too-slow"
    assert "max_steps" in outcome.message
    assert 1 <= len(outcome.record) < 31
    assert outcome.counters["steps"] == 1
    assert np.isfinite(outcome.record.energy).all()


def test_unusual_models(method):
    """Outputs only at the end, and a body without constraints, are nothing special."""
    _, outcome = run(method, pendulum(), times=np.array([DURATION]))
    assert outcome.status == "done"
    assert outcome.record.times == [DURATION]


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_only_some_methods_project_their_outputs(method, name):
    """Outputs between steps meet the constraints to rounding where the method's row says so."""
    _, outcome = run(method, MECHANISMS[name](), times=np.linspace(0.0, DURATION, 41))
    norms = outcome.record.norms
    if METHODS[method].projects:
        # rounding, times velocities of a few links a second
        assert norms[:, 0].max() < 2e-15
        assert norms[:, 1].max() < 1e-14
    else:
        # interpolation shows: far above rounding for all of them
        assert norms[:, 1].max() > 1e-13


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_motion_gives_back_the_outputs(method, name):
    """The polynomials at the times of the outputs are the outputs, bit for bit, and between them the motion."""
    _, outcome = run(method, MECHANISMS[name](), dense=True)
    record, motion = outcome.record, outcome.motion
    again = motion.at(record.times)
    for column in ("q", "v", "a", "norms", "energy"):
        assert np.array_equal(getattr(again, column), getattr(record, column))
    # the velocity is the derivative of the position: differences over 2e-5 s, of second order
    times = np.array([0.1234 - 1e-5, 0.1234, 0.1234 + 1e-5])
    near = motion.at(times)
    slope = (near.q[2] - near.q[0]) / 2e-5
    assert np.abs(slope - near.v[1]).max() < 1e-4
    # no run keeps them unasked
    assert run(method, MECHANISMS[name]())[1].motion is None
    with pytest.raises(ValueError, match="after the end of the run"):
        motion.at(np.array([2 * DURATION]))


def test_every_method_is_watched_to_its_end(method):
    """The watch of a run reaches as far as its steps."""
    _, outcome = run(method, n_four_bar(1))
    assert outcome.watch.until == outcome.steps.times[-1]
    assert len(outcome.watch.candidates) == 0
