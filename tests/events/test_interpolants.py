"""Zeros and extremes of functions on intervals, against functions whose zeros are known."""

import numpy as np
import pytest

from sarrus.events import interpolants
from sarrus.events.detection import Crossings, Extremes, Place


def fit(function, start=0.0, end=1.0, count=20):
    """The interpolant of a function on one interval."""
    x = interpolants.points(count)
    times = 0.5 * (start + end) + 0.5 * (end - start) * x
    return interpolants.from_values(np.array([start]), np.array([end]), function(times)[None])


def test_extremes_of_a_chebyshev_polynomial():
    """T_9 has the extremes cos(k pi / 9), k = 1 .. 8."""
    c = np.zeros(14)
    c[9] = 1.0
    wanted = np.sort(np.cos(np.arange(1, 9) * np.pi / 9))
    # eigenvalues of a matrix of size 8 and two steps of Newton: rounding
    assert interpolants.critical_points(c) == pytest.approx(wanted, abs=1e-14)


def test_one_extreme_needs_no_eigenvalues():
    """A parabola has its vertex where it has it."""
    c = fit(lambda t: (t - 0.3) ** 2).coefficients[0]
    [x] = interpolants.critical_points(c)
    assert 0.5 * (x + 1.0) == pytest.approx(0.3, abs=1e-14)


@pytest.mark.parametrize("zero", [1e-9, 0.2, 0.5, 0.97, 1.0 - 1e-9])
def test_a_zero_is_found_to_rounding(zero):
    """exp(t) = exp(zero), wherever in the interval."""
    c = fit(lambda t: np.exp(t) - np.exp(zero)).coefficients[0]
    x = interpolants.solve_zero(c, -1.0, 1.0)
    # values have the rounding of exp, some 4e-16 over its slope of 1
    assert 0.5 * (x + 1.0) == pytest.approx(zero, abs=2e-15)


def test_gaps_between_intervals_are_closed():
    """What jumps by 1e-10 is continuous afterwards, and a hole stays one."""
    starts, ends = np.array([0.0, 1.0, 3.0]), np.array([1.0, 2.0, 4.0])
    coefficients = np.array([[0.0, 1.0, 0.1], [1.1 + 1e-10, 0.5, 0.5], [7.0, 1.0, 1.0]])
    closed = interpolants.Interpolants(starts, ends, coefficients).close_gaps()
    assert closed.at_end[0] == pytest.approx(closed.at_start[1], abs=1e-15)
    assert closed.at_end[1] == pytest.approx(2.1 + 1e-10, abs=1e-14)


def test_bounds_do_not_exclude_what_is_there():
    """Of random interpolants: one that is said not to vanish, or to be monotone, does not on a fine grid."""
    rng = np.random.default_rng(5)
    c = rng.normal(size=(400, 8)) * 0.4 ** np.arange(8) + [3.0, *[0.0] * 7] * rng.random((400, 1))
    grid = np.polynomial.chebyshev.chebvander(np.linspace(-1, 1, 301), 7)
    values = c @ grid.T
    keeps = ~interpolants.may_vanish(c, np.zeros(400))
    assert keeps.any()
    assert (np.abs(values[keeps]).min(axis=1) > 0).all()
    monotone = interpolants.are_monotone(c)
    steps = np.diff(values[monotone], axis=1)
    assert monotone.any()
    assert ((steps > 0).all(axis=1) | (steps < 0).all(axis=1)).all()


def read(detector, values, band=1e-3):
    """Kinds and times of what a detector finds in places one second apart."""
    found = []
    for t, value in enumerate(values):
        found += list(
            detector.read(
                Place(float(t), abs(value), band, 1.0, True)
                if value == 0
                else Place(float(t), value, band)
            )
        )
    found += list(detector.finish())
    return [(f.kind, f.place.time) for f in found]


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([-1, 0, 1], [("rising", 1)]),
        ([1, 0, -1, 0, 1], [("falling", 1), ("rising", 3)]),
        # two zeros with less than the band between them are one contact
        ([1, 0, -1e-4, 0, 1], [("tangent", 2)]),
        ([1, 1e-4, 1], [("tangent", 1)]),
        ([1, 1e-2, 1], []),
        # the start is not an event, nor what happens before the band is left
        ([0, 1], []),
        ([1e-4, 0, -1, 0, 1], [("rising", 3)]),
        # three zeros that rounding makes of one
        ([-1, 0, 1e-6, 0, -1e-6, 0, 1], [("rising", 3)]),
        # the run ends at a zero, or on its way
        ([-1, 0], [("rising", 1)]),
        ([-1, -1e-4], []),
        ([-1, -1e-4, -2e-4], [("tangent", 1)]),
        # one that settles inside the band has to leave it again, whatever rounding makes of it
        ([-1, 0, *[1e-6, 0, -1e-6, 0] * 40], []),
        ([-1, *[1e-6] * 100, 1, 0, -1], [("falling", 102)]),
    ],
)  # fmt: skip
def test_crossings(values, wanted):
    """Zeros by the signs outside of the band before and after them."""
    assert read(Crossings(), values) == wanted


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([1, 2, 1], [("maximum", 1)]),
        ([3, 2, 1, 2, 3, 2], [("minimum", 2), ("maximum", 4)]),
        # smaller swings than the band are none
        ([1, 2, 1.9999, 2.5, 1], [("maximum", 3)]),
        ([1, 2, 3], []),
        ([1, 1, 1.0001], []),
        # a flat one is one
        ([1, *[2] * 63, 1], [("maximum", 1)]),
        ([1, *[2] * 100, 1], [("maximum", 66)]),
    ],
)
def test_extremes(values, wanted):
    """Extremes from which the function leaves by more than the band on both sides."""
    assert read(Extremes(), values) == wanted
