"""`sarrus list` and `sarrus methods`: what there is to simulate, and how."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table

from .. import problems
from ..report import problem_table


def list_problems() -> None:
    """List the benchmark problems with their options, limits and source."""
    screen = Console()
    # a line a problem, also where no terminal tells its width
    screen.width = max(screen.width, 160)
    screen.print(problem_table(problems.get(name) for name in problems.names()))


def list_methods() -> None:
    """List the methods: what steers them, what they can simulate, and their options."""
    # the compiler loads slowly: only this command pays for it
    from ..methods import CHOICES
    from ..methods.method import DRIVES, LOADS, USER_FORCES

    words = {LOADS: "loads", DRIVES: "drives", USER_FORCES: "user forces"}
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for name in ("method", "what", "give", "can do", "options"):
        table.add_column(name, no_wrap=True)
    for method in CHOICES.values():
        able = [word for key, word in words.items() if key in method.does]
        able += ["outputs on the constraints"] if method.projects else []
        options = ", ".join(f"{name}={value:g}" for name, value in method.options.items())
        table.add_row(method.id, method.title, method.setting, ", ".join(able), options)
    screen = Console()
    # a line a method, also where no terminal is that wide
    screen.width = max(screen.width, Console(width=1000).measure(table).maximum)
    screen.print(table)
    screen.print(
        "All do gravity and constant forces; loads: springs, dampers, torques, forces that turn with a body. "
        "More: docs/methods.",
        soft_wrap=True,
    )
