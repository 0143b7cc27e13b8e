"""Passing of arguments to compiled code: as Python objects.

Querying sixty arrays for their addresses takes Python longer than simulating a small mechanism. So compiled code
receives the objects themselves and reads arrays and tuples from the C structures of Python and NumPy. Before it
uses an array, it checks that the array has the type the code was translated for; if not, it returns an error code
and does nothing.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np

from .dual import DUAL_NUMBER
from .language.kinds import BOOL, DTYPES, FLOAT, INT, ArrayType, ObjectLayout, TupleType

Packed = tuple[tuple[Any, ...], bytes, list[Any]]


class Words:
    """Words in memory, and their address: of a tuple that contains numbers besides arrays."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.address = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0


def _word(place: int) -> int:
    return ctypes.c_size_t.from_address(place).value


def find_layout() -> ObjectLayout:
    """Offsets of the fields of arrays and tuples that code needs, verified on examples; raises if they differ."""
    head, items = object.__basicsize__, tuple.__basicsize__
    some = np.zeros((5, 3), np.int64)
    pair = (some, some)
    types = [at for at in range(0, head, 8) if _word(id(some) + at) == id(np.ndarray)]
    found = ObjectLayout(
        types[-1] if types else 0, head, head + 8, head + 16, head + 40, head + 48, items
    )
    sizes = _word(id(some) + found.sizes)
    good = (
        bool(types)
        and _word(id(some) + found.data) == some.__array_interface__["data"][0]
        and _word(id(some) + found.axes) & 0xFFFF == some.ndim
        and _word(id(some) + found.dtype) == id(some.dtype)
        and _word(id(some) + found.flags) & 1 == 1
        and _word(id(some.T) + found.flags) & 1 == 0
        and (_word(sizes), _word(sizes + 8)) == some.shape
        and (_word(id(pair) + items), _word(id(pair) + items + 8)) == (id(some), id(some))
    )
    if not good:
        raise ImportError(
            "this Python stores arrays differently from what compiled code expects; set SARRUS_PLAIN_KERNELS=1, "
            "which is slow, or use CPython"
        )
    return found


# The types that code compares with are always the first words.
_OWN = [np.dtype(x) for x in (np.float64, np.int64, np.bool_, np.complex128, DUAL_NUMBER)]
_TYPES = [id(np.ndarray), *map(id, _OWN)]
# Types of numbers and named tuples, as first seen; types of arrays, by dtype and number of axes.
_KINDS: dict[type, Any] = {float: FLOAT, int: INT, bool: BOOL, type(None): None}
_RANKS: dict[tuple[str, int], ArrayType] = {}
# Types of named tuples that contain only arrays: most arguments are such tuples.
_PLAIN: dict[type, TupleType] = {}
# Tuples that contain numbers, with their types and words, by identity. They are small, and this table keeps them
# alive.
_SMALL: dict[int, tuple[Any, Any, Words]] = {}
MOST_SMALL = 32
_FORMATS: dict[tuple[Any, ...], struct.Struct] = {}


def pack(args: tuple[Any, ...], *, fresh: bool = False) -> Packed:
    """Types and words of arguments, and the objects that must stay alive while these are used.

    fresh: examine tuples again, without the types stored for their classes.
    """
    kinds: list[Any] = []
    words: list[Any] = list(_TYPES)
    keep: list[Any] = []
    known = {} if fresh else _PLAIN
    for value in args:
        kind = known.get(value.__class__)
        if kind is not None:
            kinds.append(kind)
            words.append(id(value))
            continue
        kind = _kind(value, fresh)
        kinds.append(kind)
        if kind is None:
            continue
        if isinstance(kind, str):
            words.append(value if kind == FLOAT else int(value))
        elif isinstance(kind, TupleType) and not kind.plain:
            keep.append(_words_of(value, kind))
            words.append(keep[-1].address)
        else:
            words.append(id(value))
    key = tuple(kinds)
    form = _FORMATS.get(key)
    if form is None:
        letters = ("" if k is None else "d" if k == FLOAT else "q" for k in kinds)
        form = _FORMATS[key] = struct.Struct(f"{len(_TYPES)}q" + "".join(letters))
    return key, form.pack(*words), keep


def _kind(value: Any, fresh: bool) -> Any:
    made = value.__class__
    if made is np.ndarray:
        return _RANKS.get((value.dtype.char, value.ndim)) or _rank(value)
    kind = _KINDS.get(made, _KINDS)
    if kind is _KINDS:
        kept = _SMALL.get(id(value))
        if kept is not None and kept[0] is value:
            return kept[1]
    if kind is _KINDS or (fresh and isinstance(value, tuple)):
        kind = kind_of_argument(value)
        # Tuples of numbers and unnamed tuples may contain any types.
        if not isinstance(value, tuple) or (kind.plain and made is not tuple):
            _KINDS[made] = kind
            if isinstance(value, tuple):
                _PLAIN[made] = kind
    return kind


def _words_of(value: Any, kind: Any) -> Words:
    """Words of a tuple that contains numbers, given its type; recently used ones are cached."""
    kept = _SMALL.get(id(value))
    if kept is None or kept[0] is not value:
        if len(_SMALL) >= MOST_SMALL:
            _SMALL.clear()
        kept = value, kind, Words(b"".join(_flatten(value)))
        _SMALL[id(value)] = kept
    return kept[2]


def kind_of_argument(value: Any) -> Any:
    """Type of a number, an array, a tuple, or None."""
    if isinstance(value, np.ndarray):
        return _rank(value)
    if isinstance(value, tuple):
        names = getattr(value, "_fields", tuple(str(n) for n in range(len(value))))
        return TupleType.of(names, tuple(kind_of_argument(x) for x in value))
    if value is None:
        return None
    for kinds, kind in (((bool, np.bool_), BOOL), ((int, np.integer), INT), ((float,), FLOAT)):
        if isinstance(value, kinds):
            return kind
    raise TypeError(f"kernels take no {type(value).__name__}")


def _rank(value: Any) -> ArrayType:
    if value.dtype.char not in DTYPES:
        raise TypeError(f"kernels take no arrays of {value.dtype}")
    rank = _RANKS[value.dtype.char, value.ndim] = ArrayType(DTYPES[value.dtype.char], value.ndim)
    return rank


def check(args: tuple[Any, ...]) -> None:
    """Raise if an array is not C-contiguous or not of a native type."""
    for value in args:
        if isinstance(value, tuple):
            check(value)
        elif isinstance(value, np.ndarray):
            own = value.dtype in _OWN
            if not (own and value.flags.c_contiguous):
                raise TypeError("kernels take arrays of this machine's numbers in C order")


def _flatten(value: Any) -> list[bytes]:
    """Words of the fields of a tuple."""
    out: list[bytes] = []
    for x in value:
        if isinstance(x, tuple):
            out += _flatten(x)
        elif isinstance(x, np.ndarray):
            check((x,))
            address = x.__array_interface__["data"][0]
            out.append(struct.pack(f"{1 + x.ndim}q", address, *x.shape))
        elif x is not None:
            out.append(struct.pack("d", x) if isinstance(x, float) else struct.pack("q", int(x)))
    return out
