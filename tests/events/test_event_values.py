"""Values of events with units, and quantities that are norms of vectors."""

import pytest

import sarrus
from sarrus import when
from sarrus.quantities import list_quantities


def driven():
    """A crank-rocker with a drive and a torsion spring."""
    m = sarrus.Mechanism("crank-rocker")
    m.four_bar(ground=1.0, crank=0.3, coupler=0.9, rocker=0.7, angle="60 deg")
    m.drive("motor", "A", sarrus.Polynomial((0, 2.0)))
    m.torsion("hinge spring", "D", stiffness=3.0)
    return m


def test_every_quantity_accepts_its_unit():
    """The value of an event may have the unit of the quantity, and no unit of another dimension."""
    result = sarrus.simulate(driven(), 0.1)
    names = list_quantities(result)
    assert {"motor.torque", "motor.power", "crank.angle"} <= set(names)
    for name in names:
        unit = result.quantity(name).unit
        assert when(name, equals=f"2.5 {unit}").equals == 2.5
        with pytest.raises(sarrus.MechanismError, match="is a mass; give"):
            when(name, equals="2.5 kg")


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"quantity": "motor torque", "equals": "3000 N mm"}, 3.0),
        ({"quantity": "motor power", "equals": "0.5 kW"}, 500.0),
        ({"quantity": "time", "equals": "500 ms"}, 0.5),
        ({"quantity": {"B.x": 1.0, "C.x": -1.0}, "equals": "-25 mm"}, -0.025),
        ({"coordinate": "C.ax", "equals": "20 mm/s^2"}, 0.02),
        ({"energy": "kinetic", "equals": "2 N m"}, 2.0),
        ({"drive": "motor", "equals": "3 N m"}, 3.0),
        ({"force": "hinge spring", "equals": "2 N m"}, 2.0),
    ],
)
def test_values_with_units(given, value):
    """Units are converted exactly, and the run accepts the event."""
    event = when(**given)
    assert event.equals == value
    sarrus.simulate(driven(), 0.01, events=[event])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"quantity": "motor torque", "equals": "3 N"}, "'3 N' is a force; give a torque"),
        ({"quantity": "motor power", "equals": "3 watts"}, "did you mean W"),
        ({"coordinate": "C.ax", "equals": "1 m"}, "'1 m' is a length; give an acceleration"),
        ({"drive": "motor", "equals": "3 m"}, "give a force, .* or give a torque"),
        ({"drive": "motor", "equals": "3 N"}, "given is a force; give a torque"),
        ({"force": "hinge spring", "equals": "3 N"}, "given is a force; give a torque"),
        ({"quantity": {"B.x": 1.0, "crank angle": 1.0}, "equals": "1 m"}, "has a unit"),
        ({"quantity": "motor torqe", "equals": "3 N m"}, "did you mean 'motor torque'"),
    ],
)
def test_wrong_units(given, words):
    """A unit of another dimension is rejected, at the latest by the run; so are unknown names."""
    with pytest.raises((sarrus.MechanismError, sarrus.UnknownNameError), match=words):
        sarrus.simulate(driven(), 0.01, events=[when(**given)])


def test_files_have_values_with_units(tmp_path):
    """A model file accepts and rejects the same units, with the line."""
    m = driven()
    m.event("strong", "motor torque", equals="3 kN mm")
    m.event("drive", drive="motor", equals="3 N m")
    path = tmp_path / "m.yaml"
    m.save(path)
    text = path.read_text()
    assert [e.equals for e in sarrus.load(path).events] == [3.0, 3.0]
    assert text.count("equals: 3.0") == 2
    path.write_text(text.replace("equals: 3.0", "equals: 3 N m"))
    assert [e.equals for e in sarrus.load(path).events] == [3.0, 3.0]
    for number in (1, 2):
        # the first of the two, then the second
        parts = text.split("equals: 3.0")
        wrong = "equals: 3 N".join(
            ["equals: 3.0".join(parts[:number]), "equals: 3.0".join(parts[number:])]
        )
        path.write_text(wrong)
        with pytest.raises(sarrus.ModelFileError, match="give a torque, like 3 N m"):
            sarrus.load(path)


@pytest.mark.parametrize(("word", "value"), [("speed", 0.2), ("speed", 0.0), ("acceleration", 0.9)])
def test_norms_are_smooth(word, value):
    """A norm has a kink where its vector vanishes, as at a dead centre; events next to it are exact."""
    result = sarrus.simulate(driven(), 3.2, events=[when(f"C {word}", equals=value)])
    assert len(result.events) >= 2
    # where the norm vanishes its value is the distance in time times the acceleration; else to rounding
    error = 1e-7 if value == 0.0 else 1e-12
    for event in result.events:
        assert event.value == pytest.approx(value, abs=error)
    if word == "speed":
        other = sarrus.simulate(driven(), 3.2, events=[when(speed="C", equals=value)])
        times = [e.time for e in other.events]
        assert [e.time for e in result.events] == pytest.approx(
            times, abs=1e-7 if not value else 1e-11
        )


def test_a_negative_norm_is_never_reached():
    """The square of a negative value would be reached."""
    result = sarrus.simulate(driven(), 3.2, events=[when("C speed", equals=-0.2)])
    assert not result.events
    assert "event" in result.events._repr_html_()


def test_tables_in_notebooks():
    """Events, ensembles and derivatives are tables with their numbers."""
    m = driven()
    result = sarrus.simulate(m, 1.0, events=[when("crank angle", equals="90 deg", name="up")])
    (event,) = result.events
    for words in ("1 event<", "up", f"{event.time:.9g}", "rad"):
        assert words in result.events._repr_html_()
    runs = sarrus.Ensemble(m, {"bodies.crank.mass": [1.0 + 0.25 * i for i in range(12)]})
    table = runs.simulate(0.1, 0.05)._repr_html_()
    # ten rows, the head and one row of dots
    assert table.count("<tr>") == 12
    assert "1.25" in table
    found = result.sensitivity("C", wrt="bodies.crank.mass")._repr_html_()
    assert "C x" in found
    assert "at the end" in found
