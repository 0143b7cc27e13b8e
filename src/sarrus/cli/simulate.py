"""`sarrus simulate`: a mechanism from a model file, simulated and kept in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..mechanism import find_remarks
from ..report.figures import save_motion_figure
from ..report.run_page import save_report
from ..report.tables import show_seconds
from ..runs.provenance import command_line
from ..runs.simulation import choose_points, save_simulation
from ..simulate import CONTINUE
from ..simulate import simulate as simulate_mechanism
from .model_file import load_model
from .options import AtCrossing, Json, Step, Tolerance, WithReport
from .report import REPORT

# a run that stops at a crossing was asked to
GOOD = ("done", "stopped")


def simulate(
    file: Annotated[str, typer.Argument(help="Model file (YAML; see `sarrus schema`).")],
    duration: Annotated[
        float | None, typer.Option(help="Simulated time [s]; else the file says it.")
    ] = None,
    output_step: Annotated[float | None, typer.Option(help="Time between outputs [s].")] = None,
    tolerance: Tolerance = None,
    method: Annotated[str | None, typer.Option(help="Method.")] = None,
    step: Step = None,
    at_crossing: AtCrossing = CONTINUE,
    point: Annotated[
        list[str] | None,
        typer.Option(help="Joint, point or body to write, may be repeated; else all but bodies."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files; runs/NAME if left out.")
    ] = None,
    figure: Annotated[bool, typer.Option(help="Draw motion.png.")] = True,
    as_json: Json = False,
    with_report: WithReport = False,
) -> None:
    """Simulate the mechanism of a file; write columns.csv, run.json, result.h5, model.yaml, motion.png."""
    screen = Console(stderr=True)
    mechanism = load_model(file, screen)
    given = {
        "duration": duration,
        "output_step": output_step,
        "tolerance": tolerance,
        "method": method,
        "step": step,
    }
    settings: dict[str, Any] = dict(mechanism.defaults)
    # a step on the command line replaces the tolerance of the file, and the other way round
    if step is not None:
        settings.pop("tolerance", None)
    if tolerance is not None:
        settings.pop("step", None)
    settings |= {name: value for name, value in given.items() if value is not None}
    if "duration" not in settings:
        raise ValueError(
            f"how long? Give --duration, or write `simulate: {{duration: 10 s}}` into {file}"
        )
    with screen.status(f"{Path(file).name}: simulating {settings['duration']:g} s"):
        result = simulate_mechanism(mechanism, at_crossing=at_crossing, **settings)
        if result.status == "skipped":
            # nothing was simulated: there is nothing to keep
            raise ValueError(result.message)
        points = choose_points(mechanism, result, point or ())
        folder = out or Path("runs") / Path(file).stem
        source = Path(file).name
        record = save_simulation(folder, mechanism, result, points, source, command_line())
        if figure:
            save_motion_figure(folder / "motion.png", result, points)
        if with_report:
            save_report([folder], folder / REPORT)
    if as_json:
        print(json.dumps(record, indent=2))
    else:
        # what was printed with its line is not told again
        told = find_remarks(mechanism)
        _show(record, [note for note in record["notes"] if note not in told], folder)
    if record["status"] not in GOOD:
        raise typer.Exit(1)


def tell_crossings(verdict: dict[str, Any]) -> list[str]:
    """Crossings and near misses of a run in a line each; run.json has all about them."""
    lines = []
    if found := verdict["crossings"]:
        times = ", ".join(f"{c['time']:.9g}" for c in found[:3])
        rises = {f"{c['mobility_motion']} to {c['mobility_here']}" for c in found}
        lines.append(
            f"{len(found)} crossing{'s' * (len(found) > 1)} at t = {times}"
            f"{', ...' if len(found) > 3 else ''} s: the mobility rises from {' or '.join(sorted(rises))}"
        )
    if found := verdict["near_singular"]:
        least = min(found, key=lambda c: c["value"])
        lines.append(
            f"{len(found)} near-singular moment{'s' * (len(found) > 1)}, the closest at t = "
            f"{least['time']:.9g} s (smallest singular value {least['value']:.1e})"
        )
    return lines


def _show(record: dict[str, Any], notes: list[str], folder: Path) -> None:
    screen = Console()
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("mechanism", no_wrap=True)
    for name in ("outputs", "steps", "CPU", "drift\n\\[J]", "violation\n\\[m]"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row(
        Text(record["model"]["name"]),
        str(record["outputs"]),
        str(record["counters"]["steps"]),
        show_seconds(record["timings"]["solve_cpu"] + record["timings"]["record_cpu"]),
        f"{record['energy_drift']:.1e}",
        f"{record['violations']['position']:.1e}",
    )
    screen.print(table)
    style = "green" if record["status"] in GOOD else "red"
    end = Text.assemble((record["status"], style), f": {record['message']}")
    for line in (end, *map(Text, [*notes, *tell_crossings(record["verdict"])])):
        screen.print(line, soft_wrap=True)
    screen.print(Text(f"files: {folder}/"), soft_wrap=True)
