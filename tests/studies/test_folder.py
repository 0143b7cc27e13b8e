"""The folder of a study: parts that are whole or not there, one program at a time, changed studies named."""

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sarrus.studies.overview import save_overview
from sarrus.studies.runs import start_row
from sarrus.studies.sampling import draw_samples
from sarrus.studies.session import read_table
from sarrus.studies.study import StudyError, digest
from sarrus.studies.study_folder import LOCK, MANIFEST, differences, open_folder, to_bytes
from sarrus.studies.study_reader import make_study


def study_of(**keys):
    values = [1, 2, 3, 4, 5, 6]
    return make_study({"problem": "double-four-bar", "vary": {"speed": values}, **keys})


def opened(path, study, fresh=False):
    return open_folder(path, study, draw_samples(study), "sarrus sweep", fresh)


def rows_of(study, numbers):
    drawn = draw_samples(study)
    made = []
    for i in numbers:
        row = start_row(study.plan, i, drawn.row(study.plan.columns, i))
        made.append({**row, "energy_drift": 0.1 * i, "status": "done", "message": "", "notes": ""})
    return made


def fill(path, study, *batches):
    with opened(path, study) as folder:
        for batch in batches:
            folder.write_part(rows_of(study, batch), [])
        folder.save_manifest("stopped")


def reopened(path, study):
    with opened(path, study) as folder:
        return folder.done.tolist(), folder.remarks


@pytest.mark.slow
def test_finished_runs_are_found_again(tmp_path):
    """In parts of any order and size; the table is sorted."""
    study = study_of()
    fill(tmp_path, study, [3, 5], [0])
    done, remarks = reopened(tmp_path, study)
    assert done == [True, False, False, True, False, True]
    assert not remarks
    with opened(tmp_path, study) as folder:
        folder.write_part(rows_of(study, [4, 1, 2]), [])
        table = folder.finish()
    assert table.column("run").to_pylist() == list(range(6))
    np.testing.assert_array_equal(table.column("energy_drift").to_numpy(), 0.1 * np.arange(6))


@pytest.mark.slow
def test_the_table_does_not_depend_on_the_parts(tmp_path):
    """Byte by byte."""
    study = study_of()
    files = []
    for name, batches in (("a", [[0, 1, 2, 3, 4, 5]]), ("b", [[5, 2], [0], [1, 3, 4]])):
        fill(tmp_path / name, study, *batches)
        with opened(tmp_path / name, study) as folder:
            folder.finish()
        files.append((tmp_path / name / "results.parquet").read_bytes())
    assert files[0] == files[1]


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "rename", "copy", "foreign"])
def test_a_harmed_part_is_named_set_aside_and_run_again(tmp_path, harm):
    """Whatever was done to it; the other part is kept."""
    study = study_of()
    fill(tmp_path, study, [0, 1], [2, 3])
    part = sorted((tmp_path / "parts").iterdir())[0]
    content = part.read_bytes()
    again = [0, 1]
    if harm == "cut":
        part.write_bytes(content[:-20])
    elif harm == "flip":
        part.write_bytes(content[:60] + bytes([content[60] ^ 1]) + content[61:])
    elif harm == "empty":
        part.write_bytes(b"")
    elif harm == "rename":
        part = part.rename(part.with_name("run-00000002-2-0123456789abcdef.parquet"))
    elif harm == "copy":
        # the same runs twice: the first is kept
        table = pq.read_table(part)
        with opened(tmp_path, study) as folder:
            name = folder._write("parts", table.slice(0, 1), 1, 1, {"study": "x"})
        part, again = tmp_path / "parts" / name, []
    else:
        other = study_of(seed=1)
        fill(tmp_path / "other", other, [0, 1])
        foreign = next((tmp_path / "other" / "parts").iterdir())
        part.unlink()
        part = foreign.rename(tmp_path / "parts" / foreign.name)
    done, remarks = reopened(tmp_path, study)
    assert done == [i in (0, 1, 2, 3) and i not in again for i in range(6)]
    assert len(remarks) == 1
    assert part.name in remarks[0]
    assert (tmp_path / "damaged" / part.name).exists()
    assert not part.exists()


