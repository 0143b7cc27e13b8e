"""Double-double numbers: their operations against exact fractions, and kernels over them."""

from fractions import Fraction

import numpy as np
import pytest

from builders import n_four_bar
from sarrus.assembly import solve_start_velocity
from sarrus.kernels import double_double, series_step
from sarrus.kernels.compiler import COMPILES, entry
from sarrus.kernels.double_double import alike, is_wide, rounded
from sarrus.kernels.language.kinds import TranslationError
from sarrus.kernels.layout import make_wide_workspace
from sarrus.model import make_model
from series_coefficients import point_series

pytestmark = pytest.mark.skipif(
    not COMPILES, reason="there are no wide numbers without the compiler"
)

# a rounding of wide numbers; operations err by some of them
ROUNDING = Fraction(1, 2**104)


@entry
def operate(x, y, out):
    """All operations, a row each."""
    for i in range(len(x)):
        out[0, i] = x[i] + y[i]
        out[1, i] = x[i] - y[i]
        out[2, i] = x[i] * y[i]
        out[3, i] = x[i] / y[i]
        out[4, i] = np.sqrt(abs(x[i]))
        out[5, i] = x[i] ** 2 - 3.0 * y[i]
        out[6, i] = np.sin(y[i])
        out[7, i] = np.cos(y[i])
        out[8, i] = max(x[i], y[i])
        out[9, i] = alike(1.0, x) / (i + 3)


@entry
def compare(x, y, out):
    """All comparisons of numbers."""
    out[0], out[1], out[2] = x[0] < y[0], x[0] <= y[0], x[0] > y[0]
    out[3], out[4], out[5] = x[0] >= y[0], x[0] == y[0], x[0] != y[0]


def exact(x):
    """Wide numbers as fractions."""
    return [Fraction(float(a.real)) + Fraction(float(a.imag)) for a in x]


def random_numbers(rng, n, spread):
    """Wide numbers of sizes that differ by so many powers of ten."""
    high = rng.uniform(-1, 1, n) * 10.0 ** rng.uniform(-spread, spread, n)
    return high + 1j * (high * rng.uniform(-1, 1, n) * 2.0**-54)


def sine_of(x):
    """By its series, to 1e-45."""
    total, term = Fraction(0), x
    for k in range(1, 2000, 2):
        total += term
        term *= -x * x / ((k + 1) * (k + 2))
        # shorter fractions
        term = Fraction(round(term * 10**60), 10**60)
        if abs(term) < Fraction(1, 10**45):
            return total
    raise ArithmeticError(f"the sine of {float(x)} takes too many terms")


def root_of(x):
    """Of a fraction, to 1e-40 of it."""
    guess = Fraction(float(x) ** 0.5)
    for _ in range(2):
        guess = (guess + x / guess) / 2
    return guess


@pytest.mark.parametrize("spread", [0.5, 12])
def test_operations_are_those_of_fractions(spread):
    """Sums err by a rounding of their larger part, products, quotients and roots by some of themselves."""
    rng = np.random.default_rng(1)
    n = 200
    x, y = random_numbers(rng, n, spread), random_numbers(rng, n, min(spread, 2))
    # numbers that cancel but for their last digits, and equal ones
    y[1:9] = x[1:9] * (1.0 + 1e-15)
    y[11:19] = x[11:19]
    out = np.zeros((10, n), complex)
    operate(x, y, out)
    assert (np.abs(out.imag) <= 2.0**-53 * np.abs(out.real)).all(), "the parts overlap"
    found = [exact(row) for row in out]
    for i, (a, b) in enumerate(zip(exact(x), exact(y), strict=True)):
        larger = max(abs(a), abs(b))
        right = [a + b, a - b, a * b, a / b, root_of(abs(a)), a * a - 3 * b]
        scale = [larger, larger, *map(abs, right[2:5]), max(a * a, 3 * abs(b))]
        right += [max(a, b), Fraction(1, i + 3)]
        scale += [Fraction(0), right[-1]]
        got = [row[i] for k, row in enumerate(found) if k not in (6, 7)]
        for value, wanted, size in zip(got, right, scale, strict=True):
            assert abs(value - wanted) <= 8 * ROUNDING * size
    for i in range(0, n, 10):
        b = exact(y)[i]
        # reducing an angle costs what rounding is of the angle
        bound = 16 * ROUNDING * max(1, abs(b))
        assert abs(found[6][i] - sine_of(b)) <= bound
        assert abs(found[6][i] ** 2 + found[7][i] ** 2 - 1) <= 4 * bound


