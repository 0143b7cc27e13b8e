"""`sarrus inspect`: mobility and redundancy of a problem's mechanism, in sentences."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from .. import problems
from ..verdict import inspect as inspect_mechanism
from .spec import is_specification, load_problem


def inspect(
    problem: Annotated[
        str, typer.Argument(help="Id of a problem (see `sarrus list`) or a specification file.")
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
    if is_specification(problem):
        if options:
            raise ValueError(f"--{next(iter(options))} is said by the file {problem}; leave it out")
        item = load_problem(problem, Console(stderr=True))
    else:
        item = problems.get(problem, **options)
    found = inspect_mechanism(item.mechanism())
    print(json.dumps(found.as_dict(), indent=2) if as_json else found)
