"""The front door: its arguments, output times, names, levels, status and determinism."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import sarrus
from sarrus import Mechanism

NAN, INF = float("nan"), float("inf")


def pendulum():
    """Build a rod that falls from the horizontal."""
    m = Mechanism("pendulum")
    m.rod("rod", (0, 0), (1, 0), 1.0)
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    m.point("tip", "rod", (1, 0))
    return m


def spatial():
    """Build two rods in space on a hinge and a ball joint, moving out of any plane."""
    m = Mechanism("flail", gravity=(0, 0, -9.81))
    m.rod("upper", (0, 0, 0), (1, 0, 0), 1.0)
    m.rod("lower", (1, 0, 0), (1, 1, 0), 1.0)
    m.revolute("pin", m.ground, "upper", at=(0, 0, 0), axis=(0, 1, 0))
    m.spherical("elbow", "upper", "lower", at=(1, 0, 0))
    m.point("tip", "lower", (1, 1, 0))
    m.set_velocity("tip", (1, 0, 0))
    return m


# wrong values

WRONG = [
    ("duration", {"duration": 0.0}, "positive"),
    ("duration", {"duration": -1.0}, "-1"),
    ("duration", {"duration": NAN}, "nan"),
    ("duration", {"duration": INF}, "inf"),
    ("duration", {"duration": "1"}, "seconds"),
    ("duration", {"duration": None}, "seconds"),
    ("duration", {"duration": [1.0]}, "seconds"),
    ("duration", {"duration": 1j}, "seconds"),
    ("duration", {"duration": np.array([1.0, 2.0])}, "seconds"),
    ("output_step", {"output_step": 0.0}, "positive"),
    ("output_step", {"output_step": -0.1}, "-0.1"),
    ("output_step", {"output_step": 2.0}, "longer than the duration"),
    ("output_step", {"output_step": NAN}, "nan"),
    ("output_step", {"output_step": INF}, "inf"),
    ("output_step", {"output_step": "small"}, "seconds"),
    ("output_step", {"output_step": [0.1]}, "seconds"),
    # more outputs than any memory holds
    ("output_step", {"output_step": 1e-15}, "output"),
    ("tolerance", {"tolerance": 0.0}, "1e-15 to 0.1"),
    ("tolerance", {"tolerance": -1e-6}, "1e-15 to 0.1"),
    ("tolerance", {"tolerance": 1.0}, "1e-15 to 0.1"),
    ("tolerance", {"tolerance": 1e-16}, "1e-15 to 0.1"),
    ("tolerance", {"tolerance": NAN}, "nan"),
    ("tolerance", {"tolerance": "tight"}, "1e-15 to 0.1"),
    ("max_steps", {"max_steps": 0}, "at least 1"),
    ("max_steps", {"max_steps": -5}, "at least 1"),
    ("max_steps", {"max_steps": NAN}, "nan"),
    ("max_steps", {"max_steps": "many"}, "many"),
    ("max_steps", {"max_steps": None}, "None"),
    ("duration", {"duration": "1"}, "text with a unit"),
    ("duration", {"duration": "1 m"}, "is a length; give a time"),
    ("output_step", {"output_step": "5 msec"}, "did you mean ms?"),
    ("misfit", {"misfit": "1 s"}, "is a time; give a length"),
    ("method", {"method": "rk4"}, "series"),
    ("method", {"method": None}, "series"),
    ("method", {"method": ["series"]}, "series"),
]


@pytest.mark.parametrize(("name", "arguments", "fragment"), WRONG, ids=[str(w[1]) for w in WRONG])
def test_wrong_argument_gives_a_value_error(name, arguments, fragment):
    """A wrong value raises ValueError; the message has the argument's name and what is allowed."""
    with pytest.raises(ValueError, match=name) as caught:
        sarrus.simulate(pendulum(), **{"duration": 1.0, **arguments})
    assert fragment in str(caught.value)


