"""Functions one can hold in the head: their length and the number of their arguments."""

import ast
from pathlib import Path

import sarrus

PACKAGE = Path(sarrus.__file__).parent
LONGEST = 80
MOST_ARGUMENTS = 12


def functions():
    """All functions of the package: where, and the node."""
    paths = sorted(PACKAGE.rglob("*.py"))
    assert len(paths) > 100
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path.relative_to(PACKAGE), node


def lines_of(node):
    """Lines of a function without its docstring, which lists all parameters of a public one."""
    first = node.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    said = first.end_lineno - first.lineno + 1 if documented else 0
    return node.end_lineno - node.lineno + 1 - said


def test_no_function_is_long():
    """Eighty lines, kernels included."""
    found = [f"{path}: {node.name}" for path, node in functions() if lines_of(node) > LONGEST]
    assert not found


def test_no_function_has_many_arguments():
    """Twelve, kernels and commands included; `simulate` has two more: all that users may set of a run."""
    found = [
        f"{path}: {node.name}"
        for path, node in functions()
        if len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs) > MOST_ARGUMENTS
    ]
    assert found == ["simulate.py: simulate"]
