"""How a result shows itself: a figure of its motion, and a small table with it."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from ..arrays import Floats
from .draw import PURPLE, Picture, as_shown
from .scene import Scene

# exactly zero has no place on a log axis
SMALLEST = 1e-18


def make_figure(
    scene: Scene,
    panels: dict[str, dict[str, Floats]],
    times: Floats,
    energy: Floats,
    violation: Floats,
) -> Any:
    """A matplotlib figure: the mechanism at its last output; panels of curves, energy, violation."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = len(panels) + 2
    page: Any = Figure(figsize=(9.0, max(3.4, 0.7 + 1.25 * rows)), layout="constrained")
    FigureCanvasAgg(page)
    left, right = page.subfigures(1, 2, width_ratios=(1.0, 1.5))
    axes = right.subplots(rows, 1, sharex=True)
    for panel, (label, curves) in zip(axes, panels.items(), strict=False):
        for letter, column in curves.items():
            panel.plot(times, column, lw=1.1, label=letter)
        panel.set_ylabel(_stacked(as_shown(label)))
        if len(curves) > 1:
            # above the axes: nowhere inside is free of curves
            place = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.94)}
            panel.legend(fontsize=7, ncols=3, frameon=False, **place)
    axes[-2].plot(times, energy, lw=1.1)
    axes[-2].set_ylabel("energy [J]")
    axes[-1].semilogy(times, np.maximum(violation, SMALLEST), lw=1.1)
    axes[-1].set_ylabel("violation [m]")
    axes[-1].set_xlabel("time [s]")
    for panel in axes:
        panel.grid(alpha=0.3, lw=0.5)
        panel.margins(x=0.01)
        for mark in scene.marks:
            panel.axvline(mark.time, color=PURPLE, lw=0.8, ls=":")
    right.align_ylabels()
    drawing = left.add_axes((0.02, 0.05, 0.96, 0.84))
    left.suptitle(f"{as_shown(scene.sketch.name)}, t = {scene.end:g} s", fontsize=10)
    if len(scene.times):
        Picture(scene, drawing).show(scene.end)
    return page


def _stacked(label: str) -> str:
    """A long label on lines of its own: name, quantity, unit."""
    return label if len(label) < 18 else label.replace(".", "\n", 1).replace(" [", "\n[")


def make_card(title: str, rows: Sequence[tuple[str, str]], figure: Any) -> str:
    """A small table with a figure, as HTML for a notebook."""
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=80)
    lines = "".join(
        f'<tr><td style="text-align:left">{escape(what)}</td>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for what, value in rows
    )
    picture = base64.b64encode(image.getvalue()).decode()
    return (
        f"<div><strong>{escape(title)}</strong><table>{lines}</table>"
        f'<img alt="motion, energy and violation over time" style="max-width:100%" '
        f'src="data:image/png;base64,{picture}"></div>'
    )
