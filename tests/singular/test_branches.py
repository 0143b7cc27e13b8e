"""What happens at a crossing is a choice; and starts where motions meet."""

import itertools

import numpy as np
import pytest

from builders import bricard, n_four_bar
from linkages import copy_of
from sarrus import Mechanism, Polynomial, simulate
from sarrus.problems.references.n_four_bar import flat_times, four_bar_reference


def flat_windows(windows, coupler=1.0, velocities=None):
    """Cranks of 1 m and couplers in one line; velocities: downward speeds of all top joints."""
    m = Mechanism("flat windows")
    for i in range(windows + 1):
        m.rod(f"crank{i}", (coupler * i, 0), (coupler * i + 1, 0), mass=1.0)
        m.revolute(f"A{i}", m.ground, f"crank{i}", at=(coupler * i, 0))
    for i in range(windows):
        m.rod(f"coupler{i}", (coupler * i + 1, 0), (coupler * (i + 1) + 1, 0), mass=1.0)
    for i in range(windows + 1):
        met = [f"coupler{k}" for k in (i - 1, i) if 0 <= k < windows]
        m.revolute(f"B{i}", f"crank{i}", *met, at=(coupler * i + 1, 0))
        if velocities is not None:
            m.set_velocity(f"B{i}", (0.0, -velocities[i]))
    return m


def enumerate_directions(windows, coupler):
    """Heights y of the top joints in all motions through flat, by hand, largest one 1.

    The top of a crank of 1 m moves inwards by y^2 / 2. A coupler of length c keeps its length in second
    order if c (y0^2 - y1^2) + (y1 - y0)^2 = 0: y1 = y0 (parallelogram), or y1 (1 - c) = y0 (1 + c)
    (antiparallelogram; for c = 1 it is y0 = 0, the left crank stays).
    """
    found = []
    for kinds in itertools.product((False, True), repeat=windows):
        rows = np.zeros((windows, windows + 1))
        for i, anti in enumerate(kinds):
            rows[i, i : i + 2] = (1 + coupler, coupler - 1) if anti else (1, -1)
        _, values, basis = np.linalg.svd(rows)
        assert values[-1] > 1e-9
        y = basis[-1]
        y = y / y[np.argmax(np.abs(y))]
        if not any(np.abs(y - other).max() < 1e-9 for other in found):
            found.append(y)
    return found


def directions(branches, windows):
    """The same from branches that were found."""
    out = []
    for branch in branches:
        y = np.array([branch.velocities[f"B{i}"][1] for i in range(windows + 1)])
        out.append(y / y[np.argmax(np.abs(y))])
    return out


@pytest.mark.parametrize("windows", [1, 2, 3])
@pytest.mark.parametrize("coupler", [1.0, 2.0])
def test_branches_of_flat_windows(windows, coupler):
    """All combinations of parallelograms and antiparallelograms, and no other direction."""
    down = np.ones(windows + 1)
    result = simulate(flat_windows(windows, coupler, down), 0.2, 0.1)
    branches = result.crossings[0].branches
    expected = enumerate_directions(windows, coupler)
    # equal rods: left cranks that stay make others stay; else all combinations differ
    assert len(expected) == (windows + 1 if coupler == 1.0 else 2**windows)
    found = directions(branches, windows)
    assert len(found) == len(expected)
    for y in expected:
        # the crossing of a run is singular to its tolerance
        assert min(np.abs(y - other).max() for other in found) < 1e-5
    assert [b.so_far for b in branches] == [True] + [False] * (len(found) - 1)
    np.testing.assert_allclose(found[0], down, atol=1e-8)
    assert branches.dof == windows + 1
    assert branches.complete
    assert {b.dimension for b in branches} == {1}


def test_branches_lead_where_they_say():
    """Each direction, given as velocity at the flat configuration, is a motion that keeps to it."""
    for y in enumerate_directions(2, 2.0):
        result = simulate(flat_windows(2, 2.0, y), 0.05, 0.01)
        assert result.status == "done", result.message
        heights = np.array([-result.position(f"B{i}")[1, 1] for i in range(3)])
        # after 0.01 s: y t + g t^2 / 2, at most 5e-4 off, and the shape of the branch
        np.testing.assert_allclose(heights, 0.01 * y, atol=1.5e-3)
        assert result.energy_drift < 1e-6


