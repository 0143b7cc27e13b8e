"""Runs that follow a branch through a singular configuration, also one of several with a common tangent."""

import numpy as np
import pytest

import sarrus
from branch_cases import kite, powers, three_rrr
from builders import n_four_bar
from linkages import double_watt
from sarrus.mechanism.mechanism import vary


def distance_to_path(result, found, branch, names):
    """How far the joints of a run, all together, are from the path of a branch [m], while it lasts."""
    path = found.path(branch, 200)
    model = found.model
    places = np.hstack([model.origin(n) + path @ model.point_rows(n).toarray().T for n in names])
    seen = np.hstack([result.position(n) for n in names])
    middle = places[len(places) // 2]
    reach = min(np.linalg.norm(places[k] - middle) for k in (0, -1))
    a, d = places[:-1], np.diff(places, axis=0)
    worst, count = 0.0, 0
    for p in seen:
        if np.linalg.norm(p - middle) < 0.8 * reach:
            share = np.clip(np.sum((p - a) * d, axis=1) / np.sum(d * d, axis=1), 0.0, 1.0)
            worst = max(worst, np.linalg.norm(a + share[:, None] * d - p, axis=1).min())
            count += 1
    assert count > 2
    return worst


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [kite, lambda: double_watt(np.random.default_rng(1), "tangency"), lambda: powers(2, 8)],
    ids=["kite", "tangency", "contact of order four"],
)
def test_runs_stay_on_the_branch_that_they_follow(make):
    """Each branch, both ways: the joints stay on its path, to the curvature between its rows."""
    # without weight it goes on, and does not fall back
    m = vary(make(), gravity=0.0)
    found = sarrus.branches(m)
    assert len(found) == 2
    names = [j.name for j in m.joints if j.name in found[0].velocities]
    ends = []
    for branch in found:
        for way in (branch, branch.reversed):
            run = sarrus.simulate(m, 0.1, 0.01, follow=way)
            assert run.status == "done", run.message
            assert any("starts on the branch" in note for note in run.notes)
            own = distance_to_path(run, found, branch, names)
            other = distance_to_path(run, found, found[1 - found.branches.index(branch)], names)
            ends.append((own, other))
    for own, other in ends:
        assert own < 0.1 * other


def test_a_run_goes_on_along_another_branch():
    """From a crossing of a run: the kinetic energy that led there is kept, on every branch."""
    m = n_four_bar(1)
    to_it = sarrus.simulate(m, 2.0, 0.01, at_crossing="branches")
    before = to_it.kinetic_energy[-1]
    for branch in to_it.branches:
        run = sarrus.simulate(m, 0.2, 0.01, follow=branch)
        assert run.status == "done", run.message
        # gravity works along the first 1e-3 m
        assert run.kinetic_energy[0] == pytest.approx(before, rel=1e-2)


@pytest.mark.parametrize("windows", [2, 3])
def test_branches_on_which_windows_stay_flat(windows):
    """Where the first crank of equal rods moves alone the others are a flat, shaky row, which carries no load.

    Without weight runs follow such a branch. Weight across it would need unbounded reactions, which a note states.
    """
    m = n_four_bar(windows)
    to_it = sarrus.simulate(m, 2.0, 0.01, at_crossing="branches")
    (branch,) = (b for b in to_it.branches if b.instantaneous == windows and b.dimension == 1)
    light = sarrus.simulate(vary(m, gravity=0.0), 0.2, 0.02, follow=branch)
    assert light.status == "done", light.message
    assert not any("unbounded reactions" in note for note in light.notes)
    heavy = sarrus.simulate(m, 0.2, 0.02, follow=branch)
    assert heavy.status == "not-converged"
    assert any("unbounded reactions" in note for note in heavy.notes)


def test_the_distance_of_the_start_is_that_from_the_crossing():
    """A run that follows a branch starts a thousandth of a length from the singular configuration."""
    to_it = sarrus.simulate(n_four_bar(1), 2.0, 0.01, at_crossing="branches")
    run = sarrus.simulate(n_four_bar(1), 0.1, 0.01, follow=to_it.branches[1])
    (note,) = (note for note in run.notes if "starts on the branch" in note)
    stated = float(note.split("branch, ")[1].split(" m")[0])
    there = to_it.crossings[-1]
    away = max(np.linalg.norm(run.position(n)[0] - there.position(n)) for n in ("B0", "B1"))
    # three digits are stated
    assert stated == pytest.approx(away, rel=6e-3)
    assert stated < 0.05


def test_what_cannot_be_followed():
    """Drives, and branches of other mechanisms, are rejected with a sentence."""
    found = sarrus.branches(kite())
    with pytest.raises(sarrus.MechanismError, match="bodies are not those"):
        sarrus.simulate(n_four_bar(2), 1.0, follow=found[0])
    m = three_rrr()
    with pytest.raises(sarrus.MechanismError, match="has drives"):
        sarrus.simulate(m, 1.0, follow=sarrus.branches(m)[0])
