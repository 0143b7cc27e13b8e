"""Poses and spins of all bodies from the coordinates of a result.

A body's pose is read from vectors fixed in it: c = R c0, c' = w x c, c'' = w' x c + w x (w x c), all by
least squares. A thin rod on ball joints has one vector and a point none: the spin they do not show is
zero; nothing that has inertia or is held by a joint depends on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from ..arrays import Floats
from .joint_equations import JointEquations, Pose

if TYPE_CHECKING:
    from ..model.model import BodyRows


def read_poses(equations: JointEquations, bodies: BodyRows, q: Floats) -> list[Pose]:
    """The pose at each output; q: coordinates, (n, nq)."""
    centers = equations.centers + read_rows(bodies.centers, q)
    c = bodies.starts + read_rows(bodies.vectors, q)
    U, _, V = np.linalg.svd(_collect(bodies, c[..., :, None] * bodies.starts[:, None, :]))
    U[..., :, 2] *= np.linalg.det(U @ V)[..., None]
    turns = U @ V
    return [Pose(centers[t], turns[t]) for t in range(len(q))]


def read_spins(bodies: BodyRows, q: Floats, v: Floats, a: Floats) -> tuple[Floats, Floats]:
    """Angular velocity and acceleration of each body at each output, (n, nb, 3)."""
    c = bodies.starts + read_rows(bodies.vectors, q)
    c1, c2 = read_rows(bodies.vectors, v), read_rows(bodies.vectors, a)
    squares = np.einsum("tvi,tvi->tv", c, c)[..., None, None] * np.eye(3)
    spread = _collect(bodies, squares - c[..., :, None] * c[..., None, :])
    inverse = np.linalg.pinv(spread, rcond=1e-9, hermitian=True)
    w = np.einsum("tbij,tbj->tbi", inverse, _collect(bodies, np.cross(c, c1)))
    own = w[:, bodies.owner]
    rest = c2 - np.cross(own, np.cross(own, c))
    return w, np.einsum("tbij,tbj->tbi", inverse, _collect(bodies, np.cross(c, rest)))


def read_rows(rows: sparse.csr_array, x: Floats) -> Floats:
    """Three rows a vector, over outputs: (n, nv, 3)."""
    return np.asarray((rows @ x.T).T).reshape(len(x), rows.shape[0] // 3, 3)


def _collect(bodies: BodyRows, per_vector: Floats) -> Floats:
    """Sums over the vectors of each body."""
    n, shape = len(per_vector), per_vector.shape[2:]
    ones = np.ones(len(bodies.owner))
    where = (bodies.owner, np.arange(len(bodies.owner)))
    sums = sparse.csr_array((ones, where), shape=(len(bodies.names), len(bodies.owner)))
    flat = np.moveaxis(per_vector, 1, 0).reshape(len(bodies.owner), -1)
    return np.moveaxis((sums @ flat).reshape(len(bodies.names), n, *shape), 0, 1)
