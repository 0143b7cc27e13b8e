"""Records of strangers: whatever is deleted or replaced in them, a row with its reason or a page, nothing else."""

import copy
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from run_folders import save_example
from sarrus import Mechanism, problems, simulate
from sarrus.bench import judge, run_problem, save_run
from sarrus.bench.engine_suite import EngineCell
from sarrus.bench.submission import collect_records
from sarrus.bench.suite import Cell
from sarrus.cli.screen import Screen
from sarrus.names import shown
from sarrus.report.benchmark_page import (
    board_table,
    make_bench_report,
    save_bench_report,
    winner_table,
)
from sarrus.report.engines_page import engine_table, make_engine_report
from sarrus.report.run_page import make_report, read_runs
from sarrus.runs import run_records as records
from sarrus.runs.benchmark_records import load_benchmark, winners, write_cell
from sarrus.runs.run_folder import RunFolderError, load_run, save_simulation

ODD = (
    *(None, True, -1, 0, 2**70, 1e308, 5e-324, float("nan"), float("inf"), 10**400, 1.5),
    *("", "\x1b[2J", "<script>", [], [1], [None], {}, {"a": {}}, {"id": "../x"}),
)
DELETED = object()


def places(value, where=()):
    """All places of a record, by keys and numbers; of lists the first entry."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value[:1]):
        yield (*where, key)
        if isinstance(item, dict | list):
            yield from places(item, (*where, key))


def changed(record, where, value):
    """A copy with another value at a place, or without it."""
    new = copy.deepcopy(record)
    *above, last = where
    part = new
    for key in above:
        part = part[key]
    if value is DELETED:
        del part[last]
    else:
        part[last] = value
    return new


def mutants(record, seed, each=3):
    """The record with every place deleted once, and replaced by some odd values."""
    rng = np.random.default_rng(seed)
    for where in places(record):
        for value in (DELETED, *rng.choice(np.array(ODD, dtype=object), each)):
            yield where, changed(record, where, value)


def pendulum():
    """A small mechanism of a user."""
    mechanism = Mechanism("pendulum", gravity=(0.0, -9.81))
    rod = mechanism.rod("rod", (0.0, 0.0), (1.0, 0.0), mass=1.0)
    mechanism.revolute("pin", "ground", rod, at=(0.0, 0.0))
    return mechanism


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_example(tmp_path_factory.mktemp("records") / "run", duration=0.3)


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("records") / "model"
    mechanism = pendulum()
    save_simulation(path, mechanism, simulate(mechanism, 0.3), ["pin"], "pendulum.yaml", "test")
    return path


@pytest.fixture(scope="module")
def submission(tmp_path_factory):
    """A run that a board takes."""
    path = tmp_path_factory.mktemp("records") / "good"
    problem = problems.get("double-four-bar")
    result, timing = run_problem(problem, method="series", duration=0.3, tolerance=1e-6)
    save_run(path, problem, result, judge(problem, result), timing, "test")
    return path


def read(folder):
    return json.loads((folder / "run.json").read_text())


def test_our_own_records_are_passed_on_unchanged(folder, model_folder):
    """Validation adds and changes nothing in what we write."""
    for place in (folder, model_folder):
        assert records.read_run(place / "run.json") == read(place)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["problem", "model"])
def test_mutated_runs_become_pages_or_reasons(kind, folder, model_folder, tmp_path):
    """Every key deleted, and replaced by odd values: a RecordError, or a page."""
    run = load_run(folder if kind == "problem" else model_folder)
    path, seen = tmp_path / "run.json", {True: 0, False: 0}
    for _, record in mutants(read(run.folder), seed=1, each=2):
        path.write_text(json.dumps(record))
        try:
            mutant = replace(run, record=records.read_run(path))
        except records.InvalidRecordError:
            seen[False] += 1
            continue
        # the same motion, which takes longer to read than the record
        vars(mutant)["result"] = run.result
        page = make_report([mutant])
        assert "<script>" not in page.split("<body>")[1].split("<script ")[0]
        seen[True] += 1
    assert min(seen.values()) > 50


def test_every_key_that_a_report_reads_is_required(folder):
    """A record that lacks one of the keys whose lack once ended a command is rejected by the key's name."""
    good = read(folder)
    for where in (
        *(("step",), ("machine", "processor"), ("machine", "cores"), ("timings", "cpu")),
        *(("timings", "busy"), ("timings", "calibration"), ("judgement", "checks")),
        *(("problem", "limits"), ("problem", "title"), ("verdict", "text"), ("counters",)),
    ):
        with pytest.raises(
            records.InvalidRecordError, match=rf"^{re.escape('.'.join(where))} is missing$"
        ):
            records.validate(changed(good, where, DELETED), records.ProblemRun)


def written(record):
    """A record as text: 0 and 0.0 are two."""
    return json.dumps(record, sort_keys=True)


