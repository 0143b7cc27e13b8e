"""Run foreign libraries that read users' files in a child process, with limits on time and memory.

A few bytes of a file can keep such a library busy for hours, fill the memory or crash it, and compiled code cannot
be interrupted. A child process can be stopped, by its limits and by Ctrl-C. It imports nothing of this package, so
it starts as fast as the library loads; it answers with plain arrays and JSON.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LIGHT = {"MUJOCO_GL": "disable", "ARROW_DEFAULT_MEMORY_POOL": "system"}
# The key of the JSON text among the arrays of an answer.
WORDS = "words"


@dataclass(frozen=True)
class ProcessLimits:
    """Limits of a child process: CPU time [s], memory beyond its start [bytes], and wall-clock time [s]."""

    cpu: float = 20.0
    memory: int = 2 << 30
    wall: float = 300.0


class ForeignError(ValueError):
    """A library exceeded its limits or crashed; the message names the limit, not the file."""


def request(
    program: str, question: dict[str, Any], limits: ProcessLimits | None = None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Run a program of this folder in a child process; return the words and arrays of its answer.

    Raises ForeignError if it exceeds its time or memory or crashes. KeyboardInterrupt stops the child.
    """
    limits = limits or ProcessLimits()
    folder = Path(__file__).parent
    code = folder / f"{program}.py"
    if not code.is_file():
        # Otherwise this would look like a crash of the library.
        raise FileNotFoundError(f"there is no program '{program}' in {folder}")
    command = [sys.executable, "-P", str(folder / "child.py"), str(code)]
    message = {"question": question, "cpu": limits.cpu, "memory": limits.memory}
    with (
        # Libraries leave log files in their working folder.
        tempfile.TemporaryDirectory(prefix="sarrus-child-") as scratch,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=scratch,
            env=_environment(),
            # Ctrl-C reaches this process, which stops the child.
            start_new_session=True,
        ) as process,
    ):
        try:
            answer, _ = process.communicate(json.dumps(message).encode(), limits.wall)
        except BaseException as error:
            process.kill()
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise ForeignError(f"it takes more than {limits.wall:g} s") from None
            raise
    return _open(answer, process.returncode, limits)


def _environment() -> dict[str, str]:
    """Return the child's environment: the same libraries, one thread, no slow graphics, no preallocated memory."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    found = os.pathsep.join(os.path.abspath(path) for path in sys.path if path)
    return {**os.environ, **one, "PYTHONPATH": found, **LIGHT}


def _open(
    answer: bytes, code: int, limits: ProcessLimits
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the words and arrays of an answer; raise ForeignError with the reason if the child died."""
    if code == -getattr(signal, "SIGXCPU", 0):
        raise ForeignError(f"it takes more than {limits.cpu:g} s of CPU time")
    try:
        with np.load(io.BytesIO(answer), allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
        words: dict[str, Any] = json.loads(arrays.pop(WORDS).tobytes())
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        raise ForeignError(f"its reader crashed ({how})") from None
    if "memory" in words:
        raise ForeignError(f"it takes more than {limits.memory / 1e9:.2g} GB of memory")
    return words, arrays
