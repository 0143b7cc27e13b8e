"""Poses and spins by least squares, turns counted on, the mechanism's length: known motions, known arms."""

import numpy as np
import pytest
from scipy import sparse

from random_mechanisms import random_mechanism
from sarrus import Mechanism
from sarrus.kinematics.configuration import (
    LINK,
    BodyRows,
    Pose,
    largest_twist,
    measure_length,
    nearest_turns,
    next_to,
    read_poses,
    read_spins,
    read_turns,
    turn_matrices,
    turn_vectors,
    unwrap,
)
from sarrus.model import make_model
from sarrus.scene import make_sketch
from sarrus.verdict.joint_equations import make_joint_equations

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


def test_turn_vectors_and_matrices_are_each_others_inverse():
    """Angles from rounding to almost half a turn; next to half a turn the sines are lost, the axis is not."""
    rng = np.random.default_rng(1)
    axes = rng.normal(size=(8, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    angles = np.array([0.0, 1e-12, 1e-7, 1e-3, 1.0, 3.0, np.pi - 1e-4, np.pi - 1e-9])
    vectors = angles[:, None] * axes
    R = turn_matrices(vectors)
    assert np.abs(R @ np.swapaxes(R, 1, 2) - np.eye(3)).max() < 1e-15 * 4
    assert np.linalg.det(R) == pytest.approx(1.0)
    # the axis at half a turn comes from a square root of R + 1: half its digits times the sine
    assert np.abs(turn_vectors(R) - vectors).max() < 1e-11


def test_a_quarter_turn_about_z():
    """x goes to y, y to -x."""
    R = turn_matrices(np.array([[0.0, 0.0, np.pi / 2]]))[0]
    assert pytest.approx(np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]), abs=1e-15) == R


def test_next_to_adds_whole_turns_only():
    """Angles land within half a turn of those they are to be next to."""
    near = np.array([0.0, 20.0, -31.0])
    angle = np.array([0.3, 0.3, 0.3])
    found = next_to(angle, near)
    assert np.abs(found - near).max() <= np.pi
    turns = (found - angle) / (2 * np.pi)
    assert np.abs(turns - np.rint(turns)).max() < 1e-15


@pytest.mark.parametrize("step", [0.05, 0.7])
def test_many_turns_are_counted_with_the_rates(step):
    """theta = 40 sin t + 9 t turns by up to 5 turns an output; counted to the last digit, in columns too."""
    t = np.arange(0.0, 60.0, step)
    theta = 40.0 * np.sin(t) + 9.0 * t
    rate, rise = 40.0 * np.cos(t) + 9.0, -40.0 * np.sin(t)
    # h^5 / 720 of the fifth derivative, 40: below half a turn
    assert step**5 / 720 * 40 < np.pi
    shown = np.angle(np.exp(1j * theta))
    counted, doubtful = unwrap(t, shown, rate, rise)
    assert not doubtful.any()
    assert np.abs(counted - theta).max() < 1e-12
    both, _ = unwrap(t, *(np.stack([x, -x], axis=1) for x in (shown, rate, rise)))
    assert np.abs(both - np.stack([theta, -theta], axis=1)).max() < 1e-12


def test_turns_that_cannot_be_counted_are_in_doubt():
    """The same motion with outputs so far apart that its rates do not determine them."""
    t = np.arange(0.0, 60.0, 3.0)
    theta = 40.0 * np.sin(t) + 9.0 * t
    shown = np.angle(np.exp(1j * theta))
    assert unwrap(t, shown, 40.0 * np.cos(t) + 9.0, -40.0 * np.sin(t))[1].any()


def test_a_single_output_is_shown_as_it_is():
    """Nothing to count from."""
    one = np.array([0.4])
    counted, doubtful = unwrap(np.zeros(1), one, one, one)
    assert counted == one
    assert doubtful.shape == (0,)


