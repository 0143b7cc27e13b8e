"""Flat polygons: the convex hull of points, area, centroid and second moment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Floats

# share of the square of a polygon's size: a smaller triangle has its corners on one line
FLAT = 1e-12


def convex_hull(points: Floats) -> Floats:
    """Corners of the convex hull, counterclockwise; fewer than three if all are on one line."""
    size = float(np.ptp(points, axis=0).max())
    ordered = sorted({(float(x), float(y)) for x, y in points})

    def chain(given: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        out: list[tuple[float, float]] = []
        for p in given:
            while len(out) > 1 and _turn(out[-2], out[-1], p) <= FLAT * size * size:
                out.pop()
            out.append(p)
        return out[:-1]

    return np.array(chain(ordered) + chain(ordered[::-1]))


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Twice the area of a triangle, positive if it is counterclockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def measure_polygon(corners: Floats) -> tuple[float, Floats, float]:
    """Area, centroid, and polar second moment of area about it, of a counterclockwise polygon."""
    # relative to a corner: points far from the origin would lose digits
    p = corners - corners[0]
    q = np.roll(p, -1, axis=0)
    cross = p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]
    area = 0.5 * float(cross.sum())
    center = (cross[:, None] * (p + q)).sum(axis=0) / (6 * area)
    squares = (p * p + p * q + q * q).sum(axis=1)
    polar = float((cross * squares).sum()) / 12 - area * float(center @ center)
    return area, np.asarray(corners[0] + center), polar
