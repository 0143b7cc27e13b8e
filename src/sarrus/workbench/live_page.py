"""The page of the workbench: the picture, sliders and plots, all of it from this server."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from ..lazy import module_on_use
from ..scene.player import asset, inline_json

plotly_offline = module_on_use("plotly.offline")

# The page may load and request only from this server, and inline scripts do not run.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data: blob:; "
    "font-src data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
# Pointer modes, and the tools of the edit mode: word, key, description.
MODES = (
    ("look", "l", "turn or move the view; click a part for its curves"),
    ("drag", "d", "drag a part: the linkage follows along its degrees of freedom"),
    ("edit", "e", "draw and change the mechanism, in the plane"),
)
TOOLS = (
    (
        "select",
        "v",
        "click a part for its numbers; drag a pin elsewhere, and what ends there goes along",
    ),
    ("bar", "b", "drag from one place to another, or click both; it joins what is there"),
    ("plate", "a", "click three corners or more, then the first one again; it joins what is there"),
    ("pin", "p", "click where bars cross or meet: it joins them"),
    ("ground", "o", "click a pin or an end to fix it to the ground, or a point to begin with"),
    ("slider", "s", "click a pin, an end or a bar that crosses another, or drag along the line"),
    ("cylinder", "c", "drag from one place to another: a barrel and a piston rod with a motor"),
    ("spring", "k", "drag from one place to another, or click both"),
    ("motor", "m", "click a pin or a slider"),
    ("point", "t", "click on a bar or plate: a named point, which leaves a trace"),
)


@cache
def make_scripts() -> dict[str, str]:
    """Return the scripts of the page by address: the plotting library and ours."""
    return {
        "/plotly.js": str(plotly_offline.get_plotlyjs()),
        "/player.js": asset("player.js"),
        "/plots.js": _text("report", "plots.js"),
        "/drawing.js": _text("workbench", "drawing.js"),
        "/workbench.js": _text("workbench", "workbench.js"),
    }


def make_page(document: dict[str, Any]) -> str:
    """Return the complete page; document: data of a model file, duration [s], and the name of its file."""
    title = escape(str(document["data"].get("name", "mechanism")))
    scripts = "\n".join(f'<script src="{address}"></script>' for address in make_scripts())
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{asset("player.css")}
{_text("report", "page.css")}
{_text("workbench", "workbench.css")}
</style>
</head>
<body>
<header>
<h1 id="title">{title}</h1><span id="status" class="badge" role="status"></span>
<div class="actions" role="toolbar" aria-label="document">
<button id="undo" type="button" title="undo (Ctrl Z)">undo</button>
<button id="redo" type="button" title="redo (Ctrl Y)">redo</button>
<button id="save" type="button" title="write the opened file (Ctrl S)">save</button>
<button id="download" type="button" title="keep the model file (YAML)">YAML</button>
<button id="theme" type="button" aria-label="light or dark"></button>
</div>
</header>
<main class="bench">
<section class="stage">
<div class="modes" role="toolbar" aria-label="what the pointer does">{_buttons("mode", MODES)}</div>
<div class="tools-row" id="tools" role="toolbar" aria-label="what is drawn" hidden>{_buttons("tool", TOOLS)}</div>
<div id="typing" hidden><div id="typed" role="group" aria-label="typed place"></div></div>
<div id="picture"></div>
<div id="posed" hidden><button id="from-here" type="button">simulate from here</button>
<button id="let-go" type="button">back to the start</button></div>
<div id="bar"></div>
<div id="options"></div>
<div id="part" hidden></div>
<div id="messages" aria-live="polite"></div>
</section>
<section class="sliders" aria-label="numbers of the model">
<label class="long">duration <input id="duration" type="number" min="0" step="any" inputmode="decimal"> s</label>
<input id="filter" type="search" placeholder="find a number" aria-label="find a number">
<div id="groups"></div>
</section>
<section class="curves" aria-label="curves"><div id="over" class="options" hidden></div>
<p id="outdated" role="status" hidden>Outdated: these curves are of the last model that ran.</p>
<div id="chosen" hidden></div><div id="plots"></div>
<details id="design"><summary>design: torque, transmission angles, limits</summary></details></section>
</main>
<script type="application/json" id="document">{inline_json(document)}</script>
{scripts}
</body>
</html>
"""


def _buttons(kind: str, words: tuple[tuple[str, str, str], ...]) -> str:
    return "".join(
        f'<button type="button" data-{kind}="{word}" data-key="{key}" aria-pressed="false" '
        f'title="{escape(says)} ({key})">{word}</button>'
        for word, key, says in words
    )


def _text(room: str, name: str) -> str:
    return files(f"sarrus.{room}").joinpath(name).read_text(encoding="utf-8")
