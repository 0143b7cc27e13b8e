"""The records of a benchmark, one JSON file per cell: written atomically, read back, ranked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..outputs import is_finished, write_output
from .run_folder import RunFolderError
from .run_records import CellRecord, InvalidRecordError, read_record

# Name of our own methods among engines.
OURS = "sarrus"
# Status of a run that was left out because it would take too long.
SKIPPED = "skipped"
Record = dict[str, Any]

CELLS = "cells"


def is_benchmark(folder: Path) -> bool:
    """Return whether a folder contains the cells of a benchmark."""
    return (folder / CELLS).is_dir()


def load_benchmark(folder: Path) -> tuple[list[Record], list[tuple[str, str]]]:
    """Return all records of a benchmark's folder, and name and reason for each file without a valid one.

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
    """Write a record atomically."""
    write_output(path, json.dumps(record, indent=2) + "\n")


def grades(record: Record) -> list[str]:
    """Return the classes whose limits a record satisfies: "low", "high" for problems with two, else ""."""
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
    """Return the engine classes of a record: one per interpretation of a library's precision, else "".

    The sources do not say whether the root mean square or the maximum is meant; all other limits must be
    satisfied. source: only the limits of the problem's source count, not those of this project; none if it states
    none.
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
    """Return the CPU time that ranks a record among engines, including all outputs.

    Engines store their outputs while they solve; our own methods record them afterwards.
    """
    timings = record["timings"]
    return float(timings["cpu"] if record["method"] == OURS else timings["solve"])


def winners(records: list[Record]) -> list[tuple[str, Record]]:
    """Return the fastest record per problem, class and method that satisfies the limits, with the class.

    The ranking uses CPU time including all outputs, so methods that need less time after the steps are faster.
    """
    best: dict[tuple[str, str, str], Record] = {}
    for record in records:
        for grade in grades(record):
            key = (record["problem"]["id"], record["method"], grade)
            if key not in best or record["timings"]["cpu"] < best[key]["timings"]["cpu"]:
                best[key] = record
    return [(grade, record) for (_, _, grade), record in best.items()]
