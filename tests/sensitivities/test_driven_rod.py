"""Derivatives of event times, extremes and drive power of a driven rod, all in closed form."""

import numpy as np
import pytest

import sarrus

LENGTH, RATE, MASS, GRAVITY = 0.8, 3.0, 1.5, 9.81
SIDE = 0.3


def rod(length, rate, mass=MASS):
    """A rod whose angle to the x axis is rate t - 0.5."""
    m = sarrus.Mechanism("driven rod", gravity=(0, -GRAVITY))
    end = (length * np.cos(0.5), -length * np.sin(0.5))
    one = m.rod("rod", (0, 0), end, mass=mass)
    m.revolute("A", m.ground, one, at=(0, 0))
    m.point("tip", one, at=end)
    m.drive("motor", "A", sarrus.Polynomial([0, rate]))
    return m


@pytest.fixture(scope="module")
def found():
    """Derivatives by length, rate and mass; the extremes lie between outputs."""
    event = sarrus.when(coordinate="tip.x", equals=SIDE)
    power = sarrus.when(drive="motor", equals=1.0)
    quantities = ["motor power", "largest tip.x", event, power]
    values = {"length": LENGTH, "rate": RATE, "mass": MASS}
    settings = {"outputs": [0.0, 0.2, 0.7], "events": [event, power]}
    return sarrus.sensitivity(rod, values, quantities, 0.7, **settings), event, power


def test_event_of_a_coordinate_by_dimension_and_drive(found):
    """l cos(w t - 1/2) = c: the event depends on the length, also through the formula of the coordinate."""
    table, event, _ = found
    angle = np.arccos(SIDE / LENGTH)
    time = (angle + 0.5) / RATE
    slope = SIDE / (LENGTH**2 * RATE * np.sin(angle))
    assert table[event, "length"].times == pytest.approx([time], abs=1e-10)
    # readings are differentiated by differences, which leaves 1e-9
    assert table[event, "length"].values == pytest.approx([slope], abs=1e-8)
    assert table[event, "rate"].values == pytest.approx([-time / RATE], abs=1e-8)
    assert table[event, "mass"].values == pytest.approx([0.0], abs=1e-8)


def test_event_of_a_drive_torque(found):
    """1/2 m g l cos(w t - 1/2) = 1 N m."""
    table, _, event = found
    weight = 0.5 * MASS * GRAVITY * LENGTH
    angle = np.arccos(1.0 / weight)
    slope = 1.0 / (RATE * np.tan(angle))
    for name, value in (("length", LENGTH), ("mass", MASS)):
        assert table[event, name].values == pytest.approx([slope / value], abs=1e-8)


def test_power_of_a_drive(found):
    """P = 1/2 m g l w cos(w t - 1/2); states displaced along the derivative violate redundant constraints."""
    table = found[0]
    times = np.array([0.0, 0.2, 0.7])
    angle, weight = RATE * times - 0.5, 0.5 * MASS * GRAVITY * LENGTH
    power = weight * RATE * np.cos(angle)
    by_rate = weight * (np.cos(angle) - RATE * times * np.sin(angle))
    # differences of fourth order leave 1e-9 of the values, some 20 W
    np.testing.assert_allclose(table["motor power", "rate"].values, by_rate, atol=2e-7)
    np.testing.assert_allclose(table["motor power", "mass"].values, power / MASS, atol=2e-7)
    np.testing.assert_allclose(table["motor power", "length"].values, power / LENGTH, atol=2e-7)


def test_extreme_between_coarse_outputs(found):
    """x = l at t = 1 / (2 w), far from all outputs."""
    table = found[0]
    by_length, by_rate = (table["largest tip.x", name] for name in ("length", "rate"))
    assert by_length.times == pytest.approx([0.5 / RATE], abs=1e-10)
    assert by_length.values == pytest.approx([1.0], abs=1e-9)
    assert by_length.time_rates == pytest.approx([0.0], abs=1e-9)
    assert by_rate.values == pytest.approx([0.0], abs=1e-9)
    assert by_rate.time_rates == pytest.approx([-0.5 / RATE**2], abs=1e-9)


def test_time_of_a_flat_extreme_has_no_derivative():
    """A rod that comes to rest: its extreme lasts, its value still has a derivative."""

    def build(last):
        m = rod(LENGTH, RATE)
        m.drives.clear()
        m.drive("motor", "A", sarrus.SmoothStep(0, last, begin=0, end=0.4))
        return m

    found = sarrus.sensitivity(build, {"last": 1.5}, ["largest tip.y"], 1.0)[
        "largest tip.y", "last"
    ]
    # y = l sin(last - 1/2) while it rests
    assert found.values == pytest.approx([LENGTH * np.cos(1.0)], abs=1e-9)
    assert np.isnan(found.time_rates).all()


def test_numbers_without_derivatives_are_rejected():
    """Offset of a drive (its joint begins elsewhere), gear ratio (a fraction), value of an event."""
    m = rod(LENGTH, RATE)
    two = m.body("wheel", mass=1.0, center=(2, 0), inertia=0.1)
    m.revolute("B", m.ground, two, at=(2, 0))
    m.coupling("gear", "A", "B", ratio=2.0)
    m.event("half", angle="A", equals=0.5)
    run = sarrus.simulate(m, 0.2)
    with pytest.raises(sarrus.MechanismError, match="no mechanism lies in this direction"):
        run.sensitivity("tip", "drives.motor.polynomial.0")
    with pytest.raises(sarrus.MechanismError, match="decides the equations"):
        run.sensitivity("tip", "couplings.gear.ratio")
    with pytest.raises(sarrus.MechanismError, match="does not depend on it"):
        run.sensitivity("tip", "events.half.equals")


def test_readings_where_the_derivative_ends():
    """Forces of joints have derivatives until a pole and none after it."""
    m = sarrus.problems.get("double-four-bar", windows=1).build()
    run = sarrus.simulate(m, 1.0, output_step=0.1)
    found = run.sensitivity("B0.Fx", "joints.B1.at.1")
    before = run.times < found.validity.until
    assert before.any()
    assert np.isfinite(found.values[before]).all()
    assert np.isnan(found.values[~before]).all()


def test_time_of_a_terminal_event():
    """The run ends with the event: its rate is taken on one side, as exactly as inside a run."""
    event = sarrus.when(coordinate="tip.x", equals=SIDE, terminal=True)
    found = sarrus.sensitivity(rod, {"length": LENGTH, "rate": RATE}, [event], 2.0, events=[event])
    angle = np.arccos(SIDE / LENGTH)
    slope = SIDE / (LENGTH**2 * RATE * np.sin(angle))
    assert found[event, "length"].values == pytest.approx([slope], abs=1e-8)
    assert found[event, "rate"].values == pytest.approx([-(angle + 0.5) / RATE**2], abs=1e-8)
