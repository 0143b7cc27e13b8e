"""The plots of a page as plain data: curves and axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ..arrays import Floats
from ..runs.columns import LEVELS, Figure, Panel
from ..runs.run_folder import RunFolder
from ..scene import CROSSING
from ..scene.notebook_view import SMALLEST
from ..scene.player import pack
from .curves import Curves, in_degrees, shown_name
from .tables import show_setting

# largest number of points of a curve; longer curves keep the extremes of each interval
MOST_POINTS = 4000
# number of colours and markers of the script; further curves are dashed
COLORS = 12
# pixels: a panel, the line above it for its label, margins above and below all
PANEL, LABEL, HEAD, FOOT = 118, 30, 30, 44


@dataclass
class Plot:
    """One figure: panels over a common axis; title and notes are shown next to it as text."""

    title: str
    height: int
    layout: dict[str, Any]
    traces: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)
    time: bool = True
    bottom: int = FOOT

    def payload(self) -> dict[str, Any]:
        """The data for the script of the page."""
        axes = [name for name in self.layout if name.startswith(("xaxis", "yaxis"))]
        return {
            "layout": {**self.layout, "height": self.height},
            "traces": self.traces,
            "axes": axes,
            "time": self.time,
            "top": HEAD,
            "bottom": self.bottom,
        }


@dataclass(frozen=True)
class Curve:
    """Values over time in a panel, with their name in the legend.

    hover: their name at the pointer; run: with several runs, the one that they belong to.
    """

    panel: int
    name: str
    times: Floats
    values: Floats
    color: int
    exact: bool = False
    dash: str = "solid"
    hover: str = ""
    run: int = 0


def thin(times: Floats, values: Floats, most: int = MOST_POINTS) -> tuple[Floats, Floats]:
    """At most `most` points: the lowest and the highest of each interval."""
    if len(times) <= most:
        return times, values
    edges = np.linspace(0, len(times), most // 2 + 1).astype(int)
    known = np.where(np.isnan(values), 0.0, values)
    keep = {0, len(times) - 1}
    for a, b in pairwise(edges):
        keep |= {a + int(np.argmin(known[a:b])), a + int(np.argmax(known[a:b]))}
    at = np.array(sorted(keep))
    return times[at], values[at]


def stack(
    title: str,
    labels: Sequence[str],
    logs: Sequence[bool],
    curves: Iterable[Curve],
    until: float,
    marks: Sequence[float],
    end: float,
) -> Plot:
    """Panels stacked vertically over time."""
    curves = list(curves)
    height = len(labels) * PANEL + (len(labels) - 1) * LABEL
    layout: dict[str, Any] = {
        "xaxis": {
            "title": {"text": "time [s]"},
            "range": [0, until],
            "anchor": _axis(len(labels) - 1),
            "showline": True,
            "zeroline": False,
        }
    }
    heads = []
    for i, (label, log) in enumerate(zip(labels, logs, strict=True)):
        top = 1 - i * (PANEL + LABEL) / height
        axis = {
            "domain": [max(top - PANEL / height, 0.0), top],
            "showline": True,
            "zeroline": False,
            "exponentformat": "power",
            "nticks": 5,
            "automargin": True,
        }
        if log:
            axis |= _log_ticks([c.values for c in curves if c.panel == i])
        layout[_axis(i, "yaxis")] = axis
        heads.append(_head(label, top))
    layout["annotations"] = heads
    layout["shapes"] = [_line(t) for t in marks if t <= until]
    if end < until * (1 - 1e-9):
        layout["shapes"].append(_missing(end, until))
    traces, notes = _traces(curves, logs, until)
    return Plot(title, HEAD + FOOT + height, layout, traces, notes)


def _traces(
    curves: Sequence[Curve], logs: Sequence[bool], until: float
) -> tuple[list[dict[str, Any]], list[str]]:
    """The curves up to a time in the format of the script, and how they were modified."""
    traces: list[dict[str, Any]] = []
    in_legend: set[str] = set()
    thinned = False
    for curve in curves:
        shown = curve.times <= until * (1 + 1e-12)
        times, values = curve.times[shown], curve.values[shown]
        if logs[curve.panel]:
            values = np.maximum(np.abs(values), SMALLEST)
        thinned |= len(times) > MOST_POINTS
        times, values = thin(times, values)
        traces.append(
            {
                "x": pack(times, "<f8"),
                "y": pack(values, "<f8"),
                "name": _plain(curve.name),
                "axis": _axis(curve.panel),
                "color": curve.color,
                "role": "exact" if curve.exact else "result",
                "dash": curve.dash,
                "group": curve.name,
                "legend": curve.name not in in_legend,
                "run": curve.run,
            }
            | _named_at_the_pointer(curve)
        )
        in_legend.add(curve.name)
    if len(in_legend) < 2:
        for trace in traces:
            trace["legend"] = False
    note = f"Long curves are reduced to the extremes of {MOST_POINTS // 2} intervals."
    return traces, [note] if thinned else []


def _named_at_the_pointer(curve: Curve) -> dict[str, str]:
    """The text next to a value under the pointer, if it differs from the name in the legend."""
    name = _plain(curve.hover)
    return {"hover": f"%{{y:.8g}}<extra>{name}</extra>"} if curve.hover else {}


def _axis(panel: int, word: str = "y") -> str:
    """The script's name of a panel's axis; the first has no number."""
    return word if panel == 0 else f"{word}{panel + 1}"


def _head(label: str, top: float) -> dict[str, Any]:
    """The label above its panel: on its side, tick labels could overlap it."""
    return {
        "text": _plain(label),
        "x": 0,
        "y": top,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
    }


@dataclass(frozen=True)
class PlotFrame:
    """Data common to the plots of some runs: time, where a run ended, crossings, names of the runs."""

    runs: Sequence[RunFolder]
    labels: Sequence[str]
    until: float
    end: float
    marks: Sequence[float]


def make_frame(runs: Sequence[RunFolder], labels: Sequence[str]) -> PlotFrame:
    """The frame of runs of one problem; marks of several runs would overlap."""
    marks = [m.time for m in runs[0].scene.marks if m.word == CROSSING] if len(runs) == 1 else []
    until = max(run.scene.duration for run in runs)
    return PlotFrame(runs, labels, until, max(run.scene.end for run in runs), marks)


def curve_plots(frame: PlotFrame, runs: Sequence[Curves]) -> list[Plot]:
    """The requested quantities of the mechanism, one figure per question; indeterminate reactions are dotted."""
    plots = []
    for figure in runs[0].figures:
        # one colour for all curves of one owner
        owners = dict.fromkeys(_owner(c) for panel in figure.panels for c in panel.columns)
        color = {owner: n for n, owner in enumerate(owners)}
        curves = [
            curve
            for k, panel in enumerate(figure.panels)
            for curve in _quantity_curves(k, panel, frame, runs, color)
        ]
        heads = [shown_name(panel.label) for panel in figure.panels]
        plot = stack(
            figure.title,
            heads,
            [False] * len(heads),
            curves,
            frame.until,
            frame.marks,
            frame.end,
        )
        if figure.name == "reactions" and any(c.dash == "dot" for c in curves):
            plot.notes.append("Dotted: shared with other joints, rigid bodies do not determine it.")
        if len(runs) > 1:
            lines = zip(DASHES, frame.labels, strict=False)
            plot.notes.append("; ".join(f"{word}: {label}" for (_, word), label in lines) + ".")
        plots.append(plot)
    return plots


# line styles of the runs of one figure, and their names
DASHES = (("solid", "Solid"), ("dash", "dashed"), ("longdash", "long dashes"))


def _owner(column: str) -> str:
    """The owner of a column: "A0" of "A0.F [N]"; the column itself if there is none."""
    return column.rsplit(".", 1)[0] if "." in column else column.removesuffix(" [J]")


def _quantity_curves(
    k: int, panel: Panel, frame: PlotFrame, runs: Sequence[Curves], color: dict[str, int]
) -> list[Curve]:
    """The curves of a panel, named after their owners; several runs are distinguished by line style."""
    out = []
    for r, (curves, label) in enumerate(zip(runs, frame.labels, strict=True)):
        for column in panel.columns:
            if column not in curves.columns:
                continue
            owner = _owner(column)
            hover = f"{owner}, {label}" if len(runs) > 1 else ""
            dash = DASHES[r % len(DASHES)][0]
            if owner in curves.shared and panel.label.startswith("force"):
                dash = "dot"
            out.append(
                Curve(
                    k,
                    owner,
                    curves.times,
                    in_degrees(column, curves.columns[column]),
                    color[owner],
                    dash=dash,
                    hover=hover,
                    run=r,
                )
            )
    return out


def source_plots(frame: PlotFrame) -> list[Plot]:
    """The figures that the problem's source shows, or positions of points."""
    return [
        _figure_plot(figure, frame) for figure in frame.runs[0].figures if not _is_quality(figure)
    ]


