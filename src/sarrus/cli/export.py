"""`sarrus export`: the model file of a problem, as a start for one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import problems
from ..mechanism.files import to_data, to_text
from ..mechanism.files.writing import save_text
from .options import ProblemId, Values, with_problem_options


@with_problem_options
def export(
    problem: ProblemId,
    options: Values,
    file: Annotated[
        Path | None, typer.Argument(help="Model file to write; the screen if left out.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write the mechanism of a problem as a model file, with its duration and output step."""
    item = problems.get(problem, **options)
    mechanism = item.mechanism()
    mechanism.defaults = {"duration": item.duration, "output_step": item.output_step}
    text = f"# {item.title}\n# {item.source}\n{to_text(to_data(mechanism))}"
    if file is None:
        print(text, end="")
        return
    if file.exists() and not force:
        raise ValueError(f"{file} exists already; choose another name, or replace it with --force")
    save_text(text, file)
