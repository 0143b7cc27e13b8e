"""The folder of a study: used by one program at a time, written atomically, with a record of all sessions.

    study.json            the study, its digest, and the sessions that worked on it
    parts/                finished runs: run-00000042-50-<hash>.parquet contains 50 rows starting at run 42
    trajectories/         the same for whole trajectories, if they are kept
    damaged/              parts whose bytes changed after they were written
    results.parquet       all rows in order, once the study is finished
    overview.html         plots of the table, and what failed

A part is written to a temporary file, flushed to disk and renamed. Its name contains the hash of its bytes, so a
truncated or changed part is detected, set aside and run again. The folder is untrusted: nothing is written,
deleted or read through a link in it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..arrays import Flags, plain_sum
from ..disk import UNFINISHED, Directory, UnsafeFileError
from ..foreign import ForeignError, ProcessLimits, request
from ..names import shown
from ..outputs import LIST, admit, check_place
from ..runs.provenance import describe_origin, describe_versions, now
from .locking import LOCK, locked
from .records import COUNT, NUMBER, NUMBERS, TEXT, column_kinds
from .runs import DONE, FIRST_COLUMNS, LAST_COLUMNS, Row, spread_value
from .sampling import Samples
from .study import Study, StudyError, differences, digest
from .study_schema import VERSION

PARTS, TRAJECTORIES, DAMAGED = "parts", "trajectories", "damaged"
MANIFEST, RESULTS, OVERVIEW = "study.json", "results.parquet", "overview.html"
# Files for users; only files written by us are replaced.
OUTPUTS = (RESULTS, OVERVIEW)
BEFORE = "before-"
# Lower bound of the rate at which parts are read [bytes/s].
READ_RATE = 5_000_000
# Largest size of study.json [bytes]; pattern of the numbers in messages, which differ from run to run.
MOST_BYTES = 100_000_000
_NUMBER = re.compile(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?")

ENDING = ".parquet"
_NAME = re.compile(r"run-(\d{8,})-(\d+)-([0-9a-f]{16})\.parquet")
# Files that we write in a study's folder and its subfolders, including incomplete ones.
_OURS = re.compile(rf"{_NAME.pattern}(\.\d+)?|study\.json|results\.parquet|overview\.html")
_HALF = re.compile(rf"(?:{_OURS.pattern})\.[0-9a-f]{{12}}{re.escape(UNFINISHED)}")
_TYPES = {
    NUMBER: pa.float64(),
    COUNT: pa.int64(),
    TEXT: pa.string(),
    NUMBERS: pa.list_(pa.float64()),
}


@dataclass
class Folder:
    """The folder of a study while this program uses it.

    place: the folder itself, and its subfolders `inner` by name; done: which runs are finished; reasons: number of
    failed runs by status and message; remarks: what was found.
    """

    place: Directory
    study: Study
    schema: pa.Schema
    done: Flags
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)
    session: dict[str, Any] = field(default_factory=dict)
    inner: dict[str, Directory] = field(default_factory=dict)
    _sessions: list[dict[str, Any]] = field(default_factory=list)
    _examples: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """Path of the folder."""
        return self.place.path

    @property
    def sessions(self) -> int:
        """Number of calls that have worked on this study, including this one."""
        return len(self._sessions) + 1

    @property
    def failed(self) -> int:
        """Number of failed runs."""
        return self.reasons.total()

    def most_frequent(self, count: int) -> list[tuple[int, str, str]]:
        """Return the number of runs, the status and an example of the message, most frequent first."""
        found = self.reasons.most_common(count)
        return [(runs, status, self._examples[status, kind]) for (status, kind), runs in found]

    def count(self, statuses: list[str], messages: list[str]) -> None:
        """Count the reasons of failed runs; messages that differ only in numbers count as one."""
        for status, message in zip(statuses, messages, strict=True):
            if status != DONE:
                kind = (str(status), _NUMBER.sub("#", str(message)))
                self.reasons[kind] += 1
                self._examples.setdefault(kind, str(message))

    def write_part(self, rows: list[Row], trajectories: list[dict[str, Any]]) -> None:
        """Write finished runs; they are on disk when this returns."""
        if not rows:
            return
        rows = sorted(rows, key=lambda row: row["run"])
        about = {"study": digest(self.study.identity), "session": str(len(self._sessions))}
        if trajectories:
            # Trajectories first, so that a part never lacks them.
            tables = [pa.table(columns) for columns in trajectories]
            about["trajectories"] = self._write(
                TRAJECTORIES,
                pa.concat_tables(tables, promote_options="default"),
                rows[0]["run"],
                len(rows),
                about,
            )
        table = pa.Table.from_pylist(rows, schema=self.schema)
        self._write(PARTS, table, rows[0]["run"], len(rows), about)
        self.done[[row["run"] for row in rows]] = True
        self.count([row["status"] for row in rows], [row["message"] for row in rows])

    def _write(
        self, kind: str, table: pa.Table, first: int, count: int, about: dict[str, str]
    ) -> str:
        content = to_bytes(table, about)
        name = f"run-{first:08d}-{count}-{hashlib.sha256(content).hexdigest()[:16]}.parquet"
        self.write(name, content, self.inner[kind])
        return name

    def write(self, name: str, content: bytes, place: Directory | None = None) -> None:
        """Write a file atomically, also with respect to power failures."""
        place = place or self.place
        try:
            if name in OUTPUTS:
                admit(place, {name: hashlib.sha256(content).hexdigest()})
            place.write(name, content, sync=True)
        except UnsafeFileError as error:
            raise StudyError(f"{error}. Finished runs are kept") from error
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise StudyError(
                f"{shown(place.path / name)} cannot be written: {why}; finished runs are kept. Make room and give "
                "the same command again"
            ) from error

    def finish(self) -> pa.Table:
        """Collect the table of all runs, in order, and write results.parquet."""
        table = self.collect()
        content = to_bytes(table, {"study": digest(self.study.identity)})
        self.write(RESULTS, content)
        return table

    def collect(self) -> pa.Table:
        """Return the rows of all finished runs, in order."""
        parts = self.inner[PARTS]
        tables = [_read_table(parts.read(name)).cast(self.schema) for name in part_names(parts)]
        table = pa.concat_tables(tables) if tables else self.schema.empty_table()
        return table.sort_by("run").replace_schema_metadata(None).cast(self.schema)

    def save_manifest(self, state: str) -> None:
        """Write study.json; state: running, stopped or finished."""
        self.session |= {"state": state, "until": now()}
        record = {
            "sarrus_study": VERSION,
            "name": self.study.name,
            "digest": digest(self.study.identity),
            "runs": len(self.done),
            "done": int(self.done.sum()),
            "failed": self.failed,
            "state": state,
            "seed": self.study.seed,
            "units": column_units(self.study),
            "sessions": [*self._sessions, self.session],
            "identity": self.study.identity,
        }
        text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
        self.write(MANIFEST, text.encode())


@contextmanager
def open_folder(
    path: Path, study: Study, samples: Samples, command: str, fresh: bool
) -> Iterator[Folder]:
    """Open the folder of a study: check its content and lock out other programs."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StudyError(
            f"folder {path} cannot be made: {error.strerror}; choose another --out"
        ) from None
    with ExitStack() as opened:
        try:
            place = opened.enter_context(Directory(path))
            _reject_foreign(place)
            opened.enter_context(locked(place))
            check_place(place, OUTPUTS)
            begins = fresh and _set_aside(place)
            sessions, remarks = ([], []) if begins else _check_manifest(place, study)
            folder = Folder(
                place, study, table_schema(study, samples), np.zeros(samples.runs, bool)
            )
            folder.remarks += remarks
            folder._sessions = sessions
            folder.session = {"began": now(), **describe_origin(command)}
            if place.status(MANIFEST) is None:
                # First of all, so that a folder always identifies its study.
                folder.save_manifest("running")
            for name in (PARTS, TRAJECTORIES):
                if name == PARTS or study.plan.trajectory is not None:
                    folder.inner[name] = opened.enter_context(place.child(name, make=True))
            _read_parts(folder)
        except OSError as error:
            # A link in place of a file or folder, or missing permissions.
            raise StudyError(f"folder {shown(path)} cannot be used: {_why(error)}") from error
        yield folder