@pytest.mark.parametrize("at_crossing", ["stop", "branches"])
def test_stop_at_the_first_crossing(at_crossing):
    """The run ends exactly there, with an output, and what came before is as exact as ever."""
    result = simulate(n_four_bar(2), 10.0, 0.01, at_crossing=at_crossing)
    first = flat_times(2, 1.0)[0]
    assert result.status == "stopped"
    # what the closed form says, to 1e-9 s
    assert f"{first:.12f}"[:-3] in result.message
    assert len(result.times) == 73
    assert abs(result.times[-1] - first) < 1e-8
    exact = four_bar_reference(result.times, 2)
    assert np.abs(result.position("B0") - exact[:, :2]).max() < 1e-8
    assert np.abs(result.velocity("B0") - exact[:, 2:]).max() < 1e-7
    (crossing,) = result.crossings
    assert crossing.time == pytest.approx(result.times[-1], abs=1e-12)
    assert np.isnan(crossing.energy_after)
    assert len(result.branches) == 3
    reported = any("3 branches meet here" in note for note in result.notes)
    assert reported == (at_crossing == "branches")


def test_a_run_without_crossings_does_not_stop():
    """Nothing to stop at: done; and no branches to be reported."""
    result = simulate(bricard(), 1.0, 0.1, at_crossing="stop")
    assert result.status == "done"
    with pytest.raises(ValueError, match="no crossing"):
        _ = result.branches


def test_a_start_at_a_crossing_is_left():
    """A run that may stop does not stop where it starts."""
    result = simulate(flat_windows(1, 1.0, (3.0, 3.0)), 5.0, 0.01, at_crossing="stop")
    assert [c.time for c in result.crossings] == pytest.approx([0.0, result.times[-1]], abs=1e-12)
    assert 0.6 < result.times[-1] < 0.7


def test_arguments_of_at_crossing():
    """A wrong word gets a sentence."""
    with pytest.raises(ValueError, match="'continue', 'stop' or 'branches'"):
        simulate(n_four_bar(1), 1.0, at_crossing="halt")


@pytest.mark.parametrize(
    ("method", "setting", "right"),
    [
        ("radau", {"tolerance": 1e-8}, 1e-7),
        ("multipliers-dop853", {"tolerance": 1e-6}, 1e-5),
        ("energy-momentum", {"step": 1e-3}, 1e-5),
        ("multipliers", {"step": 1e-3}, 1e-8),
    ],
)
def test_every_method_stops_at_a_crossing(method, setting, right):
    """The last output is the crossing, at the flat configuration that the closed form has."""
    result = simulate(n_four_bar(1), 2.0, 0.1, method=method, at_crossing="stop", **setting)
    flat = flat_times(1, 2.0)[0]
    assert result.status == "stopped"
    assert result.times[-1] == pytest.approx(flat, abs=right)
    assert [c.time for c in result.crossings] == [result.times[-1]]
    assert result.times[-2] == pytest.approx(np.floor(flat / 0.1) * 0.1)


def test_many_extra_degrees_of_freedom():
    """Five windows at once: each may go on crossed or not, and equal rods leave six branches of one dimension."""
    result = simulate(n_four_bar(5), 1.0, 0.1, at_crossing="branches")
    assert len(result.branches) == 6
    assert result.branches.dof == 6
    assert {b.dimension for b in result.branches} == {1}


def test_independent_loops():
    """Two windows flat at once that share no body: their branches are combined, each with two degrees of
    freedom.
    """
    m = flat_windows(1)
    both = Mechanism("two of them")
    for k in range(2):
        right = np.array([5.0 * k, 0.0])
        for b in m.bodies:
            ends = [e + right for e in b.ends]
            both.rod(f"{b.name}.{k}", *ends, mass=1.0)
        for j in m.joints:
            names = [n if n == m.GROUND else f"{n}.{k}" for n in j.bodies]
            both.revolute(f"{j.name}.{k}", *names, at=j.at + right)
            if j.name.startswith("B"):
                both.set_velocity(f"{j.name}.{k}", (0.0, -1.0))
    result = simulate(both, 0.1, 0.05)
    crossing = result.crossings[0]
    assert (crossing.mobility_motion, crossing.mobility_here) == (2, 4)
    assert [b.dimension for b in crossing.branches] == [2] * 4
    assert [b.so_far for b in crossing.branches] == [True, False, False, False]


