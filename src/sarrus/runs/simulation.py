"""The folder of a user's own simulation: columns.csv, run.json, and the model as it was simulated."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..export import point_columns, save_csv, without_units
from ..mechanism import Mechanism
from ..mechanism.files import to_data, to_text
from ..result import Result
from .columns import LEVELS, Figure, Panel, motion_columns, quality, unit_of
from .folder import describe_result, describe_verdict, save_motion, save_record
from .provenance import describe_origin

# panels of the figure of places
MOST_POINTS = 6


def choose_points(mechanism: Mechanism, result: Result, wanted: Iterable[str]) -> list[str]:
    """The points whose columns are written: those wanted, else all joints and named points."""
    chosen = list(dict.fromkeys(wanted))
    for name in chosen:
        result.position(name)
    named = [joint.name for joint in mechanism.joints] + [p.name for p in mechanism.markers]
    return chosen or [name for name in named if name in result.points]


def save_simulation(
    folder: Path, mechanism: Mechanism, result: Result, points: list[str], source: str, command: str
) -> dict[str, Any]:
    """Write columns.csv, model.yaml, run.json and result.h5; returns what run.json holds."""
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
    _save_pictures(folder, result, points)
    return save_record(folder, record)


def _save_pictures(folder: Path, result: Result, points: list[str]) -> None:
    """Write result.h5: a figure of the places of the first points, one of energy and violations."""
    moving = [p for p in points if np.ptp(result.position(p), axis=0).max(initial=0.0) > 0]
    columns = quality(result)
    places = []
    for point in moving[:MOST_POINTS]:
        named = without_units(point_columns(result, [point], ["position"]))
        columns |= named
        places.append(Panel(f"{point} [m]", tuple(named)))
    levels = tuple(Panel(f"{level} [{unit_of(level)}]", (level,), log=True) for level in LEVELS)
    energy = (Panel("energy [J]", ("energy",)), *levels)
    figures = [Figure("places", "Places", tuple(places))] if places else []
    figures.append(Figure("energy-and-violations", "Energy and constraint violation", energy))
    save_motion(folder, result, columns, {}, tuple(figures), moving[0] if moving else "")
