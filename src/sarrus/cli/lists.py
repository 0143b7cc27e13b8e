"""`sarrus list`, `methods` and `cache`: the problems, the methods, and the compiled code."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from .. import cache, problems
from ..arrays import plain_sum
from ..report.tables import new_table, problem_table
from ..user_methods import installed
from .options import Json
from .screen import Screen


def list_problems(as_json: Json = False) -> None:
    """List the benchmark problems with their options, limits and source."""
    if as_json:
        print(json.dumps([_problem(problems.get(name)) for name in problems.names()], indent=2))
        return
    Screen().show_table(problem_table(problems.get(name) for name in problems.names()))


def _problem(problem: problems.Problem) -> dict[str, Any]:
    """Return the data of a problem for the list."""
    return {
        "id": problem.id,
        "title": problem.title,
        "version": problem.version,
        "library": problem.library,
        "duration": problem.duration,
        "output_step": problem.output_step,
        "observed": problem.observed,
        "columns": list(problem.columns),
        "options": [
            {
                "name": o.name,
                "default": problem.options[o.name],
                "unit": o.unit,
                "meaning": o.meaning,
            }
            for o in problems.options(problem.id)
        ],
        "limits": str(problem.limits),
    }


def list_methods(as_json: Json = False) -> None:
    """List the methods: what controls their steps, what they can simulate, and their options."""
    # The compiler loads slowly, so only this command imports it.
    from ..methods import CHOICES, get_method
    from ..methods.method import DRIVES, LOADS, USER_FORCES

    words = {LOADS: "loads", DRIVES: "drives", USER_FORCES: "user forces"}
    table = new_table(("method", "description", "controlled by", "supports", "options"))
    listed = (*CHOICES.values(), *map(get_method, installed()))
    if as_json:
        rows = [
            {
                "id": method.id,
                "title": method.title,
                "setting": method.setting,
                "does": [word for key, word in words.items() if key in method.does],
                "projects": method.projects,
                "options": dict(method.options),
            }
            for method in listed
        ]
        print(json.dumps(rows, indent=2))
        return
    for method in listed:
        able = [word for key, word in words.items() if key in method.does]
        able += ["outputs on the constraints"] if method.projects else []
        options = ", ".join(f"{name}={value:g}" for name, value in method.options.items())
        table.add_row(method.id, method.title, method.setting, ", ".join(able), options)
    screen = Screen()
    screen.show_table(table)
    screen.print(
        "All methods support gravity and constant forces; loads: springs, dampers, torques, forces that "
        "turn with a body. "
        "More: docs/methods.",
        soft_wrap=True,
    )


def show_cache(
    clear: Annotated[bool, typer.Option("--clear", help="Delete all of it.")] = False,
) -> None:
    """Show where compiled code is cached, how much and since when; or delete it."""
    screen = Screen(soft_wrap=True, highlight=False)
    if clear:
        screen.print(f"{cache.clear() / 1e6:.1f} MB deleted; the next run compiles again")
        return
    kept = cache.list_kept()
    for version in kept:
        day = datetime.fromtimestamp(version.used, UTC).date().isoformat()
        text = f"{version.size / 1e6:8.1f} MB  {version.entries:4d} files  used {day}"
        screen.print(f"{text}  {version.path}")
    total = plain_sum(version.size for version in kept) / 1e6
    days = cache.KEPT_SECONDS / 86400
    screen.print(
        f"{total:.1f} MB in all; entries that were not used for {days:g} days are removed automatically, "
        "all of them by "
        "`sarrus cache --clear`"
    )
