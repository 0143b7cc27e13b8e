"""The deciding numbers: each is documented, named once, and has no second home."""

import ast
import re
import sys
from pathlib import Path

import sarrus
from sarrus import thresholds

PACKAGE = Path(sarrus.__file__).parent
SOURCE = PACKAGE / "thresholds.py"
PAGE = Path(__file__).parents[2] / "docs" / "thresholds.md"

HEAD = """# Deciding numbers

The numbers that decide what is zero, equal, singular, redundant, closed or locked are in one
module, `thresholds.py`. This page is generated from it (`python
tests/contracts/test_thresholds.py`).

"Of" states what a number is relative to; 1 is a pure number. None (except those of drives and
couplings) is a length or a time, so neither metres nor seconds decide: a mechanism ten times larger
or slower is judged in the same way. Where the reason states only a size, the number was chosen for
that size, and other values were not tried.
"""


def read_numbers():
    """Sections of the module: title and (name, value, of what, reason) of each number."""
    sections, comment = [], []
    for line in SOURCE.read_text(encoding="utf-8").splitlines():
        if title := re.fullmatch(r"# == (.*) ==", line):
            sections.append((title[1], []))
        elif line.startswith("# "):
            comment.append(line[2:])
        elif number := re.fullmatch(r"([A-Z_]+) = (\S+)", line):
            of, _, reason = " ".join(comment).partition(": ")
            sections[-1][1].append((number[1], number[2], of, reason))
            comment = []
    return sections


def write_page():
    """The page of the documentation."""
    lines = [HEAD]
    for title, numbers in read_numbers():
        lines += [f"## {title}", "", "| name | number | of | why |", "|---|---|---|---|"]
        lines += [f"| `{name}` | {value} | {of} | {why} |" for name, value, of, why in numbers]
        lines.append("")
    return "\n".join(lines)


def test_every_number_has_its_reason():
    """What it is a share of, and why; none is missed by the reading above."""
    rows = [row for _, numbers in read_numbers() for row in numbers]
    assert {name for name, *_ in rows} == {name for name in vars(thresholds) if name.isupper()}
    for name, value, of, reason in rows:
        assert of, name
        assert len(reason) > 10, name
        assert float(value) == getattr(thresholds, name)


def test_the_page_is_made_from_the_module():
    """docs/thresholds.md cannot drift."""
    assert PAGE.read_text(encoding="utf-8") == write_page(), f"run python {__file__}"


def test_every_number_is_used_and_has_one_place():
    """No number of the module is dead, and no other module gives one of these names a value."""
    names = {name for name in vars(thresholds) if name.isupper()}
    used = set()
    for path in PACKAGE.rglob("*.py"):
        if path == SOURCE:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("thresholds"):
                used |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Assign):
                given = {t.id for t in node.targets if isinstance(t, ast.Name)}
                assert not given & names, f"{path.name}: {given & names}"
    assert used == names


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
