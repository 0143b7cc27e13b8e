"""Tables of benchmarks, boards and engines for papers: CSV, LaTeX and JSON, with tables of papers as columns.

CSV and JSON contain all digits and no formatting; LaTeX (booktabs) contains three digits.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from rich import box
from rich.table import Table

from ..names import shown
from ..runs.benchmark_records import Record
from .engines_page import Standing, seconds, show_settings
from .papers import VALUES, Paper
from .tables import show_setting

Value = str | float | bool | None
# digits of numbers in LaTeX; powers of ten are used beyond these exponents
DIGITS, PLAIN = 3, (-3, 4)
# characters that LaTeX interprets
LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}",
}  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A column: its key in JSON, its heading, its unit."""

    key: str
    head: str
    unit: str = ""

    @property
    def title(self) -> str:
        """Heading and unit."""
        return f"{self.head} [{self.unit}]" if self.unit else self.head


@dataclass(frozen=True)
class DataTable:
    """Columns, rows with one value per column, and notes below them."""

    columns: tuple[Column, ...]
    rows: list[list[Value]]
    notes: list[str] = field(default_factory=list)

    def filled(self) -> list[int]:
        """The numbers of the columns that are not empty."""
        return [
            k for k in range(len(self.columns)) if any(r[k] not in (None, "") for r in self.rows)
        ]

    def format(self, kind: str) -> str:
        """The table as csv, latex or json."""
        return {"csv": self.csv, "latex": self.latex, "json": self.json}[kind]()

    def csv(self) -> str:
        """One line of headings, then one per row; notes are left out."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([c.title for c in self.columns])
        writer.writerows(["" if v is None else v for v in map(_finite, row)] for row in self.rows)
        return out.getvalue()

    def json(self) -> str:
        """Columns with units, rows by key, and notes."""
        keys = [c.key for c in self.columns]
        columns = [{"key": c.key, "head": c.head, "unit": c.unit} for c in self.columns]
        rows = [dict(zip(keys, map(_finite, row), strict=True)) for row in self.rows]
        content = {"schema": 1, "columns": columns, "rows": rows, "notes": self.notes}
        return json.dumps(content, indent=2) + "\n"

    def latex(self) -> str:
        """A booktabs tabular; empty columns are left out."""
        kept = self.filled()
        numbers = [any(isinstance(r[k], float) for r in self.rows) for k in kept]
        lines = [
            r"% needs \usepackage{booktabs}",
            rf"\begin{{tabular}}{{{''.join('r' if n else 'l' for n in numbers)}}}",
            r"\toprule",
            " & ".join(_escaped(self.columns[k].title) for k in kept) + r" \\",
            r"\midrule",
            *(" & ".join(_cell(row[k]) for k in kept) + r" \\" for row in self.rows),
            r"\bottomrule",
            r"\end{tabular}",
            *(f"% {line}" for line in self.notes),
        ]
        return "\n".join(lines) + "\n"


def winner_data(best: Iterable[tuple[str, Record]]) -> DataTable:
    """The winners of a benchmark, the fastest of each problem first."""
    ranked = sorted(best, key=lambda b: (b[1]["problem"]["id"], b[0], b[1]["timings"]["cpu"]))
    return DataTable(RECORD_COLUMNS, [_record(record, grade) for grade, record in ranked])


def board_data(records: Iterable[Record], bad: Sequence[tuple[str, str]] = ()) -> DataTable:
    """A board: runs of many machines, the fastest of each problem first; those left out are notes."""

    def rank(record: Record) -> tuple[str, bool, float]:
        timings = record["timings"]
        failed = not record["judgement"]["passed"]
        return record["problem"]["id"], failed, timings["cpu"] / timings["calibration"]

    columns = (*RECORD_COLUMNS, Column("passed", "passed"), Column("machine", "machine"))
    rows = [
        [*_record(r, ""), bool(r["judgement"]["passed"]), str(r["machine"]["processor"])]
        for r in sorted(records, key=rank)
    ]
    return DataTable(columns, rows, [f"left out: {place}: {why}" for place, why in bad])


def engine_data(found: Iterable[Standing]) -> DataTable:
    """Standings of engines: dependable, fastest, and fastest by the source's limits."""
    rows: list[list[Value]] = []
    for s in found:
        shown = s.dependable or s.fastest
        judged = shown["judgement"] if shown else {}
        row: list[Value] = [s.problem, s.kind, s.engine]
        for record in (s.dependable, s.fastest, s.by_source):
            row += [seconds(record), show_settings(record)] if record else [None, ""]
        row += [judged.get(key) for key in ("energy_drift", "position_error", "violation")]
        rows.append([*row, float(s.kept), float(len(s.records)), "" if s.fastest else s.why])
    return DataTable(ENGINE_COLUMNS, rows)


