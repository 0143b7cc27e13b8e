"""Submissions: packed if they hold, rejected with a reason if not."""

import io
import json
import os
import re
import struct
import zipfile

import numpy as np
import pytest

from sarrus import problems
from sarrus.bench import judge, run_problem, save_run
from sarrus.bench.method_check import _four_bar
from sarrus.bench.submission import SubmissionError, check_run, collect_records, pack_run
from sarrus.bench.user_problem import make_user_problem
from sarrus.cli import bench

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


def test_a_problem_of_ones_own_travels_with_its_run(tmp_path):
    """A run of a problem folder is submitted and judged where the problem is not installed."""
    own, _ = make_user_problem(_four_bar(), "My four-bar", duration=0.5, output_step=0.01)
    problem = own.problem
    result, timing = run_problem(problem, method="series", tolerance=1e-10)
    runs = [tmp_path / "run", tmp_path / "moved"]
    for run in runs:
        save_run(run, problem, result, judge(problem, result), timing, "test")
    packed = pack_run(runs[0], tmp_path / "packed")
    assert {"model.yaml", "problem.json", "reference.csv"} < set(zipfile.ZipFile(packed).namelist())
    (record,), bad = collect_records([packed])
    assert (record["problem"]["id"], record["judgement"]["passed"], bad) == (
        "my-four-bar",
        True,
        [],
    )
    # a reference that was changed is another version of the problem, which the run was not made for
    rows = (runs[1] / "reference.csv").read_text().splitlines()
    (runs[1] / "reference.csv").write_text("\n".join(rows[:-1]) + "\n")
    with pytest.raises(SubmissionError, match="made for version"):
        check_run(runs[1])
    # without its problem it cannot be judged
    (runs[1] / "problem.json").unlink()
    with pytest.raises(SubmissionError, match="no problem is called 'my-four-bar'"):
        check_run(runs[1])


def test_two_problems_of_one_name_are_not_mixed(tmp_path):
    """A board keeps to the version that came first; the other is left out with a sentence."""
    for name, seconds in (("a", 0.5), ("b", 0.4)):
        own, _ = make_user_problem(_four_bar(), "same", duration=seconds, output_step=0.01)
        result, timing = run_problem(own.problem, method="series", tolerance=1e-10)
        save_run(tmp_path / name, own.problem, result, judge(own.problem, result), timing, "test")
    records, bad = collect_records([tmp_path])
    assert [r["place"] for r in records] == [str(tmp_path / "a")]
    assert "results of two versions are not mixed" in bad[0][1]


def test_the_same_run_packs_to_the_same_bytes(folder, tmp_path):
    """Packing adds nothing of its own: no time, no place."""
    first = pack_run(folder, tmp_path / "a").read_bytes()
    assert pack_run(folder, tmp_path / "b").read_bytes() == first


def test_a_packed_run_is_read_back(folder, tmp_path):
    """A board takes folders and packed files alike, and judges both again."""
    packed = pack_run(folder, tmp_path)
    for places in ([folder], [packed]):
        records, left_out = collect_records(places)
        assert not left_out
        assert len(records) == 1
    # the same run twice is one row
    records, left_out = collect_records([folder, packed, folder])
    assert not left_out
    assert [record["place"] for record in records] == [str(folder)]
    assert all(r["judgement"]["passed"] for r in records)


@pytest.mark.parametrize(
    ("values", "fragment"),
    [
        ({"judgement__energy_drift": 1e-12}, "energy_drift"),
        ({"judgement__position_error": 0.0}, "position_error"),
        ({"status": "diverged"}, "diverged"),
        ({"timings__repeats": 3}, "3 times"),
        ({"timings__solve": 0.0}, "too short for the clock"),
        ({"timings__calibration_version": 99}, "calibration"),
        ({"problem__version": 0}, "version 0"),
        ({"problem__id": "unknown"}, "unknown"),
        ({"problem": None}, "problem"),
        ({"judgement__energy_drift": float("nan")}, "energy_drift is not a finite number"),
        ({"judgement__position_error": None}, "position_error"),
        ({"timings__solve": 5e-324}, "too short for the clock"),
        ({"timings__solve": float("inf")}, "solve is not a finite number"),
        ({"timings__calibration": 0.0}, "calibration is not positive"),
        ({"timings__repeats": "many"}, "repeats is not a whole number"),
        ({"timings": []}, "timings is not a mapping"),
        ({"machine__processor": ["x"]}, "processor is not text"),
        ({"method": {"a": 1}}, "method is not text"),
        ({"problem__options": {"windows": 10**400}}, "windows is not a finite number"),
        ({"problem__options": {"windows": 10**9}}, "whole number from 1 to"),
        ({"problem__options": {"self": 1}}, "self"),
        ({"duration": -1}, "duration"),
        ({"duration": True}, "duration is not a finite number"),
        ({"tolerance": None}, "no tolerance and no step"),
    ],
)
def test_a_record_that_does_not_hold_is_rejected(folder, values, fragment):
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
    assert "checksum" in left_out[0][1]


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 broken"])
def test_what_is_no_archive_is_left_out_with_a_sentence(tmp_path, content):
    """A board goes on without what it cannot read."""
    path = tmp_path / "bad.zip"
    path.write_bytes(content)
    records, left_out = collect_records([path])
    assert not records
    assert len(left_out) == 1


