"""The columns of a result file: what a problem may ask for, by name."""

from __future__ import annotations

from ..arrays import Floats
from ..problems import Problem
from ..result import LEVELS, Result

UNITS = {"t": "s", "energy": "J", "position": "m", "velocity": "m/s", "acceleration": "m/s2"}
UNITS |= {"angle": "rad", "rate": "rad/s"}


def columns_of(problem: Problem, result: Result) -> dict[str, Floats]:
    """The columns that a problem may ask for, by name."""
    columns = {"t": result.times, "energy": result.energy_balance}
    columns |= {level: result.violation(level) for level in LEVELS}
    position, velocity = result.position(problem.observed), result.velocity(problem.observed)
    for i, letter in enumerate("xyz"[: position.shape[1]]):
        columns[letter] = position[:, i]
        columns["v" + letter] = velocity[:, i]
    if problem.angle is not None:
        read = problem.angle.read(result.position, result.velocity)
        columns["angle"], columns["rate"] = read
    return columns


def unit_of(column: str) -> str:
    """Unit of a column of the result file."""
    return UNITS.get(column, "m/s" if column.startswith("v") else "m")
