"""Linkages drawn from an empty page are those that are built from lengths: same joints, motion and forces."""

import copy

import numpy as np
import pytest
import yaml

import sarrus
from sarrus.mechanism.files import from_data, to_text
from sarrus.workbench.edit import EMPTY, edit


def draw(*changes, data=EMPTY):
    """The data after some changes."""
    for change in changes:
        data = edit(data, change)
    return data


def line(do, start, end):
    """A bar, spring, cylinder or move."""
    return {"do": do, "from": list(start), "to": list(end)}


def click(do, at, **more):
    """Something at a place."""
    return {"do": do, "at": list(at), **more}


def reloaded(data):
    """The mechanism of the file that these data would be saved as."""
    return from_data(yaml.safe_load(to_text(data)))


def joined(m):
    """The bodies of each joint."""
    return {joint.name: joint.bodies for joint in m.joints}


CROSS = (line("bar", (0, 0), (0.8, 0.6)), line("bar", (0.8, 0), (0, 0.6)))


def test_a_pin_where_bars_cross_joins_them():
    """Not to the ground; on one bar alone a sentence names it and says what to take instead."""
    m = reloaded(draw(*CROSS, click("pin", (0.4, 0.3)), click("ground", (0, 0))))
    assert joined(m) == {"pin 1": ("bar 1", "bar 2"), "pin 2": ("ground", "bar 1")}
    with pytest.raises(sarrus.MechanismError, match=r"only 'bar 1' is here.*ground"):
        draw(*CROSS, click("pin", (0.2, 0.15)))


SCISSOR = (
    click("ground", (0, 0)),
    *CROSS,
    click("pin", (0.4, 0.3)),
    click("slider", (0.8, 0)),
    line("bar", (0, 0.6), (0.8, 1.2)),
    line("bar", (0.8, 0.6), (0, 1.2)),
    click("pin", (0.4, 0.9)),
    line("bar", (0, 1.2), (0.9, 1.2)),
    # on the bar that passes here, not on the ground
    click("slider", (0.8, 1.2)),
    click("ground", (0.2, -0.1)),
    line("cylinder", (0.2, -0.1), (0.6, 0.45)),
)


def test_a_scissor_lift_with_its_cylinder():
    """One degree of freedom, driven; at rest the force of the cylinder follows from virtual work."""
    data = draw(*SCISSOR)
    m = reloaded(data)
    assert joined(m)["slider 2"] == ("bar 5", "bar 3")
    assert joined(m)["cylinder 1"] == ("barrel 1", "piston 1")
    assert (
        sarrus.inspect(m).summary
        == "1 degree of freedom, driven by 'motor 1'; no redundant constraints; not singular here"
    )
    # so slow that inertia is rounding: 1e-6 m at 1e-3 Hz is 4e-11 m/s^2
    data["drives"]["motor 1"]["sine"] = {"amplitude": 1e-6, "frequency": 1e-3}
    result = sarrus.simulate(reloaded(data), 1.0, output_step=0.5)
    height = np.add.reduce([result.velocity(b.name)[:, 1] for b in m.bodies])
    stroke = 2 * np.pi * 1e-9 * np.cos(2 * np.pi * 1e-3 * result.times)
    # every body has 1 kg; the work of the force is that against gravity
    wanted = 9.81 * height / stroke
    # the rates are 1e-8 of a length a second, with the default tolerance of 1e-10
    np.testing.assert_allclose(result.drive_force("motor 1"), wanted, rtol=1e-5)


