"""Eight mechanisms as functions of their numbers, and derivatives of their runs by differences of tight runs.

The differences are central and extrapolated twice (Richardson): what is left is h^6 times high derivatives, and
the error of the runs over h.
"""

from typing import NamedTuple

import numpy as np

import sarrus

# tolerance of the runs for differences, and the largest of their steps, relative to the parameter
TIGHT, STEP = 1e-13, 4e-3


def four_bars(mass=1.0, coupler=1.0, speed=1.0, gravity=9.81, length=1.0):
    """Two four-bars side by side, whose cranks are equally long: crossings are kept."""
    m = sarrus.Mechanism("double four-bar", gravity=(0, -gravity))
    cranks = [m.rod(f"crank {i}", (i, 0), (i, length), mass=mass) for i in range(3)]
    couplers = [m.rod(f"coupler {i}", (i, length), (i + 1, length), coupler) for i in range(2)]
    for i, crank in enumerate(cranks):
        m.revolute(f"A{i}", m.ground, crank, at=(i, 0))
        m.revolute(f"B{i}", crank, *couplers[max(i - 1, 0) : i + 1], at=(i, length))
    m.set_velocity("B0", (speed, 0))
    return m


def double_pendulum(first=0.7, second=0.9, heavy=1.5, gravity=9.81, angle=0.6):
    """Two rods, released at rest."""
    m = sarrus.Mechanism("double pendulum", gravity=(0, -gravity))
    elbow = (first * np.sin(angle), -first * np.cos(angle))
    tip = (elbow[0] + second * np.sin(1.0), elbow[1] - second * np.cos(1.0))
    upper, lower = m.rod("upper", (0, 0), elbow, mass=1), m.rod("lower", elbow, tip, mass=heavy)
    m.revolute("A", m.ground, upper, at=(0, 0))
    m.revolute("B", upper, lower, at=elbow)
    m.point("tip", lower, at=tip)
    return m


def slider_crank(crank=0.3, rod=1.0, mass=0.8, stiffness=40.0, damping=0.4):
    """A slider-crank whose slider has a spring and a damper."""
    m = sarrus.Mechanism("sprung slider-crank", gravity=(0, -9.81))
    at = (crank * np.cos(1.1), crank * np.sin(1.1))
    end = (at[0] + np.sqrt(rod * rod - at[1] * at[1]), 0.0)
    one, two = m.rod("crank", (0, 0), at, mass=1), m.rod("rod", at, end, mass=mass)
    slider = m.body("slider", center=end, mass=0.5, inertia=0.01)
    m.revolute("A", m.ground, one, at=(0, 0))
    m.revolute("B", one, two, at=at)
    m.revolute("C", two, slider, at=end)
    m.prismatic("slot", m.ground, slider, at=end, axis=(1, 0))
    numbers = {"stiffness": stiffness, "damping": damping, "free_length": 0.7}
    m.spring("s", slider, m.ground, start=end, end=(2.0, 0.0), **numbers)
    m.set_angular_velocity("crank", 2.0)
    return m


def driven_four_bar(crank=0.25, coupler=0.9, mass=1.2, rate=3.0, gravity=9.81):
    """A four-bar driven at a growing rate."""
    m = sarrus.Mechanism("driven four-bar", gravity=(0, -gravity))
    b = (crank * np.cos(0.4), crank * np.sin(0.4))
    d, rocker = (1.0 - b[0], -b[1]), 0.7
    far = np.sqrt(d[0] * d[0] + d[1] * d[1])
    x = (coupler * coupler - rocker * rocker + far * far) / (2.0 * far)
    y = np.sqrt(coupler * coupler - x * x)
    c = (b[0] + (x * d[0] - y * d[1]) / far, b[1] + (x * d[1] + y * d[0]) / far)
    one, two = m.rod("crank", (0, 0), b, mass=1), m.rod("coupler", b, c, mass=mass)
    three = m.rod("rocker", c, (1, 0), mass=1)
    m.revolute("A", m.ground, one, at=(0, 0))
    m.revolute("B", one, two, at=b)
    m.revolute("C", two, three, at=c)
    m.revolute("D", three, m.ground, at=(1, 0))
    m.drive("motor", "A", sarrus.Polynomial([0, rate, 0.3]))
    return m


def swinging_arm(mass=0.3, arm=0.4, spin=9.0, stiffness=60.0, gravity=9.81):
    """An arm that swings in a spinning fork, with a spring."""
    m = sarrus.Mechanism("swinging arm", gravity=(0, 0, -gravity))
    fork = m.body("fork", center=(0, 0, 0), mass=2, inertia=np.diag([0.04, 0.04, 0.05]))
    end = (0.1 + arm * np.sin(0.5), 0.0, -arm * np.cos(0.5))
    rod = m.rod("arm", (0.1, 0.0, 0.0), end, mass=mass)
    m.revolute("axle", m.ground, fork, at=(0, 0, 0), axis=(0, 0, 1))
    m.revolute("hinge", fork, rod, at=(0.1, 0.0, 0.0), axis=(0, 1, 0))
    m.point("end", rod, at=end)
    at = {"start": end, "end": (0.0, 0.0, 0.0)}
    m.spring("s", rod, fork, **at, stiffness=stiffness, free_length=0.45)
    m.set_angular_velocity("fork", (0, 0, spin))
    return m


