"""Numbers with derivatives: the code that builds a model then also gives the derivatives of the model.

A `TracedNumber` of a `TangentTape` has a value and its derivatives with respect to some parameters (forward-mode
automatic differentiation); comparisons use values. Where a model chooses a frame by eigenvectors, any frame is
valid, so the choice counts as constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .arrays import Floats
from .tracing import _COMPARE, _PLAIN, Tape, TracedNumber


class TangentTape(Tape):
    """Numbers with derivatives with respect to `count` parameters."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def make(self, value: float, rates: Sequence[float] | Floats) -> Any:
        """A number with these derivatives; a plain float if they are all zero."""
        row = np.append(float(value), rates)
        return TracedNumber(self, "x", row) if row[1:].any() else float(value)

    def do(self, op: str, *operands: Any) -> Any:
        """Evaluate an operation and its derivatives."""
        if any(isinstance(x, np.ndarray) and x.ndim for x in operands):
            return NotImplemented
        rows = [self._row(x) for x in operands]
        if op == "eigen":
            values = _PLAIN[op](*(float(x[0]) for x in rows))
            return TracedNumber(self, "", [float(x) for x in values])
        return self._made(_RULES[op](*rows))

    def pick(self, many: TracedNumber, i: int) -> Any:
        """One of the values of an operation with several results."""
        return many.value[i]

    def compare(self, op: str, a: Any, b: Any) -> bool:
        """Compare values."""
        return bool(_COMPARE[op](self._row(a)[0], self._row(b)[0]))

    def _row(self, x: Any) -> Floats:
        if isinstance(x, TracedNumber):
            return np.asarray(x.value)
        return np.append(float(x), np.zeros(self.count))

    def _made(self, row: Floats) -> Any:
        return TracedNumber(self, "", row) if row[1:].any() else float(row[0])


def split_tangents(values: Any, count: int) -> tuple[Floats, Floats]:
    """Values (n,) and derivatives (n, count) of numbers, which may include plain ones."""
    items = values
    if not isinstance(values, list) or any(isinstance(x, list | np.ndarray) for x in values):
        items = np.ravel(np.asarray(values, dtype=object)).tolist()
    plain = [0.0 if type(x) is TracedNumber else x for x in items]
    out, rates = np.array(plain, dtype=float), np.zeros((len(items), count))
    for i, x in enumerate(items):
        if type(x) is TracedNumber:
            out[i], rates[i] = x.value[0], x.value[1:]
    return out, rates


def _times(a: Floats, b: Floats) -> Floats:
    out = a[0] * b + b[0] * a
    out[0] = a[0] * b[0]
    return out


def _over(a: Floats, b: Floats) -> Floats:
    # division by zero raises an error, as for floats
    share = float(a[0]) / float(b[0])
    out = (a - share * b) / b[0]
    out[0] = share
    return out


def _of_one(function: Callable[[float], float], slope: Callable[[float], float]) -> Any:
    def rule(a: Floats) -> Floats:
        x = float(a[0])
        value = function(x)
        out = slope(x) * a
        out[0] = value
        return out

    return rule


def _arc_tangent(a: Floats, b: Floats) -> Floats:
    y, x = float(a[0]), float(b[0])
    out = (x * a - y * b) / (x * x + y * y)
    out[0] = math.atan2(y, x)
    return out


def _power(a: Floats, b: Floats) -> Floats:
    x, n = float(a[0]), float(b[0])
    out = n * x ** (n - 1.0) * a
    if b[1:].any():
        out = out + math.log(x) * x**n * b
    out[0] = x**n
    return out


_RULES: dict[str, Callable[..., Floats]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": _times,
    "/": _over,
    # of equal values the first, as in Python
    "max": lambda a, b: b if b[0] > a[0] else a,
    "neg": lambda a: -a,
    "abs": lambda a: -a if a[0] < 0.0 else a,
    # the square root has no derivative at zero: vanishing lengths are only tested, never used in computations
    "sqrt": _of_one(_PLAIN["sqrt"], lambda x: 0.5 / _PLAIN["sqrt"](x) if x > 0.0 else 0.0),
    "sin": _of_one(math.sin, math.cos),
    "cos": _of_one(math.cos, lambda x: -math.sin(x)),
    "tan": _of_one(math.tan, lambda x: 1.0 + math.tan(x) ** 2),
    "arcsin": _of_one(math.asin, lambda x: 1.0 / math.sqrt(1.0 - x * x)),
    "arccos": _of_one(math.acos, lambda x: -1.0 / math.sqrt(1.0 - x * x)),
    "arctan": _of_one(math.atan, lambda x: 1.0 / (1.0 + x * x)),
    "exp": _of_one(math.exp, math.exp),
    "log": _of_one(math.log, lambda x: 1.0 / x),
    "arctan2": _arc_tangent,
    "hypot": lambda a, b: _RULES["sqrt"](_times(a, a) + _times(b, b)),
    "pow": _power,
    "rint": lambda a: np.append(_PLAIN["rint"](float(a[0])), np.zeros(len(a) - 1)),
}
