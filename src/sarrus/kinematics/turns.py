"""Rotations and angles: turn vectors (axis times angle), and turns counted beyond the first."""

from __future__ import annotations

import numpy as np

from ..arrays import Flags, Floats

TURN = 2.0 * np.pi


def in_space(vector: Floats) -> Floats:
    """A vector of the plane as one in space."""
    return np.append(vector, 0.0) if len(vector) == 2 else np.array(vector, dtype=float)


def unit(vectors: Floats) -> Floats:
    """Vectors of length one; zero stays zero."""
    size = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(size > 0, size, 1.0))


def turn_matrices(vectors: Floats) -> Floats:
    """Rotation matrices of turn vectors, (n, 3) to (n, 3, 3) (Rodrigues)."""
    angle = np.linalg.norm(vectors, axis=1)[:, None, None]
    K = np.zeros((len(vectors), 3, 3))
    x, y, z = vectors.T
    K[:, 0, 1], K[:, 0, 2], K[:, 1, 2] = -z, y, -x
    K -= np.swapaxes(K, 1, 2)
    # below it the next terms of the series are rounding
    small = angle < 1e-6
    safe = np.where(small, 1.0, angle)
    s = np.where(small, 1.0 - angle**2 / 6.0, np.sin(safe) / safe)
    c = np.where(small, 0.5 - angle**2 / 24.0, (1.0 - np.cos(safe)) / safe**2)
    return np.eye(3) + s * K + c * (K @ K)


def turn_vectors(R: Floats) -> Floats:
    """Turn vectors of rotation matrices, (n, 3, 3) to (n, 3)."""
    sines = 0.5 * np.stack(
        [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1
    )
    cosine = 0.5 * (np.trace(R, axis1=1, axis2=2) - 1.0)
    sine = np.linalg.norm(sines, axis=1)
    angle = np.arctan2(sine, cosine)
    factor = np.where(sine > 1e-9, angle / np.where(sine > 1e-9, sine, 1.0), 1.0)
    out = sines * factor[:, None]
    # close to half a turn the sines are lost: the axis is in the symmetric part, R + 1 = 2 n n^T
    for i in np.flatnonzero((sine < 1e-3) & (cosine < 0)):
        column = R[i] + R[i].T + (1.0 - np.trace(R[i])) * np.eye(3)
        n = column[:, int(np.argmax(np.diagonal(column)))]
        n = n / np.linalg.norm(n)
        out[i] = angle[i] * n * (1.0 if n @ sines[i] >= 0 else -1.0)
    return out


def next_to(angle: Floats, near: Floats) -> Floats:
    """The same angles with as many turns as bring them next to others."""
    return angle + TURN * np.rint((near - angle) / TURN)


def unwrap(times: Floats, shown: Floats, rates: Floats, rises: Floats) -> tuple[Floats, Flags]:
    """Angles that count on beyond a turn, (n, ...), and where their turns are in doubt, (n - 1, ...).

    shown: angles up to whole turns, with their rates r and accelerations s. From one output to the next an
    angle grows by h (r0 + r1) / 2 + h^2 (s0 - s1) / 12; turns are counted right as long as the error of
    that, of order h^5, is below half a turn, and in doubt above a radian where the shortest way differs.
    The first output is shown as it is.
    """
    h = np.diff(times).reshape(-1, *[1] * (shown.ndim - 1))
    expected = 0.5 * h * (rates[1:] + rates[:-1]) + h**2 / 12.0 * (rises[:-1] - rises[1:])
    steps = np.diff(shown, axis=0)
    whole = np.rint((expected - steps) / TURN)
    change, shortest = steps + TURN * whole, next_to(steps, np.zeros_like(steps))
    doubtful = (np.abs(change - shortest) > 1.0) & (np.abs(change - expected) > 1.0)
    turns = np.concatenate([np.zeros_like(shown[:1]), np.cumsum(whole, axis=0)])
    return np.asarray(shown + TURN * turns), doubtful
