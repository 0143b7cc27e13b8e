"""Numbers with units: exact in SI, and of the right kind."""

import contextlib
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sarrus.mechanism.files import units
from sarrus.mechanism.files.units import UnitError, in_si, parse_quantity, parse_unit, vector_in_si

# digits and blanks of other scripts, controls, a lone surrogate, letters, signs
STRANGE = "0159٣५²½Ⅷ\u00a0\u2003\t\n\0\x1b\ud800\U0001f600éΩµμ°mkNsrad.eE+-_^*/·[],:;'\"!&%#infa"


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("10 mm", units.LENGTH, 0.01),
        ("9.7mm", units.LENGTH, 0.0097),
        ("1 in", units.LENGTH, 0.0254),
        ("5 µm", units.LENGTH, 5e-6),
        (3, units.LENGTH, 3.0),
        ("3", units.LENGTH, 3.0),
        (".5 m", units.LENGTH, 0.5),
        ("1e3 mm", units.LENGTH, 1.0),
        ("250 g", units.MASS, 0.25),
        ("2 min", units.TIME, 120.0),
        ("180 deg", units.ANGLE, math.pi),
        ("90°", units.ANGLE, math.pi / 2),
        ("1 rev", units.ANGLE, 2 * math.pi),
        ("30 rpm", units.ANGULAR_VELOCITY, math.pi),
        ("1 rev/s", units.ANGULAR_VELOCITY, 2 * math.pi),
        ("60 deg/min", units.ANGULAR_VELOCITY, math.pi / 180),
        ("5 N/mm", units.STIFFNESS, 5000.0),
        ("5 kN/m", units.STIFFNESS, 5000.0),
        ("3 N m/rad", units.TORSIONAL_STIFFNESS, 3.0),
        ("3 N*m/rad", units.TORSIONAL_STIFFNESS, 3.0),
        ("3 N·mm/rad", units.TORSIONAL_STIFFNESS, 0.003),
        ("2 N s/m", units.DAMPING, 2.0),
        ("2 kg/s", units.DAMPING, 2.0),
        ("9.81 m/s^2", units.ACCELERATION, 9.81),
        ("9.81 m/s**2", units.ACCELERATION, 9.81),
        ("9.81 m/s²", units.ACCELERATION, 9.81),
        ("9.81 m/s/s", units.ACCELERATION, 9.81),
        ("9.81 m s^-2", units.ACCELERATION, 9.81),
        ("7 kg cm^2", units.INERTIA, 0.0007),
        ("4 J", units.TORQUE, 4.0),
        ("-0.0 mm", units.LENGTH, -0.0),
        ("1e-400 mm", units.LENGTH, 0.0),
    ],
)
def test_value_in_si(text, kind, value):
    """The double nearest to the exact value; with pi one rounding more, which these avoid."""
    found = in_si(text, kind)
    assert found == value
    assert math.copysign(1.0, found) == math.copysign(1.0, value)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-1e9, max_value=1e9))
def test_decimal_units_round_once(number):
    """The value of a decimal text in mm is the double nearest to the exact quotient."""
    assert in_si(f"{number:f} mm", units.LENGTH) == float(Fraction(str(number)) / 1000)


@given(st.floats(-1e50, 1e50))
def test_plain_numbers_keep_their_bits(x):
    """As a number, as text, and with the SI unit."""
    for given_as in (x, repr(x), f"{x!r} kg"):
        found = in_si(given_as, units.MASS)
        assert (found, math.copysign(1.0, found)) == (x, math.copysign(1.0, x))


@pytest.mark.parametrize("kind", units.KINDS, ids=lambda kind: kind.name)
def test_each_kind_accepts_its_own_unit_and_example(kind):
    """The unit of the messages is the SI unit: its factor is one."""
    if kind.unit:
        assert parse_unit(kind.unit) == (1, 0, kind.dimension)
    assert in_si(kind.example, kind) != 0.0
    assert units.describe(kind.dimension) == kind.name


