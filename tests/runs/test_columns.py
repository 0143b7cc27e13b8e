"""One vocabulary of columns: whatever file they stand in, the same name means the same numbers and unit."""

import numpy as np
import pytest

from sarrus import problems, simulate
from sarrus.runs.columns import observed_columns, trajectory_columns, unit_of


@pytest.fixture(scope="module", params=["double-four-bar", "rectangular-bricard"])
def problem(request):
    """One in the plane, one in space."""
    return problems.get(request.param)


@pytest.fixture(scope="module")
def result(problem):
    """Half a second of it."""
    return simulate(problem.mechanism(), 0.5, 0.1)


def test_files_tell_the_columns_of_the_result(problem, result):
    """Trajectories of studies and result files are parts of `Result.columns`, bit by bit."""
    point = problem.observed
    whole = result.columns(point)
    bare = {name.rpartition(" [")[0]: values for name, values in whole.items()}
    for name, values in trajectory_columns(result, [point]).items():
        np.testing.assert_array_equal(values, bare[name])
    for name, values in problem.result_columns(result).items():
        long = [f"{point}.{name}", f"violation of {name}", f"{name} drift"]
        np.testing.assert_array_equal(values, next(bare[n] for n in (*long, name) if n in bare))


def test_short_names_have_the_units_of_the_long_ones(problem, result):
    """x is in m because B0.x is; every column that a source may require has a unit."""
    units = dict(name.rstrip("]").rsplit(" [", 1) for name in result.columns(problem.observed))
    for name in observed_columns(result, problem.observed):
        long = [f"{problem.observed}.{name}", f"violation of {name}", name, f"{name} drift"]
        assert unit_of(name) == next(units[n] for n in long if n in units)
    assert all(unit_of(name) for name in problem.columns)
