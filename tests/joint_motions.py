"""Relative motions of every kind of joint, written by hand, and two bodies joined by it."""

import numpy as np

from sarrus import Mechanism

AT, END = np.array([0.3, -0.2, 0.5]), np.array([1.1, 0.4, -0.3])
AXIS, SECOND = np.array([1.0, 2.0, -1.0]), np.array([2.0, -1.0, 0.4])


def turn(axis, angle):
    """Rotation matrix about an axis."""
    x, y, z = axis / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def any_turn(a, b, c):
    """Three turns one after the other."""
    X, Y, Z = np.eye(3)
    return turn(X, a) @ turn(Y, b) @ turn(Z, c)


e = AXIS / np.linalg.norm(AXIS)
P = np.cross(e, (0.0, 0.0, 1.0)) / np.linalg.norm(np.cross(e, (0.0, 0.0, 1.0)))
Q = np.cross(e, P)
X, Y, Z = np.eye(3)


def on_sphere(a, b):
    """End of the link after two turns about its start."""
    return AT + turn(Z, a) @ turn(X, b) @ (END - AT)


# how the second body moves as seen from the first: its point now, and its turn; by free parameters
SPATIAL = {
    "revolute": (1, lambda a: (AT, turn(AXIS, a))),
    "spherical": (3, lambda a, b, c: (AT, any_turn(a, b, c))),
    "weld": (0, lambda: (AT, np.eye(3))),
    "prismatic": (1, lambda s: (AT + s * e, np.eye(3))),
    "cylindrical": (2, lambda s, a: (AT + s * e, turn(AXIS, a))),
    "universal": (2, lambda a, b: (AT, turn(AXIS, a) @ turn(SECOND, b))),
    "planar": (3, lambda s, r, a: (AT + s * P + r * Q, turn(AXIS, a))),
    "rectangular": (2, lambda s, r: (AT + s * P + r * Q, np.eye(3))),
    "point_on_line": (4, lambda s, a, b, c: (AT + s * e, any_turn(a, b, c))),
    "point_on_plane": (5, lambda s, r, a, b, c: (AT + s * P + r * Q, any_turn(a, b, c))),
    "distance": (5, lambda u, v, a, b, c: (on_sphere(u, v), any_turn(a, b, c))),
}
LINE = np.array([0.6, -0.8, 0.0])
FLAT = np.array([1.0, 1.0, 0.0])
PLANAR = {
    "revolute": (1, lambda a: (FLAT * AT, turn(Z, a))),
    "weld": (0, lambda: (FLAT * AT, np.eye(3))),
    "prismatic": (1, lambda s: (FLAT * AT + s * LINE, np.eye(3))),
    "point_on_line": (2, lambda s, a: (FLAT * AT + s * LINE, turn(Z, a))),
    "distance": (2, lambda u, a: (FLAT * (AT + turn(Z, u) @ (END - AT) * FLAT), turn(Z, a))),
}
KINDS = [(3, kind) for kind in SPATIAL] + [(2, kind) for kind in PLANAR]


def two_bodies(dimension, kind, drive=False):
    """A free body and a second one joined to it."""
    d = dimension
    m = Mechanism(kind, gravity=np.zeros(d))
    inertia = [0.4, (0.4, 0.5, 0.6)][d - 2]
    m.body("a", 1.3, np.array([0.2, 0.1, -0.4])[:d], inertia)
    m.body("b", 0.8, np.array([0.9, 0.7, 0.2])[:d], inertia)
    given = {"at": AT[:d]}
    if kind in ("planar", "rectangular", "point_on_plane"):
        given["normal"] = AXIS
    elif kind in ("prismatic", "cylindrical", "point_on_line", "universal"):
        given["axis"] = AXIS if d == 3 else 3.0 * LINE[:2]
    elif kind == "revolute" and d == 3:
        given["axis"] = AXIS
    if kind == "universal":
        given["second_axis"] = SECOND
    if kind == "distance":
        given = {"start": AT[:d], "end": END[:d]}
    getattr(m, kind)("J", "a", "b", **given)
    if drive:
        m.drive("motor", "J", float(np.linalg.norm((END - AT)[:d])) if kind == "distance" else 0.0)
    return m
