"""Reference motion of the Bricard linkage against published numbers, mpmath and mechanics."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarrus.problems.references.bricard import (
    _solve_series,
    bricard_chain,
    bricard_inertia,
    bricard_reference,
)


def bricard_period(section):
    """Time from rest at the start back to rest at the start [s], of a linkage of 1 m and 1 kg."""
    return 2.0 * np.pi * float(_solve_series(section, 9.81, 1.0, 1.0)[0])


# points P2 at 1, 2, .. 10 s from an independent computation (benchmark atlas, section 5)
THIN = np.array(
    [
        [0.2733339158, -0.8865440008, -0.4626442852],
        [-0.7799472278, -0.9806356304, -0.1958411609],
        [-0.7686064616, -0.9788410572, -0.2046220536],
        [0.2883299203, -0.8887290082, -0.4584329285],
        [0.9998161187, -0.9999999831, -0.0001838644],
        [0.2583085221, -0.8844482160, -0.4666383537],
        [-0.7910781126, -0.9823413088, -0.1870977099],
        [-0.7570629883, -0.9769588361, -0.2134278159],
        [0.3032943476, -0.8909984890, -0.4540062694],
        [0.9992646101, -0.9999997298, -0.0007351195],
    ]
)
SQUARE = np.array(
    [
        [0.2744813193, -0.8867079387, -0.4623300027],
        [-0.7781353730, -0.9803526834, -0.1972526706],
        [-0.7712813590, -0.9792693298, -0.2025625327],
        [0.2835510791, -0.8880228141, -0.4597993928],
        [0.9999327423, -0.9999999977, -0.0000672554],
        [0.2654007874, -0.8854255620, -0.4647812110],
        [-0.7849130566, -0.9814035823, -0.1919557468],
        [-0.7643526022, -0.9781537944, -0.2078825497],
        [0.2926095861, -0.8893691433, -0.4571898150],
        [0.9997309873, -0.9999999638, -0.0002689765],
    ]
)

# rows t, x, y, z recovered from the published A04 curve (MBS Benchmark, thin rods), six digits
A04_ROWS = np.array(
    [
        [0.2, 0.961273, -0.999279, -0.0379769],
        [0.6, 0.686428, -0.964411, -0.2644080],
        [9.4, 0.711427, -0.969032, -0.2469360],
        [9.8, 0.971054, -0.999593, -0.0285268],
    ]
)

# central difference of order eight for a first derivative
OFFSETS = np.array([-4, -3, -2, -1, 1, 2, 3, 4])
WEIGHTS = np.array([3, -32, 168, -672, 672, -168, 32, -3]) / 840.0

# the linkage exists for sin(a) >= -1/2
angles = st.floats(-0.5, np.pi + 0.5)
sections = st.floats(0.0, 1.0)


def closed_inertia(S, section):
    """M(a) as a rational function of S = sin(a), worked out by computer algebra."""
    omega2 = 3 * (3 + 3 * S + 2 * S**2) * (1 + S)
    spin2 = 3 + 6 * S + 5 * S**2 + 2 * S**3 + 2 * S**4
    centres2 = (9 + 18 * S + 11 * S**2 + 2 * S**3 - S**4) / 2
    rotation = (1 + section**2) / 12 * (omega2 - spin2) + section**2 / 6 * spin2
    return (centres2 + rotation) / ((1 + S) ** 2 * (1 + 2 * S))


def exact_time(section, a):
    """Time from rest at 0 to the angle a <= pi/2 by quadrature in u = sqrt(a), and a' there."""

    def slope(u):
        S = mp.sin(u * u)
        drop = mp.mpf(9.81) * (mp.sqrt(1 + 2 * S) * (3 + S) / (1 + S) - 3)
        return 2 * u * mp.sqrt(closed_inertia(S, mp.mpf(section)) / (2 * drop))

    end = mp.sqrt(a)
    return mp.quad(slope, [0, end], method="gauss-legendre"), 2 * end / slope(end)


def exact_angle(section, t, guess):
    """Angle and its rate at time t; guess is the acute angle, good to a few digits."""
    quarter, _ = exact_time(section, mp.pi / 2)
    phase = mp.mpf(t) % (4 * quarter)
    # fold all four quarters of the motion onto the first one
    returning = phase > 2 * quarter
    phase = 4 * quarter - phase if returning else phase
    beyond = phase > quarter
    phase = 2 * quarter - phase if beyond else phase
    a = mp.mpf(guess)
    for _ in range(3):
        time, rate = exact_time(section, a)
        a += (phase - time) * rate
    rate = exact_time(section, a)[1]
    return mp.pi - a if beyond else a, -rate if returning else rate


def exact_row(a, rate):
    """P2 and its velocity from the angle a and its rate."""
    S, C = mp.sin(a), mp.cos(a)
    p, q = 1 + S, mp.sqrt(1 + 2 * S)
    S_rate = C * rate
    return [C / p, -q / p, -S / p, -rate / p, S * S_rate / (q * p**2), -S_rate / p**2]


