"""The child process: set its limits, read a question, run a program on it, write the answer.

Run by its path, `python child.py PROGRAM.py`. The program defines a function `answer(question)` that returns
words, for JSON, and arrays. Nothing of this package is imported.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import sys

import numpy as np


def limit(cpu: float, memory: int) -> None:
    """Limit CPU time [s] and memory beyond that in use [bytes], if the system supports it; disable core files."""
    try:
        import resource
    except ImportError:
        return
    used = 0
    with contextlib.suppress(OSError), open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    seconds = max(int(cpu), 1)
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, used + memory),
    ):
        with contextlib.suppress(OSError, ValueError):
            hard = resource.getrlimit(what)[1]
            resource.setrlimit(what, (most, hard))


def main(program: str) -> None:
    """Answer one question."""
    with os.fdopen(os.dup(1), "wb") as out:
        # Keep what libraries print out of the answer.
        os.dup2(2, 1)
        message = json.load(sys.stdin)
        limit(message["cpu"], message["memory"])
        try:
            words, arrays = runpy.run_path(program)["answer"](message["question"])
            text = np.frombuffer(json.dumps(words).encode(), np.uint8)
            content = io.BytesIO()
            np.savez(content, words=text, **arrays)
        except MemoryError:
            content = io.BytesIO()
            np.savez(content, words=np.frombuffer(b'{"memory": true}', np.uint8))
        out.write(content.getvalue())


if __name__ == "__main__":
    main(sys.argv[1])