def test_kinds_differ():
    """No two kinds have one dimension, so a unit of the wrong kind is always found."""
    assert len({kind.dimension for kind in units.KINDS}) == len(units.KINDS)


@given(st.sampled_from(units.UNITS), st.integers(-9, 9).filter(bool))
def test_power_and_quotient_are_inverse(unit, n):
    """u^n / u^n has no dimension and the factor one."""
    assert parse_unit(f"{unit}^{n}/{unit}^{n}") == (1, 0, (0, 0, 0, 0))


@pytest.mark.parametrize(
    ("given_as", "why"),
    [
        ("30 deg", "'30 deg' is an angle; give a length, like 10 mm, or a plain number of m"),
        ("3 m^2", "'3 m^2' is of unit m^2; give a length"),
        ("3 m/s kg", "can be read in two ways"),
        ("3 furlong", "there is no unit 'furlong'"),
        ("3 m^", "cannot be read"),
        ("3 m^1000", "no unit has the power 100"),
        ("3 m/", "cannot be read"),
        ("3 / m", "is not a number"),
        ("3 4 m", "is not a number"),
        ("1,5 m", "is not a number"),
        ("", "is not a number"),
        ("1e999 mm", "not finite"),
        ("1e308 km", "not finite|larger than"),
        ("1e48 km", "1e.51 is larger than 1e.50; check its digits"),
        ("nan", "not finite"),
        (math.inf, "not finite"),
        (10**400, "not finite"),
        (True, "is not a number"),
        (None, "nothing is not a number"),
        ("9" * 200, "200 characters"),
        ("1e" + "9" * 90, "not finite"),
    ],
)
def test_what_is_no_length(given_as, why):
    """Each is rejected with its reason; none takes long, however large its exponent."""
    with pytest.raises(UnitError, match=why.replace("^", r"\^")):
        in_si(given_as, units.LENGTH)


@pytest.mark.parametrize(
    ("given_as", "value"),
    [
        ([1, 2.5], [1.0, 2.5]),
        (["10 mm", "2 cm"], [0.01, 0.02]),
        (["10 mm", 0], [0.01, 0.0]),
        ("[10, 20] mm", [0.01, 0.02]),
        (" [ 10 , -2e1 ]mm", [0.01, -0.02]),
        ("[1, 2]", [1.0, 2.0]),
        ("[1 mm, 2 m]", [0.001, 2.0]),
    ],
)
def test_vector(given_as, value):
    """A list, or text with one unit after it."""
    assert vector_in_si(given_as, units.LENGTH) == value


@pytest.mark.parametrize(
    ("given_as", "why"),
    [
        ([1, "20 mm"], "'1' has no unit but '20 mm' has one"),
        ("[1, 2 mm] mm", "write the unit once"),
        ("[1, , 2] mm", "is not a plain number"),
        ("[1, 2] deg", "'1 deg' is an angle"),
        ("1, 2 mm", "is not a list of numbers"),
        ("[[1], 2] mm", "is not a list of numbers"),
        (3, "is not a list of numbers"),
        ([1, [2]], "entry 2: a list is not a number"),
    ],
)
def test_what_is_no_vector(given_as, why):
    """A plain number next to one with a unit is a trap: metres or millimetres?"""
    with pytest.raises(UnitError) as caught:
        vector_in_si(given_as, units.LENGTH)
    assert why in str(caught.value)


@given(st.text(alphabet=STRANGE, max_size=30))
def test_any_text_is_a_number_or_rejected(text):
    """Nothing but a finite quantity or a UnitError comes out."""
    with contextlib.suppress(UnitError):
        assert math.isfinite(parse_quantity(text).value)


@given(st.text(alphabet="0123456789.eE+- mkgsNrad/^*°²[]", max_size=30))
def test_texts_that_look_like_numbers(text):
    """The same with the letters of numbers and units, alone and as a vector."""
    for read in (lambda: [parse_quantity(text).value], lambda: vector_in_si(text, units.LENGTH)):
        with contextlib.suppress(UnitError):
            assert all(map(math.isfinite, read()))