RECORD_COLUMNS = (
    Column("problem", "problem"),
    Column("class", "class"),
    Column("method", "method"),
    Column("setting", "setting"),
    Column("cpu", "CPU", "s"),
    Column("solve", "solve alone", "s"),
    Column("calibrated", "x calibration"),
    Column("drift", "drift", "J"),
    Column("error", "error", "m"),
)
ENGINE_COLUMNS = (
    Column("problem", "problem"),
    Column("class", "class"),
    Column("method", "engine"),
    Column("dependable", "dependable", "s"),
    Column("dependable_setting", "with"),
    Column("cpu", "fastest", "s"),
    Column("setting", "with"),
    Column("by_source", "by the source's limits", "s"),
    Column("by_source_setting", "with"),
    Column("drift", "drift", "J"),
    Column("error", "error", "m"),
    Column("closure", "closure", "m"),
    Column("kept", "settings that keep the limits"),
    Column("tried", "settings"),
    Column("why", "why none does"),
)


def _record(record: Record, grade: str) -> list[Value]:
    timings, judged = record["timings"], record["judgement"]
    return [
        record["problem"]["id"],
        grade,
        record["method"],
        show_setting(record),
        timings["cpu"],
        timings["solve"],
        timings["cpu"] / timings["calibration"],
        judged["energy_drift"],
        judged["position_error"],
    ]


def join_papers(table: DataTable, papers: Sequence[Paper]) -> DataTable:
    """The table with the values of papers as additional columns.

    A row of a paper is matched with every row of its problem, method and class, as far as it names them; one
    without a match is added as a separate row.
    """
    for number, paper in enumerate(papers, start=1):
        table = _with_paper(table, paper, number)
    return table


def _with_paper(table: DataTable, paper: Paper, number: int) -> DataTable:
    names = [n for n in VALUES if any(row.get(n) is not None for row in paper.rows)]
    more = [
        Column(f"paper{number}_{n}", f"{paper.title}: {VALUES[n][0]}", VALUES[n][1]) for n in names
    ]
    index = {c.key: k for k, c in enumerate(table.columns)}
    taken: set[int] = set()
    rows = []
    for row in table.rows:
        found = None
        for k, theirs in enumerate(paper.rows):
            if found is None and all(
                theirs.get(key) in (None, row[index[key]]) for key in ("problem", "class", "method")
            ):
                found = k
        if found is not None:
            taken.add(found)
        rows.append([*row, *(None if found is None else paper.rows[found].get(n) for n in names)])
    for k, theirs in enumerate(paper.rows):
        if k not in taken:
            own: list[Value] = [None] * len(table.columns)
            for key in ("problem", "class", "method"):
                own[index[key]] = theirs.get(key) or ""
            rows.append([*own, *(theirs.get(n) for n in names)])
    notes = [*table.notes, f"{paper.title}: {paper.source}" if paper.source else paper.title]
    return replace(table, columns=(*table.columns, *more), rows=rows, notes=notes)


def screen_table(table: DataTable) -> Table:
    """The table for the terminal, numbers with three digits; empty columns are left out."""
    out = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    kept = table.filled()
    for k in kept:
        number = any(isinstance(row[k], float) for row in table.rows)
        out.add_column(table.columns[k].title, justify="right" if number else "left")
    for row in table.rows:
        out.add_row(*(_shown(row[k]) for k in kept))
    return out


def _shown(value: Value) -> str:
    if value is None or isinstance(value, str):
        return shown(value or "")
    return ("yes" if value else "no") if isinstance(value, bool) else f"{value:.3g}"


def _finite(value: Value) -> Value:
    """A value that JSON can represent."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(value: Value) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "--"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return _escaped(value)
    if value == 0.0:
        return "$0$"
    power = math.floor(math.log10(abs(value)))
    if PLAIN[0] <= power < PLAIN[1]:
        return f"${value:.{DIGITS}g}$" if power < DIGITS else f"${value:.0f}$"
    digits, exponent = f"{value:.{DIGITS - 1}e}".split("e")
    return rf"${digits} \times 10^{{{int(exponent)}}}$"


def _escaped(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in text)
