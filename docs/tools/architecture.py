"""The picture and the table of docs/architecture.md, made of the import contract.

    python docs/tools/architecture.py          say whether both are up to date
    python docs/tools/architecture.py --write  write them

Boxes are folders of src/sarrus, and one for the modules that users call. A row is a layer of the contract in
pyproject.toml: imports go down. Data go the other way, so an arrow leads from a folder to one that imports it. Of
all imports those are drawn that no other way already says; those with a name, in DATA, are the way of a run.
"""

from __future__ import annotations

import ast
import sys
import textwrap
import tomllib
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "sarrus"
PAGE, PICTURE = ROOT / "docs" / "architecture.md", ROOT / "docs" / "architecture.svg"
BEGIN, END = "<!-- made by docs/tools/architecture.py -->", "<!-- end -->"

# the modules that users call, from the first of these layers to the last, are one box
TOP, FIRST, LAST = "simulate, inspect, ensemble, result", "sarrus.simulate", "sarrus.result"
ABOUT_TOP = "What users call, and what a run returns: `simulate`, `inspect`, `Ensemble`, `Result`."
# what goes from one box to another, on the way of a run
DATA = {
    ("mechanism", "model"): "Mechanism",
    ("mechanism", "formats"): "Mechanism",
    ("kernels", "methods"): "compiled steps",
    ("model", "methods"): "Model",
    ("methods", TOP): "Outcome",
    ("methods", "verdict"): "Outcome",
    ("verdict", TOP): "Verdict",
    ("scene", TOP): "Scene",
    (TOP, "studies"): "Result",
    (TOP, "problems"): "Result",
    ("problems", "bench"): "Problem",
    ("engines", "bench"): "Result",
    ("runs", "report"): "records",
    ("bench", "cli"): "judgements",
}

# where boxes stand, as a share of the width: the way of a run on the left, what serves many on the right. New ones
# stand in the middle until somebody finds them a better place
COLUMNS = {
    "cli": 0.40, "workbench": 0.62, "studies": 0.14, "report": 0.36, "formats": 0.72,
    "bench": 0.50, "specification": 0.84, "problems": 0.62, "runs": 0.24, TOP: 0.34, "engines": 0.78,
    "assembly": 0.62, "statics": 0.82, "scene": 0.12, "verdict": 0.50, "methods": 0.30, "model": 0.44,
    "kinematics": 0.68, "mechanism": 0.54, "kernels": 0.26, "foreign": 0.93,
}  # fmt: skip
WIDTH, ROW, BOX, CHARACTER, PAD = 900, 74, 34, 8.2, 26


class Graph(NamedTuple):
    """Boxes in rows, the uppermost first, and pairs of boxes: what gives data, what takes them."""

    rows: list[list[str]]
    arrows: list[tuple[str, str]]


