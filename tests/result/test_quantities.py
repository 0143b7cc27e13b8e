"""Any quantity of a result by its name, and plots of them over time, angles and strokes."""

import numpy as np
import pytest

import sarrus
from sarrus.quantity_units import unit_of_quantity


@pytest.fixture(scope="module")
def engine():
    """A slider-crank with a spring, a drive and a pin of three bodies."""
    m = sarrus.Mechanism("engine", gravity=(0, -9.81))
    m.slider_crank(crank=0.05, rod=0.2, angle=0.5, mass=[0.3, 0.4, 0.5])
    m.rod("hanger", next(j.at for j in m.joints if j.name == "B"), (0.2, -0.3), mass=0.2)
    m.joints[:] = [j for j in m.joints if j.name != "B"]
    m.revolute("B", "rod", "slider", "hanger", at=m.bodies[2].center)
    m.spring("coil", m.ground, "slider", start=(0.5, 0), end=m.bodies[2].center, stiffness=100)
    m.drive("motor", "O", sarrus.Polynomial([0, 20.0]))
    return sarrus.simulate(m, 0.3, output_step=0.002)


QUANTITIES = {
    "time": lambda r: r.times,
    "A.x": lambda r: r.position("A")[:, 0],
    "A.vy": lambda r: r.velocity("A")[:, 1],
    "slider ax": lambda r: r.acceleration("slider")[:, 0],
    "A.speed": lambda r: np.linalg.norm(r.velocity("A"), axis=1),
    "A acceleration": lambda r: np.linalg.norm(r.acceleration("A"), axis=1),
    "motor torque": lambda r: r.drive_force("motor"),
    "motor.drive torque": lambda r: r.drive_force("motor"),
    "motor power": lambda r: r.drive_power("motor"),
    "power": lambda r: r.drive_power("motor"),
    "motor angle": lambda r: 20.0 * r.times,
    "O.angle": lambda r: r.angle("O"),
    "crank angle": lambda r: r.orientation("crank"),
    "rod.angular velocity": lambda r: r.angular_velocity("rod"),
    "rod angular acceleration": lambda r: r.angular_acceleration("rod"),
    "guide travel": lambda r: r.travel("guide"),
    "stroke": lambda r: r.travel("guide"),
    "coil force": lambda r: r.force("coil"),
    "coil.length": lambda r: r.length("coil"),
    "O.F": lambda r: r.reaction("O").sizes,
    "O reaction": lambda r: r.reaction("O").sizes,
    "O.Fy": lambda r: r.reaction("O").force[:, 1],
    "guide.M": lambda r: np.abs(r.reaction("guide").moment) * np.sign(r.reaction("guide").moment),
    "B on hanger.F": lambda r: r.reaction("B", "hanger").sizes,
    "B on rod.Fx": lambda r: r.reaction("B", "rod").force[:, 0],
    "B.F": lambda r: r.reaction("B", "rod").sizes,
    "kinetic energy": lambda r: r.kinetic_energy,
    "total energy": lambda r: r.kinetic_energy + r.potential_energy,
    "energy drift": lambda r: r.energy_balance,
    "violation": lambda r: r.violation(),
}


@pytest.mark.parametrize("name", QUANTITIES)
def test_quantities_are_what_the_api_reads(engine, name):
    """The same numbers by name, with the unit that studies state beforehand."""
    found = engine.quantity(name)
    np.testing.assert_array_equal(found.values, QUANTITIES[name](engine))
    assert found.unit == unit_of_quantity(name)
    assert found.unit


def test_rates_are_derivatives(engine):
    """Where a quantity has rates, its differences are theirs: second order in the output step."""
    for name in ("A.x", "A.vy", "crank angle", "motor angle"):
        found = engine.quantity(name)
        middle = np.diff(found.values) / np.diff(engine.times)
        mean = (found.rates[1:] + found.rates[:-1]) / 2
        np.testing.assert_allclose(middle, mean, atol=1e-3 * np.abs(found.rates).max())


