"""The folder of a study: one program at a time, parts that are whole or not there, what was run by what.

    study.json            the study, its digest, and the sessions that worked on it
    parts/                finished runs: run-00000042-50-<hash>.parquet holds 50 rows from run 42 on
    trajectories/         the same for whole trajectories, if they are kept
    damaged/              parts whose bytes changed after they were written
    results.parquet       all rows in order, once the study is finished
    overview.html         plots of the table, and what failed

A part is written beside its place, forced to the disk and renamed. Its name holds the hash of its bytes: a
part that was cut or changed is noticed, set aside and run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..arrays import Flags, Ints
from ..runs.provenance import describe_origin, describe_versions, now
from .locking import LOCK, locked
from .records import COUNT, NUMBER, NUMBERS, TEXT, column_kinds
from .runs import FIRST_COLUMNS, LAST_COLUMNS, Row, spread_value
from .sampling import Samples
from .schema import VERSION
from .study import Study, StudyError, differences, digest

PARTS, TRAJECTORIES, DAMAGED = "parts", "trajectories", "damaged"
MANIFEST, RESULTS, OVERVIEW = "study.json", "results.parquet", "overview.html"
UNFINISHED, BEFORE = ".unfinished", "before-"

_NAME = re.compile(r"run-(\d{8,})-(\d+)-([0-9a-f]{16})\.parquet")
_TYPES = {
    NUMBER: pa.float64(),
    COUNT: pa.int64(),
    TEXT: pa.string(),
    NUMBERS: pa.list_(pa.float64()),
}


@dataclass
class Folder:
    """The folder of a study while this program has it.

    done: which runs are finished; failed: how many of them without success; remarks: what was found.
    """

    path: Path
    study: Study
    schema: pa.Schema
    done: Flags
    failed: int = 0
    remarks: list[str] = field(default_factory=list)
    session: dict[str, Any] = field(default_factory=dict)
    _sessions: list[dict[str, Any]] = field(default_factory=list)

    @property
    def sessions(self) -> int:
        """How many calls have worked on this study, this one included."""
        return len(self._sessions) + 1

    def write_part(self, rows: list[Row], trajectories: list[dict[str, Any]]) -> None:
        """Write finished runs; afterwards they are on the disk."""
        if not rows:
            return
        rows = sorted(rows, key=lambda row: row["run"])
        about = {"study": digest(self.study.identity), "session": str(len(self._sessions))}
        if trajectories:
            # first, so that a part never lacks its trajectories
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
        for row in rows:
            self.done[row["run"]] = True
            self.failed += row["status"] != "done"

    def _write(
        self, kind: str, table: pa.Table, first: int, count: int, about: dict[str, str]
    ) -> str:
        content = to_bytes(table, about)
        name = f"run-{first:08d}-{count}-{hashlib.sha256(content).hexdigest()[:16]}.parquet"
        write_bytes(self.path / kind / name, content)
        return name

    def finish(self) -> pa.Table:
        """Collect the table of all runs, in order; writes results.parquet."""
        table = self.collect()
        write_bytes(self.path / RESULTS, to_bytes(table, {"study": digest(self.study.identity)}))
        return table

    def collect(self) -> pa.Table:
        """The rows of all finished runs, in order."""
        files = sorted((self.path / PARTS).glob("*.parquet"))
        tables = [pq.read_table(path).cast(self.schema) for path in files]
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
        write_bytes(self.path / MANIFEST, text.encode())


@contextmanager
def open_folder(
    path: Path, study: Study, samples: Samples, command: str, fresh: bool
) -> Iterator[Folder]:
    """Take the folder of a study: check what it holds, and keep other programs out of it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StudyError(
            f"folder {path} cannot be made: {error.strerror}; choose another --out"
        ) from None
    with locked(path):
        if fresh:
            _set_aside(path)
        sessions, remarks = _check_manifest(path, study)
        folder = Folder(path, study, table_schema(study, samples), np.zeros(samples.runs, bool))
        folder.remarks += remarks
        folder._sessions = sessions
        folder.session = {"began": now(), **describe_origin(command)}
        if not (path / MANIFEST).exists():
            # before anything else, so that a folder always says whose it is
            folder.save_manifest("running")
        for name in (PARTS, *((TRAJECTORIES,) if study.plan.trajectory is not None else ())):
            (path / name).mkdir(exist_ok=True)
        _read_parts(folder)
        yield folder


def table_schema(study: Study, samples: Samples) -> pa.Schema:
    """Columns of the table: number, key, parameters, records, status, sentence, notes."""
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


def column_units(study: Study) -> dict[str, str]:
    """Units of the recorded columns; parameters are in SI."""
    found = [entry for record in study.plan.records for entry in column_kinds(record)]
    return {column: unit for column, _, unit in found if unit}


