"""Properties of syntax trees that the translator needs repeatedly; each is computed once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache

# cache size: more than the number of statements in all kernels
MOST_KEPT = 8192


@lru_cache(maxsize=MOST_KEPT)
def names_set(node: ast.AST) -> tuple[str, ...]:
    """Return the variables that a statement sets anywhere, each once."""
    found = (x for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store))
    return tuple(dict.fromkeys(x.id for x in found))


@lru_cache(maxsize=MOST_KEPT)
def contains(node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> bool:
    """Whether a statement contains a node of one of these kinds."""
    return any(isinstance(x, kinds) for x in ast.walk(node))


def list_statements(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield all statements, including nested ones; expressions are not searched."""
    for node in nodes:
        yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from list_statements(getattr(node, block, ()))
