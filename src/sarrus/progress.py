"""How far a long run is, for whoever wants to show it; who listens is said by the caller's context."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[float, float], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have listener(done, total) called now and then by runs made within: simulated seconds."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(done: float, total: float) -> None:
    """Say that so much of a run is done."""
    listener = _listener.get()
    if listener is not None:
        listener(done, total)
