"""Poses and rotations of bodies: rotation vectors, angular velocities, and the mechanism's length.

The pose of a body is read from vectors fixed in it by least squares: c = R c0, c' = w x c,
c'' = w' x c + w x (w x c). A thin rod on ball joints has one vector and a point has none: the spin that
these do not determine is zero. It does not affect inertia or joints. A rotation vector ("turn vector") is
axis times angle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from scipy import sparse

from ..arrays import Flags, Floats, Ints
from ..mechanism import Mechanism
from ..mechanism.part_arrays import PartArrays, read_parts
from ..thresholds import NO_ARM, PARALLEL_AXES, SHOWN_SPIN
from ..tracing import each, larger, largest, length_of, mean, sqrt

TURN = 2.0 * np.pi
# a link between two joints is about twice as long as the arm from its centre to one of them
LINK = 2.0
# iterations to a rotation: values of WELL_SHOWN are doubled ten times before the digits are
MOST_STEPS = 16
# 1, for matrices of that size: with a larger determinant cofactors lose at most three of sixteen digits
WELL_SHOWN = 1e-3


def in_space(vector: Floats) -> Floats:
    """A planar vector as a 3-D vector."""
    return np.append(vector, 0.0) if len(vector) == 2 else np.array(vector, dtype=float)


def rows_in_space(vectors: Floats) -> Floats:
    """Planar or 3-D vectors, one per row, as 3-D vectors."""
    return np.pad(vectors, ((0, 0), (0, 3 - vectors.shape[1])))


def frame_about(axis: Floats) -> Floats:
    """A rotation matrix whose last column is a unit axis; exact for coordinate directions."""
    other = np.eye(3)[int(np.argmin(np.abs(axis)))]
    x = np.cross(other, axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def skew(vector: Floats) -> Floats:
    """The matrix of the cross product with a vector from the left."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def unit(vectors: Floats) -> Floats:
    """Unit vectors; zero stays zero."""
    size = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(size > 0, size, 1.0))


