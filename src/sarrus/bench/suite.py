"""The benchmark: every method on every problem over a ladder of settings, judged and timed.

Each cell (problem, method, setting) is one file, written atomically; a stopped benchmark can be resumed. Every
setting is run and judged. Settings that satisfy all limits compete: the fastest one of each method is timed again
with all repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..methods import get_method
from ..problems import Problem
from ..runs.benchmark_records import CELLS, Record, winners, write_cell
from ..runs.run_records import CellRecord
from .cells import FIRST_LOOK, BenchCell
from .judge import judge
from .runner import describe_run, run_problem, save_run

# Runs that would take longer than this are skipped, with a message [s].
BUDGET = 6.0


class Cell(BenchCell):
    """One setting of one method on one problem."""

    @property
    def kind(self) -> str:
        """What the setting is: tolerance or step."""
        return get_method(self.method).setting

    def path(self, folder: Path) -> Path:
        """Return the path of its record."""
        return super().path(folder / CELLS)

    def about(self) -> Record:
        """Return the method."""
        method = get_method(self.method)
        return {"compiled": method.compiled, "fingerprint": method.fingerprint}


def parse_ladder(text: str, per_decade: tuple[float, ...]) -> list[float]:
    """Parse settings from "1e-3..1e-12" (by decades, split as given), "1e-3,1e-6" or a single number."""
    try:
        if ".." not in text:
            return [float(part) for part in text.split(",")]
        first, last = (float(part) for part in text.split(".."))
    except ValueError as error:
        raise ValueError(f"'{text}' is not a ladder; write 1e-3..1e-12, or 1e-3,1e-6") from error
    low, high = min(first, last), max(first, last)
    if not (np.isfinite(high) and low > 0):
        raise ValueError(f"'{text}' is not a ladder; its ends must be positive")
    decades = range(int(np.floor(np.log10(low))) - 1, int(np.ceil(np.log10(high))) + 1)
    # Rounded to the written digits, so that a rung is the decimal that a reader sees.
    rungs = {float(f"{m * 10.0**d:.3e}") for d in decades for m in per_decade}
    inside = sorted((r for r in rungs if low * 0.999 <= r <= high * 1.001), reverse=True)
    return inside if first >= last else inside[::-1]


def make_cells(
    problems: Iterable[Problem], methods: Iterable[str], tolerances: str, steps: str
) -> list[Cell]:
    """Return all cells of a benchmark, coarse settings first."""
    rungs = {
        "tolerance": parse_ladder(tolerances, (1.0,)),
        "step": parse_ladder(steps, (1.0, 2.0, 5.0)),
    }
    return [
        Cell(problem, method, setting)
        for problem in problems
        for method in methods
        for setting in sorted(rungs[get_method(method).setting], reverse=True)
    ]


def run_cells(
    cells: list[Cell],
    folder: Path,
    repeats: int,
    command: str,
    budget: float = BUDGET,
    on_cell: Callable[[Cell], None] = lambda cell: None,
) -> list[Record]:
    """Run missing cells, then time the winners; returns all records."""
    records: dict[Cell, Record] = {}
    for cell in cells:
        on_cell(cell)
        path = cell.path(folder)
        before = [records[c] for c in cells if c in records and _same_row(c, cell)]

        def run(cell: Cell = cell, before: list[Record] = before) -> Record:
            return cell.skip(before, budget, command) or _run(cell, FIRST_LOOK, command)

        records[cell] = cell.take(path, cell.load(path, CellRecord), run)
    timed: set[Cell] = set()
    # The first timing may favour the wrong setting: repeat until every winner has had all its repeats.
    while todo := [cell for cell in _winners(records) if cell not in timed]:
        for cell in todo:
            timed.add(cell)
            if records[cell]["timings"]["repeats"] < repeats:
                on_cell(cell)
                records[cell] = _run(cell, repeats, command, folder)
                write_cell(cell.path(folder), records[cell])
    return list(records.values())


def _run(cell: Cell, repeats: int, command: str, folder: Path | None = None) -> Record:
    # One run is enough for a first timing of a long run; a winner gets the time it needs.
    patience = 0.5 if folder is None else 60.0
    setting: dict[str, Any] = {cell.kind: cell.setting}
    result, timing = run_problem(
        cell.problem,
        method=cell.method,
        repeats=repeats,
        patience=patience,
        specialised=True,
        **setting,
    )
    judged = judge(cell.problem, result)
    if folder is not None:
        out = folder / "winners" / cell.problem.id / f"{cell.method}-{cell.setting:.0e}"
        return save_run(out, cell.problem, result, judged, timing, command) | cell.about()
    return describe_run(cell.problem, result, judged, timing, command) | cell.about()


def _same_row(a: Cell, b: Cell) -> bool:
    return a.problem.id == b.problem.id and a.method == b.method


def _winners(records: dict[Cell, Record]) -> Iterator[Cell]:
    chosen = [id(r) for _, r in winners(list(records.values()))]
    yield from [cell for cell, record in records.items() if id(record) in chosen]
