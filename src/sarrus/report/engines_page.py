"""The comparison of engines: speed, robustness to small changes of the step, and types of failure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.table import Table

from ..arrays import plain_sum
from ..disk import write_file
from ..engines import known_engines
from ..outputs import new_outputs
from ..runs.benchmark_records import OURS, SKIPPED, Record, classes, ranked_seconds
from ..scene.player import pack
from .benchmark_page import made_with
from .html_page import figures_html, render, section, sentences, table
from .plots import Plot, work_precision
from .tables import markdown_table, new_table, show_number, show_seconds, show_setting

REPORT = "engines.html"
HEADS = (
    "problem", "engine", "dependable", "with", "fastest", "with ", "by the source's limits", "with  ",
    "drift [J]", "error [m]", "closure [m]", "keep / tried", "lost by a change of 2 or 5 %",
)  # fmt: skip
NUMBERS = (2, 4, 6, 8, 9, 10, 11, 12)


@dataclass
class Standing:
    """One engine in one class of one problem.

    fastest: of all settings that meet the limits, dependable: of those that still meet them when the step changes,
    by_source: of those that meet the limits of the problem's source, whether or not they meet ours; changed, lost:
    number of runs with a changed step, and how many of them did not meet the limits.
    """

    problem: str
    kind: str
    engine: str
    records: list[Record] = field(repr=False)
    fastest: Record | None = None
    dependable: Record | None = None
    by_source: Record | None = None
    kept: int = 0
    changed: int = 0
    lost: int = 0

    @property
    def rank(self) -> tuple[float, float]:
        """Sort key: dependable engines first, then the others, by time."""
        return seconds(self.dependable), seconds(self.fastest)

    @property
    def why(self) -> str:
        """The most frequent reason of the settings that miss the limits; of runs that broke off with a message."""
        failed = [r for r in self.records if self.kind not in classes(r)]
        # runs skipped for their time give no information about those that ran
        ran = [r for r in failed if r["status"] != SKIPPED] or failed
        reasons = [_reason(r) for r in ran]
        reason = max(dict.fromkeys(reasons), key=reasons.count, default="")
        first = ran[reasons.index(reason)] if ran else None
        if first is None or first["status"] == "done":
            return reason
        return f"{first['status']}: {first['message']}"


def standings(records: Sequence[Record]) -> list[Standing]:
    """All engines in all classes, the best first; those that meet no limits last."""
    out = []
    for problem in dict.fromkeys(r["problem"]["id"] for r in records):
        own = [r for r in records if r["problem"]["id"] == problem]
        for kind in dict.fromkeys(k for r in own for k in _all_classes(r)):
            rows = [
                _standing(problem, kind, engine, [r for r in own if r["method"] == engine])
                for engine in dict.fromkeys(r["method"] for r in own)
            ]
            out += sorted(rows, key=lambda s: s.rank)
    return out


def _standing(problem: str, kind: str, engine: str, records: list[Record]) -> Standing:
    able = [r for r in records if kind in classes(r)]
    able.sort(key=seconds)
    here = Standing(problem, kind, engine, records, kept=len(able))
    here.fastest = able[0] if able else None
    source = [r for r in records if kind in classes(r, source=True)]
    here.by_source = min(source, key=seconds, default=None)
    for record in able:
        seen = [kind in change["classes"] for change in record.get("changed", {}).values()]
        here.changed += len(seen)
        here.lost += seen.count(False)
        if seen and all(seen) and here.dependable is None:
            here.dependable = record
    return here


def standing_row(s: Standing) -> list[str]:
    """A standing as a row of a table."""
    shown = s.dependable or s.fastest
    judged = shown["judgement"] if shown else {}
    tried = plain_sum(r["status"] != SKIPPED for r in s.records)
    return [
        s.problem + (f" ({s.kind})" if s.kind else ""),
        s.engine,
        show_seconds(seconds(s.dependable)) if s.dependable else "none",
        show_settings(s.dependable) if s.dependable else "",
        show_seconds(seconds(s.fastest)) if s.fastest else "none",
        show_settings(s.fastest) if s.fastest else s.why,
        show_seconds(seconds(s.by_source)) if s.by_source else "none",
        _by_source(s),
        *(
            show_number(judged[key]) if shown else ""
            for key in ("energy_drift", "position_error", "violation")
        ),
        f"{s.kept}/{tried}",
        f"{s.lost}/{s.changed}" if s.changed else "",
    ]


def _by_source(s: Standing) -> str:
    """Settings of the fastest run by the source's limits; if it misses ours, with its error."""
    if s.by_source is None:
        return ""
    error = s.by_source["judgement"]["position_error"]
    if s.kind in classes(s.by_source) or error is None:
        return show_settings(s.by_source)
    return f"{show_settings(s.by_source)}, error {show_number(error)} m"


