"""Functions of small arrays: user forces, compiled without arrays at run time.

A user's force is written with NumPy for arrays of known shape, (points, dimension). During translation such an
array is a tuple of numbers (`Grid`): every operation is expanded entry by entry, and variables are numbers in
registers. Code that would differ from NumPy, or that is not supported, is rejected with a TranslationError:
unknown indices, modified arrays that share memory, functions that `array_functions.py` lacks.

Where the function would raise, and where a force is not finite, the code calls the Python function at the address
`plain`, which produces the error message.
"""

from __future__ import annotations

import ast
import linecache
import math
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .array_functions import ARRAY_FUNCTIONS, METHODS
from .kinds import (
    BOOL,
    FLOAT,
    INT,
    Constant,
    Number,
    TranslationError,
    TupleValue,
    hexadecimal,
    is_literal,
)
from .module import Module
from .statements import LEAVING, FunctionBody
from .syntax import contains, names_set

ENTRY = "user_function"
# limit of the entries of an array from outside the function
MOST_ENTRIES = 64
HEAD = f"define void @{ENTRY}(double %time, ptr %position, ptr %velocity, ptr %force) nounwind"


class Grid(NamedTuple):
    """An array of known shape: its numbers in C order."""

    shape: tuple[int, ...]
    numbers: tuple[Number, ...]

    def places(self) -> Any:
        """Return the indices of the entries among the numbers, as an array of the shape."""
        return np.arange(len(self.numbers)).reshape(self.shape)

    def at(self, places: Any) -> Any:
        """Return the entries at some of these indices: a number, or an array."""
        if not np.shape(places):
            return self.numbers[int(places)]
        return Grid(places.shape, tuple(self.numbers[n] for n in places.ravel()))


