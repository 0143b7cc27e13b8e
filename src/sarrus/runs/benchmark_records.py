"""The records of a benchmark, one JSON file a cell: written whole, read back, ranked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..outputs import is_finished, write_output
from .run_folder import RunFolderError
from .run_records import CellRecord, InvalidRecordError, read_record

# our own methods among engines
OURS = "sarrus"
# the status of a run that was left out for the time it would take
SKIPPED = "skipped"
Record = dict[str, Any]

CELLS = "cells"


def is_benchmark(folder: Path) -> bool:
    """Whether a folder holds the cells of a benchmark."""
    return (folder / CELLS).is_dir()


def load_benchmark(folder: Path) -> tuple[list[Record], list[tuple[str, str]]]:
    """All records of a benchmark's folder, and of each file that holds no valid one its name and the reason.

    Raises RunFolderError if there is no valid record.
    """
    records, bad = [], []
    for path in sorted(filter(is_finished, (folder / CELLS).rglob("*.json"))):
        try:
            records.append(read_record(path, CellRecord))
        except (OSError, InvalidRecordError) as error:
            bad.append((str(path), str(error)))
    if not records:
        why = f" ({bad[0][0]}: {bad[0][1]})" if bad else ""
        raise RunFolderError(
            f"{folder} holds no records of a benchmark{why}; make them by `sarrus bench`"
        )
    return records, bad


def write_cell(path: Path, record: Record) -> None:
    """Write a record whole or not at all."""
    write_output(path, json.dumps(record, indent=2) + "\n")


def grades(record: Record) -> list[str]:
    """The classes whose limits a record keeps: "low", "high" for problems with two, else ""."""
    judged = record["judgement"]
    checks = judged["checks"]
    if not any("precision" in c["what"] for c in checks):
        return [""] if judged["passed"] else []
    kept = []
    for grade, other in (("low", "high precision"), ("high", "low precision")):
        mine = [c["passed"] for c in checks if other not in c["what"]]
        if judged["complete"] and mine and all(mine):
            kept.append(grade)
    return kept


def classes(record: Record, *, source: bool = False) -> list[str]:
    """What a record competes for among engines: each reading of a library's precision for itself, else "".

    The sources do not say whether the root mean square or the maximum is meant; all other limits must be kept.
    source: only the limits of the problem's source count, not those of this project; none if it states none.
    """
    judged = record["judgement"]
    checks = [c for c in judged["checks"] if not (source and c.get("ours", False))]
    others = [c["passed"] for c in checks if "precision" not in c["what"]]
    if not (judged["complete"] and checks and all(others)) or judged.get("left_at") is not None:
        return []
    graded = [c for c in checks if "precision" in c["what"]]
    if not graded:
        return [""]
    return [f"{c['what'].rpartition(', ')[2]} < {c['limit']:g}" for c in graded if c["passed"]]


def ranked_seconds(record: Record) -> float:
    """CPU time that ranks a record among engines: with all outputs.

    Engines keep their outputs while they solve; our own methods record them afterwards.
    """
    timings = record["timings"]
    return float(timings["cpu"] if record["method"] == OURS else timings["solve"])


def winners(records: list[Record]) -> list[tuple[str, Record]]:
    """The fastest record of each problem, class and method that keeps the limits, with the class.

    What counts is CPU with all outputs recorded: who needs less after the steps is faster.
    """
    best: dict[tuple[str, str, str], Record] = {}
    for record in records:
        for grade in grades(record):
            key = (record["problem"]["id"], record["method"], grade)
            if key not in best or record["timings"]["cpu"] < best[key]["timings"]["cpu"]:
                best[key] = record
    return [(grade, record) for (_, _, grade), record in best.items()]
