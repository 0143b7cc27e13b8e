"""Forces and drives that make no sense: each gets a message that names it, with the number."""

import numpy as np
import pytest

from sarrus import Mechanism, MechanismError, Polynomial, Sine, SmoothStep, Table, simulate


def pair():
    """Two rods in the plane with two pins, a slider and a link."""
    m = Mechanism("pair")
    m.rod("a", (0, 0), (1, 0), mass=1)
    m.rod("b", (1, 0), (2, 0), mass=1)
    m.body("c", 1.0, (5, 0), inertia=1.0)
    m.revolute("O", m.ground, "a", at=(0, 0))
    m.revolute("P", "a", "b", at=(1, 0))
    m.prismatic("rail", m.ground, "c", at=(5, 0), axis=(1, 0))
    m.distance("link", "b", "c", start=(2, 0), end=(5, 0))
    return m


def spring(m, **more):
    """A spring of the second rod, with what a test changes."""
    given = {"start": (0, 1), "end": (2, 0), "stiffness": 1.0} | more
    m.spring("s", m.ground, "b", **given)


CASES = {
    "body": (
        lambda m: m.force("f", "nobody", at=(0, 0), vector=(1, 0)),
        "force 'f': there is no body 'nobody'; known: 'a'",
    ),
    "off the rod": (
        lambda m: m.force("f", "a", at=(0, 1), vector=(1, 0)),
        "force 'f' at (0, 1) and rod 'a' are apart by 1 m",
    ),
    "force in space": (
        lambda m: m.force("f", "a", at=(0, 0), vector=(1, 0, 0)),
        "force 'f', vector: (1, 0, 0) has 3 coordinates; a planar mechanism needs 2",
    ),
    "force not finite": (
        lambda m: m.force("f", "a", at=(0, 0), vector=(np.inf, 0)),
        "force 'f', vector: (inf, 0) is not finite",
    ),
    "fixed in": (
        lambda m: m.force("f", "a", at=(0, 0), vector=(1, 0), fixed_in="air"),
        "force 'f': fixed_in 'air' is neither 'world' nor 'body'",
    ),
    "torque shape": (
        lambda m: m.torque("t", "a", (0, 0, 1)),
        "torque 't' has shape (3,); this mechanism needs one number",
    ),
    "torque not finite": (
        lambda m: m.torque("t", "a", np.nan),
        "torque 't': (nan) N m is not finite",
    ),
    "same name": (
        lambda m: (m.torque("t", "a", 1.0), m.joint_torque("t", "O", 1.0)),
        "2 forces or drives are called 't'",
    ),
    "spring of no length": (
        lambda m: spring(m, start=(2, 0)),
        "spring 's' has length zero at the start, both ends at (2, 0)",
    ),
    "spring with itself": (
        lambda m: m.spring("s", "b", "b", start=(1, 0), end=(2, 0)),
        "spring 's' connects body 'b' with itself",
    ),
    "stiffness": (
        lambda m: spring(m, stiffness=np.nan),
        "spring 's': stiffness nan is not finite",
    ),
    "damping": (
        lambda m: spring(m, damping=-2),
        "spring 's': damping -2 is negative, it would feed energy",
    ),
    "free length": (
        lambda m: spring(m, free_length=-1),
        "spring 's': free length -1 m is negative",
    ),
    "torsion at no joint": (
        lambda m: m.torsion("t", "Q", stiffness=1),
        "torsion 't': there is no joint 'Q'; known: 'O', 'P', 'rail', 'link'",
    ),
    "torsion in a slider": (
        lambda m: m.torsion("t", "rail", stiffness=1),
        "torsion 't': joint 'rail' is prismatic; it has to be revolute",
    ),
    "torsion of three": (
        lambda m: (m.revolute("T", "a", "b", m.ground, at=(1, 0)), m.torsion("t", "T")),
        "torsion 't': joint 'T' joins 3 bodies, so its angle is not defined",
    ),
    "torsion damping": (
        lambda m: m.torsion("t", "O", damping=-1),
        "torsion 't': damping -1 is negative",
    ),
    "user point": (
        lambda m: m.user_force("u", ["X"], lambda t, x, v: x),
        "user force 'u': there is no joint, point or body 'X'",
    ),
    "user nowhere": (
        lambda m: m.user_force("u", [], lambda t, x, v: x),
        "user force 'u' acts at no point",
    ),
    "user function": (
        lambda m: m.user_force("u", ["P"], 3.0),
        "user force 'u': 3.0 is not a function; give f(t, position, velocity)",
    ),
    "drive of no joint": (
        lambda m: m.drive("d", "Q", 0.0),
        "drive 'd': there is no joint 'Q'",
    ),
    "drive of a weld": (
        lambda m: (m.weld("W", "a", "c"), m.drive("d", "W", 0.0)),
        "drive 'd': joint 'W' is weld; these can be driven: revolute, prismatic, cylindrical, distance",
    ),
    "drive of three": (
        lambda m: (m.revolute("T", "a", "b", m.ground, at=(1, 0)), m.drive("d", "T", 0.0)),
        "drive 'd': joint 'T' joins 3 bodies, so its angle is not defined",
    ),
    "driven twice": (
        lambda m: (m.drive("d", "O", 0.0), m.drive("e", "O", 0.0)),
        "joint 'O' is driven 2 times (d, e); keep one drive",
    ),
    "drive elsewhere": (
        lambda m: m.drive("d", "O", Polynomial((0.5, 1.0))),
        "drive 'd': the angle of joint 'O' is 0 rad at the start position, but its motion begins with 0.5 rad",
    ),
    "a speed for an angle": (
        lambda m: m.drive("d", "O", 6.0),
        "its motion begins with 6 rad; for a speed of 6 rad/s give Polynomial((0, 6)), or move the start",
    ),
    "length elsewhere": (
        lambda m: m.drive("d", "link", Sine(0.1, 1.0, offset=2.0)),
        "drive 'd': the length of joint 'link' is 3 m at the start position, but its motion begins with 2 m",
    ),
    "motion": (
        lambda m: m.drive("d", "O", SmoothStep(0, 1, 2, 1)),
        "drive 'd': the step ends at 1 s, not after its begin, 2 s",
    ),
}


