"""The default method: series as it is, and radau where stiffness limits the step."""

import numpy as np
import pytest
from test_radau import elbow

from builders import bricard, n_four_bar
from sarrus import Mechanism, problems, simulate
from sarrus.methods import CHOICES, METHODS, Run, auto
from sarrus.model import make_model
from sarrus.problems.references.n_four_bar import flat_times

COLUMNS = (
    "times",
    "coordinates",
    "rates",
    "accelerations",
    "norms",
    "energy_balance",
    "step_times",
)


@pytest.mark.parametrize(
    "make", [lambda: n_four_bar(2), lambda: n_four_bar(5), bricard, lambda: elbow(1e2, 1.0)]
)
def test_not_stiff_is_series_bit_for_bit(make):
    """Without stiffness the default is the series run, in every bit."""
    default = simulate(make(), 1.0, 0.1, tolerance=1e-8)
    series = simulate(make(), 1.0, 0.1, tolerance=1e-8, method="series")
    assert default.method == "series"
    for name in COLUMNS:
        assert np.array_equal(getattr(default, name), getattr(series, name))
    assert default.counters == series.counters
    assert default.notes == series.notes


def test_stiff_moves_to_radau_and_says_so():
    """A stiff elbow: the run moves, the note has time, steps and rate, and the motion is right."""
    r = simulate(elbow(1e5, 1e4), 0.6, 0.05, tolerance=1e-7)
    assert r.status == "done"
    assert r.method == "radau"
    reported = [note for note in r.notes if "radau" in note]
    assert len(reported) == 1
    assert "times the fastest decay time" in reported[0]
    moved = float(reported[0].split("t = ")[1].split(" s")[0])
    assert 0 < moved < 0.6
    assert len(r.times) == 13
    assert np.all(np.diff(r.step_times) > 0)
    assert len(r.step_times) == len(r.step_orders) == len(r.step_pivots) == r.counters["steps"]
    # two routes, one answer, before the move and after it
    radau = simulate(elbow(1e5, 1e4), 0.6, 0.05, tolerance=1e-7, method="radau")
    assert np.abs(r.position("tip") - radau.position("tip")).max() < 1e-6
    assert np.abs(r.norms).max() < 1e-11
    # the energy balance goes on over the move
    assert np.abs(r.energy_balance).max() < 1e-2
    # and again, bit for bit: counted steps decide, no clock
    again = simulate(elbow(1e5, 1e4), 0.6, 0.05, tolerance=1e-7)
    assert np.array_equal(r.coordinates, again.coordinates)
    assert again.notes == r.notes


@pytest.mark.parametrize("tolerance", [1e-6, 1e-8, 1e-10])
def test_steps_of_a_decay_time_are_stiff_at_any_tolerance(tolerance):
    """The governor's series steps are 1 to 3 decay times long: it moves at once, and the motion is right."""
    governor = problems.get("flyball-governor")
    r = simulate(governor.mechanism(), 3.0, 0.1, tolerance=tolerance)
    assert r.method == "radau", r.notes
    # about 4200 steps of a series, after its first buffer some 30 a second
    assert r.counters["steps"] < 400
    exact = governor.reference(r.times)[:, 2]
    assert np.abs(r.position(governor.observed)[:, -1] - exact).max() < tolerance


def test_few_steps_are_left_to_the_series(monkeypatch):
    """A stiff elbow of which less than a trial's worth is left: series in every bit, and no trial."""
    monkeypatch.setattr(auto.radau, "try_steps", None)
    # steps of some 1.6e-5 s
    default = simulate(elbow(1e5, 1e4), 0.02, 0.01, tolerance=1e-7)
    series = simulate(elbow(1e5, 1e4), 0.02, 0.01, tolerance=1e-7, method="series")
    assert 200 < series.counters["steps"] < auto.LEFT
    assert np.array_equal(default.coordinates, series.coordinates)


