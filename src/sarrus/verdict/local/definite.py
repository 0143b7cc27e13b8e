"""Definite combinations of symmetric matrices: self-stresses that stiffen, sums of squares in the equations."""

from __future__ import annotations

import numpy as np

from ...arrays import Floats

# starts and steps of the search; a single matrix is checked directly
STARTS, STEPS = 20, 200
# a form is definite if its smallest eigenvalue exceeds this fraction of the largest
DEFINITE = 1e-7


def find_definite(H: Floats) -> Floats | None:
    """Factors u with which sum u_i H_i is positive definite; None if none were found; H: (count, m, m)."""
    if not len(H) or not H.shape[1]:
        return None
    sizes = np.maximum(np.abs(H).max(axis=(1, 2)), 1e-300)
    values = np.linalg.eigvalsh(H / sizes[:, None, None])
    # semidefinite ones add up
    signs = np.where(values[:, 0] > -DEFINITE, 1.0, np.where(values[:, -1] < DEFINITE, -1.0, 0.0))
    if _is_definite(np.tensordot(signs / sizes, H, axes=1)):
        return np.asarray(signs / sizes)
    if len(H) == 1:
        return None
    rng = np.random.default_rng(2)
    for _ in range(STARTS):
        u = rng.normal(size=len(H))
        for k in range(STEPS):
            u /= np.linalg.norm(u)
            values, vectors = np.linalg.eigh(np.tensordot(u, H, axes=1))
            if values[0] > DEFINITE * max(abs(values[-1]), 1e-300):
                return np.asarray(u)
            # increase the smallest eigenvalue
            u = u + (vectors[:, 0] @ H @ vectors[:, 0]) / (1.0 + 0.1 * k)
    return None


def _is_definite(h: Floats) -> bool:
    values = np.linalg.eigvalsh(h)
    return bool(values[0] > DEFINITE * max(abs(values[-1]), 1e-300))
