"""The folder of a run: results.txt in the columns of the problem's source, run.json and result.npz."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ..problems import Problem
from ..result import Result
from .clock import Timing
from .columns import columns_of, unit_of
from .judge import Judgement
from .machine import describe_machine, describe_threads, describe_versions
from .run_folder import save_data


def save_run(
    folder: Path,
    problem: Problem,
    result: Result,
    judgement: Judgement,
    timing: Timing,
    command: str,
) -> dict[str, Any]:
    """Write results.txt, run.json and result.npz; returns what run.json holds."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = columns_of(problem, result)
    header = " ".join(f"{name}[{unit_of(name)}]" for name in problem.columns)
    table = np.column_stack([columns[name] for name in problem.columns])
    np.savetxt(folder / "results.txt", table, fmt="%.14e", header=header, comments="# ")
    record = {
        **describe_run(problem, result, judgement, timing, command),
        **describe_verdict(result),
    }
    (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    exact = problem.reference_columns(result.times)
    save_data(folder, result, columns, exact, problem.figures, problem.observed)
    return record


def describe_run(
    problem: Problem, result: Result, judgement: Judgement, timing: Timing, command: str
) -> dict[str, Any]:
    """Everything about a run but its columns, for run.json."""
    record = {
        "schema": 1,
        "problem": {
            "id": problem.id,
            "version": problem.version,
            "title": problem.title,
            "source": problem.source,
            "note": problem.note,
            "options": problem.options,
            "observed": problem.observed,
            "limits": {k: v for k, v in vars(problem.limits).items() if v is not None},
            "columns": [f"{c} [{unit_of(c)}]" for c in problem.columns],
        },
        **describe_result(result),
        "judgement": judgement.as_dict(),
        "counters": result.counters,
        "timings": timing.as_dict(),
        **describe_origin(command),
    }
    return dict(finite(record))


def describe_result(result: Result) -> dict[str, Any]:
    """Settings and end of a run."""
    return {
        "method": result.method,
        "tolerance": result.tolerance,
        "step": result.step,
        "method_options": result.options,
        "duration": result.duration,
        "outputs": len(result.times),
        "status": result.status,
        "message": result.message,
        "notes": result.notes,
    }


def describe_verdict(result: Result) -> dict[str, Any]:
    """Rank and mobility in words and numbers, and the crossings that were met."""
    verdict = result.verdict
    # crossings have a list of their own
    text = [*str(verdict.inspection).splitlines(), verdict.sentences[0]]
    return {"verdict": finite({**verdict.as_dict(), "text": text})}


def describe_origin(command: str) -> dict[str, Any]:
    """Where a run was made, with what, by which command, and when."""
    return {
        "machine": describe_machine(),
        "versions": describe_versions(),
        "threads": describe_threads(),
        "command": command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def finite(value: Any) -> Any:
    """JSON has no infinite numbers: null instead."""
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
