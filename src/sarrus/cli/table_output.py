"""Tables of benchmarks and boards as CSV, LaTeX or JSON, next to published tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import report
from .screen import Screen

if TYPE_CHECKING:
    from ..report.data_tables import DataTable
    from ..report.papers import Paper

FORMATS = ("table", "csv", "latex", "json")

TableFormat = Annotated[
    str,
    typer.Option("--format", metavar="|".join(FORMATS), help="How the table is printed."),
]
Papers = Annotated[
    list[Path] | None,
    typer.Option(help="YAML file with a table of a paper, shown next to ours; may be repeated."),
]


def load_papers(shape: str, files: list[Path] | None) -> list[Paper]:
    """Load published tables; a wrong format is an error before anything runs."""
    if shape not in FORMATS:
        raise ValueError(f"--format {shape}: give one of {', '.join(FORMATS)}")
    return [report.papers.load_paper(file) for file in files or ()]


def print_data(table: DataTable, shape: str, papers: list[Paper]) -> None:
    """Print a table next to published ones: numbers with all digits, or rounded for the screen."""
    table = report.data_tables.join_papers(table, papers)
    if shape != "table":
        print(table.format(shape), end="")
        return
    screen = Screen()
    screen.show_table(report.data_tables.screen_table(table))
    for line in table.notes:
        screen.print(line, soft_wrap=True, highlight=False)
