"""The animation of a scene as self-contained HTML."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..disk import write_file
from .draw import ground_points
from .scene import Scene

# frames per second between which playback interpolates, and limits of the numbers in a scene
FRAMES_A_SECOND = 50
LEAST_FRAMES = 300
MOST_NUMBERS = 400_000
MOST_TRACE = 10_000
# runs once the scene of a page is loaded
START = """
{
  const scene = JSON.parse(document.getElementById("scene").textContent);
  Sarrus.theme();
  const clock = new Sarrus.Clock(scene.duration);
  const height = (w) => Math.max(240, Math.min(420, 0.6 * w));
  const player = new Sarrus.Player(document.getElementById("picture"), scene, clock, height);
  Sarrus.transport(document.getElementById("bar"), clock, scene.end, scene.marks);
  Sarrus.options(document.getElementById("options"), player);
  document.getElementById("said").textContent = scene.said.join(" ");
  // an address that ends with #play moves at once, and repeats, unless the reader prefers reduced motion
  if (location.hash === "#play" && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
    clock.onChange(() => {
      if (!clock.playing && clock.time >= clock.duration) {
        setTimeout(() => { if (!clock.playing && clock.time >= clock.duration) clock.play(); }, 1000);
      }
    });
    clock.play();
  }
}
"""


def asset(name: str) -> str:
    """A script or style sheet of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def make_policy(scripts: Iterable[str]) -> str:
    """The content security policy: only these scripts run, identified by their hashes, and nothing is loaded.

    No other script runs, even if a name contains one and was not escaped.
    """
    hashes = " ".join(f"'sha256-{_hash(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; form-action 'none'; base-uri 'none'"
    )


@lru_cache(maxsize=32)
def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def inline_json(value: Any) -> str:
    """JSON that is safe inside a script element: none of its characters can end the element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def pack(values: NDArray[Any], kind: str = "<f4") -> str:
    """Numbers as base64 text."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()


def scene_payload(scene: Scene, most: int = MOST_NUMBERS) -> dict[str, Any]:
    """The data that the player needs of a scene: evenly spaced frames, with at most `most` numbers."""
    sketch, moving = scene.sketch, scene.moving
    wide = max(int(moving.sum()), 1) * sketch.dimension
    wanted = max(LEAST_FRAMES, int(np.ceil(FRAMES_A_SECOND * scene.end)) + 1)
    # many more frames than outputs show nothing new, but a few smooth coarse outputs
    wanted = min(wanted, max(4 * len(scene.times), 2))
    frames = max(2, min(wanted, most // wide)) if scene.end > 0 else 1
    times = np.linspace(0.0, scene.end, frames)
    # in chunks: all frames at once would need much memory
    data = np.concatenate(
        [scene.at(part)[:, moving] for part in np.array_split(times, -(-frames // 64))]
    )
    return {
        "name": sketch.name,
        "dimension": sketch.dimension,
        "up": sketch.up,
        "size": sketch.size,
        "gravity": sketch.gravity,
        "duration": scene.duration,
        "end": scene.end,
        "frames": frames,
        "step": scene.end / (frames - 1) if frames > 1 else 0.0,
        "places": sketch.places,
        "moves": [bool(m) for m in moving],
        "moving": [int(i) for i in np.flatnonzero(moving)],
        "data": pack(data),
        "shapes": [vars(s) for s in sketch.shapes],
        "signs": [vars(s) | {"glyph": s.glyph} for s in sketch.signs],
        "ground": ground_points(scene),
        "observed": scene.observed,
        "observed_name": scene.observed_name,
        **_trace(scene),
        "marks": [vars(m) for m in scene.marks],
        "said": _omissions(scene, frames, wanted),
    }


def _trace(scene: Scene) -> dict[str, Any]:
    """The path of the observed point, finer than the frames if those are thinned out."""
    count = min(max(2 * LEAST_FRAMES, int(np.ceil(FRAMES_A_SECOND * scene.end)) + 1), MOST_TRACE)
    if scene.observed is None or scene.end == 0:
        return {"trace": "", "trace_step": 0.0}
    times = np.linspace(0.0, scene.end, count)
    path = np.concatenate(
        [scene.at(part)[:, scene.observed] for part in np.array_split(times, -(-count // 64))]
    )
    return {"trace": pack(path), "trace_step": scene.end / (count - 1)}


def _omissions(scene: Scene, frames: int, wanted: int) -> list[str]:
    """Sentences on what the picture omits."""
    said = []
    if 1 < frames < wanted:
        every = scene.end / (frames - 1)
        said.append(
            f"The moving picture is thinned out: {frames} instants, one every {every:.3g} s, for "
            f"{len(scene.sketch.shapes)} bodies; between them it is interpolated."
        )
    low, high = scene.box
    if (high - low).max() > 60 * scene.sketch.size:
        said.append(
            "It is too long to be seen as a whole: the part around "
            f"{scene.observed_name or 'its beginning'} is shown; the button shows the rest."
        )
    return said


class Player:
    """An animation that a notebook shows, and that can be saved as a page."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def page(self) -> str:
        """A complete page: picture, play, pause, speed and time line."""
        script = asset("player.js") + START
        return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{make_policy([script])}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(self.scene.sketch.name)}</title>
<style>body {{ margin: 12px; font: 14px system-ui, sans-serif; background: var(--paper); color: var(--ink); }}
{asset("player.css")}</style></head><body>
<div id="picture"></div><div id="bar"></div><div id="options"></div><p id="said"></p>
<script type="application/json" id="scene">{inline_json(scene_payload(self.scene))}</script>
<script>{script}</script></body></html>
"""

    def save(self, path: str | Path) -> Path:
        """Write the page; returns its path."""
        return write_file(path, self.page())

    def _repr_html_(self) -> str:
        frame = 'style="width:100%;height:580px;border:0" sandbox="allow-scripts allow-downloads"'
        return f'<iframe srcdoc="{escape(self.page(), quote=True)}" {frame}></iframe>'
