"""What a value at a path does to a mechanism."""

import numpy as np
import pytest

from sarrus import assemble, inspect, problems, simulate
from sarrus.mechanism import Mechanism, MechanismError, from_data, to_data
from sarrus.studies.changes import apply_change, build_mechanism, set_length, tilt
from sarrus.studies.sampling import draw_samples
from sarrus.studies.study import Change, ChangeKind
from sarrus.studies.study_reader import make_study


def crank_rocker():
    m = Mechanism("crank-rocker")
    m.rod("crank", (0, 0), (0.3, 0.4), mass=1)
    m.rod("coupler", (0.3, 0.4), (2, 1.5), mass=2)
    m.rod("rocker", (2, 1.5), (2, 0), mass=1)
    m.revolute("A", m.ground, "crank", at=(0, 0))
    m.revolute("B", "crank", "coupler", at=(0.3, 0.4))
    m.revolute("C", "coupler", "rocker", at=(2, 1.5))
    m.revolute("D", "rocker", m.ground, at=(2, 0))
    m.point("middle", "crank", (0.15, 0.2))
    m.spring("s", m.ground, "crank", start=(0, 1), end=(0.15, 0.2), stiffness=1)
    return m


@pytest.mark.parametrize("angle", [0.0, 1e-3, 0.7, -2.0])
@pytest.mark.parametrize("direction", [(0, 1, 0), (0.3, -2, 5)])
def test_tilt_turns_by_its_angle(angle, direction):
    """The angle to the old direction is |angle|, the length stays, and all `toward` differ."""
    d = np.array(direction, float)
    found = [np.array(tilt(list(d), angle, toward, None)) for toward in (0.0, 1.0, 2.0)]
    for new in found:
        assert np.linalg.norm(new) == pytest.approx(np.linalg.norm(d), rel=1e-14)
        cross = np.linalg.norm(np.cross(d, new))
        assert np.arctan2(cross, d @ new) == pytest.approx(abs(angle), abs=1e-15, rel=1e-12)
    assert (angle == 0) == np.allclose(found[0], found[1], atol=1e-9, rtol=0)


def test_tilt_directions_turn_around_the_axis():
    """Tilts toward t and t + pi are mirrored at the axis; toward is an angle about it."""
    d = [1.0, 2.0, 3.0]
    one, two = (np.array(tilt(d, 0.1, toward, None)) for toward in (0.4, 0.4 + np.pi))
    np.testing.assert_allclose((one + two) / 2, np.array(d) * np.cos(0.1), rtol=1e-14)


def test_tilt_about_a_given_axis_and_in_the_plane():
    """A quarter of a turn of x about z is y, in space and in the plane."""
    np.testing.assert_allclose(tilt([1.0, 0, 0], np.pi / 2, 0, (0, 0, 2.0)), [0, 1, 0], atol=1e-16)
    np.testing.assert_allclose(tilt([1.0, 0], np.pi / 2, 0, None), [0, 1], atol=1e-16)


def test_length_stretches_what_the_rod_carries():
    """End, joint place, point and end of a spring go along; the pin at its start and other bodies stay."""
    new = set_length(to_data(crank_rocker()), "crank", 1.0)
    assert new["bodies"]["crank"]["rod"] == [[0, 0], [pytest.approx(0.6), pytest.approx(0.8)]]
    assert new["joints"]["A"]["at"] == [0, 0]
    assert new["joints"]["B"]["at"] == [[pytest.approx(0.6), pytest.approx(0.8)], [0.3, 0.4]]
    assert new["joints"]["C"]["at"] == [2, 1.5]
    assert new["points"]["middle"]["at"] == pytest.approx([0.3, 0.4])
    assert new["springs"]["s"]["end"] == pytest.approx([0.3, 0.4])
    assert new["springs"]["s"]["start"] == [0, 1]
    assert new["assemble"] is True


def test_the_same_length_changes_nothing():
    """0.5 m is what the crank has."""
    data = to_data(crank_rocker())
    assert set_length(data, "crank", 0.5) == data


