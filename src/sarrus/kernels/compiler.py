"""Compilation of kernels: translation (language/), one set of flags, one store of compiled code.

The name of the store contains a digest of all kernel sources and of the thresholds, which are compiled in. An
entry is named by the types of its arguments, the processor and the versions of the compiler. Entries are checked
before use (cache.py). With SARRUS_CHECKED=1 every array access is checked (language/checks.py); such code has a
separate store.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import logging
import os
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from .. import kernels
from ..cache import Store
from .arguments import check, find_layout, pack
from .language.checks import OUT_OF_BOUNDS, WORDS, read_failure
from .language.kinds import BOOL, FLOAT, INT
from .language.module import Module

log = logging.getLogger("sarrus")

# Whether kernels are compiled at all; as plain Python they are slow but can be debugged.
COMPILES = os.environ.get("SARRUS_PLAIN_KERNELS", "0") == "0"
# Whether an out-of-bounds access raises a BoundsError; otherwise it corrupts memory.
CHECKED = os.environ.get("SARRUS_CHECKED", "0") != "0"

Formula = TypeVar("Formula", bound=Callable[..., Any])


def _digest() -> str:
    text = hashlib.sha256()
    here = Path(__file__).parent
    for path in (here.parent / "thresholds.py", *sorted(here.rglob("*.py"))):
        text.update(path.read_bytes())
    return text.hexdigest()[:16]


DIGEST = _digest()
STORE = Store(f"kernels-{DIGEST}{'-checked' if CHECKED else ''}")


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a small function that kernels call."""
    return Kernel(function) if COMPILES else function


def noinline(function: Callable[..., Any]) -> Any:
    """Compile a larger function that kernels call, without inlining, which would only cost compile time."""
    return Kernel(function, inline="noinline") if COMPILES else function


def cold(function: Callable[..., Any]) -> Any:
    """Compile a rarely called function; specialised code (specialise.py) calls its generic version."""
    return Kernel(function, inline="noinline", cold_code=True) if COMPILES else function


def exact(function: Callable[..., Any]) -> Any:
    """Compile a small function whose rounding matters: its sums are not reordered."""
    return Kernel(function, exact=True) if COMPILES else function


def formula(function: Formula) -> Formula:
    """Leave a formula unchanged, for numbers and arrays in Python; kernels that use it compile it."""
    return function


def at_address(function: Formula) -> Formula:
    """Mark a function of an address and arguments: kernels call the code at the address."""
    function.at_address = True
    return function


def entry(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, cached in the store."""
    return kernel(function)


class Kernel:
    """A compiled function, compiled for each set of argument types at the first call with them.

    py_func: the Python function. inline: LLVM inlining attribute. exact: whether its rounding matters. cold_code:
    whether it is rarely called. from_disk: how often compiled code was found on disk.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        inline: str = "",
        exact: bool = False,
        cold_code: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.inline, self.exact, self.cold_code = function, inline, exact, cold_code
        self.from_disk = 0
        self._made: dict[tuple[Any, ...], Callable[[bytes], Any]] = {}

    def __call__(self, *args: Any) -> Any:
        """Run the kernel."""
        kinds, words, keep = pack(args)
        made = self._made.get(kinds)
        found = WRONG if made is None else made(words)
        if found is WRONG:
            # The types are new, or a tuple has other types than others of its class.
            check(args)
            kinds, words, keep = pack(args, fresh=True)
            found = (self._made.get(kinds) or self._make(kinds))(words)
        del keep
        return found

    def has_code(self, kinds: tuple[Any, ...]) -> bool:
        """Whether code for some types is compiled or loaded."""
        return kinds in self._made

    def _make(self, kinds: tuple[Any, ...]) -> Callable[[bytes], Any]:
        with _COMPILING:
            if kinds not in self._made:
                results, address = self._load(kinds)
                self._made[kinds] = make_caller(results, address, _engine())
            return self._made[kinds]

    def _load(self, kinds: tuple[Any, ...]) -> tuple[str, int]:
        """Kinds of the results, one letter each, and the address of the code."""
        source, layout = _read(self.py_func.__code__.co_filename), find_layout()
        key = repr((kinds, layout, kernels.native.describe_host())).encode() + source
        place = f"{self.__module__}.{self.__qualname__}-{hashlib.sha256(key).hexdigest()[:16]}"
        symbol = "".join(c if c.isalnum() else "_" for c in place)
        kept = STORE.read(place)
        if kept is None:
            text, found = Module(checked=CHECKED).entry(symbol, self, kinds, layout)
            results = "".join(LETTERS[kind] for kind in found)
            kept = results.encode() + b"\n" + kernels.native.compile_kernel(text)
            STORE.write(place, kept)
        else:
            self.from_disk += 1
        head, code = kept.split(b"\n", 1)
        return head.decode(), _engine().load(code, symbol)


# Struct letters for reading results back.
LETTERS = {FLOAT: "d", INT: "q", BOOL: "?"}
_COMPILING = threading.RLock()
_CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p)
# Returned if arguments are not of the types that the code was translated for.
WRONG = object()


@functools.lru_cache(maxsize=1)
def _engine() -> Any:
    return kernels.native.NativeCode()


@functools.cache
def _read(path: str) -> bytes:
    return hashlib.sha256(Path(path).read_bytes()).digest()


def make_caller(results: str, address: int, engine: Any) -> Callable[[bytes], Any]:
    """A function of the words of the arguments; engine: owner of the code, kept alive with it."""
    call = _CALL(address)
    call.engine = engine
    truths = [n for n, x in enumerate(results) if x == "?"]
    room = ctypes.c_char * (8 * max(len(results), WORDS))
    read = struct.Struct(results.replace("?", "q")).unpack_from

    def run(words: bytes) -> Any:
        out = room()
        status = call(words, out)
        if status == OUT_OF_BOUNDS:
            raise read_failure(out)
        if status:
            return WRONG
        found = list(read(out))
        for n in truths:
            found[n] = bool(found[n])
        return tuple(found) if len(found) > 1 else found[0] if found else None

    return run


@contextmanager
def compiling(
    method: str, loaded: bool, driven: bool = False, tight: bool = False
) -> Iterator[None]:
    """Context for compiling (or loading) the kernels of a method; logs a message if they are not cached yet.

    If several processes need them, one compiles and the others wait.
    """
    suffix = "-drives" if driven else "-loads" if loaded else ""
    ready = f"{method}{suffix}{'-digits' if tight else ''}.ready"
    if not COMPILES or STORE.has(ready):
        yield
        return
    with STORE.alone(ready):
        if not STORE.has(ready):
            kind = "with drives " if driven else "with applied forces " if loaded else ""
            kind += "in extended precision " if tight else ""
            log.warning(
                f"compiling once for '{method}' {kind}(some seconds); later runs start at once"
            )
        yield
        STORE.write(ready, b"")
