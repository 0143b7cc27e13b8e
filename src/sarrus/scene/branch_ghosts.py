"""The branches through a configuration as small pictures in which the mechanism moves along each of them.

SVG with built-in animation: pages need no script for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats
from .draw import frame_window
from .scene import Camera, Scene, make_scene
from .sketch import Sketch

if TYPE_CHECKING:
    from ..verdict.branches import Branches

# pixels of a picture, rows of a path in each direction, seconds of a cycle
WIDTH, HEIGHT = 190, 150
STEPS = 8
SECONDS = 3
# largest number of branches drawn; largest mechanism drawn
MOST_DRAWN = 12
MOST_COORDINATES = 300
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf")


@dataclass(frozen=True)
class Ghost:
    """An animated picture of a branch.

    caption; colour of what moves; lines: for each bar or outline its points where the branches meet, and its
    points along the branch, back and forth, as SVG text.
    """

    caption: str
    colour: str
    lines: tuple[tuple[str, str], ...]

    def payload(self) -> dict[str, Any]:
        """The record for a page that draws it itself."""
        return {**asdict(self), "width": WIDTH, "height": HEIGHT, "seconds": SECONDS}


def make_ghosts(found: Branches, sketch: Sketch) -> list[Ghost]:
    """A picture of each branch, at most MOST_DRAWN; none for large mechanisms."""
    model, q = found.model, found.coordinates
    if model is None or q is None or len(q) > MOST_COORDINATES:
        return []
    out = []
    for i, branch in enumerate(found.branches[:MOST_DRAWN]):
        path = q + found.path(branch, STEPS)
        times = np.arange(float(len(path)))
        # the row of the configuration itself
        here = STEPS if branch.behind is not None else 0
        scene = make_scene(sketch, model.body_rows, times, path, np.zeros_like(path), times[-1])
        colour = COLOURS[i % len(COLOURS)]
        out.append(Ghost(f"{i + 1}: {branch.kind}", colour, tuple(_lines(scene, here))))
    return out


def draw_ghosts(found: Branches, sketch: Sketch) -> str:
    """The pictures as HTML; empty if there are none."""
    ghosts = make_ghosts(found, sketch)
    if not ghosts:
        return ""
    figures = "".join(
        f"<figure>{_svg(ghost)}<figcaption>{escape(ghost.caption)}</figcaption></figure>"
        for ghost in ghosts
    )
    more = len(found) - len(ghosts)
    return f'<div class="ghosts">{figures}</div>' + (f"<p>and {more} more</p>" if more else "")


def _svg(ghost: Ghost) -> str:
    """The mechanism in grey where the branches meet, and in colour along one of them."""
    lines = "".join(
        f'<polyline points="{still}" fill="none" stroke="#bbbbbb" stroke-width="2"/>'
        f'<polyline points="{still}" fill="none" stroke="{ghost.colour}" stroke-width="2" stroke-opacity="0.8">'
        f'<animate attributeName="points" values="{moving}" dur="{SECONDS}s" repeatCount="indefinite"/></polyline>'
        for still, moving in ghost.lines
    )
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return f'<svg {size} role="img" aria-label="motion along a branch">{lines}</svg>'


def _lines(scene: Scene, here: int) -> Iterator[tuple[str, str]]:
    camera = Camera()
    window = frame_window(scene, camera, WIDTH / HEIGHT)
    seen = camera.project(scene.points, scene.sketch.up)[..., :2]
    scale = 0.5 * np.array([WIDTH, -HEIGHT]) / window.half
    places = (seen - window.middle) * scale + 0.5 * np.array([WIDTH, HEIGHT])
    for points in _outlines(scene.sketch):
        rows = places[:, list(points)]
        moving = ";".join(_points(row) for row in (*rows, *rows[-2:0:-1]))
        yield _points(rows[here]), moving


def _outlines(sketch: Sketch) -> Iterator[tuple[int, ...]]:
    """The bars and the outlines of plates, as point indices."""
    for shape in sketch.shapes:
        if shape.kind == "bar":
            yield shape.points
        for face in shape.faces:
            yield (*face, face[0])


def _points(places: Floats) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
