"""Convert formulas of time in ASMT files (numbers like 45.0d, +, -, *, /, ^, sin, arctan, ...) to drive motions.

A sum of powers of time becomes a Polynomial, a single sine a Sine, both exact to the last bit. Any other formula
becomes a Table, as fine as necessary, and the report says so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import scipy

from ..arrays import Floats, plain_sum
from ..mechanism import DriveMotion, Polynomial, Sine, Table
from .parts import FormatError

LONGEST = 10_000
# A table is refined until its error between the nodes is below this fraction of its range.
FINE = 1e-9
MOST_NODES = 2**14

FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "arcsin": np.arcsin,
    "arccos": np.arccos,
    "arctan": np.arctan,
    "exp": np.exp,
    "ln": np.log,
    "log": np.log10,
    "sqrt": np.sqrt,
    "abs": np.abs,
}
OPERATORS: dict[type, Callable[[Floats, Floats], Floats]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}


@dataclass(frozen=True, eq=False)
class Formula:
    """A formula as a syntax tree of numbers, names, operators and known functions only."""

    text: str
    tree: ast.expr

    def at(self, **values: Floats | float) -> Floats:
        """Evaluate the formula for these values of its names."""
        with np.errstate(all="ignore"):
            return _value(self.tree, values)

    @property
    def names(self) -> set[str]:
        """The names that the formula depends on, without pi."""
        found = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)}
        return found - FUNCTIONS.keys() - {"pi"}


def parse(text: str, known: Mapping[str, str] | None = None) -> Formula:
    """Parse a formula; `known` maps further names besides time and pi to their text in the file."""
    shown = " ".join(text[:200].split())[:80]
    # Checked first: the search for numbers is quadratic in the number of digits.
    if len(text) > LONGEST:
        raise FormatError(f"the formula {shown}... is longer than {LONGEST} characters")
    words = re.sub(r'"[^"]*"', " ", text).replace("<n>", " ").replace("^", "**")
    for name, written in (known or {}).items():
        words = words.replace(written, name)
    words = re.sub(r"(\d\.?\d*)[dD]([-+]?\d+)", r"\1e\2", words)
    words = re.sub(r"(\d\.?\d*)[dD](?![A-Za-z_])", r"\1", words)
    try:
        tree = ast.parse(words.strip(), mode="eval").body
        _check(tree, {"time", "pi", *(known or {})})
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FormatError(f"the formula {shown} cannot be read") from error
    return Formula(shown, tree)


def _check(tree: ast.expr, names: set[str]) -> None:
    for node in ast.walk(tree):
        good = (
            (isinstance(node, ast.Constant) and type(node.value) in (int, float))
            or (isinstance(node, ast.Name) and (node.id in names or node.id in FUNCTIONS))
            or (isinstance(node, ast.BinOp) and type(node.op) in OPERATORS)
            or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd))
            or (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in FUNCTIONS
                and len(node.args) == 1
                and not node.keywords
            )
            or isinstance(node, ast.operator | ast.unaryop | ast.Load)
        )
        if not good:
            raise ValueError(type(node).__name__)


def _value(node: ast.expr, values: Mapping[str, Floats | float]) -> Floats:
    if isinstance(node, ast.Constant):
        return np.asarray(float(node.value))  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return np.asarray(np.pi if node.id == "pi" else values[node.id], float)
    if isinstance(node, ast.UnaryOp):
        inner = _value(node.operand, values)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](_value(node.left, values), _value(node.right, values))
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    return FUNCTIONS[node.func.id](_value(node.args[0], values))


# formulas of time as motions


@dataclass(frozen=True)
class _Form:
    """Powers of time plus at most one sine: amplitude, angular frequency, phase."""

    powers: tuple[float, ...]
    wave: tuple[float, float, float] | None = None

    @property
    def constant(self) -> bool:
        return self.wave is None and not any(self.powers[1:])


def make_motion(formula: Formula, begin: float, end: float) -> tuple[DriveMotion, str]:
    """Return the motion of a formula, with time from `begin`, and a message if it is only approximate."""
    form = _form(formula.tree, begin)
    if form is not None and form.wave is None:
        return Polynomial(form.powers), ""
    if form is not None and form.wave is not None and not any(form.powers[1:]):
        amplitude, rate, phase = form.wave
        return Sine(amplitude, rate / (2.0 * np.pi), phase, form.powers[0]), ""
    nodes = 64
    while True:
        times = np.linspace(0.0, end - begin, nodes + 1)
        values = np.broadcast_to(formula.at(time=times + begin), times.shape)
        if not np.isfinite(values).all():
            raise FormatError(f"the formula {formula.text} is not finite at all times")
        between = 0.5 * (times[1:] + times[:-1])
        miss = np.abs(
            scipy.interpolate.CubicSpline(times, values)(between) - formula.at(time=between + begin)
        ).max()
        width = max(float(np.ptp(values)), 1e-300)
        if miss <= FINE * width or nodes >= MOST_NODES:
            break
        nodes *= 2
    table = Table(tuple(times.tolist()), tuple(values.tolist()))
    return table, f"a table of {nodes + 1} rows, within {float(miss):.1e}"


def _form(node: ast.expr, begin: float) -> _Form | None:
    """Return the formula as powers of (time - begin) and one sine; None if it has another form."""
    if isinstance(node, ast.Constant):
        return _Form((float(node.value),))  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        return _Form((np.pi,)) if node.id == "pi" else _Form((begin, 1.0))
    if isinstance(node, ast.UnaryOp):
        inner = _form(node.operand, begin)
        return _scaled(inner, -1.0) if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp):
        a, b = _form(node.left, begin), _form(node.right, begin)
        return None if a is None or b is None else _combine(node.op, a, b)
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    inner = _form(node.args[0], begin)
    if inner is None or inner.wave is not None:
        return None
    if inner.constant:
        value = float(FUNCTIONS[node.func.id](np.asarray(inner.powers[0])))
        return _Form((value,)) if np.isfinite(value) else None
    if node.func.id not in ("sin", "cos") or any(inner.powers[2:]):
        return None
    quarter = 0.5 * np.pi if node.func.id == "cos" else 0.0
    return _Form((0.0,), (1.0, inner.powers[1], inner.powers[0] + quarter))


def _scaled(form: _Form | None, factor: float) -> _Form | None:
    if form is None:
        return None
    wave = None if form.wave is None else (factor * form.wave[0], *form.wave[1:])
    return _Form(tuple(factor * p for p in form.powers), wave)


def _combine(op: ast.operator, a: _Form, b: _Form) -> _Form | None:
    if isinstance(op, ast.Sub):
        return _combine(ast.Add(), a, _scaled(b, -1.0) or b)
    if isinstance(op, ast.Add):
        if a.wave is not None and b.wave is not None:
            return None
        size = max(len(a.powers), len(b.powers))
        sums = (plain_sum(f.powers[k] for f in (a, b) if k < len(f.powers)) for k in range(size))
        return _Form(tuple(float(s) for s in sums), a.wave or b.wave)
    if isinstance(op, ast.Mult):
        if a.constant:
            return _scaled(b, a.powers[0])
        if b.constant:
            return _scaled(a, b.powers[0])
        if a.wave is not None or b.wave is not None:
            return None
        return _Form(tuple(np.convolve(a.powers, b.powers).tolist()))
    if isinstance(op, ast.Div):
        return _scaled(a, 1.0 / b.powers[0]) if b.constant and b.powers[0] else None
    if (
        not b.constant
        or a.wave is not None
        or b.powers[0] not in (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    ):
        return None
    out = _Form((1.0,))
    for _ in range(int(b.powers[0])):
        out = _Form(tuple(np.convolve(out.powers, a.powers).tolist()))
    return out
