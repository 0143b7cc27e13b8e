"""Random mechanisms whose places are fractions: exact in binary, and often special."""

import numpy as np

from sarrus import Mechanism

# places on a grid of eighths: exact in binary, and often special (collinear, parallel, coincident)
SCALE = 8


class GridMechanism:
    """A random mechanism on a grid: a tree of bodies, then further joints that close loops."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.kind = ("planar", "tree", "spatial", "planar in space", "parallel hinges")[seed % 5]
        planar = self.kind == "planar"
        self.dimension = 2 if planar else 3
        self.m = Mechanism(f"grid {seed}", gravity=np.zeros(self.dimension))
        most = 50 if seed % 10 < 5 else 8
        self.count = int(self.rng.integers(1, most + 1))

    def place(self):
        """A grid point; in the plane z = 0 for planar loops in space."""
        p = self.rng.integers(-12, 13, self.dimension) / SCALE
        if self.kind == "planar in space":
            p[2] = 0.0
        return p

    def axis(self):
        """Normal of the plane, one of three directions, or any small whole vector."""
        if self.kind == "planar in space":
            return np.array([0.0, 0.0, 1.0])
        if self.kind == "parallel hinges":
            return np.eye(3)[self.rng.integers(3)]
        axis = self.rng.integers(-2, 3, 3).astype(float)
        return axis if axis.any() else np.array([1.0, 0.0, 0.0])

    def join(self, a, b):
        """A joint of a random kind at a random place."""
        name = f"j{len(self.m.joints)}"
        choice = self.rng.uniform()
        if choice < 0.05:
            self.m.weld(name, a, b, at=self.place())
        elif self.dimension == 2:
            self.m.revolute(name, a, b, at=self.place())
        elif choice < 0.25 and self.kind != "planar in space":
            self.m.spherical(name, a, b, at=self.place())
        else:
            self.m.revolute(name, a, b, at=self.place(), axis=self.axis())

    def any_axis(self):
        """An axis of a slider or plane; in the plane one of a few directions."""
        if self.dimension == 3:
            return self.axis()
        return np.array([(1, 0), (0, 1), (1, 2), (-2, 1)], float)[self.rng.integers(4)]

    def make(self):
        """The mechanism; trees stay open, others get about a loop for every three bodies."""
        rng, names = self.rng, ["ground"]
        for i in range(self.count):
            mass = float(rng.uniform(0.5, 2.0))
            inertia = mass * rng.uniform(0.05, 0.1, () if self.dimension == 2 else 3)
            self.m.body(f"b{i}", mass, self.place(), inertia)
            if rng.uniform() < 0.95:
                self.join(str(rng.choice(names)), f"b{i}")
            names.append(f"b{i}")
        loops = 0 if self.kind == "tree" else int(rng.integers(1, 2 + self.count // 3))
        for _ in range(loops if self.count > 1 else 0):
            a, b = rng.choice(len(names), 2, replace=False)
            self.join(names[a], names[b])
        return self.m


class GridOfAllJoints(GridMechanism):
    """The same with every kind of joint, and with drives."""

    def join(self, a, b):
        """A joint of any kind, sometimes driven."""
        kinds = ["prismatic", "point_on_line", "distance", "old", "old"]
        if self.dimension == 3:
            kinds += ["cylindrical", "universal", "planar", "point_on_plane"]
        name, kind = f"j{len(self.m.joints)}", str(self.rng.choice(kinds))
        at, axis = self.place(), self.any_axis()
        if kind == "old":
            super().join(a, b)
        elif kind == "distance":
            end = self.place()
            end[0] += np.array_equal(at, end)
            self.m.distance(name, a, b, start=at, end=end)
        elif kind == "universal":
            second = self.axis()
            if np.any(np.cross(axis, second)):
                self.m.universal(name, a, b, at=at, axis=axis, second_axis=second)
            else:
                self.m.revolute(name, a, b, at=at, axis=axis)
        elif kind in ("planar", "point_on_plane"):
            getattr(self.m, kind)(name, a, b, at=at, normal=axis)
        else:
            getattr(self.m, kind)(name, a, b, at=at, axis=axis)
        made = self.m.joints[-1].kind.value
        if (
            made in ("revolute", "prismatic", "cylindrical", "distance")
            and self.rng.uniform() < 0.2
        ):
            a, b = self.m.joints[-1].places[:2]
            start = float(np.linalg.norm(b - a))
            self.m.drive(f"d{name}", self.m.joints[-1], start)
