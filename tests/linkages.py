"""Linkages that the verdict must know: paradoxical ones, platforms, doors; and their copies.

Keys in brackets are those of docs/references.bib.

Bodies are lumps between their joints: their mass does not matter to the rank.
"""

from dataclasses import replace

import numpy as np

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
    degrees of freedom that move nothing else.
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


def driven_slider_crank(motion, joint="A"):
    """A slider-crank under its weight; a drive "d" moves its crank (A) or its slider (D)."""
    m = Mechanism("slider-crank", gravity=(0, -9.81))
    m.rod("crank", (0, 0), (0.3, 0.4), mass=1)
    m.rod("rod", (0.3, 0.4), (1.5, 0), mass=1)
    m.body("slider", 1.0, (1.5, 0), 0.1)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.revolute("B", "crank", "rod", at=(0.3, 0.4))
    m.revolute("C", "rod", "slider", at=(1.5, 0))
    m.prismatic("D", m.ground, "slider", at=(1.5, 0), axis=(1, 0))
    m.drive("d", joint, motion)
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


def random_bennett(rng):
    """Points and axes of some Bennett linkage."""
    alpha, beta = rng.uniform(0.4, 1.3, 2)
    a = rng.uniform(0.6, 1.4)
    return bennett_joints(a, alpha, a * np.sin(beta) / np.sin(alpha), beta, rng.uniform(0.6, 2.4))


def waldron(rng):
    """Waldron's hybrid 6R: two Bennett linkages on one axis, which is then left out [Waldron1968]."""
    (p, u), (q, v) = random_bennett(rng), random_bennett(rng)
    R = _turn(rng.uniform(0, 6))[:3, :3]
    q, v = q @ R.T + (0.0, 0.0, rng.uniform(-0.5, 0.5)), v @ R.T
    points = np.array([p[1], p[2], p[3], q[3], q[2], q[1]])
    return closed_chain("Waldron", points, np.array([u[1], u[2], u[3], v[3], v[2], v[1]]))


def bricard_by_symmetry(rng, plane):
    """Bricard's line-symmetric 6R, or his plane-symmetric one: J3 to J5 are images of J0 to J2 [Bricard1927].

    In the second, J0 and J3 lie in the plane x = 0, and the others mirror each other.
    """
    S = np.diag([-1.0, 1.0, 1.0] if plane else [-1.0, -1.0, 1.0])
    P, U = rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    if plane:
        P[[0, 3], 0] = U[[0, 3], 0] = 0.0
        P, U = (np.array([x[0], x[1], x[2], x[3], x[2] @ S, x[1] @ S]) for x in (P, U))
    else:
        P, U = (np.concatenate([x[:3], x[:3] @ S]) for x in (P, U))
    return closed_chain("Bricard", P, U / np.linalg.norm(U, axis=1)[:, None])


def chain_by_parameters(name, lengths, twists, offsets, rng):
    """A closed chain of hinges from its link lengths, twists and offsets [m, rad, m].

    One angle is drawn, the others are solved by Newton's steps until some draw closes to rounding.
    """
    n = len(lengths)

    def frames(angles):
        T, out = np.eye(4), []
        for length, twist, offset, angle in zip(lengths, twists, offsets, angles, strict=True):
            T = T @ _turn(angle)
            T[:3, 3] += offset * T[:3, 2]
            out.append(T)
            T = T @ _screw(length, twist)
        return out, T

    def gap(angles):
        T = frames(angles)[1]
        turn = (T[2, 1] - T[1, 2], T[0, 2] - T[2, 0], T[1, 0] - T[0, 1], np.trace(T) - 4.0)
        return np.concatenate([T[:3, 3], turn])

    for _ in range(100):
        angles = rng.uniform(-np.pi, np.pi, n)
        for _ in range(60):
            steps = 1e-6 * np.eye(n)[1:]
            J = np.array([(gap(angles + e) - gap(angles - e)) / 2e-6 for e in steps]).T
            d = np.linalg.lstsq(J, -gap(angles), rcond=1e-9)[0]
            angles[1:] += d * min(1.0, 0.5 / max(np.linalg.norm(d), 1e-300))
        if np.abs(gap(angles)).max() < 1e-13:
            found, _ = frames(angles)
            points, axes = (np.array([F[:3, k] for F in found]) for k in (3, 2))
            return closed_chain(name, points, axes)
    raise AssertionError(f"{name} does not close")


