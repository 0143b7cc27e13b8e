"""The quadratic form as arrays: forms and products of the equations, J, M, and the factor of K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csgraph

from ..arrays import Flags, Floats, Ints, plain_sum
from ..thresholds import EPS, LIGHT_MASS, NO_MASS, SAME_FORM, SAME_PRODUCT, ZERO_COMPONENT
from ..tracing import Scalar, UntracedError, largest, sqrt
from .drives import DrivenEquations
from .order import make_factor
from .vectors import Row

# an array of floats or of traced numbers
Scalars = np.ndarray


class Entries(NamedTuple):
    """Entries of a symmetric matrix, both halves, row by row."""

    rows: Ints
    cols: Ints
    values: Scalars


class MasslessDofError(Exception):
    """Some coordinates can move without moving any mass; args[0] lists them."""


@dataclass(frozen=True)
class BodyBatch:
    """Forms and equations of n bodies in a batch; no other body shares these forms.

    first_form, first_equation: number of the first form and equation of each body. forms: columns (n, w),
    factors (n, w) and initial value (n) of each form; products: for each equation its forms (relative to the
    first of the body), and the factors (n, products); values (n): value of each equation.
    """

    first_form: Ints
    first_equation: Ints
    forms: list[tuple[Ints, Floats, Floats]]
    products: list[tuple[list[tuple[int, int]], Floats]]
    values: list[Floats]

    def some(self, which: Ints) -> BodyBatch:
        """A subset of the bodies, given by their indices in the batch; not numbered yet."""
        return replace(
            self,
            forms=[
                (columns[which], factors[which], start[which])
                for columns, factors, start in self.forms
            ],
            products=[(pairs, factors[which]) for pairs, factors in self.products],
            values=[values[which] for values in self.values],
        )


class Equations:
    """Forms and products of the constraint equations, by number; equal forms and equations are stored once."""

    def __init__(self) -> None:
        self.forms: dict[int, tuple[Row, Scalar]] = {}
        self.products: dict[int, dict[tuple[int, int], Scalar]] = {}
        self.values: dict[int, Scalar] = {}
        self.form_count = self.count = 0
        # numbers of the forms over the same coordinates, and of the equations with the same forms
        self._forms_over: dict[tuple[int, ...], list[int]] = {}
        self._made_of: dict[tuple[tuple[int, int], ...], list[int]] = {}
        self._batches: list[BodyBatch] = []

    def skip(self, forms: int, equations: int) -> None:
        """Reserve numbers for a batch."""
        self.form_count += forms
        self.count += equations

    def take(self, batch: BodyBatch) -> None:
        """Add the forms and equations of a batch; their numbers were reserved."""
        self._batches.append(batch)

    def add(
        self,
        rows_a: Sequence[Row],
        start_a: Sequence[Scalar],
        rows_b: Sequence[Row],
        start_b: Sequence[Scalar],
        square: bool,
        driven: bool = False,
    ) -> tuple[int, Scalar, Scalar]:
        """Add the equation a . b = its initial value, scaled to a length.

        driven: its right-hand side will change, so it is never merged with another equation.
        Returns its number k, and x, y with Phi_k + phi0_k = x a . b - y, where y collects the constant
        components; the number is -1 if all components are constant.
        """
        # an arm of zero length, as from a line to a point on it, already has the scale of a length
        sizes = [sqrt(plain_sum(x * x for x in start)) or 1.0 for start in (start_a, start_b)]
        scale = (0.5 if square else 1.0) / sqrt(sizes[0] * sizes[1])
        products: dict[tuple[int, int], Scalar] = {}
        constant: Scalar = 0.0
        for ra, xa, rb, xb in zip(rows_a, start_a, rows_b, start_b, strict=True):
            if not (ra or rb):
                constant = constant + xa * xb
                continue
            # a constant that is rounding of a zero, as in a rotated world, is zero
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
            number = self.count
            self.count += 1
            if not driven:
                self._made_of.setdefault(tuple(products), []).append(number)
            self.products[number] = products
            e = self.forms
            value: Scalar = 0.0
            for (a, b), c in products.items():
                value = value + c * e[a][1] * e[b][1]
            self.values[number] = value
        factor = scale * (next(iter(self.products[number].values())) / first)
        return number, factor, factor * constant

    def _find(self, products: dict[tuple[int, int], Scalar]) -> int:
        """Number of an equal equation from another body (as the norm of a shared axis); -1 if there is none."""
        ratios = _over_first(products)
        for number in self._made_of.get(tuple(products), ()):
            if _same(ratios, _over_first(self.products[number]), SAME_PRODUCT):
                return number
        return -1

    def _form(self, row: Row, start: Scalar) -> tuple[int, Scalar]:
        """Number and factor of a form; forms that differ by a factor are one form (also the constant 1)."""
        factor = next(iter(row.values())) if row else start
        values = [c / factor for c in row.values()]
        start = start / factor
        if self._batches and tuple(row) in self._of_batches:
            self._unpack(*self._of_batches.pop(tuple(row)))
        known = self._forms_over.setdefault(tuple(row), [])
        for number in known:
            other, other_start = self.forms[number]
            if _same([*values, start], [*other.values(), other_start], SAME_FORM):
                return number, factor
        number = self.form_count
        self.form_count += 1
        known.append(number)
        self.forms[number] = dict(zip(row, values, strict=True)), start
        return number, factor

    @cached_property
    def _of_batches(self) -> dict[tuple[int, ...], tuple[BodyBatch, int]]:
        """The batch, and the body in it, that has forms over given coordinates."""
        return {
            tuple(row): (batch, m)
            for batch in self._batches
            for columns, _, _ in batch.forms
            for m, row in enumerate(columns.tolist())
        }

    def _unpack(self, batch: BodyBatch, m: int) -> None:
        """Add the forms and equations of one body of a batch as if they had been added one by one."""
        first, number = int(batch.first_form[m]), int(batch.first_equation[m])
        if first in self.forms:
            return
        for n, (columns, factors, starts) in enumerate(batch.forms, start=first):
            row = columns[m].tolist()
            self.forms[n] = dict(zip(row, factors[m].tolist(), strict=True)), float(starts[m])
            self._forms_over.setdefault(tuple(row), []).append(n)
        for n, (pairs, factors) in enumerate(batch.products):
            moved = [(a + first, b + first) for a, b in pairs]
            self.products[number + n] = dict(zip(moved, factors[m].tolist(), strict=True))
            self.values[number + n] = float(batch.values[n][m])
            self._made_of.setdefault(tuple(moved), []).append(number + n)

    def flat_forms(self) -> tuple[Ints, Ints, Scalars, Scalars]:
        """Compressed rows of all forms, and their initial values."""
        table = RowTable({n: row for n, (row, _) in self.forms.items()})
        starts = as_array([start for _, start in self.forms.values()])
        e0 = np.zeros(self.form_count, starts.dtype)
        e0[_ints([*self.forms])] = starts
        for batch in self._batches:
            for n, (columns, factors, start) in enumerate(batch.forms):
                table.many.append((batch.first_form + n, columns, factors))
                e0[batch.first_form + n] = start
        return *table.flatten(self.form_count), e0

    def flat_products(self) -> Products:
        """All products, equation by equation."""
        n = max(self.form_count, 1)
        coded = {k: {a * n + b: c for (a, b), c in eq.items()} for k, eq in self.products.items()}
        table = RowTable(coded)
        for batch in self._batches:
            for k, (pairs, factors) in enumerate(batch.products):
                local = as_columns(pairs, 2)[:, None, :] + batch.first_form[None, :, None]
                table.many.append((batch.first_equation + k, local[0] * n + local[1], factors))
        start, code, c = table.flatten(self.count)
        first, second = np.divmod(code, n)
        return Products(np.repeat(np.arange(self.count), np.diff(start)), first, second, c)

    def flat_values(self) -> Scalars:
        """The value of each equation at the start."""
        values = as_array(list(self.values.values()))
        out = np.zeros(self.count, values.dtype)
        out[_ints([*self.values])] = values
        for batch in self._batches:
            for k, own in enumerate(batch.values):
                out[batch.first_equation + k] = own
        return out


def _over_first(products: dict[tuple[int, int], Scalar]) -> list[Scalar]:
    first = next(iter(products.values()))
    return [c / first for c in products.values()]


def _same(a: list[Scalar], b: list[Scalar], close: float) -> bool:
    """Whether numbers of order one are equal up to rounding."""
    return all(x is y or abs(x - y) <= close for x, y in zip(a, b, strict=True))


class Products(NamedTuple):
    """Products of forms: equation, forms a <= b, factor."""

    equation: Ints
    a: Ints
    b: Ints
    factor: Scalars


class RowTable:
    """Rows by number, to be compressed; many: numbers (n), columns and values (n, w) of a batch."""

    def __init__(self, rows: dict[int, Row]) -> None:
        self.rows = rows
        self.many: list[tuple[Ints, Ints, Floats]] = []

    def flatten(self, count: int) -> tuple[Ints, Ints, Scalars]:
        """Start of each row, columns, values."""
        numbers = np.fromiter(self.rows, np.int64, len(self.rows))
        sizes = np.fromiter(map(len, self.rows.values()), np.int64, len(self.rows))
        start = np.zeros(count + 1, np.int64)
        start[numbers + 1] = sizes
        for own, columns, _ in self.many:
            start[own + 1] = columns.shape[1]
        np.cumsum(start, out=start)
        values = as_array([c for row in self.rows.values() for c in row.values()])
        col, val = np.zeros(start[-1], np.int64), np.zeros(start[-1], values.dtype)
        at = ranges(start[numbers], sizes)
        col[at] = np.fromiter(chain.from_iterable(self.rows.values()), np.int64, len(at))
        val[at] = values
        for own, columns, factors in self.many:
            places = start[own][:, None] + np.arange(columns.shape[1])
            col[places], val[places] = columns, factors
        return start, col, val


def ranges(starts: Ints, counts: Ints) -> Ints:
    """Concatenated integer ranges with given starts and lengths."""
    ends = np.cumsum(counts)
    return np.repeat(starts - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)


def as_array(values: Sequence[Scalar]) -> Scalars:
    """Scalars as an array, of dtype float if all are floats."""
    try:
        return np.array(values, dtype=float)
    except UntracedError:
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out


def summed_runs(values: Scalars, first: Ints, counts: Ints) -> Scalars:
    """Sums of runs of values, each added in order from its first entry."""
    out = values[first]
    for r in range(1, int(counts.max(initial=0))):
        more = np.flatnonzero(counts > r)
        out[more] = out[more] + values[first[more] + r]
    return out


def summed_at(places: Ints, values: Scalars, count: int) -> Scalars:
    """Sums of the values at each index, added in order."""
    if values.dtype == float:
        return np.bincount(places, values, count)
    out = np.zeros(count, dtype=object)
    np.add.at(out, places, values)
    return out


def find_runs(keys: Ints) -> tuple[Ints, Ints]:
    """Starts and lengths of runs of equal neighbours."""
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
    return first, np.diff(first, append=len(keys))


class Jacobian:
    """J, linear in the forms: its entries by equation and coordinate, each a row over the forms.

    values: at the start; of_equation: index of the first entry of each equation.
    """

    def __init__(self, D: tuple[Ints, Ints, Scalars, Scalars], p: Products, nq: int) -> None:
        D_start, D_col, D_val, e0 = D
        square = p.a == p.b
        other = ~square
        nf, nc = max(len(e0), 1), int(p.equation.max(initial=-1)) + 1
        # a square contributes twice its form, other products contribute each form with the other one
        k = np.concatenate([p.equation[square], np.repeat(p.equation[other], 2)])
        one = np.concatenate([p.a[square], np.stack([p.a[other], p.b[other]], axis=1).ravel()])
        with_it = np.concatenate([p.a[square], np.stack([p.b[other], p.a[other]], axis=1).ravel()])
        c = np.concatenate([2.0 * p.factor[square], np.repeat(p.factor[other], 2)])
        sizes = np.diff(D_start)[one]
        term, entry = np.repeat(np.arange(len(one)), sizes), ranges(D_start[one], sizes)
        at = k[term] * max(nq, 1) + D_col[entry]
        # terms of the same entry and form are merged
        key = at * nf + with_it[term]
        order = np.argsort(key, kind="stable")
        first, counts = find_runs(key[order])
        parts = summed_runs((c[term] * D_val[entry])[order], first, counts)
        # forms of an entry in their original order
        came = order[first]
        order = np.argsort(at[came] * (len(at) + 1) + came, kind="stable")
        self.C_form, self.C_val = with_it[term][came[order]], parts[order]
        first, counts = find_runs(at[came[order]])
        self.C_start = np.append(first, len(order))
        self.eq, self.col = np.divmod(at[came[order]][first], max(nq, 1))
        entry = np.repeat(np.arange(len(first)), counts)
        self.values = summed_at(entry, self.C_val * e0[self.C_form], len(first))
        self.of_equation = np.searchsorted(self.eq, np.arange(nc + 1))


def assemble_form(
    equations: Equations, M: Entries, Q: Scalars, drives: DrivenEquations
) -> dict[str, Any]:
    """The fields of the kernel's form: integers, and floats or traced numbers."""
    nq, nc = len(Q), equations.count
    D, p = equations.flat_forms(), equations.flat_products()
    J = Jacobian(D, p, nq)
    square, other = p.a == p.b, p.a != p.b
    low = M.cols <= M.rows
    touched, rho = _augmented(M, nq, J, nc)
    # for each entry of such an equation, the entry itself and those after it
    A_1 = np.flatnonzero(touched[J.eq])
    following = J.of_equation[J.eq[A_1] + 1] - A_1
    A_1, A_2 = np.repeat(A_1, following), ranges(A_1, following)
    K_M, K_J = np.array([M.rows[low], M.cols[low]]), np.array([nq + J.eq, J.col])
    K_A = J.col[np.array([A_1, A_2])]
    early = {nq + e[0] for e in drives.equations}
    factor = make_factor(nq + nc, np.hstack([K_M, K_J, K_A]), nq, early)
    return {
        "D_start": D[0], "D_col": D[1], "D_val": D[2], "e0": D[3],
        "sq_form": p.a[square], "sq_eq": p.equation[square], "sq_c": 2.0 * p.factor[square],
        "bl_a": p.a[other], "bl_b": p.b[other], "bl_eq": p.equation[other], "bl_c": p.factor[other],
        "phi0": equations.flat_values(),
        "J_eq": J.eq, "J_col": J.col,
        "C_start": J.C_start, "C_form": J.C_form, "C_val": J.C_val,
        "M_start": np.searchsorted(M.rows, np.arange(nq + 1)), "M_col": M.cols,
        "M_val": M.values, "Q": Q,
        "pos_q": factor.position[:nq].copy(), "pos_c": factor.position[nq:].copy(),
        "K_M": factor.entries(*K_M), "K_M_val": M.values[low],
        "K_J": factor.entries(*K_J), "K_A": factor.entries(*K_A), "K_A_1": A_1, "K_A_2": A_2,
        "rho": rho, "eps": _eps(M, nq, J, touched, rho),
        "L_start": factor.start, "L_row": factor.rows, "L_target": factor.target,
        "driven": _ints([e[0] for e in drives.equations]),
    }  # fmt: skip


