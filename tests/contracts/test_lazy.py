"""Packages whose modules load when they are used."""

import ast
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import sarrus
from sarrus import model, scene
from sarrus.lazy import load_on_use


def test_modules_and_names_are_found():
    """A module by its name, a name by its module."""
    assert model.make_model is model.build.make_model
    assert scene.make_sketch is scene.sketch.make_sketch
    assert all(hasattr(scene, name) for name in scene.__all__)


def test_what_is_missing_is_an_attribute_error():
    """As of any module, so that `hasattr` and `getattr` with a default work."""
    with pytest.raises(AttributeError, match=r"module 'sarrus.model' has no attribute 'nothing'"):
        _ = model.nothing
    assert not hasattr(model, "__path_of_nothing__")


def test_what_a_module_lacks_is_named(tmp_path, monkeypatch):
    """A library that is not installed is named, not the module that wants it."""
    (tmp_path / "wanting").mkdir()
    (tmp_path / "wanting" / "__init__.py").write_text("")
    (tmp_path / "wanting" / "part.py").write_text("import not_installed_anywhere")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="not_installed_anywhere"):
        load_on_use("wanting")("part")


ROOT = Path(sarrus.__file__).parent


def packages_in(path, tree):
    """Packages of ours that a module imports, by the name that they have there."""
    here = ["sarrus", *path.relative_to(ROOT).parts[:-1]]
    found = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = [*here[: len(here) - node.level + 1], *(node.module or "").split(".")]
        for alias in node.names:
            parts = [part for part in (*base, alias.name) if part]
            if (ROOT.joinpath(*parts[1:]) / "__init__.py").is_file():
                found[alias.asname or alias.name] = ".".join(parts)
    return found


def names_used(path, tree):
    """Every `package.module.name` of a module, and every `_load("module").name`, as a dotted path."""
    packages = packages_in(path, tree)
    own = ".".join(["sarrus", *path.relative_to(ROOT).parts[:-1]])
    for node in ast.walk(tree):
        parts = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id in packages:
            yield packages[node.id], parts
        elif is_load(node) and path.name == "__init__.py":
            yield own, [node.args[0].value, *parts]


def is_load(node):
    """Whether it is a call `_load("module")`."""
    called = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_load"
    return called and isinstance(node.args[0], ast.Constant)


@pytest.mark.parametrize(
    "room", sorted({p.parent for p in ROOT.rglob("*.py")}), ids=lambda p: p.name
)
def test_names_of_modules_that_load_on_use_exist(room):
    """Type checkers do not see them, so a module or function that was renamed is found here."""
    missing = set()
    for path in room.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for package, parts in names_used(path, tree):
            place = import_module(package)
            for part in parts[:2]:
                if not isinstance(place, ModuleType):
                    break
                if not hasattr(place, part):
                    missing.add(f"{path.name}: {package}.{'.'.join(parts)}")
                    break
                place = getattr(place, part)
    assert not missing