def _why(error: OSError) -> str:
    return str(error) if isinstance(error, UnsafeFileError) else error.strerror or str(error)


def table_schema(study: Study, samples: Samples) -> pa.Schema:
    """Return the columns of the table: number, key, parameters, records, status, message, notes."""
    fields = [pa.field("run", pa.int64()), pa.field("key", pa.string())]
    for column in study.plan.columns:
        if column in samples.numbers:
            fields.append(pa.field(column, pa.float64()))
            continue
        spread: dict[str, set[type]] = {}
        for value in samples.choices[column][0]:
            for name, entry in spread_value(column, value).items():
                spread.setdefault(name, set()).add(type(entry))
        for name, types in spread.items():
            fields.append(pa.field(name, pa.string() if str in types else pa.float64()))
    for record in study.plan.records:
        fields += [pa.field(column, _TYPES[kind]) for column, kind, _ in column_kinds(record)]
    fields += [pa.field(column, pa.string()) for column in LAST_COLUMNS]
    assert [f.name for f in fields[: len(FIRST_COLUMNS)]] == list(FIRST_COLUMNS)
    return pa.schema(fields)


def part_names(place: Directory) -> list[str]:
    """Return the parts in a folder, in order; other files belong to the user."""
    return [name for name in place.names(ENDING) if _NAME.fullmatch(name)]


