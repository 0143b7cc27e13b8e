"""How kernels are compiled: one set of flags, one store of compiled code.

The compiler's own cache notices a change in the file of a function, not in the files of what it calls, and runs
whatever it finds. Here the store is named by a digest of all kernel sources, of the thresholds, which are compiled
in, and of the versions that compiled them; its entries are checked before they are used (cache.py).
"""

from __future__ import annotations

import hashlib
import logging
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

try:
    import numba
    from numba.core import compiler, serialize
    from numba.extending import register_jitable
except ImportError:
    # beside a device there may be none: kernels then run as they are written, and slowly
    numba = None  # type: ignore[assignment]

from ..cache import Store

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


DIGEST = _digest()
STORE = Store(f"kernels-{DIGEST}")


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a small function that others call: inlined, since a call copies the model's tuples."""
    return _compile(function, forceinline=True, **INNER)


def block(function: Callable[..., Any]) -> Any:
    """Compile a larger function that others call, on its own: inlining it again and again would
    cost compile time and gain nothing.
    """
    return _compile(function, **INNER)


def exact(function: Callable[..., Any]) -> Any:
    """Compile a small function whose roundings count: no sum of it is reordered."""
    return _compile(function, forceinline=True, fastmath=False, **INNER)


def law(function: Formula) -> Formula:
    """Leave a formula as it is, for numbers and arrays in Python; kernels that use it inline it."""
    return register_jitable(forceinline=True, **FLAGS)(function) if COMPILES else function


def entry(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, kept in the store."""
    made = _compile(function)
    if COMPILES:
        made._cache = _Kept(f"{function.__module__}.{function.__qualname__}")
    return made


def _compile(function: Callable[..., Any], **more: Any) -> Any:
    if numba is None:
        return function
    return numba.njit(**{**FLAGS, **more})(function)


class _Kept:
    """What the compiler asks for code compiled earlier, and gives it to; one for each function, by name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cache_path = None if STORE.folder is None else str(STORE.folder.path)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Compiled code for some types of arguments, or None."""
        target.refresh()
        key = signature, target.codegen().magic_tuple()
        place = self._place(key)
        content = STORE.read(place)
        if content is None:
            return None
        try:
            kept, payload = pickle.loads(content)
            if kept == key:
                return compiler.CompileResult._rebuild(target, *payload)
        except Exception as error:
            # whole, and still not what this compiler takes
            STORE.drop(place, f"it cannot be loaded: {type(error).__name__}: {error}")
        return None

    def save_overload(self, signature: Any, made: Any) -> None:
        """Keep what was compiled, if it holds nothing of this process alone."""
        if any(not x.can_cache for x in made.lifted) or made.library.has_dynamic_globals:
            return
        key = signature, made.codegen.magic_tuple()
        STORE.write(self._place(key), serialize.dumps((key, made._reduce())))

    def enable(self) -> None:
        """Nothing to do: it is never off."""

    def disable(self) -> None:
        """The same."""

    def flush(self) -> None:
        """Entries stay: `sarrus cache` clears them."""

    def _place(self, key: Any) -> str:
        return f"{self.name}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}"


@contextmanager
def compiling(method: str, loaded: bool) -> Iterator[None]:
    """Run what compiles (or loads) the kernels of a method; says so if they are not cached yet.

    Of several processes one compiles, and the others wait for it.
    """
    ready = f"{method}{'-loads' if loaded else ''}.ready"
    if not COMPILES or STORE.has(ready):
        yield
        return
    with STORE.alone(ready):
        if not STORE.has(ready):
            kind = "with loads or drives " if loaded else ""
            log.warning(
                f"compiling once for '{method}' {kind}(20 to 40 s); later runs start at once"
            )
        yield
        STORE.write(ready, b"")
