"""What each kind of joint keeps, and in which directions.

A joint has a frame of three directions. Its equations are along some of them (the two bodies do not
part that way) and about some of them (they do not turn that way).

    frame     its first direction                                     joints
    world     x                                                       spherical, weld, planar revolute
    axis      the axis of the first body                              all joints with one axis
    link      from the place on the first to that on the second body  distance
    cross     across both axes                                        universal
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..mechanism import JointKind
from ..thresholds import SAME_DIRECTION, WORLD_AXIS

WORLD, AXIS, LINK, CROSS = range(4)


@dataclass(frozen=True)
class JointFrame:
    """The frame of a joint, and the numbers of the directions its equations are along and about."""

    frame: int
    along: tuple[int, ...]
    about: tuple[int, ...] = ()

    @property
    def rows(self) -> list[tuple[bool, int]]:
        """The equations: (about or along, direction)."""
        return [(False, k) for k in self.along] + [(True, k) for k in self.about]


# of planar mechanisms, then of spatial ones; in the plane the third direction is the normal
JOINT_FRAMES: dict[tuple[int, JointKind], JointFrame] = {
    (2, JointKind.REVOLUTE): JointFrame(WORLD, (0, 1)),
    (2, JointKind.WELD): JointFrame(WORLD, (0, 1), (2,)),
    (2, JointKind.PRISMATIC): JointFrame(AXIS, (1,), (2,)),
    (2, JointKind.POINT_ON_LINE): JointFrame(AXIS, (1,)),
    (2, JointKind.DISTANCE): JointFrame(LINK, (0,)),
    (3, JointKind.REVOLUTE): JointFrame(AXIS, (0, 1, 2), (1, 2)),
    (3, JointKind.SPHERICAL): JointFrame(WORLD, (0, 1, 2)),
    (3, JointKind.WELD): JointFrame(WORLD, (0, 1, 2), (0, 1, 2)),
    (3, JointKind.PRISMATIC): JointFrame(AXIS, (1, 2), (0, 1, 2)),
    (3, JointKind.CYLINDRICAL): JointFrame(AXIS, (1, 2), (1, 2)),
    (3, JointKind.UNIVERSAL): JointFrame(CROSS, (0, 1, 2), (0,)),
    (3, JointKind.PLANAR): JointFrame(AXIS, (0,), (1, 2)),
    (3, JointKind.RECTANGULAR): JointFrame(AXIS, (0,), (0, 1, 2)),
    (3, JointKind.POINT_ON_LINE): JointFrame(AXIS, (1, 2)),
    (3, JointKind.POINT_ON_PLANE): JointFrame(AXIS, (0,)),
    (3, JointKind.DISTANCE): JointFrame(LINK, (0,)),
}

# freer joints: words, and which of the equations of the joint go
FREER: dict[tuple[int, JointKind], list[tuple[str, list[int]]]] = {
    (2, JointKind.REVOLUTE): [(f"a pin in a slot along {c}", [i]) for i, c in enumerate("xy")],
    (2, JointKind.WELD): [("a pin", [2])],
    (2, JointKind.PRISMATIC): [("a pin in a slot along the slider's axis", [1])],
    (3, JointKind.REVOLUTE): [
        ("a ball joint", [3, 4]),
        ("a hinge that may slide along its axis", [0]),
        ("a ball that may slide along the hinge's axis", [0, 3, 4]),
    ],
    (3, JointKind.SPHERICAL): [
        (f"a ball that may slide along {c}", [i]) for i, c in enumerate("xyz")
    ],
    (3, JointKind.WELD): [
        *((f"a hinge about {c}", [3 + i]) for i, c in enumerate("xyz")),
        ("a ball joint", [3, 4, 5]),
    ],
    (3, JointKind.PRISMATIC): [
        ("a slider that may turn about its axis", [2]),
        ("a ball that may slide along the slider's axis", [2, 3, 4]),
    ],
    (3, JointKind.CYLINDRICAL): [("a ball that may slide along the axis", [2, 3])],
    (3, JointKind.UNIVERSAL): [("a ball joint", [3])],
    (3, JointKind.PLANAR): [("a ball that may slide on the plane", [1, 2])],
    (3, JointKind.RECTANGULAR): [
        ("a face that may turn on the plane", [1]),
        ("a ball that may slide on the plane", [1, 2, 3]),
    ],
    # which plane through the line does not matter to the words
    (3, JointKind.POINT_ON_LINE): [("a point on a plane through the line", [i]) for i in (0, 1)],
}


def axis_frames(axes: Floats, planar: bool = False) -> Floats:
    """An axis and two perpendiculars as columns, (n, 3, 3): world axes where the axis is one.

    The axis is written with its largest part positive, so that an axis and its opposite are one. In the
    plane the last direction is the normal.
    """
    size = np.abs(axes)
    n = np.arange(len(axes))
    # parts that differ by rounding only are equal: the first wins
    top = np.argmax(size >= size.max(axis=1, keepdims=True) - SAME_DIRECTION, axis=1)
    e = axes * np.sign(axes[n, top])[:, None]
    if planar:
        z = np.tile((0.0, 0.0, 1.0), (len(axes), 1))
        return np.stack([e, np.cross(z, e), z], axis=2)
    # the next world axis stands at 45 degrees or more and gives the first perpendicular
    x = np.eye(3)[(top + 1) % 3]
    x = x - np.einsum("ni,ni->n", x, e)[:, None] * e
    x /= np.linalg.norm(x, axis=1)[:, None]
    return np.stack([e, x, np.cross(e, x)], axis=2)


def name_direction(u: tuple[float, float, float]) -> str:
    """The letter of a world axis, or the unit vector."""
    for letter, value in zip("xyz", u, strict=True):
        if abs(abs(value) - 1.0) < WORLD_AXIS:
            return letter
    return "(" + ", ".join(f"{round(c, 4) + 0.0:g}" for c in u) + ")"
