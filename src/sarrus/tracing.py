"""Records arithmetic so that it can be replayed with other inputs.

A model is built from plain floats. If it is built from `TracedNumber`s instead, the same code does the same
arithmetic, and the tape records each operation and each comparison with its result. `Replay` repeats the
operations with other inputs, for one mechanism or vectorised over many, to the same bits. If a comparison gives
another result, the code would have taken another path, and that mechanism has to be built from scratch.

    structure    all decisions of the code: which parts share features, which entries exist, the elimination order
    numbers      the values that the tape computes from the inputs
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .arrays import Flags, Floats, Ints
from .thresholds import LARGEST_NUMBER

# variants per chunk: the values of all operations then stay in the cache, and NumPy calls cost a third as much
CHUNK = 8192
# splits of a tape that are kept: by the numbers that vary
MOST_SPLITS = 4
# largest share of the inputs of a tape for which operations that depend on them are repeated alone
MOST_CHANGED = 0.5
_BINARY = {"+": "{}+{}", "-": "{}-{}", "*": "{}*{}", "/": "{}/{}", "max": "larger({},{})"}
_UNARY = {
    "neg": "-{}",
    "abs": "size({})",
    "sqrt": "sqrt({})",
    "sin": "sin({})",
    "rint": "whole({})",
}
_TEXT = _BINARY | _UNARY | {"pick": "{}[{}]", "eigen": "eigen({},{},{},{},{},{})"}


# names of NumPy functions and of operations: the tape supports those that models need, dual numbers support all
FUNCTIONS = frozenset(
    ("sqrt", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "exp", "log", "hypot")
)


class TracedNumber:
    """A float that records the operations done with it."""

    __slots__ = ("name", "tape", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tape: Tape, name: str, value: Any) -> None:
        self.tape, self.name, self.value = tape, name, value

    def __add__(self, other: Any) -> Any:
        return self.tape.do("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return self.tape.do("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return self.tape.do("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.tape.do("-", other, self)

    def __mul__(self, other: Any) -> Any:
        # exact; most rows of natural coordinates contain such factors
        return self if type(other) is float and other == 1.0 else self.tape.do("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self if type(other) is float and other == 1.0 else self.tape.do("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return 1.0 if other is self else self.tape.do("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.tape.do("/", other, self)

    def __pow__(self, power: int) -> Any:
        return self * self if power == 2 else self.tape.do("pow", self, power)

    def __rpow__(self, base: Any) -> Any:
        return self.tape.do("pow", base, self)

    def __neg__(self) -> Any:
        return self.tape.do("neg", self)

    def __abs__(self) -> Any:
        return self.tape.do("abs", self)

    def __round__(self) -> Any:
        return self.tape.do("rint", self)

    def __lt__(self, other: Any) -> bool:
        return self.tape.compare("<", self, other)

    def __le__(self, other: Any) -> bool:
        return self.tape.compare("<=", self, other)

    def __gt__(self, other: Any) -> bool:
        return self.tape.compare(">", self, other)

    def __ge__(self, other: Any) -> bool:
        return self.tape.compare(">=", self, other)

    def __eq__(self, other: object) -> bool:
        return self.tape.compare("==", self, other)

    def __ne__(self, other: object) -> bool:
        return not self.tape.compare("==", self, other)

    def __getattr__(self, name: str) -> Any:
        # np.cos(x) of an object calls x.cos()
        if name in FUNCTIONS:
            return lambda *others: self.tape.do(name, self, *others)
        raise AttributeError(name)

    def __float__(self) -> float:
        raise UntracedError("the value of a traced number was requested")

    def __bool__(self) -> bool:
        return not self.tape.compare("==", self, 0.0)

    def __format__(self, how: str) -> str:
        return format(self.value, how)


# the numbers of a model: floats or traced numbers, which readers and type checkers treat alike
Scalar = float


class UntracedError(Exception):
    """A decision depends on numbers that the tape does not record; mechanisms must be built from scratch."""


class Tape:
    """Operations on numbers, and the decisions that depend on them."""

    def __init__(self) -> None:
        self.inputs: list[TracedNumber] = []
        # name and operands of each operation; equal operations are stored once
        self._done: dict[tuple, TracedNumber] = {}
        self._comparisons: dict[tuple[str, str, str], bool] = {}

    def __len__(self) -> int:
        return len(self._done)

    def __contains__(self, number: TracedNumber) -> bool:
        """Whether a number is an input."""
        return number.name.startswith("x")

    def number(self, value: float) -> Any:
        """A finite input that may have another value in a replay."""
        new = TracedNumber(self, f"x{len(self.inputs)}", float(value))
        self.inputs.append(new)
        return new

    def numbers(self, values: Floats) -> Any:
        """An array of such inputs."""
        out = np.empty(values.size, dtype=object)
        out[:] = [self.number(x) for x in values.ravel().tolist()]
        return out.reshape(values.shape)

    def do(self, op: str, *operands: Any) -> Any:
        """Do an operation and record it."""
        if any(isinstance(x, np.ndarray) and x.ndim for x in operands):
            # NumPy applies it to each entry of an array
            return NotImplemented
        key = (op, *(x.name if isinstance(x, TracedNumber) else repr(float(x)) for x in operands))
        found = self._done.get(key)
        if found is None:
            if op not in _TEXT:
                raise UntracedError(f"{op} is not traced")
            values = [x.value if isinstance(x, TracedNumber) else float(x) for x in operands]
            found = self._done[key] = TracedNumber(self, f"v{len(self._done)}", _PLAIN[op](*values))
        return found

    def pick(self, many: TracedNumber, i: int) -> Any:
        """One value of an operation that returns several."""
        key = ("pick", many.name, i)
        if key not in self._done:
            self._done[key] = TracedNumber(self, f"v{len(self._done)}", many.value[i])
        return self._done[key]

    def compare(self, op: str, a: Any, b: Any) -> bool:
        """Compare two numbers and record the result."""
        x, y = (z.value if isinstance(z, TracedNumber) else float(z) for z in (a, b))
        names = (z.name if isinstance(z, TracedNumber) else repr(float(z)) for z in (a, b))
        answer = bool(_COMPARE[op](x, y))
        self._comparisons[op, *names] = answer  # type: ignore[index]
        return answer

    def replay(self, outputs: Sequence[Any]) -> Replay:
        """A replay that computes these outputs for other inputs."""
        used = self._used(outputs)
        done = [(x.name, key) for key, x in self._done.items() if x.name in used]
        values = [x.name if isinstance(x, TracedNumber) else repr(float(x)) for x in outputs]
        return Replay(len(self.inputs), done, list(self._comparisons.items()), values)

    def _used(self, outputs: Sequence[Any]) -> set[str]:
        """Names that outputs or decisions need."""
        used = {x.name for x in outputs if isinstance(x, TracedNumber)}
        used.update(name for _, *names in self._comparisons for name in names)
        for key, x in reversed(self._done.items()):
            if x.name in used:
                used.update(name for name in key[1:] if isinstance(name, str))
        return used


class PartedError(Exception):
    """A comparison gives different results in the lanes of a vector; args[0] marks those that are true."""


class VectorTrace(Tape):
    """Vectorised numbers without a tape: all lanes do the same operation while their decisions agree.

    Results have the same bits as scalar arithmetic. Under `vector_arithmetic` a division by zero raises
    FloatingPointError.
    """

    def values(self, many: Floats) -> Any:
        """Values (n, ...) of n lanes as an array (...) of scalars; values common to all become floats."""
        flat = np.ascontiguousarray(many.reshape(len(many), -1).T)
        bits = flat.view(np.int64)
        same = (bits == bits[:, :1]).all(axis=1).tolist()
        out = np.empty(len(flat), dtype=object)
        out[:] = [
            float(x[0]) if one else TracedNumber(self, "", x)
            for x, one in zip(flat, same, strict=True)
        ]
        return out.reshape(many.shape[1:])

    def do(self, op: str, *operands: Any) -> Any:
        """Do an operation."""
        if any(isinstance(x, np.ndarray) and x.ndim for x in operands):
            return NotImplemented
        if op not in _VECTOR_OPERATIONS:
            raise UntracedError(f"{op} is not traced")
        values = [x.value if isinstance(x, TracedNumber) else float(x) for x in operands]
        return TracedNumber(self, "", _VECTOR_OPERATIONS[op](*values))

    def pick(self, many: TracedNumber, i: int) -> Any:
        """One value of an operation that returns several."""
        return TracedNumber(self, "", many.value[i])

    def compare(self, op: str, a: Any, b: Any) -> bool:
        """Compare; all lanes must give the same result."""
        x, y = (z.value if isinstance(z, TracedNumber) else float(z) for z in (a, b))
        answers = _COMPARE[op](x, y)
        if answers.all():
            return True
        if answers.any():
            raise PartedError(answers)
        return False


# fewer items are done one by one
MANY = 16


def each(function: Callable[..., Scalar], *columns: Sequence[Any] | Floats) -> list[Scalar]:
    """Apply a function to each row of some columns of arrays; floats are vectorised."""
    if len(columns[0]) >= MANY:
        try:
            side = VectorTrace()
            arrays = [stacked(column) for column in columns]
            with vector_arithmetic():
                found = function(*(side.values(x).ravel().tolist() for x in arrays))
            if isinstance(found, TracedNumber):
                return found.value.tolist()
            # the result is the same for all rows
            return [found] * len(columns[0])
        except (UntracedError, PartedError, FloatingPointError, ValueError):
            # fall back to one by one
            pass
    return [function(*(np.ravel(x).tolist() for x in row)) for row in zip(*columns, strict=True)]


def each_vector(
    function: Callable[[Any], Sequence[Scalar]], column: Sequence[Any] | Floats
) -> list[Sequence[Scalar]]:
    """Apply a function from arrays to tuples of scalars to each array of a column; floats are vectorised."""
    if len(column) >= MANY:
        try:
            with vector_arithmetic():
                found = function(VectorTrace().values(stacked(column)))
            parts = [
                x.value.tolist() if isinstance(x, TracedNumber) else [x] * len(column)
                for x in found
            ]
            return list(zip(*parts, strict=True))
        except (UntracedError, PartedError, FloatingPointError, ValueError):
            # fall back to one by one
            pass
    return [function(x) for x in column]


def stacked(column: Sequence[Any] | Floats) -> Floats:
    """Floats or arrays of floats as one array (n, ...); raises UntracedError for traced numbers."""
    if isinstance(column, np.ndarray):
        return column.astype(float)
    first = column[0]
    if isinstance(first, np.ndarray) and first.ndim == 1:
        # three times as fast as a list of small arrays
        return np.concatenate(column).astype(float).reshape(len(column), -1)
    if isinstance(first, np.ndarray) and first.ndim == 0:
        return np.array([x.item() for x in column], dtype=float)
    return np.array(column, dtype=float)


def vector_arithmetic() -> Any:
    """Context for vectorised numbers: operations that give NaN raise an error."""
    return np.errstate(divide="raise", invalid="raise", over="ignore", under="ignore")


class ManyNumbers(NamedTuple):
    """Numbers of n variants, in rows; values common to all variants are stored once.

    first: values of the first variant; which: rows in which variants differ; varied: their values, (len(which),
    n).
    """

    first: Floats
    which: Ints
    varied: Floats

    @classmethod
    def of(cls, rows: Sequence[Any], n: int) -> ManyNumbers:
        """From rows that are arrays (n,), or floats common to all variants."""
        if n == 0:
            return cls(np.full(len(rows), np.nan), np.zeros(0, np.int64), np.empty((0, 0)))
        which = [i for i, x in enumerate(rows) if isinstance(x, np.ndarray) and not _is_same(x)]
        first = np.array([x.flat[0] if isinstance(x, np.ndarray) else x for x in rows], dtype=float)
        varied = np.empty((len(which), n))
        for row, i in zip(varied, which, strict=True):
            row[:] = rows[i]
        return cls(first, np.array(which, dtype=np.int64), varied)

    @classmethod
    def join(cls, parts: Sequence[ManyNumbers]) -> ManyNumbers:
        """The variants of all parts, concatenated."""
        if len(parts) == 1:
            return parts[0]
        first = parts[0].first
        differ = np.zeros(len(first), dtype=bool)
        for part in parts:
            differ[part.which] = True
            differ |= part.first != first
        which = np.flatnonzero(differ)
        rows = [np.broadcast_to(part.take(which), (len(which), part.variants)) for part in parts]
        return cls(first, which, np.concatenate(rows, axis=1))

    @property
    def variants(self) -> int:
        """Number of variants."""
        return self.varied.shape[1]

    def take(self, rows: Ints) -> Floats:
        """Selected rows, (..., n); with one column if all variants are equal."""
        slots = self._slots()[rows]
        own = slots >= 0
        if not own.any():
            return self.first[rows][..., None]
        out = np.empty((*rows.shape, self.variants))
        out[...] = self.first[rows][..., None]
        out[own] = self.varied[slots[own]]
        return out

    def rows(self, rows: Ints) -> ManyNumbers:
        """Selected rows, in this order."""
        slots = self._slots()[rows]
        which = np.flatnonzero(slots >= 0)
        return ManyNumbers(self.first[rows], which, self.varied[slots[which]])

    def select(self, some: Ints) -> ManyNumbers:
        """Selected variants."""
        if len(some) == self.variants:
            return self
        varied = self.varied[:, some]
        first = self.first.copy()
        if len(some):
            first[self.which] = varied[:, 0]
        return ManyNumbers(first, self.which, varied)

    def dense(self) -> Floats:
        """All numbers, (rows, n)."""
        return np.array(
            np.broadcast_to(self.take(np.arange(len(self.first))), (len(self.first), self.variants))
        )

    def are_finite(self) -> Flags:
        """Which variants contain only finite numbers."""
        same = np.delete(self.first, self.which)
        return np.asarray(np.isfinite(self.varied).all(axis=0) & np.isfinite(same).all())

    def _slots(self) -> Ints:
        """Index of each row among those that vary, or -1."""
        out = np.full(len(self.first), -1)
        out[self.which] = np.arange(len(self.which))
        return out


def _is_same(x: Floats) -> bool:
    """Whether all entries have the same bits; arrays that vary mostly differ in the first two entries."""
    if x.size < 2:
        return True
    bits = np.ascontiguousarray(x).view(np.int64)
    return bool(bits[0] == bits[1]) and bool((bits == bits[0]).all())


class Replay:
    """A tape compiled to straight-line code: over floats for one mechanism, over arrays for many."""

    def __init__(
        self,
        inputs: int,
        done: list[tuple[str, tuple]],
        comparisons: list[tuple[tuple[str, str, str], bool]],
        outputs: list[str],
    ) -> None:
        self.operations = len(done) + len(comparisons)
        self.count = len(outputs)
        self._inputs, self._done, self._comparisons, self._outputs = (
            inputs,
            done,
            comparisons,
            outputs,
        )
        self._one: Callable[[Sequence[float]], list[float] | None] | None = None
        self._last: _Changes | None = None
        self._slices: dict[tuple[bool, ...], _Slice] = {}
        self._once: set[tuple[bool, ...]] = set()
        self._splits: dict[tuple[bool, ...], _Split] = {}

    def one(self, numbers: Floats) -> Floats | None:
        """The outputs for one row of inputs; None if a decision differs.

        Callers often change the same few numbers in each call. After two such calls, only the operations that
        depend on these are repeated.
        """
        last = self._last
        found = None if last is None else last.follow(numbers)
        if found is not None:
            return found
        values = self._whole(numbers.tolist())
        if values is None:
            return None
        found = np.array(values)
        # zeros of different signs differ
        bits = numbers.view(np.int64).copy()
        changed = np.ones(len(bits), bool) if last is None else bits != last.bits
        few = 0 < np.count_nonzero(changed) <= MOST_CHANGED * len(bits)
        again = few and last is not None and np.array_equal(changed, last.changed)
        self._last = _Changes(
            bits, changed, self._repeats(numbers, changed, found) if again else None
        )
        return found

    def _repeats(self, numbers: Floats, changed: Flags, outputs: Floats) -> _Repeats | None:
        """The operations that depend on some inputs; numbers, outputs: the last ones of the whole tape."""
        split = self._split_by(tuple(changed.tolist()), of_floats=True)
        shared = split.run_shared(numbers.tolist())
        if shared is None:
            return None
        which = np.array(split.outputs, dtype=np.int64)
        return _Repeats(split.varied, shared[0], np.flatnonzero(changed), which, outputs.copy())

    def _whole(self, numbers: Sequence[float]) -> list[float] | None:
        """All outputs, by all operations."""
        if self._one is None:
            lines = [
                _unpack([f"x{i}" for i in range(self._inputs)], "xs"),
                *_operations(self._done),
                *_checks(self._comparisons),
                f" return [{','.join(self._outputs)}]",
            ]
            self._one = _define("xs", lines, _PLAIN_NAMES)
        try:
            return self._one(numbers)
        except (ZeroDivisionError, OverflowError, ValueError):
            # the root of a negative number or an overflow: building the model from scratch reports it
            return None

    def tangent(self, numbers: Sequence[float], direction: Sequence[float]) -> Floats:
        """Derivatives of the outputs along a direction of the inputs: the operations on complex numbers.

        A tiny imaginary part is carried along as a derivative, without differences, so it is exact to rounding.
        The decisions of the inputs must be those of the tape. Where the derivative does not exist: 0.
        """
        out = np.zeros(self.count)
        if not any(direction):
            return out
        part = self._slice_by(tuple(map(bool, direction)))
        given = [complex(x, TINY * d) if d else x for x, d in zip(numbers, direction, strict=True)]
        out[part.outputs] = [x.imag / TINY for x in part.tangent(given)]
        return out

    def keeps(self, numbers: Sequence[float], varied: Sequence[bool]) -> bool:
        """Whether other numbers lead to the same decisions; varied: which inputs may differ from valid ones."""
        try:
            return self._slice_by(tuple(map(bool, varied))).keeps(numbers) is not None
        except (ZeroDivisionError, OverflowError, ValueError):
            # the root of a negative number or an overflow: building the model from scratch reports it
            return False

    def _slice_by(self, varied: tuple[bool, ...]) -> _Slice:
        """Code for these varied inputs; for all inputs if they are varied for the first time."""
        found = self._slices.get(varied)
        if found is None:
            found = self._slices.get(())
            if found is None:
                found = self._slices[()] = self._slice((True,) * self._inputs)
            while len(self._slices) > MOST_SPLITS:
                del self._slices[next(key for key in self._slices if key)]
            # compiling takes a hundred times as long as running
            self._slices[varied] = found
            self._once.add(varied)
        elif varied in self._once:
            self._once.discard(varied)
            found = self._slices[varied] = self._slice(varied)
        return found

    def _slice(self, varied: tuple[bool, ...]) -> _Slice:
        """Code of the outputs and decisions that depend on some inputs, and of what these are computed from."""
        names = {f"x{i}" for i, one in enumerate(varied) if one}
        for name, key in self._done:
            if names.intersection(map(str, key[1:])):
                names.add(name)
        outputs = [i for i, name in enumerate(self._outputs) if name in names]
        made = [self._outputs[i] for i in outputs]
        checks = [c for c in self._comparisons if names.intersection(c[0][1:])]
        first = _unpack([f"x{i}" for i in range(self._inputs)], "xs")
        tangent = [first, *_operations(self._needed(made)), f" return [{','.join(made)}]"]
        decided = self._needed([x for key, _ in checks for x in key[1:]])
        keeps = [first, *_operations(decided), *_checks(checks), " return True"]
        return _Slice(
            outputs, _define("xs", tangent, _COMPLEX_NAMES), _define("xs", keeps, _PLAIN_NAMES)
        )

    def _needed(self, names: Iterable[str]) -> list[tuple[str, tuple]]:
        """The operations that some names are computed from, in order."""
        wanted, out = set(names), []
        for name, key in reversed(self._done):
            if name in wanted:
                wanted.update(map(str, key[1:]))
                out.append((name, key))
        return out[::-1]

    def many(self, numbers: Sequence[Any], n: int) -> tuple[ManyNumbers, Flags]:
        """The outputs of n variants, and a mask of variants whose decisions are unchanged.

        numbers: each input, as an array (n,) or a float common to all. Operations that do not depend on varying
        inputs are done once.
        """
        varies = tuple(isinstance(x, np.ndarray) for x in numbers)
        split, good = self._splits.get(varies), np.ones(n, bool)
        if split is None:
            while len(self._splits) >= MOST_SPLITS:
                del self._splits[next(iter(self._splits))]
            split = self._splits[varies] = self._split_by(varies)
        shared = split.run_shared(numbers)
        if shared is None:
            return ManyNumbers.of([np.nan] * self.count, n), np.zeros(n, bool)
        given, fixed = shared
        varied = np.empty((len(split.outputs), n))
        # in one thread: operations on a chunk are so short that eight threads took three times as long
        for first in range(0, n, CHUNK):
            part = slice(first, first + CHUNK)
            some = [x[part] for x, one in zip(numbers, varies, strict=True) if one]
            split.run_varied(some, given, good[part], varied[:, part])
        rows: list[Any] = list(fixed)
        for i, row in zip(split.outputs, varied, strict=True):
            rows[i] = row
        found = ManyNumbers.of(rows, n)
        for x in numbers:
            good &= np.isfinite(x)
        return found, good & found.are_finite()

    def _split_by(self, varies: tuple[bool, ...], of_floats: bool = False) -> _Split:
        """Split the tape in two: operations on inputs common to all variants, and the rest.

        of_floats: the rest computes with floats instead of arrays, and returns its outputs.
        """
        names = {f"x{i}" for i, one in enumerate(varies) if one}
        shared, varied = [], []
        for name, key in self._done:
            if names.intersection(map(str, key[1:])):
                names.add(name)
                varied.append((name, key))
            else:
                shared.append((name, key))
        later = [(key, answer) for key, answer in self._comparisons if names.intersection(key[1:])]
        first = [
            (key, answer) for key, answer in self._comparisons if not names.intersection(key[1:])
        ]
        outputs = [i for i, name in enumerate(self._outputs) if name in names]
        used = {str(x) for _, key in varied for x in key[1:]} | {
            x for key, _ in later for x in key[1:]
        }
        handed = [name for name, _ in shared if name in used]
        handed += [f"x{i}" for i, one in enumerate(varies) if not one and f"x{i}" in used]
        fixed = ["0.0" if name in names else name for name in self._outputs]
        tuple_of = "".join(f"{name}," for name in handed)
        run_shared = _define(
            "xs",
            [
                _unpack([f"x{i}" for i in range(self._inputs)], "xs"),
                *_operations(shared),
                *_checks(first),
                f" return ({tuple_of}),[{','.join(fixed)}]",
            ],
            _PLAIN_NAMES,
        )
        begin = [
            _unpack([f"x{i}" for i, one in enumerate(varies) if one], "xs"),
            _unpack(handed, "given"),
        ]
        names_out = [self._outputs[i] for i in outputs]
        if of_floats:
            end = f" return [{','.join(names_out)}]"
            lines = [*begin, *_operations(varied), *_checks(later), end]
            return _Split(outputs, run_shared, _define("xs,given", lines, _PLAIN_NAMES))
        lines = [*begin, *_brief(varied, later, names_out)]
        return _Split(outputs, run_shared, _define("xs,given,good,out", lines, _ARRAY_NAMES))


class _Repeats(NamedTuple):
    """The operations that depend on some inputs.

    code: of these operations; given: values of the others; inputs, which: the inputs, and the outputs that depend
    on them; outputs: all.
    """

    code: Callable[[list[float], Any], list[float] | None]
    given: Any
    inputs: Ints
    which: Ints
    outputs: Floats


class _Changes(NamedTuple):
    """The last inputs of a replay, as bits, and which of them differed from those before.

    repeats: the operations that depend on these, if they changed repeatedly.
    """

    bits: Ints
    changed: Flags
    repeats: _Repeats | None

    def follow(self, numbers: Floats) -> Floats | None:
        """The outputs if only the same inputs changed as before and no decision did; None otherwise."""
        repeats = self.repeats
        if repeats is None or ((numbers.view(np.int64) != self.bits) > self.changed).any():
            return None
        try:
            found = repeats.code(numbers[repeats.inputs].tolist(), repeats.given)
        except (ZeroDivisionError, OverflowError, ValueError):
            # as in the whole tape
            return None
        if found is None:
            return None
        outputs = repeats.outputs.copy()
        outputs[repeats.which] = found
        return outputs


class _Slice(NamedTuple):
    """A tape for some varied inputs: outputs that depend on them, the code of these, and that of the decisions."""

    outputs: list[int]
    tangent: Callable[[Sequence[complex]], list[complex]]
    keeps: Callable[[Sequence[float]], bool | None]


class _Split(NamedTuple):
    """A tape for many variants: the varying outputs, and the code of its two parts.

    Its second part computes with arrays or, for one variant at a time, with floats.
    """

    outputs: list[int]
    shared: Callable[[Sequence[Any]], tuple[Any, list[float]] | None]
    varied: Callable[..., Any]

    def run_shared(self, numbers: Sequence[Any]) -> tuple[Any, list[float]] | None:
        """Values passed on to the second part, and outputs; None if a decision differs."""
        try:
            return self.shared(numbers)
        except (ZeroDivisionError, OverflowError, ValueError):
            # the root of a negative number or an overflow
            return None

    def run_varied(self, some: list[Floats], given: Any, good: Flags, out: Floats) -> None:
        """Run the second part for some variants."""
        with np.errstate(all="ignore"):
            self.varied(some, given, good, out)


def _define(arguments: str, lines: list[str], names: dict[str, Any]) -> Any:
    """Compile a function from source lines."""
    space = dict(names)
    exec(compile("\n".join([f"def run({arguments}):", *lines]), "<replay>", "exec"), space)
    return space["run"]


def _unpack(names: list[str], source: str) -> str:
    return f" {''.join(f'{name},' for name in names)}={source}" if names else " pass"


def _operations(done: list[tuple[str, tuple]]) -> list[str]:
    return [f" {name}={_TEXT[key[0]].format(*key[1:])}" for name, key in done]


def _brief(
    done: list[tuple[str, tuple]],
    comparisons: list[tuple[tuple[str, str, str], bool]],
    outputs: list[str],
) -> list[str]:
    """Operations, checks and outputs, each as early as possible.

    Arrays are released after their last use, so few are alive at a time and they stay in the cache.
    """
    place = {name: i for i, (name, _) in enumerate(done)}
    lines = [[f" {name}={_TEXT[key[0]].format(*key[1:])}"] for name, key in done]
    first: list[str] = []
    last = dict(place)
    for i, (_, key) in enumerate(done):
        last.update((name, i) for name in map(str, key[1:]) if name in place)
    for key, answer in comparisons:
        at = max((place[x] for x in key[1:] if x in place), default=-1)
        (lines[at] if at >= 0 else first).append(f" good&={_comparison_text(key, answer)}")
        last.update((x, max(last[x], at)) for x in key[1:] if x in place)
    for n, name in enumerate(outputs):
        (lines[place[name]] if name in place else first).append(f" out[{n}]={name}")
    for name, at in last.items():
        lines[at].append(f" del {name}")
    return first + [line for some in lines for line in some]


def _checks(comparisons: list[tuple[tuple[str, str, str], bool]]) -> list[str]:
    """Lines that return None where a decision differs."""
    conditions = [f"({_comparison_text(key, answer)})" for key, answer in comparisons]
    # in pieces: Python nests a long chain of conditions too deeply
    pieces = [conditions[i : i + 50] for i in range(0, len(conditions), 50)]
    return [f" if not({' and '.join(some)}): return None" for some in pieces]


def _comparison_text(key: tuple[str, str, str], answer: bool) -> str:
    op, a, b = key
    # written so that NaN gives the same result as in the traced code
    return f"({a}{op}{b})" if answer else f"(({a}{op}{b})==False)"


# the few functions that models need, for floats and traced numbers alike


def sqrt(x: Scalar) -> Scalar:
    """The square root."""
    return x.tape.do("sqrt", x) if isinstance(x, TracedNumber) else math.sqrt(x)


def sine(x: Scalar) -> Scalar:
    """The sine."""
    return x.tape.do("sin", x) if isinstance(x, TracedNumber) else math.sin(x)


def larger(a: Scalar, b: Scalar) -> Scalar:
    """The larger of two numbers; the choice is not recorded as a decision."""
    if isinstance(a, TracedNumber):
        return a.tape.do("max", a, b)
    return b.tape.do("max", a, b) if isinstance(b, TracedNumber) else max(a, b)


def largest(values: Iterable[Scalar], least: float = 0.0) -> Scalar:
    """The largest of some numbers, but not less than `least`."""
    if (
        isinstance(values, list)
        and len(values) >= MANY
        and TracedNumber not in set(map(type, values))
    ):
        return max([least, *values])
    out: Scalar = least
    for x in values:
        out = larger(out, x)
    return out


def mean(values: Sequence[Scalar]) -> Scalar:
    """The mean, by pairwise summation as in NumPy, so that long sums lose no digits."""
    if len(values) >= MANY:
        try:
            return _sum_of_many(np.array(values, dtype=float)) / float(len(values))
        except UntracedError:
            # a tape records each sum
            pass
    return _sum_of(values) / float(len(values))


def _sum_of_many(values: Floats) -> float:
    """The same sums as `_sum_of`, vectorised over all halves of equal size."""
    start, size = np.array([0]), np.array([len(values)])
    levels = []
    while (split := size > 8).any():
        levels.append(split)
        place = np.repeat(np.arange(len(size)), 1 + split)
        second = np.append(False, place[1:] == place[:-1])
        half = size[place] // 2
        start = start[place] + np.where(second, half, 0)
        size = np.where(second, size[place] - half, np.where(split[place], half, size[place]))
    out = values[start]
    for i in range(1, 8):
        more = size > i
        out[more] = out[more] + values[start[more] + i]
    for split in reversed(levels):
        first = np.cumsum(1 + split) - 1 - split
        halves = first[split]
        whole = out[first]
        whole[split] = out[halves] + out[halves + 1]
        out = whole
    return float(out[0])


def _sum_of(values: Sequence[Scalar]) -> Scalar:
    n = len(values)
    if n > 8:
        return _sum_of(values[: n // 2]) + _sum_of(values[n // 2 :])
    out = values[0]
    for x in values[1:]:
        out = out + x
    return out


def length_of(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """The distance between two points."""
    parts = [x - y for x, y in zip(a, b, strict=True)]
    return sqrt(_sum_of([x * x for x in parts]))


def is_finite(x: Scalar) -> bool:
    """Whether x is finite."""
    # inputs of a tape are finite, also in a replay
    return (isinstance(x, TracedNumber) and x in x.tape) or x - x == 0.0


# end of the message about a number that is not usable
UNUSABLE = f"is not finite, or larger than {LARGEST_NUMBER:g}"


def is_usable(x: Scalar) -> bool:
    """Whether x is finite and small enough for products to be finite."""
    return abs(x) <= LARGEST_NUMBER


def eigen(matrix: Sequence[Sequence[Any]]) -> tuple[list[Scalar], list[list[Scalar]]]:
    """Eigenvalues of a symmetric 3 x 3 matrix in increasing order, and their unit eigenvectors."""
    entries = [matrix[i][j] for i in range(3) for j in range(i + 1)]
    tape = next((x.tape for x in entries if isinstance(x, TracedNumber)), None)
    if tape is None:
        values: Any = _eigen(*entries)
        values = values.tolist()
    else:
        whole = tape.do("eigen", *entries)
        values = [tape.pick(whole, i) for i in range(12)]
    return values[:3], [values[3:6], values[6:9], values[9:]]


def _eigen(*entries: float) -> Floats:
    """Eigenvalues and eigenvectors of one symmetric matrix or of many, concatenated: (12, ...)."""
    a, b, c, d, e, f = np.broadcast_arrays(*entries)
    matrix = np.stack([a, b, d, b, c, e, d, e, f], axis=-1).reshape(*np.shape(a), 3, 3)
    # NaN and infinity are detected at the end
    matrix = np.where(np.isfinite(matrix).all(axis=(-2, -1), keepdims=True), matrix, 0.0)
    widths, directions = np.linalg.eigh(matrix)
    flat = np.swapaxes(directions, -1, -2).reshape(*np.shape(a), 9)
    return np.moveaxis(np.concatenate([widths, flat], axis=-1), -1, 0)


def _sines(x: Any) -> Any:
    """Sines one by one: array sines differ in the last bit."""
    values = np.ravel(x).tolist()
    return np.array([math.sin(v) if math.isfinite(v) else math.nan for v in values]).reshape(
        np.shape(x)
    )


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
}
_PLAIN: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "max": max,
    "neg": lambda a: -a,
    "abs": abs,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "rint": lambda a: float(round(a)),
    "eigen": lambda *x: _eigen(*x).tolist(),
}
_VECTOR_OPERATIONS = _PLAIN | {
    "max": np.maximum,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "sin": _sines,
    "rint": np.rint,
    "eigen": lambda *x: _eigen(*x),
}
_CONSTANTS = {"inf": np.inf, "nan": np.nan}
_PLAIN_NAMES = _CONSTANTS | {
    "larger": max,
    "size": abs,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "whole": _PLAIN["rint"],
    "eigen": _PLAIN["eigen"],
}
_ARRAY_NAMES = _CONSTANTS | {
    "larger": np.maximum,
    "size": np.abs,
    "sqrt": np.sqrt,
    "sin": _sines,
    "whole": np.rint,
    "eigen": _eigen,
}


# imaginary part that stands for a derivative: its square is below the smallest double and rounds to zero, so real
# parts are those of floats, to the last bit
TINY = 1e-170


def _of_complex(function: Callable[[float], float], slope: Callable[[float], float]) -> Any:
    """A function of one number and its derivative, carried along as the imaginary part."""

    def call(x: Any) -> Any:
        if type(x) is not complex:
            return function(x)
        return complex(function(x.real), slope(x.real) * x.imag)

    return call


_COMPLEX_NAMES = _CONSTANTS | {
    # of equal numbers the first, as in Python
    "larger": lambda a, b: b if b.real > a.real else a,
    "size": lambda x: -x if x.real < 0.0 else x,
    # the root has no derivative at zero: vanishing lengths are only tested, never used in computations
    "sqrt": _of_complex(math.sqrt, lambda x: 0.5 / math.sqrt(x) if x > 0.0 else 0.0),
    "sin": _of_complex(math.sin, math.cos),
    "whole": lambda x: _PLAIN["rint"](x.real),
    # any frame is valid, so the choice counts as constant
    "eigen": lambda *x: _PLAIN["eigen"](*(y.real for y in x)),
}
