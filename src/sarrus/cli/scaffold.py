"""`sarrus new`, `check-method` and `problem`: methods and problems of users."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from .. import bench, problems
from ..disk import write_file
from ..problems import Problem
from ..problems.packed import UserProblem
from ..report.tables import passed_word
from ..user_methods import find
from .model_files import is_model_file, load_model
from .options import Values, reject_options
from .screen import Screen

new = typer.Typer(help="Write a template for a method of your own.", no_args_is_help=True)


@new.command("method")
def new_method(
    file: Annotated[Path, typer.Argument(help="File to write, such as my_alpha.py.")],
) -> None:
    """Write a template for a method: generalized-alpha in 40 lines."""
    if file.suffix != ".py":
        raise ValueError(f"{file}: give a name that ends in .py")
    if os.path.lexists(file):
        raise ValueError(f"{file} is there already; give another name, or delete it")
    name = file.stem.replace("_", "-")
    text = (files("sarrus.cli") / "my_method.py.txt").read_text(encoding="utf-8")
    write_file(file, text.replace("THIS_FILE", file.name).replace("THIS_NAME", name))
    Screen().print(f"{file}: change it, then `sarrus check-method {file}`", soft_wrap=True)


def check_method(
    method: Annotated[str, typer.Argument(help="FILE.py, FILE.py:FUNCTION, or a method's name.")],
) -> None:
    """Measure a method: order, energy, crossings, redundant constraints, drives; exit status 1 if one is bad."""
    # Loads the compiled kernels, which `sarrus --help` does not need.
    from ..methods import get_method

    chosen = get_method(method)
    own = find(chosen.id)
    with Screen(stderr=True).status(f"{chosen.id}: measuring"):
        report = bench.method_check.check_method(chosen, own.order if own else 0)
    screen = Screen(soft_wrap=True)
    screen.print(f"{chosen.id}: {chosen.title}")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for head in ("", "looked at", "found"):
        table.add_column(head)
    for finding in report.findings:
        table.add_row(passed_word(finding.good), finding.what, finding.sentence)
    screen.show_table(table)
    if not chosen.compiled:
        screen.print("a Python function: its times are those of Python", highlight=False)
    if not report.good:
        raise typer.Exit(1)


def find_problem(
    word: str, options: Values | None = None, duration: float | None = None
) -> Problem:
    """Return a problem by id or folder, or make one of a model file; prints the choices made."""
    if problems.is_packed(word):
        reject_options(options or {}, word)
        return problems.load_packed(word)
    if not is_model_file(word):
        return problems.get(word, **(options or {}))
    reject_options(options or {}, word)
    return _make(word, duration=duration).problem


def _make(file: str, **given: Any) -> UserProblem:
    screen = Screen(stderr=True)
    mechanism = load_model(file, screen)
    with screen.status(f"{Path(file).name}: finding its reference"):
        own, notes = bench.user_problem.make_user_problem(mechanism, Path(file).stem, **given)
    for note in notes:
        screen.print(f"{Path(file).name}: {note}", soft_wrap=True, highlight=False)
    return own


def problem(
    file: Annotated[str, typer.Argument(help="Model file.")],
    out: Annotated[Path, typer.Option(help="Folder of the package to write.")],
    duration: Annotated[
        float | None, typer.Option(help="Simulated time [s]; default: that of the file.")
    ] = None,
    output_step: Annotated[float | None, typer.Option(help="Time between outputs [s].")] = None,
    point: Annotated[
        str | None, typer.Option(help="Point that is compared; else the one that moves farthest.")
    ] = None,
    limit: Annotated[
        float | None, typer.Option(help="Largest error of the point at the end [m].")
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(help="File with the exact motion of the point; else a converged run."),
    ] = None,
) -> None:
    """Pack a mechanism with its reference as a problem that others can install."""
    own = _make(
        file,
        duration=duration,
        output_step=output_step,
        point=point,
        limit=limit,
        reference=reference,
    )
    bench.user_problem.pack_problem(own, out)
    name = own.numbers["id"]
    # pip interprets a bare word as a package name.
    where = out if out.is_absolute() else f"./{out}"
    Screen().print(
        f"{out}: `pip install {where}`, then `sarrus bench {name}`", soft_wrap=True, highlight=False
    )
