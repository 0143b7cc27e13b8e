"""A result as one HDF5 file, complete or absent, read back bit for bit; plain arrays and text, no pickles.

The file contains the mechanism as the text of a model file, the settings, and the outcome: a group for each
dataclass, a dataset for each array, JSON for words and numbers. The model is rebuilt from the mechanism; of forms,
only what differs from the model's is stored. Python functions (user forces) are stored by name only.

A digest at the end of the file turns a flipped bit into an error instead of a wrong number. All input is checked:
first its total size, before any data are read (hdf5.py), then its types and shapes (stored_types.py).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import kernels
from . import model as model_package
from . import segments as segment_package
from .arrays import Floats
from .cache import Store
from .disk import write_file
from .foreign import ForeignError, ProcessLimits, request
from .hdf5 import GroupNode, HDF5Error, Leaf, make_sealed, open_sealed, scan
from .mechanism import Mechanism, MechanismError, files
from .mechanism.files import to_data, to_text
from .memory import MEMORY_SHARE, free_memory
from .settings import RunSettings
from .stored_types import check_fields, check_form, check_result, sizes_of
from .thresholds import SAME_MODEL

if TYPE_CHECKING:
    import h5py

    from .model import Model

Arrays = dict[str, NDArray[Any]]

FORMAT = "sarrus result"
VERSION = 4
# smaller arrays are not worth compressing
SMALL = 256
# generous CPU time to load HDF5 and read a small file [s]; lower bound of the read rate [bytes/s]
START_SECONDS, READ_RATE = 5.0, 5_000_000
# more bytes than any process has
MOST_MEMORY = 1 << 46
# length of the key that signs files
KEY_BYTES = 32
# members of every file
MEMBERS = ("mechanism", "user_forces", "model", "derived")
# a part of a run with its own model
SEGMENT = "RunSegment"


class SavedResultError(ValueError):
    """A file without a result, or one that cannot be read; the message says which and why."""


def save_parts(
    path: str | Path,
    mechanism: Mechanism,
    model: Model,
    parts: dict[str, Any],
    groups: dict[str, Arrays],
) -> Path:
    """Write the parts of a result and groups of further arrays; the file appears complete or not at all."""
    from . import __version__

    plain = mechanism.copy()
    plain.user_forces = []
    # located events are stored with the outcome
    plain.events = []
    forces = [(force.name, *force.points) for force in mechanism.user_forces]
    # stored, because they may need functions that are not stored
    derived = parts["outcome"].record.derive()

    def fill(file: h5py.File) -> None:
        file.attrs.update(format=FORMAT, version=VERSION, program=f"sarrus {__version__}")
        # joints that events of the run may lock have coordinates of the model
        file.attrs["lockable"] = json.dumps(mechanism.lockable)
        file["mechanism"] = to_text(to_data(plain))
        _write(file, "user_forces", forces, model)
        _write(file, "model", _signature(model), model)
        for name, part in parts.items():
            _write(file, name, part, model)
        for name, values in derived.items():
            _write(file, f"derived/{name}", values, model)
        for name, arrays in groups.items():
            _write_arrays(file.create_group(name), arrays)

    return write_file(path, make_sealed(fill, _signing_key()))


def load_parts(
    path: str | Path, names: Iterable[str], verify: bool
) -> tuple[Mechanism, Model, dict[str, Any]]:
    """The mechanism, its model, and parts by name; raises SavedResultError."""
    path = Path(path)
    wanted = [*MEMBERS, *names]
    with _opened(path, verify) as file:
        if file.attrs.get("format") != FORMAT:
            raise SavedResultError(f"{path} is not a result written by `Result.save`")
        if file.attrs.get("version") != VERSION:
            raise SavedResultError(
                f"{path} has version {file.attrs.get('version')}, this program reads {VERSION}"
            )
        return _read_parts(scan(file, wanted, path.stat().st_size, _room), path, names)


def load_arrays(path: Path, group: str, verify: bool) -> Arrays:
    """A group of further arrays; raises SavedResultError."""
    with _opened(path, verify) as file:
        below = _branch(scan(file, [group], path.stat().st_size, _room)[group])
        return {
            _name(leaf): np.asarray(leaf.numbers()) for leaf in map(_leaf, below.members.values())
        }


@contextmanager
def _opened(path: Path, verify: bool) -> Iterator[h5py.File]:
    with (
        _explained(path),
        open_sealed(path, verify, _signing_key(), lambda: _read_in_child(path)) as file,
    ):
        yield file


@cache
def _signing_key() -> bytes:
    """The secret with which this user's results are signed: the HDF5 library wrote them and can read them.

    Without a folder to keep it in, it lasts as long as this process.
    """
    store = Store(
        "signatures", "the key that signs saved results", "other processes read them twice"
    )
    with store.alone("key"):
        key = store.read("key")
        if key is None or len(key) != KEY_BYTES:
            key = secrets.token_bytes(KEY_BYTES)
            store.write("key", key)
    return key


def _read_in_child(path: Path) -> None:
    """Read a file in a child process first, with limits on time and memory; raises SavedResultError.

    Damaged or malicious bytes can trap the HDF5 library in an endless loop that Ctrl-C does not end.
    """
    limits = ProcessLimits(
        cpu=START_SECONDS + path.stat().st_size // READ_RATE,
        memory=int(min(_room(), MOST_MEMORY)),
    )
    try:
        request("hdf5_reader", {"path": str(path.absolute())}, limits)
    except ForeignError as error:
        raise SavedResultError(f"{path} cannot be read: {error}; save the result again") from error


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn any error that a file causes into a SavedResultError with its path."""
    if not path.is_file():
        raise SavedResultError(f"there is no file {path}")
    try:
        yield
    except SavedResultError:
        raise
    except HDF5Error as error:
        raise SavedResultError(f"{path} cannot be read: {error}") from error
    except PermissionError as error:
        raise SavedResultError(f"{path} cannot be read: {error.strerror}") from error
    except Exception as error:
        # untrusted input: any error here is caused by the file
        raise SavedResultError(
            f"{path} is damaged ({_first_line(error)}); save the result again"
        ) from error


