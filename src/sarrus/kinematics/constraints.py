"""The constraints of a quadratic form in NumPy, for single configurations; integration methods use kernels.

Phi(q) = 1/2 sum c e_a e_b - phi0,   e = D q + e0,      J = dPhi/dq,      B the second derivative
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from ..arrays import Floats, Ints

if TYPE_CHECKING:
    from ..kernels.layout import Form


class Constraints:
    """Phi, J and the curvature of a form.

    joints: use only the equations of joints, not those of drives; by default all equations.
    """

    def __init__(self, form: Form, joints: bool = False) -> None:
        self.form = form
        self.total = len(form.phi0)
        self.joints = joints

    @cached_property
    def kept(self) -> Ints:
        """Indices of the equations in use."""
        every = np.arange(self.total)
        return np.setdiff1d(every, self.form.driven) if self.joints else every

    @cached_property
    def _D(self) -> sparse.csr_array:
        f = self.form
        shape = (len(f.e0), len(f.Q))
        return sparse.csr_array((f.D_val, f.D_col, f.D_start), shape=shape)

    @cached_property
    def _C(self) -> sparse.csr_array:
        f = self.form
        return sparse.csr_array((f.C_val, f.C_form, f.C_start), shape=(len(f.J_eq), len(f.e0)))

    @cached_property
    def _form_rows(self) -> Ints:
        """The form of each entry of D."""
        return np.arange(len(self.form.e0)).repeat(np.diff(self.form.D_start))

    @cached_property
    def _entries(self) -> Ints:
        """The entry of J of each entry of C."""
        return np.arange(len(self.form.J_eq)).repeat(np.diff(self.form.C_start))

    def _forms(self, q: Floats) -> Floats:
        """D q + e0; sums of few terms, for which a product of sparse matrices takes several times as long."""
        f = self.form
        return f.e0 + _sums(self._form_rows, f.D_val * q[..., f.D_col], len(f.e0))

    def phi(self, q: Floats) -> Floats:
        """Phi(q), (..., equations), of configurations (..., coordinates); drives keep their initial value."""
        f, e = self.form, self._forms(q)
        squares = _sums(f.sq_eq, 0.5 * f.sq_c * e[..., f.sq_form] ** 2, self.total)
        pairs = _sums(f.bl_eq, f.bl_c * e[..., f.bl_a] * e[..., f.bl_b], self.total)
        out = np.asarray(squares + pairs - f.phi0)
        return out[..., self.kept] if self.joints else out

    def eval_terms(self, q: Floats) -> Floats:
        """The sizes of the terms of Phi(q), summed for each equation, including the factors of each term."""
        f, e = self.form, np.abs(self.form.e0)
        e = e + _sums(self._form_rows, np.abs(f.D_val * q[..., f.D_col]), len(e))
        squares = _sums(f.sq_eq, 0.5 * np.abs(f.sq_c) * e[..., f.sq_form] ** 2, self.total)
        pairs = _sums(f.bl_eq, np.abs(f.bl_c) * e[..., f.bl_a] * e[..., f.bl_b], self.total)
        return np.asarray(squares + pairs + np.abs(f.phi0))[..., self.kept]

    def largest_bend(self) -> float:
        """The largest Frobenius norm of the derivative of J by a coordinate."""
        rates = self._C @ self._D
        return float(np.sqrt(rates.multiply(rates).sum(axis=0).max(initial=0.0)))

    def jacobian(self, q: Floats) -> Floats:
        """J(q), dense, (..., equations, coordinates), of configurations (..., coordinates)."""
        f, e = self.form, self._forms(q)
        J = np.zeros((*q.shape[:-1], self.total, len(f.Q)))
        # one entry for each equation and coordinate
        J[..., f.J_eq, f.J_col] = _sums(self._entries, f.C_val * e[..., f.C_form], len(f.J_eq))
        return J[..., self.kept, :] if self.joints else J

    def start_jacobian(self) -> sparse.csr_array:
        """J at the start, sparse."""
        f = self.form
        entries = (self._C @ f.e0, (f.J_eq, f.J_col))
        J = sparse.csr_array(entries, shape=(self.total, self._D.shape[1]))
        return J[self.kept] if self.joints else J

    def bends(self) -> Floats:
        """The derivatives of J by the coordinates, dense, (equations, coordinates, coordinates)."""
        f, n = self.form, self._D.shape[1]
        out = np.zeros((self.total, n, n))
        np.add.at(out, (f.J_eq, f.J_col), (self._C @ self._D).toarray())
        return out[self.kept] if self.joints else out

    def bend(self, x: Floats) -> Floats:
        """B(x, x): twice the second-order change of the constraints along x."""
        f, d = self.form, self._D @ x
        squares = np.bincount(f.sq_eq, f.sq_c * d[f.sq_form] ** 2, self.total)
        pairs = np.bincount(f.bl_eq, 2.0 * f.bl_c * d[f.bl_a] * d[f.bl_b], self.total)
        return np.asarray(squares + pairs)[self.kept]

    @cached_property
    def _products(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Matrices that map the squares and the pairs of forms to equations, with their coefficients."""
        f = self.form
        out = []
        for eq, c in ((f.sq_eq, f.sq_c), (f.bl_eq, f.bl_c)):
            shape = (self.total, len(eq))
            out.append(sparse.csr_array((c, (eq, np.arange(len(eq)))), shape=shape)[self.kept])
        return out[0], out[1]

    def bend_pairs(self, X: Floats, Y: Floats) -> Floats:
        """B(x, y) of all columns x of X with all columns y of Y: shape (equations, columns of X * of Y)."""
        f, (squares, pairs) = self.form, self._products
        dX, dY = self._D @ X, self._D @ Y

        def outer(a: Ints, b: Ints) -> Floats:
            return (dX[a][:, :, None] * dY[b][:, None, :]).reshape(len(a), X.shape[1] * Y.shape[1])

        out = squares @ outer(f.sq_form, f.sq_form)
        if len(f.bl_eq):
            out = out + pairs @ (outer(f.bl_a, f.bl_b) + outer(f.bl_b, f.bl_a))
        return np.asarray(out)

    def curvature(self, lam: Floats, N: Floats) -> Floats:
        """N^T (sum of lam_k Phi_k'') N; lam: one number for each equation in use."""
        f, d = self.form, self._D @ N
        return self._curvature(lam, (d[f.sq_form], d[f.bl_a], d[f.bl_b]))

    def second_derivative(self, lam: Floats) -> Floats:
        """Sum of lam_k Phi_k'', dense; lam: (..., equations), one number for each equation in use."""
        return self._curvature(lam, self._factors)

    @cached_property
    def _factors(self) -> tuple[Floats, Floats, Floats]:
        """Rows of D of the factors of squares, and of the first and the second factors of pairs."""
        f, d = self.form, self._D.toarray()
        return d[f.sq_form], d[f.bl_a], d[f.bl_b]

    def _curvature(self, lam: Floats, factors: tuple[Floats, Floats, Floats]) -> Floats:
        f, (square, first, second) = self.form, factors
        whole = np.zeros((*lam.shape[:-1], self.total))
        whole[..., self.kept] = lam
        out = square.T @ ((whole[..., f.sq_eq] * f.sq_c)[..., None] * square)
        if not len(f.bl_eq):
            return np.asarray(out)
        pairs = first.T @ ((whole[..., f.bl_eq] * f.bl_c)[..., None] * second)
        return np.asarray(out + pairs + np.swapaxes(pairs, -1, -2))


def _sums(index: Ints, values: Floats, count: int) -> Floats:
    """Sums of the values (..., k) with the same index, in their order: (..., count)."""
    if values.ndim == 1:
        return np.asarray(np.bincount(index, values, count), dtype=float)
    many = math.prod(values.shape[:-1])
    every = index + count * np.arange(many)[:, None]
    sums = np.bincount(every.ravel(), values.ravel(), count * many)
    return np.asarray(sums, dtype=float).reshape(*values.shape[:-1], count)