@pytest.mark.slow
def test_a_half_written_part_is_not_there(tmp_path):
    """It has another name until it is whole."""
    study = study_of()
    fill(tmp_path, study, [0, 1])
    part = next((tmp_path / "parts").iterdir())
    left = part.with_name("run-00000002-2-0123456789abcdef.parquet.0123456789ab.unfinished")
    left.write_bytes(part.read_bytes()[:100])
    done, remarks = reopened(tmp_path, study)
    assert sum(done) == 2
    assert not remarks
    assert not left.exists()


@pytest.mark.slow
def test_trajectories_belong_to_their_part(tmp_path):
    """Lost or harmed ones take their part along; whole ones without a part are removed, others set aside."""
    study = study_of(trajectory=True)

    def curve(i):
        return {"run": np.full(3, i), "t": np.arange(3.0), "energy": np.zeros(3)}

    with opened(tmp_path, study) as folder:
        folder.write_part(rows_of(study, [0, 1]), [curve(0), curve(1)])
        folder.write_part(rows_of(study, [2]), [curve(2)])
        folder.write_part(rows_of(study, [3]), [curve(3)])
        folder.save_manifest("stopped")
    first, second, _ = sorted((tmp_path / "trajectories").iterdir())
    assert pq.read_table(first).column("run").to_pylist() == [0, 0, 0, 1, 1, 1]
    first.write_bytes(first.read_bytes()[:-1])
    second.unlink()
    lonely = tmp_path / "trajectories" / "run-00000004-1-0123456789abcdef.parquet"
    lonely.write_bytes(b"x")
    done, remarks = reopened(tmp_path, study)
    assert done == [False, False, False, True, False, False]
    assert len(remarks) == 4
    assert (tmp_path / "damaged" / lonely.name).read_bytes() == b"x"
    # as after a kill between the two writes
    (last,) = (tmp_path / "parts").iterdir()
    last.unlink()
    (whole,) = (tmp_path / "trajectories").iterdir()
    done, remarks = reopened(tmp_path, study)
    assert not any(done)
    assert not remarks
    assert not whole.exists()


def test_a_second_program_is_rejected(tmp_path):
    """With the process that has the folder; afterwards it is free."""
    study = study_of()
    with (
        opened(tmp_path, study),
        pytest.raises(StudyError, match=f"in use by process {os.getpid()} on"),
        opened(tmp_path, study),
    ):
        pass
    assert reopened(tmp_path, study)[0] == [False] * 6


@pytest.mark.slow
def test_locks_of_dead_programs_and_of_other_machines(tmp_path):
    """A program that died here is no hindrance; of another machine nobody knows."""
    study = study_of()
    fill(tmp_path, study, [0])
    (tmp_path / LOCK).write_text(
        json.dumps({"pid": 2**30, "host": __import__("socket").gethostname(), "since": "then"})
    )
    assert sum(reopened(tmp_path, study)[0]) == 1
    (tmp_path / LOCK).write_text(json.dumps({"pid": 1, "host": "elsewhere", "since": "then"}))
    with pytest.raises(StudyError, match=r"elsewhere since then, another machine; .*delete"):
        reopened(tmp_path, study)


def test_changed_studies_are_named(tmp_path):
    """What was, what is; --fresh sets the old results aside."""
    fill(tmp_path, study_of(), [0])
    changed = study_of(seed=3, simulate={"duration": 2})
    words = r"study.simulate is new .*sampling.seed is new \(3\)"
    with pytest.raises(StudyError, match=words):
        reopened(tmp_path, changed)
    with opened(tmp_path, changed, fresh=True) as folder:
        assert not folder.done.any()
    (aside,) = tmp_path.glob("before-*")
    assert len(list((aside / "parts").iterdir())) == 1


def test_differences_go_into_depth():
    """Lists, mappings, texts of functions."""
    old = {"a": {"b": [1, 2], "c": 1}, "functions": {"f.py:g": "x"}}
    new = {"a": {"b": [1, 3]}, "functions": {"f.py:g": "y"}, "d": 1}
    assert list(differences(old, new, ())) == [
        "a.b.1 was 2 and is 3",
        "a.c is gone (was 1)",
        "the text of f.py:g changed",
        "d is new (1)",
    ]


