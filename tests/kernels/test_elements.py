"""Each element next to a slow reference: laws, derivatives by complex steps, series by exact polynomials."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from sarrus.kernels.compiler import entry
from sarrus.kernels.elements import ball_damper, drive, spring, torsion, turning

# wrappers are compiled in every run of the tests
pytestmark = pytest.mark.slow

# a step so small that its square vanishes: derivatives without differences
TINY = 1e-30
# coefficients of the series here
ORDER = 9


@entry
def call_laws(p, x, rate, kind, out):
    """All laws at numbers."""
    out[0] = spring.pull(p, x, rate)
    out[1] = spring.energy(p, x)
    out[2] = torsion.moment(p, x, rate)
    out[3] = torsion.energy(p, x)
    out[4] = drive.slope(kind, x)


@entry
def call_spring(springs, f, df, w, A, B, sums):
    """What a spring exerts, its derivatives, energy and power."""
    spring.add_weights(springs, f, df, w)
    spring.add_derivatives(springs, f, df, 0, A, B)
    sums[0] = spring.add_energy(springs, f, 0.0)
    sums[1] = spring.add_power(springs, f, df, 0.0)


@entry
def call_torsion(torsions, f, df, theta, w, A, B, sums):
    """What a torsion exerts, its derivatives, energy and power."""
    torsion.add_weights(torsions, f, df, theta, w)
    torsion.add_derivatives(torsions, f, df, theta, 0, A, B)
    sums[0] = torsion.add_energy(torsions, theta, 0.0)
    sums[1] = torsion.add_power(torsions, f, df, 0.0)


@entry
def call_series(springs, torsions, products, fc, theta, known, w, work):
    """Coefficients of what all of them exert, and of their work: a row an element."""
    for k in range(known):
        spring.add_coefficient(springs, fc, k, w[0, k])
        torsion.add_coefficient(torsions, fc, theta, k, w[1, k])
        turning.add_coefficient(products, fc, k, w[2, k])
    spring.add_work(springs, known, work[0])
    torsion.add_work(torsions, known, work[1])
    turning.add_work(products, fc, known, work[2])


@entry
def call_ball_damper(dampers, f, df, fc, known, w, A, B, sums, series, work):
    """What a ball damper exerts, its derivatives and power; coefficients of its force and work."""
    ball_damper.add_weights(dampers, f, df, w)
    ball_damper.add_derivatives(dampers, f, df, 0, A, B)
    sums[0] = ball_damper.add_power(dampers, f, df, 0.0)
    for k in range(known):
        ball_damper.add_coefficient(dampers, fc, k, series[k])
    ball_damper.add_work(dampers, known, work)


class Only(NamedTuple):
    """Loads that are nothing but drives."""

    drives: drive.Drives


@entry
def call_drives(loads, t, order):
    """Coefficients of motions and right sides."""
    drive.start_drives(loads, t)
    for m in range(2, order + 1):
        drive.drive_coefficients(loads, m)


# the references, for complex numbers too

NUMBERS = np.array([30.0, 2.0, 0.7, 3.0])


def spring_reference(p, d, rates):
    """-P d / l, line by line as in the docstring."""
    length = np.sqrt(d @ d)
    rate = d @ rates / length
    return -(p[0] * (length - p[2]) + p[1] * rate + p[3]) * d / length


def torsion_reference(p, f, df, turns=0):
    """w[u] = -M s u', w[b] = M c u', w[u'] = M (c b - s u), with the angle by a logarithm."""
    u, b, x = f.reshape(3, 3)
    du, db, dx = df.reshape(3, 3)
    c, s = u @ x, b @ x
    rate = c * (db @ x + b @ dx) - s * (du @ x + u @ dx)
    # arctangent of the quotient: analytic, and right for positive cosines
    angle = np.arctan(s / c) + 2 * np.pi * turns
    moment = p[3] - p[0] * (angle - p[2]) - p[1] * rate
    return np.concatenate([-moment * s * x, moment * c * x, moment * (c * b - s * u)])


def ball_damper_reference(c, f, df):
    """w[u_i] = -c/2 sum_j R_ij' v_j, w[v_j] = -c/2 sum_i R_ij' u_i."""
    (u, v), (du, dv) = (x.reshape(2, 3, 3) for x in (f, df))
    rates = du @ v.T + u @ dv.T
    return -0.5 * c * np.concatenate([(rates @ v).ravel(), (rates.T @ u).ravel()])


def complex_jacobian(function, x):
    """Derivatives of a function by complex steps, column by column."""
    return np.array([function(x + 1j * TINY * e).imag / TINY for e in np.eye(len(x))]).T


def random_state(size, seed=3):
    """Forms and rates; for a torsion close to unit vectors with a positive cosine."""
    rng = np.random.default_rng(seed)
    return np.ones(size) + 0.3 * rng.normal(size=size), rng.normal(size=size)


@pytest.mark.parametrize("kind", [drive.LINEAR, drive.COSINE, drive.SINE, drive.SQUARE])
def test_laws_compiled_and_plain(kind):
    """Kernels and Python get the same number from a law, and arrays are numbers side by side."""
    out = np.zeros(5)
    call_laws(NUMBERS, 1.3, -0.4, kind, out)
    plain = [
        spring.pull(NUMBERS, 1.3, -0.4), spring.energy(NUMBERS, 1.3),
        torsion.moment(NUMBERS, 1.3, -0.4), torsion.energy(NUMBERS, 1.3), drive.slope(kind, 1.3),
    ]  # fmt: skip
    # the compiler may contract products and sums
    np.testing.assert_allclose(out, plain, rtol=1e-15)
    x, rate = np.linspace(0.5, 2, 7), np.linspace(-1, 1, 7)
    for law in (spring.pull, torsion.moment):
        each = [law(NUMBERS, a, b) for a, b in zip(x, rate, strict=True)]
        np.testing.assert_array_equal(law(NUMBERS, x, rate), each)


def test_pulls_are_slopes_of_energies():
    """Without damping P = dV/dl; without a torque M = -dV/dtheta."""
    still, coil = NUMBERS * (1, 0, 1, 1), NUMBERS * (1, 0, 1, 0)
    x = 1.3 + 1j * TINY
    np.testing.assert_allclose(spring.pull(still, 1.3, 5.0), spring.energy(still, x).imag / TINY)
    np.testing.assert_allclose(torsion.moment(coil, 1.3, 5.0), -torsion.energy(coil, x).imag / TINY)


def test_slopes_of_right_sides():
    """The derivative of x, cos x, sin x and 1/2 x^2."""
    x = 0.8 + 1j * TINY
    sides = {
        drive.LINEAR: x,
        drive.COSINE: np.cos(x),
        drive.SINE: np.sin(x),
        drive.SQUARE: x * x / 2,
    }
    for kind, value in sides.items():
        np.testing.assert_allclose(drive.slope(kind, 0.8), value.imag / TINY, rtol=1e-15)


def test_spring_at_a_state():
    """Forces by the reference, derivatives by complex steps, power = rate of the energy and damping."""
    springs = spring.Springs(np.array([0]), NUMBERS[None])
    f, df = random_state(3)
    w, A, B, sums = np.zeros(3), np.zeros(9), np.zeros(9), np.zeros(2)
    call_spring(springs, f, df, w, A, B, sums)
    np.testing.assert_allclose(w, spring_reference(NUMBERS, f, df), rtol=1e-14)
    for found, reference in (
        (A, complex_jacobian(lambda x: spring_reference(NUMBERS, x, df), f)),
        (B, complex_jacobian(lambda x: spring_reference(NUMBERS, f, x), df)),
    ):
        dense = np.zeros((3, 3))
        for value, place in zip(found, spring.list_entries(springs), strict=True):
            dense[place] += value
        np.testing.assert_allclose(dense, reference, rtol=1e-12, atol=1e-12)
    moving = f + 1j * TINY * df
    stored = spring.energy(NUMBERS, np.sqrt(moving @ moving))
    np.testing.assert_allclose(sums[0], stored.real, rtol=1e-14)
    np.testing.assert_allclose(w @ df, sums[1] - stored.imag / TINY, rtol=1e-12)


def test_torsion_at_a_state():
    """Forces by the reference two turns on, derivatives by complex steps, power of damper and torque."""
    torsions = torsion.Torsions(np.array([0]), NUMBERS[None])
    f, df = random_state(9)
    w, A, B, sums = np.zeros(9), np.zeros(81), np.zeros(81), np.zeros(2)
    # the angle as last seen is less than half a turn away from two turns and the angle itself
    theta = np.array([4 * np.pi + 1.0])
    call_torsion(torsions, f, df, theta, w, A, B, sums)
    np.testing.assert_allclose(w, torsion_reference(NUMBERS, f, df, 2), rtol=1e-13)
    for found, reference in (
        (A, complex_jacobian(lambda x: torsion_reference(NUMBERS, x, df, 2), f)),
        (B, complex_jacobian(lambda x: torsion_reference(NUMBERS, f, x, 2), df)),
    ):
        dense = np.zeros((9, 9))
        for value, place in zip(found, torsion.list_entries(torsions), strict=True):
            dense[place] += value
        np.testing.assert_allclose(dense, reference, rtol=1e-11, atol=1e-10)
    u, b, x = f.reshape(3, 3)
    np.testing.assert_allclose(theta, 4 * np.pi + np.arctan2(b @ x, u @ x), rtol=1e-15)
    np.testing.assert_allclose(sums[0], 0.5 * NUMBERS[0] * (theta[0] - NUMBERS[2]) ** 2, rtol=1e-14)
    # all power is M theta'; what is left of it without the spring has no potential
    loose = NUMBERS * (0, 1, 1, 1)
    np.testing.assert_allclose(sums[1], torsion_reference(loose, f, df) @ df, rtol=1e-12)


def test_ball_damper():
    """Forces by the reference, derivatives by complex steps; coefficients of force and work by polynomials."""
    rng = np.random.default_rng(5)
    fc = np.zeros((18, ORDER + 2))
    fc[:, :4] = rng.normal(size=(18, 4))
    f, df = fc[:, 0].copy(), fc[:, 1].copy()
    dampers = ball_damper.make_series(
        ball_damper.BallDampers(np.array([0]), np.array([0.7])), ORDER + 2
    )
    w, A, B, sums = np.zeros(18), np.zeros(216), np.zeros(216), np.zeros(1)
    series, work = np.zeros((ORDER, 18)), np.zeros(2 * ORDER + 4)
    call_ball_damper(dampers, f, df, fc, ORDER, w, A, B, sums, series, work)
    np.testing.assert_allclose(w, ball_damper_reference(0.7, f, df), rtol=1e-13)
    np.testing.assert_allclose(sums[0], w @ df, rtol=1e-13)
    for found, reference in (
        (A, complex_jacobian(lambda x: ball_damper_reference(0.7, x, df), f)),
        (B, complex_jacobian(lambda x: ball_damper_reference(0.7, f, x), df)),
    ):
        dense = np.zeros((18, 18))
        for value, place in zip(found, ball_damper.list_entries(dampers), strict=True):
            dense[place] += value
        np.testing.assert_allclose(dense, reference, rtol=1e-12, atol=1e-12)
    forms = np.array([Polynomial(row) for row in fc])
    rates = np.array([form.deriv() for form in forms])
    reference = ball_damper_reference(0.7, forms, rates)
    for found, exact in zip(series.T, reference, strict=True):
        np.testing.assert_allclose(found, exact.coef[:ORDER], atol=1e-11, rtol=1e-11)
    done = (reference @ rates).integ()
    np.testing.assert_allclose(work[:ORDER], done.coef[:ORDER], atol=1e-10, rtol=1e-11)


def test_a_unit_moment_on_orthonormal_directions_has_the_power_of_its_axis():
    """What `eval_decay` weighs: the moment e on the second body has the power e . (relative angular velocity)."""
    rng = np.random.default_rng(8)
    turns = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2)]
    spins = rng.normal(size=(2, 3))
    f = np.concatenate([turn.ravel() for turn in turns])
    rates = [np.cross(spin, turn) for spin, turn in zip(spins, turns, strict=True)]
    dampers = ball_damper.BallDampers(np.array([0]), np.array([1.0]))
    for axis in range(3):
        w = np.zeros(18)
        ball_damper.add_moment(dampers, 0, axis, f, w)
        power = w @ np.concatenate([rate.ravel() for rate in rates])
        np.testing.assert_allclose(power, (spins[1] - spins[0])[axis], rtol=1e-12)