def potential(points):
    """Sum of g y over the middles of the five rods of 1 kg."""
    middles = 0.5 * (points[..., 1:, 1] + points[..., :-1, 1])
    return 9.81 * middles.sum(axis=-1)


@given(a=angles)
def test_chain_closes(a):
    """The chain of five rods ends at the ground joint P5 with its axis along x."""
    points, axes = bricard_chain(a)
    # five products of rotation matrices: some ten roundings; sin(b) is steep near -pi/6
    np.testing.assert_allclose(points[5], [0, 0, 1], atol=1e-14)
    np.testing.assert_allclose(axes[5], [1, 0, 0], atol=1e-14)
    np.testing.assert_allclose(axes[0], [0, 1, 0], atol=0)


@given(a=angles)
def test_chain_geometry(a):
    """Rods have length 1 and meet both their joint axes and each other's axes at right angles."""
    points, axes = bricard_chain(a)
    rods = np.diff(np.vstack([points, points[:1]]), axis=0)
    following = np.roll(axes, -1, axis=0)
    np.testing.assert_allclose(np.linalg.norm(rods, axis=1), 1.0, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(axes, axis=1), 1.0, atol=1e-14)
    for u, v in [(rods, axes), (rods, following), (axes, following)]:
        np.testing.assert_allclose(np.sum(u * v, axis=1), 0.0, atol=1e-14)


def test_chain_start():
    """At a = 0 the joints and axes are those of the problem statement."""
    points, axes = bricard_chain(0.0)
    expected = [[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]]
    assert np.array_equal(points, expected)
    assert np.array_equal(axes, np.eye(3)[[1, 2, 0, 1, 2, 0]])


@given(a=angles)
def test_chain_potential(a):
    """The heights of the chain give V = -g q (3 + S)/(1 + S)."""
    S = np.sin(a)
    expected = -9.81 * np.sqrt(1 + 2 * S) * (3 + S) / (1 + S)
    assert abs(potential(bricard_chain(a)[0]) - expected) < 4e-13


@given(a=st.floats(-0.4, np.pi + 0.4), section=sections)
def test_inertia_closed_form(a, section):
    """The sum over rods equals the rational function of sin(a)."""
    expected = closed_inertia(np.sin(a), section)
    # both divide by 1 + 2 sin(a) > 0.2, so a few roundings grow by ten
    assert abs(bricard_inertia(a, section) / expected - 1.0) < 2e-14


@pytest.mark.parametrize("section", [0.0, 0.1, 0.7])
def test_inertia_from_moving_points(section):
    """Differences of joint points and axes along a give the same M(a), without rotation rates."""
    h = 0.01
    a = np.linspace(0.2, np.pi - 0.2, 9)
    points, axes = bricard_chain(a[:, None] + h * OFFSETS)
    first = axes[..., :5, :]
    second = np.cross(np.diff(points, axis=-2), first)
    v, first_dot, second_dot = (
        np.einsum("j,ij...->i...", WEIGHTS, field) / h for field in (points, first, second)
    )
    left, right = v[:, :-1], v[:, 1:]
    rods = np.sum(left**2 + left * right + right**2, axis=-1) / 3.0
    thickness = section**2 / 12.0 * np.sum(first_dot**2 + second_dot**2, axis=-1)
    # truncation (h/0.7)^8 and rounding of the points over h
    np.testing.assert_allclose(
        bricard_inertia(a, section), np.sum(rods + thickness, axis=-1), rtol=2e-12
    )


@pytest.mark.parametrize(
    ("section", "at_start", "at_middle"),
    # effective inertia at a = 0 and pi/2 (benchmark atlas, section 5)
    [(0.0, 5.0, 1.8333333333), (0.1, 5.01, 1.8379166667)],
)
def test_atlas_inertia(section, at_start, at_middle):
    """The effective inertia has the tabulated values, to half a unit of the last decimal."""
    values = bricard_inertia([0.0, np.pi / 2], section)
    np.testing.assert_allclose(values, [at_start, at_middle], atol=0.6e-10, rtol=0)


@pytest.mark.parametrize(("section", "expected"), [(0.0, THIN), (0.1, SQUARE)])
def test_atlas_table(section, expected):
    """The tabulated points come out, to half a unit of the last decimal."""
    rows = bricard_reference(np.arange(1.0, 11.0), section)
    assert np.abs(rows[:, :3] - expected).max() < 0.6e-10


def test_published_a04_curve():
    """Thin rods meet the published A04 curve to its six digits, square rods do not."""
    thin = bricard_reference(A04_ROWS[:, 0], 0.0)[:, :3]
    square = bricard_reference(A04_ROWS[:, 0], 0.1)[:, :3]
    assert np.abs(thin - A04_ROWS[:, 1:]).max() < 1e-6
    assert np.abs(square - A04_ROWS[:, 1:]).max() > 1e-3


