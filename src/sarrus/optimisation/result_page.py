"""The page of an optimisation: values, curves, paths and motions before and after, course of the searches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html import escape

import numpy as np

from ..arrays import Floats
from ..quantities import read_quantity
from ..quantity_units import unit_of_quantity
from ..report.curves import read_curves
from ..report.html_page import figures_html, grid, render, section, sentences, table
from ..report.plots import Curve, Plot, stack
from ..result import Result
from ..scene import Camera
from ..scene.draw import frame_window
from ..scene.player import MOST_NUMBERS, scene_payload
from .optimum import Optimum

LABELS = ("before", "after")
# ratio of objectives from which on a logarithmic axis shows them
WIDE = 1e3


def make_page(found: Optimum) -> str:
    """The whole page."""
    runs = [r for r in (found.result_before, found.result) if r is not None]
    labels = LABELS[-len(runs) :] if len(runs) < 2 else LABELS
    plots = [*_curves(found, runs, labels), *_paths(found, runs, labels), _history(found)]
    scenes = []
    for run in runs:
        window = frame_window(run.scene, Camera(), 1.0, fill=False)
        slope = float(window.half[1] / window.half[0])
        payload = scene_payload(run.scene, MOST_NUMBERS // 2)
        scenes.append({**payload, "slope": slope, "values": read_curves(run).payload()})
    cards = [
        f'<h3>{label}</h3><div id="picture-{i}"></div><div id="options-{i}"></div>'
        for i, label in enumerate(labels)
    ]
    motion = section("Motion", f'<div id="bar"></div>{grid(cards)}', "playback")
    searches = [
        (str(i + 1), f"{s.objective:.9g}", s.status, s.message, str(s.evaluations))
        for i, s in enumerate(found.searches)
    ]
    heads = ("search", "objective", "status", "why", "runs")
    body = [
        section("In short", sentences(str(found).splitlines()[:2]) + _values(found)),
        motion,
        section("Curves", figures_html(plots)),
        section("Searches", table(heads, searches, (0, 1, 4))),
    ]
    css = "pass" if found.success else "fail"
    badge = f'<span class="badge {css}">{escape(found.status)}</span>'
    data = {
        "scenes": scenes, "figures": [p.payload() for p in plots], "marks": [], "labels": list(labels),
    }  # fmt: skip
    return render(found.problem.name, found.message, badge, body, data)


def _values(found: Optimum) -> str:
    rows = []
    for v in found.problem.variables:
        old, new = found.values_before[v.name], found.values[v.name]
        near = 1e-6 * (v.high - v.low)
        at = "lower bound" if new - v.low < near else "upper bound" if v.high - new < near else ""
        rows.append((v.name, f"{old:.9g}", f"{new:.9g}", f"{v.low:g} to {v.high:g}", at))
    rows.append(("objective", f"{found.objective_before:.9g}", f"{found.objective:.9g}", "", ""))
    limits = zip(found.problem.limits, found.constraints, strict=True)
    for limit, (text, old, new) in limits:
        size = max(abs(old), abs(new), 1e-300)
        met = "met" if limit.violation(new) <= 1e-6 * size else "not met"
        rows.append((text, f"{old:.9g}", f"{new:.9g}", "", met))
    return table(("", "before", "after", "bounds", ""), rows, (1, 2))


def _curves(found: Optimum, runs: list[Result], labels: tuple[str, ...]) -> Iterator[Plot]:
    """Each quantity that a measure reads, before and after."""
    names = [m.of for m in found.problem.measures if m.word != "distance"]
    for name in dict.fromkeys(names):
        curves = [
            Curve(0, label, run.times, read_quantity(run, name).values, i)
            for i, (run, label) in enumerate(zip(runs, labels, strict=True))
        ]
        until = float(found.problem.grid[-1])
        yield stack(name, [f"{name} [{unit_of_quantity(name)}]"], [False], curves, until, [], until)


def _paths(found: Optimum, runs: list[Result], labels: tuple[str, ...]) -> Iterator[Plot]:
    """Paths of points, and the points that they are to pass."""
    for measure in found.problem.measures:
        if measure.word != "distance":
            continue
        paths = [(label, run.position(measure.of)) for run, label in zip(runs, labels, strict=True)]
        both = [*paths, ("given points", np.asarray(measure.to))]
        curves = [
            Curve(0, label, p[:, 0], p[:, 1], i, dash="dot" if i == len(paths) else "solid")
            for i, (label, p) in enumerate(both)
        ]
        everything = np.concatenate([p for _, p in both])
        title = f"Path of {measure.of}"
        yield _over(
            stack(title, ["y [m]"], [False], curves, np.inf, [], np.inf), everything[:, 0], "x [m]"
        )


def _history(found: Optimum) -> Plot:
    """The objective of all designs that were run, search by search."""
    curves = []
    numbers = np.array([n for n, _, _ in found.history])
    values = np.array([f for _, f, _ in found.history])
    for n in np.unique(numbers):
        at = np.flatnonzero((numbers == n) & np.isfinite(values))
        curves.append(Curve(0, f"search {n + 1}", (at + 1).astype(np.float64), values[at], int(n)))
    known = values[np.isfinite(values)]
    is_wide = len(known) > 0 and bool(known.min() > 0.0 and known.max() > WIDE * known.min())
    plot = stack("Course of the searches", ["objective"], [is_wide], curves, np.inf, [], np.inf)
    return _over(plot, np.array([0.0, len(found.history) + 1.0]), "designs run")


def _over(plot: Plot, x: Floats, axis: str) -> Plot:
    """The plot over another quantity than time."""
    room = 0.05 * float(np.ptp(x)) or 1.0
    span = [float(x.min()) - room, float(x.max()) + room]
    layout = {
        **plot.layout, "xaxis": {**plot.layout["xaxis"], "title": {"text": axis}, "range": span},
    }  # fmt: skip
    return replace(plot, layout=layout, time=False)
