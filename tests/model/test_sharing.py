"""Shared features: groups of welded bodies, joint points and axes, what the ground fixes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import bricard, in_plane_of, n_four_bar, rotation
from random_mechanisms import random_mechanism
from sarrus import Mechanism
from sarrus.mechanism.part_arrays import read_parts
from sarrus.model.joint_constraints import GROUND, share_features


def same(x):
    """Places and directions as they are, the plane in space."""
    return np.append(x, 0.0) if len(x) == 2 else x


def sharing_of(m):
    """Groups and features in the user's own units and directions."""
    return share_features(read_parts(m), same, same)


def lumps(count=3, name="lumps"):
    """Bodies in space, without joints."""
    m = Mechanism(name, gravity=(0, 0, -9.81))
    for i in range(count):
        m.body(f"b{i}", 1.0, (float(i), 0.1, 0.2), (1, 1, 1))
    return m


def test_welded_bodies_are_one_group():
    """Through a chain of welds, in any order; what is welded to the ground is the ground."""
    m = lumps(5)
    m.weld("w", "b3", "b1", "b4")
    m.weld("v", "b2", m.ground)
    s = sharing_of(m)
    assert s.group_of["b3"] == s.group_of["b1"] == s.group_of["b4"] != s.group_of["b0"]
    assert s.group_of["b2"] == GROUND
    assert [b.name for b in s.groups[GROUND].bodies] == ["b2"]
    assert sorted(len(g.bodies) for g in s.groups[1:]) == [1, 3]


def test_a_pin_shares_its_point_and_a_hinge_its_axis():
    """Bodies of a hinge have one point and one axis in common, those of a ball only the point."""
    m = lumps()
    m.revolute("H", "b0", "b1", at=(1, 0, 0), axis=(0, 0, 2))
    m.spherical("S", "b1", "b2", at=(2, 0, 0))
    s = sharing_of(m)
    a, b, c = (s.groups[s.group_of[f"b{i}"]] for i in range(3))
    assert set(a.points) < set(b.points)
    assert len(set(b.points) & set(c.points)) == 1
    assert a.axes == b.axes
    assert c.axes == []
    np.testing.assert_array_equal(s.features[a.axes[0]].start, (0, 0, 1))
    assert not any(f.fixed for f in s.features)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6))
def test_parallel_axes_of_one_body_are_one_vector(seed):
    """Whatever their length and sign, and only those of one body."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    m = lumps(4)
    m.revolute("A", "b0", "b1", at=(0, 0, 0), axis=axis)
    m.revolute("B", "b1", "b2", at=(0, 1, 0), axis=axis * rng.choice([-3.0, 0.2, 5.0]))
    m.revolute("C", "b2", "b3", at=(0, 2, 0), axis=rng.normal(size=3))
    s = sharing_of(m)
    held = [set(s.groups[s.group_of[f"b{i}"]].axes) for i in range(4)]
    assert held[0] == held[1]
    assert len(held[1] & held[2]) == 1
    assert len(held[2]) == 2
    assert held[3] == held[2] - held[1]


def test_what_the_ground_shares_is_fixed():
    """A pin on the ground is a constant; two fixed directions fix every axis of a body."""
    m = lumps()
    m.revolute("A", m.ground, "b0", at=(0, 0, 0), axis=(0, 0, 1))
    m.revolute("B", "b0", "b1", at=(1, 0, 0), axis=(1, 0, 0))
    s = sharing_of(m)
    b0 = s.groups[s.group_of["b0"]]
    assert [s.features[k].fixed for k in b0.axes] == [True, False]
    np.testing.assert_allclose(s.directions(b0), [(0, 0, 1)])
    # a second hinge on the ground, not parallel: the body cannot turn, so its third axis stands still
    m.revolute("C", m.ground, "b0", at=(0, 0, 0), axis=(0, 1, 0))
    s = sharing_of(m)
    b0, b1 = (s.groups[s.group_of[n]] for n in ("b0", "b1"))
    assert all(s.features[k].fixed for k in b0.axes)
    np.testing.assert_allclose(s.directions(b1), [(1, 0, 0)])


@pytest.mark.parametrize("kind", ["prismatic", "rectangular"])
def test_bodies_that_do_not_turn_against_each_other_share_all_directions(kind):
    """Also through a chain, and with the ground: then nothing of them turns."""
    m = lumps()
    join = getattr(m, kind)
    word = "axis" if kind == "prismatic" else "normal"
    join("P", "b0", "b1", at=(0, 0, 0), **{word: (1, 2, 0)})
    join("Q", "b1", "b2", at=(1, 0, 0), **{word: (0, 0, 1)})
    s = sharing_of(m)
    assert len({s.turning_with[s.group_of[f"b{i}"]] for i in range(3)}) == 1
    held = [sorted(s.groups[s.group_of[f"b{i}"]].axes) for i in range(3)]
    assert held[0] == held[1] == held[2]
    join("R", m.ground, "b0", at=(0, 0, 0), **{word: (0, 1, 0)})
    s = sharing_of(m)
    assert s.turning_with == [0, 0, 0, 0]
    assert all(f.fixed for f in s.features)
    assert all(len(s.directions(g)) == 2 for g in s.groups[1:])


def test_places_that_coincide_are_one_point_of_a_body():
    """Two joints of one body at one place share it; of strangers they do not."""
    m = lumps(4)
    at = (0.3, 0.2, 0.1)
    m.spherical("A", "b0", "b1", at=at)
    m.spherical("B", "b1", "b2", at=at)
    m.spherical("C", "b3", m.ground, at=at)
    s = sharing_of(m)
    points = [s.groups[s.group_of[f"b{i}"]].points for i in range(4)]
    assert points[0] == points[1] == points[2]
    assert len(points[0]) == 1
    assert points[3] != points[0]


@pytest.mark.parametrize("windows", [1, 3])
@pytest.mark.parametrize("space", [False, True])
def test_four_bar_shares_the_same_in_plane_and_space(windows, space):
    """2 (N + 1) pins, all bodies keep the one normal: in the plane and anywhere in space."""
    to_space = in_plane_of(rotation(4)) if space else None
    s = sharing_of(n_four_bar(windows, plane_to_space=to_space))
    points = {k for g in s.groups for k in g.points}
    assert len(points) == 2 * (windows + 1)
    assert sum(s.features[k].fixed for k in points) == windows + 1
    for group in s.groups[1:]:
        assert len(s.directions(group)) == 1


def test_bricard_has_six_points_and_six_axes():
    """Two of each are the ground's."""
    s = sharing_of(bricard())
    points, axes = ({k for g in s.groups for k in getattr(g, w)} for w in ("points", "axes"))
    assert (len(points), len(axes)) == (6, 6)
    assert sum(s.features[k].fixed for k in points) == 2
    assert sum(s.features[k].fixed for k in axes) == 2


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**4), st.sampled_from([2, 3]))
def test_every_body_is_in_one_group_and_joints_are_shared(seed, dimension):
    """Of random mechanisms: a partition of the bodies, and a shared point for every pin."""
    m = random_mechanism(seed, dimension, crowded=seed % 2 == 0)
    s = sharing_of(m)
    listed = [b.name for g in s.groups for b in g.bodies]
    assert sorted(listed) == sorted(b.name for b in m.bodies)
    for joint in m.joints:
        if "point" not in joint.kind.row.shares:
            continue
        common = set.intersection(*(set(s.groups[s.group_of[b]].points) for b in joint.bodies))
        assert any(np.allclose(s.features[k].start, same(joint.at)) for k in common)
