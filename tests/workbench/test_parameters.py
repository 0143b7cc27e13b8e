"""Sliders: every number of every problem's file is one, or is left out for a reason that can be checked."""

import numpy as np
import pytest

import sarrus
from mechanism.everything import plane_of_everything, space_of_everything
from sarrus.mechanism.files import from_data, get_value, to_data
from sarrus.mechanism.files.paths import join_path
from sarrus.studies.study import ChangeKind
from sarrus.workbench.parameters import find_parameters, with_values

PROBLEMS = sarrus.problems.names()


def numbers(value, parts=()):
    """All paths to numbers of plain data."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return [path for key, item in items for path in numbers(item, (*parts, key))]
    return [parts] if isinstance(value, float) else []


def is_left_out(data, parts):
    """Directions, places of joints on rods, ends of rods (they have a length), times of tables, settings."""
    block, key = parts[0], parts[2] if len(parts) > 2 else ""
    if block == "simulate" or key in ("axis", "second_axis", "normal", "rod"):
        return True
    if block == "drives" and "times" in parts:
        return True
    if block != "joints" or key != "at":
        return False
    bodies = next(v for v in data[block][parts[1]].values() if isinstance(v[0], str))
    return any("rod" in data["bodies"].get(name, {}) for name in bodies)


@pytest.mark.parametrize("name", [*PROBLEMS, "plane", "space"])
def test_every_number_of_a_file_has_a_slider(name):
    """Numbers without one are of the kinds that have none; rods have a length, ground pins on rods their place."""
    own = {"plane": plane_of_everything, "space": space_of_everything}
    data = to_data(own[name]() if name in own else sarrus.problems.get(name).mechanism())
    found = {p.path for p in find_parameters(data)}
    wanted = {join_path(p) for p in numbers(data) if not is_left_out(data, p)}
    rods = {join_path(("bodies", n, "length")) for n, b in data["bodies"].items() if "rod" in b}
    assert wanted | rods <= found
    beyond = found - wanted - rods
    assert all(path.startswith("joints.") and ".at." in path for path in beyond)


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
        new = 0.75 * p.value + 0.25 * p.high
        changed = with_values(data, {p.path: new})
        from_data(changed, check=False)
        if p.path.endswith(".length"):
            start, end = changed["bodies"][p.path.split(".")[1]]["rod"]
            assert np.linalg.norm(np.subtract(end, start)) == pytest.approx(new, rel=1e-14)
        else:
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


@pytest.mark.parametrize("value", ["1", True, float("nan"), None, [1.0]])
def test_what_is_no_number_is_refused(value):
    """A value that is no finite number is told with its path."""
    data = to_data(sarrus.problems.get("simple-pendulum").mechanism())
    with pytest.raises(sarrus.MechanismError, match=r"bodies\.bob\.mass"):
        with_values(data, {"bodies.bob.mass": value})


def test_lengths_are_those_of_studies():
    """The path of a length means the same as in a study."""
    from sarrus.studies.changes import change_kind
    from sarrus.studies.study import Base

    data = to_data(sarrus.problems.get("double-four-bar").mechanism())
    assert change_kind(Base("", {}, data, ""), "bodies.crank 0.length") is ChangeKind.LENGTH
