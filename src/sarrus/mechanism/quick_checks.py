"""Quick checks over arrays: which bodies and joints of a large mechanism must be checked one by one.

Parts that pass are certain to have no problems; unusual parts, and parts close to a limit, are checked one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays import Flags, Floats
from ..thresholds import ON_ROD
from .elements import Element
from .part_arrays import PartArrays

# bodies or joints from which on a check over arrays pays off
MANY = 64
# fraction of an allowed limit that is certainly valid
SHARE = 0.5


def parts_to_check(block: str, parts: Sequence[Any], arrays: PartArrays) -> Sequence[Element]:
    """Parts that may have problems; block: their kind."""
    checks = {"bodies": _sound_bodies, "joints": _sound_joints}
    few = max(len(arrays.bodies), len(arrays.joints)) < MANY
    # when tracing, the check of each part is recorded
    if few or arrays.is_traced or block not in checks:
        return parts
    return [parts[i] for i in np.flatnonzero(~checks[block](arrays)).tolist()]


def _sound_bodies(c: PartArrays) -> Flags:
    """Bodies with a valid mass, and with two ends or a centre and an inertia."""
    good = c.has_mass & (c.mass > 0.0)
    apart = _size(c.end.rows - c.start.rows)
    size = np.maximum(np.abs(c.start.rows), np.abs(c.end.rows)).max(axis=1, initial=0.0)
    section, has_section = c.section
    rods = has_section & (section >= 0.0) & c.start.good & c.end.good
    rods &= SHARE * apart > 1e-12 * size
    if c.is_rod.all():
        return good & rods
    return good & np.where(c.is_rod, rods, c.center.good & _sound_inertias(c))


def _sound_joints(c: PartArrays) -> Flags:
    """Joints with one point, and one axis or none, on all of their bodies, which are all different."""
    planar = c.dimension == 2
    n = len(c.joints)
    # kinds whose points and axes are common to all bodies
    plain = c.are(
        lambda row: (
            row.axis in ("", "common")
            and not (row.slides or row.is_link or (planar and row.in_plane))
        )
    )
    good = plain & c.is_one & (c.counts > 1) & c.places.good[:n]
    # a duplicate body: neighbours after sorting
    order = np.lexsort((c.body, c.joint))
    joint, body = c.joint[order], c.body[order]
    good[joint[1:][(joint[1:] == joint[:-1]) & (body[1:] == body[:-1])]] = False
    turns = c.are(lambda row: row.axis == "common")
    if planar:
        good &= ~turns | ~c.has_axis[:n]
    else:
        good &= ~turns | (c.axes.good[:n] & (np.abs(c.axes.rows[:n]).max(axis=1) > 0.0))
    return good & ~_off_body(c)


def _off_body(c: PartArrays) -> Flags:
    """Joints that may be off one of their bodies, or have an unknown body."""
    # rows of the ground and of unknown bodies; like bodies that are not rods, they have no ends
    none = np.zeros((2, c.dimension))
    is_rod = np.append(c.is_rod, [False, False])
    start, end = (np.concatenate([x.rows, none]) for x in (c.start, c.end))
    placed = np.append(c.start.good & c.end.good, [True, True])
    at, a = c.places.rows[c.joint], start[c.body]
    along = end[c.body] - a
    square = _dot(along, along)
    off = at - a
    share = np.clip(_dot(off, along) / np.where(square > 0.0, square, 1.0), 0.0, 1.0)
    gap = _size(off - share[:, None] * along)
    allowed = ON_ROD * np.sqrt(square) + 8e-16 * np.abs(at).max(axis=1, initial=0.0)
    near = ~is_rod[c.body] | (placed[c.body] & (gap <= SHARE * allowed))
    out = np.zeros(len(c.joints), bool)
    out[c.joint[~near | (c.body < 0)]] = True
    return out


def _sound_inertias(c: PartArrays) -> Flags:
    """Bodies with a physically possible inertia; the inertias of rods follow from their ends."""
    inertia = c.inertia
    if not isinstance(inertia, np.ndarray) or inertia.shape[1:] != (
        () if c.dimension == 2 else (3, 3)
    ):
        return np.zeros(len(c.bodies), bool)
    if c.dimension == 2:
        return np.isfinite(inertia) & (inertia >= 0.0)
    good: Flags = np.asarray(np.isfinite(inertia).all(axis=(1, 2)))
    matrix = np.where(good[:, None, None], inertia, 0.0)
    size = np.abs(matrix).max(axis=(1, 2))
    skew = np.abs(matrix - np.swapaxes(matrix, 1, 2)).max(axis=(1, 2))
    half = 0.5 * np.trace(matrix, axis1=1, axis2=2)[:, None, None]
    moments = half * np.eye(3) - 0.5 * (matrix + np.swapaxes(matrix, 1, 2))
    least = np.linalg.eigvalsh(moments)[:, 0]
    return good & (skew <= SHARE * 1e-9 * size) & (least >= -SHARE * 1e-9 * size)


def _dot(a: Floats, b: Floats) -> Floats:
    return np.einsum("ij,ij->i", a, b)


def _size(a: Floats) -> Floats:
    return np.sqrt(_dot(a, a))
