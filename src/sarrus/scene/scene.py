"""The scene: a sketch and the positions of its points at every output of a run; the camera that views it.

A point p of a body moves as p = c + x a + y b + z (a x b), where c is the body's centre and a, b are two of its
vectors; x, y, z are constant. Position and velocity follow from the coordinates without any rotation matrix.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Flags, Floats
from ..kinematics.configuration import frame_about, read_rows
from .sketch import GROUND, GUIDE, Sketch

if TYPE_CHECKING:
    from ..kinematics.configuration import BodyRows


VERSION = 1
# words of marks
CROSSING, NEAR = "crossing", "near-singular"


@dataclass(frozen=True)
class Mark:
    """An event at an instant [s]: a word for the picture, a sentence for the list."""

    time: float
    word: str
    sentence: str


@dataclass(frozen=True, eq=False)
class Scene:
    """A sketch in motion.

    times [s] of the outputs; points [m] and speeds [m/s], (n, points, dimension); duration: requested [s];
    observed: index of the point that leaves a trace, and its name; marks: crossings.
    """

    sketch: Sketch
    times: Floats
    points: Floats
    speeds: Floats
    duration: float
    observed: int | None = None
    observed_name: str = ""
    marks: tuple[Mark, ...] = ()

    @property
    def end(self) -> float:
        """Last simulated time [s]; less than the duration if the run ended early."""
        return float(self.times[-1]) if len(self.times) else 0.0

    def at(self, times: Floats | float) -> Floats:
        """Points at any times within the run, by cubic Hermite interpolation, (m, points, dimension)."""
        t = np.clip(np.atleast_1d(np.asarray(times, dtype=float)), 0.0, self.end)
        if len(self.times) < 2:
            return np.repeat(self.points[:1], len(t), axis=0)
        i = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.times) - 2)
        h = (self.times[i + 1] - self.times[i])[:, None, None]
        s = (t - self.times[i])[:, None, None] / h
        rise, sag = s * s * (3 - 2 * s), s * (1 - s)
        return np.asarray(
            (1 - rise) * self.points[i]
            + rise * self.points[i + 1]
            + h * sag * ((1 - s) * self.speeds[i] - s * self.speeds[i + 1])
        )

    def observing(self, name: str) -> Scene:
        """The same scene with the trace of another joint, point or body."""
        for sign in self.sketch.signs:
            if sign.name == name:
                return replace(self, observed=sign.point, observed_name=name)
        for shape in self.sketch.shapes:
            if shape.name == name:
                return replace(self, observed=shape.points[0], observed_name=name)
        return replace(self, observed=None, observed_name="")

    def thinned(self, most: int) -> Scene:
        """The same scene at no more than `most` outputs, evenly spaced."""
        if len(self.times) <= most:
            return self
        keep = np.unique(np.round(np.linspace(0, len(self.times) - 1, most)).astype(int))
        return replace(
            self, times=self.times[keep], points=self.points[keep], speeds=self.speeds[keep]
        )

    @property
    def moving(self) -> Flags:
        """Which points do not belong to the ground."""
        return np.array(self.sketch.owners, dtype=int) != GROUND

    @property
    def box(self) -> tuple[Floats, Floats]:
        """Lowest and highest coordinates that any point reaches [m]."""
        flat = self.points.reshape(-1, self.points.shape[-1])
        if not len(flat):
            return np.zeros(self.sketch.dimension), np.zeros(self.sketch.dimension)
        return flat.min(axis=0), flat.max(axis=0)


def make_scene(
    sketch: Sketch,
    bodies: BodyRows,
    times: Floats,
    q: Floats,
    v: Floats,
    duration: float,
    marks: tuple[Mark, ...] = (),
) -> Scene:
    """Move a sketch by the coordinates and rates of a run, (n, nq) each."""
    motion = _Motion(bodies, sketch, q, v)
    points, speeds = motion.follow(sketch.owners, sketch.places)
    sketch, far = _stretch_guides(sketch, points)
    if far:
        points, speeds = motion.follow(sketch.owners, sketch.places)
    return Scene(sketch, times, points, speeds, duration, marks=marks)


class _Motion:
    """Computes the motion of points of bodies."""

    def __init__(self, bodies: BodyRows, sketch: Sketch, q: Floats, v: Floats) -> None:
        self.starts = np.zeros((len(sketch.centers), 3))
        self.starts[:, : sketch.dimension] = np.array(sketch.centers)
        self.centers = self.starts + read_rows(bodies.centers, q)
        self.center_speeds = read_rows(bodies.centers, v)
        vectors = bodies.starts + read_rows(bodies.vectors, q)
        rates = read_rows(bodies.vectors, v)
        n, nb = len(q), len(bodies.names)
        # a, b, a x b of each body, and their rates
        self.frames, self.rates = np.zeros((n, nb, 3, 3)), np.zeros((n, nb, 3, 3))
        self.frame_starts = np.zeros((nb, 3, 3))
        chosen: dict[int, list[int]] = {}
        for k, owner in enumerate(bodies.owner):
            mine = chosen.setdefault(int(owner), [])
            if len(mine) < 2 and all(
                np.linalg.norm(np.cross(bodies.starts[k], bodies.starts[j])) > 1e-3 for j in mine
            ):
                mine.append(k)
        for i in range(2):
            at = np.array([b for b, ks in chosen.items() if len(ks) > i], dtype=int)
            ks = np.array([ks[i] for ks in chosen.values() if len(ks) > i], dtype=int)
            self.frames[:, at, i], self.rates[:, at, i] = vectors[:, ks], rates[:, ks]
            self.frame_starts[at, i] = bodies.starts[ks]
        (a, b), (a1, b1) = (np.moveaxis(x[:, :, :2], 2, 0) for x in (self.frames, self.rates))
        self.frames[:, :, 2] = np.cross(a, b)
        self.rates[:, :, 2] = np.cross(a1, b) + np.cross(a, b1)
        self.frame_starts[:, 2] = np.cross(self.frame_starts[:, 0], self.frame_starts[:, 1])

    def follow(
        self, owners: tuple[int, ...], places: tuple[tuple[float, ...], ...]
    ) -> tuple[Floats, Floats]:
        """Positions and velocities of points of bodies, (n, points, dimension)."""
        owner = np.array(owners, dtype=int)
        flat = np.array(places, dtype=float).reshape(len(owner), -1)
        dimension = flat.shape[1] if len(owner) else 3
        start = np.zeros((len(owner), 3))
        start[:, :dimension] = flat
        n = len(self.centers)
        points = np.repeat(start[None], n, axis=0)
        speeds = np.zeros_like(points)
        free = owner != GROUND
        bodies = owner[free]
        if len(bodies):
            arms = start[free] - self.starts[bodies]
            # a thin rod on ball joints has one vector: the point lies along it, found by least squares
            inverse = np.linalg.pinv(np.swapaxes(self.frame_starts[bodies], 1, 2), rcond=1e-9)
            parts = np.einsum("pij,pj->pi", inverse, arms)
            points[:, free] = self.centers[:, bodies] + np.einsum(
                "pi,tpij->tpj", parts, self.frames[:, bodies]
            )
            speeds[:, free] = self.center_speeds[:, bodies] + np.einsum(
                "pi,tpij->tpj", parts, self.rates[:, bodies]
            )
        return points[:, :, :dimension], speeds[:, :, :dimension]


def _stretch_guides(sketch: Sketch, points: Floats) -> tuple[Sketch, bool]:
    """Guides as long as the travel of their sliders."""
    places = list(sketch.places)
    changed = False
    for sign in sketch.signs:
        if not sign.slides or not len(points):
            continue
        low, high = sign.lines[0]
        middle = np.array(places[sign.points[0]])
        axis = np.array(places[high]) - middle
        axis /= np.linalg.norm(axis)
        # along the guide itself, which may move
        line = points[:, high] - points[:, low]
        line /= np.linalg.norm(line, axis=1)[:, None]
        travel = np.einsum("ti,ti->t", points[:, sign.points[1]] - points[:, sign.points[0]], line)
        margin = GUIDE * sketch.size
        places[low] = tuple(middle + (min(travel.min(), 0.0) - margin) * axis)
        places[high] = tuple(middle + (max(travel.max(), 0.0) + margin) * axis)
        changed = True
    return replace(sketch, places=tuple(places)), changed


@dataclass(frozen=True)
class Camera:
    """The viewpoint of a spatial mechanism: rotated about the vertical, then tilted [degrees].

    The projection is orthographic, with gravity pointing down.
    """

    turn: float = 35.0
    tilt: float = 20.0

    def rows(self, up: Floats) -> Floats:
        """Directions right, up and towards the viewer, (3, 3), for a vertical `up`."""
        a, b, _ = frame_about(up).T
        s, t = np.radians(self.turn), np.radians(self.tilt)
        right = np.cos(s) * a + np.sin(s) * b
        back = -np.sin(s) * a + np.cos(s) * b
        eye = np.sin(t) * up - np.cos(t) * back
        return np.array([right, np.cross(eye, right), eye])

    def project(self, points: Floats, up: tuple[float, ...]) -> Floats:
        """Right, up and depth (larger is nearer) of points (..., dimension)."""
        if points.shape[-1] == 2:
            return np.concatenate([points, np.zeros((*points.shape[:-1], 1))], axis=-1)
        return points @ self.rows(np.array(up)).T


def scene_arrays(scene: Scene) -> dict[str, NDArray[Any]]:
    """A scene as plain arrays for a file: single precision is more than a picture needs."""
    words = {
        "sketch": scene.sketch.as_dict(),
        "duration": scene.duration,
        "observed": scene.observed,
        "observed_name": scene.observed_name,
        "marks": [vars(m) for m in scene.marks],
    }
    moving = scene.moving
    return {
        "scene_version": np.array(VERSION),
        "scene_words": np.frombuffer(json.dumps(words).encode(), dtype=np.uint8),
        "scene_times": scene.times,
        "scene_points": scene.points[:, moving].astype(np.float32),
        "scene_speeds": scene.speeds[:, moving].astype(np.float32),
    }


def load_scene(arrays: Mapping[str, NDArray[Any]]) -> Scene:
    """A scene from its arrays; raises ValueError with a sentence if they are inconsistent."""
    try:
        version = int(arrays["scene_version"])
        if version != VERSION:
            raise ValueError(f"its scene has version {version}, this program reads {VERSION}")
        words = json.loads(bytes(arrays["scene_words"]).decode())
        sketch = Sketch.from_dict(words["sketch"])
        times = arrays["scene_times"]
        if times.dtype != np.float64 or times.ndim != 1 or not len(times):
            raise ValueError(f"scene_times is {times.dtype} of shape {times.shape}, not some times")
        start = np.array(sketch.places, dtype=float).reshape(-1, sketch.dimension)
        points = np.repeat(start[None], len(times), axis=0)
        speeds = np.zeros_like(points)
        moving = np.array(sketch.owners, dtype=int) != GROUND
        wanted = (len(times), int(moving.sum()), sketch.dimension)
        for name in ("scene_points", "scene_speeds"):
            if arrays[name].shape != wanted or arrays[name].dtype != np.float32:
                found = f"{arrays[name].dtype} of shape {arrays[name].shape}"
                raise ValueError(f"{name} is {found}, not float32 of shape {wanted}")
        points[:, moving] = arrays["scene_points"]
        speeds[:, moving] = arrays["scene_speeds"]
        observed = None if words["observed"] is None else int(words["observed"])
        if observed is not None and not 0 <= observed < len(start):
            raise ValueError(f"point {observed} of {len(start)} is observed")
        marks = tuple(
            Mark(float(m["time"]), str(m["word"]), str(m["sentence"])) for m in words["marks"]
        )
        duration = float(words["duration"])
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"its scene lacks {error}") from error
    return Scene(
        sketch, times, points, speeds, duration, observed, str(words["observed_name"]), marks
    )
