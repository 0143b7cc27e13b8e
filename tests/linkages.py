"""Linkages that the verdict must know: paradoxical ones, platforms, doors; and their copies.

Bodies are lumps between their joints: their mass does not matter to the rank.
"""

from dataclasses import replace

import numpy as np
from scipy.optimize import least_squares

from sarrus import Mechanism
from sarrus.mechanism import End, JointKind


def closed_chain(name, points, axes, gravity=(0.0, 0.0, -9.81)):
    """A single loop of hinges; the last link, from the last joint to the first, is the ground."""
    m = Mechanism(name, gravity=gravity)
    n = len(points)
    bodies = [m.ground]
    for i in range(n - 1):
        middle = 0.5 * (points[i] + points[i + 1])
        bodies.append(m.body(f"link{i + 1}", 1.0 + 0.1 * i, middle, (0.1, 0.2, 0.15)))
    bodies.append(m.ground)
    for i in range(n):
        m.revolute(f"J{i}", bodies[i], bodies[i + 1], at=points[i], axis=axes[i])
    return m


def _screw(length, twist):
    c, s = np.cos(twist), np.sin(twist)
    T = np.eye(4)
    T[1:3, 1:3] = [[c, -s], [s, c]]
    T[0, 3] = length
    return T


def _turn(angle):
    c, s = np.cos(angle), np.sin(angle)
    T = np.eye(4)
    T[:2, :2] = [[c, -s], [s, c]]
    return T


def bennett_joints(a, alpha, b, beta, angle):
    """Points and axes of Bennett's linkage; the first link (a, alpha) lies on the x axis.

    a / sin alpha = b / sin beta, no offsets; the angles at the joints obey
    tan(t1/2) tan(t2/2) = sin((beta + alpha)/2) / sin((alpha - beta)/2), t3 = -t1, t4 = -t2.
    """
    assert np.isclose(a / np.sin(alpha), b / np.sin(beta))
    ratio = np.sin((beta + alpha) / 2) / np.sin((alpha - beta) / 2)
    other = 2 * np.arctan(ratio / np.tan(angle / 2))
    T, frames = np.eye(4), []
    for length, twist, turn in (
        (a, alpha, angle),
        (b, beta, other),
        (a, alpha, -angle),
        (b, beta, -other),
    ):
        frames.append(T)
        T = T @ _screw(length, twist) @ _turn(turn)
    assert np.allclose(T, np.eye(4), atol=1e-12)
    return np.array([F[:3, 3] for F in frames]), np.array([F[:3, 2] for F in frames])


def bennett(angle=1.1):
    """Bennett's linkage: four hinges, count -2, mobility 1."""
    a, alpha, beta = 1.0, 0.6, 1.2
    points, axes = bennett_joints(a, alpha, a * np.sin(beta) / np.sin(alpha), beta, angle)
    return closed_chain("Bennett", points, axes)


def goldberg(first=1.1, second=2.0):
    """Goldberg's 5R: two Bennett linkages on a common link that is then left out.

    Their links on one end of it are made one body; count -1, mobility 1.
    """
    a, alpha, beta, gamma = 1.0, 0.6, 1.2, 0.9
    p, u = bennett_joints(a, alpha, a * np.sin(beta) / np.sin(alpha), beta, first)
    q, v = bennett_joints(a, alpha, a * np.sin(gamma) / np.sin(alpha), gamma, second)
    # joints: second joint C (shared), D and A of the first loop, then F and E of the second
    points = np.array([p[1], p[2], p[3], q[3], q[2]])
    axes = np.array([u[1], u[2], u[3], v[3], v[2]])
    return closed_chain("Goldberg", points, axes)


def myard(twist=1.0, angle=1.0):
    """Myard's plane-symmetric 5R: two rectangular Bennett linkages; count -1, mobility 1, regular throughout.

    a12 = a51 = a23 sin twist, a23 = a45, a34 = 0; twists of 12 and 51 add up to pi, those of 23 and 45 are right.
    """
    lengths = np.array([np.sin(twist), 1.0, 0.0, 1.0, np.sin(twist)])
    twists = [twist, np.pi / 2, np.pi - 2 * twist, np.pi / 2, np.pi - twist]

    def chain(turns):
        frames = [np.eye(4)]
        for link in zip(lengths, twists, turns, strict=True):
            frames.append(frames[-1] @ _screw(*link[:2]) @ _turn(link[2]))
        return frames

    # the angles are found by closing the loop: it closes for every angle at the first joint
    rng = np.random.default_rng(0)
    for _ in range(60):
        found = least_squares(
            lambda x: (chain([*x, angle])[-1] - np.eye(4))[:3].ravel(),
            rng.uniform(-np.pi, np.pi, 4), xtol=1e-15, ftol=1e-15, gtol=1e-15,
        )  # fmt: skip
        if np.abs(found.fun).max() < 1e-13:
            frames = chain([*found.x, angle])[:-1]
            points, axes = (np.array([F[:3, k] for F in frames]) for k in (3, 2))
            return closed_chain("Myard", points, axes)
    raise AssertionError("the loop does not close")