def to_bytes(table: pa.Table, about: dict[str, str]) -> bytes:
    """A table as the bytes of a Parquet file, with words about it; the same table gives the same bytes."""
    sink = pa.BufferOutputStream()
    kept = {**(table.schema.metadata or {}), **{f"sarrus.{k}": v for k, v in about.items()}}
    pq.write_table(table.replace_schema_metadata(kept), sink, compression="zstd")
    return bytes(sink.getvalue())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file so that it is whole or not there, also after a power failure."""
    beside = path.with_name(f"{path.name}{UNFINISHED}")
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
        _sync_folder(path.parent)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise StudyError(
            f"{path} cannot be written: {error.strerror or error}; finished runs are kept. Make room and give "
            "the same command again"
        ) from error


def _sync_folder(path: Path) -> None:
    if os.name == "posix":
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _check_manifest(path: Path, study: Study) -> tuple[list[dict[str, Any]], list[str]]:
    """Sessions so far, and remarks on them; refuses a folder of another study."""
    file = path / MANIFEST
    if not file.exists():
        mine = (LOCK, f"{MANIFEST}{UNFINISHED}")
        others = [n for n in sorted(os.listdir(path)) if n not in mine and not n.startswith(BEFORE)]
        if others:
            raise StudyError(
                f"folder {path} is not empty ({', '.join(others[:3])}) and holds no study; choose another --out"
            )
        return [], []
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        identity, sessions = record["identity"], record["sessions"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StudyError(
            f"{file} cannot be read ({error}); choose another --out, or give --fresh to begin again"
        ) from None
    found = list(differences(identity, json.loads(json.dumps(study.identity)), ()))
    if found:
        more = f"; and {len(found) - 8} more" if len(found) > 8 else ""
        raise StudyError(
            f"folder {path} holds another study: {'; '.join(found[:8])}{more}. Choose another --out, or give "
            "--fresh to set its results aside and begin again"
        )
    remarks = []
    if sessions:
        before, now = sessions[-1].get("versions", {}), describe_versions()
        changed = [f"{k} {before.get(k)} -> {v}" for k, v in now.items() if before.get(k) != v]
        if changed:
            remarks.append(
                f"earlier runs of this study were made by other versions ({', '.join(changed)}); last digits "
                "may differ"
            )
    return sessions, remarks


def _read_parts(folder: Folder) -> None:
    """Find the finished runs; parts that are not whole are set aside, with a remark."""
    for kind in (PARTS, TRAJECTORIES):
        for left in (folder.path / kind).glob(f"*{UNFINISHED}"):
            left.unlink()
    used = set()
    for path in sorted((folder.path / PARTS).glob("*.parquet")):
        why, runs, failed, trajectories = _verify(folder, path)
        if why:
            _damaged(folder, path, why)
            continue
        folder.done[runs] = True
        folder.failed += failed
        used.add(trajectories)
    for path in (folder.path / TRAJECTORIES).glob("*.parquet"):
        if path.name not in used:
            # its part was not finished, so it will be written again
            path.unlink()


def _verify(folder: Folder, path: Path) -> tuple[str, Ints, int, str]:
    """What is wrong with a part, its runs, how many of them failed, and its file of trajectories."""
    none = np.zeros(0, np.int64)
    name = _NAME.fullmatch(path.name)
    content = path.read_bytes()
    if name is None or hashlib.sha256(content).hexdigest()[:16] != name[3]:
        return "its bytes are not those that were written", none, 0, ""
    try:
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        return f"it cannot be read ({error})", none, 0, ""
    runs = table.column("run").to_numpy()
    about = table.schema.metadata or {}
    if len(runs) != int(name[2]) or len(np.unique(runs)) != len(runs):
        return f"it holds {len(runs)} rows, not {name[2]}", none, 0, ""
    if runs.min() < 0 or runs.max() >= len(folder.done):
        return "it holds runs that this study does not have", none, 0, ""
    if about.get(b"sarrus.study", b"").decode() != digest(folder.study.identity):
        return "it belongs to another study", none, 0, ""
    if folder.done[runs].any():
        return f"run {runs[folder.done[runs]][0]} stands in another part already", none, 0, ""
    trajectories = about.get(b"sarrus.trajectories", b"").decode()
    if trajectories:
        beside = folder.path / TRAJECTORIES / trajectories
        whole = _NAME.fullmatch(trajectories)
        if not beside.exists() or whole is None:
            return f"its trajectories {trajectories} are gone", none, 0, ""
        if hashlib.sha256(beside.read_bytes()).hexdigest()[:16] != whole[3]:
            _damaged(folder, beside, "its bytes are not those that were written")
            return "its trajectories are damaged", none, 0, ""
    failed = sum(word != "done" for word in table.column("status").to_pylist())
    return "", runs, failed, trajectories


def _damaged(folder: Folder, path: Path, why: str) -> None:
    place = folder.path / DAMAGED
    place.mkdir(exist_ok=True)
    target = place / path.name
    count = 1
    while target.exists():
        target = place / f"{path.name}.{count}"
        count += 1
    os.replace(path, target)
    folder.remarks.append(
        f"part {path.name} is damaged: {why}; it was moved to {DAMAGED}/, and its runs are run again"
    )


def _set_aside(path: Path) -> None:
    """Move everything of an earlier study into a folder of its own."""
    held = [p for p in path.iterdir() if p.name != LOCK and not p.name.startswith(BEFORE)]
    if not held:
        return
    if not (path / MANIFEST).exists():
        raise StudyError(
            f"folder {path} holds no study, so nothing is set aside; choose another --out"
        )
    aside = path / f"{BEFORE}{datetime.now(UTC).strftime('%Y%m%dT%H%M%S%f')}"
    aside.mkdir()
    for p in held:
        os.replace(p, aside / p.name)
