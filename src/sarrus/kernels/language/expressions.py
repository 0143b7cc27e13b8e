"""Expressions: numbers, array entries, operations, calls."""

from __future__ import annotations

import ast
import math
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

from .. import double_double
from ..dual import PARTS
from .functions import KNOWN_FUNCTIONS
from .kinds import (
    BOOL,
    DUAL,
    FLOAT,
    INT,
    LANES,
    MASK,
    NARROW,
    OWN,
    STORED,
    WIDE,
    Array,
    Constant,
    Fixed,
    Number,
    TranslationError,
    TupleInMemory,
    TupleType,
    TupleValue,
    double_of,
    general,
    is_literal,
    kind_of,
    llvm_types,
    names_in,
    return_type,
    value_of,
    wider,
    width_of,
)
from .text import Text


class Expressions(Text):
    """Translates the expressions of a function.

    calls_generic: whether cold functions are called in their generic version.
    """

    calls_generic = True

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression."""
        return getattr(self, f"of_{type(node).__name__}")(node)

    def of_Constant(self, node: ast.Constant) -> Any:
        """Translate a number, a boolean or None."""
        return Constant(None) if node.value is None else self.wrap(node.value)

    def of_Name(self, node: ast.Name) -> Any:
        """Translate a variable."""
        return self.read(node)

    def of_Tuple(self, node: ast.Tuple) -> TupleValue:
        """Translate a tuple of values."""
        return TupleValue(tuple(self.value(x) for x in node.elts))

    def of_Attribute(self, node: ast.Attribute) -> Any:
        """Translate a field of a tuple, the shape of an array, or a name in a module."""
        base = self.value(node.value)
        if isinstance(base, TupleInMemory):
            return self.field(base, base.record.names.index(node.attr))
        if isinstance(base, TupleValue):
            return base.values[base.names.index(node.attr)]
        if isinstance(base, Array) and node.attr == "shape":
            return TupleValue(tuple(Number(INT, n) for n in base.sizes))
        if isinstance(base, Constant):
            return self.wrap(getattr(base.value, node.attr))
        raise self.fail(node, "no such field")

    def parts(self, value: Any) -> Sequence[Any]:
        """Return the values of a tuple."""
        if isinstance(value, TupleInMemory):
            return [self.field(value, n) for n in range(len(value.record.kinds))]
        return value.values

    def field(self, block: TupleInMemory, n: int) -> Any:
        """Return a field of a tuple in memory; it is loaded once, at the beginning of the function."""
        kind, at = block.record.kinds[n], block.record.places[n]
        if kind is None:
            return Constant(None)
        key = block.address, n
        if key not in self.loaded:
            if isinstance(kind, TupleType):
                where = f"getelementptr i64, ptr {block.address}, i64 {at}"
                self.loaded[key] = TupleInMemory(kind, self.early(where))
            else:
                names = []
                for k, text in enumerate(llvm_types(kind)):
                    place = self.early(f"getelementptr i64, ptr {block.address}, i64 {at + k}")
                    if k and kind.home and kind.sizes[k - 1]:
                        names.append(kind.sizes[k - 1])
                        continue
                    stored = INT if text == BOOL else text
                    # blocks that an entry point fills itself had other contents before
                    steady = "" if self.module.alone else ", !invariant.load !7"
                    x = self.early(f"load {stored}, ptr {place}{steady}")
                    names.append(self.early(f"trunc i64 {x} to i1") if text == BOOL else x)
                self.loaded[key] = value_of(kind, names)
        return self.loaded[key]

    def of_Subscript(self, node: ast.Subscript) -> Any:
        """Translate an entry, a row, a slice of an array, or a value of a tuple."""
        base = self.value(node.value)
        if isinstance(base, TupleValue | TupleInMemory):
            return self.parts(base)[int(ast.literal_eval(node.slice))]
        if isinstance(node.slice, ast.Slice):
            return self.part(node, base)
        if not isinstance(base, Array):
            raise self.fail(node, "no array")
        at, left = self.offset(node, base)
        values = None
        if base.values is not None and is_literal(at.name):
            count = math.prod(int(n) for n in left)
            values = base.values[int(at.name) : int(at.name) + count]
        if not left and values is not None and values[0] is not None:
            return self.wrap(values[0])
        address = self.entry_address(base, at)
        if left:
            return Array(base.kind, address, left, base.home, values)
        return self.load(base.kind, address, base.home)

    def part(self, node: ast.Subscript, base: Array) -> Array:
        """Return a range of rows of an array."""
        cut = node.slice
        assert isinstance(cut, ast.Slice)
        assert cut.step is None
        first = Number(INT, "0") if cut.lower is None else self.convert(self.value(cut.lower), INT)
        last = (
            Number(INT, base.sizes[0])
            if cut.upper is None
            else self.convert(self.value(cut.upper), INT)
        )
        # an empty slice may begin at the end
        self.within(first, base.sizes[0], node, end=True)
        self.within(last, base.sizes[0], node, end=True)
        at = first
        for size in base.sizes[1:]:
            at = self.operate(node, ast.Mult(), at, Number(INT, size))
        address = self.line(f"getelementptr {STORED[base.kind]}, ptr {base.address}, i64 {at.name}")
        count = self.operate(node, ast.Sub(), last, first).name
        return Array(base.kind, address, (count, *base.sizes[1:]), base.home)

    def offset(self, node: ast.Subscript, base: Array) -> tuple[Number, tuple[str, ...]]:
        """Return the offset of an entry or a row in an array, and the remaining sizes."""
        nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        at = Number(INT, "0")
        for k in range(len(base.sizes)):
            if k < len(nodes):
                index = self.whole(self.value(nodes[k]))
                self.within(index, base.sizes[k], node)
                at = index if k == 0 else self.operate(node, ast.Add(), at, index)
            if k + 1 < len(base.sizes):
                at = self.operate(node, ast.Mult(), at, Number(INT, base.sizes[k + 1]))
        return at, base.sizes[len(nodes) :]

    def whole(self, value: Any) -> Number:
        """Convert a value to an array index."""
        return self.convert(value, INT)

    def entry_address(self, base: Array, at: Number) -> str:
        """Return the address of an entry."""
        kind = STORED[base.kind]
        return self.line(f"getelementptr inbounds {kind}, ptr {base.address}, i64 {at.name}")

    def address(self, node: ast.Subscript) -> tuple[str, str, str]:
        """Return kind, address and home of an entry."""
        base = self.value(node.value)
        if not isinstance(base, Array):
            raise self.fail(node, "no array")
        at, left = self.offset(node, base)
        if left:
            raise self.fail(node, "no single entry")
        return base.kind, self.entry_address(base, at), base.home

    def load(self, kind: str, address: str, home: str) -> Number:
        """Load an entry."""
        x = self.line(f"load {STORED[kind]}, ptr {address}, {self.module.tag(kind, home)}")
        return Number(kind, self.line(f"icmp ne i8 {x}, 0") if kind == BOOL else x)

    def store(self, kind: str, address: str, home: str, value: Any) -> None:
        """Store an entry."""
        name = self.convert(value, kind).name
        if kind == BOOL:
            name = self.line(f"zext i1 {name} to i8")
        self.emit(f"store {STORED[kind]} {name}, ptr {address}, {self.module.tag(kind, home)}")

    def of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """-x, not x."""
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            if isinstance(value, Constant):
                return Constant(not value.value)
            return Number(BOOL, self.line(f"xor i1 {self.truth(value).name}, true"))
        value = self.number(value)
        return self.negated(value)

    def negated(self, value: Number) -> Number:
        """-x."""
        if value.kind in (FLOAT, LANES, NARROW, WIDE, DUAL):
            return Number(value.kind, self.line(f"fneg {value.kind} {value.name}"))
        if value.name.isdigit():
            return Number(INT, f"-{value.name}")
        return Number(INT, self.line(f"sub nsw i64 0, {self.convert(value, INT).name}"))

    def of_BinOp(self, node: ast.BinOp) -> Number:
        """Translate sums, products and powers."""
        if _is_product(node.left) and not _is_product(node.right):
            return self.combine(node, node.op, node.left, self.value(node.right))
        return self.combine(node, node.op, self.value(node.left), node.right)

    def combine(self, node: ast.AST, op: ast.operator, a: Any, b: Any) -> Number:
        """Apply an operation to two numbers, one still untranslated: a sum with a product is rounded once."""
        on_right = isinstance(b, ast.expr)
        product: Any = b if on_right else a
        other = self.number(a if on_right else b)
        if self.fuses and isinstance(op, ast.Add | ast.Sub) and _is_product(product):
            x, y = self.number(self.value(product.left)), self.number(self.value(product.right))
            kind = wider(wider(x.kind, y.kind), other.kind)
            if kind == WIDE:
                x = self.convert(x, kind)
            elif kind != DUAL and wider(x.kind, y.kind) in (FLOAT, LANES, NARROW):
                x, y, z = (self.convert(part, kind) for part in (x, y, other))
                if isinstance(op, ast.Sub):
                    x, z = (self.negated(x), z) if on_right else (x, self.negated(z))
                return self.library("llvm.fmuladd.f64", x, y, z)
            elif DUAL in (x.kind, y.kind) and (on_right or isinstance(op, ast.Add)):
                x = self.negated(x) if isinstance(op, ast.Sub) else x
                return self.add_dual_product(x, y, other)
            found = self.operate(product, product.op, x, y)
        else:
            found = self.value(product)
        return self.operate(node, op, *((other, found) if on_right else (found, other)))

    def operate(self, node: ast.AST, op: ast.operator, a: Any, b: Any) -> Number:
        """Apply an operation to two numbers."""
        a, b = self.number(a), self.number(b)
        if isinstance(op, ast.Pow):
            return self.power(a, b)
        if isinstance(op, ast.BitAnd | ast.BitOr) and a.kind == b.kind in (BOOL, MASK):
            how = "and" if isinstance(op, ast.BitAnd) else "or"
            return Number(a.kind, self.line(f"{how} {a.kind} {a.name}, {b.name}"))
        kind = wider(wider(a.kind, b.kind), FLOAT if isinstance(op, ast.Div) else INT)
        if kind == DUAL and isinstance(op, ast.Mult | ast.Div):
            return self.combine_duals(op, a, b)
        a, b = self.convert(a, kind), self.convert(b, kind)
        if kind == INT and is_literal(a.name) and is_literal(b.name) and type(op) in _WHOLE:
            return Number(INT, str(_WHOLE[type(op)](int(a.name), int(b.name))))
        if kind == WIDE and type(op) in _WIDE:
            if isinstance(op, ast.Sub):
                b = self.negated(b)
            return self.call_wide(_WIDE[type(op)], a, b)
        name = self.operation(type(op), FLOAT if kind in (LANES, NARROW, DUAL) else kind)
        if name is None:
            raise self.fail(node, "no such operation")
        return Number(kind, self.line(f"{name} {kind} {a.name}, {b.name}"))

    def operation(self, op: type[ast.operator], kind: str) -> str | None:
        """Return the LLVM name of an operation on numbers of a kind."""
        return _OPERATIONS.get((op, kind))

    def comparison(self, op: type[ast.cmpop], kind: str) -> str:
        """Return the LLVM name of a comparison."""
        return _COMPARISONS[op][0 if kind == INT else 1]

    def call_wide(self, function: Any, *given: Number) -> Number:
        """Apply an operation to double-double numbers."""
        return self.join(
            *self.call(function, [part for x in given for part in self.split(x)]).values
        )

    def combine_duals(self, op: ast.operator, a: Number, b: Number) -> Number:
        """Return the product or quotient of two dual numbers.

        (a b)' = a b' + b a',      (a / b)' = (a' - (a / b) b') / b: in the lane of the values the second term is
        zero.
        """
        if b.kind != DUAL or (a.kind != DUAL and isinstance(op, ast.Mult)):
            # a number without derivatives is a factor of all parts
            one, factor = (a, b) if a.kind == DUAL else (b, a)
            factor = self.spread_value(self.convert(factor, DUAL))
            how = "fmul" if isinstance(op, ast.Mult) else "fdiv"
            return Number(DUAL, self.line(f"{how} {DUAL} {one.name}, {factor.name}"))
        a = self.convert(a, DUAL)
        if isinstance(op, ast.Mult):
            second = self.line(f"fmul {DUAL} {self.spread_value(b).name}, {self.rates_of(a).name}")
            return self.fuse_duals(self.spread_value(a), b, Number(DUAL, second))
        whole = self.spread_value(b)
        share = self.line(f"fdiv {DUAL} {self.spread_value(a).name}, {whole.name}")
        left = self.fuse_duals(self.negated(Number(DUAL, share)), self.rates_of(b), a)
        return Number(DUAL, self.line(f"fdiv {DUAL} {left.name}, {whole.name}"))

    def add_dual_product(self, a: Number, b: Number, c: Number) -> Number:
        """Return a b + c; a or b is a dual number, the others may have no derivatives."""
        c = self.convert(c, DUAL)
        if b.kind != DUAL:
            a, b = b, a
        if a.kind == DUAL:
            c = self.fuse_duals(self.spread_value(b), self.rates_of(a), c)
        return self.fuse_duals(self.spread_value(self.convert(a, DUAL)), b, c)

    def fuse_duals(self, a: Number, b: Number, c: Number) -> Number:
        """Return a b + c for each part of dual numbers."""
        name = f"llvm.fmuladd.v{PARTS}f64"
        self.module.declare(
            name, f"declare {DUAL} @{name}({DUAL}, {DUAL}, {DUAL}) nounwind memory(none)"
        )
        given = ", ".join(f"{DUAL} {x.name}" for x in (a, b, c))
        return Number(DUAL, self.line(f"call {DUAL} @{name}({given})"))

    def power(self, a: Number, b: Number) -> Number:
        """Return a power; small integer powers are products."""
        a = self.convert(a, wider(a.kind, FLOAT))
        if b.kind == INT and b.name in ("2", "3"):
            out = a
            for _ in range(int(b.name) - 1):
                out = self.operate(ast.Constant(0), ast.Mult(), out, a)
            return out
        return self.library("llvm.pow.f64", a, self.convert(b, FLOAT))

    def of_BoolOp(self, node: ast.BoolOp) -> Any:
        """Translate and, or with short-circuit evaluation."""
        decides = isinstance(node.op, ast.Or)
        slot, (after,) = "", self.labels("decided")
        for n, part in enumerate(node.values):
            value = self.decided(part)
            if isinstance(value, Constant) and bool(value.value) == decides and not slot:
                return Constant(decides)
            if isinstance(value, Constant) and bool(value.value) != decides:
                continue
            if not slot:
                slot = self.early("alloca i1")
            truth = self.truth(value)
            self.emit(f"store i1 {truth.name}, ptr {slot}")
            if n + 1 < len(node.values):
                (further,) = self.labels("further")
                self.branch(truth, *((after, further) if decides else (further, after)))
                self.open(further)
        if not slot:
            return Constant(not decides)
        self.jump(after)
        self.open(after)
        return Number(BOOL, self.line(f"load i1, ptr {slot}"))

    def of_Compare(self, node: ast.Compare) -> Any:
        """Translate comparisons, also chained; `is None` is decided during translation."""
        left = self.value(node.left)
        out: Number | None = None
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            if isinstance(op, ast.Is | ast.IsNot):
                none = isinstance(left, Constant) and left.value is None
                return Constant(none == isinstance(op, ast.Is))
            a, b = self.number(left), self.number(right)
            kind = wider(wider(a.kind, b.kind), INT)
            a, b = self.convert(a, kind), self.convert(b, kind)
            if kind == INT and len(node.ops) == 1 and is_literal(a.name) and is_literal(b.name):
                return Constant(_TESTS[type(op)](int(a.name), int(b.name)))
            if kind == FLOAT and len(node.ops) == 1 and a.name[:2] == b.name[:2] == "0x":
                return Constant(_TESTS[type(op)](double_of(a.name), double_of(b.name)))
            found = self.compare(type(op), a, b)
            out = found if out is None else self.operate(node, ast.BitAnd(), out, found)
            left = right
        return out

    def compare(self, op: type[ast.cmpop], a: Number, b: Number) -> Number:
        """Compare two numbers of one kind; for equal high parts of double-double numbers the low parts decide."""
        if a.kind == DUAL:
            return self.compare(op, self.part_of(a, 0), self.part_of(b, 0))
        if a.kind == WIDE:
            (x, x_low), (y, y_low) = self.split(a), self.split(b)
            first = ast.Lt if op is ast.LtE else ast.Gt if op is ast.GtE else op
            ahead, level = self.compare(first, x, y), self.compare(ast.Eq, x, y)
            low = self.compare(op, x_low, y_low)
            if op is ast.NotEq:
                return Number(BOOL, self.line(f"or i1 {ahead.name}, {low.name}"))
            lower = self.line(f"and i1 {level.name}, {low.name}")
            if op is ast.Eq:
                return Number(BOOL, lower)
            return Number(BOOL, self.line(f"or i1 {ahead.name}, {lower}"))
        how = self.comparison(op, a.kind)
        text = f"{'icmp' if a.kind == INT else 'fcmp'} {how} {a.kind} {a.name}, {b.name}"
        return Number(MASK if a.kind == LANES else BOOL, self.line(text))

    def of_IfExp(self, node: ast.IfExp) -> Any:
        """Return one of two values."""
        test = self.decided(node.test)
        if isinstance(test, Constant):
            return self.value(node.body if test.value else node.orelse)
        yes, no, after = self.labels("then", "else", "chosen")
        self.branch(self.truth(test), yes, no)
        self.open(yes)
        first = self.value(node.body)
        if isinstance(first, Constant):
            first = self.number(first)
        mark = len(self.lines)
        self.jump(after)
        self.open(no)
        second = self.value(node.orelse)
        kind = kind_of(first)
        if isinstance(first, Number):
            second = self.number(second)
            kind = wider(first.kind, second.kind)
            second = self.convert(second, kind)
        slots = [self.early(f"alloca {text}") for text in llvm_types(kind)]
        self._keep(slots, kind, second)
        tail = self.lines[mark:]
        del self.lines[mark:]
        self._keep(slots, kind, self.convert(first, kind) if isinstance(first, Number) else first)
        self.lines += tail
        self.jump(after)
        self.open(after)
        texts = llvm_types(kind)
        return value_of(
            kind, [self.line(f"load {t}, ptr {s}") for s, t in zip(slots, texts, strict=True)]
        )

    def _keep(self, slots: list[str], kind: Any, value: Any) -> None:
        for slot, text, name in zip(slots, llvm_types(kind), names_in(value), strict=True):
            self.emit(f"store {text} {name}, ptr {slot}")

    # calls

    def of_Call(self, node: ast.Call) -> Any:
        """Translate a call of a kernel, a Python or NumPy function, a tuple type, or a function address."""
        callee = self.value(node.func)
        if not isinstance(callee, Constant):
            raise self.fail(node, "no function")
        target = callee.value
        given = [self.value(x) for x in node.args]
        if target in KNOWN_FUNCTIONS:
            return KNOWN_FUNCTIONS[target](self, *given)
        if isinstance(target, type) and issubclass(target, tuple):
            names = target._fields
            return TupleValue(tuple(given), names)
        if getattr(target, "at_address", False):
            return self.call_address(*given)
        if isinstance(getattr(target, "py_func", target), types.FunctionType):
            return self.call(target, given)
        raise self.fail(node, "unknown function")

    def call(self, target: Any, given: list[Any]) -> Any:
        """Call another kernel."""
        given = [
            self.number(x) if isinstance(x, Constant) and x.value is not None else x for x in given
        ]
        cold_code = self.calls_generic and getattr(target, "cold_code", False)
        kinds = tuple(general(kind_of(x)) if cold_code else self.given_kind(x) for x in given)
        name, result = self.module.function(target, kinds)
        parts = [
            f"{text} {part}"
            for kind, x in zip(kinds, given, strict=True)
            if not isinstance(kind, Fixed)
            for text, part in zip(llvm_types(kind), names_in(x), strict=True)
        ]
        parts = [*self.hidden, *parts, *self.last_arguments()]
        return self.results_of(f"call {return_type(result)} @{name}({', '.join(parts)})", result)

    def last_arguments(self) -> list[str]:
        """Return arguments that every call of another kernel has after its own."""
        return []

    def choose(self, test: Number, a: Any, b: Any) -> Number:
        """Return one of two numbers, in each lane if the condition is a mask."""
        a, b = self.number(a), self.number(b)
        kind = wider(a.kind, b.kind)
        if test.kind == MASK:
            kind = OWN.get(kind, kind)
        a, b = self.convert(a, kind), self.convert(b, kind)
        text = f"select {test.kind} {test.name}, {kind} {a.name}, {kind} {b.name}"
        return Number(kind, self.line(text))

    def results_of(self, call: str, result: Any) -> Any:
        """Return the results of a call: none, one number, or several."""
        if result is None:
            self.emit(call)
            return Constant(None)
        out = self.line(call)
        if isinstance(result, str):
            return Number(result, out)
        text = return_type(result)
        return TupleValue(tuple(
            Number(kind, self.line(f"extractvalue {text} {out}, {n}"))
            for n, kind in enumerate(result)
        ))  # fmt: skip

    def given_kind(self, value: Any) -> Any:
        """Return the type of an argument for which the called function is translated."""
        whole = isinstance(value, Number) and value.kind == INT and is_literal(value.name)
        return Fixed(value.name) if whole and self.module.unrolls else kind_of(value)

    def call_address(self, address: Any, *given: Any) -> Constant:
        """Call the function at an address: numbers are passed by value, arrays by their addresses."""
        pointer = self.line(f"inttoptr i64 {self.number(address).name} to ptr")
        parts = [
            f"ptr {x.address}" if isinstance(x, Array) else f"{x.kind} {x.name}" for x in given
        ]
        self.emit(f"call void {pointer}({', '.join(parts)})")
        return Constant(None)

    def library(self, name: str, *given: Any) -> Number:
        """Call a numeric function of the compiler or the system library."""
        kind = FLOAT
        for x in given:
            kind = wider(kind, self.number(x).kind)
        if kind in (WIDE, DUAL):
            raise TranslationError(f"{name} takes doubles; say rounded(x)")
        if kind != FLOAT:
            name = name.replace(".f64", f".v{width_of(kind)}f64")
        numbers = [self.convert(x, kind) for x in given]
        kinds = ", ".join([kind] * len(numbers))
        self.module.declare(name, f"declare {kind} @{name}({kinds}) nounwind memory(none)")
        parts = ", ".join(f"{kind} {x.name}" for x in numbers)
        return Number(kind, self.line(f"call {kind} @{name}({parts})"))


def _is_product(node: Any) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


_OPERATIONS = {
    (ast.Add, FLOAT): "fadd", (ast.Sub, FLOAT): "fsub", (ast.Mult, FLOAT): "fmul", (ast.Div, FLOAT): "fdiv",
    (ast.Add, INT): "add nsw", (ast.Sub, INT): "sub nsw", (ast.Mult, INT): "mul nsw",
    (ast.FloorDiv, INT): "sdiv", (ast.Mod, INT): "srem", (ast.Mod, FLOAT): "frem",
}  # fmt: skip
_WIDE = {
    ast.Add: double_double.add,
    ast.Sub: double_double.add,
    ast.Mult: double_double.multiply,
    ast.Div: double_double.divide,
}
# operations on integers that are known during translation
_WHOLE: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_TESTS: dict[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_COMPARISONS = {
    ast.Lt: ("slt", "olt"), ast.LtE: ("sle", "ole"), ast.Gt: ("sgt", "ogt"), ast.GtE: ("sge", "oge"),
    ast.Eq: ("eq", "oeq"), ast.NotEq: ("ne", "une"),
}  # fmt: skip
