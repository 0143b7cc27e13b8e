"""Closing of gaps for equations with known closed configurations: regular, redundant, singular, impossible."""

import numpy as np
import pytest
from scipy import sparse

from sarrus.kinematics.gap_closing import lower_gaps, project_out, solve_damped


def close(start, gaps, rates, **more):
    """Positions are plain vectors."""
    start = np.array(start, dtype=float)
    return lower_gaps(start, lambda x: (gaps(x), rates(x)), np.add, **more)


def circle(x):
    """The unit circle."""
    return np.array([x @ x - 1.0])


def circle_rates(x):
    return 2.0 * x[None]


def test_a_regular_position_closes_to_rounding():
    """From any point to the circle; the nearest point of it lies on the ray, to the order of the way squared."""
    found = close((0.9, 0.5), circle, circle_rates)
    assert found.size < 1e-15
    assert found.steps < 12
    ray = np.array([0.9, 0.5]) / np.hypot(0.9, 0.5)
    assert found.position == pytest.approx(ray, abs=1e-3)


def test_a_closed_position_stays_to_the_last_bit():
    """No step is taken where there is no gap, nor where it is small enough."""
    found = close((1.0, 0.0), circle, circle_rates)
    assert found.steps == 0
    assert np.array_equal(found.position, [1.0, 0.0])
    assert close((1.0 + 1e-9, 0.0), circle, circle_rates, enough=1e-8).steps == 0


def test_redundant_equations_close_as_fast():
    """The same equation three times, once scaled: dependent everywhere, and so closed like one."""
    weights = np.array([1.0, 1.0, -2.5])
    found = close((0.9, 0.5), lambda x: weights * circle(x), lambda x: np.outer(weights, 2.0 * x))
    assert found.size < 1e-15
    assert found.steps < 12


def test_a_double_root_is_found_to_half_the_digits():
    """x^2 = 0 and y = 0: Newton halves x each step; the gap is rounding, x its root."""
    found = close(
        (0.05, 0.3),
        lambda x: np.array([x[0] ** 2, x[1]]),
        lambda x: np.array([[2.0 * x[0], 0.0], [0.0, 1.0]]),
        enough=1e-16,
    )
    assert found.size <= 1e-16
    assert abs(found.position[0]) < 1e-7
    assert found.steps < 80


def test_at_a_crossing_of_two_lines():
    """x y = 0: closed on one of the lines, near the start, although the rates vanish where they meet."""
    found = close((1e-3, 2e-3), lambda x: np.array([x[0] * x[1]]), lambda x: x[None, ::-1])
    assert found.size < 1e-16
    assert np.abs(found.position).max() < 3e-3


def test_where_nothing_closes_gaps_are_least():
    """x = 0 and x = 1: the least sum of squares, 1/2, is at 1/2; and a circle next to a line 2 away."""
    found = close((0.1,), lambda x: np.array([x[0], x[0] - 1.0]), lambda x: np.ones((2, 1)))
    # a sum of squares shows its minimum to half the digits
    assert found.position == pytest.approx([0.5], abs=1e-7)
    apart = close(
        (0.6, 0.5),
        lambda x: np.array([np.hypot(*x) - 1.0, x[0] - 3.0]),
        lambda x: np.array([x / np.hypot(*x), [1.0, 0.0]]),
    )
    # (x - 1)^2 + (x - 3)^2 is least at (2, 0); with gaps so large the last digits come slowly
    assert apart.gaps @ apart.gaps == pytest.approx(2.0, rel=1e-6)
    assert apart.position == pytest.approx([2.0, 0.0], abs=1e-3)


def test_a_narrow_bent_valley():
    """The curve y = x^2, stiffly, and x = 1 weakly: steps leave the valley's floor, and still arrive."""
    k = 1e-4
    found = close(
        (0.0, 0.0),
        lambda x: np.array([x[1] - x[0] ** 2, k * (x[0] - 1.0)]),
        lambda x: np.array([[-2.0 * x[0], 1.0], [k, 0.0]]),
    )
    assert found.size < 1e-15
    assert found.steps < 40
    assert found.position == pytest.approx([1.0, 1.0], abs=1e-10)


def test_weak_directions_stay():
    """Nothing moves along a direction whose rates are below a share of the largest."""
    W = np.diag([1.0, 1e-7])
    found = close((1.0, 1.0), lambda x: W @ x, lambda x: W, weak=1e-5)
    assert found.position[0] == pytest.approx(0.0, abs=1e-15)
    assert found.position[1] == 1.0


def test_gaps_that_are_no_numbers_end_the_search():
    """The start is handed back; nobody takes it for closed."""
    found = close((2.0,), lambda x: np.array([np.nan]), lambda x: np.eye(1))
    assert found.position == 2.0
    assert not found.size < 1.0


@pytest.mark.parametrize("columns", [30, 240])
@pytest.mark.parametrize("mu", [1e-3, 0.5])
def test_damped_least_squares_solve_the_normal_equations(columns, mu):
    """W^T (W d + g) + mu (x + d) = 0, dense and sparse; dependent rows too."""
    rng = np.random.default_rng(columns)
    W = sparse.random_array((columns + 5, columns), density=0.1, rng=rng).toarray()
    W[-1] = W[0]
    g, x = rng.normal(size=len(W)), rng.normal(size=columns)
    for given in (None, x):
        d = solve_damped(sparse.csr_array(W), g, mu, given)
        left = W.T @ (W @ d + g) + mu * (d + (0.0 if given is None else x))
        assert np.abs(left).max() < 1e-8


@pytest.mark.parametrize("columns", [30, 240])
def test_what_is_left_of_a_velocity_is_allowed_and_nearest(columns):
    """W y = 0, and y - x is a combination of rows; dense and sparse."""
    rng = np.random.default_rng(columns)
    W = rng.normal(size=(columns // 3, columns)) * (rng.uniform(size=(columns // 3, columns)) < 0.2)
    W[-1] = W[0] + W[1]
    x = rng.normal(size=columns)
    y = project_out(sparse.csr_array(W), x, 1e-9)
    assert np.abs(W @ y).max() < 1e-11
    rows = np.linalg.lstsq(W.T, x - y, rcond=None)[0]
    assert np.abs(W.T @ rows - (x - y)).max() < 1e-11
