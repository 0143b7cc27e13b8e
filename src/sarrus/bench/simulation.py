"""The folder of a user's own simulation: columns.csv, run.json, and the model as it was simulated."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Floats
from ..export import save_csv
from ..mechanism import Mechanism
from ..mechanism.files import to_data, to_text
from ..problems import Figure, Panel
from ..result import LEVELS, Result
from .columns import UNITS
from .run_folder import save_data
from .store import describe_origin, describe_result, describe_verdict, finite

# panels of the figure of places
MOST_POINTS = 6


def choose_points(mechanism: Mechanism, result: Result, wanted: Iterable[str]) -> list[str]:
    """The points whose columns are written: those wanted, else all joints and named points."""
    chosen = list(dict.fromkeys(wanted))
    for name in chosen:
        result.model.point_rows(name)
    named = [joint.name for joint in mechanism.joints] + [p.name for p in mechanism.markers]
    return chosen or [name for name in named if name in result.points]


def motion_columns(result: Result, points: Iterable[str]) -> dict[str, Floats]:
    """Columns by name with unit: time, place and velocity of points, readings, energy, violations."""
    columns = {"t [s]": result.times}
    for point in points:
        position, velocity = result.position(point), result.velocity(point)
        for i, letter in enumerate("xyz"[: position.shape[1]]):
            columns[f"{point}.{letter} [m]"] = position[:, i]
        for i, letter in enumerate("xyz"[: position.shape[1]]):
            columns[f"{point}.v{letter} [m/s]"] = velocity[:, i]
    columns |= result.readings()
    columns["energy [J]"] = result.energy_balance
    for level in LEVELS:
        columns[f"violation of {level} [{UNITS[level]}]"] = result.violation(level)
    return columns


def save_simulation(
    folder: Path, mechanism: Mechanism, result: Result, points: list[str], source: str, command: str
) -> dict[str, Any]:
    """Write columns.csv, model.yaml, run.json and result.npz; returns what run.json holds."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = motion_columns(result, points)
    save_csv(folder / "columns.csv", columns)
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
        **describe_verdict(result),
        **describe_origin(command),
    }
    record = dict(finite(record))
    (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    _save_pictures(folder, result, points)
    return record


def _save_pictures(folder: Path, result: Result, points: list[str]) -> None:
    """Write result.npz: a figure of the places of the first points, one of energy and violations."""
    columns = {"t": result.times, "energy": result.energy_balance}
    columns |= {level: result.violation(level) for level in LEVELS}
    places = []
    moving = [p for p in points if np.ptp(result.position(p), axis=0).max(initial=0.0) > 0]
    for point in moving[:MOST_POINTS]:
        named = {f"{point}.{c}": x for c, x in zip("xyz", result.position(point).T, strict=False)}
        columns |= named
        places.append(Panel(f"{point} [m]", tuple(named)))
    levels = tuple(Panel(f"{level} [{UNITS[level]}]", (level,), log=True) for level in LEVELS)
    energy = (Panel("energy [J]", ("energy",)), *levels)
    figures = [Figure("places", "Places", tuple(places))] if places else []
    figures.append(Figure("energy-and-violations", "Energy and constraint violation", energy))
    save_data(folder, result, columns, {}, tuple(figures), moving[0] if moving else "")
