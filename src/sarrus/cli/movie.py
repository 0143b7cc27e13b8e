"""`sarrus movie`: a run as a film."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def movie(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")],
    out: Annotated[
        Path, typer.Argument(help="File .mp4, .avi or .gif; .png or a folder: a picture a frame.")
    ],
    speed: Annotated[float, typer.Option(help="1 is real time, 0.5 half as fast.")] = 1.0,
    size: Annotated[str, typer.Option(help="Width x height in pixels.")] = "1280x720",
    fps: Annotated[float, typer.Option(help="Frames a second.")] = 30.0,
    until: Annotated[
        float | None, typer.Option(help="Simulated time that is shown [s]; all if left out.")
    ] = None,
) -> None:
    """Film a run: the mechanism with its trace and a clock, in real time."""
    from ..report.movie import Film, parse_size, save_movie
    from ..runs.folder import load_run

    film = Film(parse_size(size), fps, speed, until)
    scene = load_run(folder).scene
    screen = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=screen, transient=True) as progress:
        task = progress.add_task("frames", total=None)
        path = save_movie(
            scene, out, film, lambda done, total: progress.update(task, completed=done, total=total)
        )
    Console(soft_wrap=True).print(f"movie: {path}", highlight=False)
