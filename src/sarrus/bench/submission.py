"""Submissions: a run checked by the judge and packed as one file. Boards: many submissions in one table.

Everybody's runs, ours included, go through the same check: it reads results.txt and judges it again. The values in
the record count only if they agree.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import problems
from ..disk import made_folder, read_file, write_file
from ..names import UnknownNameError
from ..outputs import is_finished
from ..problems import Problem
from ..problems.packed import FILES as PROBLEM_FILES
from ..runs.run_folder import RECORD
from ..runs.run_records import InvalidRecordError, ProblemRun, read_record
from .clock import CALIBRATION_VERSION, REPEATS
from .judge import Judgement, judge_columns
from .result_file import ResultFileError, load_columns
from .runner import RESULTS

FILES = (RESULTS, RECORD)
CHECKSUMS = "checksums.txt"
# Packed submissions larger than this are rejected [bytes].
LARGEST = 50_000_000
# Resolution of the clock [s].
LEAST_SECONDS = 1e-9


class SubmissionError(ValueError):
    """A run cannot be submitted or read; the message says why."""


def check_run(folder: Path) -> tuple[dict[str, Any], Judgement]:
    """Judge a run folder again; raises SubmissionError that lists everything wrong with it."""
    record = _load_record(folder)
    problem = _problem_of(record, folder)
    columns = load_columns(folder / RESULTS, problem)
    missing = [name for name in problem.columns if name not in columns]
    if missing:
        raise SubmissionError(f"{folder}: {RESULTS} has no {', '.join(missing)}")
    judged = judge_columns(problem, columns, fit=False)
    wrong = list(_faults(record, judged))
    if wrong:
        raise SubmissionError(f"{folder}: " + "; ".join(wrong))
    return record, judged


def pack_run(folder: Path, out: Path) -> Path:
    """Check a run and pack it as one file in `out`; the same run gives the same bytes."""
    record, _ = check_run(folder)
    # For a problem that is not part of this package, include the problem itself.
    own = problems.is_packed(folder) and record["problem"]["id"] not in problems.names()
    names = (*FILES, *PROBLEM_FILES) if own else FILES
    contents = {name: read_file(folder / name, LARGEST) for name in names}
    sums = "".join(
        f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in contents.items()
    )
    contents[CHECKSUMS] = sums.encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            # A fixed date: the time of packing is irrelevant.
            archive.writestr(
                zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED
            )
    digest = hashlib.sha256(sums.encode()).hexdigest()[:10]
    # A method may have any name, a file may not.
    method = re.sub(r"[^\w.-]", "_", record["method"])[:60]
    path = out / f"{record['problem']['id']}-{method}-{digest}.zip"
    if os.path.lexists(path) and not _holds(path, buffer.getvalue()):
        raise SubmissionError(f"{path} exists already and holds something else; give another --out")
    with made_folder(out):
        return write_file(path, buffer.getvalue())


def _holds(path: Path, content: bytes) -> bool:
    """Return whether a regular file contains these bytes."""
    return path.is_file() and not path.is_symlink() and read_file(path, LARGEST) == content


def collect_records(places: list[Path]) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Judge the runs of run folders (also nested ones) and packed submissions again and return their records.

    Duplicate runs give one record. Returns the valid records, and path and reason for each run that was left out.
    """
    records, bad = [], []
    # Version of each problem that came first; results of different versions are not mixed.
    versions: dict[str, int] = {}
    # A run given both as a folder and as a packed file counts once.
    seen: set[str] = set()
    for place in places:
        sources = _sources(place)
        if not sources:
            bad.append((str(place), "neither a run folder nor a packed submission"))
        for source in sources:
            try:
                record, judged = (
                    _check_packed(source) if source.suffix == ".zip" else check_run(source)
                )
                if (key := _identity(record)) not in seen:
                    seen.add(key)
                    _check_version(record["problem"], versions)
                    records.append({**record, "judgement": judged.as_dict(), "place": str(source)})
            except Exception as error:
                # Whatever an untrusted file causes, the others are still shown.
                known = isinstance(error, SubmissionError | ResultFileError | OSError)
                why = str(error) if known else f"{type(error).__name__}: {error}"
                bad.append((str(source), why.removeprefix(f"{source}: ")))
    return records, bad


def _check_version(problem: dict[str, Any], versions: dict[str, int]) -> None:
    """Reject another problem, or another version of it, under a name that is already on the board."""
    first = versions.setdefault(problem["id"], problem["version"])
    if problem["version"] != first:
        raise SubmissionError(
            f"version {problem['version']} of '{problem['id']}', the board has version {first}; results of two "
            "versions are not mixed"
        )


