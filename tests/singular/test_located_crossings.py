"""Crossings of a run: all of them, at the right time, and nothing else."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

from builders import bricard, in_plane_of, n_four_bar, rotation
from cpu_time import least
from crossing_families import rising
from linkages import bennett, copy_of, goldberg, sarrus_linkage, slider_crank
from sarrus import Mechanism, Polynomial, problems, simulate
from sarrus.assembly import solve_start_velocity
from sarrus.kernels import crossing
from sarrus.kinematics.configuration import read_poses
from sarrus.kinematics.constraints import Constraints
from sarrus.methods import Run, series
from sarrus.model import make_model
from sarrus.problems.references.n_four_bar import flat_times

# required; runs at the default tolerance reach some 1e-10
RIGHT = 1e-8


def window(m, name, speed=1.0, masses=(1.0, 1.0, 1.0), longer=0.0, at=0.0):
    """A window of unit rods at x = at, its coupler longer than the base; the first crank upright."""
    # the second crank leans so that the coupler fits
    lean = brentq(
        lambda x: np.hypot(1 + np.sin(x), np.cos(x) - 1) - 1 - longer, -0.1, 0.1, xtol=1e-16
    )
    top = (at + 1.0 + np.sin(lean), np.cos(lean))
    m.rod(f"{name} left", (at, 0.0), (at, 1.0), mass=masses[0])
    m.rod(f"{name} right", (at + 1.0, 0.0), top, mass=masses[1])
    m.rod(f"{name} coupler", (at, 1.0), top, mass=masses[2])
    m.revolute(f"{name} A0", m.ground, f"{name} left", at=(at, 0.0))
    m.revolute(f"{name} A1", m.ground, f"{name} right", at=(at + 1.0, 0.0))
    m.revolute(f"{name} B0", f"{name} left", f"{name} coupler", at=(at, 1.0))
    m.revolute(f"{name} B1", f"{name} right", f"{name} coupler", at=top)
    m.set_velocity(f"{name} B0", (speed, 0.0))
    return m


def times_of(result):
    """Times of the crossings."""
    return np.array([c.time for c in result.crossings])


@pytest.mark.parametrize("windows", [2, 40])
def test_first_flat_position(windows):
    """The instant of the first flat configuration by elliptic functions, to 1e-8 s."""
    (first,) = flat_times(windows, 1.0)
    result = simulate(problems.get("n-four-bar", windows=windows).mechanism(), 1.0, 0.01)
    (crossing,) = result.crossings
    assert abs(crossing.time - first) < RIGHT
    assert (crossing.mobility_motion, crossing.mobility_here) == (1, windows + 1)
    assert crossing.value < crossing.rank.tolerance < crossing.rank.smallest
    # flat: the top joint at the height of the ground; positions are good to the run's tolerance
    np.testing.assert_allclose(crossing.position("B0"), (1.0, 0.0), atol=1e-9)
    # energy: of theta = 90 degrees; downwards
    assert crossing.velocity("B0")[1] < -4.0
    for word in ("crossing at t = 0.7", f"rises from 1 to {windows + 1}", "tolerance", "energy"):
        assert word in str(crossing)


@pytest.mark.parametrize("windows", [1, 2, 3])
def test_all_crossings_of_ten_seconds(windows):
    """Every flat configuration is found between the steps, none twice, nothing else."""
    result = simulate(n_four_bar(windows), 10.0, 0.01)
    flat = flat_times(windows, 10.0)
    assert len(result.crossings) == len(flat)
    assert np.abs(times_of(result) - flat).max() < RIGHT
    assert {c.rise for c in result.crossings} == {windows}
    assert result.near_singular == ()
    # most of them lie well inside a step: found without a step that ends there
    gap = np.abs(result.step_times[:, None] - flat).min(axis=0)
    assert np.sum(gap > 5e-3) >= len(flat) // 2
    # energy and closure before and after are those of the outputs around it
    c = result.crossings[0]
    i = int(np.searchsorted(result.times, c.time))
    assert (c.energy_before, c.energy_after) == (
        result.energy_balance[i - 1],
        result.energy_balance[i],
    )
    assert (c.closure_before, c.closure_after) == tuple(result.violation()[i - 1 : i + 1])


@pytest.mark.slow
def test_all_crossings_of_forty_windows():
    """N = 40 over 20 s: the twenty flat configurations, mobility 41 at each."""
    result = simulate(n_four_bar(40), 20.0, 0.01)
    flat = flat_times(40, 20.0)
    assert len(result.crossings) == len(flat) == 20
    assert np.abs(times_of(result) - flat).max() < RIGHT
    assert {c.mobility_here for c in result.crossings} == {41}


@pytest.mark.slow
def test_thousand_windows_stay_linear():
    """N = 1000: found, right, and four times the windows cost about four times the watch."""

    def measure(windows):
        result = simulate(n_four_bar(windows), 1.0, 0.1)
        (crossing,) = result.crossings
        assert abs(crossing.time - flat_times(windows, 1.0)[0]) < RIGHT
        assert crossing.mobility_here == windows + 1
        return result.timings["watch_cpu"]

    # quadratic growth would be 16 times
    bound = 10 * measure(250)
    assert least(lambda: measure(1000), bound) < bound


@pytest.mark.parametrize("tolerance", [1e-3, 1e-5, 1e-8, 1e-12])
def test_no_crossing_is_lost_at_any_tolerance(tolerance):
    """Long loose steps and short tight ones see the same crossings, as far apart as the runs are."""
    result = simulate(n_four_bar(2), 6.0, 0.01, tolerance=tolerance)
    flat = flat_times(2, 6.0)
    assert len(result.crossings) == len(flat)
    # near the unstable upright errors of the run grow a thousandfold in some seconds
    assert np.abs(times_of(result) - flat).max() < RIGHT + 1e3 * tolerance


def test_uniform_turning():
    """Without gravity a turn is uniform, steps are long: crossings at (pi/2 + k pi) / speed."""
    result = simulate(n_four_bar(2, speed=10.0, gravity=0.0), 3.0, 0.1)
    exact = (np.pi / 2 + np.pi * np.arange(10)) / 10.0
    exact = exact[exact < 3.0]
    assert len(result.crossings) == len(exact)
    assert np.abs(times_of(result) - exact).max() < RIGHT
    # steps of more than a radian
    assert np.diff(result.step_times).max() > 0.1


@pytest.mark.parametrize("masses", [(1.0, 1.0, 1e-6), (1e4, 1.0, 1.0), (1e-5, 1e-5, 1.0)])
def test_light_links_hide_nothing(masses):
    """Mass ratios do not matter: as many crossings as the top joint changes its side."""
    result = simulate(window(Mechanism("window"), "w", masses=masses), 6.0, 0.01)
    height = result.position("w B0")[:, 1]
    assert len(result.crossings) == np.sum(height[1:] * height[:-1] < 0) > 4
    for c in result.crossings:
        assert abs(c.position("w B0")[1]) < 1e-9


def test_mechanisms_side_by_side():
    """Three windows that know nothing of each other, flat some 1e-5 s apart, are three crossings."""
    m, speeds = Mechanism("three windows"), (1.0, 1.01, 1.0001)
    for i, speed in enumerate(speeds):
        window(m, f"w{i}", speed, at=3.0 * i)
    result = simulate(m, 1.5, 0.01)
    exact = np.sort(np.concatenate([flat_times(1, 1.5, speed) for speed in speeds]))
    assert np.diff(exact).min() < 5e-5
    assert len(result.crossings) == len(exact)
    assert np.abs(times_of(result) - exact).max() < RIGHT
    assert {(c.mobility_motion, c.mobility_here) for c in result.crossings} == {(3, 4)}


def test_a_near_miss_is_no_crossing():
    """A coupler longer by d passes the flat configuration at a distance like sqrt(d)."""
    values = []
    for longer in (1e-6, 1e-8):
        result = simulate(window(Mechanism("window"), "w", longer=longer), 1.0, 0.01)
        assert result.crossings == ()
        (miss,) = result.near_singular
        assert abs(miss.time - flat_times(1, 1.0)[0]) < 2e-4
        assert "near-singular at t = 0.708" in str(miss)
        values.append(miss.value)
    # sigma^2 is proportional to the length, up to higher powers of sigma
    assert values[0] / values[1] == pytest.approx(10.0, rel=0.05)
    # well away from a crossing there is no note
    result = simulate(window(Mechanism("window"), "w", longer=0.05), 1.0, 0.01)
    assert result.crossings == result.near_singular == ()


@pytest.mark.parametrize("make", [bricard, bennett, goldberg])
def test_permanent_redundancy_is_no_crossing(make):
    """Linkages that are redundant at every pose have neither crossings nor near misses."""
    result = simulate(make(), 2.0, 0.01)
    assert result.crossings == result.near_singular == ()


def test_runs_that_start_and_end_at_a_crossing():
    """A crossing at the first or the last instant belongs to the run; one just after it does not."""
    flat = flat_times(2, 3.0)
    result = simulate(n_four_bar(2), flat[1], flat[1] / 50)
    assert np.abs(times_of(result) - flat[:2]).max() < RIGHT
    assert np.isnan(result.crossings[-1].energy_after)
    result = simulate(n_four_bar(2), flat[1] - 1e-6, flat[1] / 50)
    assert len(result.crossings) == 1


def test_touching_a_singular_position():
    """A window let go flat and at rest swings up to flat and turns back there: no crash, in time."""
    m = Mechanism("window at rest")
    m.rod("left", (0, 0), (1, 0), mass=1.0)
    m.rod("right", (1, 0), (2, 0), mass=1.0)
    m.rod("coupler", (1, 0), (2, 0), mass=1.0)
    m.revolute("A0", m.ground, "left", at=(0, 0))
    m.revolute("A1", m.ground, "right", at=(1, 0))
    m.revolute("B0", "left", "coupler", at=(1, 0))
    m.revolute("B1", "right", "coupler", at=(2, 0))
    result = simulate(m, 3.0, 0.01)
    for c in (*result.crossings, *result.near_singular):
        # all moments lie at the turning points
        assert abs(c.position("B0")[1]) < 1e-3
    assert result.verdict.classes


@pytest.mark.parametrize(
    "change",
    [
        {"length": 1e3, "mass": 1e-3},
        {"R": np.array([[0.6, -0.8], [0.8, 0.6]])},
        {"seed": 3},
        {"double": "B1"},
    ],
    ids=["units", "rotation", "order", "doubled joint"],
)
def test_the_same_crossings_in_other_words(change):
    """Units, directions, order and a doubled joint change no crossing."""
    result = simulate(copy_of(n_four_bar(2), **change), 3.0, 0.1)
    assert np.abs(times_of(result) - flat_times(2, 3.0)).max() < RIGHT
    assert {(c.mobility_motion, c.mobility_here) for c in result.crossings} == {(1, 3)}


def test_planar_in_space():
    """Turned into space the crossings are the same, next to three redundant equations a loop."""
    result = simulate(n_four_bar(2, plane_to_space=in_plane_of(rotation(2), (1, 2, 3))), 3.0, 0.1)
    assert np.abs(times_of(result) - flat_times(2, 3.0)).max() < RIGHT
    assert {c.rise for c in result.crossings} == {2}
    assert result.verdict.redundant == (6, 6)


@pytest.mark.parametrize(
    ("method", "setting", "right"),
    [
        ("energy-momentum", {"step": 1e-3}, 1e-5),
        ("multipliers", {"step": 1e-3}, 1e-8),
        ("radau", {"tolerance": 1e-8}, 1e-7),
        ("multipliers-dop853", {"tolerance": 1e-6}, 1e-5),
    ],
)
def test_all_methods_find_them_too(method, setting, right):
    """The polynomials between the states of other methods are watched: as right as the method."""
    result = simulate(n_four_bar(2), 1.5, 0.1, method=method, **setting)
    assert result.status == "done", result.message
    flat = flat_times(2, 1.5)
    assert len(result.crossings) == len(flat)
    assert np.abs(times_of(result) - flat).max() < right


def test_a_run_that_was_not_made_says_so():
    """No answer is not the answer that there are none."""
    m = n_four_bar(1)
    m.torsion("coil", m.joints[0], stiffness=1.0)
    result = simulate(m, 0.1, 0.1, method="energy-momentum")
    assert result.status == "skipped"
    with pytest.raises(ValueError, match="not monitored for crossings"):
        _ = result.crossings
    assert "not monitored" in str(result.verdict)


def test_a_run_that_was_watched_in_part_says_until_when():
    """The verdict names the time up to which crossings were looked for."""
    result = simulate(n_four_bar(2), 1.5, 0.1)
    assert "Monitored" not in str(result.verdict)
    watch = replace(result.outcome.watch, until=0.8)
    part = replace(result, outcome=replace(result.outcome, watch=watch))
    assert "Monitored until t = 0.8 s of 1.5 s." in str(part.verdict)
    assert len(part.crossings) == 1 < len(result.crossings)
    assert part.verdict.as_dict()["watched_until"] == 0.8


def test_pivots_are_distances_between_rows():
    """The monitored pivot of an equation is its squared distance from the equations eliminated before."""
    model = make_model(n_four_bar(3, lean=0.3))
    form = model.form
    q = np.random.default_rng(0).normal(size=model.coordinates) * 0.3
    nc = model.equations
    found = np.zeros(nc)
    structure = crossing.make_structure(
        form, crossing.find_tables(form, np.zeros(model.coordinates, np.int64))
    )
    disc = crossing.make_disc(form, structure, 1)
    crossing.eval_pivots_at(form, structure, disc, q[None], found)
    joints = Constraints(form, joints=True)
    J, J0 = joints.jacobian(q), joints.jacobian(0 * q)
    for k in range(nc):
        before = J[form.pos_c < form.pos_c[k]]
        rest = J[k] - before.T @ np.linalg.lstsq(before.T, J[k], rcond=None)[0]
        # rounding, over the smallest pivots
        assert found[k] == pytest.approx(rest @ rest / (J0[k] @ J0[k]), rel=1e-9, abs=1e-13)


def test_watching_in_small_portions_sees_the_same():
    """Candidates around the end of a portion of steps are not lost, whatever the portions."""
    m = n_four_bar(2)
    model = make_model(m)
    velocity, _ = solve_start_velocity(model, m)
    seen = []
    for stop in (None, lambda candidates, watch: None):
        run = series.run(Run(model, velocity, np.zeros(1), 10.0, 1e-10, stop=stop))
        seen.append([c.times for c in run.watch.candidates])
        for candidate in run.watch.candidates:
            # the pieces lie side by side and hold what is around it
            pieces = candidate.pieces
            assert pieces[0].start <= candidate.low < candidate.high <= pieces[-1].end
            assert all(a.end == b.start for a, b in itertools.pairwise(pieces))
    assert len(seen[0]) == len(flat_times(2, 10.0))
    assert seen[0] == seen[1]


def test_a_run_that_diverges_is_watched_to_its_end():
    """States that grow without bound stop nothing."""
    result = simulate(n_four_bar(2), 3.0, 0.1, method="multipliers", step=0.1)
    assert result.status in ("diverged", "not-converged", "done")
    assert isinstance(result.crossings, tuple)


def test_the_same_as_singular_values_at_many_outputs():
    """Sarrus' linkage: crossings are where the least value that usually counts dips, found by hand."""
    result = simulate(sarrus_linkage(), 3.0, 0.01)
    e = result.joint_equations
    poses = read_poses(e.centers, result.model.body_rows, result.coordinates)
    values = np.array(
        [np.linalg.svd(e.scaled(p).matrix.toarray(), compute_uv=False) for p in poses]
    )
    reference_pivots = values[:, int(np.median(np.sum(values > 1e-6, axis=1))) - 1]
    low = (
        np.flatnonzero(
            (reference_pivots[1:-1] <= reference_pivots[:-2])
            & (reference_pivots[1:-1] <= reference_pivots[2:])
        )
        + 1
    )
    # half an output step at some 5 rad/s leaves less than 0.03; regular minima are larger
    dips = result.times[[i for i in low if reference_pivots[i] < 0.05]]
    assert len(dips) == len(result.crossings) == 6
    assert np.abs(dips - times_of(result)).max() <= 0.01
    assert {c.rise for c in result.crossings} == {1, 2}


