"""Frames of groups: they express every feature and carry the whole mass."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import bricard, n_four_bar
from random_mechanisms import random_mechanism
from sarrus import Mechanism
from sarrus.mechanism.part_arrays import read_parts
from sarrus.model.coordinates import joint_factors, make_skeleton, make_space
from sarrus.model.points import readable_points
from sarrus.model.vectors import dense


def skeleton_of(m):
    """Groups, features and frames of a mechanism."""
    parts = read_parts(m)
    space, factors = make_space(m, parts), joint_factors(m, parts)
    return make_skeleton(m, parts, space, readable_points(m), factors)


def frames_of(skeleton):
    """The frames of all groups."""
    return [skeleton.one(group) for group in range(1, len(skeleton.sharing.groups))]


def value(features, linear):
    """A linear form at the start."""
    starts = np.array([f.start for f in features]).ravel()
    return np.array([sum(c * starts[i] for i, c in row.items()) for row in linear])


def columns_of(frame):
    """Fixed directions and vectors of a frame."""
    return np.array([*frame.directions, *(v.start for v in frame.vectors)]).reshape(-1, 3).T


def random_skeleton(seed, dimension):
    """Of a random mechanism: with crowded pins, with sliding joints, or plain."""
    m = random_mechanism(seed, dimension, crowded=seed % 3 == 1, sliding=seed % 3 == 2)
    return m, skeleton_of(m)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**4), st.sampled_from([2, 3]))
def test_a_frame_expresses_its_features(seed, dimension):
    """Every point and vector that a frame writes has its own value at the start."""
    m, skeleton = random_skeleton(seed, dimension)
    features, space = skeleton.sharing.features, skeleton.space
    for body, at in readable_points(m).values():
        frame = skeleton.frame(body)
        if frame is None:
            continue
        form = skeleton.point(body, at)
        # parts along fixed directions do not move: what is left has to agree
        flat = np.eye(3) - sum((np.outer(d, d) for d in frame.directions), np.zeros((3, 3)))
        place = value(features, form) - np.array(space.place(at))
        np.testing.assert_allclose(flat @ place, 0.0, atol=1e-12 * (1 + np.abs(at).max()))
    for frame in frames_of(skeleton):
        for vector in frame.vectors:
            np.testing.assert_allclose(value(features, vector.linear), vector.start, atol=1e-13)
        for linear, _ in frame.relations:
            if len(linear) == 3:
                # constant along fixed directions, zero across
                left = value(features, linear)
                for d in frame.directions:
                    left = left - (np.array(d) @ left) * np.array(d)
                np.testing.assert_allclose(left, 0.0, atol=1e-11)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**4), st.sampled_from([2, 3]))
def test_frames_are_neither_flat_nor_too_large(seed, dimension):
    """Independent columns, at most three, with all products where a frame is free."""
    _, skeleton = random_skeleton(seed, dimension)
    for frame in frames_of(skeleton):
        columns = columns_of(frame)
        assert columns.shape[1] <= 3
        if columns.shape[1]:
            unit = columns / np.linalg.norm(columns, axis=0)
            # vectors stand at least 0.1 from the plane of the others, of length about one
            assert np.linalg.svd(unit, compute_uv=False).min() > 0.01


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6))
def test_gram_matrix_is_the_kinetic_energy_of_a_rigid_motion(seed):
    """1/2 sum G_ij f_i' . f_j' / 1/2 m |c'|^2 + 1/2 w . I w, for any velocity and spin."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 3))
    inertia = A @ A.T
    inertia = np.trace(inertia) * np.eye(3) - inertia
    mass, center = rng.uniform(0.5, 3.0), rng.normal(size=3)
    m = Mechanism("one", gravity=(0, 0, -9.81))
    m.body("b", mass, center, 0.5 * (inertia + inertia.T))
    for k in range(int(rng.integers(0, 4))):
        m.spherical(f"S{k}", "b", m.body(f"o{k}", 1.0, rng.normal(size=3)), at=rng.normal(size=3))
    skeleton = skeleton_of(m)
    frame, units = skeleton.frame("b"), skeleton.space.units
    w, v = rng.normal(size=3), rng.normal(size=3)
    turn = dense(skeleton.space.turn)
    w_model, v_model = turn @ w, turn @ v / units.length
    origin = v_model + np.cross(
        w_model, np.subtract(frame.origin_start, skeleton.space.place(center))
    )
    rates = [origin, *(np.cross(w_model, vector.start) for vector in frame.vectors)]
    energy = 0.5 * np.einsum("ij,ik,jk->", frame.gram, rates, rates) * units.energy
    expected = 0.5 * mass * v @ v + 0.5 * w @ inertia @ w
    # a pseudo-inverse of a frame of condition up to 100, squared
    assert energy == pytest.approx(expected, rel=1e-9)


def test_planar_bodies_have_one_vector_and_its_quarter_turn():
    """Two features, one equation."""
    skeleton = skeleton_of(n_four_bar(2))
    for frame in frames_of(skeleton):
        v, turned = frame.vectors
        np.testing.assert_allclose(turned.start, np.cross((0, 0, 1), v.start), atol=1e-15)
        assert frame.products == [(0, 0)]


def test_a_thin_rod_between_balls_needs_two_points_and_one_equation():
    """No vector but its own arm: six numbers."""
    m = Mechanism("rod", gravity=(0, 0, -9.81))
    m.rod("rod", (0, 0, 0), (1, 0, 0), mass=1)
    m.body("a", 1.0, (0, 1, 0), (1, 1, 1))
    m.body("b", 1.0, (1, 1, 0), (1, 1, 1))
    m.spherical("A", "a", "rod", at=(0, 0, 0))
    m.spherical("B", "b", "rod", at=(1, 0, 0))
    frame = skeleton_of(m).frame("rod")
    assert len(frame.vectors) == 1
    assert frame.products == [(0, 0)]


def test_a_body_that_only_translates_has_its_origin_alone():
    """Two fixed directions: three with their cross product, no vector, no equation."""
    m = Mechanism("slider", gravity=(0, 0, -9.81))
    m.body("s", 2.0, (1, 2, 3), (1, 2, 2.5))
    m.prismatic("P", m.ground, "s", at=(1, 2, 3), axis=(1, 1, 0))
    frame = skeleton_of(m).frame("s")
    assert (len(frame.directions), frame.vectors, frame.products) == (3, [], [])
    np.testing.assert_allclose(columns_of(frame) @ columns_of(frame).T, np.eye(3), atol=1e-15)
    assert len(frame.gram) == len(frame.gram[0]) == 1


def test_of_bodies_that_turn_as_one_only_one_frame_is_kept_rigid():
    """The others are linear in it."""
    m = Mechanism("sliders", gravity=(0, 0, -9.81))
    for i in range(3):
        m.body(f"b{i}", 1.0, (float(i), 0, 0.1), (1, 2, 2.5))
    m.spherical("S", m.ground, "b0", at=(0, 0, 0))
    m.prismatic("P", "b0", "b1", at=(0.5, 0, 0), axis=(1, 0, 0))
    m.rectangular("Q", "b1", "b2", at=(1.5, 0, 0), normal=(0, 1, 0))
    rigid = [frame for frame in frames_of(skeleton_of(m)) if frame.products]
    assert len(rigid) == 1
    assert len(rigid[0].products) == 6


def test_bricard_frames_turn_about_the_ground_axes():
    """First and last rod keep a direction, the other three are free."""
    counts = sorted(len(frame.directions) for frame in frames_of(skeleton_of(bricard())))
    assert counts == [0, 0, 0, 1, 1]
