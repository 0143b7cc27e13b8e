"""Results for other programs and for notebooks: columns with units, files read back, small pictures."""

import base64
import csv
import re
import sys
from importlib import import_module

import h5py
import numpy as np
import pytest

import sarrus
from linkages import door


@pytest.fixture(scope="module")
def result():
    """One second of the double four-bar."""
    problem = sarrus.problems.get("double-four-bar")
    return sarrus.simulate(problem.mechanism(), 1.0, 0.05)


def test_columns_have_units_and_the_values_of_the_result(result):
    """Time, then place, velocity and acceleration of each point, energy, three violations."""
    columns = result.columns("B0")
    assert list(columns) == [
        "t [s]",
        *("B0.x [m]", "B0.y [m]", "B0.vx [m/s]", "B0.vy [m/s]", "B0.ax [m/s^2]", "B0.ay [m/s^2]"),
        "B0.angle [rad]",
        *("kinetic energy [J]", "potential energy [J]", "total energy [J]", "work [J]"),
        "energy drift [J]",
        "violation of position [m]",
        "violation of velocity [m/s]",
        "violation of acceleration [m/s^2]",
    ]
    np.testing.assert_array_equal(columns["B0.vy [m/s]"], result.velocity("B0")[:, 1])
    # all joints if none is named, and the angles of those of two bodies
    assert len(result.columns()) == 1 + 6 * 6 + len(result.readings()) + 8


@pytest.mark.slow
def test_readings_of_joints_springs_and_drives():
    """What can be read by name stands in the columns: a driven slider between springs, and a winch."""
    m = sarrus.Mechanism("readings", gravity=(0, 0))
    m.body("block", 2.0, (1, 0), inertia=1.0)
    m.rod("arm", (1, 0), (1, 1), mass=3.0)
    m.body("bob", 1.0, (3, 0))
    m.prismatic("rail", m.ground, "block", at=(1, 0), axis=(1, 0))
    m.revolute("hinge", "block", "arm", at=(1, 0))
    m.distance("rope", m.ground, "bob", start=(3, 1), end=(3, 0))
    m.spring("strut", m.ground, "block", start=(0, 0), end=(1, 0), stiffness=5.0)
    m.torsion("coil", "hinge", stiffness=0.5)
    m.drive("push", "rail", sarrus.Sine(0.1, 1.0))
    m.drive("turn", "hinge", sarrus.Polynomial((0.0, 7.0)))
    m.drive("winch", "rope", sarrus.Polynomial((1.0, 0.2)))
    r = sarrus.simulate(m, 2.0, 0.05)
    x = 0.1 * np.sin(2 * np.pi * r.times)
    expected = {
        "hinge.angle [rad]": 7 * r.times,
        "rail.travel [m]": x,
        "rope.length [m]": 1 + 0.2 * r.times,
        "strut.length [m]": 1 + x,
        "strut.force [N]": 5 * x,
        "coil.torque [N m]": -3.5 * r.times,
        "push.drive force [N]": r.drive_force("push"),
        "push.drive power [W]": r.drive_force("push") * 0.2 * np.pi * np.cos(2 * np.pi * r.times),
        "turn.drive torque [N m]": r.drive_force("turn"),
        "turn.drive power [W]": 7 * r.drive_force("turn"),
        "winch.drive force [N]": r.drive_force("winch"),
        "winch.drive power [W]": 0.2 * r.drive_force("winch"),
    }
    found = r.readings()
    assert list(found) == list(expected)
    for name, values in expected.items():
        # driven coordinates hold to rounding
        np.testing.assert_allclose(found[name], values, atol=1e-12, err_msg=name)
    assert set(found) <= set(r.columns())
    # by name, as points are: in columns, figures and datasets
    assert list(r.columns("strut"))[1:3] == ["strut.length [m]", "strut.force [N]"]
    assert set(r.readings("rail", "push")) == {
        *("rail.travel [m]", "push.drive force [N]", "push.drive power [W]")
    }
    labels = [axes.get_ylabel() for axes in r.plot("strut").get_axes() if axes.get_ylabel()]
    assert labels[:2] == ["strut.length [m]", "strut.force [N]"]
    pytest.importorskip("xarray")
    data = r.to_xarray("block", "winch")
    assert data["winch.drive power"].attrs["units"] == "W"
    np.testing.assert_array_equal(data["winch.drive force"], r.drive_force("winch"))
    assert data.sizes["point"] == 1


