"""Families of linkages with random sides, masses and speeds whose motions meet, nearly meet, or do not."""

import numpy as np

from builders import in_plane_of, rotation
from sarrus import Mechanism
from sarrus.mechanism.motion import Polynomial
from scissors import Scissors


def four_bar(name, A, B, P, Q, rng, place=None, speed=(3.0, 6.0)):
    """Cranks from A to P and from B to Q, and a coupler; the first turns, if it is given a speed [rad/s]."""
    place, axis = (lambda p: np.array(p, float), {}) if place is None else place
    m = Mechanism(name, gravity=place((0.0, -9.81)) - place((0.0, 0.0)))
    for body, a, b in (("left", A, P), ("right", B, Q), ("coupler", P, Q)):
        m.rod(body, place(a), place(b), mass=rng.uniform(0.3, 3.0))
    m.revolute("A", m.ground, "left", at=place(A), **axis)
    m.revolute("B", m.ground, "right", at=place(B), **axis)
    m.revolute("P", "left", "coupler", at=place(P), **axis)
    m.revolute("Q", "right", "coupler", at=place(Q), **axis)
    if speed is not None:
        across = np.array([-(P - A)[1], (P - A)[0]])
        velocity = rng.uniform(*speed) * rng.choice((-1.0, 1.0)) * across
        m.set_velocity("P", place(velocity) - place((0.0, 0.0)))
    return m


def turned(length, angle):
    """A vector."""
    return length * np.array([np.cos(angle), np.sin(angle)])


def parallelogram(rng, off=0.0, place=None, speed=(3.0, 6.0)):
    """Sides at random; off: how much longer the second crank is, of its length."""
    width, crank, angle = rng.uniform(0.5, 1.5), rng.uniform(0.4, 1.2), rng.uniform(0.6, 2.2)
    A, B, P = np.zeros(2), np.array([width, 0.0]), turned(crank, angle)
    Q = B + P * (1.0 + off)
    return four_bar("parallelogram", A, B, P, Q, rng, place, speed)


def kite(rng):
    """The crank is as long as the ground, the two other sides are alike: the crank folds onto the ground."""
    ground, angle = rng.uniform(0.5, 1.0), rng.uniform(0.5, 1.5)
    side = rng.uniform(1.1, 1.8) * ground
    A, B, P = np.zeros(2), np.array([ground, 0.0]), turned(ground, angle)
    middle, half = 0.5 * (P + B), 0.5 * (P - B)
    out = np.array([half[1], -half[0]]) / np.linalg.norm(half)
    Q = middle + out * np.sqrt(side**2 - half @ half) * np.sign(out[0] + out[1])
    return four_bar("kite", A, B, P, Q, rng)


def any_four_bar(rng):
    """A crank that turns, no two sides alike: nothing is crossed."""
    crank, angle = rng.uniform(0.2, 0.4), rng.uniform(0.5, 2.5)
    ground, coupler, rocker = rng.uniform(0.9, 1.1), rng.uniform(0.9, 1.1), rng.uniform(0.6, 0.8)
    A, B, P = np.zeros(2), np.array([ground, 0.0]), turned(crank, angle)
    d = B - P
    far = np.linalg.norm(d)
    along = (far**2 + coupler**2 - rocker**2) / (2 * far)
    up = np.sqrt(coupler**2 - along**2)
    Q = P + (along * d + up * np.array([-d[1], d[0]])) / far
    return four_bar("four-bar", A, B, P, Q, rng)


def slider_crank(rng, equal):
    """Crank and rod, equal ones fold over the pin; the piston runs through it."""
    crank, angle = rng.uniform(0.4, 0.8), rng.uniform(0.3, 1.1)
    rod = crank if equal else crank * rng.uniform(1.4, 2.5)
    B = turned(crank, angle)
    C = np.array([B[0] + np.sqrt(rod**2 - B[1] ** 2), 0.0])
    m = Mechanism("slider-crank", gravity=(0.0, -9.81))
    m.rod("crank", (0, 0), B, mass=rng.uniform(0.3, 3.0))
    m.rod("rod", B, C, mass=rng.uniform(0.3, 3.0))
    m.body("piston", rng.uniform(0.3, 3.0), C, 0.01)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.revolute("B", "crank", "rod", at=B)
    m.revolute("C", "rod", "piston", at=C)
    m.prismatic("P", m.ground, "piston", at=C, axis=(1.0, 0.0))
    speed = rng.uniform(3.0, 6.0) * rng.choice((-1.0, 1.0))
    m.set_velocity("B", speed * np.array([-B[1], B[0]]))
    return m


