"""Files of the user's in folders that we write: whatever a command does there, they stay as they were."""

import inspect
import json
import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sarrus.bench.method_check import _four_bar as four_bar
from sarrus.cli import app
from sarrus.disk import UNFINISHED, write_file
from sarrus.formats import write_urdf
from sarrus.mechanism import MechanismError
from sarrus.outputs import LIST, ForeignFileError, check_outputs, new_outputs, write_output

YEARS_AGO = (1, 1)
STUDY = {
    "sarrus_study": 1,
    "mechanism": "mine.yaml",
    "vary": {"gravity": [[0, -9.8], [0, -9.9]]},
    "simulate": {"duration": 0.1},
}


def call(*words):
    """A command as a function: exit status and all that it says, the error of one that failed included."""
    answer = CliRunner().invoke(app, list(map(str, words)))
    return answer.exit_code, f"{answer.output} {answer.exception or ''}"


def look(folder):
    """Everything in a folder, with content, target, mode and time."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        what = os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes()
        found[path] = (what, status.st_mode, path.is_dir() or status.st_mtime)
    return found


def plant(folder, outside):
    """What users may have in a folder: files, folders, empty ones, links, names like ours."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "checkout" / "src").mkdir(parents=True)
    (folder / "checkout" / "src" / "thesis.py").write_text("years of work")
    (folder / "empty").mkdir()
    for name in ("notes.txt", "motion.svg", f"x{UNFINISHED}", f"{UNFINISHED}-0123-run.json"):
        (folder / name).write_text(f"mine: {name}")
    (folder / "blank").touch()
    (folder / "folder-link").symlink_to(outside)
    (folder / "file-link").symlink_to(outside / "file")
    (folder / "broken-link").symlink_to(outside / "nowhere")
    for path in (*folder.rglob("*"), folder):
        os.utime(path, YEARS_AGO, follow_symlinks=False)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with a model, a study and a run, and one outside of it; the current folder is the first."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("mine, outside")
    four_bar().save("mine.yaml")
    Path("study.yaml").write_text(json.dumps(STUDY))
    return tmp_path


# commands that choose names of files in a folder, which is the last word
INTO_FOLDERS = {
    "run": ("run", "simple-pendulum", "--duration", "0.1", "--out"),
    "simulate": ("simulate", "mine.yaml", "--duration", "0.1", "--report", "--out"),
    "problem": ("problem", "mine.yaml", "--duration", "0.1", "--output-step", "0.01", "--out"),
    "bench": (
        *(
            "bench",
            "simple-pendulum",
            "--method",
            "series",
            "--tolerances",
            "1e-3",
            "--repeat",
            "1",
        ),
        *("--duration", "0.1", "--out"),
    ),
    "movie": ("movie", "kept", "--until", "0.1", "--size", "64x64"),
}


def prepare(command):
    if command == "movie":
        assert call("simulate", "mine.yaml", "--duration", "0.1", "--out", "kept")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("command", INTO_FOLDERS)
def test_files_in_our_folders_stay(desk, command):
    """Next to what a command writes, again when it writes the same folder a second time."""
    prepare(command)
    out = desk / "out"
    written = out / "simple-pendulum" if command == "run" else out
    plant(written, desk / "outside")
    before = look(written), look(desk / "outside")
    for again in (False, True):
        status, said = call(*INTO_FOLDERS[command], out)
        assert (
            status == (2 if again and command == "problem" else 0) or "package already" in said
        ), said
        after = look(written)
        assert {path: after.get(path) for path in before[0]} == before[0]
        assert look(desk / "outside") == before[1]
        assert not list(written.rglob(f"{UNFINISHED}-*"))[1:]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "link", "folder", "edited"])
@pytest.mark.parametrize("command", INTO_FOLDERS)
def test_files_at_our_places_are_not_replaced(desk, command, kind):
    """A file, link or folder of the user's at each name that a command writes: an error names it, and it stays."""
    prepare(command)
    assert call(*INTO_FOLDERS[command], "first")[0] == 0
    names = [
        path.relative_to("first")
        for path in Path("first").rglob("*")
        if path.is_file() and path.name != LIST
    ]
    assert len(names) >= 3
    for i, name in enumerate(names):
        out = Path(f"out-{i}")
        if kind == "edited":
            assert call(*INTO_FOLDERS[command], out)[0] == 0
            with open(out / name, "ab") as file:
                file.write(b"\n# what the user added")
        else:
            place(out / name, kind, desk / "outside" / "file")
        before = look(out), look(desk / "outside")
        status, said = call(*INTO_FOLDERS[command], out)
        if command == "bench" and name.suffix == ".json" and "cells" in name.parts and status == 0:
            # a record that was only read
            assert kind == "edited"
        else:
            assert status != 0
            assert name.name in said.replace("\n", "") or "package already" in said
        after = look(out)
        assert {path: after.get(path) for path in before[0]} == before[0]
        assert look(desk / "outside") == before[1]


