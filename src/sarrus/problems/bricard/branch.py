"""The path of the point P2 of the rectangular Bricard linkage.

P2 = (cos(a), -sqrt(1 + 2 S), -S) / (1 + S) with S = sin(a) lies on both of

    y^2 + z^2 = 1,    x^2 = 1 + 2 z

a smooth closed curve, here with x = sqrt(3) sin(h): z = (3 sin(h)^2 - 1) / 2,
y = -sqrt(3/2) cos(h) sqrt(1 + z). The linkage has no other branch, so a point beside the curve
belongs to a mechanism whose hinges have opened. The columns have no velocity: energy is not told.
"""

import numpy as np

from ...arrays import Floats
from ..problem import Columns, RightBranch

# 2 mm apart: beside a chord the curve is off by 1e-6 m at most
SAMPLES = 4096


def make_branch() -> RightBranch:
    """The closed path of P2, for rods of any section."""
    return RightBranch(
        name="path of the Bricard motion",
        path="path of the Bricard motion",
        distance=path_distance,
        relatives=lambda columns: [{"section": section} for section in (0.0, 0.1)],
    )


def path_distance(columns: Columns) -> Floats:
    """Distance of each row from the path [m]: nearest sample, then across its tangent."""
    # SciPy loads slowly: only a judge pays for it
    from scipy.spatial import cKDTree

    points = np.column_stack([columns["x"], columns["y"], columns["z"]])
    # the tree takes no infinite numbers; such rows are infinitely far
    good = np.all(np.isfinite(points), axis=1)
    path = path_points(SAMPLES)
    tangents = np.roll(path, -1, axis=0) - np.roll(path, 1, axis=0)
    tangents /= np.linalg.norm(tangents, axis=1)[:, None]
    nearest = cKDTree(path).query(points[good])[1]
    away = points[good] - path[nearest]
    along = np.sum(away * tangents[nearest], axis=1)
    distance = np.full(len(points), np.inf)
    distance[good] = np.linalg.norm(away - along[:, None] * tangents[nearest], axis=1)
    return distance


def path_points(count: int) -> Floats:
    """Points once around the path, shape (count, 3)."""
    h = 2.0 * np.pi * np.arange(count) / count
    sin, cos = np.sin(h), np.cos(h)
    z = 1.5 * sin**2 - 0.5
    return np.column_stack([np.sqrt(3.0) * sin, -np.sqrt(1.5) * cos * np.sqrt(1.0 + z), z])
