"""Random chains and loops with oblique inertias: every rotation of an inertia, a joint or a state is in them."""

import numpy as np

from sarrus import Mechanism

KINDS = ("revolute", "prismatic", "cylindrical", "universal", "spherical")


def _inertia(rng, mass):
    """Of a lump whose principal axes are oblique."""
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    second = mass * Q @ np.diag(rng.uniform(0.01, 0.1, 3)) @ Q.T
    inertia = np.trace(second) * np.eye(3) - second
    return 0.5 * (inertia + inertia.T)


def _direction(rng):
    d = rng.normal(size=3)
    return d / np.linalg.norm(d)


def _lump(m, rng, name, start, end):
    """A body between two places, its centre next to the line through them."""
    mass = rng.uniform(0.5, 2.0)
    m.body(name, mass, 0.5 * (start + end) + 0.1 * _direction(rng), _inertia(rng, mass))


def chain(seed, kinds=KINDS):
    """Three bodies, each hung on the one before by a joint of a random kind, the first one turning."""
    rng = np.random.default_rng(seed)
    m = Mechanism(f"chain {seed}", gravity=(0.0, 0.0, -9.81))
    at, above = np.zeros(3), m.ground
    for i in range(3):
        name, end = f"b{i}", at + rng.uniform(0.4, 0.7) * _direction(rng)
        _lump(m, rng, name, at, end)
        kind, axis = str(rng.choice(kinds)), _direction(rng)
        if kind == "spherical":
            m.spherical(f"j{i}", above, name, at=at)
        elif kind == "universal":
            second = np.cross(axis, _direction(rng))
            m.universal(f"j{i}", above, name, at=at, axis=axis, second_axis=second)
        else:
            getattr(m, kind)(f"j{i}", above, name, at=at, axis=axis)
        if i == 0 and kind != "prismatic":
            # of hinges, cylinders and crosses along their axis, which lies in the ground
            m.set_angular_velocity(name, rng.normal(size=3) if kind == "spherical" else axis)
        at, above = end, name
    m.point("end", above, at)
    return m


def loop(seed):
    """A crank, a coupler on two balls and a rocker, in general position: no joint is redundant."""
    rng = np.random.default_rng(seed)
    m = Mechanism(f"loop {seed}", gravity=(0.0, 0.0, -9.81))
    far = np.array([1.0, 0.0, 0.0]) + rng.uniform(-0.1, 0.1, 3)
    first = np.array([0.1, 0.4, 0.1]) + rng.uniform(-0.1, 0.1, 3)
    last = far + np.array([0.1, 0.6, 0.2]) + rng.uniform(-0.1, 0.1, 3)
    _lump(m, rng, "crank", np.zeros(3), first)
    _lump(m, rng, "coupler", first, last)
    _lump(m, rng, "rocker", far, last)
    m.revolute("A", m.ground, "crank", at=(0, 0, 0), axis=_direction(rng))
    m.spherical("B", "crank", "coupler", at=first)
    m.spherical("C", "coupler", "rocker", at=last)
    m.revolute("D", m.ground, "rocker", at=far, axis=_direction(rng))
    m.point("end", "coupler", 0.5 * (first + last))
    return m
