"""`sarrus engines`: other engines and their capabilities; and their benchmark, for `sarrus bench --engine`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .. import bench, report
from ..engines import known_engines
from ..engines.engine import DRIVES, FORCES, LOOPS, REDUNDANT, SPRINGS, TORSIONS
from ..names import pick
from ..problems import Problem
from ..runs.benchmark_records import OURS, Record
from ..runs.provenance import command_line
from .errors import STOPPED
from .screen import Screen
from .table_output import print_data

if TYPE_CHECKING:
    from ..report.papers import Paper

COLUMNS = (LOOPS, REDUNDANT, SPRINGS, TORSIONS, FORCES, DRIVES)


def list_engines() -> None:
    """List other engines: version, what they can do, how to install them, and their settings."""
    table = report.tables.new_table(("engine", "version", *COLUMNS, "install"))
    for engine in known_engines().values():
        able = ["yes" if word in engine.does else "-" for word in COLUMNS]
        version = engine.version or "not installed"
        table.add_row(engine.id, version, *able, "" if engine.installed else engine.install)
    screen = Screen()
    screen.show_table(table)
    for engine in known_engines().values():
        screen.print(f"\n{engine.id}: {engine.loop_treatment}", soft_wrap=True, highlight=False)
        for name, value in engine.defaults.items():
            shown = value if isinstance(value, str) else f"{value:g}"
            screen.print(
                f"    {name}={shown}: {engine.meanings[name]}",
                soft_wrap=True, highlight=False,
            )  # fmt: skip
    screen.print(
        "\nAll at once: pip install '.[engines]'. In Python: "
        "sarrus.simulate_with(engine, mechanism, duration, step=..., **settings).",
        soft_wrap=True, highlight=False,
    )  # fmt: skip


@contextmanager
def watch_cells(count: int) -> Iterator[Callable[[Any], None]]:
    """Show a progress bar of a benchmark; yields a function to call with each cell. Ctrl-C ends the command."""
    screen = Screen(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=screen, transient=True) as progress:
        task = progress.add_task("", total=count)

        def show(cell: Any) -> None:
            label = f"{cell.problem.id}, {cell.method}, {cell.setting:g}"
            # Changes of a setting are not counted.
            advance = getattr(cell, "change", 1.0) == 1.0
            progress.update(task, description=label, advance=advance)

        try:
            yield show
        except KeyboardInterrupt:
            screen.print("stopped; the same command resumes it")
            # The message has already been printed.
            sys.exit(STOPPED)


def bench_engines(
    problems: list[Problem], wanted: list[str], out: Path, repeats: int, budget: float
) -> list[Record]:
    """Run the requested engines, or all that are installed, together with our own series method."""
    for name in wanted:
        engine = pick(known_engines(), name, "engine")
        if not engine.installed:
            raise ValueError(f"{engine.title} is not installed; {engine.install}")
    names = wanted or [e.id for e in known_engines().values() if e.installed]
    cells = bench.engine_suite.make_engine_cells(problems, [OURS, *names])
    command = command_line()
    with watch_cells(len(cells)) as show:
        records = bench.engine_suite.run_engine_cells(cells, out, repeats, command, budget, show)
    report.engines_page.save_engine_report(out, records, command)
    return records


def show_engines(records: list[Record], out: Path, shape: str, papers: list[Paper]) -> None:
    """Print the ranking of engines."""
    if shape != "table" or papers:
        found = report.engines_page.standings(records)
        print_data(report.data_tables.engine_data(found), shape, papers)
        return
    screen = Screen()
    screen.show_table(report.engines_page.engine_table(records))
    page = out / report.engines_page.REPORT
    screen.print(f"report: {page}", soft_wrap=True, highlight=False)
