"""Locks a folder, so that one program at a time uses it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..disk import Directory, UnsafeFileError
from ..names import shown
from ..runs.provenance import now
from .study import StudyError

LOCK = "lock"
# Largest length of the text in a lock.
MOST_CHARACTERS = 1000


@contextmanager
def locked(folder: Directory) -> Iterator[None]:
    """Lock out other programs; the system releases the lock when a program ends, however it ends."""
    me = {"pid": os.getpid(), "host": socket.gethostname(), "since": now()}
    number = folder.open(LOCK, os.O_RDWR | os.O_CREAT)
    with os.fdopen(number, "r+", encoding="utf-8", errors="replace") as file:
        if os.fstat(number).st_nlink > 1:
            raise UnsafeFileError(
                f"{shown(folder.path / LOCK)} has another name elsewhere; delete it, or choose another folder"
            )
        if not _try_lock(file):
            file.seek(0)
            raise StudyError(
                f"folder {shown(folder.path)} is in use {_whose(file.read(MOST_CHARACTERS))}; wait for it, or "
                "choose another --out"
            )
        file.seek(0)
        _check_owner(folder, file.read(MOST_CHARACTERS), me["host"])
        try:
            _write_owner(number, me)
            yield
        finally:
            os.ftruncate(number, 0)


def _write_owner(number: int, me: dict[str, Any]) -> None:
    text = json.dumps(me).encode()
    os.ftruncate(number, 0)
    os.lseek(number, 0, os.SEEK_SET)
    while text:
        text = text[os.write(number, text) :]


def _try_lock(file: Any) -> bool:
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        return True
    except OSError:
        return False


def _whose(text: str) -> str:
    owner = _read_owner(text)
    if owner is None:
        return "by another program"
    return f"by process {owner['pid']} on {owner['host']} since {owner['since']}"


def _check_owner(folder: Directory, text: str, here: Any) -> None:
    """Reject a file that is not one of our locks, and a lock of another machine.

    Locks on shared disks do not always reach other machines, but the text written into them does.
    """
    owner = _read_owner(text)
    if owner is None and text:
        raise StudyError(
            f"{shown(folder.path / LOCK)} exists, and sarrus did not write it; choose another --out"
        )
    if owner is not None and owner["host"] != here:
        raise StudyError(
            f"folder {shown(folder.path)} is in use {_whose(text)}, another machine; if that program is dead, "
            f"delete {shown(folder.path / LOCK)}"
        )


def _read_owner(text: str) -> dict[str, str] | None:
    """Return the owner of a lock in printable words; None if it is not stated."""
    try:
        owner = json.loads(text)
        return {name: shown(owner[name]) for name in ("pid", "host", "since")}
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