def myard(rng):
    """Myard's plane-symmetric 5R [Myard1931], its conditions as in [ChenYou2008]."""
    alpha, b = rng.uniform(0.4, 1.2), rng.uniform(0.7, 1.4)
    a, right = b * np.sin(alpha), np.pi / 2
    lengths = [a, b, 0.0, b, a]
    twists = [alpha, right, np.pi - 2 * alpha, right, np.pi - alpha]
    return chain_by_parameters("Myard", lengths, twists, np.zeros(5), rng)


def trihedral(rng):
    """Bricard's trihedral 6R: right twists, the squares of every other length have the same sum [Baker1980]."""
    rest = 0.0
    while not 0.2 < rest < 3.0:
        a = rng.uniform(0.5, 1.5, 6)
        rest = a[0] ** 2 + a[2] ** 2 + a[4] ** 2 - a[1] ** 2 - a[3] ** 2
    a[5] = np.sqrt(rest)
    return chain_by_parameters("trihedral", a, np.pi / 2 * np.array([1, 3] * 3), np.zeros(6), rng)


def schatz(rng):
    """Schatz's linkage, the heart of the Turbula mixer [Phillips1990]."""
    R = rng.uniform(0.1, 0.8)
    lengths = [0.0, 1.0, 1.0, 1.0, 0.0, np.sqrt(3.0)]
    twists = [*5 * [np.pi / 2], 0.0]
    return chain_by_parameters("Schatz", lengths, twists, [R, 0, 0, 0, 0, -R], rng)


def sarrus_stack(stages, bend=0.5):
    """Sarrus' linkages on each other: one degree of freedom a stage [Sarrus1853]."""
    m = Mechanism("Sarrus stack", gravity=(0.0, 0.0, -9.81))
    height, below = 2 * np.sqrt(1 - bend**2), m.ground
    for s in range(stages):
        z = np.array([0.0, 0.0, s * height])
        m.body(f"platform{s}", 2.0, (0.0, 0.0, (s + 1) * height), (0.1, 0.1, 0.2))
        for letter, out, axis in (("A", (1.0, 0, 0), (0, 1.0, 0)), ("B", (0, 1.0, 0), (1.0, 0, 0))):
            low, high = z + out, z + out + (0, 0, height)
            knee = z + (1 + bend) * np.array(out) + (0, 0, height / 2)
            lower, upper = f"{letter}{s} lower", f"{letter}{s} upper"
            m.body(lower, 1.0, (low + knee) / 2, (0.1, 0.1, 0.1))
            m.body(upper, 1.0, (high + knee) / 2, (0.1, 0.1, 0.1))
            m.revolute(f"{letter}{s}0", below, lower, at=low, axis=axis)
            m.revolute(f"{letter}{s}1", lower, upper, at=knee, axis=axis)
            m.revolute(f"{letter}{s}2", upper, f"platform{s}", at=high, axis=axis)
        below = f"platform{s}"
    return m


