"""Crossings of many runs: found in lanes where they are clear, by the general kernels where they are not.

Both ways judge the same motions, by other matrices and other arithmetic.
"""

import numpy as np
import pytest

import sarrus
from builders import bricard, n_four_bar
from crossing_families import FAMILIES, members, rising
from sarrus.problems.references.n_four_bar import flat_times
from scissors import Scissors

# rounding grows at every crossing: two runs at 1e-10 were up to 6e-9 s apart after 3 s
SAME_TIME = 1e-7
# families whose runs are for the general kernels: closer to a crossing than lanes judge
LEFT = {"all but a parallelogram"}
LONG = {"six windows", *LEFT}


def check_same(runs, mechanisms, which, duration, tolerance=None, apart=SAME_TIME):
    """Some of the runs are those of `simulate`, crossings included; returns how many crossings there were."""
    found = 0
    for i in which:
        one = sarrus.simulate(mechanisms[i], duration, outputs=runs.times, tolerance=tolerance)
        assert (runs.status[i], runs.message[i]) == (one.status, one.message)
        assert runs.notes(i) == one.outcome.notes
        times = np.array([c.time for c in one.crossings])
        assert len(runs.crossings[i]) == len(times)
        assert np.abs(runs.crossings[i] - times).max(initial=0.0) < apart
        found += len(times)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "family", [pytest.param(f, marks=pytest.mark.slow if f in LONG else ()) for f in FAMILIES]
)
def test_crossings_are_those_of_simulate(family):
    """Random members of a family: as many crossings at the same times, statuses and notes too."""
    mechanisms = members(family, 24)
    runs = sarrus.simulate_many(mechanisms, 3.0, 1.0, points=[], crossings=True)
    found = check_same(runs, mechanisms, range(0, 20, 4), 3.0)
    crosses = family not in {"four-bar", "slider-crank", "Watt", "near parallelogram"}
    if family != "all but a parallelogram":
        assert (found > 10) == crosses


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-12])
def test_crossings_at_other_tolerances(tolerance):
    """What counts as zero follows the tolerance, in lanes as in `simulate`."""
    for family in ("two windows", "kite", "near parallelogram"):
        mechanisms = members(family, 16, seed=1)
        runs = sarrus.simulate_many(
            mechanisms, 2.0, 1.0, points=[], crossings=True, tolerance=tolerance
        )
        # errors of the places over the velocity, after some crossings
        check_same(runs, mechanisms, (2, 7, 11), 2.0, tolerance, max(SAME_TIME, 10 * tolerance))


@pytest.mark.slow
def test_times_of_closed_form():
    """Windows lie on one line when elliptic functions say it, scissors when an ordinary integrator does."""
    vary = {"bodies.crank0.mass": np.ones(16)}
    runs = sarrus.Ensemble(n_four_bar(2), vary).simulate(6.0, 1.0, points=[], crossings=True)
    exact = flat_times(2, 6.0)
    for times in runs.crossings:
        assert times == pytest.approx(exact, abs=1e-7)
    rng = np.random.default_rng(2)
    some = [
        Scissors(np.array([0.5, 0.4, 0.6]), rng.uniform(0.5, 2.0, (2, 2)), 0.6, rate)
        for rate in rng.uniform(-3.0, 3.0, 16)
    ]
    runs = sarrus.simulate_many([s.mechanism() for s in some], 2.0, points=[], crossings=True)
    for s, times in zip(some[:6], runs.crossings, strict=False):
        assert times == pytest.approx(s.crossings(2.0), abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("off", [-0.03, -1e-3, -1e-9, 0.0, 1e-9, 1e-3, 0.03])
def test_crossing_near_the_end(off):
    """A run that ends at a crossing, a little before or after it, states what `simulate` states."""
    mechanism = n_four_bar(2)
    end = float(flat_times(2, 2.0)[1]) + off
    vary = {"bodies.crank0.mass": np.ones(16)}
    runs = sarrus.Ensemble(mechanism, vary).simulate(end, end, points=[], crossings=True)
    one = sarrus.simulate(mechanism, end, end)
    assert len(runs.crossings[0]) == len(one.crossings) == (2 if off > -1e-8 else 1)


@pytest.mark.parametrize("lean", [0.02, 0.3, 1.2])
def test_crossing_near_the_start(lean):
    """Cranks that start close to lying down, and move away from it or to it."""
    for sign in (-1.0, 1.0):
        mechanism = n_four_bar(2, lean=np.pi / 2 - lean)
        up = np.array([np.cos(lean - np.pi / 2), np.sin(lean - np.pi / 2)])
        v = sign * np.linspace(2.0, 4.0, 16)
        vary = {"velocities.B0": v[:, None] * up}
        ensemble = sarrus.Ensemble(mechanism, vary)
        runs = ensemble.simulate(1.5, 0.5, points=[], crossings=True)
        some = {i: ensemble.mechanism(i) for i in (0, 9)}
        assert check_same(runs, some, some, 1.5) > 0


@pytest.mark.slow
def test_motions_that_turn_back():
    """They pass the level as often as their height changes its sign at close outputs, in lanes or not."""
    rng = np.random.default_rng(8)
    runs = sarrus.simulate_many(
        [rising(rng, 0.1) for _ in range(60)], 1.2, 5e-4, points=["B0"], crossings=True
    )
    height = runs.position("B0")[:, :, 1]
    passed = height[:, 1:] * height[:, :-1] < 0.0
    assert [len(times) for times in runs.crossings] == passed.sum(axis=1).tolist()
    for times, rows in zip(runs.crossings, passed, strict=True):
        before = runs.times[:-1][rows]
        assert np.all((times > before - 1e-9) & (times < before + 5e-4 + 1e-9))


@pytest.mark.slow
def test_redundant_equations_that_change_parts_are_no_crossing():
    """Bricard's linkage has an equation too many, not always the same one: lanes see that its rank is kept."""
    rng = np.random.default_rng(4)
    vary = {"gravity": np.array([0.0, 0.0, -9.81]) + rng.uniform(-1.0, 1.0, (16, 3))}
    ensemble = sarrus.Ensemble(bricard(), vary)
    runs = ensemble.simulate(3.0, 1.0, points=[], crossings=True)
    some = {i: ensemble.mechanism(i) for i in (0, 5)}
    assert check_same(runs, some, some, 3.0) == 0


@pytest.mark.slow
def test_same_bits_in_any_company():
    """A run's bits depend neither on threads nor on its neighbours nor on whether crossings are requested."""
    mechanisms = members("two windows", 40)
    rng = np.random.default_rng(6)

    def run(which, **options):
        some = [mechanisms[i] for i in which]
        return sarrus.simulate_many(some, 2.0, 0.5, **options)

    every = run(range(40), crossings=True, threads=1)
    shuffled = rng.permutation(40)
    for which, threads in ((range(40), 2), (shuffled, 3), (shuffled[:16], 1)):
        other = run(which, crossings=True, threads=threads)
        for name in ("values", "balance", "final", "least", "largest", "energy_drift", "status"):
            assert np.array_equal(getattr(every, name)[list(which)], getattr(other, name))
        for i, times in zip(which, other.crossings, strict=True):
            assert np.array_equal(every.crossings[i], times)
            assert len(times)
    assert np.array_equal(run(range(40)).values, every.values)
