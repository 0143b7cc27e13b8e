"""Options shared by several commands: those of problems, generated from their data, and those of runs."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import problems
from ..mechanism.elements import load_units
from ..settings import AT_CROSSING

Values = dict[str, float]
Settings = dict[str, Any]


def read_seconds(text: str) -> float:
    """A time option [s]: a number, or text with a unit such as "5 ms"."""
    try:
        return float(text)
    except ValueError:
        pass
    units = load_units()
    try:
        return float(units.in_si(text, units.TIME))
    except units.UnitError as error:
        raise typer.BadParameter(str(error)) from None


def seconds_option(text: str) -> Any:
    """An option for a time; text: its help."""
    return typer.Option(help=text, parser=read_seconds, metavar="<time>")


Duration = Annotated[float | None, seconds_option("Simulated time [s], or with a unit.")]
Tolerance = Annotated[
    float | None,
    typer.Option(help="Target error, relative to the mechanism's size; 1e-10 by default."),
]
Step = Annotated[float | None, seconds_option("Step of a method with a fixed step [s].")]
AtCrossing = Annotated[
    str,
    typer.Option(
        metavar="|".join(AT_CROSSING),
        help="Where branches meet: continue, stop there, or stop and list the branches.",
    ),
]
# The names of `sarrus methods`; importing them would load the compiler, so a test compares them.
METHODS = (
    "auto", "series", "radau", "energy-momentum", "ali3", "generalized-alpha", "multipliers", "multipliers-dop853",
    "penalty", "null-space",
)  # fmt: skip
METHOD_HELP = f"{', '.join(METHODS)}; or FILE.py:FUNCTION, a function of your own."
# Run settings of a model file.
SETTINGS = {
    "duration": Annotated[
        float | None,
        seconds_option("Simulated time [s], or with a unit; default: that of the file."),
    ],
    "output_step": Annotated[float | None, seconds_option("Time between outputs [s], or 5ms.")],
    "tolerance": Tolerance,
    "method": Annotated[str | None, typer.Option(help=METHOD_HELP)],
    "step": Step,
}
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
Json = Annotated[bool, typer.Option("--json", help="Print the record as JSON.")]
WithReport = Annotated[
    bool, typer.Option("--report", help="Also write an HTML report, report.html.")
]
PROBLEM_HELP = f"{', '.join(problems.names())}."
ProblemId = Annotated[str, typer.Argument(help=f"Id of a problem: {PROBLEM_HELP}")]


def check_free(file: Path, force: bool) -> None:
    """Raise an error instead of overwriting a file that the user named, unless forced."""
    if os.path.lexists(file) and not force:
        raise ValueError(f"{file} exists already; choose another name, or replace it with --force")


def _spread(name: str, made: list[inspect.Parameter]) -> Callable[..., Callable[..., None]]:
    """Return a decorator that replaces one parameter of a command by these; it gets the typed values by name."""

    def wrap(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            parameters += made if parameter.name == name else [parameter]

        @wraps(command)
        def typed(**given: Any) -> None:
            values = {p.name: given.pop(p.name) for p in made}
            command(**given, **{name: {k: v for k, v in values.items() if v is not None}})

        # The signature that the command line reads.
        typed.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        typed.__annotations__ = {p.name: p.annotation for p in parameters}
        return typed

    return wrap


def with_problem_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all options that any problem has, in place of its parameter `options`."""
    made = [_parameter(option) for option in problems.all_options().values()]
    return _spread("options", made)(command)


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that override the run settings of a model file, in place of `settings`."""
    return _spread("settings", [_option(name, kind) for name, kind in SETTINGS.items()])(command)


def _option(name: str, annotation: Any) -> inspect.Parameter:
    """Return a parameter that is an option, None if it is not typed."""
    return inspect.Parameter(
        name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=annotation
    )


def _parameter(option: problems.Option) -> inspect.Parameter:
    """Return an option of problems as one of a command; `sarrus list` shows its problems and default."""
    unit = f" [{option.unit}]" if option.unit else ""
    bounds = f": {option.wanted}" if option.wanted else ""
    text = f"{option.meaning[0].upper()}{option.meaning[1:]}{unit}{bounds}."
    kind: Any = int if option.whole else float
    return _option(option.name, Annotated[kind | None, typer.Option(help=text)])


def reject_options(options: Values, file: str) -> None:
    """Raise if options were typed together with a file, which defines them itself."""
    for name in options:
        raise ValueError(f"--{name} is given by the file {file}; leave it out")
