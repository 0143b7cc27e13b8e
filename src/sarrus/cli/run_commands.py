"""`sarrus run` and `sarrus simulate`: simulate a problem or a model file, and save the run in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from .. import problems
from ..bench import judge, run_problem, save_run
from ..bench.runner import RESULTS
from ..mechanism import Mechanism, find_remarks
from ..memory import check_memory
from ..names import shown
from ..outputs import LIST, check_outputs, new_output
from ..report import library_error, run_table, save_figures
from ..report.figures import figure_names, load_early, save_motion_figure
from ..report.html_page import REPORT
from ..report.run_page import save_report
from ..report.tables import fit_table, show_number, show_seconds
from ..runs.provenance import command_line
from ..runs.run_folder import COLUMNS, DATA, MODEL, RECORD, choose_points, save_simulation
from ..settings import MOST_OUTPUTS
from ..simulate import CONTINUE, DEFAULT_METHOD
from ..simulate import simulate as simulate_mechanism
from .model_files import is_model_file, load_model
from .options import (
    METHOD_HELP,
    PROBLEM_HELP,
    AtCrossing,
    Duration,
    Json,
    Settings,
    Step,
    Tolerance,
    Values,
    WithReport,
    reject_options,
    with_problem_options,
    with_settings,
)
from .scaffold import find_problem
from .screen import Screen
from .spec import is_specification, load_problem

# A run that stops at a crossing did so on request.
GOOD = ("done", "stopped")
MOTION = "motion.png"


@with_problem_options
def run(
    options: Values,
    problem: Annotated[
        str | None,
        typer.Argument(
            help="A specification file, the folder of a problem, or the id of one; all if left out: "
            f"{PROBLEM_HELP}"
        ),
    ] = None,
    duration: Duration = None,
    tolerance: Tolerance = None,
    method: Annotated[str, typer.Option(help=METHOD_HELP)] = DEFAULT_METHOD,
    step: Step = None,
    at_crossing: AtCrossing = CONTINUE,
    out: Annotated[Path, typer.Option(help="Folder for files and figures.")] = Path("runs"),
    as_json: Json = False,
    with_report: WithReport = False,
) -> None:
    """Simulate a problem (or all), judge it, write results.txt, run.json, result.h5 and the figures."""
    if problem is None and options:
        raise ValueError(f"name the problem that --{next(iter(options))} is meant for")
    if problem is not None and is_model_file(problem):
        raise ValueError(f"{problem} is a model file; run it with `sarrus simulate {problem}`")
    screen = Screen(stderr=True)
    if problem is not None and is_specification(problem):
        reject_options(options, problem)
        todo = [load_problem(problem, screen)]
    elif problem is not None and problems.is_packed(problem):
        todo = [find_problem(problem, options)]
    else:
        names = [problem] if problem else problems.names()
        todo = [problems.get(name, **options) for name in names]
    for item in todo:
        pages = [REPORT] if with_report else []
        check_outputs(out / item.id, [RESULTS, DATA, RECORD, *figure_names(item), *pages])
    load_early()
    records: list[dict[str, Any]] = []
    for k, item in enumerate(todo):
        of_all = f" ({k + 1} of {len(todo)})" if len(todo) > 1 else ""
        text = f"{item.id}{of_all}: simulating {duration or item.duration:g} s"
        with screen.progress(text) as turn_to:
            result, timing = run_problem(
                item,
                tolerance=tolerance,
                step=step,
                method=method,
                duration=duration,
                at_crossing=at_crossing,
            )
            folder = out / item.id
            turn_to(f"{item.id}{of_all}: files")
            record = save_run(folder, item, result, judge(item, result), timing, command_line())
        records.append(record)
        if problem and not as_json:
            # The result first: pictures take longer than the run.
            _show_runs(records)
        with screen.progress(f"{item.id}{of_all}: figures") as turn_to:
            save_figures(folder, item, result)
            if with_report:
                turn_to(f"{item.id}{of_all}: the page")
                with new_output(folder / REPORT) as half:
                    save_report([folder], half)
    if as_json:
        print(json.dumps(records[0] if problem else records, indent=2))
    else:
        if not problem:
            _show_runs(records)
        Screen().print(f"files and figures: {out}/", soft_wrap=True, highlight=False)
    if not all(record["judgement"]["passed"] for record in records):
        raise typer.Exit(1)


def _show_runs(records: list[dict[str, Any]]) -> None:
    screen = Screen(soft_wrap=False)
    screen.print(run_table(records, screen.width))
    for record in records:
        name = record["problem"]["id"]
        if record["status"] != "done":
            end = (f"{name}: {record['status']}", "red"), f": {record['message']}"
            screen.print(Text.assemble(*end), highlight=False)
        notes = list(record["notes"])
        if measure := library_error(record):
            notes.append(
                f"error of the library (threshold, {record['outputs'] - 1} steps): {measure}"
            )
        if record["timings"]["busy"]:
            spread = record["timings"]["spread"]
            notes.append(f"timed on a busy machine: the median is {spread:.0%} above the best")
        for line in notes:
            screen.print(f"{name}: {line}", highlight=False)
        for check in record["judgement"]["checks"]:
            if not check["passed"]:
                screen.print(
                    f"{name}: {check['what']} is {show_number(check['value'], check['unit'], '.3g')}, "
                    f"allowed {check['limit']:g}",
                    highlight=False,
                )


@with_settings
def simulate(
    file: Annotated[str, typer.Argument(help="Model file (YAML; see `sarrus schema`).")],
    settings: Settings,
    at_crossing: AtCrossing = CONTINUE,
    point: Annotated[
        list[str] | None,
        typer.Option(
            help="Joint, point, body, spring or drive to write, may be repeated; else all but bodies."
        ),
    ] = None,
    reactions: Annotated[
        bool, typer.Option("--reactions", help="Also write the reactions of the joints.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files; runs/NAME if left out.")
    ] = None,
    figure: Annotated[bool, typer.Option(help="Draw motion.png.")] = True,
    as_json: Json = False,
    with_report: WithReport = False,
) -> None:
    """Simulate the mechanism of a file; write columns.csv, run.json, result.h5, model.yaml, motion.png."""
    screen = Screen(stderr=True)
    mechanism = load_model(file, screen)
    said: dict[str, Any] = dict(mechanism.defaults)
    # A step on the command line replaces the tolerance of the file, and vice versa.
    for one, other in (("step", "tolerance"), ("tolerance", "step")):
        if one in settings:
            said.pop(other, None)
    settings = said | settings
    if "duration" not in settings:
        raise ValueError(
            f"how long? Give --duration, or write `simulate: {{duration: 10 s}}` into {file}"
        )
    _check_memory(mechanism, settings, len(point or ()))
    folder = out or Path("runs") / Path(file).stem
    pages = [MOTION] * figure + [REPORT] * with_report
    check_outputs(folder, [COLUMNS, MODEL, DATA, RECORD, *pages])
    name = Path(file).name
    with screen.progress(f"{name}: simulating {settings['duration']:g} s") as turn_to:
        result = simulate_mechanism(mechanism, at_crossing=at_crossing, **settings)
        if result.status == "skipped":
            # Nothing was simulated, so there is nothing to save.
            raise ValueError(result.message)
        turn_to(f"{name}: files")
        points = choose_points(mechanism, result, point or ())
        record = save_simulation(folder, mechanism, result, points, name, command_line(), reactions)
    if not as_json:
        # Remarks that were already printed with their line are not repeated.
        printed = find_remarks(mechanism)
        _show_simulation(record, [note for note in record["notes"] if note not in printed])
    with screen.progress(f"{name}: figures") as turn_to:
        if figure:
            save_motion_figure(folder / MOTION, result, points)
        if with_report:
            turn_to(f"{name}: the page")
            with new_output(folder / REPORT) as half:
                save_report([folder], half)
    if as_json:
        print(json.dumps(record, indent=2))
    else:
        Screen().print(Text(f"files: {list_files(folder)}"), soft_wrap=True)
    if record["status"] not in GOOD:
        raise typer.Exit(1)


def _check_memory(mechanism: Mechanism, settings: dict[str, Any], points: int) -> None:
    """Reject a run whose outputs and columns do not fit into memory, before it starts."""
    duration, every = settings["duration"], settings.get("output_step")
    if not every or not 0 < every <= duration < MOST_OUTPUTS * every:
        # The default of a thousand outputs, or an error that is reported later.
        return
    dimension = mechanism.dimension
    named = points or len(mechanism.joints) + len(mechanism.markers)
    # Coordinates of a body after sharing, as stored in the result; positions, velocities and accelerations of
    # points, and the quantities reported with them, as columns and as arrays of the file and of its pictures.
    kept = 4 * len(mechanism.bodies) * (2 if dimension == 2 else 8) + 12
    check_memory(int(duration / every), kept + 3 * (3 * dimension * named + 10), duration)


def _show_simulation(record: dict[str, Any], notes: list[str]) -> None:
    screen = Screen()
    cells = (
        str(record["outputs"]),
        str(record["counters"]["steps"]),
        show_seconds(record["timings"]["solve_cpu"] + record["timings"]["record_cpu"]),
        show_number(record["energy_drift"]),
        show_number(record["violations"]["position"]),
    )
    heads = ("outputs", "steps", "CPU", "drift [J]", "violation [m]")
    rows = [(shown(record["model"]["name"]), cells, "")]
    screen.print(fit_table("mechanism", heads, rows, screen.width, ((), ("outputs",))))
    style = "green" if record["status"] in GOOD else "red"
    end = Text.assemble((record["status"], style), f": {record['message']}")
    for line in (Text(f"{record['verdict']['summary']}."), end, *map(Text, notes)):
        screen.print(line, soft_wrap=True)


def list_files(folder: Path) -> str:
    """Return a folder and its content as text."""
    names = sorted(path.name for path in folder.iterdir() if path.name != LIST)
    return f"{folder}/ ({', '.join(names)})"
