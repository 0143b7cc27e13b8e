"""Draws a scene with matplotlib: for figures, movies and notebooks."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats
from ..lazy import module_on_use
from ..names import shown
from .scene import CROSSING, Camera, Scene
from .sketch import GROUND, Sign

figure_module = module_on_use("matplotlib.figure")
agg = module_on_use("matplotlib.backends.backend_agg")
collections = module_on_use("matplotlib.collections")

# the same light colours as on the page; suitable for colour-blind readers (after Okabe and Ito)
INK, PAPER, GREY = "#1d2733", "#ffffff", "#6b7684"
BARS = ("#3b7fc4", "#e08a2e", "#2a9d7f", "#c774a8", "#d6bd3a", "#79bfe8")
EARTH = "#dfe4ea"
ACCENT = "#2563a8"
EDGE, TRACE, PURPLE = "#22384f", "#d1495b", "#8a4fff"
# wider mechanisms are shown around the observed point, with this many links
MOST_LINKS = 60
SHOWN_LINKS = 24
ZIGZAGS = 6
TRACE_POINTS = 1500


def as_shown(name: str) -> str:
    """A name that matplotlib shows verbatim: a dollar sign would start mathematics; no font has control codes."""
    return shown(name).replace("$", r"\$")


@dataclass(frozen=True)
class Window:
    """The visible part of the drawing plane: centre and half widths [m]; whole: whether it is all of it."""

    middle: Floats
    half: Floats
    whole: bool


def frame_window(scene: Scene, camera: Camera, aspect: float, fill: bool = True) -> Window:
    """The part of the plane that shows a whole motion, or the part around the observed point.

    aspect: width over height of the picture; fill: whether to extend the part to it.
    """
    sketch = scene.sketch
    seen = camera.project(scene.points, sketch.up)[..., :2].reshape(-1, 2)
    low, high = seen.min(axis=0), seen.max(axis=0)
    whole = bool((high - low).max() <= MOST_LINKS * sketch.size)
    if not whole:
        at = 0 if scene.observed is None else scene.observed
        path = camera.project(scene.points[:, at], sketch.up)[..., :2]
        # the observed point may be at the edge: the mechanism matters more than empty space
        middle = 0.5 * (path.min(axis=0) + path.max(axis=0))
        reach = 0.5 * SHOWN_LINKS * sketch.size
        middle = np.clip(middle, low + reach, np.maximum(low + reach, high - reach))
        low, high = np.maximum(low, middle - reach), np.minimum(high, middle + reach)
    # room for symbols below and next to the outermost points
    half = 0.5 * (high - low) + 0.28 * sketch.size
    if fill:
        half = np.maximum(half, [half[1] * aspect, half[0] / aspect])
    return Window(0.5 * (low + high), half, whole)


class Picture:
    """A matplotlib axes that shows a scene at any time."""

    def __init__(self, scene: Scene, axes: Any, camera: Camera | None = None) -> None:
        self.scene, self.axes = scene, axes
        self.camera = camera or Camera()
        width, height = axes.get_window_extent().size
        window = frame_window(scene, self.camera, width / height)
        self.whole = window.whole
        axes.set_xlim(window.middle[0] - window.half[0], window.middle[0] + window.half[0])
        axes.set_ylim(window.middle[1] - window.half[1], window.middle[1] + window.half[1])
        axes.set_aspect("equal")
        axes.axis("off")
        pixels = width / (2 * window.half[0])
        point = 72.0 / axes.figure.dpi
        self.thick = float(np.clip(0.085 * scene.sketch.size * pixels, 3.0, 15.0)) * point
        # size of symbols in the plane [m]
        self.sign = float(np.clip(0.11 * scene.sketch.size, 5.0 / pixels, 16.0 / pixels))
        self.path = None
        if scene.observed is not None and scene.end > 0:
            # finer than the outputs, which may be far apart
            self.path_times = np.linspace(0.0, scene.end, TRACE_POINTS)
            path = np.array([scene.at(t)[0, scene.observed] for t in self.path_times])
            self.path = self.camera.project(path, scene.sketch.up)[:, :2]
        edge = float(np.clip(0.13 * self.thick, 0.7 * point, 1.8 * point))
        self._draw_ground(edge)
        if self.path is not None:
            axes.plot(*self.path.T, color=TRACE, alpha=0.22, lw=1.2, zorder=1)
            (self.trace,) = axes.plot([], [], color=TRACE, lw=1.6, zorder=1.1)
            (self.pen,) = axes.plot([], [], "o", color=TRACE, ms=0.55 * self.thick + 2, zorder=6)
            crossings = np.array([m.time for m in scene.marks if m.word == CROSSING])
            if len(crossings):
                at = scene.at(crossings)[:, scene.observed]
                at = self.camera.project(at, scene.sketch.up)[:, :2]
                axes.plot(*at.T, "D", mfc="none", mec=PURPLE, ms=7, mew=1.4, zorder=5.8)
        self.plates = collections.PolyCollection(
            [], facecolors=[], edgecolors=EDGE, linewidths=edge, zorder=2
        )
        self.guides = collections.LineCollection([], colors=EDGE, linewidths=edge, zorder=3.3)
        self.blocks = collections.PolyCollection(
            [], facecolors=EARTH, edgecolors=EDGE, linewidths=edge, zorder=3.5
        )
        self.bars = collections.LineCollection([], capstyle="round", joinstyle="round", zorder=3)
        self.springs = collections.LineCollection(
            [], colors=GREY, linewidths=1.5 * edge, zorder=3.2
        )
        self.motors = collections.LineCollection(
            [], colors=ACCENT, linewidths=1.8 * edge, zorder=5.5
        )
        self.lines = collections.LineCollection([], colors=EDGE, zorder=4, capstyle="butt")
        for collection in (
            self.plates,
            self.guides,
            self.blocks,
            self.bars,
            self.springs,
            self.motors,
            self.lines,
        ):
            axes.add_collection(collection, autolim=False)
        size = (0.95 * self.thick + 1.0) ** 2
        self.pins = axes.scatter(
            [], [], s=size, facecolors=PAPER, edgecolors=EDGE, linewidths=1.4 * edge, zorder=5
        )
        self.balls = axes.scatter([], [], s=1.3 * size, facecolors=EDGE, zorder=5)
        self.masses = axes.scatter(
            [], [], s=5 * size, facecolors=BARS[0], edgecolors=EDGE, linewidths=edge, zorder=4.5
        )
        self.edge = edge

    def show(self, time: float) -> None:
        """Move everything to its position at a time [s]."""
        sketch = self.scene.sketch
        seen = self.camera.project(self.scene.at(time)[0], sketch.up)
        flat, depth = seen[:, :2], seen[:, 2]
        bars, plates, masses = [], [], []
        for n, shape in enumerate(sketch.shapes):
            color = BARS[n % len(BARS)]
            for face in shape.faces:
                plates.append((depth[list(face)].mean(), flat[list(face)], color))
            if shape.kind in ("bar", "mass") and len(shape.points) > 1:
                bars.append((depth[list(shape.points)].mean(), flat[list(shape.points)], color))
            if shape.kind == "mass":
                masses.append((flat[shape.points[0]], color))
        bars.sort(key=lambda bar: bar[0])
        plates.sort(key=lambda plate: plate[0])
        # each bar is a wide dark line with a narrower bright one on top
        self.bars.set_segments([bar[1] for bar in bars for _ in range(2)])
        self.bars.set_linewidth([self.thick, self.thick - 2 * self.edge] * len(bars))
        self.bars.set_color([c for bar in bars for c in (EDGE, bar[2])])
        self.plates.set_verts([plate[1] for plate in plates])
        self.plates.set_facecolor([f"{plate[2]}aa" for plate in plates])
        self._show_signs(flat)
        self.masses.set_offsets(np.array([at for at, _ in masses]).reshape(-1, 2))
        self.masses.set_facecolor([color for _, color in masses])
        if self.path is not None:
            past = self.path_times <= time
            here = flat[self.scene.observed]
            self.trace.set_data(*np.vstack([self.path[past], here]).T)
            self.pen.set_data([here[0]], [here[1]])

    def _show_signs(self, flat: Floats) -> None:
        pins, balls, lines, springs = [], [], [], []
        blocks, guides, motors = [], [], []
        # a little wider than a pin
        wide = 0.75 * self.sign
        for sign in self.scene.sketch.signs:
            if sign.glyph == "spring":
                start, end = flat[list(sign.points)]
                springs.append(zigzag(start, end, self.sign))
            elif sign.glyph == "link":
                lines.append((flat[list(sign.points)], 2 * self.edge))
                balls += list(flat[list(sign.points)])
            elif sign.glyph in ("ball", "point"):
                balls.append(flat[sign.points[0]])
            elif sign.glyph != "slider":
                pins.append(flat[sign.points[-1]])
            if sign.driven and sign.glyph in ("slider", "link"):
                way = sign.points if sign.glyph == "link" else sign.lines[0]
                motors += push(flat[list(way)], self.sign)
            elif sign.driven:
                motors += motor(flat[sign.point], 1.2 * wide)
            if sign.torsion:
                springs.append(spiral(flat[sign.point], wide))
            if sign.slides and len(sign.lines) > 1:
                blocks.append(block(flat[list(sign.lines[1])], 1.4 * self.sign))
            if sign.slides:
                guides.append(flat[list(sign.lines[0])])
                guides += hatch(guides[-1], self.sign) if is_hatched(self.scene, sign) else []
                continue
            for line in sign.lines:
                thin = sign.glyph == "plane"
                lines.append((flat[list(line)], self.edge if thin else 0.75 * self.thick))
        self.pins.set_offsets(np.array(pins).reshape(-1, 2))
        self.balls.set_offsets(np.array(balls).reshape(-1, 2))
        self.motors.set_segments(motors)
        self.blocks.set_verts(blocks)
        self.guides.set_segments(guides)
        self.springs.set_segments(springs)
        self.lines.set_segments([line for line, _ in lines])
        self.lines.set_linewidth([width for _, width in lines])

    def _draw_ground(self, edge: float) -> None:
        """Triangles on hatched ground below the joints fixed to it."""
        sketch, s = self.scene.sketch, self.sign
        triangles, strokes = [], []
        places = np.array(sketch.places).reshape(-1, sketch.dimension)
        for point in ground_points(self.scene):
            x, y = self.camera.project(places[point], sketch.up)[:2]
            triangles.append([(x, y), (x - 0.9 * s, y - 1.5 * s), (x + 0.9 * s, y - 1.5 * s)])
            strokes.append([(x - 1.5 * s, y - 1.5 * s), (x + 1.5 * s, y - 1.5 * s)])
            for k in range(5):
                left = x - 1.3 * s + 0.65 * k * s
                strokes.append([(left, y - 1.5 * s), (left - 0.45 * s, y - 2.1 * s)])
        self.axes.add_collection(
            collections.PolyCollection(
                triangles, facecolors=EARTH, edgecolors=EDGE, linewidths=edge, zorder=1.5
            ),
            autolim=False,
        )
        self.axes.add_collection(
            collections.LineCollection(strokes, colors=EDGE, linewidths=edge, zorder=1.5),
            autolim=False,
        )


def ground_points(scene: Scene) -> list[int]:
    """Points fixed to the ground, each once."""
    owners = scene.sketch.owners
    found = [
        point
        for sign in scene.sketch.signs
        if sign.ground
        # a guide on the ground is hatched along itself, a plane has its outline
        for point in (sign.points[1:] if sign.lines and len(sign.points) > 1 else sign.points)
        if owners[point] == GROUND
    ]
    return list(dict.fromkeys(found))


def is_hatched(scene: Scene, sign: Sign) -> bool:
    """Whether the guide of a slider belongs to the ground."""
    return bool(sign.lines) and scene.sketch.owners[sign.lines[0][0]] == GROUND


def hatch(line: Floats, size: float) -> list[Floats]:
    """Short strokes on the lower side of a line."""
    start, end = line if line[0, 0] <= line[1, 0] else line[::-1]
    length = float(np.linalg.norm(end - start))
    if length == 0:
        return []
    along = (end - start) / length
    down = np.array([along[1], -along[0]])
    count = max(2, int(length / (0.65 * size)))
    roots = start + np.linspace(0, length, count)[:, None] * along
    return [np.array([root, root + 0.6 * size * (down - 0.7 * along)]) for root in roots]


def block(line: Floats, height: float) -> Floats:
    """The corners of a slider that lies along a line."""
    along = line[1] - line[0]
    length = float(np.linalg.norm(along))
    side = 0.5 * height * np.array([-along[1], along[0]]) / length if length > 0 else np.zeros(2)
    return np.array([line[0] - side, line[1] - side, line[1] + side, line[0] + side])


def spiral(middle: Floats, radius: float) -> Floats:
    """A torsional spring around a joint."""
    angle = np.linspace(0, 5 * np.pi, 61)
    reach = radius * (0.7 + 0.8 * angle / angle[-1])
    return np.asarray(middle + reach[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]))


def motor(middle: Floats, radius: float) -> list[Floats]:
    """An arc with an arrow around a driven joint."""
    angle = np.linspace(-0.9 * np.pi, 0.6 * np.pi, 40)
    arc = middle + radius * np.column_stack([np.cos(angle), np.sin(angle)])
    tip, back = arc[0], 0.45 * radius
    head = tip + back * np.array([(-0.6, -0.9), (0.0, 0.0), (0.9, -0.5)])
    return [arc, head]


def push(line: Floats, size: float) -> list[Floats]:
    """An arrow with two heads along a driven slider, next to its middle."""
    d = line[1] - line[0]
    length = float(np.linalg.norm(d))
    along = d / length if length > 0 else np.array([1.0, 0.0])
    side = np.array([-along[1], along[0]])
    ends = line.mean(axis=0) + 1.2 * size * side + 1.5 * size * np.outer((-1.0, 1.0), along)
    heads = [
        tip + 0.4 * size * np.array([back * along + side, (0.0, 0.0), back * along - side])
        for tip, back in zip(ends, (1.0, -1.0), strict=True)
    ]
    return [ends, *heads]


def zigzag(start: Floats, end: Floats, width: float) -> Floats:
    """The polyline of a spring between two points."""
    along = end - start
    length = float(np.linalg.norm(along))
    side = np.array([-along[1], along[0]]) / length if length > 0 else np.zeros(2)
    parts = [0.0, 0.14]
    shifts = [0.0, 0.0]
    for k in range(2 * ZIGZAGS):
        parts.append(0.14 + 0.72 * (k + 0.5) / (2 * ZIGZAGS))
        shifts.append(0.7 * width * (1 if k % 2 else -1))
    parts += [0.86, 1.0]
    shifts += [0.0, 0.0]
    return np.asarray(start + np.array(parts)[:, None] * along + np.array(shifts)[:, None] * side)


def new_figure(kind: Any = None, **given: Any) -> Any:
    """A matplotlib figure that needs no screen; kind: its class, if not matplotlib's own."""
    page = (kind or figure_module.Figure)(**given)
    agg.FigureCanvasAgg(page)
    return page


def new_shown_figure(**given: Any) -> Any:
    """A figure that a notebook shows without a magic command."""
    Figure: Any = figure_module.Figure

    class ShownFigure(Figure):
        """A figure that renders itself as an image."""

        def _repr_png_(self) -> bytes:
            content = io.BytesIO()
            self.savefig(content, format="png", dpi=90)
            return content.getvalue()

    return new_figure(ShownFigure, **given)