def _eps(M: Entries, nq: int, J: Jacobian, touched: Flags, rho: Scalars) -> Scalars:
    """eps of each equation, a share of its J (M + rho J^T J)^-1 J^T; raises an error for massless coordinates."""
    whole = M
    if touched.any():
        n = np.flatnonzero(touched[J.eq])
        count = np.diff(J.of_equation)[J.eq[n]]
        a, b = np.repeat(n, count), ranges(J.of_equation[J.eq[n]], count)
        parts = J.values[a] * rho[J.eq[a]] * J.values[b]
        rows, cols = np.append(M.rows, J.col[a]), np.append(M.cols, J.col[b])
        order = np.argsort(rows * nq + cols, kind="stable")
        first, counts = find_runs((rows * nq + cols)[order])
        values = summed_runs(np.append(M.values, parts)[order], first, counts)
        whole = Entries(rows[order[first]], cols[order[first]], values)
        massless = [i for i, light in enumerate(light_coordinates(whole, nq, NO_MASS)) if light]
        if massless:
            raise MasslessDofError(massless)
    inverse = 1.0 / _diagonal(whole, nq)
    return EPS * summed_at(J.eq, J.values * J.values * inverse[J.col], len(touched))


def _diagonal(M: Entries, nq: int) -> Scalars:
    on = M.rows == M.cols
    out = np.zeros(nq, M.values.dtype)
    out[M.rows[on]] = M.values[on]
    return out