def accuracy_plots(frame: PlotFrame) -> list[Plot]:
    """Distance from the exact motion, drift and violations, steps of the method."""
    found = [_error_plot(frame)]
    found += [
        _figure_plot(figure, frame) for figure in frame.runs[0].figures if _is_quality(figure)
    ]
    found.append(_step_plot(frame))
    return [plot for plot in found if plot]


def _is_quality(figure: Figure) -> bool:
    """Whether a figure shows the accuracy of a run instead of the motion."""
    names = [name for panel in figure.panels for name in panel.columns]
    return all(name in ("energy", *LEVELS) for name in names)


def _figure_plot(figure: Figure, frame: PlotFrame) -> Plot:
    curves = [
        curve
        for k, panel in enumerate(figure.panels)
        for curve in _panel_curves(k, panel, frame.runs, frame.labels)
    ]
    until = frame.until if figure.until is None else min(figure.until, frame.until)
    logs = [p.log for p in figure.panels]
    heads = [p.label for p in figure.panels]
    return stack(figure.title, heads, logs, curves, until, frame.marks, frame.end)


def _panel_curves(
    k: int, panel: Panel, runs: Sequence[RunFolder], labels: Sequence[str]
) -> list[Curve]:
    """Exact columns below, wide and grey, then those of the runs."""
    curves = []
    first = runs[0]
    for name in panel.columns:
        if name in first.exact:
            curves.append(Curve(k, "exact", first.times, first.exact[name], 0, exact=True))
    for r, (run, label) in enumerate(zip(runs, labels, strict=True)):
        for c, name in enumerate(panel.columns):
            if name not in run.columns:
                continue
            values = run.columns[name]
            several = len(panel.columns) > 1
            # "B0.x" has a panel of its own: x is sufficient, with one legend entry for all panels
            name = name.rsplit(".", 1)[-1]
            called = f"{name}, {label}" if several and len(runs) > 1 else name if several else label
            color, dash = (c, ("solid", "dash", "dot")[r % 3]) if several else (r, "solid")
            curves.append(Curve(k, called, run.times, values, color, dash=dash, run=r))
    return curves


