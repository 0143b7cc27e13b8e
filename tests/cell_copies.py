"""Copies of small mechanisms in one: every kind of body and joint, alone or mixed."""

import numpy as np

from joint_motions import AT, AXIS, END, KINDS, LINE, SECOND
from sarrus import Mechanism

GRAVITY = {2: (0.3, -9.81), 3: (0.3, -9.81, 0.7)}
INERTIA = {2: 0.4, 3: (0.4, 0.5, 0.6)}
# distance of a copy to the next: a power of two, so that differences of places have the same bits in each
STEP = 4.0


class Cell:
    """A place for one copy of a small mechanism: names and places of its own."""

    def __init__(self, mechanism, kind, number):
        self.m, self.d = mechanism, mechanism.dimension
        self._kind, self._number = kind, number

    def name(self, part):
        """The name of a part of this copy."""
        return f"{part} of {self._kind} {self._number}"

    def at(self, *place):
        """A place of this copy; in the plane without its third part."""
        return np.array(place, float)[: self.d] + STEP * self._number * np.eye(self.d)[0]

    def body(self, part, mass, center, inertia=None):
        """A body, a point mass as a rule; its name."""
        self.m.body(self.name(part), mass, self.at(*center), inertia)
        return self.name(part)

    def rod(self, part, start, end, **given):
        """A rod; its name."""
        self.m.rod(self.name(part), self.at(*start), self.at(*end), **given)
        return self.name(part)

    def spring(self, part, first, second, start, end, **given):
        """A spring."""
        places = {"start": self.at(*start), "end": self.at(*end)}
        self.m.spring(self.name(part), first, second, **places, **given)


def mass_on_spring(c):
    """A point mass on a spring."""
    body = c.body("mass", 1.5, (0.1, -1, 0.3))
    c.spring("s", c.m.ground, body, (0, 0, 0), (0.1, -1, 0.3), stiffness=40, free_length=0.8)


def free_mass(c):
    """A point mass that falls."""
    c.body("mass", 1.5, (0.1, -1, 0.3))


def free_body(c):
    """A body that falls and turns."""
    body = c.body("body", 1.5, (0.1, -1, 0.3), INERTIA[c.d])
    c.m.set_angular_velocity(body, 1.0 if c.d == 2 else (1.0, 0.2, 0.3))


def pendulum(c):
    """A thick rod on a pin."""
    rod = c.rod("rod", (0, 0, 0), (1, 0.2, 0.1), mass=1.2, section=0.1)
    axis = {} if c.d == 2 else {"axis": (0.1, 0.3, 1.0)}
    c.m.revolute(c.name("pin"), c.m.ground, rod, at=c.at(0, 0, 0), **axis)


def thin_rods(c):
    """Two thin rods, one on the other."""
    first = c.rod("first", (0, 0, 0), (1, 0.2, 0.1), mass=1.2)
    second = c.rod("second", (1, 0.2, 0.1), (1.5, -0.6, 0.4), mass=0.7)
    join = c.m.revolute if c.d == 2 else c.m.spherical
    join(c.name("upper"), c.m.ground, first, at=c.at(0, 0, 0))
    join(c.name("lower"), second, first, at=c.at(1, 0.2, 0.1))


def hanging_chain(c):
    """Point masses on massless links."""
    places = [(0.5 * i, -0.3 * i, 0.1 * i * i) for i in range(4)]
    before = c.m.ground
    for i in range(1, 4):
        body = c.body(f"mass {i}", 1.0, places[i])
        start, end = c.at(*places[i - 1]), c.at(*places[i])
        c.m.distance(c.name(f"link {i}"), before, body, start=start, end=end)
        before = body


def joined(kind, to_ground):
    """A cell with a joint of a kind: to the ground, or between two bodies on a spring."""

    def add(c):
        first = c.m.ground
        if not to_ground:
            first = c.body("first", 1.3, (0.2, 0.1, -0.4), INERTIA[c.d])
            c.spring(
                "s", c.m.ground, first, (0, 0.5, 0), (0.5, 0.3, 0.1), stiffness=30, damping=0.1
            )
        second = c.body("second", 0.8, (0.9, 0.7, 0.2), INERTIA[c.d])
        given = {"at": c.at(*AT)}
        if kind in ("planar", "rectangular", "point_on_plane"):
            given["normal"] = AXIS
        elif kind in ("prismatic", "cylindrical", "point_on_line", "universal"):
            given["axis"] = AXIS if c.d == 3 else LINE[:2]
        elif kind == "revolute" and c.d == 3:
            given["axis"] = AXIS
        if kind == "universal":
            given["second_axis"] = SECOND
        if kind == "distance":
            given = {"start": c.at(*AT), "end": c.at(*END)}
        getattr(c.m, kind)(c.name("joint"), first, second, **given)

    return add


BODIES = {
    "mass on spring": mass_on_spring,
    "free mass": free_mass,
    "free body": free_body,
    "pendulum": pendulum,
    "thin rods": thin_rods,
    "hanging chain": hanging_chain,
}
CELLS = {(d, name): add for name, add in BODIES.items() for d in (2, 3)}
# what is welded to the ground does not move
CELLS |= {
    (d, f"{kind} {'to the ground' if to_ground else 'between two'}"): joined(kind, to_ground)
    for d, kind in KINDS
    for to_ground in (False, True)
    if not (kind == "weld" and to_ground)
}


def copies(dimension, kinds, count):
    """So many copies of small mechanisms in one."""
    m = Mechanism("copies", gravity=GRAVITY[dimension])
    for n in range(count):
        for kind in kinds:
            CELLS[dimension, kind](Cell(m, kind, n))
    return m
