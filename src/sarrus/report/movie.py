"""Movies: the mechanism with its trace and a clock, frame by frame."""

from __future__ import annotations

import importlib
import io
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..disk import made_folder, new_file, write_file
from ..lazy import module_on_use
from ..names import short
from ..outputs import check_outputs, new_outputs
from ..scene import Camera, Scene
from ..scene.draw import GREY, INK, PAPER, Picture, as_shown, new_figure

pillow_image = module_on_use("PIL.Image")

# file extensions and their encoders: with these settings lines have no halo
FILMS = {".mp4": ("libx264", "-crf", "10"), ".avi": ("mpeg4", "-qscale:v", "6"), ".gif": ()}
SIZE = (1280, 720)
SMALLEST, LARGEST = 64, 7680
# bytes written to test whether a file can grow
PROBE = 1 << 22
# called with the number of finished frames and the total
OnFrame = Callable[[int, int], None]
MOST_FRAMES = 1_000_000


@dataclass(frozen=True)
class Film:
    """Settings of a movie: size [pixels], frames per second, speed (1: real time), until [s]."""

    size: tuple[int, int] = SIZE
    rate: float = 30.0
    speed: float = 1.0
    until: float | None = None

    def __post_init__(self) -> None:
        if not all(SMALLEST <= side <= LARGEST for side in self.size):
            raise ValueError(
                f"size {short(self.size[0])}x{short(self.size[1])}; give {SMALLEST} to {LARGEST} pixels each way"
            )
        if not 0.01 <= self.rate <= 240:
            raise ValueError(f"fps = {self.rate:g}; give a number from 0.01 to 240")
        if not 0 < self.speed < np.inf:
            raise ValueError(f"speed = {self.speed:g}; give a positive number, 1 is real time")
        if self.until is not None and not self.until > 0:
            raise ValueError(f"until = {self.until:g} s; give a positive time")

    def times(self, scene: Scene) -> Floats:
        """The simulated time of each frame; together the frames last (end of the run) / speed."""
        end = scene.end if self.until is None else min(self.until, scene.end)
        count = end / self.speed * self.rate
        if count > MOST_FRAMES:
            raise ValueError(
                f"a film of {end:g} s at speed {self.speed:g} has {count:.3g} frames; at most {MOST_FRAMES} are "
                "made: give a higher speed or a lower fps"
            )
        count = max(1, round(count))
        return np.minimum(np.arange(count) * self.speed / self.rate, end)


def parse_size(text: str) -> tuple[int, int]:
    """Width and height from "1280x720"."""
    try:
        width, height = (int(part) for part in text.lower().split("x"))
    except ValueError as error:
        raise ValueError(f"'{text[:40]}' is not a size; write 1280x720") from error
    return width, height


def save_movie(
    scene: Scene,
    path: Path,
    film: Film | None = None,
    on_frame: OnFrame = lambda done, total: None,
) -> Path:
    """Write a movie (.mp4, .avi, .gif) or one picture per frame (.png, or a folder); returns the path.

    on_frame(done, total) is called after each frame.
    """
    film = film or Film()
    kind = path.suffix.lower()
    if kind not in (*FILMS, ".png", ""):
        known = ", ".join((*FILMS, ".png"))
        raise ValueError(f"{path}: movies end with {known}; a folder gets one picture a frame")
    if kind not in FILMS:
        folder, stem = (path.parent, path.stem) if kind else (path, "frame")
        _save_pictures(folder, stem, scene, film, on_frame)
        return folder
    if FILMS[kind]:
        # codecs need even sizes
        width, height = film.size
        film = replace(film, size=(width + width % 2, height + height % 2))
    save = _save_film if FILMS[kind] else _save_gif
    with made_folder(path.parent):
        save(path, scene, film, on_frame)
    return path


