"""The report of runs: one of them, or several side by side, from their folders."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..disk import write_file
from ..runs.folder import RunFolder, load_run
from ..scene import CROSSING, NEAR, Camera
from ..scene.draw import frame_window
from ..scene.player import MOST_NUMBERS, scene_payload
from .page import facts, figures_html, grid, render, section, sentences, table
from .plots import Plot, run_plots
from .tables import show_seconds, show_setting

Record = dict[str, Any]

# crossings listed at once; the others unfold
MOST_SHOWN = 5
# counters and timings in words
TIMINGS = {
    "cpu": "solve and recording of all outputs, CPU, best of the repeats",
    "solve": "solve, CPU, best of the repeats",
    "solve_cpu": "solve, CPU",
    "solve_median": "solve, CPU, median",
    "solve_wall": "solve, wall clock, best",
    "set_up": "set-up of the model",
    "record_cpu": "recording of the outputs",
    "record": "recording of the outputs",
    "compile": "loading or compiling kernels",
    "import": "loading libraries",
    "calibration": "calibration workload",
}


def save_report(folders: Sequence[Path], out: Path) -> Path:
    """Write the report of one run, or of several side by side; returns its path."""
    runs = [load_run(folder) for folder in folders]
    return write_file(out, make_report(runs))


def make_report(runs: Sequence[RunFolder]) -> str:
    """The page of runs, side by side if there are several."""
    labels = run_labels(runs)
    scenes = []
    for run in runs:
        window = frame_window(run.scene, Camera(), 1.0, fill=False)
        slope = float(window.half[1] / window.half[0])
        scenes.append({**scene_payload(run.scene, MOST_NUMBERS // len(runs)), "slope": slope})
    groups: dict[str, list[int]] = {}
    for i, run in enumerate(runs):
        groups.setdefault(run.id, []).append(i)
    plots = [
        (run_plots([runs[i] for i in group], [labels[i] for i in group]), name)
        for name, group in groups.items()
    ]
    single = len(runs) == 1
    figures: list[Plot] = []
    body = [section("Result", grid(_result_card(r, n, single) for r, n in _both(runs, labels)))]
    body.append(_playback(runs, scenes, labels))
    cards = [card for r, n in _both(runs, labels) for card in _rank_cards(r, n, single)]
    body.append(section("Rank, mobility, crossings", grid(cards)))
    for drawn, name in plots:
        title = "Figures" if len(plots) == 1 else f"Figures: {name}"
        body.append(section(title, figures_html(drawn, len(figures))))
        figures += drawn
    body.append(section("Counters and timings", _counters(runs, labels)))
    body.append(
        section("Simulated with", grid(_made_card(r, n, single) for r, n in _both(runs, labels)))
    )
    if single:
        title = runs[0].title
        lead = _lead(runs[0])
        badge = _badge(runs[0].record)
    else:
        title = f"{len(runs)} runs side by side"
        lead = ", ".join(labels)
        badge = ""
    # marks of several runs would lie on one another
    marks = scenes[0]["marks"] if single else []
    data = {"scenes": scenes, "figures": [p.payload() for p in figures], "marks": marks}
    return render(title, lead, badge, body, data)


def run_labels(runs: Sequence[RunFolder]) -> list[str]:
    """A short name for each run, as different from the others as needed."""
    methods = [run.record["method"] for run in runs]
    settings = [f"{run.record['method']}, {show_setting(run.record)}" for run in runs]
    ids = [run.id for run in runs]
    whole = [f"{i}, {s}" for i, s in zip(ids, settings, strict=True)]
    for names in (methods, ids, settings, whole):
        if len(set(names)) == len(names):
            return names
    return [f"{name} ({run.folder})" for name, run in zip(whole, runs, strict=True)]


def _both(runs: Sequence[RunFolder], labels: Sequence[str]) -> list[tuple[RunFolder, str]]:
    return list(zip(runs, labels, strict=True))


def _badge(record: Record) -> str:
    """PASS or FAIL against limits; without limits, how the run ended."""
    if "judgement" in record:
        passed = record["judgement"]["passed"]
        word = "PASS" if passed else "FAIL"
    else:
        passed, word = record["status"] == "done", record["status"]
    return f'<span class="badge {"pass" if passed else "fail"}">{escape(word)}</span>'


def _head(label: str, single: bool) -> str:
    return "" if single else f"<h3>{escape(label)}</h3>"


def _lead(run: RunFolder) -> str:
    record, sketch = run.record, run.scene.sketch
    where = "in the plane" if sketch.dimension == 2 else "in space"
    joints = sum(s.kind not in ("spring", "point") for s in sketch.signs)
    return (
        f"{record['duration']:g} s of {sketch.name}: {len(sketch.shapes)} bodies and {joints} joints "
        f"{where}, by the method {record['method']} with {show_setting(record)}."
    )


def _result_card(run: RunFolder, label: str, single: bool) -> str:
    """How the run ended, its key numbers, and each limit with PASS or FAIL."""
    record = run.record
    judged = record.get("judgement", {})
    parts = [_head(label, single)]
    if not single:
        parts.append(f"<p>{_badge(record)} {escape(_lead(run))}</p>")
    if record["status"] != "done":
        parts.append(
            f'<p class="banner"><b>{escape(record["status"])}</b> at t = {run.scene.end:.6g} s of '
            f"{record['duration']:g} s: {escape(record['message'])}.</p>"
        )
    if judged.get("branch"):
        parts.append(f'<p class="banner">{escape(judged["branch"])}</p>')
    tiles = "".join(
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(what)}</span></div>'
        for value, what in _tiles(run)
    )
    parts.append(f'<div class="tiles">{tiles}</div>')
    parts.append(_checks(judged["checks"]) if judged.get("checks") else "")
    told = [line for line in judged.get("findings", ()) if line != judged.get("branch")]
    parts.append(sentences([*told, *record["notes"]]))
    return "".join(parts)


def _tiles(run: RunFolder) -> list[tuple[str, str]]:
    """Key numbers and what they are."""
    columns = run.columns
    drift = float(np.abs(columns["energy"]).max(initial=0.0))
    tiles = [
        (show_seconds(run.seconds), "CPU time with all outputs"),
        (str(run.record["counters"].get("steps", "-")), "steps"),
        (_number(drift, "J"), "energy drift, largest"),
        (_number(float(columns["position"].max(initial=0.0)), "m"), "constraint violation"),
    ]
    if "judgement" in run.record:
        error = _number(run.record["judgement"]["position_error"], "m")
        tiles.append((error, "error of the observed point"))
    return tiles


def _checks(checks: Sequence[Record]) -> str:
    rows = []
    for check in checks:
        word, css = ("PASS", "pass") if check["passed"] else ("FAIL", "fail")
        when = "" if check["time"] is None else f"{check['time']:g} s"
        rows.append(
            f"<tr><td>{escape(check['what'])}</td>"
            f'<td class="n">{_number(check["value"], check["unit"])}</td>'
            f'<td class="n">{_number(check["limit"], check["unit"])}</td>'
            f'<td class="n opt">{when}</td><td class="{css}"><b>{word}</b></td></tr>'
        )
    return (
        '<div class="scroll"><table><tr><th>limit</th><th class="n">measured</th>'
        '<th class="n">allowed</th><th class="n opt">worst at</th><th></th></tr>'
        + "".join(rows)
        + "</table></div>"
    )


def _playback(runs: Sequence[RunFolder], scenes: Sequence[Record], labels: Sequence[str]) -> str:
    single = len(runs) == 1
    cards = []
    for i, (run, label) in enumerate(_both(runs, labels)):
        observed = run.scene.observed_name
        said = [f"The red line is the path of {observed}."] if observed else []
        if run.scene.marks:
            said.append("Diamonds mark crossings, where the rank drops; open ones are near misses.")
        said += scenes[i]["said"]
        text = escape(" ".join(said))
        cards.append(
            f'{_head(label, single)}<div id="picture-{i}"></div><p class="note">{text}</p>'
        )
    return section("Motion", grid(cards) + '<div id="bar"></div>', "playback")


def _rank_cards(run: RunFolder, label: str, single: bool) -> list[str]:
    """The verdict in sentences and the crossings; beside each other where there is room."""
    record = run.record
    lines = record["verdict"]["text"]
    verdict = "".join(f"<p>{escape(line.strip())}</p>" for line in lines)
    if record["verdict"]["crossings"] is None:
        told = f"The method {record['method']} does not watch for crossings; series does."
        crossings = f"<h3>Crossings</h3><p>{escape(told)}</p>"
    else:
        crossings = _marks(run, CROSSING, "crossing") + _marks(run, NEAR, "near-singular moment")
        crossings = crossings or "<h3>Crossings</h3><p>None was met.</p>"
    return [verdict, crossings] if single else [_head(label, single) + verdict + crossings]


def _marks(run: RunFolder, word: str, what: str) -> str:
    """The instants of one kind as a list to click."""
    marks = [mark for mark in run.scene.marks if mark.word == word]
    if not marks:
        return ""
    kind = "" if word == CROSSING else ' class="near"'
    items = [
        f'<li><button type="button"{kind} data-time="{float(m.time)!r}">{escape(m.sentence)}</button></li>'
        for m in marks
    ]
    shown, rest = "".join(items[:MOST_SHOWN]), "".join(items[MOST_SHOWN:])
    count = f"One {what}" if len(marks) == 1 else f"{len(marks)} {what}s"
    html = f'<h3>{count}</h3><ul class="plain crossings">{shown}</ul>'
    if rest:
        more = len(marks) - MOST_SHOWN
        html += f'<details><summary>{more} more</summary><ul class="plain crossings">{rest}</ul></details>'
    return html


def _counters(runs: Sequence[RunFolder], labels: Sequence[str]) -> str:
    names = list(dict.fromkeys(n for run in runs for n in run.record["counters"]))
    heads = ["", *(labels if len(runs) > 1 else ["count"])]
    rows = [
        [n.replace("_", " "), *(str(run.record["counters"].get(n, "-")) for run in runs)]
        for n in names
    ]
    times = []
    for key, words in TIMINGS.items():
        found = [run.record["timings"].get(key) for run in runs]
        if any(x is not None for x in found):
            times.append([words, *("-" if x is None else show_seconds(x) for x in found)])
    if any("repeats" in run.record["timings"] for run in runs):
        times.append(["repeats", *(str(run.record["timings"].get("repeats", 1)) for run in runs)])
    right = range(1, len(runs) + 1)
    clock = ["", *(labels if len(runs) > 1 else ["time"])]
    busy = [
        f"{label}: timed on a busy machine, the median is {run.record['timings']['spread']:.0%} above the best."
        for run, label in _both(runs, labels)
        if run.record["timings"].get("busy")
    ]
    tables = [table(heads, rows, right), table(clock, times, right) + sentences(busy)]
    # many columns need the whole width
    return grid(tables) if len(runs) <= 2 else "<br>".join(tables)


def _made_card(run: RunFolder, label: str, single: bool) -> str:
    """What was simulated, with what, on what; and the command that repeats it."""
    record, machine = run.record, run.record["machine"]
    method = ", ".join(f"{k} = {v:g}" for k, v in record.get("method_options", {}).items())
    rows = [
        *(
            _problem_facts(record["problem"])
            if "problem" in record
            else _model_facts(record["model"])
        ),
        (
            "method",
            f"{record['method']}, {show_setting(record)}" + (f", {method}" if method else ""),
        ),
        ("outputs", f"{record['outputs']} of {record['duration']:g} s"),
        ("machine", f"{machine['processor']}, {machine['cores']} cores, {machine['system']}"),
        ("python", str(machine["python"])),
        ("versions", ", ".join(f"{k} {v}" for k, v in record["versions"].items())),
        ("date", record["date"]),
    ]
    command = f"<h3>To repeat it</h3><pre>{escape(record['command'])}</pre>"
    return _head(label, single) + facts(rows) + command


def _problem_facts(problem: Record) -> list[tuple[str, str]]:
    options = ", ".join(f"{k} = {v:g}" for k, v in problem["options"].items())
    limits = ", ".join(f"{k.replace('_', ' ')} {v:g}" for k, v in problem["limits"].items())
    return [
        ("problem", f"{problem['id']}, version {problem['version']}"),
        ("options", options),
        ("source", problem["source"]),
        ("why it is hard", problem.get("note", "")),
        ("limits", limits or "none"),
    ]


def _model_facts(model: Record) -> list[tuple[str, str]]:
    return [("model", model["name"]), ("file", model["file"])]


def _number(value: float | None, unit: str) -> str:
    # JSON has no infinite numbers: null means beyond all measure
    return "not finite" if value is None else f"{value:.3g} {unit}".rstrip()
