"""Vectors, small matrices and sparse rows of scalars: floats or traced numbers.

Models consist of very many very small pieces, for which plain Python is faster than the overhead of arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..tracing import Scalar, larger, sqrt

Vector = tuple[Scalar, Scalar, Scalar]
# a linear form: index of each variable with a nonzero factor, and the factor
Row = dict[int, Scalar]
# rows of a matrix without its zeros
Matrix = list[Row]

ZERO: Vector = (0.0, 0.0, 0.0)
UNITS: tuple[Vector, Vector, Vector] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def vector(values: Any) -> Vector:
    """A vector in 2-D or 3-D as a 3-D vector."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    return (values[0], values[1], 0.0) if len(values) == 2 else tuple(values)


def add(a: Vector, b: Vector) -> Vector:
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def subtract(a: Vector, b: Vector) -> Vector:
    """a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def scale(factor: Scalar, a: Vector) -> Vector:
    """factor a."""
    return factor * a[0], factor * a[1], factor * a[2]


def over(a: Vector, size: Scalar) -> Vector:
    """a / size."""
    return a[0] / size, a[1] / size, a[2] / size


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """a x b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def norm(a: Vector) -> Scalar:
    """The length of a."""
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


def unit(a: Vector) -> Vector:
    """a over its length."""
    return over(a, norm(a))


def outside(basis: Iterable[Vector], a: Vector) -> Vector:
    """The component of a outside the span of orthonormal vectors."""
    for b in basis:
        a = subtract(a, scale(dot(b, a), b))
    return a


def across(z: Vector) -> Vector:
    """A unit vector perpendicular to a unit vector, exact if that is a coordinate axis."""
    other = UNITS[least_part(z)]
    return unit(subtract(other, scale(dot(z, other), z)))


def least_part(z: Vector) -> int:
    """Index of the smallest component of a vector in absolute value; the first one if several are equal."""
    sizes = [abs(x) for x in z]
    return min(range(3), key=sizes.__getitem__)


# sparse rows


def turned(matrix: Matrix, a: Sequence[Scalar]) -> Vector:
    """A matrix of three rows times a vector."""
    x, y, z = matrix
    return _times(x, a), _times(y, a), _times(z, a)


def _times(row: Row, a: Sequence[Scalar]) -> Scalar:
    out: Scalar | None = None
    for i, c in row.items():
        part = c * a[i]
        out = part if out is None else out + part
    return 0.0 if out is None else out


def combined(matrix: Matrix, rows: list[Row]) -> list[Row]:
    """A matrix times rows."""
    out = []
    for factors in matrix:
        new: Row = {}
        for c, factor in factors.items():
            add_row(new, factor, rows[c])
        out.append(new)
    return out


def add_row(out: Row, factor: Scalar, row: Row) -> None:
    """out += factor row."""
    for i, c in row.items():
        part = factor * c
        out[i] = out[i] + part if i in out else part


def subtract_rows(a: Row, b: Row) -> Row:
    """The linear form a - b."""
    out = dict(a)
    for i, c in b.items():
        out[i] = out[i] - c if i in out else -c
    return {i: c for i, c in out.items() if c != 0.0}


def transposed(matrix: Matrix) -> Matrix:
    """The transpose of a square matrix."""
    out: Matrix = [{} for _ in matrix]
    for r, row in enumerate(matrix):
        for c, x in row.items():
            out[c][r] = x
    return out


def feature_rows(k: int, factor: Scalar = 1.0) -> list[Row]:
    """factor times a feature: feature k has the variables 3 k, 3 k + 1, 3 k + 2."""
    return [{3 * k: factor}, {3 * k + 1: factor}, {3 * k + 2: factor}]


def cleaned(rows: list[Row], share: float = 1e-14) -> list[Row]:
    """Rows over features without entries that are rounding of a zero, as in 1 - z z^T."""
    size: dict[int, Scalar] = {}
    for row in rows:
        for i, c in row.items():
            other = size.setdefault(i // 3, c)
            if other is not c and not (type(c) is type(other) is float and c == other):
                break
        else:
            continue
        break
    else:
        # each feature has one factor
        return rows
    size = {}
    for row in rows:
        for i, c in row.items():
            size[i // 3] = larger(size[i // 3], abs(c)) if i // 3 in size else abs(c)
    return [{i: c for i, c in row.items() if abs(c) > share * size[i // 3]} for row in rows]


def dense(matrix: Matrix) -> np.ndarray:
    """The matrix as an array of 3 x 3 floats."""
    out = np.zeros((3, 3))
    for r, row in enumerate(matrix):
        for c, x in row.items():
            out[r, c] = x
    return out
