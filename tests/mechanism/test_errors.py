"""Mechanisms that cannot be simulated: each gives one clear error and nothing else."""

import re
import warnings

import numpy as np
import pytest

import sarrus
from sarrus import Mechanism, MechanismError
from sarrus.names import find_meant

NAN, INF = float("nan"), float("inf")

# a message says what to do with one of these words
ADVICE = re.compile(r"\b(give|move|use|choose|check|name|add|known|leave|needs|connects)\b", re.I)


def pendulum(
    start=(0, 0),
    end=(1, 0),
    mass=1.0,
    section=0.0,
    at=(0, 0),
    bodies=("ground", "crank"),
    more=None,
):
    """Build a planar rod 'crank' on a pin 'pin' with its end named 'tip', and what `more` adds."""
    m = Mechanism("swing")
    m.rod("crank", start, end, mass, section)
    m.revolute("pin", *bodies, at=at)
    m.point("tip", "crank", (1, 0))
    if more is not None:
        more(m)
    return m


def hinged(
    start=(0, 0, 0),
    end=(1, 0, 0),
    mass=1.0,
    section=0.0,
    at=(0, 0, 0),
    axis=(0, 1, 0),
    more=None,
):
    """Build a spatial rod 'crank' on a hinge 'pin' across it, and what `more` adds."""
    m = Mechanism("door", gravity=(0, 0, -9.81))
    m.rod("crank", start, end, mass, section)
    m.revolute("pin", m.ground, "crank", at=at, axis=axis)
    if more is not None:
        more(m)
    return m


def plate(inertia=None, mass=1.0, center=(0, 0)):
    """Build a planar mechanism of one body 'plate'."""
    m = Mechanism("sheet")
    m.body("plate", mass, center, inertia)
    return m


def brick(inertia=None, mass=1.0, center=(0, 0, 0)):
    """Build a spatial mechanism of one body 'brick'."""
    m = Mechanism("wall", gravity=(0, 0, -9.81))
    m.body("brick", mass, center, inertia)
    return m


def under(gravity):
    """Build a planar rod under the given gravity."""
    m = Mechanism("swing", gravity=gravity)
    m.rod("crank", (0, 0), (1, 0), 1.0)
    return m


def lone_rod(start, end):
    """Build a mechanism of one planar rod 'crank'."""
    m = Mechanism("stick")
    m.rod("crank", start, end, 1.0)
    return m