def with_stiff_elbow(m, at):
    """The same mechanism with a stiff damped elbow near it, joined to nothing."""
    m.rod("upper", (at, 0), (at + 1, 0), mass=1.0)
    m.rod("lower", (at + 1, 0), (at + 2, 0), mass=1.0)
    m.revolute("shoulder", m.ground, "upper", at=(at, 0))
    m.revolute("elbow", "upper", "lower", at=(at + 1, 0))
    m.torsion("coil", "elbow", stiffness=1e5, damping=1e4)
    return m


def test_a_run_that_moves_on_is_watched_to_its_end():
    """A four-bar next to a stiff elbow: series begins, radau goes on, and all change points are crossings."""
    r = simulate(with_stiff_elbow(n_four_bar(1), 5.0), 6.0, 0.05, tolerance=1e-7)
    assert r.status == "done", r.message
    assert r.method == "radau"
    reported = next(note for note in r.notes if "radau" in note)
    moved = float(reported.split("t = ")[1].split(" s")[0])
    flat = flat_times(1, 6.0)
    # all of them lie after the move
    assert len(flat) >= 5
    assert moved < flat[0]
    # the error of the run at its tolerance, some times over
    assert [c.time for c in r.crossings] == pytest.approx(flat, abs=1e-6)
    assert r.outcome.watch.until == r.times[-1] == 6.0
    assert f"{len(flat)} crossings:" in str(r.verdict)
    # and none of them is the elbow's
    assert len(simulate(elbow(1e5, 1e4), 0.6, 0.05, tolerance=1e-7).crossings) == 0


def test_motion_of_a_run_that_moves_on():
    """Both parts of the motion are kept, and give back the outputs."""
    m = elbow(1e5, 1e4)
    model = make_model(m)
    times = np.linspace(0.0, 0.6, 25)
    run = auto.run(Run(model, np.zeros(4), times, 0.6, 1e-7, dense=True))
    assert len(run.motion.parts) == 2
    assert run.motion.parts[0].pieces.starts[-1] == run.motion.parts[1].pieces.starts[0]
    again = run.motion.at(times)
    for column in ("q", "v", "a", "angles", "work", "energy"):
        assert np.array_equal(getattr(again, column), getattr(run.record, column))


def test_fastest_decay_of_a_damped_joint():
    """The elbow bends with the reduced inertia of its rods: rate = c (1/I1 + 1/I2 ...) by hand."""
    stiffness, damping = 1.0, 1e4
    m = elbow(stiffness, damping)
    model = make_model(m)
    start = auto.radau.Start(0.0, np.zeros(4), np.zeros(4), np.zeros(2))
    problem = Run(model, np.zeros(4), np.zeros(0), 1.0, 1e-6)
    _, J, S, G = auto.radau.try_steps(problem, start, 1)
    # angles x, y: inertia [[4/3, 1/2], [1/2, 1/3]], damping c [[1, -1], [-1, 1]]
    inertia = np.array([[4 / 3, 1 / 2], [1 / 2, 1 / 3]])
    exact = np.linalg.eigvals(np.linalg.solve(inertia, damping * np.array([[1, -1], [-1, 1]])))
    # the slow root k / c is lost in it
    assert auto.fastest_decay(model, J, S, G) == pytest.approx(exact.real.max(), rel=1e-3)


@pytest.mark.slow
def test_user_force_goes_to_radau_at_once():
    """Series cannot use a function; the default says what it does instead."""
    m = Mechanism("wind", gravity=(0, -9.81))
    m.rod("rod", (0, 0), (1, 0), mass=1.0)
    m.revolute("pin", m.ground, "rod", at=(0, 0))
    m.point("tip", "rod", (1, 0))
    m.user_force("wind", ["tip"], lambda t, x, v: -0.3 * v)
    r = simulate(m, 0.2, 0.1, tolerance=1e-6)
    assert r.status == "done", r.message
    assert r.method == "radau"
    assert any("user force" in note and "from the start" in note for note in r.notes)


def test_auto_is_a_choice_but_no_row_of_a_benchmark():
    """Accepted by name, the default, and not among the methods that are compared."""
    assert "auto" in CHOICES
    assert "auto" not in METHODS
    with pytest.raises(ValueError, match="no method is called 'magic'; known: 'auto', 'series'"):
        simulate(n_four_bar(1), 1.0, method="magic")