def test_degrees():
    """Angles and their rates in degrees, others as they are."""
    from sarrus.quantities import Quantity

    x = np.array([0.0, np.pi])
    assert Quantity("a", "rad/s^2", x).in_degrees().label == "a [deg/s^2]"
    np.testing.assert_allclose(Quantity("a", "rad", x).in_degrees().values, (0, 180))
    assert Quantity("a", "m", x).in_degrees().unit == "m"


WRONG = {
    "moter torque": "motor",
    "motor force": "'motor' has no force",
    "A.vz": "'A' has no vz",
    "torqe": "is not a quantity",
    "angle": "name one part",
    "B on crank.F": "has no F|not a quantity",
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_names_are_reported_with_what_there_is(engine, name):
    """A misspelt part or word, a quantity of several parts: each has a sentence."""
    with pytest.raises(sarrus.UnknownNameError, match=WRONG[name]):
        engine.quantity(name)


def labels(figure):
    """Labels of all vertical axes."""
    return [axes.get_ylabel().replace("\n", " ") for axes in figure.get_axes() if axes.get_ylabel()]


def test_plots_over_an_angle(engine):
    """Torque over the crank angle in degrees: both axes are those of the API."""
    figure = engine.plot("motor torque", "B on hanger.F", over="crank angle")
    assert labels(figure) == ["motor torque [N m]", "B on hanger.F [N]"]
    axes = figure.get_axes()
    line = axes[0].lines[0]
    np.testing.assert_array_equal(line.get_xdata(), np.degrees(engine.orientation("crank")))
    np.testing.assert_array_equal(line.get_ydata(), engine.drive_force("motor"))
    assert axes[1].get_xlabel() == "crank.angle [deg]"


def test_default_figure_shows_what_the_mechanism_does(engine):
    """Drives, springs and moving points; drift and violation only on request."""
    found = labels(engine.plot())
    assert found[0] == "motor drive torque [N m]"
    assert not any("drift" in label or "violation" in label for label in found)
    assert labels(engine.plot("energy drift", "violation")) == ["energy drift [J]", "violation [m]"]


def test_plots_into_given_axes_and_of_two_runs(engine):
    """`ax=` takes the curves and is returned; a second run is dashed, with its own values."""
    from matplotlib.figure import Figure

    other = sarrus.simulate(engine.mechanism, 0.2, output_step=0.01)
    ax = Figure().subplots()
    assert engine.plot("stroke", ax=ax, over="motor angle", degrees=False, compare=other) is ax
    assert [line.get_linestyle() for line in ax.lines] == ["-", "--"]
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), other.travel("guide"))
    assert ax.get_xlabel() == "motor.angle [rad]"
    assert ax.get_ylabel() == "[m]"
    figure = engine.plot("B", compare=[other])
    assert len(figure.get_axes()[0].lines) == 4


def test_figures_show_themselves(engine):
    """A notebook displays them without a magic command: they have a picture of themselves."""
    for figure in (engine.plot("stroke"), engine.mechanism.plot()):
        assert figure._repr_png_()[:4] == b"\x89PNG"


def test_columns_are_named_for_what_they_hold(engine):
    """The drift is called drift, and total energy is kinetic plus potential energy."""
    columns = engine.columns()
    assert "energy [J]" not in columns
    np.testing.assert_array_equal(columns["energy drift [J]"], engine.energy_balance)
    total = columns["kinetic energy [J]"] + columns["potential energy [J]"]
    np.testing.assert_allclose(columns["total energy [J]"], total, rtol=1e-14)


def record(engine, entry, tmp_path):
    """What a study would record."""
    from sarrus.studies.entries import find_wrong_name, make_record
    from sarrus.studies.records import RecordSource, column_kinds, read_record

    made = make_record("found", entry, True, tmp_path)
    assert not find_wrong_name(made, engine.mechanism)
    return read_record(made, RecordSource(engine.mechanism, engine))["found"], column_kinds(made)[
        0
    ][2]


