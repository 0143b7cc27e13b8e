"""Mechanisms that hold one of everything the API can write, and a comparison to the last bit."""

import dataclasses
import enum

import numpy as np

from sarrus import Mechanism, Polynomial, Sine, SmoothStep, Table

LISTS = (
    "bodies",
    "joints",
    "markers",
    "forces",
    "torques",
    "springs",
    "torsions",
    "ball_dampers",
    "rotors",
    "couplings",
    "drives",
    "limits",
    "velocities",
    "angular_velocities",
)


def plane_of_everything():
    """Every planar joint, force, motion and start velocity; no mechanism of sense."""
    m = Mechanism("plane: 'everything'", gravity=(0.1, -9.81))
    m.at_once = False
    m.rod("no", (0, 0), (0.1, 1 / 3), mass=1.1)
    m.rod("thick", (0.1, 1 / 3), (1, 1), mass=0.3, section=1e-5)
    m.body("plate", 2.5, (0.5, np.pi), 0.1)
    m.body("point", 1e-30, (-0.0, 5e40))
    m.revolute("pin", m.ground, "no", "plate", at=(0, 0))
    m.weld("weld", "thick", "plate")
    m.weld("weld with a place", "thick", "plate", at=(1, 1))
    m.prismatic("slider", m.ground, "plate", at=(0, 1), axis=(1, 0.1))
    m.point_on_line("slot", "no", "point", at=(0, 1), axis=(1, 1))
    m.distance("link", m.ground, "plate", start=(0.5, 0), end=(0.5, 1))
    m.point("tip", "plate", (1, 2))
    m.force("push", "plate", at=(1, 2), vector=(3, -0.0))
    m.force("follow", "no", at=(0, 0), vector=(3, 4), fixed_in="body")
    m.torque("turn", "plate", -3.5)
    m.spring(
        "spring",
        m.ground,
        "plate",
        start=(0, 0),
        end=(1, 1),
        stiffness=100,
        damping=2,
        free_length=0.0,
        preload=-5,
    )
    m.spring("rest", "no", "plate", start=(0, 0), end=(0.1, 0.7))
    m.torsion("coil", "pin", stiffness=3, damping=0.1, free_angle=-0.2)
    m.joint_torque("motor torque", "pin", 0.7)
    m.rotor("flywheel", "pin", inertia=0.02)
    m.rotor("rack", "slider", mass=1 / 7)
    m.coupling("gear", "pin", "slider", ratio=-17 / 43)
    m.limit("stops", "pin", lower=-0.1, upper=1 / 3, restitution=0.7)
    m.drive("constant", "pin", 0.5)
    m.drive("cubic", "pin", Polynomial((0.1, -2.0, 0.0, 1e-9)))
    m.drive("sine", "slider", Sine(0.01, 2.0, phase=1.0, offset=-0.5))
    m.drive("step", "link", SmoothStep(1.0, 1.5, 0.0, 2.0))
    m.drive("table", "slider", Table((0.0, 1.0, 2.5, 3.0), (0.0, 0.1, 1 / 3, -0.2)))
    m.set_velocity("tip", (1, 0))
    m.set_angular_velocity("no", -2)
    m.assemble = m.exact = True
    m.defaults = {"duration": 2.0, "output_step": 0.01, "tolerance": 1e-9, "method": "series"}
    return m


def space_of_everything():
    """Every spatial joint, and vectors of three."""
    m = Mechanism("space", gravity=(0, 0, -9.81))
    m.at_once = False
    m.rod("1", (0, 0, 0), (0, 0, 1), mass=1, section=0.1)
    m.body("a.b", 2, (1, 2, 3), (0.1, 0.2, 0.25))
    m.body("full", 2, (1, 2, 3), [[0.3, -0.01, 0.02], [-0.01, 0.3, 0.0], [0.02, 0.0, 0.4]])
    m.body("über", 1, (0, 0, 0))
    m.revolute("hinge", m.ground, "1", at=(0, 0, 0), axis=(0, 1, 0))
    m.spherical("ball", "1", "a.b", "full", at=(0, 0, 1))
    m.cylindrical("sleeve", "1", "full", at=(0, 0, 1), axis=(0, 0, 1))
    m.prismatic("rail", "1", "full", at=(0, 0, 1), axis=(0, 0, 3))
    m.universal("cross", "1", "full", at=(0, 0, 1), axis=(1, 0, 0), second_axis=(0, 1, 0))
    m.planar("table", m.ground, "full", at=(0, 0, 1), normal=(0, 0, 1))
    m.rectangular("stage", "1", "full", at=(0, 0, 1), normal=(0, 2, 0.1))
    m.point_on_plane("floor", m.ground, "über", at=(0, 0, 0), normal=(0, 0, 1))
    m.point_on_line("wire", m.ground, "über", at=(0, 0, 0), axis=(1, 0, 0))
    m.distance("bar", "1", "über", start=(0, 0, 1), end=(0, 0, 0))
    m.rotor("gyro", "ball", inertia=1e-3)
    m.ball_damper("grease", "ball", damping=1 / 30)
    m.torque("turn", "full", (1, 2, 3), fixed_in="body")
    m.set_angular_velocity("full", (0, 150, -4.61538))
    m.spherical("open", m.ground, "full", at=((0, 0, 1), (0, 0.1, 1)))
    m.revolute("skew", m.ground, "full", at=(0, 0, 1), axis=((0, 0, 1), (0.1, 0, 1)))
    return m


def bits(thing):
    """Everything that a part of a mechanism holds, numbers as bytes."""
    if dataclasses.is_dataclass(thing):
        fields = {f.name: bits(getattr(thing, f.name)) for f in dataclasses.fields(thing)}
        return type(thing).__name__, fields
    if isinstance(thing, tuple | list):
        return tuple(bits(item) for item in thing)
    if isinstance(thing, np.ndarray):
        return thing.shape, thing.dtype.str, thing.tobytes()
    if isinstance(thing, float | int | np.floating):
        return np.float64(thing).tobytes()
    assert thing is None or isinstance(thing, str | enum.Enum), thing
    return thing


def assert_same_bits(a, b):
    """The same names, order and bits everywhere."""
    assert (a.name, a.assemble, a.exact, a.defaults) == (b.name, b.assemble, b.exact, b.defaults)
    assert bits(a.gravity) == bits(b.gravity)
    for name in LISTS:
        assert bits(getattr(a, name)) == bits(getattr(b, name)), name
