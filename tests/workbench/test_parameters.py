"""Sliders: every number of every problem's file is one, or is left out for a reason that can be checked."""

import numpy as np
import pytest

import sarrus
from sarrus.mechanism import check_mechanism
from sarrus.mechanism.files import from_data, get_value, set_value, to_data
from sarrus.mechanism.files.paths import join_path, split_path
from sarrus.studies.side_lengths import find_sides
from sarrus.studies.study import ChangeKind
from sarrus.workbench.parameters import (
    drive_starts,
    find_options,
    find_parameters,
    fitting_values,
    with_values,
)

PROBLEMS = sarrus.problems.names()


def all_kinds():
    """One of everything that a file in the plane names numbers of."""
    m = sarrus.Mechanism("all kinds", gravity=(0.1, -9.81))
    m.rod("a", (0, 0), (0, 1), mass=1, section=0.01)
    m.rod("b", (0, 1), (1, 1), mass=2)
    m.body("plate", 2, (2, 0.5), 0.1)
    m.body("cart", 1, (3, 0), 0.1)
    m.body("sledge", 1, (4, 0), 0.1)
    m.revolute("A", m.ground, "a", at=(0, 0))
    m.revolute("B", "a", "b", at=(0, 1))
    m.revolute("C", m.ground, "plate", at=(2, 0))
    m.prismatic("S", m.ground, "cart", at=(3, 0), axis=(1, 0))
    m.prismatic("T", m.ground, "sledge", at=(4, 0), axis=(0, 1))
    m.distance("link", "b", "plate", start=(1, 1), end=(2, 1))
    m.point("tip", "plate", (2, 1))
    m.force("push", "plate", at=(2, 1), vector=(3, 1))
    m.torque("turn", "plate", -3.5)
    m.spring("pull", "a", "plate", start=(0, 1), end=(2, 1), stiffness=10, damping=1, preload=2)
    m.torsion("coil", "A", stiffness=3, damping=0.1, free_angle=-0.2)
    m.rotor("wheel", "B", inertia=0.02)
    m.rotor("rack", "S", mass=0.2)
    m.coupling("belt", "A", "B", ratio=2)
    m.drive("motor", "C", sarrus.Polynomial((0.0, -2.0, 0.5)))
    m.drive("shaker", "S", sarrus.Sine(0.01, 2.0))
    m.drive("table", "T", sarrus.Table((0.0, 1.0, 2.5, 3.0), (0.0, 0.1, 0.3, -0.2)))
    m.drive("strut", "link", sarrus.SmoothStep(1.0, 1.5, 0.0, 2.0))
    m.set_velocity("tip", (1, 0))
    m.set_angular_velocity("a", -2)
    return m


def mechanism_of(name):
    """A problem's, or the one of all kinds."""
    return all_kinds() if name == "all kinds" else sarrus.problems.get(name).mechanism()


