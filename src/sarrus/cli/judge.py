"""`sarrus judge`: a result file of any program against its problem."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .. import problems
from ..bench.judge import judge_columns
from ..bench.result_file import load_columns
from ..report import judgement_table
from ..runs.folder import finite
from .options import Values, with_problem_options


@with_problem_options
def judge(
    results: Annotated[Path, typer.Argument(help="Result file in the columns of the source.")],
    problem: Annotated[str, typer.Option(help="Id of its problem (see `sarrus list`).")],
    options: Values,
    duration: Annotated[float | None, typer.Option(help="Time the file covers [s].")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the judgement as JSON.")] = False,
) -> None:
    """Judge a result file: exit status 0 if it passes, 1 if it fails, 2 if it cannot be read."""
    item = problems.get(problem, **options)
    if duration is not None:
        if not (math.isfinite(duration) and duration > 0):
            raise ValueError(f"duration = {duration:g} s; give a positive number of seconds")
        item = replace(item, duration=duration)
    columns = load_columns(results, item)
    judged = judge_columns(item, columns)
    record = {
        "schema": 1,
        "file": results.name,
        "rows": len(columns["t"]),
        "problem": {
            "id": item.id,
            "version": item.version,
            "options": item.options,
            "duration": item.duration,
            "columns": list(item.columns),
        },
        "judgement": judged.as_dict(),
    }
    if as_json:
        print(json.dumps(finite(record), indent=2, allow_nan=False))
    else:
        _show(record)
    if not judged.passed:
        raise typer.Exit(1)


def _show(record: dict[str, Any]) -> None:
    screen = Console(soft_wrap=True)
    screen.print(judgement_table(record["judgement"]))
    for sentence in record["judgement"]["findings"]:
        screen.print(f"- {sentence}", highlight=False, markup=False)
    verdict = "[green]PASS[/]" if record["judgement"]["passed"] else "[red]FAIL[/]"
    told = ", ".join(f"{name} = {value:g}" for name, value in record["problem"]["options"].items())
    screen.print(
        f"{verdict}: {record['rows']} rows judged as {record['problem']['id']} ({told}), "
        f"{record['problem']['duration']:g} s",
        highlight=False,
    )
