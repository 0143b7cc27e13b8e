"""The parts of the model builder, each against its own property."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sarrus import problems
from sarrus.model import make_model, order
from sarrus.model.order import make_factor
from sarrus.model.quadratic import Entries, light_coordinates
from sarrus.model.reduce import Reduction
from sarrus.thresholds import NO_MASS


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6))
def test_reduction_spans_the_null_space(seed):
    """x = T q solves all relations, and T has as many columns as the relations leave free."""
    rng = np.random.default_rng(seed)
    n, m = 8, int(rng.integers(1, 7))
    A = rng.integers(-2, 3, (m, n)).astype(float)
    A[-1] = A[0] - 2 * A[m // 2]  # a relation that depends on others
    reduction = Reduction(n)
    for row in A:
        reduction.eliminate({i: c for i, c in enumerate(row) if c}, prefer=(0, 1))
    free = reduction.number(range(n))
    T = np.zeros((n, free))
    for i in range(n):
        for j, c in reduction.coordinates({i: 1.0}).items():
            T[i, j] = c
    assert free == n - np.linalg.matrix_rank(A)
    # small whole numbers: a few divisions by pivots of order one
    assert np.abs(A @ T).max(initial=0.0) < 1e-10
    assert np.linalg.matrix_rank(T) == free


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6))
def test_order_puts_constraints_after_their_coordinates_and_holds_all_fill(seed):
    """Elimination in the order found creates no entry outside the pattern found."""
    rng = np.random.default_rng(seed)
    nq, nc = int(rng.integers(2, 8)), int(rng.integers(1, 6))
    n = nq + nc
    K = np.zeros((n, n))
    K[:nq, :nq] = np.diag(rng.uniform(1, 2, nq))
    for _ in range(nq):
        i, j = rng.integers(0, nq, 2)
        K[i, j] = K[j, i] = K[i, j] + 0.1 * (i != j)
    for k in range(nq, n):
        columns = rng.choice(nq, size=min(2, nq), replace=False)
        K[k, columns] = K[columns, k] = rng.uniform(0.5, 1, len(columns))
        K[k, k] = -1e-3
    factor = make_factor(n, np.array(np.nonzero(K)), nq)
    for k in range(nq, n):
        assert all(factor.position[i] < factor.position[k] for i in np.flatnonzero(K[k, :nq]))
    order = np.argsort(factor.position)
    L = K[np.ix_(order, order)].copy()
    for j in range(n):
        rows = set(factor.rows[factor.start[j] : factor.start[j + 1]])
        # every entry below the pivot, original or fill, has its place
        assert set(np.flatnonzero(np.abs(L[j + 1 :, j]) > 1e-14) + j + 1) <= rows
        L[j + 1 :, j + 1 :] -= np.outer(L[j + 1 :, j], L[j, j + 1 :]) / L[j, j]


@pytest.mark.parametrize("seed", range(60))
def test_many_unknowns_are_ordered_as_few(monkeypatch, seed):
    """Compiled code finds the order and pattern of the plain text, to every number; with early equations, too."""
    rng = np.random.default_rng(seed)
    nq, nc = int(rng.integers(1, 60)), int(rng.integers(0, 40))
    count = int(rng.integers(0, 3 * nq))
    mass, held = rng.integers(0, nq, (2, count)), rng.integers(0, nq, (2, max(nc, 1)))
    equations = nq + np.arange(max(nc, 1)) if nc else np.zeros(0, int)
    pairs = [mass, *(np.array([equations, row[: len(equations)]]) for row in held)]
    early = {nq + int(k) for k in rng.integers(0, nc, 3)} if nc and seed % 2 else set()
    found = []
    for many in (10**9, 0):
        monkeypatch.setattr(order, "MANY", many)
        found.append(make_factor(nq + nc, np.hstack(pairs), nq, early))
    for name in ("position", "start", "rows", "target"):
        assert np.array_equal(*(getattr(x, name) for x in found)), name


def test_an_entry_outside_the_pattern_is_an_error():
    """A slip in the assembly must not land in another entry."""
    factor = make_factor(3, np.array([[0], [1]]), 3)
    with pytest.raises(IndexError, match="pattern"):
        factor.entries([0], [2])


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6))
def test_light_coordinates_count_the_null_space(seed):
    """As many pivots of a semidefinite matrix vanish as it has null directions."""
    rng = np.random.default_rng(seed)
    n, rank = 7, int(rng.integers(0, 8))
    F = rng.integers(-2, 3, (n, rank)).astype(float)
    M = F @ F.T
    rows, columns = np.nonzero(M)
    light = light_coordinates(Entries(rows, columns, M[rows, columns]), n, NO_MASS)
    assert sum(light) == n - np.linalg.matrix_rank(M, tol=1e-9)


@pytest.mark.parametrize("section", [3e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2])
def test_rods_with_a_small_section_are_as_exact_as_others(section):
    """A tiny inertia about the rod's axis costs no digits: P2 within 1e-8, as for any section."""
    from sarrus import simulate

    problem = problems.get("rectangular-bricard", section=section)
    result = simulate(problem.mechanism(), 10.0, 0.05)
    assert result.status == "done"
    assert result.counters["relaxed_steps"] == 0
    assert np.abs(result.position("P2") - problem.reference(result.times)[:, :3]).max() < 1e-8


def test_a_chain_of_loops_fills_its_factor_linearly():
    """Twice the windows, twice the entries of L, within the ends' share."""
    sizes = [
        len(make_model(problems.get("n-four-bar", windows=n).mechanism()).form.L_row)
        for n in (40, 80, 160)
    ]
    assert (sizes[2] - sizes[1]) == pytest.approx(2 * (sizes[1] - sizes[0]), rel=0.02)


def test_early_equations_come_before_those_they_meet():
    """In the order of elimination driven equations follow their coordinates and precede the others."""
    # coordinates 0 to 2; equation 3 of 0 and 1, 4 of 1, 5 of 2
    pairs = np.array([[0, 1, 1, 2], [3, 3, 4, 5]])
    plain = make_factor(6, pairs, 3).position
    early = make_factor(6, pairs, 3, {4}).position
    assert plain[3] < plain[4]
    assert early[1] < early[4] < early[3]
    assert early[0] < early[3]
