"""The branches through a configuration as small pictures in which the mechanism moves along each of them.

SVG with its own animation: pages need no script for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats
from .draw import frame_window
from .scene import Camera, Scene, make_scene
from .sketch import Sketch

if TYPE_CHECKING:
    from ..verdict.branches import Branches

# pixels of a picture, rows of a path each way, seconds of a way to and fro
WIDTH, HEIGHT = 190, 150
STEPS = 8
SECONDS = 3
# branches that are drawn; larger mechanisms are not
MOST_DRAWN = 12
MOST_COORDINATES = 300
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf")


def draw_ghosts(found: Branches, sketch: Sketch) -> str:
    """Pictures as HTML, one for each branch with its words below; empty where there is nothing to draw."""
    model, q = found.model, found.coordinates
    if model is None or q is None or len(q) > MOST_COORDINATES or not len(found):
        return ""
    items = []
    for i, branch in enumerate(found.branches[:MOST_DRAWN]):
        path = q + found.path(branch, STEPS)
        times = np.arange(float(len(path)))
        scene = make_scene(sketch, model.body_rows, times, path, np.zeros_like(path), times[-1])
        picture = _picture(scene, COLOURS[i % len(COLOURS)])
        items.append(
            f"<figure>{picture}<figcaption>{i + 1}: {escape(branch.kind)}</figcaption></figure>"
        )
    more = len(found) - MOST_DRAWN
    rest = f"<p>and {more} more</p>" if more > 0 else ""
    return f'<div class="ghosts">{"".join(items)}</div>{rest}'


def _picture(scene: Scene, colour: str) -> str:
    """The mechanism in grey where the branches meet, and in colour along one of them, to and fro."""
    camera = Camera()
    window = frame_window(scene, camera, WIDTH / HEIGHT)
    seen = camera.project(scene.points, scene.sketch.up)[..., :2]
    scale = 0.5 * np.array([WIDTH, -HEIGHT]) / window.half
    places = (seen - window.middle) * scale + 0.5 * np.array([WIDTH, HEIGHT])
    middle = len(places) // 2
    lines = []
    for points in _outlines(scene.sketch):
        rows = places[:, list(points)]
        lines.append(
            f'<polyline points="{_points(rows[middle])}" fill="none" stroke="#bbbbbb" stroke-width="2"/>'
        )
        there = ";".join(_points(row) for row in (*rows, *rows[-2:0:-1]))
        lines.append(
            f'<polyline points="{_points(rows[-1])}" fill="none" stroke="{colour}" stroke-width="2" '
            f'stroke-opacity="0.8"><animate attributeName="points" values="{there}" dur="{SECONDS}s" '
            'repeatCount="indefinite"/></polyline>'
        )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'aria-label="motion along a branch">{"".join(lines)}</svg>'
    )


def _outlines(sketch: Sketch) -> Iterator[tuple[int, ...]]:
    """The bars and the borders of plates, as numbers of points."""
    for shape in sketch.shapes:
        if shape.kind == "bar":
            yield shape.points
        for face in shape.faces:
            yield (*face, face[0])


def _points(places: Floats) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
