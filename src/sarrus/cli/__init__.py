"""The command `sarrus`: its subcommands, one file per group, and how errors are shown. Only this folder prints."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any, NoReturn

import typer

from .. import __version__
from . import (
    audit_command,
    bench,
    engine_commands,
    inspect_commands,
    lists,
    model_files,
    optimize,
    pictures,
    run_commands,
    scaffold,
    spec,
    sweep,
)
from .errors import STOPPED, debugging, end_with
from .screen import Screen, find_lost_output, outlive_readers

__all__ = ["app", "main"]

# An unknown argument raises ClickException, which versions of typer keep in different places.
USAGE: Any = typer.BadParameter.__mro__[2]

app = typer.Typer(
    help="Closed-loop mechanisms, simulated exactly and fast.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("list")(lists.list_problems)
app.command("methods")(lists.list_methods)
app.command("engines")(engine_commands.list_engines)
app.command("run")(run_commands.run)
app.command("simulate")(run_commands.simulate)
app.command("report")(pictures.report)
app.command("movie")(pictures.movie)
app.command("view")(pictures.view)
app.command("inspect")(inspect_commands.inspect)
app.command("design")(inspect_commands.design)
app.command("audit")(audit_command.audit)
app.command("branches")(inspect_commands.branches)
app.command("modes")(inspect_commands.modes)
app.command("export")(model_files.export)
app.command("import")(model_files.import_file)
app.command("schema")(model_files.schema)
app.command("judge")(bench.judge)
app.add_typer(spec.spec, name="spec")
app.command("bench")(bench.bench)
app.add_typer(scaffold.new, name="new")
app.command("check-method")(scaffold.check_method)
app.command("problem")(scaffold.problem)
app.command("submit")(bench.submit)
app.command("board")(bench.board)
app.command("sweep")(sweep.sweep)
app.command("optimize")(optimize.optimize)
app.command("cache")(lists.show_cache)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"sarrus {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Closed-loop mechanisms, simulated exactly and fast."""


def main() -> None:
    """Entry point: errors give one clear message, not a traceback."""
    outlive_readers()
    try:
        _run_command()
    finally:
        if (lost := find_lost_output()) is not None:
            end_with(OSError(f"what was printed could not be written: {lost.strerror}"))


def _run_command() -> NoReturn:
    if not debugging():
        # Warnings about intermediate overflows: the results are checked, and errors reported in words.
        warnings.simplefilter("ignore", RuntimeWarning)
    try:
        # Called as a function, because it reports an interruption in words, not as a usage error.
        status = app(standalone_mode=False)
    except typer.Abort:
        _stopped()
    except USAGE as error:
        error.show()
        sys.exit(error.exit_code)
    except Exception as error:
        end_with(error)
    if status == STOPPED:
        _stopped()
    sys.exit(status if isinstance(status, int) else 0)


def _stopped() -> NoReturn:
    """Exit as programs do after Ctrl-C; incomplete files have been removed."""
    Screen(stderr=True).print("stopped")
    sys.exit(STOPPED)
