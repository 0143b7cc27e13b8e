"""The command `sarrus`: its sub-commands, and how errors are shown."""

from __future__ import annotations

import sys

import typer
from rich.console import Console
from rich.markup import escape

from .bench import bench
from .engines import list_engines
from .export import export
from .importing import import_file
from .inspect import inspect
from .judge import judge
from .listing import list_problems
from .methods import list_methods
from .modes import modes
from .movie import movie
from .report import report
from .run import run
from .schema import schema
from .simulate import simulate
from .spec import spec
from .submit import board, submit
from .sweep import sweep
from .view import view

app = typer.Typer(
    help="Closed-loop mechanisms, simulated exactly and fast.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("list")(list_problems)
app.command("methods")(list_methods)
app.command("engines")(list_engines)
app.command("run")(run)
app.command("simulate")(simulate)
app.command("report")(report)
app.command("movie")(movie)
app.command("view")(view)
app.command("inspect")(inspect)
app.command("modes")(modes)
app.command("export")(export)
app.command("import")(import_file)
app.command("schema")(schema)
app.command("judge")(judge)
app.add_typer(spec, name="spec")
app.command("bench")(bench)
app.command("submit")(submit)
app.command("board")(board)
app.command("sweep")(sweep)


@app.callback()
def about() -> None:
    """Closed-loop mechanisms, simulated exactly and fast."""


def main() -> None:
    """Entry point: errors of the user are one clear message, not a traceback."""
    try:
        app()
    except (ValueError, OSError) as error:
        Console(stderr=True, soft_wrap=True).print(
            f"[red]error:[/] {escape(str(error))}", highlight=False
        )
        sys.exit(2)
    except MemoryError:
        Console(stderr=True).print("[red]error:[/] out of memory; ask for fewer outputs")
        sys.exit(2)