def sarrus_linkage(bend=0.5):
    """Sarrus' linkage: two chains of three parallel hinges; the platform moves straight up."""
    m = Mechanism("Sarrus", gravity=(0.0, 0.0, -9.81))
    height = 2 * np.sqrt(1 - bend**2)
    m.body("platform", 2.0, (0.0, 0.0, height), (0.1, 0.1, 0.2))
    for letter, out, axis in (("A", (1.0, 0, 0), (0, 1.0, 0)), ("B", (0, 1.0, 0), (1.0, 0, 0))):
        out = np.array(out)
        low, high = out, np.array([out[0], out[1], height])
        knee = np.array([*((1 + bend) * out[:2]), height / 2])
        m.body(f"{letter} lower", 1.0, (low + knee) / 2, (0.1, 0.1, 0.1))
        m.body(f"{letter} upper", 1.0, (high + knee) / 2, (0.1, 0.1, 0.1))
        m.revolute(f"{letter}0", m.ground, f"{letter} lower", at=low, axis=axis)
        m.revolute(f"{letter}1", f"{letter} lower", f"{letter} upper", at=knee, axis=axis)
        m.revolute(f"{letter}2", f"{letter} upper", "platform", at=high, axis=axis)
    return m


def stewart(turn, height=1.3, base=0.25, top=0.8):
    """Stewart platform of six thin legs on ball joints; the platform is turned about z.

    Hexagons with a threefold symmetry, corners at k 120 degrees +- base or top: singular at a quarter
    turn (Fichter 1986), and at every pose if they are similar. Each leg can spin about itself: six
    freedoms that move nothing else.
    """
    m = Mechanism("Stewart", gravity=(0.0, 0.0, -9.81))
    m.body("platform", 3.0, (0.0, 0.0, height), (0.3, 0.3, 0.5))
    for i, (k, s) in enumerate((k, s) for k in range(3) for s in (-1, 1)):
        below, above = (k * 2 * np.pi / 3 + s * spread for spread in (base, top))
        low = np.array([2 * np.cos(below), 2 * np.sin(below), 0.0])
        high = np.array([np.cos(above + turn), np.sin(above + turn), height])
        m.rod(f"leg{i}", low, high, mass=0.5)
        m.spherical(f"L{i}", m.ground, f"leg{i}", at=low)
        m.spherical(f"H{i}", f"leg{i}", "platform", at=high)
    return m


def door(heights=(0.2, 1.0, 1.8), kind="revolute", R=None, length=1.0, mass=1.0):
    """A door of 20 kg, 0.8 m wide, on hinges (or balls) on the z axis; other units by factors."""
    R = np.eye(3) if R is None else R
    m = Mechanism("door", gravity=R @ (0.0, 0.0, -9.81 * length))
    inertia = 20.0 * mass * length**2 * R @ np.diag([0.3, 0.35, 0.06]) @ R.T
    m.body("door", 20.0 * mass, length * R @ (0.4, 0.0, 1.0), inertia)
    for i, z in enumerate(heights):
        at = length * R @ (0.0, 0.0, z)
        if kind == "revolute":
            m.revolute(f"H{i}", m.ground, "door", at=at, axis=R @ (0.0, 0.0, 1.0))
        else:
            m.spherical(f"H{i}", m.ground, "door", at=at)
    return m


def wedges(R=None):
    """Three wedges on each other and the ground, all sliding: count 0, and yet it moves.

    Without R in the plane, else in space, where they slide between planes turned by R.
    """
    flat = R is None
    place = (lambda p: np.array(p)) if flat else (lambda p: R @ (*p, 0.0))
    m = Mechanism("wedges", gravity=np.zeros(2 if flat else 3))
    inertia = 0.1 if flat else (0.1, 0.1, 0.1)
    m.body("a", 1.0, place((0.0, 0.0)), inertia)
    m.body("b", 2.0, place((1.0, 0.5)), inertia)
    m.prismatic("P", m.ground, "a", at=place((0.0, -0.5)), axis=place((1.0, 0.0)))
    m.prismatic("Q", "a", "b", at=place((0.5, 0.0)), axis=place((1.0, 2.0)))
    m.prismatic("S", "b", m.ground, at=place((1.5, 0.5)), axis=place((0.0, 1.0)))
    return m