def read_layers() -> list[list[str]]:
    """Names of the contract, a list per layer."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (c["layers"] for c in contracts if c["type"] == "layers")
    return [[name.strip() for name in layer.split("|")] for layer in layers]


def make_boxes(layers: list[list[str]]) -> tuple[list[list[str]], dict[str, str]]:
    """Rows of boxes, and the box of each name of the contract that is in one."""
    first, last = (next(i for i, x in enumerate(layers) if name in x) for name in (FIRST, LAST))
    rows, box_of = [], {}
    for i, layer in enumerate(layers):
        row = []
        for name in layer:
            word = name.removeprefix("sarrus.")
            if (PACKAGE / word).is_dir():
                box_of[name] = word
                row.append(word)
            elif first <= i <= last:
                box_of[name] = TOP
                if name == FIRST:
                    row.append(TOP)
        if row:
            rows.append(row)
    return rows, box_of


def find_imports(path: Path) -> set[str]:
    """Modules of the package that a file imports, with their whole names."""
    package = ["sarrus", *path.relative_to(PACKAGE).parts[:-1]]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = ".".join(package[: len(package) - node.level + 1])
            base += f".{node.module}" if node.module else ""
            found |= {f"{base}.{alias.name}" for alias in node.names}
    return found


def make_graph() -> Graph:
    """The boxes, and the arrows that are drawn."""
    rows, box_of = make_boxes(read_layers())

    def box(name: str) -> str | None:
        parts = name.split(".")
        return next((box_of[x] for n in (2,) if (x := ".".join(parts[:n])) in box_of), None)

    pairs = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(["sarrus", *path.relative_to(PACKAGE).with_suffix("").parts])
        taker = box(name)
        givers = {box(x) for x in find_imports(path)} - {None, taker}
        pairs |= {(giver, taker) for giver in givers if taker is not None and giver is not None}
    height = {word: i for i, row in enumerate(rows) for word in row}
    # the contract allows one import upwards, of what shows a mechanism
    pairs = {(a, b) for a, b in pairs if height[a] > height[b]}
    ways = reach(pairs)
    direct = {
        (a, b) for a, b in pairs if not any((a, c) in ways and (c, b) in ways for c in height)
    }
    missing = set(DATA) - pairs
    if missing:
        raise SystemExit(f"DATA names what nothing imports: {sorted(missing)}")
    return Graph(rows, sorted(direct | set(DATA)))


def reach(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """All pairs between which some way leads."""
    found = set(pairs)
    while True:
        more = {(a, d) for a, b in found for c, d in pairs if b == c} - found
        if not more:
            return found
        found |= more


def place_boxes(rows: list[list[str]]) -> dict[str, tuple[float, float, float]]:
    """Middle, top and width of each box."""
    return {
        word: (COLUMNS.get(word, 0.5) * WIDTH, 20.0 + ROW * i, CHARACTER * len(word) + PAD)
        for i, row in enumerate(rows)
        for word in row
    }


def draw(graph: Graph) -> str:
    """The picture as SVG: arrows behind boxes."""
    places = place_boxes(graph.rows)
    height = 20 + ROW * len(graph.rows)
    arrows, labels, boxes = [], [], []
    for giver, taker in graph.arrows:
        (x1, y1, _), (x2, y2, width) = places[giver], places[taker]
        word = DATA.get((giver, taker), "")
        # arrows arrive side by side, in the order of where they come from
        end = x2 + max(-0.4, min(0.4, (x1 - x2) / WIDTH)) * width
        y0, y3 = y1, y2 + BOX + 6
        bend = 0.5 * (y0 - y3)
        colour, thick = ("#b3541e", 2.0) if word else ("#8a97a3", 1.0)
        head = "data" if word else "import"
        arrows.append(
            f'<path d="M {x1:.0f} {y0:.0f} C {x1:.0f} {y0 - bend:.0f} {end:.0f} {y3 + bend:.0f} '
            f'{end:.0f} {y3:.0f}" fill="none" stroke="{colour}" stroke-width="{thick}" '
            f'marker-end="url(#{head})"/>'
        )
        if word:
            # a third of the way along the curve, just above the box that it leaves
            x, y = (20 * x1 + 7 * end) / 27, y0 + (y3 - y0) / 27 - 6 * bend * 2 / 27 - 14
            labels.append(
                f'<text x="{x:.0f}" y="{y:.0f}" fill="#8a3d10" font-size="12" paint-order="stroke" '
                f'stroke="#ffffff" stroke-width="4" text-anchor="middle">{escape(word)}</text>'
            )
    for word, (x, y, width) in sorted(places.items()):
        fill = "#dde7f0" if word != TOP else "#f3e3c3"
        boxes.append(
            f'<rect x="{x - width / 2:.0f}" y="{y:.0f}" width="{width:.0f}" height="{BOX}" rx="6" '
            f'fill="{fill}" stroke="#33475b"/>\n'
            f'<text x="{x:.0f}" y="{y + 22:.0f}" fill="#16222e" font-size="14" '
            f'text-anchor="middle">{escape(word)}</text>'
        )
    heads = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M 0 0 L 8 4 L 0 8 z" fill="{colour}"/></marker>'
        for name, colour in (("data", "#b3541e"), ("import", "#8a97a3"))
    )
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" role="img" aria-label="folders of sarrus and the data between them">',
        f"<defs>{heads}</defs>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        *arrows, *boxes, *labels,
        "</svg>",
        "",
    ])  # fmt: skip


def describe(word: str) -> str:
    """The first sentence of a folder's docstring."""
    if word == TOP:
        return ABOUT_TOP
    tree = ast.parse((PACKAGE / word / "__init__.py").read_text(encoding="utf-8"))
    text = (ast.get_docstring(tree) or "").partition("\n\n")[0]
    return " ".join(text.split())


def write_table(graph: Graph) -> str:
    """Folders, what they are, and what they take from which others."""
    lines = ["| folder | what it is | uses |", "|---|---|---|"]
    for word in (word for row in graph.rows for word in row):
        givers = ", ".join(f"`{a}`" for a, b in graph.arrows if b == word)
        lines.append(f"| `{word}` | {describe(word)} | {givers} |")
    return "\n".join(lines)


def make_page(page: str, graph: Graph) -> str:
    """The page with its table."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{write_table(graph)}\n\n{END}{after}"


def find_stale() -> dict[Path, str]:
    """Files that are not up to date, with what they should be."""
    graph = make_graph()
    page = PAGE.read_text(encoding="utf-8")
    wanted = {PAGE: make_page(page, graph), PICTURE: draw(graph)}
    return {
        path: text
        for path, text in wanted.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }


def main() -> None:
    """Run from the command line."""
    stale = find_stale()
    if "--write" in sys.argv:
        for path, text in stale.items():
            path.write_text(text, encoding="utf-8")
    elif stale:
        names = ", ".join(path.name for path in stale)
        sys.exit(
            textwrap.fill(f"not up to date: {names}; python docs/tools/architecture.py --write")
        )


if __name__ == "__main__":
    main()
