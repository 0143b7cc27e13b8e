"""Lines and labels of a function, and its variables."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dual import PARTS
from .kinds import (
    BOOL,
    DUAL,
    FLOAT,
    INT,
    LANES,
    NARROW,
    WIDE,
    Array,
    Constant,
    Number,
    TranslationError,
    hexadecimal,
    is_literal,
    kind_of,
    llvm_types,
    names_in,
    value_of,
    wider,
    width_of,
)

if TYPE_CHECKING:
    from .module import Module


class Text:
    """Translates a function. settled: kinds of its variables and of its result, as far as known.

    hidden: parameters that all functions of a module take and pass on, besides their own.

    fuses: whether a sum with a product is rounded once, where the processor supports it; the text specifies which
    sums, so that all code generated from a kernel gives the same bits. widened: whether a kind changed during
    translation.
    """

    hidden: tuple[str, ...] = ()

    def __init__(self, module: Module, function: Any, fuses: bool, settled: dict[str, Any]) -> None:
        self.module, self.function, self.fuses, self.settled = module, function, fuses, settled
        self.widened = False
        self.begin: list[str] = []
        self.lines: list[str] = []
        self.slots: dict[str, list[str]] = {}
        self.bound: dict[str, Any] = {}
        # integer values of variables known at this point; nesting depth of unrolled code, and of cold code
        self.known: dict[str, str] = {}
        self.depth = self.rare = 0
        self.loaded: dict[Any, Any] = {}
        self.loops: list[tuple[str, str]] = []
        self.closed = False
        self.count = 0
        self.statement: ast.stmt = ast.Pass()
        closure = function.__closure__ or ()
        free = function.__code__.co_freevars
        self.outside = {n: c.cell_contents for n, c in zip(free, closure, strict=True)}

    def emit(self, text: str) -> None:
        """Append a line without a result."""
        self.lines.append(text)

    def line(self, text: str) -> str:
        """Append a line with a result; return its name."""
        self.count += 1
        self.lines.append(f"%t{self.count} = {text}")
        return f"%t{self.count}"

    def early(self, text: str) -> str:
        """Append a line with a result at the beginning of the function, for what is done once; return its name."""
        self.count += 1
        self.begin.append(f"%t{self.count} = {text}")
        return f"%t{self.count}"

    def labels(self, *words: str) -> list[str]:
        """Return new labels."""
        self.count += 1
        return [f"{word}{self.count}" for word in words]

    def open(self, label: str) -> None:
        """Continue at a label."""
        self.lines.append(f"\n{label}:")
        self.closed = False

    def jump(self, label: str) -> None:
        """Jump to a label, if this point is reachable."""
        if not self.closed:
            self.emit(f"br label %{label}")
        self.closed = True

    def branch(self, truth: Number, yes: str, no: str) -> None:
        """Jump to one of two labels."""
        self.emit(f"br i1 {truth.name}, label %{yes}, label %{no}")
        self.closed = True

    def fail(self, node: ast.AST, why: str) -> TranslationError:
        """Return the error for code that the language does not support, with its location."""
        where = f"{self.function.__code__.co_filename}:{getattr(node, 'lineno', 0)}"
        return TranslationError(f"{where}: {why}: {ast.unparse(node)}")

    # variables

    def assign(self, name: str, value: Any) -> None:
        """Assign a value to a variable."""
        if not isinstance(value, Number | Array):
            if isinstance(value, Constant) and isinstance(value.value, bool):
                value = self.number(value)
            else:
                self.bound[name] = value
                return
        kind, known = kind_of(value), self.settled.get(name)
        if isinstance(value, Number) and known is not None:
            kind = wider(known, kind)
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
            self.slots[name] = [self.new_slot(text) for text in texts]
        for slot, text, part in zip(self.slots[name], texts, names_in(value), strict=True):
            self.emit(f"store {text} {part}, ptr {slot}")

    def new_slot(self, kind: str) -> str:
        """Allocate memory for a variable."""
        return self.early(f"alloca {kind}")

    def read(self, node: ast.Name) -> Any:
        """Return a variable, or the value of its name outside the function."""
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
        """Return the value of a name outside the function."""
        if isinstance(value, bool | np.bool_):
            return Constant(bool(value))
        if isinstance(value, int | np.integer):
            return Number(INT, str(int(value)))
        if isinstance(value, float):
            return Number(FLOAT, hexadecimal(value))
        if isinstance(value, np.ndarray):
            return self.table(value)
        return Constant(value)

    def table(self, values: np.ndarray) -> Array:
        """Return an array of constants."""
        if values.dtype != np.float64:
            raise TranslationError(f"constants are floats, not {values.dtype}")
        name = f"@table{self.module.place_of(values.tobytes())}"
        entries = ", ".join(f"double {hexadecimal(x)}" for x in values.ravel().tolist())
        kind = f"[{values.size} x double]"
        self.module.declare(name, f"{name} = private constant {kind} [{entries}]")
        return Array(FLOAT, name, tuple(str(n) for n in values.shape))

    def convert(self, value: Any, kind: str) -> Number:
        """Convert a number to another kind."""
        value = self.number(value)
        if value.kind == kind:
            return value
        if kind in (LANES, NARROW):
            name = self.convert(value, FLOAT).name
            one = self.line(f"insertelement {kind} poison, double {name}, i64 0")
            zeros = f"<{width_of(kind)} x i32> zeroinitializer"
            return Number(kind, self.line(f"shufflevector {kind} {one}, {kind} poison, {zeros}"))
        if kind == WIDE:
            return self.join(self.convert(value, FLOAT), Number(FLOAT, hexadecimal(0.0)))
        if value.kind == WIDE:
            return self.convert(self.split(value)[0], kind)
        if kind == DUAL:
            return self.put_value(Number(DUAL, "zeroinitializer"), self.convert(value, FLOAT))
        if value.kind == DUAL:
            return self.convert(self.part_of(value, 0), kind)
        if kind == FLOAT:
            if value.kind == INT and value.name.lstrip("-").isdigit():
                return Number(FLOAT, hexadecimal(float(value.name)))
            how = "sitofp i64" if value.kind == INT else "uitofp i1"
            return Number(FLOAT, self.line(f"{how} {value.name} to double"))
        if kind == INT:
            how = "fptosi double" if value.kind == FLOAT else "zext i1"
            return Number(INT, self.line(f"{how} {value.name} to i64"))
        return self.truth(value)

    def within(
        self, index: Number, size: str, node: ast.AST | None = None, end: bool = False
    ) -> None:
        """Check that an index is within bounds, or at the end; only checked code does (checks.py)."""

    def within_lanes(self, t: Number, width: int, size: str) -> None:
        """Check `width` numbers of a row, from the t-th group of lanes on."""

    def sizes_in_lanes(self, sizes: tuple[str, ...]) -> tuple[str, ...]:
        """Return the sizes of an array of lanes; the lanes form the last axis."""
        return sizes[:-1]

    def share(self, value: Number) -> Number:
        """Return the value that all runs share: without lanes there is only one run."""
        return value

    def split(self, value: Number) -> tuple[Number, Number]:
        """Return the high and low parts of a double-double number."""
        high, low = (self.line(f"extractelement {WIDE} {value.name}, i64 {n}") for n in (0, 1))
        return Number(FLOAT, high), Number(FLOAT, low)

    def join(self, high: Number, low: Number) -> Number:
        """Return a double-double number from its parts."""
        half = self.line(f"insertelement {WIDE} poison, double {high.name}, i64 0")
        return Number(WIDE, self.line(f"insertelement {WIDE} {half}, double {low.name}, i64 1"))

    def part_of(self, value: Number, n: int) -> Number:
        """Return the value of a dual number (0), or one of its derivatives."""
        return Number(FLOAT, self.line(f"extractelement {DUAL} {value.name}, i64 {n}"))

    def put_value(self, dual: Number, value: Number) -> Number:
        """Return a dual number with another value."""
        text = f"insertelement {DUAL} {dual.name}, double {value.name}, i64 0"
        return Number(DUAL, self.line(text))

    def spread_value(self, dual: Number) -> Number:
        """Return the value of a dual number copied to all its parts."""
        zeros = f"<{PARTS} x i32> zeroinitializer"
        text = f"shufflevector {DUAL} {dual.name}, {DUAL} poison, {zeros}"
        return Number(DUAL, self.line(text))

    def rates_of(self, dual: Number) -> Number:
        """Return a dual number with its value set to zero."""
        return self.put_value(dual, Number(FLOAT, hexadecimal(0.0)))

    def number(self, value: Any) -> Number:
        """Return a value that has to be a number."""
        if isinstance(value, Constant) and isinstance(value.value, bool):
            return Number(BOOL, "true" if value.value else "false")
        if not isinstance(value, Number):
            raise TranslationError(f"{value!r} is not a number")
        return value

    def truth(self, value: Any) -> Number:
        """Whether a number is not zero."""
        value = self.number(value)
        if value.kind == BOOL:
            return value
        if value.kind == INT:
            return Number(BOOL, self.line(f"icmp ne i64 {value.name}, 0"))
        value = self.convert(value, FLOAT)
        return Number(BOOL, self.line(f"fcmp une double {value.name}, {hexadecimal(0.0)}"))