def _error_plot(frame: PlotFrame) -> Plot | None:
    """Error of position and velocity with respect to the exact reference."""
    heads: list[str] = []
    curves: list[Curve] = []
    for what, prefix, unit in (("place", "", "m"), ("velocity", "v", "m/s")):
        found = False
        for r, (run, label) in enumerate(zip(frame.runs, frame.labels, strict=True)):
            names = [prefix + c for c in "xyz" if prefix + c in run.exact]
            if not names:
                continue
            found = True
            error = np.linalg.norm([run.columns[n] - run.exact[n] for n in names], axis=0)
            curves.append(Curve(len(heads), label, run.times, error, r))
        if found:
            heads.append(f"{what} [{unit}]")
    if not heads:
        return None
    logs = [True] * len(heads)
    title = "Distance from the exact motion"
    return stack(title, heads, logs, curves, frame.until, frame.marks, frame.end)


def _step_plot(frame: PlotFrame) -> Plot | None:
    """Statistics of the method: step lengths, orders, smallest pivots."""
    heads: list[str] = []
    logs: list[bool] = []
    curves: list[Curve] = []
    for key, head, log in (
        ("lengths", "step [s]", True),
        ("orders", "order", False),
        ("pivots", "smallest pivot", True),
    ):
        mine = []
        for r, (run, label) in enumerate(zip(frame.runs, frame.labels, strict=True)):
            times = run.steps["times"]
            values = np.diff(times, prepend=0.0) if key == "lengths" else run.steps[key]
            if len(times) > 2 and len(values) == len(times) and _varies(values):
                mine.append(Curve(len(heads), label, times, values, r))
        if mine:
            curves += mine
            heads.append(head)
            logs.append(log)
    if not heads:
        return None
    return stack("Steps of the method", heads, logs, curves, frame.until, frame.marks, frame.end)


