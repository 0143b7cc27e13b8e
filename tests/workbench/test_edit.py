"""Drawing: what is drawn is a model file that loads and simulates; what is taken away leaves no trace in it."""

import copy

import numpy as np
import pytest
import yaml

import sarrus
from sarrus.mechanism.files import from_data, to_data, to_text
from sarrus.workbench.answers import Desk
from sarrus.workbench.edit import CHANGES, EMPTY, edit


def draw(*changes, data=EMPTY):
    """The data after some changes; the data before stay as they are."""
    for change in changes:
        before = copy.deepcopy(data)
        new = edit(data, change)
        assert data == before
        data = new
    return data


def line(do, start, end):
    """A bar or a spring, or a move."""
    return {"do": do, "from": list(start), "to": list(end)}


FOUR_BAR = (
    {"do": "ground", "at": [0.0, 0.0]},
    line("bar", (0, 0), (0.3, 0.4)),
    line("bar", (0.3, 0.4), (1.3, 0.6)),
    line("bar", (1.3, 0.6), (1, 0)),
    {"do": "ground", "at": [1.0, 0.0]},
)


def reloaded(data):
    """The mechanism of the file that these data would be saved as."""
    return from_data(yaml.safe_load(to_text(data)))


def test_a_drawn_four_bar_moves_with_one_degree_of_freedom():
    """Bars join what is where they begin and end; mobility 1; energy is kept."""
    m = reloaded(draw(*FOUR_BAR))
    assert [j.bodies for j in m.joints] == [
        ("ground", "bar 1"),
        ("bar 1", "bar 2"),
        ("bar 2", "bar 3"),
        ("ground", "bar 3"),
    ]
    assert sarrus.inspect(m).mobility_motion == 1
    result = sarrus.simulate(m, 2.0)
    assert result.success
    # the default tolerance is 1e-10 of about 10 J
    assert result.energy_drift < 1e-7


def test_springs_motors_points_sliders_simulate():
    """A slider-crank with motor and spring, drawn: the slider stays on its line, the crank turns as reported."""
    data = draw(
        {"do": "ground", "at": [0.0, 0.0]},
        line("bar", (0, 0), (0, 0.3)),
        line("bar", (0, 0.3), (1, 0)),
        {"do": "slider", "at": [1.0, 0.0]},
        {"do": "drive", "name": "pin 1"},
        {"do": "point", "at": [0.5, 0.15]},
        line("spring", (1, 0), (1.5, 0)),
    )
    m = reloaded(data)
    result = sarrus.simulate(m, 3.0)
    assert result.success
    # rounding of sums over three joints
    assert np.abs(result.position("slider 1")[:, 1]).max() < 1e-12
    turned = np.column_stack([-np.sin(result.times), np.cos(result.times)])
    np.testing.assert_allclose(result.position("pin 2"), 0.3 * turned, atol=1e-9)
    assert "P 1" in result.drawn_points
    assert "spring 1" in result.read_names


def test_moving_a_pin_takes_along_what_ends_there():
    """Both bars at the pin, the pin, and a spring's end; the other ends stay."""
    spring = line("spring", (0.3, 0.4), (0, 1))
    data = draw(*FOUR_BAR, spring, line("move", (0.3, 0.4), (0.2, 0.5)))
    assert data["bodies"]["bar 1"]["rod"] == [[0, 0], [0.2, 0.5]]
    assert data["bodies"]["bar 2"]["rod"] == [[0.2, 0.5], [1.3, 0.6]]
    assert data["joints"]["pin 2"]["at"] == [0.2, 0.5]
    assert data["springs"]["spring 1"]["start"] == [0.2, 0.5]
    assert sarrus.simulate(reloaded(data), 0.5).success


def test_deleting_takes_along_what_hung_on_it():
    """Without the coupler its spring and point go, pins of one body go, the motor of a pin that stays stays."""
    full = draw(
        *FOUR_BAR,
        line("spring", (0.8, 0.5), (0, 1)),
        {"do": "point", "at": [0.8, 0.5]},
        {"do": "drive", "name": "pin 1"},
        {"do": "drive", "name": "pin 2"},
    )
    data = draw({"do": "delete", "block": "bodies", "name": "bar 2"}, data=full)
    assert list(data["joints"]) == ["pin 1", "pin 4"]
    assert list(data["drives"]) == ["motor 1"]
    assert "springs" not in data
    assert list(data["points"]) == ["ground 1"]
    reloaded(data)