def numbers(value, parts=()):
    """All paths to numbers of plain data."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return [path for key, item in items for path in numbers(item, (*parts, key))]
    return [parts] if isinstance(value, float) else []


def is_left_out(data, parts):
    """Directions, places on rods, ends of rods (they have a length), times of tables, settings, starts of drives;
    joints and points of other planar links, which have sides.

    Of a matrix of inertia one half is the other.
    """
    block, key = parts[0], parts[2] if len(parts) > 2 else ""
    if block == "simulate" or key in ("axis", "second_axis", "normal", "rod"):
        return True
    if block == "drives" and ("times" in parts or join_path(parts) in drive_starts(data)):
        return True
    if key == "inertia" and len(parts) == 5 and parts[3] > parts[4]:
        return True
    if block in ("joints", "points") and key == "at" and is_corner(data, block, parts[1]):
        return True
    return key in ("at", "start", "end") and bool(rods_at(data, block, parts[1], key))


def is_corner(data, block, name):
    """Whether a joint or point lies on planar links that are no rods, with two places or more each."""
    if len(data["gravity"]) != 2 or rods_at(data, block, name, "at"):
        return False
    entry = data[block][name]
    bodies = [entry["body"]] if block == "points" else next(iter(entry.values()))
    return all(
        body == "ground" or any(name in pair for pair in find_sides(data, body)) for body in bodies
    )


def rods_at(data, block, name, key):
    """The bodies of a place that are rods."""
    entry = data[block][name]
    bodies = [entry["body"]] if "body" in entry else None
    bodies = bodies or next(
        v for v in entry.values() if v and isinstance(v, list) and isinstance(v[0], str)
    )
    if key in ("start", "end"):
        bodies = (bodies[key == "end"],)
    return [body for body in bodies if "rod" in data["bodies"].get(body, {})]


@pytest.mark.parametrize("name", [*PROBLEMS, "all kinds"])
def test_every_number_of_a_file_has_a_slider(name):
    """Numbers without one are of the kinds that have none; rods have a length, places on them how far along."""
    data = to_data(mechanism_of(name))
    found = {p.path for p in find_parameters(data)}
    wanted = {join_path(p) for p in numbers(data) if not is_left_out(data, p)}
    rods = {join_path(("bodies", n, "length")) for n, b in data["bodies"].items() if "rod" in b}
    assert wanted | rods <= found
    beyond = found - wanted - rods
    ground_pins = [path for path in beyond if path.startswith("joints.") and path[-1].isdigit()]
    assert all(path.endswith(".along") or ".sides." in path for path in beyond - set(ground_pins))
    for block, key in (
        ("points", "at"),
        ("springs", "start"),
        ("springs", "end"),
        ("forces", "at"),
    ):
        for part in data.get(block, {}):
            along = join_path((block, part, key, "along"))
            assert (along in found) == bool(rods_at(data, block, part, key))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_sliders_hold_their_value_and_change_it(name):
    """The value lies in its range; another one stands in the data afterwards, and the data are still a model."""
    data = to_data(sarrus.problems.get(name).mechanism())
    parameters = find_parameters(data)
    assert {p.group for p in parameters} >= {"dimensions", "masses", "gravity"}
    for p in parameters[:40]:
        assert p.low <= p.value <= p.high
        assert p.low < p.high
        assert p.unit
        assert p.label
        assert "." not in p.label
        new = 0.75 * p.value + 0.25 * p.high
        changed = with_values(data, {p.path: new})
        from_data(changed, check=False)
        if p.path.endswith(".length"):
            start, end = changed["bodies"][p.path.split(".")[1]]["rod"]
            assert np.linalg.norm(np.subtract(end, start)) == pytest.approx(new, rel=1e-14)
        elif ".sides." in p.path:
            _, body, _, *pair = p.path.split(".")
            assert find_sides(changed, body)[tuple(pair)] == pytest.approx(new, rel=1e-14)
        elif not p.path.endswith(".along"):
            assert get_value(changed, p.path) == new
    assert data == to_data(sarrus.problems.get(name).mechanism())


def test_a_ground_pin_is_moved_and_the_links_keep_their_lengths():
    """D of the four-bar goes 0.1 m to the side: the frame is longer, the bars are as long as before."""
    data = to_data(sarrus.problems.get("four-bar-spring").mechanism())
    changed = with_values(data, {"joints.D.at.0.0": 1.1})
    closed = sarrus.assemble(from_data(changed, check=False)).mechanism
    (pin,) = [joint for joint in closed.joints if joint.name == "D"]
    np.testing.assert_allclose(pin.at, (1.1, 0.0), atol=1e-14)
    for body in closed.bodies:
        # sums and roots of a few rounded numbers
        assert np.linalg.norm(body.ends[1] - body.ends[0]) == pytest.approx(1.0, rel=1e-14)


def test_places_move_along_their_rods():
    """A point, a spring's end and a joint within a rod: so far from its first end, and the loops are closed."""
    m = sarrus.Mechanism("Chebyshev-like", gravity=(0, -9.81))
    m.rod("a", (0, 0), (0.3, 0.4), mass=1)
    m.rod("b", (0.3, 0.4), (1.5, 0.4), mass=1)
    m.rod("c", (1.0, 0.4), (1.0, -0.2), mass=1)
    m.revolute("A", m.ground, "a", at=(0, 0))
    m.revolute("B", "a", "b", at=(0.3, 0.4))
    m.revolute("C", "b", "c", at=(1.0, 0.4))
    m.revolute("D", m.ground, "c", at=(1.0, -0.2))
    m.point("tip", "b", (1.5, 0.4))
    m.spring("pull", m.ground, "b", start=(0, 1), end=(0.9, 0.4), stiffness=10)
    data = to_data(m)
    found = {p.path: p for p in find_parameters(data)}
    joint = found["joints.C.at.0.along"]
    assert (joint.low, joint.unit) == (0.0, "m")
    assert joint.high == pytest.approx(1.2, rel=1e-14)
    assert joint.value == pytest.approx(0.7, rel=1e-14)
    # ends of rods follow their lengths
    assert not [path for path in found if path.startswith("joints.B")]
    assert "joints.C.at.1.along" not in found
    values = {"joints.C.at.0.along": 0.6, "points.tip.at.along": 1.0, "springs.pull.end.along": 0.2}
    changed = with_values(data, values)
    assert changed["points"]["tip"]["at"] == pytest.approx([1.3, 0.4], rel=1e-14)
    assert changed["springs"]["pull"]["end"] == pytest.approx([0.5, 0.4], rel=1e-14)
    closed = sarrus.assemble(from_data(changed, check=False)).mechanism
    rods, pins = ({x.name: x for x in xs} for xs in (closed.bodies, closed.joints))
    # closed to rounding
    assert np.linalg.norm(pins["C"].at - rods["b"].ends[0]) == pytest.approx(0.6, abs=1e-12)
    assert np.linalg.norm(pins["C"].at - rods["c"].ends[0]) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(sarrus.MechanismError, match="beyond the rod"):
        with_values(data, {"points.tip.at.along": 1.3})


