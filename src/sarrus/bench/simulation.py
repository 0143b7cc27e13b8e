"""The folder of a user's own simulation: columns.csv, run.json, and the model as it was simulated."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mechanism import Mechanism
from ..mechanism.files import to_data, to_text
from ..result import LEVELS, Result
from .columns import UNITS
from .store import describe_origin, describe_result, finite

Floats = NDArray[np.float64]


def choose_points(mechanism: Mechanism, result: Result, wanted: Iterable[str]) -> list[str]:
    """The points whose columns are written: those wanted, else all joints and named points."""
    chosen = list(dict.fromkeys(wanted))
    for name in chosen:
        try:
            result.reading.rows(name)
        except KeyError as error:
            # its text without the quotes of a KeyError
            raise ValueError(error.args[0]) from None
    named = [joint.name for joint in mechanism.joints] + [p.name for p in mechanism.markers]
    return chosen or [name for name in named if name in result.reading.points]


def motion_columns(result: Result, points: Iterable[str]) -> dict[str, Floats]:
    """Columns by name with unit: time, place and velocity of each point, energy, violations."""
    columns = {"t [s]": result.times}
    for point in points:
        position, velocity = result.position(point), result.velocity(point)
        for i, letter in enumerate("xyz"[: position.shape[1]]):
            columns[f"{point}.{letter} [m]"] = position[:, i]
        for i, letter in enumerate("xyz"[: position.shape[1]]):
            columns[f"{point}.v{letter} [m/s]"] = velocity[:, i]
    columns["energy [J]"] = result.energy
    for level in LEVELS:
        columns[f"violation of {level} [{UNITS[level]}]"] = result.violation(level)
    return columns


def save_simulation(
    folder: Path, mechanism: Mechanism, result: Result, points: list[str], source: str, command: str
) -> dict[str, Any]:
    """Write columns.csv, model.yaml and run.json; returns what run.json holds."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = motion_columns(result, points)
    with open(folder / "columns.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(columns)
        # 17 digits are read back to the last bit
        np.savetxt(file, np.column_stack(list(columns.values())), fmt="%.17g", delimiter=",")
    data = to_data(mechanism)
    (folder / "model.yaml").write_text(to_text(data), encoding="utf-8")
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
        **describe_origin(command),
    }
    record = dict(finite(record))
    (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return record
