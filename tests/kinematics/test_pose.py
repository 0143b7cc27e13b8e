"""Poses and spins by least squares, from vectors whose motion is known."""

import numpy as np
import pytest
from scipy import sparse

from sarrus.kinematics.pose import (
    BodyRows,
    Pose,
    largest_twist,
    read_poses,
    read_spins,
    read_turns,
    turn_matrices,
)

rng = np.random.default_rng(3)


def rows_of(*starts):
    """Bodies whose coordinates are the changes of their centres and vectors themselves."""
    counts = [len(s) for s in starts]
    nb, nv = len(starts), sum(counts)
    eye = sparse.eye_array(3 * (nb + nv), format="csr")
    return BodyRows(
        tuple(f"body{i}" for i in range(nb)),
        eye[: 3 * nb],
        eye[3 * nb :],
        np.concatenate([np.reshape(s, (-1, 3)) for s in starts]),
        np.repeat(np.arange(nb), counts),
    )


def spinning(bodies, w, w1, t):
    """Coordinates, rates and accelerations at t of bodies turned by R(t), R' = w x R; R(0) = 1, fixed axes."""
    rates = np.array([np.linalg.norm(x) for x in w])
    axes = np.array(w) / rates[:, None]
    angle = rates * t + 0.5 * np.array(w1) * t * t
    R = turn_matrices(axes * angle[:, None])
    speed = (axes * (rates + np.array(w1) * t)[:, None])[bodies.owner]
    more = (axes * np.array(w1)[:, None])[bodies.owner]
    c = np.einsum("vij,vj->vi", R[bodies.owner], bodies.starts)
    c1 = np.cross(speed, c)
    c2 = np.cross(more, c) + np.cross(speed, c1)
    still = np.zeros(3 * len(bodies.names))
    states = [np.append(still, x.ravel())[None] for x in (c - bodies.starts, c1, c2)]
    return R, speed, more, states


def unit(*vectors):
    out = np.array(vectors, dtype=float)
    return out / np.linalg.norm(out, axis=1)[:, None]


TWO = unit((1, 0, 0), (0.6, 0.8, 0))
MANY = unit((1, 0, 0), (0, 1, 1), (0, 0.2, -1), (1, 1, 1))


def test_spins_and_turns_of_a_known_rotation():
    """Two bodies turn about fixed axes at a growing rate; vectors of both in one list."""
    bodies = rows_of(TWO, MANY)
    w = np.array([[0.3, -0.4, 1.2], [-2.0, 0.5, 0.1]])
    R, speed, more, (q, v, a) = spinning(bodies, w, [0.7, -1.1], 1.9)
    turns = read_turns(bodies, q)
    assert np.abs(turns[0] - R).max() < 4e-15
    spins, rates = read_spins(bodies, q, v, a)
    first = [0, len(TWO)]
    assert np.abs(spins[0] - speed[first]).max() < 1e-14
    assert np.abs(rates[0] - more[first]).max() < 1e-13
    # one body alone says the same
    alone = bodies.only("body1")
    assert np.abs(read_turns(alone, q)[0, 0] - R[1]).max() < 4e-15
    assert np.abs(read_spins(alone, q, v, a)[0][0, 0] - speed[-1]).max() < 1e-14


@pytest.mark.parametrize("noise", [1e-9, 1e-6, 1e-3])
def test_rotation_from_noisy_vectors(noise):
    """What is found is a rotation, and the nearest: no small turn lowers the sum of squares."""
    bodies = rows_of(MANY)
    R = turn_matrices(np.array([[0.4, 1.0, -0.8]]))[0]
    seen = MANY @ R.T + noise * rng.normal(size=MANY.shape)
    q = np.append(np.zeros(3), (seen - MANY).ravel())[None]
    found = read_turns(bodies, q)[0, 0]
    assert np.abs(found @ found.T - np.eye(3)).max() < 4e-15
    assert np.linalg.det(found) == pytest.approx(1.0)
    assert noise * 1e-3 < np.abs(found - R).max() < 5 * noise
    # the gradient of sum |c - found c0|^2 over turns is sum (found c0) x c
    gradient = np.cross(MANY @ found.T, seen).sum(axis=0)
    assert np.abs(gradient).max() < 1e-14