def show_settings(record: Record) -> str:
    """Step or tolerance and settings, in a line."""
    settings = record["engine"]["settings"]
    words = [f"{k}={v}" if isinstance(v, str) else f"{k}={v:g}" for k, v in settings.items()]
    if record["method"] == OURS:
        words.append(f"{show_seconds(record['timings']['solve'])} without outputs")
    return ", ".join([show_setting(record), *words])


def engine_table(records: Sequence[Record]) -> Table:
    """The standings for the terminal; settings and reasons are on the page."""
    columns = (0, 1, 2, 4, 6, 8, 9, 10, 11, 12)
    numbers = [k for k, n in enumerate(columns) if n in NUMBERS]
    out = new_table([HEADS[n] for n in columns], numbers, tight=True)
    for s in standings(records):
        row = standing_row(s)
        out.add_row(*(row[n] for n in columns))
    return out


def save_engine_report(folder: Path, records: list[Record], command: str) -> Path:
    """Write the page and the same tables as Markdown; returns the page's path."""
    with new_outputs(folder) as stage:
        write_file(stage / "engines.md", _markdown(records, command))
        write_file(stage / REPORT, make_engine_report(records))
    return folder / REPORT


def make_engine_report(records: list[Record]) -> str:
    """The page as HTML."""
    rows = [standing_row(s) for s in standings(records)]
    names = list(dict.fromkeys(r["problem"]["id"] for r in records))
    plots = [
        work_precision(front([r for r in records if r["problem"]["id"] == name]), clock="solve")
        for name in names
    ]
    robust = robustness(records)
    body = [
        section("Engines and problems", table(HEADS, rows, NUMBERS)),
        section("Work and precision: the best settings of each", figures_html(plots)),
        section(
            "How many settings survive a small change of their step",
            figures_html([robust], first=len(plots)),
        ),
        section("Versions", sentences(_versions(records))),
        section(
            "What did not keep its limits, and why", sentences(_failures(records) or ["nothing"])
        ),
        section("Made with", made_with(records)),
    ]
    count = len({r["method"] for r in records})
    lead = (
        f"{len(records)} settings of {count} engines on {len(names)} problems. Dependable: keeps all limits also "
        "when its step (our tolerance) changes by 2 and 5 %. Each engine runs in its own process, one thread; "
        "times are CPU of the solve with all outputs; energy and closure are recomputed from its poses. By the "
        "source's limits: the fastest setting that keeps those, and may miss ours."
    )
    data = {"scenes": [], "marks": [], "figures": [p.payload() for p in [*plots, robust]]}
    return render("Engines", lead, "", body, data)


def front(records: Sequence[Record]) -> list[Record]:
    """For each engine, the settings on its Pareto front of time and error."""
    out = []
    for engine in dict.fromkeys(r["method"] for r in records):
        own = [
            r
            for r in records
            if r["method"] == engine
            and r["timings"]["repeats"]
            and r["judgement"]["complete"]
            and r["judgement"]["position_error"] is not None
        ]
        own.sort(key=seconds)
        least = np.inf
        for record in own:
            error = record["judgement"]["position_error"]
            if error < least:
                least = error
                out.append({**record, "timings": {**record["timings"], "cpu": seconds(record)}})
    return out or list(records)


