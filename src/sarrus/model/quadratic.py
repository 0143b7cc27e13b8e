"""The quadratic form as arrays: forms and products of the equations, J, M, and the factor of K."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csgraph

from ..arrays import Ints
from ..tape import Scalar, UntracedError, largest, sqrt
from ..thresholds import EPS, LIGHT_MASS, NO_MASS, SAME_FORM, SAME_PRODUCT, ZERO_COMPONENT
from .drives import DrivenEquations
from .order import make_factor
from .vectors import Row

# entries of a symmetric matrix, both halves
Entries = dict[tuple[int, int], Scalar]


class MasslessFreedomError(Exception):
    """Some coordinates can move without moving any mass; args[0] lists them."""


class Equations:
    """Forms and products of the constraint equations; equal forms and equations stand once."""

    def __init__(self) -> None:
        self.forms: list[tuple[Row, Scalar]] = []
        self.products: list[dict[tuple[int, int], Scalar]] = []
        self.values: list[Scalar] = []
        # numbers of the forms over the same coordinates, and of the equations of the same forms
        self._forms_over: dict[tuple[int, ...], list[int]] = {}
        self._made_of: dict[tuple[tuple[int, int], ...], list[int]] = {}

    def add(
        self,
        rows_a: Sequence[Row],
        start_a: Sequence[Scalar],
        rows_b: Sequence[Row],
        start_b: Sequence[Scalar],
        square: bool,
        driven: bool = False,
    ) -> tuple[int, Scalar, Scalar]:
        """Add the equation a . b = its value at the start, scaled to a length.

        driven: its right side will move, so it is never the same as another one.
        Returns its number k, and x, y with Phi_k + phi0_k = x a . b - y, where y stands for components
        that are constant; number -1 if all are.
        """
        # an arm of length zero, as from a line to a point on it, is a length already
        sizes = [sqrt(sum(x * x for x in start)) or 1.0 for start in (start_a, start_b)]
        scale = (0.5 if square else 1.0) / sqrt(sizes[0] * sizes[1])
        products: dict[tuple[int, int], Scalar] = {}
        constant: Scalar = 0.0
        for ra, xa, rb, xb in zip(rows_a, start_a, rows_b, start_b, strict=True):
            if not (ra or rb):
                constant = constant + xa * xb
                continue
            # a constant that rounding left of a zero, as in a turned world, is a zero
            still = (not ra and abs(xa) < ZERO_COMPONENT * sizes[0]) or (
                not rb and abs(xb) < ZERO_COMPONENT * sizes[1]
            )
            if not still:
                fa, sa = self._form(ra, xa)
                fb, sb = (fa, sa) if square else self._form(rb, xb)
                at, part = (min(fa, fb), max(fa, fb)), scale * sa * sb
                products[at] = products[at] + part if at in products else part
        products = {k: products[k] for k in sorted(products) if products[k] != 0.0}
        if not products:
            return -1, 0.0, 0.0
        first = next(iter(products.values()))
        number = -1 if driven else self._find(products)
        if number < 0:
            number = len(self.products)
            if not driven:
                self._made_of.setdefault(tuple(products), []).append(number)
            self.products.append(products)
            e = self.forms
            value: Scalar = 0.0
            for (a, b), c in products.items():
                value = value + c * e[a][1] * e[b][1]
            self.values.append(value)
        factor = scale * (next(iter(self.products[number].values())) / first)
        return number, factor, factor * constant

    def take(
        self,
        rows: Sequence[Row],
        starts: Sequence[Scalar],
        products: Sequence[dict[tuple[int, int], Scalar]],
        values: Sequence[Scalar],
    ) -> bool:
        """Take over forms and equations as another list has them.

        False, and nothing is taken, if one of the forms may be here already: it is over the same coordinates.
        """
        columns = [tuple(row) for row in rows]
        if any(x in self._forms_over for x in columns):
            return False
        first = len(self.forms)
        self.forms += zip(rows, starts, strict=True)
        for n, x in enumerate(columns, start=first):
            self._forms_over.setdefault(x, []).append(n)
        for equation in products:
            moved = {(a + first, b + first): c for (a, b), c in equation.items()}
            self._made_of[tuple(moved)] = [len(self.products)]
            self.products.append(moved)
        self.values += values
        return True

    def _find(self, products: dict[tuple[int, int], Scalar]) -> int:
        """The same equation from another body (the norm of a shared axis) is written once; -1: there is none."""
        ratios = _over_first(products)
        for number in self._made_of.get(tuple(products), ()):
            if _same(ratios, _over_first(self.products[number]), SAME_PRODUCT):
                return number
        return -1

    def _form(self, row: Row, start: Scalar) -> tuple[int, Scalar]:
        """Number and factor of a form; forms that differ by a factor are one form (the constant 1, too)."""
        factor = next(iter(row.values())) if row else start
        values = [c / factor for c in row.values()]
        start = start / factor
        known = self._forms_over.setdefault(tuple(row), [])
        for number in known:
            other, other_start = self.forms[number]
            if _same([*values, start], [*other.values(), other_start], SAME_FORM):
                return number, factor
        known.append(len(self.forms))
        self.forms.append((dict(zip(row, values, strict=True)), start))
        return len(self.forms) - 1, factor


def _over_first(products: dict[tuple[int, int], Scalar]) -> list[Scalar]:
    first = next(iter(products.values()))
    return [c / first for c in products.values()]


def _same(a: list[Scalar], b: list[Scalar], close: float) -> bool:
    """Whether numbers of order one are the same but for rounding."""
    return all(x is y or abs(x - y) <= close for x, y in zip(a, b, strict=True))


class Jacobian:
    """J, linear in the forms: its entries by equation and coordinate, each a row over the forms."""

    def __init__(self, equations: Equations) -> None:
        entries: dict[tuple[int, int], Row] = defaultdict(dict)
        squares = ((a, a, k, 2.0 * c) for a, k, c in squares_of(equations))
        pairs = ((a, b, k, c) for a, b, k, c in pairs_of(equations))
        for a, b, k, c in (*squares, *pairs):
            for one, other in ((a, b),) if a == b else ((a, b), (b, a)):
                for i, d in equations.forms[one][0].items():
                    row, part = entries[k, i], c * d
                    row[other] = row[other] + part if other in row else part
        self.at = sorted(entries)
        self.parts = [entries[at] for at in self.at]
        # at the start
        self.values: list[Scalar] = [
            sum(c * equations.forms[f][1] for f, c in row.items()) for row in self.parts
        ]
        self.of_equation: list[list[int]] = [[] for _ in equations.products]
        for n, (k, _) in enumerate(self.at):
            self.of_equation[k].append(n)


def squares_of(equations: Equations) -> list[tuple[int, int, Scalar]]:
    """Form, equation and half the factor of the squares."""
    return [
        (a, k, c) for k, eq in enumerate(equations.products) for (a, b), c in eq.items() if a == b
    ]


def pairs_of(equations: Equations) -> list[tuple[int, int, int, Scalar]]:
    """Forms, equation and factor of the other products."""
    return [
        (a, b, k, c)
        for k, eq in enumerate(equations.products)
        for (a, b), c in eq.items()
        if a != b
    ]


def assemble_form(
    equations: Equations, M: Entries, Q: list[Scalar], drives: DrivenEquations
) -> dict[str, Any]:
    """The fields of the kernel's form: whole numbers as arrays, others as lists."""
    nq, nc = len(Q), len(equations.products)
    squares, pairs = squares_of(equations), pairs_of(equations)
    J = Jacobian(equations)
    D_start, D_col, D_val = flatten_rows([row for row, _ in equations.forms])
    C_start, C_form, C_val = flatten_rows(J.parts)
    M_at = sorted(M)
    lower = [(i, j) for i, j in M_at if j <= i]
    rho = _augmented(M, nq, J)
    augment = [
        (n1, n2)
        for k in range(nc)
        if rho[k] != 0.0
        for n1 in J.of_equation[k]
        for n2 in J.of_equation[k]
        if J.at[n1][1] <= J.at[n2][1]
    ]
    J_eq, J_col = _columns(J.at, 2)
    A_1, A_2 = _columns(augment, 2)
    K_M, K_J, K_A = _columns(lower, 2), np.array([nq + J_eq, J_col]), J_col[np.array([A_1, A_2])]
    early = {nq + e[0] for e in drives.equations}
    factor = make_factor(nq + nc, np.hstack([K_M, K_J, K_A]), nq, early)
    M_row, M_col = _columns(M_at, 2)
    return {
        "D_start": D_start, "D_col": D_col, "D_val": D_val,
        "e0": [start for _, start in equations.forms],
        "sq_form": _ints([a for a, _, _ in squares]), "sq_eq": _ints([k for _, k, _ in squares]),
        "sq_c": [2.0 * c for _, _, c in squares],
        "bl_a": _ints([p[0] for p in pairs]), "bl_b": _ints([p[1] for p in pairs]),
        "bl_eq": _ints([p[2] for p in pairs]), "bl_c": [p[3] for p in pairs],
        "phi0": equations.values,
        "J_eq": J_eq, "J_col": J_col,
        "C_start": C_start, "C_form": C_form, "C_val": C_val,
        "M_start": np.searchsorted(M_row, np.arange(nq + 1)), "M_col": M_col,
        "M_val": [M[at] for at in M_at], "Q": Q,
        "pos_q": factor.position[:nq].copy(), "pos_c": factor.position[nq:].copy(),
        "K_M": factor.entries(*K_M), "K_M_val": [M[at] for at in lower],
        "K_J": factor.entries(*K_J), "K_A": factor.entries(*K_A), "K_A_1": A_1, "K_A_2": A_2,
        "rho": rho, "eps": _eps(M, nq, J, rho),
        "L_start": factor.start, "L_row": factor.rows, "L_target": factor.target,
        "driven": _ints([e[0] for e in drives.equations]),
    }  # fmt: skip


