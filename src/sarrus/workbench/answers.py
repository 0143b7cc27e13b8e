"""The answers of the workbench: motion, plots and messages, and the configuration while a mechanism is dragged.

The server keeps no state between requests except the last results: a request contains the whole document, that is,
the data of the file and the values of the sliders.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..arrays import Floats
from ..assembly import assemble
from ..assembly.dragging import Hand
from ..inspect import inspect
from ..kinematics.configuration import Pose, read_poses
from ..mechanism import Mechanism, MechanismError, check_mechanism, find_remarks, from_data, to_data
from ..mechanism.elements import GROUND, ModelFileError
from ..report.curves import read_curves
from ..report.design_plots import design_plots, find_design
from ..report.plots import PlotFrame, curve_plots
from ..result import Result
from ..scene import CROSSING, Scene, Sign, Sketch, make_scene, make_sketch
from ..scene.branch_ghosts import make_ghosts
from ..scene.player import scene_payload
from ..simulate import simulate
from .edit import edit
from .parameters import Record, find_parameters, with_values

SOURCE = "model"
# Default duration, if neither the file nor the page sets one [s].
DURATION = 10.0
# outputs of a run, numbers of its picture, steps it may make: a page that is waited for
OUTPUTS, MOST_NUMBERS, MOST_STEPS = 500, 120_000, 50_000
# outputs at least, and outputs times parts at most: beyond, reading them takes longer than one waits
LEAST_OUTPUTS, MOST_READ = 100, 30_000
# Number of documents whose mechanism is cached.
MOST_KEPT = 4


@dataclass
class Desk:
    """Answers requests about documents; the last results are cached."""

    kept: OrderedDict[str, _Subject] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def subject(self, question: Record) -> _Subject:
        """Return the mechanism of a request's document."""
        data, values = question.get("data"), question.get("values") or {}
        if not isinstance(data, dict) or not isinstance(values, dict):
            raise MechanismError("a question needs the data of a model file and values by path")
        key = json.dumps([data, values])
        with self.lock:
            if key not in self.kept:
                self.kept[key] = _Subject(with_values(data, values))
                while len(self.kept) > MOST_KEPT:
                    self.kept.popitem(last=False)
            self.kept.move_to_end(key)
            return self.kept[key]

    def solve(self, question: Record) -> Record:
        """Return motion, plots and messages; full: also reactions, crossings and the verdict (slower)."""
        out: Record = {"errors": [], "notes": [], "picture": None, "figures": []}
        if question.get("parameters"):
            out["parameters"] = _parameters(question)
        try:
            if is_empty(question.get("data")):
                return out | {
                    "picture": scene_payload(_empty_plane(question["data"])),
                    "empty": True,
                }
            subject = self.subject(question)
            out["picture"] = scene_payload(subject.still())
            out["mobility"] = mobility(subject.mechanism) if question.get("full") else None
            result = subject.run(_seconds(question))
        except (MechanismError, ValueError) as error:
            return out | {"errors": sentences_of(error)}
        return out | _answer(result, bool(question.get("full")))

    def design(self, question: Record) -> Record:
        """Return the design quantities of the document, as sentences and plots."""
        subject = self.subject(question)
        result = subject.run(_seconds(question))
        found = find_design(result.mechanism, result.duration)
        if isinstance(found, str):
            return {"lines": [found], "figures": []}
        return {
            "lines": str(found).splitlines(),
            "figures": [{**plot.payload(), "title": plot.title} for plot in design_plots(found)],
        }

    def pull(self, question: Record) -> Record:
        """Return all points when a point of a body is dragged to a location, and the pose for the next request."""
        subject = self.subject(question)
        hand, pose = subject.hand, subject.pose(question)
        body, grabbed, to = (question.get(key) for key in ("body", "at", "to"))
        dimension = subject.mechanism.dimension
        at = hand.unplace(pose, str(body), _place(grabbed, dimension))
        pose = hand.pull(pose, str(body), at, _place(to, dimension))
        return {
            "pose": _pose_numbers(pose),
            "points": _moved_points(subject.sketch, hand, pose).ravel().tolist(),
            "at": hand.place(pose, str(body), at).tolist(),
        }

    def edit(self, question: Record) -> Record:
        """Return the document after a drawn change; slider values are written into it."""
        data, values = question["data"], question.get("values") or {}
        if values:
            data = with_values(data, values)
            mechanism = from_data(data, SOURCE, check=False)
            if mechanism.assemble:
                closed = assemble(mechanism).mechanism
                closed.assemble = False
                data = to_data(closed)
        return {"data": edit(data, question.get("change") or {})}

    def from_here(self, question: Record) -> Record:
        """Return the document with the dragged configuration as the initial one, ready to be simulated."""
        subject = self.subject(question)
        moved, said = subject.hand.written(subject.pose(question))
        moved.assemble = False
        return {"data": to_data(moved), "notes": said}


