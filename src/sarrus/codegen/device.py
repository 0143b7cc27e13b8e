"""Many mechanisms of one structure on a CUDA device, one a thread: PTX loaded by CuPy (extra: sarrus[gpu])."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Floats
from .lanes import Found, local_tolerance
from .machine import ENTRY, compile_ptx
from .structure import Structure

# threads of a block: all that the registers of a processor hold
BLOCK = 256
# bytes of results on the device at once
MOST_BYTES = 4_000_000_000


class DeviceError(RuntimeError):
    """No device can be used; the sentence says why."""


def find_cupy() -> Any:
    """CuPy with a device, or a sentence."""
    try:
        import cupy
    except ImportError as error:
        raise DeviceError(
            "device='gpu' needs CuPy: install it with `pip install '.[gpu]'`, or leave device out"
        ) from error
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(f"no CUDA device was found ({error}); leave device out") from error
    if not count:
        raise DeviceError("no CUDA device was found; leave device out")
    return cupy


def run_on_device(
    structure: Structure,
    numbers: Floats,
    times: Floats,
    end: float,
    tolerance: float,
    *,
    most_steps: int = 10_000_000,
    keep: bool = True,
    zero: float | None = None,
) -> Found:
    """All steps and outputs of some runs; numbers: (slots, runs). As `Lanes.run`; zero: None without crossings."""
    cupy = find_cupy()
    capability = cupy.cuda.Device().compute_capability
    kernel, summaries = _load(structure, capability, zero is not None)
    columns, runs = len(structure.columns) + 1, numbers.shape[1]
    local = local_tolerance(tolerance)
    shared = cupy.asarray(np.array([end, local, float(most_steps), zero or 0.0]))
    # summaries alone need one row, which takes what is written to no output
    when = cupy.asarray(np.append(times, np.inf))
    row_bytes = 8 * (len(times) + 1) * columns
    part = max(BLOCK, min(runs, MOST_BYTES // row_bytes))
    results = np.empty((runs if keep else 0, len(times), columns))
    told = np.empty((summaries, runs))
    for first in range(0, runs, part):
        last = min(first + part, runs)
        n = last - first
        given = cupy.asarray(np.ascontiguousarray(numbers[:, first:last]))
        out = cupy.empty((len(times) + 1, columns, n))
        summary = cupy.empty((summaries, n))
        kernel(
            (-(-n // BLOCK),),
            (BLOCK,),
            (given, np.int64(n), given, when, np.int64(len(times)), out, summary, shared),
        )
        told[:, first:last] = summary.get()
        if keep:
            results[first:last] = out[:-1].transpose(2, 0, 1).get()
    return Found(results, told)


@lru_cache(maxsize=16)
def _load(structure: Structure, capability: str, watches: bool) -> tuple[Any, int]:
    """The kernel and how much it tells of a run, compiled once in a process."""
    import cupy

    text, o = compile_ptx(structure, f"sm_{capability}", watches)
    # CuPy reads PTX from a file
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.ptx"
        path.write_text(text, encoding="ascii")
        kernel = cupy.RawModule(path=str(path)).get_function(ENTRY)
    return kernel, o.summary_places