def schmidt(rng):
    """Schmidt's coupling of parallel shafts: three discs, between neighbours three equal links."""
    m = Mechanism("Schmidt")
    apart, radius, start = rng.uniform(0.3, 1.6), rng.uniform(0.3, 0.9), rng.uniform(0, 6)
    centers = [(0.0, 0.0), (apart / 2, np.sqrt(1 - apart**2 / 4)), (apart, 0.0)]
    angles = start + np.arange(3) * 2 * np.pi / 3
    rim = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    for i, c in enumerate(centers):
        m.body(f"disc{i}", 1.0, c, 0.2)
    m.revolute("in", m.ground, "disc0", at=centers[0])
    m.revolute("out", m.ground, "disc2", at=centers[2])
    for i in range(2):
        for k, r in enumerate(rim):
            a, b = centers[i] + r, centers[i + 1] + r
            m.rod(f"link{i}{k}", a, b, mass=0.3)
            m.revolute(f"L{i}{k}", f"disc{i}", f"link{i}{k}", at=a)
            m.revolute(f"R{i}{k}", f"link{i}{k}", f"disc{i + 1}", at=b)
    return m


def framework(name, places, bars, held=0):
    """Bars pinned at nodes N0, N1, ... of the plane; one of them is the ground."""
    m = Mechanism(name)
    met = [[] for _ in places]
    for n, (i, j) in enumerate(bars):
        body = m.ground
        if n != held:
            body = f"bar{i}-{j}"
            m.rod(body, places[i], places[j], mass=1.0)
        met[i].append(body)
        met[j].append(body)
    for k, bodies in enumerate(met):
        m.revolute(f"N{k}", *bodies, at=places[k])
    return m


def dixon_lines(rng, held=0):
    """Dixon's first framework: three nodes on each of two lines at a right angle [Dixon1899]."""
    x, y = rng.uniform(0.5, 2, 3) * (1, -1, 1), rng.uniform(0.5, 2, 3) * (1, -1, -1)
    places = [*((a, 0.0) for a in x), *((0.0, a) for a in y)]
    bars = [(i, 3 + j) for i in range(3) for j in range(3)]
    return framework("Dixon", np.array(places), bars, held)


def dixon_rectangles(rng, held=0):
    """Dixon's second framework: corners of two rectangles with common axes [Dixon1899]."""
    corners = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
    places = np.concatenate([corners * rng.uniform(0.5, 2, 2) for _ in range(2)])
    bars = [(i, 4 + j) for i in range(4) for j in range(4)]
    return framework("Dixon", places, bars, held)


def wunderlich(lengths, angles, held=0):
    """Wunderlich's twelve bars: a box of parallelograms pressed flat [Wunderlich1954, Wohlhart1996]."""
    sides = np.array([(a * np.cos(t), a * np.sin(t)) for a, t in zip(lengths, angles, strict=True)])
    places = np.array([[k >> i & 1 for i in range(3)] for k in range(8)]) @ sides
    bars = [(k, k | 1 << i) for k in range(8) for i in range(3) if not k >> i & 1]
    return framework("Wunderlich", places, bars, held)


