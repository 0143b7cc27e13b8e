"""Cache of compiled code on disk, in folders created by this program, verified before use, ignored on any doubt.

    <place>/                   0700, owned by the user
      CACHEDIR.TAG             the marker: this program made the folder
      <version>/               0700: its name includes everything the compilation depends on
        CACHEDIR.TAG
        <entry>                header, checksum and bytes; written completely or not at all

Code loaded from here is executed, so it must be what this user wrote: folders and entries belong to the user,
nobody else may write them, and their bytes match the stored checksum. Everything else is compiled again.

Only files that begin with our header, in a folder with our marker, are ever removed or replaced. Each is checked
immediately before, and none is reached through a link. A folder that has entries but no marker belongs to
somebody else and is not used. If nothing can be cached, everything works without the cache.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
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
    # not available on every system
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("sarrus")

MAGIC = b"sarrus compiled 1\n"
CHECKSUM = hashlib.sha256().digest_size
# folders created by this program contain this file with exactly these bytes; backup tools look for the first line
MARKER = "CACHEDIR.TAG"
MARK = b"""Signature: 8a477f597d28d172789f06886806bc55
# Compiled code of the Python package sarrus. `sarrus cache --clear` removes it; so may you.
"""
_HALF_A_MARKER = re.compile(rf"{re.escape(MARKER)}\.[0-9a-f]+{re.escape(UNFINISHED)}")
# versions unused for this long are deleted [s]
KEPT_SECONDS = 60 * 86400.0


class UntrustedError(UnsafeFileError):
    """A folder or entry that this program did not create, or that somebody else may have written."""


def places() -> list[Path]:
    """Candidate folders for compiled code, best first: the user's cache, or next to temporary files."""
    named = os.environ.get("SARRUS_CACHE_DIR")
    base = Path(named or os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    user = os.geteuid() if HANDLES else os.environ.get("USERNAME", "user")
    found = []
    # users without a home, as in containers, and machines without a folder for temporary files
    with suppress(RuntimeError):
        found.append(base.expanduser() / "sarrus-code")
    with suppress(OSError):
        found.append(Path(tempfile.gettempdir()) / f"sarrus-code-{user}")
    return found


class Store:
    """Cache entries of one version; without a folder it stores nothing.

    version: a word that identifies everything they depend on; what, without: what they are, and what happens
    without them, for messages.
    """

    def __init__(
        self,
        version: str,
        what: str = "compiled kernels",
        without: str = "the next start compiles again",
    ) -> None:
        self.version = version
        self.what = what
        self.without = without
        self.folder: Directory | None = None
        self._warned: set[str] = set()
        why = ""
        for place in places():
            try:
                self.folder = self._open(place)
                break
            except OSError as error:
                why = why or f"{shown(place)} cannot be used ({_reason(error)})"
        if self.folder is None:
            why = why or "there is neither a home nor a folder for temporary files"
            self._warn(f"{what}: not kept, because {why}; {without}")
        elif why:
            self._warn(f"{what}: kept in {shown(self.folder.path)}, because {why}")

    def read(self, name: str) -> bytes | None:
        """The bytes of an entry; None if it does not exist or cannot be trusted."""
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
        if content[:head] != MAGIC + self._sum(name, content[head:]):
            ours = not content or content.startswith(MAGIC)
            self.drop(name, "damaged" if ours else "sarrus did not write it, so it stays")
            return None
        return content[head:]

    def write(self, name: str, content: bytes) -> None:
        """Store an entry; if that fails, warn once and continue."""
        if self.folder is None:
            return
        try:
            _check_replaceable(self.folder, name)
            self.folder.write(name, MAGIC + self._sum(name, content) + content, mode=0o600)
        except OSError as error:
            self._warn(
                f"{self.what}: not kept in {shown(self.folder.path)} ({_reason(error)}); {self.without}"
            )

    def has(self, name: str) -> bool:
        """Whether an entry of this name exists."""
        return self.folder is not None and self.folder.status(name) is not None

    def drop(self, name: str, why: str) -> None:
        """Remove an unusable entry if this program created it, and report it."""
        self._warn(f"{self.what}: '{shown(name)}' was not used ({why}) and is made again")
        if self.folder is not None:
            with suppress(OSError):
                _remove_entry(self.folder, name)

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Hold a lock that the system releases when a process ends; without lock support, continue unlocked."""
        number = -1
        if fcntl is not None and self.folder is not None:
            with suppress(OSError):
                number = self.folder.open(f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
                if not os.fstat(number).st_size:
                    # like everything that may be removed, the lock file begins with the header
                    os.write(number, MAGIC)
                fcntl.flock(number, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if number >= 0:
                os.close(number)

    def _open(self, place: Path) -> Directory:
        place.parent.mkdir(parents=True, exist_ok=True)
        with Directory(place.parent) as above, self._own(above, place.name) as root:
            new = root.status(self.version) is None
            folder = self._own(root, self.version)
            # entries on a read-only disk can still be read
            with suppress(OSError):
                if HANDLES:
                    # time of last use
                    os.utime(folder.handle)
                if new:
                    _remove_old(root)
            return folder

    def _own(self, above: Directory, name: str) -> Directory:
        """A folder that this program created and only this user may write; raises UntrustedError otherwise."""
        folder = above.child(name, make=True, mode=0o700)
        try:
            _claim(folder)
            if _close_to_others(folder) and _remove_all(folder):
                self._warn(
                    f"{self.what}: those in {shown(folder.path)} were removed, because others could write there"
                )
        except OSError:
            folder.close()
            raise
        return folder

    def _sum(self, name: str, content: bytes) -> bytes:
        """Checksum of an entry including its location, so that a file moved from elsewhere does not match."""
        text = hashlib.sha256(f"{self.version}/{name}\0".encode())
        text.update(content)
        return text.digest()

    def _warn(self, sentence: str) -> None:
        if sentence not in self._warned:
            self._warned.add(sentence)
            log.warning(sentence)


@dataclass(frozen=True)
class CachedVersion:
    """A version on disk: its size [bytes], number of entries, and time of last use [s since 1970]."""

    path: Path
    size: int
    entries: int
    used: float


def list_kept() -> list[CachedVersion]:
    """All versions on disk, the latest first, only in folders that this program created."""
    found = []
    for root in _roots():
        for name in root.names():
            with suppress(OSError), _open_marked(root, name) as folder:
                entries = [_find_entry(folder, entry) for entry in folder.names()]
                sizes = [entry.st_size for entry in entries if entry is not None]
                used = os.stat(folder.path).st_mtime
                found.append(CachedVersion(folder.path, plain_sum(sizes), len(sizes), used))
    return sorted(found, key=lambda kept: -kept.used)


def clear() -> int:
    """Remove everything that this program has cached, and nothing else; returns the number of bytes."""
    removed = 0
    for root in _roots():
        removed += _remove_all(root)
        left = [name for name in root.names() if name != MARKER]
        if left:
            log.warning(
                f"{shown(root.path)}: {', '.join(map(shown, left[:3]))} stays: sarrus did not write all of it"
            )
    return removed


def _roots() -> Iterator[Directory]:
    for place in places():
        # missing, or not accessible
        with (
            suppress(OSError),
            Directory(place.parent) as above,
            _open_marked(above, place.name) as root,
        ):
            yield root


def _open_marked(above: Directory, name: str) -> Directory:
    """A folder that this program created; raises UntrustedError for any other."""
    folder = above.child(name)
    try:
        _check_owner(_status(folder), 0)
        if not _is_marked(folder):
            raise UntrustedError(f"{shown(folder.path)} has no marker of this program")
    except OSError:
        folder.close()
        raise
    return folder


def _remove_old(root: Directory) -> None:
    """Remove versions that have not been used for long."""
    for name in root.names():
        status = root.status(name)
        if status is not None and status.st_mtime < time.time() - KEPT_SECONDS:
            _remove_version(root, name)


def _remove_version(root: Directory, name: str) -> int:
    """Remove the entries of a version, and its folder if it is then empty; returns the number of bytes."""
    removed = 0
    with suppress(OSError):
        with _open_marked(root, name) as folder:
            removed = _remove_entries(folder)
            if folder.names() != [MARKER]:
                return removed
            folder.remove(MARKER)
        root.remove_empty(name)
    return removed


def _remove_all(folder: Directory) -> int:
    """Remove the entries of a folder and of the versions in it; returns the number of bytes."""
    return _remove_entries(folder) + plain_sum(
        _remove_version(folder, name) for name in folder.names()
    )


def _remove_entries(folder: Directory) -> int:
    return plain_sum(_remove_entry(folder, name) for name in folder.names())


def _remove_entry(folder: Directory, name: str) -> int:
    """Remove a file if it is a cache entry; returns its size [bytes]."""
    entry = _find_entry(folder, name)
    if entry is None:
        return 0
    folder.remove(name)
    return entry.st_size


def _find_entry(folder: Directory, name: str) -> os.stat_result | None:
    """The system's status of a cache entry; None for other files, links and folders."""
    try:
        number = folder.open(name, os.O_RDONLY)
    except OSError:
        return None
    try:
        opened, there = os.fstat(number), folder.status(name)
        is_entry = os.read(number, len(MAGIC)) == MAGIC
    finally:
        os.close(number)
    same = there is not None and os.path.samestat(opened, there)
    return opened if is_entry and same and _is_ours(opened) else None


def _check_replaceable(folder: Directory, name: str) -> None:
    """Raise an error instead of overwriting a file that is not a cache entry."""
    there = folder.status(name)
    if there is None or _find_entry(folder, name) is not None:
        return
    # empty: what a power failure leaves of a new file
    if not (stat.S_ISREG(there.st_mode) and there.st_size == 0):
        raise UntrustedError(f"'{shown(name)}' there was not written by sarrus and stays")


def _claim(folder: Directory) -> None:
    """Mark an empty folder as ours; reject one of another user, and one with entries but no marker."""
    _check_owner(_status(folder), 0)
    if _is_marked(folder):
        return
    others = [name for name in folder.names() if not _HALF_A_MARKER.fullmatch(name)]
    # another process of ours may have marked it meanwhile; each begins with the marker
    if others and not _is_marked(folder):
        raise UntrustedError(f"it holds '{shown(others[0])}' and was not made by sarrus")
    if not others:
        folder.write(MARKER, MARK, mode=0o600)


def _is_marked(folder: Directory) -> bool:
    try:
        with os.fdopen(folder.open(MARKER, os.O_RDONLY), "rb") as file:
            _check_owner(os.fstat(file.fileno()), 0o022)
            return file.read(len(MARK) + 1) == MARK
    except OSError:
        return False


def _close_to_others(folder: Directory) -> bool:
    """Remove all permissions of others; returns whether they could write."""
    if not HANDLES:
        return False
    rights = stat.S_IMODE(_status(folder).st_mode)
    if rights & 0o077:
        os.fchmod(folder.handle, 0o700)
    return bool(rights & 0o022)


def _status(folder: Directory) -> os.stat_result:
    return os.fstat(folder.handle) if HANDLES else os.stat(folder.path)


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
