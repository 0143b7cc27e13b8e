"""The clock: what it measures, and that it does not change what is measured."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

from sarrus import problems
from sarrus.bench.clock import calibrate, one_core, time_solve
from sarrus.bench.runner import run_problem


def fake(seconds, numbers=0.0):
    """A result as far as the clock looks at it, which says how long it took."""
    part = np.full(3, numbers)
    timings = {"solve_cpu": seconds, "solve_wall": seconds, "set_up": 0.0, "record_cpu": 0.0}
    timings |= {"compile": 0.0, "import": 0.0}
    return SimpleNamespace(
        times=part,
        coordinates=part,
        rates=part,
        energy_balance=part,
        timings=timings,
        cpu_seconds=seconds,
        solve_seconds=seconds,
    )


def test_the_warm_up_does_not_count():
    """The first of eight runs is slow; the minimum and the median are those of the other seven."""
    spent = iter([0.05, 0.002, 0.004, 0.003, 0.002, 0.005, 0.003, 0.007])
    _, timing = time_solve(lambda: fake(next(spent)))
    assert (timing.repeats, timing.solve, timing.solve_median) == (7, 0.002, 0.003)


def test_a_wide_spread_is_called_busy():
    """When the median is far above the best, the machine did something else."""
    spent = iter([0.001, 0.002] + [0.006] * 6)
    _, timing = time_solve(lambda: fake(next(spent)))
    assert timing.busy
    assert timing.spread == pytest.approx(2.0)
    assert not time_solve(lambda: fake(0.002))[1].busy


def test_other_numbers_in_a_repeat_are_noticed():
    """Repeats must give the same bits; a change in one of them is reported."""
    numbers = iter([0.0] * 5 + [1e-300] + [0.0] * 5)
    _, timing = time_solve(lambda: fake(0.0, next(numbers)))
    assert not timing.same_bits


def test_a_problem_repeats_to_the_last_bit():
    """Every repeat of a real run gives the same bits."""
    problem = problems.get("double-four-bar")
    # seven repeats take milliseconds; on a busy machine nobody knows how many
    _, timing = run_problem(problem, method="series", tolerance=1e-6, patience=600.0)
    assert timing.same_bits
    assert timing.repeats == 7
    assert 0 < timing.solve <= timing.solve_median


def test_patience_limits_the_repeats():
    """A long run is not repeated beyond the patience given; a first one longer than that is the measure."""
    runs = iter([fake(0.02)])
    _, timing = time_solve(lambda: next(runs), patience=0.01)
    assert timing.repeats == 1
    # no time is left after the first repeat
    assert time_solve(lambda: fake(0.0), patience=0.0)[1].repeats == 1


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system cannot tie a process to a core"
)
def test_one_core_is_given_back():
    """Inside there is one core, afterwards all that there were."""
    before = os.sched_getaffinity(0)
    with one_core():
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before


def test_calibration_takes_time():
    """The workload is real: it takes between 0.1 ms and a second on any machine of this century."""
    assert 1e-4 < calibrate() < 1.0
