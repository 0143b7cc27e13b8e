"""One configuration, one row: records, failures with their status and sentence, keys, trajectories."""

import threading

import cloudpickle
import numpy as np
import pytest
from test_changes import crank_rocker

from sarrus import problems, simulate
from sarrus.studies.records import extreme
from sarrus.studies.runs import run_batch, run_key, run_one
from sarrus.studies.sampling import draw_samples
from sarrus.studies.study_reader import make_study


def run_study(**keys):
    """All rows of a small study, in this process."""
    study = make_study(keys)
    drawn = draw_samples(study)
    return [run_one(study.plan, i, drawn.row(study.plan.columns, i)) for i in range(drawn.runs)]


def rows_of(**keys):
    return [row for row, _ in run_study(**keys)]


@pytest.mark.slow
def test_records_are_those_of_a_single_simulation():
    """Everything that is built in, against the result of `simulate`."""
    record = [
        "energy_drift",
        "violation",
        "time_reached",
        "steps",
        "crossings",
        "crossing_times",
        {"final": "B0.vx"},
        {"maximum": "B0.x"},
        {"minimum": "energy"},
        {"reaction_max": "A0"},
        "mobility",
        "verdict",
    ]
    (row,) = rows_of(
        problem="double-four-bar", vary={"speed": [1.0]}, simulate={"duration": 3}, record=record
    )
    result = simulate(problems.get("double-four-bar").mechanism(), 3)
    assert row["status"] == "done"
    assert row["energy_drift"] == result.energy_drift
    assert row["violation"] == result.violation().max()
    assert row["time_reached"] == 3.0
    assert row["steps"] == result.counters["steps"]
    assert row["crossing_times"] == [c.time for c in result.crossings]
    assert row["crossings"] == len(result.crossings) > 0
    assert row["final B0.vx"] == result.velocity("B0")[-1, 0]
    assert row["minimum energy"] == result.energy_balance.min()
    assert row["mobility"] == 1
    assert "crossing" not in row["verdict"]
    # the crank of 1 m turns through the horizontal: its tip is 1 m away, which no output hits
    assert row["maximum B0.x"] == pytest.approx(1.0, abs=1e-8)
    # it grows without bound at the crossing, so that the largest output would be meaningless
    assert row["reaction_max A0"] is None
    (row,) = rows_of(
        problem="double-four-bar",
        vary={"speed": [1.0]},
        simulate={"duration": 0.5},
        record=[{"reaction_max": "A0"}],
    )
    before = simulate(problems.get("double-four-bar").mechanism(), 0.5)
    forces = np.linalg.norm(before.reaction("A0").force, axis=1)
    assert row["reaction_max A0"] == forces.max()
    assert result.position("B0")[:, 0].max() < 1.0 - 1e-8


def test_extremes_between_outputs():
    """A cubic exactly, in spite of two outputs only; a sine to the fourth order of the step."""
    cubic = np.poly([0.25, 0.75, 2.0])
    t = np.array([0.0, 1.0])
    low, high = extreme(t, np.polyval(cubic, t), np.polyval(np.polyder(cubic), t))
    assert low == np.polyval(cubic, 0.0)
    assert high == pytest.approx(np.polyval(cubic, np.roots(np.polyder(cubic)).min()), rel=1e-14)
    errors = []
    for n in (20, 40):
        t = np.linspace(0.1, 6.0, n)
        low, high = extreme(t, np.sin(t), np.cos(t))
        errors.append(max(abs(low + 1), abs(high - 1)))
    # h^4/384 of the cubic, by 16 from one to the other, however the outputs lie
    assert errors[0] < 0.31**4 / 384 * 1.1
    assert errors[1] < 0.16**4 / 384 * 1.1


def tilted(record=("misfit",), **keys):
    vary = {"joints.P2.axis": {"tilt": ["0 deg", "1 deg"], "about": [0, 1, 0]}}
    return rows_of(problem="rectangular-bricard", vary=vary, record=list(record), **keys)


