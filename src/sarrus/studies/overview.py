"""The overview of a study: one HTML file with parallel coordinates, a scatter plot of two columns, failures."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ..arrays import Floats, Ints
from ..report.html_page import facts, render, section
from ..report.html_page import table as html_table
from .changes import parameter_units
from .study_folder import OVERVIEW, column_units

if TYPE_CHECKING:
    from .study_folder import Folder


HERE, SCRIPTS = Path(__file__).parent, ("parallel.js", "overview.js")
# Largest number of plotted values; of larger tables every n-th run is plotted.
MOST_NUMBERS = 300_000
MOST_FAILURES = 300

PARALLEL = """<p class="note">Drag along an axis to select runs; drag its name to move the axis. By keys: the
arrows on a name move it; on an axis, up and down move the lower end of the selection, with Shift the upper end;
Escape selects all.</p>
<p><label>Colour <select id="color"></select></label></p><div id="parallel"></div>"""
SCATTER = """<p><label>x <select id="x"></select></label> <label>y <select id="y"></select></label>
<label><input type="checkbox" id="logx"> log x</label>
<label><input type="checkbox" id="logy"> log y</label></p><div id="scatter"></div>"""


def save_overview(folder: Folder, table: pa.Table) -> Path:
    """Write overview.html; returns its path."""
    folder.write(OVERVIEW, make_overview(folder, table).encode())
    return folder.path / OVERVIEW


def make_overview(folder: Folder, table: pa.Table) -> str:
    """Return the page of a study's table."""
    study, session = folder.study, folder.session
    columns, shown = _columns(table)
    statuses = table.column("status").to_pylist()
    units = parameter_units(study.plan.base, study.plan.changes) | column_units(study)
    data = {
        "columns": {name: _plain(values) for name, values in columns.items()},
        "labels": {name: f"{name} [{units[name]}]" if name in units else name for name in columns},
        "status": [statuses[i] for i in shown],
        "parameters": [name for name in columns if name in study.plan.columns],
    }
    counted = ", ".join(f"{n} {word}" for word, n in Counter(statuses).most_common())
    drawn = "" if len(shown) == len(table) else f"; {len(shown)} of them are drawn"
    spread = f"{study.sampling}, {study.samples} samples" if study.samples > 1 else ""
    made = {
        "sampling": spread or "lists and ranges",
        "seed": str(study.seed),
        "sessions": str(folder.sessions),
        "command": session["command"],
        "versions": ", ".join(f"{k} {v}" for k, v in session["versions"].items()),
        "machine": f"{session['machine']['processor']}, {session['machine']['system']}",
        "remarks": " ".join(session.get("remarks", [])),
    }
    body = [
        section("All columns", PARALLEL),
        section("Any two columns", SCATTER),
        section("What did not succeed", _failures(table)),
        section("Made with", facts(made.items())),
    ]
    script = "\n".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)
    page = {"scenes": [], "marks": [], "figures": [], "study": data}
    lead = f"{len(table)} runs: {counted}{drawn}."
    return render(study.name, lead, "", body, page, script)


def _columns(table: pa.Table) -> tuple[dict[str, Floats], Ints]:
    """Return the columns of numbers, and the rows that are plotted."""
    found = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
            values = column.to_pandas().to_numpy(dtype=float)
            if np.isfinite(values).any():
                found[name] = values
    every = -(-len(table) * max(len(found), 1) // MOST_NUMBERS)
    shown = np.arange(0, len(table), max(every, 1))
    return {name: values[shown] for name, values in found.items()}, shown


def _plain(values: Floats) -> list[float | None]:
    """Round to seven digits, more than a plot shows."""
    return [float(f"{x:.7g}") if np.isfinite(x) else None for x in values]


def _failures(table: pa.Table) -> str:
    wrong = [
        row
        for row in table.select(["run", "status", "message"]).to_pylist()
        if row["status"] != "done"
    ]
    if not wrong:
        return "<p>Every run succeeded.</p>"
    rows = [(str(r["run"]), r["status"], r["message"]) for r in wrong[:MOST_FAILURES]]
    more = len(wrong) - len(rows)
    rest = f"<p>And {more} more; the table has all.</p>" if more else ""
    return html_table(("run", "status", "why"), rows, (0,)) + rest
