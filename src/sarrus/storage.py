"""A result as one HDF5 file: written whole, read back to the last bit; plain arrays and text, no pickles.

The file holds the mechanism as the text of a model file, what was asked, and the outcome: a group for each
dataclass, a dataset for each array, JSON for words and numbers. The model is built again from the mechanism;
of forms only what differs from the model's is kept. Python functions (user forces) are kept by name alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .arrays import Floats
from .asked import Asked
from .disk import new_file
from .mechanism import Mechanism, MechanismError
from .mechanism.files import to_data, to_text
from .thresholds import SAME_MODEL

if TYPE_CHECKING:
    import h5py

    from .model import Model

FORMAT = "sarrus result"
VERSION = 2
# arrays smaller than this are not worth compressing
SMALL = 256
# bytes that a byte of a file may become: the most that gzip can, and some for what is small
MOST_EXPANDED, SMALL_BYTES = 1100, 1_000_000
# what a record computes when asked for: kept, since it may take functions that are not
DERIVED = ("a", "norms", "energies", "drive_forces")


class SavedResultError(ValueError):
    """A file that holds no result, or one that cannot be read; the message says which and why."""


def save_parts(path: str | Path, mechanism: Mechanism, model: Model, parts: dict[str, Any]) -> Path:
    """Write the parts of a result; the file appears whole or not at all."""
    import h5py

    from . import __version__

    path = Path(path)
    plain = mechanism.copy()
    plain.user_forces = []
    forces = [(force.name, *force.points) for force in mechanism.user_forces]
    derived = {name: getattr(parts["outcome"].record, name) for name in DERIVED}
    with new_file(path) as half, h5py.File(half, "w") as file:
        file.attrs.update(format=FORMAT, version=VERSION, program=f"sarrus {__version__}")
        file["mechanism"] = to_text(to_data(plain))
        _write(file, "user_forces", forces, model)
        _write(file, "model", _signature(model), model)
        for name, part in parts.items():
            _write(file, name, part, model)
        for name, values in derived.items():
            _write(file, f"derived/{name}", values, model)
    return path


def load_parts(path: str | Path, names: Iterable[str]) -> tuple[Mechanism, Model, dict[str, Any]]:
    """The mechanism, its model, and parts by name; raises SavedResultError with a sentence."""
    import h5py

    path = Path(path)
    if not path.is_file():
        raise SavedResultError(f"there is no file {path}")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise SavedResultError(
            f"{path} holds no result: it is no HDF5 file, or damaged ({_first_line(error)})"
        ) from error
    with file:
        if file.attrs.get("format") != FORMAT:
            raise SavedResultError(f"{path} holds no result that `Result.save` wrote")
        if file.attrs.get("version") != VERSION:
            raise SavedResultError(
                f"{path} has version {file.attrs.get('version')}, this program reads {VERSION}"
            )
        try:
            return _read_parts(file, path, names)
        except (
            KeyError, ValueError, TypeError, AttributeError, OSError, RuntimeError, MemoryError,
        ) as error:  # fmt: skip
            if isinstance(error, SavedResultError):
                raise
            raise SavedResultError(
                f"{path} is damaged ({_first_line(error)}); save the result again"
            ) from error


def add_arrays(path: Path, group: str, arrays: dict[str, NDArray[Any]]) -> None:
    """Put further arrays into the file of a result, under any names."""
    import h5py

    with h5py.File(path, "a") as file:
        below = file.create_group(group)
        for i, (name, values) in enumerate(arrays.items()):
            # a slash in a name would open a group
            _write_array(below, str(i), values).attrs["name"] = name


def load_arrays(path: Path, group: str) -> dict[str, NDArray[Any]]:
    """What `add_arrays` wrote; raises what h5py raises, and ValueError for other things than plain numbers."""
    import h5py

    with h5py.File(path, "r") as file:
        found, below = {}, _member(file, group)
        for i in range(len(below)):
            item = _member(below, str(i))
            found[str(item.attrs["name"])] = np.asarray(_numbers(item))
        return found


def _read_parts(
    file: h5py.File, path: Path, names: Iterable[str]
) -> tuple[Mechanism, Model, dict[str, Any]]:
    from .mechanism.files.building import build_mechanism
    from .mechanism.files.reading import read_document
    from .model import make_model

    text = _member(file, "mechanism").asstr()[()]
    mechanism = build_mechanism(read_document(text, str(path)), check=False)
    for name, *points in _read(_member(file, "user_forces"), None):
        mechanism.user_force(name, points, _not_kept(name, path))
    model = make_model(mechanism)
    before, now = _read(_member(file, "model"), model), _signature(model)
    if before.shape != now.shape or not np.allclose(before, now, SAME_MODEL, SAME_MODEL):
        raise SavedResultError(
            f"{path} was written by {file.attrs['program']}, which modelled '{mechanism.name}' in other "
            "coordinates than this program; read it with that one, or simulate again"
        )
    parts = {name: _read(_member(file, name), model) for name in names}
    derived = _member(file, "derived")
    for name in DERIVED:
        # where a cached property looks first
        vars(parts["outcome"].record)[name] = _read(_member(derived, name), model)
    return mechanism, model, parts


def _write(group: h5py.Group, name: str, value: Any, model: Model) -> None:
    """Write a value below a group: an array, a tuple, one of our dataclasses, or what JSON holds."""
    if isinstance(value, np.ndarray):
        _write_array(group, name, value)
        return
    parts = _parts(value, model)
    if parts is None:
        plain = value.item() if isinstance(value, np.generic) else value
        group.create_dataset(name, data=json.dumps(plain)).attrs["json"] = True
        return
    below = group.create_group(name, track_order=True)
    below.attrs["class"] = type(value).__name__
    for part, item in parts.items():
        _write(below, part, item, model)


def _write_array(group: h5py.Group, name: str, values: NDArray[Any]) -> h5py.Dataset:
    # the lightest level: the last bits of numbers are noise, which nothing compresses
    packed = {"compression": "gzip", "compression_opts": 1, "shuffle": True}
    return group.create_dataset(name, data=values, **(packed if values.size >= SMALL else {}))


def _parts(value: Any, model: Model) -> dict[str, Any] | None:
    """The parts of a value by name; None if it has none that stand alone."""
    if value is model:
        return {}
    if isinstance(value, type(model.form)):
        return {
            name: x
            for name, x, usual in zip(value._fields, value, model.form, strict=True)
            if not np.array_equal(x, usual)
        }
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    if isinstance(value, tuple):
        return {str(i): item for i, item in enumerate(value)}
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return None


def _read(node: h5py.Group | h5py.Dataset, model: Any) -> Any:
    """The value that `_write` wrote."""
    if hasattr(node, "shape"):
        return json.loads(node.asstr()[()]) if node.attrs.get("json") else _numbers(node)
    word = node.attrs["class"]
    parts = {name: _read(_member(node, name), model) for name in node}
    if word == "Model":
        return model
    if word == "Form":
        return model.form._replace(**parts)
    if word == "tuple":
        return tuple(parts[str(i)] for i in range(len(parts)))
    return _makers()[word](**parts)


def _member(group: h5py.Group, name: str) -> Any:
    """A group or dataset that lies in this very file, no larger than its bytes can be.

    HDF5 has links to other files, datasets whose bytes are other files', and datasets of any size that take no
    place: a file from a stranger may hold them, ours do not.
    """
    import h5py

    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"'{name}' is missing, or a link")
    node = group[name]
    if isinstance(node, h5py.Dataset):
        if node.external or node.is_virtual:
            raise ValueError(f"'{name}' takes its numbers from another file")
        if node.nbytes > MOST_EXPANDED * node.id.get_storage_size() + SMALL_BYTES:
            raise ValueError(f"'{name}' claims {node.nbytes} bytes, more than the file can hold")
    return node


def _numbers(node: h5py.Dataset) -> Any:
    """What an array holds, if it is plain numbers."""
    if node.dtype.kind not in "fiub":
        raise ValueError(f"'{node.name}' holds no plain numbers")
    return node[()]


def _makers() -> dict[str, Callable[..., Any]]:
    """What a file may hold, by name."""
    from .kernels.layout import Pieces
    from .kernels.record import Sampling
    from .methods import Motion, Outcome, Record, Status
    from .methods.outcome import Law, Part, Taken
    from .methods.watch import Piece, Stretch, Watch

    def make_outcome(status: str, **rest: Any) -> Outcome:
        return Outcome(Status(status), **rest)

    plain = (Asked, Law, Motion, Part, Piece, Pieces, Record, Sampling, Stretch, Taken, Watch)
    return {kind.__name__: kind for kind in plain} | {"Outcome": make_outcome}


def _signature(model: Model) -> Floats:
    """Numbers that tell whether another model has the same coordinates."""
    f = model.form
    parts = (f.D_start, f.D_col, f.D_val, f.e0, f.phi0, f.M_val, model.places.data, model.origins)
    return np.concatenate([np.ravel(part).astype(float) for part in parts])


def _not_kept(name: str, path: Path) -> Callable[..., Any]:
    """What stands for the function of a user force."""

    def missing(t: float, position: Floats, velocity: Floats) -> Floats:
        raise MechanismError(
            f"user force '{name}' is a Python function, which {path} does not hold; simulate again to "
            "ask what needs it"
        )

    return missing


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
