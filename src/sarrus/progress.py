"""How far something long is, for whoever wants to show it; who listens is said by the caller's context.

A listener may raise, which ends what is being made: nobody wants it any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[float, float], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have listener(done, total) called now and then by what is made within: simulated seconds, pages, ..."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def part(number: int, total: int) -> Iterator[None]:
    """What is made within is one of several parts, counted from 0: a listener hears of all of them."""
    outer = _listener.get()
    if outer is None:
        yield
        return
    with listening(lambda done, of: outer(number + (done / of if of else 0.0), total)):
        yield
    outer(number + 1, total)


def tell(done: float, total: float) -> None:
    """Say that so much of a run is done."""
    listener = _listener.get()
    if listener is not None:
        listener(done, total)
