"""Run in a child process: check that this package can read an HDF5 file.

Damaged or hostile bytes can keep the HDF5 library in an endless loop, or crash it; here only the child is
affected.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

# Errors that h5py and our reader raise.
ERRORS = (OSError, ValueError, KeyError, TypeError, RuntimeError, RecursionError, AttributeError)


def answer(question: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read all members of a file ("path"); the answer is empty."""
    hdf5, path = load_reader(), Path(question["path"])
    # The parent gets the same error and explains it.
    with suppress(*ERRORS), open(path, "rb") as stream, hdf5.open_stream(stream) as file:
        read_words(file)
        for name in file:
            with suppress(*ERRORS):
                read_all(hdf5, hdf5.scan(file, [name], path.stat().st_size, lambda: float("inf")))
    return {}, {}


def load_reader() -> Any:
    """Load the HDF5 module of this package, which does not depend on the rest of the package."""
    path = Path(__file__).parents[1] / "hdf5.py"
    spec = spec_from_file_location("hdf5", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Dataclasses look up the module of a class here.
    sys.modules["hdf5"] = module
    spec.loader.exec_module(module)
    return module


def read_all(hdf5: Any, branch: Any) -> None:
    """Read all arrays, texts and attributes below a group."""
    for member in branch.members.values():
        read_words(member.node)
        if isinstance(member, hdf5.GroupNode):
            read_all(hdf5, member)
            continue
        for read in (member.text, member.numbers):
            with suppress(*ERRORS):
                read()


def read_words(node: Any) -> None:
    """Read all attributes of a group or an array."""
    for name in node.attrs:
        with suppress(*ERRORS):
            node.attrs[name]
