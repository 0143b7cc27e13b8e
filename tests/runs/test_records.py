"""run.json of strangers: whatever stands in it, a sentence or a page, and nothing else."""

import copy
import json

import numpy as np
import pytest

from run_folders import save_example
from sarrus.report.run_page import make_report
from sarrus.runs.folder import RunFolderError, find_wrong_types, load_run, read_record

ODD = (None, True, -1, 1e308, float("nan"), "", "\x1b[2J", [], [1], {}, {"a": {}}, 10**400)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_example(tmp_path_factory.mktemp("records") / "run", duration=1.0)


def places(value, where=()):
    """All places of a record, by keys and numbers."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*where, key)
        if isinstance(item, dict | list):
            yield from places(item, (*where, key))


def test_a_record_of_ours_is_right(folder):
    """Nothing is wrong with what we write."""
    assert find_wrong_types(json.loads((folder / "run.json").read_text())) == ""


@pytest.mark.slow
def test_odd_values_are_refused_or_shown(folder):
    """At random places: reading the run and its page raise RunFolderError or nothing."""
    good = json.loads((folder / "run.json").read_text())
    path, rng = folder / "run.json", np.random.default_rng(0)
    everywhere = list(places(good))
    refused = 0
    try:
        for _ in range(60):
            record = copy.deepcopy(good)
            *above, last = everywhere[rng.integers(len(everywhere))]
            part = record
            for key in above:
                part = part[key]
            part[last] = ODD[rng.integers(len(ODD))]
            path.write_text(json.dumps(record))
            why = ""
            try:
                make_report([load_run(folder)])
            except RunFolderError as error:
                why = str(error)
                refused += 1
            assert not why or "run.json" in why
        assert 10 < refused < 60
    finally:
        path.write_text(json.dumps(good))


def test_deep_records_are_refused(tmp_path):
    """Nesting without end is no RecursionError."""
    (tmp_path / "run.json").write_text("[" * 200_000)
    with pytest.raises(ValueError, match="nested too deeply"):
        read_record(tmp_path / "run.json", ())
    with pytest.raises(RunFolderError, match="nested too deeply"):
        load_run(tmp_path)