def flexible_octahedron(rng, plane):
    """Bricard's flexible octahedra of the first and second type, faces as plates on hinges [Bricard1897].

    Opposite corners are images by a half turn; or two pairs mirror each other and one lies in the mirror.
    """
    S = np.diag([-1.0, 1.0, 1.0] if plane else [-1.0, -1.0, 1.0])
    a, b, c, d = rng.normal(size=(4, 3))
    if plane:
        c[0] = d[0] = 0.0
    corners = [(a, a @ S), (b, b @ S), (c, d if plane else c @ S)]
    m = Mechanism("octahedron", gravity=(0.0, 0.0, -9.81))
    faces = [(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    names = [m.ground, *("face" + "".join(map(str, f)) for f in faces[1:])]
    for name, face in zip(names[1:], faces[1:], strict=True):
        m.body(
            name, 1.0, sum(p[i] for p, i in zip(corners, face, strict=True)) / 3, (0.1, 0.2, 0.15)
        )
    for one, other in ((x, y) for x in range(8) for y in range(x)):
        shared = [n for n in range(3) if faces[one][n] == faces[other][n]]
        if len(shared) == 2:
            p, q = (corners[n][faces[one][n]] for n in shared)
            name = "E" + "".join(f"{'ABC'[n]}{faces[one][n]}" for n in shared)
            m.revolute(name, names[other], names[one], at=(p + q) / 2, axis=q - p)
    return m


def griffis_duffy(turn, height=1.0):
    """Equal triangles over each other, corners linked to middles of sides [GriffisDuffy1993, HustyKarger2000]."""
    angles = np.arange(3) * 2 * np.pi / 3
    corners = np.column_stack([np.cos(angles), np.sin(angles)])
    middles = (corners + np.roll(corners, -1, axis=0)) / 2
    ring = np.stack([corners, middles], axis=1).reshape(6, 2)
    m = Mechanism("Griffis-Duffy", gravity=(0.0, 0.0, -9.81))
    m.body("platform", 1.0, (0.0, 0.0, height), (0.3, 0.3, 0.5))
    R = _turn(turn)[:2, :2]
    for i in range(6):
        low, high = np.append(ring[i], 0.0), np.append(R @ ring[(i + 1) % 6], height)
        m.distance(f"L{i}", m.ground, "platform", start=low, end=high)
    return m


def three_upu(radial, shift=(0.0, 0.0), base=1.0, top=0.6, height=1.0):
    """A platform on three legs, each of two crosses and a slider.

    radial: the outer axes of the crosses point to the centre, as in the robot of Seoul National University
    [HanKimKimPark2002]; else they are tangents, as in Tsai's [Tsai1996].
    """
    m = Mechanism("3-UPU", gravity=(0.0, 0.0, -9.81))
    place = np.array([*shift, height])
    m.body("platform", 1.0, place, (0.1, 0.1, 0.2))
    for i, t in enumerate(np.arange(3) * 2 * np.pi / 3):
        r = np.array([np.cos(t), np.sin(t), 0.0])
        outer = r if radial else np.array([-np.sin(t), np.cos(t), 0.0])
        low, high = base * r, top * r + place
        leg = high - low
        inner = np.cross(leg, outer)
        m.body(f"lower{i}", 0.3, low + 0.3 * leg, (0.05, 0.05, 0.03))
        m.body(f"upper{i}", 0.3, low + 0.7 * leg, (0.05, 0.05, 0.03))
        m.universal(f"B{i}", m.ground, f"lower{i}", at=low, axis=outer, second_axis=inner)
        m.prismatic(f"P{i}", f"lower{i}", f"upper{i}", at=low + 0.5 * leg, axis=leg)
        m.universal(f"T{i}", f"upper{i}", "platform", at=high, axis=inner, second_axis=outer)
    return m


def spherical_chain(n, rng, off=0.0, axes=1):
    """A loop of hinges through one point, mobility n - 3; some axes miss the point by `off` [m]."""
    u = rng.normal(size=(n, 3))
    u /= np.linalg.norm(u, axis=1)[:, None]
    points = u.copy()
    for k in range(1, axes + 1):
        across = np.cross(u[k], rng.normal(size=3))
        points[k] += off * across / np.linalg.norm(across)
    return closed_chain("spherical", points, u)


def scissors(units, angle=0.6):
    """Pairs of bars of 2 m pinned in the middle; the first bar turns about a pin, the other slides near it."""
    m = Mechanism("scissors")
    c, s = 2 * np.cos(angle), 2 * np.sin(angle)
    for k in range(units):
        m.rod(f"up{k}", (k * c, 0), ((k + 1) * c, s), mass=1.0)
        m.rod(f"down{k}", (k * c, s), ((k + 1) * c, 0), mass=1.0)
        m.revolute(f"M{k}", f"up{k}", f"down{k}", at=((k + 0.5) * c, s / 2))
        if k:
            m.revolute(f"U{k}", f"up{k - 1}", f"down{k}", at=(k * c, s))
            m.revolute(f"D{k}", f"down{k - 1}", f"up{k}", at=(k * c, 0))
    m.revolute("pin", m.ground, "up0", at=(0, 0))
    m.point_on_line("slot", m.ground, "down0", at=(0, s), axis=(0, 1))
    return m


def flat_parallelograms(widths, crank):
    """Parallelograms in a row on equal cranks, all on one line."""
    m = Mechanism("parallelograms")
    x = np.concatenate([[0.0], np.cumsum(widths)])
    for i, at in enumerate(x):
        m.rod(f"crank{i}", (at, 0), (at + crank, 0), mass=1.0)
        m.revolute(f"A{i}", m.ground, f"crank{i}", at=(at, 0))
    for i in range(len(widths)):
        m.rod(f"coupler{i}", (x[i] + crank, 0), (x[i + 1] + crank, 0), mass=1.0)
    for i, at in enumerate(x):
        met = [f"coupler{k}" for k in (i - 1, i) if 0 <= k < len(widths)]
        m.revolute(f"B{i}", f"crank{i}", *met, at=(at + crank, 0))
    return m


def watt(m, k, middle, r, half, sign=1.0, other=None):
    """Put a level Watt four-bar into a mechanism: rockers of r and `other` to both sides of a coupler.

    half: from the coupler's point that runs almost straight to the end of the first rocker; sign: -1 mirrors it.
    """
    other = r if other is None else other
    half = np.array([sign * half[0], half[1]])
    P, Q = middle + half, middle - half * r / other
    A, B = P - (sign * r, 0.0), Q - (-sign * other, 0.0)
    for name, a, b in ((f"left {k}", A, P), (f"right {k}", B, Q), (f"coupler {k}", P, Q)):
        m.rod(name, a, b, mass=1.0)
    m.revolute(f"A{k}", m.ground, f"left {k}", at=A)
    m.revolute(f"B{k}", m.ground, f"right {k}", at=B)
    m.revolute(f"P{k}", f"left {k}", f"coupler {k}", at=P)
    m.revolute(f"Q{k}", f"right {k}", f"coupler {k}", at=Q)


def watt_in_slots(rng, slots):
    """A Watt four-bar whose middle runs in slots across its rockers: its path leaves them with the fifth power."""
    m = Mechanism("Watt in slots")
    watt(m, 0, np.zeros(2), rng.uniform(0.7, 1.4), (0.0, rng.uniform(0.3, 0.8)))
    for k in range(slots):
        m.point_on_line(f"slot{k}", m.ground, "coupler 0", at=(0.0, 0.0), axis=(0.0, 1.0))
    return m


def double_watt(rng, kind):
    """Two level Watt four-bars, the middles of their couplers joined by a bar [ConnellyServatius1994].

    Each middle runs along x = c y^3 + ..., by its symmetry. With equal ones the motion with the bar level touches
    one with the bar turned; with one of them mirrored both ways lie on one side of the position: a cusp. With
    uneven rockers and upright couplers the paths are x = c y^4 + ..., and it is a structure, or not.
    """
    r, half = rng.uniform(0.7, 1.4), (rng.uniform(0.05, 0.3), rng.uniform(0.3, 0.8))
    other = r
    if kind == "uneven":
        half, other = (0.0, half[1]), r * rng.uniform(1.3, 1.7) ** rng.choice((-1.0, 1.0))
    ends = [np.zeros(2), np.array([rng.uniform(0.15, 0.6), 0.0])]
    m = Mechanism("double Watt")
    for k, sign in enumerate((1.0, 1.0 if kind == "tangency" else -1.0)):
        watt(m, k, ends[k], r, half, sign, other)
    m.rod("bar", *ends, mass=1.0)
    for k in (0, 1):
        m.revolute(f"M{k}", f"coupler {k}", "bar", at=ends[k])
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
        reference = next(j for j in m.joints if j.name == double)
        joints.append(replace(reference, name=reference.name + " twin"))
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
