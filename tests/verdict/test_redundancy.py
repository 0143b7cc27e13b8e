"""Redundancy in joint language: minimal sets as sentences, loops, and freer joints."""

from dataclasses import replace

import numpy as np
import pytest

from builders import bricard, ends_of, in_plane_of, n_four_bar, rotation
from grid_mechanisms import GridMechanism
from linkages import (
    bennett,
    copy_of,
    door,
    goldberg,
    sarrus_linkage,
    shafts,
    stewart,
    triangle,
    wedges,
)
from sarrus import Mechanism, inspect
from sarrus.mechanism import JointKind
from sarrus.verdict import joint_frames
from sarrus.verdict.joint_equations import make_joint_equations
from sarrus.verdict.redundancy import find_loops
from verdict_checks import check_minimal

# together they take several seconds
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "build",
    [
        lambda: n_four_bar(2, lean=np.pi / 2),
        lambda: n_four_bar(2, plane_to_space=in_plane_of(rotation(1))),
        bricard,
        bennett,
        goldberg,
        sarrus_linkage,
        door,
        lambda: stewart(np.pi / 2),
        lambda: copy_of(bricard(), double="P3"),
    ],
)
def test_sets_are_minimal_and_complete(build):
    """Every set is a minimal dependent one, and there are as many as redundant equations."""
    m = build()
    check_minimal(m, inspect(m))


def test_sets_of_random_mechanisms():
    """The same for random mechanisms on a grid."""
    checked = 0
    for seed in range(700, 760):
        m = GridMechanism(seed).make()
        if len(m.bodies) <= 8:
            found = inspect(m)
            check_minimal(m, found)
            checked += found.redundant_here > 0
    assert checked > 8


def test_four_bar_in_space_as_sentences():
    """The loop and its three sets, each with joints and directions."""
    found = inspect(n_four_bar(1, plane_to_space=in_plane_of()))
    lines = [str(s) for s in found.redundancy.sets]
    loop = "loop A0-B0-B1-A1: the equations"
    assert f"{loop} about x at A0, B0, B1 and A1 depend on each other" in lines
    assert f"{loop} about y at A0, B0, B1 and A1 depend on each other" in lines
    assert sum(line.startswith(f"{loop} along z at A0, B0, B1 and A1") for line in lines) == 1
    assert all(s.permanent for s in found.redundancy.sets)


def test_flat_four_bar_as_sentences():
    """At the flat configuration the equations along the line depend on each other, but only there."""
    found = inspect(n_four_bar(2, lean=np.pi / 2))
    assert [str(s) for s in found.redundancy.sets] == [
        f"loop A{i}-B{i}-B{i + 1}-A{i + 1}: the equations along x at A{i}, B{i}, B{i + 1} and A{i + 1} "
        "depend on each other here, but not nearby on the motion"
        for i in range(2)
    ]


def test_permanent_and_instant_sets():
    """In space the flat four-bar has three permanent sets and one that holds only there."""
    for R in (np.eye(3), rotation(6)):
        found = inspect(n_four_bar(1, lean=np.pi / 2, plane_to_space=in_plane_of(R)))
        assert sum(s.permanent for s in found.redundancy.sets) == 3
        assert len(found.redundancy.sets) == 4


def test_sarrus_linkage_as_a_sentence():
    """The one redundant equation of Sarrus' linkage is the turn about the vertical."""
    (only,) = inspect(sarrus_linkage()).redundancy.sets
    assert str(only) == (
        "loop A0-A1-A2-B2-B1-B0: the equations about z at A0, A1, A2, B2, B1 and B0 depend on each other"
    )


def test_several_loops_together():
    """A second coupler at half height: each loop is sound, both together are redundant."""
    m = n_four_bar(1)
    m.rod("coupler", (0, 0.5), (1, 0.5), mass=1)
    m.revolute("C0", "crank0", "coupler", at=(0, 0.5))
    m.revolute("C1", "crank1", "coupler", at=(1, 0.5))
    found = inspect(m)
    assert (found.count, found.mobility_motion, found.redundant_motion) == (0, 1, 1)
    (only,) = found.redundancy.sets
    assert str(only).startswith(
        "several loops together: the equations along x at A0, A1, B0, B1, C0"
    )


def test_loops_of_a_graph():
    """As many independent loops as joints beyond a tree, the shortest ones first from the ground."""
    equations = make_joint_equations(n_four_bar(5))
    loops = find_loops(equations)
    assert len(loops) == 5
    assert all(len(loop) == 4 for loop in loops)


