"""Configurations whose branches are known by hand: crossings, tangencies, cusps, shaky and isolated ones.

Keys in brackets are those of docs/references.bib.
"""

from dataclasses import replace

import numpy as np

from linkages import framework
from sarrus import Mechanism, Polynomial


def kite(short=1.0, long=2.0):
    """A kite folded onto a line: the two short bars coincide, and so do the two long ones."""
    places = np.array([(0.0, 0.0), (short, 0.0), (short + long, 0.0), (short, 0.0)])
    return framework("kite", places, [(0, 1), (1, 2), (2, 3), (3, 0)])


def isosceles_slider_crank(radius=1.0):
    """Crank and rod of one length, upright: the slider stands on the crank's axis."""
    m = Mechanism("isosceles slider-crank")
    m.rod("crank", (0, 0), (0, radius), mass=1.0)
    m.rod("rod", (0, radius), (0, 0), mass=1.0)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.revolute("B", "crank", "rod", at=(0, radius))
    m.point_on_line("C", m.ground, "rod", at=(0, 0), axis=(1, 0))
    return m


def bars_in_line(stages):
    """Bars whose gap grows with the power 2^stages of the travel of the first joint [Tarnai1989].

    The joint P0 moves by s across its bar, so the next joint moves by s^2 across its own, and so on; the last
    one is between two bars in line.
    """
    nodes, bars = [np.zeros(2)], []
    along = np.array([1.0, 0.0])
    grounds = [np.array([-1.0, 0.0])]
    bars.append((0, "g0"))
    for k in range(1, stages):
        nodes.append(nodes[-1] + along)
        bars.append((k - 1, k))
        along = np.array([-along[1], along[0]]) if k % 2 else np.array([along[1], -along[0]])
        grounds.append(nodes[-1] - along)
        bars.append((k, f"g{k}"))
    grounds.append(nodes[-1] + along)
    bars.append((stages - 1, f"g{stages}"))
    m = Mechanism(f"bars in line {stages}")
    met = [[] for _ in nodes]
    for a, b in bars:
        end = nodes[b] if isinstance(b, int) else grounds[int(b[1:])]
        name = f"bar{a}-{b}"
        m.rod(name, nodes[a], end, mass=1.0)
        met[a].append(name)
        if isinstance(b, int):
            met[b].append(name)
        else:
            m.revolute(b, m.ground, name, at=end)
    for k, names in enumerate(met):
        m.revolute(f"P{k}", *names, at=nodes[k])
    return m


def three_rrr(meeting=(0.3, 0.2), driven=True):
    """A planar 3-RRR platform whose three outer links point to one place: a type II singularity."""
    m = Mechanism("3-RRR")
    angles = np.array([0.4, 2.5, 4.6])
    corners = [0.5 * np.array([np.cos(t), np.sin(t)]) for t in angles]
    meeting = np.array(meeting)
    m.body("platform", 1.0, (0.0, 0.0), 0.1)
    for k, corner in enumerate(corners):
        away = (corner - meeting) / np.linalg.norm(corner - meeting)
        elbow = corner + 0.8 * away
        foot = elbow + 0.6 * np.array([-away[1], away[0]])
        m.rod(f"inner{k}", foot, elbow, mass=1.0)
        m.rod(f"outer{k}", elbow, corner, mass=1.0)
        m.revolute(f"A{k}", m.ground, f"inner{k}", at=foot)
        m.revolute(f"B{k}", f"inner{k}", f"outer{k}", at=elbow)
        m.revolute(f"C{k}", f"outer{k}", "platform", at=corner)
        if driven:
            m.drive(f"motor{k}", f"A{k}", Polynomial((0.0, 0.0)))
    return m


def crank_at_rest(angle):
    """The double four-bar of equal rods with two cranks and a coupler at rest, the last window turned by an angle.

    The second coupler and the last crank turn about the joint B1, which stands on the axis A2.
    """
    m = Mechanism("crank at rest")
    turned = np.array([np.cos(angle), np.sin(angle)])
    A = [np.array([float(i), 0.0]) for i in range(3)]
    B = [np.array([1.0, 0.0]), np.array([2.0, 0.0]), A[2] + turned]
    for i in range(3):
        m.rod(f"crank{i}", A[i], B[i], mass=1.0)
        m.revolute(f"A{i}", m.ground, f"crank{i}", at=A[i])
    for i in range(2):
        m.rod(f"coupler{i}", B[i], B[i + 1], mass=1.0)
    for i in range(3):
        met = [f"coupler{k}" for k in (i - 1, i) if 0 <= k < 2]
        m.revolute(f"B{i}", f"crank{i}", *met, at=B[i])
    return m


