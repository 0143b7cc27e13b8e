"""`sarrus inspect`: mobility and redundancy of a mechanism, in sentences."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from .. import problems
from ..verdict import inspect as inspect_mechanism
from .model_file import is_imported, is_model_file, load_imported, load_model
from .spec import is_specification, load_problem


def inspect(
    problem: Annotated[
        str,
        typer.Argument(
            help="Id of a problem (see `sarrus list`), a model file or a specification file."
        ),
    ],
    windows: Annotated[int | None, typer.Option(help="Windows N of a four-bar.")] = None,
    speed: Annotated[float | None, typer.Option(help="Start speed of a four-bar [m/s].")] = None,
    section: Annotated[
        float | None, typer.Option(help="Section of Bricard's rods [m]; 0 is thin.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
) -> None:
    """Tell mobility and redundancy of a mechanism at its start, with the numbers that decided."""
    chosen = {"windows": windows, "speed": speed, "section": section}
    options = {name: value for name, value in chosen.items() if value is not None}
    if (is_model_file(problem) or is_specification(problem)) and options:
        raise ValueError(f"--{next(iter(options))} is said by the file {problem}; leave it out")
    screen = Console(stderr=True)
    report = None
    if is_imported(problem):
        # as authored: that its loops are open, or cannot be closed, is part of the verdict
        imported = load_imported(problem, screen, close=False)
        mechanism, report = imported.mechanism, imported.report
    elif is_model_file(problem):
        mechanism = load_model(problem, screen)
    elif is_specification(problem):
        mechanism = load_problem(problem, screen).mechanism()
    else:
        mechanism = problems.get(problem, **options).mechanism()
    found = inspect_mechanism(mechanism)
    if as_json:
        more = {} if report is None else {"import": report.as_dict()}
        print(json.dumps({**found.as_dict(), **more}, indent=2))
        return
    print(found)
    if report is not None and report.believed is not None:
        print(report.believes(found.mobility_motion))
