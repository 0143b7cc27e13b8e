"""Writes the measured tables of docs/engines.md from the folder of a benchmark of engines.

    sarrus bench double-four-bar rectangular-bricard n-four-bar --engines --out FOLDER
    python docs/tools/engine_tables.py FOLDER          # prints the tables
    python docs/tools/engine_tables.py FOLDER --write  # puts them into the page

Only cells that `sarrus bench` has written are read; numbers are not typed by hand.
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


def main(arguments: list[str]) -> None:
    """Print the tables, or write them into the page."""
    tables = make_tables(Path(arguments[0]))
    if "--write" not in arguments:
        print(tables, end="")
        return
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{tables}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