# the joints that the words of a replacement mean, and their axis if it is not that of the joint
FREER = {
    "a ball joint": (JointKind.SPHERICAL, None),
    "a hinge that may slide along its axis": (JointKind.CYLINDRICAL, None),
    "a ball that may slide along the hinge's axis": (JointKind.POINT_ON_LINE, None),
    "a ball that may slide along x": (JointKind.POINT_ON_LINE, (1.0, 0.0, 0.0)),
    "a ball that may slide along y": (JointKind.POINT_ON_LINE, (0.0, 1.0, 0.0)),
    "a ball that may slide along z": (JointKind.POINT_ON_LINE, (0.0, 0.0, 1.0)),
    "a slider that may turn about its axis": (JointKind.CYLINDRICAL, None),
    "a ball that may slide along the slider's axis": (JointKind.POINT_ON_LINE, None),
    "a ball that may slide along the axis": (JointKind.POINT_ON_LINE, None),
    "a ball that may slide on the plane": (JointKind.POINT_ON_PLANE, None),
    "a face that may turn on the plane": (JointKind.PLANAR, None),
    "a pin in a slot along the slider's axis": (JointKind.POINT_ON_LINE, None),
    "a pin in a slot along x": (JointKind.POINT_ON_LINE, (1.0, 0.0)),
    "a pin in a slot along y": (JointKind.POINT_ON_LINE, (0.0, 1.0)),
}


def two_planes():
    """A body that slides on a plane, constrained to it twice, and on a cylinder across it."""
    m = Mechanism("two planes", gravity=(0.0, 0.0, 0.0))
    m.body("a", 1.0, (0.0, 0.0, 0.0), (0.1, 0.2, 0.3))
    m.body("b", 1.0, (1.0, 0.5, 0.2), (0.1, 0.2, 0.3))
    m.planar("low", m.ground, "a", at=(0, 0, -0.5), normal=(0, 0, 1))
    m.planar("high", "a", m.ground, at=(0, 0.3, 0.5), normal=(0, 0, 2))
    m.cylindrical("C", "a", "b", at=(0.5, 0, 0), axis=(1, 0, 0))
    m.prismatic("P", m.ground, "b", at=(1, 0.5, 0), axis=(1, 0, 0))
    return m


def replaced(m, replacement):
    """The mechanism with the suggested joint, or without it."""
    out = Mechanism(m.name, gravity=m.gravity)
    out.bodies.extend(m.bodies)
    for j in m.joints:
        if j.name != replacement.joint:
            out.joints.append(j)
        elif replacement.by:
            kind, axis = FREER[replacement.by]
            axis = j.axis if axis is None else np.array(axis)
            axis = None if kind is JointKind.SPHERICAL else axis
            out.joints.append(replace(j, kind=kind, ends=ends_of(j.bodies, j.at, axis)))
    return out


@pytest.mark.slow
@pytest.mark.parametrize(
    "build",
    [
        lambda: n_four_bar(1, plane_to_space=in_plane_of()),
        bennett,
        goldberg,
        lambda: door((0.2, 1.8)),
        bricard,
        wedges,
        lambda: wedges(rotation(2)),
        shafts,
        lambda: copy_of(shafts(), double="X"),
        lambda: copy_of(triangle(), double="B"),
        lambda: door(kind="spherical"),
        two_planes,
    ],
)
def test_replacing_a_joint_removes_what_it_says(build):
    """A freer joint as suggested, or a joint left out: that much less redundancy, the same mobility."""
    m = build()
    found = inspect(m)
    assert found.redundancy.replacements
    for replacement in found.redundancy.replacements:
        other = inspect(replaced(m, replacement))
        assert other.redundant_motion == found.redundant_motion - replacement.removes
        assert other.mobility_motion == found.mobility_motion


def test_words_of_replacements_are_joints():
    """Every freer joint suggested has as many equations fewer as it says."""
    for (dimension, kind), options in joint_frames.FREER.items():
        here = len(joint_frames.JOINT_FRAMES[dimension, kind].rows)
        for words, freed in options:
            if words in FREER:
                there = joint_frames.JOINT_FRAMES[dimension, FREER[words][0]]
                assert len(there.rows) == here - len(freed)


def test_bricard_takes_no_ball():
    """In Bricard's linkage a ball joint would add a degree of freedom; a hinge that slides would not."""
    words = {r.by for r in inspect(bricard()).redundancy.replacements}
    assert words == {"a hinge that may slide along its axis"}
