"""Joints that move in proportion, against Lagrange's equations of what is left, and by identities."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sarrus

# steps of the reference hold 1e-13; the run's own tolerance is 1e-10 of the size, ten times that over a run
CLOSE = 2e-9
G = 9.81
RATIOS = [1.0, -1.0, 3.0, -0.5, 6 / 7, -17 / 43]


def gears(ratio, space=False, tilt=0.0, rotor=0.0):
    """Two wheels with weights next to their hinges, 1 m apart; the second one's axis may be tilted."""
    m = sarrus.Mechanism("gears", gravity=(0, -G, 0) if space else (0, -G))

    def at(*p):
        return p if space else p[:2]

    for name, x, mass in (("a", 0.0, 1.2), ("b", 1.0, 0.8)):
        m.body(name, mass, at(x + 0.3, 0.1, 0.0), (0.02, 0.03, 0.04) if space else 0.04)
    axes = {"A": (0, 0, 1), "B": (0, np.sin(tilt), np.cos(tilt))}
    for name, body, x in (("A", "a", 0.0), ("B", "b", 1.0)):
        axis = {"axis": axes[name]} if space else {}
        m.revolute(name, m.ground, body, at=at(x, 0.0, 0.0), **axis)
    m.coupling("teeth", "A", "B", ratio=ratio)
    if rotor:
        m.rotor("motor", "A", inertia=rotor)
    return m


@pytest.mark.parametrize("ratio", RATIOS)
def test_two_wheels_are_one_pendulum(ratio):
    """(r^2 I_A + I_B + r^2 I) y'' = - r m_A g d/dx - m_B g d/dy of the heights, x = r y."""
    arm, slope = np.hypot(0.3, 0.1), np.arctan2(0.1, 0.3)
    m = gears(ratio, rotor=0.05)
    inertia = [0.04 + mass * arm**2 for mass in (1.2, 0.8)]
    total = ratio**2 * (inertia[0] + 0.05) + inertia[1]

    def rates(t, z):
        y, w = z
        pull = ratio * 1.2 * np.cos(slope + ratio * y) + 0.8 * np.cos(slope + y)
        return [w, -G * arm * pull / total]

    result = sarrus.simulate(m, 2.0, output_step=0.05)
    wanted = solve_ivp(rates, (0, 2), [0.0, 0.0], "DOP853", result.times, rtol=1e-13, atol=1e-13).y[
        0
    ]
    assert np.abs(result.angle("B") - wanted).max() < CLOSE * (1 + np.abs(wanted).max())
    assert np.abs(result.angle("A") - ratio * result.angle("B")).max() < 1e-12


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_carrier_that_turns(ratio):
    """On a turning carrier, about axes that are not parallel: ratio, degrees of freedom, energy and balance
    hold.
    """
    m = gears(ratio, space=True, tilt=0.7)
    m.joints.clear()
    m.body("arm", 2.0, (0.5, 0.0, 0.2), (0.3, 0.2, 0.4))
    m.revolute("O", m.ground, "arm", at=(0.2, 0, 0), axis=(1, 2, 3))
    m.revolute("A", "arm", "a", at=(0, 0, 0), axis=(0, 0, 1))
    m.revolute("B", "arm", "b", at=(1, 0, 0), axis=(0, 0.6, 0.8))
    seen = sarrus.inspect(m)
    assert (seen.mobility_here, seen.mobility_motion, seen.redundant_here) == (2, 2, 0)
    result = sarrus.simulate(m, 1.0, output_step=0.1)
    assert np.abs(result.angle("A") - ratio * result.angle("B")).max() < 1e-12
    assert result.energy_drift < 1e-8
    # Newton and Euler of every body, with what the coupling exerts: rounding of a solve
    assert result.reactions.imbalance.max() < 1e-9


def test_what_a_coupling_exerts():
    """The torque on the first wheel is what it lacks: I_A x'' + m g d/dx of its height."""
    m = gears(-0.5)
    result = sarrus.simulate(m, 1.0, output_step=0.1)
    torque = result.reactions.of("teeth").moment
    x, arm, slope = result.angle("A"), np.hypot(0.3, 0.1), np.arctan2(0.1, 0.3)
    inertia = [0.04 + mass * arm**2 for mass in (1.2, 0.8)]
    y = -2.0 * x
    pull = -0.5 * 1.2 * np.cos(slope + x) + 0.8 * np.cos(slope + y)
    bent = 0.5 * G * arm * pull / (0.25 * inertia[0] + inertia[1])
    wanted = inertia[0] * bent + 1.2 * G * arm * np.cos(slope + x)
    assert np.abs(torque - wanted).max() < 1e-8


