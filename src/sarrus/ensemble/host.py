"""Many mechanisms of one structure on the host: eight in the SIMD lanes of each core, cores in parallel."""

from __future__ import annotations

import ctypes
import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats
from ..kernels.batch_entry import ENTRY, SETTINGS, SIZES, BatchPlan, write_run
from ..kernels.compiler import STORE
from ..kernels.native import NativeCode, compile_kernel, describe_host
from ..kernels.run_kernel import REASON
from ..kernels.simd import WIDTH
from ..kernels.step_control import local_tolerance
from ..settings import RunSettings
from ..tracing import ManyNumbers

# groups of lanes that a thread takes at a time, until none are left
GROUPS_AT_ONCE = 16
# number of runs from which compiling new code pays: it takes as long as this many separate runs, more for larger
# structures
FEWEST_RUNS = 1000


@dataclass(frozen=True)
class EnsembleValues:
    """Values of all runs (runs, outputs, columns), the last column is the energy; results (rows, runs) by name."""

    values: Floats
    rows: dict[str, Floats]

    @property
    def reason(self) -> Floats:
        """The return code of each run."""
        return self.rows["counts"][REASON]

    def __getattr__(self, name: str) -> Floats:
        try:
            return self.rows[name]
        except KeyError:
            raise AttributeError(name) from None


def split_results(plan: BatchPlan, results: Floats) -> dict[str, Floats]:
    """Return the rows of results by name."""
    out, at = {}, 0
    for name, size in plan.result_names():
        out[name] = results[at : at + size]
        at += size
    return out


def make_controls(
    settings: RunSettings, counted: tuple[int, int], times: Floats
) -> tuple[Floats, Any]:
    """Return the numbers that all runs share, and sizes without strides; see kernels/batch_entry.py."""
    local = local_tolerance(settings.setting)[0]
    controls = np.array([settings.duration, local, settings.setting])
    assert len(controls) == SETTINGS
    sizes = np.zeros(SIZES, np.int64)
    sizes[2:5] = len(times), *counted
    sizes[9] = settings.max_steps
    return controls, sizes


def output_times(settings: RunSettings) -> tuple[Floats, tuple[int, int]]:
    """Return times from the start to the end of the run, and which of them were requested.

    Energies are relative to the start, and the state at the end is reported, for any choice of outputs.
    """
    late = int(settings.outputs[0] > 0.0)
    early = int(settings.outputs[-1] < settings.duration)
    times = np.concatenate([np.zeros(late), settings.outputs, np.full(early, settings.duration)])
    return times, (late, late + len(settings.outputs))


def run_on_host(
    plan: BatchPlan,
    given: ManyNumbers,
    settings: RunSettings,
    *,
    threads: int = 1,
    keep: bool = True,
) -> EnsembleValues:
    """Compute all steps and outputs of some runs from their numbers."""
    code = host_code(plan)
    numbers = given.dense()
    runs, columns = numbers.shape[1], plan.columns + 1
    times, counted = output_times(settings)
    controls, sizes = make_controls(settings, counted, times)
    outputs = counted[1] - counted[0]
    sizes[1] = runs
    sizes[5:9] = outputs * columns, columns, 1, int(keep)
    values = np.empty((runs, outputs, columns) if keep else (0, outputs, columns))
    # lanes beyond the last run read existing data
    room = -(-runs // WIDTH) * WIDTH - runs
    if room:
        numbers = np.pad(numbers, ((0, 0), (0, room)), mode="edge")
    whole = np.empty((sum_rows(plan), runs + room))
    sizes[1] = runs + room
    rooms = threading.local()
    addresses = [x.ctypes.data for x in (numbers, times, values, controls, sizes, whole)]

    def work(first: int) -> None:
        if not hasattr(rooms, "own"):
            rooms.own = aligned(code.memory * WIDTH)
        last = min(first + WIDTH * GROUPS_AT_ONCE, runs)
        memory = rooms.own.ctypes.data
        for at in range(first, last, WIDTH):
            code.call(*addresses, memory, at, runs)

    parts = range(0, runs, WIDTH * GROUPS_AT_ONCE)
    if threads == 1 or len(parts) == 1:
        for first in parts:
            work(first)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, parts))
    return EnsembleValues(values, split_results(plan, whole[:, :runs]))


def sum_rows(plan: BatchPlan) -> int:
    """Return the number of result rows."""
    return int(np.sum([size for _, size in plan.result_names()]))


class EnsembleCode:
    """Compiled code of a plan; memory: number of doubles that each lane needs."""

    def __init__(self, plan: BatchPlan) -> None:
        key = _key(plan)
        kept = STORE.read(key)
        if kept is None:
            text, memory = write_run(plan, lanes=True)
            # optimisation level
            level = 2 if plan.is_small else 1
            kept = f"{memory}\n".encode() + compile_kernel(text, level)
            STORE.write(key, kept)
        head, code = kept.split(b"\n", 1)
        self.memory = int(head)
        self._engine = NativeCode()
        address = self._engine.load(code, ENTRY)
        kinds = [*[ctypes.c_void_p] * 7, ctypes.c_int64, ctypes.c_int64]
        self.call = ctypes.CFUNCTYPE(None, *kinds)(address)


def _key(plan: BatchPlan) -> str:
    host = hashlib.sha256(repr(describe_host()).encode()).hexdigest()[:16]
    return f"batch-{plan.digest()}-{host}"


def pays(plan: BatchPlan, runs: int) -> bool:
    """Whether runs justify code specialised for their topology: it exists already, or they are many."""
    form = plan.template.form
    size = max(1.0, (len(form.Q) + len(form.phi0)) / 20.0)
    return runs >= FEWEST_RUNS * size or plan.digest() in _CODES or STORE.has(_key(plan))


_CODES: dict[str, EnsembleCode] = {}
_LOCK = threading.Lock()
MOST_KEPT = 64


def host_code(plan: BatchPlan) -> EnsembleCode:
    """Return the code of a plan, compiled once."""
    digest = plan.digest()
    with _LOCK:
        if digest not in _CODES:
            while len(_CODES) >= MOST_KEPT:
                _CODES.pop(next(iter(_CODES)))
            _CODES[digest] = EnsembleCode(plan)
        return _CODES[digest]


def aligned(count: int) -> Floats:
    """Return an array that starts on a cache line."""
    block = np.zeros(count + 8)
    first = (-block.ctypes.data % 64) // 8
    return block[first : first + count]