# name: (what builds it, what the message must contain)
CASES = {
    # the mechanism as a whole
    "no-bodies": (lambda: Mechanism("nothing"), ["nothing", "no bodies", "rod()"]),
    "gravity-one-number": (lambda: under((9.81,)), ["swing", "gravity", "1 number", "give 2"]),
    "gravity-four-numbers": (lambda: under((0, 0, 0, 1)), ["swing", "gravity", "4 numbers"]),
    "gravity-scalar": (lambda: under(9.81), ["swing", "gravity", "give 2"]),
    "gravity-none": (lambda: under(None), ["swing", "gravity"]),
    "gravity-matrix": (lambda: under(np.eye(2)), ["swing", "gravity"]),
    "gravity-nan": (lambda: under((0, NAN)), ["swing", "gravity", "nan", "not finite"]),
    "gravity-inf": (lambda: under((0, 0, -INF)), ["swing", "gravity", "inf", "not finite"]),
    "gravity-string": (lambda: under("down"), ["swing", "gravity", "down", "number"]),
    # mass
    "mass-zero": (lambda: pendulum(mass=0), ["rod 'crank'", "mass 0 kg", "positive"]),
    "mass-negative": (lambda: pendulum(mass=-2.5), ["rod 'crank'", "-2.5 kg", "positive"]),
    "mass-nan": (lambda: pendulum(mass=NAN), ["rod 'crank'", "mass nan", "positive"]),
    "mass-inf": (lambda: pendulum(mass=INF), ["rod 'crank'", "mass inf", "positive"]),
    "mass-string": (lambda: pendulum(mass="heavy"), ["crank", "mass", "heavy"]),
    "mass-none": (lambda: pendulum(mass=None), ["crank", "mass", "None"]),
    "mass-list": (lambda: pendulum(mass=[1.0, 2.0]), ["crank", "mass"]),
    "mass-zero-body": (lambda: plate(mass=0), ["body 'plate'", "mass 0 kg", "positive"]),
    "mass-zero-space": (lambda: hinged(mass=0), ["rod 'crank'", "mass 0 kg", "positive"]),
    "mass-string-body": (lambda: brick(mass="heavy"), ["brick", "mass", "heavy"]),
    # ends of a rod
    "rod-length-zero": (
        lambda: pendulum(end=(0, 0)),
        ["rod 'crank'", "length zero", "(0, 0)", "body()"],
    ),
    "rod-length-zero-space": (
        lambda: hinged(end=(0, 0, 0)),
        ["rod 'crank'", "length zero", "(0, 0, 0)", "body()"],
    ),
    "rod-nan": (lambda: pendulum(end=(NAN, 0)), ["rod 'crank'", "end", "nan", "not finite"]),
    "rod-inf": (lambda: hinged(end=(INF, 0, 0)), ["rod 'crank'", "end", "inf", "not finite"]),
    "rod-end-in-space": (
        lambda: pendulum(end=(1, 0, 0)),
        ["rod 'crank'", "end", "3 coordinates", "planar", "needs 2"],
    ),
    "rod-end-in-plane": (
        lambda: hinged(end=(1, 0)),
        ["rod 'crank'", "end", "2 coordinates", "spatial", "needs 3"],
    ),
    "rod-four-coordinates": (
        lambda: lone_rod((0, 0, 0, 0), (1, 0, 0, 0)),
        ["rod 'crank'", "4 coordinates", "needs 2"],
    ),
    "rod-scalar-ends": (lambda: lone_rod(0, 1), ["rod 'crank'", "needs 2"]),
    "rod-end-none": (lambda: lone_rod((0, 0), None), ["rod 'crank'", "end"]),
    "rod-both-ends-none": (lambda: lone_rod(None, None), ["rod 'crank'", "start"]),
    "rod-end-strings": (lambda: lone_rod((0, 0), ("a", "b")), ["rod 'crank'", "number"]),
    "rod-end-complex": (lambda: lone_rod((0, 0), (1j, 0)), ["rod 'crank'", "not numeric"]),
    "rod-end-ragged": (lambda: lone_rod((0, 0), (1, (2, 3))), ["rod 'crank'", "not numeric"]),
    "rod-matrix": (lambda: lone_rod(np.eye(2), np.ones((2, 2))), ["rod 'crank'", "needs 2"]),
    # section of a rod
    "section-negative": (lambda: pendulum(section=-0.1), ["rod 'crank'", "section -0.1 m", "side"]),
    "section-nan": (lambda: hinged(section=NAN), ["rod 'crank'", "section nan", "side"]),
    "section-inf": (lambda: hinged(section=INF), ["rod 'crank'", "section inf", "side"]),
    "section-string": (lambda: hinged(section="thick"), ["crank", "section", "thick"]),
    "section-none": (lambda: hinged(section=None), ["crank", "section"]),
    # inertia
    "inertia-negative": (lambda: plate(-1.5), ["body 'plate'", "inertia -1.5", "negative"]),
    "inertia-nan": (lambda: plate(NAN), ["body 'plate'", "inertia", "nan", "not finite"]),
    "inertia-three-in-plane": (lambda: plate((1, 1, 1)), ["body 'plate'", "inertia", "one number"]),
    "inertia-string": (lambda: plate("big"), ["body 'plate'", "inertia", "number"]),
    "inertia-scalar-in-space": (lambda: brick(1.0), ["body 'brick'", "inertia", "3 x 3"]),
    "inertia-two-by-two": (lambda: brick(np.eye(2)), ["body 'brick'", "(2, 2)", "3 x 3"]),
    "inertia-four": (lambda: brick((1, 1, 1, 1)), ["body 'brick'", "(4,)", "3 x 3"]),
    "inertia-asymmetric": (
        lambda: brick([[1, 0.25, 0], [0, 1, 0], [0, 0, 1]]),
        ["body 'brick'", "not symmetric", "0.25"],
    ),
    "inertia-triangle": (
        lambda: brick((1, 1, 3)),
        ["body 'brick'", "(1, 1, 3)", "exceeds the sum", "check"],
    ),
    "inertia-negative-in-space": (
        lambda: brick((-1, 1, 1)),
        ["body 'brick'", "(-1, 1, 1)", "negative", "check"],
    ),
    "inertia-nan-in-space": (lambda: brick((1, NAN, 1)), ["body 'brick'", "nan", "not finite"]),
    # centre of a body
    "center-in-space": (
        lambda: plate(1.0, center=(0, 0, 0)),
        ["body 'plate'", "center", "needs 2"],
    ),
    "center-in-plane": (lambda: brick(center=(0, 0)), ["body 'brick'", "center", "needs 3"]),
    "center-scalar": (lambda: plate(center=1.0), ["body 'plate'", "center", "needs 2"]),
    "center-none": (lambda: plate(center=None), ["body 'plate'", "center"]),
    "center-nan": (lambda: brick(center=(0, 0, NAN)), ["body 'brick'", "center", "nan"]),
    # place of a joint
    "joint-nan": (lambda: pendulum(at=(NAN, 0)), ["joint 'pin'", "nan", "not finite"]),
    "joint-none": (lambda: pendulum(at=None), ["joint 'pin'"]),
    "joint-none-in-space": (lambda: hinged(at=None), ["joint 'pin'"]),
    "ball-none": (
        lambda: hinged(more=lambda m: m.spherical("ball", m.ground, "crank", at=None)),
        ["joint 'ball'"],
    ),
    "joint-string": (lambda: pendulum(at="here"), ["joint 'pin'", "here", "number"]),
    "joint-in-space": (lambda: pendulum(at=(0, 0, 0)), ["joint 'pin'", "3 coordinates", "needs 2"]),
    "joint-in-plane": (lambda: hinged(at=(0, 0)), ["joint 'pin'", "2 coordinates", "needs 3"]),
    "joint-beside-rod": (
        lambda: pendulum(at=(0.5, 0.25)),
        ["joint 'pin'", "rod 'crank'", "apart by 0.25 m", "(0.5, 0)", "move"],
    ),
    "joint-beyond-rod": (
        lambda: pendulum(at=(1.5, 0)),
        ["joint 'pin'", "rod 'crank'", "apart by 0.5 m", "(1, 0)", "move"],
    ),
    "joint-three-microns-off": (
        lambda: pendulum(at=(0.5, 3e-6)),
        ["joint 'pin'", "rod 'crank'", "apart by 3e-06 m", "move"],
    ),
    "joint-beside-rod-space": (
        lambda: hinged(at=(0.5, 0, 0.125)),
        ["joint 'pin'", "rod 'crank'", "apart by 0.125 m", "move"],
    ),
    "rods-apart": (
        lambda: pendulum(
            more=lambda m: (
                m.rod("rocker", (1.5, 0), (3, 0), 1.0),
                m.revolute("elbow", "crank", "rocker", at=(1, 0)),
            )
        ),
        ["joint 'elbow'", "rod 'rocker'", "apart by 0.5 m", "move"],
    ),
    "weld-beside-rod": (
        lambda: pendulum(more=lambda m: m.weld("glue", m.ground, "crank", at=(5, 0))),
        ["joint 'glue'", "rod 'crank'", "apart by 4 m", "move"],
    ),
    # axis of a hinge
    "axis-missing": (lambda: hinged(axis=None), ["joint 'pin'", "no axis", "axis=(x, y, z)"]),
    "axis-zero": (lambda: hinged(axis=(0, 0, 0)), ["joint 'pin'", "axis", "length zero", "give"]),
    "axis-nan": (lambda: hinged(axis=(0, NAN, 0)), ["joint 'pin'", "axis", "nan", "not finite"]),
    "axis-two-numbers": (lambda: hinged(axis=(0, 1)), ["joint 'pin'", "axis", "needs 3"]),
    "axis-string": (lambda: hinged(axis="z"), ["joint 'pin'", "axis", "not numeric"]),
    "axis-nan-in-plane": (
        lambda: pendulum(
            more=lambda m: m.revolute("x", "ground", "crank", at=(0, 0), axis=(0, 0, NAN))
        ),
        ["joint 'x'", "axis"],
    ),
    "axis-in-the-plane": (
        lambda: pendulum(
            more=lambda m: m.revolute("x", "ground", "crank", at=(0, 0), axis=(1, 0, 0))
        ),
        ["joint 'x'", "axis", "plan"],
    ),
    # bodies of a joint
    "ball-in-plane": (
        lambda: pendulum(more=lambda m: m.spherical("ball", m.ground, "crank", at=(0, 0))),
        ["joint 'ball'", "spatial", "revolute()"],
    ),
    "joint-one-body": (lambda: pendulum(bodies=("crank",)), ["joint 'pin'", "1 bod", "two"]),
    "joint-no-body": (lambda: pendulum(bodies=()), ["joint 'pin'", "0 bodies", "two"]),
    "joint-unknown-body": (
        lambda: pendulum(bodies=("crank", "rocker")),
        ["joint 'pin'", "no body 'rocker'", "known: 'crank'"],
    ),
    "joint-with-itself": (
        lambda: pendulum(bodies=("crank", "crank")),
        ["joint 'pin'", "'crank' with itself", "two different"],
    ),
    "joint-ground-with-itself": (
        lambda: pendulum(bodies=("ground", "ground")),
        ["joint 'pin'", "'ground' with itself", "two different"],
    ),
    "joint-body-none": (lambda: pendulum(bodies=("crank", None)), ["joint 'pin'", "None"]),
    "joint-body-number": (lambda: pendulum(bodies=("crank", 3)), ["joint 'pin'", "3"]),
    "joint-body-list": (lambda: pendulum(bodies=(["crank", "ground"],)), ["joint 'pin'"]),
    "weld-with-itself": (
        lambda: hinged(more=lambda m: m.weld("glue", "crank", "crank")),
        ["joint 'glue'", "with itself", "two different"],
    ),
    "weld-unknown-body": (
        lambda: hinged(more=lambda m: m.weld("glue", "crank", "rocker")),
        ["joint 'glue'", "no body 'rocker'", "known: 'crank'"],
    ),
    # names
    "two-bodies-one-name": (
        lambda: pendulum(more=lambda m: m.rod("crank", (0, 0), (1, 0), 1.0)),
        ["2 bodies", "'crank'", "give each"],
    ),
    "two-joints-one-name": (
        lambda: pendulum(more=lambda m: m.revolute("pin", m.ground, "crank", at=(0, 0))),
        ["2 joints", "'pin'", "give each"],
    ),
    "joint-and-point-one-name": (
        lambda: pendulum(more=lambda m: m.point("pin", "crank", (0, 0))),
        ["'pin'", "give each"],
    ),
    "body-called-ground": (
        lambda: pendulum(more=lambda m: m.rod("ground", (0, 0), (1, 0), 1.0)),
        ["'ground'", "fixed frame", "choose"],
    ),
    "name-is-a-list": (
        lambda: pendulum(more=lambda m: m.rod(["a"], (0, 0), (1, 0), 1.0)),
        ["name", "a"],
    ),
    # points
    "point-unknown-body": (
        lambda: pendulum(more=lambda m: m.point("mid", "rocker", (0, 0))),
        ["point 'mid'", "no body 'rocker'", "known: 'crank'"],
    ),
    "point-beside-rod": (
        lambda: pendulum(more=lambda m: m.point("mid", "crank", (0.5, 0.5))),
        ["point 'mid'", "rod 'crank'", "apart by 0.5 m", "move"],
    ),
    "point-nan": (
        lambda: pendulum(more=lambda m: m.point("mid", "crank", (0.5, NAN))),
        ["point 'mid'", "nan", "not finite"],
    ),
    "point-none": (
        lambda: pendulum(more=lambda m: m.point("mid", "crank", None)),
        ["point 'mid'"],
    ),
    "point-in-space": (
        lambda: pendulum(more=lambda m: m.point("mid", "ground", (9, 9, 9))),
        ["point 'mid'", "3 coordinates", "needs 2"],
    ),
    # velocities of points
    "velocity-unknown-point": (
        lambda: pendulum(more=lambda m: m.set_velocity("top", (0, 1))),
        ["'top'", "known: 'pin', 'tip'"],
    ),
    "velocity-of-none": (
        lambda: pendulum(more=lambda m: m.set_velocity(None, (0, 1))),
        ["velocity", "None"],
    ),
    "velocity-three-numbers": (
        lambda: pendulum(more=lambda m: m.set_velocity("tip", (0, 1, 0))),
        ["velocity of point 'tip'", "3 coordinates", "needs 2"],
    ),
    "velocity-two-numbers": (
        lambda: hinged(more=lambda m: m.set_velocity("pin", (0, 1))),
        ["velocity of point 'pin'", "2 coordinates", "needs 3"],
    ),
    "velocity-nan": (
        lambda: pendulum(more=lambda m: m.set_velocity("tip", (0, NAN))),
        ["velocity of point 'tip'", "nan", "not finite"],
    ),
    "velocity-string": (
        lambda: pendulum(more=lambda m: m.set_velocity("tip", "fast")),
        ["velocity of point 'tip'", "fast", "number"],
    ),
    "velocity-none": (
        lambda: pendulum(more=lambda m: m.set_velocity("tip", None)),
        ["velocity of point 'tip'"],
    ),
    "velocity-forbidden": (
        # the tip can only move along y, so all of the 3 m/s along x is missed
        lambda: pendulum(more=lambda m: m.set_velocity("tip", (3, 1))),
        ["velocity of point 'tip'", "(3, 1) m/s", "by 3 m/s", "possible motion"],
    ),
    "velocity-of-the-ground": (
        lambda: pendulum(more=lambda m: m.set_velocity("pin", (0, 2))),
        ["velocity of point 'pin'", "(0, 2) m/s", "by 2 m/s", "possible motion"],
    ),
    "velocity-forbidden-in-space": (
        lambda: hinged(
            more=lambda m: (m.point("tip", "crank", (1, 0, 0)), m.set_velocity("tip", (0, 5, 1)))
        ),
        ["velocity of point 'tip'", "(0, 5, 1) m/s", "by 5 m/s", "possible motion"],
    ),
    "velocity-contradicted": (
        lambda: pendulum(
            more=lambda m: (m.set_velocity("tip", (0, 1)), m.set_velocity("tip", (0, 2)))
        ),
        ["velocity of point 'tip'", "m/s"],
    ),
    "velocity-of-a-rigid-mechanism": (
        lambda: pendulum(
            more=lambda m: (m.weld("glue", m.ground, "crank"), m.set_velocity("tip", (0, 1)))
        ),
        ["velocity of point 'tip'", "by 1 m/s"],
    ),
    # angular velocities
    "spin-unknown-body": (
        lambda: pendulum(more=lambda m: m.set_angular_velocity("rocker", 1)),
        ["body 'rocker'", "known: 'crank'"],
    ),
    "spin-of-none": (
        lambda: pendulum(more=lambda m: m.set_angular_velocity(None, 1)),
        ["angular velocity", "None"],
    ),
    "spin-vector-in-plane": (
        lambda: pendulum(more=lambda m: m.set_angular_velocity("crank", (0, 0, 1))),
        ["body 'crank'", "3 numbers", "needs one number"],
    ),
    "spin-scalar-in-space": (
        lambda: hinged(more=lambda m: m.set_angular_velocity("crank", 1)),
        ["body 'crank'", "needs 3 numbers"],
    ),
    "spin-nan": (
        lambda: pendulum(more=lambda m: m.set_angular_velocity("crank", NAN)),
        ["body 'crank'", "nan", "not finite"],
    ),
    "spin-string": (
        lambda: pendulum(more=lambda m: m.set_angular_velocity("crank", "fast")),
        ["crank", "fast", "number"],
    ),
    "spin-forbidden": (
        # the hinge lets the rod turn about y only, so the part along z is missed
        lambda: hinged(more=lambda m: m.set_angular_velocity("crank", (0, 1, 2))),
        ["body 'crank'", "(0, 1, 2) rad/s", "by 2 rad/s", "possible motion"],
    ),
    "spin-of-a-welded-body": (
        lambda: pendulum(
            more=lambda m: (m.weld("glue", m.ground, "crank"), m.set_angular_velocity("crank", 1))
        ),
        ["body 'crank'", "by 1 rad/s"],
    ),
    "spin-of-the-ground": (
        lambda: pendulum(more=lambda m: m.set_angular_velocity(m.ground, 1)),
        ["'ground'", "known: 'crank'"],
    ),
    # degrees of freedom without mass: a point mass has no inertia, so nothing says how the mark turns
    "mark-beside-a-free-point-mass": (
        lambda: marked(plate(), "plate", (1, 0)),
        ["'plate'", "mass"],
    ),
    "mark-beside-a-free-point-mass-in-space": (
        lambda: marked(brick(), "brick", (1, 0, 0)),
        ["'brick'", "mass"],
    ),
}


