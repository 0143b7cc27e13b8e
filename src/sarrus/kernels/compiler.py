"""How kernels are compiled: one set of flags, one cache folder.

The compiler's own cache notices a change in the file of a function, not in the files of what it calls.
So the folder is named by a digest of all kernel sources, of the thresholds, which are compiled in, and of the
versions that compiled them.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

try:
    import numba
    from numba.extending import register_jitable
except ImportError:
    # beside a device there may be none: kernels then run as they are written, and slowly
    numba = None  # type: ignore[assignment]

try:
    import fcntl
except ImportError:
    # not on every system
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("sarrus")

# whether kernels are compiled at all
COMPILES = numba is not None and not numba.config.DISABLE_JIT

Formula = TypeVar("Formula", bound=Callable[..., Any])

# contraction (fused multiply-add) is exact arithmetic with fewer roundings; reassociation lets sums use
# vector instructions; nothing that assumes away nan or inf. Kernels allocate nothing, so references need
# no counting (_nrt): counting them at every call took half of the time of a small mechanism.
FLAGS: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc"},
    "nogil": True,
    "_nrt": False,
}

# what only kernels call needs no entry from Python; leaving it out saves half the compile time
INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _digest() -> str:
    text = hashlib.sha256()
    for part in (
        numba.__version__ if COMPILES else "",
        np.__version__,
        sys.version,
        repr(sorted(FLAGS)),
    ):
        text.update(part.encode())
    here = Path(__file__).parent
    for path in (here.parent / "thresholds.py", *sorted(here.rglob("*.py"))):
        text.update(path.read_bytes())
    return text.hexdigest()[:16]


def cache_folder() -> Path:
    """Where compiled kernels of this version are kept: a user's cache, or a temporary folder."""
    root = os.environ.get("SARRUS_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    base = Path(root) if root else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    folder = base / "sarrus" / _digest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    # a new folder of this process alone: compiled code of others is not to be trusted
    return Path(tempfile.mkdtemp(prefix="sarrus-"))


CACHE = cache_folder()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a small function that others call: inlined, since a call copies the model's tuples."""
    return _compile(function, forceinline=True, **INNER)


def block(function: Callable[..., Any]) -> Any:
    """Compile a larger function that others call, on its own: inlining it again and again would
    cost compile time and gain nothing.
    """
    return _compile(function, **INNER)


def law(function: Formula) -> Formula:
    """Leave a formula as it is, for numbers and arrays in Python; kernels that use it inline it."""
    return register_jitable(forceinline=True, **FLAGS)(function) if COMPILES else function


def entry(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, cached in the project's folder."""
    return _compile(function, cache=True)


def _compile(function: Callable[..., Any], **more: Any) -> Any:
    if numba is None:
        return function
    # the compiler reads its folder from a global setting when a function is decorated
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(CACHE)
    try:
        return numba.njit(**FLAGS, **more)(function)
    finally:
        numba.config.CACHE_DIR = before


@contextmanager
def compiling(method: str, loaded: bool) -> Iterator[None]:
    """Run what compiles (or loads) the kernels of a method; says so if they are not cached yet.

    Of several processes one compiles, and the others wait for it.
    """
    ready = CACHE / f"{method}{'-loads' if loaded else ''}.ready"
    if not COMPILES or ready.exists():
        yield
        return
    with _alone(ready.with_suffix(".lock")):
        if not ready.exists():
            kind = "with loads or drives " if loaded else ""
            log.warning(
                f"compiling once for '{method}' {kind}(20 to 40 s); later runs start at once"
            )
        yield
        ready.touch()


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock that the system frees when a process ends; without locks, go on."""
    if fcntl is None:
        yield
        return
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
