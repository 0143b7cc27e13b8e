"""Import contracts: rooms, what a fresh interpreter loads, public names."""

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sarrus
from cpu_time import least

ROOT = Path(__file__).parents[2]
PACKAGE = Path(sarrus.__file__).parent

# what a kernel may import besides its own room
KERNEL_IMPORTS = {
    "__future__",
    "ast",
    "builtins",
    "collections",
    "contextlib",
    "ctypes",
    "functools",
    "gc",
    "hashlib",
    "inspect",
    "llvmlite",
    "logging",
    "math",
    "numba",
    "numpy",
    "operator",
    "os",
    "pathlib",
    "struct",
    "sys",
    "tempfile",
    "threading",
    "time",
    "types",
    "typing",
    "weakref",
}


# beneath all rooms
BENEATH = {"arrays", "thresholds", "cache"}


def run_python(code):
    """Output of a fresh interpreter that can import the package."""
    path = os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_rooms_import_downwards_only():
    """The layers written in pyproject.toml hold."""
    pytest.importorskip("importlinter")
    code = (
        "from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))"
    )
    assert "0 broken" in run_python(code)


HEAVY = (
    *(
        "numba",
        "llvmlite",
        "matplotlib",
        "plotly",
        "imageio",
        "pandas",
        "pyarrow",
        "dask",
        "distributed",
    ),
    *("pydantic", "rich", "typer", "yaml"),
)


def test_import_loads_nothing_heavy():
    """A plain import of the package leaves the compiler and the plots unloaded."""
    loaded = run_python("import sys, sarrus; print(*sorted(sys.modules))").split()
    assert not set(HEAVY) & set(loaded)


def test_import_is_quick():
    """A plain import takes under half a second of CPU time."""
    code = """
import time
begin = time.thread_time()
import sarrus
print(time.thread_time() - begin)
"""
    assert least(lambda: float(run_python(code)), 0.5) < 0.5


@pytest.mark.slow
def test_error_loads_nothing_heavy():
    """A mechanism that cannot be simulated is refused before the compiler is loaded."""
    code = """
import sys, sarrus
try:
    sarrus.simulate(sarrus.Mechanism("nothing"), 1.0)
except sarrus.MechanismError as error:
    print(error, "numba" in sys.modules)
"""
    out = run_python(code)
    assert "no bodies" in out
    assert out.strip().endswith("False")


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((PACKAGE / "kernels").rglob("*.py")), ids=lambda p: p.name)
def test_kernels_import_nothing_from_other_rooms(path):
    """Kernels know NumPy, the compiler and each other."""
    depth = len(path.relative_to(PACKAGE).parts) - 1
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert {a.name.split(".")[0] for a in node.names} <= KERNEL_IMPORTS
        elif isinstance(node, ast.ImportFrom):
            # a dot a folder is the room itself, one more would leave it: but for what is beneath
            assert node.level <= depth or (node.level == depth + 1 and node.module in BENEATH)
            if node.level == 0:
                assert node.module.split(".")[0] in KERNEL_IMPORTS


@pytest.mark.parametrize("name", sarrus.__all__)
def test_public_name_exists_and_is_described(name):
    """Every public name is there after a plain import and has a docstring."""
    thing = getattr(sarrus, name)
    assert inspect.getdoc(thing)
    assert len(inspect.getdoc(thing)) > 20


@pytest.mark.parametrize("cls", [sarrus.Mechanism, sarrus.Result], ids=lambda c: c.__name__)
def test_public_methods_are_described(cls):
    """Every public method and property of the public classes has a docstring."""
    for name, member in vars(cls).items():
        if not name.startswith("_") and (callable(member) or isinstance(member, property)):
            assert inspect.getdoc(member), f"{cls.__name__}.{name}"


def test_all_names_in_all_can_be_starred():
    """A star import brings every public name."""
    names = run_python("from sarrus import *; print(*dir())").split()
    assert set(sarrus.__all__) <= set(names)
