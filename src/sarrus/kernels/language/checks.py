"""Bounds checks: every index is checked before it is used (`SARRUS_CHECKED=1`).

All functions of a checked module take one more argument, the address of a record of three words: the place in the
source, the index and the size. The first access out of bounds fills the record and leaves the function. Its
callers find the record filled and return, too, so that nothing is read or written out of bounds. The entry point
returns the record.
"""

from __future__ import annotations

import ast
import ctypes
from pathlib import Path
from typing import Any

from ..simd import WIDTH
from .kinds import BOOL, INT, Number, is_literal, return_type
from .statements import FunctionBody

PACKAGE = Path(__file__).parents[2]
RECORD = "ptr %failure"
WORDS = 3
# return value of an entry point
OUT_OF_BOUNDS = 2
# cold, so that the compiler moves it away from the main code
FILL = f"""define internal void @out_of_bounds({RECORD}, ptr %place, i64 %index, i64 %size)
  noinline cold nounwind {{
  store ptr %place, ptr %failure
  %second = getelementptr i64, ptr %failure, i64 1
  store i64 %index, ptr %second
  %third = getelementptr i64, ptr %failure, i64 2
  store i64 %size, ptr %third
  ret void
}}
"""
# code before and after the call of an entry point
BEFORE = [f"%failure = alloca [{WORDS} x i64]", "store i64 0, ptr %failure"]
AFTER = [
    "%failed = load i64, ptr %failure",
    "%outside = icmp ne i64 %failed, 0",
    "br i1 %outside, label %report, label %inside",
    "\nreport:",
    f"call void @llvm.memcpy.p0.p0.i64(ptr %results, ptr %failure, i64 {8 * WORDS}, i1 false)",
    f"ret i64 {OUT_OF_BOUNDS}",
    "\ninside:",
]
COPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


class BoundsError(IndexError):
    """An access out of bounds in a kernel: an error of this package, not of the user."""


def read_failure(record: Any) -> BoundsError:
    """Return the error of a filled record."""
    place, index, size = (ctypes.c_int64 * WORDS).from_buffer(record)
    where = ctypes.string_at(place).decode()
    return BoundsError(f"out of bounds in {where}: index {index}, size {size}")


class CheckedBody(FunctionBody):
    """Translates a function with bounds checks."""

    hidden = (RECORD,)

    def within(
        self, index: Number, size: str, node: ast.AST | None = None, end: bool = False
    ) -> None:
        """Leave the function if an index is out of bounds; end: the index may be one past the last."""
        if is_literal(index.name) and is_literal(size) and 0 <= int(index.name) < int(size) + end:
            return
        below = self.line(f"icmp slt i64 {index.name}, 0")
        above = self.line(f"icmp {'sgt' if end else 'sge'} i64 {index.name}, {size}")
        outside = Number(BOOL, self.line(f"or i1 {below}, {above}"))
        yes, no = self.labels("outside", "inside")
        self.branch(outside, yes, no)
        self.open(yes)
        self.module.declare("out_of_bounds", FILL)
        place = self._place(node or self.statement)
        given = f"{RECORD}, ptr {place}, i64 {index.name}, i64 {size}"
        self.emit(f"call void @out_of_bounds({given})")
        self.jump("failed")
        self.open(no)

    def within_lanes(self, t: Number, width: int, size: str) -> None:
        """Check the first and the last of them."""
        first = self.operate(self.statement, ast.Mult(), t, Number(INT, str(WIDTH)))
        self.within(first, size)
        self.within(
            self.operate(self.statement, ast.Add(), first, Number(INT, str(width - 1))), size
        )

    def sizes_in_lanes(self, sizes: tuple[str, ...]) -> tuple[str, ...]:
        """Return sizes; an array whose last axis does not fill the lanes has no entries."""
        if len(sizes) == 1:
            return ()
        fills = self.line(f"icmp eq i64 {sizes[-1]}, {WIDTH}")
        return self.line(f"select i1 {fills}, i64 {sizes[0]}, i64 0"), *sizes[1:-1]

    def _place(self, node: ast.AST) -> str:
        """Return a text with the location in the source."""
        path = Path(self.function.__code__.co_filename)
        where = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else path.name
        line = getattr(node, "lineno", 0)
        text = f"kernel '{self.function.__name__}' ({where}, line {line}: {ast.unparse(node)})"
        coded = text.encode() + b"\0"
        name = f"@place{self.module.place_of(coded)}"
        shown = "".join(
            chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in coded
        )
        self.module.declare(name, f'{name} = private constant [{len(coded)} x i8] c"{shown}"')
        return name

    def results_of(self, call: str, result: Any) -> Any:
        """Return the results of a call, if nothing failed in it."""
        found = super().results_of(call, result)
        failed = self.line(f"load {INT}, {RECORD}")
        (on,) = self.labels("on")
        self.branch(Number(BOOL, self.line(f"icmp ne i64 {failed}, 0")), "failed", on)
        self.open(on)
        return found

    def finish(self) -> None:
        """Emit the target of failed checks."""
        self.open("failed")
        result = return_type(self.settled.get("return"))
        self.emit("ret void" if result == "void" else f"ret {result} zeroinitializer")
