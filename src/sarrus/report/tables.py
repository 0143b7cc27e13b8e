"""Tables for the terminal; cells are plain text, whatever a name contains, if the console has markup disabled."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..problems import Problem, options
from ..runs.columns import unit_of


def new_table(heads: Iterable[str], numbers: Container[int] = (), *, tight: bool = False) -> Table:
    """A table without rows; numbers: columns that are aligned right; tight: no space before columns."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0) if tight else (0, 1))
    for n, head in enumerate(heads):
        table.add_column(head, justify="right" if n in numbers else "left", no_wrap=True)
    return table


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table in Markdown."""
    return ["| " + " | ".join(row) + " |" for row in (heads, ["---"] * len(heads), *rows)]


def problem_table(problems: Iterable[Problem]) -> Table:
    """One line per problem: description, options, limits, source."""
    table = new_table(("id", "what", "options", "limits", "source"))
    for p in problems:
        described = ", ".join(f"{o.name} {o.show(p.options[o.name])}" for o in options(p.id))
        table.add_row(p.id, f"{p.title}, {p.duration:g} s", described, str(p.limits), p.library)
    return table


def run_table(records: Iterable[dict[str, Any]], width: int) -> Table:
    """One line per run: steps, time, drift, error, violation, verdict; less or stacked on narrow screens."""
    heads = ("steps", "CPU", "drift [J]", "limit [J]", "error [m]", "closure [m]")
    rows = []
    for record in records:
        judged = record["judgement"]
        limit = record["problem"]["limits"].get("energy_drift")
        cells = (
            str(record["counters"]["steps"]),
            show_seconds(record["timings"]["cpu"]),
            show_number(judged["energy_drift"]),
            "-" if limit is None else f"{limit:g}",
            show_number(judged["position_error"]),
            show_number(judged["violation"]),
        )
        rows.append((record["problem"]["id"], cells, passed_word(judged["passed"])))
    return fit_table("problem", heads, rows, width, ((), ("limit [J]",), ("limit [J]", "steps")))


def fit_table(
    first: str,
    heads: Sequence[str],
    rows: Sequence[tuple[str, Sequence[str], Text | str]],
    width: int,
    less: Sequence[Sequence[str]] = ((),),
) -> Table:
    """One line per row (name, cells, verdict); less: columns to drop if lines are too wide, then stacked."""
    for dropped in less:
        kept = [k for k, head in enumerate(heads) if head not in dropped]
        shown = [heads[k].replace(" ", "\n") for k in kept]
        table = new_table([first, *shown], range(1, len(kept) + 1), tight=True)
        table.add_column("", no_wrap=True, min_width=4)
        for name, cells, word in rows:
            table.add_row(Text(name), *(cells[k] for k in kept), word)
        if Console(width=1000).measure(table).maximum <= width:
            return table
    stack = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
    for name, cells, word in rows:
        stack.add_row(Text(name), word)
        for head, cell in zip(heads, cells, strict=True):
            stack.add_row(f"  {head}", cell)
    return stack


def judgement_table(judged: dict[str, Any]) -> Table:
    """One line per limit: measured, allowed, verdict; then quantities without a limit. *: a limit of ours."""
    table = new_table(("limit", "measured", "allowed", "worst at t", ""), (1, 2, 3))
    for check in judged["checks"]:
        unit = check["unit"]
        table.add_row(
            check["what"] + (" *" if check.get("ours") else ""),
            show_number(check["value"], unit, ".3g"),
            show_number(check["limit"], unit, "g"),
            "" if check["time"] is None else f"{check['time']:g} s",
            passed_word(check["passed"]),
        )
    names = {check["what"] for check in judged["checks"]}
    rest = {
        "energy drift": (judged["energy_drift"], "J"),
        "energy drift, recomputed": (judged["recomputed_drift"], "J"),
        "error of the position": (judged["position_error"], "m"),
        "error of the velocity": (judged["velocity_error"], "m/s"),
        "error at the end": (judged["end_error"], "m"),
    }
    for level, value in judged["violations"].items():
        rest[f"violation, {level}"] = (value, unit_of(level))
    for what, (value, unit) in rest.items():
        if what not in names and value is not None:
            table.add_row(what, show_number(value, unit, ".3g"), "", "", "")
    return table


def passed_word(passed: bool) -> Text:
    """PASS or FAIL, in its colour."""
    return Text("PASS", "green") if passed else Text("FAIL", "red")


def library_error(record: dict[str, Any]) -> str:
    """Both versions of the MBS Benchmark library's error, or nothing if the problem has none."""
    readings = {
        check["what"].rpartition(", ")[2]: check["value"]
        for check in record["judgement"]["checks"]
        if "precision" in check["what"]
    }
    return ", ".join(f"{name} {show_number(value)}" for name, value in readings.items())


def show_number(value: float | None, unit: str = "", style: str = ".1e") -> str:
    """A measured number with its unit; JSON has None instead of infinity."""
    return "not finite" if value is None else f"{value:{style}} {unit}".rstrip()


def show_setting(record: dict[str, Any]) -> str:
    """Tolerance or step, as given."""
    if record["step"] is not None:
        return f"h = {record['step']:g} s"
    return f"tol {record['tolerance']:.0e}"


def show_seconds(seconds: float) -> str:
    """Seconds in the most readable unit."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
