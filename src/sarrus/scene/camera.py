"""The camera: an orthographic look at a mechanism, gravity pointing down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats


@dataclass(frozen=True)
class Camera:
    """Where a spatial mechanism is seen from: turned about the vertical, then tilted [degrees]."""

    turn: float = 35.0
    tilt: float = 20.0

    def rows(self, up: Floats) -> Floats:
        """Directions right, up and towards the eye, (3, 3), for a vertical `up`."""
        side = np.eye(3)[int(np.argmin(np.abs(up)))]
        a = np.cross(side, up)
        a /= np.linalg.norm(a)
        b = np.cross(up, a)
        s, t = np.radians(self.turn), np.radians(self.tilt)
        right = np.cos(s) * a + np.sin(s) * b
        back = -np.sin(s) * a + np.cos(s) * b
        eye = np.sin(t) * up - np.cos(t) * back
        return np.array([right, np.cross(eye, right), eye])

    def project(self, points: Floats, up: tuple[float, ...]) -> Floats:
        """Right, up and depth (larger is nearer) of points (..., dimension)."""
        if points.shape[-1] == 2:
            return np.concatenate([points, np.zeros((*points.shape[:-1], 1))], axis=-1)
        return points @ self.rows(np.array(up)).T
