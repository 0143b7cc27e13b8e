"""Kinds of numbers, types, and the values that a function handles during its translation."""

from __future__ import annotations

import struct
from typing import Any, ClassVar, NamedTuple

from ..dual import PARTS
from ..simd import WIDTH

FLOAT, INT, BOOL = "double", "i64", "i1"
# numbers in SIMD lanes and their booleans (simd.py)
LANES, MASK = f"<{WIDTH} x double>", f"<{WIDTH} x i1>"
# integers in lanes, for runs in lanes (masks.py)
WHOLE = f"<{WIDTH} x i64>"
# half as many lanes, where they are known to suffice; there are no booleans of these
NARROW = f"<{WIDTH // 2} x double>"
# the two parts of a double-double number (double_double.py)
WIDE = "<2 x double>"
# value and derivatives of a dual number (dual.py); the type is named, because PARTS may equal WIDTH
DUAL, DUAL_TYPE = "%dual", f"<{PARTS} x double>"
# in memory a boolean takes one byte; lane numbers are stored like any others
STORED = {
    FLOAT: FLOAT, INT: INT, BOOL: "i8", LANES: LANES, NARROW: NARROW, WIDE: WIDE, DUAL: DUAL, WHOLE: WHOLE,
}  # fmt: skip
# kinds of lane-private numbers
OWN = {FLOAT: LANES, INT: WHOLE, BOOL: MASK}
DTYPES = {"d": FLOAT, "l": INT, "q": INT, "?": BOOL, "D": WIDE, "V": DUAL}
# stores of one kind do not change memory of another; addresses in tuples never change
TAGS = {
    FLOAT: "!tbaa !1",
    INT: "!tbaa !2",
    BOOL: "!tbaa !3",
    LANES: "align 8, !tbaa !1",
    NARROW: "align 8, !tbaa !1",
    WIDE: "align 8, !tbaa !1",
    DUAL: "align 8, !tbaa !1",
    WHOLE: "align 8, !tbaa !2",
}
# parent nodes of stored kinds in the alias tree below
PARENTS = {FLOAT: 4, LANES: 4, NARROW: 4, WIDE: 4, DUAL: 4, INT: 5, WHOLE: 5, BOOL: 6}
METADATA = """
!0 = !{!"kernel"}
!1 = !{!4, !4, i64 0}
!2 = !{!5, !5, i64 0}
!3 = !{!6, !6, i64 0}
!4 = !{!"float", !0}
!5 = !{!"int", !0}
!6 = !{!"bool", !0}
!7 = !{}
"""


# metadata numbers from here on: names of memory
HOMES = 10


class ArrayType(NamedTuple):
    """The type of an array.

    If the structure is known, it includes: a name that no other memory has; the known sizes, "" for others; and
    the entries, None where unknown.
    """

    kind: str
    axes: int
    home: str = ""
    sizes: tuple[str, ...] = ()
    values: tuple[int | float | None, ...] | None = None


class Fixed(NamedTuple):
    """The type of an integer that is known during translation."""

    name: str


class ObjectLayout(NamedTuple):
    """Byte offsets of the fields of Python objects that the code reads.

    Of an array: its type, address, number of axes, address of its sizes, dtype, flags; of a tuple: its items.
    """

    type: int
    data: int
    axes: int
    sizes: int
    dtype: int
    flags: int
    items: int


class TupleType:
    """The type of a named tuple: names and types of its fields. Equal types are the same object."""

    _made: ClassVar[dict[Any, TupleType]] = {}

    def __init__(self, names: tuple[str, ...], kinds: tuple[Any, ...]) -> None:
        self.names, self.kinds = names, kinds
        self.places: list[int] = []
        at = 0
        for kind in kinds:
            self.places.append(at)
            at += words_of(kind)
        self.words = at
        # whether it contains only arrays
        self.plain: bool = all(
            k.plain if isinstance(k, TupleType) else k is None or isinstance(k, ArrayType)
            for k in kinds
        )
        self.text = repr((names, [getattr(k, "text", k) for k in kinds]))

    @classmethod
    def of(cls, names: tuple[str, ...], kinds: tuple[Any, ...]) -> TupleType:
        """Return the type with these fields."""
        key = names, kinds
        if key not in cls._made:
            cls._made[key] = cls(names, kinds)
        return cls._made[key]

    def __repr__(self) -> str:
        return self.text


def words_of(kind: Any) -> int:
    """Return the number of words that a type takes."""
    if kind is None:
        return 0
    if isinstance(kind, ArrayType):
        return 1 + kind.axes
    return kind.words if isinstance(kind, TupleType) else 1


# values during the translation of a function


class Number(NamedTuple):
    """A number: its kind and its name in the text."""

    kind: str
    name: str