def watt(rng):
    """A Watt linkage with the middle of its coupler on a rod that hangs there."""
    r, half, angle = rng.uniform(0.7, 1.2), rng.uniform(0.3, 0.6), rng.uniform(-0.3, 0.3)
    A, B = np.array([-r, half]), np.array([r, -half])
    P = A + turned(r, angle)
    d = B - P
    far = np.linalg.norm(d)
    along = (far**2 + 4 * half**2 - r**2) / (2 * far)
    up = np.sqrt(4 * half**2 - along**2)
    Q = P + (along * d - up * np.array([-d[1], d[0]])) / far
    m = four_bar("Watt", A, B, P, Q, rng)
    middle = 0.5 * (P + Q)
    m.rod("pendulum", middle, middle - (0.0, 0.7), mass=rng.uniform(0.3, 3.0))
    m.revolute("M", "coupler", "pendulum", at=middle)
    return m


def cranks(rng, between):
    """A coupler on more than two parallel cranks: equations too many, and motions that meet on a line."""
    m = parallelogram(rng)
    A, B, P, Q = (np.array(joint.places[0]) for joint in m.joints)
    for k, share in enumerate(between):
        foot, top = A + share * (B - A), P + share * (Q - P)
        m.rod(f"middle {k}", foot, top, mass=rng.uniform(0.3, 3.0))
        m.revolute(f"C{k}", m.ground, f"middle {k}", at=foot)
        m.revolute(f"R{k}", f"middle {k}", "coupler", at=top)
    return m


def hung_parallelogram(rng):
    """A parallelogram with a pendulum at its coupler: two degrees of freedom, the motions of one of them meet."""
    m = parallelogram(rng)
    P, Q = (np.array(m.joints[i].places[0]) for i in (2, 3))
    at = 0.5 * (P + Q)
    m.rod("pendulum", at, at - (0.0, 0.6), mass=rng.uniform(0.3, 3.0))
    m.revolute("M", "coupler", "pendulum", at=at)
    return m


def sprung_parallelogram(rng, damping=0.0):
    """A parallelogram with a spring across, and perhaps a damper."""
    m = parallelogram(rng)
    ends = {"start": (0.3, -0.2), "end": m.joints[3].places[0]}
    m.spring(
        "spring", m.ground, "coupler", **ends, stiffness=rng.uniform(5.0, 30.0), damping=damping
    )
    return m


def driven_parallelogram(rng):
    """A parallelogram whose crank turns at its own speed."""
    m = parallelogram(rng, speed=None)
    m.drive("motor", "A", Polynomial((0.0, rng.uniform(2.0, 5.0))))
    return m


def windows(n, place=None, masses=(0.3, 3.0)):
    """Builder of N four-bars in a row; masses: from where to where."""
    low, high = np.log10(masses)

    def build(rng):
        put, axis = (lambda p: np.array(p, float), {}) if place is None else place
        width, crank, angle = rng.uniform(0.7, 1.3), rng.uniform(0.6, 1.2), rng.uniform(0.8, 2.0)
        m = Mechanism("four-bars", gravity=put((0.0, -9.81)) - put((0.0, 0.0)))
        up, across = turned(crank, angle), np.array([width, 0.0])
        for i in range(n + 1):
            m.rod(
                f"crank {i}",
                put(i * across),
                put(i * across + up),
                mass=10.0 ** rng.uniform(low, high),
            )
            m.revolute(f"A{i}", m.ground, f"crank {i}", at=put(i * across), **axis)
        for i in range(n):
            ends = put(i * across + up), put((i + 1) * across + up)
            m.rod(f"coupler {i}", *ends, mass=10.0 ** rng.uniform(low, high))
        for i in range(n + 1):
            met = [f"coupler {k}" for k in (i - 1, i) if 0 <= k < n]
            m.revolute(f"B{i}", f"crank {i}", *met, at=put(i * across + up), **axis)
        speed = rng.uniform(3.0, 6.0) * rng.choice((-1.0, 1.0))
        m.set_velocity("B0", put(speed * np.array([-up[1], up[0]])) - put((0.0, 0.0)))
        return m

    return build


