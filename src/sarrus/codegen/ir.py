"""The operations as text of LLVM's language: W mechanisms in the lanes of a vector, or one a thread of a GPU.

The same calls as `twin.py`. Structure is unrolled by Python loops, what the methods of `Ir` yield become loops and
branches of the code. Variables and indices are stack slots, which the compiler turns into registers.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..kernels.rules import HIGHEST_ORDER

# contraction and reassociation, nothing that assumes away nan and inf: as for the general kernels
FLAGS = "contract reassoc"
# pointers that every function has: numbers, state, scratch; none of them overlap
POINTERS = "ptr noalias readonly %numbers, i64 %stride, ptr noalias %state, ptr noalias %scratch"
# of an entry: numbers and their stride; memory; outputs: times, results; summaries; shared arguments
GROUPS = (
    "ptr noalias readonly %all_numbers, i64 %count, ptr noalias %memory, ptr noalias readonly %times, "
    "i64 %outputs, ptr noalias %all_results, ptr noalias %all_summaries, ptr noalias readonly %arguments"
)
LN2 = 0.6931471805599453
# a quarter of a turn as three numbers, two of 33 bits: their products with up to a million quarters are exact
QUARTER = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
# a double has 52 bits behind its exponent, which counts from 1023
MANTISSA, BIAS = 52, 1023
# a thread's coefficients lie in memory that all share: on an H200 a million double four-bars at 1e-10 take 1.44 s
# with orders up to 30, 0.72 s with 20, 0.61 s with 16, 0.63 s with 12
GPU_ORDER = 16


class Value:
    """A number a lane."""

    __slots__ = ("name", "o")

    def __init__(self, o: Ir, name: str) -> None:
        self.o, self.name = o, name

    def __add__(self, other: Any) -> Value:
        return self.o.binary("fadd", self, other)

    def __radd__(self, other: Any) -> Value:
        return self.o.binary("fadd", other, self)

    def __sub__(self, other: Any) -> Value:
        return self.o.binary("fsub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.o.binary("fsub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.o.binary("fmul", self, other)

    def __rmul__(self, other: Any) -> Value:
        return self.o.binary("fmul", other, self)

    def __truediv__(self, other: Any) -> Value:
        return self.o.binary("fdiv", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.o.binary("fdiv", other, self)

    def __neg__(self) -> Value:
        return Value(self.o, self.o.line(f"fneg {FLAGS} {self.o.type} {self.name}"))

    def __lt__(self, other: Any) -> Mask:
        return self.o.compare("olt", self, other)

    def __le__(self, other: Any) -> Mask:
        return self.o.compare("ole", self, other)

    def __gt__(self, other: Any) -> Mask:
        return self.o.compare("ogt", self, other)

    def __ge__(self, other: Any) -> Mask:
        return self.o.compare("oge", self, other)


class Mask:
    """A truth a lane."""

    __slots__ = ("name", "o")

    def __init__(self, o: Ir, name: str) -> None:
        self.o, self.name = o, name

    def __and__(self, other: Mask) -> Mask:
        return Mask(self.o, self.o.line(f"and {self.o.truths} {self.name}, {other.name}"))

    def __or__(self, other: Mask) -> Mask:
        return Mask(self.o, self.o.line(f"or {self.o.truths} {self.name}, {other.name}"))

    def __invert__(self) -> Mask:
        return Mask(
            self.o, self.o.line(f"xor {self.o.truths} {self.name}, {self.o.truth(True).name}")
        )


class Index:
    """An integer that all lanes share."""

    __slots__ = ("name", "o")

    def __init__(self, o: Ir, name: str) -> None:
        self.o, self.name = o, name

    def _with(self, operation: str, other: Any) -> Index:
        return Index(self.o, self.o.line(f"{operation} i64 {self.name}, {_integer(other)}"))

    def __add__(self, other: Any) -> Index:
        return self._with("add", other)

    def __sub__(self, other: Any) -> Index:
        return self._with("sub", other)

    def __rsub__(self, other: Any) -> Index:
        return Index(self.o, self.o.line(f"sub i64 {_integer(other)}, {self.name}"))

    def __mul__(self, other: Any) -> Index:
        return self._with("mul", other)

    def __floordiv__(self, other: int) -> Index:
        return self._with("udiv", other)

    def __mod__(self, other: int) -> Index:
        return self._with("urem", other)


class Flag:
    """A truth that all lanes share."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Memory:
    """Room for arrays, one after the other behind a pointer."""

    def __init__(self, o: Ir, pointer: str) -> None:
        self.o, self.pointer, self.size = o, pointer, 0

    def array(self, *shape: int) -> Array:
        """An array of values."""
        out = Array(self, self.size, shape)
        count = 1
        for n in shape:
            count *= n
        self.size += count
        return out


