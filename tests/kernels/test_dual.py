"""Dual numbers: kernels on them give the derivatives of what they compute, by the same text."""

import numpy as np
import pytest

from sarrus.kernels.compiler import COMPILES, entry
from sarrus.kernels.double_double import rounded
from sarrus.kernels.dual import (
    RATES,
    inverse_parts,
    is_dual,
    larger_parts,
    largest_part,
    make_duals,
    with_value,
)

pytestmark = pytest.mark.skipif(not COMPILES, reason="duals exist in compiled code only")


@entry
def fill_formulas(x, out):
    """Every operation that duals have."""
    for i in range(len(x)):
        a = x[i] * x[i] / (2.0 + x[i]) - 3.0 / x[i] + x[i] / 3.0
        b = np.sqrt(x[i]) * np.sin(x[i]) - np.cos(2.0 * x[i])
        c = np.arctan2(x[i], 1.0 - x[i]) + abs(-x[i]) + max(x[i], 0.5) - min(x[i], 0.5)
        out[i] = a + b + c + x[i] ** 3


def plain(x):
    """The same of floats."""
    a = x * x / (2 + x) - 3 / x + x / 3
    b = np.sqrt(x) * np.sin(x) - np.cos(2 * x)
    c = np.arctan2(x, 1 - x) + abs(-x) + np.maximum(x, 0.5) - np.minimum(x, 0.5)
    return a + b + c + x**3


def test_derivatives_of_formulas():
    """Against differences of fourth order, which leave 1e-9 where 1 / x is large."""
    values = np.array([0.2, 0.7, 1.9, 3.3])
    rates = np.random.default_rng(0).normal(size=(4, RATES))
    out = make_duals(np.zeros(4))
    fill_formulas(make_duals(values, rates), out)
    h = 1e-3
    slope = (
        8 * (plain(values + h) - plain(values - h)) - (plain(values + 2 * h) - plain(values - 2 * h))
    ) / (12 * h)  # fmt: skip
    np.testing.assert_allclose(out["value"], plain(values), rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(out["rates"], slope[:, None] * rates, rtol=1e-8)


@entry
def fill_words(x, weights, out, sizes):
    """The words for duals."""
    out[0] = with_value(x[0], 5.0)
    out[1] = larger_parts(x[0], x[1])
    out[2] = inverse_parts(x[1])
    sizes[0] = largest_part(x[0], weights[0])
    sizes[1] = rounded(x[0] * x[1])
    sizes[2] = 1.0 if is_dual(x) else 0.0
    sizes[3] = 1.0 if is_dual(sizes) else 0.0


def test_words():
    """Operations of kernels on dual numbers; comparisons and stores among doubles look at the value alone."""
    x = make_duals(np.array([2.0, -4.0]), np.array([[-9.0, 1.0, 0.5], [3.0, -7.0, 0.25]]))
    weights = make_duals(np.ones(1), np.array([[0.1, 1.0, 1.0]]))
    out, sizes = make_duals(np.zeros(3)), np.zeros(4)
    fill_words(x, weights, out, sizes)
    assert out["value"].tolist() == [5.0, 4.0, -0.25]
    assert out["rates"][0].tolist() == [-9.0, 1.0, 0.5]
    assert out["rates"][1].tolist() == [9.0, 7.0, 0.5]
    np.testing.assert_allclose(out["rates"][2], [1 / 3, -1 / 7, 4.0])
    assert sizes.tolist() == [2.0, -8.0, 1.0, 0.0]
