"""`sarrus bench`, `judge`, `submit` and `board`: judge and compare methods, result files and runs."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from .. import bench as bench_package
from .. import problems, runs
from .. import report as report_package
from ..bench.judge import judge_columns
from ..bench.result_file import read_result_file
from ..names import short
from ..report import judgement_table
from ..report.tables import passed_word
from ..runs.provenance import command_line
from ..runs.run_folder import finite
from .engine_commands import bench_engines, show_engines, watch_cells
from .options import Values, with_problem_options
from .scaffold import find_problem
from .screen import Screen
from .table_output import Papers, TableFormat, load_papers, print_data

if TYPE_CHECKING:
    from ..report.papers import Paper

# Largest number of timed repeats; for the shortest problem they take minutes.
MOST_REPEATS = 1_000_000


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROBLEM]...",
            help="Problems, folders of problems or model files; all problems if left out.",
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Method or FILE.py:FUNCTION, may be repeated; all if left out."),
    ] = None,
    engine: Annotated[
        list[str] | None,
        typer.Option(
            help="Another engine instead of our methods, may be repeated; `sarrus engines`."
        ),
    ] = None,
    engines: Annotated[
        bool,
        typer.Option("--engines", help="All engines that are installed, and series of Sarrus."),
    ] = False,
    tolerances: Annotated[str, typer.Option(help="Ladder of tolerances.")] = "1e-1..1e-12",
    steps: Annotated[str, typer.Option(help="Ladder of steps [s].")] = "0.05..0.001",
    repeat: Annotated[int, typer.Option(help="Timed repeats of each winner.")] = 7,
    budget: Annotated[float, typer.Option(help="Longest solve that is tried [s].")] = 6.0,
    duration: Annotated[
        float | None, typer.Option(help="Simulated time [s], instead of the problem's.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Report folder; a stopped benchmark in it is resumed.")
    ] = Path("bench"),
    shape: TableFormat = "table",
    paper: Papers = None,
) -> None:
    """Run methods, or other engines, on problems over a ladder of settings; print and write the winners."""
    papers = load_papers(shape, paper)
    # Loads the compiled kernels, which `sarrus --help` does not need.
    from ..methods import METHODS, get_method

    methods = [get_method(name).id for name in method or METHODS]
    if not 1 <= repeat <= MOST_REPEATS:
        raise ValueError(f"--repeat {short(repeat)}: give a number from 1 to {MOST_REPEATS}")
    chosen = [find_problem(name, duration=duration) for name in names or problems.names()]
    if duration is not None:
        chosen = [replace(problem, duration=duration) for problem in chosen]
    if engine or engines:
        if method:
            raise ValueError("--method and --engine are two benchmarks; give one of them")
        records = bench_engines(chosen, engine or [], out, repeat, budget)
        show_engines(records, out, shape, papers)
        return
    cells = bench_package.suite.make_cells(chosen, methods, tolerances, steps)
    command = command_line()
    with watch_cells(len(cells)) as show:
        records = bench_package.suite.run_cells(cells, out, repeat, command, budget, show)
    _show_benchmark(records, out, command, shape, papers)


def _show_benchmark(
    records: list[dict[str, Any]], out: Path, command: str, shape: str, papers: list[Paper]
) -> None:
    """Write and print the winners."""
    best = runs.benchmark_records.winners(records)
    report = report_package.benchmark_page.save_benchmark(out, records, best, command)
    if shape != "table" or papers:
        print_data(report_package.data_tables.winner_data(best), shape, papers)
        return
    screen = Screen()
    screen.show_table(report_package.benchmark_page.winner_table(best))
    failed = len(report_package.benchmark_page.failures(records))
    screen.print(f"{failed} of {len(records)} runs did not keep their limits; each with")
    screen.print(f"its reason in the report: {report}", soft_wrap=True, highlight=False)
    screen.print(
        f"report: {out / report_package.html_page.REPORT}", soft_wrap=True, highlight=False
    )


@with_problem_options
def judge(
    results: Annotated[
        Path, typer.Argument(help="Result file: text, .sto, .mot, CSV (also .gz), Parquet or .npz.")
    ],
    problem: Annotated[
        str,
        typer.Option(help="Id of its problem (see `sarrus list`), its folder, or a model file."),
    ],
    options: Values,
    duration: Annotated[float | None, typer.Option(help="Time the file covers [s].")] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="What its columns are: t,x,y in their order (- for others), or x=HEADER."
        ),
    ] = None,
    sparse: Annotated[
        bool, typer.Option("--sparse", help="Judge the rows there are, at any increasing times.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the judgement as JSON.")] = False,
) -> None:
    """Judge a result file: exit status 0 pass, 1 fail, 2 unreadable, 3 undecided because columns are missing."""
    if duration is not None and not (math.isfinite(duration) and duration > 0):
        raise ValueError(f"duration = {duration:g} s; give a positive number of seconds")
    item = find_problem(problem, options, duration)
    if duration is not None:
        item = replace(item, duration=duration)
    read = read_result_file(results, item, columns, sparse)
    judged = judge_columns(item, read.columns, read.rounding)
    judged = replace(judged, findings=(*read.notes, *judged.findings))
    record = {
        "schema": 1,
        "file": results.name,
        "rows": len(read.columns["t"]),
        "problem": {
            "id": item.id,
            "version": item.version,
            "options": item.options,
            "duration": item.duration,
            "library": item.library,
            "columns": list(item.columns),
        },
        "columns": list(read.columns),
        "judgement": {**judged.as_dict(), "kept": judged.kept, "kept_source": judged.kept_source},
    }
    if as_json:
        print(json.dumps(finite(record), indent=2, allow_nan=False))
    else:
        _show(record)
    if not judged.passed:
        raise typer.Exit(3 if judged.kept else 1)


def _show(record: dict[str, Any]) -> None:
    screen = Screen(soft_wrap=True)
    screen.show_table(judgement_table(record["judgement"]))
    if any(check["ours"] for check in record["judgement"]["checks"]):
        screen.print(" * limits set by Sarrus, not by the source", highlight=False)
    for sentence in record["judgement"]["findings"]:
        screen.print(f"- {sentence}", highlight=False)
    judged, options = record["judgement"], record["problem"]["options"]
    verdict = passed_word(judged["passed"])
    if judged["kept"] and judged["undetermined"]:
        verdict = Text("UNDETERMINED", "yellow")
        screen.print(
            "- within the limits as far as can be determined; not determined for lack of columns: "
            + ", ".join(judged["undetermined"])
        )
    if not judged["kept"] and judged["kept_source"]:
        some = any(not check["ours"] for check in judged["checks"])
        words = "are kept" if some else "were not found"
        library = record["problem"]["library"]
        screen.print(
            f"- limits of {library} {words}; only limits set by Sarrus are missed", highlight=False
        )
    shown = ", ".join(f"{name} = {value:g}" for name, value in options.items())
    screen.print(
        Text.assemble(
            verdict,
            f": {record['rows']} rows judged as {record['problem']['id']}{shown and f' ({shown})'}, "
            f"{record['problem']['duration']:g} s",
        )
    )


def submit(
    folder: Annotated[Path, typer.Argument(help="Folder of a run (results.txt, run.json).")],
    out: Annotated[Path, typer.Option(help="Where the packed file goes.")] = Path("."),
) -> None:
    """Check a run with the judge and pack it as one file."""
    _, judged = bench_package.submission.check_run(folder)
    path = bench_package.submission.pack_run(folder, out)
    screen = Screen()
    for check in judged.checks:
        text = f" {check.what}: {check.value:.3g} {check.unit} (limit {check.limit:g})"
        screen.print(Text.assemble(passed_word(check.passed), text))
    screen.print(f"packed: {path}", soft_wrap=True, highlight=False)


def board(
    places: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Run folders or packed submissions.")
    ],
    shape: TableFormat = "table",
    paper: Papers = None,
) -> None:
    """Merge runs of many people into one table; every run is judged again."""
    papers = load_papers(shape, paper)
    for place in places:
        if not place.exists() and not place.is_symlink():
            raise ValueError(f"{place}: no such file or folder")
    records, bad = bench_package.submission.collect_records(places)
    if shape != "table" or papers:
        print_data(report_package.data_tables.board_data(records, bad), shape, papers)
    else:
        screen = Screen()
        screen.show_table(report_package.benchmark_page.board_table(records, bad))
        screen.print("x calibration compares machines: CPU as a multiple of a fixed workload.")
    if not records:
        raise typer.Exit(1)