class ArrayBody(FunctionBody):
    """Translates a function of small arrays."""

    def __init__(self, module: Module, function: Any, settled: dict[str, Any]) -> None:
        super().__init__(module, function, False, settled)
        self.shape = (0, 0)
        self.grids: dict[str, tuple[tuple[int, ...], list[str]]] = {}
        # variables with entries that are modified
        self.changed: set[str] = set()

    def translate(
        self, node: ast.FunctionDef | ast.Lambda, shape: tuple[int, int], plain: int
    ) -> str:
        """Return the text of the entry point, void(t, position, velocity, force)."""
        given = node.args
        if len(given.posonlyargs + given.args) != 3 or given.vararg or given.kwonlyargs:
            raise self.fail(node, "not a function of (t, position, velocity)")
        names = [x.arg for x in given.posonlyargs + given.args]
        self.shape = shape
        self.changed = set(_changed_names(node))
        self.assign(names[0], Number(FLOAT, "%time"))
        for name, address in zip(names[1:], ("%position", "%velocity"), strict=True):
            numbers = [
                self.load(FLOAT, self._place(address, n), "") for n in range(math.prod(shape))
            ]
            self.assign(name, Grid(shape, tuple(numbers)))
        if isinstance(node.body, list):
            self.statements(node.body)
        else:
            self.statements([ast.copy_location(ast.Return(node.body), node.body)])
        if not self.closed:
            self._leave_to_python()
        self._end(plain)
        text = "\n  ".join([*self.begin, "br label %begin", "\nbegin:", *self.lines])
        return self.module.text(f"{HEAD} {{\n  {text}\n}}\n")

    def fail(self, node: ast.AST, why: str) -> TranslationError:
        """Return the error for code that cannot be translated, with a reason for a note."""
        text, *more = ast.unparse(node).splitlines() or [""]
        shown = f"{text[:60]} ..." if more or len(text) > 60 else text
        if why.startswith("cannot be translated"):
            why = "not supported"
        return TranslationError(f"line {getattr(node, 'lineno', '?')}, `{shown}`: {why}")

    def _place(self, address: str, n: int) -> str:
        return self.line(f"getelementptr double, ptr {address}, i64 {n}")

    def _end(self, plain: int) -> None:
        """Call Python if a force is not finite."""
        self.open("done")
        good = "true"
        for n in range(math.prod(self.shape)):
            x = self.load(FLOAT, self._place("%force", n), "")
            size = self.library("llvm.fabs.f64", x)
            finite = self.line(f"fcmp olt double {size.name}, {hexadecimal(math.inf)}")
            good = self.line(f"and i1 {good}, {finite}")
        self.branch(Number(BOOL, good), "good", "python")
        self.open("python")
        pointer = self.line(f"inttoptr i64 {plain} to ptr")
        given = "double %time, ptr %position, ptr %velocity, ptr %force"
        self.emit(f"call void {pointer}({given})")
        self.jump("good")
        self.open("good")
        self.emit("ret void")

    def _leave_to_python(self) -> None:
        """Fall back to Python, which determines what happens here."""
        self.emit(f"store double {hexadecimal(math.nan)}, ptr %force")
        self.jump("done")

    # variables

    def new_slot(self, kind: str) -> str:
        """Allocate memory for a variable; before it is set its value is nan."""
        slot = super().new_slot(kind)
        if kind == FLOAT:
            self.begin.append(f"store double {hexadecimal(math.nan)}, ptr {slot}")
        return slot

    def assign(self, name: str, value: Any) -> None:
        """Assign a number or an array to a variable, which has one shape in the whole function."""
        if not isinstance(value, Grid):
            if name in self.grids or not isinstance(value, Number | Constant):
                raise TranslationError(f"'{name}' is not a number or an array of one shape")
            super().assign(name, self.number(value))
            return
        if name in self.settled or self.grids.get(name, (value.shape,))[0] != value.shape:
            raise TranslationError(f"'{name}' is not an array of one shape")
        if name not in self.grids:
            self.grids[name] = value.shape, [self.new_slot(FLOAT) for _ in value.numbers]
        self._store(self.grids[name][1], value)

    def _store(self, slots: list[str], value: Grid) -> None:
        for slot, x in zip(slots, value.numbers, strict=True):
            self.emit(f"store double {self.convert(x, FLOAT).name}, ptr {slot}")

    def read(self, node: ast.Name) -> Any:
        """Return a variable, or the value of its name outside the function."""
        if node.id not in self.grids:
            return super().read(node)
        shape, slots = self.grids[node.id]
        return Grid(shape, tuple(Number(FLOAT, self.line(f"load double, ptr {x}")) for x in slots))

    def wrap(self, value: Any) -> Any:
        """Return the value of a name outside the function: arrays become constants."""
        if not isinstance(value, np.ndarray):
            return super().wrap(value)
        if value.dtype.kind not in "fiu" or value.size > MOST_ENTRIES:
            raise TranslationError(f"an array of {value.size} entries of type {value.dtype}")
        return Grid(value.shape, tuple(map(super().wrap, value.astype(float).ravel().tolist())))

    # values

    def grid(self, value: Any) -> Grid:
        """Return a number, an array or a nested list as an array."""
        if isinstance(value, Grid):
            return value
        if not isinstance(value, TupleValue):
            return Grid((), (self.number(value),))
        rows = [self.grid(x) for x in value.values]
        if not rows or any(row.shape != rows[0].shape for row in rows):
            raise TranslationError("rows of an array have different lengths")
        return Grid((len(rows), *rows[0].shape), tuple(x for row in rows for x in row.numbers))

    def entrywise(self, function: Callable[..., Number], *given: Any) -> Any:
        """Apply a function of numbers to each entry, with broadcasting."""
        grids = [self.grid(x) for x in given]
        try:
            places = np.broadcast_arrays(*(x.places() for x in grids))
        except ValueError as error:
            raise TranslationError(str(error)) from error
        rows = zip(*(x.ravel() for x in places), strict=True)
        numbers = tuple(
            function(*(x.numbers[n] for x, n in zip(grids, row, strict=True))) for row in rows
        )
        return Grid(places[0].shape, numbers) if places[0].shape else numbers[0]

    def number(self, value: Any) -> Number:
        """Return a value that has to be a number."""
        if isinstance(value, Grid):
            raise TranslationError(f"an array of shape {value.shape} is not a number")
        return super().number(value)

    def of_List(self, node: ast.List) -> TupleValue:
        """Translate a list of values."""
        return TupleValue(tuple(self.value(x) for x in node.elts))

    def of_BinOp(self, node: ast.BinOp) -> Any:
        """Translate an entrywise operation; a list is not yet an array."""
        return self._operate(node, node.op, self.value(node.left), self.value(node.right))

    def _operate(self, node: ast.AST, op: ast.operator, a: Any, b: Any) -> Any:
        if isinstance(a, TupleValue) or isinstance(b, TupleValue):
            raise self.fail(node, "an operation on a list")
        if isinstance(op, ast.MatMult):
            return ARRAY_FUNCTIONS[np.dot](self, a, b)
        return self.entrywise(lambda x, y: self.operate(node, op, x, y), a, b)

    def operate(self, node: ast.AST, op: ast.operator, a: Any, b: Any) -> Number:
        """Apply an operation to two numbers; integer quotients and remainders must be known constants."""
        if isinstance(op, ast.FloorDiv | ast.Mod):
            known = all(x.kind == INT and is_literal(x.name) for x in (a, b))
            if not known or b.name == "0":
                raise self.fail(node, "// and % are not supported")
        return super().operate(node, op, a, b)

    def of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """-x, +x, not x."""
        if isinstance(node.op, ast.USub):
            return self.entrywise(self.negated, self.value(node.operand))
        if isinstance(node.op, ast.UAdd):
            return self.value(node.operand)
        if not isinstance(node.op, ast.Not):
            raise self.fail(node, "no such operation")
        return super().of_UnaryOp(node)

    def of_Compare(self, node: ast.Compare) -> Any:
        """Translate a comparison, entrywise for arrays."""
        left = self.value(node.left)
        if len(node.ops) > 1 or not isinstance(left, Grid):
            right = self.value(node.comparators[0]) if len(node.ops) == 1 else None
            if not isinstance(right, Grid):
                return super().of_Compare(node)
        op = type(node.ops[0])

        def compare(x: Number, y: Number) -> Number:
            return self.compare(op, self.convert(x, FLOAT), self.convert(y, FLOAT))

        return self.entrywise(compare, left, self.value(node.comparators[0]))

    def of_BoolOp(self, node: ast.BoolOp) -> Any:
        """Translate and, or of booleans; for other values Python would return one of the operands."""
        for x in map(self.value, node.values):
            is_truth = isinstance(x, Number) and x.kind == BOOL
            if not is_truth and x not in (Constant(True), Constant(False)):
                raise self.fail(node, "and, or of values that are not truths")
        return super().of_BoolOp(node)

    def of_IfExp(self, node: ast.IfExp) -> Any:
        """Return one of two values, as a variable that two branches set."""
        name = ast.Name(f"choice {node.lineno}:{node.col_offset}", ast.Store())
        yes, no = (ast.Assign([name], x) for x in (node.body, node.orelse))
        self.do_If(ast.If(node.test, [yes], [no]))
        return self.read(name)

    def of_Attribute(self, node: ast.Attribute) -> Any:
        """Translate an attribute of an array, or a name in a module."""
        base = self.value(node.value)
        if not isinstance(base, Grid):
            if not isinstance(base, Constant) or not isinstance(base.value, types.ModuleType):
                raise self.fail(node, "no such field")
            return super().of_Attribute(node)
        if node.attr == "shape":
            return TupleValue(tuple(Number(INT, str(n)) for n in base.shape))
        if node.attr in ("size", "ndim"):
            known = {"size": len(base.numbers), "ndim": len(base.shape)}
            return Number(INT, str(known[node.attr]))
        if node.attr == "T":
            return base.at(base.places().T)
        raise self.fail(node, "no such field")

    def of_Subscript(self, node: ast.Subscript) -> Any:
        """Return entries of an array at known indices."""
        base = self.value(node.value)
        if isinstance(base, TupleValue):
            index = self._index(node.slice)
            if not isinstance(index, int):
                raise self.fail(node, "not an entry of a tuple")
            return base.values[index]
        if not isinstance(base, Grid):
            raise self.fail(node, "not an array")
        return base.at(self._places(node, base))

    def _places(self, node: ast.Subscript, grid: Grid) -> Any:
        try:
            return grid.places()[self._index(node.slice)]
        except IndexError as error:
            raise self.fail(node, str(error)) from error

    def _index(self, node: ast.expr) -> Any:
        """Return a known index for NumPy's basic indexing."""
        if isinstance(node, ast.Tuple):
            return tuple(self._index(x) for x in node.elts)
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            return slice(*(None if x is None else self._index(x) for x in parts))
        value = self.value(node)
        if isinstance(value, Constant) and value.value is None:
            return None
        if not (isinstance(value, Number) and value.kind == INT and is_literal(value.name)):
            raise self.fail(node, "an index that is not known")
        return int(value.name)

    def of_Call(self, node: ast.Call) -> Any:
        """Translate a call of a supported function or method."""
        if any(x.arg != "dtype" or self.value(x.value) != Constant(float) for x in node.keywords):
            raise self.fail(node, "arguments by name are not supported")
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            if isinstance(base, Grid) and node.func.attr in METHODS:
                return METHODS[node.func.attr](self, base, *map(self.value, node.args))
        callee = self.value(node.func)
        if not isinstance(callee, Constant) or not _is_listed(callee.value):
            raise self.fail(node, "unknown function")
        return ARRAY_FUNCTIONS[callee.value](self, *map(self.value, node.args))

    # statements

    def put(self, target: ast.expr, value: Any) -> None:
        """Assign a value to a target: parts of an array, entries, or a variable."""
        if isinstance(target, ast.Tuple | ast.List) and isinstance(value, Grid):
            value = TupleValue(tuple(value.at(value.places()[n]) for n in range(value.shape[0])))
        if isinstance(target, ast.List):
            target = ast.Tuple(target.elts, target.ctx)
        if not isinstance(target, ast.Subscript):
            super().put(target, value)
            return
        if not isinstance(target.value, ast.Name) or target.value.id not in self.grids:
            raise self.fail(target, "not an entry of a variable")
        shape, slots = self.grids[target.value.id]
        places = np.asarray(
            self._places(target, Grid(shape, tuple(Number(FLOAT, "") for _ in slots)))
        )
        new = self.grid(value)
        try:
            order = np.broadcast_to(new.places(), places.shape)
        except ValueError as error:
            raise self.fail(target, str(error)) from error
        numbers = tuple(new.numbers[n] for n in order.ravel())
        self._store([slots[n] for n in places.ravel()], Grid(places.shape, numbers))

    def do_Assign(self, node: ast.Assign) -> None:
        """Translate x = ...; arrays that share memory must not be modified later."""
        shared = _views(node.value) | (set(names_set(node)) if len(node.targets) > 1 else set())
        if shared and (shared | set(names_set(node))) & self.changed:
            value = self.value(node.value)
            parts = value.values if isinstance(value, TupleValue) else (value,)
            if any(isinstance(x, Grid) for x in parts):
                raise self.fail(node, "two names of an array that is changed")
        super().do_Assign(node)

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        """Translate x += ..., x[i] += ..."""
        now = self.value(node.target)
        value = self._operate(node, node.op, now, self.value(node.value))
        if isinstance(now, Grid) and self.grid(value).shape != now.shape:
            raise self.fail(node, "another shape")
        self.put(node.target, value)

    def do_Return(self, node: ast.Return) -> None:
        """Return the forces."""
        if node.value is None:
            self._leave_to_python()
            return
        value = self.grid(self.value(node.value))
        if value.shape != self.shape:
            raise self.fail(node, f"returns shape {value.shape}, not {self.shape}")
        places = [self._place("%force", n) for n in range(len(value.numbers))]
        self._store(places, value)
        self.jump("done")

    def do_Raise(self, node: ast.Raise) -> None:
        """Fall back to Python, which raises the exception."""
        self._leave_to_python()

    def do_Assert(self, node: ast.Assert) -> None:
        """Fall back to Python, which raises the exception."""
        self.do_If(ast.If(node.test, [ast.Pass()], [ast.Raise()]))

    def do_For(self, node: ast.For) -> None:
        """Translate a loop over a range or over the rows of an array."""
        if node.orelse:
            raise self.fail(node, "a loop with else")
        if isinstance(node.iter, ast.Call):
            if self.value(node.iter.func) != Constant(range):
                raise self.fail(node.iter, "loops are over ranges and arrays")
            super().do_For(node)
            return
        rows = self.value(node.iter)
        if not isinstance(rows, Grid) or not rows.shape or not self.unrolled(node, "0", "0"):
            raise self.fail(node.iter, "loops are over ranges and arrays")
        if (_views(node.iter) | set(names_set(node.target))) & self.changed:
            raise self.fail(node, "two names of an array that is changed")
        for row in rows.places():
            if not self.closed:
                self.put(node.target, rows.at(row))
                self.statements(node.body)

    def do_While(self, node: ast.While) -> None:
        """Translate a while loop."""
        if node.orelse:
            raise self.fail(node, "a loop with else")
        super().do_While(node)

    def unrolled(self, node: ast.For, first: str, last: str) -> bool:
        """Whether a loop is unrolled: wherever possible, because indices have to be known."""
        return is_literal(first) and is_literal(last) and not contains(node, LEAVING)


