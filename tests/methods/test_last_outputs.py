"""The last outputs of a run that ends early are kept only as long as their energy is right."""

from dataclasses import replace

import numpy as np
import pytest

from builders import n_four_bar, pendulum
from sarrus import simulate
from sarrus.methods import Run
from sarrus.methods.energy_balance import Judge
from sarrus.methods.recorder import Recorder
from sarrus.methods.status import Ending, Status

TOLERANCE = 1e-8


def ended_early(result, wrong):
    """Recorder and judge of a run whose last outputs have velocities that are off by shares."""
    model, times = result.model, result.times
    problem = Run(model, result.rates[0], times, float(times[-1]), TOLERANCE)
    recorder = Recorder(problem)
    judge = Judge(problem, recorder.loads)
    v = result.rates.copy()
    v[len(v) - len(wrong) :] *= 1.0 + np.array(wrong)[:, None]
    recorder._record = replace(result.record, v=v)
    recorder._done = len(times)
    return recorder, judge


@pytest.mark.parametrize("make", [pendulum, lambda: n_four_bar(1)], ids=["pendulum", "four-bar"])
@pytest.mark.parametrize(
    ("wrong", "dropped"),
    [((), 0), ((1e-3,), 1), ((0.0, 1e-3, 1e-3), 2), ((1e-3, 0.0), 0), ((1e-10, 1e-9), 0)],
)
def test_outputs_off_in_energy_are_dropped(make, wrong, dropped):
    """Trailing outputs whose energy is off by over a hundred tolerances go; one before right ones stays."""
    result = simulate(make(), 1.0, 0.1, tolerance=TOLERANCE)
    recorder, judge = ended_early(result, wrong)
    end = recorder.cut(Ending(Status.NOT_CONVERGED, "stopped"), judge, TOLERANCE)
    assert end.status is Status.NOT_CONVERGED
    assert len(recorder.record(None)) == 11 - dropped


def test_steps_of_a_users_choice_keep_their_outputs():
    """A textbook method drifts by its nature: nothing of it is dropped."""
    result = simulate(pendulum(), 1.0, 0.1)
    recorder, judge = ended_early(result, (1e-3,))
    recorder.cut(Ending(Status.NOT_CONVERGED, "stopped"), judge, None)
    assert len(recorder.record(None)) == 11
