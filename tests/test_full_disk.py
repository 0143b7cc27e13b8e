"""Full disks: every command that writes ends with a sentence and exit status 2, and leaves what was there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sarrus.bench.method_check import _four_bar as four_bar
from sarrus.disk import UNFINISHED, FullDiskError, new_file, write_file
from sarrus.simulate import simulate

resource = pytest.importorskip("resource", reason="this system has no limits on the size of files")

STUDY = {
    "sarrus_study": 1,
    "mechanism": "mine.yaml",
    "vary": {"bodies.crank.mass": [1.0, 2.0, 3.0]},
    "simulate": {"duration": 0.1},
}
# runs commands with a largest size of files; a crash of the process is what the parent sees
CHILD = """
import contextlib, io, json, os, resource, sys
from pathlib import Path
from sarrus.cli import main

def look():
    files = [p for p in Path().rglob("*") if p.is_file() or p.is_symlink()]
    return {str(p): (p.stat().st_size, hash(p.read_bytes())) for p in files}

def run(words, limit):
    before, text = look(), io.StringIO()
    sys.argv = ["sarrus", *words]
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            main()
        except SystemExit as end:
            code = end.code
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    after = look()
    new = {name: size for name, (size, _) in after.items() if name not in before}
    changed = [name for name in before if after.get(name) != before[name]]
    return {"limit": limit, "code": code, "said": text.getvalue(), "new": new, "changed": changed}

print(json.dumps([run(*turn) for turn in json.loads(sys.argv[1])]))
"""
EVERY = -1


def run_limited(*turns):
    """Commands, each with the largest size of a file [bytes], in one other process; what became of each."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(turns)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "1000"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with a model, a study and a run."""
    monkeypatch.chdir(tmp_path)
    four_bar().save("mine.yaml")
    Path("study.yaml").write_text(json.dumps(STUDY))
    return tmp_path


