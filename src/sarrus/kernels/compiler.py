"""How kernels are compiled: translated (translate.py), one set of flags, one store of compiled code.

The store is named by a digest of all kernel sources and of the thresholds, which are compiled in; an entry of it
by the types of its arguments, the processor and the versions of the compiler. Entries are checked before they are
used (cache.py).
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import logging
import os
import struct
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..cache import Store
from .translate import BOOL, DTYPES, FLOAT, INT, Module, Rank, Record

log = logging.getLogger("sarrus")

# whether kernels are compiled at all; as plain Python they are slow, and can be looked into
COMPILES = os.environ.get("SARRUS_PLAIN_KERNELS", "0") == "0"

Formula = TypeVar("Formula", bound=Callable[..., Any])


def _digest() -> str:
    text = hashlib.sha256()
    here = Path(__file__).parent
    for path in (here.parent / "thresholds.py", *sorted(here.rglob("*.py"))):
        text.update(path.read_bytes())
    return text.hexdigest()[:16]


DIGEST = _digest()
STORE = Store(f"kernels-{DIGEST}")


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a small function that others call."""
    return Kernel(function) if COMPILES else function


def block(function: Callable[..., Any]) -> Any:
    """Compile a larger function that others call, on its own: inlining it again and again would
    cost compile time and gain nothing.
    """
    return Kernel(function, inline="noinline") if COMPILES else function


def exact(function: Callable[..., Any]) -> Any:
    """Compile a small function whose roundings count: no sum of it is reordered."""
    return Kernel(function, exact=True) if COMPILES else function