def _room() -> float:
    return MEMORY_SHARE * free_memory()


def _branch(node: GroupNode | Leaf) -> GroupNode:
    if not isinstance(node, GroupNode):
        raise HDF5Error(f"'{node.node.name}' is not a group")
    return node


def _leaf(node: GroupNode | Leaf) -> Leaf:
    if not isinstance(node, Leaf):
        raise HDF5Error(f"'{node.node.name}' is not an array")
    return node


def _name(leaf: Leaf) -> str:
    name = leaf.node.attrs.get("name")
    if not isinstance(name, str):
        raise HDF5Error(f"'{leaf.node.name}' has no name")
    return name


def _read_parts(
    file: GroupNode, path: Path, names: Iterable[str]
) -> tuple[Mechanism, Model, dict[str, Any]]:
    text = _leaf(file["mechanism"]).text()
    mechanism = files.mechanism_builder.build_mechanism(
        files.model_reader.read_document(text, str(path)), check=False
    )
    for name, *points in _read(file["user_forces"], None, {}):
        mechanism.user_force(name, points, _not_kept(name, path))
    mechanism.lockable = [str(name) for name in json.loads(file.word("lockable"))]
    model = model_package.make_model(mechanism)
    before, now = _leaf(file["model"]).numbers(), _signature(model)
    if before.shape != now.shape or not np.allclose(before, now, SAME_MODEL, SAME_MODEL):
        raise SavedResultError(
            f"{path} was written by {file.word('program')}, which modelled '{mechanism.name}' in other "
            "coordinates than this program; read it with that one, or simulate again"
        )
    sizes = sizes_of(model)
    parts = {name: _read(file[name], model, sizes) for name in names}
    derived = {name: _read(x, model, sizes) for name, x in _branch(file["derived"]).members.items()}
    check_result(parts, derived, sizes)
    # cached properties look here first
    vars(parts["outcome"].record).update(derived)
    return mechanism, model, parts


