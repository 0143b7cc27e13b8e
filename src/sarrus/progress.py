"""Progress of long computations; the caller's context sets the listener.

A listener may raise an exception, which cancels the computation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[float, float], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call listener(done, total) from time to time during the block: simulated seconds, pages, ..."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def part(number: int, total: int) -> Iterator[None]:
    """The block computes one of several parts, counted from 0; a listener gets the progress of all of them."""
    outer = _listener.get()
    if outer is None:
        yield
        return
    with listening(lambda done, of: outer(number + (done / of if of else 0.0), total)):
        yield
    outer(number + 1, total)


def report(done: float, total: float) -> None:
    """Report the progress of a run."""
    listener = _listener.get()
    if listener is not None:
        listener(done, total)