def spherical_pendulum(length=0.8, mass=1.3, across=1.1, gravity=9.81, damping=0.05):
    """A rod on a ball joint, with a spring and a damper to the ground."""
    m = sarrus.Mechanism("spherical pendulum", gravity=(0, 0, -gravity))
    end = (length * np.sin(0.7), 0.0, -length * np.cos(0.7))
    rod = m.rod("rod", (0, 0, 0), end, mass=mass)
    m.spherical("A", m.ground, rod, at=(0, 0, 0))
    m.point("tip", rod, at=end)
    numbers = {"stiffness": 3.0, "free_length": 1.0, "damping": damping}
    m.spring("s", rod, m.ground, start=end, end=(1.5, 0.2, 0.0), **numbers)
    m.set_velocity("tip", (0.0, across, 0.0))
    return m


def cart_and_pendulum(cart=2.0, bob=0.5, length=0.6, stiffness=25.0, gravity=9.81):
    """A pendulum on a sprung cart."""
    m = sarrus.Mechanism("cart and pendulum", gravity=(0, -gravity))
    wagon = m.body("cart", center=(0, 0), mass=cart, inertia=0.1)
    end = (length * np.sin(0.9), -length * np.cos(0.9))
    rod = m.rod("rod", (0, 0), end, mass=bob)
    m.prismatic("rail", m.ground, wagon, at=(0, 0), axis=(1, 0))
    m.revolute("A", wagon, rod, at=(0, 0))
    m.point("tip", rod, at=end)
    at = {"start": (0, 0), "end": (-1, 0)}
    m.spring("s", wagon, m.ground, **at, stiffness=stiffness, free_length=0.9)
    return m


def bricard(mass=1.0, last=1.0, gravity=9.81, side=1.0):
    """Bricard's rectangular linkage, redundant at every configuration; `side` scales it as a whole."""
    m = sarrus.Mechanism("Bricard", gravity=(0, -gravity, 0))
    corners = [(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)]
    places = [tuple(side * x for x in corner) for corner in corners]
    axes = [(0, 1, 0), (0, 0, 1), (1, 0, 0)] * 2
    masses = [mass, mass, mass, mass, last]
    rods = [m.rod(f"rod {i}", *places[i : i + 2], mass=masses[i], section=0.1) for i in range(5)]
    links = [m.ground, *rods, m.ground]
    for i, (place, axis) in enumerate(zip(places, axes, strict=True)):
        m.revolute(f"P{i}", *links[i : i + 2], at=place, axis=axis)
    return m


class Case(NamedTuple):
    """A function of numbers, the duration of its run [s], and the quantities that are differentiated."""

    build: object
    duration: float
    quantities: tuple[str, ...]


CASES = [
    Case(four_bars, 3.0, ("B0.x", "B2.y", "B0.vx", "kinetic energy", "crossing times")),
    Case(double_pendulum, 2.0, ("tip.x", "tip.y", "tip.vx", "tip.ay", "kinetic energy")),
    Case(slider_crank, 2.0, ("C.x", "B.y", "C.vx", "B.ax", "potential energy")),
    Case(driven_four_bar, 1.5, ("C.x", "C.vy", "C.ax", "motor torque", "kinetic energy")),
    Case(swinging_arm, 1.0, ("end.x", "end.z", "end.vy", "end.az", "kinetic energy")),
    Case(spherical_pendulum, 2.0, ("tip.x", "tip.y", "tip.vz", "tip.ax", "potential energy")),
    Case(cart_and_pendulum, 2.0, ("tip.x", "A.x", "tip.vy", "A.ax", "total energy")),
    Case(bricard, 1.0, ("P2.x", "P3.z", "P2.vy", "P2.ay", "kinetic energy", "P3.vx", "P2.z")),
]


def values_of(build):
    """The arguments of a case with their values."""
    names = build.__code__.co_varnames[: build.__code__.co_argcount]
    return dict(zip(names, build.__defaults__, strict=True))


def read(result, quantity):
    """A quantity at the end of a run, or the last of the times of its crossings."""
    if quantity == "crossing times":
        return result.crossings[-1].time
    return result.quantity(quantity).values[-1]


def difference(case, name, runs):
    """Derivatives of all quantities by extrapolated differences, and their estimated errors."""
    value = values_of(case.build)[name]
    slopes = []
    for h in STEP * value * 0.5 ** np.arange(3):
        ends = [
            sarrus.simulate(case.build(**{name: value + s * h}), case.duration, **runs)
            for s in (1, -1)
        ]
        both = np.array([[read(end, q) for q in case.quantities] for end in ends])
        slopes.append((both[0] - both[1]) / (2.0 * h))
    a, b, c = slopes
    fine, coarse = (4.0 * c - b) / 3.0, (4.0 * b - a) / 3.0
    best = (16.0 * fine - coarse) / 15.0
    # the rounding of a run is some 1e-14 of its size, and its errors near crossings a hundred times that
    return best, np.abs(best - fine) + 1e-12 / (STEP * value)


def compare(case):
    """Largest error of each derivative over its size; asserts that all are known to 1e-8."""
    runs = {"tolerance": TIGHT, "outputs": [0.0, case.duration]}
    found = sarrus.sensitivity(case.build, values_of(case.build), case.quantities, case.duration)
    out = {}
    for name in values_of(case.build):
        wanted, doubt = difference(case, name, runs)
        have = [found[q, name] for q in case.quantities]
        assert all(x.validity for x in have), (name, str(have[0].validity))
        values = np.array([x.values[-1] for x in have])
        size = np.maximum(np.abs(wanted), 1.0)
        error = np.abs(values - wanted)
        assert (error <= 1e-8 * size + doubt).all(), (name, values, wanted, doubt)
        out.update({(q, name): e for q, e in zip(case.quantities, error / size, strict=True)})
    return out