def test_turns_in_the_plane_are_exact_where_nothing_turned():
    """The nearest rotation about z; identity to the last bit at the start, and for a body without vectors."""
    bodies = rows_of(TWO, np.zeros((0, 3)))
    assert np.array_equal(read_turns(bodies, np.zeros((1, 12)))[0], np.tile(np.eye(3), (2, 1, 1)))
    R = turn_matrices(np.array([[0.0, 0.0, 2.5]]))[0]
    seen = TWO @ R.T + 1e-3 * rng.normal(size=(2, 3)) * [1, 1, 0]
    q = np.append(np.zeros(6), (seen - TWO).ravel())[None]
    found = read_turns(bodies, q)[0, 0]
    assert np.cross(TWO @ found.T, seen).sum(axis=0) == pytest.approx(0.0, abs=1e-15)
    # a vector out of the plane, whose change is none: the same by singular values
    both = rows_of(np.vstack([TWO, [0, 0, 1]]))
    again = read_turns(both, np.append(np.zeros(3), [*(seen - TWO).ravel(), 0, 0, 0])[None])[0, 0]
    assert np.abs(again - found).max() < 4e-15


def test_a_mirror_image_is_no_rotation():
    """Vectors reflected in a plane: the nearest rotation is still one, with determinant 1."""
    bodies = rows_of(MANY)
    q = np.append(np.zeros(3), (MANY * [1, 1, -1] - MANY).ravel())[None]
    assert np.linalg.det(read_turns(bodies, q)[0, 0]) == pytest.approx(1.0)


def test_a_thin_rod_shows_no_spin_about_itself():
    """One vector: the part of the spin along it is zero, the part across it is right."""
    bodies = rows_of(TWO[:1], np.zeros((0, 3)))
    w = np.array([0.7, 2.0, -1.0])
    c1 = np.cross(w, TWO[0])
    q = np.zeros((1, 9))
    v = np.append(np.zeros(6), c1)[None]
    spins, _ = read_spins(bodies, q, v, np.zeros_like(q))
    assert spins[0, 0] == pytest.approx(w - w[0] * TWO[0], abs=1e-15)
    # and a point none at all
    assert not spins[0, 1].any()
    assert not bodies.only("body0").show_turn
    assert not bodies.only("body1").show_turn
    assert rows_of(TWO).show_turn


def test_poses_hold_centres_and_turns():
    """Centres are counted from where they start."""
    bodies = rows_of(MANY)
    R = turn_matrices(np.array([[0.1, 0.2, 0.3]]))
    q = np.concatenate([[1.0, 2.0, 3.0], (MANY @ R[0].T - MANY).ravel()])[None]
    pose = read_poses(np.array([[10.0, 0.0, 0.0]]), bodies, q)[0]
    assert pose.centers == pytest.approx(np.array([[11.0, 2.0, 3.0]]))
    assert np.abs(pose.turns - R).max() < 4e-15


def test_displacement_leads_from_one_pose_to_the_other():
    """moved(displacement) is the other pose; distance is its largest part."""
    twists = 0.3 * rng.normal(size=(4, 6))
    here = Pose(rng.normal(size=(4, 3)), turn_matrices(rng.normal(size=(4, 3))))
    there = here.moved(twists)
    found = here.displacement(there)
    assert np.abs(found - twists).max() < 1e-14
    assert here.distance(there, 2.0) == pytest.approx(largest_twist(twists, 2.0))
    turn = np.linalg.norm(twists[:, 3:], axis=1).max()
    assert here.distance(there, 1e9) == pytest.approx(turn)


def test_many_small_turns_leave_an_orthonormal_pose():
    """A thousand moves leave rounding in the turns, which goes; what never turned stays to the last bit."""
    pose = Pose(np.zeros((2, 3)), np.tile(np.eye(3), (2, 1, 1)))
    for _ in range(1000):
        pose = pose.moved(np.array([[0, 0, 0, 0.01, 0.02, -0.03], [0, 0, 0, 0, 0, 0]]))
    clean = pose.orthonormal()
    square = clean.turns @ np.swapaxes(clean.turns, 1, 2)
    assert np.abs(square - np.eye(3)).max() < 2e-15
    assert np.abs(clean.turns - pose.turns).max() < 1e-12
    assert np.array_equal(clean.turns[1], np.eye(3))
