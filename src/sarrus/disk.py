"""Folders opened by handle: nothing in them is read, written or deleted through a link.

Names are opened relative to the handle, and links are rejected, so another process with write access cannot
redirect an operation between check and use. Files are written under a temporary name and renamed, so that they are
complete or absent. On systems without such handles, paths are used instead.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .arrays import plain_sum
from .names import shown

Content = bytes | memoryview
# name prefix of incomplete files
UNFINISHED = ".unfinished"

HANDLES = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
# do not follow links, do not wait for the other end of a pipe
_OPEN = plain_sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


class UnsafeFileError(OSError):
    """A link, a pipe or another user's file where a regular file of ours is expected; the message says which."""


class FullDiskError(OSError):
    """The disk is full, or the file exceeds a size limit; the message says which."""


# disk full, quota exceeded, file size limit exceeded
_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG}


@contextmanager
def explain_full_disk(path: Path) -> Iterator[None]:
    """Replace the system's disk-full errors by a sentence that names the file to be written."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.errno not in _FULL:
            raise
        full = FullDiskError(
            f"{shown(path)} cannot be written: {os.strerror(error.errno)}; what was there before is unchanged. "
            "Make room, or choose another folder"
        )
        full.errno = error.errno
        raise full from error


class Directory:
    """A folder; operations on it cannot leave it."""

    def __init__(self, path: str | Path, handle: int = -1) -> None:
        self.handle = handle
        self.path = Path(path)
        if handle < 0 and HANDLES:
            self.handle = os.open(path, _FOLDER)

    def __enter__(self) -> Directory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # a folder that is never closed would leak a system handle
        self.close()

    def close(self) -> None:
        """Close the handle."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1

    def child(self, name: str, *, make: bool = False, mode: int = 0o777) -> Directory:
        """A folder in this one, created if requested; never one reached through a link."""
        if make:
            with suppress(FileExistsError):
                os.mkdir(*self._at(name), mode=mode, **self._by())
        found = self.status(name)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.path / name))
        if not stat.S_ISDIR(found.st_mode):
            self._reject(name, found, "a folder")
        if not HANDLES:
            return Directory(self.path / name)
        flags = _FOLDER | os.O_NOFOLLOW
        return Directory(self.path / name, os.open(*self._at(name), flags, **self._by()))

    def names(self, ending: str = "") -> list[str]:
        """Names of its entries, sorted."""
        found = os.listdir(self.handle if HANDLES else self.path)
        return sorted(name for name in found if name.endswith(ending))

    def status(self, name: str) -> os.stat_result | None:
        """The system's status of an entry, of a link itself; None if it does not exist."""
        try:
            return os.stat(*self._at(name), follow_symlinks=False, **self._by())
        except FileNotFoundError:
            return None

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """File descriptor of an opened regular file; links, pipes and devices are rejected."""
        try:
            number = os.open(*self._at(name), flags | _OPEN, mode, **self._by())
        except OSError as error:
            found = self.status(name)
            if found is not None and not stat.S_ISREG(found.st_mode):
                self._reject(name, found, "a plain file", error)
            raise
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode):
            os.close(number)
            self._reject(name, found, "a plain file")
        return number

    def read(self, name: str, most: int | None = None) -> bytes:
        """The bytes of a regular file; rejected if longer than `most`, whatever size the system reports."""
        with os.fdopen(self.open(name, os.O_RDONLY), "rb") as file:
            content = file.read() if most is None else file.read(most + 1)
        if most is not None and len(content) > most:
            raise UnsafeFileError(
                f"{shown(self.path / name)} is larger than {most} bytes; more is not read"
            )
        return content

    def write(self, name: str, content: Content, *, mode: int = 0o666, sync: bool = False) -> None:
        """Write a file completely or not at all; sync: make it survive a power failure.

        A link is replaced. The permissions of a replaced file are kept.
        """
        with explain_full_disk(self.path / name):
            self._write(name, content, mode, sync)

    def _write(self, name: str, content: Content, mode: int, sync: bool) -> None:
        self.check_target(name)
        before = self.status(name)
        temporary = f"{name}.{secrets.token_hex(6)}{UNFINISHED}"
        number = self.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(number, "wb") as file:
                if HANDLES and before is not None and stat.S_ISREG(before.st_mode):
                    os.fchmod(number, stat.S_IMODE(before.st_mode))
                file.write(content)
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
            self.move(temporary, self, name)
        except BaseException:
            self.remove(temporary)
            raise
        if sync and HANDLES:
            os.fsync(self.handle)

    def check_target(self, name: str) -> None:
        """Raise an error instead of replacing a folder, pipe or device, or a link to one."""
        with suppress(FileNotFoundError):
            found = os.stat(*self._at(name), **self._by())
            if not stat.S_ISREG(found.st_mode):
                self._reject(name, found, "a plain file")

    def move(self, name: str, to: Directory, new: str) -> None:
        """Rename an entry, a link itself; an existing entry of the new name is replaced."""
        by: dict[str, Any] = {}
        if HANDLES:
            by = {"src_dir_fd": self.handle, "dst_dir_fd": to.handle}
        os.replace(*self._at(name), *to._at(new), **by)

    def remove(self, name: str) -> None:
        """Delete a file, or a link itself; does nothing if it does not exist."""
        with suppress(FileNotFoundError):
            os.unlink(*self._at(name), **self._by())

    def remove_empty(self, name: str) -> None:
        """Delete a folder in this one; raises OSError if it is not empty, or is a link."""
        os.rmdir(*self._at(name), **self._by())

    def _at(self, name: str) -> tuple[Any]:
        if name in ("", ".", "..") or "/" in name or os.sep in name or "\0" in name:
            raise UnsafeFileError(f"{shown(name)!r} is not a name of a file in {shown(self.path)}")
        return (name,) if HANDLES else (self.path / name,)

    def _by(self) -> dict[str, Any]:
        return {"dir_fd": self.handle} if HANDLES else {}

    def _reject(
        self, name: str, found: os.stat_result, wanted: str, cause: BaseException | None = None
    ) -> None:
        what = "a link" if stat.S_ISLNK(found.st_mode) else f"not {wanted}"
        raise UnsafeFileError(
            f"{shown(self.path / name)} is {what}; nothing is read or written through it: delete it, or "
            "choose another folder"
        ) from cause


