"""The prologue of an entry point: it reads the arguments from Python objects."""

from __future__ import annotations

from typing import Any

from .kinds import BOOL, DUAL, FLOAT, INT, WIDE, ArrayType, ObjectLayout, TupleType, llvm_types

# the first words of an entry point: the type of arrays, then the types of their numbers
NUMBER_TYPES = {FLOAT: 1, INT: 2, BOOL: 3, WIDE: 4, DUAL: 5}
# a size that varies from call to call
ANY_SIZE = -1

# reads arrays of a tuple; the result is 0 if all are as the table says
READER = """define internal i64 @read_arrays(ptr %whole, ptr %table, i64 %count, ptr %words, ptr %out)
  noinline nounwind {{
  %first = getelementptr i8, ptr %whole, i64 {items}
  %made = load i64, ptr %words
  br label %head
head:
  %n = phi i64 [0, %0], [%n1, %next]
  %t = phi ptr [%table, %0], [%t1, %next]
  %more = icmp slt i64 %n, %count
  br i1 %more, label %body, label %good
body:
  %n1 = add i64 %n, 1
  %t.number = getelementptr i64, ptr %t, i64 1
  %t.axes = getelementptr i64, ptr %t, i64 2
  %t.at = getelementptr i64, ptr %t, i64 3
  %t.sizes = getelementptr i64, ptr %t, i64 4
  %index = load i64, ptr %t
  %number = load i64, ptr %t.number
  %axes = load i64, ptr %t.axes
  %at = load i64, ptr %t.at
  %place = getelementptr i8, ptr %first, i64 %index
  %item = load ptr, ptr %place
  %x.type = getelementptr i8, ptr %item, i64 {type}
  %type = load i64, ptr %x.type
  %same.type = icmp eq i64 %type, %made
  br i1 %same.type, label %array, label %bad
array:
  %w.number = getelementptr i8, ptr %words, i64 %number
  %wanted = load i64, ptr %w.number
  %x.dtype = getelementptr i8, ptr %item, i64 {dtype}
  %dtype = load i64, ptr %x.dtype
  %off.dtype = xor i64 %dtype, %wanted
  %x.axes = getelementptr i8, ptr %item, i64 {axes}
  %axes.32 = load i32, ptr %x.axes
  %axes.64 = zext i32 %axes.32 to i64
  %off.axes = xor i64 %axes.64, %axes
  %x.flags = getelementptr i8, ptr %item, i64 {flags}
  %flags = load i32, ptr %x.flags
  ; the lowest flag: C order
  %order = and i32 %flags, 1
  %off.order = xor i32 %order, 1
  %off.order.64 = zext i32 %off.order to i64
  %off.1 = or i64 %off.dtype, %off.axes
  %off = or i64 %off.1, %off.order.64
  %is.right = icmp eq i64 %off, 0
  br i1 %is.right, label %read, label %bad
read:
  %x.data = getelementptr i8, ptr %item, i64 {data}
  %data = load ptr, ptr %x.data
  %to = getelementptr i64, ptr %out, i64 %at
  store ptr %data, ptr %to
  %x.sizes = getelementptr i8, ptr %item, i64 {sizes}
  %sizes = load ptr, ptr %x.sizes
  br label %axis
axis:
  %k = phi i64 [0, %read], [%k1, %fits]
  %k1 = add i64 %k, 1
  %some = icmp slt i64 %k, %axes
  br i1 %some, label %size, label %next
size:
  %x.size = getelementptr i64, ptr %sizes, i64 %k
  %size.is = load i64, ptr %x.size
  %t.size = getelementptr i64, ptr %t.sizes, i64 %k
  %size.wanted = load i64, ptr %t.size
  %any = icmp eq i64 %size.wanted, {any_size}
  %equal = icmp eq i64 %size.wanted, %size.is
  %right.size = or i1 %any, %equal
  br i1 %right.size, label %fits, label %bad
fits:
  %to.size = getelementptr i64, ptr %to, i64 %k1
  store i64 %size.is, ptr %to.size
  br label %axis
next:
  %t1 = getelementptr i64, ptr %t.sizes, i64 %axes
  br label %head
good:
  ret i64 0
bad:
  ret i64 1
}}
"""