@pytest.mark.parametrize("at_once", [True, False], ids=["call", "check"])
@pytest.mark.parametrize("name", CASES)
def test_message_names_what_is_wrong(name, at_once):
    """The call raises; as files are read, the check does, before anything is simulated."""
    change, words = CASES[name]
    m = pair()
    m.at_once = at_once
    if not at_once:
        change(m)
    with pytest.raises(MechanismError) as raised:
        change(m) if at_once else m.check()
    assert words in str(raised.value)


def test_table_has_to_cover_the_run():
    """A table that ends early is named with both times."""
    m = pair()
    m.drive("d", "O", Table((0, 0.2, 0.4, 0.6), (0, 0.1, 0.2, 0.4)))
    with pytest.raises(
        MechanismError, match=r"drive 'd': its table ends at 0\.6 s, but the run lasts 1 s"
    ):
        simulate(m, 1.0)


def test_negative_stiffness_is_allowed():
    """An unstable spring is a spring: the check lets it pass."""
    m = pair()
    spring(m, stiffness=-3.0)
    m.check()


def test_spring_and_distance_joint_of_one_name_are_reported_apart():
    """Both have a length that is read by name, so one name would hide one of them."""
    m = Mechanism("two lengths")
    m.body("bob", 1.0, (0, -1))
    m.distance("s", m.ground, "bob", start=(0, 0), end=(0, -1))
    m.spring("s", m.ground, "bob", start=(1, 0), end=(0, -1), stiffness=1.0)
    with pytest.raises(MechanismError, match="a spring and a distance joint are both called 's'"):
        m.check()