def _save_gif(path: Path, scene: Scene, film: Film, on_frame: OnFrame) -> None:
    imageio = _load("imageio.v2", path)
    content = io.BytesIO()
    # GIF times are in hundredths of a second
    duration = 1000.0 / film.rate
    writer = imageio.get_writer(content, format="GIF", mode="I", duration=duration, loop=0)
    with closing(writer):
        for i, frame in enumerate(draw_frames(scene, film)):
            writer.append_data(frame)
            on_frame(i + 1, len(film.times(scene)))
    write_file(path, content.getvalue())


def _save_film(path: Path, scene: Scene, film: Film, on_frame: OnFrame) -> None:
    """Write a film with an encoder in a separate process."""
    command = [
        *(_load("imageio_ffmpeg", path).get_ffmpeg_exe(), "-y", "-v", "quiet", "-f", "rawvideo"),
        *("-pix_fmt", "rgb24", "-s", "x".join(map(str, film.size))),
        *("-r", str(Fraction(film.rate).limit_denominator()), "-i", "-", "-an"),
        *("-pix_fmt", "yuv420p", "-vcodec", *FILMS[path.suffix.lower()]),
    ]
    with (
        new_file(path) as half,
        subprocess.Popen([*command, half], stdin=subprocess.PIPE) as encoder,
    ):
        assert encoder.stdin is not None
        try:
            with encoder.stdin:
                for i, frame in enumerate(draw_frames(scene, film)):
                    encoder.stdin.write(frame.data)
                    on_frame(i + 1, len(film.times(scene)))
        except BrokenPipeError:
            # the encoder has ended; the cause is determined below
            pass
        except BaseException:
            encoder.kill()
            raise
        if encoder.wait():
            _explain_encoder(path, half)


def _explain_encoder(path: Path, half: Path) -> NoReturn:
    """Raise the cause that stopped the encoder: the error of writing to the file, if it cannot grow."""
    with open(half, "ab") as file:
        file.write(bytes(PROBE))
    raise ValueError(
        f"{path} cannot be written: the encoder ended before its last frame; try again"
    )


def _save_pictures(folder: Path, stem: str, scene: Scene, film: Film, on_frame: OnFrame) -> None:
    """Write one picture per frame, all of them or none."""
    count = len(film.times(scene))
    names = [f"{stem}-{i:0{len(str(count - 1))}d}.png" for i in range(count)]
    check_outputs(folder, names)
    with new_outputs(folder) as stage:
        for i, frame in enumerate(draw_frames(scene, film)):
            content = io.BytesIO()
            pillow_image.fromarray(frame).save(content, format="png")
            write_file(stage / names[i], content.getvalue())
            on_frame(i + 1, count)


def draw_frames(scene: Scene, film: Film) -> Iterator[NDArray[np.uint8]]:
    """The frames, (height, width, 3), one after another."""
    width, height = film.size
    page = new_figure(figsize=(width / 100, height / 100), dpi=100, facecolor=PAPER)
    picture = Picture(scene, page.add_axes((0.02, 0.03, 0.96, 0.85)), Camera())
    size = max(7.0, 0.013 * width)
    line: dict[str, Any] = {"va": "top", "fontsize": size, "color": INK}
    speed = "" if film.speed == 1 else f"   {film.speed:g} x real time"
    clock = page.text(0.02, 0.97, "", family="monospace", **line)
    page.text(0.98, 0.97, _short(scene.sketch.name), ha="right", **line)
    if not picture.whole:
        text = f"the part around {scene.observed_name or 'its beginning'}"
        page.text(0.98, 0.02, text, ha="right", va="bottom", fontsize=0.8 * size, color=GREY)
    for time in film.times(scene):
        picture.show(float(time))
        clock.set_text(f"t = {time:.2f} s{speed}")
        page.canvas.draw()
        yield np.asarray(page.canvas.buffer_rgba())[..., :3].copy()


def _short(name: str, most: int = 48) -> str:
    name = as_shown(name)
    return name if len(name) <= most else name[: most - 3] + "..."


def _load(module: str, path: Path) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ValueError(
            f"{path.name} needs the package {error.name}; install it by: pip install '.[movie]'"
        ) from error
