"""Random mechanisms: trees of rods, plates and point masses, closed to loops by further rods."""

import numpy as np

from builders import ends_of
from sarrus import Mechanism
from sarrus.mechanism import Joint


class Generator:
    """Writes one mechanism; every choice comes from the seed."""

    def __init__(self, seed, dimension):
        self.rng = np.random.default_rng(seed)
        self.dimension = dimension
        gravity = 5.0 * self.rng.normal(size=dimension)
        self.m = Mechanism(f"random {dimension}D {seed}", gravity=gravity)
        self.axes = []

    def make(self):
        """A tree of one to five bodies and up to two closing rods."""
        for i in range(int(self.rng.integers(1, 6))):
            self.add_body(i)
        for k in range(int(self.rng.integers(0, 3))):
            self.close_loop(k)
        return self.m

    def direction(self):
        """A random unit vector."""
        d = self.rng.normal(size=self.dimension)
        return d / np.linalg.norm(d)

    def share(self):
        """A place along a rod: an end, the middle or anywhere."""
        return self.rng.choice([0.0, 1.0, 0.5, self.rng.uniform()])

    def point_on(self, name):
        """A random point of a body: on a rod, else anywhere near its centre."""
        if name == "ground":
            return self.rng.uniform(-1, 1, self.dimension)
        body = next(b for b in self.m.bodies if b.name == name)
        if body.ends is not None:
            return body.ends[0] + self.share() * (body.ends[1] - body.ends[0])
        if self.rng.uniform() < 0.2:
            return body.center
        return body.center + self.rng.uniform(-0.7, 0.7, self.dimension)

    def axis(self, along):
        """An axis: parallel to an earlier one, a coordinate axis, along the body, or random."""
        choice = self.rng.uniform()
        if self.axes and choice < 0.35:
            axis = self.axes[self.rng.integers(len(self.axes))] * self.rng.choice([-2.0, 1.0])
        elif choice < 0.5:
            axis = np.eye(3)[self.rng.integers(3)]
        elif choice < 0.6 and np.linalg.norm(along) > 0:
            axis = along
        else:
            axis = self.direction()
        self.axes.append(axis)
        return axis

    def inertia(self, mass):
        """Of a lump, a plate, a line or a point."""
        if self.dimension == 2:
            return self.rng.choice([0.0, mass * self.rng.uniform(0.01, 0.5)])
        moments = self.rng.uniform(0.01, 0.5, 3)
        moments[: self.rng.integers(4)] = 0.0
        Q, _ = np.linalg.qr(self.rng.normal(size=(3, 3)))
        second = mass * Q @ np.diag(moments) @ Q.T
        inertia = np.trace(second) * np.eye(3) - second
        return 0.5 * (inertia + inertia.T)

    def add_body(self, i):
        """A body joined to the ground or an earlier body, or free."""
        rng, name = self.rng, f"b{i}"
        parents = ["ground", *(b.name for b in self.m.bodies)]
        parent = str(rng.choice(parents)) if rng.uniform() < 0.95 else None
        p = rng.uniform(-1, 1, self.dimension) if parent is None else self.point_on(parent)
        mass = rng.uniform(0.3, 3.0)
        if rng.uniform() < 0.5:
            along = self.direction() * rng.uniform(0.3, 1.5)
            start = p - self.share() * along
            self.m.rod(name, start, start + along, mass, section=rng.choice([0.0, 0.1]))
        else:
            along = rng.uniform(-0.7, 0.7, self.dimension) * (rng.uniform() < 0.9)
            self.m.body(name, mass, p + along, self.inertia(mass))
        if parent is not None:
            self.join(f"j{i}", parent, name, p, along)

    def join(self, joint, parent, name, p, along):
        """A joint of a random kind, its bodies in random order."""
        pair = (parent, name) if self.rng.uniform() < 0.5 else (name, parent)
        choice = self.rng.uniform()
        if choice < 0.08:
            self.m.weld(joint, *pair)
        elif self.dimension == 2:
            self.m.revolute(joint, *pair, at=p)
        elif choice < 0.6:
            self.m.revolute(joint, *pair, at=p, axis=self.axis(along))
        else:
            self.m.spherical(joint, *pair, at=p)

    def close_loop(self, k):
        """A rod between two bodies, on pins or balls."""
        names = ["ground", *(b.name for b in self.m.bodies)]
        a, b = (names[i] for i in self.rng.choice(len(names), 2, replace=False))
        pa, pb = self.point_on(a), self.point_on(b)
        if np.linalg.norm(pa - pb) < 0.2:
            return
        self.m.rod(f"l{k}", pa, pb, self.rng.uniform(0.3, 2.0), section=self.rng.choice([0.0, 0.1]))
        join = self.m.revolute if self.dimension == 2 else self.m.spherical
        join(f"ka{k}", a, f"l{k}", at=pa)
        join(f"kb{k}", f"l{k}", b, at=pb)


