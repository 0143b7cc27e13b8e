"""Arithmetic that differs between versions of Python is not used: results have the same bits on all of them."""

import ast
from pathlib import Path

import pytest

import sarrus
from sarrus.arrays import plain_sum

PACKAGE = Path(sarrus.__file__).parent
# each of them compensates or rounds otherwise since 3.12, or may do so in the next version
BANNED = {
    "sum": "sarrus.arrays.plain_sum",
    "math.fsum": "sarrus.arrays.plain_sum",
    "math.sumprod": "sarrus.arrays.plain_sum of the products",
    "math.hypot": "sarrus.tracing.length_of or np.hypot",
    "math.dist": "sarrus.tracing.length_of",
    "statistics.mean": "np.mean",
    "statistics.fmean": "np.mean",
    "statistics.stdev": "np.std",
}


def banned_names(text):
    """Lines of a source text and what stands there of BANNED, however it is imported."""
    tree = ast.parse(text)
    known = {"sum": "sum"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {a.asname or a.name: a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            known |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    for node in ast.walk(tree):
        name = None
        if isinstance(node, ast.Name):
            name = known.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{known.get(node.value.id)}.{node.attr}"
        name = name.removeprefix("builtins.") if name else None
        if name in BANNED:
            yield node.lineno, name


@pytest.mark.parametrize(
    "text",
    [
        "x = sum(a)",
        "x = list(map(sum, a))",
        "import builtins\nx = builtins.sum(a)",
        "import math\nx = math.fsum(a)",
        "import math as m\nx = m.hypot(a, b)",
        "from math import dist\nx = dist(a, b)",
        "from math import sumprod as dot\nx = dot(a, b)",
    ],
)
def test_every_way_to_write_it_is_found(text):
    """The search finds a banned function called, passed on, or imported under another name."""
    assert len(list(banned_names(text))) == 1


def test_no_sum_depends_on_the_version_of_python():
    """No source file uses a function whose rounding depends on the version."""
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {name}; use {BANNED[name]}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, name in banned_names(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def test_a_plain_sum_rounds_each_addition():
    """1 + 1e100 - 1e100 is 0 in doubles, one addition after the other; a compensated sum gives 1."""
    assert plain_sum([1.0, 1e100, -1e100]) == 0.0
    assert plain_sum([True, False, True]) == 2
    assert plain_sum([], 0.0) == 0.0