@pytest.mark.parametrize(("velocities", "angle"), [((1.0, 0.5), 18.43), ((0.2, 1.0), 11.31)])
def test_a_start_that_chooses_no_motion(velocities, angle):
    """Between two motions none is taken: the result names them and the nearest, and ends there."""
    result = simulate(flat_windows(1, 1.0, velocities), 1.0, 0.1)
    assert result.status == "not-converged"
    assert len(result.times) == 1
    for words in (
        "singular configuration",
        "2 first-order degrees of freedom",
        "2 branches meet",
        "velocities",
        "nearest is",
    ):
        assert words in result.message
    # angle to (1, 1) or (0, 1) in the heights of the two top joints
    assert f"{angle:.3g} degrees" in result.message


def test_open_start_says_how_many_degrees_of_freedom_are_given():
    """One velocity fixes one of three degrees of freedom; the least energy follows no motion."""
    m = flat_windows(2, 1.0, (1.0, 1.0, 1.0))
    m.velocities = m.velocities[:1]
    result = simulate(m, 1.0, 0.1)
    assert any("fix 1 of its 3 degrees of freedom" in note for note in result.notes)
    assert result.status == "not-converged"
    assert "3 branches meet" in result.message


def test_start_at_rest_where_nothing_chooses():
    """Let go flat and at rest, two windows would fall apart: no motion is invented."""
    result = simulate(flat_windows(2), 1.0, 0.1)
    assert result.status == "not-converged"
    assert "from rest" in result.message
    # one window falls as a parallelogram by symmetry: its weight chooses
    assert simulate(flat_windows(1), 0.5, 0.1).status == "done"


@pytest.mark.parametrize(
    "change",
    [{"length": 1e3, "mass": 1e-3}, {"R": np.array([[0.6, -0.8], [0.8, 0.6]])}, {"seed": 5}],
    ids=["units", "rotation", "order"],
)
def test_as_many_branches_in_other_words(change):
    """Units, directions and order change no branch."""
    result = simulate(copy_of(n_four_bar(2), **change), 1.0, 0.1)
    branches = result.crossings[0].branches
    assert len(branches) == 3
    assert sorted(b.dimension for b in branches) == [1, 1, 1]
    assert sorted(b.instantaneous for b in branches) == [1, 1, 2]
    # the second: the left crank stays
    speeds = sorted(
        tuple(bool(np.linalg.norm(b.velocities[f"B{i}"]) > 1e-6) for i in range(3))
        for b in branches
    )
    assert speeds == [(False, False, True), (False, True, True), (True, True, True)]


def test_a_driven_start_where_motions_meet():
    """A flat window is driven: with the velocity of a motion it starts, else it says which there are."""
    for velocity, status in (((0.0, -1.0), "done"), ((0.0, -0.3), "not-converged")):
        m = n_four_bar(1, speed=0.0, lean=np.pi / 2)
        m.velocities.clear()
        m.drive("motor", "A0", Polynomial((0.0, -1.0)))
        m.set_velocity("B1", velocity)
        result = simulate(m, 1.0, 0.01)
        assert result.status == status, result.message
    assert "2 branches meet here" in result.message
    # only the parallelogram turns the driven crank
    assert "1 of them has the rates of the drives" in result.message
    assert "B0 (0, -0.5), B1 (0, -0.5)" in result.message
    assert "at rest" not in result.message


@pytest.mark.slow
def test_a_stretched_linkage_leads_nowhere():
    """Rods in line between their supports: velocities, but no motion."""
    for n in (2, 3):
        m = Mechanism("stretched")
        for i in range(n):
            m.rod(f"rod{i}", (i, 0), (i + 1, 0), mass=1.0)
        chain = [m.ground, *m.bodies, m.ground]
        for i in range(n + 1):
            m.revolute(f"J{i}", chain[i], chain[i + 1], at=(i, 0))
        result = simulate(m, 1.0, 0.1)
        assert result.status == "not-converged"
        assert "lead back" in result.message
