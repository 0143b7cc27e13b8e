"""Submissions: a run checked by the judge and packed as one file; boards: many of them as one table.

The checker is the same for everybody, our own runs included: it reads results.txt and judges it again;
what the record says of itself counts only if it agrees.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import problems
from ..names import UnknownNameError
from ..problems import Problem
from ..runs.folder import RECORD, read_record
from .clock import CALIBRATION_VERSION, REPEATS
from .judge import Judgement, judge_columns
from .result_file import load_columns
from .runner import RESULTS

FILES = (RESULTS, RECORD)
CHECKSUMS = "checksums.txt"
NEEDED = ("problem", "method", "status", "judgement", "timings", "machine", "versions", "command")
# a packed submission larger than this is not read
LARGEST = 50_000_000


class SubmissionError(ValueError):
    """A run cannot be submitted or read; the message says why."""


def check_run(folder: Path) -> tuple[dict[str, Any], Judgement]:
    """Judge a run folder again; raises SubmissionError with everything that is wrong with it."""
    record = _load_record(folder)
    problem = _problem_of(record, folder)
    columns = load_columns(folder / RESULTS, problem)
    missing = [name for name in problem.columns if name not in columns]
    if missing:
        raise SubmissionError(f"{folder}: {RESULTS} has no {', '.join(missing)}")
    judged = judge_columns(problem, columns)
    wrong = list(_faults(record, judged))
    if wrong:
        raise SubmissionError(f"{folder}: " + "; ".join(wrong))
    return record, judged


def pack_run(folder: Path, out: Path) -> Path:
    """Check a run and pack it as one file in `out`; the same run gives the same bytes."""
    record, _ = check_run(folder)
    contents = {name: (folder / name).read_bytes() for name in FILES}
    sums = "".join(
        f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in contents.items()
    )
    contents[CHECKSUMS] = sums.encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            # a fixed date: the time of packing says nothing
            archive.writestr(
                zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED
            )
    digest = hashlib.sha256(sums.encode()).hexdigest()[:10]
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{record['problem']['id']}-{record['method']}-{digest}.zip"
    path.write_bytes(buffer.getvalue())
    return path


def collect_records(places: list[Path]) -> tuple[list[dict[str, Any]], list[str]]:
    """Records of run folders (also below a folder) and packed submissions, each judged again.

    Returns the records that hold, and a sentence for each that was left out.
    """
    records, left_out = [], []
    for place in places:
        for source in _sources(place):
            try:
                record, judged = (
                    _check_packed(source) if source.suffix == ".zip" else check_run(source)
                )
                records.append({**record, "judgement": judged.as_dict(), "place": str(source)})
            except (ValueError, OSError, zipfile.BadZipFile) as error:
                left_out.append(f"left out: {error}")
    return records, left_out


def _sources(place: Path) -> Iterator[Path]:
    if place.suffix == ".zip":
        yield place
        return
    found = sorted(p.parent for p in place.glob(f"**/{RECORD}"))
    found += sorted(place.glob("**/*.zip"))
    if not found:
        raise SubmissionError(f"{place}: no run folder and no packed submission there")
    yield from found


def _check_packed(path: Path) -> tuple[dict[str, Any], Judgement]:
    """Read a packed submission in memory-bounded pieces, compare checksums, judge it again."""
    with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as temporary:
        if sum(item.file_size for item in archive.infolist()) > LARGEST:
            raise SubmissionError(f"{path}: unpacks to more than {LARGEST // 1_000_000} MB")
        names = set(archive.namelist())
        if not {*FILES, CHECKSUMS} <= names:
            raise SubmissionError(f"{path}: {', '.join({*FILES, CHECKSUMS} - names)} is missing")
        lines = [line.split(None, 1) for line in archive.read(CHECKSUMS).decode().splitlines()]
        sums = {line[1]: line[0] for line in lines if len(line) == 2}
        for name in FILES:
            # only the known names are read, whatever else the archive holds
            data = archive.read(name)
            if hashlib.sha256(data).hexdigest() != sums.get(name):
                raise SubmissionError(f"{path}: checksum of {name} does not fit; it was changed")
            (Path(temporary) / name).write_bytes(data)
        try:
            return check_run(Path(temporary))
        except SubmissionError as error:
            raise SubmissionError(str(error).replace(temporary, str(path))) from error


def _load_record(folder: Path) -> dict[str, Any]:
    try:
        record, missing = read_record(folder / RECORD, NEEDED)
    except OSError as error:
        raise SubmissionError(f"{folder}: no readable run.json there ({error.strerror})") from error
    except ValueError as error:
        raise SubmissionError(f"{folder}: run.json is not JSON ({error})") from error
    if missing:
        raise SubmissionError(f"{folder}: run.json has no {', '.join(missing)}")
    return dict(record)


def _problem_of(record: dict[str, Any], folder: Path) -> Problem:
    try:
        told = record["problem"]
        problem = problems.get(told["id"], **told["options"])
        version, duration = told["version"], float(record["duration"])
    except UnknownNameError as error:
        raise SubmissionError(f"{folder}: {error}") from error
    except (KeyError, TypeError) as error:
        raise SubmissionError(f"{folder}: run.json does not describe its problem") from error
    if version != problem.version:
        raise SubmissionError(
            f"{folder}: made for version {version} of '{problem.id}', this is version "
            f"{problem.version}; results of two versions are not mixed"
        )
    if abs(duration - problem.duration) > 1e-9 * problem.duration:
        # a shorter run is judged on its own length, but does not compete
        return replace(problem, duration=duration)
    return problem


def _faults(record: dict[str, Any], judged: Judgement) -> Iterator[str]:
    if record["status"] != "done":
        yield f"the run ended with '{record['status']}'"
    told = record["judgement"]
    for key in ("energy_drift", "position_error"):
        mine, theirs = getattr(judged, key), told.get(key)
        # results.txt has 15 digits: what they change is far below this
        if theirs is None or abs(mine - theirs) > 1e-12 + 1e-6 * abs(mine):
            yield f"run.json says {key} {theirs}, its results.txt gives {mine:.6g}"
    timings = record["timings"]
    if not timings.get("solve", 0) > 0:
        yield "no time of the solve"
    if timings.get("repeats", 0) < min(REPEATS, 7):
        yield f"timed {timings.get('repeats', 0)} times; at least {REPEATS} are asked for"
    if timings.get("calibration_version") != CALIBRATION_VERSION:
        yield "no calibration of this version beside the time"
