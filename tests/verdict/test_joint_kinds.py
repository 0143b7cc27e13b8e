"""W of every kind of joint: against relative motions written by hand, for bodies anywhere in space."""

import numpy as np
import pytest

from builders import rotation
from joint_motions import AT, END, FLAT, KINDS, PLANAR, SPATIAL, Z, turn, two_bodies
from sarrus.kinematics.configuration import Pose
from sarrus.verdict.joint_equations import make_joint_equations
from sarrus.verdict.rank import measure_rank

# which parameter a drive prescribes
DRIVEN = [(3, "revolute", 0), (3, "prismatic", 0), (3, "cylindrical", 0), (2, "revolute", 0)]
DRIVEN += [(2, "prismatic", 0)]


def pose_of(equations, kind, parameters, whole):
    """The pose for values of the joint's parameters, the first body being moved by (R, t)."""
    count, motion = (SPATIAL if equations.dimension == 3 else PLANAR)[kind]
    assert len(parameters) == count
    point, R = motion(*parameters)
    where = END if kind == "distance" else AT
    if equations.dimension == 2:
        where = where * FLAT
    a, b = equations.centers + equations.origin
    R0, t = whole
    centers = np.array([R0 @ a + t, R0 @ (point + R @ (b - where)) + t]) - equations.origin
    return Pose(centers, np.array([R0, R0 @ R]))


def somewhere(dimension):
    """A turn and a displacement of the whole."""
    if dimension == 2:
        return turn(Z, 2.2), np.array([0.3, -0.8, 0.0])
    return rotation(9), np.array([0.3, -0.8, 1.7])


def twist_between(before, after, h):
    """Twists by central differences."""
    R = after.turns @ np.swapaxes(before.turns, 1, 2)
    spin = np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], 1)
    return np.hstack([after.centers - before.centers, 0.5 * spin]) / (2 * h)


def own_twists(equations, kind, parameters, whole):
    """Velocities of the joint's own degrees of freedom, one for each parameter."""
    h, out = 1e-5, []
    for i in range(len(parameters)):
        sides = []
        for s in (-h, h):
            moved = np.array(parameters)
            moved[i] += s
            sides.append(pose_of(equations, kind, moved, whole))
        out.append(twist_between(*sides, h))
    return out


@pytest.mark.parametrize(("dimension", "kind"), KINDS)
def test_rows_allow_what_the_joint_allows_and_no_more(dimension, kind):
    """Gaps stay zero on the hand-written motion, its velocities span the null space of W."""
    equations = make_joint_equations(two_bodies(dimension, kind))
    dof = (SPATIAL if dimension == 3 else PLANAR)[kind][0]
    assert equations.count == dof + equations.columns_a_body
    rng = np.random.default_rng(3)
    whole = somewhere(dimension)
    for _ in range(3):
        parameters = rng.uniform(-0.7, 0.7, dof)
        pose = pose_of(equations, kind, parameters, whole)
        assert np.abs(equations.gaps(pose)).max() < 1e-14
        W = equations.scaled(pose).matrix
        rank = measure_rank(W, equations.columns_a_body)
        assert rank.rank == equations.rows
        assert rank.smallest > 0.01
        for twist in own_twists(equations, kind, parameters, whole):
            # central differences: h^2
            relative = equations.matrix(pose) @ twist[:, equations.used].ravel()
            assert np.abs(relative).max() < 1e-8


@pytest.mark.parametrize(("dimension", "kind"), KINDS)
def test_rows_are_the_rates_of_the_gaps(dimension, kind):
    """W twist / central differences of the gaps, for any twist, at a closed pose away from the start."""
    equations = make_joint_equations(two_bodies(dimension, kind))
    dof = (SPATIAL if dimension == 3 else PLANAR)[kind][0]
    rng = np.random.default_rng(5)
    pose = pose_of(equations, kind, rng.uniform(-0.7, 0.7, dof), somewhere(dimension))
    twist = np.zeros((2, 6))
    twist[:, equations.used] = rng.normal(size=(2, equations.columns_a_body))
    h = 1e-5
    there, back = pose.moved(h * twist), pose.moved(-h * twist)
    rate = (equations.gaps(there) - equations.gaps(back)) / (2 * h)
    assert np.allclose(equations.matrix(pose) @ twist[:, equations.used].ravel(), rate, atol=1e-8)


