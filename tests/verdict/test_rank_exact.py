"""Rank of the joint equations: floating point, dense and sparse, against exact arithmetic."""

import numpy as np
import pytest

from exact_rank import exact_rank, integer_joint_matrix, prime_rank, rational_rank
from grid_mechanisms import SCALE, GridMechanism
from sarrus.verdict.joint_equations import make_joint_equations
from sarrus.verdict.rank import measure_rank


def check_exact(seed):
    """Dense and sparse rank of one mechanism equal the exact one, with a wide gap."""
    m = GridMechanism(seed).make()
    m.check()
    equations = make_joint_equations(m)
    W = equations.scaled(equations.start()).matrix
    exact = exact_rank(integer_joint_matrix(m, SCALE))
    dense = measure_rank(W, equations.columns_a_body)
    swept = measure_rank(W, equations.columns_a_body, dense=0)
    assert dense.rank == exact, f"seed {seed}: {dense}, exact {exact}"
    assert swept.rank == exact, f"seed {seed}: {swept}, exact {exact}"
    assert dense.clear, f"seed {seed}: {dense}"
    return equations.rows - exact, equations.columns


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_rank_equals_exact_rank(part):
    """Rank / 600 random mechanisms of up to 50 bodies in exact arithmetic."""
    found = [check_exact(seed) for seed in range(100 * part, 100 * part + 100)]
    # the sample is worth something: dependent ones and large ones are in it
    assert sum(redundant > 0 for redundant, _ in found) > 20
    assert max(columns for _, columns in found) > 200


def test_exact_ranks_agree():
    """Elimination over the rationals / modulo a prime on random matrices of known rank."""
    rng = np.random.default_rng(5)
    for rank in range(6):
        W = rng.integers(-3, 4, (9, rank)) @ rng.integers(-3, 4, (rank, 8))
        assert rational_rank(W) == prime_rank(W, 2147483647)