def marked(m, body, at):
    """Add a point 'mark' to a body."""
    m.point("mark", body, at)
    return m


def message_of(build):
    """Message of the error; any other exception or a warning fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(MechanismError) as caught:
            sarrus.simulate(build(), 0.1)
    return str(caught.value)


@pytest.mark.parametrize(("build", "fragments"), CASES.values(), ids=CASES)
def test_error_names_the_part_and_the_number_and_says_what_to_do(build, fragments):
    """A bad mechanism raises MechanismError; its message has every fragment and a word of advice."""
    message = message_of(build)
    missing = [f for f in fragments if f not in message]
    assert not missing, f"{missing} not in: {message}"
    assert ADVICE.search(message), f"no advice in: {message}"


def test_error_is_a_value_error():
    """MechanismError can be caught as ValueError."""
    assert issubclass(MechanismError, ValueError)


def test_corpus_is_large():
    """The corpus holds planar and spatial cases, at least forty."""
    assert len(CASES) >= 40


def test_all_problems_are_listed_at_once():
    """Several problems of several parts are one error with a line each."""
    m = Mechanism("wreck")
    # as files are read: to their end
    m.at_once = False
    m.rod("crank", (0, 0), (0, 0), mass=-1)
    m.rod("rocker", (1, 0), (NAN, 0), mass=0, section=-1)
    m.body("plate", 1.0, (0, 0), -2.0)
    m.revolute("pin", m.ground, "cranck", at=(0, 0))
    m.revolute("loop", "rocker", "rocker", at=(1, 0))
    m.set_velocity("tip", (0, 1))
    m.set_angular_velocity("wheel", 1.0)
    with pytest.raises(MechanismError) as caught:
        sarrus.simulate(m, 1.0)
    message = str(caught.value)
    expected = [
        "10 problems in mechanism 'wreck'",
        "rod 'crank': mass -1",
        "rod 'crank': length zero",
        "rod 'rocker': mass 0",
        "rod 'rocker', end: (nan, 0)",
        "rod 'rocker': section -1",
        "body 'plate': inertia -2",
        "no body 'cranck'",
        "connects body 'rocker' with itself",
        "velocity given for 'tip'",
        "body 'wheel'",
    ]
    missing = [e for e in expected if e not in message]
    assert not missing, f"{missing} not in: {message}"
    assert len(message.splitlines()) == 11


@pytest.mark.parametrize("thing", [None, "mechanism", Mechanism, 3.0, {}], ids=repr)
def test_what_is_no_mechanism_is_rejected(thing):
    """Something else than a mechanism gives a ValueError or TypeError that requires one."""
    with pytest.raises((ValueError, TypeError), match="Mechanism"):
        sarrus.simulate(thing, 1.0)


def test_check_raises_the_same_error():
    """Mechanism.check gives the message that simulate gives."""
    m = pendulum(at=[(0, 0), (0.5, 0)])
    with pytest.raises(MechanismError) as early:
        m.check()
    with pytest.raises(MechanismError) as late:
        sarrus.simulate(m, 1.0)
    assert str(early.value) == str(late.value)


# degrees of freedom without inertia: a clear error or a right simulation


def spinning_rod(spin):
    """Build a thin rod on a hinge along its own axis."""
    m = hinged(axis=(1, 0, 0))
    if spin:
        m.set_angular_velocity("crank", (spin, 0, 0))
    return m


def rod_between_two_arms():
    """Build two arms on hinges and a thin rod between them on hinges along the rod."""
    m = Mechanism("frame", gravity=(0, 0, -9.81))
    m.rod("left", (0, 0, 0), (0, 1, 0), 1.0)
    m.rod("bar", (0, 1, 0), (1, 1, 0), 1.0)
    m.rod("right", (1, 1, 0), (1, 0, 0), 1.0)
    m.revolute("a", m.ground, "left", at=(0, 0, 0), axis=(1, 0, 0))
    m.revolute("b", "left", "bar", at=(0, 1, 0), axis=(1, 0, 0))
    m.revolute("c", "bar", "right", at=(1, 1, 0), axis=(1, 0, 0))
    m.revolute("d", "right", m.ground, at=(1, 0, 0), axis=(1, 0, 0))
    return m


def rod_along_an_arm():
    """Build an arm on a hinge and a thin rod in line with it, on a hinge along both."""
    m = Mechanism("mast", gravity=(0, 0, -9.81))
    m.rod("arm", (0, 0, 0), (0, 1, 0), 1.0)
    m.rod("tail", (0, 1, 0), (0, 2, 0), 1.0)
    m.revolute("a", m.ground, "arm", at=(0, 0, 0), axis=(1, 0, 0))
    m.revolute("b", "arm", "tail", at=(0, 1, 0), axis=(0, 1, 0))
    return m


def straight_double_rod_on_a_ball():
    """Build two thin rods in line: nothing resists a spin about their common line."""
    m = Mechanism("flail", gravity=(0, 0, -9.81))
    m.rod("upper", (0, 0, 0), (0, 1, 0), 1.0)
    m.rod("lower", (0, 1, 0), (0, 2, 0), 1.0)
    m.spherical("a", m.ground, "upper", at=(0, 0, 0))
    m.revolute("b", "upper", "lower", at=(0, 1, 0), axis=(1, 0, 0))
    return m


def point_mass_on_its_pin():
    """Build a point mass pinned at itself, with a mark that nothing turns."""
    m = plate()
    m.revolute("pin", m.ground, "plate", at=(0, 0))
    return marked(m, "plate", (1, 0))


def point_mass_on_a_ball():
    """Build a point mass on a ball joint, with a mark next to the line between them."""
    m = brick(center=(1, 0, 0))
    m.spherical("ball", m.ground, "brick", at=(0, 0, 0))
    return marked(m, "brick", (0, 1, 0))


MOVABLE = {
    "rod-on-its-own-axis": lambda: spinning_rod(0.0),
    "rod-spinning-on-its-own-axis": lambda: spinning_rod(1.0),
    "rod-between-two-arms": rod_between_two_arms,
    "rod-along-an-arm": rod_along_an_arm,
}
REJECTED = {
    "straight-double-rod": straight_double_rod_on_a_ball,
    "point-mass-on-its-pin": point_mass_on_its_pin,
    "point-mass-on-a-ball": point_mass_on_a_ball,
}


@pytest.mark.parametrize("build", MOVABLE.values(), ids=MOVABLE)
def test_massless_spin_that_moves_no_point_is_simulated(build):
    """A spin without inertia about a thin rod's own line leaves every number finite."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = sarrus.simulate(build(), 0.5, 0.1)
    assert result.status == "done", result.message
    for values in (result.coordinates, result.rates, result.accelerations, result.energy_balance):
        assert np.isfinite(values).all()
    assert result.energy_drift < 1e-7


