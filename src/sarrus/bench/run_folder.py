"""What a run leaves for later pictures: result.npz beside run.json, written and read back.

result.npz holds plain arrays only, no pickles: the columns of the observed point, energy and violations,
the exact ones where the problem has them, the steps of the method, and the scene.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Floats
from ..problems import Figure, Panel
from ..result import Result
from ..scene import Scene, load_scene, scene_arrays

VERSION = 1
RECORD, DATA = "run.json", "result.npz"


class RunFolderError(ValueError):
    """A folder that holds no run, or one that cannot be read; the message says which file and why."""


@dataclass(frozen=True, eq=False)
class Run:
    """A run read back from its folder.

    record: what run.json holds; columns and exact: by name, over columns["t"]; figures: which columns are
    drawn together; steps: times, orders and pivots of the method's steps.
    """

    folder: Path
    record: dict[str, Any]
    columns: dict[str, Floats]
    exact: dict[str, Floats]
    figures: tuple[Figure, ...]
    steps: dict[str, Floats]
    scene: Scene

    @property
    def id(self) -> str:
        """What was simulated, in a word: a problem's id, or the name of a model."""
        record = self.record
        return str(record["problem"]["id"] if "problem" in record else record["model"]["name"])

    @property
    def title(self) -> str:
        """The same as a headline."""
        return str(self.record["problem"]["title"]) if "problem" in self.record else self.id

    @property
    def seconds(self) -> float:
        """CPU time of the solve [s]."""
        timings = self.record["timings"]
        return float(timings["solve"] if "solve" in timings else timings["solve_cpu"])

    @property
    def times(self) -> Floats:
        """Times of the outputs [s]."""
        return self.columns["t"]


def save_data(
    folder: Path,
    result: Result,
    columns: dict[str, Floats],
    exact: dict[str, Floats],
    figures: tuple[Figure, ...],
    observed: str,
) -> None:
    """Write result.npz."""
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
    np.savez_compressed(folder / DATA, **arrays)  # type: ignore[arg-type]


def load_run(folder: Path) -> Run:
    """Read a run back; raises RunFolderError with a sentence if that cannot be done."""
    record = _load_record(folder / RECORD)
    path = folder / DATA
    try:
        with np.load(path, allow_pickle=False) as arrays:
            version = int(arrays["version"])
            if version != VERSION:
                raise ValueError(f"it has version {version}, this program reads {VERSION}")
            words = json.loads(bytes(arrays["words"]).decode())
            figures = tuple(
                Figure(
                    f["name"],
                    f["title"],
                    tuple(
                        Panel(p["label"], tuple(p["columns"]), bool(p["log"])) for p in f["panels"]
                    ),
                    f["until"],
                )
                for f in words["figures"]
            )
            return Run(
                folder,
                record,
                _prefixed(arrays, "column_"),
                _prefixed(arrays, "exact_"),
                figures,
                _prefixed(arrays, "step_"),
                load_scene(arrays),
            )
    except FileNotFoundError:
        raise RunFolderError(
            f"{path} is missing; repeat the run: {RECORD} alone does not tell how it moved"
        ) from None
    except (ValueError, KeyError, TypeError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise RunFolderError(f"{path} cannot be read ({error}); repeat the run") from error


def find_runs(folder: Path) -> list[Path]:
    """The folder itself if it holds a run, else the folders of runs right below it."""
    if not folder.is_dir():
        raise RunFolderError(f"there is no folder {folder}")
    if (folder / RECORD).is_file():
        return [folder]
    return sorted(path.parent for path in folder.glob(f"*/{RECORD}"))


def _load_record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunFolderError(
            f"{path.parent} holds no run: there is no {path.name}; make one with `sarrus run`"
        ) from None
    except (OSError, ValueError) as error:
        raise RunFolderError(f"{path} cannot be read ({error}); repeat the run") from error
    if not isinstance(record, dict) or record.get("schema") != 1:
        raise RunFolderError(f"{path} is not a record of a run that this program knows")
    missing = [key for key in _NEEDED if key not in record]
    if "model" not in record:
        missing += [key for key in ("problem", "judgement") if key not in record]
    if missing:
        raise RunFolderError(f"{path} lacks {', '.join(missing)}; repeat the run")
    return record


_NEEDED = (
    *(
        "method",
        "tolerance",
        "step",
        "duration",
        "outputs",
        "status",
        "message",
        "notes",
        "verdict",
    ),
    *("counters", "timings", "machine", "versions", "command", "date"),
)


def _prefixed(arrays: Any, prefix: str) -> dict[str, Floats]:
    return {
        name.removeprefix(prefix): np.asarray(arrays[name], dtype=float)
        for name in arrays.files
        if name.startswith(prefix)
    }
