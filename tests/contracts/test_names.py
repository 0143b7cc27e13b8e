"""Names that are found at the first try: each module and each public class has its own."""

import ast
from collections import defaultdict
from pathlib import Path

import sarrus

SOURCE = Path(sarrus.__file__).parent


def found_twice(names):
    """Names with the files in which they are, where these are several."""
    return {name: files for name, files in names.items() if len(files) > 1}


def test_no_two_modules_share_a_name():
    """Only a problem and its exact reference have the same."""
    names = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        if path.name != "__init__.py" and path.parent.name != "references":
            names[path.name].append(str(path.relative_to(SOURCE)))
    assert found_twice(names) == {}


def test_no_two_public_classes_share_a_name():
    """A class that is named in an error message is one class."""
    names = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                names[node.name].append(str(path.relative_to(SOURCE)))
    assert found_twice(names) == {}
