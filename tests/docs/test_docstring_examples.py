"""Public calls have docstrings in NumPy's convention, and their examples print what they show."""

import doctest
import inspect
import itertools

import pytest

import sarrus

PUBLIC = {name: getattr(sarrus, name) for name in sarrus.__all__}
FUNCTIONS = {name: f for name, f in PUBLIC.items() if inspect.isfunction(f)}
CLASSES = {name: c for name, c in PUBLIC.items() if inspect.isclass(c)}


def sections(what):
    """Titles of the sections of a docstring."""
    lines = (inspect.getdoc(what) or "").splitlines()
    return {a for a, b in itertools.pairwise(lines) if b and b == "-" * len(a) and a.istitle()}


def find_examples():
    """Examples of public functions, classes and their methods, by name."""
    finder, found = doctest.DocTestFinder(recurse=False), {}
    named = dict(PUBLIC)
    for name, cls in CLASSES.items():
        for method, f in inspect.getmembers(cls, inspect.isfunction):
            if not method.startswith("_"):
                named[f"{name}.{method}"] = f
    for name, what in named.items():
        for test in finder.find(inspect.unwrap(what), name, module=False, globs={}):
            if test.examples:
                found[name] = test
    return found


EXAMPLES = find_examples()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_the_sections(name):
    """Parameters, the value returned and a runnable example."""
    assert {"Parameters", "Returns", "Examples"} <= sections(FUNCTIONS[name])


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_print_what_they_show(name, tmp_path, monkeypatch):
    """Each example runs by itself in an empty folder."""
    monkeypatch.chdir(tmp_path)
    lines = []
    result = doctest.DocTestRunner(verbose=False).run(
        EXAMPLES[name], out=lines.append, clear_globs=True
    )
    assert not result.failed, "".join(lines)
