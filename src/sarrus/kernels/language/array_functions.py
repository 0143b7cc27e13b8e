"""NumPy and Python functions that user forces may call, and their translations (small_arrays.py)."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .functions import KNOWN_FUNCTIONS
from .kinds import FLOAT, INT, Number, TranslationError, TupleValue, hexadecimal, is_literal

if TYPE_CHECKING:
    from .small_arrays import ArrayBody

Written = Callable[..., Any]


def _entrywise(known: Any) -> Written:
    """Return an entrywise version of a kernel function of floats."""

    def call(body: ArrayBody, *given: Any) -> Any:
        def one(*numbers: Number) -> Any:
            return KNOWN_FUNCTIONS[known](body, *(body.convert(x, FLOAT) for x in numbers))

        return body.entrywise(one, *given)

    return call


def _of_llvm(name: str) -> Written:
    return lambda body, x: body.entrywise(lambda number: body.library(name, number), x)


def _of_numbers(known: Any) -> Written:
    """Return a Python function that takes numbers only."""
    return lambda body, *given: KNOWN_FUNCTIONS[known](body, *map(body.number, given))


def _extreme(how: type[ast.cmpop]) -> Written:
    """Return an entrywise maximum or minimum that propagates nan."""

    def choose(body: ArrayBody, a: Any, b: Any) -> Any:
        def one(x: Number, y: Number) -> Number:
            x, y = body.convert(x, FLOAT), body.convert(y, FLOAT)
            better = body.compare(how, x, y)
            undefined = body.line(f"fcmp uno double {x.name}, {x.name}")
            first = body.line(f"or i1 {better.name}, {undefined}")
            return Number(FLOAT, body.line(f"select i1 {first}, double {x.name}, double {y.name}"))

        return body.entrywise(one, a, b)

    return choose


_maximum, _minimum = _extreme(ast.Gt), _extreme(ast.Lt)


def _clip(body: ArrayBody, x: Any, low: Any, high: Any) -> Any:
    return _minimum(body, _maximum(body, x, low), high)


def _where(body: ArrayBody, condition: Any, a: Any, b: Any) -> Any:
    def one(test: Number, x: Number, y: Number) -> Number:
        x, y = body.convert(x, FLOAT), body.convert(y, FLOAT)
        text = f"select i1 {body.truth(test).name}, double {x.name}, double {y.name}"
        return Number(FLOAT, body.line(text))

    return body.entrywise(one, condition, a, b)


def _sign(body: ArrayBody, x: Any) -> Any:
    one, zero = (Number(FLOAT, hexadecimal(value)) for value in (1.0, 0.0))

    def of_number(number: Number) -> Number:
        number = body.convert(number, FLOAT)
        size = body.library("llvm.copysign.f64", one, number)
        undefined = body.compare(ast.NotEq, number, number)
        is_zero = body.compare(ast.Eq, number, zero)
        out = body.line(f"select i1 {is_zero.name}, double {zero.name}, double {size.name}")
        text = f"select i1 {undefined.name}, double {number.name}, double {out}"
        return Number(FLOAT, body.line(text))

    return body.entrywise(of_number, x)


def _array(body: ArrayBody, x: Any, *kind: Any) -> Any:
    """Return a new array; a number stays a number."""
    if kind:
        raise TranslationError("a type of entries is not supported")
    found = body.grid(x)
    return found if found.shape else found.numbers[0]


def _filled(value: float | None) -> Written:
    """Return a function that creates an array of a shape."""

    def call(body: ArrayBody, shape: Any, *rest: Any) -> Any:
        sizes = shape.values if isinstance(shape, TupleValue) else (shape,)
        if not all(isinstance(x, Number) and x.kind == INT and is_literal(x.name) for x in sizes):
            raise TranslationError("a shape that is not known")
        return _fill(body, tuple(int(x.name) for x in sizes), value, rest)

    return call


def _filled_like(value: float | None) -> Written:
    return lambda body, x, *rest: _fill(body, body.grid(x).shape, value, rest)


def _fill(body: ArrayBody, shape: tuple[int, ...], value: float | None, rest: Any) -> Any:
    if len(rest) != (value is None):
        raise TranslationError("a type of entries is not supported")
    number = Number(FLOAT, hexadecimal(value)) if value is not None else body.number(rest[0])
    grid = body.grid(TupleValue((number,)))
    places = np.zeros(shape, dtype=int)
    if not places.size:
        raise TranslationError("an array without entries")
    return grid.at(places)


def _sum(body: ArrayBody, x: Any) -> Number:
    total, *others = body.grid(x).numbers
    for number in others:
        total = body.operate(ast.Constant(0), ast.Add(), total, number)
    return total


def _product(body: ArrayBody, a: Any, b: Any) -> Any:
    return body.entrywise(lambda x, y: body.operate(ast.Constant(0), ast.Mult(), x, y), a, b)


def _dot(body: ArrayBody, a: Any, b: Any) -> Any:
    """Return the product of rows, of a matrix and a row or column, or of two matrices."""
    a, b = body.grid(a), body.grid(b)
    if not (1 <= len(a.shape) <= 2 and 1 <= len(b.shape) <= 2) or a.shape[-1] != b.shape[0]:
        raise TranslationError(f"a product of arrays of shapes {a.shape} and {b.shape}")
    rows = np.atleast_2d(a.places())
    columns = b.places().reshape(b.shape[0], -1).T
    numbers = [[_sum(body, _product(body, a.at(x), b.at(y))) for y in columns] for x in rows]
    out = body.grid(TupleValue(tuple(TupleValue(tuple(row)) for row in numbers)))
    return out.at(out.places().reshape(a.shape[:-1] + b.shape[1:]))


def _norm(body: ArrayBody, x: Any) -> Any:
    return KNOWN_FUNCTIONS[np.sqrt](body, body.convert(_sum(body, _product(body, x, x)), FLOAT))


def _cross(body: ArrayBody, a: Any, b: Any) -> Any:
    """Return the cross product of two rows of three."""
    a, b = body.grid(a), body.grid(b)
    if a.shape != (3,) or b.shape != (3,):
        raise TranslationError(f"a cross product of arrays of shapes {a.shape} and {b.shape}")

    def term(i: int, j: int) -> Any:
        products = (_product(body, a.numbers[m], b.numbers[n]) for m, n in ((i, j), (j, i)))
        return body.operate(ast.Constant(0), ast.Sub(), *products)

    return body.grid(TupleValue((term(1, 2), term(2, 0), term(0, 1))))


def _length(body: ArrayBody, x: Any) -> Number:
    size = len(x.values) if isinstance(x, TupleValue) else body.grid(x).shape[0]
    return Number(INT, str(size))


def _power(body: ArrayBody, a: Any, b: Any) -> Any:
    return body.entrywise(lambda x, y: body.power(body.convert(x, FLOAT), y), a, b)


def _hypot(body: ArrayBody, a: Any, b: Any) -> Any:
    return body.entrywise(lambda x, y: _norm(body, TupleValue((x, y))), a, b)


ARRAY_FUNCTIONS: dict[Any, Written] = {
    **{known: _entrywise(known) for known in (np.sqrt, np.log, np.exp, np.sin, np.cos)},
    **{known: _entrywise(known) for known in (np.tan, np.tanh, np.arctan2, np.rint)},
    math.sqrt: _entrywise(np.sqrt),
    math.log: lambda body, x: _entrywise(np.log)(body, x),
    math.exp: _entrywise(np.exp),
    math.sin: _entrywise(np.sin),
    math.cos: _entrywise(np.cos),
    math.tan: _entrywise(np.tan),
    math.tanh: _entrywise(np.tanh),
    math.atan2: _entrywise(np.arctan2),
    **dict.fromkeys((abs, np.abs, np.fabs, math.fabs), _entrywise(abs)),
    np.floor: _of_llvm("llvm.floor.f64"),
    np.ceil: _of_llvm("llvm.ceil.f64"),
    np.square: lambda body, x: _product(body, x, x),
    np.sign: _sign,
    np.maximum: _maximum,
    np.minimum: _minimum,
    np.clip: _clip,
    np.where: _where,
    np.hypot: _hypot,
    **dict.fromkeys((np.power, math.pow), _power),
    np.sum: _sum,
    np.dot: _dot,
    np.linalg.norm: _norm,
    np.cross: _cross,
    **dict.fromkeys((np.array, np.asarray), _array),
    np.zeros: _filled(0.0),
    np.ones: _filled(1.0),
    np.full: _filled(None),
    np.zeros_like: _filled_like(0.0),
    np.ones_like: _filled_like(1.0),
    np.full_like: _filled_like(None),
    len: _length,
    max: _of_numbers(max),
    min: _of_numbers(min),
    float: _of_numbers(float),
}

METHODS: dict[str, Written] = {"copy": lambda body, x: x, "sum": _sum, "dot": _dot}
