"""Candidates that are judged together get the verdict that each gets alone."""

from dataclasses import replace

import numpy as np
import pytest

from crossing_families import kite, parallelogram
from mechanism.everything import plane_of_everything, space_of_everything
from random_mechanisms import random_mechanism
from sarrus import problems, simulate
from sarrus.kinematics.configuration import Pose, turn_matrices
from sarrus.kinematics.constraints import Constraints
from sarrus.model import make_model, structure
from sarrus.verdict import candidates
from sarrus.verdict.joint_equations import make_joint_equations
from sarrus.verdict.singular_neighbours import nearest_singular

MECHANISMS = {
    "Bricard": lambda: problems.get("rectangular-bricard").mechanism(),
    "planar": lambda: random_mechanism(3, 2, sliding=True),
    "spatial": lambda: random_mechanism(4, 3, crowded=True),
}


# with every kind of joint, and couplings; they cannot be simulated
EVERYTHING = {"plane": plane_of_everything, "space": space_of_everything}


@pytest.mark.parametrize("name", [*MECHANISMS, *EVERYTHING])
def test_joint_equations_of_copies(name):
    """W at several configurations is W at each of them: the copies of a mechanism do not touch."""
    equations = make_joint_equations({**MECHANISMS, **EVERYTHING}[name]())
    rng = np.random.default_rng(0)
    count, flat = len(equations.bodies), equations.dimension == 2
    poses = []
    for _ in range(4):
        turns, moves = rng.normal(size=(2, count, 3))
        turns[:, :2] *= not flat
        moves[:, 2] *= not flat
        poses.append(Pose(equations.centers + moves, turn_matrices(turns)))
    together = equations.scaled_at(poses)
    for W, pose in zip(together, poses, strict=True):
        # orthonormal rows: entries of order one, rounded some times
        np.testing.assert_allclose(W, equations.scaled_dense(pose), rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("joints", [False, True])
def test_constraints_of_many_configurations(name, joints):
    """Phi, J, the terms and the second derivative of rows of configurations are those of each row."""
    constraints = Constraints(make_model(MECHANISMS[name]()).form, joints=joints)
    rng = np.random.default_rng(1)
    q = 0.1 * rng.normal(size=(3, len(constraints.form.Q)))
    lam = rng.normal(size=(3, len(constraints.kept)))
    for call, given in (
        (constraints.phi, q),
        (constraints.jacobian, q),
        (constraints.eval_terms, q),
        (constraints.second_derivative, lam),
    ):
        together = call(given)
        for found, row in zip(together, given, strict=True):
            # sums of few numbers of order one
            np.testing.assert_allclose(found, call(row), rtol=1e-13, atol=1e-13)
    whole = constraints.curvature(lam[0], np.eye(q.shape[1]))
    np.testing.assert_allclose(constraints.second_derivative(lam[0]), whole, rtol=0, atol=1e-12)


def test_singular_configurations_found_together():
    """Newton's steps of one configuration do not depend on the others; each ends where u.J vanishes."""
    m = problems.get("double-four-bar").mechanism()
    crossing = simulate(m, 2.0, 0.1).crossings[0]
    joints = Constraints(crossing.model.form, joints=True)
    rng = np.random.default_rng(2)
    q = crossing.coordinates + 1e-4 * rng.normal(size=(5, len(crossing.coordinates)))
    U, values, _ = np.linalg.svd(joints.jacobian(q))
    strong = int(np.sum(values[0] > 0.1 * values[0, 0]))
    u = U[:, :, -1]
    together = nearest_singular(joints, q, u, strong)
    for i in range(len(q)):
        alone = nearest_singular(joints, q[i : i + 1], u[i : i + 1], strong)
        for a, b in zip(together, alone, strict=True):
            # rounding of Newton's last step
            np.testing.assert_allclose(a[i], b[0], rtol=0.0, atol=1e-12)
        left = together[1][i] @ joints.jacobian(together[0][i])
        assert np.abs(left).max() < 1e-12


def members():
    """Linkages that cross, that nearly do, and both in small swings."""
    yield "double four-bar", problems.get("double-four-bar").mechanism()
    rng = np.random.default_rng(5)
    for n in range(2):
        yield f"kite {n}", kite(rng)
        yield f"parallelogram {n}", parallelogram(rng)
        yield f"near {n}", parallelogram(rng, off=10.0 ** rng.uniform(-8, -3))


@pytest.mark.parametrize(("name", "m"), [pytest.param(*x, id=x[0]) for x in members()])
def test_verdicts_alone_and_together(name, m, monkeypatch):
    """Crossings and near misses of a run, computed one by one and together."""
    together = simulate(m, 3.0, 0.05)
    shown = [*together.crossings, *together._moments[1]]
    monkeypatch.setattr(candidates, "MOST_ENTRIES", 1)
    alone = simulate(m, 3.0, 0.05)
    again = [*alone.crossings, *alone._moments[1]]
    assert shown
    assert len(shown) == len(again)
    for a, b in zip(shown, again, strict=True):
        assert type(a) is type(b)
        assert (a.rank.rank, a.rank_nearby.rank) == (b.rank.rank, b.rank_nearby.rank)
        # times of minima are found from values that are rounded at 1e-16, so within 1e-8 of a step
        assert abs(a.time - b.time) < 1e-8
        assert abs(a.value - b.value) < 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_readings_of_other_masses(seed):
    """Poses are read by rows that depend on the geometry alone: those of other masses are kept."""
    structure.forget()
    m = random_mechanism(seed, 2 + seed % 2)
    for _ in range(3):
        assert make_model(m).body_rows.names
    heavy = m.copy()
    heavy.bodies = [
        replace(b, mass=(2 + i) * b.mass, inertia=(2 + i) * b.inertia)
        for i, b in enumerate(m.bodies)
    ]
    kept = make_model(heavy).body_rows
    structure.forget()
    again = make_model(heavy).body_rows
    for name in ("centers", "vectors"):
        np.testing.assert_array_equal(getattr(kept, name).toarray(), getattr(again, name).toarray())
    np.testing.assert_array_equal(kept.starts, again.starts)