def shafts(angle=0.5):
    """Two shafts at an angle, joined by a cross: count -2, and they turn."""
    m = Mechanism("shafts", gravity=(0.0, 0.0, 0.0))
    other = np.array([np.cos(angle), np.sin(angle), 0.0])
    m.body("in", 1.0, (-0.5, 0.0, 0.0), (0.1, 0.2, 0.2))
    m.body("out", 1.5, 0.6 * other, (0.2, 0.2, 0.2))
    m.revolute("A", m.ground, "in", at=(-1.0, 0.0, 0.0), axis=(1.0, 0.0, 0.0))
    across = np.array([-np.sin(angle), np.cos(angle), 0.0])
    m.universal("X", "in", "out", at=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0), second_axis=across)
    m.revolute("B", m.ground, "out", at=1.2 * other, axis=other)
    return m


def linked_stewart(turn, height=1.3, base=0.25, top=0.8):
    """The Stewart platform on six links without mass."""
    m = Mechanism("Stewart on links", gravity=(0.0, 0.0, -9.81))
    m.body("platform", 3.0, (0.0, 0.0, height), (0.3, 0.3, 0.5))
    for i, (k, s) in enumerate((k, s) for k in range(3) for s in (-1, 1)):
        below, above = (k * 2 * np.pi / 3 + s * spread for spread in (base, top))
        low = np.array([2 * np.cos(below), 2 * np.sin(below), 0.0])
        high = np.array([np.cos(above + turn), np.sin(above + turn), height])
        m.distance(f"L{i}", m.ground, "platform", start=low, end=high)
    return m


def trammel(angle=0.4):
    """A rod with its ends on two lines at a right angle."""
    m = Mechanism("trammel")
    x, y = (np.cos(angle), 0.0), (0.0, np.sin(angle))
    m.rod("rod", x, y, mass=1.0)
    m.point_on_line("X", m.ground, "rod", at=x, axis=(1.0, 0.0))
    m.point_on_line("Y", m.ground, "rod", at=y, axis=(0.0, 1.0))
    return m


def slider_crank(angle, crank=0.3, rod=1.0):
    """Crank, rod and piston, without weight; the crank is driven."""
    m = Mechanism("slider-crank", gravity=(0.0, 0.0))
    B = crank * np.array([np.cos(angle), np.sin(angle)])
    C = np.array([B[0] + np.sqrt(rod**2 - B[1] ** 2), 0.0])
    m.rod("crank", (0, 0), B, mass=1.0)
    m.rod("rod", B, C, mass=2.0)
    m.body("piston", 1.5, C, 0.01)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.revolute("B", "crank", "rod", at=B)
    m.revolute("C", "rod", "piston", at=C)
    m.prismatic("P", m.ground, "piston", at=C, axis=(-2.0, 0.0))
    m.drive("motor", "A", 0.0)
    return m


def triangle():
    """Two rods of 1 kg from (0, 0) and (2, 0) to (1, 1): a structure."""
    m = Mechanism("triangle")
    m.rod("left", (0, 0), (1, 1), mass=1)
    m.rod("right", (1, 1), (2, 0), mass=1)
    m.revolute("A", m.ground, "left", at=(0, 0))
    m.revolute("B", "left", "right", at=(1, 1))
    m.revolute("C", m.ground, "right", at=(2, 0))
    return m


def copy_of(m, length=1.0, mass=1.0, R=None, offset=0.0, seed=None, double=None):
    """The same mechanism in other units, turned, moved, in another order, or with a joint doubled."""
    R = np.eye(m.dimension) if R is None else R
    rng = np.random.default_rng(seed)

    def place(p):
        return length * (R @ p + offset)

    def some_order(items):
        return [items[i] for i in rng.permutation(len(items))] if seed is not None else list(items)

    out = Mechanism(m.name, gravity=length * R @ m.gravity)
    for b in some_order(m.bodies):
        if b.ends is not None:
            ends = [place(e) for e in b.ends]
            out.rod(b.name, *ends, mass=mass * b.mass, section=length * b.section)
        else:
            inertia = R @ b.inertia @ R.T if m.dimension == 3 else b.inertia
            out.body(b.name, mass * b.mass, place(b.center), mass * length**2 * inertia)
    joints = some_order(m.joints)
    if double is not None:
        twin = next(j for j in m.joints if j.name == double)
        joints.append(replace(twin, name=twin.name + " twin"))
    for j in joints:
        # the other joints belong to their first body
        same = j.kind in (JointKind.REVOLUTE, JointKind.SPHERICAL, JointKind.WELD)
        ends = [
            End(
                e.body,
                None if e.place is None else place(e.place),
                None if e.axis is None else R @ e.axis,
            )
            for e in (some_order(j.ends) if same else j.ends)
        ]
        out.joints.append(replace(j, ends=tuple(ends)))
    out.drives.extend(m.drives)
    for name, velocity in m.velocities:
        out.set_velocity(name, length * R @ velocity)
    return out