def jansen():
    """The leg from its lengths."""
    m = sarrus.Mechanism("Jansen's leg", gravity=(0, -9.81))
    m.point("O", m.ground, (0.38, 0.078))
    m.point("B", m.ground, (0, 0))
    m.crank("X", "crank", "O", length=0.15, angle=0, mass=1)
    knee, foot = {"D": ("knee", 0.401, 0.558)}, {"foot": ("shank", 0.49, 0.657)}
    ends = ("X", "B")
    first = {"lengths": (0.5, 0.415), "side": "right", "points": knee, "mass": 1}
    m.dyad("C", ("j", "knee"), ends, **first)
    m.dyad("E", ("k", "c"), ends, lengths=(0.619, 0.393), mass=1)
    last = {"lengths": (0.394, 0.367), "side": "right", "points": foot, "mass": 1}
    m.dyad("F", ("f", "shank"), ("D", "E"), **last)
    m.drive("motor", "O", sarrus.Polynomial([0, 1.0]))
    return m


def drawn_jansen():
    """The same drawn at its places, with plates."""
    m = jansen()
    at = {j.name: j.at.tolist() for j in m.joints} | {p.name: p.at.tolist() for p in m.markers}
    return draw(
        click("ground", at["O"]),
        click("ground", at["B"]),
        line("bar", at["O"], at["X"]),
        line("bar", at["X"], at["C"]),
        {"do": "plate", "corners": [at["B"], at["C"], at["D"]]},
        line("bar", at["X"], at["E"]),
        line("bar", at["E"], at["B"]),
        line("bar", at["D"], at["F"]),
        {"do": "plate", "corners": [at["F"], at["E"], at["foot"]]},
        click("point", at["foot"]),
        {"do": "drive", "name": "pin 1"},
    )


def test_a_jansen_leg_with_plates():
    """Path of the foot and torque of the motor are those of the leg that was built from lengths."""
    built = sarrus.simulate(jansen(), 6.0, output_step=0.1)
    drawn = sarrus.simulate(reloaded(drawn_jansen()), 6.0, output_step=0.1)
    # the same numbers in another order of bodies: rounding
    np.testing.assert_allclose(drawn.position("P 1"), built.position("foot"), atol=1e-12)
    np.testing.assert_allclose(drawn.drive_force("motor 1"), built.drive_force("motor"), atol=1e-10)


def test_a_moved_corner_takes_the_plate_along():
    """The corner of the plate, its pin and the bar that ends there; the other corners stay."""
    data = drawn_jansen()
    before = copy.deepcopy(data["bodies"]["plate 1"]["plate"])
    data = draw(line("move", before[2], (-0.35, 0.2)), data=data)
    assert data["bodies"]["plate 1"]["plate"] == [*before[:2], [-0.35, 0.2]]
    assert data["bodies"]["bar 5"]["rod"][0] == [-0.35, 0.2]
    assert sarrus.simulate(reloaded(data), 0.1).success


QUICK_RETURN = (
    click("ground", (0, 0)),
    line("bar", (0, 0), (0.15, 0)),
    click("ground", (0, -0.4)),
    line("bar", (0, -0.4), (0.3, 0.4)),
    # the crank's pin in the slot of the lever
    click("slider", (0.15, 0)),
    {"do": "drive", "name": "pin 1"},
)


def test_a_slot_in_a_bar_is_a_quick_return():
    """The time ratio is (pi + 2 a) / (pi - 2 a) with sin a = crank / distance of the pivots."""
    m = reloaded(draw(*QUICK_RETURN))
    assert joined(m)["slider 1"] == ("bar 2", "bar 1")
    # the lever begins where the crank is: the slot is along it
    slot = next(j for j in m.joints if j.name == "slider 1")
    np.testing.assert_allclose(slot.axis, (0.3, 0.8), rtol=1e-15)
    a = np.arcsin(0.15 / 0.4)
    wanted = (np.pi + 2 * a) / (np.pi - 2 * a)
    # limits are found to 1e-10 rad
    assert sarrus.design(m).time_ratio("pin 2") == pytest.approx(wanted, rel=1e-9)


