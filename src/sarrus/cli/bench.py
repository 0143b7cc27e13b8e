"""`sarrus bench`: every method on every problem, judged and timed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .. import problems
from ..names import pick
from .engines import bench_engines
from .report import REPORT


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[PROBLEM]...", help="Problems; all if left out.")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Method, may be repeated; all if left out.")
    ] = None,
    engine: Annotated[
        list[str] | None,
        typer.Option(
            help="Another engine instead of our methods, may be repeated; `sarrus engines`."
        ),
    ] = None,
    engines: Annotated[
        bool, typer.Option("--engines", help="All engines that are installed, and our own series.")
    ] = False,
    tolerances: Annotated[str, typer.Option(help="Ladder of tolerances.")] = "1e-1..1e-12",
    steps: Annotated[str, typer.Option(help="Ladder of steps [s].")] = "0.05..0.001",
    repeat: Annotated[int, typer.Option(help="Timed repeats of each winner.")] = 7,
    budget: Annotated[float, typer.Option(help="Longest solve that is tried [s].")] = 6.0,
    duration: Annotated[
        float | None, typer.Option(help="Simulated time [s], instead of the problem's.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Report folder; a stopped benchmark goes on there.")
    ] = Path("bench"),
) -> None:
    """Run methods, or other engines, on problems over a ladder of settings; print and write who wins."""
    # loads the compiled kernels: not for `sarrus --help`
    from dataclasses import replace

    from ..bench.suite import make_cells, run_cells
    from ..methods import METHODS
    from ..report.bench_page import make_bench_report
    from ..report.benchmark import failures, save_benchmark, winner_table
    from ..runs.benchmark import winners
    from ..runs.provenance import command_line

    for name in method or ():
        pick(METHODS, name, "method")
    if repeat < 1:
        raise ValueError(f"--repeat {repeat}: give at least 1")
    chosen = [problems.get(name) for name in names or problems.names()]
    if duration is not None:
        chosen = [replace(problem, duration=duration) for problem in chosen]
    if engine or engines:
        if method:
            raise ValueError("--method and --engine are two benchmarks; give one of them")
        bench_engines(chosen, engine or [], out, repeat, budget)
        return
    cells = make_cells(chosen, method or list(METHODS), tolerances, steps)
    screen = Console(stderr=True)
    command = command_line()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=screen, transient=True) as progress:
        task = progress.add_task("", total=None)
        progress.update(task, total=len(cells))

        def show(cell) -> None:  # type: ignore[no-untyped-def]
            label = f"{cell.problem.id}, {cell.method}, {cell.setting:g}"
            progress.update(task, description=label, advance=1)

        try:
            records = run_cells(cells, out, repeat, command, budget, show)
        except KeyboardInterrupt:
            screen.print("stopped; the same command goes on from here")
            raise typer.Exit(130) from None
    best = winners(records)
    report = save_benchmark(out, records, best, command)
    page = out / REPORT
    page.write_text(make_bench_report(records), encoding="utf-8")
    screen = Console()
    screen.width = max(screen.width, 150)
    screen.print(winner_table(best))
    screen.print(
        f"{len(failures(records))} of {len(records)} runs did not keep their limits; each with"
    )
    screen.print(f"its reason in the report: {report}", soft_wrap=True, highlight=False)
    screen.print(f"to look at: {page}", soft_wrap=True, highlight=False)