@pytest.mark.slow
def test_a_locked_run_is_a_row_with_its_verdict():
    """Status, sentence, and what needs no motion is recorded all the same."""
    record = ("misfit", "verdict", "energy_drift", {"reach": "0.1 mm"})
    moving, locked = tilted(record, simulate={"duration": 0.1})
    assert moving["status"] == "done"
    assert moving["misfit"] == 0.0
    assert locked["status"] == "locked"
    assert "no motion keeps all joints closed" in locked["message"]
    assert locked["misfit"] > 1e-5
    assert 0 < locked["reach 0.1 mm"] < 2
    assert "energy_drift" not in locked


@pytest.mark.slow
def test_verdicts_without_a_simulation():
    """simulate: false inspects only."""
    assert [row["status"] for row in tilted(simulate=False)] == ["done", "done"]


@pytest.mark.slow
def test_what_cannot_be_assembled_or_checked():
    """Lengths that no loop closes, masses that no body has."""
    keys = {"mechanism": crank_rocker(), "simulate": {"duration": 0.1}, "record": ["verdict"]}
    good, far = rows_of(**keys, vary={"bodies.crank.length": ["0.55 m", "20 m"]})
    assert good["status"] == "done"
    assert far["status"] == "cannot-assemble"
    assert "cannot be closed" in far["message"]
    (wrong,) = rows_of(**keys, vary={"bodies.crank.mass": [-1]})
    assert wrong["status"] == "rejected"
    assert "mass -1" in wrong["message"]
    assert not wrong["notes"]
    keys["simulate"] = False
    (wrong,) = rows_of(**keys, vary={"bodies.crank.mass": [-1]})
    assert wrong["status"] == "rejected"


def test_a_run_that_stops_early_keeps_what_is_good():
    """Too few steps: status and sentence of the result, records of what there is."""
    settings = {"duration": 10, "max_steps": 20}
    (row,) = rows_of(
        problem="double-four-bar", vary={"speed": [1]}, simulate=settings, record=["time_reached"]
    )
    assert row["status"] == "too-slow"
    assert "20 steps" in row["message"]
    assert 0 < row["time_reached"] < 10


def failing(result, mechanism):
    raise RuntimeError("no such thing")


def hungry(result, mechanism):
    raise MemoryError


def leaving(result, mechanism):
    raise SystemExit(3)


def two(result, mechanism):
    return {"bodies": len(mechanism.bodies), "outputs": len(result.times)}


@pytest.mark.parametrize(
    ("function", "status", "words"),
    [
        (failing, "record-failed", "RuntimeError: no such thing"),
        (hungry, "out-of-memory", "MemoryError"),
        (leaving, "record-failed", "SystemExit: 3"),
        (lambda result, mechanism: "text", "record-failed", "give a number"),
        (two, "record-failed", "its columns are two"),
    ],
)
def test_functions_that_fail(function, status, words):
    """The sentence names the record and the reason; what other records say is kept."""
    record = {"steps": "steps", "two" if function is two else "mine": function}
    (row,) = rows_of(
        problem="double-four-bar", vary={"speed": [1]}, simulate={"duration": 0.1}, record=record
    )
    assert row["status"] == status
    assert words in row["message"]
    assert row["steps"] > 0


def test_functions_with_several_columns():
    """A mapping becomes columns."""
    record = [{"function": two, "columns": ["bodies", "outputs"]}]
    settings = {"duration": 0.1, "output_step": 0.01}
    (row,) = rows_of(
        problem="double-four-bar", vary={"speed": [1]}, simulate=settings, record=record
    )
    assert (row["bodies"], row["outputs"]) == (5, 11)