@pytest.mark.parametrize("speed", [0.1, 0.2])
def test_slow_starts_lose_no_crossing(speed):
    """The dip of the first crossing begins with the slow start: it is wide, and still followed to 1e-8 s."""
    result = simulate(n_four_bar(2, speed), 2.0, 0.01)
    np.testing.assert_allclose(times_of(result), flat_times(2, 2.0, speed), rtol=0, atol=RIGHT)
    assert not result.near_singular


def test_a_drive_does_not_make_a_near_miss_a_crossing():
    """Crank and rod of equal length pass a singular configuration upright; 1e-8 m apart they pass near it."""
    results = []
    for crank in (1.0, 1.0 - 1e-8):
        m = slider_crank(0.3, crank, 1.0)
        m.drives.clear()
        m.drive("motor", "A", Polynomial((0.0, 1.0)))
        results.append(simulate(m, 2.0, 0.01))
    (met,) = results[0].crossings
    assert abs(met.time - (np.pi / 2 - 0.3)) < RIGHT
    assert not results[1].crossings
    (missed,) = results[1].near_singular
    # the rod's slope there is sqrt(2 d)
    assert 0.1 * np.sqrt(2e-8) < missed.value < np.sqrt(2e-8)


def test_the_motions_of_a_driven_crossing():
    """A driven parallelogram has the same motions at its flat configuration as a free one."""
    found = []
    for driven in (True, False):
        m = n_four_bar(1, speed=1.0, lean=1.0)
        if driven:
            m.velocities.clear()
            m.drive("motor", "A0", Polynomial((0.0, -1.0)))
        result = simulate(m, 3.0, 0.01, at_crossing="branches")
        assert result.status == "stopped"
        assert result.branches[0].so_far
        found.append([(b.dimension, np.abs(b.velocities["B0"][1])) for b in result.branches])
    assert len(found[0]) == 2
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 60), marks=pytest.mark.slow)])
def test_a_motion_that_turns_back_behind_a_singular_position(seeds):
    """A parallelogram that rises through the level by an angle, however small, and falls back passes it twice."""
    for seed in seeds:
        m = rising(np.random.default_rng(seed), -0.2)
        result = simulate(m, 1.2, 2e-4)
        height = result.position("B0")[:, 1]
        passed = result.times[:-1][height[1:] * height[:-1] < 0.0]
        found = np.array([c.time for c in result.crossings])
        assert len(found) == len(passed) >= 2, (seed, found, passed)
        # between two outputs, and level there: the run's tolerance, some times
        assert np.all((found - passed > -1e-9) & (found - passed < 2e-4 + 1e-9)), seed
        assert max(abs(c.position("B0")[1]) for c in result.crossings) < 1e-8
