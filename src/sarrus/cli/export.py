"""`sarrus export`: the model file of a problem, as a start for one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import problems
from ..mechanism.files import to_data, to_text
from ..mechanism.files.writing import save_text


def export(
    problem: Annotated[str, typer.Argument(help="Id of a problem (see `sarrus list`).")],
    file: Annotated[
        Path | None, typer.Argument(help="Model file to write; the screen if left out.")
    ] = None,
    windows: Annotated[int | None, typer.Option(help="Windows N of a four-bar.")] = None,
    speed: Annotated[float | None, typer.Option(help="Start speed of a four-bar [m/s].")] = None,
    section: Annotated[
        float | None, typer.Option(help="Section of Bricard's rods [m]; 0 is thin.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write the mechanism of a problem as a model file, with its duration and output step."""
    chosen = {"windows": windows, "speed": speed, "section": section}
    options = {name: value for name, value in chosen.items() if value is not None}
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
