"""The benchmark of engines: processes that die or hang are rows, luck is reported from dependability."""

import sys

import pytest
from typer.testing import CliRunner

from sarrus import problems
from sarrus.bench.engine_suite import (
    CHANGES,
    EngineCell,
    EngineProcess,
    _count_slow,
    run_engine_cells,
)
from sarrus.cli import app
from sarrus.engines import ENGINES
from sarrus.report.engines_page import make_engine_report, standings
from sarrus.runs.benchmark_records import classes


class Scripted(EngineProcess):
    """A process that runs a line of Python instead of an engine."""

    def __init__(self, script):
        super().__init__()
        self.script = script

    def command(self):
        return [sys.executable, "-c", self.script]


def test_a_process_that_dies_is_reported_with_its_signal():
    with Scripted("import os, signal; input(); os.kill(os.getpid(), signal.SIGSEGV)") as process:
        assert process.request({}, 60.0) == {"crashed": "its process died (SIGSEGV)"}
        # the next question finds a new process
        assert process.request({}, 60.0) == {"crashed": "its process died (SIGSEGV)"}


def test_a_process_that_hangs_is_ended(monkeypatch):
    monkeypatch.setattr("sarrus.bench.engine_suite.FIRST_RUN", 0.0)
    with Scripted("import time; time.sleep(3600)") as process:
        assert "hangs: no answer within" in process.request({}, 0.01)["crashed"]


@pytest.mark.slow
def test_a_run_that_takes_too_much_cpu_time_is_too_slow(monkeypatch):
    """The limit is CPU time: a busy machine does not make a run slow, and slow is not crashed."""
    monkeypatch.setattr("sarrus.bench.engine_suite.FIRST_RUN", 0.0)
    script = (
        "import json\n"
        "from sarrus.bench.engine_process import limit_cpu_time\n"
        "limit_cpu_time(json.loads(input())['cpu_limit'])\n"
        "while True: pass\n"
    )
    with Scripted(script) as process:
        # by the clock on the wall it has twenty times as long
        answer = process.request({}, 6.0)
    assert answer == {"too-slow": "took more than 6 s of CPU time and was ended"}


def record(engine, seconds, kept, changed=None, **more):
    """The record of a run, as far as standings look at it."""
    checks = [{"what": "energy drift", "value": 0.0, "limit": 1.0, "unit": "J", "passed": kept}]
    judged = {"passed": kept, "complete": True, "checks": checks, "energy_drift": 0.1,
              "position_error": 0.1, "violation": 0.1, "branch": None}  # fmt: skip
    return {
        "problem": {"id": "p", "title": "P"}, "method": engine, "step": seconds, "tolerance": None,
        "status": "done", "message": "", "judgement": judged,
        "timings": {"solve": seconds, "cpu": 2 * seconds, "repeats": 3, "busy": False, "calibration": 1.0},
        "engine": {"id": engine, "settings": {}, "why": ""}, "changed": changed or {},
        "machine": {"processor": "x", "cores": 1, "system": "s", "python": "3"},
        "versions": {"sarrus": "0"}, "command": "sarrus bench",
    } | more  # fmt: skip


def test_an_engine_that_never_ends_is_given_up():
    """Two settings that exceed the CPU time without a run that ends, or one with a longer step, are enough."""
    slow = record("a", 1.0, False, status="too-slow")
    slow["timings"]["repeats"] = 0
    done = record("a", 1.0, True)
    assert _count_slow([], [slow]) == 0
    assert _count_slow([], [slow, slow]) == 2
    assert _count_slow([], [slow, done, slow]) == 0
    assert _count_slow([slow], [slow, done]) == 1


def changed(*kept):
    return {
        f"{c:g}": {"classes": [""] if k else [], "status": "done", "message": ""}
        for c, k in zip(CHANGES, kept, strict=True)
    }


def test_the_fastest_is_not_the_dependable_one():
    lucky = record("a", 1.0, True, changed(True, True, False, True))
    sound = record("a", 3.0, True, changed(True, True, True, True))
    other = record("b", 2.0, True, changed(True, True, True, True))
    wrong = record("c", 0.1, False)
    found = standings([lucky, sound, other, wrong])
    assert [s.engine for s in found] == ["b", "a", "c"]
    assert (found[1].fastest, found[1].dependable) == (lucky, sound)
    assert (found[1].lost, found[1].changed) == (1, 8)
    assert found[2].why == "misses energy drift"
    page = make_engine_report([lucky, sound, other, wrong])
    assert "1/8" in page


def test_limits_of_the_source_are_a_column_of_their_own():
    """A setting that misses only a limit of ours counts by the source's, and our own time includes outputs."""
    quick, sound, ours = (record(e, t, True, changed(*[True] * 4)) for e, t in
                          (("a", 1.0), ("a", 3.0), ("sarrus", 1.0)))  # fmt: skip
    missed = {
        "what": "recomputed",
        "value": 2.0,
        "limit": 1.0,
        "unit": "J",
        "passed": False,
        "ours": True,
    }
    quick["judgement"]["checks"].append(missed)
    found = {s.engine: s for s in standings([quick, sound, ours])}
    assert found["a"].fastest is sound
    assert found["a"].by_source is quick
    assert found["sarrus"].rank == (2.0, 2.0)


