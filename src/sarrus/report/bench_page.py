"""The report of a benchmark: who wins, at which precision, what failed and why, on which machine."""

from __future__ import annotations

from html import escape
from pathlib import Path

from ..runs.benchmark import Record, load_benchmark, winners
from .benchmark import HEADS, behaviour, failures, winner_rows
from .page import facts, figures_html, render, section, sentences, table
from .plots import work_precision
from .tables import show_seconds, show_setting


def make_bench_report(records: list[Record]) -> str:
    """The page of a benchmark."""
    best = winners(records)
    names = list(dict.fromkeys(r["problem"]["id"] for r in records))
    plots = [work_precision([r for r in records if r["problem"]["id"] == n]) for n in names]
    failed = failures(records)
    kept = len(records) - len(failed)
    body = [
        section("Winners", _winners(best)),
        section("Work and precision", figures_html(plots)),
        section(
            "Fastest setting of each method that keeps the limits",
            table(HEADS, winner_rows(best), range(2, len(HEADS))),
        ),
        section("How each method behaves", sentences(behaviour(records))),
        section("What did not keep its limits, and why", sentences(failed or ["nothing"])),
        section("Made with", made_with(records)),
    ]
    methods = len({r["method"] for r in records})
    lead = (
        f"{len(records)} runs: {methods} methods on {len(names)} problems over a ladder of settings; "
        f"{kept} keep all limits. Solve CPU is one thread, the minimum of the repeats."
    )
    data = {"scenes": [], "marks": [], "figures": [p.payload() for p in plots]}
    return render("Benchmark", lead, "", body, data)


def save_bench_report(folder: Path, out: Path) -> Path:
    """Write the page of a benchmark's folder; returns its path."""
    out.write_text(make_bench_report(load_benchmark(folder)), encoding="utf-8")
    return out


def _winners(best: list[tuple[str, Record]]) -> str:
    """One line a problem and class: the fastest method of all, and how far the next one is."""
    rows = []
    groups: dict[tuple[str, str], list[Record]] = {}
    for grade, record in best:
        groups.setdefault((record["problem"]["id"], grade), []).append(record)
    for (problem, grade), found in sorted(groups.items()):
        first, *others = sorted(found, key=lambda r: r["timings"]["solve"])
        behind = "alone"
        if others:
            factor = others[0]["timings"]["solve"] / first["timings"]["solve"]
            behind = f"{others[0]['method']}, {factor:.3g} times as long"
        rows.append(
            [
                problem + (f" ({grade} precision)" if grade else ""),
                first["method"],
                show_setting(first),
                show_seconds(first["timings"]["solve"]),
                f"{first['judgement']['position_error']:.1e}",
                behind,
            ]
        )
    if not rows:
        return "<p>No run kept its limits.</p>"
    heads = ("problem", "winner", "setting", "solve CPU", "error [m]", "second")
    return table(heads, rows, (3, 4))


def made_with(records: list[Record]) -> str:
    """Machine, versions and command of records."""
    lines = []
    for record in records:
        machine = record["machine"]
        lines.append(
            (
                f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, "
                f"Python {machine['python']}",
                ", ".join(f"{k} {v}" for k, v in record["versions"].items()),
            )
        )
    rows = [("machine", m) for m in dict.fromkeys(m for m, _ in lines)]
    rows += [("versions", v) for v in dict.fromkeys(v for _, v in lines)]
    commands = "\n".join(dict.fromkeys(r["command"] for r in records))
    return facts(rows) + f"<h3>To repeat it</h3><pre>{escape(commands)}</pre>"
