"""Model files: a mechanism to and from YAML or plain data, values by path, the JSON Schema.

pydantic and the YAML reader are loaded by the first call that needs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...lazy import load_on_use
from ..mechanism import Mechanism
from .model_writer import save_text, to_data, to_text
from .paths import get_value, set_value

__all__ = [
    "LoadedFile",
    "from_data",
    "get_value",
    "load",
    "load_data",
    "load_file",
    "make_schema",
    "save",
    "set_value",
    "to_data",
    "to_text",
]

# pydantic and the YAML reader load slowly
__getattr__ = _load = load_on_use(__name__)


@dataclass(frozen=True, eq=False)
class LoadedFile:
    """A file that was read: its mechanism, its plain data, and what a user should know, with lines."""

    mechanism: Mechanism
    data: dict[str, Any]
    remarks: list[str]


def load(path: str | Path, *, check: bool = True) -> Mechanism:
    """Read a mechanism from a model file.

    Raises ModelFileError (a MechanismError) that lists every problem with file, line and key. check:
    also reject a mechanism that cannot be simulated.
    """
    return _load("mechanism_builder").build_mechanism(
        _load("model_reader").load_document(path), check
    )


def load_file(path: str | Path) -> LoadedFile:
    """Read a model file; the mechanism with its plain data and remarks."""
    document = _load("model_reader").load_document(path)
    builder = _load("mechanism_builder")
    mechanism = builder.build_mechanism(document)
    return LoadedFile(mechanism, document.data, builder.remarks(document, mechanism))


def load_data(path: str | Path) -> dict[str, Any]:
    """The plain data of a model file, as written, checked; a start for `set_value` and `from_data`."""
    return load_file(path).data


def from_data(data: dict[str, Any], source: str = "data", *, check: bool = True) -> Mechanism:
    """A mechanism from plain data: what a file holds, as dictionaries, lists, numbers and text.

    source: what messages call it.
    """
    return _load("mechanism_builder").build_mechanism(
        _load("model_reader").Document(source, data), check
    )


def save(mechanism: Mechanism, path: str | Path) -> None:
    """Write a model file that `load` reads back to the last bit."""
    save_text(to_text(to_data(mechanism)), path)


def make_schema() -> dict[str, Any]:
    """The JSON Schema of a model file."""
    return _load("model_schema").make_schema()