def test_a_damaged_archive_is_left_out_in_words(folder, tmp_path):
    """Bytes of a zip file's headers changed at random: a sentence, never the name of an exception."""
    content = pack_run(folder, tmp_path).read_bytes()
    headers = [
        at + k
        for mark in (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06")
        for at in found(content, mark)
        for k in range(46)
    ]
    rng = np.random.default_rng(0)
    path = tmp_path / "damaged.zip"
    reasons = set()
    for _ in range(200):
        damaged = bytearray(content)
        at = int(rng.choice([at for at in headers if at < len(content)]))
        damaged[at] = rng.integers(256)
        path.write_bytes(damaged)
        reasons |= {why for _, why in collect_records([path])[1]}
    assert len(reasons) > 5
    assert not [
        why for why in reasons if re.search(r"[A-Z]\w*(Error|Exception)\b|zlib\.error", why)
    ]


def found(content, mark):
    """Where a mark is in a file."""
    return [match.start() for match in re.finditer(re.escape(mark), content)]


def packed_again(source, target, **replaced):
    """A packed run with other contents, its checksums as they were."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, replaced.get(name.split(".")[0], old.read(name)))
    return target


def bombs(folder, tmp_path):
    """Submissions that are none, each with the reason it is left out for."""
    packed = pack_run(folder, tmp_path / "good")
    bad = tmp_path / "bad"
    bad.mkdir()
    deep = b'{"problem": ' + b"[" * 200_000
    yield packed_again(packed, bad / "deep.zip", run=deep), "checksum"
    # one byte of its flags says that it is encrypted
    content = bytearray(packed.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = content.find(mark)
        while place >= 0:
            content[place + at] |= 1
            place = content.find(mark, place + 4)
    (bad / "encrypted.zip").write_bytes(content)
    yield bad / "encrypted.zip", "encrypted"
    # a megabyte of zeros to the thousandth, with a header that says 10 bytes
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("run.json", "checksums.txt"):
            archive.writestr(name, "{}")
        with archive.open("results.txt", "w") as file:
            for _ in range(60):
                file.write(bytes(1_000_000))
    lying = buffer.getvalue().replace(struct.pack("<L", 60_000_000), struct.pack("<L", 10))
    (bad / "lying.zip").write_bytes(lying)
    yield bad / "lying.zip", "lying.zip"
    (bad / "large.zip").touch()
    os.truncate(bad / "large.zip", 4 << 30)
    yield bad / "large.zip", "larger than 50 MB"
    os.mkfifo(bad / "pipe.zip")
    yield bad / "pipe.zip", "not a plain file"
    (bad / "folder.zip").mkdir()
    yield bad / "folder.zip", "folder.zip"
    # a path that a terminal, or a library for terminals, would take for orders
    (bad / "\x1b[31m[").mkdir()
    (bad / "\x1b[31m[/x].zip").write_bytes(b"")
    yield bad / "\x1b[31m[/x].zip", "x1b"
    for name, text in (("deep", "[" * 200_000), ("list", "[]"), ("nan", '{"problem": NaN}')):
        (bad / name).mkdir()
        (bad / name / "run.json").write_text(text)
        yield bad / name, name
    (bad / "piped").mkdir()
    os.mkfifo(bad / "piped" / "run.json")
    yield bad / "piped", "not a plain file"


def test_a_board_goes_on_past_every_bad_submission(folder, tmp_path, capsys):
    """A sentence for each, the good ones in the table, and nothing that steers the terminal."""
    bad = dict(bombs(folder, tmp_path))
    records, left_out = collect_records([folder, *bad, tmp_path / "nowhere"])
    assert len(records) == 1
    assert len(left_out) == len(bad) + 1
    for why, line in zip(bad.values(), left_out, strict=False):
        assert why in ": ".join(line).replace("\x1b", "x1b")
    bench.board([tmp_path])
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\\x1b[31m[/x].zip" in said
    assert "PASS" in said


def test_a_method_of_any_name_is_packed_in_place(folder, tmp_path):
    """Its name cannot lead out of the folder."""
    change(folder, method="../../outside/x")
    packed = pack_run(folder, tmp_path / "out")
    assert packed.parent == tmp_path / "out"


def test_missing_files_are_named(folder):
    """Without run.json there is nothing to check."""
    (folder / "run.json").unlink()
    with pytest.raises(SubmissionError, match=r"run\.json"):
        check_run(folder)