def read_file(path: str | Path, most: int) -> bytes:
    """The bytes of a regular file named by a user, up to a limit; follows links to one, rejects pipes."""
    content = read_start(path, most + 1)
    if len(content) > most:
        raise UnsafeFileError(f"{shown(path)} is larger than {most / 1e6:g} MB; more is not read")
    return content


def read_start(path: str | Path, count: int) -> bytes:
    """The first bytes of a regular file named by a user; follows links to one, rejects pipes and devices."""
    number = os.open(path, os.O_RDONLY | _OPEN & ~getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(number, "rb") as file:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise UnsafeFileError(f"{shown(path)} is not a plain file")
        return file.read(count)


def write_file(path: str | Path, content: str | Content) -> Path:
    """Write a file completely or not at all; a link of the same name is replaced, not followed."""
    path = Path(path)
    with Directory(path.parent) as folder:
        folder.write(path.name, content.encode() if isinstance(content, str) else content)
    return path


@contextmanager
def new_file(path: str | Path) -> Iterator[Path]:
    """An empty file next to a path, for others to write; it replaces the path on success."""
    path = Path(path)
    with explain_full_disk(path), Directory(path.parent) as folder:
        folder.check_target(path.name)
        # some writers infer the format from the file extension
        temporary = f"{UNFINISHED}-{secrets.token_hex(6)}-{path.name}"
        os.close(folder.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        try:
            yield path.parent / temporary
            folder.move(temporary, folder, path.name)
        except BaseException:
            folder.remove(temporary)
            raise


@contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """Create a folder and its parents; after an error, new and empty ones are removed."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for path in new:
            with suppress(OSError):
                path.rmdir()
        raise
