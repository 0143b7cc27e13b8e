"""The overview of a study: one HTML file with parallel coordinates, a scatter of any two columns, what failed.

Text from outside goes through `escape` or stays inside JSON; the page's own policy forbids to load anything.
"""

from __future__ import annotations

import json
from collections import Counter
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from .folder import OVERVIEW, column_units, write_bytes

if TYPE_CHECKING:
    from .folder import Folder

# numbers drawn; of larger tables every n-th run is
MOST_NUMBERS = 300_000
MOST_FAILURES = 300
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
)


def save_overview(folder: Folder, table: pa.Table) -> Path:
    """Write overview.html; returns its path."""
    path = folder.path / OVERVIEW
    write_bytes(path, make_overview(folder, table).encode())
    return path


def make_overview(folder: Folder, table: pa.Table) -> str:
    """The page of a study's table."""
    from plotly.offline import get_plotlyjs

    from .. import __version__

    study = folder.study
    columns, shown = _columns(table)
    statuses = table.column("status").to_pylist()
    counts = Counter(statuses)
    units = column_units(study)
    data = {
        "columns": {name: _plain(values) for name, values in columns.items()},
        "labels": {name: f"{name} [{units[name]}]" if name in units else name for name in columns},
        "status": [statuses[i] for i in shown],
        "parameters": [name for name in columns if name in study.plan.columns],
    }
    # inside a script element only this could end it
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    drawn = "" if len(shown) == len(table) else f"; every {len(table) // len(shown)}th run is drawn"
    told = ", ".join(f"{n} {word}" for word, n in counts.most_common())
    lead = f"{len(table)} runs: {told}{drawn}."
    session = folder.session
    facts = {
        "seed": str(study.seed),
        "sampling": f"{study.sampling}, {study.samples} samples"
        if study.samples > 1
        else "lists and ranges",
        "sessions": str(len(folder._sessions) + 1),
        "command": session["command"],
        "versions": ", ".join(f"{k} {v}" for k, v in session["versions"].items()),
        "machine": f"{session['machine']['processor']}, {session['machine']['system']}",
        "remarks": " ".join(session.get("remarks", [])),
    }
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(study.name)}</title>
<style>{_own("overview.css")}</style>
</head>
<body>
<header><h1>{escape(study.name)}</h1><p>{escape(lead)}</p></header>
<main>
<section><h2>All columns</h2>
<p class="note">Drag along an axis to keep runs, drag its name to move it.
<label>Colour <select id="color"></select></label></p>
<div id="parallel"></div></section>
<section><h2>Any two columns</h2>
<p><label>x <select id="x"></select></label> <label>y <select id="y"></select></label>
<label><input type="checkbox" id="logx"> log x</label> <label><input type="checkbox" id="logy"> log y</label></p>
<div id="scatter"></div></section>
<section><h2>What did not succeed</h2>{_failures(table)}</section>
<section><h2>Made with</h2>{_facts(facts)}</section>
</main>
<footer>Made by Sarrus {escape(__version__)}. This file needs no network.</footer>
<script type="application/json" id="data">{text}</script>
<script>{get_plotlyjs()}</script>
<script>{_own("overview.js")}</script>
</body>
</html>
"""


def _columns(table: pa.Table) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Columns of numbers that differ, and the rows that are drawn."""
    found = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
            values = column.to_pandas().to_numpy(dtype=float)
            if np.isfinite(values).any():
                found[name] = values
    every = -(-len(table) * max(len(found), 1) // MOST_NUMBERS)
    shown = np.arange(0, len(table), max(every, 1))
    return {name: values[shown] for name, values in found.items()}, shown


def _plain(values: np.ndarray) -> list[float | None]:
    """Seven digits are more than a picture shows."""
    return [float(f"{x:.7g}") if np.isfinite(x) else None for x in values]


def _failures(table: pa.Table) -> str:
    status = table.column("status").to_pylist()
    wrong = [i for i, word in enumerate(status) if word != "done"]
    if not wrong:
        return "<p>Every run succeeded.</p>"
    message, run = table.column("message").to_pylist(), table.column("run").to_pylist()
    rows = "".join(
        f"<tr><td>{run[i]}</td><td>{escape(status[i])}</td><td>{escape(message[i])}</td></tr>"
        for i in wrong[:MOST_FAILURES]
    )
    more = (
        f"<p>And {len(wrong) - MOST_FAILURES} more; the table has all.</p>"
        if len(wrong) > MOST_FAILURES
        else ""
    )
    head = "<tr><th>run</th><th>status</th><th>why</th></tr>"
    return f'<div class="scroll"><table>{head}{rows}</table></div>{more}'


def _facts(facts: dict[str, str]) -> str:
    lines = [f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in facts.items() if v]
    return f"<table>{''.join(lines)}</table>"


def _own(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
