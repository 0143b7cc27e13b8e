"""`sarrus spec`: shows and writes specification files of the MBS Benchmark library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from .. import problems
from ..disk import write_file
from ..problems import Problem
from ..specification import (
    LIBRARY,
    load_specification,
    specification_notes,
    specification_to_problem,
    write_specification,
)
from .options import Force, ProblemId, check_free
from .screen import Screen

# A file may contain thousands of unknown elements.
MOST_LINES = 50

spec = typer.Typer(
    help="Specification files: show what is understood, or write one.", no_args_is_help=True
)


@spec.command("show")
def show(file: Annotated[Path, typer.Argument(help="Specification file (XML).")]) -> None:
    """Show what was understood in a file and where, and what was not."""
    found = load_specification(file)
    screen = Screen()
    # One line per fact, also if no terminal reports its width.
    screen.width = max(screen.width, 125)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("what", no_wrap=True)
    table.add_column("value", max_width=60)
    table.add_column("where")
    for row in found.understood[:1000]:
        table.add_row(*(Text(cell) for cell in row))
    screen.print(table)
    _print_list(screen, "not understood:", found.not_understood)
    try:
        problem, notes = specification_to_problem(found), specification_notes(found)
    except ValueError as error:
        _print_list(screen, "notes:", [*found.notes, str(error)])
        return
    _print_list(screen, "notes:", notes)
    screen.print(Text(f"problem: {problem.id}, {problem.title}, {problem.duration:g} s"))


@spec.command("write")
def write(
    problem: ProblemId,
    out: Annotated[Path | None, typer.Option(help="File; the screen if left out.")] = None,
    force: Force = False,
) -> None:
    """Write the specification of a problem."""
    text = write_specification(problems.get(LIBRARY.get(problem, problem)))
    if out is None:
        print(text, end="")
    else:
        check_free(out, force)
        write_file(out, text)
        Screen().print(Text(f"written: {out}"), soft_wrap=True)


def is_specification(word: str) -> bool:
    """Return whether an argument of the command line is a specification file rather than a problem."""
    if word in problems.names():
        return False
    return word.lower().endswith(".xml") or Path(word).is_file()


def load_problem(file: str, screen: Screen) -> Problem:
    """Load the problem of a specification file; prints its notes."""
    found = load_specification(file)
    problem = specification_to_problem(found)
    for note in specification_notes(found):
        screen.print(Text(f"{problem.id}: {note}"))
    return problem


def _print_list(screen: Screen, head: str, lines: list[str]) -> None:
    if not lines:
        return
    screen.print()
    screen.print(head)
    for line in lines[:MOST_LINES]:
        screen.print(Text(f"  {line}"), soft_wrap=True)
    if len(lines) > MOST_LINES:
        screen.print(f"  and {len(lines) - MOST_LINES} more", highlight=False)