def in_space(seed):
    """The map of a plane into space, and the axis of its hinges."""
    R = rotation(seed)
    return in_plane_of(R, (0.3, -0.2, 0.1)), {"axis": R[:, 2]}


def scissors(parts, angle=0.6):
    """Builder of scissors with these parts: masses and rates at random."""

    def build(rng):
        masses = rng.uniform(0.5, 2.0, (len(parts) - 1, 2))
        return Scissors(np.array(parts), masses, angle, rng.uniform(-3.0, 3.0)).mechanism()

    return build


def rising(rng, most):
    """A parallelogram that rises through the level by an angle, however small, up to 10^most rad, and falls back.

    Its speed is that which its weight has used up at the angle.
    """
    begin, beyond = -rng.uniform(0.3, 1.4), 10.0 ** rng.uniform(-3.7, most)
    bar, crank, width = rng.uniform(0.5, 2.0, 3)
    end, out = np.array([np.cos(begin), np.sin(begin)]), np.array([1.0 + width, 0.0])
    m = Mechanism("rising")
    m.rod("bar", end, end + out, mass=bar)
    for k, at in enumerate((0.0 * out, out)):
        m.rod(f"crank{k}", at, at + end, mass=crank)
        m.revolute(f"A{k}", m.ground, f"crank{k}", at=at)
        m.revolute(f"B{k}", f"crank{k}", "bar", at=at + end)
    rise = 9.81 * (crank + bar) * (np.sin(beyond) - np.sin(begin))
    m.set_angular_velocity("crank0", np.sqrt(2.0 * rise / (2.0 * crank / 3.0 + bar)))
    return m


def random_swing(rng, angle, motion=None):
    """Two to five cranks of random masses that hang flat, turned and scaled at random, an angle [rad] from there.

    On one coupler, where equations are redundant at every configuration, or in a chain of couplers. Returns the
    mechanism, the rate of small swings [rad/s] and by how much its mobility rises where it is flat.
    """
    count, chain = int(rng.integers(2, 6)), bool(rng.integers(2))
    size, turn, gravity = 10.0 ** rng.uniform(-2, 1), rng.uniform(0, 2 * np.pi), rng.uniform(1, 20)
    crank, feet = (
        size * rng.uniform(0.4, 1.5),
        np.append(0.0, np.cumsum(rng.uniform(0.7, 3, count))),
    )
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    masses, couplers = rng.uniform(0.3, 3, count), rng.uniform(0.3, 3, count - 1 if chain else 1)
    m = Mechanism("random swing", gravity=gravity * R[:, 0])
    A = [size * x * R[:, 0] for x in feet[:count]]
    arm = crank * R @ [np.cos(angle), np.sin(angle)]
    for k, foot in enumerate(A):
        m.rod(f"crank {k}", foot, foot + arm, mass=masses[k])
        m.revolute(f"A{k}", m.ground, f"crank {k}", at=foot)
    for k, mass in enumerate(couplers):
        m.rod(f"coupler {k}", A[k] + arm, A[k + 1 if chain else -1] + arm, mass=mass)
    for k, foot in enumerate(A):
        met = [j for j in (k - 1, k) if 0 <= j < count - 1] if chain else [0]
        m.revolute(f"B{k}", f"crank {k}", *(f"coupler {j}" for j in met), at=foot + arm)
    if motion is not None:
        m.drive("motor", "A0", motion)
    own, carried = float(masses.sum()), float(couplers.sum())
    rate = np.sqrt(gravity * (own / 2 + carried) / ((own / 3 + carried) * crank))
    return m, rate, count - 1 if chain else 1


