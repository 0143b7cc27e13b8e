"""What a call can see to be wrong it rejects itself; what needs the whole is reported with the user's line."""

import inspect
from pathlib import Path

import pytest

import sarrus
from sarrus import Mechanism, MechanismError


def swing():
    """Build a rod on a pin with a named tip, a spring and a drive."""
    m = Mechanism("swing")
    m.rod("crank", (0, 0), (1, 0), mass=1)
    m.revolute("pin", m.ground, "crank", at=(0, 0))
    m.point("tip", "crank", (1, 0))
    m.spring("strut", m.ground, "crank", start=(0, 1), end=(1, 0), stiffness=10)
    return m


WRONG = {
    "body-twice": (lambda m: m.rod("crank", (0, 0), (0, 1), 1), "2 bodies are called 'crank'"),
    "body-ground": (lambda m: m.body("ground", 1, (0, 0)), "the name of the fixed frame"),
    "joint-twice": (
        lambda m: m.revolute("pin", m.ground, "crank", at=(0, 0)),
        "2 joints or points are called 'pin'",
    ),
    "point-as-joint": (lambda m: m.point("pin", "crank", (0, 0)), "called 'pin'"),
    "joint-as-point": (lambda m: m.weld("tip", m.ground, "crank"), "called 'tip'"),
    "load-twice": (lambda m: m.torque("strut", "crank", 1), "forces or drives are called 'strut'"),
    "unknown-body": (lambda m: m.point("end", "crnk", (1, 0)), "did you mean 'crank'"),
    "unknown-joint": (lambda m: m.drive("motor", "pinn", 0.0), "did you mean 'pin'"),
    "unknown-point": (lambda m: m.set_velocity("tipp", (0, 1)), "did you mean 'tip'"),
    "unknown-turning": (lambda m: m.set_angular_velocity("crnk", 1), "did you mean 'crank'"),
    "negative-mass": (lambda m: m.body("weight", -1, (0, 0)), "mass -1 kg"),
    "length-zero": (lambda m: m.rod("dot", (1, 1), (1, 1), 1), "length zero"),
    "dimension": (lambda m: m.rod("far", (0, 0, 0), (1, 0, 0), 1), "a planar mechanism needs 2"),
    "velocity-dimension": (lambda m: m.set_velocity("tip", (0, 1, 0)), "needs 2"),
    "turning-dimension": (lambda m: m.set_angular_velocity("crank", (0, 0, 1)), "one number"),
    "zero-axis": (
        lambda m: m.prismatic("rail", m.ground, "crank", at=(0, 0), axis=(0, 0)),
        "axis",
    ),
    "beside-its-rod": (lambda m: m.point("off", "crank", (1, 1)), "are apart by 1 m"),
    "negative-damping": (lambda m: m.torsion("coil", "pin", damping=-1), "damping -1"),
}


@pytest.mark.parametrize(("call", "reported"), WRONG.values(), ids=WRONG)
def test_a_call_rejects_what_it_sees_to_be_wrong(call, reported):
    """One sentence from the call; the mechanism is what it was before and can be run."""
    m = swing()
    before = (len(m.bodies), len(m.joints), len(m.markers), len(list(m.loads())))
    with pytest.raises(MechanismError) as caught:
        call(m)
    assert reported in str(caught.value)
    assert (len(m.bodies), len(m.joints), len(m.markers), len(list(m.loads()))) == before
    assert not m.velocities
    m.check()


def test_a_second_drive_of_a_joint_is_rejected():
    """The drive that comes second is too many."""
    m = swing()
    m.drive("motor", "pin", sarrus.Polynomial([0, 1]))
    with pytest.raises(MechanismError, match="driven 2 times"):
        m.drive("other", "pin", sarrus.Polynomial([0, 2]))
    assert [drive.name for drive in m.drives] == ["motor"]


def test_gravity_says_the_dimension_at_once():
    """Three or two numbers."""
    with pytest.raises(MechanismError, match="gravity has 4 numbers"):
        Mechanism("none", gravity=(0, 0, 0, 1))


def test_lists_that_a_user_changes_himself_are_read_again():
    """Names are free again after a list is cleared, and parts exchanged in place count as they are now."""
    m = swing()
    m.springs.clear()
    m.spring("strut", m.ground, "crank", start=(0, 2), end=(1, 0), stiffness=1)
    other = Mechanism("other").rod("lever", (0, 0), (1, 0), 1)
    m.bodies[0] = other
    m.point("middle", "lever", (0.5, 0))
    copy = m.copy()
    copy.point("more", "lever", (0.2, 0))
    assert [p.name for p in m.markers] == ["tip", "middle"]


def test_what_needs_the_whole_is_reported_with_the_line_that_added_it():
    """A joint whose bodies are apart is seen by the check; its sentence names this file and line."""
    m = Mechanism("apart")
    m.rod("crank", (0, 0), (0, 1), mass=1)
    m.rod("coupler", (0.5, 1), (1, 1), mass=1)
    line = inspect.currentframe().f_lineno + 1
    m.revolute("B", "crank", "coupler", at=[(0, 1), (0.5, 1)])
    with pytest.raises(MechanismError) as caught:
        m.check()
    assert f"(added by line {line} of {Path(__file__).name})" in str(caught.value)


def test_many_parts_are_added_in_linear_time():
    """What a call looks at does not grow with the mechanism: parts are looked up by name, not searched for."""
    m = Mechanism("chain")
    counted = 0

    class Counting(list):
        def __iter__(self):
            nonlocal counted
            counted += 1
            return super().__iter__()

    m.bodies = Counting()
    for k in range(200):
        m.rod(f"rod {k}", (k, 0), (k + 1, 0), mass=1)
        m.revolute(f"pin {k}", f"rod {k - 1}" if k else m.ground, f"rod {k}", at=(k, 0))
    # once at the beginning
    assert counted < 5