@pytest.mark.slow
def test_mutated_submissions_become_rows(submission, tmp_path, capsys):
    """A board shows every mutant: as a row of the table, or as a row with its reason; the good one always."""
    good = read(submission)
    place = tmp_path / "mutant"
    place.mkdir()
    (place / "results.txt").write_bytes((submission / "results.txt").read_bytes())
    left_out = 0
    for where, record in mutants(good, seed=2):
        (place / "run.json").write_text(json.dumps(record))
        found, bad = collect_records([submission, place])
        # a record that lacks only what has a default is the same run, which is listed once
        same = not bad and written(records.read_run(place / "run.json")) == written(good)
        assert len(found) + len(bad) == (1 if same else 2), where
        assert found[0]["place"] == str(submission)
        for path, why in bad:
            assert path == str(place)
            # a sentence about the record, not the name of an exception
            assert not re.match(r"\w+(Error|Exception):", why), (where, why)
        left_out += len(bad)
        Screen(width=1000).show_table(board_table(found, bad))
        said = capsys.readouterr().out
        assert said.count("PASS") + said.count("FAIL") == len(found)
        assert said.count("LEFT OUT") == len(bad)
        assert all(shown(why) in said for _, why in bad)
    assert left_out > 100


@pytest.fixture(scope="module")
def cell(submission):
    """A record of a benchmark, without the other contents of a run folder."""
    record = {k: v for k, v in read(submission).items() if k != "verdict"}
    return {**record, "compiled": True, "fingerprint": ""}


@pytest.mark.slow
def test_mutated_cells_become_pages_or_reasons(cell, tmp_path):
    """A benchmark's page is made of the valid records; of the others it has a row with the reason."""
    write_cell(tmp_path / "cells" / "good.json", cell)
    left_out = 0
    for where, record in mutants(cell, seed=3):
        (tmp_path / "cells" / "mutant.json").write_text(json.dumps(record))
        found, bad = load_benchmark(tmp_path)
        left_out += len(bad)
        assert len(found) + len(bad) == 2, where
        winner_table(winners(found))
        page = make_bench_report(found, bad)
        assert ("<h2>Left out</h2>" in page) == bool(bad)
    assert left_out > 100


@pytest.mark.slow
def test_a_damaged_cell_is_run_again(cell, tmp_path):
    """A benchmark that goes on takes a record only if it is valid and of this very cell."""
    path, wanted = tmp_path / "cell.json", Cell(problems.get("double-four-bar"), "series", 1e-6)
    write_cell(path, cell)
    assert wanted.load(path, records.CellRecord) is not None
    for where, value in (
        *((("machine",), {}), (("timings", "cpu"), DELETED), (("tolerance",), 1e-7)),
        *((("problem", "id"), "../../elsewhere"), (("method",), "radau"), (("judgement",), [])),
    ):
        write_cell(path, changed(cell, where, value))
        assert wanted.load(path, records.CellRecord) is None, where


@pytest.mark.slow
def test_mutated_records_of_engines_become_pages_or_reasons(cell):
    """What is read back of a benchmark of engines is shown without an exception."""
    trial = EngineCell(
        problems.get("double-four-bar"), "mujoco", 1e-3, {"solver": "x", "n": 3}, "why"
    )
    seen = {"classes": [""], "status": "done", "message": "simulated 1 s"}
    good = {**cell, "method": "mujoco", **trial.about(), "changed": {"0.95": seen}}
    rejected = 0
    for _, record in mutants(good, seed=4):
        try:
            valid = records.validate(record, records.EngineCellRecord)
        except records.InvalidRecordError:
            rejected += 1
            continue
        make_engine_report([valid])
        engine_table([valid])
    assert rejected > 100


def test_a_page_of_several_runs_leaves_bad_ones_out(folder, tmp_path):
    """With their reasons; a single bad one is an error."""
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "run.json").write_text("{}")
    runs, bad = read_runs([folder, tmp_path / "bad"])
    assert len(runs) == 1
    page = make_report(runs, bad)
    assert "<h2>Left out</h2>" in page
    assert "is missing" in page
    for places_ in ([tmp_path / "bad"], [tmp_path / "bad", tmp_path / "bad"]):
        with pytest.raises(RunFolderError, match="is missing"):
            read_runs(places_)


def test_a_benchmark_without_a_valid_record_says_why(tmp_path):
    """The first reason stands in the error."""
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / "a.json").write_text("[]")
    with pytest.raises(RunFolderError, match="not a mapping"):
        save_bench_report(tmp_path, tmp_path / "page.html")


def test_deep_records_are_rejected(tmp_path):
    """Nesting without end is no RecursionError."""
    (tmp_path / "run.json").write_text("[" * 200_000)
    with pytest.raises(records.InvalidRecordError, match="nested too deeply"):
        records.read_run(tmp_path / "run.json")
    with pytest.raises(RunFolderError, match="nested too deeply"):
        load_run(tmp_path)
