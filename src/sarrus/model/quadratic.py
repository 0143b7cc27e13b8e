"""The quadratic form as arrays: forms and products of the equations, J, M, and the factor of K."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csgraph

from ..arrays import Flags, Floats, Ints
from ..kernels.layout import Form, pack
from ..thresholds import EPS, LIGHT_MASS, NO_MASS, ZERO_COMPONENT
from .drives import DrivenEquations
from .order import make_factor
from .reduce import Row


class MasslessFreedomError(Exception):
    """Some coordinates can move without moving any mass; args[0] lists them."""


class Equations:
    """Forms and products of the constraint equations; equal forms and equations stand once."""

    def __init__(self) -> None:
        self.forms: list[tuple[Row, float]] = []
        self.products: list[dict[tuple[int, int], float]] = []
        self.values: list[float] = []
        self._form_number: dict[tuple, int] = {}
        self._known: dict[tuple, int] = {}

    def add(
        self,
        rows_a: list[Row],
        start_a: Floats,
        rows_b: list[Row],
        start_b: Floats,
        square: bool,
        driven: bool = False,
    ) -> tuple[int, float, float]:
        """Add the equation a . b = its value at the start, scaled to a length.

        driven: its right side will move, so it is never the same as another one.
        Returns its number k, and x, y with Phi_k + phi0_k = x a . b - y, where y stands for components
        that are constant; number -1 if all are.
        """
        # an arm of length zero, as from a line to a point on it, is a length already
        sizes = [float(np.linalg.norm(start)) or 1.0 for start in (start_a, start_b)]
        scale = (0.5 if square else 1.0) / np.sqrt(sizes[0] * sizes[1])
        products: dict[tuple[int, int], float] = defaultdict(float)
        for ra, xa, rb, xb in zip(rows_a, start_a, rows_b, start_b, strict=True):
            # a constant that rounding left of a zero, as in a turned world, is a zero
            still = (not ra and abs(xa) < ZERO_COMPONENT * sizes[0]) or (
                not rb and abs(xb) < ZERO_COMPONENT * sizes[1]
            )
            if (ra or rb) and not still:
                (fa, sa), (fb, sb) = self._form(ra, float(xa)), self._form(rb, float(xb))
                products[min(fa, fb), max(fa, fb)] += scale * sa * sb
        products = {k: c for k, c in sorted(products.items()) if c != 0.0}
        if not products:
            return -1, 0.0, 0.0
        # the same equation from two bodies (the norm of a shared axis) is written once
        first = next(iter(products.values()))
        key = tuple((k, round(c / first, 12)) for k, c in products.items())
        if driven or key not in self._known:
            number = len(self.products)
            if not driven:
                self._known[key] = number
            self.products.append(products)
            value = sum(c * self.forms[a][1] * self.forms[b][1] for (a, b), c in products.items())
            self.values.append(value)
        else:
            number = self._known[key]
        factor = scale * next(iter(self.products[number].values())) / first
        constant = sum(
            xa * xb
            for ra, xa, rb, xb in zip(rows_a, start_a, rows_b, start_b, strict=True)
            if not (ra or rb)
        )
        return number, factor, factor * float(constant)

    def _form(self, row: Row, start: float) -> tuple[int, float]:
        """Number and factor of a form; forms that differ by a factor are one form (the constant 1, too)."""
        factor = next(iter(row.values())) if row else start
        items = tuple((i, c / factor) for i, c in row.items())
        start = start / factor
        key = (tuple((i, round(c, 13)) for i, c in items), round(start, 13))
        if key not in self._form_number:
            self._form_number[key] = len(self.forms)
            self.forms.append((dict(items), start))
        return self._form_number[key], factor


def assemble_form(
    equations: Equations, M: sparse.csr_array, Q: Floats, drives: DrivenEquations
) -> Form:
    """Flatten forms, products, J, M and the factor into the kernel's arrays."""
    nq, nc = len(Q), len(equations.products)
    squares = [
        (a, k, 2.0 * c)
        for k, eq in enumerate(equations.products)
        for (a, b), c in eq.items()
        if a == b
    ]
    pairs = [
        (a, b, k, c)
        for k, eq in enumerate(equations.products)
        for (a, b), c in eq.items()
        if a != b
    ]
    D = sparse_from_rows([row for row, _ in equations.forms], nq)
    e0 = np.array([start for _, start in equations.forms])

    # J is linear in the forms: collect for each entry the forms it is made of
    entries: dict[tuple[int, int], Row] = defaultdict(lambda: defaultdict(float))
    for a, k, c in squares:
        for i, d in equations.forms[a][0].items():
            entries[k, i][a] += c * d
    for a, b, k, c in pairs:
        for one, other in ((a, b), (b, a)):
            for i, d in equations.forms[one][0].items():
                entries[k, i][other] += c * d
    at = sorted(entries)
    parts = sparse_from_rows([entries[key] for key in at], len(e0))
    J_eq, J_col = _ints([k for k, _ in at]), _ints([i for _, i in at])
    J0 = sparse.csr_array((parts @ e0, (J_eq, J_col)), shape=(nc, nq))

    rho = _augmented(M, J_eq, J_col, nc)
    neighbours: list[set[int]] = [set() for _ in range(nq + nc)]
    _connect(neighbours, *M.nonzero())
    _connect(neighbours, J_eq + nq, J_col)
    of_eq: dict[int, list[int]] = defaultdict(list)
    for n, k in enumerate(J_eq):
        of_eq[int(k)].append(n)
    augment = [
        (n1, n2)
        for k in np.flatnonzero(rho)
        for n1 in of_eq[int(k)]
        for n2 in of_eq[int(k)]
        if J_col[n1] <= J_col[n2]
    ]
    _connect(neighbours, [J_col[a] for a, _ in augment], [J_col[b] for _, b in augment])
    factor = make_factor(neighbours, nq, {nq + e[0] for e in drives.equations})

    lower = sparse.tril(M).tocoo()
    augmented = sparse.csr_array(M + J0.T @ sparse.diags_array(rho) @ J0)
    if rho.any():
        massless = np.flatnonzero(_light_coordinates(augmented, NO_MASS))
        if massless.size:
            raise MasslessFreedomError(massless.tolist())
    diagonal = augmented.diagonal()
    size = (J0.multiply(J0) @ (1.0 / diagonal)) if nc else np.zeros(0)
    pos = factor.position
    return pack(Form(
        D_start=_ints(D.indptr), D_col=_ints(D.indices), D_val=D.data, e0=e0,
        sq_form=_ints([s[0] for s in squares]), sq_eq=_ints([s[1] for s in squares]),
        sq_c=np.array([s[2] for s in squares], dtype=float),
        bl_a=_ints([p[0] for p in pairs]), bl_b=_ints([p[1] for p in pairs]),
        bl_eq=_ints([p[2] for p in pairs]), bl_c=np.array([p[3] for p in pairs], dtype=float),
        phi0=np.array(equations.values, dtype=float),
        J_eq=J_eq, J_col=J_col,
        C_start=_ints(parts.indptr), C_form=_ints(parts.indices), C_val=parts.data,
        M_start=_ints(M.indptr), M_col=_ints(M.indices), M_val=M.data, Q=Q,
        pos_q=pos[:nq].copy(), pos_c=pos[nq:].copy(),
        K_M=_ints([factor.entry(i, j) for i, j in zip(*lower.coords, strict=True)]),
        K_M_val=lower.data,
        K_J=_ints([factor.entry(nq + k, i) for k, i in zip(J_eq, J_col, strict=True)]),
        K_A=_ints([factor.entry(J_col[a], J_col[b]) for a, b in augment]),
        K_A_1=_ints([a for a, _ in augment]), K_A_2=_ints([b for _, b in augment]),
        rho=rho, eps=EPS * size,
        L_start=factor.start, L_row=factor.rows, L_target=factor.target,
        driven=_ints([e[0] for e in drives.equations]),
    ))  # fmt: skip


