"""Packages and libraries that are loaded on use (PEP 562).

A package with `__getattr__ = load_on_use(__name__, ...)` costs nothing to import: other modules import it at the
top and use `package.module.function` where they need it. Imports thus stay at the top, where readers and the
import contract find them, and a command still loads only what it uses. `library = module_on_use("library")` does
the same for libraries that load slowly or may not be installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

NOTHING: Mapping[str, str] = {}


class _ModuleOnUse:
    """Stands for a module, which is imported when the first of its names is read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def module_on_use(name: str) -> Any:
    """A module, imported when the first of its names is read."""
    return _ModuleOnUse(name)


def load_on_use(package: str, names: Mapping[str, str] = NOTHING) -> Callable[[str], Any]:
    """The `__getattr__` of a package: its modules, and names with the module that defines each."""

    def find(name: str) -> Any:
        module = f"{package}.{names.get(name, name)}"
        if not name.startswith("_"):
            try:
                found = import_module(module)
                return getattr(found, name) if name in names else found
            except ModuleNotFoundError as error:
                if error.name != module:
                    raise
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    return find