def four_bar(size=1.0, shift=(0.0, 0.0)):
    m = Mechanism("four-bar")
    at = size * np.array([(0, 0), (0, 1), (2, 1), (2, 0)]) + np.array(shift)
    for i, name in enumerate(("crank", "coupler", "rocker")):
        m.rod(name, at[i], at[i + 1], mass=1.0)
    for i, (a, b) in enumerate(
        ((m.ground, "crank"), ("crank", "coupler"), ("coupler", "rocker"), ("rocker", m.ground))
    ):
        m.revolute(f"J{i}", a, b, at=at[i])
    return m


def test_the_mean_arm_of_a_four_bar():
    """Rods of 1, 2 and 1 m: arms of 0.5, 0.5, 1, 1, 0.5, 0.5 m."""
    assert measure_length(four_bar()) == pytest.approx(4.0 / 6.0, rel=1e-15)


@pytest.mark.parametrize("size", [1e-6, 0.125, 1e5])
def test_it_goes_with_the_size_and_not_with_the_place(size):
    """Ten times as large, ten times the length; the world's origin does not matter."""
    assert measure_length(four_bar(size)) == pytest.approx(size * measure_length(four_bar()))
    assert measure_length(four_bar(shift=(100.0, -30.0))) == pytest.approx(4.0 / 6.0)


def test_springs_and_links_hold_bodies_too():
    """A pendulum of arm 1 with a spring at 3 from its centre: the mean is 2."""
    m = Mechanism("held")
    m.body("mass", mass=1.0, center=(0, -1), inertia=0.0)
    m.revolute("A", m.ground, "mass", at=(0, 0))
    assert measure_length(m) == 1.0
    m.spring("S", m.ground, "mass", start=(5, 0), end=(3, -1), stiffness=1.0)
    assert measure_length(m) == 2.0


def test_without_arms_the_spread_of_the_mass_counts():
    """A disc on its centre: its radius of gyration; a free point: half a metre, a link of one."""
    m = Mechanism("disc")
    m.body("disc", mass=2.0, center=(1, 1), inertia=0.08)
    m.revolute("A", m.ground, "disc", at=(1, 1))
    assert measure_length(m) == pytest.approx(0.2)
    free = Mechanism("free")
    free.body("point", mass=2.0, center=(1, 1), inertia=0.0)
    assert LINK * measure_length(free) == 1.0


@pytest.mark.parametrize("dimension", [2, 3])
def test_model_judge_and_sketch_have_one_length(dimension):
    """Links of the model and of the drawing are LINK arms of the judge."""
    for seed in range(5):
        m = random_mechanism(seed, dimension)
        length = measure_length(m)
        assert make_joint_equations(m).length == length
        assert make_model(m).units.length == LINK * length
        assert make_sketch(m).size == LINK * length


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_nearest_turns(count):
    """Newton's steps / singular vectors: vectors that fit a rotation, that do not, close to parallel."""
    random = np.random.default_rng(count)
    for noise, spread in ((0.0, 1.0), (0.1, 1.0), (0.0, 1e-3), (1e-3, 1e-2)):
        first = random.normal(size=(60, 1, 3))
        starts = first + spread * random.normal(size=(60, count, 3))
        turns = turn_matrices(random.normal(size=(60, 3)))
        c = np.einsum("nij,nvj->nvi", turns, starts) + noise * random.normal(size=starts.shape)
        H = np.einsum("nvi,nvj->nij", c, starts)
        U, sizes, V = np.linalg.svd(H)
        U[..., :, 2] *= np.linalg.det(U @ V)[..., None]
        found = nearest_turns(H)
        np.testing.assert_allclose(
            found @ np.swapaxes(found, 1, 2), np.tile(np.eye(3), (60, 1, 1)), atol=1e-14
        )
        # the turn about a direction that vectors hardly show: rounding over what they show
        room = 1e-14 * sizes[:, 0] / sizes[:, 1]
        assert (np.abs(found - U @ V).max(axis=(1, 2)) <= np.maximum(room, 2e-14)).all(), noise
