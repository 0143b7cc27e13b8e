"""Typed coordinates: what is a little off a rod is moved onto it and noted; strict checking; places along rods."""

import numpy as np
import pytest

import sarrus
from sarrus.mechanism import from_data, to_data

# a slanted rod whose points are no short decimals
END = (1.0, 0.7320508)


def beam(**keywords):
    """A mechanism with one slanted rod."""
    m = sarrus.Mechanism(**keywords)
    m.rod("beam", (0, 0), END, mass=1)
    return m


def off(m, body, place):
    """How far a place is off a rod, over its length."""
    rod = next(b for b in m.bodies if b.name == body)
    d = rod.ends[1] - rod.ends[0]
    share = np.clip((place - rod.ends[0]) @ d / (d @ d), 0, 1)
    return np.linalg.norm(place - rod.ends[0] - share * d) / np.linalg.norm(d)


@pytest.mark.parametrize("digits", [6, 7, 9, 11, 13])
def test_joints_typed_with_few_digits_are_accepted(digits):
    """Seven digits and eleven: the joint and the rod that ends there are on the beam; the note says how far."""
    typed = np.round(np.array(END) / 7, digits)
    m = beam()
    m.rod("arm", typed, (1.2, 0), mass=1)
    m.rod("second", typed, (0.2, 1.1), mass=1)
    gap = off(m, "beam", typed)
    m.revolute("A", m.ground, "beam", at=(0, 0))
    joint = m.revolute("B", "beam", "arm", "second", at=typed)
    # what is heavy stays within rounding of the checks
    for name in joint.bodies:
        assert off(m, name, joint.at) < 1e-12
    # nothing moved farther than the gap, and what was exact stays to the last bit
    assert np.linalg.norm(joint.at - typed) < 1.01 * gap * np.hypot(*END) + 1e-15
    np.testing.assert_array_equal(m.joints[0].at, (0, 0))
    np.testing.assert_array_equal(m.bodies[0].ends, ((0, 0), END))
    np.testing.assert_array_equal(m.bodies[1].ends[1], (1.2, 0))
    m.check()
    result = sarrus.simulate(m, 0.1, output_step=0.05)
    noted = [note for note in result.notes if "off rod 'beam' and was moved onto it" in note]
    assert len(noted) == (gap > 1e-12)


def test_two_rods_that_cross_keep_both_lines():
    """A pin at the crossing of two slanted rods goes to the intersection of their lines, a closed form."""
    m = sarrus.Mechanism()
    m.rod("one", (0, 0), (1, 0.7), mass=1)
    m.rod("two", (0, 0.6), (1.1, 0), mass=1)
    # y = 0.7 x and y = 0.6 - 6 x / 11
    x = 0.6 / (0.7 + 6 / 11)
    joint = m.revolute("pin", "one", "two", at=np.round((x, 0.7 * x), 7))
    np.testing.assert_allclose(joint.at, (x, 0.7 * x), rtol=1e-15)


def test_three_rods_through_one_pin_move_a_little():
    """Where no place is on all rods, the rods move: least displacement, all joints on their rods."""
    m = sarrus.Mechanism()
    center = np.array((0.4123457, 0.2987654))
    for name, angle in (("a", 0.3), ("b", 1.4), ("c", 2.5)):
        d = np.array((np.cos(angle), np.sin(angle)))
        ends = np.round(center - 0.47 * d, 7), np.round(center + 0.61 * d, 7)
        m.rod(name, *ends, mass=1)
        m.revolute(f"end {name}", m.ground, name, at=ends[0])
    m.revolute("pin", "a", "b", "c", at=np.round(center, 7))
    for joint in m.joints:
        for name in joint.bodies:
            assert name == "ground" or off(m, name, joint.at) < 1e-12
    assert "places changed by at most" in m.remarks[-1]


def test_points_springs_and_forces_are_moved_too():
    """Whatever is on a rod: each goes to the nearest place on it."""
    m = beam()
    typed = np.round(np.array(END) / 3, 7)
    m.point("P", "beam", typed)
    m.force("push", "beam", at=typed, vector=(1, 0))
    m.spring("coil", m.ground, "beam", start=(2, 2), end=typed, stiffness=10)
    for place in (m.markers[0].at, m.forces[0].at, m.springs[0].ends[1]):
        assert off(m, "beam", place) < 1e-15
    assert len(m.remarks) == 3


def test_space_too():
    """A ball joint on a slanted rod in space, typed with eight digits."""
    m = sarrus.Mechanism(gravity=(0, 0, -9.81))
    end = np.array((1, 0.7, 0.3))
    m.rod("rod", (0, 0, 0), end, mass=1)
    m.rod("other", np.round(end / 3, 8), (0, 0, 1), mass=1)
    joint = m.spherical("ball", "rod", "other", at=np.round(end / 3, 8))
    assert max(off(m, name, joint.at) for name in joint.bodies) < 1e-12
    m.check()


