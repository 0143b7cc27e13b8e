"""Zeros and extremes of functions on intervals, against functions whose zeros are known."""

import numpy as np
import pytest

from sarrus.events import interpolants
from sarrus.kernels import event_zeros as zeros

KINDS = {zeros.TANGENT: "tangent", zeros.MAXIMUM: "maximum", zeros.MINIMUM: "minimum"}


def fit(function, start=0.0, end=1.0, count=20):
    """Bernstein coefficients of the interpolant of a function on one interval, (1, count)."""
    x = interpolants.points(count)
    times = 0.5 * (start + end) + 0.5 * (end - start) * x
    read = interpolants.from_values(np.array([start]), np.array([end]), function(times)[None])
    return read.bernstein()


def locate(b, band=0.0, starts=(0.0,), ends=(1.0,), extremes=zeros.NONE, room=64):
    """Times of the events of functions on intervals, and their number."""
    b = np.atleast_2d(b)
    d = zeros.make_detector(0, b.shape[1], room)
    known, bands = np.zeros(len(b), np.int64), np.full(len(b), band)
    work = np.zeros((2, b.shape[1]))
    ends_of = np.array(starts), np.array(ends)
    count = zeros.search_intervals(d, *ends_of, b, known, bands, extremes, *work)
    return d.found[:count, zeros.TIME].tolist()


@pytest.mark.slow
def test_bernstein_coefficients_of_powers():
    """1 + s - 3 s^3 + s^5 at its ends, and at a point by de Casteljau's scheme."""
    b = interpolants.from_powers(6) @ [1.0, 1.0, 0.0, -3.0, 0.0, 1.0]
    assert b[[0, -1]] == pytest.approx([1.0, 0.0], abs=1e-15)
    value, slope = zeros.eval_bernstein(b, 5, 0.3, np.zeros(6))
    # some roundings of numbers of the size 1
    assert value == pytest.approx(1.3 - 3 * 0.3**3 + 0.3**5, abs=2e-15)
    assert slope == pytest.approx(1.0 - 9 * 0.3**2 + 5 * 0.3**4, abs=1e-14)


def test_extremes_of_a_chebyshev_polynomial():
    """T_9 has the extremes cos(k pi / 9), k = 1 .. 8, and the zeros cos((k - 1/2) pi / 9)."""
    b = fit(lambda t: np.cos(9 * np.arccos(2 * t - 1)), count=20)
    wanted = 0.5 + 0.5 * np.sort(np.cos(np.arange(1, 9) * np.pi / 9))
    # coefficients of the size 2^9 have the rounding 1e-13
    assert locate(b, band=1e-9, extremes=zeros.OF_VALUES) == pytest.approx(
        wanted.tolist(), abs=1e-12
    )
    wanted = 0.5 + 0.5 * np.sort(np.cos((np.arange(1, 10) - 0.5) * np.pi / 9))
    assert locate(b) == pytest.approx(wanted.tolist(), abs=1e-12)


@pytest.mark.parametrize("zero", [1e-9, 0.2, 0.5, 0.97, 1.0 - 1e-9])
def test_a_zero_is_found_to_rounding(zero):
    """exp(t) = exp(zero), wherever in the interval."""
    [found] = locate(fit(lambda t: np.exp(t) - np.exp(zero)))
    # values have the rounding of exp, some 4e-16 over its slope of 1, and of twenty coefficients
    assert found == pytest.approx(zero, abs=5e-15)


def test_gaps_between_intervals_are_closed():
    """A zero in the gap between two intervals is found, and one next to a gap only once; a hole is not closed."""
    starts, ends = (0.0, 1.0), (1.0, 2.0)
    line = np.linspace(0.0, 1.0, 4)
    assert locate([line - 1.0 - 1e-10, line + 1e-10], starts=starts, ends=ends) == [
        pytest.approx(1.0, abs=1e-9)
    ]
    assert locate([line - 1.0 + 1e-10, line - 1e-10], starts=starts, ends=ends) == [
        pytest.approx(1.0, abs=1e-9)
    ]
    assert locate([line - 1.5, line + 0.5], starts=(0.0, 3.0), ends=(1.0, 4.0)) == []


def test_none_is_lost_of_random_polynomials():
    """Products of random factors: all zeros on the interval, and there is room for more than expected."""
    rng = np.random.default_rng(5)
    for degree in (3, 8, 15):
        for _ in range(20):
            roots = np.sort(rng.uniform(-0.3, 1.3, degree))
            inside = roots[(roots > 0.0) & (roots < 1.0)]
            x = interpolants.points(20)
            values = np.prod((0.5 + 0.5 * x)[:, None] - roots, axis=1)
            read = interpolants.from_values(
                np.zeros(1), np.ones(1), values[None] / np.abs(values).max()
            )
            # zeros of such polynomials move by their rounding over their slope, which may be small
            assert locate(read.bernstein(), room=2)[:2] == pytest.approx(inside[:2], abs=1e-4)
            assert len(locate(read.bernstein())) == len(inside)


def test_a_triple_zero_is_one():
    """(t - 0.4)^3 has one zero and no extreme, and its derivative a double zero."""
    b = fit(lambda t: (t - 0.4) ** 3, count=20)
    # the third root of rounding
    assert locate(b, band=1e-13) == [pytest.approx(0.4, abs=1e-4)]
    assert locate(b, band=1e-13, extremes=zeros.OF_VALUES) == []


def read(extremes, values, band=1e-3):
    """Kinds and times of what a detector finds in places one second apart."""
    d = zeros.make_detector(0, 4, 100)
    for t, value in enumerate(values):
        is_zero = value == 0
        zeros.read_place(
            d,
            extremes,
            float(t),
            abs(float(value)) if is_zero else float(value),
            band,
            1.0,
            is_zero,
            0.0,
        )
    zeros.finish_search(d, extremes, 1e-9)
    found = d.found[: int(d.state[zeros.COUNT])]
    return [
        (KINDS.get(f[zeros.KIND]) or ("rising" if f[zeros.SIGN] < 0 else "falling"), f[zeros.TIME])
        for f in found
    ]


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
        ([-1, -1e-4, 1e-10], [("rising", 2)]),
        ([-1, -1e-4, 0, 1e-4], [("rising", 2)]),
        # it is zero to rounding before the end, too: it has settled
        ([-1, -1e-4, 1e-10, -1e-10], []),
        ([-1, -1e-4, 1e-10, 0, -1e-10], []),
        ([-1, -1e-4], []),
        ([-1, -1e-4, -2e-4], [("tangent", 1)]),
        # one that settles inside the band has to leave it again, whatever rounding makes of it
        ([-1, 0, *[1e-6, 0, -1e-6, 0] * 40], []),
        ([-1, *[1e-6] * 100, 1, 0, -1], [("falling", 102)]),
    ],
)  # fmt: skip
def test_crossings(values, wanted):
    """Zeros by the signs outside of the band before and after them."""
    assert read(False, values) == wanted


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
    assert read(True, values) == wanted