def test_reactions_are_columns():
    """Force, moment where a joint holds a turn, and 1 where rigid bodies do not determine them."""
    r = sarrus.simulate(door(), 0.2, 0.1)
    columns = r.columns("H0", reactions=True)
    reaction = r.reaction("H0")
    for k, axis in enumerate("xyz"):
        np.testing.assert_array_equal(columns[f"H0.F{axis} [N]"], reaction.force[:, k])
        np.testing.assert_array_equal(columns[f"H0.M{axis} [N m]"], reaction.moment[:, k])
    # two hinges in line: how the weight is shared along the axis nobody knows
    assert (columns["H0.shared [1]"] == 1.0).all()
    pendulum = sarrus.simulate(sarrus.problems.get("simple-pendulum").mechanism(), 0.2, 0.1)
    joint = pendulum.mechanism.joints[0].name
    columns = pendulum.columns(reactions=True)
    assert (columns[f"{joint}.shared [1]"] == 0.0).all()
    assert f"{joint}.Mz [N m]" not in columns


def test_unknown_point_is_named(result):
    """The names there are stand in the message."""
    with pytest.raises(KeyError, match="B0"):
        result.columns("Z")


def test_csv_is_read_back_to_the_last_bit(result, tmp_path):
    """17 digits and one line of names."""
    path = result.save_csv(tmp_path / "run.csv", "B0")
    with open(path, encoding="utf-8", newline="") as file:
        names = next(csv.reader(file))
        table = np.loadtxt(file, delimiter=",")
    assert names == list(result.columns("B0"))
    np.testing.assert_array_equal(table, np.column_stack(list(result.columns("B0").values())))


def test_names_with_commas_and_quotes_survive_csv(tmp_path):
    """The names of a user may contain anything."""
    m = sarrus.Mechanism("odd")
    m.rod("rod", (0, 0), (1, 0), mass=1)
    m.revolute('a, "b"', m.ground, "rod", at=(0, 0))
    path = sarrus.simulate(m, 0.1, 0.05).save_csv(tmp_path / "run.csv")
    with open(path, encoding="utf-8", newline="") as file:
        assert next(csv.reader(file))[1] == 'a, "b".x [m]'


def test_data_frame(result):
    """Indexed by time, one column each."""
    pytest.importorskip("pandas")
    frame = result.to_dataframe("B0", "B1")
    assert frame.index.name == "t [s]"
    np.testing.assert_array_equal(frame["B1.x [m]"], result.position("B1")[:, 0])


def test_dataset(result):
    """Arrays over time, point and axis, with units."""
    pytest.importorskip("xarray")
    data = result.to_xarray("B0", "B1")
    np.testing.assert_array_equal(
        data.position.sel(point="B1", axis="y"), result.position("B1")[:, 1]
    )
    assert data.velocity.attrs["units"] == "m/s"
    assert data.attrs["mechanism"] == "double four-bar"


def test_parquet_and_hdf5_are_read_back(result, tmp_path):
    """Columns and units are in the files."""
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(result.save_parquet(tmp_path / "run.parquet", "B0"))
    assert table.column_names == list(result.columns("B0"))
    np.testing.assert_array_equal(table["B0.x [m]"].to_numpy(), result.position("B0")[:, 0])
    assert table.schema.metadata[b"method"] == b"series"
    with h5py.File(result.save_hdf5(tmp_path / "run.h5", "B0")) as file:
        np.testing.assert_array_equal(file["B0.vx"][:], result.velocity("B0")[:, 0])
        assert file["B0.vx"].attrs["unit"] == "m/s"
        assert file.attrs["status"] == "done"


