"""The verdict inside every result: start, motion, crossings, and its record."""

import json

import pytest

from builders import bricard, in_plane_of, n_four_bar
from sarrus import inspect, simulate
from sarrus.problems.references.n_four_bar import flat_times
from sarrus.runs.run_folder import finite


def test_verdict_of_the_double_four_bar():
    """Regular at the start, one degree of freedom, crossings on the way, in sentences and in the record."""
    result = simulate(n_four_bar(2), 3.0, 0.01)
    verdict = result.verdict
    assert verdict is result.verdict
    assert verdict.inspection.classes == ("regular",)
    assert verdict.classes == ("crossing",)
    assert verdict.mobility_motion == 1
    assert verdict.redundant == (0, 0)
    assert verdict.crossings == result.crossings
    # the closed form to 1e-11 s, which the default tolerance keeps
    first = f"crossing at t = {flat_times(2, 1.0)[0]:.13f}"[:-2]
    for words in (
        "3 crossings:",
        first,
        "Over the motion (9 configurations): 1 degree of freedom, no redundant",
    ):
        assert words in str(verdict)
    record = json.loads(json.dumps(finite(verdict.as_dict()), allow_nan=False))
    assert [c["mobility_here"] for c in record["crossings"]] == [3, 3, 3]
    assert record["start"]["classification"] == "regular"


@pytest.mark.slow
def test_verdict_of_the_bricard():
    """Redundant by one at every pose of the motion, and no crossing."""
    verdict = simulate(bricard(), 2.0, 0.01).verdict
    assert verdict.classes == ("permanently redundant",)
    assert verdict.redundant == (1, 1)
    assert {r.rank for r in verdict.ranks} == {29}
    assert "No crossings." in verdict.sentences
    assert "1 degree of freedom, 1 redundant constraint: permanently redundant" in str(verdict)


def test_the_start_is_inspected_as_inspect_does():
    """The record of the start is that of `inspect`, whatever way the velocity came."""
    m = n_four_bar(2)
    here, there = inspect(m).as_dict(), simulate(m, 0.1, 0.1).verdict.inspection.as_dict()
    for name in ("count", "mobility_here", "mobility_motion", "classes", "dependent_sets"):
        assert here[name] == there[name]


def spatial_window():
    """A planar window modelled in space."""
    return n_four_bar(1, plane_to_space=in_plane_of())


@pytest.mark.parametrize(("make", "number"), [(bricard, 1), (spatial_window, 3)])
def test_redundancy_at_random_poses(make, number):
    """Redundancy is looked at on random walks too, not at one pose: as many equations there."""
    found = inspect(make())
    assert len(found.poses) == 3
    assert {n.rank.rows - n.rank.rank for n in found.poses} == {number}
    assert all(n.distance > 0.3 for n in found.poses)
    assert "random configurations (up to" in str(found)