def test_folders_of_others_are_left_alone(tmp_path):
    """Not empty and no study, or a manifest that cannot be read."""
    (tmp_path / "thesis.txt").write_text("mine")
    for fresh in (False, True):
        with pytest.raises(StudyError, match="no study"), opened(tmp_path, study_of(), fresh):
            pass
    (tmp_path / MANIFEST).write_text("{")
    with (
        pytest.raises(StudyError, match=r"study.json cannot be read"),
        opened(tmp_path, study_of()),
    ):
        pass
    assert (tmp_path / "thesis.txt").exists()


def test_files_are_written_whole_or_not(tmp_path, monkeypatch):
    """A disk that is full while a file is written leaves the old one, and a sentence."""
    with opened(tmp_path, study_of()) as folder:
        folder.write("file", b"old")
        before = sorted(tmp_path.iterdir())

        def full(number):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(StudyError, match="No space left on device; finished runs are kept"):
            folder.write("file", b"new")
        monkeypatch.undo()
    assert (tmp_path / "file").read_bytes() == b"old"
    assert sorted(tmp_path.iterdir()) == before


# what a stranger may have put into a folder, and the word that rejects it
LINKED = {
    "lock": "lock is a link",
    "parts": "parts is a link",
    "trajectories": "trajectories is a link",
    "damaged": "damaged is a link",
    "study.json": "study.json is a link",
}


@pytest.mark.parametrize("name", LINKED)
def test_nothing_is_touched_through_a_link(tmp_path, name):
    """Files and folders behind links of a stranger's folder stay as they are; a sentence says which link."""
    study = study_of(trajectory=True)
    place, outside = tmp_path / "study", tmp_path / "outside"
    fill(place, study, [0, 1])
    target = outside / name
    outside.mkdir()
    if (place / name).is_dir() or name == "damaged":
        target.mkdir()
        (target / "run-00000000-1-0123456789abcdef.parquet").write_bytes(b"mine")
        (target / "thing.unfinished").write_bytes(b"mine")
    else:
        target.write_bytes((place / name).read_bytes() or b"mine")
    if name == "damaged":
        part = next((place / "parts").iterdir())
        part.write_bytes(part.read_bytes()[:-1])
    elif (place / name).is_dir():
        (place / name).rename(tmp_path / "aside")
    else:
        (place / name).unlink()
    (place / name).symlink_to(target)
    before = {p: p.read_bytes() for p in outside.rglob("*") if p.is_file()}
    with pytest.raises(StudyError, match=LINKED[name]), opened(place, study) as folder:
        folder.finish()
    assert {p: p.read_bytes() for p in outside.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
@pytest.mark.parametrize("name", ["results.parquet", "overview.html"])
def test_what_users_put_at_our_places_is_not_replaced(tmp_path, name, kind):
    """The study is rejected before it runs, with the name, and what is there stays, also with --fresh."""
    study = study_of()
    place, outside = tmp_path / "study", tmp_path / "outside"
    fill(place, study, range(6))
    outside.write_bytes(b"mine")
    if kind == "file":
        (place / name).write_bytes(b"mine")
    elif kind == "link":
        (place / name).symlink_to(outside)
    else:
        (place / name).mkdir()
    for fresh in (False, True):
        with pytest.raises(StudyError, match=f"{name} exists"), opened(place, study, fresh):
            pass
    assert outside.read_bytes() == b"mine"
    assert (place / name).is_symlink() == (kind == "link")
    assert kind == "folder" or (place / name).read_bytes() == b"mine"


@pytest.mark.slow
def test_files_of_users_in_a_study_stay(tmp_path):
    """Of any name and in any of its folders, while it goes on, is finished, and is begun again by --fresh."""
    study = study_of(trajectory=True)
    fill(tmp_path, study, [0, 1])
    mine = [
        *("notes.txt", "thing.unfinished", "parts/mine.parquet", "parts/x.parquet.unfinished"),
        *("trajectories/plot.py", "trajectories/all.parquet", "study.json.unfinished"),
    ]
    for name in mine:
        (tmp_path / name).write_text(f"mine: {name}")
    (tmp_path / "empty").mkdir()
    for fresh in (False, True, False):
        with opened(tmp_path, study, fresh) as folder:
            left = [i for i, done in enumerate(folder.done) if not done]
            assert len(left) in ((6,) if fresh else (4, 0))
            folder.write_part(rows_of(study, left), [])
            save_overview(folder, folder.finish())
            folder.save_manifest("finished")
        assert all((tmp_path / name).read_text() == f"mine: {name}" for name in mine)
        assert (tmp_path / "empty").is_dir()
    assert len(read_table(tmp_path)) == 6


def test_a_file_called_lock_stays(tmp_path):
    """One that is not supported is neither emptied nor written."""
    (tmp_path / LOCK).write_text("combination: 1234")
    with pytest.raises(StudyError, match="sarrus did not write it"), opened(tmp_path, study_of()):
        pass
    assert (tmp_path / LOCK).read_text() == "combination: 1234"


def test_a_lock_with_another_name_is_rejected(tmp_path):
    """A hard link would be truncated elsewhere."""
    study = study_of()
    fill(tmp_path / "study", study, [0])
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / "study" / LOCK).unlink()
    os.link(tmp_path / "mine", tmp_path / "study" / LOCK)
    with pytest.raises(StudyError, match="another name"), opened(tmp_path / "study", study):
        pass
    assert (tmp_path / "mine").read_bytes() == b"mine"


