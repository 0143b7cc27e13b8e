"""The report of one run, or of several side by side, from their folders."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import plain_sum
from ..disk import write_file
from ..progress import part
from ..runs.run_folder import RunFolder, RunFolderError, load_run
from ..scene import CROSSING, NEAR, Camera
from ..scene.branch_ghosts import draw_ghosts
from ..scene.draw import frame_window
from ..scene.player import MOST_NUMBERS, scene_payload
from ..storage import SavedResultError
from .curves import Curves, read_curves
from .design_plots import design_plots, find_design
from .html_page import (
    facts,
    figures_html,
    fold,
    grid,
    left_out,
    render,
    section,
    sentences,
    table,
    two_columns,
)
from .plots import Plot, accuracy_plots, curve_plots, make_frame, source_plots
from .tables import show_number, show_seconds, show_setting

Record = dict[str, Any]

# number of crossings listed at once; the others unfold
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


def save_report(folders: Sequence[Path], out: Path) -> list[tuple[str, str]]:
    """Write the report of one run, or of several side by side; returns the folders left out, and why."""
    runs, bad = read_runs(folders)
    write_file(out, make_report(runs, bad))
    return bad


def read_runs(
    folders: Sequence[Path],
) -> tuple[list[RunFolder], list[tuple[str, str]]]:
    """The runs in folders, and the path and reason for each that cannot be read; raises if none can."""
    runs, bad = [], []
    for folder in folders:
        try:
            run = load_run(folder)
            # read here, where a damaged result can still be left out
            _ = run.result
            runs.append(run)
        except (RunFolderError, SavedResultError) as error:
            if len(folders) == 1:
                raise
            bad.append((str(folder), str(error)))
    if not runs:
        raise RunFolderError("no run can be read: " + "; ".join(why for _, why in bad))
    return runs, bad


def make_report(runs: Sequence[RunFolder], bad: Sequence[tuple[str, str]] = ()) -> str:
    """The page of one run or of several side by side; bad: folders that were left out, and why."""
    labels = run_labels(runs)
    curves_of_runs = []
    for k, run in enumerate(runs):
        with part(k, len(runs)):
            curves_of_runs.append(read_curves(run.result))
    scenes = []
    for run, curves in zip(runs, curves_of_runs, strict=True):
        window = frame_window(run.scene, Camera(), 1.0, fill=False)
        slope = float(window.half[1] / window.half[0])
        payload = scene_payload(run.scene, MOST_NUMBERS // len(runs))
        scenes.append({**payload, "slope": slope, "values": curves.payload()})
    single = len(runs) == 1
    figures: list[Plot] = []
    shown_curves: list[str] = []
    accuracy = []
    for name, group in _groups(runs).items():
        frame = make_frame([runs[i] for i in group], [labels[i] for i in group])
        mine = curve_plots(frame, [curves_of_runs[i] for i in group])
        # for a problem, the figures of its source come first
        first = source_plots(frame)
        shown = [*first, *mine] if "problem" in frame.runs[0].record else [*mine, *first]
        several = f": {name}" if len(_groups(runs)) > 1 else ""
        # one choice for the whole page
        over = "" if shown_curves else '<div id="over" class="options" hidden></div>'
        curves_html = over + figures_html(shown, len(figures))
        shown_curves.append(section(f"Curves{several}", curves_html))
        figures += shown
        exact = accuracy_plots(frame)
        head = f"<h3>{escape(name)}</h3>" if several else ""
        accuracy.append(head + figures_html(exact, len(figures)))
        figures += exact
    accuracy.append(_counters(runs, labels))
    summary = section(
        "In short",
        grid(_result_card(r, n, single, c) for (r, n), c in _with(runs, labels, curves_of_runs)),
    )
    ranks = grid(card for r, n in _both(runs, labels) for card in _rank_cards(r, n, single))
    right = [
        summary,
        '<section id="chosen" hidden></section>',
        *shown_curves,
        *_design_card(runs, labels, figures),
        fold("Rank, mobility, crossings", ranks, "rank"),
        fold("Accuracy", "".join(accuracy), "accuracy"),
        fold(
            "Simulated with", grid(_made_card(r, n, single) for r, n in _both(runs, labels)), "made"
        ),
    ]
    left = _playback(runs, scenes, labels)
    body = [two_columns(left, "".join(right))] if single else [left, *right]
    body.append(left_out(bad))
    title, lead = _title(runs, labels)
    # marks of several runs would overlap
    marks = scenes[0]["marks"] if single else []
    data = {"scenes": scenes, "figures": [p.payload() for p in figures], "marks": marks}
    data["labels"] = labels
    return render(title, lead, _badge(runs[0].record) if single else "", body, data)


def _design_card(
    runs: Sequence[RunFolder], labels: Sequence[str], figures: list[Plot]
) -> list[str]:
    """The design quantities of mechanisms with one drive, in sentences and plots, which join the figures."""
    cards, cycles = [], []
    for run, label in _both(runs, labels):
        if not run.result.mechanism.drives:
            continue
        found = find_design(run.result.mechanism, run.record["duration"])
        if isinstance(found, str):
            cards.append(_head(label, len(runs) == 1) + sentences([found]))
            continue
        cycles.append(found.period is not None)
        plots = design_plots(found)
        text = sentences(str(found).splitlines())
        cards.append(_head(label, len(runs) == 1) + text + figures_html(plots, len(figures)))
        figures += plots
    over = ": over a cycle of the drive" if all(cycles) else ": over the motion of the drive"
    return [fold(f"Design{over if cycles else ''}", "".join(cards), "design")] if cards else []


def _groups(runs: Sequence[RunFolder]) -> dict[str, list[int]]:
    """Runs of the same problem or model, by its name."""
    groups: dict[str, list[int]] = {}
    for i, run in enumerate(runs):
        groups.setdefault(run.id, []).append(i)
    return groups


def _title(runs: Sequence[RunFolder], labels: Sequence[str]) -> tuple[str, str]:
    """The title and a line about the simulated mechanism."""
    if len(runs) == 1:
        return runs[0].title, _lead(runs[0])
    names = list(dict.fromkeys(run.title for run in runs))
    shown = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return shown, f"{len(runs)} runs side by side: {', '.join(labels)}."


def _with(
    runs: Sequence[RunFolder], labels: Sequence[str], curves: Sequence[Curves]
) -> list[tuple[tuple[RunFolder, str], Curves]]:
    return list(zip(_both(runs, labels), curves, strict=True))


def run_labels(runs: Sequence[RunFolder]) -> list[str]:
    """A short name for each run, as different from the others as needed."""
    methods = [run.record["method"] for run in runs]
    settings = [f"{run.record['method']}, {show_setting(run.record)}" for run in runs]
    ids = [run.id for run in runs]
    whole = [f"{i}, {s}" for i, s in zip(ids, settings, strict=True)]
    for names in (methods if len(set(ids)) == 1 else ids, settings, whole):
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
    joints = plain_sum(s.kind not in ("spring", "point") for s in sketch.signs)
    return (
        f"{record['duration']:g} s of {sketch.name}: {len(sketch.shapes)} bodies and {joints} joints "
        f"{where}, by the method {record['method']} with {show_setting(record)}."
    )


def _result_card(run: RunFolder, label: str, single: bool, curves: Curves) -> str:
    """How the run ended, its key results, the verdict in a sentence, and each limit with PASS or FAIL."""
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
        for value, what in curves.tiles
    )
    parts.append(f'<div class="tiles">{tiles}</div>')
    parts.append(_checks(judged["checks"]) if judged.get("checks") else "")
    findings = [line for line in judged.get("findings", ()) if line != judged.get("branch")]
    parts.append(sentences([*findings, _verdict_sentence(run), *record["notes"], *curves.notes]))
    return "".join(parts)


def _verdict_sentence(run: RunFolder) -> str:
    """Mobility and crossings in a line; the details are folded below."""
    verdict = run.record["verdict"]
    found = verdict.get("crossings")
    crossings = "not monitored for crossings"
    if found is not None:
        count = {0: "no crossing", 1: "one crossing"}.get(len(found), f"{len(found)} crossings")
        crossings = f"{count} met"
    near = len(verdict.get("near_singular") or ())
    close = f", {near} near-singular moment{'s' * (near > 1)}" if near else ""
    summary = verdict.get("summary", "")
    text = f"{summary}; {crossings}" if summary else crossings
    return f"{text[0].upper()}{text[1:]}{close}."


def _exactness(runs: Sequence[RunFolder], labels: Sequence[str]) -> str:
    """Key numbers of the computation."""
    rows = []
    for run, label in _both(runs, labels):
        drift = float(np.abs(run.columns["energy"]).max(initial=0.0))
        found = {
            "CPU time with all outputs": show_seconds(run.seconds),
            "energy drift, largest": show_number(drift, "J", ".3g"),
            "constraint violation": show_number(
                float(run.columns["position"].max(initial=0.0)), "m", ".3g"
            ),
        }
        if "judgement" in run.record:
            error = run.record["judgement"]["position_error"]
            found["error of the observed point"] = show_number(error, "m", ".3g")
        rows += [(f"{label}: {k}" if len(runs) > 1 else k, v) for k, v in found.items()]
    return facts(rows)


def _checks(checks: Sequence[Record]) -> str:
    rows = []
    for check in checks:
        word, css = ("PASS", "pass") if check["passed"] else ("FAIL", "fail")
        when = "" if check["time"] is None else f"{check['time']:g} s"
        rows.append(
            f"<tr><td>{escape(check['what'])}</td>"
            f'<td class="n">{escape(show_number(check["value"], check["unit"], ".3g"))}</td>'
            f'<td class="n">{escape(show_number(check["limit"], check["unit"], ".3g"))}</td>'
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
            f'{_head(label, single)}<div id="picture-{i}"></div><div id="options-{i}"></div>'
            f'<p class="note">{text}</p>'
        )
    bar = '<div id="bar"></div>'
    inner = (
        f"{bar}{grid(cards)}"
        if not single
        else cards[0].replace('<div id="options-0">', f'{bar}<div id="options-0">', 1)
    )
    return section("Motion", inner, "playback")


def _rank_cards(run: RunFolder, label: str, single: bool) -> list[str]:
    """The verdict in sentences and the crossings; side by side if there is room."""
    record = run.record
    lines = record["verdict"]["text"]
    verdict = "".join(f"<p>{escape(line.strip())}</p>" for line in lines)
    if record["verdict"]["crossings"] is None:
        text = f"The method {record['method']} does not monitor crossings; series does."
        crossings = f"<h3>Crossings</h3><p>{escape(text)}</p>"
    else:
        crossings = _marks(run, CROSSING, "crossing") + _marks(run, NEAR, "near-singular moment")
        crossings = crossings or "<h3>Crossings</h3><p>None was met.</p>"
        crossings += _branches(run)
    return [verdict, crossings] if single else [_head(label, single) + verdict + crossings]


def _marks(run: RunFolder, word: str, what: str) -> str:
    """The instants of one kind as a clickable list."""
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


def _branches(run: RunFolder) -> str:
    """The branches at the first crossing, with small animations; empty without crossings."""
    if not run.record["verdict"]["crossings"]:
        return ""
    found = run.result.crossings[0].branches
    words = escape(" ".join(found.sentences))
    return f"<h3>Branches at the first crossing</h3><p>{words}</p>{draw_ghosts(found, run.scene.sketch)}"


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
    tables = [
        _exactness(runs, labels),
        table(heads, rows, right),
        table(clock, times, right) + sentences(busy),
    ]
    # many columns need the whole width
    return grid(tables) if len(runs) <= 2 else "<br>".join(tables)


def _made_card(run: RunFolder, label: str, single: bool) -> str:
    """Mechanism, software and machine of the run, and the command that repeats it."""
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
