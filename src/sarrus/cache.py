"""Compiled code kept between runs: in a folder of the user's own, checked before use, given up on any doubt.

    <place>/                   0700, the user's
      <version>/               0700: everything that compiled it, in its name
        <entry>                checksum and bytes; written whole

What is loaded from here is run, so it has to be what this user wrote: folders and entries belong to the user,
nobody else may write them, and their bytes have the checksum that was written.
What is not so is deleted, told, and
compiled again. If nothing can be kept, everything works without.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .arrays import plain_sum
from .disk import HANDLES, UNFINISHED, Directory, UnsafeFileError
from .names import shown

try:
    import fcntl
except ImportError:
    # not on every system
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("sarrus")

MAGIC = b"sarrus compiled 1\n"
CHECKSUM = hashlib.sha256().digest_size
# versions that nobody used for so long are deleted [s]
KEPT_SECONDS = 60 * 86400.0


class UntrustedError(UnsafeFileError):
    """A folder or entry that somebody else may have written."""


def places() -> list[Path]:
    """Where compiled code may be kept, the first that can be used: the user's cache, or beside temporary files."""
    named = os.environ.get("SARRUS_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    base = Path(named or os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    user = os.geteuid() if HANDLES else os.environ.get("USERNAME", "user")
    found = []
    # users without a home, as in containers, and machines without a place for temporary files
    with suppress(RuntimeError):
        found.append(base.expanduser() / "sarrus")
    with suppress(OSError):
        found.append(Path(tempfile.gettempdir()) / f"sarrus-{user}")
    return found


class Store:
    """Entries of one version; without a folder it keeps nothing.

    version: a word that names all they depend on; what: what they are, in a word for messages.
    """

    def __init__(self, version: str, what: str = "kernels") -> None:
        self.version = version
        self.what = what
        self.folder: Directory | None = None
        self._told: set[str] = set()
        why = ""
        for place in places():
            try:
                self.folder = self._open(place)
                break
            except OSError as error:
                why = why or f"{shown(place)} cannot be used ({_reason(error)})"
        if self.folder is None:
            why = why or "there is neither a home nor a folder for temporary files"
            self._tell(f"compiled {what} are not kept: {why}; every start compiles anew")
        elif why:
            self._tell(f"compiled {what} are kept in {shown(self.folder.path)}: {why}")

    def read(self, name: str) -> bytes | None:
        """The bytes of an entry; None if there is none, or none that can be trusted."""
        if self.folder is None:
            return None
        try:
            number = self.folder.open(name, os.O_RDONLY)
            with os.fdopen(number, "rb") as file:
                _check_owner(os.fstat(number), 0o022)
                content = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            self.drop(name, _reason(error))
            return None
        head = len(MAGIC) + CHECKSUM
        if not content.startswith(MAGIC) or content[len(MAGIC) : head] != self._sum(
            name, content[head:]
        ):
            self.drop(name, "damaged")
            return None
        return content[head:]

    def write(self, name: str, content: bytes) -> None:
        """Keep an entry; where that cannot be done, say so once and go on."""
        if self.folder is None:
            return
        try:
            self.folder.write(name, MAGIC + self._sum(name, content) + content, mode=0o600)
        except OSError as error:
            self._tell(
                f"compiled {self.what} cannot be kept in {shown(self.folder.path)} ({_reason(error)}); this run "
                "goes on, and the next compiles again"
            )

    def has(self, name: str) -> bool:
        """Whether there is an entry of this name."""
        return self.folder is not None and self.folder.status(name) is not None

    def drop(self, name: str, why: str) -> None:
        """Delete an entry that cannot be used, and say so."""
        self._tell(f"compiled {self.what} '{shown(name)}' were not used ({why}): compiled anew")
        if self.folder is not None:
            # what stays is not read either, and the next writing replaces it
            with suppress(OSError):
                self.folder.remove(name)

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Hold a lock that the system frees when a process ends; without locks, go on."""
        number = -1
        if fcntl is not None and self.folder is not None:
            with suppress(OSError):
                number = self.folder.open(f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
                fcntl.flock(number, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if number >= 0:
                os.close(number)

    def _open(self, place: Path) -> Directory:
        place.parent.mkdir(parents=True, exist_ok=True)
        with Directory(place.parent) as above, self._private(above, place.name) as root:
            new = root.status(self.version) is None
            folder = self._private(root, self.version)
            # what is kept on a disk that cannot be written is read all the same
            with suppress(OSError):
                if HANDLES:
                    # when it was last used
                    os.utime(folder.handle)
                if new:
                    _forget_old(root)
            return folder

    def _private(self, above: Directory, name: str) -> Directory:
        """A folder that is this user's alone; what others may have written is deleted."""
        folder = above.child(name, make=True, mode=0o700)
        try:
            _check_private(folder)
        except UntrustedError as error:
            folder.close()
            if not _is_ours(above.status(name)):
                raise
            self._tell(
                f"compiled {self.what} in {shown(above.path / name)} were deleted ({_reason(error)})"
            )
            shutil.rmtree(above.path / name)
            folder = above.child(name, make=True, mode=0o700)
            _check_private(folder)
        except OSError:
            folder.close()
            raise
        return folder

    def _sum(self, name: str, content: bytes) -> bytes:
        """Checksum of an entry at its place: what was moved here from elsewhere is not it."""
        text = hashlib.sha256(f"{self.version}/{name}\0".encode())
        text.update(content)
        return text.digest()

    def _tell(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            log.warning(sentence)


@dataclass(frozen=True)
class Kept:
    """A version on the disk: its size [bytes], number of entries, and when it was used last [s since 1970]."""

    path: Path
    size: int
    entries: int
    used: float


def list_kept() -> list[Kept]:
    """All versions on the disk, the latest first; folders that are not this user's are left out."""
    found = []
    for place, root in _roots():
        with root:
            for name in root.names():
                status = root.status(name)
                if status is not None and stat.S_ISDIR(status.st_mode) and _is_ours(status):
                    sizes = [p.lstat().st_size for p in (place / name).rglob("*") if p.is_file()]
                    found.append(Kept(place / name, plain_sum(sizes), len(sizes), status.st_mtime))
    return sorted(found, key=lambda kept: -kept.used)


def clear() -> int:
    """Delete everything that is kept; returns how many bytes that were."""
    kept = list_kept()
    for version in kept:
        shutil.rmtree(version.path, ignore_errors=True)
    return plain_sum(version.size for version in kept)


def _roots() -> Iterator[tuple[Path, Directory]]:
    for place in places():
        try:
            with Directory(place.parent) as above:
                yield place, above.child(place.name)
        except OSError:
            # not there, or not ours to look into
            continue


def _forget_old(root: Directory) -> None:
    """Delete versions of this user that were not used for long."""
    for name in root.names():
        status = root.status(name)
        old = status is not None and status.st_mtime < time.time() - KEPT_SECONDS
        if old and _is_ours(status) and not name.endswith(UNFINISHED):
            shutil.rmtree(root.path / name, ignore_errors=True)


def _check_private(folder: Directory) -> None:
    """Refuse a folder of somebody else, or one that others may write; keep others from reading it."""
    if not HANDLES:
        return
    status = os.fstat(folder.handle)
    _check_owner(status, 0o022)
    if stat.S_IMODE(status.st_mode) & 0o077:
        os.fchmod(folder.handle, 0o700)


def _check_owner(status: os.stat_result, forbidden: int) -> None:
    if not HANDLES:
        return
    if not _is_ours(status):
        raise UntrustedError(f"it belongs to user {status.st_uid}")
    if stat.S_IMODE(status.st_mode) & forbidden:
        raise UntrustedError("others may write it")


def _is_ours(status: os.stat_result | None) -> bool:
    return status is not None and (not HANDLES or status.st_uid == os.geteuid())


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