def test_sliders():
    """A mirrored gripper in free space: both jaws by the same way, momentum kept; any ratio is allowed."""
    for ratio in (-1.0, np.pi):
        m = sarrus.Mechanism("gripper", gravity=(0, 0, -G))
        m.body("hand", 3.0, (0, 0, 0), (0.1, 0.2, 0.25))
        for name, x, axis in (("left", -0.1, (1, 0, 0)), ("right", 0.1, (1, 0.5, 0))):
            m.body(name, 0.5, (x, 0.02, 0.1), (0.01, 0.01, 0.01))
            m.prismatic(f"{name} rail", "hand", name, at=(x, 0, 0), axis=axis)
        m.coupling("rack", "right rail", "left rail", ratio=ratio)
        m.set_angular_velocity("hand", (1.0, 3.0, -0.5))
        result = sarrus.simulate(m, 1.0, output_step=0.1)
        ways = [result.travel(f"{name} rail") for name in ("right", "left")]
        assert np.abs(ways[0] - ratio * ways[1]).max() < 1e-12
        assert np.abs(ways[1]).max() > 0.01
        assert result.energy_drift < 1e-9
        assert sarrus.inspect(m).mobility_motion == 7


def test_a_loop_of_gears_is_redundant_or_locked():
    """Three wheels: 1 -> 2 -> 3 -> 1 with ratios whose product is 1 is redundant by one, else it is locked."""
    for last, dof in ((1.0, 1), (-1.0, 0)):
        m = gears(-1.0)
        m.body("c", 1.0, (2.3, 0.0), 0.05)
        m.revolute("C", m.ground, "c", at=(2, 0))
        m.coupling("second", "B", "C", ratio=-1.0)
        m.coupling("third", "C", "A", ratio=last)
        seen = sarrus.inspect(m)
        assert seen.mobility_here == dof
        assert seen.redundant_here == dof


def test_a_driven_gear():
    """What drives one wheel drives the other, and its power is that of both."""
    m = gears(2.0)
    m.drive("motor", "B", sarrus.Sine(amplitude=0.8, frequency=0.5))
    result = sarrus.simulate(m, 2.0, output_step=0.05)
    assert np.abs(result.angle("A") - 1.6 * np.sin(np.pi * result.times)).max() < 1e-10
    assert np.abs(result.energy_balance).max() < 1e-8


def test_closing_keeps_the_ratio():
    """A loop that stands open: assembling moves both coupled arms, in their ratio."""
    m = sarrus.Mechanism("arms", gravity=(0, -G))
    m.rod("a", (0, 0), (0, 1), mass=1.0)
    m.rod("b", (2, 0), (2, 1), mass=1.0)
    m.rod("bar", (0, 1.2), (1, 1.2), mass=1.0)
    m.revolute("A", m.ground, "a", at=(0, 0))
    m.revolute("B", m.ground, "b", at=(2, 0))
    m.revolute("C", "a", "bar", at=((0, 1), (0, 1.2)))
    m.distance("tie", "bar", "b", start=(1, 1.2), end=(2, 1))
    m.coupling("gear", "A", "B", ratio=-0.5)
    found = sarrus.assemble(m).mechanism

    def angle(name, foot):
        rod = next(b for b in found.bodies if b.name == name)
        x, y = rod.center - np.array(foot)
        return -np.arctan2(x, y)

    assert abs(angle("a", (0, 0)) + 0.5 * angle("b", (2, 0))) < 1e-12


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"ratio": np.pi}, "not a ratio of whole numbers up to 500; the nearest is 355/113"),
        ({"ratio": 0.0}, "of reasonable size and not zero"),
        ({"other": "A"}, "couples joint 'A' with itself"),
        ({"other": "Z"}, "there is no joint 'Z'"),
        ({"other": "rail"}, "a hinge and a slider; a rack"),
        ({"other": "link"}, "is distance; it has to be revolute, prismatic or cylindrical"),
    ],
)
def test_rejected(change, sentence):
    """What no quadratic equation says is rejected with its number."""
    m = gears(1.0)
    m.body("block", 1.0, (3, 0), 0.1)
    m.prismatic("rail", m.ground, "block", at=(3, 0), axis=(1, 0))
    m.distance("link", "a", "block", start=(0.3, 0.1), end=(3, 0))
    given = {"joint": "A", "other": "B", "ratio": 1.0, **change}
    with pytest.raises(sarrus.MechanismError, match=sentence):
        m.coupling("odd", given["joint"], given["other"], ratio=given["ratio"])
