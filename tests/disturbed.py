"""Mechanisms that have to be assembled: bodies displaced at random, their joints left apart."""

import numpy as np
from scipy.cluster.hierarchy import DisjointSet
from scipy.spatial.transform import Rotation

from sarrus import Mechanism
from sarrus.mechanism import JointKind, Move, move_bodies


def disturbed(m, size, seed=0, keep=()):
    """Each body moved and turned by about `size`; welded bodies stay as they stand to each other."""
    rng = np.random.default_rng(seed)
    d = m.dimension
    sets = DisjointSet([m.GROUND, *(b.name for b in m.bodies)])
    for joint in m.joints:
        if joint.kind is JointKind.WELD:
            for other in joint.bodies[1:]:
                sets.merge(joint.bodies[0], other)
    moves, of_set = {}, {}
    for body in m.bodies:
        spin = size * rng.normal(size=3) * ([0, 0, 1] if d == 2 else [1, 1, 1])
        shift = 0.5 * size * rng.normal(size=d)
        turn = Rotation.from_rotvec(spin).as_matrix()[:d, :d]
        move = of_set.setdefault(sets[body.name], Move(body.center, turn, body.center + shift))
        if not sets.connected(body.name, m.GROUND) and body.name not in keep:
            moves[body.name] = move
    return move_bodies(m, moves, closed=False)


def open_four_bar(gap=0.1):
    """Crank 1, coupler 2, rocker 1.5 on a base of 2; the coupler hangs `gap` too high, pins B and C are open."""
    m = Mechanism("four-bar")
    m.rod("crank", (0, 0), (0, 1), mass=1)
    m.rod("coupler", (0, 1 + gap), (2, 1 + gap), mass=1)
    m.rod("rocker", (2, 0), (2, 1.5), mass=1)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.revolute("B", "crank", "coupler", at=[(0, 1), (0, 1 + gap)])
    m.revolute("C", "coupler", "rocker", at=[(2, 1 + gap), (2, 1.5)])
    m.revolute("D", "rocker", m.ground, at=(2, 0))
    return m


def long_bricard(longer, points, axes, section=0.1):
    """Bricard's linkage with its second rod longer; closed at the start all the same."""
    points = points.copy()
    points[2, 1] -= longer
    m = Mechanism("Bricard", gravity=(0.0, -9.81, 0.0))
    rods = [m.rod(f"rod{i}", points[i], points[i + 1], 1.0, section=section) for i in range(5)]
    chain = [m.ground, *rods, m.ground]
    for i in range(6):
        m.revolute(f"P{i}", chain[i], chain[i + 1], at=points[i], axis=axes[i])
    return m


def three_cranks(longer):
    """A coupler on three parallel cranks of 1 m, the middle one longer: count 0."""
    m = Mechanism("three cranks")
    lean = np.array([0.5, np.sqrt(0.75)])
    m.rod("coupler", lean, lean + np.array([2.0, 0.0]), mass=2)
    for i in range(3):
        foot = np.array([1.0 * i, 0.0])
        top = foot + lean
        if i == 1:
            foot = top - (1 + longer) * lean
        m.rod(f"crank{i}", foot, top, mass=1)
        m.revolute(f"A{i}", m.ground, f"crank{i}", at=foot)
        m.revolute(f"B{i}", f"crank{i}", "coupler", at=top)
    return m
