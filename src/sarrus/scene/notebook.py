"""How a mechanism or a result shows itself: a figure, and a small table with it."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from ..arrays import Floats
from ..mechanism import Mechanism, MechanismError, check_mechanism
from ..mechanism.mechanism import PARTS
from .draw import ACCENT, PURPLE, Picture, as_shown
from .scene import Scene
from .sketch import Sketch, make_sketch

# exactly zero has no place on a log axis
SMALLEST = 1e-18
# names written into a picture, and listed beside it
MOST_NAMED, MOST_LISTED = 40, 12


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
    axes[-2].set_ylabel("energy\ndrift [J]")
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


def draw_mechanism(mechanism: Mechanism) -> Any:
    """A matplotlib figure of a mechanism at its start position, with the names of joints and points.

    Raises MechanismError, with every reason, if there is nothing to draw.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    check_mechanism(mechanism, closed=False)
    sketch = make_sketch(mechanism)
    places = np.array(sketch.places).reshape(1, -1, sketch.dimension)
    scene = Scene(sketch, np.zeros(1), places, np.zeros_like(places), 0.0)
    page: Any = Figure(figsize=(6.0, 4.0))
    FigureCanvasAgg(page)
    axes = page.add_axes((0.02, 0.02, 0.96, 0.9))
    picture = Picture(scene, axes)
    picture.show(0.0)
    page.suptitle(as_shown(mechanism.name), fontsize=11)
    if len(sketch.signs) <= MOST_NAMED:
        _write_names(axes, picture.camera.project(places[0], sketch.up), sketch)
    return page


def _write_names(axes: Any, flat: Floats, sketch: Sketch) -> None:
    """Beside each joint and point its name; those at one place share a line."""
    told: dict[tuple[float, float], str] = {}
    for sign in sketch.signs:
        x, y = np.round(flat[list(sign.points)].mean(axis=0)[:2], 9)
        told[x, y] = f"{told[x, y]}, {sign.name}" if (x, y) in told else sign.name
    for at, name in told.items():
        away = {"xytext": (6, 6), "textcoords": "offset points"}
        axes.annotate(as_shown(name), at, fontsize=8, color=ACCENT, **away)


def mechanism_card(mechanism: Mechanism) -> str:
    """Its parts in a small table with its picture; or what is wrong with it so far."""
    where = "in the plane" if mechanism.dimension == 2 else "in space"
    title = f"{mechanism.name}, {where}"
    rows = []
    for attribute, word in PARTS.items():
        parts = getattr(mechanism, attribute)
        names = [part.name for part in parts[:MOST_LISTED]]
        more = ["..."] if len(parts) > MOST_LISTED else []
        if parts:
            words = word.replace("_", " ")
            one = {"bodies": "body", "masses": "mass"}.get(words, words.removesuffix("s"))
            count = f"{len(parts)} {one if len(parts) == 1 else words}"
            rows.append((count, ", ".join([*names, *more])))
    try:
        return make_card(title, rows, draw_mechanism(mechanism))
    except MechanismError as error:
        return make_card(title, [*rows, ("not complete", str(error))])


def make_card(title: str, rows: Sequence[tuple[str, str]], figure: Any = None) -> str:
    """A small table with a figure, if there is one, as HTML for a notebook."""
    lines = "".join(
        f'<tr><td style="text-align:left">{escape(what)}</td>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for what, value in rows
    )
    table = f"<strong>{escape(title)}</strong><table>{lines}</table>"
    if figure is None:
        return f"<div>{table}</div>"
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=80)
    picture = base64.b64encode(image.getvalue()).decode()
    return (
        f'<div>{table}<img alt="{escape(title, quote=True)}" style="max-width:100%" '
        f'src="data:image/png;base64,{picture}"></div>'
    )
