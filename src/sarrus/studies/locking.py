"""One program at a time in a folder."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..runs.provenance import now
from .study import StudyError

LOCK = "lock"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other programs out; the system frees the lock when a program ends, however it ends."""
    me = {"pid": os.getpid(), "host": socket.gethostname(), "since": now()}
    with open(path / LOCK, "a+", encoding="utf-8") as file:
        if not _try_lock(file):
            file.seek(0)
            raise StudyError(
                f"folder {path} is in use {_whose(file.read())}; wait for it, or choose another --out"
            )
        file.seek(0)
        _check_host(path, file.read(), me["host"])
        file.truncate(0)
        file.write(json.dumps(me))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)
            file.flush()


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
    try:
        owner = json.loads(text)
        return f"by process {owner['pid']} on {owner['host']} since {owner['since']}"
    except (ValueError, KeyError, TypeError):
        return "by another program"


def _check_host(path: Path, text: str, here: Any) -> None:
    """Locks of shared disks do not always reach other machines; what they left written does."""
    try:
        owner = json.loads(text)
        host = owner["host"]
    except (ValueError, KeyError, TypeError):
        return
    if host != here:
        raise StudyError(
            f"folder {path} is in use {_whose(text)}, another machine; if that program is dead, delete "
            f"{path / LOCK}"
        )
