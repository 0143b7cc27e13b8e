"""The folder of a run, written and read back: run.json, and result.h5 with everything else.

result.h5 contains the result as `Result.save` writes it, plus the data for pictures, ready to be drawn: columns
of the observed point, energy and violations, the exact columns where the problem has them, the steps of the
method, and the scene. It contains plain arrays only, no pickles.

The simulation of a user's model also has columns.csv and the simulated model.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..disk import write_file
from ..export import point_columns, save_csv, without_units
from ..mechanism import Mechanism
from ..mechanism.files import to_data, to_text
from ..names import shown
from ..outputs import is_finished, new_outputs
from ..result import Result, load_result, save_result
from ..scene import Scene, load_scene, scene_arrays
from ..storage import SavedResultError, load_arrays
from .columns import LEVELS, Columns, Figure, Panel, quality, unit_of
from .provenance import describe_origin
from .run_records import InvalidRecordError, read_run

VERSION = 1
RECORD, DATA = "run.json", "result.h5"
# Files of a simulation of a user's model.
COLUMNS, MODEL = "columns.csv", "model.yaml"
PICTURES = "pictures"
# Largest number of panels in the figure of positions.
MOST_POINTS = 6


class RunFolderError(ValueError):
    """A folder without a run, or with an unreadable one; the message names the file and the reason."""


@dataclass(frozen=True, eq=False)
class RunFolder:
    """A run read back from its folder.

    record: content of run.json; columns and exact: by name, over columns["t"]; figures: which columns are
    drawn together; steps: times, orders and pivots of the method's steps; verify: compare the digest of the
    result's file when it is read.
    """

    folder: Path
    record: dict[str, Any]
    columns: Columns
    exact: Columns
    figures: tuple[Figure, ...]
    steps: Columns
    scene: Scene
    verify: bool = True

    @cached_property
    def result(self) -> Result:
        """The complete result, read on first access."""
        path = self.folder / DATA
        result = load_result(path, verify=self.verify)
        if len(result.times) != len(self.times):
            raise RunFolderError(
                f"{path} holds {len(result.times)} outputs, and {len(self.times)} of its columns; repeat the run"
            )
        return result

    @property
    def id(self) -> str:
        """Short name of what was simulated: a problem's id, or the name of a model."""
        record = self.record
        return str(record["problem"]["id"] if "problem" in record else record["model"]["name"])

    @property
    def title(self) -> str:
        """Title of what was simulated."""
        return str(self.record["problem"]["title"]) if "problem" in self.record else self.id

    @property
    def seconds(self) -> float:
        """CPU time of the solve and of recording all outputs [s]."""
        timings = self.record["timings"]
        if "cpu" in timings:
            return float(timings["cpu"])
        return float(timings["solve_cpu"] + timings["record_cpu"])

    @property
    def times(self) -> Floats:
        """Times of the outputs [s]."""
        return self.columns["t"]


