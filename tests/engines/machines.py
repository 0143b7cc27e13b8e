"""Mechanisms that every engine has to agree on: open chains, and a four-bar away from singular configurations."""

from sarrus import Mechanism


def pendulum():
    m = Mechanism("pendulum", gravity=(0.0, -9.81))
    m.rod("rod", (0, 0), (0.7, 0.3), mass=1.3)
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    m.point("end", "rod", (0.7, 0.3))
    return m


def double_pendulum():
    m = Mechanism("double pendulum", gravity=(0.0, -9.81))
    m.rod("upper", (0, 0), (0.6, 0), mass=1)
    m.rod("lower", (0.6, 0), (0.9, 0.4), mass=0.5)
    m.revolute("pin", m.ground, "upper", at=(0, 0))
    m.revolute("elbow", "upper", "lower", at=(0.6, 0))
    m.point("end", "lower", (0.9, 0.4))
    m.set_angular_velocity("lower", 2.0)
    return m


def top():
    m = Mechanism("heavy top", gravity=(0.0, 0.0, -9.81))
    m.body("top", 2.0, (0.1, 0.2, 0.4), [0.06, 0.05, 0.03])
    m.spherical("tip", m.ground, "top", at=(0, 0, 0))
    m.point("end", "top", (0.1, 0.2, 0.4))
    m.set_angular_velocity("top", (0.3, -0.4, 5.0))
    return m


def four_bar():
    """A crank-rocker that swings; it is nowhere flat."""
    m = Mechanism("four-bar", gravity=(0.0, -9.81))
    m.rod("crank", (0, 0), (0.3, 0.4), mass=1)
    m.rod("coupler", (0.3, 0.4), (1.2, 0.9), mass=2)
    m.rod("rocker", (1.0, 0), (1.2, 0.9), mass=1.5)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.revolute("B", "crank", "coupler", at=(0.3, 0.4))
    m.revolute("C", "coupler", "rocker", at=(1.2, 0.9))
    m.revolute("D", m.ground, "rocker", at=(1.0, 0))
    m.point("end", "coupler", (0.75, 0.65))
    return m


def spatial_four_bar():
    """A loop of hinge, two balls and a hinge, in general position."""
    m = Mechanism("spatial four-bar", gravity=(0.0, 0.0, -9.81))
    m.body("crank", 1.0, (0.1, 0.2, 0.1), [0.02, 0.03, 0.02])
    m.body("coupler", 2.0, (0.6, 0.5, 0.2), [0.08, 0.09, 0.1])
    m.body("rocker", 1.5, (1.0, 0.4, 0.2), [0.05, 0.04, 0.06])
    m.revolute("A", m.ground, "crank", at=(0, 0, 0), axis=(0.1, 0.2, 1))
    m.universal("B", "crank", "coupler", at=(0.2, 0.4, 0.2), axis=(0, 0, 1), second_axis=(0, 1, 0))
    m.spherical("C", "coupler", "rocker", at=(1.0, 0.7, 0.3))
    m.revolute("D", m.ground, "rocker", at=(1.1, 0, 0), axis=(1, 0.1, -0.2))
    m.point("end", "coupler", (0.6, 0.5, 0.2))
    return m


OPEN = (pendulum, double_pendulum, top)
LOOPS = (four_bar, spatial_four_bar)
