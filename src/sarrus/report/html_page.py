"""The template of a page: one self-contained HTML file, and the elements of pages.

Untrusted text (names, messages, commands) is passed through `escape` or stays inside JSON. The content security
policy of the page forbids loading anything, and running any script except those written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from .. import __version__
from ..lazy import module_on_use
from ..scene.player import asset, inline_json, make_policy
from .plots import Plot

plotly_offline = module_on_use("plotly.offline")

# file name for one run, several runs, or a benchmark
REPORT = "report.html"


def render(
    title: str,
    lead: str,
    badge: str,
    body: Iterable[str],
    data: dict[str, Any],
    script: str = "",
) -> str:
    """The whole file; body: sections, already escaped; script: the additional script of this page."""
    scripts = [plotly_offline.get_plotlyjs(), asset("player.js"), _own("plots.js"), _own("page.js")]
    scripts += [script] if script else []
    run = "\n".join(f"<script>{text}</script>" for text in scripts)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{make_policy(scripts)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{asset("player.css")}
{_own("page.css")}
</style>
</head>
<body>
<header><div><h1>{escape(title)} {badge}</h1><p class="lead">{escape(lead)}</p></div>
<button id="theme" type="button" aria-label="light or dark"></button></header>
<main>
{"".join(body)}
</main>
<footer>Made by Sarrus {escape(__version__)}. This file needs no network.</footer>
<script type="application/json" id="data">{inline_json(data)}</script>
{run}
</body>
</html>
"""


def section(title: str, inner: str, name: str = "") -> str:
    """A card of the page; inner: HTML."""
    id_ = f' id="{name}"' if name else ""
    return f"<section{id_}><h2>{escape(title)}</h2>{inner}</section>\n"


def fold(title: str, inner: str, name: str = "") -> str:
    """A card that unfolds; inner: HTML."""
    id_ = f' id="{name}"' if name else ""
    return f"<section{id_}><details><summary><h2>{escape(title)}</h2></summary>{inner}</details></section>\n"


def two_columns(left: str, right: str) -> str:
    """Two columns if there is room: the left one stays visible while the right one scrolls."""
    return f'<div class="two_columns"><div class="left">{left}</div><div class="right">{right}</div></div>'


def grid(cards: Iterable[str]) -> str:
    """Cards side by side if there is room."""
    return '<div class="grid">' + "".join(f"<div>{card}</div>" for card in cards) + "</div>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """A table of texts; numbers: columns that are right-aligned."""
    right = set(numbers)
    css = [' class="n"' if i in right else ' class="w"' for i in range(len(heads))]
    head = "".join(f"<th{c}>{escape(h)}</th>" for c, h in zip(css, heads, strict=True))
    lines = [
        "<tr>"
        + "".join(f"<td{c}>{escape(x)}</td>" for c, x in zip(css, row, strict=True))
        + "</tr>"
        for row in rows
    ]
    return f'<div class="scroll"><table><tr>{head}</tr>{"".join(lines)}</table></div>'


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values, one line each; those without a value are left out."""
    lines = "".join(
        f'<tr><td class="f">{escape(what)}</td><td class="w">{escape(value)}</td></tr>'
        for what, value in rows
        if value
    )
    return f'<div class="scroll"><table>{lines}</table></div>'


def sentences(lines: Iterable[str]) -> str:
    """A list of sentences, or nothing."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<ul class="said">{items}</ul>' if items else ""


def left_out(bad: Sequence[tuple[str, str]]) -> str:
    """A section of the files that could not be read, each with its reason; nothing if there are none."""
    return section("Left out", table(("file", "reason"), bad)) if bad else ""


def figures_html(plots: Sequence[Plot], first: int = 0) -> str:
    """Placeholders for plots, numbered from `first`."""
    cards = []
    for i, plot in enumerate(plots, start=first):
        notes = f'<p class="note">{escape(" ".join(plot.notes))}</p>' if plot.notes else ""
        cards.append(
            f'<h3>{escape(plot.title)}</h3><div class="figure"><div class="plot" data-figure="{i}" '
            f'style="height:{plot.height}px"></div></div>{notes}'
        )
    return '<div class="figures">' + "".join(f"<div>{card}</div>" for card in cards) + "</div>"


def _own(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