@pytest.mark.parametrize(
    "duration",
    [1, np.float64(1), np.float32(1), np.int32(1), np.array(1.0), Decimal(1), Fraction(1), "1 s"],
    ids=lambda d: type(d).__name__,
)
def test_any_kind_of_number_is_a_duration(duration):
    """A whole number, a scalar of NumPy and a Decimal mean what the float means, bit for bit."""
    want = sarrus.simulate(pendulum(), 1.0)
    got = sarrus.simulate(pendulum(), duration)
    assert got.status == "done"
    np.testing.assert_array_equal(got.times, want.times)
    np.testing.assert_array_equal(got.coordinates, want.coordinates)


def test_times_may_have_units():
    """Output times, times of kinematics and design, and times between outputs, as durations do."""
    m = Mechanism("crank")
    m.slider_crank(crank=0.04, rod=0.14, angle=0.5)
    m.drive("motor", "O", sarrus.Polynomial([0, 6.28]))
    result = sarrus.simulate(m, "1 s", outputs=["0 s", "250 ms", 0.5], dense=True)
    np.testing.assert_array_equal(result.times, [0.0, 0.25, 0.5])
    np.testing.assert_array_equal(result.at("125 ms").times, [0.125])
    for read in (sarrus.kinematics, sarrus.design):
        np.testing.assert_array_equal(read(m, ["0 s", "10 ms"]).times, [0.0, 0.01])
        with pytest.raises(ValueError, match=r"'10 mm' is a length; give a time"):
            read(m, ["0 s", "10 mm"])
        with pytest.raises(ValueError, match="give times in seconds"):
            read(m, ["0 s", None])


def test_whole_duration_compiles_nothing_again():
    """The solve of `simulate(m, 1)` takes the time of a solve, not of a compilation."""
    sarrus.simulate(pendulum(), 1.0)
    result = sarrus.simulate(pendulum(), 1)
    # the solve takes a tenth of a millisecond, a compilation seconds
    assert result.cpu_seconds < 0.5


# output times


def test_default_is_a_thousand_steps():
    """Left out, the output step is a thousandth of the duration."""
    result = sarrus.simulate(pendulum(), 0.7)
    assert len(result.times) == 1001
    assert result.times[0] == 0.0
    assert result.times[-1] == 0.7


@pytest.mark.parametrize(
    ("duration", "step", "count"),
    [
        (1.0, 0.01, 100),
        (10.0, 0.01, 1000),
        (0.3, 0.1, 3),
        (1.0, 1 / 3, 3),
        (2.0, 2.0, 1),
        (0.7, 0.1, 7),
    ],
)
def test_multiple_of_the_step_ends_at_the_duration(duration, step, count):
    """Outputs of a multiple are k duration / n to the last bit, with the end hit exactly."""
    times = sarrus.simulate(pendulum(), duration, step).times
    assert len(times) == count + 1
    assert times[-1] == duration
    exact = np.array([float(Fraction(duration) * k / count) for k in range(count + 1)])
    assert np.all(np.abs(times - exact) <= np.spacing(exact))


@pytest.mark.parametrize(
    ("duration", "step", "count"), [(1.0, 0.3, 3), (1.0, 0.7, 1), (0.95, 0.1, 9)]
)
def test_no_multiple_stops_before_the_duration(duration, step, count):
    """Outputs of a step that does not divide the duration are k step, none beyond the end."""
    times = sarrus.simulate(pendulum(), duration, step).times
    np.testing.assert_array_equal(times, np.arange(count + 1) * step)
    assert times[-1] <= duration


@pytest.mark.parametrize("step", [0.1, np.float32(0.1), np.float32(0.3), 1 / 7, 0.999999], ids=repr)
def test_no_output_beyond_the_duration(step):
    """No output lies beyond the end of the simulation, whatever the kind of the step."""
    assert sarrus.simulate(pendulum(), 1.0, step).times[-1] <= 1.0


