"""Packages whose modules load when they are used."""

import pytest

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
