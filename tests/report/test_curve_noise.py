"""Curves of a page that are nothing but rounding are zero; small motions of small mechanisms are not."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import sarrus
from sarrus.report.curves import read_curves


def drawn(result, what):
    """The values of a curve that `plot` draws."""
    return result.plot(what, ax=Figure().subplots()).lines[0].get_ydata()


def scissors(size):
    """A block that slides, driven, and one on the same rail that symmetry holds in place."""
    m = sarrus.Mechanism("symmetric", gravity=(0, -9.81))
    a, b = (-0.3 * size, 0.4 * size), (0.3 * size, 0.4 * size)
    m.rod("left", (0, 0), a, mass=1)
    m.rod("right", (0, 0), b, mass=1)
    m.body("block", 1, (0, 0), inertia=size**2)
    m.prismatic("rail", m.ground, "block", at=(0, 0), axis=(1, 0))
    m.revolute("A", "block", "left", at=(0, 0))
    m.revolute("B", "block", "right", at=(0, 0))
    # small ones fall faster
    duration = 0.2 * np.sqrt(size)
    return sarrus.simulate(m, duration, output_step=duration / 20)


@pytest.mark.parametrize("size", [1.0, 1e-6])
def test_rounding_is_drawn_as_zero(size):
    """Two equal rods fall to both sides: the block on its rail moves by rounding only, whatever the size."""
    result = scissors(size)
    travel = result.travel("rail")
    assert np.abs(travel).max() < 1e-12 * size
    columns = read_curves(result).columns
    assert not columns["rail.travel [m]"].any()
    assert not drawn(result, "rail.travel").any()
    # accuracy is shown as it is
    np.testing.assert_array_equal(drawn(result, "energy drift"), result.energy_balance)
    # the rods do fall
    assert np.abs(columns["A.angle [rad]"]).max() > 0.1
    assert np.abs(columns["left.x [m]"]).max() > 0.1 * size


def test_the_spike_of_a_blocked_run_is_not_drawn():
    """Towards a dead centre torques grow without bound: the largest drawn is a few times the usual, and a note."""
    m = sarrus.Mechanism("blocked", gravity=(0, -9.81))
    m.four_bar(ground=0.3, crank=0.35, coupler=0.2, rocker=0.25, angle=1.0)
    m.drive("motor", "A", sarrus.Polynomial([0, 1.0]))
    result = sarrus.simulate(m, 3.0, output_step=0.005)
    assert result.status == "blocked"
    curves = read_curves(result)
    torque = curves.columns["motor.drive torque [N m]"]
    usual = np.quantile(np.abs(result.drive_force("motor")), 0.9)
    assert np.nanmax(np.abs(torque)) <= 4 * usual < np.abs(result.drive_force("motor")).max()
    assert any("blocked" in note and "motor.drive torque" in note for note in curves.notes)
    # what was cut has no peak, so none is a headline
    tiles = {what.split(",")[0]: value for value, what in curves.tiles}
    assert tiles["motor: drive torque"] == tiles["reactions at A"] == "unbounded"
    assert np.nanmax(np.abs(drawn(result, "motor torque"))) <= 4 * usual
    label = result.plot("motor torque", ax=Figure().subplots()).get_legend().get_texts()[0]
    assert "grows without bound towards t = " in label.get_text()


def test_a_straight_line_is_drawn_straight():
    """A point that a guide keeps on a line off the origin is drawn at a constant height, not as rounding."""
    m = sarrus.Mechanism("guide", gravity=(0, -9.81))
    m.slider_crank(crank=0.04, rod=0.14, angle=0.5, at=(0.1, 0.3))
    m.drive("motor", "O", sarrus.Polynomial([0, 6.28]))
    result = sarrus.simulate(m, 1.0)
    height = drawn(result, "B.y")
    np.testing.assert_allclose(height, 0.3, atol=1e-12)
    assert np.ptp(height) == 0
    np.testing.assert_array_equal(drawn(result, "B.x"), result.position("B")[:, 0])


@pytest.mark.slow
def test_no_curve_shows_rounding_at_crossings():
    """A driven parallelogram passes flat configurations, where derivatives contain most rounding.

    Its coupler does not turn and its rocker turns uniformly: both are drawn so, and no drawn curve consists of
    rounding. Without gravity, too, where no weight is there to compare with.
    """
    for gravity in ((0, -9.81), (0, 0)):
        m = sarrus.Mechanism("parallelogram", gravity=gravity)
        m.four_bar(ground=0.4, crank=0.1, coupler=0.4, rocker=0.1, angle=1.0, mass=[0.2, 0.5, 0.4])
        m.drive("motor", "A", sarrus.Polynomial([0, 10.0]))
        result = sarrus.simulate(m, 1.0, output_step=0.004)
        assert not drawn(result, "coupler angular velocity").any()
        assert not drawn(result, "coupler angular acceleration").any()
        assert np.ptp(drawn(result, "rocker angular velocity")) == 0
        assert np.ptp(drawn(result, "kinetic energy")) == 0
        # without gravity the motor does nothing at constant speed
        assert drawn(result, "motor torque").any() == any(gravity)
        columns = read_curves(result).columns
        for word in ("angular velocity [rad/s]", "angular acceleration [rad/s^2]"):
            assert not columns[f"coupler.{word}"].any()
        assert not columns["rocker.angular acceleration [rad/s^2]"].any()
        found = sarrus.design(m)
        assert np.ptp(found.reflected_inertia) == np.ptp(found.mechanical_advantage("D")) == 0
