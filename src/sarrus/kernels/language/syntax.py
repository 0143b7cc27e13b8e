"""Properties of syntax trees that the translator needs again and again; each is computed once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache

# results that are kept: more than all kernels have statements
MOST_KEPT = 8192


@lru_cache(maxsize=MOST_KEPT)
def names_set(node: ast.AST) -> tuple[str, ...]:
    """Variables that are set somewhere in a statement, each once."""
    found = (x for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store))
    return tuple(dict.fromkeys(x.id for x in found))


@lru_cache(maxsize=MOST_KEPT)
def contains(node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> bool:
    """Whether one of these kinds of nodes is somewhere in a statement."""
    return any(isinstance(x, kinds) for x in ast.walk(node))


def list_statements(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All statements, nested ones included; expressions are not searched."""
    for node in nodes:
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from list_statements(getattr(node, block, ()))