def touching_trammels(rng, start):
    """Two trammels joined by a bar: the first turns by plus or minus the square of the second's angle.

    A point of the second trammel runs on an ellipse, and the bar is as long as the radius of curvature at the
    vertex. So its other end is at rest there to the third order; it is the end of the first trammel, at its dead
    centre. start: the angle of the second [rad]. Also returns the directions of the lines.
    """
    share, second, first = rng.uniform(0.55, 0.8), rng.uniform(0.8, 1.3), rng.uniform(0.6, 1.4)
    a, b, turn = second * share, second * (1.0 - share), rng.uniform(0.0, 2.0 * np.pi)
    bar = b * b / a
    c, s = np.cos(start), np.sin(start)
    # the way of the bar's end along the line, from the vertex
    way = a * (c - 1.0) + bar - np.sqrt(bar**2 - (b * s) ** 2)
    side = -np.sign(way)
    angle = np.arccos(1.0 - abs(way) / first)
    x = side * first * np.cos(angle)
    center = x - a * c + np.sqrt(bar**2 - (b * s) ** 2)
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    m = Mechanism("touching trammels", gravity=rng.uniform(-3.0, 3.0, 2))
    ends = (
        ((x, 0.0), (0.0, first * np.sin(angle))),
        ((center + second * c, 0.0), (center, second * s)),
    )
    for k, (along, across) in enumerate(ends):
        m.rod(f"rod {k}", R @ along, R @ across, mass=rng.uniform(0.5, 2.0))
        m.point_on_line(f"X{k}", m.ground, f"rod {k}", at=R @ along, axis=R[:, 0])
        m.point_on_line(f"Y{k}", m.ground, f"rod {k}", at=R @ across, axis=R[:, 1])
    m.rod("bar", R @ (x, 0.0), R @ (center + a * c, b * s), mass=rng.uniform(0.5, 2.0))
    m.revolute("J", "rod 0", "bar", at=R @ (x, 0.0))
    m.revolute("K", "rod 1", "bar", at=R @ (center + a * c, b * s))
    m.set_velocity("Y1", -np.sign(start) * rng.uniform(0.5, 2.0) * second * c * R[:, 1])
    return m, R


FAMILIES = {
    "one window": windows(1),
    "two windows": windows(2),
    "three windows": windows(3),
    "six windows": windows(6),
    "light and heavy windows": windows(2, masses=(1e-3, 1e3)),
    "two windows in space": windows(2, in_space(3)),
    "parallelogram in space": lambda rng: parallelogram(rng, place=in_space(4)),
    "two scissors": scissors((0.5, 0.4, 0.6)),
    "four scissors": scissors((0.5, 0.4, 0.6, 0.35, 0.45)),
    "kite": kite,
    "three cranks": lambda rng: cranks(rng, (0.6,)),
    "five cranks": lambda rng: cranks(rng, (0.3, 0.6, 0.85)),
    "parallelogram and pendulum": hung_parallelogram,
    "parallelogram and spring": sprung_parallelogram,
    "parallelogram and damper": lambda rng: sprung_parallelogram(rng, rng.uniform(0.1, 1.0)),
    "driven parallelogram": driven_parallelogram,
    "four-bar": any_four_bar,
    "slider-crank": lambda rng: slider_crank(rng, equal=False),
    "folding slider-crank": lambda rng: slider_crank(rng, equal=True),
    "Watt": watt,
    "near parallelogram": lambda rng: parallelogram(rng, off=10.0 ** rng.uniform(-3.0, -1.0)),
    "all but a parallelogram": lambda rng: parallelogram(rng, off=10.0 ** rng.uniform(-11.0, -4.0)),
}


def members(family, count, seed=0):
    """Some of a family."""
    rng = np.random.default_rng([seed, *family.encode()])
    return [FAMILIES[family](rng) for _ in range(count)]
