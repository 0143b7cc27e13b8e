"""Columns of a run's files by their short names, their units, and which are drawn together.

The short names are those of a source's result file: t, x y z and vx vy vz of the observed point, angle and rate,
energy (its drift from the start), and the violation of each level ("position" ...). With several points they are
"B0.x", with units "B0.x [m]" (`export.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..export import Columns, point_columns, without_units
from ..quantity_units import LEVELS
from ..result import Result

__all__ = [
    "LEVELS",
    "Columns",
    "Figure",
    "Panel",
    "observed_columns",
    "quality",
    "trajectory_columns",
    "unit_of",
]

UNITS = {"t": "s", "energy": "J", "angle": "rad", "rate": "rad/s"}
UNITS |= {level: unit for level, (_, unit) in LEVELS.items()}
UNITS |= {letter + axis: unit for letter, unit in LEVELS.values() for axis in "xyz"}
# Quantities of a point in files.
KEPT = ("position", "velocity")


@dataclass(frozen=True)
class Panel:
    """One set of axes: which columns are drawn over time, and how."""

    label: str
    columns: tuple[str, ...]
    log: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure of a problem's source or of a run; until: last time drawn [s], None for all."""

    name: str
    title: str
    panels: tuple[Panel, ...]
    until: float | None = None


def unit_of(column: str) -> str:
    """Return the unit of a column by its short name."""
    return UNITS[column]


def quality(result: Result) -> Columns:
    """Return time, energy and violations, by short names."""
    columns = {"t": result.times, "energy": result.energy_balance}
    return columns | {level: result.violation(level) for level in LEVELS}


def observed_columns(result: Result, point: str) -> Columns:
    """Return time, energy and violations, and position and velocity of one point."""
    moving = without_units(point_columns(result, [point], KEPT))
    return quality(result) | {name.rpartition(".")[2]: x for name, x in moving.items()}


def trajectory_columns(result: Result, points: Iterable[str]) -> Columns:
    """Return time, positions and velocities of points and the energy drift, without units."""
    moving = without_units(point_columns(result, points, KEPT))
    return {"t": result.times, **moving, "energy drift": result.energy_balance}