def _plain(text: str) -> str:
    """Text that the script shows verbatim; it would interpret some tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _varies(values: Floats) -> bool:
    """Whether values vary visibly: a fixed step varies by rounding only."""
    known = values[np.isfinite(values)]
    return bool(len(known) and np.ptp(known) > 1e-6 * np.abs(known).max())


def work_precision(
    records: Sequence[dict[str, Any]], methods: Sequence[str] = (), clock: str = "cpu"
) -> Plot:
    """Error of the observed point over CPU time, one curve per method; filled where all limits are met.

    methods: all of the benchmark, so that each has its colour and marker in every figure; clock: which of the
    times, "cpu" with all outputs, or "solve" alone.
    """
    times = np.array([r["timings"][clock] for r in records if r["timings"]["repeats"] > 0])
    word = "with all outputs" if clock == "cpu" else "of the solve"
    layout = {
        "xaxis": _log_axis(f"CPU time {word} [s]") | _log_ticks([times[times > 0]]),
        "yaxis": _log_axis("largest error of the observed point [m]"),
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": -0.16, "yanchor": "top"},
    }
    traces = []
    for n, method in enumerate(methods or dict.fromkeys(r["method"] for r in records)):
        ran = [
            r
            for r in records
            if r["method"] == method
            and r["timings"]["repeats"] > 0
            and r["judgement"]["complete"]
            and r["judgement"]["position_error"] is not None
        ]
        if not ran:
            continue
        ran.sort(key=lambda r: -(r["step"] or r["tolerance"]))
        traces.append(
            {
                "x": pack(np.array([r["timings"][clock] for r in ran]), "<f8"),
                # beyond a few links the size of an error has no meaning
                "y": pack(
                    np.clip([r["judgement"]["position_error"] for r in ran], 1e-16, 10.0), "<f8"
                ),
                "name": method,
                "axis": "y",
                "color": n,
                "role": "result",
                "dash": ("solid", "dash", "dot")[n // COLORS % 3],
                "sign": n,
                "group": method,
                "legend": True,
                "mode": "lines+markers",
                "marker": True,
                "open": [not r["judgement"]["passed"] for r in ran],
                "text": [show_setting(r) for r in ran],
                "hover": "%{text}<br>%{x:.3g} s<br>%{y:.2g} m<extra>%{fullData.name}</extra>",
            }
        )
    title = records[0]["problem"]["title"]
    note = "Filled: keeps all limits. Open: does not."
    return Plot(title, 460, layout, traces, [note], time=False, bottom=120)


def _log_ticks(values: Sequence[Floats]) -> dict[str, Any]:
    """A log axis with about four labels, at whole decades if there are enough; linear below one decade."""
    sizes = np.concatenate([np.abs(v[np.isfinite(v)]) for v in values] or [np.ones(1)])
    sizes = np.maximum(sizes, SMALLEST)
    low, high = (np.log10(sizes.min()), np.log10(sizes.max())) if len(sizes) else (0.0, 0.0)
    if high - low < 1.0:
        return {}
    if high - low > 2.0:
        return {"type": "log", "dtick": int(np.ceil((high - low) / 4))}
    # few decades: 1, 2, 5 written out, because the script would write single digits
    decades = range(int(np.floor(low)) - 1, int(np.ceil(high)) + 2)
    ticks = [m * 10.0**d for d in decades for m in (1, 2, 5)]
    return {"type": "log", "tickvals": ticks, "ticktext": [f"{t:g}" for t in ticks]}


def _log_axis(title: str) -> dict[str, Any]:
    axis = {"title": {"text": title}, "exponentformat": "power", "showline": True}
    return axis | {"type": "log", "zeroline": False}


def _line(time: float) -> dict[str, Any]:
    line = {"color": "rgba(138, 79, 255, 0.45)", "width": 1, "dash": "dot"}
    return {"type": "line", "x0": time, "x1": time, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _missing(start: float, end: float) -> dict[str, Any]:
    return {
        "type": "rect",
        "x0": start,
        "x1": end,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "fillcolor": "rgba(192, 42, 42, 0.12)",
        "line": {"width": 0},
        "layer": "below",
    }
