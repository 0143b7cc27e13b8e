"""`sarrus import`: a model of another program as our model file, or out again as MJCF or URDF."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from ..formats import read, write_mjcf, write_urdf
from ..formats.report import Report
from ..mechanism import Mechanism
from ..mechanism.files import load, to_data, to_text
from ..mechanism.files.writing import save_text
from .model_file import ENDINGS

WRITERS = {".xml": write_mjcf, ".mjcf": write_mjcf, ".urdf": write_urdf}


def import_file(
    file: Annotated[
        str, typer.Argument(help="MJCF (.xml), URDF (.urdf) or ASMT (.asmt), or a model file.")
    ],
    out: Annotated[
        Path | None,
        typer.Argument(
            help="Model file to write; .xml is MJCF, .urdf URDF; NAME.yaml if left out."
        ),
    ] = None,
    closures: Annotated[
        str | None,
        typer.Option(help="URDF: YAML file with its closed_loop; else the one beside it."),
    ] = None,
    floating: Annotated[
        bool, typer.Option("--floating", help="URDF: the root link is free.")
    ] = False,
    keyframe: Annotated[str | None, typer.Option(help="MJCF: keyframe to start at.")] = None,
    misfit: Annotated[
        float | None,
        typer.Option(
            help="Gaps bridged where a loop cannot close [m]; 1e-5 of the size if left out."
        ),
    ] = None,
    as_authored: Annotated[
        bool, typer.Option("--as-authored", help="Leave loops open as they stand in the file.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Read a model of another program, close its loops, and write our model file; tell what became of it."""
    target = Path(file).with_suffix(".yaml").name if out is None else str(out)
    goal = Path(target)
    if goal.exists() and not force:
        raise ValueError(f"{goal} exists already; choose another name, or replace it with --force")
    told: Report | None = None
    if file.lower().endswith(ENDINGS):
        mechanism = load(file)
    else:
        imported = read(
            file,
            close=not as_authored,
            misfit=misfit,
            closures=closures,
            floating=floating,
            keyframe=keyframe,
        )
        mechanism, told = imported.mechanism, imported.report
    written = _write(mechanism, goal, told)
    reports = [r for r in (told, written) if r is not None]
    if as_json:
        print(json.dumps([r.as_dict() for r in reports], indent=2))
        return
    screen = Console()
    for report in reports:
        for line in report.sentences:
            screen.print(Text(line), soft_wrap=True)
    screen.print(Text(f"written: {goal}"), soft_wrap=True)


def _write(mechanism: Mechanism, goal: Path, told: Report | None) -> Report | None:
    """Write a file by its ending; what the format cannot hold."""
    if goal.suffix.lower() in WRITERS:
        return WRITERS[goal.suffix.lower()](mechanism, goal)
    if not goal.name.lower().endswith(ENDINGS):
        known = ", ".join((*ENDINGS, *WRITERS))
        raise ValueError(f"the ending of {goal} is not written; known: {known}")
    lines = [] if told is None else told.sentences
    save_text("".join(f"# {line}\n" for line in lines) + to_text(to_data(mechanism)), goal)
    return None