class Array:
    """Values in memory."""

    def __init__(self, memory: Memory, offset: int, shape: tuple[int, ...]) -> None:
        self.memory, self.offset, self.shape = memory, offset, shape

    def _address(self, at: Any) -> str:
        at = at if isinstance(at, tuple) else (at,)
        fixed, moving, stride = self.offset, None, 1
        for n, i in zip(reversed(self.shape), reversed(at), strict=True):
            if isinstance(i, Index):
                part = i * stride if stride != 1 else i
                moving = part if moving is None else moving + part
            else:
                fixed += int(i) * stride
            stride *= n
        o = self.memory.o
        place = str(fixed) if moving is None else (moving + fixed).name
        return o.line(f"getelementptr {o.type}, ptr {self.memory.pointer}, i64 {place}")

    def __getitem__(self, at: Any) -> Value:
        o = self.memory.o
        return Value(o, o.line(f"load {o.type}, ptr {self._address(at)}"))

    def __setitem__(self, at: Any, value: Any) -> None:
        o = self.memory.o
        o.write(f"store {o.type} {o.name(value)}, ptr {self._address(at)}")


class Variable:
    """A value or mask that changes: a slot of the stack."""

    def __init__(self, o: Ir, kind: type, typename: str) -> None:
        self.o, self.kind, self.type = o, kind, typename
        self.slot = o.slot(typename)

    def get(self) -> Any:
        """What it is now."""
        return self.kind(self.o, self.o.line(f"load {self.type}, ptr {self.slot}"))

    def set(self, value: Any, where: Mask | None = None) -> None:
        """Change it, in the lanes of a mask only if one is given."""
        if where is not None:
            value = self.o.where(where, value, self.get())
        name = self.o.name(value) if self.kind is Value else value.name
        self.o.write(f"store {self.type} {name}, ptr {self.slot}")


class Function:
    """A function being written."""

    def __init__(self, head: str, tail: str = "ret void") -> None:
        self.head, self.tail = head, tail
        self.slots: list[str] = []
        self.lines: list[str] = []

    def text(self) -> str:
        """All of it."""
        body = "\n  ".join(["entry:", *self.slots, "br label %begin", "\nbegin:", *self.lines])
        return f"{self.head} {{\n{body}\n  {self.tail}\n}}\n"