class _Subject:
    """A mechanism of a document, with cached results."""

    def __init__(self, data: Record) -> None:
        self.mechanism = from_data(data, SOURCE)
        self.known: dict[float, Result] = {}
        self._hand: Hand | None = None

    @property
    def hand(self) -> Hand:
        """The assembled mechanism, to be dragged."""
        if self._hand is None:
            mechanism = self.mechanism
            check_mechanism(mechanism, closed=not mechanism.assemble)
            self._hand = Hand(assemble(mechanism).mechanism if mechanism.assemble else mechanism)
        return self._hand

    @property
    def sketch(self) -> Sketch:
        """Sketch of the assembled mechanism."""
        return make_sketch(self.hand.mechanism)

    def still(self) -> Scene:
        """The mechanism as written in the document."""
        return _standing(make_sketch(self.mechanism))

    def run(self, seconds: float | None) -> Result:
        """Return its motion."""
        settings: Record = dict(self.mechanism.defaults)
        given = settings.pop("duration", DURATION)
        settings.pop("output_step", None)
        duration = float(given if seconds is None else seconds)
        parts = len(self.mechanism.bodies) + len(self.mechanism.joints) + 1
        outputs = max(LEAST_OUTPUTS, min(OUTPUTS, MOST_READ // parts))
        if duration not in self.known:
            self.known = {
                duration: simulate(
                    self.mechanism,
                    duration,
                    duration / outputs,
                    max_steps=MOST_STEPS,
                    **settings,
                )
            }
        return self.known[duration]

    def pose(self, question: Record) -> Pose:
        """Return its configuration: the last dragged one, else at a time of its motion, else the initial one."""
        bodies = len(self.hand.equations.bodies)
        given = question.get("pose")
        if given is not None:
            numbers = np.asarray(given, float)
            if numbers.shape != (12 * bodies,) or not np.isfinite(numbers).all():
                raise MechanismError(
                    "this pose belongs to another mechanism; let it go and drag again"
                )
            parts = numbers.reshape(bodies, 12)
            pose = Pose(parts[:, :3], parts[:, 3:].reshape(bodies, 3, 3))
            return pose.orthonormal()
        time = float(question.get("time") or 0.0)
        result = next(iter(self.known.values()), None)
        if not time > 0 or result is None or not len(result.times):
            return self.hand.start
        k = int(np.argmin(np.abs(result.times - time)))
        rows = result.model.body_rows
        (pose,) = read_poses(self.hand.equations.centers, rows, result.coordinates[k : k + 1])
        return self.hand.ways.close(pose)


def is_empty(data: Any) -> bool:
    """Return whether the data of a file is planar and has no bodies yet, so that one can draw in it."""
    return isinstance(data, dict) and not data.get("bodies") and len(data.get("gravity") or ()) == 2


def _empty_plane(data: Record) -> Scene:
    """Return a plane that contains only points of the ground."""
    points = {name: entry["at"] for name, entry in (data.get("points") or {}).items()}
    signs = [Sign(name, "point", (GROUND,), (k,), ground=True) for k, name in enumerate(points)]
    places = tuple(tuple(float(x) for x in at) for at in points.values())
    owners = tuple(-1 for _ in places)
    name = str(data.get("name", ""))
    return _standing(Sketch(name, 2, (0.0, 1.0), 0.4, owners, places, (), (), tuple(signs), 9.81))


def _standing(sketch: Sketch) -> Scene:
    """Return a sketch as a scene without motion."""
    points = np.array(sketch.places, float).reshape(1, -1, sketch.dimension)
    return Scene(sketch, np.zeros(1), points, np.zeros_like(points), 0.0)


def sentences_of(error: Exception) -> list[str]:
    """Return the errors, one sentence each, without the name of a nonexistent file."""
    lines = error.problems if isinstance(error, ModelFileError) else str(error).splitlines()
    texts = [line.strip().removeprefix("- ").removeprefix(f"{SOURCE}: ") for line in lines]
    return [line for line in texts if line and not line.endswith(":")] or [type(error).__name__]


def mobility(mechanism: Mechanism) -> list[str]:
    """Return the verdict at the start in sentences, and possible mistakes."""
    found = inspect(mechanism)
    return [*found.sentences, *find_remarks(mechanism)]


def _answer(result: Result, full: bool) -> Record:
    """Return the data of a run for the page."""
    # Crossings have to be located.
    notes = result.notes if full else result.outcome.notes
    out: Record = {
        "status": str(result.status),
        "message": result.message,
        "notes": list(notes),
        "seconds": result.timings.get("solve_wall"),
        "full": full,
    }
    if not len(result.times):
        return out
    scene = _scene(result, full)
    curves = read_curves(result, reactions=full)
    marks = [mark.time for mark in scene.marks if mark.word == CROSSING]
    frame = PlotFrame([], [""], result.duration, scene.end, marks)
    return out | {
        "picture": scene_payload(scene, MOST_NUMBERS) | {"values": curves.payload()},
        "figures": [
            {**plot.payload(), "title": plot.title, "notes": plot.notes}
            for plot in curve_plots(frame, [curves])
        ],
        "tiles": curves.tiles,
        "marks": [mark.sentence for mark in scene.marks],
        "ghosts": _ghosts(result, scene) if full and marks else [],
        "notes": [*notes, *curves.notes],
    }


def _ghosts(result: Result, scene: Scene) -> list[Record]:
    """Return animations of the branches at the first crossing."""
    found = result.crossings[0].branches
    return [ghost.payload() for ghost in make_ghosts(found, scene.sketch)]


def _scene(result: Result, marked: bool) -> Scene:
    """Return the motion with the trace of a point; marked: with crossings, which have to be located."""
    if marked:
        scene = result.scene
    else:
        scene = make_scene(
            make_sketch(result.mechanism),
            result.model.body_rows,
            result.times,
            result.coordinates,
            result.rates,
            result.duration,
        )
    names = result.moving_points()
    return scene.observing(names[0]) if names else scene


def _parameters(question: Record) -> list[Record]:
    """Return the sliders of a document as written, without the slider values."""
    try:
        data = question["data"]
        return [asdict(p) for p in find_parameters(data)]
    except (KeyError, TypeError, AttributeError, ValueError, StopIteration):
        # Errors in the data are reported when a mechanism is built from it.
        return []


def _seconds(question: Record) -> float | None:
    given = question.get("duration")
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not given > 0:
        raise MechanismError(f"a duration of {given!r} s; give a positive number")
    return float(given)


def _place(given: Any, dimension: int) -> Floats:
    place = np.asarray(given, float)
    if place.shape != (dimension,) or not np.isfinite(place).all():
        raise MechanismError(f"a place has {dimension} numbers, not {given!r}")
    return place


def _pose_numbers(pose: Pose) -> list[float]:
    turns = pose.turns.reshape(len(pose.centers), 9)
    return [float(x) for x in np.hstack([pose.centers, turns]).ravel()]


def _moved_points(sketch: Sketch, hand: Hand, pose: Pose) -> Floats:
    """Return the points of a sketch at a pose, (points, dimension)."""
    points = np.zeros((len(sketch.places), 3))
    points[:, : sketch.dimension] = np.array(sketch.places, float).reshape(-1, sketch.dimension)
    owners = np.array(sketch.owners, dtype=int)
    free = owners >= 0
    moving = owners[free]
    arms = points[free] - hand.origin - hand.start.centers[moving]
    points[free] = (
        hand.origin + pose.centers[moving] + np.einsum("pij,pj->pi", pose.turns[moving], arms)
    )
    return points[:, : sketch.dimension]