@pytest.mark.slow
def test_another_length_assembles_and_moves():
    """Distances between pins are the wanted lengths, at the start and during the motion."""
    mechanism = from_data(set_length(to_data(crank_rocker()), "crank", 0.6))
    closed = assemble(mechanism).mechanism
    places = {j.name: j.at for j in closed.joints}
    assert np.linalg.norm(places["B"] - places["A"]) == pytest.approx(0.6, rel=1e-12)
    assert np.linalg.norm(places["C"] - places["B"]) == pytest.approx(np.hypot(1.7, 1.1), rel=1e-12)
    result = simulate(mechanism, 1.0)
    distance = np.linalg.norm(result.position("B") - result.position("A"), axis=1)
    # constraints hold to round-off
    np.testing.assert_allclose(distance, 0.6, rtol=1e-12)


@pytest.mark.parametrize(
    ("body", "length", "words"), [("crank", 0, "positive"), ("plate", 1, "not a rod")]
)
def test_lengths_that_cannot_be(body, length, words):
    """Named with the body."""
    data = to_data(crank_rocker())
    data["bodies"]["plate"] = {"mass": 1, "center": [0, 0]}
    with pytest.raises(MechanismError, match=f"'{body}'.*{words}"):
        set_length(data, body, length)


def test_an_entry_of_a_vector_with_a_unit():
    """`at.0` of "[10, 20] mm" is set in SI."""
    data = to_data(crank_rocker())
    data["points"]["middle"]["at"] = "[150, 200] mm"
    change = Change(ChangeKind.PATH, "points.middle.at.0", ("x",))
    assert apply_change(data, change, [0.1])["points"]["middle"]["at"] == [0.1, 0.2]


def build(run, **keys):
    study = make_study(keys)
    values = dict(
        zip(study.plan.columns, draw_samples(study).row(study.plan.columns, run), strict=True)
    )
    return build_mechanism(study.plan.base, study.plan.changes, values)


def test_options_and_paths_of_a_problem():
    """Windows decide what there is; paths change it afterwards; settings come apart."""
    vary = {"windows": [1, 3], "bodies.crank 1.mass": ["500 g"], "simulate.tolerance": [1e-6]}
    mechanism, settings = build(1, problem="n-four-bar", vary=vary)
    assert len(mechanism.bodies) == 7
    assert next(b.mass for b in mechanism.bodies if b.name == "crank 1") == 0.5
    assert settings == {"tolerance": 1e-6}


def test_set_is_the_same_in_all_runs():
    """Options and paths of `set`, next to what varies."""
    given = {"windows": 1, "bodies.crank 0.mass": "3 kg"}
    mechanism, _ = build(0, problem="n-four-bar", set=given, vary={"velocities.B0.0": [2]})
    assert len(mechanism.bodies) == 3
    assert mechanism.bodies[0].mass == 3
    np.testing.assert_array_equal(mechanism.velocities[0][1], [2, 0])


def test_no_change_is_the_problem_to_the_last_bit():
    """The way through data changes no number."""
    mechanism, _ = build(0, problem="rectangular-bricard", vary={"bodies.rod 1.mass": [1]})
    assert to_data(mechanism) == to_data(problems.get("rectangular-bricard").mechanism())


@pytest.mark.slow
def test_a_tilted_bricard_is_locked_and_an_untilted_one_moves():
    """The axes at the start close in any direction, but do not let it move."""
    vary = {"joints.P2.axis": {"tilt": ["0 deg", "1 deg"], "about": [0, 1, 0]}}
    straight, tilted = (build(i, problem="rectangular-bricard", vary=vary)[0] for i in range(2))
    assert inspect(straight).mobility_motion == 1
    found = inspect(tilted)
    assert found.mobility_motion == 0
    # more play lets it go farther, and less play less far
    reaches = [found.locked.reach_within(play) for play in (0.0, 1e-5, 1e-4, 1e-3, 1e-2)]
    assert reaches == sorted(reaches)
    assert reaches[0] < 0.01
    assert reaches[-1] > 2