def test_comparisons_look_at_the_smaller_parts():
    """Where the larger ones are equal."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        a, b = rng.integers(-1, 2, 2)
        x, y = np.array([1.0 + a * 1e-20j]), np.array([1.0 + b * 1e-20j])
        out = np.zeros(6, bool)
        compare(x, y, out)
        assert out.tolist() == [a < b, a <= b, a > b, a >= b, a == b, a != b]


def test_in_python_they_have_the_same_bits():
    """The text that is compiled is also that which one can look into."""
    rng = np.random.default_rng(3)
    x, y = random_numbers(rng, 50, 3), random_numbers(rng, 50, 3)
    out = np.zeros((10, 50), complex)
    operate(x, y, out)
    for i in range(50):
        a, b = (x[i].real, x[i].imag), (y[i].real, y[i].imag)
        assert complex(*double_double.add(*a, *b)) == out[0, i]
        assert complex(*double_double.multiply(*a, *b)) == out[2, i]
        assert complex(*double_double.divide(*a, *b)) == out[3, i]


def test_what_has_no_wide_form_is_rejected():
    """A function without more digits is no silent loss; a rounded number may be given to it."""

    def lossy(x):
        return np.log(x[0])

    def said(x):
        return np.log(rounded(x[0])) if is_wide(x) else -1.0

    x = np.array([2.0 + 0j])
    with pytest.raises(TranslationError, match="no more digits"):
        entry(lossy)(x)
    assert entry(said)(x) == np.log(2.0)
    assert entry(said)(x.real.copy()) == -1.0


@pytest.mark.slow
def test_coefficients_meet_the_constraints_with_all_digits():
    """The series of a double four-bar is that of doubles; Phi vanishes to 1e-28, coefficient by coefficient."""
    m, order = n_four_bar(2, speed=1.5), 12
    model = make_model(m)
    form, nq = model.form, model.coordinates
    v, _ = solve_start_velocity(model, m)
    state = double_double.widen(np.array([np.zeros(nq), v]))
    qc = double_double.widen(np.zeros((order + 1, nq)))
    ws = make_wide_workspace(form, order, np.zeros(len(form.phi0)))
    known = series_step.expand(form, ws, None, 0.0, -50.0 * np.arange(order + 1.0), state, qc)
    assert known == order
    rows = model.point_rows("B0").toarray()
    doubles = point_series(m, "B0", order)
    # doubles are right to rounding, times what coefficients grow by
    assert np.allclose((double_double.narrow(qc) @ rows.T)[2:], doubles[2:], rtol=1e-12, atol=1e-13)
    q = [exact(row) for row in qc]
    for k in range(2, order + 1):
        phi = [Fraction(0)] * len(form.phi0)
        forms = [[_form(form, f, row, m) for f in range(len(form.e0))] for m, row in enumerate(q)]
        for t, f in enumerate(form.sq_form):
            total = sum(forms[j][f] * forms[k - j][f] for j in range(k + 1))
            phi[form.sq_eq[t]] += Fraction(form.sq_c[t]) * total / 2
        size = max(abs(x) for row in q[: k + 1] for x in row) ** 2
        assert max(map(abs, phi)) <= 1e-28 * float(size)


def _form(form, f, row, m):
    """Coefficient m of a form."""
    terms = range(form.D_start[f], form.D_start[f + 1])
    constant = Fraction(form.e0[f]) if m == 0 else Fraction(0)
    return constant + sum(Fraction(form.D_val[n]) * row[form.D_col[n]] for n in terms)
