"""How kernels are compiled: translated (language/), one set of flags, one store of compiled code.

The store is named by a digest of all kernel sources and of the thresholds, which are compiled in; an entry of it
by the types of its arguments, the processor and the versions of the compiler. Entries are checked before they are
used (cache.py). With SARRUS_CHECKED=1 every access to an array is checked (language/checks.py); such code has a
store of its own.
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

from ..cache import Store
from .arguments import check, find_layout, pack
from .language.checks import OUT_OF_BOUNDS, WORDS, read_failure
from .language.kinds import BOOL, FLOAT, INT
from .language.module import Module

log = logging.getLogger("sarrus")

# whether kernels are compiled at all; as plain Python they are slow, and can be looked into
COMPILES = os.environ.get("SARRUS_PLAIN_KERNELS", "0") == "0"
# whether an access out of bounds raises a BoundsError; without this it corrupts memory
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
    """Compile a small function that others call."""
    return Kernel(function) if COMPILES else function


def noinline(function: Callable[..., Any]) -> Any:
    """Compile a larger function that others call, on its own: inlining it again and again would
    cost compile time and gain nothing.
    """
    return Kernel(function, inline="noinline") if COMPILES else function


def cold(function: Callable[..., Any]) -> Any:
    """Compile a larger function that is rarely reached: also in own code it is the general one (own.py)."""
    return Kernel(function, inline="noinline", seldom=True) if COMPILES else function


def exact(function: Callable[..., Any]) -> Any:
    """Compile a small function whose roundings count: no sum of it is reordered."""
    return Kernel(function, exact=True) if COMPILES else function


def formula(function: Formula) -> Formula:
    """Leave a formula as it is, for numbers and arrays in Python; kernels that use it compile it."""
    return function


def at_address(function: Formula) -> Formula:
    """A function of an address and arguments: kernels call what is at the address."""
    function.at_address = True
    return function


def entry(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, kept in the store."""
    return kernel(function)


class Kernel:
    """A compiled function: for each set of types of its arguments when it is first called with them.

    py_func: the same in Python; inline: what the compiler is told of it; exact: whether its roundings count;
    seldom: whether it is rarely reached. from_disk: how often compiled code was found on the disk.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        inline: str = "",
        exact: bool = False,
        seldom: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.inline, self.exact, self.seldom = function, inline, exact, seldom
        self.from_disk = 0
        self._made: dict[tuple[Any, ...], Callable[[bytes], Any]] = {}

    def __call__(self, *args: Any) -> Any:
        """Run it."""
        kinds, words, keep = pack(args)
        made = self._made.get(kinds)
        found = WRONG if made is None else made(words)
        if found is WRONG:
            # new, or a tuple of other types than others of its class
            check(args)
            kinds, words, keep = pack(args, anew=True)
            found = (self._made.get(kinds) or self._make(kinds))(words)
        del keep
        return found

    def has_code(self, kinds: tuple[Any, ...]) -> bool:
        """Whether it is compiled, or loaded, for some types."""
        return kinds in self._made

    def _make(self, kinds: tuple[Any, ...]) -> Callable[[bytes], Any]:
        with _COMPILING:
            if kinds not in self._made:
                results, address = self._load(kinds)
                self._made[kinds] = make_caller(results, address, _engine())
            return self._made[kinds]

    def _load(self, kinds: tuple[Any, ...]) -> tuple[str, int]:
        """Kinds of the results, a letter each, and the address of the code."""
        from .native import compile_kernel, describe_host

        source, layout = _read(self.py_func.__code__.co_filename), find_layout()
        key = repr((kinds, layout, describe_host())).encode() + source
        place = f"{self.__module__}.{self.__qualname__}-{hashlib.sha256(key).hexdigest()[:16]}"
        symbol = "".join(c if c.isalnum() else "_" for c in place)
        kept = STORE.read(place)
        if kept is None:
            text, found = Module(checked=CHECKED).entry(symbol, self, kinds, layout)
            results = "".join(LETTERS[kind] for kind in found)
            kept = results.encode() + b"\n" + compile_kernel(text)
            STORE.write(place, kept)
        else:
            self.from_disk += 1
        head, code = kept.split(b"\n", 1)
        return head.decode(), _engine().load(code, symbol)


# how results are read back
LETTERS = {FLOAT: "d", INT: "q", BOOL: "?"}
_COMPILING = threading.RLock()
_CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p)
# what is returned if arguments are not of the types that code was translated for
WRONG = object()


@functools.lru_cache(maxsize=1)
def _engine() -> Any:
    from .native import NativeCode

    return NativeCode()


@functools.cache
def _read(path: str) -> bytes:
    return hashlib.sha256(Path(path).read_bytes()).digest()


def make_caller(results: str, address: int, engine: Any) -> Callable[[bytes], Any]:
    """A function of the words of the arguments; engine: what has the code, which lives as long."""
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
def compiling(method: str, loaded: bool, tight: bool = False) -> Iterator[None]:
    """Run what compiles (or loads) the kernels of a method; says so if they are not cached yet.

    Of several processes one compiles, and the others wait for it.
    """
    ready = f"{method}{'-loads' if loaded else ''}{'-digits' if tight else ''}.ready"
    if not COMPILES or STORE.has(ready):
        yield
        return
    with STORE.alone(ready):
        if not STORE.has(ready):
            kind = (
                f"{'with loads or drives ' if loaded else ''}{'with more digits ' if tight else ''}"
            )
            log.warning(
                f"compiling once for '{method}' {kind}(some seconds); later runs start at once"
            )
        yield
        STORE.write(ready, b"")
