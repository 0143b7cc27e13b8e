"""The folder of a study: parts that are whole or not there, one program at a time, changed studies named."""

import json
import os

import numpy as np
import pyarrow.parquet as pq
import pytest

from sarrus.studies.folder import LOCK, MANIFEST, differences, open_folder, to_bytes, write_bytes
from sarrus.studies.reading import make_study
from sarrus.studies.runs import start_row
from sarrus.studies.sampling import draw_samples
from sarrus.studies.study import StudyError


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


def test_a_half_written_part_is_not_there(tmp_path):
    """It has another name until it is whole."""
    study = study_of()
    fill(tmp_path, study, [0, 1])
    part = next((tmp_path / "parts").iterdir())
    left = part.with_name("run-00000002-2-0123456789abcdef.parquet.unfinished")
    left.write_bytes(part.read_bytes()[:100])
    done, remarks = reopened(tmp_path, study)
    assert sum(done) == 2
    assert not remarks
    assert not left.exists()


def test_trajectories_belong_to_their_part(tmp_path):
    """Lost or harmed ones take their part along; those without a part are removed."""
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
    assert len(remarks) == 3
    assert not lonely.exists()


def test_a_second_program_is_refused(tmp_path):
    """With the process that has the folder; afterwards it is free."""
    study = study_of()
    with (
        opened(tmp_path, study),
        pytest.raises(StudyError, match=f"in use by process {os.getpid()} on"),
        opened(tmp_path, study),
    ):
        pass
    assert reopened(tmp_path, study)[0] == [False] * 6


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
    target = tmp_path / "file"
    write_bytes(target, b"old")

    def full(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StudyError, match="No space left on device; finished runs are kept"):
        write_bytes(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_the_same_table_gives_the_same_bytes(tmp_path):
    """Nothing of the clock or the machine is in a part's content."""
    study = study_of()
    with opened(tmp_path, study) as folder:
        folder.write_part(rows_of(study, [0, 1]), [])
        table = folder.collect()
    assert to_bytes(table, {"a": "b"}) == to_bytes(table, {"a": "b"})