class Array(NamedTuple):
    """An array: its kind, address and sizes; home and values as in `ArrayType`."""

    kind: str
    address: str
    sizes: tuple[str, ...]
    home: str = ""
    values: tuple[int | float | None, ...] | None = None


class TupleInMemory(NamedTuple):
    """A named tuple in memory."""

    record: TupleType
    address: str


class TupleValue(NamedTuple):
    """A tuple of values; a named tuple has names."""

    values: tuple[Any, ...]
    names: tuple[str, ...] = ()


class Constant(NamedTuple):
    """A value known during translation: None, a boolean, a module, a function, a class."""

    value: Any


class TranslationError(Exception):
    """A kernel uses code that the language does not support."""


def kind_of(value: Any) -> Any:
    """Return the type of a value, for which functions are translated."""
    if isinstance(value, Number):
        return value.kind
    if isinstance(value, Array):
        if not value.home:
            return ArrayType(value.kind, len(value.sizes))
        sizes = tuple(x if is_literal(x) else "" for x in value.sizes)
        return ArrayType(value.kind, len(sizes), value.home, sizes, value.values)
    if isinstance(value, TupleInMemory):
        return value.record
    if isinstance(value, TupleValue):
        return (value.names, tuple(kind_of(x) for x in value.values))
    if isinstance(value, Constant) and value.value is None:
        return None
    raise TranslationError(f"{value!r} cannot be handed on")


def is_literal(name: str) -> bool:
    """Whether an integer is known."""
    return name.lstrip("-").isdigit()


def llvm_types(kind: Any) -> list[str]:
    """Return the LLVM types of a passed value: a number, an address and sizes, the address of a tuple."""
    if kind is None or isinstance(kind, Fixed):
        return []
    if isinstance(kind, str):
        return [kind]
    if isinstance(kind, ArrayType):
        return ["ptr"] + [INT] * kind.axes
    if isinstance(kind, TupleType):
        return ["ptr"]
    return [text for part in kind[1] for text in llvm_types(part)]


def names_in(value: Any) -> list[str]:
    """Return the names that go with `llvm_types`."""
    if isinstance(value, Number):
        return [value.name]
    if isinstance(value, Array):
        return [value.address, *value.sizes]
    if isinstance(value, TupleInMemory):
        return [value.address]
    if isinstance(value, TupleValue):
        return [name for x in value.values for name in names_in(x)]
    return []


def general(kind: Any) -> Any:
    """Return a type without its known values."""
    if isinstance(kind, ArrayType):
        return ArrayType(kind.kind, kind.axes)
    if isinstance(kind, TupleType):
        return TupleType.of(kind.names, tuple(general(part) for part in kind.kinds))
    return kind


def value_of(kind: Any, names: list[str]) -> Any:
    """Return a value of a type; its names are taken from the front of a list."""
    if kind is None:
        return Constant(None)
    if isinstance(kind, str):
        return Number(kind, names.pop(0))
    if isinstance(kind, Fixed):
        return Number(INT, kind.name)
    if isinstance(kind, ArrayType):
        address = names.pop(0)
        given = [names.pop(0) for _ in range(kind.axes)]
        sizes = (a or b for a, b in zip(kind.sizes or given, given, strict=True))
        return Array(kind.kind, address, tuple(sizes), kind.home, kind.values)
    if isinstance(kind, TupleType):
        return TupleInMemory(kind, names.pop(0))
    return TupleValue(tuple(value_of(part, names) for part in kind[1]), kind[0])


def return_type(result: Any) -> str:
    """Return the result type of a function that returns nothing, one number or several."""
    if result is None:
        return "void"
    return "{ " + ", ".join(result) + " }" if isinstance(result, tuple) else str(result)


def width_of(kind: str) -> int:
    """Return how many numbers one value of a kind contains."""
    return {LANES: WIDTH, NARROW: WIDTH // 2}.get(kind, 1)


def wider(a: str, b: str) -> str:
    """Return the kind that can represent both."""
    if a == b:
        return a
    if {a, b} & {WIDE, DUAL} and {a, b} & {LANES, NARROW}:
        raise TranslationError("there are no lanes of wide or dual numbers")
    order = (BOOL, INT, FLOAT, LANES, NARROW, WIDE, DUAL)
    whole = {MASK: BOOL, WHOLE: INT}
    top = order[max(order.index(whole.get(x, x)) for x in (a, b))]
    return OWN.get(top, top) if {a, b} & {MASK, WHOLE} else top


def double_of(text: str) -> float:
    """Return the double that `hexadecimal` wrote."""
    return float(struct.unpack(">d", struct.pack(">Q", int(text, 16)))[0])


def hexadecimal(x: float) -> str:
    """Return a double in LLVM's exact notation."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', float(x)))[0]:016X}"
