"""`sarrus report`: one page to look at, from the folders of runs or of a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

REPORT = "report.html"


def report(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="Folder of a run, several to put side by side, or the folder of a benchmark.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="HTML file; report.html in the folder (of several: here) if left out."),
    ] = None,
) -> None:
    """Write one self-contained HTML page about a run, several runs, or a benchmark."""
    from ..report.bench_page import save_bench_report
    from ..report.run_page import save_report
    from ..runs.benchmark import is_benchmark
    from ..runs.folder import RunFolderError, find_runs

    screen = Console(soft_wrap=True)
    if len(folders) == 1 and is_benchmark(folders[0]):
        path = save_bench_report(folders[0], out or folders[0] / REPORT)
    else:
        runs = [run for folder in folders for run in find_runs(folder)]
        if not runs:
            raise RunFolderError(
                f"{folders[0]} holds no run and no benchmark; make one with `sarrus run` or `sarrus bench`"
            )
        single = len(runs) == 1 or len(folders) == 1
        path = save_report(runs, out or (folders[0] / REPORT if single else Path(REPORT)))
    screen.print(f"report: {path}", highlight=False)
