"""Submissions: packed if they hold, refused with a reason if not."""

import json
import zipfile

import pytest

from sarrus import problems
from sarrus.bench import judge, run_problem, save_run
from sarrus.bench.submission import SubmissionError, check_run, collect_records, pack_run

# together they take several seconds
pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path):
    """A good run of the double four-bar."""
    problem = problems.get("double-four-bar")
    result, timing = run_problem(problem, method="series", tolerance=1e-6)
    save_run(tmp_path / "run", problem, result, judge(problem, result), timing, "test")
    return tmp_path / "run"


def change(folder, **values):
    """Overwrite parts of run.json."""
    path = folder / "run.json"
    record = json.loads(path.read_text())
    for key, value in values.items():
        part = record
        *parents, last = key.split("__")
        for name in parents:
            part = part[name]
        part[last] = value
    path.write_text(json.dumps(record))


def test_the_same_run_packs_to_the_same_bytes(folder, tmp_path):
    """Packing adds nothing of its own: no time, no place."""
    first = pack_run(folder, tmp_path / "a").read_bytes()
    assert pack_run(folder, tmp_path / "b").read_bytes() == first


def test_a_packed_run_is_read_back(folder, tmp_path):
    """A board takes folders and packed files alike, and judges both again."""
    packed = pack_run(folder, tmp_path)
    records, left_out = collect_records([folder, packed])
    assert not left_out
    assert len(records) == 2
    assert all(r["judgement"]["passed"] for r in records)
    assert records[0]["judgement"]["energy_drift"] == records[1]["judgement"]["energy_drift"]


@pytest.mark.parametrize(
    ("values", "fragment"),
    [
        ({"judgement__energy_drift": 1e-12}, "energy_drift"),
        ({"judgement__position_error": 0.0}, "position_error"),
        ({"status": "diverged"}, "diverged"),
        ({"timings__repeats": 3}, "3 times"),
        ({"timings__solve": 0.0}, "no time"),
        ({"timings__calibration_version": 99}, "calibration"),
        ({"problem__version": 0}, "version 0"),
        ({"problem__id": "unknown"}, "unknown"),
        ({"problem": None}, "problem"),
    ],
)
def test_a_record_that_does_not_hold_is_refused(folder, values, fragment):
    """What run.json says of itself must agree with the judge."""
    change(folder, **values)
    with pytest.raises(ValueError, match=fragment):
        check_run(folder)


def test_one_changed_digit_is_noticed(folder, tmp_path):
    """A packed file whose results were touched has the wrong checksum; a folder the wrong error."""
    packed = pack_run(folder, tmp_path)
    touched = tmp_path / "touched.zip"
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(touched, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "results.txt":
                data = data.replace(b"1.00000000000000e+00", b"1.10000000000000e+00", 1)
            new.writestr(name, data)
    records, left_out = collect_records([touched])
    assert not records
    assert "checksum" in left_out[0]


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 broken"])
def test_what_is_no_archive_is_left_out_with_a_sentence(tmp_path, content):
    """A board goes on without what it cannot read."""
    path = tmp_path / "bad.zip"
    path.write_bytes(content)
    records, left_out = collect_records([path])
    assert not records
    assert len(left_out) == 1


def test_missing_files_are_named(folder):
    """Without run.json there is nothing to check."""
    (folder / "run.json").unlink()
    with pytest.raises(SubmissionError, match=r"run\.json"):
        check_run(folder)
