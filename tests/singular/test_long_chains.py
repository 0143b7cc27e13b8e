"""Long chains: every crossing of scissors is found once, whatever the step and the method."""

from itertools import pairwise

import numpy as np
import pytest

from builders import n_four_bar
from sarrus import Mechanism, simulate
from sarrus.methods import series
from sarrus.model import reduce
from scissors import Scissors, random_scissors


def check(scissors, tolerance, duration=2.0, **options):
    """As many crossings as the closed form has, each at its time, as far as the run goes; whether it is done."""
    result = simulate(scissors.mechanism(), duration, 0.05, tolerance=tolerance, **options)
    true = scissors.crossings(duration)
    true = true[true <= result.times[-1]]
    found = np.array([c.time for c in result.crossings])
    assert len(found) == len(true), (true, found)
    # the motion is unstable next to the upright: its error grows a hundredfold and more
    assert np.abs(found - true).max(initial=0.0) < 1e-4 + 100 * tolerance
    assert result.near_singular == ()
    return result.status == "done"


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 5, 8, 12])
def test_every_crossing_once(n):
    """At the default tolerance, of scissors of any length."""
    assert all(check(random_scissors(n, seed), 1e-10) for seed in range(2))


@pytest.mark.slow
@pytest.mark.parametrize("steps", [3, 7, 20])
@pytest.mark.parametrize("n", [3, 8, 30])
def test_buffers_and_ends_hide_no_crossing(n, steps, monkeypatch):
    """Wherever buffers of steps and the run itself end: near a crossing, or samples on both sides of it."""
    monkeypatch.setattr(series, "FIRST_STEPS", steps)
    for seed, duration in ((2, 1.9), (2, 2.0), (5, 2.0), (5, 2.05)):
        assert check(random_scissors(n, seed), 1e-6, duration)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 30])
def test_every_crossing_of_long_ones(n):
    """Where rounding costs the energy the run ends and says so; up to there none is missed or reported twice."""
    done = [check(random_scissors(n, seed), 1e-10) for seed in range(6)]
    assert sum(done) >= 4, done


@pytest.mark.slow
def test_what_eps_leaves_open_does_not_add_up():
    """A chain of 6000 windows crosses its flat configuration as a short one does.

    With eps in all equations its steps became ever smaller: 16 and one relaxed, instead of 9 to 12.
    """
    counters = [simulate(n_four_bar(n), 1.0, 0.1).counters for n in (300, 6000)]
    assert [c["relaxed_steps"] for c in counters] == [0, 0]
    assert counters[1]["steps"] <= counters[0]["steps"] + 3


@pytest.mark.slow
def test_no_crossing_where_a_run_ends_before_it(monkeypatch):
    """Its last steps are tiny, and their series lead nowhere: times far next to them are no crossings."""
    # equations that make doubles lose their way
    monkeypatch.setattr(reduce, "MOST_USERS", 32)
    # no other test has 29 cells: what is built of a structure is kept
    assert not all([check(random_scissors(29, seed), 1e-10) for seed in range(6)])


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("n", [3, 10, 20])
def test_whatever_the_step(n, tolerance):
    """The number of crossings does not depend on the tolerance."""
    for seed in (10, 11):
        check(random_scissors(n, seed), tolerance)


@pytest.mark.slow
def test_thirty_units():
    """Thirty equal units of unit arms fold and open."""
    assert check(Scissors(np.full(31, 0.5), np.ones((30, 2)), 0.7, 1.5), 1e-10)


def test_whatever_the_method():
    """Methods with steps of their own find the same."""
    scissors = random_scissors(6, 3)
    check(scissors, 1e-8, method="radau")
    check(scissors, 1e-6, method="multipliers-dop853")


def antiparallelograms(n, rng):
    """Crossed parallelograms in a row on equal cranks; the crank of one is the rocker of the one before."""
    m = Mechanism("antiparallelograms")
    widths, crank, angle = rng.uniform(1.3, 2.0, n), rng.uniform(0.5, 0.9), rng.uniform(0.4, 1.2)
    feet = np.column_stack([np.concatenate([[0.0], np.cumsum(widths)]), np.zeros(n + 1)])
    ends = [crank * np.array([np.cos(angle), np.sin(angle)])]
    for last, foot in pairwise(feet):
        # mirrored at the middle of the diagonal the foot before is the next end; through it, a parallelogram's
        along = (foot - ends[-1]) / np.linalg.norm(foot - ends[-1])
        ends.append(last - 2.0 * along * (along @ (last - 0.5 * (foot + ends[-1]))))
    for i, (foot, end) in enumerate(zip(feet, ends, strict=True)):
        m.rod(f"crank{i}", foot, end, mass=1.0)
        m.revolute(f"A{i}", m.ground, f"crank{i}", at=foot)
    for i in range(n):
        m.rod(f"coupler{i}", ends[i], ends[i + 1], mass=1.0)
    for i, end in enumerate(ends):
        met = [f"coupler{k}" for k in (i - 1, i) if 0 <= k < n]
        m.revolute(f"B{i}", f"crank{i}", *met, at=end)
    speed = crank * rng.uniform(4.0, 7.0)
    m.set_velocity("B0", speed * np.array([-np.sin(angle), np.cos(angle)]))
    return m


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-8, 1e-10])
def test_crossed_parallelograms(tolerance):
    """All cranks pass the line of their feet at once: the mobility rises by one a window, each time.

    Their speeds differ by powers of ten, so that the dips are narrow.
    """
    for n, seed in ((2, 0), (4, 1), (6, 4), (6, 5)):
        r = simulate(
            antiparallelograms(n, np.random.default_rng(seed)),
            2.0,
            0.05,
            tolerance=tolerance,
            dense=True,
        )
        times = np.linspace(0.0, r.times[-1], 20001)
        height = r.at(times).position("B0")[:, 1]
        flat = np.flatnonzero(np.diff(np.sign(height)) != 0)
        assert len(r.crossings) == len(flat) >= 2
        assert {c.rise for c in r.crossings} == {n}
        assert r.near_singular == ()
        found = np.array([c.time for c in r.crossings])
        assert np.all((times[flat] <= found) & (found <= times[flat + 1]))
