"""Kernels from Python to LLVM's language: the small part of Python in which they are written.

Numbers (float, int, bool), arrays of them in C order, named tuples of all these, and None; loops over ranges,
while, if, sums and products, calls of other kernels. A function is translated anew for each set of types it is
called with, as it would run in Python; a condition like `loads is None` is decided here, so that what belongs to
the other case costs nothing. Divisions of integers are of what is not negative; indices are never negative.

A named tuple lies in memory as words (`Record`): the address of each array and its sizes, each number, one after
the other. Handing it on is handing on its address.
"""

from __future__ import annotations

import ast
import builtins
import operator
import struct
import types
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from . import lanes
from .lanes import WIDTH

FLOAT, INT, BOOL = "double", "i64", "i1"
# numbers side by side, and their truths: the lanes of a vector (lanes.py)
LANES, MASK = f"<{WIDTH} x double>", f"<{WIDTH} x i1>"
# in memory a truth takes a byte; numbers of lanes lie as any others
STORED = {FLOAT: FLOAT, INT: INT, BOOL: "i8", LANES: LANES}
DTYPES = {"d": FLOAT, "l": INT, "q": INT, "?": BOOL}
# stores of one kind change nothing of another; addresses in tuples never change
TAGS = {
    FLOAT: "!tbaa !1",
    INT: "!tbaa !2",
    BOOL: "!tbaa !3",
    LANES: "align 8, !tbaa !1",
}
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


# numbers of metadata from here on: names of memory
HOMES = 10


class Rank(NamedTuple):
    """The type of an array.

    Of one whose structure is known: its name, which no other memory has; those sizes that are known, else ""; and
    its entries, if they are.
    """

    kind: str
    axes: int
    home: str = ""
    sizes: tuple[str, ...] = ()
    values: tuple[int, ...] | None = None


class Fixed(NamedTuple):
    """The type of an integer that is known."""

    name: str


class Layout(NamedTuple):
    """Where objects keep what code reads of them, in bytes from their beginning.

    Of an array: its type, address, number of axes, address of its sizes, dtype, flags; of a tuple: its items.
    """

    type: int
    data: int
    axes: int
    sizes: int
    dtype: int
    flags: int
    items: int


class Record:
    """The type of a named tuple: names and types of its fields. Equal ones are the same object."""

    _made: ClassVar[dict[Any, Record]] = {}

    def __init__(self, names: tuple[str, ...], kinds: tuple[Any, ...]) -> None:
        self.names, self.kinds = names, kinds
        self.places: list[int] = []
        at = 0
        for kind in kinds:
            self.places.append(at)
            at += words_of(kind)
        self.words = at
        # whether there is nothing but arrays in it
        self.plain: bool = all(
            k.plain if isinstance(k, Record) else k is None or isinstance(k, Rank) for k in kinds
        )
        self.text = repr((names, [getattr(k, "text", k) for k in kinds]))

    @classmethod
    def of(cls, names: tuple[str, ...], kinds: tuple[Any, ...]) -> Record:
        """The type with these fields."""
        key = names, kinds
        if key not in cls._made:
            cls._made[key] = cls(names, kinds)
        return cls._made[key]

    def __repr__(self) -> str:
        return self.text


def words_of(kind: Any) -> int:
    """How many words something takes."""
    if kind is None:
        return 0
    if isinstance(kind, Rank):
        return 1 + kind.axes
    return kind.words if isinstance(kind, Record) else 1


# values while a function is translated


class Number(NamedTuple):
    """A number: its kind, and what it is called in the text."""

    kind: str
    name: str


class Array(NamedTuple):
    """An array: its kind, its address and sizes; home and values as those of `Rank`."""

    kind: str
    address: str
    sizes: tuple[str, ...]
    home: str = ""
    values: tuple[int, ...] | None = None


class Block(NamedTuple):
    """A named tuple in memory."""

    record: Record
    address: str


class Made(NamedTuple):
    """A tuple of values that are at hand; a named one has names."""

    values: tuple[Any, ...]
    names: tuple[str, ...] = ()


class Known(NamedTuple):
    """What is known while translating: None, a truth, a module, a function, a class."""

    value: Any


class TranslationError(Exception):
    """A kernel uses what is no part of the language."""


def kind_of(value: Any) -> Any:
    """The type of a value, as functions are translated for."""
    if isinstance(value, Number):
        return value.kind
    if isinstance(value, Array):
        if not value.home:
            return Rank(value.kind, len(value.sizes))
        sizes = tuple(x if is_literal(x) else "" for x in value.sizes)
        return Rank(value.kind, len(sizes), value.home, sizes, value.values)
    if isinstance(value, Block):
        return value.record
    if isinstance(value, Made):
        return (value.names, tuple(kind_of(x) for x in value.values))
    if isinstance(value, Known) and value.value is None:
        return None
    raise TranslationError(f"{value!r} cannot be handed on")


def is_literal(name: str) -> bool:
    """Whether an integer is known."""
    return name.lstrip("-").isdigit()


def llvm_types(kind: Any) -> list[str]:
    """How something is handed on: a number, an address and sizes, the address of a tuple."""
    if kind is None or isinstance(kind, Fixed):
        return []
    if isinstance(kind, str):
        return [kind]
    if isinstance(kind, Rank):
        return ["ptr"] + [INT] * kind.axes
    if isinstance(kind, Record):
        return ["ptr"]
    return [text for part in kind[1] for text in llvm_types(part)]


def names_in(value: Any) -> list[str]:
    """The names that go with `llvm_types`."""
    if isinstance(value, Number):
        return [value.name]
    if isinstance(value, Array):
        return [value.address, *value.sizes]
    if isinstance(value, Block):
        return [value.address]
    if isinstance(value, Made):
        return [name for x in value.values for name in names_in(x)]
    return []


def general(kind: Any) -> Any:
    """A type without what is known of it."""
    if isinstance(kind, Rank):
        return Rank(kind.kind, kind.axes)
    if isinstance(kind, Record):
        return Record.of(kind.names, tuple(general(part) for part in kind.kinds))
    return kind


