"""`sarrus run`: problems simulated, judged, and kept in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .. import problems
from ..bench import judge, run_problem, save_run
from ..report import library_error, run_table, save_figures
from ..report.run_page import save_report
from ..runs.provenance import command_line
from ..simulate import CONTINUE, DEFAULT_METHOD
from .model_file import is_model_file
from .options import (
    AtCrossing,
    Duration,
    Json,
    Step,
    Tolerance,
    Values,
    WithReport,
    refuse_options,
    with_problem_options,
)
from .report import REPORT
from .simulate import tell_crossings
from .spec import is_specification, load_problem


@with_problem_options
def run(
    options: Values,
    problem: Annotated[
        str | None,
        typer.Argument(
            help="Id of a problem (see `sarrus list`) or a specification file; all if left out."
        ),
    ] = None,
    duration: Duration = None,
    tolerance: Tolerance = None,
    method: Annotated[str, typer.Option(help="Method.")] = DEFAULT_METHOD,
    step: Step = None,
    at_crossing: AtCrossing = CONTINUE,
    out: Annotated[Path, typer.Option(help="Folder for files and figures.")] = Path("runs"),
    as_json: Json = False,
    with_report: WithReport = False,
) -> None:
    """Simulate a problem (or all), judge it, write results.txt, run.json, result.h5 and the figures."""
    if problem is None and options:
        raise ValueError(f"name the problem that --{next(iter(options))} is meant for")
    if problem is not None and is_model_file(problem):
        raise ValueError(f"{problem} is a model file; run it with `sarrus simulate {problem}`")
    screen = Console(stderr=True)
    if problem is not None and is_specification(problem):
        refuse_options(options, problem)
        todo = [load_problem(problem, screen)]
    else:
        names = [problem] if problem else problems.names()
        todo = [problems.get(name, **options) for name in names]
    records: list[dict[str, Any]] = []
    for item in todo:
        with screen.status(f"{item.id}: simulating {duration or item.duration:g} s"):
            result, timing = run_problem(
                item,
                tolerance=tolerance,
                step=step,
                method=method,
                duration=duration,
                at_crossing=at_crossing,
            )
            folder = out / item.id
            record = save_run(folder, item, result, judge(item, result), timing, command_line())
            save_figures(folder, item, result)
            if with_report:
                save_report([folder], folder / REPORT)
        records.append(record)
    if as_json:
        print(json.dumps(records[0] if problem else records, indent=2))
    else:
        _show(records, out)
    if not all(record["judgement"]["passed"] for record in records):
        raise typer.Exit(1)


def _show(records: list[dict[str, Any]], out: Path) -> None:
    screen = Console(soft_wrap=False)
    screen.print(run_table(records))
    for record in records:
        name = record["problem"]["id"]
        if record["status"] != "done":
            screen.print(
                f"[red]{name}: {record['status']}[/]: {record['message']}", highlight=False
            )
        told = [*record["notes"], *tell_crossings(record["verdict"])]
        if measure := library_error(record):
            told.append(
                f"error of the library (threshold, {record['outputs'] - 1} steps): {measure}"
            )
        if record["timings"]["busy"]:
            spread = record["timings"]["spread"]
            told.append(f"timed on a busy machine: the median is {spread:.0%} above the best")
        for line in told:
            screen.print(f"{name}: {line}", highlight=False)
        for check in record["judgement"]["checks"]:
            if not check["passed"]:
                screen.print(
                    f"{name}: {check['what']} is {check['value']:.3g} {check['unit']}, "
                    f"allowed {check['limit']:g}",
                    highlight=False,
                )
    screen.print(f"files and figures: {out}/", soft_wrap=True, highlight=False)
