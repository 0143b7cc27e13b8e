"""Compiled code that is kept: private, checked before use, never trusted on doubt, and not needed."""

import logging
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import sarrus
from sarrus import cache
from sarrus.cache import Store

SOURCE = Path(sarrus.__file__).parents[1]
USER = 4321

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A cache of this test's own, and temporary files elsewhere."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("SARRUS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "cache" / "sarrus-code"


def test_what_is_kept_is_read_back_and_private(place):
    """By another store of the same version alone; nobody else may look."""
    Store("a").write("entry", b"code")
    assert Store("a").read("entry") == b"code"
    assert Store("a").read("other") is None
    assert Store("b").read("entry") is None
    for path in (place, place / "a", place / "a" / "entry"):
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_damage_is_noticed_deleted_and_reported(place, caplog):
    """Any changed, missing or added byte, at random; entries are removed, files without our header are not."""
    rng = np.random.default_rng(0)
    store = Store("a")
    content = rng.bytes(3000)
    path = place / "a" / "entry"
    for _ in range(300):
        store.write("entry", content)
        whole = bytearray(path.read_bytes())
        kind, at = rng.integers(4), int(rng.integers(len(whole)))
        if kind == 0:
            whole[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del whole[at:]
        elif kind == 2:
            whole[at:at] = rng.bytes(3)
        else:
            whole[at:] = bytes(len(whole) - at + 1)
        path.write_bytes(whole)
        assert store.read("entry") is None
        # without the header it may be anybody's: neither removed nor replaced
        foreign = not whole.startswith(cache.MAGIC)
        assert path.exists() == foreign
        if foreign and whole:
            store.write("entry", content)
            assert path.read_bytes() == whole
            path.unlink()
    assert "'entry' was not used (damaged)" in caplog.text
    assert "'entry' there was not written by sarrus and stays" in caplog.text


def test_an_entry_at_another_place_is_none(place):
    """Whole, but of another name or version."""
    store = Store("a")
    store.write("entry", b"code")
    (place / "a" / "entry").rename(place / "a" / "other")
    assert store.read("other") is None
    store.write("entry", b"code")
    other = Store("b")
    (place / "a" / "entry").rename(place / "b" / "entry")
    assert other.read("entry") is None


def test_links_and_pipes_are_not_read(place, tmp_path):
    """Nor deleted through: the link itself goes."""
    store = Store("a")
    store.write("entry", b"code")
    (tmp_path / "moved").write_bytes((place / "a" / "entry").read_bytes())
    (place / "a" / "entry").unlink()
    (place / "a" / "entry").symlink_to(tmp_path / "moved")
    assert store.read("entry") is None
    assert (tmp_path / "moved").exists()
    os.mkfifo(place / "a" / "pipe")
    assert store.read("pipe") is None


@pytest.mark.parametrize("which", ["root", "version", "entry"])
def test_what_others_may_write_is_not_used(place, caplog, which):
    """A folder of ours that anybody may write is emptied; a file of the kind is deleted."""
    Store("a").write("entry", b"code")
    {"root": place, "version": place / "a", "entry": place / "a" / "entry"}[which].chmod(0o777)
    store = Store("a")
    assert store.read("entry") is None
    assert not (place / "a" / "entry").exists()
    assert (
        "others may write it" if which == "entry" else "others could write there"
    ) in caplog.text
    store.write("entry", b"new")
    assert Store("a").read("entry") == b"new"
    assert place.stat().st_mode & 0o077 == 0


@only_root
@pytest.mark.parametrize("which", ["root", "version", "entry"])
def test_what_belongs_to_another_user_is_not_used(place, tmp_path, caplog, which):
    """Another folder is taken then; one that others made next to temporary files is not, either."""
    Store("a").write("entry", b"code")
    path = {"root": place, "version": place / "a", "entry": place / "a" / "entry"}[which]
    os.chown(path, USER, -1)
    store = Store("a")
    assert store.read("entry") is None
    assert f"belongs to user {USER}" in caplog.text
    if which != "entry":
        nearby = tmp_path / "temporary" / "sarrus-code-0"
        assert store.folder.path == nearby / "a"
        os.chown(nearby, USER, -1)
        assert Store("a").folder is None


def test_without_a_disk_everything_works(place, monkeypatch, caplog):
    """Nothing can be made at either place: nothing is kept, and one sentence says so."""
    monkeypatch.setenv("SARRUS_CACHE_DIR", "/proc/nowhere")
    monkeypatch.setattr(tempfile, "tempdir", "/proc")
    store = Store("a")
    for _ in range(2):
        store.write("entry", b"code")
        assert store.read("entry") is None
        assert not store.has("entry")
        with store.alone("entry"):
            pass
    assert len(caplog.records) == 1
    assert "the next start compiles again" in caplog.text


def test_a_user_without_a_home_has_a_cache(place, monkeypatch, caplog):
    """As in containers: next to temporary files; without these too, none, with a message."""

    def no_home(path):
        raise RuntimeError("Could not determine home directory.")

    for name in ("SARRUS_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "expanduser", no_home)
    Store("a").write("entry", b"code")
    assert Store("a").read("entry") == b"code"
    assert cache.clear() > 0

    def no_folder():
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", no_folder)
    assert Store("a").folder is None
    assert "neither a home nor a folder" in caplog.text


def test_a_full_disk_is_reported_once(place, monkeypatch, caplog):
    """What cannot be written is left out; no half of it stays."""
    store = Store("a")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    for _ in range(3):
        store.write("entry", b"code")
    assert store.read("entry") is None
    assert len(caplog.records) == 1
    assert "No space left on device" in caplog.text
    assert [p.name for p in (place / "a").iterdir()] == [cache.MARKER]


def test_old_versions_go_by_themselves_and_all_by_command(place):
    """A new version deletes what nobody used for long; others stay until they are cleared."""
    Store("old").write("entry", b"code")
    Store("young").write("entry", b"code")
    os.utime(place / "old", (1, 1))
    Store("new")
    assert sorted(p.name for p in place.iterdir()) == [cache.MARKER, "new", "young"]
    assert [k.path.name for k in cache.list_kept()] == ["new", "young"]
    assert cache.clear() > 0
    assert [p.name for p in place.iterdir()] == [cache.MARKER]


# a kernel of this test's own: what is planted, damaged or cut in its cache must not change what it does
KERNEL = """
import sys
from sarrus.kernels.compiler import STORE, entry
import kernel_of_a_test
print(kernel_of_a_test.twice(21.0), kernel_of_a_test.twice.from_disk)
"""
FUNCTION = """
from sarrus.kernels.compiler import entry

@entry
def twice(x):
    return 2.0 * x
"""


class Planted:
    def __reduce__(self):
        return os.mkdir, (os.environ["PLANTED"],)


@pytest.mark.slow
def test_a_real_process_with_harmed_caches(tmp_path, monkeypatch):
    """Good, damaged, cut, replaced by a pickle that runs code, world-writable, no room: the answer is the same."""
    (tmp_path / "kernel_of_a_test.py").write_text(FUNCTION)
    monkeypatch.setenv("PLANTED", str(tmp_path / "planted"))
    base = tmp_path / "cache"

    def run(**more):
        path = os.pathsep.join([str(SOURCE), str(tmp_path), os.environ.get("PYTHONPATH", "")])
        given = {**os.environ, "PYTHONPATH": path, "SARRUS_CACHE_DIR": str(base), **more}
        done = subprocess.run(
            [sys.executable, "-c", KERNEL], env=given, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        answer, hits = done.stdout.split()
        assert float(answer) == 42.0
        return int(hits), done.stderr

    assert run()[0] == 0
    assert run() == (1, "")
    (entry,) = base.rglob("kernel_of_a_test.twice-*")
    good = entry.read_bytes()
    rng = np.random.default_rng(1)
    flipped = bytearray(good)
    for at in rng.integers(len(good), size=20):
        flipped[at] ^= 255
    flipped[: len(cache.MAGIC)] = cache.MAGIC
    for harmed in (bytes(flipped), good[: len(good) // 2]):
        entry.write_bytes(harmed)
        hits, said = run()
        assert hits == 0
        assert "was not used (damaged)" in said
        assert entry.read_bytes() == good or run()[0] == 1
    entry.write_bytes(pickle.dumps(Planted()))
    hits, said = run()
    assert hits == 0
    assert "sarrus did not write it, so it stays" in said
    assert entry.read_bytes() == pickle.dumps(Planted())
    entry.write_bytes(good)
    entry.chmod(0o666)
    assert run()[0] == 0
    # a temporary folder in which the place that would be taken is a file
    (tmp_path / f"sarrus-code-{os.geteuid()}").touch()
    hits, said = run(SARRUS_CACHE_DIR="/proc/nowhere", TMPDIR=str(tmp_path))
    assert hits == 0
    assert "not kept, because" in said
    assert not (tmp_path / "planted").exists()


def test_messages_are_warnings(place, caplog):
    """They reach whoever listens to the package's log."""
    with caplog.at_level(logging.WARNING, "sarrus"):
        Store("a").drop("entry", "a reason")
    assert caplog.records[0].name == "sarrus"


YEARS_AGO = (1, 1)


def plant(folder, outside):
    """What users may have in a folder: files, folders, empty ones, links; all of it old."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "checkout" / "src").mkdir(parents=True)
    (folder / "checkout" / "src" / "thesis.py").write_text("years of work")
    (folder / "empty").mkdir()
    (folder / "notes.txt").write_text("mine")
    (folder / "blank").touch()
    outside.mkdir(parents=True, exist_ok=True)
    (outside / "entry").write_bytes(cache.MAGIC + b"a copy")
    (folder / "folder-link").symlink_to(outside)
    (folder / "file-link").symlink_to(outside / "entry")
    for path in (*folder.rglob("*"), folder):
        os.utime(path, YEARS_AGO, follow_symlinks=False)


def look(*folders):
    """Everything in folders, with content, target and mode."""
    found = {}
    for folder in folders:
        for path in (folder, *sorted(folder.rglob("*"))):
            status = path.lstat()
            what = os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes()
            found[path] = (what, status.st_mode, status.st_mtime)
    return found


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o775, 0o777])
@pytest.mark.parametrize("name", ["sarrus", "sarrus-code"])
@pytest.mark.parametrize("variable", ["SARRUS_CACHE_DIR", "XDG_CACHE_HOME"])
def test_a_folder_of_somebody_else_is_not_used(
    tmp_path, place, monkeypatch, caplog, variable, name, mode
):
    """A home with a folder of our name: nothing in it changes, the next place is used, and a message says so."""
    monkeypatch.delenv("SARRUS_CACHE_DIR")
    monkeypatch.setenv(variable, str(tmp_path / "home"))
    foreign, outside = tmp_path / "home" / name, tmp_path / "outside"
    plant(foreign, outside)
    foreign.chmod(mode)
    before = look(foreign, outside)
    for version in ("a", "b"):
        Store(version).write("entry", b"code")
        assert Store(version).read("entry") == b"code"
    assert len(cache.list_kept()) == 2
    assert cache.clear() > 0
    assert look(foreign, outside) == before
    if name == place.name:
        assert f"{foreign} cannot be used (it holds" in caplog.text
        assert "was not made by sarrus" in caplog.text
        assert "temporary" in str(Store("a").folder.path)
    else:
        assert not caplog.records


@pytest.mark.parametrize("where", ["root", "version"])
def test_foreign_things_in_our_folders_stay(tmp_path, place, caplog, where):
    """Trimming, clearing and folders that others may write remove our entries and nothing else."""
    Store("a").write("entry", b"code")
    outside = tmp_path / "outside"
    folder = place if where == "root" else place / "a"
    plant(folder, outside)
    planted = [path for path in folder.iterdir() if path.name not in (cache.MARKER, "a", "entry")]
    before = look(outside), look(*(path for path in planted if path.is_dir() or path.is_symlink()))

    def check(entries):
        assert (place / "a" / "entry").exists() == entries
        after = (
            look(outside),
            look(*(path for path in planted if path.is_dir() or path.is_symlink())),
        )
        assert after == before
        assert (folder / "notes.txt").read_text() == "mine"
        assert (folder / "blank").exists()

    os.utime(place / "a", YEARS_AGO)
    Store("b")
    check(entries=False)
    Store("a").write("entry", b"code")
    check(entries=True)
    cache.clear()
    check(entries=False)
    assert "sarrus did not write all of it" in caplog.text
    Store("a").write("entry", b"code")
    place.chmod(0o777)
    Store("c")
    check(entries=False)


def test_a_place_behind_a_link_is_not_used(tmp_path, place):
    """Nor is what the link leads to changed, also where it looks like ours."""
    Store("a").write("entry", b"code")
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    os.utime(tmp_path / "elsewhere" / "a", YEARS_AGO)
    before = look(tmp_path / "elsewhere")
    assert "temporary" in str(Store("b").folder.path)
    cache.clear()
    assert look(tmp_path / "elsewhere") == before


@pytest.mark.parametrize("content", [b"", b"Signature: 8a477f597d28d172789f06886806bc55\n", None])
def test_the_marker_of_another_program_is_none(tmp_path, place, content):
    """Another program's tag, an empty one, and a link to a marker of ours."""
    place.mkdir(parents=True)
    if content is None:
        (tmp_path / "mark").write_bytes(cache.MARK)
        (place / cache.MARKER).symlink_to(tmp_path / "mark")
    else:
        (place / cache.MARKER).write_bytes(content)
    before = look(place)
    assert "temporary" in str(Store("a").folder.path)
    assert look(place) == before


def test_an_entry_name_that_is_taken_stays_taken(place, tmp_path, caplog):
    """A file, a folder or a link at the place of an entry is neither removed nor replaced."""
    store = Store("a")
    (place / "a" / "file").write_text("mine")
    (place / "a" / "folder").mkdir()
    (tmp_path / "target").write_bytes(cache.MAGIC)
    (place / "a" / "link").symlink_to(tmp_path / "target")
    before = look(
        place / "a" / "file", place / "a" / "folder", place / "a" / "link", tmp_path / "target"
    )
    for name in ("file", "folder", "link"):
        assert store.read(name) is None
        store.write(name, b"code")
        assert store.read(name) is None
    cache.clear()
    assert look(*before) == before
    assert "not kept in" in caplog.text


def test_processes_that_begin_together_share_a_new_place(place, monkeypatch, caplog):
    """One that sees the folder before the marker of another is in it does not take it for foreign."""
    (place / "a").mkdir(parents=True)
    place.chmod(0o700)
    half = place / f"{cache.MARKER}.0123456789ab{cache.UNFINISHED}"
    half.touch()
    looked = cache._is_marked

    def marked_meanwhile(folder):
        found = looked(folder)
        if half.exists() and folder.path == place:
            half.write_bytes(cache.MARK)
            half.rename(place / cache.MARKER)
        return found

    monkeypatch.setattr(cache, "_is_marked", marked_meanwhile)
    assert Store("a").folder.path == place / "a"
    assert not caplog.records


DRIVEN = """
import sarrus
m = sarrus.Mechanism("wheel")
m.body("wheel", 1, (0, 0), 1)
m.revolute("A", m.ground, "wheel", at=(0, 0))
m.drive("motor", "A", sarrus.Polynomial([0, 1]))
sarrus.simulate(m, 1).drive_force("motor")
"""


@pytest.mark.slow
def test_a_first_driven_run_compiles_only_what_it_uses(tmp_path):
    """No kernel is compiled twice for other types: outputs of driven mechanisms need no SIMD lanes."""
    given = {**os.environ, "PYTHONPATH": str(SOURCE), "SARRUS_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", DRIVEN], env=given, check=True, capture_output=True)
    kernels = [
        path.name.rpartition("-")[0] for path in (tmp_path / "cache").rglob("sarrus.kernels.*")
    ]
    assert "sarrus.kernels.recording.sample" in kernels
    assert "sarrus.kernels.recording.eval_readings" in kernels
    assert len(kernels) == len(set(kernels))
