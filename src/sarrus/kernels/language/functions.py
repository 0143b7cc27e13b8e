"""Python and NumPy functions that kernels may call, and their translations."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import double_double, dual, simd
from ..simd import WIDTH
from .kinds import (
    BOOL,
    DUAL,
    FLOAT,
    INT,
    LANES,
    MASK,
    NARROW,
    WHOLE,
    WIDE,
    Array,
    Constant,
    Number,
    TranslationError,
    TupleValue,
    hexadecimal,
    is_literal,
    wider,
    width_of,
)

if TYPE_CHECKING:
    from .expressions import Expressions


def _length(body: Expressions, x: Any) -> Number:
    return Number(INT, x.sizes[0] if isinstance(x, Array) else str(len(body.parts(x))))


def _extreme(how: type[ast.cmpop], of_known: Callable[..., int]) -> Callable[..., Number]:
    """As in Python, a later argument replaces an earlier one if it is larger or smaller, so nan does not."""

    def choose(body: Expressions, *given: Any) -> Number:
        numbers = [body.number(x) for x in given]
        if all(x.kind == INT and is_literal(x.name) for x in numbers):
            return Number(INT, str(of_known(int(x.name) for x in numbers)))
        kind = numbers[0].kind
        for x in numbers[1:]:
            kind = wider(kind, x.kind)
        out = body.convert(numbers[0], kind)
        for x in numbers[1:]:
            x = body.convert(x, kind)
            better = body.compare(how, x, out)
            text = f"select {better.kind} {better.name}, {kind} {x.name}, {kind} {out.name}"
            out = Number(kind, body.line(text))
        return out

    return choose


_larger = _extreme(ast.Gt, max)


def _size(body: Expressions, x: Any) -> Number:
    if x.kind in (FLOAT, LANES):
        return body.library("llvm.fabs.f64", x)
    if x.kind in (WIDE, DUAL):
        negative = body.compare(ast.Lt, body.convert(x, FLOAT), Number(FLOAT, hexadecimal(0.0)))
        text = f"select i1 {negative.name}, {x.kind} {body.negated(x).name}, {x.kind} {x.name}"
        return Number(x.kind, body.line(text))
    less = body.line(f"sub nsw i64 0, {x.name}")
    below = body.line(f"icmp slt i64 {x.name}, 0")
    return Number(INT, body.line(f"select i1 {below}, i64 {less}, i64 {x.name}"))


def _is_finite(body: Expressions, x: Any) -> Number:
    x = body.convert(x, wider(body.number(x).kind, FLOAT) if x.kind not in (WIDE, DUAL) else FLOAT)
    size = body.library("llvm.fabs.f64", x)
    limit = body.convert(Number(FLOAT, hexadecimal(np.inf)), size.kind)
    return body.compare(ast.Lt, size, limit)


def _in_lanes(body: Expressions, x: Any) -> Any:
    """Return arrays with the lanes as last axis as arrays of lane numbers."""
    if body.module.alone:
        raise TranslationError("runs in lanes have no lanes within")
    if isinstance(x, Array):
        return Array(LANES, x.address, body.sizes_in_lanes(x.sizes), x.home)
    return TupleValue(tuple(_in_lanes(body, part) for part in body.parts(x)), x.record.names)


def _takes_one(body: Expressions, x: Any) -> bool:
    """Whether the numbers of a row are processed one by one."""
    return x.kind in (WIDE, DUAL) or body.module.alone


def _width(body: Expressions, x: Any) -> Number:
    return Number(INT, "1" if _takes_one(body, x) else str(WIDTH))


def _rows_of_lanes(body: Expressions, x: Any) -> Array:
    if _takes_one(body, x):
        return x
    size = body.operate(
        ast.Constant(0), ast.FloorDiv(), Number(INT, x.sizes[0]), Number(INT, str(WIDTH))
    )
    return Array(LANES, x.address, (size.name,), x.home)


def _lanes_from(body: Expressions, x: Any, t: Any, count: Any) -> Array:
    """Use half of the lanes for the last numbers of a row: loading eight takes twice as long as four."""
    if _takes_one(body, x):
        body.within(t, x.sizes[0])
        at = body.line(f"getelementptr inbounds {x.kind}, ptr {x.address}, i64 {t.name}")
        return Array(x.kind, at, ("1",), x.home)
    whole = is_literal(t.name) and is_literal(count.name)
    kind = NARROW if whole and int(count.name) - WIDTH * int(t.name) <= WIDTH // 2 else LANES
    body.within_lanes(t, width_of(kind), x.sizes[0])
    at = body.line(f"getelementptr inbounds {LANES}, ptr {x.address}, i64 {t.name}")
    return Array(kind, at, ("1",), x.home)


def _choose(body: Expressions, mask: Any, a: Any, b: Any) -> Any:
    if isinstance(mask, Constant):
        return a if mask.value else b
    return body.choose(mask, a, b)


def _any_lane(body: Expressions, mask: Any) -> Number:
    bits = body.line(f"bitcast {MASK} {mask.name} to i{WIDTH}")
    return Number(BOOL, body.line(f"icmp ne i{WIDTH} {bits}, 0"))


def _bits(kind: str) -> tuple[str, Callable[[int], str]]:
    """Return integers as wide as the numbers of a kind, and how such an integer is written."""
    if kind == LANES:
        return WHOLE, lambda number: f"splat (i64 {number})"
    return INT, str


def _parts(body: Expressions, x: Any) -> TupleValue:
    """Return y and n with x = 2^n y, y from 1/2 to 1, for positive normal numbers."""
    x = body.convert(x, wider(body.number(x).kind, FLOAT))
    whole, write = _bits(x.kind)

    def line(how: str, value: str, number: int) -> str:
        return body.line(f"{how} {whole} {value}, {write(number)}")

    bits = body.line(f"bitcast {x.kind} {x.name} to {whole}")
    rest = line("or", line("and", bits, (1 << 52) - 1), 1022 << 52)
    power = line("sub", line("lshr", bits, 52), 1022)
    y = Number(x.kind, body.line(f"bitcast {whole} {rest} to {x.kind}"))
    return TupleValue((y, Number(x.kind, body.line(f"sitofp {whole} {power} to {x.kind}"))))


def _scale(body: Expressions, x: Any, n: Any) -> Number:
    """Return 2^n x, for powers that are normal numbers."""
    kind = wider(body.number(x).kind, LANES if body.number(n).kind == WHOLE else FLOAT)
    whole, write = _bits(kind)
    x, n = body.convert(x, kind), body.convert(n, whole)
    bits = body.line(f"add {whole} {n.name}, {write(1023)}")
    bits = body.line(f"shl {whole} {bits}, {write(52)}")
    power = body.line(f"bitcast {whole} {bits} to {kind}")
    return Number(kind, body.line(f"fmul {kind} {x.name}, {power}"))


def _shared(body: Expressions, x: Any) -> Number:
    """Return the value; only runs in lanes differ."""
    return body.share(body.number(x))


def _root(body: Expressions, x: Any) -> Number:
    if x.kind == WIDE:
        return body.call_wide(double_double.root, x)
    if x.kind == DUAL:
        root = body.library("llvm.sqrt.f64", body.convert(x, FLOAT))
        twice = body.operate(ast.Constant(0), ast.Add(), root, root)
        return _chain(body, root, [(_inverse(body, twice), x)])
    return body.library("llvm.sqrt.f64", x)


def _inverse(body: Expressions, x: Number) -> Number:
    one = Number(FLOAT, hexadecimal(1.0))
    return body.operate(ast.Constant(0), ast.Div(), one, x)


def _chain(body: Expressions, value: Number, terms: list[tuple[Number, Number]]) -> Number:
    """Return a dual number with this value; its derivatives are the sum of slopes times those of dual numbers."""
    out = Number(DUAL, "zeroinitializer")
    for slope, x in terms:
        out = body.fuse_duals(body.spread_value(body.convert(slope, DUAL)), x, out)
    return body.put_value(out, value)


def _sine(body: Expressions, x: Number) -> Number:
    value = body.convert(x, FLOAT)
    return _chain(body, np_call(body, "sin", value), [(np_call(body, "cos", value), x)])


def _cosine(body: Expressions, x: Number) -> Number:
    value = body.convert(x, FLOAT)
    slope = body.negated(np_call(body, "sin", value))
    return _chain(body, np_call(body, "cos", value), [(slope, x)])


def _arc_tangent(body: Expressions, y: Number, x: Number) -> Number:
    """(x y' - y x') / (x^2 + y^2)."""
    a, b = body.convert(y, FLOAT), body.convert(x, FLOAT)
    node = ast.Constant(0)
    square = body.operate(
        node, ast.Add(), body.operate(node, ast.Mult(), a, a), body.operate(node, ast.Mult(), b, b)
    )
    by_y = body.operate(node, ast.Div(), b, square)
    by_x = body.operate(node, ast.Div(), body.negated(a), square)
    return _chain(body, np_call(body, "arctan2", a, b), [(by_y, y), (by_x, x)])


def np_call(body: Expressions, name: str, *given: Number) -> Number:
    """Call a function of math.py with doubles."""
    return _written(name)(body, *given)


_SLOPES: dict[str, Callable[..., Number]] = {"sin": _sine, "cos": _cosine, "arctan2": _arc_tangent}


def _largest_part(body: Expressions, x: Any, weights: Any) -> Number:
    if x.kind != DUAL:
        return _size(body, x)
    x = Number(DUAL, body.line(f"fmul {DUAL} {x.name}, {weights.name}"))
    out = _size(body, body.part_of(x, 0))
    for n in range(1, dual.PARTS):
        out = _larger(body, out, _size(body, body.part_of(x, n)))
    return out


def _sizes(body: Expressions, x: Number) -> Number:
    """Return the absolute values of all parts of a dual number."""
    name = f"llvm.fabs.v{dual.PARTS}f64"
    body.module.declare(name, f"declare {DUAL} @{name}({DUAL}) nounwind memory(none)")
    return Number(DUAL, body.line(f"call {DUAL} @{name}({DUAL} {x.name})"))


def _larger_parts(body: Expressions, x: Any, y: Any) -> Number:
    if x.kind != DUAL:
        return _larger(body, _size(body, x), _size(body, y))
    a, b = _sizes(body, x), _sizes(body, y)
    better = body.line(f"fcmp ogt {DUAL} {b.name}, {a.name}")
    text = f"select <{dual.PARTS} x i1> {better}, {DUAL} {b.name}, {DUAL} {a.name}"
    return Number(DUAL, body.line(text))


def _inverse_parts(body: Expressions, x: Any) -> Number:
    if x.kind != DUAL:
        return _inverse(body, x)
    ones = body.spread_value(body.convert(Number(FLOAT, hexadecimal(1.0)), DUAL))
    return Number(DUAL, body.line(f"fdiv {DUAL} {ones.name}, {x.name}"))


def _with_value(body: Expressions, x: Any, value: Any) -> Number:
    return body.put_value(x, body.convert(value, FLOAT)) if x.kind == DUAL else value


def _written(name: str, wide_one: Any = None) -> Callable[..., Any]:
    """Return a function of math.py, or its double-double version."""

    def call(body: Expressions, *given: Any) -> Any:
        # math.py is written in the language itself
        from .. import math

        numbers = [body.number(x) for x in given]
        if any(x.kind == DUAL for x in numbers):
            if name not in _SLOPES:
                raise TranslationError(
                    f"{name} of a dual number has no derivative here; say rounded(x)"
                )
            return _SLOPES[name](body, *(body.convert(x, DUAL) for x in numbers))
        if any(x.kind == WIDE for x in numbers):
            if wide_one is None:
                raise TranslationError(f"{name} has no more digits than a double; say rounded(x)")
            return body.call(wide_one, numbers)
        kind = FLOAT
        for x in numbers:
            kind = wider(kind, x.kind)
        return body.call(getattr(math, name), [body.convert(x, kind) for x in numbers])

    return call


def _named(name: str) -> Callable[..., Number]:
    return lambda body, *given: body.library(name, *given)


KNOWN_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    len: _length,
    max: _larger,
    min: _extreme(ast.Lt, min),
    abs: _size,
    int: lambda body, x: body.convert(x, INT),
    float: lambda body, x: body.convert(x, FLOAT),
    bool: lambda body, x: body.truth(x),
    np.isfinite: _is_finite,
    simd.in_lanes: _in_lanes,
    simd.rows_of_lanes: _rows_of_lanes,
    simd.lanes_from: _lanes_from,
    simd.width_of: _width,
    simd.shared: _shared,
    simd.choose: _choose,
    simd.any_lane: _any_lane,
    np.frexp: _parts,
    np.ldexp: _scale,
    double_double.rounded: lambda body, x: body.convert(x, FLOAT) if x.kind in (WIDE, DUAL) else x,
    double_double.shortened: lambda body, x: body.convert(x, FLOAT) if x.kind == WIDE else x,
    dual.is_dual: lambda body, x: Constant(x.kind == DUAL),
    dual.largest_part: _largest_part,
    dual.larger_parts: _larger_parts,
    dual.inverse_parts: _inverse_parts,
    dual.with_value: _with_value,
    double_double.is_wide: lambda body, x: Constant(x.kind == WIDE),
    double_double.alike: lambda body, number, x: body.convert(number, x.kind),
    double_double.fused: _named("llvm.fma.f64"),
    np.sqrt: _root,
    np.log: _written("log"),
    np.exp: _written("exp"),
    np.sin: _written("sin", double_double.sine),
    np.cos: _written("cos", double_double.cosine),
    np.tan: _written("tan"),
    np.tanh: _written("tanh"),
    np.rint: _named("llvm.rint.f64"),
    np.arctan2: _written("arctan2"),
}