class Prologue:
    """The prologue of an entry point: arguments are read from Python objects, one word each.

    Arrays are read by one function, which goes through a table: the item of the tuple, the type of its numbers,
    the number of axes, where its address and sizes go, and the sizes that it must have. Separate instructions for
    each array would take longer to compile than many kernels.

    The rest of the entry point is another function, because the memory of tuples is constant there.

    lines: of the prologue; tables: constants, to be written before it; given, parameters: the arguments of the
    rest, here and there.
    """

    def __init__(self, layout: ObjectLayout) -> None:
        self.layout = layout
        self.lines: list[str] = []
        self.tables: list[str] = []
        self.count, self.at = 0, len(NUMBER_TYPES) + 1
        self.wrong = "0"
        self.given: list[str] = []
        self.parameters: list[str] = []

    def line(self, text: str) -> str:
        """Append a line with a result; return its name."""
        self.count += 1
        self.lines.append(f"%h{self.count} = {text}")
        return f"%h{self.count}"

    def load(self, kind: str, address: str, offset: int) -> str:
        """Load the value at an offset in bytes from an address."""
        return self.line(
            f"load {kind}, ptr {self.line(f'getelementptr i8, ptr {address}, i64 {offset}')}"
        )

    def take(self, kind: Any) -> list[str]:
        """Read the next argument; return it in the form in which functions take it."""
        taken = []
        for value in self._read_argument(kind):
            type_, name = value.split(" ", 1)[0], f"%g{len(self.given)}"
            constant = "noalias readonly " if isinstance(kind, TupleType) else ""
            self.given.append(value)
            self.parameters.append(f"{type_} {constant}{name}")
            taken.append(f"{type_} {name}")
        return taken

    def _read_argument(self, kind: Any) -> list[str]:
        if kind is None:
            return []
        place, self.at = 8 * self.at, self.at + 1
        if kind == BOOL:
            word = self.load(INT, "%words", place)
            return [f"i1 {self.line(f'trunc i64 {word} to i1')}"]
        if isinstance(kind, str):
            return [f"{kind} {self.load(kind, '%words', place)}"]
        if isinstance(kind, ArrayType):
            # the word itself is like the item of a tuple
            first = place - self.layout.items
            whole = self.line(f"getelementptr i8, ptr %words, i64 {first}")
            found = self.read([(0, kind, 0)], whole, 1 + kind.axes)
            return [f"{k} {self.load(k, found, 8 * n)}" for n, k in enumerate(llvm_types(kind))]
        whole = self.load("ptr", "%words", place)
        if not kind.plain:
            return [f"ptr {whole}"]
        words = max(kind.words, 1)
        block = self.line(f"alloca [{words} x i64], align 8")
        self.fill(kind, whole, block, 0)
        return [f"ptr {block}"]

    def fill(self, record: TupleType, whole: str, found: str, first: int) -> None:
        """Read the items of a tuple."""
        arrays = []
        for n, (kind, at) in enumerate(zip(record.kinds, record.places, strict=True)):
            if isinstance(kind, ArrayType):
                arrays.append((n, kind, first + at))
            elif kind is not None:
                item = self.load("ptr", whole, self.layout.items + 8 * n)
                self.fill(kind, item, found, first + at)
        if arrays:
            self.read(arrays, whole, 0, found)

    def read(
        self, arrays: list[tuple[int, ArrayType, int]], whole: str, words: int, found: str = ""
    ) -> str:
        """Read arrays of a tuple; each is given by its item, its type, and the place of its address and sizes."""
        found = found or self.line(f"alloca [{words} x i64], align 8")
        table: list[int] = []
        for item, rank, at in arrays:
            sizes = [int(size) if size else ANY_SIZE for size in rank.sizes or [""] * rank.axes]
            table += [8 * item, 8 * NUMBER_TYPES[rank.kind], rank.axes, at, *sizes]
        name = f"@arrays{len(self.tables)}"
        entries = ", ".join(f"i64 {x}" for x in table) or "i64 0"
        self.tables.append(f"{name} = private constant [{max(len(table), 1)} x i64] [{entries}]")
        given = f"ptr {whole}, ptr {name}, i64 {len(arrays)}, ptr %words, ptr {found}"
        off = self.line(f"call i64 @read_arrays({given})")
        self.wrong = self.line(f"or i64 {self.wrong}, {off}")
        return found

    def checked_lines(self) -> list[str]:
        """Return all lines; the code returns early if a type or a size is wrong."""
        test = self.line(f"icmp ne i64 {self.wrong}, 0")
        leave = [f"br i1 {test}, label %wrong, label %right", "\nwrong:", "ret i64 1", "\nright:"]
        return [*self.lines, *leave]

    def texts(self, name: str, lines: list[str]) -> list[str]:
        """Return the text of an entry point; lines: its rest, with the arguments as returned by `take`."""
        body, begin = "\n  ".join([*lines, "ret i64 0"]), "\n  ".join(self.checked_lines())
        results, taken = "ptr noalias %results", ", ".join(["ptr %results", *self.given])
        rest = ", ".join([results, *self.parameters])
        return [
            *self.tables,
            READER.format(any_size=ANY_SIZE, **self.layout._asdict()),
            f"define internal i64 @rest({rest}) noinline nounwind {{\n  {body}\n}}\n",
            f"define i64 @{name}(ptr noalias readonly %words, {results}) nounwind {{\n  {begin}\n"
            f"  %done = call i64 @rest({taken})\n  ret i64 %done\n}}\n",
        ]
