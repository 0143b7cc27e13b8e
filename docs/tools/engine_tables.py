"""Writes the measured tables of docs/engines.md from the folder of a benchmark of engines.

    sarrus bench double-four-bar rectangular-bricard n-four-bar --engines --out FOLDER
    python docs/tools/engine_tables.py FOLDER          # prints the tables
    python docs/tools/engine_tables.py FOLDER --write  # puts them into the page

Only cells that `sarrus bench` has written are read; numbers are not typed by hand. Tables of the page whose
problem is not in the folder are kept; of a problem with cells of our own only, our row is replaced.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from sarrus.bench.engine_suite import ENGINE_CELLS
from sarrus.report.engines_page import make_markdown
from sarrus.runs.run_records import EngineCellRecord, read_record

PAGE = Path(__file__).parents[1] / "engines.md"
BEGIN, END = "<!-- tables: python docs/tools/engine_tables.py -->\n", "<!-- end of the tables -->\n"
OUR_ROW, MEASURED = "| sarrus |", "Measured on "


def make_tables(folder: Path) -> str:
    """Return the tables of all cells of a folder; changed steps belong to their cell."""
    files = sorted((folder / ENGINE_CELLS).rglob("*.json"))
    records = [read_record(file, EngineCellRecord) for file in files]
    records = [r for r in records if r["engine"]["change"] == 1.0]
    # a problem's rows begin with our own
    records.sort(key=lambda r: (r["problem"]["id"], r["method"] != "sarrus", r["method"]))
    return "\n".join(map(_wrap, make_markdown(records, level=3))) + "\n"


def _wrap(line: str) -> str:
    """Return lines of at most 100 characters; rows of tables cannot be broken."""
    if line.startswith("|"):
        return line
    return textwrap.fill(line, 100, subsequent_indent="  " if line.startswith("- ") else "")


def merge(old: str, new: str) -> str:
    """Return the tables of the page with those that were measured again; the last lines are the new ones."""
    sections, measured = _split(new)
    merged, _ = _split(old)
    for heading, table in sections.items():
        rows = [line for line in table.splitlines() if line.startswith("| ")]
        # a header, the line below it, and our own row
        if heading in merged and len(rows) == 3:
            lines = merged[heading].splitlines()
            table = "\n".join(rows[-1] if x.startswith(OUR_ROW) else x for x in lines) + "\n"
        merged[heading] = table
    return "".join(f"### {heading}\n{table}" for heading, table in merged.items()) + measured


def _split(tables: str) -> tuple[dict[str, str], str]:
    """Return the tables by heading, and the lines on where they were measured."""
    body, found, rest = tables.partition(MEASURED)
    parts = body.split("### ")[1:]
    return {p.split("\n", 1)[0]: p.split("\n", 1)[1] for p in parts}, found + rest


def main(arguments: list[str]) -> None:
    """Print the tables, or write them into the page."""
    tables = make_tables(Path(arguments[0]))
    if "--write" not in arguments:
        print(tables, end="")
        return
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    PAGE.write_text(
        f"{before}{BEGIN}\n{merge(old, tables).strip()}\n\n{END}{after}", encoding="utf-8"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
