"""Numbers with derivatives: arithmetic, NumPy's functions, and models built of them."""

import numpy as np
import pytest

import sarrus
from sarrus import problems
from sarrus.mechanism.files import to_data
from sarrus.mechanism.files.model_writer import build_plainly
from sarrus.mechanism.files.paths import get_value, set_value
from sarrus.mechanism.part_arrays import read_parts
from sarrus.model.build import make_blueprint
from sarrus.tangent_numbers import TangentTape, split_tangents
from sarrus.tracing import Tape, UntracedError

FORMULAS = [
    lambda x, y: x * y - x / y + (x + y) * 2.0 - 1.0 / x,
    lambda x, y: np.sqrt(x * x + y * y) * np.sin(x) - np.cos(y) * np.tan(x),
    lambda x, y: np.hypot(x, y) + np.arctan2(y, x) + np.arctan(x) + np.arcsin(x) + np.arccos(x),
    lambda x, y: np.exp(x) * np.log(y) + x**3 + x**0.5 + 2.0**y + abs(-x),
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_derivatives_of_formulas(formula):
    """Against differences of fourth order, which leave 1e-10."""
    x, y, h = 0.4, 1.3, 1e-3
    tape = TangentTape(2)
    found = formula(tape.make(x, [1.0, 0.0]), tape.make(y, [0.0, 1.0]))
    value, rates = split_tangents(found, 2)
    assert value[0] == pytest.approx(formula(x, y), rel=1e-15)
    for n, (a, b) in enumerate(((1, 0), (0, 1))):
        f = {k: formula(x + k * h * a, y + k * h * b) for k in (-2, -1, 1, 2)}
        expected = (8 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12 * h)
        assert rates[0, n] == pytest.approx(expected, rel=1e-8)


def test_a_tape_still_rejects_what_it_does_not_replay():
    """Functions that only numbers with derivatives have are not recorded."""
    with pytest.raises(UntracedError):
        np.cos(Tape().number(0.3))
    with pytest.raises(UntracedError):
        Tape().number(0.3) ** 3


@pytest.mark.parametrize(
    ("problem", "path"),
    [
        ("double-four-bar", "bodies.crank 1.mass"),
        ("andrews-squeezer", "springs.spring.stiffness"),
        ("spatial-slider-crank", "bodies.rod.mass"),
        ("rectangular-bricard", "gravity.2"),
    ],
)
def test_models_of_numbers_with_derivatives(problem, path):
    """All numbers of a model by one of the mechanism, against differences, which leave 1e-8."""
    data = to_data(problems.get(problem).build())
    value = get_value(data, path)
    tape = TangentTape(1)
    traced = build_plainly(set_value(data, path, tape.make(value, [1.0])))
    blueprint, numbers = make_blueprint(traced, read_parts(traced))
    _, rates = split_tangents(numbers, 1)
    h = 1e-4 * (abs(value) or 1.0)

    def model(x):
        m = build_plainly(set_value(data, path, x))
        other, values = make_blueprint(m, read_parts(m))
        assert other.digest == blueprint.digest
        return values.astype(float)

    expected = (model(value + h) - model(value - h)) / (2 * h)
    size = np.abs(expected).max()
    assert size > 0.0
    np.testing.assert_allclose(rates[:, 0], expected, atol=1e-7 * size)


def test_mechanisms_take_them_as_they_take_floats():
    """A recipe needs no more than the calls that everybody uses."""
    tape = TangentTape(1)
    m = sarrus.Mechanism("rod", gravity=(0, -9.81))
    end = tape.make(0.5, [1.0])
    rod = m.rod("rod", (0, 0), (end, 0.0), mass=2.0 * end)
    m.revolute("A", m.ground, rod, at=(0, 0))
    values, rates = split_tangents(m.bodies[-1].center, 1)
    assert values.tolist() == [0.25, 0.0]
    assert rates[:, 0].tolist() == [0.5, 0.0]
