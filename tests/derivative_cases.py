"""Mechanisms as functions of their numbers, and derivatives of their runs by differences of tight runs.

The differences are central and extrapolated twice (Richardson): what is left is h^6 times high derivatives, and
the error of the runs over h.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

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


def close_four_bar(a, b, c, d, angle):
    """B and C of a four-bar with these lengths of crank, coupler, rocker and ground."""
    B = (a * np.cos(angle), a * np.sin(angle))
    e = (d - B[0], -B[1])
    far = np.sqrt(e[0] * e[0] + e[1] * e[1])
    x = (b * b - c * c + far * far) / (2.0 * far)
    y = np.sqrt(b * b - x * x)
    return B, (B[0] + (x * e[0] - y * e[1]) / far, B[1] + (x * e[1] + y * e[0]) / far)


def four_bar(m, a, b, c, d, angle, mass):
    """Add a four-bar of rods."""
    B, C = close_four_bar(a, b, c, d, angle)
    one, two = m.rod("crank", (0, 0), B, mass=1), m.rod("coupler", B, C, mass=mass)
    three = m.rod("rocker", C, (d, 0 * d), mass=1.1)
    m.revolute("A", m.ground, one, at=(0, 0))
    m.revolute("B", one, two, at=B)
    m.revolute("C", two, three, at=C)
    m.revolute("D", three, m.ground, at=(d, 0 * d))
    return C


def kite(short=0.5, long=1.0, mass=0.7, gravity=9.81, spin=4.0):
    """A kite, which folds: crossings are kept by both lengths."""
    m = sarrus.Mechanism("kite", gravity=(0, -gravity))
    four_bar(m, short, short, long, long, 1.3, mass)
    m.set_angular_velocity("crank", spin)
    return m


def torsions(stiffness=3.0, damping=0.05, free=0.4, torque=0.2, crank=0.3):
    """A four-bar with torsion springs and dampers."""
    m = sarrus.Mechanism("torsion springs", gravity=(0, -9.81))
    four_bar(m, crank, 0.9, 0.7, 1.0, 0.5, 1.2)
    m.torsion("t", "A", stiffness=stiffness, damping=damping, free_angle=free, torque=torque)
    m.torsion("u", "C", stiffness=0.7 * stiffness, damping=0.02)
    m.set_angular_velocity("crank", 3.0)
    return m


def shaken_arm(amplitude=0.3, frequency=1.2, mass=1.0, arm=0.5, stiffness=80.0):
    """An arm driven by a sine, with a sprung forearm."""
    m = sarrus.Mechanism("shaken arm", gravity=(0, -9.81))
    e = (arm * np.cos(0.2), arm * np.sin(0.2))
    f = (e[0] + 0.6 * np.cos(0.5), e[1] - 0.6 * np.sin(0.5))
    one, two = m.rod("arm", (0, 0), e, mass=1.0), m.rod("forearm", e, f, mass=mass)
    m.revolute("A", m.ground, one, at=(0, 0))
    m.revolute("B", one, two, at=e)
    m.point("tip", two, at=f)
    offset = -amplitude * np.sin(0.3)
    m.drive("motor", "A", sarrus.Sine(amplitude, frequency, phase=0.3, offset=offset))
    numbers = {"stiffness": stiffness, "damping": 0.8, "free_length": 0.5}
    m.spring("s", two, m.ground, start=f, end=(1.2, 0.8), **numbers)
    return m


def rssr(crank=0.3, mass=0.8, spin=5.0, gravity=9.81, rocker=0.8):
    """A spatial four-bar with two ball joints."""
    m = sarrus.Mechanism("RSSR", gravity=(0, 0, -gravity))
    B, C, D = (0.0, crank * np.cos(0.6), crank * np.sin(0.6)), (1.0, 0.4, rocker), (1.0, 0.4, 0.0)
    one = m.rod("crank", (0, 0, 0), B, mass=1.0, section=0.03)
    two = m.rod("coupler", B, C, mass=mass)
    three = m.rod("rocker", D, C, mass=1.0, section=0.03)
    m.revolute("A", m.ground, one, at=(0, 0, 0), axis=(1, 0, 0))
    m.spherical("B", one, two, at=B)
    m.spherical("C", two, three, at=C)
    m.revolute("D", three, m.ground, at=D, axis=(0, 1, 0))
    m.set_angular_velocity("crank", (spin, 0, 0))
    return m


def platform(mass=10.0, amplitude=0.08, frequency=0.5, height=1.0, force=20.0):
    """Stewart's platform on six driven legs."""
    m = sarrus.Mechanism("platform", gravity=(0, 0, -9.81))
    m.body("platform", mass=mass, center=(0, 0, height), inertia=(0.6, 0.6, 1.1))
    for k in range(6):
        below = np.radians(120 * (k // 2) + (110 if k % 2 else 10))
        above = np.radians(120 * (k // 2) + (70 if k % 2 else 50))
        foot = (np.cos(below), np.sin(below), 0.0)
        head = (0.6 * np.cos(above), 0.6 * np.sin(above), height)
        m.distance(f"leg {k}", m.ground, "platform", start=foot, end=head)
        d = [a - b for a, b in zip(head, foot, strict=True)]
        offset = np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) - amplitude * np.sin(k)
        motion = sarrus.Sine(amplitude, frequency, phase=float(k), offset=offset)
        m.drive(f"motor {k}", f"leg {k}", motion)
    m.force("tool", "platform", at=(0.1, 0.0, height), vector=(force, 0.0, 0.0))
    m.point("nose", "platform", at=(0.3, 0.1, height + 0.2))
    return m


def geared(inertia=0.02, load=0.8, arm=0.4, torque=0.5, gravity=9.81):
    """An arm behind a gear, with a rotor on the other shaft."""
    m = sarrus.Mechanism("geared", gravity=(0, -gravity))
    wheel = m.body("wheel", mass=1.0, center=(0, 0), inertia=inertia)
    end = (1.0 + arm * np.cos(0.3), arm * np.sin(0.3))
    rod = m.rod("arm", (1, 0), end, mass=load)
    m.revolute("A", m.ground, wheel, at=(0, 0))
    m.revolute("B", m.ground, rod, at=(1, 0))
    m.point("tip", rod, at=end)
    m.coupling("gear", "A", "B", ratio=-2.0)
    m.torque("push", wheel, torque)
    m.rotor("flywheel", "A", inertia=0.5 * inertia)
    return m


class Case(NamedTuple):
    """A function of numbers, the duration of its run [s], and the quantities that are differentiated."""

    build: object
    duration: float
    quantities: tuple
    events: tuple = ()


CASES = [
    Case(four_bars, 3.0, ("B0.x", "B2.y", "B0.vx", "kinetic energy", "crossing times")),
    Case(double_pendulum, 2.0, ("tip.x", "tip.y", "tip.vx", "tip.ay", "kinetic energy")),
    Case(slider_crank, 2.0, ("C.x", "B.y", "C.vx", "B.ax", "potential energy")),
    Case(driven_four_bar, 1.5, ("C.x", "C.vy", "C.ax", "motor torque", "kinetic energy")),
    Case(swinging_arm, 1.0, ("end.x", "end.z", "end.vy", "end.az", "kinetic energy")),
    Case(spherical_pendulum, 2.0, ("tip.x", "tip.y", "tip.vz", "tip.ax", "potential energy")),
    Case(cart_and_pendulum, 2.0, ("tip.x", "A.x", "tip.vy", "A.ax", "total energy")),
    Case(bricard, 1.0, ("P2.x", "P3.z", "P2.vy", "P2.ay", "kinetic energy", "P3.vx", "P2.z")),
    Case(kite, 1.6, ("C.x", "B.vy", "C.ay", "crank angle", "crossing times", "largest C.y"),
         (sarrus.when(coordinate="B.x", equals=0.1),)),
    Case(torsions, 1.5, ("C.x", "C.vy", "t torque", "rocker angle", "D.Fx", "smallest C.x")),
    Case(shaken_arm, 1.3, ("tip.ax", "motor torque", "motor power", "s force", "B.F"),
         (sarrus.when(coordinate="tip.y", equals=0.0), sarrus.when({"tip.x": 1.0, "B.vy": 0.3}, equals=0.7))),
    Case(rssr, 1.0, ("C.x", "C.az", "kinetic energy", "D angle", "largest C.x"),
         (sarrus.when(coordinate="C.x", equals=0.9),)),
    Case(platform, 1.4, ("nose.x", "nose.ay", "motor 0 force", "leg 2 length", "largest nose.z")),
    Case(geared, 1.0, ("tip.x", "tip.ax", "wheel angle", "A.Fy", "largest tip.y"),
         (sarrus.when(angle="B", equals=-0.4),)),
]  # fmt: skip


def values_of(build):
    """The arguments of a case with their values."""
    names = build.__code__.co_varnames[: build.__code__.co_argcount]
    return dict(zip(names, build.__defaults__, strict=True))


def read(result, quantity):
    """A quantity at the end of a run, an extreme, or the last time of its crossings or of an event."""
    if not isinstance(quantity, str):
        return [e.time for e in result.events if e.name == quantity.name][-1]
    if quantity == "crossing times":
        return result.crossings[-1].time
    word, _, rest = quantity.partition(" ")
    if word in ("largest", "smallest"):
        name, axis = rest.split(".")
        sign, i = (1.0 if word == "largest" else -1.0), "xyz".index(axis)

        def far(t):
            return -sign * float(result.at(t).position(name)[0, i])

        # steps of a hundredth of the run find the extreme, and its value is quadratic in its time
        times = np.linspace(0.0, result.duration, 101)
        k = int(np.argmax(sign * result.at(times).position(name)[:, i]))
        ends = times[max(k - 1, 0)], times[min(k + 1, 100)]
        found = minimize_scalar(far, bounds=ends, method="bounded", options={"xatol": 1e-9})
        return sign * max(-found.fun, -far(times[k]))
    return result.quantity(quantity).values[-1]


def wanted_of(case):
    """Quantities and events of a case."""
    return (*case.quantities, *case.events)


def difference(case, name, runs):
    """Derivatives of all quantities by extrapolated differences, and their estimated errors."""
    value = values_of(case.build)[name]
    slopes = []
    for h in STEP * value * 0.5 ** np.arange(3):
        ends = [
            sarrus.simulate(case.build(**{name: value + s * h}), case.duration, **runs)
            for s in (1, -1)
        ]
        both = np.array([[read(end, q) for q in wanted_of(case)] for end in ends])
        slopes.append((both[0] - both[1]) / (2.0 * h))
    a, b, c = slopes
    fine, coarse = (4.0 * c - b) / 3.0, (4.0 * b - a) / 3.0
    best = (16.0 * fine - coarse) / 15.0
    # the rounding of a run is some 1e-14 of its size, and its errors near crossings a hundred times that
    return best, np.abs(best - fine) + 1e-12 / (STEP * value)


def compare(case):
    """Largest error of each derivative over its size; asserts that all are known to 1e-8."""
    runs = {"tolerance": TIGHT, "output_step": case.duration / 20, "dense": True}
    settings = {"events": list(case.events)} if case.events else {}
    runs |= settings
    names = wanted_of(case)
    found = sarrus.sensitivity(
        case.build, values_of(case.build), names, case.duration, **settings
    )  # fmt: skip
    out = {}
    for name in values_of(case.build):
        wanted, doubt = difference(case, name, runs)
        have = [found[q, name] for q in names]
        assert all(x.validity for x in have), (name, str(have[0].validity))
        values = np.array([x.values[-1] for x in have])
        size = np.maximum(np.abs(wanted), 1.0)
        error = np.abs(values - wanted)
        assert (error <= 1e-8 * size + doubt).all(), (name, values, wanted, doubt)
        out.update({(q, name): e for q, e in zip(names, error / size, strict=True)})
    return out