def _augmented(M: Entries, nq: int, J: Jacobian, nc: int) -> tuple[Flags, Scalars]:
    """Whether each equation involves coordinates on which M is singular, and its rho: the size of M if it does.

    M is only semidefinite if a feature carries no mass (the hinge axes of thin rods). Adding rho J^T J of
    these equations to M, and rho J^T r to the right-hand side, does not change the solution.
    """
    none = np.zeros(nc, bool), np.zeros(nc)
    if _is_heavy(M, nq):
        return none
    light = np.array(light_coordinates(M, nq, LIGHT_MASS), dtype=bool)
    if not light.any():
        return none
    pattern = sparse.csr_array((np.ones(len(M.rows)), (M.rows, M.cols)), shape=(nq, nq))
    _, part = csgraph.connected_components(pattern, directed=False)
    # a null vector of M may involve all coordinates that M connects with its pivot
    reached = np.isin(part, part[light])
    most = largest(_diagonal(M, nq).tolist())
    # a model without any mass still gets a pivot, and then an error message
    size = most if most > 0.0 else 1.0
    touched = np.zeros(nc, bool)
    touched[J.eq[reached[J.col]]] = True
    return touched, as_array([size if x else 0.0 for x in touched.tolist()])


def _is_heavy(M: Entries, nq: int) -> bool:
    """Whether no coordinate is light, by Gershgorin's circles: pivots are not below the eigenvalues."""
    if M.values.dtype != float:
        return False
    diagonal = _diagonal(M, nq)
    least = 2.0 * diagonal - np.bincount(M.rows, np.abs(M.values), nq)
    # factor two for rounding
    return bool(least.min(initial=np.inf) > 2.0 * LIGHT_MASS * 1.01 * diagonal.max(initial=0.0))


def light_coordinates(M: Entries, nq: int, share: float) -> list[bool]:
    """Coordinates whose pivot in a Cholesky factorisation of M is below this share of the entry."""
    low = M.cols <= M.rows
    entries = np.array([M.rows[low], M.cols[low]])
    factor = make_factor(nq, entries, nq)
    values: list[Scalar] = [0.0] * (nq + len(factor.rows))
    for at, value in zip(factor.entries(*entries).tolist(), M.values[low].tolist(), strict=True):
        values[at] = value
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


def flatten_rows(rows: list[Row]) -> tuple[Ints, Ints, Scalars]:
    """Compressed rows: start of each row, columns, values."""
    return RowTable(dict(enumerate(rows))).flatten(len(rows))


def as_columns(rows: Sequence[tuple[int, ...]], width: int) -> Ints:
    """Tuples of integers as an array (width, n)."""
    flat = np.fromiter(chain.from_iterable(rows), np.int64, width * len(rows))
    return np.ascontiguousarray(flat.reshape(-1, width).T)


def _ints(values: ArrayLike) -> Ints:
    return np.ascontiguousarray(values, dtype=np.int64)