def test_bodies_in_hand_stay_valid():
    """Whoever holds a rod that was moved by rounding can go on using it."""
    m = beam()
    typed = np.round(np.array(END) / 3, 7)
    arm = m.rod("arm", typed, (1.2, 0), mass=1)
    m.revolute("B", "beam", arm, at=typed)
    m.revolute("C", arm, m.ground, at=(1.2, 0))
    assert len(m.joints) == 2


def test_exact_rejects_and_shows_all_digits_that_differ():
    """Strict checking names the gap, and the two points it prints are not the same text."""
    typed = np.round(np.array(END) / 7, 11)
    m = beam(exact=True)
    with pytest.raises(sarrus.MechanismError) as caught:
        m.revolute("B", "beam", m.ground, at=typed)
    text = str(caught.value)
    here, there = text.split(" at ")[1].split(" and rod")[0], text.split("of the rod: ")[1][:-1]
    assert here != there.split(");")[0] + ")"
    assert "are apart by" in text


@pytest.mark.parametrize("exact", [False, True])
def test_what_is_far_off_is_an_error(exact):
    """Beyond 1e-6 of the length a joint is off its rod, and nothing is changed."""
    m = beam(exact=exact)
    with pytest.raises(sarrus.MechanismError, match="are apart by"):
        m.revolute("B", "beam", m.ground, at=np.array(END) / 3 + (0, 3e-6))
    assert not m.joints
    assert not m.remarks


def test_files_are_snapped_as_calls_are():
    """A file with the same digits gives the same places and the same notes; `exact: true` rejects it."""
    typed = [0.3333333, 0.2440169]
    data = {
        "sarrus": 1,
        "gravity": [0, -9.81],
        "bodies": {
            "beam": {"rod": [[0, 0], list(END)], "mass": 1},
            "arm": {"rod": [typed, [1.2, 0]], "mass": 1},
        },
        "joints": {"B": {"revolute": ["beam", "arm"], "at": typed}},
    }
    m = beam()
    m.rod("arm", typed, (1.2, 0), mass=1)
    m.revolute("B", "beam", "arm", at=typed)
    found = from_data(data)
    for block in ("bodies", "joints"):
        assert to_data(found)[block] == to_data(m)[block]
    assert found.remarks == m.remarks
    with pytest.raises(sarrus.ModelFileError, match="are apart by"):
        from_data({**data, "exact": True})


JOINTS = {
    "revolute": {},
    "weld": {},
    "prismatic": {"axis": (1, 0)},
    "point_on_line": {"axis": (1, 0)},
}
IN_SPACE = {
    "revolute": {"axis": (0, 0, 1)},
    "spherical": {},
    "weld": {},
    "prismatic": {"axis": (1, 0, 0)},
    "cylindrical": {"axis": (1, 0, 0)},
    "universal": {"axis": (1, 0, 0), "second_axis": (0, 1, 0)},
    "planar": {"normal": (0, 0, 1)},
    "rectangular": {"normal": (0, 0, 1)},
    "point_on_line": {"axis": (1, 0, 0)},
    "point_on_plane": {"normal": (0, 0, 1)},
}


@pytest.mark.parametrize(
    ("kind", "dimension"), [(k, 2) for k in JOINTS] + [(k, 3) for k in IN_SPACE]
)
def test_places_along_rods(kind, dimension):
    """Every joint takes `along`, in Python and in files, of the first rod or of the one named."""
    gravity = [0, -9.81, 0][:dimension]
    end = np.array((1, 0.7320508, 0.2)[:dimension])
    rods = {"short": 0.25 * end, "beam": end}
    keys = (JOINTS if dimension == 2 else IN_SPACE)[kind]
    for along, place in ((0.8, 0.8 * end / 4), ({"beam": 0.2}, 0.2 * end)):
        m = sarrus.Mechanism(gravity=gravity)
        data = {"sarrus": 1, "gravity": gravity, "bodies": {}, "joints": {}}
        for name, tip in rods.items():
            m.rod(name, 0 * end, tip, mass=1)
            data["bodies"][name] = {"rod": [[0.0] * dimension, tip.tolist()], "mass": 1}
        joint = getattr(m, kind)("J", "short", "beam", along=along, **keys)
        np.testing.assert_allclose(joint.at, place, rtol=1e-15)
        word = kind.replace("_", "-")
        entry = {word: ["short", "beam"], "along": along}
        data["joints"]["J"] = entry | {key: list(value) for key, value in keys.items()}
        np.testing.assert_array_equal(from_data(data, check=False).joints[0].at, joint.at)


WRONG = {
    "beyond the end": ({"along": 1.2}, "share of the length"),
    "unknown rod": ({"along": {"bem": 0.2}}, "needs a rod among"),
    "both": ({"along": 0.5, "at": (0, 0)}, "not both"),
    "neither": ({}, "has no place"),
    "word": ({"along": "half"}, "is not a number"),
}


@pytest.mark.parametrize("given", WRONG.values(), ids=WRONG)
def test_wrong_places_along_rods_are_named(given):
    """Each mistake has a sentence that says what to give."""
    keys, words = given
    m = beam()
    with pytest.raises(sarrus.MechanismError, match=words):
        m.revolute("J", m.ground, "beam", **keys)
