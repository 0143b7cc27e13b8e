"""The text of a kernel and of all functions it calls, each translated once for each set of types."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from typing import Any

from .checks import AFTER, BEFORE, COPY, CheckedBody
from .entry import Prologue
from .kinds import (
    BOOL,
    DUAL,
    DUAL_TYPE,
    HOMES,
    INT,
    METADATA,
    PARENTS,
    TAGS,
    ObjectLayout,
    return_type,
)
from .masks import MaskedBody
from .statements import FunctionBody
from .syntax import list_statements


@cache
def _functions_of(path: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """Return all functions of a file, by name and first line."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    found = {}
    for node in list_statements(tree.body):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found[node.name, first] = node
    return found


class Module:
    """The text of an entry point and of all functions it calls.

    unrolls: known integers and loops over them are expanded; alone: a run does not use SIMD lanes internally;
    masked: each lane is a run; inline: an attribute for all functions that do not have their own; checked: every
    access is checked, and the entry point reports the first one out of bounds.
    """

    def __init__(
        self,
        unrolls: bool = False,
        alone: bool = False,
        masked: bool = False,
        inline: str = "",
        checked: bool = False,
    ) -> None:
        self.unrolls, self.alone, self.masked, self.inline = unrolls, alone, masked, inline
        self.checked = checked
        self.body = MaskedBody if masked else CheckedBody if checked else FunctionBody
        self._functions: dict[Any, tuple[str, Any]] = {}
        self._texts: list[str] = []
        self._globals: dict[str, str] = {}
        self._homes: dict[str, int] = {}
        self._tables: dict[bytes, int] = {}
        self._count = 0

    def entry(
        self, name: str, function: Any, kinds: Sequence[Any], layout: ObjectLayout
    ) -> tuple[str, list[str]]:
        """Return text with an entry point int(words, results), and the kinds of its results; see arguments.py.

        The entry point returns 0, or 1 if an argument is of another type, or 2 after an access out of bounds
        (checks.py).
        """
        callee, result = self.function(function, tuple(kinds))
        head = Prologue(layout)
        given = [*self.body.hidden, *(part for kind in kinds for part in head.take(kind))]
        call = f"call {return_type(result)} @{callee}({', '.join(given)})"
        results = list(result) if isinstance(result, tuple) else [result] if result else []
        lines = [f"%r = {call}" if results else call]
        if self.checked:
            lines = [*BEFORE, *lines, *AFTER]
            self.declare("memcpy", COPY)
        for n, kind in enumerate(results):
            part = "%r"
            if isinstance(result, tuple):
                part = f"%r{n}"
                lines.append(f"{part} = extractvalue {return_type(result)} %r, {n}")
            if kind == BOOL:
                lines.append(f"%b{n} = zext i1 {part} to i64")
                part = f"%b{n}"
            lines.append(f"%o{n} = getelementptr i64, ptr %results, i64 {n}")
            lines.append(f"store {INT if kind == BOOL else kind} {part}, ptr %o{n}")
        return self.text(*head.texts(name, lines)), results

    def text(self, *entries: str) -> str:
        """Return the text of all functions and of entry points that call them."""
        named = f"{DUAL} = type {DUAL_TYPE}"
        return "\n".join([named, *self._globals.values(), *self._texts, *entries, METADATA])

    def function(self, kernel: Any, kinds: tuple[Any, ...]) -> tuple[str, Any]:
        """Return name and result kind of a function for some types; translate it if necessary."""
        function = getattr(kernel, "py_func", kernel)
        key = function, kinds
        if key not in self._functions:
            self._count += 1
            name = f"{function.__name__}.{self._count}"
            fuses = not getattr(kernel, "exact", False)
            inline = self.inline or getattr(kernel, "inline", "")
            text, result = _translate(self, name, function, kinds, fuses, inline)
            self._texts.append(text)
            self._functions[key] = name, result
        return self._functions[key]

    def tag(self, kind: str, home: str) -> str:
        """Return the alias metadata of a load or store: memory of different names does not overlap."""
        if not home:
            return TAGS[kind]
        number = self._homes.setdefault(home, HOMES + 2 * len(self._homes))
        parent = PARENTS[kind]
        self.declare(
            f"!{number}",
            f'!{number} = !{{!"{home}", !{parent}}}\n!{number + 1} = !{{!{number}, !{number}, i64 0}}',
        )
        aligned, _, _ = TAGS[kind].rpartition("!tbaa")
        return f"{aligned}!tbaa !{number + 1}"

    def place_of(self, values: bytes) -> int:
        """Return the number of a table."""
        return self._tables.setdefault(values, len(self._tables))

    def declare(self, name: str, text: str) -> None:
        """Declare something that all functions share."""
        self._globals.setdefault(name, text)


def _translate(
    module: Module, name: str, function: Any, kinds: tuple[Any, ...], fuses: bool, inline: str
) -> tuple[str, Any]:
    """Translate a function until the kinds of its variables settle: an integer that becomes a float is a float."""
    node = _functions_of(function.__code__.co_filename)[
        function.__name__, function.__code__.co_firstlineno
    ]
    settled: dict[str, Any] = {}
    while True:
        body = module.body(module, function, fuses, settled)
        text = body.write(name, node, kinds, inline)
        if not body.widened:
            return text, settled.get("return")
