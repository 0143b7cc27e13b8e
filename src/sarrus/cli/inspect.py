"""`sarrus inspect`: mobility and redundancy of a mechanism, in sentences."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from .. import problems
from ..inspect import inspect as inspect_mechanism
from .model_file import is_model_file, load_model
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
    if is_model_file(problem):
        mechanism = load_model(problem, screen)
    elif is_specification(problem):
        mechanism = load_problem(problem, screen).mechanism()
    else:
        mechanism = problems.get(problem, **options).mechanism()
    found = inspect_mechanism(mechanism)
    print(json.dumps(found.as_dict(), indent=2) if as_json else found)
