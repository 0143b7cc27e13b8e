"""The origin of a run: machine, versions, threads, command, date."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

LIBRARIES = ("sarrus", "numpy", "scipy", "numba", "llvmlite", "matplotlib")
THREAD_SETTINGS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def describe_origin(command: str) -> dict[str, Any]:
    """Return machine, versions, threads, command and date of a run."""
    return {
        "machine": describe_machine(),
        "versions": describe_versions(),
        "threads": describe_threads(),
        "command": command,
        "date": now(),
    }


def now() -> str:
    """Return date and time in the format of the files."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def command_line() -> str:
    """Return the command that started this process, as typed."""
    return shlex.join(["sarrus", *sys.argv[1:]])


def describe_machine() -> dict[str, Any]:
    """Return processor, system and Python version."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def describe_versions() -> dict[str, str]:
    """Return the versions of this package and of its numerical libraries."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def describe_threads() -> dict[str, Any]:
    """Return the threads used by the solve (always one) and the settings of the libraries."""
    settings = {name: os.environ.get(name) for name in THREAD_SETTINGS}
    return {"solve": 1, "settings": settings}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            for line in info:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
