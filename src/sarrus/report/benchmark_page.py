"""The report of a benchmark: tables, work-precision diagrams, page, and the data needed to repeat it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import numpy as np
from rich.table import Table
from rich.text import Text

from ..disk import write_file
from ..names import shown
from ..outputs import new_outputs
from ..runs.benchmark_records import Record, grades, load_benchmark, winners
from ..runs.provenance import describe_machine, describe_threads, describe_versions
from ..scene.draw import new_figure
from .figures import save_page
from .html_page import REPORT, facts, figures_html, left_out, render, section, sentences, table
from .plots import work_precision
from .tables import (
    library_error,
    markdown_table,
    new_table,
    passed_word,
    show_number,
    show_seconds,
    show_setting,
)

# the resolution of the clock [s]
SHORTEST = 1e-9
HEADS = (
    "problem",
    "method",
    "setting",
    "CPU",
    "solve alone",
    "x calibration",
    "drift [J]",
    "error [m]",
    "library error",
)


def record_row(record: Record, grade: str = "") -> list[str]:
    """A record as a row of a table; grade: the precision class it competes in."""
    timings, judged = record["timings"], record["judgement"]
    return [
        record["problem"]["id"] + (f" ({grade})" if grade else ""),
        record["method"] + ("" if record.get("compiled", True) else " (Python)"),
        show_setting(record),
        show_seconds(timings["cpu"]) + (" (busy)" if timings["busy"] else ""),
        show_seconds(timings["solve"]),
        f"{timings['cpu'] / timings['calibration']:.3g}",
        show_number(judged["energy_drift"]),
        show_number(judged["position_error"]),
        library_error(record),
    ]


def winner_rows(best: Iterable[tuple[str, Record]]) -> list[list[str]]:
    """One row per problem, class and method: the fastest setting that meets the limits."""
    ranked = sorted(best, key=lambda b: (b[1]["problem"]["id"], b[0], b[1]["timings"]["cpu"]))
    return [record_row(record, grade) for grade, record in ranked]


def winner_table(best: Iterable[tuple[str, Record]]) -> Table:
    """The same as a table for the terminal."""
    table = new_table(HEADS, range(2, len(HEADS)), tight=True)
    for row in winner_rows(best):
        table.add_row(*row)
    return table


def board_table(records: Iterable[Record], bad: Sequence[tuple[str, str]] = ()) -> Table:
    """Runs of many machines, fastest first, then those that fail; bad: those left out, and why."""
    last = "machine, or why it is left out" if bad else "machine"
    table = new_table((*HEADS, "", last), range(2, len(HEADS) + 1), tight=True)

    def rank(record: Record) -> tuple[str, bool, float]:
        return (
            record["problem"]["id"],
            not record["judgement"]["passed"],
            record["timings"]["cpu"] / record["timings"]["calibration"],
        )

    for record in sorted(records, key=rank):
        word = passed_word(record["judgement"]["passed"])
        # as printed, or columns would be too narrow
        *cells, machine = map(shown, (*record_row(record), record["machine"]["processor"]))
        table.add_row(*cells, word, machine)
    for place, why in bad:
        word = Text("LEFT OUT", "yellow")
        table.add_row(shown(place), *[""] * (len(HEADS) - 1), word, shown(why))
    return table


def failures(records: Iterable[Record]) -> list[str]:
    """One sentence for each run that did not meet its limits, with the reason."""
    lines = []
    for r in records:
        judged = r["judgement"]
        if judged["passed"]:
            continue
        where = f"{r['problem']['id']}, {r['method']}, {show_setting(r)}"
        if r["status"] != "done":
            lines.append(f"{where}: {r['status']}: {r['message']}")
            continue
        missed = "; ".join(
            f"{c['what']} {show_number(c['value'], c['unit'], '.2g')}, allowed {c['limit']:g}"
            for c in judged["checks"]
            if not c["passed"]
        )
        branch = judged.get("branch")
        lines.append(f"{where}: {missed}" + (f" ({branch})" if branch else ""))
    return lines


def behaviour(records: Iterable[Record]) -> list[str]:
    """One sentence per problem and method: from which setting on it meets the limits, and how it fails before.

    Settings are listed from coarse to fine, so that textbook behaviour at the flat configuration is visible.
    """
    rows: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        rows.setdefault((record["problem"]["id"], record["method"]), []).append(record)
    lines = []
    for (problem, method), row in rows.items():
        row = sorted(row, key=lambda r: -(r["step"] or r["tolerance"]))
        passed = [
            show_setting(r) + ("" if r["judgement"]["passed"] else " (low precision)")
            for r in row
            if grades(r)
        ]
        parts = [
            f"keeps the limits at {', '.join(passed)}" if passed else "keeps its limits nowhere"
        ]
        for word, records in (
            ("leaves the branch", [r for r in row if r["judgement"].get("branch")]),
            ("stops early", [r for r in row if r["status"] not in ("done", "skipped")]),
            ("left out", [r for r in row if r["status"] == "skipped"]),
        ):
            if records:
                first = records[0]["judgement"].get("branch") or records[0]["message"]
                parts.append(f"{word} at {', '.join(show_setting(r) for r in records)} ({first})")
        lines.append(f"{problem}, {method}: " + "; ".join(parts))
    return lines


def save_benchmark(
    folder: Path, records: list[Record], best: list[tuple[str, Record]], command: str
) -> Path:
    """Write report.md, its page and a work-precision diagram for each problem; returns the report's path."""
    names = list(dict.fromkeys(r["problem"]["id"] for r in records))
    lines = ["# Benchmark", "", "Fastest setting of each method that keeps the limits"]
    lines += ["(of a precision class, where there are two).", ""]
    lines += markdown_table(HEADS, winner_rows(best))
    lines += [
        "",
        "CPU: one thread, minimum of the repeats, of the steps and of recording all requested outputs; it ranks.",
        "Solve alone: the steps without the recording. x calibration: CPU as a multiple of a fixed small",
    ]
    lines += ["workload timed in the same run, to compare machines.", ""]
    for name in names:
        lines += [f"![{name}](work-precision-{name}.png)", ""]
    lines += ["## How each method behaves", ""]
    lines += [f"- {line}" for line in behaviour(records)]
    lines += ["", "## What did not keep its limits, and why", ""]
    lines += [f"- {line}" for line in failures(records)] or ["- nothing"]
    lines += ["", "## Made with", "", f"    {command}", ""]
    for title, values in (
        ("machine", describe_machine()),
        ("versions", describe_versions()),
        ("threads", describe_threads()),
    ):
        lines.append(f"- {title}: " + ", ".join(f"{k} {v}" for k, v in values.items()))
    with new_outputs(folder) as stage:
        for name in names:
            save_work_precision(
                stage / f"work-precision-{name}.png",
                [r for r in records if r["problem"]["id"] == name],
            )
        write_file(stage / "report.md", "\n".join(lines) + "\n")
        write_file(stage / REPORT, make_bench_report(records))
    return folder / "report.md"