def taylor(function, count):
    """Taylor coefficients of an analytic function, from its values on a circle."""
    n, radius = 128, 0.1
    values = np.array([function(radius * z) for z in np.exp(2j * np.pi * np.arange(n) / n)])
    coefficients = np.fft.fft(values, axis=0) / n
    scale = radius ** -np.arange(count)
    return (coefficients[:count].T * scale).T.real


@pytest.fixture(scope="module")
def series():
    """Twelve polynomials for forms; coefficients of weights and work of a spring, a torsion, a product."""
    rng = np.random.default_rng(7)
    fc = np.zeros((12, ORDER + 2))
    fc[:, :4] = 0.3 * rng.normal(size=(12, 4))
    fc[:, 0] += 1.0
    rows = ORDER + 2
    springs = spring.make_series(spring.Springs(np.array([0]), NUMBERS[None]), rows)
    torsions = torsion.make_series(torsion.Torsions(np.array([3]), NUMBERS[None]), rows)
    products = turning.Turning(np.array([1]), np.array([5]), np.array([0.6]))
    w, work = np.zeros((3, rows, 12)), np.zeros((3, 2 * rows))
    call_series(springs, torsions, products, fc, np.array([0.4]), ORDER, w, work)
    return fc, w[:, :ORDER], work, springs.length[0]