def test_outputs_do_not_depend_on_the_output_step():
    """The same instant has the same state, whichever outputs surround it."""
    fine = sarrus.simulate(pendulum(), 1.0, 0.125)
    coarse = sarrus.simulate(pendulum(), 1.0, 0.5)
    np.testing.assert_array_equal(fine.position("tip")[::4], coarse.position("tip"))
    np.testing.assert_array_equal(fine.velocity("tip")[::4], coarse.velocity("tip"))


# what can be read


@pytest.mark.parametrize(("build", "dimension"), [(pendulum, 2), (spatial, 3)])
def test_shapes(build, dimension):
    """Positions, velocities and accelerations have one row a time; levels one number a time."""
    result = sarrus.simulate(build(), 0.5, 0.1)
    n = len(result.times)
    assert n == 6
    for read in (result.position, result.velocity, result.acceleration):
        for name in result.points:
            values = read(name)
            assert isinstance(values, np.ndarray)
            assert values.shape == (n, dimension)
            assert values.dtype == np.float64
    assert result.energy_balance.shape == (n,)
    for level in ("position", "velocity", "acceleration"):
        assert result.violation(level).shape == (n,)


def test_names_are_joints_points_and_bodies():
    """Every joint, point and body can be read by its name; the rest of the start is as written."""
    result = sarrus.simulate(spatial(), 0.5, 0.1)
    assert sorted(result.points) == ["elbow", "lower", "pin", "tip", "upper"]
    starts = {
        "pin": (0, 0, 0),
        "elbow": (1, 0, 0),
        "tip": (1, 1, 0),
        "upper": (0.5, 0, 0),
        "lower": (1, 0.5, 0),
    }
    for name, place in starts.items():
        np.testing.assert_allclose(result.position(name)[0], place, atol=1e-15)
    assert np.all(result.position("pin") == 0.0)
    np.testing.assert_allclose(result.velocity("tip")[0], (1, 0, 0), atol=1e-14)


def test_velocity_is_the_derivative_of_position():
    """Central differences of the position give the velocity, and those of the velocity the rest."""
    result = sarrus.simulate(spatial(), 1e-2, 1e-5)
    h = 1e-5
    for name in ("tip", "elbow", "upper"):
        x, v, a = result.position(name), result.velocity(name), result.acceleration(name)
        # second order: h^2 / 6 times a third derivative of some 1e3
        np.testing.assert_allclose((x[2:] - x[:-2]) / (2 * h), v[1:-1], atol=1e-6)
        np.testing.assert_allclose((v[2:] - v[:-2]) / (2 * h), a[1:-1], atol=1e-5)


@pytest.mark.parametrize("read", ["position", "velocity", "acceleration"])
def test_unknown_name_lists_the_known(read):
    """An unknown name raises KeyError; its text has the name requested and those there are."""
    result = sarrus.simulate(pendulum(), 0.1)
    with pytest.raises(KeyError) as caught:
        getattr(result, read)("top")
    text = str(caught.value)
    assert "'top'" in text
    for name in ("rod", "tip", "pin"):
        assert f"'{name}'" in text
    # a KeyError of its own would show the repr of its argument, in quotes
    assert text.startswith("no joint, point or body")
    assert "did you mean 'tip'?" in text


def test_unknown_level_lists_the_known():
    """An unknown level raises ValueError with the three there are."""
    result = sarrus.simulate(pendulum(), 0.1)
    with pytest.raises(ValueError, match="'position', 'velocity', 'acceleration'"):
        result.violation("jerk")


def test_violations_are_rounding_at_each_level():
    """The joints hold at position, velocity and acceleration level to rounding."""
    for build in (pendulum, spatial):
        result = sarrus.simulate(build(), 1.0, 0.05)
        assert result.violation().max() == result.violation("position").max()
        # lengths of one metre, velocities below 10 m/s, accelerations below 1000 m/s^2
        assert result.violation("position").max() < 1e-14
        assert result.violation("velocity").max() < 1e-13
        assert result.violation("acceleration").max() < 1e-11