def _write(group: h5py.Group, name: str, value: Any, model: Model) -> None:
    """Write a value below a group: an array, a tuple, one of our dataclasses, or a JSON value."""
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
    if type(value).__name__ == SEGMENT:
        model = value.outcome.record.model
    for part, item in parts.items():
        _write(below, part, item, model)


def _write_arrays(group: h5py.Group, arrays: Arrays) -> None:
    """Write arrays with arbitrary names."""
    for i, (name, values) in enumerate(arrays.items()):
        # a slash in a name would create a group
        _write_array(group, str(i), values).attrs["name"] = name


def _write_array(group: h5py.Group, name: str, values: NDArray[Any]) -> h5py.Dataset:
    # the fastest level: the last bits of numbers are noise, which does not compress
    packed = {"compression": "gzip", "compression_opts": 1, "shuffle": True}
    return group.create_dataset(name, data=values, **(packed if values.size >= SMALL else {}))


def _parts(value: Any, model: Model) -> dict[str, Any] | None:
    """The parts of a value by name; None if it has no separate parts."""
    if value is model:
        return {}
    if isinstance(value, type(model.form)):
        return {
            name: x
            for name, x, given in zip(value._fields, value, model.form, strict=True)
            if not np.array_equal(x, given)
        }
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    if isinstance(value, tuple):
        return {str(i): item for i, item in enumerate(value)}
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return None


def _read(node: GroupNode | Leaf, model: Any, sizes: dict[str, int]) -> Any:
    """The value that `_write` wrote."""
    if isinstance(node, Leaf):
        return json.loads(node.text()) if node.node.attrs.get("json") else node.numbers()
    word = node.word("class")
    if word == SEGMENT:
        model = segment_package.segment_results.segment_model(
            model, str(_read(node["parts"], None, {}))
        )
        sizes = sizes_of(model)
    parts = {name: _read(member, model, sizes) for name, member in node.members.items()}
    if word == "Model":
        return model
    if word == "Form":
        check_form(parts, model)
        return model.form._replace(**parts)
    if word == "tuple":
        return tuple(parts[str(i)] for i in range(len(parts)))
    make = _makers()[word]
    check_fields(word, parts, sizes)
    return make(**parts)


def _makers() -> dict[str, Callable[..., Any]]:
    """The classes a file may contain, by name."""
    from .methods import Motion, Outcome, Record, Status
    from .methods.monitor import MonitoredSteps, Piece, Watch
    from .methods.outcome import (
        AccelerationRule,
        LocatedEvents,
        MotionPart,
        RunSegment,
        StepHistory,
    )

    def make_outcome(status: str, **rest: Any) -> Outcome:
        return Outcome(Status(status), **rest)

    plain = (
        RunSettings,
        AccelerationRule,
        LocatedEvents,
        Motion,
        MotionPart,
        Piece,
        kernels.layout.StepPolynomials,
        Record,
        kernels.recording.Sampling,
        MonitoredSteps,
        RunSegment,
        StepHistory,
        Watch,
    )
    return {kind.__name__: kind for kind in plain} | {"Outcome": make_outcome}


def _signature(model: Model) -> Floats:
    """Numbers that show whether another model has the same coordinates."""
    f = model.form
    parts = (f.D_start, f.D_col, f.D_val, f.e0, f.phi0, f.M_val, model.places.data, model.origins)
    return np.concatenate([np.ravel(part).astype(float) for part in parts])


def _not_kept(name: str, path: Path) -> Callable[..., Any]:
    """A placeholder for the function of a user force."""

    def missing(t: float, position: Floats, velocity: Floats) -> Floats:
        raise MechanismError(
            f"user force '{name}' is a Python function, which {path} does not contain; simulate again "
            "to use calls that need it"
        )

    return missing


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
