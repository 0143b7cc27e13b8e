"""`sarrus inspect`: mobility and redundancy of a mechanism, in sentences."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from .. import problems
from ..inspect import inspect as inspect_mechanism
from .model_file import is_imported, is_model_file, load_imported, load_model
from .options import Json, Values, refuse_options, with_problem_options
from .spec import is_specification, load_problem


@with_problem_options
def inspect(
    problem: Annotated[
        str,
        typer.Argument(
            help="Id of a problem (see `sarrus list`), a model file or a specification file."
        ),
    ],
    options: Values,
    as_json: Json = False,
) -> None:
    """Tell mobility and redundancy of a mechanism at its start, with the numbers that decided."""
    if is_model_file(problem) or is_specification(problem):
        refuse_options(options, problem)
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
