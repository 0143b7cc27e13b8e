"""Ranks of joint equations in exact arithmetic, at poses with rational coordinates.

The rows are written anew, from the mechanism alone: along the world axes, about two integer vectors
across the hinge. Small matrices are eliminated over the rationals; larger ones modulo two primes: a
rank modulo a prime is never too large, and too small only if the prime divides a minor.
"""

from fractions import Fraction

import numpy as np

from sarrus.mechanism import JointKind

# products of two residues fit into 64 bits
PRIMES = (2147483647, 2147483629)


def integer_joint_matrix(mechanism, scale):
    """W times powers of `scale`, as whole numbers; places times scale must be whole."""
    planar = mechanism.dimension == 2
    number = {b.name: i for i, b in enumerate(mechanism.bodies)}

    def whole(v):
        w = np.round(np.array(v) * scale).astype(np.int64)
        assert np.array_equal(w / scale, np.array(v))
        return np.append(w, 0) if len(w) == 2 else w

    centers = [whole(b.center) for b in mechanism.bodies]
    rows = []
    eye = np.eye(3, dtype=np.int64)
    for joint in mechanism.joints:
        first, *others = joint.bodies
        for other in others:
            pairs = [(s, number[n]) for s, n in ((-1, first), (1, other)) if n != "ground"]
            at = whole(joint.at) if joint.at is not None else np.zeros(3, dtype=np.int64)
            for u in eye:
                row = np.zeros(6 * len(centers), dtype=np.int64)
                for sign, i in pairs:
                    row[6 * i : 6 * i + 3] += sign * scale * u
                    row[6 * i + 3 : 6 * i + 6] += sign * np.cross(at - centers[i], u)
                rows.append(row)
            if joint.kind is JointKind.WELD:
                about = eye
            elif joint.kind is JointKind.SPHERICAL or planar:
                about = eye[:0]
            else:
                axis = np.round(joint.axis).astype(np.int64)
                assert np.array_equal(axis, joint.axis)
                across = [np.cross(axis, u) for u in eye]
                about = [w for k, w in enumerate(across) if k != np.argmax(np.abs(axis))]
            for u in about:
                row = np.zeros(6 * len(centers), dtype=np.int64)
                for sign, i in pairs:
                    row[6 * i + 3 : 6 * i + 6] += sign * u
                rows.append(row)
    W = np.array(rows, dtype=np.int64).reshape(-1, 6 * len(centers))
    if planar:
        keep = [6 * i + k for i in range(len(centers)) for k in (0, 1, 5)]
        W = W[:, keep]
        # rows along z, and about x and y, are empty in the plane
    return W


def exact_rank(W):
    """Rank of a matrix of whole numbers."""
    if W.size == 0:
        return 0
    if max(W.shape) <= 24:
        return rational_rank(W)
    return max(prime_rank(W, p) for p in PRIMES)


def rational_rank(W):
    """By elimination over the rationals."""
    rows = [[Fraction(int(x)) for x in row] for row in W]
    rank = 0
    for c in range(W.shape[1]):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][c]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for r in range(rank + 1, len(rows)):
            if rows[r][c]:
                f = rows[r][c] / rows[rank][c]
                rows[r] = [x - f * y for x, y in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    return rank


def prime_rank(W, p):
    """By elimination modulo a prime."""
    A = np.mod(W, p)
    rank = 0
    for c in range(A.shape[1]):
        at = np.flatnonzero(A[rank:, c])
        if not at.size:
            continue
        k = rank + int(at[0])
        A[[rank, k]] = A[[k, rank]]
        A[rank] = A[rank] * pow(int(A[rank, c]), -1, p) % p
        below = rank + 1 + np.flatnonzero(A[rank + 1 :, c])
        if below.size:
            A[below] = (A[below] - A[below, c][:, None] * A[rank] % p) % p
        rank += 1
        if rank == len(A):
            break
    return rank