def test_a_slider_replaces_the_pin_between_its_bodies():
    """A bar that ends on another is pinned there; a slider makes a slot of it, other bodies stay pinned."""
    two = (line("bar", (0, 0), (1, 0)), line("bar", (0.5, 0), (0.5, 1)))
    m = draw(*two, click("slider", (0.5, 0)))["joints"]
    assert list(m) == ["slider 1"]
    three = (*two, line("bar", (0.5, 0), (0, 1)))
    m = draw(*three, click("slider", (0.5, 0)))["joints"]
    assert m["pin 1"]["revolute"] == ["bar 2", "bar 3"]
    assert m["slider 1"]["point-on-line"] == ["bar 1", "bar 2"]


@pytest.mark.parametrize("angle", [0.0, 0.3, -1.2])
def test_a_slider_at_any_angle_on_any_body(angle):
    """The point moves along the line of its guide, also if that was set afterwards."""
    pendulum = (click("ground", (0, 0)), line("bar", (0, 0), (0.3, 0.1)))
    first = draw(*pendulum, line("bar", (0.3, 0.1), (1, 0)), click("slider", (1, 0)))
    data = draw({"do": "slide", "name": "slider 1", "angle": angle}, data=first)
    axis = [np.cos(angle), np.sin(angle)]
    np.testing.assert_allclose(data["joints"]["slider 1"]["axis"], axis, rtol=1e-15)
    way = sarrus.simulate(reloaded(data), 0.3).position("slider 1") - (1, 0)
    assert np.ptp(way @ axis) > 1e-3
    # closed to rounding
    assert np.abs(way @ (-axis[1], axis[0])).max() < 1e-13
    held = draw(
        {"do": "slide", "name": "slider 1", "kind": "prismatic", "guide": "bar 1"}, data=data
    )
    assert held["joints"]["slider 1"]["prismatic"] == ["bar 1", "bar 2"]


def test_a_motor_on_a_slider_moves_it():
    """A point on a line gets a block that is driven along it, by a share of the size of the mechanism."""
    data = draw(*QUICK_RETURN[:2], line("bar", (0.15, 0), (1, 0.3)), click("slider", (1, 0.3)))
    data = draw({"do": "drive", "name": "slider 1"}, data=data)
    assert data["joints"]["slider 1"]["prismatic"] == ["ground", "block 1"]
    assert data["joints"]["pin 3"]["revolute"] == ["bar 2", "block 1"]
    data["drives"]["motor 1"]["sine"]["amplitude"] *= -0.1
    result = sarrus.simulate(reloaded(data), 1.0)
    assert result.success
    x = result.position("slider 1")[:, 0] - 1
    amplitude = data["drives"]["motor 1"]["sine"]["amplitude"]
    # drives are followed to rounding
    np.testing.assert_allclose(x, amplitude * np.sin(np.pi * result.times), atol=1e-12)
    with pytest.raises(sarrus.MechanismError, match="has a motor already"):
        draw({"do": "drive", "name": "slider 1"}, data=data)


@pytest.mark.parametrize(
    "change",
    [
        {"do": "plate"},
        {"do": "plate", "corners": [[0, 0], [1, 0]]},
        {"do": "plate", "corners": [[0, 0], [1, 0], [2, 0]]},
        {"do": "plate", "corners": [[0, 0], [1, 0], [float("nan"), 1]]},
        {"do": "cylinder", "from": [0, 0], "to": [0, 0]},
        {"do": "slider", "at": [5, 5]},
        {"do": "slider", "at": [0, 0], "axis": [0, 0]},
        {"do": "slider", "at": [0, 0], "kind": "magic"},
        {"do": "slider", "at": [0, 0], "guide": "bar 1", "body": "bar 1"},
        {"do": "slider", "at": [0, 0], "guide": "nobody"},
        {"do": "slide", "name": "pin 1", "angle": 1.0},
        {"do": "slide", "name": "nobody"},
    ],
    ids=str,
)
def test_changes_that_mean_nothing_are_rejected(change):
    """A sentence that says what to do; the data are untouched."""
    data = draw(click("ground", (0, 0)), line("bar", (0, 0), (1, 0)))
    before = copy.deepcopy(data)
    with pytest.raises(sarrus.MechanismError):
        edit(data, change)
    assert data == before