def test_series_of_a_spring(series):
    """Coefficients of -P d / l from its values at complex times; work of the damper's own polynomial."""
    fc, w, work, length = series
    forms = [Polynomial(row) for row in fc[:3]]

    def exerted(s):
        d, rates = (np.array([x(s) for x in y]) for y in (forms, [f.deriv() for f in forms]))
        return spring_reference(NUMBERS, d, rates)

    # rounding on a circle of a tenth, over its radius to the power of the order
    np.testing.assert_allclose(w[0, :, :3], taylor(exerted, ORDER), atol=1e-5)
    assert not w[0, :, 3:].any()
    done = -NUMBERS[1] * (Polynomial(length[: ORDER + 1]).deriv() ** 2).integ()
    np.testing.assert_allclose(work[0, : 2 * ORDER], done.coef, atol=1e-10, rtol=1e-10)


def test_series_of_a_torsion(series):
    """All of it is polynomial: c, s, theta by integration, M, and its products with the forms."""
    fc, w, work, _ = series
    u, b, x = (np.array([Polynomial(row) for row in fc[i : i + 3]]) for i in (3, 6, 9))
    c, s = u @ x, b @ x
    rate = c * s.deriv() - s * c.deriv()
    theta = rate.integ() + 0.4
    k, damping, free, torque = NUMBERS
    moment = torque - k * (theta - free) - damping * rate
    reference = [
        *(-moment * s * y for y in x),
        *(moment * c * y for y in x),
        *(moment * (c * p - s * q) for p, q in zip(b, u, strict=True)),
    ]
    for found, exact in zip(w[1, :, 3:].T, reference, strict=True):
        np.testing.assert_allclose(found, exact.coef[:ORDER], atol=1e-11, rtol=1e-11)
    known = theta.cutdeg(ORDER)
    done = torque * (known - 0.4) - damping * (known.deriv() ** 2).integ()
    np.testing.assert_allclose(work[1, : len(done.coef)], done.coef, atol=1e-11, rtol=1e-11)


