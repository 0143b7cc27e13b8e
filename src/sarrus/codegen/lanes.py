"""Many mechanisms of one structure at once: their numbers laid out in lanes, run by threads, read back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..arrays import Floats
from ..kernels import rules
from . import series
from .machine import Code
from .structure import Structure

# groups of lanes that a thread is given at once: a new one comes when it is done
GROUPS_AT_ONCE = 16
# values of a lane's memory up to which eight lanes fit into the cache; four are faster beyond
MOST_FOR_EIGHT = 1500


def local_tolerance(tolerance: float) -> float:
    """The tolerance of a step."""
    return rules.local_tolerance(tolerance)[0]


@dataclass(frozen=True)
class Found:
    """Of all lanes: results (runs, outputs, columns), the last one the energy; summaries (places, runs)."""

    results: Floats
    summaries: Floats


class Lanes:
    """The code of a structure, with so many lanes or as many as are fastest; watches: with times of crossings."""

    def __init__(
        self, structure: Structure, lanes: int | None = None, watches: bool = False
    ) -> None:
        self.structure = structure
        if lanes is None:
            rows = rules.HIGHEST_ORDER + 1
            s = structure
            values = rows * (s.coordinates + s.equations + len(s.forms)) + 2 * len(s.L_row)
            lanes = 8 if values <= MOST_FOR_EIGHT else 4
        self.lanes = lanes
        self.code = Code(structure, lanes, watches)

    def run(
        self,
        numbers: Floats,
        times: Floats,
        end: float,
        tolerance: float,
        *,
        most_steps: int = 10_000_000,
        threads: int = 1,
        keep: bool = True,
        zero: float | None = None,
    ) -> Found:
        """All steps and outputs of some runs; numbers: (slots, runs).

        times: of outputs, increasing, up to the end [s]. keep: False if only the summaries are wanted. zero: what
        values of the joint equations count as at a crossing.
        """
        runs, lanes, code = numbers.shape[1], self.lanes, self.code
        shared = _aligned(series.SHARED)
        shared[:] = end, local_tolerance(tolerance), most_steps, zero or 0.0
        when = np.append(times, np.inf)
        # lanes that are left over repeat the last run; the last row of each takes what is written to no output
        rows = -(-runs // lanes) * lanes if keep else 0
        results = np.empty((rows, len(when), code.columns))
        summaries = np.empty((code.summaries, runs))
        rooms = threading.local()

        def work(first: int, last: int) -> None:
            if not hasattr(rooms, "own"):
                rooms.own = self._make_room()
            given, memory, told = rooms.own
            groups = -(-(last - first) // lanes)
            which = np.minimum(np.arange(first, first + groups * lanes), last - 1)
            view = given[: groups * self.structure.slots * lanes].reshape(groups, -1, lanes)
            view[:] = numbers[:, which].reshape(-1, groups, lanes).transpose(1, 0, 2)
            out = results[first:].ctypes.data if keep else None
            code.run(
                given.ctypes.data, groups, memory.ctypes.data, when.ctypes.data, len(times),
                out, told.ctypes.data, shared.ctypes.data,
            )  # fmt: skip
            block = told[: groups * code.summaries * lanes].reshape(groups, -1, lanes)
            block = block.transpose(1, 0, 2).reshape(code.summaries, -1)
            summaries[:, first:last] = block[:, : last - first]

        parts = list(_parts(runs, lanes * GROUPS_AT_ONCE))
        if threads == 1 or len(parts) == 1:
            for part in parts:
                work(*part)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(lambda part: work(*part), parts))
        return Found(results[:runs, :-1], summaries)

    def _make_room(self) -> tuple[Floats, Floats, Floats]:
        """Memory of a thread: numbers of some runs, that of a group, and what is told of the runs."""
        code, runs = self.code, self.lanes * GROUPS_AT_ONCE
        return (
            _aligned(runs * self.structure.slots),
            _aligned(code.memory_size * self.lanes),
            _aligned(runs * code.summaries),
        )


@lru_cache(maxsize=64)
def lanes_of(structure: Structure, watches: bool = False) -> Lanes:
    """The code of a structure, compiled once in a process."""
    return Lanes(structure, watches=watches)


def _parts(count: int, size: int) -> Iterator[tuple[int, int]]:
    for first in range(0, count, size):
        yield first, min(first + size, count)


def _aligned(count: int) -> Floats:
    """Numbers that begin on a cache line, as vectors must."""
    block = np.zeros(count + 8)
    first = (-block.ctypes.data % 64) // 8
    return block[first : first + count]
