"""Memory and cores available to a run: of the machine, of its container, within the limits of the process."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import numpy as np

from .names import short

# fraction of the free memory that a run may use; the rest is left to the program and the machine
MEMORY_SHARE = 0.8
# bytes that are free on any machine on which the program starts
LITTLE = 8e5


def check_memory(outputs: int, numbers: float, duration: float) -> None:
    """Raise an error for outputs that do not fit into memory; numbers: stored or computed per output."""
    need = 8.0 * outputs * numbers
    # reading the free memory from files takes longer than a small run
    free = np.inf if need < LITTLE else free_memory()
    if need <= MEMORY_SHARE * free:
        return
    fitting = max(int(MEMORY_SHARE * free / (8.0 * numbers)), 1)
    raise ValueError(
        f"{short(outputs)} outputs of some {numbers:.0f} numbers take {need / 1e9:.2g} GB, and "
        f"{free / 1e9:.2g} GB of memory are free; give an output_step of at least {duration / fitting:.2g} s"
    )


def free_memory() -> float:
    """Bytes that this process may still allocate: limits of machine, container and process; else infinite."""
    free = [np.inf]
    for read in (_free_on_machine, _free_in_container, _free_of_limit):
        with suppress(OSError, ValueError, ImportError, StopIteration, IndexError):
            free.append(read())
    return max(min(free), 0.0)


def _free_on_machine() -> float:
    with open("/proc/meminfo", encoding="ascii") as file:
        return 1024.0 * next(int(x.split()[1]) for x in file if x.startswith("MemAvailable:"))


def _free_in_container() -> float:
    folder = Path("/sys/fs/cgroup")
    # "max" is not a number: there is no limit
    most = int((folder / "memory.max").read_text())
    # cached files count as used, but are released when memory is needed
    words = (folder / "memory.stat").read_text().split()
    cached = int(words[words.index("inactive_file") + 1])
    return float(most - int((folder / "memory.current").read_text()) + cached)


def _free_of_limit() -> float:
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return np.inf
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return float(most - pages * resource.getpagesize())


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1
