"""Rank of the joint equations: floating point, dense and sparse, against exact arithmetic."""

import numpy as np
import pytest

from exact_rank import exact_rank, integer_joint_matrix, prime_rank, rational_rank
from grid_mechanisms import SCALE, GridMechanism, GridOfAllJoints
from sarrus.verdict.joint_equations import make_joint_equations
from sarrus.verdict.rank import measure_rank


def check_exact(m):
    """Dense and sparse rank of one mechanism equal the exact one, with a wide gap."""
    seed = m.name
    m.check()
    equations = make_joint_equations(m)
    W = equations.scaled(equations.start()).matrix
    exact = exact_rank(integer_joint_matrix(m, SCALE))
    dense = measure_rank(W, equations.columns_a_body)
    swept = measure_rank(W, equations.columns_a_body, dense=0)
    assert dense.rank == exact, f"{seed}: {dense}, exact {exact}"
    assert swept.rank == exact, f"{seed}: {swept}, exact {exact}"
    assert dense.clear, f"{seed}: {dense}"
    return equations.rows - exact, equations.columns


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_rank_equals_exact_rank(part):
    """Rank / 600 random mechanisms of up to 50 bodies in exact arithmetic."""
    seeds = range(100 * part, 100 * part + 100)
    found = [check_exact(GridMechanism(seed).make()) for seed in seeds]
    # the sample is worth something: dependent ones and large ones are in it
    assert sum(redundant > 0 for redundant, _ in found) > 20
    assert max(columns for _, columns in found) > 200


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_rank_of_all_joints_equals_exact_rank(part):
    """Rank / 200 random mechanisms with every kind of joint and drives in exact arithmetic."""
    made = [GridOfAllJoints(seed).make() for seed in range(100 * part, 100 * part + 100)]
    found = [check_exact(m) for m in made]
    assert sum(redundant > 0 for redundant, _ in found) > 20
    assert len({(m.dimension, j.kind) for m in made for j in m.joints}) == 15
    assert sum(len(m.drives) for m in made) > 50


def test_exact_ranks_agree():
    """Elimination over the rationals / modulo a prime on random matrices of known rank."""
    rng = np.random.default_rng(5)
    for rank in range(6):
        W = rng.integers(-3, 4, (9, rank)) @ rng.integers(-3, 4, (rank, 8))
        assert rational_rank(W) == prime_rank(W, 2147483647)
