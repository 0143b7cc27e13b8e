"""`sarrus list`: the problems."""

from __future__ import annotations

from rich.console import Console

from .. import problems
from ..report import problem_table


def list_problems() -> None:
    """List the benchmark problems with their options, limits and source."""
    screen = Console()
    # a line a problem, also where no terminal tells its width
    screen.width = max(screen.width, 160)
    screen.print(problem_table(problems.get(name) for name in problems.names()))