@pytest.mark.parametrize(("section", "tabulated"), [(0.0, 4.986308605), (0.1, 4.991711510)])
def test_period(section, tabulated):
    """The period equals a quadrature at 40 digits, and the atlas to eight decimals."""
    with mp.workdps(40):
        quarter, _ = exact_time(section, mp.pi / 2)
        # two roundings of a number near 5
        assert abs(mp.mpf(bricard_period(section)) - 4 * quarter) < 2e-15
    # the ninth decimal there is off by four: it is no more than a rough check
    assert abs(bricard_period(section) - tabulated) < 5e-9


@pytest.mark.slow
@pytest.mark.parametrize("section", [0.0, 0.1])
@pytest.mark.parametrize("t", [0.05, 1.7, 3.3, 4.9, 599.9, 1234.5, 2000.0])
def test_motion_mpmath(section, t):
    """Position and velocity equal those of the quadrature at 40 digits, up to 2000 s."""
    row = bricard_reference([t], section)[0]
    guess = np.arcsin(-row[2] / (1.0 + row[2]))
    with mp.workdps(40):
        exact = exact_row(*exact_angle(section, t, guess))
        error = max(abs(float(mp.mpf(float(x)) - y)) for x, y in zip(row, exact, strict=True))
    # a few roundings, and the period right to 7e-16 s over t/5 turns with accelerations below 2
    assert error < 4e-15 + 3e-16 * t


@pytest.mark.parametrize("section", [0.0, 0.1])
def test_energy_identity(section):
    """Kinetic and potential energy of the whole linkage stay at their start value."""
    rows = bricard_reference(np.linspace(0.0, 600.0, 4001), section)
    x, _, z, vx, _, _ = rows.T
    # sin(a) = -z (1 + sin(a)) and vx = -a' / (1 + sin(a))
    p = 1.0 / (1.0 + z)
    a = np.arctan2(-z * p, x * p)
    energy = 0.5 * bricard_inertia(a, section) * (vx * p) ** 2 + potential(bricard_chain(a)[0])
    # some 60 roundings of 29 J
    assert np.abs(energy + 29.43).max() < 4e-13


@pytest.mark.parametrize("section", [0.0, 0.1])
def test_velocity_is_derivative(section):
    """Eighth-order differences of the positions give the velocities."""
    h = 5e-3
    centres = np.linspace(0.0, 30.0, 401)
    stencil = (centres[:, None] + h * OFFSETS).ravel()
    rows = bricard_reference(stencil, section).reshape(centres.size, 8, 6)
    slopes = np.einsum("j,ijk->ik", WEIGHTS, rows[..., :3]) / h
    velocities = bricard_reference(centres, section)[:, 3:]
    # rounding of t (4e-15) and of the points over h; truncation is below
    assert np.abs(slopes - velocities).max() < 1e-11


def test_initial_acceleration():
    """The release is not an equilibrium: vx and vz start with a'' = 1.962 for thin rods."""
    # P2 = (1 - a, -1, -a) to first order, with a'' = 9.81/5, so vz = -1.962 t
    t = 1e-5
    row = bricard_reference([t], 0.0)[0]
    # next term of order t^2 relative
    assert abs(row[5] / t + 1.962) < 1e-8
    assert abs(row[3] / t + 1.962) < 1e-8


@pytest.mark.slow
@given(t=st.floats(0.0, 2000.0), section=sections)
def test_time_symmetries(t, section):
    """Time runs alike backwards from rest, and half a period later x is mirrored."""
    period = bricard_period(section)
    row, back, later = bricard_reference([t, -t, t + 0.5 * period], section)
    # roundings of times near 2000 are 2e-13, speeds and accelerations stay below 2
    assert np.abs(back - row * [1, 1, 1, -1, -1, -1]).max() < 4e-12
    assert np.abs(later - row * [-1, 1, 1, -1, 1, 1]).max() < 4e-12


@pytest.mark.slow
@given(scale=st.floats(0.1, 10.0), mass=st.floats(0.1, 10.0), t=st.floats(0.0, 20.0))
def test_scaling(scale, mass, t):
    """A linkage scaled in all lengths moves alike in time sqrt(scale); the mass cancels."""
    unit = bricard_reference([t], 0.1)[0]
    root = np.sqrt(scale)
    row = bricard_reference([t * root], 0.1 * scale, length=scale, mass=mass)[0]
    # the scaled time and period round apart by some 1e-15 per second
    np.testing.assert_allclose(row[:3] / scale, unit[:3], atol=2e-13)
    np.testing.assert_allclose(row[3:] / root, unit[3:], atol=2e-13)


@given(section=st.floats(0.0, 100.0))
def test_series_has_converged(section):
    """The second half of the cosine series is rounding, for thin and for bulky rods."""
    c = np.abs(_solve_series(section, 9.81, 1.0, 1.0))
    assert c[32:].max() < 2e-15 * c[0]


@pytest.mark.parametrize("bad", [{"section": -0.1}, {"gravity": 0.0}, {"mass": 0.0}])
def test_rejects_nonsense(bad):
    """Inputs without a motion from rest are rejected with a sentence."""
    with pytest.raises(ValueError, match="gravity > 0"):
        bricard_reference([1.0], **bad)
