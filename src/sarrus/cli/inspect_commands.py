"""`sarrus inspect`, `design`, `branches` and `modes`: a mechanism at its start, over a cycle, at equilibrium."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from .. import problems
from ..analysis import design as find_design
from ..bench.judge import judge_small_motion
from ..export import save_csv
from ..formats import Imported
from ..inspect import inspect as inspect_mechanism
from ..local_analysis import MOST
from ..local_analysis import branches as find_branches
from ..mechanism import Mechanism, MechanismError
from ..mechanism.files.units import ANGULAR_VELOCITY, VELOCITY, in_si
from ..statics import Equilibrium, Modes, equilibrium
from ..statics import modes as find_modes
from .model_files import is_imported, is_model_file, load_imported, load_model
from .options import Force, Json, Values, check_free, reject_options, with_problem_options
from .screen import Screen
from .spec import is_specification, load_problem


def _load_closed(file: str, screen: Screen) -> Imported:
    """Load another program's model as `sarrus import` does; unchanged if its loops cannot be closed."""
    try:
        return load_imported(file, screen)
    except MechanismError as error:
        # Loops that cannot be closed are part of the verdict.
        imported = load_imported(file, screen, close=False)
        screen.print(Text(str(error)), soft_wrap=True)
        return imported


@with_problem_options
def inspect(
    problem: Annotated[
        str,
        typer.Argument(
            help="Id of a problem (see `sarrus list`), a model file or a specification file."
        ),
    ],
    options: Values,
    as_json: Json = False,
) -> None:
    """Report mobility and redundancy of a mechanism at its start, with the deciding numbers."""
    screen = Screen(stderr=True)
    report = None
    if is_imported(problem):
        imported = _load_closed(problem, screen)
        mechanism, report = imported.mechanism, imported.report
        reject_options(options, problem)
    else:
        mechanism = _mechanism_of(problem, options, screen)
    found = inspect_mechanism(mechanism)
    if as_json:
        more = {} if report is None else {"import": report.as_dict()}
        print(json.dumps({**found.as_dict(), **more}, indent=2))
        return
    shown = Screen(soft_wrap=True, highlight=False)
    shown.print(str(found))
    if report is not None and report.believed is not None:
        shown.print(report.believes(found.mobility_motion))