def test_studies_record_any_quantity(engine, tmp_path):
    """Maximum, RMS, mean, span and the value at an angle, each with its unit."""
    torque, t = engine.drive_force("motor"), engine.times
    rms = np.sqrt(np.trapezoid(torque**2, t) / t[-1])
    wanted = {
        ("maximum", "motor torque"): (torque.max(), "N m"),
        ("rms", "motor torque"): (rms, "N m"),
        ("mean", "motor power"): (np.trapezoid(20 * torque, t) / t[-1], "W"),
        ("maximum", "B on hanger.F"): (engine.reaction("B", "hanger").sizes.max(), "N"),
        ("span", "stroke"): (np.ptp(engine.travel("guide")), "m"),
        ("final", "total energy"): (engine.total_energy[-1], "J"),
        ("maximum", "rod.angular acceleration"): (
            engine.angular_acceleration("rod").max(),
            "rad/s^2",
        ),
        ("minimum", "energy drift"): (engine.energy_balance.min(), "J"),
    }
    for (what, argument), (value, unit) in wanted.items():
        assert record(engine, {what: argument}, tmp_path) == (pytest.approx(value), unit)
    found, unit = record(engine, {"value": "motor torque at motor angle = 90 deg"}, tmp_path)
    assert found == pytest.approx(np.interp(np.pi / 2, 20 * t, torque))
    assert unit == "N m"
    # files of earlier versions say energy
    assert record(engine, {"maximum": "energy"}, tmp_path)[1] == "J"


def test_studies_reject_what_nothing_has(engine, tmp_path):
    """Before a run where the mechanism shows it, else by the record."""
    from sarrus.studies.entries import find_wrong_name, make_record
    from sarrus.studies.records import RecordError

    for entry in ({"maximum": "torqe"}, {"value": "motor torque"}, {"rms": 3}):
        with pytest.raises(RecordError):
            make_record(None, entry, True, tmp_path)
    made = make_record(None, {"maximum": "moter torque"}, True, tmp_path)
    assert "is not a quantity" in find_wrong_name(made, engine.mechanism)


def test_misspelt_quantities_get_the_nearest_one(engine):
    """Joined as they were typed, by a dot or a blank; names may come as a list."""
    for wrong, meant in (("motor torqe", "motor torque"), ("rod.angl", "rod.angle")):
        with pytest.raises(sarrus.UnknownNameError, match=f"did you mean '{meant}'"):
            engine.quantity(wrong)
    assert len(engine.plot(["motor torque", "A.x"]).axes) == len(
        engine.plot("motor torque", "A.x").axes
    )


def test_reactions_are_shown_in_lines(engine):
    """Neither prints its arrays: a line for each joint and drive, and a short form."""
    lines = str(engine.reactions).splitlines()
    assert [line.partition(" on ")[0] for line in lines] == [
        *engine.joint_equations.joints,
        "motor",
    ]
    assert len(repr(engine.reactions)) < 200
    assert repr(engine.reaction("A")) == f"<Reaction of {engine.reaction('A')}>"


def test_angles_of_pins_of_three_bodies_are_named_by_two_of_them():
    """The angle between two bodies of a pin is the difference of theirs; without a pair, a message lists them."""
    m = sarrus.Mechanism("two dyads")
    m.four_bar(ground=0.4, crank=0.1, coupler=0.35, rocker=0.3, angle=1.0)
    m.point("H", m.ground, (0.8, 0.1))
    m.dyad("E", ("link", "lever"), ("C", "H"), lengths=(0.35, 0.3))
    m.drive("motor", "A", sarrus.Polynomial([0, 10.0]))
    result = sarrus.kinematics(m, np.linspace(0, 0.3, 7))
    found = result.quantity("C from rocker to link angle")
    wanted = result.orientation("link") - result.orientation("rocker")
    np.testing.assert_allclose(found.values, wanted, atol=1e-12)
    assert found.unit == "rad"
    with pytest.raises(KeyError, match=r"between each two.*'C from coupler to link\.angle'"):
        result.quantity("C.angle")
