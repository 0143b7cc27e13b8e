"""The prologue of an entry point: it reads the arguments from Python objects."""

from __future__ import annotations

from typing import Any

from .kinds import BOOL, DUAL, FLOAT, INT, WIDE, ArrayType, ObjectLayout, TupleType, llvm_types

# words of an entry point: the type of arrays, and the types of their numbers
ARRAY_TYPE, NUMBER_TYPES = 0, {FLOAT: 1, INT: 2, BOOL: 3, WIDE: 4, DUAL: 5}


class Prologue:
    """The prologue of an entry point: arguments are read from Python objects, one word each.

    early: lines that find all objects and check their types; late: lines that read them if the types are correct.
    """

    def __init__(self, layout: ObjectLayout) -> None:
        self.layout = layout
        self.early: list[str] = []
        self.late: list[str] = []
        self.count, self.at = 0, len(NUMBER_TYPES) + 1
        self.wrong = self.other = "0"
        self.types = [self.load(self.early, INT, "%words", 8 * n) for n in range(self.at)]

    def line(self, lines: list[str], text: str) -> str:
        """Append a line with a result; return its name."""
        self.count += 1
        lines.append(f"%h{self.count} = {text}")
        return f"%h{self.count}"

    def load(self, lines: list[str], kind: str, address: str, offset: int) -> str:
        """Load the value at an offset in bytes from an address."""
        place = self.line(lines, f"getelementptr i8, ptr {address}, i64 {offset}")
        return self.line(lines, f"load {kind}, ptr {place}")

    def take(self, kind: Any) -> list[str]:
        """Read the next argument, in the form in which functions take it."""
        if kind is None:
            return []
        place, self.at = 8 * self.at, self.at + 1
        if kind == BOOL:
            word = self.load(self.early, INT, "%words", place)
            return [f"i1 {self.line(self.early, f'trunc i64 {word} to i1')}"]
        if isinstance(kind, str):
            return [f"{kind} {self.load(self.early, kind, '%words', place)}"]
        whole = self.load(self.early, "ptr", "%words", place)
        if isinstance(kind, ArrayType):
            return [
                f"{k} {x}" for k, x in zip(llvm_types(kind), self.array(kind, whole), strict=True)
            ]
        if not kind.plain:
            return [f"ptr {whole}"]
        block = self.line(self.early, f"alloca [{max(kind.words, 1)} x i64]")
        self.fill(kind, whole, block, 0)
        return [f"ptr {block}"]

    def fill(self, record: TupleType, whole: str, block: str, first: int) -> None:
        """Fill the words of a tuple from its items."""
        for n, (kind, at) in enumerate(zip(record.kinds, record.places, strict=True)):
            if kind is None:
                continue
            item = self.load(self.early, "ptr", whole, self.layout.items + 8 * n)
            if isinstance(kind, TupleType):
                self.fill(kind, item, block, first + at)
                continue
            parts = zip(llvm_types(kind), self.array(kind, item), strict=True)
            for k, (text, part) in enumerate(parts):
                place = self.line(
                    self.late, f"getelementptr i64, ptr {block}, i64 {first + at + k}"
                )
                self.late.append(f"store {text} {part}, ptr {place}")

    def array(self, rank: ArrayType, whole: str) -> list[str]:
        """Read address and sizes of an array."""
        where, early, late = self.layout, self.early, self.late
        made, number = self.types[ARRAY_TYPE], self.types[NUMBER_TYPES[rank.kind]]
        flags = self.load(early, "i32", whole, where.flags)
        for found, wanted in (
            (self.load(early, INT, whole, where.type), made),
            (self.load(early, INT, whole, where.dtype), number),
            (self._widen(self.load(early, "i32", whole, where.axes)), str(rank.axes)),
            # the lowest flag: C order
            (self._widen(self.line(early, f"and i32 {flags}, 1")), "1"),
        ):
            off = self.line(early, f"xor i64 {found}, {wanted}")
            self.wrong = self.line(early, f"or i64 {self.wrong}, {off}")
        sizes = self.load(late, "ptr", whole, where.sizes)
        given = [self.load(late, INT, sizes, 8 * k) for k in range(rank.axes)]
        for size, known in zip(given, rank.sizes or [""] * rank.axes, strict=True):
            if known:
                off = self.line(late, f"xor i64 {size}, {known}")
                self.other = self.line(late, f"or i64 {self.other}, {off}")
        return [self.load(late, "ptr", whole, where.data), *given]

    def _widen(self, name: str) -> str:
        return self.line(self.early, f"zext i32 {name} to i64")

    def lines(self) -> list[str]:
        """Return all lines; the code returns early if a type is wrong."""
        test = self.line(self.early, f"icmp ne i64 {self.wrong}, 0")
        leave = [f"br i1 {test}, label %wrong, label %right", "\nwrong:", "ret i64 1", "\nright:"]
        if self.other == "0":
            return [*self.early, *leave, *self.late]
        test = self.line(self.late, f"icmp ne i64 {self.other}, 0")
        check = [f"br i1 {test}, label %wrong, label %good", "\ngood:"]
        return [*self.early, *leave, *self.late, *check]