@pytest.mark.parametrize("build", REJECTED.values(), ids=REJECTED)
def test_massless_degree_of_freedom_is_rejected_by_name(build):
    """A degree of freedom without inertia gives an error that names a body."""
    m = build()
    with pytest.raises(MechanismError) as caught:
        sarrus.simulate(m, 0.5, 0.1)
    assert any(f"'{b.name}'" in str(caught.value) for b in m.bodies), str(caught.value)


def test_rod_along_an_arm_swings_as_one_rod():
    """A massless spin about the common line leaves the swing of a rod of double length."""
    one = Mechanism("one", gravity=(0, 0, -9.81))
    one.rod("rod", (0, 0, 0), (0, 2, 0), 2.0)
    one.revolute("a", one.ground, "rod", at=(0, 0, 0), axis=(1, 0, 0))
    two = rod_along_an_arm()
    two.point("tip", "tail", (0, 2, 0))
    one.point("tip", "rod", (0, 2, 0))
    got = sarrus.simulate(two, 1.0, 0.1)
    want = sarrus.simulate(one, 1.0, 0.1)
    assert got.status == "done"
    # tolerance of both runs, 1e-10 of 2 m, with a margin
    np.testing.assert_allclose(got.position("tip"), want.position("tip"), atol=1e-8)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("pin", "did you mean 'revolute'"),
        ("slider", "did you mean 'prismatic'"),
        ("gear", "did you mean 'coupling'"),
        ("revolut", "did you mean 'revolute'"),
        ("cam", "are not supported"),
    ],
)
def test_other_words_for_parts(word, hint):
    """A call by another word of the field names the right one; so do files, with their spelling."""
    with pytest.raises(AttributeError, match=f"a Mechanism has no '{word}'.*{hint}"):
        getattr(Mechanism(), word)
    assert not hasattr(Mechanism(), "_private")
    assert find_meant("gears", ["sarrus", "couplings"]) == "couplings"
    assert find_meant("pin-in-slot", ["revolute", "point-on-line"]) == "point-on-line"