# what each command writes is the last word, or goes into the folder of that name
COMMANDS = {
    "run": ("run", "simple-pendulum", "--report", "--out"),
    "simulate": ("simulate", "mine.yaml", "--duration", "2", "--report", "--out"),
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
    "report": ("report", "kept", "--out"),
    "movie mp4": ("movie", "kept", "--until", "0.3", "--size", "128x128"),
    "movie avi": ("movie", "kept", "--until", "0.3", "--size", "128x128"),
    "movie gif": ("movie", "kept", "--until", "0.3", "--size", "128x128"),
    "movie frames": ("movie", "kept", "--until", "0.3", "--size", "128x128"),
    "export": ("export", "double-four-bar"),
    "export urdf": ("export", "mine.yaml"),
    "import": ("import", "mine.yaml"),
    "spec": ("spec", "write", "simple-pendulum", "--out"),
    "new method": ("new", "method"),
    "design": ("design", "mine.yaml", "--joint", "A", "--csv"),
    "submit": ("submit", "kept-problem", "--out"),
}
ENDINGS = {
    **{"report": ".html", "movie mp4": ".mp4", "movie avi": ".avi", "movie gif": ".gif"},
    **{
        "export": ".yaml",
        "export urdf": ".urdf",
        "import": ".yaml",
        "spec": ".xml",
        "new method": ".py",
        "design": ".csv",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_on_a_full_disk(desk, command):
    """At sizes below that of any file it writes: exit status 2, one sentence, and not a byte has changed."""
    words, ending = COMMANDS[command], ENDINGS.get(command, "")
    if "kept" in words:
        run_limited([["simulate", "mine.yaml", "--duration", "0.5", "--out", "kept"], EVERY])
    if "kept-problem" in words:
        run_limited([["run", "simple-pendulum", "--out", "kept-problem"], EVERY])
        words = [word.replace("kept-problem", "kept-problem/simple-pendulum") for word in words]
    (whole,) = run_limited([[*words, f"whole{ending}"], EVERY])
    assert whole["code"] == 0, whole["said"]
    sizes = sorted(size for name, size in whole["new"].items() if name.startswith("whole"))
    # a little below each size: timings in a file have some digits more or fewer in another run
    limits = sorted(
        {1, *(size - 1 - size // 1000 for size in sizes), *(size // 2 for size in sizes)}
    )
    limits = [limit for limit in limits if 0 < limit < sizes[-1]]
    chosen = sorted({limits[0], *limits[1 :: max(len(limits) // 5, 1)], limits[-1]})
    turns = run_limited(*([[*words, f"part-{limit}{ending}"], limit] for limit in chosen))
    for turn in turns:
        reported = f"{turn['limit']} of {sizes}: {turn['said']}"
        # what a run found is printed and kept before its figures are drawn
        half_done = command in ("run", "simulate", "bench", "problem")
        assert turn["code"] == 2, reported
        assert "error:" in turn["said"], reported
        assert "cannot be written: File too large" in turn["said"], reported
        assert "Traceback" not in turn["said"], reported
        assert not turn["changed"], reported
        assert half_done or not turn["new"], reported
        for name, size in turn["new"].items():
            same = name.replace(f"part-{turn['limit']}", "whole")
            assert UNFINISHED not in name, reported
            assert same in whole["new"], reported
            # numbers differ in timings alone
            assert size >= 0.5 * whole["new"][same], reported


@pytest.mark.slow
@pytest.mark.parametrize(
    "limits",
    [(10, 3000, 1_000_000), pytest.param((1000, 5000, 20_000), marks=pytest.mark.soak)],
    ids=str,
)
def test_a_study_on_a_full_disk(desk, limits):
    """Whatever cannot be written, finished runs are kept, and the same command goes on when there is room."""
    words = ["sweep", "study.yaml", "--workers", "1", "--out"]
    (whole,) = run_limited([[*words, "whole"], EVERY])
    assert whole["code"] == 0, whole["said"]
    for limit in limits:
        full, again = run_limited(
            [[*words, f"part-{limit}"], limit], [[*words, f"part-{limit}"], EVERY]
        )
        assert full["code"] == 2, full["said"]
        assert "File too large" in full["said"]
        assert "Traceback" not in full["said"]
        assert not any(UNFINISHED in name for name in full["new"])
        assert again["code"] == 0, again["said"]
        for name in ("results.parquet", "overview.html"):
            assert Path(f"part-{limit}/{name}").exists()
        same = [
            Path(f"{folder}/results.parquet").read_bytes() for folder in ("whole", f"part-{limit}")
        ]
        assert same[0] == same[1]


@pytest.mark.slow
@pytest.mark.parametrize("save", ["save", "save_csv", "save_hdf5", "save_parquet"])
def test_saving_from_python_on_a_full_disk(tmp_path, save):
    """An OSError with a sentence; the file that was there is unchanged, and nothing lies next to it."""
    code = f"""
import resource, sys
from sarrus.bench.method_check import _four_bar
from sarrus.simulate import simulate
result = simulate(_four_bar(), 0.5)
result.{save}("file")
before = open("file", "rb").read()
for share in (0.0001, 0.3, 0.9999):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(share * len(before)), resource.RLIM_INFINITY))
    try:
        result.{save}("file")
    except OSError as error:
        print(error)
    else:
        sys.exit(1)
assert open("file", "rb").read() == before
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("file cannot be written: File too large; what was there") == 3
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.slow
def test_a_small_disk(tmp_path):
    """A disk of 300 kB in memory: the run ends with a sentence, and nothing of it is left."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a small disk in memory")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "sarrus", "run", "double-four-bar", "--out", disk],
            capture_output=True,
            text=True,
            check=False,
        )
        left = list(disk.iterdir())
    finally:
        subprocess.run(["umount", disk], check=True)
    assert done.returncode == 2, done.stderr
    assert "No space left on device" in done.stderr
    assert not left


@pytest.mark.parametrize("number", ["ENOSPC", "EDQUOT", "EFBIG"])
def test_errors_of_full_disks_have_a_sentence(tmp_path, monkeypatch, number):
    """From the system's number alone, for files written at once and by others; other errors stay as they are."""
    import errno

    path = tmp_path / "file"
    path.write_text("old")

    def full(*_, **__):
        raise OSError(getattr(errno, number), "words of the system")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(FullDiskError, match=r"file cannot be written: .*Make room") as caught:
        write_file(path, "new")
    assert caught.value.errno == getattr(errno, number)
    with pytest.raises(FullDiskError, match="file cannot be written"), new_file(path) as half:
        half.write_text("new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_result_is_made_in_memory(tmp_path, monkeypatch):
    """Not a byte of a result's file is written by HDF5 itself, which may crash where a disk is full."""
    import h5py

    opened = []
    begin = h5py.File.__init__

    def note(self, place, *args, **keys):
        opened.append(type(place).__name__)
        begin(self, place, *args, **keys)

    monkeypatch.setattr(h5py.File, "__init__", note)
    result = simulate(four_bar(), 0.1)
    result.save(tmp_path / "a.h5")
    result.save_hdf5(tmp_path / "b.h5")
    assert opened == ["BytesIO", "BytesIO"]
