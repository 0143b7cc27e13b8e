"""Ranks of joint equations in exact arithmetic, at poses with rational coordinates.

The rows are written again, from the mechanism alone: along the world axes or integer vectors along or
across an axis, about integer vectors. Small matrices are eliminated over the rationals; larger ones
modulo two primes: a rank modulo a prime is never too large, and too small only if the prime divides a
minor.
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
    kinds = JointKind
    driven = [drive.joint for drive in mechanism.drives]

    def direction(v):
        w = np.round(v).astype(np.int64)
        assert np.array_equal(w, v)
        return np.append(w, 0) if len(w) == 2 else w

    def across(axis):
        if planar:
            return [np.cross(eye[2], axis)]
        return [np.cross(axis, u) for k, u in enumerate(eye) if k != np.argmax(np.abs(axis))]

    for joint in mechanism.joints:
        first, *others = joint.bodies
        for other in others:
            ends = [whole(p) for p in joint.places or (np.zeros(3),) * 2]
            sides = ((-1, first, ends[0]), (1, other, ends[1]))
            pairs = [(s, number[n], at) for s, n, at in sides if n != "ground"]
            axis = None if joint.axis is None else direction(joint.axis)
            along, about = list(eye), []
            if joint.kind in (kinds.PRISMATIC, kinds.CYLINDRICAL, kinds.POINT_ON_LINE):
                along = across(axis)
            elif joint.kind in (kinds.PLANAR, kinds.POINT_ON_PLANE):
                along = [axis]
            elif joint.kind is kinds.DISTANCE:
                along = [ends[1] - ends[0]]
            if joint.kind in (kinds.WELD, kinds.PRISMATIC):
                about = list(eye)
            elif joint.kind is kinds.UNIVERSAL:
                about = [np.cross(axis, direction(joint.ends[1].axis))]
            elif not planar and joint.kind in (kinds.REVOLUTE, kinds.CYLINDRICAL, kinds.PLANAR):
                about = across(axis)
            if joint.name in driven and joint.kind is kinds.REVOLUTE:
                about.append(eye[2] if planar else axis)
            elif joint.name in driven and joint.kind is not kinds.DISTANCE:
                # the only equation of a driven link is that of the drive
                along.append(axis)
            for u in along:
                row = np.zeros(6 * len(centers), dtype=np.int64)
                for sign, i, at in pairs:
                    row[6 * i : 6 * i + 3] += sign * scale * u
                    row[6 * i + 3 : 6 * i + 6] += sign * np.cross(at - centers[i], u)
                rows.append(row)
            for u in about:
                row = np.zeros(6 * len(centers), dtype=np.int64)
                for sign, i, _ in pairs:
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
