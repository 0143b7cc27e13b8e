"""Columns of a result for other programs: their names and units, data frames, CSV, Parquet, HDF5, xarray.

Names include their units ("B0.x [m]"). Libraries are loaded on use; the error for a missing one names the extra
that installs it.
"""

from __future__ import annotations

import csv
import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .arrays import Floats
from .disk import new_file, write_file
from .hdf5 import make_hdf5
from .names import shown
from .quantity_units import LEVELS

if TYPE_CHECKING:
    import h5py

    from .verdict.reactions import Reaction, Reactions

Columns = dict[str, Floats]

TIME = "t [s]"
# rows of a text file written at a time
ROWS_AT_ONCE = 100_000


class Readable(Protocol):
    """The interface from which columns are read: a Result."""

    @property
    def energy_balance(self) -> Floats:
        """Drift of the energy [J]."""

    def position(self, name: str, /) -> Floats:
        """Position of a point over time, shape (n, dimension)."""

    def velocity(self, name: str, /) -> Floats:
        """Velocity of a point over time."""

    def acceleration(self, name: str, /) -> Floats:
        """Acceleration of a point over time."""

    def violation(self, level: str, /) -> Floats:
        """Norm of the constraints at a level."""


def point_columns(
    motion: Readable, names: Iterable[str], levels: Iterable[str] = LEVELS
) -> Columns:
    """Motion of points: "B0.x [m]", "B0.vx [m/s]", ..."""
    levels = tuple(levels)
    columns = {}
    for name in names:
        for level in levels:
            letter, unit = LEVELS[level]
            for axis, values in zip("xyz", getattr(motion, level)(name).T, strict=False):
                columns[f"{name}.{letter}{axis} [{unit}]"] = values
    return columns


def quality_columns(motion: Readable) -> Columns:
    """Accuracy of a motion: drift of the energy and violations of the constraints."""
    columns = {"energy drift [J]": motion.energy_balance}
    for level, (_, unit) in LEVELS.items():
        columns[f"violation of {level} [{unit}]"] = motion.violation(level)
    return columns


def labelled_reactions(reactions: Reactions, joint: str) -> dict[str, Reaction]:
    """The reactions of a joint by their labels.

    "A0" is the reaction on its second body; a pin of three or more bodies has one for each body ("C on crank"),
    since their magnitudes differ.
    """
    if len(reactions.bodies(joint)) < 3:
        return {joint: reactions.of(joint)}
    return {f"{joint} on {r.body}": r for r in reactions.on_each(joint)}


def reaction_columns(label: str, reaction: Reaction) -> Columns:
    """Reactions of a joint: "A0.Fx [N]", "A0.Mz [N m]" if it constrains rotation, "A0.shared [1]".

    The last one is 1 where the reaction is statically indeterminate; unbounded components are NaN.
    """
    columns = {}
    holds = [c.kind for c in reaction.components]
    for letter, unit, values in (("F", "N", reaction.force), ("M", "N m", reaction.moment)):
        axes = "z" if values.ndim == 1 else "xyz"
        if letter == "F" or "about" in holds:
            for axis, column in zip(axes, np.atleast_2d(values.T), strict=False):
                columns[f"{label}.{letter}{axis} [{unit}]"] = column
    unique = np.all([c.unique | c.unbounded for c in reaction.components], axis=0)
    return columns | {f"{label}.shared [1]": (~unique).astype(float)}


def split_unit(column: str) -> tuple[str, str]:
    """Name and unit of a column: "B0.x [m]" is "B0.x" in "m"."""
    name, _, unit = column.rpartition(" [")
    return name, unit.rstrip("]")


def without_units(columns: Columns) -> Columns:
    """The same columns with names without units: "B0.x"."""
    return {split_unit(name)[0]: values for name, values in columns.items()}


def make_dataframe(columns: Columns) -> Any:
    """A pandas data frame, indexed by time."""
    pandas = _load("pandas", "a data frame")
    return pandas.DataFrame(columns).set_index(TIME)


def save_csv(path: str | Path, columns: Columns) -> Path:
    """Write columns as CSV with one line of names."""
    path = Path(path)
    with new_file(path) as half, open(half, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(map(_plain_cell, columns))
        # in blocks: all columns stacked would take the memory of the result again
        rows = len(next(iter(columns.values()), ()))
        for first in range(0, rows, ROWS_AT_ONCE):
            part = [values[first : first + ROWS_AT_ONCE] for values in columns.values()]
            # 17 digits are read back bit for bit
            np.savetxt(file, np.column_stack(part), fmt="%.17g", delimiter=",")
    return path


def _plain_cell(name: str) -> str:
    """A header that no spreadsheet interprets as a formula."""
    text = shown(name)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def save_parquet(path: str | Path, columns: Columns, about: dict[str, str]) -> Path:
    """Write columns as Parquet; about: descriptions of the run, stored in its metadata."""
    arrow = _load("pyarrow", f"{Path(path).name}")
    parquet = _load("pyarrow.parquet", f"{Path(path).name}")
    table = arrow.table(columns).replace_schema_metadata(about)
    content = arrow.BufferOutputStream()
    parquet.write_table(table, content)
    return write_file(path, memoryview(content.getvalue()))


def save_hdf5(path: str | Path, columns: Columns, about: dict[str, str]) -> Path:
    """Write each column as a dataset of an HDF5 file, with its unit; about: attributes of the file."""

    def fill(file: h5py.File) -> None:
        file.attrs.update(about)
        for name, values in columns.items():
            quantity, unit = split_unit(name)
            # a slash would create a group
            dataset = file.create_dataset(quantity.replace("/", "|"), data=values)
            dataset.attrs["unit"] = unit
            dataset.attrs["name"] = quantity

    return write_file(path, make_hdf5(fill))


def make_dataset(
    times: Floats,
    points: Sequence[str],
    moving: dict[str, tuple[Floats, str]],
    scalars: dict[str, tuple[Floats, str]],
    about: dict[str, str],
) -> Any:
    """An xarray dataset.

    moving: (n, points, dimension) arrays by name, with units; scalars: (n,) arrays by name, with units.
    """
    xarray = _load("xarray", "a dataset")
    dimension = max((values.shape[2] for values, _ in moving.values()), default=0)
    variables = {
        name: (("time", "point", "axis"), values, {"units": unit})
        for name, (values, unit) in moving.items()
    } | {name: (("time",), values, {"units": unit}) for name, (values, unit) in scalars.items()}
    return xarray.Dataset(
        variables,
        coords={
            "time": ("time", times, {"units": "s"}),
            "point": list(points),
            "axis": list("xyz"[:dimension]),
        },
        attrs=about,
    )


def _load(module: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.split(".")[0]
        raise ImportError(
            f"{what} needs the package {name}; install it by: pip install '.[data]'", name=name
        ) from error
