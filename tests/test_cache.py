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
    return tmp_path / "cache" / "sarrus"


def test_what_is_kept_is_read_back_and_private(place):
    """By another store of the same version alone; nobody else may look."""
    Store("a").write("entry", b"code")
    assert Store("a").read("entry") == b"code"
    assert Store("a").read("other") is None
    assert Store("b").read("entry") is None
    for path in (place, place / "a", place / "a" / "entry"):
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_damage_is_noticed_deleted_and_told(place, caplog):
    """Any changed, missing or added byte, at random; what was written again is good."""
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
        assert not path.exists()
    assert "'entry' were not used (damaged)" in caplog.text


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
    assert "others may write it" in caplog.text
    store.write("entry", b"new")
    assert Store("a").read("entry") == b"new"
    assert place.stat().st_mode & 0o077 == 0


@only_root
@pytest.mark.parametrize("which", ["root", "version", "entry"])
def test_what_belongs_to_another_user_is_not_used(place, tmp_path, caplog, which):
    """Another folder is taken then; one that others made beside temporary files is not, either."""
    Store("a").write("entry", b"code")
    path = {"root": place, "version": place / "a", "entry": place / "a" / "entry"}[which]
    os.chown(path, USER, -1)
    store = Store("a")
    assert store.read("entry") is None
    assert f"belongs to user {USER}" in caplog.text
    if which != "entry":
        beside = tmp_path / "temporary" / "sarrus-0"
        assert store.folder.path == beside / "a"
        os.chown(beside, USER, -1)
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
    assert "every start compiles anew" in caplog.text


def test_a_user_without_a_home_has_a_cache(place, monkeypatch, caplog):
    """As in containers: beside temporary files; without these too, none, and it is said."""

    def no_home(path):
        raise RuntimeError("Could not determine home directory.")

    for name in ("SARRUS_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
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


def test_a_full_disk_is_told_once(place, monkeypatch, caplog):
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
    assert not list((place / "a").iterdir())


def test_old_versions_go_by_themselves_and_all_by_command(place):
    """A new version deletes what nobody used for long; others stay until they are cleared."""
    Store("old").write("entry", b"code")
    Store("young").write("entry", b"code")
    os.utime(place / "old", (1, 1))
    Store("new")
    assert sorted(p.name for p in place.iterdir()) == ["new", "young"]
    assert [k.path.name for k in cache.list_kept()] == ["new", "young"]
    assert cache.clear() > 0
    assert not list(place.iterdir())


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
    for harmed in (bytes(flipped), good[: len(good) // 2], pickle.dumps(Planted())):
        entry.write_bytes(harmed)
        hits, said = run()
        assert hits == 0
        assert "were not used (damaged)" in said
        assert entry.read_bytes() == good or run()[0] == 1
    entry.chmod(0o666)
    assert run()[0] == 0
    # a temporary folder in which the place that would be taken is a file
    (tmp_path / f"sarrus-{os.geteuid()}").touch()
    hits, said = run(SARRUS_CACHE_DIR="/proc/nowhere", TMPDIR=str(tmp_path))
    assert hits == 0
    assert "are not kept" in said
    assert not (tmp_path / "planted").exists()


def test_messages_are_warnings(place, caplog):
    """They reach whoever listens to the package's log."""
    with caplog.at_level(logging.WARNING, "sarrus"):
        Store("a").drop("entry", "a reason")
    assert caplog.records[0].name == "sarrus"