def value_of(kind: Any, names: list[str]) -> Any:
    """A value of a type, whose names are taken from the front of a list."""
    if kind is None:
        return Known(None)
    if isinstance(kind, str):
        return Number(kind, names.pop(0))
    if isinstance(kind, Fixed):
        return Number(INT, kind.name)
    if isinstance(kind, Rank):
        address = names.pop(0)
        given = [names.pop(0) for _ in range(kind.axes)]
        sizes = (a or b for a, b in zip(kind.sizes or given, given, strict=True))
        return Array(kind.kind, address, tuple(sizes), kind.home, kind.values)
    if isinstance(kind, Record):
        return Block(kind, names.pop(0))
    return Made(tuple(value_of(part, names) for part in kind[1]), kind[0])


@cache
def _functions_of(path: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """All functions of a file, by name and first line."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found[node.name, first] = node
    return found


class Module:
    """The text of an entry and of all it calls. unrolls: what is known of integers is written out, loops too."""

    def __init__(self, unrolls: bool = False) -> None:
        self.unrolls = unrolls
        self._functions: dict[Any, tuple[str, Any]] = {}
        self._texts: list[str] = []
        self._globals: dict[str, str] = {}
        self._homes: dict[str, int] = {}
        self._tables: dict[bytes, int] = {}
        self._count = 0

    def entry(
        self, name: str, function: Any, kinds: Sequence[Any], layout: Layout
    ) -> tuple[str, list[str]]:
        """Text with an entry int(words, results), and the kinds of its results; see arguments.py.

        It returns 0, or 1 if an argument is of another type.
        """
        callee, result = self.function(function, tuple(kinds))
        head = Prologue(layout)
        given = [part for kind in kinds for part in head.take(kind)]
        call = f"call {_return_type(result)} @{callee}({', '.join(given)})"
        results = list(result) if isinstance(result, tuple) else [result] if result else []
        lines = [f"%r = {call}" if results else call]
        for n, kind in enumerate(results):
            part = "%r"
            if isinstance(result, tuple):
                part = f"%r{n}"
                lines.append(f"{part} = extractvalue {_return_type(result)} %r, {n}")
            if kind == BOOL:
                lines.append(f"%b{n} = zext i1 {part} to i64")
                part = f"%b{n}"
            lines.append(f"%o{n} = getelementptr i64, ptr %results, i64 {n}")
            lines.append(f"store {INT if kind == BOOL else kind} {part}, ptr %o{n}")
        body = "\n  ".join([*head.lines(), *lines, "ret i64 0"])
        start = f"define i64 @{name}(ptr noalias readonly %words, ptr noalias %results) nounwind"
        text = f"{start} {{\n  {body}\n}}\n"
        return "\n".join([*self._globals.values(), *self._texts, text, METADATA]), results

    def function(self, kernel: Any, kinds: tuple[Any, ...]) -> tuple[str, Any]:
        """Name and kind of result of a function for some types, translated if it is not yet."""
        function = getattr(kernel, "py_func", kernel)
        key = function, kinds
        if key not in self._functions:
            self._count += 1
            name = f"{function.__name__}.{self._count}"
            fuses = not getattr(kernel, "exact", False)
            inline = getattr(kernel, "inline", "")
            text, result = _translate(self, name, function, kinds, fuses, inline)
            self._texts.append(text)
            self._functions[key] = name, result
        return self._functions[key]

    def tag(self, kind: str, home: str) -> str:
        """What is told of a load or store: memory of one name is no other."""
        if not home:
            return TAGS[kind]
        number = self._homes.setdefault(home, HOMES + 2 * len(self._homes))
        parent = {FLOAT: 4, LANES: 4, INT: 5, BOOL: 6}[kind]
        self.declare(
            f"!{number}",
            f'!{number} = !{{!"{home}", !{parent}}}\n!{number + 1} = !{{!{number}, !{number}, i64 0}}',
        )
        return f"{'align 8, ' if kind == LANES else ''}!tbaa !{number + 1}"

    def place_of(self, values: bytes) -> int:
        """The number of a table."""
        return self._tables.setdefault(values, len(self._tables))

    def declare(self, name: str, text: str) -> None:
        """Something that all functions share."""
        self._globals.setdefault(name, text)


# of the words of an entry: the type of arrays, and of their numbers
ARRAY_TYPE, NUMBER_TYPES = 0, {FLOAT: 1, INT: 2, BOOL: 3}


class Prologue:
    """The beginning of an entry: arguments read from the objects that they are, a word each.

    early: lines that find all objects and look at their types; late: those that read them, if they are right.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.early: list[str] = []
        self.late: list[str] = []
        self.count, self.at = 0, len(NUMBER_TYPES) + 1
        self.wrong = self.other = "0"
        self.types = [self.load(self.early, INT, "%words", 8 * n) for n in range(self.at)]

    def line(self, lines: list[str], text: str) -> str:
        """A line with a result; its name."""
        self.count += 1
        lines.append(f"%h{self.count} = {text}")
        return f"%h{self.count}"

    def load(self, lines: list[str], kind: str, address: str, offset: int) -> str:
        """What lies so many bytes behind an address."""
        place = self.line(lines, f"getelementptr i8, ptr {address}, i64 {offset}")
        return self.line(lines, f"load {kind}, ptr {place}")

    def take(self, kind: Any) -> list[str]:
        """The next argument, as functions take it."""
        if kind is None:
            return []
        place, self.at = 8 * self.at, self.at + 1
        if kind == BOOL:
            word = self.load(self.early, INT, "%words", place)
            return [f"i1 {self.line(self.early, f'trunc i64 {word} to i1')}"]
        if isinstance(kind, str):
            return [f"{kind} {self.load(self.early, kind, '%words', place)}"]
        whole = self.load(self.early, "ptr", "%words", place)
        if isinstance(kind, Rank):
            return [
                f"{k} {x}" for k, x in zip(llvm_types(kind), self.array(kind, whole), strict=True)
            ]
        if not kind.plain:
            return [f"ptr {whole}"]
        block = self.line(self.early, f"alloca [{max(kind.words, 1)} x i64]")
        self.fill(kind, whole, block, 0)
        return [f"ptr {block}"]

    def fill(self, record: Record, whole: str, block: str, first: int) -> None:
        """The words of a tuple from its items."""
        for n, (kind, at) in enumerate(zip(record.kinds, record.places, strict=True)):
            if kind is None:
                continue
            item = self.load(self.early, "ptr", whole, self.layout.items + 8 * n)
            if isinstance(kind, Record):
                self.fill(kind, item, block, first + at)
                continue
            parts = zip(llvm_types(kind), self.array(kind, item), strict=True)
            for k, (text, part) in enumerate(parts):
                place = self.line(
                    self.late, f"getelementptr i64, ptr {block}, i64 {first + at + k}"
                )
                self.late.append(f"store {text} {part}, ptr {place}")

    def array(self, rank: Rank, whole: str) -> list[str]:
        """Address and sizes of an array."""
        where, early, late = self.layout, self.early, self.late
        made, number = self.types[ARRAY_TYPE], self.types[NUMBER_TYPES[rank.kind]]
        flags = self.load(early, "i32", whole, where.flags)
        for found, wanted in (
            (self.load(early, INT, whole, where.type), made),
            (self.load(early, INT, whole, where.dtype), number),
            (self._widen(self.load(early, "i32", whole, where.axes)), str(rank.axes)),
            # the lowest flag: in C order
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
        """All of it: it leaves if something is not of its type."""
        test = self.line(self.early, f"icmp ne i64 {self.wrong}, 0")
        leave = [f"br i1 {test}, label %wrong, label %right", "\nwrong:", "ret i64 1", "\nright:"]
        if self.other == "0":
            return [*self.early, *leave, *self.late]
        test = self.line(self.late, f"icmp ne i64 {self.other}, 0")
        check = [f"br i1 {test}, label %wrong, label %good", "\ngood:"]
        return [*self.early, *leave, *self.late, *check]


def _return_type(result: Any) -> str:
    if result is None:
        return "void"
    return "{ " + ", ".join(result) + " }" if isinstance(result, tuple) else str(result)


def _translate(
    module: Module, name: str, function: Any, kinds: tuple[Any, ...], fuses: bool, inline: str
) -> tuple[str, Any]:
    """A function until the kinds of its variables are settled: an integer that becomes a float is one."""
    node = _functions_of(function.__code__.co_filename)[
        function.__name__, function.__code__.co_firstlineno
    ]
    settled: dict[str, Any] = {}
    while True:
        body = Body(module, function, fuses, settled)
        text = body.write(name, node, kinds, inline)
        if not body.widened:
            return text, settled.get("return")


class Body:
    """A function being translated. settled: kinds of its variables and of its result, as far as they are known.

    fuses: whether a sum with a product is rounded once, where the processor can; the text says which sums, so that
    all code made of a kernel gives the same bits. widened: whether a kind turned out to be another one on the way.
    """

    def __init__(self, module: Module, function: Any, fuses: bool, settled: dict[str, Any]) -> None:
        self.module, self.function, self.fuses, self.settled = module, function, fuses, settled
        self.widened = False
        self.begin: list[str] = []
        self.lines: list[str] = []
        self.slots: dict[str, list[str]] = {}
        self.bound: dict[str, Any] = {}
        # integers that variables are known to be at this place; how deep in what is written out, and in what is
        # rarely reached there
        self.known: dict[str, str] = {}
        self.depth = self.rare = 0
        self.loaded: dict[Any, Any] = {}
        self.loops: list[tuple[str, str]] = []
        self.closed = False
        self.count = 0
        closure = function.__closure__ or ()
        free = function.__code__.co_freevars
        self.outside = {n: c.cell_contents for n, c in zip(free, closure, strict=True)}

    def write(self, name: str, node: ast.FunctionDef, kinds: tuple[Any, ...], inline: str) -> str:
        """All of it."""
        parameters = []
        for argument, kind in zip(node.args.args, kinds, strict=True):
            names = []
            for n, text in enumerate(llvm_types(kind)):
                names.append(f"%{argument.arg}.{n}")
                parameters.append(f"{text} {names[-1]}")
            self.assign(argument.arg, value_of(kind, names))
        self.statements(node.body)
        if not self.closed:
            self.emit("ret void" if self.settled.get("return") is None else "unreachable")
        result = _return_type(self.settled.get("return"))
        head = f"define internal {result} @{name}({', '.join(parameters)}) {inline} nounwind"
        body = "\n  ".join([*self.begin, "br label %begin", "\nbegin:", *self.lines])
        return f"{head} {{\n  {body}\n}}\n"

    # text

    def emit(self, text: str) -> None:
        """A line without a result."""
        self.lines.append(text)

    def line(self, text: str) -> str:
        """A line with a result; its name."""
        self.count += 1
        self.lines.append(f"%t{self.count} = {text}")
        return f"%t{self.count}"

    def early(self, text: str) -> str:
        """The same before all others: what is done once."""
        self.count += 1
        self.begin.append(f"%t{self.count} = {text}")
        return f"%t{self.count}"

    def labels(self, *words: str) -> list[str]:
        """New labels."""
        self.count += 1
        return [f"{word}{self.count}" for word in words]

    def open(self, label: str) -> None:
        """Go on at a label."""
        self.lines.append(f"\n{label}:")
        self.closed = False

    def jump(self, label: str) -> None:
        """Go to a label, if this is reached."""
        if not self.closed:
            self.emit(f"br label %{label}")
        self.closed = True

    def branch(self, truth: Number, yes: str, no: str) -> None:
        """Go to one of two labels."""
        self.emit(f"br i1 {truth.name}, label %{yes}, label %{no}")
        self.closed = True

    def fail(self, node: ast.AST, why: str) -> TranslationError:
        """What is no part of the language, with its place."""
        where = f"{self.function.__code__.co_filename}:{getattr(node, 'lineno', 0)}"
        return TranslationError(f"{where}: {why}: {ast.unparse(node)}")

    # variables

    def assign(self, name: str, value: Any) -> None:
        """Let a variable be a value."""
        if not isinstance(value, Number | Array):
            if isinstance(value, Known) and isinstance(value.value, bool):
                value = self.number(value)
            else:
                self.bound[name] = value
                return
        kind, known = kind_of(value), self.settled.get(name)
        if isinstance(value, Number) and known is not None:
            kind = _wider(known, kind)
        if known is None or (isinstance(value, Number) and kind != known):
            self.widened = self.widened or known is not None
            self.settled[name] = known = kind
            self.slots.pop(name, None)
        if isinstance(value, Number):
            value = self.convert(value, known)
        elif known != kind:
            raise TranslationError(f"'{name}' is {known} and {kind}")
        self.known.pop(name, None)
        if self.module.unrolls and known == INT and is_literal(value.name):
            self.known[name] = value.name
        texts = llvm_types(known)
        if name not in self.slots:
            self.slots[name] = [self.early(f"alloca {text}") for text in texts]
        for slot, text, part in zip(self.slots[name], texts, names_in(value), strict=True):
            self.emit(f"store {text} {part}, ptr {slot}")

    def read(self, node: ast.Name) -> Any:
        """A variable, or what its name is outside."""
        name = node.id
        if name in self.known:
            return Number(INT, self.known[name])
        if name in self.slots:
            texts = llvm_types(self.settled[name])
            names = [
                self.line(f"load {text}, ptr {slot}")
                for slot, text in zip(self.slots[name], texts, strict=True)
            ]
            return value_of(self.settled[name], names)
        if name in self.bound:
            return self.bound[name]
        for place in (self.outside, self.function.__globals__, vars(builtins)):
            if name in place:
                return self.wrap(place[name])
        raise self.fail(node, "unknown name")

    def wrap(self, value: Any) -> Any:
        """What a name outside stands for."""
        if isinstance(value, bool | np.bool_):
            return Known(bool(value))
        if isinstance(value, int | np.integer):
            return Number(INT, str(int(value)))
        if isinstance(value, float):
            return Number(FLOAT, hexadecimal(value))
        if isinstance(value, np.ndarray):
            return self.table(value)
        return Known(value)

    def table(self, values: np.ndarray) -> Array:
        """An array of constants."""
        if values.dtype != np.float64:
            raise TranslationError(f"constants are floats, not {values.dtype}")
        name = f"@table{self.module.place_of(values.tobytes())}"
        entries = ", ".join(f"double {hexadecimal(x)}" for x in values.ravel().tolist())
        kind = f"[{values.size} x double]"
        self.module.declare(name, f"{name} = private constant {kind} [{entries}]")
        return Array(FLOAT, name, tuple(str(n) for n in values.shape))

    def convert(self, value: Any, kind: str) -> Number:
        """A number as another kind."""
        value = self.number(value)
        if value.kind == kind:
            return value
        if kind == LANES:
            name = self.convert(value, FLOAT).name
            one = self.line(f"insertelement {LANES} poison, double {name}, i64 0")
            zeros = ", ".join(["i32 0"] * WIDTH)
            text = f"shufflevector {LANES} {one}, {LANES} poison, <{WIDTH} x i32> <{zeros}>"
            return Number(LANES, self.line(text))
        if kind == FLOAT:
            if value.kind == INT and value.name.lstrip("-").isdigit():
                return Number(FLOAT, hexadecimal(float(value.name)))
            how = "sitofp i64" if value.kind == INT else "uitofp i1"
            return Number(FLOAT, self.line(f"{how} {value.name} to double"))
        if kind == INT:
            how = "fptosi double" if value.kind == FLOAT else "zext i1"
            return Number(INT, self.line(f"{how} {value.name} to i64"))
        return self.truth(value)

    def number(self, value: Any) -> Number:
        """A value that has to be a number."""
        if isinstance(value, Known) and isinstance(value.value, bool):
            return Number(BOOL, "true" if value.value else "false")
        if not isinstance(value, Number):
            raise TranslationError(f"{value!r} is no number")
        return value

    def truth(self, value: Any) -> Number:
        """Whether a number is not zero."""
        value = self.number(value)
        if value.kind == BOOL:
            return value
        if value.kind == INT:
            return Number(BOOL, self.line(f"icmp ne i64 {value.name}, 0"))
        return Number(BOOL, self.line(f"fcmp une double {value.name}, {hexadecimal(0.0)}"))

    # statements

    def statements(self, nodes: list[ast.stmt]) -> None:
        """One after the other, as far as they are reached."""
        for node in nodes:
            if self.closed:
                return
            try:
                getattr(self, f"do_{type(node).__name__}")(node)
            except (AttributeError, KeyError) as error:
                raise self.fail(node, f"cannot be translated ({error!r})") from error

    def do_Expr(self, node: ast.Expr) -> None:
        """A call, or a text."""
        if not isinstance(node.value, ast.Constant):
            self.value(node.value)

    def do_Pass(self, node: ast.Pass) -> None:
        """Nothing."""

    def do_Assign(self, node: ast.Assign) -> None:
        """x = ..., x, y = ..., x[i] = ..."""
        value = self.value(node.value)
        for target in node.targets:
            self.put(target, value)

    def put(self, target: ast.expr, value: Any) -> None:
        """Give a target its value."""
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        elif isinstance(target, ast.Tuple):
            parts = self.parts(value)
            for place, part in zip(target.elts, parts, strict=True):
                self.put(place, part)
        elif isinstance(target, ast.Subscript):
            self.store(*self.address(target), value)
        else:
            raise self.fail(target, "no target")

    def parts(self, value: Any) -> Sequence[Any]:
        """The values of a tuple."""
        if isinstance(value, Block):
            return [self.field(value, n) for n in range(len(value.record.kinds))]
        return value.values

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        """x += ..., x[i] += ..."""
        if isinstance(node.target, ast.Name):
            now = self.read(node.target)
            self.assign(node.target.id, self.combine(node, node.op, now, node.value))
            return
        assert isinstance(node.target, ast.Subscript)
        place = self.address(node.target)
        now = self.load(*place)
        self.store(*place, self.combine(node, node.op, now, node.value))

    def do_Return(self, node: ast.Return) -> None:
        """A number, some numbers, or nothing."""
        if node.value is None:
            self.emit("ret void")
            self.closed = True
            return
        value = self.value(node.value)
        single = not isinstance(value, Made)
        numbers = [self.number(x) for x in ([value] if single else value.values)]
        kinds = tuple(x.kind for x in numbers)
        known = self.settled.get("return")
        before = (known,) if isinstance(known, str) else known or kinds
        kinds = tuple(_wider(a, b) for a, b in zip(kinds, before, strict=True))
        self.settled["return"] = result = kinds[0] if single else kinds
        self.widened = self.widened or result != (known or result)
        numbers = [self.convert(x, kind) for x, kind in zip(numbers, kinds, strict=True)]
        out = numbers[0].name
        if not single:
            out = "poison"
            for n, x in enumerate(numbers):
                out = self.line(f"insertvalue {_return_type(result)} {out}, {x.kind} {x.name}, {n}")
        self.emit(f"ret {_return_type(result)} {out}")
        self.closed = True

    def do_If(self, node: ast.If) -> None:
        """One of two branches, or the one that is known."""
        test = self.decided(node.test)
        if isinstance(test, Known):
            self.statements(node.body if test.value else node.orelse)
            return
        yes, no, behind = self.labels("then", "else", "behind")
        self.branch(self.truth(test), yes, no if node.orelse else behind)
        before, ends = dict(self.known), []
        self.rare += self.depth > 0
        for label, nodes in ((yes, node.body), (no, node.orelse)):
            self.known = dict(before)
            if nodes:
                self.open(label)
                self.statements(nodes)
            else:
                self.closed = False
            if not self.closed:
                ends.append(self.known)
            if nodes:
                self.jump(behind)
        self.rare -= self.depth > 0
        if ends:
            self.known = {x: n for x, n in ends[0].items() if ends[-1].get(x) == n}
            self.open(behind)

    def decided(self, node: ast.expr) -> Any:
        """A condition, known where its number is."""
        value = self.value(node)
        if isinstance(value, Number) and value.kind == INT and is_literal(value.name):
            return Known(int(value.name) != 0)
        return value

    def forget(self, node: ast.For | ast.While) -> None:
        """What a loop changes is not known in it, nor behind it."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                self.known.pop(part.id, None)

    def do_While(self, node: ast.While) -> None:
        """While something holds."""
        self.forget(node)
        head, body, behind = self.labels("head", "body", "behind")
        self.jump(head)
        self.open(head)
        test = self.value(node.test)
        if isinstance(test, Known):
            assert test.value
            self.jump(body)
        else:
            self.branch(self.truth(test), body, behind)
        self._loop(node.body, body, head, behind)
        self.forget(node)
        self.open(behind)

    def _loop(self, nodes: list[ast.stmt], body: str, again: str, behind: str) -> None:
        self.open(body)
        self.loops.append((again, behind))
        self.statements(nodes)
        self.loops.pop()
        self.jump(again)

    def do_For(self, node: ast.For) -> None:
        """Over a range."""
        call, target = node.iter, node.target
        if not (isinstance(call, ast.Call) and isinstance(target, ast.Name)):
            raise self.fail(node.iter, "loops are over ranges")
        given = [self.convert(self.value(x), INT) for x in call.args[:2]]
        first, last = given if len(given) == 2 else (Number(INT, "0"), given[0])
        step = int(ast.literal_eval(call.args[2])) if len(call.args) == 3 else 1
        if self.unrolled(node, first.name, last.name):
            self.depth += 1
            for n in range(int(first.name), int(last.name), step):
                if not self.closed:
                    self.assign(target.id, Number(INT, str(n)))
                    self.statements(node.body)
            self.depth -= 1
            return
        self.forget(node)
        slot = self.early("alloca i64")
        self.emit(f"store i64 {first.name}, ptr {slot}")
        head, body, following, behind = self.labels("head", "body", "next", "behind")
        self.jump(head)
        self.open(head)
        index = Number(INT, self.line(f"load i64, ptr {slot}"))
        how = "slt" if step > 0 else "sgt"
        self.branch(
            Number(BOOL, self.line(f"icmp {how} i64 {index.name}, {last.name}")), body, behind
        )
        self.open(body)
        self.assign(target.id, index)
        self.loops.append((following, behind))
        self.statements(node.body)
        self.loops.pop()
        self.jump(following)
        self.open(following)
        now = self.line(f"load i64, ptr {slot}")
        self.emit(f"store i64 {self.line(f'add nsw i64 {now}, {step}')}, ptr {slot}")
        self.jump(head)
        self.forget(node)
        self.open(behind)

    def unrolled(self, node: ast.For, first: str, last: str) -> bool:
        """Whether a loop is written out: of known length, gone through to its end, not rarely reached."""
        if not self.module.unrolls or self.rare or not (is_literal(first) and is_literal(last)):
            return False
        return not any(isinstance(x, ast.Break | ast.Continue) for x in ast.walk(node))

    def do_Break(self, node: ast.Break) -> None:
        """Leave the loop."""
        self.jump(self.loops[-1][1])

    def do_Continue(self, node: ast.Continue) -> None:
        """Go on with the loop."""
        self.jump(self.loops[-1][0])

    # values

    def value(self, node: ast.expr) -> Any:
        """What an expression is."""
        return getattr(self, f"of_{type(node).__name__}")(node)

    def of_Constant(self, node: ast.Constant) -> Any:
        """A number, a truth, None."""
        return Known(None) if node.value is None else self.wrap(node.value)

    def of_Name(self, node: ast.Name) -> Any:
        """A variable."""
        return self.read(node)

    def of_Tuple(self, node: ast.Tuple) -> Made:
        """Some values."""
        return Made(tuple(self.value(x) for x in node.elts))

    def of_Attribute(self, node: ast.Attribute) -> Any:
        """A field of a tuple, the shape of an array, a name in a module."""
        base = self.value(node.value)
        if isinstance(base, Block):
            return self.field(base, base.record.names.index(node.attr))
        if isinstance(base, Made):
            return base.values[base.names.index(node.attr)]
        if isinstance(base, Array) and node.attr == "shape":
            return Made(tuple(Number(INT, n) for n in base.sizes))
        if isinstance(base, Known):
            return self.wrap(getattr(base.value, node.attr))
        raise self.fail(node, "no such field")

    def field(self, block: Block, n: int) -> Any:
        """A field of a tuple in memory, read once at the beginning of the function."""
        kind, at = block.record.kinds[n], block.record.places[n]
        if kind is None:
            return Known(None)
        key = block.address, n
        if key not in self.loaded:
            if isinstance(kind, Record):
                where = f"getelementptr i64, ptr {block.address}, i64 {at}"
                self.loaded[key] = Block(kind, self.early(where))
            else:
                names = []
                for k, text in enumerate(llvm_types(kind)):
                    place = self.early(f"getelementptr i64, ptr {block.address}, i64 {at + k}")
                    if k and kind.home and kind.sizes[k - 1]:
                        names.append(kind.sizes[k - 1])
                        continue
                    stored = INT if text == BOOL else text
                    x = self.early(f"load {stored}, ptr {place}, !invariant.load !7")
                    names.append(self.early(f"trunc i64 {x} to i1") if text == BOOL else x)
                self.loaded[key] = value_of(kind, names)
        return self.loaded[key]

    def of_Subscript(self, node: ast.Subscript) -> Any:
        """An entry, a row, a part of an array, a value of a tuple."""
        base = self.value(node.value)
        if isinstance(base, Made | Block):
            return self.parts(base)[int(ast.literal_eval(node.slice))]
        if isinstance(node.slice, ast.Slice):
            return self.part(node, base)
        if isinstance(base, Array) and base.values is not None:
            index = self.convert(self.value(node.slice), INT).name
            if is_literal(index):
                return Number(INT, str(base.values[int(index)]))
        kind, address, sizes = self.place(node, base)
        if sizes:
            return Array(base.kind, address, sizes, base.home)
        return self.load(kind, address, base.home)

    def part(self, node: ast.Subscript, base: Array) -> Array:
        """Some rows of an array."""
        cut = node.slice
        assert isinstance(cut, ast.Slice)
        assert cut.step is None
        first = Number(INT, "0") if cut.lower is None else self.convert(self.value(cut.lower), INT)
        last = (
            Number(INT, base.sizes[0])
            if cut.upper is None
            else self.convert(self.value(cut.upper), INT)
        )
        at = first
        for size in base.sizes[1:]:
            at = self.operate(node, ast.Mult(), at, Number(INT, size))
        address = self.line(f"getelementptr {STORED[base.kind]}, ptr {base.address}, i64 {at.name}")
        count = self.operate(node, ast.Sub(), last, first).name
        return Array(base.kind, address, (count, *base.sizes[1:]), base.home)

    def place(self, node: ast.Subscript, base: Any) -> tuple[str, str, tuple[str, ...]]:
        """Kind, address and the sizes that are left, of an entry or a row."""
        if not isinstance(base, Array):
            raise self.fail(node, "no array")
        nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        at = Number(INT, "0")
        for k in range(len(base.sizes)):
            if k < len(nodes):
                index = self.convert(self.value(nodes[k]), INT)
                at = index if k == 0 else self.operate(node, ast.Add(), at, index)
            if k + 1 < len(base.sizes):
                at = self.operate(node, ast.Mult(), at, Number(INT, base.sizes[k + 1]))
        address = self.line(
            f"getelementptr inbounds {STORED[base.kind]}, ptr {base.address}, i64 {at.name}"
        )
        return base.kind, address, base.sizes[len(nodes) :]

    def address(self, node: ast.Subscript) -> tuple[str, str, str]:
        """Kind, address and home of an entry."""
        base = self.value(node.value)
        kind, address, left = self.place(node, base)
        if left:
            raise self.fail(node, "no single entry")
        return kind, address, base.home

    def load(self, kind: str, address: str, home: str) -> Number:
        """An entry."""
        x = self.line(f"load {STORED[kind]}, ptr {address}, {self.module.tag(kind, home)}")
        return Number(kind, self.line(f"icmp ne i8 {x}, 0") if kind == BOOL else x)

    def store(self, kind: str, address: str, home: str, value: Any) -> None:
        """Change an entry."""
        name = self.convert(value, kind).name
        if kind == BOOL:
            name = self.line(f"zext i1 {name} to i8")
        self.emit(f"store {STORED[kind]} {name}, ptr {address}, {self.module.tag(kind, home)}")

    def of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """-x, not x."""
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            if isinstance(value, Known):
                return Known(not value.value)
            return Number(BOOL, self.line(f"xor i1 {self.truth(value).name}, true"))
        value = self.number(value)
        return self.negated(value)

    def negated(self, value: Number) -> Number:
        """-x."""
        if value.kind in (FLOAT, LANES):
            return Number(value.kind, self.line(f"fneg {value.kind} {value.name}"))
        if value.name.isdigit():
            return Number(INT, f"-{value.name}")
        return Number(INT, self.line(f"sub nsw i64 0, {self.convert(value, INT).name}"))

    def of_BinOp(self, node: ast.BinOp) -> Number:
        """Sums, products, powers."""
        if _is_product(node.left) and not _is_product(node.right):
            return self.combine(node, node.op, node.left, self.value(node.right))
        return self.combine(node, node.op, self.value(node.left), node.right)

    def combine(self, node: ast.AST, op: ast.operator, a: Any, b: Any) -> Number:
        """An operation on two numbers, one of them a text yet: a sum with a product is rounded once."""
        behind = isinstance(b, ast.expr)
        product: Any = b if behind else a
        other = self.number(a if behind else b)
        if self.fuses and isinstance(op, ast.Add | ast.Sub) and _is_product(product):
            x, y = self.number(self.value(product.left)), self.number(self.value(product.right))
            kind = _wider(_wider(x.kind, y.kind), other.kind)
            if _wider(x.kind, y.kind) in (FLOAT, LANES):
                x, y, z = (self.convert(part, kind) for part in (x, y, other))
                if isinstance(op, ast.Sub):
                    x, z = (self.negated(x), z) if behind else (x, self.negated(z))
                return self.library("llvm.fmuladd.f64", x, y, z)
            found = self.operate(product, product.op, x, y)
        else:
            found = self.value(product)
        return self.operate(node, op, *((other, found) if behind else (found, other)))

    def operate(self, node: ast.AST, op: ast.operator, a: Any, b: Any) -> Number:
        """An operation on two numbers."""
        a, b = self.number(a), self.number(b)
        if isinstance(op, ast.Pow):
            return self.power(a, b)
        if isinstance(op, ast.BitAnd) and a.kind == b.kind in (BOOL, MASK):
            return Number(a.kind, self.line(f"and {a.kind} {a.name}, {b.name}"))
        kind = _wider(_wider(a.kind, b.kind), FLOAT if isinstance(op, ast.Div) else INT)
        a, b = self.convert(a, kind), self.convert(b, kind)
        if kind == INT and is_literal(a.name) and is_literal(b.name) and type(op) in _WHOLE:
            return Number(INT, str(_WHOLE[type(op)](int(a.name), int(b.name))))
        name = _OPERATIONS.get((type(op), FLOAT if kind == LANES else kind))
        if name is None:
            raise self.fail(node, "no such operation")
        return Number(kind, self.line(f"{name} {kind} {a.name}, {b.name}"))

    def power(self, a: Number, b: Number) -> Number:
        """A power: small whole ones are products."""
        a = self.convert(a, FLOAT)
        if b.kind == INT and b.name in ("2", "3"):
            out = a
            for _ in range(int(b.name) - 1):
                out = Number(FLOAT, self.line(f"fmul double {out.name}, {a.name}"))
            return out
        return self.library("llvm.pow.f64", a, self.convert(b, FLOAT))

    def of_BoolOp(self, node: ast.BoolOp) -> Any:
        """And, or: what is behind the decision is not looked at."""
        decides = isinstance(node.op, ast.Or)
        slot, (behind,) = "", self.labels("decided")
        for n, part in enumerate(node.values):
            value = self.decided(part)
            if isinstance(value, Known) and bool(value.value) == decides and not slot:
                return Known(decides)
            if isinstance(value, Known) and bool(value.value) != decides:
                continue
            if not slot:
                slot = self.early("alloca i1")
            truth = self.truth(value)
            self.emit(f"store i1 {truth.name}, ptr {slot}")
            if n + 1 < len(node.values):
                (further,) = self.labels("further")
                self.branch(truth, *((behind, further) if decides else (further, behind)))
                self.open(further)
        if not slot:
            return Known(not decides)
        self.jump(behind)
        self.open(behind)
        return Number(BOOL, self.line(f"load i1, ptr {slot}"))

    def of_Compare(self, node: ast.Compare) -> Any:
        """Comparisons, also in a row; `is None` is known."""
        left = self.value(node.left)
        out: Number | None = None
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            if isinstance(op, ast.Is | ast.IsNot):
                none = isinstance(left, Known) and left.value is None
                return Known(none == isinstance(op, ast.Is))
            a, b = self.number(left), self.number(right)
            kind = _wider(_wider(a.kind, b.kind), INT)
            a, b = self.convert(a, kind), self.convert(b, kind)
            if kind == INT and len(node.ops) == 1 and is_literal(a.name) and is_literal(b.name):
                return Known(_TESTS[type(op)](int(a.name), int(b.name)))
            how = _COMPARISONS[type(op)][0 if kind == INT else 1]
            text = f"{'icmp' if kind == INT else 'fcmp'} {how} {kind} {a.name}, {b.name}"
            found = Number(MASK if kind == LANES else BOOL, self.line(text))
            out = found if out is None else self.operate(node, ast.BitAnd(), out, found)
            left = right
        return out

    def of_IfExp(self, node: ast.IfExp) -> Any:
        """One of two values."""
        test = self.decided(node.test)
        if isinstance(test, Known):
            return self.value(node.body if test.value else node.orelse)
        yes, no, behind = self.labels("then", "else", "chosen")
        self.branch(self.truth(test), yes, no)
        self.open(yes)
        first = self.value(node.body)
        if isinstance(first, Known):
            first = self.number(first)
        mark = len(self.lines)
        self.jump(behind)
        self.open(no)
        second = self.value(node.orelse)
        kind = kind_of(first)
        if isinstance(first, Number):
            second = self.number(second)
            kind = _wider(first.kind, second.kind)
            second = self.convert(second, kind)
        slots = [self.early(f"alloca {text}") for text in llvm_types(kind)]
        self._keep(slots, kind, second)
        tail = self.lines[mark:]
        del self.lines[mark:]
        self._keep(slots, kind, self.convert(first, kind) if isinstance(first, Number) else first)
        self.lines += tail
        self.jump(behind)
        self.open(behind)
        texts = llvm_types(kind)
        return value_of(
            kind, [self.line(f"load {t}, ptr {s}") for s, t in zip(slots, texts, strict=True)]
        )

    def _keep(self, slots: list[str], kind: Any, value: Any) -> None:
        for slot, text, name in zip(slots, llvm_types(kind), names_in(value), strict=True):
            self.emit(f"store {text} {name}, ptr {slot}")

    # calls

    def of_Call(self, node: ast.Call) -> Any:
        """A kernel, a function of Python or NumPy, a tuple, a function at an address."""
        callee = self.value(node.func)
        if not isinstance(callee, Known):
            raise self.fail(node, "no function")
        target = callee.value
        given = [self.value(x) for x in node.args]
        if target in _OWN:
            return _OWN[target](self, *given)
        if isinstance(target, type) and issubclass(target, tuple):
            names = target._fields
            return Made(tuple(given), names)
        if getattr(target, "at_address", False):
            return self.call_address(*given)
        if isinstance(getattr(target, "py_func", target), types.FunctionType):
            return self.call(target, given)
        raise self.fail(node, "unknown function")

    def call(self, target: Any, given: list[Any]) -> Any:
        """Another kernel."""
        given = [
            self.number(x) if isinstance(x, Known) and x.value is not None else x for x in given
        ]
        seldom = getattr(target, "seldom", False)
        kinds = tuple(general(kind_of(x)) if seldom else self.given_kind(x) for x in given)
        name, result = self.module.function(target, kinds)
        parts = [
            f"{text} {part}"
            for kind, x in zip(kinds, given, strict=True)
            if not isinstance(kind, Fixed)
            for text, part in zip(llvm_types(kind), names_in(x), strict=True)
        ]
        call = f"call {_return_type(result)} @{name}({', '.join(parts)})"
        if result is None:
            self.emit(call)
            return Known(None)
        out = self.line(call)
        if isinstance(result, str):
            return Number(result, out)
        text = _return_type(result)
        return Made(tuple(
            Number(kind, self.line(f"extractvalue {text} {out}, {n}"))
            for n, kind in enumerate(result)
        ))  # fmt: skip

    def given_kind(self, value: Any) -> Any:
        """The type for which a function is translated that is given a value."""
        whole = isinstance(value, Number) and value.kind == INT and is_literal(value.name)
        return Fixed(value.name) if whole and self.module.unrolls else kind_of(value)

    def call_address(self, address: Any, *given: Any) -> Known:
        """The function at an address: numbers as they are, arrays by their addresses."""
        pointer = self.line(f"inttoptr i64 {self.number(address).name} to ptr")
        parts = [
            f"ptr {x.address}" if isinstance(x, Array) else f"{x.kind} {x.name}" for x in given
        ]
        self.emit(f"call void {pointer}({', '.join(parts)})")
        return Known(None)

    def library(self, name: str, *given: Any) -> Number:
        """A function of numbers that the compiler or the system knows."""
        kind = LANES if any(self.number(x).kind == LANES for x in given) else FLOAT
        if kind == LANES:
            name = name.replace(".f64", f".v{WIDTH}f64")
        numbers = [self.convert(x, kind) for x in given]
        kinds = ", ".join([kind] * len(numbers))
        self.module.declare(name, f"declare {kind} @{name}({kinds}) nounwind memory(none)")
        parts = ", ".join(f"{kind} {x.name}" for x in numbers)
        return Number(kind, self.line(f"call {kind} @{name}({parts})"))


def _is_product(node: Any) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _wider(a: str, b: str) -> str:
    """The kind that holds both."""
    if a == b:
        return a
    order = (BOOL, INT, FLOAT, LANES)
    return order[max(order.index(a), order.index(b))]


def hexadecimal(x: float) -> str:
    """A double as LLVM writes it exactly."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', float(x)))[0]:016X}"


def _length(body: Body, x: Any) -> Number:
    return Number(INT, x.sizes[0] if isinstance(x, Array) else str(len(body.parts(x))))


def _extreme(how: str) -> Callable[..., Number]:
    """As Python's: a later one replaces an earlier one if it is larger or smaller, so not if it is no number."""

    def choose(body: Body, *given: Any) -> Number:
        numbers = [body.number(x) for x in given]
        kind = numbers[0].kind
        for x in numbers[1:]:
            kind = _wider(kind, x.kind)
        out = body.convert(numbers[0], kind)
        test = f"icmp s{how} i64" if kind == INT else f"fcmp o{how} {kind}"
        mask = MASK if kind == LANES else BOOL
        for x in numbers[1:]:
            x = body.convert(x, kind)
            better = body.line(f"{test} {x.name}, {out.name}")
            text = f"select {mask} {better}, {kind} {x.name}, {kind} {out.name}"
            out = Number(kind, body.line(text))
        return out

    return choose


def _size(body: Body, x: Any) -> Number:
    if x.kind in (FLOAT, LANES):
        return body.library("llvm.fabs.f64", x)
    less = body.line(f"sub nsw i64 0, {x.name}")
    negative = body.line(f"icmp slt i64 {x.name}, 0")
    return Number(INT, body.line(f"select i1 {negative}, i64 {less}, i64 {x.name}"))


def _is_finite(body: Body, x: Any) -> Number:
    size = body.library("llvm.fabs.f64", x)
    return Number(BOOL, body.line(f"fcmp olt double {size.name}, {hexadecimal(np.inf)}"))


def _in_lanes(body: Body, x: Any) -> Any:
    """Arrays whose last axis are the lanes, as arrays of such numbers."""
    if isinstance(x, Array):
        return Array(LANES, x.address, x.sizes[:-1], x.home)
    return Made(tuple(_in_lanes(body, part) for part in body.parts(x)), x.record.names)


def _rows_of_lanes(body: Body, x: Any) -> Array:
    size = body.operate(
        ast.Constant(0), ast.FloorDiv(), Number(INT, x.sizes[0]), Number(INT, str(WIDTH))
    )
    return Array(LANES, x.address, (size.name,), x.home)


def _choose(body: Body, mask: Any, a: Any, b: Any) -> Number:
    a, b = body.convert(a, LANES), body.convert(b, LANES)
    return Number(
        LANES, body.line(f"select {MASK} {mask.name}, {LANES} {a.name}, {LANES} {b.name}")
    )


def _any_lane(body: Body, mask: Any) -> Number:
    bits = body.line(f"bitcast {MASK} {mask.name} to i{WIDTH}")
    return Number(BOOL, body.line(f"icmp ne i{WIDTH} {bits}, 0"))


def _named(name: str) -> Callable[..., Number]:
    return lambda body, *given: body.library(name, *given)


_OWN: dict[Any, Callable[..., Any]] = {
    len: _length,
    max: _extreme("gt"),
    min: _extreme("lt"),
    abs: _size,
    int: lambda body, x: body.convert(x, INT),
    float: lambda body, x: body.convert(x, FLOAT),
    bool: lambda body, x: body.truth(x),
    np.isfinite: _is_finite,
    lanes.in_lanes: _in_lanes,
    lanes.rows_of_lanes: _rows_of_lanes,
    lanes.choose: _choose,
    lanes.any_lane: _any_lane,
    np.sqrt: _named("llvm.sqrt.f64"),
    np.log: _named("llvm.log.f64"),
    np.exp: _named("llvm.exp.f64"),
    np.sin: _named("llvm.sin.f64"),
    np.cos: _named("llvm.cos.f64"),
    np.rint: _named("llvm.rint.f64"),
    np.arctan2: _named("atan2"),
}
_OPERATIONS = {
    (ast.Add, FLOAT): "fadd", (ast.Sub, FLOAT): "fsub", (ast.Mult, FLOAT): "fmul", (ast.Div, FLOAT): "fdiv",
    (ast.Add, INT): "add nsw", (ast.Sub, INT): "sub nsw", (ast.Mult, INT): "mul nsw",
    (ast.FloorDiv, INT): "sdiv", (ast.Mod, INT): "srem", (ast.Mod, FLOAT): "frem",
}  # fmt: skip
# of integers that are known
_WHOLE: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_TESTS: dict[type, Callable[[int, int], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_COMPARISONS = {
    ast.Lt: ("slt", "olt"), ast.LtE: ("sle", "ole"), ast.Gt: ("sgt", "ogt"), ast.GtE: ("sge", "oge"),
    ast.Eq: ("eq", "oeq"), ast.NotEq: ("ne", "une"),
}  # fmt: skip
