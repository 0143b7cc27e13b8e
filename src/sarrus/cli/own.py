"""`sarrus new`, `check-method` and `problem`: methods and problems of one's own."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from ..report.tables import passed_word
from .screen import Screen

new = typer.Typer(help="Write a start for something of your own.", no_args_is_help=True)


@new.command("method")
def new_method(
    file: Annotated[Path, typer.Argument(help="File to write, such as my_alpha.py.")],
) -> None:
    """Write a method to start from: generalized-alpha in 40 lines."""
    if file.suffix != ".py":
        raise ValueError(f"{file}: give a name that ends in .py")
    if file.exists():
        raise ValueError(f"{file} is there already; give another name, or delete it")
    name = file.stem.replace("_", "-")
    text = (files("sarrus.cli") / "my_method.py.txt").read_text(encoding="utf-8")
    file.write_text(
        text.replace("THIS_FILE", file.name).replace("THIS_NAME", name), encoding="utf-8"
    )
    Screen().print(f"{file}: change it, then `sarrus check-method {file}`", soft_wrap=True)


def check_method(
    method: Annotated[str, typer.Argument(help="FILE.py, FILE.py:FUNCTION, or a method's name.")],
) -> None:
    """Measure a method: order, energy, crossings, redundant equations, drives; exit status 1 if something is wrong."""
    # loads the compiled kernels: not for `sarrus --help`
    from ..bench.own_methods import check_method as measure
    from ..methods import get_method
    from ..own_method import find

    chosen = get_method(method)
    own = find(chosen.id)
    with Screen(stderr=True).status(f"{chosen.id}: measuring"):
        report = measure(chosen, own.order if own else 0)
    screen = Screen(soft_wrap=True)
    screen.print(f"{chosen.id}: {chosen.title}")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for head in ("", "looked at", "found"):
        table.add_column(head)
    for finding in report.findings:
        table.add_row(passed_word(finding.good), finding.what, finding.sentence)
    screen.width = max(screen.width, 120)
    screen.print(table)
    if not chosen.compiled:
        screen.print("a Python function: its times are those of Python", highlight=False)
    if not report.good:
        raise typer.Exit(1)
