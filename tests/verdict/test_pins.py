"""Pins that join three or more bodies: the force on each of them, wherever reactions are read."""

import numpy as np
import pytest

import sarrus
from sarrus.report.curves import read_curves
from sarrus.studies.entries import find_wrong_name, make_record
from sarrus.studies.records import RecordSource, read_record, split_joint

G, HALF, DEPTH, BAR, WEIGHT = 9.81, 0.6, 0.8, 2.0, 5.0


@pytest.fixture(scope="module")
def truss():
    """Two bars from the ceiling that meet at a pin C, and a rod that hangs from it, at rest."""
    m = sarrus.Mechanism("truss", gravity=(0, -G))
    m.rod("left", (-HALF, 0), (0, -DEPTH), mass=BAR)
    m.rod("right", (HALF, 0), (0, -DEPTH), mass=BAR)
    m.rod("hanger", (0, -DEPTH), (0, -DEPTH - 1), mass=WEIGHT)
    m.revolute("A", m.ground, "left", at=(-HALF, 0))
    m.revolute("B", m.ground, "right", at=(HALF, 0))
    m.revolute("C", "left", "right", "hanger", at=(0, -DEPTH))
    return sarrus.simulate(m, duration=0.1, output_step=0.05)


# by equilibrium of the hanger, and of moments of a bar about its support
SIDE = HALF * (BAR + WEIGHT) * G / (2 * DEPTH)
ON = {
    "left": (SIDE, -WEIGHT * G / 2),
    "right": (-SIDE, -WEIGHT * G / 2),
    "hanger": (0.0, WEIGHT * G),
}


@pytest.mark.parametrize("body", ON)
def test_force_on_each_body_of_a_pin(truss, body):
    """The closed form of statics, for every body at the pin; nothing moves, so only rounding is left."""
    np.testing.assert_allclose(truss.reaction("C", body).force, [ON[body]] * 3, atol=1e-9 * G)


def test_reactions_on_all_bodies_cancel(truss):
    """A pin has no mass: the forces on its bodies add up to zero."""
    total = np.add.reduce([r.force for r in truss.reactions.on_each("C")])
    assert np.abs(total).max() < 1e-9 * G
    assert truss.reactions.bodies("C") == ("left", "right", "hanger")


def test_the_text_names_the_largest_force_on_every_body(truss):
    """Whoever reads one of the forces sees that others are larger."""
    text = str(truss.reaction("C"))
    largest = {body: np.hypot(*force) for body, force in ON.items()}
    for body, size in largest.items():
        assert f"{size:.6g} N on {body}" in text
    assert truss.reaction("C").largest_on == pytest.approx(largest)
    assert "the pin joins" not in str(truss.reaction("A"))


def test_columns_name_the_body(truss):
    """A column for each body at the pin; joints of two bodies keep their short names."""
    columns = truss.columns(reactions=True)
    for body, (x, y) in ON.items():
        np.testing.assert_allclose(columns[f"C on {body}.Fx [N]"], x, atol=1e-9 * G)
        np.testing.assert_allclose(columns[f"C on {body}.Fy [N]"], y, atol=1e-9 * G)
    assert "C.Fx [N]" not in columns
    assert "A.Fx [N]" in columns


def test_pages_show_every_body(truss):
    """Curves, the list of a joint and the headline name joint and body."""
    curves = read_curves(truss)
    labels = [f"C on {body}" for body in ON]
    assert curves.exerted["C"] == labels
    assert curves.exerted["A"] == ["A"]
    assert {f"{label}.F [N]" for label in labels} <= set(curves.items["C"])
    drawn = {column for figure in curves.figures for p in figure.panels for column in p.columns}
    assert {f"{label}.F [N]" for label in labels} <= drawn
    # the left bar also carries itself: the largest force is at a support or on the hanger
    supports = np.hypot(SIDE, (WEIGHT / 2 + BAR) * G)
    where = "A" if supports > WEIGHT * G else "C on hanger"
    assert any(what.startswith(f"largest reaction, at {where}") for _, what in curves.tiles)


def test_studies_record_one_body_or_the_largest(truss, tmp_path):
    """`C` is the largest force on any of its bodies, `C on left` that on one."""
    source = RecordSource(truss.mechanism, truss)
    for what, force in (
        ("C", max(np.hypot(*f) for f in ON.values())),
        ("C on left", np.hypot(*ON["left"])),
    ):
        record = make_record(None, {"reaction_max": what}, True, tmp_path)
        assert not find_wrong_name(record, truss.mechanism)
        assert read_record(record, source)[f"reaction_max {what}"] == pytest.approx(force)
    wrong = make_record(None, {"reaction_max": "C on lefty"}, True, tmp_path)
    assert "did you mean 'left'" in find_wrong_name(wrong, truss.mechanism)


def test_joint_names_with_on():
    """The longest known name wins: a joint may be called "pin on crank"."""
    assert split_joint("pin on crank", ["pin on crank", "pin"]) == ("pin on crank", None)
    assert split_joint("pin on crank on rod", ["pin on crank"]) == ("pin on crank", "rod")
    assert split_joint("pin on crank", ["pin"]) == ("pin", "crank")


def test_angles_between_any_two_bodies_of_a_pin():
    """Differences of orientations, whichever two bodies are named, and in either order."""
    m = sarrus.Mechanism("three rods", gravity=(0, -G))
    for name, end in (("a", (1, 0)), ("b", (0, -1)), ("c", (-1, 0.5))):
        m.rod(name, (0, 0), end, mass=1)
    m.revolute("pin", "a", "b", "c", m.ground, at=(0, 0))
    result = sarrus.simulate(m, duration=2, output_step=0.05)
    turned = {body: result.orientation(body) for body in "abc"} | {"ground": 0.0}
    for first in turned:
        for second in turned:
            found = result.angle("pin", first, second)
            np.testing.assert_allclose(found, turned[second] - turned[first], atol=1e-12)
    with pytest.raises(ValueError, match="give two of them"):
        result.angle("pin")
    with pytest.raises(sarrus.UnknownNameError, match="body of joint 'pin'"):
        result.angle("pin", "a", "d")