def design(
    file: Annotated[str, typer.Argument(help="A model file with one drive, or with --joint.")],
    joint: Annotated[
        str | None, typer.Option(help="Drive this joint at constant speed, instead of the drive.")
    ] = None,
    speed: Annotated[
        str, typer.Option(help="Of --joint, with its unit: 60 rpm, 0.1 m/s.")
    ] = "60 rpm",
    csv: Annotated[
        Path | None, typer.Option(help="Write all quantities over time to this file.")
    ] = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Report design quantities: torque, power, transmission angles, limits, shaking force, over a cycle."""
    if csv is not None:
        check_free(csv, force)
    mechanism = load_model(file, Screen(stderr=True))
    kinds = {j.name: j.kind.row.coordinate for j in mechanism.joints}
    kind = ANGULAR_VELOCITY if kinds.get(joint or "", "angle") == "angle" else VELOCITY
    found = find_design(mechanism, joint=joint, speed=in_si(speed, kind))
    if csv is not None:
        save_csv(csv, found.columns())
    if as_json:
        loops = {loop.name: loop.kind for loop in found.loops}
        limits = {name: [vars(x) for x in found.limits(name)] for name in found.outputs}
        numbers = {k: None if math.isnan(v) else v for k, v in found.numbers().items()}
        record = {"drive": found.drive, "period": found.period, "numbers": numbers}
        print(json.dumps({**record, "loops": loops, "limits": limits}, indent=2))
        return
    Screen(soft_wrap=True, highlight=False).print(str(found), markup=False)


def _mechanism_of(problem: str, options: Values, screen: Screen) -> Mechanism:
    """Return the mechanism of a problem, a model file or a specification file."""
    if is_model_file(problem) or is_specification(problem):
        reject_options(options, problem)
    if is_model_file(problem):
        return load_model(problem, screen)
    if is_specification(problem):
        return load_problem(problem, screen).mechanism()
    return problems.get(problem, **options).mechanism()


@with_problem_options
def branches(
    problem: Annotated[
        str,
        typer.Argument(
            help="Id of a problem (see `sarrus list`), a model file or a specification file."
        ),
    ],
    options: Values,
    most: Annotated[int, typer.Option(help="Largest number of branches to list.", min=1)] = MOST,
    hold_drives: Annotated[
        bool, typer.Option("--hold-drives", help="Fix the drives at their initial values.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find all branches through the configuration of a mechanism, to the deciding order."""
    screen = Screen(stderr=True)
    mechanism = _mechanism_of(problem, options, screen)
    with screen.progress(f"{problem}: branches"):
        found = find_branches(mechanism, most=most, hold_drives=hold_drives)
    if as_json:
        print(json.dumps(found.as_dict(), indent=2))
    else:
        Screen(soft_wrap=True, highlight=False).print(str(found))


@with_problem_options
def modes(
    problem: Annotated[
        str, typer.Argument(help="Id of a problem (see `sarrus list`) or a model file.")
    ],
    options: Values,
    as_json: Json = False,
) -> None:
    """Find the stable equilibrium, and frequencies, damping and eigenvalues of small motions."""
    checks: list[dict[str, Any]] = []
    if is_model_file(problem):
        reject_options(options, problem)
        mechanism = load_model(problem, Screen(stderr=True))
        rest = equilibrium(mechanism)
        found = _modes(mechanism, rest)
    else:
        item = problems.get(problem, **options)
        if item.small is not None:
            rest, found, judged = judge_small_motion(item)
            checks = [{**vars(check), "passed": check.passed} for check in judged]
        else:
            mechanism = item.mechanism()
            rest = equilibrium(mechanism)
            found = _modes(mechanism, rest)
    if as_json:
        print(json.dumps(_record(rest, found, checks), indent=2))
    else:
        _show(rest, found, checks)
    if not rest.found or not all(check["passed"] for check in checks):
        raise typer.Exit(1)


def _modes(mechanism: Any, rest: Equilibrium) -> Modes | None:
    """Return the modes; None if there are none, and the message of the equilibrium says why."""
    if not rest.found:
        return None
    try:
        return find_modes(mechanism, at=rest)
    except MechanismError:
        return None


def _record(rest: Equilibrium, found: Modes | None, checks: list[dict[str, Any]]) -> dict[str, Any]:
    listed = [] if found is None else found.modes
    return {
        "schema": 1,
        "mechanism": rest.mechanism,
        "found": rest.found,
        "stable": rest.stable,
        "message": rest.message,
        "residual": rest.residual,
        "positions": {name: place.tolist() for name, place in rest.points.items()},
        "modes": [
            {
                "eigenvalue": [mode.eigenvalue.real, mode.eigenvalue.imag],
                "frequency": mode.frequency,
                "damping": mode.damping,
            }
            for mode in listed
        ],
        "notes": [] if found is None else list(found.notes),
        "checks": checks,
    }


def _show(rest: Equilibrium, found: Modes | None, checks: list[dict[str, Any]]) -> None:
    screen = Screen(soft_wrap=True, highlight=False)
    word = "stable" if rest.stable else "not stable"
    screen.print(f"{rest.mechanism}: {rest.message}" + (f", {word}" if rest.found else ""))
    if found is not None:
        screen.print("mode  eigenvalue [1/s]                        frequency [Hz]  damping ratio")
        for i, mode in enumerate(found.modes):
            z = mode.eigenvalue
            value = f"{z.real:.12g}" + (f" +- {z.imag:.12g} i" if z.imag else "")
            screen.print(f"{i + 1:4d}  {value:40s}  {mode.frequency:14.8g}  {mode.damping:13.6g}")
        for note in found.notes:
            screen.print(note)
    for check in checks:
        verdict = "PASS" if check["passed"] else "FAIL"
        screen.print(
            f"{check['what']}: {check['value']:.2g} {check['unit']} from the reference, allowed "
            f"{check['limit']:g}: {verdict}"
        )
