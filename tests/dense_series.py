"""The quadratic form and the recursion of the series, written with dense matrices and loops."""

import numpy as np

from builders import dense_jacobian, dense_rows


def dense_forms(form):
    """D as a dense matrix."""
    return dense_rows(form.D_start, form.D_col, form.D_val, (len(form.e0), len(form.Q)))


def dense_mass(form):
    """M as a dense matrix."""
    nq = len(form.Q)
    return dense_rows(form.M_start, form.M_col, form.M_val, (nq, nq))


def dense_hessians(form):
    """A_k of Phi_k = 1/2 q^T A_k q + b_k^T q + c_k, shape (nc, nq, nq)."""
    D = dense_forms(form)
    A = np.zeros((len(form.phi0), len(form.Q), len(form.Q)))
    for f, k, c in zip(form.sq_form, form.sq_eq, form.sq_c, strict=True):
        A[k] += c * np.outer(D[f], D[f])
    for a, b, k, c in zip(form.bl_a, form.bl_b, form.bl_eq, form.bl_c, strict=True):
        A[k] += c * (np.outer(D[a], D[b]) + np.outer(D[b], D[a]))
    return A


def dense_constraints(form, q):
    """Phi(q), product by product."""
    e = form.e0 + dense_forms(form) @ q
    phi = -form.phi0.copy()
    for f, k, c in zip(form.sq_form, form.sq_eq, form.sq_c, strict=True):
        phi[k] += 0.5 * c * e[f] ** 2
    for a, b, k, c in zip(form.bl_a, form.bl_b, form.bl_eq, form.bl_c, strict=True):
        phi[k] += c * e[a] * e[b]
    return phi


def dense_series(form, q0, v0, order):
    """Coefficients q_0 .. q_order and lam_0 .. lam_{order-2} by the recursion of the series method.

    [ M   J0^T ] [ q_{k+2}              ]   [ (Q_k - sum_{j<k} J_{k-j}^T lam_j) / ((k+2)(k+1)) ]
    [ J0  0    ] [ lam_k / ((k+2)(k+1)) ] = [ - 1/2 sum_{j=1..k+1} B(q_j, q_{k+2-j})            ]
    """
    nq, nc = len(form.Q), len(form.phi0)
    M, A, J0 = dense_mass(form), dense_hessians(form), dense_jacobian(form, q0)
    K = np.block([[M, J0.T], [J0, np.zeros((nc, nc))]])
    q = np.zeros((order + 1, nq))
    lam = np.zeros((order - 1, nc))
    q[0], q[1] = q0, v0
    for k in range(order - 1):
        scale = (k + 2.0) * (k + 1.0)
        force = form.Q.copy() if k == 0 else np.zeros(nq)
        for j in range(k):
            # J_i = (rows q_i^T A_k) for i > 0, since J is affine in q
            force -= (A @ q[k - j]).T @ lam[j]
        rest = np.zeros(nc)
        for j in range(1, k + 2):
            rest -= 0.5 * np.einsum("kab,a,b->k", A, q[j], q[k + 2 - j])
        solution = np.linalg.lstsq(K, np.concatenate([force / scale, rest]), rcond=1e-12)[0]
        q[k + 2], lam[k] = solution[:nq], scale * solution[nq:]
    return q, lam