def test_names_are_changed_wherever_they_stand():
    """A renamed body and a renamed joint: the mechanism is the same but for the words."""
    full = draw(*FOUR_BAR, line("spring", (0.8, 0.5), (0, 1)), {"do": "drive", "name": "pin 1"})
    data = draw(
        {"do": "rename", "block": "bodies", "name": "bar 2", "to": "coupler"},
        {"do": "rename", "block": "joints", "name": "pin 1", "to": "A0"},
        data=full,
    )
    text = to_text(full).replace("bar 2", "coupler").replace("pin 1", "A0")
    assert to_text(data) == text


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_random_drawings_load_or_say_why(seed):
    """Whatever is clicked in whatever order: data that load, or a sentence; undo is the data before."""
    rng = np.random.default_rng(seed)
    data, places, done = EMPTY, [[0.0, 0.0], [1.0, 0.0]], 0
    for _ in range(90):
        a, b, c = (places[rng.integers(len(places))] for _ in range(3))
        places.append([float(x) for x in np.round(rng.normal(size=2), 2)])
        joints = list(data.get("joints") or {"": 0})
        block = str(rng.choice(["bodies", "joints", "springs", "points"]))
        names = list(data.get(block) or {"": 0})
        change = {
            "do": str(rng.choice(list(CHANGES))),
            "from": a,
            "to": b,
            "at": a,
            "corners": [a, b, c],
            "name": str(rng.choice(names)),
            "block": block,
        }
        if change["do"] in ("drive", "slide"):
            change["name"] = str(rng.choice(joints))
        if change["do"] == "rename":
            change["to"] = f"thing {rng.integers(10**6)}"
        try:
            data = edit(data, change)
        except sarrus.MechanismError:
            continue
        done += 1
        if data["bodies"]:
            from_data(data, check=False)
            assert isinstance(Desk().solve({"data": data, "duration": 0.05})["errors"], list)
    assert done > 10


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"do": "explode"},
        {"do": "bar", "from": [0, 0]},
        {"do": "bar", "from": [0, 0], "to": [0, 0]},
        {"do": "bar", "from": [0, 0], "to": [0, float("nan")]},
        {"do": "pin", "at": [5, 5]},
        {"do": "slider", "at": [5, 5]},
        {"do": "spring", "from": [5, 5], "to": [6, 6]},
        {"do": "drive", "name": "nobody"},
        {"do": "point", "at": [5, 5]},
        {"do": "delete", "block": "bodies", "name": "nobody"},
        {"do": "delete", "block": "gravity", "name": "0"},
        {"do": "rename", "block": "bodies", "name": "bar 1", "to": "ground"},
        {"do": "rename", "block": "bodies", "name": "bar 1", "to": "bar 2"},
        {"do": "move", "from": [0, 0], "to": [0.3, 0.4]},
    ],
    ids=str,
)
def test_changes_that_mean_nothing_are_reported(change):
    """A sentence that says what to do; the data are untouched."""
    data = draw(*FOUR_BAR)
    before = copy.deepcopy(data)
    with pytest.raises(sarrus.MechanismError):
        edit(data, change)
    assert data == before


def test_space_is_not_drawn_in():
    """A mechanism in space is rejected."""
    data = to_data(sarrus.problems.get("rectangular-bricard").mechanism())
    with pytest.raises(sarrus.MechanismError, match="in the plane"):
        edit(data, {"do": "ground", "at": [0, 0]})


def test_values_of_sliders_are_written_into_what_is_drawn():
    """A longer crank, then a point: the bar has its length, the loop is closed and stays so."""
    data = draw(*FOUR_BAR)
    values = {"bodies.bar 1.length": 0.6}
    new = Desk().edit(
        {"data": data, "values": values, "change": {"do": "ground", "at": [3.0, 3.0]}}
    )
    m = reloaded(new["data"])
    assert not m.assemble
    crank = next(b for b in m.bodies if b.name == "bar 1")
    assert np.linalg.norm(crank.ends[1] - crank.ends[0]) == pytest.approx(0.6, rel=1e-14)
    assert sarrus.simulate(m, 0.5).success