def robustness(records: Sequence[Record]) -> Plot:
    """The fraction of settings that still meet their limits, over the change of their step."""
    traces = []
    for n, engine in enumerate(dict.fromkeys(r["method"] for r in records)):
        own = [r for r in records if r["method"] == engine and r.get("changed") and classes(r)]
        if not own:
            continue
        changes = sorted({float(c) for r in own for c in r["changed"]} | {1.0})
        shares = [
            1.0
            if change == 1.0
            else float(
                np.mean(
                    [
                        set(classes(r))
                        <= set(r["changed"].get(f"{change:g}", {"classes": ()})["classes"])
                        for r in own
                    ]
                )
            )
            for change in changes
        ]
        traces.append(
            {
                "x": pack(100.0 * (np.array(changes) - 1.0), "<f8"),
                "y": pack(100.0 * np.array(shares), "<f8"),
                "name": f"{engine} ({len(own)} settings)",
                "axis": "y",
                "color": n,
                "sign": n,
                "open": [False] * len(changes),
                "role": "result",
                "dash": ("solid", "dash", "dot")[n // 6 % 3],
                "group": engine,
                "legend": True,
                "mode": "lines+markers",
                "marker": True,
                "hover": "%{x:.0f} %: %{y:.0f} % keep<extra>%{fullData.name}</extra>",
            }
        )
    layout = {
        "xaxis": {"title": {"text": "change of the step [%]"}, "showline": True, "zeroline": False},
        "yaxis": {"title": {"text": "settings that keep their limits [%]"}, "range": [-3, 103]},
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": -0.16, "yanchor": "top"},
    }
    note = "Of the fastest settings of each problem, until one survives all changes."
    return Plot("Robust or lucky", 420, layout, traces, [note], time=False, bottom=120)


def make_markdown(records: Sequence[Record], level: int = 2) -> list[str]:
    """Lines of Markdown: a table per problem and class, engines that miss its limits, versions and dates.

    level: of the headings.
    """
    lines = []
    found = standings(records)
    for problem, kind in dict.fromkeys((s.problem, s.kind) for s in found):
        here = [s for s in found if (s.problem, s.kind) == (problem, kind)]
        lines += [f"{'#' * level} {problem}{kind and f', {kind}'}", ""]
        rows = [_without_repeats(standing_row(s)[1:]) for s in here if s.fastest or s.by_source]
        if rows:
            lines += [*markdown_table([head.strip() for head in HEADS[1:]], rows), ""]
        lost = [s for s in here if not (s.fastest or s.by_source)]
        lines += [f"- {_title(s.engine)}: no setting keeps these limits; {s.why}" for s in lost]
        lines += [""] if lost else []
    days = sorted({record["date"][:10] for record in records})
    dates = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    machines = dict.fromkeys(
        f"{r['machine']['processor']}, {r['machine']['cores']} cores, Python {r['machine']['python']}"
        for r in records
    )
    lines.append(f"Measured on {dates}; {'; '.join(machines)}; {', '.join(_versions(records))}.")
    return lines


def _without_repeats(row: list[str]) -> list[str]:
    """A row whose settings are written once; then "the same"."""
    seen: set[str] = set()
    out = []
    for head, cell in zip(HEADS[1:], row, strict=True):
        again = head.strip() == "with" and cell in seen and cell != ""
        out.append("the same" if again else cell)
        seen |= {cell} if head.strip() == "with" else set()
    return out


def _title(engine: str) -> str:
    return known_engines()[engine].title if engine in known_engines() else engine


def _markdown(records: list[Record], command: str) -> str:
    lines = ["# Engines", "", *make_markdown(records)]
    lines += ["", "## What did not keep its limits, and why", ""]
    lines += [f"- {line}" for line in _failures(records)] or ["- nothing"]
    return "\n".join([*lines, "", f"    {command}", ""])


def _failures(records: Iterable[Record]) -> list[str]:
    """How each engine fails on each problem, each reason once with its frequency."""
    failures: dict[tuple[str, str], list[str]] = {}
    for r in records:
        if not r["judgement"]["passed"]:
            failures.setdefault((r["problem"]["id"], r["method"]), []).append(_reason(r))
    lines = []
    for (problem, engine), reasons in failures.items():
        counted = sorted(dict.fromkeys(reasons), key=lambda x: -reasons.count(x))
        shown = "; ".join(f"{reasons.count(x)} times: {x}" for x in counted[:4])
        lines.append(f"{problem}, {engine}: {shown}")
    return lines


def _reason(record: Record) -> str:
    """Why a run did not meet its limits, without the numbers that differ from run to run."""
    if record["status"] != "done":
        return f"{record['status']}: {record['message'].split(' after t =')[0].split(': would')[0]}"
    if record["judgement"].get("branch"):
        return "leaves the branch"
    return "misses " + ", ".join(
        c["what"] for c in record["judgement"]["checks"] if not c["passed"]
    )


def _all_classes(record: Record) -> list[str]:
    """The classes of a problem, whether or not a record meets them."""
    checks = [{**c, "passed": True} for c in record["judgement"]["checks"]]
    if not checks:
        return []
    return classes({"judgement": {"checks": checks, "complete": True}})


def _versions(records: Iterable[Record]) -> list[str]:
    found = dict.fromkeys(
        f"{known_engines()[r['method']].title} {r['versions'][known_engines()[r['method']].package]}"
        for r in records
        if r["method"] in known_engines() and known_engines()[r["method"]].package in r["versions"]
    )
    return list(found)


def seconds(record: Record | None) -> float:
    """CPU time for the ranking, infinite without a record."""
    return np.inf if record is None else ranked_seconds(record)