def test_what_was_left_out_is_not_why_others_fail():
    left = [
        record("a", 0.0, False) | {"status": "skipped", "message": "left out: would"}
        for _ in range(3)
    ]
    (found,) = standings([record("a", 1.0, False), *left])
    assert found.why == "misses energy drift"


def test_readings_of_precision_are_classes_of_their_own():
    checks = [
        {"what": "error, low precision, RMS", "limit": 0.1, "passed": True},
        {"what": "error, low precision, maximum", "limit": 0.1, "passed": False},
        {"what": "error, high precision, RMS", "limit": 0.001, "passed": True},
        {"what": "distance from the right path", "limit": 1, "passed": True},
    ]
    reported = {"judgement": {"complete": True, "checks": checks}}
    assert classes(reported) == ["RMS < 0.1", "RMS < 0.001"]
    checks[-1]["passed"] = False
    assert classes(reported) == []


@pytest.mark.slow
def test_an_engine_is_searched_changed_and_timed(tmp_path):
    if not ENGINES["pinocchio"].installed:
        pytest.skip(f"Pinocchio is not installed; {ENGINES['pinocchio'].install}")
    problem = problems.get("double-four-bar")
    settings = {"mu": 1e-8, "iterations": 10.0, "baumgarte": 0.5}
    cells = [EngineCell(problem, "pinocchio", h, settings, "a test") for h in (0.2, 0.02)]
    records = run_engine_cells(cells, tmp_path, 3, "sarrus bench", 6.0)
    assert [classes(r) for r in records] == [[], [""]]
    assert len(records[1]["changed"]) == len(CHANGES)
    assert records[1]["timings"]["repeats"] == 3
    # everything is there already
    again = run_engine_cells(cells, tmp_path, 3, "sarrus bench", 6.0)
    assert [new | old for new, old in zip(again, records, strict=True)] == again


def test_the_command_lists_every_engine():
    reported = CliRunner().invoke(app, ["engines"]).output
    for engine in ENGINES.values():
        assert engine.id in reported
        for name in engine.defaults:
            assert f"{name}=" in reported
        assert engine.defaults.keys() == engine.meanings.keys()
        for trial in engine.ladder:
            assert trial.why
            engine.settle(trial.settings)


def test_methods_and_engines_are_two_benchmarks():
    reported = CliRunner().invoke(app, ["bench", "--engine", "mujoco", "--method", "series"])
    assert "two benchmarks" in str(reported.exception)


@pytest.mark.slow
def test_an_installed_package_brings_an_engine(tmp_path):
    """An entry point with a row and an adapter of its own, found by a fresh interpreter; a broken one is
    reported.
    """
    import os
    import subprocess
    import sys

    (tmp_path / "still_engine.py").write_text(
        '"""An engine in which nothing moves."""\n'
        "import numpy as np\n"
        "from sarrus.engines import Engine, Poses, Trial\n"
        "class Job:\n"
        "    def __init__(self, world, plan): self.world, self.plan = world, plan\n"
        "    def solve(self): return ''\n"
        "    def poses(self): return Poses.still(self.world.tree.centers, len(self.plan.kept))\n"
        "def build(world, plan): return Job(world, plan)\n"
        "ROW = Engine('still', 'Still', 'still-engine', 'still_engine', frozenset({'loops'}), 1, {}, {},\n"
        "             (Trial({}, (10, 20), 'nothing to choose'),), 'It stands.', adapter='still_engine')\n"
    )
    info = tmp_path / "still_engine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: still-engine\nVersion: 1.0\n")
    entry = info / "entry_points.txt"
    entry.write_text("[sarrus.engines]\nstill = still_engine:ROW\n")
    code = (
        "import sys, sarrus; m = sarrus.problems.get('double-four-bar').mechanism()\n"
        "r = sarrus.simulate_with('still', m, 1.0, step=0.1); print(r.message, float(r.position('B0').std()))\n"
        "sys.argv = ['sarrus', 'engines']; from sarrus.cli import main; main()"
    )

    def run():
        path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
        return subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    done = run()
    assert "simulated 1 s in 10 steps of 0.1 s by Still 1.0" in done.stdout, done.stderr
    assert "still: It stands." in done.stdout
    entry.write_text("[sarrus.engines]\nstill = still_engine:GONE\n")
    assert "engine 'still' of still-engine cannot be loaded" in run().stderr


def test_a_problem_of_ones_own_reaches_the_process(tmp_path):
    """A model file that has no name anywhere is a problem for engines as well: it travels as a folder."""
    from sarrus.bench.engine_process import answer
    from sarrus.bench.engine_suite import EngineCell
    from sarrus.bench.method_check import _four_bar
    from sarrus.bench.user_problem import make_user_problem

    if not ENGINES["mujoco"].installed:
        pytest.skip(f"MuJoCo is not installed; {ENGINES['mujoco'].install}")
    own, _ = make_user_problem(_four_bar(), "nobody knows it", duration=0.2, output_step=0.01)
    cell = EngineCell(own.problem, "mujoco", 0.002, {"integrator": "RK4"}, "a test")
    reported = answer(cell.question(1, 0.0, "test", tmp_path))
    assert reported["status"] == "done", reported
    assert reported["problem"]["id"] == "nobody-knows-it"