class Ir:
    """Operations on lanes, written down."""

    def __init__(self, lanes: int, gpu: bool = False) -> None:
        self.lanes, self.gpu = lanes, gpu
        self.highest_order = GPU_ORDER if gpu else HIGHEST_ORDER
        # whether coefficients are made before those before are looked at: on a GPU other threads fill what waits,
        # and those beside each other should go the same way
        self.looks_ahead = not gpu
        self.type = f"<{lanes} x double>" if lanes > 1 else "double"
        self.truths = f"<{lanes} x i1>" if lanes > 1 else "i1"
        self.whole = f"<{lanes} x i64>" if lanes > 1 else "i64"
        self.suffix = f"v{lanes}f64" if lanes > 1 else "f64"
        self._names = 0
        self._functions: dict[str, str] = {}
        self._globals: dict[str, str] = {}
        self._writing: list[Function] = []
        self.columns = self.slots = self.summary_places = 0

    # text

    def write(self, text: str) -> None:
        """A line without a result."""
        self._writing[-1].lines.append(text)

    def line(self, text: str) -> str:
        """A line with a result; returns its name."""
        self._names += 1
        name = f"%x{self._names}"
        self._writing[-1].lines.append(f"{name} = {text}")
        return name

    def slot(self, typename: str) -> str:
        """A place on the stack of the function being written."""
        self._names += 1
        name = f"%s{self._names}"
        self._writing[-1].slots.append(f"{name} = alloca {typename}")
        return name

    def name(self, value: Any) -> str:
        """What a value is called in the text; a number becomes a constant."""
        return value.name if isinstance(value, Value) else self.constant(value).name

    def module(self) -> str:
        """All functions and constants."""
        return "\n".join([*self._globals.values(), *self._functions.values()])

    def binary(self, operation: str, a: Any, b: Any) -> Value:
        """An operation on two values."""
        return Value(
            self, self.line(f"{operation} {FLAGS} {self.type} {self.name(a)}, {self.name(b)}")
        )

    def compare(self, how: str, a: Any, b: Any) -> Mask:
        """A comparison, false for what is no number."""
        return Mask(self, self.line(f"fcmp {how} {self.type} {self.name(a)}, {self.name(b)}"))

    def _intrinsic(self, name: str, *values: Any) -> Value:
        full = f"llvm.{name}.{self.suffix}"
        kinds = ", ".join([self.type] * len(values))
        self._globals.setdefault(full, f"declare {self.type} @{full}({kinds})")
        given = ", ".join(f"{self.type} {self.name(v)}" for v in values)
        return Value(self, self.line(f"call {self.type} @{full}({given})"))

    def _splat(self, scalar: str, typename: str = "double") -> str:
        """A scalar in all lanes."""
        if self.lanes == 1:
            return scalar
        kind = f"<{self.lanes} x {typename}>"
        one = self.line(f"insertelement {kind} poison, {typename} {scalar}, i64 0")
        zeros = ", ".join(["i32 0"] * self.lanes)
        return self.line(
            f"shufflevector {kind} {one}, {kind} poison, <{self.lanes} x i32> <{zeros}>"
        )

    def _whole(self, n: int) -> str:
        """A constant integer in all lanes."""
        return str(n) if self.lanes == 1 else "<" + ", ".join([f"i64 {n}"] * self.lanes) + ">"

    def _lane(self, vector: str, kind: str, lane: int) -> str:
        """What a vector has in a lane."""
        if self.lanes == 1:
            return vector
        return self.line(f"extractelement {kind} {vector}, i64 {lane}")

    # values

    def memory(self, name: str) -> Memory:
        """New memory: the state, or scratch memory of its own pointer."""
        return Memory(self, f"%{name}")

    def number(self, slot: Any) -> Value:
        """A number of the mechanism."""
        slot = _integer(slot)
        if self.gpu:
            at = self.line(f"mul i64 %stride, {slot}")
            place = self.line(f"getelementptr double, ptr %numbers, i64 {at}")
        else:
            place = self.line(f"getelementptr {self.type}, ptr %numbers, i64 {slot}")
        return Value(self, self.line(f"load {self.type}, ptr {place}, !invariant.load !0"))

    def argument(self, n: int) -> Value:
        """A number that all lanes share: of the entry alone."""
        place = self.line(f"getelementptr double, ptr %arguments, i64 {n}")
        return Value(self, self._splat(self.line(f"load double, ptr {place}")))

    def constant(self, x: float) -> Value:
        """The same number in all lanes."""
        one = f"double {_hex(x)}"
        text = _hex(x) if self.lanes == 1 else "<" + ", ".join([one] * self.lanes) + ">"
        return Value(self, text)

    def truth(self, x: bool) -> Mask:
        """The same truth in all lanes."""
        one = "true" if x else "false"
        text = one if self.lanes == 1 else "<" + ", ".join([f"i1 {one}"] * self.lanes) + ">"
        return Mask(self, text)

    def variable(self, value: Any) -> Variable:
        """A value or mask that changes."""
        mask = isinstance(value, Mask)
        out = Variable(self, Mask if mask else Value, self.truths if mask else self.type)
        out.set(value)
        return out

    def value(self, index: Any) -> Value:
        """An index as a value."""
        if not isinstance(index, Index):
            return self.constant(float(index))
        return Value(self, self._splat(self.line(f"sitofp i64 {index.name} to double")))

    def most(self, value: Value) -> Index:
        """The largest of the lanes, as an index."""
        top = self._lane(value.name, self.type, 0)
        for lane in range(1, self.lanes):
            other = self._lane(value.name, self.type, lane)
            larger = self.line(f"fcmp ogt double {other}, {top}")
            top = self.line(f"select i1 {larger}, double {other}, double {top}")
        return Index(self, self.line(f"fptosi double {top} to i64"))

    def index(self, value: Value) -> Index:
        """What all lanes share, as an index."""
        one = self._lane(value.name, self.type, 0)
        return Index(self, self.line(f"fptosi double {one} to i64"))

    def table(self, name: str, values: Any, index: Any) -> Value:
        """An entry of a table of constants."""
        if not isinstance(index, Index):
            return self.constant(values[index])
        entries = ", ".join(f"double {_hex(float(x))}" for x in values)
        kind = f"[{len(values)} x double]"
        space = "addrspace(4) " if self.gpu else ""
        self._globals.setdefault(name, f"@{name} = private {space}constant {kind} [{entries}]")
        pointer = f"ptr {space}@{name}"
        place = self.line(f"getelementptr {kind}, {pointer}, i64 0, i64 {index.name}")
        return Value(self, self._splat(self.line(f"load double, ptr {space}{place}")))

    def any(self, mask: Mask) -> Flag:
        """Whether it is true in any lane."""
        if self.lanes == 1:
            return Flag(mask.name)
        bits = self.line(f"bitcast {self.truths} {mask.name} to i{self.lanes}")
        return Flag(self.line(f"icmp ne i{self.lanes} {bits}, 0"))

    def where(self, mask: Mask, a: Any, b: Any) -> Any:
        """One or the other."""
        if isinstance(a, Mask):
            text = (
                f"select {self.truths} {mask.name}, {self.truths} {a.name}, {self.truths} {b.name}"
            )
            return Mask(self, self.line(text))
        a, b = self.name(a), self.name(b)
        text = f"select {self.truths} {mask.name}, {self.type} {a}, {self.type} {b}"
        return Value(self, self.line(text))

    def maximum(self, a: Any, b: Any) -> Value:
        """The larger one."""
        return self.where(self.compare("ogt", a, b), a, b)

    def minimum(self, a: Any, b: Any) -> Value:
        """The smaller one."""
        return self.where(self.compare("olt", a, b), a, b)

    def abs(self, a: Value) -> Value:
        """The size."""
        return self._intrinsic("fabs", a)

    def add_exactly(self, a: Value, b: Value) -> Value:
        """A sum that no other one is joined with: its rounding counts."""
        return Value(self, self.line(f"fadd {self.type} {a.name}, {b.name}"))

    def subtract_exactly(self, a: Value, b: Value) -> Value:
        """The same of a difference."""
        return Value(self, self.line(f"fsub {self.type} {a.name}, {b.name}"))

    def sqrt(self, a: Value) -> Value:
        """The root."""
        return self._intrinsic("sqrt", a)

    def log(self, a: Value) -> Value:
        """The natural logarithm of a positive number, to 1e-12: of exponent and mantissa, without a library."""
        bits = self.line(f"bitcast {self.type} {a.name} to {self.whole}")
        power = self.line(f"lshr {self.whole} {bits}, {self._whole(MANTISSA)}")
        power = self.line(f"sub {self.whole} {power}, {self._whole(BIAS)}")
        rest = self.line(f"and {self.whole} {bits}, {self._whole((1 << MANTISSA) - 1)}")
        rest = self.line(f"or {self.whole} {rest}, {self._whole(BIAS << MANTISSA)}")
        n = Value(self, self.line(f"sitofp {self.whole} {power} to {self.type}"))
        m = Value(self, self.line(f"bitcast {self.whole} {rest} to {self.type}"))
        large = m > 1.4142135623730951
        m = self.where(large, m * 0.5, m)
        n = self.where(large, n + 1.0, n)
        # log m = 2 artanh z; terms in pairs, that few wait for each other
        z = (m - 1.0) / (m + 1.0)
        power, terms = z * z, [self.constant(2 / k) for k in range(1, 16, 2)]
        while len(terms) > 1:
            terms = [terms[k + 1] * power + terms[k] for k in range(0, len(terms), 2)]
            power = power * power
        return n * LN2 + terms[0] * z

    def exp(self, a: Value) -> Value:
        """Its inverse, of -700 to 700, to 1e-12."""
        n = self._intrinsic("rint", a * (1 / LN2))
        x = a - n * LN2
        out = self.constant(1.0)
        for k in range(12, 0, -1):
            out = out * x * (1 / k) + 1.0
        power = self.line(f"fptosi {self.type} {n.name} to {self.whole}")
        power = self.line(f"add {self.whole} {power}, {self._whole(BIAS)}")
        power = self.line(f"shl {self.whole} {power}, {self._whole(MANTISSA)}")
        return out * Value(self, self.line(f"bitcast {self.whole} {power} to {self.type}"))

    def sine_cosine(self, a: Value) -> tuple[Value, Value]:
        """Sine and cosine, to rounding: of the rest beyond quarters of a turn, without a library."""
        n = self._intrinsic("rint", a * (2 / math.pi))
        x = a
        for part in QUARTER:
            product = Value(self, self.line(f"fmul {self.type} {n.name}, {self.name(part)}"))
            x = self.subtract_exactly(x, product)
        square = x * x
        sine, cosine = self.constant(1.0), self.constant(1.0)
        for k in range(16, 0, -2):
            sine = 1.0 - sine * square * (1 / (k * (k + 1)))
            cosine = 1.0 - cosine * square * (1 / (k * (k - 1)))
        sine = sine * x
        quarters = self.line(f"fptosi {self.type} {n.name} to {self.whole}")
        # an odd number of quarters swaps them; signs by the second bit
        swap, turn = self._has_bit(quarters, 1), self._has_bit(quarters, 2)
        sine, cosine = self.where(swap, cosine, sine), self.where(swap, -sine, cosine)
        return self.where(turn, -sine, sine), self.where(turn, -cosine, cosine)

    def _has_bit(self, integers: str, bit: int) -> Mask:
        one = self.line(f"and {self.whole} {integers}, {self._whole(bit)}")
        return Mask(self, self.line(f"icmp ne {self.whole} {one}, {self._whole(0)}"))

    # loops and branches

    def _label(self, name: str) -> None:
        self.write(f"br label %{name}")
        self._writing[-1].lines.append(f"\n{name}:")

    def _new(self, *words: str) -> list[str]:
        self._names += 1
        return [f"{word}{self._names}" for word in words]

    def _count(
        self, first: Any, last: Any, step: int, during: Callable[[], Any] | None
    ) -> Iterator[Index]:
        head, body, behind = self._new("head", "body", "behind")
        slot = self.slot("i64")
        self.write(f"store i64 {_integer(first)}, ptr {slot}")
        self._label(head)
        index = Index(self, self.line(f"load i64, ptr {slot}"))
        how = "slt" if step > 0 else "sgt"
        go = self.line(f"icmp {how} i64 {index.name}, {_integer(last)}")
        if during is not None:
            go = self.line(f"and i1 {go}, {during().name}")
        self.write(f"br i1 {go}, label %{body}, label %{behind}")
        self._writing[-1].lines.append(f"\n{body}:")
        yield index
        following = self.line(f"add i64 {index.name}, {step}")
        self.write(f"store i64 {following}, ptr {slot}")
        self.write(f"br label %{head}")
        self._writing[-1].lines.append(f"\n{behind}:")

    def loop(self, first: Any, last: Any, during: Callable[[], Any] | None = None) -> Iterator[Any]:
        """Indices from the first to before the last, while the condition holds."""
        return self._count(first, last, 1, during)

    def down(self, first: Any, last: Any) -> Iterator[Any]:
        """Indices from the first down to behind the last."""
        return self._count(first, last, -1, None)

    def repeat(self, during: Callable[[], Any]) -> Iterator[None]:
        """While the condition holds."""
        head, body, behind = self._new("head", "body", "behind")
        self._label(head)
        self.write(f"br i1 {during().name}, label %{body}, label %{behind}")
        self._writing[-1].lines.append(f"\n{body}:")
        yield
        self.write(f"br label %{head}")
        self._writing[-1].lines.append(f"\n{behind}:")

    def when(self, condition: Any) -> Iterator[None]:
        """Once, if the condition holds."""
        body, behind = self._new("then", "behind")
        self.write(f"br i1 {condition.name}, label %{body}, label %{behind}")
        self._writing[-1].lines.append(f"\n{body}:")
        yield
        self._label(behind)

    # functions

    def call(self, function: Callable[..., None], program: Any, scratch: Any) -> None:
        """A routine of the program, with the memory it works in; written when first called."""
        name = function.__name__
        if name not in self._functions:
            self._functions[name] = ""
            how = "alwaysinline" if self.gpu else "noinline"
            self._writing.append(
                Function(f"define internal void @{name}({POINTERS}) {how} nounwind")
            )
            function(self, program, scratch.moved_to("scratch"))
            self._functions[name] = self._writing.pop().text()
        self.write(
            f"call void @{name}(ptr %numbers, i64 %stride, ptr %state, ptr {scratch.memory.pointer})"
        )

    def entry(
        self, name: str, scratches: Sequence[str], write: Callable[[Ir], dict[str, int]]
    ) -> None:
        """A function for Python or a GPU: over all groups of lanes, or as one thread.

        write: writes the body and returns the sizes of its memories, the state's and those of the scratches.
        """
        kind = "ptx_kernel void" if self.gpu else "void"
        self._writing.append(Function(f"define {kind} @{name}({GROUPS}) nounwind"))
        if self.gpu:
            self._thread(scratches, write)
        else:
            self._groups(scratches, write)
        self._functions[name] = self._writing.pop().text()

    def _groups(self, scratches: Sequence[str], write: Callable[[Ir], dict[str, int]]) -> None:
        """Groups of lanes one after the other, with the same memory."""
        lines = self._writing[-1].lines
        self.write(f"%stride = add i64 0, {self.lanes}")
        for group in self.loop(0, Index(self, "%count")):
            here = len(lines)
            sizes = write(self)
            # where memories lie is known when all of them are
            head, offset = [], 0
            for memory in ("state", *scratches):
                head.append(f"%{memory} = getelementptr {self.type}, ptr %memory, i64 {offset}")
                offset += sizes[memory]
            n = group.name
            for word, size in (("numbers", self.slots), ("summaries", self.summary_places)):
                head.append(f"%at_{word} = mul i64 {n}, {size}")
                source = f"ptr %all_{word}, i64 %at_{word}"
                head.append(f"%{word} = getelementptr {self.type}, {source}")
            head.append("%rows = add i64 %outputs, 1")
            head.append(f"%row_size = mul i64 %rows, {self.columns}")
            head.append(f"%at_results = mul i64 {n}, %row_size")
            head.append(f"%results = getelementptr {self.type}, ptr %all_results, i64 %at_results")
            lines[here:here] = head
            self.memory_size = offset

    def _thread(self, scratches: Sequence[str], write: Callable[[Ir], dict[str, int]]) -> None:
        """One mechanism: memory is the thread's own, numbers of neighbours lie side by side."""
        lines = self._writing[-1].lines
        registers = []
        for word in ("ctaid", "ntid", "tid"):
            name = f"llvm.nvvm.read.ptx.sreg.{word}.x"
            self._globals[name] = f"declare i32 @{name}()"
            registers.append(self.line(f"zext i32 {self.line(f'call i32 @{name}()')} to i64"))
        before = self.line(f"mul i64 {registers[0]}, {registers[1]}")
        me = self.line(f"add i64 {before}, {registers[2]}")
        self.write("%stride = add i64 0, %count")
        for _ in self.when(Flag(self.line(f"icmp slt i64 {me}, %count"))):
            for word in ("numbers", "summaries", "results"):
                self.write(f"%{word} = getelementptr double, ptr %all_{word}, i64 {me}")
            sizes = write(self)
            slots = self._writing[-1].slots
            for memory in ("state", *scratches):
                slots.append(f"%{memory} = alloca [{sizes[memory]} x double], align 16")
        del lines

    # outputs

    def output_time(self, number: Value) -> Value:
        """Time of the output that each lane is at; the array ends with an infinite one."""
        indices = self.line(f"fptosi {self.type} {number.name} to {self.whole}")
        out = "poison"
        for lane in range(self.lanes):
            at = self._lane(indices, self.whole, lane)
            x = self.line(
                f"load double, ptr {self.line(f'getelementptr double, ptr %times, i64 {at}')}"
            )
            if self.lanes == 1:
                return Value(self, x)
            out = self.line(f"insertelement {self.type} {out}, double {x}, i64 {lane}")
        return Value(self, out)

    def keeps(self) -> Flag:
        """Whether anybody wants the outputs."""
        return Flag(self.line("icmp ne ptr %all_results, null"))

    def rows(self, number: Value, where: Mask) -> list[str]:
        """The row of the output that each lane is at; the one behind the last is for the others."""
        indices = self.line(f"fptosi {self.type} {number.name} to {self.whole}")
        last = self._splat("%outputs", "i64")
        chosen = self.line(
            f"select {self.truths} {where.name}, {self.whole} {indices}, {self.whole} {last}"
        )
        out = []
        for lane in range(self.lanes):
            at = self._lane(chosen, self.whole, lane)
            at = self.line(f"mul i64 {at}, {self.put_columns}")
            if self.gpu:
                # numbers of neighbours lie side by side
                at = self.line(f"mul i64 {at}, %stride")
            elif lane:
                # rows of a run one after the other, as they are handed out
                at = self.line(f"add i64 {at}, {self.line(f'mul i64 %row_size, {lane}')}")
            out.append(self.line(f"getelementptr double, ptr %results, i64 {at}"))
        return out

    def put(self, rows: list[str], column: int, value: Value) -> None:
        """Write a column of these rows."""
        self.columns = max(self.columns, column + 1)
        at = self.line(f"mul i64 %stride, {column}") if self.gpu else str(column)
        for lane, row in enumerate(rows):
            place = self.line(f"getelementptr double, ptr {row}, i64 {at}")
            self.write(f"store double {self._lane(value.name, self.type, lane)}, ptr {place}")

    # how many columns a row of results has
    put_columns = 0

    def summarise(self, place: int, value: Value) -> None:
        """Write what is told of each lane at its end."""
        self.summary_places = max(self.summary_places, place + 1)
        if self.gpu:
            at = self.line(f"mul i64 %stride, {place}")
            pointer = self.line(f"getelementptr double, ptr %summaries, i64 {at}")
        else:
            pointer = self.line(f"getelementptr {self.type}, ptr %summaries, i64 {place}")
        self.write(f"store {self.type} {self.name(value)}, ptr {pointer}")


def _integer(x: Any) -> str:
    return x.name if isinstance(x, Index) else str(int(x))


def _hex(x: float) -> str:
    """A double as LLVM writes it exactly."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', float(x)))[0]:016X}"
