"""One fact, one place: in how many files of the package a kind of force is known."""

import ast
from pathlib import Path

import sarrus

PACKAGE = Path(sarrus.__file__).parent

# what a new force needs: described, in files, its law and series, the sums over all kinds, its forms, its wrench
NEEDED = {
    "mechanism/forces.py",
    "mechanism/files/model_schema.py",
    "kernels/elements/spring.py",
    "kernels/applied_forces.py",
    "model/force_forms.py",
    "verdict/applied_wrenches.py",
}
# what else springs have, with the reason
MORE = {
    "mechanism/__init__.py": "public names",
    "mechanism/check.py": "lengths are read by name, of springs and of links: no name twice",
    "mechanism/event_requests.py": "events read their forces and lengths by name",
    "kinematics/configuration.py": "springs hold bodies, their arms count in the mechanism's length",
    "kernels/event_series.py": "their series as quantities of events",
    "events/event_quantities.py": "their length and force as quantities of events",
    "model/readings.py": "length and force are read by name",
    "readout.py": "length and force are read by name",
    "cli/engine_commands.py": "what engines can do",
    "scene/draw.py": "drawn",
    "scene/sketch.py": "drawn",
    "workbench/edit.py": "drawn by hand",
    "studies/carried.py": "ends move with a body whose shape changes",
    "specification/spec_writer.py": "no part of the library's files",
}


def names_in(path):
    """All identifiers of a file: no comments, no texts."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for field in ("id", "attr", "name", "asname", "arg", "module"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                yield value.lower()


def test_a_force_is_known_in_six_files():
    """A new force touches six files; further files of springs are listed here."""
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any("spring" in name for name in names_in(path))
    }
    assert len(NEEDED) <= 6
    assert found >= NEEDED
    # problems use springs, as users do; formats and engines translate those of other programs
    assert {
        p for p in found - NEEDED if not p.startswith(("problems/", "formats/", "engines/"))
    } == set(MORE)
