"""Timing: one thread on one core, a warm-up, several repeats, and a calibration.

Two times are measured: the solve including the recording of all outputs, which is used for ranking, and the solve
alone. Times of different machines are compared as multiples of the calibration kernel, timed in the same run.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .. import kernels
from ..kernels import specialise
from ..result import Result

REPEATS = 7
# If the median is this far above the best time, something else was running.
BUSY = 0.15
CALIBRATION_VERSION = 1


@dataclass(frozen=True)
class Timing:
    """Times of one setting [s]; spread: relative excess of the median of cpu over its minimum.

    cpu: solve and recording of all outputs, used for ranking; solve: without the recording; same_bits:
    whether every repeat gave bitwise identical numbers.
    """

    repeats: int
    cpu: float
    cpu_median: float
    solve: float
    solve_median: float
    solve_wall: float
    spread: float
    busy: bool
    same_bits: bool
    calibration: float
    calibration_version: int
    set_up: float
    record: float
    compile: float
    load: float

    def as_dict(self) -> dict[str, Any]:
        """Return the times as data for a JSON file."""
        named = asdict(self)
        return {"import": named.pop("load"), **named}


def time_solve(
    simulate: Callable[[], Result],
    repeats: int = REPEATS,
    patience: float = np.inf,
    specialised: bool | None = None,
) -> tuple[Result, Timing]:
    """Run once to warm up, then repeatedly; returns the result and the times of its solve.

    patience [s]: no repeat starts after this time; a run that long needs no more. specialised: True compiles code
    specialised for the topology beforehand, False uses it only if it is cached on disk; None if it does not apply.
    No repeat may depend on what ran before it.
    """
    first = simulate()
    if specialised is not None and first.cpu_seconds <= patience:
        specialise.warm_up(simulate, patience, compiles=specialised)
    with one_core(), specialise.keep_code():
        begin = time.perf_counter()
        cpu: list[float] = []
        solve: list[float] = []
        wall: list[float] = []
        prints = {fingerprint(first)}
        while len(cpu) < repeats and (not cpu or time.perf_counter() - begin < patience):
            # A long run needs no warm-up.
            result = first if first.cpu_seconds > patience else simulate()
            cpu.append(result.cpu_seconds)
            solve.append(result.solve_seconds)
            wall.append(result.timings["solve_wall"])
            prints.add(fingerprint(result))
            if result is first:
                break
        calibration = calibrate()
    best, median = min(cpu), statistics.median(cpu)
    spread = median / best - 1 if best > 0 else 0.0
    return first, Timing(
        repeats=len(cpu),
        cpu=best,
        cpu_median=median,
        solve=min(solve),
        solve_median=statistics.median(solve),
        solve_wall=min(wall),
        spread=spread,
        busy=spread > BUSY,
        same_bits=len(prints) == 1,
        calibration=calibration,
        calibration_version=CALIBRATION_VERSION,
        set_up=first.timings["set_up"],
        record=first.timings["record_cpu"],
        compile=first.timings["compile"],
        load=first.timings["import"],
    )


def fingerprint(result: Result) -> str:
    """Return a digest of the numbers of a result."""
    digest = hashlib.sha256()
    for part in (result.times, result.coordinates, result.rates, result.energy_balance):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process on one core, where the system allows it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def calibrate() -> float:
    """Return the CPU seconds of a fixed small workload, best of seven: the current speed of this machine."""
    matrix = np.zeros((24, 24))
    kernels.calibration.eliminate(matrix, 1)
    best = np.inf
    for _ in range(7):
        begin = time.thread_time()
        kernels.calibration.eliminate(matrix, 200)
        best = min(best, time.thread_time() - begin)
    return float(best)