def test_series_of_a_product(series):
    """c f[b] on f[a], and the work of that."""
    fc, w, work, _ = series
    np.testing.assert_allclose(w[2, :, 1], 0.6 * fc[5, :ORDER], rtol=1e-15)
    done = (0.6 * Polynomial(fc[5]) * Polynomial(fc[1]).deriv()).integ().trim(1e-30)
    np.testing.assert_allclose(work[2, : len(done.coef)], done.coef, rtol=1e-13, atol=1e-15)


def test_series_of_right_sides():
    """x, 1/2 x^2, cos x and sin x of a polynomial and a sine, about a time."""
    kinds = [drive.LINEAR, drive.SQUARE, drive.COSINE, drive.SINE]
    drives = drive.make_series(
        drive.Drives(
            equations=np.array([[i, kind, 0] for i, kind in enumerate(kinds)]),
            factor=np.ones(4),
            constant=np.zeros(4),
            pieces=np.array([0, 2]),
            breaks=np.array([0.0, 0.3]),
            polynomials=np.array([[0.2, 0.0, 0.0], [0.2, 1.1, -0.4]]),
            sines=np.array([[0.5, 1.7, 0.3]]),
        ),
        ORDER + 1,
    )
    t = 0.7
    call_drives(Only(drives), t, ORDER)

    def sides(s):
        since = t + s - 0.3
        x = 0.2 + 1.1 * since - 0.4 * since**2 + 0.5 * np.sin(1.7 * (t + s) + 0.3)
        return np.array([x, x * x / 2, np.cos(x), np.sin(x)])

    # rounding on a circle of a tenth, over its radius to the power of the order
    np.testing.assert_allclose(drives.side.T, taylor(sides, ORDER + 1), atol=1e-6)
