"""The benchmark: ladders, cells, resuming, winners."""

import json
from dataclasses import replace

import numpy as np
import pytest

from sarrus import problems
from sarrus.bench import suite
from sarrus.bench.suite import make_cells, parse_ladder, run_cells
from sarrus.outputs import ForeignFileError
from sarrus.runs.benchmark_records import winners
from sarrus.runs.run_records import CellRecord as CellRecord

# together they take several seconds
pytestmark = pytest.mark.slow


@pytest.fixture
def short():
    """The double four-bar for one second: it passes one flat configuration."""
    return replace(problems.get("double-four-bar"), duration=1.0)


def test_ladders():
    """A range of decades, split as requested; a list; a single number."""
    assert parse_ladder("1e-3..1e-6", (1.0,)) == [1e-3, 1e-4, 1e-5, 1e-6]
    assert parse_ladder("0.05..0.001", (1.0, 2.0, 5.0)) == [0.05, 0.02, 0.01, 0.005, 0.002, 0.001]
    assert parse_ladder("1e-6..1e-4", (1.0,)) == [1e-6, 1e-5, 1e-4]
    assert parse_ladder("1e-3,2e-7", (1.0,)) == [1e-3, 2e-7]
    assert parse_ladder("0.01", (1.0,)) == [0.01]


@pytest.mark.parametrize("text", ["", "a..b", "1e-3..", "-1..1", "0..1", "nan..1", "1e-3..inf"])
def test_bad_ladders_are_reported(text):
    """What is not a ladder is named."""
    with pytest.raises(ValueError, match="is not a ladder"):
        parse_ladder(text, (1.0,))


def test_every_cell_leaves_a_record_and_the_winner_is_timed_again(short, tmp_path):
    """All settings are judged; the fastest that keeps the limits gets all repeats and its files."""
    cells = make_cells([short], ["series"], "1e-2..1e-5", "0.01")
    records = run_cells(cells, tmp_path, 7, "test")
    assert len(records) == 4
    assert len(list((tmp_path / "cells").glob("**/*.json"))) == 4
    ((grade, best),) = winners(records)
    assert grade == ""
    assert best["timings"]["repeats"] == 7
    assert best["timings"]["same_bits"]
    folder = tmp_path / "winners" / "double-four-bar" / f"series-{best['tolerance']:.0e}"
    assert {p.name for p in folder.iterdir()} >= {"results.txt", "run.json"}


def test_a_stopped_benchmark_goes_on(short, tmp_path, monkeypatch):
    """What is done is not done again; a record that somebody changed is neither used nor replaced."""
    cells = make_cells([short], ["series"], "1e-3..1e-6", "0.01")
    ran = []
    real = suite._run

    def spy(cell, *rest):
        ran.append(cell.setting)
        if len(ran) == 3:
            raise KeyboardInterrupt
        return real(cell, *rest)

    monkeypatch.setattr(suite, "_run", spy)
    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, tmp_path, 1, "test")
    cells[0].path(tmp_path).write_text('{"half')
    record = json.loads(cells[1].path(tmp_path).read_text())
    assert record["status"] == "done"
    ran[:] = [0.0] * 10
    with pytest.raises(ForeignFileError, match=r"tolerance-1\.000e-03\.json exists"):
        run_cells(cells, tmp_path, 1, "test")
    assert ran == [0.0] * 10
    cells[0].path(tmp_path).unlink()
    run_cells(cells, tmp_path, 1, "test")
    # the first, which was removed, and the two that were never done; the second is kept
    assert ran[10:] == [1e-3, 1e-5, 1e-6]


def test_a_record_of_another_problem_version_is_not_taken(short, tmp_path):
    """Results of an older problem are not mixed in."""
    (cell,) = make_cells([short], ["series"], "1e-3", "0.01")
    run_cells([cell], tmp_path, 1, "test")
    newer = replace(cell, problem=replace(short, version=2))
    assert cell.load(cell.path(tmp_path), CellRecord) is not None
    assert newer.load(cell.path(tmp_path), CellRecord) is None


def test_two_precision_classes_have_two_winners(tmp_path):
    """A02: a loose setting wins the low class, a tight one the high class."""
    problem = problems.get("n-four-bar", windows=2)
    records = run_cells(
        make_cells([problem], ["series"], "1e-2..1e-10", "0.01"), tmp_path, 1, "test"
    )
    # small mechanisms take much the same time at all of them: the clock must not decide here
    for record in records:
        record["timings"]["cpu"] = -np.log10(record["tolerance"])
    best = dict(winners(records))
    assert set(best) == {"low", "high"}
    assert best["low"]["tolerance"] > best["high"]["tolerance"]
