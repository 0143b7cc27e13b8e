"""Functions of Python and NumPy that kernels may call, and what is written for them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import lanes, wide
from ..lanes import WIDTH
from .kinds import (
    BOOL,
    FLOAT,
    INT,
    LANES,
    MASK,
    NARROW,
    WIDE,
    Array,
    Known,
    Made,
    Number,
    hexadecimal,
    is_literal,
    wider,
)

if TYPE_CHECKING:
    from .expressions import Expressions


def _length(body: Expressions, x: Any) -> Number:
    return Number(INT, x.sizes[0] if isinstance(x, Array) else str(len(body.parts(x))))


def _extreme(how: type[ast.cmpop]) -> Callable[..., Number]:
    """As Python's: a later one replaces an earlier one if it is larger or smaller, so not if it is no number."""

    def choose(body: Expressions, *given: Any) -> Number:
        numbers = [body.number(x) for x in given]
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


def _size(body: Expressions, x: Any) -> Number:
    if x.kind in (FLOAT, LANES):
        return body.library("llvm.fabs.f64", x)
    if x.kind == WIDE:
        negative = body.compare(ast.Lt, body.split(x)[0], Number(FLOAT, hexadecimal(0.0)))
        text = f"select i1 {negative.name}, {WIDE} {body.negated(x).name}, {WIDE} {x.name}"
        return Number(WIDE, body.line(text))
    less = body.line(f"sub nsw i64 0, {x.name}")
    below = body.line(f"icmp slt i64 {x.name}, 0")
    return Number(INT, body.line(f"select i1 {below}, i64 {less}, i64 {x.name}"))


def _is_finite(body: Expressions, x: Any) -> Number:
    size = body.library("llvm.fabs.f64", body.convert(x, FLOAT))
    return Number(BOOL, body.line(f"fcmp olt double {size.name}, {hexadecimal(np.inf)}"))


def _in_lanes(body: Expressions, x: Any) -> Any:
    """Arrays whose last axis are the lanes, as arrays of such numbers."""
    if isinstance(x, Array):
        return Array(LANES, x.address, x.sizes[:-1], x.home)
    return Made(tuple(_in_lanes(body, part) for part in body.parts(x)), x.record.names)


def _rows_of_lanes(body: Expressions, x: Any) -> Array:
    if x.kind == WIDE:
        return x
    size = body.operate(
        ast.Constant(0), ast.FloorDiv(), Number(INT, x.sizes[0]), Number(INT, str(WIDTH))
    )
    return Array(LANES, x.address, (size.name,), x.home)


def _lanes_from(body: Expressions, x: Any, t: Any, count: Any) -> Array:
    """Half of the lanes where they hold the last numbers of a row: eight take twice as long to load as four."""
    if x.kind == WIDE:
        at = body.line(f"getelementptr inbounds {WIDE}, ptr {x.address}, i64 {t.name}")
        return Array(WIDE, at, ("1",), x.home)
    whole = is_literal(t.name) and is_literal(count.name)
    kind = NARROW if whole and int(count.name) - WIDTH * int(t.name) <= WIDTH // 2 else LANES
    at = body.line(f"getelementptr inbounds {LANES}, ptr {x.address}, i64 {t.name}")
    return Array(kind, at, ("1",), x.home)


def _choose(body: Expressions, mask: Any, a: Any, b: Any) -> Number:
    a, b = body.convert(a, LANES), body.convert(b, LANES)
    return Number(
        LANES, body.line(f"select {MASK} {mask.name}, {LANES} {a.name}, {LANES} {b.name}")
    )


def _any_lane(body: Expressions, mask: Any) -> Number:
    bits = body.line(f"bitcast {MASK} {mask.name} to i{WIDTH}")
    return Number(BOOL, body.line(f"icmp ne i{WIDTH} {bits}, 0"))


def _parts(body: Expressions, x: Any) -> Made:
    """y and n with x = 2^n y, y from 1/2 to 1; of lanes of positive numbers that are not the very smallest."""
    whole = f"<{WIDTH} x i64>"

    def line(how: str, value: str, number: int) -> str:
        return body.line(f"{how} {whole} {value}, <{', '.join([f'i64 {number}'] * WIDTH)}>")

    bits = body.line(f"bitcast {LANES} {body.convert(x, LANES).name} to {whole}")
    rest = line("or", line("and", bits, (1 << 52) - 1), 1022 << 52)
    power = line("sub", line("lshr", bits, 52), 1022)
    y = Number(LANES, body.line(f"bitcast {whole} {rest} to {LANES}"))
    return Made((y, Number(LANES, body.line(f"sitofp {whole} {power} to {LANES}"))))


def _root(body: Expressions, x: Any) -> Number:
    if x.kind == WIDE:
        return body.call_wide(wide.root, x)
    return body.library("llvm.sqrt.f64", x)


def _wave(name: str, wide_one: Any) -> Callable[..., Any]:
    return lambda body, x: (
        body.call(wide_one, [x]) if body.number(x).kind == WIDE else body.library(name, x)
    )


def _named(name: str) -> Callable[..., Number]:
    return lambda body, *given: body.library(name, *given)


KNOWN_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    len: _length,
    max: _extreme(ast.Gt),
    min: _extreme(ast.Lt),
    abs: _size,
    int: lambda body, x: body.convert(x, INT),
    float: lambda body, x: body.convert(x, FLOAT),
    bool: lambda body, x: body.truth(x),
    np.isfinite: _is_finite,
    lanes.in_lanes: _in_lanes,
    lanes.rows_of_lanes: _rows_of_lanes,
    lanes.lanes_from: _lanes_from,
    lanes.choose: _choose,
    lanes.any_lane: _any_lane,
    np.frexp: _parts,
    wide.rounded: lambda body, x: body.convert(x, FLOAT) if x.kind == WIDE else x,
    wide.is_wide: lambda body, x: Known(x.kind == WIDE),
    wide.alike: lambda body, number, x: body.convert(number, x.kind),
    wide.fused: _named("llvm.fma.f64"),
    np.sqrt: _root,
    np.log: _named("llvm.log.f64"),
    np.exp: _named("llvm.exp.f64"),
    np.sin: _wave("llvm.sin.f64", wide.sine),
    np.cos: _wave("llvm.cos.f64", wide.cosine),
    np.rint: _named("llvm.rint.f64"),
    np.arctan2: _named("atan2"),
}