def _eps(M: Entries, nq: int, J: Jacobian, rho: list[Scalar]) -> list[Scalar]:
    """eps of each equation, a share of its J (M + rho J^T J)^-1 J^T; refuses what has no mass even so."""
    diagonal = [M.get((i, i), 0.0) for i in range(nq)]
    if any(r != 0.0 for r in rho):
        whole = dict(M)
        for k, r in enumerate(rho):
            if r != 0.0:
                for a in J.of_equation[k]:
                    for b in J.of_equation[k]:
                        at = J.at[a][1], J.at[b][1]
                        part = J.values[a] * r * J.values[b]
                        whole[at] = whole[at] + part if at in whole else part
        massless = [i for i, light in enumerate(light_coordinates(whole, nq, NO_MASS)) if light]
        if massless:
            raise MasslessFreedomError(massless)
        diagonal = [whole.get((i, i), 0.0) for i in range(nq)]
    inverse = [1.0 / x for x in diagonal]
    return [
        EPS * sum(J.values[n] * J.values[n] * inverse[J.at[n][1]] for n in entries)
        for entries in J.of_equation
    ]


def _augmented(M: Entries, nq: int, J: Jacobian) -> list[Scalar]:
    """rho of each equation: the size of M where it touches coordinates on which M is singular.

    M is only semidefinite where a feature carries no mass (the hinge axes of thin rods). Adding
    rho J^T J of these equations to M, and rho J^T r to the right side, changes no solution.
    """
    if _is_heavy(M, nq):
        return [0.0] * len(J.of_equation)
    light = np.array(light_coordinates(M, nq, LIGHT_MASS), dtype=bool)
    if not light.any():
        return [0.0] * len(J.of_equation)
    pattern = sparse.csr_array((np.ones(len(M)), tuple(_columns(M, 2))), shape=(nq, nq))
    _, part = csgraph.connected_components(pattern, directed=False)
    # a null vector of M may reach all coordinates that M connects with its pivot
    reached = np.isin(part, part[light])
    most = largest(M.get((i, i), 0.0) for i in range(nq))
    # a model without any mass still gets a pivot, and then a message
    size = most if most > 0.0 else 1.0
    touched = {k for k, i in J.at if reached[i]}
    return [size if k in touched else 0.0 for k in range(len(J.of_equation))]