def law(function: Formula) -> Formula:
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

    py_func: the same in Python; inline: what the compiler is told of it; exact: whether its roundings count.
    from_disk: how often compiled code was found on the disk.
    """

    def __init__(self, function: Callable[..., Any], inline: str = "", exact: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.inline, self.exact = function, inline, exact
        self.from_disk = 0
        self._made: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, *args: Any) -> Any:
        """Run it."""
        kinds, words, keep = _pack(args)
        made = self._made.get(kinds) or self._make(kinds)
        found = made(words)
        del keep
        return found

    def _make(self, kinds: tuple[Any, ...]) -> Callable[..., Any]:
        with _COMPILING:
            if kinds not in self._made:
                results, address = self._load(kinds)
                self._made[kinds] = _caller(results, address)
            return self._made[kinds]

    def _load(self, kinds: tuple[Any, ...]) -> tuple[str, int]:
        """Kinds of the results, a letter each, and the address of the code."""
        from .native import compile_kernel, describe_host

        name = f"{self.__module__}.{self.__qualname__}"
        source = _read(self.py_func.__code__.co_filename)
        key = repr((kinds, describe_host())).encode() + source
        place = f"{name}-{hashlib.sha256(key).hexdigest()[:16]}"
        kept = STORE.read(place)
        if kept is None:
            text, found = Module().entry("entry", self, kinds)
            results = "".join(_LETTERS[kind] for kind in found)
            kept = (
                results.encode()
                + b"\n"
                + compile_kernel(text.replace("@entry(", f"@{_symbol(place)}("))
            )
            STORE.write(place, kept)
        else:
            self.from_disk += 1
        head, code = kept.split(b"\n", 1)
        return head.decode(), _engine().load(code, _symbol(place))


# how results are read back
_LETTERS = {FLOAT: "d", INT: "q", BOOL: "?"}
_COMPILING = threading.RLock()
_CALL = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)


@functools.lru_cache(maxsize=1)
def _engine() -> Any:
    from .native import Engine

    return Engine()


@functools.cache
def _read(path: str) -> bytes:
    return hashlib.sha256(Path(path).read_bytes()).digest()


def _symbol(place: str) -> str:
    return place.replace("-", "_").replace("<", "_").replace(">", "_")


def _caller(results: str, address: int) -> Callable[..., Any]:
    """A function of the words of the arguments."""
    call = _CALL(address)
    count = len(results)
    read = struct.Struct("".join("q" if x == "?" else x for x in results)).unpack
    truths = [n for n, x in enumerate(results) if x == "?"]

    def run(words: bytes) -> Any:
        out = ctypes.create_string_buffer(8 * count) if count else None
        call(words, out)
        if out is None:
            return None
        found = list(read(out))
        for n in truths:
            found[n] = bool(found[n])
        return found[0] if count == 1 else tuple(found)

    return run


# arguments: a word each, or an address and sizes; a named tuple is the address of its words


def _pack(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], bytes, list[Any]]:
    """Types and words of arguments, and what has to live as long as they are used."""
    kinds, words, keep = [], [], []
    for value in args:
        if isinstance(value, tuple):
            packed = _Packed.of(value)
            keep.append(packed)
            kinds.append(packed.record)
            words.append(packed.place)
        else:
            kind, text = _words_of(value)
            kinds.append(kind)
            words.append(text)
    return tuple(kinds), b"".join(words), keep


class _Packed:
    """A named tuple as words in memory.

    One of arrays alone is kept as long as all of them live: then whatever has the same identities is the same.
    """

    _kept: ClassVar[dict[int, _Packed]] = {}

    def __init__(self, value: Any) -> None:
        leaves: list[Any] = []
        self.record, self.words = _flatten(value, leaves)
        address = ctypes.cast(ctypes.c_char_p(self.words), ctypes.c_void_p).value or 0
        self.place = struct.pack("q", address)
        self.nested = [n for n, x in enumerate(value) if isinstance(x, tuple)]
        self.names = self._names(value)
        if all(isinstance(x, np.ndarray) for x in leaves):
            key, kept = id(value), self._kept
            self.alive = [weakref.ref(x, lambda _: kept.pop(key, None)) for x in leaves]
            kept[key] = self

    @classmethod
    def of(cls, value: Any) -> _Packed:
        """The words of a tuple."""
        found = cls._kept.get(id(value))
        return found if found is not None and found.names == found._names(value) else cls(value)

    def _names(self, value: Any) -> list[int]:
        out = list(map(id, value))
        for n in self.nested:
            out += map(id, value[n])
        return out


def _flatten(value: Any, leaves: list[Any]) -> tuple[Any, bytes]:
    """Type and words of an argument or field; leaves: all that is in it."""
    if not isinstance(value, tuple):
        if value is not None:
            leaves.append(value)
        return _words_of(value)
    parts = [_flatten(x, leaves) for x in value]
    names = getattr(value, "_fields", tuple(str(n) for n in range(len(value))))
    return Record.of(names, tuple(kind for kind, _ in parts)), b"".join(x for _, x in parts)


# an array like any other
_SOME = np.zeros(1)
_RANKS: dict[tuple[str, int], Rank] = {}
_WORDS = [struct.Struct(f"{1 + axes}q").pack for axes in range(8)]
# where an array has the address of its numbers: behind the head of every object
_HEAD = object.__basicsize__
_POINTER = ctypes.c_size_t.from_address


def _rank(value: Any) -> Rank:
    if value.dtype.char not in DTYPES:
        raise TypeError(f"kernels take no arrays of {value.dtype}")
    rank = _RANKS[value.dtype.char, value.ndim] = Rank(DTYPES[value.dtype.char], value.ndim)
    return rank


def _address(value: Any) -> int:
    """Where the numbers of an array are: five times faster than to ask the array."""
    return _POINTER(id(value) + _HEAD).value


def _ask_address(value: Any) -> int:
    return int(value.__array_interface__["data"][0])


# another kind of Python may have it elsewhere
if _address(_SOME) != _ask_address(_SOME):
    _address = _ask_address


def _words_of(value: Any) -> tuple[Any, bytes]:
    """Type and words of a number, an array or None."""
    if isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise TypeError("kernels take arrays in C order")
        kind = _RANKS.get((value.dtype.char, value.ndim)) or _rank(value)
        return kind, _WORDS[value.ndim](_address(value), *value.shape)
    if isinstance(value, float):
        return FLOAT, struct.pack("d", value)
    if value is None:
        return None, b""
    return BOOL if isinstance(value, bool | np.bool_) else INT, struct.pack("q", value)


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
                f"compiling once for '{method}' {kind}(some seconds); later runs start at once"
            )
        yield
        STORE.write(ready, b"")
