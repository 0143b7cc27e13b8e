"""`sarrus submit` and `sarrus board`: runs checked, packed, and put side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def submit(
    folder: Annotated[Path, typer.Argument(help="Folder of a run (results.txt, run.json).")],
    out: Annotated[Path, typer.Option(help="Where the packed file goes.")] = Path("."),
) -> None:
    """Check a run with the judge and pack it as one file."""
    from ..bench.submission import check_run, pack_run

    _, judged = check_run(folder)
    path = pack_run(folder, out)
    screen = Console()
    for check in judged.checks:
        word = "[green]PASS[/]" if check.passed else "[red]FAIL[/]"
        screen.print(f"{word} {check.what}: {check.value:.3g} {check.unit} (limit {check.limit:g})")
    screen.print(f"packed: {path}", soft_wrap=True, highlight=False)


def board(
    places: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Run folders or packed submissions.")
    ],
) -> None:
    """Merge runs of many people into one table; every one is judged again."""
    from ..bench.submission import collect_records
    from ..report.benchmark import board_table

    records, left_out = collect_records(places)
    screen = Console()
    screen.width = max(screen.width, 165)
    screen.print(board_table(records))
    for line in left_out:
        screen.print(line, soft_wrap=True, highlight=False)
    screen.print("x calibration compares machines: the solve as a multiple of a fixed workload.")
