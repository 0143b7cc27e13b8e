"""Mechanisms with known optima."""

import numpy as np

import sarrus


def slider_crank(counterweight=0.5):
    """A slider-crank at 30 rad/s with a counterweight opposite to the crank."""
    r, rod = 0.1, 0.35
    m = sarrus.Mechanism("slider-crank", gravity=(0, 0))
    A, B = (0, r), (np.sqrt(rod**2 - r**2), 0)
    crank, link = m.rod("crank", (0, 0), A, mass=0.6), m.rod("rod", A, B, mass=0.9)
    piston = m.body("piston", mass=1.2, center=B, inertia=1e-3)
    weight = m.body("counterweight", mass=counterweight, center=(0, -0.08), inertia=1e-4)
    m.revolute("O", m.ground, crank, at=(0, 0))
    m.revolute("A", crank, link, at=A)
    m.revolute("B", link, piston, at=B)
    m.prismatic("guide", m.ground, piston, at=B, axis=(1, 0))
    m.weld("W", crank, weight, at=(0, 0))
    m.drive("motor", "O", sarrus.Polynomial((0, 30.0)))
    return m


def four_bar(r1, r2, r3, r4, px, py, start=np.pi / 6, level=0.0):
    """A four-bar with its crank at (0, 0) and a coupler point (px, py) from the crank pin, along the coupler.

    r1: ground, r2: crank, r3: coupler, r4: rocker; the crank turns at 1 rad/s. level: by which all is lower.
    """
    A = np.array([0.0, -level])
    B = r2 * np.array([np.cos(start), np.sin(start)])
    D = np.array([r1, 0.0 * r1])
    e = D - B
    square = e[0] * e[0] + e[1] * e[1]
    x = (square + r3 * r3 - r4 * r4) / (2 * square)
    height = r3 * r3 / square - x * x
    if not height > 0:
        raise sarrus.MechanismError("these links do not close")
    C = B + x * e + np.sqrt(height) * np.array([-e[1], e[0]])
    u = (C - B) / r3
    P = B + px * u + py * np.array([-u[1], u[0]])
    B, C, D, P = (A + x for x in (B, C, D, P))
    m = sarrus.Mechanism("four-bar", gravity=(0, 0))
    crank, rocker = m.rod("crank", A, B, mass=1.0), m.rod("rocker", C, D, mass=1.0)
    coupler = m.body("coupler", mass=1.0, center=(B + C + P) / 3, inertia=0.1)
    m.revolute("A", m.ground, crank, at=A)
    m.revolute("B", crank, coupler, at=B)
    m.revolute("C", coupler, rocker, at=C)
    m.revolute("D", m.ground, rocker, at=D)
    m.point("P", coupler, at=P)
    m.drive("motor", "A", sarrus.Polynomial((0, 1.0)))
    return m


def pendulum(speed=1.0):
    """A point-like bob on a rod of 1 m that starts at the bottom."""
    m = sarrus.Mechanism("pendulum", gravity=(0, -9.81))
    rod = m.body("bob", mass=1.0, center=(0, -1), inertia=0.0)
    m.revolute("A", m.ground, rod, at=(0, 0))
    m.point("tip", rod, at=(0, -1))
    m.set_velocity("tip", (speed, 0.0))
    return m
