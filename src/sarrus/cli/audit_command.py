"""`sarrus audit`: checks the invariants of finished runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from .. import runs
from ..audit import audit as check_invariants
from ..result import Result, load_result
from .options import Json
from .screen import Screen


def audit(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="Folder of a run, or of several, or a result.h5 that was saved."
        ),
    ],
    as_json: Json = False,
) -> None:
    """Check forces, powers, energy, constraints and crossings of a run; exit status 1 if a check fails."""
    found = [check_invariants(result) for result in _results(run)]
    if as_json:
        print(json.dumps([one.as_dict() for one in found], indent=2))
    else:
        shown = Screen(soft_wrap=True, highlight=False)
        for one in found:
            shown.print(str(one))
    if not all(one.holds for one in found):
        raise typer.Exit(1)


def _results(run: Path) -> list[Result]:
    if run.is_file():
        return [load_result(run)]
    folders = runs.run_folder.find_runs(run)
    if not folders:
        raise runs.run_folder.RunFolderError(
            f"{run} contains no run; make one with `sarrus run` or `sarrus simulate`"
        )
    return [runs.run_folder.load_run(folder).result for folder in folders]