def test_status_and_provenance():
    """A result says how it went, and what it was requested."""
    result = sarrus.simulate(pendulum(), 0.5, 0.1, tolerance=1e-8)
    assert result.status == "done"
    assert "0.5 s" in result.message
    assert result.name == "pendulum"
    assert result.method == "series"
    assert result.tolerance == 1e-8
    assert result.duration == 0.5
    assert result.notes == []
    assert result.counters["steps"] == len(result.step_times) == len(result.step_orders)
    assert "pendulum" in repr(result)
    assert "done" in repr(result)


def test_tolerance_below_double_precision_is_noted():
    """A tolerance that double precision cannot hold is not passed over in silence."""
    result = sarrus.simulate(pendulum(), 0.5, 0.1, tolerance=1e-15)
    assert result.status == "done"
    assert any("double precision" in note for note in result.notes)


def test_open_start_is_noted():
    """Velocities that leave the start open are completed, and the result says so."""
    m = Mechanism("double pendulum")
    m.rod("upper", (0, 0), (1, 0), 1.0)
    m.rod("lower", (1, 0), (2, 0), 1.0)
    m.revolute("pin", m.ground, "upper", at=(0, 0))
    m.revolute("elbow", "upper", "lower", at=(1, 0))
    m.point("tip", "lower", (2, 0))
    m.set_velocity("tip", (0, 1))
    result = sarrus.simulate(m, 0.1, 0.1)
    assert any("least kinetic energy" in note for note in result.notes)
    # of all elbow velocities u with the tip at w: 6 T = 2 u^2 + u w + w^2, least at u = -w / 4
    np.testing.assert_allclose(result.velocity("elbow")[0], (0, -0.25), atol=1e-9)
    m.set_velocity("elbow", (0, -0.25))
    assert sarrus.simulate(m, 0.1, 0.1).notes == []


@pytest.mark.parametrize("build", [pendulum, spatial])
def test_two_runs_are_identical(build):
    """Two runs give the same bits."""
    one = sarrus.simulate(build(), 1.0, 0.05)
    two = sarrus.simulate(build(), 1.0, 0.05)
    for name in (
        "times",
        "energy_balance",
        "coordinates",
        "rates",
        "accelerations",
        "norms",
        "step_times",
    ):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.counters == two.counters


def test_mechanism_can_be_simulated_again_and_changed():
    """A simulation leaves its mechanism as it was; a longer one begins with the same states."""
    m = pendulum()
    one = sarrus.simulate(m, 0.5, 0.1)
    again = sarrus.simulate(m, 0.5, 0.1)
    np.testing.assert_array_equal(one.coordinates, again.coordinates)
    m.set_angular_velocity("rod", 2.0)
    moved = sarrus.simulate(m, 0.5, 0.1)
    np.testing.assert_allclose(moved.velocity("tip")[0], (0, 2), atol=1e-14)


# a run that is too long


@pytest.mark.parametrize("max_steps", [1, 3, 20, 1500])
def test_too_few_steps_stop_the_run(max_steps):
    """A run out of steps ends as "too-slow" with right states up to where it got."""
    # a pendulum of one metre takes some six steps a second
    duration = 1000.0
    step = 0.05
    full = sarrus.simulate(pendulum(), duration, step)
    assert full.status == "done"
    assert full.counters["steps"] > 1500
    cut = sarrus.simulate(pendulum(), duration, step, max_steps=max_steps)
    assert cut.status == "too-slow"
    assert cut.counters["steps"] == max_steps
    assert str(max_steps) in cut.message
    assert "max_steps" in cut.message
    n = len(cut.times)
    assert 1 <= n < len(full.times)
    assert cut.step_times[-1] - step < cut.times[-1] <= cut.step_times[-1]
    np.testing.assert_array_equal(cut.times, full.times[:n])
    for values in (cut.coordinates, cut.rates, cut.accelerations, cut.norms, cut.energy_balance):
        assert len(values) == n
        assert np.isfinite(values).all()
    # the same steps as in the full run, so the same bits
    np.testing.assert_array_equal(cut.position("tip"), full.position("tip")[:n])
    np.testing.assert_array_equal(cut.velocity("tip"), full.velocity("tip")[:n])