def save_record(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    """Write run.json; returns its content."""
    kept = dict(finite(record))
    write_file(folder / RECORD, json.dumps(kept, indent=2) + "\n")
    return kept


def describe_result(result: Result) -> dict[str, Any]:
    """Return the settings of a run and how it ended."""
    return {
        "method": result.method,
        "tolerance": result.tolerance,
        "step": result.step,
        "method_options": result.options,
        "duration": result.duration,
        "outputs": len(result.times),
        "status": result.status,
        "message": result.message,
        "notes": result.notes,
    }


def describe_verdict(result: Result) -> dict[str, Any]:
    """Return rank and mobility in words and numbers, and the crossings that were passed."""
    verdict = result.verdict
    # Crossings are listed separately.
    text = [*str(verdict.inspection).splitlines(), verdict.sentences[0]]
    return {"verdict": {**verdict.as_dict(), "text": text}}


def finite(value: Any) -> Any:
    """Replace infinite numbers, which JSON does not support, by null."""
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def save_motion(
    folder: Path,
    result: Result,
    columns: Columns,
    exact: Columns,
    figures: tuple[Figure, ...],
    observed: str,
) -> None:
    """Write result.h5: the result, and the data for pictures."""
    words = {"figures": [asdict(f) for f in figures]}
    arrays = {
        "version": np.array(VERSION),
        "words": np.frombuffer(json.dumps(words).encode(), dtype=np.uint8),
        **{f"column_{name}": values for name, values in columns.items()},
        **{f"exact_{name}": values for name, values in exact.items()},
        "step_times": result.step_times,
        "step_orders": result.step_orders,
        "step_pivots": result.step_pivots,
        **scene_arrays(result.scene.observing(observed)),
    }
    save_result(folder / DATA, result, {PICTURES: arrays})


def load_run(folder: Path, *, verify: bool = True) -> RunFolder:
    """Read a run back; raises RunFolderError with a message if that fails.

    verify: as in `load_result`.
    """
    record = _load_record(folder / RECORD)
    path = folder / DATA
    if not path.exists():
        raise RunFolderError(
            f"{path} is missing; repeat the run: {RECORD} alone does not contain the motion"
        )
    try:
        run = _read_motion(folder, record, load_arrays(path, PICTURES, verify))
        return replace(run, verify=verify)
    except SavedResultError as error:
        raise RunFolderError(f"{error}; repeat the run") from error
    except (ValueError, KeyError, TypeError, OSError, RuntimeError, RecursionError) as error:
        raise RunFolderError(f"{path} cannot be read ({error}); repeat the run") from error


def find_runs(folder: Path) -> list[Path]:
    """Return the folder itself if it contains a run, otherwise the run folders directly below it."""
    if not folder.is_dir():
        raise RunFolderError(f"there is no folder {folder}")
    if (folder / RECORD).is_file():
        return [folder]
    return sorted(path.parent for path in filter(is_finished, folder.glob(f"*/{RECORD}")))


def _load_record(path: Path) -> dict[str, Any]:
    # pydantic, which is not needed for writing.
    try:
        return read_run(path)
    except FileNotFoundError:
        raise RunFolderError(
            f"{path.parent} holds no run: there is no {path.name}; make one with `sarrus run`"
        ) from None
    except (OSError, InvalidRecordError) as error:
        raise RunFolderError(f"{path} cannot be read ({error}); repeat the run") from error


def _read_motion(
    folder: Path, record: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> RunFolder:
    """Read the data that `save_motion` wrote."""
    version = int(arrays["version"])
    if version != VERSION:
        raise ValueError(f"it has version {version}, this program reads {VERSION}")
    words = json.loads(bytes(arrays["words"]).decode())
    columns, exact, steps = (_prefixed(arrays, kind) for kind in ("column_", "exact_", "step_"))
    figures = tuple(_read_figure(figure) for figure in words["figures"])
    for name, values in (columns | {f"exact {k}": x for k, x in exact.items()}).items():
        _check_array(name, values, "float64", int(record["outputs"]))
    for name, dtype in (("times", "float64"), ("orders", "int64"), ("pivots", "float64")):
        # Methods without pivots store none.
        count = len(steps["times"]) if len(steps[name]) or name != "pivots" else 0
        _check_array(f"step {name}", steps[name], dtype, count)
    missing = {c for f in figures for p in f.panels for c in p.columns} | {"t"} | set(exact)
    if missing := missing - set(columns):
        raise ValueError(f"it lacks the column '{shown(min(missing))}'")
    return RunFolder(folder, record, columns, exact, figures, steps, load_scene(arrays))


def _check_array(name: str, values: NDArray[Any], dtype: str, count: int) -> None:
    if values.dtype != dtype or values.shape != (count,):
        raise ValueError(
            f"'{shown(name)}' is an array of {values.dtype} of shape {values.shape}, not of {dtype} of shape "
            f"({count},)"
        )


def _read_figure(words: dict[str, Any]) -> Figure:
    panels = (Panel(p["label"], tuple(p["columns"]), bool(p["log"])) for p in words["panels"])
    return Figure(words["name"], words["title"], tuple(panels), words["until"])


def _prefixed(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {
        name.removeprefix(prefix): values
        for name, values in arrays.items()
        if name.startswith(prefix)
    }


def choose_points(mechanism: Mechanism, result: Result, wanted: Iterable[str]) -> list[str]:
    """Return the names whose columns are written: the requested ones, otherwise all joints and named points."""
    chosen = list(dict.fromkeys(wanted))
    result.check_names(chosen)
    named = [joint.name for joint in mechanism.joints] + [p.name for p in mechanism.markers]
    return chosen or [name for name in named if name in result.points]


def save_simulation(
    folder: Path,
    mechanism: Mechanism,
    result: Result,
    points: list[str],
    source: str,
    command: str,
    reactions: bool = False,
) -> dict[str, Any]:
    """Write columns.csv, model.yaml, run.json and result.h5; returns the content of run.json."""
    # With all points, also write springs, torsions and drives, as in Python.
    every = points == choose_points(mechanism, result, ())
    columns = result.columns(*([] if every else points), reactions=reactions)
    data = to_data(mechanism)
    record = {
        "schema": 1,
        "model": {
            "file": source,
            "name": mechanism.name,
            "format": data["sarrus"],
            "dimension": mechanism.dimension,
            "bodies": len(mechanism.bodies),
            "joints": len(mechanism.joints),
        },
        "points": points,
        "columns": list(columns),
        **describe_result(result),
        "energy_drift": result.energy_drift,
        "violations": {level: float(result.violation(level).max(initial=0.0)) for level in LEVELS},
        "counters": result.counters,
        "timings": result.timings,
        **describe_verdict(result),
        **describe_origin(command),
    }
    with new_outputs(folder) as stage:
        save_csv(stage / COLUMNS, columns)
        write_file(stage / MODEL, to_text(data))
        _save_pictures(stage, result, points)
        return save_record(stage, record)


def _save_pictures(folder: Path, result: Result, points: list[str]) -> None:
    """Write result.h5 with a figure of the positions of the first points and one of energy and violations."""
    moving = [p for p in result.moving_points() if p in points]
    columns = quality(result)
    places = []
    for point in moving[:MOST_POINTS]:
        named = without_units(point_columns(result, [point], ["position"]))
        columns |= named
        places.append(Panel(f"{point} [m]", tuple(named)))
    levels = tuple(Panel(f"{level} [{unit_of(level)}]", (level,), log=True) for level in LEVELS)
    energy = (Panel("energy drift [J]", ("energy",)), *levels)
    figures = [Figure("places", "Places", tuple(places))] if places else []
    figures.append(Figure("energy-and-violations", "Energy and constraint violation", energy))
    save_motion(folder, result, columns, {}, tuple(figures), moving[0] if moving else "")