class CrowdedGenerator(Generator):
    """Prefers places where there is a joint already, and adds bodies to existing joints."""

    def point_on(self, name):
        """Often the place of a joint of this body."""
        places = [j.at for j in self.m.joints if name in j.bodies and j.at is not None]
        if places and self.rng.uniform() < 0.6:
            return places[self.rng.integers(len(places))]
        return super().point_on(name)

    def join(self, joint, parent, name, p, along):
        """Sometimes a further body of a joint of the parent."""
        for n, j in enumerate(self.m.joints):
            here = j.at is not None and parent in j.bodies and np.array_equal(j.at, p)
            if here and self.rng.uniform() < 0.5:
                self.m.joints[n] = Joint(j.name, j.kind, ends_of((*j.bodies, name), j.at, j.axis))
                return
        super().join(joint, parent, name, p, along)


class SlidingGenerator(Generator):
    """Joins bodies by every kind of joint there is; these leave spins free, so all need inertia."""

    def add_body(self, i):
        """As before, but a rod is thick: a thin one may spin without moving any mass."""
        super().add_body(i)
        body = self.m.bodies[-1]
        if body.ends is not None:
            self.m.bodies.pop()
            self.m.rod(body.name, *body.ends, body.mass, section=0.1)

    def inertia(self, mass):
        """Of a lump."""
        if self.dimension == 2:
            return mass * self.rng.uniform(0.01, 0.5)
        Q, _ = np.linalg.qr(self.rng.normal(size=(3, 3)))
        second = mass * Q @ np.diag(self.rng.uniform(0.02, 0.5, 3)) @ Q.T
        inertia = np.trace(second) * np.eye(3) - second
        return 0.5 * (inertia + inertia.T)

    def join(self, joint, parent, name, p, along):
        """Any kind, its bodies in random order; a rod has its joint's point on itself."""
        m, body = self.m, next(b for b in self.m.bodies if b.name == name)
        pair = (parent, name) if self.rng.uniform() < 0.5 else (name, parent)
        if self.dimension == 2:
            kinds = [m.prismatic, m.point_on_line, m.revolute, m.distance]
        else:
            kinds = [
                m.prismatic, m.cylindrical, m.planar, m.point_on_line, m.point_on_plane,
                m.universal, m.spherical, m.revolute, m.distance,
            ]  # fmt: skip
        kind = kinds[self.rng.integers(len(kinds))]
        axis = self.direction() if self.dimension == 2 else self.axis(along)
        if kind == m.distance:
            # the body stays where it is: a link from another place of the parent to it
            far = self.point_on(parent) + (0.0 if parent != "ground" else 0.3 * self.direction())
            if np.linalg.norm(far - p) < 0.1:
                kind = m.revolute
            else:
                m.distance(joint, parent, name, start=far, end=body.center)
        if kind == m.universal:
            second = np.cross(axis, self.direction())
            m.universal(joint, *pair, at=p, axis=axis, second_axis=second)
        elif kind in (m.prismatic, m.cylindrical, m.point_on_line):
            kind(joint, *pair, at=p, axis=axis)
        elif kind in (m.planar, m.point_on_plane):
            kind(joint, *pair, at=p, normal=axis)
        elif kind == m.spherical or (kind == m.revolute and self.dimension == 2):
            kind(joint, *pair, at=p)
        elif kind == m.revolute:
            kind(joint, *pair, at=p, axis=axis)


def random_mechanism(seed, dimension, crowded=False, sliding=False):
    """The mechanism of a seed."""
    kind = SlidingGenerator if sliding else CrowdedGenerator if crowded else Generator
    return kind(seed, dimension).make()