def _augmented(M: sparse.csr_array, J_eq: Ints, J_col: Ints, nc: int) -> Floats:
    """rho of each equation: the size of M where it touches coordinates on which M is singular.

    M is only semidefinite where a feature carries no mass (the hinge axes of thin rods). Adding
    rho J^T J of these equations to M, and rho J^T r to the right side, changes no solution.
    """
    rho = np.zeros(nc)
    _, part = csgraph.connected_components(M, directed=False)
    # a null vector of M may reach all coordinates that M connects with its pivot
    light = np.isin(part, part[_light_coordinates(M, LIGHT_MASS)])
    # a model without any mass still gets a pivot, and then a message
    rho[np.unique(J_eq[light[J_col]])] = M.diagonal().max(initial=0.0) or 1.0
    return rho


def _light_coordinates(M: sparse.csr_array, share: float) -> Flags:
    """Coordinates whose pivot in a Cholesky factorisation of M is below this share of the entry."""
    nq = M.shape[0]
    neighbours: list[set[int]] = [set() for _ in range(nq)]
    _connect(neighbours, *M.nonzero())
    factor = make_factor(neighbours, nq)
    lower = sparse.tril(M).tocoo()
    values = np.zeros(nq + len(factor.rows))
    values[[factor.entry(i, j) for i, j in zip(*lower.coords, strict=True)]] = lower.data
    whole = values[:nq].copy()
    scale = whole.max(initial=0.0)
    light, done = np.zeros(nq, dtype=bool), 0
    for j in range(nq):
        column = values[nq + factor.start[j] : nq + factor.start[j + 1]].copy()
        pairs = len(column) * (len(column) + 1) // 2
        target = factor.target[done : done + pairs]
        done += pairs
        light[j] = values[j] <= share * (whole[j] + 0.01 * scale)
        if not light[j]:
            a, b = np.triu_indices(len(column))
            values[target] -= column[a] * column[b] / values[j]
    return light[factor.position]


def _connect(neighbours: list[set[int]], rows: Iterable[int], cols: Iterable[int]) -> None:
    for a, b in zip(rows, cols, strict=True):
        if a != b:
            neighbours[int(a)].add(int(b))
            neighbours[int(b)].add(int(a))


def _ints(values: ArrayLike) -> Ints:
    return np.ascontiguousarray(values, dtype=np.int64)


def sparse_from_rows(rows: list[Row], columns: int) -> sparse.csr_array:
    """A sparse matrix from its rows."""
    start = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
    col = np.array([i for r in rows for i in r], dtype=np.int64)
    val = np.array([c for r in rows for c in r.values()], dtype=float)
    return sparse.csr_array((val, col, start), shape=(len(rows), columns))


def sparse_from_entries(
    entries: dict[tuple[int, int], float], shape: tuple[int, int]
) -> sparse.csr_array:
    """A sparse matrix from its entries."""
    rows, cols = _ints([a for a, _ in entries]), _ints([b for _, b in entries])
    val = np.array(list(entries.values()), dtype=float)
    return sparse.csr_array((val, (rows, cols)), shape=shape)
