"""Poses and spins of all bodies, read from natural coordinates.

A body's pose is read from vectors fixed in it: c = R c0, c' = w x c, c'' = w' x c + w x (w x c), all by
least squares. A thin rod on ball joints has one vector and a point none: the spin they do not show is
zero; nothing that has inertia or is held by a joint depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats, Ints
from ..thresholds import PARALLEL_AXES, SHOWN_SPIN
from .turns import turn_matrices, turn_vectors

if TYPE_CHECKING:
    # SciPy loads slowly: only who reads coordinates pays for it
    from scipy import sparse


@dataclass(frozen=True)
class Pose:
    """Where all bodies are: centres of mass [m], (nb, 3), and turns from the start, (nb, 3, 3)."""

    centers: Floats
    turns: Floats

    def moved(self, twists: Floats) -> Pose:
        """The pose after a finite displacement (dx, turn vector) of each body, shape (nb, 6)."""
        return Pose(self.centers + twists[:, :3], turn_matrices(twists[:, 3:]) @ self.turns)

    def displacement(self, other: Pose) -> Floats:
        """Displacements (dx, turn vector) from here to another pose, shape (nb, 6)."""
        turn = turn_vectors(other.turns @ np.swapaxes(self.turns, 1, 2))
        return np.hstack([other.centers - self.centers, turn])

    def distance(self, other: Pose, length: float) -> float:
        """Largest displacement of a body to another pose: of its centre over a length, or turn."""
        return largest_twist(self.displacement(other), length)

    def orthonormal(self) -> Pose:
        """The same pose without the rounding that many small turns leave; what was not turned stays."""
        turned = (self.turns != np.eye(3)).any(axis=(1, 2))
        turns = self.turns.copy()
        if turned.any():
            U, _, V = np.linalg.svd(turns[turned])
            turns[turned] = U @ V
            # turns in the plane stay there
            flat = self.turns[:, 2, 2] == 1.0
            turns[flat, 2], turns[flat, :, 2] = (0.0, 0.0, 1.0), (0.0, 0.0, 1.0)
        return Pose(self.centers, turns)


def largest_twist(twists: Floats, length: float) -> float:
    """The largest of the twists (nb, 6) of some bodies: of their centres over a length, or turn."""
    return max(
        float(np.linalg.norm(twists[:, :3], axis=1).max(initial=0.0)) / length,
        float(np.linalg.norm(twists[:, 3:], axis=1).max(initial=0.0)),
    )


@dataclass(frozen=True)
class BodyRows:
    """How the pose of every body is read: centre of mass, and unit vectors fixed in it.

    centers: world displacement [m] per unit of q, 3 rows a body; vectors: change of each vector, world,
    3 rows a vector; starts: their values at the start, (nv, 3); owner: body of each vector. A thin rod
    on ball joints has one vector, a point none: their spin is not defined.
    """

    names: tuple[str, ...]
    centers: sparse.csr_array
    vectors: sparse.csr_array
    starts: Floats
    owner: Ints

    def only(self, name: str) -> BodyRows:
        """The rows of one body."""
        i = self.names.index(name)
        own = np.flatnonzero(self.owner == i)
        rows = np.add.outer(3 * own, np.arange(3)).ravel()
        centers, vectors = self.centers[3 * i : 3 * i + 3], self.vectors[rows]
        return BodyRows((name,), centers, vectors, self.starts[own], np.zeros_like(own))

    @property
    def show_turn(self) -> bool:
        """Whether the vectors show how a body turns: two of them are not parallel."""
        across = np.cross(self.starts[:, None], self.starts[None, :])
        return bool(np.linalg.norm(across, axis=2).max(initial=0.0) > PARALLEL_AXES)


def read_poses(start: Floats, bodies: BodyRows, q: Floats) -> list[Pose]:
    """The pose at each output; start: centres where q = 0, (nb, 3); q: coordinates, (n, nq)."""
    centers, turns = start + read_rows(bodies.centers, q), read_turns(bodies, q)
    return [Pose(centers[t], turns[t]) for t in range(len(q))]


def read_turns(bodies: BodyRows, q: Floats) -> Floats:
    """The rotation of each body since the start at each output, (n, nb, 3, 3)."""
    c = bodies.starts + read_rows(bodies.vectors, q)
    H = _collect(bodies, c[..., :, None] * bodies.starts[:, None, :])
    if not (bodies.starts[:, 2].any() or c[..., 2].any()):
        return _flat_turns(H)
    U, _, V = np.linalg.svd(H)
    U[..., :, 2] *= np.linalg.det(U @ V)[..., None]
    return np.asarray(U @ V)


def _flat_turns(H: Floats) -> Floats:
    """Rotations about z, nearest to H = sum c c0^T: without rounding where nothing has turned."""
    x, y = H[..., 0, 0] + H[..., 1, 1], H[..., 1, 0] - H[..., 0, 1]
    # a body without vectors has not turned
    x = np.where((x == 0.0) & (y == 0.0), 1.0, x)
    size = np.hypot(x, y)
    out = np.zeros(H.shape)
    out[..., 0, 0] = out[..., 1, 1] = x / size
    out[..., 1, 0], out[..., 0, 1] = y / size, -y / size
    out[..., 2, 2] = 1.0
    return out


def read_spins(bodies: BodyRows, q: Floats, v: Floats, a: Floats) -> tuple[Floats, Floats]:
    """Angular velocity and acceleration of each body at each output, (n, nb, 3)."""
    c = bodies.starts + read_rows(bodies.vectors, q)
    c1, c2 = read_rows(bodies.vectors, v), read_rows(bodies.vectors, a)
    # sum (|c|^2 - c c^T) w = sum c x c'
    squares = np.einsum("tvi,tvi->tv", c, c)[..., None, None] * np.eye(3)
    spread = _collect(bodies, squares - c[..., :, None] * c[..., None, :])
    inverse = np.linalg.pinv(spread, rcond=SHOWN_SPIN, hermitian=True)
    w = np.einsum("tbij,tbj->tbi", inverse, _collect(bodies, np.cross(c, c1)))
    own = w[:, bodies.owner]
    rest = c2 - np.cross(own, np.cross(own, c))
    return w, np.einsum("tbij,tbj->tbi", inverse, _collect(bodies, np.cross(c, rest)))


def read_rows(rows: sparse.csr_array, x: Floats) -> Floats:
    """Three rows a vector, over outputs: (n, nv, 3)."""
    return np.asarray((rows @ x.T).T).reshape(len(x), rows.shape[0] // 3, 3)


def _collect(bodies: BodyRows, per_vector: Floats) -> Floats:
    """Sums over the vectors of each body."""
    from scipy import sparse

    n, shape = len(per_vector), per_vector.shape[2:]
    ones = np.ones(len(bodies.owner))
    where = (bodies.owner, np.arange(len(bodies.owner)))
    sums = sparse.csr_array((ones, where), shape=(len(bodies.names), len(bodies.owner)))
    flat = np.moveaxis(per_vector, 1, 0).reshape(len(bodies.owner), -1)
    return np.moveaxis((sums @ flat).reshape(len(bodies.names), n, *shape), 0, 1)