def test_any_number_of_a_drive_can_be_changed():
    """A drive begins where the mechanism stands, whatever a slider says; one that did not is left as it is."""
    data = to_data(all_kinds())
    sliders = [p for p in find_parameters(data) if p.group == "drives"]
    assert {p.path.split(".")[1] for p in sliders} == {*data["drives"], "belt"}
    for p in sliders:
        changed = with_values(data, {p.path: 0.6 * p.value + 0.4 * p.high})
        check_mechanism(from_data(changed, check=False))
    # the link's end goes elsewhere: its drive begins with the new length
    moved = with_values(data, {"joints.link.end.0": 2.2})
    assert moved["drives"]["strut"]["step"]["from"] == pytest.approx(1.2, rel=1e-14)
    wrong = set_value(data, "drives.motor.polynomial.0", 0.5)
    assert with_values(wrong, {"gravity.1": -5.0})["drives"]["motor"]["polynomial"][0] == 0.5


def test_options_of_a_problem_have_sliders():
    """The windows of a four-bar: whole numbers within what it allows; values that fit are kept."""
    found = {p.path: p for p in find_options("n-four-bar", {"windows": 3})}
    windows = found["windows"]
    assert (windows.value, windows.low, windows.whole) == (3, 1, True)
    assert windows.high > 10
    assert found["speed"].unit == "m/s"
    two = to_data(sarrus.problems.get("n-four-bar", windows=2).mechanism())
    values = {"gravity.1": -3.0, "bodies.crank 3.mass": 2.0}
    assert fitting_values(two, values) == {"gravity.1": -3.0}


@pytest.mark.parametrize("value", ["1", True, float("nan"), None, [1.0]])
def test_what_is_no_number_is_rejected(value):
    """A value that is no finite number is reported with its path."""
    data = to_data(sarrus.problems.get("simple-pendulum").mechanism())
    with pytest.raises(sarrus.MechanismError, match=r"bodies\.bob\.mass"):
        with_values(data, {"bodies.bob.mass": value})


def test_lengths_are_those_of_studies():
    """The path of a length means the same as in a study."""
    from sarrus.studies.changes import change_kind
    from sarrus.studies.study import Base

    data = to_data(sarrus.problems.get("double-four-bar").mechanism())
    assert change_kind(Base("", {}, data, ""), "bodies.crank 0.length") is ChangeKind.LENGTH


@pytest.mark.parametrize("name", [*PROBLEMS, "all kinds"])
def test_units_are_those_that_files_read(name):
    """A value written with the slider's unit is read back as the same number: the schema knows the unit."""
    data = to_data(mechanism_of(name))
    same = to_data(from_data(data, check=False))
    for p in find_parameters(data)[:60]:
        parts = split_path(p.path)
        if (
            not p.unit
            or parts[-1] in ("length", "along")
            or "inertia" in parts[:-1]
            or get_or_none(data, p.path) is None
        ):
            continue
        path, value = p.path, f"{p.value!r} {p.unit}"
        if parts[-1].isdigit() and "polynomial" not in parts:
            # units are reported apart for whole vectors
            path = join_path(parts[:-1])
            value = f"{get_value(data, path)} {p.unit}"
        assert to_data(from_data(set_value(data, path, value), check=False)) == same, p


def get_or_none(data, path):
    """The value at a path, or None where the data have one place for all bodies."""
    try:
        return get_value(data, path)
    except sarrus.MechanismError:
        return None


def test_no_two_numbers_have_one_label():
    """Also where a slider and its guide have different points: each names its body."""
    m = sarrus.Mechanism("engine")
    m.slider_crank(crank=0.05, rod=0.15, angle=0.7)
    labels = [(p.group, p.label) for p in find_parameters(to_data(m))]
    assert len(set(labels)) == len(labels)
    assert {("dimensions", "guide x"), ("dimensions", "guide on slider x")} <= set(labels)
