"""Memory of kernels: large blocks are used again, never by two at once, and are zeros each time."""

from threading import Barrier, Thread

import numpy as np
import pytest

from sarrus.kernels import layout

SHAPES = (3, 7), (1000,), (41, 5)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of any size are kept, and none is yet."""
    monkeypatch.setattr(layout, "KEPT_FROM", 1)
    monkeypatch.setattr(layout, "_KEPT", [])


def address(arrays):
    return arrays[0].ctypes.data


def test_a_block_is_used_again_when_nobody_has_it():
    """Cleared; as long as one view of it lives it is not given away."""
    first = layout.make_room(*SHAPES)
    for x in first:
        x.fill(7.0)
    at, kept = address(first), first[-1]
    del first, x
    other = layout.make_room(*SHAPES)
    assert address(other) != at
    assert (kept == 7.0).all()
    del kept
    again = layout.make_room(*SHAPES)
    assert address(again) == at
    assert all((x == 0.0).all() for x in again)


def test_few_blocks_are_kept():
    """The last ones."""
    for n in (100, 200, 300):
        layout.make_room((n,))
    assert [len(x) // 100 for x in layout._KEPT] == [2, 3]


def test_threads_have_blocks_of_their_own():
    """All ask at once, hold what they got until all have it, and write into it."""
    count, found = 6, []
    barrier = Barrier(count)

    def use(n):
        for _ in range(20):
            barrier.wait()
            arrays = layout.make_room(*SHAPES)
            clean = all((x == 0.0).all() for x in arrays)
            arrays[1].fill(n)
            barrier.wait()
            found.append(clean and bool((arrays[1] == n).all()))
            del arrays

    threads = [Thread(target=use, args=(n,)) for n in range(1, count + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20 * count
    assert np.all(found)