def _is_listed(target: Any) -> bool:
    try:
        return target in ARRAY_FUNCTIONS
    except TypeError:
        return False


def _changed_names(node: ast.AST) -> Iterator[str]:
    """Yield the variables that are modified in place."""
    for x in ast.walk(node):
        if isinstance(x, ast.AugAssign) and isinstance(x.target, ast.Name):
            yield x.target.id
        if isinstance(x, ast.Subscript) and isinstance(x.ctx, ast.Store):
            base: ast.AST = x
            while isinstance(base, ast.Subscript | ast.Attribute):
                base = base.value
            yield base.id if isinstance(base, ast.Name) else ""


def _views(node: ast.expr) -> set[str]:
    """Return the names whose memory the arrays of an expression may share."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Call):
        # np.asarray returns the array itself
        is_copy = not (isinstance(node.func, ast.Attribute) and node.func.attr == "asarray")
        parts = [] if is_copy else node.args
    elif isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, ast.Tuple | ast.List):
        parts = node.elts
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd):
        parts = [node.operand]
    else:
        parts = [node.value] if isinstance(node, ast.Subscript | ast.Attribute) else []
    return set().union(*map(_views, parts))


def translate_user_function(function: Any, shape: tuple[int, int], plain: int) -> str:
    """Return the LLVM text of a user's function for points of a shape; plain: address of the Python function.

    Raises TranslationError with a reason if it cannot be translated.
    """
    if not isinstance(function, types.FunctionType):
        raise TranslationError("not a function written in Python")
    node = find_source(function)
    settled: dict[str, Any] = {}
    while True:
        body = ArrayBody(Module(unrolls=True), function, settled)
        text = body.translate(node, shape, plain)
        if not body.widened:
            return text


def find_source(function: types.FunctionType) -> ast.FunctionDef | ast.Lambda:
    """Return the syntax tree of a function, if its source is unchanged since it was compiled."""
    code = function.__code__
    source = "".join(linecache.getlines(code.co_filename, function.__globals__))
    try:
        tree = ast.parse(source)
        whole = compile(source, code.co_filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise TranslationError("its source is not known") from error
    if not source or not any(code == x for x in _codes(whole)):
        raise TranslationError("its source is not known")
    first, spans = code.co_firstlineno, list(code.co_positions())
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.Lambda)
        and _is_at(node, code.co_name, first, spans)
    ]
    if len(found) != 1:
        raise TranslationError("its source is not known")
    return found[0]


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for x in code.co_consts:
        if isinstance(x, types.CodeType):
            yield from _codes(x)


def _is_at(node: ast.FunctionDef | ast.Lambda, name: str, first: int, spans: list[Any]) -> bool:
    """Whether a node is the function of a name that begins on a line and has instructions at given positions."""
    if isinstance(node, ast.FunctionDef):
        return node.name == name and first == min(
            [node.lineno, *(x.lineno for x in node.decorator_list)]
        )
    begin = node.body.lineno, node.body.col_offset
    end = node.body.end_lineno, node.body.end_col_offset
    known = [x for x in spans if None not in x and x[2:] != (0, 0)]
    inside = [begin <= (a, c) and (b, d) <= end for a, b, c, d in known]
    exact = any((a, c) == begin and (b, d) == end for a, b, c, d in known)
    return name == "<lambda>" and node.lineno == first and all(inside) and exact
