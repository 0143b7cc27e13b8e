"""One fact, one place: in how many files of the package a kind of force is known."""

import ast
from pathlib import Path

import pytest

import sarrus

PACKAGE = Path(sarrus.__file__).parent

# what a new force needs: described, in files, its law and series, the sums over all kinds, its forms, its wrench
NEEDED = {
    "mechanism/forces.py",
    "mechanism/files/schema.py",
    "kernels/elements/{}.py",
    "kernels/loads.py",
    "model/loads.py",
    "verdict/loads.py",
}
# what else these two have: they are read by name and drawn; public names
READ = {
    "mechanism/__init__.py",
    "model/readings.py",
    "result.py",
    "scene/draw.py",
    "scene/sketch.py",
}
MORE = {
    # bears a name that lengths are read by, holds bodies, moves with the end of a rod that grows, and is
    # no part of the library's files
    "spring": {
        "mechanism/check.py",
        "kinematics/length.py",
        "studies/changes.py",
        "specification/writing.py",
    },
    # its angle counts turns: it is carried from step to step, recorded, and counted again by the verdict;
    # it has units of its own, and the smallest mechanism that compiles all loads has one
    "torsion": {
        "mechanism/files/units.py",
        "kernels/series.py",
        "methods/fixed_step.py",
        "methods/multipliers_dop853.py",
        "methods/radau.py",
        "methods/series.py",
        "methods/warm_up.py",
        "simulate.py",
        "verdict/reactions.py",
    },
}


def names_in(path):
    """All identifiers of a file: no comments, no texts."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for field in ("id", "attr", "name", "asname", "arg", "module"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                yield value.lower()


@pytest.mark.parametrize("kind", ["spring", "torsion"])
def test_a_force_is_known_in_six_files(kind):
    """A new force touches six files; what springs and torsions have besides is written down here."""
    assert len(NEEDED) == 6
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(kind in name for name in names_in(path))
    }
    problems = {path for path in found if path.startswith("problems/")}
    needed = {path.format(kind) for path in NEEDED}
    assert needed <= found
    assert found - problems - needed <= READ | MORE[kind]