@pytest.mark.parametrize(("dimension", "kind"), KINDS)
def test_action_and_reaction(dimension, kind):
    """What a joint exerts on its two bodies has no resultant force, nor moment about any point."""
    equations = make_joint_equations(two_bodies(dimension, kind))
    dof = (SPATIAL if dimension == 3 else PLANAR)[kind][0]
    rng = np.random.default_rng(7)
    pose = pose_of(equations, kind, rng.uniform(-0.7, 0.7, dof), somewhere(dimension))
    forces = np.zeros((2, 6))
    f = rng.normal(size=equations.rows)
    forces[:, equations.used] = (equations.matrix(pose).T @ f).reshape(2, -1)
    assert np.abs(forces[:, :3].sum(axis=0)).max() < 1e-14
    moments = forces[:, 3:] + np.cross(pose.centers, forces[:, :3])
    assert np.abs(moments.sum(axis=0)).max() < 1e-14


@pytest.mark.parametrize(("dimension", "kind", "number"), DRIVEN)
def test_drive_adds_the_rate_of_its_coordinate(dimension, kind, number):
    """The row of a drive is one for the velocity of its own coordinate and zero for the others'."""
    equations = make_joint_equations(two_bodies(dimension, kind, drive=True))
    dof = (SPATIAL if dimension == 3 else PLANAR)[kind][0]
    assert equations.count == dof + equations.columns_a_body - 1
    assert equations.undriven.count == equations.count + 1
    parameters = np.linspace(0.3, 0.6, dof)
    whole = somewhere(dimension)
    pose = pose_of(equations, kind, parameters, whole)
    row = np.flatnonzero(equations.row_drive == 0)
    assert len(row) == 1
    assert np.isclose(equations.gaps(pose)[row[0]], parameters[number], rtol=1e-13)
    W = equations.matrix(pose)[row]
    for i, twist in enumerate(own_twists(equations, kind, parameters, whole)):
        assert np.isclose(W @ twist[:, equations.used].ravel(), i == number, atol=1e-8)
    assert equations.equations(pose)[row[0]].where == "drive motor"


@pytest.mark.parametrize("dimension", [2, 3])
def test_driven_link(dimension):
    """The length of a driven link is the drive's equation, not the joint's: one row in all."""
    equations = make_joint_equations(two_bodies(dimension, "distance", drive=True))
    assert equations.rows == 1
    assert equations.undriven.rows == 0
    pose = equations.start()
    assert abs(equations.gaps(pose)[0]) < 1e-15
    link = (END - AT)[:dimension]
    away = np.zeros((2, 6))
    away[1, :dimension] = link / np.linalg.norm(link)
    # the second body moving away along the link lengthens it
    assert np.isclose(equations.matrix(pose) @ away[:, equations.used].ravel(), 1.0)
    assert np.isclose(equations.gaps(pose.moved(0.1 * away))[0], 0.1)


def test_places_on_each_body():
    """A joint that is open at the start has its gap from the two places given."""
    from dataclasses import replace

    for dimension, kind in KINDS:
        m = two_bodies(dimension, kind)
        if kind == "distance":
            continue
        apart = np.array([0.01, -0.02, 0.03])[:dimension]
        at = AT[:dimension]
        first, second = m.joints[0].ends
        ends = (replace(first, place=at), replace(second, place=at + apart))
        m.joints[0] = replace(m.joints[0], ends=ends)
        equations = make_joint_equations(m)
        directions = equations.directions(equations.start())
        expected = directions[:, :dimension] @ apart
        expected[equations.row_about] = 0.0
        assert np.allclose(equations.gaps(equations.start()), expected, atol=1e-16)
