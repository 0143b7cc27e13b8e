"""Long chains: every crossing of scissors is found once, whatever the step and the method."""

import numpy as np
import pytest

from sarrus import simulate
from scissors import Scissors, random_scissors


def check(scissors, tolerance, duration=2.0, **options):
    """As many crossings as the closed form has, each at its time, as far as the run goes; whether it is done."""
    result = simulate(scissors.mechanism(), duration, 0.05, tolerance=tolerance, **options)
    true = scissors.crossings(duration)
    true = true[true <= result.times[-1]]
    found = np.array([c.time for c in result.crossings])
    assert len(found) == len(true), (true, found)
    # the motion is unstable beside the upright: its error grows a hundredfold and more
    assert np.abs(found - true).max(initial=0.0) < 1e-4 + 100 * tolerance
    assert result.near_singular == ()
    return result.status == "done"


@pytest.mark.parametrize("n", [2, 5, 8, 12])
def test_every_crossing_once(n):
    """At the default tolerance, of scissors of any length."""
    assert all(check(random_scissors(n, seed), 1e-10) for seed in range(2))


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 30])
def test_every_crossing_of_long_ones(n):
    """Where rounding costs the energy the run ends and says so; up to there none is missed or told twice."""
    done = [check(random_scissors(n, seed), 1e-10) for seed in range(6)]
    assert sum(done) >= 4, done


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