def column_units(study: Study) -> dict[str, str]:
    """Return the units of the recorded columns; parameters are in SI."""
    found = [entry for record in study.plan.records for entry in column_kinds(record)]
    return {column: unit for column, _, unit in found if unit}


def to_bytes(table: pa.Table, about: dict[str, str]) -> bytes:
    """Return a table as the bytes of a Parquet file with metadata; the same table gives the same bytes."""
    sink = pa.BufferOutputStream()
    kept = {**(table.schema.metadata or {}), **{f"sarrus.{k}": v for k, v in about.items()}}
    pq.write_table(table.replace_schema_metadata(kept), sink, compression="zstd")
    return bytes(sink.getvalue())


def _read_table(content: bytes) -> pa.Table:
    return pq.read_table(pa.BufferReader(content))


def _check_manifest(place: Directory, study: Study) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the sessions so far, and remarks on them; rejects the folder of another study."""
    path = shown(place.path)
    if place.status(MANIFEST) is None:
        _reject_foreign(place)
        return [], []
    try:
        record = json.loads(place.read(MANIFEST, MOST_BYTES))
        identity, sessions = record["identity"], record["sessions"]
        if not isinstance(sessions, list) or not all(isinstance(s, dict) for s in sessions):
            raise ValueError("its sessions are not a list of records")
        versions = sessions[-1].get("versions", {}) if sessions else {}
        if not isinstance(versions, dict):
            raise ValueError("the versions of its last session are not a record")
        found = list(differences(identity, json.loads(json.dumps(study.identity)), ()))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else shown(error)
        raise StudyError(
            f"{shown(place.path / MANIFEST)} cannot be read ({why}); choose another --out, or give --fresh to "
            "begin again"
        ) from None
    if found:
        more = f"; and {len(found) - 8} more" if len(found) > 8 else ""
        raise StudyError(
            f"folder {path} holds another study: {shown('; '.join(found[:8]))}{more}. Choose another --out, or "
            "give --fresh to set its results aside and begin again"
        )
    remarks = []
    if sessions:
        now = describe_versions()
        changed = [f"{k} {versions.get(k)} -> {v}" for k, v in now.items() if versions.get(k) != v]
        if changed:
            remarks.append(
                f"earlier runs of this study were made by other versions ({shown(', '.join(changed))}); last "
                "digits may differ"
            )
    return sessions, remarks


def _reject_foreign(place: Directory) -> None:
    """Reject a folder that is not empty but does not contain a study."""
    others = _other_names(place)
    if others and place.status(MANIFEST) is None:
        raise StudyError(
            f"folder {shown(place.path)} is not empty ({', '.join(map(shown, others[:3]))}) and holds no study; "
            "choose another --out"
        )


def _other_names(place: Directory) -> list[str]:
    """Return the content of a folder apart from what any study may start with."""
    return [
        name
        for name in place.names()
        if name not in (LOCK, LIST) and not _HALF.fullmatch(name) and not name.startswith(BEFORE)
    ]


def _read_parts(folder: Folder) -> None:
    """Find the finished runs; incomplete parts are set aside, with a remark."""
    for inner in (folder.place, *folder.inner.values()):
        for left in inner.names(UNFINISHED):
            status = inner.status(left)
            if _HALF.fullmatch(left) and status is not None and stat.S_ISREG(status.st_mode):
                inner.remove(left)
    used = set()
    names = list(part_names(folder.inner[PARTS]))
    _try_parts(folder, names)
    for name in names:
        try:
            table, trajectories = _verify(folder, name)
        except _DamagedError as why:
            _set_damaged(folder, PARTS, name, str(why))
            continue
        folder.done[table.column("run").to_numpy()] = True
        folder.count(table.column("status").to_pylist(), table.column("message").to_pylist())
        used.add(trajectories)
    if TRAJECTORIES in folder.inner:
        for name in part_names(folder.inner[TRAJECTORIES]):
            if name not in used:
                _remove_unfinished(folder, name)


def _remove_unfinished(folder: Folder, name: str) -> None:
    """Remove trajectories whose part was not finished, because they will be rewritten; set others aside."""
    try:
        content = _read_whole(folder.inner[TRAJECTORIES], name)
        about = pq.read_schema(pa.BufferReader(content)).metadata or {}
        if about.get(b"sarrus.study", b"").decode() != digest(folder.study.identity):
            raise _DamagedError("it belongs to another study")
    except (_DamagedError, pa.ArrowException, OSError, ValueError) as error:
        _set_damaged(folder, TRAJECTORIES, name, shown(error)[:200])
    else:
        folder.inner[TRAJECTORIES].remove(name)


def _try_parts(folder: Folder, names: list[str]) -> None:
    """Read parts in a child process first, with limits on time and memory, because they are untrusted."""
    if not names:
        return
    place = folder.inner[PARTS]
    found = [status for name in names if (status := place.status(name)) is not None]
    # In addition to the child's startup: what reading a large study takes.
    limits = ProcessLimits(
        cpu=ProcessLimits().cpu + plain_sum(status.st_size for status in found) / READ_RATE
    )
    try:
        request(
            "parquet", {"tried": [str((place.path / name).absolute()) for name in names]}, limits
        )
    except ForeignError as error:
        raise StudyError(
            f"the parts of folder {shown(folder.path)} cannot be read: {error}; choose another --out, or give "
            "--fresh to begin again"
        ) from error


class _DamagedError(Exception):
    """A damaged part; the message says what is wrong."""


def _verify(folder: Folder, file: str) -> tuple[pa.Table, str]:
    """Return the rows of a part and its trajectory file; raises _DamagedError if it was changed."""
    name = _NAME.fullmatch(file)
    content = _read_whole(folder.inner[PARTS], file)
    try:
        given = _read_table(content)
        table = given.cast(folder.schema)
        about = given.schema.metadata or {}
        runs = table.column("run").to_numpy()
        whose = about.get(b"sarrus.study", b"").decode()
        trajectories = about.get(b"sarrus.trajectories", b"").decode()
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise _DamagedError(f"it cannot be read ({shown(error)[:200]})") from error
    assert name is not None
    if len(runs) != int(name[2]) or len(np.unique(runs)) != len(runs):
        raise _DamagedError(f"it holds {len(runs)} rows, not {name[2]}")
    if not len(runs) or runs.min() < 0 or runs.max() >= len(folder.done):
        raise _DamagedError("it holds runs that this study does not have")
    if whose != digest(folder.study.identity):
        raise _DamagedError("it belongs to another study")
    if folder.done[runs].any():
        raise _DamagedError(f"run {runs[folder.done[runs]][0]} stands in another part already")
    if trajectories:
        inner = folder.inner.get(TRAJECTORIES)
        if inner is None or _NAME.fullmatch(trajectories) is None or not inner.status(trajectories):
            raise _DamagedError(f"its trajectories {shown(trajectories)} are gone")
        try:
            _read_whole(inner, trajectories)
        except _DamagedError as why:
            _set_damaged(folder, TRAJECTORIES, trajectories, str(why))
            raise _DamagedError("its trajectories are damaged") from None
    return table, trajectories


def _read_whole(inner: Directory, file: str) -> bytes:
    """Return the bytes of a part if they match the hash in its name."""
    name = _NAME.fullmatch(file)
    try:
        content = inner.read(file)
    except OSError as error:
        raise _DamagedError(f"it cannot be read ({_why(error)})") from error
    if name is None or hashlib.sha256(content).hexdigest()[:16] != name[3]:
        raise _DamagedError("its bytes are not those that were written")
    return content


def _set_damaged(folder: Folder, kind: str, name: str, why: str) -> None:
    with folder.place.child(DAMAGED, make=True) as place:
        target, count = name, 1
        while place.status(target) is not None:
            target, count = f"{name}.{count}", count + 1
        folder.inner[kind].move(name, place, target)
    folder.remarks.append(
        f"part {shown(name)} is damaged: {why}; it was moved to {DAMAGED}/, and its runs are run again"
    )


def _set_aside(place: Directory) -> bool:
    """Move the files of an earlier study, if any, into a separate folder; other files stay."""
    opened = _other_names(place)
    if not opened:
        return False
    with place.child(
        f"{BEFORE}{datetime.now(UTC).strftime('%Y%m%dT%H%M%S%f')}", make=True
    ) as aside:
        for name in (PARTS, TRAJECTORIES, DAMAGED):
            _move_parts(place, aside, name)
        # The manifest last: without it nothing identifies the other files.
        for name in sorted(filter(_OURS.fullmatch, opened), key=lambda name: name == MANIFEST):
            place.move(name, aside, name)
    return True


def _move_parts(place: Directory, aside: Directory, kind: str) -> None:
    """Move our files in a folder of parts; a link in its place is moved itself, other files stay."""
    status = place.status(kind)
    if status is None:
        return
    if not stat.S_ISDIR(status.st_mode):
        place.move(kind, aside, kind)
        return
    with place.child(kind) as inner, aside.child(kind, make=True) as goal:
        for name in filter(_OURS.fullmatch, inner.names()):
            inner.move(name, goal, name)
    with suppress(OSError):
        place.remove_empty(kind)