def cross(a: Floats, b: Floats) -> Floats:
    """Cross products of rows, (..., 3): the result of np.cross, much faster for few rows."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    out[..., 0] = a1 * b2 - a2 * b1
    out[..., 1] = a2 * b0 - a0 * b2
    out[..., 2] = a0 * b1 - a1 * b0
    return out


def turn_matrices(vectors: Floats) -> Floats:
    """Rotation matrices of rotation vectors, (n, 3) to (n, 3, 3) (Rodrigues)."""
    angle = np.linalg.norm(vectors, axis=1)[:, None, None]
    K = np.zeros((len(vectors), 3, 3))
    x, y, z = vectors.T
    K[:, 0, 1], K[:, 0, 2], K[:, 1, 2] = -z, y, -x
    K -= np.swapaxes(K, 1, 2)
    # below this angle the next terms of the series are rounding
    small = angle < 1e-6
    safe = np.where(small, 1.0, angle)
    s = np.where(small, 1.0 - angle**2 / 6.0, np.sin(safe) / safe)
    c = np.where(small, 0.5 - angle**2 / 24.0, (1.0 - np.cos(safe)) / safe**2)
    return np.eye(3) + s * K + c * (K @ K)


def turn_vectors(R: Floats) -> Floats:
    """Rotation vectors of rotation matrices, (n, 3, 3) to (n, 3)."""
    sines = 0.5 * np.stack(
        [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1
    )
    cosine = 0.5 * (np.trace(R, axis1=1, axis2=2) - 1.0)
    sine = np.linalg.norm(sines, axis=1)
    angle = np.arctan2(sine, cosine)
    factor = np.where(sine > 1e-9, angle / np.where(sine > 1e-9, sine, 1.0), 1.0)
    out = sines * factor[:, None]
    # close to half a turn the sines lose their digits: the symmetric part gives the axis, R + 1 = 2 n n^T
    for i in np.flatnonzero((sine < 1e-3) & (cosine < 0)):
        column = R[i] + R[i].T + (1.0 - np.trace(R[i])) * np.eye(3)
        n = column[:, int(np.argmax(np.diagonal(column)))]
        n = n / np.linalg.norm(n)
        out[i] = angle[i] * n * (1.0 if n @ sines[i] >= 0 else -1.0)
    return out


def next_to(angle: Floats, near: Floats) -> Floats:
    """The same angles, shifted by full turns to be nearest to others."""
    return angle + TURN * np.rint((near - angle) / TURN)


def unwrap(times: Floats, shown: Floats, rates: Floats, rises: Floats) -> tuple[Floats, Flags]:
    """Continuous angles, (n, ...), and flags where the number of turns is uncertain, (n - 1, ...).

    shown: angles modulo full turns, with their rates r and accelerations s. From one output to the next an
    angle grows by h (r0 + r1) / 2 + h^2 (s0 - s1) / 12. Turns are counted correctly while the error of this
    formula, of order h^5, is below half a turn; above a radian they are uncertain if the shortest way
    differs. The first output is unchanged.
    """
    h = np.diff(times).reshape(-1, *[1] * (shown.ndim - 1))
    expected = 0.5 * h * (rates[1:] + rates[:-1]) + h**2 / 12.0 * (rises[:-1] - rises[1:])
    steps = np.diff(shown, axis=0)
    whole = np.rint((expected - steps) / TURN)
    change, shortest = steps + TURN * whole, next_to(steps, np.zeros_like(steps))
    doubtful = (np.abs(change - shortest) > 1.0) & (np.abs(change - expected) > 1.0)
    turns = np.concatenate([np.zeros_like(shown[:1]), np.cumsum(whole, axis=0)])
    return np.asarray(shown + TURN * turns), doubtful


@dataclass(frozen=True)
class Pose:
    """Poses of all bodies: centres of mass [m], (nb, 3), and rotations from the start, (nb, 3, 3)."""

    centers: Floats
    turns: Floats

    def moved(self, twists: Floats) -> Pose:
        """The pose after a finite displacement (dx, rotation vector) of each body, shape (nb, 6)."""
        return Pose(self.centers + twists[:, :3], turn_matrices(twists[:, 3:]) @ self.turns)

    def displacement(self, other: Pose) -> Floats:
        """Displacements (dx, rotation vector) from this pose to another, shape (nb, 6)."""
        turn = turn_vectors(other.turns @ np.swapaxes(self.turns, 1, 2))
        return np.hstack([other.centers - self.centers, turn])

    def distance(self, other: Pose, length: float) -> float:
        """Largest displacement of a body to another pose: of its centre over a length, or its rotation angle."""
        return largest_twist(self.displacement(other), length)

    def orthonormal(self) -> Pose:
        """The same pose without the rounding of many small rotations; unrotated bodies are unchanged."""
        turned = (self.turns != np.eye(3)).any(axis=(1, 2))
        turns = self.turns.copy()
        if turned.any():
            U, _, V = np.linalg.svd(turns[turned])
            turns[turned] = U @ V
            # rotations in the plane stay there
            flat = self.turns[:, 2, 2] == 1.0
            turns[flat, 2], turns[flat, :, 2] = (0.0, 0.0, 1.0), (0.0, 0.0, 1.0)
        return Pose(self.centers, turns)


def largest_twist(twists: Floats, length: float) -> float:
    """The largest of some twists (nb, 6): displacement of the centre over a length, or rotation angle."""
    return max(
        float(np.linalg.norm(twists[:, :3], axis=1).max(initial=0.0)) / length,
        float(np.linalg.norm(twists[:, 3:], axis=1).max(initial=0.0)),
    )


@dataclass(frozen=True)
class BodyRows:
    """Rows that give the pose of every body: centre of mass, and unit vectors fixed in it.

    centers: world displacement [m] per unit of q, 3 rows per body; vectors: change of each vector, world, 3
    rows per vector; starts: their values at the start, (nv, 3); owner: body of each vector. A thin rod on
    ball joints has one vector, a point has none: their spin is undefined.
    """

    names: tuple[str, ...]
    centers: sparse.csr_array
    vectors: sparse.csr_array
    starts: Floats
    owner: Ints

    @cached_property
    def sums(self) -> sparse.csr_array:
        """The matrix that sums over the vectors of each body."""
        ones, count = np.ones(len(self.owner)), len(self.owner)
        where = (self.owner, np.arange(count))
        return sparse.csr_array((ones, where), shape=(len(self.names), count))

    @cached_property
    def has_one_each(self) -> bool:
        """Whether every body has exactly one vector, as in the plane."""
        return np.array_equal(self.owner, np.arange(len(self.names)))

    def only(self, name: str) -> BodyRows:
        """The rows of one body."""
        i = self.names.index(name)
        own = np.flatnonzero(self.owner == i)
        rows = np.add.outer(3 * own, np.arange(3)).ravel()
        centers, vectors = self.centers[3 * i : 3 * i + 3], self.vectors[rows]
        return BodyRows((name,), centers, vectors, self.starts[own], np.zeros_like(own))

    def nearest(self, length: float) -> Callable[[Floats], Floats]:
        """A function that finds the coordinates nearest to poses by least squares; length: of the model [m].

        It takes changes of centres [m], then of vectors, (rows, n), and returns q or rates, (nq, n). Where
        joints are closed the result reproduces the poses; at an open joint both sides meet halfway.
        Coordinates that no pose determines are zero.
        """
        weight = np.ones(self.centers.shape[0] + self.vectors.shape[0])
        weight[: self.centers.shape[0]] = length**-2.0
        A = sparse.csc_array(sparse.vstack([self.centers, self.vectors]))[:, self.seen]
        weighted = sparse.csc_array(A.T @ sparse.diags_array(weight))
        normal = scipy.sparse.linalg.splu(sparse.csc_matrix(weighted @ A))

        def find(changes: Floats) -> Floats:
            out = np.zeros((len(self.seen), changes.shape[1]))
            out[self.seen] = normal.solve(np.asarray(weighted @ changes))
            return out

        return find

    @property
    def seen(self) -> Flags:
        """Coordinates that poses determine: not those of rotors and couplings, which follow from the others."""
        shown = abs(self.centers).sum(axis=0) + abs(self.vectors).sum(axis=0)
        return np.asarray(shown).ravel() > 0.0

    @property
    def show_turn(self) -> bool:
        """Whether the vectors determine the rotation of a body: two of them are not parallel."""
        across = np.cross(self.starts[:, None], self.starts[None, :])
        return bool(np.linalg.norm(across, axis=2).max(initial=0.0) > PARALLEL_AXES)


def read_poses(start: Floats, bodies: BodyRows, q: Floats) -> list[Pose]:
    """The pose at each output; start: centres at q = 0, (nb, 3); q: coordinates, (n, nq)."""
    centers, turns = start + read_rows(bodies.centers, q), read_turns(bodies, q)
    return [Pose(centers[t], turns[t]) for t in range(len(q))]


def read_turns(bodies: BodyRows, q: Floats) -> Floats:
    """The rotation of each body since the start at each output, (n, nb, 3, 3)."""
    c = bodies.starts + read_rows(bodies.vectors, q)
    if _is_flat(bodies, c):
        return _flat_turns(bodies, c)
    return nearest_turns(_collect(bodies, c[..., :, None] * bodies.starts[:, None, :]))


def nearest_turns(H: Floats) -> Floats:
    """The rotations nearest to matrices, (..., 3, 3): R of H = R P, P symmetric and positive semidefinite.

    With cof(H) the matrix of cofactors, H + cof(H) = R (P + cof(P)) has the same R, and it is invertible if
    two vectors of a body are not parallel. From there Newton steps X -> (X + cof(X) / det X) / 2 double the
    digits [Higham1986]. Singular matrices, as from the single vector of a thin rod, fall back to singular
    vectors.
    """
    out = np.empty(H.shape)
    flat, found = H.reshape(-1, 9), out.reshape(-1, 9)
    sizes = np.sqrt(np.einsum("ni,ni->n", flat, flat))
    # in columns of nine numbers each: X[i][j] over all matrices
    X = (flat / np.where(sizes > 0.0, sizes, 1.0)[:, None]).T.reshape(3, 3, -1)
    X = X + _cofactors(X)
    det = _determinants(X)
    good = det > WELL_SHOWN
    for _ in range(MOST_STEPS):
        more = _cofactors(X) / np.where(good, det, 1.0)
        change = np.abs(more - X)[:, :, good].max(initial=0.0)
        X = 0.5 * (X + more)
        # the next step would change X by the square of this
        if change < 1e-9:
            break
        det = _determinants(X)
    found[:] = X.reshape(9, -1).T
    if not good.all() or change >= 1e-9:
        rest = ~good if change < 1e-9 else np.ones_like(good)
        U, _, V = np.linalg.svd(flat[rest].reshape(-1, 3, 3))
        U[..., :, 2] *= np.linalg.det(U @ V)[..., None]
        found[rest] = (U @ V).reshape(-1, 9)
    return out


def _cofactors(X: Floats) -> Floats:
    """Cross products of the columns of matrices, (3, 3, n)."""
    a, b, c = (X[:, j].T for j in range(3))
    return np.stack([cross(b, c).T, cross(c, a).T, cross(a, b).T], axis=1)


def _determinants(X: Floats) -> Floats:
    a, b, c = (X[:, j].T for j in range(3))
    return np.asarray((a * cross(b, c)).sum(axis=1))


def _is_flat(bodies: BodyRows, c: Floats) -> bool:
    """Whether all vectors lie in the plane, except those along its normal, which stay there."""
    upright = ~bodies.starts[:, :2].any(axis=1)
    return not (
        bodies.starts[~upright, 2].any()
        or (c[..., 2] != bodies.starts[:, 2]).any()
        or c[:, upright, :2].any()
    )


def _flat_turns(bodies: BodyRows, c: Floats) -> Floats:
    """Rotations about z nearest to sum c c0^T; free of rounding for bodies that have not rotated."""
    x = _collect(bodies, np.einsum("tvi,vi->tv", c[..., :2], bodies.starts[:, :2]))
    y = _collect(bodies, _flat_cross(bodies.starts, c))
    # a body without vectors has not rotated
    x = np.where((x == 0.0) & (y == 0.0), 1.0, x)
    size = np.hypot(x, y)
    out = np.zeros((*x.shape, 3, 3))
    out[..., 0, 0] = out[..., 1, 1] = x / size
    out[..., 1, 0], out[..., 0, 1] = y / size, -y / size
    out[..., 2, 2] = 1.0
    return out


def _flat_cross(a: Floats, b: Floats) -> Floats:
    """The z component of a x b."""
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


def _flat_spins(bodies: BodyRows, c: Floats, c1: Floats, c2: Floats) -> tuple[Floats, Floats]:
    """w and w' along z: sum |c|^2 w = sum c x c', and the same for c'' without w x (w x c), which is along c."""
    squares = _collect(bodies, np.einsum("tvi,tvi->tv", c[..., :2], c[..., :2]))
    # a body without vectors has no defined spin
    squares = np.where(squares == 0.0, 1.0, squares)
    out = np.zeros((2, *squares.shape, 3))
    out[0, ..., 2] = _collect(bodies, _flat_cross(c, c1)) / squares
    out[1, ..., 2] = _collect(bodies, _flat_cross(c, c2)) / squares
    return out[0], out[1]


def read_spins(bodies: BodyRows, q: Floats, v: Floats, a: Floats) -> tuple[Floats, Floats]:
    """Angular velocity and acceleration of each body at each output, (n, nb, 3)."""
    c = bodies.starts + read_rows(bodies.vectors, q)
    c1, c2 = read_rows(bodies.vectors, v), read_rows(bodies.vectors, a)
    upright = ~bodies.starts[:, :2].any(axis=1)
    if _is_flat(bodies, c) and not any(x[..., 2].any() or x[:, upright].any() for x in (c1, c2)):
        return _flat_spins(bodies, c, c1, c2)
    # sum (|c|^2 - c c^T) w = sum c x c'
    squares = np.einsum("tvi,tvi->tv", c, c)[..., None, None] * np.eye(3)
    spread = _collect(bodies, squares - c[..., :, None] * c[..., None, :])
    inverse = _inverse_spread(spread)
    w = (inverse @ _collect(bodies, cross(c, c1))[..., None])[..., 0]
    own = w[:, bodies.owner]
    rest = c2 - cross(own, cross(own, c))
    return w, (inverse @ _collect(bodies, cross(c, rest))[..., None])[..., 0]


def _inverse_spread(spread: Floats) -> Floats:
    """Inverses of symmetric matrices, (..., 3, 3): by cofactors if these are accurate, else pseudo-inverses."""
    X = spread.reshape(-1, 9).T.reshape(3, 3, -1)
    adjoint, det = _cofactors(X), _determinants(X)
    good = det > WELL_SHOWN * (X[0, 0] + X[1, 1] + X[2, 2]) ** 3
    out = (adjoint / np.where(good, det, 1.0)).reshape(9, -1).T.reshape(-1, 3, 3)
    if not good.all():
        few = spread.reshape(-1, 3, 3)[~good]
        out[~good] = np.linalg.pinv(few, rcond=SHOWN_SPIN, hermitian=True)
    return out.reshape(spread.shape)


def read_rows(rows: sparse.csr_array, x: Floats) -> Floats:
    """Values of three rows per vector, over outputs: (n, nv, 3)."""
    return np.asarray((rows @ x.T).T).reshape(len(x), rows.shape[0] // 3, 3)


def _collect(bodies: BodyRows, per_vector: Floats) -> Floats:
    """Sums over the vectors of each body."""
    if bodies.has_one_each:
        # sums with zero, which has no sign then
        return per_vector + 0.0
    n, shape = len(per_vector), per_vector.shape[2:]
    # there may be no vectors at all
    flat = np.moveaxis(per_vector, 1, 0).reshape(len(bodies.owner), n * math.prod(shape))
    return np.moveaxis((bodies.sums @ flat).reshape(len(bodies.names), n, *shape), 0, 1)


def measure_length(mechanism: Mechanism) -> float:
    """The mean arm, from the centre of a body to its attachment points: joints, links and springs [m].

    Without arms it is the radius of gyration, or half a metre for points. A typical link is LINK times as
    long.
    """
    return length_of_parts(mechanism, read_parts(mechanism))


def length_of_parts(mechanism: Mechanism, parts: PartArrays) -> float:
    """The same from parts that were read before."""
    owner, places = _attachment_points(mechanism, parts)
    # body by body, without the ground
    order = np.argsort(owner, kind="stable")[np.count_nonzero(owner < 0) :]
    arms: list[float] = []
    if len(order):
        arms = each(length_of, places[order], parts.center.rows[owner[order]])
    spread = each(lambda inertia, mass: sqrt(largest(inertia) / mass[0]), parts.inertia, parts.mass)
    least = NO_ARM * larger(largest(arms), largest(spread))
    long = [a for a in arms if a > least]
    return mean(long or [s for s in spread if s > 0] or [1.0 / LINK])


def _attachment_points(mechanism: Mechanism, c: PartArrays) -> tuple[Ints, Floats]:
    """Bodies, -1 for the ground, and their attachment points: of joints, then of links, then of springs."""
    late = c.are(lambda row: row.is_link)[c.joint]
    ends = np.argsort(late, kind="stable")
    ends = ends[c.has_place[c.place[ends]]]
    owner, places = c.body[ends], c.places.rows[c.place[ends]]
    if mechanism.springs:
        names = [body for spring in mechanism.springs for body in spring.bodies]
        owner = np.append(owner, [c.number.get(name, -1) for name in names])
        places = np.concatenate([places, [at for s in mechanism.springs for at in s.ends]])
    return np.where(owner < len(c.bodies), owner, -1), places