def apart(*mechanisms, distance=20.0):
    """Mechanisms of rods and pins next to each other that share no body."""
    both = Mechanism("apart")
    for k, m in enumerate(mechanisms):
        right = np.array([distance * k, 0.0])
        for b in m.bodies:
            both.rod(f"{b.name}.{k}", *(e + right for e in b.ends), mass=1.0)
        for j in m.joints:
            names = [n if n == m.GROUND else f"{n}.{k}" for n in j.bodies]
            both.revolute(f"{j.name}.{k}", *names, at=j.at + right)
    return both


def rounded(m, size, seed=0):
    """The framework or linkage of rods with every joint off by up to `size`, the bars to fit."""
    rng = np.random.default_rng(seed)
    out = Mechanism(m.name)
    # joints that coincide are different joints: each gets an error of its own
    own = {}
    for j in m.joints:
        own[j.name] = np.asarray(j.at) + rng.uniform(-size, size, len(j.at))
    for b in m.bodies:
        pins = [own[j.name] for j in m.joints if b.name in j.bodies]
        if len(pins) == 2:
            out.rod(b.name, *pins, mass=1.0)
        else:
            out.body(b.name, 1.0, np.mean(pins, axis=0), 0.1)
    for j in m.joints:
        out.revolute(j.name, *j.bodies, at=own[j.name])
    return out


def _leg_of_circles(m, k, at, stages, length, sign):
    """A leg whose end `at` rises like the power 2^stages of the travel of its last joint; level without any."""
    across = np.array([1.0, 0.0])
    end = np.asarray(at, dtype=float)
    foot = end - length * (across if stages == 0 else sign * np.array([0.0, 1.0]))
    m.rod(f"leg{k}", foot, end, mass=1.0)
    m.revolute(f"foot{k}", m.ground, f"leg{k}", at=foot)
    body, along = f"leg{k}", across
    for j in range(1, stages):
        node = end + length * along
        m.rod(f"link{k}.{j}", end, node, mass=1.0)
        m.rod(f"bar{k}.{j}", node, node + length * along, mass=1.0)
        m.revolute(f"foot{k}.{j}", m.ground, f"bar{k}.{j}", at=node + length * along)
        m.revolute(f"P{k}.{j}", f"link{k}.{j}", f"bar{k}.{j}", at=node)
        m.revolute(f"Q{k}.{j}", body, f"link{k}.{j}", at=end)
        body, end, along = f"bar{k}.{j}", node, np.array([-along[1], along[0]])
    return f"leg{k}"


def _leg_of_watt(m, k, at, length, sign):
    """A Watt four-bar with upright rockers: the middle of its coupler rises like the third power of its travel."""
    R = np.array([[0.0, -1.0], [1.0, 0.0]]) if sign > 0 else np.array([[0.0, 1.0], [1.0, 0.0]])
    half, rocker = length * np.array([0.2, 0.5]), np.array([length, 0.0])
    P, Q, A, B = (at + R @ v for v in (half, -half, half - rocker, rocker - half))
    for name, a, b in ((f"left{k}", A, P), (f"right{k}", B, Q)):
        m.rod(name, a, b, mass=1.0)
    m.body(f"coupler{k}", 1.0, at, 0.1)
    m.revolute(f"A{k}", m.ground, f"left{k}", at=A)
    m.revolute(f"B{k}", m.ground, f"right{k}", at=B)
    m.revolute(f"P{k}", f"left{k}", f"coupler{k}", at=P)
    m.revolute(f"Q{k}", f"right{k}", f"coupler{k}", at=Q)
    return f"coupler{k}"