def test_trajectories():
    """Time, places, velocities and energy at every output, with the number of the run."""
    found = run_study(
        problem="double-four-bar",
        vary={"speed": [1, 2]},
        simulate={"duration": 1, "output_step": 0.1},
        trajectory={"points": ["B0"]},
    )
    columns = found[1][1]
    assert list(columns) == ["run", "t", "B0.x", "B0.y", "B0.vx", "B0.vy", "energy drift"]
    assert columns["run"].tolist() == [1] * 11
    assert columns["B0.vx"][0] == pytest.approx(2.0)


def test_keys_follow_the_configuration():
    """The same configuration has the same key in another study; any change another one."""
    keys = {"problem": "double-four-bar", "simulate": {"duration": 1}}
    one = make_study({**keys, "vary": {"speed": [1, 2]}})
    two_ = make_study({**keys, "vary": {"speed": [2, 3, 4]}})
    other = make_study({**keys, "vary": {"speed": [2]}, "simulate": {"duration": 2}})
    assert run_key(one.plan, [2.0]) == run_key(two_.plan, [2.0])
    assert run_key(one.plan, [2.0]) != run_key(one.plan, [1.0])
    assert run_key(one.plan, [2.0]) != run_key(other.plan, [2.0])


# ends the run that is stuck, after the test
OVER = threading.Event()


def slow(result, mechanism):
    if mechanism.velocities[0][1][0] > 1.5:
        # long enough to be seen as stuck, not for ever
        assert OVER.wait(600)
    return 0


@pytest.mark.slow
def test_the_time_limit_ends_a_run():
    """The run before is kept, the one that is stuck has its row, the one behind is handed back."""
    study = make_study(
        {
            "problem": "double-four-bar",
            "vary": {"speed": [1, 2, 1]},
            "simulate": {"duration": 0.1},
            "record": [slow],
            # milliseconds are needed
            "time_limit": 10,
        }
    )
    values = [draw_samples(study).row(study.plan.columns, i) for i in range(3)]
    try:
        outcome = run_batch(cloudpickle.dumps(study.plan), study.plan.digest, [0, 1, 2], values)
    finally:
        OVER.set()
    assert [row["status"] for row in outcome.rows] == ["done", "time-limit"]
    assert "10 s" in outcome.rows[1]["message"]
    assert outcome.left == [2]


class _SilentError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class _Odd(BaseException):
    pass


@pytest.mark.parametrize("limit", [None, 60])
@pytest.mark.parametrize(
    ("raised", "why"),
    [
        (_Odd("odd"), "_Odd: odd"),
        (GeneratorExit("gone"), "GeneratorExit: gone"),
        (KeyboardInterrupt(), "KeyboardInterrupt: "),
        (SystemExit(3), "SystemExit: 3"),
        (_SilentError(), "_SilentError: (its text cannot be read: RuntimeError)"),
        (RuntimeError("half \ud800 a letter"), "RuntimeError: half ? a letter"),
        (ValueError("x" * 10_000), "ValueError: xxx"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_a_record_raises_is_its_row(raised, why, limit):
    """Also what is no Exception or has no text; with a time limit, too; the next run is run."""

    def harm(result, mechanism):
        if mechanism.velocities[0][1][0] < 1.5:
            raise raised
        return 1.0

    keys = {} if limit is None else {"time_limit": limit}
    study = make_study(
        {
            "problem": "double-four-bar",
            "vary": {"speed": [1.0, 2.0]},
            "simulate": {"duration": 0.1},
            "record": {"mine": harm},
            **keys,
        }
    )
    drawn = draw_samples(study)
    values = [drawn.row(study.plan.columns, i) for i in range(2)]
    payload = cloudpickle.dumps(study.plan)
    found = run_batch(payload, f"{why} {limit}", [0, 1], values)
    assert not found.left
    assert [row["status"] for row in found.rows] == ["record-failed", "done"]
    assert why in found.rows[0]["message"]
    assert len(found.rows[0]["message"]) <= 2000
    # what goes into files
    found.rows[0]["message"].encode()