def save_work_precision(path: Path, records: list[Record]) -> None:
    """Error of the observed point against CPU time; filled where all limits are met."""
    page = new_figure(figsize=(7.0, 5.0), layout="constrained")
    axes = page.subplots()
    methods = list(dict.fromkeys(r["method"] for r in records))
    for n, method in enumerate(methods):
        ran = [r for r in records if r["method"] == method and r["timings"]["repeats"] > 0]
        ran = [r for r in ran if r["judgement"]["complete"]]
        if not ran:
            continue
        # beyond two link lengths the size of an error has no meaning
        error = np.clip([r["judgement"]["position_error"] for r in ran], 1e-16, 10.0)
        cpu = np.array([r["timings"]["cpu"] for r in ran])
        passed = np.array([r["judgement"]["passed"] for r in ran])
        color, marker = f"C{n % 10}", "osD^v<>P*X"[n % 10]
        axes.plot(cpu, error, color=color, lw=1, alpha=0.6)
        for kept, face in ((passed, color), (~passed, "white")):
            # one legend entry per method, filled if it meets the limits anywhere
            label = method if kept[0 if not passed.any() else np.argmax(passed)] else None
            axes.plot(cpu[kept], error[kept], marker, mfc=face, mec=color, label=label, ms=6)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("CPU time with all outputs [s]")
    axes.set_ylabel("largest error of the observed point [m]")
    axes.grid(alpha=0.3, lw=0.5, which="major")
    axes.legend(fontsize=8, title="filled: keeps all limits", title_fontsize=8)
    axes.set_title(records[0]["problem"]["title"], fontsize=11)
    save_page(path, page)


def make_bench_report(records: list[Record], bad: Sequence[tuple[str, str]] = ()) -> str:
    """The page of a benchmark; bad: files without a valid record, and why."""
    best = winners(records)
    names = list(dict.fromkeys(r["problem"]["id"] for r in records))
    known = list(dict.fromkeys(r["method"] for r in records))
    plots = [work_precision([r for r in records if r["problem"]["id"] == n], known) for n in names]
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
        left_out(bad),
        section("Made with", made_with(records)),
    ]
    methods = len({r["method"] for r in records})
    lead = (
        f"{len(records)} runs: {methods} method{'s' * (methods != 1)} on {len(names)} "
        f"problem{'s' * (len(names) != 1)} over a ladder of settings; "
        f"{kept} keep all limits. CPU is one thread, all outputs recorded, the minimum of the repeats; it ranks."
    )
    data = {"scenes": [], "marks": [], "figures": [p.payload() for p in plots]}
    return render("Benchmark", lead, "", body, data)


def save_bench_report(folder: Path, out: Path) -> list[tuple[str, str]]:
    """Write the page of a benchmark's folder; returns the files without a valid record, and why."""
    records, bad = load_benchmark(folder)
    write_file(out, make_bench_report(records, bad))
    return bad


def _winners(best: list[tuple[str, Record]]) -> str:
    """One line per problem and class: the fastest method, and the factor to the next one."""
    rows = []
    groups: dict[tuple[str, str], list[Record]] = {}
    for grade, record in best:
        groups.setdefault((record["problem"]["id"], grade), []).append(record)
    for (problem, grade), found in sorted(groups.items()):
        first, *others = sorted(found, key=lambda r: r["timings"]["cpu"])
        second = "alone"
        if others:
            # a coarse clock may have measured zero
            factor = others[0]["timings"]["cpu"] / max(first["timings"]["cpu"], SHORTEST)
            second = f"{others[0]['method']}, {factor:.3g} times as long"
        rows.append(
            [
                problem + (f" ({grade} precision)" if grade else ""),
                first["method"],
                show_setting(first),
                show_seconds(first["timings"]["cpu"]),
                show_seconds(first["timings"]["solve"]),
                show_number(first["judgement"]["position_error"]),
                second,
            ]
        )
    if not rows:
        return "<p>No run kept its limits.</p>"
    heads = ("problem", "winner", "setting", "CPU", "solve alone", "error [m]", "second")
    return table(heads, rows, (3, 4, 5))


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