def powers(*exponents):
    """Legs that keep a slider at one height: c1 x1^p1 = c2 x2^p2 = ... to lowest order, with the signs of the p.

    exponents: 1, 2, 4, 8 (bars over bars) or 3 (a Watt four-bar); below zero the leg is upside down.
    """
    m = Mechanism(f"powers {exponents}")
    m.body("slider", 1.0, (0.0, 0.0), 0.1)
    m.prismatic("guide", m.ground, "slider", at=(0.0, 0.0), axis=(0, 1))
    for k, p in enumerate(exponents):
        at, length, sign = np.array([6.0 * k, 0.0]), 1.0 + 0.17 * k, float(np.sign(p))
        if abs(p) == 3:
            body = _leg_of_watt(m, k, at, length, sign)
        else:
            body = _leg_of_circles(m, k, at, int(np.log2(abs(p))), length, sign)
        m.point_on_line(f"H{k}", "slider", body, at=at, axis=(1, 0))
    return m


def polygon_in_line(*sides):
    """A closed chain of bars, all in line; sides: their lengths, below zero to the left."""
    x = np.cumsum([0.0, *sides])[:-1]
    n = len(sides)
    return framework("polygon", np.column_stack([x, 0 * x]), [(i, (i + 1) % n) for i in range(n)])


def bent(m, size, seed):
    """The mechanism with its places displaced by up to `size`: dimensions are off, the joints stay closed."""
    rng = np.random.default_rng(seed)
    waves, phases = 7.0 * rng.normal(size=(2, 2)), rng.uniform(0.0, 6.0, 2)

    def place(p):
        return np.asarray(p) + size * np.sin(waves @ p + phases)

    out = Mechanism(m.name)
    for b in m.bodies:
        if b.ends is None:
            out.body(b.name, b.mass, b.center, b.inertia)
        else:
            out.rod(b.name, *(place(e) for e in b.ends), mass=b.mass)
    for j in m.joints:
        ends = (replace(e, place=None if e.place is None else place(e.place)) for e in j.ends)
        out.joints.append(replace(j, ends=tuple(ends)))
    return out


def seesaw(*exponents):
    """Three legs whose ends lie on one line of a beam: c1 x1^p1 - 2 c2 x2^p2 + c3 x3^p3 = 0 to lowest order.

    exponents: as those of `powers`.
    """
    m = Mechanism(f"seesaw {exponents}")
    m.body("beam", 1.0, (6.0, 0.0), 0.1)
    for k, p in enumerate(exponents):
        at, length, sign = np.array([6.0 * k, 0.0]), 1.0 + 0.17 * k, float(np.sign(p))
        if abs(p) == 3:
            body = _leg_of_watt(m, k, at, length, sign)
        else:
            body = _leg_of_circles(m, k, at, int(np.log2(abs(p))), length, sign)
        if k == 0:
            m.revolute("H0", "beam", body, at=at)
        else:
            m.point_on_line(f"H{k}", "beam", body, at=at, axis=(1, 0))
    return m


def two_beams(*exponents):
    """Four legs, two on either beam, whose middles a slider keeps at one height.

    c1 x1^p1 + c2 x2^p2 = c3 x3^p3 + c4 x4^p4 to lowest order; exponents: as those of `powers`.
    """
    m = Mechanism(f"two beams {exponents}")
    bodies, places = [], []
    for k, p in enumerate(exponents):
        at, length, sign = np.array([6.0 * k, 0.0]), 1.0 + 0.17 * k, float(np.sign(p))
        leg = _leg_of_watt(m, k, at, length, sign) if abs(p) == 3 else None
        bodies.append(leg or _leg_of_circles(m, k, at, int(np.log2(abs(p))), length, sign))
        places.append(at)
    m.body("slider", 1.0, (9.0, 0.0), 0.1)
    m.prismatic("guide", m.ground, "slider", at=(9.0, 0.0), axis=(0, 1))
    for n, (i, j) in enumerate(((0, 1), (2, 3))):
        middle = 0.5 * (places[i] + places[j])
        m.body(f"beam{n}", 1.0, middle, 0.1)
        m.revolute(f"H{i}", f"beam{n}", bodies[i], at=places[i])
        m.point_on_line(f"H{j}", f"beam{n}", bodies[j], at=places[j], axis=(1, 0))
        m.point_on_line(f"M{n}", "slider", f"beam{n}", at=middle, axis=(1, 0))
    return m