@pytest.mark.parametrize(
    ("package", "call"),
    [
        ("pandas", lambda r, path: r.to_dataframe()),
        ("xarray", lambda r, path: r.to_xarray()),
        ("pyarrow", lambda r, path: r.save_parquet(path)),
    ],
)
def test_a_missing_package_is_named_with_its_extra(result, tmp_path, monkeypatch, package, call):
    """The message says what to install."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"{package}.*.\[data\]"):
        call(result, tmp_path / "file")


@pytest.mark.slow
def test_result_shows_itself_in_a_notebook(result):
    """A table and a PNG of some size, names escaped."""
    card = result._repr_html_()
    assert "done" in card
    image = base64.b64decode(re.search(r"base64,([^\"]+)", card).group(1))
    assert image[:4] == b"\x89PNG"
    assert 10_000 < len(image) < 200_000


def test_plot_has_a_panel_for_each_point(result):
    """Places and angles of two points; the mechanism next to them."""
    figure = result.plot("B0", "B1")
    labels = [axes.get_ylabel() for axes in figure.get_axes() if axes.get_ylabel()]
    assert labels == ["B0 [m]", "B0.angle [deg]", "B1 [m]"]
    x = figure.get_axes()[0].lines[0].get_ydata()
    np.testing.assert_array_equal(x, result.position("B0")[:, 0])


def test_animation_is_a_page_of_its_own(result, tmp_path):
    """Without plotly, without addresses, inside a frame that may only run scripts."""
    player = result.animate("B0")
    page = player.save(tmp_path / "moving.html").read_text(encoding="utf-8")
    assert "Plotly" not in page
    assert not re.search(r"https?://", page)
    assert "default-src 'none'" in page
    assert player._repr_html_().startswith("<iframe srcdoc=")


@pytest.mark.slow
def test_early_end_and_single_output_can_be_shown():
    """A run that ended at once still has a picture and a table."""
    problem = sarrus.problems.get("double-four-bar")
    result = sarrus.simulate(problem.mechanism(), 1.0, 0.1, max_steps=1)
    assert result.status != "done"
    assert result.status in result._repr_html_()
    assert len(result.scene.times) == len(result.times)
    assert "srcdoc" in result.animate()._repr_html_()


def test_a_simulation_builds_no_drawing_and_judges_nothing(monkeypatch):
    """Joint equations, loads and sketch are built when first requested, once."""
    built = []
    for place, name in (
        ("sarrus.scene", "make_sketch"),
        ("sarrus.verdict.applied_wrenches", "make_body_loads"),
        ("sarrus.verdict.joint_equations", "make_joint_equations"),
    ):
        make = getattr(import_module(place), name)
        monkeypatch.setattr(
            f"{place}.{name}", lambda *a, make=make, name=name: (built.append(name), make(*a))[1]
        )
    problem = sarrus.problems.get("double-four-bar")
    result = sarrus.simulate(problem.mechanism(), 0.5, 0.1)
    assert built == []
    assert result.reaction("B0").force.shape == (6, 2)
    assert result.reaction("B1").force.shape == (6, 2)
    assert built == ["make_joint_equations", "make_body_loads"]
    assert len(result.scene.times) == 6
    assert built[2:] == ["make_sketch"]


def test_crossings_and_what_goes_far_away_are_noted():
    """A four-bar that lies flat, and a rod that nothing holds."""
    flat = sarrus.simulate(sarrus.problems.get("n-four-bar", windows=1).mechanism(), 1.0)
    assert any(note.startswith("1 crossing at t = 0.708450009 s") for note in flat.notes)
    m = sarrus.Mechanism("fallen")
    m.rod("held", (0, 0), (1, 0), mass=1)
    m.rod("loose", (0, 1), (1, 1), mass=1)
    m.revolute("pin", m.ground, "held", at=(0, 0))
    far = [note for note in sarrus.simulate(m, 3.0).notes if "more than 10 times" in note]
    # the box is sqrt(2) m wide: 14.1 m are fallen after sqrt(2 * 14.14 / 9.81) = 1.698 s; outputs are 3 ms apart
    assert len(far) == 1
    assert "'loose' is 14.2 m from its start at t = 1.7" in far[0]
    assert not any("10 times" in note for note in sarrus.simulate(m, 1.0).notes)
