"""Files: whole or not there, never through a link, with bounds on what is read."""

import os

import pytest

from sarrus.disk import Directory, UnsafeFileError, new_file, read_file, write_file


def test_a_file_is_replaced_whole(tmp_path):
    """What fails in between leaves the old one, and nothing near it."""
    path = tmp_path / "file.txt"
    write_file(path, "old")

    with pytest.raises(ZeroDivisionError), new_file(path) as half:
        half.write_text(f"new {1 / 0}")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with new_file(path) as half:
        # some determine the format by the end of a name
        assert half.suffix == ".txt"
        half.write_text("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("write", [write_file, None], ids=["at once", "by others"])
def test_a_link_is_replaced_and_not_followed(tmp_path, write):
    """Also one that leads nowhere."""
    (tmp_path / "outside").write_text("mine")
    for target in ("outside", "nowhere"):
        path = tmp_path / "link"
        path.symlink_to(tmp_path / target)
        if write is not None:
            write(path, "new")
        else:
            with new_file(path) as half:
                half.write_text("new")
        assert not path.is_symlink()
        assert path.read_text() == "new"
        path.unlink()
    assert (tmp_path / "outside").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("what", ["folder", "pipe", "device", "link to a device"])
def test_what_is_no_file_is_not_replaced(tmp_path, what):
    """A folder, a pipe or a device stays what it is."""
    path = tmp_path / "thing"
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/null")
    with pytest.raises(UnsafeFileError, match="thing is"):
        write_file(path, "new")
    with pytest.raises(UnsafeFileError, match="thing is"), new_file(path):
        pass
    assert path.exists()
    assert not path.is_file()


def test_folders_behind_links_are_rejected(tmp_path):
    """One that is there, and one that should be made."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link").symlink_to(tmp_path / "outside")
    with Directory(tmp_path / "inside") as folder:
        for make in (False, True):
            with pytest.raises(UnsafeFileError, match="link is a link"):
                folder.child("link", make=make)
        folder.remove("link")
    assert (tmp_path / "outside").is_dir()


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "/etc/passwd", "a\0b"])
def test_names_stay_in_their_folder(tmp_path, name):
    """Whatever a name of a part says."""
    with Directory(tmp_path) as folder:
        for act in (folder.read, folder.remove, folder.status, folder.child):
            with pytest.raises(UnsafeFileError, match="is not a name of a file"):
                act(name)
        with pytest.raises(UnsafeFileError, match="is not a name of a file"):
            folder.write(name, b"")


def test_no_handle_is_lost(tmp_path):
    """Folders that nobody closed, and folders that cannot be opened."""
    for _ in range(5000):
        Directory(tmp_path)
        with pytest.raises(OSError, match="No such file"):
            Directory(tmp_path / "nowhere")


def test_no_more_is_read_than_allowed(tmp_path):
    """A file that says it is empty and is not, a large one, and a pipe."""
    assert len(read_file("/proc/self/status", 10_000)) > 100
    (tmp_path / "large").write_bytes(bytes(1000))
    assert len(read_file(tmp_path / "large", 1000)) == 1000
    for path in (tmp_path / "large", "/proc/self/status"):
        with pytest.raises(UnsafeFileError, match="larger than"):
            read_file(path, 99)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnsafeFileError, match="not a plain file"):
        read_file(tmp_path / "pipe", 10)
