"""The judge, on results made from the exact solution and on spoilt ones."""

from dataclasses import replace

import numpy as np
import pytest

from sarrus import problems, simulate
from sarrus.bench import judge


@pytest.fixture(scope="module")
def a02():
    problem = problems.get("n-four-bar", windows=3)
    return problem, simulate(problem.mechanism(), problem.duration, problem.output_step)


def spoil(problem, result, change):
    """The result with its coordinates changed so that the observed point moves by `change`."""
    rows = result.model.point_rows(problem.observed)
    shift = np.linalg.pinv(rows.toarray()) @ np.asarray(change, dtype=float)
    record = replace(result.record, q=result.coordinates + shift)
    return replace(result, outcome=replace(result.outcome, record=record))


def test_a_good_run_passes(a02):
    """A run at the default tolerance keeps every limit in both readings."""
    judged = judge(*a02)
    assert judged.passed
    assert {c.what.split(",")[0] for c in judged.checks} == {
        "error",
        "distance from the right path",
    }


def test_errors_are_those_of_the_formula(a02):
    """A shift of x by 1e-4 is an error of 1e-4 / max(|x|, 1e-3), root mean square and maximum."""
    problem, result = a02
    judged = judge(problem, spoil(problem, result, (1e-4, 0.0)))
    x = problem.reference(result.times)[:, 0]
    relative = 1e-4 / np.maximum(np.abs(x), 1e-3)
    expected = {"RMS": np.sqrt(np.sum(relative**2) / (4 * len(x))), "maximum": relative.max()}
    for check in judged.checks:
        for word, value in expected.items():
            if check.what.endswith(word):
                # the run itself is good to 1e-8, a ten-thousandth of the shift
                assert check.value == pytest.approx(value, rel=1e-3)
    assert not judged.passed
    assert judged.position_error == pytest.approx(1e-4, rel=1e-3)


def test_a_run_on_another_path_fails_although_its_energy_is_kept():
    """Energy alone accepts a motion that is elsewhere; the path does not."""
    problem = problems.get("double-four-bar")
    result = simulate(problem.mechanism(), problem.duration, problem.output_step)
    judged = judge(problem, spoil(problem, result, (0.0, 0.7)))
    by_name = {check.what: check for check in judged.checks}
    assert by_name["energy drift"].passed
    assert not by_name["distance from the right path"].passed
    assert not judged.passed


def test_a_run_that_ended_early_fails():
    """What stopped before its end fails, however good it is up to there."""
    problem = problems.get("rectangular-bricard")
    result = simulate(problem.mechanism(), problem.duration, problem.output_step, max_steps=5)
    judged = judge(problem, result)
    assert result.status == "too-slow"
    assert not judged.passed


def test_nan_never_passes(a02):
    """A limit compared with nan is not kept."""
    problem, result = a02
    assert not judge(problem, spoil(problem, result, (np.nan, 0.0))).passed
