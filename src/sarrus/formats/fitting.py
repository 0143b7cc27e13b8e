"""Fit joints to their bodies: gaps, smallest rotations, exactly parallel axes."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..thresholds import MEANT_SQUARE, SAME_IN_FILE
from .parts import (
    CYLINDRICAL,
    DISTANCE,
    ON_LINE,
    ON_PLANE,
    PLANAR,
    PRISMATIC,
    RECTANGULAR,
    REVOLUTE,
    WELD,
    Connection,
    Placement,
    angle_of,
    frame_along,
    nearest_half_turn,
    turn_about,
)


def measure_gap(c: Connection, A: Placement, B: Placement) -> tuple[float, float]:
    """Return the gap of a connection [m, rad] with its frames at A and B."""
    offset = B.place - A.place
    if c.kind in (PRISMATIC, CYLINDRICAL, ON_LINE):
        offset = offset - A.axis * float(A.axis @ offset)
    elif c.kind in (PLANAR, ON_PLANE, RECTANGULAR):
        offset = A.axis * float(A.axis @ offset)
    elif c.kind == DISTANCE:
        offset = np.array([float(np.linalg.norm(offset)) - c.length])
    wide = 0.0
    if c.kind in (REVOLUTE, CYLINDRICAL, PLANAR):
        sine, cosine = float(np.linalg.norm(np.cross(A.axis, B.axis))), float(A.axis @ B.axis)
        wide = float(np.arctan2(sine, abs(cosine) if c.closure else cosine))
    elif c.kind == WELD:
        wide = angle_of(A.turn.T @ B.turn)
    elif c.kind in (PRISMATIC, RECTANGULAR):
        wide = angle_of(nearest_half_turn(A.turn.T @ B.turn).T @ A.turn.T @ B.turn)
    return float(np.linalg.norm(offset)), wide


def tidy(axes: list[Floats]) -> list[Floats]:
    """Return unit directions; nearly parallel ones are made parallel, nearly perpendicular ones perpendicular."""
    kept: list[Floats] = []
    out = []
    for axis in axes:
        same = next((k for k in kept if np.linalg.norm(np.cross(k, axis)) < MEANT_SQUARE), None)
        if same is None:
            same = np.array(axis)
            for k in kept:
                if abs(float(k @ same)) < MEANT_SQUARE:
                    same = same - k * float(k @ same)
            same = same if (same == axis).all() else same / np.linalg.norm(same)
            kept.append(same)
        out.append(same if same @ axis > 0 else -same)
    return out


def least_turn(a: Floats, b: Floats) -> Floats:
    """Return the smallest rotation of one unit direction to a near one."""
    across = np.cross(a, b)
    K = np.array(
        [[0.0, -across[2], across[1]], [across[2], 0.0, -across[0]], [-across[1], across[0], 0.0]]
    )
    return np.eye(3) + K + K @ K / (1.0 + float(a @ b))


def spread_turn(a: Floats, b: Floats, angle: float) -> Floats:
    """Return the smallest rotation of b that gives it the required angle with a or -a."""
    across = np.cross(a, b)
    sine = float(np.linalg.norm(across))
    now = float(np.arctan2(sine, a @ b))
    if sine < SAME_IN_FILE:
        across = np.cross(a, np.eye(3)[int(np.argmin(np.abs(a)))])
    return turn_about(across / np.linalg.norm(across), angle - now)


def frame_between(a: Floats, b: Floats, share: float) -> Placement:
    """Return a frame along a line, moved towards its middle by a share: both bodies' points then meet half-way."""
    return frame_along(b - a, a + share * (b - a))