ODD = {
    "a list": lambda record: [record],
    "no sessions": lambda record: record | {"sessions": 3},
    "sessions of words": lambda record: record | {"sessions": ["a"]},
    "versions of words": lambda record: record | {"sessions": [{"versions": "new"}]},
    "no identity": lambda record: record | {"identity": None},
}


@pytest.mark.parametrize("name", [*ODD, "deep", "a pipe"])
def test_odd_manifests_are_rejected(tmp_path, name):
    """Wrong types, nesting without end, no plain file: a sentence each."""
    study = study_of()
    fill(tmp_path, study, [0])
    path = tmp_path / MANIFEST
    if name in ODD:
        path.write_text(json.dumps(ODD[name](json.loads(path.read_text()))))
    elif name == "deep":
        path.write_text('{"identity": ' + "[" * 100_000)
    else:
        path.unlink()
        os.mkfifo(path)
    with pytest.raises(StudyError, match=r"study\.json|another study"), opened(tmp_path, study):
        pass


@pytest.mark.slow
def test_a_part_without_the_columns_is_damaged(tmp_path):
    """Its bytes have the right hash, but it holds something else: it is set aside."""
    study = study_of()
    fill(tmp_path, study, [0, 1])
    with opened(tmp_path, study) as folder:
        about = {"study": digest(study.identity)}
        folder._write("parts", pa.table({"run": [2]}), 2, 1, about)
        folder._write("parts", pa.table({"t": [2.0]}), 3, 1, about)
        folder._write("parts", folder.schema.empty_table(), 4, 0, about)
    done, remarks = reopened(tmp_path, study)
    assert done == [True, True, False, False, False, False]
    assert len(remarks) == 3


@pytest.mark.slow
def test_reasons_are_counted_also_of_earlier_sessions(tmp_path):
    """Sentences that differ in their numbers alone are one reason."""
    study = study_of()
    rows = rows_of(study, range(5))
    for row, (status, message) in zip(
        rows,
        [("rejected", f"rod of {0.1 * i} m") for i in range(3)] + [("locked", "")],
        strict=False,
    ):
        row |= {"status": status, "message": message}
    with opened(tmp_path, study) as folder:
        folder.write_part(rows[:2], [])
    with opened(tmp_path, study) as folder:
        folder.write_part(rows[2:], [])
        assert folder.failed == 4
        assert folder.most_frequent(5) == [(3, "rejected", "rod of 0.0 m"), (1, "locked", "")]


def test_the_same_table_gives_the_same_bytes(tmp_path):
    """Nothing of the clock or the machine is in a part's content."""
    study = study_of()
    with opened(tmp_path, study) as folder:
        folder.write_part(rows_of(study, [0, 1]), [])
        table = folder.collect()
    assert to_bytes(table, {"a": "b"}) == to_bytes(table, {"a": "b"})
