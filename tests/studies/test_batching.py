"""Runs of a batch equal single runs, whatever the batch."""

import numpy as np
import pytest

import sarrus
from linkages import driven_slider_crank
from sarrus.studies import runs
from sarrus.studies.batching import prepare_batch_runner
from sarrus.studies.sampling import draw_samples
from sarrus.studies.study_reader import make_study

MASSES = {f"bodies.crank {i}.mass": {"uniform": [0.5, 2.0]} for i in range(3)}


def make_plan(**keys):
    study = {
        "problem": "double-four-bar",
        "vary": MASSES,
        "samples": 30,
        "seed": 7,
        "simulate": {"duration": 2, "output_step": 0.1},
        "record": ["energy_drift", {"maximum": "B0.x"}, {"final": "B1.y"}, "steps"],
    }
    if "mechanism" in keys:
        del study["problem"]
    study = make_study({k: x for k, x in (study | keys).items() if x is not None})
    samples = draw_samples(study)
    return study.plan, [samples.row(study.plan.columns, i) for i in range(30)]


@pytest.mark.slow
def test_rows_are_those_of_single_runs():
    """Same columns in the same order, same words, numbers within the tolerance."""
    plan, values = make_plan()
    together = runs.run_together(plan, list(range(30)), values)
    assert len(together) == 30
    for i in (0, 11, 29):
        one, _ = runs.run_one(plan, i, values[i])
        assert list(one) == list(together[i])
        for name, x in one.items():
            if name == "steps":
                assert abs(together[i][name] - x) <= 3
            elif isinstance(x, float):
                assert abs(together[i][name] - x) < 1e-7
            else:
                assert together[i][name] == x


@pytest.mark.slow
def test_dampers_and_drives():
    """A damper's constant and the amplitude of a motor: as one by one."""
    m = driven_slider_crank(sarrus.Sine(1.0, 0.8))
    m.spring("buffer", m.ground, "slider", start=(3, 0), end=(1.5, 0), stiffness=50.0, damping=5.0)
    plan, values = make_plan(
        problem=None,
        mechanism=m,
        vary={
            "springs.buffer.damping": {"uniform": [1.0, 9.0]},
            "drives.d.sine.amplitude": {"uniform": [0.5, 2.0]},
        },
        record=["energy_drift", {"maximum": "C.x"}, {"final": "B.y"}],
    )
    together = runs.run_together(plan, list(range(30)), values)
    assert len(together) == 30
    for i in (0, 17):
        one, _ = runs.run_one(plan, i, values[i])
        for name, x in one.items():
            if isinstance(x, float):
                # the crank is driven: nothing multiplies rounding; energies of some 10 J
                assert abs(together[i][name] - x) < 1e-8
            else:
                assert together[i][name] == x


def test_a_row_does_not_depend_on_its_batch():
    """The same bits, in whatever batch and lane."""
    plan, values = make_plan()
    everything = runs.run_together(plan, list(range(30)), values)
    some = runs.run_together(plan, [3, 17, 20], [values[i] for i in (3, 17, 20)])
    assert all(row == everything[i] for i, row in some.items())


@pytest.mark.parametrize(
    "keys",
    [
        {"record": ["energy_drift", "mobility"]},
        {"record": ["crossings", "crossing_times"]},
        {"record": [{"maximum": "B0.vx"}]},
        {"record": [{"final": "B0.vx"}]},
        {"simulate": {"duration": 2, "method": "radau"}},
        {"simulate": {"duration": 2, "tolerance": 1e-13}},
        {"vary": {"bodies.coupler 0.length": {"uniform": [0.9, 1.1]}}},
        {"time_limit": 100},
    ],
    ids=lambda keys: next(iter(keys)),
)
def test_others_are_left(keys):
    """What lanes cannot find is run one by one."""
    plan, _ = make_plan(**keys)
    assert prepare_batch_runner(plan) is None


def test_masses_that_cannot_be_are_left():
    """A negative mass is reported by the run that has it."""
    plan, values = make_plan()
    values = [list(row) for row in values]
    values[4][0] = -1.0
    together = runs.run_together(plan, list(range(30)), values)
    assert sorted(together) == [i for i in range(30) if i != 4]
    row, _ = runs.run_one(plan, 4, values[4])
    assert row["status"] == "rejected"


def test_batches_use_it():
    """What a worker returns has the rows of all runs in their order."""
    import cloudpickle

    plan, values = make_plan()
    outcome = runs.run_batch(cloudpickle.dumps(plan), plan.digest, list(range(30)), values)
    assert [row["run"] for row in outcome.rows] == list(range(30))
    assert np.isfinite([row["maximum B0.x"] for row in outcome.rows]).all()


def test_batches_of_which_nothing_is_for_lanes():
    """All of them rejected, whatever starts them, or of too many steps: left to single runs."""
    spun = sarrus.problems.get("double-four-bar").mechanism()
    spun.velocities = []
    spun.set_angular_velocity("crank 0", 1.0)
    few_steps = {"simulate": {"duration": 2, "output_step": 0.1, "max_steps": 2}}
    for keys, factor in (({}, -1.0), ({"mechanism": spun}, -1.0), (few_steps, 1.0)):
        plan, values = make_plan(**keys)
        assert prepare_batch_runner(plan) is not None
        changed = [[factor * x for x in row] for row in values[:2]]
        assert runs.run_together(plan, [0, 1], changed) == {}