def place(path, kind, target):
    path.parent.mkdir(parents=True)
    if kind == "file":
        path.write_text("mine")
    elif kind == "link":
        path.symlink_to(target)
    else:
        path.mkdir()


def test_a_run_into_the_current_folder_keeps_the_model(desk):
    """`--out .` with a file model.yaml would replace it by what was simulated, without its comments."""
    four_bar().save("model.yaml")
    text = "# a comment\n" + Path("model.yaml").read_text()
    Path("model.yaml").write_text(text)
    status, said = call("simulate", "model.yaml", "--duration", "0.1", "--out", ".")
    assert status != 0
    assert "model.yaml exists" in said
    assert Path("model.yaml").read_text() == text
    assert not Path("run.json").exists()


# commands whose last word is a file that the user names
TO_FILES = {
    "export": ("export", "simple-pendulum", "file.yaml"),
    "export urdf": ("export", "mine.yaml", "file.urdf"),
    "import": ("import", "mine.yaml", "file.yaml"),
    "report": ("report", "kept", "--out", "file.html"),
    "movie": ("movie", "kept", "file.gif", "--until", "0.1", "--size", "64x64"),
    "spec": ("spec", "write", "simple-pendulum", "--out", "file.xml"),
    "design": ("design", "mine.yaml", "--joint", "A", "--csv", "file.csv"),
    "new method": ("new", "method", "file.py"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "link", "broken link"])
@pytest.mark.parametrize("command", TO_FILES)
def test_a_named_file_is_replaced_on_demand_alone(desk, command, kind):
    """Without --force it stays, also one that a link leads to; with it the link is replaced, not followed."""
    if command in ("report", "movie"):
        prepare("movie")
    words = TO_FILES[command]
    path = next(Path(word) for word in words if word.startswith("file."))
    target = desk / "outside" / ("nowhere" if kind == "broken link" else "file")
    if kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to(target)
    before = look(desk)
    status, said = call(*words)
    assert status != 0
    assert path.name in said
    assert look(desk) == before
    if command != "new method":
        assert call(*words, "--force")[0] == 0
        assert not path.is_symlink()
        assert path.stat().st_size > 100
    assert (desk / "outside" / "file").read_text() == "mine, outside"
    assert not (desk / "outside" / "nowhere").exists()


def test_every_command_that_replaces_files_is_tried():
    """Those with --force are in the table, so that a new one is not forgotten."""
    forced = {
        command.name
        for command in app.registered_commands
        if "force" in inspect.signature(command.callback).parameters
    }
    assert forced <= {words[0] for words in TO_FILES.values()}


def test_the_closures_of_a_urdf_replace_closures_alone(desk):
    """The file next to a URDF has a name that we choose: a user's model of this name stays, --force or not."""
    Path("robot.yaml").write_text("sarrus: 1  # mine")
    for force in ((), ("--force",)):
        status, said = call("export", "mine.yaml", "robot.urdf", *force)
        assert status != 0
        assert "robot.yaml exists" in said
    with pytest.raises(MechanismError, match=r"robot\.yaml exists"):
        write_urdf(four_bar(), Path("robot.urdf"))
    assert Path("robot.yaml").read_text() == "sarrus: 1  # mine"
    assert not Path("robot.urdf").exists()
    Path("robot.yaml").unlink()
    for force in ((), ("--force",)):
        assert call("export", "mine.yaml", "robot.urdf", *force)[0] == 0


@pytest.mark.slow
def test_the_default_page_replaces_only_itself(desk):
    """report.html in a run's folder, or here for several: made again, but never over the user's."""
    for name in ("a", "b"):
        assert call("simulate", "mine.yaml", "--duration", "0.1", "--out", name)[0] == 0
    for words, page in ((("a",), Path("a/report.html")), (("a", "b"), Path("report.html"))):
        for _ in range(2):
            assert call("report", *words)[0] == 0
        page.write_text("mine")
        status, said = call("report", *words)
        assert status != 0
        assert "report.html exists" in said
        assert page.read_text() == "mine"


@pytest.mark.slow
def test_a_study_leaves_other_files_alone(desk):
    """In a folder that holds other things it does not begin; what is put there later stays."""
    plant(desk / "out", desk / "outside")
    before = look(desk / "out")
    status, said = call("sweep", "study.yaml", "--out", "out", "--workers", "1")
    assert status != 0
    assert "is not empty" in said
    assert look(desk / "out") == before
    assert call("sweep", "study.yaml", "--out", "study", "--workers", "1")[0] == 0
    plant(desk / "study", desk / "outside")
    plant(desk / "study" / "parts" / "inner", desk / "outside")
    before = look(desk / "study")
    ours = {Path("study/study.json"), Path("study") / LIST, Path("study/lock")}
    for fresh in ((), ("--fresh",)):
        status, said = call("sweep", "study.yaml", "--out", "study", "--workers", "1", *fresh)
        assert status == 0, said
        after = look(desk / "study")
        for path, was in before.items():
            if "checkout" in path.parts or was[0] or path.name in ("empty", "blank"):
                name = path.relative_to(desk)
                if name not in ours and path.suffix not in (".parquet", ".html"):
                    assert after.get(path) == was, path
    assert (desk / "outside" / "file").read_text() == "mine, outside"