def _is_heavy(M: Entries, nq: int) -> bool:
    """Whether no coordinate is light for certain: no pivot is below the eigenvalues, by Gershgorin's circles."""
    try:
        values = np.fromiter(M.values(), float, len(M))
    except UntracedError:
        return False
    rows, columns = _columns(M, 2)
    diagonal = np.bincount(rows, values * (rows == columns), nq)
    least = 2.0 * diagonal - np.bincount(rows, np.abs(values), nq)
    # twice: for rounding
    return bool(least.min(initial=np.inf) > 2.0 * LIGHT_MASS * 1.01 * diagonal.max(initial=0.0))


def light_coordinates(M: Entries, nq: int, share: float) -> list[bool]:
    """Coordinates whose pivot in a Cholesky factorisation of M is below this share of the entry."""
    lower = [(i, j) for i, j in M if j <= i]
    entries = _columns(lower, 2)
    factor = make_factor(nq, entries, nq)
    values: list[Scalar] = [0.0] * (nq + len(factor.rows))
    for at, (i, j) in zip(factor.entries(*entries).tolist(), lower, strict=True):
        values[at] = M[i, j]
    whole = values[:nq]
    most = 0.01 * largest(whole)
    start, target = factor.start.tolist(), factor.target.tolist()
    light, done = [False] * nq, 0
    for j in range(nq):
        column = values[nq + start[j] : nq + start[j + 1]]
        pairs = len(column) * (len(column) + 1) // 2
        light[j] = bool(values[j] <= share * (whole[j] + most))
        if not light[j]:
            at = done
            for a, x in enumerate(column):
                for y in column[a:]:
                    values[target[at]] = values[target[at]] - x * y / values[j]
                    at += 1
        done += pairs
    return [light[place] for place in factor.position.tolist()]


def flatten_rows(rows: list[Row]) -> tuple[Ints, Ints, list[Scalar]]:
    """Rows compressed: where each starts, columns, values."""
    start, at = [0], 0
    for row in rows:
        at += len(row)
        start.append(at)
    return (
        _ints(start),
        _ints([i for row in rows for i in row]),
        [c for row in rows for c in row.values()],
    )


def _columns(rows: Collection[tuple[int, ...]], width: int) -> Ints:
    """Tuples of whole numbers, (width, n)."""
    flat = np.fromiter(chain.from_iterable(rows), np.int64, width * len(rows))
    return np.ascontiguousarray(flat.reshape(-1, width).T)


def _ints(values: ArrayLike) -> Ints:
    return np.ascontiguousarray(values, dtype=np.int64)
