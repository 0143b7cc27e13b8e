"""Files whose names this program chooses: they replace only files that it wrote at the same place before.

A folder for such files (a run, a benchmark, frames of a movie) has a list of them, `.sarrus-files`: their names,
and the SHA-256 of their contents. A file that is not in the list, or that was changed since, belongs to the user:
it is neither replaced nor removed, and an error names it. The list is written before the files, so a program that
is killed in between leaves no file that the next run would take for the user's.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .disk import UNFINISHED, Directory, UnsafeFileError, explain_full_disk, made_folder, write_file
from .names import shown

LIST = ".sarrus-files"
VERSION = 1
# limit of the size of a list [bytes]
MOST_BYTES = 100_000_000
PIECE = 1 << 20

Digests = dict[str, list[str]]


class ForeignFileError(UnsafeFileError):
    """A file that this program did not write, under the name of an output; the message names it."""


@contextmanager
def new_outputs(folder: str | Path) -> Iterator[Path]:
    """An empty folder to fill with files; they move into `folder` together on success.

    After an error `folder` is unchanged. Raises ForeignFileError where a file of the user would be replaced.
    """
    folder = Path(folder)
    with explain_full_disk(folder), made_folder(folder), Directory(folder) as place:
        stage = f"{UNFINISHED}-{secrets.token_hex(6)}"
        with place.child(stage, make=True, mode=0o700) as inner:
            try:
                yield folder / stage
                admit(place, {name: _digest(inner, name) for name in inner.names()})
                for name in inner.names():
                    inner.move(name, place, name)
            finally:
                for name in inner.names():
                    inner.remove(name)
                place.remove_empty(stage)


def is_finished(path: Path) -> bool:
    """Whether a file was moved to its place, rather than left over from a killed program."""
    return not any(part.startswith(UNFINISHED) for part in path.parts)


@contextmanager
def new_output(path: str | Path) -> Iterator[Path]:
    """A file to write, under its name in another folder; it moves to `path` on success."""
    path = Path(path)
    with new_outputs(path.parent) as stage:
        yield stage / path.name


def write_output(path: str | Path, content: str | bytes) -> Path:
    """Write a file completely or not at all; raises ForeignFileError if a file of the user would be replaced."""
    with new_output(path) as half:
        write_file(half, content)
    return Path(path)


def check_outputs(folder: str | Path, names: Iterable[str]) -> None:
    """Raise ForeignFileError, before work begins, if a folder has files of the user in place of ours."""
    with suppress(FileNotFoundError), Directory(folder) as place:
        check_place(place, names)


def check_place(place: Directory, names: Iterable[str]) -> None:
    """The same for an open folder."""
    known = _read_list(place)
    for name in names:
        _check(place, name, known)


def admit(place: Directory, digests: dict[str, str]) -> None:
    """List files that are about to be written, by the SHA-256 of their bytes; raises ForeignFileError."""
    known = _read_list(place)
    for name, digest in digests.items():
        there = _check(place, name, known, digest)
        known[name] = list(dict.fromkeys(filter(None, (there, digest))))
    text = json.dumps({"sarrus_files": VERSION, "files": known}, indent=1, ensure_ascii=False)
    place.write(LIST, text.encode() + b"\n")


def _check(place: Directory, name: str, known: Digests, new: str = "") -> str:
    """The digest of the existing file of this name, "" for none; raises ForeignFileError if it is not ours."""
    status = place.status(name)
    if status is None:
        return ""
    there = _digest(place, name) if stat.S_ISREG(status.st_mode) else ""
    if not there or there not in (*known.get(name, ()), new):
        raise ForeignFileError(
            f"{shown(place.path / name)} exists, and sarrus did not write it or it was changed since; nothing was "
            "replaced. Move it away, or choose another name or folder"
        )
    return there


def _read_list(place: Directory) -> Digests:
    if place.status(LIST) is None:
        return {}
    try:
        record = json.loads(place.read(LIST, MOST_BYTES))
        files = {str(name): list(map(str, x)) for name, x in record["files"].items()}
        if record["sarrus_files"] != VERSION:
            raise ValueError("of another version")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnsafeFileError(
            f"{shown(place.path / LIST)}, the list of files that sarrus wrote there, cannot be read "
            f"({shown(error)}); choose another folder"
        ) from error
    return files


def _digest(place: Directory, name: str) -> str:
    with os.fdopen(place.open(name, os.O_RDONLY), "rb") as file:
        found = hashlib.sha256()
        while piece := file.read(PIECE):
            found.update(piece)
    return found.hexdigest()