def test_saving_in_the_workbench_keeps_what_others_wrote(desk):
    """A file that changed since it was opened, and one after a link; rights of a file stay when it is saved."""
    from sarrus.mechanism import to_data
    from sarrus.workbench.saving import OpenedFile

    path = Path("mine.yaml")
    path.chmod(0o600)
    data = to_data(four_bar())
    opened = OpenedFile(path, path.read_text(), data)
    opened.write(data, {})
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("mine")
    with pytest.raises(MechanismError, match="changed by another program"):
        opened.write(data, {})
    path.unlink()
    path.symlink_to("outside/file")
    with pytest.raises(MechanismError, match="is a link"):
        opened.write(data, {}, force=True)
    assert Path("outside/file").read_text() == "mine, outside"


def test_outputs_come_together_or_not_at_all(tmp_path):
    """An error in between, or one file of the user's, and nothing is written; folders that were made go."""
    folder = tmp_path / "a" / "b"
    with pytest.raises(ZeroDivisionError), new_outputs(folder) as stage:
        write_file(stage / "one", f"{1 / 0}")
    assert not list(tmp_path.iterdir())
    folder.mkdir(parents=True)
    (folder / "two").write_text("mine")
    with pytest.raises(ForeignFileError, match="two exists"), new_outputs(folder) as stage:
        {name: write_file(stage / name, name) for name in ("one", "two")}
    assert [path.name for path in folder.iterdir()] == ["two"]
    check_outputs(folder, ["one", "three"])
    with pytest.raises(ForeignFileError, match="two exists"):
        check_outputs(folder, ["one", "two"])
    check_outputs(tmp_path / "nowhere", ["one"])


def test_outputs_are_ours_after_a_kill_at_any_moment(tmp_path, monkeypatch):
    """Between the list and the files, or between two files: the next program writes them again."""

    class Killed(BaseException):
        pass

    moves = []
    replace = os.replace

    def dying(*args, **keys):
        moves.append(args)
        if len(moves) == last:
            raise Killed
        return replace(*args, **keys)

    def write(text):
        with new_outputs(tmp_path) as stage:
            for name in ("one", "two"):
                (stage / name).write_text(text)

    write("old")
    for last in (1, 2, 3):
        moves.clear()
        monkeypatch.setattr(os, "replace", dying)
        with pytest.raises(Killed):
            write(f"new {last}")
        monkeypatch.setattr(os, "replace", replace)
        write(f"again {last}")
        assert (tmp_path / "one").read_text() == (tmp_path / "two").read_text() == f"again {last}"


@pytest.mark.parametrize(
    "text", ["mine", "[]", '{"files": []}', '{"sarrus_files": 2, "files": {}}', "[" * 9999]
)
def test_a_list_that_is_not_ours_stays(tmp_path, text):
    """A file of the list's name that holds something else is not replaced, and neither is anything next to it."""
    (tmp_path / LIST).write_text(text)
    (tmp_path / "one").write_text("mine")
    with pytest.raises(OSError, match="cannot be read"):
        write_output(tmp_path / "one", "new")
    assert (tmp_path / LIST).read_text() == text
    assert (tmp_path / "one").read_text() == "mine"


@pytest.mark.slow
def test_many_outputs_in_random_order(tmp_path):
    """Files of two owners, written, edited and removed at random: ours are replaced, the user's never."""
    rng = np.random.default_rng(0)
    ours, theirs = {}, {}
    for turn in range(400):
        name = f"file-{rng.integers(6)}"
        path = tmp_path / name
        if rng.random() < 0.4:
            # the user writes, edits or removes
            ours.pop(name, None)
            theirs.pop(name, None)
            if rng.random() < 0.5:
                theirs[name] = f"mine {turn}"
                path.write_text(theirs[name])
            else:
                path.unlink(missing_ok=True)
        elif name in theirs:
            with pytest.raises(ForeignFileError):
                write_output(path, f"ours {turn}")
        else:
            ours[name] = f"ours {turn}"
            write_output(path, ours[name])
        for known, text in (ours | theirs).items():
            assert (tmp_path / known).read_text() == text


@pytest.mark.slow
def test_what_a_killed_program_left_is_no_run(desk):
    """Files that were not moved to their places are neither reported on nor judged, and stay."""
    from sarrus.bench.submission import collect_records
    from sarrus.runs.run_folder import find_runs

    assert call("run", "simple-pendulum", "--duration", "0.1", "--out", "out")[0] == 0
    left = Path("out/other") / f"{UNFINISHED}-0123456789ab"
    left.parent.mkdir()
    Path("out/simple-pendulum").rename(left)
    assert find_runs(Path("out/other")) == []
    assert collect_records([Path("out")])[0] == []
    assert call("simulate", "mine.yaml", "--duration", "0.1", "--out", "out/other")[0] == 0
    assert (left / "run.json").exists()
    assert find_runs(Path("out/other")) == [Path("out/other")]
