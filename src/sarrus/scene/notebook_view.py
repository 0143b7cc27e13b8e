"""The notebook display of a mechanism or a result: a figure with a small table."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np

from ..arrays import Floats
from ..mechanism import Mechanism, MechanismError, check_mechanism
from ..mechanism.mechanism import PARTS
from .draw import ACCENT, PAPER, PURPLE, Picture, as_shown, new_shown_figure
from .scene import Scene
from .sketch import Sketch, make_sketch

# drawn instead of zero on a log axis
SMALLEST = 1e-18
# largest number of names written into a picture, and listed next to it
MOST_NAMED, MOST_LISTED = 40, 12


@dataclass(frozen=True, eq=False)
class ResultCurves:
    """The curves of one result: label of the horizontal axis, its values, panels of curves by their labels."""

    name: str
    over: str
    x: Floats
    panels: dict[str, dict[str, Floats]]


def read_side(
    draw: Callable[[str], tuple[Any, str]],
    result: str,
    panels: dict[str, list[str]],
    over: str,
    degrees: bool,
) -> ResultCurves:
    """The curves of a result; draw: gives a quantity to be drawn by its name, and what was cut of it; result: its
    name; panels: quantities by the names of their panels.
    """

    def read(what: str) -> tuple[Any, str]:
        found, cut = draw(what)
        return (found.in_degrees() if degrees else found), cut

    (axis, _), drawn = read(over), {}
    for name, quantities in panels.items():
        found = [read(what) for what in quantities]
        letters = [q.name.removeprefix(f"{name}.") if len(found) > 1 else "" for q, _ in found]
        label = f"{name} [{found[0][0].unit}]"
        drawn[label] = {
            ", ".join(x for x in (w, cut) if x): q.values
            for w, (q, cut) in zip(letters, found, strict=True)
        }
    return ResultCurves(result, axis.label, axis.values, drawn)


def make_figure(scene: Scene, sides: Sequence[ResultCurves]) -> Any:
    """A figure: the mechanism at its last output, and panels of curves; sides: of one or more results."""
    rows = max(len(sides[0].panels), 1)
    page = new_shown_figure(figsize=(9.0, max(3.4, 0.7 + 1.25 * rows)), layout="constrained")
    left, right = page.subfigures(1, 2, width_ratios=(1.0, 1.5))
    axes = right.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    for panel, label in zip(axes, sides[0].panels, strict=False):
        _draw_panel(panel, label, sides)
        if sides[0].over.startswith("time"):
            for mark in scene.marks:
                panel.axvline(mark.time, color=PURPLE, lw=0.8, ls=":")
    axes[-1].set_xlabel(as_shown(sides[0].over))
    right.align_ylabels()
    drawing = left.add_axes((0.02, 0.05, 0.96, 0.84))
    left.suptitle(f"{as_shown(scene.sketch.name)}, t = {scene.end:g} s", fontsize=10)
    if len(scene.times):
        Picture(scene, drawing).show(scene.end)
    return page


def draw_into(ax: Any, sides: Sequence[ResultCurves]) -> Any:
    """Draw all curves into matplotlib axes, and return them."""
    for n, side in enumerate(sides):
        for label, curves in side.panels.items():
            for letter, values in curves.items():
                name = ".".join(w for w in (label.rpartition(" [")[0], letter) if w)
                line = {"lw": 1.1, "ls": LINES[n % len(LINES)], **_mark(side.x)}
                ax.plot(side.x, values, label=as_shown(_named(name, sides, n)), **line)
    units = {label.rpartition(" [")[2] for side in sides for label in side.panels}
    ax.set_ylabel(" [".join(["", *sorted(units)]).strip() if len(units) > 1 else f"[{units.pop()}")
    ax.set_xlabel(as_shown(sides[0].over))
    ax.legend(fontsize=8, frameon=False)
    return ax


# characters in a line of a vertical label
LABEL_WIDTH = 17
# line styles of the results that are compared
LINES = ("-", "--", ":", "-.")


def _draw_panel(panel: Any, label: str, sides: Sequence[ResultCurves]) -> None:
    colors: dict[str, str] = {}
    for n, side in enumerate(sides):
        for letter, values in side.panels.get(label, {}).items():
            shown = as_shown(_named(letter, sides, n))
            line = {"lw": 1.1, "ls": LINES[n % len(LINES)], "label": shown, **_mark(side.x)}
            if letter in colors:
                line["color"] = colors[letter]
            if label.startswith("violation"):
                # a log axis cannot show exact zeros
                panel.set_yscale("log")
                values = np.maximum(values, SMALLEST)
            [drawn] = panel.plot(side.x, values, **line)
            colors[letter] = drawn.get_color()
    panel.set_ylabel(_stacked(as_shown(label)))
    if any(sides[0].panels[label]) or len(sides) > 1:
        # above the axes, because curves may fill the inside
        place = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.94)}
        panel.legend(fontsize=7, ncols=3, frameon=False, **place)
    panel.grid(alpha=0.3, lw=0.5)
    panel.margins(x=0.01)


def _mark(x: Floats) -> dict[str, str]:
    """A marker for curves over a quantity that does not change: a line would have no length."""
    return {} if len(x) > 1 and np.nanmax(x) > np.nanmin(x) else {"marker": "."}


def _named(letter: str, sides: Sequence[ResultCurves], n: int) -> str:
    """The name of a curve; with several results it includes the number and name of its result."""
    if len(sides) == 1:
        return letter
    same = len({side.name for side in sides}) < len(sides)
    word = f"{sides[n].name} ({n + 1})" if same else sides[n].name
    return ", ".join(w for w in (letter, word) if w)


def _stacked(label: str) -> str:
    """A long label split into lines that are not longer than a panel is high: name, words, unit."""
    if len(label) <= LABEL_WIDTH:
        return label
    lines = label.replace(".", "\n", 1).replace(" [", "\n[").splitlines()
    return "\n".join(part for line in lines for part in wrap(line, LABEL_WIDTH) or [""])


def draw_mechanism(mechanism: Mechanism) -> Any:
    """A matplotlib figure of a mechanism at its start position, with the names of joints and points.

    Raises
    ------
    MechanismError
        If there is nothing to draw; the message lists every reason.
    """
    check_mechanism(mechanism, closed=False)
    sketch = make_sketch(mechanism)
    places = np.array(sketch.places).reshape(1, -1, sketch.dimension)
    scene = Scene(sketch, np.zeros(1), places, np.zeros_like(places), 0.0)
    page = new_shown_figure(figsize=(6.0, 4.0))
    axes = page.add_axes((0.02, 0.02, 0.96, 0.9))
    picture = Picture(scene, axes)
    picture.show(0.0)
    page.suptitle(as_shown(mechanism.name), fontsize=11)
    if len(sketch.signs) <= MOST_NAMED:
        _write_names(axes, picture.camera.project(places[0], sketch.up), sketch)
    return page


def _write_names(axes: Any, flat: Floats, sketch: Sketch) -> None:
    """Write the name next to each joint and point; names at one position share a line."""
    labels: dict[tuple[float, float], str] = {}
    for sign in sketch.signs:
        x, y = np.round(flat[list(sign.points)].mean(axis=0)[:2], 9)
        labels[x, y] = f"{labels[x, y]}, {sign.name}" if (x, y) in labels else sign.name
    from matplotlib.patheffects import withStroke

    # readable on bars of any colour
    halo = [withStroke(linewidth=2.5, foreground=PAPER)]
    for at, name in labels.items():
        # above the joints' symbols, which may be larger than the distance
        away = {"xytext": (6, 6), "textcoords": "offset points", "path_effects": halo, "zorder": 7}
        axes.annotate(as_shown(name), at, fontsize=8, color=ACCENT, **away)


def mechanism_card(mechanism: Mechanism) -> str:
    """The parts of a mechanism in a small table with its picture, or the errors found so far."""
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
    """A small table, with a figure if there is one, as HTML for a notebook."""
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