def _identity(record: dict[str, Any]) -> str:
    """Return an identifier of the run: its record contains date, command and times."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _sources(place: Path) -> list[Path]:
    if place.suffix == ".zip":
        return [place]
    found = sorted(p.parent for p in filter(is_finished, place.glob(f"**/{RECORD}")))
    return found + sorted(place.glob("**/*.zip"))


def _check_packed(path: Path) -> tuple[dict[str, Any], Judgement]:
    """Read a packed submission up to a size limit, compare checksums, and judge it again."""
    contents = _read_archive(path)
    lines = [
        line.split(None, 1) for line in contents[CHECKSUMS].decode(errors="replace").splitlines()
    ]
    sums = {line[1]: line[0] for line in lines if len(line) == 2}
    with tempfile.TemporaryDirectory() as temporary:
        for name in contents.keys() - {CHECKSUMS}:
            if hashlib.sha256(contents[name]).hexdigest() != sums.get(name):
                raise SubmissionError(
                    f"{path}: checksum of {name} does not match; the file was changed"
                )
            (Path(temporary) / name).write_bytes(contents[name])
        try:
            return check_run(Path(temporary))
        except (SubmissionError, ResultFileError) as error:
            raise SubmissionError(str(error).replace(temporary, str(path))) from error


def _read_archive(path: Path) -> dict[str, bytes]:
    """Return the files of a packed submission by name; unknown files are ignored."""
    packed = io.BytesIO(read_file(path, LARGEST))
    wanted = {*FILES, CHECKSUMS}
    try:
        with zipfile.ZipFile(packed) as archive:
            contents = set(archive.namelist())
            if missing := sorted(wanted - contents):
                raise SubmissionError(f"{path}: {', '.join(missing)} is missing")
            wanted |= contents & set(PROBLEM_FILES)
            return {name: _unpack(archive, name, path) for name in sorted(wanted)}
    except SubmissionError:
        raise
    except Exception as error:
        # For a damaged archive the library raises almost any exception: zlib.error, struct.error,
        # NotImplementedError.
        raise SubmissionError(f"{path}: the archive cannot be unpacked ({error})") from error


def _unpack(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    """Unpack a file of an archive; the limit applies to its actual size, not to its declared size."""
    with archive.open(name) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise SubmissionError(f"{path}: {name} has more than {LARGEST // 1_000_000} MB")
    return data


def _load_record(folder: Path) -> dict[str, Any]:
    try:
        return read_record(folder / RECORD, ProblemRun)
    except OSError as error:
        raise SubmissionError(
            f"{folder}: no readable {RECORD} there ({error.strerror or error})"
        ) from error
    except InvalidRecordError as error:
        raise SubmissionError(f"{folder}: {RECORD}: {error}") from error


def _problem_of(record: dict[str, Any], folder: Path) -> Problem:
    stated = record["problem"]
    try:
        if problems.is_packed(folder) and stated["id"] not in problems.names():
            problem = problems.load_packed(folder)
            if problem.id != stated["id"]:
                raise ValueError(f"run.json is of '{stated['id']}', problem.json of '{problem.id}'")
        else:
            problem = problems.get(stated["id"], **stated["options"])
    except (UnknownNameError, ValueError) as error:
        raise SubmissionError(f"{folder}: {error}") from error
    version, duration = stated["version"], record["duration"]
    if version != problem.version:
        raise SubmissionError(
            f"{folder}: made for version {version} of '{problem.id}', this is version "
            f"{problem.version}; results of two versions are not mixed"
        )
    if abs(duration - problem.duration) > 1e-9 * problem.duration:
        # A shorter run is judged on its own duration, but does not compete.
        return replace(problem, duration=duration)
    return problem


def _faults(record: dict[str, Any], judged: Judgement) -> Iterator[str]:
    if record["status"] != "done":
        yield f"the run ended with '{record['status']}'"
    stated = record["judgement"]
    for key in ("energy_drift", "position_error"):
        mine, theirs = getattr(judged, key), stated[key]
        # results.txt has 15 digits; their rounding is far below this.
        if mine is None or theirs is None or not abs(mine - theirs) <= 1e-12 + 1e-6 * abs(mine):
            yield f"run.json says {key} {theirs}, its results.txt gives {mine}"
    timings = record["timings"]
    for key, what in (("solve", "time of the solve"), ("calibration", "calibration")):
        if not timings[key] >= LEAST_SECONDS:
            yield f"the {what} is missing, or too short for the clock"
    if timings["repeats"] < min(REPEATS, 7):
        yield f"timed {timings['repeats']} times; at least {REPEATS} are required"
    if timings["calibration_version"] != CALIBRATION_VERSION:
        yield "no calibration of this version was stored with the time"
